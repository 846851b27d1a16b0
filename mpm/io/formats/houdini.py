"""The attributes of a point in the two classic formats of Houdini, version 5, binary and ASCII.

Positions have four components, the last one 1. What follows has a name, a number of components, a type and defaults:
``v`` is a vector, the rest plain numbers. Reals are of single precision, integers of 32 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mpm.base import _check
from mpm.errors import FileFormatError
from mpm.io.formats.integers import Array, as_int32
from mpm.solver.state import State

FLOAT, INT, INDEX, VECTOR = (
    0,
    1,
    4,
    5,
)  # as numbered in the binary format; an index is one into a list of strings
NAMES = {FLOAT: "float", INT: "int", VECTOR: "vector"}

MOST_SIZE, MOST_ATTRIBUTES = 65_535, 10_000


class Attribute(NamedTuple):
    name: str
    kind: int
    values: Array  # (n, size), float32 or int32


def attributes(state: State) -> list[Attribute]:
    """All fields but the positions."""
    found = []
    for name in state.fields:
        if name != "x":
            values = as_int32(name, state.spatial(name))
            kind = INT if values.dtype.kind == "i" else VECTOR if values.shape[1:] == (3,) else FLOAT
            stored = values if kind == INT else values.astype(np.float32)
            found.append(Attribute(name, kind, stored if stored.ndim == 2 else stored[:, None]))
    return found


def positions(state: State) -> Array:
    """(n, 4), float32."""
    return np.pad(state.spatial("x").astype(np.float32), [(0, 0), (0, 1)], constant_values=1)


def refuse_newer(data: bytes) -> None:
    """A FileFormatError for Houdini's newer format, which is JSON, and for compressed files."""
    if data[:1] in (b"[", b"\x7f") or data[:4] in (b"scf1", b"\x1f\x8b\x08\x00"):
        raise FileFormatError(
            "is of Houdini's newer format, or compressed; save it as .bhclassic or .hclassic, and name it .bgeo or .geo"
        )


def check_layout(layout: Sequence[tuple[str, int, int]]) -> None:
    """A FileFormatError if attributes make no sense."""
    seen = {"x", "P"}
    for name, size, kind in layout:
        if kind not in (*NAMES, INDEX) or not size:
            raise FileFormatError(
                f"has an attribute {_check.shown(name)} of {size} values of the type {kind}"
            )
        if name in seen:
            raise FileFormatError(f"has the attribute {_check.shown(name)} twice")
        seen.add(name)


def points(records: Array, layout: Sequence[tuple[str, int, int]]) -> dict[str, Array]:
    """Rows of positions and attributes by name; of float64, or of int32 that stand for the bits of the format."""
    bits = records.dtype.kind == "i"
    place = np.ascontiguousarray(records[:, :4])
    with np.errstate(all="ignore"):
        x = (place.view(np.float32) if bits else place).astype(np.float64)
        homogeneous = (x[:, 3] != 0) & (x[:, 3] != 1)
        x[homogeneous, :3] /= x[homogeneous, 3:]
    found: dict[str, Array] = {"x": np.ascontiguousarray(x[:, :3])}
    at = 4
    for name, size, kind in layout:
        part = np.ascontiguousarray(records[:, at : at + size])
        at += size
        if kind in (INT, INDEX):
            with np.errstate(all="ignore"):
                part = part.astype(np.int32)
        elif bits:
            part = part.view(np.float32)
        found[name] = part[:, 0] if size == 1 else part
    return found
