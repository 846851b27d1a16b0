"""The protocol of the object that computes for a `mpm.solver.Solver`: an extension type, or plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from mpm.base.fieldtable import Row


class Field(Protocol):
    """An array of the core: `numpy.asarray` makes a live view of it."""

    def copy(self) -> tuple[bytes, str, tuple[int, ...]]:
        """Bytes, type and shape, as they are now. Unlike a view, a copy is no possible write."""


class Core(Protocol):
    """The state of a solver and its steps. n is the number of particles, d the dimension.

    A core has at least the fields ``x`` and ``v``, (n, d), and ``mass``, ``volume``, ``material`` and ``id``, (n,).
    What it raises ends a run after the last whole step; while it runs in one thread, calls from others raise
    `mpm.BusyError`.
    """

    threads: int
    """Of the next steps."""

    @property
    def time(self) -> float:
        """Now [s]."""

    @property
    def dt(self) -> float:
        """The last time step [s]; 0 before the first."""

    @property
    def steps(self) -> int:
        """Steps taken."""

    @property
    def particles(self) -> int:
        """n."""

    def step(self, n: int, pause: float = ...) -> None:
        """Take n whole steps, or as many as reach the time `pause` [s], without changing any of them."""

    def run(self, end: float, pause: float = ..., steps: int = ...) -> None:
        """Advance to exactly the time `end` [s], or, on the way, to the first step that reaches `pause` [s], by `steps`
        steps at most."""

    def step_forced(self, body_force: Any, end: float, *loads: Any) -> None:
        """One step with the accelerations (n, d), float64 [m/s2], to the time `end` [s] at most: for scenes with a body
        force or loads. `loads` come to solvers that take loads."""

    def hold(self, pieces: Callable[[], object], again: bool = ...) -> None:
        """Call `pieces`, which runs piece by piece; meanwhile calls from other threads raise `mpm.BusyError`. Within
        such a call a further one raises it, too, unless `again`."""

    def fields(self) -> list[Row]:
        """The table of fields, ``x`` first."""

    def field(self, name: str) -> Field:
        """The current buffer of a field; a KeyError if there is none of that name."""

    def delete_particles(self, mask: Any) -> int:
        """Delete the rows where `mask`, uint8 (n,), is not 0; returns how many went."""

    def totals(self) -> dict[str, Any]:
        """The entries of `mpm.solver.totals.Totals` by name: floats, or lists of d floats; ``dissipation`` has the
        last three, or is None."""

    def history_names(self) -> list[tuple[str, int]]:
        """Name and number of columns of all that is recorded of every step: ``time``, ``dt``, those of `totals`, …"""

    def history_array(self, index: int) -> bytes:
        """float64 (records, columns) of an entry of `history_names`."""

    def health(self) -> dict[str, int]:
        """Counters of what was done to particles and steps."""
