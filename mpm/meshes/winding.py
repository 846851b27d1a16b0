"""Two independent measures of the inside of a mesh; the core computes both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mpm import _core
from mpm.base.config import threads_for

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEW = 100_000  # pairs of point and face: fewer are work for one thread


def winding_numbers(x: Floats, faces: Ints, points: Floats) -> Floats:
    """Generalised winding number (m,) at each point: 1 inside an outward surface, 0 outside."""
    x, index = np.ascontiguousarray(x, dtype=np.float64), np.ascontiguousarray(faces, dtype=np.int32)
    points = np.ascontiguousarray(points, dtype=np.float64)
    return np.frombuffer(
        _core.winding_numbers(x, index, points, threads_for(len(index) * len(points), FEW)), dtype=np.float64
    )


def crossings(x: Floats, faces: Ints, points: Floats, axis: int = 2) -> NDArray[np.int32]:
    """Signed crossings (m,) of the ray from each point along +`axis`: the winding number of a closed mesh."""
    turned = [(axis + 1) % 3, (axis + 2) % 3, axis]
    x, index = (
        np.ascontiguousarray(x[:, turned], dtype=np.float64),
        np.ascontiguousarray(faces, dtype=np.int32),
    )
    points = np.ascontiguousarray(points[:, turned], dtype=np.float64)
    return np.frombuffer(
        _core.ray_crossings(x, index, points, threads_for(8 * len(points), FEW)), dtype=np.int32
    )
