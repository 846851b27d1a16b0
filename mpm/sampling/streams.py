"""Random numbers of cells, of which a process draws those of its own cells alone."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Stream"]

PIECE = 1 << 16  # numbers that are drawn together and forgotten


class Stream:
    """The random numbers that consecutive cells take from a generator, as many each.

    Parameters
    ----------
    rng : numpy.random.Generator
        As it is before the first cell. It is advanced.
    each : int
        Numbers of a cell, which `Generator.random` draws.
    """

    def __init__(self, rng: np.random.Generator, each: int) -> None:
        self._rng, self._each, self._at = rng, each, 0

    def of(self, begin: int, end: int) -> np.random.Generator:
        """The generator where it is before the cell `begin`; the caller draws the numbers of all cells before `end`.
        Calls ascend."""
        skip(self._rng, (begin - self._at) * self._each)
        self._at = end
        return self._rng


def skip(rng: np.random.Generator, count: int) -> None:
    """Leave a generator as if it had drawn `count` numbers by `Generator.random`."""
    if not count:
        return
    bits = rng.bit_generator
    if isinstance(bits, (np.random.PCG64, np.random.PCG64DXSM)):  # they take one draw for each number
        before: Any = bits.state
        half = {name: before[name] for name in ("has_uint32", "uinteger")}  # left of an earlier draw
        bits.advance(count)
        after: Any = bits.state
        bits.state = after | half
        return
    while count > 0:
        rng.random(min(count, PIECE))
        count -= PIECE
