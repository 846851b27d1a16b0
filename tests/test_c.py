"""Compiles tests/c/*.c against the core's sources and runs them: plain, and under each sanitizer."""

import fcntl
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "tests" / "c"
CC = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")
FLAGS = [
    *("-std=gnu11", "-g", "-O1", "-ffp-contract=off", "-pthread", "-fno-omit-frame-pointer"),
    *("-Wall", "-Wextra", "-Werror", "-Wno-psabi"),
]
COVERAGE = bool(os.environ.get("MPM_COVERAGE"))  # as `make coverage` sets it
if COVERAGE:
    FLAGS += ["-O0", "--coverage"]
SKIPPED = 77  # as tests/c/check.h has it
LONG = ("test_tangents", "test_flow_tangents")
SANITIZERS = {"plain": "", "asan": "address,undefined", "tsan": "thread"}

pytestmark = [pytest.mark.source, pytest.mark.skipif(CC is None, reason="no C compiler")]


def comment_of(name: str, label: str) -> str | None:
    """The text of the comment `label: ...` of tests/c/`name`.c, which may have several lines."""
    text = (PROGRAMS / f"{name}.c").read_text()
    found = re.search(rf"^/\* {label}: (.*?) \*/$", text, re.MULTILINE | re.DOTALL)
    return found and found[1].replace("\n *", " ")


def sources_of(name: str) -> list[str]:
    """What tests/c/`name`.c links, as its comment `sources: ...` says: files of the core, or `library` for all."""
    sources = comment_of(name, "sources")
    assert sources is not None, f"{name}.c has no comment `/* sources: ... */`"
    return sources.split()


def variants_of(name: str) -> list[tuple[str, ...]]:
    """The compiler's flags of each variant of tests/c/`name`.c, those for other processors than x86 left out there."""
    variants = [tuple(one.split()) for one in (comment_of(name, "variants") or "").split("|")]
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return [flags for flags in variants if x86 or not any(flag.startswith("-m") for flag in flags)]


def library(sanitizer: str) -> list[str]:
    """The whole core as setup.py builds it, made up to date; sanitized ones in the trees of `make asan`, `tsan`."""
    tree = f"build/{'cov' if COVERAGE else ''}" if sanitizer == "plain" else f"build/{sanitizer}"
    command = [sys.executable, "setup.py", "-q", "build", "--build-base", tree]
    environment = os.environ | {"MPM_SANITIZE": SANITIZERS[sanitizer]}
    environment.pop("LD_PRELOAD", None)
    Path(ROOT, tree).mkdir(parents=True, exist_ok=True)
    with open(ROOT / tree / "lock", "w") as lock:  # of two tests at once, one builds
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(command, cwd=ROOT, check=True, env=environment, capture_output=True)
    folder = ROOT / tree / f"temp.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
    return ["-Wl,--start-group", *map(str, sorted(folder.glob("libmpm_*.a"))), "-Wl,--end-group"]


def build(tmp_path: Path, name: str, sanitizer: str, variant: tuple[str, ...] = ()) -> Path:
    sources = sources_of(name)
    linked = library(sanitizer) if sources == ["library"] else [str(ROOT / "csrc" / path) for path in sources]
    flags = (
        [f"-fsanitize={SANITIZERS[sanitizer]}", "-fno-sanitize-recover=all"] if sanitizer != "plain" else []
    )
    includes = [f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'mpm' / 'include'}", f"-I{PROGRAMS}"]
    executable = tmp_path / name
    program = PROGRAMS / f"{name}.c"
    command = [*CC.split(), *FLAGS, *variant, *flags, *includes, program, *linked, "-lm", "-o", executable]
    subprocess.run(command, check=True)
    return executable


def run(executable: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # A suite that itself runs under a preloaded sanitizer must not hand it on.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run(
        [executable, *arguments], capture_output=True, text=True, env=environment, timeout=900
    )


def is_slow(name: str, sanitizer: str) -> bool:
    return sanitizer != "plain" or sources_of(name) == ["library"] or name in LONG


def programs() -> list:
    """Every program, all its variants, with every sanitizer that can find something; `make test` runs quick ones, and
    `make c` all. Long ones compile for minutes with sanitizers, under which `make asan` runs what they test."""
    return [
        pytest.param(
            *(path.stem, variant, sanitizer),
            marks=[pytest.mark.slow] if is_slow(path.stem, sanitizer) else [],
            id="-".join([path.stem, *filter(None, [words_of(variant)]), sanitizer]),
        )
        for path in sorted(PROGRAMS.glob("test_*.c"))
        for variant in variants_of(path.stem)
        for sanitizer in SANITIZERS
        if sanitizer != "tsan" or sources_of(path.stem)  # what links nothing of the core has no threads
        if sanitizer == "plain" or path.stem not in LONG
    ]


def words_of(variant: tuple[str, ...]) -> str:
    """A short name: what its macros say."""
    return " ".join(
        re.sub("^-D(MPM_ISA_|.*=)", "", flag).lower() for flag in variant if flag.startswith("-D")
    )


def check(result: subprocess.CompletedProcess[str]) -> None:
    if result.returncode == SKIPPED:
        pytest.skip("this processor lacks the instructions")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("name", "variant", "sanitizer"), programs())
def test_program(tmp_path, name, variant, sanitizer):
    check(run(build(tmp_path, name, sanitizer, variant)))


@pytest.mark.slow
@pytest.mark.parametrize("variant", variants_of("test_decompositions"), ids=words_of)
def test_ten_million_matrices(tmp_path, variant):
    """For each precision, in all its variants."""
    check(run(build(tmp_path, "test_decompositions", "plain", variant), "2500000"))


def test_thread_sanitizer_sees_a_race(tmp_path):
    result = run(build(tmp_path, "race", "tsan"))
    assert result.returncode == 66 and "data race" in result.stderr


@pytest.mark.skipif(sys.platform == "darwin", reason="the report is worded otherwise")
def test_address_sanitizer_sees_an_overrun(tmp_path):
    result = run(build(tmp_path, "overrun", "asan"))
    assert result.returncode != 0
    assert "heap-buffer-overflow" in result.stderr and "overrun.c:" in result.stderr


@pytest.mark.slow
def test_the_example_of_the_interface_runs(tmp_path):
    """What csrc/mpm.h shows is a whole program: two particles fall for a tenth of a second."""
    text = (ROOT / "csrc" / "mpm.h").read_text()
    shown = re.search(r"^ \*     #include <math\.h>\n.*?^ \*     \}\n", text, re.MULTILINE | re.DOTALL)
    program, executable = tmp_path / "example.c", tmp_path / "example"
    program.write_text(re.sub(r"^ \*(?:     )?", "", shown[0], flags=re.MULTILINE))
    linked = library("plain")
    subprocess.run(
        [
            *CC.split(),
            *FLAGS,
            f"-I{ROOT / 'csrc'}",
            f"-I{ROOT / 'mpm' / 'include'}",
            program,
            *linked,
            "-lm",
            "-o",
            executable,
        ],
        check=True,
    )
    result = run(executable)
    check(result)
    time, height = map(float, re.fullmatch(r"at (\S+) s: (\S+) m\n", result.stdout).groups())
    assert time == 0.1 and height == pytest.approx(0.5 - 9.81 / 2 * time**2, abs=0.01)
