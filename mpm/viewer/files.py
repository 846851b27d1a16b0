"""What a file holds that is to be viewed."""

from __future__ import annotations

import os

from mpm.base import paths
from mpm.handles.replay import Replay, replay
from mpm.handles.solver import Solver
from mpm.io import checkpoint, sequence, trajectory

RECORDINGS = (trajectory.SUFFIX, *sequence.SUFFIXES, sequence.SERIES)


def opened(path: str | os.PathLike[str]) -> Solver | Replay:
    """A recording by its suffix, else a checkpoint."""
    place = paths.check_path("source", path)
    if place.suffix.lower() in RECORDINGS:
        return replay(place)
    found: Solver = checkpoint.load(place)
    return found
