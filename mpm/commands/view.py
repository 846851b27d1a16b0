"""``python -m mpm view``: the viewer with the gallery, in the browser, served on this machine only."""

from __future__ import annotations

import contextlib
import html
import importlib.util
import secrets
import signal
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mpm.base import _check
from mpm.viewer.files import opened
from mpm.viewer.hub import Hub
from mpm.viewer.session import Session


def serve(name: str | Path, *, port: int, browser: bool, folder: Path, method: str = "mpm") -> int:
    """Serve until interrupted (Ctrl-C, SIGTERM or SIGHUP); needs the extra ``app``.

    The printed address holds a new random token, without which nobody comes in. All pages show the same simulation,
    which lives as long as the server.

    Parameters
    ----------
    name : str or Path
        One of `mpm.gallery.names`, or the file of a recording or a checkpoint.
    port : int
    browser : bool
        Open one.
    folder : Path
        Browsers record and load below it, and nowhere else.
    method : str
        By which scenes run that have it among their ``methods``.

    Returns
    -------
    int
        Exit status 0. A port that is taken raises SystemExit.
    """
    if importlib.util.find_spec("tornado") is None:
        raise ImportError(f"mpm view needs tornado: {_check.to_install('app', 'tornado')}")
    if not folder.is_dir():
        raise NotADirectoryError(f"folder = {str(folder)!r}: must be a directory")
    with contextlib.suppress(KeyboardInterrupt), _ends(), tempfile.TemporaryDirectory(prefix="mpm-") as own:
        from mpm.viewer import server

        hub = Hub()
        hub.session = session = made(hub, name, folder=folder.resolve(), method=method)
        token = secrets.token_hex(24)
        address = f"http://{server.ADDRESS}:{port}/?token={token}"

        def listens() -> None:
            print(f"{address}   Ctrl-C ends it", flush=True)
            if browser:
                show(address, Path(own) / "open.html")

        try:
            server.run(hub, port=port, token=token, opened=listens)
        finally:
            session.close()
            if session.replay is not None:
                session.replay.close()
    return 0


def made(hub: Hub, name: str | Path, *, folder: Path, method: str) -> Session:
    """What the pages show: a scene of the gallery, or a file."""
    if isinstance(name, Path):
        return Session(opened(name), hub.deliver, folder=folder)
    from mpm import gallery

    entry = gallery.get(name)
    options: dict[str, Any] = {"gallery": gallery, "scene": entry.name, "method": method}
    return Session(entry.solver(method), hub.deliver, folder=folder, **options)


def show(address: str, page: Path) -> None:
    """Open a browser through a page that leads on: others can read command lines, and the token is in the address."""
    page.touch(0o600)
    page.write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(address)}">',
        encoding="utf-8",
    )
    threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()


@contextlib.contextmanager
def _ends() -> Iterator[None]:
    """End by SIGTERM and SIGHUP as by Ctrl-C, and so leave nothing behind. What is ignored (nohup) stays so."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    changed = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    try:
        for number in changed:
            signal.signal(number, interrupt)
        yield
    finally:
        for number, handler in changed.items():
            signal.signal(number, handler)
