"""Shapes: what a body or a collider occupies.

A shape answers one question, `shape.contains(x)`, and can be combined (`a | b`, `a & b`, `a - b`, `~a`) and
moved (`translate`, `rotate`, `scale`); each gives a new shape, none changes. Lengths are in metres, angles in
radians. 2-D and 3-D shapes are told apart by the length of what they are made from.

Boxes are half-open, lower <= x < upper, and so are polygons and closed meshes where their faces run along the
axes: two that touch have no point in common, and together they have every point of the seam. Curved
boundaries do not belong to the shape.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar, Never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpm import _check, meshes
from mpm.errors import FileFormatError
from mpm.meshes import MeshReport

__all__ = ["Ball", "Box", "Capsule", "Cylinder", "HalfSpace", "Mesh", "Points", "Polygon", "Shape"]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


# --- checks of arguments ------------------------------------------------------------------------------------


def _array(value: ArrayLike, name: str, shape: str) -> Floats:
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name}: expected numbers of shape {shape}, got {_check.shown(value)}") from None
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name}: expected numbers of shape {shape}, got {_check.shown(value)}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers, got {_brief(array)}")
    with np.errstate(over="ignore"):
        result = array.astype(np.float64)
    if not np.isfinite(result).all():
        raise ValueError(f"{name}: expected numbers below 1e308, got {_brief(array)}")
    return result


def _vector(value: ArrayLike, name: str, dimension: int | None = None) -> Floats:
    wanted = f"({dimension},)" if dimension else "(2,) or (3,)"
    array = _array(value, name, wanted)
    if array.ndim != 1 or len(array) not in ((dimension,) if dimension else (2, 3)):
        raise ValueError(f"{name}: expected the shape {wanted}, got {array.shape}: {_brief(array)}")
    return array


def _rows(value: ArrayLike, name: str, columns: tuple[int, ...]) -> Floats:
    wanted = " or ".join(f"(n, {d})" for d in columns)
    array = _array(value, name, wanted)
    if array.ndim != 2 or array.shape[1] not in columns:
        raise ValueError(f"{name}: expected the shape {wanted}, got {array.shape}")
    return array


def _number(value: float, name: str, *, positive: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: expected a number, got {_check.shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name}: expected a number below 1e308, got {_check.shown(value)}") from None
    if not np.isfinite(number) or (positive and number <= 0):
        raise ValueError(f"{name}: expected a finite number{' above 0' if positive else ''}, got {number:g}")
    return number


def _factors(value: float | ArrayLike, name: str, dimension: int) -> Floats:
    """A positive factor, or one for each axis."""
    array = _array(value, name, f"() or ({dimension},)")
    if array.shape not in ((), (dimension,)) or not (array > 0).all():
        raise ValueError(f"{name}: expected a factor above 0, or {dimension} of them, got {_brief(array)}")
    return np.broadcast_to(array, dimension).copy()


def _brief(value: object) -> str:
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return f"{value.item():.10g}"
        if value.size > 12:
            return f"<array of shape {value.shape}>"
        return "(" + ", ".join(_brief(item) for item in value) + (",)" if len(value) == 1 else ")")
    if isinstance(value, (float, np.floating, int, np.integer)):
        return f"{value:.10g}"
    return repr(value)


# --- the common part ----------------------------------------------------------------------------------------


class Shape:
    """What all shapes can do. Shapes are immutable; equal ones have equal parameters."""

    _fields: ClassVar[tuple[str, ...]] = ()
    dimension: int
    """2 or 3."""

    def __init__(self) -> None:
        raise TypeError("Shape is the base of the shapes: use one of them, such as Box")

    def _set(self, **values: Any) -> None:
        for value in values.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"{type(self).__name__} is immutable: {name!r} cannot be set; make a new shape")

    def __delattr__(self, name: str) -> Never:
        raise AttributeError(f"{type(self).__name__} is immutable: {name!r} cannot be deleted")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(**state)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape) or type(self) is not type(other):
            return NotImplemented
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in self._fields)

    def __hash__(self) -> int:
        return hash(
            (type(self).__name__, self.dimension, *(_hashable(getattr(self, name)) for name in self._fields))
        )

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={_brief(getattr(self, name))}" for name in self._fields)
        return f"{type(self).__name__}({values})"

    # What a shape must tell about itself.

    def _contains(self, x: Floats) -> Bools:
        raise NotImplementedError

    def _support(self, directions: Floats) -> Floats:
        """The largest direction·x in the shape, for each of the (k, d) directions; may be infinite."""
        raise NotImplementedError

    _exact_bounds: bool = True
    """Whether `bounds` is the smallest box, not just one that is large enough."""

    # What follows from it.

    def contains(self, x: ArrayLike) -> Bools:
        """Whether each point is inside.

        Parameters
        ----------
        x : (m, d) array_like
            Positions [m].

        Returns
        -------
        (m,) bool

        Raises
        ------
        ValueError
            `x` has another shape or dimension, or holds NaN or infinity.
        TypeError
            `x` does not hold numbers, or the shape is `Points`, which have no inside.
        """
        return self._contains(_rows(x, "x", (self.dimension,)))

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """A box around the shape: its lower and upper corner, (d,) each [m]; infinite where the shape is.

        The smallest such box, except for intersections and differences, whose box may be larger than need be.
        """
        axes = np.eye(self.dimension)
        lower, upper = -self._support(-axes) + 0.0, self._support(axes) + 0.0
        upper = np.maximum(lower, upper)  # an intersection of what does not meet
        lower.flags.writeable = upper.flags.writeable = False
        return lower, upper

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        """The shape of all matrix·x + shift. `step` says it in the words of the user."""
        return _Moved(self, matrix, shift, step)

    def translate(self, by: ArrayLike) -> Shape:
        """Return the shape moved by `by`, (d,) [m]."""
        by = _vector(by, "by", self.dimension)
        return self._affine(np.eye(self.dimension), by, f".translate({_brief(by)})")

    def rotate(self, angle: float, *, axis: ArrayLike | None = None, about: ArrayLike | None = None) -> Shape:
        """Return the shape rotated.

        Parameters
        ----------
        angle
            Counter-clockwise, seen against the axis [rad].
        axis : (3,) array_like
            In 3-D the axis of rotation, of any length but zero. Not in 2-D.
        about : (d,) array_like, optional
            A point that stays where it is [m]; the origin by default.
        """
        angle = _number(angle, "angle")
        if self.dimension == 2:
            if axis is not None:
                raise ValueError(
                    f"axis: a shape in 2-D rotates about a point, axis must be None, got {axis!r}"
                )
            cos, sin = _cos_sin(angle)
            matrix, words = np.array([[cos, -sin], [sin, cos]]), f"{angle:.10g}"
        else:
            if axis is None:
                raise ValueError("axis: a rotation in 3-D needs one, such as axis=(0, 0, 1)")
            a = _vector(axis, "axis", 3)
            matrix, words = _rotation(angle, _unit(a, "axis")), f"{angle:.10g}, axis={_brief(a)}"
        return self._affine_about(matrix, about, "rotate", words)

    def scale(self, by: ArrayLike, *, about: ArrayLike | None = None) -> Shape:
        """Return the shape scaled.

        Parameters
        ----------
        by : float or (d,) array_like
            The factor, or one for each axis; above 0.
        about : (d,) array_like, optional
            A point that stays where it is [m]; the origin by default.
        """
        factors = _factors(by, "by", self.dimension)
        words = _brief(np.asarray(by, dtype=np.float64))
        return self._affine_about(np.diag(factors), about, "scale", words)

    def _affine_about(self, matrix: Floats, about: ArrayLike | None, verb: str, words: str) -> Shape:
        center = np.zeros(self.dimension) if about is None else _vector(about, "about", self.dimension)
        words += "" if about is None else f", about={_brief(center)}"
        return self._affine(matrix, center - matrix @ center, f".{verb}({words})")

    def __or__(self, other: Shape) -> Shape:
        return _combine(_Union, self, other)

    def __and__(self, other: Shape) -> Shape:
        return _combine(_Intersection, self, other)

    def __sub__(self, other: Shape) -> Shape:
        return _combine(_Difference, self, other)

    def __invert__(self) -> Shape:
        return _Complement(self)


def _hashable(value: object) -> object:
    return (
        (value + 0.0).tobytes() if isinstance(value, np.ndarray) and value.dtype.kind == "f" else repr(value)
    )


def _unit(vector: Floats, name: str) -> Floats:
    largest = np.abs(vector).max()
    if largest == 0:
        raise ValueError(f"{name}: expected a vector that is not zero, got {_brief(vector)}")
    scaled = vector / largest
    return np.asarray(scaled / np.sqrt((scaled**2).sum()))


def _cos_sin(angle: float) -> tuple[float, float]:
    """Exact for multiples of a right angle, so that boxes remain boxes."""
    quarters = angle / (np.pi / 2)
    whole = round(quarters)
    if abs(quarters - whole) <= 4e-16 * abs(quarters):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[whole % 4]
    return float(np.cos(angle)), float(np.sin(angle))


def _rotation(angle: float, axis: Floats) -> Floats:
    """Rodrigues' formula."""
    cos, sin = _cos_sin(angle)
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(cos * np.eye(3) + sin * cross + (1 - cos) * np.outer(axis, axis))


def _similarity(matrix: Floats) -> float | None:
    """The factor by which a matrix lengthens every vector; None if it is not the same for all."""
    gram = matrix.T @ matrix
    square = float(np.trace(gram)) / len(matrix)
    return (
        float(np.sqrt(square))
        if np.allclose(gram, square * np.eye(len(matrix)), rtol=0, atol=1e-13 * square)
        else None
    )


# --- primitives ---------------------------------------------------------------------------------------------


class Box(Shape):
    """An axis-aligned box, lower <= x < upper.

    Parameters
    ----------
    lower, upper : (d,) array_like
        Opposite corners [m]; d = 2 or 3.

    Raises
    ------
    ValueError
        A corner is not finite, their dimensions differ, or lower < upper does not hold on every axis.

    Examples
    --------
    >>> Box((0, 0), (2, 1)).contains([(0, 0), (1, 0.5), (2, 1)]).tolist()
    [True, True, False]
    """

    _fields = ("lower", "upper")
    lower: Floats
    upper: Floats

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        low = _vector(lower, "lower")
        high = _vector(upper, "upper", len(low))
        if not (low < high).all():
            raise ValueError(
                f"lower, upper: expected lower < upper on every axis, got {_brief(low)}, {_brief(high)}"
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


class Ball(Shape):
    """A ball (3-D) or disc (2-D), |x - center| < radius.

    Parameters
    ----------
    center : (d,) array_like
        Its middle [m]; d = 2 or 3.
    radius
        [m], above 0.
    """

    _fields = ("center", "radius")
    center: Floats
    radius: float

    def __init__(self, center: ArrayLike, radius: float) -> None:
        middle = _vector(center, "center")
        self._set(center=middle, radius=_number(radius, "radius", positive=True), dimension=len(middle))

    def _contains(self, x: Floats) -> Bools:
        return _distance(x - self.center) < self.radius

    def _support(self, directions: Floats) -> Floats:
        return np.asarray(directions @ self.center + self.radius * _distance(directions))

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        factor = _similarity(matrix)
        if factor is None:
            return super()._affine(matrix, shift, step)
        return Ball(matrix @ self.center + shift, factor * self.radius)


def _distance(x: Floats) -> Floats:
    return np.asarray(np.sqrt((x**2).sum(axis=1)))


class HalfSpace(Shape):
    """All of space on one side of a plane (3-D) or line (2-D): the side away from the normal.

    Parameters
    ----------
    point : (d,) array_like
        A point of the plane [m]; d = 2 or 3.
    normal : (d,) array_like
        Points out of the solid; of any length but zero, kept as a unit vector.

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
        p = _vector(point, "point")
        self._set(point=p, normal=_unit(_vector(normal, "normal", len(p)), "normal"), dimension=len(p))

    def _contains(self, x: Floats) -> Bools:
        return np.asarray((x - self.point) @ self.normal < 0)

    def _support(self, directions: Floats) -> Floats:
        along = directions @ self.normal
        aligned = _distance(directions - along[:, None] * self.normal) <= 1e-12 * _distance(directions)
        return np.where(aligned & (along >= 0), directions @ self.point, np.inf)

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        return HalfSpace(matrix @ self.point + shift, np.linalg.solve(matrix.T, self.normal))

    def __invert__(self) -> Shape:
        return _OtherHalfSpace(self)


class _Rod(Shape):
    """A line from a to b with a thickness."""

    _fields = ("a", "b", "radius")
    a: Floats
    b: Floats
    radius: float

    def __init__(self, a: ArrayLike, b: ArrayLike, radius: float) -> None:
        start = _vector(a, "a")
        end = _vector(b, "b", len(start))
        if (start == end).all():
            raise ValueError(f"a, b: expected two different points, got {_brief(start)} twice")
        self._set(a=start, b=end, radius=_number(radius, "radius", positive=True), dimension=len(start))

    def _along(self, x: Floats) -> Floats:
        """Where each point is between a (0) and b (1)."""
        axis = self.b - self.a
        return np.asarray((x - self.a) @ (axis / (axis @ axis)))

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        factor = _similarity(matrix)
        if factor is None:
            return super()._affine(matrix, shift, step)
        return type(self)(matrix @ self.a + shift, matrix @ self.b + shift, factor * self.radius)


class Capsule(_Rod):
    """All points less than `radius` away from the line from `a` to `b`: a cylinder with round ends.

    Parameters
    ----------
    a, b : (d,) array_like
        Ends of the line [m], different; d = 2 or 3.
    radius
        [m], above 0.
    """

    def _contains(self, x: Floats) -> Bools:
        t = np.clip(self._along(x), 0, 1)[:, None]
        return _distance(x - ((1 - t) * self.a + t * self.b)) < self.radius

    def _support(self, directions: Floats) -> Floats:
        ends = np.maximum(directions @ self.a, directions @ self.b)
        return np.asarray(ends + self.radius * _distance(directions))


class Cylinder(_Rod):
    """A cylinder with flat ends; in 2-D, a rectangle at any angle, 2 · `radius` wide.

    Parameters
    ----------
    a, b : (d,) array_like
        Middles of the two ends [m], different; d = 2 or 3. The end at `a` belongs to it, that at `b` does
        not.
    radius
        [m], above 0.
    """

    def _contains(self, x: Floats) -> Bools:
        t = self._along(x)
        across = _distance(x - self.a - t[:, None] * (self.b - self.a))
        return (t >= 0) & (t < 1) & (across < self.radius)

    def _support(self, directions: Floats) -> Floats:
        axis = _unit(self.b - self.a, "b - a")
        across = _distance(directions - (directions @ axis)[:, None] * axis)
        return np.asarray(np.maximum(directions @ self.a, directions @ self.b) + self.radius * across)


class Polygon(Shape):
    """The inside of a polygon in 2-D, convex or not.

    Parameters
    ----------
    vertices : (n, 2) array_like
        Its corners in order, either way round [m]; n >= 3. The first may be repeated at the end.

    Raises
    ------
    ValueError
        It has fewer than three corners or no area, or its outline touches or crosses itself.
    """

    _fields = ("vertices",)
    vertices: Floats

    def __init__(self, vertices: ArrayLike) -> None:
        v = _rows(vertices, "vertices", (2,))
        if len(v) > 3 and (v[0] == v[-1]).all():
            v = v[:-1].copy()
        if len(v) < 3:
            raise ValueError(f"vertices: a polygon needs at least 3, got {len(v)}")
        _refuse_tangled(v)
        self._set(vertices=v, dimension=2)

    def _contains(self, x: Floats) -> Bools:
        # Even-odd rule along +x. Sorted by height, the points beside an edge are a slice.
        order = np.argsort(x[:, 1], kind="stable")
        px, py = x[order, 0], x[order, 1]
        inside = np.zeros(len(x), dtype=bool)
        a, b = self.vertices, np.roll(self.vertices, -1, axis=0)
        swap = (a[:, 1] > b[:, 1])[:, None]
        low, high = np.where(swap, b, a), np.where(swap, a, b)
        first, last = np.searchsorted(py, low[:, 1]), np.searchsorted(py, high[:, 1])
        for e in np.flatnonzero(first < last):
            beside = slice(first[e], last[e])
            t = (py[beside] - low[e, 1]) / (high[e, 1] - low[e, 1])
            inside[beside] ^= low[e, 0] + t * (high[e, 0] - low[e, 0]) > px[beside]
        result = np.empty_like(inside)
        result[order] = inside
        return result

    def _support(self, directions: Floats) -> Floats:
        return np.asarray((directions @ self.vertices.T).max(axis=1))

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        return Polygon(self.vertices @ matrix.T + shift)


def _cross(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def _refuse_tangled(v: Floats) -> None:
    """Raise ValueError unless the outline `v` (n, 2) is a simple polygon with an area."""
    v = v - v[0]
    n = len(v)
    w = np.roll(v, -1, axis=0)
    edge = w - v
    following = np.roll(edge, -1, axis=0)
    if not edge.any(axis=1).all():
        k = int(np.flatnonzero(~edge.any(axis=1))[0])
        raise ValueError(f"vertices: corners {k} and {(k + 1) % n} of the polygon are the same point")
    back = np.flatnonzero((_cross(edge, following) == 0) & ((edge * following).sum(axis=1) < 0))
    if len(back):
        raise ValueError(f"vertices: the polygon turns back on itself at corner {(int(back[0]) + 1) % n}")
    for i in range(n - 2):
        j = np.arange(i + 2, n if i else n - 1)  # edges that do not share a corner with edge i
        c, d = v[j], w[j]
        side_c, side_d = np.sign(_cross(edge[i], c - v[i])), np.sign(_cross(edge[i], d - v[i]))
        side_v, side_w = np.sign(_cross(edge[j], v[i] - c)), np.sign(_cross(edge[j], w[i] - c))
        meet = (side_c * side_d <= 0) & (side_v * side_w <= 0)
        boxes = (np.minimum(c, d) <= np.maximum(v[i], w[i])) & (np.maximum(c, d) >= np.minimum(v[i], w[i]))
        meet &= boxes.all(axis=1)  # edges on one line may still be apart
        if meet.any():
            k = int(j[np.flatnonzero(meet)[0]])
            raise ValueError(
                f"vertices: the polygon crosses or touches itself: the edges from corner {i} and from corner "
                f"{k} meet"
            )
    if abs(_cross(v, w).sum()) <= 1e-14 * np.ptp(v, axis=0).prod():
        raise ValueError("vertices: the polygon has no area")


class Mesh(Shape):
    """The inside of a triangle mesh in 3-D.

    Equal vertices are merged first. Overlapping closed parts are filled once; a closed part within another
    whose faces look inwards is a cavity. What can be mended (faces that look the wrong way, doubled faces,
    small holes) is, with a warning; see `report`.

    Parameters
    ----------
    path
        An OBJ or STL file, or, with `trimesh` installed, any format it reads.
    vertices : (nv, 3) array_like
        Instead of `path`: positions [m].
    faces : (nf, k) array_like of int
        With `vertices`: the corners of each triangle (k = 3) or flat polygon, counted from 0,
        counter-clockwise seen from outside.

    Attributes
    ----------
    vertices, faces : (nv, 3) float64, (nf, 3) int64
        The mesh as it was read, in triangles.
    report : mpm.meshes.MeshReport
        What it is made of and what is wrong with it.

    Raises
    ------
    FileNotFoundError, FileFormatError
        There is no such file; it is damaged, or holds what is not a solid.
    ValueError
        The mesh encloses no volume, or has so many holes that its inside is in doubt; the message names the
        defect.
    ImportError
        The format needs `pip install 'mpm[mesh]'`.

    Warns
    -----
    UserWarning
        Something had to be mended; the message says what.
    """

    _fields = ("vertices", "faces")
    path: str | None
    vertices: Floats
    faces: NDArray[np.int64]
    report: MeshReport
    _solid: meshes.Solid

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        vertices: ArrayLike | None = None,
        faces: ArrayLike | None = None,
    ) -> None:
        if (path is None) != (vertices is not None and faces is not None) or (vertices is None) != (
            faces is None
        ):
            raise TypeError("path, vertices, faces: expected a path, or vertices= and faces=")
        if path is not None:
            if not isinstance(path, (str, os.PathLike)):
                raise TypeError(f"path: expected a path, got {path!r}")
            v, f = meshes.read(path)
            try:
                solid = meshes.prepare(v, f, os.fspath(path))
            except ValueError as error:
                raise FileFormatError(str(error)) from None
        else:
            assert vertices is not None and faces is not None
            v = _rows(vertices, "vertices", (3,))
            f = _triangles(faces, len(v))
            solid = meshes.prepare(v, f, "Mesh")
        name = None if path is None else os.fspath(path)
        self._set(path=name, vertices=v, faces=f, report=solid.report, _solid=solid, dimension=3)

    def __repr__(self) -> str:
        source = "" if self.path is None else f"{self.path!r}, "
        return f"Mesh({source}{len(self.faces)} triangles)"

    def _contains(self, x: Floats) -> Bools:
        return self._solid.contains(x)

    def _support(self, directions: Floats) -> Floats:
        corners = self.vertices[np.unique(self.faces)]
        return np.array([(corners @ direction).max() for direction in directions])


def _triangles(faces: ArrayLike, vertices: int) -> NDArray[np.int64]:
    try:
        index = np.asarray(faces)
    except ValueError:
        raise ValueError("faces: expected integers of shape (n, 3), got rows of different length") from None
    if index.dtype.kind not in "iu":
        raise TypeError(f"faces: expected integers of shape (n, 3), got {_check.shown(faces)}")
    if index.ndim != 2 or index.shape[1] < 3 or not len(index):
        raise ValueError(f"faces: expected the shape (n, 3), got {index.shape}")
    wrong = np.flatnonzero(((index < 0) | (index >= vertices)).any(axis=1))
    if len(wrong):
        raise ValueError(
            f"faces: face {wrong[0]}, {_brief(index[wrong[0]])}, names a vertex outside 0 to {vertices - 1}"
        )
    fan = [index[:, [0, k, k + 1]] for k in range(1, index.shape[1] - 1)]
    return np.stack(fan, axis=1).reshape(-1, 3).astype(np.int64)


class Points(Shape):
    """Particles at given positions: a body, but not a solid. It has no inside and cannot be combined.

    Parameters
    ----------
    x : (n, d) array_like
        Positions [m]; n >= 1, d = 2 or 3.
    volume : float or (n,) array_like, optional
        Volume of each particle [m³; in 2-D m²], above 0; by default dx^d / particles_per_cell.
    """

    _fields = ("x", "volume")
    x: Floats
    volume: Floats | None

    def __init__(self, x: ArrayLike, *, volume: ArrayLike | None = None) -> None:
        positions = _rows(x, "x", (2, 3))
        if not len(positions):
            raise ValueError("x: expected at least one point, got none")
        volumes = None
        if volume is not None:
            volumes = _array(volume, "volume", f"() or ({len(positions)},)")
            if volumes.shape not in ((), (len(positions),)) or not (volumes > 0).all():
                raise ValueError(
                    f"volume: expected one or {len(positions)} numbers above 0, got {_brief(volumes)}"
                )
            volumes = np.broadcast_to(volumes, len(positions)).copy()
        self._set(x=positions, volume=volumes, dimension=positions.shape[1])

    def __repr__(self) -> str:
        return f"Points({len(self.x)} in {self.dimension}-D)"

    def contains(self, x: ArrayLike) -> Never:
        """Raise TypeError: points have no inside."""
        raise TypeError("Points is not a solid: it has no inside, so contains() has no answer")

    def _support(self, directions: Floats) -> Floats:
        return np.array([(self.x @ direction).max() for direction in directions])

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Points:
        factor = abs(float(np.linalg.det(matrix)))
        rigid = abs(factor - 1) < 1e-14  # a rotation's determinant is rounded
        volume = self.volume if self.volume is None or rigid else self.volume * factor
        return Points(self.x @ matrix.T + shift, volume=volume)

    def __invert__(self) -> Never:
        raise TypeError("Points is not a solid: it cannot be inverted")


# --- combinations -------------------------------------------------------------------------------------------


class _Moved(Shape):
    """A shape under an affine map that its own kind cannot express: all matrix·x + shift, x in `shape`."""

    _fields = ("shape", "matrix", "shift")
    shape: Shape
    matrix: Floats
    shift: Floats
    _inverse: Floats
    _steps: str

    def __init__(self, shape: Shape, matrix: Floats, shift: Floats, steps: str) -> None:
        self._set(
            shape=shape, matrix=matrix.copy(), shift=shift.copy(), dimension=shape.dimension,
            _inverse=np.linalg.inv(matrix), _steps=steps, _exact_bounds=shape._exact_bounds,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"{self.shape!r}{self._steps}"

    def _contains(self, x: Floats) -> Bools:
        return self.shape._contains((x - self.shift) @ self._inverse.T)

    def _support(self, directions: Floats) -> Floats:
        return self.shape._support(directions @ self.matrix) + directions @ self.shift

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        return _Moved(self.shape, matrix @ self.matrix, matrix @ self.shift + shift, self._steps + step)


class _Combined(Shape):
    """Shapes joined by an operator. Chains are kept flat: a union of a thousand balls is one union."""

    _fields = ("parts",)
    _symbol: ClassVar[str]
    parts: tuple[Shape, ...]

    def __init__(self, *parts: Shape) -> None:
        self._set(
            parts=parts,
            dimension=parts[0].dimension,
            _exact_bounds=isinstance(self, _Union) and all(part._exact_bounds for part in parts),
        )

    def __repr__(self) -> str:
        words = [f"({p!r})" if isinstance(p, _Combined) else repr(p) for p in self.parts]
        if len(words) > 6:
            words[3:-2] = [f"… {len(words) - 5} more …"]
        return f" {self._symbol} ".join(words)

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        return type(self)(*(part._affine(matrix, shift, step) for part in self.parts))


def _combine(kind: type[_Combined], a: Shape, b: object) -> Shape:
    if not isinstance(b, Shape):
        return NotImplemented  # type: ignore[no-any-return]
    for shape in (a, b):
        if isinstance(shape, Points):
            raise TypeError(f"Points is not a solid: it cannot be combined by {kind._symbol!r}")
    if a.dimension != b.dimension:
        raise ValueError(
            f"cannot combine a shape in {a.dimension}-D with one in {b.dimension}-D: {a!r}, {b!r}"
        )
    head = a.parts if type(a) is kind else (a,)
    tail = b.parts if type(b) is kind and kind is not _Difference else (b,)
    return kind(*head, *tail)


class _Union(_Combined):
    _symbol = "|"

    def _contains(self, x: Floats) -> Bools:
        inside = self.parts[0]._contains(x).copy()
        for part in self.parts[1:]:
            rest = np.flatnonzero(~inside)
            inside[rest] = part._contains(x[rest])
        return inside

    def _support(self, directions: Floats) -> Floats:
        return np.asarray(np.max([part._support(directions) for part in self.parts], axis=0))


class _Intersection(_Combined):
    _symbol = "&"

    def _contains(self, x: Floats) -> Bools:
        inside = self.parts[0]._contains(x).copy()
        for part in self.parts[1:]:
            rest = np.flatnonzero(inside)
            inside[rest] = part._contains(x[rest])
        return inside

    def _support(self, directions: Floats) -> Floats:
        return np.asarray(np.min([part._support(directions) for part in self.parts], axis=0))


class _Difference(_Combined):
    """The first part without the others."""

    _symbol = "-"

    def _contains(self, x: Floats) -> Bools:
        inside = self.parts[0]._contains(x).copy()
        for part in self.parts[1:]:
            rest = np.flatnonzero(inside)
            inside[rest] = ~part._contains(x[rest])
        return inside

    def _support(self, directions: Floats) -> Floats:
        rest = [self.parts[0], *(~part for part in self.parts[1:])]
        return np.asarray(np.min([part._support(directions) for part in rest], axis=0))


class _Complement(Shape):
    _fields = ("shape",)
    shape: Shape

    def __init__(self, shape: Shape) -> None:
        self._set(shape=shape, dimension=shape.dimension)

    def __repr__(self) -> str:
        return f"~({self.shape!r})" if isinstance(self.shape, _Combined) else f"~{self.shape!r}"

    def _contains(self, x: Floats) -> Bools:
        return ~self.shape._contains(x)

    def _support(self, directions: Floats) -> Floats:
        return np.full(len(directions), np.inf)

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        return ~self.shape._affine(matrix, shift, step)

    def __invert__(self) -> Shape:
        return self.shape


class _OtherHalfSpace(_Complement):
    """The other half-space, its plane included: the one complement that may be bounded along an axis."""

    def _support(self, directions: Floats) -> Floats:
        assert isinstance(self.shape, HalfSpace)
        return HalfSpace(self.shape.point, -self.shape.normal)._support(directions)
