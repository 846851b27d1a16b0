"""The usual tests of a material at a point. The axis of loading is x.

Strains of a path are given as a number, which ramps from rest, or as several turning points; each is reached in
`steps` equal steps. Times are equally spaced over `duration`, which matters to laws that depend on time. Tests with a
path take it as ``strain``, too, and a ``rate`` in place of the duration: then the path changes by so much per second.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.point.driver import drive
from mpm.point.response import Response

Path = float | npt.ArrayLike


@_check.options
def triaxial(
    material: Any,
    *,
    confinement: float,
    axial_strain: Path | None = None,
    strain: Path | None = None,
    drained: bool = True,
    duration: float | None = None,
    rate: float | None = None,
    steps: int = 100,
    dimension: int = 3,
) -> Response:
    """Triaxial test: consolidation under a cell pressure, then axial compression.

    The first state has the stress −`confinement` in all directions. A drained test keeps the stress along y and z and
    shortens x. An undrained test keeps the volume instead, as water that cannot leave does; its stresses are effective
    stresses, and the pore pressure is ``confinement + response.lateral_stress``. In plane strain the test is the
    biaxial one: y is free, z stays.

    Parameters
    ----------
    material
        One of `mpm.materials`, or a law in Python.
    confinement : float
        Cell pressure [Pa], >= 0: a Cauchy stress, force per present area. Strengths of materials bound Kirchhoff
        stresses, J times as large: `CamClay` yields in consolidation at ``preconsolidation``/J.
    axial_strain : float or array_like
        Shortening over the length after consolidation, positive in compression, < 1; or its turning points.
    drained : bool, optional
        Whether the lateral stress (True, the default) or the volume stays.
    strain : float or array_like
        Another name of `axial_strain`; one of the two is given.
    duration : float, optional
        [s], > 0, default 1.
    rate : float, optional
        Change of the path per second [1/s], > 0, in place of `duration`.
    steps : int, optional
        To each turning point, default 100.
    dimension : int, optional
        3 (the default), or 2 for plane strain.

    Returns
    -------
    Response
        With x as the axis.

    References
    ----------
    Muir Wood: Soil Behaviour and Critical State Soil Mechanics. Cambridge University Press (1990), chapter 1.
    """
    cell = _check.number("confinement", confinement, low=0, unit="Pa")
    is_drained = _check.flag("drained", drained)
    name, value = _given(axial_strain=axial_strain, strain=strain)
    times, shortening = _path(name, value, duration, steps, rate, rest=0.0, high=1.0)
    axes = _axes(dimension)
    consolidated = (
        drive(material, times=[times[0]], stress=dict.fromkeys(axes, -cell), dimension=dimension)
        .F[0]
        .diagonal()
    )
    stretch = 1 - shortening
    F: dict[str, FloatArray] = {"xx": consolidated[0] * stretch}
    if is_drained:
        stress = dict.fromkeys(axes[1:], -cell)
        return _shown(
            drive(material, times=times, F=F, stress=stress, dimension=dimension), "axial_strain", "q"
        )
    for name, value in zip(axes[1:], consolidated[1:], strict=False):
        F[name] = value * stretch ** (-1 / len(axes[1:]))
    return _shown(drive(material, times=times, F=F, dimension=dimension), "p", "q")


@_check.options
def oedometer(
    material: Any,
    *,
    axial_strain: Path | None = None,
    strain: Path | None = None,
    duration: float | None = None,
    rate: float | None = None,
    steps: int = 100,
    dimension: int = 3,
) -> Response:
    """Oedometer test: compression along x without lateral strain.

    Parameters
    ----------
    material
        One of `mpm.materials`, or a law in Python.
    axial_strain : float or array_like
        Shortening over the initial length, positive in compression, < 1; or its turning points.
    strain : float or array_like
        Another name of `axial_strain`; one of the two is given.
    duration : float, optional
        [s], > 0, default 1.
    rate : float, optional
        Change of the path per second [1/s], > 0, in place of `duration`.
    steps : int, optional
        To each turning point, default 100.
    dimension : int, optional
        3 (the default), or 2 for plane strain.

    Returns
    -------
    Response
        The axial stress is negative in compression; −`lateral_stress` is the pressure on the ring.

    References
    ----------
    Muir Wood: Soil Behaviour and Critical State Soil Mechanics. Cambridge University Press (1990), chapter 1.
    """
    name, value = _given(axial_strain=axial_strain, strain=strain)
    times, shortening = _path(name, value, duration, steps, rate, rest=0.0, high=1.0)
    response = drive(material, times=times, F={"xx": 1 - shortening}, dimension=dimension)
    return _shown(response, "axial_strain", "axial_stress")


@_check.options
def simple_shear(
    material: Any,
    *,
    shear: Path | None = None,
    strain: Path | None = None,
    duration: float | None = None,
    rate: float | None = None,
    steps: int = 100,
    dimension: int = 3,
) -> Response:
    """Simple shear: planes normal to y slide along x, F = I + γ e_x ⊗ e_y. The volume stays.

    Parameters
    ----------
    material
        One of `mpm.materials`, or a law in Python.
    shear : float or array_like
        γ, or its turning points.
    strain : float or array_like
        Another name of `shear`; one of the two is given.
    duration : float, optional
        [s], > 0, default 1.
    rate : float, optional
        Change of the path per second [1/s], > 0, in place of `duration`.
    steps : int, optional
        To each turning point, default 100.
    dimension : int, optional
        3 (the default), or 2 for plane strain.

    Returns
    -------
    Response
        ``shear_stress`` is σ_xy; at finite γ normal stresses come with it.

    References
    ----------
    Ogden: Non-linear Elastic Deformations. Ellis Horwood (1984).
    """
    name, value = _given(shear=shear, strain=strain)
    times, gamma = _path(name, value, duration, steps, rate, rest=0.0)
    return _shown(
        drive(material, times=times, F={"xy": gamma}, dimension=dimension), "shear_strain", "shear_stress"
    )


@_check.options
def uniaxial_stress(
    material: Any,
    *,
    stretch: Path | None = None,
    strain: Path | None = None,
    duration: float | None = None,
    rate: float | None = None,
    steps: int = 100,
    dimension: int = 3,
) -> Response:
    """Tension or compression along x with free sides: the stress along y and z is zero.

    Parameters
    ----------
    material
        One of `mpm.materials`, or a law in Python.
    stretch : float or array_like
        Length over initial length, > 0, or its turning points.
    strain : float or array_like
        Change of length over initial length, `stretch` − 1, or its turning points; one of the two is given.
    duration : float, optional
        [s], > 0, default 1.
    rate : float, optional
        Change of the path per second [1/s], > 0, in place of `duration`.
    steps : int, optional
        To each turning point, default 100.
    dimension : int, optional
        3 (the default), or 2 for plane strain: then z stays, with a stress.

    Returns
    -------
    Response
        ``axial_stress`` is Cauchy's, ``nominal_stress`` the force over the initial area.

    References
    ----------
    Ogden: Non-linear Elastic Deformations. Ellis Horwood (1984).
    """
    name, value = _given(stretch=stretch, strain=strain)
    if name == "strain":
        times, length = _path(name, value, duration, steps, rate, rest=0.0, low=-1.0)
        length = 1 + length
    else:
        times, length = _path(name, value, duration, steps, rate, rest=1.0, low=0.0)
    free = dict.fromkeys(_axes(dimension)[1:], 0.0)
    response = drive(material, times=times, F={"xx": length}, stress=free, dimension=dimension)
    return _shown(response, "axial_strain", "axial_stress")


@_check.options
def creep(
    material: Any, *, stress: float, duration: float = 1.0, steps: int = 100, dimension: int = 3
) -> Response:
    """Creep: an axial stress that stays, with free sides.

    The first state is rest, without stress; the stress acts from the first step on.

    Parameters
    ----------
    material
        One of `mpm.materials`, or a law in Python.
    stress : float
        Axial Cauchy stress [Pa], positive in tension.
    duration : float, optional
        [s], > 0, default 1.
    steps : int, optional
        Default 100; the error is of first order in the step.
    dimension : int, optional
        3 (the default), or 2 for plane strain.

    Returns
    -------
    Response
        ``axial_strain`` over ``times``.

    References
    ----------
    Findley, Lai, Onaran: Creep and Relaxation of Nonlinear Viscoelastic Materials. North-Holland (1976), chapter 5.
    """
    value = _check.number("stress", stress, unit="Pa")
    times = _clock(duration, steps, 1)
    axial = np.full(len(times), value)
    axial[0] = 0
    loads: dict[str, Any] = {**dict.fromkeys(_axes(dimension), 0.0), "xx": axial}
    return _shown(drive(material, times=times, stress=loads, dimension=dimension), "times", "axial_strain")


@_check.options
def relaxation(
    material: Any,
    *,
    stretch: float | None = None,
    strain: float | None = None,
    duration: float = 1.0,
    steps: int = 100,
    dimension: int = 3,
) -> Response:
    """Relaxation: a stretch along x, reached at once, that stays, with free sides.

    Parameters
    ----------
    material
        One of `mpm.materials`, or a law in Python.
    stretch : float
        Length over initial length, > 0.
    strain : float
        `stretch` − 1; one of the two is given.
    duration : float, optional
        [s], > 0, default 1.
    steps : int, optional
        Default 100; the error is of first order in the step.
    dimension : int, optional
        3 (the default), or 2 for plane strain.

    Returns
    -------
    Response
        ``axial_stress`` over ``times``.

    References
    ----------
    Findley, Lai, Onaran: Creep and Relaxation of Nonlinear Viscoelastic Materials. North-Holland (1976), chapter 5.
    """
    name, value = _given(stretch=stretch, strain=strain)
    if name == "strain":
        length = 1 + _check.number(name, value, low=-1, low_open=True)
    else:
        length = _check.number(name, value, low=0, low_open=True)
    free = dict.fromkeys(_axes(dimension)[1:], 0.0)
    times = _clock(duration, steps, 1)
    response = drive(material, times=times, F={"xx": length}, stress=free, dimension=dimension)
    return _shown(response, "times", "axial_stress")


def _shown(response: Response, x: str, y: str) -> Response:
    """The same, drawn as the test is known."""
    return replace(response, _shown=(x, y))


def _axes(dimension: object) -> tuple[str, ...]:
    return ("xx", "yy", "zz")[: _check.integer("dimension", dimension, low=2, high=3)]


def _clock(duration: object, steps: object, parts: int) -> FloatArray:
    count = _check.integer("steps", steps, low=1, high=10**6)
    return np.linspace(
        0, _check.number("duration", duration, low=0, low_open=True, unit="s"), parts * count + 1
    )


def _given(**names: object) -> tuple[str, object]:
    """The one of two names of a path that is given, with its value."""
    found = [(name, value) for name, value in names.items() if value is not None]
    own, other = names
    if not found:
        raise TypeError(f"{own} = None: must be given, or {other}")
    if len(found) > 1:
        raise ValueError(f"{other} = {_check.shown(names[other])}: must not be given with {own}")
    return found[0]


def _path(
    name: str,
    value: object,
    duration: object,
    steps: object,
    rate: object = None,
    *,
    rest: float,
    low: float = -np.inf,
    high: float = np.inf,
) -> tuple[FloatArray, FloatArray]:
    """Times and values from rest over the turning points; low < value < high."""
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        turns = _check.array(name, value, (None,))
        if not len(turns):
            raise ValueError(f"{name} is empty: must have one turning point at least")
    else:
        turns = np.array([_check.number(name, value)])
    for turn in turns:
        _check.number(name, turn, low=low, low_open=True, high=high, high_open=True)
    if rate is not None and duration is not None:
        raise ValueError(f"rate = {_check.shown(rate)}: must not be given with duration")
    times = _clock(1.0 if duration is None else duration, steps, len(turns))
    each = (len(times) - 1) // len(turns)
    knots = np.linspace(times[0], times[-1], len(turns) + 1)
    points = np.array([rest, *turns])
    path = np.interp(times, knots, points)
    path[::each] = points  # exactly
    if rate is not None:
        speed = _check.number("rate", rate, low=0, low_open=True, unit="1/s")
        spans = np.abs(np.diff(points)) / speed
        if not (spans > 0).all():
            raise ValueError(
                f"rate = {speed:g}: needs turning points that differ from each other, and from rest"
            )
        ends = np.concatenate([[0.0], np.cumsum(spans)])
        times = np.interp(np.arange(len(times)), each * np.arange(len(ends)), ends)
    return times, path
