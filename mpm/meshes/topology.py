"""The topology of a mesh: shared vertices and edges, and orientations of triangles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def merge_equal(x: Floats) -> tuple[Floats, Ints]:
    """The distinct rows of `x` and, for each row of `x`, which of them it is; -0 equals 0."""
    order = np.lexsort(x.T[::-1])
    new = np.ones(len(x), dtype=bool)
    new[1:] = (x[order[1:]] != x[order[:-1]]).any(axis=1)
    which = np.empty(len(x), dtype=np.int64)
    which[order] = np.cumsum(new) - 1
    return x[order[new]], which


def groups(n: int, pairs: Ints) -> Ints:
    """Number the components of `n` things joined by `pairs` (k, 2), in the order of first members."""
    label = np.arange(n)
    while True:
        a, b = label[pairs[:, 0]], label[pairs[:, 1]]
        if (a == b).all():
            return np.unique(label, return_inverse=True)[1].astype(np.int64)
        np.minimum.at(label, np.maximum(a, b), np.minimum(a, b))
        while (label != label[label]).any():
            label = label[label]


def _permutation_sign(faces: Ints) -> Ints:
    """+1 for triangles whose corners ascend cyclically, -1 for the others."""
    a, b, c = faces.T
    return np.where(((a < b) & (b < c)) | ((b < c) & (c < a)) | ((c < a) & (a < b)), 1, -1)


def drop_repeated(faces: Ints) -> tuple[Ints, int, str]:
    """One of each set of triangles on the same corners; none where as many look one way as the other.

    Returns the triangles, how many repeated an earlier one, and what the user should know. Opposite pairs are
    the wall between two bodies that touch and vanish without a word, unless nothing else would be left.
    """
    corners = np.sort(faces, axis=1)
    order = np.lexsort(corners.T[::-1])
    new = np.ones(len(faces), dtype=bool)
    new[1:] = (corners[order[1:]] != corners[order[:-1]]).any(axis=1)
    if new.all():
        return faces, 0, ""
    start = np.flatnonzero(new)
    net = np.add.reduceat(_permutation_sign(faces)[order], start)
    repeated = np.diff(np.append(start, len(faces))) - 1
    remark = f"{repeated[net != 0].sum()} of {len(faces)} faces repeat others; left out"
    if not net.any():
        net[:] = 1
        remark = "every face occurs twice, looking both ways; one of each was kept"
    elif not repeated[net != 0].any():
        remark = ""
    kept = corners[order[start]]
    kept[net < 0] = kept[net < 0][:, ::-1]
    return kept[net != 0], int(repeated.sum()), remark


@dataclass(frozen=True)
class Edges:
    """The edges of a set of triangles; `face[start[e] : start[e] + count[e]]` are the triangles of edge e."""

    start: Ints
    count: Ints
    net: Ints  # triangles that run along the edge one way, minus those that run the other way
    face: Ints
    pairs: Ints  # (k, 2) triangles that follow each other at an edge
    pair_edge: Ints  # (k,) that edge


def edges_of(faces: Ints) -> Edges:
    a, b = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    low, high = np.minimum(a, b), np.maximum(a, b)
    order = np.lexsort((high, low))
    new = np.ones(len(a), dtype=bool)
    new[1:] = (low[order[1:]] != low[order[:-1]]) | (high[order[1:]] != high[order[:-1]])
    start = np.flatnonzero(new)
    face = order // 3
    pairs = np.stack([face[:-1], face[1:]], axis=1)[~new[1:]]
    return Edges(
        start,
        np.diff(np.append(start, len(a))),
        np.add.reduceat(np.where(a < b, 1, -1)[order], start),
        face,
        pairs,
        (np.cumsum(new) - 1)[1:][~new[1:]],
    )


def orient(faces: Ints, edges: Edges) -> tuple[Ints, bool]:
    """Turn triangles so that both of an edge with just two agree. False: some surface has one side."""
    manifold = edges.count[edges.pair_edge] == 2
    pairs, clash = edges.pairs[manifold], edges.net[edges.pair_edge[manifold]] != 0
    neighbours: dict[int, list[tuple[int, bool]]] = {}
    for (f, g), turned in zip(pairs.tolist(), clash.tolist(), strict=True):
        neighbours.setdefault(f, []).append((g, turned))
        neighbours.setdefault(g, []).append((f, turned))
    turn: dict[int, bool] = {}
    two_sided = True
    for seed in neighbours:
        if seed in turn:
            continue
        turn[seed], front = False, [seed]
        while front:
            f = front.pop()
            for g, turned in neighbours[f]:
                if g not in turn:
                    turn[g] = turn[f] ^ turned
                    front.append(g)
                elif turn[g] != turn[f] ^ turned:
                    two_sided = False
    result = faces.copy()
    turned_faces = [f for f, turned in turn.items() if turned]
    result[turned_faces] = result[turned_faces][:, ::-1]
    return result, two_sided


def tetrahedra(x: Floats, faces: Ints) -> Floats:
    """Signed volumes of the tetrahedra of each triangle and the origin."""
    a, b, c = x[faces[:, 0]], x[faces[:, 1]], x[faces[:, 2]]
    return np.asarray((a * np.cross(b, c)).sum(axis=1) / 6)
