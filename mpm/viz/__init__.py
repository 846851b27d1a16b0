"""Pictures and movies. Needs the extras ``plot`` (Matplotlib, Pillow) and ``movie`` (ffmpeg)."""

from __future__ import annotations

from mpm.base import advice
from mpm.viz.curves import plot_history
from mpm.viz.figures import Picture, plot
from mpm.viz.isosurface import Surface
from mpm.viz.movie import MovieWriter, contact_sheet, movie, save_image
from mpm.viz.render import Renderer

__all__ = [
    "MovieWriter",
    "Picture",
    "Renderer",
    "Surface",
    "contact_sheet",
    "movie",
    "plot",
    "plot_history",
    "save_image",
]

__dir__, __getattr__ = advice.names_of_module(__name__, __all__)
