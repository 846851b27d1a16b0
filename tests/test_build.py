"""The build compiles what an edit concerns, all of it and nothing else: setup.py on a miniature of the core."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = {
    "csrc/materials/laws.h": "#define STIFFNESS 1\n",
    "csrc/base/core.h": "int core(void);\n",
    "csrc/base/core.c": '#include "base/core.h"\nint core(void) { return 10; }\n',
    # One of the kernels, whichever are built, answers.
    "csrc/mpm/kernels/sweep.c": '#include "materials/laws.h"\n'
    "#define NAME3(isa, real, dim) sweep_##isa##_##real##dim\n#define NAME2(isa, real, dim) NAME3(isa, real, dim)\n"
    "int NAME2(MPM_ISA, MPM_REAL, MPM_DIM)(void) { return 100 * STIFFNESS; }\n",
    "csrc/mpm/kernels/other.c": "typedef int other;\n",
    "csrc/python/module.c": '#include <Python.h>\n#include "base/core.h"\nint sweep_scalar_float2(void);\n'
    "static PyObject *answer(PyObject *module, PyObject *none)\n"
    "{ (void)module; (void)none; return PyLong_FromLong(1 + core() + sweep_scalar_float2()); }\n"
    'static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {0}};\n'
    'static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_core", .m_methods = methods};\n'
    "PyMODINIT_FUNC PyInit__core(void) { return PyModule_Create(&module); }\n",
}

pytestmark = [pytest.mark.source, pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")]


class Project:
    """A folder with this project's setup.py and a core of a few lines."""

    def __init__(self, root: Path):
        self.root = root
        pytest.importorskip("setuptools")
        shutil.copy(ROOT / "setup.py", root)
        (root / "mpm").mkdir()
        (root / "mpm" / "__init__.py").touch()
        for name, text in SOURCES.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def run(self, command: str, **environment: str) -> set[str]:
        """The objects that a command of setup.py compiles: "library/source"."""
        before = self.objects()
        environment = {**os.environ, "MPM_ISAS": "scalar", "CC": "cc", **environment}
        environment.pop("LD_PRELOAD", None)
        words = [sys.executable, "setup.py", "-q", *command.split()]
        subprocess.run(words, cwd=self.root, env=environment, check=True)
        return {name for name, file in self.objects().items() if before.get(name) != file}

    def objects(self) -> dict[str, tuple[int, int]]:
        paths = self.root.glob("build/temp.*/*/csrc/**/*.o")
        return {
            f"{path.relative_to(self.root).parts[2]}/{path.stem}": (
                path.stat().st_ino,
                path.stat().st_mtime_ns,
            )
            for path in paths
        }

    def answer(self) -> int:
        code = "from mpm import _core; print(_core.answer())"
        result = subprocess.run([sys.executable, "-c", code], cwd=self.root, check=True, capture_output=True)
        return int(result.stdout)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


BUILD = "build_ext --inplace"
KERNELS = {f"mpm_scalar_{real}{dim}" for real in ("float", "double") for dim in (2, 3)}


def test_an_edit_compiles_what_reads_it(project):
    everything = {"module/module", "mpm_core/core"} | {
        f"{k}/{s}" for k in KERNELS for s in ("sweep", "other")
    }
    assert project.run(BUILD) == everything and project.answer() == 111
    assert project.run(BUILD) == project.run(BUILD, CC="gcc") == set()
    project.write("csrc/materials/laws.h", "#define STIFFNESS 2\n")
    assert project.run(BUILD) == {f"{kernel}/sweep" for kernel in KERNELS} and project.answer() == 211
    project.write("csrc/base/core.h", "int core(void); /* again */\n")
    assert project.run(BUILD) == {"module/module", "mpm_core/core"}
    project.write("csrc/python/module.c", SOURCES["csrc/python/module.c"].replace("1 +", "2 +"))
    assert project.run(BUILD) == {"module/module"} and project.answer() == 212
    assert project.run(BUILD, CFLAGS="-DMORE") == everything
    (project.root / "csrc/mpm/kernels/other.c").unlink()
    assert project.run(BUILD, CFLAGS="-DMORE") == set()
    archive = next(project.root.glob("build/temp.*/libmpm_scalar_float2.a"))
    members = subprocess.run(["ar", "t", archive], capture_output=True, text=True, check=True).stdout
    assert members.split() == ["sweep.o"]


def test_libraries_that_were_built_without_the_extension_are_linked(project):
    project.run(BUILD)
    project.write("csrc/base/core.c", SOURCES["csrc/base/core.c"].replace("10", "20"))
    assert project.run("build_clib") == {"mpm_core/core"} and project.answer() == 111
    assert project.run(BUILD) == set() and project.answer() == 121


def test_native_is_the_oracle_and_the_best_set_beside_what_is_there(project):
    def sets(built):
        return {name.partition("/")[0].split("_")[1] for name in built if name.startswith("mpm_")} - {"core"}

    both = sets(project.run(BUILD, MPM_ISAS="native"))
    assert "scalar" in both and len(both) == 2
    assert sets(project.run(BUILD, MPM_ISAS="scalar portable")) <= {"portable"}
    project.run(BUILD, MPM_ISAS="native")
    flags = next(project.root.glob("build/temp.*/mpm_core/flags")).read_text()
    assert {isa for isa in ("scalar", "portable", *both) if f"MPM_WITH_{isa.upper()}" in flags} == {
        *both,
        "portable",
    }
    assert project.run(BUILD, MPM_ISAS="native") == set() and project.answer() == 111


def test_a_wheel_says_what_is_in_it(project):
    """PEP 770 and CycloneDX: the extension by its hash, and what pip installs beside it."""
    shutil.copy(ROOT / "pyproject.toml", project.root)
    for name in ("README.md", "LICENSE"):
        project.write(name, "")
    bills = []
    for folder in ("first", "second"):
        project.run(f"bdist_wheel --dist-dir {folder}")
        with zipfile.ZipFile(next((project.root / folder).glob("*.whl"))) as wheel:
            names = wheel.namelist()
            extension = next(name for name in names if name.endswith(".so"))
            digest = hashlib.sha256(wheel.read(extension)).hexdigest()
            text = wheel.read(next(name for name in names if name.endswith(".dist-info/sboms/mpm.cdx.json")))
        bill = json.loads(text)
        parts = {part["name"]: part for part in bill["components"]}
        assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "mpm")
        assert {*parts} == {"numpy", extension}
        assert parts[extension]["hashes"] == [{"alg": "SHA-256", "content": digest}]
        assert bill["dependencies"] == [{"ref": "mpm", "dependsOn": ["numpy", extension]}]
        bills.append(text)
    assert bills[0] == bills[1]


@pytest.mark.parametrize("name", ["csrc/materials/laws.h", "csrc/base/core.c", "csrc/python/module.c"])
def test_what_is_edited_while_it_is_compiled_is_compiled_again(project, name):
    """By a compiler that, once, edits the file that it has read before it writes the object."""
    edited = {"laws.h": ("1\n", "2\n", 211), "core.c": ("10", "20", 121), "module.c": ("1 +", "2 +", 112)}
    before, after, answer = edited[Path(name).name]
    project.write("after", SOURCES[name].replace(before, after))
    reader = "mpm_scalar_float2/csrc/mpm/kernels/sweep.o" if name.endswith(".h") else name
    edit = f"cat after >{name} && rm after && for word; do case $word in *.o) touch $word;; esac; done"
    project.write(
        "cc", f'#!/bin/sh\ncc "$@" || exit\ncase "$*" in *{reader}*) [ ! -f after ] || {{ {edit}; }};; esac\n'
    )
    (project.root / "cc").chmod(0o755)
    compiler = str(project.root / "cc")
    project.run(BUILD, CC=compiler)
    assert project.answer() == 111 and not (project.root / "after").exists()
    assert project.run(BUILD, CC=compiler) and project.answer() == answer
