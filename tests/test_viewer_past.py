"""Back and on in a run: its frames so far are shown as they were, bounded in memory, and the run is not changed."""

import numpy as np
import pytest

import mpm
from loops import each
from mpm.viewer import pace, past
from viewers import Browser, make

SOURCES = {
    "mpm": lambda: make(),
    "mpm 3-D": lambda: make(3),
    "float32": lambda: make(dtype="float32"),
    "sph": lambda: mpm.gallery.get("dam-break").solver("sph", scale=0.5),
    "fem": lambda: mpm.gallery.get("cantilever").solver("fem", scale=0.5),
}


def played(sim, frames=6, **options):
    """A browser in which a run has played, and what each frame looked like: (steps, vertices)."""
    browser = Browser(sim, **options)
    looks = [(0, browser.frame, browser.last("frame")[1][0].tobytes())]
    browser.ask("play")
    for _ in range(frames):
        browser.draw()
        looks.append((sim.steps, browser.frame, browser.last("frame")[1][0].tobytes()))
    browser.ask("pause")
    browser.draw()
    return browser, looks


def vertices(data):
    return np.frombuffer(data, dtype=np.uint16).reshape(-1, 4).astype(int)


@each("name", SOURCES)
def test_a_run_is_scrubbed_back_and_on_as_it_was(name):
    sim = SOURCES[name]()
    browser, looks = played(sim)
    steps, hashed = sim.steps, sim.state_hash()
    low, high = browser.frame["limits"]
    assert browser.frame["frames"] == len(looks) and browser.frame["index"] == len(looks) - 1
    for index in (3, 0, len(looks) - 2, 1):
        assert not browser.ask("seek", index=index)
        browser.draw()
        then, frame, data = looks[index]
        assert browser.frame["steps"] == then and browser.frame["index"] == index
        assert browser.frame["time"] == frame["time"] and browser.frame["parts"] == frame["parts"]
        a, b = vertices(browser.last("frame")[1][0]), vertices(data)
        assert np.abs(a[:, :3] - b[:, :3]).max() <= 1  # measured: 0 or 1, by the rounding to single precision
        assert browser.frame["limits"] == (low, high)
        for quantity, _ in browser.state["colors"]:  # every quantity can be had of every frame
            assert not browser.ask("color", name=quantity)
            browser.draw()
        assert not browser.ask("color", name="speed")
        browser.draw()
        assert not browser.ask("limits", low=low, high=high)
        browser.draw()
    assert sim.steps == steps and sim.state_hash() == hashed
    # On from the past: the frames so far, then the run goes on, as if nobody had looked.
    browser.ask("seek", index=len(looks) - 2)
    browser.draw()
    browser.ask("play")
    assert sim.steps == steps
    browser.draw()
    assert sim.steps > steps and browser.frame["index"] == len(looks)
    other = SOURCES[name]()
    other.step(sim.steps)
    assert other.state_hash() == sim.state_hash()


def test_buttons_fields_and_loop():
    sim = make()
    browser, looks = played(sim, 4)
    for frames, index in ((-1, 3), (-1, 2), (1, 3), (-100, 0), (100, 4)):
        assert not browser.ask("move", frames=frames)
        browser.draw()
        assert browser.frame["index"] == index
    steps = sim.steps
    assert not browser.ask("move", frames=1)  # at the present one more is computed
    browser.draw()
    assert sim.steps > steps and browser.frame["index"] == 5 and not browser.state["playing"]
    middle = (looks[1][1]["time"] + 2 * looks[2][1]["time"]) / 3
    for time, index in ((middle, 2), (-1, 0), (1e9, 5)):
        assert not browser.ask("time", value=time)
        browser.draw()
        assert browser.frame["index"] == index
    steps = sim.steps
    browser.ask("loop", on=True)
    browser.ask("play")
    seen = []
    for _ in range(12):
        browser.draw()
        seen.append(browser.frame["index"])
    assert sim.steps == steps and seen[:7] == [1, 2, 3, 4, 5, 0, 1]
    assert not browser.ask("step")  # from the present, wherever the page is
    browser.draw()
    assert sim.steps == steps + 1 and browser.frame["index"] == 6


def test_the_past_is_bounded_and_reaches_back_to_the_start(monkeypatch):
    sim = make()
    one = past.Kept(sim, "speed", None).nbytes
    monkeypatch.setattr(past, "MEMORY", 20 * one)
    browser, _ = played(sim, 100)
    kept = browser.session._live.kept
    held = {id(array): array.nbytes for frame in kept.frames for array in frame[0].arrays()}
    assert sum(held.values()) <= 20 * one and 8 <= len(kept.frames) <= 40
    times = np.array([frame[0].time for frame in kept.frames])
    assert times[0] == 0 and times[-1] == sim.time
    gaps = np.diff(times)[:-1]
    assert gaps.max() < 1.6 * gaps.min()  # measured: 1.2, whole steps
    # Of a run of which four frames do not fit, there is the present alone.
    monkeypatch.setattr(past, "MEMORY", one)
    browser, _ = played(make(), 3)
    assert browser.frame["frames"] == 1 and browser.frame["index"] == 0


def test_a_comparison_is_scrubbed_too():
    browser = Browser(make())
    assert not browser.ask("compare", key="material 1 E", values=[1e4, 1e6])
    browser.draw()
    browser.ask("play")
    browser.draw(5)
    runs = browser.session._compared.runs
    steps = [run.steps for run in runs]
    assert not browser.ask("seek", index=0)
    browser.draw()
    assert browser.frame["time"] == 0 and len(browser.frame["runs"]) == 2
    assert [run.steps for run in runs] == steps


@each("factor", [1e-3, 1.0, 1e3])
def test_a_frame_suits_the_scene(factor):
    """A body falls through domains of any size in one to four seconds of frames."""
    scene = mpm.Scene((0, 0), (factor, factor), gravity=(0, -9.81))
    material = mpm.materials.FixedCorotated(E=1e5 * factor, nu=0.3, density=1000)
    scene.add(mpm.shapes.Box((0.4 * factor, 0.6 * factor), (0.6 * factor, 0.8 * factor)), material)
    span = pace.natural_span(mpm.Simulation(scene, dx=factor / 16))
    assert 1 <= np.sqrt(2 * factor / 9.81) / span / pace.FPS <= 4
    still = mpm.Scene((0, 0), (factor, factor))
    still.add(mpm.shapes.Box((0.4 * factor, 0.6 * factor), (0.6 * factor, 0.8 * factor)), material)
    sim = mpm.Simulation(still, dx=factor / 16)
    assert pace.natural_span(sim) == pytest.approx(10 * sim.stable_dt().dt, rel=0.6)
