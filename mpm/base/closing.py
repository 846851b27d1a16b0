"""Objects that a ``with`` block closes at its end."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """Base of what has a method `close`."""

    __slots__ = ()

    def close(self) -> None:
        """Let go of the file; again: nothing."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
