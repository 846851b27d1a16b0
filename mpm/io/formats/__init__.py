"""One state as a file of another program: a module per format, found by the suffix."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import BinaryIO

from mpm.base import _check, files, paths
from mpm.errors import FileFormatError
from mpm.io.formats import bgeo, csv, geo, npz, obj, ply, stl, vtp
from mpm.io.formats.integers import Array
from mpm.solver.state import State

WRITERS: dict[str, Callable[[BinaryIO, State], None]] = {
    ".bgeo": bgeo.write,
    ".csv": csv.write,
    ".geo": geo.write,
    ".npz": npz.write,
    ".ply": ply.write,
    ".vtp": vtp.write,
}

MESHES: dict[str, Callable[[BinaryIO, State], None]] = {
    ".obj": obj.write,
    ".ply": ply.write,
    ".stl": stl.write,
    ".vtp": vtp.write,
}
"""Formats of triangles."""

READERS: dict[str, Callable[[bytes], dict[str, Array]]] = {
    ".bgeo": bgeo.read,
    ".csv": csv.read,
    ".geo": geo.read,
    ".npz": npz.read,
    ".ply": ply.read,
}


def read(path: object) -> Mapping[str, Array]:
    """The particles of a file, at least one; as `load`."""
    found = load(path)
    if not len(found["x"]):
        raise FileFormatError(f"{path!s}: has no points")
    return found


def load(path: object) -> Mapping[str, Array]:
    """The particles of a file: ``"x"``, (n, 2) or (n, 3), and what else it says of them, by name.

    Nothing in the file is executed, no other file is opened. Reading takes no more memory than a small multiple of the
    file's size; of a compressed ``.npz`` than of that of its arrays.

    Raises
    ------
    ValueError
        The suffix is that of no format.
    FileNotFoundError
        There is no such file.
    FileFormatError
        It is damaged, or not what its suffix says; the message names the file and, of text, the line.
    """
    checked = paths.check_path("path", path)
    reader = READERS.get(checked.suffix.lower())
    if reader is None:
        raise ValueError(f"path = {_check.shown(str(checked))}: must end in {', '.join(sorted(READERS))}")
    try:
        return reader(files.read(os.fspath(checked)))
    except FileNotFoundError:
        raise FileNotFoundError(f"path = {str(checked)!r}: there is no such file") from None
    except FileFormatError as error:
        raise FileFormatError(f"{checked}: {_check.shortened(str(error))}") from None
