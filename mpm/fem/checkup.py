"""What `mpm.doctor` looks at in simulations by finite elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.solver.checkup import Finding, Looks

CRUSHED = 0.2  # J of an element: its law is far from what it was made for
VOLUME = 0.05  # error of the volume of a mesh, and so of the mass of its body


class ElementLooks(Looks):
    """The nodes of a body are its corners."""

    things = "elements"

    def positions(self) -> npt.NDArray[Any]:
        """At rest."""
        return np.asarray(self.sim._rest, dtype=np.float64)

    def parameters(self) -> Any:
        """The elements have them."""
        return self.sim.elements

    def width(self) -> Iterator[Finding]:
        """And the volume of the mesh against that of the shape."""
        yield from super().width()
        scene = self.sim.scene
        bodies = {body.name: body for body in scene.bodies}
        for part in self.sim._parts:
            body = bodies[part.name]
            whole = body.volume(scene.lower, scene.upper)
            if whole is None:
                continue
            J = 1.0 if body.F is None else float(np.linalg.det(np.asarray(body.F)))
            error = part.volume * J / whole.value - 1
            if abs(error) > VOLUME + whole.error:
                words = f"the mesh of {part.name!r} has {1 + error:.3g} times the volume of its shape, and so the mass"
                yield Finding("volume", False, f"{words}: choose a smaller spacing, or a mesh of your own")

    def inside(self) -> Iterator[Finding]:
        """Compression of the elements."""
        J = self.sim.elements["J"]
        good = bool(J.min() >= CRUSHED)
        words = f"{len(J)}, of {J.min():.3g} to {J.max():.3g} of their volume at rest"
        more = "" if good else ": some are crushed or inverted; choose a smaller dt or a finer mesh there"
        yield Finding("elements", good, words + more)
