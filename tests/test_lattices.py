"""Lattices of distances: where they are laid, what they answer beyond, what they cost, and what is said about it."""

import tracemalloc

import numpy as np
import pytest

import mpm
from mesh_samples import cube_mesh, sphere_mesh
from mpm import meshes, motion
from mpm.scene import colliders
from mpm.shapes import Box, Deforming, DistanceGrid, Mesh
from mpm.shapes.distances import describe, measure

DUST = mpm.materials.NeoHookean(E=1e-9, nu=0.3, density=1)
SOFT = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)
UNIT = (np.zeros(3), np.ones(3))


def ball(radius, center, n=24):
    v, f = sphere_mesh(n)
    return Mesh(vertices=v * np.asarray(radius) + center, faces=f)


def distance(mesh, x):
    """Signed, of a mesh that may have been moved and scaled."""
    matrix, shift = getattr(mesh, "matrix", np.eye(3)), getattr(mesh, "shift", np.zeros(3))
    own = getattr(mesh, "shape", mesh)
    far = meshes.nearest_faces(own.vertices @ matrix.T + shift, own.faces, x)[0]
    return np.where(mesh.contains(x), -far, far)


def nodes(program):
    """How many numbers a program needs."""
    return len(program.numbers)


@pytest.mark.parametrize(
    ("mesh", "share"),
    [
        (ball((6, 6, 2.5), (0.5, 0.5, -2.3)), 0.01),  # terrain: 12 x 12 x 5 m below a domain of 1 m
        (ball(0.3, (1, 0.5, 0.5)), 0.9),  # half outside
        (ball(0.3, (3, 0.5, 0.5)), 0.7),  # outside
        (ball(5, (0.5, 0.5, 0.5)), 0.1),  # all around
        (ball((6000, 6000, 2500), (500, 500, -2300)).scale(1e-3), 0.01),  # the same in millimetres
        (ball((6, 1, 1), (0, 0, 0)).rotate(0.7, axis=(0, 0, 1)).translate((1, 0.5, 0.5)), 0.5),
    ],
)
def test_a_mesh_is_sampled_where_the_domain_is(mesh, share):
    dx = 1 / 8
    cut = describe(mesh, dx, UNIT)
    low, high = mesh.bounds
    assert nodes(cut) < share * np.prod((high - low) / (dx / 2) + 17)
    x = np.random.default_rng(0).uniform(-2 * dx, 1 + 2 * dx, (4000, 3))
    phi, normal = measure(cut, x)
    exact = distance(mesh, x)
    clear = np.abs(exact) > 0.02  # where interpolation leaves the sign in no doubt
    assert ((phi < 0) == (exact < 0))[clear].all()
    near = np.abs(exact) < 2 * dx
    assert np.abs(phi - exact)[near].max(initial=0) < 0.01  # measured 0.0066
    # Elsewhere a bound, and no worse than where the lattice ends.
    assert (np.abs(phi) <= np.abs(exact) + 0.01)[~near].all()
    assert (np.abs(phi) >= 2 * dx - 0.01)[~near].all()
    assert np.abs(np.linalg.norm(normal, axis=1) - 1).max() < 1e-14


def test_distances_of_a_cut_lattice_change_no_faster_than_one_moves():
    mesh = ball(0.4, (1, 0.5, 0.2))
    program = describe(mesh, 1 / 8, UNIT)
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 2, (20000, 3))
    y = x + rng.normal(size=x.shape) * rng.choice([1e-3, 0.1, 1], len(x))[:, None]
    change = np.abs(measure(program, x)[0] - measure(program, y)[0])
    slope = program.numbers[8]  # what the core counts on
    assert 1 <= slope < 1.8 and (change <= slope * np.linalg.norm(x - y, axis=1) * (1 + 1e-9)).all()


def test_what_ends_at_some_faces_goes_on_beyond_the_others():
    x = np.linspace(-1, 1, 41)
    bar = np.hypot(*np.meshgrid(np.zeros(41), x, indexing="ij")) - 0.3  # along x, without end
    grid = DistanceGrid((-1, -1), 0.05, bar)
    assert np.isinf(grid.bounds[1]).all()
    phi, normal = measure(describe(grid, 0.1), np.array([(5, 0.1), (5, 1.0), (5, 3.0), (0, -3.0)]))
    assert phi == pytest.approx([-0.2, 0.7, np.hypot(0.7, 2), np.hypot(0.7, 2)], abs=1e-12)
    assert np.abs(normal[:, 0]).max() == 0 and normal[:, 1] == pytest.approx([1, 1, 1, -1])
    ground = DistanceGrid((-1, -1), 0.05, np.broadcast_to(x, (41, 41)))  # below y = 0
    phi, normal = measure(describe(ground, 0.1), np.array([(0, 3.0), (5, 3.0), (0, -3.0), (-5, -0.5)]))
    assert phi == pytest.approx([np.hypot(1, 2), np.hypot(1, 2), -1, -0.5], abs=1e-12)


MOTIONS = {
    "linear": motion.Linear((0.8, 0, 0.25)),
    "rotation": motion.Rotation(2.0, axis=(1, 2, 3), about=(0.5, 0.5, 0.5)),
    "rotation about a corner": motion.Rotation(2.0, axis=(0, 0, 1), about=(0, 0, 0)),
    "sinusoid": motion.Sinusoid((0.8, 0, 0.2), 0.7),
    "keyframes": motion.Keyframes([0, 1, 2], [(0, 0, 0), (0.5, 0, 0), (0.5, -1, 0.25)]),
    "turning keyframes": motion.Keyframes([0, 2], [(0, 0, 0), (0.5, -1, 0)], angles=[(0, 0, 0), (0, 2, 1)]),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_a_moving_mesh_is_sampled_wherever_the_domain_comes(name, monkeypatch):
    mesh, dx = ball((1.6, 1.2, 2), (0.5, 0.5, -1.7), n=16), 1 / 8

    def moving():
        scene = mpm.Scene((0, 0, 0), (1, 1, 1))
        scene.add(Box((0.4, 0.4, 0.9), (0.6, 0.6, 1)), DUST)
        scene.add_collider(mesh, motion=MOTIONS[name], name="moving")
        return mpm.Simulation(scene, dx=dx, max_dt=0.05, on_leave="delete", sampling="stratified")

    cut = moving()
    monkeypatch.setattr(colliders, "describe", lambda shape, dx, region: describe(shape, dx))
    whole = moving()
    held = [sim._core.memory()["colliders"] for sim in (cut, whole)]
    assert held[0] < held[1] or MOTIONS[name]._turns
    x = np.random.default_rng(2).uniform(-2 * dx, 1 + 2 * dx, (3000, 3))
    for end in (0.0, 0.6, 1.4, 2.1):
        found, expected = (
            [sim.run(end - sim.time), sim.collider_distance("moving", x)][1] for sim in (cut, whole)
        )
        near = np.abs(expected) < 2 * dx
        assert np.abs(found - expected)[near].max(initial=0) < 0.04  # other nodes: measured 0.02
        assert ((found < 0) == (expected < 0))[np.abs(expected) > 0.05].all()


def test_a_deforming_mesh_is_cut_as_well():
    frames = [ball((3, 3, 2), (0.5, 0.5, z)) for z in (-1.8, -1.5)]
    cut, whole = (describe(Deforming([0, 1], frames), 1 / 4, region) for region in (UNIT, None))
    assert nodes(cut) < 0.3 * nodes(whole)
    x = np.random.default_rng(3).uniform(-0.5, 1.5, (3000, 3))
    found, expected = (measure(each, x)[0] for each in (cut, whole))
    near = np.abs(expected) < 0.5
    assert np.abs(found - expected)[near].max() < 0.02  # measured 0.0074


def test_a_large_mesh_costs_what_the_domain_sees_of_it():
    """12 x 12 x 5 m around a domain of 1 m: it used to take 1 GB and 13 s."""
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add(Box((0.4, 0.4, 0.5), (0.6, 0.6, 0.7)), SOFT)
    scene.add_collider(ball((6, 6, 2.5), (0.5, 0.5, -2.3), n=40))
    tracemalloc.start()
    sim = mpm.Simulation(scene, dx=1 / 32)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6  # measured 66e6
    held = sim._core.memory()
    assert 1e6 < held["colliders"] < 3e6  # measured 1.6e6
    assert f"{sum(held.values()) / 1e6:.3g} MB" in repr(sim)


def test_what_needs_much_memory_is_said_and_what_needs_too_much_refused(monkeypatch):
    monkeypatch.setattr(meshes.distance, "MANY_NUMBERS", 10_000)
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add(Box((0.4, 0.4, 0.9), (0.6, 0.6, 1)), SOFT)
    scene.add_collider(ball(0.4, (0.5, 0.5, 0.3)), name="dune", motion=motion.Linear((1, 0, 0)))
    with pytest.warns(
        UserWarning, match=r"shape: needs 30 x 30 x 29 distances, 0\.0625 m apart: 0\.00021 GB"
    ):
        mpm.Simulation(scene, dx=1 / 8, sampling="stratified")
    monkeypatch.setattr(meshes.distance, "MOST_NUMBERS", 20_000)
    wanted = r"shape: would need 30 x .* above 0\.00016 GB; choose a larger dx.* \(collider 'dune'\)"
    with pytest.raises(ValueError, match=wanted):
        mpm.Simulation(scene, dx=1 / 8, sampling="stratified")
    with pytest.raises(ValueError, match=r"above 0\.00016 GB"):
        frames = [ball(0.2, (0.5, 0.5, z)) for z in (0.3, 0.4)]
        describe(Deforming([0, 1], frames), 1 / 8)


def test_a_mesh_in_millimetres_is_recognized():
    v, f = cube_mesh()
    cube = Mesh(vertices=200 + 300 * v, faces=f)
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add(cube, SOFT, name="part")
    told = (
        r"shape of 'part': .* it is 300 times as large: is it in millimetres\? Then use shape\.scale\(1e-3\)$"
    )
    with pytest.raises(ValueError, match=told):
        mpm.Simulation(scene, dx=1 / 8)
    other = mpm.Scene((0, 0, 0), (1, 1, 1))
    other.add(Box((0.1, 0.1, 0.1), (0.3, 0.3, 0.3)), SOFT)
    other.add_collider(cube)
    with pytest.warns(UserWarning, match="is outside of the domain: .* is it in millimetres"):
        mpm.Simulation(other, dx=1 / 8)
    around = mpm.Scene((200, 200, 200), (201, 201, 201))
    around.add(Box((200.1, 200.1, 200.1), (200.3, 200.3, 200.3)), SOFT)
    around.add_collider(cube)
    with pytest.warns(UserWarning, match="start inside the collider .* is it in millimetres"):
        mpm.Simulation(around, dx=1 / 8)
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add(Mesh(vertices=3 * v, faces=f), SOFT, name="part")
    with pytest.raises(
        ValueError, match=r"shape of 'part': .*; move it, or cut it"
    ):  # too large, but not by that much
        mpm.Simulation(scene, dx=1 / 8)
