"""What the kinds of files of `fuzz` have in common: numbers and words that are hard to read, and changes of data."""

from __future__ import annotations

import contextlib
import copy
import json
import math
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mpm
import scenes

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
            real = float(value) if abs(value) < 1e300 else math.inf  # an integer may have thousands of digits
            parent[key] = rng.choice((-value, value + 1, value - 1, value * 2, real * 1e10, real))
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


class Kind:
    """A kind of file: its seeds, its mutations, and its use."""

    suffix: str
    bounded = True  # in memory and time by this package, not by another one that reads the file
    most = 4 << 30  # bytes of the process, so that a failure ends it, not the machine

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

    def parse(self, data: bytes, path: Path) -> None:
        """Call the reader alone, many times a second. `path`: where a reader of files finds them, in memory."""
        raise NotImplementedError


@contextlib.contextmanager
def promising(kind: type[Exception], words: str) -> Iterator[None]:
    """An error that the documentation promises is none."""
    try:
        yield
    except mpm.FileFormatError:
        raise
    except kind as error:
        if words not in str(error):
            raise


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


def edit_lines(
    rng: random.Random,
    lines: list[str],
    reworded: Callable[[str], str],
    endings: tuple[str, ...],
    words: tuple[str, ...],
    shares: tuple[float, float, float, float, float],
) -> list[str]:
    """Lines reworded, left out, repeated, exchanged and continued, with these cumulated shares; else an early end."""
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        k, kind = rng.randrange(len(lines)), rng.random()
        if kind < shares[0]:
            lines[k] = reworded(lines[k])
        elif kind < shares[1] and len(lines) > 1:
            del lines[k]
        elif kind < shares[2]:
            lines.insert(k, rng.choice(lines))
        elif kind < shares[3]:
            other = rng.randrange(len(lines))
            lines[k], lines[other] = lines[other], lines[k]
        elif kind < shares[4]:
            lines[k] += rng.choice((*endings, " " + rng.choice(words)))
        else:
            lines = lines[: k + 1]
    return lines
