"""The attributes of a point in the two classic formats of Houdini, version 5, binary and ASCII.

Positions have four components, the last one 1. What follows has a name, a number of components, a type and defaults:
``v`` is a vector, the rest plain numbers. Reals are of single precision, integers of 32 bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mpm.io.formats.integers import Array, as_int32
from mpm.io.state import State

FLOAT, INT, VECTOR = 0, 1, 5  # as numbered in the binary format
NAMES = {FLOAT: "float", INT: "int", VECTOR: "vector"}


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
