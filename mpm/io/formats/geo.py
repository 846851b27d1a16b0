"""Houdini's classic ``.geo``, version 5, in ASCII; numbers have as many digits as they need to be exact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from mpm.base import texts as text
from mpm.errors import FileFormatError
from mpm.io.formats import houdini
from mpm.io.formats.integers import Array
from mpm.solver.state import State

KINDS = {name: kind for kind, name in houdini.NAMES.items()} | {"index": houdini.INDEX}


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


def read(data: bytes) -> dict[str, Array]:
    """The points: ``"x"`` (n, 3), and attributes of numbers, (n,) or (n, size).

    Raises
    ------
    FileFormatError
        It is no classic ``.geo``, or damaged.
    """
    houdini.refuse_newer(data)
    lines = ((number, line.split()) for number, line in text.lines(data) if line.strip())
    number, words = next(lines, (1, []))
    if words != ["PGEOMETRY", "V5"]:
        raise FileFormatError(f"line {number}: must be 'PGEOMETRY V5', the classic format of Houdini")
    counts: dict[str, int] = {}
    for number, words in lines:
        if len(words) % 2 or not words[0].startswith("N"):
            raise FileFormatError(f"line {number}: must be counts, such as 'NPoints 8 NPrims 0'")
        for name, count in zip(words[::2], words[1::2], strict=True):
            counts[name] = text.whole(number, count, len(data))
        if "NPointAttrib" in counts:
            break
    if not {"NPoints", "NPointAttrib"} <= counts.keys():
        raise FileFormatError("does not state the numbers of its points and attributes")
    layout = _layout(lines, counts["NPointAttrib"])
    width = 4 + sum(size for _, size, _ in layout)
    rows = text.Rows(width)
    for _ in range(counts["NPoints"]):
        number, words = next(lines, (0, []))
        if not words:
            raise FileFormatError(f"ends after {len(rows)} of {counts['NPoints']} points")
        rows.take(number, " ".join(words).replace("(", " ").replace(")", " ").split())
    return houdini.points(rows.array(), layout)


def _layout(lines: Iterator[tuple[int, list[str]]], count: int) -> list[tuple[str, int, int]]:
    """Name, size and kind of the attributes of points."""
    layout: list[tuple[str, int, int]] = []
    if count and next(lines, (0, []))[1] != ["PointAttrib"]:
        raise FileFormatError("does not list its attributes: a line 'PointAttrib' is missing")
    for _ in range(count):
        number, words = next(lines, (0, []))
        if len(words) < 3 or words[2] not in KINDS:
            raise FileFormatError(f"line {number}: must be an attribute, such as 'v 3 vector 0 0 0'")
        size = text.whole(number, words[1], houdini.MOST_SIZE)
        layout.append((words[0], size, KINDS[words[2]]))
    houdini.check_layout(layout)
    return layout
