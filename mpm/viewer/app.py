"""``python -m mpm view``: the viewer with the gallery, in the browser, served by Voila on this machine only."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mpm import _check

ADDRESS = "127.0.0.1"


def serve(name: str, *, port: int, browser: bool) -> int:
    """Serve until interrupted (Ctrl-C); needs the extra ``app``.

    Parameters
    ----------
    name : str
        One of `mpm.gallery.names`.
    port : int
    browser : bool
        Open one.

    Returns
    -------
    int
        Exit status: 0, or that of Voila where it could not serve.
    """
    missing = [package for package in ("voila", "anywidget") if importlib.util.find_spec(package) is None]
    if missing:
        raise ImportError(f"mpm view needs {' and '.join(missing)}: {_check.to_install('app', *missing)}")
    with tempfile.TemporaryDirectory(prefix="mpm-view-") as folder:
        notebook = Path(folder) / "mpm.ipynb"
        notebook.write_text(json.dumps(document(name)), encoding="utf-8")
        # Each page has its own kernel, which runs in the folder of this call.
        command = [sys.executable, "-m", "voila", str(notebook), f"--Voila.ip={ADDRESS}", f"--port={port}"]
        command += ["--Voila.port_retries=0"] + ["--no-browser"] * (not browser)
        print(f"http://{ADDRESS}:{port}/   Ctrl-C ends it", flush=True)
        try:
            return subprocess.run(command, check=False).returncode
        except KeyboardInterrupt:
            return 0


def document(name: str) -> dict[str, Any]:
    """The notebook that is served."""
    source = f"import os, mpm.viewer\nos.chdir({str(Path.cwd())!r})\nmpm.viewer.gallery({name!r})"
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
