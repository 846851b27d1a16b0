"""Constitutive laws: one frozen dataclass each, in SI units.

The parameters, their ranges and the laws themselves live in the C core; what is checked here is read from its
registry, and `Material.stress` runs the very code of the step. A 2-D body is in plane strain.
"""

from __future__ import annotations

import functools
import math
import warnings
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from mpm import _check, _core, config
from mpm._check import FloatArray

__all__ = ["FixedCorotated", "Fluid", "Material", "NeoHookean", "Snow"]


def __dir__() -> list[str]:
    return __all__


NEARLY_INCOMPRESSIBLE = 0.49


class Response(NamedTuple):
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
    """Base of the materials; not to be used itself."""

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError("Material is the base of the materials: use one of them, such as FixedCorotated")

    law: ClassVar[str]
    """Name of the law in the core's registry."""

    inverts: ClassVar[bool] = False
    """Whether the law has a meaning where det F <= 0."""

    density: float
    """Initial density [kg/m^3]."""

    def __post_init__(self) -> None:
        """Check every parameter against the range that the core's registry states."""
        for parameter in registry()[self.law]["parameters"]:
            name = parameter["name"]
            value = _check.number(
                name,
                getattr(self, name),
                low=parameter["low"],
                low_open=parameter["low_open"],
                high=parameter["high"],
                high_open=parameter["high_open"],
                unit=parameter["unit"],
            )
            object.__setattr__(self, name, value)
        if getattr(self, "nu", 0.0) > NEARLY_INCOMPRESSIBLE:
            warnings.warn(
                f"nu = {getattr(self, 'nu', 0.0):g} > {NEARLY_INCOMPRESSIBLE:g}: nearly incompressible; "
                "expect volumetric locking and a small dt",
                UserWarning,
                stacklevel=4,  # the line that creates the material
            )

    @property
    def parameters(self) -> tuple[float, ...]:
        """The law's parameters in the registry's order, without the density."""
        return tuple(
            float(getattr(self, parameter["name"]))
            for parameter in registry()[self.law]["parameters"]
            if parameter["name"] != "density"
        )

    @property
    def reference(self) -> str:
        """The paper of the law."""
        return registry()[self.law]["reference"]

    @property
    def wave_speed(self) -> float:
        """Speed of a longitudinal wave at rest [m/s]."""
        return math.sqrt(float(self._respond(np.eye(3)[None]).longitudinal[0]) / self.density)

    def _respond(self, F: FloatArray) -> Response:
        """Everything the core says of the law at checked deformation gradients ``(m, d, d)``, in float64."""
        m, d = F.shape[:2]
        values = _core.evaluate(
            self.law, self.parameters, np.ascontiguousarray(F, dtype=np.float64), d, config.isa(), "float64"
        )
        tau, *scalars = (np.frombuffer(part, dtype=np.float64) for part in values)
        return Response(tau.reshape(m, d, d), *scalars)

    def stress(self, F: npt.ArrayLike) -> FloatArray:
        """First Piola–Kirchhoff stress P = τ F⁻ᵀ, from the C code that the step uses.

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
            F is not of that shape, not finite, singular, or outside the law's range.
        """
        checked = self._gradients(F)
        with np.errstate(over="ignore"):
            determinant = np.linalg.det(checked)
            scale = np.linalg.norm(checked, axis=(1, 2)) ** checked.shape[1]
        for row in np.flatnonzero(np.abs(determinant) <= 1e-14 * scale)[:1]:
            raise ValueError(f"F[{row}] is singular (det F = {determinant[row]:g}): tau F^-T does not exist")
        tau = self._finite(checked, self._respond(checked).tau)
        # P F^T = tau, hence F P^T = tau^T.
        transposed = np.linalg.solve(checked, tau.transpose(0, 2, 1))
        return np.ascontiguousarray(transposed.transpose(0, 2, 1), dtype=np.float64)

    def energy(self, F: npt.ArrayLike) -> FloatArray:
        """Energy per rest volume, from the C code that the step uses.

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
            F is not of that shape, not finite, or outside the law's range.
        """
        checked = self._gradients(F)
        return self._finite(checked, self._respond(checked).energy).copy()

    def _gradients(self, F: object) -> FloatArray:
        """F as a checked stack of matrices, in the range where the law has a meaning."""
        d = np.shape(F)[-1] if isinstance(F, (np.ndarray, list, tuple)) and _ndim(F) == 3 else 0
        if d not in (2, 3):
            if _ndim(F) not in (-1, 0, 3):
                raise ValueError(f"F has shape {np.asarray(F).shape}: must be (m, 2, 2) or (m, 3, 3)")
            checked = _check.array("F", F, (None, None, None))  # says what is wrong with anything but a stack
            raise ValueError(f"F has shape {checked.shape}: must be (m, 2, 2) or (m, 3, 3)")
        result = _check.array("F", F, (None, d, d))
        if not self.inverts:
            # The core takes the logarithm of J as it is: what it says of J <= 0 means nothing.
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


def _ndim(value: Any) -> int:
    try:
        return np.ndim(value)
    except ValueError:  # ragged nesting
        return -1


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class FixedCorotated(Material):
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
class NeoHookean(Material):
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
class Fluid(Material):
    """Weakly compressible fluid of pressure p = (K/γ)(J^−γ − 1), with an optional Newtonian viscosity.

    Parameters
    ----------
    bulk_modulus : float
        K [Pa], > 0; the speed of sound at rest is √(K/density).
    density : float
        Initial density [kg/m³], > 0.
    gamma : float, optional
        Exponent γ of the equation of state, default 7.
    viscosity : float, optional
        Dynamic viscosity [Pa s], >= 0, default 0.

    References
    ----------
    Monaghan: Simulating free surface flows with SPH. J. Comput. Phys. 110 (1994) 399-406.
    """

    law: ClassVar[str] = "fluid"

    bulk_modulus: float
    density: float
    gamma: float = 7.0
    viscosity: float = 0.0


class Snow:
    """Snow of Stomakhin et al. 2013; not implemented yet."""

    def __init__(
        self,
        *,
        E: float = 1.4e5,
        nu: float = 0.2,
        density: float = 400.0,
        critical_compression: float = 0.025,
        critical_stretch: float = 0.0075,
        hardening: float = 10.0,
    ) -> None:
        raise NotImplementedError("the material Snow is not implemented yet")

    @classmethod
    def preset(cls, name: str) -> Snow:
        """A named set of parameters; not implemented yet."""
        raise NotImplementedError("the material Snow is not implemented yet")


def field_values(material: Material) -> str:
    """The parameters as they would be typed: ``E=1e+06, nu=0.3, density=1000``."""
    return ", ".join(f"{f.name}={getattr(material, f.name):g}" for f in fields(material))  # type: ignore[arg-type]
