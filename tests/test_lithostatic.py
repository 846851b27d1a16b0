"""`Scene.lithostatic`: stresses of level layers, at rest, with K0 of each; what cannot bear them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mpm
from mpm.scene.lithostatic import columns_above
from mpm.shapes import Ball, Box, Polygon

M = mpm.materials
G = 9.81
CLAY = M.MohrCoulomb(E=1e7, nu=0.35, density=1900, friction_angle_deg=25, cohesion=5e3)
SAND = M.DruckerPrager(E=2e7, nu=0.3, density=1700, friction_angle_deg=33, cohesion=1e3)
LOWER, UPPER = 1.0, 0.75  # thicknesses [m]


def layered(d, K0, method="mpm", materials=(CLAY, SAND), **options):
    """Two layers between planes of symmetry."""
    walls = dict.fromkeys("xyz"[: d - 1], "mirror") | {"xyz"[d - 1] + "-": "mirror"}
    scene = mpm.Scene([0] * d, [1] * (d - 1) + [3], gravity=[0] * (d - 1) + [-G], walls=walls)
    side = [1] * (d - 1)
    scene.add(Box([0] * d, [*side, LOWER]), materials[0], name="clay")
    scene.add(Box([0] * (d - 1) + [LOWER], [*side, LOWER + UPPER]), materials[1], name="sand")
    scene.lithostatic(K0)
    if method == "fem":
        return mpm.fem.Simulation(scene, spacing=1 / 8, **options)
    return mpm.Simulation(scene, dx=1 / 8, threads=1, **options)


def overburden(z, materials=(CLAY, SAND)):
    """The weight above [Pa]."""
    low, high = (one.density * G for one in materials)
    return np.where(z < LOWER, low * (LOWER - z) + high * UPPER, high * (LOWER + UPPER - z))


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("materials", [(CLAY, SAND), (M.NeoHookean(E=1e7, nu=0.2, density=1500), SAND)])
def test_layers_bear_their_weight_and_stay_at_rest(d, materials):
    sim = layered(d, {"clay": 0.6, "sand": 0.5}, materials=materials)
    x = np.array(sim.particles.x)
    tau = sim.compute("stress") * np.linalg.det(sim.particles.F)[:, None, None]
    exact = -overburden(x[:, -1], materials)
    assert np.abs(tau[:, -1, -1] - exact).max() < 1e-9 * np.abs(exact).max()
    ratio = np.where(x[:, -1] < LOWER, 0.6, 0.5)
    for a in range(d - 1):
        assert np.abs(tau[:, a, a] - ratio * exact).max() < 1e-9 * np.abs(exact).max()
    found = sim.equilibrate(increments=1, tolerance=1e-3)
    assert found.residual < 1e-4 and found.steps == 1  # 1.8e-5 measured: at rest from the beginning
    assert np.abs(sim.particles.x - x).max() < 1e-6
    sim.run(0.05)
    assert sim.compute("speed").max() < 1e-3  # 2e-4 m/s measured; without lithostatic 0.2


def test_finite_elements_have_no_such_state():
    soft = M.NeoHookean(E=1e7, nu=0.3, density=1900)
    with pytest.raises(ValueError, match="F is a function of x; must be one matrix"):
        layered(2, 0.5, "fem", materials=(soft, soft))


@pytest.mark.parametrize("d", [2, 3])
def test_a_pit_is_dug_with_a_shape(d):
    """Stages: the particles in a shape go, and the ground around moves towards the pit."""
    sim = layered(d, {"clay": 0.6, "sand": 0.5})
    pit = Box([0] * (d - 1) + [LOWER], [0.5] * (d - 1) + [2])
    expected = int(pit.contains(sim.particles.x).sum())
    before = len(sim.particles)
    assert sim.particles.delete(pit) == expected > 0 and len(sim.particles) == before - expected
    assert not pit.contains(sim.particles.x).any()
    x = np.array(sim.particles.x)
    sim.equilibrate(tolerance=1e-3, increments=1)
    floor = (x[:, :-1] < 0.45).all(axis=1) & (x[:, -1] > LOWER - 0.1)
    assert (sim.particles.x - x)[floor, -1].mean() > 1e-4  # it heaves
    for wrong, kind, text in (
        (Box([0] * (5 - d), [1] * (5 - d)), ValueError, f"is {5 - d}-D: must be {d}-D"),
        (mpm.shapes.Points(np.full((1, d), 0.5), volume=1e-3), TypeError, "must be a solid"),
    ):
        with pytest.raises(kind, match=text):
            sim.particles.delete(wrong)


def test_parameters_that_vary_and_a_fluid():
    """Strength and stiffness that grow with depth; water above, whose pressure is its depth."""
    soil = M.VonMises(
        E=lambda x: 1e7 + 1e6 * (LOWER - x[:, 1]),
        nu=0.3,
        density=1900,
        yield_stress=lambda x: 3e4 + 1e3 * (LOWER - x[:, 1]),
    )
    water = M.Fluid(density=1000, bulk_modulus=1e7)
    sim = layered(2, {"clay": 0.8, "sand": 1.0}, materials=(soil, water))
    x = np.array(sim.particles.x)
    tau = (
        sim.compute("stress")
        * np.asarray(sim.compute("law_density") ** -1 * sim.particles.mass / sim.particles.volume)[
            :, None, None
        ]
    )
    exact = -overburden(x[:, 1], (soil, water))
    assert np.abs(tau[:, 1, 1] - exact).max() < 1e-6 * np.abs(exact).max()
    assert np.abs(tau[:, 0, 0] - np.where(x[:, 1] < LOWER, 0.8, 1) * exact).max() < 1e-6 * np.abs(exact).max()


def test_columns_above():
    """A slope with a cavity: lengths to the last digits, whichever way gravity points."""
    hill = Polygon([(0, 0), (4, 0), (4, 1), (2, 1), (0, 3)]) - Ball((1, 0.8), 0.3)
    x = np.array([[0.5, 0.1], [0.5, 2.45], [3, 0.25], [1, 0.6], [1, 0.2], [0.9, 2.05], [3.9, 2]])
    found = columns_above([(hill, 2.0), (Box((3, 1), (4, 1.5)), 10.0)], x, 1, -1.0, 4.0, 1.0)
    exact = [4.8, 0.1, 6.5, 1.8, 2.4, 0.1, 0.0]
    assert found == pytest.approx(exact, abs=1e-12)
    upside = columns_above([(hill, 2.0)], x, 1, -1.0, 4.0, -1.0)
    assert upside == pytest.approx([0.2, 4.9, 0.5, 1.0, 0.4, 2 * (2.05 - 2 * np.sqrt(0.08)), 2.0], abs=1e-12)


def test_a_slope_comes_to_rest_with_few_steps():
    scene = mpm.Scene((0, 0), (5, 3), gravity=(0, -G), walls={"x": "slip", "y-": "sticky"})
    scene.add(Polygon([(0, 0), (5, 0), (5, 1), (3, 1), (2, 2), (0, 2)]), CLAY, name="slope")
    scene.lithostatic(0.5)
    sim = mpm.Simulation(scene, dx=1 / 4, threads=1)
    found = sim.equilibrate(increments=1, tolerance=1e-3)
    assert found.residual <= 1e-3


def test_what_has_no_such_state():
    def scene(material=CLAY, shape=None, **options):
        made = mpm.Scene((0, 0), (1, 2), **{"gravity": (0, -G), **options})
        made.add(Box((0, 0), (1, 1)) if shape is None else shape, material, name="ground")
        return made

    rigid = M.Rigid(density=2000)
    for make, K0, kind, text in (
        (scene, -1, ValueError, "K0 = -1"),
        (scene, "a", TypeError, "K0"),
        (scene, {"sand": 1}, ValueError, "K0 = 'sand': must be"),
        (scene, {"ground": -1}, ValueError, "K0['ground'] = -1"),
        (lambda: scene(gravity=None), 1, ValueError, "must be along an axis, and not 0"),
        (lambda: scene(gravity=(1, -1)), 1, ValueError, "must be along an axis"),
        (lambda: scene(body_force=lambda x, t: 0 * x), 1, ValueError, "has a body force"),
        (lambda: scene(rigid), 1, ValueError, "no body that deforms"),
        (lambda: scene(shape=mpm.shapes.Points([(0.5, 0.5)], volume=1e-3)), 1, ValueError, "is of Points"),
        (
            lambda: scene(M.Fluid(density=1000, bulk_modulus=1e6)),
            0.5,
            ValueError,
            "a fluid has the same pressure",
        ),
        (
            lambda: scene(M.NeoHookean(E=1e6, nu=0.3, density=lambda x: 1 + x[:, 0])),
            1,
            ValueError,
            "density of 'ground' varies",
        ),
    ):
        with pytest.raises(kind, match=re.escape(text)):
            make().lithostatic(K0)
    made = scene()
    made.lithostatic(0.5)
    with pytest.raises(ValueError, match="has an F already"):
        made.lithostatic(0.5)
    with pytest.raises(ValueError, match="call it after the last one"):
        made.add(Box((0, 1), (1, 2)), CLAY)
    assert "lithostatic(K0=0.5)" in repr(made.bodies[0].F)
    weak = scene(M.MohrCoulomb(E=1e7, nu=0.3, density=1900, friction_angle_deg=30, cohesion=10.0))
    weak.lithostatic(0.2)  # active: 0.33
    with pytest.raises(
        ValueError, match=re.escape("K0 = 0.2 of 'ground': the material yields in this state")
    ):
        mpm.Simulation(weak, dx=1 / 4)
