"""VTK's ``.vtp``, XML with appended raw data: one state for ParaView, VTK and PyVista: vertices, or the triangles
of finite elements."""

from __future__ import annotations

import struct
import sys
from typing import BinaryIO

import numpy as np

from mpm.io.formats.integers import Array
from mpm.solver.state import State

TYPES = {"f4": "Float32", "f8": "Float64", "i4": "Int32", "i8": "Int64"}


def write(file: BinaryIO, state: State) -> None:
    """Write a state."""
    blocks: list[Array] = []
    start = 0

    def refer(name: str, values: Array) -> str:
        """The element of an array, which goes to the end of the file with its length before it."""
        nonlocal start
        components = values.shape[1] if values.ndim == 2 else 1
        element = (
            f'<DataArray type="{TYPES[values.dtype.str[1:]]}" Name="{name}" NumberOfComponents="{components}"'
            f' format="appended" offset="{start}"/>'
        )
        blocks.append(values)
        start += 8 + values.nbytes
        return element

    n = state.count
    time = f'<DataArray type="Float64" Name="TimeValue" NumberOfTuples="1" format="ascii">{state.time!r}</DataArray>'
    data = [refer(name, state.spatial(name)) for name in state.fields if name != "x"]
    points = refer("Points", state.spatial("x"))
    faces = state.faces()
    corners = np.arange(n)[:, None] if faces is None else faces.astype(np.int64)
    many, each = corners.shape
    kind, verts, polys = ("Verts", many, 0) if faces is None else ("Polys", 0, many)
    rows = [refer("connectivity", corners.ravel()), refer("offsets", each * np.arange(1, many + 1))]
    order = "LittleEndian" if sys.byteorder == "little" else "BigEndian"
    text = [
        '<?xml version="1.0"?>',
        f'<VTKFile type="PolyData" version="1.0" byte_order="{order}" header_type="UInt64">',
        f"<PolyData><FieldData>{time}</FieldData>",
        f'<Piece NumberOfPoints="{n}" NumberOfVerts="{verts}" NumberOfLines="0" NumberOfStrips="0"'
        f' NumberOfPolys="{polys}">',
        "<PointData>",
        *data,
        f"</PointData><Points>{points}</Points><{kind}>",
        *rows,
        f"</{kind}></Piece></PolyData>",
        '<AppendedData encoding="raw">',
        "_",
    ]
    file.write("\n".join(text).encode("utf-8"))
    for values in blocks:
        file.write(struct.pack("=Q", values.nbytes) + values.tobytes())
    file.write(b"\n</AppendedData></VTKFile>\n")
