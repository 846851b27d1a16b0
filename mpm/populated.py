"""Solvers whose bodies are particles, which come and go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mpm import _check
from mpm.solver import Solver

__all__ = ["Part", "Populated", "rows_of"]


class Part(Protocol):
    """What is kept of a body: the ids of its particles are consecutive."""

    @property
    def name(self) -> str:
        """Of the body."""

    @property
    def first_id(self) -> int:
        """Of its particles."""

    @property
    def particles(self) -> int:
        """Their number at first."""


class Populated(Solver, abstract=True):
    """Base of solvers whose bodies are particles: the rows of a body, and bodies that are added between steps."""

    __slots__ = ("_parts",)

    _parts: list[Any]
    """A `Part` of each body, in the order in which they were added."""

    def rows(self, body: str) -> slice:
        """The rows of a body's particles in the arrays of `particles`.

        Parameters
        ----------
        body : str
            Name of the body.

        Returns
        -------
        slice
            Consecutive rows without deleted particles; valid until particles are deleted.
            ``sim.particles.v[sim.rows("ball")]`` is a view.

        Raises
        ------
        TypeError, ValueError
            This simulation has no body of that name.
        """
        parts = {part.name: part for part in self._parts}
        return rows_of(parts[_check.choice("body", body, tuple(parts))], self.particles._copy("id"))

    def _lefts(self) -> list[int]:
        """How many particles are left of each body."""
        if self._core.particles == sum(part.particles for part in self._parts):
            return [part.particles for part in self._parts]
        ids = self.particles._copy("id")
        return [(rows := rows_of(part, ids)).stop - rows.start for part in self._parts]

    @contextmanager
    def _adding(self) -> Iterator[None]:
        """Within it a body is added; or, after any error, none is there."""
        self._core.totals()  # what was written through views is taken, or refused, before anything changes
        parts, particles = len(self._parts), self._core.particles
        try:
            yield
        except BaseException:
            del self._parts[parts:]
            if self._core.particles > particles:  # an interrupt after they were added
                self.particles.delete(np.arange(self._core.particles) >= particles)
            raise


def rows_of(part: Part, ids: npt.NDArray[Any]) -> slice:
    """Of a body's particles; `ids` ascend, whatever was deleted."""
    low, high = np.searchsorted(ids, (part.first_id, part.first_id + part.particles))
    return slice(int(low), int(high))
