"""The viewer without a browser: messages in, states out; the widget that carries them."""

import asyncio
import re
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import mpm
import scenes
from loops import each
from mpm import viewer
from mpm.viewer import session, sources
from viewers import Browser, make, stepped

FOLDER = Path(viewer.__file__).parent

dims = pytest.mark.parametrize("dim", scenes.DIMS)


def blowing_up():
    """Refused at its first step."""
    return make(dt=10.0)


# --- running -----------------------------------------------------------------------------------------------------


def test_one_frame_is_under_way_and_the_next_is_computed_when_it_was_drawn():
    sim = make()
    browser = Browser(sim)
    assert browser.frames == 1
    assert not browser.ask("play") and sim.steps == 0  # the first is not drawn yet
    for number in range(2, 6):
        browser.draw()
        assert browser.frames == number and browser.frame["frame"] == number
    taken = sim.steps
    for stale in (browser.frame["frame"] - 1, 0, "5", None):
        assert not browser.ask("drawn", frame=stale)
    assert browser.frames == 5 and sim.steps == taken
    last = browser.frame["frame"]
    browser.ask("color", name="J")  # while a frame is under way: shown when that is drawn
    assert browser.frames == 5
    browser.ask("pause")
    browser.draw()
    assert browser.frames == 6 and sim.steps == taken
    assert not browser.ask("drawn", frame=last)
    browser.draw(3)
    assert browser.frames == 6  # nothing has changed


def test_a_page_that_is_opened_again_goes_on():
    browser = Browser(make())
    browser.ask("play")
    browser.draw(3)
    steps = browser.session.simulation.steps  # the page is closed with a frame under way
    assert browser.session.playing
    browser.ask("ready")
    assert browser.frame["steps"] == steps and browser.state["playing"]
    browser.draw()
    assert browser.session.simulation.steps > steps


@dims
def test_looking_changes_no_bit_of_a_run(dim, tmp_path):
    pytest.importorskip("h5py")
    sim = make(dim)
    browser = Browser(sim)
    browser.ask("set", key="span", value=0.01)
    browser.ask("show", what="particles", on=True)
    browser.ask("show", what="grid", on=True)
    browser.ask("record", path=str(tmp_path / "a.vtkhdf"), fps=200)
    browser.ask("play")
    for name in ("pressure", "J", "speed", "von_mises"):
        browser.draw(2)
        browser.ask("color", name=name)
    browser.ask("step")
    assert sim.steps > 10
    assert sim.state_hash() == stepped(sim.steps, dim).state_hash()


def test_a_frame_is_a_span_of_time_and_a_step_is_one():
    sim = make(dt=3e-4)
    browser = Browser(sim)
    assert not browser.ask("step") and sim.steps == 1
    browser.draw()
    assert browser.frame["steps"] == 1
    assert not browser.ask("set", key="span", value=0.004)
    browser.ask("play")  # nothing is under way, so that it begins at once
    browser.session._live._affordable = 1000
    for _ in range(4):
        # The first whole step at or after the next multiple of the span.
        due = (int(sim.time / 0.004 + 1e-6) + 1) * 0.004
        browser.draw()
        assert due - 1e-8 <= sim.time < due + sim.dt
    before = sim.steps
    assert not browser.ask("step") and sim.steps == before + 1 and not browser.state["playing"]


def test_a_frame_ends_in_time_for_buttons_to_be_answered(monkeypatch):
    source = sources.Live(make())
    clock = iter(np.arange(100) * 0.1)  # every step takes 0.1 s
    monkeypatch.setattr(sources.time, "perf_counter", lambda: next(clock))
    for _ in range(3):
        source.advance(10.0)
    assert source.simulation.steps <= 1 + 2 + 5


def test_energies_are_those_of_the_totals():
    sim = make()
    browser = Browser(sim)
    browser.ask("play")
    browser.draw(4)
    now = sim.totals()
    assert browser.frame["point"][0] == (now.time, now.kinetic, now.elastic, now.gravitational, now.energy)
    browser.ask("pause")
    curve = browser.state["curve"]
    assert [row[0] for row in curve] == sorted({row[0] for row in curve}) and curve[0][0] == 0
    assert curve[-1] == browser.frame["point"][0]
    browser.ask("reset")
    assert len(browser.state["curve"]) == 1


# --- what goes wrong ---------------------------------------------------------------------------------------------

BAD = [
    None, 1, "play", [], {}, {"type": None}, {"type": 1}, {"type": ["play"]}, {"type": {}}, {"type": "paly"},
    {"type": "_fail"}, {"type": "play", "x": 1}, {"play": 1}, {"type": "receive"}, {"type": "drawn"},
    {"type": "set"}, {"type": "set", "key": "dx"}, {"type": "set", "key": "dy", "value": 1},
    {"type": "set", "key": None, "value": 1}, {"type": "set", "key": ["dx"], "value": 1},
    *({"type": "set", "key": "dx", "value": value} for value in (0, -1, "0.1", None, True, [1], {}, 10**400)),
    *({"type": "set", "key": "material 0 nu", "value": value} for value in (0.5, -1, None, "x", float("nan"))),
    *({"type": "set", "key": "particles_per_cell", "value": value} for value in (0, 2.5, None, "4")),
    *({"type": "set", "key": "span", "value": value} for value in (0, -1, "x", True)),
    *({"type": "set", "key": "threads", "value": value} for value in (0, None, 10**6)),
    {"type": "set", "key": "gravity y", "value": float("inf")},
    *({"type": "color", "name": name} for name in ("x", "stress", "sped", None, 1, [])),
    *({"type": "show", "what": what, "on": True} for what in ("nodes", None, 1, [])),
    *({"type": "show", "what": "grid", "on": on} for on in (1, None, "yes")),
    *({"type": "record", "path": path, "fps": 60} for path in ("", None, 1, "a.txt", "/nowhere/at/all.vtkhdf")),
    *({"type": "record", "path": "a.vtkhdf", "fps": fps} for fps in (0, -1, None, "60", float("nan"))),
    *({"type": "load", "path": path} for path in ("", None, 1, "none.vtkhdf", ".", __file__)),
    *({"type": "probe", "vertex": vertex, "pinned": False} for vertex in (-1, 10**6, 0.5, "1", [])),
    {"type": "probe", "vertex": 0, "pinned": None},
    *({"type": "seek", "index": index} for index in (1, -1, 0.5, None)),
    *({"type": "time", "value": value} for value in (None, "soon", float("nan"))),
    *({"type": "move", "frames": frames} for frames in (0.5, None, 10**9)),
    {"type": "simulation"} | {"x": 1}, {"type": "scene", "name": "cube"}, {"type": "scene", "name": None},
]  # fmt: skip


@each("message", BAD)
def test_a_bad_message_is_answered_without_harm(message, tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    sim = stepped(2)
    browser = Browser(sim)
    state, hashed = browser.state, sim.state_hash()
    browser.session.receive(message)
    errors = [sent["text"] for sent, _ in browser.sent if sent["type"] == "error"]
    assert len(errors) == 1 and len(errors[0]) > 10, browser.sent[2:]
    assert browser.state == state and sim.state_hash() == hashed and browser.session.simulation is sim
    assert not list(tmp_path.iterdir())
    assert not browser.ask("step") and sim.steps == 3


def test_an_error_of_the_simulation_is_told_and_the_viewer_goes_on():
    browser = Browser(blowing_up())
    browser.ask("play")
    (said,) = browser.ask("drawn", frame=1)
    assert said.startswith("InstabilityError: ") and not browser.state["playing"]
    assert browser.session.simulation.steps == 0
    browser.draw()
    assert browser.ask("step")[0].startswith("InstabilityError: ")
    assert not browser.ask("set", key="dt", value=None) and not browser.ask("reset")
    assert not browser.ask("step") and browser.session.simulation.steps == 1


def test_settings_that_do_not_go_together_leave_the_simulation_there():
    sim = stepped(2)
    browser = Browser(sim)
    browser.ask("set", key="dx", value=0.3)
    (said,) = browser.ask("reset")
    assert said.startswith("dx = 0.3") and "extend the domain to upper = " in said
    assert browser.session.simulation is sim and browser.setting("dx")["changed"]
    assert not browser.ask("step") and sim.steps == 3


def test_an_interrupt_of_the_kernel_pauses(monkeypatch):
    browser = Browser(make())
    browser.ask("play")

    def interrupt(span, frames):
        raise KeyboardInterrupt

    monkeypatch.setattr(browser.session._live, "advance", interrupt)
    assert browser.ask("drawn", frame=1) == ["The run was interrupted."] and not browser.state["playing"]
    monkeypatch.undo()
    assert not browser.ask("play")


# --- the gallery, the widget, the package ------------------------------------------------------------------------


def test_a_scene_of_the_gallery_has_its_own_colour_scale():
    entry = mpm.gallery.get("cube")
    assert entry.limits is not None
    browser = Browser(entry.simulation(scale=0.5), scene="cube")
    browser.ask("step")
    browser.draw()
    assert browser.frame["limits"] == entry.limits
    browser.ask("reset")
    browser.draw()
    assert browser.frame["limits"] == entry.limits and browser.frame["steps"] == 0
    for name in ("J", "speed"):  # chosen by hand: what there is
        browser.ask("color", name=name)
        browser.draw()
        assert browser.frame["limits"] != entry.limits


def test_scenes_of_the_gallery_can_be_chosen():
    browser = Browser(mpm.gallery.get("jelly").simulation(), scene="jelly")
    assert [name for name, _ in browser.state["scenes"]] == list(mpm.gallery.names())
    browser.ask("set", key="gravity y", value=0)
    browser.ask("play")
    assert not browser.ask("scene", name="squeeze")
    assert browser.state["scene"] == "squeeze" and browser.state["color"] == "von_mises"
    assert not browser.state["playing"] and browser.session.simulation.steps == 0
    assert not any(setting["changed"] for setting in browser.state["settings"])
    assert "must be one of" in browser.ask("scene", name="squeze")[0]
    assert Browser(make()).state["scenes"] == []


def widget_scripts():
    return re.findall(r'"(\w+\.js)"', (FOLDER / "scripts.py").read_text())


MORE = ("type", "text", "particle", "count")  # of other messages; the last is the hub's


@pytest.mark.source
def test_script_and_session_speak_the_same_language():
    script = "".join((FOLDER / name).read_text() for name in ("view.js", "compare.js", "play.js"))
    assert all((FOLDER / name).is_file() for name in widget_scripts())
    sent = set(re.findall(r'(?:send|tell)\((?:{ type: )?"(\w+)"', script))
    sent |= set(
        re.search(r"for \(const name of \[(.*?)\]\)\s*control", script)[1].replace('"', "").split(", ")
    )
    sent |= {"color", "scene", "palette", "curve", "sample"}  # sent by name
    sent |= {"play", "pause"}  # by a key
    assert sent == set(session.REQUESTS)
    assert all(f'"{kind}"' in script for kind in ("state", "colliders", "frame", "error"))
    browser = Browser(make())
    for name in re.findall(r"(?:state|message)\.(\w+)", script):
        assert name in browser.state or name in browser.frame or name in MORE, name


def test_without_anywidget_the_extra_is_named_and_pictures_still_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "mpm.viewer.widget", raising=False)  # which may be there already
    sim = make()
    for call in (sim.view, lambda: mpm.view(sim), lambda: viewer.gallery("jelly")):
        with pytest.raises(ImportError, match=r"pip install anywidget \(the extra 'widget'\)"):
            call()
    assert sim.plot()


def test_the_widget_carries_messages(monkeypatch):
    pytest.importorskip("anywidget")
    sim = make()
    view = sim.view()
    assert view.simulation is sim and view.replay is None and not view.playing
    sent = []
    monkeypatch.setattr(view, "send", lambda content, buffers=None: sent.append((content, buffers)))
    view._handle_custom_msg({"type": "ready"}, [])
    assert [content["type"] for content, _ in sent] == ["state", "colliders", "frame"]
    assert sent[0][1] == [] and len(sent[2][1][0]) == 8 * len(sim.particles)
    view.step()
    assert view.simulation.steps == 1
    view.play()
    assert view.playing
    view.pause()
    view.reset()
    assert not view.playing and view.simulation is not sim and view.simulation.steps == 0
    view._handle_custom_msg("nonsense", [])
    assert sent[-1][0]["type"] == "state" and sent[-2][0]["type"] == "error"
    assert "export default" in view._esm and "class Picture" in view._esm and ".mpm-viewer" in view._css
    view.close()


def test_messages_are_answered_in_the_thread_of_the_cells():
    pytest.importorskip("anywidget")
    sim, answered = make(), []

    async def cell():
        view = sim.view()
        view._session.receive = lambda message: answered.append(threading.get_ident())
        other = threading.Thread(target=view._handle_custom_msg, args=({"type": "step"}, []))
        other.start()
        other.join()
        assert not answered  # while a cell runs
        await asyncio.sleep(0)
        view._handle_custom_msg({"type": "step"}, [])
        view.close()

    asyncio.run(cell())
    assert answered == [threading.get_ident()] * 2


def test_closing_the_widget_ends_its_recording(tmp_path):
    pytest.importorskip("anywidget")
    pytest.importorskip("h5py")
    view = make().view()
    view._handle_custom_msg({"type": "record", "path": str(tmp_path / "a.vtkhdf"), "fps": 60}, [])
    view.close()
    with mpm.replay(tmp_path / "a.vtkhdf") as replay:
        assert len(replay) == 1
        again = replay.view()
        assert again.replay is replay and again.simulation is None
        again.close()


def test_the_widget_of_the_gallery():
    pytest.importorskip("anywidget")
    view = viewer.gallery("disks")
    assert view.simulation.dimension == 2
    view.close()


def test_other_scenes_of_the_gallery_run_by_the_same_method():
    pytest.importorskip("anywidget")
    view = viewer.gallery("dam-break", method="sph")
    assert isinstance(view.simulation, mpm.sph.Simulation)
    for name, solver in (("hydrostatic", mpm.sph.Simulation), ("disks", mpm.Simulation)):
        view._session._on_scene(name)
        assert type(view.simulation) is solver
    view.close()


@pytest.mark.numbers
def test_a_frame_of_125000_particles_takes_the_kernel_little(capsys):
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
    material = mpm.materials.FixedCorotated(E=1e5, nu=0.3, density=1000)
    scene.add(mpm.shapes.Box((0.25, 0.25, 0.25), (0.75, 0.75, 0.75)), material)
    sim = mpm.Simulation(scene, dx=1 / 50, threads=1)  # others would spin on a while
    assert len(sim.particles) == 125_000
    browser = Browser(sim)
    browser.ask("set", key="span", value=1e-9)
    browser.ask("play")
    share, steps = [], []
    monkey = browser.session._live
    advance = monkey.advance

    def timed(span, frames):
        began = time.process_time()
        advance(span, frames)
        steps.append(time.process_time() - began)

    monkey.advance = timed
    for _ in range(40):
        began = time.process_time()
        browser.draw()
        share.append(time.process_time() - began - steps[-1])
    best = 1e3 * min(share)
    with capsys.disabled():
        print(f"\n125,000 particles: a frame takes the kernel {best:.1f} ms beside the steps", end=" ")
    # Measured: 4 to 6 ms, half to nine tenths of a step. Processor time and the least of many frames: not what others
    # do to the machine, but for its clock, for which a step stands.
    assert best < max(10, 1.5e3 * min(steps))
