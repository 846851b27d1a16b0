"""Isotropic hardening: the growth of the yield stress of `VonMises` with the equivalent plastic strain.

>>> growth = mpm.materials.hardening.Voce(saturation=200e6, rate=8)
>>> copper = mpm.materials.VonMises(E=117e9, nu=0.35, yield_stress=60e6, hardening=growth, density=8930)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from mpm.base import _check
from mpm.materials.laws import _limits, registry

__all__ = ["Hardening", "Linear", "Power", "Table", "Voce"]


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
