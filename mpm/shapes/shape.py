"""The base of all shapes, and shapes that combine and move others."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar, Never, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpm import _check
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
        """Exact volume [m³], in 2-D area [m²], where there is a formula: sampled bodies are compared with it."""
        return None

    _nesting: int = 0
    """How many shapes are in each other: one for each that is made of others."""
    _exact_bounds: bool = True
    """Whether `bounds` is the smallest box, not just one that is large enough."""
    _only_collides: bool = False
    """Whether it changes with time, so that it can be a collider but not a body."""
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


class _Union(_Combined):
    _symbol = "|"
    _unites = True


class _Intersection(_Combined):
    _symbol = "&"


class _Difference(_Combined):
    """The first part without the others."""

    _symbol = "-"

    def _operands(self) -> tuple[Shape, ...]:
        return (self.parts[0], *(~part for part in self.parts[1:]))


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

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        return ~self.shape._affine(matrix, shift, step)

    def __invert__(self) -> Shape:
        return self.shape
