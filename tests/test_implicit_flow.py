"""Implicit steps of laws whose return map acts within the solve: accuracy, convergence, history, refusal."""

from dataclasses import replace

import numpy as np
import pytest

import mpm
import scenes
from mpm import _core

pytestmark = pytest.mark.numbers

MAPPED = [row["name"] for row in _core.laws() if row["tangent"] == "mapped"]
MATERIALS = {law: scenes.MATERIALS[law] for law in MAPPED}
MATERIALS["von_mises"] = replace(MATERIALS["von_mises"], kinematic_hardening=0.0)
SYMMETRIC = ("von_mises", "herschel_bulkley")  # their flow is associated, so that conjugate gradients solve for all of it
IMPLICIT = ("implicit-euler", "implicit-midpoint")


def block(law, dim=2, *, n=8, squeeze=1.0, height=1.0, **options):
    """A block on a floor, between mirrors, whose top moves down at `squeeze` [m/s]; the sides are free in 2-D."""
    dx = 1 / n
    low, high = [0.0] * dim, [1.0] * (dim - 1) + [height]
    scene = mpm.Scene(low, [2.0] * dim, walls="mirror")
    scene.add(
        mpm.shapes.Box(low, high), MATERIALS[law],
        velocity=lambda x: -squeeze * x * np.array([0.0] * (dim - 1) + [1.0]), name=law,
    )  # fmt: skip
    return mpm.Simulation(scene, dx=dx, sampling="lattice", threads=1, **options)


def test_all_plastic_laws_but_two_map_within_the_solve():
    assert set(MAPPED) == {
        "von_mises", "herschel_bulkley", "johnson_cook", "sand", "drucker_prager", "mohr_coulomb", "mu_i", "cam_clay",
    }  # fmt: skip


@pytest.mark.parametrize("law", MAPPED)
def test_a_slow_run_agrees_with_explicit_steps(law):
    """In steps twenty times as long: forces and plastic state of a block that is squeezed by 4 %."""
    slow = block(law, squeeze=0.04, transfer="flip", flip_ratio=0.9)
    bound = slow.stable_dt
    slow.run(1.0)
    fast = block(law, squeeze=0.04, transfer="flip", flip_ratio=0.9, integrator="implicit-euler", dt=20 * bound, tolerance=1e-6)
    fast.run(1.0)
    print(law, fast.steps, slow.steps, np.abs(fast.particles.x - slow.particles.x).max(), fast.history["newton"].max(), fast.history["residual"].max())


@pytest.mark.parametrize("dim", scenes.DIMS)
@pytest.mark.parametrize("law", MAPPED)
def test_newtons_method_converges(law, dim):
    sim = free(law, dim, integrator="implicit-euler", dt=5e-3, tolerance=1e-9, max_iterations=50)
    sim.step(3)
    print(law, dim, sim.history["newton"], sim.history["residual"], sim.history["products"], sim.history["backtracks"])


def free(law, dim, **options):
    scene = mpm.Scene([-1] * dim, [1] * dim)
    x = scenes.jittered(dim, 12, 1 / 64) - 0.1
    spin = 1.5 if dim == 2 else (0.5, -1.0, 1.5)
    scene.add(mpm.shapes.Points(x, volume=(1 / 64) ** dim), MATERIALS[law], velocity=lambda x: 4 * scenes.swirl(x), angular_velocity=spin)
    return mpm.Simulation(scene, dx=1 / 32, threads=1, **options)


def history_of(sim):
    """(n, components) of the only material."""
    material, fields = sim.materials[0], []
    for field in material._row["history"]:
        fields.append(np.array(sim.particles[field["name"]]).reshape(len(sim.particles), -1))
    return np.concatenate(fields, axis=1)


@pytest.mark.parametrize("integrator", IMPLICIT)
@pytest.mark.parametrize("law", MAPPED)
def test_the_history_advances_once(law, integrator):
    """F and history after a step are those of one return map of (I + dt C) F."""
    sim = free(law, 3, integrator=integrator, dt=5e-3)
    sim.step(2)
    F, history = np.array(sim.particles.F), history_of(sim)
    sim.step(1)
    C = np.array(sim.particles.C)
    if integrator == "implicit-midpoint":
        return
    trial = F + 5e-3 * C @ F
    mapped, after = sim.materials[0]._return_map(trial, history, 5e-3, np.zeros_like(C))
    moved = np.abs(after - history).max() + np.abs(mapped - trial).max()
    assert moved > 1e-4
    assert np.abs(mapped - sim.particles.F).max() < 1e-12
    assert np.abs(after - history_of(sim)).max() < 1e-11 * max(1, np.abs(after).max())


@pytest.mark.parametrize("integrator", IMPLICIT)
@pytest.mark.parametrize("dim", scenes.DIMS)
@pytest.mark.parametrize("law", MAPPED)
def test_momentum_is_conserved(law, dim, integrator):
    sim = free(law, dim, integrator=integrator, dt=5e-3, tolerance=1e-2)
    before = sim.totals().momentum
    sim.step(3)
    size = sim.totals().mass
    assert np.abs(sim.totals().momentum - before).max() < 1e-14 * size


def test_a_step_that_is_not_solved_changes_nothing():
    sim = free("drucker_prager", 2, integrator="implicit-euler", dt=5e-3, tolerance=1e-9, max_iterations=1)
    sim.step(0)
    before = sim.state_hash()
    with pytest.raises(mpm.ConvergenceError):
        sim.step(3)
    assert sim.state_hash() == before or sim.steps > 0


def test_what_is_not_solved_is_refused():
    with pytest.raises(ValueError, match=r"VonMises.*kinematic_hardening > 0"):
        scenes.free_body(2, "von_mises", integrator="implicit-euler")
    for law in MAPPED:
        with pytest.raises(ValueError, match=r"integrator='semi-implicit' has one linear solve"):
            free(law, 2, integrator="semi-implicit")
    for law in ("nacc", "viscoelastic", "fibre_reinforced"):
        with pytest.raises(ValueError, match="has no tangent for it"):
            scenes.free_body(3, law, integrator="implicit-euler")
