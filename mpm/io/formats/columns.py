"""Columns of numbers with names, as tables have them: which of them are positions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from mpm.base import _check
from mpm.errors import FileFormatError
from mpm.io.formats.integers import Array

# x, P.x, P[x], Px, P:0, tx, Points:0, "Points_0", position x, …
COORDINATE = re.compile(
    r"(?:p|t|pos|position|positions|point|points|coord|coords|x)?[\s._:\[(]*([xyz012])[\s\])]*"
)


def axis_of(name: str) -> int | None:
    """The axis, if a name is that of a coordinate."""
    found = COORDINATE.fullmatch(name.strip().lower())
    return None if found is None else "xyz012".index(found[1]) % 3


def positions(columns: Mapping[str, Array]) -> dict[str, Array]:
    """The columns with the coordinates as one array ``"x"``, (n, 2) or (n, 3); a FileFormatError if there are none."""
    axes: dict[int, str] = {}
    for name in columns:
        axis = axis_of(name)
        if axis is not None:
            axes.setdefault(axis, name)
    if not {0, 1} <= axes.keys():
        names = _check.shortened(", ".join(map(repr, columns)), 200)
        raise FileFormatError(f"has no coordinates x and y; its columns are {names}")
    x = np.stack([np.asarray(columns[axes[axis]], dtype=np.float64) for axis in sorted(axes)], axis=1)
    return {"x": x} | {name: values for name, values in columns.items() if name not in axes.values()}


def named(names: Sequence[str]) -> None:
    """A FileFormatError if a name is there twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise FileFormatError(f"has two columns named {_check.shown(name)}")
        seen.add(name)
