"""The options that pictures and movies share: their types and defaults. `mpm.Simulation.plot` explains them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypedDict

Ink: TypeAlias = str | tuple[float, float, float]
Color: TypeAlias = str | tuple[float, float, float] | Mapping[str, Ink] | None
Camera: TypeAlias = str | tuple[float, float] | Mapping[str, Any]
Cameras: TypeAlias = Camera | Callable[[float], Camera] | None


class PictureOptions(TypedDict, total=False):
    """The arguments."""

    color: Color
    cmap: object
    limits: tuple[float, float] | None
    background: Ink | None
    camera: Cameras
    hide: str | Sequence[str]
    surface: bool | Mapping[str, Any]
    cut: Mapping[str, float] | None


DEFAULTS: PictureOptions = {
    "color": None,
    "cmap": None,
    "limits": None,
    "background": None,
    "camera": None,
    "hide": (),
    "surface": False,
    "cut": None,
}
