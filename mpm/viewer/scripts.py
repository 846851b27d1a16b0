"""The scripts that draw, as one module of JavaScript, and their style."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
SCRIPTS = (
    "picture.js",
    "eye.js",
    "bodies.js",
    "probe.js",
    "chart.js",
    "compare.js",
    "keys.js",
    "play.js",
    "screenshot.js",
    "view.js",
)  # one module when joined, in this order


def text(*names: str) -> str:
    """The contents of files of this folder, joined."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in names)
