"""The correction of the density of fluids: water keeps its volume, and nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest

import mpm
import scenes
import water
from loops import each

every_dim = pytest.mark.parametrize("dim", scenes.DIMS)
every_dtype = pytest.mark.parametrize("dtype", scenes.DTYPES)

DT = 2e-4
SCHEMES = (
    {},
    {"kernel": "cubic", "gradient": "bspline", "transfer": "tpic"},
    {"transfer": "flip", "kernel": "linear", "gradient": "bspline"},
    {"transfer": "xpic", "f_update": "cayley"},
    {"transfer": "asflip", "kernel": "cubic"},
)


def corrected(J, advanced, C, full, dt, kappa):
    """J after the correction of `advanced`, written anew."""
    o = np.where(J > 1, np.maximum(full, 1), J * full)
    e = o - 1
    e = np.sign(e) * np.clip(np.abs(e) - 0.01, 0, 0.5)
    D = (C + C.transpose(0, 2, 1)) / 2
    D = D - np.trace(D, axis1=1, axis2=2)[:, None, None] * np.eye(C.shape[1]) / C.shape[1]
    rate = kappa * np.sqrt(2 * (D**2).sum(axis=(1, 2)))
    return advanced * (1 - np.minimum(rate * dt, 0.05) * e)


def stirred(dim, walls="slip", materials=None, **options):
    """Fluids in disorder that fill most of a box, at random velocities."""
    side = 12 if dim == 2 else 6
    scene = mpm.Scene((0,) * dim, (1,) * dim, walls=walls)
    for k, material in enumerate(materials or [water.water()]):
        low, high = (0.0, 0.0, 0.0)[:dim], (0.8, 1.0, 1.0)[:dim]
        box = mpm.shapes.Box(low, high)
        half = mpm.shapes.HalfSpace((0.4,) + (0,) * (dim - 1), ((1 - 2 * k),) + (0,) * (dim - 1))
        scene.add(box & half if materials else box, material, name=f"body{k}")
    options = {"dx": 1 / side, "dt": DT, "threads": 1} | options
    sim = mpm.Simulation(scene, **options)
    rng = np.random.default_rng(1)
    p = sim.particles
    p.x[:] = np.clip(p.x + 0.03 * rng.standard_normal(p.x.shape), 1e-3, 1 - 1e-3)
    p.v[:] = 3 * rng.standard_normal(p.v.shape)
    rows = sim._fluid_rows(p)
    p.J[rows] = np.exp(0.02 * rng.standard_normal(rows.sum()))
    return sim


@every_dim
@each(
    "case",
    ("walls", "periodic", "mirror", "two fluids", "a solid", "warm", "a collider", *range(len(SCHEMES))),
)
def test_a_step_corrects_j_as_the_formula_says(dim, case):
    """Beside the same step without the correction: J alone differs, by what NumPy finds at the places before it."""
    solid = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=300)
    materials = {
        "two fluids": [water.water(), water.water(density=300)],
        "a solid": [water.water(), solid],
        "warm": [replace(water.water(), thermal=mpm.Thermal(1e4, 1, 300.0, expansion=1e-4))],
    }.get(case)
    walls = case if case in ("periodic", "mirror") else "slip"
    options = SCHEMES[case] if isinstance(case, int) else {}
    sims = [stirred(dim, walls, materials, density_correction=kappa, **options) for kappa in (0, 2)]
    if case == "a collider":
        for sim in sims:
            sim.add_collider(mpm.shapes.Ball((1.2,) + (0.5,) * (dim - 1), 0.3), name="ball")
    if case == "warm":
        for sim in sims:
            sim.particles.temperature[:] = 800.0
            sim.step()  # expands
        sims[1].particles.J[:] = sims[0].particles.J
        np.testing.assert_allclose(sim.particles.thermal_stretch, 1.05, rtol=1e-12)
    before = {"J": np.array(sims[1].particles.J)}
    full = sims[1]._fullness(sims[1].particles)
    for sim in sims:
        sim.step()
    plain, found = (sim.particles for sim in sims)
    for name in ("x", "v", "C"):
        np.testing.assert_array_equal(plain[name], found[name])
    rows = sims[1]._fluid_rows(found)
    if case in range(1, len(SCHEMES)):  # C of these is not the gradient that strains
        J = before["J"]
        changed, wanted = found.J / plain.J - 1, np.where(J > 1, np.maximum(full, 1), J * full) - 1
        acted = np.abs(wanted) > 0.06
        assert acted.sum() > 20
        assert (np.sign(changed[acted]) == -np.sign(wanted[acted])).mean() > 0.99
        return
    expected = corrected(before["J"], np.array(plain.J), np.array(plain.C), full, DT, 2)
    np.testing.assert_allclose(np.array(found.J)[rows], expected[rows], rtol=1e-12)
    assert np.abs(found.J / plain.J - 1)[rows].max() > 1e-4
    assert (found.J == plain.J)[~rows].all()


@every_dim
def test_colliders_beside_periodic_faces_leave_the_same_room(dim):
    """Moved by whole cells, from one face to the other, so that a node sees the collider beyond the face."""

    def after(cells):
        scene = mpm.Scene((0,) * dim, (1,) * dim, walls={"x": "periodic", "y": "slip"})
        scene.add(mpm.shapes.Box((0,) * dim, (1,) * dim), water.water(), name="water")
        centre = ((1.6 + cells) / 12 % 1,) + (0.5,) * (dim - 1)
        scene.add_collider(mpm.shapes.Ball(centre, 1.05 / 12), name="ball")
        with pytest.warns(UserWarning, match="inside the collider"):
            sim = mpm.Simulation(scene, dx=1 / 12, dt=DT, threads=1)
        p, rng = sim.particles, np.random.default_rng(1)
        x = np.clip(p.x + 0.03 * rng.standard_normal(p.x.shape), 1e-3, 1 - 1e-3)
        x[:, 0] = (x[:, 0] + cells / 12) % 1
        p.x[:] = x
        p.v[:] = 3 * rng.standard_normal(x.shape)
        p.J[:] = np.exp(0.02 * rng.standard_normal(len(x)))
        sim.step(5)
        return np.array(p.J)

    np.testing.assert_allclose(after(-3), after(0), rtol=1e-13)  # of one place alone: 0.02 and 0.01 off


@every_dim
@every_dtype
def test_a_correction_of_nothing_has_the_bits_of_none(dim, dtype):
    sims = [stirred(dim, density_correction=kappa, dtype=dtype, dt="auto") for kappa in (0, 1e-300)]
    for sim in sims:
        sim.step(60)
    assert sims[0].state_hash() != sims[1].state_hash()  # the options are part of it
    for name in ("x", "v", "C", "J"):
        np.testing.assert_array_equal(sims[0].particles[name], sims[1].particles[name])


@every_dim
@every_dtype
def test_still_water_keeps_j_to_the_bit(dim, dtype):
    """A drop in disorder, which the grid finds far from full."""
    sim = stirred(dim, dtype=dtype, materials=[water.water(viscosity=0)])
    p = sim.particles
    p.v[:], p.J[:] = 0.25, 1
    full = sim._fullness(p)
    assert full.std() > 0.02
    sim.step()
    inside = (np.abs(p.x - 0.4) < 0.15).all(axis=1)  # walls slow the rest
    assert inside.any() and np.abs(p.J[inside] - 1).max() == 0


@every_dim
@every_dtype
def test_bits_know_no_threads_no_splits_and_no_files(dim, dtype, tmp_path):
    def make(**options):
        solid = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=300)
        sim = stirred(dim, materials=[water.water(), solid], dtype=dtype, dt="auto", **options)
        sim.add(mpm.shapes.Box((5 / 6,) * dim, (1,) * dim), water.water(density=700), name="late")
        return sim

    one, many, split = make(), make(threads=3), make()
    for sim in (one, many):
        sim.step(40)
    split.step(13)
    split.save(tmp_path / "state.mpm")
    split = mpm.load(tmp_path / "state.mpm")
    split.step(27)
    assert one.state_hash() == many.state_hash() == split.state_hash()
    gone = np.arange(len(one.particles)) % 3 == 0
    for sim in (one, split):
        sim.particles.delete(gone)
        sim.step(5)
    assert one.state_hash() == split.state_hash()


@every_dim
def test_a_refused_step_writes_nothing(dim):
    sim = stirred(dim)
    sim.step(2)
    sim.particles.v[0] = 2e4
    before = [np.array(sim.particles[name]) for name in ("x", "v", "C", "J")]
    with pytest.raises(mpm.SimulationError):
        sim.step()
    for name, values in zip(("x", "v", "C", "J"), before, strict=True):
        np.testing.assert_array_equal(sim.particles[name], values)


def test_a_dam_break_keeps_its_volume_and_its_energy_falls():
    """Measured: 0.991 of the exact depth, without the correction 0.72; the energy never rises."""
    sim = mpm.Simulation(water.tank(), dx=1 / 40, threads=1)
    energies = [water.energy(sim)]
    for _ in range(50):
        sim.run(0.1)
        energies.append(water.energy(sim))
    assert np.diff(energies).max() < 1e-5 * energies[0]
    water.bring_to_rest(sim, 1)
    assert water.height(sim) / water.exact() == pytest.approx(1, abs=0.015)
    assert sim.compute("density").mean() == pytest.approx(1000, rel=0.02)
    assert sim.compute("law_density").mean() == pytest.approx(1000, rel=0.01)
    assert all(one.good for one in mpm.doctor(sim) if one.topic == "volume")


def test_the_density_is_that_of_the_grid_and_the_doctor_sees_what_is_lost():
    sim = mpm.Simulation(water.tank(), dx=1 / 20, particles_per_cell=1, threads=1, density_correction=0)
    sim.run(4)
    lost = water.height(sim) / water.DEPTH
    assert lost < 0.6  # measured 0.42
    assert sim.compute("law_density").mean() == pytest.approx(1000, rel=0.01)
    assert sim.compute("density").mean() == pytest.approx(1000 / lost, rel=0.15)
    found = {one.topic: one.words for one in mpm.doctor(sim) if not one.good}
    assert "choose density_correction=2" in found["volume"] and "choose 4 or more" in found["particles"]


def test_the_default_and_what_is_refused():
    rock = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=300)

    def make(material=None, **options):
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add(mpm.shapes.Box((0, 0), (0.5, 0.5)), material or water.water())
        return mpm.Simulation(scene, dx=1 / 8, **options)

    assert make()._numerics.density_correction == 2
    assert make(integrator="implicit-euler")._numerics.density_correction == 0
    assert make(rock)._numerics.density_correction is None
    for value in (-1, 11, np.nan):
        with pytest.raises(ValueError, match=r"density_correction = .*: must be (>= 0 and <= 10|a finite)"):
            make(density_correction=value)
    with pytest.raises(ValueError, match="no material of the scene is a Fluid"):
        make(rock, density_correction=2)
    with pytest.raises(ValueError, match="integrator='implicit-euler' does not use it"):
        make(integrator="implicit-euler", density_correction=2)
    with pytest.warns(UserWarning, match="F-bar creates volume"):
        make(f_bar=True)


def test_a_fluid_that_comes_later_is_corrected_as_its_simulation_says(tmp_path):
    rock = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=300)
    pond = mpm.shapes.Box((0.5, 0), (1, 0.5)), water.water()

    def begun(*bodies, **options):
        scene = mpm.Scene((0, 0), (1, 1))
        for shape, material in ((mpm.shapes.Box((0, 0), (0.4, 0.5)), rock), *bodies):
            scene.add(shape, material)
        return mpm.Simulation(scene, dx=1 / 8, dt=1e-3, threads=1, **options)

    def J(sim):
        sim.particles.v[:] = np.random.default_rng(1).standard_normal(sim.particles.v.shape)
        sim.step(5)
        return np.array(sim.particles.J)

    found = []
    for given in ({}, {"density_correction": 0}):
        dry = begun(**given)
        dry.save(tmp_path / "dry.mpm")
        dry.add(*pond)
        dry.save(tmp_path / "wet.mpm")
        loaded, filled = mpm.load(tmp_path / "dry.mpm"), mpm.load(tmp_path / "wet.mpm")
        for late in (loaded, again := dry._rebuilt({})):  # without what was added
            late.add(*pond)
        found.append(J(begun(pond, **given)))
        for late in (dry, loaded, filled, again):
            assert np.array_equal(J(late), found[-1])
    assert not np.array_equal(*found)
    ball = mpm.Scene((0, 0), (1, 1))
    ball.add(mpm.shapes.Ball((0.5, 0.5), 0.2), mpm.materials.Rigid(density=300))
    assert mpm.Simulation(ball, dx=1 / 16, density_correction=0)._numerics.density_correction == 0


def test_the_doctor_names_the_resolution_that_a_body_in_water_needs():
    def found(radius, material=None):
        scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
        ball = mpm.shapes.Ball((0.5, 0.5), radius)
        scene.add(mpm.shapes.Box((0, 0), (1, 0.8)) - ball, water.water(), name="water")
        scene.add(ball, material or mpm.materials.Rigid(density=500), name="buoy")
        return [one for one in mpm.doctor(mpm.Simulation(scene, dx=1 / 32)) if one.topic == "in water"]

    (few,), (enough,) = found(0.125), found(0.3)
    assert not few.good and "'buoy' has 4 " in few.words and "choose dx <= 0.016 m" in few.words
    assert enough.good
    assert not found(0.125, water.water(density=500))  # a fluid in water is no body
