"""The viewer in JupyterLab and behind `mpm view`, in a headless Chromium: buttons pressed, kernels asked, pixels seen.

Run by ``make browser``, in an environment of its own. Pictures of every step are left in ``out/screens``.
"""

import ast
import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.browser, pytest.mark.source]

ROOT = Path(__file__).resolve().parents[1]
SCREENS = ROOT / "out" / "screens"
PATIENCE = 60.0  # s, for what a slow machine may need; nothing waits longer than it has to
SIZE = {"width": 1400, "height": 1000}

JELLY = 'import mpm\nsim = mpm.gallery.get("jelly").simulation()\nview = sim.view()\nview'
BLOW_UP = (
    "import mpm\nentry = mpm.gallery.get('jelly')\nsim = entry.simulation(dt=1e-2)\nview = sim.view()\nview"
)
# A cell that runs before the kernel is there makes JupyterLab ask for one, in a dialog that nobody answers.
READY = """() => {
    const context = window.jupyterapp?.shell.currentWidget?.sessionContext, kernel = context?.session?.kernel;
    return Boolean(context?.isReady && kernel?.connectionStatus === "connected" && kernel.status === "idle");
}"""
# What has arrived is drawn at the next refresh of the screen.
DRAWN = """(patience) => new Promise((done, fail) => {
    requestAnimationFrame(() => requestAnimationFrame(done));
    setTimeout(() => fail(new Error("nothing is drawn")), patience);
})"""
CUBE = 'import mpm\nsim = mpm.gallery.get("cube").simulation(scale=0.5)\nview = sim.view()\nview'

# Only the collider moves.
PUSHED = """import mpm
scene = mpm.Scene((0, 0, 0), (1, 1, 1))
scene.add(mpm.shapes.Box((0.1, 0.1, 0.1), (0.3, 0.3, 0.3)), mpm.materials.FixedCorotated(E=1e5, nu=0.3, density=1000))
scene.add_collider(mpm.shapes.Ball((0.6, 0.6, 0.5), 0.2), motion=mpm.motion.Linear((0, 0, 1)), name="ball")
sim = mpm.Simulation(scene, dx=1 / 16, dt=1e-3)
view = sim.view()
view"""


def eventually(condition, what):
    """The first true answer; an error that says what did not happen if there is none in time."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(0.05)
    raise AssertionError(f"not within {PATIENCE:g} s: {what}")


@contextlib.contextmanager
def running(command, log, **options):
    """A process that writes to a file (a pipe that nobody reads would stop it), interrupted at the end as by a user."""
    with (
        log.open("wb") as file,
        subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, **options) as process,
    ):
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab with nobody's settings: its address, its folder, and where its kernels can be found."""
    home = tmp_path_factory.mktemp("lab")
    port = free_port()
    news = home / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    news.parent.mkdir(parents=True)
    news.write_text(json.dumps({"fetchNews": "false", "checkForUpdates": False}))
    folders = {
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_RUNTIME_DIR": "run",
    }
    environment = os.environ | {name: str(home / folder) for name, folder in folders.items()}
    environment |= {"PYTHONPATH": str(ROOT), "MPM_NUM_THREADS": "1"}
    (home / "work").mkdir()
    served = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"),
        *(f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token="),
    ]
    with running(served, home / "lab.log", cwd=home / "work", env=environment):
        yield f"http://127.0.0.1:{port}", home


def command(page, name, options="{}"):
    """Have JupyterLab do something, without waiting for it: some of its promises are never kept."""
    page.evaluate(f"void jupyterapp.commands.execute('{name}', {options})")


def new_page(chromium, **options):
    """A page whose every wait has an end."""
    page = chromium.new_page(viewport=SIZE, **options)
    page.set_default_timeout(1000 * PATIENCE)
    return page


def report(page, name, log):
    """What there was at the end: a picture in any case; dialogs and the server's last lines, shown of what failed."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENS / f"{name}_end.png")
    for dialog in page.locator("[role=dialog], dialog[open], .jp-Dialog").all_inner_texts():
        print(f"a dialog is open: {dialog!r}")
    print("".join(log.read_text(errors="replace").splitlines(keepends=True)[-30:]))


def end_kernel(page, address):
    """End a kernel through the server, which would start it again if it ended by itself."""
    token = next(cookie["value"] for cookie in page.context.cookies() if cookie["name"] == "_xsrf")
    page.request.delete(address, headers={"X-XSRFToken": token})


class Notebook:
    """A page with a notebook that shows a viewer, and the kernel behind it."""

    def __init__(self, page, kernel, name):
        self.page, self.kernel, self.name, self.pictures = page, kernel, name, 0
        self.viewer = page.locator(".mpm-viewer")

    def press(self, label):
        self.viewer.get_by_role("button", name=label, exact=True).click()

    def ask(self, expression):
        """Its value in the kernel."""
        reply = self.kernel.execute("", user_expressions={"it": expression}, reply=True, timeout=PATIENCE)
        answer = reply["content"]["user_expressions"]["it"]
        assert answer["status"] == "ok", answer
        return ast.literal_eval(answer["data"]["text/plain"])

    @property
    def steps(self):
        return self.ask("view.simulation.steps")

    def shown(self):
        """What the line below the picture says."""
        return self.viewer.locator(".mpm-status").text_content()

    def sees(self, text):
        eventually(lambda: text in self.shown(), f"{text!r} is shown")

    def rest(self):
        """Wait until what the kernel has is on the screen."""
        self.sees(f"step {self.steps} ")

    def keep(self):
        """A picture of the whole viewer, as a file."""
        self.pictures += 1
        SCREENS.mkdir(parents=True, exist_ok=True)
        self.viewer.screenshot(path=SCREENS / f"{self.name}_{self.pictures}.png")

    def pixels(self):
        """The picture as it is on the screen, (height, width, 3)."""
        from PIL import Image

        self.page.evaluate(DRAWN, 1000 * PATIENCE)
        data = self.viewer.locator(".mpm-picture").screenshot()
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def changed(a, b):
    """How many pixels differ clearly."""
    return int((np.abs(a - b).max(axis=2) > 8).sum())


@pytest.fixture
def notebook(chromium, lab, request):
    """Opens a notebook of one cell and runs it."""
    address, home = lab
    stack = contextlib.ExitStack()

    def open_notebook(code, **options):
        from jupyter_client import BlockingKernelClient

        name = request.node.name.removeprefix("test_")
        cell = {"cell_type": "code", "id": "one", "metadata": {}, "outputs": [], "execution_count": None}
        document = {"cells": [cell | {"source": code}], "nbformat": 4, "nbformat_minor": 5}
        document["metadata"] = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        (home / "work" / f"{name}.ipynb").write_text(json.dumps(document))
        before = set(home.glob("run/kernel-*.json"))
        page = new_page(chromium, **options)
        stack.callback(page.close)
        stack.callback(report, page, name, home / "lab.log")
        troubles, strangers = [], []
        # JupyterLab itself throws away questions to a kernel when a page is reloaded or the kernel ends.
        page.on(
            "pageerror",
            lambda error: None if str(error).startswith("Canceled future") else troubles.append(str(error)),
        )
        page.on(
            "request",
            lambda sent: (
                None if sent.url.startswith((address, "data:", "blob:")) else strangers.append(sent.url)
            ),
        )
        stack.callback(lambda: pytest.fail(f"{troubles} {strangers}") if troubles or strangers else None)

        def opens():
            with contextlib.suppress(Exception):
                return page.goto(f"{address}/lab/tree/{name}.ipynb?reset")

        eventually(opens, "JupyterLab answers")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        eventually(lambda: page.evaluate(READY), "the kernel is ready")
        command(page, "application:toggle-left-area")
        command(page, "notebook:run-all-cells")
        eventually(lambda: page.locator(".mpm-picture").count(), "the viewer is shown")
        (file,) = set(home.glob("run/kernel-*.json")) - before
        kernel = BlockingKernelClient(connection_file=str(file))
        kernel.load_connection_file()
        kernel.start_channels()
        stack.callback(kernel.stop_channels)
        stack.callback(end_kernel, page, f"{address}/api/kernels/{file.stem.removeprefix('kernel-')}")
        found = Notebook(page, kernel, name)
        found.sees("step 0 ")
        return found

    with stack:
        yield open_notebook


# --- JupyterLab --------------------------------------------------------------------------------------------------


def test_play_pause_and_step(notebook):
    book = notebook(JELLY)
    first = book.pixels()
    book.press("Play")
    eventually(lambda: book.steps >= 60, "the simulation runs")  # the kernel answers while it plays
    book.press("Pause")
    book.rest()
    played, steps = book.pixels(), book.steps
    assert changed(first, played) > 500
    book.keep()
    assert book.ask("view.playing") is False
    assert changed(played, book.pixels()) == 0 and book.steps == steps
    # The card of a particle, in spite of the notebook's rules for lists.
    picture = book.viewer.locator(".mpm-picture")
    box = picture.bounding_box()
    scale = 0.93 * min(box["width"], box["height"])
    x, y = book.ask("sim.particles.x[-1].tolist()")
    at = (box["width"] / 2 + scale * (x - 0.5), box["height"] / 2 - scale * (y - 0.5))
    picture.hover(position={"x": at[0], "y": at[1]})
    card = book.viewer.locator(".mpm-card")
    card.wait_for(state="visible")
    beside = card.bounding_box()
    assert beside["width"] < 0.4 * box["width"] and beside["height"] < 140
    gaps = (beside["x"] - box["x"] - at[0], at[0] - (beside["x"] - box["x"] + beside["width"]))
    assert 0 < max(gaps) < 40
    book.keep()
    book.page.mouse.move(1, 1)
    book.press("Step")
    book.sees(f"step {steps + 1} ")
    assert book.steps == steps + 1 and book.ask("sim.steps") == steps + 1
    shown = float(book.shown().split()[2])
    assert shown == pytest.approx(book.ask("view.simulation.time"), rel=1e-3)
    # The bits are those of a run that nobody looked at.
    assert book.ask(
        "(lambda other: (other.step(sim.steps), other.state_hash() == sim.state_hash())[1])"
        "(mpm.gallery.get('jelly').simulation())"
    )


def test_a_parameter_and_reset(notebook):
    book = notebook(JELLY)
    first = book.pixels()
    gravity = book.viewer.get_by_label("gy", exact=True)
    gravity.fill("-50")
    gravity.press("Enter")
    eventually(
        lambda: book.ask("sim.scene.gravity[1].item()") == -50, "the run has another gravity"
    )  # at once
    height = book.viewer.locator('[data-key="body 1 y"]')
    height.fill("0.6")
    height.press("Enter")
    stiffness = book.viewer.get_by_label("E", exact=True)
    stiffness.fill("2e5")
    stiffness.press("Enter")
    book.press("Play")
    eventually(lambda: book.steps >= 30, "the simulation runs")
    assert book.ask("[change.name for change in sim.changes]") == ["gravity.y", "jelly.E"]
    bottom = "view.simulation.scene.bodies[1].shape.bounds[0][1].item()"
    before = book.ask(bottom)
    book.press("Reset")
    book.sees("step 0 ")
    assert book.steps == 0 and book.ask("sim.steps") >= 30
    assert book.ask("view.simulation.scene.gravity[1].item()") == -50
    assert book.ask("view.simulation.materials[1].E") == 2e5
    assert book.ask(bottom) > before + 0.05  # from the reset on
    assert changed(first, book.pixels()) > 500
    # What is not allowed is said, and nothing changes.
    stiffness.fill("-1")
    stiffness.press("Enter")
    alert = book.viewer.get_by_role("alert")
    alert.wait_for(state="visible")
    book.keep()
    assert "E = -1" in alert.text_content() and "must be > 0" in alert.text_content()
    eventually(lambda: stiffness.input_value() == "200000", "the field shows what holds")
    book.press("Dismiss")
    assert alert.is_hidden()


def test_colours_and_velocities(notebook):
    book = notebook(JELLY)
    for _ in range(3):
        book.press("Step")
    book.sees("step 3 ")
    plain = book.pixels()
    for label in ("Grid velocities", "Particle velocities"):
        tick = book.viewer.get_by_label(label)
        tick.check()
        eventually(lambda: changed(plain, book.pixels()) > 300, f"{label} are drawn")
        book.keep()
        tick.uncheck()
        eventually(lambda: changed(plain, book.pixels()) == 0, f"{label} are gone")
    book.viewer.get_by_label("Colour", exact=True).select_option(label="material")
    eventually(lambda: changed(plain, book.pixels()) > 2000, "the colours change")
    assert book.viewer.locator(".mpm-scale b").text_content() == "material"
    assert book.steps == 3


def test_record_load_scrub_and_replay(notebook):
    book = notebook(JELLY)
    book.viewer.get_by_label("Colour", exact=True).select_option(
        label="id"
    )  # whose scale is the same for all frames
    book.viewer.get_by_label("Frames per second").fill("400")
    book.press("Record")
    book.press("Play")
    eventually(lambda: book.steps >= 100, "the simulation runs")
    book.press("Pause")
    book.press("Stop")
    eventually(lambda: book.ask("view._session._recording is None"), "the recording ends")
    book.rest()
    live, steps = book.pixels(), book.steps
    book.press("Load")
    eventually(lambda: book.ask("view.replay is not None"), "the replay is shown")
    count = book.ask("len(view.replay)")
    assert count > 10
    book.sees("step 0 ")
    start = book.pixels()
    assert changed(live, start) > 500
    book.keep()
    timeline = book.viewer.get_by_label("Timeline")
    timeline.fill(str(count - 1))
    book.sees(f"step {book.ask('int(view.replay.steps[-1])')} ")
    assert changed(start, book.pixels()) > 500
    book.keep()
    assert book.viewer.get_by_label("Frame", exact=True).input_value() == str(count)
    timeline.fill("0")
    book.sees("step 0 ")
    assert changed(start, book.pixels()) == 0
    book.press("Play")
    eventually(lambda: timeline.input_value() == str(count - 1), "the replay plays to its end")
    eventually(lambda: not book.ask("view.playing"), "and stops there")
    book.press("Simulation")
    book.sees(f"step {steps} ")
    assert changed(live, book.pixels()) == 0 and book.steps == steps


def test_an_error_is_shown_and_the_kernel_lives(notebook):
    book = notebook(BLOW_UP)
    book.press("Play")
    alert = book.viewer.get_by_role("alert")
    alert.wait_for(state="visible")
    assert "InstabilityError" in alert.text_content()
    assert book.ask("1 + 1") == 2 and book.ask("view.playing") is False and book.steps == 0
    book.keep()
    step = book.viewer.get_by_label("dt", exact=True)
    step.fill("")
    step.press("Enter")
    book.press("Reset")
    book.press("Step")
    book.sees("step 1 ")
    assert alert.is_hidden() and book.steps == 1


def test_colliders_in_space(notebook):
    book = notebook(PUSHED)
    first = book.pixels()
    book.keep()
    for k in range(1, 31):
        book.press("Step")
        book.sees(f"step {k} ")
    moved = book.pixels()
    book.keep()
    assert changed(first, moved) > 1000  # the lines along the ball
    book.press("Reset")
    book.sees("step 0 ")
    assert changed(first, book.pixels()) == 0


def test_turning_and_zooming_in_the_dark(notebook):
    book = notebook(CUBE)
    bright = book.pixels()
    command(book.page, "apputils:change-theme", "{theme: 'JupyterLab Dark'}")
    eventually(lambda: book.pixels().mean() < 80 < bright.mean(), "the picture follows the theme")
    place = book.viewer.locator(".mpm-picture").bounding_box()
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    plain, mouse = book.pixels(), book.page.mouse
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 90, y + 30, steps=4)
    mouse.up()
    turned = book.pixels()
    book.keep()
    assert changed(plain, turned) > 2000
    mouse.wheel(0, -400)
    eventually(lambda: changed(turned, book.pixels()) > 2000, "the wheel zooms")
    book.keep()
    mouse.dblclick(x, y)
    mouse.move(place["x"] - 20, y)  # what is under the pointer is told
    eventually(lambda: changed(plain, book.pixels()) == 0, "a double click shows everything as it was")
    assert book.steps == 0


def test_a_kernel_that_restarts_and_a_page_that_is_reloaded(notebook, lab):
    book = notebook(JELLY)
    line = book.viewer.locator(".mpm-line")
    book.press("Step")
    book.sees("step 1 ")
    assert line.is_hidden()
    command(book.page, "docmanager:save")
    eventually(lambda: "widget-view" in (lab[1] / "work" / f"{book.name}.ipynb").read_text(), "it is saved")
    book.page.reload()
    eventually(lambda: book.viewer.count() and "step 1 " in (book.shown() or ""), "the run is shown again")
    book.press("Step")
    book.sees("step 2 ")
    assert book.steps == 2 and line.is_hidden()
    # One that dies, and is started again by the server; and one that the user restarts.
    for end in (
        lambda: os.kill(book.ask("__import__('os').getpid()"), signal.SIGKILL),
        lambda: book.page.evaluate(
            "void jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
        ),
    ):
        end()
        eventually(line.is_visible, "the page says that the kernel has gone")
        assert "run the cell again" in line.text_content()
        book.keep()
        book.page.wait_for_timeout(1000)
        with contextlib.suppress(Exception):
            book.page.locator("dialog[open] button, .jp-Dialog button").last.click(timeout=1000)
        eventually(lambda: book.page.evaluate(READY), "the kernel is ready")
        command(book.page, "notebook:run-all-cells")
        eventually(lambda: line.count() == 1 and line.is_hidden() and "step 0 " in book.shown(), "a new run")
        book.press("Step")
        book.sees("step 1 ")
