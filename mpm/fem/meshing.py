"""Meshes of shapes: cells of a lattice, split into triangles or tetrahedra."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check, memory
from mpm.base._check import FloatArray
from mpm.shapes import Points, Shape
from mpm.shapes.cells import Cells
from mpm.shapes.distances import describe

Indices = npt.NDArray[np.int64]
CHUNK = 1 << 18  # cells that are checked together
PART = 1 << 16  # cells whose values are found together
ELEMENTS_PER_CELL = {2: 2, 3: 5}
# A square: its triangles along a diagonal, and along the other one. A cube: a tetrahedron between four corners that
# share no edge, and one at each of the other corners; then the mirror image of these.
SQUARE = np.array([[[0, 0], [1, 0], [1, 1]], [[0, 0], [1, 1], [0, 1]]])
SQUARE_MIRRORED = np.array([[[0, 0], [1, 0], [0, 1]], [[1, 0], [1, 1], [0, 1]]])
CUBE = np.array(
    [
        [[0, 0, 0], [1, 1, 0], [0, 1, 1], [1, 0, 1]],
        [[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 0, 1]],
        [[0, 1, 0], [0, 0, 0], [1, 1, 0], [0, 1, 1]],
        [[0, 0, 1], [1, 0, 1], [0, 0, 0], [0, 1, 1]],
        [[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]],
    ]
)
CUBE_MIRRORED = np.where([True, False, False], 1 - CUBE, CUBE)[:, [0, 2, 1, 3]]
SPLITS = {2: (SQUARE, SQUARE_MIRRORED), 3: (CUBE, CUBE_MIRRORED)}
LEAST_SHARE = 0.5  # of its least altitude, which a cell keeps when the outline moves onto the surface


class Mesh(NamedTuple):
    """A mesh of triangles or tetrahedra.

    Attributes
    ----------
    vertices : ndarray, shape (n, d)
        Positions [m].
    cells : ndarray of int32, shape (m, d + 1)
        The vertices of each cell, with a positive volume.
    """

    vertices: FloatArray
    cells: npt.NDArray[np.int32]


def mesh(shape: Shape, spacing: float | None = None) -> Mesh:
    """Mesh a shape as `mpm.fem.Simulation` does.

    `mpm.shapes.Cells` keep their mesh. Any other shape is filled with the cells of a lattice that fits its `bounds`:
    along every axis a whole number of cells of about `spacing`. A cell belongs to the body if its centre is in the
    shape. Squares are split into two triangles, cubes into five tetrahedra: one at each of four corners, and one
    between them. The split alternates from cell to cell, so that the diagonals of faces meet. Where an axis has an even
    number of cells, the mesh is its own mirror image, and a symmetric body stays symmetric; with an odd number the
    asymmetry is that of one layer. Then the vertices of the outline move onto the surface, except where a cell would
    lose half of its least altitude.

    Parameters
    ----------
    shape : Shape
        One with an end along every axis.
    spacing : float, optional
        Size of the cells [m]; `mpm.shapes.Cells` have their own.

    Raises
    ------
    TypeError, ValueError
        `spacing` is missing, or given for `mpm.shapes.Cells`; no cell has its centre in the shape; `Points` have no
        inside.
    MemoryError
        There would be more cells than the machine can hold.
    """
    return mesh_beside(shape, spacing, "float32", 0)


def mesh_beside(shape: Shape, spacing: float | None, dtype: str, present: int) -> Mesh:
    """As `mesh`, for a simulation of that precision with so many elements of other bodies."""
    if not isinstance(shape, Shape):
        raise _check.wrong_type("shape", shape, "one of mpm.shapes")
    if isinstance(shape, Cells):
        if spacing is not None:
            raise ValueError(f"spacing = {_check.shown(spacing)}: Cells keep their own mesh; leave it out")
        return Mesh(shape.vertices.copy(), shape.cells.copy())
    if isinstance(shape, Points):
        raise TypeError("shape: Points have no inside that elements could fill; use another shape or Cells")
    if spacing is None:
        raise ValueError(
            f"spacing = None: must be a number > 0 [m], the size of the cells that fill {shape!r}"
        )
    size = _check.number("spacing", spacing, low=0, low_open=True, unit="m")
    low, high = shape.bounds
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError(
            f"shape = {shape!r}: must have an end along every axis; cut it with a Box: shape & box"
        )
    room = memory.rows_in_memory("fem", shape.dimension, dtype) - present
    return _fill(shape, low, high, size, room / ELEMENTS_PER_CELL[shape.dimension])


def _fill(shape: Shape, low: FloatArray, high: FloatArray, size: float, room: float) -> Mesh:
    """Cells of about `size` in the box from `low` to `high` whose centres are in the shape, at most `room`."""
    d = shape.dimension
    counts = np.maximum(1, np.rint((high - low) / size))
    if counts.prod() > 8 * max(room, 1):
        raise MemoryError(
            f"spacing = {size:g} m: {counts.prod():.3g} cells; this machine holds at most {room:.3g}"
        )
    extent = counts.astype(np.int64)
    step, total = (high - low) / counts, int(extent.prod())
    kept = [np.empty((0, d), dtype=np.int64)]
    for first in range(0, total, CHUNK):
        index = np.arange(first, min(first + CHUNK, total))
        cell = np.stack(np.unravel_index(index, extent), axis=1)
        kept.append(cell[shape.contains(low + (cell + 0.5) * step)])
        if (found := sum(map(len, kept))) > room:
            raise MemoryError(
                f"spacing = {size:g} m: more than {found:.3g} cells; this machine holds at most {room:.3g}"
            )
    cells = np.concatenate(kept)
    if not len(cells):
        raise ValueError(
            f"spacing = {size:g} m: no cell has its centre in {shape!r}; choose a smaller spacing"
        )
    cells = cells[np.argsort(morton(cells), kind="stable")]
    used, inverse = np.unique(_split(cells, extent + 1), return_inverse=True)
    place = np.stack(np.unravel_index(used, extent + 1), axis=1)
    order = np.argsort(morton(place), kind="stable")
    number = np.empty(len(order), dtype=np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    # The last nodes lie on the upper faces exactly.
    x = np.where(place == extent, high, low + place * step)[order]
    made = Mesh(x, np.ascontiguousarray(number[inverse].reshape(-1, d + 1)))
    return Mesh(_snapped(shape, made, float(step.max())), made.cells)


def _snapped(shape: Shape, made: Mesh, size: float) -> FloatArray:
    """The vertices; those of the outline on the surface of the shape, where their cells stay regular."""
    x, cells = made
    outline = np.flatnonzero(_is_outline(made))
    program = describe(shape, size / 4, (x.min(axis=0) - size, x.max(axis=0) + size))
    target = x[outline].copy()
    for _ in range(3):  # a shape may give a bound of the distance
        phi, normal = _core.shape_distance(shape.dimension, program.nodes, program.numbers, target)
        target -= np.frombuffer(phi)[:, None] * np.frombuffer(normal).reshape(target.shape)
    way = target - x[outline]
    moves = (np.linalg.norm(way, axis=1) < 0.75 * size) & (np.abs(way).max(axis=1) > 1e-12 * size)
    whole = _altitude(x, cells)
    while True:
        moved = x.copy()
        moved[outline[moves]] = target[moves]
        poor = cells[_altitude(moved, cells) < LEAST_SHARE * whole]
        back = moves & np.isin(outline, poor)
        if not back.any():
            return moved
        moves &= ~back


def _altitude(x: FloatArray, cells: npt.NDArray[np.int32]) -> FloatArray:
    """The least altitude of each cell (m,) [m]: 1/|∇N|; 0 where it is inverted or flat."""
    parts = [_altitude_of(x, cells[first : first + CHUNK]) for first in range(0, len(cells), CHUNK)]
    return np.concatenate(parts)


def _altitude_of(x: FloatArray, cells: npt.NDArray[np.int32]) -> FloatArray:
    edges = x[cells[:, 1:]] - x[cells[:, :1]]
    det = np.linalg.det(edges)
    good = det > 1e-9 * np.linalg.norm(edges, axis=2).prod(axis=1)
    edges[~good] = np.eye(x.shape[1])
    slopes = np.swapaxes(np.linalg.inv(edges), 1, 2)
    slopes = np.concatenate([slopes, -slopes.sum(axis=1, keepdims=True)], axis=1)
    return np.where(good, 1 / np.linalg.norm(slopes, axis=2).max(axis=1), 0.0)


def _is_outline(made: Mesh) -> npt.NDArray[np.bool_]:
    """Whether each vertex is on a face of one cell alone."""
    cells = made.cells
    faces = np.sort(np.concatenate([np.delete(cells, k, axis=1) for k in range(cells.shape[1])]), axis=1)
    faces, counts = np.unique(faces, axis=0, return_counts=True)
    there = np.zeros(len(made.vertices), dtype=bool)
    there[faces[counts == 1]] = True
    return there


def _split(cells: Indices, points: Indices) -> Indices:
    """The simplices (m, d + 1) of lattice cells (k, d), as numbers of lattice points, those of a cell after each other.
    There are `points` (d,) of them along the axes, the last axis fastest."""
    d = cells.shape[1]
    stride = np.append(np.cumprod(points[:0:-1])[::-1], 1)
    corners = np.array(SPLITS[d]) @ stride  # (2, elements of a cell, d + 1)
    return np.asarray(((cells @ stride)[:, None, None] + corners[cells.sum(axis=1) % 2]).reshape(-1, d + 1))


def morton(index: Indices) -> npt.NDArray[np.uint64]:
    """The place of lattice points (k, d) >= 0, below 2^20, along a Morton curve: neighbours get similar numbers."""
    key = np.zeros(len(index), dtype=np.uint64)
    d = index.shape[1]
    for bit in range(20):
        for axis in range(d):
            on = (index[:, axis].astype(np.uint64) >> np.uint64(bit)) & np.uint64(1)
            key |= on << np.uint64(d * bit + axis)
    return key


def order_of(x: FloatArray, cells: npt.NDArray[np.int32]) -> Indices:
    """An order of the cells in which neighbours follow each other: along a Morton curve through their centres."""
    centre = in_parts(lambda some: x[some].mean(axis=1), cells, x.shape[1:])
    low, high = centre.min(axis=0), centre.max(axis=0)
    size = max(float((high - low).max()), 1e-300)
    lattice = np.minimum((centre - low) / size * 2**20, 2**20 - 1).astype(np.int64)
    return np.asarray(np.argsort(morton(lattice), kind="stable"))


def volumes(x: FloatArray, cells: npt.NDArray[np.int32]) -> FloatArray:
    """The volume of every cell [m³]; in 2-D its area."""
    d = x.shape[1]
    return in_parts(lambda some: np.linalg.det(x[some[:, 1:]] - x[some[:, :1]]) / (2 if d == 2 else 6), cells)


def in_parts(
    of: Callable[[npt.NDArray[np.int32]], FloatArray],
    cells: npt.NDArray[np.int32],
    shape: tuple[int, ...] = (),
) -> FloatArray:
    """Values (m, *shape) of all cells, of which `of` gives those of some: the memory on the way stays small."""
    values = np.empty((len(cells), *shape))
    for first in range(0, len(cells), PART):
        values[first : first + PART] = of(cells[first : first + PART])
    return values


def spread(values: FloatArray, cells: npt.NDArray[np.int32], n: int) -> FloatArray:
    """The sums (n,) of equal shares of the cells' values at their nodes."""
    share = np.repeat(values / cells.shape[1], cells.shape[1])
    return np.asarray(np.bincount(cells.ravel(), weights=share, minlength=n), dtype=np.float64)
