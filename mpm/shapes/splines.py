"""Distances on a lattice with continuous normals and curvatures: cubic B-splines through the values of the nodes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from mpm import _core
from mpm.shapes.distances import Program
from mpm.shapes.shape import Floats

__all__ = ["Spline", "spline_of"]

POLE = 3**0.5 - 2  # of the recursion that finds the coefficients
TERMS = 30  # |POLE|^TERMS is below the rounding of doubles
MAP = 23  # numbers of the map of a node: matrix, inverse, shift, least and largest factor
HEADER = 9  # numbers of a lattice before its values, see ``csrc/contact/lattice.h``


@dataclass(frozen=True, eq=False, slots=True)
class Spline:
    """The cubic spline through the values of a lattice, which continues as its mirror image beyond the rim."""

    lower: Floats  # (d,) [m]
    spacing: float  # [m]
    coefficients: Floats  # with a rim of two nodes
    inverse: Floats  # (d, d), from the domain's frame to that of the lattice
    shift: Floats  # (d,): of the lattice in the domain [m]
    cell: float  # longest side of a cell in the domain [m]

    def at(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Values (m,), gradients (m, d) and second derivatives (m, d, d) at x (m, d) in the domain."""
        m, d = x.shape
        nodes = np.array(self.coefficients.shape) - 4
        cells = ((x - self.shift) @ self.inverse.T - self.lower) / self.spacing
        cells = np.clip(cells, 0, nodes - 1)
        cell = np.minimum(cells.astype(np.int64), nodes - 2)
        f = (cells - cell)[:, :, None]
        near, far = (1 - f) ** 3 / 6, f**3 / 6
        weight = np.concatenate(
            [near, 2 / 3 - f**2 + f**3 / 2, 2 / 3 - (1 - f) ** 2 + (1 - f) ** 3 / 2, far], axis=2
        )
        slope = np.concatenate(
            [-((1 - f) ** 2) / 2, -2 * f + 1.5 * f**2, 2 * (1 - f) - 1.5 * (1 - f) ** 2, f**2 / 2], axis=2
        )
        bend = np.concatenate([1 - f, 3 * f - 2, 1 - 3 * f, f], axis=2)
        value, gradient, second = np.zeros(m), np.zeros((m, d)), np.zeros((m, d, d))
        for offset in itertools.product(range(4), repeat=d):
            c = self.coefficients[tuple((cell + offset + 1).T)]
            of = [[part[:, a, offset[a]] for a in range(d)] for part in (weight, slope, bend)]

            def product(*orders: int, of: list[list[Floats]] = of, c: Floats = c) -> Floats:
                return np.asarray(c * np.prod([of[order][a] for a, order in enumerate(orders)], axis=0))

            value += product(*[0] * d)
            for a in range(d):
                gradient[:, a] += product(*(int(k == a) for k in range(d)))
                for b in range(d):
                    second[:, a, b] += product(*(int(k == a) + int(k == b) for k in range(d)))
        inverse = self.inverse / self.spacing
        return value, gradient @ inverse, np.einsum("mab,ac,bd->mcd", second, inverse, inverse)


def spline_of(program: Program, d: int) -> Spline | None:
    """The spline of a shape that is one lattice, moved or not; None: it is another shape."""
    if len(program.nodes) != 1 or _core.shape_kinds()[program.nodes[0, 0]] != "lattice":
        return None
    numbers, inverse, shift, largest = program.numbers, np.eye(d), np.zeros(d), 1.0
    if program.nodes[0, 1]:
        inverse, shift = numbers[9:18].reshape(3, 3)[:d, :d], numbers[18 : 18 + d]
        largest = float(numbers[MAP - 1])
        numbers = numbers[MAP:]
    count = numbers[4 : 4 + d].astype(np.int64)
    values = numbers[HEADER:].reshape(count)
    for axis in range(d):
        values = np.moveaxis(_coefficients(np.moveaxis(values, axis, 0)), 0, axis)
    spacing = float(numbers[3])
    return Spline(numbers[:d], spacing, np.pad(values, 2, mode="reflect"), inverse, shift, largest * spacing)


def _coefficients(values: Floats) -> Floats:
    """Of the cubic B-splines through values along the first axis (Unser 1999, box 2)."""
    n = len(values)
    far = np.arange(TERMS) % max(2 * n - 2, 1)
    mirrored = values[np.where(far < n, far, 2 * n - 2 - far)]
    c = np.empty_like(values)
    c[0] = np.tensordot(POLE ** np.arange(TERMS), mirrored, axes=1)
    for k in range(1, n):
        c[k] = values[k] + POLE * c[k - 1]
    c[-1] = POLE / (POLE**2 - 1) * (c[-1] + POLE * c[-2])
    for k in range(n - 2, -1, -1):
        c[k] = POLE * (c[k + 1] - c[k])
    return 6 * c
