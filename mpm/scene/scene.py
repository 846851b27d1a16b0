"""The physical problem, without numerics: domain, gravity, walls, bodies and colliders."""

from __future__ import annotations

import copy
import numbers
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.joints import Joint
from mpm.materials.laws import Material, field_values, is_python_law, wrong_material
from mpm.materials.userlaws import refuse_dimension
from mpm.materials.varying import Varying
from mpm.scene import contacts as _contacts
from mpm.scene import lithostatic as _lithostatic
from mpm.scene import walls as _walls
from mpm.scene.changes import NONE
from mpm.scene.colliders import Collider, Collides
from mpm.scene.domain import are_whole, checked_shape, refuse_many, whole_cells
from mpm.scene.drains import Drain
from mpm.scene.emitters import Emitter, refuse_titles
from mpm.scene.flowing import Flowing
from mpm.scene.loaded import Loaded
from mpm.scene.loads import Load
from mpm.shapes import Points, Shape
from mpm.shapes.volumes import Volume, volume_within

__all__ = ["Body", "Scene"]

Velocity: TypeAlias = npt.ArrayLike | Callable[[FloatArray], npt.ArrayLike]
Gradient: TypeAlias = npt.ArrayLike | Callable[[FloatArray], npt.ArrayLike]
BodyForce: TypeAlias = Callable[[FloatArray, float], npt.ArrayLike]


@dataclass(frozen=True, eq=False, slots=True)
class Body:
    """One body of a scene: a shape of one material with its initial motion. Made by `Scene.add`."""

    shape: Shape
    material: Material
    velocity: FloatArray | Callable[[FloatArray], npt.ArrayLike]
    angular_velocity: float | FloatArray
    F: FloatArray | Callable[[FloatArray], npt.ArrayLike] | None
    name: str
    joint: Joint | None = None

    def __repr__(self) -> str:
        volume, density = self.volume(), self.material.density
        mass = (
            ""
            if volume is None or isinstance(density, Varying)
            else f", {density * volume.value:.6g} {self._unit}{volume.doubt}"
        )
        return f"{self._made_of()}{mass}{'' if self.joint is None else f', {self.joint!r}'}"

    def _made_of(self) -> str:
        return f"{self.name}: {self.shape!r} of {type(self.material).__name__}({field_values(self.material)})"

    @property
    def _unit(self) -> str:
        return "kg/m" if self.shape.dimension == 2 else "kg"

    def volume(self, lower: npt.ArrayLike | None = None, upper: npt.ArrayLike | None = None) -> Volume | None:
        """The volume [m³; in 2-D m²] with a bound of its relative error: 0 where a formula or `Points` give it.

        Parameters
        ----------
        lower, upper : array_like, shape (d,), optional
            The corners of the domain [m]: it cuts shapes without end.

        Returns
        -------
        Volume or None
            ``value`` and ``error``. None for shapes without end where no domain is given, and for `Points` whose
            volumes need a grid.
        """
        shape = self.shape
        if isinstance(shape, Points):
            return Volume(shape.total, 0.0) if shape.total is not None else None
        low, high = shape.bounds
        if lower is not None or upper is not None:
            low, high = (_check.array(n, v, low.shape) for n, v in (("lower", lower), ("upper", upper)))
        return volume_within(shape, low, high) if np.isfinite([low, high]).all() else None

    def initial_velocity(self, x: FloatArray, volume: FloatArray) -> FloatArray:
        """Velocities (n, d) of particles at x (n, d): the given velocity plus the rotation."""
        x = _check.array("x", x, (None, self.shape.dimension))
        volume = _check.array("volume", volume, (len(x),))
        if not (volume > 0).all():
            raise ValueError(f"volume = {_check.shown(volume)}: must be > 0")
        densities = None
        if np.any(
            self.angular_velocity
        ):  # a material of one density: the centre of volume is the centre of mass
            densities = self.material._sampled(x, self.name, "float64").get("density")
        return self._velocity(x, volume if densities is None else densities * volume)

    def _velocity(self, x: FloatArray, mass: FloatArray) -> FloatArray:
        """As `initial_velocity`, of points of these masses (n,), of which only the ratios matter."""
        v = _evaluated("velocity", self.velocity, x, x.shape)
        if np.any(self.angular_velocity):
            r = x - np.average(x, axis=0, weights=mass)
            if x.shape[1] == 2:
                v = v + self.angular_velocity * np.stack([-r[:, 1], r[:, 0]], axis=1)
            else:
                v = v + np.cross(self.angular_velocity, r)
        return np.ascontiguousarray(v)

    def initial_velocity_gradient(self, x: FloatArray) -> FloatArray | None:
        """C (n, d, d) of particles at x (n, d): the rotation, which so starts without a loss of energy; None without
        a rotation."""
        n, d = _check.array("x", x, (None, self.shape.dimension)).shape
        if not np.any(self.angular_velocity):
            return None
        if d == 2:
            omega = float(np.asarray(self.angular_velocity))
            spin = np.array([[0, -omega], [omega, 0]])
        else:
            spin = np.cross(np.asarray(self.angular_velocity), np.eye(3)).T  # column b: omega x e_b
        return np.ascontiguousarray(np.broadcast_to(spin, (n, d, d)))

    def initial_gradient(self, x: FloatArray) -> FloatArray | None:
        """Deformation gradients (n, d, d) of particles at x (n, d); None where they are the identity."""
        x = _check.array("x", x, (None, self.shape.dimension))
        n, d = x.shape
        if self.F is None:
            return None
        F = np.ascontiguousarray(_evaluated("F", self.F, x, (n, d, d)))
        _check_orientation("F", F)
        return F


def _gravity(gravity: npt.ArrayLike | None, dimension: int) -> FloatArray:
    """A constant one: a vector, since a number has no direction."""
    try:
        return _check.array("gravity", np.zeros(dimension) if gravity is None else gravity, (dimension,))
    except (TypeError, ValueError) as error:
        down = (*[0] * (dimension - 1), -9.81)
        raise type(error)(f"{error}; for example gravity={down}") from None


@dataclass(frozen=True, slots=True)
class VaryingGravity:
    """The body force of a gravity that depends on time, and of another body force."""

    gravity: Callable[[float], npt.ArrayLike]
    other: BodyForce | None

    def __call__(self, x: FloatArray, t: float) -> FloatArray:
        """Accelerations (n, d) [m/s²] at x (n, d) and the time t [s]."""
        g = _check.array("gravity(t)", self.gravity(t), (x.shape[1],))
        b = np.broadcast_to(g, x.shape)
        return b if self.other is None else b + _check.array("body_force(x, t)", self.other(x, t), x.shape)


def _evaluated(name: str, given: Any, x: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    if callable(given):
        return _check.array(f"{name}(x)", given(x.copy()), shape)
    return np.broadcast_to(given, shape)


def _check_orientation(name: str, F: FloatArray) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        determinant = np.atleast_1d(np.linalg.det(F))
    for row in np.flatnonzero(~((determinant > 0) & np.isfinite(determinant)))[:1]:
        where = f"{name}[{row}]" if F.ndim == 3 else name
        raise ValueError(f"{where}: det F = {determinant[row]:g}; must be > 0 and finite")


GONE_TOO = ", also among bodies without particles"


def make_body(
    shape: object,
    material: object,
    *,
    velocity: object,
    angular_velocity: object,
    F: object,
    name: object,
    joint: object = None,
    dimension: int,
    taken: frozenset[str] | set[str],
    number: int,
) -> Body:
    """Check the arguments of `Scene.add` and `Simulation.add`; `number` names a nameless body."""
    shape = checked_shape(shape, dimension)
    if shape._only_collides:
        raise TypeError(f"shape = {_check.shown(shape)}: changes with time: a collider can, a body cannot")
    if is_python_law(material):
        raise TypeError(
            f"material = {_check.shown(material)}: a law written in Python works in mpm.point only; "
            "must be one of mpm.materials"
        )
    if not isinstance(material, Material):
        example = "mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)"
        hint = f"; for example {example}; mpm.materials.library() has those of real materials"
        raise wrong_material(material, hint=hint)
    refuse_dimension(material, dimension)
    return Body(
        shape=shape,
        material=material,
        velocity=velocity if callable(velocity) else _velocity(velocity, dimension),
        angular_velocity=_angular_velocity(angular_velocity, dimension),
        F=F if F is None or callable(F) else _gradient(F, dimension),
        name=_check.unique_name("body", name, taken, number, GONE_TOO),
        joint=_joint(joint, material, dimension),
    )


def _joint(joint: object, material: Material, dimension: int) -> Joint | None:
    if joint is None:
        return None
    if not isinstance(joint, Joint):
        raise _check.wrong_type("joint", joint, "one of mpm.joints")
    if not material._row["rigid"]:
        kind = type(material).__name__
        raise ValueError(
            f"joint = {_check.shown(joint)}: the body is of {kind}; must be of mpm.materials.Rigid"
        )
    joint._rows(dimension)  # may raise
    return joint


def warn_of_overlaps(body: Body, x: FloatArray, earlier: Iterable[Body], what: str = "particles") -> None:
    """Warn about particles or elements at x (n, d) of a body that lie in the shape of an earlier one."""
    others = list(earlier)
    warn_of_shared(body, overlaps(body, x, others), len(x), others, what)


def overlaps(body: Body, x: FloatArray, earlier: Iterable[Body]) -> list[int]:
    """How many of the points x (n, d) of a body lie in each of the earlier ones."""
    counts = []
    for other in earlier:
        low, high = other.shape.bounds
        near = x[((x >= low) & (x <= high)).all(axis=1)]
        unknown = isinstance(body.shape, Points) or isinstance(other.shape, Points) or not len(near)
        counts.append(0 if unknown else int(other.shape.contains(near).sum()))
    return counts


def warn_of_shared(
    body: Body, counts: Iterable[int], n: int, earlier: Iterable[Body], what: str = "particles"
) -> None:
    """Warn about those of the n particles or elements of a body that `overlaps` has counted."""
    for count, other in zip(counts, earlier, strict=True):
        if count:
            warnings.warn(
                f"{count} of {n} {what} of {body.name!r} lie in {other.name!r}: both bodies have mass there; "
                "cut one out of the other: shape - other",
                UserWarning,
                stacklevel=_check.levels_to_caller(),
            )


def _velocity(velocity: object, dimension: int) -> FloatArray:
    if isinstance(velocity, (numbers.Real, np.bool_)):
        if _check.number("velocity", velocity) != 0:
            allowed = f"0, an array of shape ({dimension},), or callable"
            raise ValueError(f"velocity = {_check.shown(velocity)}: must be {allowed}")
        return _check.frozen(np.zeros(dimension))
    return _for_all("velocity", velocity, (dimension,))


def _angular_velocity(omega: object, dimension: int) -> float | FloatArray:
    if dimension == 2:
        return _check.number("angular_velocity", omega, unit="rad/s")
    if isinstance(omega, (int, float)) and omega is not False and omega == 0:
        return _check.frozen(np.zeros(3))
    return _check.frozen(_check.array("angular_velocity", omega, (3,)))


def _gradient(F: object, dimension: int) -> FloatArray:
    checked = _for_all("F", F, (dimension, dimension))
    _check_orientation("F", checked)
    return checked


def _for_all(name: str, value: object, shape: tuple[int, ...]) -> FloatArray:
    """An initial value for all particles of a body."""
    if isinstance(value, np.ndarray) and value.ndim == len(shape) + 1 and value.shape[1:] == shape:
        raise ValueError(
            f"{name} has shape {value.shape}: must be {shape}, or callable: "
            f"{name}=lambda x: values gives each particle its own"
        )
    return _check.frozen(_check.array(name, value, shape))


class Scene(Collides, Flowing, Loaded, _check.Strict):
    """The physical problem. Simulations copy it and never change it.

    Parameters
    ----------
    lower, upper : array_like, shape (d,)
        The box [m] that holds the material, d = 2 or 3; its faces are the walls.
    gravity : array_like of shape (d,), or callable, optional
        Acceleration [m/s²], default zero. A callable ``g(t)`` is evaluated at the beginning of every step; it acts as a
        body force does.
    body_force : callable, optional
        A force per mass beside gravity: ``f(x, t)`` gets the positions (n, d) [m] of all particles, in the order of
        their rows, and the time [s], and returns accelerations (n, d) [m/s²]. Python calls it before every step, and
        the whole step uses its result: besides the call this costs as much as one or two steps without a body force.
        The bound of the time step ignores it (give `max_dt` if it drives the motion), and the energy omits its work.
        Scenes without a body force pay nothing.
    walls : str, Wall or mapping, optional
        The contact of all faces: ``"sticky"`` (v = 0), ``"slip"`` (v·n = 0, both ways), ``"separate"``
        (one-sided), ``"mirror"`` (a plane of symmetry), ``"absorbing"`` (lets waves out) or ``"periodic"`` (of
        both faces of an axis), or a `Wall`; or a mapping from ``"x-"``, ``"x+"``, ``"y-"``, … or ``"x"``, ``"y"``,
        ``"z"`` (both faces) to these. Faces that the mapping leaves out slip without friction. A slip wall holds on to
        material that touches it; ``"separate"`` lets material fall, rest and bounce.
    friction : float, optional
        Coulomb's coefficient >= 0 of every slip or separate wall given by name, not as a `Wall`.
    contact : Contact or str, optional
        How deformable bodies act on each other, all pairs of them; `set_contact` gives a pair its own. With
        ``"bonded"``, the default, all bodies share one velocity field and stick together where they touch. Other
        contacts give each body a field of its own, at nodes that several bodies reach. Only `mpm.Simulation` with
        explicit steps knows them. `mpm.materials.Rigid` bodies have their own friction and take no part.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type, shape or range; the message names it. One face of an axis is
        periodic, the other is not. A run checks the result of `body_force` and raises its exceptions; the simulation
        is then at its last whole step.

    Examples
    --------
    >>> scene = mpm.Scene(lower=(0, 0), upper=(1, 1), gravity=(0, -9.81), walls={"y-": "separate"})
    >>> jelly = mpm.materials.FixedCorotated(E=1e5, nu=0.3, density=1000)
    >>> scene.add(mpm.shapes.Ball(center=(0.5, 0.7), radius=0.1), jelly, velocity=(0, -3))
    body0: Ball(center=(0.5, 0.7), radius=0.1) of FixedCorotated(E=100000, nu=0.3, density=1000), 31.4159 kg/m
    """

    __slots__ = (
        "_bodies",
        "_body_force",
        "_changes",
        "_colliders",
        "_contact",
        "_contacts",
        "_drains",
        "_emitters",
        "_gravity",
        "_kept",
        "_loads",
        "_lower",
        "_upper",
        "_walls",
    )

    @_check.options
    def __init__(
        self,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        *,
        gravity: npt.ArrayLike | Callable[[float], npt.ArrayLike] | None = None,
        body_force: BodyForce | None = None,
        walls: str | _walls.Wall | Mapping[str, str | _walls.Wall] = "slip",
        friction: float = 0.0,
        contact: _contacts.Contact | str = _contacts.BONDED,
    ) -> None:
        low = _check.array("lower", lower, (None,))
        d = len(low)
        if d not in (2, 3):
            raise ValueError(f"lower has shape ({d},): must be (2,) or (3,)")
        high = _check.array("upper", upper, (d,))
        for axis in np.flatnonzero(~(low < high))[:1]:
            raise ValueError(f"upper[{axis}] = {high[axis]:g}: must be > lower[{axis}] = {low[axis]:g}")
        if not np.isfinite(high - low).all():
            raise ValueError(f"upper - lower = {high - low}: must be finite")
        self._lower = _check.frozen(low)
        self._upper = _check.frozen(high)
        if not (body_force is None or callable(body_force)):
            raise _check.wrong_type("body_force", body_force, "a callable f(x, t)")
        if callable(gravity):
            _check.array("gravity(0)", gravity(0.0), (d,))
            body_force = VaryingGravity(gravity, body_force)
            gravity = None
        self._gravity = _check.frozen(_gravity(gravity, d))
        self._body_force = body_force
        self._walls = _walls.resolve(walls, friction, d)
        self._contact = _contacts.checked("contact", contact)
        self._contacts: dict[tuple[str, str], _contacts.Contact] = {}
        self._bodies: list[Body] = []
        self._colliders: list[Collider] = []
        self._drains: list[Drain] = []
        self._emitters: list[Emitter] = []
        self._loads: list[Load] = []
        self._kept = False
        self._changes = NONE  # those of the run of a simulation that keeps it

    @property
    def dimension(self) -> int:
        """d, 2 or 3."""
        return len(self._lower)

    @property
    def lower(self) -> FloatArray:
        """Lower corner of the domain, shape (d,) [m], read-only."""
        return self._lower

    @property
    def upper(self) -> FloatArray:
        """Upper corner of the domain, shape (d,) [m], read-only."""
        return self._upper

    @property
    def gravity(self) -> FloatArray:
        """Constant gravity, shape (d,) [m/s²], read-only; one that varies is a `body_force`."""
        return self._gravity

    @property
    def body_force(self) -> BodyForce | None:
        """The given force per mass beside gravity."""
        return self._body_force

    @property
    def walls(self) -> dict[str, _walls.Wall]:
        """The wall of every face by its name; a copy."""
        return dict(self._walls)

    @property
    def contact(self) -> _contacts.Contact:
        """The contact of all pairs of bodies that have none of their own."""
        return self._contact

    @property
    def contacts(self) -> dict[tuple[str, str], _contacts.Contact]:
        """The contacts that `set_contact` has given to pairs, by the names of both; a copy."""
        return dict(self._contacts)

    def _layers(self) -> dict[str, int]:
        """The layer of each deformable body and each emitter by its name: bonded bodies share one."""
        bodies = [body.name for body in self._bodies if not body.material._row["rigid"]]
        names = [*bodies, *(emitter.name for emitter in self._emitters)]
        return _contacts.layers_of(names, self._contact, self._contacts)

    @property
    def _touches(self) -> bool:
        return _contacts.touches(self._contact, self._contacts)

    @property
    def _filling(self) -> tuple[Material, ...]:
        """The materials of the bodies, then of the emitters."""
        return (*(one.material for one in self._bodies), *(one.material for one in self._emitters))

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies in the order of their addition."""
        return tuple(self._bodies)

    @property
    def colliders(self) -> tuple[Collider, ...]:
        """The colliders in the order of their addition."""
        return tuple(self._colliders)

    @property
    def loads(self) -> tuple[Load, ...]:
        """The loads, heat sources and held regions in the order of their addition."""
        return tuple(self._loads)

    @_check.options
    def add(
        self,
        shape: Shape,
        material: Material,
        *,
        velocity: Velocity = 0,
        angular_velocity: npt.ArrayLike = 0,
        F: Gradient | None = None,
        name: str | None = None,
        joint: Joint | None = None,
    ) -> Body:
        """Add a body.

        Parameters
        ----------
        shape : one of `mpm.shapes`
            A shape of the scene's dimension.
        material : one of `mpm.materials`
        velocity : array_like of shape (d,), or callable, optional
            Velocity [m/s], default zero. A callable gets the sampled positions (m, d) once (`shapes.Points` in the
            given order) and returns (m, d).
        angular_velocity : float (2-D) or array_like of shape (3,) (3-D), optional
            Rotation [rad/s] about the body's centre of mass, added to `velocity` and to the affine velocity C of the
            particles, which is zero otherwise.
        F : array_like of shape (d, d), or callable, optional
            Initial deformation gradient of all particles with det F > 0, default I; a callable returns (m, d, d).
            The density becomes density / det F. For a fluid, which keeps J = det F alone, F must be J^(1/d) times the
            identity; the simulation refuses others. `mpm.Simulation` takes the volume of the shape as that at rest, and
            the mass follows from it. `mpm.fem.Simulation` takes the shape as the deformed body, so that rest volume
            and mass are smaller by det F.
        name : str, optional
            A unique name; default ``body0``, ``body1``, …
        joint : one of `mpm.joints`, optional
            What holds a body of `mpm.materials.Rigid` to the world: a hinge, a slider, a socket, a fixed axis.

        Returns
        -------
        Body
            The new body.

        Raises
        ------
        TypeError, ValueError
            An argument is of the wrong type, shape or range, or the scene belongs to a simulation (`Simulation.scene`);
            the scene stays as before.
        """
        self._refuse_if_kept("sim.add(shape, material) adds a body to the simulation")
        if any(isinstance(body.F, _lithostatic.Lithostatic) for body in self._bodies):
            raise ValueError(
                "add: Scene.lithostatic takes the weight of the bodies before it; call it after the last one"
            )
        body = make_body(
            shape,
            material,
            velocity=velocity,
            angular_velocity=angular_velocity,
            F=F,
            name=name,
            joint=joint,
            dimension=self.dimension,
            taken={body.name for body in self._bodies},
            number=len(self._bodies),
        )
        refuse_titles(body.name, self._emitters)
        self._bodies.append(body)
        return body

    @_check.options
    def set_contact(
        self, a: Body | Emitter | str, b: Body | Emitter | str, contact: _contacts.Contact | str
    ) -> None:
        """Give a pair of deformable bodies its own contact.

        Parameters
        ----------
        a, b : Body, Emitter or str
            Two bodies of this scene, or their names, in either order. All fillings of an emitter are one body.
        contact : Contact or str
            ``"bonded"`` makes both one piece, with all bodies that either of them is bonded to. The pair has a column
            ``impulse:A|B`` in the history.

        Raises
        ------
        TypeError, ValueError
            The scene has no such body, both are the same, one is rigid, or the contact is none; or the scene belongs to
            a simulation. Bodies that are bonded through a third one but have another contact are refused by the
            simulation.

        Examples
        --------
        >>> scene.set_contact(wheel, slab, mpm.Contact("separate", friction=0.8))  # doctest: +SKIP
        """
        self._refuse_if_kept("a contact belongs to the scene: make another simulation")
        names = [*(body.name for body in self._bodies), *(emitter.name for emitter in self._emitters)]
        first, second = self._partner("a", a, names), self._partner("b", b, names)
        rule = _contacts.checked("contact", contact)
        if first == second:
            raise ValueError(f"b = {second!r}: is a itself; a body does not touch itself")
        self._contacts[_contacts.pair_of(first, second, names)] = rule

    def _partner(self, which: str, given: object, names: list[str]) -> str:
        """The name of a body that can touch others."""
        if isinstance(given, (Body, Emitter)):
            if not any(one is given for one in (*self._bodies, *self._emitters)):
                raise ValueError(f"{which} = {given.name!r}: is not a body of this scene")
            given = given.name
        elif not isinstance(given, str):
            raise _check.wrong_type(which, given, "a body of this scene or its name")
        name = _check.choice(which, given, tuple(names))
        rigid = [body.name for body in self._bodies if body.material._row["rigid"]]
        if name in rigid:
            raise ValueError(f"{which} = {name!r}: is rigid; its friction is that of its material")
        return name

    def _taken_names(self) -> set[str]:
        self._refuse_if_kept("sim.add_collider(shape) adds a collider to the simulation")
        return {collider.name for collider in self._colliders} | {load.name for load in self._loads}

    @_check.options
    def lithostatic(self, K0: float | Mapping[str, float]) -> None:
        """Let bodies begin with the stresses of their own weight, as ground that came to rest long ago.

        The vertical stress of a point is the weight of all bodies above it, layer by layer; the horizontal stress is K0
        times as large. With pore water (`mpm.Pore`), its initial pressure bears its part of the weight, and K0 is that
        of effective stresses. Bodies get the `F` that bears these stresses; in 2-D the stress out of plane is that of
        plane strain. Level ground is then at rest except for the cells at its surface. `Simulation.equilibrate` with
        ``increments=1`` finds the state of rest, also below a slope or beside a wall. Call `lithostatic` after the last
        body. Ground that `Simulation.add` adds later begins without stress.

        Parameters
        ----------
        K0 : float, or mapping of str to float
            Horizontal over vertical stress, >= 0, of all bodies that deform, or by name; bodies without a K0 begin
            without stress. Elastic ground that cannot move sideways has ν/(1 − ν), normally consolidated soil 1 − sin φ
            (Jaky 1944), and a fluid 1. The stresses must be within the strength of the material.

        Raises
        ------
        TypeError, ValueError
            K0 is no number >= 0 or names no such body; gravity is 0 or not along an axis, or there is a body force; a
            body has an `F` or a density that varies, or is of `Points`. A simulation raises where the material yields
            in this state, and `mpm.fem.Simulation` always: its elements deform with their nodes.

        References
        ----------
        J. Jaky, The coefficient of earth pressure at rest, J. Soc. Hungarian Architects Engineers 78 (1944) 355-358.

        Examples
        --------
        >>> scene = mpm.Scene((0, 0), (4, 3), gravity=(0, -9.81), walls={"x": "slip", "y-": "sticky"})
        >>> clay = mpm.materials.DruckerPrager(E=1e7, nu=0.3, density=1900, friction_angle_deg=25, cohesion=5e3)
        >>> ground = scene.add(mpm.shapes.Box((0, 0), (4, 2)), clay, name="clay")
        >>> scene.lithostatic(K0=0.5)
        """
        self._refuse_if_kept("make a new simulation")
        made = _lithostatic.make_all(
            self._bodies,
            K0,
            gravity=self._gravity,
            body_force=self._body_force,
            lower=self._lower,
            upper=self._upper,
        )
        self._bodies = [
            replace(body, F=made[body.name]) if body.name in made else body for body in self._bodies
        ]

    def _add_collider(self, collider: Collider) -> None:
        self._colliders.append(collider)

    def fitted(self, dx: float) -> Scene:
        """A copy whose domain is a whole number of cells: `upper` moves outwards by less than `dx` where it has to.

        Walls stay on the faces, so that those at `upper` move with them, and a periodic axis gets a longer period.
        Bodies and colliders stay where they are.

        Parameters
        ----------
        dx : float
            Cell size > 0 [m], or the `spacing` of `mpm.sph.Simulation`.

        Returns
        -------
        Scene
            It accepts bodies and colliders.

        Raises
        ------
        TypeError, ValueError
            `dx` is not a number > 0, or so small that the domain would have more than 2^30 cells along an axis.

        Examples
        --------
        >>> mpm.Scene((0, 0), (1, 0.73)).fitted(1 / 32).upper.tolist()
        [1.0, 0.75]
        """
        size = _check.number("dx", dx, low=0, low_open=True, unit="m")
        refuse_many("dx", self._upper - self._lower, size)
        cells = whole_cells(self._upper - self._lower, size)
        other = copy.copy(self)
        upper = self._lower + cells * size
        # A side that is whole already keeps its number, which rounding may have made another one.
        whole = are_whole((self._upper - self._lower) / size)
        other._upper = _check.frozen(np.where(whole, self._upper, upper))
        return other

    def __copy__(self) -> Scene:
        """A scene with the same bodies and colliders, which accepts additions."""
        other = object.__new__(type(self))
        for name in self.__slots__:
            object.__setattr__(other, name, getattr(self, name))
        object.__setattr__(other, "_bodies", list(self._bodies))
        object.__setattr__(other, "_colliders", list(self._colliders))
        object.__setattr__(other, "_drains", list(self._drains))
        object.__setattr__(other, "_emitters", list(self._emitters))
        object.__setattr__(other, "_loads", list(self._loads))
        object.__setattr__(other, "_contacts", dict(self._contacts))
        object.__setattr__(other, "_kept", False)
        return other

    def _kept_copy(self) -> Scene:
        """The copy that a simulation keeps. It accepts no additions, because they would not be in the simulation."""
        other = copy.copy(self)
        object.__setattr__(other, "_kept", True)
        return other

    def _new_run(self) -> Scene:
        """A copy for a simulation that begins: what was changed in another run is as given, and noted no more."""
        other = copy.copy(self)
        other._changes = NONE
        return other

    def _with_collider(self, collider: Collider) -> Scene:
        """A copy for a simulation that got one more collider."""
        other = self._kept_copy()
        other._colliders.append(collider)
        return other

    def _refuse_if_kept(self, instead: str) -> None:
        if self._kept:
            raise TypeError(
                f"sim.scene is the scene that the simulation was made from: it accepts no additions; {instead}; "
                "copy.copy(sim.scene) gives a scene for another simulation"
            )

    def _contact_lines(self) -> list[str]:
        """How bodies touch, where they may."""
        own = [f"        {a}|{b} {one!r}" for (a, b), one in self._contacts.items()]
        return [f"contact {self._contact!r}", *own] if self._touches else []

    def __repr__(self) -> str:
        lines = [f"Scene({self._lower.tolist()}, {self._upper.tolist()}) [m], {self.dimension}-D"]
        if self._gravity.any():
            lines.append(f"  gravity {self._gravity.tolist()} m/s²")
        if self._body_force is not None:
            lines.append(f"  force   {_check.shown(self._body_force)} per mass")
        walls = (f"{face} {_described(wall)}" for face, wall in self._walls.items())
        lines.append("  walls   " + ", ".join(walls))
        lines += [f"  {line}" for line in self._contact_lines()]
        lines += [f"  {line}" for line in _check.ends(self._bodies, "bodies", repr)]
        lines += [f"  {line}" for line in _check.ends(self._colliders, "colliders", repr)]
        lines += [f"  {line}" for line in _check.ends(self._emitters, "emitters", repr)]
        lines += [f"  {line}" for line in _check.ends(self._drains, "drains", repr)]
        lines += [f"  {line}" for line in _check.ends(self._loads, "loads", repr)]
        return "\n".join(lines)


def _described(wall: _walls.Wall) -> str:
    given = [f"{name} {value:g}" for name in ("friction", "restitution") if (value := getattr(wall, name))]
    return wall.contact + (f" ({', '.join(given)})" if given else "")
