"""What the Python of the how-to guides prints and draws, for build.py.

Each page runs as the tests run it, block after block, in an empty folder. Its figures, the pictures that it writes and
what it prints are kept in build/outputs until the page or the package changes.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import drawn

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "outputs"
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
MOST_LINES = 30  # that are shown


def run(page: Path, folder: Path) -> None:
    """Run the blocks of a page, keep pictures in the folder, and a list of what each block gave."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    found, names, seen = [], {}, set()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for k, text in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
            told, pictures = io.StringIO(), []
            with contextlib.redirect_stdout(told):
                exec(compile(text, f"{page.name}, block {k}", "exec"), names)
            for number in sorted(set(plt.get_fignums()) - seen):
                pictures.append(f"{page.stem}-{k}-{number}.png")
                plt.figure(number).savefig(folder / pictures[-1], dpi=90, bbox_inches="tight")
            seen |= set(plt.get_fignums())
            if "savefig" not in text:
                for file in sorted(Path().glob("*.png")) + sorted(Path().glob("*.gif")):
                    if file.name in text:
                        pictures.append(f"{page.stem}-{file.name}")
                        (folder / pictures[-1]).write_bytes(file.read_bytes())
            found.append({"text": told.getvalue(), "pictures": pictures})
        os.chdir(ROOT)
    (folder / f"{page.stem}.json").write_text(json.dumps(found), encoding="utf-8")


def make(pages: list[Path]) -> None:
    """Run the pages whose results are missing or old."""
    made_by = drawn.code(apart=("viewer", "bench"))

    def renewed(page: Path) -> None:
        text = page.read_bytes()
        key = hashlib.sha256(made_by.encode() + Path(__file__).read_bytes() + text).hexdigest()
        kept = KEPT / f"{page.stem}.key"
        if BLOCK.search(text.decode()) and not (kept.is_file() and kept.read_text() == key):
            print(f"runs {page.relative_to(ROOT)}", flush=True)
            subprocess.run([sys.executable, "-W", "ignore", __file__, str(page)], cwd=ROOT, check=True)
            kept.write_text(key)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(renewed, pages))


def shown(page: Path, text: str, folder: str) -> str:
    """The text of a page with the results below its blocks; pictures lie in `folder`."""
    file = KEPT / f"{page.stem}.json"
    if not file.is_file() or not BLOCK.search(text):
        return text
    results = iter(json.loads(file.read_text(encoding="utf-8")))

    def block(found: re.Match[str]) -> str:
        result = next(results)
        below = found[0]
        if told := result["text"].rstrip():
            lines = told.splitlines()
            if len(lines) > MOST_LINES:
                lines = [*lines[:MOST_LINES], "…"]
            below += "\n```{code-block} text\n:class: printed\n\n" + "\n".join(lines) + "\n```\n"
        for picture in result["pictures"]:
            below += f"\n![what the lines above draw]({folder}/{picture})\n"
        return below

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    run(Path(sys.argv[1]).resolve(), KEPT)
