"""Every back end gives the same bits, also one that runs tasks in reverse order in memory of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mpm
import random_relations
import random_scenes
import scenes
from loops import each
from mpm.io import checkpoint
from mpm.mpm import numerics
from random_setups import Maker


@pytest.fixture
def on_both(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], tuple[Any, Any]]:
    """Calls a function twice; the second time, new simulations run on the odd back end (csrc/mpm/odd_backend.h)."""
    new_core = numerics.new_core

    def new_odd_core(*args: Any, **kwargs: Any) -> Any:
        core = new_core(*args, **kwargs)
        core._use_odd_backend()
        return core

    def both(function: Callable[[], Any]) -> tuple[Any, Any]:
        first = function()
        with monkeypatch.context() as patched:
            patched.setattr(numerics, "new_core", new_odd_core)
            return first, function()

    return both


def found(sim: mpm.Simulation) -> Iterator[bytes]:
    """All that a run has computed."""
    yield sim.state_hash().encode()
    for name in sim.particles.fields:
        yield np.ascontiguousarray(sim.particles[name]).tobytes()
    for values in sim.history.values():
        yield np.ascontiguousarray(values).tobytes()
    yield repr((sim.totals(), sim.stable_dt(), sim.health, sim.time, sim.steps)).encode()
    yield from (np.ascontiguousarray(part).tobytes() for part in (sim.grid.x, sim.grid.mass, sim.grid.v))


def check(pair: tuple[mpm.Simulation, mpm.Simulation]) -> None:
    one, other = ([*found(sim)] for sim in pair)
    assert [len(part) for part in one] == [len(part) for part in other]
    assert [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b] == []


@each("dim, dtype, threads", [(2, "float32", 1), (2, "float64", 2), (3, "float64", 1), (3, "float32", 2)])
def test_views_frames_and_files(on_both, dim, dtype, threads):
    """Fields are looked at, held and written; particles come and go; a run goes on from a file."""

    def run() -> mpm.Simulation:
        sim = scenes.three_materials(dim, 24 if dim == 2 else 8, dtype=dtype, threads=threads)
        sim.particles.add_field("mark", unit="m", initial=0.5)
        held = sim.particles.x, sim.particles.F
        sim.step(12)
        sim.particles.v[::7] *= 0.5
        sim.particles.x[5] += 0.01
        sim.particles.mark[3] = 2
        sim.step(8)
        assert np.array_equal(held[0], sim.particles.x) and np.array_equal(held[1], sim.particles.F)
        sim.particles.delete(sim.particles.x[:, 0] > 0.3)
        sim.add(mpm.shapes.Ball([0.0] * (dim - 1) + [0.35], 0.1), scenes.MATERIALS["snow"])
        sim.step(10)
        sim = checkpoint.loads(checkpoint.dumps(sim))
        for _ in sim.frames(duration=0.02, fps=200):
            sim.particles.C.sum()
        return sim

    pair = on_both(run)
    check(pair)
    assert pair[0].health["binnings"] > 3


def test_reverse_order_of_three_tasks(on_both):
    """More than 16,384 particles, or the last task would be the second one."""
    pair = on_both(lambda: scenes.three_materials(2, 128, dtype="float32", threads=2))
    for sim in pair:
        assert len(sim.particles) > 16384
        sim.step(3)
    check(pair)


def walled(walls: str, law: str = "snow", dim: int = 2, **numerics: Any) -> mpm.Simulation:
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81], walls=walls)
    scene.add(mpm.shapes.Box([0.1] * dim, [0.5] * dim), scenes.MATERIALS[law], velocity=[-1.5] * dim)
    motion = mpm.motion.Linear([-0.5] * dim)
    scene.add_collider(mpm.shapes.Ball([0.65] * dim, 0.12), motion=motion, friction=0.3, name="ball")
    return mpm.Simulation(scene, dx=1 / 16, **numerics)


@each(
    "walls, options",
    [
        ("separate", {"transfer": "flip", "kernel": "cubic"}),
        ("mirror", {"transfer": "xpic", "dtype": "float32"}),
        ("periodic", {"transfer": "tpic", "f_update": "cayley"}),
        ("periodic", {"law": "fluid", "particle_collisions": "surface"}),
        ("mirror", {"f_bar": True, "law": "neo_hookean"}),
        ("sticky", {"dissipation": True, "law": "von_mises"}),
        ("separate", {"on_leave": "delete", "law": "fluid"}),
        ("separate", {"integrator": "implicit-euler", "law": "neo_hookean", "max_dt": 5e-3}),
        ("mirror", {"integrator": "implicit-midpoint", "law": "neo_hookean", "max_dt": 5e-3}),
        (
            "separate",
            {"integrator": "semi-implicit", "beta": 1.0, "law": "neo_hookean", "preconditioner": "stiffness"},
        ),
    ],
)
def test_schemes_walls_and_integrators(on_both, walls, options):
    pair = on_both(lambda: walled(walls, **options))
    for sim in pair:
        sim.step(10 if "integrator" in options else 40)
    check(pair)


def test_rigid_bodies(on_both):
    """Their sums, origins and impacts are found by the host."""

    def run() -> mpm.Simulation:
        scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81), walls=mpm.Wall("separate", restitution=0.5))
        scene.add_collider(mpm.shapes.Ball((0.3, 0.1), 0.1), restitution=0.7, name="ball")
        scene.add(mpm.shapes.Box((0.1, 0.2), (0.4, 0.35)), mpm.materials.Rigid(density=800), velocity=(1, -2))
        scene.add(mpm.shapes.Box((0.45, 0), (1, 0.15)), scenes.MATERIALS["fluid"])
        sim = mpm.Simulation(scene, dx=1 / 16)
        sim.step(60)
        return sim

    check(on_both(run))


def test_errors_name_the_same_rows(on_both):
    """A piston pushes particles out of the domain: the host finds their rows, and the first one's place."""

    def run() -> str:
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add(mpm.shapes.Box((0.75, 0.25), (0.9, 0.5)), scenes.MATERIALS["fluid"])
        piston = mpm.shapes.Box((0.3, -1), (0.7, 2))
        scene.add_collider(piston, motion=mpm.motion.Linear((1.0, 0.0)), name="piston")
        sim = mpm.Simulation(scene, dx=1 / 16)
        with pytest.raises(mpm.EscapeError, match="piston") as error:
            sim.run(0.6)
        return str(error.value)

    one, other = on_both(run)
    assert one == other


@pytest.mark.slow
def test_random_scenes(on_both):
    setups = [Maker(number).make() for number in range(40)]
    tried = [setup for setup in setups if setup.method in ("mpm", "implicit")]
    assert len(tried) > 25
    for setup in tried:
        one, other = on_both(lambda setup=setup: random_scenes.run(setup))
        assert random_relations.same_bits(one, other) == random_relations.SAME


@each("dim, dtype, threads", [(2, "float64", 2), (3, "float32", 1)])
def test_bodies_that_touch(on_both, dim, dtype, threads):
    """Moments at shared places, across periodic faces, and the books of pairs."""

    def run():
        walls = {"x": "periodic"}
        scene = mpm.Scene([0] * dim, [1] * dim, walls=walls, contact=mpm.Contact("separate", friction=0.2))
        rubber = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)
        for name, at, v in (("a", 0.1, -1.0), ("b", 0.8, 1.0), ("c", 0.42, -2.0)):
            middle = [at, *[0.5] * (dim - 1)]
            scene.add(mpm.shapes.Ball(middle, 0.1), rubber, velocity=[v, *[0.1] * (dim - 1)], name=name)
        sim = mpm.Simulation(scene, dx=1 / 16, dtype=dtype, threads=threads)
        sim.step(60)
        return sim

    check(on_both(run))
    assert run().history["friction_work"].sum() > 0


def test_books_of_pairs_know_no_order(on_both):
    """Bodies touch along a face through eight blocks, each with a book."""

    def run() -> mpm.Simulation:
        scene = mpm.Scene((0, 0), (1, 0.5), walls="periodic", contact=mpm.Contact("separate", friction=0.2))
        rubber = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)
        for name, low, v in (("a", 0.15, (0.7, 1.1)), ("b", 0.25, (-0.6, -0.9))):
            body = mpm.shapes.Box((0, low), (1, low + 0.1))
            scene.add(body, rubber, name=name, velocity=lambda x, v=v: v * (1 + 0.3 * np.sin(9 * x)))
        sim = mpm.Simulation(scene, dx=1 / 64)
        sim.step(20)
        return sim

    pair = on_both(run)
    check(pair)
    assert (pair[0].history["impulse:a|b"][1:, 1] > 0).all()


@each("dim, dtype", [(2, "float64"), (3, "float32")])
def test_heat(on_both, dim, dtype):
    """Two bodies that melt, expand and heat, between faces and colliders that heat them, and periodic ones."""

    def run() -> mpm.Simulation:
        walls = {
            "x-": mpm.Wall("separate", temperature=500),
            "x+": mpm.Wall("slip", flux=2e4),
            "y": "periodic",
        }
        scene = mpm.Scene((0,) * dim, (1,) * dim, walls=walls)
        for x, surface in ((0.75, {"temperature": 450}), (0.25, {"transfer": (1e3, 350)})):
            scene.add_collider(mpm.shapes.Ball((x, *[1 - x] * (dim - 1)), 0.24), **surface)
        for k, melting in enumerate((None, mpm.Melting(305.0, 20.0, conductivity=2.0))):
            thermal = mpm.Thermal(5.0, 1.0, 300.0, 1e-4, taylor_quinney=0.9, melting=melting)
            law = mpm.materials.VonMises(E=1e4, nu=0.3, density=100, yield_stress=50, thermal=thermal)
            scene.add(
                mpm.shapes.Box((0.5 * k,) * dim, (0.5 * k + 0.5,) * dim), law, velocity=(1 - 2 * k,) * dim
            )
        sim = mpm.Simulation(scene, dx=1 / 8, dtype=dtype, dissipation=True)
        sim.step(10)
        return checkpoint.loads(checkpoint.dumps(sim)) if dim == 2 else sim

    one, other = on_both(run)
    for sim in (one, other):
        sim.step(10)
        assert len(set(np.asarray(sim.particles.liquid_fraction))) > 2
    check((one, other))
