"""The exceptions of the package; argument errors are plain `ValueError` and `TypeError`."""

from __future__ import annotations

from mpm._core import BusyError, ConvergenceError, EscapeError, InstabilityError, SimulationError

__all__ = [
    "BusyError",
    "ConvergenceError",
    "EscapeError",
    "FileFormatError",
    "InstabilityError",
    "SimulationError",
    "StepLimitError",
]


class FileFormatError(ValueError):
    """A file is not what its name or its header says; the message names the file and the defect."""


class StepLimitError(SimulationError):
    """A run needs more steps than `max_steps`; the simulation is at the last of them, whole."""
