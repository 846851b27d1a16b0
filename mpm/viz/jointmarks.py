"""Joints of rigid bodies in pictures: small marks over the bodies.

A hinge is a ring around its point, in 3-D with its axis; a socket three rings; an arm leads to the body where the point
is outside. A slider is a rail through the body with ends across; an axis of constant direction a line through the body.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.joints import FixedAxis, Hinge, Slider, Socket
from mpm.solver.solids import Solid
from mpm.viz.camera import NEAREST, Camera

Image = npt.NDArray[np.uint8]

INK, HALO = (24, 28, 36), (255, 255, 255)
RING = 0.12  # radius of a ring over the shortest side of the box of the body
LONG = 0.62  # half of the length of an axis or a rail over the longest side
CORNERS = 24  # of a ring
THICKNESS = 260  # heights of a picture per thickness of a line


def lines(solid: Solid) -> list[FloatArray]:
    """The mark of the joint of a body as lines (k, d) in the domain [m]; none without a joint."""
    joint, d = solid.joint, len(solid.position)
    sides = solid.upper - solid.lower - solid.spacing
    small = max(RING * float(sides.min()), 0.75 * solid.spacing)
    long = LONG * float(sides.max())
    if isinstance(joint, Hinge):
        at = np.asarray(joint.point, dtype=np.float64)
        if d == 2:
            return [_ring(at, small), _ring(at, 0.2 * small), *_arm(solid, at)]
        axis = np.asarray(joint.axis)
        return [_ring(at, small, axis), np.array([at - long * axis, at + long * axis]), *_arm(solid, at)]
    if isinstance(joint, Socket):
        at = np.asarray(joint.point, dtype=np.float64)
        return [*(_ring(at, small, axis) for axis in np.eye(3)), *_arm(solid, at)]
    if isinstance(joint, Slider):
        along = np.asarray(joint.direction, dtype=np.float64)
        across = _across(along) * small
        ends = [solid.position + side * long * along for side in (-1, 1)]
        return [np.array(ends), *(np.array([end - across, end + across]) for end in ends)]
    if isinstance(joint, FixedAxis):
        at = solid.position
        if d == 2:  # it does not turn, or turns as given
            return [at + small * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)])]
        axis = np.asarray(joint.axis)
        return [np.array([at - long * axis, at + long * axis])]
    return []


def _arm(solid: Solid, at: FloatArray) -> list[FloatArray]:
    """From a point to the middle of a body, if the point is outside of it."""
    outside = solid.distance(solid.at_rest(at[None]))[0][0] > 0
    return [np.array([at, solid.position])] if outside else []


def _across(axis: FloatArray) -> FloatArray:
    """A unit vector across another."""
    if len(axis) == 2:
        return np.array([-axis[1], axis[0]])
    found = np.cross(axis, np.eye(3)[int(np.abs(axis).argmin())])
    return np.asarray(found / np.linalg.norm(found))


def _ring(at: FloatArray, radius: float, axis: FloatArray | None = None) -> FloatArray:
    turn = np.linspace(0, 2 * np.pi, CORNERS + 1)[:, None]
    first = np.array([1.0, 0.0]) if axis is None else _across(axis)
    second = np.array([0.0, 1.0]) if axis is None else np.cross(axis, first)
    return np.asarray(at + radius * (np.cos(turn) * first + np.sin(turn) * second))


def segments(bodies: Sequence[Solid]) -> tuple[FloatArray, FloatArray]:
    """Both ends (m, d) of the pieces of all marks [m]."""
    found = [line for solid in bodies for line in lines(solid)]
    if not found:
        return np.empty((0, 0)), np.empty((0, 0))
    return np.concatenate([line[:-1] for line in found]), np.concatenate([line[1:] for line in found])


def paint(image: Image, bodies: Sequence[Solid], camera: Camera, fine: int) -> None:
    """Draw the marks over an image, on which `fine` x `fine` pixels of the camera make one."""
    thickness = max(1.2, image.shape[0] / THICKNESS)
    for solid in bodies:
        drawn = []
        for line in lines(solid):
            column, row, near = camera.project(line)
            if near is None or (camera.away(near) > NEAREST).all():
                drawn.append(np.stack([column, row], axis=1) / fine - (fine - 1) / (2 * fine))
        for line in drawn:
            _stroke(image, line, 2.2 * thickness, HALO)
        for line in drawn:
            _stroke(image, line, thickness, INK)


def _stroke(image: Image, line: npt.NDArray[Any], thickness: float, ink: tuple[int, int, int]) -> None:
    """A line through pixels (k, 2): column, row."""
    low = np.clip(line.min(axis=0) - thickness - 1, 0, None)
    high = line.max(axis=0) + thickness + 2
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        return
    left, top = (int(edge) for edge in np.minimum(low, 1e6))
    part = image[top : max(top, int(min(high[1], 1e6))), left : max(left, int(min(high[0], 1e6)))]
    if not part.size:
        return
    down, across = np.indices(part.shape[:2])
    places = np.stack([across + left, down + top], axis=-1).astype(np.float64)
    apart = np.full(part.shape[:2], np.inf)
    for a, b in pairwise(line):
        along = b - a
        share = np.clip((places - a) @ along / max(float(along @ along), 1e-30), 0, 1)
        np.minimum(apart, np.linalg.norm(places - a - share[..., None] * along, axis=-1), out=apart)
    cover = np.clip(0.5 + thickness / 2 - apart, 0, 1)[..., None]
    part[:] = (part * (1 - cover) + np.array(ink) * cover).round().astype(np.uint8)
