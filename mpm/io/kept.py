"""What files keep of a solver: a tree, of what JSON can hold, and named arrays.

Everything that keeps a solver goes through its snapshot: `Solver._snapshot` takes it, `Solver._of` makes a solver of
it, and a `Format` says what is in it, once, for files and comparisons alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from mpm.io.description import Arrays, Reader, Tree, Writer, mapping
from mpm.scene import Scene

Array = npt.NDArray[Any]

STATE = "state."  # before the names of the arrays of a state, among those of its description


class Format(Protocol):
    """How snapshots of one kind of solver are written down."""

    def describe(self, kept: Any, /) -> tuple[Tree, Arrays]:
        """Everything in a snapshot; a TypeError if a file cannot keep it."""

    def restore(self, tree: Tree, arrays: Arrays, /) -> Any:
        """The snapshot again; a ValueError, TypeError or KeyError if it makes no sense."""

    def quantities(self, kept: Any, /) -> dict[str, Any]:
        """All that is compared, by name: numbers, strings and arrays."""


class Keepable(Protocol):
    """A solver, to those who keep it."""

    _kind: ClassVar[str]
    _format: ClassVar[Format]

    def _snapshot(self) -> Any:
        """Everything that it is, but for its threads."""

    @classmethod
    def _of(cls, kept: Any, threads: int | None, /) -> Self:
        """A solver from a snapshot; a ValueError if the parts of that do not fit each other."""


SOLVERS: dict[str, type[Keepable]] = {}
"""The solvers that files may hold, by their kind: each is entered when its class is made."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The snapshot of a solver with nothing in it that needs a `Format` of its own.

    Attributes
    ----------
    scene : Scene
    numbers : dict
        Of what JSON can hold.
    arrays : dict of ndarray
        Of the types of `mpm.io.description.DTYPES`.
    """

    scene: Scene
    numbers: Tree
    arrays: Arrays


@dataclass(frozen=True, eq=False)
class Places:
    """Positions: bits of the block and the place in it, and what they mean [m]."""

    block: Array
    cells: Array
    metres: Array


def describe(kept: Kept) -> tuple[Tree, Arrays]:
    """See `Format.describe`."""
    writer = Writer()
    return {"scene": writer.scene(kept.scene), "numbers": kept.numbers}, joined(writer.arrays, kept.arrays)


def restore(tree: Tree, arrays: Arrays) -> Kept:
    """See `Format.restore`."""
    described, state = parted(arrays)
    return Kept(Reader(described).scene(tree["scene"]), mapping(tree["numbers"], "numbers"), state)


def quantities(kept: Kept) -> dict[str, Any]:
    """See `Format.quantities`."""
    tree, arrays = describe(kept)
    return {**dict(leaves(tree, "", arrays)), **kept.arrays}


def joined(described: Arrays, state: Arrays) -> Arrays:
    """The arrays of a description and those of a state, under names that tell them apart."""
    return {**described, **{STATE + name: array for name, array in state.items()}}


def parted(arrays: Mapping[str, Array]) -> tuple[Arrays, Arrays]:
    """The arrays of a description, and those of a state."""
    state = {name.removeprefix(STATE): array for name, array in arrays.items() if name.startswith(STATE)}
    return {name: array for name, array in arrays.items() if not name.startswith(STATE)}, state


def leaves(tree: Any, name: str, arrays: Arrays) -> Iterator[tuple[str, Any]]:
    """The numbers, strings and arrays of a description, with names such as ``scene.bodies[0].name``."""
    if isinstance(tree, Mapping):
        if tree.keys() == {"array"}:
            yield name, arrays[tree["array"]]
            return
        for key, entry in tree.items():
            yield from leaves(entry, f"{name}.{key}" if name else key, arrays)
    elif isinstance(tree, list) and tree and isinstance(tree[0], dict):
        for index, entry in enumerate(tree):
            yield from leaves(entry, f"{name}[{index}]", arrays)
    else:
        yield name, np.array(tree) if isinstance(tree, list) else tree
