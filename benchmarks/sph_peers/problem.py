"""The block of fluid that all programs step, and what a peer does with its command line.

    python -m benchmarks.sph_peers.PEER --rounds K --along N

A block of N × N/2 × N particles, compressed by 2 %, expands in free space: WCSPH by Algorithm 1 of Becker and Teschner
(2007) with the cubic spline, h of one spacing, p = k((ρ/ρ₀)⁷ − 1) where ρ > ρ₀, a fixed step, single precision. There
are no walls and no gravity, because every program treats them in its own way. A peer compiles on a first step, begins
anew, and prints one line of JSON: seconds of processor time of each round, and the outcome: the centre of mass, the
kinetic energy, and the width of the block.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from importlib import metadata
from typing import Protocol

import numpy as np

REST, SOUND, GAMMA, SQUEEZED = 1000.0, 44.0, 7, 0.98
STEPS = 40
LIMIT = 1e-4  # of kinetic energy and width, relative; of the centre over the width. Measured: 2e-6 in single precision


class Problem:
    """The block with `along` particles to a metre."""

    def __init__(self, along: int) -> None:
        self.h = 1 / along
        self.dt = 0.25 * self.h / SOUND
        self.stiffness = REST * SOUND**2 / GAMMA
        # W in 3-D: α {⅔ − q² + q³/2, (2 − q)³/6}, α = 3/(2π h³); a full lattice at rest has the density ρ₀.
        self.alpha = 3 / (2 * np.pi * self.h**3)
        q = np.sqrt(np.array([0.0, 1, 2, 3]))
        near = np.where(q < 1, 2 / 3 - q**2 + q**3 / 2, np.maximum(2 - q, 0) ** 3 / 6)
        self.mass = REST / self.alpha / float(near @ np.array([1, 6, 12, 8]))

    def particles(self) -> tuple[np.ndarray, np.ndarray]:
        """x and v, float32 (n, 3), line by line."""
        n = round(1 / self.h)
        axes = [(np.arange(k) + 0.5) / n * SQUEEZED for k in (n, n // 2, n)]
        x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        v = np.stack([np.sin(5 * x[:, 1]), np.sin(4 * x[:, 2]), np.sin(3 * x[:, 0])], axis=1)
        return x.astype(np.float32), v.astype(np.float32)

    def outcome(self, x: np.ndarray, v: np.ndarray) -> list[float]:
        """Centre of mass, kinetic energy, width: what programs are compared by."""
        x, v = np.asarray(x, dtype=np.float64), np.asarray(v, dtype=np.float64)
        return [*x.mean(axis=0).tolist(), float(0.5 * self.mass * (v**2).sum()), float(x.std())]


def apart(outcome: list[float], reference: list[float]) -> float:
    """How far an outcome is from that of the reference."""
    a, b = np.array(outcome), np.array(reference)
    return float(np.abs((a - b) / np.array([b[4]] * 3 + [b[3], b[4]])).max())


class Peer(Protocol):
    """A program that steps the problem."""

    def begin(self, x: np.ndarray, v: np.ndarray) -> None:
        """Take these particles."""

    def step(self, n: int) -> None:
        """Take n steps, and wait until they are done."""

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """x and v, (n, 3) each, in any order."""


def run(make: Callable[[Problem, int], Peer], package: str) -> None:
    """Measure a peer that `make` makes of a problem and a number of particles; print its line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--along", type=int, default=50)
    chosen = parser.parse_args()
    problem = Problem(chosen.along)
    x, v = problem.particles()
    peer = make(problem, len(x))
    peer.begin(x, v)
    peer.step(1)
    seconds = []
    for _ in range(chosen.rounds):
        peer.begin(x, v)
        start = time.process_time()
        peer.step(STEPS)
        seconds.append(time.process_time() - start)
    outcome = problem.outcome(*peer.state())
    line = {
        "seconds": seconds,
        "outcome": outcome,
        "particles": len(x),
        "version": metadata.version(package),
    }
    print(json.dumps(line))
