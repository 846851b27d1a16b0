"""How solvers are kept: what copies, pickles, files and comparisons ask of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

if TYPE_CHECKING:
    from mpm.io.description import Arrays, Tree


class Format(Protocol):
    """How snapshots of one kind of solver are written down: what is in them is said here, for all who keep them."""

    def describe(self, kept: Any, /) -> tuple[Tree, Arrays]:
        """Everything in a snapshot; a TypeError if a file cannot keep it."""

    def restore(self, tree: Tree, arrays: Arrays, /) -> Any:
        """The snapshot again; a ValueError, TypeError or KeyError if it makes no sense."""

    def quantities(self, kept: Any, /) -> dict[str, Any]:
        """All that is compared, by name: numbers, strings and arrays."""


class Keepable(Protocol):
    """A solver that can be taken apart, and made anew from that."""

    _kind: ClassVar[str]

    @staticmethod
    def _format() -> Format:
        """That of its snapshots."""

    def _snapshot(self) -> Any:
        """Everything that it is, but for its threads."""

    @classmethod
    def _of(cls, kept: Any, threads: int | None, /) -> Self:
        """A solver from a snapshot; a ValueError if the parts of that do not fit each other."""


SOLVERS: dict[str, type[Keepable]] = {}
"""The solvers that files may hold, by their kind: each is entered when its class is made."""
