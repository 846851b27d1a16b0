"""The viewer: runs and shows a simulation or a recorded trajectory in a notebook or in the browser.

`view` makes it. A `Session` holds what is shown and answers the requests of a browser; it needs no browser and no
extra. The widget carries its messages, and the scripts in this folder draw. Needs the extra ``widget``.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from mpm.base import _check
from mpm.handles.replay import Replay
from mpm.handles.solver import Solver
from mpm.viewer.files import opened

if TYPE_CHECKING:
    from mpm.viewer.widget import Viewer

__all__ = ["gallery", "view"]


@_check.options
def view(
    source: Solver | Replay | str | os.PathLike[str], *, folder: str | os.PathLike[str] | None = None
) -> Viewer:
    """A simulation or a replay as a widget for notebooks; needs the extra ``widget``.

    Particles are drawn with WebGL: drag to turn or shift, use the wheel to zoom. A simulation can be played, paused,
    scrubbed back and on, taken step by step, recorded, and reset with other parameters; a replay can be played and
    scrubbed through. Only whole steps are taken, so that looking changes no bit of a run; a page that is hidden does
    not play.

    Parameters
    ----------
    source : Simulation, Replay or path
        The viewer advances this very simulation. A reset replaces it by a new one, made from its scene: see
        `mpm.viewer.widget.Viewer.simulation`. Or a file: what `mpm.replay` opens (``.vtkhdf``, ``.geo``, ``.bgeo``,
        ``.series``), else a checkpoint, which `mpm.load` reads.
    folder : str or path, optional
        Browsers record and load below it only; links that leave it are refused. Default: anywhere.

    Returns
    -------
    Viewer
        To be the last expression of a cell.

    Raises
    ------
    ImportError
        anywidget is not installed.
    """
    if not isinstance(source, (Solver, Replay, str, os.PathLike)):
        raise _check.wrong_type("source", source, "an mpm.Simulation, a replay of mpm.replay, or a path")
    if isinstance(source, Solver):
        source._refuse_alone("the viewer", "record the run, and view the recording")
    from mpm.viewer.widget import Viewer

    return Viewer(source if isinstance(source, (Solver, Replay)) else opened(source), folder=folder)


@_check.options
def gallery(
    name: str = "cube", *, method: str = "mpm", folder: str | os.PathLike[str] | None = None
) -> Viewer:
    """The viewer with a scene of `mpm.gallery`, and a list to choose others from; needs the extra ``widget``.

    Parameters
    ----------
    name : str
        One of `mpm.gallery.names`: the scene to begin with.
    method : {"mpm", "sph", "fem"}
        One of the scene's ``methods``. Other scenes run by it too; those that are not for it, by the Material Point
        Method.
    folder : str or path, optional
        Browsers record and load below it only; links that leave it are refused. Default: anywhere.
    """
    from mpm import gallery as scenes
    from mpm.viewer.widget import Viewer

    entry = scenes.get(name)
    return Viewer(entry.solver(method), gallery=scenes, scene=entry.name, method=method, folder=folder)


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in vars(sys.modules[__name__]) if name.startswith("__"))])
