"""The domain may lie anywhere, and a particle anywhere in it: a free one keeps its velocity."""

import itertools
import math

import numpy as np
import pytest

import mpm
import scenes
from loops import each

every_dim = pytest.mark.parametrize("dim", scenes.DIMS)
every_dtype = each("dtype", scenes.DTYPES)
every_isa = each("isa", scenes.ISAS)

LIMIT = {"float64": 1e-12, "float32": 1e-5}  # relative to the speed; measured 3e-15, 1.7e-6
CELLS = 32
# Where the domain begins, in cells, and the size of a cell.
PLACES = {
    "at zero": (0, 1.0),
    "around zero": (-16, 0.1),
    "negative": (-40, 0.3),
    "far": (1_000_000, 1.0),
    "far and small": (1_000_000, 1e-3),
    "far on the other side": (-1_000_000 - CELLS, 0.1),
    "at a fraction": (0.37, 1 / 64),
}


def beside(x: float) -> list[float]:
    """x and its two neighbours in double precision."""
    return [math.nextafter(x, -math.inf), x, math.nextafter(x, math.inf)]


def special_points(dim: int, lower: float, h: float) -> np.ndarray:
    """On a node, an edge, a face of a cell, its middle, and one ulp beside each; also at the borders of blocks."""
    rng = np.random.default_rng(0)
    marks = {k + f for k in (8, 12, 15, 16) for f in (0.0, 0.5)}
    values = [value for mark in sorted(marks) for value in beside(lower + mark * h)]
    corners = np.array(list(itertools.product(values, repeat=2)))
    if dim == 3:
        corners = np.concatenate([corners, rng.choice(values, (len(corners), 1))], axis=1)
    return corners


def scattered(x, place, dtype, isa, velocity, **physics):
    """Particles at x, each so far from the others that they do not meet, or not (they fly together)."""
    start, h = PLACES[place]
    dim = x.shape[1]
    scene = mpm.Scene([start * h] * dim, [start * h + CELLS * h] * dim, **physics)
    scene.add(mpm.shapes.Points(x, volume="per-cell"), scenes.MATERIALS["neo_hookean"], velocity=velocity)
    with scenes.kernels(isa):
        return mpm.Simulation(scene, dx=h, dtype=dtype, threads=1)


@every_dim
@every_dtype
@every_isa
@each("place", PLACES)
def test_free_particles_keep_their_velocity(dim, dtype, isa, place):
    start, h = PLACES[place]
    x = special_points(dim, start * h, h)
    v = np.array([1.5, -0.9, 0.6])[:dim]
    sim = scattered(x, place, dtype, isa, v)
    given = sim.particles.v.copy()
    placed = sim.particles.x.astype(float)
    # as it was given, up to the rounding of the array itself
    assert np.abs(placed - x).max() <= 2 * scenes.EPSILON[dtype] * np.abs(x).max()
    sim.step(40)
    t = sim.time
    p = sim.particles
    assert np.abs(p.v - given).max() <= LIMIT[dtype] * np.abs(v).max()
    # Positions: exact to the rounding of the resident state (cells in a block) and of the array.
    path = x + t * v
    moved = np.abs(t * v).max()
    assert moved > 2 * h
    allowed = LIMIT[dtype] * moved + 4 * scenes.EPSILON[dtype] * np.abs(x).max()
    if dtype == "float32":
        allowed += 64 * scenes.EPSILON[dtype] * h  # 40 steps of rounding; a block is at most 8 cells wide
    assert np.abs(p.x - path).max() <= allowed
    assert np.abs(p.F - np.eye(dim)).max() < 10 * LIMIT[dtype]  # measured 1.1e-14, 4.7e-6


@every_dim
@every_dtype
@each("place", PLACES)
def test_one_particle_alone_at_every_kind_of_place(dim, dtype, place):
    """Alone it takes its own velocity from the grid, whatever its weights are."""
    start, h = PLACES[place]
    v = np.array([0.6, 1.5, -1.0])[:dim]
    for x in special_points(dim, start * h, h)[::37]:
        sim = scattered(x[None], place, dtype, scenes.ISAS[-1], v)
        given = sim.particles.v.copy()
        sim.step(20)
        assert np.abs(sim.particles.v - given).max() <= LIMIT[dtype] * np.abs(v).max()
        assert np.abs(sim.particles.C).max() * h <= 16 * LIMIT[dtype] * np.abs(v).max()


@every_dim
@every_isa
def test_a_resting_particle_stays_exactly_where_it_is(dim, isa):
    for place, (start, h) in PLACES.items():
        sim = scattered(special_points(dim, start * h, h), place, "float64", isa, 0)
        before = sim.particles.x.copy()
        sim.step(10)
        assert not sim.particles.v.any() and not sim.particles.C.any()
        np.testing.assert_array_equal(sim.particles.x, before)


@every_dim
@every_dtype
def test_a_run_far_away_is_the_run_at_zero_moved(dim, dtype):
    """Positions are resident as block and cells in it: the same bits in a domain of whole cells of a power of two."""

    def body(shift):
        scene = mpm.Scene(
            [shift] * dim, [shift + 2] * dim, gravity=[0] * (dim - 1) + [-2.0], walls="separate"
        )
        x = (
            shift + 0.25 + np.round(scenes.jittered(dim, 8, 1 / 32) * 2**20) / 2**20
        )  # the same in either place
        scene.add(
            mpm.shapes.Points(x, volume="per-cell"), scenes.MATERIALS["fixed_corotated"], velocity=[0.5] * dim
        )
        return mpm.Simulation(scene, dx=1 / 16, dtype=dtype)

    near, far = body(0.0), body(65536.0)
    near.step(100)
    far.step(100)
    for name in ("v", "C", "F", "J"):
        np.testing.assert_array_equal(near.particles[name], far.particles[name])
    offset = far.particles.x.astype(float) - 65536.0 - near.particles.x
    assert np.abs(offset).max() <= 2.0**16 * scenes.EPSILON[dtype]  # of the array only


@every_dim
@every_dtype
def test_single_precision_far_away_is_as_good_as_near(dim, dtype):
    """A slow particle a million cells out moves although its x does not show single steps."""

    def drift(place):
        at = PLACES[place][0] + 8.25
        sim = scattered(np.full((1, dim), at), place, dtype, scenes.ISAS[-1], [1e-3] * dim)
        first = sim.particles.x.copy()
        sim.run(200.0)
        return sim.particles.x.astype(float) - first, sim.totals().center_of_mass - at

    (near, near_resident), (far, far_resident) = drift("at zero"), drift("far")
    assert near_resident == pytest.approx(
        0.2, abs={"float64": 1e-12, "float32": 2e-3}[dtype]
    )  # measured 7e-4
    assert far_resident == pytest.approx(near_resident, abs=1e-9)
    assert far == pytest.approx(near, abs=1 / 16 if dtype == "float32" else 1e-9)  # the ulp of x out there


@every_dim
@every_dtype
@each("corner", [0, 1])
def test_in_the_corner_of_the_domain(dim, dtype, corner):
    """On the very faces, edges and corners: nothing out of bounds, and a wall that only pushes lets go."""
    for place, (start, h) in PLACES.items():
        lower, upper = start * h, start * h + CELLS * h
        face = upper if corner else lower
        inwards = -1.0 if corner else 1.0
        values = [face, math.nextafter(face, (lower + upper) / 2), face + 1.3 * inwards * h]
        x = np.array(list(itertools.product(values, repeat=dim)))
        sim = scattered(x, place, dtype, scenes.ISAS[-1], [0.3 * inwards] * dim, walls="separate")
        start_v = sim.particles.v.copy()
        sim.step(30)
        np.testing.assert_allclose(sim.particles.v, start_v, rtol=0, atol=LIMIT[dtype] * 0.3)
        assert not sim.history["wall_impulse"].any()
        assert sim.health["left_domain"] == 0


@every_dim
def test_the_size_of_the_box_costs_nothing(dim):
    """Grid and particles follow the material: a thousand times the box, the same memory."""

    def held(upper):
        scene = mpm.Scene([0] * dim, [upper] * dim)
        scene.add(mpm.shapes.Box([0.2] * dim, [0.7] * dim), scenes.MATERIALS["neo_hookean"])
        sim = mpm.Simulation(scene, dx=1 / 16)
        sim.step(2)
        return sim._core.memory()

    assert held(1) == held(1024)


@every_dim
@every_dtype
@each("cells", [1, 2, 3, 5])
def test_domains_of_few_cells(dim, dtype, cells):
    """Smaller than a block, or than the support of one particle."""
    scene = mpm.Scene([0] * dim, [cells] * dim, walls="slip")
    scene.add(mpm.shapes.Box([0] * dim, [cells] * dim), scenes.MATERIALS["fluid"], velocity=0)
    sim = mpm.Simulation(scene, dx=1, dtype=dtype, sampling="lattice")
    mass = sim.totals().mass
    sim.step(20)
    assert sim.totals().mass == mass
    assert np.isfinite(sim.particles.x).all()
    assert (sim.particles.x >= 0).all() and (sim.particles.x <= cells).all()


SIDES = [
    ((1, 0.737), 1 / 32),
    ((1.6098, 0.6), 0.01),
    ((0.584, 0.35), 0.005),
    ((3.14159, 1), 0.05),
    ((0.3, 0.9), 0.3),
]


@each("upper, dx", SIDES)
@pytest.mark.parametrize("make", [mpm.Simulation, mpm.sph.Simulation])
def test_a_domain_is_extended_to_whole_cells(make, upper, dx):
    """By less than a cell, as the message proposes; a side that is whole stays as it is, bit for bit."""
    lower, name = np.array([-0.1, 0.2]), "dx" if make is mpm.Simulation else "spacing"
    scene = mpm.Scene(lower, lower + upper, walls={"y-": "separate"})
    scene.add(mpm.shapes.Box(lower, lower + np.array(upper) / 2), scenes.MATERIALS["fluid"])
    fitted = scene.fitted(dx)
    added = fitted.upper - scene.upper
    assert (added >= 0).all() and (added < dx).all() and (added[added < 1e-6 * dx] == 0).all()
    assert (fitted.lower == lower).all() and fitted.walls == scene.walls and fitted.bodies == scene.bodies
    assert fitted.fitted(dx).upper.tolist() == fitted.upper.tolist()
    if added.any():
        with pytest.raises(
            ValueError, match=rf"^{name} = .* must be whole; extend the domain to upper = "
        ) as error:
            make(scene, **{name: dx})
        proposed = [
            float(x) for x in str(error.value).partition("upper = (")[2].partition(")")[0].split(", ")
        ]
        np.testing.assert_allclose(proposed, fitted.upper, rtol=1e-14)
    if min(fitted.upper - lower) > 4 * dx:
        assert len(make(fitted, threads=1, **{name: dx}).particles)


def test_another_cell_size_is_proposed_only_if_it_is_near():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Box((0, 0), (0.5, 0.5)), scenes.MATERIALS["fluid"])
    with pytest.raises(
        ValueError, match=r"\(1\.02, 1\.02\), as scene\.fitted\(0\.03\) does, or take dx = 0\.0303"
    ):
        mpm.Simulation(scene, dx=0.03)
    with pytest.raises(ValueError, match=r"upper = \(1\.2, 1\.2\), as scene\.fitted\(0\.3\) does$"):
        mpm.Simulation(scene, dx=0.3)
    assert scene.fitted(2.0).upper.tolist() == [2, 2]
    sim = mpm.Simulation(scene, dx=0.1)
    sim.scene.fitted(0.3).add(mpm.shapes.Ball((0.6, 0.6), 0.1), scenes.MATERIALS["fluid"])
