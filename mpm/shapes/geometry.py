"""Small vector geometry for several shapes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mpm.shapes.arguments import brief

Floats = NDArray[np.float64]


def distance(x: Floats) -> Floats:
    return np.asarray(np.sqrt((x**2).sum(axis=1)))


def ball_volume(radius: float, dimension: int) -> float:
    return np.pi * radius**2 if dimension == 2 else 4 / 3 * np.pi * radius**3


def unit(vector: Floats, name: str) -> Floats:
    largest = np.abs(vector).max()
    if largest == 0:
        raise ValueError(f"{name}: expected a vector that is not zero, got {brief(vector)}")
    scaled = vector / largest
    return np.asarray(scaled / np.sqrt((scaled**2).sum()))


def cos_sin(angle: float) -> tuple[float, float]:
    """Exact for multiples of a right angle, so that boxes remain boxes."""
    quarters = angle / (np.pi / 2)
    whole = round(quarters)
    if abs(quarters - whole) <= 4e-16 * abs(quarters):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[whole % 4]
    return float(np.cos(angle)), float(np.sin(angle))


def rotation(angle: float, axis: Floats) -> Floats:
    """Rodrigues' formula."""
    cos, sin = cos_sin(angle)
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(cos * np.eye(3) + sin * cross + (1 - cos) * np.outer(axis, axis))


def similarity(matrix: Floats) -> float | None:
    """The factor by which a matrix lengthens every vector; None if it is not the same for all."""
    gram = matrix.T @ matrix
    square = float(np.trace(gram)) / len(matrix)
    return (
        float(np.sqrt(square))
        if np.allclose(gram, square * np.eye(len(matrix)), rtol=0, atol=1e-13 * square)
        else None
    )


def padded(*vectors: Floats) -> Floats:
    """Vectors one after the other, with three components each: the core's points, in 2-D with z = 0."""
    return np.concatenate([np.pad(vector, (0, 3 - len(vector))) for vector in vectors])


def share_inside(phi: Floats, normal: Floats, size: Floats | float) -> Floats:
    """The share of boxes (m,) on the inner side of planes.

    Parameters
    ----------
    phi : (m,)
        Signed distances of their middles from the planes [m], negative inside.
    normal : (m, d)
        Unit normals of the planes, outwards.
    size
        Edges of the boxes [m], (d,), or one for all.

    References
    ----------
    R. Scardovelli, S. Zaleski, Analytical relations connecting linear interfaces and volume fractions in rectangular
    grids, J. Comput. Phys. 164 (2000) 228-237.
    """
    m = np.sort(np.abs(normal) * size, axis=1)
    # A plane nearly along an axis: far from the ends of that axis, the share does not depend on this.
    m = np.maximum(m, 1e-9 * m[:, -1:])
    total = m.sum(axis=1)
    deep = total / 2 - phi
    a = np.clip(np.minimum(deep, total - deep), 0, None)  # the smaller side; a box whose corner is at a = 0
    if m.shape[1] == 2:
        b, c = m.T
        share = np.where(a < b, a**2 / (2 * b * c), (a - b / 2) / c)
    else:
        b, c, e = m.T
        six = 6 * b * c * e
        corner = a**3 / six
        edge = a * (a - b) / (2 * c * e) + b**2 / (6 * c * e)
        cut = b**2 * (b - 3 * a) + c**2 * (c - 3 * a)
        two = (a**2 * (3 * (b + c) - a) + cut) / six
        three = (a**2 * (3 * total - 2 * a) + cut + e**2 * (e - 3 * a)) / six
        slab = (a - (b + c) / 2) / e
        share = np.select(
            [a < b, a < c, a < np.minimum(b + c, e), a >= b + c], [corner, edge, two, slab], three
        )
    return np.asarray(np.where(deep > total / 2, 1 - share, share))
