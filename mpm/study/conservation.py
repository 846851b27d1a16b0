"""Conservation in a run: mass, momentum and energy from its history, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mpm.scene.loads import mechanical
from mpm.solver.totals import per_depth

if TYPE_CHECKING:
    from mpm.handles.solver import Solver
    from mpm.solver.totals import Totals

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Drift:
    """The largest departure of a quantity from what it ought to be.

    Attributes
    ----------
    quantity : str
    drift : float
        Largest absolute value over the run, in the quantity's unit.
    scale : float
        What it is compared with: the mass; √(2 M E_kin) at its largest; that times the domain's longest side.
    """

    quantity: str
    unit: str
    drift: float
    scale: float

    @property
    def relative(self) -> float:
        """drift/scale; 0 where nothing moves."""
        return self.drift / self.scale if self.scale else self.drift


def start_of(sim: Solver) -> Totals:
    """The totals with which the history begins."""
    from mpm.solver.totals import Totals

    history = sim.history
    spin = history["angular_momentum"][0]
    return Totals(
        time=float(history["time"][0]),
        mass=float(history["mass"][0]),
        momentum=history["momentum"][0],
        center_of_mass=history["center_of_mass"][0],
        angular_momentum=float(spin) if np.ndim(spin) == 0 else spin,
        kinetic=float(history["kinetic"][0]),
        elastic=float(history["elastic"][0]),
        gravitational=float(history["gravitational"][0]),
    )


def drifts(sim: Solver, start: Totals) -> list[Drift]:
    """Departures over a run whose every step was recorded.

    Parameters
    ----------
    sim : Solver
        With ``history=1``, after the run.
    start : Totals
        ``sim.totals()`` before it; steps until then do not count.

    Returns
    -------
    list of Drift
        Mass; each component of the momentum less the impulses of gravity, body force, walls, colliders and loads; the
        angular momentum about the vertical where none of them can change it.

    Raises
    ------
    ValueError
        The history has not every step since `start`.
    """
    history: Mapping[str, FloatArray] = sim.history
    taken = np.count_nonzero(history["dt"])  # not that of the start
    if taken < sim.steps:
        recorded = f"{taken} of {sim.steps} steps are in its history"
        raise ValueError(f"sim: {recorded}: must have been made with history=1")
    late = history["time"] > start.time
    history = {name: values[late] for name, values in history.items()}
    impulse = history["body_impulse"] + history["wall_impulse"]
    if "joint_impulse" in history:
        impulse = impulse + history["joint_impulse"]
    for one in (*sim.scene.colliders, *mechanical(sim.scene.loads)):
        impulse += history[f"impulse:{one.name}"]
    mass, d = history["mass"], sim.dimension
    motion = float(np.sqrt(2 * start.mass * max(history["kinetic"].max(initial=0), start.kinetic)))
    result = [Drift("mass", per_depth("kg", d), _largest(mass - start.mass), start.mass)]
    momentum = history["momentum"] - start.momentum - np.cumsum(impulse, axis=0)
    for axis, name in enumerate("xyz"[:d]):
        quiet = not impulse[:, axis].any()
        label = f"P_{name}" if quiet else f"P_{name} - impulses"
        result.append(Drift(label, per_depth("kg m/s", d), _largest(momentum[:, axis]), motion))
    span = float((sim.scene.upper - sim.scene.lower).max())
    result += [Drift(*row, motion * span) for row in _angular(sim, history, start, impulse)]
    return result


def _angular(
    sim: Solver, history: Mapping[str, FloatArray], start: Totals, impulse: FloatArray
) -> list[tuple[str, str, float]]:
    """Components of the angular momentum that no external force can change."""
    turned = any(history[f"torque:{collider.name}"].any() for collider in sim.scene.colliders)
    if turned or sim.scene.body_force is not None or mechanical(sim.scene.loads):
        return []
    spin = history["angular_momentum"].reshape(len(impulse), -1) - np.atleast_1d(start.angular_momentum)
    pushed = np.abs(impulse).max(axis=0, initial=0) > 0
    names = ("L",) if sim.dimension == 2 else ("L_x", "L_y", "L_z")
    rows = []
    for axis, name in enumerate(names):
        others = [k for k in range(sim.dimension) if sim.dimension == 2 or k != axis]
        # With a periodic axis among them there is no lever, and no angular momentum (NaN).
        if not (pushed[others].any() or np.isnan(spin[:, axis]).any()):
            rows.append((name, per_depth("kg m²/s", sim.dimension), _largest(spin[:, axis])))
    return rows


def _largest(values: FloatArray) -> float:
    return float(np.abs(values).max(initial=0))


def table(rows: list[Drift]) -> str:
    """The drifts as text."""
    lines = [f"{'quantity':<18}{'largest drift':>16} {'unit':<9}{'relative':>10}"]
    lines += [f"{row.quantity:<18}{row.drift:>16.3e} {row.unit:<9}{row.relative:>10.1e}" for row in rows]
    return "\n".join(lines)


def peaks(height: FloatArray, threshold: float) -> list[int]:
    """Indices of the maxima between which a curve falls and rises by more than `threshold`."""
    result: list[int] = []
    best, lowest, falling = 0, 0, False
    for k in range(len(height)):
        if not falling:
            if height[k] > height[best]:
                best = k
            elif height[k] < height[best] - threshold:
                result.append(best)
                lowest, falling = k, True
        elif height[k] < height[lowest]:
            lowest = k
        elif height[k] > height[lowest] + threshold:
            best, falling = k, False
    return result
