"""A body with its own mesh."""

from __future__ import annotations

import itertools
import os
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpm.base import _check
from mpm.errors import FileFormatError
from mpm.meshes.cells import read_cells
from mpm.shapes.arguments import as_rows
from mpm.shapes.shape import Bools, Floats, Region, Shape

Cellular = NDArray[np.int32]

FLATTEST = 1e-12  # |det| of a cell over the product of the lengths of its edges
INSIDE = 1e-4  # barycentric coordinates of a point that is in a cell beyond doubt
ROUNDING = 1e-12  # of barycentric coordinates: a point on a common face belongs to one of the cells
PAIRS = 1 << 20  # of points and cells that are checked together
MOST_BINS = 1 << 10  # along an axis
MOST_LINES = 64  # of bins that one cell may meet; cells that are larger than others look at all points
TOUCHING = 1e-6  # barycentric coordinates of a vertex that lies on a cell's boundary
MOST_PLACES = 1 << 40  # along an axis, of vertices that may be joined
BELOW = 1e-2  # weight of the opposite vertex, for points just below a face
# Weights of such points (w, d + 1): of the vertices of the face, and of the opposite one.
BELOW_FACES = {
    2: np.array([(a, 1 - BELOW - a, BELOW) for a in (0.1, 0.3, 0.5, 0.7, 0.9)]),
    3: np.array(
        [(a, b, 1 - BELOW - a - b, BELOW) for a, b in ((0.33, 0.33), (0.8, 0.1), (0.1, 0.8), (0.1, 0.1))]
    ),
}


class Unjoined(NamedTuple):
    """Vertices in the place of another one, and those on an edge or face of a cell that lacks them, with the cell."""

    twins: NDArray[np.int64]
    hanging: NDArray[np.int64]
    cell: NDArray[np.int64]


class Cells(Shape):
    """The union of triangles in 2-D or tetrahedra in 3-D that share vertices: a body with its own mesh.

    `mpm.fem.Simulation` uses the mesh as it is; other solvers fill it with particles. A point on the outline may count
    as inside or outside. `Cells` cannot be a collider.

    Parameters
    ----------
    vertices : (n, d) array_like
        Positions [m].
    cells : (m, d + 1) array_like of int
        The vertices of each cell, counted from 0, with a positive volume: counter-clockwise in 2-D; in 3-D the first
        three run counter-clockwise as seen from the fourth.
    merge : float, optional
        Vertices that are at most that far apart [m] become one, at the place of the first. Default: none do.

    Raises
    ------
    ValueError
        There are no cells, a vertex does not exist or belongs to no cell, or a cell is flat, inverted or there twice;
        cells overlap, so that their volumes do not add up to that of the union; `merge` joins vertices of one cell.

    Notes
    -----
    The search for overlaps tests a few points just below each face that belongs to only one cell, where every region
    with several cells begins. The search may miss an overlap of less than a tenth of a face.

    Cells are connected only where they share vertices. `mpm.fem.Simulation` warns of vertices that lie in the place of
    another one, or on an edge or face of a cell that lacks them (hanging nodes).
    """

    _fields = ("vertices", "cells")
    vertices: Floats
    cells: Cellular

    @_check.options
    def __init__(self, vertices: ArrayLike, cells: ArrayLike, *, merge: float | None = None) -> None:
        x = as_rows(vertices, "vertices", (2, 3))
        d = x.shape[1]
        index = _as_cells(cells, len(x), d)
        if merge is not None:
            x, index = _merged(x, index, _check.number("merge", merge, low=0, unit="m"))
        self._begin(x, index)
        self._refuse_overlaps()

    def _begin(self, x: Floats, index: Cellular) -> None:
        """Take vertices and cells, none of which may be flat, inverted or there twice."""
        d = x.shape[1]
        same, first = np.unique(np.sort(index, axis=1), axis=0, return_index=True)
        if len(same) < len(index):
            k = int(np.setdiff1d(np.arange(len(index)), first)[0])
            raise ValueError(f"cells[{k}] = {index[k].tolist()}: is there twice; must be once")
        edges = x[index[:, 1:]] - x[index[:, :1]]
        with np.errstate(over="ignore", invalid="ignore"):
            edges /= np.abs(edges).max() or 1
            size = np.linalg.norm(edges, axis=2).prod(axis=1)
            det = np.linalg.det(edges)
        for k in np.flatnonzero(~(det > FLATTEST * size))[:1]:
            what = "inverted" if det[k] < -FLATTEST * size[k] else "flat"
            raise ValueError(f"cells[{k}] = {index[k].tolist()}: is {what}; its volume must be > 0")
        loose = np.flatnonzero(np.bincount(index.ravel(), minlength=len(x)) == 0)
        if len(loose):
            raise ValueError(f"vertices[{loose[0]}]: belongs to no cell ({len(loose)} such vertices)")
        self._set(vertices=x, cells=index, dimension=d)

    def _refuse_overlaps(self) -> None:
        x, cells, d = self.vertices, self.cells, self.dimension
        owner, opposite = _lone_faces(cells)
        order = (opposite[:, None] + np.arange(1, d + 2)) % (d + 1)  # the opposite vertex comes last
        corners = x[np.take_along_axis(cells[owner], order, axis=1)]
        points = np.einsum("wk,mkd->wmd", BELOW_FACES[d], corners).reshape(-1, d)
        owner = np.tile(owner, len(BELOW_FACES[d]))
        held, point = _candidates(x, cells, points)
        other = held != owner[point]
        held, point = held[other], point[other]
        for first in range(0, len(held), PAIRS):
            pair = slice(first, first + PAIRS)
            w, good = _barycentric(x[cells[held[pair]]], points[point[pair]])
            for k in np.flatnonzero(good & (w > INSIDE).all(axis=1))[:1] + first:
                raise ValueError(
                    f"cells[{owner[point[k]]}] and cells[{held[k]}] overlap at {points[point[k]].tolist()}: must not; "
                    "take one mesh of the union, or several bodies"
                )

    def _unjoined(self) -> Unjoined:
        """Where cells touch without sharing vertices."""
        x, cells = self.vertices, self.cells
        owner, opposite = _lone_faces(cells)
        others = np.arange(cells.shape[1]) != opposite[:, None]
        outer = np.unique(cells[owner][others])
        held, point = _candidates(x, cells, x[outer], TOUCHING)
        own = (cells[held] == outer[point][:, None]).any(axis=1)
        held, vertex = held[~own], outer[point[~own]]
        twins, hanging = np.zeros(len(x), dtype=bool), np.full(len(x), -1, dtype=np.int64)
        for first in range(0, len(held), PAIRS):
            pair = slice(first, first + PAIRS)
            w, good = _barycentric(x[cells[held[pair]]], x[vertex[pair]])
            touches = good & (np.abs(w.min(axis=1)) < TOUCHING)
            same = touches & (w.max(axis=1) > 1 - TOUCHING)
            twins[vertex[pair][same]] = True
            hanging[vertex[pair][touches & ~same]] = held[pair][touches & ~same]
        return Unjoined(np.flatnonzero(twins), np.flatnonzero(hanging >= 0), hanging[hanging >= 0])

    @classmethod
    @_check.options
    def from_file(cls, path: str | os.PathLike[str], *, merge: float | None = None) -> Self:
        """Read the cells of a mesh from a file of Gmsh (``.msh``), VTK (``.vtk``, ``.vtu``), or another format of
        meshio; needs the extra ``mesh``.

        If the file has tetrahedra, these are the cells, and triangles and lines of boundaries are ignored. Otherwise
        the cells are its triangles in a plane z = const. All cells must be of this kind and of first order. Clockwise
        cells are reversed, and vertices without a cell are ignored.

        Parameters
        ----------
        path : str or path
            The unit of lengths must be the metre; ``scale`` converts others.
        merge : float, optional
            As above [m].

        Raises
        ------
        FileNotFoundError
            There is no such file.
        FileFormatError
            It cannot be read, has no such cells, or has cells of several kinds.
        ValueError
            A cell is flat.
        ImportError
            meshio is not installed.
        """
        try:
            return cls(*read_cells(path), merge=merge)
        except FileFormatError:
            raise
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def _contains(self, x: Floats) -> Bools:
        return np.asarray(find_cells(self.vertices, self.cells, x)[0] >= 0)

    def _support(self, directions: Floats) -> Floats:
        return np.asarray((directions @ self.vertices.T).max(axis=1))

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        cells = self.cells
        if np.linalg.det(matrix) < 0:
            cells = cells[:, [1, 0, *range(2, cells.shape[1])]]
        moved = object.__new__(Cells)
        moved._begin(
            as_rows(self.vertices @ matrix.T + shift, "vertices", (2, 3)),
            _as_cells(cells, len(self.vertices), self.dimension),
        )
        return moved

    def _distance(self, finest: float, coarsest: float, region: Region) -> tuple[str, Floats]:
        raise ValueError(
            "Cells cannot be a collider, nor be part of one: take a Polygon, or a Mesh of the surface"
        )

    def _outline(self) -> NDArray[np.int64]:
        """The faces (k, d) that one cell alone has."""
        every = np.concatenate([np.delete(self.cells, k, axis=1) for k in range(self.dimension + 1)])
        _, first, counts = np.unique(np.sort(every, axis=1), axis=0, return_index=True, return_counts=True)
        return np.asarray(every[first[counts == 1]], dtype=np.int64)

    def _volume(self) -> float:
        x = self.vertices
        d = x.shape[1]
        return float(np.linalg.det(x[self.cells[:, 1:]] - x[self.cells[:, :1]]).sum() / (2 if d == 2 else 6))


def _merged(x: Floats, cells: Cellular, distance: float) -> tuple[Floats, Cellular]:
    """Vertices and cells, in which vertices at most `distance` apart have become one."""
    label = np.arange(len(x))
    side = max(2 * distance, float(np.ptp(x, axis=0).max()) / MOST_PLACES, float(np.finfo(float).tiny))
    # In one of these lattices of twice the distance, two such vertices are in one cell.
    for shift in itertools.product((0.0, 0.5), repeat=x.shape[1]):
        places = np.floor((x - x.min(axis=0)) / side + shift).astype(np.int64)
        _, group, count = np.unique(places, axis=0, return_inverse=True, return_counts=True)
        order = np.argsort(group, kind="stable")
        for ahead in range(1, int(count.max())):
            a, b = order[:-ahead], order[ahead:]
            near = (group[a] == group[b]) & (np.linalg.norm(x[a] - x[b], axis=1) <= distance)
            label = _least(label, a[near], b[near])
    for k in np.flatnonzero((np.diff(np.sort(label[cells], axis=1), axis=1) == 0).any(axis=1))[:1]:
        raise ValueError(
            f"merge = {distance:g}: joins vertices of cells[{k}] = {cells[k].tolist()}; must be less than the edges"
        )
    kept, index = np.unique(label, return_inverse=True)
    return x[kept], _as_cells(index.reshape(-1)[cells], len(kept), x.shape[1])


def _least(label: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Labels of which those of a and b are equal, the least of all that are joined by such pairs."""
    while (label[a] != label[b]).any():
        least = np.minimum(label[a], label[b])
        for end in (label[a], label[b]):
            np.minimum.at(label, end, least)
        label = label[label]
    return label


def _lone_faces(cells: Cellular) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The faces that one cell alone has, by that cell and the place of the opposite vertex in it."""
    m, corners = cells.shape
    faces = np.sort(np.concatenate([np.delete(cells, k, axis=1) for k in range(corners)]), axis=1)
    _, first, counts = np.unique(faces, axis=0, return_index=True, return_counts=True)
    # Where three cells or more have a face, two of them lie on one side of it: the first stands for all.
    lone = first[counts != 2]
    return lone % m, lone // m


def find_cells(vertices: Floats, cells: Cellular, x: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The first cell that holds each point (m,), -1 where none does, and the point's barycentric coordinates in it
    (m, d + 1). Inverted cells count like others."""
    found = np.full(len(x), -1, dtype=np.int64)
    weights = np.zeros((len(x), vertices.shape[1] + 1))
    owner, point = _candidates(vertices, cells, x)
    for first in range(0, len(owner), PAIRS):
        pair = slice(first, first + PAIRS)
        w, good = _barycentric(vertices[cells[owner[pair]]], x[point[pair]])
        inside = np.flatnonzero(good & (w >= -ROUNDING).all(axis=1))[
            ::-1
        ]  # of several cells the first remains
        there = point[pair][inside]
        free = found[there] < 0
        found[there[free]], weights[there[free]] = owner[pair][inside[free]], w[inside[free]]
    return found, weights


def _barycentric(corners: Floats, x: Floats) -> tuple[Floats, Bools]:
    """Coordinates (k, d + 1) of points (k, d) in cells with these corners (k, d + 1, d), and where there are any."""
    edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
    size = np.linalg.norm(edges, axis=1).prod(axis=1)
    good = np.abs(np.linalg.det(edges)) > FLATTEST * size
    edges[~good] = np.eye(edges.shape[1])
    rest = np.linalg.solve(edges, (x - corners[:, 0])[..., None])[..., 0]
    return np.concatenate([1 - rest.sum(axis=1, keepdims=True), rest], axis=1), good


def _candidates(
    vertices: Floats, cells: Cellular, x: Floats, slack: float = 0.0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cells in ascending order, and the points in their boxes; these are larger by a share of their longest side."""
    corners = vertices[cells]
    low, high = corners.min(axis=1), corners.max(axis=1)
    room = slack * (high - low).max(axis=1, keepdims=True)
    low, high = low - room, high + room
    least, largest = low.min(axis=0), high.max(axis=0)
    near = np.flatnonzero(((x >= least) & (x <= largest)).all(axis=1))
    if not len(near):
        return np.empty(0, dtype=np.int64), near
    # Points are sorted into bins as large as most cells.
    side = max(float(np.quantile((high - low).max(axis=1), 0.9)), float((largest - least).max()) / MOST_BINS)
    count = np.floor((largest - least) / side).astype(np.int64) + 1
    key = np.ravel_multi_index(tuple(_bins(x[near], least, side, count).T), tuple(count))
    order = np.argsort(key, kind="stable")
    key, near = key[order], near[order]
    begin, end = _bins(low, least, side, count), _bins(high, least, side, count)
    owners, points = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]

    def pair(owner: NDArray[np.int64], first: NDArray[np.int64], last: NDArray[np.int64]) -> None:
        """Pairs of cells and points, those with the keys from first to last, that are in the cell's box."""
        start, stop = np.searchsorted(key, first), np.searchsorted(key, last, side="right")
        owner, start, length = np.repeat(owner, stop - start), np.repeat(start, stop - start), stop - start
        point = near[start + np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)]
        there = ((x[point] >= low[owner]) & (x[point] <= high[owner])).all(axis=1)
        owners.append(owner[there])
        points.append(point[there])

    # Bins along the last axis follow each other; the lines of bins that a cell meets are visited one after the other.
    lines = (end - begin + 1)[:, :-1]
    total = lines.prod(axis=1)
    for large in np.flatnonzero(total > MOST_LINES):
        pair(np.array([large]), key[:1], key[-1:])
    total[total > MOST_LINES] = 0
    for line in range(int(total.max(initial=0))):
        owner = np.flatnonzero(total > line)
        first, last = begin[owner], end[owner].copy()
        first[:, :-1] += np.stack(_unravel(line, lines[owner]), axis=1)
        last[:, :-1] = first[:, :-1]
        pair(owner, *(np.ravel_multi_index(tuple(bins.T), tuple(count)) for bins in (first, last)))
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return owner[order], np.concatenate(points)[order]


def _bins(x: Floats, least: Floats, side: float, count: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(np.clip(np.floor((x - least) / side), 0, count - 1), dtype=np.int64)


def _unravel(line: int, lines: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The coordinates of a line of bins in blocks of so many lines (m, d − 1)."""
    found, rest = [], np.full(len(lines), line, dtype=np.int64)
    for axis in range(lines.shape[1]):
        found.append(rest % lines[:, axis])
        rest //= lines[:, axis]
    return found


def _as_cells(cells: Any, n: int, d: int) -> Cellular:
    _check.refuse_masked("cells", cells)
    try:
        given = np.asarray(cells)
    except ValueError:  # ragged nesting
        raise ValueError(f"cells = {_check.shown(cells)}: must be of shape (m, {d + 1})") from None
    if given.ndim != 2 or given.shape[1] != d + 1 or not len(given):
        second = ((6,), (10,))[d - 2]
        order = (
            f"; of cells of second order, their corners are cells[:, :{d + 1}]"
            if given.shape[1:] == second
            else ""
        )
        raise ValueError(f"cells has shape {given.shape}: must be (m, {d + 1}), m >= 1{order}")
    if given.dtype.kind not in "iu":
        raise TypeError(f"cells: must be integers, not {given.dtype}")
    wrong = np.argwhere((given < 0) | (given >= n))
    if len(wrong):
        row = int(wrong[0, 0])
        raise ValueError(f"cells[{row}] = {given[row].tolist()}: must be vertices from 0 to {n - 1}")
    result = np.ascontiguousarray(given, dtype=np.int32)
    result.flags.writeable = False
    return result
