"""Body forces of a scene: when they are asked, what they give, and that nothing else changes."""

import threading

import numpy as np
import pytest

import mpm
from loops import each
from mpm.study import conservation
from scenes import DIMS, DTYPES, EPSILON, MATERIALS, jittered, swirl

TRANSFERS = ("pic", "flip", "apic", "aflip", "asflip", "xpic", "tpic")
WALLS = ("separate", "sticky", "mirror", "periodic")


def whirl(x, t):
    """A field that changes in space and time [m/s2]."""
    return (3 + 20 * t) * np.cos(7 * x[:, ::-1]) - 4 * x


def block(
    dim, *, gravity=None, body_force=None, walls="separate", collider=False, velocity=swirl, **numerics
):
    """A soft block in a box of 16 cells that comes to its walls, and to a ball in a corner."""
    scene = mpm.Scene([-0.5] * dim, [0.5] * dim, gravity=gravity, body_force=body_force, walls=walls)
    spacing = 0.05
    x = jittered(dim, 15, spacing) - 0.45
    scene.add(mpm.shapes.Points(x, volume=spacing**dim), MATERIALS["neo_hookean"], velocity=velocity)
    if collider:
        scene.add_collider(mpm.shapes.Ball([0.45] * dim, 0.2), friction=0.3, name="ball")
    return mpm.Simulation(scene, dx=1 / 16, **numerics)


def largest(values):
    return float(np.abs(values).max())


@each("dtype", DTYPES)
@each("transfer", TRANSFERS)
@pytest.mark.parametrize("dim", DIMS)
def test_a_uniform_force_is_gravity(dim, transfer, dtype):
    g = np.array([0.7, -9.81, 0.3])[:dim]
    options = {"transfer": transfer, "dt": 1e-3, "dtype": dtype, "collider": True}
    fallen = block(dim, gravity=g, **options)
    pushed = block(dim, body_force=lambda x, t: np.broadcast_to(g, x.shape), **options)
    for sim in (fallen, pushed):
        sim.step(60)
    apart = largest(fallen.particles.x - pushed.particles.x)
    assert apart < 5e3 * EPSILON[dtype], apart
    given, weight = pushed.history["body_impulse"], fallen.history["body_impulse"]
    assert largest(given - weight) <= max(1e-13, EPSILON[dtype]) * largest(weight)
    expected = 1e-3 * (fallen.history["mass"][1:, None] * g)
    assert largest(weight[1:] - expected) <= EPSILON[dtype] * largest(weight)  # measured 0


@each("dtype", DTYPES)
@each("transfer", TRANSFERS)
@pytest.mark.parametrize("dim", DIMS)
def test_no_force_changes_no_bit(dim, transfer, dtype):
    options = {
        "transfer": transfer,
        "dtype": dtype,
        "collider": True,
        "walls": "mirror",
        "gravity": [0.5] * dim,
    }
    plain, forced = block(dim, **options), block(dim, body_force=lambda x, t: 0 * x, **options)
    plain.step(30)
    forced.step(30)
    assert plain.health["binnings"] > 1
    assert forced.state_hash() == plain.state_hash()
    for name in plain.history:
        assert np.array_equal(forced.history[name], plain.history[name]), name


@pytest.mark.numbers
@each("dtype", DTYPES)
@pytest.mark.parametrize("walls", WALLS)
@each("transfer", TRANSFERS)
@pytest.mark.parametrize("dim", DIMS)
def test_the_momentum_budget_closes(dim, transfer, walls, dtype):
    sim = block(
        dim, transfer=transfer, walls=walls, dtype=dtype, gravity=[1.0] * dim, body_force=whirl, collider=True
    )
    sim.step(40)
    h = sim.history
    impulse = h["body_impulse"] + h["wall_impulse"] + h["impulse:ball"]
    balance = np.diff(h["momentum"], axis=0) - impulse[1:]
    scale = largest(h["momentum"]) + largest(impulse)
    assert (
        largest(h["body_impulse"] - h["dt"][:, None] * h["mass"][:, None]) > 1e-3 * scale
    )  # more than gravity
    assert largest(balance) <= 50 * EPSILON[dtype] * scale, largest(balance) / scale / EPSILON[dtype]


@pytest.mark.parametrize("dim", DIMS)
def test_impulses_add_up_between_records(dim):
    each, third = (block(dim, body_force=whirl, gravity=[1.0] * dim, history=k) for k in (1, 3))
    each.step(12)
    third.step(12)
    summed = each.history["body_impulse"][1:].reshape(4, 3, dim).sum(axis=1)
    assert np.allclose(third.history["body_impulse"][1:], summed, rtol=1e-14, atol=0)


@pytest.mark.numbers
@each("transfer", ["flip", "apic"])
@pytest.mark.parametrize("dim", DIMS)
def test_the_centre_of_mass_follows_the_harmonic_oscillator(dim, transfer):
    """A force -w^2 (x - c) moves it as one particle, in the steps of symplectic Euler, whatever the material does."""
    w, dt, centre = 40.0, 1e-3, 0.01
    scene = mpm.Scene([-1] * dim, [1] * dim, body_force=lambda x, t: -(w**2) * (x - centre))
    scene.add(mpm.shapes.Ball([0.1] * dim, 0.2), MATERIALS["neo_hookean"], velocity=[0.5, -1.0, 0.7][:dim])
    sim = mpm.Simulation(scene, dx=1 / 16, dt=dt, transfer=transfer)
    start = sim.totals()
    x, v = start.center_of_mass, start.momentum / start.mass
    sim.step(100)
    for k in range(100):
        v = v - dt * w**2 * (x - centre)
        x = x + dt * v
        assert largest(sim.history["center_of_mass"][k + 1] - x) < 1e-13, k  # measured


@each("dtype", DTYPES)
@each("transfer", TRANSFERS)
@pytest.mark.parametrize("dim", DIMS)
def test_neither_threads_nor_looking_nor_the_splitting_of_a_run_change_a_bit(dim, transfer, dtype):
    options = {
        "body_force": whirl,
        "transfer": transfer,
        "dtype": dtype,
        "walls": "periodic",
        "collider": True,
    }
    whole, split = block(dim, threads=1, **options), block(dim, threads=3, **options)
    whole.step(24)
    for _ in range(4):
        split.step(5)
        split.totals(), split.stable_dt(), split.particles.x.sum(), split.particles.v.sum()
        split.step(1)
    assert split.state_hash() == whole.state_hash()
    assert whole.health["binnings"] > 1


def test_frames_are_runs():
    framed, run = (block(2, body_force=whirl) for _ in range(2))
    times = [t for _, t in framed.frames(duration=0.03, fps=100)]
    for _ in range(3):
        run.run(0.01)
    assert times == pytest.approx([0, 0.01, 0.02, 0.03], rel=1e-15)
    assert framed.state_hash() == run.state_hash() and framed.time == 0.03


@each("dtype", DTYPES)
@pytest.mark.parametrize("dim", DIMS)
def test_it_is_asked_at_the_beginning_of_every_step(dim, dtype):
    asked = []

    def force(x, t):
        asked.append((t, x.copy()))
        x[:] = np.nan  # what it is given is its own
        return np.zeros(x.shape, np.float32)

    sim = block(dim, body_force=force, dtype=dtype)
    places = []
    for _ in range(10):
        places.append(sim.particles.x.copy())
        sim.step()
    sim.run(1e-3)
    assert [t for t, _ in asked] == sim.history["time"][:-1].tolist()
    assert all(
        x.dtype == np.float64 and np.array_equal(x, y) for (_, x), y in zip(asked, places, strict=False)
    )


def test_it_sees_what_was_written_and_rows_that_come_and_go():
    counts, lows = [], []

    def force(x, t):
        counts.append(len(x))
        lows.append(x[0, 0])
        return 0 * x

    sim = block(2, body_force=force)
    n = len(sim.particles)
    sim.particles.x[0, 0] = 0.015625
    sim.step()
    sim.add(mpm.shapes.Ball((0.3, 0.3), 0.1), MATERIALS["fluid"])
    more = len(sim.particles)
    sim.step()
    sim.particles.delete(np.arange(5))
    sim.step()
    assert counts == [n, more, more - 5]
    assert lows[0] == 0.015625


def test_particles_that_leave_are_removed_after_the_step():
    counts = []
    sim = block(2, on_leave="delete", body_force=lambda x, t: counts.append(len(x)) or whirl(x, t))
    n = len(sim.particles)
    sim.particles.x[:3] = 2.0
    sim.step(2)
    assert counts == [n, n - 3] and sim.health["deleted"] == 3
    h = sim.history
    balance = h["momentum"][2] - h["momentum"][1] - h["body_impulse"][2] - h["wall_impulse"][2]
    assert largest(balance) < 1e-13 * largest(h["momentum"])


@each("transfer", ["apic", "flip"])
def test_a_refused_step_is_tried_again_with_the_same_answer(transfer):
    """At rest nothing bounds dt but the waves, and the force is large enough to move nodes by cells."""
    calls = []

    def force(x, t):
        calls.append(t)
        return np.full(x.shape, 3e5)

    sim = block(2, velocity=0, body_force=force, transfer=transfer)
    sim.step(3)
    h = sim.history
    assert sim.health["refused"] > 0 and len(calls) == 3
    given = h["dt"][1:, None] * h["mass"][1:, None] * 3e5
    assert largest(h["body_impulse"][1:] / given - 1) < 1e-14  # with the dt of the last try
    change = np.diff(h["momentum"], axis=0) - h["wall_impulse"][1:]
    assert largest(change - given) < 1e-12 * largest(given)


def test_a_fixed_step_that_it_makes_too_far_is_an_error_before_anything_has_moved():
    sim = block(2, velocity=0, dt=5e-3, body_force=lambda x, t: np.full(x.shape, 1e6 * (t > 0.012)))
    sim.step(3)
    before = sim.state_hash()
    with pytest.raises(mpm.InstabilityError):
        sim.step()
    assert sim.steps == 3 and sim.state_hash() == before


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda x, t: x[:, :1], ValueError, r"body_force\(x, t\) has shape"),
        (lambda x, t: x[1:], ValueError, r"body_force\(x, t\) has shape"),
        (lambda x, t: np.where(x > 0, np.nan, x), ValueError, r"body_force\(x, t\)"),
        (lambda x, t: None, TypeError, r"body_force\(x, t\)"),
        (lambda x, t: 1 / 0, ZeroDivisionError, "division"),
        (lambda x: x, TypeError, "positional"),
    ],
)
def test_a_wrong_answer_is_an_error_at_the_last_whole_step(answer, error, message):
    sim = block(2, body_force=lambda x, t: whirl(x, t) if t < 0.01 else answer(x, t))
    with pytest.raises(error, match=message):
        sim.run(1.0)
    assert 0.01 <= sim.time < 0.02 and sim.time == sim.history["time"][-1]
    before = sim.state_hash()
    with pytest.raises(error):
        sim.step()
    assert sim.state_hash() == before


def test_what_it_asks_cannot_run_the_simulation():
    def force(x, t):
        if sim.steps == 2:
            sim.run(1.0)
        return 0 * x

    sim = block(2, body_force=force)
    with pytest.raises(mpm.BusyError, match="is being run"):
        sim.step(5)
    assert sim.steps == 2
    with pytest.raises(mpm.BusyError):  # again: the run has ended
        sim.step()


def test_what_it_asks_cannot_change_the_rows():
    """As many rows as before, but its answer would be for others."""

    def force(x, t):
        if sim.steps == 2:
            sim.particles.delete([0])
            sim.add(mpm.shapes.Points([[0.1, 0.1]], volume=0.0025), MATERIALS["neo_hookean"])
        return 0 * x

    sim = block(2, body_force=force)
    with pytest.raises(ValueError, match="has added or deleted particles"):
        sim.step(5)
    assert sim.steps == 2


def test_other_threads_wait_for_its_run_as_for_any():
    asked, seen = threading.Event(), threading.Event()

    def force(x, t):
        asked.set()
        assert seen.wait(60)
        return 0 * x

    sim = block(2, body_force=force)
    run = threading.Thread(target=sim.step)
    run.start()
    assert asked.wait(60)
    try:
        for look in (sim.totals, lambda: sim.particles.x, lambda: sim.particles.delete([0]), sim.state_hash):
            with pytest.raises(mpm.BusyError):
                look()
    finally:
        seen.set()
        run.join()
    assert sim.steps == 1 and len(sim.particles) == 225


def test_the_report_of_conservation_counts_it():
    sim = block(2, body_force=whirl, gravity=(0, -1.0))
    start = sim.totals()
    sim.step(30)
    rows = {row.quantity: row.relative for row in conservation.drifts(sim, start)}
    assert set(rows) == {"mass", "P_x - impulses", "P_y - impulses"}  # its torque is not known
    assert max(rows.values()) < 1e-13


def test_the_scene_says_it():
    scene = mpm.Scene((0, 0), (1, 1), body_force=whirl)
    assert scene.body_force is whirl and "force" in repr(scene)
    assert mpm.Scene((0, 0), (1, 1)).body_force is None
