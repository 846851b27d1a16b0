"""Writes states as files of other programs: `mpm.export`."""

from __future__ import annotations

import os
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mpm.base import _check, paths
from mpm.handles.replay import Frame, Replay
from mpm.io import table
from mpm.io.formats import WRITERS
from mpm.solver.progress import follow
from mpm.solver.source import Source, is_source
from mpm.solver.state import check_fields

TOTALS = ".csv"


@_check.options
def export(
    source: Source | Replay,
    pattern: str | os.PathLike[str],
    *,
    fields: Sequence[str] | None = None,
    progress: bool = False,
) -> list[Path]:
    """Write the particles for other programs, a file per frame, or the totals as a table.

    Parameters
    ----------
    source : Simulation, Replay or Frame
        The present state, all frames, or one.
    pattern : str or path
        The path of a file; for more than one frame with the place of its number: ``"frames/f_{:04d}.bgeo"``. The
        directory exists; what is there is replaced, each file when it is complete. By the suffix:

        - ``.npz``: NumPy's arrays as they are.
        - ``.ply``: binary PLY; ``id`` has 32 bits.
        - ``.vtp``: VTK, ParaView, PyVista. This and ``.ply`` have the triangles of finite elements, or the surface of
          tetrahedra.
        - ``.bgeo``, ``.geo``: Houdini's classic formats, version 5, as Partio reads them; in single precision.
        - ``.csv``: text, a line per particle; without the place of a number, the totals of `Simulation.history` or of
          the frames.

        But for ``.npz``, particles of the plane lie in z = 0, with the zz components of plane strain.
    fields : sequence of str, optional
        The fields to write beside the positions; default: of a simulation all fields of `Simulation.particles`, of a
        replay all that was recorded. Names of `compute` are allowed. Not for totals.
    progress : bool, optional
        A bar on stderr; needs the extra ``plot``.

    Returns
    -------
    list of Path
        The files, in order.

    Raises
    ------
    FileNotFoundError
        The directory does not exist.
    """
    if not (isinstance(source, Replay) or is_source(source)):
        raise _check.wrong_type("source", source, "a simulation, a replay or a frame of one")
    frames = source if isinstance(source, Replay) else [source]
    suffix = paths.check_path("pattern", pattern).suffix.lower()
    if suffix == TOTALS and "{" not in os.fsdecode(pattern):
        return [_write_totals(source, pattern, fields, _check.flag("progress", progress))]
    files = _files(pattern, len(frames))
    there = source.fields if isinstance(source, Replay) else source.particles.fields
    chosen = check_fields(there if fields is None else fields, there, source.quantities)
    for number, file in enumerate(follow(files, progress)):
        state = frames[number]._state(chosen)
        with paths.created(file) as stream:
            WRITERS[suffix](stream, state)
    return files


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
    path = paths.check_file("pattern", pattern, (TOTALS,))
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
    return [paths.check_file("pattern", name, tuple(WRITERS)) for name in names]
