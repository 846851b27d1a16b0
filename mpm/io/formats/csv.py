"""Particles as a table: CSV with a line per particle, for spreadsheets and other programs that read text."""

from __future__ import annotations

from typing import BinaryIO

from mpm.io import table
from mpm.io.formats.integers import Array
from mpm.io.state import ENDS, State


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
