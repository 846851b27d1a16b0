"""How a material conducts and stores heat: `Thermal`, which every law that deforms takes."""

from __future__ import annotations

from dataclasses import dataclass

from mpm.base import _check

__all__ = ["Thermal"]


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Thermal:
    """The thermal part of a material: ``mpm.materials.VonMises(..., thermal=mpm.Thermal(45, 480))``.

    Heat flows by Fourier's law, q = −k ∇T, and a particle stores m c T: ρ c dT/dt = ∇·(k ∇T). Materials carry their
    temperatures along. Stresses do not depend on them, and do not heat the material. Bodies exchange heat where they
    share nodes; in a scene with contact between bodies, those that are not bonded exchange none. Rigid bodies and
    colliders are insulated, and so are walls without ``temperature=`` or ``flux=`` (`mpm.Wall`).

    Parameters
    ----------
    conductivity : float
        Thermal conductivity k [W/(m K)], >= 0. With 0, particles keep their temperatures exactly.
    specific_heat : float
        Specific heat capacity c [J/(kg K)], > 0.
    temperature : float, optional
        Of the particles as they begin [K], > 0; default 293.15. ``sim.particles.temperature`` is writable, for
        temperatures that vary.

    See Also
    --------
    mpm.Wall
        Temperatures and fluxes at the faces of the domain.

    Notes
    -----
    Conduction is explicit. It has sub-steps of its own, of at most dx²/(5 α) with the diffusivity α = k/(ρ c), so it
    bounds no time step. It waits until 0.02 dx²/α has passed since the last one, so temperatures lag the clock by less
    than that. The errors are of second order in dx.

    Examples
    --------
    >>> steel = mpm.Thermal(conductivity=45, specific_heat=480, temperature=1200)
    >>> round(steel.diffusivity(7850) * 1e6, 1)
    11.9
    """

    conductivity: float
    specific_heat: float
    temperature: float = 293.15

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "conductivity", _check.number("conductivity", self.conductivity, low=0, unit="W/(m K)")
        )
        for name, unit in (("specific_heat", "J/(kg K)"), ("temperature", "K")):
            value = _check.number(name, getattr(self, name), low=0, low_open=True, unit=unit)
            object.__setattr__(self, name, value)

    def diffusivity(self, density: float) -> float:
        """The thermal diffusivity α = k/(ρ c) [m²/s].

        Parameters
        ----------
        density : float
            ρ [kg/m³], > 0.

        Raises
        ------
        TypeError, ValueError
            It is no positive number.
        """
        return self.conductivity / (
            self.specific_heat * _check.number("density", density, low=0, low_open=True)
        )
