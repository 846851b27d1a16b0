"""Colliders as lines where their signed distance is zero: outlines in 2-D, sections of their surface in 3-D."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mpm._check import FloatArray
from mpm.colliders import Placed

LATTICE = 160  # cells along the longest side in 2-D
CUTS = 12  # along the longest side in 3-D: planes across every axis, first and last in faces of the domain
CUT_LATTICE = 48  # cells along the longest side of these planes


def of(posed: Sequence[Placed], lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Starts and ends (m, d) [m] of line segments along the colliders in the domain."""
    d = len(lower)
    parts = [(np.empty((0, d)), np.empty((0, d)))]
    for collider in posed:
        if d == 2:
            x = _lattice(lower, upper, LATTICE)
            parts.append(zero_line(x, collider.distance(x.reshape(-1, 2))[0].reshape(x.shape[:2])))
        else:
            parts += [_cut(collider, lower, upper, axis) for axis in range(3)]
    starts, ends = (np.concatenate(part) for part in zip(*parts, strict=True))
    return starts, ends


def _lattice(lower: FloatArray, upper: FloatArray, cells: int) -> FloatArray:
    """Points (a, b, 2) of a rectangle with so many cells along its longer side."""
    spacing = (upper - lower).max() / cells
    axes = [
        np.linspace(a, b, max(1, round((b - a) / spacing)) + 1) for a, b in zip(lower, upper, strict=True)
    ]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


def _cut(collider: Placed, lower: FloatArray, upper: FloatArray, axis: int) -> tuple[FloatArray, FloatArray]:
    """Segments, two arrays (m, 3), where a surface crosses planes perpendicular to an axis."""
    across = [k for k in range(3) if k != axis]
    longest = (upper - lower).max()
    rectangle = _lattice(lower[across], upper[across], CUT_LATTICE)
    levels = np.linspace(lower[axis], upper[axis], max(1, round(CUTS * (upper - lower)[axis] / longest)) + 1)
    x = np.empty((len(levels), *rectangle.shape[:2], 3))
    x[..., across] = rectangle
    x[..., axis] = levels[:, None, None]
    phi = collider.distance(x.reshape(-1, 3))[0].reshape(x.shape[:3])
    starts: list[FloatArray] = []
    ends: list[FloatArray] = []
    for level, distances in zip(levels, phi, strict=True):
        for found, flat in zip((starts, ends), zero_line(rectangle, distances), strict=True):
            found.append(np.insert(flat, axis, level, axis=1))
    return np.concatenate(starts), np.concatenate(ends)


def zero_line(x: FloatArray, phi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Segments (m, 2) each along phi = 0, for phi (a, b) at the points x (a, b, 2) of a lattice.

    Every square is cut into two triangles, of which each has no crossing or two.
    """
    corner = {
        "00": (slice(None, -1), slice(None, -1)),
        "10": (slice(1, None), slice(None, -1)),
        "01": (slice(None, -1), slice(1, None)),
        "11": (slice(1, None), slice(1, None)),
    }
    starts, ends = [], []
    for names in (("00", "10", "11"), ("00", "11", "01")):
        places = np.stack([x[corner[name]].reshape(-1, 2) for name in names], axis=1)  # (k, 3, 2)
        values = np.stack([phi[corner[name]].ravel() for name in names], axis=1)
        inside = values < 0
        cut = np.flatnonzero(inside.any(axis=1) & ~inside.all(axis=1))
        places, values, inside = places[cut], values[cut], inside[cut]
        # The corner that is alone on its side; both crossings lie on its edges.
        alone = np.argmax(inside == (inside.sum(axis=1) == 1)[:, None], axis=1)
        rows = np.arange(len(cut))
        crossings = []
        for other in ((alone + 1) % 3, (alone + 2) % 3):
            share = values[rows, alone] / (values[rows, alone] - values[rows, other])
            way = places[rows, other] - places[rows, alone]
            crossings.append(places[rows, alone] + share[:, None] * way)
        starts.append(crossings[0])
        ends.append(crossings[1])
    return np.concatenate(starts), np.concatenate(ends)
