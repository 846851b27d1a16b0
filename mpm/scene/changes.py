"""A change of what is simulated, as it is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


class Changes:
    """All changes of a run. It never changes: one that goes on shares the list, so that each costs the same."""

    __slots__ = ("_count", "_list")

    def __init__(self, changes: Iterable[Change] = ()) -> None:
        self._list = list(changes)
        self._count = len(self._list)

    def followed(self, change: Change, kept: int) -> Changes:
        """The first `kept` of them and another one."""
        if kept == len(self._list):
            made = Changes()
            made._list = self._list
        else:
            made = Changes(self._list[:kept])
        made._list.append(change)
        made._count = kept + 1
        return made

    @property
    def last(self) -> Change | None:
        """The last one; None if there is none."""
        return self._list[self._count - 1] if self._count else None

    def since(self, first: int) -> tuple[Change, ...]:
        """Those from a number on."""
        return tuple(self._list[first : self._count])

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Change]:
        return iter(self.since(0))


NONE = Changes()


def described(changes: Iterable[Change]) -> list[Any]:
    """For a file."""
    return [
        change._asdict() | ({"value": list(change.value)} if isinstance(change.value, tuple) else {})
        for change in changes
    ]


def tabled(changes: Iterable[Change]) -> dict[str, Any]:
    """For a file, many of them: columns of steps, times and numbers of names; and all values, one after the other. A
    vector has the length of its name, a number 0."""
    lengths: dict[str, int] = {}
    table: dict[str, Any] = {"steps": [], "times": [], "of": [], "values": []}
    for change in changes:
        values = change.value if isinstance(change.value, tuple) else ()
        lengths.setdefault(change.name, len(values))
        for column, entry in zip(
            ("steps", "times", "of"), (change.step, change.time, change.name), strict=True
        ):
            table[column].append(entry)
        table["values"] += values or [change.value]
    numbers = {name: k for k, name in enumerate(lengths)}
    table["of"] = [numbers[name] for name in table["of"]]
    return {"names": list(lengths), "lengths": list(lengths.values()), **table}


def restored(entries: Any) -> tuple[Change, ...]:
    """What `described` or `tabled` gave; a ValueError or TypeError if it makes no sense."""
    if isinstance(entries, dict):
        return tuple(_rows(**entries))
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise _check.wrong_type("changes", entries, "a list of mappings")
    return tuple(_restored(**entry) for entry in entries)


def _rows(names: Any, lengths: Any, steps: Any, times: Any, of: Any, values: Any) -> Iterator[Change]:
    columns = {"names": names, "lengths": lengths, "steps": steps, "times": times, "of": of, "values": values}
    for name, given in columns.items():
        if not isinstance(given, list):
            raise _check.wrong_type(name, given, "a list")
    if len(lengths) != len(names) or not len(steps) == len(times) == len(of):
        raise ValueError("steps, times, of: must be as many, and as many lengths as names")
    place = 0
    for step, time, name in zip(steps, times, of, strict=True):
        number = _check.integer("of", name, low=0, high=len(names) - 1)
        length = _check.integer("lengths", lengths[number], low=0, high=3)
        value = values[place : place + max(1, length)]
        if len(value) < max(1, length):
            raise ValueError(f"values: has {len(values)} numbers; must have those of each change")
        place += len(value)
        yield _restored(step, time, names[number], value if length else value[0])
    if place != len(values):
        raise ValueError(f"values: has {len(values)} numbers; must have those of each change")


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
