"""Runs side by side: those that there are, or of several values of one parameter."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base.pictures import DEFAULTS, PictureOptions
from mpm.scene.settings import Setting
from mpm.solver.source import Running, is_source
from mpm.viz import color as _color
from mpm.viz import framing, legible
from mpm.viz.figures import (
    Look,
    border,
    brief,
    check_figsize,
    color_bar,
    look,
    mark,
    new_figure,
    scale,
)
from mpm.viz.render import check_cut, check_source, check_surface
from mpm.viz.solid import renderer_of
from mpm.viz.style import Style
from mpm.viz.view import View, check_camera

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 64  # pictures
PANEL = 3.0  # inches
LARGEST = 12.0
FLAT = 2.5  # width over height from which runs are below each other
TITLE = 0.35  # inches above a picture in a stack
WIDE = 0.6  # width of a character over its size


class Comparison(NamedTuple):
    """What `compare_plot` returns. As the last expression of a cell, a notebook shows the figure."""

    figure: Figure
    """Its ``savefig`` writes it."""
    axes: npt.NDArray[Any]
    """(times, values) of matplotlib.axes.Axes."""
    runs: tuple[Any, ...]
    """The simulations at the last time, by value; `mpm.compare` puts their histories together."""

    def __repr__(self) -> str:
        return brief(f"Comparison of {len(self.runs)} runs in a figure", self.figure)

    def _repr_png_(self) -> bytes | None:
        """The picture in a notebook, which by itself shows the figures of pyplot and no others."""
        if hasattr(self.figure, "number") or not hasattr(self.figure, "savefig"):
            return None  # a figure of pyplot, or a part of a figure
        data = io.BytesIO()
        self.figure.savefig(data, format="png")
        return data.getvalue()


@_check.options
@_check.spelled(PictureOptions, DEFAULTS)
def compare_plot(
    source: Running | Callable[[Any], Running] | Mapping[str, Any] | Sequence[Any],
    parameter: str | None = None,
    values: Sequence[Any] | None = None,
    *,
    times: float | Sequence[float] | None = None,
    figsize: tuple[float, float] | None = None,
    figure: Figure | None = None,
    **options: Unpack[PictureOptions],
) -> Comparison:
    """Draw runs side by side: those that there are, or a scene with several values of one parameter. Needs the extra
    ``plot``.

    There is a column per run or value and a row per time, with one colour scale. If the domain is at least 2.5 times
    as wide as high and there is one time, the pictures form a single column; ``axes`` keeps its shape.

    Parameters
    ----------
    source : simulation, callable, or mapping or sequence of runs
        A solver, of which a new one is made for every value, as after a reset in the viewer; it does not change. Or a
        function of a value that returns a solver. Or runs, as `mpm.compare` takes them: simulations of any method, or
        replays and their frames; they are drawn as they are, and the keys of a mapping name them.
    parameter : str
        Of a solver: a setting of the viewer, by its name if only one setting has it (``"hardening"``, ``"dx"``), else
        by its key (``"material 0 E"``). Of a function: what the titles say. Not for runs.
    values : sequence
        At least one, of what the setting allows. Not for runs.
    times : float or sequence of float
        When pictures are taken [s], ascending, after the begin of each run. Of runs only for replays, of which the
        nearest frames are drawn; by default the last ones.
    color, cmap, limits, background, camera, hide, surface, cut
        As in `Simulation.plot`. Default of the limits: those of all pictures.
    figsize : (float, float), optional
        Width and height of a new figure [inches]. Default: as the domain needs.
    figure : matplotlib.figure.Figure, optional
        An empty figure or part of one (`Figure.subfigures`).

    Returns
    -------
    Comparison
        A named tuple: ``figure``, ``axes`` (times, values), and ``runs``, the simulations.

    Raises
    ------
    TypeError, ValueError
        An argument is wrong; for a setting the message names those there are. Every value is checked before the first
        run.
    """
    chosen_size = check_figsize(figsize, figure, "figure")
    if figure is not None and not hasattr(figure, "subplots"):
        raise _check.wrong_type("figure", figure, "a matplotlib.figure.Figure")
    if isinstance(source, (Mapping, list, tuple)):
        titles, runs, instants, states = _as_they_are(source, parameter, values, times)
        advance = False
    else:
        missing = [
            n for n, v in (("parameter", parameter), ("values", values), ("times", times)) if v is None
        ]
        if missing:
            raise TypeError(f"compare_plot() needs {', '.join(f'{name}=' for name in missing)}")
        make = _maker(source, parameter or "")
        instants = _instants(times)
        wanted = _values(values, len(instants))
        runs = [make(value) for value in wanted]
        titles, states, advance = wanted, [[run] for run in runs], True
    chosen = DEFAULTS | options
    styles, views = [], []
    for run in (line[0] for line in states):
        check_source(run)
        styles.append(Style.checked(run, **chosen))
        views.append(check_camera(chosen["camera"], run.scene))
        check_cut(chosen["cut"], run)
        check_surface(chosen["surface"], run)
    chosen["limits"] = None
    quantity = styles[0].quantity
    if advance:
        looks = _run(runs, instants, styles, views, chosen)
    else:
        looks = [
            [
                look(state, style, view(state.time), options=chosen)
                for state, style, view in zip(line, styles, views, strict=True)
            ]
            for line in zip(*states, strict=True)
        ]
    ends = styles[0].limits or _span(quantity, looks)
    first = states[0][0]
    view = views[0](first.time)
    stacked = len(looks) == 1 and framing.aspect(first.scene, border(first), view) >= FLAT
    if figure is None:
        figure = new_figure(chosen_size or _shape(first, len(looks), len(states), view, stacked))
        figure.set_layout_engine("compressed")  # pictures of one shape, close to each other
    axes = (
        figure.subplots(len(states), 1, squeeze=False).T
        if stacked
        else figure.subplots(len(looks), len(states), squeeze=False)
    )
    for row, line in zip(axes, looks, strict=True):
        for one, taken in zip(row, line, strict=True):
            taken.draw(one, ends)
    text = legible.of_figure(figure)
    _label(figure, axes, parameter or "", titles, instants, text, 1 if stacked else len(titles))
    for one in axes.ravel() if first.dimension == 2 else ():
        one.set(xticks=[], yticks=[], xlabel="", ylabel="")
        one.spines[:].set_visible(False)
    if quantity is not None:
        shown = np.concatenate([taken.shown for line in looks for taken in line])
        beyond, label = _color.beyond(shown, ends), _color.label(first, quantity)
        style = scale(ends, styles[0].table)
        mark(color_bar(axes[0, -1], style, label, beyond, of=axes, text=text), first, quantity, ends)
    return Comparison(figure, axes, tuple(runs))


def _as_they_are(
    source: Any, parameter: object, values: object, times: Any
) -> tuple[list[str], list[Any], list[float], list[list[Any]]]:
    """Titles, runs, times, and the states of each run, of runs that are drawn as they are."""
    if isinstance(source, Mapping):
        named = {_check.text("source", name): run for name, run in source.items()}
    else:
        named = {f"run {k}": run for k, run in enumerate(source)}
        kinds = [getattr(run, "_kind", "") for run in source]
        if all(kinds) and len(set(kinds)) == len(kinds):
            named = dict(zip(kinds, source, strict=True))
    instants = [] if times is None else _instants(times)
    rows = max(1, len(instants))
    if not 1 <= len(named) * rows <= MOST:
        raise ValueError(f"source, times: make {len(named) * rows} pictures; must be >= 1 and <= {MOST}")
    states = []
    for name, run in named.items():
        series = not is_source(run) and hasattr(run, "at") and hasattr(run, "times")
        if not series and not is_source(run):
            raise _check.wrong_type(f"source[{name!r}]", run, "a simulation, a replay or a frame")
        if not series and instants:
            raise ValueError(
                f"times = {_check.shown(times)}: must not be given with {name!r}, which is one state"
            )
        if series and not len(run):
            raise ValueError(f"source[{name!r}] has no frames: must have at least one")
        states.append([run.at(float(run.times[0]) + t) for t in instants] or [run[-1]] if series else [run])
    for name, value in (("parameter", parameter), ("values", values)):
        if value is not None:
            raise ValueError(
                f"{name} = {_check.shown(value)}: must not be given with runs: they are drawn as they are"
            )
    dimensions = {line[0].dimension for line in states}
    if len(dimensions) > 1:
        raise ValueError("source: has runs in 2-D and 3-D; must be of one dimension")
    return list(named), list(named.values()), instants, states


def _maker(source: Any, parameter: str) -> Callable[[Any], Running]:
    """What makes a solver for a value, which it checks."""
    name = _check.text("parameter", parameter)
    if not hasattr(source, "_rebuilt"):
        if not callable(source):
            raise _check.wrong_type("source", source, "a simulation or a function of a value")

        def called(value: Any) -> Running:
            made = source(value)
            renderer_of("builtin", made)
            if not hasattr(made, "step"):
                raise _check.wrong_type("source(value)", made, "a simulation")
            return cast(Running, made)

        return called
    setting = _setting(source._settings(), name)

    def rebuilt(value: Any) -> Running:
        try:
            checked = setting.check(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"values: {error}") from None
        return cast(Running, source._rebuilt({setting.key: checked}))

    return rebuilt


def _setting(settings: Sequence[Setting], name: str) -> Setting:
    keys = {setting.key: setting for setting in settings}
    if name in keys:
        return keys[name]
    found = [setting for setting in settings if setting.name == name]
    if len(found) > 1:
        several = ", ".join(repr(setting.key) for setting in found)
        raise ValueError(f"parameter = {name!r}: must be one of {several}")
    if not found:
        names = tuple(dict.fromkeys((*keys, *(setting.name for setting in settings))))
        _check.choice("parameter", name, names)
    return found[0]


def _instants(times: Any) -> list[float]:
    several = [times] if np.ndim(times) == 0 else list(times)
    if not several:
        raise ValueError("times: must be at least one")
    checked = [_check.number("times", time, low=0, unit="s") for time in several]
    if any(b <= a for a, b in pairwise(checked)):
        raise ValueError(f"times = {_check.shown(times)}: must ascend")
    return checked


def _values(values: Any, rows: int) -> list[Any]:
    if isinstance(values, (str, Mapping)) or not isinstance(values, (Sequence, np.ndarray)):
        raise _check.wrong_type("values", values, "a sequence")
    several = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not 1 <= len(several) * rows <= MOST:
        raise ValueError(f"values, times: make {len(several) * rows} pictures; must be >= 1 and <= {MOST}")
    return several


def _run(
    runs: list[Any],
    instants: list[float],
    styles: list[Style],
    views: list[Callable[[float], View]],
    options: Mapping[str, Any],
) -> list[list[Look]]:
    """Run each to the times; what is to be seen there, by time and value."""
    looks: list[list[Look]] = [[] for _ in instants]
    for run, style, view in zip(runs, styles, views, strict=True):
        start = run.time
        for row, instant in zip(looks, instants, strict=True):
            if (duration := start + instant - run.time) > 0:
                run.run(duration)
            row.append(look(run, style, view(run.time), options=options))
    return looks


def _span(color: str | None, looks: list[list[Look]]) -> tuple[float, float]:
    if color is None:
        return 0.0, 1.0
    there = [taken for line in looks for taken in line if len(taken.shown)]
    busy = [taken for taken in there if not _color.idle(taken.shown, taken.noise)] or there[:1]
    spans = [_color.span(color, taken.shown, taken.noise) for taken in busy]
    return (min(low for low, _ in spans), max(high for _, high in spans)) if spans else (0.0, 1.0)


def _shape(sim: Running, rows: int, columns: int, view: View, stacked: bool) -> tuple[float, float]:
    """Inches of a figure whose pictures fit the domain."""
    wide, high = framing.panel(sim.scene, border(sim), PANEL, view)
    if stacked:
        rows, columns, high = columns, 1, high + TITLE
    width, height = wide * columns + 1, high * rows + 0.5
    shrink = min(1.0, LARGEST / width, LARGEST / height)
    return max(3.0, shrink * width), max(2.0, shrink * height)


def _label(
    figure: Any,
    axes: npt.NDArray[Any],
    parameter: str,
    values: list[Any],
    instants: list[float],
    size: float,
    columns: int,
) -> None:
    """Values above the columns, with the parameter's name or, where there is no room, below it; times beside."""
    name, points = parameter.replace("_", " "), legible.points(size)
    titles = [f"{name} = {_shown(value)}" if name else _shown(value) for value in values]
    room = 0.8 * figure.bbox.width / figure.dpi / columns  # inches
    if max(map(len, titles)) * WIDE * points / 72 > room:
        titles = [_shown(value) for value in values]
        if name:
            figure.suptitle(name, fontsize=points)
    for one, title in zip(axes[0], titles, strict=True):
        one.set_title(title, fontsize=points)
    for row, instant in zip(axes, instants, strict=False):
        if len(instants) > 1:
            row[0].annotate(
                f"t = {instant:.4g} s",
                (0, 0.5),
                xytext=(-3, 0),
                xycoords="axes fraction",
                textcoords="offset points",
                rotation=90,
                ha="right",
                va="center",
                fontsize=points,
            )


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
