"""Sequences of ``.geo`` and ``.bgeo`` files, read back and distrusted: those of `mpm.io.sequence` and of others."""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check, files
from mpm.base.fieldtable import LASTING, is_name
from mpm.errors import FileFormatError
from mpm.io import formats, solids
from mpm.io.description import DTYPES, restore
from mpm.io.sequence import BETWEEN, FORMAT, SERIES, SUFFIXES, Names, names_of
from mpm.io.vtkhdf_reader import ENERGIES, check_description, understood_changes
from mpm.scene.changes import Change
from mpm.scene.scene import Scene
from mpm.solver.solids import Solid
from mpm.solver.state import in_dimension

Array = npt.NDArray[Any]

FPS = 24.0  # of a sequence that does not say
MARGIN = 0.05  # of the longest side, around the particles of another program
CELLS = 4096  # at most, along the longest side of such a domain
DENSITY = 1000.0  # kg/m³, where masses are not told
WIDTHS = (3, 6, 9)


def is_sequence(path: Path) -> bool:
    """Whether a path is that of a sequence."""
    return path.suffix.lower() in (*SUFFIXES, SERIES)


class Reader:
    """The frames of a sequence, each read when it is asked for; the last one that was read is kept.

    Parameters
    ----------
    path : Path
        The ``.series``, the pattern or path that was given to `Simulation.record`, or one of the frames.
    fps : float, optional
        Frames per second of a sequence without ``.series``; default 24.

    Raises
    ------
    FileNotFoundError
        There is none.
    FileFormatError
        A file is damaged, or one is missing.
    """

    growing = False

    def __init__(self, path: Path, fps: float | None) -> None:
        self.path = path
        names = _names(path)
        there = names.there() if names.folder.is_dir() else {}
        self._kept: tuple[int, Mapping[str, Array]] | None = None
        self._closed = False
        self.changes: tuple[Change, ...] = ()
        self.solids: list[Solid] = []
        self.poses: Array | None = None
        if names.series.is_file():
            if fps is not None:
                raise ValueError(f"fps = {fps:g}: must not be given, {names.series.name!r} states it")
            self._read_series(names, there)
        elif there:
            self._files = list(there.values())
            self._survey(FPS if fps is None else fps)
        else:
            raise FileNotFoundError(f"path = {str(path)!r}: there is no such sequence of files")
        self.frames = len(self._files)

    def defect(self, what: str) -> FileFormatError:
        return FileFormatError(f"{str(self.path)!r} {_check.shortened(what)}")

    # ---- sequences of this package ---------------------------------------------------------------------

    def _read_series(self, names: Names, there: Mapping[int, Path]) -> None:
        try:
            lines = files.read(str(names.series)).split(b"\n")
            head, rows = (
                _json(lines[0]),
                [_json(line) for line in lines[1:-1]],
            )  # the last is cut off, or empty
            if head.get("format") != FORMAT:
                raise FileFormatError(
                    f"has format {head.get('format')!r}: this version reads format {FORMAT}"
                )
            dimension = head.get("dimension")
            if dimension not in (2, 3) or not rows:
                raise FileFormatError(
                    f"is damaged: {len(rows)} frames in {_check.shown(dimension)} dimensions"
                )
            self.dimension = int(dimension)
            self.description = check_description(head.get("description"))
            arrays = _unpacked(head.get("arrays"))
            self.scene: Scene = restore(head.get("scene"), arrays)
            if self.scene.dimension != self.dimension:
                raise FileFormatError(f"is damaged: the scene is {self.scene.dimension}-D")
            self._read_rows(rows)
            self.solids = solids.restore(head.get("scene"), arrays, self.scene)
            if self.solids:
                self.poses = _poses(rows, self.solids, self.scene)
            noted = [row.get("changes", []) for row in rows]
            if not all(isinstance(entries, list) for entries in noted):
                raise FileFormatError("is damaged: changes are no list")
            self.changes = understood_changes(entry for entries in noted for entry in entries)
        except FileFormatError as error:
            raise FileFormatError(f"{str(names.series)!r} {_check.shortened(str(error))}") from None
        missing = next((number for number in range(len(rows)) if number not in there), None)
        if missing is not None:
            raise self.defect(f"lacks a frame: there is no {names.frame(missing).name!r}")
        self._files = [there[number] for number in range(len(rows))]
        first = self._frame(0)
        self.fields = tuple(name for name in first if name == "x" or is_name(name))
        if lost := {*LASTING} - {*self.fields}:
            raise self.defect(f"lacks the field {sorted(lost)[0]!r}")

    def _read_rows(self, rows: list[dict[str, Any]]) -> None:
        try:
            self.times = np.array([row["time"] for row in rows], dtype=np.float64)
            self.steps = np.array([row["step"] for row in rows], dtype=np.int64)
            self.counts = np.array([row["particles"] for row in rows], dtype=np.int64)
            names = rows[0]["totals"].keys()
            self.totals = {n: np.array([row["totals"][n] for row in rows], dtype=np.float64) for n in names}
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise FileFormatError(f"is damaged: a line about a frame makes no sense ({error})") from None
        if not all(column.ndim == 1 for column in (self.times, self.steps, self.counts)):
            raise FileFormatError("is damaged: a line about a frame makes no sense")
        if not np.isfinite(self.times).all() or (np.diff(self.times) < 0).any():
            raise FileFormatError("is damaged: times are no ascending numbers")
        if (self.counts < 0).any() or (self.steps < 0).any() or (np.diff(self.steps) < 0).any():
            raise FileFormatError("is damaged: numbers of steps or particles make no sense")
        for name, values in self.totals.items():
            if (
                not name.isidentifier()
                or values.ndim != 2
                or values.shape[1] > 3
                or name in ("time", "energy")
            ):
                raise FileFormatError(f"is damaged: the total {_check.shown(name)} makes no sense")
        if any(self.totals.get(name, np.zeros((0, 0))).shape[1] != 1 for name in ENERGIES):
            raise FileFormatError("is damaged: the energies are not there")

    # ---- sequences of other programs -------------------------------------------------------------------

    def _survey(self, fps: float) -> None:
        """Find out what there is to know: read all positions once."""
        count = len(self._files)
        self.counts = np.zeros(count, dtype=np.int64)
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        names: list[str] = []
        for number in range(count):
            found = self._frame(number, counted=False)
            x = found["x"][np.isfinite(found["x"]).all(axis=1)]
            self.counts[number] = len(found["x"])
            if len(x):
                low, high = np.minimum(low, x.min(axis=0)), np.maximum(high, x.max(axis=0))
            if number == 0:
                names = [n for n, v in found.items() if n == "x" or (is_name(n) and _fits(v))]
        if not (np.isfinite(low).all() and np.isfinite(high - low).all()):
            raise self.defect("has no particles at finite places")
        self.dimension = 2 if low[2] == high[2] == 0 else 3
        self.fields = tuple(dict.fromkeys((*names, *LASTING)))
        self.times, self.steps = np.arange(count) / fps, np.zeros(count, dtype=np.int64)
        self._volume = _volume(self._frame(0)["x"], self.dimension)
        self.scene, dx = _surrounding(low, high, self.dimension, self._volume)
        unknown = np.full((count, 1), np.nan)
        self.totals = {name: unknown for name in ENERGIES}
        written = datetime.datetime.fromtimestamp(self._files[0].stat().st_mtime, datetime.UTC)
        self.description = {
            "summary": "particles of another program: domain, volumes and masses are guessed",
            "units": {},
            "fps": fps,
            "numerics": {"dx": dx},
            "provenance": {"written": written.isoformat(timespec="seconds")},
            "versions": {"mpm": ""},
        }

    def _guessed(self, name: str, count: int) -> Array:
        """A field that every recording has, and this one lacks."""
        if name == "id":
            return np.arange(count)
        if name == "material":
            return np.zeros(count, dtype=np.int32)
        return np.full(count, self._volume * (DENSITY if name == "mass" else 1))

    # ---- what both have --------------------------------------------------------------------------------

    def _frame(self, number: int, *, counted: bool = True) -> Mapping[str, Array]:
        if self._closed:
            raise ValueError(f"the replay of {str(self.path)!r} is closed")
        if self._kept is None or self._kept[0] != number:
            found = formats.load(self._files[number])
            if counted and len(found["x"]) != self.counts[number]:
                said = f"{len(found['x'])} particles, must have {self.counts[number]}"
                raise FileFormatError(f"{str(self._files[number])!r} has {said}")
            self._kept = (number, found)
        return self._kept[1]

    def stored(self, frame: int, name: str) -> Array:
        """A field as it is in the file: (n,), (n, 3), (n, 6) or (n, 9)."""
        found = self._frame(frame)
        if name in found and _fits(found[name]):
            return found[name].copy()
        if name in LASTING and self.description["versions"]["mpm"] == "":
            return self._guessed(name, len(found["x"]))
        raise FileFormatError(f"{str(self._files[frame])!r} has no field {name!r}")

    def field(self, frame: int, name: str) -> Array:
        """A field in the dimension of the simulation: (n,), (n, d), (n, d(d+1)/2) or (n, d, d)."""
        return in_dimension(self.stored(frame, name), self.dimension)

    def cells(self, frame: int) -> None:
        """Sequences have particles only."""

    def close(self) -> None:
        """Let go of what was read."""
        self._closed, self._kept = True, None


def _names(path: Path) -> Names:
    """The names of the files that a path means."""
    name, folder = path.name, path.parent
    if path.suffix == SERIES:
        frame = Path(name.removesuffix(SERIES))
        stem, suffix = frame.stem, frame.suffix
        if suffix.lower() not in SUFFIXES:
            raise FileFormatError(
                f"path = {str(path)!r}: must end in {' or '.join(s + SERIES for s in SUFFIXES)}"
            )
        for between in ("_", "", "-", ".", " "):
            names = Names(folder, stem + between, 1, suffix)
            if folder.is_dir() and names.there():
                return names
        return Names(folder, f"{stem}_", 1, suffix)
    stem = path.stem
    base = stem.rstrip("0123456789")
    if path.is_file() and base != stem:
        return Names(folder, base, 1, path.suffix)
    if path.is_file():
        raise FileFormatError(f"path = {str(path)!r}: has no number, so it is no frame of a sequence")
    found = names_of(path)
    if found is None or not found.prefix.rstrip(BETWEEN):
        raise FileFormatError(f"path = {str(path)!r}: must be a sequence such as 'run_{{:04d}}{path.suffix}'")
    return found


def _json(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"is damaged: a line is no JSON ({error or 'it is too deep'})") from None
    if not isinstance(found, dict):
        raise FileFormatError("is damaged: a line is no JSON object")
    return found


def _poses(rows: list[dict[str, Any]], bodies: list[Solid], scene: Scene) -> Array:
    """Where rigid bodies are in all frames (frames, k, d + d²)."""
    none = [None] * (scene.dimension + scene.dimension**2)
    try:
        said = [[none if row is None else row for row in line["poses"]] for line in rows]
        found = np.array(said, dtype=np.float64)  # None becomes NaN
        return solids.checked(found.reshape(len(rows), -1), len(bodies), scene)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FileFormatError(f"is damaged: a line about a frame makes no sense ({error})") from None


def _unpacked(arrays: object) -> dict[str, Array]:
    """The arrays of a scene."""
    found: dict[str, Array] = {}
    try:
        for name, said in dict(arrays).items():  # type: ignore[call-overload]
            if said["dtype"] not in DTYPES:
                raise FileFormatError(
                    f"is damaged: an array of the scene has the type {_check.shown(said['dtype'])}"
                )
            data = base64.b64decode(said["data"], validate=True)
            found[name] = np.frombuffer(data, said["dtype"]).reshape([int(n) for n in said["shape"]]).copy()
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"is damaged: an array of the scene makes no sense ({error})") from None
    return found


def _fits(values: Array) -> bool:
    return values.ndim == 1 or values.shape[1] in WIDTHS


def _volume(x: Array, dimension: int) -> float:
    """About the volume of a particle: that of cells with a few particles each, over their number."""
    x = x[np.isfinite(x).all(axis=1)][:, :dimension]
    extent = float(np.ptp(x, axis=0).max()) if len(x) > 1 else 0.0
    if not 0 < extent < math.inf:
        return 1.0
    size, filled = extent, 1
    for _ in range(16):  # halve cells until there are 2^d or fewer particles in a filled one
        if len(x) <= filled * 2**dimension:
            break
        size /= 2
        filled = len(np.unique(np.floor((x - x.min(axis=0)) / size), axis=0))
    return filled * size**dimension / len(x)


def _surrounding(low: Array, high: Array, dimension: int, volume: float) -> tuple[Scene, float]:
    """A domain around the particles that is a whole number of cells, and their size."""
    low, high = low[:dimension], high[:dimension]
    extent = float((high - low).max())
    dx = max(2 * volume ** (1 / dimension), extent / CELLS, 1e-12)
    margin = max(MARGIN * extent, dx)
    cells = np.maximum(1, np.ceil((high - low + 2 * margin) / dx))
    middle = (low + high) / 2
    return Scene(middle - cells * dx / 2, middle + cells * dx / 2), dx
