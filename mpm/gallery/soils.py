"""Scenes of soils: clay under a punch, sand that runs through an orifice, a wall that gives way, cuts in soft clay, a
bank behind which water rises."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpm import materials, motion, shapes
from mpm.base import _check
from mpm.gallery.entry import listed
from mpm.materials.pore import Pore
from mpm.scene.scene import Scene
from mpm.scene.walls import Wall

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


@listed(
    "a retaining wall gives way, and a wedge of the fill behind it slides down (2-D)",
    duration=2.0,
    fps=40.0,
    numerics={"dx": 1 / 10},
    color="plastic_strain",
    limits=(0.0, 0.4),
)
def retaining_wall(
    *,
    E: float = 2e7,
    nu: float = 0.3,
    density: float = 1700.0,
    friction_angle_deg: float = 35.0,
    cohesion: float = 500.0,
    friction: float = 0.3,
    travel: float = 0.4,
    gravity: float = 9.81,
) -> Scene:
    """A wall, 4 m high, moves away from the sand that it retains, which is at rest at first (K0 = 1 − sin φ).

    The sand follows on a wedge. Its band of sliding rises from the foot of the wall at an angle between 45°, since this
    sand does not dilate, and Coulomb's 45° + φ/2. Dense sand loses 4° of friction as it shears. ``sim.force("wall")``
    is the force of the wall on the sand [N per metre of length]: it falls from the earth pressure at rest to the active
    one.

    Parameters
    ----------
    E, nu, density, friction_angle_deg, cohesion
        As in `mpm.materials.MohrCoulomb` [Pa], [1], [kg/m³], [degrees], [Pa].
    friction : float
        Of the wall.
    travel : float
        How far the wall moves [m], > 0 and <= 0.6.
    gravity : float
        [m/s²], downwards.
    """
    moved = _check.number("travel", travel, low=0, low_open=True, high=0.6, unit="m")
    phi = _check.number(
        "friction_angle_deg", friction_angle_deg, low=0, low_open=True, high=90, high_open=True, unit="deg"
    )
    scene = Scene(
        (0, 0), (10, 5), gravity=(0, -gravity), walls={"x": "slip", "y-": "sticky", "y+": "separate"}
    )
    fill = materials.MohrCoulomb(
        E=E,
        nu=nu,
        density=density,
        friction_angle_deg=friction_angle_deg,
        cohesion=cohesion,
        hardening=materials.hardening.Strength(strains=(0.1,), friction_angle_deg=(max(phi - 4, 0.5 * phi),)),
    )
    scene.add(shapes.Box((2, 0), (10, 4)), fill, name="fill")
    path = motion.Keyframes([0, 0.1, 1.5], [(0, 0), (0, 0), (-moved, 0)])
    scene.add_collider(
        shapes.Box((1.2, 0), (2, 4.6)),
        contact="separate",
        friction=friction,
        motion=path,
        name="wall",
    )
    if gravity:
        scene.lithostatic(1 - np.sin(np.radians(phi)))
    return scene


@listed(
    "a cut in sensitive clay fails and the clay flows out, because its strength falls with strain (2-D)",
    duration=3.0,
    fps=20.0,
    numerics={"dx": 1 / 4},
    color="plastic_strain",
    limits=(0.0, 2.0),
)
def quick_clay(
    *,
    E: float = 4e6,
    nu: float = 0.45,
    density: float = 1800.0,
    strength: float = 14e3,
    strength_per_depth: float = 1e3,
    sensitivity: float = 8.0,
    gravity: float = 9.81,
) -> Scene:
    """A cut, 6 m high, in clay whose undrained strength grows with depth and falls as the clay is remoulded.

    The cut is steeper than the clay can bear. The slide frees the clay behind it, which follows.

    Parameters
    ----------
    E, nu, density
        As in `mpm.materials.MohrCoulomb` [Pa], [1], [kg/m³].
    strength, strength_per_depth : float
        Undrained strength at the top [Pa], and its growth per depth [Pa/m].
    sensitivity : float
        Strength at the top over that of remoulded clay, > 1.
    gravity : float
        [m/s²], downwards.
    """
    ratio = _check.number("sensitivity", sensitivity, low=1, low_open=True)
    top = _check.number("strength", strength, low=0, low_open=True, unit="Pa")
    growth = _check.number("strength_per_depth", strength_per_depth, low=0, unit="Pa/m")
    scene = Scene(
        (0, 0), (32, 9), gravity=(0, -gravity), walls={"x": "slip", "y-": "sticky", "y+": "separate"}
    )

    def undrained(x: Any) -> Any:
        return top + growth * (8 - x[:, 1])

    varies: Any = undrained
    clay = materials.MohrCoulomb(
        E=E,
        nu=nu,
        density=density,
        friction_angle_deg=0,
        cohesion=varies,
        hardening=materials.hardening.Strength(strains=(0.05, 0.5), cohesion=(0.8 * top, top / ratio)),
    )
    corners = [(0, 0), (32, 0), (32, 2), (18, 2), (15, 8), (0, 8)]
    scene.add(shapes.Polygon(corners), clay, name="clay")
    return scene


@listed(
    "a pit is dug in three stages; after the third its side slides in (2-D)",
    duration=3.2,
    fps=25.0,
    numerics={"dx": 1 / 5},
    color="plastic_strain",
    limits=(0.0, 0.5),
)
def excavation(
    *,
    E: float = 1e7,
    nu: float = 0.35,
    density: float = 1800.0,
    friction_angle_deg: float = 10.0,
    cohesion: float = 11e3,
    depth: float = 4.5,
    gravity: float = 9.81,
) -> Scene:
    """A pit with upright sides, 3 m wide, is dug in three equal stages in level ground that is at rest at first.

    The mirror at the left face stands for the other half. An upright cut stands up to a height of about
    4c/(ρ g) tan(45° + φ/2), here 3 m: after the first two stages the ground comes to rest again, and after the third a
    wedge slides into the pit. ``sim.scene.drains`` has the stages.

    Parameters
    ----------
    E, nu, density, friction_angle_deg, cohesion
        As in `mpm.materials.MohrCoulomb` [Pa], [1], [kg/m³], [degrees], [Pa].
    depth : float
        Of the pit in the end [m], > 0 and <= 5.
    gravity : float
        [m/s²], downwards.
    """
    deepest = _check.number("depth", depth, low=0, low_open=True, high=5, unit="m")
    phi = _check.number(
        "friction_angle_deg", friction_angle_deg, low=0, low_open=True, high=90, high_open=True, unit="deg"
    )
    walls = {"x-": "mirror", "x+": "slip", "y-": "sticky"}
    scene = Scene((0, 0), (12, 6.8), gravity=(0, -gravity), walls=walls)
    soil = materials.MohrCoulomb(E=E, nu=nu, density=density, friction_angle_deg=phi, cohesion=cohesion)
    scene.add(shapes.Box((0, 0), (12, 6)), soil, name="ground")
    for stage in (1, 2, 3):
        pit = shapes.Box((0, 6 - deepest * stage / 3), (3, 7))
        scene.add_drain(pit, start=0.2 + 0.8 * (stage - 1), name=f"stage {stage}")
    if gravity:
        scene.lithostatic(1 - np.sin(np.radians(phi)))
    return scene


@listed(
    "a river bank fails as the water behind it rises (2-D)",
    duration=6.0,
    fps=15.0,
    numerics={"dx": 1 / 4},
    color="plastic_strain",
    limits=(0.0, 0.5),
)
def flooded_slope(
    *,
    E: float = 1e7,
    nu: float = 0.3,
    density: float = 2000.0,
    cohesion: float = 2e3,
    friction_angle_deg: float = 24.0,
    permeability: float = 2e-9,
    fluid_bulk_modulus: float = 2e7,
    before: float = 1.0,
    after: float = 6.0,
    gravity: float = 9.81,
) -> Scene:
    """A bank, 4 m high and at 2:3, stands with the water table below its toe. Then the table behind it rises.

    Suction holds the bank at first. Water comes in through the wall on the left, pore pressures rise from there, and
    effective stresses fall, until the bank slides after 3 s, by more than a metre. Water leaves through its face, a
    seepage face. With ``after=1`` the bank stands.

    Parameters
    ----------
    E, nu, density, cohesion, friction_angle_deg
        As in `mpm.materials.MohrCoulomb` [Pa], [1], [kg/m³], [Pa], [°].
    permeability, fluid_bulk_modulus
        As in `mpm.Pore` [m²], [Pa]. The permeability is that of gravel, so that days become seconds, and the
        water is softer than real water, for longer steps.
    before, after : float
        Heights of the water table at the beginning, and behind the left wall [m]; the ground is 6 m high there.
    gravity : float
        [m/s²], downwards.
    """
    before = _check.number("before", before, unit="m")
    after = _check.number("after", after, unit="m")
    walls: dict[str, str | Wall] = {"x-": Wall("slip", head=after), "x+": "slip", "y-": "sticky"}
    scene = Scene((0, 0), (20, 8), gravity=(0, -gravity), walls=walls)
    pore = Pore(0.4, permeability, fluid_bulk_modulus=fluid_bulk_modulus, head=before)
    soil = materials.MohrCoulomb(
        E=E,
        nu=nu,
        density=density,
        cohesion=cohesion,
        friction_angle_deg=friction_angle_deg,
        dilation_angle_deg=0.0,
        pore=pore,
    )
    bank = shapes.Polygon([(0, 0), (20, 0), (20, 2), (13, 2), (7, 6), (0, 6)])
    scene.add(bank, soil, name="bank")
    if gravity:
        scene.lithostatic(1 - np.sin(np.radians(friction_angle_deg)))
    return scene
