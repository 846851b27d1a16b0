"""Which materials with parameters that vary a solver can take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mpm.base.fieldtable import Row
from mpm.materials.laws import Material

__all__ = ["refuse_taken", "refuse_varying"]


def refuse_varying(material: Material, method: str, why: str) -> None:
    """Raise ValueError if a parameter varies over the particles, which the method cannot have; `why` says why."""
    if material._varies:
        raise ValueError(
            f"material = {material!r}: {', '.join(material._varies)} varies, but {method} must have one value for "
            f"all, because {why}: use mpm.Simulation"
        )


def refuse_taken(material: Material, rows: Sequence[Row], others: Iterable[Material]) -> None:
    """Raise ValueError if a parameter that varies cannot have a field of its name among those of a core, which other
    materials use."""
    there = {row["name"]: row for row in rows}
    for field in material._row["history"]:
        row = there.get(field["name"])
        if row and row["owner"] == "core" and material.thermal is not None:
            continue  # its temperature is the one that is conducted
        begins = field["initial"] if field["initial_parameter"] is None or row is None else row["initial"]
        if row and (row["rank"], row["initial"]) != (field["rank"], begins):
            raise ValueError(
                f"material = {material!r}: keeps the {field['rank']} {field['name']!r}, which begins with {begins:g}; "
                f"the law of another material has the {row['rank']} {row['name']!r}, which begins with "
                f"{row['initial']:g}: name one of them otherwise"
            )
    for i in material._varying:
        parameter = material._row["parameters"][i]
        name = parameter["name"]
        row = there.get(name)
        if row and (row["owner"] != "law" or row["unit"] != parameter["unit"]):
            raise ValueError(
                f"material = {material!r}: {name} varies and needs a field of its name, but the field {name!r} "
                f"[{row['unit']}] is something else"
            )
        for other in others:
            if name in other._varies and _range(other, name) != _range(material, name):
                raise ValueError(
                    f"material = {material!r}: {name} varies, and so does that of {type(other).__name__} with another "
                    "range: give one of them one value"
                )


def _range(material: Material, name: str) -> tuple[float, float, bool, bool]:
    """Of a parameter."""
    p = next(p for p in material._row["parameters"] if p["name"] == name)
    return p["low"], p["high"], p["low_open"], p["high_open"]
