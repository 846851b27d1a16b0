"""Parameters of a law from measurements."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.errors import ConvergenceError
from mpm.materials.laws import Material, wrong_material
from mpm.materials.userlaws import UserLaw
from mpm.point.driver import law_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


class Fit(NamedTuple):
    """A fitted material.

    Attributes
    ----------
    material : Material
        With the parameters that fit best.
    residuals : ndarray, shape (n,)
        Response minus data.
    errors : dict of str to float
        Standard error of each fitted parameter, from the residuals and the slope of the response; infinite where the
        data do not determine the parameters.
    """

    material: Any
    residuals: FloatArray
    errors: dict[str, float]

    def plot(
        self,
        x: npt.ArrayLike,
        data: npt.ArrayLike,
        *,
        ax: Axes | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> Line2D:
        """Draw the measurements as points and the fitted response as a line. Needs the extra ``plot``.

        Parameters
        ----------
        x : array_like, shape (n,)
            Where the data were measured, such as stretches.
        data : array_like, shape (n,)
            The data of the fit.
        ax : matplotlib.axes.Axes, optional
            Default: those of a new figure.
        figsize : (float, float), optional
            Width and height of the new figure [inches].

        Returns
        -------
        matplotlib.lines.Line2D
            The response.

        Raises
        ------
        TypeError, ValueError
            An array is not finite, or not of the shape of the residuals.
        """
        shape = self.residuals.shape
        at, measured = _check.array("x", x, shape), _check.array("data", data, shape)
        from mpm.viz.figures import axes_of_curves

        axes = axes_of_curves(ax, figsize)
        order = np.argsort(at, kind="stable")
        axes.plot(at, measured, "o", color="0.4", label="data")
        (line,) = axes.plot(at[order], (measured + self.residuals)[order], color="#264f9c", label="fit")
        axes.legend(frameon=False)
        return cast("Line2D", line)


@_check.options
def fit(
    material: Material,
    data: npt.ArrayLike,
    *,
    response: Callable[[Any], npt.ArrayLike],
    parameters: Sequence[str],
) -> Fit:
    """Fit parameters of a material to measurements by nonlinear least squares. Needs the extra ``fit`` (SciPy).

    Parameters
    ----------
    material : Material
        Its values are where the search begins; those that are not fitted stay.
    data : array_like, shape (n,)
        What was measured, at least as many values as parameters.
    response : callable
        Takes a material and returns what the law says in place of the data, (n,).
    parameters : sequence of str
        Names of the parameters to fit, as the class of the material takes them; of its hardening such as
        ``"hardening.rate"``. The law's row gives their bounds, where it has them; else they are positive.

    Returns
    -------
    Fit
        The material, the residuals, and the standard errors.

    Raises
    ------
    ImportError
        There is no SciPy.
    TypeError, ValueError
        An argument is wrong, or `response` returns another shape or what is not finite.
    mpm.ConvergenceError
        The search did not end.

    Notes
    -----
    The trust-region method of Branch, Coleman and Li (SIAM J. Sci. Comput. 21 (1999) 1-23) as ``scipy.optimize``
    has it, with parameters in units of their initial values and derivatives by central differences.

    Examples
    --------
    Simple extension of vulcanised rubber at 20 °C up to a stretch of 1.39, where it is nearly neo-Hookean: force over
    initial area in kgf/cm² (Treloar: Stress-strain data for vulcanised rubber under various types of deformation.
    Trans. Faraday Soc. 40 (1944) 59-70). Treloar draws his theoretical curve with μ = 4.0 kgf/cm², 0.39 MPa.

    >>> import mpm, numpy as np
    >>> stretch = np.array([1.02, 1.125, 1.24, 1.39])
    >>> stress = np.array([0.26, 1.37, 2.30, 3.23]) * 98066.5
    >>> def extension(rubber):
    ...     return mpm.point.uniaxial_stress(rubber, stretch=stretch, steps=1).nominal_stress[1:]
    >>> guess = mpm.materials.NeoHookean(E=1e6, nu=0.49, density=930)
    >>> found = mpm.point.fit(guess, stress, response=extension, parameters=["E"])
    >>> print(f"mu = {found.material.E / 2.98 / 1e6:.2f} MPa, off by {abs(found.residuals).max() / 1e6:.2f} MPa")
    mu = 0.37 MPa, off by 0.01 MPa
    """
    if not isinstance(material, Material):
        raise wrong_material(material)
    law_of(material)  # refuses a rigid body
    names = _names(material, parameters)
    measured = _check.array("data", data, (None,))
    if len(measured) < len(names):
        raise ValueError(
            f"data has {len(measured)} values: must have {len(names)} at least, one per parameter"
        )
    if not callable(response):
        raise _check.wrong_type("response", response, "a function of the material")
    optimize = _check.extra("scipy.optimize", "mpm.point.fit needs SciPy", "fit", "scipy")

    start = np.array([_value(material, name) for name in names])
    unit = np.where(start == 0, 1.0, np.abs(start))
    size = float(np.abs(measured).max()) or 1.0
    low, high = _bounds(material, names, start)

    def made(scaled: FloatArray) -> Material:
        values = np.clip(scaled * unit, low, high)
        changed = {name: float(value) for name, value in zip(names, values, strict=True)}
        return _changed(material, changed)

    def residual(scaled: FloatArray) -> FloatArray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about materials on the way
            trial = made(scaled)
        return _check.array("response(material)", response(trial), measured.shape) - measured

    found = optimize.least_squares(
        lambda scaled: residual(scaled) / size,
        start / unit,
        jac="3-point",
        bounds=(low / unit, high / unit),
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    if not found.success:
        error = ConvergenceError(f"the fit did not end: {found.message}")
        error.residuals, error.rows, error.step, error.time = (
            [float(found.optimality)],
            [],
            int(found.nfev),
            0.0,
        )
        raise error
    return Fit(made(found.x), residual(found.x), _errors(names, found.jac, found.fun, unit))


def _names(material: Material, parameters: object) -> list[str]:
    if not isinstance(parameters, (list, tuple)):
        raise _check.wrong_type("parameters", parameters, "a list of names")
    known = _known(material)
    if not parameters:
        raise ValueError(
            f"parameters = {parameters!r}: must name one at least of {', '.join(map(repr, known))}"
        )
    names = [_check.choice("parameters", name, known) for name in parameters]
    if len(set(names)) < len(names):
        raise ValueError(f"parameters = {parameters!r}: must not name any twice")
    return names


def _known(material: Material) -> list[str]:
    """Names of what can be fitted: numbers that the class of the material, or of its hardening, takes."""
    if isinstance(material, UserLaw):
        return list(material.constants)
    flags = {row["name"] for row in material._row["parameters"] if row["unit"] == "flag"}
    known = []
    for field in fields(cast(Any, material)):
        value = getattr(material, field.name)
        if is_dataclass(value) and field.name not in ("thermal", "solute"):
            inner = fields(value)
            known += [f"{field.name}.{one.name}" for one in inner if _is_number(getattr(value, one.name))]
        elif _is_number(value) and field.init and field.name not in ("density", *flags):
            known.append(field.name)
    return known


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _value(material: Material, name: str) -> float:
    if isinstance(material, UserLaw):
        return material.constants[name]
    owner, _, inner = name.partition(".")
    return float(getattr(getattr(material, owner), inner)) if inner else float(getattr(material, owner))


def _changed(material: Material, values: dict[str, float]) -> Material:
    """A copy with other values, by the names of `_known`."""
    if isinstance(material, UserLaw):
        return material._replaced(values)
    outer = {name: value for name, value in values.items() if "." not in name}
    for name, value in values.items():
        owner, _, inner = name.partition(".")
        if inner:
            outer[owner] = replace(outer.get(owner, getattr(material, owner)), **{inner: value})
    return cast(Material, replace(cast(Any, material), **outer))


def _bounds(material: Material, names: list[str], start: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The range of each parameter; open ends are left out by a small part of the way there."""
    rows: dict[str, Any] = {row["name"]: row for row in material._row["parameters"]}
    positive = {"low": 0.0, "high": np.inf, "low_open": True, "high_open": True}
    rows |= {name: positive for name in names if name not in rows}
    low = np.array([rows[name]["low"] for name in names])
    high = np.array([rows[name]["high"] for name in names])
    for k, name in enumerate(names):
        if rows[name]["low_open"] and np.isfinite(low[k]):
            low[k] += 1e-9 * (start[k] - low[k])
        if rows[name]["high_open"] and np.isfinite(high[k]):
            high[k] -= 1e-9 * (high[k] - start[k])
    return low, high


def _errors(names: list[str], slope: FloatArray, residuals: FloatArray, unit: FloatArray) -> dict[str, float]:
    """√ of the diagonal of s² (JᵀJ)⁻¹, with s² the sum of squares per degree of freedom."""
    n, p = slope.shape
    spare = n - p
    if not spare or np.linalg.matrix_rank(slope, rtol=1e-8) < p:
        return dict.fromkeys(names, np.inf)
    variance = (residuals**2).sum() / spare * np.linalg.inv(slope.T @ slope).diagonal()
    return {name: float(e) for name, e in zip(names, np.sqrt(variance) * unit, strict=True)}
