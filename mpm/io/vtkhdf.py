"""A series of particles as one file: VTKHDF, temporal PolyData, which ParaView 5.12 and VTK 9.3 play. Nodes of
triangles or tetrahedra make an UnstructuredGrid.

Frames are appended. Their arrays are written and flushed first; then the number of frames is increased and flushed, so
that readers see whole frames only. HDF5's mode for a single writer and multiple readers (SWMR) keeps the file
consistent at all times, for readers while it grows and after the writer was killed. HDF5 does not survive a full disk,
so disk space is reserved before every write. Data that successive frames share (the vertices that ParaView needs, and
fields such as ``id``) are written once.

The format is that of the VTK file formats documentation, "VTKHDF File Format"; our own additions are in ``/mpm``.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base.files import renamed
from mpm.errors import FileFormatError
from mpm.io.hdf5 import Dataset, Group
from mpm.io.hdf5_bytes import SUPERBLOCK, end_of_file, is_growing
from mpm.io.vtkhdf_reader import FORMAT, Reader
from mpm.scene.changes import Change, described
from mpm.solver.state import State

Array = npt.NDArray[Any]

VTKHDF_VERSION = (2, 2)
# The oldest format with SWMR, so that the HDF5 in other programs need not be as new as ours.
LIBRARY = ("v110", "v110")
# A process that is killed while it writes may leave the first pages of a piece of memory in the file, but not the
# others. So that no block of metadata up to 512 bytes lies in two pages, all begin at a multiple of that.
ALIGNED = {"alignment_threshold": 64, "alignment_interval": 512}
TOPOLOGIES = ("Vertices", "Lines", "Polygons", "Strips")
# Of an UnstructuredGrid: VTK's numbers of triangles and tetrahedra, by their number of corners.
CELL_TYPES = {3: 5, 4: 10}
# Rows per chunk: whole frames if they are not large, so that each is written and read in one piece.
LEAST_CHUNK, MOST_CHUNK, FRAME_CHUNK = 256, 1 << 17, 256
CHANGES_CHUNK = 1024  # bytes of text
# Bytes that HDF5 needs besides a frame to index it; errors that say that there is no room.
INDEX_ROOM = 1 << 20
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def h5py() -> Any:
    """The package h5py, or an ImportError that names the extra."""
    return _check.extra("h5py", "trajectories need h5py", "io")


def _as_bytes(value: Any) -> Array:
    """JSON as an array of bytes, because HDF5 keeps strings in a heap without checksums."""
    # The program's arguments may be no text; JSON knows these escapes.
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return np.frombuffer(text, dtype=np.uint8)


class _Column:
    """A dataset that grows by rows."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.rows = 0

    def room(self, rows: int) -> int:
        """The most bytes that so many rows take: HDF5 allocates whole chunks, and moves compressed ones."""
        chunk = self.dataset.chunks
        return int(math.prod(chunk) * self.dataset.dtype.itemsize * (rows // chunk[0] + 2))

    def put(self, values: Any) -> int:
        """Append rows; returns the index of the first."""
        array = np.ascontiguousarray(values)
        start, self.rows = self.rows, self.rows + len(array)
        if len(array):
            # Without h5py's indexing, which takes longer than HDF5 itself for a single row.
            column = self.dataset.id
            column.set_extent((self.rows, *array.shape[1:]))
            rows = column.get_space()
            rows.select_hyperslab((start,) + (0,) * (array.ndim - 1), array.shape)
            column.write(h5py().h5s.create_simple(array.shape), rows, array)
        return start


@dataclass(frozen=True, slots=True)
class _Topology:
    """The place of the vertices of frames with `count` particles, or of their cells."""

    count: int
    corners: Array | None  # (m, d + 1)
    part: int
    cells: list[int]
    ids: list[int]

    def suits(self, count: int, corners: Array | None) -> bool:
        """Whether a frame has the same."""
        if corners is None or self.corners is None:
            return count == self.count and corners is self.corners
        return count == self.count and np.array_equal(corners, self.corners)


class Writer:
    """Writes a trajectory, frame by frame, the first one at once. After an error it can only be closed.

    Parameters
    ----------
    path : Path
        Of the file, which is made.
    first : State
        The first frame: says which fields there are, and of what type.
    totals : mapping of ndarray
        The first frame's, each of shape (k,).
    description : mapping
        What else is to be known, as JSON.
    scene : (dict, dict of ndarray)
        What `mpm.io.description.describe` returns.
    cells : ndarray or None
        The rows of the corners (m, d + 1) of the first frame's cells; without them, every particle is a vertex.
    poses : ndarray or None
        Of the rigid bodies of the scene (k, d + d²), NaN where the shape of a body is not to be shown.
    compression : int
        Of gzip, 0 (none) to 9.
    """

    def __init__(
        self,
        path: Path,
        first: State,
        totals: Mapping[str, Array],
        *,
        description: Mapping[str, Any],
        scene: tuple[Mapping[str, Any], Mapping[str, Array]],
        cells: Array | None,
        poses: Array | None,
        compression: int,
    ) -> None:
        self._h5py = h5py()
        self.frames = 0
        self._topology = _Topology(-1, None, 0, [], [])
        self._kinds = TOPOLOGIES if cells is None else ("",)  # the groups of topology
        self._last: dict[str, int] = {}
        self._filters = {"compression": compression, "shuffle": True} if compression else {}
        self._columns: list[_Column] = []
        self._file = self._h5py.File(path, "w", libver=LIBRARY, **ALIGNED)
        self._descriptor = os.open(path, os.O_RDWR)
        # Also when the last reference to the writer is dropped, and at the end of the process.
        self._finish = weakref.finalize(self, _finish, self._file, self._descriptor, os.getpid())
        try:
            tree, arrays = scene
            texts = {"description": _as_bytes(description), "scene": _as_bytes(tree)}
            self._reserve(sum(array.nbytes for array in (*texts.values(), *arrays.values())))
            self._lay_out(first, totals, texts, arrays, cells, poses)
            try:
                self._file.swmr_mode = True  # HDF5 releases its lock
            except RuntimeError as error:  # h5py raises this for an error of the file system
                raise OSError(f"a recording could not begin ({error})") from error
            _locked(self._descriptor, shared=True)  # for as long as it is written to: see `repair`
            self._step_count = self._h5py.h5a.open(self._file["VTKHDF/Steps"].id, b"NSteps")
            self.append(first, totals, cells, poses=poses)
        except BaseException:
            with contextlib.suppress(OSError):  # the first error says more
                self.close()
            raise

    def _lay_out(
        self,
        first: State,
        totals: Mapping[str, Array],
        texts: Mapping[str, Array],
        arrays: Mapping[str, Array],
        cells: Array | None,
        poses: Array | None,
    ) -> None:
        """Create all groups and datasets; SWMR allows no later ones."""
        rows = _chunk(first.count)
        root = self._file.create_group("VTKHDF")
        root.attrs["Version"] = np.array(VTKHDF_VERSION, dtype=np.int64)
        kind = b"PolyData" if cells is None else b"UnstructuredGrid"
        root.attrs.create("Type", kind, dtype=self._h5py.string_dtype("ascii", len(kind)))
        self._counts = self._grow(root, "NumberOfPoints")
        self._points = self._grow(root, "Points", (3,), first.fields["x"].dtype, rows, **self._filters)
        self._lay_out_topology(root, rows, cells)
        steps = root.create_group("Steps")
        steps.attrs["NSteps"] = np.int64(0)
        self._times = self._grow(steps, "Values", (), np.float64)
        names = ("PartOffsets", "NumberOfParts", "PointOffsets")
        self._parts, self._part_counts, self._starts = (self._grow(steps, name) for name in names)
        self._cell_starts = self._grow(steps, "CellOffsets", (len(self._kinds),))
        self._id_starts = self._grow(steps, "ConnectivityIdOffsets", (len(self._kinds),))
        data, offsets = root.create_group("PointData"), steps.create_group("PointDataOffsets")
        self._fields = {}
        for name in first.fields:
            if name != "x":
                values = first.spatial(name)
                column = self._grow(data, name, values.shape[1:], values.dtype, rows, **self._filters)
                self._fields[name] = column, self._grow(offsets, name)
        own = self._file.create_group("mpm")
        own.attrs["format"] = np.int64(FORMAT)
        own.attrs["dimension"] = np.int64(first.dimension)
        for name, text in texts.items():
            own.create_dataset(name, data=text)
        kept = own.create_group("arrays")
        for name, array in arrays.items():
            kept.create_dataset(name, data=array)
        self._steps = self._grow(own, "steps")
        self._changes = self._grow(own, "changes", (), np.uint8, CHANGES_CHUNK)
        self._poses = None if poses is None else self._grow(own, "poses", (poses.size,), np.float64)
        width = sum(len(values) for values in totals.values())
        self._totals = self._grow(own, "totals", (width,), np.float64)
        names_of_columns = [name for name, values in totals.items() for _ in values]
        self._totals.dataset.attrs["names"] = _as_bytes(names_of_columns)

    def _lay_out_topology(self, root: Any, rows: int, cells: Array | None) -> None:
        """Create the datasets of vertices and cells."""
        many, ids = (rows, rows) if cells is None else (len(cells), cells.size)
        self._types = None
        if cells is not None:
            self._types = self._grow(root, "Types", (), np.uint8, _chunk(many))
        self._cells = {}
        for kind in self._kinds:
            group, used = root.require_group(kind) if kind else root, kind in ("Vertices", "")
            for name, long in {
                "NumberOfCells": FRAME_CHUNK,
                "NumberOfConnectivityIds": FRAME_CHUNK,
                "Offsets": _chunk(many) + 1,
                "Connectivity": _chunk(ids),
            }.items():
                self._cells[kind, name] = self._grow(group, name, rows=long if used else FRAME_CHUNK)

    def _grow(
        self,
        group: Any,
        name: str,
        shape: tuple[int, ...] = (),
        dtype: npt.DTypeLike = np.int64,
        rows: int = FRAME_CHUNK,
        **filters: Any,
    ) -> _Column:
        options = {"maxshape": (None, *shape), "chunks": (rows, *shape), **filters}
        column = _Column(group.create_dataset(name, (0, *shape), dtype, **options))
        self._columns.append(column)
        return column

    def append(
        self,
        state: State,
        totals: Mapping[str, Array],
        cells: Array | None,
        changes: Sequence[Change] = (),
        *,
        poses: Array | None = None,
    ) -> None:
        """Write a frame, with the rows of the corners of its cells if it has cells; fields that the state does not have
        are those of the frame before. `changes` are those of the run since the frame before.

        Raises
        ------
        OSError
            There is no room for it, or the disk fails.
        """
        many = 0 if cells is None or self._topology.suits(state.count, cells) else cells.size
        of_cells = list(self._cells.values())
        rooms = (
            c.room(max(state.count + 1, many) if c in of_cells else state.count + 1) for c in self._columns
        )
        text = b"".join(_as_bytes(described([change])[0]).tobytes() + b"\n" for change in changes)
        self._reserve(sum(rooms) + len(text))
        try:
            self._changes.put(np.frombuffer(text, dtype=np.uint8))
            self._append(state, totals, cells, poses)
        except RuntimeError as error:  # h5py raises this for an error of the file system
            raise OSError(f"a frame could not be written ({error})") from error

    def _reserve(self, size: int) -> None:
        """Have the file system reserve bytes behind those that HDF5 has used, or raise OSError."""
        if not hasattr(os, "posix_fallocate"):
            return
        try:
            os.posix_fallocate(self._descriptor, _used(self._descriptor), size + INDEX_ROOM)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise

    def _append(
        self, state: State, totals: Mapping[str, Array], cells: Array | None, poses: Array | None
    ) -> None:
        self._put_topology(state.count, cells)
        self._starts.put([self._points.put(state.spatial("x"))])
        for name, (column, offsets) in self._fields.items():
            if name in state.fields:
                self._last[name] = column.put(state.spatial(name))
            offsets.put([self._last[name]])
        self._times.put([state.time])
        self._steps.put([state.step])
        if self._poses is not None and poses is not None:
            self._poses.put([poses.ravel()])
        self._totals.put([np.concatenate(list(totals.values()))])
        self._file.flush()
        self._step_count.write(np.array(self.frames + 1, dtype=np.int64))
        self._file.flush()
        self.frames += 1

    def _put_topology(self, n: int, corners: Array | None) -> None:
        """Without cells, every particle is a vertex; frames share the vertices or cells of the frame before."""
        if not self._topology.suits(n, corners):
            part, cells, ids = self._counts.put([n]), [], []
            for kind in self._kinds:
                rows = np.arange(n if kind == "Vertices" else 0)[:, None] if corners is None else corners
                self._cells[kind, "NumberOfCells"].put([len(rows)])
                self._cells[kind, "NumberOfConnectivityIds"].put([rows.size])
                # Offsets have one more entry per part than there are cells; VTK counts cells.
                ends = np.arange(len(rows) + 1) * rows.shape[1]
                cells.append(self._cells[kind, "Offsets"].put(ends) - part)
                ids.append(self._cells[kind, "Connectivity"].put(rows.ravel().astype(np.int64)))
            if self._types is not None and corners is not None:
                self._types.put(np.full(len(corners), CELL_TYPES[corners.shape[1]], dtype=np.uint8))
            self._topology = _Topology(n, corners, part, cells, ids)
        self._part_counts.put([1])
        self._parts.put([self._topology.part])
        self._cell_starts.put([self._topology.cells])
        self._id_starts.put([self._topology.ids])

    def close(self) -> None:
        """Finish the file; again: nothing.

        Raises
        ------
        OSError
            The disk fails.
        """
        try:
            self._finish()
        except RuntimeError as error:  # as in `append`
            raise OSError(f"the file could not be finished ({error})") from error


def _chunk(rows: int) -> int:
    """Rows per chunk of what has so many in a frame."""
    return min(max(rows, LEAST_CHUNK), MOST_CHUNK)


def _finish(file: Any, descriptor: int, process: int) -> None:
    if os.getpid() == process:  # not in a forked child
        try:
            file.close()
            os.truncate(descriptor, _used(descriptor))  # removes reserved bytes that were not used
        finally:
            os.close(descriptor)


def _used(descriptor: int) -> int:
    """The end of the file in HDF5's view."""
    return end_of_file(os.pread(descriptor, SUPERBLOCK, 0))


def _locked(descriptor: int, *, shared: bool) -> bool:
    """Lock an open file as long as it is open, unless another lock forbids it; true where there are no locks."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_NB | (fcntl.LOCK_SH if shared else fcntl.LOCK_EX))
    except (ImportError, OSError) as error:
        return not isinstance(error, BlockingIOError)
    return True


def _is_in_use(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return not _locked(descriptor, shared=False)
    finally:
        os.close(descriptor)


def is_recorded(path: Path) -> bool:
    """Whether a recording, of this process or another, is writing to a file; False where files cannot be locked."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(SUPERBLOCK)
    return is_growing(head) and _is_in_use(path)


def repair(path: Path) -> int:
    """Copy a trajectory into a file that is closed, and put that in its place; returns how many frames it has.

    Raises
    ------
    ValueError
        It is still being recorded: what comes would be lost.
    """
    reader = Reader(path)
    try:
        if reader.growing and _is_in_use(path):
            raise ValueError(
                f"path = {str(path)!r}: must not be in use: is still being recorded, or read elsewhere"
            )
        try:
            if sum(array.taken for array in _arrays(reader.file.root)) > reader.file.size:
                raise FileFormatError("is damaged: it declares more than it holds")
            with renamed(path) as temporary, h5py().File(temporary, "w", libver=LIBRARY) as file:
                _copy(reader.file.root, file)
        except FileFormatError as error:
            raise reader.defect(str(error)) from None
    finally:
        reader.close()
    return reader.frames


def _arrays(group: Group) -> Iterator[Dataset]:
    """All data sets in a group."""
    for member in group.members.values():
        if isinstance(member, Group):
            yield from _arrays(member)
        else:
            yield member


def _copy(source: Group, target: Any) -> None:
    """Write what was read into a group of h5py."""
    for name, member in source.members.items():
        if isinstance(member, Group):
            made = target.create_group(name)
            _copy(member, made)
        elif not member.chunk:
            made = target.create_dataset(name, data=member.rows())
        else:
            shape, rows = member.shape[1:], member.chunk
            layout = {
                "maxshape": (None, *shape),
                "chunks": (rows, *shape),
                "shuffle": "shuffle" in member.filters,
            }
            packing = {"compression": member.level} if "gzip" in member.filters else {}
            made = target.create_dataset(name, (member.stored, *shape), member.dtype, **layout, **packing)
            for start in range(0, member.stored, rows):
                stop = min(start + rows, member.stored)
                made[start:stop] = member.rows(start, stop)
        for key, value in member.attributes.items():
            made.attrs[key] = value
