"""Signed distances on a lattice: a shape, and the form that the core gets of shapes without a formula."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mpm.shapes.arguments import as_array, as_number, as_vector, called_as
from mpm.shapes.distances import describe, measure
from mpm.shapes.geometry import padded
from mpm.shapes.shape import Bools, Floats, Region, Shape


@called_as("DistanceGrid(lower=(0, 0), spacing=0.5, values=[[1, 1, 1], [1, -0.5, 1], [1, 1, 1]])")
class DistanceGrid(Shape):
    """The region where a signed distance, given on a lattice, is negative; d-linear between the nodes.

    Where a value at the rim of the lattice is not positive, the shape continues beyond the rim unchanged.

    Parameters
    ----------
    lower : (d,) array_like
        The first node [m]; d = 2 or 3.
    spacing
        Distance of neighbouring nodes [m], above 0.
    values : array_like of d axes
        Distance [m] at node lower + spacing · (i, j, …), negative inside; at least 2 nodes along each axis. Sign and
        zero set matter most: the gradient gives the normal of a collider's surface.

    Raises
    ------
    ValueError
        An argument is out of range or of the wrong shape, or no value is negative, or all values are.
    """

    _fields = ("lower", "spacing", "values")
    lower: Floats
    spacing: float
    values: Floats
    _extent: Floats

    def __init__(self, lower: ArrayLike, spacing: float, values: ArrayLike) -> None:
        first = as_vector(lower, "lower")
        step = as_number(spacing, "spacing", positive=True)
        d = len(first)
        phi = as_array(values, "values", f"of {d} axes")
        if phi.ndim != d or min(phi.shape) < 2:
            raise ValueError(f"values: expected {d} axes with 2 nodes or more, got the shape {phi.shape}")
        if not (phi < 0).any() or (phi < 0).all():
            raise ValueError("values: expected negative ones inside and others outside, got one kind only")
        last = first + step * (np.array(phi.shape) - 1)
        self._set(lower=first, spacing=step, values=phi.copy(), dimension=d, _extent=np.array([first, last]))

    def __repr__(self) -> str:
        nodes = " x ".join(str(n) for n in self.values.shape)
        return f"DistanceGrid({nodes} nodes, spacing={self.spacing:.10g})"

    def _contains(self, x: Floats) -> Bools:
        return measure(describe(self, self.spacing), x)[0] < 0

    def _support(self, directions: Floats) -> Floats:
        if ending_faces(self.values) != 4**self.dimension - 1:
            return np.full(len(directions), np.inf)
        # Cells with such a corner hold all of it.
        inside = np.argwhere(self.values <= 0)
        low = self.lower + self.spacing * (inside.min(axis=0) - 1)
        high = self.lower + self.spacing * (inside.max(axis=0) + 1)
        return np.asarray(np.maximum(directions * low, directions * high).sum(axis=1))

    _exact_bounds = False

    def _distance(self, finest: float, coarsest: float, region: Region) -> tuple[str, Floats]:
        return "lattice", lattice_numbers(self.lower, self.spacing, self.values)


def ending_faces(values: Floats) -> int:
    """The faces of the lattice beyond which nothing reaches, as every value there is positive: a bit for each, lower
    and upper face of x first."""
    faces = [np.take(values, end, axis=axis) for axis in range(values.ndim) for end in (0, -1)]
    return sum(1 << k for k, face in enumerate(faces) if (face > 0).all())


def steepness(values: Floats, axes: int, spacing: float) -> float:
    """The largest change per metre of what is d-linear between nodes along the first `axes` axes."""
    slopes = [np.abs(np.diff(values, axis=axis)).max(initial=0) / spacing for axis in range(axes)]
    return float(np.sqrt(np.square(slopes).sum() * np.prod(values.shape[axes:])))


def lattice_header(lower: Floats, spacing: float, nodes: tuple[int, ...], ends: int, slope: float) -> Floats:
    """The core's description of a lattice (``csrc/contact/lattice.h``)."""
    return np.concatenate([padded(lower), [spacing, *(*nodes, 1)[:3], float(ends), slope]])


def lattice_numbers(lower: Floats, spacing: float, values: Floats) -> Floats:
    """The core's numbers of distances on a lattice (``csrc/contact/shape.h``)."""
    slope = steepness(values, values.ndim, spacing)
    header = lattice_header(lower, spacing, values.shape, ending_faces(values), slope)
    return np.concatenate([header, values.ravel()])
