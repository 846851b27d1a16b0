"""What two simulations differ in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm import _check, _core, numerics
from mpm.io.description import Writer
from mpm.simulation import Simulation
from mpm.snapshot import Snapshot

__all__ = ["Difference", "diff"]

Array = npt.NDArray[Any]
BLOCK_SIDE = {2: 8, 3: 4}  # nodes, of csrc/state/particles.h


@dataclass(frozen=True, slots=True)
class Difference:
    """How much of one quantity differs, bit for bit.

    Attributes
    ----------
    count : int
        Numbers that differ; of what has another shape or is no number, 1.
    largest : float
        Largest size of a difference, in the quantity's unit: 0 for zeros of another sign, NaN where it is no number.
    """

    count: int
    largest: float

    def __repr__(self) -> str:
        if math.isnan(self.largest):
            return "of another shape, or not numbers"
        return f"{self.count} differ, by at most {self.largest:.3g}"


@_check.options
def diff(a: Simulation, b: Simulation) -> dict[str, Difference]:
    """Compare the complete state of two simulations, bit for bit.

    Parameters
    ----------
    a, b : Simulation

    Returns
    -------
    dict of str to Difference
        By name, such as ``"particles.x"``, ``"time"``, ``"history"``, ``"scene.gravity"``: only what differs, so it is
        empty, and false, if the simulations are equal. Particles are compared row by row, those of single and
        double precision by value. Threads do not count.
        ``"particles.order"`` is the order in which the core keeps them: round-off depends on it.

    Raises
    ------
    TypeError
        An argument is not a simulation.
    SimulationError
        What was written through views is no state, see `Simulation.run`.
    """
    for name, simulation in (("a", a), ("b", b)):
        if not isinstance(simulation, Simulation):
            raise _check.wrong_type(name, simulation, "a Simulation")
    one, other = _quantities(a._snapshot()), _quantities(b._snapshot())
    found: dict[str, Difference] = {}
    for name in dict.fromkeys([*one, *other]):
        difference = _compare(one.get(name), other.get(name))
        if difference:
            found[name] = difference
    return found


def _quantities(kept: Snapshot) -> dict[str, Any]:
    """All that is compared, by name; arrays in pairs: bits, and numbers that tell the size of a difference."""
    writer = Writer()
    tree = {
        "scene": writer.scene(kept.scene),
        "numerics": numerics.options(kept.numerics),
        "rng": dict(kept.rng.bit_generator.state),
        "materials": {str(k): writer.material(material) for k, material in enumerate(kept.materials)},
        "parts": {
            part.body.name: {"particles": part.particles, "mass": part.mass, "volume": part.volume}
            for part in kept.parts
        },
        "colliders": {
            one.collider.name: {"nodes": one.nodes, "numbers": one.numbers, "reference": one.reference}
            for one in kept.colliders
        },
    }
    found = dict(_flat(tree, "", writer.arrays))
    found.update(_particles(kept))
    numbers, counters = _core.snapshot_names()
    found.update(zip(numbers, kept.arrays["numbers"].tolist(), strict=True))
    found.update(zip(counters, kept.arrays["counters"].tolist(), strict=True))
    found["history"], found["impulses"] = kept.arrays["history"], kept.arrays["books"]
    return found


def _flat(tree: Any, name: str, arrays: Mapping[str, Array]) -> Iterator[tuple[str, Any]]:
    """The leaves of a description: numbers, strings and arrays."""
    if isinstance(tree, Mapping):
        if tree.keys() == {"array"}:
            yield name, arrays[tree["array"]]
            return
        for key, entry in tree.items():
            yield from _flat(entry, f"{name}.{key}" if name else key, arrays)
    elif isinstance(tree, list) and tree and isinstance(tree[0], dict):
        for index, entry in enumerate(tree):
            yield from _flat(entry, f"{name}[{index}]", arrays)
    else:
        yield name, np.array(tree) if isinstance(tree, list) else tree


def _particles(kept: Snapshot) -> Iterator[tuple[str, Any]]:
    arrays, chosen, d = kept.arrays, kept.numerics, kept.scene.dimension
    row, groups = arrays["row"], arrays["groups"]
    by_row = np.argsort(row)
    counts = groups[:, 4]
    block = np.repeat(groups[:, :d], counts, axis=0)[by_row]
    yield "particles.id", arrays["id"]
    yield "particles.material", np.repeat(groups[:, 3], counts)[by_row]
    for name in ("v", "C", "F", "mass", "volume", "Jp"):
        if name in arrays:
            yield f"particles.{name}", arrays[name][by_row]
    cells = arrays["x"][by_row]
    metres = kept.scene.lower + chosen.dx * (BLOCK_SIDE[d] * block.astype(np.float64) + cells)
    yield "particles.x", _Places(block, cells, metres)
    yield "particles.order", row
    yield "particles.blocks", groups


@dataclass(frozen=True, eq=False)
class _Places:
    """Positions: bits of the block and the place in it, and what they mean [m]."""

    block: Array
    cells: Array
    metres: Array


def _compare(a: Any, b: Any) -> Difference | None:
    if isinstance(a, _Places) and isinstance(b, _Places):
        if a.cells.shape != b.cells.shape:
            return Difference(1, math.nan)
        if a.cells.dtype != b.cells.dtype:
            return _sized(np.asarray(a.metres != b.metres), a.metres, b.metres)
        return _sized((a.block != b.block) | _differing(a.cells, b.cells), a.metres, b.metres)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.shape != b.shape or (a.dtype != b.dtype and not a.dtype.kind == b.dtype.kind == "f"):
            return Difference(1, math.nan)
        return _sized(_differing(a, b), a, b)
    if type(a) is not type(b):
        return Difference(1, math.nan)
    if isinstance(a, (int, float)):
        return _compare(np.array([a]), np.array([b]))
    return Difference(1, math.nan) if a != b else None


def _differing(a: Array, b: Array) -> Array:
    if a.dtype.kind != "f" or a.dtype != b.dtype:  # single and double: by value
        return np.asarray(a != b)
    bits = f"u{a.dtype.itemsize}"
    return np.asarray(np.ascontiguousarray(a).view(bits) != np.ascontiguousarray(b).view(bits))


def _sized(differ: Array, a: Array, b: Array) -> Difference | None:
    count = int(differ.sum())
    if not count:
        return None
    if a.dtype.kind not in "iuf":
        return Difference(count, math.nan)
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = np.abs(a[differ].astype(np.float64) - b[differ].astype(np.float64))
    return Difference(count, float(sizes.max()))
