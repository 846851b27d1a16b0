"""Signed distances to a mesh on a lattice around it."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from mpm import _core
from mpm.base import _check
from mpm.base.config import threads_for
from mpm.meshes.solid import Solid

Floats = NDArray[np.float64]

MOST_NUMBERS = 1 << 27  # of a lattice: a gigabyte
MANY_NUMBERS = 1 << 25
CHUNK = 1 << 20  # nodes that are measured together
FEW = 1000  # points: work for one thread


def nearest_faces(
    x: Floats, faces: NDArray[np.integer], points: Floats
) -> tuple[Floats, NDArray[np.int32], Floats]:
    """Distance (m,) of each point (m, 3), the nearest face (m,), and the weights of its corners there (m, 3)."""
    distance, face, weights = _core.mesh_distances(
        np.ascontiguousarray(x, dtype=np.float64),
        np.ascontiguousarray(faces, dtype=np.int32),
        np.ascontiguousarray(points, dtype=np.float64),
        threads_for(len(points), FEW),
    )
    return (
        np.frombuffer(distance),
        np.frombuffer(face, dtype=np.int32),
        np.frombuffer(weights).reshape(-1, 3),
    )


def lattice_around(
    lower: Floats,
    upper: Floats,
    spacing: float,
    margin: float,
    region: tuple[Floats, Floats],
    *,
    numbers: int = 1,
) -> tuple[Floats, tuple[int, ...]]:
    """First node and numbers of nodes of the lattice that covers what a box and a region (lower and upper corner) have
    in common and a margin around it, `numbers` at each node.

    Raises
    ------
    ValueError
        That would take more than a gigabyte.

    Warns
    -----
    UserWarning
        It takes more than a quarter of that.
    """
    lower, upper = np.clip(lower, *region), np.clip(upper, *region)
    nodes = np.ceil((upper - lower + 2 * margin) / spacing) + 1
    count = float(np.prod(nodes)) * numbers
    size = f"{' x '.join(f'{n:.0f}' for n in nodes)} distances, {spacing:.3g} m apart: {8e-9 * count:.2g} GB"
    if not count <= MOST_NUMBERS:
        raise ValueError(
            f"shape: would need {size}, above {8e-9 * MOST_NUMBERS:.2g} GB; choose a larger dx, or a mesh or a motion "
            "with less of it in the domain"
        )
    if count > MANY_NUMBERS:
        warnings.warn(f"shape: needs {size}", UserWarning, stacklevel=_check.levels_to_caller())
    return lower - margin, tuple(int(n) for n in nodes)


def slab_nodes(lower: Floats, spacing: float, nodes: tuple[int, ...], slabs: slice) -> Floats:
    """Positions of the nodes in `slabs` along the first axis, the last axis fastest, (m, d)."""
    axes = [lower[a] + spacing * np.arange(n) for a, n in enumerate(nodes)]
    axes[0] = axes[0][slabs]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(nodes))


def distance_lattice(
    solid: Solid, spacing: float, margin: float, region: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Signed distances on the lattice around what of a solid lies in a region, exact at its nodes.

    Parameters
    ----------
    solid
        A mended mesh.
    spacing
        Of the nodes [m].
    margin
        How far the lattice reaches beyond what is covered at least [m].
    region
        Lower and upper corner of the box in which distances are asked for [m].

    Returns
    -------
    lower : (3,)
        The first node [m].
    values : (nx, ny, nz)
        Distances [m], negative inside.
    """
    x, faces = solid.x / solid.scale, np.concatenate([solid.closed, solid.open])
    lower, nodes = lattice_around(x.min(axis=0), x.max(axis=0), spacing, margin, region)
    values = np.empty(nodes)
    per_pass = max(1, CHUNK // (nodes[1] * nodes[2]))
    for first in range(0, nodes[0], per_pass):
        slabs = slice(first, first + per_pass)
        points = slab_nodes(lower, spacing, nodes, slabs)
        distance, _, _ = nearest_faces(x, faces, points)
        values[slabs] = np.where(solid.contains(points), -distance, distance).reshape(-1, *nodes[1:])
    return lower, values
