"""NumPy's ``.npz``: the arrays as they are, in the dimension of the simulation, and time, step and dimension."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np

from mpm.io.state import State


def write(file: BinaryIO, state: State) -> None:
    """Write a state."""
    arrays: dict[str, Any] = dict(state.fields)
    np.savez(file, **arrays, time=state.time, step=state.step, dimension=state.dimension)
