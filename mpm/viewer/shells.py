"""Surfaces around the particles of a run in space, and the shapes of rigid bodies, as triangles for the page."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.solver.source import Source
from mpm.solver.state import State
from mpm.viewer.bodies import spans_of
from mpm.viz import isosurface, solids


def offered(one: Source) -> bool:
    """Whether a source has surfaces around particles: in space, without cells, and with the extra ``surface``."""
    return (
        one.dimension == 3 and one._cells() is None and importlib.util.find_spec("pysplashsurf") is not None
    )


@dataclass(frozen=True, slots=True)
class Shells:
    """The surfaces of all bodies of a run."""

    x: FloatArray  # (3 k, d) [m]: corners of triangles, one body after the other
    normals: FloatArray  # (3 k, 3) there; none in 2-D
    values: FloatArray  # (3 k,) of the quantity there
    counts: list[int]  # corners per body
    whole: bool  # of all bodies, not of rigid ones alone


def rigid(one: Source, state: State, values: npt.NDArray[np.floating], skins: solids.Skins) -> Shells | None:
    """The shapes of the rigid bodies of a state, with a quantity (n,); None where there are none."""
    spans = spans_of(one)
    known = {solid.first: solid for solid in one._solids()} if spans else {}
    if not known:
        return None
    x, ids = state.fields["x"], one._state(("id",)).fields["id"]
    d = x.shape[1]
    nothing = np.empty((0, d)), np.empty((0, 3)), np.empty(0)
    parts = []
    for first, _ in spans:
        solid = known.get(first)
        rows = slice(0, 0) if solid is None else solid.rows(ids)
        if solid is None or rows.start == rows.stop:
            parts.append(nothing)
            continue
        skin = skins.of(solid, ids[rows], np.asarray(x[rows], dtype=np.float64), values=True)
        shown = skin.shown(solid, ids[rows], np.asarray(values[rows], dtype=np.float64))
        normals = skin.normals @ solid.rotation.T if d == 3 else skin.normals
        parts.append((solid.placed(skin.corners), normals, shown))
    places, normals, colours = (np.concatenate(found) for found in zip(*parts, strict=True))
    return Shells(places, normals, colours, [len(part[0]) for part in parts], whole=False)


def around(one: Source, state: State, values: npt.NDArray[np.floating], hard: Shells | None = None) -> Shells:
    """The surfaces around the particles of a state, with a quantity (n,); of `hard` bodies their shapes.

    A body that has none, such as a particle far from all others would make it, is left out.
    """
    rows = [slice(None)]
    if spans := spans_of(one):
        ids = one._state(("id",)).fields["id"]
        rows = [slice(*np.searchsorted(ids, (first, first + count))) for first, count in spans]
    x = np.asarray(state.fields["x"], dtype=np.float64)
    shown = np.asarray(values, dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # a volume that is not kept is that at rest, which only shifts the surface
        filled = isosurface.volumes(one._state(isosurface.fields_of(one)), one._kinds())
    there = np.asarray(np.isfinite(x).all(axis=1))
    counts = hard.counts if hard is not None else [0] * len(rows)
    ends = np.cumsum(counts)
    parts = []
    for part, count, end in zip(rows, counts, ends, strict=True):
        own = slice(end - count, end)
        parts.append(
            (hard.x[own], hard.normals[own], hard.values[own])
            if hard is not None and count
            else _of_body(x[part], filled[part], shown[part], there[part])
        )
    places, normals, colours = (np.concatenate(found) for found in zip(*parts, strict=True))
    return Shells(places, normals, colours, [len(part[0]) for part in parts], whole=True)


def _of_body(
    x: FloatArray, filled: FloatArray, shown: FloatArray, there: npt.NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Corners, normals and values."""
    try:
        found = isosurface.around(x[there], filled[there], shown=shown[there])
    except ValueError:  # its lattice would be too large
        return np.empty((0, 3)), np.empty((0, 3)), np.empty(0)
    corners = found.triangles.ravel()
    assert found.values is not None
    return (
        found.vertices[corners],
        normals_of(found.vertices, found.triangles)[corners],
        found.values[corners],
    )


def normals_of(vertices: FloatArray, triangles: npt.NDArray[np.int32]) -> FloatArray:
    """Unit vectors (n, 3) at vertices: of the areas of their triangles."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)
    sums = np.stack(
        [np.bincount(triangles.ravel(), np.repeat(area[:, k], 3), minlength=len(vertices)) for k in range(3)],
        axis=1,
    )
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1), 1e-300)[:, None])
