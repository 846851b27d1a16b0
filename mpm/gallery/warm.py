"""Scenes of bodies that conduct heat."""

from __future__ import annotations

from mpm import materials, shapes
from mpm.gallery.entry import listed
from mpm.materials.thermal import Thermal
from mpm.scene.scene import Scene
from mpm.scene.walls import Wall

__all__ = ["quench"]


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
