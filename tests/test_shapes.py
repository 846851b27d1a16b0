"""Shapes: what is inside, how they combine and move, and what they refuse."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import mpm.meshes
from loops import each
from mpm.shapes import Ball, Box, Capsule, Cylinder, HalfSpace, Mesh, Points, Polygon, Shape

CUBE = Path(mpm.__file__).parent / "gallery" / "cube.obj"
STAR = [(0, 0), (1, 0.6), (2, 0), (1.5, 1), (2, 2), (1, 1.4), (0, 2), (0.5, 1)]

SOLIDS = [
    Box((-1, -0.5), (1, 0.7)),
    Box((-1, -0.5, 0), (1, 0.7, 0.4)),
    Ball((0.1, -0.2), 0.8),
    Ball((0.1, -0.2, 0.3), 0.8),
    HalfSpace((0.1, 0.2), (0.3, 1)),
    HalfSpace((0.1, 0.2, 0), (0.3, 1, -0.5)),
    Capsule((-0.5, 0), (0.6, 0.4), 0.3),
    Capsule((-0.5, 0, 0.2), (0.6, 0.4, -0.3), 0.3),
    Cylinder((-0.5, 0), (0.6, 0.4), 0.3),
    Cylinder((-0.5, 0, 0.2), (0.6, 0.4, -0.3), 0.3),
    Polygon(np.array(STAR) - 1),
    Mesh(CUBE),
]
IN_2D = [s for s in SOLIDS if s.dimension == 2]
IN_3D = [s for s in SOLIDS if s.dimension == 3]


def NAME(shape):
    return f"{type(shape).__name__}-{shape.dimension}d"


def shoelace(vertices):
    x, y = np.array(vertices).T
    return abs((x * np.roll(y, -1) - y * np.roll(x, -1)).sum()) / 2


def points(dimension, n=2000, seed=0, size=1.6):
    return np.random.default_rng(seed).uniform(-size, size, (n, dimension))


def volume(shape, n=200_000):
    lower, upper = shape.bounds
    x = lower + (upper - lower) * np.random.default_rng(1).random((n, shape.dimension))
    p, box = shape.contains(x).mean(), np.prod(upper - lower)
    return p * box, box * np.sqrt(p * (1 - p) / n)


# --- primitives ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, expected",
    [
        (Box((0, 0), (2, 3)), 6),
        (Box((0, 0, -1), (2, 3, 0.5)), 9),
        (Ball((1, 2), 0.5), np.pi / 4),
        (Ball((1, 2, 3), 0.5), np.pi / 6),
        (Capsule((0, 0), (3, 4), 0.5), 5 + np.pi / 4),
        (Capsule((0, 0, 1), (3, 4, 1), 0.5), 5 * np.pi / 4 + np.pi / 6),
        (Cylinder((0, 0), (3, 4), 0.5), 5),
        (Cylinder((0, 0, 1), (3, 4, 1), 0.5), 5 * np.pi / 4),
        (Polygon([(0, 0), (1, 0), (0, 1)]), 0.5),
        (Polygon(STAR), shoelace(STAR)),
        (Polygon([*STAR[::-1], STAR[-1]]), shoelace(STAR)),
        (Mesh(CUBE), 0.125),
        (Ball((0, 0), 1).scale((2, 0.5)), np.pi),
        (Ball((0, 0, 0), 1).scale((2, 1, 0.5)).rotate(0.7, axis=(1, 2, 3)), 4 / 3 * np.pi),
        (Ball((0, 0), 1) | Ball((3, 0), 1), 2 * np.pi),
        (Ball((0, 0), 1) & HalfSpace((0, 0), (0, 1)), np.pi / 2),
        (Box((0, 0), (1, 1)) - Ball((0, 0), 1), 1 - np.pi / 4),
        (Box((0, 0), (1, 1)) & ~Ball((0, 0), 1), 1 - np.pi / 4),
    ],
)
def test_volume(shape, expected):
    found, error = volume(shape)
    assert abs(found - expected) <= 4 * error + 1e-12


@pytest.mark.parametrize(
    "shape, inside, outside",
    [
        (Box((0, 0), (1, 1)), [(0, 0), (0.999, 0), (0, 0.999)], [(1, 0.5), (0.5, 1), (-1e-300, 0)]),
        (Ball((0, 0), 1), [(0, 0), (0.999, 0)], [(1, 0), (0.8, 0.8)]),
        (HalfSpace((0, 1), (0, 2)), [(100, 0.999), (-1e9, -1e9)], [(0, 1), (0, 2)]),
        (HalfSpace((0, 0, 0), (1, 1, 1)), [(-1, 0, 0)], [(1, 0, 0), (0, 0, 0)]),
        (Capsule((0, 0), (1, 0), 0.5), [(-0.49, 0), (1.49, 0), (0.5, 0.49)], [(-0.4, 0.4), (1.5, 0)]),
        (Cylinder((0, 0), (1, 0), 0.5), [(0, 0), (0.99, 0.49)], [(-0.01, 0), (1, 0), (0.5, 0.5)]),
        (Polygon([(0, 0), (1, 0), (1, 1), (0, 1)]), [(0, 0), (0.5, 0)], [(1, 0.5), (0.5, 1), (2, 2)]),
        (Polygon(STAR), [(1, 1), (0.2, 0.2)], [(1, 0.5), (0.4, 1), (1.6, 1)]),
    ],
)
def test_points_inside_and_outside(shape, inside, outside):
    assert shape.contains(inside).all() and not shape.contains(outside).any()


@pytest.mark.parametrize("dimension", [2, 3])
def test_boxes_that_touch_share_no_point_and_leave_none_out(dimension):
    a = Box((0,) * dimension, (0.5,) + (1,) * (dimension - 1))
    b = Box((0.5,) + (0,) * (dimension - 1), (1,) * dimension)
    g = np.linspace(0, 1, 11)
    x = np.stack(np.meshgrid(*[g] * dimension, indexing="ij"), -1).reshape(-1, dimension)
    whole = Box((0,) * dimension, (1,) * dimension).contains(x)
    assert (a.contains(x).astype(int) + b.contains(x) == whole).all()


def test_polygons_that_touch_share_no_point():
    """Triangles around a common corner: each point of a fine lattice is in exactly one of them."""
    ring = [(0, 0), (4, 0), (8, 0), (8, 8), (4, 8), (0, 8), (0, 4)]
    parts = [Polygon([(3, 5), ring[k], ring[(k + 1) % 7]]) for k in range(7)]
    x = np.stack(np.meshgrid(*[np.linspace(-1, 9, 161)] * 2, indexing="ij"), -1).reshape(-1, 2)
    count = sum(p.contains(x).astype(int) for p in parts)
    assert (count == Polygon([(0, 0), (8, 0), (8, 8), (0, 8)]).contains(x)).all()


@given(st.integers(3, 40), st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_polygon_agrees_with_the_winding_angle(n, seed):
    rng = np.random.default_rng(seed)
    angle = np.sort(rng.uniform(0, 2 * np.pi, n))
    assume(
        np.diff(angle).min(initial=1) > 1e-3 and (np.diff(np.append(angle, angle[0] + 2 * np.pi)) < 3).all()
    )
    v = rng.uniform(0.2, 1.5, (n, 1)) * np.stack([np.cos(angle), np.sin(angle)], 1)
    x = points(2, 300, seed)
    a = v[None] - x[:, None]
    b = np.roll(a, -1, axis=1)
    turn = np.arctan2(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0], (a * b).sum(-1)).sum(1) / (2 * np.pi)
    assert (Polygon(v).contains(x) == (turn > 0.5)).all()


@each("shape", SOLIDS)
def test_bounds_are_the_smallest_box(shape):
    """No point of the shape is outside its bounds, and it reaches them; moved and turned as well."""
    axis = {} if shape.dimension == 2 else {"axis": (1, -2, 0.5)}
    for s in (
        shape,
        shape.rotate(0.4, **axis),
        shape.scale((1.5, 0.7, 2)[: shape.dimension]).rotate(1, **axis),
    ):
        lower, upper = s.bounds
        x = points(s.dimension, 200_000, size=4)
        inside = x[s.contains(x)]
        assert ((inside >= lower) & (inside <= upper)).all()
        if np.isfinite(lower).all():
            slack = 0.25 * (upper - lower)
            assert ((inside.min(0) < lower + slack) & (inside.max(0) > upper - slack)).all()
    lower, upper = shape.bounds
    assert np.isfinite(upper).all() != isinstance(shape, HalfSpace)
    with pytest.raises(ValueError, match="read-only"):
        lower[0] = 1


@pytest.mark.parametrize(
    "shape, lower, upper",
    [
        (HalfSpace((0, 2), (0, 1)), (-np.inf, -np.inf), (np.inf, 2)),
        (~HalfSpace((0, 2), (0, 1)), (-np.inf, 2), (np.inf, np.inf)),
        (HalfSpace((0, 2), (1, 1)), (-np.inf,) * 2, (np.inf,) * 2),
        (HalfSpace((0, 2), (0, 1)).rotate(np.pi / 2), (-2, -np.inf), (np.inf, np.inf)),
        (HalfSpace((1, 0), (1, 0)) & Box((0, 0), (2, 2)), (0, 0), (1, 2)),
        (Box((0, 0), (2, 2)) - HalfSpace((1, 0), (1, 0)), (1, 0), (2, 2)),
        (Box((0, 0), (1, 1)) | Ball((3, 3), 1), (0, 0), (4, 4)),
        (~Ball((0, 0), 1), (-np.inf,) * 2, (np.inf,) * 2),
        (~~Ball((0, 0), 1), (-1, -1), (1, 1)),
        (Ball((0, 0), 1).translate((1, 2)), (0, 1), (2, 3)),
        (Cylinder((0, 0, 0), (0, 0, 2), 1), (-1, -1, 0), (1, 1, 2)),
        (Capsule((0, 0, 0), (0, 0, 2), 1), (-1, -1, -1), (1, 1, 3)),
        (Points([(1, 2), (3, 0)]), (1, 0), (3, 2)),
    ],
)
def test_bounds(shape, lower, upper):
    np.testing.assert_allclose(shape.bounds, (lower, upper), atol=1e-15)


def test_bounds_of_what_does_not_meet_are_empty():
    lower, upper = (Box((0, 0), (1, 1)) & Box((2, 2), (3, 3))).bounds
    assert (lower <= upper).all()


# --- booleans -----------------------------------------------------------------------------------------------

pairs_2d = st.tuples(*[st.sampled_from(IN_2D)] * 3)
pairs_3d = st.tuples(*[st.sampled_from(IN_3D)] * 3)


@given(st.one_of(pairs_2d, pairs_3d), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_boolean_algebra(shapes, seed):
    a, b, c = shapes
    x = points(a.dimension, 400, seed)
    A, B, C = (s.contains(x) for s in shapes)

    def same(shape, expected):
        assert shape.dimension == a.dimension
        assert (shape.contains(x) == expected).all()

    same(a | b, A | B)
    same(a & b, A & B)
    same(a - b, A & ~B)
    same(~a, ~A)
    same(~~a, A)
    same(a | b | c, A | B | C)
    same(a & (b & c), A & B & C)
    same(a - b - c, A & ~B & ~C)
    same(a - (b - c), A & ~(B & ~C))
    same((a | b) - (a & b), A ^ B)
    same(~(a | b), (~a & ~b).contains(x))
    same((a - b) | (a & b), A)
    lower, upper = ((a | b) & c).bounds
    inside = x[((A | B) & C)]
    assert ((inside >= lower) & (inside <= upper)).all()


def test_long_chains_do_not_recurse():
    union = Ball((0, 0), 0.1)
    for k in range(1, 3000):
        union = union | Ball((k, 0), 0.1)
    assert union.contains([(2999, 0), (0.5, 0)]).tolist() == [True, False]
    assert len(repr(union)) < 1000
    assert (union.translate((0, 1))).contains([(7, 1)]).all()


@each("other", [1, "box", None, (0, 1), np.zeros(2)])
@each("operator", ["__or__", "__and__", "__sub__"])
def test_operators_leave_others_alone(operator, other):
    assert getattr(Ball((0, 0), 1), operator)(other) is NotImplemented


def test_operator_with_a_number_is_a_type_error():
    with pytest.raises(TypeError, match="unsupported operand"):
        Ball((0, 0), 1) | 1


# --- transforms ---------------------------------------------------------------------------------------------

coordinate = st.floats(-2, 2).map(lambda f: round(f, 3))


@given(st.sampled_from(SOLIDS), st.data())
@settings(max_examples=150, deadline=None)
def test_moved_shape_contains_moved_points(shape, data):
    """The points are moved here by their own formulas; those near a boundary may fall either way."""
    d = shape.dimension
    x = points(d, 300, data.draw(st.integers(0, 2**32)))
    y, moved = x, shape
    for _ in range(data.draw(st.integers(1, 3))):
        kind = data.draw(st.sampled_from(["translate", "rotate", "scale"]))
        about = np.array(data.draw(st.tuples(*[coordinate] * d)))
        if kind == "translate":
            y, moved = y + about, moved.translate(about)
        elif kind == "scale":
            by = np.array(data.draw(st.tuples(*[st.floats(0.25, 4)] * d)))
            by = by if data.draw(st.booleans()) else by[0]
            y, moved = about + by * (y - about), moved.scale(by, about=about)
        else:
            angle = data.draw(st.floats(-6.25, 6.25))
            if d == 2:
                turn = np.exp(1j * angle) * ((y - about) @ (1, 1j))
                y = about + np.stack([turn.real, turn.imag], 1)
                moved = moved.rotate(angle, about=about)
            else:
                axis = np.array(
                    data.draw(st.sampled_from([(0, 0, 1), (1, 0, 0), (1, -2, 3), (0, -1, 0)])), float
                )
                n, r = axis / np.linalg.norm(axis), y - about
                e = r - np.outer(r @ n, n)
                y = about + (r - e) + np.cos(angle) * e + np.sin(angle) * np.cross(n, r)
                moved = moved.rotate(angle, axis=axis, about=about)
    near = np.zeros(len(x), dtype=bool)
    inside = shape.contains(x)
    for k in range(d):
        for sign in (-1e-7, 1e-7):
            near |= shape.contains(x + sign * np.eye(d)[k]) != inside
    assert (moved.contains(y) == inside)[~near].all()
    assert near.mean() < 0.05
    lower, upper = moved.bounds
    assert ((y[inside] >= lower - 1e-9) & (y[inside] <= upper + 1e-9)).all()


def test_moved_primitives_stay_primitives():
    assert Box((0, 0), (1, 2)).translate((1, 1)) == Box((1, 1), (2, 3))
    assert Box((0, 0), (1, 2)).rotate(np.pi / 2) == Box((-2, 0), (0, 1))
    assert Box((0, 0, 0), (1, 2, 3)).rotate(-np.pi / 2, axis=(0, 0, 5)) == Box((0, -1, 0), (2, 0, 3))
    assert Box((1, 1), (2, 3)).scale(2, about=(1, 1)) == Box((1, 1), (3, 5))
    assert Ball((1, 0), 1).rotate(np.pi).scale(3) == Ball((-3, 0), 3)
    assert HalfSpace((0, 1), (0, 1)).scale((1, 4)) == HalfSpace((0, 4), (0, 1))
    assert isinstance(Capsule((0, 0), (1, 0), 1).rotate(0.3), Capsule)
    assert isinstance(Cylinder((0, 0), (1, 0), 1).scale(0.3), Cylinder)
    assert repr(Ball((0, 0), 1).scale((1, 2)).translate((0, 1))) == (
        "Ball(center=(0, 0), radius=1).scale((1, 2)).translate((0, 1))"
    )


def test_rotation_about_is_counter_clockwise():
    moved = Ball((2, 0), 0.1).rotate(np.pi / 2, about=(1, 0))
    np.testing.assert_allclose(moved.center, (1, 1), atol=1e-15)
    moved = Ball((2, 0, 0), 0.1).rotate(np.pi / 2, axis=(0, 0, 1), about=(1, 0, 0))
    np.testing.assert_allclose(moved.center, (1, 1, 0), atol=1e-15)


def test_points_move_and_scale_but_have_no_inside():
    p = Points([(1, 0), (0, 2)], volume=0.5)
    np.testing.assert_allclose(p.rotate(np.pi / 2).x, [(0, 1), (-2, 0)], atol=1e-15)
    assert p.rotate(0.3).volume.tolist() == [0.5, 0.5] == p.translate((1, 1)).volume.tolist()
    assert p.scale((2, 3)).volume.tolist() == [3, 3]
    assert p.scale(2, about=(1, 0)).x.tolist() == [[1, 0], [-1, 4]]
    assert Points([(1, 0)]).scale(2).volume is None
    ball = Ball((0, 0), 1)
    for forbidden in (
        lambda: p.contains([(0, 0)]), lambda: p | ball,
        lambda: ball - p, lambda: ball & p, lambda: p - p, lambda: ~p
    ):  # fmt: skip
        with pytest.raises(TypeError, match="Points is not a solid"):
            forbidden()


# --- as objects ---------------------------------------------------------------------------------------------

OBJECTS = [
    *SOLIDS, Points([(1, 2)]), Points([(1, 2, 3)], volume=2), ~Ball((0, 0), 1), ~HalfSpace((0, 0), (1, 0)),
    Ball((0, 0), 1) | Box((0, 0), (1, 1)), Ball((0, 0), 1).scale((1, 2)),
    Mesh(CUBE).rotate(1, axis=(1, 1, 0)),
]  # fmt: skip


@each("shape", OBJECTS)
def test_shapes_are_values(shape):
    for twin in (copy.copy(shape), copy.deepcopy(shape), pickle.loads(pickle.dumps(shape))):
        assert twin == shape and hash(twin) == hash(shape) and repr(twin) == repr(shape)
        np.testing.assert_array_equal(twin.bounds, shape.bounds)
        if not isinstance(shape, Points):
            x = points(shape.dimension)
            assert (twin.contains(x) == shape.contains(x)).all()
    assert [other for other in OBJECTS if other == shape] == [shape]
    assert shape != 1
    with pytest.raises(AttributeError, match="immutable"):
        shape.radius = 2
    with pytest.raises(AttributeError, match="immutable"):
        del shape.dimension
    for name in shape._fields:
        value = getattr(shape, name)
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[0] = 0


def test_arguments_are_copied():
    center = np.zeros(2)
    ball = Ball(center, 1)
    center[0] = 5
    assert ball.center.tolist() == [0, 0]


@each("shape", SOLIDS)
def test_contains_takes_any_layout_and_no_points(shape):
    x = points(shape.dimension, 100)
    expected = shape.contains(x)
    assert expected.dtype == bool and expected.shape == (100,)
    assert (shape.contains(np.asfortranarray(x)) == expected).all()
    assert (shape.contains(x[::-1])[::-1] == expected).all()
    assert (shape.contains(x.tolist()) == expected).all()
    assert shape.contains(np.zeros((0, shape.dimension))).shape == (0,)
    assert shape.contains(np.zeros((1, shape.dimension), dtype=np.int32)).shape == (1,)


def test_reprs_are_readable():
    assert repr(Box((0, 0), (1, 0.5))) == "Box(lower=(0, 0), upper=(1, 0.5))"
    assert repr(Ball((0, 0), 1) - Ball((1, 0), 1) | ~Box((0, 0), (1, 1))) == (
        "(Ball(center=(0, 0), radius=1) - Ball(center=(1, 0), radius=1)) | ~Box(lower=(0, 0), upper=(1, 1))"
    )
    assert repr(Mesh(CUBE)) == f"Mesh({str(CUBE)!r}, 192 triangles)"
    assert repr(Points([(0, 0)], volume=2)) == "Points(1 in 2-D, 2 m²)"


# --- what is refused ----------------------------------------------------------------------------------------

nan, inf = np.nan, np.inf
BALL, BALL3 = Ball((0, 0), 1), Ball((0, 0, 0), 1)
TRIANGLE = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]

BAD = [
    (lambda: Box((0, 0), (1,)), ValueError, "upper: expected the shape"),
    (lambda: Box((0, 0), (1, 1, 1)), ValueError, "upper"),
    (lambda: Box((0,), (1,)), ValueError, "lower: expected the shape"),
    (lambda: Box((0,) * 4, (1,) * 4), ValueError, "lower"),
    (lambda: Box(0, 1), ValueError, "lower"),
    (lambda: Box((0, 0), (0, 1)), ValueError, "lower < upper on every axis, got .0, 0., .0, 1."),
    (lambda: Box((0, 2), (1, 1)), ValueError, "lower < upper"),
    (lambda: Box((0, nan), (1, 1)), ValueError, "lower: expected finite numbers, got .0, nan"),
    (lambda: Box((0, 0), (1, inf)), ValueError, "upper: expected finite"),
    (lambda: Box("ab", (1, 1)), TypeError, "lower: expected numbers"),
    (lambda: Box(("0", "0"), (1, 1)), TypeError, "lower"),
    (lambda: Box((0, 1j), (1, 1)), TypeError, "lower"),
    (lambda: Box(None, (1, 1)), TypeError, "lower"),
    (lambda: Box((True, False), (1, 1)), TypeError, "lower"),
    (lambda: Box([(0, 0)], (1, 1)), ValueError, "lower"),
    (lambda: Box(((0, 0), 1), (1, 1)), ValueError, "lower"),
    (lambda: Box((0, 0), (10**400, 1)), (ValueError, TypeError, OverflowError), "upper"),
    (lambda: Ball((0, 0), 0), ValueError, "radius: expected a finite number above 0, got 0"),
    (lambda: Ball((0, 0), -1), ValueError, "radius.*got -1"),
    (lambda: Ball((0, 0), nan), ValueError, "radius"),
    (lambda: Ball((0, 0), inf), ValueError, "radius"),
    (lambda: Ball((0, 0), "1"), TypeError, "radius"),
    (lambda: Ball((0, 0), None), TypeError, "radius"),
    (lambda: Ball((0, 0), True), TypeError, "radius"),
    (lambda: Ball((0, 0), (1, 2)), TypeError, "radius"),
    (lambda: Ball((0, nan), 1), ValueError, "center"),
    (lambda: Ball((), 1), (ValueError, TypeError), "center"),
    (lambda: HalfSpace((0, 0), (0, 0)), ValueError, "normal: expected a vector that is not zero, got .0, 0."),
    (lambda: HalfSpace((0, 0), (0, 0, 1)), ValueError, "normal"),
    (lambda: HalfSpace((0, 0), (0, nan)), ValueError, "normal"),
    (lambda: HalfSpace((0, inf), (0, 1)), ValueError, "point"),
    (lambda: Capsule((0, 0), (0, 0), 1), ValueError, "a, b: expected two different points"),
    (lambda: Capsule((0, 0), (1, 0), 0), ValueError, "radius"),
    (lambda: Capsule((0, 0), (1, 0, 0), 1), ValueError, "b: expected"),
    (lambda: Capsule((0, nan), (1, 0), 1), ValueError, "a: expected"),
    (lambda: Cylinder((1, 1, 1), (1, 1, 1), 1), ValueError, "a, b"),
    (lambda: Cylinder((0, 0, 0), (1, 0, 0), -2), ValueError, "radius"),
    (lambda: Cylinder((0, 0, 0), (1, 0, "x"), 2), TypeError, "b"),
    (lambda: Polygon([(0, 0), (1, 1)]), ValueError, "at least 3, got 2"),
    (lambda: Polygon([(0, 0), (1, 1), (0, 0)]), ValueError, "same point|turns back|no area"),
    (lambda: Polygon([]), (ValueError, TypeError), "vertices"),
    (lambda: Polygon([(0, 0, 0), (1, 0, 0), (0, 1, 0)]), ValueError, "vertices: expected the shape"),
    (lambda: Polygon([(0, 0), (1, 0), (nan, 1)]), ValueError, "vertices: expected finite"),
    (lambda: Polygon([(0, 0), (1, 0), (2, 0)]), ValueError, "turns back|no area"),
    (lambda: Polygon([(0, 0), (1, 1), (1, 0), (0, 1)]), ValueError, "crosses or touches itself"),
    (lambda: Polygon([(0, 0), (0, 0), (1, 0), (0, 1)]), ValueError, "corners 0 and 1 .* same point"),
    (lambda: Polygon([(0, 0), (2, 0), (1, 0), (1, 1)]), ValueError, "turns back on itself at corner 1"),
    (lambda: Polygon([(0, 0), (2, 0), (2, 2), (1, 0), (0, 2)]), ValueError, "touches itself"),
    (lambda: Polygon([(0, 0), (2, 0), (1, 1), (2, 2), (0, 2), (1, 1)]), ValueError, "touches itself"),
    (lambda: Polygon("abc"), TypeError, "vertices"),
    (lambda: Polygon([(0, 0), (1, 0), (1,)]), ValueError, "vertices"),
    (lambda: Mesh(), TypeError, "a path, or vertices= and faces="),
    (lambda: Mesh(vertices=TRIANGLE), TypeError, "a path, or vertices= and faces="),
    (lambda: Mesh(faces=[(0, 1, 2)]), TypeError, "a path, or vertices="),
    (lambda: Mesh(CUBE, vertices=TRIANGLE, faces=[(0, 1, 2)]), TypeError, "a path, or vertices="),
    (lambda: Mesh(CUBE, faces=[(0, 1, 2)]), TypeError, "a path, or vertices="),
    (lambda: Mesh(3), TypeError, "path: expected a path, got 3"),
    (
        lambda: Mesh(vertices=TRIANGLE, faces=[(0, 1, 3)]),
        ValueError,
        "face 0.* names a vertex outside 0 to 2",
    ),
    (lambda: Mesh(vertices=TRIANGLE, faces=[(0, 1, -1)]), ValueError, "face 0"),
    (lambda: Mesh(vertices=TRIANGLE, faces=[(0, 1)]), ValueError, "faces: expected the shape"),
    (lambda: Mesh(vertices=TRIANGLE, faces=[0, 1, 2]), ValueError, "faces"),
    (lambda: Mesh(vertices=TRIANGLE, faces=np.zeros((0, 3), int)), ValueError, "faces"),
    (lambda: Mesh(vertices=TRIANGLE, faces=[(0, 1, 2.0)]), TypeError, "faces: expected integers"),
    (lambda: Mesh(vertices=TRIANGLE, faces=[(0, 1, 2), (0, 1)]), ValueError, "faces"),
    (lambda: Mesh(vertices=TRIANGLE, faces=[(0, 1, 2)]), ValueError, "no volume"),
    (lambda: Mesh(vertices=np.zeros((3, 2)), faces=[(0, 1, 2)]), ValueError, "vertices: expected the shape"),
    (lambda: Mesh(vertices=[(0, 0, nan)] * 3, faces=[(0, 1, 2)]), ValueError, "vertices: expected finite"),
    (lambda: Points([]), (ValueError, TypeError), "x"),
    (lambda: Points(np.zeros((0, 2))), ValueError, "at least one point"),
    (lambda: Points([0, 1]), ValueError, "x: expected the shape"),
    (lambda: Points([(0, 1, 2, 3)]), ValueError, "x: expected the shape"),
    (lambda: Points([(0, nan)]), ValueError, "x: expected finite"),
    (lambda: Points([(0, 0)], volume=0), ValueError, "volume"),
    (lambda: Points([(0, 0)], volume=-1), ValueError, "volume"),
    (lambda: Points([(0, 0)], volume=[1, 1]), ValueError, "volume: expected one or 1"),
    (lambda: Points([(0, 0)], volume=nan), ValueError, "volume"),
    (lambda: Points([(0, 0)], volume="1"), ValueError, "volume = '1': must be one of 'voronoi'"),
    (lambda: BALL | BALL3, ValueError, "cannot combine a shape in 2-D with one in 3-D"),
    (lambda: BALL & BALL3, ValueError, "cannot combine"),
    (lambda: BALL3 - BALL, ValueError, "cannot combine a shape in 3-D with one in 2-D"),
    (lambda: BALL - 3, TypeError, "unsupported operand"),
    (lambda: BALL & None, TypeError, "unsupported operand"),
    (lambda: BALL.translate((1, 2, 3)), ValueError, "by: expected the shape .2,."),
    (lambda: BALL.translate(1), ValueError, "by"),
    (lambda: BALL.translate((nan, 0)), ValueError, "by"),
    (lambda: BALL.translate("x"), TypeError, "by"),
    (lambda: BALL.rotate(nan), ValueError, "angle"),
    (lambda: BALL.rotate("90"), TypeError, "angle"),
    (lambda: BALL.rotate(1, axis=(0, 0, 1)), ValueError, "axis must be None"),
    (lambda: BALL.rotate(1, about=(0, 0, 0)), ValueError, "about"),
    (lambda: BALL3.rotate(1), ValueError, "axis: a rotation in 3-D needs one"),
    (lambda: BALL3.rotate(1, axis=(0, 0, 0)), ValueError, "axis: expected a vector that is not zero"),
    (lambda: BALL3.rotate(1, axis=(0, 1)), ValueError, "axis"),
    (lambda: BALL3.rotate(1, axis="z"), TypeError, "axis"),
    (lambda: BALL.scale(0), ValueError, "by: expected a factor above 0"),
    (lambda: BALL.scale(-1), ValueError, "by"),
    (lambda: BALL.scale((1, 0)), ValueError, "by"),
    (lambda: BALL.scale((1, 1, 1)), ValueError, "by"),
    (lambda: BALL.scale(nan), ValueError, "by"),
    (lambda: BALL.scale("2"), TypeError, "by"),
    (lambda: BALL.scale(2, about=(nan, 0)), ValueError, "about"),
    (lambda: BALL.contains((0, 0)), ValueError, "x: expected the shape .n, 2., got .2,."),
    (lambda: BALL.contains([(0, 0, 0)]), ValueError, "x"),
    (lambda: BALL.contains([(0, nan)]), ValueError, "x: expected finite"),
    (lambda: BALL.contains([(0, "a")]), TypeError, "x"),
    (lambda: BALL.contains(None), TypeError, "x"),
]


@each("number", range(len(BAD)))
def test_bad_argument_is_refused(number):
    call, error, message = BAD[number]
    with pytest.raises(error, match=message):
        call()


CALLS = [
    (lambda: Ball(0.5, 0.2), "center: expected the shape .*, got one number: 0.5"),
    (lambda: Ball((0.5, 0.5), (0.2, 0.2)), "radius: expected a number, got .0.2, 0.2."),
    (lambda: Ball(0.5, 0.5, 0.2), "4 were given"),
    (lambda: Ball((0.5, 0.5)), "needs radius="),
    (lambda: Ball(centre=(0.5, 0.5), radius=0.2), "no option 'centre'; did you mean 'center'"),
    (lambda: Box((0, 0), (1, 1, 1)), r"upper: expected the shape \(2,\) like lower, got \(3,\): \(1, 1, 1\)"),
    (lambda: Box((1, 1), (0, 0)), r"got \(1, 1\), \(0, 0\) \(they are swapped\)"),
    (lambda: Box((0, 1), (1, 1)), r"axis 1: 1 >= 1"),
    (lambda: HalfSpace((0, 0), 1), "normal: expected .* like point"),
    (lambda: Capsule((0, 0), (1, 0, 0), 1), "b: expected .* like a"),
    (lambda: Cylinder((0, 0, 0), (0, 0, 0), 1), "a, b: expected two different"),
    (lambda: Polygon([0, 0, 1, 0]), "vertices"),
    (lambda: Points((0, 0)), "x: expected the shape"),
    (lambda: mpm.shapes.DistanceGrid((0, 0), (1, 1), [(1, -1), (1, 1)]), "spacing: expected a number"),
    (lambda: Mesh(), "a path, or"),
]


@each("call, words", CALLS)
def test_errors_show_a_right_call(call, words):
    with pytest.raises((TypeError, ValueError), match=words) as error:
        call()
    _, shown = str(error.value).split("; for example ")
    for number, text in enumerate(shown.split(", in 3-D ")):
        if "part.stl" not in text:
            assert eval(text, vars(mpm.shapes)).dimension == 2 + number


def test_every_shape_is_exported():
    kinds = (Ball, Box, Capsule, Cylinder, HalfSpace, Mesh, Points, Polygon, Shape)
    others = {
        "Cells",
        "Deforming",
        "DistanceGrid",
        "Terrain",
    }  # tested with finite elements and with the colliders
    assert set(mpm.shapes.__all__) == {kind.__name__ for kind in kinds} | others
