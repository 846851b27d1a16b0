"""The numerics of `mpm.sph.Simulation`: checks of its options, and the core that has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm import _core, config
from mpm.base import _check
from mpm.materials import Fluid
from mpm.materials.admission import refuse_varying
from mpm.scene import domain, walls
from mpm.scene.colliders import refuse_restitution
from mpm.scene.scene import Scene
from mpm.scene.settings import Setting
from mpm.solver import stepping
from mpm.sph import operators

KERNELS = ("cubic", "wendland")
VISCOSITIES = ("vector", "central")
CONSTANTS = ("dynamic", "kinematic")
# Set for a fluid without a viscosity, they raise.
VISCOSITY = _check.Unset("vector")
CONSTANT = _check.Unset("dynamic")
MOST_CELLS = 2**20  # spacings along an axis
RESOLVED = {"float64": 2**-20, "float32": 2**-8}  # spacings: neighbouring numbers may lie that far apart
# Sums divide by 1e-8 h³, and a particle has the mass ρ₀ spacing^d; beyond these spacings [m] numbers end.
SPACINGS = {"float64": (1e-90, 1e90), "float32": (1e-9, 1e9)}
SMOOTHING = (0.8, 3.0)
MOST_ALPHA = 10.0
GROUP, OFF_ON = "Numerics", ("off", "on")  # as the viewer shows them
FEWEST = 4  # smoothing lengths along an axis: a particle and its image have no neighbour twice


@dataclass(frozen=True, slots=True)
class Numerics:
    """What `check` has checked; dt 0: automatic."""

    spacing: float
    cells: tuple[int, ...]
    smoothing: float
    kernel: str
    viscosity: str
    alpha: float
    xsph: float
    tension: bool
    dt: float
    max_dt: float
    allow_unstable: bool
    dtype: str
    on_leave: str | dict[str, str]  # as `walls.leaving` returns it
    history: int
    constant_viscosity: str
    repulsion: float


def check(
    scene: Scene,
    *,
    spacing: object,
    smoothing: object,
    kernel: object,
    viscosity: object,
    alpha: object,
    xsph: object,
    tension: object,
    dt: object,
    max_dt: object,
    allow_unstable: object,
    dtype: npt.DTypeLike,
    on_leave: object,
    history: object,
    constant_viscosity: object = CONSTANT,
    repulsion: object = 0.0,
) -> Numerics:
    """Check the options; TypeErrors and ValueErrors name the argument, its value and what is allowed."""
    precision = stepping.checked_dtype(dtype)
    least, largest = SPACINGS[precision]
    apart = _check.number("spacing", spacing, low=least, high=largest, unit=f"m for {precision}")
    ratio = _check.number("smoothing", smoothing, low=SMOOTHING[0], high=SMOOTHING[1])
    step, bound, unstable = stepping.time_step(dt, max_dt, allow_unstable)
    stepping.refuse_short_steps(step, bound, precision)
    _refuse_coarse_positions(scene, apart, precision)
    chosen = Numerics(
        spacing=apart,
        cells=_cells(scene, apart, ratio),
        smoothing=ratio,
        kernel=_check.choice("kernel", kernel, KERNELS),
        viscosity=_check.choice(
            "viscosity", VISCOSITY.value if viscosity is VISCOSITY else viscosity, VISCOSITIES
        ),
        alpha=_check.number("alpha", alpha, low=0, high=MOST_ALPHA),
        xsph=_check.number("xsph", xsph, low=0, high=1),
        tension=_check.flag("tension", tension),
        dt=step,
        max_dt=bound,
        allow_unstable=unstable,
        dtype=precision,
        on_leave=walls.leaving(on_leave, scene.dimension),
        history=_check.integer("history", history, low=0, high=stepping.MAX_HISTORY),
        constant_viscosity=_check.choice(
            "constant_viscosity",
            CONSTANT.value if constant_viscosity is CONSTANT else constant_viscosity,
            CONSTANTS,
        ),
        repulsion=_check.number("repulsion", repulsion, low=0, high=1),
    )
    refuse_contacts(scene, chosen.tension)
    walls.refuse_periodic_fates(scene.walls, chosen.on_leave)
    return chosen


def _cells(scene: Scene, spacing: float, smoothing: float) -> tuple[int, ...]:
    """Spacings along each axis, a whole number: the lattice of the fluid fits between the walls."""
    exact = (scene.upper - scene.lower) / spacing
    most = int(min(exact.max(), 2.0 * MOST_CELLS))
    if most > MOST_CELLS:
        least = (scene.upper - scene.lower).max() / MOST_CELLS
        raise ValueError(f"spacing = {spacing:g}: must be >= {least:g}, the domain's size / 2^20")
    whole = domain.counted_cells("spacing", scene.lower, scene.upper, spacing)
    if whole.min() < FEWEST * smoothing:
        raise ValueError(
            f"spacing = {spacing:g}: the domain has {int(whole.min())} spacings along an axis; must be >= "
            f"{math.ceil(FEWEST * smoothing)} with smoothing = {smoothing:g}"
        )
    return tuple(int(count) for count in whole)


def _refuse_coarse_positions(scene: Scene, spacing: float, dtype: str) -> None:
    """Raise ValueError where neighbouring numbers of the precision are too far apart."""
    farthest = float(np.maximum(np.abs(scene.lower), np.abs(scene.upper)).max())
    with np.errstate(over="ignore"):
        apart = float(np.spacing(np.dtype(dtype).type(farthest)))
    if not apart <= RESOLVED[dtype] * spacing:
        raise ValueError(
            f"spacing = {spacing:g}: must be >= {apart / RESOLVED[dtype]:.3g} in a domain that reaches to "
            f"{farthest:g} m, where {dtype} tells positions apart by {apart:.2g} m only: move it nearer to the origin"
            + (", or choose dtype='float64'" if dtype == "float32" else "")
        )


def refuse_contacts(scene: Scene, tension: bool) -> None:
    """Raise ValueError for walls and colliders that the method cannot have."""
    why = "it acts on rigid bodies, which a fluid by SPH has not"
    refuse_restitution(scene.walls, scene.colliders, why)
    surfaces = [(f"walls[{face!r}]", wall.contact, wall.friction) for face, wall in scene.walls.items()]
    surfaces += [(f"collider {one.name!r}", one.contact, one.friction) for one in scene.colliders]
    for name, contact, friction in surfaces:
        if friction:
            raise ValueError(
                f"{name}: friction = {friction:g}: a fluid by SPH has no Coulomb friction; must be 0, or the contact "
                "'sticky', which the viscosity of the fluid acts on"
            )
        if tension and contact == "separate":
            raise ValueError(
                f"{name}: contact = 'separate': with tension=True a fluid pulls at its images and never parts from "
                "them; must be 'slip', 'sticky', 'mirror' or 'periodic', or tension=False"
            )
    for one in scene.colliders:
        if one.shape._only_collides:
            raise ValueError(
                f"collider {one.name!r}: shape = {_check.shown(one.shape)}: changes with time; its particles would "
                "come and go: must be rigid"
            )


def fluid_of(materials: list[Any]) -> Fluid:
    """The one fluid of a scene; its tension does not count, because that of the simulation replaces it."""
    for material in materials:
        if not isinstance(material, Fluid):
            raise ValueError(
                f"material = {material!r}: SPH computes weakly compressible fluids; must be an mpm.materials.Fluid"
            )
        refuse_varying(
            material, "SPH", "the sums over neighbours contain one rest density and one law of pressure"
        )
        if replace(material, tension=True) != replace(materials[0], tension=True):
            raise ValueError(
                f"material = {material!r}: the scene has {materials[0]!r} already; must be the same: the density by "
                "summation knows one fluid; mpm.Simulation takes several materials"
            )
    fluid: Fluid = materials[0]
    return fluid


def refuse_unused(fluid: Fluid, viscosity: object, constant_viscosity: object) -> None:
    """Raise ValueError for the form of a viscous force that the fluid does not have."""
    given = {"viscosity": (viscosity, VISCOSITY), "constant_viscosity": (constant_viscosity, CONSTANT)}
    for name, (value, unset) in given.items():
        if value is unset or fluid.viscosity:
            continue
        raise ValueError(
            f"{name} = {_check.shown(value)}: the fluid has no viscosity, so that nothing uses it; leave it "
            "out, or give Fluid(viscosity=) a number > 0 [Pa s]"
        )


def settings(chosen: Numerics) -> list[Setting]:
    """The options that the viewer can change."""
    given = options(chosen)

    def setting(name: str, unit: str = "", **limits: Any) -> Setting:
        value = given[name]
        return Setting(name, GROUP, name, unit, None if value == "auto" else value, **limits)

    def choice(name: str, choices: tuple[str, ...], meaning: str) -> Setting:
        return Setting(name, GROUP, name, "", given[name], choices=choices, meaning=meaning)

    positive: dict[str, Any] = {"low": 0, "low_open": True}
    given |= {"tension": OFF_ON[chosen.tension], "constant_viscosity": chosen.constant_viscosity}
    given |= {"repulsion": chosen.repulsion}
    return [
        setting(
            "spacing", "m", meaning="distance of particles; the domain must be a whole number", **positive
        ),
        setting("smoothing", low=SMOOTHING[0], high=SMOOTHING[1], meaning="smoothing length over spacing"),
        choice("kernel", KERNELS, "of the sums"),
        choice("viscosity", VISCOSITIES, "form of the viscous force"),
        choice("constant_viscosity", CONSTANTS, "what does not depend on the density"),
        setting("alpha", low=0, high=MOST_ALPHA, meaning="artificial viscosity"),
        setting("repulsion", low=0, high=1, meaning="of particles that come too close"),
        setting("xsph", low=0, high=1, meaning="share of the neighbours' velocity"),
        choice("tension", OFF_ON, "stretched fluid pulls"),
        setting("dt", "s", optional=True, meaning="time step", **positive),
        setting("max_dt", "s", optional=True, meaning="upper limit of the automatic time step", **positive),
        setting("history", low=0, high=stepping.MAX_HISTORY, whole=True, meaning="record every n-th step"),
    ]


def changed(chosen: Numerics, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `mpm.sph.Simulation` with some settings changed."""
    new = options(chosen)
    for setting in settings(chosen):
        if setting.key in changes:
            new[setting.key] = changes[setting.key]
    new["tension"] = new["tension"] in (True, OFF_ON[1])
    if new["dt"] is None:
        new["dt"] = "auto"
    if new["dt"] == "auto":
        new["allow_unstable"] = False
    elif "max_dt" not in changes:
        new["max_dt"] = None
    return new


def new_core(scene: Scene, chosen: Numerics, density: float, threads: int) -> _core.SPH:
    """A core without material, colliders and particles."""
    return _core.SPH(
        dim=scene.dimension,
        dtype=chosen.dtype,
        lower=scene.lower.tolist(),
        cells=chosen.cells,
        spacing=chosen.spacing,
        smoothing=chosen.smoothing,
        density=density,
        kernel=chosen.kernel,
        viscosity=chosen.viscosity,
        kinematic=chosen.constant_viscosity == "kinematic",
        alpha=chosen.alpha,
        xsph=chosen.xsph,
        repulsion=chosen.repulsion,
        tension=chosen.tension,
        gravity=scene.gravity.tolist(),
        walls=[(wall.contact, wall.friction, wall.restitution) for wall in scene.walls.values()],
        dt=chosen.dt,
        max_dt=chosen.max_dt,
        allow_unstable=chosen.allow_unstable,
        on_leave=walls.fates(chosen.on_leave, scene.dimension),
        history=chosen.history,
        threads=threads,
        isa=config.isa(),
    )


def options(chosen: Numerics) -> dict[str, Any]:
    """The keywords of `mpm.sph.Simulation` that give these numerics; what JSON can hold."""
    given = asdict(chosen)
    del given["cells"]
    if chosen.constant_viscosity == CONSTANTS[0]:
        del given["constant_viscosity"]
    if not chosen.repulsion:
        del given["repulsion"]
    fixed = chosen.dt > 0
    return given | {
        "dt": chosen.dt if fixed else "auto",
        "max_dt": None if fixed or chosen.max_dt == math.inf else chosen.max_dt,
    }


def calibration(chosen: Numerics, dimension: int) -> float:
    """The mass of a particle over ρ₀ spacing^d: what gives a full lattice the density ρ₀ by summation."""
    reach = np.arange(-math.ceil(2 * chosen.smoothing), math.ceil(2 * chosen.smoothing) + 1.0)
    r = np.sqrt(sum(x**2 for x in np.meshgrid(*dimension * [reach])))
    return 1 / float(operators.kernel(r, chosen.smoothing, dimension, kind=chosen.kernel).sum())
