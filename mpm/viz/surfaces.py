"""Colliders in pictures of 3-D scenes: their surface within the domain as shaded discs, half transparent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.solver.source import Source
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
DARKEST = 0.62  # brightness where the surface is seen edge-on to the light


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


def find(sim: Source, camera: Camera, shape: tuple[int, int], hidden: Collection[str] = ()) -> list[Surface]:
    """The surfaces of the colliders of a 3-D scene in an image (height, width)."""
    height, width = shape
    surfaces = []
    for collider in sim._posed():
        if collider.collider.name in hidden:
            continue
        x, normal, spacing = points(collider.distance, sim.scene.lower, sim.scene.upper)
        column, row, near = camera.project(x)
        assert near is not None
        radius = camera.radii(COVER * spacing, near)
        near = np.asarray(near * np.float32(camera.scale), dtype=np.float32)
        found = draw_discs(column, row, near, radius=radius, size=(width, height))
        if found is None:
            continue
        facing = np.abs(normal @ camera.rows.T @ (LIGHT / np.linalg.norm(LIGHT)))  # both sides are lit
        light = (DARKEST + (1 - DARKEST) * facing).astype(np.float32)
        covered = found.seen >= 0
        surfaces.append(
            Surface(
                found.window,
                np.where(covered, near[found.seen], -np.inf).astype(np.float32),
                light[found.seen],
            )
        )
    return surfaces


def draw(image: Image, surfaces: Sequence[Surface]) -> Image:
    """A copy of an image of a 3-D scene's domain with the colliders in it."""
    result = image.copy()
    for surface in surfaces:
        surface.paint(result)
    return result
