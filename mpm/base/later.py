"""Modules of higher floors, found by name when they are used.

A simulation has methods that draw it or show it in the viewer, and pictures and viewer know simulations. The lower of
two rooms finds the higher one here, so that imports go down only and ``import mpm`` takes nothing along.
"""

from __future__ import annotations

import importlib
from typing import Any


def module(name: str) -> Any:
    """The module of that name, such as ``"mpm.viewer"``."""
    return importlib.import_module(name)
