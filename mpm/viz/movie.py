"""Movies: mp4 through ffmpeg, gif through Pillow, or a directory of png files."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from mpm.base import _check, files
from mpm.base.closing import Closing
from mpm.base.paths import as_path, created, in_directory
from mpm.base.pictures import DEFAULTS, PictureOptions
from mpm.solver.progress import follow, frame_count
from mpm.solver.source import Running, Series, Source
from mpm.viz import canvas
from mpm.viz.ffmpeg import Encoder, find
from mpm.viz.framing import check_size
from mpm.viz.render import Image, Renderer, Shot, check_image
from mpm.viz.solid import renderer_of

# Frame rates that players show smoothly; with more or fewer frames per simulated second a movie is slower or faster.
PLAYBACK_LOW, PLAYBACK_HIGH = 10.0, 60.0
GIF_PLAYBACK_HIGH = 50.0


class MovieWriter(Closing):
    """Writes RGB images of one size to a movie; a context manager.

    Parameters
    ----------
    path : str or path
        ``.mp4``, ``.gif``, or a directory (no suffix), which is made if need be. What is there is replaced once the
        movie is whole; in a directory, the ``frame_0000.png``, … of an earlier movie one by one.
    fps : float
        Frames per second; played with 10 to 60.
    size : (int, int), optional
        Width and height in pixels, even. Default: those of the first image.

    Raises
    ------
    ValueError
        Another suffix.
    FileNotFoundError
        The directory of the file does not exist.
    ImportError
        The extra ``movie`` is not installed.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, fps: float, size: tuple[int, int] | None = None
    ) -> None:
        self.path = check_path(path)
        self.size = None if size is None else check_size(size)
        rate = _check.number("fps", fps, low=0, low_open=True, unit="1/s")
        self.playback = min(max(rate, PLAYBACK_LOW), PLAYBACK_HIGH)
        self.frames = 0
        self.closed = False
        self._stills: list[Any] = []
        self._refused = False  # whether a png could not be written; then those of an earlier movie stay
        self._mp4 = self.path.suffix.lower() == ".mp4"
        self._encoder: Encoder | None = None
        if self._mp4:
            find()
            files.check(self.path)
            if self.size is not None:
                self._encoder = Encoder(self.path, self.size, self.playback)
        if not self.path.suffix:
            canvas.pillow()
            self.path.mkdir(exist_ok=True)

    def add(self, image: npt.NDArray[np.uint8]) -> None:
        """Append an image, uint8 of shape (height, width, 3)."""
        check_image("image", image)
        if self.closed:
            raise ValueError("image: the movie is closed, nothing can be added")
        if self.size is None:
            self._begin(image)
        assert self.size is not None
        width, height = self.size
        if image.shape[:2] != (height, width):
            raise ValueError(f"image has shape {image.shape}: must be {(height, width, 3)}")
        if self._encoder is not None:
            self._encoder.add(np.ascontiguousarray(image))
        else:
            picture = canvas.pillow()[0].fromarray(image)
            if self.path.suffix:
                self._stills.append(picture.quantize(colors=192, dither=0))
            else:
                try:
                    _save(self.path / f"frame_{self.frames:04d}.png", picture, "png")
                except OSError:
                    self._refused = True
                    raise
        self.frames += 1

    def _begin(self, image: npt.NDArray[np.uint8]) -> None:
        """Take the size of the first image."""
        height, width = image.shape[:2]
        size = check_size((width, height))
        if self._mp4:
            self._encoder = Encoder(self.path, size, self.playback)
        self.size = size

    def close(self) -> None:
        """Finish the file with the images so far; an `OSError` if it could not be written: an older one stays."""
        self.closed = True
        if self._encoder is not None:
            encoder, self._encoder = self._encoder, None
            encoder.close()
        elif self._stills:
            (first, *rest), self._stills = self._stills, []
            # Delays are counted in hundredths of a second.
            delay = 10 * max(1, round(100 / min(self.playback, GIF_PLAYBACK_HIGH)))
            _save(self.path, first, "gif", save_all=True, append_images=rest, duration=delay, loop=0)
        elif not self.path.suffix and not self._refused:
            for old in self.path.glob("frame_*.png"):
                number = old.stem.removeprefix("frame_")
                if number.isascii() and number.isdigit() and int(number) >= self.frames:
                    old.unlink()


class Pictures(Closing):
    """Draws pictures while the simulation goes on, in a thread of its own; a context manager, which ends when the last
    one is done.

    Parameters
    ----------
    renderer : Renderer
        Draws here, and nowhere else meanwhile.
    use : callable (image, \\*what) -> None
        Is given every picture, in that thread, one after the other.
    """

    def __init__(self, renderer: Renderer, use: Callable[..., None]) -> None:
        self._renderer, self._use = renderer, use
        self._thread = ThreadPoolExecutor(1, "mpm-pictures") if renderer._any_thread else None
        self._drawn: Future[None] | None = None

    def take(self, sim: Source, *what: Any) -> None:
        """Have the current state drawn, and go on; waits for the picture before, and raises what went wrong with it."""
        shot = self._renderer._shoot(sim)
        self._wait()
        if self._thread is None:
            self._draw(shot, what)
        else:
            self._drawn = self._thread.submit(self._draw, shot, what)

    def close(self) -> None:
        """Wait for the last picture."""
        try:
            self._wait()
        finally:
            if self._thread is not None:
                self._thread.shutdown()

    def _draw(self, shot: Shot, what: tuple[Any, ...]) -> None:
        self._use(self._renderer._draw(shot), *what)

    def _wait(self) -> None:
        drawn, self._drawn = self._drawn, None
        if drawn is not None:
            drawn.result()


def check_path(path: object) -> Path:
    """The path of a movie: a suffix that can be written, in a directory that exists."""
    checked = as_path("path", path)
    if checked.suffix.lower() not in (".mp4", ".gif", "") or not checked.name:
        raise ValueError(
            f"path = {str(checked)!r}: must end in .mp4 or .gif, or have no suffix (a directory of png)"
        )
    return in_directory("path", checked)


@_check.options
@_check.spelled(PictureOptions, DEFAULTS)
def movie(
    sim: Running,
    path: str | os.PathLike[str],
    *,
    duration: float,
    fps: float,
    size: tuple[int, int] | None = None,
    renderer: str = "builtin",
    progress: bool = False,
    **options: Unpack[PictureOptions],
) -> None:
    """Run a simulation and write what it looks like; see `Simulation.movie`."""
    # Everything is checked before the file is begun, and the bar comes last: nothing is left over from an error.
    picture = renderer_of(renderer, sim)(
        sim,
        size=size,
        **options,
    )
    frame_count(duration, fps)
    _check.flag("progress", progress)

    def states() -> Iterator[Source]:
        for _ in sim.frames(duration=duration, fps=fps, progress=progress):
            yield sim

    _write(picture, states(), path, fps)


def write_frames(
    frames: Series,
    path: str | os.PathLike[str],
    *,
    fps: float,
    renderer: str,
    progress: bool,
    **options: Any,
) -> None:
    """Write the frames of a replay as a movie; see `Replay.movie`, and `Renderer` for its options."""
    picture = renderer_of(renderer, frames[0])(frames[0], **options)
    check_path(path)
    _write(picture, follow(frames, progress), path, fps)


def _write(picture: Renderer, states: Iterable[Source], path: str | os.PathLike[str], fps: float) -> None:
    size = picture.width, picture.height
    with MovieWriter(path, fps=fps, size=size) as writer, Pictures(picture, writer.add) as pictures:
        for state in states:
            pictures.take(state)


def contact_sheet(frames: list[Image], *, columns: int = 4) -> Image:
    """Images of one size on one sheet, row by row.

    Parameters
    ----------
    frames : list of ndarray, each (height, width, 3)
        At least one, all alike.
    columns : int
        At least 1.

    Returns
    -------
    ndarray of uint8, shape (rows·height, columns·width, 3)
    """
    across = _check.integer("columns", columns, low=1)
    if not isinstance(frames, (list, tuple)):
        raise _check.wrong_type("frames", frames, "a list of images")
    if not frames:
        raise ValueError("frames = []: must hold at least one image")
    shapes = {check_image(f"frames[{k}]", frame).shape for k, frame in enumerate(frames)}
    if len(shapes) > 1:
        raise ValueError(f"frames have shapes {sorted(shapes)}: must all be (height, width, 3)")
    height, width, _ = frames[0].shape
    across = min(across, len(frames))
    rows = -(-len(frames) // across)
    sheet = np.full((rows * height, across * width, 3), 255, dtype=np.uint8)
    for k, frame in enumerate(frames):
        i, j = divmod(k, across)
        sheet[i * height : (i + 1) * height, j * width : (j + 1) * width] = frame
    return sheet


def save_image(path: str | os.PathLike[str], image: Image) -> None:
    """Write an RGB image, uint8 of shape (height, width, 3), in the format of the path's suffix."""
    checked = as_path("path", path)
    images, _, _ = canvas.pillow()
    kind = images.registered_extensions().get(checked.suffix.lower())
    if kind is None:
        raise ValueError(f"path = {str(checked)!r}: must end in .png, .jpg or another suffix of an image")
    _save(checked, images.fromarray(check_image("image", image)), kind)


def _save(path: Path, picture: Any, kind: str, **options: Any) -> None:
    """Write an image of Pillow, whole or not at all. To a file of the disk Pillow writes some formats without noticing
    that it is full."""
    data = io.BytesIO()
    picture.save(data, format=kind, **options)
    with created(path) as file:
        file.write(data.getbuffer())
