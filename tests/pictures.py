"""What the tests of pictures and movies draw."""

import numpy as np

import mpm
from mpm import materials, shapes

SOLID = materials.FixedCorotated(E=2e4, nu=0.3, density=1000)
WATER = materials.Fluid(bulk_modulus=1e5, density=1000)


def make(dim, dtype="float64"):
    """A solid that expands and water above it, in the middle of their fall."""
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0, -9.81, 0][:dim])
    scene.add(shapes.Box([0.125] * dim, [0.375] * dim), SOLID, velocity=lambda x: x)
    scene.add(shapes.Box([0.5] * dim, [0.75] * dim), WATER)
    sim = mpm.Simulation(scene, dx=0.125, dtype=dtype, threads=1)
    sim.step(5)
    return sim


def lattice(low, high, spacing):
    """Points (n, 3) of a box."""
    axes = (np.arange(a + spacing / 2, b, spacing) for a, b in zip(low, high, strict=True))
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
