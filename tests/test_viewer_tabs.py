"""`python -m mpm view` in a headless Chromium: pages that are hidden, reloaded, doubled, and left by their server.

Run by ``make browser``.
"""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import mpm
from test_browser import eventually, free_port, new_page, report, running

pytestmark = [pytest.mark.browser, pytest.mark.source]

ROOT = Path(__file__).resolve().parents[1]
# A server whose token is chosen, and which is the same after a new start.
AGAIN = """
import mpm, sys
from pathlib import Path
from mpm.commands import view as app
from mpm.viewer import server
from mpm.viewer.hub import Hub
hub = Hub()
hub.session = app.made(hub, "disks", folder=Path("."), method="mpm")
server.run(hub, port=int(sys.argv[1]), token=sys.argv[2], opened=lambda: print("listens", flush=True))
"""
HIDE = """(hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "MPM_NUM_THREADS": "1"}


class Tab:
    """A page that shows what a server runs."""

    def __init__(self, page):
        self.page = page
        self.troubles = []
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.viewer = page.locator(".mpm-viewer")

    def opens(self, address):
        self.page.goto(address, wait_until="domcontentloaded")
        self.sees("particles")

    @property
    def said(self):
        return self.viewer.locator(".mpm-status").text_content() or ""

    @property
    def steps(self):
        found = re.search(r"step (\d+)", self.said)
        return int(found[1]) if found else -1

    def sees(self, text):
        eventually(lambda: text in self.said, f"{text!r} is shown, not {self.said!r}")

    @property
    def line(self):
        """What the page says of its line to the server; nothing when all is well."""
        line = self.viewer.locator(".mpm-line")
        return line.text_content() if line.is_visible() else ""

    def press(self, name):
        self.viewer.get_by_role("button", name=name, exact=True).click()


@pytest.fixture
def tabs(chromium):
    """Opens pages that share their cookies, as tabs do."""
    context = chromium.new_context(viewport={"width": 1200, "height": 900})
    context.set_default_timeout(60_000)
    opened = []

    def new():
        opened.append(Tab(context.new_page()))
        return opened[-1]

    yield new
    troubles = [tab.troubles for tab in opened]
    context.close()
    assert not any(troubles)


@pytest.fixture
def served(tmp_path):
    """The address of `mpm view disks`, and its process."""
    log = tmp_path / "view.log"
    command = [sys.executable, "-m", "mpm", "view", "disks", "--no-browser", f"--port={free_port()}"]
    with running(command, log, cwd=tmp_path, env=ENVIRONMENT) as process:
        yield eventually(lambda: re.search(r"http\S+token=\w+", log.read_text()), "it listens")[0], process
    assert process.returncode == 0, log.read_text()
    assert "Traceback" not in log.read_text()


def test_a_reload_shows_the_run_that_is_under_way(tabs, served):
    tab = tabs()
    tab.opens(served[0])
    tab.press("Play")
    eventually(lambda: tab.steps > 50, "it runs")
    tab.page.reload()
    eventually(lambda: tab.steps > 50, "the run is shown again")
    before = tab.steps
    eventually(lambda: tab.steps > before + 50, "and goes on")
    tab.press("Pause")
    tab.page.goto(served[0].partition("?")[0])  # the cookie is enough
    eventually(lambda: tab.steps >= before + 50, "paused, as it was left")
    assert tab.viewer.get_by_role("button", name="Play").is_enabled()


def test_a_hidden_page_asks_for_no_frame_and_goes_on_when_shown(tabs, served):
    tab = tabs()
    tab.opens(served[0])
    tab.press("Play")
    eventually(lambda: tab.steps > 50, "it runs")
    tab.page.evaluate(HIDE, True)
    tab.page.wait_for_timeout(300)
    rests = tab.steps
    tab.page.wait_for_timeout(700)
    assert tab.steps == rests
    tab.page.evaluate(HIDE, False)
    eventually(lambda: tab.steps > rests + 50, "it goes on")


def test_two_tabs_show_the_same_and_either_has_the_controls(tabs, served):
    first, second = tabs(), tabs()
    first.opens(served[0])
    assert "pages" not in first.said
    second.opens(served[0])
    first.sees("shown by 2 pages")
    first.press("Play")
    eventually(lambda: second.steps > 50, "the other tab follows")
    second.press("Pause")
    eventually(lambda: first.viewer.get_by_role("button", name="Play").is_enabled(), "either pauses")
    eventually(lambda: first.steps == second.steps, "both show the same")
    # A hidden tab holds nobody up, and then shows what is there.
    first.page.evaluate(HIDE, True)
    rests = first.steps
    second.press("Play")
    eventually(lambda: second.steps > rests + 100, "it runs for the tab that is seen")
    assert first.steps <= rests + 30
    second.press("Pause")
    first.page.evaluate(HIDE, False)
    eventually(lambda: first.steps == second.steps, "the newest is shown")
    second.page.close()
    first.press("Step")
    eventually(lambda: "pages" not in first.said, "one is left")


def start(port, token, log, folder):
    environment = ENVIRONMENT
    file = log.open("ab")
    process = subprocess.Popen(
        [sys.executable, "-c", AGAIN, str(port), token], cwd=folder, env=environment, stdout=file, stderr=file
    )
    file.close()
    return process


def end(process, number=signal.SIGTERM):
    process.send_signal(number)
    process.wait(timeout=60)


def test_a_server_that_is_gone_and_comes_back(tabs, tmp_path):
    port, log = free_port(), tmp_path / "log"
    process = start(port, "a" * 48, log, tmp_path)
    try:
        eventually(lambda: "listens" in log.read_text(), "it listens")
        tab = tabs()
        tab.opens(f"http://127.0.0.1:{port}/?token={'a' * 48}")
        tab.press("Step")
        tab.sees("step 1 ")
        assert tab.line == ""
        end(process, signal.SIGKILL)
        eventually(lambda: "does not answer" in tab.line, "the page says so")
        assert tab.viewer.locator(".mpm-grid").evaluate("(grid) => grid.inert")
        process = start(port, "a" * 48, log, tmp_path)
        eventually(lambda: tab.line == "", "it is back")
        tab.sees("step 0 ")  # of a new process
        tab.press("Step")
        tab.sees("step 1 ")
        end(process)
        eventually(lambda: "does not answer" in tab.line, "it is gone again")
        process = start(port, "b" * 48, log, tmp_path)
        eventually(lambda: "no longer valid" in tab.line, "another token: the page says so")
        tab.page.reload()
        assert "not valid" in tab.page.locator("body").text_content()
        tab.opens(f"http://127.0.0.1:{port}/?token={'b' * 48}")
    finally:
        end(process)
    assert "Traceback" not in log.read_text()


class Tunnel:
    """Carries bytes between a port and another, and can be cut, as those of ssh are."""

    def __init__(self, port):
        self.listener, self.to, self.ends, self.threads = socket.create_server(("127.0.0.1", 0)), port, [], []
        self.port = self.listener.getsockname()[1]
        self.start(self.accept)

    def start(self, action, *arguments):
        self.threads.append(threading.Thread(target=action, args=arguments, daemon=True))
        self.threads[-1].start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                one, _ = self.listener.accept()
                other = socket.create_connection(("127.0.0.1", self.to))
                self.ends += [one, other]
                self.start(self.carry, one, other)
                self.start(self.carry, other, one)

    def carry(self, a, b):
        with contextlib.suppress(OSError):
            while data := a.recv(1 << 16):
                b.sendall(data)
        self.shut(a, b)

    def shut(self, *ends):
        for one in ends:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def cut(self):
        self.shut(*self.ends)

    def close(self):
        self.shut(self.listener, *self.ends)
        for thread in self.threads:
            thread.join(10)
        for one in (self.listener, *self.ends):
            one.close()


def test_a_line_that_breaks_is_taken_up_again(tabs, served):
    found = re.search(r":(\d+)/\?token=(\w+)", served[0])
    with contextlib.closing(Tunnel(int(found[1]))) as tunnel:
        tab = tabs()
        tab.opens(f"http://127.0.0.1:{tunnel.port}/?token={found[2]}")
        tab.press("Play")
        eventually(lambda: tab.steps > 50, "it runs")
        tunnel.cut()
        before = tab.steps
        eventually(lambda: tab.steps > before + 50 and tab.line == "", "the same run goes on")


def test_the_gallery_without_a_notebook(chromium, tmp_path):
    log = tmp_path / "view.log"
    port = free_port()
    command = [sys.executable, "-m", "mpm", "view", "disks", "--no-browser", f"--port={port}"]
    with running(command, log, cwd=tmp_path, env=ENVIRONMENT) as process, contextlib.ExitStack() as ends:
        page = new_page(chromium)
        ends.callback(page.close)
        ends.callback(report, page, "gallery", log)
        said = eventually(lambda: re.search(r"http\S+token=\w+", log.read_text()), "it listens")
        page.goto(said[0], wait_until="domcontentloaded")
        viewer = page.locator(".mpm-viewer")
        viewer.wait_for()
        status = viewer.locator(".mpm-status")
        count = len(mpm.gallery.get("disks").simulation().particles)
        eventually(lambda: f"{count:,} particles" in (status.text_content() or ""), "the disks are shown")
        viewer.get_by_label("Scene").select_option("jelly")
        eventually(lambda: "3,904 particles" in status.text_content(), "another scene is shown")
        viewer.get_by_role("button", name="Play").click()
        eventually(lambda: int(status.text_content().split()[6]) > 50, "it runs")
        viewer.get_by_role("button", name="Pause").click()
        alert = viewer.get_by_role("alert")
        viewer.get_by_label("File").first.fill("../a.vtkhdf")
        viewer.get_by_role("button", name="Record").click()
        eventually(lambda: "must lie below the folder" in (alert.text_content() or ""), "it is refused")
        viewer.get_by_role("button", name="Dismiss").click()
        viewer.get_by_label("File").first.fill("a.vtkhdf")
        viewer.get_by_role("button", name="Record").click()
        viewer.get_by_role("button", name="Stop").click()
        eventually(lambda: "Saved a.vtkhdf" in viewer.text_content(), "it is recorded")
        strange = new_page(chromium)
        ends.callback(strange.close)
        strange.goto(f"http://127.0.0.1:{port}/", wait_until="domcontentloaded")
        assert "not valid" in strange.content() and not strange.locator(".mpm-viewer").count()
    assert process.returncode == 0 and (tmp_path / "a.vtkhdf").is_file()
