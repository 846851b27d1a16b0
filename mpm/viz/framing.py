"""Sizes of pictures that fit the domain, and the room beside it for the time and the colour bar."""

from __future__ import annotations

import math

import numpy as np

from mpm.base import _check
from mpm.scene.scene import Scene
from mpm.viz.camera import WHOLE, extent
from mpm.viz.view import View

SIZE_LOW, SIZE_HIGH = 64, 4096  # pixels
MOVIE = (960, 720)  # pixels: a fitted picture has as many
STILL = (1200, 1000)
NARROWEST = 0.05  # least width for the domain, in heights of the picture
LONGEST = 5.0  # longer side of a picture over its shorter one, at most: beyond, margins are left
# Around the domain and for what is beside it, in units of `text_unit`.
MARGIN, TOP, BAR = 0.05, 0.095, 0.19
# Of figures [inches]: of a square picture; largest picture; beside it y axis and colour bar, title and x axis.
SQUARE, WIDEST, TALLEST = 4.6, 8.0, 7.0
BESIDE, ABOVE = {2: 1.8, 3: 1.2}, {2: 0.8, 3: 0.4}


def text_unit(width: float, height: float) -> float:
    """What text and margins are measured by [pixels]: the height of a 4:3 picture as large as this one, but no more
    than twice the height."""
    return min(math.sqrt(0.75 * width * height), 2.0 * height)


def aspect(scene: Scene, border: float = 0.0, view: View = WHOLE) -> float:
    """Width over height of the domain as it is seen, with a border in its longer sides; within what pictures have."""
    width, height = extent(scene.lower, scene.upper, scene.gravity, view)
    around = 2 * border * max(width, height)
    return float(np.clip((width + around) / (height + around), 1 / LONGEST, LONGEST))


def edges(width: int, height: int, annotate: bool, bar: bool = True) -> tuple[float, float, float, float]:
    """Left, top, right and bottom [pixels] of the room for the domain."""
    unit = text_unit(width, height)
    right, top = BAR if annotate and bar else MARGIN, TOP if annotate else MARGIN
    found = MARGIN * unit, top * unit, width - right * unit, height - MARGIN * unit
    if found[2] - found[0] < NARROWEST * height:
        # The square root of the width solves a quadratic equation.
        share = (MARGIN + right) * math.sqrt(0.75 * height)
        least = 2 * math.ceil((share + math.sqrt(share**2 + 4 * NARROWEST * height)) ** 2 / 8)
        shown = "the scene and its colour bar" if annotate and bar else "the scene"
        raise ValueError(f"size = {(width, height)}: {shown} needs a width of at least {least}")
    return found


def fitted(
    scene: Scene, annotate: bool, like: tuple[int, int] = MOVIE, view: View = WHOLE, bar: bool = True
) -> tuple[int, int]:
    """Width and height [pixels, even] of a picture that fits the domain, with about as many pixels as `like`."""
    ratio, unit = aspect(scene, view=view), math.sqrt(0.75 * like[0] * like[1])
    right, top = BAR if annotate and bar else MARGIN, TOP if annotate else MARGIN
    beside, above = (MARGIN + right) * unit, (MARGIN + top) * unit
    # (ratio h + beside) (h + above) = pixels
    half = (ratio * above + beside) / (2 * ratio)
    h = -half + math.sqrt(half**2 + (like[0] * like[1] - beside * above) / ratio)
    return 2 * round((ratio * h + beside) / 2), 2 * round((h + above) / 2)


def check_size(size: object) -> tuple[int, int]:
    """Width and height in pixels: even, as movies need them."""
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        raise TypeError(f"size = {_check.shown(size)}: must be (width, height)")
    width, height = (_check.integer("size", edge, low=SIZE_LOW, high=SIZE_HIGH) for edge in size)
    if width % 2 or height % 2:
        raise ValueError(f"size = {(width, height)}: both must be even")
    return width, height


def inches(scene: Scene, border: float, view: View = WHOLE) -> tuple[float, float]:
    """Width and height of a figure whose picture fits the domain."""
    width, height = panel(scene, border, SQUARE, view)
    shrink = min(1.0, WIDEST / width, TALLEST / height)
    d = len(scene.lower)
    return shrink * width + BESIDE[d], shrink * height + ABOVE[d]


def panel(scene: Scene, border: float, square: float, view: View = WHOLE) -> tuple[float, float]:
    """Width and height of a picture that fits the domain, as large as a square of that side."""
    root = math.sqrt(aspect(scene, border, view))
    return square * root, square / root
