"""A simulation's state as an RGB image, fast enough for movies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mpm import _check
from mpm.io.replay import Frame
from mpm.simulation import Simulation
from mpm.viz import canvas, surfaces
from mpm.viz import color as _color
from mpm.viz.camera import Camera
from mpm.viz.splat import Splats, splat

Image = npt.NDArray[np.uint8]

# Drawn twice as large and averaged, so that discs move smoothly and have smooth rims.
OVERSAMPLE = 2
SIZE_LOW, SIZE_HIGH = 64, 4096
# A disc's radius in units of the distance of particles: more than half hides the gaps of jittered ones.
COVER = {2: 0.95, 3: 0.75}
SHADOW = np.array([0.80, 0.82, 0.86], dtype=np.float32)  # colour of the floor under material


class Renderer:
    """Draws states of one simulation on the same canvas: particles and colliders, in 3-D these behind those.

    Parameters
    ----------
    sim : Simulation or Frame
    color : str
        As in `Simulation.plot`.
    limits : (float, float), optional
        Ends of the colour scale. Default: they grow with the values that were drawn (but for a few far off), so that
        colours of different frames compare.
    size : (int, int)
        Width and height, even, from 64 to 4096.
    annotate : bool
        Draw the time and the colour bar.
    """

    def __init__(
        self,
        sim: Simulation | Frame,
        *,
        color: str = "speed",
        limits: tuple[float, float] | None = None,
        size: tuple[int, int] = (960, 720),
        annotate: bool = True,
    ) -> None:
        check_simulation(sim)
        self.color = _color.check(sim, color)
        self.fixed_limits = _color.check_limits(limits)
        self.limits = self.fixed_limits
        self.width, self.height = check_size(size)
        self.annotate = _check.flag("annotate", annotate)
        self.dimension = sim.dimension
        fine = (OVERSAMPLE * self.width, OVERSAMPLE * self.height)
        margin = 0.05 * self.height
        right = canvas.bar_width(self.height) if annotate else margin
        top = 1.9 * margin if annotate else margin
        edges = (margin, top, self.width - right, self.height - margin)
        frame = (OVERSAMPLE * edges[0], OVERSAMPLE * edges[1], OVERSAMPLE * edges[2], OVERSAMPLE * edges[3])
        scene = sim.scene
        self.camera = Camera(scene.lower, scene.upper, scene.gravity, frame)
        self.empty = canvas.background(self.camera, scene.lower, scene.upper, fine)
        self.fine, self.coarse = self.empty, halved(self.empty)
        self.labelled: tuple[tuple[float, float], str] | None = None
        self.moving = False
        if colliders := sim._posed():
            self.moving = any(collider.moves for collider in colliders)
            self._place_colliders(sim)
        self.floor = _Floor(self.camera, scene.lower) if sim.dimension == 3 else None

    def frame(self, sim: Simulation | Frame) -> Image:
        """The current state, shape (height, width, 3)."""
        check_simulation(sim)
        if sim.dimension != self.dimension:
            raise ValueError(f"sim is {sim.dimension}-D: must be {self.dimension}-D like the renderer's")
        if self.moving:
            self._place_colliders(sim)
        shown = _color.values(sim, self.color)
        limits = self._scale(shown)
        if self.annotate and self.labelled != (wanted := (limits, _color.beyond(shown, limits))):
            self.coarse = halved(self.fine)
            canvas.color_bar(self.coarse, _color.label(self.color, self.dimension), *wanted)
            self.labelled = wanted
        image = self.coarse.copy()
        self._paint(image, sim, shown, limits)
        if self.annotate:
            size = max(10, round(self.height / 32))
            canvas.write(image, f"t = {sim.time:.3f} s", (round(0.05 * self.height), size), size)
        return image

    def _place_colliders(self, sim: Simulation | Frame) -> None:
        draw = canvas.colliders if self.dimension == 2 else surfaces.draw
        self.fine = draw(self.empty, sim, self.camera)
        self.coarse = halved(self.fine)
        self.labelled = None

    def _scale(self, shown: npt.NDArray[Any]) -> tuple[float, float]:
        if self.fixed_limits is None:
            low, high = _color.span(self.color, shown)
            if self.color in _color.FROM_ZERO:
                high = _color.round_up(high)
            if self.limits is not None and self.color in _color.FROM_ZERO and not np.any(shown):
                low, high = self.limits
            self.limits = (low, high) if self.limits is None else _wider(self.limits, (low, high), shown)
        assert self.limits is not None
        return self.limits

    def _paint(
        self, image: Image, sim: Simulation | Frame, shown: npt.NDArray[Any], limits: tuple[float, float]
    ) -> None:
        if not len(shown):
            return
        x = np.asarray(sim.particles["x"])
        column, row, near = self.camera.project(x)
        spacing = float(np.median(sim.particles["volume"])) ** (1 / sim.dimension)
        fine = (OVERSAMPLE * self.width, OVERSAMPLE * self.height)
        seen = splat(
            column,
            row,
            near,
            radius=max(1.5, COVER[sim.dimension] * spacing * self.camera.scale),
            depth_per_pixel=1 / self.camera.scale,
            size=fine,
        )
        canvas_fine = self.fine
        if self.floor is not None:
            canvas_fine = self.floor.shadowed(image, self.fine, x, spacing)
        if seen is not None:
            _compose(image, canvas_fine, seen, _color.index(shown, limits))


class _Floor:
    """The shadow that material throws straight down."""

    def __init__(self, camera: Camera, lower: npt.NDArray[np.float64]) -> None:
        self.camera = camera
        self.level = float(lower[camera.order[2]])

    def shadowed(self, image: Image, fine: Image, x: npt.NDArray[Any], spacing: float) -> Image:
        """Darken the image in place; returns the background under the material, twice as fine."""
        ground = np.array(x)
        ground[:, self.camera.order[2]] = self.level
        column, row, _ = self.camera.project(ground)
        height, width = image.shape[:2]
        # A quarter of the resolution is enough for something blurred.
        c, r = (column / (2 * OVERSAMPLE)).astype(np.int32), (row / (2 * OVERSAMPLE)).astype(np.int32)
        inside = (c >= 0) & (c < width // 2) & (r >= 0) & (r < height // 2)
        cover = np.zeros((height // 2, width // 2), dtype=np.float32)
        cover[r[inside], c[inside]] = 1
        blur = max(1, round(spacing * self.camera.scale / (2 * OVERSAMPLE)))
        for width_of_box in (blur, 4, 6):
            cover = _box_blur(cover, width_of_box)
        cover = np.minimum(cover * 1.6, 1)
        dark = np.flatnonzero(cover.max(axis=1) > 0.002)
        if not len(dark):
            return fine
        rows = slice(2 * dark[0], 2 * dark[-1] + 2)
        near = np.repeat(np.repeat(cover[dark[0] : dark[-1] + 1], 2, axis=0), 2, axis=1)[..., None]
        image[rows, : near.shape[1]] = (image[rows, : near.shape[1]] * (1 - (1 - SHADOW) * near)).astype(
            np.uint8
        )
        result = fine.copy()
        fine_rows = slice(OVERSAMPLE * rows.start, OVERSAMPLE * rows.stop)
        wide = np.repeat(np.repeat(image[rows], OVERSAMPLE, axis=0), OVERSAMPLE, axis=1)
        result[fine_rows] = wide
        return result


def _wider(
    limits: tuple[float, float], now: tuple[float, float], shown: npt.NDArray[Any]
) -> tuple[float, float]:
    return (min(limits[0], now[0]), max(limits[1], now[1])) if np.any(shown) else limits


def _compose(image: Image, fine: Image, seen: Splats, values: npt.NDArray[np.uint8]) -> None:
    """Put the discs over the fine background and average them into the image."""
    # Whole pixels of the image only.
    top, left = seen.top - seen.top % OVERSAMPLE, seen.left - seen.left % OVERSAMPLE
    rows, columns = seen.shade.shape
    bottom = min(-(-(seen.top + rows) // OVERSAMPLE) * OVERSAMPLE, fine.shape[0])
    right = min(-(-(seen.left + columns) // OVERSAMPLE) * OVERSAMPLE, fine.shape[1])
    window = fine[top:bottom, left:right].copy()
    part = window[seen.top - top : seen.top - top + rows, seen.left - left : seen.left - left + columns]
    seen.paint(part, values)
    coarse = [edge // OVERSAMPLE for edge in (top, bottom, left, right)]
    image[coarse[0] : coarse[1], coarse[2] : coarse[3]] = halved(window)


def halved(fine: Image) -> Image:
    """Average of squares of OVERSAMPLE x OVERSAMPLE pixels."""
    total = np.zeros(
        (fine.shape[0] // OVERSAMPLE, fine.shape[1] // OVERSAMPLE, fine.shape[2]), dtype=np.uint16
    )
    for i in range(OVERSAMPLE):
        for j in range(OVERSAMPLE):
            total += fine[i::OVERSAMPLE, j::OVERSAMPLE]
    return ((total + OVERSAMPLE**2 // 2) // OVERSAMPLE**2).astype(np.uint8)


def _box_blur(image: npt.NDArray[np.float32], half: int) -> npt.NDArray[np.float32]:
    """Moving averages of 2·half + 1 pixels along both axes."""
    for axis in (0, 1):
        pad = [(half + 1, half) if k == axis else (0, 0) for k in (0, 1)]
        total = np.cumsum(np.pad(image, pad), axis=axis, dtype=np.float32)
        n = image.shape[axis]
        ends, starts = range(2 * half + 1, 2 * half + 1 + n), range(n)
        image = (np.take(total, ends, axis=axis) - np.take(total, starts, axis=axis)) / np.float32(
            2 * half + 1
        )
    return image


def check_simulation(sim: object) -> None:
    if not isinstance(sim, (Simulation, Frame)):
        raise _check.wrong_type("sim", sim, "an mpm.Simulation or a frame of a replay")


def check_image(name: str, image: object) -> Image:
    """An RGB image."""
    if not isinstance(image, np.ndarray):
        raise _check.wrong_type(name, image, "an array of uint8 of shape (height, width, 3)")
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        allowed = "uint8 of shape (height, width, 3)"
        raise ValueError(f"{name} is {image.dtype} of shape {image.shape}: must be {allowed}")
    return image


def check_size(size: object) -> tuple[int, int]:
    """Width and height in pixels: even, as movies need them."""
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        raise TypeError(f"size = {_check.shown(size)}: must be (width, height)")
    width, height = (_check.integer("size", edge, low=SIZE_LOW, high=SIZE_HIGH) for edge in size)
    if width % 2 or height % 2:
        raise ValueError(f"size = {(width, height)}: both must be even")
    return width, height
