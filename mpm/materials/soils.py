"""Soils: granular materials and clays. They are part of `mpm.materials`."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from mpm import _core
from mpm.base import _check
from mpm.materials.bands import NO_BAND, _Banded, _ByOption, given
from mpm.materials.hardening import Strength
from mpm.materials.inelastic import _Flowing, _Plastic
from mpm.materials.laws import Material, _Elastic
from mpm.materials.pore import Pore
from mpm.materials.solute import Solute
from mpm.materials.thermal import Thermal

CONES = ("compression", "extension", "plane-strain")


def _refuse_no_friction(angle: object, cohesion: object, factor: float, words: str) -> None:
    """Raise ValueError for an angle of friction of 0, and name the law that has none; `factor` times the cohesion is
    the yield stress of the same shear strength."""
    if not isinstance(angle, numbers.Real) or isinstance(angle, bool) or angle != 0:
        return
    value = f" = {factor * cohesion:g}" if isinstance(cohesion, (int, float)) and cohesion > 0 else ""
    raise ValueError(
        "friction_angle_deg = 0: must be > 0 and < 90 [deg]; cohesion without friction is "
        f"mpm.materials.VonMises with yield_stress{value}, {words} the cohesion"
    )


class _Hardening(_Flowing, _Elastic):
    """Base of the soils whose strength follows the plastic strain by a table."""

    __slots__ = ()

    hardening: Strength | None

    def _check_hardening(self) -> None:
        """Of checked parameters: the angles and the table go together."""
        if self.hardening is not None and not isinstance(self.hardening, Strength):
            raise _check.wrong_type(
                "hardening", self.hardening, "an mpm.materials.hardening.Strength or None"
            )
        if self._varies:  # the core checks the values of particles
            return
        _check.number(
            "dilation_angle_deg",
            self._parameter("dilation_angle_deg"),
            high=self._parameter("friction_angle_deg"),
            unit="deg",
        )
        if broken := self._unfit({"crack_band": np.array([NO_BAND])}, 1):
            at = "" if self.hardening is None else f"hardening = {self.hardening!r}: "
            raise ValueError(f"{at}{broken[1]}")

    def _parameter(self, name: str) -> float:
        if name.startswith("table_"):
            return 0.0 if self.hardening is None else self.hardening._parameters().get(name, 0.0)
        if name == "tension":
            given = getattr(self, name)
            return math.inf if given is None else float(given)
        return Material._parameter(self, name)


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class Sand(_Plastic):
    """Sand: grains that slide where shear exceeds their friction, and separate without resistance.

    The deformation gradient is a product F = F_E F_P of an elastic and a plastic part; ``particles.F`` is F_E,
    ``particles.Jp`` is J_P = det F_P, and J J_P is the whole volume ratio. With e the logarithms of the principal
    stretches of F_E, Ψ = μ e:e + λ/2 (tr e)² and τ = 2μ e + λ tr e I along the same axes. Every step brings stresses
    back to ‖dev τ‖ <= α (d c cot φ − tr τ) (Drucker and Prager). Sliding does so at constant volume; where all stresses
    are tensile, the separation of grains removes the stresses and increases J_P. Grains that meet again have a pressure
    once J_P is back at 1, so `Jp` shows where sand is loose. `Jp` stays below 10⁶; ``clipped`` in ``Simulation.health``
    counts the corrections. ``particles.plastic_strain`` is the equivalent plastic shear strain √(2/3) ‖dev ε_p‖ that
    has accumulated, in 2-D that in the plane.

    In 3-D α = √(2/3) · 2 sin φ/(3 − sin φ), as in the paper: the Mohr–Coulomb criterion in triaxial compression. It is
    stronger than this criterion elsewhere: a 3-D body that flows in a plane, as between smooth plates, has the friction
    angle arcsin(3 α/√2), 44° for φ = 30° and 55° for 35°. In 2-D α = sin φ/√2 is the Mohr–Coulomb criterion for the
    stresses in the plane; the out-of-plane stretch is 1 and does not yield. φ does not change with deformation.

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
        c [Pa], >= 0, default 0: shear strength without pressure, as in moist sand. Grains of a cohesive sand separate
        at the mean tension c cot φ, and cohere again when they meet.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    pore : mpm.Pore, optional
        Water in its pores; default None. The law computes effective stresses, and `density` contains the water.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

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
    thermal: Thermal | None = field(default=None, repr=False)
    pore: Pore | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class NACC(_Flowing, _Elastic):
    """Cohesive Cam clay (NACC): yields on an ellipse of pressure and shear, hardens where compacted, breaks where torn.

    The deformation gradient is a product F = F_E F_P; ``particles.F`` is F_E. With b = F_E F_Eᵀ, J = det F_E and the
    bulk modulus κ, Ψ = μ/2 (J^(−2/3) tr b − 3) + κ/2 ((J² − 1)/2 − ln J). Kirchhoff stresses of pressure p and deviator
    s stay within 3/2 (1 + 2β) ‖s‖² + M² (p + β p0)(p − p0) <= 0 with M = 6 sin φ/(3 − sin φ): between the tension β p0
    and the pressure p0 = κ (10⁻⁵ + sinh(ξ max(−α, 0))). ``particles.alpha`` is α; compaction lowers α, and the clay
    becomes stronger; tearing and flow at low pressure raise α, and at α >= 0 almost no strength remains.
    ``particles.Jp`` is the plastic volume ratio. In 2-D (plane strain) ``particles.Fzz`` is the elastic stretch out of
    plane; in 3-D it stays 1. As in the paper, the return map keeps the trace of b, not the volume of F_E, and α changes
    after the return: the surface is one step late. ``particles.plastic_strain`` is the equivalent plastic shear strain
    √(2/3) ‖dev ε_p‖ that has accumulated.

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
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    pore : mpm.Pore, optional
        Water in its pores; default None. The law computes effective stresses, and `density` contains the water.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

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
    thermal: Thermal | None = field(default=None, repr=False)
    pore: Pore | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class DruckerPrager(_Banded, _Hardening):
    """Soil that slides on a cone (Drucker and Prager), dilates as it slides, and separates at a tension.

    The deformation gradient is a product F = F_E F_P; ``particles.F`` is F_E. Energy and stress follow `Hencky` at F_E.
    With the pressure p and the shear q = √(3/2) ‖dev τ‖ of Kirchhoff stress, every step brings stresses back to q <= M
    p + k and p >= −σ_t. Sliding increases the volume by D times the shear strain. Where grains separate,
    ``particles.gap`` is the volume ratio of the gap between them; the grains have a pressure again when the gap is
    closed. ``particles.Jp`` is the plastic volume ratio, including the gap. In 2-D (plane strain) pressure and shear
    are those of three dimensions, and ``particles.Fzz`` is the elastic stretch out of plane; in 3-D it stays 1. Unlike
    `Sand`, this law dilates, has a separate tensile strength, and includes the out-of-plane stress. `gap` and `Jp` stay
    below 10⁶; ``clipped`` in ``Simulation.health`` counts the corrections. ``particles.plastic_strain`` is the
    equivalent plastic shear strain √(2/3) ‖dev ε_p‖ that has accumulated.

    M, D and k follow from the angles of friction φ and dilation ψ, the cohesion c and ``cone``, which determines where
    the cone meets the criterion of Mohr and Coulomb:

    - ``"compression"``: in triaxial compression, M = 6 sin φ/(3 − sin φ), k = M c cot φ, D = 6 sin ψ/(3 − sin ψ);
    - ``"extension"``: in triaxial extension, with 3 + sin instead of 3 − sin;
    - ``"plane-strain"``: for flow in a plane, in 2-D or 3-D.

    With a ``fracture_energy`` the soil cracks where grains part. ``particles.damage``, ω from 0 to 1, takes the share ω
    of σ_t and k, so that an open crack has no strength, and a closed one slides by friction. The work of the parting
    and of shear beside it drives ω, dω = (1 − ω) l_c dW/G_f, W being that of the whole strength, and dissipates G_f per
    area of a crack, which is a band l_c wide, as that of `Brittle`. At 0.999 ω becomes 1. Steps are then explicit.

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0.
    nu : float
        Poisson's ratio, > −1 and < 0.5; a warning above 0.49.
    density : float
        Initial density [kg/m³], > 0.
    friction_angle_deg : float, optional
        φ, > 0° and < 90°, default 35°.
    dilation_angle_deg : float, optional
        ψ, >= 0° and at most φ, default 0°: sliding keeps the volume.
    cohesion : float, optional
        c [Pa], >= 0, default 0.
    tension : float or None, optional
        σ_t [Pa], from 0 to c cot φ: the mean tension at which grains part. Default None: c cot φ.
    cone : str, optional
        ``"compression"`` (the default), ``"extension"`` or ``"plane-strain"``.
    hardening : mpm.materials.hardening.Strength, optional
        φ, ψ and c by a table of plastic strain, which harden or soften; default None: they stay. σ_t is then at most
        the present c cot φ.
    fracture_energy : float, optional
        G_f [J/m²], > 0; default 0: grains part at σ_t again and again.
    crack_band : float, optional
        l_c [m], > 0; default None: 1, 2 or 2.5 dx with the linear, quadratic or cubic kernel. In a band
        of E G_f/(3 (1 − 2ν) σ_t²) or more stress would snap back, which raises.
        Tests of `mpm.point`, which have no grid, need a number.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    pore : mpm.Pore, optional
        Water in its pores; default None. The law computes effective stresses, and `density` contains the water.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Drucker, Prager: Soil mechanics and plastic analysis or limit design. Q. Appl. Math. 10 (1952) 157-165.
    de Souza Neto, Perić, Owen: Computational Methods for Plasticity. Wiley, 2008, chapter 8.
    """

    law: ClassVar[str] = cast(Any, _ByOption("drucker_prager"))
    _weaker: ClassVar[str] = "tension"

    E: float
    nu: float
    density: float
    friction_angle_deg: float = 35.0
    dilation_angle_deg: float = 0.0
    cohesion: float = 0.0
    tension: float | None = None
    cone: str = "compression"
    hardening: Strength | None = None
    fracture_energy: float = 0.0
    crack_band: float | None = None
    thermal: Thermal | None = field(default=None, repr=False)
    pore: Pore | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)

    @property
    def _fractures(self) -> bool:
        return given(self.fracture_energy)

    def __post_init__(self) -> None:
        if isinstance(self.cone, str) and self.cone == "plane-strain":
            _refuse_no_friction(self.friction_angle_deg, self.cohesion, math.sqrt(3), "sqrt(3) times")
        else:
            _refuse_no_friction(self.friction_angle_deg, self.cohesion, 2, "twice")
        Material.__post_init__(self)
        apex = math.inf
        if not self._varies:  # otherwise the core checks the values of particles
            apex = self.cohesion / math.tan(math.radians(self.friction_angle_deg))
        if self.tension is not None:
            tension = _check.number("tension", self.tension, low=0, high=apex, unit="Pa")
            object.__setattr__(self, "tension", tension)
        _check.choice("cone", self.cone, CONES)
        self._check_hardening()
        self._check_band()

    def _given_parameters(self) -> list[_core.Parameter]:
        return [p for p in _Banded._given_parameters(self) if p["name"] not in ("tension", "cone")]

    def _parameter(self, name: str) -> float:
        return float(CONES.index(self.cone)) if name == "cone" else _Banded._parameter(self, name)


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class MohrCoulomb(_Hardening):
    """Soil or rock that slides where shear on a plane exceeds its friction (Mohr and Coulomb), and dilates. Without
    friction it is clay of an undrained strength (Tresca).

    The deformation gradient is a product F = F_E F_P; ``particles.F`` is F_E. Energy and stress follow `Hencky` at F_E.
    Every step brings the principal Kirchhoff stresses τ₁ >= τ₂ >= τ₃ back to (1 + sin φ) τ₁ − (1 − sin φ) τ₃ <= 2 c cos
    φ: to the plane, to an edge, or to the apex c cot φ, where grains separate. ``particles.gap`` is the volume ratio of
    the gap between them; the grains have a pressure again when the gap is closed. ``particles.Jp`` is the plastic
    volume ratio, including the gap. In 2-D (plane strain) the out-of-plane stress is one of the three, and
    ``particles.Fzz`` is the out-of-plane elastic stretch; in 3-D it stays 1. `gap` and `Jp` stay below 10⁶; ``clipped``
    in ``Simulation.health`` counts the corrections. ``particles.plastic_strain`` is the equivalent plastic shear strain
    √(2/3) ‖dev ε_p‖ that has accumulated. A cut-off limits τ₁ to σ_t by flow normal to it; grains separate where all
    three stresses reach it. With φ = 0, τ₁ − τ₃ <= 2c, and c is the undrained strength s_u of clay, which may grow with
    depth: ``cohesion=lambda x: 2e4 + 1.5e3 * (10 - x[:, 1])``. Flow needs a singular value decomposition:
    `DruckerPrager` is faster.

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0.
    nu : float
        Poisson's ratio, > −1 and < 0.5; a warning above 0.49.
    density : float
        Initial density [kg/m³], > 0.
    friction_angle_deg : float, optional
        φ, >= 0° and < 90°, default 35°. 0°: Tresca's criterion, which needs a cohesion.
    dilation_angle_deg : float, optional
        ψ, >= 0° and at most φ, default 0°: sliding keeps the volume.
    cohesion : float, optional
        c [Pa], >= 0, default 0.
    tension : float or None, optional
        σ_t [Pa], >= 0: the largest principal stress. Default None, or from c cot φ on: no cut-off before the apex.
    hardening : mpm.materials.hardening.Strength, optional
        φ, ψ and c by a table of plastic strain, which harden or soften; default None: they stay.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    pore : mpm.Pore, optional
        Water in its pores; default None. The law computes effective stresses, and `density` contains the water.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    de Souza Neto, Perić, Owen: Computational Methods for Plasticity. Wiley, 2008, section 8.2.
    """

    law: ClassVar[str] = "mohr_coulomb"

    E: float
    nu: float
    density: float
    friction_angle_deg: float = 35.0
    dilation_angle_deg: float = 0.0
    cohesion: float = 0.0
    tension: float | None = None
    hardening: Strength | None = None
    thermal: Thermal | None = field(default=None, repr=False)
    pore: Pore | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        if self.tension is not None:
            tension = _check.number("tension", self.tension, low=0, unit="Pa")
            object.__setattr__(self, "tension", tension)
        self._check_hardening()

    def _given_parameters(self) -> list[_core.Parameter]:
        return [p for p in Material._given_parameters(self) if p["name"] != "tension"]


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class CamClay(_Flowing):
    """Modified Cam clay: stiffens with pressure, hardens as it is compacted, softens as it dilates.

    The deformation gradient is a product F = F_E F_P; ``particles.F`` is F_E. With its logarithmic strain e, Kirchhoff
    stress has the pressure p = a (exp(−tr e/κ) − 1) and the deviator 2 μ dev e. Every step brings it back to q²/M² + P
    (P − P_c) <= 0 with q = √(3/2) ‖dev τ‖, P = p + a, and P_c − a = ``particles.yield_pressure``; the plastic strain is
    normal to this ellipse, and ln P_c grows by its compaction over λ − κ. So ln P falls along lines of slope 1/κ
    (swelling) and 1/λ (normal compression) in the logarithm of the volume, and shear ends at the critical state q = M
    P. The attraction a, the largest tension, holds the clay together where there is no pressure; a value far below the
    pressures of interest hardly matters. ``particles.Jp`` is the plastic volume ratio. In 2-D (plane strain)
    ``particles.Fzz`` is the elastic stretch out of plane; in 3-D it stays 1. P_c stays between a/1000 and 10¹² a;
    ``clipped`` in ``Simulation.health`` counts the corrections. ``particles.plastic_strain`` is the equivalent plastic
    shear strain √(2/3) ‖dev ε_p‖ that has accumulated.

    Parameters
    ----------
    shear_modulus : float
        μ [Pa], > 0.
    density : float
        Initial density [kg/m³], > 0.
    swelling : float
        κ, > 0 and < 1: fall of the logarithm of volume over growth of that of pressure, elastic. With the usual slope
        κ' of the void ratio, κ = κ'/(1 + void ratio).
    compression : float
        λ, > κ and < 1: the same where the clay yields.
    critical_slope : float
        M, > 0: q/p at the critical state, 6 sin φ/(3 − sin φ) for a friction angle φ in triaxial compression.
    preconsolidation : float
        Isotropic pressure at which new particles yield [Pa], >= 0: a Kirchhoff pressure, J times the Cauchy pressure,
        such as the ``confinement`` of `mpm.point.triaxial`. ``particles.yield_pressure`` begins with it.
    attraction : float, optional
        a [Pa], > 0, default 1000. The bulk modulus at rest is a/κ.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    pore : mpm.Pore, optional
        Water in its pores; default None. The law computes effective stresses, and `density` contains the water.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Roscoe, Burland: On the generalized stress-strain behaviour of wet clay. Engineering Plasticity (1968) 535-609.
    Butterfield: A natural compression law for soils. Géotechnique 29 (1979) 469-480.
    Borja, Tamagnini: Cam-Clay plasticity part III. Comput. Methods Appl. Mech. Eng. 155 (1998) 73-95.
    """

    law: ClassVar[str] = "cam_clay"

    shear_modulus: float
    density: float
    swelling: float
    compression: float
    critical_slope: float
    preconsolidation: float
    attraction: float = 1000.0
    thermal: Thermal | None = field(default=None, repr=False)
    pore: Pore | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        if not self._varies and not self.compression > self.swelling:
            raise ValueError(f"compression = {self.compression!r}: must be > swelling = {self.swelling!r}")


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class MuI(_Flowing, _Elastic):
    """Dense granular flow, the μ(I) rheology: friction that grows with the rate at which grains slide.

    The deformation gradient is a product F = F_E F_P; ``particles.F`` is F_E. Energy and stress follow `Hencky` at F_E.
    With the pressure p of Kirchhoff stress and the shear stress τ = ‖dev τ‖/√2, grains slide at constant volume where τ
    > μ₁ p, with τ = μ(I) p, μ(I) = μ₁ + (μ₂ − μ₁)/(I₀/I + 1) and the inertial number I = γ̇ d √(ρ_s/p). Grains separate
    without resistance: ``particles.gap`` is the volume ratio of the gap between them; they have a pressure again when
    the gap is closed. ``particles.Jp`` is the plastic volume ratio. In 2-D (plane strain) ``particles.Fzz`` is the
    elastic stretch out of plane; in 3-D it stays 1. Flow does not limit the time step. The defaults are glass beads.
    ``particles.plastic_strain`` is the equivalent plastic shear strain √(2/3) ‖dev ε_p‖ that has accumulated.

    Parameters
    ----------
    E : float
        Young's modulus [Pa], > 0: far above the pressures of the flow, so that grains hardly overlap.
    nu : float
        Poisson's ratio, > −1 and < 0.5; a warning above 0.49.
    density : float
        Initial density of the packing [kg/m³], > 0.
    mu_1, mu_2 : float, optional
        Friction of slow and of fast flow, > 0, μ₂ >= μ₁; default tan 20.9° and tan 32.76°.
    I_0 : float, optional
        I₀, > 0, default 0.279: the inertial number halfway between the two.
    grain_diameter : float, optional
        d [m], > 0, default 0.53e-3.
    grain_density : float, optional
        ρ_s [kg/m³], > 0, default 2500: that of the grains themselves.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    pore : mpm.Pore, optional
        Water in its pores; default None. The law computes effective stresses, and `density` contains the water.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Jop, Forterre, Pouliquen: A constitutive law for dense granular flows. Nature 441 (2006) 727-730.
    Dunatunga, Kamrin: Continuum modelling and simulation of granular flows through their many phases. J. Fluid Mech.
    779 (2015) 483-513.
    """

    law: ClassVar[str] = "mu_i"

    E: float
    nu: float
    density: float
    mu_1: float = 0.3819
    mu_2: float = 0.6435
    I_0: float = 0.279
    grain_diameter: float = 0.53e-3
    grain_density: float = 2500.0
    thermal: Thermal | None = field(default=None, repr=False)
    pore: Pore | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        if not self._varies and not self.mu_2 >= self.mu_1:
            raise ValueError(f"mu_2 = {self.mu_2!r}: must be >= mu_1 = {self.mu_1!r}")
