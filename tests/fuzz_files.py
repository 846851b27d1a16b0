"""Kinds of files that `fuzz` damages: trajectories, checkpoints of every method, OBJ and STL."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import hashlib
import json
import os
import random
import shlex
import struct
import subprocess
import sys
from binascii import crc32
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mpm
import scenes
from fuzz_mutations import (
    VALUES,
    Kind,
    dumped,
    edit_lines,
    mesh,
    mutate_tree,
    numbers,
    patch,
    promising,
    raw,
    tiny,
)
from mpm.io import checkpoint, container, hdf5, hdf5_bytes, vtkhdf_reader
from mpm.meshes import readers


def hinged() -> Any:
    """A rigid body on a hinge."""
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    joint = mpm.joints.Hinge((0.4, 0.5))
    scene.add(mpm.shapes.Box((0.4, 0.4), (0.7, 0.6)), mpm.materials.Rigid(density=1000), joint=joint)
    return mpm.Simulation(scene, dx=1 / 8, threads=1)


# --- trajectories ----------------------------------------------------------------------------------------------------


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
        for first in (mesh(), hinged()):
            with first.record(path, fps=1e9, fields=("v", "stress")):
                first.step(1)
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

    def parse(self, data: bytes, path: Path) -> None:
        path.write_bytes(data)
        file = vtkhdf_reader.Reader(path)
        try:
            for name in ("x", *file.fields):
                file.field(0, name)
        finally:
            file.close()

    def use(self, path: Path, rng: random.Random) -> None:
        use_frames(path, rng)
        if rng.random() > 0.97:
            from mpm.commands.replay import run

            with contextlib.redirect_stdout(None):
                choices = ("plot", "frame", "movie", "color", "cut", "export", "fields")
                run(path, **dict.fromkeys(choices), repair=True)


def use_frames(path: Path, rng: random.Random) -> None:
    """Read a recording, compute from its frames, and write them for other programs."""
    with mpm.replay(path) as frames:
        repr(frames), frames.totals, frames.units, frames.at(float(frames.times[0])), frames.fps
        for frame in rng.sample([*frames], min(3, len(frames))):
            for name in frame.fields:
                assert len(frame[name]) == len(frame) and frame.x.shape == (len(frame), frames.dimension)
            for name in frames.quantities:
                frame.compute(name)
            for solid in frame._solids():
                assert np.isfinite(solid.distance(solid.at_rest(frame.x))[0]).all()
            cells = frame.cells
            assert cells is None or not cells.size or (cells.min() >= 0 and cells.max() < len(frame))
            for collider in frame.scene.colliders:
                frame.collider_distance(collider.name, np.full((2, frames.dimension), 0.3))
        chance = rng.random()
        if chance < 0.1:
            suffix = rng.choice(("npz", "ply", "vtp", "csv", "bgeo", "geo"))
            with promising(ValueError, "fields contains"):
                mpm.export(frames, path.with_name(f"out.{{}}.{suffix}"))
            mpm.export(frames, path.with_name("out.csv"))
        elif chance < 0.12:
            frames.plot(0)
            sys.modules["matplotlib.pyplot"].close("all")


# --- checkpoints -----------------------------------------------------------------------------------------------------


class Checkpoint(Kind):
    suffix = ".mpm"
    laws: dict[str, Any] | None = None

    def make(self, folder: Path) -> list[bytes]:
        seeds = []
        for sim in self.simulations():
            sim.step(3)
            seeds.append(checkpoint.dumps(sim))
        self.parsed = [container.unpack(seed) for seed in seeds]
        return seeds

    def simulations(self) -> list[Any]:
        """Small ones, without a step."""
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
        sim.particles.add_field("warmth", unit="K")
        return [tiny(2), tiny(3), sim]

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

    def parse(self, data: bytes, path: Path) -> None:
        with promising(ValueError, "laws"):
            checkpoint.loads(data, threads=1, laws=self.laws)

    def use(self, path: Path, rng: random.Random) -> None:
        with promising(ValueError, "laws"):
            self._use(mpm.load(path, threads=1, laws=self.laws))

    def _use(self, sim: Any) -> None:
        before = sim.state_hash()
        repr(sim), sim.totals(), sim.health, sim.stable_dt()
        for name in sim.particles.fields:
            assert len(sim.particles[name]) == len(sim.particles)
        assert checkpoint.loads(checkpoint.dumps(sim), laws=self.laws).state_hash() == before
        with contextlib.suppress(mpm.SimulationError), promising(ValueError, "was not kept in the file"):
            sim.step(2)


class Varying(Checkpoint):
    """Parameters that vary over particles, with a field of each."""

    def simulations(self) -> list[Any]:
        simulations = []
        for dim in (2, 3):
            scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81])
            x = np.full((5, dim), 0.3) + 0.02 * np.arange(5)[:, None]
            solid = mpm.materials.NeoHookean(E=lambda x: 10 * (1 + x[:, 0]), nu=0.3, density=1)
            scene.add(mpm.shapes.Points(x, volume=0.02**dim), solid)
            snow = mpm.materials.Snow(E=np.linspace(10, 20, 5), density=lambda x: 1 + x[:, 0])
            scene.add(mpm.shapes.Points(x + 0.2, volume=0.02**dim), snow)
            scene.add(mpm.shapes.Points(x + 0.4, volume=0.02**dim), scenes.MATERIALS["fluid"])
            simulations.append(mpm.Simulation(scene, dx=1 / 8, threads=1))
        return simulations


class Elements(Checkpoint):
    """Finite elements in 2-D and 3-D: explicit, damped, with two bodies, and with implicit steps."""

    def simulations(self) -> list[Any]:
        simulations = []
        for dim, options in (
            (2, {"damping": (1.0, 0.0)}),
            (3, {}),
            (2, {"integrator": "linearly-implicit-euler", "dt": 1e-3}),
        ):
            scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81], walls="slip")
            scene.add(mpm.shapes.Box([0.25] * dim, [0.5] * dim), scenes.MATERIALS["neo_hookean"])
            if not options:
                scene.add(
                    mpm.shapes.Box([0.6] * dim, [0.85] * dim),
                    mpm.materials.NeoHookean(E=20, nu=0.2, density=2),
                )
            simulations.append(mpm.fem.Simulation(scene, spacing=0.25, threads=1, **options))
        return simulations


class Smoothed(Checkpoint):
    """SPH in 2-D and 3-D, with a collider that moves."""

    def simulations(self) -> list[Any]:
        simulations = []
        for dim, walls in ((2, "slip"), (3, "slip"), (2, {"x": "periodic", "y": "slip"})):
            scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81], walls=walls)
            scene.add(mpm.shapes.Box([0.25] * dim, [0.5] * dim), scenes.MATERIALS["fluid"])
            if walls == "slip":
                motion = mpm.motion.Linear([0.1] * dim)
                scene.add_collider(mpm.shapes.Ball([0.75] * dim, 0.2), motion=motion, name="ball")
            simulations.append(mpm.sph.Simulation(scene, spacing=1 / 8, threads=1))
        return simulations


class UserLaws(Checkpoint):
    """A law of the user with a history, whose compiled functions the reader gets."""

    def make(self, folder: Path) -> list[bytes]:
        compiler = shlex.split(os.environ.get("CC") or "cc")
        source, made = Path(__file__).parent / "data" / "user_laws.c", folder / "user_laws.so"
        flags = ["-O1", "-shared", "-fPIC", f"-I{mpm.get_include()}"]
        subprocess.run([*compiler, *flags, source, "-o", made, "-lm"], check=True)
        library = ctypes.CDLL(str(made))
        law, field = mpm.materials.UserLaw, mpm.materials.HistoryField
        damaging = law(
            name="damaging",
            evaluate=law.EVALUATE(("damaged", library)),
            advance=law.RETURN_MAP(("damage", library)),
            constants={"mu": 4.0, "lam": 6.0},
            density=1,
            history=[field("damage", low=-1, high=1), field("left_stretch", rank="symmetric", initial=1)],
        )
        self.laws = {"damaging": damaging}
        return super().make(folder)

    def simulations(self) -> list[Any]:
        simulations = []
        for dim in (2, 3):
            scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81])
            for k, material in enumerate((self.laws["damaging"], scenes.MATERIALS["snow"])):
                x = np.full((5, dim), 0.3 + 0.2 * k) + 0.02 * np.arange(5)[:, None]
                scene.add(mpm.shapes.Points(x, volume=0.02**dim), material)
            simulations.append(mpm.Simulation(scene, dx=1 / 8, threads=1))
        return simulations


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

        def reworded(line: str) -> str:
            words = line.split(" ")
            words[rng.randrange(len(words))] = rng.choice(WORDS)
            return " ".join(words)

        lines = data.decode("utf-8", "replace").split("\n")
        lines = edit_lines(rng, lines, reworded, ("\\", " # x"), WORDS, (0.5, 0.6, 0.7, 0.8, 0.9))
        return "\n".join(lines).encode("utf-8", "replace")

    def parse(self, data: bytes, path: Path) -> None:
        (readers._read_obj if self.suffix == ".obj" else readers._read_stl)(path, data)

    def use(self, path: Path, rng: random.Random) -> None:
        vertices, faces = readers.read(path)
        assert np.isfinite(vertices).all() and (0 <= faces).all() and (faces < len(vertices)).all()
        mpm.shapes.Mesh(path).contains([(0.5, 0.5, 0.5)])


def small(name: str, most: int = 2_500) -> bytes:
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


KINDS: dict[str, type[Kind]] = {
    "trajectory": Trajectory,
    "checkpoint": Checkpoint,
    "varying": Varying,
    "elements": Elements,
    "smoothed": Smoothed,
    "user-laws": UserLaws,
    "obj": Obj,
    "stl": Stl,
}
