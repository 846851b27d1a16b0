"""Light in pictures of 3-D scenes: a surface through the particles, its shading, ambient occlusion and soft shadows.

The core smooths the depths of what is seen with a bilateral filter, so that a body reads as a solid and the lattice of
its particles does not show (after van der Laan, Green and Sainz 2009). Every pixel takes light from the sky, as far as
the surfaces around leave it open, and from the sun, as far as no material is in front of it in a picture of the same
particles as the sun sees them. The sun stands still while the camera moves.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base._check import FloatArray
from mpm.base.config import threads_for
from mpm.scene.scene import Scene
from mpm.viz import discs
from mpm.viz.camera import AZIMUTH, ELEVATION, NEAREST, Camera, turned
from mpm.viz.view import upright

Image = npt.NDArray[np.uint8]
Depths = npt.NDArray[np.float32]

SUN = np.array([-0.42, 0.78, 0.46])  # direction, as the usual camera sees it: right, up, towards the camera
SKY, EARTH, SHINE = (0.50, 0.525, 0.57), (0.31, 0.30, 0.29), (0.50, 0.48, 0.44)  # red, green, blue
FILL = 0.18  # from where the camera is
MAP = 640.0  # pixels along the material, in the picture from the sun
LARGEST_MAP = 2048
COVER = 0.8  # radius of a disc over the distance of particles there
SMOOTHED = 1.6  # standard deviation of the smoothing, in distances of particles
WIDEST = 12.0  # the same in pixels, at most
REACH = 0.075  # of ambient occlusion, over the height of the picture
OCCLUSION = 1.0
SOFTNESS = 0.018  # radius of the penumbra over the longest side of the domain
ON_GROUND = 0.8  # how much of the shadows the ground takes
LOWEST = 0.03  # sine of the least elevation of a camera that sees the ground
PIXELS = 40_000  # of an image: fewer are work for one thread


class Relief:
    """Lights pictures of one camera.

    Parameters
    ----------
    camera : Camera
        Of the fine pixels, `fine` x `fine` of which make one of an image.
    scene : Scene
    size : (width, height)
        Of the images.
    fine : int
    """

    def __init__(self, camera: Camera, scene: Scene, size: tuple[int, int], fine: int) -> None:
        self._camera, self._fine, self._size = camera, fine, size
        self._lower = scene.lower
        self._longest = float((scene.upper - scene.lower).max())
        order, sign = upright(scene.gravity)
        usual = turned(order, 1, float(np.degrees(AZIMUTH)), float(np.degrees(ELEVATION)))
        sun = (SUN / np.linalg.norm(SUN)) @ usual
        up = np.zeros(3)
        up[order[-1]] = sign
        sun[order[-1]] *= sign
        self._sun, self._up = sun, up
        aside = np.cross(up, sun)
        aside /= np.linalg.norm(aside)
        self._from_sun = np.stack([aside, np.cross(sun, aside), sun])
        self._ground = self._find_ground(scene)

    def _find_ground(self, scene: Scene) -> Depths | None:
        """How near the ground is at the pixels of an image; None where the camera does not see it."""
        camera, fine = self._camera, self._fine
        rows, upright_axis = camera.rows, camera.order[-1]
        steep = float(rows[2, upright_axis]) * (-1 if camera.turned else 1)
        if not camera.above or (steep < LOWEST and not camera.lens):
            return None
        width, height = self._size
        column = fine * np.arange(width) + (fine - 1) / 2 - camera.offset[0]
        row = camera.offset[1] - fine * np.arange(height)[:, None] - (fine - 1) / 2
        # On the ray of a pixel, column and row change with nearness: they are linear in it, as in a `lens` in C.
        lens, depth = camera.lens / camera.scale, camera.depth * camera.scale
        right, up = column + (camera.offset - camera.centre)[0], row + (camera.centre - camera.offset)[1]
        level = (camera.floor - self._lower[upright_axis]) * camera.scale - rows[2, upright_axis] * depth
        slope = rows[2, upright_axis] - lens * (rows[0, upright_axis] * right + rows[1, upright_axis] * up)
        with np.errstate(divide="ignore", invalid="ignore"):
            near = (level - rows[0, upright_axis] * column - rows[1, upright_axis] * row) / slope
            there = lens * near <= 1 - NEAREST
            for axis in camera.order[:2]:
                across, along = column - right * (lens * near), row - up * (lens * near)
                at = rows[0, axis] * across + rows[1, axis] * along + rows[2, axis] * (near + depth)
                there &= (at >= 0) & (at <= camera.scale * (scene.upper[axis] - scene.lower[axis]))
        return np.where(there, near / fine, -np.inf).astype(np.float32)

    def empty(self) -> tuple[Depths, Depths]:
        """Depths and cover of an image without material."""
        width, height = self._size
        return np.full((height, width), -np.inf, np.float32), np.zeros((height, width), np.float32)

    def shade(
        self,
        image: Image,
        depth: Depths,
        cover: Depths,
        x: npt.NDArray[np.floating],
        spacing: float,
        *,
        smooth: bool = True,
        gloss: npt.NDArray[np.float32] | None = None,
    ) -> None:
        """Light an image of particles at x (n, 3), whose distance is `spacing` [m]; triangles need no smoothing. What
        is glossy, by pixels of the image, reflects the sky and the sun."""
        camera, fine = self._camera, self._fine
        away = 1.0
        if camera.lens:
            near = camera.rows[2] @ (x.mean(axis=0, dtype=np.float64) - self._lower) - camera.depth
            away = max(NEAREST, 1 - camera.lens * near)
        apart = max(1.0, spacing * camera.scale / fine / away)  # pixels of the image
        sunlit, to_pixels, per_metre = self._seen_by_sun(x, spacing)
        u, v, w = (axis for axis in camera.rows)
        # Pixels of the image to positions from the lower corner [m], and these to pixels of the picture from the sun.
        scale = fine / camera.scale
        half = (fine - 1) / 2
        to_space = np.stack([u * scale, -v * scale, w * scale], axis=1)
        start = (
            u * (half - camera.offset[0]) + v * (camera.offset[1] - half)
        ) / camera.scale + w * camera.depth
        matrix = to_pixels[:, :3] @ to_space
        shift = to_pixels[:, :3] @ start + to_pixels[:, 3]
        down = np.array([1.0, -1.0, 1.0])
        numbers = np.concatenate([
            [
                min(SMOOTHED * apart, WIDEST) if smooth else 0.0,
                1.5 * apart,
                max(REACH * self._size[1], 2 * apart),
                OCCLUSION,
            ],
            down * (camera.rows @ self._sun),
            down * (camera.rows @ self._up),
            SKY,
            EARTH,
            SHINE,
            np.concatenate([matrix, shift[:, None]], axis=1).ravel(),
            [max(1.0, 0.8 * spacing * per_metre), SOFTNESS * self._longest * per_metre, FILL, ON_GROUND],
            [*((camera.centre - half) / fine), camera.lens * fine / camera.scale],
        ])  # fmt: skip
        threads = threads_for(image.shape[0] * image.shape[1], PIXELS)
        light = np.clip(numbers, -9e5, 9e5).astype(np.float32)
        _core.shade_relief(image, depth, cover, self._ground, sunlit, light, threads, gloss)

    def _seen_by_sun(self, x: npt.NDArray[np.floating], spacing: float) -> tuple[Depths, FloatArray, float]:
        """The nearness of the material in a picture from the sun, (height, width); what makes pixels of it of
        positions from the lower corner [m], (3, 4); and its pixels per metre."""
        axes = [(x[:, k] - self._lower[k]).astype(np.float32) for k in range(3)]
        seen = [sum(np.float32(f) * a for f, a in zip(row, axes, strict=True)) for row in self._from_sun]
        low = np.array([float(s.min()) for s in seen])
        high = np.array([float(s.max()) for s in seen])
        wide = max(float((high - low)[:2].max()) + 4 * spacing, 1e-30)
        per_metre = MAP / wide
        radius = float(np.clip(COVER * spacing * per_metre, 1.5, discs.RADIUS_MAX))
        edge = radius + 2
        matrix = np.zeros((3, 4))
        matrix[0, :3], matrix[1, :3], matrix[2, :3] = per_metre * self._from_sun * np.array([[1], [-1], [1]])
        matrix[:, 3] = edge - per_metre * low[0], edge + per_metre * high[1], -per_metre * low[2]
        column = seen[0] * np.float32(per_metre) + np.float32(matrix[0, 3])
        row = np.float32(matrix[1, 3]) - seen[1] * np.float32(per_metre)
        near = seen[2] * np.float32(per_metre) + np.float32(matrix[2, 3])
        size = tuple(min(LARGEST_MAP, int(np.ceil(per_metre * k + 2 * edge))) for k in (high - low)[:2])
        depth = np.full((size[1], size[0]), -np.inf, np.float32)
        found = discs.draw(column, row, near, radius=radius, size=(size[0], size[1]))
        if found is not None:
            found.depths(near, 1, depth, np.empty_like(depth))
        return depth, matrix, per_metre
