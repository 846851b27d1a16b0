"""Parameters that change in a running simulation: the next step takes them, and a run with them can be repeated."""

import copy
import dataclasses
import json
import pickle

import numpy as np
import pytest

import mpm
import scenes
from loops import each
from mpm import motion
from mpm.scene.changes import Change, described, restored, tabled
from mpm.solver.altering import changeable


def plowed(**options):
    """A sand box and a rubber one, a plow that moves, a drum that turns, and a wall with friction."""
    scene = mpm.Scene((0, 0), (2, 1), gravity=(0, -9.81), walls={"y-": "separate"}, friction=0.4)
    sand = mpm.materials.Sand(E=1e5, nu=0.3, density=1000)
    rubber = mpm.materials.NeoHookean(E=5e4, nu=0.3, density=800)
    scene.add(mpm.shapes.Box((0.4, 0.0), (0.8, 0.3)), sand, name="slope")
    scene.add(mpm.shapes.Box((1.2, 0.1), (1.5, 0.4)), rubber, name="block")
    scene.add_collider(
        mpm.shapes.Box((0.1, 0.0), (0.3, 0.5)), motion=motion.Linear((0.5, 0)), friction=0.2, name="plow"
    )
    scene.add_collider(mpm.shapes.Box((1.6, 0.5), (1.85, 0.7)), motion=motion.Rotation(2.0), name="drum")
    scene.add_collider(mpm.shapes.Ball((1.0, 0.85), 0.1), contact="sticky", name="post")
    return mpm.Simulation(scene, dx=1 / 16, **options)


def beam():
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(
        mpm.shapes.Box((0.1, 0.4), (0.9, 0.6)),
        mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000),
        name="beam",
    )
    scene.add_collider(
        mpm.shapes.Box((-0.2, 0), (0.15, 1)), contact="sticky", motion=motion.Linear((0, 0.1)), name="clamp"
    )
    return mpm.fem.Simulation(scene, spacing=0.1)


def water():
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81), walls="slip")
    scene.add(
        mpm.shapes.Box((0, 0), (0.4, 0.4)), mpm.materials.Fluid(bulk_modulus=1e5, density=1000), name="water"
    )
    scene.add_collider(mpm.shapes.Ball((0.8, 0.3), 0.1), motion=motion.Linear((-0.2, 0)), name="ball")
    return mpm.sph.Simulation(scene, spacing=1 / 20)


def held(argument, wall, **options):
    """A block that conducts heat, a solute or pore water, between two faces that walls hold at something."""
    what, carried = argument
    scene = mpm.Scene(
        (0, 0), (1, 1), gravity=(0, -9.81), walls={"x-": mpm.Wall("slip", **wall), "y-": "sticky"}
    )
    law = mpm.materials.NeoHookean(E=1e6, nu=0.3, density=2000, **{what: carried})
    scene.add(mpm.shapes.Box((0, 0), (1, 0.75)), law, name="block")
    return mpm.Simulation(scene, dx=1 / 16, **options)


WET = "pore", mpm.Pore(porosity=0.4, permeability=1e-9, fluid_bulk_modulus=1e7, head=0.75)
WARM = "thermal", mpm.Thermal(conductivity=1e6, specific_heat=1e3)
SALT = "solute", mpm.Solute(1e-1, swelling=1e-3)

RUNS = {
    "water": (
        lambda: held(WET, {"head": 0.75}),
        [("x-.head", 0.7), ("block.permeability", 4e-9), ("x-.head", 0.5)],
    ),
    "heat": (
        lambda: held(
            WARM, {"temperature": 300.0}, integrator="implicit-euler", dt=1e-3, conduction="implicit"
        ),
        [("x-.temperature", 400), ("block.E", 2e6), ("x-.temperature", 320.0)],
    ),
    "solute": (
        lambda: held(SALT, {"concentration": 0.0}),
        [("x-.concentration", 2.0), ("x-.concentration", -1.0), ("x-.concentration", 3.0)],
    ),
    "explicit": (plowed, [("gravity", (1.0, -5.0)), ("slope.E", 2e5), ("plow.velocity", (1.5, 0.1))]),
    "rubber": (plowed, [("block.E", 1e5), ("y-.friction", 0.05), ("drum.angular_velocity", -4.0)]),
    "flip": (
        lambda: plowed(transfer="flip", kernel="cubic", threads=1),
        [("gravity.x", 3.0), ("plow.friction", 0.6), ("post.velocity", (0.0, -0.5))],
    ),
    "implicit": (
        lambda: plowed(integrator="implicit-euler", dt=2e-3),
        [("gravity.y", -2.0), ("block.E", 1e4), ("plow.velocity", (0, 0))],
    ),
    "fem": (beam, [("gravity", (0, 20.0)), ("beam.E", 3e5), ("clamp.velocity", (0.0, -0.4))]),
    "sph": (water, [("gravity", (4.0, -5.0)), ("water.bulk_modulus", 2e5), ("ball.velocity", (-1.0, 0))]),
}


@each("name", RUNS)
def test_a_run_with_three_changes_is_repeated_bit_for_bit(name, tmp_path):
    make, wanted = RUNS[name]
    sim, plain = make(), make()
    for what, value in wanted:
        sim.step(12)
        sim.set(what, value)
    sim.step(12)
    assert [(c.step, c.name) for c in sim.changes] == [
        (12 * k, what) for k, (what, _) in enumerate(wanted, 1)
    ]
    assert all(sim.parameters[what] == pytest.approx(value) for what, value in dict(wanted).items())
    plain.step(sim.steps)
    assert plain.state_hash() != sim.state_hash()
    # From the notes, on two threads, saved and loaded between a step and a change, and after it.
    again = make()
    again.threads = 2
    for step, time, what, value in sim.changes:
        again.step(step - again.steps)
        assert again.time == time
        again.save(tmp_path / "before.mpm")
        again = mpm.load(tmp_path / "before.mpm", threads=2)
        again.set(what, value)
        again.save(tmp_path / "after.mpm")
        again = mpm.load(tmp_path / "after.mpm", threads=2)
    again.step(sim.steps - again.steps)
    assert again.state_hash() == sim.state_hash() and again.changes == sim.changes
    size = {"dx": 1 / 16} if name not in ("fem", "sph") else {"spacing": 0.1}
    begun = type(sim)(sim.scene, **size)  # a new run of the scene as it is now
    assert begun.changes == () and begun.steps == 0 and (begun.scene.gravity == sim.scene.gravity).all()
    assert sim.changes == again.changes != ()
    assert again == sim == copy.copy(sim)


@each("law", [law for law in scenes.MATERIALS if changeable(scenes.MATERIALS[law])])
def test_a_parameter_that_was_set_is_the_same_as_one_that_was_given(law):
    """Every parameter of every law: the kernels, the bound of the time step and what follows from it."""
    material = scenes.MATERIALS[law]
    for name in changeable(material):
        value = float(getattr(material, name))
        other = value * 0.9 if value else 0.01

        def made(material):
            scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -1))
            shear = np.array([[1.02, 0.05], [0.0, 0.97]]) if material._keeps("F") else np.diag([0.99, 0.99])
            scene.add(
                mpm.shapes.Box((0.3, 0.3), (0.6, 0.6)), material, velocity=(0, -1), F=shear, name="body"
            )
            return mpm.Simulation(scene, dx=1 / 8)

        try:
            given = made(material._replaced({name: other}))
        except ValueError:  # the parameters do not go together
            with pytest.raises(ValueError):
                made(material).set(f"body.{name}", other)
            continue
        changed = made(material)
        changed.set(f"body.{name}", other)
        for sim in (given, changed):
            sim.step(8)
        assert given.dt == changed.dt and given.state_hash() == changed.state_hash(), name


@each("argument, wall, name, value", [
    (WET, {"head": 0.6}, "head", 0.75),
    (WET, {"head": 0.6}, "head", -2.0),
    (WARM, {"temperature": 300.0}, "temperature", 350.0),
    (SALT, {"concentration": 2.0}, "concentration", -1.0),
])  # fmt: skip
def test_what_a_wall_holds_is_set_as_it_is_given(argument, wall, name, value):
    given, changed, kept = held(argument, wall | {name: value}), held(argument, wall), held(argument, wall)
    changed.set(f"x-.{name}", value)
    for bad in (np.nan, "much", None) if name != "temperature" else (0.0, -300.0, np.inf):
        with pytest.raises((ValueError, TypeError), match=name):
            changed.set(f"x-.{name}", bad)
    for sim in (given, changed, kept):
        sim.step(8)
    assert given.state_hash() == changed.state_hash() and changed.parameters[f"x-.{name}"] == value
    assert np.abs(changed.particles[FIELDS[name]] - kept.particles[FIELDS[name]]).max() > 0


FIELDS = {"head": "pore_pressure", "temperature": "temperature", "concentration": "concentration"}


def test_a_permeability_is_set_as_it_is_given():
    """The bound of sub-steps, too: with the larger one the water needs many."""
    other = "pore", dataclasses.replace(WET[1], permeability=1e-6)
    given, changed = held(other, {"head": 0.5}), held(WET, {"head": 0.5})
    changed.set("block.permeability", 1e-6)
    with pytest.raises(ValueError, match="permeability = -1"):
        changed.set("body.permeability", -1)
    for sim in (given, changed):
        sim.step(8)
    assert given.state_hash() == changed.state_hash()


def test_a_pore_pressure_on_a_face_stays_there_when_gravity_comes():
    """On the upper face, p = 0: then the water weighs on what is below."""

    def made(gravity):
        base = mpm.Wall("sticky", pore_pressure=0.0)
        scene = mpm.Scene((0, 0), (1, 1), gravity=gravity, walls={"x": "mirror", "y-": "sticky", "y+": base})
        pore = mpm.Pore(0.5, 1e-8, fluid_bulk_modulus=1e6)
        scene.add(
            mpm.shapes.Box((0, 0), (1, 1)), mpm.materials.NeoHookean(E=1e6, nu=0, density=2e3, pore=pore)
        )
        return mpm.Simulation(scene, dx=1 / 8)

    late, given = made((0, 0)), made((0, -10))
    late.set("gravity", (0, -10))
    for sim in (late, given):
        sim.step(8)
    assert late.state_hash() == given.state_hash()


def test_gravity_acts_from_the_next_step_on():
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -1))
    scene.add(mpm.shapes.Box((0.4, 0.4), (0.6, 0.6)), mpm.materials.NeoHookean(E=1e3, nu=0.3, density=1))
    sim = mpm.Simulation(scene, dx=1 / 16, dt=1e-3)
    sim.step(50)
    before = sim.totals()
    sim.set("gravity", (2, 3))
    assert sim.totals().momentum == pytest.approx(before.momentum)
    sim.step(50)
    velocity = sim.totals().momentum / sim.totals().mass
    assert velocity == pytest.approx((0.05 * 2, -0.05 + 0.05 * 3), abs=1e-13)  # measured: 4e-17
    assert (scene.gravity == (0, -1)).all() and (sim.scene.gravity == (2, 3)).all()
    assert "gravitational" in sim.history and sim.totals().gravitational < before.gravitational


def test_views_stay_and_callbacks_may_change_the_run():
    sim, again = plowed(), plowed()
    v = sim.particles.v
    sim.run(0.03, callback=lambda s: s.set("gravity.y", -1 - 100 * s.time), every=5)
    sim.step(3)
    assert v is not sim.particles.v and np.shares_memory(v, sim.particles.v)
    assert len(sim.changes) >= 2 and {change.step % 5 for change in sim.changes} <= {0}
    for step, _, name, value in sim.changes:
        again.step(step - again.steps)
        again.set(name, value)
    again.step(5)
    assert again.changes == sim.changes and np.isfinite(again.particles.v).all()


def test_colliders_go_on_from_where_they_are():
    sim = plowed()
    sim.step(40)
    t = sim.time
    place = lambda: sim.collider_distance("plow", np.array([[1.9, 0.25]]))[0]  # noqa: E731
    reached = place()
    sim.set("plow.velocity", (-1.0, 0))
    assert place() == pytest.approx(reached, abs=1e-14)
    sim.step(30)
    assert place() == pytest.approx(reached + (sim.time - t), abs=1e-12)
    # The past is as it was: poses are functions of time.
    moved = sim.scene.colliders[0].motion
    assert isinstance(moved, motion.Velocities) and moved._pose(t / 2)[0] == pytest.approx((0.25 * t, 0))
    phi = sim._colliders[0].at(t / 2).distance(np.array([[1.9, 0.25]]))[0][0]
    assert phi == pytest.approx(1.9 - 0.3 - 0.25 * t, abs=1e-12)
    assert "mpm.motion" in type(moved).__module__ and eval(repr(moved), vars(motion)) == moved


def test_a_planned_motion_is_changed_from_its_present_speeds():
    scene = mpm.Scene((0, 0), (2, 1))
    soft = mpm.materials.NeoHookean(E=1e3, nu=0.3, density=1000)
    scene.add(mpm.shapes.Box((0.2, 0.2), (0.4, 0.4)), soft)
    plan = motion.Velocities([0.01, 0.04, 0.5], [(1, 0), (0, 2), (0, 0)], angular_velocities=[3, 4, 5])
    scene.add_collider(mpm.shapes.Ball((1.2, 0.5), 0.15), motion=plan, name="arm")
    sim = mpm.Simulation(scene, dx=1 / 16, dt=1e-3)
    speeds = lambda: (sim.parameters["arm.velocity"], sim.parameters["arm.angular_velocity"])  # noqa: E731
    assert speeds() == ((0, 0), 0)
    sim.step(20)
    assert speeds() == ((1, 0), 3)
    sim.set("arm.angular_velocity", -1.0)
    assert speeds() == ((1, 0), -1)
    sim.step(30)
    assert speeds() == ((1, 0), -1)  # the changes that were planned for later are dropped
    moves = sim.scene.colliders[0].motion
    assert moves.times == pytest.approx([0.01, 0.02]) and moves.angular_velocities.tolist() == [3, -1]


@each("d", (2, 3))
def test_velocities_are_those_given(d):
    axis = None if d == 2 else (0, 0, 1)
    v = np.zeros((3, d))
    v[:, 0] = 1, -2, 0.5
    moves = motion.Velocities([0, 1, 1.5], v, angular_velocities=[1, 0, -2], axis=axis)
    for time, x, angle in ((-1, 0, 0), (0.5, 0.5, 0.5), (1.25, 0.5, 1), (100.0, 49.25, 1 - 197)):
        u, turn = moves._pose(time)
        assert u[0] == pytest.approx(x) and turn[2] == pytest.approx(angle)
    prescribed = moves._describe()
    colliders = mpm._core.Colliders(d)
    shape = mpm.shapes.Ball((0.0,) * d, 0.1)
    scene = mpm.Scene((-1,) * d, (1,) * d)
    scene.add_collider(shape, motion=moves, name="one")
    from mpm.scene.colliders import place, prepare

    (placed,) = place(colliders, [prepare(scene.colliders[0], scene.lower, scene.upper, 0.1)])
    for time in (-1, 0.5, 1.25, 3.0):
        x = np.zeros((1, d))
        x[0, 0] = moves._pose(time)[0][0] + 0.3
        assert placed.at(time).distance(x)[0][0] == pytest.approx(0.2, abs=1e-12)
    assert prescribed.kind == "continued" and moves._fastest(1.6, np.zeros((1, d))) == 0.5
    low, high = moves._displacements()
    assert low[0] == 0 and high[0] == np.inf


BAD = {
    ("slope.density", 2000): "in the masses",
    ("slope.colour", 1): "must be",
    ("nothing.E", 1): "must be",
    ("gravity", 3): "gravity",
    ("gravity", (0, np.nan)): "gravity",
    ("slope.E", -1): "E = -1",
    ("slope.E", "stiff"): "E",
    ("slope.nu", 0.5): "nu",
    ("y-.friction", -0.1): "friction",
    ("plow.velocity", (1, 2, 3)): "plow.velocity",
    ("post.friction", 0.1): "must be",
    ("y-.head", 0.1): "nothing held head on this face when the simulation began",
    (3, 1): "name",
}


@each("name, value", list(BAD))
def test_what_cannot_be_set_changes_nothing(name, value):
    sim = plowed()
    sim.step(2)
    hashed = sim.state_hash()
    with pytest.raises((ValueError, TypeError), match=BAD[name, value]):
        sim.set(name, value)
    assert sim.state_hash() == hashed and not sim.changes


def test_bodies_of_one_material_change_together():
    scene = mpm.Scene((0, 0), (1, 1))
    jelly = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)
    for k, x in enumerate((0.1, 0.4, 0.7)):
        material = jelly if k < 2 else jelly._replaced({"E": 2e4})
        scene.add(mpm.shapes.Box((x, 0.4), (x + 0.2, 0.6)), material, name=f"b{k}")
    sim = mpm.Simulation(scene, dx=1 / 16)
    with pytest.raises(ValueError, match="b0 and b1 have the same material, and 'b0, b1"):
        sim.set("b0.E", 3e4)
    sim.set("b0, b1.E", 3e4)
    sim.set("b2.E", 3e4)  # equal to the others, and still a material of its own
    sim.set("b2.E", 5e4)
    assert [m.E for m in sim.materials] == [3e4, 5e4]
    sim.set("body.E", 7e4)
    assert [m.E for m in sim.materials] == [7e4, 7e4] and [b.material.E for b in sim.scene.bodies] == [
        7e4
    ] * 3
    sim.step(3)
    assert not mpm.diff(sim, copy.copy(sim))


def test_a_body_without_particles_keeps_no_file_from_opening(tmp_path, monkeypatch):
    scene = mpm.Scene((0, 0), (1, 1))
    water = mpm.materials.Fluid(bulk_modulus=1e5, density=1000)
    scene.add(mpm.shapes.Box((0.1, 0.1), (0.3, 0.3)), water, name="p")
    scene.add(mpm.shapes.Box((0.6, 0.1), (0.8, 0.3)), water, name="q")
    for older in (False, True):  # an older version kept the material that the empty body had
        sim = mpm.Simulation(scene, dx=1 / 16)
        sim.step(2)
        sim.particles.delete(sim.particles.x[:, 0] < 0.5)
        if older:
            monkeypatch.setattr(type(sim), "_forget_empty", lambda self: None)
        sim.set("q.viscosity", 5.0)
        sim.save(tmp_path / "a.mpm")
        loaded = mpm.load(tmp_path / "a.mpm")
        assert loaded.rows("p") == slice(0, 0) and loaded.materials[0].viscosity == 5
        for one in (sim, loaded):
            one.step(2)
        assert (sim.particles.x == loaded.particles.x).all()


@each("suffix", (".vtkhdf", ".bgeo"))
def test_a_recording_has_the_changes_of_its_run(suffix, tmp_path):
    if suffix == ".vtkhdf":
        pytest.importorskip("h5py")
    sim = plowed()
    sim.step(2)
    sim.set("gravity.y", -3.0)
    with sim.record(tmp_path / f"run{suffix}", fps=1e6):
        sim.step(2)
        sim.set("slope.E", 2e5)
        sim.step(2)
        sim.set("gravity", (1, -2))
        sim.step(2)
    with mpm.replay(tmp_path / f"run{suffix}") as frames:
        assert frames.changes == sim.changes and len(sim.changes) == 3


def test_what_varies_is_written_to_particles_and_a_recording_keeps_to_its_colliders(tmp_path):
    scene = mpm.Scene((0, 0), (1, 1))
    material = mpm.materials.NeoHookean(E=lambda x: 1e4 + 1e4 * x[:, 0], nu=0.3, density=1000)
    scene.add(mpm.shapes.Box((0.4, 0.4), (0.6, 0.6)), material, name="layered")
    sim = mpm.Simulation(scene, dx=1 / 16)
    with pytest.raises(ValueError, match="E varies over this body: write"):
        sim.set("layered.E", 1e4)
    sim = plowed()
    with sim.record(tmp_path / "run.bgeo", fps=100):
        sim.set("gravity", (0, -1))
        with pytest.raises(ValueError, match="plow: a recording is open"):
            sim.set("plow.velocity", (1, 1))
        sim.step(3)
    sim.set("plow.velocity", (1, 1))


@each("d", (2, 3))
def test_a_speed_that_is_set_in_every_step_is_that_of_a_motion_with_these_times(d, tmp_path):
    """To round-off, as the end of a step lies between other keys; and each change costs the same, however many there
    were."""

    def pushed(moves):
        scene = mpm.Scene((0,) * d, (1,) * d, gravity=(0, -9.81, 0)[:d])
        rubber = mpm.materials.NeoHookean(E=5e4, nu=0.3, density=800)
        scene.add(mpm.shapes.Box((0.3,) * d, (0.7,) * d), rubber)
        scene.add_collider(mpm.shapes.Ball((0.2,) * d, 0.15), motion=moves, name="ball")
        return mpm.Simulation(scene, dx=1 / 8, dt=1e-3)

    turning = {"axis": (0, 0, 1)} if d == 3 else {}
    sim, times, speeds, rates, versions = pushed(motion.Rotation(0.0, **turning)), [], [], [], []
    for k in range(40):
        speed = (np.sin(k), np.cos(k), 1)[:d]
        sim.set("ball.velocity", speed)
        sim.set("ball.angular_velocity", k)
        sim.set("ball.angular_velocity", 1.5 * k)  # the former one had no step
        sim.set("ball.angular_velocity", 1.5 * k)  # nothing new
        times.append(sim.time)
        speeds.append(speed)
        rates.append(1.5 * k)
        versions.append(sim.scene.colliders[0].motion)
        sim.step(1)
        if k == 20:
            sim.save(tmp_path / "run.mpm")
            sim = mpm.load(tmp_path / "run.mpm")
    assert len(sim.changes) == 80 - 1  # it had no angular velocity at first
    given = motion.Velocities(times, speeds, angular_velocities=rates, **turning)
    plain = pushed(given)
    plain.step(40)
    assert np.abs(sim.particles.x - plain.particles.x).max() < 1e-13  # measured 4e-16
    assert versions[-1] == given
    for k, version in enumerate(versions):  # later changes did not change earlier motions
        assert len(version.times) == k + 1 and (version.velocities == speeds[: k + 1]).all()
        assert (version._describe().keys[:-1] == given._describe().keys[: k + 1]).all()
    shared = [motion.Linear(speeds[0])]
    for k in range(1, 60):
        shared.append(motion.Velocities._changed(shared[-1], k, np.array(speeds[k % 40]), None, d))
    assert len({id(moves._table) for moves in shared[1:]}) <= 4  # rows are not copied for each
    assert (shared[7].times == np.arange(8)).all() and (shared[-1].velocities[9] == speeds[9]).all()
    assert copy.deepcopy(versions[30]) == versions[30] != versions[31]
    again = pickle.loads(pickle.dumps(versions[5]))
    assert again == versions[5] and len(pickle.dumps(again)) < 2000


def test_changes_are_read_from_files_with_a_mapping_for_each():
    """As files had them at first, and as they have them now; what makes no sense is refused."""
    noted = [
        Change(0, 0.0, "gravity", (0.0, -1.0)), Change(3, 0.5, "a.E", 2e4), Change(3, 0.5, "gravity", (1.0, 2.0)),
    ]  # fmt: skip
    assert restored(described(noted)) == restored(tabled(noted)) == tuple(noted)
    assert len(json.dumps(tabled(noted * 50))) < 60 * 150
    good = tabled(noted)
    for wrong in (
        {"values": good["values"][:-1]}, {"values": [*good["values"], 1.0]}, {"of": [0, 1, 2]}, {"of": [0, 1]},
        {"lengths": [2, 9]}, {"steps": None}, {"names": ["gravity"]}, {"values": ["a", *good["values"][1:]]},
        {"values": good["values"][:2]},
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            restored(good | wrong)
