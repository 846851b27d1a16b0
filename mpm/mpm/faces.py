"""Crack faces that separate and slide: which scenes can have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from mpm.base import _check
from mpm.materials.brittle import Brittle
from mpm.materials.laws import Material
from mpm.scene.scene import Scene

__all__ = ["exist", "friction", "refuse", "refuse_late"]


class Numerics(Protocol):
    """What of the options of a simulation matters here."""

    @property
    def is_implicit(self) -> bool: ...
    @property
    def f_bar(self) -> bool: ...
    @property
    def kernel(self) -> str: ...
    @property
    def transfer(self) -> str: ...


def exist(materials: Iterable[Material]) -> bool:
    """Has any of the materials crack faces that separate?"""
    return any(isinstance(material, Brittle) and material.faces for material in materials)


def friction(materials: Iterable[Material]) -> float:
    """That of their faces."""
    return next(one.friction for one in materials if isinstance(one, Brittle) and one.faces)


def refuse(chosen: Numerics, scene: Scene, material: Material, others: Iterable[Material]) -> None:
    """Raise ValueError if a material cannot have faces beside the others in this scene, or cannot be beside theirs."""
    others = tuple(others)
    if not exist(others):
        return
    if why := _conflict(material, others) or _flaw(chosen, scene):
        raise ValueError(f"material = {_check.shown(material)}: faces = True: {why}")


def refuse_late(chosen: Numerics, scene: Scene, material: Material) -> None:
    """The same for a material that comes to a simulation of the scene."""
    there = scene._filling
    if exist([material]) and not exist(there):
        raise ValueError(
            f"material = {_check.shown(material)}: faces = True: the simulation began without crack faces, and its "
            "grid has one velocity field; add a body with faces to the scene"
        )
    refuse(chosen, scene, material, there)


def _conflict(material: Material, others: tuple[Material, ...]) -> str:
    """Why a material cannot be in one scene with the others, of which one has faces."""
    if isinstance(material, Brittle) and not material.faces:
        return "all Brittle of a scene share the sides of cracks; set faces=True for this one, too"
    if isinstance(material, Brittle) and material.friction != (shared := friction(others)):
        return (
            f"friction = {material.friction:g}: all faces of a scene have one friction, and those of another "
            f"material have {shared:g}; choose one"
        )
    if material._row["rigid"] or material._row["strain"] == "J":
        return (
            f"{type(material).__name__} beside crack faces is not supported, because it does not know their two "
            "velocity fields; use a collider or a solid, or leave faces out"
        )
    return ""


def _flaw(chosen: Numerics, scene: Scene) -> str:
    """Why no material of the scene can have faces."""
    images = [name for name, wall in scene.walls.items() if wall.contact in ("mirror", "periodic")]
    scalars = [
        name for name in ("thermal", "solute", "pore") if any(getattr(m, name) for m in scene._filling)
    ]
    flaws = (
        (scene._touches, "contact between bodies beside it is not supported; leave the contact or faces out"),
        (
            images,
            f"the wall {', '.join(images)} has images of nodes, at which sides are not known; use another wall",
        ),
        (
            scalars,
            f"{' and '.join(scalars)} has one field at both sides of a crack; leave it or faces out",
        ),
        (chosen.is_implicit, "implicit steps solve for one velocity field; use integrator='explicit'"),
        (chosen.f_bar, "f_bar=True averages over both sides of a crack; leave it out"),
        (
            chosen.kernel != "quadratic",
            f"kernel={chosen.kernel!r} does not tell their sides; use 'quadratic'",
        ),
        (chosen.transfer == "xpic", "transfer='xpic' filters one velocity field; use another transfer"),
    )
    return next((why for holds, why in flaws if holds), "")
