"""Quantities along a line, and in a slice of a 3-D scene."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.solver.source import Source
from mpm.viz import color as _color
from mpm.viz import legible
from mpm.viz.figures import axes_or_new, check_figsize, check_picture, color_bar, draw_colliders, rule, scale
from mpm.viz.sampled import on_lattice

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

LINE_POINTS, SLICE_POINTS = 400, 240  # along the longest side
PER_WIDTH = 6  # most points per width of the average
INK = "#264f9c"
SIZES = {1: (6.4, 4.2), 2: (6.4, 5.4)}  # inches


@_check.options
def field(
    sim: Source,
    name: str = "pressure",
    *,
    x: float | None = None,
    y: float | None = None,
    z: float | None = None,
    width: float | None = None,
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
    figsize: tuple[float, float] | None = None,
) -> Artist:
    """Draw a quantity along a line through the material, or in a slice of a 3-D scene; needs the extra ``plot``.

    A 2-D scene needs `x` or `y`: ``x=0.3`` is the vertical line there. A 3-D scene needs one of the three for a slice,
    or two for a line. Values between particles are those of the linear function that fits the particles nearby
    best, weighted by volume (moving least squares), so that what is linear in space is drawn exactly. Where material
    fills less than half of the surroundings, nothing is drawn.

    Parameters
    ----------
    sim : Simulation or Frame
        Any solver, or a frame of a recording.
    name : str
        As the `color` of `Simulation.plot`.
    x, y, z : float, optional
        Where the line or the slice lies [m], within the domain.
    width : float, optional
        Of the weights [m], quadratic B-splines that reach 1.5 widths far. Default: twice the distance of particles.
    limits : (float, float), optional
        Ends of the scale. Default: those of the values that are drawn.
    ax : matplotlib.axes.Axes, optional
        Default: axes of a new figure.
    figsize : (float, float), optional
        Width and height of the new figure [inches].

    Returns
    -------
    matplotlib.lines.Line2D or matplotlib.image.AxesImage
        The line, or the slice, whose ``colorbar`` is the colour bar. Their data are NaN or masked outside the material.
    """
    chosen, ends = check_picture(sim, name, limits, "name")
    chosen_size = check_figsize(figsize, ax)
    low, high = sim.scene.lower, sim.scene.upper
    at = _places(sim.dimension, {"x": x, "y": y, "z": z}, low, high)
    along = [axis for axis in range(sim.dimension) if axis not in at]
    state = sim._state((chosen, "volume", *(("J",) if "J" in sim.particles.fields else ())))
    volume = np.asarray(state.fields["volume"], dtype=np.float64)
    if "J" in state.fields:
        volume = volume * state.fields["J"]
    spread = _width(width, volume, sim.dimension)
    longest = max(float(high[axis] - low[axis]) for axis in along)
    points = min({1: LINE_POINTS, 2: SLICE_POINTS}[len(along)], max(16, int(PER_WIDTH * longest / spread)))
    lattice = {
        axis: np.linspace(
            low[axis], high[axis], max(8, round(points * (high[axis] - low[axis]) / longest)) + 1
        )
        for axis in along
    }
    values = on_lattice(
        np.asarray(state.fields["x"], dtype=np.float64),
        volume,
        np.asarray(_color.values(state, chosen), dtype=np.float64),
        at=at,
        axes=lattice,
        width=spread,
    )
    if chosen in _color.FROM_ZERO:
        values = np.maximum(values, 0)  # a linear fit may fall below where the quantity ends steeply
    axes = axes_or_new(ax, chosen_size or SIZES[len(along)])
    size = legible.factor(axes)  # before a colour bar takes its part of the axes' cell
    draw = _line if len(along) == 1 else _slice
    drawn = draw(sim, axes, lattice, values, ends, chosen, at)
    where = ", ".join(f"{'xyz'[axis]} = {place:.4g} m" for axis, place in at.items())
    axes.set_title(f"{where}, t = {sim.time:.4g} s", loc="left", fontsize=legible.points(size))
    axes.spines[["top", "right"]].set_visible(False)
    legible.text(axes, size)
    return drawn


def _places(
    dimension: int, given: dict[str, float | None], low: FloatArray, high: FloatArray
) -> dict[int, float]:
    """The coordinates that are given, by axis."""
    at = {
        axis: _check.number(name, value, low=float(low[axis]), high=float(high[axis]), unit="m")
        for axis, (name, value) in enumerate(given.items())
        if value is not None and axis < dimension
    }
    if dimension == 2 and given["z"] is not None:
        raise ValueError(f"z = {_check.shown(given['z'])}: must not be given for a 2-D scene")
    if not 1 <= len(at) < dimension:
        need = "x or y for a line" if dimension == 2 else "one of x, y, z for a slice, two for a line"
        raise ValueError(
            f"{', '.join(given)}: {len(at)} of them are given; a {dimension}-D scene needs {need}"
        )
    return at


def _width(width: float | None, volume: FloatArray, dimension: int) -> float:
    if width is not None:
        return _check.number("width", width, low=0, low_open=True, unit="m")
    whole = volume[np.isfinite(volume) & (volume > 0)]
    return 2 * float(np.median(whole)) ** (1 / dimension) if len(whole) else 1.0


def _line(
    sim: Source, axes: Any, lattice: dict[int, FloatArray], values: FloatArray, ends: Any, name: str, at: Any
) -> Artist:
    ((axis, places),) = lattice.items()
    line: Artist
    (line,) = axes.plot(places, values, color=INK, linewidth=1.5 * legible.factor(axes))
    if ends is not None:
        axes.set_ylim(*ends)
    axes.set(xlabel=f"{'xyz'[axis]} [m]", ylabel=_color.label(sim, name), xmargin=0)
    axes.set_xlim(places[0], places[-1])
    rule(axes)
    return line


def _slice(
    sim: Source,
    axes: Any,
    lattice: dict[int, FloatArray],
    values: FloatArray,
    ends: Any,
    name: str,
    at: dict[int, float],
) -> Artist:
    (first, across), (second, up) = lattice.items()
    shown = np.ma.masked_invalid(values.T)
    limits = ends or _color.span(name, values, _color.noise(sim, name))
    style = scale(limits)
    half = (across[1] - across[0]) / 2, (up[1] - up[0]) / 2
    image: Artist = axes.imshow(
        shown,
        cmap=style.cmap,
        norm=style.norm,
        origin="lower",
        extent=(across[0] - half[0], across[-1] + half[0], up[0] - half[1], up[-1] + half[1]),
        interpolation="nearest",
    )
    ((axis, place),) = at.items()
    draw_colliders(sim._posed(), sim.scene, axes, (first, second), {axis: place})
    axes.set(xlim=(across[0], across[-1]), ylim=(up[0], up[-1]), aspect="equal")
    axes.set(xlabel=f"{'xyz'[first]} [m]", ylabel=f"{'xyz'[second]} [m]")
    color_bar(axes, image, _color.label(sim, name), _color.beyond(values, limits))
    return image
