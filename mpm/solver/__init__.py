"""What every method has: a clock, particles, totals, a history, checks, and the way to advance.

The base of methods is `mpm.handles.solver.Solver`; ``mpm.solver.Solver`` is the same class.
"""

from typing import Any

from mpm.base import later


def __getattr__(name: str) -> Any:
    if name == "Solver":
        return later.module("mpm.handles.solver").Solver
    raise AttributeError(f"module 'mpm.solver' has no attribute {name!r}")
