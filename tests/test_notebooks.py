"""Executes every notebook in notebooks/: each tells one thing, ends with an asserted number, and takes < 60 s.

MPM_EXECUTED=folder keeps the executed notebooks there: the pages of the documentation are made from them.
"""

import os
import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

names = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@names
@pytest.mark.source
def test_is_stored_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert not cell.get("outputs") and cell.get("execution_count") is None, cell.source
    assert "widgets" not in notebook.metadata


@names
@pytest.mark.notebook
# The Jupyter client's own house-keeping, not ours.
@pytest.mark.filterwarnings("default::DeprecationWarning", "default::ResourceWarning")
def test_runs_within_a_minute(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    begin = time.perf_counter()
    client = NotebookClient(
        notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    # The inline backend is the kernel's own choice, which the backend of the tests must not hide.
    client.execute(env={name: value for name, value in os.environ.items() if name != "MPLBACKEND"})
    assert time.perf_counter() - begin < 60
    shown = [
        kind for cell in notebook.cells for out in cell.get("outputs", []) for kind in out.get("data", {})
    ]
    assert "image/png" in shown, "a notebook shows a picture"
    if folder := os.environ.get("MPM_EXECUTED"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, Path(folder, path.name))
