"""Shapes with a few parameters: box, ball, half-space, capsule, cylinder."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mpm.shapes.arguments import as_number, as_vector, brief, called_as
from mpm.shapes.geometry import ball_volume, distance, padded, share_inside, similarity, unit
from mpm.shapes.shape import Bools, Complement, Floats, Region, Shape


@called_as("Box((0, 0), (0.5, 1))", "Box((0, 0, 0), (0.5, 1, 1))")
class Box(Shape):
    """An axis-aligned box, lower <= x < upper.

    Parameters
    ----------
    lower, upper : (d,) array_like
        Opposite corners [m]; d = 2 or 3.

    Raises
    ------
    ValueError
        A corner is not finite, the corners differ in dimension, or lower < upper fails on an axis.

    Examples
    --------
    >>> Box((0, 0), (2, 1)).contains([(0, 0), (1, 0.5), (2, 1)]).tolist()
    [True, True, False]
    """

    _fields = ("lower", "upper")
    _is_box = _is_convex = True
    lower: Floats
    upper: Floats

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        low = as_vector(lower, "lower")
        high = as_vector(upper, "upper", len(low), "lower")
        if not (low < high).all():
            k = int(np.argmin(low < high))
            wrong = "they are swapped" if (low > high).all() else f"axis {k}: {low[k]:.10g} >= {high[k]:.10g}"
            raise ValueError(
                f"lower, upper: expected lower < upper on every axis, got {brief(low)}, {brief(high)} ({wrong})"
            )
        self._set(lower=low, upper=high, dimension=len(low))

    def _contains(self, x: Floats) -> Bools:
        return np.asarray(((x >= self.lower) & (x < self.upper)).all(axis=1))

    def _support(self, directions: Floats) -> Floats:
        return np.asarray(np.maximum(directions * self.lower, directions * self.upper).sum(axis=1))

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        if (np.count_nonzero(matrix, axis=0) > 1).any():
            return super()._affine(matrix, shift, step)
        a, b = matrix @ self.lower + shift, matrix @ self.upper + shift
        return Box(np.minimum(a, b), np.maximum(a, b))

    def _distance(self, finest: float, coarsest: float, region: Region) -> tuple[str, Floats]:
        return "box", padded(self.lower, self.upper)

    def _volume(self) -> float:
        return float(np.prod(self.upper - self.lower))

    def _volume_within(self, lower: Floats, upper: Floats) -> float | None:
        inside = super()._volume_within(lower, upper)  # as given, whatever rounding did to the domain
        low, high = np.maximum(self.lower, lower), np.minimum(self.upper, upper)
        return float(np.prod(np.maximum(high - low, 0))) if inside is None else inside


@called_as("Ball((0.5, 0.5), 0.2)", "Ball((0.5, 0.5, 0.5), 0.2)")
class Ball(Shape):
    """A ball (3-D) or disc (2-D), |x - center| < radius.

    Parameters
    ----------
    center : (d,) array_like
        Centre [m]; d = 2 or 3.
    radius
        Radius [m], above 0.
    """

    _fields = ("center", "radius")
    _is_convex = True
    center: Floats
    radius: float

    def __init__(self, center: ArrayLike, radius: float) -> None:
        middle = as_vector(center, "center")
        self._set(center=middle, radius=as_number(radius, "radius", positive=True), dimension=len(middle))

    def _contains(self, x: Floats) -> Bools:
        return distance(x - self.center) < self.radius

    def _support(self, directions: Floats) -> Floats:
        return np.asarray(directions @ self.center + self.radius * distance(directions))

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        factor = similarity(matrix)
        if factor is None:
            return super()._affine(matrix, shift, step)
        return Ball(matrix @ self.center + shift, factor * self.radius)

    def _distance(self, finest: float, coarsest: float, region: Region) -> tuple[str, Floats]:
        return "ball", np.append(padded(self.center), self.radius)

    def _volume(self) -> float:
        return ball_volume(self.radius, self.dimension)


@called_as("HalfSpace((0, 0.1), (0, 1))", "HalfSpace((0, 0, 0.1), (0, 0, 1))")
class HalfSpace(Shape):
    """The space on one side of a plane (3-D) or line (2-D): the side away from the normal.

    Parameters
    ----------
    point : (d,) array_like
        A point of the plane [m]; d = 2 or 3.
    normal : (d,) array_like
        Vector that points out of the solid, of any length but zero; stored as a unit vector.

    Examples
    --------
    >>> ground = HalfSpace(point=(0, 0.1), normal=(0, 1))
    >>> ground.contains([(5, 0), (5, 0.2)]).tolist()
    [True, False]
    """

    _fields = ("point", "normal")
    point: Floats
    normal: Floats

    def __init__(self, point: ArrayLike, normal: ArrayLike) -> None:
        p = as_vector(point, "point")
        self._set(
            point=p, normal=unit(as_vector(normal, "normal", len(p), "point"), "normal"), dimension=len(p)
        )

    def _contains(self, x: Floats) -> Bools:
        return np.asarray((x - self.point) @ self.normal < 0)

    def _support(self, directions: Floats) -> Floats:
        along = directions @ self.normal
        aligned = distance(directions - along[:, None] * self.normal) <= 1e-12 * distance(directions)
        return np.where(aligned & (along >= 0), directions @ self.point, np.inf)

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        return HalfSpace(matrix @ self.point + shift, np.linalg.solve(matrix.T, self.normal))

    def _distance(self, finest: float, coarsest: float, region: Region) -> tuple[str, Floats]:
        return "half_space", padded(self.point, self.normal)

    def _volume_within(self, lower: Floats, upper: Floats) -> float:
        middle = ((lower + upper) / 2 - self.point) @ self.normal
        share = share_inside(np.array([middle]), self.normal[None], upper - lower)
        return float(share[0] * np.prod(upper - lower))

    def __invert__(self) -> Shape:
        return _OtherHalfSpace(self)


class _OtherHalfSpace(Complement):
    """The complement of a half-space, including its plane: the only complement that may be bounded along an axis."""

    def _support(self, directions: Floats) -> Floats:
        assert isinstance(self.shape, HalfSpace)
        return HalfSpace(self.shape.point, -self.shape.normal)._support(directions)


class _Rod(Shape):
    """A line from a to b with a thickness."""

    _fields = ("a", "b", "radius")
    _is_convex = True
    a: Floats
    b: Floats
    radius: float

    def __init__(self, a: ArrayLike, b: ArrayLike, radius: float) -> None:
        start = as_vector(a, "a")
        end = as_vector(b, "b", len(start), "a")
        if (start == end).all():
            raise ValueError(f"a, b: expected two different points, got {brief(start)} twice")
        self._set(a=start, b=end, radius=as_number(radius, "radius", positive=True), dimension=len(start))

    def _along(self, x: Floats) -> Floats:
        """The position of each point between a (0) and b (1)."""
        axis = self.b - self.a
        return np.asarray((x - self.a) @ (axis / (axis @ axis)))

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        factor = similarity(matrix)
        if factor is None:
            return super()._affine(matrix, shift, step)
        return type(self)(matrix @ self.a + shift, matrix @ self.b + shift, factor * self.radius)

    def _distance(self, finest: float, coarsest: float, region: Region) -> tuple[str, Floats]:
        return type(self).__name__.lower(), np.append(padded(self.a, self.b), self.radius)

    def _volume(self) -> float:
        across = 2 * self.radius if self.dimension == 2 else np.pi * self.radius**2
        return float(np.linalg.norm(self.b - self.a)) * across


@called_as("Capsule((0, 0), (1, 0), 0.1)", "Capsule((0, 0, 0), (1, 0, 0), 0.1)")
class Capsule(_Rod):
    """All points less than `radius` away from the line from `a` to `b`: a cylinder with round ends.

    Parameters
    ----------
    a, b : (d,) array_like
        Two different ends of the line [m]; d = 2 or 3.
    radius
        Radius [m], above 0.
    """

    def _contains(self, x: Floats) -> Bools:
        t = np.clip(self._along(x), 0, 1)[:, None]
        return distance(x - ((1 - t) * self.a + t * self.b)) < self.radius

    def _support(self, directions: Floats) -> Floats:
        ends = np.maximum(directions @ self.a, directions @ self.b)
        return np.asarray(ends + self.radius * distance(directions))

    def _volume(self) -> float:
        return super()._volume() + ball_volume(self.radius, self.dimension)


@called_as("Cylinder((0, 0), (1, 0), 0.1)", "Cylinder((0, 0, 0), (1, 0, 0), 0.1)")
class Cylinder(_Rod):
    """A cylinder with flat ends; in 2-D, a rectangle at any angle, 2 · `radius` wide.

    Parameters
    ----------
    a, b : (d,) array_like
        Two different centres of the ends [m]; d = 2 or 3. The end at `a` belongs to the cylinder, the end at `b`
        does not.
    radius
        Radius [m], above 0.
    """

    def _contains(self, x: Floats) -> Bools:
        t = self._along(x)
        across = distance(x - self.a - t[:, None] * (self.b - self.a))
        return (t >= 0) & (t < 1) & (across < self.radius)

    def _support(self, directions: Floats) -> Floats:
        axis = unit(self.b - self.a, "b - a")
        across = distance(directions - (directions @ axis)[:, None] * axis)
        return np.asarray(np.maximum(directions @ self.a, directions @ self.b) + self.radius * across)
