"""Water in closed tanks: scenes whose volume is known."""

import numpy as np

import mpm

DEPTH = 0.18  # of the settled water [m]; in 2-D the tank is 1 m wide
STILL = 100.0  # viscosity [Pa s] that brings water to rest


def water(
    bulk_modulus: float = 2e5, density: float = 1000.0, viscosity: float = 2.0, tension: bool = True
) -> mpm.materials.Fluid:
    return mpm.materials.Fluid(
        bulk_modulus=bulk_modulus, density=density, viscosity=viscosity, tension=tension
    )


def tank(
    dim: int = 2,
    *,
    bulk_modulus: float = 2e5,
    height: float = 1.2,
    walls: object = "slip",
    tension: bool = True,
) -> mpm.Scene:
    """A column of water collapses in a closed tank and ends `DEPTH` deep; `height` of the tank [m]."""
    upper, column = ((1, height), (0.3, 0.6)) if dim == 2 else ((1, height, 0.2), (0.3, 0.6, 0.2))
    scene = mpm.Scene((0,) * dim, upper, gravity=(0, -9.81) + (0,) * (dim - 2), walls=walls)
    liquid = water(bulk_modulus, tension=tension)
    scene.add(mpm.shapes.Box((0,) * dim, column), liquid, name="water")
    return scene


def exact(bulk_modulus: float = 2e5) -> float:
    """The depth [m] of the settled water, which its weight compresses."""
    return DEPTH * (1 - 1000 * 9.81 * DEPTH / (2 * bulk_modulus))


def bring_to_rest(sim: mpm.Simulation, duration: float = 2.0) -> None:
    """Let viscosity end the motion; its bound of the time step is that of sound."""
    sim.set("body.viscosity", STILL)
    sim.run(duration)


def height(sim: mpm.Simulation) -> float:
    """Twice the mean height of the fluid [m], by its rest volumes: the depth of a pool with a level bottom."""
    particles = sim.particles
    return 2 * float(np.average(particles.x[:, 1], weights=particles.volume))


def energy(sim: mpm.Simulation) -> float:
    """Kinetic, elastic and potential [J]."""
    now, particles = sim.totals(), sim.particles
    potential = -float((particles.mass[:, None] * particles.x * sim.scene.gravity).sum())
    return now.kinetic + now.elastic + potential
