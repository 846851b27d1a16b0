"""Parameters of materials that vary over the particles or elements of a body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray

__all__ = ["Varying", "is_varying"]


class Varying(_check.Strict):
    """A parameter with a value for each particle (element) of a body: an array, or a function of the position.

    Materials make it of an array or a function that is given for a number; equal ones compare and hash equal.

    Attributes
    ----------
    given : ndarray of shape (n,) or callable
        The values, read-only, or the function f(x) of positions (m, d) that returns (m,) values.
    """

    __slots__ = ("given",)

    given: FloatArray | Callable[[FloatArray], npt.ArrayLike]

    def __init__(self, given: Any) -> None:
        object.__setattr__(self, "given", given)

    @classmethod
    def of(cls, name: str, given: Any, limits: Mapping[str, Any]) -> Varying:
        """Check what a material was given for a parameter; `limits` are those of `_check.number`."""
        if isinstance(given, Varying):
            return given
        if callable(given):
            try:
                hash(given)  # materials are keys
            except TypeError:
                raise TypeError(f"{name} = {_check.shown(given)}: a function must be hashable") from None
            return cls(given)
        values = _check.array(name, given, (None,))
        if not len(values):
            raise ValueError(f"{name} is empty: must have a value for each particle")
        refuse_out_of_range(name, values, limits)
        return cls(_check.frozen(values.copy()))

    def at(
        self,
        name: str,
        x: FloatArray,
        body: str,
        limits: Mapping[str, Any],
        dtype: str,
        row: str = "particle",
    ) -> FloatArray:
        """The values (n,) of particles, or what else a `row` is, at x (n, d), in the numbers of `dtype` but in float64.

        Raises
        ------
        TypeError, ValueError
            They are not as many as the particles of the body, or one is not finite or out of range.
        """
        title, given = name, self.given
        if callable(given):
            title = f"{name}(x)"
            given = _check.array(title, called(title, given, x, f" of {body!r}"), (len(x),))
        elif len(given) != len(x):
            raise ValueError(
                f"{name} has {len(given)} values: must have one for each of the {len(x)} {row}s of {body!r}, or be "
                "a function of x"
            )
        refuse_out_of_range(f"{title} of {body!r}", given, limits, row)
        with np.errstate(over="ignore", under="ignore"):
            values = given.astype(dtype).astype(np.float64)
        refuse_out_of_range(f"{title} of {body!r} in {dtype}", values, limits, row)
        return values

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.given,)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Varying):
            return NotImplemented
        if callable(self.given) or callable(other.given):
            return bool(callable(self.given) and callable(other.given) and self.given == other.given)
        return self.given.tobytes() == other.given.tobytes()

    def __hash__(self) -> int:
        return hash(self.given if callable(self.given) else self.given.tobytes())

    def __repr__(self) -> str:
        given = self.given
        if callable(given):
            name = getattr(given, "__qualname__", getattr(given, "name", type(given).__qualname__))
            return f"<{name}(x)>"
        return f"<{len(given)} values from {given.min():g} to {given.max():g}>"


def _again(given: Any) -> Varying:
    """One that was copied or pickled: neither keeps an array read-only."""
    return Varying(given if callable(given) else _check.frozen(np.array(given)))


def is_varying(value: object) -> bool:
    """Whether it stands for a value per particle, not for a number."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Varying) or callable(value)


def called(title: str, function: Callable[[FloatArray], npt.ArrayLike], x: FloatArray, where: str) -> Any:
    """What a user's function returns for positions (m, d); an error within it is a ValueError that names it."""
    try:
        return function(x.copy())
    except Exception as error:
        raise ValueError(
            f"{title}{where} raised {type(error).__name__}: {error}; it gets positions of shape {x.shape} and must "
            f"return {len(x)} values"
        ) from error


def refuse_out_of_range(
    name: str, values: FloatArray, limits: Mapping[str, Any], row: str = "particle"
) -> None:
    """Raise ValueError if one of the values (n,) is outside the limits of `_check.number`; it names the particle."""
    low, high = limits["low"], limits["high"]
    within = (values > low if limits["low_open"] else values >= low) & (
        values < high if limits["high_open"] else values <= high
    )
    for particle in np.flatnonzero(~(within & np.isfinite(values)))[:1]:
        allowed = _check.interval(low, limits["low_open"], high, limits["high_open"])
        unit = f" [{limits['unit']}]" if limits["unit"] else ""
        raise ValueError(f"{name}, {row} {particle}: {float(values[particle])!r} must be {allowed}{unit}")
