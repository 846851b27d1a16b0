"""Sources that the viewer plays: a solver, or the frames of a series."""

from __future__ import annotations

import time

from mpm.source import Running, Series, Source

PATIENCE = 0.25  # s: the longest time of a frame, so that buttons respond

Energies = tuple[float, float, float, float, float]
"""Time [s]; kinetic, elastic, gravitational and total energy [J]."""


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

    def advance(self, steps: int) -> None:
        """Whole steps, but not more than `PATIENCE` allows."""
        n = min(steps, self._affordable)
        began = time.perf_counter()
        self.simulation.step(n)
        per_step = (time.perf_counter() - began) / n
        self._affordable = max(1, int(PATIENCE / per_step))

    def energies(self) -> Energies:
        """Of the state that is shown."""
        now = self.simulation.totals()
        return now.time, now.kinetic, now.elastic, now.gravitational, now.energy


class Recorded:
    """A series at one of its frames; `ours` if it was opened by the viewer, and is to be closed by it."""

    def __init__(self, replay: Series, *, ours: bool = False) -> None:
        if not len(replay):
            raise ValueError(f"{replay!r} has no frames")
        self.replay, self.ours = replay, ours
        self.index = 0
        totals = replay.totals
        columns = [replay.times, *(totals[k] for k in ("kinetic", "elastic", "gravitational", "energy"))]
        self.curve: list[Energies] = list(zip(*(column.tolist() for column in columns), strict=True))

    @property
    def now(self) -> Source:
        """The frame that is shown."""
        return self.replay[self.index]

    @property
    def at_end(self) -> bool:
        """Whether it is the last."""
        return self.index == len(self.replay) - 1

    def advance(self, steps: int) -> None:
        """Frames, up to the last one."""
        self.index = min(self.index + steps, len(self.replay) - 1)

    def energies(self) -> Energies:
        """Of the frame that is shown."""
        return self.curve[self.index]
