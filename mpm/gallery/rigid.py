"""Scenes of rigid bodies.

Each function takes its physics as keywords, in SI units, and returns a new `mpm.Scene`.
"""

from __future__ import annotations

import numpy as np

from mpm import joints, materials, shapes
from mpm.base import _check
from mpm.gallery.entry import listed
from mpm.scene.scene import Scene
from mpm.scene.walls import Wall


@listed(
    "a ball strikes a row of fourteen dominoes, and all fall (2-D, rigid)",
    duration=3.0,
    fps=60.0,
    numerics={"dx": 0.05},
    limits=(0.0, 3.0),
)
def dominoes(
    *, density: float = 700.0, friction: float = 0.3, speed: float = 2.0, gravity: float = 9.81
) -> Scene:
    """A ball rolls against the first of fourteen dominoes, 0.05 m by 0.4 m and 0.2 m apart, and all fall.

    The wave runs by itself: each domino gives the next one what it has gained by its fall.
    """
    scene = Scene((0, 0), (4, 1), gravity=(0, -gravity), walls={"y-": Wall("separate", friction=0.6)})
    wood = materials.Rigid(density=density, friction=friction)
    scene.add(
        shapes.Ball((0.2, 0.12), 0.12), wood, velocity=(speed, 0), angular_velocity=-speed / 0.12, name="ball"
    )
    for k in range(14):
        left = 0.6 + 0.2 * k
        scene.add(shapes.Box((left, 0), (left + 0.05, 0.4)), wood, name=f"domino {k}")
    return scene


@listed(
    "a top in a socket precesses about the vertical (3-D, rigid)",
    duration=2.0,
    fps=60.0,
    numerics={"dx": 0.0125},
    limits=(0.0, 8.0),
)
def spinning_top(
    *, density: float = 2000.0, spin: float = 100.0, tilt_deg: float = 20.0, gravity: float = 9.81
) -> Scene:
    """A top, whose tip is held by a socket, precesses about the vertical and nods a little.

    A disk, 0.16 m in diameter and 0.04 m thick, on an axle without mass. A fast top precesses at M g s/(I ω), this one
    15 % faster.
    """
    omega = _check.number("spin", spin, unit="rad/s")
    tilt = np.radians(_check.number("tilt_deg", tilt_deg, unit="degrees"))
    scene = Scene((-0.2, -0.2, 0), (0.2, 0.2, 0.3), gravity=(0, 0, -gravity))
    disk = shapes.Cylinder((0, 0, 0.14), (0, 0, 0.18), 0.08)
    tip = np.array([0.0, 0.0, 0.05])
    scene.add(
        disk.rotate(tilt, axis=(1, 0, 0), about=tip),
        materials.Rigid(density=density),
        joint=joints.Socket(tip),
        angular_velocity=omega * np.array([0, -np.sin(tilt), np.cos(tilt)]),
        name="top",
    )
    return scene


@listed(
    "a ball slides down a lane and strikes six pins (3-D, rigid)",
    duration=1.5,
    fps=60.0,
    numerics={"dx": 0.05},
    limits=(0.0, 6.0),
)
def bowling(*, density: float = 2100.0, speed: float = 6.0, gravity: float = 9.81) -> Scene:
    """A ball slides down a lane and strikes six pins.

    The friction of the lane, 0.15, begins to turn the ball, which would roll after 1.2 s, with 5/7 of its first
    velocity. Pins are cylinders, 0.38 m high, with a third of the `density` of the ball.
    """
    floor = Wall("separate", friction=0.15)
    scene = Scene((0, 0, 0), (4.6, 1.2, 0.8), gravity=(0, 0, -gravity), walls={"z-": floor, "x+": "separate"})
    ball = materials.Rigid(density=density, friction=0.3, restitution=0.4)
    scene.add(shapes.Ball((0.3, 0.63, 0.12), 0.12), ball, velocity=(speed, 0, 0), name="ball")
    pin = materials.Rigid(density=density / 3, friction=0.3, restitution=0.4)
    for row in range(3):
        for k in range(row + 1):
            foot = np.array([2.6 + 0.26 * row, 0.6 + 0.3 * (k - row / 2), 0])
            scene.add(shapes.Cylinder(foot, foot + np.array([0, 0, 0.38]), 0.05), pin, name=f"pin {row}{k}")
    return scene


@listed(
    "a free handle turns about its middle axis, and over (3-D, rigid)",
    duration=4.0,
    fps=60.0,
    numerics={"dx": 0.02},
    limits=(0.0, 3.0),
)
def dzhanibekov(*, density: float = 2700.0, spin: float = 12.0) -> Scene:
    """A wing nut without gravity turns about its middle axis, and turns over again and again.

    The rotation about the axis of the middle moment of inertia is unstable (Euler's equations).
    """
    omega = _check.number("spin", spin, unit="rad/s")
    scene = Scene((-0.3, -0.3, -0.3), (0.3, 0.3, 0.3))
    handle: shapes.Shape = shapes.Box((-0.2, -0.16, -0.03), (0.2, 0.04, 0.03))
    for left, right in ((-0.2, -0.04), (0.04, 0.2)):
        handle = handle - shapes.Box((left, -0.16, -0.03), (right, -0.04, 0.03))
    scene.add(
        handle,
        materials.Rigid(density=density),
        angular_velocity=(0.02 * omega, omega, 0),
        name="handle",
    )
    return scene


@listed(
    "a rigid crate slides down a slope of snow, digs in and tips over (2-D)",
    duration=1.5,
    fps=60.0,
    numerics={"dx": 0.02},
    color="speed",
    limits=(0.0, 3.0),
)
def crate_on_snow(
    *,
    E: float = 1.4e5,
    nu: float = 0.2,
    density: float = 400.0,
    relative_density: float = 0.75,
    gravity: float = 9.81,
) -> Scene:
    """A crate slides down a slope of snow, digs its front in at the foot, and tips over.

    `density` is that of the snow. The slope has 30 degrees.
    """
    share = _check.number("relative_density", relative_density, low=0, low_open=True)
    scene = Scene((0, 0), (2.8, 1.28), gravity=(0, -gravity), walls={"y-": "sticky", "x-": "sticky"})
    snow = materials.Snow(E=E, nu=nu, density=density)
    rise = np.tan(np.radians(30))
    slope = shapes.Polygon([(0, 0), (2.8, 0), (2.8, 0.1), (1.5, 0.1), (0, 0.1 + 1.5 * rise)])
    scene.add(slope, snow, name="snow")
    crate = shapes.Box((-0.15, 0.005), (0.15, 0.185)).rotate(-np.radians(30))
    crate = crate.translate((0.4, 0.1 + 1.1 * rise))
    down = np.array([np.cos(np.radians(30)), -0.5])
    scene.add(crate, materials.Rigid(density=share * density, friction=0.1), velocity=2 * down, name="crate")
    return scene
