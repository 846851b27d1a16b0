"""Houdini's classic ``.bgeo``, version 5, big-endian: what Partio and Houdini (as ``.bhclassic``) read."""

from __future__ import annotations

import struct
from typing import BinaryIO

import numpy as np

from mpm.io.formats import houdini
from mpm.io.state import State

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
