"""The volumes of given points, by what their owner has chosen."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from mpm.shapes import Points, Shape

Floats = NDArray[np.float64]


def refuse_without(shape: Shape, body: str) -> None:
    """Raise ValueError if a shape is `Points` without volumes."""
    if isinstance(shape, Points) and shape.volume is None:
        raise ValueError(
            f"shape of {body!r}: {shape!r} has no volumes, so it has no mass: give Points(x, "
            "volume=) numbers [m³; in 2-D m²], or 'voronoi', 'grid-density' or 'per-cell'"
        )


def find(shape: Points, lower: Floats, dx: float, each: float) -> Floats:
    """The volumes (n,) of points on a grid whose particles have the volume `each` in full cells, as have points
    without any."""
    if isinstance(shape.volume, np.ndarray):
        return shape.volume.copy()
    return grid_density(shape.x, lower, dx) if shape.volume == "grid-density" else np.full(len(shape.x), each)


def grid_density(x: Floats, lower: Floats, dx: float) -> Floats:
    """dx^d / Σ w n with the number density of the nodes, n = Σ w, and the weights w of the quadratic B-spline.

    Right inside a body; at a free surface too large, up to twice.

    References
    ----------
    A. Stomakhin, C. Schroeder, L. Chai, J. Teran, A. Selle, ACM Trans. Graph. 32 (2013) 102, section 4, step 2.
    """
    d = x.shape[1]
    place = (x - lower) / dx
    base = np.floor(place - 0.5).astype(np.int64)
    offset = place - base
    w = np.stack([0.5 * (1.5 - offset) ** 2, 0.75 - (offset - 1) ** 2, 0.5 * (offset - 0.5) ** 2])
    base -= base.min(axis=0)
    size = base.max(axis=0) + 3
    nodes, weights = [], []
    for step in itertools.product(range(3), repeat=d):
        nodes.append(np.ravel_multi_index(tuple((base + step).T), tuple(size)))
        weights.append(np.prod([w[k, :, a] for a, k in enumerate(step)], axis=0))
    used, index = np.unique(np.stack(nodes), return_inverse=True)
    index, weight = index.reshape(len(nodes), -1), np.stack(weights)
    number = np.bincount(index.ravel(), weight.ravel(), minlength=len(used))
    return np.asarray(dx**d / (weight * number[index]).sum(axis=0))
