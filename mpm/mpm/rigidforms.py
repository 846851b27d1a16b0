"""What of a rigid body never changes, as the core and files keep it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.shapes.distances import Program

__all__ = ["JOINT", "NUMBERS", "Form"]

NUMBERS = 17  # of a point: place, radius, axis, cosine of the half-angle, inverse shape operator

JOINT = 33  # numbers of a joint, see `mpm.joints`


@dataclass(frozen=True, eq=False, slots=True)
class Form:
    """The shape of a body in the domain's frame when it was added, and the points of its surface.

    Points lie in the rest frame, whose origin is the `reference`; their columns are those of ``mpm_rigid_point`` in
    ``csrc/rigid/body.h``.
    """

    nodes: npt.NDArray[np.int64]  # of the shape, and their numbers: see `mpm.shapes.distances`
    numbers: FloatArray
    reference: FloatArray  # (d,) [m]
    points: FloatArray  # (k, NUMBERS)
    mass: float  # [kg]
    own: FloatArray  # (3, 3) inertia less that of the particles as points [kg m²]
    joint: FloatArray = field(default_factory=lambda: np.zeros(JOINT))
    title: str = ""  # of the columns of the joint in the history

    @property
    def program(self) -> Program:
        """The distance of the shape."""
        return Program(self.nodes, self.numbers, 0)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Of `set_form` of the core, after the material."""
        reference = np.zeros(3)
        reference[: len(self.reference)] = self.reference
        return (
            self.nodes,
            self.numbers,
            tuple(reference),
            self.points,
            self.mass,
            tuple(self.own.ravel()),
            tuple(self.joint),
        )
