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
