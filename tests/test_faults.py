"""Memory, disk and threads that fail, signals at any of these: `tests/faults.py` for some points of each operation."""

import os
import re
import shutil
import subprocess
import sys

import pytest

import faults

pytest.importorskip("h5py")
pytestmark = [
    pytest.mark.source,
    pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD of Linux"),
    pytest.mark.skipif(not (os.environ.get("CC") or shutil.which("cc")), reason="no C compiler"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return str(faults.compiled(tmp_path_factory.mktemp("faults")))


def run(library, *arguments):
    """What the program says, and its status; a process of its own, with the library."""
    environment = os.environ | {"LD_PRELOAD": library, faults.SHIM: library}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, faults.__file__, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=400, env=environment, check=False)


def points_of(library, *arguments):
    found = run(library, *arguments)
    assert found.returncode == 0, found.stdout + found.stderr
    return int(re.search(r"(\d+) points, 0 defects", found.stdout)[1])


def test_some_faults_of_each_kind_are_borne(library):
    """The first point of each operation and fault, 137 in all; 3 s."""
    assert points_of(library, "--most", "1", "--only", "mpm 2-D") > 100


@pytest.mark.slow
def test_more_faults_of_each_kind_are_borne(library):
    """1,804 points, 25 s; without --most there are 22,281."""
    assert points_of(library, "--most", "3") > 1200


@pytest.mark.parametrize("what", faults.PLANTS)
def test_planted_defects_are_found(library, what):
    where = (
        ("files", "--only", "mpm 2-D: save")
        if what == "overwrite"
        else ("memory", "--only", "mpm 2-D: steps")
    )
    found = run(library, *where, "--most", "3", "--plant", what)
    assert (
        found.returncode == 1 and f"DEFECT {where[2]}" in found.stdout and faults.PLANTS[what] in found.stdout
    )
