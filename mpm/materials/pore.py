"""Water in the pores of a material: `Pore`, which elastic laws and those of soils take."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mpm.base import _check
from mpm.base._check import FloatArray

__all__ = ["SURFACES", "Pore"]

SURFACES = ("closed", "drained", "seepage")  # in the order of mpm_pore_surface


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Pore:
    """Water in the pores of a material: ``mpm.materials.MohrCoulomb(..., pore=mpm.Pore(0.4, 1e-11))``.

    The material is saturated; its `density` is that of grains and water together, and its law computes the effective
    stress σ'. Particles carry the pore pressure p (Biot 1941, in the v-p form: water is accelerated with the grains),

        σ = σ' − α p I,   1/M dp/dt = −α ∇·v − ∇·q,   q = −(k/μ) (∇p − ρ_w g)

    with the storage 1/M = n/K_w + (α − n)/K_s, both per rest volume. ``sim.particles.pore_pressure`` is p, writable,
    and ``pore_gradient`` is ∇p − ρ_w g. Stresses of `mpm.Simulation` are effective ones. Bodies without ``pore=`` are
    dry: no water passes between them and saturated ones, but what they touch counts as a free surface, and so do both
    surfaces where saturated bodies touch by `mpm.Contact`. Walls are closed unless they have ``head=`` or
    ``pore_pressure=`` (`mpm.Wall`), colliders always.

    Parameters
    ----------
    porosity : float
        n, 0 < n < 1.
    permeability : float
        Intrinsic permeability k [m²], >= 0; 0 is undrained. A hydraulic conductivity K [m/s] is k = K μ/(ρ_w g):
        1e-7 times K in water.
    fluid_bulk_modulus : float, optional
        K_w [Pa], > 0; default 2.2e9. A smaller one, such as ten to a hundred times the stiffness of the skeleton, gives
        longer steps and nearly the same result.
    fluid_density : float, optional
        ρ_w [kg/m³], > 0; default 1000. All saturated bodies of a simulation have one.
    viscosity : float, optional
        μ [Pa s], > 0; default 1e-3.
    biot : float, optional
        Biot's coefficient α, n <= α <= 1; default 1: grains that do not change their volume.
    grain_bulk_modulus : float, optional
        K_s [Pa], > 0; default: infinite.
    pressure : float, optional
        p at the beginning [Pa]; default 0.
    head : float, optional
        In place of `pressure`: water at rest with its table at this height against gravity [m], p = ρ_w g (head − z),
        also above it, where p < 0 is suction. Needs gravity, at the beginning of the body.
    surface : {"seepage", "drained", "closed"}, optional
        Free surfaces of saturated bodies. ``"seepage"`` (default): p = 0, but no water comes in, as in air.
        ``"drained"``: p = 0. ``"closed"``: no flow. All saturated bodies of a simulation have one. A free surface is
        where a node is less than 0.6 full, within a cell of the true one, and best where that lies on nodes; within
        two cells of a wall of given pressure, and one cell of a collider, surfaces are closed.

    Notes
    -----
    The pressure is conducted like a temperature (`mpm.Thermal`), explicitly, with sub-steps of at most dx²/5 over the
    diffusivity M k/μ. ``stable_dt`` knows the stiffness α² M that water adds. Pressures change by the mean strain
    around nodes, so water that hardly changes its volume does not lock; the skeleton needs ``f_bar=True`` only for a
    Poisson's ratio of its own near 0.5. The history has ``wall_water`` and ``surface_water`` [m³], which have come in
    through walls and free surfaces since the entry before, and ``pore_water`` [m³], Σ V⁰ p/M + α (V − V⁰), which grows
    by their sum (with `f_update` ``"linear"`` and without F-bar). The energy of the totals is that of the skeleton.

    References
    ----------
    M. A. Biot, General theory of three-dimensional consolidation, J. Appl. Phys. 12 (1941) 155-164. O. C. Zienkiewicz
    et al., Computational Geomechanics (1999). O. Coussy, Poromechanics (2004).

    Examples
    --------
    >>> clay = mpm.Pore(porosity=0.5, permeability=1e-15)
    >>> round(clay.consolidation(5e6) * 1e6, 2)
    4.99
    """

    porosity: float
    permeability: float
    fluid_bulk_modulus: float = 2.2e9
    fluid_density: float = 1000.0
    viscosity: float = 1e-3
    biot: float = 1.0
    grain_bulk_modulus: float | None = None
    pressure: float = 0.0
    head: float | None = None
    surface: str = "seepage"

    def __post_init__(self) -> None:
        def positive(name: str, unit: str) -> None:
            keep(name, _check.number(name, getattr(self, name), low=0, low_open=True, high=1e90, unit=unit))

        def keep(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        keep(
            "porosity",
            _check.number("porosity", self.porosity, low=0, low_open=True, high=1, high_open=True),
        )
        keep("permeability", _check.number("permeability", self.permeability, low=0, high=1e90, unit="m²"))
        positive("fluid_bulk_modulus", "Pa")
        positive("fluid_density", "kg/m³")
        positive("viscosity", "Pa s")
        keep("biot", _check.number("biot", self.biot, low=self.porosity, high=1))
        if self.grain_bulk_modulus is not None:
            positive("grain_bulk_modulus", "Pa")
        keep("pressure", _check.number("pressure", self.pressure, unit="Pa"))
        if self.head is not None:
            keep("head", _check.number("head", self.head, unit="m"))
            if self.pressure:
                raise ValueError(
                    f"head = {self.head:g}: pressure = {self.pressure:g} is given; leave one out"
                )
        keep("surface", _check.choice("surface", self.surface, SURFACES))

    @property
    def storage(self) -> float:
        """1/M = n/K_w + (α − n)/K_s [1/Pa]."""
        grains = 0.0 if self.grain_bulk_modulus is None else 1 / self.grain_bulk_modulus
        return self.porosity / self.fluid_bulk_modulus + (self.biot - self.porosity) * grains

    @property
    def mobility(self) -> float:
        """k/μ [m²/(Pa s)]."""
        return self.permeability / self.viscosity

    def consolidation(self, modulus: float) -> float:
        """The coefficient of consolidation c_v = k/μ over 1/M + α²/E_oed [m²/s].

        Parameters
        ----------
        modulus : float
            E_oed, the constrained modulus of the skeleton, λ + 2 μ [Pa], > 0.

        Raises
        ------
        TypeError, ValueError
            It is no positive number.
        """
        stiffness = _check.number("modulus", modulus, low=0, low_open=True, unit="Pa")
        return self.mobility / (self.storage + self.biot**2 / stiffness)

    def _initial(self, x: FloatArray, gravity: FloatArray) -> FloatArray:
        """p (n,) at the beginning at x (n, d) [m]."""
        if self.head is None:
            return np.full(len(x), self.pressure)
        g = float(np.linalg.norm(gravity))
        return self.fluid_density * (self.head * g + x @ np.asarray(gravity, dtype=np.float64))

    def _core_arguments(self, density: float) -> tuple[float, float, float, float, float, float, int]:
        """Those of the core, in a material of this least density [kg/m³]."""
        surface = SURFACES.index(self.surface)
        return self.mobility, self.storage, self.biot, density, self.fluid_density, self.pressure, surface

    def _described(self) -> dict[str, Any]:
        """What files keep."""
        return asdict(self)

    @classmethod
    def _restored(cls, tree: object) -> Pore:
        """The one that a file describes; raises TypeError, ValueError where it is damaged."""
        return cls(**_check.mapping(tree, "pore"))
