"""What the viewer shows: a simulation, or the frames of a replay."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

from mpm import derived
from mpm.colliders import Posed
from mpm.io import state as _state
from mpm.io.replay import Replay
from mpm.scene import Scene
from mpm.simulation import Simulation

PATIENCE = 0.25  # s: a frame takes no more, so that buttons are answered

Energies = tuple[float, float, float, float, float]
"""Time [s]; kinetic, elastic, gravitational and total energy [J]."""


class Source(Protocol):
    """What both have in common."""

    @property
    def scene(self) -> Scene: ...
    @property
    def fields(self) -> tuple[str, ...]: ...
    @property
    def colors(self) -> tuple[str, ...]:
        """Quantities with one value per particle."""

    @property
    def at_end(self) -> bool: ...
    def posed(self) -> list[Posed]:
        """The colliders now."""

    def advance(self, steps: int) -> None: ...
    def take(self, names: Sequence[str]) -> _state.State:
        """Positions, rest volumes and the named quantities now."""

    def energies(self) -> Energies: ...


class Live:
    """A simulation; it is never at its end."""

    at_end = False

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._affordable = 1  # steps of a frame; measured with every frame

    @property
    def scene(self) -> Scene:
        return self.simulation.scene

    @property
    def fields(self) -> tuple[str, ...]:
        return self.simulation.particles.fields

    @property
    def colors(self) -> tuple[str, ...]:
        return scalars(derived.NAMES, self.fields)

    def posed(self) -> list[Posed]:
        return self.simulation._posed()

    def advance(self, steps: int) -> None:
        """Whole steps, but not more than `PATIENCE` allows."""
        n = min(steps, self._affordable)
        began = time.perf_counter()
        self.simulation.step(n)
        per_step = (time.perf_counter() - began) / n
        self._affordable = max(1, int(PATIENCE / per_step))

    def take(self, names: Sequence[str]) -> _state.State:
        return _state.take(self.simulation, names)

    def energies(self) -> Energies:
        now = self.simulation.totals()
        return now.time, now.kinetic, now.elastic, now.gravitational, now.energy


class Recorded:
    """A replay at one of its frames; `ours` if it was opened by the viewer, and is to be closed by it."""

    def __init__(self, replay: Replay, *, ours: bool = False) -> None:
        if not len(replay):
            raise ValueError(f"{replay!r} has no frames")
        self.replay, self.ours = replay, ours
        self.index = 0
        totals = replay.totals
        columns = [replay.times, *(totals[k] for k in ("kinetic", "elastic", "gravitational", "energy"))]
        self.curve: list[Energies] = list(zip(*(column.tolist() for column in columns), strict=True))

    @property
    def scene(self) -> Scene:
        return self.replay[0].scene

    @property
    def fields(self) -> tuple[str, ...]:
        return self.replay.fields

    @property
    def colors(self) -> tuple[str, ...]:
        return scalars(self.replay.quantities, self.fields)

    @property
    def at_end(self) -> bool:
        return self.index == len(self.replay) - 1

    def posed(self) -> list[Posed]:
        return self.replay[self.index]._posed()

    def advance(self, steps: int) -> None:
        """Frames, up to the last one."""
        self.index = min(self.index + steps, len(self.replay) - 1)

    def take(self, names: Sequence[str]) -> _state.State:
        return self.replay[self.index]._state(tuple(names))

    def energies(self) -> Energies:
        return self.curve[self.index]


def scalars(quantities: Any, fields: Sequence[str]) -> tuple[str, ...]:
    """Names of what has one value per particle: quantities, then fields."""
    computed = [name for name in quantities if name != "stress"]
    return (*computed, *(name for name in fields if name in derived.FIELD_UNITS and name not in computed))
