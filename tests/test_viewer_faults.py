"""Requests that go wrong while the viewer plays, and what the panels show beside a recording."""

import mpm
from loops import each
from viewers import Browser, make


@each("key, value", [("dx", "abc"), ("material 0 E", "abc"), ("gravity y", None), ("dt", -1), ("nothing", 1)])
def test_a_wrong_value_keeps_the_old_one_and_the_run_goes_on(key, value):
    browser = Browser(make())
    browser.ask("play")
    browser.draw()
    before = {setting["key"]: setting["value"] for setting in browser.state["settings"]}
    assert len(browser.ask("set", key=key, value=value)) == 1
    assert browser.state["playing"] and browser.session.playing
    assert {setting["key"]: setting["value"] for setting in browser.state["settings"]} == before
    steps = browser.session.simulation.steps
    browser.draw()
    assert browser.session.simulation.steps > steps


def test_a_picture_that_fails_pauses(monkeypatch):
    browser = Browser(make())
    browser.ask("play")

    def fail():
        raise ValueError("no picture")

    monkeypatch.setattr(browser.session, "_picture", fail)
    assert browser.ask("drawn", frame=browser.frame["frame"]) == ["no picture"]
    assert not browser.session.playing and not browser.state["playing"]


def recorded(folder):
    sim = mpm.gallery.get("jelly").simulation(scale=0.25)
    with sim.record(folder / "run.bgeo", fps=60, fields=("v",)):
        sim.run(0.1)
    return folder / "run.bgeo"


def test_a_recording_does_not_show_the_settings_of_a_scene(tmp_path):
    path = recorded(tmp_path)
    browser = Browser(mpm.gallery.get("jelly").simulation(scale=0.25), scene="jelly")
    assert browser.setting("gravity y") and browser.state["scene"] == "jelly" and browser.state["comparable"]
    assert not browser.ask("load", path=str(path))
    state = browser.state
    assert state["settings"] == [] and state["comparable"] == [] and state["scene"] is None
    said = mpm.replay(path).description["summary"]
    assert said == f"<{said.split()[0][1:]} {state['replay']['summary']}>"  # without the name of the class
    assert not browser.ask("simulation")
    assert browser.setting("gravity y") and browser.state["scene"] == "jelly"


def test_the_colours_of_a_recording_span_all_its_frames(tmp_path):
    replay = mpm.replay(recorded(tmp_path))
    fastest = max(float(frame.compute("speed").max()) for frame in replay)
    browser = Browser(replay)
    low, high = browser.frame["limits"]
    assert low == 0 and high >= 0.9 * fastest > 0 == replay[0].compute("speed").max()
    for index in (len(replay) - 1, len(replay) // 2):
        assert not browser.ask("seek", index=index)
        browser.draw()
        assert browser.frame["limits"] == (low, high)
    assert not browser.ask("limits", low=0, high=2) and not browser.ask("limits", low=None, high=None)
    browser.draw()
    assert browser.frame["limits"] == (low, high)
