"""Checkpoints: a simulation in a file, complete, and out of it again."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mpm import _check, _core, config, numerics
from mpm.colliders import Collider, Prepared
from mpm.errors import FileFormatError
from mpm.io import container, files
from mpm.io.description import Arrays, Lost, Reader, Tree, Writer, listing, mapping, understood
from mpm.materials import Material
from mpm.scene import Body, BodyForce, Scene
from mpm.simulation import Simulation
from mpm.snapshot import Part, Snapshot

__all__ = ["dumps", "load", "loads", "save"]

KIND = "simulation"
STATE = "state."  # before the names of the core's arrays
GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
# Where these point to: what NumPy takes on trust.
POSITIONS = {"pos": 624, "buffer_pos": 4, "has_uint32": 1, "uinteger": 2**32 - 1}


def save(simulation: Simulation, path: str | os.PathLike[str]) -> None:
    """See `Simulation.save`."""
    files.replace(_named(path), pieces(simulation))


@_check.options
def load(
    path: str | os.PathLike[str], *, threads: int | None = None, body_force: BodyForce | None = None
) -> Simulation:
    """Read a simulation that `Simulation.save` has written.

    It goes on bit for bit as the one that was saved, with any number of threads; with other kernels (``MPM_ISA``) or
    on another processor it is the same state, but round-off may differ from there on. Nothing in a file is executed.

    Parameters
    ----------
    path : str or path
        Of the file.
    threads : int, optional
        Default as for a new `Simulation`.
    body_force : callable, optional
        The scene's `body_force`, which a file cannot keep; without it the simulation can be looked at, but not run.
        None if the scene has none.

    Returns
    -------
    Simulation
        Equal to the one that was saved. Its scene stands for functions, of which a file keeps the name only, by
        objects that raise when they are called.

    Raises
    ------
    FileFormatError
        It is not a checkpoint, of a later version of the format, truncated or damaged.
    OSError
        It cannot be read.
    TypeError, ValueError
        An argument is of the wrong type or range.
    """
    name = _named(path)
    if threads is not None:
        threads = _check.integer("threads", threads, low=1, high=config.MAX_THREADS)
    if not (body_force is None or callable(body_force)):
        raise _check.wrong_type("body_force", body_force, "a callable f(x, t)")
    try:
        return loads(files.read(name), threads, body_force)
    except FileFormatError as error:
        raise FileFormatError(f"{name!r} {error}") from error


def _named(path: object) -> str | bytes:
    if not isinstance(path, (str, os.PathLike)):
        raise _check.wrong_type("path", path, "a path")
    name: str | bytes = os.fspath(path)
    if not name:
        raise ValueError(f"path = {path!r}: must name a file")
    return name


def dumps(simulation: Simulation) -> bytes:
    """The bytes of a checkpoint."""
    return b"".join(pieces(simulation))


def loads(data: bytes, threads: int | None = None, body_force: BodyForce | None = None) -> Simulation:
    """The simulation of which these are the bytes."""
    tree, arrays = container.unpack(data)
    kept = understood("the state", lambda: _snapshot(tree, arrays))
    if body_force is not None and not isinstance(body_force, Lost):
        if kept.scene.body_force is None:
            raise ValueError(f"body_force = {_check.shown(body_force)}: must be None: the scene has none")
        kept.scene._body_force = body_force
    return understood("the state", lambda: Simulation._of(kept, threads))


def pieces(simulation: Simulation) -> Iterator[bytes | memoryview]:
    """The bytes of a checkpoint, piece by piece."""
    kept = simulation._snapshot()
    writer = Writer()
    tree = _described(kept, writer)
    state = {STATE + name: array for name, array in kept.arrays.items()}
    return container.pack(tree, {**writer.arrays, **state})


def _described(kept: Snapshot, writer: Writer) -> Tree:
    bodies, colliders = kept.scene.bodies, kept.scene.colliders
    numbers, counters = _core.snapshot_names()
    return {
        "kind": KIND,
        "scene": writer.scene(kept.scene),
        "numerics": numerics.options(kept.numerics),
        "rng": _described_rng(kept.rng, writer),
        "materials": [writer.material(material) for material in kept.materials],
        "parts": [
            {
                "body": _index(part.body, bodies, writer.body),
                "particles": part.particles,
                "mass": part.mass,
                "volume": part.volume,
                "first_id": part.first_id,
            }
            for part in kept.parts
        ],
        "colliders": [
            {
                "collider": _index(one.collider, colliders, writer.collider),
                "nodes": writer.array(one.nodes),
                "numbers": writer.array(one.numbers),
                "reference": writer.array(one.reference),
            }
            for one in kept.colliders
        ],
        "clock": {"numbers": numbers, "counters": counters},
    }


def _index(thing: Any, things: tuple[Any, ...], describe: Any) -> Any:
    """Which of the scene's it is; what was added later, or to a simulation only, is described."""
    places = [index for index, other in enumerate(things) if other is thing]
    return places[0] if places else describe(thing)


def _snapshot(tree: Tree, arrays: Arrays) -> Snapshot:
    if tree.get("kind") != KIND:
        raise FileFormatError(f"holds a {_check.shown(tree.get('kind'))}, not a {KIND}")
    reader = Reader({name: array for name, array in arrays.items() if not name.startswith(STATE)})
    scene = reader.scene(tree["scene"])
    materials = tuple(reader.material(entry) for entry in listing(tree["materials"], "materials"))
    return Snapshot(
        scene=scene,
        numerics=_numerics(tree["numerics"], scene),
        rng=_rng(tree["rng"], reader),
        materials=materials,
        parts=tuple(_parts(listing(tree["parts"], "parts"), reader, scene, materials)),
        colliders=tuple(_prepared(entry, reader, scene) for entry in listing(tree["colliders"], "colliders")),
        arrays=_state(mapping(tree["clock"], "clock"), arrays),
    )


def _state(clock: Tree, arrays: Arrays) -> Arrays:
    """The arrays of the core; entries of its clock that an older version did not know are 0."""
    state = {name.removeprefix(STATE): array for name, array in arrays.items() if name.startswith(STATE)}
    for kind, names in zip(("numbers", "counters"), _core.snapshot_names(), strict=True):
        given = dict(zip(listing(clock[kind], kind), state[kind].tolist(), strict=True))
        if not given.keys() <= set(names):
            raise ValueError(f"{kind} has entries that this version does not know")
        state[kind] = np.array([given.get(name, 0) for name in names], dtype=state[kind].dtype)
    return state


def _numerics(tree: object, scene: Scene) -> numerics.Numerics:
    """The options of a simulation; those that an older version did not know have their defaults."""
    signature = inspect.signature(Simulation.__init__).parameters
    defaults = {name: entry.default for name, entry in signature.items() if entry.default is not entry.empty}
    given = {**defaults, **mapping(tree, "numerics"), "threads": 1}
    del given["rng"]
    return numerics.check(scene.lower, scene.upper, **given)


def _parts(
    entries: list[Any], reader: Reader, scene: Scene, materials: tuple[Material, ...]
) -> Iterator[Part]:
    taken: set[str] = set()
    next_id = 0
    for entry in entries:
        given = mapping(entry, "part")
        body: Body = _which(
            given["body"], scene.bodies, lambda tree: reader.body(tree, scene.dimension, taken)
        )
        if body.material not in materials:
            raise ValueError(f"the material of {body.name!r} is not among the materials")
        taken.add(body.name)
        part = Part(
            body,
            _check.integer("particles", given["particles"], low=1),
            _check.number("mass", given["mass"], low=0),
            _check.number("volume", given["volume"], low=0),
            _check.integer("first_id", given.get("first_id", next_id), low=next_id),  # older files do not say
        )
        next_id = part.first_id + part.particles
        yield part


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
    )


def _which(entry: Any, things: tuple[Any, ...], read: Any) -> Any:
    if type(entry) is int:
        return things[_check.integer("index", entry, low=0, high=len(things) - 1)]
    return read(entry)


# ---- random generators ---------------------------------------------------------------------------------------


def _described_rng(rng: np.random.Generator, writer: Writer) -> Tree:
    state = rng.bit_generator.state
    name = type(rng.bit_generator).__name__
    if name not in GENERATORS or type(rng.bit_generator) is not getattr(np.random, name):
        raise TypeError(
            f"rng = {_check.shown(rng)}: a file keeps {', '.join(GENERATORS)} of numpy.random only"
        )

    def described(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: described(entry) for key, entry in value.items()}
        return (
            writer.array(value)
            if isinstance(value, np.ndarray)
            else value
            if isinstance(value, str)
            else int(value)
        )

    tree: Tree = described(state)
    return tree


def _rng(tree: object, reader: Reader) -> np.random.Generator:
    given = mapping(tree, "rng")
    name = _check.choice("bit_generator", given["bit_generator"], GENERATORS)
    generator = getattr(np.random, name)(0)

    def checked(value: Any, like: Any, key: str) -> Any:
        """A value as NumPy would have it: what it is given as a state it believes."""
        if isinstance(like, Mapping):
            entries = mapping(value, key)
            if entries.keys() != like.keys():
                raise ValueError(f"rng: {key} has other entries than a {name}")
            return {inner: checked(entries[inner], like[inner], inner) for inner in like}
        if isinstance(like, np.ndarray):
            array = reader.value(value)
            if not isinstance(array, np.ndarray) or (array.dtype, array.shape) != (like.dtype, like.shape):
                raise ValueError(f"rng: {key} is not what a {name} has")
            return array
        if isinstance(like, str):
            return name
        return _check.integer(key, value, low=0, high=POSITIONS.get(key, 2**128 - 1))

    generator.state = checked(given, generator.state, "state")
    return np.random.Generator(generator)
