"""Sweeps: 64 cases by whatever runs them make one table, killed or not; the time of a case beside its own work.

    python benchmarks/sweeps.py                  # all; executors that are not installed are named
    python benchmarks/sweeps.py --only pool parts
    python benchmarks/sweeps.py --cases 8 --kills 2 --empty 200 --finished 1000

Two of the 64 cases fail, one by a step that is too long and one by the death of its process.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Any

import mpm

WORKERS = 2


def column(angle: float, E: float, bad: str | None = None) -> dict[str, object]:
    """A small column of sand that collapses."""
    if bad == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    scene = mpm.Scene((0, 0), (1, 0.5), gravity=(0, -9.81), walls="separate")
    scene.add(mpm.shapes.Box((0, 0), (0.2, 0.3)), mpm.materials.Sand(E=E, friction_angle_deg=angle))
    sim = mpm.Simulation(scene, dx=1 / 32, dt=1.0 if bad == "unstable" else "auto")
    sim.run(0.05)
    return {"front": float(sim.particles.x[:, 0].max()), "steps": sim.steps, "hash": sim.state_hash()[:12]}


def empty(number: int) -> dict[str, object]:
    """No work."""
    return {"same": number}


def cases(count: int, dies: bool) -> list[dict[str, object]]:
    listed: list[dict[str, object]] = [
        {"angle": 20.0 + 25 * k / count, "E": 1e5 * (1 + k % 4)} for k in range(count)
    ]
    listed[count // 3]["bad"] = "unstable"
    if dies:  # the default pool survives it; an executor is broken
        listed[count // 2]["bad"] = "dies"
    return listed


def failed(folder: Path) -> list[str]:
    """The rows with an error."""
    rows = (folder / "table.csv").read_text().splitlines()[1:]
    return [row for row in rows if not row.endswith(",,")]


def table_of(folder: Path) -> str:
    return hashlib.sha256((folder / "table.csv").read_bytes()).hexdigest()[:12]


# ---- what runs the cases, each in a process of its own --------------------------------------------------------------


def by_pool(folder: Path, listed: list[dict[str, object]]) -> None:
    mpm.sweep(column, listed, out=folder, workers=WORKERS, progress=False)


def by_parts(folder: Path, listed: list[dict[str, object]]) -> None:
    for part in (2, 0, 1):
        mpm.sweep(column, listed, out=folder, part=(part, 3), progress=False)


def by(executor: futures.Executor, folder: Path, listed: list[dict[str, object]]) -> None:
    mpm.sweep(column, listed, out=folder, executor=executor, progress=False)


def by_processes(folder: Path, listed: list[dict[str, object]]) -> None:
    with futures.ProcessPoolExecutor(WORKERS) as executor:
        by(executor, folder, listed)


def by_threads(folder: Path, listed: list[dict[str, object]]) -> None:
    with futures.ThreadPoolExecutor(WORKERS) as executor:
        by(executor, folder, listed)


def by_dask(folder: Path, listed: list[dict[str, object]]) -> None:
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        by(client.get_executor(), folder, listed)


def by_loky(folder: Path, listed: list[dict[str, object]]) -> None:
    import loky

    by(loky.get_reusable_executor(WORKERS), folder, listed)


def by_mpi(folder: Path, listed: list[dict[str, object]]) -> None:
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as executor:
        by(executor, folder, listed)


WAYS: dict[str, tuple[str, Callable[[Path, list[dict[str, object]]], None]]] = {
    "pool": ("", by_pool),
    "processes": ("", by_processes),
    "threads": ("", by_threads),
    "dask": ("distributed", by_dask),
    "loky": ("loky", by_loky),
    "mpi": ("mpi4py", by_mpi),
    "parts": ("", by_parts),
}


def command(way: str, folder: Path, count: int, *more: str) -> list[str]:
    start = [sys.executable]
    if way == "mpi":
        mpiexec = shutil.which(
            "mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        )
        start = [str(mpiexec), "-n", str(WORKERS + 1), sys.executable, "-m", "mpi4py.futures"]
    return [*start, __file__, "--run", way, str(folder), "--cases", str(count), *more]


# ---- figures --------------------------------------------------------------------------------------------------------


def compare_ways(names: list[str], count: int, folder: Path) -> None:
    tables = {}
    for name in names:
        module, _ = WAYS[name]
        if module and importlib.util.find_spec(module) is None:
            print(f"{name:10} {module} is not installed")
            continue
        out, began = folder / name, time.perf_counter()
        subprocess.run(command(name, out, count), check=True)
        tables[name] = table_of(out)
        assert len(failed(out)) == 1, failed(out)
        print(f"{name:10} {time.perf_counter() - began:5.1f} s  table {tables[name]}", flush=True)
    assert len(set(tables.values())) <= 1, "the tables differ"
    print(f"{count} cases by {', '.join(tables)}: one table")


def kill(times: int, count: int, folder: Path) -> None:
    """Kill the pool's sweep after some further cases, and start it again."""
    chance, killed = random.Random(1), 0
    kept = folder / "killed" / "cases"

    def ended() -> int:
        return sum(1 for _ in kept.glob("*.json")) if kept.exists() else 0

    subprocess.run(command("pool", folder / "whole", count, "--dies"), check=True)
    for _ in range(times):
        aim = ended() + chance.randint(1, max(1, 2 * count // (times + 1) - 1))
        with subprocess.Popen(
            command("pool", folder / "killed", count, "--dies"),
            start_new_session=True,
            stderr=subprocess.DEVNULL,
        ) as run:
            while run.poll() is None and ended() < aim:
                time.sleep(0.002)
            if run.poll() is None:
                os.kill(run.pid, signal.SIGKILL)
                killed += 1
    subprocess.run(command("pool", folder / "killed", count, "--dies"), check=True)
    assert table_of(folder / "killed") == table_of(folder / "whole"), "the tables differ"
    rows = failed(folder / "killed")
    assert len(rows) == 2 and any("ProcessDied" in row for row in rows), f"rows of failing cases: {rows}"
    print(
        f"killed {killed} times and started again: the same table, with the case that fails and the one that dies"
    )


def time_empty(count: int, finished: int, folder: Path) -> None:
    began = time.perf_counter()
    mpm.sweep(empty, {"number": range(count)}, out=folder / "empty", workers=WORKERS, progress=False)
    each = (time.perf_counter() - began) / count
    print(f"{count} empty cases: {1e3 * each:.2f} ms each")
    many = {"number": range(finished)}
    mpm.sweep(empty, many, out=folder / "many", part=(0, 1), progress=False)
    began, worked = time.perf_counter(), time.process_time()
    mpm.sweep(empty, many, out=folder / "many", workers=WORKERS, progress=False)
    took, worked = time.perf_counter() - began, time.process_time() - worked
    print(f"{finished} finished cases skipped in {took:.2f} s, {worked:.2f} s of the processor")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=[*WAYS, "kills", "empty"], metavar="WHAT")
    parser.add_argument("--cases", type=int, default=64)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--empty", type=int, default=2000)
    parser.add_argument("--finished", type=int, default=10_000)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--dies", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        WAYS[options.run[0]][1](Path(options.run[1]), cases(options.cases, options.dies))
        return
    only: list[Any] = options.only or [*WAYS, "kills", "empty"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if ways := [way for way in WAYS if way in only]:
            compare_ways(ways, options.cases, folder)
        if "kills" in only:
            kill(options.kills, options.cases, folder)
        if "empty" in only:
            time_empty(options.empty, options.finished, folder)


if __name__ == "__main__":
    main()
