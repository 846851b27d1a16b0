"""The elements of a mesh, and what they hold."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from mpm._core import FEM
from mpm.base import _check, advice
from mpm.base._check import FloatArray
from mpm.fem.meshing import in_parts
from mpm.materials import Material
from mpm.solver import derived

Array = npt.NDArray[Any]

FIELDS = {"nodes": "1", "F": "1", "J": "1", "mass": "kg", "volume": "m³", "material": "1"}


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

    A parameter that varies over the elements, such as E, is a live array of its name, shape (m,), in the precision of
    the simulation: values written to it take effect at the next step. It is NaN where the material has one value;
    writing there is refused.
    """

    __slots__ = ("_fixed", "_parameters", "_shapes", "_x")

    _parameters: Parameters
    _shapes: Callable[[], FloatArray]

    def __init__(
        self,
        x: FloatArray,
        shapes: Callable[[], FloatArray],
        fixed: Mapping[str, Array],
        parameters: Parameters,
    ) -> None:
        put = functools.partial(object.__setattr__, self)
        put("_x", x)  # positions of the nodes
        put("_shapes", shapes)  # gives D_m^-1 (m, d, d)
        put("_fixed", fixed)
        put("_parameters", parameters)

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the arrays."""
        return (*FIELDS, *self._parameters.units)

    @property
    def units(self) -> dict[str, str]:
        """Units of the arrays in 3-D."""
        return FIELDS | self._parameters.units

    def __len__(self) -> int:
        return len(self._fixed["nodes"])

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
            return _check.frozen(np.asarray(edges @ self._shapes()))
        if name == "J":
            return _check.frozen(np.asarray(np.linalg.det(self["F"])))
        if name in self._parameters.units:
            return self._parameters[name]
        if name not in self._fixed:
            near = advice.nearest(name, self.fields)
            raise KeyError(f"no field {name!r}; fields: {', '.join(self.fields)}{near}")
        return self._fixed[name]

    def __setitem__(self, name: str, values: npt.ArrayLike) -> None:
        """Write values of a parameter that varies: (m,), or one for all elements whose material varies in it."""
        view = self[name]
        if name not in self._parameters.units:
            raise ValueError(f"sim.elements.{name} is read-only")
        given = _check.array(name, values, np.shape(values) and view.shape, finite=False)
        view[...] = np.where(np.isnan(view), view, given) if given.ndim == 0 else given

    def __getattr__(self, name: str) -> Array:
        if name.startswith("__") or name not in self.fields:
            raise AttributeError(f"Elements has no attribute {name!r}{advice.nearest(name, self.fields)}")
        return self[name]

    def __setattr__(self, name: str, values: npt.ArrayLike) -> None:
        # `sim.elements.E *= 2` ends here, with the view that was changed in place.
        if name not in self.fields:
            raise AttributeError(f"Elements has no field {name!r}{advice.nearest(name, self.fields)}")
        self[name] = values

    def __repr__(self) -> str:
        return f"<Elements: {len(self)}, fields {' '.join(self.fields)}>"


class Parameters:
    """The parameters that vary over the elements: live arrays, or copies, which unlike views are no possible writes."""

    def __init__(self, core: FEM, live: bool = True) -> None:
        self._core, self._live = core, live

    @property
    def units(self) -> dict[str, str]:
        """The unit of each by its name."""
        return {row["name"]: row["unit"] for row in self._core.element_fields()[1:]}

    def __getitem__(self, name: str) -> Array:
        field = self._core.element_field(name)
        if self._live:
            return np.asarray(cast(Any, field))
        data, dtype, shape = field.copy()
        return np.frombuffer(data, dtype=dtype).reshape(shape)


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

    def inverse(some: npt.NDArray[np.int32]) -> FloatArray:
        return np.asarray(np.linalg.inv(np.swapaxes(rest[some[:, 1:]] - rest[some[:, :1]], 1, 2)))

    d = rest.shape[1]
    return in_parts(inverse, nodes, (d, d))


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


def boundary_faces(cells: npt.NDArray[Any], of: bool = False) -> Any:
    """The faces (k, d) that belong to one element only. Seen from outside they turn counter-clockwise; in 2-D the
    inside is on the left of the way from the first node to the second. `of`: also the elements (k,).
    """
    d = cells.shape[1] - 1
    sides = [[0, 1], [1, 2], [2, 0]] if d == 2 else [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]]
    faces = cells[:, sides].reshape(-1, d)
    _, index, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    chosen = np.sort(index[count == 1])
    return (faces[chosen], chosen // len(sides)) if of else faces[chosen]
