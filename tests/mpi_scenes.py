"""What several MPI processes run for test_mpi.py: ``mpiexec -n 3 python -m mpi4py tests/mpi_scenes.py FOLDER NAME …``.

Every scene returns a text that must be the same in all processes, for any number of them, and for one alone.
"""

from __future__ import annotations

import contextlib
import copy
import errno
import functools
import hashlib
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import faults
import mpm
import scenes
from mpm.base import memory
from mpm.sampling import sampling
from mpm.solver.team import Team
from test_replicas import found, walled

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # behind all else, as in test_peers
import ranks_count

distributed = False
DISTRIBUTED = "distributed:"  # before the name of a scene that runs so


def within(comm: Any) -> dict[str, Any]:
    """How a simulation runs in several processes."""
    return {} if comm is None else {"comm": comm, "distributed": distributed}


def digest(sim: mpm.Simulation) -> str:
    whole = hashlib.sha256()
    for part in found(sim):
        whole.update(part)
    return f"{sim.steps} {whole.hexdigest()}"


def changed(comm: Any, folder: Path) -> str:
    """Views are written, particles are added and deleted, parameters set between runs."""
    sim = walled("separate", cells=32, **within(comm))
    sim.step(8)
    sim.particles.v[::7] *= 0.5
    sim.particles.delete(sim.particles.x[:, 0] > 0.45)
    sim.add(mpm.shapes.Ball([0.3, 0.8], 0.1), scenes.MATERIALS["snow"])
    sim.step(4)
    sim.set("gravity", (0.5, -5))
    sim.run(0.01)
    return digest(sim)


def forced(comm: Any, folder: Path) -> str:
    """A body force, a force, a pressure and a held region."""
    scene = mpm.Scene((0, 0), (1, 1), body_force=lambda x, t: np.stack([x[:, 1], 0 * x[:, 0] - 9.81], axis=1))
    rubber = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)
    block = scene.add(mpm.shapes.Box((0.1, 0.1), (0.8, 0.4)), rubber)
    scene.add_force(block, (0, -500), name="push")
    scene.add_traction(block, mpm.shapes.Box((0.2, 0.35), (0.5, 1)), pressure=200, name="press")
    scene.hold(block, mpm.shapes.Box((0, 0), (0.2, 1)), velocity=(0.1, 0), name="grip")
    sim = mpm.Simulation(scene, dx=1 / 32, **within(comm))
    sim.step(8)
    assert sim.history["work:push"][-1] != 0 and sim.history["impulse:grip"].any()
    return digest(sim)


def implicit(comm: Any, folder: Path) -> str:
    sim = walled(
        "mirror", law="neo_hookean", cells=24, integrator="implicit-euler", max_dt=5e-3, **within(comm)
    )
    sim.step(3)
    return digest(sim)


def solid(comm: Any, folder: Path) -> str:
    """Three dimensions, single precision, two threads."""
    sim = walled("periodic", law="sand", dim=3, cells=16, dtype="float32", threads=2, **within(comm))
    sim.step(10)
    return digest(sim)


def recorded(comm: Any, folder: Path) -> str:
    """Process 0 writes the file; callbacks and frames do not change a bit."""
    sim = walled("slip", cells=24, **within(comm))
    times = []
    with sim.record(folder / f"run{comm.size if comm else 0}.bgeo", fps=400) as recording:
        sim.run(0.02, callback=lambda sim: times.append(sim.time), every=2)
    return f"{digest(sim)} {times} {recording.frames}"


def saved(comm: Any, folder: Path) -> str:
    """The files of any number of processes are the same, and go on in any other number."""
    sim = walled("sticky", cells=24, **within(comm))
    sim.step(5)
    path = folder / f"{comm.size if comm else 0}.mpm"
    sim.save(path)
    data = path.read_bytes()
    first = folder / "0.mpm"
    again = mpm.load(first if first.exists() else path, **within(comm))
    assert again.state_hash() == sim.state_hash()
    again.save(path)
    assert path.read_bytes() == data
    again.step(5)
    return f"{hashlib.sha256(data).hexdigest()} {digest(again)}"


def carried(comm: Any, folder: Path) -> str:
    """A run that stops in the middle of others: bodies come and go, fields of users, gravity, three dimensions, saved
    by some processes and gone on with by fewer."""
    sim = walled("separate", law="snow", dim=3, cells=16, dtype="float32", **within(comm))
    sim.step(3)
    sim.particles.delete(np.arange(len(sim.particles)) % 5 == 2)
    sim.particles.add_field("mine", initial=2.0)
    sim.particles.mine[::3] = 7
    sim.add(mpm.shapes.Ball((0.3, 0.8, 0.5), 0.1), scenes.MATERIALS["sand"])
    sim.step(4)
    path = folder / f"carried{comm.size if comm else 0}.mpm"
    sim.save(path)
    sim.step(6)
    told = [digest(sim)]
    fewer = None if comm is None else comm.Split(comm.rank == 0)  # one alone, and the others
    again = mpm.load(path, **within(fewer))
    assert again._distributed == (distributed and fewer is not None and fewer.size > 1)
    again.step(6)
    told.append(digest(again))
    return f"{sorted(set(told))}"


def spoiled(comm: Any, folder: Path) -> str:
    """What is wrong with a file, or with one particle of it, all say; a file that one cannot read, none reads."""
    sim = walled("separate", cells=24, **within(comm))
    sim.step(2)
    path, told = folder / f"spoiled{comm.size if comm else 0}.mpm", []
    sim.save(path)
    arrays = sim._snapshot().arrays
    x = np.array(arrays["x"])
    for row in (0, len(x) - 1):
        kept = sim._snapshot()
        flawed = x.copy()
        flawed[row] = 1000
        kept = replace(kept, arrays={**kept.arrays, "x": flawed})
        load = type(sim)._of if not distributed or comm is None or comm.size == 1 else shared(comm)
        told.append(raised(comm, lambda load=load, kept=kept: load(kept, 1)).partition(" It comes")[0])
    last = comm is not None and comm.rank == comm.size - 1
    if comm is not None and comm.size > 1:
        missing = folder / "missing.mpm"
        noted = comm.allgather(
            raised(comm, lambda: mpm.load(missing if last else path, **within(comm)), OSError)
        )
        assert all(one.startswith("FileNotFoundError") for one in noted), noted
    (folder / "short.mpm").write_bytes(path.read_bytes()[:-1000]) if comm is None or comm.rank == 0 else None
    if comm is not None:
        comm.barrier()
    told.append(
        raised(comm, lambda: mpm.load(folder / "short.mpm", **within(comm))).partition("short.mpm")[2]
    )
    again = mpm.load(path, **within(comm))
    again.step(2)
    return f"{told} {digest(again)}"


def shared(comm: Any) -> Callable[[Any, int], mpm.Simulation]:
    """Makes simulations of snapshots, with distributed memory."""
    team = Team(comm)
    return lambda kept, threads: team.together("load", lambda: mpm.Simulation._shared(kept, threads, team))


def deleted(comm: Any, folder: Path) -> str:
    """Particles leave, and an emitter brings others."""
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(mpm.shapes.Box((0.7, 0), (1, 0.3)), scenes.MATERIALS["fluid"], velocity=(4, 0))
    scene.add_emitter(
        mpm.shapes.Box((0.2, 0.6), (0.4, 0.65)), scenes.MATERIALS["fluid"], velocity=(0, -2), name="tap"
    )
    sim = mpm.Simulation(scene, dx=1 / 24, on_leave="delete", **within(comm))
    sim.run(0.05)
    return digest(sim)


def raised(comm: Any, call: Callable[[], Any], noted: type[BaseException] | None = None) -> str:
    """The error of a call, with its notes if it is to be of this kind."""
    try:
        call()
    except BaseException as error:
        if noted is not None and not isinstance(error, noted):
            raise
        notes = [] if noted is None else getattr(error, "__notes__", [])
        return " ".join([f"{type(error).__name__}: {error}", *notes])
    return "nothing"


def errors(comm: Any, folder: Path) -> str:
    """What one process raises, all raise, at the same step; and the next run goes on."""
    first = comm is None or comm.rank == (comm.size - 1)
    told = []
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Box((0.75, 0.25), (0.9, 0.5)), scenes.MATERIALS["fluid"], velocity=(5, 0))
    sim = mpm.Simulation(scene, dx=1 / 16, on_leave="raise", **within(comm))

    def stop(sim: mpm.Simulation) -> None:
        if first:
            raise OSError("the disk is full")

    told.append(raised(comm, lambda: sim.run(0.1, callback=stop, every=3)))
    told.append(f"{sim.steps}")
    if first:
        sim.particles.v[0] = np.nan
        told.append(raised(comm, lambda: sim.totals()).partition(":")[0])
    else:
        told.append("SimulationError")
    sim.particles.v[0] = 0
    told.append(raised(comm, lambda: sim.save(folder / "missing" / "a.mpm")).partition(":")[0])
    sim.step(1)
    return f"{told} {digest(sim)}"


def escaped(comm: Any, folder: Path) -> str:
    """An error of numbers has the same text everywhere, and notes that name the process and the ids of the rows."""
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Box((0.05, 0.05), (0.25, 0.5)), scenes.MATERIALS["fluid"])
    scene.add(mpm.shapes.Box((0.75, 0.25), (0.9, 0.5)), scenes.MATERIALS["fluid"])
    piston = mpm.shapes.Box((0.3, -1), (0.7, 2))
    scene.add_collider(piston, motion=mpm.motion.Linear((1.0, 0.0)), name="piston")
    sim = mpm.Simulation(scene, dx=1 / 16, **within(comm))
    sim.particles.delete(np.arange(len(sim.particles)) < 10)
    try:
        sim.run(0.6)
    except mpm.EscapeError as error:
        told = f"{error} {error.rows} {sim.steps}"
        notes = [note for note in getattr(error, "__notes__", []) if "moves the particles" in note]
        if comm is not None and comm.size > 1:
            assert notes and len(set(comm.allgather(tuple(notes)))) == 1
            found = [
                int(row)
                for note in notes
                for row in note.partition("rows ")[2].partition(" and")[0].split(",")
            ]
            ids = [int(one) for note in notes for one in note.partition("ids ")[2].strip(".").split(",")]
            assert sorted(found) == error.rows[:8] and ids == [row + 10 for row in found], (notes, error.rows)
        return told
    return "nothing"


def failing(comm: Any, folder: Path) -> str:
    """Memory or a disk that fails in one process raises the same in all of them at the same step, names the process,
    and a run after it has the bits of one without it. Needs the library of faults.py; one process has nothing to say.
    """
    if comm is None or faults.SHIM not in os.environ:
        return "told"
    shim, most = faults.Shim(os.environ[faults.SHIM]), int(os.environ.get("MPM_MOST_FAULTS", "6"))
    shim.watch(folder)
    path = folder / f"failing{comm.size}.mpm"

    def make() -> mpm.Simulation:
        return walled("separate", law="fluid", cells=48, dtype="float32", comm=comm)

    calls: dict[str, tuple[str, Callable[[mpm.Simulation], Any], type[BaseException], int, bool]] = {
        "steps": ("memory", lambda sim: sim.step(24), MemoryError, comm.size - 1, True),
        "save": ("files", lambda sim: sim.save(path), OSError, 0, False),
        "record": ("files", lambda sim: record(sim, folder), OSError, 0, True),
    }
    tried = 0
    for name, (kind, call, kind_of_error, process, steps) in calls.items():
        own = comm.rank == process
        for _ in range(2):  # the first time, Python imports and caches
            sim = make()
            with shim.armed(kind, 0, 0, errno.ENOSPC):
                call(sim)
        end, last = digest(sim), sim.steps
        for point in faults.spread(comm.bcast(shim.count(kind), process), most):
            sim = make()
            with shim.armed(kind, point if own else 0, point if own else 0, errno.ENOSPC):
                told = raised(comm, functools.partial(call, sim), kind_of_error)
            tried += 1
            assert comm.allgather(told) == [told] * comm.size, (name, point, told)
            assert len(set(comm.allgather(sim.steps))) == 1, (name, point)
            assert told == "nothing" or f"rank {process}" in told, (name, point, told)
            if steps:
                sim.step(last - sim.steps)
            assert digest(sim) == end, (name, point, told)
    assert tried > 6
    return "told"


def record(sim: mpm.Simulation, folder: Path) -> None:
    with sim.record(folder / "failing.vtkhdf", fps=4000):
        sim.step(8)


def flawed(comm: Any, folder: Path) -> str:
    """What is wrong with a row, all processes say as one does, whoever has the particle; rows move between them."""
    sim = walled("separate", cells=24, on_leave="clamp", **within(comm))
    sim.step(2)
    last, told = len(sim.particles) - 1, []
    for row, wrong in ((5, np.nan), (last, np.inf)):
        sim.particles.v[row] = wrong
        told.append(raised(comm, lambda: sim.step(1)))
        sim.particles.v[row] = 0
    sim.particles.x[3], sim.particles.x[last] = (0.85, 0.9), (1.2, 0.5)  # to others; outside
    sim.step(1)
    sim.particles.F[9] = -np.eye(2)[::-1]
    told.append(raised(comm, lambda: sim.totals()))
    sim.particles.F[9] = np.eye(2)
    sim.step(1)
    return f"{told} {digest(sim)}"


def counted(comm: Any, folder: Path) -> str:
    """Bytes and messages of a step are those that blocks of particles tell; the books of all colliders take one
    reduction."""
    if comm is None or comm.size == 1:
        return "told"
    neighbours = []
    for dim, colliders, options in (
        (3, 0, {"dtype": "float32"}),
        (3, 3, {"kernel": "cubic"}),
        (2, 0, {"dtype": "float32"}),
    ):
        scene = mpm.Scene((0,) * dim, (1,) * dim)
        scene.add(mpm.shapes.Box((0.25,) * dim, (0.75,) * dim), scenes.MATERIALS["neo_hookean"])
        for axis in np.eye(dim)[:colliders]:
            scene.add_collider(mpm.shapes.HalfSpace(0.24 * axis, axis), contact="slip")
        dx = 1 / (20 if dim == 3 else 192)
        sim = mpm.Simulation(scene, dx=dx, comm=comm, **options)
        x = np.array(sim.particles.x, np.float64)
        count = ranks_count.exchange(
            ranks_count.groups_of(x, scene.lower, dx, 3 if colliders else 2),
            comm.size,
            sim.particles.x.itemsize,
        )
        sim.step(1)  # bins
        told = []
        for steps in (4, 10):  # the end of a run has messages of its own
            team = sim._team
            before = (team.sent, team.messages, team.reductions, team.reduced)
            sim.step(steps)
            after = (team.sent, team.messages, team.reductions, team.reduced)
            told.append(np.subtract(after, before))
        assert sim.health["binnings"] == 1
        process, of_step = comm.rank, (told[1] - told[0]) / 6
        expected = [count.sent[process], count.messages[process], 3 if colliders else 2]
        assert [*of_step[:3]] == expected, (of_step, expected)
        assert colliders or of_step[3] == ranks_count.STEP, (of_step, ranks_count.STEP)
        neighbours.append(count.messages.max())
    assert all(neighbours)
    return "told"


def balanced(comm: Any, folder: Path) -> str:
    """Cuts follow the time that tasks take, and the particles, with few moves and the bits of one process."""
    if comm is None or comm.size != 2:
        return "told"

    def make(**how: Any) -> mpm.Simulation:
        scene = mpm.Scene((0, 0), (2, 1), gravity=(0, -9.81), walls="separate")
        fluid, sand = mpm.materials.Fluid(bulk_modulus=2e5, density=1000), mpm.materials.Sand(E=4e5)
        scene.add(mpm.shapes.Box((0, 0), (0.6, 0.7)), fluid, velocity=(2, 0))
        scene.add(mpm.shapes.Box((1.2, 0), (1.8, 0.7)), sand, velocity=(0, 1))
        return mpm.Simulation(scene, dx=1 / 160, dtype="float32", threads=1, **how)

    steps = (1, 100, 80)
    sim, told = make(comm=comm, distributed=True), []
    for number in steps:
        sim.step(number)
        told.append([*sim._core.migrations(), sim.health["binnings"]])
    moved, crossed, spent, binnings = np.subtract(told[2], told[1])
    assert moved <= 2 * crossed + binnings * ranks_count.PER_TASK * 1.1, (told, binnings)
    assert np.subtract(told[1], told[0])[0] > crossed  # cuts have moved
    spents = comm.allgather(int(spent))
    assert 2 * max(spents) / sum(spents) <= 1.2, spents  # 1.10, of twelve tasks; 1.33 with six in each
    alone = make() if comm.rank == 0 else None
    if alone is not None:
        for number in steps:
            alone.step(number)
    assert digest(sim) == comm.bcast(alone and digest(alone))
    return "told"


def interrupted(comm: Any, folder: Path) -> str:
    """Ctrl-C in one process ends the run of all at the same whole step; a run after it goes on."""
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.2), scenes.MATERIALS["neo_hookean"], angular_velocity=1)
    sim = mpm.Simulation(scene, dx=1 / 24, **within(comm))
    sim.step(1)
    if comm is not None:
        if comm.rank == comm.size - 1 and os.fork() == 0:
            time.sleep(0.3)
            os.kill(os.getppid(), signal.SIGINT)
            os._exit(0)
        told = raised(comm, lambda: sim.run(5000), KeyboardInterrupt)
        assert comm.size == 1 or f"rank {comm.size - 1}." in told, told
        steps = comm.allgather(sim.steps)
        assert len(set(steps)) == 1 and steps[0] > 1 and told.startswith("KeyboardInterrupt"), (steps, told)
        assert len(set(comm.allgather(digest(sim)))) == 1
    return "whole"


def differing(comm: Any, folder: Path) -> str:
    """Processes that do not do the same are told so."""
    sim = walled("separate", cells=24, **within(comm))
    sim.step(1)
    told = []
    if comm is not None and comm.size > 1:
        sim.particles.v[0] += comm.rank
        told.append(raised(comm, lambda: sim.step(1)).partition(".")[0])
        other = walled("separate", cells=24, **within(comm), rng=comm.rank, sampling="random")
        told.append(raised(comm, lambda: other.step(1)).partition(".")[0])
        sim = walled("separate", cells=24, **within(comm))
        sim.step(1)
        if comm.rank == 1:
            sim.particles.v[0] += 1
            sim.totals()  # reads it in
        told.append(raised(comm, lambda: sim.step(1)).partition(".")[0])
        assert all("differs from that of rank 0" in one for one in told), told
    return "noticed"


def apart(comm: Any, folder: Path) -> str:
    """Processes that make other calls are told so, and do not wait for ever; some calls need no others."""
    sim = walled("separate", cells=24, **within(comm))
    sim.step(1)
    if comm is None or comm.size == 1:
        return "told"
    first = comm.rank == 0
    for call in (
        lambda: sim.step(3 + comm.rank),
        lambda: sim.run(0.01 if first else 0.02),
        lambda: sim.run(0.01, **{"callback": print, "every": 2} if first else {}),
        lambda: sim.run(0.01, callback=lambda sim: first and sim.step(1), every=2),
        lambda: sim.save(folder / "apart.mpm") if first else sim.step(1),
    ):
        told = comm.allgather(raised(comm, call))
        assert all("must make the same calls" in one for one in told), told
    if first:
        copy.copy(sim).totals()
    sim.run(0.02, progress=first)
    return "told"


def sampled(comm: Any, folder: Path) -> str:
    """Each process finds its own pieces of bodies: every sampling and kind of generator, cut cells, holes, points,
    bodies that are found at once; warnings and errors are those of all pieces."""
    told = []
    generators = (np.random.PCG64, np.random.MT19937, np.random.PCG64DXSM)
    for k, (kind, d) in enumerate([("stratified", 2), ("random", 2), ("poisson", 2), ("lattice", 3)]):
        rng = np.random.Generator(generators[k % 3](7))
        rng.integers(5, dtype=np.uint32)  # leaves half a number
        scene = mpm.Scene((0,) * d, (1,) * d, gravity=(0, -9.81, 0)[:d])
        ball = mpm.shapes.Ball((0.4,) * d, 0.3)
        scene.add(ball - ball.translate((0.15,) * d), scenes.MATERIALS["sand"], velocity=(1, 2, 3)[:d])
        scene.add(mpm.shapes.Ball((0.6,) * d, 0.3), scenes.MATERIALS["fluid"], F=0.99 * np.eye(d))
        x = np.random.default_rng(3).uniform(0.72, 0.9, (300, d))
        scene.add(mpm.shapes.Points(x, volume=1e-4), scenes.MATERIALS["neo_hookean"])
        scene.add(
            mpm.shapes.Ball((0.2,) * d, 0.15),
            scenes.MATERIALS["snow"],
            velocity=lambda x: np.cos(x),
            name="v",
        )
        scene.add_collider(mpm.shapes.Ball((0.5,) * d, 0.2), contact="slip", name="ball")
        chosen = {} if kind == "lattice" else {"rng": rng}
        volume = "grid-density" if k == 1 else "sampler"
        cells = 48 if d == 2 else 12
        with small_chunks(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sim = mpm.Simulation(scene, dx=1 / cells, sampling=kind, volume=volume, **chosen, **within(comm))
        sim.step(2)
        assert len(caught) > 1, caught
        state = hashlib.sha256(repr(sim._rng.bit_generator.state).encode()).hexdigest()
        parts = [(part.mass, part.volume) for part in sim._parts]
        told.append(f"{digest(sim)} {state} {parts} {sorted(str(one.message) for one in caught)}")
    whole = mpm.Scene((0, 0), (1, 1))
    whole.add(mpm.shapes.Ball((0.5, 0.5), 1e-4), scenes.MATERIALS["sand"])
    with small_chunks():
        told.append(raised(comm, lambda: mpm.Simulation(whole, dx=1 / 8, **within(comm))))
    return f"{told}"


def confined(comm: Any, folder: Path) -> str:
    """Processes of one machine share its memory, and all know of the machine that has least."""
    if comm is None or comm.size == 1:
        return "told"
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Box((0, 0), (0.5, 0.5)), scenes.MATERIALS["sand"])
    room, last = memory.available, comm.rank == comm.size - 1
    each = memory.SETUP["mpm", 2, "float64"] / (comm.size if distributed else 1)
    try:
        for fits in (True, False):
            least = comm.size * 256 * each * (1.001 if fits else 0.9)
            memory.available = lambda least=least: least if last else 1e12
            told = comm.allgather(raised(comm, lambda: mpm.Simulation(scene, dx=1 / 16, **within(comm))))
            if fits:
                assert set(told) == {"nothing"}, told
                continue
            assert all(
                one.startswith("MemoryError: dx = 0.0625 m: 256 particles; the machines of") for one in told
            )
    finally:
        memory.available = room
    return "told"


@contextlib.contextmanager
def small_chunks() -> Iterator[None]:
    """Small bodies come in many pieces."""
    before = sampling.CHUNK, sampling.LEAST_CHUNK
    sampling.CHUNK, sampling.LEAST_CHUNK = 1 << 9, 1 << 6
    try:
        yield
    finally:
        sampling.CHUNK, sampling.LEAST_CHUNK = before


def unlike(comm: Any, folder: Path) -> str:
    """Where memory is distributed, arguments that differ are told before anything changes; and what one process raises
    in a callback in which the others look, they raise, too, and go on together, even if the callback catches it.
    """
    if comm is None or comm.size == 1 or not distributed:
        return "told"
    sim, last = walled("separate", cells=24, **within(comm)), comm.rank == comm.size - 1
    for call in (
        lambda: sim.particles.delete([3 + last]),
        lambda: sim.add(
            mpm.shapes.Ball([0.3, 0.8], 0.1), scenes.MATERIALS["snow"], velocity=(0, float(last))
        ),
        lambda: sim.particles.add_field("heard", initial=float(last)),
        lambda: last and sim.particles.add_field("heard"),
    ):
        told = comm.allgather(raised(comm, lambda call=call: call() or sim.step(1)))
        assert all("must make the same calls with the same arguments" in one for one in told), told
    assert sim.steps == 0 and sim.health["deleted"] == 0 and "heard" not in sim.particles.fields
    paths = [folder / f"unlike{k}.mpm" for k in range(2)]
    for path in paths:
        sim.particles.v[0] += 1
        sim.save(path)
    for call, what in (
        (lambda: mpm.load(paths[last], comm=comm, distributed=True), "the file"),
        (lambda: mpm.load(paths[0], comm=comm, distributed=last), "distributed"),
        (lambda: walled("separate", cells=24, comm=comm, distributed=last), "distributed"),
    ):
        told = comm.allgather(raised(comm, call))
        assert all(
            f"comm: {what} of the MPI processes of rank {comm.size - 1} differs" in one for one in told
        ), told

    def look(sim: mpm.Simulation, catch: type[BaseException] | tuple[()]) -> None:
        if last:
            raise OSError("the disk is full")
        for _ in range(2):
            with contextlib.suppress(catch):
                sim.totals()

    for catch in ((), OSError):
        told = raised(
            comm, lambda catch=catch: sim.run(1, callback=lambda s: look(s, catch), every=1), OSError
        )
        assert told.startswith(
            f"OSError: the disk is full It comes from the MPI process of rank {comm.size - 1}."
        )
        sim.step(1)
    assert sim.steps == 4
    return "told"


def interrupted_while_waiting(comm: Any, folder: Path) -> str:
    """The same while a process waits for the callback of another."""
    sim = walled("separate", cells=24, **within(comm))
    sim.step(1)
    if comm is not None and comm.size > 1:
        if comm.rank == 0 and os.fork() == 0:
            time.sleep(0.5)
            os.kill(os.getppid(), signal.SIGINT)
            os._exit(0)
        told = raised(comm, lambda: sim.run(9, callback=lambda sim: comm.rank and time.sleep(0.3), every=1))
        assert told.startswith("KeyboardInterrupt"), told
        assert len(set(comm.allgather(digest(sim)))) == 1
    return "whole"


def unsupported(comm: Any, folder: Path) -> str:
    """What is not there, and what is there no more, is answered in all processes."""
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.2), mpm.materials.Rigid(density=1000))
    if comm is None or comm.size == 1:
        return "told"
    assert "Rigid" in raised(comm, lambda: mpm.Simulation(scene, dx=1 / 16, **within(comm)))
    assert "comm" in raised(comm, lambda: mpm.Simulation(scene, dx=1 / 16, comm=1))
    sim = walled("separate", cells=24, **within(comm))
    assert raised(comm, lambda: sim.movie(folder / "a.gif", duration=1, fps=1)).startswith(
        "NotImplementedError"
    )
    assert raised(comm, sim.view).startswith("NotImplementedError")
    if distributed:
        assert raised(comm, lambda: copy.copy(sim)).startswith(
            "NotImplementedError: distributed = True: a copy"
        )
        told = raised(comm, lambda: sim.particles.x if comm.rank else sim.totals())
        assert "rank 0 has come to the totals, and that of rank 1 to a look at x" in told, told
        return "told"
    other = comm.Dup()
    sim = walled("separate", cells=24, comm=other)
    sim.step(1)
    other.Free()
    assert raised(comm, lambda: sim.step(1)).startswith("RuntimeError: comm: the communicator has been freed")
    assert sim.totals().mass > 0 and sim.steps == 1
    return "told"


SCENES: dict[str, Callable[[Any, Path], str]] = {
    one.__name__: one
    for one in (
        changed,
        forced,
        implicit,
        solid,
        recorded,
        saved,
        carried,
        spoiled,
        deleted,
        errors,
        escaped,
        counted,
        balanced,
        failing,
        flawed,
        sampled,
        confined,
        interrupted,
        interrupted_while_waiting,
        differing,
        unlike,
        apart,
        unsupported,
    )
}


def main() -> None:
    from mpi4py import MPI

    global distributed
    comm, folder = MPI.COMM_WORLD, Path(sys.argv[1])
    for name in sys.argv[2:] or SCENES:
        signal.alarm(120)  # processes that wait for each other for ever
        distributed = name.startswith(DISTRIBUTED)
        told = comm.gather(SCENES[name.removeprefix(DISTRIBUTED)](comm, folder))
        if told is not None:
            assert len(set(told)) == 1, (name, told)
            print(f"{name}\t{told[0]}", flush=True)


if __name__ == "__main__":
    main()
