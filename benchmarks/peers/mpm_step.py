"""This package, through its public face alone: `Simulation.step` with the options that a user has by default. Fluids do
without the correction of their density, which the peers do not have.

--dt auto lets the package choose its time step, which is longer than the peers'; what is compared is then the state of
`Simulation.run` at the same time.
"""

import argparse
import sys

import numpy as np

import mpm

from . import protocol
from .problems import DENSITY, NU, E, Problem


class Package:
    """One simulation per round, of the domain between the walls."""

    def __init__(self, problem: Problem, x: np.ndarray, v: np.ndarray, threads: int, dt: float | str) -> None:
        self.problem, self.v = problem, v
        d, h = problem.dimension, problem.h
        law = {
            "fcr": mpm.materials.FixedCorotated(E=E, nu=NU, density=DENSITY),
            "fluid": mpm.materials.Fluid(bulk_modulus=E, gamma=1, density=DENSITY),
        }[problem.law]
        self.scene = mpm.Scene(
            [problem.low * h] * d,
            [problem.high * h] * d,
            gravity=[0] * (d - 1) + [problem.gravity],
            walls="separate",
        )
        self.scene.add(mpm.shapes.Points(x, volume=problem.volume), law, velocity=lambda _: self.v)
        self.options = {"dx": h, "dtype": "float32", "threads": threads, "dt": dt, "density_correction": 0}

    def begin(self) -> None:
        self.sim = mpm.Simulation(self.scene, **self.options)

    def step(self, n: int) -> None:
        self.sim.step(n)

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        if self.options["dt"] == "auto":
            self.begin()
            self.sim.run(self.problem.steps * self.problem.dt)
        return self.sim.particles.x, self.sim.particles.v


def main() -> None:
    """Measure it."""
    automatic = argparse.ArgumentParser(add_help=False)
    automatic.add_argument("--dt", choices=["fixed", "auto"], default="fixed")
    own, sys.argv[1:] = automatic.parse_known_args()
    chosen = protocol.arguments()
    dt = "auto" if own.dt == "auto" else chosen.problem.dt
    protocol.run(lambda *problem: Package(*problem, dt), chosen, ("mpm", "numpy"))


if __name__ == "__main__":
    main()
