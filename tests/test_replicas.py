"""Processes that sweep their own tasks alone and exchange copies of nodes give the bits of one process.

Each process has room for all particles (csrc/mpm/replicas.h), and those of its own tasks are up to date.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mpm
import scenes
from loops import each
from test_crack_faces import shattering


def found(sim: mpm.Simulation) -> Iterator[bytes]:
    """All that a run has computed."""
    for name in sim.particles.fields:
        yield np.ascontiguousarray(sim.particles[name]).tobytes()
    for values in sim.history.values():
        yield np.ascontiguousarray(values).tobytes()
    yield repr((sim.health, sim.time, sim.steps, sim.totals(), sim.stable_dt())).encode()
    yield from (np.ascontiguousarray(part).tobytes() for part in (sim.grid.x, sim.grid.mass, sim.grid.v))


def together(
    sims: list[mpm.Simulation], advance: Callable[[mpm.Simulation], Any]
) -> list[BaseException | None]:
    """Calls `advance` for all simulations at once, as the processes of a team."""
    team = sims[0]._core._new_team(len(sims))
    errors: list[BaseException | None] = [None] * len(sims)

    def run(process: int) -> None:
        try:
            sims[process]._core._join_team(team, process)
            advance(sims[process])
        except Exception as error:
            errors[process] = error
        finally:
            sims[process]._core.leave_team()

    threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(len(sims))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
        assert not thread.is_alive(), "processes wait for each other"
    return errors


def check(
    make: Callable[[], mpm.Simulation], steps: int, processes: tuple[int, ...] = (2, 3)
) -> mpm.Simulation:
    """Compares all bits of one process and of several, also after they have run on alone."""
    alone = make()
    alone.step(steps)
    expected = [*found(alone)]
    for count in processes:
        sims = [make() for _ in range(count)]
        assert together(sims, lambda sim: sim.step(steps)) == [None] * count
        for sim in sims:
            assert [k for k, (a, b) in enumerate(zip(found(sim), expected, strict=True)) if a != b] == []
    return alone


def walled(walls: Any, law: str = "snow", dim: int = 2, cells: int = 64, **numerics: Any) -> mpm.Simulation:
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81], walls=walls)
    scene.add(mpm.shapes.Box([0.1] * dim, [0.5] * dim), scenes.MATERIALS[law], velocity=[-1.5] * dim)
    motion = mpm.motion.Linear([-0.5] * dim)
    scene.add_collider(mpm.shapes.Ball([0.6] * dim, 0.12), motion=motion, friction=0.3, name="ball")
    return mpm.Simulation(scene, dx=1 / cells, history=1, **numerics)


@each(
    "walls, options",
    [
        ("separate", {"transfer": "flip", "kernel": "cubic", "cells": 32}),
        ("mirror", {"transfer": "xpic", "dtype": "float32", "cells": 32}),
        ("periodic", {"transfer": "tpic", "f_update": "cayley", "cells": 32}),
        ("periodic", {"law": "fluid", "particle_collisions": "surface", "cells": 32}),
        ("separate", {"law": "fluid", "dtype": "float32", "cells": 32, "threads": 2}),
        ("mirror", {"f_bar": True, "law": "neo_hookean", "cells": 32}),
        ("sticky", {"dissipation": True, "law": "von_mises", "cells": 32}),
        ({"x": "periodic", "y-": "mirror"}, {"law": "sand", "cells": 48}),
        ("separate", {"law": "sand", "dim": 3, "cells": 16, "dtype": "float32", "threads": 2}),
        ("mirror", {"law": "snow", "dim": 3, "cells": 12}),
    ],
)
def test_explicit_schemes(walls, options):
    sim = check(lambda: walled(walls, **options), 30)
    assert len(sim.history["time"]) == 31


@each(
    "walls, options",
    [
        ("separate", {"integrator": "implicit-euler", "max_dt": 5e-3}),
        ("mirror", {"integrator": "implicit-midpoint", "max_dt": 5e-3}),
        ("periodic", {"integrator": "semi-implicit", "beta": 1.0, "preconditioner": "stiffness"}),
    ],
)
def test_implicit_steps(walls, options):
    """Every product, residual and linearization exchanges; every dot product is a reduction."""
    check(lambda: walled(walls, law="neo_hookean", cells=24, **options), 4, (2,))


def test_many_tasks_and_binnings():
    """Eight tasks; particles and nodes migrate at binnings before and within steps."""
    sim = check(lambda: walled("separate", law="fluid", cells=256, dtype="float32"), 12, (1, 4, 7))
    assert len(sim.particles) > 40_000 and sim.health["binnings"] > 1


@each("dim, dtype", [(2, "float64"), (3, "float32")])
def test_bodies_that_touch(dim, dtype):
    """Layers meet across processes, periodic faces and mirrors; each pair of bodies counts once."""

    def make() -> mpm.Simulation:
        walls = {"x": "periodic", "y-": "mirror"}
        scene = mpm.Scene([0] * dim, [1] * dim, walls=walls, contact=mpm.Contact("separate", friction=0.2))
        rubber = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)
        for name, low, v in (("a", 0.0, (1, 0.5)), ("b", 0.25, (-1, -0.5)), ("c", 0.5, (-2, -1))):
            corners = ([0, low, *[0.2] * (dim - 2)], [0.9, low + 0.25, *[0.6] * (dim - 2)])
            scene.add(mpm.shapes.Box(*corners), rubber, velocity=[*v, *[0.1] * (dim - 2)], name=name)
        return mpm.Simulation(scene, dx=1 / (32 if dim == 2 else 16), dtype=dtype, history=1)

    sim = check(make, 40)
    assert sim.history["friction_work"].sum() > 0 and np.any(sim.history["impulse:b|c"])


@each("conduction", ["explicit", "implicit"])
def test_heat(conduction):
    """Conduction exchanges in every sub-step and product; faces, colliders and friction heat, bodies melt, expand."""
    solves = conduction == "implicit"

    def make() -> mpm.Simulation:
        walls = {
            "x-": mpm.Wall("separate", temperature=500),
            "x+": mpm.Wall("slip", flux=2e4),
            "y": "periodic",
        }
        touching = {"contact": mpm.Contact("separate", friction=0.3)} if solves else {}
        scene = mpm.Scene((0, 0), (1, 1), walls=walls, **touching)
        scene.add_collider(mpm.shapes.Ball((0.75, 0.25), 0.24), temperature=450)
        for k, melting in enumerate((None, None if solves else mpm.Melting(305.0, 20.0, conductivity=0.2))):
            thermal = mpm.Thermal(
                50.0 if solves else 0.5, 1.0, 300.0, 1e-4, taylor_quinney=0.9, melting=melting
            )
            law = mpm.materials.VonMises(E=1e4, nu=0.3, density=100, yield_stress=50, thermal=thermal)
            box = mpm.shapes.Box((0.4 * k, 0.5 * k), (0.4 * k + 0.5, 0.5 * k + 0.5))
            scene.add(box, law, velocity=(1 - 2 * k,) * 2)
        return mpm.Simulation(scene, dx=1 / 16, dissipation=True, history=1, conduction=conduction)

    sim = check(make, 20)
    assert not solves or sim.history["friction_work"].sum() > 0


@each("dim, steps", [(2, 300), (3, 60)])
def test_crack_faces(dim, steps):
    """Both velocity fields of a crack, and the axes that tell its sides, come from all processes."""
    sim = check(lambda: shattering(dim, history=1), steps, (2, 5))
    assert dim == 3 or np.array(sim.particles.damage).max() > 0.999


@each("conduction", ["explicit", "implicit"])
def test_a_solute(conduction):
    def make() -> mpm.Simulation:
        scene = mpm.Scene((0, 0), (1, 1), walls={"x-": mpm.Wall("slip", concentration=5.0)})
        solute = mpm.Solute(0.6, 1e-3, 0.0)
        gel = mpm.materials.NeoHookean(E=1e3, nu=0.0, density=5.0, solute=solute)
        scene.add(mpm.shapes.Box((0, 0), (0.7, 0.7)), gel, velocity=(1, 1))
        scene.add_collider(mpm.shapes.Ball((0.9, 0.5), 0.15), contact="slip", solute_flux=25.0)
        return mpm.Simulation(scene, dx=1 / 24, conduction=conduction, history=1)

    sim = check(make, 20)
    assert np.ptp(sim.particles.concentration) > 0.1


def test_errors_come_to_all_at_the_same_step():
    def make() -> mpm.Simulation:
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add(mpm.shapes.Box((0.75, 0.25), (0.9, 0.5)), scenes.MATERIALS["fluid"])
        piston = mpm.shapes.Box((0.3, -1), (0.7, 2))
        scene.add_collider(piston, motion=mpm.motion.Linear((1.0, 0.0)), name="piston")
        return mpm.Simulation(scene, dx=1 / 16)

    alone = make()
    with pytest.raises(mpm.EscapeError, match="piston") as error:
        alone.run(0.6)
    sims = [make() for _ in range(3)]
    errors = together(sims, lambda sim: sim.run(0.6))
    assert {str(one) for one in errors} == {str(error.value)}
    assert {sim.steps for sim in sims} == {alone.steps}


def test_written_views_added_and_deleted_particles_between_runs():
    def advance(sim: mpm.Simulation, step: Callable[[int], Any]) -> None:
        step(8)
        sim.particles.v[::7] *= 0.5
        sim.particles.delete(sim.particles.x[:, 0] > 0.45)
        sim.add(mpm.shapes.Ball([0.3, 0.8], 0.1), scenes.MATERIALS["snow"])
        step(8)

    alone = walled("separate", cells=32)
    advance(alone, alone.step)
    sims = [walled("separate", cells=32) for _ in range(3)]
    for half in (0, 1):
        assert together(sims, lambda sim: sim.step(8)) == [None] * 3
        for sim in sims:
            if not half:
                advance(sim, lambda steps: None)
    for sim in sims:
        assert [*found(sim)] == [*found(alone)]


def test_particles_that_leave_many_tasks():
    """16 tasks become 2 at the end of a run whose cut is not that of equal numbers."""

    def make() -> mpm.Simulation:
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add(mpm.shapes.Box((0.1, 0.1), (0.6, 0.9)), scenes.MATERIALS["fluid"], velocity=(4, 0))
        sim = mpm.Simulation(scene, dx=1 / 256, dtype="float32", on_leave="delete", threads=1)
        sim.particles.x[4000:] = (1.5, 0.5)
        return sim

    sim = check(make, 12, (2, 3, 5, 7))
    assert len(sim.particles) == 4000 and sim.health["binnings"] > 2


def test_fluid_around_colliders_that_lie_between_tasks():
    """How full a node is depends on the node beyond a surface, which other processes may have."""

    def make() -> mpm.Simulation:
        scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
        whirls = {"velocity": lambda x: 3 * np.sin(20 * x[:, ::-1])}
        scene.add(mpm.shapes.Box((0.1, 0.1), (0.9, 0.7)), scenes.MATERIALS["fluid"], **whirls)
        for x, y in itertools.product(np.linspace(0.15, 0.85, 4), (0.25, 0.5)):
            scene.add_collider(mpm.shapes.Ball((x, y), 0.05), motion=mpm.motion.Linear((-1, 0.5)))
        with pytest.warns(UserWarning, match="inside the collider"):
            return mpm.Simulation(scene, dx=1 / 128, dtype="float32", threads=1)

    check(make, 12)


@each("solver", [mpm.sph.Simulation, mpm.fem.Simulation])
def test_methods_that_run_in_one_process_say_so(solver):
    with pytest.raises(NotImplementedError, match=r"comm: .* mpm\.Simulation takes comm"):
        solver(mpm.Scene((0, 0), (1, 1)), spacing=0.1, comm=object())


@pytest.mark.slow
def test_random_scenes():
    """Of explicit and implicit steps: `replica_scenes.py` for the first 60."""
    import replica_scenes

    found = {number: replica_scenes.differences(number) for number in range(60)}
    compared = {number: one for number, one in found.items() if one is not None}
    assert len(compared) > 20 and not any(compared.values())
