"""The container of checkpoints: a tree of JSON and named arrays in one run of bytes.

::

    preamble    32 bytes: magic, version, CRC-32 of the header, size of the header, size of the whole
    header      JSON: {"meta": the tree, "sections": [[name, dtype, shape, offset, CRC-32], ...]}, sorted keys, ASCII
    sections    the arrays, little-endian, last axis fastest, each at a multiple of 64 bytes, zeros between
    trailer     BLAKE2b-256 of everything before

Equal contents give equal bytes: a container has no date and no name of a machine. Sections cover the bytes between
header and trailer without gaps, so nothing can hide there, and every size is checked before anything is allocated.
Nothing in a container is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import struct
from binascii import crc32
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from mpm.base._check import shown
from mpm.base.streamed import PIECE, Array, Given, Streamed, pieces
from mpm.errors import FileFormatError
from mpm.io.description import DTYPES, Arrays, Tree

__all__ = ["VERSION", "pack", "read", "unpack"]

MAGIC = b"\x89mpm\r\n\x1a\n"  # detects transfers as text or in seven bits
VERSION = 1
PREAMBLE = struct.Struct("<8sIIQQ")
ALIGNMENT = 64
DIGEST = 32  # bytes
MOST_AXES = 8

Part: TypeAlias = Callable[[int, int], bytes | memoryview]
"""Gives so many bytes of a container from one on."""


def pack(meta: Tree, arrays: Mapping[str, Given]) -> Iterator[bytes | memoryview]:
    """The bytes of a container, piece by piece.

    Parameters
    ----------
    meta : dict
        Of what JSON can hold, numbers finite.
    arrays : mapping of str to ndarray or Streamed
        Of the types of `mpm.io.description.DTYPES`. A streamed array is asked for its pieces twice: for its checksum,
        which stands in the header, and for its bytes.

    Yields
    ------
    bytes or memoryview
    """
    sections, offset = [], 0
    for name, array in arrays.items():
        checksum = 0
        for part in _parts_of(array):
            checksum = crc32(part, checksum)
        sections.append([name, array.dtype.name, list(array.shape), offset, checksum])
        offset += _padded(array.nbytes)
    text = json.dumps(
        {"meta": meta, "sections": sections}, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    header = text.encode("ascii")
    size = _padded(PREAMBLE.size + len(header)) + offset + DIGEST
    digest = hashlib.blake2b(digest_size=DIGEST)

    def parts() -> Iterator[bytes | memoryview]:
        yield PREAMBLE.pack(MAGIC, VERSION, crc32(header), len(header), size)
        yield header
        yield _padding(PREAMBLE.size + len(header))
        for array in arrays.values():
            yield from _parts_of(array)
            yield _padding(array.nbytes)

    for piece in parts():
        digest.update(piece)
        yield piece
    yield digest.digest()


def unpack(data: bytes) -> tuple[Tree, Arrays]:
    """The contents of a container; the arrays are read-only and share the memory of `data`.

    Raises
    ------
    FileFormatError
        Not a container, of a later version, truncated, damaged, or made to look like one.
    """
    view = memoryview(data)

    def part(first: int, count: int) -> memoryview:
        return view[first : first + count]

    meta, sections = _checked(len(view), part, PIECE)
    return meta, {section.name: section.array(part) for section in sections}


def read(size: int, part: Part, piece: int | None = None) -> tuple[Tree, dict[str, Given]]:
    """The contents of a container of `size` bytes, of which `part` reads some.

    Long arrays come in pieces of so many bytes, which are read when they are asked for. Errors are those of `unpack`,
    for long arrays also then.
    """
    step = PIECE if piece is None else piece
    meta, sections = _checked(size, part, step)
    return meta, {section.name: section.streamed(part, step) for section in sections}


class Section(NamedTuple):
    """An array in a container."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    first: int  # byte of the container
    size: int  # [bytes]
    checksum: int

    def parts(self, part: Part, step: int) -> Iterator[bytes | memoryview]:
        """The bytes, `step` at a time. The last ones are not given before all have been checked."""
        checksum = 0
        for at in range(0, self.size, step):
            found = part(self.first + at, min(step, self.size - at))
            checksum = crc32(found, checksum)
            if at + step < self.size:
                yield found
        if checksum != self.checksum:
            _refuse(f"is damaged: the checksum of {shown(self.name)} is wrong")
        if self.size:
            yield found

    def array(self, part: Part) -> Array:
        """The array as a whole, unchecked."""
        return self._shaped(part(self.first, self.size), self.shape)

    def streamed(self, part: Part, piece: int) -> Given:
        """The array, in checked pieces if it is long."""
        if self.size <= piece:
            return self.array(part)
        row = self.size // self.shape[0]
        step = max(1, piece // row) * row

        def pieces() -> Iterator[Array]:
            for found in self.parts(part, step):
                yield self._shaped(found, (len(found) // row, *self.shape[1:]))

        return Streamed(self.dtype, self.shape, pieces)

    def _shaped(self, data: bytes | memoryview, shape: tuple[int, ...]) -> Array:
        flat = np.frombuffer(data, dtype=self.dtype.newbyteorder("<"))
        try:
            array = flat.reshape(shape)
        except ValueError:  # nothing, many times
            _refuse(f"has a section of the shape {shape}")
        # The view: NumPy keeps "little-endian" apart from "native" where both are one.
        return array.astype(self.dtype, copy=False).view(self.dtype)


def _checked(size: int, part: Part, piece: int) -> tuple[Tree, list[Section]]:
    """The tree and the sections of a container, of which every byte has been checked."""
    if size < PREAMBLE.size or part(0, len(MAGIC)) != MAGIC:
        _refuse("is not a checkpoint of mpm")
    _, version, checksum, length, claimed = PREAMBLE.unpack(part(0, PREAMBLE.size))
    if version != VERSION:
        _refuse(f"has version {version} of the format; this version of mpm reads {VERSION}")
    if claimed != size:
        _refuse(f"is truncated or has grown: {size} bytes, not {claimed}")
    start, end = _padded(PREAMBLE.size + length), size - DIGEST
    if start > end:
        _refuse("is damaged: the header is longer than the file")
    text = part(PREAMBLE.size, length)
    if crc32(text) != checksum:
        _refuse("is damaged: the header's checksum is wrong")
    meta, entries = _header(bytes(text))
    sections = _sections(entries, start, end)
    digest = hashlib.blake2b(part(0, start), digest_size=DIGEST)
    for section in sections:
        for found in section.parts(part, piece):
            digest.update(found)
        after = section.first + section.size
        digest.update(part(after, _padded(after) - after))
    if digest.digest() != part(end, DIGEST):
        _refuse("is damaged: its checksum is wrong")
    return meta, sections


def _header(text: bytes) -> tuple[Tree, list[Any]]:
    try:
        header = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        _refuse(f"has a header that is not JSON: {error}")
    if not isinstance(header, dict) or header.keys() != {"meta", "sections"}:
        _refuse("has a header without its two entries")
    meta, sections = header["meta"], header["sections"]
    if not isinstance(meta, dict) or not isinstance(sections, list):
        _refuse("has a header whose entries are of the wrong type")
    return meta, sections


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _sections(entries: list[Any], start: int, end: int) -> list[Section]:
    """The sections, which cover the bytes from `start` to `end`."""
    sections: list[Section] = []
    taken: set[str] = set()
    first = start
    for entry in entries:
        name, dtype, shape, offset, checksum = _sensible(entry)
        size = dtype.itemsize
        for n in shape:
            size *= n  # Python's integers do not overflow
        if name in taken or start + offset != first or first + size > end:
            _refuse(f"has a section {shown(name)} that is doubled, or not where it should be")
        taken.add(name)
        sections.append(Section(name, dtype, shape, first, size, checksum))
        first += _padded(size)
    if first != end:
        _refuse("has bytes that belong to no section")
    return sections


def _sensible(section: object) -> tuple[str, np.dtype[Any], tuple[int, ...], int, int]:
    if isinstance(section, list) and len(section) == 5:
        name, dtype, shape, offset, checksum = section
        if isinstance(name, str) and dtype in DTYPES and isinstance(shape, list) and len(shape) <= MOST_AXES:
            numbers = [*shape, offset, checksum]
            if all(type(number) is int and 0 <= number < 2**63 for number in numbers):
                return name, np.dtype(dtype), tuple(shape), offset, checksum
    _refuse("has a header with a section that makes no sense")


def _parts_of(given: Given) -> Iterator[memoryview]:
    """The bytes of an array, piece by piece."""
    for piece in pieces(given):
        array = np.asarray(piece, dtype=piece.dtype.newbyteorder("<"), order="C")
        flat: Any = array.reshape(-1).view(
            np.uint8
        )  # a buffer; NumPy's stubs do not say so before Python 3.12
        yield memoryview(flat)


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _padding(size: int) -> bytes:
    return bytes(_padded(size) - size)


def _refuse(reason: str) -> NoReturn:
    raise FileFormatError(reason)
