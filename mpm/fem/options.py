"""The options of `mpm.fem.Simulation`, checked."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from mpm.base import _check
from mpm.solver.stepping import MAX_HISTORY, checked_dtype, time_step

INTEGRATORS = ("symplectic-euler", "linearly-implicit-euler")
# Options of implicit steps, with their defaults: set with the other integrator, they raise.
TOLERANCE = _check.Unset(1e-6)
MAX_ITERATIONS = _check.Unset(2000)
LEAST_TOLERANCE = {"float64": 1e-12, "float32": 1e-6}
MOST_ITERATIONS = 1_000_000
REFERENCES = {
    "corotated elements": (
        "Müller, Gross: Interactive virtual materials. Proceedings of Graphics Interface (2004) 239-246"
    ),
    "linear elements": (
        "Zienkiewicz, Taylor, Zhu: The Finite Element Method: Its Basis and Fundamentals, 7th ed. "
        "Butterworth-Heinemann (2013)"
    ),
}
IMPLICIT = "Baraff, Witkin: Large steps in cloth simulation. Proceedings of SIGGRAPH (1998) 43-54"


@dataclass(frozen=True, slots=True)
class Options:
    """Checked options, see `Simulation`."""

    spacing: float
    integrator: str
    tolerance: float
    max_iterations: int
    damping: tuple[float, float]
    dt: float  # 0: automatic
    max_dt: float  # inf: none
    allow_unstable: bool
    dtype: str
    history: int

    def described(self) -> dict[str, Any]:
        """As JSON holds them, without those that the integrator does not use: arguments of `Simulation`."""
        given = asdict(self)
        if self.integrator == INTEGRATORS[0]:
            del given["tolerance"], given["max_iterations"]
        largest = None if self.max_dt == np.inf else self.max_dt
        return {**given, "damping": list(self.damping), "dt": self.dt or "auto", "max_dt": largest}


def checked_damping(value: object) -> tuple[float, float]:
    given = _check.array("damping", value, (2,))
    if (given < 0).any():
        raise ValueError(f"damping = {_check.shown(value)}: must be two numbers >= 0, (a [1/s], b [s])")
    return float(given[0]), float(given[1])


def checked_solver(
    integrator: str, tolerance: object, max_iterations: object, dtype: str
) -> tuple[float, int]:
    """(tolerance, max_iterations)"""
    for name, value, unset in (
        ("tolerance", tolerance, TOLERANCE),
        ("max_iterations", max_iterations, MAX_ITERATIONS),
    ):
        if value is not unset and integrator == INTEGRATORS[0]:
            raise ValueError(
                f"{name} = {_check.shown(value)}: integrator={integrator!r} does not use it, only "
                f"{INTEGRATORS[1]!r}; leave it out"
            )
    return (
        TOLERANCE.value
        if tolerance is TOLERANCE
        else _check.number("tolerance", tolerance, low=LEAST_TOLERANCE[dtype], high=0.1),
        MAX_ITERATIONS.value
        if max_iterations is MAX_ITERATIONS
        else _check.integer("max_iterations", max_iterations, low=1, high=MOST_ITERATIONS),
    )


def options_of(tree: Any) -> Options:
    """The options that a file keeps; as strict as the arguments of `Simulation`."""
    given = dict(tree)
    names = [field.name for field in fields(Options)]
    if sorted(given) != sorted(names):
        raise ValueError(f"the options are {_check.shown(sorted(given))}: must be {', '.join(names)}")
    step, bound, unstable = time_step(given["dt"] or "auto", given["max_dt"], given["allow_unstable"])
    dtype = checked_dtype(given["dtype"])
    return Options(
        spacing=_check.number("spacing", given["spacing"], low=0, low_open=True, unit="m"),
        integrator=_check.choice("integrator", given["integrator"], INTEGRATORS),
        tolerance=_check.number("tolerance", given["tolerance"], low=LEAST_TOLERANCE[dtype], high=0.1),
        max_iterations=_check.integer("max_iterations", given["max_iterations"], low=1, high=MOST_ITERATIONS),
        damping=checked_damping(given["damping"]),
        dt=step,
        max_dt=bound,
        allow_unstable=unstable,
        dtype=dtype,
        history=_check.integer("history", given["history"], low=0, high=MAX_HISTORY),
    )
