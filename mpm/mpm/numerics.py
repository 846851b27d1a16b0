"""The options of `mpm.Simulation` as a table, what they ask of a scene and its laws, and the core that has them."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mpm import _core
from mpm.base import _check
from mpm.base._check import Unset
from mpm.base.options import NEEDED, Choice, CoreRows, Flag, Number, Row, option, rows
from mpm.materials import bands
from mpm.materials.laws import Material
from mpm.mpm import citations, devices, faces
from mpm.scene import heat, pores, solutes, walls
from mpm.scene.conduction import supply_of
from mpm.scene.contacts import named_pairs, refuse_bars
from mpm.scene.domain import counted_cells
from mpm.scene.scene import Scene
from mpm.scene.waves import refuse_absorbing
from mpm.solver.options import Leaving
from mpm.solver.stepping import refuse_coarse_positions
from mpm.solver.totals import per_depth

CORE = CoreRows("mpm")
SAMPLINGS = ("lattice", "stratified", "random", "poisson")
VOLUMES = ("sampler", "grid-density")
TRANSFERS, KERNELS, GRADIENTS = (CORE.words(name) for name in ("transfer", "kernel", "gradient"))
INTEGRATORS = CORE.words("integrator")
GRADIENT_NAMES = {"mls": "MLS", "bspline": "B-spline"}

MAX_PER_CELL = 10_000
MOST_AT_NODE = 1000  # times the mass of the heaviest particle


def _generator(row: Row, value: object, others: Mapping[str, Any]) -> int | np.random.Generator:
    if isinstance(value, np.random.Generator):
        return value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise _check.wrong_type("rng", value, "an integer >= 0 or a numpy.random.Generator")
    return _check.integer("rng", value, low=0)


@dataclass(frozen=True)
class _Damping(Number):
    """The part of C that is gone where the core, which gets 1 - c_damping, keeps the rest."""

    def __call__(self, row: Row, value: object, others: Mapping[str, Any]) -> float:
        return float(1 - (1 - super().__call__(row, value, others)))


def _beta(row: Row, value: object, others: Mapping[str, Any]) -> float:
    found = _check.number("beta", value, low=0, high=1)
    if 0 < found < 0.5:
        raise ValueError(
            f"beta = {found:g}: must be 0, or from 0.5 to 1; between them no time step is stable"
        )
    return found


def _viscosity(row: Row, value: object, others: Mapping[str, Any]) -> tuple[float, float]:
    if value is None:
        return 0.0, 0.0
    linear, quadratic = _check.array("artificial_viscosity", value, (2,)).tolist()
    most = CORE.number("artificial_viscosity").most
    if not (0 <= linear <= most and 0 <= quadratic <= most):
        raise ValueError(
            f"artificial_viscosity = ({linear:g}, {quadratic:g}): both coefficients must be in [0, {most:g}]"
        )
    return linear, quadratic


DENSITY_CORRECTION = 2.0  # the default where there is a fluid


def has_fluid(materials: Iterable[Material]) -> bool:
    """Does one of the materials keep J alone?"""
    return any(material._row["strain"] == "J" for material in materials)


def _correction(row: Row, value: object, others: Mapping[str, Any]) -> float | None:
    if value is None:
        if others["integrator"] != "explicit":
            return 0.0
        return DENSITY_CORRECTION if has_fluid(others["scene"]._filling) else None
    return float(CORE.number("density_correction")(row, value, others))


@dataclass(frozen=True, kw_only=True)
class Numerics(Leaving):
    """The rows of the options of `mpm.Simulation`, which explains them."""

    _in_core = CORE

    dx: float = option(
        NEEDED,
        CORE.number("dx"),
        "m",
        "cell size; the domain must be a whole number of cells",
        viewer=True,
    )
    particles_per_cell: int = option(
        None, Number(1, MAX_PER_CELL, whole=True, none=0), "", "at the start", viewer=True
    )
    sampling: str = option(Unset("lattice"), Choice(SAMPLINGS), meaning="places of particles in cells")
    rng: int | np.random.Generator = option(
        Unset(0), _generator, meaning="generator of irregular samplings", kept=False
    )
    volume: str = option("sampler", Choice(VOLUMES), meaning="rest volume of particles", deformable=True)
    transfer: str = option(
        "apic",
        CORE.choice("transfer"),
        meaning="of velocities between particles and grid",
        viewer=True,
        cites=lambda chosen: citations.TRANSFER[chosen.transfer],
    )
    kernel: str = option("quadratic", CORE.choice("kernel"), meaning="B-spline", viewer=True)
    gradient: str = option(
        "mls",
        CORE.choice("gradient"),
        meaning="mls, or that of the B-spline",
        viewer=True,
        cites=lambda chosen: citations.GRADIENT[chosen.gradient],
    )
    flip_ratio: float = option(
        Unset(0.95),
        CORE.number("flip_ratio"),
        meaning="share of FLIP",
        users=("transfer", ("flip", "aflip", "asflip")),
        viewer=True,
        deformable=True,
    )
    xpic_order: int = option(
        Unset(2),
        CORE.number("xpic_order"),
        meaning="1 is PIC; each order more costs a transfer",
        users=("transfer", ("xpic",)),
        viewer=True,
        deformable=True,
    )
    advect: str = option(
        Unset("pic"),
        CORE.choice("advect"),
        meaning="velocity with which particles move",
        users=("transfer", ("flip", "aflip")),
        deformable=True,
    )
    f_update: str = option(
        "linear", CORE.choice("f_update"), meaning="of the deformation gradient", deformable=True
    )
    c_damping: float = option(
        0.0,
        _Damping(0, 1),
        meaning="damping of the symmetric part of C",
        users=("transfer", ("apic", "aflip", "asflip", "tpic")),
        viewer=True,
        cites=lambda chosen: [citations.DAMPING] * bool(chosen.c_damping),
    )
    f_bar: bool = option(
        False,
        Flag(),
        meaning="volume changes averaged around the centres of cells",
        left_out=False,
        cites=lambda chosen: citations.F_BAR * chosen.f_bar,
        deformable=True,
    )
    artificial_viscosity: tuple[float, float] = option(
        None,
        _viscosity,
        meaning="coefficients, linear and quadratic",
        left_out=(0.0, 0.0),
        cites=lambda chosen: [citations.ARTIFICIAL_VISCOSITY] * any(chosen.artificial_viscosity),
        deformable=True,
    )
    integrator: str = option(
        "explicit",
        CORE.choice("integrator"),
        meaning="how a step advances time",
        left_out="explicit",
        cites=lambda chosen: citations.INTEGRATOR[chosen.integrator] * chosen.is_implicit,
    )
    density_correction: float | None = option(  # None: nobody gave it, and no fluid has come yet
        None,
        _correction,
        meaning="rate at which J of fluids follows the density of the grid, over the shear rate",
        users=("integrator", ("explicit",)),
        left_out=None,
        cites=lambda chosen: citations.DENSITY_CORRECTION * bool(chosen.density_correction),
    )
    beta: float = option(
        Unset(1.0), _beta, meaning="factor of the linear model", users=("integrator", ("semi-implicit",))
    )
    tolerance: float = option(
        Unset(1e-3),
        CORE.number("tolerance"),
        meaning="residual of the solve over the first one",
        users=("integrator", INTEGRATORS[1:]),
    )
    max_iterations: int = option(
        Unset(20),
        CORE.number("max_iterations"),
        meaning="Newton iterations of a step",
        users=("integrator", ("implicit-euler", "implicit-midpoint")),
    )
    preconditioner: str = option(
        Unset("mass"),
        CORE.choice("preconditioner"),
        meaning="of the conjugate gradients",
        users=("integrator", INTEGRATORS[1:]),
    )
    projection: str = option(
        Unset("semidefinite"),
        CORE.choice("projection"),
        meaning="of the derivative of the forces",
        users=("integrator", ("semi-implicit",)),
    )
    particle_collisions: str = option(
        "deep", CORE.choice("particle_collisions"), meaning="where colliders hold particles", viewer=True
    )
    conduction: str = option(
        "explicit",
        CORE.choice("conduction"),
        meaning="of heat or a solute: in sub-steps, or by one solve",
        left_out="explicit",
        deformable=True,
    )
    dissipation: bool = option(
        False, Flag(), meaning="track the energy that the laws dissipate", left_out=False
    )
    damping: float = option(
        0.0, CORE.number("damping"), "1/s", meaning="by mass, of nodes", left_out=0.0, deformable=True
    )
    local_damping: float = option(
        0.0,
        CORE.number("local_damping"),
        meaning="share of the force out of balance that is lost",
        left_out=0.0,
        cites=lambda chosen: [citations.LOCAL_DAMPING] * bool(chosen.local_damping),
        deformable=True,
    )

    device: str = option(devices.HOST, devices.checked, meaning="where steps run", kept=False)

    @classmethod
    def checked(cls, scene: Scene, arguments: Mapping[str, Any]) -> Self:
        """The options of a simulation of the scene; errors name option, value and what is allowed."""
        values = cls._values(scene, arguments)
        if values["integrator"] == "semi-implicit" and values["beta"] == 0:
            for name in OF_SOLVES:
                if not isinstance(arguments.get(name, Unset(None)), Unset):
                    raise ValueError(
                        f"{name} = {_check.shown(arguments[name])}: beta = 0 does not use it, because its steps are "
                        "explicit and solve nothing; leave it out, or choose beta from 0.5 to 1"
                    )
        lower, upper, dx = scene.lower, scene.upper, values["dx"]
        refuse_coarse_positions(lower, upper, dx, values["dtype"])
        values["particles_per_cell"] = values["particles_per_cell"] or 2**scene.dimension
        cells = counted_cells("dx", lower, upper, dx)
        chosen = cls(**values, cells=cells)
        walls.refuse_periodic_fates(scene.walls, chosen.on_leave)
        walls.refuse_few_cells(scene.walls, chosen.cells, dx)
        chosen._refuse_contact(scene)
        chosen._refuse_solute(scene)
        for material in scene._filling:
            faces.refuse(chosen, scene, material, scene._filling)
        chosen._refuse_pore(scene)
        chosen._refuse_heat(scene)
        chosen.refuse_dashpots(scene)
        if chosen.kernel == "linear" and not chosen.dt:
            warnings.warn(
                "kernel = 'linear': dt='auto' has no safe step for it: its gradient jumps where particles cross cells, "
                "so that bodies may gain energy or blow up at any dt; watch history['energy'], lower max_dt, or choose "
                "the quadratic kernel",
                UserWarning,
                stacklevel=_check.levels_to_caller(),
            )
        return chosen

    @classmethod
    def restored(cls, scene: Scene, entries: Mapping[str, Any]) -> Self:
        """As of the base. Descriptions of older versions leave the correction of densities out where a fluid has
        none."""
        none = {"density_correction": 0.0} if has_fluid(scene._filling) else {}
        return super().restored(scene, none | dict(entries))

    def on(self, device: str) -> Self:
        """The same on another device."""
        return replace(self, device=devices.checked(rows(Numerics)["device"], device, {}))

    def with_materials(self, materials: Iterable[Material]) -> Self:
        """The same with the defaults that the first fluid brings."""
        if self.density_correction is None and has_fluid(materials):
            return replace(self, density_correction=DENSITY_CORRECTION)
        return self

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel == "linear" and self.gradient == "mls":
            raise ValueError(
                "gradient = 'mls': must be 'bspline' for kernel='linear': with the moments D = h² f(1 - f) of this "
                "kernel, the least-squares gradient is that of the B-spline, but for a particle on a node, where D is 0"
            )
        if self.f_bar and self.f_update != "linear":
            increment = (
                "increment of F is not" if self.f_update == "cayley" else "change of volume is not that of"
            )
            raise ValueError(
                f"f_bar = True: must be False for f_update={self.f_update!r}, whose {increment} I + dt ∇v"
            )
        if any(self.artificial_viscosity) and self.c_damping:
            raise ValueError(
                "artificial_viscosity = ({:g}, {:g}): must be None for c_damping > 0, which removes the rate of "
                "compression that it acts on".format(*self.artificial_viscosity)
            )
        explicit = ("f_bar", "artificial_viscosity", "dissipation", "damping", "local_damping")
        for name in explicit if self.is_implicit else ():
            if (value := getattr(self, name)) != rows(Numerics)[name].left_out:
                raise ValueError(
                    f"{name} = {value}: integrator={self.integrator!r} does not use it, only 'explicit'; leave it out"
                )
        count, d = self.particles_per_cell, len(self.cells)
        if self.sampling in ("stratified", "lattice") and round(count ** (1 / d)) ** d != count:
            allowed = ", ".join(str(k**d) for k in range(1, 5))
            raise ValueError(
                f"particles_per_cell = {count}: must be k^{d} ({allowed}, ...) for sampling={self.sampling!r}; "
                "'random' and 'poisson' take any"
            )

    def _refuse_contact(self, scene: Scene) -> None:
        if not scene._touches:
            return
        refuse_bars(one.name for one in (*scene.bodies, *scene.emitters, *scene.colliders, *scene.loads))
        which = f"contact = {scene.contact!r}" if scene.contact.contact != "bonded" else "set_contact"
        if self.is_implicit:
            raise ValueError(
                f"{which}: integrator = {self.integrator!r} solves for one velocity field, in which bodies are bonded; "
                "use integrator='explicit', or leave the contact out"
            )
        if self.kernel == "linear":
            raise ValueError(
                f"{which}: kernel = 'linear' reaches one cell, within which gaps between bodies cannot be told; use "
                "'quadratic' or 'cubic', or leave the contact out"
            )

    def refuse_dashpots(self, scene: Scene) -> None:
        """Raise ValueError for an absorbing wall or collider that nothing can have."""
        if self.is_implicit:
            refuse_absorbing(scene, "implicit steps have no dashpots, and damp waves by themselves")
        if any(material._row["rigid"] for material in scene._filling):
            refuse_rigid_at_dashpots(scene)

    def _refuse_heat(self, scene: Scene) -> None:
        heat.refuse_heaters(scene)
        heat.refuse_few_cells(scene, self.cells)
        if not heat.conducts(scene):
            if self.conduction != "explicit" and not solutes.dissolves(scene):
                raise ValueError(
                    f"conduction = {self.conduction!r}: no body conducts heat or a solute: not used; give their "
                    "materials thermal=mpm.Thermal(...) or solute=mpm.Solute(...), or leave it out"
                )
            return
        for name, material in heat.named(scene):
            heat.refuse_thermal(material, name, scene)
            heat.refuse_unheated(material, name, self.dissipation)
        if self.kernel == "linear":
            raise ValueError(
                "kernel = 'linear': its gradient jumps, so that conduction is of no order; use 'quadratic' or 'cubic', "
                "or leave thermal= out"
            )

    def _refuse_solute(self, scene: Scene) -> None:
        solutes.refuse_suppliers(scene)
        solutes.refuse_beside(scene)
        if solutes.dissolves(scene) and self.kernel == "linear":
            raise ValueError(
                "kernel = 'linear': its gradient jumps, so that diffusion is of no order; use 'quadratic' or 'cubic', "
                "or leave solute= out"
            )

    def _refuse_pore(self, scene: Scene) -> None:
        pores.refuse_walls(scene)
        if not pores.saturated(scene):
            return
        pores.refuse_beside_heat(scene)
        for name, material in heat.named(scene):
            pores.refuse_material(material, name, scene)
        for face, wall in scene.walls.items():
            count = self.cells["xyz".index(face[0])]
            if pores.wall_pressure(scene, face, wall) and count < _core.FEWEST_PERIODIC_CELLS:
                raise ValueError(
                    f"walls[{face!r}]: {wall!r}: there are {count} cells along {face[0]}; must be >= "
                    f"{_core.FEWEST_PERIODIC_CELLS} for a head or pore pressure"
                )
        if self.is_implicit:
            raise ValueError(
                f"integrator = {self.integrator!r}: pore water is explicit, and its pressure is not part of the solve; "
                "use 'explicit', or leave pore= out"
            )
        if self.kernel == "linear":
            raise ValueError(
                "kernel = 'linear': its gradient jumps, so that flow in pores is of no order; use 'quadratic' or "
                "'cubic', or leave pore= out"
            )

    @property
    def is_implicit(self) -> bool:
        """Does a step solve for the velocities? With beta = 0 the semi-implicit method is the explicit one."""
        return self.integrator != "explicit" and not (self.integrator == "semi-implicit" and self.beta == 0)

    def _uses(self, row: Row) -> bool:
        return super()._uses(row) and (row.name not in OF_SOLVES or self.is_implicit)

    def scheme(self) -> str:
        """The transfer between particles and grid, in words."""
        used = [f"{self.transfer.upper()}"]
        if self._uses(rows(Numerics)["flip_ratio"]):
            used.append(f"ratio {self.flip_ratio:g}")
        if self._uses(rows(Numerics)["xpic_order"]):
            used.append(f"order {self.xpic_order}")
        if self.advect == "particle":
            used.append("moving with v_p")
        if self.c_damping:
            used.append(f"C damped by {self.c_damping:g}")
        used += [f"{self.kernel} B-spline", f"{GRADIENT_NAMES[self.gradient]} gradient"]
        if self.f_update != "linear":
            used.append({"cayley": "Cayley update of F", "trace": "J by the trace"}[self.f_update])
        used += ["F-bar"] * self.f_bar
        if self.density_correction:
            used.append(f"density of fluids corrected at {self.density_correction:g} of the shear rate")
        if any(self.artificial_viscosity):
            used.append("artificial viscosity {:g}, {:g}".format(*self.artificial_viscosity))
        if self.damping:
            used.append(f"damping {self.damping:g}/s")
        if self.local_damping:
            used.append(f"local damping {self.local_damping:g}")
        return ", ".join(used)

    def solver(self) -> str:
        """How a step advances time, in words."""
        used = [self.integrator]
        if self.integrator == "semi-implicit":
            used.append(f"β = {self.beta:g}")
        if self.is_implicit:
            used.append(f"tolerance {self.tolerance:g}")
        if self.preconditioner != "mass":
            used.append(f"preconditioned by {self.preconditioner}")
        if self.projection != "semidefinite":
            used.append("tangent not projected")
        return ", ".join(used)


OF_SOLVES = ("tolerance", "max_iterations", "preconditioner", "projection")  # options of steps that solve


def unused_by_bodies(scene: Scene) -> tuple[str, ...]:
    """The options that only bodies which deform use, if all bodies of the scene are rigid."""
    if not all(material._row["rigid"] for material in scene._filling):
        return ()
    return tuple(name for name, row in rows(Numerics).items() if row.deformable)


def refuse_rigid_at_dashpots(scene: Scene) -> None:
    """Raise ValueError for an absorbing wall or collider beside a rigid body."""
    refuse_absorbing(scene, "a rigid body has no waves, and nothing would hold it at the face")


def refuse_unused(scene: Scene, chosen: Numerics, arguments: Mapping[str, Any]) -> None:
    """Raise ValueError for options that are set, but that no body of the scene uses."""
    for name in unused_by_bodies(scene):
        if rows(Numerics)[name].is_set(arguments[name], vars(chosen) | {"scene": scene}):
            raise ValueError(
                f"{name} = {_check.shown(arguments[name])}: all bodies of the scene are Rigid, which do not use it; "
                "leave it out"
            )
    if chosen.density_correction and not has_fluid(scene._filling):
        raise ValueError(
            f"density_correction = {chosen.density_correction:g}: no material of the scene is a Fluid, and no other "
            "law uses it; leave it out"
        )


def warn_of_f_bar(scene: Scene, chosen: Numerics) -> None:
    """Warn of F-bar beside a fluid or a solid that cracks."""
    words = []
    if chosen.f_bar and has_fluid(scene._filling):
        words.append(
            "f_bar = True: F-bar creates volume where a Fluid splashes; it is for solids that hardly change their "
            "volume. Leave it out: density_correction keeps the volume of fluids"
        )
    if chosen.f_bar and (cracking := next(filter(bands.fractures, scene._filling), None)):
        words.append(
            f"f_bar = True: F-bar gives whole particles of {type(cracking).__name__} the volume change of a crack "
            "beside them, so that cracks dissipate a third more than fracture_energy, without work of the forces; it "
            "is for solids that hardly change their volume. Leave it out"
        )
    for word in words:
        warnings.warn(word, UserWarning, stacklevel=_check.levels_to_caller())


def new_core(
    scene: Scene, chosen: Numerics, *, gravity: _check.FloatArray | None = None, load: float = 0.0
) -> _core.Simulation:
    """A core without materials, colliders and particles.

    `gravity` (d,) replaces that of the scene. The tolerance of implicit steps is relative to dt times `load`
    [N/kg^½]; 0: to the first residual.
    """
    arguments = chosen._for_core(scene) | {
        "c_keep": 1 - chosen.c_damping,
        "load": load,
        "contact": scene._touches or faces.exist(scene._filling),
        "faces": faces.exist(scene._filling),
        "heat": heat.conducts(scene) or pores.saturated(scene) or solutes.dissolves(scene),
        "pore": pores.saturated(scene),
        "solute": solutes.dissolves(scene),
    }
    if chosen.density_correction is None:
        arguments["density_correction"] = DENSITY_CORRECTION  # of fluids that are added later
    if gravity is not None:
        arguments["gravity"] = gravity.tolist()
    if chosen.device != devices.HOST:
        arguments["isa"] = "scalar"  # whose layout is that of a GPU: one particle after the other
    core = _core.Simulation(**arguments)
    if scene._touches:
        _set_contacts(core, scene)
    if faces.exist(scene._filling):
        core.set_contact("separate", faces.friction(scene._filling), 0.0)
    for face, name in enumerate(scene.walls):
        if found := supply_of(scene, name):
            core.set_heat_wall(face, *found)
    return core


def add_material(
    core: _core.Simulation, scene: Scene, material: Material, layer: int, chosen: Numerics
) -> int:
    """Register a material of a layer with the core."""
    devices.provide(core, scene, chosen, material)
    index = core.add_material(*resolved(chosen, material)._core_arguments, material._one_density)
    if layer:
        core.set_layer(index, layer)
    _, followed = material._followed
    names = [p["name"] for p in material._row["parameters"] if p["name"] != "density"]
    scales = tuple(
        (names.index(name), at, tuple(getattr(material, name) * one for one in factor))
        for name, at, factor in (followed._tables if followed is not None else ())
    )
    if (thermal := material.thermal) is not None:
        numbers = thermal.conductivity, thermal.specific_heat, thermal.temperature, material._least_density()
        liquid = (*thermal._of_liquid, heat.liquid_stretch(material, len(chosen.cells)))
        core.set_thermal(index, *numbers, thermal.expansion, thermal.taylor_quinney, liquid, scales)
    if (solute := material.solute) is not None:
        at, stretches = solute._stretches
        swelling = 0.0 if isinstance(solute.swelling, tuple) else solute.swelling
        stretch = ((0, at, stretches),) if at else ()
        core.set_solute(index, solute.diffusivity, solute.concentration, swelling, stretch, scales)
    if (pore := material.pore) is not None:
        core.set_pore(index, *pore._core_arguments(material._least_density()))
    return index


def resolved(chosen: Numerics, material: Material) -> Material:
    """The material, with parameters of its law that follow from the grid."""
    return material._resolved(chosen.dx, chosen.kernel)


def _set_contacts(core: _core.Simulation, scene: Scene) -> None:
    """Tell a core how the layers of a scene touch, and which pairs have columns in the history."""
    default = scene.contact
    if default.contact != "bonded":
        core.set_contact(default.contact, default.friction, default.adhesion)
    layers = scene._layers()
    given: dict[tuple[int, int], tuple[str, float, float]] = {}
    for (a, b), one in scene.contacts.items():
        i, j = sorted((layers[a], layers[b]))
        rule = (one.contact, one.friction, one.adhesion)
        if i == j:
            continue
        if given.setdefault((i, j), rule) != rule:
            raise ValueError(
                f"contact of {a!r} and {b!r} is {one!r}, and bodies that are bonded to them have another one; all of "
                "them are two pieces, which touch in one way: make the contacts agree with set_contact"
            )
        core.set_pair(i, j, *rule, None)
    for name, (i, j) in named_pairs(layers, scene.contacts).items():
        core.set_pair(i, j, None, 0.0, 0.0, name)


def stored_C(
    chosen: Numerics, gradient: _check.FloatArray | None, x: _check.FloatArray, lower: _check.FloatArray
) -> _check.FloatArray | None:
    """What particles at x (n, d) store for a velocity gradient (n, d, d); None: 0.

    The gradient itself, but with the linear kernel and transfers by B: 4/dx² B, B = ∇v D, D = dx² f (1 − f).
    """
    stores_B = chosen.kernel == "linear" and chosen.transfer in ("apic", "aflip", "asflip")
    if gradient is None or not stores_B:
        return gradient
    f = (x - lower) / chosen.dx
    f -= np.floor(f)
    return np.ascontiguousarray(gradient * (4 * f * (1 - f))[:, None, :])


def refuse_material(chosen: Numerics, material: Material) -> None:
    """Raise ValueError if the scheme or the integrator cannot take a step with a material's law."""
    row = material._row
    if chosen.f_update == "trace" and row["strain"] == "F" and not row["rigid"]:
        raise ValueError(
            f"material = {_check.shown(material)}: f_update='trace' advances a volume ratio alone, and this law keeps "
            "the deformation gradient F; use f_update='linear' or 'cayley'"
        )
    resolved(chosen, material)  # raises if the grid is too coarse
    if not chosen.is_implicit:
        return
    if material._row["rigid"]:
        raise ValueError(
            f"material = {material!r}: implicit steps do not move rigid bodies; use "
            "integrator='explicit', or a collider"
        )
    tangent = material._row["tangent"]
    if tangent is None:
        raise ValueError(
            f"material = {_check.shown(material)}: its law has no tangent{material._no_tangent}, which "
            f"integrator={chosen.integrator!r} needs; use integrator='explicit'"
        )
    if tangent == "mapped" and chosen.integrator == "semi-implicit":
        raise ValueError(
            f"material = {material!r}: integrator='semi-implicit' has one linear solve, which does not see where the "
            "material yields; use integrator='implicit-euler'"
        )


def refuse_history_out_of_range(material: Material, dtype: str) -> None:
    """Raise ValueError if the history of a law begins with a number that is too large for the precision of the run."""
    for field in material._row["history"]:
        name = field["initial_parameter"]
        if name in material._varies:  # checked at every particle
            continue
        value = material._parameter(name) if name else field["initial"]
        if not abs(value) <= float(np.finfo(dtype).max):
            raise ValueError(
                f"{name or field['name']} = {value:g} of {type(material).__name__}: is beyond the range of {dtype}: "
                "use other units" + (" or float64" if dtype == "float32" else "")
            )


def refuse_out_of_range(
    mass: _check.FloatArray,
    volume: _check.FloatArray,
    v: _check.FloatArray,
    F: _check.FloatArray | None,
    dtype: str,
    dx: float,
) -> None:
    """Raise ValueError if a number is too large, or a mass too small, for the precision of the run."""
    other = "use other units" + (" or float64" if dtype == "float32" else "")
    kg = per_depth("kg", v.shape[1])
    with np.errstate(over="ignore", under="ignore"):
        held = mass.astype(dtype)
        # Far enough from the smallest numbers that momenta, which are smaller, do not underflow.
        least = 1e-26 if dtype == "float32" else 1e-280
        if not ((held > least) & np.isfinite(held)).all():
            raise ValueError(
                f"density: particles of {mass.min():g} to {mass.max():g} {kg} are beyond the range of {dtype}; "
                f"must be > {least:g} and < {np.finfo(dtype).max:.2g} {kg}: {other}"
            )
        # Nodes sum up mass times distance. Hundreds of particles may be at one.
        most = float(np.finfo(dtype).max) / MOST_AT_NODE
        if mass.max() * dx > most:
            raise ValueError(
                f"dx = {dx:g}: times the mass of a particle, {mass.max():g} {kg}, is beyond the range of {dtype}; the "
                f"product must be <= {most:.2g}: choose a smaller dx or density, or {other}"
            )
        held = volume.astype(dtype)
        if not ((held >= np.finfo(dtype).tiny) & np.isfinite(held)).all():
            raise ValueError(
                f"shape: particle volumes of {volume.min():g} to {volume.max():g} m^d are beyond the range of {dtype}"
            )
        for name, values in (("velocity", v), ("F", F)):
            if values is not None and not np.isfinite(values.astype(dtype)).all():
                raise ValueError(f"{name}: {np.abs(values).max():g} is beyond the range of {dtype}")
        fastest = float((mass * np.abs(v).max(axis=1)).max(initial=0))
        if 0 < fastest < np.finfo(dtype).tiny:
            raise ValueError(
                f"velocity: momenta of at most {fastest:g} kg m/s are beyond the range of {dtype}: use other units"
            )
