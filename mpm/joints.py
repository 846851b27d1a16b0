"""Joints that hold a rigid body to the world.

>>> import mpm
>>> scene = mpm.Scene((0, 0), (1, 1))
>>> wheel = mpm.joints.Hinge((0.5, 0.3), spin=-2.0)
>>> stone = mpm.materials.Rigid(density=1000)
>>> body = scene.add(mpm.shapes.Ball((0.5, 0.3), 0.1), stone, joint=wheel)

A joint takes part of the motion of a body away. It may prescribe part of it, too: a `spin` or a `speed` drives the
body, whatever force that takes. ``sim.rigid(name).forces["joint"]`` is the force of the joint.
``sim.force("joint:NAME")`` is its mean since the record before, ``sim.history["force:joint:NAME"]`` has that of all
records, and ``sim.history["impulse:joint:NAME"]`` and ``["torque:joint:NAME"]`` have the impulse [N s] and the torque
about the centre of mass, summed up over time [N m s]. ``["joint_impulse"]`` and ``["joint_work"]`` are those of all
joints since the entry before.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray

__all__ = ["FixedAxis", "Hinge", "Joint", "Slider", "Socket"]


FASTEST = 1e100  # [m/s], [rad/s]


def __dir__() -> list[str]:
    return __all__


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """Along which directions (k, 3) a joint holds its point, and about which axes (k, 3) it holds the body. The last of
    these rows, an axis if there is one, has the speed [m/s or rad/s]; None: it is held, too."""

    directions: FloatArray
    axes: FloatArray
    point: FloatArray | None = None  # (3,), that of the joint; None: any
    axis: FloatArray | None = None  # (3,), which keeps its direction; None: the body does not turn
    speed: float | None = None

    @property
    def turning(self) -> bool:
        """Is the row with the speed an axis?"""
        return self.speed is not None and self.axis is not None

    def motion(self, v: FloatArray, spin: FloatArray, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The velocity (3,) of the centre of mass and the spin (3,) that the joint allows: v (3,) and the spin without
        what is held. The spin is about the point of the joint, and v is that of this point."""
        v, spin = v - self.directions.T @ (self.directions @ v), spin - self.axes.T @ (self.axes @ spin)
        if self.turning:
            spin = spin + self.speed * self.axes[-1]
        elif self.speed is not None:
            v = v + self.speed * self.directions[-1]
        return v if self.point is None else v + np.cross(spin, centre - self.point), spin

    def numbers(self, reference: FloatArray) -> FloatArray:
        """The numbers of ``mpm_rigid_joint`` in ``csrc/rigid/body.h`` for a body whose rest frame begins here (3,)."""
        along, about = np.zeros((3, 3)), np.zeros((3, 3))
        along[: len(self.directions)], about[: len(self.axes)] = self.directions, self.axes
        at = reference if self.point is None else self.point
        axis = np.zeros(3) if self.axis is None else self.axis
        counts = [
            len(self.directions),
            len(self.axes),
            self.speed is not None,
            self.turning,
            self.axis is None,
        ]
        return np.concatenate(
            [counts, [self.speed or 0], at - reference, at, axis, along.ravel(), about.ravel()]
        )


class Joint(_check.Strict):
    """Base of the joints; use one of its subclasses."""

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("Joint is the base of the joints: use one of them, such as Hinge")

    def __repr__(self) -> str:
        given = ((one.name, getattr(self, one.name)) for one in fields(self))  # type: ignore[arg-type]
        shown = (
            f"{name}={_check.shown(tuple(value.tolist()) if isinstance(value, np.ndarray) else value)}"
            for name, value in given
            if value is not None
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def _rows(self, dimension: int) -> Rows:
        """What the joint holds. Raises ValueError if it does not fit the dimension."""
        raise NotImplementedError


def _vector(name: str, value: npt.ArrayLike) -> FloatArray:
    """A vector of 2 or 3 components, read-only."""
    given = _check.array(name, value, (None,))
    if len(given) not in (2, 3):
        raise ValueError(f"{name} = {_check.shown(value)}: must have 2 or 3 components")
    return _check.frozen(given)


def _unit(name: str, value: npt.ArrayLike) -> FloatArray:
    given = _vector(name, value)
    largest = np.abs(given).max()
    if largest == 0:
        raise ValueError(f"{name} = {_check.shown(value)}: must not be zero")
    if not 1e-150 < largest < 1e150:  # its square may be 0 or infinite
        given = given / largest
    length = float(np.linalg.norm(given))
    return given if abs(length - 1) < 1e-15 else _check.frozen(given / length)


def _rate(name: str, value: object, unit: str) -> float:
    """A velocity whose square is a number."""
    return _check.number(name, value, low=-FASTEST, high=FASTEST, unit=unit)


def _spatial(given: npt.ArrayLike, name: str, dimension: int) -> FloatArray:
    vector = np.asarray(given, dtype=np.float64)
    if len(vector) != dimension:
        raise ValueError(
            f"joint: {name} = {_check.shown(tuple(vector.tolist()))} has {len(vector)} components; "
            f"must have {dimension} like the scene"
        )
    return np.append(vector, np.zeros(3 - dimension))


def _across(axis: FloatArray) -> FloatArray:
    """Two unit vectors (2, 3) across a unit vector (3,)."""
    other = np.eye(3)[int(np.abs(axis).argmin())]
    first = np.cross(axis, other)
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(axis, first)])


NONE = np.zeros((0, 3))
Z = np.array([0.0, 0.0, 1.0])


def _hinge_axes(joint: Hinge | FixedAxis, dimension: int) -> tuple[FloatArray, FloatArray]:
    """The axis of a joint that turns about one, and those about which it does not turn; the last may be driven."""
    if (joint.axis is None) != (dimension == 2):
        wanted = "in 2-D bodies turn in the plane; leave axis out" if dimension == 2 else "3-D needs an axis"
        raise ValueError(f"joint: axis = {_check.shown(joint.axis)}: {wanted}")
    axis = Z if joint.axis is None else _spatial(joint.axis, "axis", 3)
    held = NONE if dimension == 2 else _across(axis)
    return axis, held if joint.spin is None else np.vstack([held, axis])


@_check.strict_options
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hinge(Joint):
    """The body turns about a point, in 3-D about an axis through it.

    The `angular_velocity` of `Scene.add` is that about the hinge, and `velocity` has no effect.

    Parameters
    ----------
    point : array_like, shape (d,)
        A point of the axis [m], inside or outside the body.
    axis : array_like, shape (3,), optional
        In 3-D the axis, of any length but zero. Not in 2-D.
    spin : float, optional
        Angular velocity that drives the body [rad/s], counter-clockwise seen against the axis. Default None: it turns
        freely.
    """

    point: npt.ArrayLike
    axis: npt.ArrayLike | None = None
    spin: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", _vector("point", self.point))
        _take_axis(self)

    def _rows(self, dimension: int) -> Rows:
        axis, axes = _hinge_axes(self, dimension)
        point = _spatial(self.point, "point", dimension)
        return Rows(np.eye(3)[:dimension], axes, point, axis, self.spin)


@_check.strict_options
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Slider(Joint):
    """The body moves along a direction, and does not turn.

    Parameters
    ----------
    direction : array_like, shape (d,)
        Of any length but zero.
    speed : float, optional
        Velocity along it that drives the body [m/s], at most 1e100. Default None: it slides freely.
    """

    direction: npt.ArrayLike
    speed: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "direction", _unit("direction", self.direction))
        if self.speed is not None:
            object.__setattr__(self, "speed", _rate("speed", self.speed, "m/s"))

    def _rows(self, dimension: int) -> Rows:
        along = _spatial(self.direction, "direction", dimension)
        across = np.array([[-along[1], along[0], 0]]) if dimension == 2 else _across(along)
        directions = across if self.speed is None else np.vstack([across, along])
        return Rows(directions, Z[None] if dimension == 2 else np.eye(3), speed=self.speed)


@_check.strict_options
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Socket(Joint):
    """In 3-D: the body turns about a point in all ways, like a ball in a socket.

    Parameters
    ----------
    point : array_like, shape (3,)
        The point [m], inside or outside the body.
    """

    point: npt.ArrayLike

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", _vector("point", self.point))

    def _rows(self, dimension: int) -> Rows:
        if dimension == 2:
            raise ValueError("joint: a Socket is for 3-D; in 2-D it is a Hinge")
        return Rows(np.eye(3), NONE, _spatial(self.point, "point", 3), Z)


@_check.strict_options
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FixedAxis(Joint):
    """The body moves freely, but turns about an axis of constant direction only, in 2-D with a constant spin.

    Parameters
    ----------
    axis : array_like, shape (3,), optional
        In 3-D the axis, of any length but zero. Not in 2-D.
    spin : float, optional
        Angular velocity that drives the body [rad/s]; 0: it does not turn about the axis. Default None: it turns
        freely; in 2-D that is no joint.
    """

    axis: npt.ArrayLike | None = None
    spin: float | None = None

    def __post_init__(self) -> None:
        _take_axis(self)

    def _rows(self, dimension: int) -> Rows:
        axis, axes = _hinge_axes(self, dimension)
        if not len(axes):
            raise ValueError("joint: spin = None: a FixedAxis in 2-D must have a spin, such as 0")
        return Rows(NONE, axes, axis=axis, speed=self.spin)


def _take_axis(joint: Hinge | FixedAxis) -> None:
    if joint.axis is not None:
        axis = _unit("axis", joint.axis)
        if len(axis) != 3:
            raise ValueError(
                f"axis = {_check.shown(joint.axis)}: must have 3 components; in 2-D leave it out"
            )
        object.__setattr__(joint, "axis", axis)
    if joint.spin is not None:
        object.__setattr__(joint, "spin", _rate("spin", joint.spin, "rad/s"))
