"""Sampling: fills a shape with particles.

Candidates belong to the grid's cells, not to the shape: cell (i, j, k) spans lower + i·dx to lower + (i + 1)·dx along
x, and so on. A candidate is kept if its own position is inside the shape. Its volume comes from the part of the
cell that the shape fills (`mpm.sampling.filling`), and all volumes together are that of the shape.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mpm.base import _check
from mpm.base.memory import MACHINE, MOST_ROWS
from mpm.sampling import bluenoise, pointvolumes
from mpm.sampling.filling import Filler, Filling
from mpm.sampling.sharing import ALONE, Sharers, exact_sum, parts_of_sum, repeated
from mpm.sampling.streams import Stream
from mpm.shapes import Box, Points, Shape
from mpm.shapes.arguments import brief
from mpm.shapes.volumes import Volume, volume_within

Floats = NDArray[np.float64]

COARSE = 0.5  # of the shape's volume: so far may the number of particles be off without a warning
UNSURE = 0.01  # relative error of a measured volume that causes a warning
CHUNK = 1 << 18  # candidate points that are checked together
LEAST_CHUNK = 1 << 14  # of one of several processes
ROUNDS = (
    16  # in which several processes fill a shape, at most where they check less than CHUNK points together
)
MILLIMETRES = 20  # times the size of the domain: a shape that large is probably in millimetres
MARGIN = 1e-9  # of a (sub-)cell: random points avoid its faces, where rounding may change the cell


def sample(shape: Shape, **arguments: Any) -> tuple[Floats, Floats]:
    """The particles of `plan` at once: positions [m] and volumes [m³; in 2-D m²]."""
    return plan(shape, **arguments, keep=True).whole()


class Piece(NamedTuple):
    """Particles of a shape that this process finds, and how many others find at the same time beside them."""

    x: Floats  # (k, d)
    volume: Floats  # (k,)
    before: int
    after: int


class Sums(NamedTuple):
    """What is known of all particles of a plan."""

    volume: float  # [m³; in 2-D m²]
    mass: float  # [kg]
    least: float  # the volume of one
    most: float


@dataclass
class Plan:
    """Particles that are known but for their places: those are found again, piece by piece, when they are asked for.

    Several processes take the chunks of cells in turn: each knows its own, and all know how many particles the others
    have.

    Attributes
    ----------
    each, number : (m,) ndarray
        The volume of each particle of a cell [m³; in 2-D m²], and how many there are, of all own cells with particles.
    of_chunk : ndarray
        How many particles each chunk has.
    """

    each: Floats
    number: NDArray[np.int64]
    of_chunk: NDArray[np.int64]
    _lattice: _Lattice | None = None
    _points: Floats | None = None
    _kept: dict[int, _Kept] = field(default_factory=dict)
    _sharers: Sharers = ALONE

    @property
    def count(self) -> int:
        """How many particles there are."""
        return int(self.of_chunk.sum())

    def whole(self) -> tuple[Floats, Floats]:
        """Positions (n, d) and volumes (n,) of all particles, in a process alone."""
        if self._points is not None:
            return self._points.copy(), self.each
        return np.concatenate([one.x for one in self.pieces()]), np.repeat(self.each, self.number)

    def sums(self, density: float) -> Sums:
        """Of all particles, which have a density [kg/m³]; exact, so that no order matters."""
        parts = [parts_of_sum(repeated(one, self.number)) for one in (self.each, density * self.each)]
        ends = (float(self.each.min()), float(self.each.max())) if len(self.each) else (np.inf, 0.0)
        told = [(parts, ends)] if self._points is not None else self._sharers.told(lambda: (parts, ends))
        volume, mass = (exact_sum(one[k] for one, _ in told) for k in range(2))
        return Sums(volume, mass, min(low for _, (low, _) in told), max(high for _, (_, high) in told))

    def pieces(self) -> Iterator[Piece]:
        """Positions (k, d) and volumes (k,), in the order of the particles; each piece once. Several processes have
        one each in every round, which may be empty."""
        own, processes = self._sharers.process, self._sharers.processes
        stream = None if self._lattice is None else self._lattice.stream()
        done = 0
        for begin in range(0, len(self.of_chunk), processes):
            counts = self.of_chunk[begin : begin + processes]
            if not counts.any():
                continue
            cells = self._kept[begin + own].cells if begin + own in self._kept else 0
            found: list[tuple[Floats, Floats]] = []

            def find(number: int, cells: slice, found: list[tuple[Floats, Floats]]) -> None:
                found.append(self._find(number, cells, stream))

            part = slice(done, done + cells)
            self._sharers.told(partial(find, begin + own, part, found))
            done += cells
            yield Piece(*found[0], int(counts[:own].sum()), int(counts[own + 1 :].sum()))

    def _find(self, number: int, cells: slice, stream: Stream | None) -> tuple[Floats, Floats]:
        """The particles of a chunk, which is of a lattice with this stream, or of points."""
        if stream is None or self._lattice is None:
            assert self._points is not None
            part = slice(number * CHUNK, (number + 1) * CHUNK)
            return self._points[part].copy(), self.each[part]  # copies are in C order
        if number not in self._kept:
            return np.zeros((0, self._lattice.domain.dimension)), np.zeros(0)
        x = self._kept[number].x(self._lattice, stream)
        return x, np.repeat(self.each[cells], self.number[cells])


@dataclass
class _Lattice:
    """The cells around a shape, and how candidates lie in them."""

    domain: Box
    dx: float
    per_cell: int
    side: int
    sampling: str
    rng: np.random.Generator  # as it is before the first cell
    first: NDArray[np.int64]
    extent: NDArray[np.int64]
    noise: bluenoise.Tile | None

    def stream(self, rng: np.random.Generator | None = None) -> Stream:
        """The random numbers of the cells, from this generator before the first one, or from a copy."""
        irregular = self.sampling in ("stratified", "random")
        each = self.per_cell * self.domain.dimension if irregular else 0
        return Stream(copy.deepcopy(self.rng) if rng is None else rng, each)

    def cells(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cells (m, d) of these numbers."""
        return self.first + np.stack(np.unravel_index(index, self.extent), axis=1)

    def candidates(self, begin: int, end: int, stream: Stream) -> tuple[Floats, NDArray[np.int64] | None]:
        """Of the cells begin .. end - 1; see `_candidates`."""
        rng, cell = stream.of(begin, end), self.cells(np.arange(begin, end))
        return _candidates(
            cell, self.domain, self.dx, self.per_cell, self.side, self.sampling, rng, self.noise
        )


@dataclass
class _Kept:
    """Which candidates of the cells begin .. end − 1 are particles: a bit of each; None where all are."""

    begin: int
    end: int
    cells: int
    """Of those, how many have particles."""
    bits: NDArray[np.uint8] | None
    found: Floats | None
    """Their places, if they are kept."""

    def x(self, lattice: _Lattice, stream: Stream) -> Floats:
        if self.found is not None:
            return self.found
        x, _ = lattice.candidates(self.begin, self.end, stream)
        return x if self.bits is None else x[np.unpackbits(self.bits, count=len(x)).view(bool)]


def plan(
    shape: Shape,
    *,
    lower: Floats,
    upper: Floats,
    dx: float,
    particles_per_cell: int,
    sampling: str,
    rng: np.random.Generator,
    body: str,
    size: str = "dx",
    scaled: bool = True,
    room: int = MOST_ROWS,
    present: int = 0,
    keep: bool = False,
    sharers: Sharers = ALONE,
    holder: str = MACHINE.holder,
) -> Plan:
    """Fill a shape with particles. `mpm.mpm.numerics.Numerics` and `mpm.Scene` have checked the arguments.

    Parameters
    ----------
    shape
        What to fill. Shapes without end are clipped to the domain; others must lie in it. The particles of
        `Points` are its own.
    lower, upper : (d,) ndarray
        The domain [m]; cells count from `lower`.
    dx
        Width of a cell [m].
    particles_per_cell
        Candidates in each cell; k^d for ``"stratified"`` and ``"lattice"``; the mean for ``"poisson"``.
    sampling
        ``"stratified"``: each cell is split into k^d sub-cells with one random point each; ``"lattice"``: the
        middles of the sub-cells; ``"random"``: random points of the cell; ``"poisson"``: random points that keep a
        distance from each other, in a tile that repeats.
    rng
        It is advanced. The same one gives the same points.
    body
        Whose shape it is: a name for messages.
    size
        What users call `dx`.
    scaled
        Whether the volumes of particles are to add up to that of the shape; if not, each has its share of a cell.
    room, present
        How many particles the memory can hold, and how many of them are there already.
    keep
        Keep the places, which takes memory and spares the time to find them again.
    sharers
        The processes that share the work; all call this with the same arguments. What one of them raises, all raise.
    holder
        Who has the memory, for messages.

    Returns
    -------
    Plan
        Positions [m] cell by cell in lexicographic order, and volumes [m³; in 2-D m²]: dx^d / particles_per_cell each
        where the shape fills the cells; where it cuts one, the filled part is shared by the particles there. The sum is
        the volume of the shape in the domain; of `Points`, what they say.

    Raises
    ------
    ValueError
        The shape sticks out of the domain, no particle falls into it.
    MemoryError
        There would be more particles than the machine can hold.

    Warns
    -----
    UserWarning
        So few particles fall into the shape, or so many, that they resolve it badly, or its volume is known to less
        than a hundredth.

    References
    ----------
    Stratified: one jittered sample per stratum, as in R. L. Cook, ACM Trans. Graph. 5 (1986) 51.
    """
    dim, domain = shape.dimension, Box(lower, upper)
    side = round(particles_per_cell ** (1 / dim)) if sampling in ("stratified", "lattice") else 1
    cells = np.rint((domain.upper - domain.lower) / dx)
    each = dx**dim / particles_per_cell
    of_body = f" of {body!r}"
    refuse_outside(shape, domain, dx, of_body)
    if isinstance(shape, Points):
        _refuse_too_many(len(shape.x), room, present, f"shape{of_body}", holder)
        volume = pointvolumes.find(shape, domain.lower, dx, each)
        of_chunk = np.diff(np.append(np.arange(0, len(volume), CHUNK), len(volume)))
        return Plan(volume, np.ones(len(volume), np.int64), of_chunk, _points=shape.x, _sharers=sharers)

    expected = shape._volume()
    _refuse_too_many(0 if expected is None else expected / each, room, present, f"{size} = {dx:g} m", holder)
    first, last = _cell_range(shape, domain, dx, cells.astype(np.int64))
    extent = np.maximum(last - first, 0)
    if extent.prod(dtype=float) >= 2**53:
        raise ValueError(
            f"{size}: expected one that divides the box around a shape into 1 to 2^53 cells, got {dx:g}"
        )
    filler, filling = Filler(shape, domain.lower, dx, side), Filling(extent, each)
    noise = bluenoise.tile(dim, particles_per_cell, rng) if sampling == "poisson" else None
    lattice = _Lattice(
        domain, dx, particles_per_cell, side, sampling, copy.deepcopy(rng), first, extent, noise
    )
    kept: dict[int, _Kept] = {}
    cell_count, step = int(extent.prod()), _chunk(int(extent.prod()), particles_per_cell, sharers.processes)
    stream = lattice.stream(rng)

    def find() -> list[int]:
        """How many particles the own chunks have."""
        counts: list[int] = []
        for begin in range(sharers.process * step, cell_count, sharers.processes * step):
            index = np.arange(begin, min(begin + step, cell_count))
            x, owner = lattice.candidates(begin, int(index[-1]) + 1, stream)
            inside = shape.contains(x)
            number, here = _numbers(inside, owner, len(index))
            filling.add(index, filler.shares(lattice.cells(index)), number, here)
            counts.append(int(here.sum()))
            if here.any():
                bits = None if keep or inside.all() else np.packbits(inside)
                found = x[inside] if keep else None
                some = int(np.count_nonzero(here))
                kept[begin // step] = _Kept(begin, int(index[-1]) + 1, some, bits, found)
            _refuse_too_many(sum(counts), room, present, f"{size} = {dx:g} m", holder)
        return counts

    of_chunk = np.zeros(-(-cell_count // step), dtype=np.int64)
    for process, counts in enumerate(sharers.told(find)):
        of_chunk[process :: sharers.processes] = counts
    stream.of(cell_count, cell_count)  # where the next body goes on
    count = int(of_chunk.sum())
    _refuse_too_many(count, room, present, f"{size} = {dx:g} m", holder)
    if not count:
        raise ValueError(_nothing(shape, dx, domain, of_body, size))
    if not scaled:
        _warn_if_coarse(shape, domain, count * each, f"particles{of_body} have", f"{size} = {dx:g}", size)
        number = filling.numbers()
        return Plan(np.full(len(number), each), number, of_chunk, lattice, _kept=kept, _sharers=sharers)
    one, number = filling.volumes(_total(shape, domain, dx, count * each, of_body), sharers)
    return Plan(one, number, of_chunk, lattice, _kept=kept, _sharers=sharers)


def _chunk(cells: int, per_cell: int, processes: int) -> int:
    """How many cells are filled together. What several processes find in a round waits beside the particles that are
    there, so a round is to be a small part of all, and not so small that rounds take the time."""
    points = CHUNK
    if processes > 1:
        points = min(CHUNK, max(LEAST_CHUNK, cells * per_cell // (ROUNDS * processes)))
    return max(1, points // per_cell)


def _numbers(
    inside: NDArray[np.bool_], owner: NDArray[np.int64] | None, cells: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many candidates each cell has, and how many of them are inside."""
    if owner is None:
        each = inside.reshape(cells, -1)
        return np.full(cells, each.shape[1]), np.count_nonzero(each, axis=1)
    return np.bincount(owner, minlength=cells), np.bincount(owner[inside], minlength=cells)


def _total(shape: Shape, domain: Box, dx: float, sampled: float, of_body: str) -> float | None:
    """The volume that the particles shall have; None if nothing is known. Warns if they resolve the shape badly."""
    found = _warn_if_coarse(
        shape,
        domain,
        sampled,
        f"particles{of_body} would have",
        f"dx = {dx:g}",
        "dx or more particles_per_cell",
    )
    if not found.value:
        return None
    if found.error > UNSURE:
        warnings.warn(
            f"shape{of_body}: the volume of {shape!r} is known to {found.error:.1%} only: {found.value:.6g}",
            UserWarning,
            stacklevel=_check.levels_to_caller(),
        )
    return found.value


def _warn_if_coarse(
    shape: Shape, domain: Box, sampled: float, would: str, given: str, smaller: str
) -> Volume:
    """The volume of a shape; warns if that of its particles is far off."""
    found = volume_within(shape, domain.lower, domain.upper)
    if found.value and abs(sampled / found.value - 1) > COARSE:
        unscaled = " if they were not scaled" * would.endswith("would have")
        warnings.warn(
            f"{would} {sampled / found.value:.3g} times the volume of {shape!r}{unscaled}: it is too small for {given}"
            f"; choose a smaller {smaller}",
            UserWarning,
            stacklevel=_check.levels_to_caller(),
        )
    return found


def _refuse_too_many(count: float, room: int, present: int, given: str, holder: str) -> None:
    if count + present > room:
        beside = f" beside the {present:.3g} of other bodies" * (present > 0)
        raise MemoryError(
            f"{given}: {'more than ' * (count + present < 1.01 * room)}{count:.3g} particles{beside}; "
            f"{holder} at most {room:.3g}"
        )


def _candidates(
    cell: NDArray[np.int64],
    domain: Box,
    dx: float,
    per_cell: int,
    side: int,
    sampling: str,
    rng: np.random.Generator,
    noise: bluenoise.Tile | None,
) -> tuple[Floats, NDArray[np.int64] | None]:
    """The points (n, d) of the cells (m, d), inside the shape or not, and the number of its cell for each (n,); None if
    all cells have as many."""
    dim = domain.dimension
    owner: NDArray[np.int64] | None = None
    place: Any
    if noise is not None:
        place, count = noise.candidates(cell)
        owner = np.repeat(np.arange(len(cell)), count)
    else:
        u: Any = 0.5
        if sampling != "lattice":
            u = MARGIN + (1 - 2 * MARGIN) * rng.random((len(cell), per_cell, dim))
        if sampling == "random":
            place = cell[:, None, :] + u
        else:
            sub = np.stack(np.unravel_index(np.arange(per_cell), (side,) * dim), axis=1)
            place = (cell[:, None, :] * side + sub) + u
    x: Floats = place.reshape(-1, dim)
    x *= dx / side
    x += domain.lower
    return x.clip(domain.lower, np.nextafter(domain.upper, domain.lower), out=x), owner


def _cell_range(
    shape: Shape, domain: Box, dx: float, cells: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cells first <= i < last that the shape's bounds reach."""
    lower, upper = shape.bounds
    first = np.floor(np.clip((lower - domain.lower) / dx + MARGIN, 0, cells)).astype(np.int64)
    last = np.ceil(np.clip((upper - domain.lower) / dx - MARGIN, 0, cells)).astype(np.int64)
    return first, last


def refuse_outside(shape: Shape, domain: Box, dx: float, of_body: str) -> None:
    """Raise ValueError if a shape of finite size has points outside the domain."""
    lower, upper = shape.bounds
    if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
        return
    slack = 1e-9 * dx + 4 * np.spacing(np.maximum(np.abs(domain.lower), np.abs(domain.upper)))
    if ((lower >= domain.lower - slack) & (upper <= domain.upper + slack)).all():
        return
    if not shape._exact_bounds:  # its box may be too large, so check the shape itself
        count = np.clip(np.ceil((upper - lower) / dx), 1, 64 if shape.dimension == 3 else 512).astype(
            np.int64
        )
        index = np.stack(np.unravel_index(np.arange(count.prod()), count), axis=1)
        x = lower + (upper - lower) * (index + 0.5) / count
        outside = ((x < domain.lower - slack) | (x > domain.upper + slack)).any(axis=1)
        if not shape.contains(x[outside]).any():
            return
    remedy = "move it" if isinstance(shape, Points) else "move it, or cut it with shape & Box(lower, upper)"
    moved = repr(shape)
    if ".rotate(" in moved and "about=" not in moved:
        remedy = f"rotate() turns a shape about the origin unless it has about=; {remedy}"
    remedy = if_in_millimetres(shape, domain.lower, domain.upper) or remedy
    raise ValueError(
        f"shape{of_body}: {shape!r} sticks out of the domain: it spans {brief(lower)} to {brief(upper)}, the domain "
        f"{brief(domain.lower)} to {brief(domain.upper)}; {remedy}"
    )


def if_in_millimetres(shape: Shape, lower: Floats, upper: Floats) -> str:
    """What helps if a shape is so much larger than a domain that its lengths must be in millimetres; else nothing."""
    low, high = shape.bounds
    times = float((high - low).max() / (upper - lower).max())
    return (
        f"it is {times:.3g} times as large: is it in millimetres? Then use shape.scale(1e-3)"
        if MILLIMETRES <= times < np.inf
        else ""
    )


def _nothing(shape: Shape, dx: float, domain: Box, of_body: str, size: str) -> str:
    lower, upper = shape.bounds
    extent = np.minimum(upper, domain.upper) - np.maximum(lower, domain.lower)
    none = f"no particle falls into {shape!r} with {size} = {dx:g} m"
    if (extent < 2 * dx).any() and (extent > 0).all():
        return f"shape{of_body}, {size}: {size} is larger than the body: {none}"
    return f"shape{of_body}: {none}: it is empty, or outside the domain"
