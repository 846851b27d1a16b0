"""Velocity fields of points in the plane, in C, and one with a function in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.integrators.systems import Shape, result

Velocity = Callable[[FloatArray, float], npt.ArrayLike]


class Field(_check.Strict):
    """What all fields are. Points have the shape (2,) or (n, 2)."""

    __slots__ = ()

    _kind = ""

    def _numbers(self) -> tuple[float, float, float]:
        raise NotImplementedError


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Rotation(Field):
    """Rigid rotation in the plane, v = ω (−(y − c_y), x − c_x). Exact paths are circles.

    Parameters
    ----------
    omega : float, default 1
        [rad/s], counter-clockwise.
    center : array_like, shape (2,), default (0, 0)
        [m].

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type, shape or range.
    """

    omega: float = 1.0
    center: tuple[float, float] = (0.0, 0.0)

    _kind = "rotation"

    def __post_init__(self) -> None:
        object.__setattr__(self, "omega", _check.number("omega", self.omega, unit="rad/s"))
        object.__setattr__(self, "center", tuple(_check.array("center", self.center, (2,)).tolist()))

    def _numbers(self) -> tuple[float, float, float]:
        return (self.omega, *self.center)


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Shear(Field):
    """Simple shear in the plane, v = (rate · y, 0). Every method is exact.

    Parameters
    ----------
    rate : float, default 1
        [1/s].

    Raises
    ------
    TypeError, ValueError
        It is not a finite number.
    """

    rate: float = 1.0

    _kind = "shear"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", _check.number("rate", self.rate, unit="1/s"))

    def _numbers(self) -> tuple[float, float, float]:
        return self.rate, 0.0, 0.0


@_check.strict_options
@dataclass(frozen=True, slots=True)
class VortexPair(Field):
    """Two vortices of opposite circulation at (U t, ±distance/2), which carry each other along x: a field that moves.

    Each turns the fluid about it by circulation/2π · r/(r² + core²), the upper one counter-clockwise; so
    U = circulation/2π · distance/(distance² + core²).

    Parameters
    ----------
    circulation : float, default 2π
        [m²/s].
    distance : float, default 1
        > 0 [m].
    core : float, default 0.1
        Radius below which a vortex slows down, > 0 [m].

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type or range.
    """

    circulation: float = 2 * np.pi
    distance: float = 1.0
    core: float = 0.1

    _kind = "vortex-pair"

    def __post_init__(self) -> None:
        object.__setattr__(self, "circulation", _check.number("circulation", self.circulation, unit="m²/s"))
        for name in ("distance", "core"):
            value = _check.number(name, getattr(self, name), low=0, low_open=True, unit="m")
            object.__setattr__(self, name, value)

    @property
    def speed(self) -> float:
        """U [m/s], with which the pair travels."""
        strength = self.circulation / (2 * np.pi)
        return strength * self.distance / (self.distance**2 + self.core**2)

    def _numbers(self) -> tuple[float, float, float]:
        return self.circulation, self.distance, self.core


class AskedField:
    """A function v(x, t) as the core sees it."""

    def __init__(self, velocity: Velocity, shape: Shape) -> None:
        self.velocity = velocity
        self.x, self.v = np.zeros(shape), np.zeros(shape)

    def rate(self, t: float) -> None:
        self.v[...] = result("field(x, t)", self.velocity(self.x.copy(), t), self.v.shape)


def describe(field: object, shape: Shape) -> tuple[Any, ...]:
    """The description for the core of a field at points of this shape."""
    if isinstance(field, Field):
        if shape[-1:] != (2,) or len(shape) > 2:
            raise ValueError(f"x has shape {shape}: must be (2,) or (n, 2) in a {type(field).__name__}")
        return (field._kind, *field._numbers())
    if isinstance(field, type) or not callable(field):
        raise _check.wrong_type("field", field, "a Rotation, Shear, VortexPair or a function v(x, t)")
    asked = AskedField(field, shape)
    return "asked", asked, asked.x, asked.v
