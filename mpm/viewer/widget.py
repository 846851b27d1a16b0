"""The widget: carries messages between a `Session` and the scripts that draw."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from mpm.base import _check
from mpm.solver.source import Running, Series
from mpm.viewer.scripts import SCRIPTS, text
from mpm.viewer.session import Session

AnyWidget: Any = _check.extra("anywidget", "the viewer needs anywidget", "widget").AnyWidget


class Viewer(AnyWidget):  # type: ignore[misc]
    """What `Simulation.view` and `Replay.view` return: a Jupyter widget.

    Parameters
    ----------
    source : Simulation or Replay
    gallery : module, optional
        `mpm.gallery`, where scenes can be chosen from.
    scene : str, optional
        Name of the gallery's scene that `source` is.
    method : str, optional
        By which scenes of the gallery run that have it among their ``methods``.
    folder : str or path, optional
        Browsers record and load below it only. Default: anywhere.
    """

    _esm = text(*SCRIPTS)
    _css = text("style.css")

    def __init__(
        self,
        source: Running | Series,
        *,
        gallery: ModuleType | None = None,
        scene: str | None = None,
        method: str = "mpm",
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__()
        self._session = Session(
            source, self._deliver, gallery=gallery, scene=scene, method=method, folder=folder
        )
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None
        self._thread = threading.get_ident()
        self.on_msg(self._receive)

    @property
    def simulation(self) -> Any:
        """The simulation as it is now: after a reset a new one. None where a replay was given."""
        return self._session.simulation

    @property
    def replay(self) -> Any:
        """The replay that is shown, if it is one."""
        return self._session.replay

    @property
    def playing(self) -> bool:
        """Whether frame follows frame."""
        return self._session.playing

    def play(self) -> None:
        """Like the button: frame follows frame, as fast as they are drawn, between the cells of a notebook."""
        self._session.receive({"type": "play"})

    def pause(self) -> None:
        """Like the button."""
        self._session.receive({"type": "pause"})

    def step(self) -> None:
        """Like the button: one time step of a simulation, one frame of a replay."""
        self._session.receive({"type": "step"})

    def reset(self) -> None:
        """Like the button: a new simulation with the settings as they are shown, or the replay's first frame."""
        self._session.receive({"type": "reset"})

    def close(self) -> None:
        """End a recording that is under way, and the widget."""
        # Also called on garbage collection, and by the base class even if `__init__` has failed.
        if (session := getattr(self, "_session", None)) is not None:
            session.close()
        super().close()

    def _deliver(self, message: dict[str, Any], buffers: Sequence[memoryview]) -> None:
        self.send(message, list(buffers))

    def _receive(self, widget: object, message: object, buffers: object) -> None:
        """Answer between cells, in the thread that runs them.

        JupyterLab may handle messages of widgets in another thread. Then a cell could find the simulation in the middle
        of a step, and would get a `BusyError`.
        """
        if self._loop is None or threading.get_ident() == self._thread:
            self._session.receive(message)
        else:
            self._loop.call_soon_threadsafe(self._session.receive, message)
