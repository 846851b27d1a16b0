"""Shape, position, size and initial velocity of bodies as settings of the viewer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mpm import shapes
from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.base.setting import Setting
from mpm.scene.scene import Body, Scene
from mpm.shapes.shape import Shape

MOST = 12  # bodies: a longer list would hide the other settings
AS_GIVEN = "as given"
POINTS = 5  # of the star
LATTICE = 32  # points a side: where shapes are compared


def _star() -> Shape:
    angle = np.pi / 2 + np.pi / POINTS * np.arange(2 * POINTS)
    radius = np.where(np.arange(2 * POINTS) % 2, 0.45, 1.0)
    return shapes.Polygon(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))


# Of any place and size: they are fitted to the body.
FLAT: dict[str, Callable[[], Shape]] = {
    "box": lambda: shapes.Box((-1, -1), (1, 1)),
    "ball": lambda: shapes.Ball((0, 0), 1),
    "triangle": lambda: shapes.Polygon([(-1, 0), (1, 0), (0, np.sqrt(3))]),
    "ring": lambda: shapes.Ball((0, 0), 1) - shapes.Ball((0, 0), 0.5),
    "star": _star,
}
SPATIAL: dict[str, Callable[[], Shape]] = {
    "box": lambda: shapes.Box((-1, -1, -1), (1, 1, 1)),
    "ball": lambda: shapes.Ball((0, 0, 0), 1),
    "cylinder": lambda: shapes.Cylinder((0, 0, -1), (0, 0, 1), 1),
}


def of(scene: Scene) -> list[Setting]:
    """The settings of all bodies; none of bodies without end, or of very many."""
    return [
        setting
        for number, body in enumerate(scene.bodies)
        if len(scene.bodies) <= MOST and np.isfinite(body.shape.bounds).all()
        for setting in _of_body(number, body)
    ]


def _of_body(number: int, body: Body) -> list[Setting]:
    axes, key, group = "xyz"[: body.shape.dimension], f"body {number}", f"Body · {body.name}"
    centre, size = _placed(body.shape)
    kind, kinds = _kind(body.shape), tuple(_kinds(body.shape))
    found = [
        Setting(
            f"{key} shape",
            group,
            "shape",
            "",
            kind,
            choices=kinds if kind in kinds else (AS_GIVEN, *kinds),
            meaning="another shape has the same centre and size",
        )
    ]
    found += [
        Setting(f"{key} {axis}", group, axis, "m", float(value), meaning="centre of the shape's bounds")
        for axis, value in zip(axes, centre, strict=True)
    ]
    longest = "longest side of the shape's bounds"
    found.append(Setting(f"{key} size", group, "size", "m", size, low=0, low_open=True, meaning=longest))
    if not callable(body.velocity):
        found += [
            Setting(f"{key} v{axis}", group, f"v{axis}", "m/s", float(value), meaning="initial velocity")
            for axis, value in zip(axes, body.velocity, strict=True)
        ]
    return found


def changed(body: Body, number: int, changes: Mapping[str, Any]) -> Body:
    """The body with some settings changed; the same one without changes."""
    prefix = f"body {number} "
    new = {key.removeprefix(prefix): value for key, value in changes.items() if key.startswith(prefix)}
    if not new:
        return body
    axes, shape = "xyz"[: body.shape.dimension], body.shape
    centre, size = _placed(shape)
    if "shape" in new and new["shape"] != AS_GIVEN:
        shape = _fitted(_kinds(shape)[new["shape"]](), centre, size)
    place = np.array([new.get(axis, value) for axis, value in zip(axes, centre, strict=True)])
    if "size" in new or (place != centre).any():
        shape = _fitted(shape, place, new.get("size", size))
    velocity = body.velocity
    if not callable(velocity):
        velocity = _check.frozen(
            np.array([new.get(f"v{axis}", value) for axis, value in zip(axes, velocity, strict=True)])
        )
    return replace(body, shape=shape, velocity=velocity)


def _kinds(shape: Shape) -> dict[str, Callable[[], Shape]]:
    return FLAT if shape.dimension == 2 else SPATIAL


def _kind(shape: Shape) -> str:
    """The name of the shape among those that can be chosen."""
    for name, make in _kinds(shape).items():
        template = make()
        if type(template) is not type(shape):
            continue
        if isinstance(shape, (shapes.Box, shapes.Ball, shapes.Cylinder)):
            return name
        if _same(_fitted(template, *_placed(shape)), shape):
            return name
    return AS_GIVEN


def _same(a: Shape, b: Shape) -> bool:
    """Whether two flat shapes have the same points of a lattice that lies askew in their bounds."""
    low, high = b.bounds
    share = (np.arange(LATTICE) + 0.4567) / LATTICE
    x = low + (high - low) * np.stack(np.meshgrid(share, share), axis=-1).reshape(-1, 2)
    return bool(np.array_equal(a.contains(x), b.contains(x)))


def _placed(shape: Shape) -> tuple[FloatArray, float]:
    """Centre and longest side of its bounds."""
    low, high = shape.bounds
    return (low + high) / 2, float((high - low).max())


def _fitted(shape: Shape, centre: FloatArray, size: float) -> Any:
    """The shape, scaled and moved so that its bounds have that centre and longest side."""
    own, extent = _placed(shape)
    if extent != size:
        shape = shape.scale(size / extent, about=own)
        own, _ = _placed(shape)
    return shape.translate(centre - own) if (centre != own).any() else shape
