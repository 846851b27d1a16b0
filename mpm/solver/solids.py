"""Rigid bodies as pictures need them: a shape, and where it has come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class Solid:
    """A rigid body at a time, in d dimensions.

    Attributes
    ----------
    first, count : int
        The first id of its particles, and how many ids it has.
    shape : object
        What stays the same as long as the shape does.
    distance : callable
        Takes places (m, d) in the rest frame [m]; returns signed distances (m,) and unit normals (m, d).
    lower, upper : ndarray, shape (d,)
        Corners of a box in the rest frame that contains the shape [m].
    spacing : float
        Of the particles [m].
    position : ndarray, shape (d,)
        Of the origin of the rest frame [m].
    rotation : ndarray, shape (d, d)
        From the rest frame.
    """

    first: int
    count: int
    shape: object
    distance: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    lower: FloatArray
    upper: FloatArray
    spacing: float
    position: FloatArray
    rotation: FloatArray

    def rows(self, ids: npt.NDArray[np.integer]) -> slice:
        """Of its particles, whose ids ascend."""
        low, high = np.searchsorted(ids, (self.first, self.first + self.count))
        return slice(int(low), int(high))

    def placed(self, y: FloatArray) -> FloatArray:
        """Places (m, d) of the rest frame, in the domain."""
        return np.asarray(self.position + y @ self.rotation.T)

    def at_rest(self, x: FloatArray) -> FloatArray:
        """Places (m, d) of the domain, in the rest frame."""
        return np.asarray((x - self.position) @ self.rotation)
