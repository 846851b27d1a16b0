"""Modules of higher floors, found by name when they are used.

A simulation has methods that draw it or show it in the viewer, and pictures and viewer know simulations. The lower of
two rooms finds the higher one here, so that imports go down only and ``import mpm`` takes nothing along.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol


def module(name: str) -> Any:
    """The module of that name, such as ``"mpm.viewer"``."""
    return importlib.import_module(name)


class Viewer(Protocol):
    """What users see of `mpm.viewer.widget.Viewer`, the widget that ``view()`` returns."""

    @property
    def simulation(self) -> Any:
        """The simulation as it is now: after a reset a new one. None where a replay was given."""

    @property
    def replay(self) -> Any:
        """The replay that is shown, if it is one."""

    @property
    def playing(self) -> bool:
        """Whether frame follows frame."""

    def play(self) -> None:
        """Like the button: frame follows frame, as fast as they are drawn, between the cells of a notebook."""

    def pause(self) -> None:
        """Like the button."""

    def step(self) -> None:
        """Like the button: one time step of a simulation, one frame of a replay."""

    def reset(self) -> None:
        """Like the button: a new simulation with the settings as they are shown, or the replay's first frame."""

    def close(self) -> None:
        """End a recording that is under way, and the widget."""


def view(source: Any) -> Viewer:
    """`mpm.view` of a simulation or a replay."""
    viewer: Viewer = module("mpm.viewer").view(source)
    return viewer
