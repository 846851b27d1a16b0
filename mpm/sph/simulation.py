"""`Simulation`: a scene of one fluid by smoothed particle hydrodynamics, around the core's `Sph`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, Self, Unpack, cast

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check, advice, fieldtable, memory
from mpm.base._check import Unset
from mpm.base.options import takes
from mpm.base.streamed import whole
from mpm.errors import SimulationError
from mpm.handles.solver import Solver
from mpm.io.description import listing, mapping
from mpm.io.kept import InPieces, Kept
from mpm.materials import Fluid
from mpm.materials.laws import Material
from mpm.sampling import sampling
from mpm.scene import scene as _scene
from mpm.scene import settings
from mpm.scene.colliders import Placed, Prepared, count_inside, place, prepare, warn_of_thin_or_missing
from mpm.scene.contacts import refuse_touching
from mpm.scene.heat import refuse_heat
from mpm.scene.pores import refuse_pore
from mpm.scene.solutes import refuse_solute
from mpm.shapes import Points, Shape
from mpm.solver import totals
from mpm.solver.keeping import Format, T, arrays_of, hand_over, held, layout_of_rows
from mpm.solver.options import CommonArguments
from mpm.solver.populated import Gone, Populated, refuse_emitters_outside
from mpm.solver.stepping import StableDt, refuse_beyond_range
from mpm.sph import numerics, operators
from mpm.sph.bodies import Part, fill, parts_of, too_near
from mpm.sph.checkup import FluidLooks

__all__ = ["Simulation"]

FloatArray = _check.FloatArray

STRETCHED = 1.02  # of J, where the sum lacks neighbours
APART = {"cubic": 1.5, "wendland": 1.7}  # the largest smoothing that keeps rows apart at a free surface
ENOUGH = 0.01  # of repulsion, unless the fluid is very soft
CLOSEST = 0.5  # spacings: particles that begin nearer to others repel them violently


@takes(numerics.Numerics, CommonArguments, hints=advice.OF_METHODS_ALONE)
class Simulation(Populated, Solver, kind="sph"):
    """A scene of one fluid by weakly compressible smoothed particle hydrodynamics (WCSPH).

    A step is Algorithm 1 of Becker and Teschner (2007): neighbours; densities by summation, ρ = Σ m W, with the
    particle itself; pressures by the state equation of `mpm.materials.Fluid`, p = (K/γ)((ρ/ρ₀)^γ − 1); accelerations by
    pressure, viscosity and gravity; velocities and positions by leapfrog. Velocities belong to the middle of the last
    step, and forces act from there to the middle of the next one; as long as dt stays the same, this is symplectic
    Euler. Momentum is conserved to round-off with every option. What `mpm.Simulation` does around its steps, this class
    does too: live arrays, history, files, pictures.

    Particles begin on the lattice with the spacing, at ``lower + (i + ½)·spacing``. Their mass is such that a full
    lattice has the density ρ₀ exactly. ``particles.J`` is ρ₀/ρ.

    Walls of the domain are images: mirrored with the tangential velocity kept (slip, separate, mirror) or turned round
    (sticky), or moved by the period. Colliders are particles of the fluid's lattice within 2h below their surface,
    which move with it; with the contact ``"sticky"``, the viscosity of the fluid acts on them.

    Parameters
    ----------
    scene : Scene
        A scene with at least one body. All bodies are of one `mpm.materials.Fluid`. Walls and colliders have no
        friction, and colliders do not deform.
    spacing : float
        Distance of the particles at rest [m]; (upper − lower)/spacing must be whole, and at least 4 `smoothing`. It is
        between 1e-90 and 1e90, in single precision between 1e-9 and 1e9.
    smoothing : float
        Smoothing length h over the spacing, 0.8 to 3. The support of the kernel is 2h. With `kernel`, it decides the
        mass of a particle, of which `repr` states the share of ρ₀ spacing^d: see the table in Notes.
    kernel : {"cubic", "wendland"}
        The cubic spline, or Wendland's C2 function. Under pressure, particles of the cubic spline pair when `smoothing`
        exceeds 1, those of Wendland's function at no `smoothing`. At a free surface the pressure is 0, because sums
        lack neighbours, and nothing holds the rows that gravity pushes together: with either kernel the highest ones
        fuse, from a `smoothing` of 1.6 (cubic) and 1.8 (Wendland) on. A `smoothing` beyond that is for fluid that
        fills the domain, or needs a `repulsion`.
    viscosity : {"vector", "central"}
        The form of η∇²v: component by component (default), or along the lines between particles, which
        conserves angular momentum. Raises for a fluid without a viscosity.
    constant_viscosity : {"dynamic", "kinematic"}
        What the density does not change: η, `viscosity` of the fluid, with η∇²v/ρ; or ν = η/ρ₀, with ν∇²v as in the
        algorithm of Becker and Teschner. They differ as much as the density: by the sums at free surfaces, where η/ρ
        is larger, and little elsewhere. For ν, a pair has the mean of 1/ρ_i and 1/ρ_j, which conserves momentum.
        Raises for a fluid without a viscosity.
    alpha : float
        Monaghan's artificial viscosity α, 0 to 10: ν ≈ α c h/(2 (d + 2)) where particles approach each other.
    xsph : float
        Share of the neighbours' velocity in the motion of a particle, 0 to 1 (XSPH).
    repulsion : float
        Repulsion of particles that are closer than r₀ = 0.7 spacings, 0 to 1: a pair has the energy
        ½ ε m c² (1 − r/r₀)², with the wave speed c at rest, where ε is this number. It keeps the rows at a free surface
        apart at every `smoothing` and leaves particles alone that pressure keeps apart. 0.01 is enough if c² is 20
        times g times the height of the fluid, or more: the rows keep 0.6 spacings. It acts between particles of
        colliders and those of the fluid, too. `totals` count its energy as elastic. `stable_dt` includes it: with 0.01
        and a `smoothing` of 2, steps are a sixth shorter.
    tension : bool
        Whether stretched fluid pulls. Particles that pull at each other clump, at any time step: the tensile
        instability (Swegle, Hicks, Attaway 1995). At free surfaces, whose sums lack neighbours, they do so from the
        beginning, and come so close together that the energy may grow: in a drop by 0.6 % within half a second. So it
        suits fluid that fills the domain. This option alone decides: `tension` of the material, whose default is True,
        has no effect here. ``repr`` says which one holds, and so does `materials`.
    dt : "auto" or float
        Time step [s]. ``"auto"`` takes at most 0.6 of `stable_dt` and keeps a step as long as it can, because a step
        that follows the waves makes them grow. It takes less, down to 1/64 of that, where the error of a step would
        change the energy of the fluid by more than 0.2 %, as in impacts. Over an impact at 0.1 to 1 of the wave speed
        the energy is right to 1 %. It halves a step in which a particle would move more than h/2. A fixed dt above the
        bound raises `mpm.InstabilityError` before the step that would use it.
    {common}
    dtype : {"float64", "float32"}
        Double precision must resolve positions to spacing/2^20, single precision to spacing/256.
    threads : int, optional
        Default `mpm.get_num_threads`, but at most one per 4,096 particles. Results do not depend on it.
    on_leave : {"raise", "clamp", "delete"} or mapping
        The fate of particles whose positions are written outside the domain: `mpm.EscapeError`, onto the face, or
        removal; a mapping by faces or axes as in `mpm.Simulation`. No step moves a particle out: one that crosses a
        wall changes places with its image.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type, shape or range; the message names it, its value and the allowed range. A
        collider is so thin that it has no point of the lattice.

    Warns
    -----
    UserWarning
        Points of a body lie inside a collider or in an earlier body: they get no particles, because particles that
        begin so close together repel each other violently; points of `mpm.shapes.Points` lie close to each other. With
        `tension`, particles begin stretched. `smoothing` is so large that rows at a free surface will fuse under
        gravity. Fluid can pass a collider that is thin. A shape is so small that its
        particles do not have its volume.

    Notes
    -----
    Sums over the lattice of the kernel are not exactly 1. The mass of a particle, and with it that of a body, is the
    following share of ρ₀ times the volume of the lattice, so that its summed density is ρ₀:

    ====================  =====  =====  =====  =====  =====
    `smoothing`             0.8      1    1.2    1.5      2
    ====================  =====  =====  =====  =====  =====
    cubic spline, 2-D     0.981  0.999  1.000  0.997  1.000
    cubic spline, 3-D     0.963  1.000  0.999  0.998  1.000
    Wendland's C2, 2-D    0.897  0.964  0.982  0.995  0.999
    Wendland's C2, 3-D    0.860  0.967  0.983  0.997  0.999
    ====================  =====  =====  =====  =====  =====

    References
    ----------
    See `Simulation.cite`.
    """

    __slots__ = ("_fluid", "_numerics")

    _core: _core.SPH
    _parts: list[Part | Gone]
    _resolution = "spacing"
    _looks = FluidLooks
    _instead = advice.OF_SPH

    def __init__(
        self,
        scene: _scene.Scene,
        *,
        spacing: float,
        smoothing: float = 1.0,
        kernel: str = "cubic",
        viscosity: str | Unset = Unset("vector"),
        constant_viscosity: str | Unset = Unset("dynamic"),
        alpha: float = 0.0,
        xsph: float = 0.0,
        repulsion: float = 0.0,
        tension: bool = False,
        on_leave: str | Mapping[str, str] = "raise",
        **common: Unpack[CommonArguments],
    ) -> None:
        if not isinstance(scene, _scene.Scene):
            raise _check.wrong_type("scene", scene, "an mpm.Scene")
        arguments = {**locals(), **common}
        self._numerics = numerics.Numerics.checked(scene, arguments)
        if not (scene.bodies or scene.emitters):
            raise ValueError("scene has no bodies: add one with scene.add(shape, material)")
        refuse_touching(scene, "mpm.sph", "its fluid is one")
        refuse_heat(scene, "mpm.sph")
        refuse_pore(scene, "mpm.sph")
        refuse_solute(scene, "mpm.sph")
        self._fluid = numerics.fluid_of(list(scene._filling))
        numerics.refuse_unused(self._fluid, arguments)
        refuse_emitters_outside(scene, self._numerics.spacing)
        self._parts = []
        sampled: list[tuple[_scene.Body, FloatArray, FloatArray]] = []
        for body in scene.bodies:
            present = sum(len(x) for _, x, _ in sampled)
            sampled.append((body, *self._sample(scene, body, present)))
        self._begin(scene._new_run())
        for placed in self._colliders:
            warn_of_thin_or_missing(placed, scene.lower, scene.upper, self._numerics.spacing, "spacing")
        for body, x, v in sampled:
            self._insert(body, x, v)
        self._core.totals()
        self._drain(-math.inf)
        self._emit()
        self._warn_of_stretched()

    def _begin(self, scene: _scene.Scene) -> None:
        """Begin with a core that has no particles yet."""
        chosen, fluid = self._numerics, self._fluid
        core = numerics.new_core(scene, chosen, fluid.density)
        core.add_material(fluid.law, fluid.parameters)
        prepared = [prepare(one, scene.lower, scene.upper, chosen.spacing) for one in scene.colliders]
        placed = place(core, prepared)
        for index in range(len(placed)):
            fill(core, chosen, placed[: index + 1], scene)
        super().__init__(core, scene, colliders=placed, threads=chosen.threads)

    def _admit(self, scene: _scene.Scene) -> None:
        numerics.refuse_contacts(scene, self._numerics.tension)
        refuse_heat(scene, "mpm.sph")
        refuse_pore(scene, "mpm.sph")
        refuse_solute(scene, "mpm.sph")

    def _meet(self, trial: Placed) -> None:
        x = np.asarray(self.particles._copy("x"), dtype=np.float64)
        count = count_inside(trial, x)
        if count:
            raise ValueError(
                f"shape = {_check.shown(trial.collider.shape)}: {count} of {len(x)} particles are inside; delete them "
                "first (sim.particles.delete(shape.contains(sim.particles.x))), or place the collider elsewhere"
            )

    def _place(self, prepared: Prepared, scene: _scene.Scene) -> Placed:
        placed = super()._place(prepared, scene)
        try:
            fill(self._core, self._numerics, [*self._colliders, placed], scene)
        except BaseException:
            self._core.drop_collider()
            raise
        return placed

    # ---- particles -------------------------------------------------------------------------------------

    def _sample(self, scene: _scene.Scene, body: _scene.Body, present: int) -> tuple[FloatArray, FloatArray]:
        """Positions and velocities of a body's particles, whatever is there already."""
        if body.F is not None:
            raise ValueError(
                f"F of body {body.name!r}: a fluid by SPH has no deformation gradient; leave it out"
            )
        if isinstance(body.shape, Points) and body.shape.volume is not None:
            raise ValueError(
                f"volume of {body.name!r}: all particles have the volume spacing^d; leave it out of mpm.shapes.Points"
            )
        x, volume = sampling.sample(
            body.shape,
            lower=scene.lower,
            upper=scene.upper,
            dx=self._numerics.spacing,
            particles_per_cell=1,
            sampling="lattice",
            rng=np.random.default_rng(0),
            body=body.name,
            size="spacing",
            scaled=False,
            room=memory.rows_in_memory("sph", scene.dimension, self._numerics.dtype),
            present=present,
        )
        dtype, density = self._numerics.dtype, np.array([body.material.density])
        mass = density * self._numerics.spacing**scene.dimension
        kg = totals.per_depth("kg", scene.dimension)
        for what, unit, values in (("densities", "kg/m³", density), ("masses of particles", kg, mass)):
            refuse_beyond_range(body.name, what, unit, values, dtype)
        v = body.initial_velocity(x, volume)
        if not np.isfinite(v.astype(self._numerics.dtype)).all():
            raise ValueError(f"velocity: {np.abs(v).max():g} is beyond the range of {self._numerics.dtype}")
        return x, v

    def _filled(self, body: _scene.Body, offset: FloatArray) -> int:
        with self._adding():
            x, v = self._sample(self._scene, body, self._core.particles)
            if self._free(body, x + offset).any():
                self._insert(body, x + offset, v)
                self._core.totals()
            else:
                self._parts.append(Gone(body.name, self._core.next_id))
        return len(x)

    def _insert(self, body: _scene.Body, x: FloatArray, v: FloatArray) -> None:
        """Hand a body to the core, without points that are taken."""
        free = self._free(body, x)
        if not free.any():
            raise ValueError(
                f"body {body.name!r}: all its {len(x)} points lie inside colliders or other bodies"
            )
        if isinstance(body.shape, Points):
            self._warn_of_crowd(body.name, x[free])
        text = replace(body, material=self.materials[0])._made_of()
        self._parts.append(Part(body.name, text, self._core.next_id, int(free.sum())))
        self._core.add_particles(np.ascontiguousarray(x[free]), np.ascontiguousarray(v[free]))

    def _free(self, body: _scene.Body, x: FloatArray) -> npt.NDArray[np.bool_]:
        """Which points are not taken; warns of the others."""
        free = np.ones(len(x), dtype=bool)
        for placed in self._colliders:
            free &= self._keep(body, "collider", placed.collider.name, placed.distance(x)[0] > 0)
        near = too_near(x, self.particles._copy("x"), CLOSEST * self._numerics.spacing)
        return free & self._keep(body, "fluid", "that is there already", ~near)

    def _warn_of_crowd(self, body: str, x: FloatArray) -> None:
        """Warn of points that a user has put close together."""
        pairs = operators._pairs(x, x, CLOSEST * self._numerics.spacing * (1 - 1e-6), np.zeros(x.shape[1]))
        count = len(np.unique(pairs.i[pairs.i != pairs.j]))
        if count:
            warnings.warn(
                f"{count} of {len(x)} points of {body!r} lie less than {CLOSEST:g} spacings apart: they repel each "
                "other violently, and those in one place never part",
                UserWarning,
                stacklevel=_check.levels_to_caller(),
            )

    def _keep(
        self, body: _scene.Body, kind: str, name: str, free: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.bool_]:
        """Warn of the points that are not free."""
        count = int((~free).sum())
        if count:
            where = f"inside the collider {name!r}" if kind == "collider" else f"in the fluid {name}"
            warnings.warn(
                f"{count} of {len(free)} points of {body.name!r} lie {where}: they get no particles",
                UserWarning,
                stacklevel=_check.levels_to_caller(),
            )
        return free

    def _warn_of_stretched(self) -> None:
        """Warn of particles that pull at each other from the beginning, or that nothing will hold apart."""
        J = self.particles._copy("J")
        chosen, count = self._numerics, int((J > STRETCHED).sum())
        if (
            count
            and not chosen.tension
            and chosen.smoothing > APART[chosen.kernel]
            and not chosen.repulsion
            and self.scene.gravity.any()
        ):
            warnings.warn(
                f"smoothing = {chosen.smoothing:g} with kernel={chosen.kernel!r}: {count} of {len(J)} particles are at "
                "free surfaces, where sums lack neighbours and the pressure is 0: gravity pushes the highest rows "
                f"together until they fuse; smoothing <= {APART[chosen.kernel]:g} keeps them apart, and so does "
                f"repulsion={ENOUGH:g}",
                UserWarning,
                stacklevel=_check.levels_to_caller(),
            )
        if count and chosen.tension:
            warnings.warn(
                f"tension = True: {count} of {len(J)} particles begin stretched, up to J = {J.max():.3g}, because sums "
                "at free surfaces lack neighbours: they will clump (tensile instability), and the energy may grow; "
                "choose False unless fluid fills the domain",
                UserWarning,
                stacklevel=_check.levels_to_caller(),
            )

    @_check.options
    def add(
        self,
        shape: Shape,
        material: Material,
        *,
        velocity: _scene.Velocity = 0,
        angular_velocity: npt.ArrayLike = 0,
        name: str | None = None,
    ) -> _scene.Body:
        """Add a body between steps; arguments as in `Scene.add`. Earlier views go stale but stay valid.

        Raises
        ------
        TypeError, ValueError
            As in `Scene.add`; another fluid than that of the scene; no point of the lattice is in the shape, or all are
            taken. Nothing has changed.
        """
        body = self._new_body(shape, material, velocity, angular_velocity, None, name)
        numerics.fluid_of([self._fluid, material])
        with self._adding():
            self._insert(body, *self._sample(self._scene, body, self._core.particles))
            self._core.totals()
        return body

    # ---- keeping ---------------------------------------------------------------------------------------

    def _snapshot(self, *, streamed: bool = False) -> Kept:
        layout = layout_of_rows(self._core, self.dimension, self.dtype)
        arrays = arrays_of(self._core, lambda _: layout, streamed=streamed)
        arrays["books"] = whole(arrays["books"]).view(np.uint8)
        numbers = {
            "options": self._numerics.described(),
            "fields": [fieldtable.declared(row) for row in self._core.fields() if row["owner"] == "user"],
            "parts": [asdict(part) for part in self._parts],
        }
        return Kept(self._scene, numbers, arrays)

    def _with_snapshot(self, use: Callable[[Kept], T], /) -> T:
        return held(self._core, lambda: use(self._snapshot(streamed=True)), again=True)

    @staticmethod
    def _format() -> Format:
        return InPieces

    @classmethod
    def _of(cls, kept: Kept, threads: int | None, /) -> Self:
        self = cls.__new__(cls)
        options, scene = mapping(kept.numbers["options"], "options"), kept.scene
        self._numerics = replace(numerics.Numerics.restored(scene, options), threads=threads)
        self._fluid = numerics.fluid_of(list(scene._filling))
        self._parts = parts_of(listing(kept.numbers["parts"], "parts"), whole(kept.arrays["counters"]))
        self._begin(scene)
        for row in listing(kept.numbers["fields"], "fields"):
            self._core.add_field(row["name"], row["unit"], row["rank"], row["initial"])
        hand_over(self._core, kept.arrays)
        try:
            self._core.totals()
        except SimulationError as error:  # no run saves such a state
            raise ValueError(str(error)) from error
        return self

    def _options(self) -> dict[str, Any]:
        return self._numerics.described() | {"dx": self._numerics.spacing}

    def _settings(self) -> tuple[settings.Setting, ...]:
        """Without the material's tension, which that of the simulation replaces."""
        of_scene = [one for one in settings.of_scene(self._scene) if one.key != "material 0 tension"]
        of_scene += [one for one in settings.of_contacts(self._scene) if "friction" not in one.key]
        own = self._numerics.settings()
        if not self._fluid.viscosity:
            own = [one for one in own if one.key not in numerics.OF_VISCOSITY]
        return (*of_scene, *own)

    def _rebuilt(self, changes: Mapping[str, Any]) -> Self:
        """It lacks bodies that were added later."""
        options = self._numerics.changed(changes)
        scene = settings.changed_scene(self._scene, changes)
        if not numerics.fluid_of([scene._filling[0]]).viscosity:
            for name in numerics.OF_VISCOSITY:
                if name not in changes:
                    options.pop(name, None)
        return type(self)(scene, threads=self.threads, **options)

    # ---- what it says ----------------------------------------------------------------------------------

    @property
    def spacing(self) -> float:
        """Distance of the particles at rest [m]."""
        return self._numerics.spacing

    @property
    def smoothing_length(self) -> float:
        """h [m]; the support of the kernel is 2h."""
        return self._numerics.smoothing * self._numerics.spacing

    @property
    def dtype(self) -> str:
        """``"float64"`` or ``"float32"``."""
        return self._numerics.dtype

    _rubs = False

    def _material_of_bodies(self) -> dict[str, int]:
        return dict.fromkeys([body.name for body in self._scene.bodies], 0) | super()._material_of_bodies()

    def _material(self, index: int) -> Material:
        return self._fluid

    def _is_material(self, index: int, material: Material) -> bool:
        return True  # there is one fluid

    def _take_material(self, index: int, material: Material, bodies: Mapping[str, _scene.Body]) -> None:
        before = repr(self.materials[0])
        self._fluid = cast(Fluid, material)
        now = repr(self.materials[0])
        self._parts = [
            part if isinstance(part, Gone) else replace(part, text=part.text.replace(before, now))
            for part in self._parts
        ]

    @property
    def materials(self) -> tuple[Material, ...]:
        """The fluid, with the tension of the simulation; ``particles.material`` indexes it."""
        return (replace(self._fluid, tension=self._numerics.tension),)

    def stable_dt(self) -> StableDt:
        """The bound of the time step in the current state, with its limit and its particle.

        ``"wave"`` 1.7 h/c; ``"viscosity"`` 0.1 h²/ν, with ν of the fluid at the least density of the state
        (twice as large by the form ``"central"``) and of `alpha`; ``"motion"`` h/(2 |v|); ``"acceleration"`` √(h/g).
        No point of a collider that may come near the fluid in such a step moves farther than h/2 in it, also by
        rotation and between keyframes; this counts as ``"motion"`` without a particle. `mpm.doctor` names the collider.
        """
        dt, limit, row = self._core.stable_dt()
        return StableDt(dt, limit, None if row < 0 else row)

    def _interpolated(self, points: FloatArray, values: FloatArray, name: str, rank: str) -> FloatArray:
        found = self._core.interpolate(points, values, rank, name == "v")
        return np.frombuffer(found).reshape(len(points), values.shape[1]).copy()

    def state_hash(self) -> str:
        """Hexadecimal digest of all that decides how a run continues; runs that are equal bit for bit share it.

        It covers the particles with the clock, the domain with gravity and walls, the numerics, the fluid and the
        colliders. It leaves out threads, views, recorded data and functions (body forces).
        """
        flows = map(repr, (*self._scene.emitters, *self._scene.drains))
        digest = self._digest(self._numerics.described(), repr(self._fluid), *flows)
        arrays = self._core.snapshot()
        digest.update(arrays["counters"][:16])  # steps, next id
        for name in sorted(arrays.keys() - {"history", "books", "numbers", "counters"}):
            digest.update(name.encode())
            digest.update(arrays[name])
        return digest.hexdigest()

    def cite(self) -> str:
        """References of the methods in use, one per line."""
        chosen, fluid = self._numerics, self._fluid
        entries = [*numerics.REFERENCES, *chosen.cited()]
        entries += [("viscosity", numerics.VISCOSITY[chosen.viscosity])] * (fluid.viscosity > 0)
        entries.append(("fluid", fluid.reference))
        return "\n".join(f"{purpose}: {reference}" for purpose, reference in entries)

    def _limit(self) -> str:
        if self._numerics.dt:
            return ""
        try:
            return f" (limit: {self.stable_dt().limit})"
        except SimulationError:  # NaN was written, say: the next step raises it, not repr
            return ""

    def _lines(self) -> Iterator[str]:
        chosen = self._numerics
        unit = totals.per_depth("kg", self.dimension)
        share = numerics.calibration(chosen, self.dimension)
        mass = self._fluid.density * chosen.spacing**self.dimension * share
        lefts = dict(zip([part.name for part in self._parts], self._lefts(), strict=True))

        def line(part: Part | Gone) -> str:
            if isinstance(part, Gone):
                return part.text
            left = lefts[part.name]
            fewer = f", of which {left} are left" * (left < part.particles)
            weight = (
                f", {part.particles * mass:.6g} {unit} (of ρ₀ spacing^{self.dimension} each: {share:.4g})"
            )
            return f"{part.text}: {part.particles} particles{weight}{fewer}"

        yield from _check.ends(self._parts, "bodies", line)
        yield from super()._lines()
        extras = ", constant ν" * (chosen.constant_viscosity == "kinematic")
        extras += f", alpha {chosen.alpha:g}" * (chosen.alpha > 0) + f", XSPH {chosen.xsph:g}" * (
            chosen.xsph > 0
        )
        extras += f", repulsion {chosen.repulsion:g}" * (chosen.repulsion > 0)
        extras += ", tension" if chosen.tension else ", no tension"
        yield (
            f"method  SPH, spacing {chosen.spacing:g} m, h = {chosen.smoothing:g} spacings, {chosen.kernel} kernel, "
            f"{chosen.viscosity} viscosity{extras}, {self._stepping(chosen.dt)}"
        )
        yield self._machine(chosen.dtype, self._core.memory())
