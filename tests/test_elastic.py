"""Elastic laws: closed forms of uniaxial stress and simple shear, rubber, extreme states, and the elastic moduli."""

import dataclasses
import itertools
import math
import pickle
import re

import numpy as np
import pytest

import mpm
import scenes
from deformations import rotations, turned
from loops import each
from mpm import _core
from test_laws import LAMBDA, LAWS, MU, NU, PARAMETERS, E, respond

M = mpm.materials
every_isa = each("isa", _core.isas())
every_dtype = each("dtype", ["float64", "float32"])
every_dim = pytest.mark.parametrize("d", [2, 3])
every_law = pytest.mark.parametrize("law", ["saint_venant_kirchhoff", "hencky", "mooney_rivlin"])


@each("law", scenes.DEFORMABLE)
@every_dim
def test_totals_of_small_strains_in_single_precision(law, d):
    """Totals and history have the energy of the stored strains of 1e-4, as `compute` finds it in double precision."""
    sim = scenes.free_body(d, law, side=4, dtype="float32", dt=1e-5, threads=1)
    p, noise = sim.particles, 1e-4 * np.random.default_rng(0).normal(size=(4**d, d, d))
    if M.Fluid.law == law:
        p.J = 1 + noise[:, 0, 0]
    else:
        p.F = np.eye(d) + noise
    for steps in (0, 1):
        sim.step(steps)
        exact = sim.compute("elastic_energy").sum(dtype=np.float64)
        assert exact > 0
        # measured 1.2e-7; 10 and more where terms of order 1 or of order of the strain cancelled
        assert sim.totals().elastic == pytest.approx(exact, rel=2e-6)
    assert sim.history["elastic"][-1] == pytest.approx(exact, rel=2e-6)


@pytest.mark.parametrize(
    "law, a, b, tau",
    [
        ("saint_venant_kirchhoff", 1.2, math.sqrt(1 - NU * (1.2**2 - 1)), 316.8),
        ("hencky", 1.2, 1.2**-NU, E * math.log(1.2)),
        ("hencky", 0.3, 0.3**-NU, E * math.log(0.3)),
        ("neo_hookean", 1.2, 0.945632624291, 209.914976875),
        ("fixed_corotated", 1.2, 0.943017861284, 225.950134295),
    ],
)
@every_isa
@every_dtype
def test_uniaxial_stress(law, a, b, tau, isa, dtype):
    found = respond(law, np.diag([a, b, b])[None], isa, dtype)[0][0]
    np.testing.assert_allclose(
        found, np.diag([tau, 0, 0]), rtol=0, atol={"float64": 2e-9, "float32": 1e-3}[dtype]
    )


@pytest.mark.parametrize(
    "F, cauchy",
    [  # of another program, with E = 1e7, nu = 0.3
        (np.diag([1.2, 1.5, 1]), (2663083.5703869392, 3616688.4905331349, 1883931.6182760221, 0)),
        (
            [[1.2, 0.6, 0], [0.3, 1.5, 0], [0, 0, 1]],
            (2500707.2070595203, 3226098.9330674084, 1718041.8420380789, 1692580.6940184042),
        ),
    ],
)
@every_isa
def test_hencky_beside_another_program(F, cauchy, isa):
    F = np.array(F, dtype=float)
    J = np.linalg.det(F)
    xx, yy, zz, xy = cauchy
    expected = np.array([[xx, xy, 0], [xy, yy, 0], [0, 0, zz]])
    tau, *_ = respond("hencky", F[None], isa, parameters=(1e7, 0.3))
    np.testing.assert_allclose(tau[0] / J, expected, rtol=1e-14, atol=1e-8)
    tau, _, tau_zz, *_ = respond("hencky", F[None, :2, :2], isa, parameters=(1e7, 0.3))
    np.testing.assert_allclose(tau[0] / J, expected[:2, :2], rtol=1e-14, atol=1e-8)
    assert tau_zz[0] / J == pytest.approx(zz, rel=1e-14)


@each("g", [-3.0, 0.01, 0.5, 2.0])
@every_isa
@every_dim
def test_simple_shear(g, isa, d):
    F = np.eye(d)[None].copy()
    F[0, 0, 1] = g
    s = g / 2 + math.sqrt(1 + g * g / 4)
    tau = respond("hencky", F, isa)[0][0]
    assert tau[0, 1] == pytest.approx(4 * MU * math.log(s) / math.sqrt(4 + g * g), rel=1e-12)
    assert tau[0, 0] - tau[1, 1] == pytest.approx(4 * MU * math.log(s) * g / math.sqrt(4 + g * g), rel=1e-12)
    # E = [[0, g/2], [g/2, g^2/2]] and S = 2 mu E + lambda tr E I
    green = np.array([[0, g / 2], [g / 2, g * g / 2]])
    S = 2 * MU * green + LAMBDA * g * g / 2 * np.eye(2)
    tau = respond("saint_venant_kirchhoff", F, isa)[0][0]
    np.testing.assert_allclose(tau[:2, :2], F[0, :2, :2] @ S @ F[0, :2, :2].T, rtol=1e-12, atol=1e-12 * E)
    # b = [[1 + g^2, g], [g, 1]], I1 = 3 + g^2: tau = 2 C10 (b - I) + 2 C01 (I1 b - b^2 - 2 I)
    c10, c01, _ = PARAMETERS["mooney_rivlin"][0]
    tau, _, tau_zz, *_ = respond("mooney_rivlin", F, isa)
    assert tau[0, 0, 1] == pytest.approx(2 * (c10 + c01) * g, rel=1e-12)
    assert tau[0, 0, 0] == pytest.approx(2 * (c10 + c01) * g * g, rel=1e-12)
    assert tau[0, 1, 1] == pytest.approx(0, abs=1e-12 * E)
    assert (tau[0, 2, 2] if d == 3 else tau_zz[0]) == pytest.approx(2 * c01 * g * g, rel=1e-12)


# --- rubber ----------------------------------------------------------------------------------------------------------


@each("a", [0.5, 0.9, 1.5, 3.0])
@every_isa
def test_hard_rubber_follows_the_incompressible_solid(a, isa):
    """Uniaxial tension: sigma = 2 (a^2 - 1/a)(C10 + C01/a); plane strain: 2 (a^2 - 1/a^2)(C10 + C01)."""
    c10, c01, bulk = 1e5, 3e4, 1e11
    b = np.diag([a, a**-0.5, a**-0.5])[None]
    tau = respond("mooney_rivlin", b, isa, parameters=(c10, c01, bulk))[0][0]
    assert tau[0, 0] - tau[1, 1] == pytest.approx(2 * (a * a - 1 / a) * (c10 + c01 / a), rel=1e-6)
    tau = respond("mooney_rivlin", np.diag([a, 1 / a])[None], isa, parameters=(c10, c01, bulk))[0][0]
    assert tau[0, 0] - tau[1, 1] == pytest.approx(2 * (a * a - 1 / a / a) * (c10 + c01), rel=1e-6)


@each("J", [0.3, 0.999, 1.5])
@every_isa
def test_rubber_under_pressure(J, isa):
    """J U'(J) and the rest: tau = 2 C10 (s^2 - 1) + 4 C01 (s^4 - 1) + 2 c (J^2 - 1) along each axis."""
    c10, c01, bulk = 1e5, 3e4, 1e6
    c, s = (bulk - 4 / 3 * (c10 + c01)) / 4 - c01, J ** (1 / 3)
    tau, psi, *_ = respond("mooney_rivlin", s * np.eye(3)[None], isa, parameters=(c10, c01, bulk))
    expected = 2 * c10 * (s**2 - 1) + 4 * c01 * (s**4 - 1) + 2 * c * (J**2 - 1)
    np.testing.assert_allclose(tau[0], expected * np.eye(3), rtol=1e-12, atol=1e-10)
    d = 2 * c10 + 4 * c01 + 2 * c
    energy = 3 * c10 * (s**2 - 1) + 3 * c01 * (s**4 - 1) + c * (J**2 - 1) - d * math.log(J)
    assert psi[0] == pytest.approx(energy, rel=1e-9)


def test_rubber_refuses_a_bulk_modulus_without_a_convex_energy():
    least = 4 / 3 * 1e5 + 16 / 3 * 1e4
    assert M.MooneyRivlin(c10=1e5, c01=1e4, bulk_modulus=least, density=1).bulk_modulus == least
    with pytest.raises(ValueError, match=r"bulk_modulus = 180000.0: must be >= 4/3 c10 \+ 16/3 c01 = 186667"):
        M.MooneyRivlin(c10=1e5, c01=1e4, bulk_modulus=1.8e5, density=1)


# --- extreme states --------------------------------------------------------------------------------------------------


def extremes(d):
    rng = np.random.default_rng(0)
    spread = 10 ** rng.uniform(-4, 4, (500, 3))
    flip = np.array([1.0] * (d - 1) + [-1.0] + [1.0] * (3 - d))
    return np.concatenate(
        [
            turned(spread, d, rng),
            turned(spread * flip, d, rng),
            turned([[1, 1, 0], [1, 0, 0], [0, 0, 0]], d, rng),
            1e-8 * rng.normal(size=(500, d, d)),
            1e6 * rng.normal(size=(500, d, d)),
            -np.eye(d)[None],
        ]
    )


@pytest.mark.parametrize("law", LAWS)
@every_dim
@every_isa
@every_dtype
def test_inverted_flat_tiny_and_huge_states_give_numbers(law, d, isa, dtype):
    for values in respond(law, extremes(d), isa, dtype):
        assert not np.isnan(values).any()


@every_law
@every_dim
def test_the_moduli_bound_the_curvature_far_from_rest(law, d):
    """As in test_laws.py, for stretches from 0.2 to 4."""
    rng = np.random.default_rng(1)
    m, s = 20_000, 1e-3
    Q = rotations(m, d, rng)
    F = Q @ (np.exp(rng.uniform(math.log(0.2), math.log(4), (m, d)))[:, :, None] * rotations(m, d, rng))
    _, psi, _, isolated, wave = respond(law, F, mpm.config.isa())

    def curvature(A):
        def at(k):
            return respond(law, (np.eye(d) + k * s * A) @ F, mpm.config.isa())[1]

        return (at(1) + at(-1) - 2 * psi) / s**2

    a, n, A = rng.normal(size=(m, d)), rng.normal(size=(m, d)), rng.normal(size=(m, d, d))
    axis = Q[:, :, 0]
    rank_one = a[:, :, None] * n[:, None, :] / np.linalg.norm(a, axis=1)[:, None, None]
    rank_one /= np.linalg.norm(n, axis=1)[:, None, None]
    scale = np.abs(psi) + E
    for direction in (rank_one, axis[:, :, None] * axis[:, None, :], axis[:, :, None] * Q[:, None, :, 1]):
        assert ((curvature(direction) - wave) / scale).max() < 1e-4
    A /= np.linalg.norm(A, axis=(1, 2))[:, None, None]
    for direction in (A, np.repeat(np.eye(d)[None] / math.sqrt(d), m, axis=0)):
        assert ((curvature(direction) - isolated) / scale).max() < 1e-4


# --- any two moduli --------------------------------------------------------------------------------------------------


@each("nu", [-0.3, 0.3, 0.48])
@each("pair", list(itertools.combinations(("E", "nu", "lam", "mu", "bulk"), 2)))
def test_any_two_moduli_make_the_material(nu, pair):
    solid = M.NeoHookean(E=1e6, nu=nu, density=1000)
    made = M.NeoHookean.from_moduli(**{name: getattr(solid, name) for name in pair}, density=1000)
    assert made.E == pytest.approx(1e6, rel=1e-13) and made.nu == pytest.approx(nu, rel=1e-13)
    assert made.lam + 2 / 3 * made.mu == pytest.approx(made.bulk, rel=1e-13)


def test_a_material_from_moduli_is_one_like_any_other():
    sand = M.Sand.from_moduli(mu=1e5, bulk=2e5, cohesion=10)
    assert type(sand) is M.Sand and sand.cohesion == 10 and sand.density == M.Sand().density
    assert sand == M.Sand(E=sand.E, nu=sand.nu, cohesion=10) == pickle.loads(pickle.dumps(sand))
    assert eval(repr(sand), vars(M)) == sand
    assert dataclasses.replace(sand, nu=0.1).E == sand.E


@pytest.mark.parametrize(
    "given, words",
    [
        ({"E": 1.0, "density": 1}, "got E: needs two of E, nu, lam, mu, bulk"),
        ({"density": 1}, "got none: needs two"),
        ({"E": 1.0, "nu": 0.3, "mu": 1.0, "density": 1}, "got E, nu, mu: needs two"),
        ({"mu": "soft", "bulk": 1.0, "density": 1}, "mu = 'soft': must be a number, not str"),
        ({"mu": 1.0, "bulk": math.nan, "density": 1}, "bulk = nan: must be finite"),
        ({"mu": -1.0, "bulk": 1.0, "density": 1}, "mu = -1.0, bulk = 1.0: give E = -4.5 and nu = 1.25"),
        ({"nu": 0.0, "lam": 1.0, "density": 1}, "nu = 0.0, lam = 1.0: give E = nan and nu = nan"),
        ({"E": 9.0, "mu": 2.0, "density": 1}, "E = 9.0, mu = 2.0: give E = 9 and nu = 1.25; E must be > 0"),
        ({"mu": 1.0, "bulk": 1.0}, "needs density="),
        ({"mu": 1.0, "bulk": 1.0, "densty": 1}, "no option 'densty'; did you mean 'density'?"),
    ],
)
def test_wrong_moduli_are_named(given, words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        M.NeoHookean.from_moduli(**given)


@each("law", [M.NeoHookean, M.Sand, M.VonMises, M.FibreReinforced])
def test_other_moduli_of_a_constructor_lead_to_from_moduli(law):
    with pytest.raises(
        TypeError, match=rf"{law.__name__}\(\) has no option 'mu'; its from_moduli\(\) takes any two"
    ):
        law(mu=1e5, bulk=2e5, density=1000)
    with pytest.raises(TypeError, match=rf"{law.__name__}\(\) has no option 'bulk_modulus'; its from_moduli"):
        law(E=1e5, bulk_modulus=2e5, density=1000)
