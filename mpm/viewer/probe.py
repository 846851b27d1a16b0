"""One particle in words and numbers: its row, its body and its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mpm.solver.source import Source
from mpm.solver.state import State
from mpm.viz import color as _color

VECTORS = ("x", "v")


@dataclass(frozen=True, slots=True)
class Probe:
    """A particle that is looked at: in files without ids by its row, else by its id, which deletions do not change."""

    number: int
    by_id: bool
    pinned: bool  # then with all quantities, else with that of the picture


def at(now: Source, vertex: int, *, pinned: bool) -> Probe:
    """The particle of a vertex of the picture."""
    cells = now._cells() if now.dimension == 2 else None
    shown = vertex if cells is None else int(cells.ravel()[vertex])
    if "id" not in now.particles.fields:
        return Probe(shown, False, pinned)
    return Probe(int(now._state(("id",)).fields["id"][shown]), True, pinned)


def vertices(now: Source) -> int:
    """The number of vertices that particles have in the picture."""
    cells = now._cells() if now.dimension == 2 else None
    return len(now._state(()).fields["x"]) if cells is None else cells.size


def described(now: Source, probe: Probe, color: str) -> dict[str, Any] | None:
    """Row, id, body, position [m] and values with their labels; None if the particle has left."""
    fields = now.particles.fields
    scalars = _color.scalars(now) if probe.pinned else ("material", color)
    names = dict.fromkeys(name for name in ("id", *VECTORS, *scalars) if name in (*fields, *now.quantities))
    state = now._state(tuple(names))
    shown = _index(state, probe)
    if shown is None:
        return None
    identity = int(state.fields["id"][shown]) if "id" in fields else None
    row = shown if identity is None else int(np.flatnonzero(now.particles["id"] == identity)[0])
    units = {"x": "m", "v": "m/s"}
    labels = {name: f"{name} [{units[name]}]" if name in units else _color.label(now, name) for name in names}
    return {
        "row": row,
        "id": identity,
        "body": _body(now, row, identity),
        "place": [float(value) for value in np.atleast_1d(state.fields["x"][shown])],
        "values": [[labels[name], _text(state.fields[name][shown])] for name in names if name != "id"],
    }


def _index(state: State, probe: Probe) -> int | None:
    """The particle among those of a state."""
    if not probe.by_id:
        return probe.number if probe.number < state.count else None
    found = np.flatnonzero(state.fields["id"] == probe.number)
    return int(found[0]) if len(found) else None


def _body(now: Source, row: int, identity: int | None) -> str:
    """The name of the body; nothing where it is not known, as in a recording."""
    for part in getattr(now, "_parts", ()):
        if hasattr(part, "first_node"):
            first, count, number = part.first_node, part.nodes, row
        else:
            first, count, number = part.first_id, part.particles, row if identity is None else identity
        if first <= number < first + count:
            return str(part.name)
    return ""


def _text(value: Any) -> str:
    return ", ".join(f"{one:.5g}" for one in np.atleast_1d(value).tolist())
