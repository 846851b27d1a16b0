"""What `mpm.doctor` looks at in simulations by SPH."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mpm.materials.laws import Material
from mpm.scene import colliders
from mpm.solver.checkup import Finding, Looks
from mpm.solver.stepping import StableDt

NEARLY = 0.1  # speed over that of sound: beyond it, the fluid changes its density by more than 1 %
DENSE = 0.05  # relative change of the density: the fluid is taken to be weakly compressible


class FluidLooks(Looks):
    """The particles of a lattice lie within what they fill."""

    things = "particles"
    reach = 1.0
    fast = NEARLY

    def inside(self) -> Iterator[Finding]:
        """The density. Sums at free surfaces are too small, so less says nothing."""
        most = 1 / float(np.min(self.sim.particles.J)) - 1
        words = f"the densest particle is {most:+.2%} off the density at rest"
        more = "" if most <= DENSE else ": the fluid is too soft for its load and speed; raise bulk_modulus"
        yield Finding("density", most <= DENSE, words + more)

    def __init__(self, sim: Any) -> None:
        super().__init__(sim)
        self.stride = 0.5 * sim._numerics.smoothing

    def of_what(self, bound: StableDt) -> str:
        """A collider, if it is one."""
        if bound.limit != "motion" or bound.particle is not None:
            return super().of_what(bound)
        scene, posed = self.sim.scene, self.sim._posed()
        speeds = [colliders.fastest(one, scene.lower, scene.upper, self.size) for one in posed]
        return f" of the collider {posed[int(np.argmax(speeds))].collider.name!r}"

    def slower(self, material: Material, speed: float) -> str:
        """A stiffness with which it is slow."""
        return f"bulk_modulus >= {material.density * (speed / NEARLY) ** 2:.2g} Pa keeps its density to 1 %"
