"""The inside of a polygon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mpm.shapes.arguments import as_rows, called_as
from mpm.shapes.shape import Bools, Floats, Region, Shape

Indices: TypeAlias = NDArray[np.int64]
PAIRS = 1 << 16  # of runs of edges that are checked together


@called_as("Polygon([(0, 0), (1, 0), (0, 1)])")
class Polygon(Shape):
    """The inside of a polygon in 2-D, convex or not.

    Parameters
    ----------
    vertices : (n, 2) array_like
        The corners in order, either way round [m]; n >= 3. The last corner may repeat the first.

    Raises
    ------
    ValueError
        The polygon has fewer than three corners or no area, or its outline touches or crosses itself.
    """

    _fields = ("vertices",)
    vertices: Floats

    def __init__(self, vertices: ArrayLike) -> None:
        v = as_rows(vertices, "vertices", (2,))
        if len(v) > 3 and (v[0] == v[-1]).all():
            v = v[:-1].copy()
        if len(v) < 3:
            raise ValueError(f"vertices: a polygon needs at least 3, got {len(v)}")
        _refuse_tangled(v)
        self._set(vertices=v, dimension=2)

    def _contains(self, x: Floats) -> Bools:
        # Even-odd rule along +x. Sorted by height, the points beside an edge are a slice.
        order = np.argsort(x[:, 1], kind="stable")
        px, py = x[order, 0], x[order, 1]
        inside = np.zeros(len(x), dtype=bool)
        a, b = self.vertices, np.roll(self.vertices, -1, axis=0)
        swap = (a[:, 1] > b[:, 1])[:, None]
        low, high = np.where(swap, b, a), np.where(swap, a, b)
        first, last = np.searchsorted(py, low[:, 1]), np.searchsorted(py, high[:, 1])
        for e in np.flatnonzero(first < last):
            beside = slice(first[e], last[e])
            t = (py[beside] - low[e, 1]) / (high[e, 1] - low[e, 1])
            inside[beside] ^= low[e, 0] + t * (high[e, 0] - low[e, 0]) > px[beside]
        result = np.empty_like(inside)
        result[order] = inside
        return result

    def _support(self, directions: Floats) -> Floats:
        return np.asarray((directions @ self.vertices.T).max(axis=1))

    def _affine(self, matrix: Floats, shift: Floats, step: str) -> Shape:
        return Polygon(self.vertices @ matrix.T + shift)

    def _distance(self, finest: float, coarsest: float, region: Region) -> tuple[str, Floats]:
        v = self.vertices - self.vertices[0]
        clockwise = _cross(v, np.roll(v, -1, axis=0)).sum() < 0
        return "polygon", (self.vertices[::-1] if clockwise else self.vertices).ravel()

    def _volume(self) -> float:
        x, y = (self.vertices - self.vertices.mean(axis=0)).T
        return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def _cross(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])


def _refuse_tangled(v: Floats) -> None:
    """Raise ValueError unless the outline `v` (n, 2) is a simple polygon with an area."""
    v = v - v[0]
    n = len(v)
    w = np.roll(v, -1, axis=0)
    edge = w - v
    following = np.roll(edge, -1, axis=0)
    if not edge.any(axis=1).all():
        k = int(np.flatnonzero(~edge.any(axis=1))[0])
        raise ValueError(f"vertices: corners {k} and {(k + 1) % n} of the polygon are the same point")
    back = np.flatnonzero((_cross(edge, following) == 0) & ((edge * following).sum(axis=1) < 0))
    if len(back):
        raise ValueError(f"vertices: the polygon turns back on itself at corner {(int(back[0]) + 1) % n}")
    for i, j in _near_pairs(v, w):
        meet = np.flatnonzero(_meet(v, w, i, j))
        if len(meet):
            k = meet[np.lexsort((j[meet], i[meet]))[0]]
            raise ValueError(
                f"vertices: the polygon crosses or touches itself: the edges from corner {i[k]} and from corner "
                f"{j[k]} meet"
            )
    if abs(_cross(v, w).sum()) <= 1e-14 * np.ptp(v, axis=0).prod():
        raise ValueError("vertices: the polygon has no area")


def _meet(v: Floats, w: Floats, i: Indices, j: Indices) -> Bools:
    """Whether edges i and j, from v to w, have a point in common."""
    edge, c, d = w - v, v[j], w[j]
    side_c, side_d = np.sign(_cross(edge[i], c - v[i])), np.sign(_cross(edge[i], d - v[i]))
    side_v, side_w = np.sign(_cross(edge[j], v[i] - c)), np.sign(_cross(edge[j], w[i] - c))
    meet = (side_c * side_d <= 0) & (side_v * side_w <= 0)
    low, high = np.minimum(v, w), np.maximum(v, w)
    return np.asarray(
        meet & ((low[j] <= high[i]) & (high[j] >= low[i])).all(axis=1)
    )  # on one line, but apart


def _near_pairs(v: Floats, w: Floats) -> Iterator[tuple[Indices, Indices]]:
    """Yield pairs i < j of edges without a common corner, in batches; they include all pairs that meet.

    Boxes around runs of 2, 4, 8, ... edges form a tree; pairs of runs whose boxes overlap are split down to edges.
        The boxes have eight sides, so that those of parallel slanting edges rarely overlap.
    """
    n = len(v)
    ends = np.stack([v, w])
    along = np.concatenate(
        [ends, ends.sum(axis=2)[..., None], (ends[..., 0] - ends[..., 1])[..., None]], axis=2
    )
    slack = np.array([0, 0, 1, 1]) * 8 * np.finfo(float).eps * np.abs(along).max()  # sums are rounded
    levels = [(along.min(axis=0) - slack, along.max(axis=0) + slack)]
    while len(levels[-1][0]) > 1:
        low, high = levels[-1]
        if len(low) % 2:  # an empty box as its partner
            low, high = np.vstack([low, np.full(4, np.inf)]), np.vstack([high, np.full(4, -np.inf)])
            levels[-1] = low, high
        levels.append((np.minimum(low[::2], low[1::2]), np.maximum(high[::2], high[1::2])))
    root = np.zeros(1, dtype=np.int64)
    waiting = [(len(levels) - 1, root, root)]
    while waiting:
        level, i, j = waiting.pop()
        if level == 0:
            apart = (j > i + 1) & ((i > 0) | (j < n - 1))
            yield i[apart], j[apart]
            continue
        low, high = levels[level - 1]
        pairs = [(2 * i + a, 2 * j + b) for a, b in ((0, 0), (0, 1), (1, 0), (1, 1))]
        first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
        near = (first <= second) & ((low[first] <= high[second]) & (high[first] >= low[second])).all(axis=1)
        first, second = first[near], second[near]
        for k in range(0, len(first), PAIRS):
            waiting.append((level - 1, first[k : k + PAIRS], second[k : k + PAIRS]))
