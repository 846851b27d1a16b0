"""Speeds of waves at absorbing walls."""

from __future__ import annotations

import math

from mpm.materials.laws import Material
from mpm.scene.scene import Scene
from mpm.scene.walls import ABSORBING

__all__ = ["refuse_absorbing", "refuse_other_waves", "speeds_of", "wave_speeds"]

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
    if wall.speeds is not None:
        return wall.speeds
    filling = scene._filling
    if any(one._varies for one in filling):
        raise ValueError(
            f"walls[{face!r}]: the waves of a body have no one speed, because its parameters vary; must be "
            "Wall('absorbing', speeds=(c_p, c_s))"
        )
    found = [wave_speeds(one) for one in filling]
    if not found:
        raise ValueError(f"walls[{face!r}]: there is no body; must be Wall('absorbing', speeds=(c_p, c_s))")
    for other in found:
        if _differ(other, found[0]):
            told = " and ".join(f"({p:.4g}, {s:.4g})" for p, s in (found[0], other))
            raise ValueError(
                f"walls[{face!r}]: waves have speeds {told} m/s in different bodies; must be "
                "Wall('absorbing', speeds=(c_p, c_s)), those of the body at the face"
            )
    return found[0]


def _differ(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return any(abs(a - b) > SAME * other[0] for a, b in zip(one, other, strict=True))


def refuse_other_waves(scene: Scene, material: Material) -> None:
    """Raise ValueError for a new material whose waves an absorbing wall does not fit: its dashpots are those of the
    bodies at the beginning."""
    for face, wall in scene.walls.items():
        if wall.contact != ABSORBING or wall.speeds is not None:
            continue
        known = speeds_of(scene, face)
        if material._varies or _differ(wave_speeds(material), known):
            told = "({:.4g}, {:.4g}) m/s"
            has = "no one speed" if material._varies else "speeds " + told.format(*wave_speeds(material))
            raise ValueError(
                f"material = {material!r}: its waves have {has}, but the dashpots of walls[{face!r}] those of the "
                f"bodies at the beginning, {told.format(*known)}; the scene needs "
                "Wall('absorbing', speeds=(c_p, c_s))"
            )


def refuse_absorbing(scene: Scene, why: str) -> None:
    """Raise ValueError for an absorbing wall."""
    for face, wall in scene.walls.items():
        if wall.contact == ABSORBING:
            raise ValueError(f"walls[{face!r}] = {wall.contact!r}: {why}; choose another wall")
