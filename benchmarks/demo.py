"""How much longer the demo of a gallery scene takes than its steps alone.

    python benchmarks/demo.py [scene] [--dtype float32] [--threads 2] [--rounds 3]

Prints, in each round, the demo as users start it (a process of its own: movie, pictures, trajectory, tables), the same
frames stepped without anything else, and their ratio; by the clock, and in seconds of all processors, which other work
on the machine disturbs less. Medians of the ratios count.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import mpm


def processors() -> float:
    """Seconds of processors that this process and those that it has waited for have taken."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def timed(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds by the clock, and of processors."""
    clock, busy = time.perf_counter(), processors()
    work()
    return time.perf_counter() - clock, processors() - busy


def step_alone(entry: mpm.gallery.Entry, dtype: str, threads: int) -> Callable[[], None]:
    """The frames of the demo, of which nothing is made."""
    sim = entry.simulation(dtype=dtype, threads=threads)

    def run() -> None:
        for _ in sim.frames(duration=entry.frames / entry.fps, fps=entry.fps):
            pass

    return run


def demo(name: str, dtype: str, threads: int) -> None:
    """`python -m mpm demo` into a directory that is removed."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "mpm", "demo", name, "--dtype", dtype, "--threads", str(threads)]
        done = subprocess.run([*command, "--out", out], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="demo.py", description=__doc__.split("\n")[0])
    parser.add_argument(
        "scene", nargs="?", default="cube", choices=mpm.gallery.names(), metavar="SCENE", help="default: cube"
    )
    parser.add_argument("--dtype", choices=("float64", "float32"), action="append", help="default: both")
    parser.add_argument(
        "--threads", type=int, default=min(2, os.cpu_count() or 1), help="default: %(default)s"
    )
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    chosen = parser.parse_args()
    if chosen.rounds < 1 or chosen.threads < 1:
        parser.error("rounds and threads must be at least 1")
    entry = mpm.gallery.get(chosen.scene)
    for dtype in chosen.dtype or ("float64", "float32"):
        ratios = []
        for _ in range(chosen.rounds):
            alone = timed(step_alone(entry, dtype, chosen.threads))
            whole = timed(lambda dtype=dtype: demo(chosen.scene, dtype, chosen.threads))
            ratios.append((whole[0] / alone[0], whole[1] / alone[1]))
            print(
                f"{dtype}  {entry.frames} frames: demo {whole[0]:.1f} s ({whole[1]:.1f} of processors), "
                f"steps {alone[0]:.1f} s ({alone[1]:.1f}): {ratios[-1][0]:.2f} ({ratios[-1][1]:.2f})",
                flush=True,
            )
        clock, busy = (statistics.median(each) for each in zip(*ratios, strict=True))
        print(f"{dtype}  demo / steps: {clock:.2f} by the clock, {busy:.2f} of processors", flush=True)


if __name__ == "__main__":
    main()
