"""Scenes of bodies that crack."""

from __future__ import annotations

from typing import Any

from mpm import materials, motion, shapes
from mpm.base import _check
from mpm.gallery.entry import listed
from mpm.scene.scene import Scene
from mpm.scene.walls import Wall

__all__ = ["brazilian_disc", "glass_drop", "three_point_bending", "wall_breach"]


@listed(
    "a disc falls on a floor and breaks (2-D)",
    duration=0.15,
    fps=400.0,
    numerics={"dx": 1 / 80},
    color="damage",
    limits=(0.0, 1.0),
)
def glass_drop(
    *,
    E: float = 1e7,
    nu: float = 0.2,
    density: float = 1000.0,
    tensile_strength: float = 6e4,
    fracture_energy: float = 20.0,
    speed: float = 2.0,
    gravity: float = 9.81,
) -> Scene:
    """A disc, 0.4 m wide, strikes the floor with `speed` [m/s], downwards, and cracks.

    The strength varies by Weibull's distribution in squares of 4 cm, with the modulus 8, so that the pieces are not
    symmetric. `mpm.fragments` counts them.

    Parameters
    ----------
    E, nu, density
        [Pa], [1], [kg/m³].
    tensile_strength : float
        The scale of the distribution [Pa].
    fracture_energy : float
        [J/m²].
    speed, gravity : float
        [m/s], [m/s²], both downwards.
    """
    v = _check.number("speed", speed, unit="m/s")
    scale = _check.number("tensile_strength", tensile_strength, low=0, low_open=True, unit="Pa")
    floor = Wall("separate", friction=0.2)
    scene = Scene((0, 0), (1.2, 0.7), gravity=(0, -gravity), walls={"y-": floor})
    strength: Any = materials.Weibull(scale, 8, length=0.04, seed=1)
    glass = materials.Brittle(
        E=E, nu=nu, density=density, tensile_strength=strength, fracture_energy=fracture_energy
    )
    scene.add(shapes.Ball((0.6, 0.22), 0.2), glass, velocity=(0, -v), name="disc")
    return scene


@listed(
    "a beam on two supports cracks under a stamp (2-D)",
    duration=0.1,
    fps=300.0,
    numerics={"dx": 1 / 40},
    color="damage",
    limits=(0.0, 1.0),
)
def three_point_bending(
    *,
    E: float = 1e7,
    nu: float = 0.2,
    density: float = 1000.0,
    tensile_strength: float = 2e4,
    fracture_energy: float = 8.0,
    speed: float = 0.2,
) -> Scene:
    """A beam, 1.2 m × 0.25 m, with a notch in the middle of its lower side, on two round supports 1 m apart.

    A round stamp presses on its middle. The crack grows from the notch to the stamp and parts the beam.

    Parameters
    ----------
    E, nu, density
        [Pa], [1], [kg/m³].
    tensile_strength, fracture_energy : float
        [Pa], [J/m²].
    speed : float
        Of the ``stamp`` [m/s], downwards.
    """
    v = _check.number("speed", speed, unit="m/s")
    mortar = materials.Brittle(
        E=E, nu=nu, density=density, tensile_strength=tensile_strength, fracture_energy=fracture_energy
    )
    scene = Scene((0, 0), (1.5, 0.75))
    notch = shapes.Box((0.7375, 0.2), (0.7625, 0.3))
    scene.add(shapes.Box((0.15, 0.25), (1.35, 0.5)) - notch, mortar, name="beam")
    for name, x in (("left", 0.25), ("right", 1.25)):
        scene.add_collider(shapes.Ball((x, 0.2), 0.05), contact="separate", name=name)
    scene.add_collider(
        shapes.Ball((0.75, 0.55), 0.05), contact="separate", motion=motion.Linear((0, -v)), name="stamp"
    )
    return scene


@listed(
    "a disc of rock is split by two plates that press on it (2-D)",
    duration=0.075,
    fps=800.0,
    numerics={"dx": 1 / 64},
    color="damage",
    limits=(0.0, 1.0),
)
def brazilian_disc(
    *,
    E: float = 1e7,
    nu: float = 0.2,
    density: float = 1000.0,
    tensile_strength: float = 6e4,
    fracture_energy: float = 20.0,
    speed: float = 0.3,
) -> Scene:
    """A disc, 0.8 m wide, between two plates that approach each other: the Brazilian test of tensile strength.

    The stress across the loaded diameter is tension, 2P/(πD) for the load P per thickness. So the crack begins in the
    middle and splits the disc; its sides have velocities of their own and part.

    Parameters
    ----------
    E, nu, density
        [Pa], [1], [kg/m³].
    tensile_strength, fracture_energy : float
        [Pa], [J/m²].
    speed : float
        Of each plate [m/s].
    """
    v = _check.number("speed", speed, unit="m/s")
    rock = materials.Brittle(
        E=E,
        nu=nu,
        density=density,
        tensile_strength=tensile_strength,
        fracture_energy=fracture_energy,
        faces=True,
        friction=0.4,
    )
    scene = Scene((0, 0), (1.25, 1.3125))
    scene.add(shapes.Ball((0.625, 0.65), 0.4), rock, name="disc")
    for name, y, up in (("lower", 0.2, v), ("upper", 1.1, -v)):
        plate = shapes.Box((0.5, y - 0.05), (0.75, y + 0.05))
        scene.add_collider(plate, contact="separate", friction=0.3, motion=motion.Linear((0, up)), name=name)
    return scene


@listed(
    "a wrecking ball breaks through a wall (2-D)",
    duration=0.4,
    fps=150.0,
    numerics={"dx": 1 / 64},
    color="damage",
    limits=(0.0, 1.0),
)
def wall_breach(
    *,
    E: float = 1e7,
    nu: float = 0.2,
    density: float = 1500.0,
    tensile_strength: float = 1.5e5,
    fracture_energy: float = 120.0,
    speed: float = 3.0,
    gravity: float = 9.81,
) -> Scene:
    """A ball, 0.3 m wide and as hard as steel, goes through a wall of 0.15 m × 0.9 m.

    The strength varies by Weibull's distribution in squares of 4 cm. The sides of cracks have velocities of their own,
    so the fragments turn, fall, and break again where they strike.

    Parameters
    ----------
    E, nu, density
        [Pa], [1], [kg/m³].
    tensile_strength : float
        The scale of the distribution, whose modulus is 8 [Pa].
    fracture_energy : float
        [J/m²].
    speed : float
        Of the ``ball``, to the right [m/s].
    gravity : float
        [m/s²], downwards.
    """
    v = _check.number("speed", speed, unit="m/s")
    scale = _check.number("tensile_strength", tensile_strength, low=0, low_open=True, unit="Pa")
    strength: Any = materials.Weibull(scale, 8, length=0.04, seed=2)
    brick = materials.Brittle(
        E=E,
        nu=nu,
        density=density,
        tensile_strength=strength,
        fracture_energy=fracture_energy,
        faces=True,
        friction=0.4,
    )
    scene = Scene((0, 0), (2, 1.125), gravity=(0, -gravity), walls={"y-": "sticky"})
    scene.add(shapes.Box((0.9, 0), (1.05, 0.9)), brick, name="wall")
    ball = shapes.Ball((0.7, 0.5), 0.15)
    scene.add_collider(ball, contact="separate", motion=motion.Linear((v, 0)), name="ball")
    return scene
