"""Values of particles at any points, as nodes of a grid get them: weighted by mass and kernel."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mpm.base import fieldtable
from mpm.base._check import FloatArray
from mpm.scene.scene import Scene

Indices = npt.NDArray[np.int64]

CHUNK = 1024  # points that are summed together
REACH = {"linear": 1.0, "quadratic": 1.5, "cubic": 2.0}  # half the support of the B-splines [cells]


def kernel(u: FloatArray, kind: str) -> FloatArray:
    """The B-spline N(u) at distances u [cells] along one axis."""
    u = np.abs(u)
    if kind == "linear":
        return np.maximum(1 - u, 0)
    if kind == "quadratic":
        return np.where(u < 0.5, 0.75 - u**2, 0.5 * np.maximum(1.5 - u, 0) ** 2)
    return np.where(u < 1, 2 / 3 - u**2 + u**3 / 2, np.maximum(2 - u, 0) ** 3 / 6)


def at_points(
    points: FloatArray, x: FloatArray, mass: FloatArray, values: FloatArray, *, dx: float, kind: str
) -> FloatArray:
    """Σ_p w m A / Σ_p w m with w = Π N((x_p − point)/dx), (m, k), at points (m, d) of values (n, k) of particles at
    x (n, d) with masses (n,); NaN where no particle with mass is in the reach of the kernel."""
    found = np.full((len(points), values.shape[1]), np.nan)
    x, mass, values = x[mass > 0], mass[mass > 0], values[mass > 0]
    if not len(x):
        return found
    reach = REACH[kind] * dx
    origin, end = x.min(axis=0) - reach, x.max(axis=0) + reach
    inside = np.flatnonzero(((points >= origin) & (points <= end)).all(axis=1))
    bins = _Bins(x, origin, reach)
    for first in range(0, len(inside), CHUNK):
        rows = inside[first : first + CHUNK]
        total, sums = np.zeros(len(rows)), np.zeros((len(rows), values.shape[1]))
        for i, j in bins.near(points[rows]):
            w = mass[j] * kernel((x[j] - points[rows[i]]) / dx, kind).prod(axis=1)
            total += np.bincount(i, weights=w, minlength=len(rows))
            for k in range(values.shape[1]):
                sums[:, k] += np.bincount(i, weights=w * values[j, k], minlength=len(rows))
        there = total > 0
        found[rows[there]] = sums[there] / total[there, None]
    return found


class _Bins:
    """Particles by cubes of the size of the reach."""

    def __init__(self, x: FloatArray, origin: FloatArray, reach: float) -> None:
        self.origin, self.reach = origin, reach
        cells = self._cells(x)
        self.strides = np.concatenate([[1], np.cumprod(cells.max(axis=0)[:-1] + 3)])
        keys = cells @ self.strides
        self.order = np.argsort(keys, kind="stable")
        self.keys = keys[self.order]

    def _cells(self, x: FloatArray) -> Indices:
        return np.floor((x - self.origin) / self.reach).astype(np.int64)

    def near(self, points: FloatArray) -> Iterator[tuple[Indices, Indices]]:
        """Pairs of a point and a particle, some of which are in reach of each other."""
        cells = self._cells(points)
        for offset in itertools.product((-1, 0, 1), repeat=points.shape[1]):
            wanted = (cells + np.array(offset)) @ self.strides
            first, last = (np.searchsorted(self.keys, wanted, side) for side in ("left", "right"))
            count = last - first
            start = np.repeat(first - (np.cumsum(count) - count), count)
            yield np.repeat(np.arange(len(points)), count), self.order[start + np.arange(len(start))]


def with_images(
    scene: Scene, reach: float, x: FloatArray, mass: FloatArray, values: FloatArray, *, rank: str, moves: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same with the images of particles beyond mirrors and periodic faces that are within reach of the domain.

    Mirrors negate the normal components of vectors and tensors; where `moves`, the values are the positions.
    """
    axes = "xyz"[: scene.dimension]
    components = fieldtable.components(scene.dimension)[rank]
    for axis, letter in enumerate(axes):
        sign = np.array([(-1.0) ** component.count(letter) for component in components])
        low, high = float(scene.lower[axis]), float(scene.upper[axis])
        parts = [(x, mass, values)]
        for face, wall in ((low, scene.walls[f"{letter}-"]), (high, scene.walls[f"{letter}+"])):
            if wall.contact not in ("mirror", "periodic"):
                continue
            rows = np.abs(x[:, axis] - face) <= reach
            image, other = x[rows].copy(), values[rows]
            if wall.contact == "mirror":
                image[:, axis] = 2 * face - image[:, axis]
                other = other * sign
            else:
                image[:, axis] += (high - low) * (1 if face == low else -1)
            parts.append((image, mass[rows], image.copy() if moves else other))
        x, mass, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return x, mass, values
