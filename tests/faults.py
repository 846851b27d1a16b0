"""Makes every allocation of the core, every change of a file, and every start of a thread fail in turn.

    python tests/faults.py                         # all kinds of faults, all operations: some minutes
    python tests/faults.py memory --only sph       # those whose name contains a word
    python tests/faults.py files --most 5          # at most so many points of each operation, spread over it

A library (tests/c/faults.c), compiled and preloaded here, stands between the process and the C library. For each
operation of the table, the first, second, … call of that kind fails, once or from there on; or a SIGINT arrives there.
Then the operation has raised the error, or it has done all it should; no memory of the core and no file is left; the
simulation has the bits of one of its whole steps, and goes on with the bits of a run without a fault; a file is the old
or the new one. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import ctypes
import errno
import faulthandler
import gc
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpm
from fault_operations import STEPS, Operation, ids_of, operations, steps_to, value_of
from mpm.base import files

SHIM = "MPM_FAULTS"  # names the preloaded library
KINDS = ("memory", "threads", "files")
FOREVER = 2**40


class Defect(Exception):
    """A promise was broken."""


# --- the library ------------------------------------------------------------------------------------------------------


def compiled(folder: Path) -> Path:
    """The library that makes calls fail."""
    compiler = shlex.split(os.environ.get("CC") or "cc")
    source, target = Path(__file__).parent / "c" / "faults.c", folder / "faults.so"
    flags = [
        "-std=gnu11",
        "-O1",
        "-g",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
    ]
    subprocess.run([*compiler, *flags, str(source), "-o", str(target), "-ldl", "-pthread"], check=True)
    return target


class Shim:
    """What the library can be told."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        self.library.faults_last_call.restype = ctypes.c_char_p
        for name in ("count", "failed", "live", "open"):
            getattr(self.library, f"faults_{name}").restype = ctypes.c_long

    def watch(self, folder: Path) -> None:
        self.library.faults_watch(os.fsencode(folder) + b"/")

    @contextlib.contextmanager
    def armed(self, kind: str, first: int, last: int, error: int, number: int = 0) -> Iterator[None]:
        long = ctypes.c_long
        self.library.faults_arm(KINDS.index(kind), long(first), long(last), error, number)
        try:
            yield
        finally:
            self.library.faults_disarm()

    def count(self, kind: str) -> int:
        return int(self.library.faults_count(KINDS.index(kind)))

    @property
    def failed(self) -> int:
        return int(self.library.faults_failed())

    @property
    def live(self) -> int:
        """Pieces of memory that the core holds."""
        return int(self.library.faults_live())

    @property
    def open(self) -> int:
        """Open files below the folder."""
        return int(self.library.faults_open())

    @property
    def last_call(self) -> str:
        return str(self.library.faults_last_call().decode())


# --- trials -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """Which calls fail, and with which error; `number`: of the signal that arrives instead."""

    kind: str
    forever: bool
    error: int
    number: int = 0

    @property
    def name(self) -> str:
        what = "SIGINT" if self.number else errno.errorcode[self.error]
        return f"{self.kind} {what} {'from there on' if self.forever else 'once'}"

    @property
    def raised(self) -> tuple[type[BaseException], ...]:
        if self.number:
            return (KeyboardInterrupt,)
        return (MemoryError,) if self.kind == "memory" else (OSError,)


FAULTS = {
    "memory": [Fault("memory", False, errno.ENOMEM), Fault("memory", True, errno.ENOMEM)],
    "threads": [Fault("threads", False, errno.EAGAIN), Fault("threads", True, errno.EAGAIN)],
    "files": [
        *(Fault("files", forever, error) for error in (errno.ENOSPC, errno.EIO) for forever in (False, True)),
        Fault("files", True, errno.EROFS),
    ],
    "signals": [Fault("files", False, 0, signal.SIGINT), Fault("memory", False, 0, signal.SIGINT)],
}
OLD = b"an older file"


class Trial:
    """An operation under faults."""

    def __init__(self, shim: Shim, operation: Operation, folder: Path) -> None:
        self.shim, self.operation, self.folder = shim, operation, folder
        shim.watch(folder)
        for _ in range(2):  # the first time, Python imports and caches
            thing = self.begin()
            self.hashes = [self.state(thing)]
            if operation.steps:
                while thing.steps < STEPS:
                    thing.step()
                    self.hashes.append(self.state(thing))
            thing = self.begin()
            self.result = value_of(operation.call(thing, folder))
            self.end = self.state(thing)
            self.new = operation.read and operation.read(folder / operation.file)
            self.fresh = self.bytes()
            self.clear()
            del thing
        gc.collect()
        self.live, self.open = shim.live, shim.open

    def begin(self) -> Any:
        return self.operation.begin()

    def state(self, thing: Any) -> str:
        return thing.state_hash() if thing is not None else ""

    def bytes(self) -> bytes | None:
        path = self.folder / self.operation.file
        return path.read_bytes() if self.operation.file and path.exists() else None

    def clear(self) -> None:
        for path in self.folder.iterdir():
            path.unlink()

    def points(self, kind: str) -> int:
        """How many calls of the kind the operation makes."""
        thing = self.begin()
        with self.shim.armed(kind, 0, 0, errno.ENOMEM):
            self.operation.call(thing, self.folder)
        self.clear()
        return self.shim.count(kind)

    def attempt(self, fault: Fault, point: int) -> str:
        """Make call number `point` fail. Returns what came of it."""
        operation, shim = self.operation, self.shim
        if operation.files and operation.file:
            (self.folder / operation.file).write_bytes(OLD)
        thing, outcome = self.begin(), "borne"
        last = FOREVER if fault.forever else point
        try:
            with shim.armed(fault.kind, point, last, fault.error, fault.number):
                result = operation.call(thing, self.folder)
        except fault.raised as error:
            outcome = "raised"
            error.__traceback__ = None
            del error
        failed, at = shim.failed, shim.last_call
        if not failed:
            raise Defect("the point was not reached")
        state = self.state(thing)
        if outcome == "borne":
            if value_of(result) != self.result or state != self.end:
                raise Defect(f"{at} failed without an error, and the result is another one")
            if fault.number:
                raise Defect("the signal is lost")
            del result
            self.check_file(fault, done=True)
        else:
            done = bool(fault.number) and state == self.end  # the signal is told after the call
            if operation.rebins and fault.number and state not in (*self.hashes, self.end):
                if ids_of(thing) != ids_of(self.begin()):
                    raise Defect(f"{at} failed: other particles are left")
                state = self.hashes[0]
                thing = self.begin()
            if state not in self.hashes and not done:
                raise Defect(f"{at} failed: the state is none of a whole step")
            if not operation.steps and state != self.hashes[0] and not done:
                raise Defect(f"{at} failed: the state has changed")
            self.check_file(fault, done=False)
            if state == self.hashes[0] or operation.steps:
                self.again(thing, at)
        del thing
        if shim.live != self.live or shim.open != self.open:
            gc.collect()
        if shim.live != self.live:
            raise Defect(f"{at} failed: {shim.live - self.live} pieces of memory are left")
        if shim.open != self.open:
            raise Defect(f"{at} failed: {shim.open - self.open} files are left open")
        self.clear()
        return outcome

    def again(self, thing: Any, at: str) -> None:
        """What was refused is done."""
        if self.operation.partial:
            steps_to(thing, self.folder)
        elif value_of(self.operation.call(thing, self.folder)) != self.result:
            raise Defect(f"{at} failed: the next call has another result")
        if self.state(thing) != self.end:
            raise Defect(f"{at} failed: the simulation goes on with other bits")

    def check_file(self, fault: Fault, *, done: bool) -> None:
        """The file is the old or the new one, and nothing is beside it."""
        operation = self.operation
        if not operation.file:
            return
        there = [path.name for path in self.folder.iterdir()]
        if any(name.endswith(".tmp") for name in there) and not fault.forever:
            raise Defect(f"{self.shim.last_call} failed: {there} are left")
        data = self.bytes()
        if data == OLD and not done:
            return
        if operation.read is None:
            whole = data == self.fresh
        else:
            found = operation.read(self.folder / operation.file)
            whole = found == self.new or (operation.partial and not done and found == self.new[: len(found)])
        if not whole:
            raise Defect(f"{self.shim.last_call} failed: the file is neither the old nor the new one")


def spread(points: int, most: int) -> list[int]:
    """Of the numbers 1 to `points` at most so many, the first and the last among them."""
    if points <= most:
        return [*range(1, points + 1)]
    return sorted({1 + k * (points - 1) // max(1, most - 1) for k in range(most)})


# --- defects that are to be found -------------------------------------------------------------------------------------


@contextlib.contextmanager
def naive_renamed(path: Any) -> Iterator[Path]:
    yield Path(os.fsdecode(path))


def plant(what: str) -> None:
    """Break a promise."""
    kept, step = [], mpm.Simulation.step

    def wrong_step(sim: Any, n: int = 1) -> None:
        try:
            step(sim, n)
        except MemoryError:
            if what == "leak":
                kept.append(copy.copy(sim))
            if what == "write":
                sim.particles.v[0] = 0
            if what != "silence":
                raise

    if what == "overwrite":
        files.renamed = naive_renamed
    else:
        mpm.Simulation.step = wrong_step


PLANTS = {
    "overwrite": "is truncated",
    "leak": "pieces of memory are left",
    "write": "the state is none of a whole step",
    "silence": "failed without an error",
}


def try_all(
    shim: Shim, kinds: list[str], only: str, most: int, seen: Counter[str], defects: Counter[str]
) -> int:
    """Every point of every operation; returns how many there were."""
    total = 0
    for operation in operations():
        if only not in operation.name:
            continue
        with tempfile.TemporaryDirectory() as name:
            trial = Trial(shim, operation, Path(name))
            for fault in (fault for kind in kinds for fault in FAULTS[kind]):
                points = trial.points(fault.kind)
                for point in spread(points, most):
                    total += 1
                    what = ""
                    try:
                        seen[f"{fault.name}: {trial.attempt(fault, point)}"] += 1
                    except BaseException as error:
                        if isinstance(error, KeyboardInterrupt) and not fault.number:
                            raise
                        what = f"{operation.name}, {fault.name}: {type(error).__name__}: {str(error)[:150]}"
                        if not defects[what]:
                            print(
                                f"--- point {point} of {points}, {what}\n{traceback.format_exc()}", flush=True
                            )
                        defects[what] += 1
                    if what:  # the traceback holds what was used
                        trial.clear()
                        gc.collect()
                        trial.live, trial.open = shim.live, shim.open
    return total


def main(arguments: list[str] | None = None) -> int:
    """Try the kinds of faults; 1 if there are defects."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", default=[*FAULTS], help=f"of {', '.join(FAULTS)}")
    parser.add_argument("--only", default="", help="operations whose name contains this")
    parser.add_argument("--most", type=int, default=10**9, help="points of an operation and fault")
    parser.add_argument("--plant", choices=PLANTS, help="a defect, to see that it is found")
    chosen = parser.parse_args(arguments)
    if SHIM not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            library = str(compiled(Path(folder)))
            environment = os.environ | {"LD_PRELOAD": library, SHIM: library}
            return subprocess.run([sys.executable, *sys.argv], env=environment, check=False).returncode
    faulthandler.enable()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if chosen.plant:
        plant(chosen.plant)
    began = time.monotonic()
    seen: Counter[str] = Counter()
    defects: Counter[str] = Counter()
    total = try_all(Shim(os.environ[SHIM]), chosen.kinds, chosen.only, chosen.most, seen, defects)
    for what, count in sorted(seen.items()):
        print(f"{count:8}  {what}")
    for what, count in defects.most_common():
        print(f"{count:8}  DEFECT {what}")
    print(f"{total} points, {sum(defects.values())} defects, {time.monotonic() - began:.0f} s")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
