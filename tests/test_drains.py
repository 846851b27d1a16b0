"""Drains: whom they take and when, and that files, copies and pieces of a run do not matter."""

import copy

import numpy as np
import pytest

import mpm
from mpm import materials, shapes
from mpm.scene.drains import make_drain

WATER = materials.Fluid(bulk_modulus=1e5, density=1000)
NUMERICS = {"mpm": (mpm.Simulation, {"dx": 1 / 16}), "sph": (mpm.sph.Simulation, {"spacing": 1 / 16})}


def solver(method, dim=2, threads=1):
    """A tap, and an outlet at the other side, in which what falls disappears."""
    scene = mpm.Scene([0] * dim, [1] * dim, walls="separate", gravity=[0] * (dim - 1) + [-9.81])
    low = [0.25] + [0.375] * (dim - 1)
    scene.add_emitter(shapes.Box(low, [0.375] + [0.625] * (dim - 1)), WATER, velocity=[1.0] + [0] * (dim - 1))
    scene.add_drain(shapes.HalfSpace([0] * (dim - 1) + [0.3], [0] * (dim - 1) + [1]), start=0.1, every=0.01)
    made, options = NUMERICS[method]
    return made(scene, threads=threads, **options)


@pytest.mark.parametrize(("method", "dim"), [("mpm", 2), ("mpm", 3), ("sph", 2)])
def test_what_flows_out_is_taken_whatever_the_pieces(method, dim, tmp_path):
    sims = [solver(method, dim) for _ in range(3)]
    steps = 200 if dim == 2 else 60
    sims[0].step(steps)
    for _ in range(steps):
        sims[1].step()
    sims[2].step(steps // 3)
    sims[2].save(tmp_path / "a.mpm")
    sims[2] = copy.copy(mpm.load(tmp_path / "a.mpm", threads=2))
    sims[2].step(steps - steps // 3)
    assert len({sim.state_hash() for sim in sims}) == 1 and sims[0] == sims[2]
    sim = sims[0]
    sim.run(0.3)
    came = sum(name.startswith("emitter0 ") for name in sim._bodies())
    assert 0 < len(sim.particles) < came * (len(solver(method, dim).particles))
    assert sim.particles.x[:, -1].min() > 0.3 - 0.02 * 9.81  # nothing falls for longer than two turns
    assert sim.health["deleted"] > 0
    with pytest.raises(ValueError, match="sim: has emitters"):
        mpm.testing.assert_conserved(sim)


def test_a_pit_is_dug_once_at_its_time():
    """What is in it at the end of the first step at or after the time, and nothing that comes later."""
    scene = mpm.Scene((0, 0), (1, 1), walls="slip")
    scene.add(shapes.Box((0, 0), (1, 0.5)), materials.NeoHookean(E=1e5, nu=0.3, density=1000), name="ground")
    pit = shapes.Box((0.4, 0.3), (0.6, 0.6))
    scene.add_drain(pit, start=0.05, name="pit")
    scene.add_drain(shapes.Box((0, 0.4), (0.1, 0.5)))  # at once
    assert "pit: Box" in repr(scene) and "at 0.05 s" in repr(scene)
    sim = mpm.Simulation(scene, dx=1 / 20)
    assert not shapes.Box((0, 0.4), (0.1, 0.5)).contains(np.asarray(sim.particles.x)).any()
    all_but_corner = len(sim.particles)
    sim.run(0.04)
    assert len(sim.particles) == all_but_corner
    ids = sim.particles.id[~pit.contains(np.asarray(sim.particles.x))]
    sim.run(0.01)
    assert np.array_equal(sim.particles.id, ids)
    sim.add(shapes.Box((0.4, 0.35), (0.6, 0.45)), scene.bodies[0].material, name="fill")
    sim.run(0.05)
    assert sim.rows("fill").stop > sim.rows("fill").start and len(sim.particles) > len(ids)


def test_turns_are_those_of_a_count():
    rng = np.random.default_rng(1)
    for _ in range(300):
        start, every = rng.choice([0.0, 0.1, 0.37, 3.0]), 10 ** rng.uniform(-3, 0)
        until = rng.choice([None, start + 5.5 * every])
        drain = make_drain(
            shapes.Ball((0, 0), 1),
            start=start,
            every=every,
            until=until,
            name="a",
            dimension=2,
            taken=set(),
            number=0,
        )
        turns = [start + k * every for k in range(6 if until else 40)]
        after = rng.choice([rng.uniform(0, start + 30 * every), rng.choice(turns[:30]), -np.inf])
        due = next((t for t in turns if t * (1 - 1e-12) > after), np.inf)
        assert drain.next_turn(after) == pytest.approx(due, rel=2e-12)
    fine = make_drain(
        shapes.Ball((0, 0), 1),
        start=0.0,
        every=1e-300,
        until=None,
        name="a",
        dimension=2,
        taken=set(),
        number=0,
    )
    assert fine.next_turn(1.0) == np.nextafter(1.0, 2)


def test_what_is_no_drain_is_refused():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(shapes.Box((0, 0), (0.25, 0.25)), WATER)
    for change, message in (
        ({"until": 1.0}, r"until = 1.0: needs every="),
        ({"every": 0.1, "start": 1.0, "until": 1.0}, "until = 1.0: must be > 1"),
        ({"shape": shapes.Ball((0, 0, 0), 1)}, "shape is 3-D: must be 2-D like the scene"),
        ({"shape": shapes.Points([(0.5, 0.5)])}, "shape = .*: must be a solid"),
        ({"name": "out"}, "name = 'out': already the name of another drain"),
    ):
        given = copy.copy(scene)
        given.add_drain(shapes.Ball((0.5, 0.5), 0.1), name="out")
        with pytest.raises(ValueError, match=message):
            given.add_drain(**{"shape": shapes.Ball((0.5, 0.5), 0.1), **change})
        assert len(given.drains) == 1
    scene.add_drain(shapes.Ball((0.5, 0.5), 0.1))
    with pytest.raises(ValueError, match="scene has drains"):
        mpm.fem.Simulation(scene, spacing=0.125)
    with pytest.raises(TypeError, match=r"sim\.particles\.delete"):
        mpm.Simulation(scene, dx=1 / 16).scene.add_drain(shapes.Ball((0.5, 0.5), 0.1))
