"""Recording: writes the frames of a run while it runs."""

from __future__ import annotations

import contextlib
import copy
import datetime
import math
import sys
import time
import weakref
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from mpm.base import _check, config, files, interrupts, paths
from mpm.base._check import FloatArray
from mpm.base.closing import Closing
from mpm.base.fieldtable import LASTING
from mpm.io import sequence, solids
from mpm.io.description import Arrays, Tree
from mpm.io.description import Writer as Describer
from mpm.io.vtkhdf import Writer, h5py, is_recorded
from mpm.solver.solids import Solid
from mpm.solver.source import Running
from mpm.solver.state import State, check_fields
from mpm.solver.totals import per_depth

SUFFIX = ".vtkhdf"
EARLY = 1e-6  # of the time between frames


class Elsewhere:
    """The writer of another MPI process."""

    def close(self) -> None:
        """There is nothing to finish here."""


class Recording(_check.Strict, Closing):
    """A trajectory that is being written; made by `Solver.record`. A context manager.

    Frames are taken while the simulation runs, until the recording is closed. Ctrl-C waits for a frame that is being
    written, and does not close it.
    """

    __slots__ = (
        "__weakref__",
        "_due",
        "_fields",
        "_fps",
        "_frames",
        "_ids",
        "_names",
        "_noted",
        "_path",
        "_place",
        "_rigid",
        "_seconds",
        "_sim",
        "_start",
        "_writer",
    )

    def __init__(
        self,
        sim: Running,
        path: object,
        *,
        fps: object,
        fields: object,
        compression: object,
        writes: bool = True,
    ) -> None:
        self._path = paths.check_file("path", path, (SUFFIX, *sequence.SUFFIXES))
        self._place = self._path.resolve()  # the working directory may change later
        self._names = None if self._path.suffix.lower() == SUFFIX else sequence.check_names(self._place)
        open_here = self._place in (other._place for other in sim._recordings)
        if open_here or (writes and is_recorded(self._place)):  # process 0 may have begun to write it already
            raise ValueError(f"path = {str(self._path)!r}: must not be that of another open recording")
        self._fps = _check.number("fps", fps, low=0, low_open=True, unit="1/s")
        chosen = check_fields(fields, sim.particles.fields, sim.quantities)
        level = _check.integer("compression", compression, low=0, high=9)
        if self._names is None:
            h5py()  # raises before anything is computed
        elif level:
            raise ValueError(f"compression = {level}: must be 0 for {self._path.suffix} files")
        self._fields = (*LASTING, *(name for name in chosen if name not in LASTING))
        # The simulation holds its recordings. Without a cycle of references, dropping both finishes a file at once.
        self._sim = weakref.ref(sim)
        began = time.perf_counter()
        first = sim._state(self._fields)
        self._ids = first.fields["id"]
        self._noted = len(sim.scene._changes)  # the scene in the file has them
        description = describe(sim, fps=self._fps, fields=self._fields, hdf5=self._names is None)
        bodies = sim._shaped()
        self._rigid = [one.first for one in bodies]
        scene, placed, totals = stage(sim, bodies), self._poses(sim), _totals(sim)
        self._writer: Writer | sequence.Writer | Elsewhere | None = None

        def begin() -> None:
            if not writes:
                self._writer = Elsewhere()
                return
            if self._names is not None:
                self._writer = sequence.Writer(
                    self._names, first, totals, description=description, scene=scene, poses=placed
                )
                return
            with files.renamed(self._path) as file:  # open files may be renamed
                self._writer = Writer(
                    file,
                    first,
                    totals,
                    description=description,
                    scene=scene,
                    cells=sim._cells(),
                    poses=placed,
                    compression=level,
                )

        interrupts.undisturbed(begin)
        self._frames = 1
        self._start = sim.time
        self._due = _next_due(self._start, self._fps, self._start)
        self._seconds = time.perf_counter() - began

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def fps(self) -> float:
        """Frames per second of simulated time."""
        return self._fps

    @property
    def fields(self) -> tuple[str, ...]:
        """What is written of every particle beside its position."""
        return self._fields

    @property
    def frames(self) -> int:
        """How many have been written."""
        return self._frames

    @property
    def seconds(self) -> float:
        """Wall time that taking and writing them took [s]."""
        return self._seconds

    @property
    def closed(self) -> bool:
        """Whether no more frames are taken."""
        return self._writer is None

    def close(self) -> None:
        """Finish the file; again: nothing. In several MPI processes, all of them call it."""
        sim = self._sim()
        team = None if sim is None or self._writer is None else sim._team
        if team is None:
            interrupts.undisturbed(self._close)
        else:
            team.together("the end of a recording", lambda: interrupts.undisturbed(self._close))

    def _close(self) -> None:
        writer, self._writer = self._writer, None
        sim = self._sim()
        if sim is not None and self in sim._recordings:
            sim._recordings.remove(self)
        if writer is not None:
            writer.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"<Recording {str(self._path)!r}: {self._frames} frames at {self._fps:g}/s, {state}>"

    def _look(self, sim: Running) -> None:
        """Take a frame if one is due. An error closes the recording: what was written stays readable."""
        if self._writer is None or sim.time < self._due:
            return
        began = time.perf_counter()
        try:
            if isinstance(self._writer, Elsewhere):
                if sim._distributed:  # the process that writes needs the particles of this one
                    self._take(sim)
                    _totals(sim)
                self._frames += 1
                self._due = _next_due(self._start, self._fps, sim.time)
                return
            state, totals, placed = self._take(sim), _totals(sim), self._poses(sim)
            changes = sim.scene._changes.since(self._noted)
            self._noted += len(changes)
            if isinstance(self._writer, Writer):
                self._writer.append(state, totals, sim._cells(), changes, poses=placed)
            else:  # no cells
                self._writer.append(state, totals, changes, poses=placed)
        except BaseException as error:
            with contextlib.suppress(OSError, RuntimeError):  # HDF5 may not recover from the error
                self._close()
            error.add_note(f"The recording {str(self._path)!r} has ended, with {self._frames} frames.")
            raise
        self._frames += 1
        self._due = _next_due(self._start, self._fps, sim.time)
        self._seconds += time.perf_counter() - began

    def _poses(self, sim: Running) -> FloatArray | None:
        """Where the rigid bodies that the file has are now."""
        return solids.poses(sim._shaped(), self._rigid, sim.dimension) if self._rigid else None

    def _take(self, sim: Running) -> State:
        """The fields that differ from those of the frame before; all of them where every frame has its own file."""
        if self._names is not None:
            return sim._state(self._fields)
        state = sim._state(["id", *(name for name in self._fields if name not in LASTING)])
        before, self._ids = self._ids, state.fields["id"]
        if not np.array_equal(before, self._ids):
            return sim._state(self._fields)
        return replace(state, fields={k: v for k, v in state.fields.items() if k != "id"})


def _next_due(start: float, fps: float, now: float) -> float:
    """The first of the times start + k/fps after now; a tolerance for round-off lets each begin slightly earlier."""
    if 1 / fps < math.ulp(now):  # frames are closer than floating-point times
        return math.nextafter(now, math.inf)
    k = math.floor((now - start) * fps + EARLY) + 1
    due = start + (k - EARLY) / fps
    return due if due > now else start + (k + 1 - EARLY) / fps


def _totals(sim: Running) -> dict[str, FloatArray]:
    """All that is kept but the time, each of shape (1,) or (k,)."""
    totals = asdict(sim.totals())
    del totals["time"]
    kept = {name: value for name, value in totals.items() if value is not None}
    return {name: np.atleast_1d(np.array(value, dtype=np.float64)) for name, value in kept.items()}


def describe(sim: Running, *, fps: float, fields: Sequence[str], hdf5: bool = True) -> dict[str, Any]:
    """What is kept of a simulation beside its particles: scene, numerics, units, versions, where it comes from."""
    scene, versions = sim.scene, asdict(config.configuration())
    del versions["gpus"]
    library = h5py() if hdf5 else None
    units = sim._units
    return {
        "summary": repr(sim),
        "scene": {
            "lower": scene.lower.tolist(),
            "upper": scene.upper.tolist(),
            "gravity": scene.gravity.tolist(),
            "walls": {
                face: [wall.contact, wall.friction, wall.restitution] for face, wall in scene.walls.items()
            },
            "bodies": [repr(body) for body in scene.bodies],
            "colliders": [repr(collider) for collider in scene.colliders],
        },
        "materials": [repr(material) for material in sim.materials],
        "rows": {
            name: list(span) for name, span in sim._bodies().items()
        },  # by body: first id, number of ids
        "numerics": _finite(sim._options()),
        "fps": fps,
        "units": {name: per_depth(units.get(name, ""), sim.dimension) for name in ("x", *fields)}
        | {"time": "s"},
        "versions": versions
        if library is None
        else {**versions, "h5py": library.__version__, "hdf5": library.version.hdf5_version},
        "provenance": {
            "written": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "program": sys.argv,
        },
    }


def stage(sim: Running, bodies: Sequence[Solid] = ()) -> tuple[Tree, Arrays]:
    """The scene as `mpm.io.description` has it, with the shapes of rigid `bodies` in place of its bodies: others are
    their particles. Loads and contacts of pairs are of bodies, and are left out with them."""
    scene = copy.copy(sim.scene)
    scene._bodies, scene._emitters, scene._drains = [], [], []
    scene._loads, scene._contacts = [], {}
    writer = Describer()
    tree = writer.scene(scene)
    return tree | ({"solids": solids.describe(bodies, writer)} if bodies else {}), writer.arrays


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity: None stands for "no limit"."""
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in values.items()}
