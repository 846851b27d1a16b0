"""The processes that fill a shape together, and sums that do not depend on who adds what."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["ALONE", "Sharers", "exact_sum", "parts_of_sum", "repeated", "total"]

PIECE = 1 << 14
K = TypeVar("K")


class Sharers(Protocol):
    """Processes that share work. All make the same calls in the same order."""

    @property
    def process(self) -> int:
        """The own one, from 0 on."""

    @property
    def processes(self) -> int:
        """Their number."""

    def told(self, find: Callable[[], K]) -> list[K]:
        """What `find` returns in every process; what one of them raises, all raise."""


class _Alone:
    """One process, which does all."""

    process, processes = 0, 1

    def told(self, find: Callable[[], K]) -> list[K]:
        return [find()]


ALONE: Sharers = _Alone()


def parts_of_sum(values: NDArray[np.float64]) -> list[float]:
    """A few numbers whose exact sum is that of the values: a share of a sum."""
    if not np.isfinite(values).all():
        return [float(values.sum())]
    parts: list[float] = []
    try:
        while rest := math.fsum(chain(_listed(values), (-part for part in parts))):
            parts.append(rest)
    except OverflowError:
        return [math.inf]
    return parts


def _listed(values: NDArray[np.float64]) -> Iterator[float]:
    """The values one by one, without a list of all."""
    return chain.from_iterable(values[k : k + PIECE].tolist() for k in range(0, len(values), PIECE))


def total(values: NDArray[np.float64]) -> float:
    """The sum of the values, rounded once."""
    return exact_sum([parts_of_sum(values)])


def repeated(values: NDArray[np.float64], number: NDArray[np.int64]) -> NDArray[np.float64]:
    """A few multiples, none of them rounded, whose sum is that of each of the values so many times."""
    bits = range(int(number.max(initial=0)).bit_length())
    return np.concatenate([values[:0], *(values[number >> bit & 1 == 1] * 2.0**bit for bit in bits)])


def exact_sum(parts: Iterable[list[float]]) -> float:
    """The sum of all values of which processes have found these parts, rounded once."""
    return math.fsum(chain.from_iterable(parts))
