"""Kills one of several MPI processes at a random moment, again and again.

    python tests/mpi_kills.py              # 50 times, 3 processes; some minutes
    python tests/mpi_kills.py --times 4    # as the tests do

The others end within ten seconds, nobody is left, and the last checkpoint loads on another number of processes and has
the bits of an undisturbed run some steps later. The MPI is that of this Python (mpi_processes.py). Linux only.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import mpi_processes
import mpm
from mpi_scenes import digest
from test_replicas import walled

PROCESSES, STEPS, EVERY = 3, 120, 3
LIMIT = 10.0  # s within which the others end
PATIENCE = 100.0  # s to the first checkpoint
FILE = "killed.mpm"


def make(comm: Any) -> mpm.Simulation:
    return walled("separate", law="fluid", cells=48, comm=comm)


def work(folder: Path) -> None:
    """One of the processes: says who it is, and goes on until it is killed."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    sim = make(comm)
    pids = comm.gather(os.getpid())
    if pids is not None:
        print(*pids, flush=True)
    while sim.steps < STEPS:
        sim.step(EVERY)
        sim.save(folder / FILE)
    time.sleep(2 * LIMIT)  # it was too fast


def resume(folder: Path) -> None:
    """Some processes, or one without MPI: go on with the checkpoint and tell what came of it."""
    comm = None
    if "mpi4py" in sys.modules:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    sim = mpm.load(folder / FILE, comm=comm)
    sim.step(EVERY)
    if comm is None or comm.rank == 0:
        print(digest(sim))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for_checkpoint(folder: Path) -> None:
    began = time.monotonic()
    while not (folder / FILE).exists():
        assert time.monotonic() - began < PATIENCE, f"no checkpoint after {PATIENCE:g} s"
        time.sleep(0.01)


def kill_one(folder: Path, moment: float, victim: int, running: bool) -> float:
    """The seconds until all had ended. The moment counts from the first checkpoint if the run is to have one."""
    with subprocess.Popen(
        mpi_processes.command(PROCESSES, __file__, "--work", folder),
        env=mpi_processes.ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as launcher:
        assert launcher.stdout is not None
        pids = [int(pid) for pid in launcher.stdout.readline().split()]
        assert len(pids) == PROCESSES
        if running:
            wait_for_checkpoint(folder)
        time.sleep(moment)
        os.kill(pids[victim], signal.SIGKILL)
        began = time.monotonic()
        try:
            while launcher.poll() is None or any(map(is_alive, pids)):
                assert time.monotonic() - began < LIMIT, f"after {LIMIT:g} s some processes are left"
                time.sleep(0.01)
        finally:
            for pid in filter(is_alive, pids):
                os.kill(pid, signal.SIGKILL)
            launcher.kill()
        assert launcher.returncode, "the launcher reports no error"
        return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--resume", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work or options.resume:
        (work if options.work else resume)(options.work or options.resume)
        return
    chance = random.Random(options.seed)
    alone, undisturbed = make(None), {}
    began = time.monotonic()
    while alone.steps < STEPS + EVERY:
        undisturbed[alone.steps] = digest(alone)
        alone.step(EVERY)
    undisturbed[alone.steps] = digest(alone)
    most = min(2 * (time.monotonic() - began), 8.0)  # it is faster than they are
    waits, resumed = [], 0
    for k in range(options.times):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            running = k % 5 != 0  # one in five may be killed as it begins
            waits.append(kill_one(folder, chance.uniform(0, most), chance.randrange(PROCESSES), running))
            if not running and not (folder / FILE).exists():
                continue
            told = (
                mpi_processes.run(2, __file__, "--resume", folder)
                if k % 5 == 4
                else subprocess.check_output(
                    [sys.executable, __file__, "--resume", name], env=mpi_processes.ENVIRONMENT, text=True
                )
            )
            steps = int(told.split()[0])
            assert told.strip() == undisturbed[steps], f"other bits at step {steps}"
            resumed += 1
    print(
        f"{options.times} kills: all ended within {max(waits):.2f} s, {sum(waits) / len(waits):.2f} s in the mean; "
        f"{resumed} checkpoints went on to the same bits, {options.times - resumed} runs had none yet"
    )


if __name__ == "__main__":
    main()
