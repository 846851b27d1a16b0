"""When particles are brought into order: before one could be a cell from where it was then, and not much sooner."""

import numpy as np
import pytest

import mpm


def spinning(dimension, dtype="float64"):
    """A square or cube of eight cells a side that turns once in 2 s; its corners' nodes are faster than they are."""
    middle = np.full(dimension, 1.0)

    def velocity(x):
        result = np.zeros_like(x)
        result[:, 0], result[:, 1] = -np.pi * (x[:, 1] - 1), np.pi * (x[:, 0] - 1)
        return result

    scene = mpm.Scene([0] * dimension, [2] * dimension)
    body = mpm.shapes.Box(middle - 0.25, middle + 0.25)
    scene.add(body, mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000), velocity=velocity)
    return mpm.Simulation(scene, dx=1 / 16, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_particles_are_binned_as_they_move_and_not_as_nodes_do(dimension, dtype):
    sim = spinning(dimension, dtype)
    sim.step()
    binned, binnings, nodes = np.array(sim.particles["x"]), sim.health["binnings"], 0.0
    first = binnings
    while sim.time < 1:
        before = np.array(sim.particles["x"])
        sim.step()
        nodes += np.abs(sim.grid.v).max() * sim.history["dt"][-1] / sim.dx
        if sim.health["binnings"] > binnings:  # before the step, as this transfer keeps no velocities
            binned, binnings = before, sim.health["binnings"]
        assert np.abs(np.array(sim.particles["x"]) - binned).max() <= sim.dx
    # Measured: 15 in the plane and 16 in space. Nodes moved by 18 and 19 cells; counted by these it was 19 and 20.
    assert nodes / 1.3 < binnings - first < nodes
