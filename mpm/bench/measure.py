"""The speed of this machine, as measured by ``python -m mpm bench``.

A block of material rotates and vibrates; ``bench S1`` measures a dam break by SPH, ``bench F1`` a block of finite
elements. They take whole steps through the
public `Simulation.step`, with all defaults of a user (automatic time step, walls, history). The benchmark uses one
thread and counts processor time, which other programs disturb less than wall time. Every round runs all kernel sets of
a case in turn, so that a disturbance affects them alike; the median of the rounds counts.
"""

from __future__ import annotations

import csv
import dataclasses
import importlib
import io
import json
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mpm import _core
from mpm.base import config, files
from mpm.bench.blocks import CELLS, CELLS_QUICK, MATERIALS, Case

if TYPE_CHECKING:
    from mpm.handles.solver import Solver

ORACLE = "scalar"
STUDIES = ("phases", "family", "crowding", "calls", "order", "growth", "flow", "threads")
STANDARD = ("B1", "B2", "B3", "B4", "B5", "B6", "B7")
# The modules whose `cases` are measured; they count particles, or else what their `count` and `UNIT` say.
METHODS = {"S1": "mpm.bench.sph", "F1": "mpm.bench.fem"}


class Measurable(Protocol):
    """A case: a dataclass of what tells it from others."""

    @property
    def label(self) -> str:
        """In the table."""

    def simulation(self, *, isa: str) -> Solver:
        """A new simulation of it for a kernel set, with one thread."""


@dataclass(frozen=True, slots=True)
class Result:
    """Processor time of a case with a kernel set.

    Attributes
    ----------
    case : Measurable
    isa : str
    particles : int
        Or elements.
    nanoseconds : float
        Per particle and step, median of the rounds.
    """

    case: Any  # Measurable
    isa: str
    particles: int
    nanoseconds: float

    @property
    def speed(self) -> float:
        """Particle-steps per second and core."""
        return 1e9 / self.nanoseconds


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of a case of another method, as in `Result`."""

    label: str
    isa: str
    particles: int
    nanoseconds: float


def cases(quick: bool = False) -> list[Case]:
    """All laws in both dimensions and both precisions."""
    cells = CELLS_QUICK if quick else CELLS
    return [
        Case(material, dimension, dtype, cells[dimension])
        for dimension, dtype, material in product((3, 2), ("float32", "float64"), MATERIALS)
    ]


def seconds_per_step(sim: Solver, enough: float) -> float:
    """Processor time of one step, from as many as take about `enough` seconds.

    Of this thread: NumPy's may spin for a while after its last product.
    """
    start, steps = time.thread_time(), 0
    while (used := time.thread_time() - start) < enough:
        sim.step(4)
        steps += 4
    return used / steps


def particles(sim: Solver) -> int:
    """What is counted besides steps."""
    return len(sim.particles)


def measure(
    case: Measurable,
    *,
    isas: list[str],
    repeats: int,
    enough: float = 0.15,
    count: Callable[[Any], int] = particles,
) -> list[Result]:
    """A case with several kernel sets, round by round."""
    simulations = {isa: case.simulation(isa=isa) for isa in isas}
    for sim in simulations.values():
        sim.step(4)
    times: dict[str, list[float]] = {isa: [] for isa in isas}
    for _ in range(repeats):
        for isa, sim in simulations.items():
            times[isa].append(seconds_per_step(sim, enough))
    n = count(simulations[isas[0]])
    return [Result(case, isa, n, 1e9 * statistics.median(times[isa]) / n) for isa in isas]


def _lines(isas: list[str], groups: Iterator[list[Result]], unit: str = "particle") -> Iterator[str]:
    """Yield the lines of the table as they are measured."""
    yield (
        f"{f'million {unit}-steps/s per core':<36}" + "".join(f"{isa:>10}" for isa in isas) + "   best/scalar"
    )
    for results in groups:
        name = f"{results[0].case.label:<29}{results[0].particles:>9,}"
        speeds = "".join(f"{result.speed / 1e6:>10.1f}" for result in results)
        oracle = next(result for result in results if result.isa == ORACLE)
        yield f"{name:<36}{speeds}{max(r.speed for r in results) / oracle.speed:>13.1f}x"


def _chosen(
    names: Sequence[str], *, repeats: int, quick: bool, found: list[tuple[str, Any]]
) -> Iterator[str]:
    """The tables of studies, then of standard scenes, then of other methods."""
    from mpm.bench import standard, studies

    scenes, others = [n for n in names if n in STANDARD], [n for n in names if n in METHODS]
    rest = [n for n in names if n not in (*scenes, *others)]
    yield from studies.run(rest, repeats=repeats, quick=quick, found=found)
    if scenes:
        yield from standard.run(scenes, repeats=repeats, quick=quick, found=found)
    for name in others:
        yield from _of_method(name, repeats=repeats, quick=quick, found=found)


def _of_method(name: str, *, repeats: int, quick: bool, found: list[tuple[str, Any]]) -> Iterator[str]:
    """The table of another method's cases."""

    module = importlib.import_module(METHODS[name])
    count, enough = getattr(module, "count", particles), 0.002 if quick else 0.5

    def groups() -> Iterator[list[Result]]:
        for case in module.cases(quick):
            results = measure(case, isas=_core.isas(), repeats=repeats, enough=enough, count=count)
            found.extend((name, Row(case.label, r.isa, r.particles, r.nanoseconds)) for r in results)
            yield results

    yield from _lines(_core.isas(), groups(), getattr(module, "UNIT", "particle"))


def commit() -> str | None:
    """Of the source tree that the package is imported from; None if it is installed elsewhere, or not with Git."""
    package = Path(__file__).resolve().parent

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=package, capture_output=True, text=True).stdout.strip()

    try:
        # If mpm is installed inside another repository, that repository's commit does not count.
        if Path(git("rev-parse", "--show-toplevel") or "/") != package.parent:
            return None
        return git("describe", "--always", "--dirty", "--exclude=*") or None
    except OSError:
        return None


def run(
    studies: Sequence[str] = (),
    *,
    json_path: Path | None = None,
    csv_path: Path | None = None,
    repeats: int | None = None,
    quick: bool = False,
) -> int:
    """Measure every case with every kernel set of this processor, print the table, write the files.

    Parameters
    ----------
    studies : sequence of str
        Measure these instead: of `STUDIES`, see `mpm.bench.studies`, of `STANDARD`, see `mpm.bench.standard`, or of
        `METHODS`.
    json_path : path, optional
        Where the figures go, with the machine and the build they belong to; after an interrupt those that there are,
        and ``"complete"`` is false.
    csv_path : path, optional
        The same as a table, one line per figure.
    repeats : int, optional
        Rounds, default 5; 1 if `quick`.
    quick : bool
        Small bodies, short rounds.

    Returns
    -------
    int
        0.
    """
    if json_path and csv_path and _same(json_path, csv_path):
        raise ValueError(f"--csv {csv_path}: must be another file than that of --json")
    for path in filter(None, (json_path, csv_path)):
        files.check(path)  # before anything is measured
    rounds = repeats or (1 if quick else 5)
    isas = _core.isas()
    found: list[Result] = []
    rows: list[tuple[str, Any]] = []

    def groups() -> Iterator[list[Result]]:
        for case in cases(quick):
            results = measure(case, isas=isas, repeats=rounds, enough=0.002 if quick else 0.15)
            found.extend(results)
            yield results

    built = config.configuration()
    print(built)
    machine = {"processor": config.processor(), "commit": commit(), "quick": quick}
    print(f"processor    {machine['processor']}\n")
    if quick:
        print("quick: small bodies, whatever the labels say; not to quote\n")
    if studies:
        lines = _chosen(studies, repeats=rounds, quick=quick, found=rows)
    else:
        lines = _lines(isas, groups())
    complete = False
    try:
        for line in lines:
            print(line, flush=True)
        complete = True
    finally:  # an interrupt keeps the results measured so far
        if complete or found or rows:
            _write(json_path, csv_path, found, rows, {**machine, "complete": complete})
    return 0


def _write(
    json_path: Path | None,
    csv_path: Path | None,
    found: Sequence[Result],
    rows: Sequence[tuple[str, Any]],
    machine: Mapping[str, Any],
) -> None:
    built = config.configuration()
    results = [{**dataclasses.asdict(result), "speed": result.speed} for result in found]
    studies = [{"study": name, **dataclasses.asdict(row)} for name, row in rows]
    if json_path:
        figures = {"results": results, "studies": studies}
        record = {"configuration": dataclasses.asdict(built), **machine, **figures}
        files.replace(str(json_path), [f"{json.dumps(record, indent=1)}\n".encode()])
    if csv_path:
        about = {**machine, "compiler": built.compiler, "flags": built.flags, "mpm": built.mpm}
        flat = [{**row.pop("case"), **row} for row in results]
        write_table(csv_path, [{**row, **about} for row in flat + studies])


def _same(a: Path, b: Path) -> bool:
    return a.resolve() == b.resolve() or (a.exists() and b.exists() and a.samefile(b))


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    """As CSV, with the columns of all rows in the order in which they come first."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(rows)
    files.replace(str(path), [text.getvalue().encode()])
