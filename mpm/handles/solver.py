"""The base of all methods, as a user holds it: run, record, draw, view, save, load, copy, compare.

A method is a subclass of `Solver` around a `mpm.solver.core.Core`, which does all computation. `mpm.Simulation` is the
first.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, Unpack

from mpm.base import _check, later
from mpm.base.pictures import DEFAULTS, PictureOptions
from mpm.scene.loads import function_of
from mpm.solver.keeping import Format
from mpm.solver.solver import SolverBase

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mpm.handles.replay import Replay
    from mpm.io.trajectory import Recording
    from mpm.viz import Picture, Surface

__all__ = ["Solver"]


class Solver(SolverBase, abstract=True):
    """Base of solvers: a scene and a core that advances it.

    A subclass ``class Springs(Solver, kind="springs")``, where `kind` names it in files, must supply

    - a core, given to ``__init__``,
    - ``_snapshot()``, its complete state without threads: a `mpm.io.kept.Kept`, or an object that ``_format()``
      describes,
    - ``_of(snapshot, threads)``, a class method that makes a solver from a snapshot,

    and may supply: ``_options()``, which recordings store and need; ``materials``, or ``quantities`` with
    ``_quantity(name, particles)``, for `compute`; ``_settings()``, which the viewer can change, with
    ``_rebuilt(changes)``; ``_has_grid`` with ``_nodes()``; ``_cells()``, a mesh of the particles; ``_interpolated()``
    for `interpolate`; ``_resolution``, with ``_admit(scene)``, ``_meet(trial)`` and ``_place(prepared, scene)``, for
    `add_collider`; ``_looks`` for `mpm.doctor`; and ``_lines()`` of the `repr`. A base of further solvers has
    ``abstract=True`` instead of a kind.

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

    __slots__ = ()

    @staticmethod
    def _format() -> Format:
        """The format of its snapshots."""
        from mpm.io import kept

        return kept

    # ---- pictures --------------------------------------------------------------------------------------

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
        """Draw particles, or finite elements, and colliders with Matplotlib; needs the extra ``plot``.

        The triangles of finite elements are filled; in 3-D those of the surface, shaded. Colliders are solid in 2-D. A
        3-D picture is an image that shows them shaded and half transparent.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Default: axes of a new figure, which fits the domain.
        figsize : (float, float), optional
            Width and height of the new figure [inches].
        color : str, mapping or (float, float, float), optional
            Default: materials have colours of their own: snow is white, water blue, sand has the colour of sand, and
            elastic bodies have one each. A mapping gives others to bodies and materials, by the names of bodies and of
            the classes of materials: ``{"ball": "tomato", "Snow": "#f4f6ff"}``. One colour is that of everything, by
            its name in CSS, as ``"#rrggbb"`` or as red, green and blue from 0 to 1. Or a quantity of `compute` or a
            field (``"speed"``, ``"J"``, ``"material"``, …) with one value per particle; or one that is a vector, such
            as the displacement of finite elements or a field of yours, which is drawn by its magnitude. With `limits`
            or `cmap` the default is ``"speed"``.
        cmap : str, Colormap or sequence of colours, optional
            The colours of a quantity: a name of Matplotlib (``"viridis"``), a colour map of it, or at least two
            colours, evenly spaced. Default: ``"mpm"``, from indigo to yellow.
        limits : (float, float), optional
            Ends of the colour scale. Default: the smallest (for a quantity without a sign, 0) and largest value; if
            a few values lie far off, the 1st and 99.5th percentile. A tip on the colour bar marks values beyond.
        background : str or (float, float, float), optional
            One colour behind everything, such as ``"white"`` or ``"black"``. Default: a quiet gradient.
        camera : str, (float, float), mapping or callable, optional
            Where a 3-D scene is seen from: ``"iso"`` (the default), ``"front"``, ``"back"``, ``"left"``, ``"right"``,
            ``"top"`` or ``"bottom"``; or azimuth and elevation of the camera in degrees, the former from the first
            horizontal axis to the second, ``(-56, 18)`` by default. A mapping has these as ``"view"``, or
            ``"azimuth"`` and ``"elevation"``, or ``"eye"``, a point [m] from which the camera looks at the target;
            ``"target"``, the point [m] in the middle of the picture; ``"zoom"``, 1 for the whole domain;
            ``"spin"`` [degrees/s], with which the camera goes around the scene; and ``"fov"``, the vertical angle of
            view [degrees], 1 to 120, of a picture in perspective. Without it pictures are parallel projections, and
            the eye gives only a direction. In perspective the eye is where the camera stands; without an eye, the
            camera stands where the domain fills the angle. In 2-D a mapping has ``"target"`` and ``"zoom"``. A
            function of time [s] returns one of these, for cameras that move in movies.
        hide : str or sequence of str, optional
            Bodies, materials and colliders that are not drawn, by the names of bodies and colliders and of the
            classes of materials.
        surface : bool or mapping
            Draw the particles of a 3-D scene as closed surfaces, one for each colour; or a mapping with the options
            ``radius`` and ``smoothing`` of `surface`. Needs the extra ``surface``.
        renderer : {"builtin", "pyvista"}
            The renderer of 3-D scenes: our own, fast; or PyVista, with lit spheres among translucent colliders, which
            needs the extra ``3d`` and a second or two. 2-D scenes need ``"builtin"``.
        cut : mapping, optional
            Planes that open a 3-D scene, such as ``{"y": 0.5}`` [m], or two or three for a corner: particles between
            them and the camera are left out, and so are elements with their middle there. Colliders stay whole.

        Returns
        -------
        mpm.viz.Picture
            A named tuple of Matplotlib artists: ``particles``, ``domain`` and ``colorbar``, the axes of the colour bar,
            None without a quantity; ``figure`` is what they are in.
        """
        from mpm.viz import plot

        return plot(
            self,
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
        duration: float,
        fps: float,
        size: tuple[int, int] | None = None,
        renderer: str = "builtin",
        progress: bool = False,
        **options: Unpack[PictureOptions],
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
        color, cmap, background, camera, hide, surface
            As in `plot`.
        limits : (float, float), optional
            Ends of the colour scale. Default: from 0 or the smallest to the largest value so far, without a few
            values far off.
        size : (int, int), optional
            Width and height in pixels, even. Default: as the domain needs, with about as many pixels as 960 x 720.
        renderer, cut
            As in `plot`.
        progress : bool, optional
            A bar on stderr.
        """
        from mpm.viz import movie

        self._refuse_alone("movie", "record the run, and make the movie from the replay")
        movie(
            self,
            path,
            duration=duration,
            fps=fps,
            size=size,
            renderer=renderer,
            progress=progress,
            **options,
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
        """The surface of bodies of a 3-D scene, as closed triangles; of particles it needs the extra ``surface``.

        A lattice takes the volumes of the particles by quadratic B-splines, and `pysplashsurf` makes triangles of it by
        marching cubes (Lorensen and Cline 1987), where the surface encloses the volume of the particles: to 2 % or
        better, or a warning says by how much they differ. Particles that are farther from each other than `radius` have
        no surface. Finite elements have that of their mesh, rigid bodies that of their shape to a 64th of its size.

        Parameters
        ----------
        body : str or sequence of str, optional
            Names of the bodies. Default: all.
        radius : float, optional
            How far a particle reaches [m], > 0 and at most the longest side of the domain: 1.5 cells of the lattice. A
            smaller one shows more detail, and makes more triangles. Default: 1.05 times the median distance of
            particles.
        smoothing : int
            Passes of a filter over the lattice, 0 to 50, each with a variance of half a squared cell.
        values : str, optional
            A quantity or a field with one value per particle, or a field of yours with a vector, whose magnitude is
            taken: the mean at the vertices, by the weights of the lattice.

        Returns
        -------
        mpm.viz.Surface
            With ``vertices`` (n, 3) [m], ``triangles`` (m, 3), ``values`` (n,) or None, ``volume``, ``area``,
            ``watertight``, and ``save(path)`` to ``.obj``, ``.stl``, ``.ply`` or ``.vtp``. `mpm.export` writes one per
            frame of a recording.

        Raises
        ------
        ValueError
            The scene is 2-D, or an argument is out of range.
        ImportError
            The extra is not installed.
        """
        from mpm.viz import isosurface

        return isosurface.find(self, body=body, radius=radius, smoothing=smoothing, values=values)

    def view(self) -> later.Viewer:
        """The notebook viewer: `mpm.view` of this simulation; needs the extra ``widget``."""
        return later.view(self)

    def _refuse_alone(self, name: str, instead: str) -> None:
        if self._team is not None:
            raise NotImplementedError(f"comm: {name} does not run in several MPI processes; {instead}")

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
            ``material``, ``mass`` and ``volume``, once for as long as the set of particles stays the same, and of
            finite elements the cells: ParaView shows their surfaces.
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

        def begin() -> Recording:
            writes = self._team is None or self._team.process == 0
            return Recording(self, path, fps=fps, fields=fields, compression=compression, writes=writes)

        recording = begin() if self._team is None else self._team.together("record", begin)
        self._recordings.append(recording)
        return recording

    @staticmethod
    def _replayed(path: str) -> Replay:
        """Open a recording for the viewer."""
        from mpm.handles.replay import replay

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

        if self._team is None:
            checkpoint.save(self, path)
        elif self._distributed:
            first = self._team.process == 0
            self._team.together(
                "save", lambda: checkpoint.save(self, path) if first else checkpoint.skip(self)
            )
        else:
            self._team.on_first("save", lambda: checkpoint.save(self, path))

    def _refuse_distributed(self, name: str) -> None:
        if self._distributed:
            raise NotImplementedError(
                f"distributed = True: {name} would have all particles in one process; save() writes them to a file, "
                "which mpm.load reads"
            )

    def __copy__(self) -> Self:
        """A deep copy: two simulations share no state."""
        self._refuse_distributed("a copy")
        made = self._with_snapshot(lambda kept: self._of(kept, self._threads))
        made._join(self._team)
        return made

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle holds the bytes of a checkpoint, and the body force by its name, as pickles hold functions."""
        self._refuse_distributed("a pickle")
        from mpm.io import checkpoint

        functions = {
            load.name: given for load in self._scene.loads if (given := function_of(load)) is not None
        }
        rest: tuple[Any, ...] = (None, functions) if functions else ()
        if self._device != "cpu":
            rest = None, functions or None, self._device
        return checkpoint.loads, (checkpoint.dumps(self), None, self._scene.body_force, *rest)

    def __eq__(self, other: object) -> bool:
        """Whether two simulations have the same complete state, bit for bit; `mpm.diff` names differences."""
        if self is other:
            return True
        if not isinstance(other, Solver) or other._kind != self._kind:
            return NotImplemented
        from mpm.io import compare

        return not compare.diff(self, other)

    __hash__ = None  # type: ignore[assignment]  # equal or not by a state that changes
