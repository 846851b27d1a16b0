"""What the documents say: their Python runs as printed, and links, targets, extras and numbers are the project's.

Documents are README.md and the pages in docs/. The examples of docstrings run, too.
"""

import doctest
import importlib
import re
import runpy
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import mpm

pytestmark = pytest.mark.source

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
VERIFICATION = (ROOT / "docs" / "verified.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = [ROOT / name for name in ("CONTRIBUTING.md", "csrc/README.md", "notebooks/README.md")]
SNIPPETS = {
    path.relative_to(ROOT).as_posix(): found
    for path in DOCUMENTS
    if (found := re.findall(r"^```python\n(.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL))
}
# Promised for APIC in double over 2,000 steps; the measured values are those of the table.
LIMITS = {"float64": [1e-12, 1e-12, 1e-12, 1e-11], "float32": [1e-6, 1e-5, 1e-5, 1e-4]}
# That the page states, too.
PRINTED = {
    "docs/howto/footing-and-slope.md": ["5.12 c_u", "1.25: 0.07 m", "1.00: 0.23 m", "0.80: 0.79 m"],
    "docs/howto/damage.md": ["peak 1.00, energy 1.01 G", "peak 0.81"],
    "docs/howto/which-law.md": ["235 MPa", "38 and 2.9 MPa", "60 and 4.0 MPa", "critical slope 1.02"],
    "docs/howto/to-other-programs.md": ["13 frames, 2560 particles", "12.5 mm"],
}
DOCTESTED = [path for path in sorted((ROOT / "mpm").rglob("*.py")) if ">>>" in path.read_text("utf-8")]


# --- Python ----------------------------------------------------------------------------------------------------------


def test_there_is_python_in_them():
    assert {"README.md", "docs/quickstart.md", "docs/howto/restart.md"} <= SNIPPETS.keys()


@pytest.mark.parametrize("name", SNIPPETS)
def test_python_runs_as_printed(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for k, text in enumerate(SNIPPETS[name]):  # as a reader would: one after the other
        exec(compile(text, f"{name}, snippet {k}", "exec"), names)
    told = capsys.readouterr().out
    assert [figure for figure in PRINTED.get(name, []) if figure not in told] == []
    written = {path.name for path in tmp_path.iterdir()}
    assert all(any(re.split("[_.]", file)[0] in text for text in SNIPPETS[name]) for file in written)


def test_the_first_snippets_are_short():
    def lines(name):
        return len([line for line in SNIPPETS[name][0].splitlines() if line.strip()])

    assert lines("README.md") <= 6 and lines("docs/index.md") <= 8
    assert README.index("pip install") < README.index("```python") < README.index("make demo")


def test_the_first_snippet_does_what_its_comments_say():
    text = SNIPPETS["docs/quickstart.md"][0]
    names = {}
    exec(text, names)
    sim, x = names["sim"], names["x"]
    assert isinstance(sim, mpm.Simulation) and sim.time == 0.5
    assert x.shape == (len(sim.particles), 2) and np.shares_memory(x, sim.particles.x)
    assert len(sim.history["kinetic"]) == sim.steps + 1


@pytest.mark.parametrize("path", DOCTESTED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_of_docstrings_run(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    result = doctest.testmod(module, extraglobs={"mpm": mpm, "np": np})
    assert not result.failed


# --- numbers ---------------------------------------------------------------------------------------------------------


def rows(text):
    """The body of the conservation table: label and numbers."""
    lines = [line for line in text.splitlines() if re.match(r"\| [23]-D float", line)]
    cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
    return {label: [float(value.split()[0]) for value in values] for label, *values in cells}


def within_limits(label, values):
    return all(value <= limit for value, limit in zip(values, LIMITS[label.split()[1]], strict=False))


def test_the_conservation_table_is_within_what_is_promised():
    table = rows(VERIFICATION)
    assert set(table) == {f"{d}-D {dtype}" for d in (2, 3) for dtype in LIMITS}
    assert [label for label, values in table.items() if not within_limits(label, values)] == []
    promised = float(re.search(r"at\s+most\s+(\S+)\s+in\s+2,000\s+steps", README)[1])
    assert max(max(values[:4]) for label, values in table.items() if "float64" in label) <= promised


def test_the_conservation_table_is_what_the_script_prints(monkeypatch, capsys):
    """With fewer steps, so only its form and its order of magnitude are those of the table."""
    monkeypatch.setattr(sys, "argv", ["conservation.py", "200"])
    runpy.run_path(str(ROOT / "benchmarks" / "conservation.py"), run_name="__main__")
    text = capsys.readouterr().out
    assert text.splitlines()[0] in VERIFICATION
    table = rows(text)
    assert set(table) == set(rows(VERIFICATION))
    assert [label for label, values in table.items() if not within_limits(label, values)] == []


def test_the_table_of_speeds_has_every_law_within_its_limit():
    script = runpy.run_path(str(ROOT / "benchmarks" / "laws.py"))
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    [table] = re.findall(r"^\| law \|.*\n\|---.*\n((?:\|.*\n)+)", page, re.MULTILINE)
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in table.splitlines()]
    speeds = {
        name: dict(zip(("float32", "float64"), map(float, cells[::2]), strict=True)) for name, *cells in rows
    }
    assert speeds.keys() >= mpm.bench.blocks.MATERIALS.keys()
    assert [
        (name, dtype)
        for name, row in speeds.items()
        for dtype, speed in row.items()
        if speed < script["least"](name, dtype)
    ] == []


def test_tables_hold_what_their_commands_print(monkeypatch):
    """The page is written by a script: a mark per command, each command a benchmark that is there."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    tables = importlib.import_module("renew_tables")
    commands = [mark[2] for mark in tables.MARK.finditer(VERIFICATION)]
    assert len(commands) >= 8 and all((ROOT / command.split()[0]).is_file() for command in commands)
    for missed in re.finditer("MISSED", VERIFICATION):  # such a row has its cause below the table
        after = VERIFICATION[missed.end() :]
        assert re.match(r"\W*\n(\|.*\n)*\n<!-- end -->\n+(One row is|\w+ rows are) missed: ", after)
    kept = ["| a | b |", "|---|---|", "| E A |f| | 1 |"]
    dropped = ["| speed: 3-D | 3 |", "", "| [ns] |", "|---|", "| 4 |", "", "a: Title", "", "x  y", "1  2"]
    shown = ["", "Title", "", "```text", "x  y", "1  2", "```", ""]
    assert tables.shown("\n".join([*kept, "| x|f| | 2 |", *dropped])) == "\n".join(
        [*kept, r"| x\|f\| | 2 |", *shown]
    )


def test_speeds_are_those_of_the_table():
    """README quotes rows of docs/performance.md."""
    text = (ROOT / "docs" / "performance.md").read_text("utf-8")
    quoted = re.search(r"by (\d+) million.*?3-D and (\d+) in 2-D.*?does (\S+) and (\d+)", README, re.DOTALL)
    for row, fast, plain in (("3-D, single", quoted[1], quoted[3]), ("2-D, single", quoted[2], quoted[4])):
        cells = re.search(rf"^\| {row} precision \|(.*)\|$", text, re.MULTILINE)[1].split("|")
        assert cells[1].strip() == f"{fast} ({plain})"


# --- links, pictures, commands ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*DOCUMENTS, *OTHERS], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files(path):
    """`make docs` follows them between the finished pages, anchors too; the reference is there only then."""
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    pages = [link for link in links if not re.search("(reference|gallery|pictures)/", link)]
    assert not [link for link in pages if not (path.parent / link).exists()]


def test_the_readme_is_a_screen_with_pictures_that_are_small():
    from PIL import Image

    assert len(README.splitlines()) <= 85
    images = ROOT / "docs" / "images"
    assert (images / "cube.png").stat().st_size < 200_000 and (images / "snow.gif").stat().st_size < 500_000
    with Image.open(images / "cube.png") as picture, Image.open(images / "snow.gif") as moving:
        assert picture.size == (1200, 376)
        assert moving.n_frames > 20


@pytest.mark.parametrize("name", ["README.md", "docs/installation.md", "CONTRIBUTING.md"])
def test_commands_name_what_there_is(name):
    text = (ROOT / name).read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE))
    assert "test" in named and named <= targets
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r'pip install "\.\[([a-z]+)\]"', text)) <= set(extras)
    if listed := re.search(r"ther extras: (.*?)\.\n", text, re.DOTALL):
        assert {"mesh", "all"} <= set(re.findall(r"`([a-z0-9]+)`", listed[1])) <= set(extras)


# --- the gallery and the reference -----------------------------------------------------------------------------------


def test_every_public_name_has_a_page(monkeypatch):
    """`make docs` looks at the finished pages; this is their source."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    reference = importlib.import_module("reference")
    text = "\n".join(reference.pages().values())
    named = set(re.findall(r"^\.\. auto\w+:: (\S+)$", text, re.MULTILINE))
    modules = {module.__name__ for module in reference.modules()}
    assert {"mpm", "mpm.shapes", "mpm.sph.operators", "mpm.viz"} <= modules <= named
    assert {f"mpm.{name}" for name in mpm.__all__ if not isinstance(getattr(mpm, name), type(mpm))} <= named
    assert "mpm.shapes.Ball" in reference.missing(named) or "mpm.shapes.Ball" in named
    gone = reference.missing(named - {"mpm.Scene"})
    assert "mpm.Scene" in gone and "mpm.Scene.add" in gone


def test_every_scene_has_a_card(monkeypatch):
    """`make docs` draws the pictures."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    pages = importlib.import_module("gallery_pages")
    commands = re.findall(r"python -m mpm demo (\S+)", pages.index())
    assert sorted(commands) == list(mpm.gallery.names()) == sorted(pages.all_loops())
    page = pages.page("honey")
    assert "def honey(" in page and "integrator='implicit-euler'" in page and "mpm.materials.Fluid" in page
    assert pages.scenes_of("NACC") == ["bread-tearing"]
