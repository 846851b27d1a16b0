"""Houdini's classic ``.geo``, version 5, in ASCII; numbers have as many digits as they need to be exact."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from mpm.io.formats import houdini
from mpm.io.formats.integers import Array
from mpm.io.state import State


def write(file: BinaryIO, state: State) -> None:
    """Write a state."""
    found = houdini.attributes(state)
    lines = [
        "PGEOMETRY V5",
        f"NPoints {state.count} NPrims 0",
        "NPointGroups 0 NPrimGroups 0",
        f"NPointAttrib {len(found)} NVertexAttrib 0 NPrimAttrib 0 NAttrib 0",
    ]
    if found:
        lines.append("PointAttrib")
    for name, kind, values in found:
        size = values.shape[1]
        lines.append(f"{name} {size} {houdini.NAMES[kind]}" + " 0" * size)
    rows = _text(houdini.positions(state))
    if found:
        texts = [_text(values) for _, _, values in found]
        rows = [f"{point} ({' '.join(parts)})" for point, *parts in zip(rows, *texts, strict=True)]
    lines += [*rows, "beginExtra", "endExtra", ""]
    file.write("\n".join(lines).encode("utf-8"))


def _text(values: Array) -> list[str]:
    """A line per row."""
    words = np.char.mod("%.9g" if values.dtype == np.float32 else "%d", values)
    return [" ".join(row) for row in words]
