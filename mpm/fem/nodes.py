"""The nodes of a mesh, as live arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from mpm.shapes import Shape
from mpm.solver.particles import Particles


class Nodes(Particles):
    """The nodes as live NumPy arrays; see `mpm.solver.particles.Particles`.

    Attributes
    ----------
    x, v : ndarray, shape (n, d)
        Position [m] and velocity [m/s].
    mass : ndarray, shape (n,)
        Lumped mass [kg]: of every element an equal share for each of its nodes. Writable: added masses.
    volume : ndarray, shape (n,), read-only
        The same of the rest volume [m³].
    material : ndarray of int32, shape (n,), read-only
        Index of the material in `Simulation.materials`.
    id : ndarray, shape (n,), read-only
        The row.
    """

    __slots__ = ()
    _quantities = (*Particles._quantities, "displacement")

    def _near(self, name: str, names: Sequence[str]) -> str:
        if name in ("F", "J"):
            return f"; elements have it, sim.elements.{name}; sim.compute({name!r}) is its mean at the nodes"
        if name == "displacement":
            return f"; sim.compute({name!r}) computes it"
        return super()._near(name, names)

    def delete(self, rows_or_mask: npt.ArrayLike | slice | Shape) -> int:
        """Refuse: elements keep their nodes.

        Parameters
        ----------
        rows_or_mask : array_like, slice or one of `mpm.shapes`
            Not used.

        Raises
        ------
        TypeError
            Always.
        """
        raise TypeError("sim.particles are the nodes of elements: they cannot be deleted")
