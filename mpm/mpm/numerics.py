"""The numerical options of a simulation, completely checked before anything is built."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm import _core, config
from mpm.base import _check
from mpm.materials.laws import Material
from mpm.scene import walls
from mpm.scene.domain import counted_cells
from mpm.scene.scene import Scene
from mpm.solver.stepping import (
    MAX_HISTORY,
    DType,
    checked_dtype,
    refuse_coarse_positions,
    refuse_short_steps,
    time_step,
)
from mpm.solver.totals import per_depth

SAMPLINGS = ("lattice", "stratified", "random", "poisson")
VOLUMES = ("sampler", "grid-density")
TRANSFERS = ("pic", "flip", "apic", "aflip", "asflip", "xpic", "tpic")
KERNELS = ("linear", "quadratic", "cubic")
GRADIENTS = ("mls", "bspline")
ADVECTIONS = ("pic", "particle")
F_UPDATES = ("linear", "cayley", "trace")
PARTICLE_COLLISIONS = ("deep", "surface", "off")

PRECONDITIONERS = ("mass", "stiffness")
PROJECTIONS = ("semidefinite", "none")
INTEGRATORS = ("explicit", "semi-implicit", "implicit-euler", "implicit-midpoint")

GRADIENT_NAMES = {"mls": "MLS", "bspline": "B-spline"}

# Options that only some samplings and bodies use, with their defaults: set with others, they raise.
SAMPLING = _check.Unset("lattice")
RNG = _check.Unset(0)
# Options that only some transfers use, with their defaults: set with another transfer, they raise.
FLIP_RATIO = _check.Unset(0.95)
XPIC_ORDER = _check.Unset(2)
ADVECT = _check.Unset("pic")
USED_BY = {
    "flip_ratio": ("flip", "aflip", "asflip"),
    "xpic_order": ("xpic",),
    "advect": ("flip", "aflip"),
    "c_damping": ("apic", "aflip", "asflip", "tpic"),
}
# Options that only some integrators use.
BETA = _check.Unset(1.0)
TOLERANCE = _check.Unset(1e-3)
MAX_ITERATIONS = _check.Unset(20)
PRECONDITIONER = _check.Unset("mass")
PROJECTION = _check.Unset("semidefinite")
SOLVED_BY = {
    "beta": ("semi-implicit",),
    "tolerance": INTEGRATORS[1:],
    "max_iterations": ("implicit-euler", "implicit-midpoint"),
    "preconditioner": INTEGRATORS[1:],
    "projection": ("semi-implicit",),
}
LEAST_TOLERANCE = {"float64": 1e-10, "float32": 1e-4}
MOST_ITERATIONS = 200  # MPM_NEWTON_MOST
MOST_VISCOSITY = 100  # of settings.c
# Each order costs one more sweep over all particles, and the series has converged long before.
MAX_XPIC_ORDER = 50

SMALLEST_DX, LARGEST_DX = 1e-90, 1e90
MAX_PER_CELL = 10_000
MOST_AT_NODE = 1000  # times the mass of the heaviest particle


@dataclass(frozen=True, slots=True)
class Scheme:
    """How momentum goes to the grid and back; the fields of the core's ``scheme``, in its order."""

    transfer: str
    kernel: str
    gradient: str
    flip_ratio: float
    xpic_order: int
    advect_particle: bool
    f_update: str
    c_keep: float
    f_bar: bool = False
    viscosity: tuple[float, float] = (0.0, 0.0)  # linear, quadratic

    def __str__(self) -> str:
        used = [f"{self.transfer.upper()}"]
        if self.transfer in USED_BY["flip_ratio"]:
            used.append(f"ratio {self.flip_ratio:g}")
        if self.transfer in USED_BY["xpic_order"]:
            used.append(f"order {self.xpic_order}")
        if self.advect_particle:
            used.append("moving with v_p")
        if self.c_keep != 1:
            used.append(f"C damped by {1 - self.c_keep:g}")
        used += [f"{self.kernel} B-spline", f"{GRADIENT_NAMES[self.gradient]} gradient"]
        if self.f_update != "linear":
            used.append({"cayley": "Cayley update of F", "trace": "J by the trace"}[self.f_update])
        used += ["F-bar"] * self.f_bar
        if any(self.viscosity):
            used.append("artificial viscosity {:g}, {:g}".format(*self.viscosity))
        return ", ".join(used)


@dataclass(frozen=True, slots=True)
class Integrator:
    """How a step advances time; the fields of the core's ``integrator``, in its order."""

    name: str
    beta: float
    tolerance: float
    max_iterations: int
    preconditioner: str
    projection: str = "semidefinite"

    @property
    def is_implicit(self) -> bool:
        """Does a step solve for the velocities? With beta = 0 the semi-implicit method is the explicit one."""
        return self.name != "explicit" and not (self.name == "semi-implicit" and self.beta == 0)

    def __str__(self) -> str:
        used = [self.name]
        if self.name in SOLVED_BY["beta"]:
            used.append(f"β = {self.beta:g}")
        if self.is_implicit:
            used.append(f"tolerance {self.tolerance:g}")
        if self.preconditioner != PRECONDITIONER.value:
            used.append(f"preconditioned by {self.preconditioner}")
        if self.projection != PROJECTION.value:
            used.append("tangent not projected")
        return ", ".join(used)


@dataclass(frozen=True, slots=True)
class Numerics:
    """Checked options, see `mpm.Simulation`."""

    dx: float
    cells: tuple[int, ...]
    particles_per_cell: int
    sampling: str
    volume: str
    scheme: Scheme
    integrator: Integrator
    particle_collisions: str
    dt: float  # 0: automatic
    max_dt: float  # inf: none
    allow_unstable: bool
    dtype: DType
    threads: int
    on_leave: str | dict[str, str]  # as `walls.leaving` returns it
    history: int
    dissipation: bool = False


def check(
    lower: npt.NDArray[np.float64],
    upper: npt.NDArray[np.float64],
    *,
    dx: object,
    particles_per_cell: object = None,
    sampling: object = SAMPLING,
    volume: object = "sampler",
    transfer: object = "apic",
    kernel: object = "quadratic",
    gradient: object = "mls",
    flip_ratio: object = FLIP_RATIO,
    xpic_order: object = XPIC_ORDER,
    advect: object = ADVECT,
    f_update: object = "linear",
    c_damping: object = 0.0,
    f_bar: object = False,
    artificial_viscosity: object = None,
    integrator: object = "explicit",
    beta: object = BETA,
    tolerance: object = TOLERANCE,
    max_iterations: object = MAX_ITERATIONS,
    preconditioner: object = PRECONDITIONER,
    projection: object = PROJECTION,
    particle_collisions: object = "deep",
    dt: object = "auto",
    max_dt: object = None,
    allow_unstable: object = False,
    dtype: object = "float64",
    threads: object = None,
    on_leave: object = "raise",
    history: object = 1,
    dissipation: object = False,
) -> Numerics:
    """Check every option of `mpm.Simulation`, with its defaults; errors name option, value and what is allowed."""
    d = len(lower)
    sampling = _check.choice("sampling", SAMPLING.value if sampling is SAMPLING else sampling, SAMPLINGS)
    # Within these limits, volumes of cells and their inverses do not overflow.
    spacing = _check.number("dx", dx, low=SMALLEST_DX, high=LARGEST_DX, unit="m")
    step, bound, unstable = time_step(dt, max_dt, allow_unstable)
    precision = checked_dtype(dtype)
    refuse_short_steps(step, bound, precision)
    refuse_coarse_positions(lower, upper, spacing, precision)
    scheme = _scheme(transfer, kernel, gradient, flip_ratio, xpic_order, advect, f_update, c_damping)
    scheme = replace(
        scheme,
        f_bar=_f_bar(f_bar, scheme),
        viscosity=_artificial_viscosity(artificial_viscosity, scheme),
    )
    method = _integrator(integrator, beta, tolerance, max_iterations, preconditioner, projection, precision)
    books = _check.flag("dissipation", dissipation)
    _refuse_explicit_only(scheme, method, books)
    if scheme.kernel == "linear" and not step:
        warnings.warn(
            "kernel = 'linear': dt='auto' has no safe step for it: its gradient jumps where particles cross cells, so "
            "that bodies may gain energy or blow up at any dt; watch history['energy'], lower max_dt, or choose the "
            "quadratic kernel",
            UserWarning,
            stacklevel=_check.levels_to_caller(),
        )
    return Numerics(
        dx=spacing,
        cells=_cells(lower, upper, spacing),
        particles_per_cell=_particles_per_cell(particles_per_cell, sampling, d),
        sampling=sampling,
        volume=_check.choice("volume", volume, VOLUMES),
        scheme=scheme,
        integrator=method,
        particle_collisions=_check.choice("particle_collisions", particle_collisions, PARTICLE_COLLISIONS),
        dt=step,
        max_dt=bound,
        allow_unstable=unstable,
        dtype=precision,
        threads=(
            config.get_num_threads()
            if threads is None
            else _check.integer("threads", threads, low=1, high=config.MAX_THREADS)
        ),
        on_leave=walls.leaving(on_leave, d),
        history=_check.integer("history", history, low=0, high=MAX_HISTORY),
        dissipation=books,
    )


def new_core(
    scene: Scene, chosen: Numerics, *, gravity: _check.FloatArray | None = None, load: float = 0.0
) -> _core.Simulation:
    """A core without materials, colliders and particles.

    `gravity` (d,) replaces that of the scene. The tolerance of implicit steps is relative to dt times `load`
    [N/kg^½]; 0: to the first residual.
    """
    return _core.Simulation(
        dim=scene.dimension,
        dtype=chosen.dtype,
        lower=scene.lower.tolist(),
        cells=chosen.cells,
        dx=chosen.dx,
        gravity=(scene.gravity if gravity is None else gravity).tolist(),
        walls=[(wall.contact, wall.friction, wall.restitution) for wall in scene.walls.values()],
        scheme=astuple(chosen.scheme),
        integrator=(*astuple(chosen.integrator), load),
        particle_collisions=chosen.particle_collisions,
        dt=chosen.dt,
        max_dt=chosen.max_dt,
        allow_unstable=chosen.allow_unstable,
        on_leave=walls.fates(chosen.on_leave, scene.dimension),
        dissipation=chosen.dissipation,
        history=chosen.history,
        threads=chosen.threads,
        isa=config.isa(),
    )


def options(chosen: Numerics) -> dict[str, Any]:
    """The keywords of `mpm.Simulation` that give these numerics, but for `threads` and `rng`; what JSON can hold."""
    scheme = chosen.scheme
    sometimes = {
        "flip_ratio": scheme.flip_ratio,
        "xpic_order": scheme.xpic_order,
        "advect": "particle" if scheme.advect_particle else "pic",
        "c_damping": 1 - scheme.c_keep,  # exact, because c_keep is computed as 1 - c_damping
    }
    fixed = chosen.dt > 0
    solver = chosen.integrator
    implicit = {
        "integrator": solver.name,
        **{
            name: getattr(solver, name)
            for name in SOLVED_BY
            if solver.name in SOLVED_BY[name] and (solver.is_implicit or name == "beta")
        },
    }
    return {
        "dx": chosen.dx,
        "particles_per_cell": chosen.particles_per_cell,
        "sampling": chosen.sampling,
        "volume": chosen.volume,
        "transfer": scheme.transfer,
        "kernel": scheme.kernel,
        "gradient": scheme.gradient,
        **{name: value for name, value in sometimes.items() if scheme.transfer in USED_BY[name]},
        "f_update": scheme.f_update,
        **({"f_bar": True} if scheme.f_bar else {}),
        **({"artificial_viscosity": list(scheme.viscosity)} if any(scheme.viscosity) else {}),
        **(implicit if solver.name != "explicit" else {}),
        "particle_collisions": chosen.particle_collisions,
        "dt": chosen.dt if fixed else "auto",
        "max_dt": None if fixed or chosen.max_dt == math.inf else chosen.max_dt,
        "allow_unstable": chosen.allow_unstable,
        "dtype": chosen.dtype,
        "on_leave": chosen.on_leave,
        "history": chosen.history,
        **({"dissipation": True} if chosen.dissipation else {}),
    }


def _scheme(
    transfer: object,
    kernel: object,
    gradient: object,
    flip_ratio: object,
    xpic_order: object,
    advect: object,
    f_update: object,
    c_damping: object,
) -> Scheme:
    name = _check.choice("transfer", transfer, TRANSFERS)
    spline = _check.choice("kernel", kernel, KERNELS)
    slope = _check.choice("gradient", gradient, GRADIENTS)
    if spline == "linear" and slope == "mls":
        raise ValueError(
            "gradient = 'mls': must be 'bspline' for kernel='linear': with the moments D = h² f(1 - f) of this "
            "kernel, the least-squares gradient is that of the B-spline, but for a particle on a node, where D is 0"
        )
    by = _Users("transfer", name, USED_BY)
    ratio = by.checked(
        "flip_ratio", flip_ratio, FLIP_RATIO, lambda value: _check.number("flip_ratio", value, low=0, high=1)
    )
    order = by.checked(
        "xpic_order",
        xpic_order,
        XPIC_ORDER,
        lambda value: _check.integer("xpic_order", value, low=1, high=MAX_XPIC_ORDER),
    )
    way = by.checked("advect", advect, ADVECT, lambda value: _check.choice("advect", value, ADVECTIONS))
    damping = _check.number("c_damping", c_damping, low=0, high=1)
    if damping:
        by.refuse_unused("c_damping", c_damping)
    return Scheme(
        transfer=name,
        kernel=spline,
        gradient=slope,
        flip_ratio=ratio,
        xpic_order=order,
        advect_particle=way == "particle",
        f_update=_check.choice("f_update", f_update, F_UPDATES),
        c_keep=1 - damping,
    )


def _f_bar(value: object, scheme: Scheme) -> bool:
    chosen = _check.flag("f_bar", value)
    if chosen and scheme.f_update != "linear":
        increment = (
            "increment of F is not" if scheme.f_update == "cayley" else "change of volume is not that of"
        )
        raise ValueError(
            f"f_bar = True: must be False for f_update={scheme.f_update!r}, whose {increment} I + dt ∇v"
        )
    return chosen


def _artificial_viscosity(value: object, scheme: Scheme) -> tuple[float, float]:
    if value is None:
        return 0.0, 0.0
    linear, quadratic = _check.array("artificial_viscosity", value, (2,)).tolist()
    if not (0 <= linear <= MOST_VISCOSITY and 0 <= quadratic <= MOST_VISCOSITY):
        raise ValueError(
            f"artificial_viscosity = ({linear:g}, {quadratic:g}): both coefficients must be in [0, {MOST_VISCOSITY}]"
        )
    if (linear or quadratic) and scheme.c_keep != 1:
        raise ValueError(
            f"artificial_viscosity = ({linear:g}, {quadratic:g}): must be None for c_damping > 0, which removes the "
            "rate of compression that it acts on"
        )
    return linear, quadratic


def _refuse_explicit_only(scheme: Scheme, integrator: Integrator, dissipation: bool) -> None:
    if not integrator.is_implicit:
        return
    for name, shown in (
        ("f_bar", scheme.f_bar),
        ("artificial_viscosity", any(scheme.viscosity) and scheme.viscosity),
        ("dissipation", dissipation),
    ):
        if shown:
            raise ValueError(
                f"{name} = {shown}: integrator={integrator.name!r} does not use it, only 'explicit'; leave it out"
            )


def _integrator(
    integrator: object,
    beta: object,
    tolerance: object,
    max_iterations: object,
    preconditioner: object,
    projection: object,
    dtype: DType,
) -> Integrator:
    name = _check.choice("integrator", integrator, INTEGRATORS)
    by = _Users("integrator", name, SOLVED_BY)
    factor = by.checked("beta", beta, BETA, _beta)
    if name == "semi-implicit" and factor == 0:
        for option, value, unset in (
            ("tolerance", tolerance, TOLERANCE),
            ("preconditioner", preconditioner, PRECONDITIONER),
        ):
            if value is not unset:
                raise ValueError(
                    f"{option} = {_check.shown(value)}: beta = 0 does not use it, because its steps are explicit and "
                    "solve nothing; leave it out, or choose beta from 0.5 to 1"
                )
    return Integrator(
        name=name,
        beta=factor,
        tolerance=by.checked(
            "tolerance",
            tolerance,
            TOLERANCE,
            lambda value: _check.number("tolerance", value, low=LEAST_TOLERANCE[dtype], high=0.1),
        ),
        max_iterations=by.checked(
            "max_iterations",
            max_iterations,
            MAX_ITERATIONS,
            lambda value: _check.integer("max_iterations", value, low=1, high=MOST_ITERATIONS),
        ),
        preconditioner=by.checked(
            "preconditioner",
            preconditioner,
            PRECONDITIONER,
            lambda value: _check.choice("preconditioner", value, PRECONDITIONERS),
        ),
        projection=by.checked(
            "projection",
            projection,
            PROJECTION,
            lambda value: _check.choice("projection", value, PROJECTIONS),
        ),
    )


def _beta(value: object) -> float:
    found = _check.number("beta", value, low=0, high=1)
    if 0 < found < 0.5:
        raise ValueError(
            f"beta = {found:g}: must be 0, or from 0.5 to 1; between them no time step is stable"
        )
    return found


@dataclass(frozen=True, slots=True)
class _Users:
    """The choices of `option` that use other options; here `chosen` is the choice."""

    option: str
    chosen: str
    users: dict[str, tuple[str, ...]]

    def checked(self, name: str, value: Any, unset: _check.Unset, check: Callable[[Any], Any]) -> Any:
        """The checked value of an option that only some choices use, or its default."""
        if value is unset:
            return unset.value
        checked = check(value)
        self.refuse_unused(name, value)
        return checked

    def refuse_unused(self, name: str, value: object) -> None:
        if self.chosen not in self.users[name]:
            users = " and ".join(repr(user) for user in self.users[name])
            raise ValueError(
                f"{name} = {value!r}: {self.option}={self.chosen!r} does not use it, only {users}; leave it out"
            )


def _cells(lower: npt.NDArray[np.float64], upper: npt.NDArray[np.float64], dx: float) -> tuple[int, ...]:
    """Cells along each axis; the domain has to be a whole number of them."""
    extent = upper - lower
    exact = extent / dx
    if not np.isfinite(exact).all() or exact.max() >= 2**31:
        raise ValueError(f"dx = {dx:g}: must be > {extent.max() / 2**31:g}, the domain's size / 2^31")
    return tuple(int(count) for count in counted_cells("dx", lower, upper, dx))


def _particles_per_cell(value: object, sampling: str, d: int) -> int:
    if value is None:
        return int(2**d)
    count = _check.integer("particles_per_cell", value, low=1, high=MAX_PER_CELL)
    root = round(count ** (1 / d))
    if sampling in ("stratified", "lattice") and root**d != count:
        allowed = ", ".join(str(k**d) for k in range(1, 5))
        raise ValueError(
            f"particles_per_cell = {count}: must be k^{d} ({allowed}, ...) for sampling={sampling!r}; "
            "'random' and 'poisson' take any"
        )
    return count


def stored_C(
    chosen: Numerics, gradient: _check.FloatArray | None, x: _check.FloatArray, lower: _check.FloatArray
) -> _check.FloatArray | None:
    """What particles at x (n, d) store for a velocity gradient (n, d, d); None: 0.

    The gradient itself, but with the linear kernel and transfers by B: 4/dx² B, B = ∇v D, D = dx² f (1 − f).
    """
    stores_B = chosen.scheme.kernel == "linear" and chosen.scheme.transfer in ("apic", "aflip", "asflip")
    if gradient is None or not stores_B:
        return gradient
    f = (x - lower) / chosen.dx
    f -= np.floor(f)
    return np.ascontiguousarray(gradient * (4 * f * (1 - f))[:, None, :])


def refuse_material(chosen: Numerics, material: Material) -> None:
    """Raise ValueError if the scheme or the integrator cannot take a step with a material's law."""
    row = material._row
    if chosen.scheme.f_update == "trace" and row["strain"] == "F" and not row["rigid"]:
        raise ValueError(
            f"material = {_check.shown(material)}: f_update='trace' advances a volume ratio alone, and this law keeps "
            "the deformation gradient F; use f_update='linear' or 'cayley'"
        )
    if not chosen.integrator.is_implicit:
        return
    if material._row["rigid"]:
        raise ValueError(
            f"material = {material!r}: implicit steps do not move rigid bodies; use "
            "integrator='explicit', or a collider"
        )
    tangent = material._row["tangent"]
    if tangent is None:
        raise ValueError(
            f"material = {_check.shown(material)}: its law has no tangent, which "
            f"integrator={chosen.integrator.name!r} needs; use integrator='explicit'"
        )
    if tangent == "mapped" and chosen.integrator.name == "semi-implicit":
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
