"""Files that exist either complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from mpm.errors import FileFormatError

__all__ = ["permissions", "read", "renamed", "replace"]


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
        _synchronize(temporary.parent)


@contextlib.contextmanager
def renamed(path: str | bytes | Path) -> Iterator[Path]:
    """An empty file beside the path, which takes its place at the end, or is removed after an error.

    Symbolic links are followed. The new file has the permissions of the old one, and until it is written its owner may
    write to it, whatever they say; never may anybody else do more.

    Raises
    ------
    OSError
        The folder does not take it, or what is there is no regular file.
    """
    target = Path(os.path.realpath(os.fsdecode(path)))
    # A name unique to this call, and no longer than file systems allow.
    temporary = target.with_name(f".mpm-{os.urandom(8).hex()}.tmp")
    try:  # no interrupt can come before this
        with _named(path):
            mode = permissions(target)
            temporary.touch(0o666 if mode is None else 0o600, exist_ok=False)
            if mode is not None:
                temporary.chmod(mode | stat.S_IRUSR | stat.S_IWUSR)
        yield temporary
        with _named(path):
            if mode is not None:
                temporary.chmod(mode)
            temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


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
    """All bytes of a regular file.

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
        data = stream.read(status.st_size)
        if len(data) != status.st_size or stream.read(1):
            raise FileFormatError("has changed while it was read")
        return data


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
