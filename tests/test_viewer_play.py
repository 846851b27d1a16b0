"""From play to replay on one page of the viewer, and what a picture in space shows; in a headless Chromium.

Run by ``make browser``. Any error on the console fails a test. Pictures are left in ``out/screens``.
"""

import numpy as np
import pytest

import mpm
from mpm.viewer.palettes import PALETTES
from test_viewer_page import opened  # noqa: F401
from test_viewer_tools import changed, pixels, point_at

pytestmark = [pytest.mark.browser, pytest.mark.source]


def test_a_live_run_is_scrubbed_changed_recorded_and_replayed(opened, tmp_path):  # noqa: F811
    sim = mpm.gallery.get("jelly").simulation(scale=0.5)
    page = opened(sim, folder=tmp_path)
    session = page.session
    press = lambda name: page.viewer.get_by_role("button", name=name, exact=True).click()  # noqa: E731
    index = lambda: int(page.part("frame").input_value()) - 1  # noqa: E731

    # It plays; back and on by the timeline, the keys and the fields; what was seen is seen again.
    press("Play")
    page.until(lambda: session._live.count > 12, "it plays")
    press("Pause")
    page.until(lambda: not session.playing, "it pauses")
    now, steps, last = pixels(page), sim.steps, session._live.count - 1
    page.part("timeline").fill("3")
    page.until(lambda: index() == 3 and session._live.index == 3, "the fourth frame is shown")
    then = pixels(page)
    assert changed(then, now) > 300 and sim.steps == steps
    page.viewer.locator(".mpm-status").click()  # a click anywhere gives the keys to the viewer
    for key, wanted in (("ArrowLeft", 2), ("ArrowRight", 3), ("Home", 0), ("End", last)):
        page.page.keyboard.press(key)
        page.until(lambda: index() == wanted, f"{key} shows frame {wanted}")  # noqa: B023
    assert (pixels(page) == now).all() and sim.steps == steps
    page.part("time").fill(str(session._live.kept.frames[3][0].time))
    page.part("time").press("Enter")
    page.until(lambda: index() == 3, "the nearest frame is shown")
    assert (pixels(page) == then).all()
    page.keep("scrubbed")

    # On from there into the present and beyond; a parameter changes while it plays, a wrong one does not.
    press("Play")
    page.until(lambda: sim.steps > steps, "the run goes on")
    page.control("gravity y").fill("abc")
    page.control("gravity y").press("Enter")
    alert = page.viewer.get_by_role("alert")
    page.until(lambda: alert.is_visible() and "gy" in alert.text_content(), "it is refused")
    assert session.playing and page.control("gravity y").input_value() == "-9.81"
    page.control("gravity y").fill("-3")
    page.control("gravity y").press("Enter")
    page.until(lambda: sim.changes, "it is changed")
    change = sim.changes[0]
    page.until(lambda: sim.steps > change.step + 20, "it goes on")
    assert session.playing and change.name == "gravity.y" and sim.scene.gravity[1] == -3
    assert page.viewer.locator(".mpm-changed").count() == 0 and not alert.is_visible()

    # It is recorded, stopped, and replayed.
    page.part("path").fill("run.bgeo")
    press("Record")
    page.until(lambda: len(list(tmp_path.glob("*.bgeo"))) > 6, "frames are written")
    press("Pause")
    press("Stop")
    page.until(lambda: session._recording is None, "the recording ends")
    final, steps = pixels(page), sim.steps

    # A particle is opaque, and its card is beside the pointer.
    row = len(sim.particles) - 30
    low, high = session._scale.limits
    share = min(1, (sim.compute("speed")[row] - low) / (high - low)) * 5
    stops = np.array([[int(stop[k : k + 2], 16) for k in (0, 2, 4)] for stop in PALETTES["mpm"]])
    k = min(int(share), 4)
    wanted = stops[k] + (share - k) * (stops[k + 1] - stops[k])
    card, box = page.viewer.locator(".mpm-card"), page.viewer.locator(".mpm-picture").bounding_box()
    left, top = np.subtract(point_at(page, sim.particles.x[row]), (box["x"], box["y"]))
    assert np.abs(final[round(top), round(left)] - wanted).max() <= 6  # measured: 1
    page.until(lambda: card.is_visible() and str(row) in card.text_content(), "its values are shown")
    beside = card.bounding_box()
    gaps = (beside["x"] - box["x"] - left, left - (beside["x"] - box["x"] + beside["width"]))
    assert 0 < max(gaps) < 40 and beside["width"] < 0.5 * box["width"] and beside["height"] < 140
    page.keep("card")

    press("Load")
    page.until(lambda: session.replay is not None and index() == 0, "it is loaded")
    assert session.replay.changes == sim.changes
    press("Play")
    page.until(lambda: session._recorded.at_end and not session.playing, "it plays to its end")
    press("Simulation")
    page.until(lambda: session.replay is None and f"step {steps} " in page.shown(), "the run is back")
    # Another scene, and gravity the other way: the picture of a frame of another place is not drawn.
    page.control("gravity y").fill("3")
    page.control("gravity y").press("Enter")
    page.until(lambda: sim.scene.gravity[1] == 3, "gravity has another sign")
    pixels(page)


def test_bodies_axes_and_the_plane_of_a_cut(opened):  # noqa: F811
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
    material = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)
    for name, x in (("left", 0.1), ("right", 0.6)):
        scene.add(mpm.shapes.Box((x, 0.3, 0.3), (x + 0.3, 0.6, 0.6)), material, name=name)
    page = opened(mpm.Simulation(scene, dx=1 / 16))
    both = pixels(page)
    page.viewer.locator("summary").click()
    page.viewer.get_by_label("Show left").uncheck()
    right = pixels(page)
    assert changed(right, both) > 1000
    page.viewer.get_by_label("Colour of right").select_option(label="orange")
    orange = pixels(page)
    assert changed(orange, right) > 1000
    red = orange[np.abs(orange - right).max(axis=2) > 8]
    assert (red[:, 0] > red[:, 2] + 30).mean() > 0.95  # shaded orange
    page.viewer.get_by_label("Show left").check()
    page.viewer.get_by_label("Hide", exact=True).select_option("above x")
    page.keep("cut_with_handle")
    before, box = page.part("depth").input_value(), page.viewer.locator(".mpm-picture").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)  # of the domain, where the handle is
    page.page.mouse.move(*middle)
    page.page.mouse.down()
    page.page.mouse.move(middle[0] + 60, middle[1] + 15, steps=4)
    page.page.mouse.up()
    assert float(page.part("depth").input_value()) > float(before) + 5
    assert page.part("views").input_value() in ("free", "")  # it was not turned
    page.keep("cut_dragged")
