"""`mpm.factor_of_safety`: strength reduced, for slopes with known answers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mpm
from mpm.shapes import Box, Polygon

G = 9.81


def slope(cohesion, angle, K0, dx=1.0, foundation=0.0, height=10.0):
    """A slope of 1:2 in soil of 20 kN/m³."""
    left, right = 1.2 * height, 1.2 * height
    toe = left + 2 * height
    width = np.ceil((toe + right) / dx) * dx
    scene = mpm.Scene(
        (0, -foundation), (width, height + 4 * dx), gravity=(0, -G), walls={"x": "slip", "y-": "sticky"}
    )
    low = [(0, -foundation), (width, -foundation), (width, 0)] if foundation else [(0, 0)]
    soil = mpm.materials.MohrCoulomb(
        E=2e7, nu=0.3, density=20e3 / G, cohesion=cohesion, friction_angle_deg=angle, dilation_angle_deg=0
    )
    scene.add(Polygon([*low, (toe, 0), (left, height), (0, height)]), soil, name="slope")
    scene.lithostatic(K0)
    return mpm.Simulation(scene, dx=dx, local_damping=0.7, threads=1)


@pytest.mark.slow
def test_a_slope_of_bishop_and_morgenstern():
    """c/γH = 0.05 and φ = 20°: 1.380 (Bishop, Morgenstern, Géotechnique 10 (1960) 129)."""
    found = mpm.factor_of_safety(lambda: slope(10e3, 20.0, 0.6), between=(1.1, 1.8))
    assert found.factor == pytest.approx(1.380, rel=0.03)  # 0.986 of it measured; 0.978 with half the cells


def cut(strength, varies=False):
    """A vertical cut of 2 m in clay of 20 kN/m³ without friction, on a rigid base."""
    scene = mpm.Scene((0, 0), (6, 3), gravity=(0, -G), walls={"x-": "slip", "y-": "sticky"})
    yields = np.sqrt(3) * strength
    clay = mpm.materials.VonMises(
        E=2e6, nu=0.3, density=20e3 / G, yield_stress=(lambda x: yields + 0 * x[:, 0]) if varies else yields
    )
    scene.add(Box((0, 0), (3, 2)), clay, name="clay")
    return mpm.Simulation(scene, dx=1 / 4, local_damping=0.7, threads=1)


@pytest.mark.parametrize("varies", [False, True])
def test_a_vertical_cut(varies):
    """γH/c = 3.78 (Pastor et al. 2000) in half-space; a coarse grid and a rigid base."""
    found = mpm.factor_of_safety(
        lambda: cut(20e3 * 2 / 3.78, varies), between=(0.6, 2.0), tolerance=0.1, duration=2.0
    )
    assert found.factor == pytest.approx(1, rel=0.15)
    assert found.failing / found.stable < 1.1 and found.stable < found.factor < found.failing
    first, second = found.trials[:2]
    assert (first.factor, second.factor) == (0.6, 2.0) and second.failed and not first.failed
    moved = found.simulation.particles.x
    assert moved[:, 0].max() > 3.0  # it leans out


def test_a_simulation_is_as_good_as_its_maker():
    built = cut(20e3 * 2 / 3.78)
    before = built.state_hash()
    options = {"between": (0.6, 2.0), "tolerance": 0.5, "duration": 2.0}
    found, again = (mpm.factor_of_safety(one, **options) for one in (built, lambda: cut(20e3 * 2 / 3.78)))
    assert found.trials == again.trials and built.state_hash() == before


def test_what_has_no_factor():
    for build, options, kind, text in (
        (None, {}, TypeError, "build = None: must be an mpm.Simulation or a callable"),
        (lambda: 3, {}, TypeError, "what build() returned = 3"),
        (lambda: cut(1e4), {"between": (2, 1)}, ValueError, "between = (2, 1): must ascend"),
        (lambda: cut(1e4), {"between": (0, 1)}, ValueError, "between = (0, 1): must ascend"),
        (lambda: cut(1e4), {"tolerance": 1}, ValueError, "tolerance = 1"),
        (lambda: cut(1e4), {"duration": 0}, ValueError, "duration = 0"),
        (lambda: cut(1e4), {"between": (3, 4), "duration": 1}, ValueError, "the ground fails at 3 already"),
        (lambda: cut(1e6), {"between": (1, 2), "duration": 1}, ValueError, "the ground is stable at 2"),
    ):
        with pytest.raises(kind, match=re.escape(text)):
            mpm.factor_of_safety(build, **options)
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -G))
    scene.add(Box((0, 0), (1, 0.5)), mpm.materials.NeoHookean(E=1e6, nu=0.3, density=1000))
    with pytest.raises(ValueError, match="no material has one of cohesion"):
        mpm.factor_of_safety(lambda: mpm.Simulation(scene, dx=1 / 8))
    warm = mpm.Thermal(1, 1, scale={"yield_stress": ([300, 400], [1, 0.5])})
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -G))
    clay = mpm.materials.VonMises(E=1e6, nu=0.3, density=1000, yield_stress=1e4, thermal=warm)
    scene.add(Box((0, 0), (1, 0.5)), clay)
    with pytest.raises(ValueError, match="would not reduce a strength that follows the temperature"):
        mpm.factor_of_safety(mpm.Simulation(scene, dx=1 / 8))


def test_what_comes_and_goes_is_no_movement_of_the_ground():
    def ground(add):
        scene = mpm.Scene((0, 0), (4, 2), gravity=(0, -G), walls="slip")
        soil = mpm.materials.MohrCoulomb(E=2e6, nu=0.3, density=2000, cohesion=1e3, friction_angle_deg=30)
        scene.add(Box((0, 0), (4, 1)), soil, name="ground")
        add(scene, soil)
        return mpm.Simulation(scene, dx=0.5)

    pit = Box((3, 0.5), (4, 2))
    with pytest.raises(ValueError, match=r"drain 'pit' acts at 0\.1 s"):
        mpm.factor_of_safety(ground(lambda scene, _: scene.add_drain(pit, start=0.1, name="pit")))
    with pytest.raises(ValueError, match="has emitters"):
        mpm.factor_of_safety(ground(lambda scene, soil: scene.add_emitter(pit, soil, velocity=(0, -1))))
    with pytest.raises(ValueError, match=r"between = \(0\.1, 0\.11\)"):  # it has been dug
        dug = ground(lambda scene, _: scene.add_drain(pit, name="pit"))
        mpm.factor_of_safety(dug, between=(0.1, 0.11), duration=0.01)
