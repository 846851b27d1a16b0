"""What every peer that is a Python program does with its command line.

    python -m benchmarks.peers.PEER --particles FILE --problem JSON --threads T --rounds K

It compiles on a first step, which is start-up and timed apart; then takes the problem's steps K times from the state of
the file, and prints one line of JSON: seconds of each round, by the clock and of the process's time; seconds of the
first step; the versions that matter; centre of mass, momentum and kinetic energy at the end.
"""

import argparse
import json
import time
from collections.abc import Callable
from importlib import metadata
from typing import Protocol

import numpy as np

from .equal_work import outcome
from .problems import Problem


class Peer(Protocol):
    """A program that steps a problem."""

    def begin(self) -> None:
        """Take the state of the file: the particles' x and v; C = 0, F = 1."""

    def step(self, n: int) -> None:
        """Take n steps, and wait until they are done."""

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """x and v, (n, d) each, in any order."""


def arguments() -> argparse.Namespace:
    """The command line; `problem` is a `Problem`, `x` and `v` are arrays (n, d) float32."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--particles", required=True)
    parser.add_argument("--problem", required=True, type=Problem.read)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    chosen = parser.parse_args()
    rows = np.load(chosen.particles)
    d = chosen.problem.dimension
    chosen.x, chosen.v = (np.ascontiguousarray(half) for half in (rows[:, :d], rows[:, d:]))
    return chosen


def run(
    make: Callable[[Problem, np.ndarray, np.ndarray, int], Peer],
    chosen: argparse.Namespace,
    packages: tuple[str, ...],
) -> None:
    """Measure a peer that `make` makes of problem, x, v and threads; print its line."""
    start = time.perf_counter()
    peer = make(chosen.problem, chosen.x, chosen.v, chosen.threads)
    peer.begin()
    peer.step(1)
    first = time.perf_counter() - start
    seconds = []
    for _ in range(chosen.rounds):
        peer.begin()
        clock, processor = time.perf_counter(), time.process_time()
        peer.step(chosen.problem.steps)
        seconds.append((time.perf_counter() - clock, time.process_time() - processor))
    line = {
        "seconds": seconds,
        "first": first,
        "versions": {name: metadata.version(name) for name in packages},
        "outcome": outcome(*peer.state(), chosen.problem.mass),
    }
    print(json.dumps(line))
