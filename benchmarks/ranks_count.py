"""What MPI processes send each other in an explicit step, counted from the blocks of particles alone.

The count knows the rules of docs/design/026 and nothing of the core: blocks along the curve, tasks, the nodes that
groups can reach, and who needs the copies of which block. It covers one layer of bodies without images of nodes
(mirrors, periodic faces), cut into equal numbers of tasks. `tests/mpi_scenes.py` compares it with the bytes that
leave.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

PER_TASK = 8192  # particles
BATCH = 2**18  # groups in memory at a time
EXACT = 70  # integers of an exact sum
SUMS, MAXIMA, COUNTS = "sums", "maxima", "counts"
# Numbers in the two reductions of an explicit step without damping, colliders or loads.
GRID = {SUMS: 3, MAXIMA: 9, COUNTS: 0}  # impulse of walls; extremes of velocities, speed of approach
STATE = {SUMS: 15, MAXIMA: 5, COUNTS: 5}  # mass, momentum, moments, energies, dissipation; speeds; particles


def reduced(numbers: dict[str, int]) -> int:
    """The bytes that a process has in a reduction: its numbers and a status word."""
    return 8 * (EXACT * numbers[SUMS] + numbers[COUNTS] + numbers[MAXIMA] + 1)


STEP = sum(map(reduced, (GRID, STATE)))


@dataclasses.dataclass(frozen=True)
class Groups:
    """Particles of one block each, along the curve."""

    block: NDArray[np.int32]  # (groups, dim)
    count: NDArray[np.int64]
    first: NDArray[
        np.int8
    ]  # (groups, dim): nodes that particles can reach until the next binning, from the block's
    last: NDArray[np.int8]

    @property
    def dim(self) -> int:
        return int(self.block.shape[1])

    @property
    def side(self) -> int:
        """Nodes of a block along an axis."""
        return 4 if self.dim == 3 else 8


def curve(block: NDArray[np.int32]) -> NDArray[np.uint64]:
    """The place of blocks along Morton's curve."""
    dim = block.shape[1]
    place = np.zeros(len(block), np.uint64)
    for axis in range(dim):
        offset = (block[:, axis].astype(np.int64) + 2**20).astype(np.uint64)
        for bit in range(21):
            place |= (offset >> np.uint64(bit) & np.uint64(1)) << np.uint64(3 * bit + 2 - axis)
    return place


def groups_of(x: NDArray[Any], lower: Any, dx: float, degree: int = 2) -> Groups:
    """The groups of particles at positions, as a binning finds them."""
    dim = x.shape[1]
    side = 4 if dim == 3 else 8
    base = np.floor((x - np.asarray(lower)) / dx - (degree - 1) / 2).astype(np.int32)
    block = base // side
    inside = (base - side * block).astype(np.int8)
    place, index = np.unique(curve(block), return_inverse=True)
    count = np.bincount(index)
    first, last = np.full((len(place), dim), side, np.int8), np.zeros((len(place), dim), np.int8)
    np.minimum.at(first, index, inside)
    np.maximum.at(last, index, inside)
    blocks = np.empty((len(place), dim), np.int32)
    blocks[index] = block
    return Groups(blocks, count, first - np.int8(1), last + np.int8(degree + 1))


def full_cube(blocks: int, per_cell: int = 8, degree: int = 2) -> Groups:
    """The groups of a full cube of `blocks` blocks along each of three axes."""
    along = np.arange(blocks, dtype=np.int32)
    block = np.stack(np.meshgrid(along, along, along, indexing="ij"), -1).reshape(-1, 3)
    block = block[np.argsort(curve(block))]
    shape = (len(block), 3)
    return Groups(
        block,
        np.full(len(block), 64 * per_cell),
        np.full(shape, -1, np.int8),
        np.full(shape, 4 + degree, np.int8),
    )


def tasks(groups: Groups) -> NDArray[np.int64]:
    """The first group of each task; one more at the end."""
    particles = int(groups.count.sum())
    number = -(-particles // PER_TASK)
    number = max(2, number if number <= 2 else (number + 3) // 4 * 4)
    taken = np.cumsum(groups.count) - groups.count + groups.count // 2
    cuts = particles * np.arange(1, number) // number
    return np.concatenate([[0], np.searchsorted(taken, cuts), [len(groups.count)]])


@dataclasses.dataclass(frozen=True)
class Count:
    """Of one exchange, by process."""

    sent: NDArray[np.int64]  # bytes
    away: NDArray[np.int64]  # of them, to processes of other machines
    messages: NDArray[np.int64]
    particles: NDArray[np.int64]
    inner: NDArray[np.int64]  # of them, those of tasks that send nothing
    blocks: NDArray[np.int64]  # that a process computes, those that others compute as well included


class _Map:
    """Where the blocks of groups and of their neighbours are in one array."""

    def __init__(self, groups: Groups) -> None:
        dim = groups.dim
        self.groups = groups
        self.block = groups.block - groups.block.min(0) + 1
        self.shape = tuple(self.block.max(0) + 2)
        self.size = int(np.prod(self.shape))
        self.offsets = np.stack(np.meshgrid(*[np.arange(-1, 2)] * dim, indexing="ij"), -1).reshape(-1, dim)

    def reached(self, first: int, end: int) -> Iterator[tuple[NDArray[Any], ...]]:
        """By neighbour: which of the groups from `first` to before `end` reach it, where it is, and the nodes there."""
        side, low, high = self.groups.side, self.groups.first[first:end], self.groups.last[first:end]
        for offset in self.offsets:
            here = side * offset.astype(np.int8)
            begin, stop = np.maximum(low - here, 0), np.minimum(high - here + 1, side)
            group = np.flatnonzero((begin < stop).all(1))
            at = np.ravel_multi_index(tuple((self.block[first:end][group] + offset).T), self.shape)
            yield group + first, at, begin[group], stop[group]


def exchange(groups: Groups, processes: int, real: int = 4, fields: int = 1, together: int = 1) -> Count:
    """What every process sends in one exchange of `fields` arrays of `real` bytes a number; `together` of them share a
    machine.
    """
    where, task_group = _Map(groups), tasks(groups)
    number = len(task_group) - 1
    cut = [int(task_group[number * r // processes]) for r in range(processes + 1)]
    task = np.repeat(np.arange(number), np.diff(task_group))
    process = np.repeat(np.arange(processes), np.diff(cut))
    least, most = np.full(where.size, processes), np.full(where.size, -1)
    for group, at, *_ in where.reached(0, len(task)):
        np.minimum.at(least, at, process[group])
        np.maximum.at(most, at, process[group])
    blocks = np.bincount(least[least == most], minlength=processes)
    found = []
    for first in range(0, len(task), BATCH):
        for group, at, low, high in where.reached(first, min(first + BATCH, len(task))):
            shared = least[at] < most[at]
            found.append((task[group[shared]] * where.size + at[shared], low[shared], high[shared]))
    key, low, high = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(key, kind="stable")
    key = key[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    nodes = np.zeros(0, np.int64)
    if len(key):
        high, low = np.maximum.reduceat(high[order], starts), np.minimum.reduceat(low[order], starts)
        nodes = (high - low).prod(-1, dtype=np.int64)
    of_task = np.asarray(process[task_group[:-1].clip(max=len(task) - 1)])
    sending = key[starts] // where.size
    inner = np.ones(number, bool)
    inner[sending] = False
    key = of_task[sending] * where.size + key[starts] % where.size
    pair, index = np.unique(key, return_inverse=True)  # process and block
    nodes = np.bincount(index, nodes, len(pair)).astype(np.int64)
    owner, at = pair // where.size, pair % where.size
    all_there = np.bincount(at, minlength=where.size)[at]
    _, machine, near = np.unique(owner // together * where.size + at, return_inverse=True, return_counts=True)
    bytes_of = nodes * 4 * real * fields
    return Count(
        np.bincount(owner, bytes_of * (all_there - 1), processes).astype(np.int64),
        np.bincount(owner, bytes_of * (all_there - near[machine]), processes).astype(np.int64),
        _neighbours(at, owner, processes),
        np.bincount(process, groups.count, processes).astype(np.int64),
        np.bincount(process, groups.count * inner[task], processes).astype(np.int64),
        blocks + np.bincount(owner, minlength=processes),
    )


def _neighbours(at: NDArray[Any], process: NDArray[Any], processes: int) -> NDArray[np.int64]:
    """The number of processes with which each shares a block."""
    order = np.lexsort((process, at))
    at, process = at[order], process[order]
    pairs: list[NDArray[np.int64]] = []
    step = 1
    while len(at) > step and (same := at[step:] == at[:-step]).any():
        pairs.append(np.unique(process[:-step][same].astype(np.int64) * processes + process[step:][same]))
        step += 1
    pair = np.unique(np.concatenate(pairs)) if pairs else np.empty(0, np.int64)
    return np.bincount(pair // processes, minlength=processes) + np.bincount(
        pair % processes, minlength=processes
    )
