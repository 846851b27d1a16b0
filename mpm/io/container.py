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
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from mpm.base._check import shown
from mpm.errors import FileFormatError
from mpm.io.description import DTYPES, Arrays, Tree

__all__ = ["VERSION", "pack", "unpack"]

MAGIC = b"\x89mpm\r\n\x1a\n"  # detects transfers as text or in seven bits
VERSION = 1
PREAMBLE = struct.Struct("<8sIIQQ")
ALIGNMENT = 64
DIGEST = 32  # bytes
MOST_AXES = 8


def pack(meta: Tree, arrays: Mapping[str, npt.NDArray[Any]]) -> Iterator[bytes | memoryview]:
    """The bytes of a container, piece by piece.

    Parameters
    ----------
    meta : dict
        Of what JSON can hold, numbers finite.
    arrays : mapping of str to ndarray
        Of the types of `mpm.io.description.DTYPES`.

    Yields
    ------
    bytes or memoryview
    """
    given = {name: _little(array) for name, array in arrays.items()}
    sections, offset = [], 0
    for name, array in given.items():
        sections.append([name, array.dtype.name, list(array.shape), offset, crc32(_bytes_of(array))])
        offset += _padded(array.nbytes)
    text = json.dumps(
        {"meta": meta, "sections": sections}, sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    header = text.encode("ascii")
    whole = _padded(PREAMBLE.size + len(header)) + offset + DIGEST
    digest = hashlib.blake2b(digest_size=DIGEST)

    def pieces() -> Iterator[bytes | memoryview]:
        yield PREAMBLE.pack(MAGIC, VERSION, crc32(header), len(header), whole)
        yield header
        yield _padding(PREAMBLE.size + len(header))
        for array in given.values():
            yield _bytes_of(array)
            yield _padding(array.nbytes)

    for piece in pieces():
        digest.update(piece)
        yield piece
    yield digest.digest()


def unpack(data: bytes) -> tuple[Tree, Arrays]:
    """What was packed; the arrays are read-only and share the memory of `data`.

    Raises
    ------
    FileFormatError
        Not a container, of a later version, truncated, damaged, or made to look like one.
    """
    view = memoryview(data)
    if len(view) < PREAMBLE.size or bytes(view[: len(MAGIC)]) != MAGIC:
        _refuse("is not a checkpoint of mpm")
    _, version, checksum, length, whole = PREAMBLE.unpack_from(view)
    if version != VERSION:
        _refuse(f"has version {version} of the format; this version of mpm reads {VERSION}")
    if whole != len(view):
        _refuse(f"is truncated or has grown: {len(view)} bytes, not {whole}")
    start = _padded(PREAMBLE.size + length)
    if start + DIGEST > len(view):
        _refuse("is damaged: the header is longer than the file")
    text = view[PREAMBLE.size : PREAMBLE.size + length]
    if crc32(text) != checksum:
        _refuse("is damaged: the header's checksum is wrong")
    meta, sections = _header(bytes(text))
    body = view[start : len(view) - DIGEST]
    arrays = _arrays(sections, body)
    if hashlib.blake2b(view[:-DIGEST], digest_size=DIGEST).digest() != view[-DIGEST:]:
        _refuse("is damaged: its checksum is wrong")
    return meta, arrays


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


def _arrays(sections: list[Any], body: memoryview) -> Arrays:
    arrays: Arrays = {}
    end = 0
    for section in sections:
        name, dtype, shape, offset, checksum = _checked(section)
        size = dtype.itemsize
        for n in shape:
            size *= n  # Python's integers do not overflow
        if name in arrays or offset != end or offset + size > len(body):
            _refuse(f"has a section {shown(name)} that is doubled, or not where it should be")
        part = body[offset : offset + size]
        if crc32(part) != checksum:
            _refuse(f"is damaged: the checksum of {shown(name)} is wrong")
        array = _shaped(np.frombuffer(part, dtype=dtype.newbyteorder("<")), shape)
        # The view: NumPy keeps "little-endian" apart from "native" where both are one.
        arrays[name] = array.astype(dtype, copy=False).view(dtype)
        end = offset + _padded(size)
    if end != len(body):
        _refuse("has bytes that belong to no section")
    return arrays


def _shaped(array: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    try:
        return array.reshape(shape)
    except ValueError:  # nothing, many times
        _refuse(f"has a section of the shape {shape}")


def _checked(section: object) -> tuple[str, np.dtype[Any], tuple[int, ...], int, int]:
    if isinstance(section, list) and len(section) == 5:
        name, dtype, shape, offset, checksum = section
        if isinstance(name, str) and dtype in DTYPES and isinstance(shape, list) and len(shape) <= MOST_AXES:
            numbers = [*shape, offset, checksum]
            if all(type(number) is int and 0 <= number < 2**63 for number in numbers):
                return name, np.dtype(dtype), tuple(shape), offset, checksum
    _refuse("has a header with a section that makes no sense")


def _little(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _bytes_of(array: npt.NDArray[Any]) -> memoryview:
    flat: Any = array.reshape(-1).view(np.uint8)  # a buffer; NumPy's stubs do not say so before Python 3.12
    return memoryview(flat)


def _padded(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _padding(size: int) -> bytes:
    return bytes(_padded(size) - size)


def _refuse(reason: str) -> NoReturn:
    raise FileFormatError(reason)
