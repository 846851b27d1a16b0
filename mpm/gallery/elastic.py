"""Scenes of elastic bodies that several methods compute: compare them with ``method=``.

Each function takes its physics as keywords, in SI units, and returns a new `mpm.Scene`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mpm import materials, shapes
from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.gallery.entry import listed
from mpm.scene.scene import Scene


@listed(
    "an elastic disk bounces off a wall (2-D)",
    duration=0.5,
    fps=100.0,
    numerics={"dx": 1 / 80},
    fem={"spacing": 1 / 80},
    limits=(0.0, 1.5),
)
def disk_wall(
    *, E: float = 1e6, nu: float = 0.3, density: float = 1000.0, speed: float = 1.0, radius: float = 0.2
) -> Scene:
    """A disk flies against a wall, and separates from it.

    By symmetry this is half of two disks that meet head-on. After the impact, the missing kinetic energy is in the
    vibration of the disk.
    """
    r = _check.number("radius", radius, low=0, low_open=True, high=0.45, unit="m")
    scene = Scene(lower=(0, 0), upper=(1, 1), walls="separate")
    disk = shapes.Ball((0.05 + r, 0.5), r)
    scene.add(disk, materials.FixedCorotated(E=E, nu=nu, density=density), velocity=(-speed, 0), name="disk")
    return scene


@listed(
    "a clamped bar of rubber is twisted by its initial velocity and swings back (3-D)",
    duration=0.5,
    fps=60.0,
    numerics={"dx": 1 / 40},
    fem={"spacing": 1 / 40},
    limits=(0.0, 2.0),
)
def twisted_bar(
    *, E: float = 1e6, nu: float = 0.3, density: float = 1000.0, rate: float = 12.0, gravity: float = 0.0
) -> Scene:
    """A bar of rubber, clamped at a sticky wall, is twisted by its initial velocity and swings back.

    `rate` [1/(m s)] is the growth of its angular velocity along its axis.
    """
    omega = _check.number("rate", rate, unit="1/(m s)")
    scene = Scene(
        lower=(0, -0.3, -0.3), upper=(1.2, 0.3, 0.3), gravity=(0, 0, -gravity), walls={"x-": "sticky"}
    )

    def twist(x: FloatArray) -> FloatArray:
        spin = omega * x[:, 0]
        return np.stack([np.zeros(len(x)), -spin * x[:, 2], spin * x[:, 1]], axis=1)

    bar = shapes.Box((0, -0.1, -0.1), (1, 0.1, 0.1))
    scene.add(bar, materials.FixedCorotated(E=E, nu=nu, density=density), velocity=twist, name="bar")
    return scene


@dataclass(frozen=True)
class _Blow:
    """A pressure that comes and goes on a part of the surface."""

    pressure: float
    duration: float
    middle: float
    width: float

    def __call__(self, x: FloatArray, t: float) -> FloatArray:
        """At places x (k, d) and a time t."""
        strength = np.sin(np.pi * t / self.duration) ** 2 if t < self.duration else 0.0
        return np.asarray(self.pressure * strength * (np.abs(x[:, 0] - self.middle) < 0.5 * self.width))


@listed(
    "a blow on the ground sends waves through it, which leave through absorbing walls (2-D)",
    duration=0.12,
    fps=250.0,
    numerics={"dx": 1 / 32},
    fem={"spacing": 1 / 32},
    limits=(0.0, 0.02),
)
def hammer_blow(
    *,
    E: float = 1e7,
    nu: float = 0.25,
    density: float = 2000.0,
    pressure: float = 1e4,
    duration: float = 0.01,
) -> Scene:
    """A hammer hits the ground; pressure, shear and surface waves run away from it and do not come back.

    The ground is a part of a half-space: its sides and its bottom are absorbing walls. The pressure of the hammer is a
    traction on its surface, of which the history has the work.
    """
    length = _check.number("duration", duration, low=0, low_open=True, unit="s")
    strength = _check.number("pressure", pressure, unit="Pa")
    scene = Scene((0, 0), (4, 2), walls={"x": "absorbing", "y-": "absorbing", "y+": "separate"})
    soil = materials.FixedCorotated(E=E, nu=nu, density=density)
    ground = scene.add(shapes.Box((0, 0), (4, 1.75)), soil, name="ground")
    blow = _Blow(strength, length, 2.0, 0.25)
    scene.add_traction(ground, shapes.Box((1.5, 1.7), (2.5, 1.8)), pressure=blow, name="hammer")
    return scene
