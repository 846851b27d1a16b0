"""Files that exist either complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from mpm.base.interrupts import undisturbed
from mpm.errors import FileFormatError

__all__ = ["Part", "Replacement", "check", "opened", "permissions", "read", "renamed", "replace"]


def replace(path: str | bytes, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file so that at all times, even after power cuts, either the old or the new file exists, complete.

    A process that is killed meanwhile leaves a file ``.mpm-….tmp`` behind.

    Raises
    ------
    OSError
        The folder or the disk does not take it, or what is there is no regular file; the old file is as before, and no
        other is left. Only if the folder itself cannot be brought to the disk, the new file is there already.
    """
    with _named(path):
        with renamed(path) as temporary, temporary.open("wb") as stream:
            for piece in pieces:
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())
        undisturbed(lambda: _synchronize(temporary.parent))


class Replacement:
    """A file beside the path, which takes its place once it is whole. `renamed` is one in a block.

    Symbolic links are followed. The new file has the permissions of the old one, and until it is written its owner may
    write to it, whatever they say; never may anybody else do more.

    Attributes
    ----------
    temporary : Path
        The file beside it.
    """

    def __init__(self, path: str | bytes | Path) -> None:
        self._path = path
        self._mode: int | None = None
        self._target = Path(os.path.realpath(os.fsdecode(path)))
        # A name unique to this call, and no longer than file systems allow.
        self.temporary = self._target.with_name(f".mpm-{os.urandom(8).hex()}.tmp")

    def begin(self) -> None:
        """Make it, empty; an OSError if the folder does not take it, or what is there is no regular file."""
        with _named(self._path):
            self._mode = permissions(self._target)
            mode = 0o666 if self._mode is None else 0o600
            # An interrupt within `touch` would leave its descriptor open.
            undisturbed(lambda: self.temporary.touch(mode, exist_ok=False))
            if self._mode is not None:
                self.temporary.chmod(self._mode | stat.S_IRUSR | stat.S_IWUSR)

    def finish(self) -> None:
        """Let it take the place."""
        with _named(self._path):
            if self._mode is not None:
                self.temporary.chmod(self._mode)
            self.temporary.replace(self._target)

    def abandon(self) -> None:
        """Remove it; what was there stays."""
        with contextlib.suppress(OSError):
            self.temporary.unlink()


@contextlib.contextmanager
def renamed(path: str | bytes | Path) -> Iterator[Path]:
    """An empty file beside the path, which takes its place at the end, or is removed after an error; see `Replacement`.

    Raises
    ------
    OSError
        The folder does not take it, or what is there is no regular file.
    """
    new = Replacement(path)
    try:  # no interrupt can come before this
        new.begin()
        yield new.temporary
        new.finish()
    except BaseException:
        new.abandon()
        raise


def check(path: str | bytes | Path) -> None:
    """Raise the OSError that `renamed` would, and change nothing."""
    new = Replacement(path)
    try:
        new.begin()
    finally:
        new.abandon()


def permissions(path: str | os.PathLike[str]) -> int | None:
    """Those of the file that is to be replaced; None if there is none.

    Raises
    ------
    OSError
        What is there is no regular file: to replace a device or a pipe by a file would destroy it.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "is not a regular file", os.fspath(path))
    return stat.S_IMODE(mode)


def read(path: str | bytes) -> bytes:
    """All bytes of a regular file; errors as in `opened`."""
    with opened(path) as (size, part):
        data = part(0, size)
        if part(size, 1, short=True):
            raise FileFormatError("has changed while it was read")
        return data


class Part(Protocol):
    """Reads bytes of an open file."""

    def __call__(self, first: int, count: int, /, *, short: bool = False) -> bytes:
        """`count` bytes from `first` on; where the file ends, fewer if they may be `short`, or a FileFormatError."""


@contextlib.contextmanager
def opened(path: str | bytes) -> Iterator[tuple[int, Part]]:
    """The size of a regular file, and a function that reads parts of it.

    Raises
    ------
    FileFormatError
        It is no regular file, or it is being written to.
    OSError
        It cannot be read.
    """
    # Opening a pipe without a writer would block for ever.
    with _named(path), open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise FileFormatError("is not a regular file")

        def part(first: int, count: int, /, *, short: bool = False) -> bytes:
            stream.seek(first)
            data = stream.read(count)
            if len(data) != count and not short:
                raise FileFormatError("has changed while it was read")
            return data

        yield status.st_size, part


def _synchronize(folder: Path) -> None:
    """Flush a rename to the disk, if the file system can."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _named(path: str | bytes | Path) -> Iterator[None]:
    """Make errors name the user's file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
