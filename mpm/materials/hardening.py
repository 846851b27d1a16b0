"""Isotropic hardening: the growth of the yield stress of `VonMises` with the equivalent plastic strain, and the
strength of `MohrCoulomb` and `DruckerPrager`, which may also fall.

>>> growth = mpm.materials.hardening.Voce(saturation=200e6, rate=8)
>>> copper = mpm.materials.VonMises(E=117e9, nu=0.35, yield_stress=60e6, hardening=growth, density=8930)
>>> peak = mpm.materials.hardening.Strength(strains=(0.02, 0.1), friction_angle_deg=(38, 31))
>>> sand = mpm.materials.MohrCoulomb(E=4e7, nu=0.3, density=1700, friction_angle_deg=31, hardening=peak)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from mpm.base import _check
from mpm.materials.laws import _limits, registry

__all__ = ["Hardening", "Linear", "Power", "Strength", "Table", "Voce"]


def __dir__() -> list[str]:
    return __all__


class Hardening(_check.Strict):
    """Base of the kinds of hardening; use one of its subclasses."""

    __slots__ = ()

    _names: ClassVar[dict[str, str]]  # of the parameters of the law, by attribute

    def __init__(self) -> None:
        raise TypeError("Hardening is the base of the kinds of hardening: use one of them, such as Voce")

    def __post_init__(self) -> None:
        rows = {parameter["name"]: parameter for parameter in registry()["von_mises"]["parameters"]}
        for name, row in self._names.items():
            limits = {**_limits(rows[row]), "low_open": name != "modulus"}  # 0: this kind is not in use
            object.__setattr__(self, name, _check.number(name, getattr(self, name), **limits))

    def _parameters(self) -> dict[str, float]:
        """Parameters of the law by name; those of other kinds are 0."""
        return {row: getattr(self, name) for name, row in self._names.items()}


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Linear(Hardening):
    """Y = σ_y + H ε_p; a number for `hardening` is the same.

    Parameters
    ----------
    modulus : float
        H [Pa], >= 0.
    """

    _names: ClassVar[dict[str, str]] = {"modulus": "hardening"}

    modulus: float


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Voce(Hardening):
    """Y = σ_y + Q (1 − exp(−b ε_p)) + H ε_p: the growth saturates, except for a linear part.

    Parameters
    ----------
    saturation : float
        Q [Pa], > 0: the total growth of the yield stress.
    rate : float
        b, > 0.
    modulus : float, optional
        H [Pa], >= 0, default 0.

    References
    ----------
    Voce: The relationship between stress and strain for homogeneous deformation. J. Inst. Met. 74 (1948) 537-562.
    """

    _names: ClassVar[dict[str, str]] = {
        "saturation": "voce_saturation",
        "rate": "voce_rate",
        "modulus": "hardening",
    }

    saturation: float
    rate: float
    modulus: float = 0.0


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Power(Hardening):
    """Y = σ_y (1 + ε_p/ε₀)ⁿ + H ε_p: Swift's power law.

    Parameters
    ----------
    strain : float
        ε₀, > 0. With Y = K (ε₀ + ε_p)ⁿ it is (σ_y/K)^(1/n).
    exponent : float
        n, > 0 and at most 1.
    modulus : float, optional
        H [Pa], >= 0, default 0.

    References
    ----------
    Swift: Plastic instability under plane stress. J. Mech. Phys. Solids 1 (1952) 1-18.
    """

    _names: ClassVar[dict[str, str]] = {
        "strain": "power_strain",
        "exponent": "power_exponent",
        "modulus": "hardening",
    }

    strain: float
    exponent: float
    modulus: float = 0.0


@_check.strict_options
@dataclass(frozen=True, slots=True)
class Table(Hardening):
    """Y through points: from σ_y at ε_p = 0 on, linear between the points and constant beyond the last.

    Parameters
    ----------
    strains : sequence of float
        Plastic strains, at most 10, > 0 and increasing.
    stresses : sequence of float
        Yield stresses there [Pa], not decreasing and none below σ_y.
    """

    strains: tuple[float, ...]
    stresses: tuple[float, ...]

    def __post_init__(self) -> None:
        most = len(
            [p for p in registry()["von_mises"]["parameters"] if p["name"].startswith("table_strain_")]
        )
        for name in ("strains", "stresses"):
            values = _check.array(name, getattr(self, name), (None,))
            if not 1 <= len(values) <= most:
                raise ValueError(f"{name} has {len(values)} numbers: must have from 1 to {most}")
            object.__setattr__(self, name, tuple(float(value) for value in values))
        if len(self.strains) != len(self.stresses):
            raise ValueError(
                f"stresses has {len(self.stresses)} numbers: must have {len(self.strains)}, as strains"
            )
        for k, (before, value) in enumerate(pairwise((0.0, *self.strains))):
            if not value > before:
                raise ValueError(f"strains[{k}] = {value!r}: must be > {before!r}")
        for k, (before, value) in enumerate(pairwise((0.0, *self.stresses))):
            if not (value >= before and value > 0):
                raise ValueError(
                    f"stresses[{k}] = {value!r}: must be {f'>= {before!r}' if k else '> 0'} [Pa]"
                )

    def _parameters(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for k, (strain, stress) in enumerate(zip(self.strains, self.stresses, strict=True), 1):
            found |= {f"table_strain_{k}": strain, f"table_stress_{k}": stress}
        return found


@_check.strict_options
@dataclass(frozen=True, slots=True, kw_only=True)
class Strength(_check.Strict):
    """Strength of soil through points: angles and cohesion over the plastic strain of `MohrCoulomb` or `DruckerPrager`.

    Each begins with the value of the material at a plastic strain of 0, is linear between the points and constant
    beyond the last. The strength of a step is that of the plastic strain at its beginning. Where strength falls, strain
    concentrates in bands that are as wide as the grid allows, so results of softening ground depend on the cell size:
    scale the strains with the cell size over the width of a real band.

    Parameters
    ----------
    strains : sequence of float
        Equivalent plastic strains, at most 8, > 0 and increasing.
    friction_angle_deg : sequence of float, optional
        Angles of friction there, > 0° (`MohrCoulomb`: >= 0°) and < 90°. Default None: that of the material.
    dilation_angle_deg : sequence of float, optional
        Angles of dilation there, >= 0° and at most those of friction. Default None: that of the material.
    cohesion : sequence of float, optional
        Cohesions there [Pa], >= 0. Default None: that of the material.
    """

    strains: tuple[float, ...]
    friction_angle_deg: tuple[float, ...] | None = None
    dilation_angle_deg: tuple[float, ...] | None = None
    cohesion: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        points = [p["name"] for p in registry()["mohr_coulomb"]["parameters"]]
        most = len([name for name in points if name.startswith("table_strain_")])
        strains = _check.array("strains", self.strains, (None,))
        if not 1 <= len(strains) <= most:
            raise ValueError(f"strains has {len(strains)} numbers: must have from 1 to {most}")
        for k, (before, value) in enumerate(pairwise((0.0, *strains))):
            if not value > before:
                raise ValueError(f"strains[{k}] = {float(value)!r}: must be > {float(before)!r}")
        object.__setattr__(self, "strains", tuple(float(value) for value in strains))
        given = [name for name in self._columns.values() if getattr(self, name) is not None]
        if not given:
            raise ValueError(f"{', '.join(self._columns.values())} = None: at least one must be given")
        for name in given:
            values = _check.array(name, getattr(self, name), (len(strains),))
            is_angle = name != "cohesion"
            for k, value in enumerate(values):
                if not (value >= 0 and (not is_angle or value < 90)):
                    allowed = ">= 0 and < 90 [deg]" if is_angle else ">= 0 [Pa]"
                    raise ValueError(f"{name}[{k}] = {float(value)!r}: must be {allowed}")
            object.__setattr__(self, name, tuple(float(value) for value in values))

    _columns: ClassVar[dict[str, str]] = {
        "friction": "friction_angle_deg",
        "dilation": "dilation_angle_deg",
        "cohesion": "cohesion",
    }

    def _parameters(self) -> dict[str, float]:
        """Parameters of the law by name."""
        found = {f"table_strain_{k}": strain for k, strain in enumerate(self.strains, 1)}
        for column, name in self._columns.items():
            values = getattr(self, name) or (math.inf,) * len(self.strains)
            found |= {f"table_{column}_{k}": value for k, value in enumerate(values, 1)}
        return found
