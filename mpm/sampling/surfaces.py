"""Points on the surface of a shape, with the areas and normals that belong to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.shapes import Shape
from mpm.shapes.distances import describe, measure

__all__ = ["Surface", "pairs_within", "sample_surface"]

BISECTIONS = 50
CHUNK = 1 << 20  # points that are asked together


@dataclass(frozen=True, slots=True)
class Surface:
    """Points of a surface.

    Attributes
    ----------
    x : ndarray, shape (k, d)
        Positions [m].
    area : ndarray, shape (k, d)
        Outward normals times the area of each point [m²; in 2-D m].
    """

    x: FloatArray
    area: FloatArray


def sample_surface(shape: Shape, lower: FloatArray, upper: FloatArray, size: float, fine: int) -> Surface:
    """Find the surface of a shape within a box.

    Lines parallel to each axis pierce the surface. They lie on a lattice that divides the bounds of the shape evenly,
    so that the faces of a box have their areas to round-off. The lines of axis a that pierce a piece of the surface
    with the normal n see the share |n_a| of its area; each stands for |n_a| times its own cross-section, and the sum
    over the axes is the area, because Σ n_a² = 1.

    Parameters
    ----------
    shape : Shape
        A solid. Parts thinner than half of `size` may be missed.
    lower, upper : ndarray, shape (d,)
        The box; what lies beyond is left out.
    size : float
        Of the features that are resolved [m].
    fine : int
        Lines per `size` along an axis.

    Raises
    ------
    ValueError
        The shape has no distance (`mpm.shapes.distances.describe`).
    """
    d = shape.dimension
    low, high = (np.clip(bound, lower - size, upper + size) for bound in shape.bounds)
    program = describe(shape, size, (low - size, high + size))
    x, area = [], []
    for axis in range(d):
        found, section = _crossings(shape, low, high, axis, size, fine)
        normal = measure(program, found)[1] if len(found) else np.zeros((0, d))
        x.append(found)
        area.append(normal * np.abs(normal[:, axis : axis + 1]) * section)
    points, areas = np.concatenate(x), np.concatenate(area)
    room = 1e-9 * (upper - lower)
    within = ((points >= lower - room) & (points <= upper + room)).all(axis=1) & (areas != 0).any(axis=1)
    return Surface(points[within], areas[within])


def _crossings(
    shape: Shape, low: FloatArray, high: FloatArray, axis: int, size: float, fine: int
) -> tuple[FloatArray, float]:
    """Where lines along an axis pierce the surface (k, d), and the cross-section of each line."""
    d = shape.dimension
    others = [a for a in range(d) if a != axis]
    counts = [max(1, int(np.ceil((high[a] - low[a]) / size * fine - 1e-6))) for a in others]
    steps = [(high[a] - low[a]) / count for a, count in zip(others, counts, strict=True)]
    places = [low[a] + step * (np.arange(n) + 0.5) for a, step, n in zip(others, steps, counts, strict=True)]
    lines = np.zeros((int(np.prod(counts)), d))
    lines[:, others] = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(len(lines), d - 1)
    along = np.arange(low[axis] - 0.75 * size, high[axis] + 1.25 * size, 0.5 * size)
    found = []
    for first in range(0, len(lines), max(1, CHUNK // len(along))):
        part = lines[first : first + max(1, CHUNK // len(along))]
        x = np.repeat(part, len(along), axis=0)
        x[:, axis] = np.tile(along, len(part))
        inside = shape._contains(x).reshape(len(part), len(along))
        line, place = np.nonzero(inside[:, 1:] != inside[:, :-1])
        at = part[line].copy()
        a, b, ends_inside = along[place], along[place + 1], inside[line, place + 1]
        for _ in range(BISECTIONS):
            middle = 0.5 * (a + b)
            at[:, axis] = middle
            beyond = shape._contains(at) == ends_inside
            a, b = np.where(beyond, a, middle), np.where(beyond, middle, b)
        at[:, axis] = 0.5 * (a + b)
        found.append(at)
    return np.concatenate(found), float(np.prod(steps))


def pairs_within(
    x: FloatArray, cloud: FloatArray, reach: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """All pairs of a point and a member of a cloud that are closer than `reach` [m].

    Returns
    -------
    tuple of ndarray, shape (p,) each
        The index of the point, ascending, and that in the cloud, ascending for each point.
    """
    d = x.shape[1]
    if not len(x) or not len(cloud):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    low = np.minimum(x.min(axis=0), cloud.min(axis=0)) - reach
    cells = np.floor((cloud - low) / reach).astype(np.int64)
    own = np.floor((x - low) / reach).astype(np.int64)
    extent = np.maximum(cells.max(axis=0), own.max(axis=0)) + 2
    key = np.ravel_multi_index(tuple(cells.T), tuple(extent))
    order = np.argsort(key, kind="stable")
    key = key[order]
    points, members = [], []
    for offset in np.ndindex(*(3,) * d):
        near = own + np.array(offset) - 1
        wanted = np.ravel_multi_index(tuple(near.T), tuple(extent), mode="clip")
        first, last = np.searchsorted(key, wanted, "left"), np.searchsorted(key, wanted, "right")
        count = last - first
        owner = np.repeat(np.arange(len(x)), count)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
        member = order[place]
        close = np.linalg.norm(cloud[member] - x[owner], axis=1) < reach
        points.append(owner[close])
        members.append(member[close])
    point, member = np.concatenate(points), np.concatenate(members)
    sort = np.lexsort((member, point))
    return point[sort], member[sort]
