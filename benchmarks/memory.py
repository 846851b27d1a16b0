"""Bytes per particle of a million particles in 3-D, fresh and after 1,000 steps; peaks of setup, save and load.

    python benchmarks/memory.py [steps] [--cells 50] [--dtype float32]

`--cells` is the number along a side of the block: 108 are ten million particles.

A block is thrown into a corner, so that blocks of the grid come and go and tiles fill unevenly. Counts the working copy
of the particles with its padding and the rows' id and material; the grid is listed apart, and so is what the operating
system says the process has gained. Peaks are those of the process (Linux): of the setup with the first step, of `save`,
and of `load` of its file in place of the simulation. The peak of the setup is at most 1.15 of what the simulation holds
then, and 50 MB.
"""

import argparse
import gc
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import mpm

PROMISED = {"float64": 340, "float32": 190}


def resident() -> int:
    """Memory of the process in use now [bytes], Linux."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


@contextmanager
def peak() -> Iterator[list[float]]:
    """The largest memory of the process within it [bytes], and the time [s]."""
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
    found: list[float] = []
    start = time.perf_counter()
    yield found
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    most = re.search(r"VmHWM:\s+(\d+)", status)
    assert most
    found += [1024.0 * int(most[1]), time.perf_counter() - start]


def peaks(dtype: str, cells: int, before: int) -> tuple[mpm.Simulation, bool]:
    """Prints the peaks of setup, save and load above the memory `before`; whether that of the setup is as promised."""
    with peak() as setup:
        sim = block(dtype, cells)
        sim.step()
    n, held = len(sim.particles), sim._core.memory()
    kept = setup[0] - before <= 1.15 * (held["particles"] + held["grid"]) + 50e6
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "block.mpm")
        with peak() as save:
            sim.save(path)
        del sim
        gc.collect()
        with peak() as load:
            sim = mpm.load(path)
    figures = ", ".join(
        f"{name} {(most - before) / n:.0f} bytes and {1e6 * seconds / n:.2f} µs per particle"
        for name, (most, seconds) in {"setup": setup, "save": save, "load": load}.items()
    )
    print(f"{dtype}  peaks: {figures}", flush=True)
    return sim, kept


def block(dtype: str, cells: int) -> mpm.Simulation:
    """cells^3 cells of 8 particles."""
    scene = mpm.Scene(lower=[0, 0, 0], upper=[2, 2, 2], gravity=[0, 0, -9.81], walls="separate")
    jelly = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)
    scene.add(mpm.shapes.Box([0.25] * 3, [1.25] * 3), jelly, velocity=[-3, -2, -1])
    return mpm.Simulation(scene, dx=1 / cells, dtype=dtype)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="memory.py", description=__doc__.split("\n")[0])
    parser.add_argument("steps", type=int, nargs="?", default=1000)
    parser.add_argument("--cells", type=int, default=50, metavar="N")
    parser.add_argument("--dtype", choices=PROMISED, action="append", help="default: both")
    chosen = parser.parse_args()
    if chosen.steps < 0 or chosen.cells < 1:
        parser.error("steps must not be negative, and cells at least 1")
    steps, kept = chosen.steps, True
    for dtype in chosen.dtype or PROMISED:
        promised = PROMISED[dtype]
        before = resident()
        sim, as_promised = peaks(dtype, chosen.cells, before)
        kept &= as_promised
        n = len(sim.particles)
        for done in (0, steps):
            sim.step(done)
            held = sim._core.memory()
            each = held["particles"] / n
            kept &= each <= promised
            print(
                f"{dtype}  {n:,} particles, {sim.steps:>5} steps: {each:.0f} bytes per particle "
                f"(promised: at most {promised}), grid {held['grid'] / n:.0f}, views {held['views'] / n:.0f}, "
                f"process {(resident() - before) / n:.0f} ({(resident() - before) / 1e9:.2f} GB)",
                flush=True,
            )
        del sim
    raise SystemExit(not kept)


if __name__ == "__main__":
    main()
