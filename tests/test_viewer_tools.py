"""What the viewer's page is for beside playing, in a headless Chromium: particles, views, clipping, comparisons.

Run by ``make browser``. One page serves many checks. Pictures are left in ``out/screens``.
"""

import io

import numpy as np
import pytest

import mpm
from test_viewer_page import opened  # noqa: F401

pytestmark = [pytest.mark.browser, pytest.mark.source]


def pixels(page):
    """The picture on the screen, (height, width, 3)."""
    from PIL import Image

    page.until(lambda: True, "")
    page.page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    data = page.viewer.locator(".mpm-picture").screenshot()
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def changed(a, b):
    return int((np.abs(a - b).max(axis=2) > 8).sum())


def point_at(page, place):
    """Move the pointer to a place of the domain [m], in 2-D seen as at first."""
    canvas = page.viewer.locator(".mpm-picture").bounding_box()
    scene = page.session._source.now.scene
    extent = scene.upper - scene.lower
    scale = 0.93 * min(canvas["width"] / extent[0], canvas["height"] / extent[1])
    from_middle = scale * (np.asarray(place) - (scene.lower + scene.upper) / 2)
    x = canvas["x"] + canvas["width"] / 2 + from_middle[0]
    y = canvas["y"] + canvas["height"] / 2 - from_middle[1]
    page.page.mouse.move(x, y)
    return x, y


def told(page):
    card = page.viewer.locator(".mpm-card")
    terms, texts = card.locator("dt").all_text_contents(), card.locator("dd").all_text_contents()
    return dict(zip(terms, texts, strict=True)) if card.is_visible() else {}


def test_particles(opened):  # noqa: F811
    page = opened(mpm.gallery.get("jelly").simulation(scale=0.5))
    sim = page.session.simulation
    row = len(sim.particles) // 2
    seen = lambda: point_at(page, sim.particles.x[row]) and told(page).get("row")  # noqa: E731
    page.until(
        lambda: seen() == str(row), f"the particle under the pointer is told, not {seen()}, {told(page)}"
    )
    assert told(page)["body"] in {body.name for body in sim.scene.bodies} and "speed [m/s]" in told(page)
    page.keep("hover")
    page.page.mouse.click(*point_at(page, sim.particles.x[row]))
    page.until(lambda: "pressure [Pa]" in told(page), "a click tells more")
    point_at(page, (scene := sim.scene).lower + 0.98 * (scene.upper - scene.lower))
    page.viewer.get_by_role("button", name="Step").click()
    page.until(lambda: sim.steps == 1 and "step 1 " in page.shown(), "a step is taken")
    page.until(lambda: float(told(page)["speed [m/s]"]) > 0, "the values are of now")
    assert told(page)["row"] == str(row)
    page.keep("pinned")
    page.page.keyboard.press("Escape")
    page.until(lambda: not told(page), "it is released")
