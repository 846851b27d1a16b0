"""How full the grid is, and the density of fluids that follows: what the correction of densities sees (fill.c)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.mpm.interpolation import REACH, kernel, with_images
from mpm.scene.scene import Scene

FULL = 0.8  # a node less full than this is at a free surface
LEAST_SHARE = 0.01  # of the B-spline of a node that counts
DEGREES = {"linear": 1, "quadratic": 2, "cubic": 3}

Surface = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def share_beyond(distance: FloatArray, kind: str) -> FloatArray:
    """The share of a B-spline on the outer side of a plane at signed distances [cells], positive inside."""
    t = np.abs(distance)
    left = np.maximum(REACH[kind] - t, 0)
    if kind == "linear":
        tail = left**2 / 2
    elif kind == "quadratic":
        tail = np.where(t > 0.5, left**3 / 6, 0.5 - t * (0.75 - t**2 / 3))
    else:
        tail = np.where(t > 1, left**4 / 24, 0.5 - t * (2 / 3 - t**2 * (1 / 3 - t / 8)))
    return np.where(distance < 0, tail, 1 - tail)


def at_particles(
    scene: Scene,
    x: FloatArray,
    volume: FloatArray,
    *,
    dx: float,
    kind: str,
    surfaces: Sequence[Surface] = (),
) -> FloatArray:
    """Σ w g (n,) at particles at x (n, d): g is how full a node is with the volumes (n,), or 1 at a free surface.

    Walls reflect the particles. Nodes near colliders share volume and room with their reflections. `surfaces` give the
    signed distances (m,) of points (m, d) from each collider and the normals (m, d).
    """
    d, lower = scene.dimension, scene.lower
    there, amount = _reflected(scene, 2 * REACH[kind] * dx, x, volume)
    first = np.floor((there.min(axis=0) - lower) / dx).astype(np.int64) - 2
    last = np.floor((there.max(axis=0) - lower) / dx).astype(np.int64) + 3
    shape = tuple((last - first + 1).tolist())
    fill = np.zeros(int(np.prod(shape)))
    for node, w in _stencil((there - lower) / dx - first, shape, kind):
        fill += np.bincount(node, weights=w * amount, minlength=len(fill))
    filled = np.flatnonzero(fill > 0)
    places = np.stack(np.unravel_index(filled, shape), axis=1) + first
    share, other = _share_outside(places, lower, dx, kind, surfaces)
    amounts = fill[filled]
    rows = np.flatnonzero((other != places).any(axis=1))
    share[rows] += _share_outside(other[rows], lower, dx, kind, surfaces)[0]
    there = other[rows] - first
    known = ((there >= 0) & (there < shape)).all(axis=1)
    amounts[rows[known]] += fill[np.ravel_multi_index(tuple(there[known].T), shape)]
    with np.errstate(divide="ignore", invalid="ignore"):
        full = np.where(share >= LEAST_SHARE, amounts / (dx**d * share), 1)
    fill[filled] = np.where(full >= FULL, full, 1)
    found = np.zeros(len(x))
    for node, w in _stencil((x - lower) / dx - first, shape, kind):
        found += w * fill[node]
    return found


def _share_outside(
    places: npt.NDArray[np.int64], lower: FloatArray, dx: float, kind: str, surfaces: Sequence[Surface]
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """The shares of the B-splines of nodes outside of colliders; the nodes nearest to the reflections of nodes within
    reach of a surface, else the nodes."""
    share, other, nearest = np.ones(len(places)), places.copy(), np.full(len(places), REACH[kind])
    for surface in surfaces:
        distance, normal = surface(lower + dx * places)
        distance = distance / dx
        share *= share_beyond(distance, kind)
        rows = np.abs(distance) < nearest
        nearest[rows] = np.abs(distance[rows])
        shift = np.floor(2 * distance[rows, None] * normal[rows] + 0.5).astype(np.int64)
        other[rows] = places[rows] - shift
    return share, other


def _reflected(
    scene: Scene, reach: float, x: FloatArray, volume: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """With the images beyond mirrors and periodic faces, and with those beyond other walls."""
    none = np.zeros((len(x), 1))
    x, volume, _ = with_images(scene, reach, x, volume, none, rank="scalar", moves=False)
    for axis, letter in enumerate("xyz"[: scene.dimension]):
        parts = [(x, volume)]
        for sign, end in (("-", scene.lower[axis]), ("+", scene.upper[axis])):
            if scene.walls[letter + sign].contact in ("mirror", "periodic"):
                continue
            rows = np.abs(x[:, axis] - end) <= reach
            image = x[rows].copy()
            image[:, axis] = 2 * end - image[:, axis]
            parts.append((image, volume[rows]))
        x, volume = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return x, volume


def _stencil(
    x: FloatArray, shape: tuple[int, ...], kind: str
) -> list[tuple[npt.NDArray[np.int64], FloatArray]]:
    """The nodes of particles at x [cells] (n, d), each with its weights: (d+1)^degree pairs of (n,) and (n,)."""
    d, degree = x.shape[1], DEGREES[kind]
    base = np.floor(x - 0.5 * (degree - 1)).astype(np.int64)
    weights = [kernel(x - (base + k), kind) for k in range(degree + 1)]
    strides = np.cumprod((1, *shape[:0:-1]))[::-1]
    pairs = []
    for offset in itertools.product(range(degree + 1), repeat=d):
        w = np.ones(len(x))
        for axis, k in enumerate(offset):
            w *= weights[k][:, axis]
        pairs.append(((base + np.array(offset)) @ strides, w))
    return pairs
