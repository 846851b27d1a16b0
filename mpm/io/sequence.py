"""Recordings as a file per frame, Houdini's classic ``.geo`` and ``.bgeo``, and a text beside them with all the rest.

``run_0000.bgeo``, ``run_0001.bgeo``, … hold the particles. ``run.bgeo.series`` holds a line of JSON about the scene and
the simulation, and one about every frame: time, step, number of particles, totals. A frame counts when its line is
whole, so that the recording of a process that was killed has all frames but the last.
"""

from __future__ import annotations

import base64
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mpm.base import _check, paths
from mpm.base._check import FloatArray
from mpm.io.description import Arrays, Tree
from mpm.io.formats import WRITERS
from mpm.scene.changes import Change, described
from mpm.solver.state import State

SUFFIXES = (".geo", ".bgeo")
SERIES = ".series"
FORMAT = 1
DIGITS = 4
BETWEEN = "_-. "  # a name and its number
MOST_DIGITS = 9


class Names(NamedTuple):
    """The names of the files of a sequence."""

    folder: Path
    prefix: str  # up to the number
    digits: int  # at least
    suffix: str

    @property
    def series(self) -> Path:
        """The text beside the frames."""
        return self.folder / (self.prefix.rstrip(BETWEEN) + self.suffix + SERIES)

    def frame(self, number: int) -> Path:
        """The file of a frame."""
        return self.folder / f"{self.prefix}{number:0{self.digits}d}{self.suffix}"

    def there(self) -> dict[int, Path]:
        """The frames that are there, by number, in order."""
        pattern = re.compile(rf"{re.escape(self.prefix)}([0-9]{{1,{MOST_DIGITS}}}){re.escape(self.suffix)}")
        with os.scandir(self.folder) as entries:
            found = [(match, entry.name) for entry in entries if (match := pattern.fullmatch(entry.name))]
        return {number: self.folder / name for number, name in sorted((int(m[1]), name) for m, name in found)}


PLACE = re.compile(r"\{(?::(?:0([1-9]))?d?)?\}")


def names_of(path: Path) -> Names | None:
    """The names that a pattern (``run_{:04d}.geo``) or a plain path (``run.geo``) means; None: the place of the number
    is not right before the suffix."""
    suffix = path.suffix.lower()
    stem = path.name[: -len(suffix)]
    if "{" not in stem and "}" not in stem:
        return Names(path.parent, f"{stem}_", DIGITS, path.suffix)
    found = re.fullmatch(rf"([^{{}}]*){PLACE.pattern}", stem)
    if found is None or not found[1].rstrip(BETWEEN):
        return None
    return Names(path.parent, found[1], int(found[2] or 1), path.suffix)


def check_names(path: Path) -> Names:
    """The same; a ValueError if there are none."""
    found = names_of(path)
    if found is None:
        allowed = (
            "a file such as 'run.geo', or with the place of the number before the suffix, 'run_{:04d}.geo'"
        )
        raise ValueError(f"path = {_check.shown(str(path))}: must be {allowed}")
    return found


class Writer:
    """Writes frames; begun with the first.

    Parameters
    ----------
    names : Names
    first : State
        With all fields, as those that follow.
    totals : mapping
        Of the frame, each (k,).
    description : mapping
        What `mpm.io.trajectory.describe` says.
    scene : tuple
        What `mpm.io.description.describe` says.
    poses : ndarray or None
        Of the rigid bodies of the scene (k, d + d²).
    """

    def __init__(
        self,
        names: Names,
        first: State,
        totals: Mapping[str, FloatArray],
        *,
        description: Mapping[str, Any],
        scene: tuple[Tree, Arrays],
        poses: FloatArray | None = None,
    ) -> None:
        self._names, self._count = names, 0
        tree, arrays = scene
        head = {
            "format": FORMAT,
            "dimension": first.dimension,
            "description": description,
            "scene": tree,
            "arrays": {name: _packed(array) for name, array in arrays.items()},
        }
        line = _line(head)  # raises before anything is written
        self._write_frame(first)
        with paths.created(names.series) as file:
            file.write(line + _frame_line(first, totals, poses=poses))
        self._count = 1

    def append(
        self,
        state: State,
        totals: Mapping[str, FloatArray],
        changes: Sequence[Change] = (),
        *,
        poses: FloatArray | None = None,
    ) -> None:
        """Write another frame; `changes` are those of the run since the frame before."""
        self._write_frame(state)
        with self._names.series.open("ab") as file:
            file.write(_frame_line(state, totals, changes, poses))
        self._count += 1

    def close(self) -> None:
        """Remove what is left of a longer recording of the same name."""
        for number, path in self._names.there().items():
            if number >= self._count:
                path.unlink()

    def _write_frame(self, state: State) -> None:
        with paths.created(self._names.frame(self._count)) as file:
            WRITERS[self._names.suffix.lower()](file, state)


def _frame_line(
    state: State,
    totals: Mapping[str, FloatArray],
    changes: Sequence[Change] = (),
    poses: FloatArray | None = None,
) -> bytes:
    numbers = {name: values.tolist() for name, values in totals.items()}
    content = {"time": state.time, "step": state.step, "particles": state.count, "totals": numbers}
    if poses is not None:  # JSON has no NaN
        content["poses"] = [row if all(map(math.isfinite, row)) else None for row in poses.tolist()]
    return _line(content | ({"changes": described(changes)} if changes else {}))


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content).encode("ascii") + b"\n"


def _packed(array: Any) -> dict[str, Any]:
    data = base64.b64encode(array.tobytes()).decode("ascii")
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}
