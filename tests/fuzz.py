"""Damages files in ways that know their structure, and reads them: whatever the package reads.

    python tests/fuzz.py trajectory --seconds 600 --seed 1     # or another kind; --help names them
    python tests/fuzz.py trajectory --file out/fuzz/trajectory-1-12345

A file is refused with a FileFormatError, or what was read can be used. Nothing else may be raised but what the
functions promise, nothing takes longer than `SECONDS`, nor more memory than `TIMES` the file's size and `MORE` bytes.
Checksums are made right again after most mutations, so that these reach what is behind them. The first file of every
kind of failure is kept in --out, to be tried again with --file; a process that hangs or crashes leaves the file that it
was reading there.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import fuzz_files
import fuzz_points
import mpm
from fuzz_mutations import (
    Kind,
)
from mpm.io import hdf5_bytes

SECONDS = 5
TIMES, MORE = 4, 64 << 20

KINDS: dict[str, type[Kind]] = fuzz_files.KINDS | fuzz_points.KINDS


# --- the loop --------------------------------------------------------------------------------------------------------


class Hang(BaseException):
    """It took too long; not an Exception, so that nothing takes it for damage."""


def _hang(*_: object) -> None:
    raise Hang


def peak_after(call: Callable[[], None]) -> int:
    """Bytes by which memory grew at most meanwhile, where the system says so."""
    status = Path("/proc/self/status")
    if not status.exists():
        call()
        return 0
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the peak
    before = _line(status, "VmRSS")
    call()
    return _line(status, "VmHWM") - before


def _line(status: Path, name: str) -> int:
    text = status.read_text(encoding="ascii")
    return int(text[text.index(name) :].split(None, 2)[1]) << 10


def attempt(kind: Kind, path: Path) -> str:
    """What came of a file: "used" or "refused"; everything else is a failure."""
    data = path.read_bytes()
    found = []

    def call() -> None:
        try:
            kind.use(path, random.Random(hashlib.blake2b(data).digest()))
            found.append("used")
        except mpm.FileFormatError as error:
            said = str(error)
            found.append(
                "refused"
                if path.name in said and len(said) < 1000
                else f"says too much or little: {said[:300]}"
            )
        except Hang:
            found.append(f"hangs\n{traceback.format_exc()}")
        except BaseException:
            found.append(f"raises\n{traceback.format_exc()}")

    signal.setitimer(signal.ITIMER_REAL, SECONDS if kind.bounded else 4 * SECONDS)
    try:
        growth = peak_after(call)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if kind.bounded and growth > TIMES * len(data) + MORE:
        return f"takes memory: {growth >> 20} MB for {len(data)} bytes"
    return found[0]


def what_kind(outcome: str) -> str:
    """Failures of one kind: the same error from the same line."""
    lines = [line.strip() for line in outcome.splitlines()]
    places = [line for line in lines if line.startswith("File ")]
    return "\n".join([lines[0][:40], *places[-1:], lines[-1][:40]]) if len(lines) > 1 else lines[0][:40]


def fuzz(name: str, seconds: float, seed: int, out: Path, most: int = sys.maxsize) -> Counter[str]:
    """Read damaged files for some time; returns how often each came of it, failures by their kind."""
    outcomes: Counter[str] = Counter()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        kind = KINDS[name](Path(folder))
        current = out / f"{name}-{seed}-current{kind.suffix}"
        path = Path(folder) / f"a{kind.suffix}"
        end, number = time.monotonic() + seconds, 0
        while time.monotonic() < end and number < most:
            if number % 100 == 0:  # for hangs in which the interpreter runs no handler
                faulthandler.dump_traceback_later(100 + 10 * SECONDS, exit=True)
            data = kind.mutate(random.Random(f"{name} {seed} {number}"), number)
            current.write_bytes(data)
            path.write_bytes(data)
            outcome = attempt(kind, path)
            fine = outcome in ("used", "refused")
            found = outcome if fine else what_kind(outcome)
            if not fine and not outcomes[found]:
                kept = out / f"{name}-{seed}-{number}{kind.suffix}"
                kept.write_bytes(data)
                print(f"{kept}: {outcome}", flush=True)
            outcomes[found] += 1
            number += 1
            for other in Path(folder).iterdir():
                other.unlink()
        current.unlink()
    faulthandler.cancel_dump_traceback_later()
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", type=Path, help="try this file only")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("MPLBACKEND", "Agg")
    faulthandler.enable()
    hdf5_bytes.PATIENCE = 0.002  # nobody writes to the files
    signal.signal(signal.SIGALRM, _hang)
    resource.setrlimit(
        resource.RLIMIT_AS, (KINDS[options.kind].most, resource.getrlimit(resource.RLIMIT_AS)[1])
    )
    if options.file:
        with tempfile.TemporaryDirectory() as folder:
            kind = KINDS[options.kind](Path(folder))
            path = Path(folder) / f"a{kind.suffix}"
            path.write_bytes(options.file.read_bytes())
            print(outcome := attempt(kind, path))
            return outcome not in ("used", "refused")
    outcomes = fuzz(options.kind, options.seconds, options.seed, options.out)
    failures = {kind: count for kind, count in outcomes.items() if kind not in ("used", "refused")}
    print(f"{options.kind}: {outcomes.total()} files, {outcomes['refused']} refused, {outcomes['used']} used")
    for kind, count in failures.items():
        print(f"{count} times: {kind}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
