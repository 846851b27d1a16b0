"""Camera: from positions to pixels, in a parallel projection or in perspective."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.viz.view import NAMES, View, upright

AZIMUTH, ELEVATION = np.radians(NAMES["iso"])  # of 3-D scenes, unless a view says otherwise
WHOLE = View()
NEAREST = 0.05  # distance from the eye over that of the target: what is nearer is not drawn
AROUND = 24  # azimuths from which a steady view in perspective is tried


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

    __slots__ = (
        "centre",
        "depth",
        "dimension",
        "floor",
        "lens",
        "lower",
        "offset",
        "order",
        "rows",
        "scale",
        "turned",
    )

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
        left, top, right, bottom = frame
        self.centre = np.array([(left + right) / 2, (top + bottom) / 2])  # straight before the eye
        target = (upper - lower) / 2 if view.target is None else view.target - lower
        if _in_perspective(lower, view):
            seen = _seen_corners(lower, upper, gravity, view)
            distance = _distance(seen, view)
            self.lens, self.depth = 1 / distance, float(self.rows[2] @ target)
            if view.distance is not None:
                self.scale = view.zoom * (bottom - top) / 2 / (distance * np.tan(np.radians(view.fov) / 2))
                middle = np.zeros(2)
            else:
                low, high = _outline(seen, view, distance)
                wide, tall = high - low
                self.scale = view.zoom * float(min((right - left) / wide, (bottom - top) / tall))
                middle = (low + high) / 2
            self.centre = self.centre + self.scale * np.array([-1.0, 1.0]) * middle
            middle = self.scale * (self.rows[:2] @ target)
            self.offset = self.centre + np.array([-1.0, 1.0]) * middle
            return
        # One over the distance of the eye from the target [1/m], and where nearness is 0 [m].
        self.lens, self.depth = 0.0, 0.0
        low, high = _seen(lower, upper, self.rows)
        wide, tall = _extent(lower, upper, gravity, view)
        self.scale = view.zoom * float(min((right - left) / wide, (bottom - top) / tall))
        middle = (low + high) / 2 if view.target is None else self.rows[:2] @ target
        middle = self.scale * middle
        self.offset = np.array([(left + right) / 2 - middle[0], (top + bottom) / 2 + middle[1]])

    def project(
        self, x: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any] | None]:
        """Pixel column, pixel row (down) and nearness [m], None in 2-D, of positions (n, d).

        In perspective nearness counts from the target; what is nearer than `NEAREST` is nowhere.
        """
        # Relative to the domain, so that single precision is enough wherever it lies. No matrix product: for
        # three columns the threads of a BLAS cost more than they save.
        axes = [(x[:, k] - self.lower[k]).astype(np.float32) for k in range(self.dimension)]
        seen = [
            sum(np.float32(factor) * axis for factor, axis in zip(row, axes, strict=True))
            for row in self.rows
        ]
        column = seen[0] * np.float32(self.scale) + np.float32(self.offset[0])
        row = np.float32(self.offset[1]) - seen[1] * np.float32(self.scale)
        if not self.lens:
            return column, row, seen[2] if self.dimension == 3 else None
        near = seen[2] - np.float32(self.depth)
        away = self.away(near)
        away[~(away >= NEAREST)] = np.nan
        column, row = (
            np.float32(middle) + (at - np.float32(middle)) / away
            for at, middle in zip((column, row), self.centre, strict=True)
        )
        return column, row, near

    def away(self, near: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Distance from the eye along its axis over that of the target, of points of a nearness [m]; 1 in a parallel
        projection."""
        return np.asarray(1 - np.float32(self.lens) * near)

    def radii(self, radius: float, near: npt.NDArray[Any] | None) -> float | npt.NDArray[Any]:
        """The radius [pixels] of spheres of a radius [m]; in perspective (n,), by their nearness [m]."""
        if near is None or not self.lens:
            return radius * float(self.scale)
        return np.asarray(radius * self.scale / np.maximum(self.away(near), NEAREST))

    def towards(self, x: FloatArray) -> FloatArray:
        """Vectors (n, 3) from positions to the eye, of any length."""
        if not self.lens:
            return np.broadcast_to(self.rows[2], x.shape)
        return self.eye - x

    @property
    def eye(self) -> FloatArray:
        """Where a camera in perspective is [m]."""
        across = (self.centre - self.offset) / self.scale
        seen = np.array([across[0], -across[1], self.depth + 1 / self.lens])
        return np.asarray(self.lower + seen @ self.rows)

    @property
    def above(self) -> bool:
        """Whether the camera of a 3-D scene looks at the upper side of the ground."""
        up = self.order[-1]
        height = self.eye[up] - self.floor if self.lens else self.rows[2, up]
        return bool((height < 0) == self.turned)

    def positions(self, column: FloatArray, row: FloatArray) -> FloatArray:
        """The points (n, 2) of a 2-D scene that are seen at pixels."""
        x = np.stack([column - self.offset[0], self.offset[1] - row], axis=1) / self.scale
        return np.asarray(x + self.lower)


def _in_perspective(lower: FloatArray, view: View) -> bool:
    return len(lower) == 3 and view.fov > 0


def _seen_corners(lower: FloatArray, upper: FloatArray, gravity: FloatArray, view: View) -> FloatArray:
    """The corners of the domain from the target, to the right, up and towards the camera (k, 3); of a steady view as
    they are seen from all around."""
    target = (lower + upper) / 2 if view.target is None else view.target
    turns = np.linspace(0, 360, AROUND, endpoint=False).tolist() if view.steady else [view.azimuth]
    order, sign = upright(gravity)
    return np.concatenate(
        [(corners(lower, upper) - target) @ turned(order, sign, a, view.elevation).T for a in turns]
    )


def _distance(seen: FloatArray, view: View) -> float:
    """From the eye to the target [m]: as given, or so far that corners span the angle of view."""
    if view.distance is not None:
        return view.distance
    tangent = float(np.tan(np.radians(view.fov) / 2))
    near, far = 0.0, 4 * float(np.linalg.norm(seen, axis=1).max()) / min(tangent, 1.0)
    for _ in range(50):  # bisection: the nearer, the larger the angle
        middle = (near + far) / 2
        low, high = _outline(seen, view, middle)
        near, far = (middle, far) if (high - low).max() > 2 * middle * tangent else (near, middle)
    return far


def _outline(seen: FloatArray, view: View, distance: float) -> tuple[FloatArray, FloatArray]:
    """The least and the largest projection (2,) of corners in perspective, in the distance of the target [m]; of a
    steady view, or one with a target, as far on either side. Infinite where a corner is behind the eye."""
    away = 1 - seen[:, 2] / distance
    if (away < NEAREST).any():
        return np.full(2, -np.inf), np.full(2, np.inf)
    found = seen[:, :2] / away[:, None]
    low, high = found.min(axis=0), found.max(axis=0)
    if view.steady or view.target is not None:
        high = np.maximum(-low, high)
        low = -high
    return low, high


def extent(
    lower: FloatArray, upper: FloatArray, gravity: FloatArray, view: View = WHOLE
) -> tuple[float, float]:
    """Width and height [m] of the domain as the camera sees it."""
    if _in_perspective(lower, view):
        seen = _seen_corners(lower, upper, gravity, view)
        low, high = _outline(seen, view, _distance(seen, view))
        if np.isfinite(high).all():
            width, height = high - low
            return float(width), float(height)
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
