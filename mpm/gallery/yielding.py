"""Scenes of materials that yield, break, flow or relax: metal, bread, mud, jelly."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpm import materials, shapes
from mpm.gallery.entry import listed
from mpm.materials.thermal import Thermal
from mpm.scene.scene import Scene

LENGTH, RADIUS = 32.4e-3, 3.2e-3  # of the bar of copper [m]


@listed(
    "a quarter of a bar of copper hits a rigid wall at 227 m/s (3-D, 32,000 particles)",
    duration=80e-6,
    fps=5e5,
    numerics={"dx": 0.4e-3},
    color="plastic_strain",
    limits=(0.0, 2.0),
)
def taylor_bar(
    *,
    E: float = 117e9,
    nu: float = 0.35,
    density: float = 8930.0,
    yield_stress: float = 400e6,
    hardening: float = 100e6,
    speed: float = 227.0,
) -> Scene:
    """A bar of copper, 32.4 mm long and 6.4 mm thick, hits a smooth rigid wall: Taylor's test. A quarter of it.

    Finite elements converge to a length of 21.42 mm and a radius of 7.23 mm at the wall after 80 µs. The experiment is
    that of M. L. Wilkins, M. W. Guinan, Impact of cylinders on a rigid boundary, J. Appl. Phys. 44 (1973) 1200-1206.

    Parameters
    ----------
    E, nu, density, yield_stress, hardening
        As in `mpm.materials.VonMises` [Pa], [1], [kg/m³], [Pa], [Pa].
    speed : float
        Of the impact [m/s].
    """
    copper = materials.VonMises(E=E, nu=nu, density=density, yield_stress=yield_stress, hardening=hardening)
    return _quarter_of_bar(copper, speed)


@listed(
    "the same bar, by the law of Johnson and Cook, grows hot where it flows (3-D, 32,000 particles)",
    duration=80e-6,
    fps=5e5,
    numerics={"dx": 0.4e-3},
    color="temperature",
    limits=(298.0, 600.0),
)
def hot_taylor_bar(
    *,
    A: float = 90e6,
    B: float = 292e6,
    n: float = 0.31,
    C: float = 0.025,
    m: float = 1.09,
    density: float = 8960.0,
    conductivity: float = 386.0,
    speed: float = 227.0,
) -> Scene:
    """The bar of `taylor_bar`, whose strength grows with strain and rate and falls with temperature.

    Nine tenths of the plastic work heat the copper, which conducts the heat. In 80 µs heat spreads by 0.1 mm only, so
    the foot is hottest where it flows most.

    Parameters
    ----------
    A, B, n, C, m
        As in `mpm.materials.JohnsonCook` [Pa], [Pa], [1], [1], [1]; the defaults are the copper of Johnson and Cook.
    density : float
        [kg/m³].
    conductivity : float
        [W/(m K)].
    speed : float
        Of the impact [m/s].
    """
    copper = materials.JohnsonCook(
        A=A,
        B=B,
        n=n,
        C=C,
        m=m,
        shear_modulus=46e9,
        sound_speed=3940,
        s=1.489,
        grueneisen=2.0,
        specific_heat=383,
        melting_temperature=1356,
        density=density,
        thermal=Thermal(conductivity, 383, 298.0),
    )
    return _quarter_of_bar(copper, speed)


def _quarter_of_bar(copper: materials.Material, speed: float) -> Scene:
    """A quarter of a bar that flies at a rigid wall."""
    walls = {"x-": "mirror", "y-": "mirror", "z-": "mirror"}
    scene = Scene((0, 0, 0), (12e-3, 12e-3, 36e-3), walls=walls)
    bar = shapes.Cylinder((0, 0, 0), (0, 0, LENGTH), RADIUS) & shapes.Box((0, 0, 0), (RADIUS, RADIUS, LENGTH))
    scene.add(bar, copper, velocity=(0, 0, -speed), name="bar")
    return scene


@listed(
    "a loaf of cohesive clay, whose ends fly apart, is torn to pieces (2-D)",
    duration=0.08,
    fps=500.0,
    numerics={"dx": 1 / 128, "sampling": "stratified"},
    color="alpha",
    limits=(-0.01, 1.0),
)
def bread_tearing(
    *,
    E: float = 2e5,
    nu: float = 0.3,
    density: float = 200.0,
    cohesion: float = 1.0,
    hardening: float = 3.0,
    consolidation: float = -0.01,
    speed: float = 5.0,
) -> Scene:
    """A loaf, 0.6 m long and 0.16 m thick, whose ends fly apart, is torn to pieces.

    It is cohesive Cam clay, which loses its strength where it is stretched.

    Parameters
    ----------
    E, nu, density, cohesion, hardening, consolidation
        As in `mpm.materials.NACC` [Pa], [1], [kg/m³], [1], [1], [1].
    speed : float
        Of each end [m/s].
    """
    scene = Scene((0, 0), (1.5, 0.5))
    bread = materials.NACC(
        E=E, nu=nu, density=density, cohesion=cohesion, hardening=hardening, consolidation=consolidation
    )
    loaf = shapes.Box((0.45, 0.17), (1.05, 0.33)) - shapes.Ball((0.75, 0.33), 0.03)
    scene.add(loaf, bread, velocity=lambda x: speed / 0.3 * (x - 0.75) * (1, 0), name="loaf")
    return scene


@listed(
    "mud with a yield stress runs down a slope, meets a wall and stops (2-D)",
    duration=2.0,
    fps=40.0,
    numerics={"dx": 1 / 48, "sampling": "stratified"},
    limits=(0.0, 2.5),
)
def mudslide(
    *,
    yield_stress: float = 60.0,
    consistency: float = 15.0,
    exponent: float = 0.6,
    density: float = 1600.0,
    gravity: float = 9.81,
) -> Scene:
    """Mud runs down a slope of 30°, meets a wall, and comes to rest as a heap that its yield stress holds.

    Parameters
    ----------
    yield_stress, consistency, exponent, density
        As in `mpm.materials.HerschelBulkley` [Pa], [Pa sⁿ], [1], [kg/m³].
    gravity : float
        [m/s²], downwards.
    """
    scene = Scene((0, 0), (3, 1.5), gravity=(0, -gravity), walls={"y-": "sticky"})
    foot, angle = 1.6, np.radians(30)
    top = foot * np.tan(angle)
    hill = shapes.Polygon(
        [(-0.2, -0.2), (foot + 0.2 / np.tan(angle), -0.2), (-0.2, top + 0.2 * np.tan(angle))]
    )
    scene.add_collider(hill, contact="sticky", name="hill")
    scene.add_collider(shapes.Box((2.5, -0.1), (2.6, 0.35)), friction=0.3, name="wall")
    mud = materials.HerschelBulkley(
        bulk_modulus=2e5,
        shear_modulus=4e4,
        yield_stress=yield_stress,
        consistency=consistency,
        exponent=exponent,
        density=density,
    )
    slab = shapes.Box((0.15, 0.0), (0.75, 0.3)).rotate(-angle, about=(0.0, 0.0)).translate((0.0, top + 0.02))
    scene.add(slab - hill, mud, name="mud")
    return scene


@listed(
    "three jellies fall onto each other: elastic, viscoelastic, plastic (2-D)",
    duration=1.0,
    fps=60.0,
    numerics={"dx": 1 / 64},
    limits=(0.0, 1.5),
)
def jelly_stack(
    *,
    E: float = 1e4,
    nu: float = 0.4,
    density: float = 1000.0,
    gravity: float = 9.81,
) -> Scene:
    """Three cubes of jelly fall onto each other: one springs back, one creeps, one keeps its dents.

    From the bottom up, the cubes are neo-Hookean, viscoelastic with 70 % of relaxing stiffness, and plastic with a
    yield stress of 30 % of Young's modulus. The initial stiffness of all is `E` [Pa].

    Parameters
    ----------
    E, nu, density
        [Pa], [1], [kg/m³].
    gravity : float
        [m/s²], downwards.
    """
    scene = Scene((0, 0), (1, 1.25), gravity=(0, -gravity), walls={"x": "sticky", "y-": "sticky"})
    moduli: dict[str, Any] = {"E": E, "nu": nu, "density": density}
    for k, (name, jelly) in enumerate(
        {
            "elastic": materials.NeoHookean(**moduli),
            "viscoelastic": materials.Viscoelastic(**moduli, g_1=0.7, tau_1=0.2),
            "plastic": materials.VonMises(**moduli, yield_stress=0.3 * E),
        }.items()
    ):
        low = 0.05 + 0.34 * k
        side = 0.3 - 0.04 * k
        scene.add(shapes.Box((0.5 - side / 2, low), (0.5 + side / 2, low + side)), jelly, name=name)
    return scene
