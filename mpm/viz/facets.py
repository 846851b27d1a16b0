"""Triangles in space as shaded facets: the one that is seen at every pixel, and its colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.solver.state import surface
from mpm.viz.camera import Camera
from mpm.viz.color import TABLE
from mpm.viz.discs import LIGHT

Image = npt.NDArray[np.uint8]
Window = tuple[int, int, int, int]
FLAT = 1e-6  # square pixels: triangles with less than half of it are not seen
DARKEST, RANGE = (
    0.92,
    0.10,
)  # brightness of what faces away from the light, and what light adds; `relief` adds more


@dataclass(frozen=True, slots=True)
class Facets:
    """Facets in a window of an image."""

    window: Window  # left, top, width, height
    near: npt.NDArray[np.float32]  # (height, width): nearness to the camera [pixels]; infinite where none is
    ink: npt.NDArray[np.float32]  # (height, width, 3)
    levels: npt.NDArray[np.int16]  # (height, width): rows of the table, -1 where none is

    def paint(self, image: Image, fine: int) -> None:
        """Blend them into an image on which `fine` x `fine` pixels make one."""
        left, top, wide, high = (edge // fine for edge in self.window)
        shape = (high, fine, wide, fine)
        covered = np.isfinite(self.near)
        share = covered.reshape(shape).mean(axis=(1, 3), dtype=np.float32)[..., None]
        ink = np.where(covered[..., None], self.ink, 0).reshape(*shape, 3).mean(axis=(1, 3))
        part = image[top : top + high, left : left + wide]
        part[:] = (part * (1 - share) + ink).round().astype(np.uint8)

    def hide(self, window: Window, front: npt.NDArray[np.float32]) -> None:
        """Leave out what is behind something that comes this near at the pixels of a window, (height, width); infinite
        where it is not."""
        left, top = (max(self.window[k], window[k]) for k in (0, 1))
        right, bottom = (min(one[k] + one[k + 2] for one in (self.window, window)) for k in (0, 1))
        if right <= left or bottom <= top:
            return
        own, other = (
            (slice(top - one[1], bottom - one[1]), slice(left - one[0], right - one[0]))
            for one in (self.window, window)
        )
        behind = np.isfinite(front[other]) & (front[other] > self.near[own])
        self.near[own][behind] = np.inf
        self.levels[own][behind] = -1

    def depths(self, fine: int, depth: npt.NDArray[np.float32], cover: npt.NDArray[np.float32]) -> None:
        """Write how near they come at the pixels of an image, (height, width), and the share that they cover."""
        left, top, wide, high = (edge // fine for edge in self.window)
        shape = (high, fine, wide, fine)
        there = np.isfinite(self.near)
        part = slice(top, top + high), slice(left, left + wide)
        depth[part] = np.where(there, self.near, -np.inf).reshape(shape).max(axis=(1, 3)) / np.float32(fine)
        cover[part] = there.reshape(shape).mean(axis=(1, 3), dtype=np.float32)


class Skin:
    """The surface of tetrahedra, which is found anew only where there are others."""

    def __init__(self) -> None:
        self._cells: npt.NDArray[Any] = np.empty((0, 4), dtype=np.int32)
        self._faces = np.empty((0, 3), dtype=np.int32)

    def of(self, cells: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """The faces (k, 3), counter-clockwise from outside."""
        if not np.array_equal(self._cells, cells):
            self._cells, self._faces = cells, np.ascontiguousarray(surface(cells), dtype=np.int32)
        return self._faces


def draw(
    column: npt.NDArray[Any],
    row: npt.NDArray[Any],
    near: npt.NDArray[Any],
    corners: npt.NDArray[Any],
    levels: npt.NDArray[Any],
    light: FloatArray,
    *,
    size: tuple[int, int],
    fine: int,
    table: npt.NDArray[np.uint8] = TABLE,
    lens: float = 0.0,
) -> Facets | None:
    """Draw the triangles that a camera sees.

    Parameters
    ----------
    column, row, near : ndarray, shape (n,)
        Of the points, in pixels; the middle of pixel k is at k.
    corners : ndarray of int, shape (m, 3)
        Rows of the points.
    levels : ndarray, shape (n,)
        Rows of the colour table; between the corners they are linear.
    light : ndarray, shape (m,)
        Brightness.
    size : (width, height)
        Of the image, whole multiples of `fine`.
    fine : int
        The window's edges are multiples of it.
    table : ndarray, uint8 of shape (256, 3)
        The colours.
    lens : float
        One over the distance of the eye from where nearness is 0 [1/pixels]; 0: a parallel projection.

    Returns
    -------
    Facets or None
        None where there is nothing in the image.
    """
    x, y, z, level = (np.asarray(at, dtype=np.float64)[corners] for at in (column, row, near, levels))
    ab, ac = (np.stack([x[:, k] - x[:, 0], y[:, k] - y[:, 0]]) for k in (1, 2))
    twice = ab[0] * ac[1] - ab[1] * ac[0]
    use = np.abs(twice) > FLAT  # nothing that is not finite
    # What is linear on the screen: nearness, in perspective one over the distance, and levels over it.
    if lens:
        z, level = 1 / (1 - lens * z), level / (1 - lens * z)
    x, y, z, level, light, ab, ac, twice = (
        x[use], y[use], z[use], level[use], light[use], ab[:, use], ac[:, use], twice[use],
    )  # fmt: skip
    window = _window(x, y, size, fine)
    if window is None:
        return None
    left, top, wide, high = window
    triangle, line = _spread(
        np.maximum(np.ceil(y.min(axis=1)), top), np.minimum(np.floor(y.max(axis=1)), top + high - 1)
    )
    first, last = _crossed(x[triangle], y[triangle], line)
    of, across = _spread(np.maximum(np.ceil(first), left), np.minimum(np.floor(last), left + wide - 1))
    triangle, line = triangle[of], line[of]
    right, down = across - x[triangle, 0], line - y[triangle, 0]

    def between(values: FloatArray) -> FloatArray:
        """Values at the corners, linear between them."""
        b, c = values[:, 1] - values[:, 0], values[:, 2] - values[:, 0]
        per_column, per_row = (b * ac[1] - c * ab[1]) / twice, (c * ab[0] - b * ac[0]) / twice
        return np.asarray(values[triangle, 0] + per_column[triangle] * right + per_row[triangle] * down)

    depth = between(z).astype(np.float32)
    at = ((line - top) * wide + (across - left)).astype(np.intp)
    order = np.argsort(depth)
    seen = np.full(high * wide, -1, dtype=np.intp)
    seen[at[order]] = order  # of several the last one stays, which is the nearest
    covered = np.flatnonzero(seen >= 0)
    found = seen[covered]
    front = np.full(high * wide, np.inf, dtype=np.float32)
    nearest = depth[found]
    front[covered] = (1 - 1 / nearest) / lens if lens else nearest
    ink = np.zeros((high * wide, 3), dtype=np.float32)
    tones = between(level)[found]
    shade = np.clip(np.rint(tones / nearest if lens else tones), 0, len(table) - 1).astype(np.intp)
    ink[covered] = np.minimum(table[shade] * light[triangle[found], None], 255)
    levels_of = np.full(high * wide, -1, dtype=np.int16)
    levels_of[covered] = shade
    return Facets(
        window, front.reshape(high, wide), ink.reshape(high, wide, 3), levels_of.reshape(high, wide)
    )


def shaded(
    x: npt.NDArray[Any],
    triangles: npt.NDArray[Any],
    levels: npt.NDArray[Any],
    camera: Camera,
    *,
    size: tuple[int, int],
    fine: int,
    table: npt.NDArray[np.uint8] = TABLE,
) -> Facets | None:
    """Draw the triangles (m, 3), counter-clockwise from outside, of points (n, 3) [m] that face a camera, lit by
    `shading`; other arguments as in `draw`."""
    seen, light = shading(np.asarray(x, np.float64), triangles, camera)
    column, row, near = camera.project(x)
    assert near is not None  # in 3-D
    return draw(
        column,
        row,
        near * np.float32(camera.scale),
        triangles[seen],
        levels,
        light[seen],
        size=size,
        fine=fine,
        table=table,
        lens=camera.lens / camera.scale,
    )


def shading(
    x: FloatArray, corners: npt.NDArray[Any], camera: Camera
) -> tuple[npt.NDArray[np.bool_], FloatArray]:
    """Which triangles (m, 3), counter-clockwise from outside, face the camera, and how bright they are (m,)."""
    a, b, c = (x[corners[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    normal = across @ camera.rows.T
    seen = (across * camera.towards(a)).sum(axis=1) > 0 if camera.lens else normal[:, 2] > 0
    length = np.maximum(np.linalg.norm(normal, axis=1), 1e-300)
    facing = normal @ (LIGHT / np.linalg.norm(LIGHT)) / length
    return seen, DARKEST + RANGE * np.clip(facing, 0, 1)


def _window(x: FloatArray, y: FloatArray, size: tuple[int, int], fine: int) -> Window | None:
    """Left, top, width and height of what triangles reach in an image."""
    if not len(x):
        return None
    edges = []
    for along, most in ((x, size[0]), (y, size[1])):
        low, high = max(float(along.min()), 0.0), min(float(along.max()) + 1, most)
        if not low < high:
            return None
        edges.append((int(low) // fine * fine, -(-int(np.ceil(high)) // fine) * fine))
    (left, right), (top, bottom) = edges
    return left, top, right - left, bottom - top


def _spread(first: FloatArray, last: FloatArray) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """All whole numbers from first to last of each pair, and of which pair they are."""
    count = np.maximum(last - first + 1, 0).astype(np.intp)
    of = np.repeat(np.arange(len(count)), count)
    begin = np.cumsum(count) - count
    return of, first[of] + (np.arange(len(of)) - begin[of])


def _crossed(x: FloatArray, y: FloatArray, line: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where the horizontal lines (m,) enter and leave the triangles (m, 3)."""
    first, last = np.full(len(line), np.inf), np.full(len(line), -np.inf)
    for a, b in ((0, 1), (1, 2), (0, 2)):
        steep = y[:, b] - y[:, a]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (line - y[:, a]) / steep
        on = (share >= 0) & (share <= 1)  # not where the edge is horizontal: the others end there
        at = x[:, a] + np.where(on, share, 0) * (x[:, b] - x[:, a])
        first, last = np.where(on, np.minimum(first, at), first), np.where(on, np.maximum(last, at), last)
    return first, last
