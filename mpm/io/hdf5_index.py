"""The indices of an HDF5 file: B-trees and heaps of names, extensible arrays of chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mpm.io.hdf5_bytes import NOWHERE, Bytes, Cursor, refuse, sum_of

Array = npt.NDArray[Any]


# What HDF5 itself chooses, and nobody else can. Of B-trees of names: bytes of nodes and records. Of heaps of names:
# blocks per row, bytes of the first and of the largest block, bits of an offset. Of extensible arrays: bits of numbers,
# entries in the index block, least entries of a block, least blocks of a super block, bits of a number in a page.
TREE = [512, 11]
HEAP = [4, 512, 1 << 16, 32]
ARRAY = [32, 4, 16, 4, 10]


def tree(file: Bytes, address: int) -> Iterator[bytes]:
    """The records of a B-tree of version 2 over names."""
    cursor = Cursor(file.block(address, 38, b"BTHD\x00\x05")[6:])
    node, size, depth, _, _, root, count = cursor.numbers(4, 2, 2, 1, 1, 8, 2)
    if [node, size] != TREE or depth > 4:
        refuse("there is an index of names of another kind")
    # What nodes of each level can hold decides how many bytes their counts take.
    most, below, widths = [(node - 10) // size], [(node - 10) // size], [0]
    width = _width(most[0])
    for level in range(1, depth + 1):
        pointer = 8 + width + widths[level - 1]
        most.append((node - 10 - pointer) // (size + pointer))
        below.append((most[level] + 1) * below[level - 1] + most[level])
        widths.append(_width(below[level]))

    def records(place: int, count: int, level: int) -> Iterator[bytes]:
        if count > most[level]:
            refuse("an index of names is too full")
        step = 8 + width + widths[level - 1] if level else 0
        length = 6 + count * size + (count + 1) * step + 4
        data = file.block(place, length, b"BTIN\x00\x05" if level else b"BTLF\x00\x05")
        for k in range(count + (1 if level else 0)):
            if level:
                pointer = Cursor(data[6 + count * size + k * step :])
                below_it, members = pointer.numbers(8, width)
                yield from records(below_it, members, level - 1)
            if k < count:
                yield data[6 + k * size : 6 + (k + 1) * size]

    if root != NOWHERE:
        yield from records(root, count, depth)


def _width(limit: int) -> int:
    """Bytes for numbers up to a limit."""
    return (limit.bit_length() - 1) // 8 + 1


def heap(file: Bytes, address: int) -> Callable[[bytes], bytes]:
    """What gives the objects of a fractal heap by their identifiers."""
    cursor = Cursor(file.block(address, 146, b"FRHP\x00")[5:])
    _, filtered, flags, largest = cursor.numbers(2, 2, 1, 4)
    cursor.take(96)
    columns, start, direct, bits, _, root, rows = cursor.numbers(2, 8, 8, 2, 2, 8, 2)
    if filtered or [columns, start, direct, bits] != HEAP:
        refuse("there is a heap of another kind")
    if rows > bits or start << max(rows - 2, 0) > direct:
        refuse("there are too many names in a group")
    width = -(-bits // 8)
    sizes = [start << max(row - 1, 0) for row in range(rows)]
    places = [(0, start, root)]
    if rows:
        data = Cursor(file.block(root, 13 + width + 8 * columns * rows + 4, b"FHIB\x00")[13 + width :])
        places, offset = [], 0
        for size in sizes:
            for _ in range(columns):
                places.append((offset, size, data.number(8)))
                offset += size
    blocks: dict[int, bytes] = {}

    def read(identifier: bytes) -> bytes:
        cursor = Cursor(identifier)
        kind, offset, length = cursor.numbers(1, width, _width(min(direct, largest)))
        for first, size, place in places:
            if kind == 0 and first <= offset and offset + length <= first + size and place != NOWHERE:
                if first not in blocks:
                    blocks[first] = _direct_block(file, place, size, 13 + width, flags)
                return blocks[first][offset - first : offset - first + length]
        refuse("a name lies outside of its heap")

    return read


def _direct_block(file: Bytes, place: int, size: int, head: int, flags: int) -> bytes:
    """A block of a heap, whose checksum lies behind its head."""
    data = file.read(place, size)
    body = data[:head] + b"\0\0\0\0" + data[head + 4 :]
    if data[:5] != b"FHDB\x00" or (flags & 2 and sum_of(body) != data[head : head + 4]):
        refuse(f"a block of metadata at {place} is not whole")
    return data


class Chunks(NamedTuple):
    """Places of chunks."""

    addresses: Array  # `NOWHERE` of what was not written
    sizes: Array  # bytes in the file
    skipped: Array  # filters that were not applied, as bits


def extensible_array(file: Bytes, address: int, packed: bool, whole: int) -> Iterator[Chunks]:
    """The places of chunks by their numbers, some at a time, from an index that is an extensible array.

    Parameters
    ----------
    file : Bytes
    address : int
        Of its header.
    packed : bool
        Whether chunks differ in size.
    whole : int
        Bytes of a chunk.
    """
    if address == NOWHERE:
        return
    cursor = Cursor(file.block(address, 72, b"EAHD\x00")[5:])
    kind, element, *parameters = cursor.numbers(1, 1, 1, 1, 1, 1, 1)
    cursor.take(48)
    if parameters != ARRAY or kind != packed or not (12 < element <= 20 if packed else element == 8):
        refuse("an index of chunks is not as was said")
    bits, inside, least, pointers, page = ARRAY
    levels = 1 + bits - (least.bit_length() - 1)
    here = 2 * (pointers.bit_length() - 1)  # levels whose blocks the index block names itself
    direct, indirect = 2 * (pointers - 1), levels - here
    nothing = Chunks(np.full(1, NOWHERE, np.uint64), np.zeros(1, int), np.zeros(1, int))

    def read(data: bytes) -> Chunks:
        raw = np.frombuffer(data, np.uint8).reshape(-1, element)
        if not packed:
            addresses = raw.view("<u8")[:, 0]
            return Chunks(addresses, np.full(len(raw), whole), np.zeros(len(raw), int))
        padded = np.zeros((len(raw), 8), np.uint8)
        padded[:, : element - 12] = raw[:, 8:-4]
        columns = (raw[:, :8].copy().view("<u8"), padded.view("<u8"), raw[:, -4:].copy().view("<u4"))
        return Chunks(*(column[:, 0] for column in columns))

    root = cursor.number(8)
    if root == NOWHERE:
        return
    mark = bytes([0, kind]) + address.to_bytes(8, "little")
    block = Cursor(file.block(root, 14 + inside * element + 8 * (direct + indirect) + 4, b"EAIB" + mark)[14:])
    yield read(block.take(inside * element))
    blocks, further = block.numbers(*[8] * direct), block.numbers(*[8] * indirect)
    offset_width, start = bits // 8, 0
    head = 14 + offset_width

    def data_block(place: int, count: int, offset: int, pages: Iterator[bool]) -> Iterator[Chunks]:
        """Entries in one piece, or in pages with a checksum each, of which some may never have been written."""
        begin = b"EADB" + mark + offset.to_bytes(offset_width, "little")
        if count <= 1 << page:
            yield read(file.block(place, head + count * element + 4, begin)[head:])
            return
        file.block(place, head + 4, begin)
        size = (element << page) + 4
        for k in range(count >> page):
            there = next(pages)
            yield read(file.block(place + head + 4 + k * size, size, b"")) if there else nothing

    for level in range(levels):
        amount, count = 1 << (level // 2), least << ((level + 1) // 2)
        pages: Iterator[bool] = iter(())
        if level < here:
            first, places, blocks = direct - len(blocks), blocks[:amount], blocks[amount:]
        else:
            place, first = further[level - here], 0
            if place == NOWHERE:
                return
            paged = count >> page if count > 1 << page else 0
            marks = amount * -(-paged // 8)
            begin = b"EASB" + mark + start.to_bytes(offset_width, "little")
            super_block = Cursor(file.block(place, head + marks + 8 * amount + 4, begin)[head:])
            bitmap = np.frombuffer(super_block.take(marks), np.uint8)
            pages = map(bool, np.unpackbits(bitmap, count=amount * paged))
            places = super_block.numbers(*[8] * amount)
        for k, place in enumerate(places, first):
            if place == NOWHERE:
                return
            # HDF5 counts the blocks that the index block names from the first of all.
            yield from data_block(place, count, start + k * count, pages)
        start += amount * count
