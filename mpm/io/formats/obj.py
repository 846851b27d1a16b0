"""Wavefront ``.obj``, text: vertices and triangles. Positions have nine digits, more than single precision has."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from mpm.io.formats.integers import Array
from mpm.solver.state import State


def write(file: BinaryIO, state: State) -> None:
    """Write the triangles of a state."""
    x = np.asarray(state.spatial("x"), dtype=np.float64)
    faces = _faces(state)
    file.write(f"# time {state.time!r}, step {state.step}\n".encode())
    file.write(("v %.9g %.9g %.9g\n" * len(x) % tuple(x.ravel().tolist())).encode())
    file.write(("f %d %d %d\n" * len(faces) % tuple((faces + 1).ravel().tolist())).encode())


def _faces(state: State) -> Array:
    faces = state.faces()
    return np.empty((0, 3), dtype=np.int64) if faces is None else faces
