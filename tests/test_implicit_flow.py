"""Implicit steps of laws whose return map acts within the solve, or that have axes of their own: accuracy, convergence,
history, refusal.

`tests/c/test_flow_tangents.c` compares the tangents with finite differences, branch by branch.
"""

from dataclasses import replace

import numpy as np
import pytest

import mpm
import scenes
from mpm import _core

pytestmark = pytest.mark.numbers

MAPPED = [row["name"] for row in _core.laws() if row["tangent"] == "mapped"]
MODULI = [row["name"] for row in _core.laws() if row["tangent"] == "moduli"]
MATERIALS = {law: scenes.MATERIALS[law] for law in (*MAPPED, *MODULI)}
MATERIALS["kinematic"] = scenes.MATERIALS["von_mises"]  # has axes of its own
MATERIALS["von_mises"] = replace(MATERIALS["von_mises"], kinematic_hardening=0.0)
LAWS = list(MATERIALS)
GRAINS = ("sand", "drucker_prager", "mohr_coulomb", "mu_i", "nacc")  # whose tangent is far from symmetric
DT = 5e-3


def free(law, dim, F=0.98, **options):
    """A small body in free flight, which is compressed, swirls, and so flows."""
    scene = mpm.Scene([-1] * dim, [1] * dim)
    side = 12 if dim == 2 else 8
    points = mpm.shapes.Points(scenes.jittered(dim, side, 1 / 64) - 0.1, volume=(1 / 64) ** dim)
    spin = 1.5 if dim == 2 else (0.5, -1.0, 1.5)
    scene.add(
        points,
        MATERIALS[law],
        F=F * np.eye(dim),
        velocity=lambda x: 4 * scenes.swirl(x),
        angular_velocity=spin,
    )
    return mpm.Simulation(scene, dx=1 / 32, **{"threads": 1, "dt": DT, **options})


def layer(law, **options):
    """A compressed layer between sticky plates, the upper of which moves at 1 % of the speed of shear waves."""
    dx, speed = 1 / 16, 0.02
    scene = mpm.Scene([0, 0], [0.25, 1], walls={"x": "periodic", "y": "sticky"})
    scene.add(
        mpm.shapes.Box((0, 0), (0.25, 0.5)), MATERIALS[law], F=0.985 * np.eye(2),
        velocity=lambda x: x[:, 1:] / 0.5 * [speed, 0],
    )  # fmt: skip
    lid = mpm.shapes.HalfSpace((0, 0.5), (0, -1))
    scene.add_collider(lid, contact="sticky", motion=mpm.motion.Linear((speed, 0)), name="lid")
    return mpm.Simulation(scene, dx=dx, sampling="lattice", threads=1, **options)


def history_of(sim):
    """(n, components) of the only material."""
    fields = [np.array(sim.particles[field["name"]]) for field in sim.materials[0]._row["history"]]
    return np.concatenate([field.reshape(len(field), -1) for field in fields], axis=1)


# ---- accuracy and convergence --------------------------------------------------------------------------


def test_these_laws_map_within_the_solve():
    others = {"von_mises", "herschel_bulkley", "johnson_cook", "cam_clay"}
    assert set(MAPPED) == {*GRAINS, *others} and set(MODULI) == {"viscoelastic", "fibre_reinforced"}


@pytest.mark.parametrize("law", LAWS)
def test_slow_shear_agrees_with_explicit_steps(law):
    """To a shear strain of 0.08, in steps of 10 explicit ones, and of 40 for laws other than grains; what relaxes in a
    quarter of the time has an error of 2.6 % there."""
    explicit = layer(law)
    explicit.run(2.0)
    exact = np.array(explicit.compute("stress")).mean(axis=0)
    for ratio in (10,) if law in (*GRAINS, "viscoelastic") else (10, 40):
        dt = 2.0 / round(explicit.steps / ratio)
        sim = layer(law, integrator="implicit-euler", dt=dt, tolerance=1e-6, max_iterations=40)
        sim.run(2.0)
        assert sim.steps <= round(explicit.steps / ratio) + 1
        error = np.abs(np.array(sim.compute("stress")).mean(axis=0) - exact)[:2, :2].max()
        apart = np.array(sim.particles.x) - np.array(explicit.particles.x)
        apart[:, 0] = (apart[:, 0] + 0.125) % 0.25 - 0.125
        assert error < 0.02 * np.abs(exact).max()  # measured 1.2 %
        assert np.abs(apart).max() < 0.06 * 0.04  # measured 3 % of the way of the lid
        newton = sim.history["newton"][1:]
        assert newton.mean() < (20 if law in GRAINS else 9)  # measured 17 (mu(I)) and 7


@pytest.mark.parametrize("law", MODULI)
def test_linear_solves_take_laws_with_an_energy(law):
    explicit = layer(law)
    explicit.run(2.0)
    exact = np.array(explicit.compute("stress")).mean(axis=0)
    sim = layer(law, integrator="semi-implicit", dt=2.0 / round(explicit.steps / 10))
    sim.run(2.0)
    error = np.abs(np.array(sim.compute("stress")).mean(axis=0) - exact)[:2, :2].max()
    assert error < 0.02 * np.abs(exact).max()  # measured 1 %, of what relaxes


@pytest.mark.parametrize("dim", scenes.DIMS)
@pytest.mark.parametrize("law", LAWS)
def test_newtons_method_converges(law, dim):
    """The residual falls faster than by the forcing of 0.1 alone where the tangent is that of the forces: 1e-9 in 8."""
    sim = free(law, dim, integrator="implicit-euler", tolerance=1e-9, max_iterations=40)
    sim.step(3)
    moves = sim.history["newton"] > 0  # grains that have parted do not
    assert moves.any() and sim.history["residual"][moves].max() <= 1e-9
    most = 24 if law == "nacc" else 16 if law in GRAINS else 9  # measured 22 (NACC), 8 without grains
    assert sim.history["newton"].max() <= most
    assert sim.health["stagnated"] == 0


# ---- what a step keeps ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", scenes.DIMS)
@pytest.mark.parametrize("law", [law for law in LAWS if law != "fibre_reinforced"])
def test_the_history_advances_once_per_step(law, dim):
    """F and history after a step are those of one return map of (I + dt C) F, however many Newton's method takes."""
    sim = free(law, dim, integrator="implicit-euler")
    sim.step(2)
    F, history = np.array(sim.particles.F), history_of(sim)
    sim.step(1)
    C = np.array(sim.particles.C)
    trial = F + DT * C @ F
    mapped, after = sim.materials[0]._return_map(trial, history, DT, np.zeros_like(C))
    assert max(np.abs(mapped - trial).max(), np.abs(after - history).max()) > 1e-4
    assert np.abs(mapped - np.array(sim.particles.F)).max() < 1e-13
    assert (np.abs(after - history_of(sim)) < 1e-12 * (1 + np.abs(after))).all()


@pytest.mark.parametrize("integrator", ["implicit-euler", "implicit-midpoint"])
@pytest.mark.parametrize("law", LAWS)
def test_momentum_is_conserved(law, integrator):
    sim = free(law, 2, integrator=integrator, tolerance=1e-2)
    before = sim.totals().momentum
    sim.step(5)
    assert np.abs(sim.totals().momentum - before).max() < 1e-14 * sim.totals().mass  # measured 1e-15 m/s


def test_a_step_that_is_not_solved_changes_nothing():
    sim = free("drucker_prager", 2, integrator="implicit-euler", tolerance=1e-9, max_iterations=2)
    before = sim.state_hash()
    with pytest.raises(mpm.ConvergenceError):
        sim.step(1)
    assert sim.state_hash() == before


@pytest.mark.parametrize("law", LAWS)
def test_threads_and_restarts_do_not_change_a_bit(law, tmp_path):
    hashes = set()
    for threads in (1, 3):
        sim = free(law, 2, integrator="implicit-euler", threads=threads)
        sim.step(2)
        sim.save(tmp_path / "half.h5")
        sim.step(2)
        other = mpm.load(tmp_path / "half.h5")
        other.step(2)
        hashes |= {sim.state_hash(), other.state_hash()}
    assert len(hashes) == 1


# ---- rest, and what is refused -------------------------------------------------------------------------


def test_a_column_that_yields_under_its_weight_rests():
    """Stress falls linearly with the depth, though the lower half flows."""
    rho, g, dx = 1000.0, 9.81, 1 / 16
    metal = mpm.materials.VonMises(E=2e5, nu=0.3, yield_stress=2e3, hardening=1e4, density=rho)
    scene = mpm.Scene((0, 0), (4 * dx, 1.5), gravity=(0, -g), walls="mirror")
    scene.add(mpm.shapes.Box((0, 0), (4 * dx, 1)), metal)
    sim = mpm.Simulation(scene, dx=dx, sampling="lattice", threads=1)
    found = sim.equilibrate(tolerance=1e-3)
    y = np.array(sim.particles.x)[:, 1]
    strain = np.array(sim.particles.plastic_strain)
    assert found.residual <= 1e-3 and (strain[y > 0.7] == 0).all() and strain[y < 0.1].min() > 5e-3
    stress = np.array(sim.compute("stress"))[:, 1, 1]
    order = np.argsort(y)
    middle = (y > 2 * dx) & (y < y.max() - 2 * dx)
    depth = y[order[-1]] + dx / 4 - y
    assert np.abs(stress + rho * g * depth)[middle].max() < 0.05 * rho * g


@pytest.mark.parametrize("law", [law for law in LAWS if law not in MODULI])
def test_linear_solves_refuse_what_yields(law):
    with pytest.raises(ValueError, match="integrator='semi-implicit' has one linear solve"):
        free(law, 2, integrator="semi-implicit")
