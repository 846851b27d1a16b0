"""Writes an mp4 by piping images to ffmpeg."""

from __future__ import annotations

import contextlib
import os
import subprocess
import weakref
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from mpm.base import _check
from mpm.base.files import Replacement

QUALITY = ("-crf", "20", "-preset", "veryfast", "-threads", "1")


def find() -> str:
    """The path of ffmpeg, or an ImportError that names the extra."""
    need, package = "writing mp4 needs imageio-ffmpeg", "imageio-ffmpeg"
    return str(_check.extra("imageio_ffmpeg", need, "movie", package).get_ffmpeg_exe())


class Encoder:
    """Encodes RGB images of one size with H.264, into a file that takes its place when it is whole.

    Parameters
    ----------
    path : Path
        Of the file, which is replaced.
    size : (int, int)
        Width and height in pixels, even.
    rate : float
        Images per second.

    Raises
    ------
    ImportError
        The extra ``movie`` is not installed.
    OSError
        There cannot be such a file.
    """

    def __init__(self, path: Path, size: tuple[int, int], rate: float) -> None:
        program = find()
        self._path = path.absolute()
        images = f"-f rawvideo -pix_fmt rgb24 -s {size[0]}x{size[1]} -r {rate:.6f} -i -".split()
        coded = ["-vcodec", "libx264", "-pix_fmt", "yuv420p", *QUALITY, "-movflags", "+faststart"]
        file = Replacement(self._path)
        try:
            file.begin()
            process = subprocess.Popen(
                [program, "-y", "-loglevel", "error", *images, *coded, "-f", "mp4", f"file:{file.temporary}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C must not end ffmpeg: the images so far become a movie
            )
        except BaseException:
            file.abandon()
            raise
        assert process.stdin is not None
        self._images: BinaryIO = process.stdin  # type: ignore[assignment]
        # Also when the last reference to the encoder is dropped, and at the end of the process.
        self._end = weakref.finalize(self, _end, process, file, os.getpid())

    def add(self, image: Any) -> None:
        """Append an image, a contiguous buffer of bytes."""
        try:
            self._images.write(image)
            self._images.flush()  # so that a forked child has nothing to write
        except BrokenPipeError:
            self._refuse(self._end())

    def close(self) -> None:
        """Finish the file; again, or after an error: nothing.

        Raises
        ------
        OSError
            It could not be written; an older one stays.
        """
        error = self._end()
        if error:
            self._refuse(error)

    def _refuse(self, error: str | None) -> NoReturn:
        raise OSError(f"{self._path}: ffmpeg could not write it: {error or 'it has ended'}") from None


def _end(process: subprocess.Popen[bytes], file: Replacement, owner: int) -> str:
    """Wait until all images are encoded; returns the error message. What is interrupted leaves no file."""
    if os.getpid() != owner:  # not in a forked child
        return ""
    assert process.stdin is not None and process.stderr is not None
    try:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        with process.stderr as log:  # short, because write errors end ffmpeg
            told = log.read().decode(errors="replace").strip().splitlines() or ["it has ended"]
        if process.wait() == 0:
            file.finish()
            return ""
    except BaseException:
        process.kill()
        process.wait()
        file.abandon()
        raise
    file.abandon()
    return next((line for line in told if "No space left" in line), told[-1])
