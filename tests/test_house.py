"""The rules of the house (CONTRIBUTING.md), checked: layers, names, no globals, no hidden prints, documentation.

What concerns the core's objects looks at the build that the extension was linked from, made up to date first.
"""

import ast
import graphlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

import mpm

ROOT = Path(__file__).resolve().parents[1]
CSRC = ROOT / "csrc"
C_FILES = sorted(path for pattern in ("*.c", "*.h", "*.inc", "*.cu") for path in CSRC.rglob(pattern))
OWN_C_FILES = [
    *C_FILES,
    *sorted((ROOT / "tests" / "c").glob("*.[ch]")),
    *sorted((ROOT / "tests" / "gpu").iterdir()),
]

# A file includes only from lower floors, or from its own folder. The three methods stand side by side.
METHODS = ("mpm", "sph", "fem")
FLOORS = {
    "base": 0,
    "math": 1,
    "sampling": 1,
    "drawing": 1,
    "ranks": 1,
    "contact": 1,
    "ode": 2,
    "rigid": 2,
    "run": 2,
    "materials": 3,
    "mpm/memory": 4,
    "mpm/kernels": 5,
    "sph/kernels": 5,
    "fem/kernels": 5,
    "mpm/gpu/nvrtc": 0,
    "mpm/gpu": 6,
    **dict.fromkeys(METHODS, 7),
    "mpm.h": 8,
    "python": 9,
}

source = pytest.mark.source


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# --- the sources -------------------------------------------------------------------------------------------------


def includes(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(), re.MULTILINE)


def room_of(path: str) -> str:
    """The folder of a file, given below csrc/; the public header is a room of its own."""
    return Path(path).parent.as_posix() if "/" in path else path


@source
def test_every_folder_of_the_core_has_a_floor():
    assert {room_of(path.relative_to(CSRC).as_posix()) for path in C_FILES} == set(FLOORS)


@source
def test_includes_go_only_downwards():
    wrong = []
    for path in C_FILES:
        here = room_of(path.relative_to(CSRC).as_posix())
        for included in includes(path):
            there = room_of(included)
            methods = {here.partition("/")[0], there.partition("/")[0]}
            if not (CSRC / included).is_file():
                wrong.append(f'{name_of(path)}: "{included}" is not a path below csrc/')
            elif there != here and (
                FLOORS[there] >= FLOORS[here] or (methods < set(METHODS) and len(methods) > 1)
            ):
                wrong.append(f"{name_of(path)} ({here}) includes {included} ({there})")
    assert not wrong, "\n".join(wrong)


@source
def test_the_file_of_every_law_is_included():
    listed = re.findall(r"X\(MPM_\w+, (\w+), (?:IN)?ELASTIC", (CSRC / "materials" / "laws.h").read_text())
    assert includes(CSRC / "materials" / "each_law.h") == [f"materials/{law}.h" for law in ("row", *listed)]


@source
def test_only_back_ends_launch_kernels():
    """Nothing else in csrc/mpm/ calls the pool, an operation or a pass."""
    launch = re.compile(
        r"\bmpm_pool_for\(|kernels->(operation|grid_|means_|nodes_|held_)|\bmpm_binning_run\("
    )
    launching = {path.name for path in (CSRC / "mpm").glob("*.c") if launch.search(path.read_text())}
    assert launching == {"cpu_backend.c", "odd_backend.c"}


@source
def test_the_core_knows_nothing_of_python():
    for path in C_FILES:
        if path.relative_to(CSRC).parts[0] != "python":
            text = path.read_text()
            assert "Python.h" not in text and not re.search(r"\bPy_?[A-Z]\w*\s*\(|\bPyObject\b", text), (
                name_of(path)
            )


@source
def test_every_c_file_begins_with_its_licence():
    wrong = [
        name_of(path)
        for path in OWN_C_FILES
        if not path.read_text().startswith("/* SPDX-License-Identifier: MIT")
    ]
    assert not wrong


@source
def test_headers_are_guarded():
    wrong = [
        name_of(path)
        for path in OWN_C_FILES
        if path.suffix == ".h" and "#pragma once" not in path.read_text()
    ]
    assert not wrong


@source
def test_no_file_is_too_long_to_read():
    long = {}
    for path in [*OWN_C_FILES, *(ROOT / "mpm").rglob("*.py"), *(ROOT / "tests").glob("*.py")]:
        if (lines := path.read_bytes().count(b"\n")) > 1000:
            long[name_of(path)] = lines
    assert not long


@source
def test_no_line_of_c_is_too_wide():
    wide = [
        f"{name_of(path)}:{number}"
        for path in OWN_C_FILES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert not wide, "\n".join(wide)


def functions_of(path: Path) -> dict[str, str]:
    """Name -> text of every function that a C file defines, from its first line to its closing brace."""
    head = r"^(?:[A-Za-z_][\w ]*[ *])(\w+)\([^;{}]*\)\n\{\n.*?^\}$"
    found = re.finditer(head, path.read_text(), re.MULTILINE | re.DOTALL)
    return {match[1]: match[0] for match in found}


def branches_of(function: str) -> int:
    code = re.sub(r"/\*.*?\*/", "", function, flags=re.DOTALL)
    return len(re.findall(r"\b(?:if|for|while|case)\b|\?|&&|\|\|", code))


@source
def test_a_run_and_a_step_fit_one_screen_each():
    """The textbook's step in its order; nothing around it is longer than a screen or branches more than eight times."""
    functions = {}
    for name in ("mpm/step.c", "sph/step.c", "fem/step.c", "run/run.c", "run/march.c"):
        for function, text in functions_of(CSRC / name).items():
            functions[f"{name}: {function}"] = text
    frame = re.findall(
        r"(?<!-)\b(?:method->)?(begin|plan|attempt|commit)\(", functions["run/march.c: take_step"]
    )
    assert frame == ["begin", "plan", "attempt", "commit"]
    calls = {
        "attempt": ["scatter", "grid", "check"], "commit": ["gather", "mpm_march_tick", "mpm_totals_record"],
    }  # fmt: skip
    for part, expected in calls.items():
        text = functions[f"mpm/step.c: mpm_step_{part}"]
        assert [name for name in re.findall(r"\b(\w+)\(", text) if name in expected] == expected
    assert "run/run.c: mpm_run_advance" in functions
    sizes = {name: (text.count("\n") + 1, branches_of(text)) for name, text in functions.items()}
    assert all(lines <= 60 and branches <= 8 for lines, branches in sizes.values()), sizes


@source
def test_the_extension_keeps_no_state_outside_the_module():
    """CPython reads its own tables through pointers to non-const; nothing else may be a mutable static."""
    table = r"(?:struct )?Py(?:MethodDef|ModuleDef|ModuleDef_Slot|Type_Slot|Type_Spec|GetSetDef|MemberDef)"
    for path in (CSRC / "python").glob("*.[ch]"):
        for line in re.findall(r"^\s*static\b[^(){]*(?:=|;|\[)", path.read_text(), re.MULTILINE):
            keywords = r"char \*\w+\[\]"  # what PyArg_ParseTupleAndKeywords asks for
            allowed = rf"\bconst\b|^\s*static\s+({table}\s|{keywords})"
            assert re.search(allowed, line), f"{name_of(path)}: {line.strip()}"


# --- the modules ------------------------------------------------------------------------------------------------------


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((ROOT / "mpm").rglob("*.py"))}
EXTENSION = "mpm._core"  # imports nothing


def imported(module: str) -> set[str]:
    """The modules of the package that a module names in its import statements, wherever they are: at the top, inside
    functions, and where only a type checker looks. ``from a import b`` names a.b if that is a module, else a.

    A package's ``__init__`` that Python runs on the way to one of its modules is not named. The roof, `mpm` itself,
    names what it imports when it is first asked for it.
    """
    named = (
        {*mpm._LAZY_FUNCTIONS.values(), *(f"mpm.{name}" for name in mpm._LAZY)} if module == "mpm" else set()
    )
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: relative imports are not understood here"
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            named |= {name if name in {*MODULES, EXTENSION} else str(node.module) for name in members}
    return named & MODULES.keys() - {module}


def a_circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules of which each imports the next, and the last the first; nothing if there are none."""
    left = dict(graph)
    while leaves := [name for name, named in left.items() if not named & left.keys()]:
        for name in leaves:
            del left[name]
    way = [min(left)] if left else []  # from each of what is left the way leads on
    while way and way[-1] not in way[:-1]:
        way.append(min(left[way[-1]] & left.keys()))
    return way[way.index(way[-1]) :] if way else []


# The rooms of the package from the ground up: folders, and public modules of one file. A module imports only from rooms
# before its own, or from its own; methods do not import each other. `mpm` itself is the roof.
PYTHON_ROOMS = (
    *(
        "errors",
        "base",
        "config",
        "meshes",
        "shapes",
        "sampling",
        "materials",
        "motion",
        "joints",
        "scene",
        "solver",
        "io",
        "viz",
    ),
    *(
        "handles",
        "integrators",
        *METHODS,
        "point",
        "study",
        "testing",
        "plot",
        "samples",
        "gallery",
        "viewer",
        "bench",
    ),
    *("commands", "__main__", "include"),
)


def python_room(module: str) -> str:
    return module.split(".")[1]


@source
def test_modules_import_only_downwards():
    assert {python_room(module) for module in MODULES if module != "mpm"} == set(PYTHON_ROOMS)
    wrong = []
    for module in MODULES:
        for other in imported(module) - {"mpm"} if module != "mpm" else ():
            here, there = python_room(module), python_room(other)
            beside = {here, there} <= set(METHODS)
            if here != there and (beside or PYTHON_ROOMS.index(there) > PYTHON_ROOMS.index(here)):
                wrong.append(f"{module} imports {other}")
    assert not wrong, "\n".join(wrong)


@source
def test_few_rooms_know_each_other():
    """129 pairs of rooms when this was written: a name that only one other room uses may be in the wrong room."""
    named = {(python_room(a), python_room(b)) for a in MODULES if a != "mpm" for b in imported(a) - {"mpm"}}
    assert sum(a != b for a, b in named) <= 135


def test_a_circle_is_found():
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"b"}, "d": set(), "e": {"a", "d"}}
    assert a_circle(graph) == ["b", "c", "b"] and not a_circle(graph | {"c": {"d"}})


@source
def test_no_modules_import_each_other_in_a_circle():
    graph = {module: imported(module) for module in MODULES}
    assert {"mpm.scene.scene", "mpm.mpm.numerics"} <= graph["mpm.mpm.simulation"] and "mpm.viewer" in graph[
        "mpm"
    ]
    assert not (circle := a_circle(graph)), " -> ".join(circle)


# --- the objects ---------------------------------------------------------------------------------------------------


class Symbol:
    """One line of nm: a name, the letter of its kind, and the section it lies in."""

    def __init__(self, line: str):
        fields = [field.strip() for field in line.split("|")]
        self.name, self.kind, self.section = fields[0], fields[2], fields[6]


def symbols_of(paths: list[Path]) -> dict[Path, list[Symbol]]:
    """What `nm` finds in each object."""
    output = subprocess.run(
        ["nm", "-A", "-f", "sysv", *paths], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    table = {}
    for path in paths:
        lines = [line.removeprefix(f"{path}:") for line in output if line.startswith(f"{path}:")]
        table[path] = [Symbol(line) for line in lines if line.count("|") == 6]
    return table


def objects_in(folder: Path) -> dict[Path, Path]:
    """Object -> source of a library; nothing if it is left over from sources that are gone."""
    members = map(Path, (folder / "members").read_text().splitlines())
    paths = {ROOT / path: path.relative_to(folder.relative_to(ROOT)).with_suffix(".c") for path in members}
    return paths if all((ROOT / source_file).is_file() for source_file in paths.values()) else {}


BUILD = ROOT / "build" / f"temp.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"


@pytest.fixture(scope="module")
def objects() -> dict[tuple[str, str], list[Symbol]]:
    """(library, source) -> symbols, for every object of the core."""
    if not shutil.which("nm") or sys.platform == "darwin":
        pytest.skip("there is no GNU nm")
    pytest.importorskip("setuptools")
    subprocess.run([sys.executable, "setup.py", "-q", "build_clib"], cwd=ROOT, check=True)
    table = {}
    for library in sorted(BUILD.glob("mpm_*")):
        if paths := objects_in(library):
            for path, symbols in symbols_of(list(paths)).items():
                table[library.name, paths[path].as_posix()] = symbols
    assert table
    return table


def is_exported(symbol: Symbol) -> bool:
    return symbol.kind.isupper() and symbol.kind != "U"


def exported_name(path: str) -> str:
    """step of csrc/mpm/step.c, fem_step of csrc/fem/step.c; folders of kernels have no name of their own."""
    folder, stem = Path(path).parent.name, Path(path).stem
    return f"{folder}_{stem}" if folder in METHODS[1:] and stem != folder else stem


@source
def test_a_file_exports_only_its_own_name(objects):
    wrong = []
    for (library, path), symbols in objects.items():
        stem = re.escape(exported_name(path))
        suffix = ""
        if library != "mpm_core":  # mpm_avx2_float3: the same source, many times, in one extension
            suffix = "_" + re.escape(library.removeprefix("mpm_"))
        pattern = rf"mpm_{stem}(_\w+)?{suffix}"
        wrong += [
            f"{path} ({library}): {s.name}"
            for s in symbols
            if is_exported(s) and not re.fullmatch(pattern, s.name)
        ]
    assert not wrong, "\n".join(wrong)


@source
def test_no_object_file_needs_itself(objects):
    """From file to file that defines what it uses: nowhere back to where it began. Kernels are one file per source."""
    extension = objects_in(BUILD / "module")
    assert len(extension) == len(list((CSRC / "python").glob("*.c")))
    files = [(path, symbols) for (_, path), symbols in objects.items()]
    files += [(extension[path].as_posix(), symbols) for path, symbols in symbols_of(list(extension)).items()]
    owner = {symbol.name: path for path, symbols in files for symbol in symbols if is_exported(symbol)}
    needs: dict[str, set[str]] = {path: set() for path, _ in files}
    for path, symbols in files:
        needs[path] |= {owner[s.name] for s in symbols if s.kind == "U" and s.name in owner} - {path}
    assert "csrc/mpm/implicit.c" in needs["csrc/mpm/integrator.c"]
    try:
        graphlib.TopologicalSorter(needs).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" is needed by ".join(error.args[1]))


@source
def test_the_core_has_no_mutable_globals(objects):
    wrong = []
    for (library, path), symbols in objects.items():
        for symbol in symbols:
            data = re.match(r"\.t?(data|bss)|\*COM\*|COMMON", symbol.section) or symbol.kind in "CBb"
            if data and not symbol.section.startswith(".data.rel.ro"):
                wrong.append(f"{path} ({library}): {symbol.name} in {symbol.section}")
    assert not wrong, "\n".join(wrong)


FORBIDDEN_CALLS = set(
    "printf fprintf vprintf vfprintf puts fputs putchar fputc perror stdout stderr __printf_chk __fprintf_chk"
    " exit _exit _Exit abort quick_exit raise kill longjmp _longjmp siglongjmp signal sigaction rand srand".split()
)
ALLOCATORS = set(
    "malloc calloc realloc free aligned_alloc posix_memalign memalign reallocarray strdup mmap".split()
)


@source
def test_the_core_neither_prints_nor_exits_nor_allocates_by_itself(objects):
    wrong = []
    for (library, path), symbols in objects.items():
        forbidden = FORBIDDEN_CALLS if path == "csrc/base/memory.c" else FORBIDDEN_CALLS | ALLOCATORS
        calls = {symbol.name.split("@")[0] for symbol in symbols if symbol.kind == "U"}
        wrong += [f"{path} ({library}): {call}" for call in sorted(calls & forbidden)]
    assert not wrong, "\n".join(wrong)


@source
def test_kernels_call_nothing_but_the_core_and_memory_moves(objects):
    """No libm in particular: it differs between machines, and one lane at a time."""
    allowed = {
        "memcpy",
        "memset",
        "memmove",
        "memcmp",
        "__popcountdi2",
        "_GLOBAL_OFFSET_TABLE_",
        "__assert_fail",
        "__stack_chk_fail",
    }
    wrong = []
    for (library, path), symbols in objects.items():
        if library == "mpm_core" and path != "csrc/materials/laws.c":
            continue
        calls = {
            symbol.name for symbol in symbols if symbol.kind == "U" and not symbol.name.startswith("mpm_")
        }
        wrong += [f"{path} ({library}): {call}" for call in sorted(calls - allowed)]
    assert not wrong, "\n".join(wrong)


# --- Python, text, versions -----------------------------------------------------------------------------------------


def public_members(cls: type) -> list[tuple[str, object]]:
    """Methods and properties that a class has of the package's, without underscore."""
    found = []
    own = [base for base in reversed(cls.__mro__) if base.__module__.partition(".")[0] == "mpm"]
    for name, member in {name: member for base in own for name, member in vars(base).items()}.items():
        if not name.startswith("_") and (
            callable(member) or isinstance(member, (property, staticmethod, classmethod))
        ):
            found.append((name, member))
    return found


def public_names() -> list[tuple[str, object]]:
    found: dict[int, tuple[str, object]] = {}
    modules = [("mpm", mpm)]
    for prefix, module in modules:
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.ismodule(thing):
                if thing.__name__.startswith("mpm."):
                    modules.append((f"{prefix}.{name}", thing))
            elif callable(thing):
                found.setdefault(id(thing), (f"{prefix}.{name}", thing))
    return list(found.values())


def test_every_public_name_is_documented():
    silent = []
    for name, thing in public_names():
        documented = (inspect.getdoc(thing) or "").strip()
        # A dataclass without a docstring gets its signature as one.
        if not documented or documented.startswith(f"{getattr(thing, '__name__', '')}("):
            silent.append(name)
        if inspect.isclass(thing) and thing.__module__.startswith("mpm"):
            silent += [
                f"{name}.{m}"
                for m, member in public_members(thing)
                if not (inspect.getdoc(member) or "").strip()
            ]
    assert not silent


def test_all_names_exist():
    assert len(set(mpm.__all__)) == len(mpm.__all__)
    for name in mpm.__all__:
        getattr(mpm, name)


def tracked_files() -> list[Path]:
    """What belongs to the project: git knows; a release has no git, and nothing else in it."""
    git = shutil.which("git")
    if git and (ROOT / ".git").exists():
        command = [
            git,
            "-c",
            "safe.directory=*",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]
        output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        return [ROOT / name for name in output.split("\0") if name and (ROOT / name).is_file()]
    suffixes = {".py", ".c", ".h", ".md", ".toml", ".cff"}
    return [path for path in ROOT.rglob("*") if path.is_file() and path.suffix in suffixes]


# Written with a gap so that this file does not match itself. A file may speak of the project, not of the machine or
# the occasion it was written on, and it refers only to documents that every reader has.
UNWANTED = [
    r"/wo[r]k/(main|wt|shared|\.library)", r"/ho[m]e/\w+/", r"(pyth[o]nhosted|py[p]i)\.org", r"deb\.deb[i]an\.org",
    r"\b(this|last|next|previous|earlier) sess[i]on\b", r"\bco-auth[o]red-by\b", r"\blanguage m[o]del\b",
    r"\bshar[e]d/(design|api|reference|sketches|seeds|cases)",
    r"\b(algor[i]thms|verif[i]cation|toolch[a]in|cas[e]s)\.md\b",
    r"\((algor[i]thms|verif[i]cation) \d", r"\b(algor[i]thms|verif[i]cation) \d(\.\d)?\b",
    r"\bdo not subm[i]t\b", r"\bFIXM[E]\b", r"<{7} |>{7} ",
]  # fmt: skip


@source
def test_files_speak_of_the_project_only():
    unwanted = re.compile("|".join(UNWANTED), re.IGNORECASE)
    wrong = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture
        wrong += [f"{name_of(path)}: {match[0]!r}" for match in unwanted.finditer(text)]
    assert not wrong, "\n".join(wrong)


@source
def test_scripts_are_executable():
    for path in (ROOT / ".ci").glob("*"):
        assert os.access(path, os.X_OK), name_of(path)


@source
def test_versions_agree():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    citation = re.search(r"^version: \"?([^\"\n]+)\"?$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    changelog = re.search(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert citation and citation[1] == version
    assert changelog and changelog[1] == version
    assert mpm.__version__ == version


def test_import_takes_no_optional_package_along():
    code = (
        "import sys, mpm; extras = {'matplotlib', 'tqdm', 'PIL', 'imageio_ffmpeg', 'trimesh', 'h5py', 'scipy'};"
        "print(*(extras & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not result.stdout.strip()
