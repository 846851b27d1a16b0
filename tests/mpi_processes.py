"""Starts several MPI processes for tests: by the mpiexec beside this Python, or that of the PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

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
    return bool(MPIEXEC) and there.returncode == 0


def command(processes: int, *arguments: str | Path) -> list[str]:
    return [str(MPIEXEC), "-n", str(processes), sys.executable, "-m", "mpi4py", *map(str, arguments)]


def run(processes: int, *arguments: str | Path, **environment: str) -> str:
    """What a script prints, which must succeed."""
    ended = subprocess.run(
        command(processes, *arguments),
        env=ENVIRONMENT | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
