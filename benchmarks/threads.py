"""The gallery's cube with several numbers of threads, and in a wider box.

    python benchmarks/threads.py

Prints one hash per precision for 1, 2, 3 and 7 threads after 100 steps; how much faster two threads are than one;
and what a box eight times as wide costs in time and memory. Rounds are interleaved; medians count.
"""

import argparse
import statistics
import time

import mpm

STEPS = 100
ROUNDS = 5
HOLD = 40  # steps per timing, after those that warm up


def cube(dtype: str, threads: int, width: float = 1) -> mpm.Simulation:
    """The cube of the gallery; `width` is that of its box."""
    entry = mpm.gallery.get("cube")
    scene = entry.scene()
    if width != 1:
        half = (width - 1) / 2
        wide = mpm.Scene(
            lower=(-half, -half, 0),
            upper=(1 + half, 1 + half, width),
            gravity=scene.gravity,
            walls={"z-": "separate"},
        )
        for body in scene.bodies:
            wide.add(body.shape, body.material, name=body.name)
        scene = wide
    return entry.simulation(scene=scene, dtype=dtype, threads=threads)


def hashes(dtype: str) -> dict[int, str]:
    """State after `STEPS` steps by number of threads."""
    found = {}
    for threads in (1, 2, 3, 7):
        sim = cube(dtype, threads)
        sim.step(STEPS)
        found[threads] = sim.state_hash()
    return found


def interleaved(simulations: dict[str, mpm.Simulation]) -> dict[str, float]:
    """Median wall time of `HOLD` steps of each [s]."""
    times: dict[str, list[float]] = {name: [] for name in simulations}
    for sim in simulations.values():
        sim.step(10)
    for _ in range(ROUNDS):
        for name, sim in simulations.items():
            start = time.perf_counter()
            sim.step(HOLD)
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def held(sim: mpm.Simulation) -> int:
    """Bytes that a simulation holds."""
    return sum(sim._core.memory().values())


def main() -> None:
    """Print the figures."""
    argparse.ArgumentParser(prog="threads.py", description=__doc__.split("\n")[0]).parse_args()
    same = True
    for dtype in ("float64", "float32"):
        for threads, digest in (found := hashes(dtype)).items():
            print(f"{dtype}  {threads} thread(s)  {digest}")
        same &= len(set(found.values())) == 1
        t = interleaved({"one": cube(dtype, 1), "two": cube(dtype, 2)})
        print(f"{dtype}  two threads are {t['one'] / t['two']:.2f} times as fast as one")
        sims = {"box": cube(dtype, 1), "wide": cube(dtype, 1, width=8)}
        t = interleaved(sims)
        print(
            f"{dtype}  box 8 times as wide: time {100 * (t['wide'] / t['box'] - 1):+.1f} %, "
            f"memory {100 * (held(sims['wide']) / held(sims['box']) - 1):+.1f} %"
        )
    print("same bits for every number of threads" if same else "THE BITS DIFFER")
    raise SystemExit(not same)


if __name__ == "__main__":
    main()
