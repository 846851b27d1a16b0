"""Colour maps of the viewer: six colours each, evenly spaced."""

from __future__ import annotations

from mpm.viz.color import STOPS

PALETTES = {
    "mpm": STOPS,
    "viridis": ("440154", "414487", "2a788e", "22a884", "7ad151", "fde725"),
    "magma": ("000004", "3b0f70", "8c2981", "de4968", "fe9f6d", "fcfdbf"),
    "blue-red": ("2b4fa2", "7fa3d9", "d9dee6", "e6d3cc", "d98873", "a83232"),
    "grey": ("1c1c1c", "4a4a4a", "787878", "a5a5a5", "d2d2d2", "f5f5f5"),
}
