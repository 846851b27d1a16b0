"""Systems of bodies M dv/dt = f(x, v, t): three in C, and one with a function in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray

Shape = tuple[int, ...]
Force = Callable[[FloatArray, FloatArray, float], npt.ArrayLike]
Jacobian = Callable[[FloatArray, FloatArray, float], Any]
Potential = Callable[[FloatArray, float], float]


class Model(_check.Strict):
    """What all systems are."""

    __slots__ = ()

    def _describe(self, shape: Shape) -> tuple[Any, ...]:
        """The description for the core, of a state whose x has this shape; a ValueError where it cannot have it."""
        raise NotImplementedError


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Oscillator(Model):
    """x'' = −ω² x − damping · x', for every number of x by itself. Its energy is that of unit masses, (v² + ω² x²)/2.

    Parameters
    ----------
    omega : float, default 1
        ω > 0 [rad/s].
    damping : float, default 0
        [1/s], >= 0.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type or range.
    """

    omega: float = 1.0
    damping: float = 0.0

    def __post_init__(self) -> None:
        omega = _check.number("omega", self.omega, low=0, low_open=True, unit="rad/s")
        object.__setattr__(self, "omega", omega)
        object.__setattr__(self, "damping", _check.number("damping", self.damping, low=0, unit="1/s"))

    def _describe(self, shape: Shape) -> tuple[Any, ...]:
        return "oscillator", np.ones(shape), self.omega, self.damping


@_check.strict_options
@dataclass(frozen=True, slots=True)
class TwoBody(Model):
    """Two bodies that attract each other by gravitation, G m₁ m₂/r²: the problem of Kepler.

    x and v have the shape (2, d), d = 2 or 3.

    Parameters
    ----------
    masses : (float, float), default (1, 1)
        [kg], > 0.
    G : float, default 1
        The constant of gravitation, > 0; 6.6743e-11 m³/(kg s²) in SI units.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type or range.
    """

    masses: tuple[float, float] = (1.0, 1.0)
    G: float = 1.0

    def __post_init__(self) -> None:
        masses = _check.array("masses", self.masses, (2,))
        if not (masses > 0).all():
            raise ValueError(f"masses = {_check.shown(self.masses)}: must be > 0 [kg]")
        object.__setattr__(self, "masses", tuple(masses.tolist()))
        object.__setattr__(self, "G", _check.number("G", self.G, low=0, low_open=True))

    @_check.options
    def orbit(
        self, *, eccentricity: float = 0.0, semi_major_axis: float = 1.0
    ) -> tuple[FloatArray, FloatArray]:
        """Positions and velocities at the periapsis of an ellipse in the plane, the centre of mass at rest at 0.

        Parameters
        ----------
        eccentricity : float, default 0
            >= 0 and < 1.
        semi_major_axis : float, default 1
            Of the ellipse of one body about the other, > 0 [m].

        Returns
        -------
        x, v : ndarray, shape (2, 2)
            [m], [m/s].

        Raises
        ------
        TypeError, ValueError
            An argument is of the wrong type or range.
        """
        e = _check.number("eccentricity", eccentricity, low=0, high=1, high_open=True)
        a = _check.number("semi_major_axis", semi_major_axis, low=0, low_open=True, unit="m")
        total = sum(self.masses)
        shares = np.array([[-self.masses[1]], [self.masses[0]]]) / total
        speed = math.sqrt(self.G * total / a * (1 + e) / (1 - e))
        return shares * (a * (1 - e), 0.0), shares * (0.0, speed)

    @_check.options
    def period(self, *, semi_major_axis: float = 1.0) -> float:
        """Time of a turn [s], by Kepler's third law: 2π √(a³/(G (m₁ + m₂))).

        Parameters
        ----------
        semi_major_axis : float, default 1
            > 0 [m].

        Raises
        ------
        TypeError, ValueError
            It is not a number > 0.
        """
        a = _check.number("semi_major_axis", semi_major_axis, low=0, low_open=True, unit="m")
        return 2 * math.pi * math.sqrt(a**3 / (self.G * sum(self.masses)))

    def _describe(self, shape: Shape) -> tuple[Any, ...]:
        if shape not in ((2, 2), (2, 3)):
            raise ValueError(
                f"x has shape {shape}: must be (2, 2) or (2, 3), two bodies in the plane or in space"
            )
        mass = np.array(self.masses)
        numbers = np.array([[0, 0, 0, self.G * self.masses[0] * self.masses[1]]])
        return _pairs(shape, mass, np.array([[0, 1]], np.int32), numbers)


@_check.strict_options
@dataclass(frozen=True, slots=True, eq=False)
class MassSpring(Model):
    """Masses on springs, with dampers along them: any graph, on a line, in the plane or in space.

    The tension of a spring is stiffness · (l − length) + damping · dl/dt, l being the distance of its ends. x and v
    have the shape (n, d), d = 1, 2 or 3.

    Parameters
    ----------
    mass : array_like, shape (n,)
        [kg], > 0.
    springs : array_like of int, shape (k, 2)
        The two masses of each spring, counted from 0.
    stiffness : float or array_like, shape (k,)
        [N/m], >= 0.
    length : float or array_like, shape (k,)
        At rest [m], >= 0.
    damping : float or array_like, shape (k,), default 0
        [N s/m], >= 0.
    fixed : array_like of int, default ()
        Masses without force: they keep their velocity, and stay at rest if it is zero.
    gravity : array_like, shape (d,), optional
        [m/s²]. Default: none.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type, shape or range.

    Notes
    -----
    Implicit methods solve linear systems by conjugate gradients, which need M − dt² ∂f/∂x to be positive definite. A
    compressed spring is unstable sideways and can make this matrix indefinite if dt is long; the methods then raise
    ConvergenceError.
    """

    mass: FloatArray
    springs: npt.NDArray[np.int32]
    stiffness: FloatArray
    length: FloatArray
    damping: FloatArray = 0.0  # type: ignore[assignment]  # one number for all
    fixed: npt.NDArray[np.intp] = ()  # type: ignore[assignment]
    gravity: FloatArray | None = None

    def __post_init__(self) -> None:
        mass = _check.array("mass", self.mass, (None,))
        if not len(mass) or not (mass > 0).all():
            raise ValueError(f"mass = {_check.shown(self.mass)}: must be > 0 [kg], of at least one mass")
        springs = _indices("springs", self.springs, 2, len(mass))
        for k in np.flatnonzero(springs[:, 0] == springs[:, 1])[:1]:
            raise ValueError(f"springs[{k}] = {springs[k].tolist()}: must have two different ends")
        self._set("mass", mass)
        self._set("springs", springs.astype(np.int32))
        for name in ("stiffness", "length", "damping"):
            self._set(name, _of_each(name, getattr(self, name), len(springs)))
        self._set("fixed", np.unique(_indices("fixed", self.fixed, 1, len(mass))))
        if self.gravity is not None:
            gravity = _check.array("gravity", self.gravity, (None,))
            if len(gravity) not in (1, 2, 3):
                raise ValueError(f"gravity has shape {gravity.shape}: must be (1,), (2,) or (3,)")
            self._set("gravity", gravity)

    def _set(self, name: str, values: Any) -> None:
        values.flags.writeable = False
        object.__setattr__(self, name, values)

    def _describe(self, shape: Shape) -> tuple[Any, ...]:
        n, d = len(self.mass), None if self.gravity is None else len(self.gravity)
        if len(shape) != 2 or shape[0] != n or (shape[1] not in (1, 2, 3) if d is None else shape[1] != d):
            dimensions = "1, 2 or 3" if d is None else f"{d} as gravity has"
            raise ValueError(f"x has shape {shape}: must be ({n}, d), d = {dimensions}")
        columns = (self.stiffness, self.length, self.damping, np.zeros(len(self.springs)))
        gravity = () if self.gravity is None else self.gravity.tolist()
        return _pairs(shape, self.mass, self.springs, np.stack(columns, axis=1), self.fixed, gravity)


@_check.strict_options
@dataclass(frozen=True, slots=True, eq=False)
class System(Model):
    """A system whose force is a function in Python: M x'' = force(x, x', t).

    The cost: a call of Python takes about 10 µs with its checks and copies, an explicit step of `Oscillator` in C about
    20 ns; ``benchmarks/methods.py integrators`` prints both. An explicit step calls `force` once (the trapezoidal rule
    and the midpoint method: twice), an implicit step some five times. Without a `jacobian`, every iteration of
    conjugate gradients calls it twice more.

    Parameters
    ----------
    force : callable
        force(x, v, t) -> array_like [N], of the shape of x; x [m] and v [m/s] are copies.
    jacobian : callable, optional
        jacobian(x, v, t) -> ∂f/∂x, or the pair (∂f/∂x, ∂f/∂v): arrays of shape (N, N), N being the count of numbers in
        x, in C order. Both must be symmetric: those of a potential and of dampers are. Only implicit methods use the
        Jacobian. Default: differences of `force`.
    mass : float or array_like, default 1
        [kg], > 0: one number, one per row of x, or one per number of x.
    potential : callable, optional
        potential(x, t) -> float [J]. Without it, energies are kinetic energies.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type or range.
    """

    force: Force
    jacobian: Jacobian | None = None
    mass: FloatArray = 1.0  # type: ignore[assignment]
    potential: Potential | None = None

    def __post_init__(self) -> None:
        if not callable(self.force):
            raise _check.wrong_type("force", self.force, "a function f(x, v, t)")
        for name, needs in (("jacobian", "J(x, v, t)"), ("potential", "U(x, t)")):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise _check.wrong_type(name, getattr(self, name), f"a function {needs}")
        mass = state("mass", self.mass)
        if not (mass > 0).all():
            raise ValueError(f"mass = {_check.shown(self.mass)}: must be > 0 [kg]")
        object.__setattr__(self, "mass", _check.frozen(mass))

    def _describe(self, shape: Shape) -> tuple[Any, ...]:
        mass = self.mass
        if mass.shape not in ((), shape, shape[:1]):
            allowed = " or ".join(str(s) for s in dict.fromkeys([(), shape[:1], shape]))
            raise ValueError(f"x has shape {shape}, and mass {mass.shape}: that must be {allowed}")
        rows = mass.reshape(mass.shape + (1,) * (len(shape) - mass.ndim))
        asked = Asked(self, shape)
        inverse = np.ascontiguousarray(np.broadcast_to(1 / rows, shape))
        return "asked", inverse, asked, asked.x, asked.v, asked.f, asked.p, asked.q


class Asked:
    """A `System` as the core sees it: methods that read and write the arrays, which the core fills and reads."""

    def __init__(self, system: System, shape: Shape) -> None:
        self.system = system
        self.x, self.v, self.f, self.p, self.q = (np.zeros(shape) for _ in range(5))
        self.matrices: tuple[FloatArray, FloatArray | None] | None = None
        self.time = 0.0

    def _force(self, x: FloatArray, v: FloatArray, t: float) -> FloatArray:
        return result("force(x, v, t)", self.system.force(x, v, t), self.f.shape)

    def force(self, t: float) -> None:
        self.f[...] = self._force(self.x.copy(), self.v.copy(), t)

    def linearize(self, t: float) -> None:
        self.time = t
        self.at = self.x.copy(), self.v.copy()
        if self.system.jacobian is not None:
            given = self.system.jacobian(self.x.copy(), self.v.copy(), t)
            pair = given if isinstance(given, tuple) else (given, None)
            if len(pair) != 2:
                raise ValueError(f"jacobian(x, v, t) has {len(pair)} matrices: must be one or two")
            size = (self.x.size, self.x.size)
            by_x = result("jacobian(x, v, t)", pair[0], size)
            self.matrices = by_x, None if pair[1] is None else result("jacobian(x, v, t)", pair[1], size)

    def multiply(self, a: float, b: float) -> None:
        if self.matrices is None:
            self.q[...] = self._difference(a * self.p, b * self.p)
            return
        by_x, by_v = self.matrices
        product = a * (by_x @ self.p.reshape(-1))
        if by_v is not None:
            product += b * (by_v @ self.p.reshape(-1))
        self.q[...] = product.reshape(self.q.shape)

    def _difference(self, dx: FloatArray, dv: FloatArray) -> FloatArray:
        """The change of the force along (dx, dv): central differences that move no number by more than a share of the
        largest one."""
        x, v = self.at
        shares = [
            float(np.abs(d).max(initial=0) / (np.abs(s).max(initial=0) or 1)) for d, s in ((dx, x), (dv, v))
        ]
        if not (largest := max(shares)):
            return np.zeros_like(x)
        h = float(np.finfo(float).eps) ** (1 / 3) / largest
        ahead, behind = (self._force(x + s * dx, v + s * dv, self.time) for s in (h, -h))
        return np.asarray((ahead - behind) / (2 * h))

    def potential(self, t: float) -> float:
        if self.system.potential is None:
            return 0.0
        return float(result("potential(x, t)", self.system.potential(self.x.copy(), t), ()))


def result(name: str, value: object, shape: Shape) -> FloatArray:
    """What a function in Python gave, checked; that a state is finite is checked after the step."""
    if type(value) is np.ndarray and value.dtype == np.float64 and value.shape == shape:
        return value
    return _check.array(name, value, shape, finite=False)


def state(name: str, value: object) -> FloatArray:
    """A new finite array of any shape."""
    try:
        dimensions = np.ndim(value)  # type: ignore[arg-type]
    except ValueError:  # ragged nesting
        dimensions = 1
    return _check.array(name, value, (None,) * dimensions)


def _of_each(name: str, value: object, count: int) -> FloatArray:
    """One number >= 0 for each of the springs."""
    values = state(name, value)
    if values.shape not in ((), (count,)):
        raise ValueError(f"{name} has shape {values.shape}: must be one number or ({count},)")
    if not (values >= 0).all():
        raise ValueError(f"{name} = {_check.shown(value)}: must be >= 0")
    return np.full(count, values) if values.ndim == 0 else values


def _indices(name: str, value: object, dimensions: int, count: int) -> npt.NDArray[np.intp]:
    """Indices (k,) or (k, 2) of masses."""
    wanted = "(k,)" if dimensions == 1 else "(k, 2)"
    if value is None or isinstance(value, (str, bytes, dict, set)):
        raise _check.wrong_type(name, value, f"whole numbers of shape {wanted}")
    _check.refuse_masked(name, value)
    try:
        given = np.asarray(value)
    except ValueError:  # ragged nesting
        raise ValueError(f"{name} = {_check.shown(value)}: must be an array of shape {wanted}") from None
    if not given.size and given.ndim == 1:
        given = np.zeros((0, 2)[:dimensions], np.intp)
    if given.dtype.kind not in "iu":
        raise TypeError(f"{name} = {_check.shown(value)}: must be whole numbers, not {given.dtype}")
    if given.ndim != dimensions or given.shape[1:] not in ((), (2,)):
        raise ValueError(f"{name} has shape {given.shape}: must be {wanted}")
    if given.size and not (0 <= int(given.min()) and int(given.max()) < count):
        raise ValueError(f"{name} = {_check.shown(value)}: must be >= 0 and < {count}, the number of masses")
    return given.astype(np.intp)


def _pairs(
    shape: Shape,
    mass: FloatArray,
    bodies: npt.NDArray[np.int32],
    numbers: FloatArray,
    fixed: npt.NDArray[np.intp] | None = None,
    gravity: tuple[float, ...] | list[float] = (),
) -> tuple[Any, ...]:
    """The core's ``mpm_pairs``: of each pair the stiffness, length, damping and attraction."""
    inverse = np.repeat(1 / mass[:, None], shape[1], axis=1)
    if fixed is not None:
        inverse[fixed] = 0
    return "pairs", inverse, shape[1], mass, bodies, numbers, (*gravity, 0.0, 0.0, 0.0)[:3]
