"""What files hold of a state: the particles' fields, in the plane or in space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mpm import _check, derived
from mpm.particles import Copies

if TYPE_CHECKING:
    from mpm.simulation import Simulation

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


def check_fields(fields: object, known: Sequence[str]) -> tuple[str, ...]:
    """Names out of the known ones, each once, without the positions, which are always there."""
    if isinstance(fields, str) or not isinstance(fields, Sequence):
        raise _check.wrong_type("fields", fields, "a sequence of names")
    names = [_check.choice("fields", name, known) for name in fields]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"fields contains {name!r} twice: every name may be there once")
    return tuple(name for name in names if name != "x")


def names_of(sim: Simulation) -> tuple[str, ...]:
    """All that can be taken of a simulation."""
    return (*sim.particles.fields, *derived.NAMES)


def take(sim: Simulation, names: Sequence[str]) -> State:
    """Copies of the positions and the named fields; particles that wait to be deleted are left out."""
    copies, laws = Copies(sim.particles), sim.materials
    fields = {
        name: derived.compute(name, copies, laws) if name in derived.NAMES else copies[name]
        for name in ("x", *names)
    }
    out_of_plane: dict[str, Any] = {}
    if sim.dimension == 2:
        out_of_plane["F"] = 1.0
        if "stress" in fields:
            out_of_plane["stress"] = derived.cauchy(copies, laws).zz
    if sim._numerics.on_leave == "delete" and not (there := copies["mass"] > 0).all():
        fields = {name: values[there] for name, values in fields.items()}
        if "stress" in out_of_plane:
            out_of_plane["stress"] = out_of_plane["stress"][there]
    return State(sim.time, sim.steps, sim.dimension, fields, out_of_plane)
