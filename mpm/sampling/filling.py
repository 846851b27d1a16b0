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
    distance, slack = distance_to(shape, dx)
    d = x.shape[1]
    offsets = np.array(list(itertools.product((-1, 0, 1), repeat=d)))
    own = np.floor((x - lower) / dx).astype(np.int64)
    first = own.min(axis=0) - 2
    extent = tuple((own.max(axis=0) - first + 3).tolist())
    place = np.ravel_multi_index(tuple((own - first).T), extent)
    order = np.argsort(place, kind="stable")
    occupied, begin, count = np.unique(place[order], return_index=True, return_counts=True)
    around = np.stack(np.unravel_index(occupied, extent), axis=1)[:, None] + offsets
    known = np.unique(np.ravel_multi_index(tuple(np.moveaxis(around, 2, 0)), extent))
    cells = np.stack(np.unravel_index(known, extent), axis=1)
    middle = lower + (cells + first + 0.5) * dx
    near = np.abs(distance(middle)[0]) <= 0.5 * np.sqrt(d) * dx * slack * (1 + SAME)
    members = np.full((len(occupied) + 1, int(count.max())), -1)
    for k in range(members.shape[1]):
        some = count > k
        members[:-1][some, k] = order[begin[some] + k]
    part, moment = np.zeros(len(x)), np.zeros_like(x)
    n = MIDDLES[d]
    sub = ((np.stack(np.unravel_index(np.arange(n**d), (n,) * d), axis=1) + 0.5) / n - 0.5) * dx
    has = np.isin(known, occupied, assume_unique=True)
    for lone in (False, True):
        chosen = np.flatnonzero(near & (has ^ lone))
        reach = offsets if lone else np.zeros((1, d), dtype=np.int64)
        pieces = 1 + len(chosen) * len(sub) * len(reach) * members.shape[1] // (1 << 22)
        for some in np.array_split(chosen, pieces):
            at = middle[some, None] + sub
            phi, normal = distance(at.reshape(-1, d))
            filled = share_inside(phi, normal, dx / n).reshape(-1, len(sub))
            some, at, filled = (values[filled.any(axis=1)] for values in (some, at, filled))
            if not len(some):
                continue
            key = np.ravel_multi_index(
                tuple(np.moveaxis(cells[some, None] + reach, 2, 0)), extent, mode="clip"
            )
            index = np.minimum(np.searchsorted(occupied, key), len(occupied) - 1)
            index = np.where(occupied[index] == key, index, len(occupied))
            heirs = members[index].reshape(len(some), -1)
            apart = ((at[:, :, None] - x[heirs][:, None]) ** 2).sum(axis=3)
            apart[np.broadcast_to((heirs < 0)[:, None], apart.shape)] = np.inf
            best = np.argmin(apart, axis=2)
            takes = (filled > 0) & np.isfinite(np.take_along_axis(apart, best[:, :, None], 2)[:, :, 0])
            heir = np.take_along_axis(heirs, best, 1)[takes]
            part += np.bincount(heir, filled[takes], minlength=len(x))
            for a in range(d):
                moment[:, a] += np.bincount(heir, filled[takes] * at[:, :, a][takes], minlength=len(x))
    whole = part > 0  # the others are in cells that the shape fills
    inner = (
        ~near[np.searchsorted(known, place)] & whole
    )  # beside cells without particles: all of their own part, too
    each = np.where(inner, n**d / count[np.searchsorted(occupied, place)], 0.0)
    part, moment = part + each, moment + each[:, None] * x
    moved = np.where(whole[:, None], moment / np.maximum(part, 1e-300)[:, None], x)
    moved = np.where(np.abs(moved - x).max(axis=1, keepdims=True) < SAME * dx, x, moved)
    sized = np.where(whole, part * (dx / n) ** d, volume)
    sized = np.where(np.abs(sized / volume - 1) <= SAME, volume, sized)
    changed = sized != volume
    if changed.any():
        sized[changed] *= volume[changed].sum() / sized[changed].sum()
    return moved, sized
