"""Reading triangle meshes from files, strictly: OBJ and STL here, the rest through `trimesh`."""

from __future__ import annotations

import os
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpm import _check
from mpm.errors import FileFormatError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def read(path: str | os.PathLike[str]) -> tuple[Floats, Ints]:
    """Read a triangle mesh.

    OBJ and STL (ASCII and binary) are read here, everything else through `trimesh` when it is installed.
    Polygons are cut into fans from their first corner. For a flat polygon that is right even where it is
    concave: the fan then overlaps itself with opposite signs, and what is inside is measured with signs. A
    concave polygon that is not flat is a slightly different surface than another program may cut it into; it
    is as closed.

    Parameters
    ----------
    path
        The file. Its suffix decides the format.

    Returns
    -------
    vertices : (nv, 3) float64
        Positions, in the file's unit.
    faces : (nf, 3) int64
        Vertex indices, counted from 0.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    FileFormatError
        The file is damaged, holds no faces, or no reader knows it; the message names the file, the defect
        and, for text, the line.
    ImportError
        The format needs `trimesh`, which is not installed.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no such mesh file: {str(path)!r}")
    if path.is_dir():
        raise FileFormatError(f"{path}: is a directory, not a mesh file")
    reader = {".obj": _read_obj, ".stl": _read_stl}.get(path.suffix.lower(), _read_other)
    vertices, faces = reader(path)
    if not len(faces):
        raise FileFormatError(f"{path}: holds no faces, so it encloses nothing")
    return vertices, faces


def _text(path: Path, data: bytes) -> str:
    if data[:2] in (b"\xfe\xff", b"\xff\xfe") or b"\0" in data[:4096]:
        raise FileFormatError(
            f"{path}: is not 8-bit text (UTF-16, perhaps, or binary); save it again as UTF-8"
        )
    return data.decode("utf-8-sig", errors="replace")  # only comments and names may contain more than ASCII


def _numbers(path: Path, line: int, words: list[str]) -> tuple[float, float, float]:
    if len(words) < 3:
        raise FileFormatError(f"{path}, line {line}: a vertex needs 3 coordinates, this one has {len(words)}")
    try:
        x, y, z = float(words[0]), float(words[1]), float(words[2])
    except ValueError:
        raise FileFormatError(f"{path}, line {line}: {' '.join(words[:3])!r} are not 3 numbers") from None
    if not (abs(x) < np.inf and abs(y) < np.inf and abs(z) < np.inf):
        raise FileFormatError(f"{path}, line {line}: the vertex ({x}, {y}, {z}) is not finite")
    return x, y, z


def _read_obj(path: Path) -> tuple[Floats, Ints]:
    vertices: list[tuple[float, float, float]] = []
    triangles: list[tuple[int, int, int]] = []
    origin: list[int] = []  # the line of each triangle, for errors: a vertex may be defined after its use
    pending, first = "", 0
    for number, raw in enumerate([*_text(path, path.read_bytes()).splitlines(), ""], 1):
        if not pending:
            first = number
        if raw.endswith("\\"):
            pending += raw[:-1] + " "
            continue
        words = (pending + raw).partition("#")[0].split()
        pending = ""
        if not words:
            continue
        if words[0] == "v":
            vertices.append(_numbers(path, first, words[1:]))
        elif words[0] == "f":
            corners = [_corner(path, first, word, len(vertices)) for word in words[1:]]
            for j in range(1, len(corners) - 1):  # fewer than three corners are a line, a point or nothing
                triangles.append((corners[0], corners[j], corners[j + 1]))
                origin.append(first)
    x = np.array(vertices, dtype=np.float64).reshape(-1, 3)
    faces = np.array(triangles, dtype=np.int64).reshape(-1, 3)
    wrong = np.flatnonzero((faces >= len(x)).any(axis=1))
    if len(wrong):
        index = int(faces[wrong[0]].max()) + 1
        raise FileFormatError(
            f"{path}, line {origin[wrong[0]]}: vertex index {index} is out of range, "
            f"the file has {len(x)} vertices"
        )
    return x, faces


def _corner(path: Path, line: int, word: str, known: int) -> int:
    """The vertex of `v`, `v/vt`, `v//vn` or `v/vt/vn`, from 0; a negative one counts back from the last."""
    try:
        index = int(word.partition("/")[0])
    except ValueError:
        raise FileFormatError(f"{path}, line {line}: {word!r} is not a corner of a face") from None
    if index == 0 or index < -known or index > 2**31 - 1:
        raise FileFormatError(
            f"{path}, line {line}: vertex index {index} is out of range, "
            f"{known} vertices are known here and indices count from 1"
        )
    return index - 1 if index > 0 else known + index


_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("attribute", "<u2")])


def _read_stl(path: Path) -> tuple[Floats, Ints]:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(84)
    count = struct.unpack("<I", head[80:84])[0] if len(head) == 84 else 0
    claimed = 84 + 50 * count
    # Some programs begin binary files with "solid" too, so only the size distinguishes them.
    if head.lstrip()[:5].lower() == b"solid" and not (len(head) == 84 and size == claimed):
        return _read_ascii_stl(path)
    if len(head) < 84:
        raise FileFormatError(
            f"{path}: has {size} bytes; it is neither an ASCII STL nor long enough for a binary one"
        )
    if size < claimed:
        raise FileFormatError(
            f"{path}: claims {count} triangles, which take {claimed} bytes, but has only {size}"
        )
    corners = np.fromfile(path, _STL_TRIANGLE, count, offset=84)["corner"].reshape(-1, 3).astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(corners).all(axis=1))
    if len(wrong):
        raise FileFormatError(
            f"{path}: corner {wrong[0] % 3 + 1} of triangle {wrong[0] // 3 + 1} is not finite"
        )
    return corners, np.arange(len(corners), dtype=np.int64).reshape(-1, 3)


def _read_ascii_stl(path: Path) -> tuple[Floats, Ints]:
    corners: list[tuple[float, float, float]] = []
    inside, number = False, 0
    for number, line in enumerate(_text(path, path.read_bytes()).splitlines(), 1):
        words = line.split()
        keyword = words[0].lower() if words else ""
        if keyword == "vertex":
            corners.append(_numbers(path, number, words[1:]))
        elif keyword == "facet":
            inside = True
        elif keyword == "endfacet":
            inside = False
            if len(corners) % 3:
                raise FileFormatError(f"{path}, line {number}: a facet that does not have 3 vertices")
        elif keyword not in ("", "solid", "endsolid", "outer", "endloop", "color"):
            raise FileFormatError(
                f"{path}, line {number}: {line.strip()[:40]!r} does not belong in an ASCII STL"
            )
    if inside:
        raise FileFormatError(f"{path}, line {number}: ends within a facet; the file is cut short")
    x = np.array(corners, dtype=np.float64).reshape(-1, 3)
    return x, np.arange(len(x), dtype=np.int64).reshape(-1, 3)


def _read_other(path: Path) -> tuple[Floats, Ints]:
    try:
        import trimesh
    except ImportError:
        raise ImportError(
            f"{path}: only OBJ and STL are read without trimesh; for {path.suffix or 'other files'} "
            f"run: {_check.to_install('mesh', 'trimesh')}"
        ) from None
    if not path.stat().st_size:
        raise FileFormatError(f"{path}: is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mesh: Any = trimesh.load(path, process=False, force="mesh")
        vertices = np.array(mesh.vertices, dtype=np.float64).reshape(-1, 3)
        faces = np.array(mesh.faces, dtype=np.int64).reshape(-1, 3)
    except ImportError as error:
        if isinstance(error.__context__, UnicodeError):  # the reader needed a package that guesses encodings
            raise FileFormatError(f"{path}: is not the text that its suffix promises") from error
        raise ImportError(f"{path}: trimesh needs one more package to read it: {error}") from error
    except Exception as error:  # damaged files raise a different error in every format
        raise FileFormatError(
            f"{path}: trimesh cannot read it as a mesh: {error or type(error).__name__}"
        ) from error
    if len(faces) and (faces.min() < 0 or faces.max() >= len(vertices)):
        raise FileFormatError(f"{path}: has a vertex index out of range, there are {len(vertices)} vertices")
    if not np.isfinite(vertices).all():
        raise FileFormatError(f"{path}: has a vertex that is not finite")
    return vertices, faces
