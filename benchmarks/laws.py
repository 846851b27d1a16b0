"""The speed of every law of the package, and of laws of users, beside neo-Hookean.

    python benchmarks/laws.py [--dtype float64] [--dimension 3] [--rounds 5] [--steps 40] [--varying] [--dissipation]
    python benchmarks/laws.py --taylor 4 8 12

The block of `mpm.blocks`, one thread, a fixed time step, processor time, interleaved rounds: medians of the ratios. The
neo-Hookean law of a user comes from C (cc -O3 -march=native -ffast-math) and, where Numba is installed, from
``numba.cfunc``; each must have `LEAST` of the speed in double precision, or the exit status is 1. ``--varying`` adds,
for every law, the speed with a first parameter that varies over the particles over that with one value;
``--dissipation`` likewise with the books of dissipation.

``--taylor`` runs Taylor's bar of copper of the gallery in single precision instead, with so many cells per radius, and
prints its length and radius beside those of converged finite elements. 4, 8, 12 cells: 0.5, 7, 30 s of one core.
"""

import argparse
import ctypes
import math
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import mpm
from mpm import bench, blocks, laws

LEAST = 0.5
SOURCE = Path(__file__).parents[1] / "tests" / "data" / "user_laws.c"
CELLS = {2: 64, 3: 14}
REFERENCE = "neo-Hookean"
VARYING, BOOKS = ", varying", ", books"
UserLaw = mpm.materials.UserLaw


def constants() -> dict[str, float]:
    """Of the block's neo-Hookean material."""
    material = blocks.MATERIALS[REFERENCE]
    return {"mu": material.mu, "lam": material.lam}


def from_c(folder: Path) -> mpm.materials.Material:
    made = folder / "laws.so"
    compiler = shlex.split(os.environ.get("CC", "cc"))
    options = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", f"-I{mpm.get_include()}"]
    subprocess.run([*compiler, *options, SOURCE, "-o", made, "-lm"], check=True)
    function = UserLaw.EVALUATE(("neo_hookean", ctypes.CDLL(str(made))))
    return UserLaw(name="c", evaluate=function, constants=constants(), density=1000)


def from_numba() -> mpm.materials.Material:
    import numba

    @numba.cfunc(UserLaw.NUMBA_EVALUATE, fastmath={"contract", "nsz"})
    def neo_hookean(count, dim, parameters, F, history, tau, energy, moduli, context):
        mu, lam = parameters[0], parameters[1]
        for p in range(count):
            if dim == 2:
                J = F[p] * F[3 * count + p] - F[count + p] * F[2 * count + p]
            else:
                J = (
                    F[p] * (F[4 * count + p] * F[8 * count + p] - F[5 * count + p] * F[7 * count + p])
                    - F[count + p]
                    * (F[3 * count + p] * F[8 * count + p] - F[5 * count + p] * F[6 * count + p])
                    + F[2 * count + p]
                    * (F[3 * count + p] * F[7 * count + p] - F[4 * count + p] * F[6 * count + p])
                )
            log_J = math.log(J)
            trace, square, c = 0.0, 0.0, 0
            for i in range(dim):
                for j in range(i, dim):
                    b = 0.0
                    for k in range(dim):
                        b += F[(i * dim + k) * count + p] * F[(j * dim + k) * count + p]
                    tau[c * count + p] = mu * b
                    c += 1
                    if i == j:
                        trace += b
                        square += b * b
                        tau[(c - 1) * count + p] += lam * log_J - mu
                    else:
                        square += 2 * b * b
            if dim == 2:
                tau[3 * count + p] = lam * log_J
            energy[p] = mu * ((trace - dim) / 2 - log_J) + lam / 2 * log_J * log_J
            mean = trace / dim
            most = mean + math.sqrt(max(square - dim * mean * mean, 0.0) * (dim - 1) / dim)
            wave = max(mu * (most + 1) + lam * (1 - log_J), 0.0)
            moduli[p] = wave
            moduli[count + p] = max(wave + (dim - 1) * lam, wave - lam)

    return UserLaw(name="numba", evaluate=neo_hookean, constants=constants(), density=1000)


def users(folder: Path) -> Iterator[tuple[str, mpm.materials.Material]]:
    for name, make in (("a user's, C", lambda: from_c(folder)), ("a user's, Numba", from_numba)):
        try:
            yield name, make()
        except (ImportError, OSError, subprocess.CalledProcessError) as error:
            print(f"{name}: left out: {error}")


def varying(name: str) -> str:
    return name + VARYING


def vary(material: mpm.materials.Material) -> mpm.materials.Material:
    """The material with a first parameter that grows by a tenth along x."""
    name = material._given_parameters()[0]["name"]
    value = getattr(material, name)
    return replace(cast(Any, material), **{name: lambda x: value * (0.9 + 0.1 * x[:, 0] / x[:, 0].max())})


def seconds(simulation: mpm.Simulation, steps: int) -> float:
    began = time.process_time()
    simulation.step(steps)
    return time.process_time() - began


def ratios(make: dict[str, Callable[[], Any]], rounds: int, steps: int) -> dict[str, float]:
    """Speeds over that of the reference."""
    simulations = {name: made() for name, made in make.items()}
    found: dict[str, list[float]] = {name: [] for name in make}
    for simulation in simulations.values():
        simulation.step(4)
    for _ in range(rounds):
        for name, simulation in simulations.items():  # beside each other in time
            base = seconds(simulations[REFERENCE], steps)
            found[name].append(base / seconds(simulation, steps))
    return {name: statistics.median(values) for name, values in found.items()}


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
    parser.add_argument("--dtype", default="float64", choices=("float32", "float64"))
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
    with tempfile.TemporaryDirectory() as folder:
        own = dict(users(Path(folder)))
        varied = {varying(name): vary(one) for name, one in blocks.MATERIALS.items()} if given.varying else {}
        blocks.MATERIALS.update({**own, **varied})
        d, isa = given.dimension, mpm.config.isa()

        def block(name: str) -> Callable[[], mpm.Simulation]:
            case = bench.Case(name.removesuffix(BOOKS), d, given.dtype, CELLS[d])
            return lambda: case.simulation(isa=isa, dt=1e-4 * 25 / CELLS[d], dissipation=name.endswith(BOOKS))

        chosen = [name for name in blocks.MATERIALS if given.only in name or name == REFERENCE]
        booked = [name + BOOKS for name in chosen if given.dissipation and name not in varied]
        found = ratios({name: block(name) for name in (*chosen, *booked)}, given.rounds, given.steps)
    print(f"{d}-D, {given.dtype}, {isa}, one thread: speed over that of {REFERENCE}\n")
    print("| law | speed |\n|---|---|")
    for name, value in sorted(found.items(), key=lambda item: -item[1]):
        beside = (
            f" {value / found[name.removesuffix(VARYING)]:.2f} of that with one value |"
            if name in varied
            else f" {value / found[name.removesuffix(BOOKS)]:.2f} of that without books |"
            if name in booked
            else ""
        )
        print(f"| {name} | {value:.2f} |{beside}")
    slow = [name for name in own if name in found and given.dtype == "float64" and found[name] < LEAST]
    for name in slow:
        print(f"{name}: {found[name]:.2f} of the speed, must be >= {LEAST}")
    assert len(blocks.MATERIALS) == len(laws.registry()) + len(own) + len(varied)
    return bool(slow)


if __name__ == "__main__":
    sys.exit(main())
