"""How long the first ten minutes take: the phases from a clone to the movie of the demo, without a compiler cache.

    python benchmarks/first_run.py [FOLDER]

Clones this repository into an empty folder (default: a temporary one, removed at the end), runs ``make demo`` there
twice, and prints when each phase is over. The second run begins with everything compiled.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What appears in the clone, in this order.
PHASES = {
    "virtual environment": ".venv/created",
    "compiled": "mpm/_core*.so",
    "installed": ".venv/installed-demo",
    "first picture": "out/sand-column_frames.png",
    "movie of the cube": "out/cube_frames.png",  # written after the movie
}


def watch(folder: Path, begin: float, log: Path) -> None:
    """Run ``make demo``, and print when the files of the phases are there."""
    environment = {**os.environ, "CCACHE_DISABLE": "1", "CC": "cc", "PYTHONPATH": ""}
    left = dict(PHASES)
    with log.open("w") as output:
        make = subprocess.Popen(["make", "demo"], cwd=folder, env=environment, stdout=output, stderr=output)
        while make.poll() is None:
            time.sleep(0.1)
            for name in [name for name, pattern in left.items() if any(folder.glob(pattern))]:
                print(f"{name:<22} {time.monotonic() - begin:6.1f} s", flush=True)
                del left[name]
    print(f"{'end':<22} {time.monotonic() - begin:6.1f} s", flush=True)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{'processor time':<22} {spent.ru_utime + spent.ru_stime:6.1f} s: other programs may have slowed the phases"
    )
    if make.returncode:
        sys.exit(log.read_text()[-3000:])


def seconds_to_start(folder: Path) -> float:
    """From ``make demo`` in a folder where it has run to the first line of the demo."""
    begin = time.monotonic()
    environment = {**os.environ, "CCACHE_DISABLE": "1", "CC": "cc", "PYTHONPATH": "", "PYTHONUNBUFFERED": "1"}
    make = subprocess.Popen(
        ["make", "demo"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    for line in make.stdout:
        if line.startswith("<Simulation"):
            break
    took = time.monotonic() - begin
    make.terminate()
    make.wait()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path)
    folder = parser.parse_args().folder
    chosen = folder or Path(tempfile.mkdtemp())
    clone, begin = chosen / "mpm", time.monotonic()
    try:
        subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
        print(f"{os.cpu_count()} processors\n{'cloned':<22} {time.monotonic() - begin:6.1f} s", flush=True)
        watch(clone, begin, chosen / "first.log")
        print(f"{'second run starts in':<22} {seconds_to_start(clone):6.1f} s")
    finally:
        if not folder:
            shutil.rmtree(chosen)


if __name__ == "__main__":
    main()
