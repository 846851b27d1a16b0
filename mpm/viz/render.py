"""A simulation's state as an RGB image, fast enough for movies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check
from mpm.solver.source import Source, is_source
from mpm.viz import canvas, facets, framing, surfaces
from mpm.viz import color as _color
from mpm.viz.camera import Camera
from mpm.viz.discs import draw as draw_discs

Image = npt.NDArray[np.uint8]

# Pictures are drawn twice as large and averaged, so that discs move smoothly and have smooth rims.
OVERSAMPLE = 2
# A disc's radius over the distance of particles; more than half hides the gaps between jittered particles.
COVER = {2: 0.95, 3: 0.75}
SHADOW = np.array([0.80, 0.82, 0.86], dtype=np.float32)  # colour of the floor under material


@dataclass(frozen=True, slots=True)
class Shot:
    """All that a picture shows of a state, which may change meanwhile."""

    time: float
    x: npt.NDArray[Any]  # (n, d) [m]
    shown: npt.NDArray[Any]  # (n,), what the colours mean
    spacing: float  # of the particles [m]
    triangles: (
        npt.NDArray[np.int32] | None
    )  # (m, 3), rows of the corners, in space of a surface; None: particles
    background: Image  # with the colliders
    surfaces: Sequence[surfaces.Surface]  # of the colliders of a 3-D scene


class Renderer:
    """Draws states of one simulation on the same canvas: particles, or the triangles of finite elements, in 3-D those
    of their surface; and colliders, in 3-D half transparent. For one thread at a time.

    Parameters
    ----------
    sim : Simulation or Frame
        Or another `mpm.solver.source.Source`.
    color : str
        As in `Simulation.plot`.
    limits : (float, float), optional
        Ends of the colour scale. Default: they grow with the values that were drawn (but for a few far off), so that
        colours of different frames compare.
    size : (int, int), optional
        Width and height, even, from 64 to 4096. Default: as the domain needs, with about as many pixels as 960 x 720.
    annotate : bool
        Draw the time and the colour bar.
    cut : mapping, optional
        As in `Simulation.plot`.
    """

    _any_thread = True  # may another thread draw than the one that shoots?

    def __init__(
        self,
        sim: Source,
        *,
        color: str = "speed",
        limits: tuple[float, float] | None = None,
        size: tuple[int, int] | None = None,
        annotate: bool = True,
        cut: Mapping[str, float] | None = None,
    ) -> None:
        check_source(sim)
        self.color = _color.check(sim, color)
        self.label = _color.label(sim, self.color)
        self.legend = _color.legend(sim, self.color)
        self.scale = _color.Scale(self.color, _color.check_limits(limits))
        self.annotate = _check.flag("annotate", annotate)
        chosen = framing.fitted(sim.scene, self.annotate) if size is None else framing.check_size(size)
        self.width, self.height = chosen
        self.unit = framing.text_unit(*chosen)
        self.dimension = sim.dimension
        self.cut = check_cut(cut, sim)
        fine = (OVERSAMPLE * self.width, OVERSAMPLE * self.height)
        left, top, right, bottom = framing.edges(self.width, self.height, self.annotate)
        frame = (OVERSAMPLE * left, OVERSAMPLE * top, OVERSAMPLE * right, OVERSAMPLE * bottom)
        scene = sim.scene
        self.camera = Camera(scene.lower, scene.upper, scene.gravity, frame)
        self.empty = canvas.background(self.camera, scene.lower, scene.upper, fine)
        self.moving = False
        self.background = halved(self.empty)
        self.surfaces: Sequence[surfaces.Surface] = ()
        if colliders := sim._posed():
            self.moving = any(collider.moves for collider in colliders)
            self.background, self.surfaces = self._place_colliders(sim)
        self.canvas = self.background  # with the colour bar
        self.labelled: tuple[Image, tuple[tuple[float, float], str]] | None = None
        self.floor = _Floor(self.camera) if sim.dimension == 3 else None
        self._skin = facets.Skin()

    def frame(self, sim: Source) -> Image:
        """The current state, shape (height, width, 3)."""
        return self._draw(self._shoot(sim))

    def _shoot(self, sim: Source) -> Shot:
        """Copy from the current state what drawing needs."""
        check_source(sim)
        if sim.dimension != self.dimension:
            raise ValueError(f"sim is {sim.dimension}-D: must be {self.dimension}-D like the renderer's")
        state = sim._state((self.color, "volume"))
        x, volume, shown = state.fields["x"], state.fields["volume"], _color.values(state, self.color)
        cells = sim._cells()
        if cells is None and not np.isfinite(x).all():  # possible in a trajectory of another program
            there = np.isfinite(x).all(axis=1)
            x, shown = x[there], shown[there]
        if self.cut and cells is None:
            behind = self._behind(x)
            x, shown = x[behind], shown[behind]
        spacing = float(np.median(volume)) ** (1 / sim.dimension) if len(x) else 1.0
        placed = self._place_colliders(sim) if self.moving else (self.background, self.surfaces)
        triangles = None if cells is None else self._triangles(cells, x)
        return Shot(sim.time, x, shown, spacing, triangles, *placed)

    def _triangles(self, cells: npt.NDArray[Any], x: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """The triangles that are drawn: the cells themselves, or the surface of those that the cut leaves."""
        if self.dimension == 2:
            return np.ascontiguousarray(cells, dtype=np.int32)
        if self.cut:
            cells = cells[self._behind(x[cells].mean(axis=1))]
        return self._skin.of(cells)

    def _behind(self, x: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which positions (n, 3) a plane of the cut has on its far side from the camera."""
        towards = self.camera.rows[2]
        sides = [
            x[:, axis] <= place if towards[axis] > 0 else x[:, axis] >= place for axis, place in self.cut
        ]
        return np.asarray(np.any(sides, axis=0))

    def _draw(self, shot: Shot) -> Image:
        """Draw the picture of a shot, shape (height, width, 3)."""
        limits = self.scale.take(shot.shown)
        if self.annotate:
            self._label(shot.background, (limits, _color.beyond(shot.shown, limits)))
        image = (self.canvas if self.annotate else shot.background).copy()
        self._paint(image, shot, limits)
        if self.annotate:
            size = max(10, round(self.unit / 32))
            canvas.write(image, f"t = {shot.time:.3f} s", (round(framing.MARGIN * self.unit), size), size)
        return image

    def _place_colliders(self, sim: Source) -> tuple[Image, Sequence[surfaces.Surface]]:
        """Draw the colliders at their current poses on the background; in 3-D their surfaces, too."""
        if self.dimension == 2:
            return halved(canvas.colliders(self.empty, sim, self.camera)), ()
        found = surfaces.find(sim, self.camera, self.empty.shape[:2])
        return halved(surfaces.draw(self.empty, found)), found

    def _label(self, background: Image, scale: tuple[tuple[float, float], str]) -> None:
        """Draw the colour bar, if the canvas lacks it."""
        if self.labelled is not None and self.labelled[0] is background and self.labelled[1] == scale:
            return
        self.canvas = background.copy()
        canvas.color_bar(self.canvas, self.label, *scale, _color.whole(self.color, scale[0]))
        if self.legend:
            canvas.legend(self.canvas, self.legend, scale[0])
        self.labelled = (background, scale)

    def _paint(self, image: Image, shot: Shot, limits: tuple[float, float]) -> None:
        if not len(shot.x):
            return
        column, row, near = self.camera.project(shot.x)
        levels = _color.index(shot.shown, limits)
        if near is None and shot.triangles is not None:
            column, row = (np.ascontiguousarray(at, dtype=np.float32) for at in (column, row))
            _core.paint_triangles(column, row, shot.triangles, levels, _color.TABLE, OVERSAMPLE, image)
            return
        if self.floor is not None:
            casts = slice(None) if shot.triangles is None else np.unique(shot.triangles)
            self.floor.darken(image, column[casts], row[casts], shot.x[casts], shot.spacing)
        depth = None if near is None else near * np.float32(self.camera.scale)
        size = OVERSAMPLE * self.width, OVERSAMPLE * self.height
        if depth is not None and shot.triangles is not None:
            self._paint_surface(image, shot, column, row, depth, levels, size)
            return
        radius = max(1.5, COVER[self.dimension] * shot.spacing * self.camera.scale)
        found = draw_discs(column, row, depth, radius=radius, size=size, fine=OVERSAMPLE)
        if found is not None:
            found.paint(image, levels, OVERSAMPLE)
            if depth is not None and shot.surfaces:
                front = found.front(depth)
                for one in shot.surfaces:
                    one.veil(image, found.window, front, OVERSAMPLE)

    def _paint_surface(
        self,
        image: Image,
        shot: Shot,
        column: npt.NDArray[Any],
        row: npt.NDArray[Any],
        depth: npt.NDArray[Any],
        levels: npt.NDArray[np.uint8],
        size: tuple[int, int],
    ) -> None:
        """The surface of tetrahedra, behind the colliders in front of it."""
        assert shot.triangles is not None
        seen, light = facets.shading(np.asarray(shot.x, np.float64), shot.triangles, self.camera.rows)
        corners = shot.triangles[seen]
        found = facets.draw(column, row, depth, corners, levels, light[seen], size=size, fine=OVERSAMPLE)
        if found is not None:
            found.paint(image, OVERSAMPLE)
            for one in shot.surfaces:
                one.veil(image, found.window, found.near, OVERSAMPLE)


class _Floor:
    """The shadow that material casts straight down."""

    STEP = 2 * OVERSAMPLE  # a quarter of the resolution is enough for something blurred
    BLUR = (4, 6)

    def __init__(self, camera: Camera) -> None:
        self.up, self.level = camera.order[2], camera.floor
        self.scale = camera.scale
        self.fall = camera.scale * float(camera.rows[1, self.up])  # pixels of the picture per metre of height

    def darken(
        self,
        image: Image,
        column: npt.NDArray[Any],
        row: npt.NDArray[Any],
        x: npt.NDArray[Any],
        spacing: float,
    ) -> None:
        """Darken the image under particles (column, row) at x."""
        ground = row + np.float32(self.fall) * (x[:, self.up] - self.level).astype(np.float32)
        height, width = image.shape[0] // 2, image.shape[1] // 2
        inside = (column >= 0) & (column < width * self.STEP) & (ground >= 0) & (ground < height * self.STEP)
        if not inside.all():
            column, ground = column[inside], ground[inside]
        if not len(column):
            return
        c, r = (
            (column / np.float32(self.STEP)).astype(np.intp),
            (ground / np.float32(self.STEP)).astype(np.intp),
        )
        blur = (max(1, round(spacing * self.scale / self.STEP)), *self.BLUR)
        reach = sum(blur)
        left, top = max(int(c.min()) - reach, 0), max(int(r.min()) - reach, 0)
        right, bottom = min(int(c.max()) + reach + 1, width), min(int(r.max()) + reach + 1, height)
        cover = np.zeros((bottom - top, right - left), dtype=np.float32)
        cover.ravel()[(r - top) * cover.shape[1] + (c - left)] = 1  # one index is faster than two
        for half in blur:
            cover = _box_blur(cover, half)
        cover = np.minimum(cover * np.float32(1.6), 1).repeat(2, axis=0).repeat(2, axis=1)
        part = image[2 * top : 2 * bottom, 2 * left : 2 * right]
        for k, shadow in enumerate(SHADOW):  # one colour at a time, because an axis of length 3 is slow
            part[..., k] = part[..., k] * (1 - (1 - shadow) * cover)


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
    wide = 2 * half + 1
    for _ in range(2):
        total = np.cumsum(np.pad(image, ((half + 1, half), (0, 0))), axis=0, dtype=np.float32)
        image = ((total[wide:] - total[:-wide]) / np.float32(wide)).T
    return image


def check_source(sim: object) -> None:
    if not is_source(sim):
        raise _check.wrong_type("sim", sim, "an mpm.Simulation or a frame of a replay")


def check_image(name: str, image: object) -> Image:
    """An RGB image."""
    if not isinstance(image, np.ndarray):
        raise _check.wrong_type(name, image, "an array of uint8 of shape (height, width, 3)")
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        allowed = "uint8 of shape (height, width, 3)"
        raise ValueError(f"{name} is {image.dtype} of shape {image.shape}: must be {allowed}")
    return image


def check_cut(cut: object, sim: Source) -> tuple[tuple[int, float], ...]:
    """Axes and places of the planes of a cut."""
    if cut is None:
        return ()
    if not isinstance(cut, Mapping):
        raise _check.wrong_type("cut", cut, 'a mapping from axes to places, such as {"y": 0.5}')
    if sim.dimension == 2:
        raise ValueError(f"cut = {_check.shown(cut)}: must be None in 2-D: nothing hides the particles")
    low, high = sim.scene.lower, sim.scene.upper
    planes = []
    for name, place in cut.items():
        axis = "xyz".index(_check.choice("key of cut", name, ("x", "y", "z")))
        at = _check.number(f"cut[{name!r}]", place, low=float(low[axis]), high=float(high[axis]), unit="m")
        planes.append((axis, at))
    return tuple(planes)
