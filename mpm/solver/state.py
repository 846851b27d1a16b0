"""The part of a state that files hold: the particles' fields, in two or three dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base.fieldtable import components

Array = npt.NDArray[Any]

# Components of vectors, symmetric tensors and tensors in space, by their number; of the symmetric ones in VTK's order.
ENDS = {
    3: components(3)["vector"],
    6: ("xx", "yy", "zz", "xy", "yz", "xz"),
    9: components(3)["tensor"],
}


FACES = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))  # of a tetrahedron with positive volume


@dataclass(frozen=True, slots=True)
class State:
    """The particles at a time.

    Attributes
    ----------
    time : float
        [s].
    step : int
        Steps taken so far.
    dimension : int
        d, 2 or 3.
    fields : mapping of ndarray
        (n,), (n, d) or (n, d, d) each; ``"x"`` is there.
    out_of_plane : mapping
        The zz components of 2-D tensors, where they are not 0.
    cells : ndarray or None
        The rows of the corners (m, 3) of triangles or (m, 4) of tetrahedra, whose nodes the particles are.
    """

    time: float
    step: int
    dimension: int
    fields: Mapping[str, Array]
    out_of_plane: Mapping[str, Any]
    cells: Array | None = None

    @property
    def count(self) -> int:
        """n."""
        return len(self.fields["x"])

    def of(self, rows: npt.NDArray[np.bool_]) -> State:
        """The same of some of the particles."""
        out_of_plane = {k: v[rows] if np.ndim(v) else v for k, v in self.out_of_plane.items()}
        fields = {k: v[rows] for k, v in self.fields.items()}
        return replace(self, fields=fields, out_of_plane=out_of_plane, cells=None)

    def faces(self) -> Array | None:
        """The corners (k, 3) of the triangles; of tetrahedra, those on the surface, counter-clockwise from outside."""
        if self.cells is None or self.cells.shape[1] == 3:
            return self.cells
        return surface(self.cells)

    def spatial(self, name: str) -> Array:
        """The field as files for space want it: (n,), or with the components of `ENDS`; the plane is z = 0."""
        values = self.fields[name]
        if values.ndim == 1:
            return values
        if values.ndim == 2 and values.shape[1] != self.dimension:
            symmetric = np.zeros((len(values), 6), dtype=values.dtype)
            symmetric[:, _symmetric(self.dimension)] = values
            return symmetric
        padding = [(0, 3 - length) for length in values.shape[1:]]
        padded = np.pad(values, [(0, 0), *padding]) if self.dimension == 2 else values
        if self.dimension == 2 and values.ndim == 3:
            padded[:, 2, 2] = self.out_of_plane.get(name, 0)
        return padded.reshape(len(values), 9) if values.ndim == 3 else padded


def surface(cells: Array) -> Array:
    """The faces (k, 3) that one tetrahedron (m, 4) alone has, counter-clockwise from outside."""
    every = np.concatenate([cells[:, corners] for corners in FACES])
    _, first, counts = np.unique(np.sort(every, axis=1), axis=0, return_index=True, return_counts=True)
    return np.asarray(every[np.sort(first[counts == 1])])


def in_dimension(values: Array, dimension: int) -> Array:
    """What `State.spatial` has made of a field, made undone: (n,), (n, d), (n, d(d+1)/2) or (n, d, d)."""
    if values.ndim == 1:
        return values
    if values.shape[1] == 6:
        return np.ascontiguousarray(values[:, _symmetric(dimension)])
    if values.shape[1] == 9:
        values = values.reshape(-1, 3, 3)[:, :dimension, :dimension]
    return np.ascontiguousarray(values[:, :dimension])


def _symmetric(dimension: int) -> list[int]:
    """The indices of the core's components of a symmetric tensor among the six of files."""
    return [ENDS[6].index(component) for component in components(dimension)["symmetric"]]


def check_fields(fields: object, there: Sequence[str], quantities: Sequence[str]) -> tuple[str, ...]:
    """Names of fields that are there or of quantities, each once, without the positions, which are always taken."""
    if isinstance(fields, str) or not isinstance(fields, Sequence):
        raise _check.wrong_type("fields", fields, "a sequence of names")
    known = tuple(dict.fromkeys((*there, *quantities)))
    names = [_check.choice("fields", name, known) for name in fields]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"fields contains {name!r} twice: every name may be there once")
    return tuple(name for name in names if name != "x")
