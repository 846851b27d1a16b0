"""Numbers in text files, read strictly and in little memory."""

from __future__ import annotations

import io
from array import array
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.errors import FileFormatError


def lines(data: bytes) -> Iterator[tuple[int, str]]:
    """The lines of a text, counted from 1.

    Raises
    ------
    FileFormatError
        It is no 8-bit text.
    """
    if data[:2] in (b"\xfe\xff", b"\xff\xfe") or b"\0" in data[:4096]:
        raise FileFormatError("is not 8-bit text (UTF-16, perhaps, or binary); save it again as UTF-8")
    # Only comments and names may contain more than ASCII.
    return enumerate(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", errors="replace"), 1)


class Rows:
    """Rows of numbers, each of so many words."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._values = array("d")

    def __len__(self) -> int:
        return len(self._values) // self.width

    def take(self, line: int, words: Sequence[str]) -> None:
        """Append a row; a FileFormatError that names the line if it is none."""
        if len(words) != self.width:
            raise FileFormatError(f"line {line}: has {len(words)} values; must be {self.width}")
        before = len(self._values)
        try:
            self._values.extend(map(float, words))
        except ValueError:
            at = len(self._values) - before
            raise FileFormatError(f"line {line}: {_check.shown(words[at])} is not a number") from None

    def array(self) -> npt.NDArray[np.float64]:
        """(rows, width)."""
        return np.frombuffer(self._values, dtype=np.float64).reshape(-1, self.width)


def whole(line: int, word: str, most: int) -> int:
    """A count from 0 to `most`."""
    if not (word.isascii() and word.isdigit() and len(word) < 19 and int(word) <= most):
        raise FileFormatError(f"line {line}: {_check.shown(word)} must be a whole number of at most {most}")
    return int(word)
