"""Meshes of finite elements, and what is refused of them, of scenes and of options."""

import copy

import numpy as np
import pytest

import mpm
from fem_scenes import (
    LAWS,
    M,
    busy,
    every_dim,
    scene_of,
    turned,
)
from loops import each
from mpm import fem
from mpm.shapes import cells as cells_module


@every_dim
def test_the_doctor_knows_meshes_of_another_volume_than_their_shape(d):
    """Of a ball 3.2 cells wide, 1.11 times as large (2-D) and 1.34; not of a box, also with an F."""
    spacing, law = 1 / 16, M.Corotated(E=1e4, nu=0.3, density=1000)
    for shape, F, factor in (
        (mpm.shapes.Ball([0.5] * d, 0.1), None, (1.11, 1.34)[d - 2]),
        (mpm.shapes.Box([0.1] * d, [0.7] * d), np.diag([1.1, 0.7, 1.0][:d]), None),
    ):
        scene = mpm.Scene([0] * d, [1] * d)
        scene.add(shape, law, F=F)
        found = [one for one in mpm.doctor(fem.Simulation(scene, spacing=spacing)) if one.topic == "volume"]
        assert [one.good for one in found] == ([False] if factor else [])
        if factor:
            assert f"has {factor} times the volume of its shape" in found[0].words


@every_dim
def test_lattices_are_meshed(d):
    box = fem.mesh(mpm.shapes.Box([0.1] * d, [1] * d), 0.32)
    volume = np.abs(np.linalg.det(box.vertices[box.cells[:, 1:]] - box.vertices[box.cells[:, :1]]))
    assert len(box.vertices) == 4**d and len(box.cells) == (2, 5)[d - 2] * 3**d
    assert volume.sum() / (2, 6)[d - 2] == pytest.approx(0.9**d)
    assert box.vertices.min() == 0.1 and box.vertices.max() == 1.0
    ball = fem.mesh(mpm.shapes.Ball([0.0] * d, 1.0), 0.1)
    assert fem.Simulation(
        scene_of(d, LAWS["corotated"], mpm.shapes.Ball([0.0] * d, 1.0)), spacing=0.1
    )._parts[0].volume == pytest.approx((np.pi, 4 / 3 * np.pi)[d - 2], rel=0.02)
    assert np.linalg.norm(ball.vertices, axis=1).max() < 1.15
    assert (np.abs(np.linalg.norm(ball.vertices, axis=1) - 1) < 1e-9).sum() > 0.05 * len(
        ball.vertices
    )  # snapped


LATTICES = {2: [(4, 2), (3, 2), (1, 1), (5, 3)], 3: [(4, 2, 6), (3, 2, 5), (1, 1, 1), (1, 2, 3)]}


@every_dim
@each("number", range(4))
def test_meshes_of_any_lattice_are_conforming(d, number):
    """Each inner face belongs to two elements; the faces of one element close around the volume of the elements."""
    counts = np.array(LATTICES[d][number], dtype=float)
    for shape in (mpm.shapes.Box([0] * d, counts), mpm.shapes.Ball([0] * d, 2.3 + number / 3)):
        x, cells = fem.mesh(shape, 1.0)
        assert (fem.meshing.volumes(x, cells) > 0.02).all()
        faces = np.concatenate([np.delete(cells, k, axis=1) for k in range(d + 1)])
        _, first, times = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
        assert set(times) <= {1, 2}
        outer = faces[first[times == 1]]
        if isinstance(shape, mpm.shapes.Box):  # a face that is split differently from both sides would stay
            on_face = ((x[outer] == 0) | (x[outer] == counts)).all(axis=1).any(axis=1)
            assert on_face.all()


@every_dim
@each("axis", range(3))
def test_a_mesh_with_even_numbers_of_cells_is_its_own_mirror_image(d, axis):
    """So that a symmetric beam does not bend sideways."""
    if axis >= d:
        return
    for shape in (mpm.shapes.Box([0] * d, [4, 2, 6][:d]), mpm.shapes.Ball([0] * d, 3.0)):
        x, cells = fem.mesh(shape, 1.0)
        middle = (x.min(axis=0) + x.max(axis=0)) / 2
        mirrored = x.copy()
        mirrored[:, axis] = 2 * middle[axis] - x[:, axis]
        distance = np.linalg.norm(mirrored[:, None] - x, axis=2)
        partner = distance.argmin(axis=1)
        assert distance.min(axis=1).max() < 1e-9
        elements = {tuple(sorted(cell)) for cell in cells.tolist()}
        assert {tuple(sorted(cell)) for cell in partner[cells].tolist()} == elements


@each("across", [2, 3, 4])
def test_a_cantilever_sags_and_does_not_bend_sideways(across):
    """Its share of the sag: Kuhn's tetrahedra, which share a diagonal, gave 15.7, 10.4 and 7.3 %, and sagged less."""
    h = 0.2
    scene = mpm.Scene((0, 0, 0), (1.2, 0.4, 0.6), gravity=(0, 0, -9.81), walls={"x-": "sticky"})
    scene.add(
        mpm.shapes.Box((0, 0.1, 0.3), (1, 0.1 + h, 0.3 + h)),
        mpm.materials.Corotated(E=2e6, nu=0.3, density=1000),
    )
    sim = fem.Simulation(
        scene, spacing=h / across, integrator="linearly-implicit-euler", dt=0.02, damping=(0, 0.05), threads=1
    )
    start = sim.particles.x.copy()
    sim.step(40)
    _, sideways, sag = (sim.particles.x - start)[start[:, 0] > 1 - 1e-9].mean(axis=0)
    # Measured: 5e-11, 3e-5 and 2e-10, and 0.122, 0.142 and 0.150 m on the way down (Kuhn's: 0.096, 0.123, 0.139).
    assert abs(sideways / sag) < (1e-4 if across % 2 else 1e-8)
    assert -0.192 < sag < -{2: 0.121, 3: 0.140, 4: 0.148}[across]


def test_cells_are_a_shape():
    cells = mpm.shapes.Cells([[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]])
    assert cells.dimension == 2 and cells.bounds[1].tolist() == [1, 1] and cells._volume() == pytest.approx(1)
    assert cells.contains([[0.5, 0.5], [0.9, 0.1], [1.1, 0.5], [0.5, 0.0]]).tolist() == [
        True,
        True,
        False,
        True,
    ]
    turned_ = cells.rotate(np.pi / 2).translate((2, 0))
    assert isinstance(turned_, mpm.shapes.Cells) and turned_.contains([[1.5, 0.5]]).all()
    assert cells == mpm.shapes.Cells(cells.vertices, cells.cells) and hash(cells) == hash(
        mpm.shapes.Cells(cells.vertices, cells.cells)
    )
    scene = mpm.Scene((0, 0), (2, 2))
    scene.add(cells.translate((0.5, 0.5)), LAWS["neo_hookean"])
    sim = mpm.Simulation(scene, dx=1 / 8)  # particles fill it
    assert sim.totals().mass == pytest.approx(1000, rel=0.01)
    assert copy.copy(sim) == sim
    solid = mpm.Scene((0, 0, 0), (1, 1, 1))
    ball = mpm.shapes.Cells(*fem.mesh(mpm.shapes.Ball((0.5, 0.5, 0.5), 0.3), 0.1))
    solid.add(ball, LAWS["neo_hookean"])
    assert mpm.Simulation(solid, dx=1 / 16).totals().mass == pytest.approx(1000 * ball._volume(), rel=0.01)
    with pytest.raises(ValueError, match="Cells cannot be a collider"):
        scene.add_collider(cells, name="c")
        mpm.Simulation(scene, dx=1 / 8)


SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]]


@pytest.mark.parametrize(
    ("vertices", "cells", "message"),
    [
        (SQUARE, [[0, 2, 1], [0, 2, 3]], r"cells\[0\] = \[0, 2, 1\]: is inverted"),
        (SQUARE, [[0, 1, 2], [0, 0, 3]], r"cells\[1\] = \[0, 0, 3\]: is flat"),
        (
            SQUARE,
            [[0, 1, 2], [0, 2, 3], [1, 2, 0]],
            r"cells\[2\] = \[1, 2, 0\]: is there twice; must be once",
        ),
        (
            SQUARE,
            [[0, 1, 2], [0, 1, 3]],
            r"cells\[1\] and cells\[0\] overlap at \[0\.5, 0\.49\]: must not",
        ),
        (
            [*SQUARE, [0.5, 0.2], [2, 0.2], [2, 1]],
            [[0, 1, 2], [0, 2, 3], [4, 5, 6]],
            r"cells\[2\] and cells\[0\] overlap",
        ),
        (SQUARE, [[0, 1, 2]], r"vertices\[3\]: belongs to no cell"),
        (SQUARE, [[0, 1, 4]], r"cells\[0\] = \[0, 1, 4\]: must be vertices from 0 to 3"),
        (SQUARE, [[0, 1, -1]], r"must be vertices from 0 to 3"),
        (SQUARE, [[0, 1]], r"cells has shape \(1, 2\): must be \(m, 3\)"),
        (SQUARE, np.zeros((0, 3), int), r"cells has shape \(0, 3\)"),
        (SQUARE, [[0.0, 1.0, 2.0]], "cells: must be integers"),
        ([[0, 0], [1, 0], [2, 0]], [[0, 1, 2]], "is flat"),
        ([[0, 0], [1, np.nan], [1, 1]], [[0, 1, 2]], "vertices"),
    ],
)
def test_bad_cells_are_refused(vertices, cells, message):
    with pytest.raises((TypeError, ValueError), match=message):
        mpm.shapes.Cells(vertices, cells)


@pytest.mark.parametrize("d", [2, 3])
def test_meshes_that_overlap_are_refused_and_those_that_touch_are_not(d):
    made = fem.mesh(mpm.shapes.Box([0] * d, [1] * d), 0.125)
    n = len(made.vertices)
    both = np.concatenate([made.cells, made.cells + n])

    def pair(shift):
        moved = made.vertices + np.array([shift] + [0] * (d - 1))
        return mpm.shapes.Cells(np.concatenate([made.vertices, moved]), both)

    assert pair(1.0)._volume() == pytest.approx(2)  # they touch along a face whose vertices are there twice
    assert pair(1.5)._volume() == pytest.approx(2)
    for shift in (0.99, 0.5, 1e-3):
        with pytest.raises(ValueError, match="overlap at"):
            pair(shift)


def side_by_side(d, sizes):
    """Cells that fill two boxes which share a face, turned, and each with vertices of its own."""
    made = [fem.mesh(mpm.shapes.Box([k] + [0] * (d - 1), [k + 1] + [1] * (d - 1)), sizes[k]) for k in (0, 1)]
    cells = np.concatenate([made[0].cells, made[1].cells + len(made[0].vertices)])
    return np.concatenate([one.vertices for one in made]) @ turned(d).T * 0.3 + 1, cells


@every_dim
@pytest.mark.parametrize("skew", [False, True])
def test_cells_that_touch_but_share_no_vertices_are_counted_and_joined(d, skew):
    vertices, cells = side_by_side(d, (0.25, 0.25))
    n = 5 ** (d - 1)
    if not skew:
        vertices, cells = fem.mesh(mpm.shapes.Box([0.1] * d, [0.3] * d), 0.04)
        doubled = np.concatenate([vertices, vertices + 0.2 * np.eye(d)[0]])
        vertices, cells, n = doubled, np.concatenate([cells, cells + len(vertices)]), 6 ** (d - 1)
    apart = mpm.shapes.Cells(vertices, cells)
    with pytest.warns(
        UserWarning, match=rf"body0': {2 * n} of {len(vertices)} vertices lie in the place of another"
    ):
        sim = fem.Simulation(scene_of(d, LAWS["corotated"], apart), dtype="float64")
    for merge in (1e-12, 1e-3):
        joined = mpm.shapes.Cells(vertices, cells, merge=merge)
        assert len(joined.vertices) == len(vertices) - n and np.array_equal(joined.vertices[:n], vertices[:n])
        assert joined._volume() == pytest.approx(apart._volume(), rel=1e-9)
        assert not any(map(len, joined._unjoined()))
    whole = fem.Simulation(scene_of(d, LAWS["corotated"], joined))  # warns of nothing
    assert len(whole.particles) == len(sim.particles) - n
    with pytest.raises(ValueError, match=r"merge = 5: joins vertices of cells\[0\]"):
        mpm.shapes.Cells(vertices, cells, merge=5.0)


@every_dim
def test_hanging_nodes_are_counted(d):
    vertices, cells = side_by_side(d, (0.25, 0.125))
    shape = mpm.shapes.Cells(vertices, cells, merge=1e-9)
    hanging = 9 ** (d - 1) - 5 ** (d - 1)
    with pytest.warns(
        UserWarning, match=rf"{hanging} of {len(shape.vertices)} vertices lie on an edge or face"
    ):
        fem.Simulation(scene_of(d, LAWS["corotated"], shape))
    found = shape._unjoined()
    assert not len(found.twins) and (found.cell < len(cells)).all() and len(found.cell) == hanging


@pytest.mark.parametrize("d", [2, 3])
def test_the_cell_of_a_point_is_the_first_that_holds_it(d):
    """Small cells among large ones, which overlap: nothing but the order decides."""
    rng = np.random.default_rng(1)
    vertices = np.concatenate([rng.uniform(0, 1, (60, d)), rng.uniform(0.4, 0.41, (900, d))])
    cells = np.concatenate(
        [
            [rng.permutation(60)[: d + 1] for _ in range(8)],
            60 + np.arange(900 // (d + 1) * (d + 1)).reshape(-1, d + 1),
        ]
    ).astype(np.int32)
    cells = cells[rng.permutation(len(cells))]
    x = np.concatenate(
        [rng.uniform(-0.1, 1.1, (300, d)), rng.uniform(0.4, 0.41, (300, d)), np.full((1, d), 1e300)]
    )
    found, weights = cells_module.find_cells(vertices, cells, x)
    expected = np.full(len(x), -1)
    for k in range(len(cells))[::-1]:
        w, good = cells_module._barycentric(np.repeat(vertices[cells[k]][None], len(x), axis=0), x)
        expected[good & (w >= -cells_module.ROUNDING).all(axis=1)] = k
    np.testing.assert_array_equal(found, expected)
    inside = found >= 0
    there = np.einsum("mk,mkd->md", weights[inside], vertices[cells[found[inside]]])
    np.testing.assert_allclose(there, x[inside], atol=1e-12)
    assert (
        0.1 < inside.mean() < 0.95 and len(cells_module.find_cells(vertices, cells, np.zeros((0, d)))[0]) == 0
    )


WATER = M.Fluid(bulk_modulus=1e5, density=1000)


@pytest.mark.parametrize(
    ("scene", "options", "message"),
    [
        (scene_of(2, WATER), {"spacing": 0.1}, "Fluid is no elastic solid"),
        (scene_of(2, M.Sand()), {"spacing": 0.1}, "Sand is no elastic solid"),
        (
            scene_of(2, M.Viscoelastic(E=1, nu=0.3, density=1, g_1=0.5, tau_1=1)),
            {"spacing": 0.1},
            r"Viscoelastic keeps strains that relax.* use mpm\.Simulation",
        ),
        (
            scene_of(2, M.VonMises(E=1, nu=0.3, yield_stress=1, density=1)),
            {"spacing": 0.1},
            "no elastic solid",
        ),
        (
            scene_of(2, LAWS["corotated"], walls={"x-": "periodic", "x+": "periodic"}),
            {"spacing": 0.1},
            "periodic",
        ),
        (scene_of(2, LAWS["corotated"]), {}, "spacing = None"),
        (scene_of(2, LAWS["corotated"]), {"spacing": -1}, "spacing = -1"),
        (scene_of(2, LAWS["corotated"]), {"spacing": "a"}, "spacing"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "damping": (-1, 0)}, "damping"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "damping": 1}, "damping"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "dt": 0}, "dt = 0"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "integrator": "euler"}, "integrator = 'euler'"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "dtype": "float16"}, "dtype"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "dx": 1}, "no option 'dx'"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "history": -1}, "history"),
        (
            scene_of(2, LAWS["corotated"], mpm.shapes.Points([[0, 0]])),
            {"spacing": 0.1},
            "Points have no inside",
        ),
        (
            scene_of(2, LAWS["corotated"], mpm.shapes.HalfSpace((0, 0), (0, 1))),
            {"spacing": 0.1},
            "an end along",
        ),
        (scene_of(2, LAWS["corotated"], size=0.5), {"spacing": 0.1}, "are outside of the domain"),
        (mpm.Scene((0, 0), (1, 1)), {"spacing": 0.1}, "no bodies"),
        ("scene", {"spacing": 0.1}, "scene"),
    ],
)
def test_bad_scenes_and_options_are_refused(scene, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fem.Simulation(scene, **options)


def test_a_file_with_a_broken_mesh_is_refused():
    sim = busy(2)
    kept = sim._snapshot()
    for name, change in (
        ("nodes", lambda a: a * 1000),
        ("rest", lambda a: a * 0),
        ("element_material", lambda a: a - 1),
        ("nodes", lambda a: a[:-1]),
        ("rest", lambda a: a[:-1]),
        ("field.x", lambda a: a[:-1]),
        ("field.mass", lambda a: -a),
    ):
        arrays = {**kept.arrays, name: change(kept.arrays[name])}
        with pytest.raises(ValueError):
            fem.Simulation._of(type(kept)(kept.scene, kept.numbers, arrays), None)
