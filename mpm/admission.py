"""Which materials with parameters that vary a solver can take."""

from __future__ import annotations

from collections.abc import Sequence

from mpm.fieldtable import Row
from mpm.laws import Material

__all__ = ["refuse_taken", "refuse_varying"]


def refuse_varying(material: Material, body: str, method: str) -> None:
    """Raise ValueError if a parameter varies over the particles, which only `mpm.Simulation` knows."""
    if material._varies:
        of = f" of body {body!r}" if body else ""
        raise ValueError(
            f"material{of} = {material!r}: {', '.join(material._varies)} varies; {method} takes one value for all: use "
            "mpm.Simulation, or a body for each value"
        )


def refuse_taken(material: Material, rows: Sequence[Row]) -> None:
    """Raise ValueError if a parameter that varies cannot have a field of its name among those of a core."""
    there = {row["name"]: row for row in rows}
    for i in material._varying:
        parameter = material._row["parameters"][i]
        row = there.get(parameter["name"])
        if row and (row["owner"] != "law" or row["unit"] != parameter["unit"]):
            raise ValueError(
                f"material = {material!r}: {parameter['name']} varies and needs a field of its name, but the field "
                f"{parameter['name']!r} [{row['unit']}] is something else"
            )
