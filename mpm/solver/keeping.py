"""The protocol that copies, pickles, files and comparisons use to keep solvers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, Self, TypeAlias, TypeVar

from mpm.base.streamed import Given

Tree: TypeAlias = dict[str, Any]
T = TypeVar("T")


class Format(Protocol):
    """How files and comparisons see the snapshots of one kind of solver: the only list of what is in them."""

    def describe(self, kept: Any, /) -> tuple[Tree, Mapping[str, Given]]:
        """Everything in a snapshot; a TypeError if a file cannot keep it."""

    def restore(self, tree: Tree, arrays: Mapping[str, Given], /) -> Any:
        """The snapshot again; a ValueError, TypeError or KeyError if it makes no sense."""

    def quantities(self, kept: Any, /) -> dict[str, Any]:
        """All that is compared, by name: numbers, strings and arrays."""


class Keepable(Protocol):
    """A solver that a snapshot can replace."""

    _kind: ClassVar[str]

    @staticmethod
    def _format() -> Format:
        """The format of its snapshots."""

    def _snapshot(self) -> Any:
        """The complete state of the solver, except for its threads."""

    def _with_snapshot(self, use: Callable[[Any], T], /) -> T:
        """What `use` returns for a snapshot that holds for this call alone: its arrays may come in pieces."""

    @classmethod
    def _of(cls, kept: Any, threads: int | None, /) -> Self:
        """Make a solver from a snapshot; a ValueError if the parts of the snapshot do not fit each other."""


SOLVERS: dict[str, type[Keepable]] = {}
"""The solvers that files may hold, by kind. The definition of a class enters it."""

OWN = {"fem": "mpm.fem", "sph": "mpm.sph"}
"""The modules of this package that define further solvers, by kind; a file that holds one imports its module."""
