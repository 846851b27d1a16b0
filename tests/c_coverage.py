"""Which lines and branches of the C core have run, from what GCC's coverage has left in a build tree.

    python tests/c_coverage.py build/cov                     # totals by folder
    python tests/c_coverage.py build/cov --files run         # by file, of those whose path contains a word
    python tests/c_coverage.py build/cov --missing run/kept  # the lines that never ran, and those with missing branches

`make coverage` makes the tree. A line of a header, or of a kernel, is compiled many times: it has run if it has run in
one of them, and so has a branch. A function that is inlined ten times into another one gives its lines ten times the
branches, and the line of the call too: each decision that the text of a line shows has two. Those of macros do not
count, nor do lines without code.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "csrc"
GCOV = shlex.split(os.environ.get("GCOV") or "gcov")


DECISION = re.compile(r"\b(?:if|for|while|switch)\b|&&|\|\||\?")


@dataclass
class Line:
    """A line with code: its text, how often it has run, and the counts of its branches by how many there are."""

    text: str
    count: int = 0
    places: dict[int, list[int]] = field(default_factory=dict)

    def add(self, given: dict[str, Any]) -> None:
        """What one compilation of it says."""
        self.count += given["count"]
        found = [branch["count"] for branch in given["branches"]]
        if found:
            before = self.places.get(len(found), [0] * len(found))
            self.places[len(found)] = [a + b for a, b in zip(before, found, strict=True)]

    @property
    def branches(self) -> list[int]:
        """How often each has been taken."""
        own = 2 * len(DECISION.findall(self.text))
        if not own or not self.places:
            return []
        if not any(number % own == 0 for number in self.places):  # a switch, or what the compiler has decided
            own = min(self.places)
        counts = [0] * own
        for number, found in self.places.items():
            if number % own == 0:  # else some of the copies are cut: which branch is which is not known
                for k, count in enumerate(found):
                    counts[k % own] += count
        return counts


Files = dict[str, dict[int, Line]]
"""The lines of each file by number; files by their path below csrc."""


def reports(notes: list[Path]) -> list[dict[str, Any]]:
    """What gcov says of object files, by their notes; zeros of those that never ran."""
    command = [*GCOV, "--json-format", "--stdout", "--branch-probabilities", *map(str, notes)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]


def read(tree: Path) -> Files:
    """The lines of all files below csrc."""
    notes = sorted(tree.resolve().rglob("*.gcno"))
    if not notes:
        sys.exit(f"{tree} has no notes of GCC (*.gcno): `make coverage` makes it")
    files: Files = {}
    texts: dict[str, list[str]] = {}
    pieces = [notes[k : k + 8] for k in range(0, len(notes), 8)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for report in (report for several in pool.map(reports, pieces) for report in several):
            for given in report["files"]:
                path = (Path(report["current_working_directory"]) / given["file"]).resolve()
                if path.is_relative_to(SOURCES):
                    name = str(path.relative_to(SOURCES))
                    if name not in texts:
                        texts[name], files[name] = path.read_text(encoding="utf-8").splitlines(), {}
                    for line in given["lines"]:
                        number = line["line_number"]
                        files[name].setdefault(number, Line(texts[name][number - 1])).add(line)
    return files


def tally(lines: list[Line]) -> tuple[int, int, int, int]:
    """Lines that have run, lines, branches that have been taken, branches."""
    branches = [count for line in lines for count in line.branches]
    ran, taken = sum(line.count > 0 for line in lines), sum(count > 0 for count in branches)
    return ran, len(lines), taken, len(branches)


def row(name: str, lines: list[Line]) -> str:
    """A row of the table."""
    ran, count, taken, branches = tally(lines)
    shares = f"{100 * ran / max(count, 1):6.1f} %", f"{100 * taken / max(branches, 1):6.1f} %"
    return f"{name:32}{shares[0]} of {count:6} lines {shares[1]} of {branches:6} branches"


def missing(name: str, lines: dict[int, Line]) -> list[str]:
    """The lines of a file that lack something, with their text."""
    found = []
    for number, line in sorted(lines.items()):
        branches = line.branches
        absent = sum(count == 0 for count in branches)
        if not line.count or absent:
            what = f"{absent}/{len(branches)}" if line.count else "never"
            found.append(f"{name}:{number}: {what:>6}  {line.text.strip()}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path, help="a build with MPM_COVERAGE=1 after its tests")
    parser.add_argument("--files", metavar="WORD", help="a row per file whose path contains WORD")
    parser.add_argument("--missing", metavar="WORD", help="what these files lack")
    options = parser.parse_args()
    files = read(options.tree)
    if options.missing is not None:
        for name in sorted(name for name in files if options.missing in name):
            print("\n".join(missing(name, files[name])))
        return 0
    groups: dict[str, list[Line]] = defaultdict(list)
    for name, lines in sorted(files.items()):
        if options.files is None:
            groups[str(Path(name).parent)] += lines.values()
        elif options.files in name:
            groups[name] += lines.values()
    for name, members in groups.items():
        print(row(name, members))
    print(row("all", [line for lines in groups.values() for line in lines]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
