"""Reads trajectories, and validates them as untrusted input before use: a file that opens makes sense as a whole."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base.fieldtable import KNOWN, LASTING, is_name
from mpm.errors import FileFormatError
from mpm.io.description import DTYPES
from mpm.io.hdf5 import Dataset, File, Group
from mpm.io.hdf5_bytes import refuse
from mpm.scene.changes import Change, restored
from mpm.solver import derived
from mpm.solver.state import in_dimension

Array = npt.NDArray[Any]

FORMAT = 3  # of the group /mpm
# Components in a file by rank; what is not a field of the core or of a law may have any of these.
WIDTHS = {"scalar": (), "vector": (3,), "symmetric": (6,), "tensor": (9,)}
LABELS = ("id", "material")  # whole numbers
ENERGIES = ("kinetic", "elastic", "gravitational")


class Reader:
    """The frames that were whole when the file was opened, each array read when it is asked for.

    Parameters
    ----------
    path : Path

    Raises
    ------
    FileNotFoundError
        There is none.
    FileFormatError
        It is no trajectory of this package, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.file = File(path)
            try:
                frames = self._frames()
                if self.file.growing:  # arrays must have been looked at after their number
                    self.file.close()
                    self.file = File(path)
                self.growing = self.file.growing
                self._read_head(frames)
            except BaseException:
                self.file.close()
                raise
        except FileNotFoundError:
            raise FileNotFoundError(f"path = {str(path)!r}: there is no such file") from None
        except FileFormatError as error:
            raise self.defect(str(error)) from None
        self.file.opening = False

    def defect(self, what: str) -> FileFormatError:
        return FileFormatError(f"{str(self.path)!r} {_check.shortened(what)}")

    def _frames(self) -> int:
        members = self.file.root.members
        if not (isinstance(members.get("mpm"), Group) and isinstance(members.get("VTKHDF"), Group)):
            raise FileFormatError("is no trajectory of this package")
        if (found := self.file.root.group("mpm").number("format")) != FORMAT:
            raise FileFormatError(f"has format {found}: this version reads format {FORMAT}")
        return self.file.root.group("VTKHDF").group("Steps").number("NSteps")

    def _read_head(self, frames: int) -> None:
        own, root = self.file.root.group("mpm"), self.file.root.group("VTKHDF")
        steps = root.group("Steps")
        self.frames = frames
        self.dimension = own.number("dimension")
        if self.dimension not in (2, 3) or frames < 1:
            refuse(f"{frames} frames in {self.dimension} dimensions")
        self.times = _column(steps, "Values", frames, "f")
        self.steps = _column(own, "steps", frames, "i")
        if not (np.isfinite(self.times).all() and (np.diff(self.times) >= 0).all()):
            refuse("times are no ascending numbers")
        if self.steps.min() < 0 or (np.diff(self.steps) < 0).any():
            refuse("numbers of steps do not ascend")
        self.counts = self._count_particles(root, frames)
        self._read_cells(root, frames)
        self.totals = _totals(own, frames)
        self._read_fields(root, frames)
        self.description = check_description(_json(own.dataset("description")))
        arrays = {name: own.group("arrays").dataset(name) for name in own.group("arrays").members}
        for name, array in arrays.items():
            if array.dtype.name not in DTYPES:
                refuse(f"the array {_check.shown(name)} of the scene has the type {array.dtype}")
        self.changes = _changes(own)
        self.poses = _column(own, "poses", frames, "f", axes=2) if "poses" in own.members else None
        self.scene = _json(own.dataset("scene")), {name: array.rows() for name, array in arrays.items()}

    def _count_particles(self, root: Group, frames: int) -> Array:
        parts = self._parts = _column(root.group("Steps"), "PartOffsets", frames, "i")
        counts = _column(root, "NumberOfPoints", None, "i")
        if parts.min() < 0 or parts.max() >= len(counts) or counts.min() < 0:
            refuse("frames do not state their numbers of particles")
        return counts[parts]

    def _read_cells(self, root: Group, frames: int) -> None:
        """Where the corners of the triangles or tetrahedra are, if the points are their nodes."""
        self._corners: Dataset | None = None
        if "Types" not in root.members:
            return
        self._corners, corners = root.dataset("Connectivity"), self.dimension + 1
        counts = _column(root, "NumberOfCells", None, "i")
        if self._parts.max() >= len(counts) or counts.min() < 0 or counts.max() > self._corners.stored:
            refuse("frames do not state their numbers of cells")
        self._cell_counts = counts[self._parts]
        starts = _column(root.group("Steps"), "ConnectivityIdOffsets", frames, "i", axes=2)
        if starts.shape[1] != 1 or len(self._corners.shape) != 1 or self._corners.dtype != np.int64:
            refuse("the corners of the cells make no sense")
        self._corner_starts = starts[:, 0]
        room = self._corners.stored - corners * self._cell_counts
        if (self._corner_starts < 0).any() or (self._corner_starts > room).any():
            refuse("there are not all cells")

    def _read_fields(self, root: Group, frames: int) -> None:
        data, steps = root.group("PointData"), root.group("Steps")
        self._arrays = {"x": root.dataset("Points")} | {name: data.dataset(name) for name in data.members}
        self._starts: dict[str, Array] = {}
        for name, array in self._arrays.items():
            if not (name in KNOWN or name in derived.NAMES or is_name(name)):
                refuse(f"{_check.shown(name)} is no name of a field")
            width, kinds = array.shape[1:], "iu" if name in LABELS else "f"
            if name in KNOWN:
                right = width == WIDTHS[KNOWN[name]["rank"]]
            elif name in derived.NAMES:
                right = width == WIDTHS["tensor" if name == "stress" else "scalar"]
            else:
                right, kinds = width in WIDTHS.values(), "fiu"
            if not (array.shape and right and array.dtype.kind in kinds):
                refuse(f"the field {name!r} has the shape {array.shape} and the type {array.dtype}")
            group, column = (
                (steps, "PointOffsets") if name == "x" else (steps.group("PointDataOffsets"), name)
            )
            starts = self._starts[name] = _column(group, column, frames, "i")
            # A sum might overflow.
            if (starts < 0).any() or (starts > array.stored - self.counts).any():
                refuse(f"there are not all frames of {name}")
        for name in {*LASTING} - self._arrays.keys():
            refuse(f"there is no field {name!r}")

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of all fields, positions first."""
        return tuple(self._arrays)

    def stored(self, frame: int, name: str) -> Array:
        """A field as it is in the file: (n,), (n, 3) or (n, 9)."""
        if self.file.closed:
            raise ValueError(f"the replay of {str(self.path)!r} is closed")
        start = int(self._starts[name][frame])
        try:
            return self._arrays[name].rows(start, start + int(self.counts[frame]))
        except FileFormatError as error:
            raise self.defect(f"{error} ({name} of frame {frame})") from None

    def field(self, frame: int, name: str) -> Array:
        """A field in the dimension of the simulation: (n,), (n, d), (n, d(d+1)/2) or (n, d, d)."""
        return in_dimension(self.stored(frame, name), self.dimension)

    def cells(self, frame: int) -> Array | None:
        """The rows of the corners of the cells (m, d + 1), or None if the file has particles only."""
        if self._corners is None:
            return None
        if self.file.closed:
            raise ValueError(f"the replay of {str(self.path)!r} is closed")
        start, corners = int(self._corner_starts[frame]), self.dimension + 1
        try:
            rows = self._corners.rows(start, start + corners * int(self._cell_counts[frame]))
            if len(rows) and not (rows.min() >= 0 and rows.max() < self.counts[frame]):
                refuse("cells have corners that are not there")
        except FileFormatError as error:
            raise self.defect(f"{error} (cells of frame {frame})") from None
        return rows.reshape(-1, corners)

    def close(self) -> None:
        """Close the file; what was read stays."""
        self.file.close()


def _column(group: Group, name: str, frames: int | None, kind: str, axes: int = 1) -> Array:
    """A number, or some, for each of the first frames, or of all rows."""
    found = group.dataset(name)
    if len(found.shape) != axes or found.dtype.kind != kind or found.dtype.itemsize != 8:
        refuse(f"{name!r} has the shape {found.shape} and the type {found.dtype}")
    there = found.stored
    if not there or (frames or 0) > there:
        refuse(f"{name!r} has {there} rows for {frames} frames")
    return found.rows(0, there if frames is None else frames)


def _json(found: Dataset | Array | None) -> Any:
    """What an array of bytes says."""
    try:
        array = np.zeros(0) if found is None else found.rows() if isinstance(found, Dataset) else found
        if array.dtype != np.uint8 or array.ndim != 1:
            raise ValueError(f"an array of {array.dtype}")
        return json.loads(array.tobytes())
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"is damaged: a text is no JSON ({error or 'it is too deep'})") from None


def _totals(own: Group, frames: int) -> dict[str, Array]:
    """Mass, momentum, … of the frames, (n, k) each."""
    rows = _column(own, "totals", frames, "f", axes=2)
    names = _json(own.dataset("totals").attributes.get("names"))
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        refuse("the totals have no names")
    columns: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        columns.setdefault(name, []).append(k)
    for name in ENERGIES:
        if len(columns.get(name, ())) != 1:
            refuse(f"there is no total {name!r}")
    if len(names) != rows.shape[1] or not all(
        name.isidentifier() and len(of) <= 3 for name, of in columns.items()
    ):
        refuse("the totals do not fit their names")
    if {"time", "energy"} & columns.keys():
        refuse("the totals do not fit their names")
    return {name: rows[:, of] for name, of in columns.items()}


def _changes(own: Group) -> tuple[Change, ...]:
    """What was changed while the run was recorded; nothing in older files."""
    if "changes" not in own.members:
        return ()
    text = own.dataset("changes").rows()
    if text.dtype != np.uint8 or text.ndim != 1:
        refuse("its changes are no text")
    lines = text.tobytes().split(b"\n")[:-1]  # the last is empty, or cut off
    return understood_changes(lines)


def understood_changes(lines: Iterable[bytes | Any]) -> tuple[Change, ...]:
    """Changes of a run from JSON, or what JSON has given."""
    try:
        return restored([json.loads(line) if isinstance(line, bytes) else line for line in lines])
    except (ValueError, TypeError, RecursionError) as error:
        raise FileFormatError(f"is damaged: a change makes no sense ({error})") from None


def check_description(said: Any) -> Mapping[str, Any]:
    """What a file says of the simulation, with at least what the package itself looks at."""
    numbers, text = (int, float), (str,)
    needed: dict[tuple[str, ...], tuple[type, ...]] = {("summary",): text, ("units",): (dict,)}
    needed |= {("fps",): numbers, ("numerics", "dx"): numbers}
    needed |= {("provenance", "written"): text, ("versions", "mpm"): text}
    for way, kind in needed.items():
        found: Any = said
        for name in way:
            found = found.get(name) if isinstance(found, dict) else None
        if not isinstance(found, kind) or isinstance(found, bool):
            raise FileFormatError(f"is damaged: its description is not whole (there is no {'.'.join(way)!r})")
        if isinstance(found, (int, float)) and not 0 < found <= sys.float_info.max:
            raise FileFormatError(f"is damaged: its description makes no sense ({'.'.join(way)!r} = {found})")
    if not all(isinstance(unit, str) for unit in said["units"].values()):
        raise FileFormatError("is damaged: its description is not whole (units are no text)")
    description: Mapping[str, Any] = said
    return description
