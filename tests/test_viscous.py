"""Yield-stress fluids and viscoelastic solids in closed form."""

import math

import numpy as np
import pytest

import mpm
import scenes
from loops import each
from mpm import point

M = mpm.materials
every_dim = pytest.mark.parametrize("d", scenes.DIMS)

MU, BULK = 4e4, 1e5


@each("n", [0.3, 0.5, 1.0, 1.7, 4.0])
@each("rate", [0.01, 1.0, 20.0])
@every_dim
def test_steady_shear_has_the_stress_of_its_rate(n, rate, d):
    """tau_y + k rate^n for any length of the step: here 1 or 20 % of shear each."""
    mud = M.HerschelBulkley(
        bulk_modulus=BULK, shear_modulus=MU, yield_stress=50, consistency=10, exponent=n, density=1000
    )
    expected = 50 + 10 * rate**n
    if expected > 0.2 * MU:
        return  # no flow before large elastic strains
    for change, steps in ((0.01, 300), (0.2, 15)):
        found = point.simple_shear(
            mud, shear=change * steps, duration=change * steps / rate, steps=steps, dimension=d
        )
        tau = found.tau[-1]
        s = tau - np.trace(tau) / 3 * np.eye(3)
        strain = expected / MU  # elastic; with large ones the axes turn
        assert math.sqrt((s**2).sum() / 2) == pytest.approx(expected, rel=1e-3 + 2 * strain)
    assert abs(np.trace(tau)) < 1e-9 * BULK


@every_dim
def test_below_its_yield_stress_a_fluid_keeps_its_shape(d):
    mud = M.HerschelBulkley(
        bulk_modulus=BULK, shear_modulus=MU, yield_stress=50, consistency=10, density=1000
    )
    found = point.simple_shear(mud, shear=[1.2e-3, 0.0], duration=100, dimension=d)
    assert found.shear_stress.max() == pytest.approx(MU * 1.2e-3, rel=1e-5)
    assert abs(found.shear_stress[-1]) < 1e-9


@every_dim
def test_a_maxwell_fluid_relaxes(d):
    """Without a yield stress, n = 1: the implicit step divides the stress by 1 + mu dt/k, in the limit e^(-mu t/k)."""
    k = 1e3
    honey = M.HerschelBulkley(
        bulk_modulus=BULK, shear_modulus=MU, yield_stress=0, consistency=k, density=1000
    )
    for steps in (50, 5000):
        times = np.linspace(0, 2 * k / MU, steps + 1)
        found = point.drive(
            honey,
            times=times,
            F=np.repeat([np.eye(d) + 1e-4 * np.eye(d, k=1)], steps + 1, axis=0),
            dimension=d,
        )
        ratio = found.tau[1:, 0, 1] / found.tau[:-1, 0, 1]
        np.testing.assert_allclose(ratio, 1 / (1 + 2 / steps), rtol=1e-6)
    assert found.tau[-1, 0, 1] / found.tau[0, 0, 1] == pytest.approx(math.exp(-2), rel=1e-3)


JELLY = M.Viscoelastic(E=1e5, nu=0.4, density=1000, g_1=0.3, tau_1=0.1, g_2=0.2, tau_2=2.0)
SHEAR = 1e5 / 2.8


@every_dim
@each("gamma", [1e-3, 1.0])
def test_stress_relaxes_as_the_prony_series(gamma, d):
    """Held simple shear: the deviator is that of the first moment times g_0 + sum g_k e^(-t/tau_k), for any strain and
    any steps."""
    F, times = np.eye(d), np.array([0, 0.01, 0.1, 0.15, 1.0, 2.0, 50.0])
    F[0, 1] = gamma
    found = point.drive(JELLY, times=times, F=np.repeat(F[None], len(times), axis=0), dimension=d)
    elastic = M.Hencky(E=1e5, nu=0.4, density=1).stress(F[None])[0] @ F.T
    expected = 0.5 + 0.3 * np.exp(-times / 0.1) + 0.2 * np.exp(-times / 2.0)
    np.testing.assert_allclose(found.tau[:, 0, 1], elastic[0, 1] * expected, rtol=1e-11)
    np.testing.assert_allclose(found.p, found.p[0], rtol=0, atol=1e-9 * SHEAR)


@every_dim
def test_a_standard_linear_solid_creeps(d):
    """Constant shear stress: the strain grows from s/mu to s/(g_0 mu), with the time tau/g_0."""
    solid = M.Viscoelastic(E=1e5, nu=0.4, density=1000, g_1=0.6, tau_1=0.5)
    n, s = 400, 20.0
    times = np.linspace(0, 3.0, n)
    loads = {"xx": 0.0, "yy": 0.0, "xy": np.where(np.arange(n) > 0, s, 0.0)} | (
        {"zz": 0.0, "xz": 0.0, "yz": 0.0} if d == 3 else {}
    )
    found = point.drive(solid, times=times, stress=loads, dimension=d)
    gamma = found.F[:, 0, 1] + found.F[:, 1, 0]
    expected = s / SHEAR * (1 / 0.4 - 0.6 / 0.4 * np.exp(-times * 0.4 / 0.5))
    np.testing.assert_allclose(
        gamma[1:], expected[1:], rtol=6e-3
    )  # of first order; measured 3.0e-3 at the first step
    assert gamma[-1] == pytest.approx(expected[-1], rel=1e-3)


@every_dim
def test_a_dashpot_beside_the_springs(d):
    """Kelvin and Voigt: tau_xy = mu gamma + eta rate of simple shear."""
    solid = M.Viscoelastic(E=1e5, nu=0.4, density=1000, viscosity=300)
    found = point.simple_shear(solid, shear=1e-3, duration=0.01, dimension=d)
    np.testing.assert_allclose(found.tau[1:, 0, 1], SHEAR * found.shear_strain[1:] + 300 * 0.1, rtol=1e-5)


def test_shares_are_checked():
    with pytest.raises(ValueError, match=r"g_1 = 0.6, g_2 = 0.4: must be < 1 together"):
        M.Viscoelastic(E=1, nu=0, density=1, g_1=0.6, g_2=0.4)


@every_dim
def test_the_dashpot_limits_the_step(d):
    thick = M.Viscoelastic(E=1e-3, nu=0.3, density=1, viscosity=2.0)
    bound = scenes.single([8.2] * d, thick).stable_dt()
    assert (bound.limit, bound.particle) == ("viscosity", 0)
    a = 1e-3 / 1.3 * (1 + d * 0.3 / 0.4)
    assert a * bound.dt**2 + 2 * d * 2.0 * bound.dt == pytest.approx(1, rel=1e-9)
