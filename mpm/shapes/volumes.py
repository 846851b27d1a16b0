"""The volume of a shape, exact or measured, and its signed distance at points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mpm import meshes
from mpm.shapes.cells import Cells
from mpm.shapes.distances import describe, measure
from mpm.shapes.lattice import DistanceGrid, steepness
from mpm.shapes.mesh import Mesh
from mpm.shapes.shape import Bools, Complement, Floats, Shape, _Combined, _Moved, _Union, clusters

Distance: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]

POINTS = {
    2: (1 << 16, 1 << 19),
    3: (1 << 18, 1 << 21),
}  # of a measurement, by dimension: first and last attempt
FEWEST = 4096  # for each of many parts that do not meet
GOAL = 5e-4  # relative error that the first attempt must reach, or the last one is made
MOST_WORK = 3e8  # points times `_work` of a measurement
CHUNK = 1 << 18  # points that are checked together
PAIRS = 1 << 21  # of points and edges that are compared together
# The additive recurrence of the golden ratio's generalisation: its fractions fill the cube evenly (M. Roberts 2018).
PLASTIC = {2: 1.32471795724474602596, 3: 1.22074408460575947536}


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume [m³; in 2-D m²] and a bound of its relative error, 0 where a formula gave it."""

    value: float
    error: float

    @property
    def doubt(self) -> str:
        """The error in words, as it stands behind a number."""
        return f" ± {100 * self.error:.1g} %" if self.error else ""


def volume_within(shape: Shape, lower: Floats, upper: Floats) -> Volume:
    """The volume of what of a shape lies in a box.

    Parameters
    ----------
    shape
        A solid. If it is of finite size it lies in the box.
    lower, upper : (d,) ndarray
        The corners of the box [m].

    Returns
    -------
    Volume
        Exact for shapes with a formula and what is cut from or united of them without overlap. Others are measured
        on 2^16 to 2^21 points that are the same every time, one in each cell of a lattice. The error is twice the
        standard deviation if those points were random: each cell that the surface crosses has a variance of at most a
        quarter. No point inside gives the value 0 with an infinite error.
    """
    exact = shape._volume_within(lower, upper)
    if exact is not None:
        return Volume(exact, 0.0)
    low, high = shape.bounds
    low, high = np.maximum(low, lower), np.minimum(high, upper)
    if not (low < high).all():
        return Volume(0.0, 0.0)
    key = (low.tobytes(), high.tobytes())
    kept: dict[tuple[bytes, bytes], Volume] = shape.__dict__.setdefault("_measured", {})
    if key not in kept:
        kept[key] = _union(shape, low, high) if isinstance(shape, _Union) else _counted(shape, low, high)
    return kept[key]


def _union(shape: _Union, lower: Floats, upper: Floats) -> Volume:
    """Parts whose boxes do not meet are measured one by one: a thousand grains cost no thousand tests per point."""
    groups = clusters(shape.parts)
    if len(groups) == 1:
        return _counted(shape, lower, upper)
    found = [_group(_Union(*g) if len(g) > 1 else g[0], lower, upper, len(groups)) for g in groups]
    value = sum(one.value for one in found)
    deviation = float(np.sqrt(sum((one.error * one.value) ** 2 for one in found if one.value)))
    return Volume(value, deviation / value if value else np.inf)


def _group(shape: Shape, lower: Floats, upper: Floats, groups: int) -> Volume:
    exact = shape._volume_within(lower, upper)
    if exact is not None:
        return Volume(exact, 0.0)
    low, high = shape.bounds
    low, high = np.maximum(low, lower), np.minimum(high, upper)
    return _counted(shape, low, high, groups) if (low < high).all() else Volume(0.0, 0.0)


def _counted(shape: Shape, lower: Floats, upper: Floats, groups: int = 1) -> Volume:
    """By points; `groups` is how many shapes share them."""
    extent, d = upper - lower, shape.dimension
    found = Volume(0.0, np.inf)
    for points in POINTS[d]:
        if found.error <= GOAL * np.sqrt(groups):
            break
        count = min(max(points / groups, FEWEST), MOST_WORK / _work(shape))
        spacing = (extent.prod() / count) ** (1 / d)
        cells = np.maximum(1, np.rint(extent / spacing)).astype(np.int64)
        inside = _inside(shape, lower, extent / cells, cells)
        changes = sum(int(np.diff(inside.view(np.int8), axis=a).astype(bool).sum()) for a in range(d))
        total = int(inside.sum())
        if not total:
            continue
        found = Volume(total * float((extent / cells).prod()), np.sqrt(max(changes, 1)) / total)
    return found


def _inside(shape: Shape, lower: Floats, size: Floats, cells: NDArray[np.int64]) -> Bools:
    d = shape.dimension
    step = PLASTIC[d] ** -np.arange(1.0, d + 1)
    inside = np.empty(int(cells.prod()), dtype=bool)
    for first in range(0, len(inside), CHUNK):
        index = np.arange(first, min(first + CHUNK, len(inside)))
        cell = np.stack(np.unravel_index(index, cells), axis=1)
        inside[index] = shape._contains(lower + (cell + np.outer(index, step) % 1) * size)
    return inside.reshape(cells)


def _work(shape: Shape) -> float:
    """About how many primitives one test of a point costs."""
    if isinstance(shape, _Combined):
        return sum(map(_work, shape.parts))
    if isinstance(shape, (_Moved, Complement)):
        return _work(shape.shape)
    if isinstance(shape, Mesh):
        return (
            5 + len(shape._solid.open) / 5
        )  # closed parts have a tree of rays, winding numbers ask every face
    return 1


# --- signed distance ---------------------------------------------------------------------------------------


def distance_to(shape: Shape, dx: float) -> tuple[Distance, float]:
    """A function of points (m, d) that gives signed distances (m,), negative inside, and unit normals (m, d).

    The distance is exact for primitives and meshes, and to first order for those that are scaled by axis. That of
    combinations is the nearest part's: near their edges it is too small. Divided by the number that comes second, it
    is never more than the true distance.

    Parameters
    ----------
    shape
        A solid.
    dx
        Cell size [m].
    """
    if isinstance(shape, Complement):
        inner, slack = distance_to(shape.shape, dx)
        return lambda x: _negative(*inner(x)), slack
    if isinstance(shape, _Combined):
        parts = [distance_to(part, dx) for part in shape._operands()]
        return _joined([part for part, _ in parts], shape._unites), max(slack for _, slack in parts)
    if isinstance(shape, _Moved):
        return _moved(shape, dx)
    if isinstance(shape, Mesh):
        return _to_mesh(shape), 1.0
    if isinstance(shape, Cells):
        return _to_cells(shape), 1.0
    program = describe(shape, dx)
    slack = (
        max(1.0, steepness(shape.values, shape.dimension, shape.spacing))
        if isinstance(shape, DistanceGrid)
        else 1.0
    )
    return lambda x: measure(program, x), slack


def _negative(phi: Floats, normal: Floats) -> tuple[Floats, Floats]:
    return -phi, -normal


def _joined(parts: list[Distance], unites: bool) -> Distance:
    def distance(x: Floats) -> tuple[Floats, Floats]:
        phi, normal = parts[0](x)
        for part in parts[1:]:
            other, direction = part(x)
            nearer = other < phi if unites else other > phi
            phi, normal = np.where(nearer, other, phi), np.where(nearer[:, None], direction, normal)
        return phi, normal

    return distance


def _moved(shape: _Moved, dx: float) -> tuple[Distance, float]:
    factors = np.linalg.svd(shape.matrix, compute_uv=False)
    inner, slack = distance_to(shape.shape, dx / float(factors[-1]))

    def distance(x: Floats) -> tuple[Floats, Floats]:
        phi, normal = inner((x - shape.shift) @ shape._inverse.T)
        gradient = normal @ shape._inverse
        length = np.sqrt((gradient**2).sum(axis=1))
        return phi / length, gradient / length[:, None]

    return distance, slack * float(factors[0] / factors[-1])


def _to_cells(shape: Cells) -> Distance:
    faces = shape._outline()

    def distance(x: Floats) -> tuple[Floats, Floats]:
        nearest = np.concatenate(
            [
                _on_outline(shape.vertices, faces, part)
                for part in np.array_split(x, 1 + len(x) * len(faces) // PAIRS)
            ]
        )
        sign = np.where(shape._contains(x), -1.0, 1.0)
        away = sign[:, None] * (x - nearest)
        far = np.linalg.norm(away, axis=1)
        normal = np.where(far[:, None] > 0, away / np.maximum(far, 1e-300)[:, None], np.eye(x.shape[1])[0])
        return sign * far, normal

    return distance


def _on_outline(vertices: Floats, faces: NDArray[np.int64], x: Floats) -> Floats:
    """The nearest point (m, d) of edges in 2-D or triangles in 3-D to each of the points."""
    if x.shape[1] == 3:
        _, face, weights = meshes.nearest_faces(vertices, faces, x)
        return np.asarray(np.einsum("mk,mkd->md", weights, vertices[faces[face]]))
    a, b = vertices[faces[:, 0]], vertices[faces[:, 1]]
    edge = b - a
    t = ((x[:, None] - a) * edge).sum(axis=2) / (edge**2).sum(axis=1)
    there = a + np.clip(t, 0, 1)[..., None] * edge
    best = ((x[:, None] - there) ** 2).sum(axis=2).argmin(axis=1)
    return np.asarray(there[np.arange(len(x)), best])


def _to_mesh(shape: Mesh) -> Distance:
    solid = shape._solid
    corners, faces = solid.x / solid.scale, np.concatenate([solid.closed, solid.open])

    def distance(x: Floats) -> tuple[Floats, Floats]:
        far, face, weights = meshes.nearest_faces(corners, faces, x)
        nearest = np.einsum("mk,mkd->md", weights, corners[faces[face]])
        inside = solid.contains(x)
        a, b, c = (corners[faces[face, k]] for k in range(3))
        normal = np.where(inside[:, None], nearest - x, x - nearest)
        on_face = far <= 1e-12 * np.abs(corners).max()
        normal[on_face] = np.cross(b - a, c - a)[on_face]
        length = np.sqrt((normal**2).sum(axis=1))
        return np.where(inside, -far, far), normal / np.where(length > 0, length, 1)[:, None]

    return distance
