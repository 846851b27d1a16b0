"""The inside of a triangle mesh; `mpm.meshes` reads, repairs and measures meshes."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpm import meshes
from mpm.base import _check, advice
from mpm.errors import FileFormatError
from mpm.meshes import MeshReport
from mpm.shapes.arguments import as_rows, brief
from mpm.shapes.lattice import lattice_numbers
from mpm.shapes.shape import Bools, Floats, Region, Shape


class Mesh(Shape):
    """The inside of a triangle mesh in 3-D.

    Equal vertices are merged first. Overlapping closed parts are filled once; a closed part within another part
    is a cavity if its faces look inwards. Faces that look the wrong way, doubled faces and small holes are repaired
    with a warning; see `report`.

    Parameters
    ----------
    path
        An OBJ or STL file, or any format that `trimesh` reads, if it is installed.
    vertices : (nv, 3) array_like
        Positions [m], instead of `path`.
    faces : (nf, k) array_like of int
        The corners of each triangle (k = 3) or flat polygon, with `vertices`: counted from 0, counter-clockwise seen
        from outside.

    Attributes
    ----------
    vertices, faces : (nv, 3) float64, (nf, 3) int64
        The mesh as read, in triangles.
    report : mpm.meshes.MeshReport
        Parts and defects of the mesh.

    Raises
    ------
    FileNotFoundError, FileFormatError
        The file does not exist, is damaged, or holds no solid.
    ValueError
        The mesh encloses no volume, or has so many holes that its inside is uncertain; the message names the
        defect.
    ImportError
        The format needs trimesh (the extra ``mesh``).

    Warns
    -----
    UserWarning
        The mesh was repaired; the message names the repairs.
    """

    _fields = ("vertices", "faces")
    path: str | None
    vertices: Floats
    faces: NDArray[np.int64]
    report: MeshReport
    _solid: meshes.Solid

    @_check.options(hints=advice.OF_MESH)
    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        vertices: ArrayLike | None = None,
        faces: ArrayLike | None = None,
    ) -> None:
        if (path is None) != (vertices is not None and faces is not None) or (vertices is None) != (
            faces is None
        ):
            raise TypeError(
                'path, vertices, faces: expected a path, or vertices= and faces=; for example Mesh("part.stl")'
            )
        if path is not None:
            if not isinstance(path, (str, os.PathLike)):
                raise TypeError(f"path: expected a path, got {path!r}")
            v, f = meshes.read(path)
            try:
                solid = meshes.prepare(v, f, os.fspath(path))
            except ValueError as error:
                raise FileFormatError(str(error)) from None
        else:
            assert vertices is not None and faces is not None
            v = as_rows(vertices, "vertices", (3,))
            f = triangles_of(faces, len(v))
            solid = meshes.prepare(v, f, "Mesh")
        name = None if path is None else os.fspath(path)
        self._set(path=name, vertices=v, faces=f, report=solid.report, _solid=solid, dimension=3)

    def __repr__(self) -> str:
        source = "" if self.path is None else f"{self.path!r}, "
        return f"Mesh({source}{len(self.faces)} triangles)"

    def _contains(self, x: Floats) -> Bools:
        return self._solid.contains(x)

    def _distance(self, finest: float, coarsest: float, region: Region) -> tuple[str, Floats]:
        lower, values = meshes.distance_lattice(self._solid, finest / 2, 4 * coarsest, region)
        return "lattice", lattice_numbers(lower, finest / 2, values)

    def _support(self, directions: Floats) -> Floats:
        corners = self.vertices[np.unique(self.faces)]
        return np.array([(corners @ direction).max() for direction in directions])

    def _volume(self) -> float | None:
        sound = self.report.watertight and not self.report.mended
        return float(self.report.signed_volume) if sound else None


def triangles_of(faces: ArrayLike, vertices: int) -> NDArray[np.int64]:
    """Polygons (n, k) of so many vertices in triangles (m, 3); raises TypeError, ValueError."""
    _check.refuse_masked("faces", faces)
    try:
        index = np.asarray(faces)
    except ValueError:
        raise ValueError("faces: expected integers of shape (n, 3), got rows of different length") from None
    if index.dtype.kind not in "iu":
        raise TypeError(f"faces: expected integers of shape (n, 3), got {_check.shown(faces)}")
    if index.ndim != 2 or index.shape[1] < 3 or not len(index):
        raise ValueError(f"faces: expected the shape (n, 3), got {index.shape}")
    wrong = np.flatnonzero(((index < 0) | (index >= vertices)).any(axis=1))
    if len(wrong):
        raise ValueError(
            f"faces: face {wrong[0]}, {brief(index[wrong[0]])}, names a vertex outside 0 to {vertices - 1}"
        )
    fan = [index[:, [0, k, k + 1]] for k in range(1, index.shape[1] - 1)]
    return np.stack(fan, axis=1).reshape(-1, 3).astype(np.int64)
