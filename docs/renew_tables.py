"""Puts what benchmarks print into verified.md, between a mark that names the command and an end mark.

    python docs/renew_tables.py             all tables: a quarter of an hour
    python docs/renew_tables.py masses      those whose command has the word

Rows of time and speed are left out: they belong to a machine, and `make bench` prints them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "verified.md"
MARK = re.compile(r"(<!-- prints: python (.*?) -->\n).*?(<!-- end -->)", re.DOTALL)
OF_A_MACHINE = re.compile(
    r"^\|[^|]*(\bspeed: |peers: |M/s|seconds|two threads|\[ns\]|over the scalar build|in explicit steps)"
)
TITLE = re.compile(r"^\w+: ")


def shown(text: str) -> str:
    """A command's output as Markdown: tables as they are, anything else as text."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.splitlines()
        if lines[0].startswith("|"):
            if OF_A_MACHINE.match(lines[0]) or "[ns]" in lines[0] or "seconds" in lines[0]:
                continue  # a whole table
            kept = [line for line in lines if not OF_A_MACHINE.match(line)]
            if len(kept) > 1 and not re.match(r"\|[\s:-]+\|", kept[1]):
                kept[:0] = [re.sub(r"[^|]+", " ", kept[0]), re.sub(r"[^|]+", "---", kept[0])]
            if kept:
                blocks.append("\n".join(re.sub(r"(?<=\S)\|(\w+)\|", r"\\|\1\\|", line) for line in kept))
        elif len(lines) > 1:
            blocks.append(f"```text\n{block}\n```")
        elif TITLE.match(lines[0]):  # the name of a table
            blocks.append(lines[0].partition(": ")[2])
    return "\n\n".join(blocks) + "\n"


def printed(command: str) -> str:
    """The exit status only tells that a limit was missed; the table says so, too."""
    print(command, flush=True)
    done = subprocess.run([sys.executable, *command.split()], cwd=ROOT, capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(done.stderr)
    return done.stdout


def main() -> None:
    words = sys.argv[1:]

    def replaced(mark: re.Match[str]) -> str:
        if words and not set(words) & set(re.split(r"\W+", mark[2])):
            return mark[0]
        return f"{mark[1]}\n{shown(printed(mark[2]))}\n{mark[3]}"

    PAGE.write_text(MARK.sub(replaced, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
