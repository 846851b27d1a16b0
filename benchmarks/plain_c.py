"""The package beside plain C on the same particles, in the same run.

    python benchmarks/plain_c.py [rounds]

`plain/plain_mpm.c` is compiled with cc -O3, and again for this very processor, for every law, dimension and precision,
and takes the same steps from the same state. Its centre of mass, momentum and kinetic energy must agree with those of
every kernel set before a time counts. Rounds are interleaved; processor time of one thread, medians; the ratios are to
plain C with -O3.
"""

import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from mpm import _core, bench
from mpm.simulation import Simulation

SOURCE = Path(__file__).parent / "plain" / "plain_mpm.c"
LAWS = {"fluid": 0, "neo-Hookean": 1, "fixed corotated": 2}
STEPS = 40
DT = 5e-5
AGREEMENT = {"float64": 1e-9, "float32": 1e-4}  # measured up to 2e-13 and 4e-5


PLAIN = {"plain C": ["-O3"], "native": ["-O3", "-march=native"]}


def compile_plain(case: bench.Case, flags: list[str], program: Path) -> None:
    """The plain program for a case."""
    real = "float" if case.dtype == "float32" else "double"
    defines = [f"-DDIM={case.dimension}", f"-DREAL={real}", f"-DLAW={LAWS[case.material]}"]
    subprocess.run(["cc", *flags, *defines, SOURCE, "-o", program, "-lm"], check=True)


def write_state(case: bench.Case, sim: Simulation, path: Path) -> None:
    """The particles of a fresh simulation as the plain program reads them; its domain begins at 0."""
    material = bench.MATERIALS[case.material]
    values = {name: getattr(material, name, 0.0) for name in ("E", "nu", "bulk_modulus", "gamma")}
    E, nu = values["E"], values["nu"]
    mu, lam = E / (2 * (1 + nu)), E * nu / ((1 + nu) * (1 - 2 * nu))
    nodes = 3 * case.cells + 1
    numbers = (sim.dx, DT, -9.8, values["bulk_modulus"], values["gamma"], mu, lam)
    p = sim.particles
    table = np.column_stack([p.x, p.v, p.mass, p.volume]).astype(case.dtype)
    path.write_bytes(struct.pack("<2q7d", len(table), nodes, *numbers) + table.tobytes())


def run_plain(program: Path, state: Path) -> tuple[float, np.ndarray]:
    """Seconds of one round, and centre of mass, momentum and kinetic energy at its end."""
    output = subprocess.run(
        [program, state, str(STEPS), "1"], check=True, capture_output=True, text=True
    ).stdout
    lines = output.split("\n")
    return float(lines[0]), np.array(lines[1].split(), dtype=float)


def outcome(sim: Simulation) -> np.ndarray:
    """The same of a simulation; without the affine part of the energy, as the plain program counts."""
    p = sim.particles
    mass, x, v = (np.asarray(a, dtype=float) for a in (p.mass, p.x, p.v))
    return np.concatenate([mass @ x / mass.sum(), mass @ v, [0.5 * mass @ (v * v).sum(axis=1)]])


def compare(case: bench.Case, rounds: int, folder: Path) -> dict[str, float]:
    """Median nanoseconds per particle and step, of `PLAIN` and of every kernel set."""
    state = folder / "state"
    write_state(case, case.simulation(isa="scalar"), state)
    for name, flags in PLAIN.items():
        compile_plain(case, flags, folder / name)
    times: dict[str, list[float]] = {name: [] for name in [*PLAIN, *_core.isas()]}
    for _ in range(rounds):
        for name in PLAIN:
            seconds, reference = run_plain(folder / name, state)
            times[name].append(seconds)
        for isa in _core.isas():
            sim = case.simulation(isa=isa, dt=DT)
            start = time.thread_time()
            sim.step(STEPS)
            times[isa].append(time.thread_time() - start)
            difference = np.abs(outcome(sim) - reference).max() / np.abs(reference).max()
            if difference > AGREEMENT[case.dtype]:
                raise SystemExit(f"{case} {isa}: not equal work, {difference:.1e} apart")
    n = len(sim.particles)
    return {name: 1e9 * statistics.median(values) / STEPS / n for name, values in times.items()}


def main() -> None:
    """Print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    isas = _core.isas()
    print(
        f"{'ns per particle-step':<30}"
        + "".join(f"{name:>9}" for name in PLAIN)
        + "".join(f"{i:>17}" for i in isas)
    )
    with tempfile.TemporaryDirectory() as folder:
        for case in bench.cases():
            found = compare(case, rounds, Path(folder))
            plain = "".join(f"{found[name]:>9.1f}" for name in PLAIN)
            cells = "".join(f"{found[isa]:>9.1f} ({found['plain C'] / found[isa]:4.1f}x)" for isa in isas)
            print(f"{f'{case.dimension}-D {case.dtype}  {case.material}':<30}{plain}{cells}", flush=True)


if __name__ == "__main__":
    main()
