"""Elastic laws, fluids with and without a yield stress, and viscoelastic solids."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from mpm.base import _check, advice
from mpm.materials.inelastic import _Flowing
from mpm.materials.laws import Material, _Elastic
from mpm.materials.pore import Pore
from mpm.materials.solute import Solute
from mpm.materials.thermal import Thermal


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
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    pore : mpm.Pore, optional
        Water in its pores; default None. The law computes effective stresses, and `density` contains the water.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Stomakhin, Howes, Schroeder, Teran: Energetically consistent invertible elasticity. SCA 2012.
    """

    law: ClassVar[str] = "fixed_corotated"
    inverts: ClassVar[bool] = True

    E: float
    nu: float
    density: float
    thermal: Thermal | None = field(default=None, repr=False)
    pore: Pore | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class Corotated(_Elastic):
    """Corotated linear elasticity: Ψ = μ |F − R|² + λ/2 tr²(RᵀF − I), R the rotation of F.

    Hooke's law in the rotated frame: linear in the strain RᵀF − I, and therefore without the errors of linear
    elasticity in large rotations. The law is defined for every F, also an inverted one, but its pressure does not
    depend on J: a finite force can compress a body to zero volume.

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0.
    nu : float
        Poisson's ratio, > −1 and < 0.5; a warning above 0.49.
    density : float
        Initial density [kg/m³], > 0.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    pore : mpm.Pore, optional
        Water in its pores; default None. The law computes effective stresses, and `density` contains the water.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Müller, Gross: Interactive virtual materials. Proceedings of Graphics Interface (2004) 239-246.
    """

    law: ClassVar[str] = "corotated"
    inverts: ClassVar[bool] = True

    E: float
    nu: float
    density: float
    thermal: Thermal | None = field(default=None, repr=False)
    pore: Pore | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)


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
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    pore : mpm.Pore, optional
        Water in its pores; default None. The law computes effective stresses, and `density` contains the water.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Bonet, Wood: Nonlinear Continuum Mechanics for Finite Element Analysis. Cambridge, 2nd ed., 2008.
    """

    law: ClassVar[str] = "neo_hookean"

    E: float
    nu: float
    density: float
    thermal: Thermal | None = field(default=None, repr=False)
    pore: Pore | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class SaintVenantKirchhoff(_Elastic):
    """Saint Venant–Kirchhoff elasticity: Ψ = μ E:E + λ/2 (tr E)² with Green's strain E = (FᵀF − I)/2.

    The usual law of structural analysis for large rotations and small strains: Hooke's law with an objective strain.
    The law softens under strong compression (in uniaxial strain below the stretch 1/√3), and does not resist inversion.

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0.
    nu : float
        Poisson's ratio, > −1 and < 0.5; a warning above 0.49.
    density : float
        Initial density [kg/m³], > 0.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    pore : mpm.Pore, optional
        Water in its pores; default None. The law computes effective stresses, and `density` contains the water.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Bonet, Wood: Nonlinear Continuum Mechanics for Finite Element Analysis. Cambridge, 2nd ed., 2008.
    """

    law: ClassVar[str] = "saint_venant_kirchhoff"
    inverts: ClassVar[bool] = True

    E: float
    nu: float
    density: float
    thermal: Thermal | None = field(default=None, repr=False)
    pore: Pore | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class Hencky(_Elastic):
    """Hencky's elasticity: Ψ = μ e:e + λ/2 (tr e)² with the logarithmic strain e = ½ ln FFᵀ.

    Hooke's law with the logarithmic strain. Tension and compression to inverse stretches have opposite stresses. This
    is also the elastic part of `Sand`.

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0.
    nu : float
        Poisson's ratio, > −1 and < 0.5; a warning above 0.49.
    density : float
        Initial density [kg/m³], > 0.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    pore : mpm.Pore, optional
        Water in its pores; default None. The law computes effective stresses, and `density` contains the water.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Anand: On H. Hencky's approximate strain-energy function for moderate deformations. J. Appl. Mech. 46 (1979) 78-82.
    """

    law: ClassVar[str] = "hencky"

    E: float
    nu: float
    density: float
    thermal: Thermal | None = field(default=None, repr=False)
    pore: Pore | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)


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
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

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
    thermal: Thermal | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        if self._varies:
            return  # the core checks the values of particles
        least = 4 / 3 * self.c10 + 16 / 3 * self.c01
        if self.bulk_modulus < least * (1 - 1e-12):
            raise ValueError(
                f"bulk_modulus = {self.bulk_modulus!r}: must be >= 4/3 c10 + 16/3 c01 = {least:g} [Pa]"
            )


@_check.strict_options(hints=advice.OF_FLUID)
@dataclass(frozen=True, kw_only=True, slots=True)
class Fluid(Material):
    """Weakly compressible fluid of pressure p = (K/γ)(J^−γ − 1), with an optional Newtonian viscosity.

    γ = 7 is water under high pressure; γ = −1 gives p = K (1 − J) with the quadratic energy K/2 (J − 1)², which does
    not stiffen under compression. A fluid with ``tension=False`` has no tension where J > 1: it tears without
    resistance, and has a pressure again when it returns to its initial volume.

    p is the pressure above that of the surroundings. An ideal gas that exchanges no heat is K = γ p₀ with γ = 1.4 for
    air and the ambient pressure p₀; a stiffened gas K = γ (p₀ + p_∞); an isothermal gas γ = 1 and K = p₀.

    Parameters
    ----------
    bulk_modulus : float
        K [Pa], > 0; the speed of sound at rest is c = √(K/density). With c = 10 v, where v is the largest speed, the
        density changes by about 1 %: K = 100 density v². A larger K shortens the time step and changes little else.
    density : float
        Initial density [kg/m³], > 0.
    gamma : float, optional
        Exponent γ of the equation of state, −1 or from 1 to 20, default 7.
    viscosity : float, optional
        Dynamic viscosity [Pa s], >= 0, default 0.
    tension : bool, optional
        Whether stretched fluid has tension, default True. `mpm.sph.Simulation` uses its own option instead.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

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
    thermal: Thermal | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        if "gamma" not in self._varies and -1 < self.gamma < 1:
            raise ValueError(f"gamma = {self.gamma!r}: must be -1, or >= 1 and <= 20")


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class HerschelBulkley(_Flowing):
    """Yield-stress fluid such as mud, paste or fresh concrete: solid below τ_y, fluid above it.

    The deformation gradient is a product F = F_E F_P; ``particles.F`` is F_E. Energy and stress follow `Hencky` at F_E
    with the moduli K and μ. Where the shear stress τ = ‖dev τ‖/√2 exceeds τ_y, the material flows at constant volume,
    so that steady simple shear at the rate γ̇ needs τ_y + k γ̇ⁿ (n = 1: Bingham). Below τ_y the material keeps its
    shape. Without a yield stress and with n = 1 it is a Maxwell fluid of the viscosity k, which relaxes in the time
    k/μ. Neither k nor τ_y limits the time step, because the return map is implicit; K and μ do. In 2-D (plane strain)
    ``particles.Fzz`` is the elastic stretch out of plane; in 3-D it stays 1. ``particles.plastic_strain`` is the
    equivalent plastic shear strain √(2/3) ‖dev ε_p‖ that has accumulated.

    Parameters
    ----------
    bulk_modulus : float
        K [Pa], > 0.
    shear_modulus : float
        μ [Pa], > 0; it hardly matters if it is far above the shear stresses of the flow.
    yield_stress : float
        τ_y [Pa], >= 0: in shear; a uniaxial stress is √3 times as large.
    consistency : float
        k [Pa sⁿ], >= 0; 0: the stress does not exceed τ_y.
    density : float
        Initial density [kg/m³], > 0.
    exponent : float, optional
        n, from 0.1 to 10, default 1: below 1 the fluid thins with the rate of shear, above 1 it thickens.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Herschel, Bulkley: Konsistenzmessungen von Gummi-Benzollösungen. Kolloid-Z. 39 (1926) 291-300.
    Yue, Smith, Batty, Zheng, Grinspun: Continuum foam. ACM TOG 34(5) (2015) 160.
    """

    law: ClassVar[str] = "herschel_bulkley"

    bulk_modulus: float
    shear_modulus: float
    yield_stress: float
    consistency: float
    density: float
    exponent: float = 1.0
    thermal: Thermal | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class Viscoelastic(_Flowing, _Elastic):
    """Viscoelastic solid: a spring, two Maxwell branches beside it (a Prony series), and a dashpot.

    With e the logarithmic strain of F and e_k that of the spring in branch k, τ = K tr e + 2 μ (g₀ dev e + g₁ dev e₁ +
    g₂ dev e₂) + 2 η J dev D, g₀ = 1 − g₁ − g₂. E and ν, with their μ and K, apply to fast deformation; the shear
    modulus of slow deformation is g₀ μ. At a constant deformation dev e_k decays as exp(−t/τ_k). One branch is the
    standard linear solid; η alone is the solid of Kelvin and Voigt. ``particles.viscous_1`` and ``viscous_2`` hold the
    inverse right Cauchy–Green tensors of the dashpots (xx, xy, yy or xx, xy, xz, yy, yz, zz). Relaxation does not limit
    the time step; η does. For a fluid that keeps no shape, use `HerschelBulkley` without a yield stress.

    Parameters
    ----------
    E : float
        Young's modulus of fast deformation [Pa], > 0.
    nu : float
        Poisson's ratio of fast deformation, > −1 and < 0.5; a warning above 0.49.
    density : float
        Initial density [kg/m³], > 0.
    g_1, g_2 : float, optional
        Shares of the shear modulus that relax, >= 0, together < 1; default 0.
    tau_1, tau_2 : float, optional
        Their relaxation times [s], > 0, default 1.
    viscosity : float, optional
        η [Pa s], >= 0, default 0.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Reese, Govindjee: A theory of finite viscoelasticity and numerical aspects. Int. J. Solids Structures 35 (1998)
    3455-3482.
    """

    law: ClassVar[str] = "viscoelastic"

    E: float
    nu: float
    density: float
    g_1: float = 0.0
    tau_1: float = 1.0
    g_2: float = 0.0
    tau_2: float = 1.0
    viscosity: float = 0.0
    thermal: Thermal | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        if not self._varies and not self.g_1 + self.g_2 < 1:
            raise ValueError(f"g_1 = {self.g_1!r}, g_2 = {self.g_2!r}: must be < 1 together")
