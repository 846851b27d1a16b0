"""The registry of methods, and runs with them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check, advice
from mpm.base._check import FloatArray
from mpm.integrators import fields
from mpm.integrators.fields import Field, Velocity
from mpm.integrators.systems import MassSpring, Model, Oscillator, Shape, System, TwoBody, state

MOST_STEPS = 2**62


@dataclass(frozen=True, slots=True)
class Method:
    """A row of the registry of methods.

    Attributes
    ----------
    name : str
    formula : str
        h: the step; a(x, v, t): force over mass; x*: the position one step earlier; a prime: after the step.
    order : int
        Of x and v over a time.
    limit : float
        The largest z = ω dt with which an undamped oscillator stays bounded; 0: none, inf: any.
    symplectic : bool
        Whether it keeps areas of phase space for every potential.
    implicit : bool
        Whether it solves for the new state.
    advects : bool
        Whether `advect` takes it.
    reference : str
    """

    name: str
    formula: str
    order: int
    limit: float
    symplectic: bool
    implicit: bool
    advects: bool
    reference: str


class Trajectory(NamedTuple):
    """What `integrate` returns: one row per record, the start first."""

    times: FloatArray
    """(r,) [s]."""
    x: FloatArray
    """(r, ...) positions [m]."""
    v: FloatArray
    """(r, ...) velocities [m/s]."""
    energy: FloatArray
    """(r,) kinetic and potential energy [J]."""


class Path(NamedTuple):
    """What `advect` returns: one row per record, the start first."""

    times: FloatArray
    """(r,) [s]."""
    x: FloatArray
    """(r, ...) positions [m]."""


@functools.cache
def methods() -> Mapping[str, Method]:
    """The registry of methods by name."""
    return MappingProxyType({row["name"]: Method(**row) for row in _core.steppers()})


@_check.options
def integrate(
    system: Oscillator | TwoBody | MassSpring | System,
    x: npt.ArrayLike,
    v: npt.ArrayLike,
    *,
    method: str,
    dt: float | npt.ArrayLike,
    steps: int,
    every: int = 1,
) -> Trajectory:
    """Advance a system M dv/dt = f(x, v, t), dx/dt = v from the time 0.

    Parameters
    ----------
    system : Oscillator, TwoBody, MassSpring or System
    x, v : array_like
        Start: positions [m] and velocities [m/s] of one shape, which the system states.
    method : str
        A name of `methods`.
    dt : float or array_like, shape (steps,)
        Of all steps or of each, > 0 [s]. Verlet's method takes changing steps by the factor dt'/dt, which a constant
        step hides.
    steps : int
        >= 0.
    every : int, default 1
        Steps between two records, >= 1. The last record is that of step ``steps // every * every``.

    Returns
    -------
    Trajectory
        times, x, v, energy, in rows of one record each.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type, shape or range.
    InstabilityError
        Numbers are no longer finite.
    ConvergenceError
        An implicit step did not converge: the residual of Newton's method has not fallen to 1e-13 of the first one, nor
        to the level of rounding. The derivatives of the force must be symmetric. See `MassSpring`.

    Notes
    -----
    The formulas are in the registry, ``methods()[name].formula``. Verlet's velocity at a record is the implied one,
    (x_{n+1} − x_{n−1})/2dt; forces that depend on the velocity see its prediction. Ctrl-C ends a run.
    """
    if not isinstance(system, Model):
        raise _check.wrong_type("system", system, "an Oscillator, TwoBody, MassSpring or System")
    start, velocity = state("x", x), state("v", v)
    description = system._describe(start.shape)
    if velocity.shape != start.shape:
        raise ValueError(f"v has shape {velocity.shape}: must be {start.shape}, as x has")
    name = _check.choice("method", method, tuple(methods()), advice.INTEGRATORS)
    count, stride, step, times = _records(dt, steps, every)
    positions, velocities = (_rows(first, len(times), count) for first in (start, velocity))
    energy = np.empty(len(times))
    _core.integrate(description, name, times, positions, velocities, energy, step, count, stride)
    return Trajectory(times, positions, velocities, energy)


@_check.options
def advect(
    field: Field | Velocity,
    x: npt.ArrayLike,
    *,
    method: str,
    dt: float | npt.ArrayLike,
    steps: int,
    every: int = 1,
) -> Path:
    """Move points with a velocity field, dx/dt = v(x, t), from the time 0.

    Parameters
    ----------
    field : Rotation, Shear, VortexPair or callable
        A function field(x, t) -> array_like [m/s] of the shape of x is called once per stage, which takes some µs; the
        others are in C.
    x : array_like
        Start [m]; for the fields in C of shape (2,) or (n, 2).
    method : {"explicit-euler", "trapezoidal", "midpoint"}
        The trapezoidal rule evaluates its second stage at t + dt, the midpoint method at t + dt/2.
    dt, steps, every
        As in `integrate`.

    Returns
    -------
    Path
        times and x, in rows of one record each.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type, shape or range.
    InstabilityError
        Numbers are no longer finite.
    """
    start = state("x", x)
    description = fields.describe(field, start.shape)
    advecting = tuple(row.name for row in methods().values() if row.advects)
    name = _check.choice("method", method, advecting, advice.INTEGRATORS)
    count, stride, step, times = _records(dt, steps, every)
    positions = _rows(start, len(times), count)
    _core.advect(description, name, times, positions, step, count, stride)
    return Path(times, positions)


def _records(dt: Any, steps: object, every: object) -> tuple[int, int, FloatArray, FloatArray]:
    """Steps, steps per record, dt as an array, and room for the times."""
    count = _check.integer("steps", steps, low=0, high=MOST_STEPS)
    stride = _check.integer("every", every, low=1, high=MOST_STEPS)
    return count, stride, _step(dt, count), _empty((count // stride + 1,), count)


def _step(dt: Any, steps: int) -> FloatArray:
    """The steps (1,) or (steps,)."""
    if not isinstance(dt, (list, tuple, np.ndarray)) or (isinstance(dt, np.ndarray) and not dt.ndim):
        return np.array([_check.number("dt", dt, low=0, low_open=True, unit="s")])
    each = _check.array("dt", dt, (steps,))
    for k in np.flatnonzero(~(each > 0))[:1]:
        raise ValueError(f"dt[{k}] = {each[k]:g}: must be > 0 [s]")
    return each


def _rows(first: FloatArray, records: int, steps: int) -> FloatArray:
    """An array of records whose first row is set."""
    rows = _empty((records, *first.shape), steps)
    rows[0] = first
    return rows


def _empty(shape: Shape, steps: int) -> FloatArray:
    try:
        return np.empty(shape)
    except (MemoryError, ValueError):
        raise ValueError(
            f"steps = {steps}: {shape[0]} records do not fit the memory; must be fewer, or every= larger"
        ) from None
