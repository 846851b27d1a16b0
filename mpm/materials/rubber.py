"""Rubber and tissue: Ogden's solid and fibres in a soft matrix. They are part of `mpm.materials`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from mpm.base import _check
from mpm.materials.laws import Material, _Elastic
from mpm.materials.solute import Solute
from mpm.materials.thermal import Thermal


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class Ogden(Material):
    """Compressible Ogden rubber: Ψ = Σₚ μₚ/αₚ (Σᵢ sᵢ^αₚ − 3 − αₚ ln J) + λ/4 (J² − 1 − 2 ln J).

    sᵢ are the principal stretches; one to three terms p. At rest μ = ½ Σ μₚ αₚ and λ = K − 2 μ/3. Where K is large,
    constants that were measured on incompressible rubber apply; Ogden's for the rubber of Treloar are μₚ = 0.63, 0.0012
    and −0.01 MPa with αₚ = 1.3, 5 and −2. One term with α = 2 is `MooneyRivlin` with c01 = 0.

    Parameters
    ----------
    mu_1 : float
        μ₁ [Pa].
    alpha_1 : float
        α₁, from −50 to 50; μ₁ α₁ > 0.
    bulk_modulus : float
        K [Pa], at least 2/3 of the shear modulus. The time step falls with √K.
    density : float
        Initial density [kg/m³], > 0.
    mu_2, mu_3 : float, optional
        μ₂, μ₃ [Pa], default 0: no such term.
    alpha_2, alpha_3 : float, optional
        Their exponents, from −50 to 50, default 2; μₚ αₚ >= 0.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Ogden: Large deformation isotropic elasticity: on the correlation of theory and experiment for compressible
    rubberlike solids. Proc. R. Soc. Lond. A 328 (1972) 567-583; for incompressible ones: 326 (1972) 565-584.
    """

    law: ClassVar[str] = "ogden"

    mu_1: float
    alpha_1: float
    bulk_modulus: float
    density: float
    mu_2: float = 0.0
    alpha_2: float = 2.0
    mu_3: float = 0.0
    alpha_3: float = 2.0
    thermal: Thermal | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        if self._varies:
            return  # the core checks the values of particles
        terms = ((self.mu_1, self.alpha_1), (self.mu_2, self.alpha_2), (self.mu_3, self.alpha_3))
        for p, (mu, alpha) in enumerate(terms, 1):
            if not (mu * alpha > 0 or (p > 1 and mu == 0)):
                kind = "> 0" if p == 1 else "> 0, or the modulus 0"
                raise ValueError(f"mu_{p}, alpha_{p} = {mu!r}, {alpha!r}: their product must be {kind}")
        least = sum(mu * alpha for mu, alpha in terms) / 3
        if self.bulk_modulus < least * (1 - 1e-12):
            raise ValueError(
                f"bulk_modulus = {self.bulk_modulus!r}: must be >= 2/3 of the shear modulus: {least:g} [Pa]"
            )


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class FibreReinforced(_Elastic):
    """Soft matrix with one family of fibres that bear only tension, for tissue and cord rubber.

    The matrix is `NeoHookean` with E and ν. With the unit vector a along the fibres at rest and ε = max(|F a|² − 1, 0),
    the fibres add k₁/(2 k₂) (exp(k₂ ε²) − 1) to the energy; with k₂ = 0 they add k₁/2 ε² (standard reinforcing model).
    At rest the fibres raise Young's modulus along a by up to 4 k₁. Compressed fibres bear no stress. In 2-D (plane
    strain) a may point out of the plane: then there are two families at ±a_z, each with half of k₁.

    The slope of the stress jumps where fibres get taut. Explicit steps across this kink may gain energy, even below the
    bound of the time step, so ``dt="auto"`` takes at most 0.4 of it. Choose a fixed dt below half of the bound.

    Parameters
    ----------
    E : float
        Young's modulus of the matrix [Pa], > 0.
    nu : float
        Poisson's ratio of the matrix, > −1 and < 0.5; a warning above 0.49.
    k_1 : float
        k₁ [Pa], >= 0.
    density : float
        Initial density [kg/m³], > 0.
    k_2 : float, optional
        k₂, >= 0, default 0.
    direction : array_like, shape (3,), optional
        Direction of the fibres at rest, of any length except 0; default (1, 0, 0).
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

    References
    ----------
    Holzapfel, Gasser, Ogden: A new constitutive framework for arterial wall mechanics and a comparative study of
    material models. J. Elasticity 61 (2000) 1-48.
    """

    law: ClassVar[str] = "fibre_reinforced"

    E: float
    nu: float
    k_1: float
    density: float
    k_2: float = 0.0
    direction: tuple[float, float, float] = (1.0, 0.0, 0.0)
    thermal: Thermal | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        x, y, z = _check.array("direction", self.direction, (3,)).tolist()
        if not 1e-100 < np.hypot(np.hypot(x, y), z) < 1e100:
            raise ValueError(f"direction = ({x!r}, {y!r}, {z!r}): must not be 0, and of ordinary size")
        object.__setattr__(self, "direction", (x, y, z))

    def _parameter(self, name: str) -> float:
        axes = {"direction_x": 0, "direction_y": 1, "direction_z": 2}
        return self.direction[axes[name]] if name in axes else Material._parameter(self, name)
