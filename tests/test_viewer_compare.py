"""Values of a parameter side by side in the viewer: the runs are those that each value would have alone."""

import numpy as np
import pytest

import mpm
from viewers import Browser

VALUES = [1e4, 1e5, 1e6]


def compared(values=VALUES):
    browser = Browser(mpm.gallery.get("jelly").simulation(scale=0.5))
    browser.ask("set", key="span", value=0.05)
    assert not browser.ask("compare", key="material 1 E", values=values)
    browser.draw()
    return browser


def test_each_run_is_that_of_its_value_alone():
    browser = compared()
    assert browser.state["comparison"]["labels"] == ["E = 10000 Pa", "E = 100000 Pa", "E = 1e+06 Pa"]
    assert browser.state["comparison"]["name"] == "E"
    browser.ask("play")
    browser.draw(4)
    runs = browser.session._compared.runs
    assert browser.session.simulation.steps == 0 and runs[0].time >= 0.15
    for value, run in zip(VALUES, runs, strict=True):
        assert 0 <= run.time - runs[0].time < run.dt * (1 + 1e-9)
        alone = browser.session.simulation._rebuilt({"material 1 E": value})
        alone.step(run.steps)
        assert alone.state_hash() == run.state_hash()
    # One clock, one colour scale, one buffer: the vertices of all runs.
    frame, (data,) = browser.last("frame")
    assert frame["time"] == runs[0].time and [run["parts"] for run in frame["runs"]] == [1, 1, 1]
    vertices = np.frombuffer(data, dtype=np.uint16).reshape(3, -1, 4)
    low, high = frame["limits"]
    for run, found in zip(runs, vertices, strict=True):
        speed = np.clip(run.compute("speed"), low, high)
        assert np.abs(low + found[:, 3] / 65535 * (high - low) - speed).max() < 1e-4 * high
        assert np.abs(browser.placed(found) - run.particles.x).max() < 2e-5
    assert browser.frame["point"][0] == pytest.approx((runs[0].time, *(run.totals().kinetic for run in runs)))


def test_reset_begins_anew_and_the_simulation_comes_back():
    browser = compared()
    browser.ask("step")
    browser.ask("set", key="gravity y", value=-1.0)
    browser.draw()
    assert not browser.ask("reset")
    browser.draw()
    runs = browser.session._compared.runs
    assert [run.steps for run in runs] == [0, 0, 0] and all(run.scene.gravity[1] == -1 for run in runs)
    assert "shows a comparison" in browser.ask("record", path="a.vtkhdf", fps=60)[0]
    assert not browser.ask("simulation")
    browser.draw()
    assert browser.state["comparison"] is None and len(browser.frame["runs"]) == 1


@pytest.mark.parametrize(
    ("key", "values", "error"),
    [
        ("material 1 E", [1e4], "must be 2 to 4 values"),
        ("material 1 E", [1e4] * 5, "must be 2 to 4 values"),
        ("material 1 E", 7, "must be 2 to 4 values"),
        ("material 1 E", [1e4, 1e4], "must be different"),
        ("material 1 E", [1e4, -1], "must be > 0"),
        ("material 1 E", [1e4, "stiff"], "E"),
        ("transfer", ["apic", "fli"], "transfer"),
        ("lower x", [0, 1], "share the domain and the clock"),
        ("span", [1, 2], "key"),
    ],
)
def test_what_cannot_be_compared(key, values, error):
    browser = Browser(mpm.gallery.get("jelly").simulation(scale=0.5))
    (said,) = browser.ask("compare", key=key, values=values)
    assert error in said and browser.state["comparison"] is None


def test_an_error_names_the_run():
    browser = compared([4e4, 1e9])
    browser.session._compared.runs[1].particles.x[0] = np.nan
    (said,) = browser.ask("step")
    assert said.startswith("RuntimeError: with E = 1e+09 Pa: SimulationError")
