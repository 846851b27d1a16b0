"""Scenes of bodies that conduct heat, or take up water."""

from __future__ import annotations

import math

from mpm import materials, shapes
from mpm.base import _check
from mpm.gallery.entry import listed
from mpm.materials.solute import Solute
from mpm.materials.thermal import Melting, Thermal
from mpm.scene.contacts import Contact
from mpm.scene.scene import Scene
from mpm.scene.walls import Wall

__all__ = ["curling_bilayer", "friction_weld", "melting_snowman", "quench"]


@listed(
    "a hot bar on a cold floor cools from below and arches (2-D)",
    duration=2.0,
    fps=30.0,
    numerics={"dx": 1 / 64},
    color="temperature",
    limits=(300.0, 1100.0),
)
def quench(
    *,
    E: float = 3e6,
    nu: float = 0.3,
    density: float = 1000.0,
    conductivity: float = 5.0,
    specific_heat: float = 1.0,
    expansion: float = 3e-4,
    temperature: float = 1100.0,
    gravity: float = 9.81,
) -> Scene:
    """A hot bar, 0.8 m long and 0.12 m thick, cools from below on a floor of 300 K.

    Its lower side shrinks and becomes the inner side of an arch: the middle lifts off the floor, and heat then leaves
    through the feet alone.

    Parameters
    ----------
    E, nu, density
        [Pa], [1], [kg/m³].
    conductivity, specific_heat, expansion
        As in `mpm.Thermal` [W/(m K)], [J/(kg K)], [1/K]. Heat spreads over 0.07 m in the first second.
    temperature : float
        Of the bar [K].
    gravity : float
        [m/s²], downwards.
    """
    floor = Wall("separate", friction=0.3, temperature=300.0)
    scene = Scene((0, 0), (1, 0.5), gravity=(0, -gravity), walls={"y-": floor})
    thermal = Thermal(conductivity, specific_heat, temperature, expansion)
    steel = materials.NeoHookean(E=E, nu=nu, density=density, thermal=thermal)
    scene.add(shapes.Box((0.1, 0.03), (0.9, 0.15)), steel, name="bar")
    return scene


@listed(
    "a snowman on a warm floor melts, sinks, and becomes a puddle (2-D)",
    duration=4.0,
    fps=30.0,
    numerics={"dx": 1 / 64},
    color="liquid_fraction",
    limits=(0.0, 1.0),
)
def melting_snowman(
    *,
    bulk_modulus: float = 5e5,
    shear_modulus: float = 1e5,
    yield_stress: float = 4e3,
    consistency: float = 0.5,
    density: float = 500.0,
    conductivity: float = 8.0,
    specific_heat: float = 2.1,
    latent_heat: float = 334.0,
    temperature: float = 270.0,
    gravity: float = 9.81,
) -> Scene:
    """A snowman, 0.44 m high, on a floor of 340 K.

    Wet snow is a paste with a yield stress, which falls to nothing as a particle takes its latent heat: what has melted
    flows away, shrinks to the density of water, and brings the next snow to the floor. Specific and latent heat are a
    thousandth of those of snow, so that hours become seconds. ``history["heat"]`` grows by ``wall_heat`` and,
    a little, by ``friction_heat``.

    Parameters
    ----------
    bulk_modulus, shear_modulus, yield_stress : float
        Of the snow [Pa]. Water keeps the bulk modulus, and a thousandth of the shear modulus.
    consistency : float
        Viscosity of the water [Pa s].
    density : float
        Of the snow [kg/m³].
    conductivity, specific_heat, latent_heat : float
        As in `mpm.Thermal` and `mpm.Melting` [W/(m K)], [J/(kg K)], [J/kg].
    temperature : float
        Of the snow [K].
    gravity : float
        [m/s²], downwards.
    """
    walls: dict[str, str | Wall] = {"x": "slip", "y-": Wall("separate", friction=0.2, temperature=340.0)}
    scene = Scene((0, 0), (1, 0.5), gravity=(0, -gravity), walls=walls)
    melting = Melting(273.15, latent_heat, density=1000.0)
    scale = {
        "shear_modulus": ([273.15, 273.15], [1.0, 1e-3]),
        "yield_stress": ([273.15, 273.15], [1.0, 0.0]),
    }
    thermal = Thermal(conductivity, specific_heat, temperature, melting=melting, scale=scale)
    snow = materials.HerschelBulkley(
        bulk_modulus=bulk_modulus,
        shear_modulus=shear_modulus,
        yield_stress=yield_stress,
        consistency=consistency,
        density=density,
        thermal=thermal,
    )
    figure = (
        shapes.Ball((0.5, 0.095), 0.1) | shapes.Ball((0.5, 0.245), 0.075) | shapes.Ball((0.5, 0.36), 0.055)
    )
    scene.add(figure & shapes.HalfSpace((0, 0), (0, -1)), snow, name="snowman")
    return scene


@listed(
    "two bars that are rubbed against each other heat, soften at their faces, and yield there (2-D)",
    duration=1.0,
    fps=60.0,
    numerics={"dx": 1 / 64, "dissipation": True},
    color="temperature",
    limits=(300.0, 420.0),
)
def friction_weld(
    *,
    E: float = 1e6,
    density: float = 1000.0,
    yield_stress: float = 3e4,
    friction: float = 0.5,
    conductivity: float = 0.3,
    amplitude: float = 0.03,
    frequency: float = 8.0,
    pressing: float = 0.06,
) -> Scene:
    """Linear friction welding: the upper of two bars, 0.25 m wide, swings along the lower one and is pressed onto it.

    Friction heats both faces by halves of its work, and plastic flow heats them, too. Strength falls with the
    temperature, so the hot faces yield and are squeezed out, as the bars shorten. The metal is as soft as clay and has
    a small heat capacity, so that a second shows what takes longer. ``history["heat"]`` grows by ``friction_work`` and
    by 0.9 times the dissipation of the step before.

    Parameters
    ----------
    E, density, yield_stress
        [Pa], [kg/m³], [Pa] at 300 K.
    friction : float
        Between the bars.
    conductivity : float
        [W/(m K)].
    amplitude, frequency : float
        Of the swinging [m], >= 0 and <= 0.1; [1/s], >= 0.
    pressing : float
        Velocity of the upper end downwards [m/s], >= 0.
    """
    swing = _check.number("amplitude", amplitude, low=0, high=0.1, unit="m")
    omega = 2 * math.pi * _check.number("frequency", frequency, low=0, unit="1/s")
    speed = _check.number("pressing", pressing, low=0, unit="m/s")
    contact = Contact("separate", friction=friction)
    scene = Scene((0, 0), (1, 0.75), walls={"y-": "sticky"}, contact=contact)
    thermal = Thermal(
        conductivity,
        1.0,
        300.0,
        taylor_quinney=0.9,
        scale={"yield_stress": ([300, 450], [1.0, 0.1]), "E": ([300, 450], [1.0, 0.5])},
    )
    metal = materials.VonMises(E=E, nu=0.3, density=density, yield_stress=yield_stress, thermal=thermal)
    scene.add(shapes.Box((0.375, 0), (0.625, 0.25)), metal, name="lower")
    upper = scene.add(shapes.Box((0.375, 0.25), (0.625, 0.5)), metal, name="upper")
    scene.hold(
        upper,
        shapes.Box((0, 0.4375), (1, 1)),
        velocity=lambda t: (swing * omega * math.cos(omega * t), -speed),
        name="chuck",
    )
    return scene


@listed(
    "a strip on a wet floor takes up water below, swells there and curls up, as paper on water does (2-D)",
    duration=3.0,
    fps=30.0,
    numerics={"dx": 1 / 64, "damping": 10.0},
    color="concentration",
    limits=(0.0, 1.0),
)
def curling_bilayer(
    *,
    E: float = 2e6,
    nu: float = 0.0,
    density: float = 1000.0,
    diffusivity: float = 2e-3,
    swelling: float = 0.15,
    gravity: float = 2.0,
) -> Scene:
    """A strip, 0.75 m long and 1/16 m thick, lies on a wet floor. Water diffuses into its lower half, which swells.

    The strip bends away from the floor until only its middle touches it and takes up water, which diffuses on to the
    ends. When the lower half is evenly wet, the curvature of a strip without weight is that of Timoshenko's two
    metals, 3 ε/(2 × thickness) for layers of equal stiffness with the difference ε of their strains
    (`python benchmarks/heat.py bilayer`). The concentration is a share of saturation, 1 at the floor.

    Parameters
    ----------
    E, nu, density
        [Pa], [1], [kg/m³], of both layers.
    diffusivity : float
        Of water in the lower layer [m²/s].
    swelling : float
        Linear strain of saturated material, 0 to 0.5.
    gravity : float
        [m/s²], downwards.
    """
    strain = _check.number("swelling", swelling, low=0, high=0.5)
    floor = Wall("separate", concentration=1.0)
    scene = Scene((0, 0), (1, 0.5), gravity=(0, -gravity), walls={"y-": floor})
    paper = materials.NeoHookean(E=E, nu=nu, density=density, solute=Solute(diffusivity, strain))
    coat = materials.NeoHookean(E=E, nu=nu, density=density)
    scene.add(shapes.Box((0.125, 0), (0.875, 0.03125)), paper, name="paper")
    scene.add(shapes.Box((0.125, 0.03125), (0.875, 0.0625)), coat, name="coat")
    return scene
