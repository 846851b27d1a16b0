"""Orthographic camera: from positions to pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.viz.view import NAMES, View, upright

AZIMUTH, ELEVATION = np.radians(NAMES["iso"])  # of 3-D scenes, unless a view says otherwise
WHOLE = View()


class Camera:
    """Looks at the domain; 2-D scenes along the third axis.

    Parameters
    ----------
    lower, upper : ndarray, shape (d,)
        The domain.
    gravity : ndarray, shape (d,)
        Up is against it if it lies along an axis; else the last axis.
    frame : (left, top, right, bottom)
        Pixels that the domain has to fit in.
    view : View, optional
        Where the camera is; default: 3-D scenes are seen from above and aside.
    """

    __slots__ = ("dimension", "floor", "lower", "offset", "order", "rows", "scale", "turned")

    def __init__(
        self,
        lower: FloatArray,
        upper: FloatArray,
        gravity: FloatArray,
        frame: tuple[float, float, float, float],
        view: View = WHOLE,
    ) -> None:
        self.dimension = len(lower)
        self.lower = lower
        self.order, self.rows = _axes(gravity, view)
        up = self.order[-1]
        self.turned = self.dimension == 3 and upright(gravity)[1] < 0
        self.floor = float((upper if self.turned else lower)[up])  # the ground
        low, high = _seen(lower, upper, self.rows)
        wide, tall = _extent(lower, upper, gravity, view)
        left, top, right, bottom = frame
        self.scale = view.zoom * float(min((right - left) / wide, (bottom - top) / tall))
        middle = (low + high) / 2 if view.target is None else self.rows[:2] @ (view.target - lower)
        middle = self.scale * middle
        self.offset = np.array([(left + right) / 2 - middle[0], (top + bottom) / 2 + middle[1]])

    def project(
        self, x: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any] | None]:
        """Pixel column, pixel row (down) and nearness [m], None in 2-D, of positions (n, d)."""
        # Relative to the domain, so that single precision is enough wherever it lies. No matrix product: for
        # three columns the threads of a BLAS cost more than they save.
        axes = [(x[:, k] - self.lower[k]).astype(np.float32) for k in range(self.dimension)]
        seen = [
            sum(np.float32(factor) * axis for factor, axis in zip(row, axes, strict=True))
            for row in self.rows
        ]
        column = seen[0] * np.float32(self.scale) + np.float32(self.offset[0])
        row = np.float32(self.offset[1]) - seen[1] * np.float32(self.scale)
        return column, row, seen[2] if self.dimension == 3 else None

    def positions(self, column: FloatArray, row: FloatArray) -> FloatArray:
        """The points (n, 2) of a 2-D scene that are seen at pixels."""
        x = np.stack([column - self.offset[0], self.offset[1] - row], axis=1) / self.scale
        return np.asarray(x + self.lower)


def extent(
    lower: FloatArray, upper: FloatArray, gravity: FloatArray, view: View = WHOLE
) -> tuple[float, float]:
    """Width and height [m] of the domain as the camera sees it."""
    return _extent(lower, upper, gravity, view)


def _extent(lower: FloatArray, upper: FloatArray, gravity: FloatArray, view: View) -> tuple[float, float]:
    """The least and the largest projection of the domain apart; of a steady view, those of all azimuths."""
    order, rows = _axes(gravity, view)
    if view.steady and len(lower) == 3:
        sides = (upper - lower)[list(order)]
        around, e = float(np.hypot(*sides[:2])), np.radians(view.elevation)
        return around, float(around * abs(np.sin(e)) + sides[2] * np.cos(e))
    low, high = _seen(lower, upper, rows)
    width, height = high - low
    return float(width), float(height)


def _seen(lower: FloatArray, upper: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least and the largest projection (2,) of the domain, relative to its lower corner."""
    seen = corners(lower - lower, upper - lower) @ rows[:2].T
    return seen.min(axis=0), seen.max(axis=0)


def _axes(gravity: FloatArray, view: View) -> tuple[tuple[int, ...], FloatArray]:
    """Order of the axes with up last, and the projection of positions on (right, up, towards the camera)."""
    if len(gravity) == 2:
        return (0, 1), np.eye(2)
    order, sign = upright(gravity)
    rows = turned(order, sign, view.azimuth, view.elevation)
    return order, rows


def turned(order: tuple[int, ...], sign: int, azimuth: float, elevation: float) -> FloatArray:
    """Unit vectors to the right, upwards and towards a camera [degrees], as rows; where gravity points to larger
    coordinates (`sign` < 0), the camera is upside down."""
    a, e = np.radians(azimuth), np.radians(elevation)
    right = (-np.sin(a), np.cos(a), 0.0)
    towards = (np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e))
    upward = (-np.cos(a) * np.sin(e), -np.sin(a) * np.sin(e), np.cos(e))
    rows = np.zeros((3, 3))
    rows[:, list(order)] = [right, upward, towards]
    if sign < 0:
        rows[0] *= -1
        rows[1:, order[-1]] *= -1
    return rows


def corners(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The 2^d corners of a box; bit k of the row number says whether axis k is at its upper end."""
    d = len(lower)
    bits = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    return np.where(bits, upper, lower)
