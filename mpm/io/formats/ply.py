"""Stanford PLY, binary, little-endian: a vertex per particle with a property per component.

Turk: The PLY polygon file format (1994). Positions are ``x y z``, vectors ``vx vy vz``, tensors ``F_xx F_xy …``. PLY
has no 64-bit integers: ``id`` is an ``int``.
"""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from mpm.io.formats.integers import as_int32
from mpm.io.state import ENDS, State

TYPES = {"f4": "float", "f8": "double", "i4": "int"}
AXES = "xyz"


def write(file: BinaryIO, state: State) -> None:
    """Write a state."""
    columns = []
    for name in state.fields:
        values = as_int32(name, state.spatial(name))
        for k, component in enumerate(_components(name, values.shape[1:])):
            columns.append((component, values if values.ndim == 1 else values[:, k]))
    vertices = np.empty(
        state.count, dtype=[(name, values.dtype.newbyteorder("<")) for name, values in columns]
    )
    for name, values in columns:
        vertices[name] = values
    properties = [f"property {TYPES[values.dtype.str[1:]]} {name}" for name, values in columns]
    head = [
        "ply",
        "format binary_little_endian 1.0",
        f"comment time {state.time!r}",
        f"comment step {state.step}",
        f"element vertex {state.count}",
        *properties,
        "end_header",
    ]
    file.write(("\n".join(head) + "\n").encode("utf-8"))
    file.write(vertices.tobytes())


def _components(name: str, shape: tuple[int, ...]) -> list[str]:
    if name == "x":
        return list(AXES)
    if shape == (3,):
        return [name + axis for axis in AXES]
    return [f"{name}_{end}" for end in ENDS[shape[0]]] if shape else [name]
