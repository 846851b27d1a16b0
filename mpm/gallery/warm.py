"""Scenes of bodies that conduct heat."""

from __future__ import annotations

from mpm import materials, shapes
from mpm.gallery.entry import listed
from mpm.materials.thermal import Melting, Thermal
from mpm.scene.scene import Scene
from mpm.scene.walls import Wall

__all__ = ["melting_snowman", "quench"]


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
    thousandth of those of snow, so that hours become seconds. ``history["heat"]`` grows by ``wall_heat`` alone.

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
