"""The zero set of a signed distance: lines and areas in 2-D, surfaces of triangles in 3-D."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray

COARSE = 16  # cells along the longest side in 3-D, in the first search for a surface
FINER = 4  # times finer are the cells that are cut
STEEP = 1.2  # half diagonals of a cell within which its surface must be: distances on lattices may be steeper than one

Distance: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def lattice(lower: FloatArray, upper: FloatArray, cells: int) -> FloatArray:
    """Points (a, b, 2) of a rectangle with so many cells along its longer side."""
    spacing = (upper - lower).max() / cells
    axes = [
        np.linspace(a, b, max(1, round((b - a) / spacing)) + 1) for a, b in zip(lower, upper, strict=True)
    ]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)


# ---- 2-D: every square of the lattice is cut into two triangles, of which each has no crossing or two ----


def zero_line(x: FloatArray, phi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Segments (m, 2) each along phi = 0, for phi (a, b) at the points x (a, b, 2) of a lattice."""
    cut = _cut_triangles(x, phi)
    return cut.crossings[:, 0], cut.crossings[:, 1]


def filled(x: FloatArray, phi: FloatArray) -> FloatArray:
    """Corners (3 k, 2) of triangles that fill phi < 0, for phi (a, b) at the points x (a, b, 2) of a lattice."""
    inside = phi < 0
    count = inside[:-1, :-1].astype(int) + inside[1:, :-1] + inside[:-1, 1:] + inside[1:, 1:]
    # Runs of whole squares become one rectangle each.
    ends = np.diff(np.pad(count == 4, ((0, 0), (1, 1))).astype(int), axis=1)
    column, first = np.nonzero(ends == 1)
    _, last = np.nonzero(ends == -1)
    a, b, c, d = x[column, first], x[column + 1, first], x[column + 1, last], x[column, last]
    parts = [np.stack(corners, axis=1) for corners in ((a, b, c), (a, c, d))]
    cut = _cut_triangles(x, phi)
    parts.append(cut.whole[np.isin(cut.square, np.flatnonzero(count.ravel() == 4), invert=True)])
    one = cut.alone_inside
    (p, q), (e, f) = (np.moveaxis(pair, 1, 0) for pair in (cut.others, cut.crossings))
    parts.append(np.stack([cut.alone, e, f], axis=1)[one])
    parts += [np.stack(corners, axis=1)[~one] for corners in ((p, q, f), (p, f, e))]
    return np.concatenate(parts).reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class Cut:
    """The triangles of a lattice where phi < 0: `whole` ones, and those that phi = 0 crosses."""

    whole: FloatArray  # (n, 3, 2)
    square: npt.NDArray[np.int64]  # (n,) to which they belong
    alone: FloatArray  # (m, 2): the corner that is alone on its side
    alone_inside: npt.NDArray[np.bool_]  # (m,)
    others: FloatArray  # (m, 2, 2): the other corners
    crossings: FloatArray  # (m, 2, 2): on the edges to them


def _cut_triangles(x: FloatArray, phi: FloatArray) -> Cut:
    corner = {
        "00": (slice(None, -1), slice(None, -1)),
        "10": (slice(1, None), slice(None, -1)),
        "01": (slice(None, -1), slice(1, None)),
        "11": (slice(1, None), slice(1, None)),
    }
    halves = (("00", "10", "11"), ("00", "11", "01"))
    places = np.concatenate(
        [np.stack([x[corner[n]].reshape(-1, 2) for n in names], axis=1) for names in halves]
    )
    values = np.concatenate([np.stack([phi[corner[n]].ravel() for n in names], axis=1) for names in halves])
    inside = values < 0
    whole = np.flatnonzero(inside.all(axis=1))
    cut = np.flatnonzero(inside.any(axis=1) & ~inside.all(axis=1))
    corners, phi_of, inside = places[cut], values[cut], inside[cut]
    first = np.argmax(inside == (inside.sum(axis=1) == 1)[:, None], axis=1)
    rows = np.arange(len(cut))
    alone, others, crossings = corners[rows, first], [], []
    for other in ((first + 1) % 3, (first + 2) % 3):
        share = phi_of[rows, first] / (phi_of[rows, first] - phi_of[rows, other])
        others.append(corners[rows, other])
        crossings.append(alone + share[:, None] * (others[-1] - alone))
    squares = (len(x) - 1) * (x.shape[1] - 1)
    return Cut(
        places[whole],
        whole % squares,
        alone,
        inside[rows, first],
        np.stack(others, axis=1),
        np.stack(crossings, axis=1),
    )


# ---- 3-D: dual contouring (Ju et al. 2002), which keeps edges and corners sharp, on the cells near a surface ----


def surface(
    distance: Distance, lower: FloatArray, upper: FloatArray, *, coarse: int = COARSE
) -> tuple[FloatArray, FloatArray]:
    """Corners (3 k, 3) of the triangles where a distance is zero in a box, and normals (3 k, 3) there; `coarse` cells
    along the longest side are searched.

    They end less than a fine cell beyond the box.
    """
    cells = np.maximum(1, np.rint(coarse * (upper - lower) / (upper - lower).max())).astype(int)
    spacing = (upper - lower) / (cells * FINER)
    origin, sides = lower - spacing * FINER, (cells + 2) * FINER + 1  # a coarse cell more all around
    first = np.indices(cells + 2).reshape(3, -1).T
    reach = STEEP * float(np.linalg.norm(spacing)) * FINER / 2
    first = first[np.abs(distance(origin + (first + 0.5) * spacing * FINER)[0]) <= reach]
    cell = (FINER * first[:, None] + np.indices((FINER,) * 3).reshape(3, -1).T).reshape(-1, 3)
    cell = cell[((cell >= FINER - 1) & (cell <= FINER * (cells + 1))).all(axis=1)]  # one fine cell all around
    number = np.sort(np.ravel_multi_index(cell.T, sides))  # that of its first node
    steps = np.array([sides[1] * sides[2], sides[2], 1])  # between neighbours along the axes
    is_node = np.zeros(sides.prod(), dtype=bool)
    is_node[number[:, None] + np.indices((2,) * 3).reshape(3, -1).T @ steps] = True
    nodes = np.flatnonzero(is_node)
    x = origin + spacing * np.stack(np.unravel_index(nodes, sides), axis=1)
    phi = distance(x)[0]

    places, quads = [], []
    for axis in range(3):
        ends = np.searchsorted(nodes, nodes + steps[axis]).clip(max=len(nodes) - 1)
        cut = np.flatnonzero((nodes[ends] == nodes + steps[axis]) & ((phi < 0) != (phi[ends] < 0)))
        b, (p, q) = ends[cut], np.delete(steps, axis)
        around = nodes[cut][:, None] - np.array([0, p, p + q, q])  # the cells around each edge, in turn
        index = np.searchsorted(number, around).clip(max=max(0, len(number) - 1))
        there = (number[index] == around).all(axis=1) if len(number) else np.zeros(0, bool)
        share = (phi[cut] / (phi[cut] - phi[b]))[there, None]
        places.append(x[cut][there] + share * (x[b] - x[cut])[there])
        quads.append(index[there])
    crossing, quad = np.concatenate(places), np.concatenate(quads)
    middle = origin + spacing * (np.stack(np.unravel_index(number, sides), axis=1) + 0.5)
    vertex = _fitted(crossing, distance(crossing)[1], quad, middle, spacing)
    corner = vertex[quad][:, [0, 1, 2, 0, 2, 3]]
    # Beside an edge of the collider, normals are those of the side on which the triangle lies.
    normals = distance((corner + 0.25 * (crossing[:, None] - corner)).reshape(-1, 3))[1]
    return corner.reshape(-1, 3), normals


def outwards(corners: FloatArray, normals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The same triangles (3 k, 3), counter-clockwise from where their normals (3 k, 3) point."""
    a, b, c = (corners[k::3] for k in range(3))
    turned = (np.cross(b - a, c - a) * normals.reshape(-1, 3, 3).mean(axis=1)).sum(axis=1) < 0
    order = np.arange(len(corners)).reshape(-1, 3)
    order[turned] = order[turned][:, [0, 2, 1]]
    return corners[order.ravel()], normals[order.ravel()]


def _fitted(
    crossing: FloatArray,
    normal: FloatArray,
    quad: npt.NDArray[np.int64],
    middle: FloatArray,
    spacing: FloatArray,
) -> FloatArray:
    """A point of each cell (m, 3), nearest to the planes of the crossings (k, 3) on its edges, `quad` (k, 4)."""
    cell, row = quad.ravel(), np.repeat(np.arange(len(quad)), 4)
    count = np.maximum(1, np.bincount(cell, minlength=len(middle)))[:, None]
    sums = np.zeros_like(middle)
    np.add.at(sums, cell, crossing[row])
    mean = sums / count
    normal = normal[row]
    off = ((crossing[row] - mean[cell]) * normal).sum(axis=1)
    matrix, right = np.zeros((len(middle), 3, 3)), np.zeros_like(middle)
    np.add.at(matrix, cell, normal[:, :, None] * normal[:, None])
    np.add.at(right, cell, off[:, None] * normal)
    matrix += 0.01 * count[:, :, None] * np.eye(3)  # along the surface: the mean
    fitted = mean + np.linalg.solve(matrix, right[..., None])[..., 0]
    return np.asarray(np.clip(fitted, middle - spacing / 2, middle + spacing / 2))
