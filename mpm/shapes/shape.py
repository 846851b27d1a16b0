"""The base of all shapes, and shapes that combine and move others."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Never, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpm.base import _check, advice
from mpm.shapes.arguments import as_factors, as_number, as_rows, as_vector, brief
from mpm.shapes.geometry import cos_sin, rotation, unit

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Region: TypeAlias = tuple[Floats, Floats]


class Shape:
    """Base of all shapes. Shapes are immutable; equal shapes have equal parameters."""

    _fields: ClassVar[tuple[str, ...]] = ()
    dimension: int
    """2 or 3."""

    def __init__(self) -> None:
        raise TypeError("Shape is the base of the shapes: use one of them, such as Box")

    if not TYPE_CHECKING:  # type checkers shall go on to refuse unknown names

        def __getattr__(self, name: str) -> Never:
            # Python calls this only if the ordinary look-up has failed.
            raise AttributeError(advice.unknown_attribute(self, name), name=name, obj=self)

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
        values = ", ".join(f"{name}={brief(getattr(self, name))}" for name in self._fields)
        return f"{type(self).__name__}({values})"

    # What a shape must supply.

    def _contains(self, x: Floats) -> Bools:
        raise NotImplementedError

    def _support(self, directions: Floats) -> Floats:
        """The largest direction·x in the shape, for each of the (k, d) directions; may be infinite."""
        raise NotImplementedError

    def _distance(self, finest: float, coarsest: float, region: Region) -> tuple[str, Floats]:
        """The kind and the numbers of its node in the core (``csrc/contact/shape.h``). The cells of the grid, in the
        shape's own coordinates, are between `finest` and `coarsest` wide along any direction; the grid reaches at most
        a few cells beyond the box `region` (lower and upper corner, maybe infinite)."""
        raise NotImplementedError

    def _volume(self) -> float | None:
        """Exact volume [m³], in 2-D area [m²], where there is a formula and the shape is of finite size."""
        return None

    def _volume_within(self, lower: Floats, upper: Floats) -> float | None:
        """Exact volume of what lies in a box, where there is a formula."""
        volume = self._volume()
        return volume if volume is not None and _in_box(self, lower, upper) else None

    def _fastest(self, after: float) -> float:
        """The largest speed of a surface that changes with time [m/s], from a time on."""
        return 0.0

    _nesting: int = 0
    """How many shapes are in each other: one for each that is made of others."""
    _exact_bounds: bool = True
    """Whether `bounds` is the smallest box, not just one that is large enough."""
    _only_collides: bool = False
    """Whether it changes with time, so that it can be a collider but not a body."""
    _is_box: ClassVar[bool] = False
    """Whether it is what its `bounds` hold."""
    _is_convex: ClassVar[bool] = False
    """Whether it is known to be convex."""
    _has_inside: ClassVar[bool] = True
    """Whether it is a solid, which can be combined with others."""

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
            `x` has the wrong shape or dimension, or holds NaN or infinity.
        TypeError
            `x` does not hold numbers, or the shape is `Points`, which have no inside.
        """
        return self._contains(as_rows(x, "x", (self.dimension,)))

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper corner of a box around the shape, (d,) each [m]; infinite where the shape is.

        The box is the smallest one, except that intersections and differences may have a larger box.
        """
        axes = np.eye(self.dimension)
        lower, upper = -self._support(-axes) + 0.0, self._support(axes) + 0.0
        upper = np.maximum(lower, upper)  # the intersection may be empty
        lower.flags.writeable = upper.flags.writeable = False
        return lower, upper

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        """The shape of all matrix·x + shift. `step` describes it as the user wrote it."""
        return _Moved(self, matrix, shift, step)

    def translate(self, by: ArrayLike) -> Shape:
        """Return the shape moved by the vector `by`, (d,) [m]."""
        by = as_vector(by, "by", self.dimension)
        return self._affine(np.eye(self.dimension), by, f".translate({brief(by)})")

    def rotate(self, angle: float, *, axis: ArrayLike | None = None, about: ArrayLike | None = None) -> Shape:
        """Return the shape rotated.

        Parameters
        ----------
        angle
            Angle [rad], counter-clockwise, seen against the axis.
        axis : (3,) array_like
            The axis of rotation in 3-D, of any length but zero; not in 2-D.
        about : (d,) array_like, optional
            The fixed point [m], by default the origin.
        """
        angle = as_number(angle, "angle")
        if abs(angle) > 2 * math.pi:
            text = f"angle = {angle:g}: angles are in radians; np.radians({angle:g}) takes degrees"
            warnings.warn(text, UserWarning, stacklevel=_check.levels_to_caller())
        if self.dimension == 2:
            if axis is not None:
                raise ValueError(
                    f"axis: a shape in 2-D rotates about a point, axis must be None, got {axis!r}"
                )
            cos, sin = cos_sin(angle)
            matrix, words = np.array([[cos, -sin], [sin, cos]]), f"{angle:.10g}"
        else:
            if axis is None:
                raise ValueError("axis: a rotation in 3-D needs one, such as axis=(0, 0, 1)")
            if isinstance(axis, str):
                raise TypeError(f"axis: expected a vector, such as (0, 1, 0) for y, got {axis!r}")
            a = as_vector(axis, "axis", 3)
            matrix, words = rotation(angle, unit(a, "axis")), f"{angle:.10g}, axis={brief(a)}"
        return self._affine_about(matrix, about, "rotate", words)

    def scale(self, by: ArrayLike, *, about: ArrayLike | None = None) -> Shape:
        """Return the shape scaled.

        Parameters
        ----------
        by : float or (d,) array_like
            The factor, or one factor per axis; above 0.
        about : (d,) array_like, optional
            The fixed point [m], by default the origin.
        """
        factors = as_factors(by, "by", self.dimension)
        words = brief(np.asarray(by, dtype=np.float64))
        return self._affine_about(np.diag(factors), about, "scale", words)

    def _affine_about(self, matrix: Floats, about: ArrayLike | None, verb: str, words: str) -> Shape:
        center = np.zeros(self.dimension) if about is None else as_vector(about, "about", self.dimension)
        words += "" if about is None else f", about={brief(center)}"
        return self._affine(matrix, center - matrix @ center, f".{verb}({words})")

    def __or__(self, other: Shape) -> Shape:
        return _combine(_Union, self, other)

    def __and__(self, other: Shape) -> Shape:
        return _combine(_Intersection, self, other)

    def __sub__(self, other: Shape) -> Shape:
        return _combine(_Difference, self, other)

    def __invert__(self) -> Shape:
        return Complement(self)


def _hashable(value: object) -> object:
    return (
        (value + 0.0).tobytes() if isinstance(value, np.ndarray) and value.dtype.kind == "f" else repr(value)
    )


MOST_COMPARED = 2048  # parts of a union, each with each
MOST_NESTED = 128  # for the sake of Python's stack


def _one_deeper(*parts: Shape) -> int:
    nesting = 1 + max(part._nesting for part in parts)
    if nesting > MOST_NESTED:
        raise ValueError(
            f"shape: nested more than {MOST_NESTED} deep; a - (b - (c - ...)) nests, a - b - c and a | b | c do not"
        )
    return nesting


# --- combinations ------------------------------------------------------------------------------------------


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
            _only_collides=shape._only_collides, _nesting=_one_deeper(shape),
        )  # fmt: skip
        if (report := shape.__dict__.get("report")) is not None:  # of a mesh, with the volume that it has now
            volume = report.signed_volume * float(np.linalg.det(matrix))
            self._set(report=replace(report, signed_volume=volume))

    def __repr__(self) -> str:
        return f"{self.shape!r}{self._steps}"

    def _contains(self, x: Floats) -> Bools:
        return self.shape._contains((x - self.shift) @ self._inverse.T)

    def _support(self, directions: Floats) -> Floats:
        return self.shape._support(directions @ self.matrix) + directions @ self.shift

    def _volume(self) -> float | None:
        inner = self.shape._volume()
        return None if inner is None else inner * abs(float(np.linalg.det(self.matrix)))

    def _fastest(self, after: float) -> float:
        return self.shape._fastest(after) * float(np.linalg.norm(self.matrix, 2))

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        return _Moved(self.shape, matrix @ self.matrix, matrix @ self.shift + shift, self._steps + step)


class _Combined(Shape):
    """Shapes joined by an operator. Chains are kept flat: a union of a thousand balls is one union."""

    _fields = ("parts",)
    _symbol: ClassVar[str]
    _unites: ClassVar[bool] = False
    """Whether a point is inside that is in any of the operands; otherwise it must be in all of them."""
    parts: tuple[Shape, ...]

    def __init__(self, *parts: Shape) -> None:
        self._set(
            parts=parts,
            dimension=parts[0].dimension,
            _exact_bounds=self._unites and all(part._exact_bounds for part in parts),
            _only_collides=any(part._only_collides for part in parts),
            _nesting=_one_deeper(*parts),
        )

    def __repr__(self) -> str:
        words = [f"({p!r})" if isinstance(p, _Combined) else repr(p) for p in self.parts]
        if len(words) > 6:
            words[3:-2] = [f"… {len(words) - 5} more …"]
        return f" {self._symbol} ".join(words)

    def _operands(self) -> tuple[Shape, ...]:
        """What is united or intersected."""
        return self.parts

    def _contains(self, x: Floats) -> Bools:
        first, *others = self._operands()
        inside = first._contains(x).copy()
        for other in others:
            undecided = np.flatnonzero(inside != self._unites)
            inside[undecided] = other._contains(x[undecided])
        return inside

    def _support(self, directions: Floats) -> Floats:
        extreme = np.max if self._unites else np.min
        return np.asarray(extreme([one._support(directions) for one in self._operands()], axis=0))

    def _fastest(self, after: float) -> float:
        return max(part._fastest(after) for part in self.parts)

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        return type(self)(*(part._affine(matrix, shift, step) for part in self.parts))


def _combine(kind: type[_Combined], a: Shape, b: object) -> Shape:
    if not isinstance(b, Shape):
        return NotImplemented  # type: ignore[no-any-return]
    for shape in (a, b):
        if not shape._has_inside:
            raise TypeError(
                f"{type(shape).__name__} is not a solid: it cannot be combined by {kind._symbol!r}"
            )
    if a.dimension != b.dimension:
        raise ValueError(
            f"cannot combine a shape in {a.dimension}-D with one in {b.dimension}-D: {a!r}, {b!r}"
        )
    head = a.parts if type(a) is kind else (a,)
    tail = b.parts if type(b) is kind and kind is not _Difference else (b,)
    return kind(*head, *tail)


def _in_box(shape: Shape, lower: Floats, upper: Floats) -> bool:
    """Whether a shape lies in a box, but for rounding."""
    low, high = shape.bounds
    slack = 1e-9 * (upper - lower)
    return bool(((low >= lower - slack) & (high <= upper + slack)).all())


def _box_inside(shape: Shape, convex: Shape) -> bool:
    """Whether the box around a shape lies in a shape that is known to be convex."""
    low, high = shape.bounds
    if not (convex._is_convex and np.isfinite([low, high]).all()):
        return False
    upper = np.stack(np.unravel_index(np.arange(2**shape.dimension), (2,) * shape.dimension), axis=1) == 1
    return bool(convex._contains(np.where(upper, high, low)).all())


def _sum(volumes: Iterable[float | None]) -> float | None:
    found = list(volumes)
    return None if None in found else math.fsum(one for one in found if one is not None)


def clusters(parts: tuple[Shape, ...]) -> list[tuple[Shape, ...]]:
    """Parts in groups whose boxes do not meet those of other groups."""
    if len(parts) > MOST_COMPARED:
        return [parts]
    low, high = np.stack([part.bounds[0] for part in parts]), np.stack([part.bounds[1] for part in parts])
    meet = np.ones((len(parts), len(parts)), dtype=bool)
    for a in range(low.shape[1]):
        meet &= (low[:, a] < high[:, None, a]) & (low[:, None, a] < high[:, a])
    np.fill_diagonal(meet, True)
    label = np.arange(len(parts))
    while True:
        least = np.where(meet, label, len(parts)).min(axis=1)
        if (least == label).all():
            break
        label = least
    return [tuple(parts[k] for k in np.flatnonzero(label == one)) for one in np.unique(label)]


class _Union(_Combined):
    _symbol = "|"
    _unites = True

    def _volume(self) -> float | None:
        apart = all(len(group) == 1 for group in clusters(self.parts))
        return _sum(part._volume() for part in self.parts) if apart else None


class _Intersection(_Combined):
    _symbol = "&"

    def _volume_within(self, lower: Floats, upper: Floats) -> float | None:
        others = [part for part in self.parts if not part._is_box]
        for box in (part for part in self.parts if part._is_box):
            lower, upper = np.maximum(lower, box.bounds[0]), np.minimum(upper, box.bounds[1])
        if not (lower < upper).all():
            return 0.0
        if not others:
            return float(np.prod(upper - lower))
        return others[0]._volume_within(lower, upper) if len(others) == 1 else None


class _Difference(_Combined):
    """The first part without the others."""

    _symbol = "-"

    def _operands(self) -> tuple[Shape, ...]:
        return (self.parts[0], *(~part for part in self.parts[1:]))

    def _volume(self) -> float | None:
        """Where every hole is as a whole inside or outside, and no two meet."""
        whole = self.parts[0]
        volume = whole._volume()
        low, high = whole.bounds
        holes = [
            hole for hole in self.parts[1:] if (hole.bounds[0] < high).all() and (hole.bounds[1] > low).all()
        ]
        if volume is None or not holes:
            return volume
        inside = all(
            _in_box(hole, low, high) if whole._is_box else _box_inside(hole, whole) for hole in holes
        )
        holed = _Union(*holes)._volume() if inside and len(holes) > 1 else holes[0]._volume()
        return volume - holed if inside and holed is not None else None


class Complement(Shape):
    _fields = ("shape",)
    shape: Shape

    def __init__(self, shape: Shape) -> None:
        self._set(
            shape=shape,
            dimension=shape.dimension,
            _only_collides=shape._only_collides,
            _nesting=_one_deeper(shape),
        )

    def __repr__(self) -> str:
        return f"~({self.shape!r})" if isinstance(self.shape, _Combined) else f"~{self.shape!r}"

    def _contains(self, x: Floats) -> Bools:
        return ~self.shape._contains(x)

    def _support(self, directions: Floats) -> Floats:
        return np.full(len(directions), np.inf)

    def _fastest(self, after: float) -> float:
        return self.shape._fastest(after)

    def _volume_within(self, lower: Floats, upper: Floats) -> float | None:
        inner = self.shape._volume_within(lower, upper)
        return None if inner is None else float(np.prod(upper - lower)) - inner

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        return ~self.shape._affine(matrix, shift, step)

    def __invert__(self) -> Shape:
        return self.shape
