"""From a quantity to colours: values, colour scale, its name and unit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mpm import _check, derived
from mpm.io.replay import Frame, not_recorded
from mpm.particles import NO_PLASTIC, Particles
from mpm.totals import per_depth

if TYPE_CHECKING:
    from mpm.simulation import Simulation

# From dark to light, so that it also reads in print: indigo, blue, teal, green, yellow.
STOPS = ("1d2461", "264f9c", "1f86ad", "2fb295", "8bd065", "f3e24a")
FROM_ZERO = ("speed", "von_mises", "kinetic_energy", "elastic_energy")
SCALARS = {*derived.NAMES, *derived.FIELD_UNITS} - {"stress"}
NUMBERS = ("material", "id")  # which are no measure of anything
# A few particles that were torn off shall not take all the colours: values farther than half the width of the rest
# from the 1st and the 99.5th percentile are left out of the scale.
TAILS, APART = (1.0, 99.5), 0.5


def _table() -> npt.NDArray[np.uint8]:
    stops = np.array([[int(stop[k : k + 2], 16) for k in (0, 2, 4)] for stop in STOPS], dtype=float)
    at = np.linspace(0, len(stops) - 1, 256)
    return np.stack([np.interp(at, np.arange(len(stops)), stops[:, k]) for k in range(3)], 1).astype(np.uint8)


TABLE = _table()


def check(sim: Simulation | Frame, color: object) -> str:
    """The name of a quantity with one value per particle."""
    known = sim.quantities if isinstance(sim, Frame) else derived.NAMES
    fields = [name for name in sim.particles.fields if sim.particles[name].ndim == 1 and name not in known]
    allowed = [*(name for name in known if name != "stress"), *fields]
    if isinstance(sim, Frame):
        return _check.choice("color", color, allowed, why=not_recorded(color, SCALARS))
    return _check.choice("color", color, allowed, why=NO_PLASTIC if color == "Jp" else "")


def field(sim: Simulation | Frame, name: str) -> npt.NDArray[Any]:
    """A copy of a field of the particles; a view of a simulation's would be a possible write, for which the next run
    would look."""
    particles = sim.particles
    return particles._copy(name) if isinstance(particles, Particles) else particles[name]


def values(sim: Simulation | Frame, color: str) -> npt.NDArray[Any]:
    """The quantity, shape (n,), new."""
    return sim.compute(color) if color in derived.NAMES else field(sim, color)


def label(color: str, dimension: int) -> str:
    """What stands beside the colour bar."""
    name, unit = derived.NAMES.get(color, (color, derived.FIELD_UNITS.get(color, "")))
    unit = per_depth(unit, dimension)
    return f"{name} [{unit}]" if unit else name


def check_limits(limits: object) -> tuple[float, float] | None:
    """Ends of the colour scale, low < high."""
    if limits is None:
        return None
    low, high = _check.array("limits", limits, (2,)).tolist()
    if not low < high:
        raise ValueError(f"limits = ({low:g}, {high:g}): the first must be < the second")
    return low, high


def span(color: str, shown: npt.NDArray[Any]) -> tuple[float, float]:
    """The colour scale of values, but for a few far off: from 0 where a quantity has no sign; never empty."""
    finite = shown[np.isfinite(shown)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if color not in NUMBERS:
        first = float(np.percentile(finite, TAILS[0], method="higher"))
        last = float(np.percentile(finite, TAILS[1], method="lower"))  # never the one that is farthest off
        far = APART * (last - first)
        low = first if 0 < far < first - low else low
        high = last if 0 < far < high - last else high
    low = 0.0 if color in FROM_ZERO else low
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        middle = (low + high) / 2
        half = abs(middle) / 2 or 0.5
        return (0.0, 1.0) if color in FROM_ZERO else (middle - half, middle + half)
    return low, high


def beyond(shown: npt.NDArray[Any], limits: tuple[float, float]) -> str:
    """At which ends of the scale there are values beyond it, in the words of Matplotlib's ``extend``."""
    finite = shown[np.isfinite(shown)]
    below, above = bool((finite < limits[0]).any()), bool((finite > limits[1]).any())
    return ("both" if above else "min") if below else ("max" if above else "neither")


def round_up(value: float) -> float:
    """The next 1, 1.5, 2, 3, 5 or 7 times a power of ten: a scale that grows in few steps."""
    if value <= 0:
        return value
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        (step * power for step in (1, 1.5, 2, 3, 5, 7) if value <= step * power * (1 + 1e-12)), 10 * power
    )


def index(shown: npt.NDArray[Any], limits: tuple[float, float]) -> npt.NDArray[np.uint8]:
    """Rows of `TABLE` for values."""
    low, high = limits
    scaled = (shown.astype(np.float32) - np.float32(low)) * np.float32(255 / (high - low))
    result: npt.NDArray[np.uint8] = np.nan_to_num(np.clip(scaled, 0, 255)).astype(np.uint8)
    return result
