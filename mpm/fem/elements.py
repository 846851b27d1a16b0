"""The elements of a mesh, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm import _check, derived
from mpm._check import FloatArray
from mpm.materials import Material

Array = npt.NDArray[Any]

FIELDS = {"nodes": "1", "F": "1", "J": "1", "mass": "kg", "volume": "m3", "material": "1"}


class Elements:
    """The elements of a simulation: triangles in 2-D, tetrahedra in 3-D. Row k is always the same element.

    Attributes
    ----------
    nodes : ndarray of int32, shape (m, d + 1), read-only
        Their nodes: rows of `Simulation.particles`.
    F : ndarray, shape (m, d, d), read-only
        Deformation gradient at the present positions, constant in an element.
    J : ndarray, shape (m,), read-only
        det F; below 0 where an element is inverted.
    volume, mass : ndarray, shape (m,), read-only
        Rest volume [m³] and mass [kg]; in 2-D per metre of depth.
    material : ndarray of int32, shape (m,), read-only
        Index of the material in `Simulation.materials`.
    """

    __slots__ = ("_fixed", "_shape", "_x")

    def __init__(self, x: FloatArray, shape: FloatArray, fixed: Mapping[str, Array]) -> None:
        self._x = x  # positions of the nodes
        self._shape = shape  # (m, d, d), D_m^-1
        self._fixed = fixed

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the arrays."""
        return tuple(FIELDS)

    @property
    def units(self) -> dict[str, str]:
        """Units of the arrays in 3-D."""
        return dict(FIELDS)

    def __len__(self) -> int:
        return len(self._shape)

    def __getitem__(self, name: str) -> Array:
        """The array of that name.

        Raises
        ------
        KeyError
            There is none.
        """
        if name == "F":
            corners = self._x[self._fixed["nodes"]]
            edges = np.swapaxes(corners[:, 1:] - corners[:, :1], 1, 2)
            return _check.frozen(np.asarray(edges @ self._shape))
        if name == "J":
            return _check.frozen(np.asarray(np.linalg.det(self["F"])))
        if name not in self._fixed:
            near = _check.nearest(name, FIELDS)
            raise KeyError(f"no field {name!r}; fields: {', '.join(FIELDS)}{near}")
        return self._fixed[name]

    def __getattr__(self, name: str) -> Array:
        if name.startswith("__") or name not in FIELDS:
            raise AttributeError(f"Elements has no attribute {name!r}{_check.nearest(name, FIELDS)}")
        return self[name]

    def __repr__(self) -> str:
        return f"<Elements: {len(self)}, fields {' '.join(FIELDS)}>"


def fixed(
    nodes: npt.NDArray[np.int32], volume: FloatArray, mass: FloatArray, material: npt.NDArray[np.int32]
) -> dict[str, Array]:
    """The arrays that no step changes, read-only."""
    arrays: dict[str, Array] = {"nodes": nodes, "volume": volume, "mass": mass, "material": material}
    for array in arrays.values():
        array.flags.writeable = False
    return arrays


def inverse_shapes(rest: FloatArray, nodes: npt.NDArray[np.int32]) -> FloatArray:
    """D_m^-1 (m, d, d) of cells at rest."""
    edges = np.swapaxes(rest[nodes[:, 1:]] - rest[nodes[:, :1]], 1, 2)
    return np.asarray(np.linalg.inv(edges))


def at_elements(name: str, elements: Elements, materials: Sequence[Material]) -> FloatArray:
    """A quantity of the elements that the law and F decide, (m, …)."""
    return derived.compute(name, elements, materials)


def at_nodes(values: FloatArray, elements: Elements, n: int) -> FloatArray:
    """The volume-weighted means (n, …) of the values of the elements (m, …) at each node."""
    nodes, volume = elements["nodes"], elements["volume"]
    corners = nodes.shape[1]
    weight = np.bincount(nodes.ravel(), weights=np.repeat(volume, corners), minlength=n)
    columns = values.reshape(len(values), -1)
    mean = np.empty((n, columns.shape[1]))
    for k in range(columns.shape[1]):
        share = np.repeat(columns[:, k] * volume, corners)
        mean[:, k] = np.bincount(nodes.ravel(), weights=share, minlength=n) / weight
    return mean.reshape(n, *values.shape[1:])
