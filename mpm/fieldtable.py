"""Python's view of the table of fields (csrc/state/fields.h)."""

from __future__ import annotations

from mpm import _core

__all__ = ["shape"]


def shape(row: _core.FieldRow, dimension: int) -> tuple[int, ...]:
    """Shape of the values of one particle."""
    if row["rank"] == "scalar":
        return ()
    return (dimension, dimension) if row["rank"] == "tensor" else (row["components"],)
