"""Prescribed motion of colliders.

A motion is a pose as a function of time: it displaces the collider, as described, by u(t) and rotates it about its
reference point by R(t). Velocities follow from the poses at the ends of a step, so that a collider's pose is exact for
any time step. If the collider reverses within a step, or rotates by more than half a revolution, the step is too long
if that moves the surface near material by more than a cell. Motions are immutable; times are those of the simulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Never

import numpy as np
import numpy.typing as npt

from mpm.base import _check, advice
from mpm.base._check import FloatArray
from mpm.shapes.geometry import unit

__all__ = ["Keyframes", "Linear", "Motion", "Rotation", "Sinusoid", "Velocities"]

__dir__, __getattr__ = advice.names_of_module(__name__, __all__)


# Up to this limit, squares of the numbers of a motion do not overflow, and neither do poses.
LARGEST = 1e90
MOST_KEYFRAMES = 1_000_000
MOST_ROWS = 8  # of a table in `repr`


def _listed(values: FloatArray) -> str:
    """All values, of a long table the first and the last row."""
    rows: list[object] = values.tolist()
    return repr(rows) if len(rows) <= MOST_ROWS else f"[{rows[0]}, …, {rows[-1]}] ({len(rows)})"


class Motion(_check.Strict):
    """What all motions are; use one of them, such as `Linear`."""

    dimension: int
    """2 or 3."""

    def __init__(self) -> None:
        raise TypeError("Motion is the base of the motions: use one of them, such as Linear")

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(f"{type(self).__name__} is immutable: {name!r} cannot be set")

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, _check.frozen(value) if isinstance(value, np.ndarray) else value)

    def _values(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __getstate__(self) -> dict[str, Any]:
        return self._values()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, others = self._values(), other.__dict__
        return all(np.array_equal(mine[name], others[name]) for name in mine)

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))

    def __repr__(self) -> str:
        shown = {name: value for name, value in self._values().items() if name != "dimension"}
        entries = (
            f"{name}={_listed(value) if isinstance(value, np.ndarray) else repr(value)}"
            for name, value in shown.items()
            if value is not None
        )
        return f"{type(self).__name__}({', '.join(entries)})"

    def _describe(self) -> Prescription:
        """The description for the core."""
        raise NotImplementedError

    def _pose(self, time: float) -> tuple[FloatArray, FloatArray]:
        """u (d,) [m] and the rotation vector (3,) [rad] at a time."""
        raise NotImplementedError

    @property
    def _about(self) -> FloatArray | None:
        """The reference point, if the motion sets it."""
        return self._describe().about

    def _held(self, time: float) -> Prescription:
        """For the core: at rest where it is at a time."""
        u, turn = self._pose(time)
        keys = np.zeros((1, 7))
        keys[0, 1 : 1 + self.dimension] = u
        keys[0, 4:] = turn
        return Prescription("keyframes", keys=keys)

    def _displacements(self) -> tuple[FloatArray, FloatArray]:
        """The least and the largest of each component of u(t), t >= 0 (d,) [m]; may be infinite."""
        raise NotImplementedError

    def _fastest(self, after: float, arms: FloatArray) -> float:
        """A bound of the speed from a time on [m/s] of points at `arms` (m, d) from the reference point."""
        raise NotImplementedError

    @property
    def _turns(self) -> bool:
        return False

    def _sweep(
        self, lower: FloatArray, upper: FloatArray, about: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """A box that contains the points of a box at all times, in the coordinates of the collider as described."""
        least, largest = self._displacements()
        low, high = lower - largest, upper - least
        if not self._turns:
            return low, high
        radius = np.sqrt((np.maximum(np.abs(low - about), np.abs(high - about)) ** 2).sum())
        return about - radius, about + radius


@dataclass(frozen=True, slots=True)
class Prescription:
    """A motion in the terms of the core: see ``csrc/contact/motion.h``."""

    kind: str
    vector: tuple[float, float, float] = (0.0, 0.0, 0.0)
    frequency: float = 0.0
    keys: FloatArray | None = None  # (k, 7)
    about: FloatArray | None = None  # the reference point, if the motion sets it


def _length(vectors: FloatArray) -> float:
    """Of the longest one."""
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.max((np.atleast_2d(vectors) ** 2).sum(axis=1), initial=0.0)))


def _padded(vector: FloatArray) -> tuple[float, float, float]:
    x, y, z = (*vector.tolist(), 0.0)[:3]
    return x, y, z


def _ascending(times: npt.ArrayLike) -> FloatArray:
    """At least one time, each later than the one before, (k,)."""
    t = _array("times", times, (None,))
    if not len(t):
        raise ValueError("times has shape (0,): must hold at least one time")
    for k in np.flatnonzero(~(np.diff(t) > 0))[:1]:
        raise ValueError(f"times[{k + 1}] = {t[k + 1]:g}: must be > times[{k}] = {t[k]:g}")
    return t


def _vectors(name: str, values: npt.ArrayLike, count: int) -> FloatArray:
    """Vectors of the plane or of space, (count, 2) or (count, 3)."""
    found = _array(name, values, (count, None))
    if found.shape[1] not in (2, 3):
        raise ValueError(f"{name} has shape {found.shape}: must be ({count}, 2) or ({count}, 3)")
    return found


def _vector(name: str, value: object) -> FloatArray:
    vector = _array(name, value, (None,))
    if len(vector) not in (2, 3):
        raise ValueError(f"{name} has shape {vector.shape}: must be (2,) or (3,)")
    return vector


def _array(name: str, value: object, shape: tuple[int | None, ...]) -> FloatArray:
    values = _check.array(name, value, shape)
    for place in np.argwhere(np.abs(values) > LARGEST)[:1].tolist():
        raise ValueError(
            f"{name}{place} = {values[tuple(place)]:g}: must be >= {-LARGEST:g} and <= {LARGEST:g}"
        )
    return values


class Linear(Motion):
    """Constant velocity: u = t · velocity.

    Parameters
    ----------
    velocity : array_like, shape (d,)
        [m/s].

    Raises
    ------
    TypeError, ValueError
        `velocity` is not a vector of 2 or 3 components of at most 1e90.
    """

    velocity: FloatArray

    @_check.options
    def __init__(self, velocity: npt.ArrayLike) -> None:
        v = _vector("velocity", velocity)
        self._set(velocity=v, dimension=len(v))

    def _describe(self) -> Prescription:
        return Prescription("linear", _padded(self.velocity))

    def _pose(self, time: float) -> tuple[FloatArray, FloatArray]:
        return time * self.velocity, np.zeros(3)

    def _displacements(self) -> tuple[FloatArray, FloatArray]:
        far = np.where(self.velocity == 0, 0.0, np.copysign(np.inf, self.velocity))
        return np.minimum(far, 0), np.maximum(far, 0)

    def _fastest(self, after: float, arms: FloatArray) -> float:
        return _length(self.velocity)


class Rotation(Motion):
    """Constant angular velocity about a point that stays where it is.

    Parameters
    ----------
    angular_velocity : float
        [rad/s], counter-clockwise, seen against the axis.
    about : array_like, shape (d,), optional
        A point that stays where it is, and the reference point of the collider's torque [m]. Default: the
        collider's reference point, see `Scene.add_collider`.
    axis : array_like, shape (3,), optional
        In 3-D the axis, of any length but zero. Not in 2-D.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type, shape or range.
    """

    angular_velocity: float
    about: FloatArray | None
    axis: FloatArray | None

    @_check.options
    def __init__(
        self,
        angular_velocity: float,
        *,
        about: npt.ArrayLike | None = None,
        axis: npt.ArrayLike | None = None,
    ) -> None:
        rate = _check.number("angular_velocity", angular_velocity, low=-LARGEST, high=LARGEST, unit="rad/s")
        direction = None
        if axis is not None:
            given = _check.array("axis", axis, (3,))
            if not given.any():
                raise ValueError("axis = (0, 0, 0): must not be zero")
            direction = unit(given, "axis")
        d = 2 if direction is None else 3
        point = None
        if about is not None:
            point = _vector("about", about)
            if len(point) != d:
                hint = "; a rotation in 3-D needs axis=" if d == 2 else ""
                raise ValueError(f"about has shape {point.shape}: must be ({d},){hint}")
        self._set(angular_velocity=rate, about=point, axis=direction, dimension=d)

    def _describe(self) -> Prescription:
        return Prescription("rotation", _padded(self._spin), about=self.about)

    @property
    def _spin(self) -> FloatArray:
        axis = np.array([0.0, 0.0, 1.0]) if self.axis is None else self.axis
        return np.asarray(self.angular_velocity * axis)

    def _pose(self, time: float) -> tuple[FloatArray, FloatArray]:
        return np.zeros(self.dimension), time * self._spin

    def _displacements(self) -> tuple[FloatArray, FloatArray]:
        return np.zeros(self.dimension), np.zeros(self.dimension)

    def _fastest(self, after: float, arms: FloatArray) -> float:
        across = np.cross(self._spin, np.pad(arms, ((0, 0), (0, 3 - self.dimension))))
        return _length(across)

    @property
    def _turns(self) -> bool:
        return self.angular_velocity != 0


class Sinusoid(Motion):
    """Harmonic motion: u = amplitude · sin(2π · frequency · t).

    Parameters
    ----------
    amplitude : array_like, shape (d,)
        [m].
    frequency : float
        [Hz], > 0.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type, shape or range.
    """

    amplitude: FloatArray
    frequency: float

    @_check.options
    def __init__(self, amplitude: npt.ArrayLike, frequency: float) -> None:
        vector = _vector("amplitude", amplitude)
        rate = _check.number("frequency", frequency, low=0, low_open=True, high=LARGEST, unit="Hz")
        self._set(amplitude=vector, frequency=rate, dimension=len(vector))

    def _describe(self) -> Prescription:
        return Prescription("sinusoid", _padded(self.amplitude), frequency=self.frequency)

    def _pose(self, time: float) -> tuple[FloatArray, FloatArray]:
        return self.amplitude * np.sin(2 * np.pi * self.frequency * time), np.zeros(3)

    def _displacements(self) -> tuple[FloatArray, FloatArray]:
        return -np.abs(self.amplitude), np.abs(self.amplitude)

    def _fastest(self, after: float, arms: FloatArray) -> float:
        return 2 * np.pi * self.frequency * _length(self.amplitude)


class Keyframes(Motion):
    """Poses at given times, linear in between, held before the first and after the last.

    Parameters
    ----------
    times : array_like, shape (k,)
        Ascending [s].
    positions : array_like, shape (k, d)
        Displacements u from where the collider was described [m].
    angles : array_like, shape (k,) in 2-D, (k, 3) in 3-D, optional
        Rotation about the collider's reference point: the angle [rad], in 3-D the rotation vector, axis times
        angle, each of its components being linear between keyframes. Default: none.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type or shape, or the times do not ascend.
    """

    times: FloatArray
    positions: FloatArray
    angles: FloatArray | None

    @_check.options
    def __init__(
        self, times: npt.ArrayLike, positions: npt.ArrayLike, *, angles: npt.ArrayLike | None = None
    ) -> None:
        t = _ascending(times)
        u = _vectors("positions", positions, len(t))
        d = u.shape[1]
        turn = None if angles is None else _array("angles", angles, (len(t),) if d == 2 else (len(t), 3))
        self._set(times=t, positions=u, angles=turn, dimension=d)

    @classmethod
    def of(cls, f: Callable[[float], Any], *, until: float, interval: float, start: float = 0.0) -> Keyframes:
        """Tabulate a function of time: the run itself calls no Python.

        Parameters
        ----------
        f : callable
            ``f(t)`` returns the displacement u (d,) [m], or the pair of u and the angle [rad], in 3-D the rotation
            vector (3,).
        until, start : float
            The last and the first time [s].
        interval : float
            Time between keyframes [s], at most; the motion is linear in between, so that its error is about
            interval² |u''| / 8.

        Returns
        -------
        Keyframes

        Raises
        ------
        TypeError, ValueError
            An argument is of the wrong type or range, or f(t) has the wrong shape; more than a million keyframes.

        Examples
        --------
        >>> shake = mpm.motion.Keyframes.of(lambda t: (0.1 * t**2, 0), until=2, interval=0.01)
        """
        if not callable(f):
            raise _check.wrong_type("f", f, "a callable f(t)")
        first = _check.number("start", start, unit="s")
        last = _check.number("until", until, low=first, low_open=True, unit="s")
        step = _check.number("interval", interval, low=0, low_open=True, unit="s")
        count = np.ceil((last - first) / step * (1 - 1e-12))
        if not count <= MOST_KEYFRAMES:
            raise ValueError(
                f"interval = {step:g} s: makes more than {MOST_KEYFRAMES} keyframes until {last:g} s"
            )
        times = np.linspace(first, last, 1 + int(max(count, 1)))
        found = [f(float(t)) for t in times]
        if isinstance(found[0], tuple) and len(found[0]) == 2 and np.ndim(found[0][0]) == 1:
            u = np.array([_vector("f(t)[0]", u) for u, _ in found])
            return cls(times, u, angles=np.array([turn for _, turn in found]))
        return cls(times, np.array([_vector("f(t)", u) for u in found]))

    def _describe(self) -> Prescription:
        keys = np.zeros((len(self.times), 7))
        keys[:, 0] = self.times
        keys[:, 1 : 1 + self.dimension] = self.positions
        if self.angles is not None:
            keys[:, 6 if self.dimension == 2 else slice(4, 7)] = self.angles
        return Prescription("keyframes", keys=keys)

    def _pose(self, time: float) -> tuple[FloatArray, FloatArray]:
        keys = self._describe().keys
        assert keys is not None
        now = np.array([np.interp(time, keys[:, 0], column) for column in keys[:, 1:].T])
        return now[: self.dimension], now[3:]

    def _displacements(self) -> tuple[FloatArray, FloatArray]:
        return self.positions.min(axis=0), self.positions.max(axis=0)

    def _fastest(self, after: float, arms: FloatArray) -> float:
        keys = self._describe().keys
        assert keys is not None
        with np.errstate(over="ignore", invalid="ignore"):
            rates = np.abs(np.diff(keys[:, 1:], axis=0) / np.diff(keys[:, :1], axis=0))[
                self.times[1:] > after
            ]
            moves, turns = (np.sqrt((part**2).sum(axis=1)) for part in (rates[:, :3], rates[:, 3:]))
            return float(np.max(moves + turns * _length(arms), initial=0.0))

    @property
    def _turns(self) -> bool:
        return self.angles is not None and bool(self.angles.any())


TABLE = 8  # numbers of a row before the velocity: a time [s], the pose (6,) and the angular velocity there


class _Table:
    """Rows of `Velocities`. A motion that goes on from another one shares its rows, so that many changes of a speed
    cost memory and time for each of them, and not for each pair."""

    __slots__ = ("rows", "used")

    def __init__(self, rows: FloatArray, used: int) -> None:
        self.rows, self.used = rows, used

    def appended(self, count: int, row: FloatArray) -> _Table:
        """A table that begins with `count` rows of this one and goes on with another one: this table, if nothing
        follows there."""
        table = self
        if self.used != count or count == len(self.rows):
            rows = np.empty((max(8, 2 * count), self.rows.shape[1]))
            rows[:count] = self.rows[:count]
            table = _Table(rows, count)
        table.rows[count], table.used = row, count + 1
        return table


class Velocities(Motion):
    """Constant velocities that change at given times; the last one goes on. At rest before the first time.

    Parameters
    ----------
    times : array_like, shape (k,)
        Ascending [s].
    velocities : array_like, shape (k, d)
        From each time on [m/s].
    angular_velocities : array_like, shape (k,), optional
        From each time on [rad/s], as in `Rotation`. Default: none.
    about : array_like, shape (d,), optional
        The reference point of the rotation and of the collider's torque, as described [m]; it moves with the velocity.
        Default: the collider's reference point, see `Scene.add_collider`.
    axis : array_like, shape (3,), optional
        In 3-D the axis of the rotation. Not in 2-D.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type or shape, or the times do not ascend.
    """

    times: FloatArray
    velocities: FloatArray
    angular_velocities: FloatArray | None
    about: FloatArray | None
    axis: FloatArray | None

    @_check.options
    def __init__(
        self,
        times: npt.ArrayLike,
        velocities: npt.ArrayLike,
        *,
        angular_velocities: npt.ArrayLike | None = None,
        about: npt.ArrayLike | None = None,
        axis: npt.ArrayLike | None = None,
    ) -> None:
        t = _ascending(times)
        v = _vectors("velocities", velocities, len(t))
        d = v.shape[1]
        rates = (
            None
            if angular_velocities is None
            else _array("angular_velocities", angular_velocities, (len(t),))
        )
        if rates is None and (about is not None or axis is not None):
            raise ValueError("about and axis need angular_velocities")
        direction = None
        if rates is not None and (axis is None) != (d == 2):
            raise ValueError(
                f"axis = {_check.shown(axis)}: a rotation in 3-D needs one, and one in 2-D has none"
            )
        if axis is not None:
            direction = unit(_array("axis", axis, (3,)), "axis")
        point = None if about is None else _array("about", about, (d,))
        self._set(times=t, velocities=v, angular_velocities=rates, about=point, axis=direction, dimension=d)

    @classmethod
    def _of(cls, motion: Motion | None, dimension: int) -> dict[str, Any] | None:
        """The arguments for a motion at constant speeds; None for another one."""
        if motion is None:
            return {"times": [], "velocities": []}
        if isinstance(motion, Linear):
            return {"times": [0.0], "velocities": [motion.velocity]}
        if isinstance(motion, Rotation):
            turning = {
                "angular_velocities": [motion.angular_velocity],
                "about": motion.about,
                "axis": motion.axis,
            }
            return {"times": [0.0], "velocities": [np.zeros(dimension)], **turning}
        if isinstance(motion, Velocities):
            return {name: value for name, value in motion._values().items() if name != "dimension"}
        return None

    @classmethod
    def _speeds(
        cls, motion: Motion | None, dimension: int, time: float = np.inf
    ) -> tuple[FloatArray, float | None] | None:
        """The velocity from a time [s] on, and the angular velocity if it turns; None of a motion whose speed
        varies otherwise than from time to time."""
        given = cls._of(motion, dimension)
        if given is None:
            return None
        rates = given.get("angular_velocities")
        k = int(np.searchsorted(given["times"], time, side="right")) - 1
        if k < 0:
            return np.zeros(dimension), None if rates is None else 0.0
        return np.asarray(given["velocities"][k]), None if rates is None else float(rates[k])

    @classmethod
    def _goes_on(
        cls,
        motion: Motion | None,
        time: float,
        velocity: FloatArray | None,
        rate: float | None,
        dimension: int,
    ) -> bool:
        """Whether a motion has a velocity or angular velocity from a time [s] on."""
        given, speeds = cls._of(motion, dimension), cls._speeds(motion, dimension, time)
        assert given is not None and speeds is not None
        same = velocity is None or np.array_equal(velocity, speeds[0])
        return bool(
            same and (rate is None or rate == speeds[1]) and not np.any(np.asarray(given["times"]) > time)
        )

    @classmethod
    def _changed(
        cls,
        motion: Motion | None,
        time: float,
        velocity: FloatArray | None,
        rate: float | None,
        dimension: int,
    ) -> Velocities:
        """A motion that gets another velocity or angular velocity at a time [s] and keeps it: changes at this time
        or later are dropped."""
        given, speeds = cls._of(motion, dimension), cls._speeds(motion, dimension, time)
        assert given is not None and speeds is not None
        goes = speeds[0] if velocity is None else velocity
        turns = speeds[1] if rate is None else rate
        if isinstance(motion, Velocities):
            begun = motion
        elif motion is not None:
            begun = cls(**given)
        else:
            begun = cls([time], [goes])  # all of which is dropped
        kept = int(np.searchsorted(begun.times, time, side="left"))
        table, d = begun._rows(), dimension
        row = np.zeros(TABLE + d)
        row[0], row[TABLE:] = time, goes
        row[7] = 0.0 if turns is None else turns
        if kept:
            before = table.rows[kept - 1]
            span = time - before[0]
            row[1 : 1 + d] = before[1 : 1 + d] + span * before[TABLE:]
            row[4:7] = before[4:7] + span * begun._spun(before[7])
        made = object.__new__(cls)
        made._take(table.appended(kept, row), kept + 1, begun.about, begun.axis, turns is not None)
        return made

    def _rows(self) -> _Table:
        """Times, poses there and speeds from there on."""
        if "_table" not in self.__dict__:
            count, d = len(self.times), self.dimension
            rows = np.zeros((count, TABLE + d))
            rows[:, 0], rows[:, TABLE:] = self.times, self.velocities
            rows[:, 7] = 0.0 if self.angular_velocities is None else self.angular_velocities
            gaps = np.diff(self.times)[:, None]
            rows[1:, 1 : 1 + d] = np.cumsum(gaps * self.velocities[:-1], axis=0)
            rows[1:, 4:7] = np.cumsum(gaps * self._spins[:-1], axis=0)
            object.__setattr__(self, "_table", _Table(rows, count))
        table: _Table = self.__dict__["_table"]
        return table

    def _take(
        self, table: _Table, count: int, about: FloatArray | None, axis: FloatArray | None, turns: bool
    ) -> None:
        """Become the first rows of a table."""
        rows = table.rows[:count]
        d = rows.shape[1] - TABLE
        rates = rows[:, 7] if turns else None
        self._set(times=rows[:, 0], velocities=rows[:, TABLE:], angular_velocities=rates)
        self._set(about=about, axis=axis, dimension=d)
        object.__setattr__(self, "_table", table)

    @property
    def _about(self) -> FloatArray | None:
        return self.about

    def _describe(self) -> Prescription:
        count = len(self.times)
        before = self._rows().rows[count - 1]
        time = before[0] + np.maximum(1.0, np.abs(before[0]) * 1e-6)
        keys = np.empty((count + 1, 7))
        keys[:-1], keys[-1, 0] = self._rows().rows[:count, :7], time
        gap = time - before[0]
        keys[-1, 1:4] = before[1:4]
        keys[-1, 1 : 1 + self.dimension] += gap * before[TABLE:]
        keys[-1, 4:] = before[4:7] + gap * self._spun(before[7])
        return Prescription("continued", keys=keys, about=self.about)

    def _spun(self, rate: float) -> FloatArray:
        """The angular velocity (3,) of a rate [rad/s]."""
        axis = np.array([0.0, 0.0, 1.0]) if self.axis is None else self.axis
        return np.asarray(rate * axis)

    @property
    def _spins(self) -> FloatArray:
        """(k, 3)."""
        if self.angular_velocities is None:
            return np.zeros((len(self.times), 3))
        axis = np.array([0.0, 0.0, 1.0]) if self.axis is None else self.axis
        return np.asarray(self.angular_velocities[:, None] * axis)

    def _pose(self, time: float) -> tuple[FloatArray, FloatArray]:
        ends = np.append(self.times[1:], np.inf)
        spans = np.clip(np.minimum(time, ends) - self.times, 0, None)[:, None]
        return (spans * self.velocities).sum(axis=0), (spans * self._spins).sum(axis=0)

    def _displacements(self) -> tuple[FloatArray, FloatArray]:
        keys = self._describe().keys
        assert keys is not None
        u = keys[:, 1 : 1 + self.dimension]
        goes = self.velocities[-1]
        low = np.where(goes < 0, -np.inf, u.min(axis=0))
        return low, np.where(goes > 0, np.inf, u.max(axis=0))

    def _fastest(self, after: float, arms: FloatArray) -> float:
        there = np.append(self.times[1:], np.inf) > after
        moves, turns = (np.sqrt((part[there] ** 2).sum(axis=1)) for part in (self.velocities, self._spins))
        return float(np.max(moves + turns * _length(arms), initial=0.0))

    @property
    def _turns(self) -> bool:
        return self.angular_velocities is not None and bool(self.angular_velocities.any())
