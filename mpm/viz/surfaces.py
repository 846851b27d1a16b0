"""Colliders in pictures of 3-D scenes: their surface within the domain as shaded triangles, half transparent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.scene.colliders import Placed
from mpm.solver.source import Source
from mpm.viz import contours, facets
from mpm.viz.camera import Camera
from mpm.viz.canvas import COLLIDER
from mpm.viz.discs import LIGHT

Image = npt.NDArray[np.uint8]

COARSE = 32  # cells along the longest side of the domain, in the first search for a surface
OPACITY = 0.6
DARKEST = 0.62  # brightness where the surface is seen edge-on to the light


@dataclass(frozen=True, slots=True)
class Surface:
    """The visible surface of a collider in a window of an image."""

    window: tuple[int, int, int, int]  # left, top, width, height
    near: npt.NDArray[np.float32]  # (height, width): nearness to the camera [pixels]; -inf where it is not
    light: npt.NDArray[np.float32]  # (height, width): brightness, up to 1

    def paint(self, image: Image) -> None:
        """Blend all of it into an image."""
        left, top, wide, high = self.window
        part = image[top : top + high, left : left + wide]
        covered = np.isfinite(self.near)
        ink = np.array(COLLIDER) * self.light[covered][:, None]
        part[covered] = (part[covered] * (1 - OPACITY) + OPACITY * ink).round().astype(np.uint8)

    def veil(
        self, image: Image, window: tuple[int, int, int, int], front: npt.NDArray[np.float32], fine: int
    ) -> None:
        """Blend it over a body that it hides into an image on which `fine` x `fine` pixels make one. `front` (height,
        width) is how near the body comes at the pixels of a window; infinite where it is not."""
        # Whole pixels of the image that lie in both windows; those of bodies begin and end with one.
        left, top = (-(-max(self.window[k], window[k]) // fine) * fine for k in (0, 1))
        right, bottom = (
            min(one[k] + one[k + 2] for one in (self.window, window)) // fine * fine for k in (0, 1)
        )
        if right <= left or bottom <= top:
            return
        own = _part(self.window, left, top, right, bottom)
        hides = self.near[own] > front[_part(window, left, top, right, bottom)]
        if not hides.any():
            return
        shape = ((bottom - top) // fine, fine, (right - left) // fine, fine)
        count = hides.reshape(shape).sum(axis=(1, 3))
        light = np.where(hides, self.light[own], 0).reshape(shape).sum(axis=(1, 3))
        rows, columns = np.nonzero(count)
        share = OPACITY * count[rows, columns, None] / fine**2
        ink = np.array(COLLIDER) * (light[rows, columns] / count[rows, columns])[:, None]
        part = image[top // fine : bottom // fine, left // fine : right // fine]
        part[rows, columns] = (part[rows, columns] * (1 - share) + share * ink).round().astype(np.uint8)


def _part(
    window: tuple[int, int, int, int], left: int, top: int, right: int, bottom: int
) -> tuple[slice, slice]:
    return slice(top - window[1], bottom - window[1]), slice(left - window[0], right - window[0])


def find(sim: Source, camera: Camera, shape: tuple[int, int], colliders: Sequence[Placed]) -> list[Surface]:
    """The surfaces of colliders of a 3-D scene in an image (height, width)."""
    height, width = shape
    surfaces = []
    for collider in colliders:
        if (surface := _surface(collider, sim, camera, (width, height))) is not None:
            surfaces.append(surface)
    return surfaces


def _surface(collider: Placed, sim: Source, camera: Camera, size: tuple[int, int]) -> Surface | None:
    """What is seen of one collider in an image (width, height)."""
    x, normal = within(collider, sim.scene.lower, sim.scene.upper)
    column, row, near = camera.project(x)
    assert near is not None
    facing = np.abs(normal @ camera.rows.T @ (LIGHT / np.linalg.norm(LIGHT)))  # both sides are lit
    light = DARKEST + (1 - DARKEST) * facing
    found = facets.draw(
        column,
        row,
        near * np.float32(camera.scale),
        np.arange(len(x)).reshape(-1, 3),
        255 * light,
        np.ones(len(x) // 3),
        size=size,
        fine=1,
        lens=camera.lens / camera.scale,
    )
    if found is None:
        return None
    there = found.levels >= 0
    return Surface(
        found.window,
        np.where(there, found.near, -np.inf).astype(np.float32),
        np.where(there, found.levels, 0).astype(np.float32) / np.float32(255),
    )


def within(collider: Placed, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corners (3 k, 3) of the triangles of the surface of a collider in a box, and normals (3 k, 3)."""
    x, normal = contours.surface(collider.distance, lower, upper, coarse=COARSE)
    corners = x.reshape(-1, 3, 3)
    slack = 1e-6 * (upper - lower).max()
    beyond = (corners < lower - slack).all(axis=1) | (corners > upper + slack).all(axis=1)
    kept = np.repeat(~beyond.any(axis=1), 3)
    return np.clip(x[kept], lower, upper), normal[kept]


def draw(image: Image, surfaces: Sequence[Surface]) -> Image:
    """A copy of an image of a 3-D scene's domain with the colliders in it."""
    result = image.copy()
    for surface in surfaces:
        surface.paint(result)
    return result
