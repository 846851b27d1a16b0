"""Constitutive laws: one frozen dataclass each, in SI units.

The C core holds the parameters, their ranges and the laws; the checks here read its registry, and `Material.stress`
runs the code of the step. A 2-D body is in plane strain.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt

from mpm import _check, _core, config, fieldtable
from mpm._check import FloatArray

__all__ = [
    "NACC",
    "Corotated",
    "FixedCorotated",
    "Fluid",
    "Hencky",
    "Material",
    "MooneyRivlin",
    "NeoHookean",
    "SaintVenantKirchhoff",
    "Sand",
    "Snow",
    "VonMises",
]


def __dir__() -> list[str]:
    return __all__


__getattr__ = _check.names_of_module(__name__, __all__)


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


class Material(_check.Strict):
    """Base of the materials; use one of its subclasses."""

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("Material is the base of the materials: use one of them, such as FixedCorotated")

    law: ClassVar[str]
    """Name of the law in the core's registry."""

    inverts: ClassVar[bool] = False
    """Whether the law is defined where det F <= 0."""

    density: float
    """Initial density [kg/m^3]."""

    def __post_init__(self) -> None:
        """Check every parameter against its range in the core's registry."""
        for parameter in self._given_parameters():
            name = parameter["name"]
            value: float = (
                _check.flag(name, getattr(self, name))
                if parameter["unit"] == "flag"
                else _check.number(
                    name,
                    getattr(self, name),
                    low=parameter["low"],
                    low_open=parameter["low_open"],
                    high=parameter["high"],
                    high_open=parameter["high_open"],
                    unit=parameter["unit"],
                )
            )
            object.__setattr__(self, name, value)
        if getattr(self, "nu", 0.0) > NEARLY_INCOMPRESSIBLE:
            warnings.warn(
                f"nu = {getattr(self, 'nu', 0.0)!r} > {NEARLY_INCOMPRESSIBLE:g}: nearly incompressible; "
                "expect volumetric locking and a small dt",
                UserWarning,
                stacklevel=_check.levels_to_caller(),  # the line that creates the material
            )

    def _given_parameters(self) -> list[_core.Parameter]:
        """Those of the law's parameters that are attributes; others follow from attributes (`_parameter`)."""
        given = {field.name for field in fields(cast(Any, self))}
        return [p for p in registry()[self.law]["parameters"] if p["name"] in given]

    def _parameter(self, name: str) -> float:
        """The value of a parameter of the law."""
        return float(getattr(self, name))

    def _replaced(self, values: Mapping[str, float]) -> Self:
        """A copy with other values of given parameters, all as numbers."""
        flags = {p["name"] for p in self._given_parameters() if p["unit"] == "flag"}
        new = {name: bool(value) if name in flags else value for name, value in values.items()}
        return replace(cast(Any, self), **new)  # type: ignore[no-any-return]

    @property
    def parameters(self) -> tuple[float, ...]:
        """The law's parameters in the registry's order, without the density."""
        names = [parameter["name"] for parameter in registry()[self.law]["parameters"]]
        return tuple(self._parameter(name) for name in names if name != "density")

    def _keeps(self, field: str) -> bool:
        """Whether a field is part of the state of its particles."""
        law = registry()[self.law]
        if field in ("F", "J"):
            return field == law["strain"]
        return field in ("x", "v", "C") or field in [kept["name"] for kept in law["history"]]

    @property
    def reference(self) -> str:
        """The paper of the law."""
        return registry()[self.law]["reference"]

    @property
    def wave_speed(self) -> float:
        """Speed of a longitudinal wave at rest [m/s]."""
        return math.sqrt(float(self._evaluate(np.eye(3)[None]).longitudinal[0]) / self.density)

    def _evaluate(
        self, F: FloatArray, history: FloatArray | None = None, velocity_gradient: FloatArray | None = None
    ) -> Evaluation:
        """Evaluate the law with the core at checked deformation gradients ``(m, d, d)``, in float64.

        `history` ``(m, components)`` is the state besides F that the law's row in the registry declares; by default
        the initial values of particles. `velocity_gradient` ``(m, d, d)`` [1/s] is zero by default.
        """
        m, d = F.shape[:2]
        gradients = np.ascontiguousarray(F, dtype=np.float64)
        if history is None:
            history = np.repeat(self._initial_history(d)[None], m, axis=0)
        values = _core.evaluate(
            self.law, self.parameters, gradients, d, config.isa(), "float64", history, velocity_gradient
        )
        tau, *scalars = (np.frombuffer(part, dtype=np.float64) for part in values)
        return Evaluation(tau.reshape(m, d, d), *scalars)

    def _return_map(
        self, F: FloatArray, history: FloatArray, dt: float, velocity_gradient: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """F and history after the law's return map, as a step `dt` [s] does it; without one they stay as they are."""
        if not registry()[self.law]["return_map"]:
            return F, history
        m, d = F.shape[:2]
        after = _core.return_map(
            self.law, self.parameters, F, history, d, config.isa(), "float64", dt, velocity_gradient
        )
        elastic, kept = (np.frombuffer(part, dtype=np.float64).copy() for part in after)
        return elastic.reshape(m, d, d), kept.reshape(history.shape)

    def _initial_history(self, d: int) -> FloatArray:
        """The history that particles begin with, (components,)."""
        values: list[float] = []
        for field in registry()[self.law]["history"]:
            parameter = field["initial_parameter"]
            initial = float(getattr(self, parameter)) if parameter else field["initial"]
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
        tau = self._finite(F, self._evaluate(F, history).tau)
        # P F^T = tau, hence F P^T = tau^T.
        transposed = np.linalg.solve(F, tau.transpose(0, 2, 1))
        return np.ascontiguousarray(transposed.transpose(0, 2, 1), dtype=np.float64)

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
        for row in np.flatnonzero(~np.isfinite(values).reshape(len(F), -1).all(axis=1))[:1]:
            raise ValueError(
                f"F[{row}], det F = {np.linalg.det(F[row]):g}: outside the range of {type(self).__name__}"
            )
        return values


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
        return self.E / (2 * (1 + self.nu))

    @property
    def lam(self) -> float:
        """Lamé's first parameter λ [Pa]."""
        return self.E * self.nu / ((1 + self.nu) * (1 - 2 * self.nu))

    @property
    def bulk(self) -> float:
        """Bulk modulus K = λ + 2 μ/3 [Pa]."""
        return self.E / (3 * (1 - 2 * self.nu))


def _ndim(value: Any) -> int:
    try:
        return np.ndim(value)
    except ValueError:  # ragged nesting
        return -1


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class FixedCorotated(_Elastic):
    """Fixed corotated elasticity: Ψ = μ ‖F − R‖² + λ/2 (J − 1)².

    Robust for inverted elements; the rotation R is the polar factor of F.

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0.
    nu : float
        Poisson's ratio, > −1 and < 0.5; a warning above 0.49.
    density : float
        Initial density [kg/m³], > 0.

    References
    ----------
    Stomakhin, Howes, Schroeder, Teran: Energetically consistent invertible elasticity. SCA 2012.
    """

    law: ClassVar[str] = "fixed_corotated"
    inverts: ClassVar[bool] = True

    E: float
    nu: float
    density: float


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class Corotated(_Elastic):
    """Corotated linear elasticity: Ψ = μ |F − R|² + λ/2 tr²(RᵀF − I), R the rotation of F.

    The linear law for the strain that is left without the rotation, and so without the errors of linear elasticity in
    large rotations. It is defined for every F, inverted ones included, but its pressure does not see J: a body can be
    squeezed to no volume with a finite force.

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0.
    nu : float
        Poisson's ratio, > −1 and < 0.5; a warning above 0.49.
    density : float
        Initial density [kg/m³], > 0.

    References
    ----------
    Müller, Gross: Interactive virtual materials. Proceedings of Graphics Interface (2004) 239-246.
    """

    law: ClassVar[str] = "corotated"
    inverts: ClassVar[bool] = True

    E: float
    nu: float
    density: float


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class NeoHookean(_Elastic):
    """Compressible neo-Hookean elasticity: Ψ = μ/2 (tr FFᵀ − 3) − μ ln J + λ/2 (ln J)².

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0.
    nu : float
        Poisson's ratio, > −1 and < 0.5; a warning above 0.49.
    density : float
        Initial density [kg/m³], > 0.

    References
    ----------
    Bonet, Wood: Nonlinear Continuum Mechanics for Finite Element Analysis. Cambridge, 2nd ed., 2008.
    """

    law: ClassVar[str] = "neo_hookean"

    E: float
    nu: float
    density: float


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class SaintVenantKirchhoff(_Elastic):
    """Saint Venant–Kirchhoff elasticity: Ψ = μ E:E + λ/2 (tr E)² with Green's strain E = (FᵀF − I)/2.

    The usual law of structural analysis for large rotations and small strains. Under strong compression it softens (in
    uniaxial strain below the stretch 1/√3), and it does not resist inversion.

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0.
    nu : float
        Poisson's ratio, > −1 and < 0.5; a warning above 0.49.
    density : float
        Initial density [kg/m³], > 0.

    References
    ----------
    Bonet, Wood: Nonlinear Continuum Mechanics for Finite Element Analysis. Cambridge, 2nd ed., 2008.
    """

    law: ClassVar[str] = "saint_venant_kirchhoff"
    inverts: ClassVar[bool] = True

    E: float
    nu: float
    density: float


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class Hencky(_Elastic):
    """Hencky's elasticity: Ψ = μ e:e + λ/2 (tr e)² with the logarithmic strain e = ½ ln FFᵀ.

    Tension and compression to inverse stretches have opposite stresses. `Sand` is elastic in this way.

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0.
    nu : float
        Poisson's ratio, > −1 and < 0.5; a warning above 0.49.
    density : float
        Initial density [kg/m³], > 0.

    References
    ----------
    Anand: On H. Hencky's approximate strain-energy function for moderate deformations. J. Appl. Mech. 46 (1979) 78-82.
    """

    law: ClassVar[str] = "hencky"

    E: float
    nu: float
    density: float


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class MooneyRivlin(Material):
    """Compressible Mooney–Rivlin rubber: Ψ = C10 (I1 − 3) + C01 (I2 − 3) + c (J² − 1) − d ln J.

    I1 and I2 are the invariants of FFᵀ in three dimensions. c and d follow from the bulk modulus K and from the rest
    state without stress: c = λ/4 − C01, d = 2 C10 + 4 C01 + 2 c. At rest μ = 2 (C10 + C01) and λ = K − 2 μ/3. Where K
    is large, constants that were measured on incompressible rubber apply. With C01 = 0 the solid is neo-Hookean.

    Parameters
    ----------
    c10 : float
        C10 [Pa], > 0.
    c01 : float
        C01 [Pa], >= 0.
    bulk_modulus : float
        K [Pa], at least 4/3 c10 + 16/3 c01, so that c >= 0 and the energy is polyconvex. The time step falls with √K.
    density : float
        Initial density [kg/m³], > 0.

    References
    ----------
    Ciarlet, Geymonat: Sur les lois de comportement en élasticité non linéaire compressible. C. R. Acad. Sci. Paris II
    295 (1982) 423-426.
    """

    law: ClassVar[str] = "mooney_rivlin"

    c10: float
    c01: float
    bulk_modulus: float
    density: float

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        least = 4 / 3 * self.c10 + 16 / 3 * self.c01
        if self.bulk_modulus < least * (1 - 1e-12):
            raise ValueError(
                f"bulk_modulus = {self.bulk_modulus!r}: must be >= 4/3 c10 + 16/3 c01 = {least:g} [Pa]"
            )


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class Fluid(Material):
    """Weakly compressible fluid of pressure p = (K/γ)(J^−γ − 1), with an optional Newtonian viscosity.

    γ = 7 is water under high pressure; γ = −1 gives p = K (1 − J) with the quadratic energy K/2 (J − 1)², which does
    not stiffen under compression. A fluid with ``tension=False`` does not pull where J > 1: it tears without
    resistance, and presses again at its old volume.

    Parameters
    ----------
    bulk_modulus : float
        K [Pa], > 0; the speed of sound at rest is √(K/density).
    density : float
        Initial density [kg/m³], > 0.
    gamma : float, optional
        Exponent γ of the equation of state, −1 or from 1 to 20, default 7.
    viscosity : float, optional
        Dynamic viscosity [Pa s], >= 0, default 0.
    tension : bool, optional
        Whether stretched fluid pulls, default True.

    References
    ----------
    Monaghan: Simulating free surface flows with SPH. J. Comput. Phys. 110 (1994) 399-406 (equation of state).
    Tampubolon et al.: Multi-species simulation of porous sand and water mixtures. ACM TOG 36(4) (2017) 105.
    """

    law: ClassVar[str] = "fluid"

    bulk_modulus: float
    density: float
    gamma: float = 7.0
    viscosity: float = 0.0
    tension: bool = True

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        if -1 < self.gamma < 1:
            raise ValueError(f"gamma = {self.gamma!r}: must be -1, or >= 1 and <= 20")


class _Flowing(_Elastic):
    """Base of the materials with a return map and a history of several fields."""

    __slots__ = ()

    def return_map(
        self, F: npt.ArrayLike, history: Mapping[str, npt.ArrayLike] | None = None, *, dt: float = 0.0
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Bring trial states back onto the yield surface, with the C code of the step.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Trial elastic deformation gradients, d = 2 (plane strain) or 3.
        history : mapping, optional
            Fields of the law's history by name, (m,) or (m, components); those left out have their initial values.
        dt : float, optional
            Time of the step [s], >= 0, which viscosity needs; default 0: a material with viscosity does not flow.

        Returns
        -------
        F : ndarray, shape (m, d, d)
            Elastic deformation gradients. An F within the yield surface returns bit for bit.
        history : dict
            All fields of the history after the step.

        Raises
        ------
        TypeError, ValueError
            F, the history or dt has another shape or range, or is not finite.
        """
        checked = self._gradients(F)
        before = self._history(history, *checked.shape[:2])
        d, step = checked.shape[1], _check.number("dt", dt, low=0, unit="s")
        after = _core.return_map(self.law, self.parameters, checked, before, d, config.isa(), "float64", step)
        elastic, kept = (np.frombuffer(part, dtype=np.float64).copy() for part in after)
        kept, fields, at = kept.reshape(before.shape), {}, 0
        for name, width, _ in self._kept(d):
            fields[name] = kept[:, at] if width == 1 else kept[:, at : at + width]
            at += width
        return elastic.reshape(checked.shape), fields

    def stress(self, F: npt.ArrayLike, history: Mapping[str, npt.ArrayLike] | None = None) -> FloatArray:
        """First Piola–Kirchhoff stress P = τ F⁻ᵀ without flow, from the C code of the step.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Elastic deformation gradients F_E, d = 2 (plane strain) or 3.
        history : mapping, optional
            Fields of the law's history by name, (m,) or (m, components); those left out have their initial values.

        Returns
        -------
        ndarray, shape (m, d, d)
            P = ∂Ψ/∂F_E [Pa], in float64.

        Raises
        ------
        TypeError, ValueError
            F or the history has another shape or range, or is not finite, or F is singular.
        """
        checked = self._gradients(F)
        return self._stress(checked, self._history(history, *checked.shape[:2]))

    def energy(self, F: npt.ArrayLike, history: Mapping[str, npt.ArrayLike] | None = None) -> FloatArray:
        """Elastic energy per rest volume, from the C code of the step.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Elastic deformation gradients F_E, d = 2 (plane strain) or 3.
        history : mapping, optional
            Fields of the law's history by name, (m,) or (m, components); those left out have their initial values.

        Returns
        -------
        ndarray, shape (m,)
            Ψ [J/m³], in float64.

        Raises
        ------
        TypeError, ValueError
            F or the history has another shape or range, or is not finite.
        """
        checked = self._gradients(F)
        return self._energy(checked, self._history(history, *checked.shape[:2]))

    def _kept(self, d: int) -> list[tuple[str, int, _core.HistoryField]]:
        """Name, components and row of every field of the history."""
        widths = {"scalar": 1, "vector": d, "symmetric": d * (d + 1) // 2, "tensor": d * d}
        return [(field["name"], widths[field["rank"]], field) for field in registry()[self.law]["history"]]

    def _history(self, given: Mapping[str, npt.ArrayLike] | None, m: int, d: int) -> FloatArray:
        """The history (m, components) of checked fields; initial values where none are given."""
        kept = self._kept(d)
        if given is not None and not isinstance(given, Mapping):
            raise _check.wrong_type("history", given, "a mapping of field names to arrays")
        for name in given or {}:
            _check.choice("history", name, [field for field, *_ in kept])
        columns = []
        for name, width, row in kept:
            if name in (given or {}):
                values = _check.array(name, (given or {})[name], (m,) if width == 1 else (m, width))
                for at in np.flatnonzero(~((values > row["low"]) & (values < row["high"])))[:1]:
                    allowed = _check.interval(row["low"], True, row["high"], True)
                    raise ValueError(f"history: {name} = {values.flat[at]:g}: must be {allowed}")
                columns.append(values.reshape(m, width))
            else:
                begins = row["initial_parameter"]
                initial = self._parameter(begins) if begins else row["initial"]
                columns.append(np.full((m, width), initial))
        return np.ascontiguousarray(np.concatenate(columns, axis=1))


class _Plastic(_Elastic):
    """Base of the materials whose return map keeps a plastic volume ratio."""

    __slots__ = ()

    def return_map(self, F: npt.ArrayLike, Jp: npt.ArrayLike = 1.0) -> tuple[FloatArray, FloatArray]:
        """Split trial states into elastic and plastic parts, with the C code of the step.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Trial elastic deformation gradients, d = 2 (plane strain) or 3.
        Jp : float or array_like, shape (m,), optional
            Earlier plastic volume ratios, > 0.

        Returns
        -------
        F : ndarray, shape (m, d, d)
            Elastic deformation gradients on or within the yield surface. An F within it (for sand, with a Jp of 1)
            returns bit for bit.
        Jp : ndarray, shape (m,)
            New plastic volume ratios, within the limits of the material.

        Raises
        ------
        TypeError, ValueError
            F or Jp has another shape or range, or is not finite.
        """
        checked = self._gradients(F)
        return self._return_map(checked, _plastic(Jp, len(checked)), 0.0, np.zeros_like(checked))


SNOW_PRESETS: dict[str, dict[str, float]] = {
    "reference": {},
    "lower_hardening": {"hardening": 5.0},
    "lower_young": {"E": 4.8e4},
    "lower_critical_compression": {"critical_compression": 1.9e-2},
    "lower_critical_stretch": {"critical_stretch": 5e-3},
    "both_lower": {"critical_compression": 1.9e-2, "critical_stretch": 5e-3},
}


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class Snow(_Plastic):
    """Snow: fixed corotated elasticity that yields at critical stretches and hardens under compaction.

    The deformation gradient is a product F = F_E F_P of an elastic and a plastic part; ``particles.F`` is F_E,
    ``particles.Jp`` is J_P = det F_P, and J J_P is the whole volume ratio. Every step clamps the principal stretches of
    F_E to [1 − θ_c, 1 + θ_s]; the excess goes into F_P. Energy and stress follow `FixedCorotated` at F_E with both
    moduli times e^{ξ(1 − J_P)}: compacted snow (J_P < 1) is stiffer, torn snow softer. J_P stays within ``Jp_limits``;
    ``clipped`` in ``Simulation.health`` counts the corrections.

    Small critical values give powder, large ones chunks. Low hardening gives ductile snow, high hardening brittle
    snow. A low E gives powdery snow, a high E icy snow. The defaults come from the paper. In 2-D (plane strain) the
    stretch out of plane is 1 and takes no part.

    Parameters
    ----------
    E : float, optional
        Young's modulus before hardening [Pa], > 0, default 1.4e5.
    nu : float, optional
        Poisson's ratio, > −1 and < 0.5, default 0.2; a warning above 0.49.
    density : float, optional
        Initial density [kg/m³], > 0, default 400.
    critical_compression : float, optional
        θ_c, > 0 and < 1, default 0.025: elastic down to the stretch 1 − θ_c.
    critical_stretch : float, optional
        θ_s, > 0 and at most 10⁶, default 0.0075: elastic up to the stretch 1 + θ_s.
    hardening : float, optional
        ξ, >= 0, default 10.
    Jp_limits : (float, float) or None, optional
        Least and largest J_P, the one from 0 to 1, the other at least 1; default (0.6, 20). None: no limits, as in the
        paper; snow that is compacted far then stiffens until the time step is very small.

    See Also
    --------
    Snow.preset : the paper's kinds of snow by name.

    References
    ----------
    Stomakhin, Schroeder, Chai, Teran, Selle: A material point method for snow simulation. ACM TOG 32(4) (2013)
    102.
    """

    law: ClassVar[str] = "snow"
    inverts: ClassVar[bool] = True

    E: float = 1.4e5
    nu: float = 0.2
    density: float = 400.0
    critical_compression: float = 2.5e-2
    critical_stretch: float = 7.5e-3
    hardening: float = 10.0
    Jp_limits: tuple[float, float] | None = (0.6, 20.0)

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        if self.Jp_limits is None:
            return
        low, high = _check.array("Jp_limits", self.Jp_limits, (2,)).tolist()
        if not 0 <= low <= 1 <= high:
            raise ValueError(f"Jp_limits = ({low!r}, {high!r}): must be 0 <= least <= 1 <= largest, or None")
        object.__setattr__(self, "Jp_limits", (low, high))

    def _parameter(self, name: str) -> float:
        limits = {"least_Jp": 0, "largest_Jp": 1}
        if name in limits:
            return (self.Jp_limits or (0.0, math.inf))[limits[name]]
        return Material._parameter(self, name)

    @classmethod
    @_check.options
    def preset(cls, name: str) -> Snow:
        """The snow of that name in the paper's comparison of parameters (Fig. 9).

        Parameters
        ----------
        name : str
            ``"reference"`` (the defaults); ``"lower_hardening"`` (ξ = 5); ``"lower_young"`` (E = 4.8e4 Pa);
            ``"lower_critical_compression"`` (θ_c = 0.019); ``"lower_critical_stretch"`` (θ_s = 0.005);
            ``"both_lower"`` (both critical values).

        Raises
        ------
        TypeError, ValueError
            No preset has that name; the message proposes the nearest.
        """
        return cls(**cast(Any, SNOW_PRESETS)[_check.choice("name", name, tuple(SNOW_PRESETS))])

    def stress(self, F: npt.ArrayLike, Jp: npt.ArrayLike = 1.0) -> FloatArray:
        """First Piola–Kirchhoff stress P = τ F⁻ᵀ without yielding, from the C code of the step.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Elastic deformation gradients F_E, d = 2 (plane strain) or 3.
        Jp : float or array_like, shape (m,), optional
            Plastic volume ratios, > 0.

        Returns
        -------
        ndarray, shape (m, d, d)
            P = ∂Ψ/∂F_E [Pa], in float64.

        Raises
        ------
        TypeError, ValueError
            F or Jp has another shape or range, or is not finite, or F is singular.
        """
        checked = self._gradients(F)
        return self._stress(checked, _plastic(Jp, len(checked)))

    def energy(self, F: npt.ArrayLike, Jp: npt.ArrayLike = 1.0) -> FloatArray:
        """Energy per rest volume without yielding, from the C code of the step.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Elastic deformation gradients F_E, d = 2 (plane strain) or 3.
        Jp : float or array_like, shape (m,), optional
            Plastic volume ratios, > 0.

        Returns
        -------
        ndarray, shape (m,)
            Ψ [J/m³], in float64.

        Raises
        ------
        TypeError, ValueError
            F or Jp has another shape or range, or is not finite.
        """
        checked = self._gradients(F)
        return self._energy(checked, _plastic(Jp, len(checked)))


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class Sand(_Plastic):
    """Sand: grains that slide where shear exceeds their friction, and part without resistance.

    The deformation gradient is a product F = F_E F_P of an elastic and a plastic part; ``particles.F`` is F_E,
    ``particles.Jp`` is J_P = det F_P, and J J_P is the whole volume ratio. With e the logarithms of the principal
    stretches of F_E, Ψ = μ e:e + λ/2 (tr e)² and τ = 2μ e + λ tr e I along the same axes. Every step brings stresses
    back to ‖dev τ‖ <= α (d c cot φ − tr τ) (Drucker and Prager). Sliding does so and keeps the volume; where all
    stresses are tensile, parting removes them and adds to J_P. Grains that come together again press on each other
    once J_P is back at 1, so `Jp` shows where sand is loose. `Jp` stays below 10⁶; ``clipped`` in
    ``Simulation.health`` counts the corrections.

    In 3-D α = √(2/3) · 2 sin φ/(3 − sin φ), as in the paper: the Mohr–Coulomb criterion in triaxial compression. It is
    stronger than this criterion elsewhere: a 3-D body that flows in a plane, as between smooth plates, has the friction
    angle arcsin(3 α/√2), 44° for φ = 30° and 55° for 35°. In 2-D α = sin φ/√2 is the Mohr–Coulomb criterion for the
    stresses in the plane; the stretch out of plane is 1 and takes no part. φ does not change with deformation.

    Parameters
    ----------
    E : float, optional
        Young's modulus [Pa], > 0, default 3.537e5.
    nu : float, optional
        Poisson's ratio, > −1 and < 0.5, default 0.3; a warning above 0.49.
    density : float, optional
        Initial density [kg/m³], > 0, default 2200.
    friction_angle_deg : float, optional
        Angle of internal friction φ, > 0° and < 90°, default 35°.
    cohesion : float, optional
        c [Pa], >= 0, default 0: shear strength without pressure, as in moist sand. Grains of a cohesive sand part at
        the mean tension c cot φ, and stick again when they meet.

    References
    ----------
    Klar, Gast, Pradhana, Fu, Schroeder, Jiang, Teran: Drucker-Prager elastoplasticity for sand animation. ACM TOG
    35(4) (2016) 103; without its hardening. Volume as in Tampubolon et al., ACM TOG 36(4) (2017) 105.
    """

    law: ClassVar[str] = "sand"

    E: float = 3.537e5
    nu: float = 0.3
    density: float = 2200.0
    friction_angle_deg: float = 35.0
    cohesion: float = 0.0


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class VonMises(_Flowing):
    """Metal: flows at constant volume where the deviatoric stress reaches the yield stress, and hardens.

    The deformation gradient is a product F = F_E F_P; ``particles.F`` is F_E. Energy and stress follow `Hencky` at
    F_E. Every step brings the Kirchhoff stress τ back to √(3/2) ‖dev τ − β‖ <= σ_y + H ε_p:
    ``particles.plastic_strain`` is ε_p, ``particles.backstress`` β. Uniaxial tension yields at σ_y, simple shear at
    σ_y/√3. With H the yield stress grows, with K the surface moves: uniaxial stress then has the slope E (H + K)/(E +
    H + K) beyond σ_y, and with K reversed loading yields earlier (Bauschinger). β grows by 2/3 K times the plastic
    strain and turns with the rotation R of F_E; the field holds RᵀβR (xx, xy, yy or xx, xy, xz, yy, yz, zz). In simple
    shear beyond a shear of 1 or 2, the stress of strong kinematic hardening oscillates, as for every backstress that
    turns with the body. With η (Perzyna) stress exceeds the surface by 2 η times the rate of plastic strain: steady
    simple shear at the rate γ̇ needs σ_y/√3 + η γ̇. In 2-D (plane strain) the deviator is that of three dimensions;
    ``particles.Jp`` is then the elastic stretch out of plane. In 3-D it stays 1.

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0.
    nu : float
        Poisson's ratio, > −1 and < 0.5; a warning above 0.49.
    yield_stress : float
        σ_y [Pa], > 0: the uniaxial stress at which flow begins.
    density : float
        Initial density [kg/m³], > 0.
    hardening : float, optional
        Isotropic hardening H [Pa], >= 0, default 0.
    kinematic_hardening : float, optional
        Kinematic hardening K [Pa], >= 0, default 0.
    viscosity : float, optional
        η [Pa s], >= 0, default 0: flow does not depend on its rate.

    References
    ----------
    Simo, Hughes: Computational Inelasticity. Springer, 1998.
    Simo: Algorithms for static and dynamic multiplicative plasticity that preserve the classical return mapping schemes
    of the infinitesimal theory. Comput. Methods Appl. Mech. Eng. 99 (1992) 61-112.
    """

    law: ClassVar[str] = "von_mises"

    E: float
    nu: float
    yield_stress: float
    density: float
    hardening: float = 0.0
    kinematic_hardening: float = 0.0
    viscosity: float = 0.0


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class NACC(_Flowing):
    """Cohesive Cam clay (NACC): yields on an ellipse of pressure and shear, hardens where compacted, breaks where torn.

    The deformation gradient is a product F = F_E F_P; ``particles.F`` is F_E. With b = F_E F_Eᵀ, J = det F_E and the
    bulk modulus κ, Ψ = μ/2 (J^(−2/3) tr b − 3) + κ/2 ((J² − 1)/2 − ln J). Kirchhoff stresses of pressure p and
    deviator s stay within 3/2 (1 + 2β) ‖s‖² + M² (p + β p0)(p − p0) <= 0 with M = 6 sin φ/(3 − sin φ): between the
    tension β p0 and the pressure p0 = κ (10⁻⁵ + sinh(ξ max(−α, 0))). ``particles.alpha`` is α; compaction lowers it,
    and the clay gets stronger; tearing and flow at low pressure raise it, and at α >= 0 hardly any strength is left.
    ``particles.Jp`` is the plastic volume ratio. In 2-D (plane strain) ``particles.Fzz`` is the elastic stretch out of
    plane; in 3-D it stays 1. The return map keeps the trace of b, not the volume of F_E, as in the paper.

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0.
    nu : float
        Poisson's ratio, > −1 and < 0.5; a warning above 0.49.
    density : float
        Initial density [kg/m³], > 0.
    friction_angle_deg : float, optional
        φ, > 0° and < 90°, default 45°.
    cohesion : float, optional
        β, >= 0, default 0.5: tensile over compressive strength.
    hardening : float, optional
        ξ, >= 0, default 1: the larger, the faster strength grows with compaction and falls with tearing.
    consolidation : float, optional
        α of new particles, from −10 to 10, default −0.01.

    References
    ----------
    Wolper, Fang, Li, Lu, Gao, Jiang: CD-MPM: continuum damage material point methods for dynamic fracture animation.
    ACM TOG 38(4) (2019) 119.
    """

    law: ClassVar[str] = "nacc"

    E: float
    nu: float
    density: float
    friction_angle_deg: float = 45.0
    cohesion: float = 0.5
    hardening: float = 1.0
    consolidation: float = -0.01


def _plastic(Jp: npt.ArrayLike, m: int) -> FloatArray:
    """Checked plastic volume ratios, one for each of m deformation gradients."""
    if isinstance(Jp, (np.ndarray, list, tuple)) and _ndim(Jp) != 0:
        values = _check.array("Jp", Jp, (m,))
    else:
        values = np.full(m, _check.number("Jp", Jp, low=0, low_open=True))
    for row in np.flatnonzero(values <= 0)[:1]:
        raise ValueError(f"Jp[{row}] = {values[row]:g}: must be > 0")
    return values


def field_values(material: Material) -> str:
    """The parameters as source text: ``E=1e+06, nu=0.3, density=1000``."""
    values = {f.name: getattr(material, f.name) for f in fields(cast(Any, material))}
    return ", ".join(f"{name}={f'{v:g}' if type(v) is float else v}" for name, v in values.items())
