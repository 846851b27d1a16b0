"""Damages files in ways that know their structure, and reads them: trajectories, checkpoints, OBJ and STL.

    python tests/fuzz.py trajectory --seconds 600 --seed 1     # or checkpoint, obj, stl
    python tests/fuzz.py trajectory --file out/fuzz/trajectory-1-12345

A file is refused with a FileFormatError, or what was read can be used. Nothing else may be raised but what the
functions promise, nothing takes longer than `SECONDS`, nor more memory than `TIMES` the file's size and `MORE` bytes.
Checksums are made right again after most mutations, so that these reach what is behind them. The first file of every
kind of failure is kept in --out, to be tried again with --file; a process that hangs or crashes leaves the file that it
was reading there.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import faulthandler
import hashlib
import json
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from binascii import crc32
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mpm
import scenes
from mpm.io import checkpoint, container, hdf5, hdf5_bytes
from mpm.meshes import readers

SECONDS = 5
TIMES, MORE = 4, 64 << 20
MOST = 4 << 30  # bytes of the process, so that a failure ends it, not the machine

NUMBERS = (
    0, 1, 2, 3, 4, 7, 8, 9, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**61, 2**62,
    2**63 - 1, 2**63, 2**64 - 1, 2**64 - 8, 10**18,
)  # fmt: skip
FLOATS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 5e-324, 1e-300, 1e-9, 1e9, 1e300, 1.7e308, float("nan"), float("inf"), -float("inf"),
)  # fmt: skip
VALUES = (
    0, 1, -1, 2, 3, 2**31, 2**53, 2**63, -(2**63), 2**64, 10**30, 10**400, *FLOATS, True, False, None, "", "a", "x",
    "auto", "slip", "periodic", "Ball", "../a", "\x00", "\ud800", "❄" * 50, "x" * 10_000, [], {}, [[]], [1, 2],
    [1, 2, 3], [0.5] * 40, [None], ["a"], [[1, 2], [3]], {"array": "array0"}, {"array": "none"}, {"array": ["x"]},
    {"function": "os.system"}, "state", "__class__", "array", "shape",
)  # fmt: skip


# --- mutations -------------------------------------------------------------------------------------------------------


def raw(rng: random.Random, data: bytes) -> bytes:
    """Bits, bytes, pieces: without a thought."""
    changed, kind = bytearray(data), rng.random()
    if kind < 0.5:
        for _ in range(rng.choice((1, 1, 2, 8))):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    elif kind < 0.65:
        del changed[rng.randrange(len(changed)) :]
    elif kind < 0.75:
        changed += rng.randbytes(rng.randrange(1, 300))
    else:
        place, other = rng.randrange(len(changed)), rng.randrange(len(changed))
        length = rng.randrange(1, 300)
        if kind < 0.85:
            del changed[place : place + length]
        else:
            changed[place : place + length] = changed[other : other + length]
    return bytes(changed)


def patch(rng: random.Random, data: bytes, addresses: tuple[int, ...] = ()) -> bytes:
    """A number of some bytes in a piece of binary data, put in place of what is there."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kind, place = rng.random(), rng.randrange(len(changed))
        width = rng.choice((1, 1, 2, 4, 8, 8))
        if addresses and kind < 0.3:  # lead somewhere else
            known = [k for k in range(len(changed) - 7) if bytes(changed[k : k + 8]) in _as_bytes(addresses)]
            place, width = rng.choice(known or [place]), 8
            value = rng.choice((*addresses, 0, 2**64 - 1))
        elif kind < 0.6:
            value = rng.choice(NUMBERS)
        elif kind < 0.8:
            value = int.from_bytes(changed[place : place + width], "little") + rng.choice((-2, -1, 1, 2, 256))
        else:
            value = changed[place] ^ (1 << rng.randrange(8))
            width = 1
        text = (value % 2 ** (8 * width)).to_bytes(width, "little")
        changed[place : place + width] = text[: len(changed) - place]
    return bytes(changed)


def _as_bytes(addresses: tuple[int, ...]) -> set[bytes]:
    return {address.to_bytes(8, "little") for address in addresses}


def numbers(rng: random.Random, array: np.ndarray) -> None:
    """Some entries of an array, in place."""
    flat = array.reshape(-1)
    for _ in range(rng.choice((1, 1, 3)) if flat.size else 0):
        k = rng.randrange(flat.size)
        with np.errstate(all="ignore"):
            if array.dtype.kind == "f":
                flat[k] = rng.choice(
                    (*FLOATS, flat[k] * 1.5, flat[k] + 1, flat[k] - 1, np.nextafter(flat[k], np.inf))
                )
            else:
                limits = np.iinfo(array.dtype)
                value = rng.choice((*NUMBERS, -1, -(2**63), int(flat[k]) + 1, int(flat[k]) - 1))
                flat[k] = min(max(value, limits.min), limits.max)


def ways(tree: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """To every node of what JSON holds."""
    yield way
    if isinstance(tree, (dict, list)):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from ways(tree[key], (*way, key))


def at(tree: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        tree = tree[key]
    return tree


def mutate_tree(rng: random.Random, tree: Any) -> Any:
    """Other values, other types, missing and additional entries, deep nesting."""
    root = [copy.deepcopy(tree)]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = [way for way in ways(root) if way]
        way, kind = rng.choice(places), rng.random()
        parent, key = at(root, way[:-1]), way[-1]
        value = parent[key]
        if kind < 0.4:
            parent[key] = copy.deepcopy(rng.choice(VALUES))
        elif kind < 0.55 and isinstance(value, (int, float)) and not isinstance(value, bool):
            parent[key] = rng.choice((-value, value + 1, value - 1, value * 2, value * 1e10, float(value)))
        elif kind < 0.55 and isinstance(value, str) and value:
            parent[key] = rng.choice((value[:-1], value + "x", value.upper(), value * 2))
        elif kind < 0.7 and len(way) > 1:
            del parent[key]
        elif kind < 0.82:
            parent[key] = copy.deepcopy(at(root, rng.choice(places)))
        elif kind < 0.92 and isinstance(value, dict):
            value[rng.choice(("extra", "array", "shape", "x", "name", "__init__"))] = copy.deepcopy(
                rng.choice(VALUES)
            )
        elif kind < 0.92 and isinstance(value, list):
            value.insert(rng.randrange(len(value) + 1), copy.deepcopy(rng.choice((*VALUES, *value[:1]))))
        else:
            for _ in range(rng.choice((1, 3, 30, 3000 if rng.random() < 0.2 else 2))):
                value = {"shape": "Complement", "of": value} if rng.random() < 0.5 else [value]
            parent[key] = value
            break  # too deep, perhaps, to be looked at again
    return root[0]


def dumped(tree: Any) -> bytes:
    """JSON, or nothing where it has none."""
    try:
        return json.dumps(tree, separators=(",", ":")).encode("utf-8", "surrogatepass")
    except (ValueError, TypeError, RecursionError):
        return b""


# --- trajectories ----------------------------------------------------------------------------------------------------


def tiny(dim: int) -> mpm.Simulation:
    """Some particles of three materials, and a collider that moves."""
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81], walls={"x": "slip"})
    for k, name in enumerate(("fluid", "snow", "neo_hookean")):
        x = np.full((4, dim), 0.3) + 0.1 * k + 0.02 * np.arange(4)[:, None]
        scene.add(mpm.shapes.Points(x, volume=0.02**dim), scenes.MATERIALS[name])
    scene.add_collider(mpm.shapes.Ball([0.7] * dim, 0.16), motion=mpm.motion.Linear([0.1] * dim), name="ball")
    return mpm.Simulation(scene, dx=1 / 8, threads=1)


def mesh() -> mpm.fem.Simulation:
    """Some triangles."""
    scene = mpm.Scene([0, 0], [1, 1])
    scene.add(mpm.shapes.Box([0.25, 0.25], [0.75, 0.75]), scenes.MATERIALS["neo_hookean"])
    return mpm.fem.Simulation(scene, spacing=0.25, threads=1)


class Kind:
    """A kind of file: its seeds, its mutations, and its use."""

    suffix: str

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scenes that are not meant to be good
            self.seeds = self.make(folder)

    def make(self, folder: Path) -> list[bytes]:
        raise NotImplementedError

    def mutate(self, rng: random.Random, number: int) -> bytes:
        raise NotImplementedError

    def use(self, path: Path, rng: random.Random) -> None:
        raise NotImplementedError


class _Watched(hdf5.File):
    """Keeps where blocks of metadata lie."""

    blocks: list[tuple[int, int]]

    def block(self, address: int, length: int, signature: bytes) -> bytes:
        self.__dict__.setdefault("blocks", []).append((address, length))
        return super().block(address, length, signature)


class Trajectory(Kind):
    suffix = ".vtkhdf"

    def make(self, folder: Path) -> list[bytes]:
        seeds, path = [], folder / "seed.vtkhdf"
        packed = {"compression": 1, "fields": ("v", "F", "J", "stress", "pressure")}
        with mesh().record(path, fps=1e9, fields=("v", "stress")):
            pass
        seeds.append(path.read_bytes())
        for dim, options in ((2, {"fields": ("v",)}), (3, packed)):
            sim = tiny(dim)
            with sim.record(path, fps=1e9, **options):
                sim.step(3)
                sim.particles.delete([0])
                sim.step(2)
                growing = path.read_bytes()
            seeds.append(path.read_bytes())
        seeds.append(growing[: hdf5_bytes.end_of_file(growing)])
        with mpm.replay(path) as frames:  # imports what takes memory for good
            frames.plot(0)
        self.blocks, self.data = [], []
        for seed in seeds:
            path.write_bytes(seed)
            file = _Watched(path)
            self.data.append([*self._places(file.root)])
            self.blocks.append([*file.blocks])
            file.close()
        path.unlink()
        return seeds

    def _places(self, group: hdf5.Group) -> Iterator[tuple[str, np.dtype[Any], int, int]]:
        """Names, types, addresses and sizes of what data sets hold, each chunk by itself."""
        for name, member in group.members.items():
            if isinstance(member, hdf5.Group):
                yield from self._places(member)
            elif not member.chunk:
                yield name, member.dtype, member._address, member.taken
            elif not member.filters:
                chunks = member._list()
                yield from ((name, member.dtype, int(a), int(s)) for a, s in zip(*chunks[:2], strict=True))

    def mutate(self, rng: random.Random, number: int) -> bytes:
        which = number % len(self.seeds)
        data, blocks = self.seeds[which], self.blocks[which]
        kind = rng.random()
        if kind < 0.1:
            return raw(rng, data)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            if kind < 0.6:
                data = self._reseal(rng, data, blocks)
            elif kind < 0.75:
                data = self._text(rng, data, self.data[which])
            else:
                _, dtype, address, size = rng.choice(self.data[which])
                array = np.frombuffer(bytearray(data[address : address + size]), dtype)
                numbers(rng, array)
                data = data[:address] + array.tobytes() + data[address + size :]
            kind = rng.uniform(0.1, 1)
        return data

    def _reseal(self, rng: random.Random, data: bytes, blocks: list[tuple[int, int]]) -> bytes:
        """Another number in a block of metadata, with the right checksum."""
        address, length = rng.choice(blocks)
        skipped = rng.choice((0, 5, 5, 5, 5))  # what says what it is
        body = data[address : address + length - 4]
        body = body[:skipped] + patch(rng, body[skipped:], tuple(place for place, _ in blocks))
        return data[:address] + body + hdf5_bytes.sum_of(body) + data[address + length :]

    def _text(
        self, rng: random.Random, data: bytes, places: list[tuple[str, np.dtype[Any], int, int]]
    ) -> bytes:
        """Another scene or description: JSON without its blanks leaves room for more."""
        _, _, address, size = rng.choice([place for place in places if place[0] in ("scene", "description")])
        try:
            text = dumped(mutate_tree(rng, json.loads(data[address : address + size])))
        except (ValueError, RecursionError):  # mutated before
            text = b""
        if not text or len(text) > size:
            text = raw(rng, data[address : address + size])[:size]
        return data[:address] + text.ljust(size) + data[address + size :]

    def use(self, path: Path, rng: random.Random) -> None:
        with mpm.replay(path) as frames:
            repr(frames), frames.totals, frames.units, frames.at(float(frames.times[0])), frames.fps
            for frame in rng.sample([*frames], min(3, len(frames))):
                for name in frame.fields:
                    assert len(frame[name]) == len(frame) and frame.x.shape == (len(frame), frames.dimension)
                for name in frames.quantities:
                    frame.compute(name)
                cells = frame.cells
                assert cells is None or not cells.size or (cells.min() >= 0 and cells.max() < len(frame))
                for collider in frame.scene.colliders:
                    frame.collider_distance(collider.name, np.full((2, frames.dimension), 0.3))
            chance = rng.random()
            if chance < 0.1:
                suffix = rng.choice(("npz", "ply", "vtp", "csv", "bgeo", "geo"))
                promised(
                    ValueError,
                    "fields contains",
                    lambda: mpm.export(frames, path.with_suffix(f".{{}}.{suffix}")),
                )
                mpm.export(frames, path.with_suffix(".csv"))
            elif chance < 0.12:
                frames.plot(0)
                sys.modules["matplotlib.pyplot"].close("all")
        if chance > 0.97:
            from mpm.io.inspection import run

            with contextlib.redirect_stdout(None):
                run(
                    path, plot=None, frame=None, movie=None, color=None, export=None, fields=None, repair=True
                )


def promised(kind: type[Exception], words: str, call: Callable[[], object]) -> None:
    """Call; an error that the documentation promises is none."""
    try:
        call()
    except kind as error:
        if words not in str(error):
            raise


# --- checkpoints -----------------------------------------------------------------------------------------------------


class Checkpoint(Kind):
    suffix = ".mpm"

    def make(self, folder: Path) -> list[bytes]:
        seeds = []
        for dim in (2, 3):
            sim = tiny(dim)
            sim.step(3)
            seeds.append(checkpoint.dumps(sim))
        scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81), walls={"x": "periodic"})
        shape = mpm.shapes.Polygon([(0.6, 0.6), (0.9, 0.6), (0.7, 0.9)]).rotate(
            0.1, about=(0.7, 0.7)
        ) | mpm.shapes.Ball((0.5, 0.5), 0.2)
        scene.add(
            shape - mpm.shapes.Box((0.5, 0.5), (0.6, 0.6)), mpm.materials.Snow(), velocity=lambda x: 0 * x
        )
        scene.add_collider(
            mpm.shapes.Ball((0.5, 0.2), 0.15), motion=mpm.motion.Sinusoid((0.1, 0), 3.0), friction=0.3
        )
        axis = np.linspace(0, 1, 9)
        far = np.linalg.norm(np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1) - 0.2, axis=-1)
        grids = [mpm.shapes.DistanceGrid((0, 0), 0.125, far - r) for r in (0.1, 0.18)]
        scene.add_collider(mpm.shapes.Deforming([0.0, 0.1], grids))
        sim = mpm.Simulation(scene, dx=1 / 16, threads=1, transfer="flip", on_leave="delete")
        sim.particles.add_field("heat", unit="K")
        sim.step(3)
        seeds.append(checkpoint.dumps(sim))
        self.parsed = [container.unpack(seed) for seed in seeds]
        return seeds

    def mutate(self, rng: random.Random, number: int) -> bytes:
        which, kind = number % len(self.seeds), rng.random()
        tree, arrays = self.parsed[which]
        if kind < 0.1:
            return raw(rng, self.seeds[which])
        if kind < 0.6:
            tree = mutate_tree(rng, tree)
        if kind > 0.5:
            arrays = self._arrays(rng, arrays)
        return self._packed(rng, tree, arrays) or self.seeds[which]

    def _arrays(self, rng: random.Random, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Other entries, lengths, types and names."""
        changed = {name: array.copy() for name, array in arrays.items()}
        for name in rng.choices([*changed], k=rng.choice((1, 1, 2, 4))):
            array, kind = changed.get(name), rng.random()
            if array is None:
                continue
            if kind < 0.6:
                numbers(rng, array)
            elif kind < 0.7 and array.ndim:
                changed[name] = array[: rng.randrange(len(array) + 1)]
            elif kind < 0.75 and array.ndim:
                changed[name] = np.concatenate([array, array[: rng.randrange(len(array) + 1)]])
            elif kind < 0.8 and array.size:
                changed[name] = array.reshape(rng.choice([(-1,), (1, *array.shape), (*array.shape, 1)]))
            elif kind < 0.87:
                with np.errstate(all="ignore"):
                    changed[name] = array.astype(rng.choice(("f4", "f8", "i8", "i4", "u1", "u8")))
            elif kind < 0.92:
                del changed[name]
            elif kind < 0.96:
                changed[rng.choice(("state.other", "array99", "state.", "x"))] = array.copy()
            elif array.ndim and len(array):
                array[...] = array[rng.randrange(len(array))]
        return changed

    def _packed(self, rng: random.Random, tree: Any, arrays: dict[str, np.ndarray]) -> bytes:
        """A container with right checksums, whatever is in it; nothing where JSON has no place for it."""
        sections, body = [], b""
        for name, array in arrays.items():
            given = np.ascontiguousarray(array)
            text = given.tobytes()
            section: list[Any] = [name, given.dtype.name, [*array.shape], len(body), crc32(text)]
            if rng.random() < 0.01:
                section[rng.randrange(5)] = copy.deepcopy(
                    rng.choice((*VALUES, [2**62], [2**32] * 2, [0, 2**62], "object"))
                )
            sections.append(section)
            body += text + bytes(-len(text) % container.ALIGNMENT)
        header = dumped({"meta": tree, "sections": sections})
        start = container.PREAMBLE.size + len(header)
        start += -start % container.ALIGNMENT
        whole = start + len(body) + container.DIGEST
        preamble = container.PREAMBLE.pack(
            container.MAGIC, container.VERSION, crc32(header), len(header), whole
        )
        data = (preamble + header).ljust(start, b"\0") + body
        return data + hashlib.blake2b(data, digest_size=container.DIGEST).digest() if header else b""

    def use(self, path: Path, rng: random.Random) -> None:
        sim = mpm.load(path, threads=1)
        before = sim.state_hash()
        (
            repr(sim),
            sim.totals(),
            sim.health,
            sim.stable_dt(),
            [sim.particles[name] for name in sim.particles.fields],
        )
        assert checkpoint.loads(checkpoint.dumps(sim)).state_hash() == before
        with contextlib.suppress(mpm.SimulationError):
            sim.step(2)


# --- meshes ----------------------------------------------------------------------------------------------------------

WORDS = (
    "nan", "inf", "1e999", "-1", "0", "1e300", "1e-320", "x", "1_0", "١", "99999999999", "9" * 5000, "1/2/3", "1//",
    "/", "-1/-1", "#", "\\", "x" * 1000, "0x10", "1.5", "é", "\x0c", "\r", "\u2028", "v", "f", "facet", "vertex",
    "endfacet", "endsolid", "solid", "outer loop", "endloop", "1 2 3 4 5 6 7 8", "1 " * 300,
)  # fmt: skip


class Mesh(Kind):
    def mutate(self, rng: random.Random, number: int) -> bytes:
        data = self.seeds[number % len(self.seeds)]
        if rng.random() < 0.15:
            return raw(rng, data)
        if b"\0" in data:
            place = rng.choice((80, 84, rng.randrange(len(data))))
            return data[:place] + patch(rng, data[place : place + 50]) + data[place + 50 :]
        lines = data.decode("utf-8", "replace").split("\n")
        for _ in range(rng.choice((1, 1, 2, 5, 20))):
            k, kind = rng.randrange(len(lines)), rng.random()
            if kind < 0.5:
                words = lines[k].split(" ")
                words[rng.randrange(len(words))] = rng.choice(WORDS)
                lines[k] = " ".join(words)
            elif kind < 0.6 and len(lines) > 1:
                del lines[k]
            elif kind < 0.7:
                lines.insert(k, rng.choice(lines))
            elif kind < 0.8:
                other = rng.randrange(len(lines))
                lines[k], lines[other] = lines[other], lines[k]
            elif kind < 0.9:
                lines[k] += rng.choice(("\\", " # x", " " + rng.choice(WORDS)))
            else:
                lines = lines[: k + 1]
        return "\n".join(lines).encode("utf-8", "replace")

    def use(self, path: Path, rng: random.Random) -> None:
        vertices, faces = readers.read(path)
        assert np.isfinite(vertices).all() and (0 <= faces).all() and (faces < len(vertices)).all()
        mpm.shapes.Mesh(path).contains([(0.5, 0.5, 0.5)])


def small(name: str, most: int = 20_000) -> bytes:
    """One of the meshes of the tests, cut at a line if it is large."""
    data = (Path(__file__).parent / "data" / "meshes" / name).read_bytes()
    return data if len(data) <= most else data[: data.rindex(b"\n", 0, most)]


CORNERS = [(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)]
FACES = [
    (0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4),
    (2, 6, 3), (3, 6, 7), (0, 4, 2), (2, 4, 6), (1, 3, 5), (3, 7, 5),
]  # fmt: skip


class Obj(Mesh):
    suffix = ".obj"

    def make(self, folder: Path) -> list[bytes]:
        text = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS)
        text += "".join(f"f {a + 1} {b + 1}/1 {c + 1}//1\n" for a, b, c in FACES)
        return [text.encode(), small("box.obj"), small("box_longline.obj"), small("number_formats.obj")]


class Stl(Mesh):
    suffix = ".stl"

    def make(self, folder: Path) -> list[bytes]:
        facets = [[CORNERS[k] for k in face] for face in FACES]
        binary = b"binary".ljust(80) + struct.pack("<I", len(facets))
        text = "solid a\n"
        for facet in facets:
            binary += struct.pack("<12fH", 0, 0, 0, *(value for corner in facet for value in corner), 0)
            corners = "".join(f"vertex {x} {y} {z}\n" for x, y, z in facet)
            text += f"facet normal 0 0 1\nouter loop\n{corners}endloop\nendfacet\n"
        return [text.encode() + b"endsolid a\n", binary, small("sphereWithHole.stl")]


KINDS: dict[str, type[Kind]] = {"trajectory": Trajectory, "checkpoint": Checkpoint, "obj": Obj, "stl": Stl}


# --- the loop --------------------------------------------------------------------------------------------------------


class Hang(BaseException):
    """It took too long; not an Exception, so that nothing takes it for damage."""


def _hang(*_: object) -> None:
    raise Hang


def peak_after(call: Callable[[], None]) -> int:
    """Bytes by which memory grew at most meanwhile, where the system says so."""
    status = Path("/proc/self/status")
    if not status.exists():
        call()
        return 0
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the peak
    before = _line(status, "VmRSS")
    call()
    return _line(status, "VmHWM") - before


def _line(status: Path, name: str) -> int:
    text = status.read_text(encoding="ascii")
    return int(text[text.index(name) :].split(None, 2)[1]) << 10


def attempt(kind: Kind, path: Path) -> str:
    """What came of a file: "used" or "refused"; everything else is a failure."""
    data = path.read_bytes()
    found = []

    def call() -> None:
        try:
            kind.use(path, random.Random(hashlib.blake2b(data).digest()))
            found.append("used")
        except mpm.FileFormatError as error:
            said = str(error)
            found.append(
                "refused"
                if path.name in said and len(said) < 1000
                else f"says too much or little: {said[:300]}"
            )
        except Hang:
            found.append(f"hangs\n{traceback.format_exc()}")
        except BaseException:
            found.append(f"raises\n{traceback.format_exc()}")

    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        growth = peak_after(call)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if growth > TIMES * len(data) + MORE:
        return f"takes memory: {growth >> 20} MB for {len(data)} bytes"
    return found[0]


def what_kind(outcome: str) -> str:
    """Failures of one kind: the same error from the same line."""
    lines = [line.strip() for line in outcome.splitlines()]
    places = [line for line in lines if line.startswith("File ")]
    return "\n".join([lines[0][:40], *places[-1:], lines[-1][:40]]) if len(lines) > 1 else lines[0][:40]


def fuzz(name: str, seconds: float, seed: int, out: Path, most: int = sys.maxsize) -> Counter[str]:
    """Read damaged files for some time; returns how often each came of it, failures by their kind."""
    outcomes: Counter[str] = Counter()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        kind = KINDS[name](Path(folder))
        current = out / f"{name}-{seed}-current{kind.suffix}"
        path = Path(folder) / f"a{kind.suffix}"
        end, number = time.monotonic() + seconds, 0
        while time.monotonic() < end and number < most:
            if number % 100 == 0:  # for hangs in which the interpreter runs no handler
                faulthandler.dump_traceback_later(100 + 10 * SECONDS, exit=True)
            data = kind.mutate(random.Random(f"{name} {seed} {number}"), number)
            current.write_bytes(data)
            path.write_bytes(data)
            outcome = attempt(kind, path)
            fine = outcome in ("used", "refused")
            found = outcome if fine else what_kind(outcome)
            if not fine and not outcomes[found]:
                kept = out / f"{name}-{seed}-{number}{kind.suffix}"
                kept.write_bytes(data)
                print(f"{kept}: {outcome}", flush=True)
            outcomes[found] += 1
            number += 1
            for other in Path(folder).iterdir():
                other.unlink()
        current.unlink()
    faulthandler.cancel_dump_traceback_later()
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", type=Path, help="try this file only")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("MPLBACKEND", "Agg")
    faulthandler.enable()
    hdf5_bytes.PATIENCE = 0.002  # nobody writes to the files
    signal.signal(signal.SIGALRM, _hang)
    resource.setrlimit(resource.RLIMIT_AS, (MOST, resource.getrlimit(resource.RLIMIT_AS)[1]))
    if options.file:
        with tempfile.TemporaryDirectory() as folder:
            kind = KINDS[options.kind](Path(folder))
            path = Path(folder) / f"a{kind.suffix}"
            path.write_bytes(options.file.read_bytes())
            print(outcome := attempt(kind, path))
            return outcome not in ("used", "refused")
    outcomes = fuzz(options.kind, options.seconds, options.seed, options.out)
    failures = {kind: count for kind, count in outcomes.items() if kind not in ("used", "refused")}
    print(f"{options.kind}: {outcomes.total()} files, {outcomes['refused']} refused, {outcomes['used']} used")
    for kind, count in failures.items():
        print(f"{count} times: {kind}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
