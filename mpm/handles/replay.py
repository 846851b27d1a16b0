"""Trajectories, read back: a `Replay` is a sequence of `Frame` objects, whose arrays are read when asked for."""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check, advice, later, paths
from mpm.base._check import FloatArray
from mpm.base.closing import Closing
from mpm.base.fieldtable import KNOWN
from mpm.base.pictures import DEFAULTS, PictureOptions
from mpm.io.description import restore, understood
from mpm.io.sequence_reader import Reader as SequenceReader
from mpm.io.sequence_reader import is_sequence
from mpm.io.solids import at, checked
from mpm.io.solids import restore as restore_solids
from mpm.io.vtkhdf_reader import Reader
from mpm.scene.changes import Change
from mpm.scene.colliders import Placed, distance_of, place, prepare
from mpm.scene.scene import Scene
from mpm.solver import derived
from mpm.solver.solids import Solid
from mpm.solver.state import State
from mpm.solver.totals import Recorded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mpm.viz import Picture, Surface

Array = npt.NDArray[Any]


class Stage:
    """Where a trajectory takes place: the scene without its bodies, its colliders at any time, and the shapes of rigid
    bodies with their poses (frames, k, d + d²)."""

    def __init__(
        self, scene: Scene, dx: float, solids: Sequence[Solid] = (), poses: FloatArray | None = None
    ) -> None:
        self.scene = scene._kept_copy()
        self._dx = dx
        self._rigid, self._poses = solids, poses

    @functools.cached_property
    def _placed(self) -> list[Placed]:
        """The colliders as described. They are made on first use, because those of meshes take time."""
        lower, upper = self.scene.lower, self.scene.upper

        def made() -> list[Placed]:
            dx = _check.number("dx", self._dx, low=0, low_open=True, unit="m")
            prepared = [prepare(collider, lower, upper, dx) for collider in self.scene.colliders]
            return place(_core.Colliders(self.scene.dimension), prepared)

        return understood("the colliders", made)

    def posed(self, time: float) -> list[Placed]:
        """The colliders at a time [s]."""
        return [one.at(time) for one in self._placed]

    def solids(self, frame: int) -> list[Solid]:
        """The rigid bodies in a frame of the file."""
        return [] if self._poses is None else at(self._rigid, self._poses[frame])


class _Recorded:
    """Common base of a frame and of the whole replay."""

    __slots__ = ()

    _reader: Reader | SequenceReader

    @property
    def dimension(self) -> int:
        """d, 2 or 3."""
        return self._reader.dimension

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of what was recorded, positions first."""
        return self._reader.fields

    @property
    def units(self) -> dict[str, str]:
        """Units of what was recorded, in 3-D where the package knows them."""
        said = self._reader.description["units"]
        return {name: KNOWN[name]["unit"] if name in KNOWN else said.get(name, "1") for name in self.fields}

    @property
    def _units(self) -> dict[str, str]:
        return self.units

    @property
    def quantities(self) -> tuple[str, ...]:
        """What `Frame.compute` can answer from what was recorded."""
        return derived.computable(self.fields)


class Frame(_Recorded):
    """One frame of a `Replay`. Every access to a field reads a new array from the file."""

    __slots__ = ("_number", "_reader", "_stage")

    def __init__(self, reader: Reader | SequenceReader, number: int, stage: Stage) -> None:
        self._reader, self._number, self._stage = reader, number, stage

    @property
    def time(self) -> float:
        """[s]."""
        return float(self._reader.times[self._number])

    @property
    def step(self) -> int:
        """Steps that the simulation had taken."""
        return int(self._reader.steps[self._number])

    @property
    def scene(self) -> Scene:
        """Domain, gravity, walls and colliders; not the bodies, of which a file has particles and rigid shapes."""
        return self._stage.scene

    @property
    def particles(self) -> Frame:
        """The frame itself: ``frame.particles.x`` is ``frame.x``, as it is of a simulation."""
        return self

    def __len__(self) -> int:
        return int(self._reader.counts[self._number])

    def __getitem__(self, name: str) -> Array:
        """A field by name, shape (n,), (n, d) or (n, d, d); bit for bit what the simulation had.

        Raises
        ------
        KeyError
            It was not recorded.
        """
        if not isinstance(name, str):
            raise _check.wrong_type("field", name, "a name from frame.fields")
        if name not in self.fields:
            near = not_recorded(name) or advice.nearest(name, self.fields)
            raise KeyError(f"no field {name!r}; recorded are {', '.join(self.fields)}{near}")
        return self._reader.field(self._number, name)

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            near = not_recorded(name) or advice.nearest(name, [*self.fields, *_public(Frame)], advice.FIELDS)
            raise AttributeError(f"Frame has no attribute {name!r}{near}", name=name, obj=self) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.fields]

    @_check.options
    def compute(self, name: str) -> Array:
        """A quantity of the particles: one of those recorded, or ``"speed"`` where ``"v"`` was recorded, …

        Parameters
        ----------
        name : str
            One of `quantities`; as in `Simulation.compute`.

        Returns
        -------
        ndarray, shape (n,), for the stress (n, d, d)
        """
        recorded = isinstance(name, str) and name in self.fields
        why = f"; it is a field: frame[{name!r}]" if recorded else not_recorded(name)
        chosen = _check.choice("name", name, self.quantities, why=why)
        return self[chosen] if chosen in self.fields else derived.compute(chosen, self, ())

    @_check.options
    def collider_distance(self, name: str, x: npt.ArrayLike) -> FloatArray:
        """Signed distance of a collider where it was: as `Simulation.collider_distance`.

        Parameters
        ----------
        name : str
            Of the collider.
        x : array_like, shape (m, d)
            Positions [m].

        Returns
        -------
        ndarray, shape (m,)
            [m], negative inside; bit for bit what the simulation answered.
        """
        return distance_of(self._posed(), name, x, self.dimension)

    def _posed(self) -> list[Placed]:
        """The colliders at the time of the frame."""
        return self._stage.posed(self.time)

    @_check.options
    @_check.spelled(PictureOptions, DEFAULTS)
    def plot(
        self,
        *,
        ax: Axes | None = None,
        figsize: tuple[float, float] | None = None,
        renderer: str = "builtin",
        **options: Unpack[PictureOptions],
    ) -> Picture:
        """Draw the particles with Matplotlib; as `Simulation.plot`, with the colour of `Replay.plot`."""
        from mpm.viz import plot

        return plot(
            self,
            ax=ax,
            figsize=figsize,
            renderer=renderer,
            **_colored(self, options),
        )

    @_check.options
    def surface(
        self,
        *,
        body: str | Sequence[str] | None = None,
        radius: float | None = None,
        smoothing: int = 3,
        values: str | None = None,
    ) -> Surface:
        """The surface of bodies: as `Simulation.surface`, of what was recorded. The volumes follow from ``"density"``,
        ``"J"`` or ``"F"``; without these, a warning says so, and the surface encloses the volumes at rest."""
        from mpm.viz import isosurface

        return isosurface.find(self, body=body, radius=radius, smoothing=smoothing, values=values)

    def _state(self, names: Sequence[str]) -> State:
        """The contents of the file for this frame."""
        fields = {name: self[name] if name in self.fields else self.compute(name) for name in ("x", *names)}
        tensors = [name for name, values in fields.items() if values.ndim == 3]
        out_of_plane = {name: self._reader.stored(self._number, name)[:, 8] for name in tensors}
        return State(self.time, self.step, self.dimension, fields, out_of_plane, self.cells)

    @property
    def cells(self) -> Array | None:
        """The rows of the corners of the triangles or tetrahedra, int64 of shape (m, d + 1); None if the recording has
        particles only."""
        return self._reader.cells(self._number)

    def _cells(self) -> Array | None:
        return self.cells

    def _solids(self) -> Sequence[Solid]:
        return self._stage.solids(self._number)

    def _kinds(self) -> tuple[str, ...]:
        """What the materials were, where the file says so."""
        said = self._reader.description.get("materials", ())
        return tuple(str(one).partition("(")[0] for one in said) if isinstance(said, list) else ()

    def _bodies(self) -> dict[str, tuple[int, int]]:
        """Those of the beginning of the recording, where the file says so."""
        said = self._reader.description.get("rows", {})
        return {str(name): (int(first), int(count)) for name, (first, count) in _spans(said)}

    def _missing(self, name: str) -> str:
        """An addition to the error for a name that was not recorded; may be empty."""
        return not_recorded(name)

    def __repr__(self) -> str:
        return (
            f"<Frame: t = {self.time:g} s, step {self.step}, {len(self)} particles, {' '.join(self.fields)}>"
        )


class Replay(_Recorded, _check.Strict, Closing):
    """A trajectory as a sequence: ``len``, ``[i]`` a `Frame`, ``[a:b]`` a shorter replay, iteration.

    Made by `mpm.replay`. The file stays open until `close`, or the end of a ``with`` block.
    """

    __slots__ = ("_frames", "_reader", "_stage")

    def __init__(self, reader: Reader | SequenceReader, frames: npt.NDArray[np.int64], stage: Stage) -> None:
        self._reader, self._frames, self._stage = reader, frames, stage

    def __len__(self) -> int:
        return len(self._frames)

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> Replay: ...
    def __getitem__(self, index: int | slice) -> Frame | Replay:
        if isinstance(index, slice):
            return Replay(self._reader, self._frames[index], self._stage)
        n = len(self)
        if isinstance(index, (bool, np.bool_)) or not isinstance(index, (int, np.integer)):
            raise _check.wrong_type("index", index, "an integer or a slice")
        if not -n <= index < n:
            raise IndexError(f"index = {index}: must be >= {-n} and < {n}, there are {n} frames")
        return Frame(self._reader, int(self._frames[index]), self._stage)

    def __iter__(self) -> Iterator[Frame]:
        return (self[i] for i in range(len(self)))

    @_check.options
    def at(self, time: float) -> Frame:
        """The frame that is nearest to a time.

        Parameters
        ----------
        time : float
            [s], between the first and the last frame's.
        """
        times = self.times
        if not len(times):
            raise ValueError(f"time = {_check.shown(time)}: the replay has no frames")
        wanted = _check.number("time", time, low=float(times[0]), high=float(times[-1]), unit="s")
        return self[int(np.argmin(np.abs(times - wanted)))]

    @property
    def path(self) -> Path:
        """The file."""
        return self._reader.path

    @property
    def times(self) -> FloatArray:
        """Of the frames [s], shape (len,)."""
        return np.asarray(self._reader.times[self._frames])

    @property
    def steps(self) -> npt.NDArray[np.int64]:
        """Steps that the simulation had taken, shape (len,)."""
        return np.asarray(self._reader.steps[self._frames])

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Numbers of particles, shape (len,)."""
        return np.asarray(self._reader.counts[self._frames])

    @property
    def totals(self) -> Recorded:
        """Mass, momentum, … of the frames, by the names of `mpm.solver.totals.Totals`: (len,) or (len, k) each.
        ``totals()``, as of a solver, is the same."""
        found = {name: values[self._frames] for name, values in self._reader.totals.items()}
        found = {name: v[:, 0] if v.shape[1] == 1 else v for name, v in found.items()}
        return Recorded(found | {"energy": found["kinetic"] + found["elastic"] + found["gravitational"]})

    @property
    def fps(self) -> float:
        """Frames per second that were asked for."""
        return float(self._reader.description["fps"])

    @property
    def changes(self) -> tuple[Change, ...]:
        """What `Solver.set` had changed of the simulation until the last frame of the file: (step, time [s], name,
        value) each."""
        return (*self._stage.scene._changes, *self._reader.changes)

    @property
    def description(self) -> Mapping[str, Any]:
        """What the file says of the simulation: scene, numerics, units, versions, where it comes from."""
        return self._reader.description

    @_check.options
    @_check.spelled(PictureOptions, DEFAULTS)
    def plot(
        self,
        i: int,
        *,
        ax: Axes | None = None,
        figsize: tuple[float, float] | None = None,
        renderer: str = "builtin",
        **options: Unpack[PictureOptions],
    ) -> Picture:
        """Draw a frame with Matplotlib, with the colliders where they were; needs the extra ``plot``.

        Parameters
        ----------
        i : int
            Its number; negative ones count from the end.
        ax : matplotlib.axes.Axes, optional
            Default: those of a new figure.
        figsize : (float, float), optional
            Width and height of the new figure [inches].
        color : str, mapping or (float, float, float), optional
            As in `Simulation.plot`, of what was recorded. Where the file does not tell the materials, or with `limits`
            or `cmap`, the default is the speed if that is known, else the material.
        limits : (float, float), optional
            Ends of the colour scale; default: the smallest and largest value.
        cmap, background, camera, hide, surface, renderer, cut
            As in `Simulation.plot`.

        Returns
        -------
        mpm.viz.Picture
            Particles, domain, axes of the colour bar.
        """
        if isinstance(i, (bool, np.bool_)) or not isinstance(i, (int, np.integer)):
            raise _check.wrong_type("i", i, "an integer")
        if not -len(self) <= i < len(self):
            raise ValueError(
                f"i = {i}: must be >= {-len(self)} and < {len(self)}, there are {len(self)} frames"
            )
        return self[int(i)].plot(
            ax=ax,
            figsize=figsize,
            renderer=renderer,
            **options,
        )

    @_check.options
    @_check.spelled(PictureOptions, DEFAULTS)
    def movie(
        self,
        path: str | os.PathLike[str],
        *,
        fps: float | None = None,
        size: tuple[int, int] | None = None,
        renderer: str = "builtin",
        progress: bool = False,
        **options: Unpack[PictureOptions],
    ) -> None:
        """Write all frames as a movie; needs the extra ``movie``.

        Parameters
        ----------
        path : str or path
            ``.mp4``, ``.gif``, or a directory (without suffix) for ``frame_0000.png``, …
        fps : float, optional
            Frames per second of the movie, played with 10 to 60; default: those of the recording, which is real time
            within that range. A smaller `fps` slows it down: a recording with 800 per second played with 20 is 40
            times slower than the motion.
        color, cmap, limits, background, camera, hide, surface
            As in `plot`; the limits grow with the values so far.
        size : (int, int), optional
            Width and height in pixels, even. Default: as the domain needs, with about as many pixels as 960 x 720.
        renderer, cut
            As in `plot`.
        progress : bool, optional
            A bar on stderr.
        """
        from mpm.viz.movie import write_frames

        if not len(self):
            raise ValueError(f"path = {_check.shown(path)}: the replay has no frames")
        rate = self.fps if fps is None else fps
        write_frames(
            self,
            path,
            fps=rate,
            size=size,
            renderer=renderer,
            progress=progress,
            **_colored(self[0], options),
        )

    def view(self) -> later.Viewer:
        """The notebook viewer: `mpm.view` of this replay; needs the extra ``widget``."""
        return later.view(self)

    @staticmethod
    def _replayed(path: str) -> Replay:
        """Open another recording for the viewer."""
        return replay(path)

    def close(self) -> None:
        """Close the file; what was read stays."""
        self._reader.close()

    def __repr__(self) -> str:
        times = self.times
        span = f", t = {times[0]:g} to {times[-1]:g} s" if len(times) else ""
        return f"<Replay {str(self.path)!r}: {len(self)} frames{span}, {' '.join(self.fields)}>"


def not_recorded(
    name: object, known: Collection[str] = (*derived.NAMES, *advice.FIELDS.values(), "displacement")
) -> str:
    """What to say of one of the names known of simulations that is not in a trajectory; nothing of other names."""
    if not isinstance(name, str) or name not in known:
        return ""
    return f"; sim.record(..., fields=({name!r},)) keeps it"


def _spans(said: Any) -> Iterator[tuple[str, Any]]:
    """What a file says of the ids of bodies, as far as it is whole."""
    for name, span in said.items() if isinstance(said, dict) else ():
        if isinstance(span, list) and len(span) == 2 and all(type(k) is int and 0 <= k < 2**62 for k in span):
            yield name, span


def _public(cls: type) -> list[str]:
    return [name for name in dir(cls) if not name.startswith("_")]


def _colored(frame: Frame, options: PictureOptions) -> PictureOptions:
    """The options with what a frame is drawn by: the default depends on what was recorded."""
    scaled = options.get("limits") is not None or options.get("cmap") is not None
    if options.get("color") is None and (scaled or not frame._kinds()):
        return {**options, "color": "speed" if "speed" in frame.quantities else "material"}
    return options


@_check.options
def replay(path: str | os.PathLike[str], *, fps: float | None = None) -> Replay:
    """Open a trajectory that `Simulation.record` has written, or is writing, or a sequence of Houdini's files.

    Nothing in a file is executed, no other file is opened, and damage is refused. Opening takes no more memory than a
    small multiple of the file's size; an array takes no more than the bytes that hold it, or 1032 times that where it
    was compressed.

    Parameters
    ----------
    path : str or path
        ``.vtkhdf``. Of a file that grows, or whose writer was killed, the frames that are whole now. Or ``.geo`` or
        ``.bgeo``: what was given to `Simulation.record` (``"run.geo"``, ``"run_{:04d}.geo"``), one of the frames, or
        the ``.series`` beside them. Sequences of other programs are opened, too: all frames are read once, the domain
        is a box around the particles, volumes and masses are guessed where they are not told, energies are NaN.
    fps : float, optional
        Frames per second of a sequence without ``.series``, by default 24.

    Returns
    -------
    Replay
        A sequence of frames, read when they are asked for.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    FileFormatError
        It was not written by `Simulation.record`, or is damaged, or a frame is missing.
    """
    place = paths.check_path("path", path)
    rate = None if fps is None else _check.number("fps", fps, low=0, low_open=True, high=1e9, unit="1/s")
    if is_sequence(place):
        frames = SequenceReader(place, rate)
        dx = float(frames.description["numerics"]["dx"])
        stage = Stage(frames.scene, dx, frames.solids, frames.poses)
        return Replay(frames, np.arange(frames.frames), stage)
    if rate is not None:
        raise ValueError(f"fps = {rate:g}: must not be given, {place.name!r} states it")
    reader = Reader(place)
    try:
        scene = restore(*reader.scene)
        if scene.dimension != reader.dimension:
            raise ValueError(f"the scene is {scene.dimension}-D")
        dx, rigid, poses = (
            float(reader.description["numerics"]["dx"]),
            restore_solids(*reader.scene, scene),
            None,
        )
        if rigid:
            if reader.poses is None:
                raise ValueError("the poses of its rigid bodies are not there")
            poses = checked(reader.poses, len(rigid), scene)
        stage = Stage(scene, dx, rigid, poses)
    except ValueError as error:
        reader.close()
        raise reader.defect(f"is damaged: its description is not whole ({error})") from None
    return Replay(reader, np.arange(reader.frames), stage)
