"""The run of a solver: its clock, its threads, and how it advances in whole steps."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from mpm.base import _check, advice, config, interrupts
from mpm.errors import StepLimitError
from mpm.scene.scene import Scene
from mpm.solver import progress as progresses
from mpm.solver import runlog

if TYPE_CHECKING:
    from mpm.solver.core import Core
    from mpm.solver.team import Team

PARTICLES_PER_THREAD = 4096  # by default; a thread with fewer does not pay off
STEPS_MAX = 2**62


class Run(_check.Strict):
    """A scene and the core that advances it; `mpm.solver.Solver` adds what a solver says, shows and keeps.

    A run is cut into pieces where something is to be done between steps, such as taking the frame of a recording. No
    piece changes a bit.

    Parameters
    ----------
    core : Core
    scene : Scene
        Copied: later changes of the scene have no effect.
    threads : int, optional
        Default `mpm.get_num_threads`, but at most one per 4,096 particles.
    """

    __slots__ = (
        "__weakref__",
        "_agreed",
        "_core",
        "_distributed",
        "_most_threads",
        "_recordings",
        "_scene",
        "_team",
        "_threads",
    )

    def __init__(self, core: Core, scene: Scene, *, threads: int | None = None) -> None:
        self._core = core
        self._scene = scene._kept_copy()
        self._threads = threads
        self._most_threads = threads or config.get_num_threads()
        self._recordings: list[Any] = []
        self._team: Team | None = None
        self._distributed = False
        self._agreed: object = None

    # ---- the clock and the threads ---------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Present time [s]."""
        return self._core.time

    @property
    def steps(self) -> int:
        """Number of steps taken."""
        return self._core.steps

    @property
    def dt(self) -> float:
        """The last time step [s]; 0 before the first."""
        return self._core.dt

    @property
    def threads(self) -> int:
        """Number of threads of the next run; writable."""
        return self._threads or config.shared_out(
            self._core.particles, PARTICLES_PER_THREAD, self._most_threads
        )

    @threads.setter
    def threads(self, threads: int) -> None:
        number = _check.integer("threads", threads, low=1, high=config.MAX_THREADS)
        self._core.threads = number  # not during a run
        self._threads = number

    # ---- the run ---------------------------------------------------------------------------------------

    @_check.options(hints=advice.OF_RUN)
    def run(
        self,
        duration: float,
        *,
        max_steps: int | None = None,
        progress: bool = False,
        callback: Callable[[Self], object] | None = None,
        every: float | None = None,
    ) -> None:
        """Advance by `duration` [s]; ends at exactly ``time + duration``.

        Warns, with an estimate of the duration, if the size of the first step implies more than ten million steps.
        The logger ``mpm`` of `logging` gets a line at the beginning and at the end, at the level INFO.

        Parameters
        ----------
        duration : float
            Length of the run [s].
        max_steps : int, optional
            Take at most this many steps, or raise `StepLimitError`. It does not affect the results.
        progress : bool, optional
            Show a bar on stderr; needs the extra ``plot``. The bar does not affect the results.
        callback : callable, optional
            ``callback(sim)`` is called between whole steps. It may read and write the particles; an exception ends the
            run at that step. A callback that writes nothing does not affect the results.
        every : int or float, with `callback` only
            An int: steps between calls. A float: seconds of simulated time between calls; a call comes after the first
            whole step at or after each multiple, at most once per step. Both count from the beginning of this run; the
            first call is not at the beginning.

        Raises
        ------
        SimulationError
            A value is not finite or outside a law's range; `InstabilityError` and `EscapeError` are special cases. The
            simulation remains valid at its last whole step.
        StepLimitError
            The run needs more than `max_steps`. The simulation stays at the last step; another run continues it.
        BusyError
            Another thread is running this simulation.
        """
        length = _check.number("duration", duration, low=0, unit="s")
        end = _check.number("time + duration", self._core.time + length, unit="s")
        most = None if max_steps is None else _check.integer("max_steps", max_steps, low=1, high=STEPS_MAX)
        calls = _calls(callback, every)
        pace = progresses.Pace(self._core, end) if _check.flag("progress", progress) else None

        def advance() -> None:
            nonlocal most
            with runlog.logged(self._core, end):
                if most is None and calls is None:
                    self._foresee(end, end)
                most = STEPS_MAX if most is None else most
                if calls is None:
                    self._advance(end=end, pace=pace, steps=most)
                else:
                    self._advance_and_call(*calls, end, most, pace)
                if self._core.time < end:
                    raise StepLimitError(progresses.beyond(self._core, end, self._limit))

        try:
            if self._team is None:
                advance()
            else:
                self._team.undisturbed(advance)
        finally:
            if pace is not None:
                pace.close()

    def _advance_and_call(
        self,
        call: Callable[[Self], object],
        every: float,
        end: float,
        most: int,
        pace: progresses.Pace | None,
    ) -> None:
        """Take at most `most` steps, with a call after so many of them, or so many seconds."""
        core, start, last, turn = self._core, self._core.time, self._core.steps + most, 0
        if isinstance(every, float):
            every = max(every, (end - start) * 2**-50)  # so that turns can be counted; there are fewer steps
        while core.time < end and core.steps < last:
            if isinstance(every, int):
                self._advance(end=end, pace=pace, steps=min(every, last - core.steps))
                due = (core.steps - last + most) % every == 0
            else:
                self._advance(end=end, pace=pace, steps=last - core.steps, pause=start + (turn + 1) * every)
                reached = int((core.time - start) / every * (1 + 1e-12))
                due, turn = reached > turn, max(turn, reached)
            if due and self._team is not None:
                self._team.together("a callback", lambda: call(self))
            elif due:
                call(self)

    @_check.options(hints=advice.OF_STEP)
    def step(self, n: int = 1) -> None:
        """Advance by `n` whole steps; errors as in `run`."""
        if isinstance(n, float):
            raise TypeError(f"n = {n!r}: must be an integer, a number of steps; run({n!r}) takes seconds")
        self._advance(steps=_check.integer("n", n, low=0, high=STEPS_MAX))

    def _advance(
        self,
        *,
        steps: int = STEPS_MAX,
        end: float = math.inf,
        pause: float = math.inf,
        pace: progresses.Pace | None = None,
    ) -> None:
        """Take whole steps, or run to a time or to the first step that reaches `pause`: whatever comes first. Run in
        pieces where something is to be done between them: a frame may be due, a bar is shown.

        Pieces change no bit: a piece ends with the first step at or after a time, whatever its dt.
        """
        core = self._core
        core.threads = self.threads
        if pace is None and not self._in_pieces() and self._team is None:
            self._advance_to(steps, end, pause)
            return
        last, pacer = core.steps + steps, 0

        def check() -> None:
            nonlocal pacer
            pacer = self._compare((last, end, pause), pace is not None)

        def pieces() -> None:
            self._emit()
            self._take_frames()  # an interrupt may have come before it
            while True:
                until = min((recording._due for recording in self._recordings), default=pause)
                until = min(until, self._next_change())
                until = min(until, self._break(pace, pacer))
                before = core.time
                try:  # also an interrupt ends the run at a whole step, where a drain and a frame may be due
                    try:
                        self._advance_to(last - core.steps, end, min(until, pause))
                    finally:
                        self._drain(before)
                    self._emit()
                finally:
                    self._take_frames()
                if pace is not None:
                    pace.show()
                if core.steps >= last or core.time >= min(end, pause):
                    return

        if self._team is None:
            core.hold(pieces)
        else:
            self._team.run(core.hold, check, pieces)

    # ---- several processes -------------------------------------------------------------------------------

    def _compare(self, aims: tuple[float, ...], paced: bool) -> int:
        """Raise unless the processes of the team have done the same since the last run, and run to the same aims.

        Returns the first process that is paced, or -1.
        """
        team, core = cast("Team", self._team), cast("Any", self._core)
        frames = [recording._due for recording in self._recordings]
        both = team.told(
            lambda: (
                (core.time, core.steps, self._signature(), self._agreed, core.written()),
                (aims, frames),
                paced,
            )
        )
        told = [one for one, *_ in both]
        written = sorted({name for *_, names in told for name in names})
        if any(one[:4] != told[0][:4] or one[2] != one[3] for one in told):
            team.compare(self._state_digest)  # something was added, deleted or set, or this is the first run
        elif written:
            team.compare(lambda: [self._field_digest(name) for name in written])
        team.compare_calls([call for _, call, _ in both])
        # This reads in and measures now, where one process may have looked and others not.
        team.told(core.totals)
        self._agreed = self._signature()
        return next((process for process, (*_, paced) in enumerate(both) if paced), -1)

    def _signature(self) -> tuple[int, ...]:
        """What changes with what is simulated."""
        return (*self._rows(), len(self._scene._changes), len(self._scene.colliders))

    def _state_digest(self) -> str:
        """A hash of all that decides how it continues."""
        raise NotImplementedError

    def _field_digest(self, name: str) -> str:
        """A hash of a field as it is now."""
        raise NotImplementedError

    def _break(self, pace: progresses.Pace | None, pacer: int) -> float:
        """When the bar is shown next; that of one process, as a clock tells each another time."""
        time = math.inf if pace is None else pace.pause()
        return time if self._team is None or pacer < 0 else self._team.number_of(pacer, time)

    def _with_team(self, action: Callable[[], None]) -> None:
        """A run of the core, with the other processes."""
        if self._team is None:
            action()
        else:
            self._team.joined(cast("Any", self._core), action)

    # ---- the pieces of a run -----------------------------------------------------------------------------

    def _foresee(self, end: float, until: float) -> None:
        """Warn if a run to the time `until`, whose first part goes to `end`, needs very many steps."""

        def step() -> None:
            self._advance(end=end, pause=math.nextafter(self._core.time, math.inf))

        progresses.foresee(self._core, step, end, until, self._limit)

    def _limit(self) -> str:
        """An addition to dt in a warning: what bounds it; may be empty."""
        return ""

    def _take_frames(self) -> None:
        """Take the frames that are due. Ctrl-C waits for them: it ends the run, and not the recordings."""
        for recording in [one for one in self._recordings if one._due <= self._core.time]:
            look = functools.partial(interrupts.undisturbed, functools.partial(recording._look, self))
            if self._team is None:
                look()
                continue
            try:
                self._team.together("a frame of a recording", look)
            except BaseException:
                recording._close()  # as the process has done that writes
                raise

    def _in_pieces(self) -> bool:
        """Whether a run advances in pieces; then this thread holds the core between them."""
        scene = self._scene  # asked before every step
        forced = scene.body_force is not None or bool(scene._loads)
        return bool(self._recordings or scene._emitters or scene._drains) or forced

    def _next_change(self) -> float:
        """When a drain acts next, or an emitter fills [s]; infinite without them."""
        return math.inf

    def _drain(self, before: float) -> None:
        """Delete what is in the drains that have had a turn after the time `before`."""

    def _emit(self) -> None:
        """Fill the emitters whose time has come."""

    def _advance_to(self, steps: int, end: float, pause: float) -> None:
        """The same, but not beyond the first step that reaches the time `pause`."""
        if self._scene._loads or self._scene.body_force is not None:
            self._advance_forced(steps, end, pause)
        elif end < math.inf:
            self._with_team(lambda: self._core.run(end, pause, steps))
        else:
            self._with_team(lambda: self._core.step(steps, pause))

    def _advance_forced(self, steps: int, end: float, pause: float) -> None:
        """The same, each step under the body force and the loads at its beginning; the core is held."""
        last = self._core.steps + steps
        rows, forcing = self._rows(), self._forcing()
        while self._core.steps < last and self._core.time < min(end, pause):
            if self._rows() != rows:
                rows, forcing = self._rows(), self._forcing()
            body_force, *loads = (
                forcing() if self._team is None else self._team.together("a body force or load", forcing)
            )
            if self._rows() != rows:
                raise ValueError(
                    "body_force(x, t) or a load has added or deleted particles: its answer is for others"
                )
            self._with_team(functools.partial(self._core.step_forced, body_force, end, *loads))

    def _forcing(self) -> Callable[[], tuple[Any, ...]]:
        """What gives the body force by row, and what loads do: arguments of `Core.step_forced`."""
        raise NotImplementedError

    def _rows(self) -> tuple[int, int]:
        """What changes when particles are added or deleted."""
        return self._core.particles, self._core.health()["deleted"]

    @_check.options
    def frames(self, *, duration: float, fps: float, progress: bool = False) -> Iterator[tuple[int, float]]:
        """Run frame by frame; the last step before a frame is shortened to end at the frame's time, as in `run`.

        Parameters
        ----------
        duration : float
            Length of the run [s].
        fps : float
            Frames per second of simulated time.
        progress : bool, optional
            Show a bar on stderr; needs the extra ``plot``.

        Yields
        ------
        i : int
            Number of the frame, 0 for the state at the start.
        t : float
            Time of the frame: exactly t₀ + i/fps. ``round(duration·fps)`` frames follow the first.
        """
        count, rate = progresses.frame_count(duration, fps)
        bar = progresses.bar(count) if _check.flag("progress", progress) else None
        return self._frames(count, rate, bar)

    def _frames(self, count: int, fps: float, bar: Any) -> Iterator[tuple[int, float]]:
        start = self._core.time
        try:
            yield 0, start
            for i in range(1, count + 1):
                if i == 1:
                    self._foresee(start + i / fps, start + count / fps)
                self._advance(end=start + i / fps)
                if bar is not None:
                    bar.update()
                yield i, self._core.time
        finally:
            if bar is not None:
                bar.close()


def _calls(callback: object, every: object) -> tuple[Callable[..., object], float] | None:
    """The callback of a run with its interval: an int of steps, or seconds."""
    if callback is None:
        if every is not None:
            raise ValueError(f"every = {_check.shown(every)}: needs a callback")
        return None
    if not callable(callback):
        raise _check.wrong_type("callback", callback, "a callable f(sim)")
    if every is None:
        raise ValueError("callback: needs every=, an int of steps or a float of seconds")
    if isinstance(every, (int, np.integer)):
        return callback, _check.integer("every", every, low=1, high=STEPS_MAX)
    return callback, _check.number("every", every, low=0, low_open=True, unit="s")
