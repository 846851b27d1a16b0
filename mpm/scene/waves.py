"""Speeds of waves at absorbing walls and colliders."""

from __future__ import annotations

import math

from mpm.materials.laws import Material
from mpm.scene.colliders import Collider
from mpm.scene.scene import Scene
from mpm.scene.walls import ABSORBING

__all__ = [
    "collider_speeds",
    "refuse_absorbing",
    "refuse_absorbing_colliders",
    "refuse_other_waves",
    "speeds_of",
    "wave_speeds",
]

SAME = 1e-3  # relative difference of speeds that one wall absorbs as one


def wave_speeds(material: Material) -> tuple[float, float]:
    """Speeds of pressure and shear waves at rest [m/s]."""
    density = material._parameter("density")
    return material.wave_speed, math.sqrt(max(material._shear_modulus(), 0.0) / density)


def speeds_of(scene: Scene, face: str) -> tuple[float, float]:
    """The speeds of the waves that a wall lets out [m/s]; 0 for a wall that does not absorb.

    Raises
    ------
    ValueError
        They are not given, and the bodies have different speeds, or none.
    """
    wall = scene.walls[face]
    if wall.contact != ABSORBING:
        return 0.0, 0.0
    return wall.speeds or _common_speeds(scene, f"walls[{face!r}]", "Wall('absorbing', speeds=(c_p, c_s))")


def collider_speeds(scene: Scene, collider: Collider) -> tuple[float, float]:
    """The same of a collider; errors as there."""
    if collider.contact != ABSORBING:
        return 0.0, 0.0
    remedy = "add_collider(…, speeds=(c_p, c_s))"
    return collider.speeds or _common_speeds(scene, f"collider {collider.name!r}", remedy)


def _common_speeds(scene: Scene, name: str, remedy: str) -> tuple[float, float]:
    """The speeds that the waves of all bodies have; `remedy` gives those of an absorbing wall or collider."""
    filling = scene._filling
    if any(one._varies for one in filling):
        raise ValueError(
            f"{name}: the waves of a body have no one speed, because its parameters vary; must be {remedy}"
        )
    found = [wave_speeds(one) for one in filling]
    if not found:
        raise ValueError(f"{name}: there is no body; must be {remedy}")
    for other in found:
        if _differ(other, found[0]):
            told = " and ".join(f"({p:.4g}, {s:.4g})" for p, s in (found[0], other))
            raise ValueError(
                f"{name}: waves have speeds {told} m/s in different bodies; must be {remedy}, those of the body there"
            )
    return found[0]


def _differ(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return any(abs(a - b) > SAME * other[0] for a, b in zip(one, other, strict=True))


def refuse_other_waves(scene: Scene, material: Material) -> None:
    """Raise ValueError for a new material whose waves an absorbing wall or collider does not fit: its dashpots are
    those of the bodies at the beginning."""
    walls = {f"walls[{face!r}]": wall for face, wall in scene.walls.items()}
    surfaces = walls | {f"collider {one.name!r}": one for one in scene.colliders}
    for name, surface in surfaces.items():
        if surface.contact != ABSORBING or surface.speeds is not None:
            continue
        known = _common_speeds(scene, name, "")
        if material._varies or _differ(wave_speeds(material), known):
            told = "({:.4g}, {:.4g}) m/s"
            has = "no one speed" if material._varies else "speeds " + told.format(*wave_speeds(material))
            kind = (
                "Wall('absorbing', speeds=(c_p, c_s))"
                if name in walls
                else "speeds=(c_p, c_s) of the collider"
            )
            raise ValueError(
                f"material = {material!r}: its waves have {has}, but the dashpots of {name} those of the "
                f"bodies at the beginning, {told.format(*known)}; the scene needs {kind}"
            )


def refuse_absorbing(scene: Scene, why: str) -> None:
    """Raise ValueError for an absorbing wall or collider."""
    for face, wall in scene.walls.items():
        if wall.contact == ABSORBING:
            raise ValueError(f"walls[{face!r}] = {wall.contact!r}: {why}; choose another wall")
    refuse_absorbing_colliders(scene, why)


def refuse_absorbing_colliders(scene: Scene, why: str) -> None:
    """Raise ValueError for an absorbing collider."""
    for one in scene.colliders:
        if one.contact == ABSORBING:
            raise ValueError(
                f"contact = {one.contact!r} of collider {one.name!r}: {why}; choose another contact"
            )
