"""What materials share whose cracks are bands of damaged particles."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.materials.inelastic import _Flowing
from mpm.materials.laws import Material, registry

# Width of the band of a crack in cells. A crack between two nodes strains the particles that reach both of them, in 1,
# 2 and 3 cells; those at the edges of the cubic kernel hardly break (design note 027).
BAND = {"linear": 1.0, "quadratic": 2.0, "cubic": 2.5}
NO_BAND = 1e-30  # [m]: for stresses, which do not depend on it


class _Banded(_Flowing):
    """Base of the materials whose cracks dissipate a fracture energy over a band, if they are given one."""

    __slots__ = ()

    _no_tangent: ClassVar[str] = " (it softens, so that none would be positive definite)"
    _weaker: ClassVar[str]  # what to lower where a grid is too coarse

    fracture_energy: float
    crack_band: float | None

    @property
    def _fractures(self) -> bool:
        """Do the options let it crack?"""
        return True

    @property
    def _cited(self) -> list[tuple[str, str]]:
        found, rows, whole = super()._cited, registry(), self._row["variant_of"]
        if whole:
            found.insert(0, (type(self).__name__, rows[whole]["reference"]))
        if whole and given(self.fracture_energy):
            found.append(("band of cracks", rows["brittle"]["reference"]))
        return found

    def _check_band(self) -> None:
        """Of checked parameters: the band is not too wide for the fracture energy, and there is one."""
        if self.crack_band is None:
            return
        if not given(self.fracture_energy):
            raise ValueError(
                f"crack_band = {_check.shown(self.crack_band)}: without a fracture_energy it has no effect"
            )
        if not self._varies and self._snaps_back(
            self.crack_band
        ):  # otherwise the core checks values of particles
            _check.number("crack_band", self.crack_band, high=self._widest, high_open=True, unit="m")

    def _snaps_back(self, band: float) -> str:
        """In words, why a band [m] is too wide; parameters have one value."""
        broken = self._unfit({"crack_band": np.array([band])}, 1)
        return broken[1] if broken and broken[1].startswith("crack_band") else ""

    @property
    def _widest(self) -> float:
        """The band [m] from which on stress would snap back."""
        low, high = NO_BAND, 1e30
        while low < (middle := math.sqrt(low * high)) < high:
            low, high = (low, middle) if self._snaps_back(middle) else (middle, high)
        return high

    def _given_parameters(self) -> list[_core.Parameter]:
        found = super()._given_parameters()
        return [p for p in found if p["name"] != "crack_band" or self.crack_band is not None]

    def _parameter(self, name: str) -> float:
        if name == "crack_band" and self.crack_band is None:
            return NO_BAND
        return super()._parameter(name)

    def _resolved(self, dx: float | None, kernel: str = "quadratic") -> Self:
        """With the band of a grid of cell size dx [m]."""
        if self.crack_band is not None or not given(self.fracture_energy):
            return self
        if dx is None:
            raise ValueError(
                "crack_band = None: a material point has no grid; give the width of the band of a crack [m], which is "
                f"{BAND['quadratic']:g} dx in a simulation"
            )
        band = BAND[kernel] * dx
        if not self._varies and (broken := self._snaps_back(band)):
            raise ValueError(
                f"dx = {dx:g}: is too coarse for {self!r}, whose stress would snap back: must be < "
                f"{self._widest / BAND[kernel]:.4g} [m] (with crack_band = {BAND[kernel]:g} dx, {broken}); or lower "
                f"{self._weaker}"
            )
        return self._replaced({"crack_band": band})

    def return_map(
        self, F: npt.ArrayLike, history: Any = None, *, dt: float = 0.0
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Bring trial states back onto the yield surface, and let them crack, with the C code of the step.

        Parameters
        ----------
        F : array_like, shape (m, d, d)
            Trial elastic deformation gradients, d = 2 (plane strain) or 3.
        history : mapping, optional
            Fields of the law's history by name, (m,) or (m, components); those left out have their initial values.
        dt : float, optional
            Time of the step [s], >= 0, which rates need; default 0.

        Returns
        -------
        F : ndarray, shape (m, d, d)
            Elastic deformation gradients. An F within the yield surface returns bit for bit, unless a broken particle
            is too large.
        history : dict
            All fields of the history after the step.

        Raises
        ------
        TypeError, ValueError
            F, the history or dt has another shape or range, or is not finite; or there is a `fracture_energy`, and
            `crack_band` is None.
        """
        return _Flowing.return_map(self._resolved(None), F, history, dt=dt)


def fractures(material: Material) -> bool:
    """Do cracks of the material take a fracture energy, or break it at once?"""
    return isinstance(material, _Banded) and material._fractures


def given(value: Any) -> bool:
    """Whether an option whose default is 0 has another value, right or wrong."""
    return isinstance(value, bool) or not isinstance(value, (int, float)) or value != 0


class _ByOption:
    """The law of a class of which an option chooses a variant."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, material: Material | None, owner: type[Material]) -> str:
        return f"{self.name}_fracture" if material is not None and fractures(material) else self.name
