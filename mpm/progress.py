"""Progress bars on stderr, where tqdm is installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, TypeVar

from mpm import _check

T = TypeVar("T", covariant=True)

FRAMES_MAX = 10_000_000


class Countable(Protocol[T]):
    """What has a length and can be gone through."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[T]: ...


def frame_count(duration: object, fps: object) -> tuple[int, float]:
    """Number of frames after the first, and the checked rate."""
    length = _check.number("duration", duration, low=0, unit="s")
    rate = _check.number("fps", fps, low=0, low_open=True, unit="1/s")
    count = _check.number("duration*fps", length * rate, low=0, high=FRAMES_MAX)
    return round(count), rate


def bar(count: int) -> Any:
    """A bar of `count` frames, or an ImportError that names the extra."""
    return _check.extra("tqdm", "progress=True needs tqdm", "plot").tqdm(total=count, unit="frame")


def follow(frames: Countable[T], progress: object) -> Iterable[T]:
    """The frames, with a bar if asked for; the argument is checked at once."""
    return _followed(frames, bar(len(frames))) if _check.flag("progress", progress) else frames


def _followed(frames: Iterable[T], shown: Any) -> Iterator[T]:
    with shown:
        for frame in frames:
            yield frame
            shown.update()
