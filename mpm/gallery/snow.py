"""Scenes of snow.

The snowball uses the full method of the paper; the other scenes use its transfer with the cheaper forces of moving
least squares.

Stomakhin, Schroeder, Chai, Teran, Selle: A material point method for snow simulation. ACM TOG 32(4) (2013) 102.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mpm import materials, motion, shapes
from mpm.base import _check
from mpm.gallery.entry import listed
from mpm.materials.snow import SNOW_PRESETS
from mpm.scene.scene import Scene
from mpm.scene.walls import RULES

FLIP = {
    "transfer": "flip",
    "flip_ratio": 0.95,
    "advect": "particle",
    "kernel": "cubic",
    "sampling": "stratified",
}
PAPER = {**FLIP, "gradient": "bspline", "volume": "grid-density", "particle_collisions": "surface"}
THROWN = ("ball", "box", "ring", "triangle")


def _snow(preset: str, density: float) -> materials.Snow:
    chosen = _check.choice("preset", preset, tuple(SNOW_PRESETS))
    return replace(materials.Snow.preset(chosen), density=density)


def _missile(shape: str) -> shapes.Shape:
    center, size = np.array([0.3, 0.6]), 0.15
    if shape == "ball":
        return shapes.Ball(center, size)
    if shape == "box":
        return shapes.Box(center - size, center + size)
    if shape == "ring":
        return shapes.Ball(center, size) - shapes.Ball(center, size / 2)
    angles = 2 * np.pi / 3 * np.arange(3)
    return shapes.Polygon(center + 1.2 * size * np.stack([np.cos(angles), np.sin(angles)], axis=1))


@listed(
    "a snowball is thrown at a wall and drops from it (2-D, Stomakhin et al. 2013)",
    duration=0.5,
    fps=120.0,
    numerics={"dx": 1 / 96, **PAPER},
    limits=(0.0, 8.0),
)
def snowball(
    *,
    shape: str = "ball",
    preset: str = "reference",
    contact: str = "separate",
    density: float = 400.0,
    speed: float = 8.0,
    gravity: float = 9.81,
) -> Scene:
    """Snow, 0.3 m wide, is thrown at the right wall of a box.

    Parameters
    ----------
    shape : {"ball", "box", "ring", "triangle"}
    preset : str
        Of `mpm.materials.Snow.preset`.
    contact : {"sticky", "slip", "separate"}
        Of all walls.
    density : float
        [kg/m³].
    speed : float
        [m/s], to the right.
    gravity : float
        [m/s²], downwards.
    """
    chosen = _check.choice("shape", shape, THROWN)
    rule = _check.choice("contact", contact, RULES)
    scene = Scene(lower=(0, 0), upper=(1, 1), gravity=(0, -gravity), walls=rule)
    scene.add(_missile(chosen), _snow(preset, density), velocity=(speed, 0), name="snow")
    return scene


@listed(
    "a box of snow is thrown at a wall and drops from it (2-D, Stomakhin et al. 2013)",
    duration=0.5,
    fps=120.0,
    numerics={"dx": 1 / 96, **PAPER},
    limits=(0.0, 8.0),
)
def snow_box(
    *, preset: str = "reference", density: float = 400.0, speed: float = 8.0, gravity: float = 9.81
) -> Scene:
    """`snowball` with the shape ``"box"``, and the same parameters otherwise."""
    return snowball(shape="box", preset=preset, density=density, speed=speed, gravity=gravity)


@listed(
    "a ring of snow is thrown at a wall and drops from it (2-D, Stomakhin et al. 2013)",
    duration=0.5,
    fps=120.0,
    numerics={"dx": 1 / 96, **PAPER},
    limits=(0.0, 8.0),
)
def snow_ring(
    *, preset: str = "reference", density: float = 400.0, speed: float = 8.0, gravity: float = 9.81
) -> Scene:
    """`snowball` with the shape ``"ring"``, and the same parameters otherwise."""
    return snowball(shape="ring", preset=preset, density=density, speed=speed, gravity=gravity)


@listed(
    "a triangle of snow is thrown at a wall and drops from it (2-D, Stomakhin et al. 2013)",
    duration=0.5,
    fps=120.0,
    numerics={"dx": 1 / 96, **PAPER},
    limits=(0.0, 8.0),
)
def snow_triangle(
    *, preset: str = "reference", density: float = 400.0, speed: float = 8.0, gravity: float = 9.81
) -> Scene:
    """`snowball` with the shape ``"triangle"``, and the same parameters otherwise."""
    return snowball(shape="triangle", preset=preset, density=density, speed=speed, gravity=gravity)


def _wedge(dim: int, preset: str, density: float, speed: float, friction: float, gravity: float) -> Scene:
    """A ball above a wedge whose ridge runs along the second of three axes; the ball is slightly off-centre."""
    v = _check.number("speed", speed, unit="m/s")
    g = _check.number("gravity", gravity, unit="m/s²")
    depth = (0.5,) * (dim - 2)
    apex = (0.5, *depth, 0.4)
    scene = Scene([0] * dim, [1] * dim, gravity=(*[0] * (dim - 1), -g), walls="sticky")
    left, right = (shapes.HalfSpace(apex, (side, *[0] * (dim - 2), 0.6)) for side in (-1, 1))
    scene.add_collider(left & right, friction=friction, name="wedge")
    ball = shapes.Ball((0.52, *depth, 0.63), 0.19)
    scene.add(ball, _snow(preset, density), velocity=(*[0] * (dim - 1), -v), name="snow")
    return scene


@listed(
    "a snowball breaks on a wedge (2-D)",
    duration=0.5,
    fps=120.0,
    numerics={"dx": 1 / 128, **FLIP},
    limits=(0.0, 6.0),
)
def snow_wedge(
    *,
    preset: str = "reference",
    density: float = 400.0,
    speed: float = 5.0,
    friction: float = 0.3,
    gravity: float = 9.81,
) -> Scene:
    """A snowball of radius 0.19 m is thrown down on a wedge and breaks.

    Parameters
    ----------
    preset : str
        Of `mpm.materials.Snow.preset`.
    density : float
        [kg/m³].
    speed : float
        [m/s], downwards.
    friction : float
        Of the wedge.
    gravity : float
        [m/s²], downwards.
    """
    return _wedge(2, preset, density, speed, friction, gravity)


@listed(
    "a snowball breaks on a wedge (3-D, 200,000 particles)",
    duration=0.125,
    fps=120.0,
    numerics={"dx": 1 / 96, **FLIP, "kernel": "quadratic"},
    limits=(0.0, 6.0),
)
def snow_wedge_3d(
    *,
    preset: str = "reference",
    density: float = 400.0,
    speed: float = 5.0,
    friction: float = 0.3,
    gravity: float = 9.81,
) -> Scene:
    """`snow_wedge` in 3-D, with the same parameters: the ridge of the wedge runs along y."""
    return _wedge(3, preset, density, speed, friction, gravity)


@listed(
    "a slanted blade is driven through a layer of snow (3-D)",
    duration=1.0,
    fps=60.0,
    numerics={"dx": 1 / 24, **FLIP},
    limits=(0.0, 2.0),
)
def snow_plow(
    *,
    preset: str = "reference",
    density: float = 400.0,
    speed: float = 1.5,
    angle_deg: float = 30.0,
    gravity: float = 9.81,
) -> Scene:
    """A slanted blade is driven through a layer of snow, 0.125 m high, and casts it aside.

    Parameters
    ----------
    preset : str
        Of `mpm.materials.Snow.preset`.
    density : float
        [kg/m³].
    speed : float
        Of the blade [m/s], along x.
    angle_deg : float
        By which the blade is turned counter-clockwise, seen from above [degrees], −60 to 60: to which side it casts.
    gravity : float
        [m/s²], downwards.
    """
    angle = np.radians(_check.number("angle_deg", angle_deg, low=-60, high=60))
    scene = Scene((0, 0, 0), (2, 1, 0.5), gravity=(0, 0, -gravity), walls={"z": "sticky"})
    scene.add(shapes.Box((0.375, 0, 0), (2, 1, 0.125)), _snow(preset, density), name="snow")
    blade = shapes.Box((0.1, 0.3, 0.03), (0.25, 0.7, 0.4)).rotate(angle, axis=(0, 0, 1), about=(0.25, 0.5, 0))
    scene.add_collider(blade, motion=motion.Linear((speed, 0, 0)), name="blade")
    return scene


@listed(
    "six kinds of snow side by side: which parameters make powder, which make chunks (2-D)",
    duration=0.4,
    fps=120.0,
    numerics={"dx": 1 / 96, **FLIP},
    color="Jp",
    limits=(0.8, 1.2),
)
def snow_parameters(
    *, density: float = 400.0, speed: float = 4.0, friction: float = 0.3, gravity: float = 9.81
) -> Scene:
    """The six presets of `mpm.materials.Snow` side by side: each a ball that breaks on a wedge of its own.

    Parameters
    ----------
    density : float
        [kg/m³].
    speed : float
        [m/s], downwards.
    friction : float
        Of the wedges and of the partitions between them.
    gravity : float
        [m/s²], downwards.
    """
    scene = Scene((0, 0), (3, 1), gravity=(0, -gravity), walls="sticky")
    for k, preset in enumerate(SNOW_PRESETS):
        middle = 0.25 + 0.5 * k
        ball = shapes.Ball((middle + 0.01, 0.6), 0.15)
        scene.add(ball, _snow(preset, density), velocity=(0, -speed), name=preset)
        wedge = shapes.Polygon([(middle - 0.12, -0.1), (middle + 0.12, -0.1), (middle, 0.35)])
        scene.add_collider(wedge, friction=friction, name=preset)
        if k:
            partition = shapes.Box((0.5 * k - 1 / 32, -0.1), (0.5 * k + 1 / 32, 1.1))
            scene.add_collider(partition, friction=friction, name=f"partition{k}")
    return scene
