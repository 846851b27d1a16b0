"""Converts the snapshot of a simulation to a tree and arrays, and back, for checkpoints and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check, fieldtable
from mpm.base.streamed import Given, whole
from mpm.io import generators, kept
from mpm.io.description import Reader, Tree, Writer, listing, mapping
from mpm.materials.laws import Material
from mpm.mpm import numerics
from mpm.mpm.rigidforms import JOINT, NUMBERS, Form
from mpm.mpm.snapshot import Part, Snapshot
from mpm.scene.colliders import Collider, Prepared
from mpm.scene.scene import Body, Scene
from mpm.scene.waves import collider_speeds
from mpm.solver import loading
from mpm.solver.particles import RESERVED
from mpm.solver.populated import Gone

__all__ = ["describe", "quantities", "restore"]

Array = npt.NDArray[Any]
FORM_ARRAYS = ("nodes", "numbers", "reference", "points", "own")
MOST = 1 << 61  # particles, and the number of the first one: their sum is an int64
LATER = {
    "plastic_strain": {"von_mises", "johnson_cook"}
}  # scalars of laws; these have had them in every version
NOT_FIELDS = {"x", "id", *RESERVED}  # which are compared separately


def describe(snapshot: Snapshot) -> tuple[Tree, dict[str, Given]]:
    """See `mpm.solver.keeping.Format.describe`."""
    generators.check(snapshot.rng)
    return _described(snapshot)


def _described(snapshot: Snapshot) -> tuple[Tree, dict[str, Given]]:
    writer = Writer()
    bodies, colliders = snapshot.scene.bodies, snapshot.scene.colliders
    numbers, counters = _core.snapshot_names()
    tree = {
        "scene": writer.scene(snapshot.scene),
        "numerics": snapshot.numerics.described(),
        "rng": generators.describe(snapshot.rng, writer),
        "materials": [writer.material(material) for material in snapshot.materials],
        "parts": [_part(part, bodies, writer) for part in snapshot.parts],
        "colliders": [
            {
                "collider": _index(one.collider, colliders, writer.fields),
                "nodes": writer.array(one.nodes),
                "numbers": writer.array(one.numbers),
                "reference": writer.array(one.reference),
            }
            for one in snapshot.colliders
        ],
        "clock": {"numbers": numbers, "counters": counters},
    }
    if snapshot.forms:
        tree["forms"] = [
            {
                "material": index,
                **{name: writer.array(getattr(form, name)) for name in FORM_ARRAYS},
                "mass": form.mass,
                **({"joint": writer.array(form.joint)} if form.joint.any() else {}),
                **({"title": form.title} if form.title else {}),
            }
            for index, form in snapshot.forms.items()
        ]
    if snapshot.attached:
        tree["attached"] = [
            {name: writer.array(array) for name, array in one.items()} for one in snapshot.attached
        ]
    if any(snapshot.layers):
        layers: list[Any] = list(snapshot.layers)
        tree["layers"] = layers
    if snapshot.fields:
        tree["fields"] = [fieldtable.declared(row) for row in snapshot.fields]
    return tree, kept.joined(writer.arrays, snapshot.arrays)


def _part(part: Part | Gone, bodies: tuple[Body, ...], writer: Writer) -> Tree:
    if isinstance(part, Gone):
        return asdict(part)
    return {
        "body": _index(part.body, bodies, writer.fields),
        "particles": part.particles,
        "mass": part.mass,
        "volume": part.volume,
        "first_id": part.first_id,
    }


def _index(thing: Any, things: tuple[Any, ...], describe: Any) -> Any:
    """The index of an object of the scene; an object that only the simulation has is described instead."""
    places = [index for index, other in enumerate(things) if other is thing]
    return places[0] if places else describe(thing)


def restore(tree: Tree, arrays: Mapping[str, Given]) -> Snapshot:
    """See `mpm.solver.keeping.Format.restore`."""
    described, state = kept.parted(arrays)
    reader = Reader(described)
    scene = reader.scene(tree["scene"])
    materials = tuple(reader.material(entry) for entry in listing(tree["materials"], "materials"))
    # Options that an older version did not have get their defaults.
    options = mapping(tree["numerics"], "numerics")
    if options.get("beta") == 0:  # an older version kept options that beta = 0 does not use
        options = {name: value for name, value in options.items() if name not in numerics.OF_SOLVES}
    chosen = numerics.Numerics.restored(scene, options)
    return Snapshot(
        scene=scene,
        numerics=chosen,
        rng=generators.restore(tree["rng"], reader),
        materials=materials,
        parts=tuple(_parts(listing(tree["parts"], "parts"), reader, scene, materials, whole(state["id"]))),
        colliders=tuple(_prepared(entry, reader, scene) for entry in listing(tree["colliders"], "colliders")),
        fields=tuple(_field(entry) for entry in listing(tree.get("fields", []), "fields")),
        layers=_layers(tree, len(materials), scene),
        forms=dict(_forms(listing(tree.get("forms", []), "forms"), reader, scene.dimension, materials)),
        arrays=_with_later_fields(_state(mapping(tree["clock"], "clock"), state), materials, chosen.dtype),
        attached=_all_attached(tree.get("attached", []), reader, scene),
    )


def _layers(tree: Tree, materials: int, scene: Scene) -> tuple[int, ...]:
    if "layers" not in tree:
        return (0,) * materials
    given = listing(tree["layers"], "layers")
    if len(given) != materials or not scene._touches:
        raise ValueError(f"{len(given)} layers do not belong to {materials} materials of this scene")
    return tuple(_check.integer("layer", layer, low=0, high=2**31 - 1) for layer in given)


def _state(clock: Tree, state: dict[str, Given]) -> dict[str, Given]:
    """The arrays of the core; entries of its clock that an older version did not have are 0."""
    for kind, names in zip(("numbers", "counters"), _core.snapshot_names(), strict=True):
        given = dict(zip(listing(clock[kind], kind), whole(state[kind]).tolist(), strict=True))
        if not given.keys() <= set(names):
            raise ValueError(f"{kind} has entries that this version does not support")
        state[kind] = np.array([given.get(name, 0) for name in names], dtype=state[kind].dtype)
    return state


def _with_later_fields(
    state: dict[str, Given], materials: tuple[Material, ...], dtype: str
) -> dict[str, Given]:
    """The arrays, with initial values of those that were not kept when an older version wrote the file."""
    for name, always in LATER.items():
        kept_by = {one._kind: row for one in materials for row in one._row["history"] if row["name"] == name}
        if name not in state and kept_by and not kept_by.keys() & always:
            [initial] = {row["initial"] for row in kept_by.values()}
            state[name] = np.full(whole(state["id"]).shape, initial, dtype)
    rigid = sum(one.law == "rigid" for one in materials)
    if rigid and "bodies" not in state:
        state["bodies"] = np.zeros((rigid, _core.MOTION_COLUMNS))  # they follow from the particles
    return state


def _parts(
    entries: list[Any], reader: Reader, scene: Scene, materials: tuple[Material, ...], ids: Array
) -> Iterator[Part | Gone]:
    taken: set[str] = set()
    next_id = 0
    for entry in entries:
        given = mapping(entry, "part")
        if gone := Gone.restored(given, taken, next_id):
            taken.add(gone.name)
            next_id = gone.first_id
            yield gone
            continue
        body: Body = _which(
            given["body"], scene.bodies, lambda tree: reader.body(tree, scene.dimension, taken)
        )
        taken.add(body.name)
        part = Part(
            body,
            _check.integer("particles", given["particles"], low=1, high=MOST),
            _check.number("mass", given["mass"], low=0),
            _check.number("volume", given["volume"], low=0),
            # missing in older files
            _check.integer("first_id", given.get("first_id", next_id), low=next_id, high=MOST),
        )
        next_id = part.first_id + part.particles
        if body.material in materials:
            yield part
        elif ((ids >= part.first_id) & (ids < next_id)).any():
            raise ValueError(f"the material of {_check.shown(body.name)} is not among the materials")
        else:  # an older version kept the former material of a body without particles
            yield Gone(body.name, part.first_id)


def _field(entry: object) -> fieldtable.Row:
    given = mapping(entry, "field")
    return fieldtable.row(
        _check.text("name", given["name"]),
        _check.choice("rank", given["rank"], fieldtable.RANKS),
        _check.text("unit", given["unit"]),
        initial=_check.number("initial", given["initial"]),
    )


def _all_attached(entries: object, reader: Reader, scene: Scene) -> tuple[dict[str, Any], ...]:
    """What the loads of the scene act on."""
    given = [
        {name: reader.value(value) for name, value in mapping(one, "attached").items()}
        for one in listing(entries, "attached")
    ]
    return loading.checked(scene.loads, given, scene.dimension)


def _prepared(tree: object, reader: Reader, scene: Scene) -> Prepared:
    given = mapping(tree, "collider")
    collider: Collider = _which(
        given["collider"], scene.colliders, lambda other: reader.collider(other, scene.dimension, set())
    )
    return Prepared(
        collider,
        np.ascontiguousarray(reader.value(given["nodes"]), dtype=np.int64),
        _check.array("numbers", reader.value(given["numbers"]), (None,)),
        _check.array("reference", reader.value(given["reference"]), (scene.dimension,)),
        speeds=collider_speeds(scene, collider),
    )


def _forms(
    entries: list[Any], reader: Reader, dimension: int, materials: tuple[Material, ...]
) -> Iterator[tuple[int, Form]]:
    rigid = {index for index, material in enumerate(materials) if material._row["rigid"]}
    if rigid and not entries:
        raise ValueError(
            "its rigid bodies have no surfaces: an earlier version kept them as a material of the grid; start anew "
            "from the script"
        )
    for entry in entries:
        given = mapping(entry, "form")
        index = _check.integer("material", given["material"], low=0, high=len(materials) - 1)
        if index not in rigid:
            raise ValueError(f"a form belongs to material {index}, which is not rigid")
        shapes = {"numbers": (None,), "reference": (dimension,), "points": (None, NUMBERS), "own": (3, 3)}
        arrays = {
            name: _check.array(name, reader.value(given[name]), shape) for name, shape in shapes.items()
        }
        nodes = np.ascontiguousarray(reader.value(given["nodes"]), dtype=np.int64)
        if "joint" in given:
            arrays["joint"] = _check.array("joint", reader.value(given["joint"]), (JOINT,))
        title = given.get("title", "")
        if not isinstance(title, str):
            raise ValueError(f"title = {title!r}: must be the name of a joint")
        yield (
            index,
            Form(nodes=nodes, mass=_check.number("mass", given["mass"], low=0), title=title, **arrays),
        )


def _which(entry: Any, things: tuple[Any, ...], read: Any) -> Any:
    if type(entry) is int:
        return things[_check.integer("index", entry, low=0, high=len(things) - 1)]
    return read(entry)


def quantities(snapshot: Snapshot) -> dict[str, Any]:
    """See `mpm.solver.keeping.Format.quantities`: what was described, and the state particle by particle, row by
    row."""
    tree, arrays = _described(snapshot)
    clock = tree.pop("clock")
    # By name, not by index, so that an object in only one of two simulations does not shift the others.
    tree["materials"] = {str(number): material for number, material in enumerate(tree["materials"])}
    tree["parts"] = {
        part.name: {name: entry[name] for name in ("particles", "mass", "volume") if name in entry}
        for part, entry in zip(snapshot.parts, tree["parts"], strict=True)
    }
    tree["colliders"] = {
        one.collider.name: {name: entry[name] for name in ("nodes", "numbers", "reference")}
        for one, entry in zip(snapshot.colliders, tree["colliders"], strict=True)
    }
    found = dict(kept.leaves(tree, "", arrays))
    found.update(_particles(snapshot))
    for kind, names in clock.items():
        found.update(zip(names, whole(snapshot.arrays[kind]).tolist(), strict=True))
    found["history"], found["impulses"] = snapshot.arrays["history"], snapshot.arrays["books"]
    if "loads" in snapshot.arrays:
        found["impulses and work of loads"] = snapshot.arrays["loads"]
    return found


def _particles(snapshot: Snapshot) -> Iterator[tuple[str, Any]]:
    arrays = {name: whole(array) for name, array in snapshot.arrays.items()}
    chosen, d = snapshot.numerics, snapshot.scene.dimension
    row, groups = arrays["row"], arrays["groups"]
    by_row = np.argsort(row)
    counts = groups[:, 4]
    block = np.repeat(groups[:, :d], counts, axis=0)[by_row]
    yield "particles.id", arrays["id"]
    yield "particles.material", np.repeat(groups[:, 3], counts)[by_row]
    for name in (name for name in arrays if name not in NOT_FIELDS):
        yield f"particles.{name}", arrays[name][by_row]
    cells = arrays["x"][by_row]
    side = _core.BLOCK_SIDE_2D if d == 2 else _core.BLOCK_SIDE_3D
    metres = snapshot.scene.lower + chosen.dx * (side * block.astype(np.float64) + cells)
    yield "particles.x", kept.Places(block, cells, metres)
    yield "particles.order", row
    yield "particles.blocks", groups
