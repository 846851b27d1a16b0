"""The bytes of an HDF5 file: blocks of metadata with their checksums, and how much may be read of it."""

from __future__ import annotations

import os
import stat
import struct
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from mpm.errors import FileFormatError

# The superblock of version 3 with addresses of eight bytes: its length, and how it begins.
SUPERBLOCK, SIGNATURE = 48, b"\x89HDF\r\n\x1a\n\x03"
NOWHERE = 2**64 - 1
PATIENCE = 0.2  # seconds


def end_of_file(superblock: bytes) -> int:
    """How many bytes the file has in HDF5's view."""
    return int.from_bytes(superblock[28:36], "little")


def is_growing(superblock: bytes) -> bool:
    """Whether somebody writes to the file, or was killed while doing so."""
    return superblock[:9] == SIGNATURE and superblock[11] != 0


def refuse(reason: str) -> NoReturn:
    """Raise the error of a damaged file."""
    raise FileFormatError(f"is damaged: {reason}")


class Bytes:
    """One file, open until `close`, or until nothing refers to it.

    Parameters
    ----------
    path : Path

    Raises
    ------
    FileNotFoundError, OSError
        It cannot be opened.
    FileFormatError
        It is no regular file, no HDF5 of this kind, or damaged; the message does not name it.
    """

    def __init__(self, path: Path) -> None:
        # Opening a pipe without a writer would block for ever.
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        self.close: Callable[[], Any] = weakref.finalize(self, os.close, self._descriptor)
        try:
            self._open(path)
        except BaseException:
            self.close()
            raise

    def _open(self, path: Path) -> None:
        mode = os.fstat(self._descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"path = {str(path)!r}: is a directory")
        if not stat.S_ISREG(mode):
            raise FileFormatError("is no trajectory: it is not a regular file")
        head = os.pread(self._descriptor, SUPERBLOCK, 0)
        if len(head) < SUPERBLOCK or head[:9] != SIGNATURE:
            raise FileFormatError("is no trajectory: it does not begin like one")
        if self.size < end_of_file(head):
            raise FileFormatError(
                f"is no trajectory any more: {self.size} of {end_of_file(head)} bytes are there"
            )
        self.growing = is_growing(head)
        self.opening = True
        self._left = 2 * self.size  # twice, because headers of objects are begun and then read as a whole
        head = self.block(0, SUPERBLOCK, SIGNATURE)
        base, root = struct.unpack_from("<Q", head, 12)[0], struct.unpack_from("<Q", head, 36)[0]
        if head[9:11] != b"\x08\x08" or base != 0:
            refuse("addresses do not count from its beginning in eight bytes")
        self.root_address: int = root

    @property
    def size(self) -> int:
        """Bytes that the file has now."""
        return os.fstat(self._descriptor).st_size

    @property
    def closed(self) -> bool:
        return not self.close.alive  # type: ignore[attr-defined]

    def read(self, address: int, length: int) -> bytes:
        """Bytes at an address."""
        if address + length > self.size:
            refuse("something lies beyond its end")
        if self.opening:
            self._left -= length
            if self._left < 0:
                refuse("it declares more than it holds")
        found = os.pread(self._descriptor, length, address)
        while len(found) < length:  # the system reads at most 2 GB at once
            more = os.pread(self._descriptor, length - len(found), address + len(found))
            if not more:
                refuse("something lies beyond its end")
            found += more
        return found

    def block(self, address: int, length: int, signature: bytes) -> bytes:
        """A block of metadata: it begins with its signature and ends with its checksum, which is left out."""
        until = time.monotonic() + PATIENCE
        data = self.read(address, length)
        while not (data.startswith(signature) and sum_of(data[:-4]) == data[-4:]):
            if not self.growing or time.monotonic() > until:
                refuse(f"a block of metadata at {address} is not whole")
            time.sleep(0.002)
            data = os.pread(self._descriptor, length, address)
        return data[:-4]


def sum_of(data: bytes) -> bytes:
    """Bob Jenkins' lookup3, little-endian."""
    a = b = c = (0xDEADBEEF + len(data)) & 0xFFFFFFFF
    full = 3 * ((len(data) - 1) // 12) if data else 0
    words = struct.unpack_from(f"<{full}I", data)
    m = 0xFFFFFFFF
    for k in range(0, full, 3):
        a, b, c = (a + words[k]) & m, (b + words[k + 1]) & m, (c + words[k + 2]) & m
        a = ((a - c) & m) ^ ((c << 4) & m | c >> 28)
        c = (c + b) & m
        b = ((b - a) & m) ^ ((a << 6) & m | a >> 26)
        a = (a + c) & m
        c = ((c - b) & m) ^ ((b << 8) & m | b >> 24)
        b = (b + a) & m
        a = ((a - c) & m) ^ ((c << 16) & m | c >> 16)
        c = (c + b) & m
        b = ((b - a) & m) ^ ((a << 19) & m | a >> 13)
        a = (a + c) & m
        c = ((c - b) & m) ^ ((b << 4) & m | b >> 28)
        b = (b + a) & m
    if data:
        tail = struct.unpack("<3I", data[4 * full :].ljust(12, b"\0"))
        a, b, c = (a + tail[0]) & m, (b + tail[1]) & m, (c + tail[2]) & m
        c = ((c ^ b) - ((b << 14) & m | b >> 18)) & m
        a = ((a ^ c) - ((c << 11) & m | c >> 21)) & m
        b = ((b ^ a) - ((a << 25) & m | a >> 7)) & m
        c = ((c ^ b) - ((b << 16) & m | b >> 16)) & m
        a = ((a ^ c) - ((c << 4) & m | c >> 28)) & m
        b = ((b ^ a) - ((a << 14) & m | a >> 18)) & m
        c = ((c ^ b) - ((b << 24) & m | b >> 8)) & m
    return c.to_bytes(4, "little")


class Cursor:
    """Numbers from bytes, one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def take(self, length: int) -> bytes:
        if length > self.left:
            refuse("a piece of metadata is too short")
        self.at += length
        return self.data[self.at - length : self.at]

    def number(self, length: int) -> int:
        return int.from_bytes(self.take(length), "little")

    def numbers(self, *lengths: int) -> list[int]:
        return [self.number(length) for length in lengths]
