"""The base of all solvers: run, record, draw, view, save, load, copy, compare. `mpm.Simulation` is the first.

A method other than MPM is a subclass of `Solver` around a `mpm.core.Core`, which does all computation.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt

from mpm import _check, config, derived, interrupts, runlog, totals
from mpm import progress as progresses
from mpm._check import FloatArray
from mpm.colliders import Placed, distance_of
from mpm.errors import BusyError, StepLimitError
from mpm.fieldtable import KNOWN
from mpm.keeping import SOLVERS, Format
from mpm.laws import Material
from mpm.particles import IN_WORDS, Copies, Particles
from mpm.scene import BodyForce, Scene

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mpm import grid
    from mpm.core import Core
    from mpm.io.replay import Replay
    from mpm.io.state import State
    from mpm.io.trajectory import Recording
    from mpm.settings import Setting
    from mpm.viewer.widget import Viewer
    from mpm.viz import Picture

__all__ = ["Solver"]

PARTICLES_PER_THREAD = 4096  # by default, fewer are not worth a thread
STEPS_MAX = 2**62


class Solver(_check.Strict):
    """Base of solvers: a scene and a core that advances it.

    A subclass ``class Springs(Solver, kind="springs")``, where `kind` names it in files, must supply

    - a core, given to ``__init__``,
    - ``_snapshot()``, its complete state without threads: a `mpm.io.kept.Kept`, or an object that ``_format()``
      describes,
    - ``_of(snapshot, threads)``, a class method that makes a solver from a snapshot,

    and may supply: ``_options()``, which recordings store and need; ``materials``, or ``quantities`` with
    ``_quantity(name, particles)``, for `compute`; ``_settings()``, which the viewer can change, with
    ``_rebuilt(changes)``; ``_has_grid`` with ``_nodes()``; and ``_lines()`` of the `repr`.

    Parameters
    ----------
    core : Core
    scene : Scene
        The solver copies it: later changes of the scene have no effect.
    colliders : sequence of Placed
        The colliders of the scene, placed in the core.
    threads : int, optional
        Default `mpm.get_num_threads`, but at most one per 4,096 particles.
    """

    __slots__ = ("__weakref__", "_colliders", "_core", "_most_threads", "_recordings", "_scene", "_threads")

    _kind: ClassVar[str]
    _has_grid: ClassVar[bool] = False

    def __init_subclass__(cls, kind: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if kind is None:
            if not hasattr(cls, "_kind"):
                raise TypeError(f"class {cls.__name__} needs kind=, what its files are called by")
            return
        other = SOLVERS.get(kind, cls)
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):  # not made again
            raise ValueError(f"kind = {kind!r}: already that of {other.__qualname__}; must be unique")
        cls._kind = kind
        SOLVERS[kind] = cls

    def __init__(
        self, core: Core, scene: Scene, *, colliders: Sequence[Placed] = (), threads: int | None = None
    ) -> None:
        self._core = core
        self._scene = scene._kept_copy()
        self._colliders = list(colliders)
        self._threads = threads
        self._most_threads = threads or config.get_num_threads()
        self._recordings: list[Recording] = []

    def __getattr__(self, name: str) -> NoReturn:
        if name in derived.NAMES:
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}; compute({name!r}) gives it",
                name=name,
                obj=self,
            )
        if name in KNOWN or name in IN_WORDS:
            field = IN_WORDS.get(name, name)
            raise AttributeError(
                f"{type(self).__name__} has no attribute {name!r}; did you mean particles.{field}?",
                name=name,
                obj=self,
            )
        raise AttributeError(_check.unknown_attribute(self, name), name=name, obj=self)

    # ---- what a subclass supplies ------------------------------------------------------------------------

    def _snapshot(self) -> Any:
        """The complete state, except for the threads, after reading in views."""
        raise NotImplementedError

    @classmethod
    def _of(cls, kept: Any, threads: int | None, /) -> Self:
        """Make a solver from a snapshot; a ValueError if the parts of the snapshot do not fit each other."""
        raise NotImplementedError

    @staticmethod
    def _format() -> Format:
        """The format of its snapshots."""
        from mpm.io import kept

        return kept

    @property
    def materials(self) -> tuple[Material, ...]:
        """The materials; ``particles.material`` indexes them."""
        return ()

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities of `compute`."""
        return tuple(derived.NAMES) if self.materials else derived.computable(self.particles.fields)

    def _quantity(self, name: str, particles: derived.Fields) -> FloatArray:
        """Compute one of `quantities` for these particles."""
        return derived.compute(name, particles, self.materials)

    def _options(self) -> dict[str, Any]:
        """The numerics to store in a recording, including the resolution ``dx`` [m]."""
        raise NotImplementedError

    def _settings(self) -> tuple[Setting, ...]:
        """The settings with which it can be made anew."""
        return ()

    def _rebuilt(self, changes: Mapping[str, Any]) -> Self:
        """A new solver of the same scene, with some settings changed."""
        raise NotImplementedError(f"a {type(self).__name__} cannot be made anew")

    def _nodes(self) -> tuple[grid.FloatArray, grid.FloatArray]:
        """Positions and velocities (m, d) of the nodes of its grid, if it has one."""
        raise NotImplementedError

    def _lines(self) -> Iterator[str]:
        """The lines of `repr` below the first."""
        yield from (repr(placed.collider) for placed in self._colliders)

    def _missing(self, name: str) -> str:
        """An addition to the error for a known field or quantity that this solver lacks; may be empty."""
        return ""

    def _triangles(self) -> npt.NDArray[Any] | None:
        """The rows of the corners (m, 3) of triangles that fill a 2-D picture; None: particles are drawn as discs."""
        return None

    # ---- the run ---------------------------------------------------------------------------------------

    @_check.options
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

        A run that needs more than ten million steps of the size of its first one warns, and says how long it may take.
        The logger ``mpm`` of `logging` gets a line at the beginning and at the end, at the level INFO.

        Parameters
        ----------
        duration : float
            Length of the run [s].
        max_steps : int, optional
            Take at most so many steps, or raise `StepLimitError`. It changes no bit.
        progress : bool, optional
            Show a bar on stderr; needs the extra ``plot``. It changes no bit, either.
        callback : callable, optional
            ``callback(sim)`` is called between whole steps. It may read and write the particles; an exception ends the
            run at that step. A callback that writes nothing changes no bit.
        every : int or float, with `callback` only
            An int: steps between calls, counted from the beginning of this run. A float: seconds of simulated time;
            the call comes after the first whole step at or after each multiple, at most once per step.

        Raises
        ------
        SimulationError
            A value is not finite or outside a law's range; `InstabilityError` and `EscapeError` are special
            cases. The simulation stays usable at its last whole step.
        StepLimitError
            `max_steps` do not suffice. The simulation stays at the last of them; another run goes on.
        BusyError
            Another thread is running this simulation.
        """
        length = _check.number("duration", duration, low=0, unit="s")
        end = _check.number("time + duration", self._core.time + length, unit="s")
        most = None if max_steps is None else _check.integer("max_steps", max_steps, low=1, high=STEPS_MAX)
        calls = _calls(callback, every)
        pace = progresses.Pace(self._core, end) if _check.flag("progress", progress) else None
        try:
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
        while core.time < end and core.steps < last:
            if isinstance(every, int):
                self._advance(end=end, pace=pace, steps=min(every, last - core.steps))
                due = (core.steps - last + most) % every == 0
            else:
                self._advance(end=end, pace=pace, steps=last - core.steps, pause=start + (turn + 1) * every)
                reached = int((core.time - start) / every * (1 + 1e-12))
                due, turn = reached > turn, max(turn, reached)
            if due:
                call(self)

    @_check.options
    def step(self, n: int = 1) -> None:
        """Advance by `n` whole steps; errors as in `run`."""
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
        if pace is None and not self._in_pieces():
            self._advance_to(steps, end, pause)
            return
        last = core.steps + steps

        def pieces() -> None:
            self._take_frames()  # an interrupt may have come before it
            while True:
                until = min((recording._due for recording in self._recordings), default=pause)
                if pace is not None:
                    until = min(until, pace.pause())
                try:
                    self._advance_to(last - core.steps, end, min(until, pause))
                finally:  # also an interrupt ends the run at a whole step, and a frame may be due there
                    self._take_frames()
                if pace is not None:
                    pace.show()
                if core.steps >= last or core.time >= min(end, pause):
                    return

        core.hold(pieces)

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
        due = [recording for recording in self._recordings if recording._due <= self._core.time]
        for recording in due:
            interrupts.undisturbed(functools.partial(recording._look, self))

    def _in_pieces(self) -> bool:
        """Whether a run advances in pieces; then this thread holds the core between them."""
        return bool(self._recordings) or self._scene.body_force is not None  # asked before every step

    def _advance_to(self, steps: int, end: float, pause: float) -> None:
        """The same, but not beyond the first step that reaches the time `pause`."""
        if self._scene.body_force is not None:
            self._advance_forced(self._scene.body_force, steps, end, pause)
        elif end < math.inf:
            self._core.run(end, pause, steps)
        else:
            self._core.step(steps, pause)

    def _advance_forced(self, body_force: BodyForce, steps: int, end: float, pause: float) -> None:
        """The same, each step under the body force at its beginning; the core is held."""
        last = self._core.steps + steps
        while self._core.steps < last and self._core.time < min(end, pause):
            self._core.totals()  # what was written through views is taken, or refused
            x, rows = np.array(self._core.field("x"), dtype=np.float64), self._rows()
            b = _check.array("body_force(x, t)", body_force(x, self._core.time), x.shape)
            if self._rows() != rows:
                raise ValueError("body_force(x, t) has added or deleted particles: its answer is for others")
            self._core.step_forced(b, end)

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

    # ---- what it says ----------------------------------------------------------------------------------

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
    def dimension(self) -> int:
        """d, 2 or 3."""
        return self._scene.dimension

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

    @property
    def scene(self) -> Scene:
        """The original scene, as it was then. It accepts no additions."""
        return self._scene

    @property
    def particles(self) -> Particles:
        """The particles as live arrays."""
        return Particles(self._core)

    @property
    def history(self) -> totals.History:
        """Quantities recorded after every `history`-th step; it has no record of the first state, see `totals`."""
        return totals.History(self._core)

    @property
    def health(self) -> dict[str, int]:
        """Counters of events of particles and steps.

        A `Simulation` counts ``left_domain``: particles that left (with ``"raise"``: that a step moved out);
        ``clamped`` and ``deleted``: their fates by `on_leave`; ``deleted`` also counts `Particles.delete`;
        ``clipped``: particles of snow or sand whose Jp a step held within its limits, counted at every step;
        ``refused``: steps repeated with a smaller automatic dt; ``binnings``: sortings of the particles;
        ``stagnated``: implicit steps whose residual rounding kept above the tolerance.
        """
        return dict(self._core.health())

    def totals(self) -> totals.Totals:
        """Present mass, momentum, centre of mass, angular momentum and energies; in 2-D per metre of depth."""
        return totals.read(self._core)

    @_check.options
    def compute(self, name: str) -> FloatArray:
        """Compute a quantity of the particles.

        Parameters
        ----------
        name : {"speed", "pressure", "von_mises", "stress", "kinetic_energy", "elastic_energy", "density"}
            Pressure is −tr σ/3 with σ_zz of plane strain in 2-D. Stresses come from the law, without the viscous
            part. The kinetic energy is m v²/2, without the affine part that `totals` includes.

        Returns
        -------
        ndarray, shape (n,), for the stress (n, d, d)
            A new float64 array.
        """
        chosen = _check.choice("name", name, self.quantities)
        return self._quantity(chosen, Copies(self.particles))

    @_check.options
    def collider_distance(self, name: str, x: npt.ArrayLike) -> FloatArray:
        """Signed distance to a collider in its present place.

        Parameters
        ----------
        name : str
            Name of the collider.
        x : array_like, shape (m, d)
            Positions [m].

        Returns
        -------
        ndarray, shape (m,)
            Distances [m], negative inside. Sign and zero set are exact; away from the surface of combined or
            unevenly scaled shapes the size is a lower bound. Meshes are sampled within 4 dx of the domain; beyond,
            the values at the edge continue.
        """
        return distance_of(self._posed(), name, x, self.dimension)

    def _posed(self) -> list[Placed]:
        """The colliders as they are now."""
        now = self.time
        return [placed.at(now) for placed in self._colliders]

    def _state(self, names: Sequence[str]) -> State:
        """Copies of the positions and of the named fields and quantities."""
        from mpm.io.state import State

        copies, there = Copies(self.particles), self.particles.fields
        fields = {n: copies[n] if n in there else self._quantity(n, copies) for n in ("x", *names)}
        out_of_plane: dict[str, Any] = {}
        if self.dimension == 2:
            out_of_plane["F"] = 1.0
            if "stress" in fields:
                out_of_plane["stress"] = derived.cauchy(copies, self.materials).zz
        return State(self.time, self.steps, self.dimension, fields, out_of_plane)

    def __repr__(self) -> str:
        try:
            return self._summary()
        except BusyError:
            return f"<{type(self).__name__} {self.dimension}-D: running in another thread>"

    def _summary(self) -> str:
        n, now = self._core.particles, f"t = {self.time:g} s after {self.steps} steps"
        first = f"<{type(self).__name__} {self.dimension}-D: {n} particles, {now}"
        return "\n".join([first, *(f"  {line}" for line in self._lines())]) + ">"

    # ---- pictures --------------------------------------------------------------------------------------

    @_check.options
    def plot(
        self,
        *,
        ax: Axes | None = None,
        color: str = "speed",
        limits: tuple[float, float] | None = None,
        renderer: str = "builtin",
    ) -> Picture:
        """Draw particles and colliders with Matplotlib; needs the extra ``plot``.

        Colliders are solid in 2-D. A 3-D picture is an image that shows them shaded and half transparent.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Default: axes of a new figure.
        color : str
            A quantity of `compute` or a field (``"J"``, ``"material"``, …) with one value per particle.
        limits : (float, float), optional
            Ends of the colour scale. Default: the smallest (for a quantity without a sign, 0) and largest value; if
            a few values lie far off, the 1st and 99.5th percentile. A tip on the colour bar marks values beyond.
        renderer : {"builtin", "pyvista"}
            The renderer of 3-D scenes: our own, fast; or PyVista, with lit spheres among translucent colliders, which
            needs the extra ``3d`` and a second or two. 2-D scenes need ``"builtin"``.

        Returns
        -------
        mpm.viz.Picture
            A named tuple of Matplotlib artists: ``particles``, ``domain`` and ``colorbar``, the axes of the colour bar.
        """
        from mpm.viz import plot

        return plot(self, ax=ax, color=color, limits=limits, renderer=renderer)

    @_check.options
    def movie(
        self,
        path: str | os.PathLike[str],
        *,
        duration: float,
        fps: float,
        color: str = "speed",
        limits: tuple[float, float] | None = None,
        size: tuple[int, int] = (960, 720),
        renderer: str = "builtin",
        progress: bool = False,
    ) -> None:
        """Run for `duration` and write a movie; needs the extra ``movie``. Drawing a frame overlaps computing the next.

        The movie runs as `frames` does, to the exact times of frames. `record` a run to leave its bits unchanged, and
        make the movie from the replay.

        Parameters
        ----------
        path : str or path
            ``.mp4``, ``.gif``, or a directory (without suffix) for ``frame_0000.png``, …
        duration, fps : float
            As in `frames`. Movies play in real time if 10 <= fps <= 60, otherwise at the nearer of the two rates,
            slowed down or sped up.
        color : str
            As in `plot`.
        limits : (float, float), optional
            Ends of the colour scale. Default: from 0 or the smallest to the largest value so far, without a few
            values far off.
        size : (int, int)
            Width and height in pixels, even.
        renderer : str
            As in `plot`.
        progress : bool, optional
            A bar on stderr.
        """
        from mpm.viz import movie

        movie(
            self,
            path,
            duration=duration,
            fps=fps,
            color=color,
            limits=limits,
            size=size,
            renderer=renderer,
            progress=progress,
        )

    def view(self) -> Viewer:
        """The notebook viewer: `mpm.view` of this simulation; needs the extra ``widget``."""
        from mpm.viewer.widget import Viewer

        return Viewer(self)

    # ---- trajectories ----------------------------------------------------------------------------------

    @_check.options
    def record(
        self, path: str | os.PathLike[str], *, fps: float, fields: Sequence[str] = (), compression: int = 0
    ) -> Recording:
        """Record frames during all following runs; ``.vtkhdf`` needs the extra ``io``.

        A frame is the first whole step at or after its time t₀ + i/fps; frame 0 is the present state. A step that
        passes several of these times is written once. Recording changes no bit of a run. An error in writing ends the
        run after a whole step, and the recording. Ctrl-C ends the run after a whole step, and not the recording: the
        next run goes on with both.

        Parameters
        ----------
        path : str or path
            A ``.vtkhdf`` file in an existing directory; an existing file is replaced. ParaView >= 5.12 and VTK >= 9.3
            read it as a time series, `mpm.replay` as arrays. Until the recording is closed, only `mpm.replay` can
            read it. After a crash the file holds all frames up to the last whole one: ``python -m mpm replay FILE
            --repair`` closes it for other programs. Or a sequence for Houdini and others, a file per frame in single
            precision: ``"run.bgeo"`` or ``"run.geo"`` writes ``run_0000.bgeo``, …, ``"run_{:03d}.bgeo"`` names the
            number's place, and ``run.bgeo.series`` keeps the rest for `mpm.replay`.
        fps : float
            Frames per second of simulated time.
        fields : sequence of str
            Fields of `particles` or quantities of `compute`, written beside ``x``. The file always has ``id``,
            ``material``, ``mass`` and ``volume``, once for as long as the set of particles stays the same.
            Numbers are not rounded. A plane scene lies in z = 0, with the zz components of plane strain.
        compression : int
            Level of gzip, 0 (none) to 9: smaller, but slower.

        Returns
        -------
        Recording
            A context manager with `path`, `fps`, `fields`, `frames`, `seconds` (its cost so far) and `close`.

        Raises
        ------
        FileNotFoundError
            The directory does not exist.
        """
        from mpm.io.trajectory import Recording

        recording = Recording(self, path, fps=fps, fields=fields, compression=compression)
        self._recordings.append(recording)
        return recording

    @staticmethod
    def _replayed(path: str) -> Replay:
        """Open a recording for the viewer."""
        from mpm.io.replay import replay

        return replay(path)

    # ---- keeping ---------------------------------------------------------------------------------------

    @_check.options
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the complete state to a file, from which `mpm.load` makes a simulation that continues bit for bit.

        The file has everything except the number of threads and functions. Particles hold the values of the functions
        that described bodies; `mpm.load` takes the scene's body force as an argument. Equal states make equal files.
        The file is written whole or not at all: it is written beside an older one, brought to the disk, and replaces
        the older one at the end.

        Parameters
        ----------
        path : str or path
            Any name, such as ``"run.mpm"``.

        Raises
        ------
        TypeError
            The scene has a shape, material, motion or random generator from outside this package and NumPy.
        OSError
            The file cannot be written; an older one stays.
        SimulationError
            Values written through views are no valid state, see `run`.
        BusyError
            Another thread is running this simulation.
        """
        from mpm.io import checkpoint

        checkpoint.save(self, path)

    def __copy__(self) -> Self:
        """A deep copy: two simulations share no state."""
        return self._of(self._snapshot(), self._threads)

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds the bytes of a checkpoint, and the body force by its name, as pickles hold functions."""
        from mpm.io import checkpoint

        return checkpoint.loads, (checkpoint.dumps(self), None, self._scene.body_force)

    def __eq__(self, other: object) -> bool:
        """Whether two simulations have the same complete state, bit for bit; `mpm.diff` names differences."""
        if self is other:
            return True
        if not isinstance(other, Solver) or other._kind != self._kind:
            return NotImplemented
        from mpm.io import compare

        return not compare.diff(self, other)

    __hash__ = None  # type: ignore[assignment]  # equal or not by a state that changes


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
