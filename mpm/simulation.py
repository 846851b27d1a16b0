"""The numerics and the run: `Simulation` wraps the C core's."""

from __future__ import annotations

import copy
import hashlib
import math
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mpm import _check, _core, citations, config, derived, grid, measures, numerics, sampling, totals, walls
from mpm import scene as _scene
from mpm._check import FloatArray
from mpm.colliders import (
    Placed,
    Posed,
    distance_of,
    prepare,
    warn_of_particles_inside,
    warn_of_thin_or_missing,
)
from mpm.materials import Material
from mpm.particles import Copies, Particles
from mpm.progress import bar as progress_bar
from mpm.shapes import Shape
from mpm.snapshot import Part, Snapshot, arrays_of, restore

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mpm.io.trajectory import Recording
    from mpm.viewer.widget import Viewer
    from mpm.viz import Picture

__all__ = ["Simulation", "StableDt"]

FRAMES_MAX = 10_000_000
PARTICLES_PER_THREAD = 4096  # that a thread is worth starting for, by default
STEPS_MAX = 2**62


@dataclass(frozen=True, slots=True)
class StableDt:
    """The bound of the time step in the current state.

    Attributes
    ----------
    dt : float
        The bound itself [s], no safety factor in it.
    limit : {"isolated", "wave", "motion", "acceleration", "viscosity", "none"}
        What binds: the stiffness of a particle that is alone in its cells, a wave crossing a cell, a particle
        or its strain moving too far, gravity, viscosity; nothing without particles.
    particle : int or None
        The row that binds, if one does.
    """

    dt: float
    limit: str
    particle: int | None


class Simulation(_check.Strict):
    """A scene, discretised: nodes at ``lower + i·dx``, particles in its bodies.

    Parameters
    ----------
    scene : Scene
        With at least one body; it is not changed, and later changes of it have no effect here.
    dx : float
        Cell size [m]; (upper − lower)/dx must be whole, and at least 4 along a periodic axis.
    particles_per_cell : int, optional
        Default 2^d; ``"stratified"`` and ``"lattice"`` sampling need k^d.
    sampling : {"stratified", "lattice", "random"}
        One jittered point per sub-cell, its centre, or uniform random points. Random places are free of the
        grid's directions but leave noise in stress and pressure, and a body a little softer than its
        material (a frequency 2 % low with 2^d particles per cell); ``"lattice"`` is several times better
        in both.
    rng : int or numpy.random.Generator
        Of the sampling. An int gives the same particles each time.
    volume : {"sampler", "grid-density"}
        A particle has the rest volume dx^d / particles_per_cell, or m dx^d / Σ w m_i from the masses of the
        nodes around it when it comes in (Stomakhin et al. 2013, step 2): the latter is too large at free
        surfaces, up to twice for each. Its mass is the density times the former in either case.
    transfer : {"apic", "pic", "flip", "aflip", "asflip", "xpic", "tpic"}
        How velocities travel between particles and grid; Σ is over nodes, v^n the node velocity before and ṽ
        that after forces and contact:

        - ``"pic"``: v = Σwṽ. Very dissipative, and per step.
        - ``"flip"``: v = Σwṽ + α (v_p − Σwv^n) with α = `flip_ratio`. Noisy at 1, PIC at 0.
        - ``"apic"``: v = Σwṽ with an affine velocity C; conserves angular momentum.
        - ``"aflip"``, ``"asflip"``: APIC with the FLIP term; the latter also moves particles with it where
          material separates.
        - ``"xpic"``: PIC of order m = `xpic_order` (1: PIC, ∞: FLIP without its noise).
        - ``"tpic"``: C = Σ ṽ ∇wᵀ, the B-spline's gradient, in the place of APIC's.
    kernel : {"quadratic", "cubic", "linear"}
        B-spline. ``"linear"`` is for comparison: it has jumps in its gradient, which particles feel when they
        cross cells; no time step is stable with it in every case, and elastic bodies may gain energy or blow up
        (``dt="auto"`` warns of it).
        With it, C is 4/dx² Σ w ṽ (x_i − x_p)ᵀ in APIC, AFLIP and ASFLIP, which is what conserves angular
        momentum. Its gradient also acts on nodes of zero weight: a particle exactly on a node at a free surface
        gives them a force that nothing carries, and takes them
        to be at rest. Move it off the node.
    gradient : {"mls", "bspline"}
        Of the weights, in forces and in ∇v: D⁻¹ w (x_i − x_p) of moving least squares, or ∇w. The linear
        kernel needs ``"bspline"``.
    flip_ratio : float, optional
        α, 0 to 1, of ``"flip"``, ``"aflip"``, ``"asflip"``; default 0.95. Raises with others.
    xpic_order : int, optional
        m >= 1 of ``"xpic"``; default 2. Each order above 1 costs one more transfer to particles and back.
    advect : {"pic", "particle"}, optional
        Whether particles move with Σwṽ or, in ``"flip"`` and ``"aflip"``, with their new velocity.
    f_update : {"linear", "cayley"}
        F ← (I + dt ∇v) F, or F ← (I − dt/2 ∇v)⁻¹ (I + dt/2 ∇v) F, which keeps volume in pure rotation.
    c_damping : float, optional
        Share of the symmetric part of C that each step takes away, 0 to 1 (1: RPIC); C keeps its rotation.
        For transfers with an affine velocity.
    dt : "auto" or float
        Time step [s]. ``"auto"`` takes at most 0.6 of `stable_dt`. A fixed dt above the bound raises
        `mpm.InstabilityError` before the step that would use it.
    max_dt : float, optional
        Upper limit of the automatic time step [s].
    allow_unstable : bool
        Do not compare a fixed dt with the bound.
    dtype : {"float64", "float32"}
        Positions must be told apart to dx/1024 in double and to dx/4 in single precision all over the domain.
    threads : int, optional
        Default `mpm.get_num_threads`, but no more than one per 4,096 particles: fewer are not worth starting a thread.
        Results do not depend on it.
    on_leave : {"raise", "clamp", "delete"}
        What happens to a particle that leaves the domain, that is lies more than half a cell beyond a face
        (with the cubic kernel a cell, with the linear one nothing: up to there walls give way to a particle
        that is pressed on): `mpm.EscapeError` after the step, back onto the face, or removal when the call
        returns. It also holds for positions written to ``particles.x``. Counted in `health`. Removal ends a
        `run` or `step` call with a new order of the particles in the core, so that where particles leave,
        round-off depends on how a run is split.
        Nothing leaves at a periodic face: there ``particles.x`` is wrapped into lower <= x < upper, positions
        written to it as well.
    history : int
        Every history-th step is recorded; 0: none.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type, shape or range; the message names it, its value and what is allowed.

    Warns
    -----
    UserWarning
        A collider is thinner than 2 dx on more than a fifth of its surface, or lies outside of the domain; particles
        start inside a collider or in an earlier body; the linear kernel is to choose its own time step.

    References
    ----------
    See `Simulation.cite`.
    """

    __slots__ = (
        "__weakref__",
        "_colliders",
        "_core",
        "_indices",
        "_materials",
        "_numerics",
        "_parts",
        "_recordings",
        "_rng",
        "_rng_before",
        "_scene",
        "_threads",
    )

    @_check.options
    def __init__(
        self,
        scene: _scene.Scene,
        *,
        dx: float,
        particles_per_cell: int | None = None,
        sampling: str = "stratified",
        rng: int | np.random.Generator = 0,
        volume: str = "sampler",
        transfer: str = "apic",
        kernel: str = "quadratic",
        gradient: str = "mls",
        flip_ratio: float | _check.Unset = numerics.FLIP_RATIO,
        xpic_order: int | _check.Unset = numerics.XPIC_ORDER,
        advect: str | _check.Unset = numerics.ADVECT,
        f_update: str = "linear",
        c_damping: float = 0.0,
        dt: float | str = "auto",
        max_dt: float | None = None,
        allow_unstable: bool = False,
        dtype: npt.DTypeLike = "float64",
        threads: int | None = None,
        on_leave: str = "raise",
        history: int = 1,
    ) -> None:
        if not isinstance(scene, _scene.Scene):
            raise _check.wrong_type("scene", scene, "an mpm.Scene")
        self._numerics = numerics.check(
            scene.lower,
            scene.upper,
            dx=dx,
            particles_per_cell=particles_per_cell,
            sampling=sampling,
            volume=volume,
            transfer=transfer,
            kernel=kernel,
            gradient=gradient,
            flip_ratio=flip_ratio,
            xpic_order=xpic_order,
            advect=advect,
            f_update=f_update,
            c_damping=c_damping,
            dt=dt,
            max_dt=max_dt,
            allow_unstable=allow_unstable,
            dtype=dtype,
            threads=threads,
            on_leave=on_leave,
            history=history,
        )
        walls.refuse_few_cells(scene.walls, self._numerics.cells, self._numerics.dx)
        self._threads = None if threads is None else self._numerics.threads
        self._rng = _generator(rng)
        self._rng_before = copy.deepcopy(self._rng)
        if not scene.bodies:
            raise ValueError("scene has no bodies: add one with scene.add(shape, material)")
        self._scene = scene._kept_copy()
        self._materials: list[Material] = []
        self._indices: dict[Material, int] = {}
        self._parts: list[Part] = []
        sampled = [(body, self._sample(body)) for body in scene.bodies]
        self._core = _new_core(scene, self._numerics)
        self._colliders = [
            Placed(self._core, index, prepare(collider, scene.lower, scene.upper, self._numerics.dx))
            for index, collider in enumerate(scene.colliders)
        ]
        for placed in self._colliders:
            warn_of_thin_or_missing(self._core, placed, scene.lower, scene.upper, self._numerics.dx)
        for index, (body, arrays) in enumerate(sampled):
            _scene.warn_of_overlaps(body, arrays[0], scene.bodies[:index])
            self._insert(body, *arrays)
        self._find_volumes()
        self._recordings: list[Recording] = []

    @classmethod
    def _of(cls, kept: Snapshot, threads: int | None) -> Simulation:
        """A simulation from a snapshot; a ValueError if its parts do not fit each other."""
        self = cls.__new__(cls)
        self._numerics = replace(kept.numerics, threads=threads or config.get_num_threads())
        self._threads = threads
        self._rng = copy.deepcopy(kept.rng)
        self._rng_before = copy.deepcopy(kept.rng)
        self._scene = kept.scene._kept_copy()
        self._materials = list(kept.materials)
        self._indices = {material: index for index, material in enumerate(kept.materials)}
        self._parts = list(kept.parts)
        self._core = _new_core(kept.scene, self._numerics)
        for material in kept.materials:
            self._core.add_material(material.law, material.parameters)
        self._colliders = [Placed(self._core, index, one) for index, one in enumerate(kept.colliders)]
        restore(self._core, self.dimension, self.dtype, kept.arrays)
        self._recordings = []
        return self

    def _snapshot(self) -> Snapshot:
        """All that it is, but for the threads; after reading in what was written through views."""
        arrays = arrays_of(self._core, self.dimension, self.dtype)
        return Snapshot(
            scene=copy.copy(self._scene),
            numerics=self._numerics,
            rng=copy.deepcopy(self._rng),
            materials=tuple(self._materials),
            parts=tuple(self._parts),
            colliders=tuple(placed.prepared for placed in self._colliders),
            arrays=arrays,
        )

    def _sample(
        self, body: _scene.Body
    ) -> tuple[FloatArray, FloatArray, FloatArray | None, FloatArray, FloatArray]:
        """x, v, F (None: the identity), volume and mass of a body's particles."""
        chosen = self._numerics
        x, volume = sampling.sample(
            body.shape,
            lower=self._scene.lower,
            upper=self._scene.upper,
            dx=chosen.dx,
            particles_per_cell=chosen.particles_per_cell,
            sampling=chosen.sampling,
            rng=self._rng,
            body=body.name,
        )
        v, F = body.initial_velocity(x, volume), body.initial_gradient(x)
        mass = body.material.density * volume
        numerics.refuse_out_of_range(mass, volume, v, F, chosen.dtype)
        return x, v, F, volume, mass

    def _sampled_with(self) -> np.random.Generator:
        """A generator as it was before the bodies of the scene were sampled."""
        return copy.deepcopy(self._rng_before)

    def _insert(
        self,
        body: _scene.Body,
        x: FloatArray,
        v: FloatArray,
        F: FloatArray | None,
        volume: FloatArray,
        mass: FloatArray,
    ) -> None:
        """Hand a sampled body to the core."""
        material = body.material
        if material not in self._indices:
            self._indices[material] = self._core.add_material(material.law, material.parameters)
            self._materials.append(material)
        C = numerics.stored_C(self._numerics, body.initial_velocity_gradient(x), x, self._scene.lower)
        known = np.zeros_like(volume) if self._numerics.volume == "grid-density" else volume
        warn_of_particles_inside(self._core, self._colliders, x, body.name, self._numerics.dx)  # may raise
        part = Part(body, len(x), float(mass.sum()), float(volume.sum()), first_id=self._core.next_id)
        self._parts.append(part)
        self._core.add_particles(x, v, C, F, known, mass, self._indices[material])

    def _find_volumes(self) -> None:
        """Have the core find the volumes that wait for the density of the grid."""
        if self._numerics.volume == "grid-density":
            self._core.totals()

    # ---- the run ---------------------------------------------------------------------------------------

    @_check.options
    def run(self, duration: float) -> None:
        """Advance by `duration` [s]; ends at exactly ``time + duration``.

        Raises
        ------
        SimulationError
            A value is not finite, or out of a law's range; `InstabilityError`, `EscapeError` are special
            cases. The simulation is at its last whole step and usable.
        BusyError
            Another thread is running this simulation.
        """
        length = _check.number("duration", duration, low=0, unit="s")
        self._advance(end=_check.number("time + duration", self._core.time + length, unit="s"))

    @_check.options
    def step(self, n: int = 1) -> None:
        """Advance by `n` whole steps; errors as in `run`."""
        self._advance(steps=_check.integer("n", n, low=0, high=STEPS_MAX))

    def _advance(self, *, steps: int = STEPS_MAX, end: float = math.inf) -> None:
        """Whole steps, or to a time; where something records, with pauses to look."""
        self._core.threads = self.threads
        if self._recordings:
            from mpm.io import trajectory

            trajectory.run(self, self._core, self._recordings, self._advance_to, steps=steps, end=end)
        elif self._scene.body_force is not None:
            self._core.hold(lambda: self._advance_to(steps, end, math.inf))  # the core sees single steps
        else:
            self._advance_to(steps, end, math.inf)

    def _advance_to(self, steps: int, end: float, pause: float) -> None:
        """The same, but not beyond the first step that reaches the time `pause`."""
        if self._scene.body_force is not None:
            self._advance_forced(self._scene.body_force, steps, end, pause)
        elif end < math.inf:
            self._core.run(end, pause)
        else:
            self._core.step(steps, pause)

    def _advance_forced(self, body_force: _scene.BodyForce, steps: int, end: float, pause: float) -> None:
        """The same, each step under the body force at its beginning; the core is held."""
        last = self._core.steps + steps
        while self._core.steps < last and self._core.time < min(end, pause):
            self._core.totals()  # what was written through views is taken, or refused
            x, rows = np.array(self._core.field("x"), dtype=np.float64), self._rows()
            b = _check.array("body_force(x, t)", body_force(x, self._core.time), x.shape)
            if self._rows() != rows:
                raise ValueError("body_force(x, t) has added or deleted particles: its answer is for others")
            self._core.step_forced(b, end)

    def _rows(self) -> tuple[int, int]:
        """What changes when particles come or go."""
        return self._core.particles, self._core.health()["deleted"]

    @_check.options
    def frames(self, *, duration: float, fps: float, progress: bool = False) -> Iterator[tuple[int, float]]:
        """Run frame by frame: the last step before a frame is shortened to end at its time, as by `run`.

        Parameters
        ----------
        duration : float
            [s].
        fps : float
            Frames per second of simulated time.
        progress : bool, optional
            A bar on stderr; needs the extra ``plot``.

        Yields
        ------
        i : int
            Number of the frame, 0 for the state at the start.
        t : float
            Its time: exactly t₀ + i/fps. There are ``round(duration·fps)`` frames after the first.
        """
        count, rate = frame_count(duration, fps)
        bar = progress_bar(count) if _check.flag("progress", progress) else None
        return self._frames(count, rate, bar)

    def _frames(self, count: int, fps: float, bar: Any) -> Iterator[tuple[int, float]]:
        start = self._core.time
        try:
            yield 0, start
            for i in range(1, count + 1):
                self._advance(end=start + i / fps)
                if bar is not None:
                    bar.update()
                yield i, self._core.time
        finally:
            if bar is not None:
                bar.close()

    @_check.options
    def add(
        self,
        shape: Shape,
        material: Material,
        *,
        velocity: _scene.Velocity = 0,
        angular_velocity: npt.ArrayLike = 0,
        F: _scene.Gradient | None = None,
        name: str | None = None,
    ) -> _scene.Body:
        """Add a body between steps; arguments as in `Scene.add`. Views taken before go stale but stay valid.

        Raises
        ------
        TypeError, ValueError
            As in `Scene.add`, and if no particle is sampled; nothing has changed.
        """
        body = _scene.make_body(
            shape,
            material,
            velocity=velocity,
            angular_velocity=angular_velocity,
            F=F,
            name=name,
            dimension=self._scene.dimension,
            taken={part.body.name for part in self._parts},
            number=len(self._parts),
        )
        self._core.totals()  # what was written through views is taken, or refused, before anything changes
        state, particles, parts = (
            copy.deepcopy(self._rng.bit_generator.state),
            self._core.particles,
            len(self._parts),
        )
        try:
            self._insert(body, *self._sample(body))
            self._find_volumes()
        except BaseException:
            self._rng.bit_generator.state = state
            del self._parts[parts:]
            if self._core.particles > particles:  # an interrupt after they had come
                self.particles.delete(np.arange(self._core.particles) >= particles)
            raise
        return body

    def rows(self, body: str) -> slice:
        """Where the particles of a body are in the arrays of `particles`.

        Parameters
        ----------
        body : str
            Its name.

        Returns
        -------
        slice
            Of rows that follow each other, those of deleted particles left out; good until particles are deleted.
            ``sim.particles.v[sim.rows("ball")]`` is a view.

        Raises
        ------
        TypeError, ValueError
            Not the name of a body of this simulation.
        """
        parts = {part.body.name: part for part in self._parts}
        return _rows_of(parts[_check.choice("body", body, tuple(parts))], self.particles._copy("id"))

    # ---- what it says ----------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Now [s]."""
        return self._core.time

    @property
    def steps(self) -> int:
        """Steps taken."""
        return self._core.steps

    @property
    def dt(self) -> float:
        """The last time step [s]; 0 before the first."""
        return self._core.dt

    @property
    def dx(self) -> float:
        """Cell size [m]."""
        return self._numerics.dx

    @property
    def dimension(self) -> int:
        """d, 2 or 3."""
        return self._scene.dimension

    @property
    def dtype(self) -> str:
        """``"float64"`` or ``"float32"``."""
        return self._numerics.dtype

    @property
    def threads(self) -> int:
        """Number of threads of the next run; may be set."""
        most = self._numerics.threads
        return self._threads or config.shared_out(self._core.particles, PARTICLES_PER_THREAD, most)

    @threads.setter
    def threads(self, threads: int) -> None:
        number = _check.integer("threads", threads, low=1, high=config.MAX_THREADS)
        self._core.threads = number  # not during a run
        self._threads = number

    @property
    def scene(self) -> _scene.Scene:
        """The scene it was made from, as it was then. Nothing can be added to it: see `add`."""
        return self._scene

    @property
    def materials(self) -> tuple[Material, ...]:
        """The materials in order of first use: what ``particles.material`` counts."""
        return tuple(self._materials)

    @property
    def particles(self) -> Particles:
        """The particles as live arrays."""
        return Particles(self._core)

    @property
    def grid(self) -> grid.Grid:
        """Copies for the active nodes of the last step."""
        return grid.read(self._core, self.dimension)

    @property
    def history(self) -> totals.History:
        """What was recorded after every `history`-th step; nothing at the time of the first state, see `totals`."""
        return totals.History(self._core)

    @property
    def health(self) -> dict[str, int]:
        """Counters of what was done to particles and steps.

        ``left_domain``: particles that left and, by `on_leave`, were ``clamped`` or ``deleted`` (with
        ``"raise"``: those that a step moved out); ``deleted`` also by `Particles.delete`; ``clipped``: snow
        or sand whose Jp a step had to hold between its limits, counted at every step; ``refused``: steps taken again
        with a smaller automatic dt; ``binnings``: times the particles were sorted.
        """
        return dict(self._core.health())

    def totals(self) -> totals.Totals:
        """Mass, momentum, centre of mass, angular momentum and energies now; in 2-D per metre of depth."""
        return totals.read(self._core)

    def stable_dt(self) -> StableDt:
        """The bound of the time step in the current state, what limits it, and where."""
        dt, limit, row = self._core.stable_dt()
        return StableDt(dt, limit, None if row < 0 else row)

    @_check.options
    def compute(self, name: str) -> FloatArray:
        """A quantity of the particles, computed now.

        Parameters
        ----------
        name : {"speed", "pressure", "von_mises", "stress", "kinetic_energy", "elastic_energy", "density"}
            Pressure is −tr σ/3 with σ_zz of plane strain in 2-D; stresses are the law's, without the viscous
            part; the kinetic energy is m v²/2, without the affine part that `totals` counts as well.

        Returns
        -------
        ndarray, shape (n,), for the stress (n, d, d)
            New, float64.
        """
        chosen = _check.choice("name", name, tuple(derived.NAMES))
        return derived.compute(chosen, Copies(self.particles), self._materials)

    @_check.options
    def collider_distance(self, name: str, x: npt.ArrayLike) -> FloatArray:
        """Signed distance of a collider where it is now.

        Parameters
        ----------
        name : str
            Of the collider.
        x : array_like, shape (m, d)
            Positions [m].

        Returns
        -------
        ndarray, shape (m,)
            [m], negative inside. Sign and zero set are exact; away from the surface of combined or unevenly
            scaled shapes it is a lower bound of the size. Meshes are known within 4 dx of the domain; beyond they go on
            as they are there.
        """
        return distance_of(self._posed(), name, x, self.dimension)

    def _posed(self) -> list[Posed]:
        """The colliders as they are now."""
        now = self.time
        return [Posed(placed, self._core, now) for placed in self._colliders]

    def state_hash(self) -> str:
        """Hexadecimal digest of the complete state: equal for runs that are equal bit for bit.

        Independent of threads, of views taken, and of the history.
        """
        chosen = self._numerics
        digest = hashlib.sha256()
        for name, values in self._core.snapshot().items():
            if name not in ("history", "books", "numbers", "counters"):
                digest.update(values)
        digest.update(struct.pack("<dqd", self._core.time, self._core.steps, self._core.dt))
        digest.update(struct.pack("<dd?", chosen.dt, chosen.max_dt, chosen.allow_unstable))
        digest.update(repr(chosen.scheme).encode())
        digest.update(repr([part.body.material for part in self._parts]).encode())
        for placed in self._colliders:
            digest.update(placed.digest)
        digest.update(repr(self._rng.bit_generator.state).encode())
        return digest.hexdigest()

    def cite(self) -> str:
        """References of exactly the methods in use, one per line."""
        return citations.cite(self._numerics.scheme, self._materials, collides=bool(self._colliders))

    def __repr__(self) -> str:
        try:
            return self._summary()
        except _core.BusyError:
            return f"<Simulation {self.dimension}-D: running in another thread>"

    def _summary(self) -> str:
        chosen = self._numerics
        n = self._core.particles
        unit = totals.per_depth("kg", self.dimension)
        held = self._core.memory()
        memory = sum(held.values())
        now = f" (now {self.dt:.3g} s)" if self.steps else ""
        step = f"dt {chosen.dt:g} s" if chosen.dt else f"dt auto{now}"
        threads = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        lines = [
            f"<Simulation {self.dimension}-D: {n} particles, t = {self.time:g} s after {self.steps} steps",
            *(f"  {line}" for line in self._bodies(unit)),
            *(f"  {placed.collider!r}" for placed in self._colliders),
            f"  grid    {' x '.join(map(str, chosen.cells))} cells of {chosen.dx:g} m, "
            f"{chosen.particles_per_cell} particles per cell ({chosen.sampling})",
            f"  method  {chosen.scheme}, {step}",
            f"  machine {chosen.dtype}, {threads}, {config.isa()}, {memory / 1e6:.3g} MB",
        ]
        return "\n".join(lines) + ">"

    def _bodies(self, unit: str) -> Iterator[str]:
        """The bodies as they came in, and what is left of those of which particles were deleted."""
        whole = self._core.particles == sum(part.particles for part in self._parts)
        ids = None if whole else self.particles._copy("id")
        for part in self._parts:
            rows = slice(0, part.particles) if ids is None else _rows_of(part, ids)
            left = rows.stop - rows.start
            yield _described(part, unit) + f", of which {left} are left" * (left < part.particles)

    # ---- pictures --------------------------------------------------------------------------------------

    @_check.options
    def plot(
        self,
        *,
        ax: Axes | None = None,
        color: str = "speed",
        limits: tuple[float, float] | None = None,
        renderer: str = "builtin",
    ) -> Picture:
        """Draw particles and colliders with Matplotlib; needs the extra ``plot``.

        In 3-D the picture is an image, in which colliders are pale surfaces behind the particles.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Default: those of a new figure.
        color : str
            A name of `compute` with one value per particle, or such a field (``"J"``, ``"material"``, …).
        limits : (float, float), optional
            Ends of the colour scale; default: the smallest (of a quantity without a sign, 0) and largest value, but
            for a few far off: then the 1st and 99.5th percentile. The colour bar has a tip where values go on.
        renderer : {"builtin", "pyvista"}
            What draws 3-D scenes: our own, fast; or PyVista, lit spheres among translucent colliders, which needs the
            extra ``3d`` and a second or two. In 2-D ``"builtin"``.

        Returns
        -------
        mpm.viz.Picture
            The Matplotlib artists: a named tuple of ``particles``, ``domain`` and ``colorbar``, the axes of the colour
            bar.
        """
        from mpm.viz import plot

        return plot(self, ax=ax, color=color, limits=limits, renderer=renderer)

    @_check.options
    def movie(
        self,
        path: str | os.PathLike[str],
        *,
        duration: float,
        fps: float,
        color: str = "speed",
        limits: tuple[float, float] | None = None,
        size: tuple[int, int] = (960, 720),
        renderer: str = "builtin",
        progress: bool = False,
    ) -> None:
        """Run for `duration` and write a movie. Each frame is drawn while the next is computed. Extra ``movie``.

        Runs as `frames` does, to the exact times of frames. To leave every bit of a run as it is, `record` it, and
        make the movie of the replay.

        Parameters
        ----------
        path : str or path
            ``.mp4``, ``.gif``, or a directory (without suffix) for ``frame_0000.png``, …
        duration, fps : float
            As in `frames`. Movies play in real time if 10 <= fps <= 60, otherwise at the nearer of the two
            rates: slowed down or sped up.
        color : str
            As in `plot`.
        limits : (float, float), optional
            Ends of the colour scale; default: from 0 or the smallest to the largest value so far, but for a few
            far off.
        size : (int, int)
            Width and height in pixels, even.
        renderer : str
            As in `plot`.
        progress : bool, optional
            A bar on stderr.
        """
        from mpm.viz import movie

        movie(
            self,
            path,
            duration=duration,
            fps=fps,
            color=color,
            limits=limits,
            size=size,
            renderer=renderer,
            progress=progress,
        )

    def view(self) -> Viewer:
        """The notebook viewer: `mpm.view` of this simulation; needs the extra ``widget``."""
        from mpm.viewer import view

        return view(self)

    # ---- trajectories ----------------------------------------------------------------------------------

    @_check.options
    def record(
        self, path: str | os.PathLike[str], *, fps: float, fields: Sequence[str] = (), compression: int = 0
    ) -> Recording:
        """From now on, write frames while running; needs the extra ``io``.

        A frame is the first whole step at or after its time t₀ + i/fps, the first one the present state (i = 0); a
        step that passes several of these times is written once. Steps are those of a run that is not recorded, bit for
        bit. An error in writing ends the run after a whole step, and the recording.

        Parameters
        ----------
        path : str or path
            ``.vtkhdf``, in a directory that exists; a file that is there is replaced. ParaView >= 5.12 and VTK >= 9.3
            read it as a time series, `mpm.replay` as arrays. Until the recording is closed, only the latter
            does. After a crash the file holds all frames up to the last whole one: ``python -m mpm replay FILE
            --repair`` closes it for other programs.
        fps : float
            Frames per second of simulated time.
        fields : sequence of str
            What is written beside ``x``: fields of `particles` or names of `compute`. ``id``, ``material``,
            ``mass`` and ``volume`` are always there, once for as long as no particle comes or goes.
            Numbers are not rounded. A plane scene lies in z = 0, with the zz components of plane strain.
        compression : int
            Of gzip, 0 (none) to 9: smaller, but slower.

        Returns
        -------
        Recording
            With `path`, `fps`, `fields`, `frames`, `seconds` (what it has cost), `close`; a context manager.

        Raises
        ------
        FileNotFoundError
            The directory does not exist.
        """
        from mpm.io.trajectory import Recording

        recording = Recording(self, path, fps=fps, fields=fields, compression=compression)
        self._recordings.append(recording)
        return recording

    # ---- keeping ---------------------------------------------------------------------------------------

    @_check.options
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the complete state to a file, from which `mpm.load` makes a simulation that goes on bit for bit.

        Everything is in it but the number of threads, and functions: those that bodies were described by, whose values
        the particles have, and the scene's body force, which `mpm.load` is given again. Equal states make equal files.
        The file is there whole or not at all: it is written beside an older one, brought to the disk, and takes its
        place at the end.

        Parameters
        ----------
        path : str or path
            Of the file; any name will do, such as ``"run.mpm"``.

        Raises
        ------
        TypeError
            The scene has a shape, material, motion or random generator that is not of this package or NumPy.
        OSError
            The file cannot be written; an older one is as before.
        SimulationError
            What was written through views is no state, see `run`.
        BusyError
            Another thread is running this simulation.
        """
        from mpm.io import checkpoint

        checkpoint.save(self, path)

    def __copy__(self) -> Simulation:
        """The same as a deep copy: two simulations share no state."""
        return self._of(self._snapshot(), self._threads)

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Simulation:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds the bytes of a checkpoint, and the body force as pickles hold functions: by its name."""
        from mpm.io import checkpoint

        return checkpoint.loads, (checkpoint.dumps(self), None, self._scene.body_force)

    def __eq__(self, other: object) -> bool:
        """Whether two simulations have the same complete state, bit for bit; `mpm.diff` tells what differs."""
        if self is other:
            return True
        if not isinstance(other, Simulation):
            return NotImplemented
        from mpm.io import compare

        return not compare.diff(self, other)

    __hash__ = None  # type: ignore[assignment]  # equal or not by a state that changes


def _generator(rng: object) -> np.random.Generator:
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, (bool, np.bool_)) or not isinstance(rng, (int, np.integer)):
        raise _check.wrong_type("rng", rng, "an integer >= 0 or a numpy.random.Generator")
    return np.random.default_rng(_check.integer("rng", rng, low=0))


def _new_core(scene: _scene.Scene, chosen: numerics.Numerics) -> _core.Simulation:
    return _core.Simulation(
        dim=scene.dimension,
        dtype=chosen.dtype,
        lower=scene.lower.tolist(),
        cells=chosen.cells,
        dx=chosen.dx,
        gravity=scene.gravity.tolist(),
        walls=[(wall.contact, wall.friction) for wall in scene.walls.values()],
        scheme=astuple(chosen.scheme),
        dt=chosen.dt,
        max_dt=chosen.max_dt,
        allow_unstable=chosen.allow_unstable,
        on_leave=chosen.on_leave,
        history=chosen.history,
        threads=chosen.threads,
        isa=config.isa(),
    )


def frame_count(duration: object, fps: object) -> tuple[int, float]:
    """Number of frames after the first, and the checked rate."""
    length = _check.number("duration", duration, low=0, unit="s")
    rate = _check.number("fps", fps, low=0, low_open=True, unit="1/s")
    count = _check.number("duration*fps", length * rate, low=0, high=FRAMES_MAX)
    return round(count), rate


def _rows_of(part: Part, ids: npt.NDArray[Any]) -> slice:
    """Of a body's particles; `ids` ascend, whatever was deleted."""
    low, high = np.searchsorted(ids, (part.first_id, part.first_id + part.particles))
    return slice(int(low), int(high))


def _described(part: Part, unit: str) -> str:
    """A body's line of the repr: particles, mass, and how far the mass is from the shape's."""
    exact = measures.volume(part.body.shape)
    error = "" if exact is None else f" (sampling error {part.volume / exact - 1:+.2%})"
    return f"{part.body!r}: {part.particles} particles, {part.mass:.6g} {unit}{error}"
