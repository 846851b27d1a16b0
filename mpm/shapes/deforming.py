"""Shapes that change with time, given by frames."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Never

import numpy as np
from numpy.typing import ArrayLike

from mpm import meshes
from mpm.base import _check
from mpm.shapes.arguments import as_array
from mpm.shapes.lattice import DistanceGrid, ending_faces, lattice_header, steepness
from mpm.shapes.mesh import Mesh
from mpm.shapes.shape import Floats, Region, Shape


class Deforming(Shape):
    """A shape that changes with time, for colliders only.

    Between two frames the shape blends both, each moved to the present time along the surface's velocity. For meshes
    this velocity is linear between the vertices' velocities, taken at the nearest point of the surface. For grids of
    distances it moves the zero set along its normal: −∂φ/∂t n. The shape is at rest before the first frame and after
    the last.

    Parameters
    ----------
    times : (k,) array_like
        Ascending times [s]; k >= 2.
    shapes : sequence of k `Mesh` or k `DistanceGrid`
        Meshes of the same faces with vertices that move, or distances on the same lattice. A shape that moves by more
        than its own thickness between two frames needs meshes: grids ignore the motion along the surface.

    Raises
    ------
    TypeError
        The frames are not all meshes or all grids.
    ValueError
        The times do not ascend, or the frames do not match each other.

    References
    ----------
    A. Stomakhin, C. Schroeder, L. Chai, J. Teran, A. Selle, ACM Trans. Graph. 32 (2013) 102, section 8.
    """

    _fields = ("times", "shapes")
    _exact_bounds = False
    _only_collides = True
    times: Floats
    shapes: tuple[Mesh, ...] | tuple[DistanceGrid, ...]

    def __init__(self, times: ArrayLike, shapes: Sequence[Mesh] | Sequence[DistanceGrid]) -> None:
        t = as_array(times, "times", "(k,)")
        if t.ndim != 1 or len(t) < 2 or not (np.diff(t) > 0).all():
            raise ValueError(f"times: expected two or more that ascend, got {_check.shown(t.tolist())}")
        if not isinstance(shapes, (list, tuple)):
            raise TypeError(
                f"shapes: expected a list of meshes or grids of distances, got {_check.shown(shapes)}"
            )
        frames = tuple(shapes)
        if not all(
            type(frame) is type(frames[0]) and isinstance(frame, (Mesh, DistanceGrid)) for frame in frames
        ):
            raise TypeError("shapes: expected Mesh only, or DistanceGrid only")
        if len(frames) != len(t):
            raise ValueError(f"shapes: expected {len(t)}, one for each of the times, got {len(frames)}")
        for k, frame in enumerate(frames):
            if not _match(frame, frames[0]):
                raise ValueError(f"shapes: frame {k} has another {_IN_COMMON[type(frame)]} than frame 0")
        self._set(times=t, shapes=frames, dimension=frames[0].dimension)

    def __repr__(self) -> str:
        return f"Deforming({len(self.times)} x {self.shapes[0]!r}, {self.times[0]:g} to {self.times[-1]:g} s)"

    def _contains(self, x: Floats) -> Never:
        raise TypeError(
            "Deforming changes with time: contains() has no answer; see Simulation.collider_distance"
        )

    def _support(self, directions: Floats) -> Floats:
        return np.asarray(np.max([frame._support(directions) for frame in self.shapes], axis=0))

    def _fastest(self, after: float) -> float:
        first = self.shapes[0]
        if isinstance(first, Mesh):
            moves = np.diff([frame.vertices for frame in self.shapes], axis=0)  # type: ignore[union-attr]
            far = np.sqrt((moves**2).sum(axis=-1)).max(axis=1)
        else:
            phi = np.stack([frame.values for frame in self.shapes]).reshape(len(self.times), -1)  # type: ignore[union-attr]
            near = np.minimum(np.abs(phi[1:]), np.abs(phi[:-1])) < 2 * first.spacing  # normal motion
            far = np.where(near, np.abs(np.diff(phi, axis=0)), 0.0).max(axis=1)
        return float(np.max((far / np.diff(self.times))[self.times[1:] > after], initial=0.0))

    def _distance(self, finest: float, coarsest: float, region: Region) -> tuple[str, Floats]:
        lower, spacing, phi, velocity = self._sampled(finest / 2, 4 * coarsest, region)
        d, lapse = self.dimension, np.diff(self.times)
        nodes = phi.shape[1:]
        # phi_0(x - g delta w(x)) is steeper than phi_0 by the slope of w.
        slope = max(steepness(frame, d, spacing) for frame in phi)
        slope *= 1 + max(
            dt * max(steepness(v, d, spacing) for v in pair) for dt, pair in zip(lapse, velocity, strict=True)
        )
        fastest = np.sqrt((velocity**2).sum(axis=-1)).reshape(len(lapse), -1).max(axis=1)
        ends = functools.reduce(operator.and_, map(ending_faces, phi))
        header = lattice_header(lower, spacing, nodes, ends, slope)
        count = [float(len(self.times))]
        return "deforming", np.concatenate(
            [header, count, self.times, fastest, phi.ravel(), velocity.ravel()]
        )

    def _sampled(self, spacing: float, margin: float, region: Region) -> tuple[Floats, float, Floats, Floats]:
        """First node, spacing, distances (k, …) and, for every interval, velocities at both ends (k − 1, 2, …, d)."""
        first = self.shapes[0]
        if isinstance(first, DistanceGrid):
            phi = np.stack([frame.values for frame in self.shapes])  # type: ignore[union-attr]
            return first.lower, first.spacing, phi, self._normal_velocity(phi, first.spacing)
        bounds = np.array([frame.bounds for frame in self.shapes])
        moves = np.diff([frame.vertices for frame in self.shapes], axis=0)  # type: ignore[union-attr]
        farthest = float(np.sqrt((moves**2).sum(axis=-1)).max())  # how far blends read frames
        lower, nodes = meshes.lattice_around(
            bounds[:, 0].min(axis=0),
            bounds[:, 1].max(axis=0),
            spacing,
            margin,
            (region[0] - farthest, region[1] + farthest),
            numbers=len(self.times) + 6 * len(moves),
        )
        phi = np.empty((len(self.times), *nodes))
        velocity = np.empty((len(self.times) - 1, 2, *nodes, 3))
        moves /= np.diff(self.times)[:, None, None]
        points = meshes.slab_nodes(lower, spacing, nodes, slice(None))
        for k, frame in enumerate(self.shapes):
            assert isinstance(frame, Mesh)
            distance, face, weights = meshes.nearest_faces(frame.vertices, frame.faces, points)
            phi[k] = np.where(frame.contains(points), -distance, distance).reshape(nodes)
            for interval, end in ((k - 1, 1), (k, 0)):
                if 0 <= interval < len(moves):
                    corners = moves[interval][frame.faces[face]]
                    velocity[interval, end] = np.einsum("mk,mkd->md", weights, corners).reshape(*nodes, 3)
        return lower, spacing, phi, velocity

    def _normal_velocity(self, phi: Floats, spacing: float) -> Floats:
        normal = np.stack([np.stack(np.gradient(frame, spacing), axis=-1) for frame in phi])
        size = np.sqrt((normal**2).sum(axis=-1, keepdims=True))
        normal = np.divide(normal, size, out=np.zeros_like(normal), where=size > 0)
        rate = np.diff(phi, axis=0) / np.diff(self.times).reshape(-1, *[1] * self.dimension)
        return np.stack([-rate[..., None] * normal[:-1], -rate[..., None] * normal[1:]], axis=1)


_IN_COMMON = {Mesh: "number of vertices, or other faces,", DistanceGrid: "lattice"}


def _match(frame: Mesh | DistanceGrid, first: Mesh | DistanceGrid) -> bool:
    if isinstance(frame, Mesh) and isinstance(first, Mesh):
        return frame.vertices.shape == first.vertices.shape and np.array_equal(frame.faces, first.faces)
    assert isinstance(frame, DistanceGrid) and isinstance(first, DistanceGrid)
    same = np.array_equal(frame.lower, first.lower) and frame.spacing == first.spacing
    return same and frame.values.shape == first.values.shape
