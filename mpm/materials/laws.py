"""What every constitutive law of the package does: checked parameters, the core's registry, evaluation by the core.

The laws themselves are in `mpm.materials`.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check, advice, config, fieldtable
from mpm.base._check import FloatArray
from mpm.materials.following import Following
from mpm.materials.pore import Pore
from mpm.materials.solute import Solute
from mpm.materials.thermal import Thermal
from mpm.materials.varying import Varying, called, is_varying

NEARLY_INCOMPRESSIBLE = 0.49


class Evaluation(NamedTuple):
    """A law at m deformation gradients."""

    tau: FloatArray  # (m, d, d) Kirchhoff stress [Pa]
    energy: FloatArray  # (m,) per rest volume [J/m^3]
    tau_zz: FloatArray  # (m,) out of plane, zeros in 3-D [Pa]
    isolated: FloatArray  # (m,) modulus of an isolated particle [Pa]
    longitudinal: FloatArray  # (m,) modulus of a plane wave [Pa]


@functools.cache
def registry() -> dict[str, _core.Law]:
    """The laws of the core by name."""
    return {law["name"]: law for law in _core.laws()}


def warn_if_incompressible(name: str, nu: float) -> None:
    """Warn of a Poisson's ratio near 0.5."""
    if nu > NEARLY_INCOMPRESSIBLE:
        warnings.warn(
            f"{name} = {nu!r} > {NEARLY_INCOMPRESSIBLE:g}: nearly incompressible; "
            "expect a small dt, and volumetric locking without f_bar=True of mpm.Simulation",
            UserWarning,
            stacklevel=_check.levels_to_caller(),  # the line that creates the material, or samples it
        )


class Material(_check.Strict):
    """Base of the materials; use one of its subclasses. Numbers may vary over particles, see `mpm.materials`."""

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("Material is the base of the materials: use one of them, such as FixedCorotated")

    law: ClassVar[str]
    """Name of the law in the core's registry."""

    inverts: ClassVar[bool] = False
    """Whether the law is defined where det F <= 0."""

    _no_tangent: ClassVar[str] = ""
    """Why a law that takes no implicit steps has no tangent."""

    _uniform: ClassVar[tuple[str, ...]] = ()
    """Parameters of the law that are numbers and may not vary."""

    density: float
    """Initial density [kg/m^3]."""

    thermal: Thermal | None = None
    """How it conducts and stores heat."""

    pore: Pore | None = None
    """The water in its pores."""

    solute: Solute | None = None
    """What diffuses in it."""

    def __init_subclass__(cls) -> None:
        cls.__setstate__ = _check.restore_fields  # type: ignore[attr-defined]

    def __post_init__(self) -> None:
        """Check every parameter against its range in the core's registry."""
        self._refuse_varying()
        if self.thermal is not None and not isinstance(self.thermal, Thermal):
            raise _check.wrong_type("thermal", self.thermal, "an mpm.Thermal or None")
        if self.pore is not None and not isinstance(self.pore, Pore):
            raise _check.wrong_type("pore", self.pore, "an mpm.Pore or None")
        if self.solute is not None and not isinstance(self.solute, Solute):
            raise _check.wrong_type("solute", self.solute, "an mpm.Solute or None")
        for name in ("thermal", "pore"):
            if self.solute is not None and getattr(self, name) is not None:
                raise ValueError(
                    f"solute = {self.solute!r}: {name} is given, and a simulation conducts one of both; leave one out"
                )
        for parameter in self._given_parameters():
            name = parameter["name"]
            given, limits = getattr(self, name), _limits(parameter)
            if isinstance(given, (list, tuple)):
                wanted = "a number, a NumPy array with a value for each particle, or a function of x"
                raise _check.wrong_type(name, given, wanted)
            value: float | Varying = (
                _check.flag(name, given)
                if parameter["unit"] == "flag"
                else Varying.of(name, given, limits)
                if is_varying(given)
                else _check.number(name, given, **limits)
            )
            object.__setattr__(self, name, value)
        self._refuse_scale()
        nu = getattr(self, "nu", 0.0)
        if not isinstance(nu, Varying):
            warn_if_incompressible("nu", nu)
        elif not callable(nu.given):
            warn_if_incompressible("largest nu", float(nu.given.max()))

    def _refuse_varying(self) -> None:
        """A TypeError if something varies over the particles that may not."""
        given = self._given_parameters()
        may = [p["name"] for p in given if p["unit"] != "flag" and p["name"] not in self._uniform]
        for field in fields(cast(Any, self)):
            name, value = field.name, getattr(self, field.name)
            is_vector = isinstance(value, np.ndarray) and isinstance(field.default, tuple)
            if name not in may and is_varying(value) and not is_vector:
                raise TypeError(
                    f"{name} = {_check.shown(value)}: {type(self).__name__} takes one value of it for all particles "
                    f"of a body; those that may vary are {', '.join(may)}"
                )

    def _refuse_scale(self) -> None:
        """An error if something follows the temperature, or the concentration, that cannot."""
        kind, scaled = self._followed
        if scaled is None:
            return
        what = "temperature" if kind == "thermal" else "concentration"
        given = {p["name"]: p for p in self._given_parameters() if p["unit"] != "flag"}
        begins = {field["initial_parameter"] for field in self._row["history"]}
        may = [name for name in given if name not in {"density", *self._uniform, *begins}]
        for name, _, factors in scaled._tables:
            if name not in may:
                raise ValueError(
                    f"{kind}: scale[{name!r}]: {type(self).__name__} has no number of this name that may vary; those "
                    f"that may follow the {what} are {', '.join(may)}"
                )
            value = getattr(self, name)
            if isinstance(value, Varying):
                raise TypeError(
                    f"{kind}: scale[{name!r}]: {name} = {value!r} varies over the particles: must be a number"
                )
            for k, factor in enumerate(factors):
                title = f"{kind}: scale[{name!r}]: {value:g} times factors[{k}]"
                _check.number(title, value * factor, **_limits(given[name]))

    @property
    def _followed(self) -> tuple[str, Following | None]:
        """The argument that has parameters that follow something, and its name."""
        for name in ("thermal", "solute"):
            if (one := getattr(self, name)) is not None and one.scale:
                return name, one
        return "", None

    def _given_parameters(self) -> list[_core.Parameter]:
        """Those of the law's parameters that are attributes; others follow from attributes (`_parameter`)."""
        given = {field.name for field in fields(cast(Any, self))}
        return [p for p in self._row["parameters"] if p["name"] in given]

    def _parameter(self, name: str) -> float:
        """The value of a parameter of the law; a ValueError if it varies."""
        value = getattr(self, name)
        if isinstance(value, Varying):
            raise ValueError(
                f"{name} of {type(self).__name__} varies over the particles: this needs one value; take "
                "material.at(x=...) or at(particle=...)"
            )
        return float(value)

    def _least_density(self) -> float:
        """The density, or a lower bound of one that varies; of one that is a function there is none, and it is tiny."""
        density: Any = self.density
        if not isinstance(density, Varying):
            return float(density)
        return 1e-90 if callable(density.given) else float(density.given.min())

    @property
    def _varies(self) -> tuple[str, ...]:
        """Given parameters that vary over the particles, also those that follow something."""
        names = [parameter["name"] for parameter in self._given_parameters()]
        _, followed = self._followed
        scaled = () if followed is None else followed._scaled
        return tuple(name for name in names if isinstance(getattr(self, name), Varying) or name in scaled)

    @property
    def _varying(self) -> tuple[int, ...]:
        """Indices of the law's parameters that vary: each has a field of its name. The density is in the mass."""
        varies = self._varies
        names = [p["name"] for p in self._row["parameters"] if p["name"] != "density"]
        return tuple(i for i, name in enumerate(names) if name in varies)

    @property
    def _varying_fields(self) -> list[tuple[str, str]]:
        """Parameters that vary, each with a field that begins with it: its own, or one of the law's history."""
        own = [self._row["parameters"][i]["name"] for i in self._varying]
        begins = [(field["initial_parameter"], field["name"]) for field in self._row["history"]]
        return [*((name, name) for name in own), *((p, f) for p, f in begins if p in own)]

    @property
    def _core_arguments(self) -> tuple[Any, tuple[float, ...], tuple[int, ...]]:
        """The law, its parameters, and which of them vary, as the core takes them."""
        varies = self._varies
        names = [p["name"] for p in self._row["parameters"] if p["name"] != "density"]
        values = tuple(math.nan if name in varies else self._parameter(name) for name in names)
        return self._core_law, values, self._varying

    @property
    def _one_density(self) -> float:
        """The density, 0 where it varies."""
        if not isinstance(self.density, Varying):
            return self.density
        given = self.density.given
        return float(given[0]) if isinstance(given, np.ndarray) and (given == given[0]).all() else 0.0

    def _sampled(self, x: FloatArray, body: str, dtype: str, row: str = "particle") -> dict[str, FloatArray]:
        """The values (n,) of all that varies, of the particles of a body (or what else a `row` is) at x (n, d), as
        `dtype` holds them."""
        values: dict[str, FloatArray] = {}
        for parameter in self._given_parameters():
            given = getattr(self, parameter["name"])
            if isinstance(given, Varying):
                values[parameter["name"]] = given.at(
                    parameter["name"], x, body, _limits(parameter), dtype, row
                )
                if parameter["name"] == "nu" and callable(given.given):
                    warn_if_incompressible(f"largest nu(x) of {body!r}", float(values["nu"].max()))
        kind, scaled = self._followed
        if scaled is not None:
            self._refuse_unfit_scale(kind, scaled)
            for name, factor in scaled._at_beginning.items():
                values[name] = np.full(
                    len(x), np.dtype(dtype).type(getattr(self, name) * factor), dtype=np.float64
                )
            names = [parameter["name"] for parameter in self._given_parameters()]
            values = {name: values[name] for name in names if name in values}
        if not values:
            return values
        broken = self._unfit(values, len(x))
        if broken:
            particle, words = broken
            try:
                self._replaced({name: float(value[particle]) for name, value in values.items()})
            except ValueError as error:
                words = str(error)
            raise ValueError(f"{row} {particle} of {body!r}: {words}")
        return values

    def _refuse_unfit_scale(self, kind: str, scaled: Following) -> None:
        """A ValueError if the parameters do not go together in a state of their tables."""
        for state, factors in scaled._states:
            values = {name: np.array([getattr(self, name) * factor]) for name, factor in factors.items()}
            if any(isinstance(getattr(self, name), Varying) for name in self._varies):
                continue
            if broken := self._unfit(values, 1):
                raise ValueError(f"{kind}: scale at {state}: {broken[1]}")

    def _unfit(self, values: Mapping[str, FloatArray], n: int) -> tuple[int, str] | None:
        """The first of n particles whose parameters do not go together, and why. The core has the conditions."""
        names = [p["name"] for p in self._row["parameters"] if p["name"] != "density"]
        if not names:  # a user's law
            return None
        columns = [values[name] if name in values else self._parameter(name) for name in names]
        every = np.stack([np.broadcast_to(column, n) for column in columns], axis=1)
        return _core.unfit(self.law, np.ascontiguousarray(every, dtype=np.float64))

    def at(self, *, x: npt.ArrayLike | None = None, particle: int | None = None) -> Self:
        """The material of one particle: a copy with a number for every parameter that varies.

        Parameters
        ----------
        x : array_like, shape (d,), optional
            Position [m], for parameters that are functions.
        particle : int, optional
            Index in the arrays, for parameters that are arrays.

        Raises
        ------
        TypeError, ValueError
            What a parameter needs is missing or of the wrong shape or range.
        """
        values: dict[str, float] = {}
        point = None if x is None else _check.array("x", x, (None,))[None]
        if point is not None and point.shape[1] not in (2, 3):
            raise ValueError(f"x has shape {point.shape[1:]}: must be (2,) or (3,)")
        for name in self._varies:
            if not isinstance(getattr(self, name), Varying):  # follows a temperature or concentration
                continue
            given = getattr(self, name).given
            if callable(given):
                if point is None:
                    raise ValueError(f"x = None: {name} is a function of x, so it needs a position")
                values[name] = float(
                    _check.array(f"{name}(x)", called(f"{name}(x)", given, point, ""), (1,))[0]
                )
            elif particle is None:
                raise ValueError(f"particle = None: {name} is an array over particles, so it needs an index")
            else:
                values[name] = float(given[_check.integer("particle", particle, low=0, high=len(given) - 1)])
        try:
            return self._replaced(values)
        except ValueError as error:
            raise ValueError(f"x = {_check.shown(x)}: {error}") from None

    def _replaced(self, values: Mapping[str, float]) -> Self:
        """A copy with other values of given parameters, all as numbers."""
        flags = {p["name"] for p in self._given_parameters() if p["unit"] == "flag"}
        new = {name: bool(value) if name in flags else value for name, value in values.items()}
        return replace(cast(Any, self), **new)  # type: ignore[no-any-return]

    def _resolved(self, dx: float | None, kernel: str = "quadratic") -> Self:
        """With parameters that follow from the cell size dx [m] of a grid and its kernel; dx is None without one."""
        return self

    @property
    def _title(self) -> str:
        """The law's name in error messages."""
        return type(self).__name__

    @property
    def _core_law(self) -> Any:
        """The law as the core knows it."""
        return self.law

    @property
    def _row(self) -> _core.Law:
        """The row of the law."""
        return registry()[self.law]

    @property
    def _kind(self) -> str:
        """The law without the options that choose a variant of it."""
        return self._row["variant_of"] or self.law

    @property
    def parameters(self) -> tuple[float, ...]:
        """The law's parameters in the registry's order, without the density."""
        names = [parameter["name"] for parameter in self._row["parameters"]]
        return tuple(self._parameter(name) for name in names if name != "density")

    def _keeps(self, field: str) -> bool:
        """Whether a field is part of the state of its particles."""
        law = self._row
        if field in ("F", "J"):
            return field == law["strain"]
        return field in ("x", "v", "C") or field in [kept["name"] for kept in law["history"]]

    @property
    def reference(self) -> str:
        """The paper of the law."""
        return self._row["reference"]

    @property
    def _cited(self) -> list[tuple[str, str]]:
        """What `mpm.Simulation.cite` lists of it: what for, and the reference."""
        return [(type(self).__name__, self.reference)]

    @property
    def wave_speed(self) -> float:
        """Speed of a longitudinal wave at rest [m/s]."""
        return math.sqrt(float(self._evaluate(np.eye(3)[None]).longitudinal[0]) / self._parameter("density"))

    def _shear_modulus(self) -> float:
        """At rest [Pa]."""
        shear = np.eye(3)[None].copy()
        shear[0, 0, 1] = shear[0, 1, 0] = 0.5e-6
        return float(np.asarray(self._evaluate(shear).tau)[0, 0, 1]) / 1e-6

    def _evaluate(
        self,
        F: FloatArray,
        history: FloatArray | None = None,
        velocity_gradient: FloatArray | None = None,
        varying: FloatArray | None = None,
    ) -> Evaluation:
        """Evaluate the law with the core at checked deformation gradients ``(m, d, d)``, in float64.

        `history` ``(m, components)`` is the state besides F that the law's row in the registry declares; by default
        the initial values of particles. `velocity_gradient` ``(m, d, d)`` [1/s] is 0 by default. `varying` ``(m, k)``
        are the parameters that vary, which have no default.
        """
        m, d = F.shape[:2]
        gradients = np.ascontiguousarray(F, dtype=np.float64)
        if history is None:
            history = np.repeat(self._initial_history(d)[None], m, axis=0)
        law, parameters, indices = self._core_arguments
        if varying is None:
            parameters, indices = self.parameters, ()  # raises if any varies
        else:
            history = np.ascontiguousarray(np.concatenate([history, varying], axis=1))
        values = _core.evaluate(
            law, parameters, gradients, d, config.isa(), "float64", history, velocity_gradient, indices
        )
        tau, *scalars = (np.frombuffer(part, dtype=np.float64) for part in values)
        return Evaluation(tau.reshape(m, d, d), *scalars)

    def _return_map(
        self, F: FloatArray, history: FloatArray, dt: float, velocity_gradient: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """F and history after the law's return map, as a step `dt` [s] does it; without one they stay as they are."""
        if not self._row["return_map"]:
            return F, history
        m, d = F.shape[:2]
        after = _core.return_map(
            self._core_law, self.parameters, F, history, d, config.isa(), "float64", dt, velocity_gradient
        )
        elastic, kept = (np.frombuffer(part, dtype=np.float64).copy() for part in after)
        return elastic.reshape(m, d, d), kept.reshape(history.shape)

    def _initial_history(self, d: int) -> FloatArray:
        """The history that particles begin with, (components,)."""
        values: list[float] = []
        for field in self._row["history"]:
            parameter = field["initial_parameter"]
            initial = self._parameter(parameter) if parameter else field["initial"]
            diagonal = {"xx", "yy", "zz"} if field["rank"] in ("symmetric", "tensor") else {*"xyz", ""}
            values += [initial * (name in diagonal) for name in fieldtable.components(d)[field["rank"]]]
        return np.array(values)

    def stress(self, F: npt.ArrayLike) -> FloatArray:
        """First Piola–Kirchhoff stress P = τ F⁻ᵀ, from the C code of the step.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Deformation gradients, d = 2 (plane strain) or 3.

        Returns
        -------
        ndarray, shape (m, d, d)
            P [Pa], in float64.

        Raises
        ------
        TypeError, ValueError
            F has another shape, or is not finite, singular, or outside the law's range.
        """
        return self._stress(self._gradients(F))

    def _stress(self, F: FloatArray, history: FloatArray | None = None) -> FloatArray:
        with np.errstate(over="ignore"):
            determinant = np.linalg.det(F)
            scale = np.linalg.norm(F, axis=(1, 2)) ** F.shape[1]
        for row in np.flatnonzero(np.abs(determinant) <= 1e-14 * scale)[:1]:
            raise ValueError(f"F[{row}] is singular (det F = {determinant[row]:g}): tau F^-T does not exist")
        found = self._evaluate(F, history)
        for row in np.flatnonzero(~answers(found.tau, found.energy))[:1]:
            raise out_of_range(row, F[row], self._title)
        tau = found.tau
        # P F^T = tau, hence F P^T = tau^T.
        with np.errstate(over="ignore", invalid="ignore"):
            transposed = np.linalg.solve(F, tau.transpose(0, 2, 1))
        P = self._finite(F, np.asarray(transposed.transpose(0, 2, 1), dtype=np.float64))
        return np.ascontiguousarray(P)

    def energy(self, F: npt.ArrayLike) -> FloatArray:
        """Energy per rest volume, from the C code of the step.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Deformation gradients, d = 2 (plane strain) or 3.

        Returns
        -------
        ndarray, shape (m,)
            Ψ [J/m³], in float64.

        Raises
        ------
        TypeError, ValueError
            F has another shape, or is not finite, or outside the law's range.
        """
        return self._energy(self._gradients(F))

    def _energy(self, F: FloatArray, history: FloatArray | None = None) -> FloatArray:
        return self._finite(F, self._evaluate(F, history).energy).copy()

    def _gradients(self, F: object) -> FloatArray:
        """F as a checked stack of matrices, in the range where the law is defined."""
        d = np.shape(F)[-1] if isinstance(F, (np.ndarray, list, tuple)) and _ndim(F) == 3 else 0
        if d not in (2, 3):
            if _ndim(F) not in (-1, 0, 3):
                raise ValueError(f"F has shape {np.asarray(F).shape}: must be (m, 2, 2) or (m, 3, 3)")
            checked = _check.array("F", F, (None, None, None))  # raises for anything but a stack
            raise ValueError(f"F has shape {checked.shape}: must be (m, 2, 2) or (m, 3, 3)")
        result = _check.array("F", F, (None, d, d))
        if not self.inverts:
            # The core takes the logarithm of J, so its results for J <= 0 are meaningless.
            with np.errstate(over="ignore"):
                determinant = np.linalg.det(result)
            for row in np.flatnonzero(~(determinant > 0))[:1]:
                law = type(self).__name__
                raise ValueError(f"F[{row}]: det F = {determinant[row]:g}; must be > 0 for {law}")
        return result

    def _finite(self, F: FloatArray, values: FloatArray) -> FloatArray:
        if not len(F):
            return values
        for row in np.flatnonzero(~np.isfinite(values).reshape(len(F), -1).all(axis=1))[:1]:
            raise out_of_range(row, F[row], self._title)
        return values


def wrong_material(value: object, expected: str = "one of mpm.materials", hint: str = "") -> TypeError:
    """The error of what is no material. An entry of `mpm.materials.library` has one; of others the hint is given."""
    has_one = isinstance(getattr(value, "material", None), Material)
    error = _check.wrong_type("material", value, expected)
    return TypeError(f"{error}{'; take its .material' if has_one else hint}")


def answers(tau: FloatArray, energy: FloatArray) -> npt.NDArray[np.bool_]:
    """Where a law is within its range: stresses ``(m, k, k)`` are numbers, not clipped, energies ``(m,)`` not infinite.

    An energy may be NaN, which is none.
    """
    sound = (np.abs(tau) < _core.LARGEST_STRESS).all(axis=(1, 2))  # not where it is NaN
    return np.asarray(sound & ~np.isinf(energy), dtype=np.bool_)


def equivalent_stress(deviator: FloatArray) -> FloatArray:
    """√(3/2 s:s) (n,) of von Mises, of deviators in three dimensions by their components (n, k).

    Components are divided by a power of two near the largest, so that no square leaves the range of numbers.
    """
    largest = np.abs(deviator).max(axis=1)
    scale = np.ldexp(1.0, np.frexp(np.where(np.isfinite(largest), largest, 1))[1] - 1)
    return np.asarray(scale * np.sqrt(1.5 * ((deviator / scale[:, None]) ** 2).sum(axis=1)))


def out_of_range(row: int, F: FloatArray, law: str) -> ValueError:
    """The error of a law that gives numbers that are not finite at F, the deformation gradient of that row."""
    return ValueError(
        f"F[{row}], det F = {np.linalg.det(F):g}: outside the range of {law}, which gives NaN or infinite numbers there"
    )


def is_python_law(value: object) -> bool:
    """Whether it is a law written in Python: an object with `energy` or `stress` that is none of the materials."""
    if isinstance(value, (type, Material)):
        return False
    return any(callable(getattr(value, name, None)) for name in ("energy", "stress"))


# (E, nu) of any two moduli; K is the bulk modulus.
_MODULI: dict[tuple[str, str], Callable[[float, float], tuple[float, float]]] = {
    ("E", "nu"): lambda E, nu: (E, nu),
    ("E", "lam"): lambda E, lam: (E, 2 * lam / (E + lam + math.sqrt(E * E + 9 * lam * lam + 2 * E * lam))),
    ("E", "mu"): lambda E, mu: (E, E / (2 * mu) - 1),
    ("E", "bulk"): lambda E, K: (E, (3 * K - E) / (6 * K)),
    ("nu", "lam"): lambda nu, lam: (lam * (1 + nu) * (1 - 2 * nu) / nu, nu),
    ("nu", "mu"): lambda nu, mu: (2 * mu * (1 + nu), nu),
    ("nu", "bulk"): lambda nu, K: (3 * K * (1 - 2 * nu), nu),
    ("lam", "mu"): lambda lam, mu: (mu * (3 * lam + 2 * mu) / (lam + mu), lam / (2 * (lam + mu))),
    ("lam", "bulk"): lambda lam, K: (9 * K * (K - lam) / (3 * K - lam), lam / (3 * K - lam)),
    ("mu", "bulk"): lambda mu, K: (9 * K * mu / (3 * K + mu), (3 * K - 2 * mu) / (2 * (3 * K + mu))),
}


class _Elastic(Material):
    """Base of the materials with Young's modulus and Poisson's ratio."""

    __slots__ = ()

    _hints: ClassVar[Mapping[str, str]] = advice.OF_MODULI

    E: float
    nu: float

    @classmethod
    def from_moduli(cls, **parameters: Any) -> Self:
        """A material from any two elastic moduli at rest instead of E and nu.

        Parameters
        ----------
        E : float, optional
            Young's modulus [Pa].
        nu : float, optional
            Poisson's ratio.
        lam : float, optional
            Lamé's first parameter λ [Pa].
        mu : float, optional
            Shear modulus μ [Pa].
        bulk : float, optional
            Bulk modulus λ + 2 μ/3 [Pa].
        **parameters
            The other parameters of the material, such as ``density``.

        Raises
        ------
        TypeError, ValueError
            The moduli are not two, are not numbers, or give an E or nu out of range; or another parameter is wrong.

        Examples
        --------
        >>> mpm.materials.NeoHookean.from_moduli(mu=4e4, bulk=1e5, density=1000).nu
        0.3235294117647059
        """
        names = [name for name in ("E", "nu", "lam", "mu", "bulk") if name in parameters]
        if len(names) != 2:
            raise TypeError(
                f"{cls.__name__}.from_moduli() got {', '.join(names) or 'none'}: needs two of E, nu, lam, mu, bulk"
            )
        first, second = (_check.number(name, parameters.pop(name)) for name in names)
        try:
            E, nu = _MODULI[names[0], names[1]](first, second)
        except (ZeroDivisionError, OverflowError, ValueError):
            E = nu = math.nan
        given = f"{names[0]} = {first!r}, {names[1]} = {second!r}"
        if not (0 < E < math.inf and -1 < nu < 0.5):
            raise ValueError(f"{given}: give E = {E:g} and nu = {nu:g}; E must be > 0, nu > -1 and < 0.5")
        return cast(Any, cls)(E=E, nu=nu, **parameters)  # type: ignore[no-any-return]

    @property
    def mu(self) -> float:
        """Shear modulus μ [Pa]."""
        return self._parameter("E") / (2 * (1 + self._parameter("nu")))

    @property
    def lam(self) -> float:
        """Lamé's first parameter λ [Pa]."""
        E, nu = self._parameter("E"), self._parameter("nu")
        return E * nu / ((1 + nu) * (1 - 2 * nu))

    @property
    def bulk(self) -> float:
        """Bulk modulus K = λ + 2 μ/3 [Pa]."""
        return self._parameter("E") / (3 * (1 - 2 * self._parameter("nu")))


def _limits(parameter: _core.Parameter) -> dict[str, Any]:
    """The range of a parameter, as `_check.number` takes it."""
    return {name: parameter[name] for name in ("low", "low_open", "high", "high_open", "unit")}


def _ndim(value: Any) -> int:
    try:
        return np.ndim(value)
    except ValueError:  # ragged nesting
        return -1


def field_values(material: Material) -> str:
    """The parameters as source text: ``E=1e+06, nu=0.3, density=1000``."""
    names = [f.name for f in fields(cast(Any, material)) if not f.name.startswith("_")]
    own = ("thermal", "pore", "solute")
    named = [name for name in names if name not in own or getattr(material, name) is not None]
    values = {name: getattr(material, name) for name in named}
    return ", ".join(f"{name}={f'{v:g}' if type(v) is float else v}" for name, v in values.items())
