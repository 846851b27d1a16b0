"""What saves users time: callbacks, logs, tables, hints, warnings of added bodies, a short repr, a check-up."""

import logging
import sys
import types
import warnings

import numpy as np
import pytest

import mpm
from mpm import motion
from mpm.scene import colliders
from mpm.shapes import Ball, Box

SOLID = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)


def block(dx=1 / 16, *, add=True, gravity=(0, -9.81), **options):
    scene = mpm.Scene((0, 0), (1, 1), gravity=gravity)
    if add:
        scene.add(Box((0.25, 0.25), (0.5, 0.5)), SOLID, name="block")
    return mpm.Simulation(scene, dx=dx, threads=1, **options)


# --- callbacks and the log ---------------------------------------------------------------------------------------


def test_a_callback_every_n_steps_changes_no_bit():
    plain, called, seen = block(), block(), []
    plain.run(0.02)
    called.run(0.02, callback=lambda sim: seen.append(sim.steps), every=3)
    assert called.state_hash() == plain.state_hash()
    assert seen == list(range(3, plain.steps + 1, 3)) and len(seen) > 1


def test_a_callback_every_so_many_seconds_comes_after_the_first_step_there():
    plain, called, seen = block(), block(), []
    plain.run(0.02)
    called.run(0.02, callback=lambda sim: seen.append(sim.time), every=0.0049)
    assert called.state_hash() == plain.state_hash()
    times = plain.history["time"]
    assert seen == [times[np.searchsorted(times, k * 0.0049)] for k in range(1, 5)]
    seen.clear()
    for every in (1e-9, 5e-324):  # once per step
        seen.clear()
        before = called.steps
        called.run(0.02, callback=lambda sim: seen.append(sim.steps), every=every, progress=False)
        assert seen == list(range(before + 1, called.steps + 1))


def test_a_column_of_the_history_is_no_attribute():
    history = block().history
    with pytest.raises(AttributeError, match=r"no attribute 'time'; it is a column: history\['time'\]"):
        history.time  # noqa: B018
    assert not hasattr(history, "elephant") and not hasattr(
        mpm.solver.totals.History.__new__(mpm.solver.totals.History), "_core"
    )


def test_an_error_of_a_callback_ends_the_run_at_its_step():
    sim = block()

    def stop(sim):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        sim.run(1.0, callback=stop, every=5)
    assert sim.steps == 5
    with pytest.raises(mpm.StepLimitError):
        sim.run(1.0, callback=lambda sim: None, every=2, max_steps=5)
    assert sim.steps == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": 2}, "every = 2: needs a callback"),
        ({"callback": print}, "callback: needs every="),
        ({"callback": 3, "every": 2}, "callback"),
        ({"callback": print, "every": 0}, "every = 0: must be >= 1"),
        ({"callback": print, "every": -0.5}, "every = -0.5: must be > 0"),
        ({"callback": print, "every": "often"}, "every"),
    ],
)
def test_callbacks_are_checked_before_the_run(options, message):
    sim = block()
    with pytest.raises((TypeError, ValueError), match=message):
        sim.run(0.1, **options)
    assert sim.steps == 0


def test_runs_are_logged(caplog):
    sim = block()
    with caplog.at_level(logging.INFO, logger="mpm"):
        sim.run(0.01)
        with pytest.raises(mpm.StepLimitError):
            sim.run(1.0, max_steps=1)
    first, second, _, failed = [record.getMessage() for record in caplog.records]
    assert first == f"run from t = 0 s to 0.01 s, {len(sim.particles)} particles, 1 threads"
    assert (
        second.startswith(f"run ended at t = 0.01 s: {sim.steps - 1} steps of")
        and "particle-steps/s" in second
    )
    assert failed.startswith("run failed at t = ") and "after 1 steps" in failed


# --- bodies that are added ---------------------------------------------------------------------------------------


def test_a_body_among_particles_warns_and_one_beside_them_does_not():
    sim = block()
    sim.add(Box((0.5, 0.25), (0.75, 0.5)), SOLID)
    sim.add(Box((0.25, 0.53), (0.5, 0.7)), SOLID)
    sim.particles.x[sim.rows("block")] += (0.0, 0.3)  # not where its shape is
    with pytest.warns(
        UserWarning, match=r"24 of 64 particles of 'late' lie among particles that are there already"
    ):
        sim.add(Box((0.375, 0.625), (0.625, 0.875)), SOLID, name="late")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        count = len(sim.particles)
        with pytest.raises(UserWarning):
            sim.add(Box((0.375, 0.625), (0.625, 0.875)), SOLID)
        assert len(sim.particles) == count


def test_repr_of_hundreds_of_bodies_is_short():
    sim = block()
    for k in range(60):
        sim.add(mpm.shapes.Points([(0.1 + 0.01 * k, 0.8)], volume=1e-4), SOLID)
    lines = repr(sim).splitlines()
    assert len(lines) < 25 and "block:" in lines[1] and "body60:" in lines[9]
    assert lines[5] == "  … 53 more bodies: 53 particles, 5.3 kg/m …"


@pytest.mark.parametrize("method", ["sph", "fem"])
def test_repr_of_many_bodies_and_colliders_is_short(method):
    scene = mpm.Scene((0, 0), (40, 1))
    material = SOLID if method == "fem" else mpm.materials.Fluid(bulk_modulus=1e4, density=1000)
    table = motion.Keyframes(np.linspace(0, 1, 500), np.zeros((500, 2)))
    for k in range(20):
        scene.add(Box((2 * k, 0), (2 * k + 1, 1)), material)
        scene.add_collider(Box((2 * k + 1.25, 0.25), (2 * k + 1.75, 0.75)), motion=table if k == 0 else None)
    sim = (mpm.sph if method == "sph" else mpm.fem).Simulation(scene, spacing=0.25)
    for text in (repr(sim), repr(scene)):
        lines = text.splitlines()
        assert len(lines) < 25 and "  … 12 more bodies …" in lines and "  … 12 more colliders …" in lines
        assert max(map(len, lines)) < 250 and "times=[0.0, …, 1.0] (500)" in text


# --- functions of time -------------------------------------------------------------------------------------------


def test_a_motion_is_tabulated_from_a_function():
    found = motion.Keyframes.of(lambda t: (0.1 * t**2, 0.0), until=2, interval=0.3)
    assert len(found.times) == 8 and found.times[-1] == 2 and np.diff(found.times).max() <= 0.3
    assert found.positions[:, 0] == pytest.approx(0.1 * found.times**2, abs=1e-15) and found.angles is None
    turning = motion.Keyframes.of(lambda t: ((0.0, t), 3 * t), until=1, interval=0.5, start=0.5)
    assert turning.angles.tolist() == [1.5, 3.0] and turning.positions.tolist() == [[0, 0.5], [0, 1]]
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add_collider(Ball((0.5, 0.5), 0.2), motion=found)
    with pytest.raises(TypeError, match=r"motion = .*Keyframes\.of\(f, until=, interval=\)"):
        scene.add_collider(Ball((0.5, 0.5), 0.2), motion=lambda t: (t, 0))
    for wrong, message in (
        ({"f": 3}, "f = 3"), ({"until": 0}, "until = 0.0: must be > 0"), ({"interval": 0}, "interval = 0"),
        ({"interval": 1e-9}, "more than 1000000 keyframes"), ({"f": lambda t: "x"}, r"f\(t\)"),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=message):
            motion.Keyframes.of(**{"f": lambda t: (t, 0), "until": 1, "interval": 0.1, **wrong})


def test_gravity_may_be_a_function_of_time():
    """Free fall: velocity is the sum of dt g(t) at the beginning of each step."""
    sim = block(gravity=lambda t: (0, -9.81 * (t < 0.01)))
    sim.run(0.02)
    t = sim.history["time"]
    fallen = -9.81 * np.diff(t)[t[:-1] < 0.01].sum()
    assert np.array(sim.particles.v)[:, 1] == pytest.approx(fallen, rel=1e-9)
    both = mpm.Scene((0, 0), (1, 1), gravity=lambda t: (t, 1), body_force=lambda x, t: x)
    assert both.body_force(np.ones((2, 2)), 3.0).tolist() == [[4, 2], [4, 2]] and not both.gravity.any()
    with pytest.raises(ValueError, match=r"gravity\(0\) = 9.81: must be an array"):
        mpm.Scene((0, 0), (1, 1), gravity=lambda t: 9.81)


# --- tables and hints --------------------------------------------------------------------------------------------


def test_history_is_a_mapping_and_a_table(monkeypatch):
    sim = block()
    sim.step(3)
    assert dict(sim.history)["time"].tolist() == sim.history["time"].tolist()

    class Frame(dict):
        def set_index(self, name):
            return name, self

    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=Frame))
    index, table = sim.history.to_dataframe()
    assert index == "time" and {"momentum_x", "energy"} <= set(table) and len(table["energy"]) == 4
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ImportError, match=r"to_dataframe needs pandas: pip install pandas \(the extra 'table'\)"
    ):
        sim.history.to_dataframe()
    with pytest.raises(TypeError, match=r"a history is no array: history.to_dataframe\(\) makes"):
        np.asarray(sim.history)  # as pandas.DataFrame(sim.history) does


def test_hints_name_what_was_meant():
    sim = block()
    for name, hint in (
        ("stress", r"compute\('stress'\)"),
        ("velocity", r"particles\.v\?"),
        ("mass", r"particles\.mass"),
        ("strain", r"particles\.F"),
        ("energy", r"totals\(\)\.energy is its present value, and history\['energy'\]"),
    ):
        with pytest.raises(AttributeError, match=hint):
            getattr(sim, name)
    with pytest.raises(AttributeError, match="did you mean 'steps'"):
        sim.step_s  # noqa: B018
    for name, law in (
        ("J2", "VonMises"),
        ("Drucker_Prager", "DruckerPrager"),
        ("StVK", "SaintVenantKirchhoff"),
        ("clay", "CamClay"),
    ):
        with pytest.raises(AttributeError, match=f"did you mean '{law}'"):
            getattr(mpm.materials, name)
    for name, hint in (
        ("Tait", r"Fluid\(bulk_modulus=K, gamma=7"),
        ("StiffenedGas", r"Fluid\(bulk_modulus=gamma \* \(p0 \+ p_inf\)"),
        ("Perzyna", r"VonMises\(viscosity="),
        ("Prony", r"Viscoelastic\(g_1="),
    ):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; {hint}"):
            getattr(mpm.materials, name)


def test_public_names_of_pictures():
    viz = pytest.importorskip("mpm.viz")
    assert dir(viz) == sorted(viz.__all__) and "plot" in dir(viz)
    with pytest.raises(AttributeError, match="did you mean 'plot_history'"):
        viz.plothistory  # noqa: B018


def test_show_config_prints_and_returns(capsys):
    config = mpm.show_config()
    assert capsys.readouterr().out == f"{config}\n" and "kernel sets" in str(config)
    assert repr(config).startswith("<Configuration of mpm ") and "\n" not in repr(config)


def test_wrong_names_of_totals_and_components_get_a_proposal(tmp_path):
    sim = block()
    with sim.record(tmp_path / "a.vtkhdf", fps=1e6):
        sim.step(2)
    replay = mpm.replay(tmp_path / "a.vtkhdf")
    for call, error, words in (
        (lambda: sim.history["t"], KeyError, "did you mean 'time'"),
        (
            lambda: sim.history["momentum_y"],
            KeyError,
            r"did you mean 'momentum'\? Its component y is \[:, 1\]",
        ),
        (
            lambda: sim.interpolate("vx", [(0.3, 0.3)]),
            ValueError,
            r"did you mean 'v'\? Its component x is \[:, 0\]",
        ),
        (lambda: sim.interpolate("velocity", [(0.3, 0.3)]), ValueError, "did you mean 'v'"),
        (lambda: sim.particles["v_y"], KeyError, r"did you mean 'v'\? Its component y is \[:, 1\]"),
        (
            lambda: replay.totals()["Kinetic"],
            KeyError,
            "no totals 'Kinetic'; there are mass, .* did you mean 'kinetic'",
        ),
        (lambda: replay.totals["potential"], KeyError, "did you mean 'gravitational'"),
    ):
        with pytest.raises(error, match=words):
            call()
    assert replay.totals()["kinetic"].shape == (len(replay),)


# --- the check-up ------------------------------------------------------------------------------------------------


def test_the_doctor_finds_nothing_in_a_sound_scene():
    sim = block(1 / 32)
    report = mpm.doctor(sim)
    assert report.good and len(repr(report).splitlines()) == len(report) == 5
    assert "ok   resolution  the narrowest body, 'block', is" in repr(report)
    assert "(limit: isolated, the stiffness of a particle that is alone in its cells)" in repr(report)


def test_the_doctor_finds_what_is_wrong():
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    soft = mpm.materials.NeoHookean(E=1e3, nu=0.3, density=1000)
    scene.add(Box((0.25, 0.25), (0.375, 0.75)), soft, velocity=(3, 0))
    scene.add_collider(Box((0.8, 0.1), (0.82, 0.9)), name="blade")
    with pytest.warns(UserWarning, match="blade"):
        sim = mpm.Simulation(scene, dx=1 / 16, dt=0.08, threads=1)
    found = {one.topic: one for one in mpm.doctor(sim)}
    assert {topic for topic, one in found.items() if not one.good} == {
        "resolution", "time step", "collider", "speed", "stiffness"
    }  # fmt: skip
    assert (
        "is too long: the bound is" in found["time step"].words
        and "'blade' is thinner than 2 dx = 0.12 m over 9" in found["collider"].words
    )
    assert "choose dx <= " in found["resolution"].words and "in Pa?" in found["stiffness"].words
    sim.particles.delete(np.ones(len(sim.particles), dtype=bool))
    assert not mpm.doctor(sim).good
    with pytest.raises(TypeError, match="sim"):
        mpm.doctor(scene)


def test_the_doctor_tells_bodies_inside_colliders_from_those_that_a_clamp_holds():
    def finding(contact, low):
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add(
            Box((low, 0.25), (0.75, 0.75)), mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000), name="bar"
        )
        scene.add_collider(Box((0.1, 0.1), (0.4, 0.9)), contact=contact, name="jaw")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sim = mpm.Simulation(scene, dx=1 / 16)
        return [one for one in mpm.doctor(sim) if one.topic == "inside"]

    assert finding("separate", 0.4) == [] == finding("sticky", 0.4)
    (squeezed,), (held,) = finding("separate", 0.25), finding("sticky", 0.25)
    assert not squeezed.good and "of 'bar' are inside 'jaw': move the body" in squeezed.words
    assert held.good and "are inside 'jaw', which holds them" in held.words


@pytest.mark.parametrize("dim", (2, 3))
def test_displacement_is_that_since_keep_start(dim, tmp_path):
    """Of free flight, u = v t, whatever was deleted or added, over a periodic face, and after a restart."""
    axes = ("x", "y", "z")[:dim]
    scene = mpm.Scene((0,) * dim, (1,) * dim, walls=dict.fromkeys(axes, "periodic"))
    jelly, v = mpm.materials.NeoHookean(E=1e3, nu=0.3, density=1000), np.array([1.0, 0.5, 0][:dim])
    scene.add(Box((0.3,) * dim, (0.6,) * dim), jelly, velocity=v, name="one")
    sim = mpm.Simulation(scene, dx=1 / 8, dtype="float64")
    with pytest.raises(ValueError, match=r"sim\.keep_start\(\)"):
        sim.compute("displacement")
    sim.run(0.1)
    sim.keep_start()
    assert "displacement" in sim.quantities and not sim.compute("displacement").any()
    sim.run(0.1)
    sim.particles.delete(Box((0,) * dim, (0.5, *(1,) * (dim - 1))))
    sim.add(Box((0.05,) * dim, (0.2,) * dim), jelly, velocity=v, name="two")
    sim.save(tmp_path / "a.mpm")
    sim = mpm.load(tmp_path / "a.mpm")
    begin, time = sim.rows("two").start, 0.25
    sim.run(time)
    u = sim.compute("displacement")
    np.testing.assert_allclose(u[:begin], np.tile((0.1 + time) * v, (begin, 1)), atol=1e-12)  # measured 1e-15
    np.testing.assert_allclose(u[begin:], np.tile(time * v, (len(u) - begin, 1)), atol=1e-12)
    sim.keep_start()
    assert not sim.compute("displacement").any()


@pytest.mark.filterwarnings("ignore:nu = ")
def test_the_doctor_names_solids_that_lock():
    def locks(material, **options):
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add(Box((0.25, 0.25), (0.75, 0.75)), material)
        return [one.words for one in mpm.doctor(mpm.Simulation(scene, dx=1 / 16, **options)) if not one.good]

    rubber = mpm.materials.MooneyRivlin(c10=4e3, c01=1e3, bulk_modulus=7e6, density=1000)  # mu = 1e4
    (words,) = locks(rubber)
    assert "nu = 0.499286" in words and words.endswith("choose f_bar=True")
    assert locks(rubber, f_bar=True) == locks(mpm.materials.Fluid(bulk_modulus=1e5, density=1000)) == []
    clay = mpm.materials.NeoHookean(E=1e6, nu=lambda x: 0.3 + 0.25 * x[:, 0], density=1000)
    (words,) = locks(clay, integrator="implicit-euler", dt=1e-3)
    assert "nu = 0.4" in words and words.endswith("which needs explicit steps")
    assert locks(mpm.materials.NeoHookean(E=1e6, nu=0.44, density=1000)) == []


def test_the_doctor_says_what_limit_loads_of_undrained_clay_need():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(
        Box((0.25, 0.25), (0.75, 0.75)), mpm.materials.VonMises(E=1e6, nu=0.3, density=1e3, yield_stress=1e3)
    )
    for f_bar in (False, True):
        found = [
            one
            for one in mpm.doctor(mpm.Simulation(scene, dx=1 / 16, f_bar=f_bar))
            if one.topic == "limit load"
        ]
        assert [one.good for one in found] == [True] * (not f_bar)
        assert all("with f_bar=True 2 % and 5 %" in one.words for one in found)


def pool(bulk_modulus=1e5, velocity=0.0, **options):
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    water = mpm.materials.Fluid(bulk_modulus=bulk_modulus, density=1000)
    scene.add(Box((0, 0), (0.5, 0.5)), water, velocity=(velocity, 0))
    return mpm.sph.Simulation(scene, spacing=1 / 16, threads=1, **options)


def bar(E=1e5, height=0.5, **options):
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(Box((0.25, 0), (0.75, height)), mpm.materials.Corotated(E=E, nu=0.3, density=1000))
    return mpm.fem.Simulation(scene, spacing=1 / 16, threads=1, **options)


def test_the_doctor_names_water_that_is_too_stiff_to_flow():
    def words(modulus, **options):
        scene = mpm.Scene((0, 0), (2, 1), gravity=(0, -9.81))
        scene.add(mpm.shapes.Box((0, 0), (0.5, 0.5)), mpm.materials.Fluid(bulk_modulus=modulus, density=1000))
        found = mpm.doctor(mpm.Simulation(scene, dx=1 / 8, **options))
        return [one.words for one in found if one.topic == "steps" and not one.good]

    (told,) = words(2.2e9)
    assert "335 times as fast as a fall" in told and "bulk_modulus = 2e+06 Pa" in told
    assert words(2e6) == words(1.9e8) == words(2.2e9, integrator="implicit-euler") == []


def test_the_doctor_looks_at_all_methods():
    for sim, topic in ((pool(), "density"), (bar(), "elements")):
        report = mpm.doctor(sim)
        assert report.good, report
        assert [one.topic for one in report] == ["resolution", topic, "time step", "speed", "stiffness"]
        assert "the narrowest body, 'body0', is 8 " in repr(report)
    sim = pool(2e4, velocity=2.0, dt=0.2)
    sim.particles.x[:] = 0.7 * sim.particles.x + 0.05
    bad = {one.topic: one.words for one in mpm.doctor(sim) if not one.good}
    assert bad.keys() == {"density", "time step", "speed", "stiffness"}
    assert "bulk_modulus >= 4e+05 Pa keeps its density to 1 %" in bad["speed"]
    sim = bar(E=1e4, height=0.125, dt=0.5)
    sim.particles.x[:, 1] *= 0.1
    bad = {one.topic: one.words for one in mpm.doctor(sim) if not one.good}
    assert bad.keys() == {"resolution", "elements", "time step"} and "choose spacing <= " in bad["resolution"]


def pressed(kind, speed, reach=0.0, **options):
    """A paddle that pushes what fills the left half of a box."""
    scene = mpm.Scene((0, 0), (1, 1))
    material = (
        mpm.materials.Fluid(bulk_modulus=1e5, density=1000)
        if kind is mpm.sph
        else mpm.materials.Corotated(E=1e5, nu=0.3, density=1000)
    )
    scene.add(Box((0, 0), (0.5 - reach, 0.5)), material)
    paddle = Box((0.5 - reach, -0.5), (1 - reach, 1.5))
    scene.add_collider(paddle, name="paddle", motion=mpm.motion.Linear((-speed, 0)))
    size = {"dx": 1 / 16} if kind is mpm else {"spacing": 1 / 16}
    return kind.Simulation(scene, threads=1, **size, **options)


@pytest.mark.parametrize("kind", [mpm, mpm.sph, mpm.fem])
def test_the_doctor_names_colliders_that_are_too_fast_or_press_material_against_a_wall(kind):
    def words(*given, **options):
        return next(one for one in mpm.doctor(pressed(kind, *given, **options)) if one.topic == "motion")

    assert words(0.5).good and "'paddle' moves with up to 0.5 m/s, sound in" in words(0.5).words
    fast = words(20)  # sound: 10 m/s
    assert not fast.good and ("bulk_modulus >= 4e+07" if kind is mpm.sph else "stiffer") in fast.words
    longest = {mpm: "0.12", mpm.sph: "0.062", mpm.fem: "0.12"}[kind]  # dx/v, h/(2 v)
    assert f"dt = 1 s is too long for it near material: choose dt <= {longest} s" in words(0.5, dt=1.0).words
    # A gap of 1.5 cells, with paddles that come nearer and go away.
    assert "against the wall 'x-', less than 0.12 m away" in words(0.5, 0.5 - 1.5 / 16).words
    assert words(-0.5, 0.5 - 1.5 / 16).good


def test_the_doctor_names_the_collider_that_bounds_the_step_of_sph():
    report = mpm.doctor(pressed(mpm.sph, 20))
    assert "(limit: motion of the collider 'paddle')" in repr(report)


def test_speeds_of_colliders_are_those_of_the_rest_of_their_motion():
    nodes = np.stack(np.meshgrid(*2 * [np.linspace(-1, 1, 65)], indexing="ij"), axis=-1)
    frames = [
        mpm.shapes.DistanceGrid((-1, -1), 1 / 32, np.hypot(*np.moveaxis(nodes - (x, 0), -1, 0)) - 0.3)
        for x in (0, 0.05, 0.06)
    ]
    bar, arm = Box((-0.25, -0.125), (0.25, 0.125)), np.hypot(0.25, 0.125)
    for shape, move, time, speed in (
        (bar, mpm.motion.Rotation(4), 0, 4 * arm),
        (bar, mpm.motion.Sinusoid((0.3, 0.4), 2), 0, 4 * np.pi * 0.5),
        (bar, mpm.motion.Keyframes([0, 1, 2], [(0, 0), (3, 4), (3, 5)]), 0, 5),
        (bar, mpm.motion.Keyframes([0, 1, 2], [(0, 0), (3, 4), (3, 5)]), 1, 1),
        (bar, mpm.motion.Keyframes([0, 1], [(0, 0), (0, 0)], angles=[0, 2]), 0, 2 * arm),
        (bar, mpm.motion.Keyframes([0, 1], [(0, 0), (0, 0)], angles=[0, 2]), 1, 0),
        (mpm.shapes.Deforming([0, 1, 2], frames), None, 0, 0.05),
        (mpm.shapes.Deforming([0, 1, 2], frames).scale(2) | bar, None, 1, 0.02),
    ):
        scene = mpm.Scene((-1, -1), (1, 1))
        scene.add(Box((-0.9, -0.9), (-0.6, -0.6)), SOLID)
        scene.add_collider(shape, motion=move)
        placed = mpm.Simulation(scene, dx=1 / 16, threads=1)._posed()[0].at(time)
        found = colliders.fastest(placed, scene.lower, scene.upper, 1 / 16)
        assert found == pytest.approx(speed, rel=1e-9)  # 9e-16
