"""Scenes for implicit steps: stiffness or viscosity makes explicit steps far shorter than the motion needs.

Each function takes its physics as keywords, in SI units, and returns a new `mpm.Scene`.
"""

from __future__ import annotations

import numpy as np

from mpm import materials, shapes
from mpm.gallery.entry import listed
from mpm.scene.scene import Scene
from mpm.scene.walls import Wall


@listed(
    "a block of hard plastic falls and tips over, in implicit steps (2-D, backward Euler)",
    duration=1.0,
    fps=60.0,
    numerics={
        "dx": 1 / 48,
        "particles_per_cell": 9,
        "integrator": "implicit-euler",
        "max_dt": 1 / 120,
    },
    limits=(0.0, 3.0),
)
def stiff_drop(
    *, E: float = 9e8, nu: float = 0.3, density: float = 1000.0, friction: float = 0.3, gravity: float = 9.81
) -> Scene:
    """A block of hard plastic falls onto a floor with an edge first, tips over and slides to rest.

    Its longitudinal waves are 400 times as fast as its impact. An implicit step of 1/120 s goes as far as 880 explicit
    ones, and the shortest step, at the impact, as far as 330. Backward Euler damps the bounce.
    """
    scene = Scene(
        lower=(0, 0), upper=(1, 1), gravity=(0, -gravity), walls={"y-": Wall("separate", friction=friction)}
    )
    block = shapes.Box((0.25, 0.45), (0.55, 0.75)).rotate(0.5, about=(0.4, 0.6))
    scene.add(block, materials.FixedCorotated(E=E, nu=nu, density=density), name="block")
    return scene


@listed(
    "a clamped beam sags under its weight and comes to rest, in implicit steps (2-D, backward Euler)",
    duration=4.0,
    fps=30.0,
    numerics={
        "dx": 1 / 64,
        "particles_per_cell": 9,
        "integrator": "implicit-euler",
        "max_dt": 1 / 75,
    },
    limits=(0.0, 0.5),
    fem={"spacing": 1 / 64, "integrator": "linearly-implicit-euler", "max_dt": 1 / 75},
)
def cantilever(*, E: float = 2e7, nu: float = 0.3, density: float = 1000.0, gravity: float = 9.81) -> Scene:
    """A beam, 1 m long and 1/8 m high, is clamped at a sticky wall and sags under its weight.

    Backward Euler damps the oscillation, so that the beam comes to rest. The linear theory of slender beams gives a
    deflection of 3 density gravity (1 − ν²) (1 m)⁴ / (2 E (1/8 m)²) at the free end, 43 mm with the defaults; the scene
    shows 8 % more. ``Simulation.equilibrate`` finds the state of rest at once.
    """
    scene = Scene(lower=(0, 0), upper=(1.25, 1), gravity=(0, -gravity), walls={"x-": "sticky"})
    material = materials.NeoHookean(E=E, nu=nu, density=density)
    scene.add(shapes.Box((0, 0.625), (1, 0.75)), material, name="beam")
    return scene


@listed(
    "a free disk of hard plastic turns once, in implicit steps that keep it turning (2-D, midpoint)",
    duration=1.0,
    fps=60.0,
    numerics={
        "dx": 1 / 32,
        "integrator": "implicit-midpoint",
        "tolerance": 1e-4,
        "max_dt": 1 / 480,
    },
    limits=(0.0, 2.0),
)
def stiff_disk(
    *, E: float = 1e9, nu: float = 0.3, density: float = 1000.0, angular_velocity: float = 2 * np.pi
) -> Scene:
    """A free disk of hard plastic, of radius 0.3 m, turns once per second: the midpoint keeps its rotation.

    A step goes as far as 150 explicit ones. The tolerance of the solve determines the loss of angular momentum: 1.5 %
    in one turn, but a quarter in single precision, whose rounding ends each solve early. `angular_velocity` is in
    rad/s.
    """
    scene = Scene(lower=(-0.5, -0.5), upper=(0.5, 0.5))
    material = materials.NeoHookean(E=E, nu=nu, density=density)
    scene.add(shapes.Ball((0, 0), 0.3), material, angular_velocity=angular_velocity, name="disk")
    return scene


@listed(
    "a sheet of honey falls and folds, in implicit steps that its viscosity does not bound (2-D)",
    duration=1.5,
    fps=60.0,
    numerics={
        "dx": 1 / 96,
        "particles_per_cell": 9,
        "sampling": "stratified",  # on a lattice, the sheet is as symmetric as its scene, and does not fold
        "integrator": "implicit-euler",
        "max_dt": 1 / 120,
    },
    limits=(0.0, 2.0),
)
def honey(
    *,
    viscosity: float = 1000.0,
    bulk_modulus: float = 1e6,
    density: float = 1400.0,
    speed: float = 1.0,
    gravity: float = 9.81,
) -> Scene:
    """A sheet of cold, thick honey falls onto a sticky floor and folds.

    Parameters
    ----------
    viscosity : float
        [Pa s]. As it stands, it would bound explicit steps to 0.04 ms.
    bulk_modulus : float
        [Pa].
    density : float
        [kg/m³].
    speed : float
        Of the fall at the beginning [m/s].
    gravity : float
        [m/s²], downwards.
    """
    scene = Scene(lower=(-0.5, 0), upper=(0.5, 1.75), gravity=(0, -gravity), walls={"y-": "sticky"})
    material = materials.Fluid(bulk_modulus=bulk_modulus, density=density, viscosity=viscosity)
    scene.add(shapes.Box((-0.025, 0.03), (0.025, 1.7)), material, velocity=(0, -speed), name="honey")
    return scene
