"""Progress bars on stderr, where tqdm is installed."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mpm.base import _check

if TYPE_CHECKING:
    from mpm.solver.core import Core

T = TypeVar("T", covariant=True)

FRAMES_MAX = 10_000_000
MANY_STEPS = 1e7  # a run of more warns
TRIAL_STEPS = 4  # taken before it; the fastest tells the speed
PIECE = 0.2  # s: about how often the bar of a run moves
TIMES = (("years", 31_557_600.0), ("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0), ("s", 1.0))
FORMAT = "{l_bar}{bar}| {n:.3g}/{total:.3g} s [{elapsed}<{remaining}{postfix}]"


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


class Pace:
    """The bar of a run, and the pieces after which it moves.

    Parameters
    ----------
    core : Core
    end : float
        Time at which the run ends [s].
    """

    def __init__(self, core: Core, end: float) -> None:
        self._core, self._start, self._end = core, core.time, end
        tqdm = _check.extra("tqdm", "progress=True needs tqdm", "plot").tqdm
        self._bar = tqdm(total=end - core.time, bar_format=FORMAT)
        self._steps = 1  # in a piece
        self._began = time.perf_counter()

    def pause(self) -> float:
        """The time of the next pause [s]."""
        self._began = time.perf_counter()
        return self._core.time + self._steps * self._core.dt

    def show(self) -> None:
        """Move the bar after a piece."""
        took = time.perf_counter() - self._began
        self._steps = (
            2 * self._steps if took < PIECE / 2 else max(1, self._steps // 2) if took > PIECE else self._steps
        )
        self._bar.set_postfix_str(f"{self._core.steps:,} steps", refresh=False)
        self._bar.update(min(self._core.time, self._end) - self._start - self._bar.n)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.close()


def foresee(core: Core, step: Callable[[], None], end: float, until: float, limit: Callable[[], str]) -> None:
    """Warn if a run to the time `until` needs very many steps. Takes the first ones, where it is not clear.

    The last step of a run may have been a short one, and there was none before the first run.

    Parameters
    ----------
    core : Core
    step : callable
        Takes one step of the run, whose first part ends at `end`.
    end, until : float
        Times [s].
    limit : callable
        An addition to dt: what bounds it; may be empty.
    """
    if not until - core.time > MANY_STEPS * core.dt:
        return
    fastest = math.inf
    for _ in range(TRIAL_STEPS):
        began = time.perf_counter()
        step()
        fastest = min(fastest, time.perf_counter() - began)
        if core.time >= end or not until - core.time > MANY_STEPS * core.dt:
            return
    needed = (until - core.time) / core.dt
    warnings.warn(
        f"this run needs about {needed:.1g} steps of dt = {core.dt:.2g} s{limit()}, and so about "
        f"{spoken(needed * fastest)}; Ctrl-C ends it at a whole step, run(max_steps=) bounds it",
        UserWarning,
        stacklevel=_check.levels_to_caller(),
    )


def beyond(core: Core, end: float, limit: Callable[[], str]) -> str:
    """What is to be said of a run that may take no more steps on its way to `end`."""
    needed = (end - core.time) / core.dt
    return (
        f"max_steps: the run is at t = {core.time:g} s after {core.steps} steps in all; to t = {end:g} s it needs "
        f"about {needed:.2g} more of dt = {core.dt:.2g} s{limit()}"
    )


def spoken(seconds: float) -> str:
    """A time in the largest unit that fits."""
    unit, length = next((pair for pair in TIMES if seconds >= 2 * pair[1]), TIMES[-1])
    return f"{seconds / length:.2g} {unit}"


def follow(frames: Countable[T], progress: object) -> Iterable[T]:
    """The frames, with a bar if asked for; the argument is checked at once."""
    return _followed(frames, bar(len(frames))) if _check.flag("progress", progress) else frames


def _followed(frames: Iterable[T], shown: Any) -> Iterator[T]:
    with shown:
        for frame in frames:
            yield frame
            shown.update()
