"""Checked paths of files, and files that appear only when they are complete."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mpm.base import _check
from mpm.base.files import renamed


def as_path(name: str, path: object) -> Path:
    """Whatever is a path, if the system has bytes for it."""
    if not isinstance(path, (str, os.PathLike)):
        raise _check.wrong_type(name, path, "a path")
    text = os.fsdecode(path)
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        code = sys.getfilesystemencoding()
        raise ValueError(
            f"{name} = {_check.shown(text)}: has a character that file names lack here: they are {code}. "
            "PYTHONUTF8=1 makes them UTF-8"
        ) from None
    return Path(text)


def check_path(name: str, path: object) -> Path:
    """A path that is not empty."""
    checked = as_path(name, path)
    if not checked.name or "\0" in str(checked):
        raise ValueError(f"{name} = {_check.shown(path)}: must be the path of a file")
    return checked


def check_suffix(name: str, path: object, suffixes: Sequence[str]) -> Path:
    """The path of a file to be written: its suffix is among those given."""
    checked = check_path(name, path)
    if checked.suffix.lower() not in suffixes:
        raise ValueError(f"{name} = {str(checked)!r}: must end in {' '.join(suffixes)}")
    return checked


def check_file(name: str, path: object, suffixes: Sequence[str]) -> Path:
    """The same, in a directory that exists."""
    return in_directory(name, check_suffix(name, path, suffixes))


def below(name: str, path: str, folder: Path) -> Path:
    """The place below a resolved folder where a path leads; relative paths begin in the folder.

    Links are followed before the check, so that one that leaves the folder is refused, and the place has none.
    Whether there is something outside is not told.
    """
    try:
        place = (folder / path).resolve()
    except (OSError, RuntimeError):  # a circle of links; a name that is too long
        raise ValueError(f"{name} = {_check.shown(path)}: leads nowhere") from None
    if place == folder or not place.is_relative_to(folder):
        raise ValueError(f"{name} = {_check.shown(path)}: must lie below the folder {str(folder)!r}")
    return place


def in_directory(name: str, path: Path) -> Path:
    """The path, if its directory exists."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{name} = {str(path)!r}: the directory {str(path.parent)!r} does not exist")
    return path


@contextmanager
def created(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the path's place when all of it is written."""
    with renamed(path) as temporary, temporary.open("wb") as file:
        yield file
