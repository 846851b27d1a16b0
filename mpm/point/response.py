"""What a material point answers along its path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.materials.laws import equivalent_stress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# What can be plotted: label, unit.
QUANTITIES = {
    "times": ("time", "s"),
    "axial_strain": ("axial strain ln F$_{xx}$", "1"),
    "shear_strain": ("shear strain F$_{xy}$", "1"),
    "volumetric_strain": ("volumetric strain ln J", "1"),
    "axial_stress": ("axial stress σ$_{xx}$", "Pa"),
    "lateral_stress": ("lateral stress σ$_{yy}$", "Pa"),
    "shear_stress": ("shear stress σ$_{xy}$", "Pa"),
    "nominal_stress": ("nominal stress P$_{xx}$", "Pa"),
    "p": ("pressure p", "Pa"),
    "q": ("deviatoric stress q", "Pa"),
    "energy": ("energy", "J/m³"),
}


class CriticalState(NamedTuple):
    """The state of soil that flows without a change of stress or volume."""

    p: float
    """Pressure [Pa]."""
    q: float
    """Deviatoric stress [Pa]."""
    ratio: float
    """q/p: M of critical state soil mechanics, 6 sin φ/(3 − sin φ) in triaxial compression."""
    volumetric_strain: float
    """ln J."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Response(_check.Strict):
    """States of a material point at k times, the result of `mpm.point.drive` and of the named tests.

    Tensors are (k, 3, 3), in plane strain too.

    Attributes
    ----------
    material
        The material, or the law in Python.
    times : ndarray, shape (k,)
        [s].
    F : ndarray, shape (k, 3, 3)
        The whole deformation gradient.
    J : ndarray, shape (k,)
        det F, the present volume over that at rest.
    stress : ndarray, shape (k, 3, 3)
        Cauchy stress σ = τ/J [Pa], force per present area. ``Simulation.compute("stress")`` divides by the volume ratio
        in the state of the law; both are the same unless the law does not track volume.
    tau : ndarray, shape (k, 3, 3)
        Kirchhoff stress [Pa].
    energy : ndarray, shape (k,)
        Elastic energy per rest volume [J/m³]; NaN for a law in Python without `energy`.
    F_law : ndarray, shape (k, d, d)
        The deformation gradient in the state of the law; of inelastic laws the elastic part.
    history : mapping of str to ndarray
        The fields of the law's history, by name: (k,) scalars, (k, …) vectors and tensors with the components of
        ``Simulation.particles``.
    """

    material: Any
    times: FloatArray
    F: FloatArray
    J: FloatArray
    stress: FloatArray
    tau: FloatArray
    energy: FloatArray
    F_law: FloatArray
    history: Mapping[str, FloatArray]
    _shown: tuple[str, str] = field(repr=False, default=("times", "q"))

    def __repr__(self) -> str:
        name = type(self.material).__name__
        return f"Response({name}, {len(self.times)} times to {self.times[-1]:g} s)"

    @property
    def P(self) -> FloatArray:
        """First Piola–Kirchhoff stress τ F⁻ᵀ, force per area at rest (k, 3, 3) [Pa]."""
        return np.asarray(self.tau @ np.linalg.inv(self.F).transpose(0, 2, 1))

    @property
    def p(self) -> FloatArray:
        """Pressure −tr σ/3 (k,) [Pa], positive in compression."""
        return np.asarray(-np.trace(self.stress, axis1=1, axis2=2) / 3)

    @property
    def q(self) -> FloatArray:
        """Deviatoric stress √(3/2 s:s), s = σ + p I, of von Mises (k,) [Pa]; |σ_xx − σ_yy| in triaxial states."""
        s = self.stress + self.p[:, None, None] * np.eye(3)
        return equivalent_stress(s.reshape(len(s), 9))

    @property
    def axial_strain(self) -> FloatArray:
        """Logarithmic strain ln F_xx (k,), positive in extension; NaN where F_xx <= 0."""
        return _log(self.F[:, 0, 0])

    @property
    def volumetric_strain(self) -> FloatArray:
        """Logarithmic volumetric strain ln J (k,), positive in expansion; NaN where J <= 0."""
        return _log(self.J)

    @property
    def shear_strain(self) -> FloatArray:
        """F_xy (k,), the shear γ of simple shear."""
        return self.F[:, 0, 1]

    @property
    def axial_stress(self) -> FloatArray:
        """σ_xx (k,) [Pa]."""
        return self.stress[:, 0, 0]

    @property
    def lateral_stress(self) -> FloatArray:
        """σ_yy (k,) [Pa]."""
        return self.stress[:, 1, 1]

    @property
    def shear_stress(self) -> FloatArray:
        """σ_xy (k,) [Pa]."""
        return self.stress[:, 0, 1]

    @property
    def nominal_stress(self) -> FloatArray:
        """P_xx (k,) [Pa], axial force per area at rest."""
        return self.P[:, 0, 0]

    @_check.options
    def critical_state(self, *, tolerance: float = 0.01) -> CriticalState:
        """The critical state in which the path ends.

        Parameters
        ----------
        tolerance : float, optional
            By how much p and q may change over the last tenth of the shear strain, relative, and the volumetric strain
            per shear strain; > 0 and < 1.

        Raises
        ------
        TypeError, ValueError
            The tolerance is out of its range; the path has no shear, fewer than three states in its last tenth, or
            does not end in a critical state: the message names what still changes.
        """
        limit = _check.number("tolerance", tolerance, low=0, low_open=True, high=1, high_open=True)
        D = np.diff(self.F, axis=0) @ np.linalg.inv((self.F[1:] + self.F[:-1]) / 2)
        D = (D + D.transpose(0, 2, 1)) / 2
        D -= np.trace(D, axis1=1, axis2=2)[:, None, None] / 3 * np.eye(3)
        path = np.concatenate([[0.0], np.cumsum(np.sqrt(2 / 3) * np.linalg.norm(D, axis=(1, 2)))])
        late = path >= 0.9 * path[-1]
        if not path[-1] > 0 or late.sum() < 3:
            raise ValueError(
                f"the last tenth of the path has {late.sum()} states: a critical state needs shear and 3 states there"
            )
        p, q, volume = self.p, self.q, self.volumetric_strain
        changes = {
            name: float(np.ptp(values[late]) / max(np.abs(values[late]).max(), np.finfo(float).tiny))
            for name, values in (("p", p), ("q", q))
        }
        changes["the volumetric strain per shear strain"] = float(np.ptp(volume[late]) / np.ptp(path[late]))
        for name, change in changes.items():
            if not change <= limit:
                raise ValueError(
                    f"the path does not end in a critical state: in the last tenth of the shear strain {name} changes "
                    f"by {change:.2g}, more than tolerance = {limit:g}; shear it more"
                )
        return CriticalState(float(p[-1]), float(q[-1]), float(q[-1] / p[-1]), float(volume[-1]))

    @_check.options
    def plot(
        self,
        x: str | None = None,
        y: str | None = None,
        *,
        ax: Axes | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Line2D:
        """Draw one quantity over another. Needs the extra ``plot``.

        Parameters
        ----------
        x, y : str, optional
            ``"times"``, ``"axial_strain"``, ``"shear_strain"``, ``"volumetric_strain"``, ``"axial_stress"``,
            ``"lateral_stress"``, ``"shear_stress"``, ``"nominal_stress"``, ``"p"``, ``"q"``, ``"energy"``, or a
            scalar of `history`. Default: what the test is known by.
        ax : matplotlib.axes.Axes, optional
            Default: those of a new figure.
        figsize : (float, float), optional
            Width and height of the new figure [inches].

        Returns
        -------
        matplotlib.lines.Line2D
            The curve.
        """
        scalars = [name for name, values in self.history.items() if values.ndim == 1]
        names = [
            default if name is None else _check.choice(axis, name, (*QUANTITIES, *scalars))
            for axis, name, default in zip("xy", (x, y), self._shown, strict=True)
        ]
        from mpm.viz.figures import axes_of_curves

        axes = axes_of_curves(ax, figsize)
        curves = [self.history[name] if name in self.history else getattr(self, name) for name in names]
        (line,) = axes.plot(*curves, color="#264f9c")
        axes.set(**{f"{axis}label": _label(name) for axis, name in zip("xy", names, strict=True)})
        assert line is not None
        return line  # type: ignore[no-any-return]


def _log(values: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.log(np.where(values > 0, values, np.nan)))


def _label(name: str) -> str:
    label, unit = QUANTITIES.get(name, (name, ""))
    return f"{label} [{unit}]" if unit not in ("", "1") else label
