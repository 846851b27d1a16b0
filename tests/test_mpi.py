"""Several MPI processes give the bits of one: `mpi_scenes.py` under ``mpiexec``, where mpi4py and an MPI are there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import faults
import mpi_scenes
from loops import each

TESTS = Path(__file__).parent
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
ENVIRONMENT = os.environ | {
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",  # MPICH with more processes than processors
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)]),
}


def has_mpi() -> bool:
    """Asked in another process: an MPI that is loaded here would stay."""
    there = subprocess.run(
        [sys.executable, "-c", "from mpi4py import MPI"], env=ENVIRONMENT, capture_output=True
    )
    return there.returncode == 0


pytestmark = pytest.mark.skipif(not MPIEXEC or not has_mpi(), reason="needs mpi4py, an MPI and its mpiexec")


def run(processes: int, *arguments: str | Path, **environment: str) -> str:
    command = [MPIEXEC, "-n", str(processes), sys.executable, "-m", "mpi4py", *map(str, arguments)]
    ended = subprocess.run(
        command, env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def check(processes: int, folder: Path, names: tuple[str, ...] = tuple(mpi_scenes.SCENES)) -> None:
    alone = {name: mpi_scenes.SCENES[name](None, folder) for name in names}
    told = run(processes, TESTS / "mpi_scenes.py", folder, *names)
    assert dict(line.split("\t") for line in told.splitlines()) == alone


def test_three_processes(tmp_path):
    check(3, tmp_path, ("changed", "saved", "errors", "escaped", "apart", "unsupported"))


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
    told = run(3, TESTS / "mpi_scenes.py", tmp_path, "failing", LD_PRELOAD=library, MPM_FAULTS=library)
    assert told == "failing\ttold\n"


def test_an_uncaught_exception_ends_all(tmp_path):
    """With ``-m mpi4py``; without it, processes would wait for each other for ever."""
    script = tmp_path / "script.py"
    script.write_text(
        "from mpi4py import MPI\nif MPI.COMM_WORLD.rank: raise ValueError('ours')\nMPI.COMM_WORLD.barrier()\n"
    )
    command = [MPIEXEC, "-n", "2", sys.executable, "-m", "mpi4py", str(script)]
    ended = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert ended.returncode and "ours" in ended.stderr
