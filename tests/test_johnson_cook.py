"""Johnson and Cook's metal: its yield stress, heat and pressure in closed form, and a shock."""

import math
from dataclasses import replace

import numpy as np
import pytest

import mpm
import scenes
from deformations import rotations
from loops import each
from mpm import _core, point

M = mpm.materials
every_dim = pytest.mark.parametrize("d", scenes.DIMS)
every_isa = each("isa", scenes.ISAS)
every_dtype = each("dtype", scenes.DTYPES)

COPPER = M.JohnsonCook(
    A=90e6,
    B=292e6,
    n=0.31,
    C=0.025,
    m=1.09,
    shear_modulus=46e9,
    sound_speed=3940,
    s=1.489,
    grueneisen=2.0,
    specific_heat=383,
    melting_temperature=1356,
    density=8960,
)
STEEL = M.JohnsonCook(
    A=792e6,
    B=510e6,
    n=0.26,
    C=0.014,
    m=1.03,
    shear_modulus=200e9 / 2.58,
    sound_speed=math.sqrt(200e9 / (3 * 0.42) / 7830),
    specific_heat=477,
    reference_temperature=294,
    initial_temperature=294,
    melting_temperature=1793,
    density=7830,
)


def flow_stress(metal, strain, rate, T):
    """The Cauchy stress at which it flows, in NumPy."""
    heat = np.clip(
        (T - metal.reference_temperature) / (metal.melting_temperature - metal.reference_temperature), 0, 1
    )
    faster = 1 + metal.C * np.log(np.maximum(rate / metal.reference_rate, 1))
    return (metal.A + metal.B * strain**metal.n) * faster * (1 - heat**metal.m)


def deviators(m, d, rng, size):
    """Elastic gradients of constant volume with the principal strains of a range of sizes, some with a rotation."""
    strain = rng.normal(size=(m, d)) * size[:, None]
    strain -= strain.mean(axis=1, keepdims=True)
    Q, R = rotations(m, d, rng), rotations(m, d, rng)
    return np.einsum("nij,nj,nkj->nik", Q, np.exp(strain), R)


def mises(metal, F, history):
    """The equivalent Cauchy stress."""
    answer = metal._evaluate(F, history)
    m, d = F.shape[:2]
    tau = np.zeros((m, 3, 3))
    tau[:, :d, :d] = answer.tau
    if d == 2:
        tau[:, 2, 2] = answer.tau_zz
    s = tau - np.trace(tau, axis1=1, axis2=2)[:, None, None] / 3 * np.eye(3)
    J = np.linalg.det(F) * (history[:, 0] if d == 2 else 1)
    return np.sqrt(1.5 * (s**2).sum(axis=(1, 2))) / J


def test_the_flow_stress_of_published_constants():
    """OFHC copper: (strain, rate, T*) in closed form, by a long shear at each rate."""
    for strain, rate, heat, expected in (
        (0.1, 1, 0, 233.015415e6),
        (0.1, 1e3, 0, 273.255752e6),
        (0.5, 1e3, 0.2, 315.702263e6),
    ):
        T = 298 + heat * (1356 - 298)
        assert flow_stress(COPPER, strain, rate, T) == pytest.approx(expected, rel=1e-8)
        # a small step of that strain rate from the state before
        dt, g = 1e-8, rate * 1e-8
        trial = expected + 3 * COPPER.shear_modulus * g
        e = trial / (2 * COPPER.shear_modulus) / math.sqrt(1.5) * np.array([2, -1, -1]) / math.sqrt(6)
        history = {"plastic_strain": [strain - g], "temperature": [T]}
        F, after = COPPER.return_map(np.diag(np.exp(e))[None], history, dt=dt)
        # the expected stress is rounded; the heat of the step softens it by 1e-9 to 1e-6
        assert after["plastic_strain"][0] == pytest.approx(strain, abs=1e-4 * g + 1e-11)
        kept = np.array([[1, after["plastic_strain"][0], after["temperature"][0]]])
        assert mises(COPPER, F, kept)[0] == pytest.approx(expected, rel=2e-6)


def test_one_step_with_heating_of_a_published_implementation():
    """Steel, one step of 1 ms to a strain of 1.1e-3: strain, stress and temperature of another code."""
    strain, stress, T = 0.0011138185110505848, 880269994.07, 294.2244156730859
    G = STEEL.shear_modulus
    trial = stress + 3 * G * strain
    e = trial / (2 * G) / math.sqrt(1.5) * np.array([2, -1, -1]) / math.sqrt(6)
    F, after = STEEL.return_map(np.diag(np.exp(e))[None], dt=1e-3)
    assert after["plastic_strain"][0] == pytest.approx(strain, rel=1e-6)
    # it takes the mean of the stresses too, but that before the step without the rate: 1.6e-4 K less
    assert after["temperature"][0] == pytest.approx(T, abs=2e-4)
    kept = np.array([[1, after["plastic_strain"][0], after["temperature"][0]]])
    assert mises(STEEL, F, kept)[0] == pytest.approx(stress, rel=1e-7)  # measured 1e-8


@each("metal", [COPPER, STEEL])
@every_isa
@every_dim
@every_dtype
def test_the_return_map_reaches_the_surface_of_its_end(metal, isa, d, dtype):
    """Trial strains from 1e-4 to 1, cold, hot and molten, with and without hardening: stress = flow stress there, the
    trace and det F stay, work becomes heat."""
    rng = np.random.default_rng(3)
    m, dt = 4000, 1e-6
    F = deviators(m, d, rng, 10 ** rng.uniform(-4, -0.5, m)) * rng.uniform(0.9, 1.05, (m, 1, 1))
    history = np.ones((m, 3))
    history[:, 1] = 10 ** rng.uniform(-8, 0.3, m) * (rng.random(m) < 0.8)
    history[:, 2] = rng.uniform(200, 1.1 * metal.melting_temperature, m)
    F, history = F.astype(dtype), history.astype(dtype)
    answer = _core.return_map(metal.law, metal.parameters, F, history, d, isa, dtype, dt)
    G, kept = (
        np.frombuffer(part, dtype).reshape(a.shape) for part, a in zip(answer, (F, history), strict=True)
    )
    F, history, G, kept = (np.asarray(a, np.float64) for a in (F, history, G, kept))
    grown, before, after = kept[:, 1] - history[:, 1], mises(metal, F, history), mises(metal, G, kept)
    flows = grown > 0
    still = ~flows
    np.testing.assert_array_equal(G[still], F[still])
    assert 0.5 * m < flows.sum() < m
    eps = np.finfo(dtype).eps
    limit = flow_stress(metal, kept[:, 1], grown / dt, kept[:, 2])
    exact = flows & (grown > 1e3 * eps * kept[:, 1])  # the rate of the others is rounded
    assert np.abs(after - limit)[exact].max() < 40 * eps * metal.shear_modulus  # measured 18: F is rounded
    assert (
        before[still] <= flow_stress(metal, history[:, 1], 1, history[:, 2])[still] * (1 + 100 * eps) + 1
    ).all()
    volume = np.linalg.det(G) * (kept[:, 0] if d == 2 else 1)
    np.testing.assert_allclose(volume, np.linalg.det(F), rtol=60 * eps)
    first = flow_stress(metal, history[:, 1], grown / dt, history[:, 2])
    work = 0.5 * grown * (first + after) * np.linalg.det(F)
    heat = metal.density * metal.specific_heat * (kept[:, 2] - history[:, 2]) / metal.taylor_quinney
    np.testing.assert_allclose(heat, work, rtol=2e-3, atol=1e11 * eps)


def test_molten_metal_has_no_strength():
    F = np.diag([1.1, 1 / 1.1, 1.0])[None]
    G, after = COPPER.return_map(F, {"temperature": [1400.0]}, dt=1e-6)
    np.testing.assert_allclose(COPPER._evaluate(G, np.array([[1, 0.1, 298.0]])).tau, 0, atol=1e-3)
    assert after["plastic_strain"][0] == pytest.approx(2 / math.sqrt(3) * math.log(1.1), rel=1e-12)
    assert after["temperature"][0] == 1400.0  # no work without stress


@every_isa
@every_dim
@every_dtype
def test_pressure_and_energy_of_the_equation_of_state(isa, d, dtype):
    """Cold and hot, volume ratios J: p_H of the Hugoniot curve, along its tangent beyond, a line in tension."""
    J = np.array([0.2, 0.35, 0.5, 0.7, 0.9, 0.999, 1.0, 1.001, 1.3, 2.0])
    F = (J[:, None, None] ** (1 / d) * np.eye(d)).astype(dtype)
    J = np.linalg.det(F.astype(np.float64))
    K, c, s, x = 8960 * 3940.0**2, 8960 * 383.0, 1.489, 1 - J
    on = np.clip(x, 0, 0.8 / s)
    p = K * on / (1 - s * on) ** 2
    slope = K * (1 + s * on) / (1 - s * on) ** 3
    U = K / s**2 * (1 / (1 - s * on) - 1 + np.log1p(-s * on))
    U += p * (x - on) + slope / 2 * (x - on) ** 2
    p = p + slope * (x - on)
    for T in (298.0, 900.0):
        hot, history = 2 * c * (T - 298), np.tile([1, 0, T], (len(F), 1)).astype(dtype)
        tau, energy, zz, *_ = (
            np.frombuffer(part, dtype)
            for part in _core.evaluate(COPPER.law, COPPER.parameters, F, d, isa, dtype, history)
        )
        if d == 2:  # held out of plane: dev e is not 0
            tau = np.column_stack([tau.reshape(-1, 2, 2)[:, [0, 1], [0, 1]], zz]).mean(axis=1)
            e = np.log(J) / 2
            U_shear = 46e9 * (2 * (e - 2 * e / 3) ** 2 + (2 * e / 3) ** 2)
        else:
            tau, U_shear = tau.reshape(-1, 3, 3)[:, 0, 0], 0
        eps = np.finfo(dtype).eps
        # measured 3 eps
        np.testing.assert_allclose(-tau, (p + hot) * J, rtol=40 * eps, atol=40 * eps * K)
        np.testing.assert_allclose(energy, U + hot * x + U_shear, rtol=40 * eps, atol=40 * eps * K)
    small = (1 - 1e-6) ** (1 / 3) * np.eye(3)[None]  # of second order: nothing cancels
    x = 1 - np.linalg.det(small)[0]
    assert COPPER.energy(small)[0] == pytest.approx(K * x**2 / 2 * (1 + 4 / 3 * s * x), rel=1e-9)


def test_adiabatic_shear_heats_and_softens():
    """Copper in simple shear at 1e4 per second to a shear of 3: the temperature is chi times the area below the
    curve; without heat it stays harder. Halving the steps changes nothing to 1e-3."""
    hot, cold = (
        point.simple_shear(replace(COPPER, taylor_quinney=chi), shear=3.0, duration=3e-4, steps=600)
        for chi in (0.9, 0.0)
    )
    coarse = point.simple_shear(COPPER, shear=3.0, duration=3e-4, steps=300)
    work = np.trapezoid(hot.shear_stress, np.linspace(0, 3, 601))
    gained = hot.history["temperature"][-1] - 298
    assert gained == pytest.approx(0.9 * work / (8960 * 383), rel=2e-3)  # measured 3e-4: the elastic part
    assert coarse.history["temperature"][-1] - 298 == pytest.approx(gained, rel=1e-3)
    assert not np.ptp(cold.history["temperature"])
    assert hot.shear_stress[-1] < 0.9 * cold.shear_stress[-1]
    strain = hot.history["plastic_strain"]
    rate = np.diff(strain)[-1] / (3e-4 / 600)
    expected = flow_stress(COPPER, strain[-1], rate, hot.history["temperature"][-1])
    assert hot.q[-1] == pytest.approx(expected, rel=1e-9)


@each("velocity", [200.0, 600.0])
def test_a_shock_runs_as_its_hugoniot_says(velocity):
    """Copper hits a wall: the shock has the speed c0 + s u_p and the pressure rho0 U_s u_p. Strength is small here."""
    metal = replace(COPPER, A=1e6, B=0, C=0, grueneisen=0)
    h, length = 1e-3, 0.2
    scene = mpm.Scene((0, 0), (length + 0.02, 4 * h), walls={"x": "mirror", "y": "periodic"})
    scene.add(mpm.shapes.Box((0, 0), (length, 4 * h)), metal, velocity=(-velocity, 0))
    sim = mpm.Simulation(scene, dx=h, sampling="lattice")
    speed = COPPER.sound_speed + COPPER.s * velocity
    front = []
    for t in (0.1 / speed, 0.16 / speed):
        sim.run(t - sim.time)
        x, v = np.asarray(sim.particles.x)[:, 0], np.asarray(sim.particles.v)[:, 0]
        front.append(((v > -velocity / 2).mean() * length, sim.time))  # the length at rest that it has passed
    found = (front[1][0] - front[0][0]) / (front[1][1] - front[0][1])
    assert found == pytest.approx(speed, rel=0.01)  # measured below
    behind = (x > 0.02) & (x < 0.08)
    p = -np.trace(sim.compute("stress")[behind], axis1=1, axis2=2).mean() / 2
    assert p == pytest.approx(8960 * speed * velocity, rel=0.01)


def test_wrong_temperatures_are_refused():
    with pytest.raises(ValueError, match=r"melting_temperature = 298.0, 298.0: the second must be larger"):
        replace(COPPER, melting_temperature=298)
    with pytest.raises(ValueError, match=r"sound_speed = -1.0: must be > 0 \[m/s\]"):
        replace(COPPER, sound_speed=-1)
    sim = scenes.single([3.2] * 2, COPPER)
    assert sim.particles.temperature[0] == 298
    sim.particles.temperature = [-1.0]
    with pytest.raises(mpm.SimulationError, match="temperature <= 0 was written"):
        sim.step()
