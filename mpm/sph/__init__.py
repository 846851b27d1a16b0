"""Smoothed particle hydrodynamics (SPH): a second way to solve a `mpm.Scene` of one fluid.

>>> import mpm
>>> scene = mpm.Scene(lower=(0, 0), upper=(2, 1), gravity=(0, -9.81))
>>> water = mpm.materials.Fluid(bulk_modulus=2e5, density=1000)
>>> body = scene.add(mpm.shapes.Box((0, 0), (0.5, 0.5)), water)
>>> sim = mpm.sph.Simulation(scene, spacing=1 / 40, alpha=0.1)
>>> sim.run(0.1)

`operators` has the sums of the method for arrays of your own: kernel, neighbours, gradients, divergence, Laplacians.
"""

from mpm.sph import operators
from mpm.sph.simulation import Simulation

__all__ = ["Simulation", "operators"]
