"""The pages of the reference: one per public module, and one per class that has many members.

`pages` writes them from what Python finds, so that a new public name has an entry without further work; `missing`
compares them with the inventory of the finished documentation.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import class_pages

import mpm

LONG = 12  # a class with more members has a page of its own
# What public functions return or take, and nobody makes by name.
RESULTS = (
    "mpm.scene.Body", "mpm.scene.colliders.Collider", "mpm.scene.emitters.Emitter", "mpm.solver.particles.Particles",
    "mpm.solver.device_arrays.DeviceArray", "mpm.solver.totals.Totals",
    "mpm.solver.totals.History",
    "mpm.handles.solver.Solver", "mpm.solver.stepping.StableDt", "mpm.mpm.grid.Grid", "mpm.mpm.equilibrium.Equilibrium",
    "mpm.mpm.rigidstate.RigidState",
    "mpm.scene.settings.Setting", "mpm.solver.checkup.Report", "mpm.solver.checkup.Finding",
    "mpm.study.comparison.Comparison", "mpm.study.results.SweepTable",
    "mpm.study.strength.Safety", "mpm.study.strength.Trial",
    "mpm.io.compare.Difference", "mpm.config.Configuration", "mpm.io.trajectory.Recording", "mpm.handles.replay.Replay",
    "mpm.handles.replay.Frame", "mpm.materials.laws.Evaluation", "mpm.viewer.widget.Viewer",
)  # fmt: skip
# Above the entries of a module, or of a class.
TABLES = {
    "mpm.materials": class_pages.laws_table,
    "mpm.shapes": class_pages.shapes_table,
    "mpm.motion": class_pages.motions_table,
    "mpm.Wall": class_pages.walls_table,
    "mpm.Simulation": class_pages.options_table,
}


@dataclass(frozen=True)
class Entry:
    """A public name: where it is found, and what it is."""

    name: str
    thing: Any

    @property
    def short(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def members(self) -> list[str]:
        """Methods and properties of the package's own classes, in the order of the source."""
        if not inspect.isclass(self.thing):
            return []
        found = {}
        for base in reversed(self.thing.__mro__):
            if base.__module__.partition(".")[0] == "mpm":
                found |= vars(base)
        return [
            name
            for name, member in found.items()
            if not name.startswith("_")
            and (inspect.isroutine(member) or isinstance(member, (property, staticmethod, classmethod)))
        ]

    @property
    def directive(self) -> str:
        if not inspect.isclass(self.thing):
            kind = "autofunction" if callable(self.thing) else "autodata"
            return f".. {kind}:: {self.name}\n"
        if issubclass(self.thing, BaseException):
            return f".. autoexception:: {self.name}\n   :show-inheritance:\n"
        members = f"   :members: {', '.join(self.members)}\n" if self.members else ""
        return f".. autoclass:: {self.name}\n   :show-inheritance:\n   :member-order: bysource\n{members}"


def modules() -> list[ModuleType]:
    """`mpm` and the public modules below it; `mpm.viewer` and `mpm.meshes` are reached by functions of `mpm`."""
    found = [mpm]
    for module in found:  # grows meanwhile
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.ismodule(thing) and thing.__name__.startswith("mpm."):
                found.append(thing)
    others = [importlib.import_module(name) for name in ("mpm.meshes", "mpm.viewer")]
    return [mpm, *sorted([*found[1:], *others], key=lambda module: module.__name__)]


def entries(module: ModuleType) -> list[Entry]:
    """The names of a module, without modules and without what `mpm` has already."""
    found = []
    for name in sorted(module.__all__, key=str.lower):
        thing = getattr(module, name)
        if not inspect.ismodule(thing) and (module is mpm or thing is not getattr(mpm, name, None)):
            found.append(Entry(f"{module.__name__}.{name}", thing))
    return found


def results() -> list[Entry]:
    found = []
    for path in RESULTS:
        module, _, name = path.rpartition(".")
        found.append(Entry(path, getattr(importlib.import_module(module), name)))
    return found


def heading(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n\n"


def listing(names: list[str]) -> str:
    return ".. autosummary::\n\n" + "".join(f"   {name}\n" for name in names) + "\n"


def page_of(module: ModuleType) -> Iterator[tuple[str, str]]:
    """The page of a module, and those of its long classes."""
    name, all_of_them = module.__name__, entries(module)
    text = heading(name) + f".. automodule:: {name}\n   :no-members:\n\n.. currentmodule:: {name}\n\n"
    if name in TABLES:
        text += TABLES[name]()
    text += listing([entry.short for entry in all_of_them])
    long = [entry for entry in all_of_them if len(entry.members) > LONG]
    if long:
        text += ".. toctree::\n   :hidden:\n\n" + "".join(f"   {entry.name}\n" for entry in long) + "\n"
    for entry in all_of_them:
        if entry in long:
            own = heading(entry.name) + f".. currentmodule:: {name}\n\n"
            own += (TABLES[entry.name]() if entry.name in TABLES else "") + entry.directive
            yield entry.name, own
        else:
            text += (TABLES[entry.name]() if entry.name in TABLES else "") + entry.directive + "\n"
    yield name, text


def pages() -> dict[str, str]:
    """Name of the page -> its text."""
    found = {}
    for module in modules():
        found |= dict(page_of(module))
    text = heading("What functions return")
    text += "Objects that other objects hold or return; nobody needs to make them by name.\n\n"
    text += listing([f"~{entry.name}" for entry in results()]) + "\n".join(
        entry.directive for entry in results()
    )
    found["results"] = text
    names = "".join(f"   {module.__name__}\n" for module in modules())
    index = heading("Reference")
    index += "Every public name, with units, shapes, errors and sources, from the docstrings.\n\n"
    index += f".. toctree::\n   :maxdepth: 1\n\n{names}   results\n   command-line\n"
    found["index"] = index
    return found


def missing(documented: set[str]) -> list[str]:
    """The public names, and the members of public classes, that are not among those."""
    wanted = []
    for entry in [entry for module in modules() for entry in entries(module)] + results():
        wanted += [entry.name, *(f"{entry.name}.{member}" for member in entry.members)]
    return [name for name in wanted if name not in documented]
