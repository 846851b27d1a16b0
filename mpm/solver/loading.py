"""What loads and held regions do in the steps of a simulation: forces and holds by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.scene.loads import Force, Hold, Load, inside
from mpm.scene.scene import Scene
from mpm.solver.core import Core
from mpm.solver.particles import Particles

__all__ = ["Attached", "Loading", "attach_all", "checked"]

Array = npt.NDArray[Any]
Attached = dict[str, Array]
"""What a load acts on, found when the simulation is made: arrays by name. Checkpoints have them."""


class Loaded(Protocol):
    """A solver that has loads, a `mpm.solver.solver.SolverBase`."""

    _attached: tuple[Attached, ...]
    _rows_are: ClassVar[str]

    @property
    def _core(self) -> Core:
        """What takes its steps."""

    @property
    def scene(self) -> Scene:
        """With the loads."""

    @property
    def dimension(self) -> int:
        """d, 2 or 3."""

    @property
    def particles(self) -> Particles:
        """The rows."""

    def _rows(self) -> tuple[int, int]:
        """What changes when rows come or go."""

    def _bodies(self) -> dict[str, tuple[int, int]]:
        """The first id of each body, and how many it has."""

    def _admit_load(self, load: Load) -> None:
        """Raise for a load that its body cannot have."""


def attach_all(solver: Loaded) -> tuple[Attached, ...]:
    """What each load of the scene acts on."""
    return tuple(attach(solver, load) for load in solver.scene.loads)


def attach(solver: Loaded, load: Load) -> Attached:
    """What a load acts on in a simulation that begins.

    Raises
    ------
    TypeError, ValueError
        It acts on nothing there, or its body cannot have it.
    """
    solver._admit_load(load)
    if isinstance(load, Force):
        return {}
    ids = solver.particles._copy("id")
    rows = rows_of(solver, load.body, ids)
    x = np.asarray(solver.particles._copy("x"), dtype=np.float64)[rows]
    held = inside(load.where, x)
    if not held.any():
        raise ValueError(
            f"where of {load.name!r}: none of the {len(x)} {solver._rows_are} of {load.body!r} is in this region"
        )
    return {"ids": np.ascontiguousarray(ids[rows][held])}


def rows_of(solver: Loaded, body: str, ids: Array) -> slice:
    """Of the particles or nodes of a body that are left; `ids` ascend."""
    first, count = solver._bodies().get(body, (0, 0))
    low, high = np.searchsorted(ids, (first, first + count))
    return slice(int(low), int(high))


def rows_with(ids: Array, wanted: Array) -> tuple[Array, Array]:
    """Rows of the wanted ids, and which of those are there; `ids` ascend."""
    at = np.minimum(np.searchsorted(ids, wanted), max(len(ids) - 1, 0))
    there = ids[at] == wanted if len(ids) else np.zeros(wanted.shape, dtype=np.bool_)
    return at, there


class Acting(Protocol):
    """A load on rows."""

    rows: Array
    moves: bool
    """Whether its forces depend on where the rows are."""

    def forces(self, x: FloatArray | None, t: float) -> tuple[FloatArray, FloatArray | None]:
        """Forces (k, d) [N] on its rows, and their couples (k, d, d) [N m], if they have any."""


class ActingForce:
    """A force that rows share by their masses."""

    moves = False

    def __init__(self, load: Force, rows: Array, mass: FloatArray, dimension: int) -> None:
        self._load, self.rows, self._dimension = load, rows, dimension
        total = float(mass.sum())
        self._share = (mass / total if total > 0 else mass)[:, None]

    def forces(self, x: FloatArray | None, t: float) -> tuple[FloatArray, FloatArray | None]:
        force = self._load.at(t)
        if force.shape != (self._dimension,):
            raise ValueError(
                f"force(t) of {self._load.name!r} has shape {force.shape}: must be ({self._dimension},)"
            )
        return self._share * force, None


class Loading:
    """The forces and held regions of a simulation, row by row, as long as no row comes or goes."""

    def __init__(self, solver: Loaded) -> None:
        self._solver = solver
        self._loads: Sequence[Load] = solver.scene.loads
        particles, self._rows = solver.particles, solver._rows()
        self._n, self._dimension = solver._core.particles, solver.dimension
        ids = particles._copy("id")
        mass = np.asarray(particles._copy("mass"), dtype=np.float64)
        self._per_mass = np.where(mass > 0, 1 / np.where(mass > 0, mass, 1), 0)
        acting = {
            number: one
            for number, (load, attached) in enumerate(zip(self._loads, solver._attached, strict=True))
            if (one := self._acting(load, attached, ids, mass)) is not None and len(one.rows)
        }
        self._acting_loads = tuple(acting.values())
        self._find_entries(acting)
        self._find_holds(ids)

    def _acting(self, load: Load, attached: Attached, ids: Array, mass: FloatArray) -> Acting | None:
        if isinstance(load, Force):
            rows = rows_of(self._solver, load.body, ids)
            return ActingForce(load, np.arange(rows.start, rows.stop), mass[rows], self._dimension)
        return None

    def _find_entries(self, acting: dict[int, Acting]) -> None:
        """The order of the entries, by row."""
        rows = [one.rows for one in acting.values()]
        every = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)
        numbers = np.repeat(np.array([*acting], dtype=np.int32), [len(one) for one in rows])
        self._order = np.argsort(every, kind="stable")
        self._entry_rows = every[self._order]
        self._entry_loads = np.ascontiguousarray(numbers[self._order], dtype=np.int32)
        count = np.bincount(self._entry_rows, minlength=self._n)
        self._first = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)

    def _find_holds(self, ids: Array) -> None:
        """The bits of the regions that hold each row."""
        self._holds: Array | None = None
        for number, (load, attached) in enumerate(zip(self._loads, self._solver._attached, strict=True)):
            if not isinstance(load, Hold):
                continue
            if self._holds is None:
                self._holds = np.zeros(self._n, dtype=np.int64)
            at, there = rows_with(ids, attached["ids"])
            self._holds[at[there]] |= np.int64(1) << np.int64(number)

    @property
    def is_current(self) -> bool:
        """Whether the rows are still those that it was made for."""
        return self._rows == self._solver._rows()

    def step(self, end: float) -> None:
        """Take one step, to the time `end` [s] at most."""
        solver, core, t = self._solver, self._solver._core, self._solver._core.time
        b, x, body_force = None, None, solver.scene.body_force
        if body_force is not None or any(one.moves for one in self._acting_loads):
            core.totals()  # what was written through views is taken, or refused
            x = np.array(solver.particles._copy("x"), dtype=np.float64)
            if body_force is not None:
                b = np.array(_check.array("body_force(x, t)", body_force(x, t), x.shape))
        forces, couples = self._entries(x, t)
        if forces is not None:
            b = np.zeros((self._n, self._dimension)) if b is None else b
            for a in range(self._dimension):
                sums = np.bincount(self._entry_rows, weights=forces[:, a], minlength=self._n)
                b[:, a] += sums * self._per_mass
        velocity = None
        if self._holds is not None:
            velocity = np.full((len(self._loads), self._dimension), np.nan)
            for number, load in enumerate(self._loads):
                if isinstance(load, Hold):
                    velocity[number] = load.at(t, self._dimension)
        if not self.is_current:
            raise ValueError("a load has added or deleted particles: its answer is for others")
        first, load_of = (None, None) if forces is None else (self._first, self._entry_loads)
        core.step_loaded(b, first, load_of, forces, couples, self._holds, velocity, end)

    def _entries(self, x: FloatArray | None, t: float) -> tuple[FloatArray | None, FloatArray | None]:
        """Forces and couples of all entries in their order."""
        if not self._acting_loads:
            return None, None
        found = [one.forces(x, t) for one in self._acting_loads]
        forces = np.concatenate([force for force, _ in found])[self._order]
        if all(couple is None for _, couple in found):
            return np.ascontiguousarray(forces), None
        d = self._dimension
        given = [np.zeros((len(force), d, d)) if couple is None else couple for force, couple in found]
        return np.ascontiguousarray(forces), np.ascontiguousarray(np.concatenate(given)[self._order])


# ---- keeping ---------------------------------------------------------------------------------------------------

ARRAYS: dict[type[Any], dict[str, tuple[str, int]]] = {Force: {}, Hold: {"ids": ("int64", 1)}}
"""Type and rank of what is attached to each kind of load; all arrays of a load have as many rows."""


def checked(loads: Sequence[Load], attached: Sequence[Mapping[str, Any]]) -> tuple[Attached, ...]:
    """What a file says loads act on.

    Raises
    ------
    ValueError, KeyError
        It is not what the loads of the scene need.
    """
    if len(loads) != len(attached):
        raise ValueError(f"there are {len(loads)} loads, and {len(attached)} that act on something")
    for load, given in zip(loads, attached, strict=True):
        wanted = ARRAYS[type(load)]
        if given.keys() != wanted.keys():
            raise ValueError(f"the load {load.name!r} has {', '.join(given)}, not {', '.join(wanted)}")
        for name, (kind, rank) in wanted.items():
            array = given[name]
            finite = array.dtype.kind != "f" or bool(np.isfinite(array).all())
            if array.dtype != np.dtype(kind) or array.ndim != rank or not finite:
                raise ValueError(f"{name} of the load {load.name!r} is {array.dtype} {array.shape}")
        if len({len(array) for array in given.values()}) > 1:
            raise ValueError(f"the arrays of the load {load.name!r} do not fit each other")
    return tuple(dict(given) for given in attached)
