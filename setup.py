"""Builds the C core: the kernels once per (instruction set, dimension, precision), all in parallel.

Everything that is not about C lives in pyproject.toml. Environment: MPM_SANITIZE=address,undefined (or thread),
MPM_COVERAGE=1, MPM_JOBS=n, MPM_ISAS="scalar avx2" to build only some of the instruction sets, MPM_ISAS=native for the
oracle and the best one of this machine, MPM_LAWS_ONLY=1 for kernels that evaluate laws and take no steps.

setuptools compares the age of an extension with its sources alone. Here all C files belong to libraries: an object is
compared with all files that the compiler read for it, an archive with its objects, and the extension with the archives.
"""

import hashlib
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import sysconfig
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from itertools import product
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel as _bdist_wheel
from setuptools.command.build_clib import build_clib as _build_clib
from setuptools.command.build_ext import build_ext as _build_ext
from setuptools.command.build_py import build_py as _build_py

CFLAGS = [
    "-std=gnu11", "-O3", "-g1", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden",
    "-pthread", "-Wall", "-Wextra", "-Wno-unknown-warning-option", "-Wno-psabi",
]  # fmt: skip
# Only Python needs the module's objects, and only the kernels, which come last, need contact/constraint.c.
LDFLAGS = ["-pthread"]
for symbol in ("PyInit__core", "mpm_constraint_add"):
    LDFLAGS += ["-Wl,-u," + ("_" if sys.platform == "darwin" else "") + symbol]
if sys.platform == "linux":
    LDFLAGS += ["-ldl"]  # dlopen, which the C library has since glibc 2.34
if sanitizers := os.environ.get("MPM_SANITIZE"):
    CFLAGS += ["-fno-omit-frame-pointer", "-UNDEBUG", f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    # With checks that ASan makes anyway, and with full debug information, one kernel compiled for minutes. With scopes
    # of variables on the stack, and with less optimisation, it ran five times as slowly.
    CFLAGS += ["-fno-sanitize=null,object-size,pointer-overflow", "-fno-sanitize-address-use-after-scope"]
    CFLAGS += ["-O1" if sanitizers == "thread" else "-O2"]
    CFLAGS += ["-Wno-maybe-uninitialized"]  # false alarms of GCC in code with checks
    LDFLAGS += [f"-fsanitize={sanitizers}"]
if os.environ.get("MPM_COVERAGE"):
    CFLAGS += ["-O0", "-g", "--coverage", "-fprofile-update=atomic"]
    LDFLAGS += ["--coverage"]

# "scalar" is the oracle: one particle at a time. "portable" uses 128-bit vectors of whatever the compiler targets, in
# single precision; in double precision its kernels are the scalar ones (csrc/run/variants.h).
ISAS = {"scalar": [], "portable": []}
if platform.machine().lower() in ("x86_64", "amd64"):
    ISAS["avx2"] = ["-mavx2", "-mfma"]
    ISAS["avx512"] = (
        "-mavx512f -mavx512vl -mavx512dq -mavx512bw -mavx2 -mfma -mprefer-vector-width=512".split()
    )

# Where `build_ext --inplace` keeps its objects.
OBJECTS = f"build/temp.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"


def processor():
    """What this processor can do, in the words of the operating system; nothing if it does not say."""
    try:
        if sys.platform == "darwin":
            names = ["machdep.cpu.features", "machdep.cpu.leaf7_features"]
            told = subprocess.run(["sysctl", "-n", *names], capture_output=True, text=True, check=True).stdout
        else:
            told = re.search(r"^flags\s*:(.*)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[1]
    except (OSError, TypeError, subprocess.CalledProcessError):
        return set()
    return set(told.lower().split())


def native():
    """The oracle, the best instruction set of this machine, and those that this folder has already: linking without
    them would take them away from who built them."""
    flags = processor()
    needs = {"avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512vl", "avx512dq", "avx512bw"}}
    best = [isa for isa in ISAS if not flags or needs.get(isa, set()) <= flags][-1]
    return ["scalar", best, *(isa for isa in ISAS if any(Path(OBJECTS).glob(f"libmpm_{isa}_*.a")))]


if wanted := os.environ.get("MPM_ISAS", "").split():
    if wanted == ["native"]:
        wanted = native()
    if "portable" in wanted:
        wanted.append("scalar")
    if not set(wanted) <= set(ISAS):
        raise SystemExit(f"MPM_ISAS = {' '.join(wanted)}: must be native, or some of {', '.join(ISAS)}")
    ISAS = {isa: flags for isa, flags in ISAS.items() if isa in wanted}
elif sanitizers == "thread":  # the threads of all sets are the same
    ISAS = {isa: ISAS[isa] for isa in ("scalar", "portable")}
elif sanitizers and "avx2" in ISAS:  # the other sets are the same source with other vectors
    del ISAS["portable"]

# For `mpm.show_config()`.
FLAGS = " ".join([os.environ.get("CFLAGS", ""), *CFLAGS]).strip()

MODULE = sorted(glob("csrc/python/*.c"))
KERNELS = sorted(glob("csrc/*/kernels/*.c"))
KERNELS += glob("csrc/materials/general_laws.c")
CORE = sorted(set(glob("csrc/**/*.c", recursive=True)) - set(MODULE) - set(KERNELS))
if os.environ.get("MPM_LAWS_ONLY"):
    laws = ("materials/general_laws.c", "mpm/kernels/kernel_table.c", "mpm/kernels/law_calls.c")
    KERNELS = [f"csrc/{name}" for name in laws]
    CFLAGS += ["-DMPM_LAWS_ONLY"]
JOBS = int(os.environ.get("MPM_JOBS", os.cpu_count() or 1))


def library(name, sources, cflags=(), macros=(), include_dirs=()):
    return name, {
        "sources": sources, "include_dirs": ["csrc", "mpm/include", *include_dirs],
        "cflags": [*CFLAGS, *cflags], "macros": list(macros),
    }  # fmt: skip


def is_older(target, sources):
    """Is `target` older than one of `sources`, or is one of them all missing?"""
    try:
        return target.stat().st_mtime_ns < max(Path(source).stat().st_mtime_ns for source in sources)
    except FileNotFoundError:
        return True


def is_stale(target, flags):
    """Is an object older than its library's flags or than a file that the compiler read for it?"""
    read = target.with_suffix(".d")
    if not read.is_file():
        return True
    return is_older(target, [flags, *shlex.split(read.read_text().replace("\\\n", " ").partition(":")[2])])


def remember(path, text):
    """The file `path` that holds `text`; written, and so made younger, only if it holds another one."""
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path


def keep_objects(command):
    """An editable install by pip would throw its objects away."""
    if command.editable_mode:
        command.build_temp = OBJECTS


def report(compiled, count):
    """Says what is compiled, and every tenth of it: a build takes minutes."""
    if count:
        print(f"compiles {count} files for {', '.join(ISAS)}; {JOBS} at a time", flush=True)
    begin, told = time.monotonic(), 0
    for done, _ in enumerate(compiled, 1):
        if done == count or 10 * done // count > told:
            told = 10 * done // count
            print(f"  {100 * done // count:3d} % after {time.monotonic() - begin:.0f} s", flush=True)


class build_clib(_build_clib):
    """One folder of objects per library, so that one source can be in several; all that is stale compiles at once."""

    editable_mode = False

    def run(self):
        keep_objects(self)
        if self.editable_mode:
            self.build_clib = self.build_temp
        super().run()

    def build_libraries(self, libraries):
        stale = [
            (name, made, source)
            for name, made in libraries
            for source in made["sources"]
            if self.force or is_stale(self.object_of(name, source), self.flags_of(name, made))
        ]
        start = Path(self.build_temp, "start")
        start.touch()
        began = start.stat().st_mtime_ns

        def compile_one(job):
            name, made, source = job
            self.compiler.compile(
                [source], output_dir=str(Path(self.build_temp, name)), macros=made["macros"],
                include_dirs=made["include_dirs"], extra_postargs=["-MMD", *made["cflags"]],
            )  # fmt: skip
            # A file that is edited during this build is younger than the object, so the next build compiles it again.
            os.utime(self.object_of(name, source), ns=(began, began))

        with ThreadPoolExecutor(JOBS) as pool:  # sweeps take the longest: they go first
            report(pool.map(compile_one, sorted(stale, key=lambda job: "sweep" not in job[2])), len(stale))
        for name, made in libraries:
            self.archive(name, [self.object_of(name, source) for source in made["sources"]])

    def object_of(self, name, source):
        return Path(self.build_temp, name, source).with_suffix(".o")

    def flags_of(self, name, made):
        """A file with the options of the compiler, whatever this is called: `ccache cc` and `gcc` are the same one."""
        options = [word for word in self.compiler.compiler_so if word.startswith("-")]
        told = [*options, *made["cflags"], *made["include_dirs"], *map(str, made["macros"])]
        return remember(Path(self.build_temp, name, "flags"), " ".join(told))

    def archive(self, name, objects):
        target = Path(self.build_clib, self.compiler.library_filename(name))
        members = remember(Path(self.build_temp, name, "members"), "\n".join(map(str, objects)))
        if is_older(target, [members, *objects]):
            target.unlink(missing_ok=True)  # or it would keep objects whose source was deleted
            self.compiler.create_static_lib(list(map(str, objects)), name, output_dir=self.build_clib)


class build_ext(_build_ext):
    """Links the libraries, after it has had them built, where one of them is younger than the extension."""

    def run(self):
        keep_objects(self)
        self.run_command("build_clib")
        if not (self.inplace or self.editable_mode or sanitizers or os.environ.get("MPM_COVERAGE")):
            for extension in self.extensions:
                extension.extra_link_args.append("-Wl,-S")  # line numbers, for debuggers, are half of a wheel
        super().run()

    def build_extension(self, extension):
        folder = Path(self.get_finalized_command("build_clib").build_clib)
        archives = [folder / self.compiler.library_filename(name) for name, _ in LIBRARIES]
        command = [*self.compiler.linker_so, *extension.extra_link_args]
        linked = remember(Path(self.build_temp, "link"), " ".join(command))
        target = Path(self.get_ext_fullpath(extension.name))
        if is_older(target, [*archives, linked]):
            target.unlink(missing_ok=True)  # setuptools links a missing target
        super().build_extension(extension)


def device_sources():
    """The kernels of a GPU and what they include: they travel as text, because NVRTC compiles them where they run.
    Names of laws come by a macro, so all laws are included. Quoted includes are paths below csrc/."""
    wanted = [
        Path("csrc/materials/each_law.h"),
        *Path("csrc/mpm/gpu").rglob("*.cu"),
        *Path("csrc/mpm/gpu/nvrtc").glob("*"),
    ]
    found = set()
    while wanted:
        path = wanted.pop()
        if path not in found and path.is_file():
            found.add(path)
            included = re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE)
            wanted += [Path("csrc", name) for name in included]
    return sorted(found)


class build_py(_build_py):
    """Copies the sources of the GPU's kernels beside mpm/include; an editable install reads those of csrc/."""

    def copies(self):
        base = Path(self.build_lib, "mpm", "include")
        return [] if self.editable_mode else [(str(path), str(base / path)) for path in device_sources()]

    def run(self):
        super().run()
        for source, target in self.copies():
            self.mkpath(str(Path(target).parent))
            self.copy_file(source, target, preserve_mode=False)

    def get_outputs(self, include_bytecode=1):
        return super().get_outputs(include_bytecode) + [target for _, target in self.copies()]


class bdist_wheel(_bdist_wheel):
    """Puts a bill of materials into the wheel (PEP 770: .dist-info/sboms/)."""

    def write_wheelfile(self, wheelfile_base, *args, **options):
        super().write_wheelfile(wheelfile_base, *args, **options)
        folder = Path(wheelfile_base, "sboms")
        folder.mkdir(exist_ok=True)
        bill = bill_of_materials(self.distribution, Path(self.bdist_dir or ""))
        (folder / f"{self.distribution.get_name()}.cdx.json").write_text(
            json.dumps(bill, indent=1) + "\n", encoding="utf-8"
        )


def bill_of_materials(distribution, root):
    """CycloneDX 1.6: what a wheel holds and needs. The same wheel has the same one: no dates, no random numbers.

    All its files are this project's. The extension is linked with the C library alone, dynamically, so that the
    list of components has what pip installs beside it, and the hash of the extension if it has been built.
    """
    name, version = distribution.get_name(), distribution.get_version()
    own = {
        "type": "library", "bom-ref": name, "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}",
        "description": distribution.metadata.get_description(), "licenses": [{"license": {"id": "MIT"}}],
    }  # fmt: skip
    needed, components = [], []
    for requirement in distribution.install_requires:
        other = re.match(r"[\w.-]+", requirement)[0]
        needed.append(other)
        components.append(
            {"type": "library", "bom-ref": other, "name": other, "purl": f"pkg:pypi/{other}", "scope": "required",
             "description": f"not in the wheel; pip installs {requirement}"}
        )  # fmt: skip
    for path in sorted(root.glob("mpm/_core*.so")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        components.append(
            {"type": "file", "bom-ref": f"mpm/{path.name}", "name": f"mpm/{path.name}", "licenses": own["licenses"],
             "description": "compiled from csrc/", "hashes": [{"alg": "SHA-256", "content": digest}]}
        )  # fmt: skip
        needed.append(f"mpm/{path.name}")
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6",
        "version": 1, "metadata": {"component": own}, "components": components,
        "dependencies": [{"ref": name, "dependsOn": needed}],
        "compositions": [{"aggregate": "complete", "assemblies": [name]}],
    }  # fmt: skip
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill))
    return {**bill, "serialNumber": f"urn:uuid:{number}"}


# One wheel for every CPython >= 3.11; a free-threaded build has no stable ABI before 3.15.
ABI3 = not sysconfig.get_config_var("Py_GIL_DISABLED")
PYTHON = {sysconfig.get_path("include"), sysconfig.get_path("platinclude")}
LIBRARIES = [
    library(
        "module", MODULE, [], include_dirs=sorted(PYTHON),
        macros=[("MPM_FLAGS", json.dumps(FLAGS)), *([("Py_LIMITED_API", "0x030B0000")] if ABI3 else [])],
    ),
    library("mpm_core", CORE, macros=[(f"MPM_WITH_{isa.upper()}", "1") for isa in ISAS]),
    *(
        library(
            f"mpm_{isa}_{real}{dim}", KERNELS, flags,
            [("MPM_ISA", isa), (f"MPM_ISA_{isa.upper()}", "1"), ("MPM_REAL", real), ("MPM_DIM", str(dim))],
        )
        for dim, real, (isa, flags) in product((3, 2), ("float", "double"), ISAS.items())
        if (isa, real) != ("portable", "double")
    ),
]  # fmt: skip
setup(
    cmdclass={
        "bdist_wheel": bdist_wheel,
        "build_clib": build_clib,
        "build_ext": build_ext,
        "build_py": build_py,
    },
    libraries=LIBRARIES,
    ext_modules=[Extension("mpm._core", [], extra_link_args=LDFLAGS, py_limited_api=ABI3)],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if ABI3 else {},
)
