"""Ground in pictures of 3-D scenes: terrain and slopes, as opaque blocks within the domain, and cut with the bodies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.scene.colliders import Placed
from mpm.scene.scene import Scene
from mpm.shapes import HalfSpace, Terrain
from mpm.shapes.shape import Shape, _Combined, _Moved
from mpm.solver.source import Source
from mpm.viz import contours, facets
from mpm.viz.camera import Camera
from mpm.viz.view import upright

INK = (178, 171, 160)
COARSE = 24  # cells along the longest side of the domain, in the first search for a surface
DEEPER = 0.5  # such cells: how far below the floor a block goes on
FLATTEST = 0.3  # sine of the elevation of the normal of a half-space that is ground; walls are steeper

Behind = Callable[[FloatArray], FloatArray]
"""Signed distances (m,) [m] of places (m, 3) to what a cut leaves, negative inside."""


def split(sim: Source, hidden: Collection[str]) -> tuple[list[Placed], list[Placed]]:
    """The colliders that are shown: those that are ground, and others."""
    shown = [one for one in sim._posed() if one.collider.name not in hidden]
    order, sign = upright(sim.scene.gravity)
    up = np.eye(3)[order[-1]] * sign
    grounds = [one for one in shown if _is_ground(one.collider.shape, up)]
    return grounds, [one for one in shown if one not in grounds]


def _is_ground(shape: Shape, up: FloatArray) -> bool:
    while isinstance(shape, _Moved):
        if not isinstance(shape.shape, (_Moved, Terrain)):
            return False
        shape = shape.shape
    if isinstance(shape, HalfSpace):
        return bool(shape.normal @ up > FLATTEST)
    if isinstance(shape, _Combined):
        return all(_is_ground(part, up) for part in shape._operands())
    return isinstance(shape, Terrain)


def surface(one: Placed, scene: Scene, behind: Behind | None = None) -> tuple[FloatArray, FloatArray]:
    """Corners (3 k, 3) of triangles, counter-clockwise from outside, and normals (3 k, 3) of ground in the domain, of
    the part that a cut leaves."""
    lower, upper = scene.lower, scene.upper
    order, sign = upright(scene.gravity)
    up = order[-1]
    # A block that ends on the floor at a small angle would have a ragged edge, so the floor is cut afterwards.
    below = [lower.copy(), upper.copy()]
    below[0 if sign > 0 else 1][up] -= sign * DEEPER * float((upper - lower).max()) / COARSE
    floor = (lower if sign > 0 else upper)[up]

    def distance(x: FloatArray) -> tuple[FloatArray, FloatArray]:
        phi, normal = one.distance(x)
        phi, normal = phi.copy(), normal.copy()
        for axis in range(3):
            for side, end in zip((-1, 1), below, strict=True):
                beyond = side * (x[:, axis] - end[axis])
                outer = beyond > phi
                phi[outer] = beyond[outer]
                normal[outer] = side * np.eye(3)[axis]
        if behind is not None:
            beyond = behind(x)
            outer = beyond > phi
            step = 1e-6 * float((upper - lower).max())
            slope = [(behind(x[outer] + step * e) - beyond[outer]) / step for e in np.eye(3)]
            phi[outer], normal[outer] = beyond[outer], np.stack(slope, axis=1)
        return phi, normal

    found = contours.surface(distance, *below, coarse=COARSE)
    corners, normals = contours.outwards(*found)
    sunk = sign * (corners[:, up] - floor) < 0
    upwards = sign * normals[:, up] > 0
    kept = np.repeat(~(sunk & upwards).reshape(-1, 3).all(axis=1), 3)
    corners[sunk, up] = floor
    return corners[kept], normals[kept]


def draw(
    grounds: Sequence[Placed],
    scene: Scene,
    camera: Camera,
    size: tuple[int, int],
    fine: int,
    behind: Behind | None = None,
) -> facets.Facets | None:
    """All ground in an image (width, height), on which `fine` x `fine` pixels make one; None where there is none."""
    parts = [surface(one, scene, behind)[0] for one in grounds]
    x = np.concatenate(parts) if parts else np.empty((0, 3))
    if not len(x):
        return None
    return facets.shaded(
        x,
        np.arange(len(x)).reshape(-1, 3),
        np.zeros(len(x)),
        camera,
        size=size,
        fine=fine,
        table=np.array([INK], dtype=np.uint8),
    )


def copied(found: facets.Facets) -> facets.Facets:
    """The same again, of which parts can be hidden."""
    return facets.Facets(found.window, found.near.copy(), found.ink, found.levels.copy())


class Drawn(Protocol):
    """A layer of a picture."""

    @property
    def window(self) -> facets.Window:
        """Left, top, width, height."""

    @property
    def near(self) -> npt.NDArray[np.float32]:
        """How near it comes at the pixels of the window; infinite where it is not."""


def nearest(layers: Sequence[Drawn], size: tuple[int, int]) -> npt.NDArray[np.float32]:
    """How near the nearest of what is drawn is at the pixels of an image (width, height); infinite where nothing is."""
    front = np.full((size[1], size[0]), -np.inf, np.float32)
    for layer in layers:
        left, top, wide, high = layer.window
        part = front[top : top + high, left : left + wide]
        np.maximum(part, np.where(np.isfinite(layer.near), layer.near, -np.inf), out=part)
    front[np.isinf(front)] = np.inf
    return front
