"""Colliders that are added between steps."""

import copy

import numpy as np
import pytest

import mpm

WATER = mpm.materials.Fluid(bulk_modulus=1e4, density=1000)
JELLY = mpm.materials.Corotated(E=1e4, nu=0.3, density=1000)


def falling(method, dim=2, plate=False, **options):
    """A block on its way down, and a plate at rest below it; the block has another collider far away."""
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[*[0] * (dim - 1), -10])
    block = mpm.shapes.Box([0.25] * (dim - 1) + [0.5], [0.75] * (dim - 1) + [0.75])
    scene.add(block, JELLY if method == "fem" else WATER)
    scene.add_collider(mpm.shapes.Ball([0.1] * dim, 0.1), name="far")
    if plate:
        scene.add_collider(floor(dim), name="plate")
    if method == "mpm":
        return mpm.Simulation(scene, **{"dx": 1 / 16, "threads": 1} | options)
    make = {"sph": mpm.sph, "fem": mpm.fem}[method].Simulation
    return make(scene, **{"spacing": 1 / 16, "threads": 1} | options)


def floor(dim):
    return mpm.shapes.Box([0] * (dim - 1) + [0.0625], [1] * (dim - 1) + [0.25])


METHODS = ("mpm", "sph", "fem")


@pytest.mark.parametrize(("method", "dim"), [*((m, 2) for m in METHODS), ("mpm", 3), ("sph", 3)])
def test_a_late_collider_acts_as_one_that_was_there(method, dim):
    """Before anything can touch it, it makes no difference whether it is there; then every bit is the same."""
    early, late = (falling(method, dim, plate) for plate in (True, False))
    for sim in (early, late):
        sim.step(5)
    views = late.particles.x
    late.add_collider(floor(dim), name="plate")
    assert np.shares_memory(views, late.particles.x)
    for sim in (early, late):
        sim.run(0.3)
    assert early.state_hash() == late.state_hash()
    differ = mpm.diff(early, late)  # the particles of a collider change the order of SPH's sums
    assert not differ or (
        method == "sph" and differ.keys() == {"history"} and differ["history"].largest < 1e-11
    )
    impulse = late.history["impulse:plate"]
    assert len(impulse) == late.steps + 1 and not impulse[:6].any() and impulse[:, -1].sum() > 0
    for name in late.history:
        np.testing.assert_allclose(late.history[name], early.history[name], rtol=0, atol=1e-11)
    change = late.totals().momentum
    summed = sum(
        late.history[n].sum(axis=0) for n in ("body_impulse", "wall_impulse", "impulse:far", "impulse:plate")
    )
    np.testing.assert_allclose(change, summed, atol=1e-9 * late.totals().mass)  # measured 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_it_is_kept(method, tmp_path):
    sim = falling(method)
    sim.run(0.05)
    motion = mpm.motion.Linear((0, 0.2))
    sim.add_collider(floor(2), motion=motion, name="plate")
    with pytest.raises(ValueError, match="plate"):
        sim.add_collider(floor(2), name="plate")
    assert [one.name for one in sim.scene.colliders] == ["far", "plate"]
    sim.save(tmp_path / "late.mpm")
    others = [mpm.load(tmp_path / "late.mpm"), copy.copy(sim)]
    for other in (sim, *others):
        other.run(0.1)
    assert all(other == sim and not mpm.diff(sim, other) for other in others)
    sim.record(tmp_path / "late.vtkhdf", fps=100).close()
    replay = mpm.replay(tmp_path / "late.vtkhdf")
    there = replay[0].collider_distance("plate", [(0.5, 0.5)])
    np.testing.assert_array_equal(there, sim.collider_distance("plate", [(0.5, 0.5)]))
    sim.plot()


@pytest.mark.parametrize("method", METHODS)
def test_between_records_no_impulse_is_lost(method):
    """The history is written every 7 steps; a collider that comes in between clears no book."""
    sims = [falling(method, history=7, dt=2e-4, allow_unstable=True) for _ in range(2)]
    for sim in sims:
        sim.step(10)
        if sim is sims[1]:
            sim.add_collider(mpm.shapes.Ball((0.9, 0.1), 0.1), name="corner")
        sim.step(11)
    for name in sims[0].history:
        np.testing.assert_array_equal(sims[0].history[name], sims[1].history[name])
    assert sims[1].history["impulse:corner"].shape == (4, 2)


def test_what_cannot_be_is_refused_and_changes_nothing(tmp_path):
    sims = {method: falling(method) for method in METHODS}
    inside = mpm.shapes.Box((0.3, 0.4), (0.7, 0.6))
    for method, sim in sims.items():
        sim.step(3)
        before = copy.copy(sim)
        if method == "sph":
            with pytest.raises(ValueError, match="12 of 32 particles are inside; delete them first"):
                sim.add_collider(inside)
            with pytest.raises(ValueError, match=r"friction = 0\.5: a fluid by SPH has no Coulomb friction"):
                sim.add_collider(floor(2), friction=0.5)
            with pytest.raises(ValueError, match="has no point of the lattice"), pytest.warns(UserWarning):
                sim.add_collider(mpm.shapes.Box((0, 0.3), (1, 0.301)))
        else:
            with pytest.raises(UserWarning, match="inside the collider 'collider0' already"):
                sim.add_collider(inside)  # a warning is an error here
        with pytest.raises(ValueError, match="must be 2-D"):
            sim.add_collider(mpm.shapes.Ball((0.5, 0.5, 0.5), 0.1))
        with (
            sim.record(tmp_path / f"{method}.vtkhdf", fps=10),
            pytest.raises(ValueError, match="recording is open"),
        ):
            sim.add_collider(floor(2))
        assert sim == before and list(sim.history) == list(before.history)
        sim.add_collider(floor(2), name="plate")
        sim.step()


def test_a_callback_may_add_one():
    sim = falling("mpm")
    sim.run(
        0.02,
        callback=lambda s: len(s.scene.colliders) < 2 and s.add_collider(floor(2), name="plate"),
        every=1,
    )
    assert len(sim.history["impulse:plate"]) == sim.steps + 1
