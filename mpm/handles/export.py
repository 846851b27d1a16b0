"""Writes states as files of other programs: `mpm.export`."""

from __future__ import annotations

import os
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mpm.base import _check, paths
from mpm.handles import usd
from mpm.handles.replay import Frame, Replay
from mpm.io import table
from mpm.io.formats import MESHES, WRITERS
from mpm.solver.progress import follow
from mpm.solver.source import Source, is_source
from mpm.solver.state import check_fields
from mpm.viz import color as _color
from mpm.viz import isosurface

TOTALS = ".csv"
SURFACES = (".obj", ".stl")  # nothing but triangles


@_check.options
def export(
    source: Source | Replay,
    pattern: str | os.PathLike[str],
    *,
    fields: Sequence[str] | None = None,
    surface: bool | Mapping[str, Any] = False,
    progress: bool = False,
) -> list[Path]:
    """Write the particles for other programs, a file per frame, or the totals as a table.

    Parameters
    ----------
    source : Simulation, Replay or Frame
        The present state, all frames, or one.
    pattern : str or path
        The path of a file; for more than one frame with the place of its number: ``"frames/f_{:04d}.bgeo"``. Its
        directory is made; what is there is replaced, each file when it is complete. By the suffix:

        - ``.npz``: NumPy's arrays as they are.
        - ``.ply``: binary PLY; ``id`` has 32 bits.
        - ``.vtp``: VTK, ParaView, PyVista. This and ``.ply`` have the triangles of finite elements, or the surface of
          tetrahedra.
        - ``.obj``, ``.stl``: the triangles of finite elements, the surface of tetrahedra, or that of the particles, as
          `Simulation.surface` finds it.
        - ``.usd``, ``.usda``, ``.usdc``: a stage of USD with all frames in one file: points with velocities, widths,
          ids and primvars, colliders, and the surface if it is asked for. Needs the extra ``usd``.
        - ``.bgeo``, ``.geo``: Houdini's classic formats, version 5, as Partio reads them; in single precision.
        - ``.csv``: text, a line per particle; without the place of a number, the totals of `Simulation.history` or of
          the frames.

        But for ``.npz``, particles of the plane lie in z = 0, with the zz components of plane strain.
    fields : sequence of str, optional
        The fields to write beside the positions; default: of a simulation all fields of `Simulation.particles`, of a
        replay all that was recorded. Names of `compute` are allowed. Not for totals. Of a surface at most one, the
        quantity at its vertices; default: none. Of a surface in USD, the first of them with one value per particle.
    surface : bool or mapping, optional
        Write the surface of the bodies in place of the particles, or in USD beside them; of 3-D scenes, to ``.obj``,
        ``.stl``, ``.ply``, ``.vtp`` and USD. A mapping has options of `Simulation.surface`: ``radius`` and
        ``smoothing``. Particles need the extra ``surface``.
    progress : bool, optional
        A bar on stderr; needs the extra ``plot``.

    Returns
    -------
    list of Path
        The files, in order.

    Raises
    ------
    OSError
        The directory cannot be made, or a file cannot be written.
    """
    if not (isinstance(source, Replay) or is_source(source)):
        raise _check.wrong_type("source", source, "a simulation, a replay or a frame of one")
    frames = source if isinstance(source, Replay) else [source]
    suffix = paths.check_path("pattern", pattern).suffix.lower()
    if suffix == TOTALS and "{" not in os.fsdecode(pattern):
        return [_write_totals(source, pattern, fields, _check.flag("progress", progress))]
    options = isosurface.check_options(
        surface, (source._stage if isinstance(source, Replay) else source).scene
    )
    if suffix in usd.SUFFIXES:
        return [_write_stage(source, pattern, fields, options, _check.flag("progress", progress))]
    meshed = suffix in SURFACES or options is not None
    if meshed and suffix not in MESHES:
        raise ValueError(
            f"surface = {_check.shown(surface)}: must be False for {suffix} files, which hold points"
        )
    if meshed and source.dimension == 2 and not (len(frames) and frames[0]._cells() is not None):
        named = f"pattern = {_check.shown(os.fsdecode(pattern))}" if options is None else "surface"
        raise ValueError(
            f"{named}: particles of a 2-D scene have no surface of triangles; must be another format"
        )
    if meshed and not (suffix in SURFACES and (not len(frames) or frames[0]._cells() is not None)):
        return _write_surfaces(frames, _files(pattern, len(frames)), fields, options or {}, progress)
    files = _files(pattern, len(frames))
    there = source.fields if isinstance(source, Replay) else source.particles.fields
    chosen = check_fields(there if fields is None else fields, there, source.quantities)
    for number, file in enumerate(follow(files, progress)):
        state = frames[number]._state(chosen)
        with paths.created(file) as stream:
            (WRITERS.get(suffix) or MESHES[suffix])(stream, state)
    return files


def _write_surfaces(
    frames: Any, files: list[Path], fields: object, options: Mapping[str, Any], progress: bool
) -> list[Path]:
    names = () if fields is None else fields
    if isinstance(names, str) or not isinstance(names, Sequence) or len(names) > 1:
        raise ValueError(f"fields = {_check.shown(fields)}: must have at most one name for a surface")
    for number, file in enumerate(follow(files, progress)):
        frame = frames[number]
        found = isosurface.find(frame, values=names[0] if names else None, **options)
        with paths.created(file) as stream:
            step = frame.step if isinstance(frame, Frame) else frame.steps
            MESHES[file.suffix.lower()](stream, found._state(frame.time, step))
    return files


def _write_stage(
    source: Any, pattern: Any, fields: Any, options: dict[str, Any] | None, progress: bool
) -> Path:
    there = source.fields if isinstance(source, Replay) else source.particles.fields
    chosen = check_fields(there if fields is None else fields, there, source.quantities)
    if isinstance(source, Replay) and not len(source):
        raise ValueError("source: the replay has no frames")
    path = paths.check_path("pattern", pattern)
    if "{" in os.fsdecode(pattern):
        raise ValueError(
            f"pattern = {_check.shown(os.fsdecode(pattern))}: must have no place for a number: a stage of USD has all "
            "frames in one file"
        )
    scalars = _color.scalars(source[0] if isinstance(source, Replay) else source) if fields else ()
    shown = next((name for name in chosen if name in scalars), None)
    usd.write(
        source, _in_folder(path), chosen, None if options is None else options | {"values": shown}, progress
    )
    return path


def _in_folder(path: Path) -> Path:
    """The path, whose directory is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write_totals(source: Any, pattern: object, fields: object, progress: bool) -> Path:
    if isinstance(source, Frame):
        raise ValueError(
            "source is one frame: a .csv of totals is of a simulation or a replay; 'f_{}.csv' holds particles"
        )
    if fields is not None:
        raise ValueError(
            f"fields = {_check.shown(fields)}: must not be given for a .csv of totals; "
            "'f_{}.csv' holds particles"
        )
    path = _in_folder(paths.check_path("pattern", pattern))
    replayed = isinstance(source, Replay)
    history = {"time": source.times, **source.totals} if replayed else dict(source.history)
    with paths.created(path) as stream:
        table.write(stream, history)
    return path


def _files(pattern: str | os.PathLike[str], count: int) -> list[Path]:
    """The names of all files, without duplicates."""
    text = os.fsdecode(pattern)
    allowed = "a path with one place for the number of the frame, such as 'f_{:04d}.ply'"
    try:
        places = [
            (name, convert) for _, name, _, convert in string.Formatter().parse(text) if name is not None
        ]
        names = [text.format(k) for k in range(count)]
    except (ValueError, TypeError, LookupError, AttributeError):
        raise ValueError(f"pattern = {_check.shown(text)}: must be {allowed}") from None
    if places != [("", None)] and (places or count > 1):
        raise ValueError(f"pattern = {_check.shown(text)}: must be {allowed}, there are {count} frames")
    if len(set(names)) < count:
        raise ValueError(
            f"pattern = {_check.shown(text)}: must name every frame's file, gives {len(set(names))} for {count} frames"
        )
    for name in names:
        path = paths.check_path("pattern", name)
        if path.suffix.lower() not in (*WRITERS, *MESHES):
            known = " ".join(sorted({*WRITERS, *MESHES, *usd.SUFFIXES}))
            raise ValueError(f"pattern = {name!r}: must end in {known}")
    return [_in_folder(Path(name)) for name in names]
