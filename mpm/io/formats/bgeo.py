"""Houdini's classic ``.bgeo``, version 5, big-endian: what Partio and Houdini (as ``.bhclassic``) read."""

from __future__ import annotations

import struct
from typing import BinaryIO

import numpy as np

from mpm.errors import FileFormatError
from mpm.io.formats import houdini
from mpm.io.formats.integers import Array
from mpm.solver.state import State

VERSION = 5
END = b"\x00\xff"


def write(file: BinaryIO, state: State) -> None:
    """Write a state."""
    found = houdini.attributes(state)
    # Points, primitives, groups of points and primitives; attributes of points, vertices, primitives, the whole.
    counts = (state.count, 0, 0, 0, len(found), 0, 0, 0)
    file.write(b"Bgeo" + struct.pack(">ci8i", b"V", VERSION, *counts))
    for name, kind, values in found:
        size = values.shape[1]
        text = name.encode("utf-8")
        file.write(struct.pack(">H", len(text)) + text + struct.pack(">Hi", size, kind) + bytes(4 * size))
    # Every value has four bytes, so points are rows of one array, whatever the types.
    columns = [houdini.positions(state), *(values for _, _, values in found)]
    records = np.concatenate([values.view(np.int32) for values in columns], axis=1)
    file.write(records.astype(">i4").tobytes() + END)


def read(data: bytes) -> dict[str, Array]:
    """The points: ``"x"`` (n, 3), and attributes of numbers, (n,) or (n, size).

    Raises
    ------
    FileFormatError
        It is no classic ``.bgeo``, or damaged.
    """
    houdini.refuse_newer(data)
    if data[:5] != b"BgeoV":
        raise FileFormatError("does not begin with 'BgeoV', as the classic format of Houdini does")
    source = _Bytes(data, 5)
    version, points, _, _, _, attributes, *_ = source.take("i8i")
    if version != VERSION:
        raise FileFormatError(f"has version {version}; must be {VERSION}")
    if points < 0 or not 0 <= attributes <= houdini.MOST_ATTRIBUTES:
        raise FileFormatError(f"claims {points} points with {attributes} attributes")
    layout = []
    for _ in range(attributes):
        (length,) = source.take("H")
        name = source.text(length)
        size, kind = source.take("Hi")
        if kind == houdini.INDEX:
            (strings,) = source.take("i")
            for _ in range(strings):
                (length,) = source.take("H")
                source.text(length)
        else:
            source.take(f"{size}i")
        layout.append((name, size, kind))
    houdini.check_layout(layout)
    width = 4 + sum(size for _, size, _ in layout)
    if len(data) - source.at < 4 * width * points:
        need = f"{points} points need {4 * width * points} bytes"
        raise FileFormatError(f"is cut short: {need}, there are {len(data) - source.at}")
    records = np.frombuffer(data, ">i4", width * points, source.at).reshape(points, width).astype(np.int32)
    return houdini.points(records, layout)


class _Bytes:
    """Numbers and names, one after the other."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def take(self, layout: str) -> tuple[int, ...]:
        """Whole numbers, big-endian."""
        size = struct.calcsize(">" + layout)
        if self.at + size > len(self.data):
            raise FileFormatError("is cut short in its header")
        values = struct.unpack_from(">" + layout, self.data, self.at)
        self.at += size
        return values

    def text(self, length: int) -> str:
        """A name of so many bytes."""
        found = self.data[self.at : self.at + length]
        if len(found) < length:
            raise FileFormatError("is cut short in its header")
        self.at += length
        return found.decode("utf-8", errors="replace")
