"""The exceptions of the package; argument errors are plain `ValueError` and `TypeError`."""

from __future__ import annotations

from mpm._core import (
    BusyError,
    ConvergenceError,
    DeviceError,
    EscapeError,
    InstabilityError,
    SimulationError,
)

__all__ = [
    "BusyError",
    "ConvergenceError",
    "DeviceError",
    "EscapeError",
    "FileFormatError",
    "InstabilityError",
    "SimulationError",
    "StepLimitError",
]


class FileFormatError(ValueError):
    """A file does not match its name or its header; the message names the file and the defect."""


class StepLimitError(SimulationError):
    """A run needs more steps than `max_steps`; the simulation is valid, at the last of these steps."""
