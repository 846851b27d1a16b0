"""A mesh as a system of `mpm.integrators`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from mpm._check import FloatArray
from mpm.integrators import System


def system_of(sim: Any) -> System:
    """See `Simulation.system`."""
    other, mass = copy.copy(sim), np.asarray(sim.particles.mass, dtype=np.float64)
    weight = mass[:, None] * sim.scene.gravity

    def force(x: FloatArray, v: FloatArray, t: float) -> FloatArray:
        other.particles.x, other.particles.v = x, v
        return np.asarray(other.forces() + weight)

    def potential(x: FloatArray, t: float) -> float:
        other.particles.x = x
        return float(other.totals().elastic - (weight * x).sum())

    return System(force, mass=mass, potential=potential)
