"""What is conducted in a simulation, heat, pore water or a solute: what may come to it later."""

from __future__ import annotations

from mpm.materials.laws import Material
from mpm.scene import heat, pores, solutes
from mpm.scene.loads import HeatSource, Load, SoluteSource
from mpm.scene.scene import Body, Scene

__all__ = ["refuse_body", "refuse_boundaries", "refuse_source"]


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


def refuse_source(load: Load, material: Material) -> None:
    """Raise ValueError for a source in a body of a material that cannot take it."""
    where = f"body of {load.name!r} = {load.body!r}"
    if isinstance(load, SoluteSource) and material.solute is None:
        advice = "use scene.add_heat_source" if material.thermal else "give its material solute=mpm.Solute(...)"
        raise ValueError(f"{where}: holds no solute; {advice}")
    if isinstance(load, HeatSource) and material.thermal is None:
        advice = "use scene.add_solute_source" if material.solute else "give its material thermal=mpm.Thermal(...)"
        raise ValueError(f"{where}: does not conduct heat; {advice}")
