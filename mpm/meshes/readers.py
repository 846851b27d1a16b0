"""Reading triangle meshes from files, strictly: OBJ and STL here, the rest through `trimesh`."""

from __future__ import annotations

import codecs
import io
import os
import re
import struct
import warnings
from array import array
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpm.base import _check, files, paths
from mpm.base import texts as text
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
    path = paths.as_path("path", path)
    if not path.exists():
        raise FileNotFoundError(f"no such mesh file: {str(path)!r}")
    if path.is_dir():
        raise FileFormatError(f"{path}: is a directory, not a mesh file")
    if not path.is_file():  # a pipe or a device may be waited for, or never end
        raise FileFormatError(f"{path}: is not a regular file")
    reader = {".obj": _read_obj, ".stl": _read_stl}.get(path.suffix.lower())
    vertices, faces = _read_other(path) if reader is None else reader(path, _bytes(path))
    if not len(faces):
        raise FileFormatError(f"{path}: holds no faces, so it encloses nothing")
    return vertices, faces


def _bytes(path: Path) -> bytes:
    try:
        return files.read(os.fspath(path))
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None


def _lines(path: Path, data: bytes) -> Iterator[tuple[int, str]]:
    """The lines of a text, counted from 1."""
    try:
        return text.lines(data)
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None


def _numbers(path: Path, line: int, words: list[str]) -> tuple[float, float, float]:
    if len(words) < 3:
        raise FileFormatError(f"{path}, line {line}: a vertex needs 3 coordinates, this one has {len(words)}")
    try:
        x, y, z = float(words[0]), float(words[1]), float(words[2])
    except ValueError:
        said = _check.shown(" ".join(words[:3]))
        raise FileFormatError(f"{path}, line {line}: {said} are not 3 numbers") from None
    if not (abs(x) < np.inf and abs(y) < np.inf and abs(z) < np.inf):
        raise FileFormatError(f"{path}, line {line}: the vertex ({x}, {y}, {z}) is not finite")
    return x, y, z


def _read_obj(path: Path, data: bytes) -> tuple[Floats, Ints]:
    vertices, triangles = array("d"), array("q")
    origin = array("q")  # the line of each triangle, for errors: a vertex may be defined after its use
    pending, first = "", 0
    for number, line in chain(_lines(path, data), [(-1, "")]):  # the last line may be continued by nothing
        raw = line.rstrip("\n")
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
            vertices.extend(_numbers(path, first, words[1:]))
        elif words[0] == "f":
            known = len(vertices) // 3
            corners = [_corner(path, first, word, known) for word in words[1:]]
            if len(corners) < 3 and not line.endswith("\n"):
                raise FileFormatError(
                    f"{path}, line {first}: ends with a face of {len(corners)} corners; the file is cut short"
                )
            for j in range(1, len(corners) - 1):  # fewer than three corners are a line, a point or nothing
                triangles.extend((corners[0], corners[j], corners[j + 1]))
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
        raise FileFormatError(
            f"{path}, line {line}: {_check.shown(word)} is not a corner of a face"
        ) from None
    if index == 0 or index < -known or index > 2**31 - 1:
        raise FileFormatError(
            f"{path}, line {line}: vertex index {_check.shown(index)} is out of range, "
            f"{known} vertices precede it, and indices count from 1"
        )
    return index - 1 if index > 0 else known + index


TEXT = 4096  # bytes in which a binary file has one that is 0
_STL_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("attribute", "<u2")])


def _read_stl(path: Path, data: bytes) -> tuple[Floats, Ints]:
    size, head = len(data), data[:84]
    count = struct.unpack("<I", head[80:84])[0] if len(head) == 84 else 0
    claimed = 84 + 50 * count
    # Some programs begin binary files with "solid" too, but only binary ones hold bytes of 0.
    solid = head.removeprefix(codecs.BOM_UTF8).lstrip()[:5].lower() == b"solid"
    wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and b"\0" in head[:16]
    if wide or (solid and size != claimed and b"\0" not in data[:TEXT]):
        return _read_ascii_stl(path, data)
    if len(head) < 84:
        raise FileFormatError(
            f"{path}: has {size} bytes; it is neither an ASCII STL nor long enough for a binary one"
        )
    if size < claimed:
        if b"\0" not in data[:TEXT]:
            raise FileFormatError(
                f"{path}: begins with {bytes(head[:16])!r}: an ASCII STL begins with 'solid', and a binary one has its "
                "number of triangles after 80 bytes"
            )
        raise FileFormatError(
            f"{path}: claims {count} triangles, which take {claimed} bytes, but has only {size}: it is cut short"
        )
    # Other bytes after the last triangle are a dialect.
    if size > claimed and (size - claimed) % 50 == 0:
        raise FileFormatError(
            f"{path}: claims {count} triangles, but has {(size - 84) // 50}: the number in it is wrong"
        )
    corners = np.frombuffer(data, _STL_TRIANGLE, count, 84)["corner"].reshape(-1, 3).astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(corners).all(axis=1))
    if len(wrong):
        raise FileFormatError(
            f"{path}: corner {wrong[0] % 3 + 1} of triangle {wrong[0] // 3 + 1} is not finite"
        )
    return corners, np.arange(len(corners), dtype=np.int64).reshape(-1, 3)


def _read_ascii_stl(path: Path, data: bytes) -> tuple[Floats, Ints]:
    corners = array("d")
    inside, ended, number = False, True, 0
    for number, line in _lines(path, data):
        words = line.split()
        keyword = words[0].lower() if words else ""
        if keyword == "vertex":
            if not inside:
                raise FileFormatError(f"{path}, line {number}: a vertex outside of a facet")
            corners.extend(_numbers(path, number, words[1:]))
        elif keyword == "facet":
            if inside:
                raise FileFormatError(f"{path}, line {number}: the facet before has no end")
            inside = True
        elif keyword == "endfacet":
            inside = False
            if len(corners) % 9:
                raise FileFormatError(f"{path}, line {number}: a facet that does not have 3 vertices")
        elif keyword not in ("", "solid", "endsolid", "outer", "endloop", "color"):
            raise FileFormatError(
                f"{path}, line {number}: {line.strip()[:40]!r} does not belong in an ASCII STL"
            )
        ended = keyword == "endsolid" or (ended and not keyword)
    if inside:
        raise FileFormatError(f"{path}, line {number}: ends within a facet; the file is cut short")
    if not ended:
        raise FileFormatError(f"{path}, line {number}: ends without 'endsolid'; the file is cut short")
    x = np.array(corners, dtype=np.float64).reshape(-1, 3)
    return x, np.arange(len(x), dtype=np.int64).reshape(-1, 3)


def _faces_of_ply(data: bytes) -> int:
    """How many faces the header of a PLY file claims; 0 of other files."""
    header = data[: max(0, data.find(b"end_header"))].removeprefix(codecs.BOM_UTF8)
    found = (
        re.search(rb"^element +face +(\d{1,18})\s*$", header, re.MULTILINE) if header[:3] == b"ply" else None
    )
    return int(found[1]) if found else 0


def _read_other(path: Path) -> tuple[Floats, Ints]:
    try:
        import trimesh
    except ImportError:
        raise ImportError(
            f"{path}: only OBJ and STL are read without trimesh; for {path.suffix or 'other files'} "
            f"run: {_check.to_install('mesh', 'trimesh')}"
        ) from None
    if not (data := _bytes(path)):
        raise FileFormatError(f"{path}: is empty")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # From memory, so that no file is opened that this one names.
            kind = path.suffix.removeprefix(".").lower()
            mesh: Any = trimesh.load(io.BytesIO(data), file_type=kind, process=False, force="mesh")
        vertices = np.array(mesh.vertices, dtype=np.float64).reshape(-1, 3)
        faces = np.array(mesh.faces, dtype=np.int64).reshape(-1, 3)
    except ImportError as error:
        if isinstance(error.__context__, UnicodeError):  # the reader needed a package that guesses encodings
            raise FileFormatError(f"{path}: is not the text that its suffix promises") from error
        raise ImportError(
            f"{path}: trimesh needs one more package to read it: {_check.shortened(str(error))}"
        ) from error
    except Exception as error:  # damaged files raise a different error in every format
        why = _check.shortened(str(error)) or type(error).__name__
        length = "; it is cut short, or has bytes after its end" * ("unexpected length" in why)
        raise FileFormatError(
            f"{path}: trimesh cannot read it as a mesh: {why.rstrip('!')}{length}"
        ) from error
    claimed = _faces_of_ply(data)
    if claimed > len(faces):
        raise FileFormatError(f"{path}: claims {claimed} faces, but has {len(faces)}: it is cut short")
    if len(faces) and (faces.min() < 0 or faces.max() >= len(vertices)):
        raise FileFormatError(f"{path}: has a vertex index out of range, there are {len(vertices)} vertices")
    if not np.isfinite(vertices).all():
        raise FileFormatError(f"{path}: has a vertex that is not finite")
    return vertices, faces
