"""Reads untrusted HDF5 files: only the subset of the format that `mpm.io.vtkhdf` writes.

The HDF5 library is not used, because it does what a file tells it: it opens other files (external storage, external
links, virtual data sets), loads plugins, allocates what is declared, and rereads damaged metadata for ever, with the
interpreter's lock held. This reader opens one regular file and looks only at bytes in it:

- Links are hard links to groups and data sets. Numbers are plain, of `TYPES`. Data lie in one piece, or in chunks along
  the first axis, perhaps packed by gzip and shuffle.
- All metadata and all that `Dataset.rows` reads while `File.opening` is true take no more than twice the bytes of the
  file. Later, a data set takes no more bytes than the file has; a packed one no more than `PACKING` times its packed
  bytes, which is the limit of gzip.
- Metadata carry checksums. A file that somebody writes to is reread for `PATIENCE` seconds, then refused.

The format is that of the HDF5 File Format Specification, version 3.0; names of blocks and messages are from there.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.io.hdf5_bytes import NOWHERE, Bytes, Cursor, refuse
from mpm.io.hdf5_index import ARRAY, Chunks, extensible_array, heap, tree

Array = npt.NDArray[Any]

PACKING = 1032
DEEPEST = 6  # groups in groups
MOST_AXES = 8

# Messages of an object header.
SPACE, LINK_INFO, TYPE, LINK, LAYOUT, FILTERS, ATTRIBUTE, CONTINUATION = 1, 2, 3, 6, 8, 11, 12, 16
# And those that say nothing that counts here: nothing, fill values, constants of groups, times, counts of links.
SILENT = (0, 5, 10, 18, 21, 22)


def _types() -> dict[bytes, np.dtype[Any]]:
    """The numbers that may be in a file, by the bytes that describe them."""
    found = {}
    for size in (1, 2, 4, 8):
        for letter, sign in (("u", 0), ("i", 8)):
            text = struct.pack("<BBHIHH", 0x10, sign, 0, size, 0, 8 * size)
            found[text] = np.dtype(f"<{letter}{size}")
    for size, exponent in ((4, 8), (8, 11)):
        fraction = 8 * size - exponent - 1
        text = struct.pack("<BBBBIHH", 0x11, 0x20, 8 * size - 1, 0, size, 0, 8 * size)
        text += struct.pack("<BBBBI", fraction, exponent, 0, fraction, 2 ** (exponent - 1) - 1)
        found[text] = np.dtype(f"<f{size}")
    return found


TYPES = _types()


class File(Bytes):
    """One file, as `Bytes`, with its groups and data sets."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        try:
            found = _object(self, self.root_address, 0)
            if not isinstance(found, Group):
                refuse("its root is no group")
        except BaseException:
            self.close()
            raise
        self.root = found


class Group:
    """Members by name, groups and data sets; and attributes that are numbers or short texts."""

    def __init__(self, members: Mapping[str, Group | Dataset], attributes: Mapping[str, Array]) -> None:
        self.members, self.attributes = members, attributes

    def group(self, name: str) -> Group:
        """A member that is a group."""
        found = self.members.get(name)
        if not isinstance(found, Group):
            refuse(f"there is no group {name!r}")
        return found

    def dataset(self, name: str) -> Dataset:
        """A member that is a data set."""
        found = self.members.get(name)
        if not isinstance(found, Dataset):
            refuse(f"there is no data set {name!r}")
        return found

    def number(self, name: str) -> int:
        """An attribute that is a whole number."""
        found = self.attributes.get(name)
        if found is None or found.ndim or found.dtype.kind not in "iu":
            refuse(f"there is no number {name!r}")
        return int(found)


def _object(file: Bytes, address: int, depth: int) -> Group | Dataset:
    """The group or data set with a header at an address, and all that is in it."""
    if depth > DEEPEST:
        refuse("groups lie too deep in groups")
    messages = list(_messages(file, address))
    attributes = dict(_attribute(text) for kind, text in messages if kind == ATTRIBUTE)
    known = {name: values for name, values in attributes.items() if values is not None}
    kinds = {kind: text for kind, text in messages}
    if LINK_INFO in kinds and LAYOUT not in kinds and TYPE not in kinds:
        links = [_link(text) for kind, text in messages if kind == LINK]
        links += _dense_links(file, kinds[LINK_INFO])
        if len(dict(links)) < len(links):
            refuse("two members have one name")
        return Group({name: _object(file, place, depth + 1) for name, place in sorted(links)}, known)
    if not {SPACE, TYPE, LAYOUT} <= kinds.keys() or LINK in kinds:
        refuse("something is neither a group nor a data set")
    shape, most = _shape(kinds[SPACE])
    dtype = TYPES.get(kinds[TYPE])
    if dtype is None:
        refuse("a data set holds no plain numbers")
    filters = _filters(kinds[FILTERS], dtype) if FILTERS in kinds else {}
    return Dataset(file, shape, most, dtype, filters, kinds[LAYOUT], known)


def _messages(file: Bytes, address: int) -> Iterator[tuple[int, bytes]]:
    """Kinds and contents of the messages of an object header."""
    begin = file.read(address, 6)
    if begin[:5] != b"OHDR\x02":
        refuse(f"the object at {address} is none that trajectories have")
    flags = begin[5]
    prefix = 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
    width = 1 << (flags & 3)
    length = int.from_bytes(file.read(address + prefix, width), "little")
    data = file.block(address, prefix + width + length + 4, b"OHDR\x02")
    pieces = [Cursor(data[prefix + width :])]
    while pieces:
        piece = pieces.pop(0)
        head = 4 + (2 if flags & 4 else 0)
        while piece.left >= head:
            kind, size, marks = piece.numbers(1, 2, 1)
            piece.take(head - 4)
            text = piece.take(size)
            if kind == CONTINUATION:
                place, size = Cursor(text).numbers(8, 8)
                if size < 8:
                    refuse("a piece of metadata is too short")
                pieces.append(Cursor(file.block(place, size, b"OCHK")[4:]))
            elif kind not in SILENT:
                if kind not in (SPACE, LINK_INFO, TYPE, LINK, LAYOUT, FILTERS, ATTRIBUTE):
                    refuse(f"it uses a part of HDF5 that trajectories do not have (message {kind})")
                if marks & 2:
                    refuse("it shares metadata")
                yield kind, text


def _shape(text: bytes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The lengths of the axes, and their limits."""
    cursor = Cursor(text)
    version, axes, flags, kind = cursor.numbers(1, 1, 1, 1)
    if version != 2 or axes > MOST_AXES or kind > 1 or (kind == 0) != (axes == 0):
        refuse(f"there is an array of {axes} axes, or of none")
    shape = tuple(cursor.numbers(*[8] * axes))
    most = tuple(cursor.numbers(*[8] * axes)) if flags & 1 else shape
    if 0 in shape[1:] or 8 * math.prod(shape) >= 2**63:  # rows of nothing could be any number
        refuse(f"there is an array of the shape {shape}")
    return shape, most


def _attribute(text: bytes) -> tuple[str, Array | None]:
    """Name and value; None for what is neither numbers nor short text, or shared."""
    cursor = Cursor(text)
    version, flags, name, kind, space, _ = cursor.numbers(1, 1, 2, 2, 2, 1)
    if version != 3:
        refuse("an attribute has another version")
    called = _name(cursor.take(name).rstrip(b"\0"))
    described, extent = cursor.take(kind), cursor.take(space)
    dtype = TYPES.get(described)
    if described[:4] == b"\x13\x01\0\0" and len(described) == 8:  # ASCII of a fixed length
        dtype = np.dtype(f"S{int.from_bytes(described[4:], 'little')}")
    if flags or dtype is None or not dtype.itemsize:
        return called, None
    shape, _ = _shape(extent)
    values = np.frombuffer(cursor.take(math.prod(shape) * dtype.itemsize), dtype)
    return called, values.reshape(shape)


def _name(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        refuse(f"{text[:40]!r} is no name")


def _link(text: bytes) -> tuple[str, int]:
    """Name and address of a member."""
    cursor = Cursor(text)
    version, flags = cursor.numbers(1, 1)
    kind = cursor.number(1) if flags & 8 else 0
    cursor.take((8 if flags & 4 else 0) + (1 if flags & 16 else 0))
    name = _name(cursor.take(cursor.number(1 << (flags & 3))))
    if version != 1 or kind != 0:
        refuse(f"{name[:40]!r} is a link to somewhere else")
    return name, cursor.number(8)


def _dense_links(file: Bytes, info: bytes) -> list[tuple[str, int]]:
    """The members that a group keeps in a heap, in the order of the tree over their names."""
    cursor = Cursor(info)
    version, flags = cursor.numbers(1, 1)
    cursor.take(8 if flags & 1 else 0)
    place, names = cursor.numbers(8, 8)
    if version != 0:
        refuse("a group has another version")
    if place == NOWHERE:
        return []
    read = heap(file, place)
    return [_link(read(record[4:])) for record in tree(file, names)]


def _filters(text: bytes, dtype: np.dtype[Any]) -> dict[str, int]:
    """What chunks went through when they were written, in that order: the level of gzip, the bytes of a number."""
    cursor, found = Cursor(text), {}
    version, count = cursor.numbers(1, 1)
    for _ in range(count if version == 2 else 0):
        kind, _, values = cursor.numbers(2, 2, 2)
        given = cursor.numbers(*[4] * values)
        if kind not in (1, 2) or len(given) != 1 or (kind == 2 and given != [dtype.itemsize]):
            refuse("data were packed in a way that trajectories do not use")
        found[{1: "gzip", 2: "shuffle"}[kind]] = given[0]
    if [*found] not in (["gzip"], ["shuffle"], ["shuffle", "gzip"]):
        refuse("data were packed in a way that trajectories do not use")
    return found


class Dataset:
    """An array in a file: its rows are read when they are asked for.

    Attributes
    ----------
    shape : tuple of int
        As declared; `stored` says how many rows are there.
    dtype : numpy.dtype
        One of `TYPES`.
    chunk : int
        Rows per chunk; 0 without chunks.
    filters : mapping
        How chunks are packed: ``"shuffle"`` and ``"gzip"``, in the order in which they were applied.
    level : int
        Of gzip.
    attributes : mapping of ndarray
    """

    def __init__(
        self,
        file: Bytes,
        shape: tuple[int, ...],
        most: tuple[int, ...],
        dtype: np.dtype[Any],
        filters: Mapping[str, int],
        layout: bytes,
        attributes: Mapping[str, Array],
    ) -> None:
        self._file, self.shape, self.dtype = file, shape, dtype
        self.attributes, self.filters = attributes, filters
        self.level = min(filters.get("gzip", 0), 9)
        self._row = math.prod(shape[1:]) * dtype.itemsize
        self._chunks: Chunks | None = None
        cursor = Cursor(layout)
        version, kind = cursor.numbers(1, 1)
        self.chunk = 0
        if (version, kind) in ((3, 1), (4, 1)) and not filters:
            self._address, size = cursor.numbers(8, 8)
            if self._address == NOWHERE:  # nothing was ever written
                self._address, size = 0, 0
            if size != math.prod(shape) * dtype.itemsize or self._address + size > file.size:
                refuse(f"an array of the shape {shape} is not there")
        elif (version, kind) == (4, 2):
            self._index = self._chunked(cursor, most)
        else:
            refuse("data lie neither in one piece nor in chunks along the first axis")

    def _chunked(self, cursor: Cursor, most: tuple[int, ...]) -> int:
        """The address of the index of chunks, which is an extensible array."""
        flags, axes, width = cursor.numbers(1, 1, 1)
        lengths = cursor.numbers(*[min(width, 8)] * axes) if axes <= MOST_AXES + 1 else []
        if lengths[:-1][1:] != list(self.shape[1:]) or lengths[-1:] != [self.dtype.itemsize] or flags & 1:
            refuse(f"chunks of {lengths[:-1]} do not fit an array of {self.shape}")
        if cursor.number(1) != 4 or most[:1] != (NOWHERE,) or most[1:] != self.shape[1:] or not lengths[0]:
            refuse("chunks do not lie along the first axis")
        if lengths[0] * self._row > PACKING * self._file.size:
            refuse("it declares more than it holds")
        self.chunk = lengths[0]
        bits, inside, pointers, least, page, address = cursor.numbers(1, 1, 1, 1, 1, 8)
        if [bits, inside, least, pointers, page] != ARRAY:
            refuse("chunks have an index of another kind")
        return address

    @property
    def stored(self) -> int:
        """How many rows can be read, from the first on."""
        if not self.chunk:
            return self.shape[0] if self.shape else 1
        return min(self.shape[0], len(self._list().sizes) * self.chunk)

    @property
    def taken(self) -> int:
        """Bytes in the file."""
        return sum(self._list().sizes.tolist()) if self.chunk else self.stored * self._row

    def rows(self, start: int = 0, stop: int | None = None) -> Array:
        """Some rows, as a new array; by default all.

        Raises
        ------
        FileFormatError
            They are not there, or damaged; or, while the file is being opened, more was read than it has bytes.
        """
        if stop is None:
            stop = self.shape[0] if self.shape else 1
        if not 0 <= start <= stop <= self.stored:
            refuse(f"rows {start} to {stop} are not there")
        if not self.chunk:
            data = self._file.read(self._address + start * self._row, (stop - start) * self._row)
            values = np.frombuffer(bytearray(data), self.dtype)
            return values.reshape(stop - start, *self.shape[1:]) if self.shape else values.reshape(())
        values = np.empty((stop - start, *self.shape[1:]), self.dtype)
        for k in range(start // self.chunk, -(-stop // self.chunk)):
            low, high = max(start, k * self.chunk), min(stop, (k + 1) * self.chunk)
            values[low - start : high - start] = self._part(k, low - k * self.chunk, high - low)
        return values

    def _part(self, number: int, first: int, count: int) -> Array:
        """Rows of a chunk."""
        addresses, sizes, skipped = self._list()
        address, size, marks = int(addresses[number]), int(sizes[number]), int(skipped[number])
        shape = self.shape[1:]
        if not self.filters:
            data = self._file.read(address + first * self._row, count * self._row)
            return np.frombuffer(data, self.dtype).reshape(count, *shape)
        data, whole = self._file.read(address, size), self.chunk * self._row
        for k, name in reversed([*enumerate(self.filters)]):
            if marks >> k & 1:
                continue
            if name == "gzip":
                try:
                    data = zlib.decompressobj().decompress(data, whole + 1)
                except zlib.error as error:
                    refuse(f"a chunk cannot be unpacked ({error})")
            elif len(data) == whole:
                data = np.frombuffer(data, np.uint8).reshape(self.dtype.itemsize, -1).T.tobytes()
        if len(data) != whole:
            refuse("a chunk has another size than was said")
        return np.frombuffer(data, self.dtype).reshape(self.chunk, *shape)[first : first + count]

    def _list(self) -> Chunks:
        """The chunks that are there, from the first on."""
        if self._chunks is None:
            wanted, whole = -(-self.shape[0] // self.chunk), self.chunk * self._row
            parts: list[Chunks] = []
            count, total, most = 0, 0, self._file.size
            for part in extensible_array(self._file, self._index, bool(self.filters), whole):
                missing = np.flatnonzero(part.addresses == NOWHERE)
                there = min(int(missing[0]) if len(missing) else len(part.sizes), wanted - count)
                found = Chunks(*(column[:there] for column in part))
                if there:
                    least, largest = int(found.sizes.min()), int(found.sizes.max())
                    total += there * largest if not self.filters else sum(found.sizes.tolist())
                    if total > most or whole > PACKING * least:
                        refuse("it declares more than it holds")
                    if (found.addresses > most - found.sizes.astype(np.uint64)).any():
                        refuse("something lies beyond its end")
                    parts.append(found)
                    count += there
                if there < len(part.sizes):
                    break
            columns = zip(*parts, strict=True) if parts else [[np.zeros(0, np.uint64)]] * 3
            self._chunks = Chunks(*map(np.concatenate, columns))
        return self._chunks
