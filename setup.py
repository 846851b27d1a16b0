"""Builds the C core: the kernels once per (instruction set, dimension, precision), all in parallel.

Everything that is not about C lives in pyproject.toml. Environment: MPM_SANITIZE=address,undefined (or thread),
MPM_COVERAGE=1, MPM_JOBS=n, MPM_ISAS="scalar avx2" to build only some of the instruction sets.
"""

import copy
import json
import os
import platform
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from itertools import product
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_clib import build_clib as _build_clib
from setuptools.command.build_ext import build_ext as _build_ext

CFLAGS = [
    "-std=gnu11", "-O3", "-g1", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden",
    "-pthread", "-Wall", "-Wextra", "-Wno-unknown-warning-option", "-Wno-psabi",
]  # fmt: skip
LDFLAGS = ["-pthread"]
if sanitizers := os.environ.get("MPM_SANITIZE"):
    CFLAGS += ["-fno-omit-frame-pointer", "-UNDEBUG", f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    # What ASan sees by itself, and full debug information, made one kernel compile for minutes. Scopes of variables on
    # the stack, and less optimisation, made it five times as slow.
    CFLAGS += ["-fno-sanitize=null,object-size,pointer-overflow", "-fno-sanitize-address-use-after-scope"]
    CFLAGS += ["-O1" if sanitizers == "thread" else "-O2"]
    CFLAGS += ["-Wno-maybe-uninitialized"]  # GCC errs among the checks
    LDFLAGS += [f"-fsanitize={sanitizers}"]
if os.environ.get("MPM_COVERAGE"):
    CFLAGS += ["-O0", "-g", "--coverage", "-fprofile-update=atomic"]
    LDFLAGS += ["--coverage"]

# "scalar" is the oracle: one particle at a time. "portable" uses 128-bit vectors of whatever the compiler targets.
ISAS = {"scalar": [], "portable": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    ISAS["avx2"] = ["-mavx2", "-mfma"]
    ISAS["avx512"] = (
        "-mavx512f -mavx512vl -mavx512dq -mavx512bw -mavx2 -mfma -mprefer-vector-width=512".split()
    )

if wanted := os.environ.get("MPM_ISAS", "").split():
    if not set(wanted) <= set(ISAS):
        raise SystemExit(f"MPM_ISAS = {' '.join(wanted)}: must be some of {', '.join(ISAS)}")
    ISAS = {isa: flags for isa, flags in ISAS.items() if isa in wanted}
elif sanitizers == "thread":  # the threads of all sets are the same
    ISAS = {isa: ISAS[isa] for isa in ("scalar", "portable")}
elif sanitizers and "avx2" in ISAS:  # the same source with longer vectors
    del ISAS["portable"]

# What `mpm.show_config()` tells of it.
FLAGS = " ".join([os.environ.get("CFLAGS", ""), *CFLAGS]).strip()

HEADERS = sorted(glob("csrc/**/*.h", recursive=True))
MODULE = sorted(glob("csrc/python/*.c"))
KERNELS = sorted(glob("csrc/transfer/*.c"))
CORE = sorted(set(glob("csrc/**/*.c", recursive=True)) - set(MODULE) - set(KERNELS))
BUILT = [(f"MPM_WITH_{isa.upper()}", "1") for isa in ISAS]

# Compilers do not see that macros have changed: what depends on this file is compiled anew when the choice changes.
TREE = sys.argv[sys.argv.index("--build-base") + 1] if "--build-base" in sys.argv else "build"
CHOICE = Path(TREE, "isas")
if not CHOICE.is_file() or CHOICE.read_text() != " ".join(ISAS):
    CHOICE.parent.mkdir(parents=True, exist_ok=True)
    CHOICE.write_text(" ".join(ISAS))


def library(name, sources, cflags=(), macros=(), depends=()):
    return name, {
        "sources": sources, "include_dirs": ["csrc"], "cflags": [*CFLAGS, *cflags], "macros": list(macros),
        "obj_deps": {"": [*HEADERS, *depends, "setup.py"]},
    }  # fmt: skip


def keep_objects(command):
    """Where `build_ext --inplace` keeps its objects; an editable install by pip would throw them away."""
    if command.editable_mode:
        command.build_temp = f"build/temp.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"


class build_clib(_build_clib):
    """One object folder per library, so that one source can be in several; libraries compile in parallel."""

    editable_mode = False

    def run(self):
        keep_objects(self)
        if self.editable_mode:
            self.build_clib = self.build_temp
        super().run()

    def build_libraries(self, libraries):
        def build_one(library):
            command = copy.copy(self)
            command.build_temp = os.path.join(self.build_temp, library[0])
            _build_clib.build_libraries(command, [library])

        with ThreadPoolExecutor(int(os.environ.get("MPM_JOBS", os.cpu_count() or 1))) as pool:
            list(pool.map(build_one, libraries))


class build_ext(_build_ext):
    """`build_ext` alone would not build the libraries that it links."""

    def run(self):
        keep_objects(self)
        self.run_command("build_clib")
        super().run()


# One wheel for every CPython >= 3.11; a free-threaded build has no stable ABI before 3.15.
ABI3 = not sysconfig.get_config_var("Py_GIL_DISABLED")
LIBRARIES = [
    library(
        f"mpm_{isa}_{real}{dim}", KERNELS, flags,
        [("MPM_ISA", isa), (f"MPM_ISA_{isa.upper()}", "1"), ("MPM_REAL", real), ("MPM_DIM", str(dim))],
    )
    for dim, real, (isa, flags) in product((3, 2), ("float", "double"), ISAS.items())
]  # fmt: skip
setup(
    cmdclass={"build_clib": build_clib, "build_ext": build_ext},
    libraries=[library("mpm_core", CORE, macros=BUILT, depends=[str(CHOICE)]), *LIBRARIES],
    ext_modules=[
        Extension(
            "mpm._core", MODULE, include_dirs=["csrc"], depends=[*HEADERS, *KERNELS, *CORE, str(CHOICE), "setup.py"],
            extra_compile_args=CFLAGS, extra_link_args=LDFLAGS, py_limited_api=ABI3,
            define_macros=[("MPM_FLAGS", json.dumps(FLAGS)), *([("Py_LIMITED_API", "0x030B0000")] if ABI3 else [])],
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if ABI3 else {},
)  # fmt: skip
