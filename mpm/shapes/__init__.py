"""Shapes: what a body or a collider occupies.

A shape answers one question, `shape.contains(x)`, and can be combined (`a | b`, `a & b`, `a - b`, `~a`) and
moved (`translate`, `rotate`, `scale`); each gives a new shape, none changes. Lengths are in metres, angles in
radians. 2-D and 3-D shapes are told apart by the length of what they are made from.

Boxes are half-open, lower <= x < upper, and so are polygons and closed meshes where their faces run along the
axes: two that touch have no point in common, and together they have every point of the seam. Curved
boundaries do not belong to the shape.

`shape` holds what all can do, `primitives`, `polygon`, `lattice`, `mesh` and `deforming` the kinds, and `distances`
what the core knows of them.
"""

from __future__ import annotations

from mpm import _check
from mpm.shapes.deforming import Deforming
from mpm.shapes.lattice import DistanceGrid
from mpm.shapes.mesh import Mesh
from mpm.shapes.polygon import Polygon
from mpm.shapes.primitives import Ball, Box, Capsule, Cylinder, HalfSpace, Points
from mpm.shapes.shape import Shape

__all__ = [
    "Ball",
    "Box",
    "Capsule",
    "Cylinder",
    "Deforming",
    "DistanceGrid",
    "HalfSpace",
    "Mesh",
    "Points",
    "Polygon",
    "Shape",
]


def __dir__() -> list[str]:
    return __all__


__getattr__ = _check.names_of_module(__name__, __all__)
