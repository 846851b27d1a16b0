"""How much of each cell a shape fills, and the volumes of particles that follow (docs/design/015-masses.md)."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

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
    _occupied: list[tuple[Counts, Counts, Floats]] = field(default_factory=list)  # index, particles, volume
    _stray: list[tuple[Counts, Floats]] = field(default_factory=list)  # index, volume

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

    def volumes(self, total: float | None) -> tuple[Floats, Counts]:
        """That of each particle in a cell, and the number of particles there, by cell. Their sum is `total` if that is
        known. A cell's volume is shared evenly by its particles. Filled cells without a particle give theirs to the
        nearest cells around that have some."""
        index, kept, volume = (np.concatenate(part) for part in zip(*self._occupied, strict=True))
        stray, given = (np.concatenate(part) for part in zip(*self._stray, strict=True))
        volume = volume + self._from_strays(index, stray, given)
        one = volume / kept
        one[np.abs(one / self.each - 1) <= SAME] = self.each
        sum_ = float((one * kept).sum())
        if total is not None and abs(total / sum_ - 1) > EXACT:
            one *= total / sum_
        return one, kept

    def _from_strays(self, index: Counts, stray: Counts, given: Floats) -> Floats:
        gain, d = np.zeros(len(index)), len(self.extent)
        offsets = np.array(list(itertools.product((-1, 0, 1), repeat=d)))
        for axes in range(1, d + 1):  # neighbours across faces first, then across edges and corners
            if not len(stray):
                break
            cell = np.stack(np.unravel_index(stray, self.extent), axis=1)
            around = cell[:, None] + offsets[np.abs(offsets).sum(axis=1) == axes]
            inside = ((around >= 0) & (around < self.extent)).all(axis=2)
            key = np.ravel_multi_index(tuple(np.moveaxis(around.clip(0, self.extent - 1), 2, 0)), self.extent)
            place = np.minimum(np.searchsorted(index, key), len(index) - 1)
            found = inside & (index[place] == key)
            heirs = found.sum(axis=1)
            share = given / np.maximum(heirs, 1)
            gain += np.bincount(
                place[found], np.broadcast_to(share[:, None], found.shape)[found], minlength=len(index)
            )
            stray, given = stray[heirs == 0], given[heirs == 0]
        return gain


MIDDLES = {2: 8, 3: 6}  # sub-cells of a cut cell along an axis, from which its particles get their parts


def fitted(shape: Shape, x: Floats, volume: Floats, lower: Floats, dx: float) -> tuple[Floats, Floats]:
    """Particles of a shape, where it cuts cells, in the middle of the parts that they stand for.

    The filled part of a cell goes to the nearest of its particles, that of a cell without particles to the nearest ones
    around. A particle then has the volume of its part, and lies in the middle of it: the sums of volumes around a node
    are exact to second order at faces in any direction, as they are inside. Contact between bodies needs that, because
    it finds faces from these sums (docs/design/023-contact-between-bodies.md). The sum of the volumes is that given.

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
    """
    parts = _Parts(shape, x, lower, dx)
    share, moment = parts.of_cells_with_particles()
    lone_share, lone_moment = parts.of_lone_cells()
    full = ~parts.cut & (lone_share > 0)  # in cells that the shape fills, beside cells without particles
    share += lone_share + np.where(full, 1 / parts.together, 0)
    moment += lone_moment + np.where(full, 1 / parts.together, 0)[:, None] * x
    moves = share > 0
    middle = np.where(moves[:, None], moment / np.where(moves, share, 1)[:, None], x)
    middle = np.where(np.abs(middle - x).max(axis=1, keepdims=True) < SAME * dx, x, middle)
    sized = np.where(moves, share * dx ** x.shape[1], volume)
    sized = np.where(np.abs(sized / volume - 1) <= SAME, volume, sized)
    changed = sized != volume
    if changed.any():
        sized[changed] *= volume[changed].sum() / sized[changed].sum()
    return middle, sized


class _Parts:
    """The parts of the cells that a shape cuts, each of its nearest particle."""

    def __init__(self, shape: Shape, x: Floats, lower: Floats, dx: float) -> None:
        self._distance, slack = distance_to(shape, dx)
        self._x, self._dx = x, dx
        d = x.shape[1]
        self._offsets = np.array(list(itertools.product((-1, 0, 1), repeat=d)))
        own = np.floor((x - lower) / dx).astype(np.int64)
        first = own.min(axis=0) - 2
        self._extent = tuple((own.max(axis=0) - first + 3).tolist())
        place = np.ravel_multi_index(tuple((own - first).T), self._extent)
        order = np.argsort(place, kind="stable")
        self._occupied, begin, count = np.unique(place[order], return_index=True, return_counts=True)
        # Particles by cell; one more cell, of none, stands for all without particles.
        self._members = np.full((len(self._occupied) + 1, int(count.max())), -1)
        for k in range(int(count.max())):
            self._members[:-1][count > k, k] = order[begin[count > k] + k]
        around = np.stack(np.unravel_index(self._occupied, self._extent), axis=1)[:, None] + self._offsets
        known = np.unique(np.ravel_multi_index(tuple(np.moveaxis(around, 2, 0)), self._extent))
        self._cells = np.stack(np.unravel_index(known, self._extent), axis=1)
        self._middle = lower + (self._cells + first + 0.5) * dx
        near = np.abs(self._distance(self._middle)[0]) <= 0.5 * np.sqrt(d) * dx * slack * (1 + SAME)
        has = np.isin(known, self._occupied, assume_unique=True)
        self._with, self._lone = np.flatnonzero(near & has), np.flatnonzero(near & ~has)
        self._n = MIDDLES[d]
        index = np.stack(np.unravel_index(np.arange(self._n**d), (self._n,) * d), axis=1)
        self._sub = ((index + 0.5) / self._n - 0.5) * dx
        self.cut = near[np.searchsorted(known, place)]  # (n,): is it in such a cell? Full ones are taken out
        self.together = count[np.searchsorted(self._occupied, place)]  # (n,): particles in its cell

    def of_cells_with_particles(self) -> tuple[Floats, Floats]:
        """Cells' volumes (n,) that particles get from their own cell, and their first moments (n, d) [m]."""
        return self._handed(self._with, np.zeros((1, self._x.shape[1]), dtype=np.int64))

    def of_lone_cells(self) -> tuple[Floats, Floats]:
        """The same from cells without particles around."""
        return self._handed(self._lone, self._offsets)

    def _handed(self, cells: Counts, reach: Counts) -> tuple[Floats, Floats]:
        share, moment = np.zeros(len(self._x)), np.zeros_like(self._x)
        work = len(self._sub) * len(reach) * self._members.shape[1]
        for some in np.array_split(cells, 1 + len(cells) * work // (1 << 22)):
            at = self._middle[some, None] + self._sub
            phi, normal = self._distance(at.reshape(-1, at.shape[2]))
            filled = share_inside(phi, normal, self._dx / self._n).reshape(len(some), len(self._sub))
            filled[filled < SAME] = 0
            there = filled.any(axis=1)
            if cells is self._with:  # those along a face are many, and their particles stay
                full = (filled > 1 - SAME).all(axis=1)
                there &= ~full
                members = self._members[np.searchsorted(self._occupied, self._key(some[full]))]
                self.cut[members[members >= 0]] = False
            if there.any():
                self._hand(some[there], at[there], filled[there] / len(self._sub), reach, share, moment)
        return share, moment

    def _key(self, cells: Counts) -> Counts:
        return np.asarray(np.ravel_multi_index(tuple(self._cells[cells].T), self._extent))

    def _hand(
        self, cells: Counts, at: Floats, filled: Floats, reach: Counts, share: Floats, moment: Floats
    ) -> None:
        """Give the filled parts (m, s) of sub-cells around `at` (m, s, d) to the nearest particles."""
        around = np.moveaxis(self._cells[cells][:, None] + reach, 2, 0)
        key = np.ravel_multi_index(tuple(around), self._extent, mode="clip")
        index = np.minimum(np.searchsorted(self._occupied, key), len(self._occupied) - 1)
        index = np.where(self._occupied[index] == key, index, len(self._occupied))
        heirs = self._members[index].reshape(len(cells), -1)
        apart = ((at[:, :, None] - self._x[heirs][:, None]) ** 2).sum(axis=3)
        apart = np.where((heirs < 0)[:, None], np.inf, apart)
        best = np.argmin(apart, axis=2)
        takes = (filled > 0) & np.any(heirs >= 0, axis=1, keepdims=True)
        heir = np.take_along_axis(heirs, best, 1)[takes]
        share += np.bincount(heir, filled[takes], minlength=len(share))
        for a in range(at.shape[2]):
            moment[:, a] += np.bincount(heir, filled[takes] * at[:, :, a][takes], minlength=len(share))
