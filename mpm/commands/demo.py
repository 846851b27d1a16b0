"""``python -m mpm demo``: run a scene of the gallery, and write pictures and the conserved quantities."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.gallery import Entry
from mpm.handles.export import export
from mpm.handles.replay import replay
from mpm.handles.solver import Solver
from mpm.io.trajectory import Recording
from mpm.scene import settings as _settings
from mpm.scene.domain import UnevenError
from mpm.solver.totals import Totals, per_depth
from mpm.study import conservation

SHEET_FRAMES = 12
# Smaller bounces, as a share of the first fall, cannot be distinguished from vibration.
PEAK_SHARE = 0.03

Image = npt.NDArray[np.uint8]


@dataclass(slots=True)
class Outcome:
    """What a demo did and what it could not do."""

    written: list[Path] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    wall: float = 0.0
    drawn: bool = False


def run(
    entry: Entry,
    out: Path,
    *,
    frames: int | None = None,
    threads: int | None = None,
    dtype: str = "float64",
    formats: Sequence[str] = (),
    method: str = "mpm",
    settings: Mapping[str, Any] | None = None,
    cut: Mapping[str, float] | None = None,
) -> int:
    """Run a gallery scene into a directory.

    Parameters
    ----------
    entry : Entry
    out : Path
        Made if need be.
    frames : int, optional
        How many after the first; default: the scene's.
    threads, dtype
        As in the solver.
    formats : sequence of str
        Suffixes of `mpm.export` without the dot, for every frame.
    method : str
        One of the methods of the entry.
    settings : mapping, optional
        Keywords of the scene's function or of the solver, by name: they override the entry's own. Names with a dot
        are those of `mpm.scene.settings.named_changes`.
    cut : mapping, optional
        Of the movie and the pictures, as in `Simulation.plot`.

    Returns
    -------
    int
        0 if everything was written, else 1.
    """
    given = dict(settings or {})
    of_bodies = {name: given.pop(name) for name in tuple(given) if "." in name}
    of_scene = inspect.signature(entry.build).parameters.keys() & given.keys()
    scene = entry.scene(**{name: given.pop(name) for name in sorted(of_scene)})
    if of_bodies:
        scene = _settings.changed_scene(scene, _settings.named_changes(scene, of_bodies))
    try:
        sim = entry.solver(method=method, scene=scene, **{"threads": threads, "dtype": dtype, **given})
    except UnevenError as error:  # nothing on the command line extends the domain
        raise ValueError(f"{error.flaw}; {error.other or 'take another one'}") from error
    if cut is not None:
        from mpm.viz.render import check_cut

        check_cut(cut, sim)
    count = entry.frames if frames is None else frames
    out.mkdir(parents=True, exist_ok=True)
    print(sim)
    start = sim.totals()
    outcome = Outcome()
    recording = _record(sim, entry, out / f"{entry.name}.vtkhdf", outcome)
    first = recording.seconds if recording is not None else 0.0  # writing before the run
    sheet = _play(sim, entry, count, out, cut, outcome)
    if recording is not None:
        recording.close()
        outcome.wall -= recording.seconds - first
    _export_frames(recording, out / f"{entry.name}_frames", formats, outcome)
    _still_pictures(sim, entry, sheet, out, outcome)
    _write_history(sim, out / f"{entry.name}_history.csv", outcome)
    _report(sim, entry, start, count, outcome, recording, dtype)
    for path in outcome.written:
        print(f"wrote {path}")
    for reason in outcome.missing:
        print(f"mpm: {reason}", file=sys.stderr)
    return 1 if outcome.missing else 0


def _record(sim: Solver, entry: Entry, path: Path, outcome: Outcome) -> Recording | None:
    """Begin the recording, if the extra is installed."""
    try:
        return sim.record(path, fps=entry.fps, fields=("speed",))
    except ImportError as error:
        outcome.missing.append(f"no trajectory: {error}")
        return None


def _export_frames(
    recording: Recording | None, folder: Path, formats: Sequence[str], outcome: Outcome
) -> None:
    if recording is None:
        outcome.missing += [
            f"no frames as {suffix}: they are taken from the trajectory" for suffix in formats
        ]
        return
    outcome.written.append(recording.path)
    with replay(recording.path) as frames:
        for suffix in formats:
            folder.mkdir(exist_ok=True)
            files = export(frames, folder / f"{recording.path.stem}_{{:04d}}.{suffix}")
            outcome.written += [files[0], files[-1]]


def _play(
    sim: Solver, entry: Entry, count: int, out: Path, cut: Mapping[str, float] | None, outcome: Outcome
) -> list[Image]:
    """Run frame by frame, drawing each while the next is computed; returns some of the pictures for the sheet."""
    bar = find_spec("tqdm") is not None
    chosen = set(np.linspace(0, count, min(SHEET_FRAMES, count + 1)).round().astype(int).tolist())
    sheet: list[Image] = []
    renderer, writer = _movie(sim, entry, out / f"{entry.name}.mp4", cut, outcome)

    def use(image: Image, i: int) -> None:
        if writer is not None:
            writer.add(image)
        if i in chosen:
            sheet.append(image[::2, ::2])

    with ExitStack() as stack:
        if not bar:
            stack.callback(print, file=sys.stderr)
        pictures = None
        if renderer is not None:
            from mpm.viz.movie import Pictures

            if writer is not None:
                stack.enter_context(writer)
            pictures = stack.enter_context(Pictures(renderer, use))
            outcome.drawn = True
        frames = sim.frames(duration=count / entry.fps, fps=entry.fps, progress=bar)
        stack.callback(frames.close)  # type: ignore[attr-defined]  # a generator: ends the bar
        while True:
            before = time.perf_counter()
            i, _ = next(frames, (-1, 0.0))
            outcome.wall += time.perf_counter() - before
            if i < 0:
                break
            if pictures is not None:
                pictures.take(sim, i)
            if not bar:
                print(f"\rframe {i}/{count}", end="", file=sys.stderr, flush=True)
    if writer is not None:
        outcome.written.append(writer.path)
    return sheet


def _movie(
    sim: Solver, entry: Entry, path: Path, cut: Mapping[str, float] | None, outcome: Outcome
) -> tuple[Any, Any]:
    """Renderer and writer, if the extras are installed."""
    if find_spec("PIL") is None:
        outcome.missing.append(
            f"no pictures and no movie: they need {_check.to_install('movie', 'pillow', 'imageio-ffmpeg')}"
        )
        return None, None
    from mpm.viz import MovieWriter, Renderer

    renderer = Renderer(sim, color=entry.color, limits=entry.limits, cut=cut)
    try:
        return renderer, MovieWriter(path, fps=entry.fps)
    except ImportError as error:
        outcome.missing.append(f"no movie: {error}")
        return renderer, None


def _still_pictures(sim: Solver, entry: Entry, sheet: list[Image], out: Path, outcome: Outcome) -> None:
    if sheet:
        from mpm.viz import contact_sheet, save_image

        path = out / f"{entry.name}_frames.png"
        save_image(path, contact_sheet(sheet))
        outcome.written.append(path)
    if find_spec("matplotlib") is None:
        outcome.missing.append(f"no energy plot: it needs {_check.to_install('plot', 'matplotlib')}")
        return
    from mpm.viz import plot_history
    from mpm.viz.figures import new_figure, save_figure

    figure = new_figure((7.2, 4.2))
    plot_history(sim.history, ax=figure.subplots())
    path = out / f"{entry.name}_energy.png"
    save_figure(path, figure)
    outcome.written.append(path)


def _write_history(sim: Solver, path: Path, outcome: Outcome) -> None:
    outcome.written += export(sim, path)


def _report(
    sim: Solver,
    entry: Entry,
    start: Totals,
    count: int,
    outcome: Outcome,
    recording: Recording | None,
    dtype: str,
) -> None:
    n, steps = len(sim.particles), sim.steps
    rate = n * steps / outcome.wall if outcome.wall else 0.0
    print()
    print(f"particles           {n:,}")
    print(f"frames              {count} ({count / entry.fps:g} s)")
    print(f"steps               {steps:,} (dt {outcome_dt(sim)})")
    print(
        f"wall time stepping  {outcome.wall:.2f} s ({sim.threads} thread{'s' * (sim.threads > 1)}, {dtype})"
        + ", pictures beside" * outcome.drawn
    )
    print(f"particle-steps/s    {rate:.3g}")
    if recording is not None:
        size, share = recording.path.stat().st_size / 1e6, recording.seconds / (outcome.wall or 1)
        written = f"{size:.1f} MB in {recording.seconds:.2f} s, {share:.1%} of stepping"
        print(f"trajectory          {recording.frames} frames, {written}")
    if not steps:
        return
    _report_bounces(sim, start)
    end = sim.totals()
    unit = per_depth("J", sim.dimension)
    print(f"energy              {start.energy:.6g} {unit} -> {end.energy:.6g} {unit}")
    # Binnings are routine; users should know about the other events.
    health = {name: value for name, value in sim.health.items() if value and name != "binnings"}
    if health:
        print("health              " + ", ".join(f"{name} {value}" for name, value in health.items()))
    print()
    print(conservation.table(conservation.drifts(sim, start)))
    print()


def outcome_dt(sim: Solver) -> str:
    """The range of the time steps that were taken."""
    dt = sim.history["dt"]
    dt = dt[dt > 0]  # not that of the start
    return f"{dt.min():.3g} to {dt.max():.3g} s" if len(dt) else "none"


def _report_bounces(sim: Solver, start: Totals) -> None:
    """Report how high the centre of mass rises after each bounce, if gravity acts along an axis."""
    gravity = sim.scene.gravity
    if np.count_nonzero(gravity) != 1:
        return
    axis = int(np.argmax(np.abs(gravity)))
    up = -np.sign(gravity[axis])
    floor = sim.scene.lower[axis] if up > 0 else sim.scene.upper[axis]
    height, times = up * (sim.history["center_of_mass"][:, axis] - floor), sim.history["time"]
    if not len(height):
        return
    found = conservation.peaks(height, PEAK_SHARE * (height[0] - height.min()))
    # The body falls from the first height.
    shown = ", ".join(f"to {height[k]:.4f} m at {times[k]:.2f} s" for k in found[:8] if k > 0)
    if shown:
        print(f"centre of mass      from {height[0]:.4f} m above the floor; bounces {shown}")
