"""Constitutive laws: one frozen dataclass each, in SI units.

The C core holds the parameters, their ranges and the laws; the checks here read its registry, and `Material.stress`
runs the code of the step. A 2-D body is in plane strain.
"""

from __future__ import annotations

import functools
import math
import warnings
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from mpm import _check, _core, config, fieldtable
from mpm._check import FloatArray

__all__ = ["FixedCorotated", "Fluid", "Material", "NeoHookean", "Sand", "Snow"]


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
                f"nu = {getattr(self, 'nu', 0.0)!r} > {NEARLY_INCOMPRESSIBLE:g}: nearly incompressible; "
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
    Monaghan: Simulating free surface flows with SPH. J. Comput. Phys. 110 (1994) 399-406 (equation of state).
    Tampubolon et al.: Multi-species simulation of porous sand and water mixtures. ACM TOG 36(4) (2017) 105.
    """

    law: ClassVar[str] = "fluid"

    bulk_modulus: float
    density: float
    gamma: float = 7.0
    viscosity: float = 0.0


class _Plastic(Material):
    """Base of the materials with a return map."""

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
    moduli times e^{ξ(1 − J_P)}: compacted snow (J_P < 1) is stiffer, torn snow softer. J_P stays between 0.6 and 20;
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
        return cls(**SNOW_PRESETS[_check.choice("name", name, tuple(SNOW_PRESETS))])

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
    return ", ".join(f"{f.name}={getattr(material, f.name):g}" for f in fields(material))  # type: ignore[arg-type]
