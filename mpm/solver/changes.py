"""A change of what is simulated, as it is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from mpm.base import _check

MOST = 2**62


class Change(NamedTuple):
    """A change between two steps, made by `Solver.set`."""

    step: int
    """Steps that were taken before it."""
    time: float
    """[s]."""
    name: str
    """What was changed: ``"slope.cohesion"``, ``"gravity"``, …"""
    value: float | tuple[float, ...]
    """The new value; a vector is a tuple."""


def described(changes: Iterable[Change]) -> list[Any]:
    """For a file."""
    return [
        change._asdict() | ({"value": list(change.value)} if isinstance(change.value, tuple) else {})
        for change in changes
    ]


def restored(entries: Any) -> tuple[Change, ...]:
    """What `described` gave; a ValueError or TypeError if it makes no sense."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise _check.wrong_type("changes", entries, "a list of mappings")
    return tuple(_restored(**entry) for entry in entries)


def _restored(step: object, time: object, name: object, value: object) -> Change:
    number = (
        tuple(_check.number("value", one) for one in value)
        if isinstance(value, list)
        else _check.number("value", value)
    )
    return Change(
        _check.integer("step", step, low=0, high=MOST),
        _check.number("time", time),
        _check.text("name", name),
        number,
    )
