"""The protocol that copies, pickles, files and comparisons use to keep solvers, and the arrays of cores for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from mpm import _core
from mpm.base import fieldtable
from mpm.base.streamed import PIECE, Array, Given, Streamed, pieces, whole
from mpm.solver.core import Core

if TYPE_CHECKING:
    from mpm.solver.team import Team

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

    @classmethod
    def _shared(cls, kept: Any, threads: int | None, team: Team, /) -> Self:
        """The same, with memory distributed over the processes of a team."""

    @classmethod
    def _moved(cls, kept: Any, device: str, /) -> Any:
        """The snapshot of a solver that runs on another device."""


SOLVERS: dict[str, type[Keepable]] = {}
"""The solvers that files may hold, by kind. The definition of a class enters it."""

OWN = {"fem": "mpm.fem", "sph": "mpm.sph"}
"""The modules of this package that define further solvers, by kind; a file that holds one imports its module."""


# ---- the arrays of a core in C ---------------------------------------------------------------------------

Layout: TypeAlias = Mapping[str, tuple[str, tuple[int, ...]]]
"""Type and shape of the arrays of a snapshot, in their order. One axis may be -1."""


def held(core: Core, call: Callable[[], T], *, again: bool = False) -> T:
    """What `call` returns; meanwhile calls from other threads raise `mpm.BusyError`. `again`: see `Core.hold`."""
    done: list[T] = []
    core.hold(lambda: done.append(call()), again)
    return done[0]


def layout_of_rows(core: _core.Core, dimension: int, dtype: str) -> Layout:
    """The arrays of a core whose fields are all kept by row."""
    width = sum(columns for _, columns in core.history_names())
    kinds = {"id": "int64", "material": "int32"}
    return {
        "times": ("float64", (-1,)),
        "counters": ("int64", (-1,)),
        "history": ("float64", (-1, width)),
        "books": ("float64", (-1,)),
        "numbers": ("float64", (-1,)),
        **{
            row["name"]: (
                kinds.get(row["name"], dtype),
                (core.particles, *fieldtable.shape(row["rank"], dimension)),
            )
            for row in core.fields()
        },
    }


def arrays_of(
    core: _core.Core, layout: Callable[[Mapping[str, bytes]], Layout], *, streamed: bool
) -> dict[str, Given]:
    """The arrays of the core, after reading in what was written through views.

    If `streamed`, fields come in pieces, which are copied when they are asked for; the caller holds the core until
    then. `layout` is given all other arrays.
    """
    given = core.snapshot(not streamed)
    return {
        name: np.frombuffer(given[name], dtype=kind).reshape(shape)
        if name in given
        else _field(core, name, np.dtype(kind), shape)
        for name, (kind, shape) in layout(given).items()
    }


def _field(core: _core.Core, name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Streamed:
    """A field that the core copies piece by piece."""
    n, *row = shape
    step = max(1, PIECE // (dtype.itemsize * math.prod(row)))

    def copied() -> Iterator[Array]:
        for first in range(0, n, step):
            count = min(step, n - first)
            yield np.frombuffer(core.snapshot_rows(name, first, count), dtype=dtype).reshape(count, *row)

    return Streamed(dtype, shape, copied)


def hand_over(core: _core.Core, arrays: Mapping[str, Given]) -> None:
    """Restore a new core, piece by piece.

    Raises
    ------
    ValueError
        The arrays are not those of such a simulation.
    """
    fields = {row["name"] for row in core.fields() if row["kept"]}
    core.restore(
        {
            name: (np.require(piece, requirements=["C", "A"]) for piece in pieces(array))
            if isinstance(array, Streamed) and name in fields
            else np.require(whole(array), requirements=["C", "A"])
            for name, array in arrays.items()
        }
    )
