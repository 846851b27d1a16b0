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
from mpm.viz.curves import unit_of

SCANNED = 20_000_000  # values of a recording, at most, from which the ends of its colour scale come
SUMMARY_MAX = 2000  # characters

PATIENCE = 0.25  # s: the longest time of a frame, so that buttons respond

ENERGIES = "energies"  # the curve that is shown first
OF_ENERGIES = ("kinetic", "elastic", "gravitational", "energy")

Point = tuple[float | None, ...]
"""A point of the curves: the time [s], and the values; None where there is none."""


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


class Live:
    """A solver; it is never at its end."""

    at_end = False

    def __init__(self, simulation: Running) -> None:
        self.simulation = simulation
        self._affordable = 1  # steps per frame that PATIENCE allows; measured with every frame

    @property
    def now(self) -> Source:
        """The state that is shown."""
        return self.simulation

    @property
    def shown(self) -> Sequence[Source]:
        """All that are shown: this one."""
        return (self.now,)

    def advance(self, steps: int) -> None:
        """Whole steps, but not more than `PATIENCE` allows."""
        n = min(steps, self._affordable)
        began = time.perf_counter()
        self.simulation.step(n)
        per_step = (time.perf_counter() - began) / n
        self._affordable = max(1, int(PATIENCE / per_step))

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
        return said[:SUMMARY_MAX] if isinstance(said, str) else ""

    @property
    def at_end(self) -> bool:
        """Whether it is the last."""
        return self.index == len(self.replay) - 1

    def advance(self, steps: int) -> None:
        """Frames, up to the last one."""
        self.index = min(self.index + steps, len(self.replay) - 1)

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
