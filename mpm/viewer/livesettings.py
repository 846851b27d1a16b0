"""Which settings change in the running simulation, and what `Solver.set` calls them."""

from __future__ import annotations

from typing import Any, cast

from mpm.scene.contacts import column_of
from mpm.scene.settings import _materials
from mpm.solver.source import Running

VECTOR = {"v": "velocity"}  # with what the settings of components begin, before the axis


def names(run: Running) -> dict[str, tuple[str, ...]]:
    """The parameters of a run that each setting changes, by the key of the setting."""
    known = tuple(cast(Any, run).parameters) if hasattr(run, "parameters") else ()
    scene = run.scene
    found = {f"gravity {axis}": (f"gravity.{axis}",) for axis in "xyz"[: scene.dimension]}
    found |= {f"friction {face}": (f"{face}.friction",) for face in scene.walls}
    for what in ("friction", "adhesion"):
        found[f"contact {what}"] = (f"contact.{what}",)
        for number, pair in enumerate(scene.contacts):
            name, _ = column_of("|".join(pair), scene._layers())
            found[f"pair {number} {what}"] = (f"{name}.{what}",)
    for number, collider in enumerate(scene.colliders):
        start = f"collider {number}"
        found[f"{start} friction"] = (f"{collider.name}.friction",)
        found[f"{start} turn"] = (f"{collider.name}.angular_velocity",)
        for axis in "xyz"[: scene.dimension]:
            found[f"{start} v{axis}"] = (f"{collider.name}.velocity",)
    for number, bodies in enumerate(_materials(scene).values()):
        for name in known:
            target, _, what = name.rpartition(".")
            # Bodies of equal materials, which may have become equal in the run.
            if set(target.split(", ")) & set(bodies):
                key = f"material {number} {what}"
                found[key] = (*found.get(key, ()), name)
    return {key: all_of for key, all_of in found.items() if set(all_of) <= set(known)}


def change(run: Running, key: str, parameters: tuple[str, ...], value: float) -> None:
    """Change the parameters of a setting."""
    for name in parameters:
        wanted: Any = value
        if name.endswith(".velocity"):
            wanted = list(cast(Any, run).parameters[name])
            wanted["xyz".index(key[-1])] = value
        cast(Any, run).set(name, wanted)
