"""What loads and held regions do in the steps of a simulation: forces and holds by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.sampling.surfaces import pairs_within, sample_surface
from mpm.scene.loads import Force, HeatSource, Hold, Load, SoluteSource, Source, Traction, inside, mechanical
from mpm.scene.scene import Scene
from mpm.shapes import Shape
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

    def _attach_traction(self, load: Traction) -> Attached:
        """The surface that it acts on."""

    def _periods(self) -> FloatArray:
        """The periods (d,) of positions [m]; 0 where there is none."""


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
    if isinstance(load, Traction):
        return solver._attach_traction(load)
    ids = solver.particles._copy("id")
    rows = rows_of(solver, load.body, ids)
    x = np.asarray(solver.particles._copy("x"), dtype=np.float64)[rows]
    held = inside(load.where, x, load.name)
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


NEIGHBOURS = 2.1  # sizes of a particle: those within move a piece of the surface
FINE = {2: 8, 3: 3}  # lines per particle that look for the surface, by dimension


def attach_patches(
    load: Traction,
    shape: Shape,
    rows: slice,
    x: FloatArray,
    ids: Array,
    size: float,
    lower: FloatArray,
    upper: FloatArray,
) -> Attached:
    """Pieces of the surface of a body of particles, each with the particle that it belongs to.

    Parameters
    ----------
    load : Traction
    shape : Shape
        Of the body.
    rows : slice
        Of its particles, at x (n, d) [m] with `ids` (n,), of all particles.
    size : float
        Of a particle [m].
    lower, upper : ndarray, shape (d,)
        The corners of the domain [m].

    Returns
    -------
    dict of ndarray
        ``ids`` (k,): of the particles; ``area`` (k, d): area times outward normal; ``size`` (k,): area; ``arm`` (k, d):
        from the particle to the piece; ``pairs`` (p, 2): a piece, and the id of a particle that moves it; ``weights``
        (p, d): its part in the deformation, F = Σ (x' − x) weightᵀ.
    """
    d = x.shape[1]
    surface = sample_surface(shape, lower, upper, size, FINE[d])
    chosen = inside(load.where, surface.x, load.name) if len(surface.x) else np.zeros(0, dtype=np.bool_)
    if not chosen.any():
        raise ValueError(f"where of {load.name!r}: no part of the surface of {load.body!r} is in this region")
    place, area = surface.x[chosen], surface.area[chosen]
    own, own_ids = x[rows], ids[rows]
    point, member = pairs_within(place, own, NEIGHBOURS * size)
    distance = np.linalg.norm(own[member] - place[point], axis=1)
    order = np.lexsort((member, distance, point))
    first = order[np.flatnonzero(np.diff(point[order], prepend=-1))]
    if len(first) < len(place):
        lost = len(place) - len(first)
        raise ValueError(
            f"where of {load.name!r}: {lost} of {len(place)} pieces of the surface of {load.body!r} are far from its "
            "particles; choose a finer grid"
        )
    parent, piece = np.unique(member[first], return_inverse=True)  # all pieces of a particle become one
    k, sizes = len(parent), np.linalg.norm(area, axis=1)
    total = np.bincount(piece, weights=sizes, minlength=k)
    sums = [np.bincount(piece, weights=column, minlength=k) for column in area.T]
    middle = [np.bincount(piece, weights=sizes * column, minlength=k) / total for column in place.T]
    owner, near = pairs_within(own[parent], own, NEIGHBOURS * size)
    other = near != parent[owner]
    owner, near = owner[other], near[other]
    apart = own[near] - own[parent[owner]]
    closeness = 1 / (1 + (apart**2).sum(axis=1) / size**2)
    moment = np.zeros((k, d, d))
    np.add.at(moment, owner, closeness[:, None, None] * apart[:, :, None] * apart[:, None, :])
    inverse = np.linalg.pinv(moment, rcond=1e-6, hermitian=True)
    weights = closeness[:, None] * np.einsum("pb,pba->pa", apart, inverse[owner])
    return {
        "ids": np.ascontiguousarray(own_ids[parent]),
        "area": np.ascontiguousarray(np.stack(sums, axis=1)),
        "size": total,
        "arm": np.ascontiguousarray(np.stack(middle, axis=1) - own[parent]),
        "pairs": np.ascontiguousarray(np.stack([owner, own_ids[near]], axis=1).astype(np.int64)),
        "weights": np.ascontiguousarray(weights),
    }


def cofactors(F: FloatArray) -> FloatArray:
    """det F F⁻ᵀ (k, d, d), which maps area vectors."""
    if F.shape[1] == 2:
        return np.stack([F[:, 1, 1], -F[:, 1, 0], -F[:, 0, 1], F[:, 0, 0]], axis=1).reshape(-1, 2, 2)
    return np.stack([np.cross(F[:, :, (a + 1) % 3], F[:, :, (a + 2) % 3]) for a in range(3)], axis=2)


class ActingPatches:
    """A traction on pieces of the surface that belong to particles. Pieces beside particles that are gone are gone."""

    moves = True

    def __init__(self, load: Traction, attached: Attached, ids: Array, periods: FloatArray) -> None:
        self._load, self._periods = load, periods
        parents, there = rows_with(ids, attached["ids"])
        owner = attached["pairs"][:, 0]
        near, nearby = rows_with(ids, attached["pairs"][:, 1])
        there = there.copy()
        there[owner[~nearby]] = False
        number = np.cumsum(there) - 1
        kept = there[owner]
        self.rows = parents[there]
        self._area, self._size, self._arm = (attached[name][there] for name in ("area", "size", "arm"))
        self._norm = np.linalg.norm(self._area, axis=1)
        self._owner, self._near, self._weights = number[owner[kept]], near[kept], attached["weights"][kept]

    def forces(self, x: FloatArray | None, t: float) -> tuple[FloatArray, FloatArray | None]:
        assert x is not None
        k, d = self._area.shape
        apart = x[self._near] - x[self.rows[self._owner]]
        apart -= self._periods * np.round(apart / np.where(self._periods > 0, self._periods, 1))
        F = np.empty((k, d, d))
        for a in range(d):
            for b in range(d):
                F[:, a, b] = np.bincount(self._owner, weights=apart[:, a] * self._weights[:, b], minlength=k)
        arm = np.einsum("kab,kb->ka", F, self._arm)
        area, size = self._area, self._size
        if self._load.follows:
            area = np.einsum("kab,kb->ka", cofactors(F), self._area)
            size = self._size * np.linalg.norm(area, axis=1) / np.where(self._norm > 0, self._norm, 1)
        values = self._load.at(x[self.rows] + arm, t)
        force = -values[:, None] * area if self._load.traction is None else values * size[:, None]
        return force, force[:, :, None] * arm[:, None, :]


# Points of a face, as weights of its corners, that integrate polynomials of degree 2.
POINTS = {
    2: np.array([[0.5 + s, 0.5 - s] for s in (0.5 / 3**0.5, -0.5 / 3**0.5)]),
    3: np.full((3, 3), 1 / 6) + np.eye(3) / 2,
}


def face_areas(corners: FloatArray) -> FloatArray:
    """Outward area vectors (k, d) of faces with corners (k, d, d)."""
    if corners.shape[1] == 2:
        along = corners[:, 1] - corners[:, 0]
        return np.stack([along[:, 1], -along[:, 0]], axis=1)
    return 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])


class ActingFaces:
    """A traction on faces of a mesh."""

    def __init__(self, load: Traction, attached: Attached) -> None:
        self._load, self._faces, self._area = load, attached["faces"], attached["area"]
        self.rows = self._faces.reshape(-1)
        self.moves = load.follows or load.varies

    def forces(self, x: FloatArray | None, t: float) -> tuple[FloatArray, FloatArray | None]:
        k, d = self._faces.shape
        area, weights = self._area, POINTS[d]
        corners = np.zeros((k, d, d)) if x is None else x[self._faces]
        if self._load.follows:
            area = face_areas(corners)
        places = np.einsum("qc,kca->kqa", weights, corners)
        values = self._load.at(places.reshape(-1, d), t).reshape(k, d, -1)
        if self._load.traction is None:
            density = -values * area[:, None, :]
        else:
            density = values * np.linalg.norm(area, axis=1)[:, None, None]
        forces = np.einsum("qc,kqa->kca", weights, density) / d
        return forces.reshape(-1, d), None


class ActingSource:
    """A source of heat or of a solute in rows."""

    def __init__(self, load: Source, attached: Attached, ids: Array) -> None:
        at, there = rows_with(ids, attached["ids"])
        self.load, self.rows = load, at[there]

    def add(self, heat: FloatArray, x: FloatArray | None, t: float) -> None:
        """Add it to the heat (n,) [W/m³] of all rows, which are at x (n, d) [m]."""
        x = np.zeros((len(heat), 1)) if x is None else x  # nobody asks
        heat[self.rows] += self.load.at(x[self.rows], t)


class Loading:
    """The forces and held regions of a simulation, row by row, as long as no row comes or goes."""

    def __init__(self, solver: Loaded) -> None:
        self._solver = solver
        every = solver.scene.loads
        self._loads = mechanical(every)
        self._sources: tuple[ActingSource, ...] = ()
        self._n, self._dimension = solver._core.particles, solver.dimension
        self._acting_loads: tuple[Acting, ...] = ()
        self._holds: Array | None = None  # by row: a bit for each region that holds it
        if every:
            self._find(solver.particles)

    def _find(self, particles: Particles) -> None:
        """Find which rows the loads act on."""
        solver = self._solver
        ids = particles._copy("id")
        mass = np.asarray(particles._copy("mass"), dtype=np.float64)
        self._per_mass = np.where(mass > 0, 1 / np.where(mass > 0, mass, 1), 0)
        acting = {
            number: one
            for number, (load, attached) in enumerate(self._mechanical())
            if (one := self._acting(load, attached, ids, mass)) is not None and len(one.rows)
        }
        self._acting_loads = tuple(acting.values())
        self._find_entries(acting)
        self._find_holds(ids)
        self._sources = tuple(
            ActingSource(load, attached, ids)
            for load, attached in zip(solver.scene.loads, solver._attached, strict=True)
            if isinstance(load, Source)
        )

    def _mechanical(self) -> list[tuple[Load, Attached]]:
        """Loads that exert forces, and what they act on."""
        every = zip(self._solver.scene.loads, self._solver._attached, strict=True)
        return [(load, attached) for load, attached in every if not isinstance(load, Source)]

    def _acting(self, load: Load, attached: Attached, ids: Array, mass: FloatArray) -> Acting | None:
        if isinstance(load, Force):
            rows = rows_of(self._solver, load.body, ids)
            return ActingForce(load, np.arange(rows.start, rows.stop), mass[rows], self._dimension)
        if isinstance(load, Traction):
            return (
                ActingPatches(load, attached, ids, self._solver._periods())
                if "pairs" in attached
                else ActingFaces(load, attached)
            )
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
        for number, (load, attached) in enumerate(self._mechanical()):
            if not isinstance(load, Hold):
                continue
            if self._holds is None:
                self._holds = np.zeros(self._n, dtype=np.int64)
            at, there = rows_with(ids, attached["ids"])
            self._holds[at[there]] |= np.int64(1) << np.int64(number)

    def forcing(self) -> tuple[Array | None, ...]:
        """What the next step is under: the body force, entries, and held regions of `Core.step_forced`."""
        solver, core, t = self._solver, self._solver._core, self._solver._core.time
        b, x, body_force = None, None, solver.scene.body_force
        moves = any(one.moves for one in self._acting_loads) or any(one.load.varies for one in self._sources)
        if body_force is not None or moves:
            core.totals()  # what was written through views is taken, or refused
            x = np.array(solver.particles._copy("x"), dtype=np.float64)
            if body_force is not None:
                b = np.array(_check.array("body_force(x, t)", body_force(x, t), x.shape))
        acting = self.acting(t, b, x)
        if not self._sources:
            return acting
        heat = np.zeros(self._n)
        for one in self._sources:
            one.add(heat, x, t)
        return (*acting, *[None] * (FORCING - len(acting)), heat)

    def acting(
        self, t: float, b: FloatArray | None, x: FloatArray | None, *, share: float | None = None
    ) -> tuple[Array | None, ...]:
        """What a step is under, as of `forcing`, with the accelerations b (n, d) [m/s²], to which those of loads are
        added.

        Parameters
        ----------
        t : float
            The time of the loads [s].
        b, x : ndarray, shape (n, d), or None
            `x` [m] is None where no load needs the places.
        share : float, optional
            Of the loads; regions are held where they are then. Default: a step of the run.
        """
        forces, couples = self._entries(x, t)
        if forces is not None and share is not None:
            forces = share * forces
            couples = None if couples is None else share * couples
        if forces is not None:
            b = np.zeros((self._n, self._dimension)) if b is None else b
            for a in range(self._dimension):
                sums = np.bincount(self._entry_rows, weights=forces[:, a], minlength=self._n)
                b[:, a] += sums * self._per_mass
        if not self._loads:
            return (b,)
        velocity = None
        if self._holds is not None:
            velocity = np.full((len(self._loads), self._dimension), np.nan)
            for number, load in enumerate(self._loads):
                if isinstance(load, Hold):
                    velocity[number] = load.at(t, self._dimension) * (1 if share is None else 0)
        first, load_of = (None, None) if forces is None else (self._first, self._entry_loads)
        return b, first, load_of, forces, couples, self._holds, velocity

    def accelerations(self, x: FloatArray, t: float) -> FloatArray:
        """Of all loads at x (n, d) [m] and a time [s]: (n, d) [m/s²]."""
        forces, _ = self._entries(x, t)
        found = np.zeros((self._n, self._dimension))
        if forces is not None:
            for a in range(self._dimension):
                found[:, a] = (
                    np.bincount(self._entry_rows, weights=forces[:, a], minlength=self._n) * self._per_mass
                )
        return found

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


FORCING = 7  # what `Loading.acting` gives at most

# ---- keeping ---------------------------------------------------------------------------------------------------

ARRAYS: dict[type[Any], list[dict[str, tuple[str, int]]]] = {
    Force: [{}],
    HeatSource: [{"ids": ("int64", 1)}],
    SoluteSource: [{"ids": ("int64", 1)}],
    Hold: [{"ids": ("int64", 1)}],
    Traction: [
        {"faces": ("int64", 2), "area": ("float64", 2)},
        {
            "ids": ("int64", 1),
            "area": ("float64", 2),
            "size": ("float64", 1),
            "arm": ("float64", 2),
            "pairs": ("int64", 2),
            "weights": ("float64", 2),
        },
    ],
}
"""Type and rank of what is attached to each kind of load, by method."""
TOGETHER = (("faces", "area"), ("ids", "area", "size", "arm"), ("pairs", "weights"))
"""Arrays that have as many rows."""


def checked(loads: Sequence[Load], attached: Sequence[Mapping[str, Any]], d: int) -> tuple[Attached, ...]:
    """What a file says loads act on.

    Raises
    ------
    ValueError, KeyError
        It is not what the loads of the scene need.
    """
    if len(loads) != len(attached):
        raise ValueError(f"there are {len(loads)} loads, and {len(attached)} that act on something")
    for load, given in zip(loads, attached, strict=True):
        kinds = ARRAYS[type(load)]
        wanted = next((one for one in kinds if one.keys() == given.keys()), kinds[0])
        if given.keys() != wanted.keys():
            raise ValueError(f"the load {load.name!r} has {', '.join(given)}, not {', '.join(wanted)}")
        for name, (kind, rank) in wanted.items():
            array = given[name]
            finite = array.dtype.kind != "f" or bool(np.isfinite(array).all())
            columns = 2 if name == "pairs" else d
            if (
                array.dtype != np.dtype(kind)
                or array.ndim != rank
                or not finite
                or array.shape[1:] not in ((), (columns,))
            ):
                raise ValueError(f"{name} of the load {load.name!r} is {array.dtype} {array.shape}")
        fits = all(len({len(given[name]) for name in names if name in given}) <= 1 for names in TOGETHER)
        if "pairs" in given:
            owner = given["pairs"][:, 0]
            fits &= not len(owner) or bool(owner.min() >= 0 and owner.max() < len(given["ids"]))
        if not fits:
            raise ValueError(f"the arrays of the load {load.name!r} do not fit each other")
    return tuple(dict(given) for given in attached)
