"""Settings that act in the running simulation: at once, noted, and repeated; and bodies that are shown or hidden."""

import numpy as np
import pytest

import mpm
from loops import each
from test_changes import beam, plowed, water
from viewers import Browser, make


def test_a_setting_changes_the_run_while_it_plays():
    sim = plowed()
    browser = Browser(sim)
    keys = {s["key"]: s for s in browser.state["settings"]}
    assert keys["gravity y"]["live"] and keys["material 1 E"]["live"] and keys["collider 0 vx"]["live"]
    assert keys["friction y-"]["live"] and keys["collider 1 turn"]["live"] and keys["span"]["live"]
    assert not any(keys[key]["live"] for key in ("dx", "body 0 vx", "material 0 density", "wall y-", "dt"))
    browser.ask("play")
    browser.draw(2)
    wanted = {
        "gravity y": -4.0,
        "material 1 E": 1e5,
        "collider 0 vx": 1.5,
        "friction y-": 0.1,
        "collider 1 turn": -1.0,
    }
    for key, value in wanted.items():
        assert not browser.ask("set", key=key, value=value)
        assert browser.setting(key)["value"] == value and not browser.setting(key)["changed"]
        assert browser.session.playing
        browser.draw()
    assert [change.name for change in sim.changes] == [
        *("gravity.y", "block.E", "plow.velocity", "y-.friction", "drum.angular_velocity")
    ]
    assert sim.changes[2].value == (1.5, 0.0)  # the other component stays
    again = plowed()
    for step, _, name, value in sim.changes:
        again.step(step - again.steps)
        again.set(name, value)
    again.step(sim.steps - again.steps)
    assert again.state_hash() == sim.state_hash()
    # A wrong value keeps the old one, and the run goes on.
    assert "E = -1" in browser.ask("set", key="material 1 E", value=-1)[0] and browser.session.playing
    assert browser.setting("material 1 E")["value"] == 1e5
    # Looking back, a change belongs to the present; a reset begins with the values that are shown.
    browser.ask("seek", index=1)
    browser.draw()
    assert not browser.ask("set", key="gravity y", value=-2.0)
    browser.draw()
    assert browser.frame["index"] == browser.frame["frames"] - 1 and sim.scene.gravity[1] == -2
    assert not browser.ask("reset")
    made = browser.session.simulation
    assert made.scene.gravity[1] == -2 and made.materials[1].E == 1e5 and not made.changes
    assert made.parameters["plow.velocity"] == (1.5, 0.0) and made.parameters["drum.angular_velocity"] == -1


@each("made", [beam, water])
def test_other_methods_change_too(made):
    sim = made()
    browser = Browser(sim)
    live = [s["key"] for s in browser.state["settings"] if s["live"] and s["key"] not in ("span", "threads")]
    assert {"gravity x", "gravity y", "collider 0 vx"} < set(live)
    for key in live:
        value = browser.setting(key)["value"]
        assert not browser.ask("set", key=key, value=0.9 * value if value else 0.1), key
    # Both components of a velocity are one change, because no step lies between them.
    assert len(sim.changes) == len(live) - 1 and not browser.ask("step")


def test_quantities_of_the_past_keep_the_parameters_that_they_had():
    scene = mpm.Scene((0, 0), (1, 1))
    material = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)
    scene.add(mpm.shapes.Box((0.3, 0.3), (0.6, 0.6)), material, F=0.98 * np.eye(2), name="block")
    sim = mpm.Simulation(scene, dx=1 / 16)
    browser = Browser(sim)
    pressure = sim.compute("pressure")
    assert not browser.ask("set", key="material 0 E", value=5e4) and sim.changes
    browser.ask("play")
    browser.draw(2)
    (then,) = browser.session._live.kept.frames[0]
    assert then.compute("pressure") == pytest.approx(pressure, rel=1e-4)  # measured: 3e-6, single precision
    assert sim.materials[0].E == 5e4


def test_a_comparison_keeps_to_its_parameters():
    browser = Browser(plowed())
    assert not browser.ask("compare", key="material 1 E", values=[1e4, 1e5])
    browser.draw()
    assert not browser.setting("gravity y")["live"] and not browser.ask("set", key="gravity y", value=-1)
    assert browser.setting("gravity y")["changed"] and browser.session.simulation.scene.gravity[1] == -9.81


@each("made", [plowed, make, lambda: make(3), lambda: mpm.gallery.get("dam-break").solver("sph", scale=0.25)])
def test_vertices_of_bodies_follow_one_another(made):
    sim = made()
    sim.step(2)
    browser = Browser(sim)
    (run,) = browser.frame["runs"]
    names = [part.name for part in sim._parts]
    assert [name for name, _ in browser.state["bodies"]] == names == [name for name, _, _ in run["bodies"]]
    style = mpm.viz.style.Style.checked(sim)
    shown = style.table[style.shown(sim._state(style.fields), grains=False)]
    for name, ink in browser.state["bodies"]:  # the colours of pictures
        assert ink == "".join(f"{part:02x}" for part in shown[sim.rows(name)][0])
    first, x = 0, browser.positions()
    for name, count, _ in run["bodies"]:
        assert np.abs(x[first : first + count] - sim.particles.x[sim.rows(name)]).max() < 1e-3
        first += count
    assert first == len(x)


@each("d", (2, 3))
def test_elements_of_bodies_follow_one_another(d):
    scene = mpm.Scene((0,) * d, (1,) * d)
    material = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)
    for k, x in enumerate((0.1, 0.6)):
        scene.add(mpm.shapes.Box((x, *[0.3] * (d - 1)), (x + 0.3, *[0.6] * (d - 1))), material, name=f"b{k}")
    browser = Browser(mpm.fem.Simulation(scene, spacing=0.1))
    (run,) = browser.frame["runs"]
    name = "triangles" if d == 2 else "surface"
    first, x = 0, browser.positions(name)
    for k, body in enumerate(run["bodies"]):
        count = body[1 if d == 2 else 2]
        inside = x[first : first + count, 0]
        assert count and inside.min() > (0.1, 0.6)[k] - 1e-3 and inside.max() < (0.4, 0.9)[k] + 1e-3
        first += count
    assert first == len(x)
