"""NumPy's ``.npz``: the arrays as they are, in the dimension of the simulation, and time, step and dimension."""

from __future__ import annotations

import io
import math
import struct
import tokenize
import zipfile
import zlib
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from mpm.base import _check
from mpm.errors import FileFormatError
from mpm.io.formats.integers import Array
from mpm.solver.state import State


def write(file: BinaryIO, state: State) -> None:
    """Write a state."""
    arrays: dict[str, Any] = dict(state.fields)
    np.savez(file, **arrays, time=state.time, step=state.step, dimension=state.dimension)


POSITIONS = ("x", "positions", "position", "points", "P")
LONGEST_HEAD = 10_000  # characters of the header of an array
MOST_ARRAYS = 1000
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OverflowError,
    struct.error,
)
# NumPy reads the header as Python's literal, after its tokens.
BAD_HEADS = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, tokenize.TokenError)


def read(data: bytes) -> dict[str, Array]:
    """The positions ``"x"``, (n, 2) or (n, 3), and ``"volume"`` where it is there; other arrays are not looked at.

    Positions are called ``x``, ``positions``, ``points`` or ``P``, or are the only array. Nothing is unpickled; an
    array takes as many bytes as it has in the file, or 1032 times that where it is compressed.

    Raises
    ------
    FileFormatError
        It is no ``.npz``, has no positions, or is damaged.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if len(members) > MOST_ARRAYS:
                raise FileFormatError(f"has {len(members)} arrays; must be at most {MOST_ARRAYS}")
            only = next(iter(members)) if len(members) == 1 else None
            name = next((known for known in POSITIONS if known in members), only)
            if name is None:
                names = _check.shortened(", ".join(members), 200)
                raise FileFormatError(f"has no array 'x' of positions; there are {names}")
            found = {"x": _array(archive, members[name])}
            if "volume" in members:
                found["volume"] = _array(archive, members["volume"])
    except FileFormatError:
        raise
    except (*DAMAGE, ValueError) as error:
        raise FileFormatError(f"is no .npz, or damaged ({_check.shortened(str(error))})") from None
    if found["x"].ndim != 2 or found["x"].shape[1] not in (2, 3):
        raise FileFormatError(f"has positions of shape {found['x'].shape}; must be (n, 2) or (n, 3)")
    return found


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    """One array of real numbers, as in NumPy's format 1, 2 or 3."""
    with archive.open(info) as file:
        try:
            major, _ = npy.read_magic(file)
            head = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
            shape, fortran, dtype = head(file, max_header_size=LONGEST_HEAD)
        except BAD_HEADS as error:
            raise FileFormatError(
                f"has an array without a header ({_check.shortened(str(error), 100)})"
            ) from None
        if dtype.kind not in "fiu" or any(length < 0 for length in shape):
            raise FileFormatError(f"has an array of {dtype} of shape {shape}; must be of numbers")
        size = math.prod(shape) * dtype.itemsize
        if size > info.file_size:
            raise FileFormatError(f"is cut short: an array of shape {shape} needs {size} bytes")
        values = np.frombuffer(file.read(size), dtype)
        if values.nbytes < size:
            raise FileFormatError(f"is cut short: an array of shape {shape} needs {size} bytes")
    return values.reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("="))
