"""Colliders that change their shape: between frames against closed forms, the motion of their surface, the books."""

import numpy as np
import pytest

import mpm
from mesh_samples import cube_mesh, sphere_mesh
from mpm import motion
from mpm.shapes import Ball, Box, Deforming, DistanceGrid, HalfSpace, Mesh
from mpm.shapes.distances import describe, measure
from scenes import DTYPES

DUST = mpm.materials.NeoHookean(E=1e-9, nu=0.3, density=1)
SOFT = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)

pytestmark = [  # many tests fill colliders with material
    pytest.mark.filterwarnings("ignore:.*start inside the collider"),
    pytest.mark.filterwarnings("ignore:.*is thinner than"),
]


def lattice(dim, step=0.05):
    axis = np.arange(-1, 1 + step / 2, step)
    return np.stack(np.meshgrid(*[axis] * dim, indexing="ij"), axis=-1)


def grids(*shapes, step=0.05):
    dim = shapes[0].dimension
    x = lattice(dim, step)
    values = [measure(describe(shape, 1.0), x.reshape(-1, dim))[0].reshape(x.shape[:-1]) for shape in shapes]
    return [DistanceGrid([-1] * dim, step, phi) for phi in values]


def meshes(*transforms, n=24):
    v, f = sphere_mesh(n, 0.4)
    return [Mesh(vertices=transform(v), faces=f) for transform in transforms]


def simulation(shape, dx=0.125, body=0.5, dtype="float64", **options):
    dim = shape.dimension
    scene = mpm.Scene([-1] * dim, [1] * dim)
    scene.add(Box([-body] * dim, [body] * dim), DUST)
    scene.add_collider(shape, name="c", **options)
    return mpm.Simulation(scene, dx=dx, max_dt=0.01, dtype=dtype)


def test_a_ball_that_grows_is_in_between_what_it_should_be():
    shape = Deforming([0.1, 0.5], grids(Ball((0, 0), 0.3), Ball((0, 0), 0.5)))
    sim = simulation(shape)
    x = np.random.default_rng(1).uniform(-0.9, 0.9, (500, 2))
    radii = np.linalg.norm(x, axis=1)
    x = x[(radii > 0.25) & (radii < 0.8)]
    for end in (0.0, 0.1, 0.23, 0.4, 0.5, 0.7):
        sim.run(end - sim.time)
        radius = np.interp(end, [0.1, 0.5], [0.3, 0.5])
        error = sim.collider_distance("c", x) - (np.linalg.norm(x, axis=1) - radius)
        assert np.abs(error).max() < 3e-3  # of the lattice: measured 2.2e-3 at most, at every time


def test_a_thin_plate_that_moves_leaves_no_ghost():
    """Three times its own thickness between two frames: blended without motion, it would be gone halfway."""

    def moved(by):
        v, f = cube_mesh((-0.5 + by, -0.5, -0.5), (-0.3 + by, 0.5, 0.5))
        return Mesh(vertices=v, faces=f)

    sim = simulation(Deforming([0, 1], [moved(0), moved(0.6)]), body=0.9, contact="sticky")
    sim.run(0.5)
    x = np.random.default_rng(2).uniform(-0.6, 0.6, (2000, 3)) * (1, 0.5, 0.5)
    exact = measure(describe(Box((-0.2, -0.5, -0.5), (0, 0.5, 0.5)), 1.0), x)[0]
    error = np.abs(sim.collider_distance("c", x) - exact)
    assert error[np.abs(exact) < 0.03].max() < 1e-14  # measured 6e-17
    assert error.max() < 0.0625  # one spacing of the lattice, on ridges; measured 0.040
    sim.step()
    held = sim.collider_distance("c", sim.grid.x) < -0.02
    assert held.sum() > 20
    np.testing.assert_allclose(sim.grid.v[held], np.tile((0.6, 0, 0), (held.sum(), 1)), atol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_surface_of_a_mesh_moves_as_its_vertices_do(dtype):
    """It grows, turns a little, and drifts: an affine map of the vertices, and so of the surface."""
    gradient = np.array([[0.3, -0.2, 0], [0.2, 0.1, 0.1], [0, -0.1, 0.2]])
    drift = np.array([0.2, 0, -0.1])
    frames = meshes(lambda v: v, lambda v: v + 0.5 * (v @ gradient.T + drift))
    sim = simulation(Deforming([0, 0.5], frames), contact="sticky", body=0.3, dtype=dtype)
    sim.step()
    x, v = sim.grid.x, sim.grid.v
    radius = np.maximum(np.linalg.norm(x, axis=1), 1e-9)
    shell = (radius > 0.3) & (radius < 0.39)
    expected = (x / radius[:, None] * 0.4) @ gradient.T + drift
    assert shell.sum() > 20
    assert np.abs(v - expected)[shell].max() < 6e-3  # facets, d-linear; measured 2.5e-3
    sim.run(0.6 - sim.time)
    sim.step(2)
    assert np.abs(sim.grid.v[sim.collider_distance("c", sim.grid.x) < 0]).max() == 0  # held at the last frame


def test_surfaces_of_grids_move_along_their_normal():
    shape = Deforming([0, 0.5], grids(Ball((0, 0), 0.4), Ball((0, 0), 0.5)))
    sim = simulation(shape, contact="sticky", dx=1 / 16)
    sim.step()
    radius = np.maximum(np.linalg.norm(sim.grid.x, axis=1), 1e-9)
    near = (radius > 0.25) & (radius < 0.39)
    np.testing.assert_allclose(sim.grid.v[near], 0.2 * (sim.grid.x / radius[:, None])[near], atol=2e-3)


def test_it_can_be_moved_combined_and_taken_along():
    ball = Deforming([0, 1], grids(Ball((0, 0), 0.3), Ball((0, 0), 0.5)))
    shape = (~ball.scale((1.2, 1)).rotate(0.5).translate((0.1, 0))) & HalfSpace((0, 0.2), (0, 1))
    sim = simulation(shape, motion=motion.Linear((0.3, 0)), contact="sticky")
    sim.run(0.5)
    x = np.random.default_rng(3).uniform(-0.6, 0.6, (500, 2))
    x = x[np.linalg.norm(x - (0.25, 0), axis=1) > 0.2]
    static = (~Ball((0, 0), 0.4).scale((1.2, 1)).rotate(0.5).translate((0.1, 0))) & HalfSpace(
        (0, 0.2), (0, 1)
    )
    expected = measure(describe(static, 1.0), x - (0.15, 0))[0]
    assert np.abs(sim.collider_distance("c", x) - expected).max() < 4e-3


def test_the_momentum_budget_closes():
    def wobble(t):
        return lambda v: v * (1 + 0.2 * np.sin(t) * np.array([1, -1, 0.5])) + (0, 0, 0.3 * t)

    scene = mpm.Scene([-1] * 3, [1] * 3, gravity=(0, 0, -9.81), walls="separate")
    scene.add(Box((-0.5, -0.5, 0.45), (0.5, 0.5, 0.75)), SOFT, velocity=(0, 0, -1))
    times = np.linspace(0, 0.3, 4)
    scene.add_collider(
        Deforming(times, meshes(*(wobble(10 * t) for t in times), n=12)), friction=0.3, name="c"
    )
    sim = mpm.Simulation(scene, dx=0.125)
    total = sim.totals()
    sim.run(0.2)
    P = np.vstack([total.momentum, sim.history["momentum"]])
    given = sim.history["impulse:c"] + sim.history["wall_impulse"]
    error = np.diff(P, axis=0) - sim.history["dt"][:, None] * total.mass * scene.gravity - given
    assert np.abs(error).max() < 1e-12 * np.abs(P).max()
    assert sim.history["impulse:c"][:, 2].sum() > 0
    # Held from half a cell on, and the motion of one step deeper; measured 0.53 cells.
    assert -0.6 * sim.dx < sim.collider_distance("c", sim.particles.x).min() < -0.4 * sim.dx


def test_threads_and_splits_change_no_bit():
    hashes = set()
    for threads, parts in ((1, [20]), (2, [7, 13])):
        sim = simulation(Deforming([0, 0.1, 0.2], grids(*(Ball((0, 0), 0.3 + r) for r in (0, 0.1, 0)))))
        sim.threads = threads
        for n in parts:
            sim.step(n)
        hashes.add(sim.state_hash())
    assert len(hashes) == 1


def test_it_is_a_collider_only():
    shape = Deforming([0, 1], grids(Ball((0, 0), 0.3), Ball((0, 0), 0.5)))
    scene = mpm.Scene((-1, -1), (1, 1))
    for wrong in (
        shape,
        shape - Ball((0, 0), 0.1),
        ~shape,
        shape.translate((0.1, 0)),
        Ball((0, 0), 1) & shape,
    ):
        with pytest.raises(TypeError, match="changes with time"):
            scene.add(wrong, SOFT)
        with pytest.raises(TypeError, match="changes with time"):
            wrong.contains([(0, 0)])
    assert repr(shape) == "Deforming(2 x DistanceGrid(41 x 41 nodes, spacing=0.05), 0 to 1 s)"
    assert shape == Deforming([0, 1], grids(Ball((0, 0), 0.3), Ball((0, 0), 0.5)))
    low, high = shape.bounds
    np.testing.assert_allclose((low, high), [(-0.5, -0.5), (0.5, 0.5)], atol=0.0501)


@pytest.mark.parametrize("moved", [False, True])
def test_a_jerk_long_ago_costs_no_steps(moved):
    """The time step heeds the surface's speed now, not the largest that it ever has."""
    frames = grids(*(Ball((0, 0), radius) for radius in (0.2, 0.25, 0.251)))

    def first_step(jerk):
        shape = Deforming([jerk, jerk + 0.02, jerk + 3], frames)  # at 2.5 m/s, then at 0.0003 m/s
        scene = mpm.Scene((-1, -1), (1, 1))
        scene.add(Box((-0.5, -0.5), (0.5, 0.5)), DUST)
        scene.add_collider(shape.translate((0.1, 0)).scale(2) if moved else shape, name="c")
        sim = mpm.Simulation(scene, dx=0.125, max_dt=0.1)
        sim.step()
        return sim.dt

    assert first_step(-1) == 0.1
    # Halved until 2.5 (5) m/s and what they make of the material come to less than half a cell.
    assert first_step(0) == (0.1 / 16 if moved else 0.1 / 8)
