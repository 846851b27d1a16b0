"""Reading meshes of triangles or tetrahedra, such as those of Gmsh, through `meshio`."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpm.base import _check, paths
from mpm.errors import FileFormatError

# Kinds of cells of lower dimension, which files have besides: boundaries, and what physical groups name.
POINTS_AND_LINES = ("vertex", "line")
SURFACES = (*POINTS_AND_LINES, "triangle", "quad", "polygon")
FLAT = 1e-9  # of its extent: the thickness of a mesh in a plane


def read_cells(path: str | os.PathLike[str]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Read vertices (n, d) and cells (m, d + 1): tetrahedra if there are any, else triangles in a plane z = const.

    Cells are turned so that their volume is positive. Vertices of no cell are left out.

    Raises
    ------
    TypeError
        `path` is no path.
    FileNotFoundError
        There is no such file.
    FileFormatError
        It cannot be read, has no such cells, or cells of several kinds.
    ImportError
        meshio is not installed.
    """
    file = paths.as_path("path", path)
    if not file.is_file():
        raise FileNotFoundError(f"path = {str(file)!r}: there is no such file")
    found = _read(file)
    points = np.asarray(found.points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] not in (2, 3) or not np.isfinite(points).all():
        raise FileFormatError(f"{file}: its points are no finite positions in 2-D or 3-D")
    blocks: dict[str, list[NDArray[np.int64]]] = {}
    for block in found.cells:
        blocks.setdefault(block.type, []).append(block.data)
    solid = "tetra" in blocks
    kind, corners = ("tetra", 4) if solid else ("triangle", 3)
    _refuse_others(file, blocks, kind, SURFACES if solid else POINTS_AND_LINES)
    if any(np.ndim(block) != 2 or np.shape(block)[1] != corners for block in blocks[kind]):
        raise FileFormatError(f"{file}: has cells without {corners} vertices each")
    if not solid:
        points = _in_plane(file, points, np.concatenate(blocks[kind]))
    cells = np.concatenate(blocks[kind]).astype(np.int64).reshape(-1, corners)
    if len(cells) and (cells.min() < 0 or cells.max() >= len(points)):
        raise FileFormatError(f"{file}: a cell has a vertex out of range, there are {len(points)} vertices")
    used, inverse = np.unique(cells, return_inverse=True)
    return points[used], _turned(points[used], inverse.reshape(cells.shape))


def _read(file: Path) -> Any:
    """The mesh as meshio has it; what it prints is not shown."""
    library = _check.extra("meshio", f"reading cells from {str(file)!r} needs meshio", "mesh")
    said = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            warnings.simplefilter("ignore")
            return library.read(file)
    except (Exception, SystemExit) as error:  # damaged files raise a different error in every format
        reason = str(error) if isinstance(error, Exception) else said.getvalue()
        what = _check.shortened(" ".join(reason.split())) or type(error).__name__
        raise FileFormatError(f"{file}: meshio cannot read it: {what}") from None


def _refuse_others(file: Path, blocks: dict[str, Any], kind: str, lower: tuple[str, ...]) -> None:
    """Refuse a file without cells of the kind, or with others of the same or a higher dimension."""
    if not any(map(len, blocks.get(kind, []))):
        there = f"has only {', '.join(sorted(blocks))}" if blocks else "has no cells"
        raise FileFormatError(
            f"{file}: {there}; must have triangles in a plane, or tetrahedra, of first order{_way_out(blocks)}"
        )
    others = sorted(name for name in blocks if name not in (kind, *lower))
    if others:
        raise FileFormatError(
            f"{file}: has {', '.join(others)} beside {kind}; all cells must be triangles, or tetrahedra, of first order"
            f"{_way_out(others)}"
        )


def _way_out(kinds: Iterable[str]) -> str:
    """How to come from cells of these kinds to linear triangles or tetrahedra; nothing if there is no plain way."""
    numbered = {name.rstrip("0123456789"): name for name in kinds if name[-1:].isdigit()}
    for kind, corners in (("tetra", 4), ("triangle", 3)):
        if kind in numbered:
            return (
                f". Write the mesh in first order (in Gmsh -order 1), or take the corners of its {numbered[kind]}: "
                f"mpm.shapes.Cells(vertices, cells[:, :{corners}]) with the vertices that are corners"
            )
    if {"hexahedron", "quad"} & {*kinds, *numbered}:
        return ". Mesh the body with tetrahedra, in 2-D with triangles (in Gmsh without recombination)"
    return ""


def _in_plane(file: Path, points: NDArray[np.float64], triangles: NDArray[np.int64]) -> NDArray[np.float64]:
    """x and y of points whose triangles lie in a plane z = const."""
    if points.shape[1] == 3 and triangles.size and triangles.min() >= 0 and triangles.max() < len(points):
        corners = points[triangles.ravel()]
        low, high = corners.min(axis=0), corners.max(axis=0)
        if high[2] - low[2] > FLAT * max(high - low):
            raise FileFormatError(
                f"{file}: its triangles are a surface in space; must lie in a plane z = const, or mpm.shapes.Mesh "
                "takes the inside of a closed surface"
            )
    return np.ascontiguousarray(points[:, :2])


def _turned(points: NDArray[np.float64], cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cells, in which two vertices have changed places where the volume was negative."""
    negative = np.linalg.det(points[cells[:, 1:]] - points[cells[:, :1]]) < 0
    cells[negative, :2] = cells[negative, 1::-1]
    return cells
