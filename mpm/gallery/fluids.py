"""Scenes of one fluid, each for the Material Point Method and for SPH."""

from __future__ import annotations

import numpy as np

from mpm import materials, shapes
from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.gallery.entry import listed
from mpm.scene.scene import Scene

MACH = 10.0  # wave speed over the largest speed: the density varies by 1/MACH² = 1 %


@listed(
    "a column of water collapses in a tank (2-D)",
    duration=1.5,
    fps=60.0,
    numerics={"dx": 1 / 40},
    sph={"spacing": 1 / 80, "alpha": 0.1},
    limits=(0.0, 4.0),
)
def dam_break(
    *,
    width: float = 0.5,
    height: float = 1.0,
    density: float = 1000.0,
    viscosity: float = 0.0,
    gravity: float = 9.81,
) -> Scene:
    """A column of water collapses in a tank, as in the experiments of Martin and Moyce (1952).

    Parameters
    ----------
    width, height : float
        Of the column [m]; the tank is 2.5 m wide and 1.5 m high.
    density : float
        [kg/m³].
    viscosity : float
        [Pa s].
    gravity : float
        [m/s²], downwards.

    References
    ----------
    Martin, Moyce: An experimental study of the collapse of liquid columns on a rigid horizontal plane. Phil. Trans. R.
    Soc. A 244 (1952) 312-324. doi:10.1098/rsta.1952.0006
    """
    w = _check.number("width", width, low=0, low_open=True, high=2.5, unit="m")
    h = _check.number("height", height, low=0, low_open=True, high=1.5, unit="m")
    g = _check.number("gravity", gravity, low=0, low_open=True, unit="m/s²")
    scene = Scene((0, 0), (2.5, 1.5), gravity=(0, -g), walls="separate")
    scene.add(shapes.Box((0, 0), (w, h)), _water(density, np.sqrt(2 * g * h), viscosity), name="water")
    return scene


@listed(
    "a column of water settles under its weight (2-D)",
    duration=1.0,
    fps=30.0,
    numerics={"dx": 1 / 20},
    sph={"spacing": 1 / 40, "alpha": 0.1},
    color="pressure",
)
def hydrostatic(*, density: float = 1000.0, viscosity: float = 2.0, gravity: float = 9.81) -> Scene:
    """A column of water, 1 m high and 0.5 m wide, settles between walls under its weight.

    Parameters
    ----------
    density : float
        [kg/m³].
    viscosity : float
        [Pa s].
    gravity : float
        [m/s²], downwards.
    """
    g = _check.number("gravity", gravity, low=0, low_open=True, unit="m/s²")
    scene = Scene((0, 0), (0.5, 1.5), gravity=(0, -g))
    scene.add(shapes.Box((0, 0), (0.5, 1)), _water(density, np.sqrt(2 * g), viscosity), name="water")
    return scene


@listed(
    "four vortices decay in a periodic box (2-D)",
    duration=0.1,
    fps=200.0,
    numerics={"dx": 1 / 40},
    sph={"spacing": 1 / 40, "smoothing": 2.0, "kernel": "wendland"},
    limits=(0.0, 1.0),
)
def taylor_green(*, density: float = 1000.0, speed: float = 1.0, reynolds: float = 10.0) -> Scene:
    """Four vortices in a periodic box of 1 m decay by viscosity as exp(−8π²νt).

    Parameters
    ----------
    density : float
        [kg/m³].
    speed : float
        The largest at the beginning [m/s].
    reynolds : float
        speed · 1 m/ν.

    References
    ----------
    Taylor, Green: Mechanism of the production of small eddies from large ones. Proc. R. Soc. A 158 (1937) 499-521.
    """
    u = _check.number("speed", speed, low=0, low_open=True, unit="m/s")
    rho = _check.number("density", density, low=0, low_open=True, unit="kg/m³")
    nu = u / _check.number("reynolds", reynolds, low=0, low_open=True)
    k = 2 * np.pi

    def velocity(x: FloatArray) -> FloatArray:
        a, b = k * x[:, 0], k * x[:, 1]
        return u * np.stack([-np.cos(a) * np.sin(b), np.sin(a) * np.cos(b)], axis=1)

    scene = Scene((0, 0), (1, 1), walls="periodic")
    scene.add(shapes.Box((0, 0), (1, 1)), _water(rho, u, rho * nu), velocity=velocity, name="vortices")
    return scene


@listed(
    "a column of water collapses in a closed tank and comes to rest (2-D)",
    duration=6.0,
    fps=30.0,
    numerics={"dx": 1 / 40},
    limits=(0.0, 3.0),
)
def tank(*, density: float = 1000.0, viscosity: float = 2.0, gravity: float = 9.81) -> Scene:
    """A column of water collapses in a closed tank, 1 m wide and 1.2 m high, splashes, and comes to rest 0.18 m deep.

    Parameters
    ----------
    density : float
        [kg/m³].
    viscosity : float
        [Pa s].
    gravity : float
        [m/s²], downwards.
    """
    g = _check.number("gravity", gravity, low=0, low_open=True, unit="m/s²")
    scene = Scene((0, 0), (1, 1.2), gravity=(0, -g))
    fluid = _water(density, np.sqrt(2 * g * 0.6), viscosity)
    scene.add(shapes.Box((0, 0), (0.3, 0.6)), fluid, name="water")
    return scene


@listed(
    "a jet of water fills a tank (2-D)",
    duration=2.0,
    fps=40.0,
    numerics={"dx": 1 / 40},
    limits=(0.0, 3.0),
)
def jet(
    *, density: float = 1000.0, viscosity: float = 2.0, speed: float = 2.0, gravity: float = 9.81
) -> Scene:
    """A jet fills a tank, 1 m wide and 1 m high, in which water is 0.1 m deep. The jet brings 0.1 m² in 1 s.

    Parameters
    ----------
    density : float
        [kg/m³].
    viscosity : float
        [Pa s].
    speed : float
        Of the jet [m/s].
    gravity : float
        [m/s²], downwards.
    """
    g = _check.number("gravity", gravity, low=0, low_open=True, unit="m/s²")
    u = _check.number("speed", speed, low=0, low_open=True, unit="m/s")
    scene = Scene((0, 0), (1, 1), gravity=(0, -g), walls="separate")
    fluid = _water(density, np.hypot(u, np.sqrt(2 * g)), viscosity)
    scene.add(shapes.Box((0, 0), (1, 0.1)), fluid, name="pool")
    scene.add_emitter(
        shapes.Box((0.1, 0.6), (0.2, 0.65)),
        fluid,
        velocity=(u, 0),
        rate=0.05 * u,
        until=0.1 / (0.05 * u),
        name="jet",
    )
    return scene


@listed(
    "columns of oil and water collapse and mix; the oil rises (2-D)",
    duration=4.0,
    fps=30.0,
    numerics={"dx": 1 / 40},
    color="material",
)
def two_liquids(
    *, density: float = 1000.0, ratio: float = 0.5, viscosity: float = 2.0, gravity: float = 9.81
) -> Scene:
    """Columns of oil and of water collapse at both ends of a tank, 1 m wide, and mix; the oil rises to the top.

    Parameters
    ----------
    density : float
        Of the water [kg/m³].
    ratio : float
        Density of the oil over that of the water.
    viscosity : float
        Of both [Pa s].
    gravity : float
        [m/s²], downwards.
    """
    g = _check.number("gravity", gravity, low=0, low_open=True, unit="m/s²")
    fastest = float(np.sqrt(2 * g * 0.45))
    scene = Scene((0, 0), (1, 0.8), gravity=(0, -g))
    scene.add(shapes.Box((0.8, 0), (1, 0.45)), _water(density, fastest, viscosity), name="water")
    share = _check.number("ratio", ratio, low=0, low_open=True)
    scene.add(shapes.Box((0, 0), (0.2, 0.45)), _water(share * density, fastest, viscosity), name="oil")
    return scene


@listed(
    "a rigid ship rides on a wave in a tank (2-D)",
    duration=4.0,
    fps=30.0,
    numerics={"dx": 1 / 40},
    limits=(0.0, 1.0),
)
def ship(
    *,
    density: float = 1000.0,
    relative_density: float = 0.45,
    crest: float = 0.15,
    viscosity: float = 2.0,
    gravity: float = 9.81,
) -> Scene:
    """A ship, 0.8 m wide, floats in a tank 3 m wide. A wave runs along the tank, lifts the ship, and it rolls.

    The ship begins at the draft that displaces its weight, 0.11 m with the default density.

    Parameters
    ----------
    density : float
        Of the water [kg/m³].
    relative_density : float
        Mean density of the ship over that of the water. A ship heavier than the water that its hull holds sinks.
    crest : float
        Height of the wave at the left wall above the water at rest [m].
    viscosity : float
        [Pa s].
    gravity : float
        [m/s²], downwards.
    """
    rho = _check.number("density", density, low=0, low_open=True, unit="kg/m³")
    share = _check.number("relative_density", relative_density, low=0, low_open=True)
    high = _check.number("crest", crest, low=0, high=0.4, unit="m")
    g = _check.number("gravity", gravity, low=0, low_open=True, unit="m/s²")
    level, bottom, side, cabin = 0.45, 0.6, 0.2, 0.03  # the bottom of the hull is 0.6 m wide, the deck 0.8 m
    weight = share * ((bottom + 0.1) * side + cabin)  # as an area of water: bottom d + d²/2 at the draft d
    keel = level - min(float(np.sqrt(bottom**2 + 2 * weight)) - bottom, side)
    hull = shapes.Polygon([(1.4, keel), (2.0, keel), (2.1, keel + side), (1.3, keel + side)])
    built = hull | shapes.Box((1.5, keel + side), (1.8, keel + side + 0.1))
    surface = [(x, level + high * np.exp(-((x / 0.4) ** 2))) for x in np.linspace(3, 0, 61)]
    scene = Scene((0, 0), (3, 1), gravity=(0, -g))
    water = _water(rho, np.sqrt(2 * g * (level + high)), viscosity)
    scene.add(shapes.Polygon([(0, 0), (3, 0), *surface]) - built, water, name="water")
    scene.add(built, materials.Rigid(density=share * rho), name="ship")
    return scene


def _water(density: float, fastest: float, viscosity: float) -> materials.Fluid:
    """A fluid whose density varies by 1 % at a speed [m/s]."""
    rho = _check.number("density", density, low=0, low_open=True, unit="kg/m³")
    eta = _check.number("viscosity", viscosity, low=0, unit="Pa s")
    return materials.Fluid(
        bulk_modulus=rho * float(MACH * fastest) ** 2, density=rho, viscosity=eta, tension=False
    )
