"""The package itself: `Simulation.step` with default options but the time step of the others."""

import mpm

from . import problem


def prepare(mesh):
    """See `problem.run`."""
    scene = mpm.Scene([-1] * 3, [2] * 3)
    law = mpm.materials.Corotated(E=1e6, nu=0.3, density=1000)
    scene.add(mpm.shapes.Cells(mesh["x"], mesh["cells"]), law)
    options = {"dt": problem.DT, "dtype": "float32", "threads": 1}

    def advance(steps):
        sim.particles.x[:], sim.particles.v[:] = mesh["x"], mesh["v"]
        sim.step(steps)
        return sim.particles.v

    sim = mpm.fem.Simulation(scene, **options)
    return advance


if __name__ == "__main__":
    problem.run("mpm", mpm.__version__, prepare)
