"""Quantities computed from the particles, for `Simulation.compute` and for colours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.materials.laws import Material, equivalent_stress, registry

# name: (label of the colour bar, unit)
NAMES = {
    "speed": ("speed", "m/s"),
    "pressure": ("pressure", "Pa"),
    "von_mises": ("von Mises stress", "Pa"),
    "stress": ("Cauchy stress", "Pa"),
    "kinetic_energy": ("kinetic energy", "J"),
    "elastic_energy": ("elastic energy", "J"),
    "density": ("density", "kg/m³"),
    "law_density": ("density of the law", "kg/m³"),
    "heat": ("heat", "J"),
    "solute": ("solute", "mol"),
    "plastic_volume_strain": ("plastic volume strain", "1"),
}

# Fields of laws that are factors of the whole volume ratio beside J, by law.
VOLUME_SCALES = {
    name: {field["name"] for field in law["history"] if field["scales_volume"]}
    for name, law in registry().items()
}


def volume_scales(there: Iterable[str]) -> list[str]:
    """Those of any law that are there."""
    return sorted(set().union(*VOLUME_SCALES.values()).intersection(there))


# Fields of laws that are temperatures.
_TEMPERATURES = {
    field["name"] for law in registry().values() for field in law["history"] if field["heat_capacity"]
}

# Laws whose `Jp` is the volume ratio of what has flowed. That of metals is a stretch: they keep the volume.
_FLOWED = {
    name
    for name, law in registry().items()
    if {"Jp", "plastic_strain"} <= {f["name"] for f in law["history"]}
    and (law["variant_of"] or name) != "von_mises"
}

# Quantities that need only fields; the others need the laws.
_FROM_FIELDS = {"speed": {"v"}, "kinetic_energy": {"v", "mass"}, "solute": {"concentration", "volume"}}


class Fields(Protocol):
    """Particles, live or recorded."""

    @property
    def fields(self) -> tuple[str, ...]: ...
    @property
    def units(self) -> Mapping[str, str]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> npt.NDArray[Any]: ...


class Cauchy(NamedTuple):
    stress: FloatArray  # (n, d, d) [Pa]
    zz: FloatArray  # (n,) out of plane, in plane strain [Pa]; zeros in 3-D
    energy: FloatArray  # (n,) per rest volume [J/m^3]


def volume_ratio(particles: Fields) -> FloatArray:
    """Present over rest volume (n,): that of the elastic part, times what laws keep of the other (Jp)."""
    ratio = np.array(particles["J"], dtype=np.float64)
    for name in volume_scales(particles.fields):
        ratio *= particles[name]
    return ratio


def thermal_ratio(particles: Fields) -> FloatArray | float:
    """The volume ratio of the stretch by heat or a solute (n,), which J and F do without."""
    for name in {"thermal_stretch", "swelling_stretch"}.intersection(particles.fields):
        stretch = np.asarray(particles[name], dtype=np.float64)
        return np.asarray(stretch ** particles["v"].shape[1])
    return 1.0


def history(material: Material, particles: Fields, rows: npt.NDArray[Any]) -> FloatArray | None:
    """What the law keeps of some of its particles besides F, (m, components); None if it keeps nothing."""
    names = [field["name"] for field in material._row["history"]]
    columns = [np.asarray(particles[name][rows], dtype=np.float64).reshape(len(rows), -1) for name in names]
    return np.ascontiguousarray(np.concatenate(columns, axis=1)) if columns else None


def varying(material: Material, particles: Fields, rows: npt.NDArray[Any]) -> FloatArray | None:
    """The parameters of some of its particles that vary, (m, k); None if none do."""
    parameters = material._row["parameters"]
    columns = [
        np.asarray(particles[parameters[i]["name"]][rows], dtype=np.float64) for i in material._varying
    ]
    return np.stack(columns, axis=1) if columns else None


def cauchy(particles: Fields, materials: Sequence[Material]) -> Cauchy:
    """The laws' stress at the particles, in float64, without the viscous part (no function of the state)."""
    J = volume_ratio(particles)
    F = np.array(particles["F"], dtype=np.float64) if "F" in particles.fields else _dilation(J, particles)
    index = particles["material"]
    n, d = F.shape[:2]
    result = Cauchy(np.zeros((n, d, d)), np.zeros(n), np.zeros(n))
    for k, material in enumerate(materials):
        rows = np.flatnonzero(index == k)
        if not len(rows):
            continue
        kept, values = history(material, particles, rows), varying(material, particles, rows)
        # F of a fluid is a root of the J that it keeps, which rounds
        strain = _dilation(J[rows], particles) if material._keeps("J") else F[rows]
        evaluation = material._evaluate(strain, kept, varying=values)
        result.stress[rows] = evaluation.tau / J[rows, None, None]
        result.zz[rows] = evaluation.tau_zz / J[rows]
        result.energy[rows] = evaluation.energy
    return result


def _dilation(J: FloatArray, particles: Fields) -> FloatArray:
    """Deformation gradients (n, d, d) of a fluid that keeps J alone."""
    F = np.tile(np.eye(particles["x"].shape[1]), (len(J), 1, 1))
    F[:, 0, 0] = J
    return F


def computable(fields: Sequence[str]) -> tuple[str, ...]:
    """Those of `NAMES` that are among the fields or follow from them alone."""
    return tuple(n for n in NAMES if n in fields or _FROM_FIELDS.get(n, {None}) <= set(fields))


def of_fields(fields: Sequence[str]) -> tuple[str, ...]:
    """Those of `NAMES` that have a meaning for particles with these fields and laws."""
    having = {
        "heat": keeps_heat(fields),
        "plastic_volume_strain": "Jp" in fields,
        "solute": "concentration" in fields,
    }
    without = {name for name, there in having.items() if not there}
    return tuple(name for name in NAMES if name not in without)


def keeps_heat(fields: Sequence[str]) -> bool:
    """Whether a temperature is among the fields, so that ``"heat"`` has a meaning."""
    return not _TEMPERATURES.isdisjoint(fields)


def plastic_volume_strain(particles: Fields, materials: Sequence[Material]) -> FloatArray:
    """ln Jp of the particles (n,), which includes gaps between grains; 0 of laws that flow at constant volume."""
    index, result = particles["material"], np.zeros(len(particles))
    for k, material in enumerate(materials):
        if material._row["name"] in _FLOWED:
            rows = np.flatnonzero(index == k)
            result[rows] = np.log(np.asarray(particles["Jp"][rows], dtype=np.float64))
    return result


def heat(particles: Fields, materials: Sequence[Material]) -> FloatArray:
    """V ρc (T − T_initial) of the particles (n,) [J]; 0 of laws without a temperature."""
    index, result = particles["material"], np.zeros(len(particles))
    for k, material in enumerate(materials):
        rows = np.flatnonzero(index == k)
        for field in material._row["history"]:
            capacity, initial = field["heat_capacity"], field["initial_parameter"]
            if not capacity or not initial:
                continue
            T = np.asarray(particles[field["name"]][rows])
            varies = initial in material._varies
            begin = particles[initial][rows] if varies else T.dtype.type(material._parameter(initial))
            warmer = T.astype(np.float64) - begin  # exactly 0 where nothing has heated
            result[rows] += particles["volume"][rows] * material._parameter(capacity) * warmer
    return result


def compute(name: str, particles: Fields, materials: Sequence[Material]) -> FloatArray:
    """The quantity of that name, one of `NAMES`, as a new float64 array (n, …)."""
    if name in ("speed", "kinetic_energy"):
        v = np.asarray(particles["v"], dtype=np.float64)
        square: FloatArray = v[:, 0] ** 2
        for k in range(1, v.shape[1]):
            square += v[:, k] ** 2
        return np.sqrt(square) if name == "speed" else 0.5 * particles["mass"] * square
    if name in ("density", "law_density"):
        return np.asarray(
            particles["mass"] / (particles["volume"] * volume_ratio(particles) * thermal_ratio(particles))
        )
    if name == "heat":
        return heat(particles, materials)
    if name == "solute":
        return np.asarray(np.asarray(particles["volume"], dtype=np.float64) * particles["concentration"])
    if name == "plastic_volume_strain":
        return plastic_volume_strain(particles, materials)
    state = cauchy(particles, materials)
    if name == "elastic_energy":
        return np.asarray(state.energy * particles["volume"])
    if name == "stress":
        return state.stress
    pressure = -(np.trace(state.stress, axis1=1, axis2=2) + state.zz) / 3
    return pressure if name == "pressure" else _von_mises(state, pressure)


def _von_mises(state: Cauchy, pressure: FloatArray) -> FloatArray:
    """With σ_zz of plane strain."""
    n, d = state.stress.shape[:2]
    deviator = (state.stress + pressure[:, None, None] * np.eye(d)).reshape(n, d * d)
    if d == 2:
        deviator = np.column_stack([deviator, state.zz + pressure])
    return equivalent_stress(deviator)
