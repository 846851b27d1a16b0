"""The speed of every law of the package, and of laws of users, beside neo-Hookean and beside the scalar oracle.

    python benchmarks/laws.py [--dtype float32 float64] [--dimension 3] [--only sand] [--varying] [--dissipation]
    python benchmarks/laws.py --taylor 4 8 12

The block of `mpm.bench.blocks`, one thread, a fixed time step, processor time, interleaved rounds: medians of the
ratios. A
minute; the exit status is 1 if a law is slower in 3-D than `least` allows. That holds for the default rounds and steps:
laws that yield are slower at the beginning. The neo-Hookean law of a user comes from C (cc -O3 -march=native
-ffast-math) and, where Numba is installed, from ``numba.cfunc``. ``--varying`` adds, for every law of the package, the
speed with a first parameter that varies over the particles over that with one value; ``--dissipation`` adds the speed
with the books of dissipation over that without.

``--taylor`` runs Taylor's bar of copper of the gallery in single precision instead, with so many cells per radius, and
prints its length and radius beside those of converged finite elements. 4, 8, 12 cells: 0.5, 7, 30 s of one core.
"""

import argparse
import ctypes
import math
import os
import runpy
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import mpm
from mpm.bench import blocks
from mpm.bench import measure as bench

LEAST = 0.3  # of the speed of neo-Hookean, in 3-D
# Higher limits.
OWN_LEAST = {
    ("von mises", "float32"): 0.5,
    ("drucker prager", "float32"): 0.5,
    ("a user's, C", "float64"): 0.5,
    ("a user's, Numba", "float64"): 0.5,
}
DATA = Path(__file__).parents[1] / "tests" / "data"
CELLS = {2: 64, 3: 14}
REFERENCE, VARYING = "neo-Hookean", ", varying"
DTYPES = ("float32", "float64")
UserLaw = mpm.materials.UserLaw


def constants() -> dict[str, float]:
    """Of the block's neo-Hookean material."""
    material = blocks.MATERIALS[REFERENCE]
    return {"mu": material.mu, "lam": material.lam}


def from_c(folder: Path) -> mpm.materials.Material:
    made = folder / "laws.so"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    options = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", f"-I{mpm.get_include()}"]
    subprocess.run([*compiler, *options, DATA / "user_laws.c", "-o", made, "-lm"], check=True)
    function = UserLaw.EVALUATE(("neo_hookean", ctypes.CDLL(str(made))))
    return UserLaw(name="c", evaluate=function, constants=constants(), density=1000)


def from_numba() -> mpm.materials.Material:
    function = runpy.run_path(str(DATA / "numba_laws.py"))["neo_hookean"]
    return UserLaw(name="numba", evaluate=function, constants=constants(), density=1000)


def users(folder: Path) -> Iterator[tuple[str, mpm.materials.Material]]:
    for name, make in (("a user's, C", lambda: from_c(folder)), ("a user's, Numba", from_numba)):
        try:
            yield name, make()
        except (ImportError, OSError, subprocess.CalledProcessError) as error:
            print(f"{name}: left out: {error}")


def least(name: str, dtype: str) -> float:
    """The least speed of a law, of that of neo-Hookean in 3-D."""
    return OWN_LEAST.get((name, dtype), LEAST)


def vary(material: mpm.materials.Material) -> mpm.materials.Material:
    """The material with a first parameter that grows by a tenth along x."""
    name = material._given_parameters()[0]["name"]
    value = getattr(material, name)
    return replace(cast(Any, material), **{name: lambda x: value * (0.9 + 0.1 * x[:, 0] / x[:, 0].max())})


def seconds(simulation: mpm.Simulation, steps: int) -> float:
    began = time.process_time()
    simulation.step(steps)
    return time.process_time() - began


def ratio(one: Any, other: Any, rounds: int, steps: int) -> float:
    """The speed of `one` over that of `other`."""
    return statistics.median(seconds(other, steps) / seconds(one, steps) for _ in range(rounds))


def taylor(cells: int) -> str:
    """A row of the table of Taylor's bar."""
    entry = mpm.gallery.get("taylor-bar")
    simulation = mpm.Simulation(entry.scene(), **{**entry.numerics, "dx": 3.2e-3 / cells, "dtype": "float32"})
    began = time.process_time()
    simulation.run(entry.duration)
    spent, x, half = time.process_time() - began, simulation.particles.x, simulation.dx / 4
    length, radius = x[:, 2].max() + half, math.hypot(*x[(x[:, :2] ** 2).sum(axis=1).argmax(), :2]) + half
    errors = [100 * (value / exact - 1) for value, exact in ((length, 21.42e-3), (radius, 7.226e-3))]
    return (
        f"| {cells} | {len(x)} | {1e3 * length:.3f} | {errors[0]:+.2f} % "
        f"| {1e3 * radius:.3f} | {errors[1]:+.2f} % | {spent:.1f} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dtype", nargs="+", default=DTYPES, choices=DTYPES)
    parser.add_argument("--dimension", type=int, default=3, choices=(2, 3))
    parser.add_argument("--only", default="", help='laws whose names contain this, such as "user"')
    parser.add_argument("--varying", action="store_true", help="also with a parameter that varies")
    parser.add_argument("--dissipation", action="store_true", help="also with the books of dissipation")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument(
        "--taylor", type=int, nargs="+", metavar="CELLS", help="Taylor's bar: cells per radius"
    )
    given = parser.parse_args()
    if given.taylor:
        print("| cells | particles | length [mm] | error | radius [mm] | error | seconds |\n|" + "---|" * 7)
        for cells in given.taylor:
            print(taylor(cells), flush=True)
        return 0
    d, isa = given.dimension, mpm.config.isa()

    def block(name: str, dtype: str, isa: str = isa, **options: Any) -> mpm.Simulation:
        simulation = bench.Case(name, d, dtype, CELLS[d]).simulation(
            isa=isa, dt=1e-4 * 25 / CELLS[d], **options
        )
        simulation.step(4)
        return simulation

    def ratios(name: str, dtype: str) -> Iterator[float]:
        """A law's cells of the table for one precision; each pair begins anew, so that both have the same state."""

        def over(one: mpm.Simulation, other: mpm.Simulation, steps: int = given.steps) -> float:
            return ratio(one, other, given.rounds, steps)

        yield over(block(name, dtype), block(REFERENCE, dtype))
        yield over(
            block(name, dtype), block(name, dtype, "scalar"), -(-given.steps // 4)
        )  # the scalar one takes long
        if given.varying:
            varies = name + VARYING in blocks.MATERIALS
            yield over(block(name + VARYING, dtype), block(name, dtype)) if varies else math.nan
        if given.dissipation:
            yield over(block(name, dtype, dissipation=True), block(name, dtype))

    kinds = [f"over {REFERENCE}", "over scalar", *["varying"] * given.varying, *["books"] * given.dissipation]
    with tempfile.TemporaryDirectory() as folder:
        varied = {name + VARYING: vary(one) for name, one in blocks.MATERIALS.items()}
        names = [*blocks.MATERIALS, *(own := dict(users(Path(folder))))]
        blocks.MATERIALS.update(varied | own)
        found = {
            name: [list(ratios(name, dtype)) for dtype in given.dtype] for name in names if given.only in name
        }
    print(f"{d}-D, {isa}, one thread: ratios of speeds\n")
    print("| law | " + " | ".join(f"{dtype}, {kind}" for dtype in given.dtype for kind in kinds) + " |")
    print("|---" * (1 + len(given.dtype) * len(kinds)) + "|")
    for name, cells in sorted(found.items(), key=lambda item: -item[1][0][0]):
        print(
            f"| {name} | "
            + " | ".join(f"{value:.2f}".replace("nan", "–") for part in cells for value in part)
            + " |"
        )
    slow = [
        f"{name}, {dtype}: {speed:.2f} of the speed of {REFERENCE}, must be >= {least(name, dtype)}"
        for name, cells in found.items()
        for dtype, (speed, *_) in zip(given.dtype, cells, strict=True)
        if d == 3 and speed < least(name, dtype)
    ]
    print(*slow, sep="\n", end="\n" if slow else "")
    return bool(slow)


if __name__ == "__main__":
    sys.exit(main())
