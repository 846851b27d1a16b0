"""Heat in a scene: which scenes conduct it, and what their bodies and walls need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn

from mpm import _core
from mpm.materials.laws import Material
from mpm.scene.loads import HeatSource
from mpm.scene.scene import Scene
from mpm.scene.walls import heat_of, shown_heat, shown_solute, solute_of

__all__ = [
    "conducted",
    "conducts",
    "liquid_stretch",
    "named",
    "refuse_few_cells",
    "refuse_heat",
    "refuse_heaters",
    "refuse_late",
    "refuse_thermal",
    "refuse_unheated",
    "refuse_unused_supply",
    "suppliers",
]


def named(scene: Scene) -> Iterator[tuple[str, Material]]:
    """Names and materials of the bodies, then of the emitters."""
    yield from ((one.name, one.material) for one in scene.bodies)
    yield from ((one.name, one.material) for one in scene.emitters)


def conducts(scene: Scene) -> bool:
    """Whether a body or an emitter of the scene has a material with ``thermal=``."""
    return any(material.thermal is not None for material in scene._filling)


CONDUCTED = {  # a simulation has one of them, by this argument of materials: what walls and colliders give of it
    "thermal": "temperature=, flux= or transfer=",
    "solute": "concentration=, solute_flux= or solute_transfer=",
    "pore": "head= or pore_pressure= of walls",
}


def conducted(scene: Scene) -> str:
    """Which of `CONDUCTED` a body or an emitter of the scene has; empty: none."""
    return next((one for one in CONDUCTED if any(getattr(m, one) is not None for m in scene._filling)), "")


def refuse_unused_supply(scene: Scene, kind: str, given: str, flaw: str) -> NoReturn:
    """Raise ValueError for something of `kind`, one of `CONDUCTED`, that a wall or collider gives and nothing takes."""
    advice = f"give their materials {kind}=mpm.{kind.capitalize()}(...)"
    if other := conducted(scene):
        advice = f"the bodies have {other}=, which takes {CONDUCTED[other]}"
    raise ValueError(f"{given}: {flaw}: not used; {advice}")


def refuse_late(scene: Scene, kind: str, given: str, lacks: str) -> NoReturn:
    """Raise ValueError for a material that brings one of `CONDUCTED` to a simulation that began without."""
    advice = f"give a body of its scene a material with {kind}="
    if other := conducted(scene):
        advice = f"its bodies have {other}=, and a simulation conducts one of both: leave {kind}= out"
    raise ValueError(f"{given}: the simulation began without {lacks}; {advice}")


def liquid_stretch(material: Material, dimension: int) -> float:
    """How much longer material without stress is when it has melted."""
    melting = material.thermal.melting if material.thermal is not None else None
    if melting is None or melting.density is None:
        return 1.0
    return float((material._one_density / melting.density) ** (1 / dimension))


def suppliers(scene: Scene, shown: Callable[[object], tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """The walls and colliders that give something (`shown_heat`, `shown_solute`), and what: ``"walls['x-']"``,
    ``"flux=3"``."""
    for face, wall in scene.walls.items():
        yield from ((f"walls[{face!r}]", given) for given in shown(wall))
    for collider in scene.colliders:
        yield from ((f"collider {collider.name!r}", given) for given in shown(collider))


def refuse_thermal(material: Material, name: str, scene: Scene) -> None:
    """Raise ValueError for a body (`name`) that does not fit the scene with which the simulation began."""
    if material._row["rigid"]:
        return
    heated = conducts(scene)
    if heated and material.thermal is None:
        raise ValueError(
            f"material of {name!r}: has no thermal=, but other bodies of the scene conduct heat; must have "
            f"thermal=mpm.Thermal(...), as all bodies that deform, or none may have it"
        )
    melting = material.thermal.melting if material.thermal is not None else None
    if melting is not None and melting.density is not None and not material._one_density:
        raise ValueError(
            f"material of {name!r}: melting: density = {melting.density:g}: the density of the solid varies; must be "
            "one number"
        )
    if not heated and material.thermal is not None:
        given = f"material of {name!r}: thermal = {material.thermal!r}"
        refuse_late(scene, "thermal", given, "heat and has no temperatures")


def refuse_unheated(material: Material, name: str, dissipation: bool) -> None:
    """Raise ValueError for a share of the dissipation that heats, in a simulation without dissipation."""
    thermal = material.thermal
    if thermal is not None and thermal.taylor_quinney and not dissipation:
        raise ValueError(
            f"material of {name!r}: taylor_quinney = {thermal.taylor_quinney:g}: needs dissipation=True of "
            "mpm.Simulation, which finds what heats; or leave it out"
        )


def refuse_heaters(scene: Scene) -> None:
    """Raise ValueError for temperatures and fluxes of walls and colliders that nothing uses."""
    for name, given in () if conducts(scene) else suppliers(scene, shown_heat):
        refuse_unused_supply(scene, "thermal", f"{name}: {given}", "no body conducts heat")


def refuse_few_cells(scene: Scene, cells: tuple[int, ...]) -> None:
    """Raise ValueError for what walls supply, heat or a solute, if the domain has too few cells across them."""
    for face, wall in scene.walls.items():
        count = cells["xyz".index(face[0])]
        given = ", ".join((*shown_heat(wall), *shown_solute(wall)))
        if (heat_of(wall) or solute_of(wall)) and count < _core.FEWEST_PERIODIC_CELLS:
            raise ValueError(
                f"walls[{face!r}]: {given}: there are {count} cells along {face[0]}; must be >= "
                f"{_core.FEWEST_PERIODIC_CELLS}"
            )


def refuse_heat(scene: Scene, method: str) -> None:
    """Raise ValueError for a scene with heat, if a method does not conduct it."""
    for name, material in named(scene):
        if material.thermal is not None:
            raise ValueError(
                f"material of {name!r}: thermal = {material.thermal!r}: {method} does not conduct heat; use "
                "mpm.Simulation, or leave thermal= out"
            )
    for load in scene.loads:
        if isinstance(load, HeatSource):
            raise ValueError(f"{load!r}: {method} does not conduct heat; use mpm.Simulation, or leave it out")
    for name, given in suppliers(scene, shown_heat):
        raise ValueError(
            f"{name}: {given}: {method} does not conduct heat; use mpm.Simulation, or leave it out"
        )
