"""The fixed parts of a picture: background, domain, floor, colour bar, and text."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.solver.source import Source
from mpm.viz import color as _color
from mpm.viz import framing
from mpm.viz.camera import NEAREST, Camera, corners
from mpm.viz.style import Rgb, Table, brightness

Image = npt.NDArray[np.uint8]

TOP_TINT = np.array([246, 248, 251])
BOTTOM_TINT = np.array([214, 221, 230])
FLOOR = (228, 232, 238)
GRID = (202, 209, 219)
EDGE = (150, 160, 174)
COLLIDER = (205, 210, 218)
RIM = 1.5  # pixels on either side of a collider's outline
INK = (44, 52, 64)
FAINT = (104, 114, 128)
DARK = 0.45  # brightness of a background below which text is light
LIGHT_INK = (232, 236, 242)


def pillow() -> Any:
    """PIL, or an ImportError that names the extra."""
    _check.extra("PIL", "drawing needs Pillow", "movie", "pillow")
    from PIL import Image, ImageDraw, ImageFont

    return Image, ImageDraw, ImageFont


@functools.cache
def font(size: int) -> Any:
    """DejaVu Sans of Matplotlib if it is there, else Pillow's own."""
    _, _, fonts = pillow()
    try:
        import matplotlib

        return fonts.truetype(os.path.join(matplotlib.get_data_path(), "fonts/ttf/DejaVuSans.ttf"), size)
    except (ImportError, OSError):
        return fonts.load_default()


@dataclass(frozen=True, slots=True)
class Inks:
    """The colours of all but the material."""

    floor: Rgb = FLOOR
    grid: Rgb = GRID
    edge: Rgb = EDGE
    text: Rgb = INK
    faint: Rgb = FAINT


def inks_on(behind: Rgb | None) -> Inks:
    """Colours that are seen on a background; None: on the gradient."""
    if behind is None:
        return Inks()
    ink = LIGHT_INK if brightness(behind) < DARK else INK

    def blend(share: float) -> Rgb:
        red, green, blue = (round(a + share * (b - a)) for a, b in zip(behind, ink, strict=True))
        return red, green, blue

    return Inks(blend(0.06), blend(0.16), blend(0.4), ink, blend(0.7))


def background(
    camera: Camera,
    lower: FloatArray,
    upper: FloatArray,
    size: tuple[int, int],
    behind: Rgb | None = None,
    plane: Rgb = (255, 255, 255),
) -> Image:
    """One colour, or a quiet gradient, with the domain on it: the box of a 2-D scene, filled with `plane`, floor and
    far edges of a 3-D one."""
    images, drawing, _ = pillow()
    width, height = size
    inks = inks_on(behind)
    blend = np.linspace(0, 1, height)[:, None]
    rows = (TOP_TINT * (1 - blend) + BOTTOM_TINT * blend).round().astype(np.uint8)
    if behind is not None:
        rows[:] = behind
    image = images.fromarray(np.ascontiguousarray(np.broadcast_to(rows[:, None], (height, width, 3))))
    pen = drawing.Draw(image)
    thickness = max(1, round(height / 500))
    points = corners(lower, upper)
    column, row, near = camera.project(points)
    at = [(float(c), float(r)) for c, r in zip(column, row, strict=True)]
    if near is None:
        pen.rectangle([at[2], at[1]], fill=plane, outline=inks.edge, width=thickness)
        return np.array(image)
    up = camera.order[2]
    a, b = (1 << axis for axis in camera.order[:2])
    floor = 1 << up if camera.turned else 0
    if camera.above:
        _polygon(pen, camera, points[[floor | corner for corner in (0, a, a | b, b)]], inks.floor)
    _floor_grid(pen, camera, lower, upper, thickness, inks.grid)
    # The eight corners' farthest one hides behind the material: its three edges, and the floor's outline.
    far = int(np.argmin(near))
    edges = {(floor | p, floor | q) for p, q in ((0, a), (a, a | b), (a | b, b), (b, 0))}
    edges |= {(far, far ^ bit) for bit in (a, b, 1 << up)}
    top = far ^ (1 << up)
    edges |= {(top, top ^ a), (top, top ^ b), (far ^ a, far ^ a ^ (1 << up)), (far ^ b, far ^ b ^ (1 << up))}
    for start, end in edges:
        _line(pen, camera, points[[start, end]], inks.edge, thickness)
    return np.array(image)


def _before(camera: Camera, points: FloatArray, *, closed: bool) -> list[tuple[float, float]]:
    """Pixels of a line through points (k, 3), or of a polygon, as far as it lies before the eye."""
    near = camera.project(points)[2]
    away = np.ones(len(points)) if near is None else camera.away(near) - 1.001 * NEAREST
    kept: list[FloatArray] = []
    for k in range(len(points)):
        after = (k + 1) % len(points)
        if away[k] >= 0:
            kept.append(points[k])
        if (after or closed) and (away[k] >= 0) != (away[after] >= 0):
            kept.append(points[k] + away[k] / (away[k] - away[after]) * (points[after] - points[k]))
    column, row, _ = camera.project(np.array(kept).reshape(-1, points.shape[1]))
    return [(float(c), float(r)) for c, r in zip(column, row, strict=True)]


def _line(pen: Any, camera: Camera, ends: FloatArray, ink: Rgb, thickness: int) -> None:
    if len(at := _before(camera, ends, closed=False)) > 1:
        pen.line(at, fill=ink, width=thickness)


def _polygon(pen: Any, camera: Camera, points: FloatArray, ink: Rgb) -> None:
    if len(at := _before(camera, points, closed=True)) > 2:
        pen.polygon(at, fill=ink)


def _floor_grid(
    pen: Any, camera: Camera, lower: FloatArray, upper: FloatArray, thickness: int, ink: Rgb
) -> None:
    first, second, up = camera.order
    for along, across in ((first, second), (second, first)):
        for fraction in np.linspace(0, 1, 11)[1:-1]:
            ends = np.array([lower, lower])
            ends[:, across] = lower[across] + fraction * (upper[across] - lower[across])
            ends[1, along] = upper[along]
            ends[:, up] = camera.floor
            _line(pen, camera, ends, ink, max(1, thickness // 2))


def distances(
    sim: Source, camera: Camera, shape: tuple[int, int], step: int, hidden: Collection[str] = ()
) -> list[FloatArray]:
    """Signed distance [pixels] of every collider of a 2-D scene at the pixels (height, width), computed at every
    `step`-th and linear between them."""
    height, width = shape
    rows, columns = np.arange(0, height + step, step), np.arange(0, width + step, step)
    x = camera.positions(*(axis.ravel() for axis in np.meshgrid(columns + 0.0, rows + 0.0)))
    found = []
    for collider in sim._posed():
        if collider.collider.name in hidden:
            continue
        coarse = camera.scale * collider.distance(x)[0].reshape(len(rows), len(columns))
        found.append(_stretched(_stretched(coarse, step)[:height].T, step)[:width].T)
    return found


def _stretched(values: FloatArray, step: int) -> FloatArray:
    """Linear interpolation with `step` values per interval between rows."""
    share = (np.arange(step) / step)[:, None]
    between = values[:-1, None] * (1 - share) + values[1:, None] * share
    return np.asarray(between.reshape(-1, values.shape[1]))


def colliders(image: Image, sim: Source, camera: Camera, hidden: Collection[str] = ()) -> Image:
    """A copy of an image of a 2-D scene's domain with the colliders in it."""
    result = image.copy()
    corner = camera.project(np.array([sim.scene.lower, sim.scene.upper]))
    left, right = (min(max(round(float(c)), 0), image.shape[1]) for c in corner[0])
    bottom, top = (min(max(round(float(r)), 0), image.shape[0]) for r in corner[1])
    window = (slice(top, bottom), slice(left, right))
    for phi in distances(sim, camera, image.shape[:2], 4, hidden):
        cover = np.clip(0.5 - phi[window], 0, 1)[..., None]
        rim = np.clip(0.5 + RIM - np.abs(phi[window]), 0, 1)[..., None]
        part = result[window] * (1 - cover) + np.array(COLLIDER) * cover
        result[window] = (part * (1 - rim) + np.array(EDGE) * rim).round().astype(np.uint8)
    return result


def write(image: Image, text: str, at: tuple[int, int], size: int, ink: tuple[int, int, int] = INK) -> None:
    """Draw text into an image with its upper left corner at (column, row)."""
    images, drawing, _ = pillow()
    box = font(size).getbbox(text)
    column, row = at
    window = image[max(row, 0) : row + int(box[3]) + 2, max(column, 0) : column + int(box[2]) + 2]
    if not window.size:
        return
    patch = images.fromarray(window)
    drawing.Draw(patch).text((0, 0), text, font=font(size), fill=ink)
    window[:] = np.asarray(patch)


def legend(
    image: Image,
    names: Sequence[str],
    limits: tuple[float, float],
    table: Table = _color.TABLE,
    ink: Rgb = INK,
) -> None:
    """Names beside squares of the colours of 0, 1, … at the top, right of the time; as many as there is room for."""
    height, width = image.shape[:2]
    unit = framing.text_unit(width, height)
    size = max(9, round(unit / 42))
    column, row = round(0.3 * unit), max(10, round(unit / 32))
    colors = table[_color.index(np.arange(len(names)), limits)]
    for name, color in zip(names, colors, strict=True):
        wide = 2 * size + round(font(size).getlength(name))
        if column + wide > width:
            return
        image[row + 2 : row + 2 + size, column : column + size] = color
        write(image, name, (column + round(1.4 * size), row), size, ink)
        column += wide + size


def color_bar(
    image: Image,
    name: str,
    limits: tuple[float, float],
    extend: str = "neither",
    numbers: Sequence[float] | None = None,
    table: Table = _color.TABLE,
    inks: Inks | None = None,
) -> None:
    """Draw the colour bar with its numbers and the quantity's name at the right; tips where values go on beyond it.
    By default the numbers are the ends of the scale and three between them."""
    inks = inks or Inks()
    height, width = image.shape[:2]
    unit = framing.text_unit(width, height)
    size = max(9, round(unit / 42))
    left, top = width - round(framing.BAR * unit) + size, round(height * 0.2)
    length, thick = round(height * 0.6), max(8, round(unit / 48))
    levels = 255 - (np.arange(length) * 256 // length)
    image[top : top + length, left : left + thick] = table[levels][:, None]
    for k in range(thick):
        inner = slice(left + k // 2, left + thick - k // 2)
        if extend in ("max", "both"):
            image[top - 1 - k, inner] = table[-1]
        if extend in ("min", "both"):
            image[top + length + k, inner] = table[0]
    room = width - math.ceil(font(size).getlength(name))  # a long name begins left of the bar
    write(image, name, (max(0, min(left, room)), top - round(2.2 * size)), size, inks.text)
    if numbers is None:
        numbers = [limits[0] + k / 4 * (limits[1] - limits[0]) for k in range(5)]
    for value in numbers:
        fraction = (value - limits[0]) / (limits[1] - limits[0])
        if abs(value) < 1e-9 * (limits[1] - limits[0]):  # the middle of a scale about 0
            value = 0.0
        row = top + round((1 - fraction) * (length - 1))
        image[row, left + thick : left + thick + 4] = inks.faint
        write(image, f"{value:.4g}", (left + thick + 7, row - round(0.62 * size)), size, inks.faint)
