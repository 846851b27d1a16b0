"""Plots of what a run has recorded, over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.solver.totals import UNITS, History, per_depth
from mpm.solver.totals import columns as split
from mpm.viz import legible
from mpm.viz.figures import axes_or_new, brief, check_figsize, new_axes, rule

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

ENERGIES = {"kinetic": "#264f9c", "elastic": "#2fb295", "gravitational": "#d9832b", "energy": "#1d2129"}
INKS = ("#264f9c", "#d9832b", "#2fb295", "#b0413e", "#7d5ba6", "#5b8c2a", "#1d2129", "#c77cb0")
DASHES = ("-", "--", ":", "-.")
MOST_AXES = 6
SIZE = (7.2, 4.2)  # inches


@_check.options
class Lines(tuple["Artist", ...]):
    """Lines of one figure."""

    __slots__ = ()

    def __repr__(self) -> str:
        return brief(f"{len(self)} lines in a figure", self.figure if self else None)

    @property
    def figure(self) -> Any:
        """The figure that they are in; its ``savefig`` writes it."""
        return self[0].figure


def history(
    source: Any,
    columns: Sequence[str] | str | None = None,
    *,
    x: str = "time",
    y: Sequence[str] | str | None = None,
    ax: Axes | None = None,
    figsize: tuple[float, float] | None = None,
) -> tuple[Artist, ...]:
    """Draw columns of a history over time, or over another column; needs the extra ``plot``.

    Parameters
    ----------
    source : Simulation, History, Replay, or mapping of str to these
        What has a history: any solver, its `history`, or a recording: the totals of its frames. The runs of a mapping
        are drawn over each other: a colour per run, a dash per column.
    columns : str or sequence of str
        Names in the history, default the energies; or ``"force:NAME"``, the force of a collider on the material;
        ``"displacement:NAME"``, how far its prescribed motion has moved it, of a simulation; and ``"wall_force"``. A
        vector is drawn by components; ``"momentum_y"`` is one of them. Columns of different units are drawn below each
        other, each unit in axes of its own, in at most six.
    x : str, optional
        What they are drawn over: ``"time"``, or one of the above. Of a vector it is the component that varies most.
    y : str or sequence of str, optional
        The same as `columns`, to be written beside `x`: ``history(sim, x="displacement:plate", y="force:plate")``.
    ax : matplotlib.axes.Axes, optional
        Axes for columns of one unit. Default: those of a new figure.
    figsize : (float, float), optional
        Width and height of the new figure [inches].

    Returns
    -------
    tuple of matplotlib.lines.Line2D
        The lines in the order of the columns and their components, run by run; their ``figure`` is what they are in:
        ``history(sim).figure.savefig("energies.png")``.

    Raises
    ------
    TypeError, ValueError
        The source has no history, lacks a column, or columns of several units are to be drawn into one `ax`; the
        mapping is empty, or its runs are not of one dimension.
    """
    if columns is not None and y is not None:
        raise ValueError(f"y = {_check.shown(y)}: must not be given with columns")
    chosen = y if columns is None else columns
    argument = "columns" if y is None else "y"
    return _history(source, tuple(ENERGIES) if chosen is None else chosen, ax, figsize, x, argument)


def _history(
    source: Any,
    columns: Sequence[str] | str,
    ax: Axes | None,
    figsize: tuple[float, float] | None,
    x: str = "time",
    argument: str = "columns",
) -> tuple[Artist, ...]:
    chosen_size = check_figsize(figsize, ax)
    tables, dimension = _tables(source)
    several = {run: _chosen(table, columns, argument) for run, table in tables.items()}
    over = {run: _axis(table, x) for run, table in tables.items()}
    chosen = next(iter(several.values()))
    by_unit: dict[str, list[str]] = {}
    for name in chosen:
        by_unit.setdefault(unit_of(name, dimension), []).append(name)
    if ax is not None and len(by_unit) > 1:
        raise ValueError(
            f"ax: the columns have the units {', '.join(by_unit)}; must be of one unit to share axes"
        )
    if len(by_unit) > MOST_AXES:
        raise ValueError(f"columns: have {len(by_unit)} units; must be at most {MOST_AXES}")
    if ax is None:
        width, height = SIZE
        size = chosen_size or (width, height * (1 + 0.55 * (len(by_unit) - 1)))
        axes = new_axes(size, rows=len(by_unit))
    else:
        axes = [axes_or_new(ax, SIZE)]
    lines: dict[tuple[str, str], Artist] = {}
    for one, (unit, names) in zip(axes, by_unit.items(), strict=True):
        for place, run in enumerate(tables):
            parts = {name: several[run][name] for name in names}
            label, values = over[run]
            label = f"{label.replace('_', ' ')} [{unit_of(label, dimension)}]".replace(" [1]", "")
            drawn = _draw(one, values, parts, unit, run, place, label)
            lines |= {(run, name): line for name, line in drawn.items()}
    for one in axes[:-1]:
        one.set_xlabel("")
        one.tick_params(labelbottom=False)
    return Lines(lines[run, name] for run in tables for name in chosen)


def draw_tables(
    tables: Mapping[str, Mapping[str, FloatArray]],
    columns: Sequence[str] | str,
    dimension: int,
    *,
    ax: Axes | None = None,
    figsize: tuple[float, float] | None = None,
) -> tuple[Artist, ...]:
    """Draw columns of several tables, by run and name, each with its ``"time"``."""
    return _history(_Tables(tables, dimension), columns, ax, figsize)


@dataclass(frozen=True, slots=True)
class _Tables:
    runs: Mapping[str, Mapping[str, FloatArray]]
    dimension: int


def plot_history(
    history: History, *, ax: Axes | None = None, figsize: tuple[float, float] | None = None
) -> tuple[Artist, ...]:
    """The energies of a run over time: `mpm.plot.history` of the first four columns.

    Parameters
    ----------
    history : History
        `Simulation.history`.
    ax : matplotlib.axes.Axes, optional
        Default: those of a new figure.
    figsize : (float, float), optional
        Width and height of the new figure [inches].

    Returns
    -------
    tuple of matplotlib.artist.Artist
        The lines: kinetic, elastic, gravitational energy and their sum.
    """
    if not isinstance(history, History):
        raise _check.wrong_type("history", history, "the history of a simulation")
    return _history(history, tuple(ENERGIES), ax, figsize)


def _tables(source: Any) -> tuple[dict[str, Mapping[str, FloatArray]], int]:
    """Columns by run and name, and the dimension; the name of a run alone is empty."""
    if isinstance(source, _Tables):
        return dict(source.runs), source.dimension
    if not isinstance(source, Mapping) or isinstance(source, History):
        table, dimension = _table(source)
        return {"": table}, dimension
    found = {_check.text("source", run): _table(one) for run, one in source.items()}
    dimensions = {dimension for _, dimension in found.values()}
    if len(dimensions) != 1:
        raise ValueError("source: must be at least one run, and all of one dimension")
    return {run: table for run, (table, _) in found.items()}, dimensions.pop()


def _table(source: Any) -> tuple[Mapping[str, FloatArray], int]:
    """Columns by name, and the dimension."""
    found = source if isinstance(source, History) else getattr(source, "history", None)
    if isinstance(found, History):
        return _WithMotion(found, getattr(source, "scene", None)), int(found["momentum"].shape[1])
    if isinstance(totals := getattr(source, "totals", None), Mapping) and hasattr(source, "times"):
        return {"time": source.times, **totals}, int(source.dimension)
    raise _check.wrong_type("source", source, "a simulation, its history or a replay")


def _derived(table: Mapping[str, FloatArray]) -> list[str]:
    """Names of forces and displacements that are found from a table."""
    forces = [f"force:{name.removeprefix('impulse:')}" for name in table if name.startswith("impulse:")]
    walls = ["wall_force"] if "wall_impulse" in table else []
    moved = table.moved() if isinstance(table, _WithMotion) else []
    return [*forces, *walls, *moved]


class _WithMotion(Mapping[str, FloatArray]):
    """A history, and the displacements of the colliders of its scene."""

    def __init__(self, history: History, scene: Any) -> None:
        self._history, self._scene = history, scene

    def moved(self) -> list[str]:
        """Names of the displacements."""
        colliders = () if self._scene is None else self._scene.colliders
        return [f"displacement:{collider.name}" for collider in colliders]

    def __getitem__(self, name: str) -> FloatArray:
        if name not in self.moved():
            return self._history[name]
        collider = self._scene.colliders[self.moved().index(name)]
        time = self._history["time"]
        if collider.motion is None:
            return np.zeros((len(time), self._scene.dimension))
        return np.array([collider.motion._pose(float(t))[0] for t in time]).reshape(len(time), -1)

    def __iter__(self) -> Iterator[str]:
        return iter(self._history)

    def __len__(self) -> int:
        return len(self._history)


def _chosen(
    table: Mapping[str, FloatArray], columns: object, argument: str = "columns"
) -> dict[str, FloatArray]:
    """The columns and components that are asked for, each (records,)."""
    names = (columns,) if isinstance(columns, str) else columns
    if not isinstance(names, Sequence):
        raise _check.wrong_type(argument, columns, "a name or a sequence of names")
    table = {name: table[name] for name in (*table, *_derived(table)) if name != "time"}
    parts = {name: tuple(_parts(name, table[name])) for name in table}
    known = dict.fromkeys((*parts, *(part for several in parts.values() for part in several)))
    found: dict[str, FloatArray] = {}
    for name in names:
        chosen = _check.choice(argument, name, tuple(known))
        wanted = parts.get(chosen, (chosen,))
        owner = next(column for column, several in parts.items() if wanted[0] in several)
        values = split({owner: np.asarray(table[owner])})
        found |= {part: values[part] for part in wanted}
    if not found:
        raise ValueError(f"{argument}: must be at least one name")
    return found


def _parts(name: str, values: FloatArray) -> Iterator[str]:
    yield from split({name: np.asarray(values)})


def unit_of(name: str, dimension: int) -> str:
    """The unit of a column or of a component; ``"1"`` where it has none."""
    if name.startswith("displacement:"):
        return "m"
    begins = {"impulse:": "N s", "torque:": "N m s", "force:": "N", "wall_force": "N", "work:": "J"}
    for begin, unit in begins.items():
        if name.startswith(begin):
            return per_depth(unit, dimension)
    whole = name if name in UNITS else name.rpartition("_")[0]
    return per_depth(UNITS.get(whole, "1"), dimension)


def _axis(table: Mapping[str, FloatArray], x: object) -> tuple[str, FloatArray]:
    """Name and values of what is drawn along the horizontal axis."""
    name = _check.text("x", x)
    if name == "time":
        return name, np.asarray(table["time"])
    found = _chosen(table, name, "x")
    if len(found) > 1:
        name = max(found, key=lambda part: float(np.ptp(found[part])) if len(found[part]) else 0.0)
        return name, found[name]
    return next(iter(found.items()))


def _draw(
    axes: Any,
    time: FloatArray,
    columns: Mapping[str, FloatArray],
    unit: str,
    run: str,
    place: int,
    label_of_time: str,
) -> dict[str, Artist]:
    """Draw columns of one unit; `run` names the run if there are several, of which it is number `place`."""
    size = legible.factor(axes)
    lines: dict[str, Artist] = {}
    inks = [ink for ink in INKS if ink not in {ENERGIES.get(name) for name in columns}] or list(INKS)
    others = 0
    for name, values in columns.items():
        ink = ENERGIES.get(name)
        if ink is None:
            ink, others = inks[others % len(inks)], others + 1
        label, width = ("sum", 1.8) if name == "energy" and len(columns) > 1 else (name, 1.3)
        label, dash = label.replace("_", " "), "-"
        if run:
            ink, dash = INKS[place % len(INKS)], DASHES[len(lines) % len(DASHES)]
            label = f"{run}: {label}" if len(columns) > 1 else run
        (lines[name],) = axes.plot(
            time, values, color=ink, linestyle=dash, linewidth=width * size, label=label
        )
    if not len(time):
        axes.text(0.5, 0.5, "no records", transform=axes.transAxes, ha="center", color="0.5")
    what = _common(list(columns)).replace("_", " ")
    axes.set(xlabel=label_of_time, xmargin=0, ylabel=f"{what} [{unit}]".strip() if unit != "1" else what)
    rule(axes)
    legible.text(axes, size)
    legible.numbers(axes, size)
    legible.legend(axes, size)
    return lines


def _common(names: Sequence[str]) -> str:
    """What columns of one unit have in common: the name of one, ``"energy"``, or the vector that they belong to."""
    if len(names) == 1:
        return names[0]
    if all(name in ENERGIES for name in names):
        return "energy"
    wholes = {name.rpartition("_")[0] for name in names}
    return wholes.pop() if len(wholes) == 1 else ""
