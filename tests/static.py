"""Static analysis of the C core and of the extension with what is there: GCC's analyzer, cppcheck, clang-tidy.

    python tests/static.py                 # all files, all tools
    python tests/static.py gcc contact     # one tool, files whose path contains a word

Every file is looked at once, the kernels as scalar code in double precision and three dimensions; GCC's analyzer does
not look at the kernels, which allocate nothing, because it takes hours for them. A message that is not in `JUSTIFIED`
is a failure.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEFINES = ['-DMPM_FLAGS=""', "-DPy_LIMITED_API=0x030B0000", "-DMPM_WITH_SCALAR=1"]
KERNEL = ["-DMPM_ISA=scalar", "-DMPM_ISA_SCALAR=1", "-DMPM_REAL=double", "-DMPM_DIM=3"]
INCLUDES = ["-Icsrc", "-Impm/include"]
LANGUAGE = ["-std=gnu11", "-ffp-contract=off", "-pthread"]
PYTHON = ["-isystem", sysconfig.get_path("include")]


def is_kernel(path: str) -> bool:
    return "/kernels/" in path or path == "csrc/materials/general_laws.c"


def flags_of(path: str) -> list[str]:
    return [*INCLUDES, *DEFINES, *(KERNEL if is_kernel(path) else [])]


def gcc(compiler: str, path: str) -> list[str]:
    warnings = ["-Wall", "-Wextra", "-Wshadow", "-Wno-psabi", "-fanalyzer"]
    return [compiler, *LANGUAGE, "-O1", *warnings, *flags_of(path), *PYTHON, "-c", path, "-o", os.devnull]


# Tool and check, files (a part of their path; "" for all): why the code is right nevertheless.
JUSTIFIED: dict[tuple[str, str, str], str] = {
    (
        "gcc",
        "-Wanalyzer-use-of-uninitialized-value",
        "contact/shape_reading.h",
    ): "mpm_shape_check bounds the depth of the stack",
    (
        "gcc",
        "-Wanalyzer-use-of-uninitialized-value",
        "fem/error.c",
    ): "a loop over corners fills rows",
    ("gcc", "-Wanalyzer-use-of-uninitialized-value", "run/store.c"): "a loop over components fills m",
    (
        "gcc",
        "-Wanalyzer-null-dereference",
        "mpm/refusal.c",
    ): "a collider is too fast only where there is one",
    ("cppcheck", "zerodiv", "base/simd.h"): "the branch is of widths from 4 on",
    ("cppcheck", "nullPointer", "contact/holders.h"): "a loop over two holders or more sets it",
    ("cppcheck", "uninitvar", "fem/error.c"): "as gcc",
    ("cppcheck", "uninitvar", "math/hencky.h"): "only the lanes that it fills are read",
    ("cppcheck", "uninitvar", "mpm/views.c"): "a loop over components fills as many as are read",
    (
        "cppcheck",
        "uninitStructMember",
        "mpm/kernels/sweep_body.h",
    ): "what foresees gathers, and that fills it",
    ("cppcheck", "constStatement", ""): "takes compound literals for the comma operator",
    ("cppcheck", "UnionZeroInit", ""): "prepare_law fills the member that is read",
    ("cppcheck", "missingReturn", "python/"): "does not know Py_RETURN_NONE",
    ("cppcheck", "unknownMacro", "python/"): "does not know Py_END_ALLOW_THREADS",
    ("clang-tidy", "clang-analyzer-security.ArrayBound", "contact/shape_reading.h"): "as gcc",
    ("clang-tidy", "clang-analyzer-security.ArrayBound", ""): "a loop over the dimension, which is 2 or 3",
    (
        "clang-tidy",
        "clang-analyzer-core.UndefinedBinaryOperatorResult",
        "",
    ): "a loop over the dimension fills it",
    ("clang-tidy", "clang-analyzer-unix.cstring.UninitializedRead", ""): "a loop over the dimension fills it",
    ("clang-tidy", "clang-analyzer-core.NullDereference", "contact/holders.h"): "as cppcheck",
    ("clang-tidy", "clang-analyzer-core.DivideZero", "python/snapshot.c"): "no array has entries of no bytes",
    (
        "clang-tidy",
        "clang-analyzer-security.insecureAPI.strcpy",
        "run/store.c",
    ): "the lengths are checked before",
    ("clang-tidy", "clang-analyzer-security.insecureAPI.strcpy", "fem/fem.c"): "two letters",
    (
        "clang-tidy",
        "clang-analyzer-deadcode.DeadStores",
        "materials/herschel_bulkley.h",
    ): "a loop of six rounds sets it",
    ("cppcheck", "invalidPointerCast", "run/history.c"): "offsetof of doubles",
}


def cppcheck(program: str, path: str) -> list[str]:
    suppressed = [f"--suppress={name}" for name in ("missingIncludeSystem", "normalCheckLevelMaxBranches")]
    checks = ["--enable=warning,portability", "--inline-suppr", "--error-exitcode=1", "--quiet", "--std=c11"]
    return [program, *checks, *suppressed, "-D__GNUC__=12", "-D__x86_64__=1", *flags_of(path), path]


# Clang's analyzer, without a view on the order of members in structs.
TIDY = ["-*", "clang-analyzer-*", "-clang-analyzer-optin.performance.Padding"]
# Annex K of C11, which it would have instead of memcpy, is in no library of use.
TIDY.append("-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling")


def tidy(program: str, path: str) -> list[str]:
    options = ["--quiet", f"--checks={','.join(TIDY)}", "--header-filter=csrc/.*"]
    return [program, *options, path, "--", *LANGUAGE, *flags_of(path), *PYTHON]


TOOLS: dict[str, tuple[str, Callable[[str, str], list[str]]]] = {
    "gcc": (os.environ.get("GCC") or "gcc", gcc),
    "cppcheck": ("cppcheck", cppcheck),
    "clang-tidy": ("clang-tidy", tidy),
}


def messages(tool: str, command: list[str]) -> list[str]:
    """What a tool says of a file, a line each, without what is justified."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    lines = [
        line for line in text.splitlines() if re.search(r": (?:fatal )?(?:warning|error|portability): ", line)
    ]
    if not lines and done.returncode:
        return [f"{command[0]} failed: {text[-500:]}"]
    return [line for line in dict.fromkeys(lines) if not is_justified(tool, line)]


def is_justified(tool: str, line: str) -> bool:
    place = line.split(":", 1)[0]
    return any(tool == of and f"[{check}" in line and where in place for of, check, where in JUSTIFIED)


def main(arguments: list[str]) -> int:
    words = [word for word in arguments if word not in TOOLS]
    chosen = [name for name in arguments if name in TOOLS] or [*TOOLS]
    paths = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "csrc").rglob("*.c"))
    paths = [path for path in paths if all(word in path for word in words)]
    bad: set[str] = set()
    for name in chosen:
        program, command = shutil.which(TOOLS[name][0]), TOOLS[name][1]
        if program is None:
            print(f"{name}: not installed")
            continue
        looked = [path for path in paths if name != "gcc" or not is_kernel(path)]
        with ThreadPoolExecutor(int(os.environ.get("MPM_JOBS") or os.cpu_count() or 1)) as pool:
            found = pool.map(lambda path: messages(name, command(program, path)), looked)  # noqa: B023
            said = {line for lines in found for line in lines}
        print("\n".join([*sorted(said), f"{name}: {len(looked)} files, {len(said)} messages"]), flush=True)
        bad |= said
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
