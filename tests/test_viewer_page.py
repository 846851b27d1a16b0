"""The viewer's scripts in a headless Chromium, with a session in this process behind them and no notebook around them.

Run by ``make browser``. Pictures are left in ``out/screens``.
"""

import base64
import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

import mpm
import mpm.viewer
from mpm.viewer.session import Session
from test_browser import SCREENS

pytestmark = [pytest.mark.browser, pytest.mark.source]

FOLDER = Path(mpm.viewer.__file__).parent
SCRIPTS = re.findall(r'"(\w+\.js)"', (FOLDER / "scripts.py").read_text())
PATIENCE = 60.0  # s

PAGE = """<!doctype html><meta charset="utf-8"><style>body { margin: 8px; } %s</style><div id="el"></div>
<script type="module">
const module = await import(URL.createObjectURL(new Blob([document.getElementById("code").textContent],
  { type: "text/javascript" })));
const listeners = [], sent = [];
window.sent = sent;
window.deliver = (message, data) => {
  const buffers = data.map((text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer));
  for (const listener of listeners) listener(message, buffers);
};
const model = {
  send: (message) => sent.push(message),
  on: (name, listener) => { if (name === "msg:custom") listeners.push(listener); },
  off: () => {},
};
module.default.render({ model, el: document.getElementById("el") });
window.ready = true;
</script><script type="text/plain" id="code">%s</script>"""


class Page:
    """A page that shows a session, and carries its messages whenever it is looked at."""

    def __init__(self, page, source, **options):
        self.page, self.arrived, self.answers = page, [], 0
        self.session = Session(source, lambda *message: self.arrived.append(message), **options)
        scripts = "\n".join((FOLDER / name).read_text() for name in SCRIPTS)
        page.set_content(PAGE % ((FOLDER / "style.css").read_text(), scripts.replace("</", "<\\/")))
        page.wait_for_function("window.ready")
        self.viewer = page.locator(".mpm-viewer")
        self.until(lambda: " step " in self.shown(), "the viewer is shown")

    def carry(self):
        """Hand over what either side has said."""
        for message in self.page.evaluate("window.sent.splice(0)"):
            self.session.receive(message)
            self.answers += 1
        for message, buffers in self.arrived:
            data = [base64.b64encode(buffer).decode() for buffer in buffers]
            self.page.evaluate("([m, d]) => window.deliver(m, d)", [json.loads(json.dumps(message)), data])
        self.arrived.clear()

    def until(self, condition, what):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self.carry()
            if answer := condition():
                return answer
            self.page.wait_for_timeout(20)
        raise AssertionError(f"not within {PATIENCE:g} s: {what}")

    def shown(self):
        return self.viewer.locator(".mpm-status").text_content()

    def control(self, key):
        return self.viewer.locator(f'[data-key="{key}"]')

    def part(self, name):
        return self.viewer.locator(f"[data-part={name}]")

    def keep(self, name):
        SCREENS.mkdir(parents=True, exist_ok=True)
        self.until(lambda: True, "")
        self.page.wait_for_timeout(100)
        self.viewer.screenshot(path=SCREENS / f"page_{name}.png")


@pytest.fixture
def opened(chromium):
    pages, troubles = [], []

    def show(source, width=1400, dark=False, **options):
        page = chromium.new_page(
            viewport={"width": width, "height": 1000}, color_scheme="dark" if dark else "light"
        )
        pages.append(page)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
        page.set_default_timeout(1000 * PATIENCE)
        return Page(page, source, **options)

    yield show
    for page in pages:
        page.close()
    assert not troubles


def test_a_body_is_set_and_reset(opened):
    """What the user of a snow program does: shape, position, size, velocity, resolution, parameters, then play."""
    page = opened(mpm.gallery.get("snowball").simulation(scale=0.5))
    page.control("body 0 shape").select_option("star")
    for key, value in (("body 0 x", "0.5"), ("body 0 size", "0.4"), ("body 0 vx", "-2"), ("dx", "0.025")):
        page.control(key).fill(value)
        page.control(key).press("Enter")
    page.control("transfer").select_option("apic")
    page.control("wall y-").select_option("sticky")
    page.control("material 0 hardening").fill("5")
    page.control("material 0 hardening").press("Enter")
    page.keep("set")
    page.viewer.get_by_role("button", name="Reset").click()
    page.until(lambda: page.session.simulation.dx == 0.025, "it is made anew")
    made = page.session.simulation
    (body,) = made.scene.bodies
    assert body.velocity[0] == -2 and made.scene.walls["y-"].contact == "sticky"
    assert made._numerics.transfer == "apic" and made.materials[0].hardening == 5
    low, high = body.shape.bounds
    assert abs((low + high)[0] / 2 - 0.5) < 1e-12 and abs((high - low).max() - 0.4) < 1e-12
    page.until(lambda: page.control("body 0 shape").input_value() == "star", "the list says what it is")
    assert page.viewer.locator(".mpm-changed").count() == 0
    page.viewer.get_by_role("button", name="Play").click()
    page.until(lambda: made.steps > 50, "it plays")
    page.keep("star")


def test_keys(opened):
    page = opened(mpm.gallery.get("jelly").simulation(scale=0.5))
    sim = page.session.simulation
    page.viewer.locator(".mpm-picture").click()
    page.page.keyboard.press("ArrowRight")
    page.until(lambda: sim.steps == 1 and "step 1 " in page.shown(), "a step is taken")
    page.page.keyboard.press(" ")
    page.until(lambda: sim.steps > 30 and "frames/s" in page.shown(), "it plays, and says how fast")
    page.page.keyboard.press(" ")
    page.until(lambda: not page.session.playing, "it pauses")
    page.page.keyboard.press("2")
    page.until(lambda: page.session._color == "pressure", "the second quantity is shown")
    page.page.keyboard.press("?")
    keys = page.viewer.locator(".mpm-keys")
    assert keys.is_visible() and "full screen" in keys.text_content()
    page.keep("keys")
    page.page.keyboard.press("Escape")
    assert not keys.is_visible()
    page.page.keyboard.press("f")
    page.page.wait_for_function("document.fullscreenElement !== null")
    page.page.keyboard.press("f")
    page.page.wait_for_function("document.fullscreenElement === null")
    page.control("dx").click()
    page.page.keyboard.press("r")  # it belongs to the field
    page.until(lambda: True, "")
    assert page.session.simulation is sim
    page.viewer.locator(".mpm-picture").click()
    page.page.keyboard.press("r")
    page.until(lambda: page.session.simulation is not sim, "it is reset")


@pytest.mark.parametrize(("width", "dark"), [(900, False), (1600, True)])
def test_colours_curves_and_pictures(opened, width, dark):
    page = opened(mpm.gallery.get("jelly").simulation(scale=0.5), width=width, dark=dark)
    page.viewer.get_by_label("Colour map").select_option("viridis")
    page.part("high").fill("3")
    page.part("high").press("Enter")
    page.until(
        lambda: page.session._scale.limits == (0, 3) and not page.session._scale.grows, "the scale is set"
    )
    page.viewer.get_by_label("Curve", exact=True).select_option("momentum")
    page.viewer.get_by_role("button", name="Play").click()
    page.until(lambda: page.session.simulation.steps > 60, "it plays")
    page.viewer.get_by_role("button", name="Pause").click()
    page.until(lambda: not page.session.playing, "it pauses")
    assert page.part("legend").text_content() == "momentum xmomentum y"
    page.keep(f"curves_{width}")
    with page.page.expect_download() as download:
        page.part("shot").click()
    from PIL import Image

    saved = Image.open(download.value.path()).convert("RGB")
    assert (
        saved.width > 300 and len(np.unique(np.asarray(saved.resize((64, 48))).reshape(-1, 3), axis=0)) > 30
    )
    assert download.value.suggested_filename.startswith("mpm-")
    saved.save(SCREENS / f"page_saved_{width}.png")
    page.part("high").fill("")
    page.part("low").fill("")
    page.part("low").press("Enter")
    page.until(lambda: page.session._scale.grows, "the scale is automatic")
    box = page.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert box[0] <= box[1]  # nothing sticks out


def test_a_recording_is_played(opened, tmp_path):
    sim = mpm.gallery.get("jelly").simulation(scale=0.5)
    with sim.record(tmp_path / "run.bgeo", fps=100, fields=("v",)):
        sim.run(0.2)
    page = opened(mpm.replay(tmp_path / "run.bgeo"))
    page.part("speed").select_option("4")
    page.part("loop").check()
    page.until(lambda: page.session._loops and page.session._speed == 4, "it is set")
    page.viewer.get_by_role("button", name="Play").click()
    seen = set()
    page.until(lambda: seen.add(page.session._recorded.index) or {0, 20} <= seen, "it plays")
    before = len(seen)
    page.until(lambda: seen.add(page.session._recorded.index) or page.session._recorded.index == 4, "again")
    assert page.session.playing and before > 2 and "frames/s" in page.shown()
    page.keep("replay")
