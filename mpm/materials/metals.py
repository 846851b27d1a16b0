"""Metals: von Mises, and Johnson and Cook with heat and a shock equation of state. They are part of `mpm.materials`."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from mpm import _core
from mpm.base import _check, advice
from mpm.materials.hardening import Hardening
from mpm.materials.inelastic import _Flowing
from mpm.materials.laws import Material, _Elastic
from mpm.materials.solute import Solute
from mpm.materials.thermal import Thermal
from mpm.materials.varying import Varying, is_varying


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class VonMises(_Flowing, _Elastic):
    """Metal: flows at constant volume where the deviatoric stress reaches the yield stress, and hardens.

    The deformation gradient is a product F = F_E F_P; ``particles.F`` is F_E. Energy and stress follow `Hencky` at
    F_E. Every step brings the Kirchhoff stress τ back to √(3/2) ‖dev τ − β‖ <= Y(ε_p), by default σ_y + H ε_p:
    ``particles.plastic_strain`` is ε_p, ``particles.backstress`` β. Uniaxial tension yields at σ_y, simple shear at
    σ_y/√3. With H the yield stress grows, with K the surface moves: uniaxial stress then has the slope E (H + K)/(E +
    H + K) beyond σ_y, and with K reversed loading yields earlier (Bauschinger). `mpm.materials.hardening` has other
    growth of Y: Voce's, a power law, a table. β grows by 2/3 K times the plastic
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
    hardening : float or Hardening, optional
        Isotropic hardening: H [Pa], >= 0, default 0, or one of `mpm.materials.hardening`, which may not vary.
    kinematic_hardening : float, optional
        Kinematic hardening K [Pa], >= 0, default 0.
    viscosity : float, optional
        η [Pa s], >= 0, default 0: flow does not depend on its rate.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

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
    hardening: float | Hardening = 0.0
    kinematic_hardening: float = 0.0
    viscosity: float = 0.0
    thermal: Thermal | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        given = self.hardening
        known = isinstance(given, (Hardening, numbers.Real, np.ndarray)) and not isinstance(given, bool)
        if isinstance(given, type) or not (known or is_varying(given)):
            raise _check.wrong_type(
                "hardening", given, "a number >= 0 [Pa] or a Hardening, such as Voce(...)"
            )
        Material.__post_init__(self)
        if not self._varies and (broken := self._unfit({}, 1)):
            raise ValueError(
                f"hardening = {_check.shown(self.hardening)}: {broken[1]} = {self.yield_stress!r} [Pa]"
            )

    def _given_parameters(self) -> list[_core.Parameter]:
        given = Material._given_parameters(self)
        return [p for p in given if p["name"] != "hardening" or not isinstance(self.hardening, Hardening)]

    def _parameter(self, name: str) -> float:
        if isinstance(self.hardening, Hardening) and name in (own := self.hardening._parameters()):
            return own[name]
        if name == "hardening" and isinstance(self.hardening, Hardening):
            return 0.0
        return Material._parameter(self, name) if name in self.__dataclass_fields__ else 0.0


@_check.strict_options(hints=advice.OF_JOHNSON_COOK)
@dataclass(frozen=True, kw_only=True, slots=True)
class JohnsonCook(_Flowing):
    """Metal at high rates, pressures and temperatures: Johnson and Cook's yield stress, Mie and Grüneisen's pressure.

    The deformation gradient is a product F = F_E F_P; ``particles.F`` is F_E. The deviator of Kirchhoff stress is 2 μ
    dev e, with the logarithmic strain e of F_E. Every step brings the equivalent Cauchy stress √(3/2) ‖dev σ‖ back to
    (A + B ε_pⁿ)(1 + C ln ε̇*)(1 − T*ᵐ), where ε̇* is the rate of ε_p over the reference rate, at least 1, and
    T* = (T − T_r)/(T_m − T_r), from 0 to 1. ``particles.plastic_strain`` is ε_p. The share χ of plastic work heats
    the particle: ``particles.temperature`` is T [K]. Heat flows only with `thermal`, and compression does not raise T.
    Neither flow nor its rate limits the time step.

    The pressure is p_H + Γ ρ₀ c (T − T_i). With x = 1 − J, p_H = ρ₀ c₀² x/(1 − s x)² is the Hugoniot curve of a shock
    of the speed c₀ + s u_p, u_p being the velocity behind it; p_H = ρ₀ c₀² x in tension. At the initial temperature T_i
    the metal is at rest. A shock of a simulation gets the pressure of the Hugoniot curve without artificial viscosity,
    but oscillates behind its front. ``elastic_energy`` is the free energy at T. In 2-D (plane strain)
    ``particles.Fzz`` is the elastic stretch out of plane; in 3-D it stays 1. There is no damage. C, ``sound_speed``,
    ``specific_heat`` and the density have one value for all particles of a body; the other parameters may vary.

    Parameters
    ----------
    A : float
        Yield stress [Pa], > 0.
    B : float
        Hardening [Pa], >= 0.
    n : float
        Exponent of hardening, from 0.01 to 10.
    shear_modulus : float
        μ [Pa], > 0.
    sound_speed : float
        c₀ [m/s], > 0: that of bulk waves, √(K/ρ₀) with the bulk modulus K.
    specific_heat : float
        c [J/(kg K)], > 0.
    melting_temperature : float
        T_m [K], > T_r.
    density : float
        Initial density ρ₀ [kg/m³], > 0.
    C : float, optional
        Sensitivity to the rate, from 0 to 10, default 0.
    m : float, optional
        Exponent of thermal softening, from 0.01 to 100, default 1.
    reference_rate : float, optional
        [1/s], > 0, default 1.
    reference_temperature, initial_temperature : float, optional
        T_r, T_i [K], > 0, default 298.
    taylor_quinney : float, optional
        χ, from 0 to 1, default 0.9.
    s : float, optional
        Slope of the shock speed, from 0 to 10, default 0: p_H is linear in x.
    grueneisen : float, optional
        Γ at the initial density, from 0 to 100, default 0: heat exerts no pressure. Γ ρ is a constant.
    thermal : mpm.Thermal, optional
        It conducts heat; default None. If one body of a scene has it, all that deform must have it. T is then the
        temperature that is conducted: `specific_heat` and T_i must be those of the `Thermal`, which has no
        ``taylor_quinney`` besides χ, and no ``expansion`` besides Γ.

    References
    ----------
    Johnson, Cook: A constitutive model and data for metals subjected to large strains, high strain rates and high
    temperatures. Proc. 7th Int. Symp. on Ballistics (1983) 541-547.
    Meyers: Dynamic Behavior of Materials. Wiley, 1994, chapters 4 and 5 (Hugoniot curve, Mie and Grüneisen).
    Taylor, Quinney: The latent energy remaining in a metal after cold working. Proc. R. Soc. Lond. A 143 (1934)
    307-326.

    Examples
    --------
    Copper (Johnson and Cook 1983), with the shock data of Meyers (1994):

    >>> copper = mpm.materials.JohnsonCook(
    ...     A=90e6, B=292e6, n=0.31, C=0.025, m=1.09, shear_modulus=46e9, sound_speed=3940, s=1.489, grueneisen=2.0,
    ...     specific_heat=383, melting_temperature=1356, density=8960,
    ... )
    """

    law: ClassVar[str] = "johnson_cook"
    # The affine velocity has the field C, and moduli follow from the density.
    _uniform: ClassVar[tuple[str, ...]] = ("C", "density")

    A: float
    B: float
    n: float
    shear_modulus: float
    sound_speed: float
    specific_heat: float
    melting_temperature: float
    density: float
    C: float = 0.0
    m: float = 1.0
    reference_rate: float = 1.0
    reference_temperature: float = 298.0
    initial_temperature: float = 298.0
    taylor_quinney: float = 0.9
    s: float = 0.0
    grueneisen: float = 0.0
    thermal: Thermal | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        for name, unit in (("sound_speed", "m/s"), ("specific_heat", "J/(kg K)")):
            value = _check.number(name, getattr(self, name), low=0, low_open=True, unit=unit)
            object.__setattr__(self, name, value)
        c = self.sound_speed
        for name, modulus in (("sound_speed", c * c), ("specific_heat", self.specific_heat)):
            if not 0 < self.density * modulus < math.inf:
                raise ValueError(
                    f"{name} = {getattr(self, name)!r}: with density = {self.density!r} its modulus is out of range"
                )
        self._refuse_other_heat()
        if not self._varies and not self.melting_temperature > self.reference_temperature:
            raise ValueError(
                f"reference_temperature, melting_temperature = {self.reference_temperature!r}, "
                f"{self.melting_temperature!r}: the second must be larger [K]"
            )

    def _refuse_other_heat(self) -> None:
        """A ValueError where `thermal` says something else of the same heat."""
        thermal, T = self.thermal, self.initial_temperature
        if thermal is None:
            return
        if isinstance(T, Varying):
            raise ValueError(
                "initial_temperature varies: with thermal= it must be one number, that of the Thermal"
            )
        pairs = (
            ("specific_heat", self.specific_heat, thermal.specific_heat, "J/(kg K)"),
            ("initial_temperature", T, thermal.temperature, "K"),
        )
        for name, own, other, unit in pairs:
            if own != other:
                raise ValueError(f"{name} = {own!r}: must be that of thermal, {other!r} [{unit}]")
        if thermal.taylor_quinney:
            raise ValueError(
                f"thermal: taylor_quinney = {thermal.taylor_quinney:g}: must be 0; the law heats with its own "
                "taylor_quinney"
            )
        if thermal.expansion and (isinstance(self.grueneisen, Varying) or self.grueneisen):
            raise ValueError(
                f"thermal: expansion = {thermal.expansion:g}: must be 0 with a grueneisen, which is the pressure of a "
                "body that cannot expand"
            )

    def _parameter(self, name: str) -> float:
        if name == "bulk_modulus":
            return self._parameter("density") * self.sound_speed**2
        if name == "heat_capacity":
            return self._parameter("density") * self.specific_heat
        return Material._parameter(self, name)
