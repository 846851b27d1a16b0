"""The books of dissipation: what laws take from the energy, against closed forms and the work of the stress."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest

import mpm
import scenes
from loops import each
from mpm import _core
from mpm.solver import derived
from scenes import kernels

M = mpm.materials
SHEAR = {2: np.array([[0.0, 1.0], [0.0, 0.0]]), 3: np.array([[0, 1.0, 0], [0, 0, 0], [0, 0, 0]])}
FLOW = {  # shear and compression in all directions
    2: np.array([[-6.0, 20.0], [7.0, -5.0]]),
    3: np.array([[-6.0, 20.0, 3.0], [7.0, -5.0, 0.0], [4.0, -2.0, 1.0]]),
}


def held(material, gradient, steps, dt, stress=None, **numerics):
    """A block that is given the velocity `gradient`·x before every step, so that the particle in its middle strains
    uniformly: (simulation, row of that particle, work of its stress [J/m³]).

    `stress(sim, row)` is called before and after every step, for the work by the trapezoidal rule.
    """
    d = len(gradient)
    scene = mpm.Scene([-1] * d, [1] * d)
    scene.add(mpm.shapes.Box([-0.4375] * d, [0.4375] * d), material)
    sim = mpm.Simulation(
        scene, dx=0.125, dt=dt, sampling="lattice", particles_per_cell=1, allow_unstable=True, dissipation=True,
        threads=1, **numerics,
    )  # fmt: skip
    row = int(np.argmin((sim.particles.x**2).sum(axis=1)))
    strain = dt * gradient - (dt * gradient) @ (dt * gradient) / 2  # ln(I + A) to third order
    work, before = 0.0, stress(sim, row) if stress else 0
    for _ in range(steps):
        sim.particles.v[:] = np.asarray(sim.particles.x) @ gradient.T
        sim.particles.C[:] = gradient
        sim.step()
        if stress:
            after = stress(sim, row)
            work += ((before + after) / 2 * strain).sum()
            before = after
    return sim, row, work


def kirchhoff(sim, row):
    """The stress without viscosity of a particle."""
    rows = np.array([row])
    material, F = sim.materials[0], sim.particles["F"] if "F" in sim.particles.fields else None
    if F is None:
        F = derived._dilation(np.asarray(sim.particles.J, dtype=float), sim.particles)
    history = derived.history(material, sim.particles, rows)
    return material._evaluate(np.asarray(F[rows], dtype=float), history).tau[0]


def dissipated(sim, row):
    return float(sim.particles.plastic_dissipation[row]), float(sim.particles.viscous_dissipation[row])


@pytest.mark.numbers
@each("d", scenes.DIMS)
@pytest.mark.parametrize("law", scenes.DEFORMABLE)
def test_the_work_of_the_stress_is_stored_or_dissipated(law, d):
    flow = -FLOW[d] if law == "brittle" else FLOW[d]  # it cracks in tension
    sim, row, work = held(scenes.MATERIALS[law], flow, 60, 1.5e-4, kirchhoff)
    plastic, viscous = dissipated(sim, row)
    viscous = 0 if law == "fluid" else viscous  # of stress that `kirchhoff` leaves out
    stored = sim.compute("elastic_energy")[row] / sim.particles.volume[row]
    assert abs(work - stored - plastic - viscous) <= 2e-4 * work, (
        work,
        stored,
        plastic,
        viscous,
    )  # 7e-5, snow
    if law in ("fluid", "viscoelastic"):
        assert plastic == 0
    else:
        assert viscous == 0
        returns = next(r for r in _core.laws() if r["name"] == law)["return_map"]
        assert plastic > 0.1 * work if returns else plastic == 0


@each("law", scenes.DEFORMABLE)
@pytest.mark.parametrize("d", scenes.DIMS)
def test_every_kernel_set_keeps_the_same_books(d, law):
    with kernels("scalar"):
        expected = dissipated(*held(scenes.MATERIALS[law], FLOW[d], 12, 6e-4)[:2])
    for isa in _core.isas():
        for dtype, tolerance in (("float64", 1e-12), ("float32", 3e-4)):  # 4e-14, 2e-5
            with kernels(isa):
                found = dissipated(*held(scenes.MATERIALS[law], FLOW[d], 12, 6e-4, dtype=dtype)[:2])
            np.testing.assert_allclose(found, expected, rtol=tolerance, err_msg=f"{isa} {dtype}")


@pytest.mark.parametrize("d", scenes.DIMS)
def test_perfect_plasticity_dissipates_its_yield_stress_times_the_plastic_strain(d):
    metal = M.VonMises(E=2.6e6, nu=0.3, yield_stress=1e3, density=1e3)
    sim, row, _ = held(
        metal, SHEAR[d], 100, 2e-4
    )  # shear strain 0.02, of which yield/(sqrt(3) mu) is elastic
    yields = 1e3 / np.sqrt(3)
    exact = yields * (0.02 - yields / 1e6)
    assert dissipated(sim, row)[0] == pytest.approx(exact, rel=1e-3)  # 1.8e-4
    assert dissipated(sim, row)[0] == pytest.approx(1e3 * sim.particles.plastic_strain[row], rel=1e-3)  # same


@each("update", ("linear", "cayley"))
def test_large_steps_dissipate_the_same(update):
    """The yield stress times the plastic strain, where steps strain by 2 %: their strain is ln(I + A), Cayley's A."""
    metal = M.VonMises(E=2.6e6, nu=0.3, yield_stress=1e3, density=1e3)
    gained, strained = [], []
    for steps in (1, 21):  # the first step begins without stress
        sim, row, _ = held(metal, np.diag([200.0, -100.0, -100.0]), steps, 1e-4, f_update=update)
        gained.append(dissipated(sim, row)[0])
        strained.append(1e3 * sim.particles.plastic_strain[row])
    assert np.diff(gained) == pytest.approx(
        np.diff(strained), rel=6e-3
    )  # 3e-3, 8e-4; without the logarithm 0.15


@pytest.mark.parametrize("d", scenes.DIMS)
def test_a_newtonian_fluid_dissipates_its_viscosity_times_the_square_of_the_rate(d):
    water = M.Fluid(bulk_modulus=1e5, density=1e3, viscosity=3.0)
    sim, row, _ = held(water, 2 * SHEAR[d], 50, 1e-4, density_correction=0)
    assert dissipated(sim, row) == (0, pytest.approx(3 * 2**2 * 5e-3, rel=1e-9))  # 8e-13


def test_flow_of_a_bingham_fluid_and_creep_of_a_metal():
    """Steady shear: (yield stress + viscosity · rate) · rate, in steps beyond the yield strain."""
    rate, dt = 5.0, 2e-4
    bingham = M.HerschelBulkley(
        bulk_modulus=1e6, shear_modulus=1e6, yield_stress=100, consistency=20, density=1e3, exponent=1
    )
    perzyna = M.VonMises(E=2.6e6, nu=0.3, yield_stress=100 * np.sqrt(3), viscosity=20, density=1e3)
    for material in (bingham, perzyna):
        first, row, _ = held(material, rate * SHEAR[2], 100, dt)
        second, row, _ = held(material, rate * SHEAR[2], 150, dt)
        gained = dissipated(second, row)[0] - dissipated(first, row)[0]
        assert gained == pytest.approx((100 + 20 * rate) * rate * 50 * dt, rel=1e-5)  # 7e-8


def test_heat_is_its_share_of_the_plastic_work():
    metal = M.JohnsonCook(
        A=90e6, B=292e6, n=0.31, C=0.025, m=1.09, shear_modulus=46e9, sound_speed=3940, s=1.489, grueneisen=2.0,
        specific_heat=383, melting_temperature=1356, taylor_quinney=0.9, density=8960,
    )  # fmt: skip
    sim, row, _ = held(metal, 1e4 * SHEAR[3], 400, 5e-8)
    volume, T = sim.particles.volume, np.asarray(sim.particles.temperature)
    heat = 8960 * 383 * (T - metal.initial_temperature)
    assert heat[row] == pytest.approx(0.9 * dissipated(sim, row)[0], rel=3e-4)  # 3.2e-5
    totals = sim.totals()
    assert totals.heat == pytest.approx(float((heat * volume).sum()), rel=1e-12)
    plastic = float((sim.particles.plastic_dissipation * volume).sum())
    assert totals.plastic_dissipation == pytest.approx(plastic, rel=1e-12)
    assert sim.history["heat"][-1] == totals.heat
    np.testing.assert_allclose(sim.compute("heat"), heat * volume, rtol=1e-12, atol=0)


@each("dtype", scenes.DTYPES)
@each("d", scenes.DIMS)
def test_the_heat_of_particles_adds_up_to_that_of_the_books(d, dtype, tmp_path):
    """Also where the initial temperature varies and has no exact number, and beside a law without a temperature."""
    metal = scenes.MATERIALS["johnson_cook"]
    graded = replace(metal, initial_temperature=lambda x: 290.1 + 10 * x[:, 0], melting_temperature=400.7)
    scene = mpm.Scene([0] * d, [1] * d)
    bodies = (replace(metal, initial_temperature=298.1), graded, scenes.MATERIALS["neo_hookean"])
    for k, material in enumerate(bodies):
        scene.add(mpm.shapes.Box([0.1 + 0.25 * k] * d, [0.3 + 0.25 * k] * d), material, velocity=scenes.swirl)
    sim = mpm.Simulation(scene, dx=1 / 16, dtype=dtype, dissipation=True)
    assert (sim.compute("heat") == 0).all()
    sim.step(30)
    heat, index = sim.compute("heat"), sim.particles.material
    assert (heat[index == 2] == 0).all() and (heat[index == 0] > 0).any() and (heat[index == 1] > 0).any()
    assert heat.sum() == pytest.approx(
        sim.totals().heat, rel=1e-6 if dtype == "float32" else 1e-12
    )  # 5e-8, 5e-16
    sim.record(tmp_path / "run.vtkhdf", fps=1, fields=("heat",)).close()
    np.testing.assert_allclose(mpm.replay(tmp_path / "run.vtkhdf")[0]["heat"], heat, rtol=1e-6)


def test_a_simulation_without_a_temperature_has_no_heat():
    sim = bouncing(2, "float64")
    assert "heat" not in sim.quantities
    with pytest.raises(
        ValueError, match="heat is that of laws with a temperature, and this simulation has none"
    ):
        sim.compute("heat")


def ringing(material, **numerics):
    """A free block that a smooth velocity strains beyond yield: (simulation, its energy at the beginning)."""
    gradient = np.array([[-1.5, 1.0], [0.0, 1.0]])
    scene = mpm.Scene([-1, -1], [1, 1])
    scene.add(
        mpm.shapes.Box([-0.5, -0.5], [0.5, 0.5]),
        material,
        velocity=lambda x: np.sin(1.5 * x @ gradient.T) / 1.5,
    )
    sim = mpm.Simulation(scene, dx=1 / 16, sampling="lattice", dissipation=True, **numerics)
    return sim, sim.totals().energy


RINGING = {
    "plastic": (M.VonMises(E=1e5, nu=0.3, yield_stress=1e3, viscosity=100, hardening=1e4, density=1e3), {}),
    "viscous": (M.Fluid(bulk_modulus=5e4, density=1e3, viscosity=50), {}),
    "both": (
        M.Viscoelastic(E=1e5, nu=0.3, g_1=0.5, tau_1=0.02, viscosity=50, density=1e3),
        {"f_update": "cayley", "kernel": "cubic"},
    ),
    "shock": (M.NeoHookean(E=1e5, nu=0.3, density=1e3), {"artificial_viscosity": (4, 4)}),
}


@pytest.mark.numbers
@pytest.mark.parametrize("case", RINGING)
def test_the_energies_of_a_free_block_add_up(case):
    """With FLIP, whose transfer dissipates little, in a quarter of the automatic step."""
    material, options = RINGING[case]
    dt = ringing(material, **options)[0].stable_dt().dt
    sim, start = ringing(material, transfer="flip", flip_ratio=1.0, max_dt=0.15 * dt, **options)
    sim.run(0.25)
    books = sim.history["plastic_dissipation"] + sim.history["viscous_dissipation"]
    assert books[-1] > (0.09 if case == "shock" else 0.3) * start and (np.diff(books) > -1e-9 * start).all()
    assert np.abs(sim.history["energy"] + books - start).max() < 0.01 * start  # 0.005, 0.002, 0.007, 0.004


def bouncing(d, dtype, laws=("von_mises", "fluid"), **numerics):
    """A box of each law, in rows."""
    scene = mpm.Scene([0] * d, [1] * d, gravity=[0] * (d - 1) + [-9.81])
    columns = math.isqrt(len(laws) - 1) + 1
    for k, law in enumerate(laws):
        low = 0.1 + 0.8 / columns * np.array([*divmod(k, columns), 0][:d])
        scene.add(mpm.shapes.Box(low, low + 0.6 / columns), scenes.MATERIALS[law], velocity=scenes.swirl)
    return mpm.Simulation(scene, dx=0.25 / columns, dtype=dtype, sampling="stratified", rng=3, **numerics)


@each("isa", _core.isas())
@each("dtype", scenes.DTYPES)
@each("numerics", [{}, {"transfer": "asflip", "kernel": "cubic", "artificial_viscosity": (0.1, 1)}])
@pytest.mark.parametrize("d", scenes.DIMS)
def test_books_change_no_bit_and_are_those_of_any_threads_and_runs(d, numerics, dtype, isa):
    laws = scenes.DEFORMABLE
    with kernels(isa):
        plain = bouncing(d, dtype, laws, threads=1, **numerics)
        sims = [bouncing(d, dtype, laws, threads=t, dissipation=True, **numerics) for t in (1, 3)]
    plain.step(16), sims[0].step(16), sims[1].step(7), sims[1].step(9)
    assert sims[0].state_hash() == sims[1].state_hash()
    assert sims[0].totals().plastic_dissipation > 0
    for name in plain.particles.fields:
        assert np.array_equal(plain.particles[name], sims[0].particles[name], equal_nan=True), name
    for name in plain.history:
        assert np.array_equal(plain.history[name], sims[0].history[name]), name


@pytest.mark.parametrize("d", scenes.DIMS)
def test_books_survive_save_copy_add_delete_and_record(d, tmp_path):
    sim = bouncing(d, "float64", dissipation=True)
    assert sim.totals().plastic_dissipation == 0 and sim.particles.units["plastic_dissipation"] == "J/m³"
    with sim.record(tmp_path / "run.vtkhdf", fps=1000, fields=("plastic_dissipation",)):
        sim.step(20)
    sim.save(tmp_path / "run.mpm")
    others = [mpm.load(tmp_path / "run.mpm"), copy.deepcopy(sim)]
    frames = mpm.replay(tmp_path / "run.vtkhdf")
    assert frames.totals["plastic_dissipation"][-1] > 0
    assert (
        np.isin(frames[-1]["plastic_dissipation"], sim.particles.plastic_dissipation).mean() > 0.9
        or frames.steps[-1] < 20
    )
    for other in (sim, *others):
        other.step(10)
    assert sim == others[0] == others[1] and others[0]._numerics.dissipation
    assert np.array_equal(others[0].history["viscous_dissipation"], sim.history["viscous_dissipation"])

    books = np.array(sim.particles.plastic_dissipation)
    sim.particles.delete(slice(3, 9))
    assert np.array_equal(sim.particles.plastic_dissipation, np.delete(books, slice(3, 9)))
    sim.add(
        mpm.shapes.Box([0.1] * (d - 1) + [0.6], [0.3] * (d - 1) + [0.8]),
        scenes.MATERIALS["johnson_cook"],
        name="new",
    )
    assert (sim.particles.plastic_dissipation[sim.rows("new")] == 0).all()
    sim.particles.plastic_dissipation[:] = 0  # begins the books anew
    totals = sim.totals()
    assert totals.plastic_dissipation == 0 and totals.heat == 0 and totals.viscous_dissipation > 0
    assert "heat                0 J" in repr(totals)
    sim.step(5)
    assert np.isfinite(sim.particles.plastic_dissipation).all() and sim.totals().plastic_dissipation > 0


def test_a_parameter_that_varies_dissipates_as_its_values(tmp_path):
    metal = dict(nu=0.3, density=1, E=10)
    varying = M.VonMises(yield_stress=lambda x: np.where(x[:, 1] > 0, 0.2, 0.1), **metal)
    for x, stress in ((0.1, 0.2), (-0.1, 0.1)):
        uniform, row, _ = held(M.VonMises(yield_stress=stress, **metal), FLOW[2], 40, 2e-4)
        rows = np.flatnonzero(np.abs(uniform.particles.x - [0, x]).max(axis=1) < 0.1)
        mixed, _, _ = held(varying, FLOW[2], 40, 2e-4)
        expected = uniform.particles.plastic_dissipation[row]
        np.testing.assert_allclose(mixed.particles.plastic_dissipation[rows], expected, rtol=3e-4)  # 3e-5


def test_what_keeps_no_books_says_so():
    scene = mpm.Scene([0, 0], [1, 1], gravity=[0, -1])
    scene.add(mpm.shapes.Box([0.3, 0.3], [0.6, 0.6]), scenes.MATERIALS["neo_hookean"])
    with pytest.raises(ValueError, match="dissipation = True: integrator='implicit-euler' does not use it"):
        mpm.Simulation(scene, dx=1 / 8, integrator="implicit-euler", dissipation=True)
    with pytest.raises(TypeError, match="dissipation"):
        mpm.fem.Simulation(scene, spacing=1 / 8, dissipation=True)
    plain = mpm.Simulation(scene, dx=1 / 8)
    assert plain.totals().heat is None and "dissipation" not in repr(plain.totals())
    with pytest.raises(KeyError, match="history has no 'heat'"):
        plain.history["heat"]
    with pytest.raises(AttributeError, match=r"dissipation=True\) keeps plastic_dissipation"):
        _ = plain.particles.plastic_dissipation
    with pytest.raises(ValueError, match="plastic_dissipation"):
        plain.particles.add_field("plastic_dissipation")
    kept = mpm.Simulation(scene, dx=1 / 8, dissipation=True)
    assert "dissipation" in repr(kept.totals())


PRESSED = {
    "elastic": M.NeoHookean(E=1e5, nu=0.3, density=1e3),
    "metal": M.VonMises(E=1e5, nu=0.3, yield_stress=3e3, density=1e3),
    "fluid": M.Fluid(bulk_modulus=1e5, viscosity=1e3, density=1e3),
    "sand": M.Sand(E=1e5, nu=0.3, friction_angle_deg=30, cohesion=1e3, density=1e3),
}


def pressed(material, d, motion, dx, until):
    """A block under a heavy plate of that motion, with gravity: (simulation, what its energies and books gained in
    every step)."""
    scene = mpm.Scene([0] * d, [1] * (d - 1) + [0.75], gravity=[0] * (d - 1) + [-2], walls="slip")
    scene.add(mpm.shapes.Box([0.25] * (d - 1) + [0], [0.75] * (d - 1) + [0.5]), material)
    up = np.eye(d)[-1]
    scene.add_collider(mpm.shapes.HalfSpace(0.5 * up, -up), contact="slip", motion=motion, name="plate")
    uncorrected = {"density_correction": 0} if isinstance(material, M.Fluid) else {}  # whose work no book has
    sim = mpm.Simulation(scene, dx=dx, dissipation=True, **uncorrected)
    start = sim.totals().energy
    sim.run(until)
    history = sim.history
    books = history["plastic_dissipation"] + history["viscous_dissipation"]
    return sim, history["energy"] - start + books


@pytest.mark.numbers
@pytest.mark.parametrize("case", PRESSED)
@each("d, dx, most", [(2, 1 / 32, 0.03), (3, 1 / 16, 0.07)])
def test_the_work_of_a_plate_is_what_energies_and_books_gain(case, d, dx, most):
    """It moves the tenth of a block's height. Contact and transfer dissipate the rest, at most: elastic, metal, fluid,
    sand 0.6, 1.4, 1.9, 1.5 % of the work in 2-D, 0.8, 2.8, 4.8, 1.2 % in 3-D."""
    velocity = -0.2 * np.eye(d)[-1]
    sim, gained = pressed(PRESSED[case], d, mpm.motion.Linear(velocity), dx, until=0.25)
    work = np.cumsum(sim.history["impulse:plate"] @ velocity)
    assert np.abs(work - gained).max() < most * work[-1] and gained[-1] < work[-1]
    totals = sim.totals()
    largest = {
        "elastic": totals.elastic,
        "metal": totals.plastic_dissipation,
        "fluid": totals.viscous_dissipation,
        "sand": totals.plastic_dissipation,
    }
    # no part of the sum may be missing
    assert largest[case] > 0.8 * work[-1] and np.ptp(sim.history["gravitational"]) > most * work[-1]


def test_the_work_of_a_turning_plate_is_its_torque_times_its_rate():
    rate = -0.3
    turning = mpm.motion.Rotation(rate, about=(0, 0.5))
    sim, gained = pressed(PRESSED["elastic"], 2, turning, 1 / 32, until=0.5)
    work = np.cumsum(sim.history["torque:plate"]) * rate
    assert np.abs(work - gained).max() < 0.03 * work[-1] and gained[-1] < work[-1]  # 0.019


def test_the_work_of_gravity_along_a_periodic_axis_is_its_impulse_times_the_mean_velocity():
    """Two bodies fly apart; the energy along that axis has no potential."""
    scene = mpm.Scene([0, 0], [1, 1], gravity=(3, 0), walls={"x": "periodic"})
    for low, speed in ((0.1, 0.5), (0.6, -1.0)):
        scene.add(mpm.shapes.Box([0.3, low], [0.7, low + 0.3]), PRESSED["elastic"], velocity=(speed, 0))
    sim = mpm.Simulation(scene, dx=1 / 32, dissipation=True)
    start = sim.totals()
    sim.run(0.5)
    history = sim.history
    speed = np.vstack([start.momentum, history["momentum"]]) / start.mass
    work = np.cumsum((history["body_impulse"] * (speed[1:] + speed[:-1]) / 2).sum(axis=1))
    assert work[-1] > 0.1 * start.energy
    assert np.abs(history["energy"] - start.energy - work).max() < 1e-12 * start.energy  # 2e-14
