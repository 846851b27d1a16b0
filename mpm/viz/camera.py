"""Orthographic camera: from positions to pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray

AZIMUTH = np.radians(-56.0)
ELEVATION = np.radians(18.0)


class Camera:
    """Looks at the whole domain; 3-D scenes from above and aside, 2-D ones along the third axis.

    Parameters
    ----------
    lower, upper : ndarray, shape (d,)
        The domain.
    gravity : ndarray, shape (d,)
        Up is against it if it lies along an axis; else the last axis.
    frame : (left, top, right, bottom)
        Pixels that the domain has to fit in.
    """

    __slots__ = ("dimension", "floor", "lower", "offset", "order", "rows", "scale", "turned")

    def __init__(
        self,
        lower: FloatArray,
        upper: FloatArray,
        gravity: FloatArray,
        frame: tuple[float, float, float, float],
    ) -> None:
        self.dimension = len(lower)
        self.lower = lower
        self.order, self.rows = _axes(gravity)
        up = self.order[-1]
        self.turned = self.rows[1, up] < 0
        self.floor = float((upper if self.turned else lower)[up])  # the ground
        low, high = _seen(lower, upper, self.rows)
        left, top, right, bottom = frame
        self.scale = float(min((right - left) / (high[0] - low[0]), (bottom - top) / (high[1] - low[1])))
        middle = self.scale * (low + high) / 2
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


def extent(lower: FloatArray, upper: FloatArray, gravity: FloatArray) -> tuple[float, float]:
    """Width and height [m] of the domain as the camera sees it."""
    low, high = _seen(lower, upper, _axes(gravity)[1])
    width, height = high - low
    return float(width), float(height)


def _seen(lower: FloatArray, upper: FloatArray, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least and the largest projection (2,) of the domain, relative to its lower corner."""
    seen = corners(lower - lower, upper - lower) @ rows[:2].T
    return seen.min(axis=0), seen.max(axis=0)


def _axes(gravity: FloatArray) -> tuple[tuple[int, ...], FloatArray]:
    """Order of the axes with up last, and the projection of positions on (right, up, towards the camera)."""
    if len(gravity) == 2:
        return (0, 1), np.eye(2)
    up = int(np.argmax(np.abs(gravity))) if np.count_nonzero(gravity) == 1 else 2
    order = ((1, 2, 0), (2, 0, 1), (0, 1, 2))[up]
    a, e = AZIMUTH, ELEVATION
    right = (-np.sin(a), np.cos(a), 0.0)
    towards = (np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e))
    upward = (-np.cos(a) * np.sin(e), -np.sin(a) * np.sin(e), np.cos(e))
    rows = np.zeros((3, 3))
    rows[:, list(order)] = [right, upward, towards]
    if gravity[up] > 0:  # gravity points to larger coordinates, so the camera is upside down
        rows[0] *= -1
        rows[1:, up] *= -1
    return order, rows


def corners(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The 2^d corners of a box; bit k of the row number says whether axis k is at its upper end."""
    d = len(lower)
    bits = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    return np.where(bits, upper, lower)
