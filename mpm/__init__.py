"""The Material Point Method: a `Scene` describes the problem, a `Simulation` solves it.

>>> import mpm
>>> scene = mpm.Scene(lower=(0, 0), upper=(1, 1), gravity=(0, -9.81))
>>> jelly = mpm.materials.FixedCorotated(E=1e5, nu=0.3, density=1000)
>>> body = scene.add(mpm.shapes.Ball(center=(0.5, 0.7), radius=0.1), jelly)
>>> sim = mpm.Simulation(scene, dx=1 / 64)
>>> sim.run(0.1)

All units are SI; a 2-D scene is plane strain per metre of depth.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

if importlib.util.find_spec("mpm._core") is None:
    raise ImportError(
        f"the compiled core is not in {__path__[0]}: start Python elsewhere to use an installed mpm, "
        "or build it here with pip install -e ."
    )

from mpm import config, joints, materials, motion, shapes
from mpm.base import advice as _advice
from mpm.base import moved as _moved
from mpm.config import get_num_threads, set_num_threads, show_config
from mpm.errors import (
    BusyError,
    ConvergenceError,
    DeviceError,
    EscapeError,
    FileFormatError,
    InstabilityError,
    SimulationError,
    StepLimitError,
)
from mpm.materials.pore import Pore
from mpm.materials.solute import Solute
from mpm.materials.thermal import Melting, Thermal
from mpm.mpm.simulation import Simulation
from mpm.scene.contacts import Contact
from mpm.scene.scene import Scene
from mpm.scene.walls import Wall

_moved.install()

if TYPE_CHECKING:
    from mpm.handles.export import export
    from mpm.handles.replay import replay
    from mpm.io.checkpoint import load
    from mpm.io.compare import diff
    from mpm.solver.checkup import doctor
    from mpm.study.comparison import compare
    from mpm.study.pieces import fragments
    from mpm.study.strength import factor_of_safety
    from mpm.study.sweeps import sweep
    from mpm.viewer import view
    from mpm.viz.panels import compare_plot

__all__ = [
    "BusyError",
    "Contact",
    "ConvergenceError",
    "DeviceError",
    "EscapeError",
    "FileFormatError",
    "InstabilityError",
    "Melting",
    "Pore",
    "Scene",
    "Simulation",
    "SimulationError",
    "Solute",
    "StepLimitError",
    "Thermal",
    "Wall",
    "compare",
    "compare_plot",
    "diff",
    "doctor",
    "export",
    "factor_of_safety",
    "fem",
    "fragments",
    "gallery",
    "get_include",
    "get_num_threads",
    "integrators",
    "joints",
    "load",
    "materials",
    "motion",
    "plot",
    "point",
    "replay",
    "samples",
    "set_num_threads",
    "shapes",
    "show_config",
    "sph",
    "sweep",
    "testing",
    "view",
    "viz",
]

# Imported when first used: `import mpm` stays fast.
_LAZY = (
    "bench",
    "cli",
    "fem",
    "gallery",
    "integrators",
    "plot",
    "point",
    "samples",
    "sph",
    "testing",
    "viewer",
    "viz",
)
_LAZY_FUNCTIONS = {
    "compare": "mpm.study.comparison",
    "compare_plot": "mpm.viz.panels",
    "diff": "mpm.io.compare",
    "doctor": "mpm.solver.checkup",
    "export": "mpm.handles.export",
    "factor_of_safety": "mpm.study.strength",
    "fragments": "mpm.study.pieces",
    "load": "mpm.io.checkpoint",
    "replay": "mpm.handles.replay",
    "sweep": "mpm.study.sweeps",
    "view": "mpm.viewer",
}


def get_include() -> str:
    """The folder of ``mpm_user_law.h``, for compilers of laws (see `mpm.materials.UserLaw`)."""
    return f"{__path__[0]}/include"


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"mpm.{name}")
    if name in _LAZY_FUNCTIONS:
        return getattr(importlib.import_module(_LAZY_FUNCTIONS[name]), name)
    if name == "__version__":
        return config.version()
    raise AttributeError(f"module 'mpm' has no attribute {name!r}{_elsewhere(name)}")


def _elsewhere(name: str) -> str:
    """The sentence that says where a name is that `mpm` itself lacks, or what was meant, or nothing."""
    for module in (materials, shapes, importlib.import_module("mpm.point")):
        if name in module.__all__:
            return f"; did you mean {module.__name__}.{name}?"
    if not name.startswith("_") and hasattr(Simulation, name):
        return f"; simulations have it: sim.{name}"
    return _advice.nearest(name, [*__all__, *_LAZY])


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__")), "__version__"])
