"""What ``python -m mpm bench F1`` measures: a twisting block of tetrahedra, by law and precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mpm import materials, shapes
from mpm.base import config
from mpm.base._check import FloatArray
from mpm.fem.simulation import Simulation
from mpm.scene.scene import Scene

CELLS = 24  # along a side of the block: 69,120 tetrahedra
CELLS_QUICK = 6
LAWS = {
    "fixed corotated": materials.FixedCorotated(E=1e6, nu=0.3, density=1000),
    "neo-Hookean": materials.NeoHookean(E=1e6, nu=0.3, density=1000),
    "corotated": materials.Corotated(E=1e6, nu=0.3, density=1000),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A cube of 1 m that twists about its axis and vibrates; all options are the defaults.

    Attributes
    ----------
    law : str
        A name of `LAWS`.
    dtype : {"float32", "float64"}
    cells : int
        Along a side, five tetrahedra per cell.
    """

    law: str
    dtype: str
    cells: int

    @property
    def label(self) -> str:
        """In the table."""
        return f"3-D {self.dtype}  {self.law}"

    def simulation(self, *, isa: str, threads: int = 1) -> Simulation:
        """A new simulation of it for a kernel set."""
        scene = Scene([-1] * 3, [2] * 3)
        scene.add(shapes.Box([0] * 3, [1] * 3), LAWS[self.law], velocity=twist)
        with config.using_isa(isa):
            return Simulation(scene, spacing=1 / self.cells, dtype=self.dtype, threads=threads)


def twist(x: FloatArray) -> FloatArray:
    """A rotation about the block's axis that grows along it, with a wave [m/s]."""
    spin = 30 * x[:, 2]
    return np.stack([-spin * (x[:, 1] - 0.5), spin * (x[:, 0] - 0.5), np.sin(9 * x[:, 0])], axis=1)


def count(sim: Simulation) -> int:
    """What is counted besides steps."""
    return len(sim.elements)


UNIT = "element"


def cases(quick: bool = False) -> list[Case]:
    """All of `LAWS` in single precision, one in double precision."""
    cells = CELLS_QUICK if quick else CELLS
    chosen = [*((law, "float32") for law in LAWS), ("fixed corotated", "float64")]
    return [Case(law, dtype, cells) for law, dtype in chosen]
