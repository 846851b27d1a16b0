"""The viewer plays SPH, and changes its options: without a browser."""

import numpy as np
import pytest

import mpm
from viewers import Browser

pytestmark = pytest.mark.filterwarnings("ignore:tension = True")
WATER = mpm.materials.Fluid(bulk_modulus=2e4, density=1000, viscosity=0.1)


def make(**options):
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(mpm.shapes.Box((0.2, 0), (0.6, 0.4)), WATER)
    scene.add_collider(mpm.shapes.Ball((0.8, 0.1), 0.1), contact="slip", name="stone")
    return mpm.sph.Simulation(scene, spacing=0.05, **options)


def test_it_plays_pauses_steps_and_resets():
    sim = make(threads=2)
    browser = Browser(sim)
    assert not browser.ask("step") and sim.steps == 1
    browser.draw()
    assert not browser.ask("play") and browser.state["playing"]
    browser.draw(3)
    assert not browser.ask("pause") and not browser.state["playing"] and sim.steps > 3
    assert np.allclose(browser.positions(), sim.particles.x, atol=1e-4)
    assert len(browser.colliders()) and browser.state["linesOffered"] == ["particles"]
    assert not browser.ask("show", what="particles", on=True) and not browser.ask("color", name="pressure")
    browser.draw()
    assert not browser.ask("reset")
    made = browser.session.simulation
    assert isinstance(made, mpm.sph.Simulation) and made is not sim and made.steps == 0 and made.threads == 2
    assert made.state_hash() == make().state_hash()


# Key: the value that is set, and what a reset must give.
CHANGES = {
    "spacing": (0.1, lambda sim: sim._numerics.spacing, 0.1),
    "smoothing": (1.3, lambda sim: sim._numerics.smoothing, 1.3),
    "kernel": ("wendland", lambda sim: sim._numerics.kernel, "wendland"),
    "viscosity": ("central", lambda sim: sim._numerics.viscosity, "central"),
    "constant_viscosity": ("kinematic", lambda sim: sim._numerics.constant_viscosity, "kinematic"),
    "alpha": (0.2, lambda sim: sim._numerics.alpha, 0.2),
    "xsph": (0.3, lambda sim: sim._numerics.xsph, 0.3),
    "repulsion": (0.01, lambda sim: sim._numerics.repulsion, 0.01),
    "tension": ("on", lambda sim: sim._numerics.tension, True),
    "dt": (1e-4, lambda sim: sim._numerics.dt, 1e-4),
    "max_dt": (1e-3, lambda sim: sim._numerics.max_dt, 1e-3),
    "history": (4, lambda sim: sim._numerics.history, 4),
    "gravity y": (-1, lambda sim: sim.scene.gravity[1], -1),
    "material 0 bulk_modulus": (1e5, lambda sim: sim.scene.bodies[0].material.bulk_modulus, 1e5),
    "material 0 viscosity": (0.5, lambda sim: sim.scene.bodies[0].material.viscosity, 0.5),
}


@pytest.mark.parametrize("key", CHANGES)
def test_a_reset_takes_what_was_set(key):
    value, read, expected = CHANGES[key]
    sim = make()
    before, browser, original = read(sim), Browser(sim), make()
    live = key.startswith(("material", "gravity"))  # what the run takes at once
    assert not browser.ask("set", key=key, value=value) and browser.setting(key)["changed"] is not live
    assert read(sim) == (expected if live else before)
    assert not browser.ask("reset")
    made = browser.session.simulation
    assert read(made) == expected != before and not browser.setting(key)["changed"]
    assert {k for k in CHANGES if CHANGES[k][1](made) != CHANGES[k][1](original)} == {key}
    assert not browser.ask("step") and made.steps == 1


def test_what_is_shown_is_what_acts():
    browser = Browser(make(kernel="wendland", tension=True, dt=1e-4, allow_unstable=True))
    keys = {s["key"] for s in browser.state["settings"]} - {"span", "threads"}
    of_scene = {key for key in keys if key.startswith(("body", "wall", "lower", "upper", "collider"))}
    assert {"body 0 shape", "body 0 vy", "wall x-", "upper y"} <= of_scene
    assert keys - of_scene == {
        *CHANGES,
        *("gravity x", "material 0 density", "material 0 gamma"),
    }
    kernel = browser.setting("kernel")
    assert kernel["choices"] == ("cubic", "wendland") and kernel["value"] == "wendland"
    assert kernel["allowed"] == "cubic, wendland" and browser.setting("tension")["value"] == "on"
    assert "must be one of 'cubic', 'wendland'" in browser.ask("set", key="kernel", value="gauss")[0]
    assert "kernel" in browser.ask("set", key="kernel", value=2)[0]
    assert not browser.ask("set", key="dt", value=None) and not browser.ask("reset")
    assert browser.session.simulation._numerics.dt == 0
    browser.ask("set", key="spacing", value=0.3)
    assert "spacing = 0.3" in browser.ask("reset")[0]
