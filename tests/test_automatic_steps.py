"""Automatic steps of methods that conserve energy: they must not feed what vibrates."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mpm


@pytest.mark.parametrize("law", [mpm.materials.NeoHookean, mpm.materials.FixedCorotated])
def test_a_block_of_elements_vibrates_and_keeps_its_energy(law):
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Box((0.3, 0.3), (0.6, 0.6)), law(E=1e6, nu=0.3, density=1000))
    sim = mpm.fem.Simulation(scene, spacing=0.05)
    sim.particles.v[:] = 10 * (sim.particles.x - 0.45) * [1, -1]
    sim.run(6)
    energy, dt = sim.history["energy"], sim.history["dt"]
    assert sim.steps > 10_000
    assert (
        np.abs(energy / energy[0] - 1).max() < 0.12
    )  # measured 0.095; a step that follows the bound blows up
    assert len(set(dt)) < 10  # and the last one ends the run


def test_a_block_of_elements_bounces_and_keeps_its_energy():
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(mpm.shapes.Box((0.3, 0.3), (0.6, 0.6)), mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000))
    sim = mpm.fem.Simulation(scene, spacing=0.05)
    sim.run(6)
    energy = sim.history["energy"]
    assert (
        energy.max() < 1.001 * energy[0] and energy.min() > 0.9 * energy[0]
    )  # measured 1, 0.923; it was 47 times


@pytest.mark.parametrize("kernel", ["cubic", "wendland"])
def test_water_in_a_tank_gains_no_energy(kernel):
    """Without any viscosity; surfaces that break up gain a little."""
    scene = mpm.Scene((0, 0), (2, 1), gravity=(0, -9.81))
    scene.add(mpm.shapes.Box((0, 0), (0.5, 0.5)), mpm.materials.Fluid(bulk_modulus=1e6, density=1000))
    sim = mpm.sph.Simulation(scene, spacing=1 / 32, kernel=kernel)
    sim.run(3)
    energy = sim.history["energy"]
    assert energy.max() < 1.03 * energy[0]  # measured 1.007, 1.016; it was 1.22, 1.39


def test_a_held_step_is_state(tmp_path):
    scene = mpm.Scene((0, 0), (2, 1), gravity=(0, -9.81))
    scene.add(mpm.shapes.Box((0, 0), (0.5, 0.5)), mpm.materials.Fluid(bulk_modulus=1e6, density=1000))
    sim = mpm.sph.Simulation(scene, spacing=1 / 16)
    sim.step(300)
    sim.save(tmp_path / "a.mpm")
    again = mpm.load(tmp_path / "a.mpm")
    sim.step(200)
    again.step(200)
    assert again == sim and again.dt == sim.dt


def largest_energy(sim, time):
    sim.run(time)
    energy = sim.history["energy"]
    return energy.max() / energy[0]


OGDEN = mpm.materials.Ogden(mu_1=-1e4 / 20, alpha_1=-20.0, bulk_modulus=1e4, density=1000)


@pytest.mark.parametrize("law", [mpm.materials.NeoHookean, mpm.materials.Hencky])
def test_elements_that_stiffen_within_a_step_make_no_energy(law):
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.2), law(E=1e4, nu=0.3, density=1000))
    sim = mpm.fem.Simulation(scene, spacing=1 / 8)
    assert largest_energy(sim, 2) < 1.001  # measured 1 + 4e-16; they were 3.07, 6.27
    assert sim.health["refused"] > 0


@pytest.mark.parametrize(
    ("d", "spacing", "mach", "dtype"),
    [(2, 1 / 16, 0.3, "float64"), (2, 1 / 16, 0.6, "float32"), (3, 1 / 10, 1, "float32")],
)
def test_strong_stiffening_makes_no_energy_in_elements(d, spacing, mach, dtype):
    speed = mach * OGDEN.wave_speed
    scene = mpm.Scene([0] * d, [1] * d)
    scene.add(mpm.shapes.Ball([0.25] + [0.5] * (d - 1), 0.2), OGDEN, velocity=[-speed] + [0] * (d - 1))
    sim = mpm.fem.Simulation(scene, spacing=spacing, dtype=dtype)
    assert largest_energy(sim, 0.8 / speed) < 1.001  # measured 1 + 2e-16, 1, 1; they were 8e48, 1.96, 1.37


def test_an_element_at_the_end_of_its_law_is_named():
    """It is crushed in ever smaller steps, which used to end with a step too small for the clock."""
    scene = mpm.Scene((0, 0), (1, 1))
    material = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)
    scene.add(mpm.shapes.Ball((0.5, 0.25), 0.2), material, velocity=(0, -30))
    sim = mpm.fem.Simulation(scene, spacing=1 / 16)
    with pytest.raises(
        mpm.InstabilityError, match=r"first one with the nodes .* choose a slower impact"
    ) as e:
        sim.run(0.05)
    named = {int(node) for node in re.search(r"nodes (\d+), (\d+) and (\d+),", str(e.value)).groups()}
    first = [k for k, nodes in enumerate(sim.elements.nodes) if set(nodes) == named]
    assert named <= set(e.value.rows) and 1e-3 < sim.elements.J[first[0]] < 0.02  # measured 0.0010005
    assert np.isfinite(sim.totals().energy)


def collide(law, speed, solver, **size):
    scene = mpm.Scene((0, 0), (1, 1))
    for x, v in ((0.33, speed), (0.67, -speed)):
        scene.add(mpm.shapes.Ball((x, 0.5), 0.15), law, velocity=(v, 0))
    return solver(scene, **size)


def fluid(gamma):
    return mpm.materials.Fluid(bulk_modulus=1e4, density=1000, gamma=gamma, tension=False)


@pytest.mark.parametrize(
    ("law", "speed"),
    [
        (fluid(20), 4),
        (OGDEN, 5),
        (mpm.materials.Ogden(mu_1=1e4 / 20, alpha_1=20.0, bulk_modulus=1e4, density=1000), 5),
    ],
)
def test_particles_that_stiffen_within_a_step_make_no_energy(law, speed):
    sim = collide(law, speed, mpm.Simulation, dx=1 / 32)
    assert largest_energy(sim, 0.1) < 1.01  # measured 1, 1.002, 1; they were 3.50, 1.075 and an error


@pytest.mark.parametrize(("gamma", "speed"), [(20, 2), (7, 3)])
def test_fluid_that_stiffens_within_a_step_makes_no_energy(gamma, speed):
    sim = collide(fluid(gamma), speed, mpm.sph.Simulation, spacing=1 / 32)
    assert largest_energy(sim, 0.1) < 1.01  # measured 1.0081, 1.0063; they were 2.162, 1.043


def bounce(gamma, mach, d, **options):
    """A ball of fluid meets the floor: the largest energy, and that of the end, over that of the beginning."""
    law, middle, rest = fluid(gamma), (0.5,) * (d - 1), (0,) * (d - 1)
    speed = mach * law.wave_speed
    scene = mpm.Scene((0,) * d, (1,) * d)
    scene.add(mpm.shapes.Ball((*middle, 0.25), 0.2), law, velocity=(*rest, -speed))
    sim = mpm.sph.Simulation(scene, spacing=1 / 16 if d == 2 else 1 / 10, **options)
    sim.run(0.4 / speed)
    kinetic, elastic, dt = (sim.history[name] for name in ("kinetic", "elastic", "dt"))
    # velocities belong to the middle of the last step and of the next one
    before = dt[1:-1] / (dt[1:-1] + dt[2:])
    energy = (1 - before) * kinetic[1:-1] + before * kinetic[2:] + elastic[1:-1]
    return np.array([energy.max(), kinetic[-1] + elastic[-1]]) / kinetic[0], np.median(dt[1:])


@pytest.mark.parametrize("gamma", [1, 7, 20])
@pytest.mark.parametrize("mach", [0.1, 0.3, 1])
@pytest.mark.parametrize(("d", "dtype"), [(2, "float64"), (2, "float32"), (3, "float64"), (3, "float32")])
def test_an_impact_of_fluid_has_the_energy_of_short_steps(gamma, mach, d, dtype):
    """Measured: 0.0056 more in an impact, 0.0057 less after it; with a limit on the rate alone 0.195, 0.193 more."""
    energy, dt = bounce(gamma, mach, d, dtype=dtype)
    short, _ = bounce(gamma, mach, d, dtype=dtype, max_dt=dt / 10)
    assert np.abs(energy - short).max() < 0.01


def test_steps_of_different_size_feed_no_wave():
    """Frames of two and a half steps, the last two of which are made equal."""
    lattice = np.stack(np.meshgrid((np.arange(22) + 0.5) / 22, (np.arange(20) + 0.5) / 20, indexing="ij"), -1)
    water = mpm.materials.Fluid(bulk_modulus=4e5, density=1000)
    scene = mpm.Scene((0, 0), (1, 1), walls="periodic")
    scene.add(mpm.shapes.Points(lattice.reshape(-1, 2)), water,
              velocity=lambda x: np.stack([0.2 * np.sin(2 * np.pi * x[:, 0]), 0 * x[:, 0]], axis=1))  # fmt: skip
    sim = mpm.sph.Simulation(scene, spacing=1 / 20)
    for _ in range(200):
        sim.run(2.5 * 0.9 * 0.6 * sim.smoothing_length * 1.7 / 20)
    energy = sim.history["energy"]
    assert energy.max() < 1.02 * energy[0]  # measured 1.0065; it was 1.386


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("d", [2, 3])
def test_a_step_strains_no_particle_too_far(d, dtype):
    """Two halves of a block that meet or part: I + dt ∇v has a determinant of at least 0.8, and so have, with 0.9, both
    factors of Cayley's transform, of which one is small where material parts."""
    soft = mpm.materials.Corotated(E=1e-3, nu=0.0, density=1000)  # its stiffness bounds no step
    for f_update, kernel, least, most in (
        ("linear", "quadratic", 0.8, np.inf),
        ("cayley", "quadratic", 0.9 / 1.1, 1.1 / 0.9),
        ("cayley", "cubic", 0.9 / 1.1, 1.1 / 0.9),
    ):
        for speed in (-1.0, 1.0):
            scene = mpm.Scene([0] * d, [1] * d)
            along = np.eye(d)[0] * speed
            scene.add(
                mpm.shapes.Box([0.3] * d, [0.7] * d),
                soft,
                velocity=lambda x, v=along: np.sign(x[:, :1] - 0.5) * v,
            )
            sim = mpm.Simulation(scene, dx=1 / 16, f_update=f_update, kernel=kernel, dtype=dtype)
            sim.step()
            J = np.array(sim.particles.J)
            assert least - 1e-6 < J.min() and J.max() < most + 1e-6
            strain = J.min() if speed < 0 else J.max()
            assert abs(strain - 1) > 0.09  # the step is not needlessly short


def test_fibres_that_get_taut_and_slack_gain_no_energy():
    """Symplectic Euler on a stress with a kink may gain energy at any share of its bound."""
    random = np.random.default_rng(2)
    fibres = mpm.materials.FibreReinforced(E=1e4, nu=0.3, density=1000, k_1=1e4, direction=(0.7, 0.3, 0))
    scene = mpm.Scene((-9, -9), (10, 10))
    scene.add(
        mpm.shapes.Box((0, 0), (1, 1)), fibres, velocity=lambda x: 1e-2 * random.standard_normal(x.shape)
    )
    sim = mpm.fem.Simulation(scene, spacing=1 / 4, history=100)
    sim.step(20_000)
    energy = sim.history["energy"]
    assert energy[-1] < 1.1 * energy[0]  # measured 1.035; it was 1.78, and 46 after 100,000 steps


@pytest.mark.parametrize("solver", [mpm.Simulation, mpm.fem.Simulation])
def test_the_doctor_warns_of_steps_across_a_kink(solver):
    for law, share, good in ((True, 0.45, True), (True, 0.6, False), (False, 0.6, True)):
        material = (
            mpm.materials.FibreReinforced(E=1e4, nu=0.3, density=1000, k_1=1e4)
            if law
            else mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)
        )
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add(mpm.shapes.Box((0.3, 0.3), (0.7, 0.7)), material)
        size = {"dx" if solver is mpm.Simulation else "spacing": 1 / 32}
        bound = solver(scene, **size).stable_dt().dt
        report = str(mpm.doctor(solver(scene, dt=share * bound, **size)))
        assert ("FibreReinforced has a kink" in report) == (not good)


STIFFENING = {
    "ogden": (0.6, mpm.materials.Ogden(mu_1=-1e4 / 30, alpha_1=-30, bulk_modulus=1e4, density=1000)),
    "cam_clay": (0.8, mpm.materials.CamClay(shear_modulus=5e3, swelling=0.005, compression=0.2, critical_slope=1,
                                            attraction=50, preconsolidation=1e12, density=1000)),
}  # fmt: skip


@pytest.mark.parametrize("name", STIFFENING)
@pytest.mark.parametrize("d", [2, 3])
def test_an_impact_of_a_law_with_a_large_power_gains_no_energy(name, d):
    """Velocities are half a step behind the positions: the kinetic energies around a position are averaged.
    Measured: 0.9992 at most; with a limit of 0.8 whatever the law, 1.177 and 1.014, 1.956 and 1.130."""
    speed, law = STIFFENING[name]
    scene = mpm.Scene([0] * d, [1] * d)
    velocity = -speed * law.wave_speed * np.eye(d)[-1]
    scene.add(mpm.shapes.Ball([0.5] * (d - 1) + [0.25], 0.2), law, velocity=velocity)
    sim = mpm.Simulation(scene, dx=1 / 16)
    sim.run(0.2 / np.abs(velocity).max())
    kinetic, elastic = sim.history["kinetic"], sim.history["elastic"]
    energy = (kinetic[1:] + kinetic[:-1]) / 2 + elastic[:-1]
    assert energy.max() < 1.002 * kinetic[0]
