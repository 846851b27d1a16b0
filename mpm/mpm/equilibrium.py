"""Static equilibrium: the state of rest under a load, from which a run starts.

The load grows in increments. Each increment takes a pseudo-step of backward Euler from rest,

    M v/s = f(x + s v) + λ b,        x ← x + s v,  v ← 0

whose mass regularises the static problem where the material is soft or nothing holds it. M v/s is then the force that
is still out of balance. Pseudo-steps under the whole load follow until that force is small. The pseudo-step s belongs
to the slowest motion that the load excites: its frequency ω is the Rayleigh quotient of v, and ω s = 4 leaves a
seventeenth of the force.

The particles move in a core of their own, so that the simulation has either the new state or the old one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from mpm._core import ConvergenceError, EscapeError, InstabilityError
from mpm._core import Simulation as Core
from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.base.fieldtable import DISSIPATIONS
from mpm.base.streamed import whole
from mpm.materials.laws import Material
from mpm.mpm import numerics
from mpm.mpm.snapshot import Snapshot, fill
from mpm.scene.colliders import place
from mpm.scene.loads import mechanical
from mpm.scene.waves import refuse_absorbing
from mpm.solver.derived import Fields
from mpm.solver.keeping import held
from mpm.solver.loading import Loading
from mpm.solver.particles import Copies
from mpm.solver.solver import SolverBase

__all__ = ["Equilibrium", "bring_to_rest", "find"]

OMEGA_S = 4.0  # (ω s)² = 16; at 100, the searches of Newton's method fail in beams that bend far
FIRST_FALL = 0.1  # cells that a free particle falls in the first pseudo-step
FARTHEST = 0.8  # cells that a particle may move in a pseudo-step; the core refuses one cell
FASTER = 4.0  # the largest change of s between two pseudo-steps
SHORTER = 2.0  # a pseudo-step that is not solved is repeated with s over this
SHORTEST = 1e-6  # of the first pseudo-step
MOST_STEPS = 300
MOST_FAILURES = 100  # of solves; searches that come to an end have few
MAX_INCREMENTS = 10_000
SOLVED = 0.25  # of the tolerance: what a solve may leave
ROUNDING = 1e-11  # of the elastic energy: smaller changes are not seen
LONGEST = 1e30  # s; every pseudo-step ends before
SOONEST = 1e-30  # s; every relaxation ends before

Load = Callable[[FloatArray], FloatArray]


class Equilibrium(NamedTuple):
    """How `Simulation.equilibrate` came to rest."""

    residual: float
    """The force that is out of balance over the load, both in the norm √(Σ f²/m) over the nodes."""
    steps: int
    """Pseudo-steps."""
    products: int
    """Products of the stiffness with a vector, the unit of work of implicit steps."""


def bring_to_rest(sim: SolverBase, dtype: str, increments: int, tolerance: float) -> Equilibrium:
    """`mpm.Simulation.equilibrate`, which says what it does and raises; `sim` has a `Snapshot`."""
    count = _check.integer("increments", increments, low=1, high=MAX_INCREMENTS)
    goal = _check.number("tolerance", tolerance, low=1e-8, high=0.1)
    if dtype != "float64":
        raise ValueError(
            "dtype = 'float32': rounding is a large part of the load; equilibrate needs 'float64'"
        )
    if sim.scene._touches:
        raise ValueError(
            "scene: has contact between bodies, which equilibrate does not know; let the bodies come to rest in a "
            "run, or give them the F of their weight"
        )
    for material in sim.materials:
        if material.thermal is not None and material.thermal.expansion:
            raise ValueError(
                f"material = {material!r} expands with its temperature, which equilibrate does not know; let the "
                "bodies come to rest in a run"
            )
        if material.solute is not None and material.solute._swells:
            raise ValueError(
                f"material = {material!r} swells with its concentration, which equilibrate does not know; let the "
                "bodies come to rest in a run"
            )
        if material.pore is not None:
            raise ValueError(
                f"material = {material!r} has pore water, which equilibrate does not know; begin with lithostatic, or "
                "let the bodies come to rest in a run"
            )
        if material._row["tangent"] is None:
            raise ValueError(
                f"material = {material!r} has no tangent, which equilibrate needs: bring it to rest in a run"
            )
    return held(sim._core, lambda: _found(sim, count, goal))


def _found(sim: SolverBase, increments: int, tolerance: float) -> Equilibrium:
    """Find the equilibrium of a simulation whose core is held, and write it."""
    now, force, particles = sim.time, sim.scene.body_force, sim.particles

    def load(x: FloatArray) -> FloatArray:
        b = np.tile(sim.scene.gravity, (len(x), 1))
        return b if force is None else b + _check.array("body_force(x, t)", force(x, now), x.shape)

    found, fields = find(
        sim._snapshot(),
        Copies(particles),
        load,
        time=now,
        threads=sim.threads,
        increments=increments,
        tolerance=tolerance,
        loading=Loading(cast(Any, sim)) if mechanical(sim.scene.loads) else None,
    )
    _write(sim, {**fields, **{name: np.zeros_like(particles._copy(name)) for name in ("v", "C")}})
    return found


def _write(sim: SolverBase, fields: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write fields, each to the rows whose state it is; all or nothing."""
    particles, material = sim.particles, sim.particles._copy("material")
    before = {name: particles._copy(name) for name in fields}
    try:
        for name, values in fields.items():
            rows = np.isin(material, [k for k, one in enumerate(sim.materials) if one._keeps(name)])
            if rows.any():
                particles[name][rows] = values[rows]
        sim._core.totals()  # takes what was written
    except BaseException:
        for name, values in before.items():
            if particles[name].flags.writeable:
                particles[name][...] = values
        raise


def find(
    kept: Snapshot,
    particles: Fields,
    load: Load,
    *,
    time: float,
    threads: int,
    increments: int,
    tolerance: float,
    loading: Loading | None = None,
) -> tuple[Equilibrium, dict[str, FloatArray]]:
    """Find the equilibrium that a snapshot comes to under a load.

    Parameters
    ----------
    kept : Snapshot
        Of a simulation in double precision.
    particles : Fields
        Its fields by row.
    load : callable
        The acceleration (n, d) [m/s²] of the particles at x (n, d) [m].
    time : float
        When colliders are where they are held [s], and of the loads.
    loading : Loading, optional
        The loads and held regions of the scene.

    Returns
    -------
    Equilibrium
    dict
        The fields by row that are others there.

    Raises
    ------
    ConvergenceError
        There is none, or pseudo-steps do not lead to it.
    ValueError
        Nothing loads the particles or nothing holds them, a collider deforms, or a law has no tangent.
    """
    search = _Search(kept, particles, load, time, threads, tolerance, loading)
    for k in range(1, increments + 1):
        search.step(k / increments)
    while search.residual > tolerance:
        search.step(1.0)
    return Equilibrium(search.residual, search.core.steps - search.begin, search.products), search.fields()


class _Search:
    """Particles on their way to rest, in a core of their own."""

    def __init__(
        self,
        kept: Snapshot,
        particles: Fields,
        load: Load,
        time: float,
        threads: int,
        tolerance: float,
        loading: Loading | None,
    ) -> None:
        x, self.mass = particles["x"], particles["mass"][:, None]
        self.load, self.time, self.tolerance, self.loading = load, time, tolerance, loading
        self.works = [f"work:{one.name}" for one in mechanical(kept.scene.loads)]
        b = load(x)
        if loading is not None:
            b = b + loading.accelerations(x, time)
        self.norm = float(np.sqrt((self.mass * b**2).sum()))
        if not self.norm > 0:
            raise ValueError(
                "nothing loads the bodies: the scene has neither gravity nor a body force, nor a load that acts now"
            )
        self.dx = kept.numerics.dx
        self.core = self._core(kept, threads)
        self.begin = self.core.steps
        self.elastic = self.core.totals()["elastic"]
        self.pseudo_step = float(np.sqrt(FIRST_FALL * kept.numerics.dx / np.abs(b).max()))
        self.shortest = SHORTEST * self.pseudo_step
        self.failures = 0
        self.residual = 1.0  # the force out of balance over the load
        self.share = 0.0  # of the load
        self.flows = any(material._row["tangent"] == "mapped" for material in kept.materials)

    def _core(self, kept: Snapshot, threads: int) -> Core:
        """The same particles at rest in a core whose steps are pseudo-steps."""
        if kept.numerics.f_bar:
            raise ValueError("f_bar = True: the pseudo-steps are implicit, and these have no F-bar")
        refuse_absorbing(kept.scene, "dashpots bear no load at rest, which equilibrate looks for")
        for prepared in kept.colliders:
            if prepared.collider.shape._only_collides:
                raise ValueError(f"collider {prepared.collider.name!r} deforms: no rest beside it")
        chosen = replace(
            kept.numerics,
            transfer="pic",
            advect="pic",
            f_update="linear",
            c_damping=0.0,
            artificial_viscosity=(0.0, 0.0),
            dissipation=False,
            damping=0.0,
            local_damping=0.0,
            density_correction=0.0,
            integrator="implicit-euler",
            beta=1.0,
            tolerance=max(SOLVED * self.tolerance, 1e-10),
            max_iterations=int(numerics.CORE.number("max_iterations").most),
            preconditioner="mass",
            projection="semidefinite",
            dt=LONGEST,
            max_dt=np.inf,
            allow_unstable=True,
            on_leave="raise",
            history=1,
            threads=threads,
        )
        for material in kept.materials:
            numerics.refuse_material(chosen, material)
        core = numerics.new_core(kept.scene, chosen, gravity=np.zeros(kept.scene.dimension), load=self.norm)
        for one in mechanical(kept.scene.loads):
            core.add_load(one.name)
        place(core, kept.colliders, held=self.time)
        arrays = {name: array for name, array in kept.arrays.items() if name not in DISSIPATIONS}
        for name in ("v", "C", "books", *(("loads",) if "loads" in arrays else ())):
            arrays[name] = np.zeros_like(whole(arrays[name]))
        arrays["history"] = np.zeros((0, sum(width for _, width in core.history_names())))
        fill(
            core,
            replace(kept, numerics=chosen, materials=tuple(map(_inviscid, kept.materials)), arrays=arrays),
        )
        return core

    def step(self, share: float) -> None:
        """Take a pseudo-step under a share of the load, shorter where it cannot be solved."""
        if self.core.steps - self.begin == MOST_STEPS:
            raise self._failed(f"after {MOST_STEPS} pseudo-steps")
        x, v = np.asarray(self.core.field("x")), np.asarray(self.core.field("v"))
        b = np.ascontiguousarray(share * self.load(np.array(x)))
        acting: Sequence[Any] = (b,)
        if self.loading is not None:
            acting = self.loading.acting(self.time, b.copy(), np.array(x), share=share)
        while True:
            try:
                self.core.step_forced(acting[0], self.core.time + self.pseudo_step, *acting[1:])
                break
            except (ConvergenceError, InstabilityError) as error:
                self.pseudo_step /= SHORTER
                self.failures += 1
                if self.pseudo_step < self.shortest or self.failures > MOST_FAILURES:
                    raise self._failed("because pseudo-steps cannot be solved") from error
            except EscapeError as error:
                raise self._failed("because particles leave the domain", error.rows) from error
        s, before = self.core.dt, self.residual * (self.share > 0) + share - self.share
        self.share = share
        _, node_mass, node_v = (np.frombuffer(given) for given in self.core.grid())
        twice_kinetic = float((node_mass[:, None] * node_v.reshape(len(node_mass), -1) ** 2).sum())
        self.residual = float(np.sqrt(twice_kinetic) / (s * self.norm)) + self._last("residual")
        work = s * float((self.mass * v * b).sum()) + sum(self._last(name) for name in self.works)
        self._adapt(s, work, twice_kinetic, s * float(np.abs(v).max()), before / self.residual)
        v[...] = 0

    def _adapt(self, s: float, work: float, twice_kinetic: float, moved: float, reduced: float) -> None:
        """Choose the next pseudo-step after one of size s, in which the load did `work` [J].

        The potential fell by half of v·(R + M v/s) s, where R is the force out of balance before the pseudo-step, and
        R s = (1 + (ω s)²) M v. Where flow dissipates, the factor by which the pseudo-step reduced R is 1 + (ω s)².
        """
        elastic = self._last("elastic")
        fell = work - (elastic - self.elastic)
        self.elastic = elastic
        change = FASTER
        if self.flows:
            change = OMEGA_S / np.sqrt(max(reduced - 1, 1e-9))
        elif fell > ROUNDING * abs(elastic) and twice_kinetic > 0:
            change = OMEGA_S / np.sqrt(max(2 * fell / twice_kinetic - 2, 1e-9))
        if moved > 0:  # at most as s²
            change = min(change, np.sqrt(FARTHEST * self.dx / moved))
        self.pseudo_step = s * float(np.clip(change, 1 / FASTER, FASTER))

    def _last(self, name: str) -> float:
        """The last entry of a column of the core's history."""
        index = [column for column, _ in self.core.history_names()].index(name)
        return float(np.frombuffer(self.core.history_array(index))[-1])

    @property
    def products(self) -> int:
        """Of all pseudo-steps."""
        index = [column for column, _ in self.core.history_names()].index("products")
        return int(np.frombuffer(self.core.history_array(index)).sum())

    def fields(self) -> dict[str, FloatArray]:
        """The fields that pseudo-steps change, by row."""
        rows = self.core.fields()
        names = [row["name"] for row in rows if row["owner"] == "law" or row["name"] in ("x", "F", "J")]
        return {name: np.array(self.core.field(name)) for name in names}

    def _failed(self, why: str, rows: Sequence[int] = ()) -> ConvergenceError:
        error = ConvergenceError(
            f"no equilibrium {why}: the force out of balance is {self.residual:.2g} of the load, tolerance = "
            f"{self.tolerance:g}; does anything hold the bodies, and are there enough increments?"
        )
        error.residuals, error.rows = [self.residual], list(rows)
        error.step, error.time = self.begin, self.time
        return error


def _inviscid(material: Material) -> Material:
    """A material without stress that depends on a rate, which does not hold at rest: all that relaxes has relaxed."""
    rates: dict[str, Any] = {"viscosity": 0.0, "consistency": 0.0, "tau_1": SOONEST, "tau_2": SOONEST}
    if material.law == "johnson_cook":
        rates = {"C": 0.0}
    if material.law == "mu_i":
        rates = {"mu_2": cast(Any, material).mu_1}
    names = [parameter["name"] for parameter in material._row["parameters"]]
    changes = {name: value for name, value in rates.items() if name in names}
    return replace(cast(Any, material), **changes) if changes else material
