"""What the particles of a simulation tell beside their arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.base.fieldtable import DISSIPATIONS
from mpm.materials.laws import Material
from mpm.mpm import fullness, numerics
from mpm.mpm.interpolation import REACH, at_points, with_images
from mpm.scene import walls
from mpm.solver import derived
from mpm.solver.particles import NOT_KEPT, no_owner, owners
from mpm.solver.populated import Populated

if TYPE_CHECKING:
    from mpm.solver.state import State

__all__ = ["Quantities"]


class Quantities(Populated, abstract=True):
    """Base of a simulation of particles that share a grid."""

    __slots__ = ("_materials", "_numerics")

    _materials: list[Material]
    _numerics: numerics.Numerics

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities of `compute`."""
        return (*super().quantities, "law_density")

    def _quantity(self, name: str, particles: derived.Fields) -> FloatArray:
        """Of fluids, the density is that of the grid: J alone does not know where the particles are."""
        found = super()._quantity(name, particles)
        if name == "density" and (rows := self._fluid_rows(particles)).any():
            mass, volume = (np.array(particles[one], dtype=np.float64) for one in ("mass", "volume"))
            volume *= derived.thermal_ratio(particles)
            rest = np.divide(mass, volume, out=np.zeros_like(mass), where=volume > 0)
            found[rows] = (rest * self._fullness(particles))[rows]
        return found

    def _fluid_rows(self, particles: derived.Fields) -> npt.NDArray[np.bool_]:
        """Whether each particle is one of a fluid."""
        fluid = np.array([numerics.has_fluid([one]) for one in self._materials], dtype=bool)
        return np.asarray(fluid[np.asarray(particles["material"])])

    def _fullness(self, particles: derived.Fields) -> FloatArray:
        """How full the grid is at the particles (n,): 1 where they fill their rest volume."""
        x, volume = (np.asarray(particles[name], dtype=np.float64) for name in ("x", "volume"))
        ratio = np.where(self._fluid_rows(particles), 1, derived.volume_ratio(particles))
        kind, surfaces = self._numerics.kernel, [placed.distance for placed in self._posed()]
        return fullness.at_particles(
            self._scene,
            x,
            volume * ratio * derived.thermal_ratio(particles),
            dx=self._numerics.dx,
            kind=kind,
            surfaces=surfaces,
        )

    def _interpolated(self, points: FloatArray, values: FloatArray, name: str, rank: str) -> FloatArray:
        dx, kernel, particles = self._numerics.dx, self._numerics.kernel, self.particles
        x, mass = (np.asarray(particles._copy(field), dtype=np.float64) for field in ("x", "mass"))
        there = with_images(self._scene, REACH[kernel] * dx, x, mass, values, rank=rank, moves=name == "x")
        return at_points(points, *there, dx=dx, kind=kernel)

    def _state(self, names: Sequence[str]) -> State:
        """Omits particles that wait to be deleted."""
        state = super()._state(names)
        if "delete" not in walls.fates(self._numerics.on_leave, self.dimension):
            return state
        there = self.particles._copy("mass") > 0
        return state if there.all() else state.of(there)

    def _missing(self, name: str) -> str:
        if name in DISSIPATIONS and not self._numerics.dissipation:
            return NOT_KEPT.format(name)
        if name in self.particles.fields:
            return f"; sim.particles[{name!r}] has it"
        return no_owner(name) if owners(name) else super()._missing(name)
