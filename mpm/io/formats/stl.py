"""STL, binary, little-endian: triangles with their normals, in single precision."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from mpm.solver.state import State

RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def write(file: BinaryIO, state: State) -> None:
    """Write the triangles of a state."""
    x, faces = np.asarray(state.spatial("x"), dtype=np.float64), state.faces()
    corners = np.empty((0, 3, 3)) if faces is None else x[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    records = np.zeros(len(corners), dtype=RECORD)
    records["normal"] = normal / np.where(length > 0, length, 1)
    records["corners"] = corners
    file.write(f"mpm, time {state.time!r}, step {state.step}".encode().ljust(80)[:80])
    file.write(np.uint32(len(records)).astype("<u4").tobytes())
    file.write(records.tobytes())
