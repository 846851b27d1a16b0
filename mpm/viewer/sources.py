"""Sources that the viewer plays: a solver, or the frames of a series."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mpm.solver.source import Running, Series, Source
from mpm.solver.state import State
from mpm.solver.totals import columns
from mpm.viewer.past import Past
from mpm.viz.curves import unit_of

SCANNED = 20_000_000  # values of a recording, at most, from which the ends of its colour scale come
SUMMARY_MAX = 2000  # characters

EARLY = 1e-6  # of a span, for round-off

PATIENCE = 0.25  # s: the longest time of a frame, so that buttons respond

ENERGIES = "energies"  # the curve that is shown first
OF_ENERGIES = ("kinetic", "elastic", "gravitational", "energy")

Point = tuple[float | None, ...]
"""A point of the curves: the time [s], and the values; None where there is none."""

POINTS = 20_000  # of a curve that grows with the frames, at most


def thin(rows: list[Any]) -> None:
    """Drop every second of too many rows, but for the last."""
    if len(rows) > POINTS:
        del rows[1:-1:2]


def label(name: str, dimension: int) -> str:
    """A column, or `ENERGIES`, with its unit."""
    unit = unit_of("kinetic" if name == ENERGIES else name, dimension)
    return f"{name.replace('_', ' ')} [{unit}]" if unit != "1" else name.replace("_", " ")


def _points(time: Any, table: Mapping[str, Any], names: Iterable[str]) -> list[Point]:
    """Rows of columns (n,) or (n, k)."""
    split = columns({name: table[name] for name in names})
    return [_point(row) for row in zip(time.tolist(), *(c.tolist() for c in split.values()), strict=True)]


def _point(row: Iterable[float]) -> Point:
    return tuple(value if math.isfinite(value) else None for value in row)


class Playable:
    """Runs with one clock, as they are and as they were: scrubbed like a recording, and continued at their present.

    Parameters
    ----------
    runs : sequence of Running
        The first one leads.
    """

    def __init__(self, runs: Sequence[Running]) -> None:
        self.runs = list(runs)
        self.kept = Past()
        self._at: int | None = None  # a frame of the past; None: the present
        self._affordable = 1  # steps per frame that PATIENCE allows; measured with every frame

    @property
    def now(self) -> Source:
        """The state that is shown, of the first run."""
        return self.shown[0]

    @property
    def shown(self) -> Sequence[Source]:
        """The states that are shown, of all runs."""
        return self.runs if self._at is None else self.kept.frames[self._at]

    @property
    def count(self) -> int:
        """Frames that can be shown, the present among them."""
        return max(1, len(self.kept.frames))

    @property
    def index(self) -> int:
        """Which of them is shown."""
        return self.count - 1 if self._at is None else self._at

    @property
    def at_end(self) -> bool:
        """Whether it is the present."""
        return self._at is None

    def seek(self, index: int) -> None:
        """Show a frame; the last one is the present."""
        self._at = None if index >= self.count - 1 else index

    def nearest(self, time: float) -> int:
        """The frame that is nearest to a time [s]."""
        return self.kept.nearest(time) if time < self.runs[0].time else self.count - 1

    def forward(self, frames: int) -> None:
        """Frames of the past, up to the present."""
        self.seek(self.index + frames)

    def keep(self, color: str) -> None:
        """Keep the present as a frame, unless it is one."""
        frames = self.kept.frames
        if not frames or frames[-1][0].steps != self.runs[0].steps:
            self.kept.add(self.runs, color)

    def advance(self, span: float, frames: int = 1) -> None:
        """Whole steps from the present to the first at or after the next multiple of a span [s], or to that of some
        frames further on; but not more than `PATIENCE` allows."""
        self._at = None
        run, began = self.runs[0], time.perf_counter()
        before = run.steps
        until = (math.floor(run.time / span + EARLY) + frames - EARLY) * span
        self._lead(self._affordable, until)
        self._settle(run.steps - before, began)

    def step(self) -> None:
        """One whole step from the present."""
        self._at = None
        began = time.perf_counter()
        self._lead(1, math.inf)
        self._settle(1, began)

    def _lead(self, steps: int, until: float) -> None:
        """Steps of the first run, up to the first that reaches a time [s]."""
        self.runs[0]._advance(steps=steps, pause=until)

    def _settle(self, steps: int, began: float) -> None:
        """The first run has taken steps, since a time of the clock."""
        per_step = (time.perf_counter() - began) / max(1, steps)
        if per_step > 0 and steps:
            self._affordable = max(1, int(PATIENCE / per_step))


class Live(Playable):
    """A solver."""

    def __init__(self, simulation: Running) -> None:
        super().__init__([simulation])
        self.simulation = simulation

    @property
    def curves(self) -> tuple[str, ...]:
        """What the curves may show."""
        return (ENERGIES, *(name for name in self._history if name not in ("time", *OF_ENERGIES[:3])))

    def lines(self, curve: str) -> tuple[str, ...]:
        """The names of the lines of a curve."""
        return OF_ENERGIES if curve == ENERGIES else tuple(columns({curve: self._history[curve]}))

    def past(self, curve: str) -> list[Point]:
        """What there is of a curve so far: for energies the present alone, which is there without a history, too."""
        if curve == ENERGIES:
            return [self.point(curve)]
        history = self._history
        return _points(history["time"], history, (curve,))

    def point(self, curve: str) -> Point:
        """Of the state that is shown; of a column, of the last record."""
        if curve == ENERGIES:
            now = self.simulation.totals()
            return _point((now.time, now.kinetic, now.elastic, now.gravitational, now.energy))
        past = self.past(curve)[-1:]
        return past[0] if past else (self.simulation.time,)

    @property
    def _history(self) -> Mapping[str, Any]:
        return self.simulation.history


class Recorded:
    """A series at one of its frames; `ours` if it was opened by the viewer, and is to be closed by it."""

    def __init__(self, replay: Series, *, ours: bool = False) -> None:
        if not len(replay):
            raise ValueError(f"{replay!r} has no frames")
        self.replay, self.ours = replay, ours
        self.index = 0
        self._totals = replay.totals
        self._shown: tuple[str, list[Point]] = (ENERGIES, _points(replay.times, self._totals, OF_ENERGIES))

    @property
    def now(self) -> Source:
        """The frame that is shown."""
        return self.replay[self.index]

    @property
    def shown(self) -> Sequence[Source]:
        """All that are shown: this one."""
        return (self.now,)

    def sampled(self, name: str) -> Iterator[State]:
        """A field or quantity of all frames; of a long recording, of as many as have `SCANNED` values. Frames that
        cannot be read are left out: they are reported when they are to be shown."""
        last = len(self.replay) - 1
        most = max(2, SCANNED // max(1, len(self.now.particles)))
        for index in dict.fromkeys(np.linspace(0, last, min(last + 1, most)).round().astype(int).tolist()):
            with contextlib.suppress(OSError, ValueError, KeyError):
                yield self.replay[index]._state((name,))

    @property
    def summary(self) -> str:
        """What the file says of its simulation; may be empty."""
        said = getattr(self.replay, "description", {}).get("summary", "")
        if not isinstance(said, str):
            return ""
        if said.startswith("<") and said.endswith(">"):  # a repr, without the name of its class
            said = said[1:-1].partition(" ")[2]
        return said[:SUMMARY_MAX]

    @property
    def count(self) -> int:
        """Of frames."""
        return len(self.replay)

    @property
    def at_end(self) -> bool:
        """Whether it is the last."""
        return self.index == self.count - 1

    def seek(self, index: int) -> None:
        """Show a frame."""
        self.index = min(index, self.count - 1)

    def nearest(self, time: float) -> int:
        """The frame that is nearest to a time [s]."""
        return int(np.argmin(np.abs(self.replay.times - time)))

    def forward(self, frames: int) -> None:
        """Frames, up to the last one."""
        self.seek(self.index + frames)

    @property
    def curves(self) -> tuple[str, ...]:
        """What the curves may show."""
        return (ENERGIES, *(name for name in self._totals if name not in OF_ENERGIES[:3]))

    def lines(self, curve: str) -> tuple[str, ...]:
        """The names of the lines of a curve."""
        return OF_ENERGIES if curve == ENERGIES else tuple(columns({curve: self._totals[curve]}))

    def past(self, curve: str) -> list[Point]:
        """All of a curve."""
        if self._shown[0] != curve:
            names = OF_ENERGIES if curve == ENERGIES else (curve,)
            self._shown = (curve, _points(self.replay.times, self._totals, names))
        return list(self._shown[1])

    def point(self, curve: str) -> Point:
        """Of the frame that is shown."""
        self.past(curve)
        return self._shown[1][self.index]
