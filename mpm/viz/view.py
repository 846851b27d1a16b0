"""The words for cameras: where pictures of a scene are seen from.

A camera is a name, two angles, a mapping, or a function of time that returns one of these; `check_camera` makes a
function of time of it. Pictures are parallel projections, so that equal lengths look equal, unless a camera has an
angle of view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.scene.scene import Scene

NAMES = {
    "iso": (-56.0, 18.0),
    "front": (-90.0, 0.0),
    "back": (90.0, 0.0),
    "left": (180.0, 0.0),
    "right": (0.0, 0.0),
    "top": (-90.0, 90.0),
    "bottom": (-90.0, -90.0),
}
"""Azimuth and elevation [degrees] by name."""

KEYS = ("view", "azimuth", "elevation", "eye", "target", "zoom", "spin", "fov")
PLANE_KEYS = ("target", "zoom")
ZOOM = (0.01, 1000.0)
FOV = (1.0, 120.0)  # degrees


@dataclass(frozen=True, slots=True)
class View:
    """Where a camera is.

    Attributes
    ----------
    azimuth, elevation : float
        [degrees] of the direction towards the camera: around the vertical, from the first of the horizontal axes to
        the second; and above the horizon.
    zoom : float
        1: the whole domain fits the picture.
    target : ndarray, shape (d,), or None
        What is in the middle of the picture [m]; None: the domain.
    steady : bool
        Whether the scale is that of all azimuths, so that it stays while the camera moves.
    fov : float
        Of a picture in perspective the angle that it spans, vertically [degrees]; 0: a parallel projection.
    distance : float or None
        In perspective, from the eye to the target [m]; None: as far as the domain needs.
    """

    azimuth: float = NAMES["iso"][0]
    elevation: float = NAMES["iso"][1]
    zoom: float = 1.0
    target: FloatArray | None = None
    steady: bool = False
    fov: float = 0.0
    distance: float | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, View):
            return NotImplemented
        mine, theirs = self._numbers(), other._numbers()
        return mine == theirs

    def __hash__(self) -> int:
        return hash(self._numbers())

    def _numbers(self) -> tuple[Any, ...]:
        target = None if self.target is None else tuple(self.target)
        return self.azimuth, self.elevation, self.zoom, target, self.steady, self.fov, self.distance


def check_camera(camera: object, scene: Scene) -> Callable[[float], View]:
    """The view of a scene by time [s]; `moves` tells whether it changes."""
    if callable(camera):
        given = camera

        def moving(time: float) -> View:
            made = given(time)
            if callable(made):
                raise _check.wrong_type("camera(t)", made, "a name, angles or a mapping")
            return replace(_view("camera(t)", made, scene)(time), steady=True)

        moving(0.0)
        return Moving(moving)
    return _view("camera", camera, scene)


class Moving:
    """A view that changes with time."""

    def __init__(self, view: Callable[[float], View]) -> None:
        self._view = view

    def __call__(self, time: float) -> View:
        """The view at a time [s]."""
        return self._view(time)


def moves(view: Callable[[float], View]) -> bool:
    """Whether a view changes with time."""
    return isinstance(view, Moving)


def _view(name: str, camera: object, scene: Scene) -> Callable[[float], View]:
    if camera is None:
        view = View()
        return lambda time: view
    keys = KEYS if scene.dimension == 3 else PLANE_KEYS
    example = '"top", (-56, 18) or {"azimuth": 30, "zoom": 2}'
    if isinstance(camera, Mapping):
        return _mapped(name, camera, scene, keys)
    if scene.dimension == 2:
        plane = '{"target": (0.5, 0.2), "zoom": 2}'
        raise _wrong(name, camera, f"a mapping such as {plane} in 2-D: the plane is seen from the front")
    if isinstance(camera, str):
        angles = NAMES[_check.choice(name, camera, tuple(NAMES))]
        named = View(*angles)
        return lambda time: named
    if isinstance(camera, (tuple, list, np.ndarray)) and np.shape(camera) == (2,):
        aimed = View(*_angles(name, *_check.array(name, camera, (2,)).tolist()))
        return lambda time: aimed
    raise _wrong(
        name, camera, f"a name, (azimuth, elevation) in degrees, a mapping or a function of time: {example}"
    )


def _wrong(name: str, value: object, expected: str) -> Exception:
    kind = ValueError if isinstance(value, (str, tuple, list, np.ndarray)) else TypeError
    return kind(f"{name} = {_check.shown(value)}: must be {expected}")


def _angles(name: str, azimuth: object, elevation: object) -> tuple[float, float]:
    turn = _check.number(f"{name}: azimuth", azimuth, low=-1e6, high=1e6, unit="degrees")
    return turn, _check.number(f"{name}: elevation", elevation, low=-90, high=90, unit="degrees")


def _mapped(
    name: str, camera: Mapping[Any, Any], scene: Scene, keys: tuple[str, ...]
) -> Callable[[float], View]:
    for key in camera:
        _check.choice(f"key of {name}", key, keys)
    several = [key for key in ("view", "eye", "azimuth") if key in camera]
    if len(several) > 1 or (("eye" in camera or "view" in camera) and "elevation" in camera):
        raise ValueError(
            f"{name} = {_check.shown(dict(camera))}: must have one of 'view', 'eye' and the angles"
        )
    zoom = _check.number(f"{name}['zoom']", camera.get("zoom", 1.0), low=ZOOM[0], high=ZOOM[1])
    target = camera.get("target")
    if target is not None:
        target = _check.frozen(_check.array(f"{name}['target']", target, (scene.dimension,)))
        around = float((scene.upper - scene.lower).max()) / min(zoom, 1.0)
        low, high = scene.lower - around, scene.upper + around
        if not ((target >= low) & (target <= high)).all():
            shown = _check.shown(tuple(target.tolist()))
            raise ValueError(
                f"{name}['target'] = {shown}: must be >= {tuple(low.tolist())} and <= {tuple(high.tolist())} [m]: the "
                "picture would be empty"
            )
    fov, distance = 0.0, None
    if "fov" in camera:
        fov = _check.number(f"{name}['fov']", camera["fov"], low=0, high=FOV[1], unit="degrees")
        if 0 < fov < FOV[0]:
            raise ValueError(
                f"{name}['fov'] = {fov:g}: must be 0, a parallel projection, or >= {FOV[0]:g} and <= {FOV[1]:g} degrees"
            )
    if "eye" in camera:
        eye = _check.array(f"{name}['eye']", camera["eye"], (3,))
        aim = (scene.lower + scene.upper) / 2 if target is None else target
        angles = _seen_from(name, eye, aim, scene)
        distance = float(np.linalg.norm(eye - aim)) if fov else None
    elif "view" in camera:
        angles = NAMES[_check.choice(f"{name}['view']", camera["view"], tuple(NAMES))]
    else:
        angles = _angles(
            name, camera.get("azimuth", NAMES["iso"][0]), camera.get("elevation", NAMES["iso"][1])
        )
    view = View(*angles, zoom, target, fov=fov, distance=distance)
    spin = _check.number(f"{name}['spin']", camera.get("spin", 0.0), low=-1e6, high=1e6, unit="degrees/s")
    if not spin:
        return lambda time: view
    return Moving(lambda time: replace(view, azimuth=view.azimuth + spin * time, steady=True))


def _seen_from(name: str, eye: FloatArray, target: FloatArray, scene: Scene) -> tuple[float, float]:
    """Azimuth and elevation of the direction from the target to the eye."""
    order, sign = upright(scene.gravity)
    x, y, z = (eye - target)[list(order)]
    if not np.any(eye - target):
        raise ValueError(f"{name}: eye and target are both {tuple(eye.tolist())}: must be apart")
    level = float(np.hypot(x, y))
    turn = float(np.degrees(np.arctan2(y, x))) if level else NAMES["top"][0]
    return turn, float(np.degrees(np.arctan2(sign * z, level)))


def upright(gravity: FloatArray) -> tuple[tuple[int, int, int], int]:
    """The axes of space with up last, and the sign of up along it: against gravity along an axis, else the last."""
    up = int(np.argmax(np.abs(gravity))) if np.count_nonzero(gravity) == 1 else 2
    return ((1, 2, 0), (2, 0, 1), (0, 1, 2))[up], -1 if gravity[up] > 0 else 1
