"""The factor of safety of ground: its strength is reduced until it no longer comes to rest."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

from mpm._core import EscapeError
from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.materials.hardening import Strength

if TYPE_CHECKING:
    from mpm.mpm.simulation import Simulation

__all__ = ["Safety", "Trial", "factor_of_safety"]

STRENGTHS = ("cohesion", "yield_stress")  # divided by the factor
ANGLES = ("friction_angle_deg", "dilation_angle_deg")  # the tangent of them
CROSSINGS = 40.0  # of a wave through the bodies, in a trial
ON_AND_ON = 0.1  # of the movement in the first half of a trial: what moves more in the second fails
FAR = 0.03  # of the size of the bodies: who moves farther in a trial has failed, even if it has come to rest again
STILL = 1e-6  # of the size of the bodies: who moves less rests


class Trial(NamedTuple):
    """A trial of `factor_of_safety`."""

    factor: float
    """Full strength over the strength in the trial."""
    first: float
    """The farthest movement in its first half [m]."""
    second: float
    """The farthest movement in its second half [m]."""
    failed: bool
    """Whether the ground failed."""


class Safety(NamedTuple):
    """The result of `factor_of_safety`."""

    factor: float
    """The mean of `stable` and `failing`."""
    stable: float
    """The largest factor at which the ground came to rest."""
    failing: float
    """The smallest factor at which it did not."""
    trials: tuple[Trial, ...]
    simulation: Simulation
    """The failing ground at the end of its trial; its displacement and strain show where it fails."""


def _is_simulation(value: object) -> TypeGuard[Simulation]:
    return not isinstance(value, type) and all(
        hasattr(value, name) for name in ("particles", "set", "materials")
    )


@_check.options
def factor_of_safety(
    build: Callable[[], Simulation] | Simulation,
    *,
    between: tuple[float, float] = (0.5, 3.0),
    tolerance: float = 0.01,
    duration: float | None = None,
) -> Safety:
    """Divide the strength of ground by growing factors, and find the smallest at which it fails.

    A factor divides the cohesion and the yield stress of all materials, and the tangents of the angles of friction and
    dilation. Each trial continues from the trial with the largest stable factor, at a lower strength. The ground fails
    if its movement in the second half of a trial is more than a tenth of that in the first half, or if its movement in
    the first half is more than 3 % of its size (except in the first trial). Bisection of the interval finds the limit.
    Geometry and stresses are the results of the trials before. Movements by consolidation count as well: let ground
    with pore water (`mpm.Pore`) consolidate first, or give it the permeability 0.

    Parameters
    ----------
    build : callable or Simulation
        ``build()`` returns an `mpm.Simulation` with the full strength; or such a simulation, for example a stage of a
        construction, which does not change. `Scene.lithostatic` is a good beginning, and
        ``local_damping=0.7`` soon brings the ground to rest.
    between : (float, float), optional
        The interval of the factor, > 0: the ground must be stable at its beginning and fail at its end.
    tolerance : float, optional
        The failing over the stable factor, − 1, at the end; 1e-4 to 0.5.
    duration : float, optional
        The time of a trial [s], > 0. Default: the time in which a wave crosses all bodies 40 times.

    Returns
    -------
    Safety
        A named tuple with the ``factor``, the largest ``stable`` and the smallest ``failing`` factor, the ``trials``,
        and the ``simulation`` that fails.

    Raises
    ------
    TypeError, ValueError
        An argument has the wrong type or range; no material has a strength that can be reduced; the ground fails at the
        first factor, or is stable at the second; the scene has emitters, or drains that act later; a strength follows a
        table of plastic strain, or the temperature.

    References
    ----------
    D. V. Griffiths, P. A. Lane, Slope stability analysis by finite elements, Géotechnique 49 (1999) 387-403.
    """
    start: Callable[[], Simulation]
    if _is_simulation(build):
        start = partial(copy.copy, build)
    elif callable(build):
        start = build
    else:
        raise _check.wrong_type("build", build, "an mpm.Simulation or a callable that returns one")
    low, high = _check.array("between", between, (2,)).tolist()
    if not 0 < low < high:
        raise ValueError(f"between = ({low:g}, {high:g}): must ascend and be > 0")
    goal = _check.number("tolerance", tolerance, low=1e-4, high=0.5)
    sim = start()
    if not _is_simulation(sim):
        raise _check.wrong_type("what build() returned", sim, "an mpm.Simulation")
    if sim.scene.emitters:
        raise ValueError(
            "build(): has emitters, whose fillings are no movement of the ground; must have none"
        )
    for drain in sim.scene.drains:
        if math.isfinite(turn := drain.next_turn(sim.time)):
            raise ValueError(
                f"build(): drain {drain.name!r} acts at {turn:g} s, within the trials, which would count as failure; "
                "run until after its last turn, or leave it out"
            )
    for material in sim.materials:
        if isinstance(getattr(material, "hardening", None), Strength):
            raise ValueError(
                f"{type(material).__name__} has hardening={_check.shown(material.hardening)}: the factor would not "
                "reduce the strength of its table; must be None, with the peak or the residual strength"
            )
        kind, followed = material._followed
        for name in followed._scaled if followed is not None else ():
            if name in (*STRENGTHS, *ANGLES):
                raise ValueError(
                    f"{type(material).__name__}: {kind}: scale[{name!r}]: the factor would not reduce a strength that "
                    f"follows the {'temperature' if kind == 'thermal' else 'concentration'}; leave it out"
                )
    length = (
        _duration(sim)
        if duration is None
        else _check.number("duration", duration, low=0, low_open=True, unit="s")
    )
    trials: list[Trial] = []

    def tried(begin: Simulation, before: float, factor: float) -> tuple[Simulation, bool]:
        there = copy.copy(begin)
        _reduce(there, factor / before)
        first, second = _movements(there, length)
        size = float(np.ptp(begin.particles.x, axis=0).max())
        failed = second > max(ON_AND_ON * first, STILL * size) or (bool(trials) and first > FAR * size)
        trials.append(Trial(factor, first, second, failed))
        return there, failed

    rest, failed = tried(sim, 1.0, low)
    if failed:
        raise ValueError(
            f"between = ({low:g}, {high:g}): the ground fails at {low:g} already, where it moves "
            f"{trials[-1].second:.3g} m in the second half of the trial; must begin with a factor at which it is stable"
        )
    stable, failing, found = low, high, None
    while failing / stable - 1 > goal:
        factor = high if found is None and len(trials) == 1 else math.sqrt(stable * failing)
        there, failed = tried(rest, stable, factor)
        if failed:
            failing, found = factor, there
        else:
            stable, rest = factor, there
            if factor == high:
                break
    if found is None:
        raise ValueError(
            f"between = ({low:g}, {high:g}): the ground is stable at {high:g}; must end with a factor at which it fails"
        )
    return Safety((stable + failing) / 2, stable, failing, tuple(trials), found)


def _duration(sim: Any) -> float:
    """The time of a trial [s]."""
    speeds = [one.wave_speed for one in sim.materials if not one._row["rigid"] and not one._varies]
    if not speeds:
        raise ValueError("duration = None: the materials have no one speed of waves; must be given")
    return float(CROSSINGS * np.ptp(sim.particles.x, axis=0).max() / min(speeds))


def _movements(sim: Any, duration: float) -> tuple[float, float]:
    """The farthest movements of particles in the two halves of a time [m]."""
    found: list[float] = []
    for _ in range(2):
        before = np.array(sim.particles.x, dtype=np.float64)
        try:
            sim.run(duration / 2)
        except EscapeError:
            return 0.0, math.inf
        moved = np.asarray(sim.particles.x, dtype=np.float64)
        if len(moved) != len(before):
            return 0.0, math.inf
        found.append(float(np.linalg.norm(moved - before, axis=1).max(initial=0)))
    return found[0], found[1]


def _reduce(sim: Any, factor: float) -> None:
    """Divide all strengths by a factor."""
    known = {
        name: value
        for name, value in sim.parameters.items()
        if name.rpartition(".")[2] in (*STRENGTHS, *ANGLES) and not name.startswith("body.")
    }
    fields = [name for name in (*STRENGTHS, *ANGLES) if name in sim.particles.fields]
    if not known and not fields:
        raise ValueError(
            f"build(): no material has one of {', '.join((*STRENGTHS, *ANGLES))} that can change"
        )
    # the angle of dilation is never above that of friction
    for name in sorted(known, key=lambda one: one.rpartition(".")[2] != ANGLES[factor > 1]):
        value = float(known[name])
        sim.set(name, float(_reduced(np.array(value), factor, name.rpartition(".")[2])))
    for name in sorted(fields, key=lambda one: one != ANGLES[factor > 1]):
        field = sim.particles[name]
        field[...] = _reduced(np.array(field, dtype=np.float64), factor, name)


def _reduced(value: FloatArray, factor: float, what: str) -> FloatArray:
    if what in STRENGTHS:
        return value / factor
    return np.asarray(np.degrees(np.arctan(np.tan(np.radians(value)) / factor)))
