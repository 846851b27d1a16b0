"""Blue noise: random points that keep a distance from each other, in a tile that repeats without a seam."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TILE_POINTS = 3000  # about; at least 4 cells along each axis
# r^d times points per volume: 0.85 and 0.8 of where random sequential addition ends (0.697 in 2-D, 0.733 in 3-D:
# S. Torquato, O. U. Uche, F. H. Stillinger, Phys. Rev. E 74 (2006) 061308), so that the last points are found soon.
BATCH = 2000  # proposals at once, at least
CROWDING = {2: 0.59, 3: 0.58}


@dataclass(frozen=True)
class Tile:
    """`side` cells along each axis. The points of cell k, counted in lexicographic order, are
    ``u[first[k]:first[k+1]]``, in [0, 1)^d from the cell's lower corner."""

    side: int
    first: NDArray[np.int64]
    u: Floats

    def candidates(self, cell: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
        """The points (n, d) of cells (m, d), in cells from the origin, and how many each cell has (m,)."""
        where = np.ravel_multi_index(tuple((cell % self.side).T), (self.side,) * cell.shape[1])
        count = self.first[where + 1] - self.first[where]
        start = np.repeat(self.first[where] - (np.cumsum(count) - count), count)
        return np.repeat(cell, count, axis=0) + self.u[start + np.arange(len(start))], count


def tile(dim: int, per_cell: int, rng: np.random.Generator) -> Tile:
    """Throw darts at a periodic tile until it has `per_cell` points per cell on average.

    Notes
    -----
    Every cell of a background lattice, so small that it holds one point at most, proposes a random point; those that
    are too close to an earlier point, or to another proposal with precedence, are thrown away (dart throwing, R. L.
    Cook, ACM Trans. Graph. 5 (1986) 51; in parallel, L.-Y. Wei, ACM Trans. Graph. 27 (2008) 20).
    """
    side = max(4, round((TILE_POINTS / per_cell) ** (1 / dim)))
    wanted = per_cell * side**dim
    radius = (CROWDING[dim] / wanted) ** (1 / dim)
    m = int(np.ceil(np.sqrt(dim) / radius))
    reach = int(np.ceil(radius * m))
    near = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * dim, indexing="ij"), axis=-1).reshape(
        -1, dim
    )
    near = near[(near != 0).any(axis=1)]
    place = np.full((m**dim, dim), np.nan)  # of the point of each background cell
    count = 0
    while count < wanted:
        empty = rng.permutation(np.flatnonzero(np.isnan(place[:, 0])))[: max(BATCH, 2 * (wanted - count))]
        index = np.stack(np.unravel_index(empty, (m,) * dim), axis=1)
        x = (index + rng.random((len(empty), dim))) / m
        free = _far(x, index, place, near, m, radius)
        empty, index, x = empty[free], index[free], x[free]
        proposed = np.full_like(place, np.nan)
        rank = np.full(len(place), len(place))
        proposed[empty], rank[empty] = x, np.arange(len(empty))
        free = _far(x, index, proposed, near, m, radius, rank, np.arange(len(empty)))
        kept = np.flatnonzero(free)[: wanted - count]
        place[empty[kept]] = x[kept]
        count += len(kept)
    x = place[~np.isnan(place[:, 0])] * side
    cell = np.minimum(x.astype(np.int64), side - 1)
    key = np.ravel_multi_index(tuple(cell.T), (side,) * dim)
    order = np.argsort(key, kind="stable")
    first = np.searchsorted(key[order], np.arange(side**dim + 1))
    return Tile(side, first, (x - cell)[order])


def _far(
    x: Floats,
    index: NDArray[np.int64],
    place: Floats,
    near: NDArray[np.int64],
    m: int,
    radius: float,
    rank: NDArray[np.int64] | None = None,
    own: NDArray[np.int64] | None = None,
) -> NDArray[np.bool_]:
    """Whether points x (n, d) in the background cells `index` keep their distance from those in the cells around, or
    from those of lower `rank` than their `own`."""
    far = np.ones(len(x), dtype=bool)
    for offset in near:
        left = np.flatnonzero(far)
        other = np.ravel_multi_index(tuple(((index[left] + offset) % m).T), (m,) * x.shape[1])
        apart = np.abs(x[left] - place[other])
        apart = np.minimum(apart, 1 - apart)
        close = (apart**2).sum(axis=1) < radius**2  # NaN is not close
        if rank is not None and own is not None:
            close &= rank[other] < own[left]
        far[left[close]] = False
    return far
