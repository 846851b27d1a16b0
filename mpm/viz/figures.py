"""Matplotlib figures: the particles, and the energies of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mpm import _check
from mpm.io.paths import created
from mpm.io.state import State
from mpm.source import Source
from mpm.totals import History, per_depth
from mpm.viz import color as _color
from mpm.viz.render import Image
from mpm.viz.solid import renderer_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


ENERGIES = {"kinetic": "#264f9c", "elastic": "#2fb295", "gravitational": "#d9832b", "energy": "#1d2129"}
STILL_SIZE = (1200, 1000)
COLLIDER_NODES = 500  # along the longer side of the domain


class Picture(NamedTuple):
    """The Matplotlib artists of a picture.

    Attributes
    ----------
    particles : matplotlib.artist.Artist
        In 2-D a collection of discs, or a mesh of triangles; in 3-D the image with all that is in it.
    domain : matplotlib.artist.Artist
        In 2-D the domain's outline, in 3-D the background.
    colorbar : matplotlib.axes.Axes
        The colour bar's axes.
    """

    particles: Artist
    domain: Artist
    colorbar: Axes


def _matplotlib() -> Any:
    return _check.extra("matplotlib", "plotting needs Matplotlib", "plot")


def new_figure(size: tuple[float, float]) -> Any:
    """A figure [inches] without pyplot: no window, whatever backend is set."""
    _matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def save_figure(path: Path, figure: Any) -> None:
    """Write a figure in the format of the path's suffix; without one, as png."""
    with created(path) as file:
        figure.savefig(file, format=path.suffix.removeprefix(".") or "png", dpi=150)


def axes_or_new(ax: object, size: tuple[float, float]) -> Any:
    """Plain axes, or those of a new figure of that size [inches]."""
    _matplotlib()
    from matplotlib.axes import Axes

    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=size, layout="constrained")
    if not isinstance(ax, Axes):
        raise _check.wrong_type("ax", ax, "matplotlib.axes.Axes")
    if ax.name == "3d":
        raise ValueError(
            "ax has projection '3d': must be plain axes; 3-D scenes are drawn as a picture in them"
        )
    return ax


def plot(
    sim: Source,
    *,
    ax: Axes | None = None,
    color: str = "speed",
    limits: tuple[float, float] | None = None,
    renderer: str = "builtin",
) -> Picture:
    """Draw the particles of a simulation or of a frame; see `Simulation.plot`."""
    drawn_by = renderer_of(renderer, sim)
    chosen = _color.check(sim, color)
    ends = _color.check_limits(limits)
    axes = axes_or_new(ax, (6.4, 5.4))
    state = sim._state((chosen, "volume"))
    shown = state.fields[chosen]
    ends = ends or _color.span(chosen, shown)
    if sim.dimension == 2:
        particles, domain = _plot_2d(sim, state, axes, shown, ends)
    else:
        picture = drawn_by(sim, color=chosen, limits=ends, size=STILL_SIZE, annotate=False)
        particles, domain = _show(picture.frame(sim), axes)
    share = _bar_share(axes)
    extend = _color.beyond(shown, ends)
    bar = axes.figure.colorbar(_mappable(ends), ax=axes, shrink=share, aspect=25 * share, extend=extend)
    bar.set_label(_color.label(sim, chosen))
    bar.outline.set_visible(False)
    axes.set_title(f"t = {sim.time:.4g} s", loc="left", fontsize="medium")
    return Picture(particles, domain, bar.ax)


def _bar_share(axes: Any) -> float:
    """The height of the colour bar as a share of the axes, which a wide picture does not fill."""
    box, (width, height) = axes.get_position(original=True), axes.figure.get_size_inches()
    left, right = axes.get_xlim()
    bottom, top = sorted(axes.get_ylim())
    # The bar leaves about 0.85 of the width to the picture.
    drawn = 0.85 * box.width * width * (top - bottom) / abs(right - left)
    return float(np.clip(0.8 * drawn / (box.height * height), 0.1, 0.8))


def _mappable(limits: tuple[float, float]) -> Any:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    return ScalarMappable(Normalize(*limits), ListedColormap(_color.TABLE / 255, name="mpm"))


def _plot_2d(
    sim: Source, state: State, axes: Any, shown: npt.NDArray[Any], limits: tuple[float, float]
) -> tuple[Artist, Artist]:
    """The particles, and the domain."""
    from matplotlib.patches import Rectangle

    style = _mappable(limits)
    triangles = sim._cells()
    if triangles is None:
        particles = _discs(state, axes, style)
    else:
        from matplotlib.collections import TriMesh
        from matplotlib.tri import Triangulation

        x, y = np.array(state.fields["x"], dtype=float).T
        particles = TriMesh(Triangulation(x, y, triangles), cmap=style.cmap, norm=style.norm)
    particles.set_array(np.array(shown, dtype=float))
    axes.add_collection(particles)
    low, high = sim.scene.lower, sim.scene.upper
    width, height = high - low
    _draw_colliders(sim, axes)
    domain = Rectangle(tuple(low), width, height, fill=False, edgecolor="0.45", linewidth=1)
    axes.add_patch(domain)
    margin = 0.03 * max(width, height)
    axes.set(
        xlim=(low[0] - margin, high[0] + margin), ylim=(low[1] - margin, high[1] + margin), aspect="equal"
    )
    axes.set(xlabel="x [m]", ylabel="y [m]")
    axes.spines[["top", "right"]].set_visible(False)
    return particles, domain


def _discs(state: State, axes: Any, style: Any) -> Any:
    """Discs of the particles' own size in data units."""
    from matplotlib.collections import EllipseCollection

    # A disc of the particle's area, drawn a little larger so that a dense body has no gaps.
    diameter = 1.5 * np.sqrt(np.array(state.fields["volume"], dtype=float))
    return EllipseCollection(
        diameter,
        diameter,
        np.zeros(len(diameter)),
        units="xy",
        offsets=np.array(state.fields["x"], dtype=float),
        offset_transform=axes.transData,
        cmap=style.cmap,
        norm=style.norm,
        linewidths=0,
        rasterized=len(diameter) > 5000,
    )


def _draw_colliders(sim: Source, axes: Any) -> None:
    """Fill the parts of the domain where the signed distances are negative."""
    low, high = sim.scene.lower, sim.scene.upper
    nodes = np.maximum(2, (COLLIDER_NODES * (high - low) / (high - low).max()).astype(int))
    x, y = (np.linspace(a, b, n) for a, b, n in zip(low, high, nodes, strict=True))
    points = np.stack(np.meshgrid(x, y), axis=-1)
    for collider in sim._posed():
        phi = collider.distance(points.reshape(-1, 2))[0].reshape(points.shape[:2])
        if phi.min() < 0:
            axes.contourf(x, y, phi, levels=[phi.min() - 1, 0], colors=["0.85"], zorder=0.5)
        if phi.min() < 0 < phi.max():
            axes.contour(x, y, phi, levels=[0], colors=["0.55"], linewidths=1, zorder=0.6)


def _show(picture: Image, axes: Any) -> tuple[Artist, Artist]:
    """Show an image of the domain; its axes would count pixels, so they are hidden."""
    image = axes.imshow(picture, interpolation="antialiased")
    axes.set_axis_off()
    return image, axes.patch


def plot_history(history: History, *, ax: Axes | None = None) -> tuple[Artist, ...]:
    """Draw the energies of a run over time.

    Parameters
    ----------
    history : History
        `Simulation.history`.
    ax : matplotlib.axes.Axes, optional
        Default: those of a new figure.

    Returns
    -------
    tuple of matplotlib.artist.Artist
        The lines: kinetic, elastic, gravitational energy and their sum.
    """
    if not isinstance(history, History):
        raise _check.wrong_type("history", history, "the history of a simulation")
    axes = axes_or_new(ax, (7.2, 4.2))
    time = history["time"]
    lines = []
    for name, ink in ENERGIES.items():
        label, width = ("sum", 1.8) if name == "energy" else (name, 1.3)
        lines += axes.plot(time, history[name], color=ink, linewidth=width, label=label)
    if not len(time):
        axes.text(0.5, 0.5, "no records", transform=axes.transAxes, ha="center", color="0.5")
    axes.set(xlabel="time [s]", ylabel=f"energy [{per_depth('J', history['momentum'].shape[1])}]", xmargin=0)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)
    return tuple(lines)
