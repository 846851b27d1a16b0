"""Which vertices of a picture belong to which body: one body after the other, as the ids and nodes of bodies are."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.solver.source import Source
from mpm.solver.state import State
from mpm.viz.style import Style

MOST = 100  # a longer list would help nobody

Entry = tuple[str, int, int]
"""A body: its name, and how many vertices it has among points or triangles, and among those of a surface."""


def spans_of(one: Source) -> list[tuple[int, int]]:
    """The first id or node of each body and how many it has, if there are some bodies that follow one another."""
    spans = list(one._bodies().values())
    follow = all(a[0] + a[1] <= b[0] for a, b in itertools.pairwise(spans))
    return spans if len(spans) <= MOST and follow else []


def choices(one: Source) -> list[list[str]]:
    """The bodies that can be shown or hidden, each with the colour that pictures give it, ``"rrggbb"``."""
    spans = spans_of(one)
    if not spans:
        return []
    style = Style.checked(one)
    state = one._state(style.fields)
    inks = style.table[style.levels(style.shown(state, grains=False), (0, 1))]
    ids = state.fields["id"] if "id" in state.fields else np.arange(state.count)
    rows = np.minimum(np.searchsorted(ids, [first for first, _ in spans]), max(0, len(ids) - 1))
    colors = inks[rows] if len(inks) else np.zeros((len(spans), 3), np.uint8)
    return [
        [name, "".join(f"{part:02x}" for part in ink)]
        for name, ink in zip(one._bodies(), colors.tolist(), strict=True)
    ]


def _owners(spans: list[tuple[int, int]], nodes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The number of the body of each node."""
    return np.asarray(np.searchsorted([first for first, _ in spans], nodes, side="right") - 1)


def by_body(one: Source, faces: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The triangles (k, 3) of a surface, one body after the other."""
    spans = spans_of(one)
    return faces[np.argsort(_owners(spans, faces[:, 0]), kind="stable")] if spans else faces


def bodies_of(
    one: Source, state: State, faces: npt.NDArray[Any] | None, around: list[int] | None = None
) -> list[Entry]:
    """The bodies of a run in the order of its vertices, with the triangles of its surface if it is in space and has
    cells, or with the numbers of corners of surfaces around them; nothing where there is nothing to choose."""
    spans = spans_of(one)
    if not spans:
        return []
    surface = around or [0] * len(spans)
    cells = one._cells()
    if cells is not None:  # ids are those of nodes
        drawn = cells[:, 0] if one.dimension == 2 else np.arange(state.count)
        points = np.bincount(_owners(spans, drawn), minlength=len(spans)) * (3 if one.dimension == 2 else 1)
        if faces is not None:
            surface = (3 * np.bincount(_owners(spans, faces[:, 0]), minlength=len(spans))).tolist()
    else:
        ids = state.fields["id"] if "id" in state.fields else one._state(("id",)).fields["id"]
        ends = np.searchsorted(ids, [(first, first + count) for first, count in spans])
        points = ends[:, 1] - ends[:, 0]
    names = one._bodies()
    return [(name, *counts) for name, *counts in zip(names, points.tolist(), surface, strict=True)]
