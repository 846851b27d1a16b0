"""What files hold of a state: the particles' fields, in the plane or in space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm import _check, derived

Array = npt.NDArray[Any]

# The same at every step, as long as no particle comes or goes.
LASTING = ("id", "material", "mass", "volume")
UNITS = {
    **{"x": "m", "v": "m/s", "F": "1", "C": "1/s", "J": "1", "Jp": "1"},
    **{"id": "1", "material": "1", "mass": "kg", "volume": "m³"},
    **{name: unit for name, (_, unit) in derived.NAMES.items()},
}


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
    """

    time: float
    step: int
    dimension: int
    fields: Mapping[str, Array]
    out_of_plane: Mapping[str, Any]

    @property
    def count(self) -> int:
        """n."""
        return len(self.fields["x"])

    def of(self, rows: npt.NDArray[np.bool_]) -> State:
        """The same of some of the particles."""
        out_of_plane = {k: v[rows] if np.ndim(v) else v for k, v in self.out_of_plane.items()}
        return replace(self, fields={k: v[rows] for k, v in self.fields.items()}, out_of_plane=out_of_plane)

    def spatial(self, name: str) -> Array:
        """The field as files for space want it: (n,), (n, 3) or, row by row, (n, 9); the plane is z = 0."""
        values = self.fields[name]
        if values.ndim == 1:
            return values
        padding = [(0, 3 - length) for length in values.shape[1:]]
        padded = np.pad(values, [(0, 0), *padding]) if self.dimension == 2 else values
        if self.dimension == 2 and values.ndim == 3:
            padded[:, 2, 2] = self.out_of_plane.get(name, 0)
        return padded.reshape(len(values), 9) if values.ndim == 3 else padded


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
