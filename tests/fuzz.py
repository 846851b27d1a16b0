"""Damages files in ways that know their structure, and reads them: whatever the package reads.

    python tests/fuzz.py trajectory --seconds 600 --seed 1     # or another kind; --help names them
    python tests/fuzz.py trajectory --file out/fuzz/trajectory-1-12345
    python tests/fuzz.py obj --readers --seconds 600           # the reader alone, on data in memory

A file is refused with a FileFormatError, or what was read can be used. Nothing else may be raised but what the
functions promise, nothing takes longer than `SECONDS`, nor more memory than `TIMES` the file's size and `MORE` bytes.
On a core with sanitizers, a file may take ten times as long and any memory: they keep what is freed. Checksums are made
right again after most mutations, so that these reach what is behind them. The first file of every kind of failure is
kept in --out, to be tried again with --file; a process that hangs or crashes leaves the file that it was reading there.

With --readers nothing is done with what was read, and a hundred times as many files are tried. A seed repeats them;
--first says with which to begin. A process that hangs or crashes leaves the number of its file.
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
import scenes
from fuzz_mutations import (
    Kind,
)
from fuzz_sequences import memory
from mpm.io import hdf5_bytes

SECONDS = 50 if scenes.SANITIZED else 5
TIMES, MORE = 4, 64 << 20
LONG = 1000  # characters of an error
BATCH = 500  # files of --readers between two looks at memory

KINDS: dict[str, type[Kind]] = fuzz_files.KINDS | fuzz_points.KINDS


# --- the loop --------------------------------------------------------------------------------------------------------


class Hang(BaseException):
    """It took too long; not an Exception, so that nothing takes it for damage."""


def _hang(*_: object) -> None:
    raise Hang


def peak_after(call: Callable[[], None]) -> int:
    """Bytes by which memory grew at most meanwhile, where the system says so and no sanitizer keeps what is freed."""
    before = memory("VmRSS")
    if scenes.SANITIZED or not before:
        call()
        return 0
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the peak
    call()
    return memory("VmHWM") - before


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
                if path.name in said and len(said) < LONG
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
    return (
        "\n".join([lines[0][:40], *places[-1:], lines[-1][:40]])
        if len(lines) > 1
        else lines[0].partition(":")[0]
    )


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


# --- readers alone ---------------------------------------------------------------------------------------------------


def parsed(kind: Kind, data: bytes, path: Path) -> str:
    """What came of the reader alone, as of `attempt`."""
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        kind.parse(data, path)
        return "used"
    except mpm.FileFormatError as error:
        return "refused" if len(str(error)) < LONG else f"says too much: {str(error)[:300]}"
    except Hang:
        return f"hangs\n{traceback.format_exc()}"
    except BaseException:
        return f"raises\n{traceback.format_exc()}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class Readers:
    """Lets the reader alone read damaged data, numbered files of a seed."""

    def __init__(self, name: str, seed: int, folder: Path, out: Path) -> None:
        self.kind, self.name, self.seed, self.out = KINDS[name](folder), name, seed, out
        self.path = folder / f"a{self.kind.suffix}"
        self.outcomes: Counter[str] = Counter()

    def made(self, number: int) -> bytes:
        """The data of a file."""
        return self.kind.mutate(random.Random(f"{self.name} {self.seed} {number}"), number)

    def read(self, numbers: range, said: int, end: float) -> None:
        """Read some of them until a time; the descriptor `said` is told each number before."""
        for number in numbers:
            if time.monotonic() > end:
                break
            os.pwrite(said, b"%20d\n" % number, 0)
            outcome = parsed(self.kind, self.made(number), self.path)
            if outcome in ("used", "refused"):
                self.outcomes[outcome] += 1
            else:
                self.report(number, outcome)

    def look_for_memory(self, numbers: range) -> None:
        """Which of them take too much, of which together one may."""
        for number in numbers if self.kind.bounded else ():
            data = self.made(number)
            growth = peak_after(lambda data=data: parsed(self.kind, data, self.path))  # type: ignore[misc]
            if growth > TIMES * len(data) + MORE:
                self.report(number, f"takes memory: {growth >> 20} MB for {len(data)} bytes")

    def report(self, number: int, outcome: str) -> None:
        """Count a failure; keep the first of a kind."""
        found = what_kind(outcome)
        if not self.outcomes[found]:
            kept = self.out / f"{self.name}-{self.seed}-{number}{self.kind.suffix}"
            kept.write_bytes(self.made(number))
            print(f"{kept}: {outcome}", flush=True)
        self.outcomes[found] += 1


def fuzz_readers(
    name: str, seconds: float, seed: int, out: Path, first: int = 0, most: int = sys.maxsize
) -> Counter[str]:
    """As `fuzz`, with readers alone. Memory is looked at after every `BATCH`."""
    out.mkdir(parents=True, exist_ok=True)
    memory, current = Path("/dev/shm"), out / f"{name}-{seed}-current"
    with (
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder,
        current.open("wb", buffering=0) as said,
    ):
        readers = Readers(name, seed, Path(folder), out)
        end, number = time.monotonic() + seconds, first
        while time.monotonic() < end and number < first + most:
            faulthandler.dump_traceback_later(100 + 10 * SECONDS, exit=True)
            batch = range(number, min(number + BATCH, first + most))
            if peak_after(lambda batch=batch: readers.read(batch, said.fileno(), end)) > MORE:  # type: ignore[misc]
                readers.look_for_memory(batch)
            number = batch.stop
    current.unlink()
    faulthandler.cancel_dump_traceback_later()
    return readers.outcomes


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", type=Path, help="try this file only")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    parser.add_argument("--readers", action="store_true", help="call the reader alone, on data in memory")
    parser.add_argument("--first", type=int, default=0, help="number of the first file of --readers")
    options = parser.parse_args()
    if options.readers and KINDS[options.kind].parse is Kind.parse:
        parser.error(f"--readers: no reader of this package alone reads {options.kind} files")
    warnings.simplefilter("ignore")
    os.environ.setdefault("MPLBACKEND", "Agg")
    faulthandler.enable()
    hdf5_bytes.PATIENCE = 0.002  # nobody writes to the files
    signal.signal(signal.SIGALRM, _hang)
    if not scenes.SANITIZED:
        most = KINDS[options.kind].most
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
    if options.file:
        with tempfile.TemporaryDirectory() as folder:
            kind = KINDS[options.kind](Path(folder))
            path = Path(folder) / f"a{kind.suffix}"
            path.write_bytes(options.file.read_bytes())
            print(outcome := attempt(kind, path))
            return outcome not in ("used", "refused")
    began = time.process_time()
    if options.readers:
        outcomes = fuzz_readers(options.kind, options.seconds, options.seed, options.out, options.first)
    else:
        outcomes = fuzz(options.kind, options.seconds, options.seed, options.out)
    rate = outcomes.total() / (time.process_time() - began)
    failures = {kind: count for kind, count in outcomes.items() if kind not in ("used", "refused")}
    print(
        f"{options.kind}: {outcomes.total()} files, {outcomes['refused']} refused, {outcomes['used']} used, "
        f"{rate:.0f} per second of the processor"
    )
    for kind, count in failures.items():
        print(f"{count} times: {kind}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
