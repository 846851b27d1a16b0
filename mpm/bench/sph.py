"""What ``python -m mpm bench S1`` measures: the 3-D dam break by SPH, in both precisions."""

from __future__ import annotations

from dataclasses import dataclass

from mpm import materials, shapes
from mpm.base import config
from mpm.scene.scene import Scene
from mpm.sph.simulation import Simulation

ALONG = 50  # particles along the height of the column: 62,500 in all
ALONG_QUICK = 10
MACH = 10.0  # speed of sound over that of the front


@dataclass(frozen=True, slots=True)
class Case:
    """A column of water, 1 × 0.5 × 1 m, that collapses in a tank of 3 m; all options are the defaults.

    Attributes
    ----------
    label : str
        In the table.
    dtype : {"float32", "float64"}
    along : int
        Particles along the height.
    """

    label: str
    dtype: str
    along: int

    def simulation(self, *, isa: str) -> Simulation:
        """A new simulation of it for a kernel set, with one thread."""
        scene = Scene((0, 0, 0), (3, 0.5, 2), gravity=(0, 0, -9.81))
        water = materials.Fluid(bulk_modulus=1000 * MACH**2 * 2 * 9.81, density=1000)
        scene.add(shapes.Box((0, 0, 0), (1, 0.5, 1)), water)
        with config.using_isa(isa):
            return Simulation(scene, spacing=1 / self.along, dtype=self.dtype, threads=1)


def cases(quick: bool = False) -> list[Case]:
    """Both precisions."""
    along = ALONG_QUICK if quick else ALONG
    return [Case(f"3-D {dtype}  SPH, dam break", dtype, along) for dtype in ("float32", "float64")]
