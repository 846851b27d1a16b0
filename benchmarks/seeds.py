"""The loop over random scenes of `rigid_random.py` and `contact_random.py`.

Prints a row for each scene that breaks a bound, and the worst of all. Every tenth scene is run once more with two
threads, in two parts, and from a file saved in the middle, to the same bits.
"""

import argparse
import pathlib
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import mpm


@dataclass(frozen=True)
class Trial:
    """A random scene."""

    made: Callable[..., mpm.Simulation]  # anew, on `threads`
    words: str  # what it is
    measured: Callable[[mpm.Simulation], dict[str, float]]  # takes the steps
    breaks: Callable[[dict[str, float]], bool]  # a bound


def same_bits(made: Callable[..., mpm.Simulation], steps: int) -> bool:
    """Two threads, in two parts, and from a file saved in the middle."""
    first, sim = made(threads=1), made(threads=2)
    first.step(steps)
    sim.step(steps // 2)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "middle.mpm"
        sim.save(path)
        other = mpm.load(path)
    for one in (sim, other):
        one.step(steps - one.steps)
    return {sim.state_hash(), other.state_hash()} == {first.state_hash()}


def run(
    doc: str | None, names: tuple[str, ...], trial_of: Callable[[int], Trial | None], seconds: float
) -> None:
    """Try seeds as the command line says.

    Parameters
    ----------
    doc
        Of the script.
    names
        Of what is measured.
    trial_of
        The scene of a seed; None: it is none of these.
    seconds
        At most so many, unless the command line gives them.
    """
    parser = argparse.ArgumentParser(description=(doc or "").split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--scenes", type=int, default=1000, help="at most so many seeds")
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("--verbose", action="store_true", help="a row for every scene")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    began, broken, tried = time.perf_counter(), 0, 0
    worst = dict.fromkeys(names, -np.inf)
    for seed in range(given.seed, given.seed + given.scenes):
        if time.perf_counter() - began > given.seconds:
            break
        trial = trial_of(seed)
        if trial is None:
            continue
        tried += 1
        sim = trial.made(threads=1)
        try:
            found = trial.measured(sim)
            bad = trial.breaks(found) or (seed % 10 == 0 and not same_bits(trial.made, sim.steps))
        except mpm.SimulationError as error:
            found, bad = dict.fromkeys(names, np.inf), True
            print(f"{seed}: {error}")
        worst = {name: max(value, found.get(name, 0.0)) for name, value in worst.items()}
        broken += bad
        if bad or given.verbose:
            print(f"seed {seed}: {trial.words}, {sim.steps} steps: {row(found)}", flush=True)
    spent = time.perf_counter() - began
    print(f"{tried} scenes, {broken} break a bound; worst: {row(worst)}; {spent:.0f} s")


def row(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.1e}" for name, value in found.items())
