"""Colliders where their signed distance is negative: filled outlines in 2-D, surfaces of triangles in 3-D."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mpm.base._check import FloatArray
from mpm.scene.colliders import Placed
from mpm.viz.contours import filled, lattice, surface, zero_line

LATTICE = 160  # cells along the longest side in 2-D


@dataclass(frozen=True, slots=True)
class Outlines:
    """All colliders of a scene in its domain."""

    starts: FloatArray  # (m, d) [m], of lines along their edges; none in 3-D
    ends: FloatArray
    corners: FloatArray  # (3 k, d) [m], of triangles that fill them in 2-D, of their surfaces in 3-D
    normals: FloatArray  # (3 k, 3); none in 2-D


def of(posed: Sequence[Placed], lower: FloatArray, upper: FloatArray) -> Outlines:
    """The colliders as they are now, within the domain."""
    d = len(lower)
    lines, faces = [(np.empty((0, d)), np.empty((0, d)))], [(np.empty((0, d)), np.empty((0, 3)))]
    for collider in posed:
        if d == 2:
            x = lattice(lower, upper, LATTICE)
            phi = collider.distance(x.reshape(-1, 2))[0].reshape(x.shape[:2])
            lines.append(zero_line(x, phi))
            faces.append((filled(x, phi), np.empty((0, 3))))
        else:
            faces.append(surface(collider.distance, lower, upper))
    starts, ends = (np.concatenate(part) for part in zip(*lines, strict=True))
    corners, normals = (np.concatenate(part) for part in zip(*faces, strict=True))
    return Outlines(starts, ends, corners, normals)
