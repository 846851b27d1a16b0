"""Compiles tests/c/*.c against the core's sources and runs them: plain, and under each sanitizer."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests" / "c"
CC = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")
FLAGS = ["-std=gnu11", "-g", "-O1", "-pthread", "-fno-omit-frame-pointer", "-Wall", "-Wextra", "-Werror"]
SANITIZERS = {"plain": [], "asan": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]}
SANITIZERS["tsan"] = ["-fsanitize=thread"]

pytestmark = [pytest.mark.source, pytest.mark.skipif(CC is None, reason="no C compiler")]


def build(tmp_path: Path, name: str, sanitizer: str) -> Path:
    """Compiles tests/c/`name`.c with the core's files that its line `sources: ...` names."""
    program = PROGRAMS / f"{name}.c"
    line = re.search(r"^/\* sources: (.*) \*/$", program.read_text(), re.MULTILINE)
    assert line, f"{program} has no line `/* sources: ... */`"
    sources = [ROOT / "csrc" / source for source in line[1].split()]
    executable = tmp_path / name
    command = [*CC.split(), *FLAGS, *SANITIZERS[sanitizer], f"-I{ROOT / 'csrc'}", f"-I{PROGRAMS}"]
    subprocess.run([*command, program, *sources, "-lm", "-o", executable], check=True)
    return executable


def run(executable: Path) -> subprocess.CompletedProcess[str]:
    # A suite that itself runs under a preloaded sanitizer must not hand it on.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run([executable], capture_output=True, text=True, env=environment, timeout=120)


@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize("name", sorted(path.stem for path in PROGRAMS.glob("test_*.c")))
def test_program(tmp_path, name, sanitizer):
    result = run(build(tmp_path, name, sanitizer))
    assert result.returncode == 0, result.stdout + result.stderr


def test_thread_sanitizer_sees_a_race(tmp_path):
    result = run(build(tmp_path, "race", "tsan"))
    assert result.returncode == 66 and "data race" in result.stderr


@pytest.mark.skipif(sys.platform == "darwin", reason="the report is worded otherwise")
def test_address_sanitizer_sees_an_overrun(tmp_path):
    result = run(build(tmp_path, "overrun", "asan"))
    assert (
        result.returncode != 0 and "heap-buffer-overflow" in result.stderr and "overrun.c:" in result.stderr
    )
