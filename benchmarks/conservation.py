"""Prints how well a free body keeps its mass, momentum, centre of mass and angular momentum (README).

    python benchmarks/conservation.py [steps]

The hardest honest case: particles at random places with random masses, a soft body that spins, travels and vibrates.
"""

import sys

import numpy as np

import mpm


def free_body(dim: int, dtype: str) -> mpm.Simulation:
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
    return mpm.Simulation(scene, dx=1 / 32, dt=5e-4, dtype=dtype)


def drifts(sim: mpm.Simulation, steps: int) -> dict[str, float]:
    """Largest relative deviation over the run of what must stay, and the share of energy that is left."""
    start = sim.totals()
    sim.step(steps)
    history = sim.history
    momentum, spin = np.asarray(start.momentum), np.asarray(start.angular_momentum)
    path = start.center_of_mass + history["time"][:, None] * momentum / start.mass

    def worst(values: np.ndarray, reference: np.ndarray | float) -> float:
        return float(np.abs(values - reference).max() / np.linalg.norm(reference))

    return {
        "mass": worst(history["mass"], start.mass),
        "momentum": worst(history["momentum"], momentum),
        "centre of mass": float(np.abs(history["center_of_mass"] - path).max()),
        "angular momentum": worst(history["angular_momentum"].reshape(steps, -1), np.atleast_1d(spin)),
        "energy left": float(history["energy"][-1] / start.energy),
    }


def main() -> None:
    """Print the table in Markdown."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("| APIC | mass | momentum P | centre of mass [m] | angular momentum L | energy left |")
    print("|---|---|---|---|---|---|")
    for dim in (2, 3):
        for dtype in ("float64", "float32"):
            result = drifts(free_body(dim, dtype), steps)
            cells = [f"{value:.1e}" for value in result.values()]
            cells[-1] = f"{100 * result['energy left']:.1f} %"
            print(f"| {dim}-D {dtype} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
