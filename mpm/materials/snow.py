"""Snow: hardened by compression, softened by stretch. It is part of `mpm.materials`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.materials.inelastic import _Plastic, plastic
from mpm.materials.laws import Material
from mpm.materials.solute import Solute
from mpm.materials.thermal import Thermal

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
    ``clipped`` in ``Simulation.health`` counts the corrections. ``particles.plastic_strain`` is the equivalent plastic
    shear strain √(2/3) ‖dev ε_p‖ that has accumulated.

    Small critical values produce powder, large ones chunks. Snow with low hardening is ductile, with high hardening
    brittle. Snow with a low E is powdery, with a high E icy. The defaults come from the paper. In 2-D (plane strain)
    the out-of-plane stretch is 1 and does not yield.

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
        paper; strongly compacted snow then stiffens until the time step is very small.
    thermal : mpm.Thermal, optional
        It conducts and stores heat; default None. If one body of a scene has it, all that deform must have it.
    solute : mpm.Solute, optional
        What diffuses in it; default None: nothing does.

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
    thermal: Thermal | None = field(default=None, repr=False)
    solute: Solute | None = field(default=None, repr=False)

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
        return self._stress(checked, plastic(Jp, len(checked)))

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
        return self._energy(checked, plastic(Jp, len(checked)))
