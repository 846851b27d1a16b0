"""One state as a file of another program: a module per format, found by the suffix."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

from mpm.io.formats import bgeo, csv, geo, npz, ply, vtp
from mpm.io.state import State

WRITERS: dict[str, Callable[[BinaryIO, State], None]] = {
    ".bgeo": bgeo.write,
    ".csv": csv.write,
    ".geo": geo.write,
    ".npz": npz.write,
    ".ply": ply.write,
    ".vtp": vtp.write,
}
