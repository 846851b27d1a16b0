"""Colliders in pictures of 3-D scenes: their surface within the domain as pale shaded discs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mpm._check import FloatArray
from mpm.source import Source
from mpm.viz.camera import Camera
from mpm.viz.canvas import COLLIDER
from mpm.viz.discs import LIGHT
from mpm.viz.discs import draw as draw_discs

Image = npt.NDArray[np.uint8]
Distance: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

COARSE = 48  # cells along the longest side of the domain, in the first search for a surface
FINER = 3  # times finer are the cells near the surface
STEEP = 1.2  # half diagonals of a cell within which its surface must be: distances on lattices may be steeper than one
COVER = 0.95  # radius of a disc over the spacing of points
OPACITY = 0.6


def points(distance: Distance, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Points (m, 3) of the surface where a distance is zero in a box, normals there (m, 3), and about how far apart."""
    spacing = float((upper - lower).max()) / COARSE
    axes = [
        low + spacing * (np.arange(np.ceil((high - low) / spacing)) + 0.5)
        for low, high in zip(lower, upper, strict=True)
    ]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    x = x[_may_cross(distance(x)[0], spacing)]
    steps = np.arange(FINER) - (FINER - 1) / 2
    spacing /= FINER
    offsets = spacing * np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    x = (x[:, None] + offsets).reshape(-1, 3)
    phi, normal = distance(x)
    near = _may_cross(phi, spacing)
    x, phi, normal = x[near], phi[near], normal[near]
    for _ in range(3):
        x = x - phi[:, None] * normal
        phi, normal = distance(x)
    slack = spacing / 2
    on_it = (np.abs(phi) < slack) & ((x >= lower - slack) & (x <= upper + slack)).all(axis=1)
    return x[on_it], normal[on_it], spacing


def _may_cross(phi: FloatArray, spacing: float) -> npt.NDArray[np.bool_]:
    return np.asarray(np.abs(phi) <= STEEP * np.sqrt(3) / 2 * spacing)


def draw(image: Image, sim: Source, camera: Camera) -> Image:
    """A copy of an image of a 3-D scene's domain with the colliders in it."""
    result = image.copy()
    height, width = image.shape[:2]
    for collider in sim._posed():
        x, normal, spacing = points(collider.distance, sim.scene.lower, sim.scene.upper)
        column, row, near = camera.project(x)
        assert near is not None
        radius = COVER * spacing * camera.scale
        found = draw_discs(column, row, near * camera.scale, radius=radius, size=(width, height))
        if found is None:
            continue
        facing = np.abs(normal @ camera.rows.T @ (LIGHT / np.linalg.norm(LIGHT)))  # both sides are lit
        ink = np.array(COLLIDER) * (0.7 + 0.3 * facing[:, None])
        left, top, wide, high = found.window
        part = result[top : top + high, left : left + wide]
        covered = found.seen >= 0
        mixed = part[covered] * (1 - OPACITY) + OPACITY * ink[found.seen[covered]]
        part[covered] = mixed.round().astype(np.uint8)
    return result
