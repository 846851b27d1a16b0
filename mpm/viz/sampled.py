"""Quantities of particles on lattices of points: weighted least squares with the particles nearby."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray

REACH = 1.5  # widths: half the support of a quadratic B-spline
FILLED = 0.5  # share of a point's surroundings that material must fill: half at a flat surface
SINGULAR = 1e-6  # least determinant of the normal equations over that of well-spread particles


def on_lattice(
    x: FloatArray,
    volume: FloatArray,
    values: FloatArray,
    *,
    at: dict[int, float],
    axes: dict[int, FloatArray],
    width: float,
) -> FloatArray:
    """Values of a quantity on a lattice of points that lie in a plane or on a line.

    At every point the linear function is found that fits the particles nearby best, each weighted by its volume and by
    quadratic B-splines of its distance (moving least squares of first order; Lancaster and Salkauskas 1981). So a
    quantity that is linear in space comes out as it is, also at surfaces.

    Parameters
    ----------
    x, volume, values : ndarray, shapes (n, d), (n,), (n,)
        Of the particles.
    at : dict
        Coordinates that all points share, by axis.
    axes : dict
        Coordinates along the other axes: even, ascending, by axis.
    width : float
        Of the B-splines [m]: they reach 1.5 widths far.

    Returns
    -------
    ndarray
        An axis for each of `axes`, in their order; NaN where material fills less than half of the surroundings.
    """
    near = np.isfinite(values) & np.isfinite(x).all(axis=1)
    for axis, place in at.items():
        near &= np.abs(x[:, axis] - place) < REACH * width
    for axis, places in axes.items():
        near &= (x[:, axis] > places[0] - REACH * width) & (x[:, axis] < places[-1] + REACH * width)
    x, weight, values = x[near], volume[near] / width ** x.shape[1], values[near]
    for axis, place in at.items():
        weight = weight * _spline((x[:, axis] - place) / width)
    shape = tuple(len(places) for places in axes.values())
    sums = _sums(x, weight, values, at, axes, width)
    return _fitted(sums, len(x.T)).reshape(shape)


def _spline(t: FloatArray) -> FloatArray:
    """Quadratic B-spline; its sum over whole distances is 1."""
    t = np.abs(t)
    return np.where(t < 0.5, 0.75 - t**2, np.where(t < REACH, 0.5 * (REACH - t) ** 2, 0.0))


def _sums(
    x: FloatArray,
    weight: FloatArray,
    values: FloatArray,
    at: dict[int, float],
    axes: dict[int, FloatArray],
    width: float,
) -> FloatArray:
    """Sums over the particles of each point, (points, d + 1, d + 2): Σ w b bᵀ and Σ w b f with b = (1, offsets)."""
    d = x.shape[1]
    steps = {axis: places[1] - places[0] for axis, places in axes.items()}
    first = {a: np.ceil((x[:, a] - REACH * width - axes[a][0]) / steps[a]).astype(np.int64) for a in axes}
    counts = [int(2 * REACH * width / steps[axis]) + 2 for axis in axes]
    shape = tuple(len(places) for places in axes.values())
    points = int(np.prod(shape))
    sums = np.zeros((d + 1, d + 2, points))
    for offsets in product(*(range(count) for count in counts)):
        index = [first[axis] + k for axis, k in zip(axes, offsets, strict=True)]
        inside = np.logical_and.reduce([(i >= 0) & (i < n) for i, n in zip(index, shape, strict=True)])
        basis: list[npt.NDArray[Any]] = [np.ones(len(x))] * (d + 1)
        w = weight
        for axis, i in zip(axes, index, strict=True):
            basis[axis + 1] = (x[:, axis] - axes[axis][0] - i * steps[axis]) / width
            w = w * _spline(basis[axis + 1])
        for axis, place in at.items():
            basis[axis + 1] = (x[:, axis] - place) / width
        use = inside & (w > 0)
        rows = np.ravel_multi_index([i[use] for i in index], shape)
        weights, columns = w[use], [b[use] for b in basis] + [values[use]]
        for i in range(d + 1):
            for j in range(i, d + 2):
                sums[i, j] += np.bincount(rows, weights * columns[i] * columns[j], minlength=points)
    for i in range(d + 1):
        for j in range(i):
            sums[i, j] = sums[j, i]
    return np.moveaxis(sums, 2, 0)


def _fitted(sums: FloatArray, d: int) -> FloatArray:
    """The fit at the points themselves; the mean where particles lie in a row, so that no slope can be told."""
    matrix, right = sums[:, :, : d + 1], sums[:, :, d + 1]
    mass = matrix[:, 0, 0]
    filled = mass > FILLED
    result = np.full(len(sums), np.nan)
    matrix, right, mass = matrix[filled], right[filled], mass[filled]
    mean = right[:, 0] / mass
    # A quadratic B-spline has the second moment 1/4, so this is the determinant with particles all around.
    steep = np.linalg.det(matrix) > SINGULAR * mass ** (d + 1) * 0.25**d
    mean[steep] = np.linalg.solve(matrix[steep], right[steep][..., None])[:, 0, 0]
    result[filled] = mean
    return result
