"""How a material conducts and stores heat: `Thermal`, which every law that deforms takes, and `Melting`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from mpm.base import _check
from mpm.materials.following import Following, Scale, Variable, keep, tables

__all__ = ["Melting", "Thermal"]


def _positive(name: str, value: object, unit: str) -> float:
    return _check.number(name, value, low=0, low_open=True, unit=unit)


def _conductivity(value: object) -> float:
    return _check.number("conductivity", value, low=0, unit="W/(m K)")


def _capacity(value: object) -> float:
    return _positive("specific_heat", value, "J/(kg K)")


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Melting:
    """The latent heat of a material: ``mpm.Thermal(2.2, 2100, 263, melting=mpm.Melting(273.15, 3.34e5, 0.6, 4200))``.

    A particle melts as its enthalpy rises: it stays at the melting temperature until it has absorbed the latent heat.
    Freezing is the reverse. ``sim.particles.liquid_fraction`` is the share of the latent heat that a particle has
    absorbed. ``scale=`` of `Thermal` and `density` change the stresses of the law, so that melted material flows.

    Parameters
    ----------
    temperature : float
        The melting temperature [K], 1e-12 to 1e12.
    latent_heat : float
        [J/kg], > 0.
    conductivity, specific_heat : float, optional
        Those of the liquid [W/(m K)], >= 0, and [J/(kg K)], > 0; default None: those of the solid.
    density : float, optional
        That of the liquid without pressure [kg/m³], > 0; default None: that of the material, which is the solid's. Then
        material shrinks or grows as it melts: ``sim.particles.thermal_stretch`` contains (ρ/ρ_liquid)^(1/d). It needs
        one density of the solid, and a material that begins as solid.

    Notes
    -----
    Particles of a material that begins above the melting temperature begin as liquid. If a program writes a temperature
    above it to a solid particle, the heat is that of the solid, and the next conduction turns it into latent heat.
    """

    temperature: float
    latent_heat: float
    conductivity: float | None = None
    specific_heat: float | None = None
    density: float | None = None

    def __post_init__(self) -> None:
        keep(
            self,
            temperature=_check.temperature(self.temperature),
            latent_heat=_positive("latent_heat", self.latent_heat, "J/kg"),
            conductivity=None if self.conductivity is None else _conductivity(self.conductivity),
            specific_heat=None if self.specific_heat is None else _capacity(self.specific_heat),
            density=None if self.density is None else _positive("density", self.density, "kg/m³"),
        )


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Thermal(Following):
    """The thermal part of a material: ``mpm.materials.VonMises(..., thermal=mpm.Thermal(45, 480))``.

    Heat flows by Fourier's law, q = −k ∇T, and a particle stores m c T: ρ c dT/dt = ∇·(k ∇T). Particles carry their
    temperatures along. Bodies exchange heat where they share nodes; in a scene with contact between bodies, only bonded
    bodies exchange heat, and friction heats the others, each of a pair by half of its work, and at
    walls and colliders by the share that these leave to the material (``friction_heat=``). Rigid bodies are insulated,
    and so are walls and colliders without ``temperature=``, ``flux=`` or ``transfer=`` (`mpm.Wall`,
    `Scene.add_collider`).

    Parameters
    ----------
    conductivity : float
        Thermal conductivity k [W/(m K)], >= 0. With 0, particles keep their temperatures exactly.
    specific_heat : float
        Specific heat capacity c [J/(kg K)], > 0.
    temperature : float, optional
        Temperature of the particles at the beginning [K], 1e-12 to 1e12; default 293.15.
        ``sim.particles.temperature`` is writable, for temperatures that vary.
    expansion : float, optional
        Coefficient of linear thermal expansion a [1/K], >= 0, with a times `temperature` < 1; default 0. A body without
        stress has the stretch 1 + a (T − `temperature`). The law gets F without this stretch, and so do the fields
        ``F`` and ``J``; the field ``thermal_stretch`` has it. In 2-D a body expands in its plane only; for plane
        strain, use (1 + ν) a.
    taylor_quinney : float, optional
        Share of the plastic and viscous dissipation that heats the material, 0 to 1; default 0; metals have about 0.9.
        It needs ``dissipation=True`` of `mpm.Simulation`, and therefore explicit steps.
    melting : Melting, optional
        The latent heat of the material; default None: it does not melt.
    scale : mapping of str to (temperatures, factors), optional
        Parameters of the law that depend on the temperature, such as ``{"E": ([300, 800], [1, 0.4])}``: the number that
        the material has is multiplied by a factor, >= 0, which is linear between 2 to 32 temperatures [K] and constant
        beyond them. The temperature of melting may occur twice: there, the factor goes with the liquid share from the
        first number to the second. At most 8 parameters; default: none. It is kept as a tuple of (name, temperatures,
        factors). The parameter becomes a field of the particles, as one that varies does (`mpm.materials`), and follows
        T at the end of every step that changes temperatures.

    See Also
    --------
    mpm.Wall
        Temperatures, fluxes and transfers at the faces of the domain; `Scene.add_collider` has those of colliders.

    Notes
    -----
    Conduction has sub-steps of its own, of at most dx²/(5 α) with the diffusivity α = k/(ρ c). The time step is limited
    to a thousand of them, 200 dx²/α (`stable_dt` calls this limit ``"conduction"``), unless ``conduction="implicit"``
    of `mpm.Simulation` takes one implicit step in their place. A step that would
    give a particle a temperature that is not positive raises, and is not taken. Conduction waits until 0.05 dx²/α has
    passed since the last conduction, so temperatures and expansion lag the clock by less than that. The errors are of
    second order in dx. Sources heat the material in every step, and dissipated energy in the next one: besides the heat
    from walls, colliders and sources, ``history["heat"]`` gains `taylor_quinney` times the sum of the columns of the
    dissipation of the step before.

    References
    ----------
    G. I. Taylor, H. Quinney, The latent energy remaining in a metal after cold working, Proc. R. Soc. Lond. A 143
    (1934) 307-326.

    Examples
    --------
    >>> steel = mpm.Thermal(conductivity=45, specific_heat=480, temperature=1200)
    >>> round(steel.diffusivity(7850) * 1e6, 1)
    11.9
    """

    conductivity: float
    specific_heat: float
    temperature: float = 293.15
    expansion: float = 0.0
    taylor_quinney: float = 0.0
    melting: Melting | None = None
    scale: Mapping[str, Any] | tuple[Scale, ...] = field(default=())

    def __post_init__(self) -> None:
        keep(
            self,
            conductivity=_conductivity(self.conductivity),
            specific_heat=_capacity(self.specific_heat),
            temperature=_check.temperature(self.temperature),
            expansion=_check.number("expansion", self.expansion, low=0, unit="1/K"),
            taylor_quinney=_check.number("taylor_quinney", self.taylor_quinney, low=0, high=1),
        )
        if self.expansion * self.temperature >= 1:
            raise ValueError(
                f"expansion = {self.expansion:g}: must be < {1 / self.temperature:g} [1/K], 1/temperature: the body "
                "would shrink to nothing at 0 K"
            )
        if self.melting is not None and not isinstance(self.melting, Melting):
            raise _check.wrong_type("melting", self.melting, "an mpm.Melting or None")
        liquid = self.melting is not None and self.temperature > self.melting.temperature
        if self.melting is not None and self.melting.density is not None and liquid:
            raise ValueError(
                f"melting: density = {self.melting.density:g}: the material begins as liquid, at temperature = "
                f"{self.temperature:g} K, so its own density is that of the liquid; leave density out"
            )
        melts = None if self.melting is None else self.melting.temperature
        variable = Variable("temperatures", _check.temperature, "([300, 800], [1, 0.4])", melts)
        keep(self, scale=tables(self.scale, variable))

    @property
    def _at_beginning(self) -> dict[str, float]:
        """The factors of new particles."""
        melted = self.melting is not None and self.temperature > self.melting.temperature
        return self._factors(self.temperature, float(melted))

    @property
    def _states(self) -> list[tuple[str, dict[str, float]]]:
        liquids = (0.0, 1.0) if self.melting is not None else (0.0,)
        knots = sorted({T for _, at, _ in self._tables for T in at})
        return [(f"{T:g} K", self._factors(T, liquid)) for T in knots for liquid in liquids]

    @property
    def _of_liquid(self) -> tuple[float, float, float, float]:
        """Temperature of melting, latent heat, conductivity and specific heat of the liquid; 0: it does not melt."""
        if (one := self.melting) is None:
            return 0.0, 0.0, 0.0, 0.0
        k = self.conductivity if one.conductivity is None else one.conductivity
        return one.temperature, one.latent_heat, k, one.specific_heat or self.specific_heat

    def _described(self) -> dict[str, Any]:
        """What files keep."""
        return asdict(self)

    @classmethod
    def _restored(cls, tree: object) -> Thermal:
        """The one that a file describes; raises TypeError, ValueError where it is damaged."""
        given = _check.mapping(tree, "thermal")
        melting = given.pop("melting", None)
        if not isinstance(given.get("scale", ()), (list, tuple)):
            raise TypeError("scale: must be a list")
        return cls(
            **given, melting=None if melting is None else Melting(**_check.mapping(melting, "melting"))
        )

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
