"""Arrays that come in pieces, so that they need not be in memory as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["PIECE", "Array", "Given", "Streamed", "pieces", "whole"]

Array: TypeAlias = npt.NDArray[Any]
PIECE = 1 << 24  # bytes


class Streamed:
    """An array as consecutive pieces along its first axis.

    Parameters
    ----------
    dtype : dtype
    shape : tuple of int
    pieces : callable
        Returns an iterator over the pieces, anew with every call.
    """

    def __init__(
        self, dtype: np.dtype[Any], shape: tuple[int, ...], pieces: Callable[[], Iterator[Array]]
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.pieces = pieces

    @property
    def nbytes(self) -> int:
        """Of the whole array."""
        size = self.dtype.itemsize
        for n in self.shape:
            size *= n
        return size


Given: TypeAlias = Array | Streamed


def pieces(array: Given) -> Iterator[Array]:
    """The pieces of an array."""
    return array.pieces() if isinstance(array, Streamed) else iter([array])


def whole(array: Given) -> Array:
    """The array as a whole."""
    if not isinstance(array, Streamed):
        return array
    made = np.empty(array.shape, array.dtype)
    first = 0
    for piece in array.pieces():
        made[first : first + len(piece)] = piece
        first += len(piece)
    return made
