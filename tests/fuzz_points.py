"""Kinds of files that `fuzz` damages: points, cells, and recordings as a file per frame."""

from __future__ import annotations

import contextlib
import io
import json
import random
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import mpm
import scenes
from fuzz_files import use_frames
from fuzz_mutations import Kind, dumped, edit_lines, mutate_tree, numbers, patch, promising, raw, tiny
from mpm.io import formats

WORDS = (
    "nan", "inf", "1e999", "-1", "0", "1e300", "1e-320", "x", "y", "z", "volume", "P[x]", "Points:0", "1_0", "١",
    "99999999999", "9" * 5000, "#", "x" * 1000, "0x10", "1.5", "é", "\x0c", "\r", "\u2028", ";", ",", "\t", '"', "-0",
    "1 " * 300, "1," * 300, "property", "element", "list", "double", "uchar", "end_header", "format", "NPoints",
    "PointAttrib", "vector", "float", "index", "2147483648", "CELLS", "POINTS", "$EndNodes", "$Elements", "BINARY",
)  # fmt: skip


def mutate_text(rng: random.Random, data: bytes) -> bytes:
    """Other words, lines left out, repeated, exchanged, and a text that ends early."""

    def reworded(line: str) -> str:
        mark = "," if "," in line and rng.random() < 0.8 else " "
        words = line.split(mark)
        place = rng.randrange(len(words))
        if rng.random() < 0.2:
            words.insert(place, rng.choice(WORDS))
        elif rng.random() < 0.2:
            del words[place]
        else:
            words[place] = rng.choice(WORDS)
        return mark.join(words)

    lines = data.decode("latin-1").split("\n")
    lines = edit_lines(rng, lines, reworded, (" # x",), WORDS, (0.55, 0.65, 0.75, 0.85, 0.93))
    text = "\n".join(lines)
    try:
        return text.encode("latin-1")  # bytes that are no text stay
    except UnicodeEncodeError:
        return text.encode()


def mutate_binary(rng: random.Random, data: bytes, head: int) -> bytes:
    """A head with numbers or words, then records."""
    kind = rng.random()
    if kind < 0.1:
        return raw(rng, data)
    if kind < 0.6:
        return patch(rng, data[:head]) + data[head:]
    if kind < 0.8:
        return mutate_text(rng, data[:head]) + data[head:]
    return data[:head] + patch(rng, data[head:])


def written(folder: Path, name: str) -> bytes:
    """What `mpm.export` writes of a small simulation."""
    dim = 3 if "3" in name else 2
    sim = tiny(dim)
    sim.step(2)
    path = folder / name
    mpm.export(sim, path.with_suffix(".{}.csv") if path.suffix == ".csv" else path)
    made = path.with_suffix(".0.csv") if path.suffix == ".csv" else path
    data = made.read_bytes()
    made.unlink()
    return data


# --- points ----------------------------------------------------------------------------------------------------------


class Points(Kind):
    """What `Points.from_file` reads."""

    def make(self, folder: Path) -> list[bytes]:
        return [written(folder, f"seed{dim}{self.suffix}") for dim in (2, 3)] + self.others()

    def others(self) -> list[bytes]:
        """Files as other programs write them."""
        return []

    def mutate(self, rng: random.Random, number: int) -> bytes:
        data = self.seeds[number % len(self.seeds)]
        return raw(rng, data) if rng.random() < 0.1 else mutate_text(rng, data)

    def parse(self, data: bytes, path: Path) -> None:
        formats.READERS[self.suffix](data)

    def use(self, path: Path, rng: random.Random) -> None:
        found = mpm.shapes.Points.from_file(path)
        assert found.x.ndim == 2 and len(found.x) and np.isfinite(found.x).all() and repr(found)
        volume = found.volume
        assert not isinstance(volume, np.ndarray) or (len(volume) == len(found.x) and (volume > 0).all())
        low, high = found.x.min(axis=0), found.x.max(axis=0)
        if not (abs(low) < 1e6).all() or not (abs(high) < 1e6).all() or not (high - low > 1e-3).any():
            return
        size = float((high - low).max())
        scene = mpm.Scene(low - size, high + size)
        with contextlib.suppress(ValueError):  # volumes may be missing, or of no use
            scene.add(found, scenes.MATERIALS["neo_hookean"])
            mpm.Simulation(scene, dx=size / 4, threads=1)


class Csv(Points):
    suffix = ".csv"

    def others(self) -> list[bytes]:
        return [b"1 2 3\n4 5 6\n", b"P[x];P[y];P[z]\n1;2;3\n1;2;4\n", b'"Points:0","Points:1"\n0.5,1\n1,2\n']


class Geo(Points):
    suffix = ".geo"


class Bgeo(Points):
    suffix = ".bgeo"

    def mutate(self, rng: random.Random, number: int) -> bytes:
        return mutate_binary(rng, self.seeds[number % len(self.seeds)], 200)


class Ply(Points):
    suffix = ".ply"

    def others(self) -> list[bytes]:
        head = (
            "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty double z\n"
        )
        faces = "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
        return [f"{head}{faces}0 0 0\n1 1 1\n3 0 1 1\n".encode()]

    def mutate(self, rng: random.Random, number: int) -> bytes:
        data = self.seeds[number % len(self.seeds)]
        head = data.index(b"end_header") + len("end_header\n")
        if rng.random() < 0.5:
            return mutate_text(rng, data[:head]) + data[head:]
        return mutate_binary(rng, data, head) if b"ascii" not in data[:head] else mutate_text(rng, data)


class Npz(Points):
    suffix = ".npz"

    def mutate(self, rng: random.Random, number: int) -> bytes:
        """Other arrays and headers in a right archive, or another archive around right arrays."""
        data = self.seeds[number % len(self.seeds)]
        kind = rng.random()
        if kind < 0.1:
            return raw(rng, data)
        if kind < 0.25:  # the directory is at the end
            return data[:-400] + patch(rng, data[-400:])
        stream = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w") as new:
            members = [(info.filename, old.read(info)) for info in old.infolist()]
            for _ in range(rng.choice((1, 1, 2, 3))):
                k = rng.randrange(len(members))
                members[k] = self._member(rng, *members[k])
            if rng.random() < 0.2:
                del members[rng.randrange(len(members))]
            for name, content in members:
                packing = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
                new.writestr(zipfile.ZipInfo(name), content, packing)
        return stream.getvalue()

    def _member(self, rng: random.Random, name: str, content: bytes) -> tuple[str, bytes]:
        kind, head = rng.random(), 128
        if kind < 0.4:  # the dictionary with type, order and shape
            return name, mutate_text(rng, content[:head]) + content[head:]
        if kind < 0.6:
            return name, patch(rng, content[:head]) + content[head:]
        if kind < 0.8:
            values = np.frombuffer(bytearray(content[head:]), np.uint8)
            numbers(rng, values[: len(values) // 8 * 8].view(np.float64))
            return name, content[:head] + values.tobytes()
        if kind < 0.9:
            return rng.choice(("x.npy", "volume.npy", "P.npy", "../x.npy", "", "x")), content
        return name, content[: rng.randrange(len(content) + 1)]


# --- cells -----------------------------------------------------------------------------------------------------------


class Cells(Kind):
    """What `Cells.from_file` reads through meshio, whose memory and time are its own."""

    bounded, most = False, 1 << 30
    formats: tuple[tuple[str, dict[str, Any]], ...]

    def make(self, folder: Path) -> list[bytes]:
        import meshio

        seeds, path = [], folder / f"seed{self.suffix}"
        for dim in (2, 3):
            x = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1)], dtype=float)
            cells = (
                [("triangle", [(0, 1, 2), (0, 2, 3)])]
                if dim == 2
                else [("tetra", [(0, 1, 2, 4), (0, 2, 3, 4)])]
            )
            for name, options in self.formats:
                used = x[:4] if dim == 2 else x
                made = meshio.Mesh(used, [(k, np.array(c)) for k, c in cells])
                with contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
                    made.write(path, file_format=name, **options)
                seeds.append(path.read_bytes())
        path.unlink()
        return seeds

    def mutate(self, rng: random.Random, number: int) -> bytes:
        data = self.seeds[number % len(self.seeds)]
        if rng.random() < 0.1:
            return raw(rng, data)
        return patch(rng, data) if b"\0" in data and rng.random() < 0.6 else mutate_text(rng, data)

    def use(self, path: Path, rng: random.Random) -> None:
        with warnings.catch_warnings(), promising(ValueError, "cells["):  # flat ones, or two at one place
            warnings.simplefilter("ignore")
            found = mpm.shapes.Cells.from_file(path)
            assert found.cells.min() >= 0 and found.cells.max() < len(found.vertices)
            assert np.isfinite(found.vertices).all()
            found.contains(found.vertices[:2])


class Msh(Cells):
    suffix = ".msh"
    formats = (("gmsh", {"binary": False}), ("gmsh22", {"binary": False}), ("gmsh", {"binary": True}))


class Vtk(Cells):
    suffix = ".vtk"
    formats = (("vtk42", {"binary": False}), ("vtk42", {"binary": True}), ("vtk", {"binary": True}))


class Vtu(Cells):
    suffix = ".vtu"
    formats = (("vtu", {"binary": False}), ("vtu", {"binary": True}))


# --- sequences -------------------------------------------------------------------------------------------------------


class Sequence(Kind):
    """A recording as a file per frame, packed into one: a line of JSON with names and lengths, then the files."""

    suffix = ".packed"

    def make(self, folder: Path) -> list[bytes]:
        self.files: list[dict[str, bytes]] = []
        for dim in (2, 3):
            for suffix in ("geo", "bgeo"):
                sim, inside = tiny(dim), folder / "inside"
                inside.mkdir()
                run = inside / f"run_{{:04d}}.{suffix}"
                with sim.record(run, fps=1e9, fields=("v", "F")):
                    sim.step(3)
                    sim.particles.delete([0])
                    sim.step(1)
                with mpm.replay(run) as frames:  # imports what takes memory for good
                    frames.plot(0)
                self.files.append({path.name: path.read_bytes() for path in sorted(inside.iterdir())})
                for path in inside.iterdir():
                    path.unlink()
                inside.rmdir()
        return [_pack(files) for files in self.files]

    def mutate(self, rng: random.Random, number: int) -> bytes:
        files = dict(self.files[number % len(self.files)])
        for _ in range(rng.choice((1, 1, 2, 3))):
            name, kind = rng.choice(sorted(files)), rng.random()
            if kind < 0.08 and len(files) > 1:
                del files[name]
            elif kind < 0.16:
                files[rng.choice((*files, "run_0009" + name[-4:], "run_1" + name[-4:], "run_0001.geo"))] = (
                    files[name]
                )
            elif not files[name]:
                files[name] = b"x"
            elif name.endswith(".series"):
                files[name] = self._series(rng, files[name])
            elif name.endswith(".bgeo"):
                files[name] = mutate_binary(rng, files[name], 200)
            else:
                files[name] = raw(rng, files[name]) if kind < 0.25 else mutate_text(rng, files[name])
        return _pack(files)

    def _series(self, rng: random.Random, data: bytes) -> bytes:
        """A line of another content; or without a thought."""
        lines = data.split(b"\n")
        k = rng.randrange(len(lines))
        with contextlib.suppress(ValueError, RecursionError):  # mutated before
            if rng.random() < 0.85 and lines[k]:
                lines[k] = dumped(mutate_tree(rng, json.loads(lines[k]))) or lines[k]
                return b"\n".join(lines)
        return mutate_text(rng, data)

    def use(self, path: Path, rng: random.Random) -> None:
        folder = path.with_name(path.name + ".files")
        folder.mkdir()
        try:
            head, _, data = path.read_bytes().partition(b"\n")
            for name, length in json.loads(head):
                (folder / name).write_bytes(data[:length])
                data = data[length:]
            first = json.loads(head)[0][0]
            way = rng.choice((first, "run_{:04d}" + Path(first.removesuffix(".series")).suffix))
            use_frames(folder / way, rng)
        finally:
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()


def _pack(files: dict[str, bytes]) -> bytes:
    names = [(name, len(data)) for name, data in sorted(files.items())]
    return json.dumps(names).encode() + b"\n" + b"".join(files[name] for name, _ in names)


KINDS: dict[str, type[Kind]] = {
    "csv": Csv,
    "geo": Geo,
    "bgeo": Bgeo,
    "ply": Ply,
    "npz": Npz,
    "msh": Msh,
    "vtk": Vtk,
    "vtu": Vtu,
    "sequence": Sequence,
}
