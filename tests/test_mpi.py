"""Several MPI processes give the bits of one: `mpi_scenes.py` under ``mpiexec``, where mpi4py and an MPI are there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import faults
import mpi_processes
import mpi_scenes
from loops import each

pytestmark = pytest.mark.skipif(not mpi_processes.has_mpi(), reason="needs mpi4py, an MPI and its mpiexec")
SCENES = mpi_processes.TESTS / "mpi_scenes.py"


DISTRIBUTED = (
    "changed",
    "forced",
    "implicit",
    "solid",
    "recorded",
    "saved",
    "carried",
    "spoiled",
    "deleted",
    "escaped",
    "flawed",
    "sampled",
    "confined",
    "unlike",
    "unsupported",
)
ALL = (*mpi_scenes.SCENES, *(mpi_scenes.DISTRIBUTED + name for name in DISTRIBUTED))


def check(processes: int, folder: Path, names: tuple[str, ...] = ALL) -> None:
    alone = {
        name: mpi_scenes.SCENES[name.removeprefix(mpi_scenes.DISTRIBUTED)](None, folder) for name in names
    }
    told = mpi_processes.run(processes, SCENES, folder, *names)
    assert dict(line.split("\t") for line in told.splitlines()) == alone


def test_three_processes(tmp_path):
    check(3, tmp_path, ("changed", "saved", "errors", "escaped", "apart", "unsupported"))


def test_memory_of_three_processes(tmp_path):
    names = (
        "changed",
        "recorded",
        "saved",
        "deleted",
        "flawed",
        "sampled",
        "confined",
        "unlike",
        "unsupported",
    )
    check(3, tmp_path, tuple(mpi_scenes.DISTRIBUTED + name for name in names))


@each("processes", [1, 2, 3, 4, 7])
@pytest.mark.slow
def test_all_scenes(tmp_path, processes):
    check(processes, tmp_path)


@pytest.mark.slow
@pytest.mark.source
@pytest.mark.skipif(not (os.environ.get("CC") or shutil.which("cc")), reason="no C compiler")
def test_memory_and_disks_that_fail_in_one_process(tmp_path):
    """6 allocations of steps, 6 calls for the file of a checkpoint and of a recording each."""
    library = str(faults.compiled(tmp_path))
    told = mpi_processes.run(3, SCENES, tmp_path, "failing", LD_PRELOAD=library, MPM_FAULTS=library)
    assert told == "failing\ttold\n"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_killed_processes():
    """Killed at random moments: nothing hangs, and checkpoints go on."""
    script = [sys.executable, mpi_processes.TESTS / "mpi_kills.py", "--times", "2"]
    told = subprocess.check_output(script, env=mpi_processes.ENVIRONMENT, text=True, timeout=200)
    assert told.startswith("2 kills: all ended within")


def test_an_uncaught_exception_ends_all(tmp_path):
    """With ``-m mpi4py``; without it, processes would wait for each other for ever."""
    script = tmp_path / "script.py"
    script.write_text(
        "from mpi4py import MPI\nif MPI.COMM_WORLD.rank: raise ValueError('ours')\nMPI.COMM_WORLD.barrier()\n"
    )
    command = mpi_processes.command(2, script)
    ended = subprocess.run(command, env=mpi_processes.ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert ended.returncode and "ours" in ended.stderr
