"""Heat in a scene: which scenes conduct it, and what their bodies and walls need."""

from __future__ import annotations

from collections.abc import Iterator

from mpm import _core
from mpm.materials.laws import Material
from mpm.scene.scene import Scene

__all__ = [
    "conducts",
    "heated_faces",
    "named",
    "refuse_heat",
    "refuse_thermal",
    "refuse_unheated",
    "refuse_walls",
]


def named(scene: Scene) -> Iterator[tuple[str, Material]]:
    """Names and materials of the bodies, then of the emitters."""
    yield from ((one.name, one.material) for one in scene.bodies)
    yield from ((one.name, one.material) for one in scene.emitters)


def conducts(scene: Scene) -> bool:
    """Whether a body or an emitter of the scene has a material with ``thermal=``."""
    return any(material.thermal is not None for material in scene._filling)


def heated_faces(scene: Scene) -> dict[str, tuple[str, float]]:
    """The faces that are not insulated: the name of the given quantity, and its value."""
    found: dict[str, tuple[str, float]] = {}
    for face, wall in scene.walls.items():
        if wall.temperature is not None:
            found[face] = "temperature", wall.temperature
        elif wall.flux:
            found[face] = "flux", wall.flux
    return found


def refuse_thermal(material: Material, name: str, heated: bool) -> None:
    """Raise ValueError for a body (`name`) that does not fit a simulation with (`heated`) or without heat."""
    if material._row["rigid"]:
        return
    if heated and material.thermal is None:
        own = type(material).__name__ == "JohnsonCook"
        why = "; JohnsonCook keeps a temperature of its own, and cannot conduct" if own else ""
        raise ValueError(
            f"material of {name!r}: has no thermal=, but other bodies of the scene conduct heat; must have "
            f"thermal=mpm.Thermal(...), as all bodies that deform, or none may have it{why}"
        )
    if not heated and material.thermal is not None:
        raise ValueError(
            f"material of {name!r}: thermal = {material.thermal!r}: the simulation began without heat and has no "
            "temperatures; give a body of its scene a material with thermal="
        )


def refuse_unheated(material: Material, name: str, dissipation: bool) -> None:
    """Raise ValueError for a share of the dissipation that heats, in a simulation without dissipation."""
    thermal = material.thermal
    if thermal is not None and thermal.taylor_quinney and not dissipation:
        raise ValueError(
            f"material of {name!r}: taylor_quinney = {thermal.taylor_quinney:g}: needs dissipation=True of "
            "mpm.Simulation, which finds what heats; or leave it out"
        )


def refuse_walls(scene: Scene, cells: tuple[int, ...]) -> None:
    """Raise ValueError for temperatures and fluxes of walls that nothing uses, or for a domain with too few cells."""
    for face, (what, value) in heated_faces(scene).items():
        if not conducts(scene):
            raise ValueError(
                f"walls[{face!r}]: {what} = {value:g}: no body conducts heat: not used; give their materials "
                "thermal=mpm.Thermal(...)"
            )
        if cells["xyz".index(face[0])] < _core.FEWEST_PERIODIC_CELLS:
            raise ValueError(
                f"walls[{face!r}]: {what} = {value:g}: there are {cells['xyz'.index(face[0])]} cells along {face[0]}; "
                f"must be >= {_core.FEWEST_PERIODIC_CELLS}"
            )


def refuse_heat(scene: Scene, method: str) -> None:
    """Raise ValueError for a scene with heat, if a method does not conduct it."""
    for name, material in named(scene):
        if material.thermal is not None:
            raise ValueError(
                f"material of {name!r}: thermal = {material.thermal!r}: {method} does not conduct heat; use "
                "mpm.Simulation, or leave thermal= out"
            )
    for face, (what, value) in heated_faces(scene).items():
        raise ValueError(
            f"walls[{face!r}]: {what} = {value:g}: {method} does not conduct heat; use mpm.Simulation, or leave it out"
        )
