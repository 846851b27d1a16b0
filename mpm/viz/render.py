"""A simulation's state as an RGB image, fast enough for movies."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.base.pictures import DEFAULTS, PictureOptions
from mpm.scene.scene import Scene
from mpm.solver.source import Source, is_source
from mpm.solver.state import State
from mpm.viz import canvas, facets, framing, ground, isosurface, jointmarks, solids, surfaces
from mpm.viz import color as _color
from mpm.viz.camera import Camera
from mpm.viz.discs import Discs, palette
from mpm.viz.discs import draw as draw_discs
from mpm.viz.relief import Relief
from mpm.viz.style import Style
from mpm.viz.surfaces import Surface
from mpm.viz.view import View, check_camera, moves

Image = npt.NDArray[np.uint8]

# Pictures are drawn twice as large and averaged, so that discs move smoothly and have smooth rims.
OVERSAMPLE = 2
# A disc's radius over the distance of particles; more than half hides the gaps between jittered particles.
COVER = {2: 0.95, 3: 0.75}


@dataclass(frozen=True, slots=True)
class Stand:
    """What a camera sees beside the material, and how it falls on a picture."""

    view: View
    camera: Camera
    empty: Image  # without colliders, in fine pixels
    relief: Relief | None  # of a 3-D scene


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
    stand: Stand
    background: Image  # with the colliders
    surfaces: Sequence[Surface]  # of the colliders of a 3-D scene
    ground: facets.Facets | None  # opaque colliders of a 3-D scene
    solids: solids.Placed | None = None  # rigid bodies, which are not among the particles
    of_solids: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0))  # what their particles show

    @property
    def values(self) -> npt.NDArray[Any]:
        """Of all that is seen, what the colours mean, each particle once."""
        return self.shown if self.solids is None else np.concatenate([self.shown, self.of_solids])


Backdrop: TypeAlias = tuple[Image, Sequence[Surface], facets.Facets | None]
"""The picture without material, and the surfaces and the ground in it."""


class Renderer:
    """Draws states of one simulation on the same canvas: particles, or the triangles of finite elements, in 3-D those
    of their surface; and colliders, in 3-D half transparent but for ground. For one thread at a time.

    In 3-D the material reads as a solid: a surface through the particles is lit by the sky, as far as it is open, and
    by a sun that casts soft shadows.

    Parameters
    ----------
    sim : Simulation or Frame
        Or another `mpm.solver.source.Source`.
    color, cmap, background, camera, hide, surface, cut
        As in `Simulation.plot`.
    limits : (float, float), optional
        Ends of the colour scale. Default: they grow with the values that were drawn (but for a few far off), so that
        colours of different frames compare.
    size : (int, int), optional
        Width and height, even, from 64 to 4096. Default: as the domain needs, with about as many pixels as 960 x 720.
    annotate : bool
        Draw the time and the colour bar.
    """

    _any_thread = True  # may another thread draw than the one that shoots?

    @_check.options
    @_check.spelled(PictureOptions, DEFAULTS)
    def __init__(
        self,
        sim: Source,
        *,
        size: tuple[int, int] | None = None,
        annotate: bool = True,
        **options: Unpack[PictureOptions],
    ) -> None:
        check_source(sim)
        chosen = DEFAULTS | options
        self.style = Style.checked(sim, **chosen)
        self.color = self.style.quantity
        self.label = "" if self.color is None else _color.label(sim, self.color)
        self.legend = () if self.color is None else _color.legend(sim, self.color)
        least = 0.0 if self.color is None else _color.noise(sim, self.color)
        self.scale = _color.Scale(self.color or "", self.style.limits, least)
        self.annotate = _check.flag("annotate", annotate)
        self.bar = self.annotate and self.color is not None
        self.dimension = sim.dimension
        self._corners = np.array([sim.scene.lower, sim.scene.upper])
        self._around = check_surface(chosen["surface"], sim)
        self._missed = False  # whether a warning has told that a surface misses its volume
        self._view = check_camera(chosen["camera"], sim.scene)
        view = self._view(sim.time)
        self.width, self.height = (
            framing.fitted(sim.scene, self.annotate, view=view, bar=self.bar)
            if size is None
            else framing.check_size(size)
        )
        self.unit = framing.text_unit(self.width, self.height)
        self.cut = check_cut(chosen["cut"], sim)
        self._colors = palette(self.style.table)
        self._inks = canvas.inks_on(self.style.background)
        self._stand = self._stand_at(view, sim.scene)
        self.moving = any(collider.moves for collider in sim._posed())
        self._backdrop = self._place_colliders(sim, self._stand)
        self.canvas = self.background  # with the colour bar
        self.labelled: tuple[Image, tuple[tuple[float, float], str]] | None = None
        self._skin = facets.Skin()
        self._skins = solids.Skins()

    @property
    def camera(self) -> Camera:
        """Where the last state was seen from."""
        return self._stand.camera

    @property
    def empty(self) -> Image:
        """The picture without material and colliders, in fine pixels."""
        return self._stand.empty

    @property
    def background(self) -> Image:
        """The picture without material."""
        return self._backdrop[0]

    @property
    def surfaces(self) -> Sequence[Surface]:
        """Of the colliders of a 3-D scene."""
        return self._backdrop[1]

    def frame(self, sim: Source) -> Image:
        """The current state, shape (height, width, 3)."""
        return self._draw(self._shoot(sim))

    def _stand_at(self, view: View, scene: Scene) -> Stand:
        edges = framing.edges(self.width, self.height, self.annotate, self.bar)
        left, top, right, bottom = (OVERSAMPLE * edge for edge in edges)
        camera = Camera(scene.lower, scene.upper, scene.gravity, (left, top, right, bottom), view)
        fine = (OVERSAMPLE * self.width, OVERSAMPLE * self.height)
        empty = canvas.background(
            camera, scene.lower, scene.upper, fine, self.style.background, self.style.plane
        )
        relief = None if self.dimension == 2 else Relief(camera, scene, (self.width, self.height), OVERSAMPLE)
        return Stand(view, camera, empty, relief)

    def _shoot(self, sim: Source) -> Shot:
        """Copy from the current state what drawing needs."""
        check_source(sim)
        if sim.dimension != self.dimension:
            raise ValueError(f"sim is {sim.dimension}-D: must be {self.dimension}-D like the renderer's")
        view = self._view(sim.time) if moves(self._view) else self._stand.view
        if view != self._stand.view:
            self._stand = self._stand_at(view, sim.scene)
            self._backdrop = self._place_colliders(sim, self._stand)
        elif self.moving:
            self._backdrop = self._place_colliders(sim, self._stand)
        rigid = sim._solids()
        names = (*self.style.fields, "volume", *(() if self._around is None else isosurface.fields_of(sim)))
        names = (*names, *(("id",) if rigid else ()))
        state = sim._state(tuple(dict.fromkeys(names)))
        self._kinds = sim._kinds()
        x, volume, shown = (
            state.fields["x"],
            state.fields["volume"],
            self.style.shown(state, grains=self._around is None),
        )
        cells, seen = sim._cells(), self.style.seen(state)
        if cells is None and not np.isfinite(x).all():  # possible in a trajectory of another program
            seen &= np.isfinite(x).all(axis=1)
        if self.cut and cells is None:
            behind = self._behind(x)
            rigid = [
                one for one in rigid if behind[one.rows(state.fields["id"])].all()
            ]  # others are cut open
            seen &= behind
        before = seen.copy()
        placed = solids.taken(rigid, state, seen, shown, self._skins, values=self.color is not None)
        own = shown[before & ~seen]  # of the bodies that were taken
        if cells is not None:
            cells = cells[seen[cells].all(axis=1)] if not self.style.plain else cells
        elif not seen.all():
            x, shown = x[seen], shown[seen]
        spacing = float(np.median(volume)) ** (1 / sim.dimension) if len(x) else 1.0
        if cells is None and self._around is not None and len(x):
            return Shot(
                sim.time, *self._wrapped(state, seen, x, shown), self._stand, *self._backdrop, placed, own
            )
        triangles = None if cells is None else self._triangles(cells, x)
        return Shot(sim.time, x, shown, spacing, triangles, self._stand, *self._backdrop, placed, own)

    def _wrapped(
        self, state: State, seen: npt.NDArray[np.bool_], x: npt.NDArray[Any], shown: npt.NDArray[Any]
    ) -> tuple[FloatArray, npt.NDArray[Any], float, npt.NDArray[np.int32]]:
        """Vertices, what their colours mean, the distance of particles, and the triangles of the surface around
        particles; of bodies with different colours, one each."""
        filled = isosurface.volumes(state, self._kinds)[seen]
        x = np.asarray(x, dtype=np.float64)
        parts = [np.ones(len(x), dtype=bool)]
        if self.color is None:
            parts = [shown == ink for ink in np.unique(shown)]
        vertices, values, triangles, count = [], [], [], 0
        for part in parts:
            given = None if self.color is None else np.asarray(shown[part], dtype=np.float64)
            found = isosurface.around(x[part], filled[part], shown=given, **(self._around or {}))
            if not self._missed and (text := isosurface.missed(found, filled[part])):
                self._missed = True  # one warning per movie
                warnings.warn(text, RuntimeWarning, stacklevel=_check.levels_to_caller())
            vertices.append(found.vertices)
            plain = np.full(len(found.vertices), shown[part][0], dtype=shown.dtype)
            values.append(plain if found.values is None else found.values)
            triangles.append(found.triangles + count)
            count += len(found.vertices)
        spacing = float(np.median(filled)) ** (1 / 3)
        corners = np.ascontiguousarray(np.concatenate(triangles), dtype=np.int32)
        return np.concatenate(vertices), np.concatenate(values), spacing, corners

    def _triangles(self, cells: npt.NDArray[Any], x: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """The triangles that are drawn: the cells themselves, or the surface of those that the cut leaves."""
        if self.dimension == 2:
            return np.ascontiguousarray(cells, dtype=np.int32)
        if self.cut:
            cells = cells[self._behind(x[cells].mean(axis=1))]
        return self._skin.of(cells)

    def _beyond(self, x: FloatArray) -> FloatArray:
        """How far places (n, 3) are in front of all planes of the cut [m]."""
        towards = self.camera.rows[2]
        sides = [(x[:, axis] - place) * (1 if towards[axis] > 0 else -1) for axis, place in self.cut]
        return np.asarray(np.min(sides, axis=0))

    def _behind(self, x: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which positions (n, 3) a plane of the cut has on its far side from the camera."""
        towards = self.camera.rows[2]
        sides = [
            x[:, axis] <= place if towards[axis] > 0 else x[:, axis] >= place for axis, place in self.cut
        ]
        return np.asarray(np.any(sides, axis=0))

    def _draw(self, shot: Shot) -> Image:
        """Draw the picture of a shot, shape (height, width, 3)."""
        limits = (0.0, 1.0) if self.color is None else self.scale.take(shot.values)
        if self.bar:
            self._label(shot.background, (limits, _color.beyond(shot.values, limits)))
        image = (self.canvas if self.bar else shot.background).copy()
        self._paint(image, shot, limits)
        if shot.solids is not None:
            jointmarks.paint(image, shot.solids.solids, shot.stand.camera, OVERSAMPLE)
        if self.annotate:
            size = max(10, round(self.unit / 32))
            place = (round(framing.MARGIN * self.unit), size)
            canvas.write(image, f"t = {shot.time:.3f} s", place, size, self._inks.text)
        return image

    def _place_colliders(self, sim: Source, stand: Stand) -> Backdrop:
        """Draw the colliders at their current poses on the background; in 3-D their surfaces, too."""
        if not sim._posed():
            return halved(stand.empty), (), None
        hidden = self.style.hidden_colliders
        if self.dimension == 2:
            return halved(canvas.colliders(stand.empty, sim, stand.camera, hidden)), (), None
        grounds, others = ground.split(sim, hidden)
        found = surfaces.find(sim, stand.camera, stand.empty.shape[:2], others)
        size = OVERSAMPLE * self.width, OVERSAMPLE * self.height
        behind = self._beyond if self.cut else None
        block = ground.draw(grounds, sim.scene, stand.camera, size, OVERSAMPLE, behind)
        return halved(surfaces.draw(stand.empty, found)), found, block

    def _label(self, background: Image, scale: tuple[tuple[float, float], str]) -> None:
        """Draw the colour bar, if the canvas lacks it."""
        if self.labelled is not None and self.labelled[0] is background and self.labelled[1] == scale:
            return
        self.canvas = background.copy()
        numbers, table = _color.whole(self.color or "", scale[0]), self.style.table
        canvas.color_bar(self.canvas, self.label, *scale, numbers, table, self._inks)
        if self.legend:
            canvas.legend(self.canvas, self.legend, scale[0], table, self._inks.text)
        self.labelled = (background, scale)

    def _paint(self, image: Image, shot: Shot, limits: tuple[float, float]) -> None:
        levels, camera = self.style.levels(shot.shown, limits), shot.stand.camera
        size = OVERSAMPLE * self.width, OVERSAMPLE * self.height
        shaded = functools.partial(
            facets.shaded, camera=camera, size=size, fine=OVERSAMPLE, table=self.style.table
        )
        found: facets.Facets | _Grains | None = None
        if len(shot.x):
            column, row, near = camera.project(shot.x)
            if near is not None:
                near = np.ascontiguousarray(near * np.float32(camera.scale), dtype=np.float32)
            if near is None and shot.triangles is not None:
                column, row = (np.ascontiguousarray(at, dtype=np.float32) for at in (column, row))
                _core.paint_triangles(
                    column, row, shot.triangles, levels, self.style.table, OVERSAMPLE, image
                )
            elif shot.triangles is not None:
                found = shaded(shot.x, shot.triangles, levels)
            else:
                away = None if near is None else near / np.float32(camera.scale)
                radius = camera.radii(COVER[self.dimension] * shot.spacing, away)
                radius = max(1.5, radius) if isinstance(radius, float) else np.maximum(1.5, radius)
                discs = draw_discs(column, row, near, radius=radius, size=size, fine=OVERSAMPLE)
                found = None if discs is None else _Grains(discs, near, levels, self._colors)
        if self.dimension == 2:
            if found is not None:
                found.paint(image, OVERSAMPLE)
            if shot.solids is not None:
                inks = self.style.levels(shot.solids.shown, limits)
                solids.paint(image, shot.solids, inks, self.style.table, camera, OVERSAMPLE)
            return
        hard = None
        if shot.solids is not None:
            inks = self.style.levels(shot.solids.shown, limits)
            hard = shaded(shot.solids.x, shot.solids.triangles, inks)
        block = None if shot.ground is None else ground.copied(shot.ground)
        layers = [layer for layer in (found, hard, block) if layer is not None]
        for layer, behind in itertools.combinations(layers, 2):
            if not isinstance(behind, _Grains):
                behind.hide(layer.window, layer.near)
        for layer in layers:
            layer.paint(image, OVERSAMPLE)
        if layers:
            self._light(image, shot, layers)
        if layers and shot.surfaces:
            front = ground.nearest(layers, size)
            for one in shot.surfaces:
                one.veil(image, (0, 0, *size), front, OVERSAMPLE)

    def _light(self, image: Image, shot: Shot, layers: Sequence[facets.Facets | _Grains]) -> None:
        """Light what is seen, and the ground that it casts shadows on."""
        if shot.stand.relief is None:
            return
        depth, cover = shot.stand.relief.empty()
        gloss = None
        for layer in layers:
            near, share = shot.stand.relief.empty()
            layer.depths(OVERSAMPLE, near, share)
            front = near > depth
            depth, cover = np.maximum(depth, near), np.maximum(cover, share)
            if layer is layers[-1] and shot.ground is not None:
                gloss = None if gloss is None else np.where(front, np.float32(0), gloss)
                continue
            own = self._gloss(image, layer.window, layer.levels)
            gloss = own if gloss is None or own is None else np.where(front, own, gloss)
        x, spacing = [], []
        if len(shot.x):
            x.append(shot.x if shot.triangles is None else shot.x[np.unique(shot.triangles)])
            spacing.append(shot.spacing)
        if shot.solids is not None:
            x.append(shot.solids.x)
            spacing.append(shot.solids.spacing)
        if not x and shot.ground is not None:  # bare ground
            x.append(self._corners)
            spacing.append(float(np.ptp(self._corners, axis=0).max()) / 100)
        smooth = len(shot.x) > 0 and (shot.triangles is None or self._around is not None)
        shot.stand.relief.shade(
            image, depth, cover, np.concatenate(x), max(spacing), smooth=smooth, gloss=gloss
        )

    def _gloss(
        self, image: Image, window: tuple[int, int, int, int], levels: npt.NDArray[Any]
    ) -> npt.NDArray[np.float32] | None:
        """How much the pixels of an image reflect, from the rows of the table (height, width) in a window of fine
        pixels, -1 for none: as much as the most of the fine ones."""
        fine = self.style.gloss(levels)
        if fine is None:
            return None
        left, top, wide, high = (edge // OVERSAMPLE for edge in window)
        gloss = np.zeros(image.shape[:2], np.float32)
        most = fine.reshape(high, OVERSAMPLE, wide, OVERSAMPLE).max(axis=(1, 3))
        gloss[top : top + high, left : left + wide] = most
        return gloss


@dataclass(frozen=True, slots=True)
class _Grains:
    """Discs, as `facets.Facets` are."""

    discs: Discs
    depth: npt.NDArray[np.float32] | None  # (n,)
    values: npt.NDArray[np.uint8]  # (n,), rows of the table
    colors: Image

    @property
    def window(self) -> tuple[int, int, int, int]:
        return self.discs.window

    @property
    def near(self) -> npt.NDArray[np.float32]:
        assert self.depth is not None
        return self.discs.front(self.depth)

    @property
    def levels(self) -> npt.NDArray[np.int16]:
        seen = self.discs.seen
        return np.where(seen >= 0, self.values[seen].astype(np.int16), np.int16(-1))

    def paint(self, image: Image, fine: int) -> None:
        self.discs.paint(image, self.values, fine, self.colors)

    def depths(self, fine: int, depth: npt.NDArray[np.float32], cover: npt.NDArray[np.float32]) -> None:
        assert self.depth is not None
        self.discs.depths(self.depth, fine, depth, cover)


def halved(fine: Image) -> Image:
    """Average of squares of OVERSAMPLE x OVERSAMPLE pixels."""
    total = np.zeros(
        (fine.shape[0] // OVERSAMPLE, fine.shape[1] // OVERSAMPLE, fine.shape[2]), dtype=np.uint16
    )
    for i in range(OVERSAMPLE):
        for j in range(OVERSAMPLE):
            total += fine[i::OVERSAMPLE, j::OVERSAMPLE]
    return ((total + OVERSAMPLE**2 // 2) // OVERSAMPLE**2).astype(np.uint8)


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


def check_surface(surface: object, sim: Source) -> dict[str, Any] | None:
    """Options of the surface that is drawn in place of particles, or None."""
    options = isosurface.check_options(surface, sim.scene)
    if options is not None and sim.dimension == 2:
        raise ValueError(f"surface = {_check.shown(surface)}: must be False in 2-D, where areas are filled")
    if options is not None and sim._cells() is None:
        _check.extra("pysplashsurf", "surfaces of particles need pysplashsurf", "surface")
    return options


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
