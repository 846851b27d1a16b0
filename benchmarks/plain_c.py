"""The package beside plain C on the same particles, in the same run.

    python benchmarks/plain_c.py [rounds]

`peers/plain.c` is compiled with cc -O3, and again for this very processor, for every law, dimension and precision,
and takes the same steps from the same state. Its centre of mass, momentum and kinetic energy must agree with those of
every kernel set before a time counts. Rounds are interleaved; processor time of one thread, medians; the ratios are to
plain C with -O3.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from peers import equal_work, plain

from mpm import _core
from mpm.bench import measure as bench
from mpm.mpm.simulation import Simulation

STEPS = 40
DT = 5e-5
AGREEMENT = {"float64": 1e-9, "float32": 1e-4}  # measured up to 2e-13 and 4e-5
LAWS = ("fluid", "neo-Hookean", "fixed corotated")  # that plain.c knows
PLAIN = {"plain C": ["-O3"], "native": ["-O3", "-march=native"]}


def compile_plain(case: bench.Case, flags: list[str], program: Path) -> None:
    """The plain program for a case."""
    gamma = getattr(bench.MATERIALS[case.material], "gamma", 1)
    real = "float" if case.dtype == "float32" else "double"
    plain.compile(program, flags, law=case.material, dimension=case.dimension, real=real, gamma=int(gamma))


def write_state(case: bench.Case, sim: Simulation, path: Path) -> dict[str, float]:
    """Write the particles of a fresh simulation as the plain program reads them; its numbers, but for the steps.

    The domain of the case begins at 0 and is three blocks wide; the block does not reach its walls.
    """
    p = sim.particles
    with path.open("wb") as file:
        np.save(file, np.column_stack([p.x, p.v]).astype(case.dtype))
    material = bench.MATERIALS[case.material]
    if case.material == "fluid":
        first, second = material.bulk_modulus, 0.0
    else:
        E, nu = material.E, material.nu
        first, second = E / (2 * (1 + nu)), E * nu / ((1 + nu) * (1 - 2 * nu))
    nodes = 3 * case.cells + 1
    grid = {"nodes": nodes, "h": sim.dx, "low": 0, "high": nodes - 1}
    body = {"mass": float(p.mass[0]), "volume": float(p.volume[0]), "first": first, "second": second}
    return {**grid, **body, "dt": DT, "gravity": -9.8}


def compare(case: bench.Case, rounds: int, folder: Path) -> dict[str, float]:
    """Median nanoseconds per particle and step, of `PLAIN` and of every kernel set."""
    state = folder / "state"
    numbers = write_state(case, case.simulation(isa="scalar"), state)
    for name, flags in PLAIN.items():
        compile_plain(case, flags, folder / name)
    times: dict[str, list[float]] = {name: [] for name in [*PLAIN, *_core.isas()]}
    for _ in range(rounds):
        for name in PLAIN:
            [(_, processor)], reference = plain.run(folder / name, state, steps=STEPS, **numbers)
            times[name].append(processor)
        for isa in _core.isas():
            sim = case.simulation(isa=isa, dt=DT)
            start = time.thread_time()
            sim.step(STEPS)
            times[isa].append(time.thread_time() - start)
            p = sim.particles
            found = equal_work.outcome(p.x, p.v, numbers["mass"])
            equal_work.check(f"{case} {isa}", found, reference, AGREEMENT[case.dtype])
    n = len(sim.particles)
    return {name: 1e9 * statistics.median(values) / STEPS / n for name, values in times.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="plain_c.py", description=__doc__.split("\n")[0])
    parser.add_argument("rounds", type=int, nargs="?", default=5)
    rounds = parser.parse_args().rounds
    if rounds < 1:
        parser.error(f"argument rounds: {rounds}: must be at least 1")
    isas = _core.isas()
    print(
        f"{'ns per particle-step':<30}"
        + "".join(f"{name:>9}" for name in PLAIN)
        + "".join(f"{i:>17}" for i in isas)
    )
    with tempfile.TemporaryDirectory() as folder:
        for case in (case for case in bench.cases() if case.material in LAWS):
            found = compare(case, rounds, Path(folder))
            plain = "".join(f"{found[name]:>9.1f}" for name in PLAIN)
            cells = "".join(f"{found[isa]:>9.1f} ({found['plain C'] / found[isa]:4.1f}x)" for isa in isas)
            print(f"{f'{case.dimension}-D {case.dtype}  {case.material}':<30}{plain}{cells}", flush=True)


if __name__ == "__main__":
    main()
