"""Rigid bodies in recordings: their shapes, once, and where these are in every frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.io.description import Reader, Tree, Writer, listing, mapping, understood
from mpm.scene.scene import Scene
from mpm.shapes.distances import Program, measure
from mpm.solver.solids import Solid

__all__ = ["Kept", "at", "checked", "describe", "poses", "restore"]

LARGEST = 1e3  # lengths of the domain: a shape is no larger, and no farther away
TURNED = 1e-3  # largest entry of RᵀR − I of a rotation


@dataclass(frozen=True, eq=False, slots=True)
class Kept:
    """A shape from a file: `mpm.solver.solids.Outlined`."""

    nodes: npt.NDArray[np.int64]
    numbers: FloatArray
    reference: FloatArray


def describe(solids: Sequence[Solid], writer: Writer) -> list[Tree]:
    """What stays the same of bodies."""
    return [
        {
            "first": one.first,
            "count": one.count,
            "nodes": writer.value(one.shape.nodes),
            "numbers": writer.value(one.shape.numbers),
            "reference": writer.value(one.shape.reference),
            "lower": writer.value(one.lower),
            "upper": writer.value(one.upper),
            "spacing": float(one.spacing),
            "joint": None if one.joint is None else writer.part(one.joint),
        }
        for one in solids
    ]


def restore(tree: object, arrays: Mapping[str, npt.NDArray[Any]], scene: Scene) -> list[Solid]:
    """Bodies at no place, from a description; none from that of an older file.

    Raises
    ------
    FileFormatError
        It makes no sense.
    """
    reader, size = Reader(arrays), float((scene.upper - scene.lower).max())
    given = mapping(tree, "scene").get("solids", [])
    return understood(
        "the rigid bodies",
        lambda: [_solid(one, reader, size, scene.dimension) for one in listing(given, "solids")],
    )


def _solid(tree: object, reader: Reader, size: float, d: int) -> Solid:
    given = mapping(tree, "solid")
    most = 2**62
    vectors = {
        name: _check.array(name, reader.value(given[name]), (d,)) for name in ("reference", "lower", "upper")
    }
    lower, upper = vectors["lower"], vectors["upper"]
    if not (np.abs([lower, upper]).max() <= LARGEST * size and (upper > lower).all()):
        raise ValueError("the box of a shape makes no sense")
    nodes, numbers = reader.value(given["nodes"]), reader.value(given["numbers"])
    if not isinstance(nodes, np.ndarray) or nodes.dtype != np.int64:
        raise ValueError("the nodes of a shape make no sense")
    shape = Kept(nodes, np.atleast_1d(np.asarray(numbers, dtype=np.float64)), vectors["reference"])
    measure(Program(shape.nodes, shape.numbers, 0), np.zeros((1, d)))  # the core checks them
    return Solid(
        _check.integer("first", given["first"], low=0, high=most),
        _check.integer("count", given["count"], low=1, high=most),
        shape=shape,
        lower=lower,
        upper=upper,
        spacing=_check.number(
            "spacing", given["spacing"], low=0, low_open=True, high=LARGEST * size, unit="m"
        ),
        position=np.full(d, np.nan),
        rotation=np.full((d, d), np.nan),
        joint=None if given["joint"] is None else reader.joint(given["joint"]),
    )


def poses(solids: Sequence[Solid], of: Sequence[int], d: int) -> FloatArray:
    """Positions and rotations (k, d + d²) of the bodies with these first ids, of those there are; NaN of others."""
    known = {one.first: one for one in solids}
    none = np.full(d + d * d, np.nan)
    rows = (known.get(first) for first in of)
    found = [none if one is None else np.concatenate([one.position, one.rotation.ravel()]) for one in rows]
    return np.asarray(found)


def checked(rows: npt.NDArray[Any], count: int, scene: Scene) -> FloatArray:
    """Poses (frames, count, d + d²) of all frames from what a file has; a ValueError if they make no sense."""
    d = scene.dimension
    width = d + d * d
    if rows.ndim != 2 or rows.shape[1] != count * width or rows.dtype != np.float64:
        raise ValueError(f"poses of rigid bodies: {rows.shape} of {rows.dtype} for {count} bodies")
    found = rows.reshape(len(rows), count, width)
    there = found[np.isfinite(found).all(axis=2)]
    far = LARGEST * float((scene.upper - scene.lower).max())
    middle = (scene.lower + scene.upper) / 2
    if not (np.abs(there[:, :d] - middle) <= far).all() or not (np.abs(there[:, d:]) <= 2).all():
        raise ValueError("poses of rigid bodies: a position or rotation makes no sense")
    R = there[:, d:].reshape(-1, d, d)
    if not (np.abs(np.einsum("nki,nkj->nij", R, R) - np.eye(d)) <= TURNED).all():
        raise ValueError("poses of rigid bodies: a matrix is no rotation")
    return found


def at(solids: Sequence[Solid], rows: FloatArray) -> list[Solid]:
    """The bodies where poses (k, d + d²) place them, those that are there."""
    placed = []
    for one, row in zip(solids, rows, strict=True):
        d = len(one.lower)
        if np.isfinite(row).all():
            placed.append(replace(one, position=row[:d].copy(), rotation=row[d:].reshape(d, d).copy()))
    return placed
