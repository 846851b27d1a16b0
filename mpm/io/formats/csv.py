"""Particles as a table: CSV with a line per particle, for spreadsheets and other programs that read text.

Tables of other programs are read, too: with commas, semicolons, tabs or blanks; with a line of names, such as Houdini's
``P.x``, ``P[x]`` and ``Px`` or ParaView's ``Points:0``, or with two or three bare columns of coordinates.
"""

from __future__ import annotations

import csv
from typing import BinaryIO

from mpm.base import texts as text
from mpm.errors import FileFormatError
from mpm.io import table
from mpm.io.formats import columns as tables
from mpm.io.formats.integers import Array
from mpm.solver.state import ENDS, State


def write(file: BinaryIO, state: State) -> None:
    """Write a state: ``x``, ``y``, ``z``, then the fields, vectors and tensors split up (``v_x``, ``F_xy``)."""
    columns: dict[str, Array] = {}
    for name in state.fields:
        values = state.spatial(name)
        if name == "x":
            columns |= zip("xyz", values.T, strict=True)
        elif values.ndim == 1:
            columns[name] = values
        else:
            columns |= {f"{name}_{end}": c for end, c in zip(ENDS[values.shape[1]], values.T, strict=True)}
    table.write(file, columns)


LONGEST = 100_000  # characters of a line
MOST_COLUMNS = 1000


def read(data: bytes) -> dict[str, Array]:
    """The columns by name, and the positions ``"x"``, (n, 2) or (n, 3).

    Raises
    ------
    FileFormatError
        It is no table of numbers with coordinates.
    """
    names: list[str] | None = None
    rows: text.Rows | None = None
    mark = ""
    for number, line in text.lines(data):
        if len(line) > LONGEST:
            raise FileFormatError(f"line {number}: has {len(line)} characters; must be at most {LONGEST}")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if rows is None:
            mark = next((sign for sign in ",;\t" if sign in line), " ")
        words = _split(number, line.strip(), mark)
        if rows is None:
            if not 2 <= len(words) <= MOST_COLUMNS:
                raise FileFormatError(f"line {number}: has {len(words)} columns; must be 2 to {MOST_COLUMNS}")
            rows = text.Rows(len(words))
            if not all(map(_is_number, words)):
                names = words
                continue
        rows.take(number, words)
    if rows is None or not len(rows):
        raise FileFormatError("has no rows of numbers")
    if names is None:
        if rows.width > 3:
            raise FileFormatError(
                f"has {rows.width} columns without names; must be 2 or 3 coordinates, or named"
            )
        names = list("xyz"[: rows.width])
    tables.named(names)
    return tables.positions(dict(zip(names, rows.array().T, strict=True)))


def _split(number: int, line: str, mark: str) -> list[str]:
    if mark == " ":
        return line.split()
    try:
        (words,) = csv.reader([line], delimiter=mark, skipinitialspace=True, strict=True)
    except csv.Error as error:
        raise FileFormatError(f"line {number}: {error}") from None
    return [word.strip() for word in words]


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
