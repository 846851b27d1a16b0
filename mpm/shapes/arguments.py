"""Checks of the arguments of shapes, and their form in messages."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpm.base import _check

Floats = NDArray[np.float64]
T = TypeVar("T", bound=type)


def called_as(plane: str, space: str = "") -> Callable[[T], T]:
    """Class decorator: errors of the constructor end with a right call, in the plane and in space; those of unknown and
    of missing arguments, too."""
    call = f"; for example {plane}" + (f", in 3-D {space}" if space else "")

    def decorated(cls: T) -> T:
        init = _check.options(cls.__init__)  # type: ignore[misc]

        @functools.wraps(init)
        def checked(self: Any, *args: Any, **options: Any) -> None:
            try:
                init(self, *args, **options)
            except (TypeError, ValueError) as error:
                if type(error) not in (
                    TypeError,
                    ValueError,
                ):  # what else a text can become does not fit them
                    raise
                raise type(error)(f"{error}{call}") from None

        cls.__init__ = checked  # type: ignore[misc]
        return cls

    return decorated


def as_array(value: ArrayLike, name: str, shape: str) -> Floats:
    _check.refuse_masked(name, value)
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name}: expected numbers of shape {shape}, got {_check.shown(value)}") from None
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name}: expected numbers of shape {shape}, got {_check.shown(value)}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers, got {brief(array)}")
    with np.errstate(over="ignore"):
        result = array.astype(np.float64)
    if not np.isfinite(result).all():
        raise ValueError(f"{name}: expected numbers below 1e308, got {brief(array)}")
    return result


def as_vector(value: ArrayLike, name: str, dimension: int | None = None, like: str = "") -> Floats:
    """Coordinates; `like` is the argument that has given the dimension."""
    wanted = f"({dimension},)" if dimension else "(2,) or (3,)"
    array = as_array(value, name, wanted)
    if array.ndim != 1 or len(array) not in ((dimension,) if dimension else (2, 3)):
        got = "one number" if array.ndim == 0 else f"{array.shape}"
        as_other = f" like {like}" if like else ""
        raise ValueError(f"{name}: expected the shape {wanted}{as_other}, got {got}: {brief(array)}")
    return array


def as_rows(value: ArrayLike, name: str, columns: tuple[int, ...]) -> Floats:
    wanted = " or ".join(f"(n, {d})" for d in columns)
    array = as_array(value, name, wanted)
    if array.ndim != 2 or array.shape[1] not in columns:
        raise ValueError(f"{name}: expected the shape {wanted}, got {array.shape}")
    return array


def as_number(value: float, name: str, *, positive: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name}: expected a number, got {_check.shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{name}: expected a number below 1e308, got {_check.shown(value)}") from None
    if not np.isfinite(number) or (positive and number <= 0):
        raise ValueError(f"{name}: expected a finite number{' above 0' if positive else ''}, got {number:g}")
    return number


def as_factors(value: float | ArrayLike, name: str, dimension: int) -> Floats:
    """A positive factor, or one for each axis."""
    array = as_array(value, name, f"() or ({dimension},)")
    if array.shape not in ((), (dimension,)) or not (array > 0).all():
        raise ValueError(f"{name}: expected a factor above 0, or {dimension} of them, got {brief(array)}")
    return np.broadcast_to(array, dimension).copy()


def brief(value: object) -> str:
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return f"{value.item():.10g}"
        if value.size > 12:
            return f"<array of shape {value.shape}>"
        return "(" + ", ".join(brief(item) for item in value) + (",)" if len(value) == 1 else ")")
    if isinstance(value, (float, np.floating, int, np.integer)):
        return f"{value:.10g}"
    return repr(value)
