"""Studies of what the speed of a step depends on: ``python -m mpm bench STUDY``.

A study compares variants of one block of material (`blocks.Case`), all with the best kernel set of this processor.
Rounds are interleaved and the median counts, as in `bench`. The speed of every variant is divided by that of the first
variant of its group, so that disturbances of the machine cancel.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from mpm import materials, shapes
from mpm.base import config
from mpm.base._check import FloatArray
from mpm.bench import blocks
from mpm.bench.blocks import Case
from mpm.mpm.simulation import Simulation
from mpm.scene.scene import Scene

__all__ = ["STUDIES", "Row", "run"]

Advance = Callable[[Simulation, int], None]


@dataclass(frozen=True, slots=True)
class Variant:
    """A simulation to be made, and how it is driven. `copies` of it advance at the same time, each from a thread of its
    own; where that is more than one, or `threads` is, the group is timed by the clock, else by processor time."""

    label: str
    make: Callable[[], Simulation]
    advance: Advance = Simulation.step
    threads: int = 1
    copies: int = 1

    @property
    def parallel(self) -> bool:
        return self.threads > 1 or self.copies > 1


@dataclass(frozen=True, slots=True)
class Row:
    """A variant's figures.

    Attributes
    ----------
    label : str
    particles : int
        Of one copy.
    nanoseconds : float
        Per particle and step, median of the rounds.
    share : float
        Speed over that of the first variant of the group.
    """

    label: str
    particles: int
    nanoseconds: float
    share: float


@dataclass(frozen=True, slots=True)
class Phases:
    """Nanoseconds per particle and step of each phase; the rest is plans, reports and history."""

    label: str
    particles: int
    sweeps: float
    grid: float
    binning: float
    views: float
    rest: float


PHASES = tuple(field.name for field in fields(Phases))[2:]


def _block(
    dimension: int,
    cells: int,
    *,
    laws: tuple[materials.Material, ...] = (blocks.MATERIALS["neo-Hookean"],),
    room: int = 3,
    **options: Any,
) -> Simulation:
    """The block of `bench`, of one law or of slabs of several, in a domain of `room` times its side."""
    low = float((room - 1) // 2)
    scene = Scene([0] * dimension, [room] * dimension, gravity=[0] * (dimension - 1) + [-9.8])
    for k, law in enumerate(laws):
        lower, upper = [low] * dimension, [low + 1] * dimension
        lower[-1], upper[-1] = low + k / len(laws), low + (k + 1) / len(laws)
        scene.add(shapes.Box(lower, upper), law, velocity=lambda x: blocks.stir(x - low + 1))
    numerics: dict[str, Any] = {
        "dx": 1 / cells,
        "dtype": "float32",
        "sampling": blocks.SAMPLING,
        "threads": 1,
    }
    return Simulation(scene, **{**numerics, **options})


def _of_points(dimension: int, cells: int, bodies: Mapping[str, FloatArray]) -> Simulation:
    """Particles of the block, by their laws."""
    scene = Scene([0] * dimension, [3] * dimension, gravity=[0] * (dimension - 1) + [-9.8])
    for law, x in bodies.items():
        points = shapes.Points(x, volume=(1 / cells) ** dimension / 2**dimension)
        scene.add(points, blocks.MATERIALS[law], velocity=blocks.stir)
    return Simulation(scene, dx=1 / cells, dtype="float32", threads=1)


def _mixed(dimension: int, cells: int) -> Simulation:
    """Two laws in every cell."""
    x = np.array(_block(dimension, cells).particles.x)
    return _of_points(dimension, cells, {"neo-Hookean": x[::2], "fixed corotated": x[1::2]})


def _shuffled(dimension: int, cells: int) -> Simulation:
    """The same particles, entered at random order."""
    x = np.array(_block(dimension, cells).particles.x)
    return _of_points(dimension, cells, {"neo-Hookean": np.random.default_rng(0).permutation(x)})


def _one_by_one(sim: Simulation, steps: int) -> None:
    for _ in range(steps):
        sim.step()


def _looked_at(sim: Simulation, steps: int) -> None:
    """Every view has a live array, read once in 20 steps."""
    views = [sim.particles[name] for name in sim.particles.fields]
    for first in range(0, steps, 20):
        sim.step(min(20, steps - first))
        for view in views:
            view[0]


def _stirred(make: Callable[[], Simulation], steps: int) -> Simulation:
    sim = make()
    sim.step(steps)
    return sim


def _family(cells: Mapping[int, int]) -> Iterator[list[Variant]]:
    """Other transfers, kernels and laws beside quadratic neo-Hookean APIC in single precision."""
    for d in (3, 2):
        n = cells[d]
        yield [
            Variant(f"{d}-D neo-Hookean, quadratic, APIC, float32", partial(_block, d, n)),
            Variant(f"{d}-D cubic", partial(_block, d, n, kernel="cubic")),
            Variant(f"{d}-D FLIP", partial(_block, d, n, transfer="flip")),
            Variant(f"{d}-D B-spline gradient", partial(_block, d, n, gradient="bspline")),
            *(
                Variant(f"{d}-D {name}", partial(_block, d, n, laws=(law,)))
                for name, law in blocks.MATERIALS.items()
                if name != "neo-Hookean"
            ),
            Variant(f"{d}-D two laws in every cell", partial(_mixed, d, n)),
            Variant(f"{d}-D float64", partial(_block, d, n, dtype="float64")),
        ]


def _crowding(cells: Mapping[int, int]) -> Iterator[list[Variant]]:
    """Particles per cell."""
    for d, per_cell in ((3, (8, 1, 2, 4, 16, 27)), (2, (4, 1, 2, 9, 16))):
        n = cells[d]
        yield [
            Variant(
                f"{d}-D {k} per cell",
                partial(_block, d, round(n * (2**d / k) ** (1 / d)), particles_per_cell=k, sampling="random"),
            )
            for k in per_cell
        ]


def _calls(cells: Mapping[int, int]) -> Iterator[list[Variant]]:
    """The calls that advance a run."""
    for d in (3, 2):
        make = partial(_block, d, cells[d])
        usual = make()
        usual.step(50)  # by then the automatic step has settled
        yield [
            Variant(f"{d}-D step(40), dt automatic", make),
            Variant(f"{d}-D dt fixed", partial(make, dt=usual.dt)),
            Variant(f"{d}-D step() one by one", make, _one_by_one),
            Variant(f"{d}-D all views held, read every 20", make, _looked_at),
            Variant(f"{d}-D no history", partial(make, history=0)),
        ]


def _order(cells: Mapping[int, int]) -> Iterator[list[Variant]]:
    """The order of the particles, and the empty domain around them."""
    for d in (3, 2):
        make = partial(_block, d, cells[d])
        yield [
            Variant(f"{d}-D as sampled", make),
            Variant(f"{d}-D entered at random order", partial(_shuffled, d, cells[d])),
            Variant(f"{d}-D after 300 steps", partial(_stirred, make, 300)),
            Variant(f"{d}-D in a box 8 times wider", partial(make, room=25)),
        ]


def _growth(cells: Mapping[int, int]) -> Iterator[list[Variant]]:
    """The number of particles: 64,000, half a million, a million and 8 million beside the usual ones."""
    for d, factors in ((3, (1, 0.8, 1.6, 2, 4)), (2, (1, 0.8, 2.25, 3.125, 8.84))):
        yield [
            Variant(
                f"{d}-D {factor:g} times the cells along a side", partial(_block, d, round(cells[d] * factor))
            )
            for factor in factors
        ]


def _dam(dimension: int, cells: int) -> Simulation:
    """A column of fluid that collapses into a tank three times as long."""
    lower, upper, tank = [0.0] * dimension, [1.0] * dimension, [3.0, *[1.0] * (dimension - 2), 2.0]
    scene = Scene(lower, tank, gravity=[0] * (dimension - 1) + [-9.8], walls="separate")
    scene.add(shapes.Box(lower, upper), blocks.MATERIALS["fluid"])
    return Simulation(scene, dx=1 / cells, dtype="float32", sampling=blocks.SAMPLING, threads=1)


def _flow(cells: Mapping[int, int]) -> Iterator[list[Variant]]:
    """The order of particles in a flow: the collapse of a column, at its beginning and after a thousand steps."""
    for d in (3, 2):
        make = partial(_dam, d, cells[d])
        yield [
            Variant(f"{d}-D dam break, from its beginning", make),
            Variant(f"{d}-D dam break, after 1,000 steps", partial(_stirred, make, 1000)),
        ]


def _threads(cells: Mapping[int, int]) -> Iterator[list[Variant]]:
    """Two threads beside one on an idle machine, and, as an upper limit, two runs at once that share nothing."""
    law = (blocks.MATERIALS["fixed corotated"],)
    for d, factor in ((3, 1), (2, 1), (3, 0.4), (2, 0.28)):
        make = partial(_block, d, round(cells[d] * factor), laws=law)
        yield [
            Variant(f"{d}-D 1 thread", partial(make, threads=1), threads=1),
            Variant(f"{d}-D 2 threads", partial(make, threads=2), threads=2),
            Variant(f"{d}-D 2 runs at once", partial(make, threads=1), copies=2),
        ]


STUDIES: dict[str, Callable[[Mapping[int, int]], Iterator[list[Variant]]]] = {
    "family": _family,
    "crowding": _crowding,
    "calls": _calls,
    "order": _order,
    "growth": _growth,
    "flow": _flow,
    "threads": _threads,
}


def _advance(variant: Variant, copies: list[Simulation], steps: int) -> None:
    if len(copies) == 1:
        variant.advance(copies[0], steps)
        return
    with ThreadPoolExecutor(len(copies)) as pool:
        list(pool.map(variant.advance, copies, repeat(steps)))


def _by_clock(group: list[Variant]) -> bool:
    return any(variant.parallel for variant in group)


def compare(group: list[Variant], *, repeats: int, steps: int) -> list[Row]:
    """The figures of variants, from interleaved rounds of `steps` steps."""
    clock = time.perf_counter if _by_clock(group) else time.thread_time
    simulations = [[variant.make() for _ in range(variant.copies)] for variant in group]
    times: list[list[float]] = [[] for _ in group]
    for variant, copies in zip(group, simulations, strict=True):
        _advance(variant, copies, 2)
    for _ in range(repeats):
        for variant, copies, found in zip(group, simulations, times, strict=True):
            start = clock()
            _advance(variant, copies, steps)
            found.append((clock() - start) / steps / sum(len(sim.particles) for sim in copies) * 1e9)
    medians = [statistics.median(found) for found in times]
    return [
        Row(variant.label, len(copies[0].particles), median, medians[0] / median)
        for variant, copies, median in zip(group, simulations, medians, strict=True)
    ]


def _phases_once(sim: Simulation, steps: int) -> list[float]:
    """Nanoseconds per particle and step in each of `PHASES`, over so many more steps."""
    before, start = sim._core.seconds(), time.perf_counter()
    sim.step(steps)
    whole, after = time.perf_counter() - start, sim._core.seconds()
    unit = 1e9 / steps / len(sim.particles)
    spent = [unit * (after[name] - before[name]) for name in PHASES[:-1]]
    return [*spent, unit * whole - sum(spent)]


def phases(
    cells: Mapping[int, int], *, repeats: int, steps: int, found: list[tuple[str, Any]]
) -> Iterator[str]:
    """Nanoseconds per particle and step by the clock, phase by phase, medians of the rounds."""
    yield f"{'phases, ns per particle and step':<44}" + "".join(f"{name:>9}" for name in PHASES)
    for d in (3, 2):
        for law in blocks.MATERIALS:
            sim = Case(law, d, "float32", cells[d]).simulation(isa=config.isa())
            sim.step(4)
            rounds = [_phases_once(sim, steps) for _ in range(repeats)]
            row = Phases(
                f"{d}-D float32  {law}",
                len(sim.particles),
                *map(statistics.median, zip(*rounds, strict=True)),
            )
            found.append(("phases", row))
            yield f"{row.label:<44}" + "".join(f"{getattr(row, name):>9.2f}" for name in PHASES)


def run(names: list[str], *, repeats: int, quick: bool, found: list[tuple[str, Any]]) -> Iterator[str]:
    """The tables of studies, line by line as they are measured; the figures are put into `found`."""
    cells, steps = (blocks.CELLS_QUICK, 20) if quick else (blocks.CELLS, 40)
    for name in names:
        if name == "phases":
            yield from phases(cells, repeats=repeats, steps=2 * steps, found=found)
            yield ""
            continue
        study = STUDIES[name]
        yield f"{name + ': ' + (study.__doc__ or '').rstrip('.'):<76}"
        groups = list(study(cells))
        clock = "by the clock" if any(map(_by_clock, groups)) else "of the processor"
        yield f"ns per particle and step, {clock}; speed beside that of the first of a group"
        yield f"{'':<44}{'particles':>11}{'ns':>8}{'speed':>8}"
        for group in groups:
            for row in compare(group, repeats=repeats, steps=steps):
                found.append((name, row))
                yield f"{row.label:<44}{row.particles:>11,}{row.nanoseconds:>8.1f}{row.share:>8.2f}"
        yield ""
