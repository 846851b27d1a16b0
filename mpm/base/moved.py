"""Modules by the names that they once had: pickles name the modules of their classes.

`MOVED` has the present name of each. ``import mpm.metals`` then gives `mpm.materials.metals`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

ROOMS = {
    "base": "_check fieldtable interrupts setting",
    "materials": "admission inelastic known laws metals rigid rubber snow soils userlaws varying",
    "mpm": "bodies citations equilibrium grid interpolation numerics simulation snapshot",
    "scene": "bodysettings colliders settings walls",
    "solver": "checkup core derived keeping particles populated progress run runlog source stepping totals",
    "study": "comparison conservation",
    "commands": "cli demo",
    "handles": "io.export io.replay",
}
MOVED = {
    f"mpm.{name}": f"mpm.{room}.{name.rpartition('.')[2]}"
    for room, names in ROOMS.items()
    for name in names.split()
}


class _Present(Loader):
    """Puts the module of the present name into the place of one that is imported by an old name."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(MOVED[module.__name__])


class _Finder(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(name, _Present()) if name in MOVED else None


def install() -> None:
    """Lets ``import`` find the modules of `MOVED`, before an old file that an installation may have left. A second call
    changes nothing."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
