"""Measures of the methods on an oscillator: amplification, order, limit, energy, phase."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mpm.base import _check, advice
from mpm.integrators.runs import integrate, methods
from mpm.integrators.systems import Oscillator

# An amplification |R|² above 1 by this is growth, not rounding.
GROWTH = 1e-12
SMALLEST, LARGEST = 1e-2, 1e4  # z at which a method without any limit, and one with every step, are known
HALVED = 1024, 2048  # steps within the time of 2 by which the orders are measured


class OscillatorRun(NamedTuple):
    """What `oscillator` returns."""

    growth: float
    """|R|² of a step: the square of the largest eigenvalue of the map from (ω x, v) to (ω x', v')."""
    energy: tuple[float, float]
    """The lowest and the highest energy of the run, over that of its start."""
    phase: float
    """Phase error per period [rad]: > 0 where the oscillator is ahead."""


class Row(NamedTuple):
    """A method in `table`, measured on an oscillator; z = ω dt."""

    method: str
    order: tuple[float, float]
    """Of x and v at a time, by halving dt."""
    growth: float
    """|R|² at z = 0.5."""
    limit: float
    """The largest z with |R| <= 1; 0: below 0.01 there is none, inf: beyond 10⁴."""
    energy: tuple[float, float]
    """Lowest and highest energy of 100 periods at z = 0.1, over that of the start."""
    phase: float
    """Phase error per period at z = 0.1 [rad]."""
    symplectic: bool
    implicit: bool


class Table(tuple[Row, ...]):
    """The rows of `table`; printed, a table in Markdown."""

    __slots__ = ()

    def __repr__(self) -> str:
        head = (
            "method",
            "order of x, v",
            "R² at z = 0.5",
            "limit z",
            "energy at z = 0.1",
            "phase [rad/period]",
        )
        rows = [head, ("---",) * len(head)]
        for row in self:
            rows.append(
                (
                    row.method,
                    f"{row.order[0]:.2f}, {row.order[1]:.2f}",
                    f"{row.growth:.9g}",
                    "every" if math.isinf(row.limit) else f"{row.limit:.7g}" if row.limit else "none",
                    f"{row.energy[0]:.5g} … {row.energy[1]:.5g}",
                    f"{row.phase:+.2e}",
                )
            )
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)


@_check.options
def oscillator(method: str, z: float, periods: float) -> OscillatorRun:
    """Energy and phase of a method on x'' = −ω² x with ω dt = z, from x = 1, v = 0.

    Parameters
    ----------
    method : str
        A name of `methods`.
    z : float
        ω dt > 0 [rad].
    periods : float
        Duration, > 0, rounded to whole steps, of which there is at least one.

    Returns
    -------
    OscillatorRun
        growth, energy, phase.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type or range.
    InstabilityError
        The numbers are no longer finite.
    """
    name = _check.choice("method", method, tuple(methods()), advice.INTEGRATORS)
    step = _check.number("z", z, low=0, low_open=True, high=1e50, unit="rad")
    duration = _check.number("periods", periods, low=0, low_open=True, high=1e9)
    steps = max(1, round(duration * 2 * math.pi / step))
    run = integrate(Oscillator(), 1.0, 0.0, method=name, dt=step, steps=steps)
    energy = run.energy / run.energy[0]
    turned = np.unwrap(np.arctan2(-run.v, run.x))[-1]
    phase = (turned - steps * step) / (steps * step / (2 * math.pi))
    return OscillatorRun(_growth(name, step), (float(energy.min()), float(energy.max())), float(phase))


@_check.options
def table() -> Table:
    """The lecture's comparison of its methods, measured on an oscillator.

    Returns
    -------
    Table
        A `Row` per method of `methods`, in its order: order, |R|², limit, energy, phase.
    """
    rows = []
    for method in methods().values():
        run = oscillator(method.name, 0.1, 100)
        order, growth, limit = _order(method.name), _growth(method.name, 0.5), _limit(method.name)
        rows.append(
            Row(method.name, order, growth, limit, run.energy, run.phase, method.symplectic, method.implicit)
        )
    return Table(rows)


def _growth(method: str, z: float) -> float:
    """|R|², from the images of (1, 0) and (0, 1)."""
    run = integrate(Oscillator(), (1.0, 0.0), (0.0, 1.0), method=method, dt=z, steps=1)
    (a, b), (c, d) = run.x[1].tolist(), run.v[1].tolist()
    half, det = (a + d) / 2, a * d - b * c
    if half * half < det:
        return float(det)  # a complex pair
    return float((abs(half) + math.sqrt(half * half - det)) ** 2)


def _order(method: str) -> tuple[float, float]:
    """Of x and v. From v = 0, where the oscillator is symmetric in time, v may be of a higher order; so it starts at 1
    rad."""
    errors = []
    for steps in HALVED:
        x, v = math.cos(1), -math.sin(1)
        run = integrate(Oscillator(), x, v, method=method, dt=2 / steps, steps=steps, every=steps)
        errors.append((abs(run.x[-1] - math.cos(3)), abs(run.v[-1] + math.sin(3))))
    (x, v), (finer_x, finer_v) = errors
    return math.log2(x / finer_x), math.log2(v / finer_v)


def _limit(method: str) -> float:
    low, high = SMALLEST, LARGEST
    if _growth(method, low) > 1 + GROWTH:
        return 0.0
    if _growth(method, high) <= 1 + GROWTH:
        return math.inf
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _growth(method, middle) <= 1 + GROWTH else (low, middle)
    return low
