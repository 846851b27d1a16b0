"""Sampling: how many particles, where, how big, and what is refused."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import mpm.meshes
from loops import each
from mpm.sampling import sampling
from mpm.sampling.sampling import sample
from mpm.shapes import Ball, Box, Capsule, Cylinder, HalfSpace, Mesh, Points, Polygon

CUBE = Path(mpm.__file__).parent / "gallery" / "cube.obj"


def fill(shape, *, lower=0, upper=1, rng=0, **options):
    d = shape.dimension
    defaults = {"dx": 0.05, "particles_per_cell": 2**d, "sampling": "stratified", "body": "body"}
    domain = {"lower": np.full(d, lower, dtype=float), "upper": np.full(d, upper, dtype=float)}
    rng = rng if isinstance(rng, Extreme) else np.random.default_rng(rng)
    return sample(shape, **domain, rng=rng, **{**defaults, **options})


SHAPES = [
    (Box((0.21, 0.33), (0.78, 0.9)), 0.57**2),
    (Ball((0.5, 0.5), 0.4), np.pi * 0.16),
    (Capsule((0.3, 0.3), (0.7, 0.7), 0.15), 0.3 * np.sqrt(0.32) + np.pi * 0.0225),
    (Cylinder((0.3, 0.3), (0.7, 0.7), 0.15), 0.3 * np.sqrt(0.32)),
    (Polygon([(0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.5, 0.3), (0.1, 0.9)]), 0.64 - 0.4 * 0.6),
    (HalfSpace((0, 0.37), (0, 1)), 0.37),
    (Box((0.2, 0.2), (0.8, 0.8)) - Ball((0.5, 0.5), 0.2), 0.36 - np.pi * 0.04),
    (Ball((0.5, 0.5, 0.5), 0.4), 4 / 3 * np.pi * 0.064),
    (Cylinder((0.5, 0.5, 0.2), (0.5, 0.5, 0.9), 0.3), np.pi * 0.09 * 0.7),
    (Capsule((0.5, 0.5, 0.4), (0.5, 0.5, 0.6), 0.3), np.pi * 0.09 * 0.2 + 4 / 3 * np.pi * 0.027),
    (HalfSpace((0.5, 0.5, 0.5), (1, 1, 1)), 0.5),
    (Mesh(CUBE).rotate(0.4, axis=(1, 2, 3), about=(0.5, 0.5, 0.5)), 0.125),
]


@pytest.mark.numbers
@pytest.mark.parametrize("how", ["stratified", "lattice", "random", "poisson"])
@each("number", range(len(SHAPES)))
def test_sampled_volume(number, how):
    shape, expected = SHAPES[number]
    x, volume = fill(shape, sampling=how)
    assert x.shape == (len(volume), shape.dimension) and x.dtype == volume.dtype == np.float64
    assert shape.contains(x).all() and ((x >= 0) & (x < 1)).all()
    full = 0.05**shape.dimension / 2**shape.dimension
    assert len(volume) * full == pytest.approx(expected, rel=0.03)
    # Of blue noise, whose number in a small shape varies most, the largest difference measured is 3.2 %.
    assert (
        np.median(volume) == pytest.approx(full, rel=0.05 if how == "poisson" else 0.01)
        and 0.09 < volume.min() / full < 1.01
    )
    assert volume.sum() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("how", ["stratified", "lattice"])
@each("seed", range(4))
def test_cube_is_filled_exactly(how, seed):
    """Faces on sub-cell edges: 125,000 particles for every seed, the same for the box and for its mesh."""
    options = {"dx": 0.02, "particles_per_cell": 8, "sampling": how, "rng": seed}
    x, volume = fill(Box((0.25,) * 3, (0.75,) * 3), **options)
    y, _ = fill(Mesh(CUBE), **options)
    assert len(x) == 125_000 and (x == y).all()
    assert volume.sum() == pytest.approx(0.125, rel=1e-12)


@pytest.mark.parametrize("dx, side", [(0.1, 1), (0.1, 3), (1 / 30, 2), (1 / 3, 5), (0.05, 4)])
@pytest.mark.parametrize("origin", [0.0, -0.3, 1000.1])
def test_boxes_on_subcells_are_filled_exactly(dx, side, origin):
    """Faces computed as a user would, with their own rounding errors."""
    h, n = dx / side, round(1 / dx) * side
    a, b = n // 4, n - n // 3
    domain = {"lower": (origin,) * 2, "upper": (origin + 1,) * 2}
    for seed in range(20):
        x, _ = fill(Box((origin + a * h,) * 2, (origin + b * h,) * 2), **domain, dx=dx,
                    particles_per_cell=side**2, rng=seed)  # fmt: skip
        assert len(x) == (b - a) ** 2


class Extreme:
    """A generator whose every number is the same."""

    def __init__(self, value):
        self.value = value

    def random(self, shape):
        return np.full(shape, self.value)


@each("u", [0.0, 1 - 2**-53])
def test_boxes_are_filled_exactly_by_the_most_extreme_numbers(u):
    """Without a margin rounding would put such points on the wrong side of a face."""
    for n in range(3, 40):
        h = 1 / (2 * n)
        for a, b in ((0, 1), (1, n), (n - 1, 2 * n), (n // 2, n + 1)):
            x, _ = fill(Box((a * h,) * 2, (b * h,) * 2), dx=1 / n, rng=Extreme(u))
            assert len(x) == (b - a) ** 2


@pytest.mark.parametrize("how", ["stratified", "lattice"])
def test_one_point_in_each_subcell_in_cell_order(how):
    x, _ = fill(Box((0, 0), (1, 1)), lower=(-0.5, 0), dx=0.25, particles_per_cell=9, sampling=how)
    cell, sub = np.floor((x - (-0.5, 0)) / 0.25).astype(int), np.floor((x - (-0.5, 0)) * 12).astype(int)
    rank = cell[:, 0] * 4 + cell[:, 1]
    assert (np.diff(rank) >= 0).all() and np.bincount(rank)[8:].tolist() == [9] * 16
    within = sub[:, 0] % 3 * 3 + sub[:, 1] % 3
    assert (within.reshape(-1, 9) == np.arange(9)).all()
    if how == "lattice":
        np.testing.assert_allclose(x[:4], [(1 / 24, y / 24) for y in (1, 3, 5)] + [(3 / 24, 1 / 24)])
    else:
        u = x * 12 - np.floor(x * 12)
        assert 0.25 < u.mean() < 0.75 and u.min() < 0.1 and u.max() > 0.9


def test_random_takes_any_number_per_cell():
    for number in (1, 3, 7):
        x, volume = fill(Box((0, 0), (1, 1)), sampling="random", particles_per_cell=number)
        assert len(x) == 400 * number and volume.sum() == pytest.approx(1)
        cell = np.floor(x / 0.05).astype(int) @ (20, 1)
        assert (np.diff(cell) >= 0).all() and (np.bincount(cell) == number).all()


@pytest.mark.parametrize("how", ["stratified", "random", "poisson"])
def test_same_rng_same_points(how, monkeypatch):
    shape = Ball((0.5, 0.5) if how == "poisson" else (0.5, 0.5, 0.5), 0.4)
    x, _ = fill(shape, sampling=how, rng=7)
    assert (x == fill(shape, sampling=how, rng=7)[0]).all()
    assert (x == fill(shape, sampling=how, rng=np.random.default_rng(7))[0]).all()
    assert (x == fill(shape, sampling=how, rng=np.int64(7))[0]).all()
    assert (
        len(x) != len(fill(shape, sampling=how, rng=8)[0]) or (x != fill(shape, sampling=how, rng=8)[0]).any()
    )
    generator = np.random.default_rng(7)
    fill(shape, sampling=how, rng=generator)
    assert fill(shape, sampling=how, rng=generator)[0][0].tolist() != x[0].tolist()
    monkeypatch.setattr(sampling, "CHUNK", 100)  # what is looked at together does not matter
    assert (x == fill(shape, sampling=how, rng=7)[0]).all()


def test_memory_is_bounded():
    import tracemalloc

    fill(Ball((0.5, 0.5, 0.5), 0.01), dx=0.01)
    tracemalloc.start()
    shape = Box((0, 0, 0), (1, 1, 1)) & Ball((0.5, 0.5, 0.5), 0.1)
    x, _ = fill(shape | Ball((0.95, 0.95, 0.95), 0.03) | Ball((0.05, 0.05, 0.05), 0.03), dx=1 / 64)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(x) < 2e4 and peak < 60e6  # measured 40 MB; all 2 million candidates at once would take 150


def test_touching_bodies_share_no_particle():
    whole, _ = fill(Box((0, 0), (1, 1)), sampling="lattice")
    parts = [fill(Box((a, 0), (a + 0.25, 1)), sampling="lattice")[0] for a in (0, 0.25, 0.5, 0.75)]
    assert sorted(map(tuple, np.concatenate(parts))) == sorted(map(tuple, whole))


@pytest.mark.parametrize(
    "shape, area",
    [
        (HalfSpace((0, 0.5), (0, 1)), 0.5),
        (HalfSpace((0, 7), (0, 1)), 1),
        (~Ball((0.5, 0.5), 0.3), 1 - np.pi * 0.09),
        (~HalfSpace((0.25, 0), (1, 0)), 0.75),
        (HalfSpace((0, 0), (0, -1)) | Ball((0.5, 0.5), 0.1), 1),
    ],
)
def test_shapes_without_end_are_clipped(shape, area):
    x, volume = fill(shape, dx=0.01)
    assert volume.sum() == pytest.approx(area, rel=0.01)
    assert ((x >= 0) & (x < 1)).all()


@pytest.mark.parametrize(
    "shape",
    [
        Ball((0.5, 0.9), 0.2) & Box((0, 0), (1, 1)),
        Ball((0.5, 0.9), 0.2) - HalfSpace((0, 1), (0, -1)),
        (Ball((0.5, 0.9), 0.2) - Box((0, 1), (1, 2))) | Ball((0.2, 0.2), 0.1),
        Ball((0.5, 0.5), 0.5).rotate(0.3, about=(0.5, 0.5)),
        Box((0.2, 0.2), (0.8, 0.8)).rotate(0.7, about=(0.5, 0.5)),
        Box((0.1 * 3 - 0.3, 0), (0.7 + 0.2 + 0.1, 1)),
    ],
)
def test_cut_shapes_lie_within(shape):
    x, _ = fill(shape)
    assert len(x) and ((x >= 0) & (x < 1)).all()


@pytest.mark.parametrize(
    "shape",
    [
        Ball((0.5, 0.9), 0.2),
        Box((0, 0), (1, 1.0001)),
        Box((-0.01, 0), (1, 1)),
        Mesh(CUBE).translate((0.5, 0, 0)),
        Ball((0.5, 0.9), 0.2) | Ball((0.5, 0.5), 0.2),
        Ball((0.5, 0.9), 0.2) - Ball((0.5, 0.5), 0.2),
        Points([(0.5, 0.5), (2, 0.5)], volume="per-cell"),
        Ball((5, 5), 1),
    ],
)
def test_shapes_that_stick_out_are_refused(shape):
    with pytest.raises(ValueError, match="sticks out of the domain: it spans") as caught:
        fill(shape)
    assert repr(shape) in str(caught.value)


def test_a_shape_that_turned_about_the_origin_is_told_so():
    turned = Box((0.4, 0.6), (0.6, 0.8)).rotate(2.0)
    with pytest.raises(
        ValueError, match=r"; rotate\(\) turns a shape about the origin unless it has about=; move it"
    ):
        fill(turned)
    with pytest.raises(ValueError, match=r"1\); move it"):
        fill(Box((0.4, 0.6), (0.6, 1.8)).rotate(2.0, about=(0.5, 0.7)))


@pytest.mark.parametrize(
    "shape, dx, message",
    [
        (Ball((0.52, 0.52), 0.001), 0.25, "dx is larger than the body: no particle falls into Ball"),
        (Box((0.3, 0.3, 0.3), (0.301, 0.301, 0.301)), 0.1, "dx is larger than the body.*dx = 0.1 m"),
        (HalfSpace((0, -1), (0, 1)), 0.1, "outside the domain"),
        (Box((0, 0), (0.4, 0.4)) & Box((0.5, 0.5), (1, 1)), 0.1, "no particle"),
        (Ball((0.5, 0.5), 0.3) - Ball((0.5, 0.5), 0.4), 0.1, "no particle falls into"),
    ],
)
def test_no_particle_is_an_error(shape, dx, message):
    with pytest.raises(ValueError, match=message):
        fill(shape, dx=dx, sampling="lattice")


def test_points_keep_their_places():
    places = [(0.7, 0.2), (0.1, 0.9), (0.1, 0.9)]
    x, volume = fill(Points(places, volume="per-cell"))
    assert x.tolist() == [list(p) for p in places] and volume.tolist() == [0.05**2 / 4] * 3
    x[:] = 0
    assert Points(places, volume=[1, 2, 3]).x[0, 0] == 0.7
    _, volume = fill(Points(places, volume=[1, 2, 3]), rng=3)
    assert volume.tolist() == [1, 2, 3] and volume.flags.writeable
    _, volume = fill(Points(places, volume=2).scale(0.5))
    assert volume.tolist() == [0.5] * 3


@pytest.mark.slow
def test_mesh_with_a_hole_is_filled():
    """Winding numbers decide, cell by cell, within the bounds."""
    data = Path(__file__).parent / "data" / "meshes" / "sphereWithHole.stl"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mesh = Mesh(data)
    _, volume = fill(mesh, upper=4, dx=0.25)
    assert volume.sum() == pytest.approx(13.59, abs=0.1)
