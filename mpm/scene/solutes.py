"""Solutes in a scene: whether there are any, and what its bodies, walls and colliders need."""

from __future__ import annotations

from collections.abc import Iterator

from mpm.materials.laws import Material
from mpm.materials.solute import Solute
from mpm.scene.heat import conducts, named, refuse_late, refuse_unused_supply, suppliers
from mpm.scene.loads import SoluteSource
from mpm.scene.pores import saturated
from mpm.scene.scene import Scene
from mpm.scene.walls import shown_solute

__all__ = ["dissolves", "refuse_beside", "refuse_material", "refuse_solute", "refuse_suppliers"]


def _solutes(scene: Scene) -> Iterator[tuple[str, Solute]]:
    yield from ((name, one.solute) for name, one in named(scene) if one.solute is not None)


def dissolves(scene: Scene) -> bool:
    """Whether a body or an emitter of the scene has a material with ``solute=``."""
    return any(True for _ in _solutes(scene))


def refuse_material(material: Material, name: str, scene: Scene) -> None:
    """Raise ValueError for a body (`name`) with a solute, if the simulation began without."""
    if material.solute is not None and not dissolves(scene):
        given = f"material of {name!r}: solute = {material.solute!r}"
        refuse_late(scene, "solute", given, "a solute and has no concentrations")


def refuse_beside(scene: Scene) -> None:
    """Raise ValueError for a solute beside heat or pore water."""
    if not dissolves(scene):
        return
    name, solute = next(_solutes(scene))
    other = "thermal" if conducts(scene) else "pore" if saturated(scene) else ""
    if other:
        raise ValueError(
            f"material of {name!r}: solute = {solute!r}: other bodies have {other}=, and a simulation conducts one of "
            "both; leave one out"
        )


def refuse_suppliers(scene: Scene) -> None:
    """Raise ValueError for concentrations and fluxes of walls and colliders that nothing uses."""
    for name, given in () if dissolves(scene) else suppliers(scene, shown_solute):
        refuse_unused_supply(scene, "solute", f"{name}: {given}", "no body holds a solute")


def refuse_solute(scene: Scene, method: str) -> None:
    """Raise ValueError for a scene with a solute, if a method does not have it."""
    for name, solute in _solutes(scene):
        raise ValueError(
            f"material of {name!r}: solute = {solute!r}: {method} has no solutes; use mpm.Simulation, or leave solute= "
            "out"
        )
    for load in scene.loads:
        if isinstance(load, SoluteSource):
            raise ValueError(f"{load!r}: {method} has no solutes; use mpm.Simulation, or leave it out")
    for name, given in suppliers(scene, shown_solute):
        raise ValueError(f"{name}: {given}: {method} has no solutes; use mpm.Simulation, or leave it out")
