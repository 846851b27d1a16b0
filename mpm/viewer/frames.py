"""A frame for the graphics card: one buffer of vertices, four 16-bit numbers each.

Three numbers are the position in the domain and a margin around it, from 0 to 65535; the fourth is the colour. On a
screen of 1000 pixels the resolution is a fiftieth of a pixel, for a third of the bytes of single precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray

Vertices = npt.NDArray[np.uint16]
Array = npt.NDArray[Any]

LEVELS = 65535
MARGIN = 0.1  # of the longest side, all around: room for particles that leave and for the ends of lines
LONGEST_LINE = 0.06  # of the longest side
LINES_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Box:
    """What 0 and 65535 stand for."""

    lower: FloatArray  # (d,) [m]
    size: FloatArray  # (d,) [m]
    longest: float  # side of the domain [m]

    @classmethod
    def around(cls, lower: FloatArray, upper: FloatArray) -> Box:
        """The domain and the margin."""
        longest = float((upper - lower).max())
        return cls(lower - MARGIN * longest, upper - lower + 2 * MARGIN * longest, longest)


def points(box: Box, x: Array, values: Array, limits: tuple[float, float]) -> Vertices:
    """Particles at x (n, d), coloured by values (n,) between the limits: (n, 4)."""
    vertices = _placed(box, x)
    low, high = limits
    # In double precision, because limits in single precision could be neighbouring numbers.
    vertices[:, 3] = _levels(np.asarray(values, dtype=np.float64), low, high - low)
    return vertices


def thinned(x: Array, v: Array) -> tuple[Array, Array]:
    """Every k-th row of both, so that there are at most `LINES_MAX`."""
    stride = max(1, -(-len(x) // LINES_MAX))
    return x[::stride], v[::stride]


def lines(box: Box, x: Array, v: Array, fastest: float) -> Vertices:
    """Velocities v (m, d) as lines that begin at x: (2m, 4); that of `fastest` [m/s] is `LONGEST_LINE` long."""
    length = LONGEST_LINE * box.longest / fastest if fastest > 0 else 0.0
    return segments(box, x, x + length * v)


def segments(box: Box, starts: Array, ends: Array) -> Vertices:
    """Lines between points (m, d): (2m, 4)."""
    return _placed(box, np.stack([starts, ends], axis=1).reshape(-1, starts.shape[1]))


def faces(box: Box, x: Array, normals: Array) -> Vertices:
    """Corners of triangles at x (n, d): (n, 4). The fourth number is the normal, if there is any (n, 3)."""
    vertices = _placed(box, x)
    if len(normals):
        vertices[:, 3] = _directions(normals)
    return vertices


def normals(outward: Array) -> Vertices:
    """Normals (n, 3) alone, four in the room of a vertex: (n / 4, 4), the last one filled up with zeros."""
    packed = np.zeros(-(-len(outward) // 4) * 4, dtype=np.uint16)
    packed[: len(outward)] = _directions(outward)
    return packed.reshape(-1, 4)


def _directions(normals: Array) -> Array:
    """Unit vectors (n, 3) as 16-bit numbers: on an octahedron unfolded to a square, eight bits per side."""
    flat = normals / np.maximum(np.abs(normals).sum(axis=1), 1e-30)[:, None]
    x, y = flat[:, 0], flat[:, 1]
    below = flat[:, 2] < 0
    folded = [
        np.where(below, (1 - np.abs(other)) * np.where(one < 0, -1, 1), one)
        for one, other in ((x, y), (y, x))
    ]
    high, low = (np.rint(np.clip(127.5 * (side + 1), 0, 255)) for side in folded)
    return np.asarray(256 * high + low)


def _placed(box: Box, x: Array) -> Vertices:
    vertices = np.zeros((len(x), 4), dtype=np.uint16)
    for axis in range(x.shape[1]):
        vertices[:, axis] = _levels(x[:, axis], box.lower[axis], box.size[axis])
    return vertices


def _levels(values: Array, low: float, length: float) -> Array:
    """Values from low to low + length as 0 to 65535; NaN becomes 0."""
    with np.errstate(all="ignore"):
        scaled = (values - low) * (LEVELS / length) + 0.5
        np.clip(scaled, 0, LEVELS, out=scaled)
        if np.isnan(scaled.sum()):
            np.nan_to_num(scaled, copy=False)
    return scaled
