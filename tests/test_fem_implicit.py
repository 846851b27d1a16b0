"""Linearly implicit steps of finite elements."""

import math
import warnings

import numpy as np
import pytest

import mpm
from fem_scenes import LAWS, M, busy, every_dim, every_isa, scene_of
from loops import each
from mpm import fem
from scenes import kernels

IMPLICIT = {"integrator": "linearly-implicit-euler"}


def oscillator(**options):
    """A triangle in its uniform mode: free nodes, one frequency. The bound counts no such motion."""
    x = np.array([[0, 0], [1, 0], [0.5, math.sqrt(0.75)]])
    scene = mpm.Scene((-5, -5), (5, 5))
    scene.add(mpm.shapes.Cells(x, [[0, 1, 2]]), M.Corotated(E=1e4, nu=0.0, density=1000))
    sim = fem.Simulation(scene, spacing=5.0, **options)
    return sim, x - x.mean(axis=0)


def test_a_linear_oscillator_loses_energy_as_it_must():
    """Dilation of a triangle: exactly linear in the corotated law; energy per step 1/(1 + z^2)."""
    sim, r = oscillator(**IMPLICIT, dt=0.02, tolerance=1e-12)
    sim.particles.v[:] = 0.01 * r
    m, before = sim.particles.mass[0], sim.totals()
    sim.particles.x[:] += 1e-3 * r
    f = sim.forces()
    omega2 = -(f * r).sum() / (1e-3 * m * (r * r).sum())
    sim.particles.x[:] -= 1e-3 * r
    assert before.elastic < 1e-20
    energies = [sim.totals().energy]
    for _ in range(20):
        sim.step()
        energies.append(sim.totals().energy)
    z2 = omega2 * 0.02**2
    assert z2 > 1e-3
    assert np.allclose(np.array(energies[1:]) / energies[:-1], 1 / (1 + z2), rtol=1e-10)  # measured: 3e-12


def test_implicit_steps_are_of_order_one():
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        sim, r = oscillator(**IMPLICIT, dt=dt, tolerance=1e-10)
        sim.particles.v[:] = 0.1 * r[:, ::-1] + 0.1 * r
        fine, _ = oscillator(dt=1e-5, history=0)
        fine.particles.v[:] = sim.particles.v
        sim.run(0.1)
        fine.run(0.1)
        errors.append(np.abs(sim.particles.x - fine.particles.x).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.abs(orders - 1).max() < 0.1, orders


@every_dim
@every_isa
@each("dtype", ["float64", "float32"])
def test_a_stiff_bar_takes_large_steps(d, isa, dtype):
    """At 50 times the explicit bound it is stable, and sags as far as the explicit bar with damping at rest."""
    lower, upper = [0.0] * d, [1.0] + [0.25] * (d - 1)
    scene = mpm.Scene([-1] * d, [2] * d, gravity=[0] * (d - 1) + [-9.81])
    scene.add(mpm.shapes.Box(lower, upper), M.Corotated(E=1e6, nu=0.3, density=1000))
    scene.add_collider(mpm.shapes.Box([-0.5] * d, [0.01] + [1.0] * (d - 1)), contact="sticky", name="grip")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with kernels(isa):
            bound = fem.Simulation(scene, spacing=0.125, dtype=dtype).stable_dt().dt
            sim = fem.Simulation(
                scene, spacing=0.125, dtype=dtype, dt=50 * bound, damping=(2.0, 0.0), **IMPLICIT
            )
            slow = fem.Simulation(scene, spacing=0.125, damping=(8.0, 0.0))
    sim.run(6.0)
    if dtype == "float64" and isa != "scalar":
        slow.run(3.0)
        tip = slow.particles.x[:, 0] > 0.99
        assert sim.particles.x[tip, -1].mean() == pytest.approx(slow.particles.x[tip, -1].mean(), abs=1e-5)
    h = sim.history
    room = 1e-5 if dtype == "float64" else 1e-3  # to the tolerance
    gained = sum(
        h[name].sum(axis=0) for name in ("body_impulse", "wall_impulse", "damping_impulse", "impulse:grip")
    )
    assert np.abs(h["momentum"][-1] - gained).max() < room * np.abs(h["body_impulse"]).sum()
    assert np.abs(sim.particles.v).max() < 1e-3 and sim.stable_dt().limit != "wave"


@every_dim
def test_an_implicit_block_rests_and_lifts_off(d):
    scene = mpm.Scene([0] * d, [2] * d, gravity=[0] * (d - 1) + [-9.81], walls="separate")
    scene.add(
        mpm.shapes.Box([0.5] * (d - 1) + [0.0], [1.0] * (d - 1) + [0.5]),
        M.FixedCorotated(E=1e6, nu=0.3, density=1000),
    )
    sim = fem.Simulation(scene, spacing=0.125, dt=0.01, damping=(5.0, 0.0), **IMPLICIT)
    sim.run(3.0)
    weight = sim.totals().mass * 9.81
    assert np.abs(sim.particles.v).max() < 1e-3
    assert sim.history["wall_impulse"][-20:, -1].mean() / 0.01 == pytest.approx(weight, rel=1e-3)
    sim.particles.v[:, -1] += 1.0
    low = sim.particles.x[:, -1].min()
    sim.run(0.05)
    assert sim.particles.x[:, -1].min() > low and sim.history["wall_impulse"][-1, -1] == 0


def test_an_implicit_solve_that_does_not_converge():
    scene = scene_of(2, LAWS["corotated"], gravity=(0, -1))
    options = {"spacing": 0.1, "max_iterations": 2, "tolerance": 1e-10, **IMPLICIT}
    sim = fem.Simulation(scene, dt=0.1, **options)
    sim.particles.v[:] = np.sin(5 * sim.particles.x)
    with pytest.raises(
        mpm.ConvergenceError, match=r"not solved at dt = 0.1 s.* more max_iterations or"
    ) as caught:
        sim.step()
    assert sim.steps == 0 and caught.value.residuals[0] == 1 and caught.value.residuals[1] > 1e-10
    sim = fem.Simulation(scene, max_dt=0.1, **options)
    sim.particles.v[:] = 1e-6 * np.sin(5 * sim.particles.x)
    sim.step()  # a smaller automatic step
    assert sim.steps == 1 and sim.health["refused"] > 3 and sim.dt < 0.02
    with pytest.raises(
        ValueError, match=r"tolerance = 0\.001: integrator='symplectic-euler' does not use it"
    ):
        fem.Simulation(scene, spacing=0.1, tolerance=1e-3)


@every_isa
def test_implicit_steps_keep_the_promises(isa, tmp_path):
    options = {"dt": 2e-3, "damping": (0.1, 1e-4), **IMPLICIT}
    with kernels(isa):
        one, three, split = (busy(2, 48, threads=n, **options) for n in (1, 3, 2))
        one.step(12)
        three.step(12)
        for n in (1, 4, 7):
            split.step(n)
        assert one == three and one == split
        one.save(tmp_path / "a.mpm")
        again = mpm.load(tmp_path / "a.mpm")
        one.step(3)
        again.step(3)
        assert one == again


def test_gravity_bounds_implicit_steps_by_the_name_of_the_limit():
    scene = scene_of(2, LAWS["corotated"], gravity=(0, -9.81))
    sim = fem.Simulation(scene, spacing=0.5, integrator="linearly-implicit-euler", dt=2)
    bound = sim.stable_dt()
    assert bound.limit == "acceleration" and bound.dt == pytest.approx((0.5 / 9.81) ** 0.5, rel=1e-12)
    with pytest.raises(
        mpm.InstabilityError, match=r"dt = 2 s .* bound 0\.2257\d* s, set by the acceleration of gravity"
    ):
        sim.run(4)
