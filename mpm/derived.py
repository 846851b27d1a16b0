"""Quantities computed from the particles: what can be asked of `Simulation.compute` and used as a colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from mpm._check import FloatArray
from mpm.materials import Material

# name: (what a colour bar says, unit)
NAMES = {
    "speed": ("speed", "m/s"),
    "pressure": ("pressure", "Pa"),
    "von_mises": ("von Mises stress", "Pa"),
    "stress": ("Cauchy stress", "Pa"),
    "kinetic_energy": ("kinetic energy", "J"),
    "elastic_energy": ("elastic energy", "J"),
    "density": ("density", "kg/m³"),
}
FIELD_UNITS = {"J": "", "Jp": "", "mass": "kg", "volume": "m³", "material": "", "id": ""}


# What fields alone tell; the others need the laws.
_FROM_FIELDS = {"speed": {"v"}, "kinetic_energy": {"v", "mass"}}


class Fields(Protocol):
    """Particles, live or recorded."""

    @property
    def fields(self) -> tuple[str, ...]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> npt.NDArray[Any]: ...


class Cauchy(NamedTuple):
    stress: FloatArray  # (n, d, d) [Pa]
    zz: FloatArray  # (n,) out of plane, in plane strain [Pa]; zeros in 3-D
    energy: FloatArray  # (n,) per rest volume [J/m^3]


def plastic_state(particles: Fields) -> FloatArray:
    """Jp (n,) in float64; 1 where no material is plastic."""
    if "Jp" in particles.fields:
        return np.array(particles["Jp"], dtype=np.float64)
    return np.ones(len(particles))


def volume_ratio(particles: Fields) -> FloatArray:
    """Present over rest volume (n,): elastic times plastic part."""
    return np.array(particles["J"], dtype=np.float64) * plastic_state(particles)


def cauchy(particles: Fields, materials: Sequence[Material]) -> Cauchy:
    """The laws' stress at the particles, in float64, without the viscous part (no function of the state)."""
    F = np.array(particles["F"], dtype=np.float64)
    J, plastic = volume_ratio(particles), plastic_state(particles)
    index = particles["material"]
    n, d = F.shape[:2]
    result = Cauchy(np.zeros((n, d, d)), np.zeros(n), np.zeros(n))
    for k, material in enumerate(materials):
        rows = np.flatnonzero(index == k)
        if not len(rows):
            continue
        response = material._respond(F[rows], plastic[rows])
        result.stress[rows] = response.tau / J[rows, None, None]
        result.zz[rows] = response.tau_zz / J[rows]
        result.energy[rows] = response.energy
    return result


def computable(fields: Sequence[str]) -> tuple[str, ...]:
    """Those of `NAMES` that are among the fields or follow from them alone."""
    return tuple(n for n in NAMES if n in fields or _FROM_FIELDS.get(n, {None}) <= set(fields))


def compute(name: str, particles: Fields, materials: Sequence[Material]) -> FloatArray:
    """The quantity of that name, one of `NAMES`, as a new float64 array (n, …)."""
    if name in ("speed", "kinetic_energy"):
        v = np.asarray(particles["v"], dtype=np.float64)
        square: FloatArray = v[:, 0] ** 2
        for k in range(1, v.shape[1]):
            square += v[:, k] ** 2
        return np.sqrt(square) if name == "speed" else 0.5 * particles["mass"] * square
    if name == "density":
        return np.asarray(particles["mass"] / (particles["volume"] * volume_ratio(particles)))
    state = cauchy(particles, materials)
    if name == "elastic_energy":
        return np.asarray(state.energy * particles["volume"])
    if name == "stress":
        return state.stress
    pressure = -(np.trace(state.stress, axis1=1, axis2=2) + state.zz) / 3
    return pressure if name == "pressure" else _von_mises(state, pressure)


def _von_mises(state: Cauchy, pressure: FloatArray) -> FloatArray:
    """√(3/2 s:s) with s the deviator in three dimensions, σ_zz of plane strain included."""
    d = state.stress.shape[1]
    deviator = state.stress + pressure[:, None, None] * np.eye(d)
    square: Any = np.einsum("nij,nij->n", deviator, deviator)
    if d == 2:
        square = square + (state.zz + pressure) ** 2
    return np.asarray(np.sqrt(1.5 * square))
