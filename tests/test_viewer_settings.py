"""The viewer's settings, and what it does with files: reset, recordings, replays. Without a browser."""

import numpy as np
import pytest

import mpm
import scenes
from mpm.mpm import numerics
from mpm.viewer import session
from viewers import Browser, make

dims = pytest.mark.parametrize("dim", scenes.DIMS)


# --- settings ----------------------------------------------------------------------------------------------------


def test_every_parameter_of_materials_and_run_can_be_set():
    browser = Browser(make(3, transfer="flip", flip_ratio=0.9, dt=1e-4))
    keys = {setting["key"] for setting in browser.state["settings"]}
    for number, law in enumerate(("fixed_corotated", "neo_hookean", "fluid")):
        parameters = {parameter["name"] for parameter in mpm.materials.laws.registry()[law]["parameters"]}
        assert parameters
        assert {f"material {number} {name}" for name in parameters} <= keys
    assert {"gravity x", "gravity y", "gravity z", "dx", "dt", "max_dt", "flip_ratio", "span"} <= keys
    assert {"particles_per_cell", "threads", "history"} <= keys and "xpic_order" not in keys
    assert browser.setting("flip_ratio")["value"] == 0.9 and browser.setting("dt")["value"] == 1e-4
    E = browser.setting("material 0 E")
    assert (E["value"], E["unit"], E["group"]) == (10, "Pa", "FixedCorotated · body0") and E[
        "allowed"
    ] == "> 0"
    assert browser.setting("gravity z")["value"] == -9.81 and browser.setting("max_dt")["value"] is None


@dims
@pytest.mark.parametrize("rng", [0, 5, "generator"])
def test_a_reset_begins_with_the_same_particles(dim, rng):
    generator = np.random.default_rng(3)
    generator.random(7)
    sim = make(dim, rng=generator if rng == "generator" else rng, c_damping=0.1)
    fresh = sim.state_hash()
    browser = Browser(sim)
    browser.ask("step")
    assert not browser.ask("reset")
    made = browser.session.simulation
    assert made is not sim and sim.steps == 1 and made.steps == 0
    assert np.array_equal(made.particles.x, make(dim, rng=made._sampled_with()).particles.x)
    made.step(3)
    sim.step(2)
    assert made.state_hash() == sim.state_hash() != fresh


@dims
def test_bodies_domain_walls_and_method_are_settings(dim):
    sim = make(dim)
    browser = Browser(sim)
    choices = {s["key"]: s["choices"] for s in browser.state["settings"] if s["choices"]}
    assert choices["transfer"] == numerics.TRANSFERS and choices["kernel"] == numerics.KERNELS
    axes = "xyz"[:dim]
    keys = {f"body 0 {k}" for k in ("shape", "size", *axes, *(f"v{a}" for a in axes))}
    keys |= {f"{k} {a}" for k in ("lower", "upper") for a in axes} | {
        f"wall {a}{s}" for a in axes for s in "-+"
    }
    assert keys <= {s["key"] for s in browser.state["settings"]}
    low, high = sim.scene.bodies[0].shape.bounds
    new = {"body 0 shape": "ball", "body 0 y": 0.4, "body 0 size": 0.2, "body 0 vx": 3.0, "body 1 vy": -1.0}
    new |= {"upper x": 2.0, "wall x-": "sticky", "transfer": "flip", "kernel": "cubic"}
    for key, value in new.items():
        assert not browser.ask("set", key=key, value=value)
        assert browser.setting(key)["value"] == value and browser.setting(key)["changed"]
    assert not browser.ask("reset")
    made = browser.session.simulation
    ball, other = made.scene.bodies[0].shape, made.scene.bodies[1]
    assert isinstance(ball, mpm.shapes.Ball) and abs(ball.radius - 0.1) < 1e-15
    centre = (low + high) / 2
    centre[1] = 0.4
    assert np.abs(ball.center - centre).max() < 1e-15
    assert made.scene.bodies[0].velocity[0] == 3 and other.velocity[1] == -1
    assert other.shape is sim.scene.bodies[1].shape  # untouched
    assert (
        made.scene.upper.tolist() == [2, *sim.scene.upper[1:]] and made.scene.walls["x-"].contact == "sticky"
    )
    assert made.scene.walls["x+"] == sim.scene.walls["x+"]
    assert made._numerics.transfer == "flip" and made._numerics.kernel == "cubic"
    assert "flip_ratio" in {s["key"] for s in browser.state["settings"]}
    for key, value in new.items():
        shown = browser.setting(key)["value"]
        assert (
            shown == (value if isinstance(value, str) else pytest.approx(value))
            and not browser.setting(key)["changed"]
        )
    for key, value in (("body 0 shape", "star2"), ("wall y-", 3), ("transfer", None), ("body 0 size", 0)):
        assert browser.ask("set", key=key, value=value)


@pytest.mark.parametrize("kind", ["box", "ball", "triangle", "ring", "star"])
def test_every_shape_that_can_be_chosen_has_its_place_and_size(kind):
    sim = mpm.Simulation(scene_of_one(), dx=1 / 8)
    made = sim._rebuilt({"body 0 shape": kind, "body 0 size": 0.3, "body 0 x": 0.4})
    low, high = made.scene.bodies[0].shape.bounds
    assert (high - low).max() == pytest.approx(0.3, abs=1e-15)
    assert np.allclose((low + high) / 2, [0.4, 0.5], atol=1e-15) and len(made.particles)
    assert next(s.value for s in made._settings() if s.key == "body 0 shape") == kind
    assert sim._rebuilt({}).state_hash() == sim.state_hash()


def test_walls_that_do_not_fit_are_refused_at_the_reset():
    browser = Browser(make())
    browser.ask("set", key="wall x-", value="periodic")
    assert "periodic both or neither" in browser.ask("reset")[0]
    browser.ask("set", key="wall x+", value="periodic")
    assert not browser.ask("reset")


CHANGES = {
    "material 1 E": (25.0, lambda sim: sim.materials[1].E),
    "material 2 viscosity": (0.5, lambda sim: sim.materials[2].viscosity),
    "gravity y": (1.5, lambda sim: sim.scene.gravity[1]),
    "dx": (1 / 8, lambda sim: sim.dx),
    "particles_per_cell": (9, lambda sim: sim._numerics.particles_per_cell),
    "dt": (1e-4, lambda sim: sim._numerics.dt),
    "max_dt": (1e-3, lambda sim: sim._numerics.max_dt),
    "history": (4, lambda sim: sim._numerics.history),
    "flip_ratio": (0.5, lambda sim: sim._numerics.flip_ratio),
}


@pytest.mark.parametrize("key", CHANGES)
def test_a_reset_takes_what_was_set(key):
    value, read = CHANGES[key]
    sim = make(transfer="flip")
    before = read(sim)
    browser = Browser(sim)
    original = make(transfer="flip")
    assert not browser.ask("set", key=key, value=value)
    live = key.startswith(("material", "gravity"))  # what the run takes at once
    assert browser.setting(key)["changed"] is not live and browser.setting(key)["value"] == value
    assert browser.setting(key)["live"] is live and browser.session.simulation is sim
    assert read(browser.session.simulation) == (value if live else before) and before != value
    assert not browser.ask("reset")
    made = browser.session.simulation
    assert read(made) == value and not browser.setting(key)["changed"]
    assert browser.setting(key)["value"] == value
    # All else is as it was: of the bodies, walls, numerics.
    assert repr(made.scene).count("body") == repr(sim.scene).count("body") == 3
    assert {k for k in CHANGES if CHANGES[k][1](made) != CHANGES[k][1](original)} == {key}
    assert not made.changes and len(sim.changes) == live
    assert made.scene.walls == sim.scene.walls
    assert not browser.ask("step") and made.steps == 1


def test_a_value_that_is_set_back_is_no_change():
    browser = Browser(make())
    browser.ask("set", key="dx", value=1 / 8)
    browser.ask("set", key="dx", value=1 / 16)
    assert not browser.setting("dx")["changed"]
    browser.ask("set", key="dt", value=1e-4)
    browser.ask("set", key="dt", value=None)
    assert not browser.setting("dt")["changed"] and browser.setting("dt")["value"] is None


def test_some_settings_act_at_once():
    sim = make(threads=1)
    browser = Browser(sim)
    assert not browser.ask("set", key="threads", value=2) and sim.threads == 2
    assert not browser.setting("threads")["changed"] and browser.setting("threads")["value"] == 2
    browser.ask("reset")
    assert browser.session.simulation.threads == 2


def test_options_lead_to_the_same_numerics():
    lower, upper = np.zeros(2), np.ones(2)
    for chosen in (
        {"dx": 0.125},
        {"dx": 0.25, "transfer": "flip", "flip_ratio": 0.7, "advect": "particle", "dt": 1e-3, "history": 0},
        {"dx": 0.25, "transfer": "xpic", "xpic_order": 4, "f_update": "cayley", "max_dt": 1e-2},
        {"dx": 0.25, "transfer": "tpic", "c_damping": 0.3, "kernel": "cubic", "gradient": "bspline"},
        {"dx": 0.25, "dt": 1e-3, "allow_unstable": True, "dtype": "float32", "on_leave": "clamp"},
    ):
        sim = mpm.Simulation(scene_of_one(), **chosen)
        again = mpm.Simulation(scene_of_one(), **sim._numerics.described())
        assert again._numerics == sim._numerics and len(lower) == len(upper)


def scene_of_one():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Box((0.25, 0.25), (0.75, 0.75)), scenes.MATERIALS["neo_hookean"])
    return scene


def test_bodies_share_the_setting_of_a_material_that_they_share():
    scene = scene_of_one()
    scene.add(
        mpm.shapes.Ball((0.1, 0.1), 0.1), scenes.MATERIALS["neo_hookean"], F=np.diag([1.1, 1]), name="ball"
    )
    scene.add_collider(mpm.shapes.Ball((0.9, 0.9), 0.15), contact="slip", friction=0.3, name="stone")
    sim = mpm.Simulation(scene, dx=1 / 8)
    browser = Browser(sim)
    assert browser.setting("material 0 E")["group"] == "NeoHookean · body0, ball"
    browser.ask("set", key="material 0 E", value=7)
    browser.ask("reset")
    made = browser.session.simulation
    assert [body.material.E for body in made.scene.bodies] == [7, 7]
    assert repr(made.scene) == repr(sim.scene).replace("E=10", "E=7")
    assert np.array_equal(made.particles.F, sim.particles.F)


# --- recording and replays ---------------------------------------------------------------------------------------


@pytest.fixture
def recorded(tmp_path):
    """A file of several frames made by the viewer's buttons."""
    pytest.importorskip("h5py")
    browser = Browser(make())
    path = tmp_path / "a.vtkhdf"
    assert not browser.ask("record", path=str(path), fps=500)
    assert browser.state["recording"] == str(path) and browser.frame["recorded"] == 0
    browser.ask("play")
    while browser.frame["recorded"] < 6:
        browser.draw()
    assert not browser.ask("stop") and browser.state["recording"] is None
    browser.ask("pause")
    browser.draw()
    return browser, path


def test_what_was_recorded_can_be_looked_at_again(recorded):
    browser, path = recorded
    sim = browser.session.simulation
    live = browser.positions()
    assert not browser.ask("load", path=str(path))
    with mpm.replay(path) as again:
        n = len(again)
        assert n >= 6 and browser.state["replay"]["frames"] == n
        assert browser.state["replay"]["times"] == again.times.tolist()
        assert browser.state["interval"] == pytest.approx(1000 / 60)
        assert [row[0] for row in browser.state["curve"]] == again.times.tolist()
        for index in (3, n - 1, 0):
            assert not browser.ask("seek", index=index)
            browser.draw()
            assert browser.frame["index"] == index and browser.frame["steps"] == again[index].step
            assert np.abs(browser.positions() - again[index].x).max() < 1e-5
            assert browser.frame["point"][0][1] == again.totals["kinetic"][index]
    assert browser.state["linesOffered"] == ["particles"]
    assert "seek" not in browser.ask("seek", index=n)[0] and browser.frame["index"] == 0
    assert "press Simulation" in browser.ask("record", path="b.vtkhdf", fps=60)[0]
    assert browser.session.replay is not None
    assert not browser.ask("simulation") and browser.session.replay is None
    browser.draw()
    assert browser.frame["steps"] == sim.steps and np.array_equal(browser.positions(), live)
    path.unlink()  # nothing holds it


def test_a_replay_plays_to_its_end_and_from_its_beginning_again(recorded):
    browser, path = recorded
    browser.ask("load", path=str(path))
    n = browser.state["replay"]["frames"]
    browser.draw()
    browser.ask("play")
    browser.draw(n - 1)
    assert browser.frame["index"] == n - 1 and not browser.state["playing"]
    assert not browser.ask("step") and browser.frame["index"] == n - 1
    browser.draw()
    browser.ask("play")
    assert browser.frame["index"] == 1 and browser.state["playing"]
    browser.ask("reset")
    browser.draw()
    assert browser.frame["index"] == 0 and browser.session.simulation.steps > 0


def test_scrubbing_shows_the_last_place_that_was_asked_for(recorded):
    browser, path = recorded
    browser.ask("load", path=str(path))
    shown = browser.frames
    for index in (1, 2, 3, 4):
        browser.ask("seek", index=index)
    assert browser.frames == shown  # that of the loading is still under way
    browser.draw()
    assert browser.frames == shown + 1 and browser.frame["index"] == 4


def test_a_replay_without_a_simulation(recorded):
    with mpm.replay(recorded[1]) as replay:
        browser = Browser(replay)
        assert browser.session.simulation is None and not browser.state["simulation"]
        assert browser.state["settings"] == [] and browser.state["color"] == "speed"
        assert browser.frame["index"] == 0 and len(browser.part("points")) == replay.counts[0]
        browser.draw()
        assert not browser.ask("step") and browser.frame["index"] == 1
        for kind in ("simulation", "stop"):
            assert bool(browser.ask(kind)) == (kind == "simulation")
        assert browser.ask("record", path="b.vtkhdf", fps=60)
        assert browser.ask("set", key="dx", value=1)
        assert not browser.ask("color", name="material")
        browser.draw(2)
    assert "is closed" in browser.ask("step")[0]  # by its owner
    with pytest.raises(ValueError, match="no frames"):
        session.Session(replay[:0], print)


def test_what_is_coloured_by_is_recorded_too(tmp_path):
    pytest.importorskip("h5py")
    browser = Browser(make())
    browser.ask("color", name="pressure")
    browser.ask("record", path=str(tmp_path / "a.vtkhdf"), fps=60)
    browser.session.close()
    with mpm.replay(tmp_path / "a.vtkhdf") as replay:
        assert {"v", "pressure"} <= set(replay.fields)
    browser.ask("load", path=str(tmp_path / "a.vtkhdf"))
    assert browser.state["color"] == "pressure"
    browser.ask("simulation")
    assert browser.state["color"] == "pressure"


def test_a_reset_ends_a_recording(tmp_path):
    pytest.importorskip("h5py")
    browser = Browser(make())
    browser.ask("record", path=str(tmp_path / "a.vtkhdf"), fps=60)
    assert "is being recorded" in browser.ask("record", path=str(tmp_path / "b.vtkhdf"), fps=60)[0]
    browser.ask("reset")
    assert browser.state["recording"] is None
    with mpm.replay(tmp_path / "a.vtkhdf") as replay:
        assert len(replay) == 1


def test_a_recording_that_fails_is_told_and_over(tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    browser = Browser(make())
    browser.ask("record", path=str(tmp_path / "a.vtkhdf"), fps=1e5)

    def full(*arguments, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr(browser.session._recording._writer, "append", full)
    assert browser.ask("step") == ["OSError: no space left on device"]
    assert browser.state["recording"] is None
    assert not browser.ask("step")


def test_a_replay_plays_faster_slower_and_in_a_loop(recorded):
    browser, again = recorded_and_loaded(recorded)
    own = browser.state["interval"]
    assert not browser.ask("speed", value=0.5) and browser.state["interval"] == 2 * own
    assert not browser.ask("speed", value=20)
    rate = min(max(again.fps, 10), 60)
    stride = -(-20 * rate // 60)
    assert browser.state["interval"] == pytest.approx(1000 * stride / (20 * rate))
    assert browser.ask("speed", value=0) and browser.ask("speed", value=None) and browser.state["speed"] == 20
    browser.ask("seek", index=0)
    browser.ask("loop", on=True)
    browser.ask("play")
    seen = []
    for _ in range(3 * len(again)):
        seen.append(browser.frame["index"])
        browser.draw()
    assert seen.count(0) > 1 and browser.session.playing and len(again) - 1 in seen
    browser.ask("loop", on=False)
    for _ in range(len(again) + 1):
        if browser.session.playing:
            browser.draw()
    assert not browser.session.playing


def recorded_and_loaded(recorded):
    browser, path = recorded[0], recorded[1]
    browser.ask("load", path=str(path))
    return browser, browser.session.replay


@dims
def test_curves_show_any_column(dim):
    browser = Browser(make(dim))
    browser.ask("step")
    for name, label in browser.state["curves"]:
        assert label and not browser.ask("curve", name=name)
        lines = len(browser.state["curveLines"])
        assert browser.state["curveName"] == name and lines == len(browser.state["curve"][0]) - 1
        browser.draw()
        browser.ask("step")
        assert len(browser.frame["point"][0]) == lines + 1
    sim = browser.session.simulation
    browser.ask("curve", name="momentum")
    assert [row[0] for row in browser.state["curve"]] == sim.history["time"].tolist()
    assert browser.state["curve"][-1][1:] == tuple(sim.history["momentum"][-1])
    assert dict(browser.state["curves"])["momentum"] == (
        "momentum [kg/s]" if dim == 2 else "momentum [kg m/s]"
    )
    browser.draw(2)  # one is under way, and one is due
    browser.ask("reset")
    assert browser.state["curve"] == [] and browser.frame["point"] == []
    browser.draw()
    browser.ask("step")
    assert len(browser.frame["point"]) == 1
    assert browser.ask("curve", name="moment")


def test_colour_maps_and_limits():
    browser = Browser(make())
    for name in browser.state["palettes"]:
        assert not browser.ask("palette", name=name) and len(browser.state["stops"]) == 6
    assert browser.ask("palette", name="jet")
    assert browser.state["limits"] is None
    browser.draw()
    assert not browser.ask("limits", low=-1, high=2)
    assert browser.state["limits"] == browser.frame["limits"] == (-1, 2)
    assert browser.ask("limits", low=3, high=2) and browser.ask("limits", low=None, high=2)
    browser.ask("step")
    browser.draw()
    assert browser.frame["limits"] == (-1, 2)
    browser.ask("reset")
    assert browser.state["limits"] == (-1, 2)
    browser.ask("limits", low=None, high=None)
    assert browser.state["limits"] is None


@pytest.mark.parametrize("name", mpm.samples.names())
def test_samples_play_at_once(name, tmp_path):
    with mpm.replay(mpm.samples.path(name)) as frames:
        assert len(frames) > 20 and "speed" in frames.fields and len(frames[0]) > 300
        assert frames[0].compute("speed").max() < frames[3].compute("speed").max() or name != "jelly"
    browser = Browser(make(), folder=tmp_path)  # which is not where samples are
    assert not browser.ask("sample", name=name)
    assert browser.state["replay"]["frames"] == len(frames) and browser.state["color"] == "speed"
    browser.ask("play")
    browser.draw(2)
    assert browser.frame["index"] > 0
    assert browser.ask("sample", name="../a") and not browser.ask("simulation")


def test_samples_are_small():
    sizes = [mpm.samples.path(name).stat().st_size for name in mpm.samples.names()]
    assert sum(sizes) < 600_000  # measured: 511 kB, of which the format takes 360
    with pytest.raises(ValueError, match="name = 'snow'"):
        mpm.samples.path("snow")
