"""Rigid bodies as pictures need them: a shape, and where it has come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.joints import Joint
from mpm.shapes.distances import Program, measure


class Outlined(Protocol):
    """The shape of a body in the frame of the domain when the body was added."""

    @property
    def nodes(self) -> npt.NDArray[np.int64]:
        """Of the shape, and their numbers: see `mpm.shapes.distances`."""

    @property
    def numbers(self) -> FloatArray:
        """See `nodes`."""

    @property
    def reference(self) -> FloatArray:
        """The origin of the rest frame (d,) [m]."""


@dataclass(frozen=True, eq=False, slots=True)
class Solid:
    """A rigid body at a time, in d dimensions.

    Attributes
    ----------
    first, count : int
        The first id of its particles, and how many ids it has.
    shape : Outlined
        The same object as long as the shape is the same.
    lower, upper : ndarray, shape (d,)
        Corners of a box in the rest frame that contains the shape [m].
    spacing : float
        Of the particles [m].
    position : ndarray, shape (d,)
        Of the origin of the rest frame [m]; NaN where the particles are not where the shape is.
    rotation : ndarray, shape (d, d)
        From the rest frame.
    joint : Joint or None
        What holds it to the world.
    """

    first: int
    count: int
    shape: Outlined
    lower: FloatArray
    upper: FloatArray
    spacing: float
    position: FloatArray
    rotation: FloatArray
    joint: Joint | None = None

    @property
    def there(self) -> bool:
        """Whether the shape is where its particles are."""
        return bool(np.isfinite(self.position).all())

    def distance(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Signed distances (m,) [m] and unit normals (m, d) at places (m, d) in the rest frame [m]."""
        return measure(Program(self.shape.nodes, self.shape.numbers, 0), y + self.shape.reference)

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
