"""Implicit conduction: the error of backward Euler, steady states of long steps, books, bits, refusals."""

import math
import re

import numpy as np
import pytest

import mpm
from mpm.shapes import Ball, Box, HalfSpace

BASE = 300.0


def conductor(k=1.0, c=1.0, E=1e-6, density=1.0, **options):
    return mpm.materials.NeoHookean(E=E, nu=0.0, density=density, thermal=mpm.Thermal(k, c, BASE, **options))


def rod(n, dt, walls=None, dim=2, **options):
    """Of n cells along x and four across."""
    size = (1.0, *[4 / n] * (dim - 1))
    scene = mpm.Scene((0,) * dim, size, walls=walls or {})
    scene.add(Box((0,) * dim, size), conductor())
    sim = mpm.Simulation(scene, dx=1 / n, dt=dt, conduction="implicit", **options)
    return sim, np.asarray(sim.particles.x)[:, 0].astype(float)


def temperature(sim):
    return np.asarray(sim.particles.temperature).astype(float)


def gained(sim):
    """Heat that came from nowhere, over the heat at the start."""
    history = sim.history
    given = sum(history[name].sum() for name in ("wall_heat", "collider_heat", "source_heat"))
    return abs(history["heat"][-1] - history["heat"][0] - given) / history["heat"][0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_conductivities_without_measure_even_out_temperatures(dtype):
    """The step is bounded, because the heat that flows has the rounding of the solve many times."""
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(Box((0.25, 0.25), (0.75, 0.75)), conductor(k=1e10, E=10.0))
    sim = mpm.Simulation(scene, dx=1 / 16, conduction="implicit", dtype=dtype)
    assert sim.stable_dt().limit == "conduction"
    sim.particles.temperature[:] = BASE + 50 * np.sin(7 * np.asarray(sim.particles.x)[:, 0])
    before = sim.totals().heat
    sim.step(40)
    T = temperature(sim)
    assert np.ptp(T) < (1e-5 if dtype == "float64" else 0.05)  # measured: 4e-7, 0.025 of 50 K
    assert sim.totals().heat == pytest.approx(before, rel=1e-6)


@pytest.mark.parametrize(
    ("steps", "dim", "dtype"),
    [
        (80, 2, "float64"),
        (8, 2, "float64"),
        (2, 2, "float32"),
        (8, 3, "float64"),
    ],  # of 1, 10 and 40 dx²/alpha
)
@pytest.mark.parametrize("ends", ["insulated", "given"])
def test_rods_have_the_error_of_backward_euler(steps, dim, dtype, ends):
    n, end = 40 if dim == 2 else 20, 0.05
    walls, shape = (
        ({}, np.cos) if ends == "insulated" else ({"x": mpm.Wall("slip", temperature=BASE)}, np.sin)
    )
    sim, x = rod(n, end / steps, walls, dim, dtype=dtype)
    sim.particles.temperature[:] = BASE + 100 * shape(np.pi * x)
    sim.particles.temperature_gradient[:, 0] = (
        100 * np.pi * (np.cos(np.pi * x) if ends == "given" else -np.sin(np.pi * x))
    )
    sim.step(steps)
    exact = (1 + math.pi**2 * end / steps) ** -steps  # of backward Euler
    error = abs(temperature(sim) - BASE - 100 * shape(np.pi * x) * exact).max() / (100 * exact)
    assert error < (0.001 if dim == 2 else 0.004)  # measured: 0.0008, 0.0033, which is that of dx
    assert gained(sim) < (1e-6 if dtype == "float32" else 1e-14)
    assert sim.health["stagnated"] == 0


@pytest.mark.parametrize("by", ["walls", "colliders"])
def test_a_long_step_ends_in_the_steady_state(by):
    n, q, transfer = 20, 50.0, (4.0, 280.0)
    dx = 1 / n
    size = (1.0, 4 * dx)
    if by == "walls":
        walls = {"x-": mpm.Wall("slip", flux=q), "x+": mpm.Wall("slip", transfer=transfer)}
        scene = mpm.Scene((0, 0), size, walls=walls)
    else:
        scene = mpm.Scene((-4 * dx, 0), (1 + 4 * dx, size[1]))
        scene.add_collider(HalfSpace((0, 0), (1, 0)), contact="sticky", flux=q)
        scene.add_collider(HalfSpace((1, 0), (-1, 0)), contact="sticky", transfer=transfer)
    scene.add(Box((0, 0), size), conductor(E=1e-12))
    sim = mpm.Simulation(scene, dx=dx, dt=1e4, conduction="implicit")
    x = np.asarray(sim.particles.x)[:, 0].copy()
    for _ in range(3):
        sim.step()
    steady = transfer[1] + q / transfer[0] + q * (1 - x)
    assert abs(temperature(sim) - steady).max() < 0.5  # of 50
    assert gained(sim) < 1e-11  # measured: 2e-12, as 300 kJ come and go


def balls(threads=1, melts=False, **options):
    d = 2
    first, second = (mpm.Melting(310, 20, conductivity=2, specific_heat=3), mpm.Melting(290, 100))
    if not melts:
        first = second = None
    walls = {
        "x-": mpm.Wall("slip", temperature=350),
        "y-": mpm.Wall("separate", transfer=(3.0, 250)),
        "y+": "mirror",
    }
    scene = mpm.Scene((0,) * d, (1,) * d, gravity=(0, -9.81), walls=walls)
    scene.add(Box((0.1, 0.1), (0.4, 0.4)), conductor(4.0, 2.0, E=1e2, melting=first), velocity=(-1, -1))
    scene.add(Ball((0.6, 0.3), 0.16), conductor(0.5, E=1e2, density=3.0, melting=second), velocity=(1, -1))
    scene.add_collider(Ball((0.85, 0.15), 0.1), contact="sticky", temperature=320)
    scene.add_collider(Box((0.25, -0.1), (0.5, 0.08)), contact="slip", flux=30.0)
    sim = mpm.Simulation(scene, dx=1 / 16, conduction="implicit", dt=4e-3, threads=threads, **options)
    sim.particles.temperature[:] = np.random.default_rng(1).uniform(250, 350, len(sim.particles))
    return sim


@pytest.mark.parametrize("melts", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_heat_balances_between_materials_walls_and_colliders(dtype, melts):
    sim = balls(dtype=dtype, melts=melts)
    before = np.ptp(temperature(sim))
    sim.step(40)  # of 2 and 0.7 dx²/alpha at the walls: measured 3e-15, 2e-7
    assert abs(sim.history["wall_heat"]).sum() > 1 and abs(sim.history["collider_heat"]).sum() > 0.1
    assert gained(sim) < (1e-5 if dtype == "float32" else 1e-12)
    assert np.ptp(temperature(sim)) < before


def test_the_same_bits_for_threads_splits_and_files(tmp_path):
    one, two = balls(melts=True), balls(threads=2, melts=True)
    one.step(20)
    for _ in range(7):
        two.step()
    two.save(tmp_path / "seven.mpm")
    other = mpm.load(tmp_path / "seven.mpm")
    assert re.search(r"\| conduction +\| implicit", other.settings_table())
    two.step(13)
    other.step(13)
    assert one.state_hash() == two.state_hash() == other.state_hash()


def test_short_times_need_no_solve_and_long_ones_no_bound():
    def bits(conduction):
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add(Box((0.2, 0.2), (0.8, 0.8)), conductor(E=1e4, density=1000))
        sim = mpm.Simulation(scene, dx=1 / 16, conduction=conduction)
        sim.particles.temperature[:] = 300 + 50 * sim.particles.x[:, 0]
        sim.step(20)
        return temperature(sim).tobytes()

    assert bits("implicit") == bits("explicit")
    sim, _ = rod(10, 10.0)
    assert "conduction" not in repr(sim.stable_dt())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"conduction": "euler"}, "conduction = 'euler'"),
        ({"conduction": True}, "conduction"),
    ],
)
def test_what_cannot_be_implicit_says_so(options, words):
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(Box((0, 0), (1, 1)), conductor())
    with pytest.raises((TypeError, ValueError), match=words):
        mpm.Simulation(scene, dx=1 / 8, **options)


def test_implicit_conduction_needs_heat():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(Box((0, 0), (0.5, 0.5)), mpm.materials.NeoHookean(E=1e3, nu=0.3, density=1000))
    with pytest.raises(ValueError, match="no body conducts heat or a solute: not used"):
        mpm.Simulation(scene, dx=1 / 8, conduction="implicit")


def test_transfers_beside_walls_of_given_temperature_are_solved():
    """All images of a node need the same area: with those of their own, 20,000 products found no end."""
    walls = {
        "x-": mpm.Wall("slip", temperature=350.0),
        "x+": mpm.Wall("slip", transfer=(1.0, 250.0)),
        "y-": mpm.Wall("slip", transfer=(1.0, 250.0)),
        "y+": mpm.Wall("slip", temperature=270.0),
    }
    scene = mpm.Scene((0, 0), (1, 1), walls=walls)
    scene.add(Box((0, 0), (1, 1)), conductor())
    sim = mpm.Simulation(scene, dx=0.1, dt=10.0, conduction="implicit")
    sim.step(2)
    assert sim.health["stagnated"] == 0
    T = temperature(sim)
    assert 250 < T.min() and T.max() < 350
    assert gained(sim) < 1e-13


def melted_by_backward_euler(steps, end, latent, below, cells=200):
    """The melted share of a rod with one end 100 K above melting, by finite volumes and the enthalpy."""
    h, dt = 1 / cells, end / steps
    K = (2 * np.eye(cells) - np.eye(cells, k=1) - np.eye(cells, k=-1)) / h**2
    K[0, 0] += 1 / h**2
    K[-1, -1] -= 1 / h**2
    source = np.zeros(cells)
    source[0] = 2 / h**2 * 100
    enthalpy = np.full(cells, -float(below))
    side = np.where(enthalpy < 0, 0, 1)
    for _ in range(steps):
        start = enthalpy
        for _ in range(100):
            A, b = np.eye(cells) + dt * K, start - latent * (side == 2) + dt * source
            A[side == 1], b[side == 1] = np.eye(cells)[side == 1], 0
            enthalpy = start + dt * (source - K @ np.linalg.solve(A, b))
            before, side = side, np.where(enthalpy < 0, 0, np.where(enthalpy <= latent, 1, 2))
            if (before == side).all():
                break
    return float(np.clip(enthalpy / latent, 0, 1).mean())


def melting_rod(n, steps, end, latent, below, dim=2, **options):
    size = (1.0, *[4 / n] * (dim - 1))
    melting = mpm.Melting(BASE, latent, conductivity=1)
    thermal = mpm.Thermal(1, 1, BASE - below, melting=melting)
    scene = mpm.Scene((0,) * dim, size, walls={"x-": mpm.Wall("slip", temperature=BASE + 100)})
    scene.add(Box((0,) * dim, size), mpm.materials.NeoHookean(E=1e-6, nu=0, density=1, thermal=thermal))
    sim = mpm.Simulation(scene, dx=1 / n, dt=end / steps, conduction="implicit", **options)
    sim.step(steps)
    return sim, float(np.asarray(sim.particles.liquid_fraction).astype(float).mean())


@pytest.mark.parametrize(
    ("share", "below", "dim", "dtype"),
    [
        (1, 0, 2, "float64"),
        (40, 0, 2, "float64"),
        (10, 100, 2, "float64"),
        (10, 0, 2, "float32"),
        (10, 0, 3, "float64"),
    ],  # steps in dx²/alpha, and how far the solid is below melting [K]
)
def test_fronts_melt_as_by_backward_euler(share, below, dim, dtype):
    n, end, latent = 20, 0.04, 100.0
    steps = max(1, round(end * n * n / share))
    sim, melted = melting_rod(n, steps, end, latent, below, dim, dtype=dtype)
    # measured: 4, 4 and, between cold solid and liquid, -9 % with 20 cells; 2 % with 40
    limit = 0.1 if below else 0.06
    assert melted == pytest.approx(melted_by_backward_euler(steps, end, latent, below), rel=limit)
    assert gained(sim) < (1e-6 if dtype == "float32" else 1e-13)
    assert sim.health["stagnated"] == 0
    T = temperature(sim)
    assert BASE - below - 1 < T.min() and T.max() < BASE + 100


def test_what_has_melted_freezes_back():
    """Between ends that were warm and are cold: all latent heat leaves again."""
    melting = mpm.Melting(BASE, 50.0)
    scene = mpm.Scene((0, 0), (1, 0.25), walls={"x": mpm.Wall("slip", temperature=BASE - 40)})
    law = mpm.materials.NeoHookean(
        E=1e-6, nu=0, density=1, thermal=mpm.Thermal(1, 1, BASE + 10, melting=melting)
    )
    scene.add(Box((0, 0), (1, 0.25)), law)
    sim = mpm.Simulation(scene, dx=1 / 16, dt=10 / 16**2, conduction="implicit")
    assert (sim.particles.liquid_fraction == 1).all()
    sim.step(40)
    assert not np.any(sim.particles.liquid_fraction)
    assert abs(temperature(sim) - (BASE - 40)).max() < 0.5
    assert sim.history["wall_heat"].sum() == pytest.approx(-100 * 0.25, rel=0.01)  # 50 K and the latent heat
    assert gained(sim) < 1e-13
