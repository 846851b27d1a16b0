"""The differences of two solvers, by their snapshots."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.io.kept import Places
from mpm.solver.keeping import SOLVERS, Keepable

__all__ = ["Difference", "diff"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """How much of one quantity differs, bit for bit.

    Attributes
    ----------
    count : int
        Numbers that differ; of what has another shape or is no number, 1.
    largest : float
        Largest size of a difference, in the quantity's unit: 0 for zeros of another sign, NaN where it is no number.
    """

    count: int
    largest: float

    def __repr__(self) -> str:
        if math.isnan(self.largest):
            return "of another shape, or not numbers"
        return f"{self.count} differ, by at most {self.largest:.3g}"


@_check.options
def diff(a: Keepable, b: Keepable) -> dict[str, Difference]:
    """Compare the complete state of two simulations, bit for bit.

    Parameters
    ----------
    a, b : Simulation

    Returns
    -------
    dict of str to Difference
        By name, such as ``"particles.x"``, ``"time"``, ``"history"``, ``"scene.gravity"``: only what differs, so it is
        empty, and false, if the simulations are equal. Particles are compared row by row, those of single and
        double precision by value. Threads do not count.
        ``"particles.order"`` is the order in which the core keeps them: round-off depends on it.

    Raises
    ------
    TypeError
        An argument is not a simulation.
    SimulationError
        Values written through views are no valid state, see `Simulation.run`.
    """
    for name, solver in (("a", a), ("b", b)):
        if getattr(type(solver), "_kind", None) not in SOLVERS or solver._kind != a._kind:
            raise _check.wrong_type(name, solver, _expected(a))
    one, other = (solver._format().quantities(solver._snapshot()) for solver in (a, b))
    found: dict[str, Difference] = {}
    for name in dict.fromkeys([*one, *other]):
        difference = _compare(one.get(name), other.get(name))
        if difference:
            found[name] = difference
    return found


def _compare(a: Any, b: Any) -> Difference | None:
    if isinstance(a, Places) and isinstance(b, Places):
        if a.cells.shape != b.cells.shape:
            return Difference(1, math.nan)
        if a.cells.dtype != b.cells.dtype:
            return _sized(np.asarray(a.metres != b.metres), a.metres, b.metres)
        return _sized((a.block != b.block) | _differing(a.cells, b.cells), a.metres, b.metres)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.shape != b.shape or (a.dtype != b.dtype and not a.dtype.kind == b.dtype.kind == "f"):
            return Difference(1, math.nan)
        return _sized(_differing(a, b), a, b)
    if type(a) is not type(b):
        return Difference(1, math.nan)
    if isinstance(a, (int, float)):
        return _compare(np.array([a]), np.array([b]))
    return Difference(1, math.nan) if a != b else None


def _expected(first: object) -> str:
    """What `diff` takes: two simulations by the same method."""
    if getattr(type(first), "_kind", None) in SOLVERS:
        return f"an {_check.qualified(type(first))} as a is"
    return "a simulation"


def _differing(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f" or a.dtype != b.dtype:  # single and double precision are compared by value
        return np.asarray(a != b)
    bits = f"u{a.dtype.itemsize}"
    return np.asarray(np.ascontiguousarray(a).view(bits) != np.ascontiguousarray(b).view(bits))


def _sized(differ: Array, a: Array, b: Array) -> Difference | None:
    count = int(differ.sum())
    if not count:
        return None
    if a.dtype.kind not in "iuf":
        return Difference(count, math.nan)
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = np.abs(a[differ].astype(np.float64) - b[differ].astype(np.float64))
    return Difference(count, float(sizes.max()))
