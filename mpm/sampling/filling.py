"""How much of each cell a shape fills, and the volumes of particles that follow (docs/design/015-masses.md)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mpm import _core
from mpm.sampling.sharing import ALONE, Sharers, exact_sum, parts_of_sum
from mpm.shapes import Shape
from mpm.shapes.geometry import share_inside
from mpm.shapes.volumes import distance_to

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

FINEST = {2: 4, 3: 2}  # sub-cells of a cut cell along an axis, at least
LEAST = 0.1  # of the volume of a particle in a full cell: none is lighter
SAME = 1e-9  # relative difference from a full cell's volume that is rounding
EXACT = 1e-13  # relative difference of the sum from the shape's volume that is rounding


class Filler:
    """What share of cells a shape fills."""

    def __init__(self, shape: Shape, lower: Floats, dx: float, side: int) -> None:
        self._distance, self._slack = distance_to(shape, dx)
        self._lower, self._dx, d = lower, dx, shape.dimension
        # A multiple of the candidates' sub-cells, so that faces along sub-cells are met exactly.
        n = side * -(-FINEST[d] // side)
        index = np.stack(np.unravel_index(np.arange(n**d), (n,) * d), axis=1)
        self._sub, self._n = (index + 0.5) / n, n

    def shares(self, cell: Counts) -> Floats:
        """The filled share of cells (m, d), in [0, 1]. Where the surface may cut a cell, each sub-cell counts as cut by
        a plane: the nearest one at the distance of its middle."""
        d = cell.shape[1]
        phi, _ = self._distance(self._lower + (cell + 0.5) * self._dx)
        share = np.where(phi < 0, 1.0, 0.0)
        cut = np.flatnonzero(np.abs(phi) <= 0.5 * np.sqrt(d) * self._dx * self._slack * (1 + SAME))
        for part in np.array_split(cut, 1 + len(cut) * len(self._sub) // (1 << 18)):
            x = self._lower + (cell[part, None] + self._sub) * self._dx
            phi, normal = self._distance(x.reshape(-1, d))
            filled = share_inside(phi, normal, self._dx / self._n)
            share[part] = filled.reshape(-1, len(self._sub)).mean(axis=1)
        return share


@dataclass
class Filling:
    """The volumes of cells with particles, and of filled cells without any, collected in the order of the cells."""

    extent: Counts  # of the lattice of cells
    each: float  # volume of a particle in a full cell
    _occupied: list[tuple[Counts, Counts, Floats]] = field(
        default_factory=lambda: [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    )  # index, particles, volume
    _stray: list[tuple[Counts, Floats]] = field(
        default_factory=lambda: [(np.zeros(0, np.int64), np.zeros(0))]
    )  # index, volume

    def add(self, index: Counts, share: Floats, candidates: Counts, kept: Counts) -> None:
        """Cells (m,) in ascending order: their filled shares, candidates and particles kept of these."""
        volume = share * (candidates * self.each)
        some = kept > 0
        least = LEAST * self.each * kept[some]
        self._occupied.append((index[some], kept[some], np.maximum(volume[some], least)))
        lone = ~some & (volume > 0)
        self._stray.append((index[lone], volume[lone]))

    def numbers(self) -> Counts:
        """Of particles in each cell that has some."""
        return np.concatenate([kept for _, kept, _ in self._occupied])

    def volumes(self, total: float | None, sharers: Sharers = ALONE) -> tuple[Floats, Counts]:
        """That of each particle in a cell, and the number of particles there, by cell; of several processes, the own
        cells. The sum of all is `total` if that is known. A cell's volume is shared evenly by its particles. Filled
        cells without a particle give theirs to the nearest cells around that have some."""
        index, kept, volume = (np.concatenate(part) for part in zip(*self._occupied, strict=True))
        stray, given = (np.concatenate(part) for part in zip(*self._stray, strict=True))
        volume = volume + self._from_strays(index, *_joined(stray, given, sharers), sharers)
        one = volume / kept
        one[np.abs(one / self.each - 1) <= SAME] = self.each
        parts = parts_of_sum(one * kept)
        sum_ = exact_sum(sharers.told(lambda: parts))
        if total is not None and abs(total / sum_ - 1) > EXACT:
            one *= total / sum_
        return one, kept

    def _from_strays(self, index: Counts, stray: Counts, given: Floats, sharers: Sharers) -> Floats:
        """What the cells `index` gain from the strays of all processes."""
        known = np.append(index, -1)  # no cell
        gain, d = np.zeros(len(index)), len(self.extent)
        offsets = np.array(list(itertools.product((-1, 0, 1), repeat=d)))
        for axes in range(1, d + 1):  # neighbours across faces first, then across edges and corners
            if not len(stray):
                break
            cell = np.stack(np.unravel_index(stray, self.extent), axis=1)
            around = cell[:, None] + offsets[np.abs(offsets).sum(axis=1) == axes]
            inside = ((around >= 0) & (around < self.extent)).all(axis=2)
            key = np.ravel_multi_index(tuple(np.moveaxis(around.clip(0, self.extent - 1), 2, 0)), self.extent)
            place = np.searchsorted(index, key)
            found = inside & (known[place] == key)
            own = found.sum(axis=1)
            heirs = np.sum(sharers.told(partial(np.copy, own)), axis=0)
            share = given / np.maximum(heirs, 1)
            gain += np.bincount(
                place[found], np.broadcast_to(share[:, None], found.shape)[found], minlength=len(index)
            )
            stray, given = stray[heirs == 0], given[heirs == 0]
        return gain


def _joined(stray: Counts, given: Floats, sharers: Sharers) -> tuple[Counts, Floats]:
    """The strays of all processes, in the order of the cells."""
    told = sharers.told(lambda: (stray, given))
    stray, given = (np.concatenate(part) for part in zip(*told, strict=True))
    order = np.argsort(stray, kind="stable")
    return stray[order], given[order]


SUB_CELLS = {2: 12, 3: 6}  # of a cell along an axis that particles share, about
ROUNDS = {2: 10, 3: 5}  # of Lloyd's algorithm


def fitted(shape: Shape, x: Floats, volume: Floats, lower: Floats, dx: float) -> tuple[Floats, Floats]:
    """Particles of a shape, near cells that it cuts, in the middle of the parts that they stand for.

    The filled parts of these cells, and the cells around them, go to the nearest of their particles. A particle then
    has the volume of its part, and moves to the middle of it; some rounds of this make parts alike and round (Lloyd
    1982). The sums of volumes around a node are then exact to second order at faces in any direction, as they are
    inside. Contact between bodies needs that, because it finds faces from these sums
    (docs/design/023-contact-between-bodies.md). The sum of the volumes is that given.

    Parameters
    ----------
    shape
        A solid.
    x, volume : (n, d), (n,)
        Places of the particles [m] and their volumes by `Filling`.
    lower : (d,)
        Where the first cell begins [m].
    dx
        Cell size [m].

    Returns
    -------
    x, volume : (n, d), (n,)
        As given where no cell is cut.

    References
    ----------
    S. P. Lloyd, IEEE Trans. Inf. Theory 28 (1982) 129.
    """
    parts = _Parts(shape, x, lower, dx)
    if not parts.cut:
        return x, volume
    middle = x
    for _ in range(ROUNDS[x.shape[1]]):
        share, moment = parts.hand_out(middle)
        gets = share > 0
        middle = np.where(gets[:, None], moment / np.where(gets, share, 1)[:, None], middle)
    middle = np.where(np.abs(middle - x).max(axis=1, keepdims=True) < SAME * dx, x, middle)
    sized = np.where(gets, share * dx ** x.shape[1], volume)
    sized = np.where(np.abs(sized / volume - 1) <= SAME, volume, sized)
    changed = sized != volume
    if changed.any():
        sized[changed] *= volume[changed].sum() / sized[changed].sum()
    return middle, sized


class _Parts:
    """The cells that a shape cuts, and those around them, whose particles share what is filled."""

    def __init__(self, shape: Shape, x: Floats, lower: Floats, dx: float) -> None:
        self._dx, d = dx, x.shape[1]
        offsets = np.array(list(itertools.product((-1, 0, 1), repeat=d)))
        own = np.floor((x - lower) / dx).astype(np.int64)
        first = own.min(axis=0) - 3
        extent = tuple((own.max(axis=0) - first + 4).tolist())
        place = np.ravel_multi_index(tuple((own - first).T), extent)
        order = np.argsort(place, kind="stable")
        occupied, begin, count = np.unique(place[order], return_index=True, return_counts=True)
        steps = np.ravel_multi_index(tuple((offsets + 1).T), extent) - np.ravel_multi_index((1,) * d, extent)
        known = np.unique(occupied[:, None] + steps)
        each = max(1, round(int(count.max()) ** (1 / d)))  # particles along an axis, in parts alike
        self._n = each * -(-SUB_CELLS[d] // each) if each <= SUB_CELLS[d] else SUB_CELLS[d]
        near, filled = self._find_near(shape, lower, first, extent, known)
        whole = (filled > 1 - SAME).all(axis=1)
        lone = ~np.isin(near, occupied)
        self.cut = int(np.count_nonzero(~whole))
        if not self.cut:
            return
        # Cells in parts first, with those of no particles; then full ones around them.
        some = ~whole | lone
        beside = np.setdiff1d(np.intersect1d(near[some, None] + steps, occupied), near[some])
        near, self._filled = near[some], filled[some]
        cells = np.concatenate([near, beside])
        self._middle = self._middles(cells, lower, first, extent)
        # Particles by cell; one more row, of none, stands for all other cells.
        rows = np.flatnonzero(np.isin(occupied, cells))
        members = np.full((len(rows) + 1, int(count[rows].max())), -1)
        for k in range(members.shape[1]):
            there = count[rows] > k
            members[:-1][there, k] = order[begin[rows][there] + k]
        self._row, self._members = np.unique(members[members >= 0]), members
        number = np.full(len(x) + 1, -1, dtype=np.int32)
        number[self._row] = np.arange(len(self._row))
        self._members = number[members]
        around = cells[:, None] + steps
        index = np.minimum(np.searchsorted(occupied[rows], around), len(rows) - 1)
        self._around = np.where(occupied[rows][index] == around, index, len(rows)).astype(np.int32)

    def _middles(self, cells: Counts, lower: Floats, first: Counts, extent: tuple[int, ...]) -> Floats:
        index = np.stack(np.unravel_index(cells, extent), axis=1)
        return np.ascontiguousarray(lower + (index + first + 0.5) * self._dx)

    def _find_near(
        self, shape: Shape, lower: Floats, first: Counts, extent: tuple[int, ...], known: Counts
    ) -> tuple[Counts, Floats]:
        """Cells near the surface of which something is filled, and the filled shares of their sub-cells."""
        distance, slack = distance_to(shape, self._dx)
        d, n, dx = len(extent), self._n, self._dx
        middle = self._middles(known, lower, first, extent)
        near = np.abs(distance(middle)[0]) <= 0.5 * np.sqrt(d) * dx * slack * (1 + SAME)
        index = np.stack(np.unravel_index(np.arange(n**d), (n,) * d), axis=1)
        sub = ((index + 0.5) / n - 0.5) * dx
        cells, found = [known[:0]], [np.zeros((0, n**d))]
        for some in np.array_split(np.flatnonzero(near), 1 + np.count_nonzero(near) * n**d // (1 << 20)):
            phi, normal = distance((middle[some, None] + sub).reshape(-1, d))
            filled = share_inside(phi, normal, dx / n).reshape(len(some), n**d)
            filled[filled < SAME] = 0
            there = filled.any(axis=1)
            cells.append(known[some[there]])
            found.append(filled[there])
        return np.concatenate(cells), np.concatenate(found)

    def hand_out(self, x: Floats) -> tuple[Floats, Floats]:
        """The volumes (n,) [cells] of what is nearest to particles at x (n, d), and their first moments (n, d)."""
        share, moment = np.zeros(len(x)), np.zeros_like(x)
        given = _core.hand_out(
            self._n, self._dx, self._middle, self._filled, self._around, self._members, x[self._row]
        )
        share[self._row] = np.frombuffer(given[0])
        moment[self._row] = np.frombuffer(given[1]).reshape(-1, x.shape[1])
        return share, moment
