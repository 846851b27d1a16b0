"""The core of a process that has some of the particles: what concerns all of them, all processes call together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mpm.base import interrupts
from mpm.materials.laws import Material

if TYPE_CHECKING:
    from mpm.solver.team import Team

TOGETHER = {
    "add_field": "adding the field",
    "add_particles": "adding particles",
    "delete_particles": "deleting particles",
    "field": "a look at",
    "grid": "a look at the grid",
    "holder": "the process of a row",
    "snapshot": "a snapshot",
    "snapshot_rows": "the rows of a snapshot",
    "stable_dt": "the bound of the time step",
    "totals": "the totals",
}
"""The methods of a core in which processes exchange particles, or what they find in them, and what to call them."""


SHARE = 10  # arguments of `add_particles` that adds other particles in every process


def refuse_material(material: Material) -> None:
    """Raise for a material that has to be written by row, which no process has."""
    if material._varies:
        raise NotImplementedError(
            "distributed = True: a material whose parameters vary does not run with distributed memory yet; leave out "
            "distributed"
        )


class DistributedCore:
    """A core in a team for ever, with the particles of its own tasks alone.

    Its arrays have all particles, as those of one process: the rows of others come when somebody looks. So all
    processes look at the same time, which they compare first, with the arguments: processes that do something else
    raise, and wait for nobody.

    Parameters
    ----------
    core : mpm._core.Simulation
        Without particles yet.
    team : Team
    """

    __slots__ = ("_core", "_team")

    def __init__(self, core: Any, team: Team) -> None:
        core.join_team(team, team.processes, team.process, True)
        object.__setattr__(self, "_core", core)
        object.__setattr__(self, "_team", team)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._core, name)
        return self._together(TOGETHER[name], found) if name in TOGETHER else found

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._core, name, value)

    def _together(self, what: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            def both() -> Any:
                name = " ".join([what, *(one for one in arguments[:1] if isinstance(one, str))])
                self._team.meet(name, _digest(_common(arguments)))
                return call(*arguments)

            return interrupts.undisturbed(both)

        return called


def _common(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """What of the arguments is the same in all processes: not the particles that each adds between `before` and `after`
    of others."""
    if len(arguments) < SHARE:
        return arguments
    x, *_, material, left, before, after = arguments
    return material, left, before + len(x) + after


def _digest(arguments: tuple[Any, ...]) -> str:
    """A hash of numbers, texts and arrays."""
    digest = hashlib.sha256()
    for one in arguments:
        array = isinstance(one, np.ndarray)
        digest.update(np.ascontiguousarray(one).data.cast("B") if array and one.size else repr(one).encode())
    return digest.hexdigest()
