"""``python -m mpm view``: the viewer with the gallery, in the browser, served by Voila on this machine only."""

from __future__ import annotations

import contextlib
import html
import importlib.util
import json
import secrets
import signal
import tempfile
import threading
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mpm import _check
from mpm.viewer.files import check


def serve(name: str | Path, *, port: int, browser: bool, folder: Path, method: str = "mpm") -> int:
    """Serve until interrupted (Ctrl-C, SIGTERM or SIGHUP); needs the extra ``app``.

    The printed address holds a new random token, without which nobody comes in.

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
    needed = ("voila", "anywidget", "ipykernel")
    missing = [package for package in needed if importlib.util.find_spec(package) is None]
    if missing:
        raise ImportError(f"mpm view needs {' and '.join(missing)}: {_check.to_install('app', *missing)}")
    if not folder.is_dir():
        raise NotADirectoryError(f"folder = {str(folder)!r}: must be a directory")
    if isinstance(name, Path):
        check(name)
    with contextlib.suppress(KeyboardInterrupt), _ends(), tempfile.TemporaryDirectory(prefix="mpm-") as own:
        from mpm.viewer import server

        # Each page has its own kernel, which runs in the folder.
        notebook = Path(own) / "mpm.ipynb"
        notebook.write_text(json.dumps(document(name, folder.resolve(), method)), encoding="utf-8")
        token = secrets.token_hex(24)
        address = f"http://{server.ADDRESS}:{port}/?token={token}"

        def opened() -> None:
            print(f"{address}   Ctrl-C ends it", flush=True)
            if browser:
                show(address, Path(own) / "open.html")

        server.run(notebook, port=port, token=token, opened=opened)
    return 0


def document(name: str | Path, folder: Path, method: str) -> dict[str, Any]:
    """The notebook that is served."""
    where = repr(str(folder))
    shown = f"view({str(name)!r}" if isinstance(name, Path) else f"gallery({name!r}, method={method!r}"
    source = f"import os, mpm.viewer\nos.chdir({where})\nmpm.viewer.{shown}, folder={where})"
    cell: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "viewer",
        "metadata": {},
        "outputs": [],
    }
    return {
        "cells": [cell | {"source": source}],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


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
