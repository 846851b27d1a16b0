"""Stanford PLY, binary, little-endian: a vertex per particle with a property per component, and the triangles of
finite elements as faces.

Turk: The PLY polygon file format (1994). Positions are ``x y z``, vectors ``vx vy vz``, tensors ``F_xx F_xy …``. PLY
has no 64-bit integers: ``id`` is an ``int``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from mpm.base import _check
from mpm.base import texts as text
from mpm.errors import FileFormatError
from mpm.io.formats import columns as tables
from mpm.io.formats.integers import Array, as_int32
from mpm.solver.state import ENDS, State

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
    faces = state.faces()
    of_faces = (
        [f"element face {len(faces)}", "property list uchar int vertex_indices"] if faces is not None else []
    )
    head = [
        "ply",
        "format binary_little_endian 1.0",
        f"comment time {state.time!r}",
        f"comment step {state.step}",
        f"element vertex {state.count}",
        *properties,
        *of_faces,
        "end_header",
    ]
    file.write(("\n".join(head) + "\n").encode("utf-8"))
    file.write(vertices.tobytes())
    if faces is not None:
        records = np.empty(len(faces), dtype=[("count", "u1"), ("rows", "<i4", 3)])
        records["count"], records["rows"] = 3, faces
        file.write(records.tobytes())


def _components(name: str, shape: tuple[int, ...]) -> list[str]:
    if name == "x":
        return list(AXES)
    if shape == (3,):
        return [name + axis for axis in AXES]
    return [f"{name}_{end}" for end in ENDS[shape[0]]] if shape else [name]


READ = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4",
    "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
    "float32": "f4", "float64": "f8",
}  # fmt: skip
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">", "ascii": ""}
LONGEST_HEAD = 1 << 20
END = b"end_header"


def read(data: bytes) -> dict[str, Array]:
    """The vertices of any PLY: ``"x"`` (n, 3), and the other properties by name, (n,).

    Raises
    ------
    FileFormatError
        It is no PLY, has no vertices with positions, or is damaged.
    """
    order, elements, start = _head(data)
    at = start
    lines = text.lines(data[start:]) if not order else None
    for name, count, properties in elements:
        if name == "vertex":
            return tables.positions(_vertices(data, at, lines, order, count, properties))
        # What comes before the vertices is skipped.
        if lines is None:
            at += count * _record(properties, order, name).itemsize
        else:
            for _ in range(count):
                if next(lines, None) is None:
                    raise FileFormatError(f"ends within the element {_check.shown(name)}")
    raise FileFormatError("has no element 'vertex'")


Properties = list[tuple[str, str]]


def _head(data: bytes) -> tuple[str, list[tuple[str, int, Properties]], int]:
    """Byte order (none: text), the elements with their properties, and where the data begin."""
    end = data.find(END, 0, LONGEST_HEAD)
    if data[:3] != b"ply" or end < 0:
        raise FileFormatError("does not begin with 'ply' and a header")
    start = data.find(b"\n", end) + 1 or len(data)
    order: str | None = None
    elements: list[tuple[str, int, Properties]] = []
    for number, line in text.lines(data[:end]):
        words = line.split()
        match words:
            case ["format", kind, "1.0"] if kind in ORDERS:
                order = ORDERS[kind]
            case ["element", name, count]:
                elements.append((name, text.whole(number, count, len(data)), []))
            case ["property", kind, name] if elements and kind in READ:
                elements[-1][2].append((name, READ[kind]))
            case ["property", "list", _, _, name] if elements:
                elements[-1][2].append((name, "list"))
            case ["ply"] | ["comment", *_] | ["obj_info", *_] | []:
                pass
            case _:
                raise FileFormatError(
                    f"line {number}: {_check.shown(line.strip())} does not belong in a header of PLY"
                )
    if order is None:
        raise FileFormatError("does not state its format, such as 'format ascii 1.0'")
    return order, elements, start


def _record(properties: Properties, order: str, element: str) -> np.dtype[np.void]:
    if any(kind == "list" for _, kind in properties):
        raise FileFormatError(
            f"has lists in the element {_check.shown(element)}: only later elements may have"
        )
    tables.named([name for name, _ in properties])
    if not properties:
        raise FileFormatError(f"has no properties in the element {_check.shown(element)}")
    return np.dtype([(name, order + kind) for name, kind in properties])


def _vertices(
    data: bytes,
    at: int,
    lines: Iterator[tuple[int, str]] | None,
    order: str,
    count: int,
    properties: Properties,
) -> dict[str, Array]:
    record = _record(properties, order or "<", "vertex")
    if lines is None:
        if len(data) - at < count * record.itemsize:
            raise FileFormatError(f"is cut short: {count} vertices need {count * record.itemsize} bytes")
        found = np.frombuffer(data, record, count, at)
        return {name: found[name].astype(found[name].dtype.newbyteorder("=")) for name, _ in properties}
    rows = text.Rows(len(properties))
    for _ in range(count):
        number, line = next(lines, (0, ""))
        if not line:
            raise FileFormatError(f"ends after {len(rows)} of {count} vertices")
        rows.take(number, line.split())
    return dict(zip([name for name, _ in properties], rows.array().T, strict=False))
