"""Fluids and tanks that the tests of SPH share."""

import warnings

import mpm

C = 20.0  # wave speed [m/s]
WATER = mpm.materials.Fluid(bulk_modulus=1000 * C**2, density=1000)
SYRUP = mpm.materials.Fluid(bulk_modulus=1000 * C**2, density=1000, viscosity=3.0)


def scene_of(fluid, shape, lower=(0, 0), upper=(1, 1), walls="slip", gravity=None, velocity=0):
    """One body of fluid in a tank."""
    scene = mpm.Scene(lower, upper, walls=walls, gravity=gravity or (0,) * len(lower))
    scene.add(shape, fluid, velocity=velocity)
    return scene


def dam(**options):
    """A column of 200 particles; the tank is 3 m wide."""
    scene = scene_of(WATER, mpm.shapes.Box((0, 0), (0.5, 1)), upper=(3, 2), gravity=(0, -9.81))
    return mpm.sph.Simulation(scene, **{"spacing": 1 / 20, "alpha": 0.1} | options)


def quiet(scene, **options):
    """Particles that begin close together are wanted here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mpm.sph.Simulation(scene, **options)
