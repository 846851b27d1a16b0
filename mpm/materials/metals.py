"""Metals: von Mises, and Johnson and Cook with heat and a shock equation of state. They are part of `mpm.materials`."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from mpm import _core
from mpm.base import _check, advice
from mpm.materials.bands import NO_BAND, _Banded, _ByOption, given
from mpm.materials.hardening import Hardening
from mpm.materials.laws import Material, _Elastic
from mpm.materials.solute import Solute
from mpm.materials.thermal import Thermal
from mpm.materials.varying import Varying, is_varying

_TO_FAILURE = ("D1", "D2", "D3", "D4", "D5")


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class VonMises(_Banded, _Elastic):
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

    With a ``fracture_strain`` or a ``fracture_energy`` the metal fractures. ``particles.damage``, ω from 0 to 1, takes
    the share ω of the deviator and of tension; pressure stays. It begins at the fracture strain, whatever the pressure
    is, and grows with plastic work W as dω = (1 − ω) dW/(G_f/l_c − Ψ), W and the elastic energy Ψ being those without
    damage: flow and release together dissipate G_f per area of a crack, which is a band l_c wide, as that of `Brittle`.
    Without fracture energy, or where Ψ has reached G_f/l_c, the particle breaks at once. A broken particle (ω = 1, from
    0.999 on) is debris: it resists compression alone, and F keeps its volume ratio at most e. Damage begins with the
    next step and does not heal; steps are explicit.

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
    fracture_strain : float, optional
        Plastic strain at which damage begins, >= 0. Default None: 0 with a `fracture_energy`, otherwise there is none.
    fracture_energy : float, optional
        G_f [J/m²], >= 0, default 0: what has reached the fracture strain breaks at once.
    crack_band : float, optional
        l_c [m], > 0; default None: 1, 2 or 2.5 dx with the linear, quadratic or cubic kernel. In a band
        of 2 E G_f/(σ_y + H ε_f)² with the fracture strain ε_f or more stress would snap back, which raises.
        Tests of `mpm.point`, which have no grid, need a number.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Bažant, Oh: Crack band theory for fracture of concrete. Materials and Structures 16 (1983) 155-177.
    Lemaitre: A continuous damage mechanics model for ductile fracture. J. Eng. Mater. Technol. 107 (1985) 83-89.
    Simo, Hughes: Computational Inelasticity. Springer, 1998.
    Simo: Algorithms for static and dynamic multiplicative plasticity that preserve the classical return mapping schemes
    of the infinitesimal theory. Comput. Methods Appl. Mech. Eng. 99 (1992) 61-112.
    """

    law: ClassVar[str] = cast(Any, _ByOption("von_mises"))
    _weaker: ClassVar[str] = "yield_stress or fracture_strain"

    E: float
    nu: float
    yield_stress: float
    density: float
    hardening: float | Hardening = 0.0
    kinematic_hardening: float = 0.0
    viscosity: float = 0.0
    fracture_strain: float | None = None
    fracture_energy: float = 0.0
    crack_band: float | None = None
    thermal: Thermal | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)

    @property
    def _fractures(self) -> bool:
        return self.fracture_strain is not None or given(self.fracture_energy)

    def __post_init__(self) -> None:
        growth = self.hardening
        known = isinstance(growth, (Hardening, numbers.Real, np.ndarray)) and not isinstance(growth, bool)
        if isinstance(growth, type) or not (known or is_varying(growth)):
            raise _check.wrong_type(
                "hardening", growth, "a number >= 0 [Pa] or a Hardening, such as Voce(...)"
            )
        Material.__post_init__(self)
        if not self._varies and (broken := self._unfit({"crack_band": np.array([NO_BAND])}, 1)):
            if broken[1].startswith("crack_band"):  # no band is thin enough
                raise ValueError(f"fracture_energy = {self.fracture_energy!r}: is too small: {broken[1]}")
            raise ValueError(
                f"hardening = {_check.shown(self.hardening)}: {broken[1]} = {self.yield_stress!r} [Pa]"
            )
        self._check_band()

    def _given_parameters(self) -> list[_core.Parameter]:
        left_out = {"hardening"} if isinstance(self.hardening, Hardening) else set()
        if self.fracture_strain is None:
            left_out.add("fracture_strain")
        return [p for p in _Banded._given_parameters(self) if p["name"] not in left_out]

    def _parameter(self, name: str) -> float:
        if isinstance(self.hardening, Hardening) and name in (own := self.hardening._parameters()):
            return own[name]
        if name == "hardening" and isinstance(self.hardening, Hardening):
            return 0.0
        if name not in self.__dataclass_fields__ or (
            name == "fracture_strain" and self.fracture_strain is None
        ):
            return 0.0
        return _Banded._parameter(self, name)


@_check.strict_options(hints=advice.OF_JOHNSON_COOK)
@dataclass(frozen=True, kw_only=True, slots=True)
class JohnsonCook(_Banded):
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
    ``particles.Fzz`` is the elastic stretch out of plane; in 3-D it stays 1. C, ``sound_speed``,
    ``specific_heat`` and the density have one value for all particles of a body; the other parameters may vary.

    With D₁ or D₂ the metal fractures. ``particles.failure`` is D = ∫ dε_p/ε_f, from 0 to 1, with the strain to failure
    ε_f = (D₁ + D₂ exp(D₃ σ*)) (1 + D₄ ln ε̇*) (1 + D₅ T*), at least 10⁻⁶, and the triaxiality σ* = mean stress over
    equivalent stress, 1/3 in uniaxial tension. From D = 1 on, ``particles.damage`` takes its share of the deviator and
    of tension, as that of `VonMises`: over a ``fracture_energy``, or else at once. Broken particles (damage 1) resist
    compression alone, with the pressure above, and no longer heat. Steps are then explicit.

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
    D1, D2, D3, D4, D5 : float, optional
        Numbers of the strain to failure, default 0. D₁ = D₂ = 0: it does not fracture. Mostly D₃ < 0.
    fracture_energy : float, optional
        G_f [J/m²], >= 0, default 0: what has failed breaks at once.
    crack_band : float, optional
        l_c [m], > 0; default None: 1, 2 or 2.5 dx with the linear, quadratic or cubic kernel. In a band
        of 6 μ G_f/A² or more stress would snap back, which raises.
        Tests of `mpm.point`, which have no grid, need a number.
    thermal : mpm.Thermal, optional
        It conducts heat; default None. If one body of a scene has it, all that deform must have it. T is then the
        temperature that is conducted: `specific_heat` and T_i must be those of the `Thermal`, which has no
        ``taylor_quinney`` besides χ, and no ``expansion`` besides Γ.

    References
    ----------
    Johnson, Cook: A constitutive model and data for metals subjected to large strains, high strain rates and high
    temperatures. Proc. 7th Int. Symp. on Ballistics (1983) 541-547.
    Johnson, Cook: Fracture characteristics of three metals subjected to various strains, strain rates, temperatures and
    pressures. Eng. Fract. Mech. 21 (1985) 31-48.
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

    law: ClassVar[str] = cast(Any, _ByOption("johnson_cook"))
    _weaker: ClassVar[str] = "A"
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
    D1: float = 0.0
    D2: float = 0.0
    D3: float = 0.0
    D4: float = 0.0
    D5: float = 0.0
    fracture_energy: float = 0.0
    crack_band: float | None = None
    thermal: Thermal | None = field(default=None, repr=False)

    @property
    def _fractures(self) -> bool:
        return any(given(getattr(self, name)) for name in (*_TO_FAILURE, "fracture_energy"))

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        if self._fractures and not (given(self.D1) or given(self.D2)):
            used = [name for name in (*_TO_FAILURE, "fracture_energy") if given(getattr(self, name))]
            values = ", ".join(_check.shown(getattr(self, name)) for name in used)
            raise ValueError(f"{', '.join(used)} = {values}: needs a strain to failure; give D1, D2 or both")
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
        self._check_band()

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
        return _Banded._parameter(self, name)
