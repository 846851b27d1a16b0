"""Pore water in a scene: which scenes have it, and what their bodies and walls need."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mpm.materials.laws import Material
from mpm.materials.pore import Pore
from mpm.scene.heat import conducts, named, refuse_late, refuse_unused_supply
from mpm.scene.scene import Scene
from mpm.scene.walls import Wall

__all__ = [
    "refuse_beside_heat",
    "refuse_head",
    "refuse_material",
    "refuse_pore",
    "refuse_walls",
    "saturated",
    "wall_pressure",
]


def _pores(scene: Scene) -> Iterator[tuple[str, Pore]]:
    yield from ((name, material.pore) for name, material in named(scene) if material.pore is not None)


def saturated(scene: Scene) -> bool:
    """Whether a body or an emitter of the scene has a material with ``pore=``."""
    return any(True for _ in _pores(scene))


def _wetting(scene: Scene) -> Iterator[str]:
    """The walls with a head or a pore pressure: ``"walls['x-']: head = 3"``."""
    for face, wall in scene.walls.items():
        if wall.head is not None or wall.pore_pressure is not None:
            name = "head" if wall.head is not None else "pore_pressure"
            yield f"walls[{face!r}]: {name} = {getattr(wall, name):g}"


def refuse_material(material: Material, name: str, scene: Scene) -> None:
    """Raise ValueError for a body (`name`) whose pore water does not fit the scene with which the simulation began."""
    if (pore := material.pore) is None:
        return
    first = next(_pores(scene), None)
    if first is None:
        refuse_late(scene, "pore", f"material of {name!r}: pore = {pore!r}", "pore water")
    for what in ("fluid_density", "surface"):
        mine, other = getattr(pore, what), getattr(first[1], what)
        if mine != other:
            raise ValueError(
                f"material of {name!r}: pore: {what} = {mine!r}: that of {first[0]!r} is {other!r}; must be the same"
            )


def refuse_head(material: Material, name: str, scene: Scene) -> None:
    """Raise ValueError for a body (`name`) that begins with a head, if there is no gravity now."""
    pore = material.pore
    if pore is not None and pore.head is not None and not np.any(scene.gravity):
        raise ValueError(
            f"material of {name!r}: pore: head = {pore.head:g}: there is no gravity; give it a pressure="
        )


def refuse_beside_heat(scene: Scene) -> None:
    """Raise ValueError for heat beside pore water, and for emitters with a head."""
    if not saturated(scene):
        return
    name, pore = next(_pores(scene))
    if conducts(scene):
        raise ValueError(
            f"material of {name!r}: pore = {pore!r}: other bodies have thermal=, and a simulation conducts one of "
            "both, heat or pore pressure; leave one out"
        )
    for emitter in scene.emitters:
        of = emitter.material.pore
        if of is not None and of.head is not None:
            raise ValueError(
                f"material of {emitter.name!r}: pore: head = {of.head:g}: what comes in has one pressure; use pressure="
            )


def refuse_walls(scene: Scene) -> None:
    """Raise ValueError for heads and pore pressures of walls that nothing uses, or that have no meaning."""
    wet = saturated(scene)
    for given in _wetting(scene):
        if not wet:
            refuse_unused_supply(scene, "pore", given, "no body has pore water")
    if not wet:
        return
    gravity = np.asarray(scene.gravity)
    for face, wall in scene.walls.items():
        axis = "xyz".index(face[0])
        if wall.contact == "periodic" and gravity[axis]:
            raise ValueError(
                f"walls[{face!r}]: a 'periodic' wall across gravity has no pore pressure; turn gravity, or choose "
                "another contact"
            )
        along = np.delete(gravity, axis)
        if wall.pore_pressure is not None and np.any(along):
            raise ValueError(
                f"walls[{face!r}]: pore_pressure = {wall.pore_pressure:g}: gravity has a component along this face, "
                "where water has no one pressure; give it a head="
            )
        if wall.head is not None and not np.any(gravity):
            raise ValueError(
                f"walls[{face!r}]: head = {wall.head:g}: there is no gravity; give it a pore_pressure="
            )


def wall_pressure(scene: Scene, face: str, wall: Wall) -> tuple[str, float, float] | None:
    """What the core gets: a pressure [Pa], and the height against gravity where it is [m]."""
    if wall.head is not None:
        return "temperature", 0.0, wall.head
    if wall.pore_pressure is None:
        return None
    gravity, axis = np.asarray(scene.gravity, dtype=np.float64), "xyz".index(face[0])
    size = float(np.linalg.norm(gravity))
    at = float((scene.lower if face[1] == "-" else scene.upper)[axis])
    return "temperature", wall.pore_pressure, -float(gravity[axis]) * at / size if size else 0.0


def refuse_pore(scene: Scene, method: str) -> None:
    """Raise ValueError for a scene with pore water, if a method does not have it."""
    for name, pore in _pores(scene):
        raise ValueError(
            f"material of {name!r}: pore = {pore!r}: {method} has no pore water; use mpm.Simulation, or leave pore= out"
        )
    for given in _wetting(scene):
        raise ValueError(f"{given}: {method} has no pore water; use mpm.Simulation, or leave it out")
