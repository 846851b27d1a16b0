"""Totals as a table: CSV with a line per recorded step or frame."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import BinaryIO

from mpm.base._check import FloatArray
from mpm.solver.totals import columns


def write(file: BinaryIO, table: Mapping[str, FloatArray]) -> None:
    """Write columns; every number is the shortest text that reads back as the same."""
    split = columns(table)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(split)
    writer.writerows(map(repr, row) for row in zip(*(c.tolist() for c in split.values()), strict=True))
    file.write(text.getvalue().encode("utf-8"))
