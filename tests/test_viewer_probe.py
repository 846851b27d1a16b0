"""What the viewer says of a particle that is pointed at."""

import numpy as np
import pytest

import mpm
from mpm import fem
from viewers import Browser, make, stepped


def told(browser):
    return browser.last("particle")[0]["particle"]


def numbers(particle, label):
    return [float(part) for part in dict(particle["values"])[label].split(", ")]


@pytest.mark.parametrize("dim", [2, 3])
def test_a_particle_has_row_body_and_values(dim):
    sim = stepped(5, dim)
    browser = Browser(sim)
    for body in sim.scene.bodies:
        row = (sim.rows(body.name).start + sim.rows(body.name).stop) // 2
        assert not browser.ask("probe", vertex=row, pinned=False)
        particle = told(browser)
        assert (particle["row"], particle["id"], particle["body"]) == (row, sim.particles.id[row], body.name)
        assert particle["place"] == pytest.approx(sim.particles.x[row], rel=1e-12)
        assert numbers(particle, "v [m/s]") == pytest.approx(sim.particles.v[row], rel=1e-4)
        assert numbers(particle, "speed [m/s]") == pytest.approx([sim.compute("speed")[row]], rel=1e-4)
        assert "pressure [Pa]" not in dict(particle["values"])
    assert not browser.ask("probe", vertex=row, pinned=True)
    assert numbers(told(browser), "pressure [Pa]") == pytest.approx([sim.compute("pressure")[row]], rel=1e-4)
    browser.ask("step")
    browser.draw()
    assert told(browser)["place"] == pytest.approx(sim.particles.x[row], rel=1e-12)  # it is followed
    assert not browser.ask("probe", vertex=None, pinned=False) and told(browser) is None


def test_a_particle_keeps_its_name_when_others_are_deleted():
    sim = make()
    browser = Browser(sim)
    browser.ask("probe", vertex=7, pinned=True)
    sim.particles.delete(np.arange(len(sim.particles)) < 5)
    browser.ask("step")
    browser.draw()
    assert told(browser)["id"] == 7 and told(browser)["row"] == 2
    sim.particles.delete(np.arange(len(sim.particles)) < 5)
    browser.ask("step")
    browser.draw()
    assert told(browser) is None


def test_corners_of_triangles_are_nodes():
    scene = mpm.Scene((0, 0), (1, 1))
    material = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)
    for k, low in enumerate((0.1, 0.6)):
        scene.add(mpm.shapes.Box((low, 0.2), (low + 0.3, 0.4)), material, name=f"box {k}")
    sim = fem.Simulation(scene, spacing=0.1)
    browser = Browser(sim)
    corners = sim._cells().ravel()
    assert not browser.ask("probe", vertex=len(corners) - 1, pinned=False)
    assert told(browser)["row"] == corners[-1] and told(browser)["body"] == "box 1"


def test_a_frame_of_a_recording_knows_no_bodies(tmp_path):
    sim = make()
    with sim.record(tmp_path / "run.geo", fps=100, fields=("v",)):
        sim.step(5)
    browser = Browser(mpm.replay(tmp_path / "run.geo"))
    assert not browser.ask("probe", vertex=3, pinned=True)
    assert told(browser)["row"] == 3 and told(browser)["body"] == "" and numbers(told(browser), "v [m/s]")
