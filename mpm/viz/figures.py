"""Matplotlib figures of the particles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Never, Unpack

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base.paths import created
from mpm.base.pictures import DEFAULTS, PictureOptions
from mpm.scene.colliders import Placed
from mpm.scene.scene import Scene
from mpm.solver.solids import Solid
from mpm.solver.source import Source
from mpm.solver.state import State
from mpm.viz import color as _color
from mpm.viz import framing, jointmarks, legible, solids
from mpm.viz.camera import WHOLE
from mpm.viz.canvas import inks_on
from mpm.viz.render import Image, Renderer, check_cut, check_source, check_surface
from mpm.viz.solid import renderer_of
from mpm.viz.style import Style, Table
from mpm.viz.view import View, check_camera

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


COLLIDER_NODES = 500  # along the longer side of the domain
BORDER = 0.03  # around the domain of a 2-D scene, in its longer sides


class Picture(NamedTuple):
    """The Matplotlib artists of a picture.

    Attributes
    ----------
    particles : matplotlib.artist.Artist
        In 2-D a collection of discs, or a mesh of triangles; in 3-D the image with all that is in it.
    domain : matplotlib.artist.Artist
        In 2-D the domain's outline, in 3-D the background.
    colorbar : matplotlib.axes.Axes or None
        The colour bar's axes; None where the colours are those of materials and bodies.
    """

    particles: Artist
    domain: Artist
    colorbar: Axes | None

    def __getattr__(self, name: str) -> Never:
        """Python calls this only if the ordinary look-up has failed."""
        own = name in ("savefig", "show", "axes", "set_size_inches")
        hint = f"; its figure has it: sim.plot().figure.{name}" if own else ""
        raise AttributeError(f"Picture has no attribute {name!r}{hint}", name=name, obj=self)

    def __repr__(self) -> str:
        return brief("Picture", self.figure)

    @property
    def figure(self) -> Any:
        """The figure that they are in: ``sim.plot().figure.savefig("picture.png")``."""
        return self.particles.figure


def brief(what: str, figure: Any) -> str:
    """The repr of what belongs to a figure: its size, and how to save it. A notebook shows the figure above."""
    if figure is None:
        return f"<{what}, removed from its figure>"
    width, height = figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi
    return f'<{what} of {width:.3g} x {height:.3g} inches; .figure.savefig("a.png") saves it>'


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


def new_axes(size: tuple[float, float], *, rows: int = 1) -> list[Any]:
    """Axes below each other, with one horizontal axis, in a new figure of that size [inches]."""
    _matplotlib()
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(rows, 1, figsize=size, layout="constrained", sharex=True, squeeze=False)
    return list(axes[:, 0])


def check_figsize(figsize: object, into: object, argument: str = "ax") -> tuple[float, float] | None:
    """Width and height [inches] of a new figure; None with axes, or a figure, to draw `into`."""
    if figsize is None:
        return None
    if not isinstance(figsize, (tuple, list)) or len(figsize) != 2:
        raise TypeError(f"figsize = {_check.shown(figsize)}: must be (width, height)")
    width, height = (_check.number("figsize", edge, low=1, high=100, unit="in") for edge in figsize)
    if into is not None:
        raise ValueError(f"figsize = {_check.shown(figsize)}: must not be given with {argument}")
    return width, height


def axes_or_new(ax: object, size: tuple[float, float]) -> Any:
    """Plain axes, or those of a new figure of that size [inches]."""
    _matplotlib()
    from matplotlib.axes import Axes

    if ax is None:
        (ax,) = new_axes(size)
    if not isinstance(ax, Axes):
        raise _check.wrong_type("ax", ax, "matplotlib.axes.Axes")
    if ax.name == "3d":
        raise ValueError(
            "ax has projection '3d': must be plain axes; 3-D scenes are drawn as a picture in them"
        )
    return ax


def rule(axes: Any) -> None:
    """Gives axes of curves a light grid behind them, and no frame above and to the right."""
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def axes_of_curves(ax: object, figsize: object) -> Any:
    """As `axes_or_new`, with a grid; `figsize` is checked."""
    axes = axes_or_new(ax, check_figsize(figsize, ax) or (5.6, 4.2))
    rule(axes)
    return axes


@_check.options
@_check.spelled(PictureOptions, DEFAULTS)
def plot(
    sim: Source,
    *,
    ax: Axes | None = None,
    figsize: tuple[float, float] | None = None,
    renderer: str = "builtin",
    **options: Unpack[PictureOptions],
) -> Picture:
    """Draw the particles of a simulation or of a frame; see `Simulation.plot`."""
    drawn_by = renderer_of(renderer, sim)
    chosen = DEFAULTS | options
    style = Style.checked(sim, **chosen)
    view = check_camera(chosen["camera"], sim.scene)(sim.time)
    check_cut(chosen["cut"], sim)
    check_surface(chosen["surface"], sim)
    chosen_size = check_figsize(figsize, ax)
    axes = axes_or_new(ax, chosen_size or framing.inches(sim.scene, border(sim), view))
    seen = look(sim, style, view, drawn_by, {**chosen, "limits": None})
    ends = style.limits or (0.0, 1.0) if style.quantity is None else style.limits
    ends = ends or _color.span(style.quantity or "", seen.shown, seen.noise)
    particles, domain = seen.draw(axes, ends)
    fits = ax is None and chosen_size is None  # a figure of ours has room for the text
    size = 1.0 if fits else legible.factor(axes)
    bar = None
    if style.quantity is not None:
        label, beyond = _color.label(sim, style.quantity), _color.beyond(seen.shown, ends)
        bar = color_bar(axes, scale(ends, style.table), label, beyond, text=size)
        mark(bar, sim, style.quantity, ends)
    axes.set_title(f"t = {sim.time:.4g} s", loc="left", fontsize=legible.points(size))
    legible.text(axes, size)
    return Picture(particles, domain, None if bar is None else bar.ax)


@dataclass(frozen=True, slots=True)
class Look:
    """All that a figure shows of a state, which may change meanwhile.

    Attributes
    ----------
    shown : ndarray, shape (n,)
        What the colours mean.
    draw : callable
        Draws it into axes with a colour scale of given ends; returns the artists of the particles and of the domain.
    noise : float
        Values that are no larger are rounding: see `mpm.viz.color.noise`.
    """

    shown: npt.NDArray[Any]
    draw: Callable[[Any, tuple[float, float]], tuple[Artist, Artist]]
    noise: float


def look(
    sim: Source,
    style: Style,
    view: View = WHOLE,
    drawn_by: type[Renderer] = Renderer,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> Look:
    """Copy from a state what drawing needs; `options` are those of the renderer, which only 3-D scenes need."""
    least = 0.0 if style.quantity is None else _color.noise(sim, style.quantity)
    if sim.dimension == 2:
        rigid = sim._solids()
        state = sim._state((*style.fields, "volume", *(("id",) if rigid else ())))
        everything, seen = style.shown(state), style.seen(state)
        scene, triangles, shown = sim.scene, sim._cells(), everything
        kept = seen.copy()
        placed = solids.taken(rigid, state, seen, shown, solids.Skins(), values=style.quantity is not None)
        posed = [one for one in sim._posed() if one.collider.name not in style.hidden_colliders]
        if triangles is not None:
            triangles = triangles[seen[triangles].all(axis=1)]
        elif not seen.all():
            state, shown = state.of(seen), shown[seen]

        def flat(axes: Any, ends: tuple[float, float]) -> tuple[Artist, Artist]:
            found = _plot_2d(scene, state, posed, triangles, axes, shown, ends, style, view)
            if placed is not None:
                _fill_solids(placed, axes, ends, style)
                _mark_joints(placed.solids, axes)
            return found

        return Look(everything[kept], flat, least)
    size = framing.fitted(sim.scene, False, framing.STILL, view)
    picture = drawn_by(sim, size=size, annotate=False, **options)
    shot = picture._shoot(sim)

    def spatial(axes: Any, ends: tuple[float, float]) -> tuple[Artist, Artist]:
        picture.scale = _color.Scale(style.quantity or "", ends)
        return _show(picture._draw(shot), axes)

    return Look(shot.values, spatial, least)


def border(sim: Source) -> float:
    """What `look` leaves around the domain, in its longer sides: images of 3-D scenes have margins of their own."""
    return BORDER if sim.dimension == 2 else 0.0


def color_bar(
    axes: Any, mappable: Any, label: str, extend: str, *, of: Any = None, text: float | None = None
) -> Any:
    """A colour bar beside axes, or beside all of `of`, with text in a size of `mpm.viz.legible`."""
    share = _bar_share(axes) if of is None else 0.8
    size = legible.factor(axes) if text is None else text  # before the bar takes its part of the axes' cell
    bar = axes.figure.colorbar(
        mappable, ax=axes if of is None else of, shrink=share, aspect=25 * share, extend=extend
    )
    bar.set_label(label)
    bar.outline.set_visible(False)
    legible.text(bar.ax, size)
    return bar


def mark(bar: Any, sim: Source, color: str, limits: tuple[float, float]) -> None:
    """Whole numbers beside the colour bar of a label, and what they mean."""
    numbers, names = _color.whole(color, limits), _color.legend(sim, color)
    if numbers is not None:
        bar.set_ticks(numbers, labels=[names[k] if 0 <= k < len(names) else str(k) for k in numbers])


def check_picture(
    sim: Source, color: object, limits: object, argument: str = "color"
) -> tuple[str, tuple[float, float] | None]:
    """The quantity that is to be drawn, and the ends of its scale, where they are given."""
    check_source(sim)
    return _color.check(sim, color, argument), _color.check_limits(limits)


def _bar_share(axes: Any) -> float:
    """The height of the colour bar as a share of the axes, which a wide picture does not fill."""
    box, (width, height) = axes.get_position(original=True), axes.figure.get_size_inches()
    left, right = axes.get_xlim()
    bottom, top = sorted(axes.get_ylim())
    # The bar leaves about 0.85 of the width to the picture.
    drawn = 0.85 * box.width * width * (top - bottom) / abs(right - left)
    return float(np.clip(0.8 * drawn / (box.height * height), 0.1, 0.8))


def scale(limits: tuple[float, float], table: Table = _color.TABLE) -> Any:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize

    return ScalarMappable(Normalize(*limits), ListedColormap(table / 255, name="mpm"))


def _plot_2d(
    scene: Scene,
    state: State,
    posed: Sequence[Placed],
    triangles: npt.NDArray[Any] | None,
    axes: Any,
    shown: npt.NDArray[Any],
    limits: tuple[float, float],
    look: Style,
    view: View,
) -> tuple[Artist, Artist]:
    """The particles, and the domain."""
    from matplotlib.patches import Rectangle

    style = scale((0, len(look.table) - 1) if look.quantity is None else limits, look.table)
    if triangles is None:
        particles = _discs(state, axes, style)
    else:
        from matplotlib.collections import TriMesh
        from matplotlib.tri import Triangulation

        x, y = np.array(state.fields["x"], dtype=float).T
        particles = TriMesh(Triangulation(x, y, triangles), cmap=style.cmap, norm=style.norm)
    particles.set_array(np.array(shown, dtype=float))
    axes.add_collection(particles)
    low, high = scene.lower, scene.upper
    width, height = high - low
    draw_colliders(posed, scene, axes)
    edge = tuple(part / 255 for part in inks_on(look.background).edge) if look.background else "0.45"
    plane = tuple(part / 255 for part in look.plane)
    axes.add_patch(Rectangle(tuple(low), width, height, color=plane, linewidth=0, zorder=0.2))
    domain = Rectangle(tuple(low), width, height, fill=False, edgecolor=edge, linewidth=1)
    if look.background is not None:
        axes.set_facecolor(tuple(part / 255 for part in look.background))
    axes.add_patch(domain)
    margin = BORDER * max(width, height)
    middle = (low + high) / 2 if view.target is None else view.target
    half = ((high - low) / 2 + margin) / view.zoom
    axes.set(xlim=(middle[0] - half[0], middle[0] + half[0]), ylim=(middle[1] - half[1], middle[1] + half[1]))
    axes.set_aspect("equal")
    axes.set(xlabel="x [m]", ylabel="y [m]")
    axes.spines[["top", "right"]].set_visible(False)
    return particles, domain


def _fill_solids(placed: solids.Placed, axes: Any, limits: tuple[float, float], look: Style) -> None:
    """Rigid bodies as their shapes; what differs from particle to particle is drawn within the outline."""
    from matplotlib.collections import EllipseCollection
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Line

    style = scale((0, len(look.table) - 1) if look.quantity is None else limits, look.table)
    for solid, x, shown in placed.each():
        lines = [line for area in solids.outline(solid) for line in area]
        if not lines:
            continue
        whole = Line.make_compound_path(*(Line(line, closed=True) for line in lines))
        ink = style.to_rgba(float(np.median(shown)))
        edge = (*(solids.RIM_INK * part for part in ink[:3]), 1.0)
        patch = PathPatch(whole, facecolor=ink, edgecolor=edge, linewidth=0.8, zorder=1.1)
        axes.add_patch(patch)
        if (shown == shown[0]).all():
            continue
        diameter = np.full(len(x), 2 * solids.FILLED * solid.spacing)
        particles = EllipseCollection(
            diameter,
            diameter,
            np.zeros(len(x)),
            units="xy",
            offsets=x,
            offset_transform=axes.transData,
            cmap=style.cmap,
            norm=style.norm,
            linewidths=0,
            zorder=1.2,
            rasterized=len(x) > 5000,
        )
        particles.set_array(np.array(shown, dtype=float))
        axes.add_collection(particles)
        particles.set_clip_path(patch)


def _mark_joints(bodies: Sequence[Solid], axes: Any) -> None:
    """The marks of joints over the bodies."""
    from matplotlib.collections import LineCollection

    marks = [line for solid in bodies for line in jointmarks.lines(solid)]
    for width, ink in ((2.6, jointmarks.HALO), (1.2, jointmarks.INK)) if marks else ():
        axes.add_collection(
            LineCollection(marks, linewidths=width, colors=[[part / 255 for part in ink]], zorder=1.3),
            autolim=False,
        )


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


def draw_colliders(
    posed: Sequence[Placed],
    scene: Scene,
    axes: Any,
    shown: tuple[int, int] = (0, 1),
    at: Mapping[int, float] | None = None,
) -> None:
    """Fill the parts of the plane of two axes where the signed distances are negative; `at` places it in space."""
    low, high = scene.lower[list(shown)], scene.upper[list(shown)]
    nodes = np.maximum(2, (COLLIDER_NODES * (high - low) / (high - low).max()).astype(int))
    x, y = (np.linspace(a, b, n) for a, b, n in zip(low, high, nodes, strict=True))
    points = np.empty((len(y), len(x), scene.dimension))
    points[..., shown[0]], points[..., shown[1]] = np.meshgrid(x, y)
    for axis, place in (at or {}).items():
        points[..., axis] = place
    for collider in posed:
        phi = collider.distance(points.reshape(-1, scene.dimension))[0].reshape(points.shape[:2])
        if phi.min() < 0:
            axes.contourf(x, y, phi, levels=[phi.min() - 1, 0], colors=["0.8"], zorder=0.5)
        if phi.min() < 0 < phi.max():
            axes.contour(x, y, phi, levels=[0], colors=["0.5"], linewidths=1, zorder=0.6)


def _show(picture: Image, axes: Any) -> tuple[Artist, Artist]:
    """Show an image of the domain; its axes would count pixels, so they are hidden."""
    image = axes.imshow(picture, interpolation="antialiased")
    axes.set_axis_off()
    return image, axes.patch
