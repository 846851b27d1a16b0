"""Snapshots as a tree for JSON and named arrays, and the `mpm.solver.keeping.Format` of plain snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base.fieldtable import KNOWN
from mpm.base.streamed import Given, whole
from mpm.io.description import Arrays, Reader, Tree, Writer, mapping
from mpm.scene.scene import Scene

Array = npt.NDArray[Any]

CLOCK = {
    "times": ("time", "dt", "began"),
    "counters": ("steps", "next_id", "suspect", "health"),
}  # of methods in C
STATE = "state."  # prefix of the arrays of a state, which share a dict with those of its description


@dataclass(frozen=True, slots=True)
class Kept:
    """The snapshot of a solver with nothing in it that needs a format of its own.

    Attributes
    ----------
    scene : Scene
    numbers : dict
        Of what JSON can hold.
    arrays : mapping of ndarray
        Of the types of `mpm.io.description.DTYPES`. Those of methods in C may come in pieces.
    """

    scene: Scene
    numbers: Tree
    arrays: Mapping[str, Given]


@dataclass(frozen=True, eq=False)
class Places:
    """Positions: bits of the block and the place in it, and what they mean [m]."""

    block: Array
    cells: Array
    metres: Array


def describe(kept: Kept) -> tuple[Tree, dict[str, Given]]:
    """See `mpm.solver.keeping.Format.describe`."""
    writer = Writer()
    return {"scene": writer.scene(kept.scene), "numbers": kept.numbers}, joined(writer.arrays, kept.arrays)


def restore(tree: Tree, arrays: Mapping[str, Given]) -> Kept:
    """See `mpm.solver.keeping.Format.restore`."""
    kept = InPieces.restore(tree, arrays)
    return Kept(kept.scene, kept.numbers, {name: whole(array) for name, array in kept.arrays.items()})


def quantities(kept: Kept) -> dict[str, Any]:
    """See `mpm.solver.keeping.Format.quantities`."""
    tree, arrays = describe(kept)
    found = dict(leaves(tree, "", arrays))
    declared = {row["name"] for row in kept.numbers.get("fields", []) if isinstance(row, Mapping)}
    for name, array in kept.arrays.items():
        array = whole(array)
        plain = name.removeprefix("run.").removeprefix("field.")
        parts = CLOCK.get(plain, ())
        if parts and array.shape > (len(parts),):
            found |= dict(zip(parts, array.tolist(), strict=False)) | {parts[-1]: array[len(parts) - 1 :]}
        elif name.startswith("field.") or plain in KNOWN or plain in declared:
            found[f"particles.{plain}"] = array
        else:
            found[plain] = array
    return found


class InPieces:
    """The `mpm.solver.keeping.Format` of methods in C, to which long arrays may come in pieces."""

    describe = staticmethod(describe)
    quantities = staticmethod(quantities)

    @staticmethod
    def restore(tree: Tree, arrays: Mapping[str, Given]) -> Kept:
        """See `mpm.solver.keeping.Format.restore`."""
        described, state = parted(arrays)
        return Kept(Reader(described).scene(tree["scene"]), mapping(tree["numbers"], "numbers"), state)


def joined(described: Arrays, state: Mapping[str, Given]) -> dict[str, Given]:
    """The arrays of a description and those of a state, under names that tell them apart."""
    return {**described, **{STATE + name: array for name, array in state.items()}}


def parted(arrays: Mapping[str, Given]) -> tuple[Arrays, dict[str, Given]]:
    """The arrays of a description, and those of a state, which may come in pieces."""
    state = {name.removeprefix(STATE): array for name, array in arrays.items() if name.startswith(STATE)}
    return {name: whole(array) for name, array in arrays.items() if not name.startswith(STATE)}, state


def leaves(tree: Any, name: str, arrays: Mapping[str, Given]) -> Iterator[tuple[str, Any]]:
    """The numbers, strings and arrays of a description, with names such as ``scene.bodies[0].name``."""
    if isinstance(tree, Mapping):
        if tree.keys() == {"array"}:
            yield name, whole(arrays[tree["array"]])
            return
        for key, entry in tree.items():
            yield from leaves(entry, f"{name}.{key}" if name else key, arrays)
    elif isinstance(tree, list) and tree and isinstance(tree[0], dict):
        for index, entry in enumerate(tree):
            yield from leaves(entry, f"{name}[{index}]", arrays)
    else:
        yield name, np.array(tree) if isinstance(tree, list) else tree
