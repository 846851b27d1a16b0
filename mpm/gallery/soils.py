"""Scenes of soils: clay under a punch, and sand that runs through an orifice."""

from __future__ import annotations

import numpy as np

from mpm import materials, motion, shapes
from mpm.base import _check
from mpm.gallery.entry import listed
from mpm.scene.scene import Scene

PRESSED = 0.5  # time in which the indenter goes down [s]


@listed(
    "a rigid indenter is pressed into clay and drawn back; a dent stays (2-D)",
    duration=0.75,
    fps=80.0,
    numerics={"dx": 1 / 80, "sampling": "stratified"},
    color="yield_pressure",
    limits=(1e5, 5e5),
)
def clay_indentation(
    *,
    shear_modulus: float = 2e6,
    density: float = 1800.0,
    swelling: float = 0.02,
    compression: float = 0.1,
    critical_slope: float = 1.0,
    preconsolidation: float = 100e3,
    attraction: float = 20e3,
    depth: float = 0.06,
    friction: float = 0.3,
    gravity: float = 9.81,
) -> Scene:
    """A rigid indenter, 0.15 m wide, is pressed into stiff clay within half a second, and drawn back as fast.

    The clay is modified Cam clay, in a box 1 m wide, filled to 0.4 m. It is compacted below the indenter, and a dent
    stays. The history has the force: over a step of `dt`, ``sim.history["impulse:indenter"][1:, 1]/dt`` [N per metre of
    depth] is the force of the indenter on the clay, at the depth ``depth * time / 0.5``.

    Parameters
    ----------
    shear_modulus, density, swelling, compression, critical_slope, preconsolidation, attraction
        As in `mpm.materials.CamClay` [Pa], [kg/m³], [1], [1], [1], [Pa], [Pa].
    depth : float
        How far the indenter goes [m], >= 0 and <= 0.1.
    friction : float
        Of the indenter.
    gravity : float
        [m/s²], downwards.
    """
    most = _check.number("depth", depth, low=0, high=0.1, unit="m")
    scene = Scene((0, 0), (1, 0.6), gravity=(0, -gravity), walls={"x": "slip", "y-": "sticky"})
    clay = materials.CamClay(
        shear_modulus=shear_modulus,
        density=density,
        swelling=swelling,
        compression=compression,
        critical_slope=critical_slope,
        preconsolidation=preconsolidation,
        attraction=attraction,
    )
    path = motion.Keyframes([0, PRESSED, 2 * PRESSED], [(0, 0), (0, -most), (0, 0)])
    scene.add_collider(
        shapes.Box((0.425, 0.4), (0.575, 0.7)), friction=friction, motion=path, name="indenter"
    )
    scene.add(shapes.Box((0, 0), (1, 0.4)), clay, name="clay")
    return scene


@listed(
    "sand runs through an orifice at a constant rate and heaps up below (2-D)",
    duration=2.25,
    fps=60.0,
    numerics={"dx": 1 / 80, "sampling": "stratified", "particle_collisions": "surface"},
    limits=(0.0, 2.0),
)
def sand_hourglass(
    *,
    E: float = 1e6,
    nu: float = 0.3,
    density: float = 1500.0,
    mu_1: float = 0.3819,
    mu_2: float = 0.6435,
    orifice: float = 0.08,
    friction: float = 0.3,
    gravity: float = 9.81,
) -> Scene:
    """Sand runs from a hopper with sides at 60° through an orifice, and heaps up below.

    The sand is a dense granular flow, μ(I). Unlike a fluid it runs out at a constant rate, whatever its height above
    the orifice: about √g times the width of the orifice to the power of 3/2 in 2-D (Beverloo's law).

    Parameters
    ----------
    E, nu, density, mu_1, mu_2
        As in `mpm.materials.MuI` [Pa], [1], [kg/m³], [1], [1]; other parameters are those of glass beads.
    orifice : float
        Its width [m], > 0 and <= 0.2.
    friction : float
        Of the glass.
    gravity : float
        [m/s²], downwards.
    """
    half = _check.number("orifice", orifice, low=0, low_open=True, high=0.2, unit="m") / 2
    scene = Scene((0, 0), (0.6, 1), gravity=(0, -gravity))
    neck, radius, slope = 0.45, 0.27, np.tan(np.radians(60))
    top = neck + 0.02 + slope * (radius - half)
    # The chamber reaches into the room, so that no surface lies between them.
    right = [(half, 0.2), (half, neck + 0.02), (radius, top), (radius, 0.97)]
    chamber = shapes.Polygon([(0.3 + x, y) for x, y in right] + [(0.3 - x, y) for x, y in reversed(right)])
    room = shapes.Box((0.3 - radius, 0.03), (0.3 + radius, neck))
    scene.add_collider(~(chamber | room), friction=friction, name="glass")
    sand = materials.MuI(E=E, nu=nu, density=density, mu_1=mu_1, mu_2=mu_2)
    scene.add(chamber & shapes.Box((0, neck), (0.6, 0.93)), sand, name="sand")
    return scene
