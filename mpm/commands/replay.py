"""``python -m mpm replay``: shows, draws and exports the contents of a trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mpm.handles.export import export as _export
from mpm.handles.replay import Replay, replay
from mpm.io.vtkhdf import repair as _repair
from mpm.solver.totals import per_depth


def run(
    path: Path,
    *,
    plot: Path | None,
    frame: int | None,
    movie: Path | None,
    color: str | None,
    cut: Mapping[str, float] | None,
    export: str | None,
    fields: list[str] | None,
    repair: bool,
) -> int:
    """Say what is in a trajectory, and do what is asked for.

    Returns
    -------
    int
        0: all was done; what was not raises.
    """
    if frame is not None and plot is None:
        raise ValueError(f"--frame {frame}: must come with --plot")
    if color is not None and plot is None and movie is None:
        raise ValueError(f"--color {color}: must come with --plot or --movie")
    if cut is not None and plot is None and movie is None:
        raise ValueError(f"--cut {' '.join(cut)}: must come with --plot or --movie")
    if fields is not None and export is None:
        raise ValueError(f"--fields {' '.join(fields)}: must come with --export")
    if repair:
        print(f"repaired {path}: {_repair(path)} frames")
    with replay(path) as frames:
        count = len(frames)
        if frame is not None and not -count <= frame < count:
            raise ValueError(f"--frame {frame}: must be >= {-count} and < {count}, there are {count} frames")
        print(_summary(frames))
        if plot is not None:
            _draw(frames, plot, -1 if frame is None else frame, color, cut)
            print(f"wrote {plot}")
        if movie is not None:
            frames.movie(movie, color=color, cut=cut)
            print(f"wrote {movie}")
        if export is not None:
            files = _export(frames, export, fields=fields)
            print(f"wrote {files[0]} to {files[-1]}" if len(files) > 1 else f"wrote {files[0]}")
    return 0


def _place(path: Path) -> str:
    """A file with its size; a sequence by its name."""
    return f"{path} ({path.stat().st_size / 1e6:.3g} MB)" if path.is_file() else str(path)


def _draw(
    frames: Replay, path: Path, number: int, color: str | None, cut: Mapping[str, float] | None
) -> None:
    from mpm.viz.figures import save_figure

    save_figure(path, frames.plot(number, color=color, cut=cut).figure)


def _summary(frames: Replay) -> str:
    times, counts, said = frames.times, frames.counts, frames.description
    n = f"{counts.min():,}" + (f" to {counts.max():,}" if counts.min() < counts.max() else "")
    energy, joule = frames.totals["energy"], per_depth("J", frames.dimension)
    origin = f"mpm {said['versions']['mpm']}" if said["versions"]["mpm"] else "another program"
    rows = {
        "file": _place(frames.path),
        "frames": f"{len(frames)}, t = {times[0]:g} to {times[-1]:g} s, {frames.fps:g}/s",
        "particles": f"{n}, {frames.dimension}-D",
        "fields": ", ".join(f"{name} [{unit}]" for name, unit in frames.units.items()),
        "energy": f"{energy[0]:.6g} {joule} -> {energy[-1]:.6g} {joule}",
        "written": f"{said['provenance']['written']} by {origin}",
    }
    return "\n".join([*(f"{name:<10} {value}" for name, value in rows.items()), "", said["summary"]])
