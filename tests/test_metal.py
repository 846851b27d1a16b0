"""Metal: the radial return with isotropic and kinematic hardening and viscosity, in space and in plane strain."""

import functools
import math

import numpy as np
import pytest

import mpm
import scenes
from deformations import rotations, turned
from loops import each
from mpm import _core
from test_elastic import extremes

every_dim = pytest.mark.parametrize("d", scenes.DIMS)
every_dtype = each("dtype", scenes.DTYPES)
every_isa = each("isa", scenes.ISAS)
VonMises = mpm.materials.VonMises
ROOT = math.sqrt(2 / 3)

E, NU, YIELD = 1e6, 0.3, 5e3
MU, LAMBDA = E / (2 * (1 + NU)), E * NU / ((1 + NU) * (1 - 2 * NU))
PLAIN = VonMises(E=E, nu=NU, yield_stress=YIELD, density=1)
HARD = VonMises(
    E=E, nu=NU, yield_stress=YIELD, density=1, hardening=4e4, kinematic_hardening=2e5, viscosity=50
)
every_metal = pytest.mark.parametrize("metal", [PLAIN, HARD], ids=["plain", "hard"])


def return_map(metal, F, history, isa=scenes.ISAS[-1], dt=1e-3):
    """That of the core, in the precision of F."""
    m, d = F.shape[:2]
    F, history = np.ascontiguousarray(F), np.ascontiguousarray(history, F.dtype)
    after = _core.return_map("von_mises", metal.parameters, F, history, d, isa, F.dtype.name, dt)
    elastic, kept = (np.frombuffer(part, F.dtype) for part in after)
    return elastic.reshape(m, d, d), kept.reshape(m, -1)


def stress(metal, F, history, isa=scenes.ISAS[-1]):
    """tau (m, 3, 3), that out of plane included."""
    m, d = F.shape[:2]
    F, history = np.ascontiguousarray(F), np.ascontiguousarray(history, F.dtype)
    tau, _, zz, *_ = _core.evaluate("von_mises", metal.parameters, F, d, isa, F.dtype.name, history)
    full = np.zeros((m, 3, 3))
    full[:, 2, 2] = np.frombuffer(zz, F.dtype)
    full[:, :d, :d] = np.frombuffer(tau, F.dtype).reshape(m, d, d)
    return full


def rest(m, d):
    history = np.zeros((m, 2 + d * (d + 1) // 2))
    history[:, 0] = 1
    return history


def matrices(columns, d):
    """Symmetric tensors of three dimensions without a trace, from their columns."""
    full = np.zeros((len(columns), 3, 3))
    for column, (i, j) in zip(columns.T, zip(*np.triu_indices(d), strict=True), strict=True):
        full[:, i, j] = full[:, j, i] = column
    if d == 2:
        full[:, 2, 2] = -full[:, 0, 0] - full[:, 1, 1]
    return full


def of_symmetric(function, a):
    """A function of symmetric matrices."""
    value, axes = np.linalg.eigh(a)
    return np.einsum("nik,nk,njk->nij", axes, function(value), axes)


def expected(metal, F, history, dt=1e-3):
    """The return map with NumPy in double, in three dimensions: F_E, history, and where it flows."""
    m, d = F.shape[:2]
    full = np.tile(np.eye(3), (m, 1, 1))
    full[:, :d, :d] = F
    if d == 2:
        full[:, 2, 2] = history[:, 0]
    u, _, vt = np.linalg.svd(full)
    R = u @ vt
    strain = of_symmetric(lambda b: 0.5 * np.log(b), full @ full.transpose(0, 2, 1))
    deviator = strain - np.trace(strain, axis1=1, axis2=2)[:, None, None] / 3 * np.eye(3)
    B = matrices(history[:, 2:], d)
    xi = 2 * MU * deviator - R @ B @ R.transpose(0, 2, 1)
    length = np.linalg.norm(xi, axis=(1, 2))
    excess = length - ROOT * (metal.yield_stress + metal.hardening * history[:, 1])
    H, K, eta = metal.hardening, metal.kinematic_hardening, metal.viscosity
    g = np.maximum(excess, 0) / (2 * MU + 2 / 3 * (H + K) + 2 * eta / dt)
    N = xi / np.maximum(length, 1e-300)[:, None, None]
    full = of_symmetric(np.exp, strain - g[:, None, None] * N) @ R
    B = B + 2 / 3 * K * g[:, None, None] * (R.transpose(0, 2, 1) @ N @ R)
    after = np.concatenate(
        [
            (full[:, 2, 2] if d == 2 else history[:, 0])[:, None],
            (history[:, 1] + ROOT * g)[:, None],
            B[:, *np.triu_indices(d)],
        ],
        axis=1,
    )
    return full[:, :d, :d], after, excess


@functools.cache
def states(metal, d, seed=0, m=4000):
    """Random trial states, most with a history, from within the surface to far beyond it."""
    rng = np.random.default_rng(seed)
    size = 10 ** rng.uniform(-3.3, -0.6, (m, 1))
    F = turned(np.exp(rng.normal(size=(m, 3)) * size), d, rng)
    history = rest(len(F), d)
    history[:, 1] = rng.uniform(0, 0.5, len(F)) * (rng.random(len(F)) < 0.8)
    if d == 2:
        history[:, 0] = np.exp(rng.normal(size=len(F)) * np.tile(size[:, 0], 2))
    if metal.kinematic_hardening:
        B = rng.normal(size=(len(F), 3, 3)) * YIELD
        B = B + B.transpose(0, 2, 1)
        if d == 3:
            B -= np.trace(B, axis1=1, axis2=2)[:, None, None] / 3 * np.eye(3)
        history[:, 2:] = B[:, *np.triu_indices(d)]
    return F, history


# --- closed forms ----------------------------------------------------------------------------------------------------


CORNER = {  # t: principal stresses [MPa]
    1.0: (-95.2628, -95.2628, 190.5256),
    1.25: (-180.5753, 37.6623, 142.9130),
    1.5: (-188.2478, 68.6865, 119.5613),
    1.75: (-189.1948, 75.1295, 114.0653),
    2.0: (-189.3648, 76.4961, 112.8687),
}


@every_isa
def test_the_path_around_a_corner(isa):
    """Kamojjala et al. 2015: mu = 79 GPa, shear strength 165 MPa; the angle between stress and strain rate obeys
    tan(psi/2) = tan(psi_0/2) exp(-2 mu e t/R)."""
    metal = VonMises(E=2 * 79e9 * 1.25, nu=0.25, yield_stress=math.sqrt(3) * 165e6, density=1)
    first, second = np.array([-0.003, -0.003, 0.006]), np.array([-0.0103923, 0, 0.0103923])

    def path(steps):
        F, history, found, yields = np.eye(3)[None], rest(1, 3), {}, None
        for n in range(1, 2 * steps + 1):
            increment = first / steps if n <= steps else (second - first) / steps
            F, history = return_map(metal, np.diag(np.exp(increment)) @ F, history, isa)
            if yields is None and history[0, 1] > 0:  # so far radial: what has flowed is the time since yield
                yields = n / steps - history[0, 1] / (ROOT * np.linalg.norm(first))
            if n / steps in CORNER:
                found[n / steps] = stress(metal, F, history, isa)[0]
        return found, yields

    (coarse, _), (fine, yields) = path(2000), path(4000)
    assert yields == pytest.approx(0.200976, rel=0, abs=1e-6)  # measured 3e-7: the digits printed
    for t, values in CORNER.items():
        found = 2 * fine[t] - coarse[t]  # the return map is of first order in the step
        deviator = found - np.trace(found) / 3 * np.eye(3)
        np.testing.assert_allclose(deviator / 1e6, np.diag(values), rtol=0, atol=1e-4)  # measured 5e-5


@every_dim
@every_isa
@every_dtype
def test_the_plateau_of_simple_shear(d, isa, dtype):
    """sigma_y/sqrt(3), and with viscosity eta times the rate of shear above it."""
    rate, dt, steps = 2.0, 1e-4, 400
    step = np.eye(d, dtype=dtype)
    step[0, 1] = rate * dt
    for eta in (0.0, 100.0):
        metal = VonMises(E=E, nu=NU, yield_stress=YIELD, density=1, viscosity=eta)
        F, history = np.eye(d, dtype=dtype)[None], rest(1, d)
        for _ in range(steps):
            F, history = return_map(metal, (step @ F).astype(dtype), history, isa, dt)
        tau = stress(metal, F, history, isa)[0]
        plateau = YIELD / math.sqrt(3) + eta * rate
        assert math.hypot(tau[0, 1], tau[0, 0]) == pytest.approx(
            plateau, rel={"float64": 1e-5, "float32": 3e-4}[dtype]
        )
        assert abs(tau[2, 2]) < 1e-2 * YIELD and abs(tau[0, 0] + tau[1, 1]) < 1e-2 * YIELD
        strained = rate * dt * steps / math.sqrt(3) - plateau / MU / math.sqrt(3)
        # elastic until the yield strain; what viscosity adds comes with the relaxation time eta/mu
        assert history[0, 1] == pytest.approx(strained, rel=3e-3)


@every_isa
@every_dtype
def test_uniaxial_stress_with_hardening(isa, dtype):
    """sigma = sigma_y + (H + K) ep, e = sigma/E + ep; the same step exact, and the way back by 2 (sigma_y + H ep)."""
    H, K, eps = 4e4, 6e4, scenes.EPSILON[dtype]
    metal = VonMises(E=E, nu=NU, yield_stress=YIELD, density=1, hardening=H, kinematic_hardening=K)
    sigma = np.array([1.1, 1.5, 3.0]) * YIELD
    ep = (sigma - YIELD) / (H + K)

    def gradient(sigma, ep):
        lateral = -NU * sigma / E - ep / 2
        return np.exp(np.stack([sigma / E + ep, lateral, lateral], axis=1))[:, :, None] * np.eye(3)

    F, history = return_map(metal, gradient(sigma, ep).astype(dtype), rest(3, 3), isa)
    uniaxial = np.diag([1.0, 0, 0])
    np.testing.assert_allclose(
        stress(metal, F, history, isa), sigma[:, None, None] * uniaxial, rtol=0, atol=64 * eps * E
    )
    np.testing.assert_allclose(history[:, 1], ep, rtol=0, atol=64 * eps)
    np.testing.assert_allclose(
        matrices(history[:, 2:], 3), (K * ep)[:, None, None] * np.diag([2, -1, -1]) / 3, atol=64 * eps * K
    )
    back = sigma - 2 * (YIELD + H * ep)
    for factor, flows in ((0.999, False), (1.001, True)):  # of the way to reversed flow
        to = sigma + factor * (back - sigma)
        change = gradient(to - sigma, 0 * ep).astype(dtype)
        _, after = return_map(metal, change @ F, history, isa)
        assert ((after[:, 1] > history[:, 1]) == flows).all()


@every_dim
def test_stress_above_the_surface_relaxes(d):
    """With eta alone, the excess of a held strain falls by 1/(1 + mu dt/eta) per step: the time eta/mu."""
    metal = VonMises(E=E, nu=NU, yield_stress=YIELD, density=1, viscosity=1e4)
    dt = 1e-3 * 1e4 / MU
    F = np.eye(d)[None].copy()
    F[0, 0, 0], F[0, 1, 1] = 1.02, 1 / 1.02
    history, excess = rest(1, d), []
    for _ in range(1000):
        F, history = return_map(metal, F, history, dt=dt)
        tau = stress(metal, F, history)[0]
        excess.append(np.linalg.norm(tau - np.trace(tau) / 3 * np.eye(3)) - ROOT * YIELD)
    np.testing.assert_allclose(np.array(excess[1:]) / excess[:-1], 1 / 1.001, rtol=1e-9)
    assert excess[-1] / excess[0] == pytest.approx(math.exp(-0.999), rel=1e-3)


# --- the return map --------------------------------------------------------------------------------------------------


@every_metal
@every_dim
@every_isa
@every_dtype
def test_the_return_map_is_that_of_numpy(metal, d, isa, dtype):
    F, history = (a.astype(dtype) for a in states(metal, d))
    found, after = return_map(metal, F, history, isa)
    right, kept, excess = expected(metal, F.astype(float), history.astype(float))
    assert 500 < (excess > 0).sum() < len(F) - 500
    eps = scenes.EPSILON[dtype]
    size = np.linalg.cond(F.astype(float)) ** 2  # of b, whose logarithm NumPy takes
    assert (np.abs(found - right).max(axis=(1, 2)) / size).max() < 64 * eps  # measured 17 eps
    assert (np.abs(after - kept)[:, :2].max(axis=1) / size).max() < 64 * eps
    assert (np.abs(after - kept)[:, 2:].max(axis=1) / size).max() < 64 * eps * E
    np.testing.assert_array_equal(found[excess < -64 * eps * E], F[excess < -64 * eps * E])


@every_metal
@every_dim
@every_dtype
def test_what_comes_back_is_on_the_surface_and_has_its_volume(metal, d, dtype):
    F, history = (a.astype(dtype) for a in states(metal, d, seed=1))
    found, after = return_map(metal, F, history, dt=1e9)  # no excess by viscosity
    eps = scenes.EPSILON[dtype]
    _, _, excess = expected(metal, found.astype(float), after.astype(float))
    size = np.linalg.cond(F.astype(float)) ** 2
    assert (excess / size).max() < 512 * eps * E  # measured 190 eps: the far strains of "hard"
    whole = np.linalg.det(found.astype(float)) * after[:, 0].astype(float)
    np.testing.assert_allclose(
        whole / np.linalg.det(F.astype(float)) / history[:, 0].astype(float), 1, rtol=128 * eps
    )
    again, same = return_map(metal, found, after, dt=1e9)
    assert np.abs(again - found).max() < 512 * eps and np.abs(same - after)[:, :2].max() < 512 * eps


@every_dim
def test_flow_dissipates(d):
    """Elastic energy only falls, also with that of the backstress: 3/(4 K) beta:beta, and that of H."""
    F, history = states(HARD, d, seed=2)
    found, after = return_map(HARD, F, history)

    def energy(F, history):
        beta = matrices(history[:, 2:], d)
        names = {"Jp": history[:, 0], "plastic_strain": history[:, 1], "backstress": history[:, 2:]}
        stored = HARD.energy(F, names) + 0.75 / HARD.kinematic_hardening * (beta**2).sum(axis=(1, 2))
        return stored + HARD.hardening / 2 * history[:, 1] ** 2

    gain = energy(found, after) - energy(F, history)
    flows = (after != history).any(axis=1)
    assert (gain[flows] < 0).all() and (gain[~flows] == 0).all() and flows.sum() > 1000


@every_metal
@every_isa
@every_dtype
def test_plane_strain_is_that_of_space(metal, isa, dtype):
    """The same steps in the plane and in space, where F_zz is kept at 1 by the elastic and plastic parts together."""
    rng, m, eps = np.random.default_rng(3), 50, scenes.EPSILON[dtype]
    plane, space = np.tile(np.eye(2, dtype=dtype), (m, 1, 1)), np.tile(np.eye(3, dtype=dtype), (m, 1, 1))
    flat, full = rest(m, 2).astype(dtype), rest(m, 3).astype(dtype)
    for _ in range(20):
        step = (np.eye(2) + 0.01 * rng.normal(size=(m, 2, 2))).astype(dtype)
        step3 = np.tile(np.eye(3, dtype=dtype), (m, 1, 1))
        step3[:, :2, :2] = step
        plane, flat = return_map(metal, step @ plane, flat, isa)
        space, full = return_map(metal, step3 @ space, full, isa)
    assert np.ptp(flat[:, 0]) > 0.01 and flat[:, 1].min() > 0.01
    np.testing.assert_allclose(plane, space[:, :2, :2], rtol=0, atol=400 * eps)
    np.testing.assert_allclose(flat[:, 0], space[:, 2, 2], rtol=0, atol=400 * eps)
    np.testing.assert_allclose(flat[:, 1], full[:, 1], rtol=0, atol=400 * eps)
    np.testing.assert_allclose(flat[:, 2:], full[:, [2, 3, 5]], rtol=0, atol=400 * eps * E)
    a, b = stress(metal, plane, flat, isa), stress(metal, space, full, isa)
    np.testing.assert_allclose(a, b, rtol=0, atol=800 * eps * E)


@every_metal
@every_dim
def test_the_return_map_turns_with_the_body(metal, d):
    F, history = states(metal, d, seed=4, m=500)
    Q = rotations(len(F), d, np.random.default_rng(5))
    found, after = return_map(metal, F, history)
    turned_F, turned_after = return_map(metal, Q @ F, history)
    size = np.abs(F).max()
    np.testing.assert_allclose(turned_F, Q @ found, rtol=0, atol=1e-13 * size)
    np.testing.assert_allclose(turned_after[:, :2], after[:, :2], rtol=0, atol=1e-13)
    np.testing.assert_allclose(turned_after[:, 2:], after[:, 2:], rtol=0, atol=1e-13 * E)


@every_metal
@every_dim
@every_isa
@every_dtype
def test_no_particle_depends_on_its_neighbours(metal, d, isa, dtype):
    F, history = (a.astype(dtype)[:1003] for a in states(metal, d, seed=6))
    found = return_map(metal, F, history, isa)
    order = np.random.default_rng(0).permutation(len(F))
    for value, other in zip(found, return_map(metal, F[order], history[order], isa), strict=True):
        np.testing.assert_array_equal(value[order], other)


@every_metal
@every_dim
@every_isa
@every_dtype
def test_broken_states_stay_so_and_extreme_ones_give_numbers(metal, d, isa, dtype):
    F = np.repeat(np.eye(d, dtype=dtype)[None], 5, axis=0)
    F[0, 0, 0], F[1, 1, 0], F[2, 0, 1], F[3, 0, 0] = np.nan, np.inf, -np.inf, -0.5
    F[4] = 0
    found, after = return_map(metal, F, rest(5, d), isa)
    assert not np.isfinite(found[:3]).all(axis=(1, 2)).any()
    np.testing.assert_array_equal(found[3:], F[3:])
    np.testing.assert_array_equal(after, rest(5, d))
    F = extremes(d).astype(dtype)
    found, after = return_map(metal, F, rest(len(F), d), isa)
    assert not np.isnan(found).any() and not np.isnan(after).any()
    assert not np.isnan(stress(metal, found, after, isa)).any()


@every_dim
def test_the_moduli_bound_the_curvature_with_a_stretch_out_of_plane(d):
    F, history = states(HARD, d, seed=7, m=2000)
    history[:, 1:] = 0
    s, rng = 1e-3, np.random.default_rng(8)

    def respond(F):
        F = np.ascontiguousarray(F)
        parts = _core.evaluate("von_mises", HARD.parameters, F, d, scenes.ISAS[-1], "float64", history)
        return [np.frombuffer(part) for part in parts]

    _, psi, _, isolated, wave = respond(F)
    for _ in range(3):
        A = rng.normal(size=F.shape)
        A /= np.linalg.norm(A, axis=(1, 2))[:, None, None]
        a, n = np.linalg.qr(rng.normal(size=F.shape))[0].transpose(2, 0, 1)[:2]
        for B, bound in (
            (A, isolated),
            (a[:, :, None] * a[:, None, :], wave),
            (a[:, :, None] * n[:, None], wave),
        ):
            after, before = (respond((np.eye(d) + k * B) @ F)[1] for k in (s, -s))
            curvature = (after + before - 2 * psi) / s**2
            assert ((curvature - bound) / (np.abs(psi) + E)).max() < 1e-4


# --- through the material --------------------------------------------------------------------------------------------


@every_dim
def test_the_material_returns_states_with_their_history(d):
    F, history = states(HARD, d, seed=9, m=50)
    names = {"Jp": history[:, 0], "plastic_strain": history[:, 1], "backstress": history[:, 2:]}
    found, after = HARD.return_map(F, names, dt=1e-3)
    right, kept = return_map(HARD, F, history)
    np.testing.assert_array_equal(found, right)
    assert list(after) == list(names)
    np.testing.assert_array_equal(np.column_stack(list(after.values())), kept)
    tau = HARD.stress(found, after) @ found.transpose(0, 2, 1)
    np.testing.assert_allclose(tau, stress(HARD, right, kept)[:, :d, :d], rtol=0, atol=1e-9)
    same, _ = PLAIN.return_map(F[:1] * 0 + np.eye(d))
    np.testing.assert_array_equal(same[0], np.eye(d))


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"history": {"Jq": [1.0]}}, "history = 'Jq': must be one of 'Jp', 'plastic_strain', 'backstress'"),
        ({"history": {"Jp": [0.0]}}, "history['Jp'] = 0: must be > 0"),
        ({"history": {"backstress": [1.0]}}, "history['backstress'] has shape (1,): must be (1, 6)"),
        ({"dt": -1.0}, "dt = -1.0: must be >= 0 [s]"),
    ],
)
def test_wrong_histories_are_named(arguments, words):
    with pytest.raises(ValueError) as error:
        PLAIN.return_map(np.eye(3)[None], **arguments)
    assert words in str(error.value)


# --- in a simulation -------------------------------------------------------------------------------------------------


@every_dim
@every_dtype
def test_a_bent_bar_stays_bent_and_keeps_its_volume(d, dtype):
    """A bar that hits a wall: it gets shorter and stays so, energy falls, the whole volume is that of rest."""
    metal = VonMises(E=1e7, nu=0.3, yield_stress=2e4, density=1000, hardening=1e4, kinematic_hardening=1e4)
    scene = mpm.Scene([0] * d, [1] * d, walls={"x": "separate"})
    bar = mpm.shapes.Box([0] + [0.4] * (d - 1), [0.5] + [0.6] * (d - 1))
    scene.add(bar, metal, velocity=[-5.0] + [0] * (d - 1))
    sim = mpm.Simulation(scene, dx=1 / 16, dtype=dtype)
    sim.run(0.04)
    strain = np.asarray(sim.particles.plastic_strain)
    assert strain.max() > 0.2 and strain.min() >= 0
    assert np.ptp(sim.particles.x[:, 0]) < 0.46
    energy = sim.history["kinetic"] + sim.history["elastic"]
    assert energy[-1] < 0.3 * energy[0] and (np.diff(energy) < 1e-3 * energy[0]).all()
    whole = np.asarray(sim.particles.J) * np.asarray(sim.particles.Jp)
    assert np.abs(whole - 1).max() < 0.05 and np.median(np.abs(whole - 1)) < 5e-3
    if d == 3:
        np.testing.assert_array_equal(sim.particles.Jp, 1)
    assert sim.compute("von_mises").max() < 2e4 + 2e4 * strain.max() + 1e3
