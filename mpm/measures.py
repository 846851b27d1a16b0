"""Exact volumes of shapes with a formula, for comparison with sampled bodies."""

from __future__ import annotations

import math

import numpy as np

from mpm.shapes import Ball, Box, Capsule, Cylinder, Mesh, Polygon, Shape


def volume(shape: Shape) -> float | None:
    """Volume [m³], in 2-D area [m²]; None for combinations, moved shapes, points and meshes with defects."""
    d = shape.dimension
    if isinstance(shape, Box):
        return float(np.prod(shape.upper - shape.lower))
    if isinstance(shape, Ball):
        return _ball(shape.radius, d)
    if isinstance(shape, (Capsule, Cylinder)):
        length = float(np.linalg.norm(shape.b - shape.a))
        rod = length * (2 * shape.radius if d == 2 else math.pi * shape.radius**2)
        return rod + (_ball(shape.radius, d) if isinstance(shape, Capsule) else 0.0)
    if isinstance(shape, Polygon):
        x, y = (shape.vertices - shape.vertices.mean(axis=0)).T
        return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2
    if isinstance(shape, Mesh) and shape.report.watertight and not shape.report.mended:
        return float(shape.report.signed_volume)
    return None


def _ball(radius: float, d: int) -> float:
    return math.pi * radius**2 if d == 2 else 4 / 3 * math.pi * radius**3
