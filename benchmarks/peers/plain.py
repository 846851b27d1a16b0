"""Compiles and runs plain.c."""

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("plain.c")
LAWS = {
    "fluid": "FLUID",
    "neo-Hookean": "NEO_HOOKEAN",
    "fixed corotated": "FIXED_COROTATED",
    "fcr": "FIXED_COROTATED",
}
CLANGS = ("clang", *(f"clang-{version}" for version in range(25, 11, -1)))


def clang() -> str | None:
    """The newest clang on the PATH, if there is any."""
    return next((name for name in CLANGS if shutil.which(name)), None)


def compile(
    program: Path,
    flags: list[str],
    *,
    law: str,
    dimension: int,
    real: str = "float",
    gamma: int = 1,
    compiler: str = "cc",
) -> Path:
    """The program for a law of `LAWS`, a dimension and a precision.

    It is gnu11, gcc's default: with c11, gcc does not fuse a b + c, which costs up to 40 % of the speed.
    """
    defines = [f"-DDIM={dimension}", f"-DREAL={real}", f"-DLAW={LAWS[law]}", f"-DGAMMA={gamma}"]
    subprocess.run(
        [compiler, "-std=gnu11", *flags, *defines, SOURCE, "-o", program, "-lm"], check=True, timeout=120
    )
    return program


def run(
    program: Path,
    particles: Path,
    *,
    steps: int,
    rounds: int = 1,
    nodes: int,
    h: float,
    dt: float,
    gravity: float,
    low: int,
    high: int,
    mass: float,
    volume: float,
    first: float,
    second: float,
) -> tuple[list[tuple[float, float]], list[float]]:
    """Seconds of each round, by the clock and of processor time; and the outcome (`equal_work.outcome`)."""
    numbers = (steps, rounds, nodes, h, dt, gravity, low, high, mass, volume, first, second)
    done = subprocess.run(
        [program, particles, *map(repr, numbers)], check=True, capture_output=True, text=True
    )
    *times, outcome = ([float(word) for word in line.split()] for line in done.stdout.splitlines())
    return [(clock, processor) for clock, processor in times], outcome
