"""The package itself: whole `sim.step(n)` with the history, in the domain of 2 m around the block."""

import numpy as np

import mpm

from . import problem as common


class Package:
    """A simulation of the block."""

    def __init__(self, problem: common.Problem, n: int) -> None:
        self.problem = problem

    def begin(self, x: np.ndarray, v: np.ndarray) -> None:
        p = self.problem
        scene = mpm.Scene((-1, -1, -1), (2, 2, 2))
        fluid = mpm.materials.Fluid(bulk_modulus=common.REST * common.SOUND**2, density=common.REST)
        scene.add(mpm.shapes.Points(x.astype(np.float64)), fluid, velocity=lambda at: v.astype(np.float64))
        self.sim = mpm.sph.Simulation(
            scene, spacing=p.h, dt=p.dt, allow_unstable=True, dtype="float32", threads=1
        )

    def step(self, n: int) -> None:
        self.sim.step(n)

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.sim.particles.x, self.sim.particles.v


if __name__ == "__main__":
    common.run(Package, "mpm")
