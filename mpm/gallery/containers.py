"""Scenes in containers, which are colliders: a rotating, a narrowing and a closing one."""

from __future__ import annotations

import numpy as np

from mpm import materials, motion, shapes
from mpm.base import _check
from mpm.gallery.entry import listed
from mpm.scene.scene import Scene


@listed(
    "a drum with paddles turns, half full of a fluid (2-D)",
    duration=3.0,
    fps=60.0,
    numerics={"dx": 1 / 64},
    limits=(0.0, 2.0),
)
def drum(
    *,
    bulk_modulus: float = 5e4,
    density: float = 1000.0,
    viscosity: float = 0.5,
    angular_velocity: float = 3.0,
    friction: float = 0.2,
    gravity: float = 9.81,
) -> Scene:
    """A drum of radius 0.45 m, half full of a fluid, turns; four paddles lift it and let it fall.

    Parameters
    ----------
    bulk_modulus : float
        [Pa].
    density : float
        [kg/m³].
    viscosity : float
        [Pa s].
    angular_velocity : float
        Of the drum [rad/s], counter-clockwise.
    friction : float
        Of the drum and its paddles.
    gravity : float
        [m/s²], downwards.
    """
    scene = Scene(lower=(-0.5, -0.5), upper=(0.5, 0.5), gravity=(0, -gravity))
    inside = shapes.Ball((0, 0), 0.45)
    paddle = shapes.Box((0.28, -0.04), (0.5, 0.04))
    wall = ~inside
    for turn in range(4):
        wall = wall | paddle.rotate((turn + 0.5) * np.pi / 2, about=(0, 0))
    scene.add_collider(
        wall, friction=friction, motion=motion.Rotation(angular_velocity, about=(0, 0)), name="drum"
    )
    fluid = materials.Fluid(bulk_modulus=bulk_modulus, density=density, viscosity=viscosity)
    scene.add((inside & shapes.Box((-0.5, -0.5), (0.5, 0))) - wall, fluid, name="fluid")
    return scene


@listed(
    "a fluid runs through the neck of an hourglass (2-D)",
    duration=2.0,
    fps=60.0,
    numerics={"dx": 1 / 80},
    limits=(0.0, 2.0),
)
def hourglass(
    *,
    bulk_modulus: float = 5e4,
    density: float = 1000.0,
    viscosity: float = 0.5,
    neck: float = 0.1,
    gravity: float = 9.81,
) -> Scene:
    """A fluid runs from the upper of two bulbs of radius 0.22 m into the lower one.

    Parameters
    ----------
    bulk_modulus : float
        [Pa].
    density : float
        [kg/m³].
    viscosity : float
        [Pa s].
    neck : float
        Width of the neck [m], > 0 and < 0.44.
    gravity : float
        [m/s²], downwards.
    """
    half = _check.number("neck", neck, low=0, low_open=True, high=0.44, high_open=True, unit="m") / 2
    scene = Scene(lower=(0, 0), upper=(0.5, 1), gravity=(0, -gravity))
    upper, lower = shapes.Ball((0.25, 0.74), 0.22), shapes.Ball((0.25, 0.26), 0.22)
    channel = shapes.Box((0.25 - half, 0.3), (0.25 + half, 0.7))
    scene.add_collider(~(upper | channel | lower), name="glass")
    fluid = materials.Fluid(bulk_modulus=bulk_modulus, density=density, viscosity=viscosity)
    scene.add(upper & shapes.Box((0, 0.56), (0.5, 0.78)), fluid, name="fluid")
    return scene


@listed(
    "walls that bulge squeeze a soft ball and let it go (2-D)",
    duration=1.5,
    fps=60.0,
    numerics={"dx": 1 / 64},
    color="von_mises",
    limits=(0.0, 6e3),
)
def squeeze(
    *,
    E: float = 2e4,
    nu: float = 0.3,
    density: float = 1000.0,
    depth: float = 0.08,
    friction: float = 0.3,
    gravity: float = 0.0,
) -> Scene:
    """A soft ball of radius 0.2 m between two walls that bulge inwards within half a second, and draw back.

    Parameters
    ----------
    E, nu : float
        Young's modulus [Pa] and Poisson's ratio of the ball.
    density : float
        [kg/m³].
    depth : float
        How far each wall bulges [m], >= 0 and <= 0.12.
    friction : float
        Of the walls.
    gravity : float
        [m/s²], downwards.
    """
    most = _check.number("depth", depth, low=0, high=0.12, unit="m")
    scene = Scene(lower=(0, 0), upper=(1, 1), gravity=(0, -gravity))
    spacing = 1 / 64
    nodes = spacing * np.arange(65)
    x, y = np.meshgrid(nodes, nodes, indexing="ij")
    times = np.linspace(0, 1, 17)
    # The channel's half width minus the distance from its middle: the right sign, and near walls almost the distance.
    frames = [
        shapes.DistanceGrid(
            (0, 0),
            spacing,
            0.22 - most * np.sin(np.pi * t) ** 2 * np.exp(-(((y - 0.5) / 0.15) ** 2)) - np.abs(x - 0.5),
        )
        for t in times
    ]
    scene.add_collider(shapes.Deforming(times, frames), friction=friction, name="walls")
    soft = materials.NeoHookean(E=E, nu=nu, density=density)
    scene.add(shapes.Ball((0.5, 0.5), 0.2), soft, name="ball")
    return scene
