"""One parameter, several values, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.scene.settings import Setting
from mpm.solver.source import Running
from mpm.viz import color as _color
from mpm.viz import framing, legible
from mpm.viz.figures import (
    Look,
    border,
    check_figsize,
    check_picture,
    color_bar,
    look,
    mark,
    new_figure,
    scale,
)
from mpm.viz.render import check_cut
from mpm.viz.solid import renderer_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 64  # pictures
PANEL = 3.0  # inches
LARGEST = 12.0
WIDE = 0.6  # width of a character over its size


class Comparison(NamedTuple):
    """What `compare_plot` returns."""

    figure: Figure
    """Its ``savefig`` writes it."""
    axes: npt.NDArray[Any]
    """(times, values) of matplotlib.axes.Axes."""
    runs: tuple[Any, ...]
    """The simulations at the last time, by value; `mpm.compare` puts their histories together."""


@_check.options
def compare_plot(
    source: Running | Callable[[Any], Running],
    parameter: str,
    values: Sequence[Any],
    *,
    times: float | Sequence[float],
    color: str = "speed",
    limits: tuple[float, float] | None = None,
    cut: Mapping[str, float] | None = None,
    figsize: tuple[float, float] | None = None,
    figure: Figure | None = None,
) -> Comparison:
    """Run a scene with several values of one parameter and draw them side by side; needs the extra ``plot``.

    There is a column per value and a row per time, with one colour scale.

    Parameters
    ----------
    source : Simulation or callable
        A solver, of which a new one is made for every value, as after a reset in the viewer; it does not change. Or a
        function of a value that returns a solver.
    parameter : str
        Of a solver: a setting of the viewer, by its name if only one setting has it (``"hardening"``, ``"dx"``), else
        by its key (``"material 0 E"``). Of a function: what the titles say.
    values : sequence
        At least one, of what the setting allows.
    times : float or sequence of float
        When pictures are taken [s], ascending, after the begin of each run.
    color, limits, cut
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
    make = _maker(source, parameter)
    instants = _instants(times)
    wanted = _values(values, len(instants))
    chosen_size = check_figsize(figsize, figure, "figure")
    if figure is not None and not hasattr(figure, "subplots"):
        raise _check.wrong_type("figure", figure, "a matplotlib.figure.Figure")
    runs = [make(value) for value in wanted]
    for run in runs:
        check_picture(run, color, limits)
        check_cut(cut, run)
    looks = _run(runs, instants, color, cut)
    ends = _color.check_limits(limits) or _span(color, looks)
    if figure is None:
        figure = new_figure(chosen_size or _shape(runs[0], len(instants), len(runs)))
        figure.set_layout_engine("compressed")  # pictures of one shape, close to each other
    axes = figure.subplots(len(instants), len(runs), squeeze=False)
    for row, line in zip(axes, looks, strict=True):
        for one, taken in zip(row, line, strict=True):
            taken.draw(one, ends)
    text = legible.of_figure(figure)
    _label(figure, axes, parameter, wanted, instants, text)
    for one in axes.ravel() if runs[0].dimension == 2 else ():
        one.set(xticks=[], yticks=[], xlabel="", ylabel="")
        one.spines[:].set_visible(False)
    shown = np.concatenate([taken.shown for line in looks for taken in line])
    beyond, label = _color.beyond(shown, ends), _color.label(runs[0], color)
    mark(color_bar(axes[0, -1], scale(ends), label, beyond, of=axes, text=text), runs[0], color, ends)
    return Comparison(figure, axes, tuple(runs))


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
    runs: list[Any], instants: list[float], color: str, cut: Mapping[str, float] | None
) -> list[list[Look]]:
    """Run each to the times; what is to be seen there, by time and value."""
    looks: list[list[Look]] = [[] for _ in instants]
    for run in runs:
        start = run.time
        for row, instant in zip(looks, instants, strict=True):
            if (duration := start + instant - run.time) > 0:
                run.run(duration)
            row.append(look(run, color, cut=cut))
    return looks


def _span(color: str, looks: list[list[Look]]) -> tuple[float, float]:
    spans = [_color.span(color, taken.shown) for line in looks for taken in line if len(taken.shown)]
    return (min(low for low, _ in spans), max(high for _, high in spans)) if spans else (0.0, 1.0)


def _shape(sim: Running, rows: int, columns: int) -> tuple[float, float]:
    """Inches of a figure whose pictures fit the domain."""
    wide, high = framing.panel(sim.scene, border(sim), PANEL)
    width, height = wide * columns + 1, high * rows + 0.5
    shrink = min(1.0, LARGEST / width, LARGEST / height)
    return max(3.0, shrink * width), max(2.0, shrink * height)


def _label(
    figure: Any, axes: npt.NDArray[Any], parameter: str, values: list[Any], instants: list[float], size: float
) -> None:
    """Values above the columns, with the parameter's name or, where there is no room, below it; times beside."""
    name, points = parameter.replace("_", " "), legible.points(size)
    titles = [f"{name} = {_shown(value)}" for value in values]
    room = 0.8 * figure.bbox.width / figure.dpi / len(values)  # inches
    if max(map(len, titles)) * WIDE * points / 72 > room:
        titles = [_shown(value) for value in values]
        figure.suptitle(name, fontsize=points)
    for one, title in zip(axes[0], titles, strict=True):
        one.set_title(title, fontsize=points)
    for row, instant in zip(axes, instants, strict=True):
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
