"""What every solver computes: a scene and a core, their state, quantities of it, colliders.

`mpm.handles.solver.Solver` adds what a user holds: pictures, recordings, files, copies.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check, advice, config
from mpm.base._check import FloatArray
from mpm.base.fieldtable import KNOWN
from mpm.errors import BusyError
from mpm.materials.laws import Material
from mpm.scene.colliders import (
    Collider,
    Collides,
    Placed,
    Prepared,
    distance_of,
    place,
    prepare,
    warn_of_late,
    warn_of_thin_or_missing,
)
from mpm.scene.contacts import column_of, why_no_column
from mpm.scene.loads import mechanical, of_digest
from mpm.scene.scene import Scene
from mpm.scene.waves import collider_speeds, refuse_other_waves
from mpm.solver import derived, totals
from mpm.solver.keeping import SOLVERS, Format, T
from mpm.solver.particles import Copies, Particles
from mpm.solver.reports import tabulated
from mpm.solver.run import Run
from mpm.solver.solids import Solid

if TYPE_CHECKING:
    from mpm.scene.changes import Change
    from mpm.scene.loads import Load, Traction
    from mpm.scene.scene import Body
    from mpm.scene.settings import Setting
    from mpm.solver.core import Core
    from mpm.solver.loading import Attached
    from mpm.solver.state import State
    from mpm.solver.team import Team

__all__ = ["SolverBase"]

LABELS = ("id", "material")  # fields that have no values between particles


class SolverBase(Run, Collides):
    """A scene and a core that advances it. A method is a subclass of `mpm.handles.solver.Solver`, which says what it
    supplies.

    Parameters
    ----------
    core : Core
    scene : Scene
        The solver copies it: later changes of the scene have no effect.
    colliders : sequence of Placed
        The colliders of the scene, placed in the core.
    threads : int, optional
        Default `mpm.get_num_threads`, but at most one per 4,096 particles.
    """

    __slots__ = ("_attached", "_colliders")

    _kind: ClassVar[str]
    _has_grid: ClassVar[bool] = False
    _rows_are: ClassVar[str] = "particles"
    _resolution: ClassVar[str] = ""
    """The attribute that is its resolution [m]; without one, it takes no colliders between steps."""
    _looks: ClassVar[type[Any] | None] = None
    _rubs: ClassVar[bool] = True
    """Whether its walls and colliders may have friction."""
    _takes_loads: ClassVar[bool] = False
    """Whether it has loads and held regions."""
    _takes_comm: ClassVar[bool] = False
    """Whether several MPI processes may run it together."""
    _instead: ClassVar[Mapping[str, str]] = advice.OF_SOLVERS
    """What to do instead of methods and quantities that other solvers have, by their names."""

    def __init_subclass__(cls, kind: str | None = None, abstract: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        if kind is None:
            if not abstract and not hasattr(cls, "_kind"):
                raise TypeError(f"class {cls.__name__} needs kind=, its name in files")
            return
        other = SOLVERS.get(kind, cls)
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):  # not made again
            raise ValueError(f"kind = {kind!r}: already that of {other.__qualname__}; must be unique")
        cls._kind = kind
        SOLVERS[kind] = cls

    def __init__(
        self, core: Core, scene: Scene, *, colliders: Sequence[Placed] = (), threads: int | None = None
    ) -> None:
        super().__init__(core, scene, threads=threads)
        if scene.loads and not self._takes_loads:
            raise ValueError(
                f"scene has the load {scene.loads[0].name!r}: {self._no_loads()}; mpm.Simulation and "
                "mpm.fem.Simulation have loads and held regions"
            )
        self._colliders = list(colliders)
        self._attached: tuple[Attached, ...] = ()

    def _unknown(self, name: str) -> str:
        hint = ""
        if name in derived.NAMES:
            hint = f"; compute({name!r}) gives it" if name in self.quantities else self._missing(name)
        elif name in KNOWN or name in advice.FIELDS:
            hint = f"; did you mean particles.{advice.FIELDS.get(name, name)}?"
        elif name in type(self)._instead:
            return f"{_check.qualified(type(self))} has no {name!r}: {type(self)._instead[name]}"
        elif name in totals.UNITS:
            hint = f"; totals().{name} is its present value, and history[{name!r}] the recorded ones"
        else:
            return super()._unknown(name)
        return f"{type(self).__name__} has no attribute {name!r}{hint}"

    def _join(self, team: Team | None, distributed: bool = False) -> None:
        """Run with the other processes of a team from now on; `distributed`: without particles, and then with some of
        them alone."""
        if team is None or team.processes == 1:
            return
        if not self._takes_comm:
            raise NotImplementedError(
                f"comm: a {_check.qualified(type(self))} does not run in several MPI processes yet"
            )
        for material in self.materials:
            self._refuse_with_team(material)
        self._team = team
        if distributed:
            from mpm.solver.distributed import DistributedCore

            self._distributed = True
            self._core = cast("Core", DistributedCore(self._core, team))
        if self._threads is None and self._most_threads == config.available_processors():
            self._most_threads = team.threads

    def _refuse_with_team(self, material: Material) -> None:
        """Raise for a material that processes cannot compute together."""

    # ---- what a subclass supplies ------------------------------------------------------------------------

    def _snapshot(self) -> Any:
        """The complete state, except for the threads, after reading in views."""
        raise NotImplementedError

    def _with_snapshot(self, use: Callable[[Any], T], /) -> T:
        """What `use` returns for a snapshot that holds for this call alone: its arrays may come in pieces."""
        return use(self._snapshot())

    @classmethod
    def _of(cls, kept: Any, threads: int | None, /) -> Self:
        """Make a solver from a snapshot; a ValueError if the parts of the snapshot do not fit each other."""
        raise NotImplementedError

    @classmethod
    def _shared(cls, kept: Any, threads: int | None, team: Team, /) -> Self:
        """The same, with memory distributed over the processes of a team."""
        raise NotImplementedError(
            f"distributed = True: a {_check.qualified(cls)} does not run in several MPI processes yet"
        )

    @property
    def _device(self) -> str:
        """Where steps run."""
        return "cpu"

    @classmethod
    def _moved(cls, kept: Any, device: str, /) -> Any:
        """The snapshot of a solver that runs on another device."""
        raise NotImplementedError(
            f"device = {_check.shown(device)}: a {_check.qualified(cls)} runs on 'cpu' alone"
        )

    @staticmethod
    def _format() -> Format:
        """The format of its snapshots."""
        raise NotImplementedError

    @property
    def materials(self) -> tuple[Material, ...]:
        """The materials; ``particles.material`` indexes them."""
        return ()

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities of `compute`."""
        fields = self.particles.fields
        if not self.materials:
            return derived.computable(fields)
        return tuple(name for name in derived.of_fields(fields) if name != "law_density")

    @property
    def _units(self) -> dict[str, str]:
        """Units of all fields and quantities, in 3-D."""
        return {name: unit for name, (_, unit) in derived.NAMES.items()} | self.particles.units

    def _quantity(self, name: str, particles: derived.Fields) -> FloatArray:
        """Compute one of `quantities` for these particles."""
        return derived.compute(name, particles, self.materials)

    def _options(self) -> dict[str, Any]:
        """The numerics to store in a recording, including the resolution ``dx`` [m]."""
        raise NotImplementedError

    def _settings(self) -> tuple[Setting, ...]:
        """The settings with which it can be made anew."""
        return ()

    def _rebuilt(self, changes: Mapping[str, Any]) -> Self:
        """A new solver of the same scene, with some settings changed."""
        raise NotImplementedError(f"a {type(self).__name__} cannot be made anew")

    def _nodes(self) -> tuple[npt.NDArray[np.floating[Any]], npt.NDArray[np.floating[Any]]]:
        """Positions and velocities (m, d) of the nodes of its grid, if it has one."""
        raise NotImplementedError

    def _lines(self) -> Iterator[str]:
        """The lines of `repr` below the first."""
        yield from _check.ends(self._colliders, "colliders", lambda placed: repr(placed.collider))
        yield from _check.ends(self._scene.loads, "loads", repr)

    def _stepping(self, dt: float) -> str:
        """A time step in words; 0: automatic."""
        now = f" (now {self.dt:.3g} s)" if self.steps else ""
        return f"dt {dt:g} s" if dt else f"dt auto{now}"

    def _machine(self, dtype: str, memory: Mapping[str, int]) -> str:
        """A line of `repr`: precision, threads, kernels or device, and the memory [bytes] of its parts on the host."""
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        kernels, where = (config.isa(), "") if self._device == "cpu" else (self._device, " on the host")
        return f"machine {dtype}, {threads}, {kernels}, {sum(memory.values()) / 1e6:.3g} MB{where}"

    def _admit(self, scene: Scene) -> None:
        """Raise for colliders of a scene that it cannot have between steps."""
        if not self._resolution:
            raise TypeError(
                f"a {type(self).__name__} takes no colliders between steps: scene.add_collider(shape) before it is made"
            )

    def _meet(self, trial: Placed) -> None:
        """Warn about, or refuse, a collider where material is already. It is not in the core yet."""
        x = np.asarray(self.particles._copy("x"), dtype=np.float64)
        warn_of_late(trial, x, getattr(self, self._resolution), self._rows_are)

    def _no_loads(self) -> str:
        """Why it takes no loads."""
        return f"a {_check.qualified(type(self))} takes no loads"

    def _admit_load(self, load: Load) -> None:
        """Raise for a load that its body cannot have."""

    def _attach_traction(self, load: Traction) -> Attached:
        """The surface that a traction acts on."""
        raise NotImplementedError

    def _periods(self) -> FloatArray:
        """The periods (d,) of positions [m]; 0 where there is none."""
        walls, length = self._scene.walls, self._scene.upper - self._scene.lower
        periodic = [walls[f"{axis}-"].contact == "periodic" for axis in "xyz"[: self.dimension]]
        return np.where(periodic, length, 0.0)

    def _forcing(self) -> Callable[[], tuple[Any, ...]]:
        from mpm.solver.loading import Loading

        return Loading(self).forcing

    def _place(self, prepared: Prepared, scene: Scene) -> Placed:
        """Hand the last collider of the scene to the core; after an error it is not there."""
        return place(cast(_core.Core, self._core), [prepared], first=len(self._colliders))[0]

    def _kinds(self) -> tuple[str, ...]:
        """What the materials are; recordings have the same from their reprs."""
        return tuple(repr(material).partition("(")[0] for material in self.materials)

    def _bodies(self) -> dict[str, tuple[int, int]]:
        """The first id of the particles of each body, and how many ids it has, by its name; may be empty."""
        return {}

    def _missing(self, name: str) -> str:
        """An addition to the error for a known field or quantity that this solver lacks; may be empty."""
        if name == "heat":
            return "; heat is that of laws with a temperature, and this simulation has none"
        if name == "plastic_volume_strain":
            return "; it is that of soils and snow, and this simulation has none"
        return f"; {self._instead[name]}" if name in self._instead else ""

    def _cells(self) -> npt.NDArray[Any] | None:
        """The rows of the corners (m, d + 1) of the triangles or tetrahedra of the bodies; None: there are particles
        only. Triangles fill 2-D pictures, files have the cells."""
        return None

    def _solids(self) -> Sequence[Solid]:
        """The rigid bodies whose shapes are where their particles are."""
        return [one for one in self._shaped() if one.there]

    def _shaped(self) -> Sequence[Solid]:
        """All rigid bodies with particles."""
        return ()

    # ---- what it says ----------------------------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """d, 2 or 3."""
        return self._scene.dimension

    @property
    def scene(self) -> Scene:
        """The original scene, as it was then, with the colliders of `add_collider`. It accepts no additions."""
        return self._scene

    @property
    def particles(self) -> Particles:
        """The particles as live arrays."""
        return Particles(self._core)

    @property
    def history(self) -> totals.History:
        """Quantities recorded at the start, when the first step is taken, and after every `history`-th step."""
        return totals.History(self._core)

    @property
    def health(self) -> dict[str, int]:
        """Counters of events of particles and steps.

        A `Simulation` counts ``left_domain``: particles that left (with ``"raise"``: that a step moved out);
        ``clamped`` and ``deleted``: their fates by `on_leave`; ``deleted`` also counts `Particles.delete`;
        ``clipped``: particles of snow or sand whose Jp a step held within its limits, counted at every step;
        ``refused``: steps repeated with a smaller automatic dt; ``binnings``: sortings of the particles;
        ``stagnated``: implicit steps whose residual rounding kept above the tolerance.
        `mpm.fem.Simulation` counts ``refused`` and ``products``: those of K with a vector in its implicit solves.
        """
        return dict(self._core.health())

    def totals(self) -> totals.Totals:
        """Present mass, momentum, centre of mass, angular momentum and energies; in 2-D per metre of depth."""
        return totals.read(self._core)

    @_check.options
    def settings_table(self, format: str = "markdown") -> str:
        """Materials, bodies, gravity, domain, walls and numerics as a table, for reports and papers.

        Parameters
        ----------
        format : {"markdown", "latex"}
            A table of Markdown, or a ``tabular`` of LaTeX with the package `booktabs`.

        Returns
        -------
        str
            Columns: what it belongs to, name, value, unit. Numbers have six digits; options that choose nothing, which
            are off, have a dash.
        """
        kind = _check.choice("format", format, ("markdown", "latex"))
        rows = [(one.group, one.name, one.value, one.unit) for one in self._settings()]
        named = {name for _, name, *_ in rows}
        rows += [
            ("Numerics", name, value, "") for name, value in self._options().items() if name not in named
        ]
        return tabulated(rows, kind)

    @_check.options
    def force(self, name: str, *, window: float | None = None) -> FloatArray:
        """The mean force of a collider, a load, a held region, the walls or a body over the last records.

        Explicit steps make contact forces fluctuate from step to step, so that a window of some hundred steps tells
        more than the last one. ``history["force:NAME"]`` has all of them.

        Parameters
        ----------
        name : str
            Of a collider, a load or a held region, or ``"walls"``: their force on the material. ``"A|B"``: the force of
            body A on body B, with what is bonded to either of them, where a scene lets bodies touch (`mpm.Contact`).
            ``"joint:BODY"``: the force of its joint on a rigid body.
            Every pair has a column in scenes of up to 8 such bodies; in others, those of `Scene.set_contact`.
        window : float, optional
            The mean is over the last records that cover so much time [s], > 0; the whole run, if that is shorter.
            Default: the time since the record before the last one.

        Returns
        -------
        ndarray, shape (d,)
            [N], in 2-D per metre of depth: what the material pushes with is its negative.

        Raises
        ------
        ValueError
            There is nothing of that name; or no step has been recorded.
        """
        names = (
            *(placed.collider.name for placed in self._colliders),
            *(load.name for load in mechanical(self._scene.loads)),
        )
        pair, sign = self._pair(name) if name not in names else ("", 0)
        pairs = tuple(
            column.removeprefix("impulse:") for column in self.history if column.startswith("impulse:")
        )
        known = (*names, *(one for one in pairs if one not in names), "walls")
        why = "" if pair in known or not self._scene._touches else self._why_no_force(name)
        chosen = _check.choice("name", pair or name, known, why=why)
        span = None if window is None else _check.number("window", window, low=0, low_open=True, unit="s")
        history = self.history
        time = history["time"]
        if len(time) < 2:
            raise ValueError(f"name = {chosen!r}: has no force yet; the history must have recorded a step")
        impulse = history["wall_impulse" if chosen == "walls" else f"impulse:{chosen}"] * (sign or 1)
        first = len(time) - 2
        if span is not None:
            first = max(0, min(first, int(np.searchsorted(time, time[-1] - span * (1 - 1e-9), "right")) - 1))
        return np.asarray(impulse[first + 1 :].sum(axis=0) / (time[-1] - time[first]))

    def _why_no_force(self, name: object) -> str:
        rigid = [body.name for body in self._scene.bodies if body.material._row["rigid"]]
        late = [part.name for part in getattr(self, "_parts", ())]
        return why_no_column(name, self._scene._layers(), rigid, late)

    def _pair(self, name: object) -> tuple[str, int]:
        """The pair of bodies ``A|B`` as the history names it, and the sign of its impulses there."""
        if not (isinstance(name, str) and self._scene._touches):
            return "", 0
        return column_of(name, self._scene._layers())

    @_check.options
    def compute(self, name: str) -> FloatArray:
        """Compute a quantity of the particles.

        Parameters
        ----------
        name : str
            One of `quantities`: ``"speed"``, ``"pressure"``, ``"von_mises"``, ``"stress"``, ``"kinetic_energy"``,
            ``"elastic_energy"``, ``"density"``, ``"heat"``, ``"plastic_volume_strain"``, ``"displacement"``; with
            `mpm.Simulation` also ``"law_density"``.
            Pressure is −tr σ/3 with σ_zz of plane strain in 2-D. Stresses come from the law, without the viscous
            part. The kinetic energy is m v²/2, without the affine part that `totals` includes. The heat [J] is
            V ρc (T − T_initial) with the rest volume V, and 0 for particles of laws without a temperature; a
            simulation needs a law that has one (`mpm.materials.JohnsonCook`). Its sum is
            `mpm.solver.totals.Totals.heat`. The plastic volume strain is ln Jp of soils and snow, gaps between grains
            included, and 0 for laws that flow at constant volume. The displacement [m] is that since `keep_start`, with
            periodic walls the shortest.

            The density is m/(V J), with J from F and the thermal stretch. A `Fluid` keeps J alone, which does not know
            where the particles are: with `mpm.Simulation`, the density of a fluid is the one that the grid sees,
            m/V Σ w g, where g is how full a node is with rest volumes, or 1 at a free surface (see
            `density_correction` there). ``"law_density"``
            is m/(V J) of fluids, too, from which their pressure follows.

        Returns
        -------
        ndarray, shape (n,), for the stress (n, d, d), for the displacement (n, d)
            A new float64 array.
        """
        why = self._missing(name) if isinstance(name, str) else ""
        chosen = _check.choice("name", name, self.quantities, why=why)
        return self._quantity(chosen, Copies(self.particles))

    @_check.options
    def interpolate(self, name: str, points: npt.ArrayLike) -> FloatArray:
        """A field or a quantity at any points.

        A solver interpolates as its method does:

        - `mpm.Simulation` as nodes of the grid get values, Σ w m A / Σ w m over the particles, with the weights w of
          the kernel around the point. Mirror and periodic walls continue the particles. NaN where no particle is near.
        - `mpm.sph.Simulation` by A(x) = Σ (m/ρ) A W, with the images at walls. At a free surface the sum decreases over
          2h, because neighbours are missing; ``interpolate("density", points)`` tells where.
        - `mpm.fem.Simulation` by Σ w A over the nodes of the element at the point, with its barycentric coordinates w.
          NaN where no element is.

        Parameters
        ----------
        name : str
            A name of ``particles.fields`` or of `quantities`, but for ``"id"`` and ``"material"``: they have no values
            between particles.
        points : array_like, shape (m, d)
            Positions [m].

        Returns
        -------
        ndarray, shape (m, …)
            As many components as the field or quantity has; float64.
        """
        between = [n for n in (*self.particles.fields, *self.quantities) if n not in LABELS]
        if isinstance(name, str) and name in LABELS:
            raise ValueError(
                f"name = {name!r}: it labels particles and has no values between them; must be one of "
                f"{', '.join(dict.fromkeys(between))}"
            )
        vector = advice.component(name, self.particles.fields) if isinstance(name, str) else ""
        chosen = _check.choice("name", name, tuple(dict.fromkeys(between)), advice.FIELDS, vector)
        x = _check.array("points", points, (None, self.dimension))
        self._core.totals()  # what was written through views is taken, or refused
        copies = Copies(self.particles)
        values = copies[chosen] if chosen in copies.fields else self._quantity(chosen, copies)
        ranks = {row["name"]: row["rank"] for row in self._core.fields()}
        rank = ranks.get(chosen, ("scalar", "vector", "tensor")[values.ndim - 1])
        found = self._interpolated(x, _columns(values), chosen, rank)
        return found.reshape(len(x), *values.shape[1:])

    def _interpolated(self, points: FloatArray, values: FloatArray, name: str, rank: str) -> FloatArray:
        """The values (n, k) of a field or quantity of that rank at points (m, d): (m, k)."""
        raise NotImplementedError(f"a {type(self).__name__} cannot interpolate")

    def _taken_names(self) -> set[str]:
        if self._recordings:
            raise ValueError(
                "a recording is open: it states the colliders at its beginning; close it, add the collider, and record "
                "into another file"
            )
        return {placed.collider.name for placed in self._colliders} | {
            load.name for load in self._scene.loads
        }

    def _add_collider(self, collider: Collider) -> None:
        scene = self._scene._with_collider(collider)
        self._admit(scene)
        resolution = self._resolution
        size = float(getattr(self, resolution))
        speeds = collider_speeds(scene, collider)
        prepared = replace(prepare(collider, scene.lower, scene.upper, size), speeds=speeds)
        self._core.totals()  # what was written through views is taken, or refused, before anything changes
        trial = place(_core.Colliders(self.dimension), [prepared])[0].at(self.time)
        warn_of_thin_or_missing(trial, scene.lower, scene.upper, size, resolution)
        self._meet(trial)
        placed = self._place(prepared, scene)
        self._colliders.append(placed)
        self._scene = scene

    @_check.options
    def collider_distance(self, name: str, x: npt.ArrayLike) -> FloatArray:
        """Signed distance to a collider in its present place.

        Parameters
        ----------
        name : str
            Name of the collider.
        x : array_like, shape (m, d)
            Positions [m].

        Returns
        -------
        ndarray, shape (m,)
            Distances [m], negative inside. Sign and zero set are exact; away from the surface of combined or
            unevenly scaled shapes the size is a lower bound. Meshes are sampled within 4 dx of the domain; beyond,
            the values at the edge continue.
        """
        return distance_of(self._posed(), name, x, self.dimension)

    def _digest(self, options: Mapping[str, Any], *parts: str) -> hashlib._Hash:
        """The beginning of a hash of the state: the numerics, the domain with gravity and walls, more parts, and the
        colliders. It leaves out how often the history is recorded."""
        scene, digest = self._scene, hashlib.sha256()
        chosen = {name: options[name] for name in sorted(options.keys() - {"history"})}
        domain = (scene.lower.tolist(), scene.upper.tolist(), scene.gravity.tolist(), scene.walls)
        for text in (repr(chosen), repr(domain), *parts):
            digest.update(text.encode())
        for placed in self._colliders:
            digest.update(placed.digest)
        for load, attached in zip(scene.loads, self._attached, strict=True):
            digest.update(repr(of_digest(load)).encode())
            for name in sorted(attached):
                digest.update(attached[name].tobytes())
        return digest

    # ---- changes of what is simulated --------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, float | tuple[float, ...]]:
        """What `set` can change, with its present value: ``"gravity"``, ``"slope.cohesion"``, …"""
        from mpm.solver import altering

        known = altering.parameters(self) if hasattr(self._core, "set_gravity") else {}
        return {name: one.value for name, one in known.items()}

    @property
    def changes(self) -> tuple[Change, ...]:
        """What `set` has changed so far: (step, time [s], name, value) each. Checkpoints and copies keep them.

        >>> for step, _, name, value in sim.changes:  # doctest: +SKIP
        ...     other.step(step - other.steps)
        ...     other.set(name, value)
        """
        return self._scene._changes.since(0)

    @_check.options
    def set(self, name: str, value: float | npt.ArrayLike) -> None:
        """Change a parameter between two steps; the state stays as it is, and the next step takes the new value.

        `changes` notes it with the step and the time. A run of whole steps with the same changes at the same steps has
        the same bits. An automatic dt follows; a fixed dt above the new bound raises in the next step. Energies jump
        where a modulus or gravity does.

        Parameters
        ----------
        name : str
            One of `parameters`:

            - ``"gravity"`` (d,) [m/s²], or a component, ``"gravity.y"``; a gravity that is a function acts besides;
            - a parameter of a body's material, ``"slope.cohesion"``, ``"left, right.E"`` of bodies that have one
              material, or ``"body.E"`` for every body; the ``permeability`` of its `mpm.Pore` [m²]. Later fillings of
              emitters of that material have it too. Not the density, nor what varies over the body or is in the state
              of its particles;
            - the friction of a wall or collider that may have it, ``"y-.friction"``, ``"walls.friction"``,
              ``"plow.friction"``;
            - what a wall holds the face at, if it does so from the start: ``"x-.head"`` [m], a ``pore_pressure`` [Pa],
              ``temperature`` [K] or ``concentration`` [mol/m³];
            - the friction and the adhesion [Pa] of two bodies that touch by `mpm.Contact`, ``"a|b.friction"``, or of
              all pairs without a contact of their own, ``"contact.adhesion"``;
            - the speed of a collider that is at rest, or moves at constant speeds: ``"plow.velocity"`` (d,) [m/s]; of
              one whose motion has a rotation also ``"drum.angular_velocity"`` [rad/s]. Its motion becomes
              `mpm.motion.Velocities`, and both speeds hold from then on: later changes that its motion had are dropped.
        value : float or array_like
            In the range of the argument that it replaces.

        Raises
        ------
        TypeError, ValueError
            There is no such parameter, the value is not allowed, bodies that are not meant have the same material, or
            a recording is open, which states how colliders move. Nothing has changed.
        BusyError
            Another thread is running this simulation.
        """
        from mpm.solver import altering

        altering.set_value(self, name, value)

    def _material_of_bodies(self) -> dict[str, int]:
        """The index of the material of each body that has particles."""
        return {}

    def _material(self, index: int) -> Material:
        """A material as bodies have it."""
        return self.materials[index]

    def _is_material(self, index: int, material: Material) -> bool:
        """Whether a new body of a material gets this index."""
        return self._material(index) == material

    def _admit_material(self, material: Material) -> None:
        """Raise for parameters that it cannot have."""
        refuse_other_waves(self._scene, material)

    def _admit_gravity(self, scene: Scene) -> None:
        """Raise for a gravity that walls of the scene cannot have."""

    def _of_core(self, material: Material) -> Material:
        """A material as the core gets it."""
        return material

    def _take_material(self, index: int, material: Material, bodies: Mapping[str, Body]) -> None:
        """The core has other parameters of a material, and so have bodies of the scene."""
        raise NotImplementedError

    def _posed(self) -> list[Placed]:
        """The colliders as they are now."""
        now = self.time
        return [placed.at(now) for placed in self._colliders]

    def _state(self, names: Sequence[str]) -> State:
        """Copies of the positions and of the named fields and quantities."""
        from mpm.solver.state import State

        copies, there = Copies(self.particles), self.particles.fields
        fields = {n: copies[n] if n in there else self._quantity(n, copies) for n in ("x", *names)}
        out_of_plane: dict[str, Any] = {}
        if self.dimension == 2:
            out_of_plane["F"] = 1.0
            if "stress" in fields:
                out_of_plane["stress"] = derived.cauchy(copies, self.materials).zz
        return State(self.time, self.steps, self.dimension, fields, out_of_plane)

    def __repr__(self) -> str:
        try:
            return self._summary()
        except BusyError:
            return f"<{type(self).__name__} {self.dimension}-D: running in another thread>"

    def _summary(self) -> str:
        n, now = self._core.particles, f"t = {self.time:g} s after {self.steps} steps"
        first = f"<{type(self).__name__} {self.dimension}-D: {n} {self._rows_are}, {now}"
        return "\n".join([first, *(f"  {line}" for line in self._lines())]) + ">"


def _columns(values: npt.NDArray[Any]) -> FloatArray:
    """Values (n, …) as float64 columns (n, k)."""
    return np.ascontiguousarray(values, dtype=np.float64).reshape(len(values), math.prod(values.shape[1:]))
