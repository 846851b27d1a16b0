"""Drains: shapes that take the particles which are in them, at given times of a run."""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass

from mpm.base import _check
from mpm.scene.domain import checked_shape
from mpm.scene.emitters import LATE, SLACK
from mpm.shapes import Shape


@dataclass(frozen=True, eq=False, slots=True)
class Drain:
    """A shape that takes the particles which are in it, once or again and again. Made by `Scene.add_drain`."""

    shape: Shape
    start: float
    every: float | None
    until: float | None
    name: str

    def next_turn(self, after: float) -> float:
        """The first turn after a time [s]; infinite if there is none."""
        if after < self.start * (1 - LATE):
            return self.start * (1 - LATE)
        if self.every is None:
            return math.inf
        if self.every <= 4 * LATE * after:  # finer than the clock: after every step
            due = math.nextafter(after, math.inf)
        else:
            number = math.floor((after - self.start) / self.every)
            turns = (self.start + (number + k) * self.every for k in range(3))
            due = next(turn * (1 - LATE) for turn in turns if turn * (1 - LATE) > after)
        return due if self.until is None or due < self.until * (1 - SLACK) else math.inf

    def __repr__(self) -> str:
        again = "" if self.every is None else f", then every {self.every:g} s"
        end = "" if self.until is None else f" to {self.until:g} s"
        return f"{self.name}: {self.shape!r}, at {self.start:g} s{again}{end}"


def make_drain(
    shape: object,
    *,
    start: object,
    every: object,
    until: object,
    name: object,
    dimension: int,
    taken: Set[str],
    number: int,
) -> Drain:
    """Check the arguments of `Scene.add_drain`; `number` names a nameless drain."""
    shape = checked_shape(shape, dimension)
    if not shape._has_inside or shape._only_collides:
        raise ValueError(f"shape = {_check.shown(shape)}: must be a solid that does not change with time")
    begin = _check.number("start", start, low=0, unit="s")
    if every is None and until is not None:
        raise ValueError(
            f"until = {_check.shown(until)}: needs every=; without it a drain acts once, at start"
        )
    pace = None if every is None else _check.number("every", every, low=0, low_open=True, unit="s")
    end = None if until is None else _check.number("until", until, low=begin, low_open=True, unit="s")
    return Drain(shape, begin, pace, end, _check.unique_name("drain", name, taken, number))
