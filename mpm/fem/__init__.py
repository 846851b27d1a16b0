"""Linear finite elements: the same scenes of elastic bodies, with triangles or tetrahedra instead of particles.

>>> import mpm
>>> scene = mpm.Scene((0, 0), (2, 1), gravity=(0, -9.81))
>>> rubber = mpm.materials.Corotated(E=1e5, nu=0.3, density=1000)
>>> body = scene.add(mpm.shapes.Box((0.5, 0.5), (1.5, 0.7)), rubber)
>>> sim = mpm.fem.Simulation(scene, spacing=0.05)
>>> sim.run(0.1)
"""

from __future__ import annotations

from mpm.base import advice
from mpm.fem.elements import Elements
from mpm.fem.meshing import Mesh, mesh
from mpm.fem.simulation import Simulation

__all__ = ["Elements", "Mesh", "Simulation", "mesh"]

__dir__, __getattr__ = advice.names_of_module(__name__, __all__)
