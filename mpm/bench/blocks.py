"""A block of material that rotates and vibrates, for `mpm.bench` and `mpm.bench.studies`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np

from mpm import materials, shapes
from mpm.base import config
from mpm.base._check import FloatArray
from mpm.materials import laws
from mpm.mpm.simulation import Simulation
from mpm.scene.scene import Scene

VALUES = {
    "E": 1e5,
    "nu": 0.3,
    "bulk_modulus": 1e5,
    "c10": 2e4,
    "c01": 5e3,
    "yield_stress": 5e3,
    "shear_modulus": 5e4,
    "swelling": 0.02,
    "compression": 0.1,
    "critical_slope": 1.2,
    "preconsolidation": 1e4,
    "consistency": 100.0,
    "g_1": 0.5,
    "g_2": 0.2,
    "k_1": 2e4,
    "density": 1000.0,
}  # of all laws that have such a parameter
OWN = {  # of one law: another has a mu_1, too, or cracks if it has a fracture energy
    "ogden": {"mu_1": 3e4, "alpha_1": 2.5},
    "brittle": {"tensile_strength": 2e3, "fracture_energy": 50.0},
    "johnson_cook": {
        "A": 3e3,
        "B": 5e3,
        "n": 0.4,
        "C": 0.02,
        "sound_speed": 10.0,
        "s": 1.5,
        "grueneisen": 2.0,
        "specific_heat": 400.0,
        "melting_temperature": 1300.0,
    },
}


def _material(law: str) -> materials.Material:
    """A material of a law, with parameters from `VALUES` and `OWN`, or else its defaults."""
    made: type[materials.Material]
    [made] = [
        cls for name in materials.__all__ if getattr(cls := getattr(materials, name), "law", None) == law
    ]
    names = [field.name for field in fields(cast(Any, made))]
    return made(**{name: VALUES[name] for name in names if name in VALUES}, **OWN.get(law, {}))


MATERIALS = {  # that are transferred: rigid bodies are not
    {"neo_hookean": "neo-Hookean"}.get(law, law.replace("_", " ")): _material(law)
    for law, row in laws.registry().items()
    if not row["rigid"] and row["variant_of"] is None
}
CELLS = {2: 160, 3: 25}  # along a side of the block: 102,400 particles (4 per cell) and 125,000 (8 per cell)
CELLS_QUICK = {2: 32, 3: 8}
SAMPLING = "stratified"  # a lattice is spread more evenly over cells and lanes than particles that have moved


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured: a name of `MATERIALS`, the dimension, the precision, the cells along a side."""

    material: str
    dimension: int
    dtype: str
    cells: int

    @property
    def label(self) -> str:
        """In the table."""
        return f"{self.dimension}-D {self.dtype}  {self.material}"

    def simulation(self, *, isa: str, threads: int = 1, **options: Any) -> Simulation:
        """A new simulation of it for a kernel set; `options` go to `mpm.Simulation`. Fluids are those of the standard
        scheme: `benchmarks/fluids.py` measures the cost of the correction of their densities."""
        body = shapes.Box([1.0] * self.dimension, [2.0] * self.dimension)
        scene = Scene([0] * self.dimension, [3] * self.dimension, gravity=[0] * (self.dimension - 1) + [-9.8])
        scene.add(body, MATERIALS[self.material], velocity=stir)
        numerics: dict[str, Any] = {"dtype": self.dtype, "sampling": SAMPLING, "threads": threads}
        numerics |= {"density_correction": 0.0} | options
        with config.using_isa(isa):
            return Simulation(scene, dx=1 / self.cells, **numerics)


def stir(x: FloatArray) -> FloatArray:
    """A rotation about the block's centre with a wave in it [m/s]."""
    v = np.zeros_like(x)
    v[:, 0] = -2 * (x[:, 1] - 1.5)
    v[:, 1] = 2 * (x[:, 0] - 1.5) + 0.5 * np.sin(4 * np.pi * x[:, 0])
    v[:, -1] += 0.5 * np.sin(4 * np.pi * x[:, 1])
    return v
