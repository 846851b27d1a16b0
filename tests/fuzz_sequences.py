"""What `fuzz_calls` and `fuzz_core` have in common: numbered sequences of calls, and the tally of what came of them."""

from __future__ import annotations

import argparse
import random
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path


def memory(what: str) -> int:
    """Bytes of this process: "VmRSS" are those of now, "VmHWM" the most; 0 where the system does not say it.

    The most that `resource.getrusage` tells is at first that of the process that started this one.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    text = status.read_text(encoding="ascii")
    return int(text[text.index(what) :].split(None, 2)[1]) << 10


class Defect(Exception):
    """A promise was broken."""


class Sequence:
    """Something made at random, and calls of it."""

    most: int
    """Calls of a sequence at most."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.log: list[str] = []

    def call(self) -> str:
        """One call. Returns what it was and how it ended."""
        raise NotImplementedError

    def end(self) -> None:
        """What has to hold after the last call."""


def attempt(
    make: Callable[[], Sequence], promised: tuple[type[Exception], ...], unmade: str, seen: Counter[str]
) -> str:
    """The report of a defect, its error first; "" if there is none. A `promised` error makes no sequence: `unmade`."""
    sequence: Sequence | None = None
    try:
        sequence = make()
        for _ in range(sequence.random.randint(1, sequence.most)):
            seen[sequence.call()] += 1
        sequence.end()
    except Exception as error:
        if sequence is None and isinstance(error, promised):
            seen[unmade] += 1
            return ""
        calls = sequence.log if sequence else []
        return "\n".join([f"{type(error).__name__}: {str(error)[:80]}", traceback.format_exc(), *calls])
    return ""


class Tally:
    """What came of sequences: `seen` counts the ends of calls, `defects` the kinds of defects."""

    def __init__(self) -> None:
        self.tried = 0
        self.seen: Counter[str] = Counter()
        self.defects: Counter[str] = Counter()

    def add(self, number: int, report: str) -> None:
        """Count a sequence; print the first defect of a kind."""
        self.tried += 1
        if report:
            kind, _, story = report.partition("\n")
            if not self.defects[kind]:
                print(f"--- sequence {number}\n{kind}\n{story}", flush=True)
            self.defects[kind] += 1

    def end(self) -> int:
        """Print all counts; 1 if there were defects."""
        print(f"{self.tried} sequences, {self.seen.total()} calls, {self.defects.total()} defects")
        for kind, count in [*self.defects.most_common(), *sorted(self.seen.items())]:
            print(f"{count:9}  {kind}")
        return 1 if self.defects else 0


def options(doc: str | None, arguments: list[str] | None) -> argparse.Namespace:
    """Those of the command line; the folder `out` is made."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sequence", type=int, help="this one alone")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    return chosen
