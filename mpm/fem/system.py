"""A mesh as a system of `mpm.integrators`."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mpm.base._check import FloatArray
from mpm.errors import EscapeError, InstabilityError
from mpm.integrators import System


@contextmanager
def _of_the_system() -> Iterator[None]:
    """Errors of the copy in terms of the system; `mpm.integrators` says at which step and dt."""
    advice = "choose a smaller dt or another method"
    try:
        yield
    except EscapeError:
        raise EscapeError(
            "nodes come out of the domain of the scene, beyond a face by more than the spacing: enlarge it, or "
            + advice
        ) from None
    except InstabilityError:
        raise InstabilityError(
            f"elements are crushed or turned inside out, which is beyond the range of their law: {advice}, or a law "
            "that is finite for inverted elements, such as FixedCorotated"
        ) from None


def system_of(sim: Any) -> System:
    """See `Simulation.system`."""
    other, mass = copy.copy(sim), np.asarray(sim.particles.mass, dtype=np.float64)
    weight = mass[:, None] * sim.scene.gravity

    def force(x: FloatArray, v: FloatArray, t: float) -> FloatArray:
        other.particles.x, other.particles.v = x, v
        with _of_the_system():
            return np.asarray(other.forces() + weight)

    def potential(x: FloatArray, t: float) -> float:
        other.particles.x = x
        with _of_the_system():
            return float(other.totals().elastic - (weight * x).sum())

    return System(force, mass=mass, potential=potential)
