"""The field table (csrc/run/fields.h) in Python: the fields of particles that the core and its laws keep."""

from __future__ import annotations

from typing import Any, TypedDict

from mpm import _core

__all__ = [
    "DISSIPATIONS",
    "KNOWN",
    "LASTING",
    "OPEN",
    "RANKS",
    "TAKEN",
    "Row",
    "components",
    "declared",
    "is_name",
    "row",
    "shape",
]


class Row(TypedDict):
    """A row of the table."""

    name: str
    unit: str  # in 3-D
    rank: str  # one of RANKS
    owner: str  # "core", "law" or "user"
    initial: float
    lasting: bool  # no step changes it
    kept: bool  # snapshots contain it


RANKS = ("scalar", "vector", "symmetric", "tensor")


def row(
    name: str, rank: str = "scalar", unit: str = "1", *, owner: str = "user", initial: float = 0.0
) -> Row:
    """The row of a field that steps may change and snapshots have."""
    return {
        "name": name, "unit": unit, "rank": rank, "owner": owner, "initial": initial, "lasting": False, "kept": True,
    }  # fmt: skip


DISSIPATIONS = ("plastic_dissipation", "viscous_dissipation")
"""Fields of simulations that keep what laws dissipate."""

KNOWN: dict[str, Row] = {row["name"]: row for row in _core.core_fields()}
"""The rows of the core and of all laws by name; users may add others to a simulation."""

for _name in DISSIPATIONS:
    KNOWN[_name] = row(_name, unit="J/m³", owner="core")

KNOWN["temperature_gradient"] = row("temperature_gradient", "vector", "K/m", owner="core")
KNOWN["thermal_stretch"] = row("thermal_stretch", owner="core", initial=1.0)
KNOWN["liquid_fraction"] = row("liquid_fraction", owner="core")
KNOWN["heated_dissipation"] = row("heated_dissipation", unit="J/m³", owner="core")
"""Those of heat, beside the temperature, which a law has as well."""

KNOWN["pore_pressure"] = row("pore_pressure", unit="Pa", owner="core")
KNOWN["pore_gradient"] = row("pore_gradient", "vector", "Pa/m", owner="core")

KNOWN["concentration"] = row("concentration", unit="mol/m³", owner="core")
KNOWN["concentration_gradient"] = row("concentration_gradient", "vector", "mol/m⁴", owner="core")
KNOWN["swelling_stretch"] = row("swelling_stretch", owner="core", initial=1.0)

for _law in _core.laws():
    for _field in _law["history"]:
        KNOWN[_field["name"]] = row(
            _field["name"], _field["rank"], _field["unit"], owner="law", initial=_field["initial"]
        )

LASTING = tuple(sorted(name for name, row in KNOWN.items() if row["lasting"]))
"""Fields that are the same at every step, as long as no particle comes or goes."""

OPEN = "damage"  # of a law of the package; user laws may have a field of this name

TAKEN = ("time", "step", "dimension")  # what files say of a frame beside its fields


def components(dimension: int) -> dict[str, tuple[str, ...]]:
    """The components of each rank, by the axes that they belong to."""
    axes = "xyz"[:dimension]
    upper = [a + b for a in axes for b in axes if a <= b]
    return {
        "scalar": ("",),
        "vector": tuple(axes),
        "symmetric": tuple(upper),
        "tensor": tuple(a + b for a in axes for b in axes),
    }


def shape(rank: str, dimension: int) -> tuple[int, ...]:
    """Shape of the values of one particle."""
    if rank == "scalar":
        return ()
    return (dimension, dimension) if rank == "tensor" else (len(components(dimension)[rank]),)


def declared(row: Row) -> dict[str, Any]:
    """What `add_field` of a core takes, as files keep it."""
    return {"name": row["name"], "unit": row["unit"], "rank": row["rank"], "initial": row["initial"]}


def is_name(name: str) -> bool:
    """Whether a field may have this name."""
    return name.isidentifier() and not name.startswith("_") and name not in TAKEN
