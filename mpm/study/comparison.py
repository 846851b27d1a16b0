"""Histories of several runs on one time axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from mpm.base import _check, advice
from mpm.base._check import FloatArray
from mpm.solver.totals import History

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from mpm.handles.solver import Solver

__all__ = ["Comparison", "compare"]

COLUMNS = ("kinetic", "elastic", "gravitational", "energy")
MOST_SAMPLES = 10_000_000


class Comparison(NamedTuple):
    """Histories of several runs at common times; `compare` makes it. ``comparison["kinetic"]`` is the column of that
    name, and ``comparison["time"]`` the times: as in a history.

    Attributes
    ----------
    names : tuple of str
        Names of the runs.
    time : ndarray, shape (t,)
        Times [s], common to all runs.
    values : mapping of str to ndarray, shape (runs, t), of vectors (runs, t, d)
        Each column by name, in the unit of the history; rows in the order of `names`.
    """

    names: tuple[str, ...]
    """Of the runs."""
    time: FloatArray
    """(t,) [s], common to all runs."""
    values: Mapping[str, FloatArray]
    """By column: (runs, t), or (runs, t, d) of a vector."""

    @property
    def times(self) -> FloatArray:
        """`time`, by the name that a `Replay` has for it."""
        return self.time

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return tuple.__getitem__(self, key)
        if key == "time":
            return self.time
        if key not in self.values:
            names = ("time", *self.values)
            raise KeyError(f"no column {key!r}; there are {', '.join(names)}{advice.nearest(key, names)}")
        return self.values[key]

    @_check.options
    def plot(
        self,
        columns: Sequence[str] | str | None = None,
        *,
        ax: Axes | None = None,
        figsize: tuple[float, float] | None = None,
    ) -> tuple[Artist, ...]:
        """Draw columns over time, a colour per run; needs the extra ``plot``.

        Parameters
        ----------
        columns : str or sequence of str, optional
            Names of `values`, or of components, such as ``"momentum_y"``. Default: all.
        ax, figsize
            As in `mpm.plot.history`.

        Returns
        -------
        tuple of matplotlib.lines.Line2D
            The lines, run by run.
        """
        from mpm.viz.curves import draw_tables

        tables = {
            name: {"time": self.time, **{column: rows[k] for column, rows in self.values.items()}}
            for k, name in enumerate(self.names)
        }
        chosen = tuple(self.values) if columns is None else columns
        return draw_tables(tables, chosen, getattr(self.values, "dimension", 3), ax=ax, figsize=figsize)

    def __getattr__(self, name: str) -> NoReturn:
        # Python calls this only if the ordinary look-up has failed.
        if name in self.values:
            hint = f"; it is a column: comparison[{name!r}]"
        else:
            hint = advice.nearest(name, (*self._fields, "times"))
        raise AttributeError(f"Comparison has no attribute {name!r}{hint}", name=name, obj=self)

    def __repr__(self) -> str:
        low, high = self.time[[0, -1]]
        return (
            f"<Comparison of {', '.join(self.names)}: {', '.join(self.values)} at {len(self.time)} times, "
            f"{low:g} s to {high:g} s>"
        )


@_check.options
def compare(
    runs: Sequence[Solver] | Mapping[str, Solver],
    *,
    columns: Sequence[str] = COLUMNS,
    samples: int = 200,
) -> Comparison:
    """Put the histories of runs on one time axis, whatever their methods and steps are.

    Parameters
    ----------
    runs : sequence or mapping of solvers
        Simulations of any kind, with at least two records each, the start included; the keys of a mapping name
        them. A sequence names them by their kind, ``"simulation"``, ``"fem"``, ``"sph"``, with a number where
        two have the same.
    columns : sequence of str
        Names of columns that all histories have.
    samples : int
        Number of times, evenly spaced over what all histories cover; at least 2.

    Returns
    -------
    Comparison
        A named tuple: ``names``, ``time`` (t,), and ``values``, the columns by name, interpolated linearly: (runs, t),
        of vectors (runs, t, d).

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type; a history lacks a column or has fewer than two records; the histories have no
        time in common, or vectors of different lengths.
    """
    named = _named(runs)
    count = _check.integer("samples", samples, low=2, high=MOST_SAMPLES)
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise _check.wrong_type("columns", columns, "a sequence of names")
    histories = {name: run.history for name, run in named.items()}
    times = {name: np.asarray(history["time"]) for name, history in histories.items()}
    for name, time in times.items():
        if len(time) < 2:
            raise ValueError(f"runs: the history of {name!r} has {len(time)} records; must be at least 2")
    low, high = max(time[0] for time in times.values()), min(time[-1] for time in times.values())
    if not low < high:
        raise ValueError(f"runs: their histories have no time in common ({low:g} s to {high:g} s)")
    axis = np.linspace(low, high, count)
    values = _Values({column: _column(column, histories, times, axis) for column in columns})
    values.dimension = max(run.dimension for run in named.values())
    return Comparison(tuple(named), axis, values)


class _Values(dict[str, FloatArray]):
    """Columns by name, with the dimension of the runs, on which units depend."""

    dimension: int = 3


def _named(runs: Any) -> dict[str, Solver]:
    from mpm.handles.solver import Solver

    if isinstance(runs, Mapping):
        named = {_check.text("runs", name): run for name, run in runs.items()}
    elif isinstance(runs, Sequence) and not isinstance(runs, (str, bytes)):
        kinds = [getattr(run, "_kind", "") for run in runs]
        named = {
            kind if kinds.count(kind) == 1 else f"{kind} {kinds[:k].count(kind)}": run
            for k, (kind, run) in enumerate(zip(kinds, runs, strict=True))
        }
    else:
        raise _check.wrong_type("runs", runs, "a sequence or a mapping of simulations")
    if not named:
        raise ValueError("runs: must be at least one")
    for name, run in named.items():
        if not isinstance(run, Solver):
            raise _check.wrong_type(f"runs[{name!r}]", run, "a simulation")
    return named


def _column(
    column: str, histories: Mapping[str, History], times: Mapping[str, FloatArray], axis: FloatArray
) -> FloatArray:
    found = []
    for name, history in histories.items():
        values = np.asarray(history[_check.choice("columns", column, tuple(history))], dtype=np.float64)
        parts = values.reshape(len(values), -1)
        rows = np.stack([np.interp(axis, times[name], part) for part in parts.T], axis=1)
        found.append(rows[:, 0] if values.ndim == 1 else rows)
    if len({rows.shape for rows in found}) > 1:
        raise ValueError(f"columns: {column!r} has not the same number of components in all runs")
    return np.stack(found)
