"""The complete state of a simulation in parts, for checkpoints, copies and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mpm import _core
from mpm.base import fieldtable
from mpm.base.streamed import Array, Given, whole
from mpm.materials.laws import Material
from mpm.mpm.numerics import Numerics, add_material
from mpm.mpm.rigidforms import Form
from mpm.scene.colliders import Prepared
from mpm.scene.scene import Body, Scene
from mpm.solver import keeping
from mpm.solver.populated import Gone

__all__ = ["Part", "Snapshot", "arrays_of", "deciding", "fields_of", "fill", "restore"]

LOAD_COLUMNS = 4  # of the book of a load: impulse (3), work


@dataclass(frozen=True, slots=True)
class Part:
    """A body as it was sampled: what `repr` tells of it."""

    body: Body
    particles: int
    mass: float
    volume: float
    first_id: int

    @property
    def name(self) -> str:
        """Of the body."""
        return self.body.name


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A simulation without its threads, views and scratch.

    `fields` are those that users have added. `arrays` are those of the core, see ``csrc/mpm/snapshot.h``:
    particles in the order in which they are kept. Their fields may come in pieces.
    """

    scene: Scene
    numerics: Numerics
    rng: np.random.Generator
    materials: tuple[Material, ...]
    parts: tuple[Part | Gone, ...]
    colliders: tuple[Prepared, ...]
    fields: tuple[fieldtable.Row, ...]
    forms: dict[int, Form]  # of rigid bodies, by the index of the material
    layers: tuple[int, ...]  # of the materials: which bodies share a velocity field
    arrays: Mapping[str, Given]
    attached: tuple[dict[str, Array], ...] = ()  # what the loads of the scene act on


def _layout(
    core: _core.Simulation, dimension: int, dtype: str, counts: tuple[int, int, int, int]
) -> keeping.Layout:
    """Type and shape of every array of a snapshot of `core` with so many groups, particles, records, rigid bodies."""
    groups, n, records, rigid = counts
    columns = core.history_names()
    colliders = sum(name.startswith("torque:") for name, _ in columns)  # and joints
    loads = sum(name.startswith("work:") for name, _ in columns)
    pairs = sum(name.startswith("impulse:") for name, _ in columns) - colliders - loads
    contact = any(name == "adhesion_work" for name, _ in columns)
    books = (colliders, _core.BOOK_COLUMNS)
    numbers, counters = _core.snapshot_names()
    rows = [row for row in core.fields() if row["kept"]]
    fields = {row["name"]: (dtype, (n, *fieldtable.shape(row["rank"], dimension))) for row in rows}
    own = [row["name"] for row in rows if row["owner"] == "core"]
    return {
        "groups": ("int32", (groups, _core.GROUP_COLUMNS)),
        **{name: fields.pop(name) for name in own},
        "row": ("int32", (n,)),
        "id": ("int64", (n,)),
        "history": ("float64", (records, sum(width for _, width in columns))),
        "books": ("float64", (colliders * _core.BOOK_COLUMNS + 1 + 3 * pairs,) if contact else books),
        **({"loads": ("float64", (loads, LOAD_COLUMNS))} if loads else {}),
        **({"bodies": ("float64", (rigid, _core.MOTION_COLUMNS))} if rigid else {}),
        "numbers": ("float64", (len(numbers),)),
        "counters": ("int64", (len(counters),)),
        **fields,
    }


def fields_of(core: _core.Simulation) -> tuple[fieldtable.Row, ...]:
    """The rows that users have added to the table of fields."""
    return tuple(row for row in core.fields() if row["owner"] == "user")


def arrays_of(
    core: _core.Simulation, dimension: int, dtype: str, *, streamed: bool = False
) -> dict[str, Given]:
    """The arrays of the core, see `mpm.solver.keeping.arrays_of`."""
    width = sum(columns for _, columns in core.history_names())

    def layout(given: Mapping[str, bytes]) -> keeping.Layout:
        counts = (
            len(given["groups"]) // (4 * _core.GROUP_COLUMNS),
            len(given["id"]) // 8,
            len(given["history"]) // (8 * width),
            len(given.get("bodies", b"")) // (8 * _core.MOTION_COLUMNS),
        )
        return _layout(core, dimension, dtype, counts)

    return keeping.arrays_of(core, layout, streamed=streamed)


def deciding(core: _core.Simulation, dimension: int, dtype: str) -> Iterator[bytes]:
    """What of the core decides how a run continues: not what was recorded, nor the counters of its health."""
    arrays = {name: whole(array) for name, array in arrays_of(core, dimension, dtype).items()}
    for kind, names in zip(("numbers", "counters"), _core.snapshot_names(), strict=True):
        clock = zip(names, arrays.pop(kind).tolist(), strict=True)
        yield repr(
            [(k, v) for k, v in clock if "impulse" not in k and "health" not in k and not k.endswith("_heat")]
        ).encode()
    for name in sorted(arrays.keys() - {"history", "books", "loads"}):
        yield name.encode()
        yield arrays[name].tobytes()


def fill(core: _core.Simulation, kept: Snapshot) -> None:
    """Hand a snapshot to a new core that has its colliders; errors as in `restore`."""
    for material, layer in zip(kept.materials, kept.layers, strict=True):
        add_material(core, kept.scene, material, layer, kept.numerics)
    for index, form in kept.forms.items():
        core.set_form(index, *form.arguments)
        if form.title:
            core.name_joint(index, form.title)
    for row in kept.fields:
        core.add_field(row["name"], row["unit"], row["rank"], row["initial"])
    restore(core, kept.scene.dimension, kept.numerics.dtype, kept.arrays)


def restore(core: _core.Simulation, dimension: int, dtype: str, arrays: Mapping[str, Given]) -> None:
    """Hand arrays to a new core.

    Raises
    ------
    ValueError
        They are not those of such a simulation.
    """
    for name in ("groups", "id", "history"):
        if name not in arrays or not arrays[name].shape:
            raise ValueError(f"{name} is missing")
    groups, particles, records = (arrays[name].shape[0] for name in ("groups", "id", "history"))
    rigid = arrays["bodies"].shape[0] if "bodies" in arrays and arrays["bodies"].shape else 0
    counts = groups, particles, records, rigid
    expected = _layout(core, dimension, dtype, counts)
    if arrays.keys() != expected.keys():
        raise ValueError(f"the state has the arrays {', '.join(arrays)}, not {', '.join(expected)}")
    for name, (kind, shape) in expected.items():
        if arrays[name].dtype != np.dtype(kind) or arrays[name].shape != shape:
            raise ValueError(f"{name} is {arrays[name].dtype} {arrays[name].shape}, not {kind} {shape}")
    keeping.hand_over(core, arrays)
