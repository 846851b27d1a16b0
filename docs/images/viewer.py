"""Makes viewer.png: the viewer as `python -m mpm view` shows it, photographed in a headless Chromium.

Needs the dependency group ``browser`` and Chromium: ``.venv-browser/bin/python docs/images/viewer.py [NAME [STEPS]]``.
"""

import io
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
PORT = 8967
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


def main(name="jelly", steps=560):
    """Play the scene for some steps, and keep a picture of it."""
    command = [sys.executable, "-m", "mpm", "view", name, "--no-browser", f"--port={PORT}"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            page = browser.new_page(viewport={"width": 1240, "height": 900})
            address = server.stdout.readline().split()[0]  # printed once it listens
            page.goto(address, wait_until="domcontentloaded")
            viewer = page.locator(".mpm-viewer")
            viewer.wait_for(timeout=60_000)
            viewer.get_by_role("button", name="Play").click()
            status = viewer.locator(".mpm-status")
            while int(status.text_content().partition("step ")[2].partition(" ")[0]) < steps:
                page.wait_for_timeout(100)
            viewer.get_by_role("button", name="Pause").click()
            page.wait_for_timeout(500)
            picture = Image.open(io.BytesIO(viewer.screenshot()))
            browser.close()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
    picture.convert("RGB").save(Path(__file__).with_suffix(".png"), optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
