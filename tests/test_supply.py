"""What is downloaded has versions and hashes in requirements/, and a wheel that is installed says what it holds."""

import hashlib
import importlib
import importlib.metadata
import json
import os
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

import mpm

ROOT = Path(__file__).resolve().parents[1]
LISTS = sorted((ROOT / "requirements").glob("*.txt"))


def listed(path: Path) -> dict[str, list[tuple[str, str, int]]]:
    """Name -> (version, marker, number of hashes) of each entry."""
    entries: dict[str, list[tuple[str, str, int]]] = {}
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for entry in text.replace("\\\n", " ").splitlines():
        head, *hashes = entry.split("--hash=")
        match = re.fullmatch(r"([a-z0-9-]+)==(\S+)(?: ; (.+))?", head.strip())
        assert match, f"{path.name}: {head}"
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", word.strip()) for word in hashes)
        entries.setdefault(match[1], []).append((match[2], match[3] or "", len(hashes)))
    return entries


@pytest.mark.source
@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_everything_has_a_version_and_hashes(path):
    entries = listed(path)
    assert entries and all(hashes > 0 for some in entries.values() for *_, hashes in some)
    assert "://" not in path.read_text(encoding="utf-8")


@pytest.mark.source
def test_the_lists_agree_with_what_the_project_asks_for():
    """Every requirement is in its list, for each Python; one version of a package serves all lists."""
    markers = pytest.importorskip("packaging.markers")
    requirements = pytest.importorskip("packaging.requirements")
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)
    extras = project["project"]["optional-dependencies"]
    asked = {**project["dependency-groups"], "run": project["project"]["dependencies"]}
    asked["pip"] = ["pip", *project["build-system"]["requires"]]
    asked["demo"] = [*extras["io"], *extras["movie"], *extras["plot"], *asked["run"]]
    asked["test"] = [*asked["test"], *extras["mesh"], *asked["demo"]]
    lists = {path.stem: listed(path) for path in LISTS}
    assert {*asked} - {*lists} == {"dev", "lock"}
    versions: dict[tuple[str, str], set[str]] = {}
    for name, entries in lists.items():
        for python in ("3.11", "3.12", "3.13"):
            here = {
                **markers.default_environment(),
                "python_version": python,
                "python_full_version": f"{python}.5",
            }
            chosen = {}
            for package, some in entries.items():
                fitting = [
                    version
                    for version, marker, _ in some
                    if not marker or markers.Marker(marker).evaluate(here)
                ]
                assert len(fitting) <= 1, package
                for version in fitting:
                    chosen[package] = version
                    versions.setdefault((package, python), set()).add(version)
            for text in asked[name]:
                requirement = requirements.Requirement(text)
                if requirement.name != "mpm":
                    assert requirement.specifier.contains(chosen[requirement.name.lower()]), (name, text)
    assert not {package: some for package, some in versions.items() if len(some) > 1}


@pytest.fixture
def installed() -> importlib.metadata.Distribution:
    """The wheel that is installed and tested."""
    if "MPM_TESTED" not in os.environ:
        pytest.skip("an editable installation has no extension beside it")
    found = importlib.metadata.distribution("mpm")
    if Path(str(found.locate_file("mpm/__init__.py"))).resolve() != Path(mpm.__file__).resolve():
        pytest.skip("mpm was built, not installed")
    return found


def test_an_installed_wheel_has_its_bill_of_materials(installed):
    text = installed.read_text("sboms/mpm.cdx.json")
    assert text, "no .dist-info/sboms/mpm.cdx.json"
    bill = json.loads(text)
    extension = next(part for part in bill["components"] if part["type"] == "file")
    digest = hashlib.sha256(
        Path(mpm.__file__).with_name(Path(extension["name"]).name).read_bytes()
    ).hexdigest()
    assert bill["metadata"]["component"]["version"] == mpm.__version__
    assert extension["hashes"][0]["content"] == digest


def below(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".so", ".pyc"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_an_installed_wheel_has_every_file_of_the_package(installed):
    """With its bytes; and the text of the GPU's kernels with all that they include by name."""
    package, prefix = below(Path(mpm.__file__).parent), "include/csrc/"
    copied = {name.removeprefix(prefix): text for name, text in package.items() if name.startswith(prefix)}
    own = {name: text for name, text in package.items() if not name.startswith(prefix)}
    assert own == below(ROOT / "mpm")
    assert copied == {name: (ROOT / "csrc" / name).read_bytes() for name in copied}
    assert {"mpm/gpu/sweep.cu", "materials/each_law.h"} < copied.keys()
    beside = {name.removeprefix("include/") for name in package}
    for name, text in copied.items():
        included = set(re.findall(rb'^\s*#\s*include\s*"([^"]+)"', text, re.MULTILINE))
        assert not {one.decode() for one in included} - copied.keys() - beside, name


def test_every_module_of_an_installed_wheel_can_be_imported(installed):
    modules = [module.name for module in pkgutil.walk_packages(mpm.__path__, "mpm.")]
    assert len(modules) > 200
    for name in modules:
        if name != "mpm.__main__":  # which ends the process
            importlib.import_module(name)
