"""Particles as shaded discs, without Matplotlib: the core finds the visible disc at every pixel and paints it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base.config import threads_for
from mpm.viz.color import TABLE

RADIUS_MAX = 31.0  # pixels
SIZES = 256  # of discs, as in the core
FEW = 100_000  # discs: fewer are work for one thread

# Colours by brightness and by value.
SHADES, BRIGHTEST = 64, 1.08
RELIEF = 0.09  # how much of its light a disc in space has from its own shape; `relief` adds the rest


def palette(table: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Colours (SHADES, 256, 3) by brightness and by row of a table."""
    return np.minimum(np.linspace(0, BRIGHTEST, SHADES)[:, None, None] * table, 255).astype(np.uint8)


PALETTE = palette(TABLE)

LIGHT = np.array([-0.42, 0.72, 0.55])


@dataclass(frozen=True, slots=True)
class Discs:
    """Discs in a window of an image, and which of them is seen at each of its pixels."""

    column: npt.NDArray[np.float32]
    row: npt.NDArray[np.float32]
    radius: float
    flat: bool
    window: tuple[int, int, int, int]  # left, top, width, height
    seen: npt.NDArray[np.int32]  # (height, width): number of the disc, -1 for none
    size: npt.NDArray[np.uint8] | None = (
        None  # (n,): their radii, in parts of the largest; None: all have that
    )

    def paint(
        self,
        image: npt.NDArray[np.uint8],
        values: npt.NDArray[np.uint8],
        fine: int,
        colors: npt.NDArray[np.uint8] = PALETTE,
    ) -> None:
        """Colour an image, on which `fine` x `fine` pixels make one, with the values of the discs, which are columns
        of a `palette`."""
        brightness, threads = shading(self.radius, flat=self.flat), threads_for(len(values), FEW)
        _core.paint_discs(
            self.column,
            self.row,
            self.radius,
            self.window,
            self.seen,
            brightness,
            colors,
            values,
            fine,
            image,
            threads,
            self.size,
        )

    def depths(
        self,
        near: npt.NDArray[np.float32],
        fine: int,
        depth: npt.NDArray[np.float32],
        cover: npt.NDArray[np.float32],
    ) -> None:
        """Write how near they come at the pixels of an image, (height, width), and the share that they cover."""
        _core.relief_depths(
            self.column, self.row, near, self.radius, self.window, self.seen, fine, depth, cover, self.size
        )

    def front(self, near: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """How near to the camera they come at the pixels of the window, (height, width), of discs whose middles are
        that near [pixels]; infinite where none is."""
        parts = np.float32(1) if self.size is None else (self.size.astype(np.float32) + 1) / np.float32(SIZES)
        front = near + np.float32(self.radius) * parts
        return np.where(self.seen >= 0, front[self.seen], np.float32(np.inf))


def draw(
    column: npt.NDArray[Any],
    row: npt.NDArray[Any],
    near: npt.NDArray[Any] | None,
    *,
    radius: float | npt.NDArray[Any],
    size: tuple[int, int],
    fine: int = 1,
) -> Discs | None:
    """Draw discs; those at NaN are nowhere.

    Parameters
    ----------
    column, row : ndarray, shape (n,)
        Centres in pixels; rounded to whole ones.
    near : ndarray, shape (n,), or None
        Nearness to the camera in pixels; None draws flat discs, the first of which is seen.
    radius : float, or ndarray, shape (n,)
        In pixels; held between 1 and `RADIUS_MAX`, and to parts of the largest.
    size : (width, height)
        Of the image.
    fine : int
        The window's edges are multiples of it, like those of the image.

    Returns
    -------
    Discs or None
        None where there is nothing in the image.
    """
    radius, of_largest = _held(radius, column)
    column, row = (np.ascontiguousarray(at, dtype=np.float32) for at in (column, row))
    left, width = _reach(column, radius, size[0], fine)
    top, height = _reach(row, radius, size[1], fine)
    if width <= 0 or height <= 0:
        return None
    window = (left, top, width, height)
    depth = None if near is None else np.ascontiguousarray(near, dtype=np.float32)
    seen = _core.draw_discs(column, row, depth, radius, window, threads_for(len(column), FEW), of_largest)
    found = np.frombuffer(seen, dtype=np.int32).reshape(height, width)
    return Discs(column, row, radius, near is None, window, found, of_largest)


def _held(
    radius: float | npt.NDArray[Any], column: npt.NDArray[Any]
) -> tuple[float, npt.NDArray[np.uint8] | None]:
    """The radius of the largest disc that is somewhere, and the others in parts of it."""
    if not isinstance(radius, np.ndarray):
        return float(np.float32(min(max(radius, 1.0), RADIUS_MAX))), None  # single precision, as in the core
    held = np.clip(radius, 1.0, RADIUS_MAX)
    held[~(np.isfinite(column) & np.isfinite(held))] = 1.0
    largest = float(np.float32(held.max(initial=1.0)))
    parts = np.clip(np.rint(SIZES * held / largest) - 1, 0, SIZES - 1)
    return largest, np.ascontiguousarray(parts, dtype=np.uint8)


def _reach(centre: npt.NDArray[np.float32], radius: float, size: int, fine: int) -> tuple[int, int]:
    """The first pixel that the discs reach along an axis, and the number of pixels, within the image."""
    if not len(centre):
        return 0, 0
    low, high = float(np.fmin.reduce(centre)), float(np.fmax.reduce(centre))
    low, high = max(low - radius - 1, 0), min(high + radius + 2, size)
    if not low < high:  # outside, perhaps at infinity
        return 0, 0
    first = int(low) // fine * fine
    return first, -(-int(np.ceil(high)) // fine) * fine - first


def shading(radius: float, *, flat: bool) -> npt.NDArray[np.uint8]:
    """Brightness of a disc by offset from its centre, as a row of `PALETTE`; the middle one is the centre."""
    reach = int(np.ceil(radius))
    offset = np.arange(-reach, reach + 1) / radius
    x, down = offset[None, :], offset[:, None]
    z = np.sqrt(np.clip(1 - x * x - down * down, 0, 1))
    light = LIGHT / np.linalg.norm(LIGHT)
    facing = np.clip(light[0] * x - light[1] * down + light[2] * z, 0, 1)
    brightness = 0.86 + 0.14 * z if flat else 1 - RELIEF + RELIEF * facing
    level = np.rint(brightness / BRIGHTEST * (SHADES - 1))
    return np.clip(level, 1, SHADES - 1).astype(np.uint8)
