"""What is dissolved in a material, diffuses and makes it swell: `Solute`, which every law that deforms takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from mpm.base import _check
from mpm.materials.following import Following, Scale, Variable, keep, table, tables

__all__ = ["Solute", "checked_concentration"]

LEAST_STRETCH = 0.01  # of mpm/heat.c
MOST = 1e12  # of concentrations, which single precision can compute with


def checked_concentration(given: object, name: str = "concentration") -> float:
    """A concentration [mol/m³], of any sign."""
    return _check.number(name, given, low=-MOST, high=MOST, unit="mol/m³")


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Solute(Following):
    """What is dissolved in a material: ``mpm.materials.NeoHookean(..., solute=mpm.Solute(1e-9, swelling=2e-5))``.

    Particles carry a concentration c per rest volume, which diffuses by Fick's law: dc/dt = ∇·(D ∇c) in material that
    does not deform. ``sim.particles.concentration`` is c, live and writable, and ``concentration_gradient`` its
    gradient. Water in gel or wood, salt, ink and hydrogen are solutes. The unit mol/m³ stands for any amount per
    volume: kg/m³, or 1 for a share.

    Bodies without ``solute=`` take no part: nothing passes into them, as into rigid bodies. Walls and colliders are
    tight without ``concentration=``, ``solute_flux=`` or ``solute_transfer=`` (`mpm.Wall`, `Scene.add_collider`), and
    so are bodies that touch by `mpm.Contact`. A simulation conducts heat (`mpm.Thermal`), pore water (`mpm.Pore`) or
    a solute.

    Parameters
    ----------
    diffusivity : float
        D [m²/s], >= 0. With 0, particles keep their concentrations, unless they share nodes with others that diffuse.
    swelling : float or (concentrations, strains), optional
        Linear strain of swelling: a number a >= 0 [m³/mol] for the stretch 1 + a (c − `concentration`), or a table, 2
        to 32 concentrations [mol/m³] that ascend and as many strains ε, which is linear between them and constant
        beyond, for the stretch 1 + ε(c) − ε(`concentration`). Default 0. Stretches must be >= 0.01. The law gets F
        without this stretch, and so do the fields ``F`` and ``J``; the field ``swelling_stretch`` has it. In 2-D a body
        swells in its plane only; for plane strain, use (1 + ν) a.
    concentration : float, optional
        c of the particles at the beginning, without swelling [mol/m³], −1e12 to 1e12; default 0.
    scale : mapping of str to (concentrations, factors), optional
        Parameters of the law that follow the concentration, such as ``{"E": ([0, 2e4], [1, 0.1])}``, as those of
        `mpm.Thermal` follow the temperature.

    See Also
    --------
    mpm.Thermal
        Heat, which the same equations conduct: sub-steps, the limit of the time step (``"conduction"``), the wait until
        0.05 dx²/D has passed, ``conduction="implicit"`` and the orders of errors are the same.

    Notes
    -----
    ``history["solute"]`` is Σ V⁰ c [mol], and grows by ``wall_solute``, ``collider_solute`` and ``source_solute``, to
    round-off. Concentrations may have any sign. A step that would make one overflow, or the stretch of a number
    `swelling` less than 0.01, raises `InstabilityError` and is not taken.

    References
    ----------
    A. Fick, Ueber Diffusion, Ann. Phys. 170 (1855) 59-86. J. Crank, The Mathematics of Diffusion, 2nd ed. (1975).

    Examples
    --------
    >>> gel = mpm.Solute(diffusivity=1e-9, swelling=2e-5, concentration=1e3)
    >>> round(gel.stretch(6e3), 3)
    1.1
    """

    diffusivity: float
    swelling: float | tuple[Any, Any] = 0.0
    concentration: float = 0.0
    scale: Mapping[str, Any] | tuple[Scale, ...] = field(default=())

    def __post_init__(self) -> None:
        variable = Variable("concentrations", checked_concentration, "([0, 2e4], [1, 0.1])")
        keep(
            self,
            diffusivity=_check.number("diffusivity", self.diffusivity, low=0, high=1e90, unit="m²/s"),
            concentration=checked_concentration(self.concentration),
            scale=tables(self.scale, variable),
        )
        a_number = isinstance(self.swelling, np.ndarray) and self.swelling.ndim == 0
        if isinstance(self.swelling, (list, tuple, np.ndarray)) and not a_number:
            shown = Variable("concentrations", checked_concentration, "([0, 2e4], [0, 0.1])")
            keep(self, swelling=table("swelling", self.swelling, shown, "strains", low=-MOST))
        elif isinstance(self.swelling, (str, bytes)) or callable(self.swelling):
            raise _check.wrong_type("swelling", self.swelling, "a number, or (concentrations, strains)")
        else:
            keep(self, swelling=_check.number("swelling", self.swelling, low=0, high=MOST, unit="m³/mol"))
        _, stretches = self._stretches
        for k, value in enumerate(stretches):
            if not LEAST_STRETCH <= value < MOST:
                raise ValueError(
                    f"swelling: strains[{k}]: the stretch would be {value:g}; must be >= {LEAST_STRETCH} and < {MOST:g}"
                )

    @property
    def _stretches(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The table of the stretch, which is empty without a table of strains."""
        if not isinstance(self.swelling, tuple):
            return (), ()
        at, strain = self.swelling
        begin = float(np.interp(self.concentration, at, strain))
        return at, tuple(1 + (one - begin) for one in strain)

    @property
    def _swells(self) -> bool:
        return bool(self.swelling)

    @property
    def _at_beginning(self) -> dict[str, float]:
        return self._factors(self.concentration)

    @property
    def _states(self) -> list[tuple[str, dict[str, float]]]:
        knots = sorted({c for _, at, _ in self._tables for c in at})
        return [(f"{c:g} mol/m³", self._factors(c)) for c in knots]

    def _described(self) -> dict[str, Any]:
        """What files keep."""
        return asdict(self)

    @classmethod
    def _restored(cls, tree: object) -> Solute:
        """The one that a file describes; raises TypeError, ValueError where it is damaged."""
        given = _check.mapping(tree, "solute")
        if not isinstance(given.get("scale", ()), (list, tuple)):
            raise TypeError("scale: must be a list")
        return cls(**given)

    def stretch(self, concentration: float) -> float:
        """The stretch of a body without stress.

        Parameters
        ----------
        concentration : float
            c [mol/m³], −1e12 to 1e12.

        Raises
        ------
        TypeError, ValueError
            It is no such number.
        """
        c = checked_concentration(concentration)
        at, stretches = self._stretches
        if at:
            return float(np.interp(c, at, stretches))
        return 1 + float(self.swelling) * (c - self.concentration)  # type: ignore[arg-type]
