"""Shapes as signed distances: the nodes of a shape, which the core evaluates (``csrc/contact/shape.h``)."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mpm import _core
from mpm.shapes.geometry import padded
from mpm.shapes.shape import Complement, Floats, Region, Shape, _Combined, _Moved

DEPTH = 32  # distances that the core can hold at once


@dataclass(frozen=True)
class Program:
    """A shape in postfix order."""

    nodes: NDArray[np.int64]
    """(k, 3): kind, whether a map comes first, numbers."""
    numbers: Floats
    depth: int
    """Distances that wait to be joined, at most."""


@functools.cache
def _kind(name: str) -> int:
    return _core.shape_kinds().index(name)


def _operator(name: str) -> NDArray[np.int64]:
    return np.array([[_kind(name), 0, 0]], dtype=np.int64)


def describe(shape: Shape, dx: float, region: Region | None = None) -> Program:
    """The nodes of a shape.

    Parameters
    ----------
    shape
        A solid.
    dx
        Cell size [m]: shapes without a formula are sampled twice as finely.
    region
        Lower and upper corner of a box [m], maybe infinite, that contains all queries: outside, a mesh continues as it
        is 4 dx beyond. Default: all of space.

    Raises
    ------
    ValueError
        The shape has no distance: it is nested too deeply, or its lattice would be too large.
    """
    d = shape.dimension
    box = (np.full(d, -np.inf), np.full(d, np.inf)) if region is None else region
    program = _describe(shape, np.eye(d), np.zeros(d), dx, box)
    if program.depth > DEPTH:
        raise ValueError(f"shape: its combinations are nested more than {DEPTH} deep")
    return program


def measure(program: Program, x: Floats) -> tuple[Floats, Floats]:
    """Signed distance (m,) and unit normal (m, d) at x (m, d)."""
    phi, normal = _core.shape_distance(
        x.shape[1], program.nodes, program.numbers, np.ascontiguousarray(x, dtype=np.float64)
    )
    return np.frombuffer(phi).copy(), np.frombuffer(normal).reshape(x.shape).copy()


def _describe(shape: Shape, matrix: Floats, shift: Floats, dx: float, region: Region) -> Program:
    """The nodes of all matrix·x + shift, x in `shape`."""
    if isinstance(shape, _Moved):
        return _describe(shape.shape, matrix @ shape.matrix, matrix @ shape.shift + shift, dx, region)
    if isinstance(shape, Complement):
        inner = _describe(shape.shape, matrix, shift, dx, region)
        return Program(np.concatenate([inner.nodes, _operator("complement")]), inner.numbers, inner.depth)
    if isinstance(shape, _Combined):
        parts = [_describe(part, matrix, shift, dx, region) for part in shape._operands()]
        return _joined(parts, "union" if shape._unites else "intersection")
    return _leaf(shape, matrix, shift, dx, region)


def _joined(parts: list[Program], operator: str) -> Program:
    """Parts joined one by one, the deepest first, so that the stack stays low."""
    parts = sorted(parts, key=lambda part: -part.depth)
    nodes = [parts[0].nodes]
    for part in parts[1:]:
        nodes += [part.nodes, _operator(operator)]
    depth = max(part.depth + (k > 0) for k, part in enumerate(parts))
    return Program(np.concatenate(nodes), np.concatenate([part.numbers for part in parts]), depth)


def _box_around_mapped(box: Region, matrix: NDArray[np.floating[Any]], shift: Floats) -> Region:
    """The smallest box that contains all matrix·(x − shift), x in `box`, which may be infinite."""
    with np.errstate(invalid="ignore"):  # 0 times infinity is replaced
        ends = [np.where(matrix == 0, 0, matrix * (end - shift)) for end in box]
    return np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)


def _leaf(shape: Shape, matrix: Floats, shift: Floats, dx: float, region: Region) -> Program:
    d = shape.dimension
    factors = np.linalg.svd(matrix, compute_uv=False)
    own_region = _box_around_mapped(region, np.linalg.inv(matrix), shift)
    kind, numbers = shape._distance(dx / float(factors[0]), dx / float(factors[-1]), own_region)
    moved = not np.array_equal(matrix, np.eye(d)) or shift.any()
    if moved:
        forwards, backwards = np.eye(3), np.eye(3)
        forwards[:d, :d], backwards[:d, :d] = matrix, np.linalg.inv(matrix)
        ends = [factors[-1], factors[0]]
        numbers = np.concatenate([forwards.ravel(), backwards.ravel(), padded(shift), ends, numbers])
    node = np.array([[_kind(kind), moved, len(numbers)]], dtype=np.int64)
    return Program(node, np.ascontiguousarray(numbers, dtype=np.float64), 1)
