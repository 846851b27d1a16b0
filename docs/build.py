"""Builds the documentation in build/docs/html: ``make docs``.

The pages are Markdown files that read well in the source tree, too. They are copied to one folder, where links between
them become links between pages, and links to other files of the project become downloads. Notebooks are taken from
build/notebooks, where their tests have left them with outputs; those that are missing or older than the code are
executed. The gallery and the pictures of laws, shapes, motions and walls are drawn from runs and kept in build/pictures
until the package changes. The Python of the guides runs, and the pages show what it prints and draws. The reference is
made from the docstrings. Warnings are errors; afterwards every link between pages is followed, and every public name
must have an entry.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

import class_pages
import drawn
import gallery_pages
import outputs
import reference
from sphinx.util.inventory import InventoryFile

ROOT = Path(__file__).resolve().parents[1]
DOCS, BUILD = ROOT / "docs", ROOT / "build" / "docs"
SOURCE, HTML, EXECUTED = BUILD / "source", BUILD / "html", ROOT / "build" / "notebooks"
# Files outside this folder that are pages.
ELSEWHERE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "csrc/README.md": "core.md",
    "notebooks/README.md": "tutorials/index.md",
    "benchmarks/peers/README.md": "peers/index.md",
    "benchmarks/peers/results.md": "peers/results.md",
    "README.md": "index.md",
}
GENERATED = ("reference", "gallery", "pictures")
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def pages() -> dict[Path, str]:
    """File of the project -> its place among the pages, without the reference."""
    found = {ROOT / name: place for name, place in ELSEWHERE.items()}
    for path in sorted(DOCS.rglob("*.md")):
        place = path.relative_to(DOCS)
        found[path] = (place.with_name("index.md") if place.name == "README.md" else place).as_posix()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        found[path] = f"tutorials/{path.name}"
    del found[ROOT / "README.md"]  # docs/index.md takes its place
    return found


class Links:
    """The links of one page, as they must be where the page goes."""

    def __init__(self, path: Path, places: dict[Path, str]):
        self.path, self.places = path, places
        self.here = Path(places[path]).parent

    def in_text(self, text: str) -> str:
        """Links in a text of Markdown, blocks of code left alone."""
        parts, end = [], 0
        for block in FENCE.finditer(text):
            parts += [LINK.sub(self.replaced, text[end : block.start()]), block[0]]
            end = block.end()
        return "".join([*parts, LINK.sub(self.replaced, text[end:])])

    def replaced(self, link: re.Match[str]) -> str:
        label, target = link.groups()
        file, hash_, anchor = target.partition("#")
        if not file or "://" in file or file.startswith("mailto:"):
            return link[0]
        found = (self.path.parent / file).resolve()
        if any(found.is_relative_to(DOCS / folder) for folder in GENERATED):
            return f"{label}({self.relative(found.relative_to(DOCS).as_posix())}{hash_}{anchor})"
        if found.is_dir():
            found /= "README.md"
        if found == ROOT / "README.md":
            found = DOCS / "index.md"
        if not found.is_file():
            raise SystemExit(f"{self.path.relative_to(ROOT)}: the link {target} leads nowhere")
        if found in self.places:
            return f"{label}({self.relative(self.places[found])}{hash_}{anchor})"
        copied = Path("_files") / found.relative_to(ROOT)
        (SOURCE / copied).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(found, SOURCE / copied)
        return f"{label}(/{copied.as_posix()})"

    def relative(self, place: str) -> str:
        return os.path.relpath(place, self.here)


def code_of(notebook: dict) -> list[str]:
    """Its cells of code; between them only their number counts."""
    return ["".join(cell["source"]) if cell["cell_type"] == "code" else "" for cell in notebook["cells"]]


def is_stale(path: Path) -> bool:
    """Was the notebook executed before it or the code changed, or never?"""
    done = EXECUTED / path.name
    if not done.is_file() or code_of(json.loads(done.read_text())) != code_of(json.loads(path.read_text())):
        return True
    core = [*(ROOT / "mpm").glob("_core*.so"), *(ROOT / "mpm").rglob("*.py")]
    return done.stat().st_mtime_ns < max(file.stat().st_mtime_ns for file in core)


def execute(notebooks: list[Path]) -> None:
    """By their tests, which keep the outputs."""
    stale = [path for path in notebooks if is_stale(path)]
    if not stale:
        return
    print(f"executes {', '.join(path.stem for path in stale)}", flush=True)
    tests = [f"tests/test_notebooks.py::test_runs_within_a_minute[{path.stem}]" for path in stale]
    environment = {**os.environ, "MPM_EXECUTED": str(EXECUTED)}
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "notebook", *tests],
        cwd=ROOT,
        env=environment,
        check=True,
    )


def collect() -> None:
    """Put the pages into one folder."""
    places = pages()
    execute([path for path in places if path.suffix == ".ipynb"])
    guides = [
        path for path in places if path.parent == DOCS / "howto" or path.name in ("quickstart.md", "index.md")
    ]
    outputs.make(guides)
    shutil.rmtree(SOURCE, ignore_errors=True)
    for path, place in places.items():
        links, target = Links(path, places), SOURCE / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".ipynb":
            notebook = json.loads((EXECUTED / path.name).read_text())
            own = json.loads(path.read_text(encoding="utf-8"))
            for cell, written in zip(notebook["cells"], own["cells"], strict=True):
                if cell["cell_type"] == "markdown":
                    cell["source"] = links.in_text("".join(written["source"]))
            target.write_text(json.dumps(notebook))
        else:
            text = links.in_text(path.read_text(encoding="utf-8"))
            if path in guides:
                text = outputs.shown(path, text, "/pictures")
            target.write_text(text, encoding="utf-8")
    tutorials = [Path(place).stem for path, place in places.items() if path.suffix == ".ipynb"]
    append_contents(SOURCE / "tutorials" / "index.md", tutorials)
    append_contents(SOURCE / "peers" / "index.md", ["results"])
    for folder in ("howto", "theory"):
        here = [Path(place) for place in places.values() if place.startswith(f"{folder}/")]
        append_contents(SOURCE / folder / "index.md", listed(SOURCE / folder / "index.md", here))
    notes = [Path(place).stem for place in places.values() if place.startswith("design/0")]
    append_contents(SOURCE / "design" / "index.md", sorted(notes))
    add_gallery()
    (SOURCE / "reference").mkdir()
    for name, text in reference.pages().items():
        (SOURCE / "reference" / f"{name}.rst").write_text(text, encoding="utf-8")
    (SOURCE / "reference" / "command-line.md").write_text(command_line(), encoding="utf-8")


def add_gallery() -> None:
    """The loops, and the pages of the gallery."""
    scenes, classes = gallery_pages.all_loops(), class_pages.all_loops()
    drawn.save_all(scenes | classes)
    for folder, loops in (("gallery", scenes), ("pictures", classes)):
        (SOURCE / folder).mkdir()
        for name in loops:
            shutil.copy(drawn.KEPT / f"{name}.webp", SOURCE / folder)
    for file in [*outputs.KEPT.glob("*.png"), *outputs.KEPT.glob("*.gif")]:
        shutil.copy(file, SOURCE / "pictures")
    for name, text in gallery_pages.pages().items():
        (SOURCE / "gallery" / f"{name}.md").write_text(text, encoding="utf-8")


def listed(index: Path, here: list[Path]) -> list[str]:
    """The other pages of a folder in the order in which its index links to them."""
    text = index.read_text(encoding="utf-8")
    return sorted(
        (place.stem for place in here if place.stem != "index"), key=lambda stem: text.index(f"({stem}.md")
    )


def append_contents(path: Path, names: list[str]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n")


def command_line() -> str:
    """What the commands say about themselves."""
    text = (
        "# Command line\n\n`python -m mpm` and, where the package is installed, `mpm` run these commands.\n"
    )
    for command in ("", "demo", "view", "replay", "bench", "info"):
        words = [sys.executable, "-m", "mpm", *command.split(), "--help"]
        environment = {**os.environ, "COLUMNS": "100"}
        told = subprocess.run(
            words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        ).stdout
        text += f"\n## {('mpm ' + command).strip()}\n\n```text\n{told}```\n"
    return text


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, path: Path):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "link", "source") and (target := given.get("src") or given.get("href")):
            self.loaded.append(target)


def broken_links() -> list[str]:
    """Links that lead to no page or anchor, and what would come from elsewhere."""
    read = {path: Page(path) for path in HTML.rglob("*.html") if "_static" not in path.parts}
    wrong = []
    for path, page in read.items():
        name = path.relative_to(HTML)
        wrong += [f"{name} loads {target}" for target in page.loaded if re.match(r"(https?:)?//", target)]
        for link in [*page.links, *page.loaded]:
            target, _, anchor = urllib.parse.unquote(link).partition("#")
            if re.match(r"[a-z]+:|//", link):
                continue
            found = (path.parent / target.partition("?")[0]).resolve() if target else path
            if not found.exists():
                wrong.append(f"{name}: {link} leads nowhere")
            elif anchor and found in read and anchor not in read[found].anchors:
                wrong.append(f"{name}: {link} has no such place")
    return sorted(set(wrong))


def undocumented() -> list[str]:
    """Public names without an entry."""
    inventory = InventoryFile.loads((HTML / "objects.inv").read_bytes(), uri="").data
    names = {name for kind, objects in inventory.items() if kind.startswith("py:") for name in objects}
    return [f"{name} is not in the reference" for name in reference.missing(names)]


def main() -> int:
    collect()
    words = [
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-j",
        "auto",
        "-c",
        str(DOCS),
        "-d",
        str(BUILD / "doctrees"),
    ]
    shutil.rmtree(HTML, ignore_errors=True)
    if subprocess.run([sys.executable, *words, str(SOURCE), str(HTML)]).returncode:
        return 1
    wrong = [*broken_links(), *undocumented()]
    print("\n".join(wrong) or f"wrote {HTML.relative_to(ROOT)}/index.html")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
