"""Moving pictures of runs for the documentation, kept in build/pictures until what they show changes."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mpm

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "pictures"
# Parts of the package that no loop shows.
APART = {"bench", "commands", "fem", "integrators", "io", "point", "sph", "study", "viewer"}


@dataclass(frozen=True)
class Loop:
    """A run and how it is drawn."""

    make: Callable[..., mpm.Simulation] = field(repr=False)  # a function of a module, with `arguments`
    duration: float  # of simulated time [s]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    color: Any = "speed"  # as in `Simulation.plot`
    limits: tuple[float, float] | None = None
    frames: int = 40
    seconds: float = 2.8  # that the loop takes to play
    size: tuple[int, int] = (480, 360)

    def key(self, code: str) -> str:
        """What the picture depends on."""
        return hashlib.sha256(f"{code} {self.make.__qualname__} {self!r}".encode()).hexdigest()


def code(apart: Iterable[str] = APART) -> str:
    """A digest of the package, without these parts."""
    digest = hashlib.sha256()
    files = [*(ROOT / "mpm").glob("_core*.so"), *(ROOT / "mpm").rglob("*.py")]
    for path in sorted(files):
        if path.relative_to(ROOT / "mpm").parts[0] not in apart:
            digest.update(path.read_bytes())
    return digest.hexdigest()


def record(name: str, loop: Loop, key: str) -> None:
    """Run and draw; write the file whole or not at all, and then the key."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of coarse cells
        sim = loop.make(**loop.arguments)
        renderer = mpm.viz.Renderer(sim, color=loop.color, limits=loop.limits, size=loop.size, annotate=False)
        times = sim.frames(duration=loop.duration, fps=loop.frames / loop.duration) if loop.duration else [0]
        first, *others = [Image.fromarray(renderer.frame(sim)) for _ in times]
    each = round(1000 * loop.seconds / loop.frames)
    partial = KEPT / f"{name}.partial"
    moving: dict[str, Any] = {"save_all": True, "append_images": others, "loop": 0} if others else {}
    if others:
        moving["duration"] = [each] * len(others) + [800]  # the end stays for a while
    first.save(partial, format="webp", quality=60, method=3, **moving)
    partial.replace(KEPT / f"{name}.webp")
    (KEPT / f"{name}.key").write_text(key)


def save_all(loops: Mapping[str, Loop], names: Iterable[str] = ()) -> None:
    """The loops that are missing or show an older state of the code, one process per processor."""
    KEPT.mkdir(parents=True, exist_ok=True)
    made_by, wanted = code(), {}
    for name in names or loops:
        key, kept = loops[name].key(made_by), KEPT / f"{name}.key"
        if not (KEPT / f"{name}.webp").is_file() or not kept.is_file() or kept.read_text() != key:
            wanted[name] = key
    if not wanted:
        return
    print(f"draws {len(wanted)} of {len(loops)} loops", flush=True)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(record, name, loops[name], key) for name, key in wanted.items()]
        for run in runs:
            run.result()
