"""Scenes of elastic and rigid solids, two of them in a fluid.

Each function takes its physics as keywords, in SI units, and returns a new `mpm.Scene`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mpm import materials, shapes
from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.gallery.entry import listed
from mpm.scene.scene import Scene

CUBE_MESH = Path(__file__).parent / "cube.obj"


@listed(
    "an elastic cube read from a mesh bounces on a frictionless floor (3-D, 125,000 particles)",
    duration=2.0,
    fps=120.0,
    numerics={"dx": 0.02},
    limits=(0.0, 3.0),
)
def cube(*, E: float = 1e5, nu: float = 0.3, density: float = 1000.0, gravity: float = 9.81) -> Scene:
    """An elastic cube of side 0.5 m, read from a mesh, falls 0.25 m onto a frictionless floor and bounces."""
    scene = Scene(lower=(0, 0, 0), upper=(1, 1, 1), gravity=(0, 0, -gravity), walls={"z-": "separate"})
    scene.add(shapes.Mesh(CUBE_MESH), materials.FixedCorotated(E=E, nu=nu, density=density), name="cube")
    return scene


@listed(
    "a block of jelly and a block of fluid in a box (2-D)",
    duration=3.0,
    fps=60.0,
    numerics={"dx": 1 / 64},
    limits=(0.0, 3.0),
)
def jelly(
    *,
    E: float = 4e4,
    nu: float = 0.3,
    bulk_modulus: float = 1e5,
    viscosity: float = 0.1,
    density: float = 1000.0,
    gravity: float = 9.81,
) -> Scene:
    """A block of jelly falls onto a pool of fluid that a second block of it has begun to fill."""
    _check.number("density", density, low=0, low_open=True, unit="kg/m³")
    scene = Scene(lower=(0, 0), upper=(1, 1), gravity=(0, -gravity), walls={"y": "separate"})
    water = materials.Fluid(bulk_modulus=bulk_modulus, viscosity=viscosity, density=density)
    scene.add(shapes.Box((0, 0), (0.3125, 0.5625)), water, name="fluid")
    soft = materials.FixedCorotated(E=E, nu=nu, density=0.6 * density)
    scene.add(shapes.Box((0.5, 0.375), (0.75, 0.625)), soft, name="jelly")
    return scene


@listed(
    "a rigid raft falls into a tank of water and floats (2-D)",
    duration=3.0,
    fps=60.0,
    numerics={"dx": 1 / 32},
    limits=(0.0, 2.0),
)
def raft(
    *,
    density: float = 1000.0,
    relative_density: float = 0.6,
    bulk_modulus: float = 4e5,
    viscosity: float = 2.0,
    gravity: float = 9.81,
) -> Scene:
    """A rigid raft, 0.3 m wide and 0.2 m high, falls aslant into a tank of water and floats.

    It displaces its weight, so its draft at rest is 0.2 m times `relative_density`. `density` is that of the water.
    """
    rho = _check.number("density", density, low=0, low_open=True, unit="kg/m³")
    share = _check.number("relative_density", relative_density, low=0, low_open=True)
    scene = Scene(lower=(0, 0), upper=(1, 1), gravity=(0, -gravity))
    water = materials.Fluid(bulk_modulus=bulk_modulus, density=rho, viscosity=viscosity)
    scene.add(shapes.Box((0, 0), (1, 0.45)), water, name="water")
    boards = shapes.Box((0.35, 0.6), (0.65, 0.8)).rotate(0.3)
    scene.add(boards, materials.Rigid(density=share * rho), name="raft")
    return scene


@listed(
    "two elastic disks collide (2-D, Sulsky, Chen, Schreyer 1994)",
    duration=3.5,
    fps=40.0,
    numerics={"dx": 1 / 40},
    limits=(0.0, 0.2),
)
def disks(*, E: float = 1000.0, nu: float = 0.3, density: float = 1000.0, speed: float = 0.1) -> Scene:
    """Two elastic disks meet on the diagonal of the unit square.

    Sulsky, Chen, Schreyer: Comput. Methods Appl. Mech. Eng. 118 (1994) 179-196, section 5.
    """
    scene = Scene(lower=(0, 0), upper=(1, 1), walls="separate")
    material = materials.NeoHookean(E=E, nu=nu, density=density)
    scene.add(shapes.Ball((0.2, 0.2), 0.2), material, velocity=(speed, speed), name="lower")
    scene.add(shapes.Ball((0.8, 0.8), 0.2), material, velocity=(-speed, -speed), name="upper")
    return scene


@listed(
    "a free soft beam drifts and bends: momentum and the first frequency are known (2-D)",
    duration=2.5,
    fps=100.0,
    numerics={"dx": 0.1},
    limits=(0.0, 1.5),
)
def beam(*, E: float = 17e6, nu: float = 0.3, density: float = 1100.0, speed: float = 1.0) -> Scene:
    """A free soft beam, 1 m by 6 m, drifts and bends: v_x = speed·sin(π y / 6 m), no walls in reach.

    The first free-free frequency is 3.399 Hz (finite elements, ν = 0.3).
    """

    def sine(x: FloatArray) -> FloatArray:
        return np.stack([speed * np.sin(np.pi * x[:, 1] / 6), np.zeros(len(x))], axis=1)

    scene = Scene(lower=(-3, -1), upper=(5, 7), walls="separate")
    material = materials.NeoHookean(E=E, nu=nu, density=density)
    scene.add(shapes.Box((-1, 0), (0, 6)), material, velocity=sine, name="beam")
    return scene


@listed(
    "a bar vibrates along its axis at 0.1 Hz between planes of symmetry (2-D)",
    duration=20.0,
    fps=10.0,
    numerics={"dx": 0.5},
    limits=(0.0, 0.1),
)
def bar(*, E: float = 100.0, nu: float = 0.0, density: float = 1.0, speed: float = 0.1) -> Scene:
    """A bar, 25 m long, vibrates along its axis between planes of symmetry: v_x = speed·sin(π x / 50 m).

    Mirrors hold the left end and the sides, so that nothing moves across; the right end is free. The frequency is
    √(M/density) / (4·25 m) with M = E (1 − ν) / ((1 + ν)(1 − 2 ν)), 0.1 Hz with the defaults.
    """

    def quarter_wave(x: FloatArray) -> FloatArray:
        return np.stack([speed * np.sin(np.pi * x[:, 0] / 50), np.zeros(len(x))], axis=1)

    scene = Scene(lower=(0, 0), upper=(30, 2), walls={"x-": "mirror", "y": "mirror"})
    material = materials.FixedCorotated(E=E, nu=nu, density=density)
    scene.add(shapes.Box((0, 0), (25, 2)), material, velocity=quarter_wave, name="bar")
    return scene


@listed(
    "a free, almost rigid disk turns once: to compare transfers by what they keep (2-D)",
    duration=1.0,
    fps=60.0,
    numerics={"dx": 1 / 32},
    limits=(0.0, 2.0),
)
def spinning_disk(
    *, E: float = 1e6, nu: float = 0.3, density: float = 1000.0, angular_velocity: float = 2 * np.pi
) -> Scene:
    """A free, almost rigid disk of radius 0.3 m turns once per second and shows how well a transfer conserves rotation.

    `angular_velocity` is in rad/s.
    """
    scene = Scene(lower=(-0.5, -0.5), upper=(0.5, 0.5))
    material = materials.NeoHookean(E=E, nu=nu, density=density)
    scene.add(shapes.Ball((0, 0), 0.3), material, angular_velocity=angular_velocity, name="disk")
    return scene
