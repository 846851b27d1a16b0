"""Do memory, threads or open files grow in a long run, and does it end with the bits of a straight one?

    python benchmarks/soak.py [--steps 1000000] [--every 1000]

A small scene of every method is run in pieces. Between them particles are deleted and added, arrays looked at and
dropped, the state saved, loaded and copied, and a recording made; a twin makes the same changes, and nothing else.
Resident memory, threads and open files are read after half of the run, when the pools of the C library and of HDF5
are full, and at its end.
"""

import argparse
import copy
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import mpm

GROWTH = 1.01


def scene(material: Any) -> mpm.Scene:
    """A block that slides in a box."""
    box = mpm.Scene([0, 0], [1, 1], gravity=[0.1, -1], walls="slip")
    box.add(mpm.shapes.Box([0.2, 0.0], [0.6, 0.4]), material, velocity=[0.3, 0])
    return box


def simulations(threads: int) -> dict[str, Any]:
    """One of each method; the history keeps few rows, since it is to grow with the steps."""
    elastic = mpm.materials.NeoHookean(E=100, nu=0.3, density=1)
    water = mpm.materials.Fluid(bulk_modulus=100, density=1)
    options: dict[str, Any] = {"threads": threads, "history": 10**6}
    return {
        "mpm": mpm.Simulation(scene(elastic), dx=1 / 8, on_leave="clamp", **options),
        "sph": mpm.sph.Simulation(scene(water), spacing=1 / 12, on_leave="clamp", alpha=0.1, **options),
        "fem": mpm.fem.Simulation(scene(elastic), spacing=1 / 8, damping=(1, 0), **options),
    }


def change(sim: Any, method: str, number: int) -> None:
    """What both runs do: every eighth time a small body replaces the particles that came first."""
    if method != "fem" and number % 8 == 7:
        rows = len(sim.particles)
        material = sim.materials[0]
        low = [0.72, 0.3 + 0.01 * (number // 8 % 5)]
        sim.add(mpm.shapes.Box(low, [low[0] + 0.15, low[1] + 0.15]), material, name=f"late{number}")
        sim.particles.delete(np.arange(len(sim.particles) - rows))
    elif number % 8 == 3:
        sim.particles.v[:] *= 0.5


def disturb(sim: Any, folder: Path, number: int) -> Any:
    """What only the soaked run does. Returns the simulation that goes on."""
    kept = [sim.particles[name] for name in sim.particles.fields]
    sim.totals(), sim.compute("pressure"), repr(sim)
    del kept
    sim.threads = 1 + number % 3
    if number % 5 == 0:
        sim.save(folder / "soak.mpm")
        return mpm.load(folder / "soak.mpm")
    if number % 5 == 2:
        return copy.deepcopy(sim)
    if number % 5 == 4:
        with sim.record(folder / "soak.vtkhdf", fps=1):
            pass
    return sim


def resources() -> tuple[int, int, int]:
    """Resident bytes, threads and open files of this process (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return (
        pages * os.sysconf("SC_PAGESIZE"),
        len(os.listdir("/proc/self/task")),
        len(os.listdir("/proc/self/fd")),
    )


def soak(method: str, steps: int, every: int) -> bool:
    """Run one method, print what it took; True if all is flat and equal."""
    sim, twin = simulations(2)[method], simulations(1)[method]
    early, start = (0, 0, 0), time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        for number in range(steps // every):
            sim.step(every)
            change(sim, method, number)
            sim = disturb(sim, Path(name), number)
            twin.step(every)
            change(twin, method, number)
            if number == steps // every // 2:
                early = resources()
    late, same = resources(), sim.state_hash() == twin.state_hash()
    flat = late[0] <= GROWTH * early[0] and late[1:] <= early[1:]
    memory = f"{early[0] / 2**20:7.1f} -> {late[0] / 2**20:7.1f} MB"
    print(
        f"{method:4} {sim.steps:9,} steps {time.perf_counter() - start:6.0f} s   {memory}"
        f"   threads {early[1]} -> {late[1]}   files {early[2]} -> {late[2]}   {'same bits' if same else 'OTHER BITS'}",
        flush=True,
    )
    return flat and same


def main() -> int:
    """All methods; 1 if something grew, or the bits differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--every", type=int, default=1000)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")  # of bodies that are added among others
    good = [soak(method, chosen.steps, chosen.every) for method in ("mpm", "sph", "fem")]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
