"""Shapes: the regions of bodies and colliders.

`shape.contains(x)` tests whether points are inside. Operators combine shapes (`a | b`, `a & b`, `a - b`, `~a`), and
methods move them (`translate`, `rotate`, `scale`). Both return a new shape and leave the old one unchanged. Lengths are
in metres, angles in radians. The length of the arguments determines whether a shape is 2-D or 3-D.

Boxes are half-open, lower <= x < upper, and so are polygons and closed meshes where their faces run along the
axes: two boxes that touch share no point, and together they have every point of the seam. Curved boundaries do not
belong to the shape.

`shape` holds the base class, `primitives`, `polygon`, `lattice`, `mesh`, `terrain`, `cells`, `deforming` and `points`
the kinds, `distances` the description for the core, and `volumes` how large shapes are.
"""

from __future__ import annotations

from mpm.base import advice
from mpm.shapes.cells import Cells
from mpm.shapes.deforming import Deforming
from mpm.shapes.lattice import DistanceGrid
from mpm.shapes.mesh import Mesh
from mpm.shapes.points import Points
from mpm.shapes.polygon import Polygon
from mpm.shapes.primitives import Ball, Box, Capsule, Cylinder, HalfSpace
from mpm.shapes.shape import Shape
from mpm.shapes.terrain import Terrain

__all__ = [
    "Ball",
    "Box",
    "Capsule",
    "Cells",
    "Cylinder",
    "Deforming",
    "DistanceGrid",
    "HalfSpace",
    "Mesh",
    "Points",
    "Polygon",
    "Shape",
    "Terrain",
]

__dir__, __getattr__ = advice.names_of_module(__name__, __all__)
