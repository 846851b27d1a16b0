"""Colliders, which push material and are not pushed back, and the description of their shapes for the core."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm import motion as _motion
from mpm.base import _check, advice
from mpm.base._check import FloatArray
from mpm.sampling.sampling import if_in_millimetres
from mpm.scene.domain import checked_shape
from mpm.scene.walls import (
    ABSORBING,
    FRICTIONAL,
    RULES,
    Wall,
    checked_friction_heat,
    checked_heat,
    checked_restitution,
    checked_solute,
    checked_speeds,
    heat_of,
    shown_heat,
    shown_solute,
    solute_of,
)
from mpm.shapes import Shape
from mpm.shapes.distances import describe

__all__ = ["Collider"]

SEEDS = 20_000  # starting points of the search for a collider's surface
THIN = 2.0  # cells; thinner colliders leak
THIN_SHARE = 0.2  # of the surface may be thin, because edges and tips are
CHUNK = 1 << 20  # particles that are checked together
DEEP = 0.5  # cells; particles may start this deep inside


@dataclass(frozen=True, eq=False, slots=True)
class Collider:
    """A rigid obstacle with a prescribed motion. Made by `Scene.add_collider`."""

    shape: Shape
    contact: str
    friction: float
    motion: _motion.Motion | None
    name: str
    restitution: float = 0.0
    temperature: float | None = None
    flux: float = 0.0
    transfer: tuple[float, float] | None = None
    speeds: tuple[float, float] | None = None
    concentration: float | None = None
    solute_flux: float = 0.0
    solute_transfer: tuple[float, float] | None = None
    friction_heat: float = 1.0

    def __setstate__(self, state: Sequence[Any]) -> None:
        _check.restore_fields(self, state)

    def __repr__(self) -> str:
        friction = f", friction={self.friction:g}" if self.friction else ""
        motion = f", {self.motion!r}" if self.motion is not None else ""
        restitution = f", restitution={self.restitution:g}" if self.restitution else ""
        speeds = f", speeds={self.speeds!r}" if self.speeds else ""
        heat = "".join(f", {part}" for part in (*shown_heat(self), *shown_solute(self)))
        return f"{self.name}: {self.shape!r}, {self.contact}{friction}{restitution}{speeds}{heat}{motion}"


def make_collider(
    shape: object,
    *,
    contact: object,
    friction: object,
    motion: object,
    name: object,
    restitution: object = 0.0,
    temperature: object = None,
    flux: object = 0.0,
    transfer: object = None,
    concentration: object = None,
    solute_flux: object = 0.0,
    solute_transfer: object = None,
    speeds: object = None,
    friction_heat: object = 1.0,
    dimension: int,
    taken: set[str],
) -> Collider:
    """Check the arguments of `Scene.add_collider`."""
    shape = checked_shape(shape, dimension)
    if not shape._has_inside:
        raise TypeError(f"shape = {_check.shown(shape)}: must be a solid; single points have no surface")
    rule = _check.choice("contact", contact, RULES, advice.CONTACTS)
    coefficient = _check.number("friction", friction, low=0)
    if coefficient and rule not in FRICTIONAL:
        raise ValueError(f"friction = {coefficient:g}: {rule!r} colliders have none; must be 0")
    rebound = checked_restitution(restitution, rule, "collider")
    if motion is not None and not isinstance(motion, _motion.Motion):
        tabulate = "mpm.motion.Keyframes.of(f, until=, interval=) of a function, " if callable(motion) else ""
        raise _check.wrong_type("motion", motion, f"one of mpm.motion, {tabulate}or None")
    if motion is not None and motion.dimension != dimension:
        raise ValueError(f"motion is {motion.dimension}-D: must be {dimension}-D like the scene")
    title = _check.title("name", _check.unique_name("collider", name, taken))  # of columns of the history
    supplies = checked_heat(temperature, flux, transfer)
    supplies |= checked_solute(concentration, solute_flux, solute_transfer)
    waves = checked_speeds(speeds, rule, "collider")
    share = checked_friction_heat(friction_heat, rule, "collider")
    return Collider(
        shape, rule, coefficient, motion, title, rebound, **supplies, speeds=waves, friction_heat=share
    )


class Collides:
    """Base of scenes and simulations: colliders can be added."""

    __slots__ = ()

    @property
    def dimension(self) -> int:
        """d, 2 or 3."""
        raise NotImplementedError

    def _taken_names(self) -> set[str]:
        """The names of its colliders; raises if it takes no more."""
        raise NotImplementedError

    def _add_collider(self, collider: Collider) -> None:
        """Take a checked collider, or raise and change nothing."""
        raise NotImplementedError

    @_check.options(hints=advice.OF_COLLIDER)
    def add_collider(
        self,
        shape: Shape,
        *,
        contact: str = "separate",
        friction: float = 0.0,
        restitution: float = 0.0,
        speeds: Sequence[float] | None = None,
        temperature: float | None = None,
        flux: float = 0.0,
        transfer: Sequence[float] | None = None,
        concentration: float | None = None,
        solute_flux: float = 0.0,
        solute_transfer: Sequence[float] | None = None,
        friction_heat: float = 1.0,
        motion: _motion.Motion | None = None,
        name: str | None = None,
    ) -> Collider:
        """Add an obstacle that pushes material and is not pushed back: to a scene, or to a simulation between steps.

        Contact acts on the velocity v of nodes, after forces and together with the walls, wherever the signed distance
        φ of the shape is not positive at the beginning of the step; and of particles, before they move, from half a
        cell below the surface (`particle_collisions` of `Simulation` has other choices). With the velocity v_co of the
        collider's surface there and the outward normal n:

        ``"separate"``
            (v − v_co)·n < 0 is removed; material that moves away is left alone.
        ``"slip"``
            (v − v_co)·n = 0, both ways.
        ``"sticky"``
            v = v_co. Material that starts inside is clamped: it stays there, or moves along with the collider. Material
            that starts inside another contact is squeezed, which warns; so does a body that lies in a clamp as a whole.
        ``"absorbing"``
            Holds nothing: waves leave through the surface, as through an absorbing wall (`mpm.Wall`), by dashpots with
            the traction −ρ (c_p v_n, c_s v_t) of v − v_co. Material should end at the surface, as a body has that is
            intersected with ``~shape``; a collider ``~shape`` bounds a part of an infinite solid. Each absorbing
            collider acts by itself: surfaces that overlap are better one union. Explicit steps of `mpm.Simulation`
            without rigid bodies have it.

        Material at rest therefore lies about half a cell to a cell before the surface, where its first nodes are
        inside; particles that are thrown or pressed against the surface get up to half a cell below it. A collider
        thinner than two cells leaks. A collider that crosses a periodic face ends there; it does not come in at the
        opposite one.

        Where colliders overlap each other or a wall, those that another one covers there hold nothing. The others act
        together: each pushes along its own normal, no harder than needed, and rubs as hard as it pushes. Surfaces that
        close in on material leave it the motion along their common edge; walls then hold before colliders, deeper
        colliders before others. A union acts as its parts would as colliders of their own, also less other shapes. A
        face that nothing can reach holds nothing either: the side of a part of a floor, be it a collider or a shape of
        a union, where another part overlaps it or lies flush with it, and the side of a collider that ends at the end
        of the domain. Where a collider overlaps a floor and rises above it by less than
        half a cell, the floor alone acts: the grid does not resolve that step.

        In a simulation, the next step is the first to feel it. Its motion counts from t = 0, as that of other
        colliders. In the history ``impulse:NAME`` and ``torque:NAME`` are 0 in earlier records. `Simulation.scene` has
        it from now on, so that a reset of the viewer begins with it; checkpoints, copies and later recordings have it,
        too.

        Parameters
        ----------
        shape : one of `mpm.shapes`
            A solid of the scene's dimension. ``~shape`` is everything around it: a container. A mesh keeps distances on
            a lattice, dx/2 apart, where the domain meets it: 8 bytes each, which `repr` of a simulation counts. More
            than a quarter of a gigabyte warns; more than a gigabyte raises.
        contact : {"separate", "slip", "sticky", "absorbing"}
        friction : float, optional
            Coulomb's coefficient >= 0 of ``"separate"`` and ``"slip"``: the tangential velocity loses at most
            `friction` times the removed normal velocity. ``"slip"`` removes it both ways, so that friction also
            brakes material that is held back from leaving.
        restitution : float, optional
            Newton's coefficient e of impacts of `Rigid` bodies, 0 to 1, of ``"separate"``: a body leaves the surface,
            as it moves, with e times the normal velocity with which it came (`Wall`).
        speeds : (float, float), optional
            Of the waves that an ``"absorbing"`` collider lets out, pressure and shear, c_p >= c_s >= 0 [m/s]. Default:
            those of the bodies when the simulation is made or gets the collider; they must then agree.
        temperature : float, optional
            Temperature of the collider [K], > 0, if bodies conduct heat (`mpm.Thermal`): material has it at the nodes
            that the collider holds, to first order in dx. Default None: the collider is insulated.
        flux : float, optional
            Flux of heat through the surface into the material [W/m²], on the part of the surface of a body that is
            within one and a half cells and faces the collider; default 0.
        transfer : (float, float), optional
            Heat transfer coefficient h [W/(m² K)], > 0, and temperature of the collider T_c [K], > 0: a flux of
            h (T_c − T) into the material, on the same part. At most one of the three may be given.
        concentration, solute_flux, solute_transfer : float, float and (float, float), optional
            The same of a solute (`mpm.Solute`) [mol/m³], [mol/(m² s)], [m/s] and [mol/m³]; default: the collider is
            tight.
        friction_heat : float, optional
            Share of the heat of `friction` that the material gets, 0 to 1, if bodies conduct heat (`Wall`). Default 1.
        motion : one of `mpm.motion`, optional
            Default: at rest.
        name : str, optional
            A name unique among colliders; default ``collider0``, ``collider1``, … The history has ``impulse:NAME``
            and ``torque:NAME``. The torque is about a reference point that moves along: the centre of a
            `mpm.motion.Rotation`, otherwise the middle of the shape's bounds (of the domain, along axes where the
            shape has no end).

        Returns
        -------
        Collider
            The new collider.

        Raises
        ------
        TypeError, ValueError
            An argument is of the wrong type, shape or range, or the scene belongs to a simulation (`Simulation.scene`).
            In a simulation: a recording is open; `mpm.sph.Simulation` has fluid where the collider is, or finds no
            point of its lattice in it; the solver takes no colliders between steps. Nothing has changed.

        Warns
        -----
        UserWarning
            In a simulation: it is thinner than two cells or outside of the domain; particles or nodes are deep inside.

        References
        ----------
        A. Stomakhin, C. Schroeder, L. Chai, J. Teran, A. Selle, ACM Trans. Graph. 32 (2013) 102, section 8.
        """
        taken = self._taken_names()
        collider = make_collider(
            shape,
            contact=contact,
            friction=friction,
            restitution=restitution,
            speeds=speeds,
            temperature=temperature,
            flux=flux,
            transfer=transfer,
            concentration=concentration,
            solute_flux=solute_flux,
            solute_transfer=solute_transfer,
            friction_heat=friction_heat,
            motion=motion,
            name=name,
            dimension=self.dimension,
            taken=taken,
        )
        self._add_collider(collider)
        return collider


def refuse_restitution(walls: Mapping[str, Wall], colliders: Sequence[Collider], why: str) -> None:
    """Raise ValueError if a wall or collider has a restitution, and say why none can have."""
    surfaces = [(f"walls[{face!r}]", wall.restitution) for face, wall in walls.items()]
    surfaces += [(f"collider {one.name!r}", one.restitution) for one in colliders]
    for name, restitution in surfaces:
        if restitution:
            raise ValueError(f"restitution = {restitution:g} of {name}: must be 0: {why}")


@dataclass(frozen=True, eq=False, slots=True)
class Prepared:
    """A collider in the terms of the core: the nodes and numbers of its shape (`Program`), its reference point."""

    collider: Collider
    nodes: npt.NDArray[np.int64]
    numbers: FloatArray
    reference: FloatArray
    hint: str = ""  # an addition to warnings about it
    speeds: tuple[float, float] = (0.0, 0.0)  # of the waves that an absorbing one lets out [m/s]

    @property
    def motion(self) -> _motion.Prescription:
        """How it moves."""
        motion = self.collider.motion
        return _motion.Prescription("none") if motion is None else motion._describe()

    def held(self, time: float) -> _motion.Prescription:
        """At rest where it is at a time [s]; its shape must not change with time."""
        motion = self.collider.motion
        return _motion.Prescription("none") if motion is None else motion._held(time)


def prepare(collider: Collider, lower: FloatArray, upper: FloatArray, dx: float) -> Prepared:
    """What the core needs to know of a collider, in a domain with cells of dx [m]."""
    motion = collider.motion
    about = None if motion is None else motion._about
    reference = reference_point(collider.shape, lower, upper) if about is None else about
    region = (lower, upper) if motion is None else motion._sweep(lower, upper, reference)
    millimetres = if_in_millimetres(collider.shape, lower, upper)
    hint = f"; {millimetres}" if millimetres else ""
    try:
        program = describe(collider.shape, dx, region)
    except ValueError as error:
        raise ValueError(f"{error} (collider {collider.name!r}{hint})") from None
    return Prepared(collider, program.nodes, program.numbers, reference, hint)


@dataclass(frozen=True, eq=False, slots=True)
class Placed:
    """A collider in a core, at a time [s]; None: at the core's."""

    core: _core.Core | _core.Colliders
    index: int
    prepared: Prepared
    time: float | None = None

    @property
    def digest(self) -> bytes:
        """Of all that the core has of it."""
        return _digest(self.prepared)

    @property
    def collider(self) -> Collider:
        """As it was described."""
        return self.prepared.collider

    @property
    def moves(self) -> bool:
        """Whether it is elsewhere at other times."""
        return self.collider.motion is not None or self.collider.shape._only_collides

    def at(self, time: float) -> Placed:
        """The same collider where it is at a time [s]."""
        return replace(self, time=time)

    def distance(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Signed distance (m,) [m] and normal (m, d) at x (m, d) [m]."""
        points = np.ascontiguousarray(x, dtype=np.float64)
        time = self.core.time if self.time is None else self.time
        phi, normal = self.core.collider_distance(self.index, points, time)
        return np.frombuffer(phi).copy(), np.frombuffer(normal).reshape(x.shape).copy()


def place(
    core: _core.Core | _core.Colliders,
    prepared: Sequence[Prepared],
    *,
    held: float | None = None,
    first: int = 0,
) -> list[Placed]:
    """Hand colliders to a core that has `first` of them; `held`: at rest where they are at that time [s]."""
    placed = []
    for index, one in enumerate(prepared, first):
        core.add_collider(*_arguments(one, one.motion if held is None else one.held(held)))
        supply = heat_of(one.collider) or solute_of(one.collider)
        if supply and isinstance(core, _core.Simulation):
            core.set_heat_collider(index, *supply)
        placed.append(Placed(core, index, one))
    return placed


def placed_again(
    placed: Placed, collider: Collider, lower: FloatArray, upper: FloatArray, dx: float
) -> Placed:
    """Hand a core another friction or motion of a collider that it has; `dx` as in `prepare`."""
    prepared = replace(prepare(collider, lower, upper, dx), speeds=placed.prepared.speeds)
    cast(_core.Core, placed.core).set_collider(*_arguments(prepared, prepared.motion))
    return Placed(placed.core, placed.index, prepared)


def _arguments(one: Prepared, motion: _motion.Prescription) -> tuple[Any, ...]:
    """A collider as the core takes it."""
    collider = one.collider
    return (
        collider.name,
        collider.contact,
        collider.friction,
        collider.restitution,
        one.speeds,
        one.nodes,
        one.numbers,
        [*one.reference.tolist(), 0.0][:3],
        motion.kind,
        motion.vector,
        motion.frequency,
        np.zeros((0, 7)) if motion.keys is None else motion.keys,
        collider.friction_heat,
    )


def distance_of(posed: Sequence[Placed], name: str, x: npt.ArrayLike, dimension: int) -> FloatArray:
    """The answer of `Solver.collider_distance`."""
    names = [one.collider.name for one in posed]
    if not names:
        raise ValueError(f"name = {_check.shown(name)}: the scene has no colliders")
    chosen = names.index(_check.choice("name", name, names))
    return posed[chosen].distance(_check.array("x", x, (None, dimension)))[0]


def warn_of_thin_or_missing(
    placed: Placed, lower: FloatArray, upper: FloatArray, dx: float, resolution: str = "dx"
) -> None:
    """Warn about a collider that material can pass, or never meets, at the beginning; `resolution` names dx."""
    flaw = flaw_of(placed, lower, upper, dx, resolution)
    if flaw:
        _warn(flaw)


def flaw_of(placed: Placed, lower: FloatArray, upper: FloatArray, dx: float, resolution: str = "dx") -> str:
    """What is wrong with a collider that material can pass, or never meets; nothing if it is sound."""
    surface, normal, any_inside = _surface(placed, lower, upper, dx)
    name, resting = placed.collider.name, placed.collider.motion is None
    if not len(surface):
        if not any_inside and resting and not placed.collider.shape._only_collides:
            return f"collider {name!r} is outside of the domain: nothing can meet it{placed.prepared.hint}"
        return ""
    if placed.collider.contact == ABSORBING:
        return ""  # holds nothing
    thickness = np.full(len(surface), np.inf)
    for cells in np.arange(0.25, THIN, 0.25)[::-1]:
        within, _ = placed.distance(surface - cells * dx * normal)
        thickness[within > 0] = cells * dx
    thin = np.isfinite(thickness)
    if thin.mean() > THIN_SHARE:
        return (
            f"collider {name!r} is thinner than {THIN:g} {resolution} = {THIN * dx:.2g} m over "
            f"{100 * thin.mean():.0f} % of its surface, down to {thickness.min():.2g} m or less: material leaks "
            f"through it; choose a smaller {resolution} or a thicker shape"
        )
    return ""


def fastest(placed: Placed, lower: FloatArray, upper: FloatArray, dx: float) -> float:
    """A bound of the speed from the present time on [m/s] of a collider's surface, what of it is in the domain now."""
    motion, shape = placed.collider.motion, placed.collider.shape
    now = placed.core.time if placed.time is None else placed.time
    own = shape._fastest(now)
    if motion is None:
        return own
    surface, _, _ = _surface(placed, lower, upper, dx)
    moved, _ = motion._pose(now)
    return own + motion._fastest(now, surface - (placed.prepared.reference + moved))


def approach(placed: Placed, x: FloatArray, later: float) -> FloatArray:
    """How fast the surface comes nearer to x (m, d), on average until `later` [s] after the present time (m,) [m/s]."""
    now = placed.core.time if placed.time is None else placed.time
    return np.asarray((placed.distance(x)[0] - placed.at(now + later).distance(x)[0]) / later)


def refuse_pointless(
    placed: Sequence[Placed], index: int, lower: FloatArray, upper: FloatArray, size: float
) -> None:
    """Raise ValueError where fluid can meet a collider without particles, on points that no earlier collider covers."""
    surface, _, _ = _surface(placed[index], lower, upper, size)
    for earlier in placed[:index]:
        surface = surface[earlier.distance(surface)[0] > 1e-6 * size]  # two may share a surface
    if len(surface):
        raise ValueError(
            f"collider {placed[index].collider.name!r}: shape = {_check.shown(placed[index].collider.shape)}: has no "
            f"point of the lattice with spacing = {size:g}, so fluid would pass it; must be thicker"
        )


def _surface(
    placed: Placed, lower: FloatArray, upper: FloatArray, dx: float
) -> tuple[FloatArray, FloatArray, bool]:
    """Points of a collider's surface in the domain with their normals, and whether any point of it is inside."""
    d = len(lower)
    spacing = max(dx, (float(np.prod(upper - lower)) / SEEDS) ** (1 / d))
    while np.prod(np.ceil((upper - lower) / spacing) + 1) > 4 * SEEDS:  # slender domains
        spacing *= 2
    axes = [
        np.linspace(low, high, 1 + int(np.ceil((high - low) / spacing)))
        for low, high in zip(lower, upper, strict=True)
    ]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
    phi, normal = placed.distance(x)
    any_inside = bool((phi <= 0).any())
    # Projected points from far away would gather at edges and tips.
    near = np.abs(phi) < 2 * spacing
    x, phi, normal = x[near], phi[near], normal[near]
    with np.errstate(invalid="ignore"):  # shapes may be too large for distances
        for _ in range(16):  # shapes may return a bound of the distance, so one step is not enough
            x = x - phi[:, None] * normal
            phi, normal = placed.distance(x)
        on_it = (np.abs(phi) < 1e-3 * dx) & (x >= lower).all(axis=1) & (x <= upper).all(axis=1)
    return x[on_it], normal[on_it], any_inside


def warn_of_particles_inside(
    placed: list[Placed], x: FloatArray, body: str, dx: float, what: str = "particles"
) -> None:
    """Warn about particles, or nodes, of a body that begin deep inside a collider. A sticky one holds what is in it, as
    a clamp does: it is meant, unless it holds the whole body."""
    warn_of_counted(placed, counts_inside(placed, x, dx), len(x), body, what)


def counts_inside(placed: list[Placed], x: FloatArray, dx: float) -> list[int]:
    """How many of the points x (n, d) are deep inside each collider."""
    return [count_inside(one, x, DEEP * dx) for one in placed]


def warn_of_counted(
    placed: list[Placed], counts: list[int], n: int, body: str, what: str = "particles"
) -> None:
    """Warn about those of the n particles of a body that `counts_inside` has counted."""
    for one, count in zip(placed, counts, strict=True):
        if count and not (one.collider.contact == "sticky" and count < n):
            _warn(
                f"{count} of {n} {what} of {body!r} start inside the collider {one.collider.name!r}: "
                f"{_fate(one)}{one.prepared.hint}"
            )


def count_inside(placed: Placed, x: FloatArray, depth: float = 0.0) -> int:
    """How many of the points x (n, d) are inside, deeper than `depth` [m]."""
    parts = (x[first : first + CHUNK] for first in range(0, len(x), CHUNK))
    return sum(int((placed.distance(part)[0] < -depth).sum()) for part in parts)


def warn_of_late(placed: Placed, x: FloatArray, dx: float, points: str) -> None:
    """Warn about particles or nodes at x (n, d) [m] that a collider meets deep inside when it is added."""
    count = count_inside(placed, x, DEEP * dx)
    if count and not (placed.collider.contact == "sticky" and count < len(x)):
        _warn(
            f"{count} of {len(x)} {points} are inside the collider {placed.collider.name!r} already: "
            f"{_fate(placed)}{placed.prepared.hint}"
        )


def _fate(placed: Placed) -> str:
    """What becomes of particles inside a collider."""
    if placed.collider.contact == ABSORBING:
        return "nothing holds them; let the body end at the surface"
    return "they move with it or are squeezed"


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=_check.levels_to_caller())


def reference_point(shape: Shape, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The middle of a shape's bounds; of the domain along axes where it has no end."""
    low, high = shape.bounds
    bounded = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        return np.where(bounded, low / 2 + high / 2, (lower + upper) / 2)


def _digest(prepared: Prepared) -> bytes:
    collider, motion = prepared.collider, prepared.motion
    parts = (prepared.nodes, prepared.numbers, prepared.reference)
    digest = hashlib.sha256(b"".join(part.tobytes() for part in parts))
    digest.update(repr((collider.contact, collider.friction, motion.kind, motion.vector)).encode())
    digest.update(repr(collider.restitution).encode() if collider.restitution else b"")
    digest.update(repr(prepared.speeds).encode() if any(prepared.speeds) else b"")
    digest.update(repr(shown_heat(collider)).encode() if shown_heat(collider) else b"")
    digest.update(repr(shown_solute(collider)).encode() if solute_of(collider) else b"")
    digest.update(repr(motion.frequency).encode() + (b"" if motion.keys is None else motion.keys.tobytes()))
    return digest.digest()
