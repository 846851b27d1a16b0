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
