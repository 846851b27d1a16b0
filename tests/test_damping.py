"""Absorbing walls and damping: waves that leave, states of rest, books; refusals."""

from __future__ import annotations

import copy
import re

import numpy as np
import pytest

import mpm
from mpm.scene.waves import wave_speeds
from mpm.shapes import Ball, Box
from test_loads import METHODS, misfit

RUBBER = mpm.materials.FixedCorotated(E=1e6, nu=0.25, density=1000)
PRESSURE, SHEAR = np.sqrt([1.2e9 / 1e6, 0.4e9 / 1e6])  # c_p² = 1.2 E/ρ and c_s² = 0.4 E/ρ for this ν


def test_speeds_of_waves():
    assert np.allclose(wave_speeds(RUBBER), (PRESSURE, SHEAR), rtol=1e-6)


def pulse(method, axis, dim=2, cells=48, **options):
    """What is left of a plane pulse in a bar, as a share of its speed, after it has left through both ends."""
    solver, _ = METHODS[method]
    along, speed, width = 1.0, (PRESSURE, SHEAR)[axis], 0.1
    walls = {"x": "absorbing", "y": "mirror" if axis == 0 else "periodic"} | (
        {"z": "mirror"} if dim == 3 else {}
    )
    upper = [along] + [4 / cells] * (dim - 1)
    scene = mpm.Scene([0] * dim, upper, walls=walls)

    def velocity(x):
        v = np.zeros_like(x)
        v[:, axis] = 1e-3 * np.exp(-(((x[:, 0] - 0.5) / width) ** 2))
        return v

    scene.add(Box([0] * dim, upper), RUBBER, velocity=velocity)
    sim = solver(scene, **{"dx" if method == "mpm" else "spacing": along / cells}, **options)
    sim.run(0.2 / speed)
    before = np.abs(sim.particles.v[:, axis]).max()
    sim.run(0.8 / speed)
    return np.abs(sim.particles.v[:, axis]).max() / before, sim


@pytest.mark.parametrize(
    ("method", "axis", "options"),
    [
        ("mpm", 0, {}),
        ("mpm", 1, {}),
        ("mpm", 0, {"kernel": "cubic", "transfer": "flip", "dtype": "float32"}),
        ("mpm", 0, {"dim": 3, "cells": 32}),
        ("fem", 0, {}),
    ],
)
def test_a_plane_wave_leaves(method, axis, options):
    left, sim = pulse(method, axis, **options)
    assert left < 0.04  # 0.02 to 0.035: what a pulse of some ten cells leaves
    assert misfit(sim) < (1e-12 if sim.dtype == "float64" else 1e-6)
    assert np.abs(sim.history["wall_impulse"]).max() > 0


def test_dashpots_beside_a_mirror_close_the_books():
    scene = mpm.Scene((0, 0), (1, 0.5), walls={"x-": "mirror", "x+": "absorbing", "y": "absorbing"})
    scene.add(Box((0, 0), (1, 0.5)), RUBBER, velocity=lambda x: 1e-2 * np.cos(np.pi * x))
    sim = mpm.Simulation(scene, dx=1 / 16, damping=3.0, local_damping=0.3)
    start = sim.totals().kinetic
    sim.run(0.05)
    assert misfit(sim) < 1e-13
    assert sim.totals().kinetic < 0.01 * start


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["local_damping", "damping"])
def test_a_block_comes_to_rest_on_a_floor(method, kind):
    """Under its weight, with the stress of rest: a quarter of the steps that vibrations take to die down otherwise."""
    solver, options = METHODS[method]
    scene = mpm.Scene((0, 0), (0.5, 1), gravity=(0, -10), walls={"y-": "sticky", "x": "mirror"})
    scene.add(Box((0, 0), (0.5, 0.5)), RUBBER)
    frequency = 0.5 * np.pi * PRESSURE / 0.5
    value = 0.7 if kind == "local_damping" else 2 * frequency if method == "mpm" else (2 * frequency, 0)
    sim = solver(scene, **options, **{kind: value})
    sim.run(8 * np.pi / frequency)
    history = sim.history
    assert misfit(sim) < 1e-12
    kinetic = history["kinetic"]
    assert kinetic[-1] < 1e-4 * kinetic.max()
    assert sim.force("walls", window=np.pi / frequency)[1] == pytest.approx(10 * 250, rel=2e-3)
    assert sim.compute("stress")[:, 1, 1].mean() == pytest.approx(-10 * 1000 * 0.25, rel=0.03)
    other = copy.copy(sim)
    sim.step(2)
    other.step(1)
    other.step(1)
    assert sim.state_hash() == other.state_hash()


def test_damping_by_mass_slows_a_flight():
    """v = v0 (1 + a dt)^-n, exactly, whatever dt is."""
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(Box((0.25, 0.25), (0.5, 0.5)), RUBBER, velocity=(2.0, 0))
    sim = mpm.Simulation(scene, dx=1 / 16, damping=50.0, dt=1e-4)
    sim.step(40)
    mass = sim.totals().mass
    assert sim.totals().momentum[0] == pytest.approx(2 * mass * 1.005**-40, rel=1e-12)
    assert sim.history["damping_impulse"][:, 0].sum() == pytest.approx(2 * mass * (1.005**-40 - 1), rel=1e-12)


@pytest.mark.parametrize("contact", ["slip", "separate"])
def test_rounding_does_not_say_what_a_contact_has_held(contact):
    """A smooth collider holds the components along its normal; the others are damped, whatever rounding does."""
    ends = []
    for seed in range(3):
        scene = mpm.Scene((0, 0), (1, 1), gravity=(2, -3))
        scene.add(Box((0.4, 0.5), (0.7, 0.8)), RUBBER, velocity=(0.3, -1.0))
        moving = mpm.motion.Linear((-0.67, -0.557))
        scene.add_collider(Box((0.25, 0.2), (0.9, 0.52)), contact=contact, motion=moving)
        sim = mpm.Simulation(scene, dx=0.1, damping=4.7, dt=1e-3)
        sim.particles.x[:] += 1e-9 * np.random.default_rng(seed).uniform(-1, 1, sim.particles.x.shape)
        sim.step(20)
        ends.append(sim.particles.v.copy())
    assert np.ptp(ends, axis=0).max() < 1e-6  # 2e-9; 2e-3 where the last digit says what is held


def test_refusals():
    soft = mpm.materials.FixedCorotated(E=1e4, nu=0.25, density=1000)
    two = mpm.Scene((0, 0), (1, 1), walls={"x": "absorbing"})
    two.add(Box((0, 0), (0.5, 0.5)), RUBBER)
    one = copy.copy(two)
    two.add(Box((0.5, 0), (1, 0.5)), soft)
    rigid = mpm.Scene((0, 0), (1, 1), walls={"x": "absorbing"})
    rigid.add(Box((0, 0), (0.5, 0.5)), mpm.materials.Rigid(density=1000))
    water = mpm.Scene((0, 0), (1, 1), walls={"x": "absorbing"})
    water.add(Box((0, 0), (0.5, 0.5)), mpm.materials.Fluid(density=1000, bulk_modulus=1e5))
    implicit = {"integrator": "implicit-euler"}
    for call, text in (
        (
            lambda: mpm.Simulation(two, dx=1 / 8),
            "waves have speeds (34.64, 20) and (3.464, 2) m/s in different bodies",
        ),
        (
            lambda: mpm.Simulation(one, dx=1 / 8, **implicit),
            "walls['x-'] = 'absorbing': implicit steps have no dashpots",
        ),
        (lambda: mpm.Simulation(rigid, dx=1 / 8), "a rigid body has no waves"),
        (lambda: mpm.sph.Simulation(water, spacing=1 / 16), "a fluid by SPH has no nodes at the face"),
        (
            lambda: mpm.fem.Simulation(one, spacing=1 / 8, integrator="linearly-implicit-euler"),
            "implicit steps have no dashpots",
        ),
        (lambda: mpm.Simulation(one, dx=1 / 8, local_damping=1.0), "local_damping = 1.0: must be"),
        (lambda: mpm.Simulation(one, dx=1 / 8, damping=-1), "damping = -1.0: must be"),
        (lambda: mpm.Wall("slip", speeds=(2, 1)), "'slip' walls have none"),
        (lambda: mpm.Wall("absorbing", speeds=(1, 2)), "must be c_p >= c_s >= 0"),
        (lambda: mpm.Wall("absorbing", friction=0.1), "'absorbing' walls have none"),
    ):
        with pytest.raises(ValueError, match=re.escape(text)):
            call()
    free = mpm.Scene((0, 0), (1, 1))
    free.add(Box((0, 0), (0.5, 0.5)), RUBBER)
    with pytest.raises(ValueError, match="'implicit-euler' does not use it"):
        mpm.Simulation(free, dx=1 / 8, local_damping=0.5, **implicit)
    with pytest.raises(ValueError, match="does not use it"):
        mpm.fem.Simulation(free, spacing=1 / 8, local_damping=0.5, integrator="linearly-implicit-euler")


def test_a_rigid_body_does_not_come_to_an_absorbing_wall_later():
    scene = mpm.Scene((0, 0), (1, 1), walls={"x+": "absorbing"})
    scene.add(
        mpm.shapes.Box((0.2, 0.2), (0.6, 0.6)), mpm.materials.FixedCorotated(E=1e4, nu=0.3, density=1000)
    )
    sim = mpm.Simulation(scene, dx=1 / 16)
    with pytest.raises(ValueError, match="a rigid body has no waves"):
        sim.add(mpm.shapes.Ball((0.8, 0.8), 0.1), mpm.materials.Rigid(density=1000))


@pytest.mark.parametrize("solver", ["mpm", "fem"])
def test_other_waves_do_not_come_to_automatic_dashpots(solver):
    """Neither by a late body or a filling nor by a change of parameters, which dashpots would not see."""
    soft = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)

    def run(**options):
        scene = mpm.Scene((0, 0), (1, 1), walls={"x+": mpm.Wall("absorbing", **options)})
        scene.add(mpm.shapes.Box((0.2, 0.2), (0.6, 0.6)), RUBBER, name="ground")
        return (
            mpm.Simulation(scene, dx=1 / 8) if solver == "mpm" else mpm.fem.Simulation(scene, spacing=1 / 8)
        )

    sim, given = run(), run(speeds=(30, 20))
    text = re.escape(
        "but the dashpots of walls['x+'] those of the bodies at the beginning, (34.64, 20) m/s; "
    )
    before = sim.state_hash()
    with pytest.raises(ValueError, match=text):
        sim.set("ground.E", 2 * RUBBER.E)
    given.set("ground.E", 2 * RUBBER.E)
    if solver == "mpm":
        for other in (
            soft,
            mpm.materials.NeoHookean(E=lambda x: 1e4 + x[:, 0], nu=0.3, density=1000),
        ):
            with pytest.raises(ValueError, match=text):
                sim.add(Ball((0.8, 0.8), 0.15), other)
        given.add(Ball((0.8, 0.8), 0.15), soft)
    assert sim.state_hash() == before
    if solver == "mpm":
        sim.add(Ball((0.8, 0.8), 0.15), RUBBER)


def test_no_rest_at_dashpots():
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -1), walls="absorbing")
    scene.add(Box((0, 0), (1, 0.5)), RUBBER)
    with pytest.raises(ValueError, match="dashpots bear no load at rest"):
        mpm.Simulation(scene, dx=1 / 8).equilibrate()
