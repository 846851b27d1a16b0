"""What is conducted in a simulation, heat, pore water or a solute: what may come to it later."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping

from mpm.base import _check
from mpm.materials.laws import Material
from mpm.scene import heat, pores, solutes, walls
from mpm.scene.colliders import Collider
from mpm.scene.loads import HeatSource, Load, SoluteSource
from mpm.scene.scene import Body, Scene
from mpm.scene.walls import Supply, Wall

__all__ = ["refuse_body", "refuse_boundaries", "refuse_source", "supply_of", "warn_of_smooth"]


def refuse_body(body: Body, scene: Scene, dissipation: bool) -> None:
    """Raise ValueError for a body that does not fit the scene with which the simulation began."""
    material, name = body.material, body.name
    heat.refuse_thermal(material, name, scene)
    heat.refuse_unheated(material, name, dissipation)
    pores.refuse_material(material, name, scene)
    pores.refuse_head(material, name, scene)
    solutes.refuse_material(material, name, scene)


def refuse_boundaries(scene: Scene) -> None:
    """Raise ValueError for what walls and colliders give and nothing takes."""
    heat.refuse_heaters(scene)
    pores.refuse_walls(scene)
    solutes.refuse_suppliers(scene)


def supply_of(scene: Scene, face: str) -> Supply | None:
    """What a wall supplies, as the core gets it: heat, a solute or a pore pressure."""
    wall = scene.walls[face]
    return walls.heat_of(wall) or walls.solute_of(wall) or pores.wall_pressure(scene, face, wall)


def refuse_source(load: Load, material: Material) -> None:
    """Raise ValueError for a source in a body of a material that cannot take it."""
    where = f"body of {load.name!r} = {load.body!r}"
    if isinstance(load, SoluteSource) and material.solute is None:
        advice = (
            "use scene.add_heat_source" if material.thermal else "give its material solute=mpm.Solute(...)"
        )
        raise ValueError(f"{where}: holds no solute; {advice}")
    if isinstance(load, HeatSource) and material.thermal is None:
        advice = (
            "use scene.add_solute_source" if material.solute else "give its material thermal=mpm.Thermal(...)"
        )
        raise ValueError(f"{where}: does not conduct heat; {advice}")


def warn_of_smooth(faces: Mapping[str, Wall], colliders: Iterable[Collider]) -> None:
    """Warn of a share of the heat of friction where there is no friction, although a change may bring some."""
    surfaces: list[tuple[str, str, Wall | Collider]] = [
        (f"walls[{face!r}]", face, wall) for face, wall in faces.items()
    ]
    surfaces += [(f"collider {one.name!r}", one.name, one) for one in colliders]
    for where, name, one in surfaces:
        if one.friction_heat != 1 and not one.friction:
            warnings.warn(
                f"{where}: friction_heat = {one.friction_heat:g}: it has no friction, and so no heat of friction; give "
                f"it friction=, change '{name}.friction' in the run, or leave friction_heat out",
                UserWarning,
                stacklevel=_check.levels_to_caller(),
            )
