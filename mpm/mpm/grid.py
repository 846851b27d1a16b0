"""The background grid as it was in the last step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mpm import _core

FloatArray = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False, slots=True)
class Grid:
    """Copies for the m active nodes of the last step; empty before the first and after particles were added.

    Attributes
    ----------
    x : ndarray, shape (m, d)
        Position [m].
    mass : ndarray, shape (m,)
        Mass [kg].
    v : ndarray, shape (m, d)
        Velocity after forces and contact [m/s].
    """

    x: FloatArray
    mass: FloatArray
    v: FloatArray

    def __len__(self) -> int:
        return len(self.mass)

    def __repr__(self) -> str:
        return f"<Grid: {len(self)} active nodes>"


def read(core: _core.Simulation, dimension: int) -> Grid:
    """The grid of the core's last step."""
    x, mass, v = core.grid()
    nodes = len(x) // (8 * dimension)
    dtype: type[np.floating[Any]] = np.float32 if nodes and len(mass) == 4 * nodes else np.float64
    return Grid(
        np.frombuffer(x, dtype=np.float64).reshape(nodes, dimension).copy(),
        np.frombuffer(mass, dtype=dtype).copy(),
        np.frombuffer(v, dtype=dtype).reshape(nodes, dimension).copy(),
    )
