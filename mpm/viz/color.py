"""Colours of a quantity: values, colour scale, name and unit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check, fieldtable
from mpm.solver import derived
from mpm.solver.source import Source
from mpm.solver.state import State
from mpm.solver.totals import per_depth

# From dark to light, so that it also reads in print: indigo, blue, teal, green, yellow.
STOPS = ("1d2461", "264f9c", "1f86ad", "2fb295", "8bd065", "f3e24a")
FROM_ZERO = ("speed", "von_mises", "kinetic_energy", "elastic_energy", "heat", "displacement")
TENSORS = ("stress", *(name for name, row in fieldtable.KNOWN.items() if row["rank"] != "scalar"))
SCALARS = {*derived.NAMES, *(n for n, row in fieldtable.KNOWN.items() if row["rank"] == "scalar")} - {
    "stress"
}
NUMBERS = ("material", "id")  # labels, not quantities
# Of the ends of a scale, and how close they may be: single precision holds 255 / width.
LARGEST, CLOSEST = 1e37, 1e-30
# A few detached particles must not stretch the scale: it omits values beyond the 1st and the 99.5th percentile by more
# than half the width between them.
TAILS, APART = (1.0, 99.5), 0.5
RESTING = (
    1e-6  # of the speed of free fall over half the domain: slower particles are at rest, but for rounding
)


def _table() -> npt.NDArray[np.uint8]:
    stops = np.array([[int(stop[k : k + 2], 16) for k in (0, 2, 4)] for stop in STOPS], dtype=float)
    at = np.linspace(0, len(stops) - 1, 256)
    return np.stack([np.interp(at, np.arange(len(stops)), stops[:, k]) for k in range(3)], 1).astype(np.uint8)


TABLE = _table()


def scalars(source: Source) -> tuple[str, ...]:
    """Names of what has one value per particle, or a vector, of which `values` are the magnitudes: quantities, then
    fields."""
    known, particles = source.quantities, source.particles
    fields = (name for name in particles.fields if name not in (*known, *TENSORS))
    flat = (n for n in fields if n in SCALARS or particles[n].shape[1:] in ((), (source.dimension,)))
    return (*(name for name in known if name not in TENSORS), *flat)


def check(source: Source, color: object, argument: str = "color") -> str:
    """The name of a quantity that `values` can draw."""
    why = ""
    if isinstance(color, str) and color in TENSORS:
        of = {"v": "'speed' is its magnitude"}.get(color, "")
        if not of and hasattr(source.particles, "add_field"):  # a recording has only its own
            of = "put one of them into a field of yours, see particles.add_field"
        why = f"; {color!r} has several components" + (f": {of}" if of else "")
    elif isinstance(color, str):
        why = source._missing(color)
    return _check.choice(argument, color, scalars(source), why=why)


def values(state: State, color: str) -> npt.NDArray[Any]:
    """What the colours mean, (n,): the values of a quantity, the magnitudes of a vector."""
    found = state.fields[color]
    return found if found.ndim == 1 else np.asarray(np.linalg.norm(found, axis=1))


def label(source: Source, color: str) -> str:
    """What stands beside the colour bar."""
    name, unit = derived.NAMES.get(color) or (color, source._units.get(color, ""))
    if color in derived.NAMES or color in fieldtable.KNOWN:  # a field of a user keeps its unit
        unit = per_depth(unit, source.dimension)
    return f"{name} [{unit}]" if unit not in ("", "1") else name


def legend(source: Source, color: str) -> tuple[str, ...]:
    """What the numbers of a label mean, from 0 on: the materials; nothing of others."""
    return tuple(f"{k} {kind}" for k, kind in enumerate(source._kinds())) if color == "material" else ()


def check_limits(limits: object) -> tuple[float, float] | None:
    """Ends of the colour scale, low < high."""
    if limits is None:
        return None
    low, high = _check.array("limits", limits, (2,)).tolist()
    if not low < high:
        raise ValueError(f"limits = ({low:g}, {high:g}): the first must be < the second")
    if max(abs(low), abs(high)) > LARGEST or high - low < CLOSEST:
        raise ValueError(
            f"limits = ({low:g}, {high:g}): must be >= {-LARGEST:g} and <= {LARGEST:g}, and {CLOSEST:g} or more apart"
        )
    return low, high


def noise(source: Source, color: str) -> float:
    """Values of a quantity that are no larger than this are rounding, and show nothing."""
    if color not in ("speed", "kinetic_energy"):
        return 0.0
    scene = source.scene
    speed = RESTING * math.sqrt(float(np.linalg.norm(scene.gravity) * (scene.upper - scene.lower).max()))
    if color == "speed":
        return speed
    mass = np.asarray(source.particles["mass"])
    return 0.5 * float(np.median(mass)) * speed**2 if len(mass) else 0.0


def idle(shown: npt.NDArray[Any], least: float) -> bool:
    """Whether all values are zero, or `noise`: their scale is arbitrary."""
    return not bool((np.abs(shown[np.isfinite(shown)]) > least).any())


def span(color: str, shown: npt.NDArray[Any], least: float = 0.0) -> tuple[float, float]:
    """The colour scale of values, but for a few far off: from 0 where a quantity has no sign; never empty. If no value
    is larger than `least`, the scale is that of zeros."""
    finite = shown[np.isfinite(shown)]
    if not len(finite):
        return 0.0, 1.0
    if least and idle(finite, least):
        finite = np.zeros(1)
    low, high = float(finite.min()), float(finite.max())
    if color not in NUMBERS:
        first = float(np.percentile(finite, TAILS[0], method="higher"))
        last = float(np.percentile(finite, TAILS[1], method="lower"))  # never the farthest value
        far = APART * (last - first)
        low = first if 0 < far < first - low else low
        high = last if 0 < far < high - last else high
    low = 0.0 if color in FROM_ZERO else low
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        middle = (low + high) / 2
        half = abs(middle) / 2 or 0.5
        return (0.0, 1.0) if color in FROM_ZERO else (middle - half, middle + half)
    return low, high


def whole(color: str, limits: tuple[float, float], most: int = 5) -> list[int] | None:
    """What is written beside the colour bar of a label: at most so many whole numbers; None: it is a quantity."""
    if color not in NUMBERS:
        return None
    low, high = math.ceil(limits[0] - 1e-9), math.floor(limits[1] + 1e-9)
    return list(range(low, high + 1, max(1, -(-(high - low) // (most - 1)))))


class Scale:
    """The ends of a colour scale: those given, or ends that grow with the values that are shown, in few steps and
    without ever shrinking, so that colours of different frames compare."""

    def __init__(self, color: str, limits: tuple[float, float] | None = None, least: float = 0.0) -> None:
        self.color, self.limits, self.grows, self._least = color, limits, limits is None, least

    def take(self, shown: npt.NDArray[Any]) -> tuple[float, float]:
        """The ends for values (n,) that are to be shown."""
        if self.grows:
            low, high = span(self.color, shown, self._least)
            if idle(shown, self._least):
                return self.limits or (low, high)
            if self.color in FROM_ZERO:
                high = round_up(high)
            if self.limits is None:
                self.limits = (low, high)
            else:
                self.limits = (min(self.limits[0], low), max(self.limits[1], high))
        assert self.limits is not None
        return self.limits


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
    within = np.clip(shown, low, high).astype(np.float32)  # which doubles beyond its range do not fit in
    scaled = (within - np.float32(low)) * np.float32(255 / (high - low))
    result: npt.NDArray[np.uint8] = np.nan_to_num(np.clip(scaled, 0, 255)).astype(np.uint8)
    return result
