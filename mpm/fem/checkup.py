"""What `mpm.doctor` looks at in simulations by finite elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.solver.checkup import Finding, Looks

CRUSHED = 0.2  # J of an element: its law is far from what it was made for


class ElementLooks(Looks):
    """The nodes of a body are its corners."""

    things = "elements"

    def positions(self) -> npt.NDArray[Any]:
        """At rest."""
        return np.asarray(self.sim._rest, dtype=np.float64)

    def parameters(self) -> Any:
        """The elements have them."""
        return self.sim.elements

    def inside(self) -> Iterator[Finding]:
        """Compression of the elements."""
        J = self.sim.elements["J"]
        good = bool(J.min() >= CRUSHED)
        words = f"{len(J)}, of {J.min():.3g} to {J.max():.3g} of their volume at rest"
        more = "" if good else ": some are crushed or inverted; choose a smaller dt or a finer mesh there"
        yield Finding("elements", good, words + more)
