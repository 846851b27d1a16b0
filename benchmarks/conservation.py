"""Prints how well a free body keeps its mass, momentum, centre of mass and angular momentum.

    python benchmarks/conservation.py [steps]                               APIC: the table of docs/verified.md
    python benchmarks/conservation.py --schemes [--dtype float32] [steps]   every transfer, kernel and gradient

The hardest honest case: particles at random places with random masses, a soft body that spins, travels and vibrates.
"""

import argparse
import itertools

import numpy as np

import mpm
from mpm.mpm import numerics
from mpm.solver import stepping

STEPS = 2000
# The linear kernel has no bound of the time step that holds always: a free surface can blow up.
LINEAR_STEPS = 100
# Steps between two looks at the positions and velocities, from which the orbital angular momentum is computed.
STRIDE = 20
KEPT = ("mass", "momentum P", "centre of mass [m]", "angular momentum L")
ORBITAL, ENERGY = "orbital part of L", "energy left"


def free_body(dim: int, dtype: str, **scheme: object) -> mpm.Simulation:
    """24^2 or 12^3 particles at random in a square or cube, neo-Hookean, spinning at 2 rad/s and travelling."""
    rng = np.random.default_rng(7)
    n = 24**2 if dim == 2 else 12**3
    x = rng.uniform(0.35, 0.65, (n, dim))
    volume = 0.3**dim / n * rng.uniform(0.5, 1.5, n)
    scene = mpm.Scene(lower=[-0.5] * dim, upper=[1.5] * dim)
    scene.add(
        mpm.shapes.Points(x, volume=volume),
        mpm.materials.NeoHookean(E=10, nu=0.3, density=1),
        velocity=[0.2, 0.1, 0.15][:dim],
        angular_velocity=2.0 if dim == 2 else [0.5, -1.0, 2.0],
    )
    return mpm.Simulation(scene, dx=1 / 32, dt=5e-4, dtype=dtype, **scheme)


def orbital(sim: mpm.Simulation) -> np.ndarray:
    """Sum of m x cross v [kg m^2/s], without the spin of the affine velocities; shape (1,) or (3,)."""
    p = sim.particles
    m, x, v = (np.asarray(p[name], dtype=np.float64) for name in ("mass", "x", "v"))
    axes = [(0, 1)] if sim.dimension == 2 else [(1, 2), (2, 0), (0, 1)]
    return np.array([(m * (x[:, a] * v[:, b] - x[:, b] * v[:, a])).sum() for a, b in axes])


def drifts(sim: mpm.Simulation, steps: int) -> dict[str, float]:
    """Largest relative deviation over the run of what must stay, and the share of energy that is left."""
    start = sim.totals()
    orbits = [orbital(sim)]
    while sim.steps < steps:
        sim.step(min(STRIDE, steps - sim.steps))
        orbits.append(orbital(sim))
    history = sim.history
    momentum, spin = np.asarray(start.momentum), np.asarray(start.angular_momentum)
    path = start.center_of_mass + history["time"][:, None] * momentum / start.mass

    def worst(values: np.ndarray, reference: np.ndarray | float) -> float:
        return float(np.abs(values - reference).max() / np.linalg.norm(reference))

    kept = (
        worst(history["mass"], start.mass),
        worst(history["momentum"], momentum),
        float(np.abs(history["center_of_mass"] - path).max()),
        worst(history["angular_momentum"].reshape(steps + 1, -1), np.atleast_1d(spin)),
    )
    return {
        **dict(zip(KEPT, kept, strict=True)),
        ORBITAL: worst(np.array(orbits), orbits[0]),
        ENERGY: float(history["energy"][-1] / start.energy),
    }


def print_head(label: str, columns: tuple[str, ...]) -> None:
    """The head of a table in Markdown."""
    print(f"| {label} | " + " | ".join(columns) + " |")
    print("|---" * (1 + len(columns)) + "|")


def print_row(label: str, columns: tuple[str, ...], result: dict[str, float]) -> None:
    """One row of it, the energy in percent."""
    cells = [f"{100 * result[c]:.1f} %" if c == ENERGY else f"{result[c]:.1e}" for c in columns]
    print(f"| {label} | " + " | ".join(cells) + " |")


def standard(steps: int) -> None:
    """APIC with the quadratic kernel, in both dimensions and precisions."""
    columns = (*KEPT, ENERGY)
    print_head("APIC", columns)
    for dim, dtype in itertools.product((2, 3), ("float64", "float32")):
        print_row(f"{dim}-D {dtype}", columns, drifts(free_body(dim, dtype), steps))


def schemes(steps: int, dtype: str) -> None:
    """Every transfer with every kernel and gradient; FLIP also without its blend."""
    columns = (*KEPT, ORBITAL, ENERGY)
    transfers: dict[str, dict[str, object]] = {
        name.upper(): {"transfer": name} for name in numerics.TRANSFERS
    }
    transfers["FLIP, ratio 1"] = {"transfer": "flip", "flip_ratio": 1.0}
    for dim, kernel, gradient in itertools.product((2, 3), numerics.KERNELS, numerics.GRADIENTS):
        if (kernel, gradient) == ("linear", "mls"):
            continue  # does not exist
        count = min(steps, LINEAR_STEPS) if kernel == "linear" else steps
        print_head(f"{dim}-D, {kernel}, {gradient}, {count} steps, {dtype}", columns)
        for label, options in transfers.items():
            sim = free_body(dim, dtype, kernel=kernel, gradient=gradient, **options)
            print_row(label, columns, drifts(sim, count))
        print(flush=True)


def main() -> None:
    """Print the tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("steps", nargs="?", type=int, default=STEPS)
    parser.add_argument("--schemes", action="store_true", help="every transfer, kernel and gradient")
    parser.add_argument("--dtype", choices=stepping.DTYPES, help="of --schemes; default float64")
    chosen = parser.parse_args()
    if chosen.steps < 1:
        parser.error(f"steps = {chosen.steps}: must be >= 1")
    if chosen.schemes:
        schemes(chosen.steps, chosen.dtype or "float64")
    elif chosen.dtype:
        parser.error("--dtype goes with --schemes: the standard table has both")
    else:
        standard(chosen.steps)


if __name__ == "__main__":
    main()
