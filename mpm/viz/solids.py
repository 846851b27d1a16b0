"""Rigid bodies in pictures: their own shapes in place of their particles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.solver.solids import Solid
from mpm.solver.state import State
from mpm.viz import contours, discs
from mpm.viz.camera import Camera

Image = npt.NDArray[np.uint8]

CELLS = 96  # along the longest side of a shape in 2-D, of the lattice in which its outline is found
NEAR = 1.5  # particle spacings: particles this near to a surface have the values on it
PAIRS = 4_000_000  # of places and particles that are compared at once
RIM, RIM_INK = (
    0.6,
    0.72,
)  # pixels, and the brightness of the outline there, so that bodies that touch look apart
SHARP = 0.9  # cosine of the angle between normals of neighbours on an outline; larger angles are corners
FILLED = 0.8  # radius of a disc over the spacing of particles that leaves no gap, not at corners either


@dataclass(frozen=True, eq=False, slots=True)
class Skin:
    """Triangles of a shape in its rest frame, each with its own corners: its surface in 3-D, all of it in 2-D."""

    corners: FloatArray  # (3 k, d) [m], in 3-D counter-clockwise from outside
    normals: FloatArray  # (3 k, 3); none in 2-D
    nearest: (
        npt.NDArray[np.int64] | None
    )  # (3 k,): ids of the particles whose values they have, from the first

    def shown(self, solid: Solid, ids: npt.NDArray[Any], of: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What corners show, (3 k,), from what the particles with these ids (n,) do; without values what the first
        does."""
        if self.nearest is None:
            return np.full(len(self.corners), of[0], dtype=of.dtype)
        rows = np.searchsorted(ids, self.nearest + solid.first).clip(max=len(of) - 1)
        return np.asarray(of[rows])

    @property
    def spacing(self) -> float:
        """A typical length of the edges [m]."""
        if not len(self.corners):
            return 1.0
        return float(np.median(np.linalg.norm(self.corners[::3] - self.corners[1::3], axis=1)))


class Skins:
    """The triangles of rigid bodies, each found once, as finely as `coarse` says (`contours.surface`)."""

    def __init__(self, coarse: int = contours.COARSE) -> None:
        self._known: dict[int, tuple[object, Skin]] = {}
        self._coarse = coarse

    def of(self, solid: Solid, ids: npt.NDArray[Any], x: FloatArray, *, values: bool) -> Skin:
        """The triangles of a body with particles of these ids (n,) at x (n, d); with particles that give values."""
        shape, skin = self._known.get(id(solid.shape), (None, None))
        if shape is not solid.shape or skin is None:
            skin = skin_of(solid, self._coarse)
        if values and skin.nearest is None and len(skin.corners):
            d = x.shape[1]
            places = skin.corners if d == 2 else skin.corners.reshape(-1, 3, 3).mean(axis=1)
            row = nearest(solid, solid.at_rest(x), places)
            of = ids[row].astype(np.int64) - solid.first
            skin = Skin(skin.corners, skin.normals, of if d == 2 else np.repeat(of, 3))
        self._known[id(solid.shape)] = (solid.shape, skin)
        return skin


def skin_of(solid: Solid, coarse: int) -> Skin:
    """The triangles of the shape of a body."""
    if len(solid.lower) == 2:
        x = contours.lattice(solid.lower, solid.upper, CELLS)
        phi = solid.distance(x.reshape(-1, 2))[0].reshape(x.shape[:2])
        return Skin(contours.filled(x, phi), np.empty((0, 3)), None)
    found = contours.surface(solid.distance, solid.lower, solid.upper, coarse=coarse)
    return Skin(*contours.outwards(*found), None)


def nearest(solid: Solid, rest: FloatArray, places: FloatArray) -> npt.NDArray[np.int64]:
    """Rows (m,) of the particles, at `rest` (n, d) in the rest frame, nearest to places (m, d): in 3-D those of the
    surface."""
    beside = np.flatnonzero(solid.distance(rest)[0] > -NEAR * solid.spacing)
    if rest.shape[1] == 2 or not len(beside):
        beside = np.arange(len(rest))
    found = np.empty(len(places), dtype=np.int64)
    step = max(1, PAIRS // len(beside))
    squares = (rest[beside] ** 2).sum(axis=1)
    for first in range(0, len(places), step):
        part = places[first : first + step]
        found[first : first + step] = (squares - 2 * part @ rest[beside].T).argmin(axis=1)
    return beside[found]


@dataclass(frozen=True, eq=False, slots=True)
class Placed:
    """Rigid bodies where they are, for a picture.

    Attributes
    ----------
    solids : sequence of Solid
    x : ndarray, shape (n, d)
        Of their particles [m]; in 3-D of the corners of their triangles, in turn.
    shown : ndarray, shape (n,)
        What the colours mean there.
    counts : sequence of int
        How many of these rows belong to each body.
    spacing : float
        In 3-D, of the corners [m].
    """

    solids: Sequence[Solid]
    x: FloatArray
    shown: npt.NDArray[Any]
    counts: Sequence[int]
    spacing: float

    @property
    def triangles(self) -> npt.NDArray[np.int32]:
        """Rows of corners (k, 3), in 3-D."""
        return np.arange(len(self.x), dtype=np.int32).reshape(-1, 3)

    def each(self) -> Iterator[tuple[Solid, FloatArray, npt.NDArray[Any]]]:
        """The bodies with their rows of `x` and `shown`."""
        end = 0
        for solid, count in zip(self.solids, self.counts, strict=True):
            begin, end = end, end + count
            yield solid, self.x[begin:end], self.shown[begin:end]


def taken(
    solids: Sequence[Solid],
    state: State,
    seen: npt.NDArray[np.bool_],
    shown: npt.NDArray[Any],
    skins: Skins,
    *,
    values: bool,
) -> Placed | None:
    """The bodies of a state that are `seen` (n,) and what is `shown` (n,); their particles are not seen from now on."""
    ids = state.fields.get("id", np.empty(0))
    there = [one for one in solids if seen[one.rows(ids)].all()]
    placed = place(there, ids, state.fields["x"], shown, skins, values=values)
    for one in there:
        seen[one.rows(ids)] = False
    return placed


def place(
    solids: Sequence[Solid],
    ids: npt.NDArray[Any],
    x: npt.NDArray[Any],
    shown: npt.NDArray[Any],
    skins: Skins,
    *,
    values: bool,
) -> Placed | None:
    """Bodies with particles of these ids at x (n, d), which show this; None of none. With `values` the particles of a
    body differ in what they show."""
    parts = []
    for solid in solids:
        rows = solid.rows(ids)
        if rows.start == rows.stop:
            continue
        own, inks = np.asarray(x[rows], dtype=np.float64), shown[rows]
        if x.shape[1] == 2:
            parts.append((solid, own, inks, solid.spacing))
            continue
        skin = skins.of(solid, ids[rows], own, values=values)
        inks = skin.shown(solid, ids[rows], inks)
        parts.append((solid, solid.placed(skin.corners), inks, skin.spacing))
    if not parts:
        return None
    bodies, places, colours, spacings = zip(*parts, strict=True)
    counts = [len(part) for part in places]
    return Placed(bodies, np.concatenate(places), np.concatenate(colours), counts, max(spacings))


def paint(
    image: Image, placed: Placed, levels: npt.NDArray[np.uint8], table: Image, camera: Camera, fine: int
) -> None:
    """Fill the shapes of bodies of a 2-D scene into an image, on which `fine` x `fine` pixels of the camera make one.
    `levels` (n,) are rows of the table."""
    end = 0
    for solid, x, _ in placed.each():
        begin, end = end, end + len(x)
        _fill(image, solid, x, levels[begin:end], table, camera, fine)


def _fill(
    image: Image,
    solid: Solid,
    x: FloatArray,
    levels: npt.NDArray[np.uint8],
    table: Image,
    camera: Camera,
    fine: int,
) -> None:
    ends = np.array([solid.lower, solid.upper])
    box = solid.placed(np.array([[a, b] for a in ends[:, 0] for b in ends[:, 1]]))
    column, row, _ = camera.project(box)
    left, right = (
        int(np.clip(c // fine + k, 0, image.shape[1])) for c, k in ((column.min(), -1), (column.max(), 2))
    )
    top, bottom = (
        int(np.clip(r // fine + k, 0, image.shape[0])) for r, k in ((row.min(), -1), (row.max(), 2))
    )
    if right <= left or bottom <= top:
        return
    middle = (fine - 1) / 2
    across, down = np.meshgrid(fine * np.arange(left, right) + middle, fine * np.arange(top, bottom) + middle)
    places = camera.positions(across.ravel(), down.ravel())
    phi = solid.distance(solid.at_rest(places))[0].reshape(across.shape) * camera.scale / fine  # pixels
    cover = np.clip(0.5 - phi, 0, 1)[..., None]
    rim = np.clip(0.5 + RIM - np.abs(phi + RIM), 0, 1)[..., None]
    ink = _inks(x, levels, table, camera, fine, (left, top, right, bottom), solid.spacing)
    ink = ink * (1 - (1 - RIM_INK) * rim)
    part = image[top:bottom, left:right]
    part[:] = (part * (1 - cover) + ink * cover).round().astype(np.uint8)


def _inks(
    x: FloatArray,
    levels: npt.NDArray[np.uint8],
    table: Image,
    camera: Camera,
    fine: int,
    window: tuple[int, int, int, int],
    spacing: float,
) -> npt.NDArray[Any]:
    """Colours at the pixels of a window of an image, those of the particles there."""
    if (levels == levels[0]).all():
        return np.asarray(table[levels[0]].astype(float))
    left, top, right, bottom = window
    column, row, _ = camera.project(x)
    size = right - left, bottom - top
    radius = max(1.0, FILLED * spacing * camera.scale / fine)
    found = discs.draw(column / fine - left, row / fine - top, None, radius=radius, size=size)
    seen = np.full((size[1], size[0]), -1)
    if found is not None:
        at = found.window
        seen[at[1] : at[1] + at[3], at[0] : at[0] + at[2]] = found.seen
    typical = np.sort(levels)[len(levels) // 2]
    return np.asarray(np.where((seen >= 0)[..., None], table[levels[seen]], table[typical]), dtype=float)


def outline(solid: Solid) -> list[list[FloatArray]]:
    """The outline of a shape in 2-D, in the domain: closed lines (k, 2) [m], those of an area together, the outer
    first. Needs ContourPy, which Matplotlib brings."""
    from contourpy import FillType, contour_generator

    spacing = float((solid.upper - solid.lower).max()) / CELLS
    axes = [np.arange(a, b + spacing, spacing) for a, b in zip(solid.lower, solid.upper, strict=True)]
    x, y = np.meshgrid(*axes)
    phi = solid.distance(np.stack([x.ravel(), y.ravel()], axis=1))[0].reshape(x.shape)
    lines = contour_generator(x, y, phi, fill_type=FillType.OuterOffset)
    areas = []
    for points, offsets in zip(*lines.filled(-np.inf, 0.0), strict=True):
        parts = [points[a:b] for a, b in pairwise(offsets)]
        areas.append([solid.placed(_sharpened(solid, part, spacing)) for part in parts])
    return areas


def _sharpened(solid: Solid, line: FloatArray, spacing: float) -> FloatArray:
    """A closed line (k, 2) with its corners where the tangents beside them meet."""
    for _ in range(2):
        phi, normal = solid.distance(line)
        line = line - np.clip(phi, -spacing, spacing)[:, None] * normal
    normal = solid.distance(line)[1]
    a, b = line[:-1], line[1:]
    m, n = normal[:-1], normal[1:]
    turn = m[:, 0] * n[:, 1] - m[:, 1] * n[:, 0]
    sharp = np.flatnonzero((m * n).sum(axis=1) < SHARP)
    sharp = sharp[np.abs(turn[sharp]) > 0.1]
    p, q = (a[sharp] * m[sharp]).sum(axis=1), (b[sharp] * n[sharp]).sum(axis=1)
    corner = (
        np.stack([p * n[sharp, 1] - q * m[sharp, 1], q * m[sharp, 0] - p * n[sharp, 0]], axis=1)
        / turn[sharp][:, None]
    )
    near = np.linalg.norm(corner - a[sharp], axis=1) < 2 * spacing
    return np.asarray(np.insert(line, sharp[near] + 1, corner[near], axis=0))
