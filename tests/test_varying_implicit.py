"""Parameters that vary over the particles, in implicit steps and equilibria."""

from dataclasses import replace

import numpy as np
import pytest

import graded_bar
import mpm
import scenes
from loops import each
from test_varying import BRANCHES, bar, block, numbers

TANGENT = {law: mpm.materials.laws.registry()[law]["tangent"] for law in scenes.LAWS}
LAWS = [law for law in scenes.LAWS if TANGENT[law]]


def uneven(law, n):
    """That material with other values in each of n particles, and with all branches of its law."""
    material, random = scenes.MATERIALS[law], np.random.default_rng(4)
    values = {name: getattr(material, name) * random.uniform(0.8, 1.0, n) for name in numbers(material)}
    for name, special in BRANCHES.get(law, {}).items():
        values[name] = random.choice(special, n)
    if law in ("mooney_rivlin", "ogden"):
        values["bulk_modulus"] = np.full(n, material.bulk_modulus)  # as the other moduli ask for
    if law == "ogden":  # a modulus and its exponent have one sign, or the modulus is 0
        values["mu_2"] = np.where(values["mu_2"] == 0, 0, -1)
        values["mu_3"] = np.abs(values["mu_3"])
    return replace(material, **values)


def count(d):
    return len(block(scenes.MATERIALS["neo_hookean"], d).particles)


@each("d", (2, 3))
@each("dtype", ("float64", "float32"))
@pytest.mark.parametrize("law", LAWS)
@each("isa", scenes.ISAS)
def test_equal_values_give_the_run_of_one_value(law, d, dtype, isa):
    base, n = scenes.MATERIALS[law], count(d)
    if dtype == "float32":  # fields round parameters before the law derives others from them
        base = replace(base, **{name: float(np.float32(getattr(base, name))) for name in numbers(base)})
    varying = replace(
        base,
        **{name: np.full(n, getattr(base, name)) for name in numbers(base)},
    )
    for integrator in ("implicit-euler", "semi-implicit")[: 1 if TANGENT[law] == "mapped" else 2]:
        options = {"dtype": dtype, "integrator": integrator, "dt": 5e-3}
        with scenes.kernels(isa):
            one, other = block(base, d, **options), block(varying, d, **options)
        for sim in (one, other):
            sim.step(2)
        for field in ("x", "v", "F"):
            np.testing.assert_array_equal(one.particles[field], other.particles[field])


@each("d", (2, 3))
@pytest.mark.parametrize("law", LAWS)
def test_newton_converges_with_other_values_in_each_particle(law, d):
    # 1e-9 in few iterations: the derivative is that of the force, lane by lane.
    sim = block(uneven(law, count(d)), d, integrator="implicit-euler", dt=5e-3, tolerance=1e-9)
    sim.step(3)
    assert sim.history["residual"].max() <= 1e-9
    assert sim.history["newton"].max() <= 11


@pytest.mark.parametrize(
    "law", [law for law in LAWS if TANGENT[law] == "energy"]
)  # plastic ones switch branches
def test_the_difference_from_explicit_steps_is_of_first_order(law):
    apart, material = [], uneven(law, count(2))
    for dt in (2e-4, 1e-4):
        runs = [
            block(material, 2, integrator=name, dt=dt, **options)
            for name, options in (
                ("explicit", {"density_correction": 0}),
                ("implicit-euler", {"tolerance": 1e-9}),
            )
        ]
        for sim in runs:
            sim.run(8e-3)
        apart.append(np.abs(runs[0].particles.x - runs[1].particles.x).max())
    assert apart[0] / apart[1] == pytest.approx(2, abs=0.1)


def test_a_graded_bar_vibrates_as_its_series_says():
    # As with explicit steps (test_varying.py), with steps of a 400th of the period.
    w, mode = graded_bar.first_mode()
    found = []
    for options in ({}, {"integrator": "implicit-midpoint", "dt": 2 * np.pi / w / 400}):
        sim = bar(graded_bar.modulus, 2, 1 / 64, velocity=graded_bar.velocity_of(mode), **options)
        found.append(graded_bar.frequency(sim, w, lambda t, top: np.abs(t - t[top]) < 0.03 * np.pi / w))
    assert found[1] == pytest.approx(w, rel=0.0065)  # 0.54 % low, as explicit steps: of the free end
    assert found[1] == pytest.approx(found[0], rel=2e-4)  # 4e-5


def test_a_graded_bar_hangs_in_equilibrium_as_its_integral_says():
    # u(1) is 3.4, 1.83, 0.97 % more with 16, 32, 64 cells: of first order, and 0.11 % where the last two lead.
    g, beta, more = 0.05, 3.0, []
    for cells in (32, 64):
        sim = bar(lambda x: 100 * (1 + beta * x[:, 0]), 2, 1 / cells, gravity=g)
        x0 = np.array(sim.particles.x)[:, 0]
        sim.equilibrate(tolerance=1e-6)
        last = x0 > 1 - 1 / cells
        u = g / 100 * ((1 + beta) / beta**2 * np.log1p(beta * x0[last]) - x0[last] / beta)
        more.append((sim.particles.x[last, 0] - x0[last]).mean() / u.mean() - 1)
        rest = np.array(sim.particles.x)
        sim.run(0.02)  # explicit steps stay there
        assert np.abs(sim.particles.x - rest).max() < 1e-5 * u.max()
    assert more[1] < 0.01
    assert abs(2 * more[1] - more[0]) < 2e-3


def test_written_values_are_checked():
    sim = block(uneven("mooney_rivlin", count(2)), 2, integrator="implicit-euler", dt=5e-3)
    sim.step(1)
    before, good = sim.state_hash(), float(sim.particles.c10[5])
    sim.particles.c10[5] = 1e9
    with pytest.raises(mpm.SimulationError, match=r"go together.*bulk_modulus must be >= 4/3 c10") as caught:
        sim.step(1)
    assert caught.value.rows == [5]
    sim.particles.c10[5] = good
    assert sim.state_hash() == before
    sim.step(1)
