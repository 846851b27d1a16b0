"""Prints what the methods of the package do beside closed forms, each number with its limit.

    python benchmarks/methods.py integrators      the integrators of `mpm.integrators`
    python benchmarks/methods.py sph              smoothed particle hydrodynamics, `mpm.sph`
    python benchmarks/methods.py fem              finite elements, `mpm.fem`
    python benchmarks/methods.py together         the same scenes by MPM and by finite elements, or by MPM and by SPH

The exit status is 1 if a limit is missed.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable

import numpy as np
from elements import elements
from elements import together as both_methods

from mpm import InstabilityError
from mpm import integrators as ode

TURNS, PER_TURN = 200, 400
GROWTH = {  # |R|² at z = 0.5
    "explicit-euler": 1.25,
    "improved-euler": 1.125,
    "symplectic-euler": 1,
    "verlet": 1,
    "trapezoidal": 1.015625,
    "midpoint": 1.015625,
    "backward-euler": 0.8,
    "implicit-trapezoidal": 1,
    "implicit-midpoint": 1,
    "linearly-implicit-euler": 0.8,
}


class Report:
    """Lines of a table in Markdown, one per number, and whether all are within their limits."""

    def __init__(self) -> None:
        self.missed = 0
        print("| number | measured | must be | |\n|---|---|---|---|")

    def line(self, name: str, measured: str, must: str, met: bool) -> None:
        self.missed += not met
        print(f"| {name} | {measured} | {must} | {'met' if met else 'MISSED'} |", flush=True)

    def at_most(self, name: str, value: float, limit: float) -> None:
        self.line(name, f"{value:.1e}", f"<= {limit:g}", value <= limit)

    def within(
        self, name: str, values: tuple[float, float], low: float, high: float, rounding: float = 0
    ) -> None:
        met = low - rounding <= values[0] and values[1] <= high + rounding
        self.line(name, f"{values[0]:.7g} … {values[1]:.7g}", f"within {low:.7g} … {high:.7g}", met)


def oscillator(report: Report) -> None:
    """Orders, amplification, limits and energies over ten thousand periods."""
    for row in ode.table():
        order = ode.methods()[row.method].order
        x, v = row.order
        met = max(abs(x - order), abs(v - order)) <= 0.03
        report.line(f"{row.method}: order of x, v", f"{x:.3f}, {v:.3f}", f"{order} ± 0.03", met)
        growth = GROWTH[row.method]
        error = row.growth - growth
        report.line(
            f"{row.method}: R² at z = 0.5",
            f"{growth:.7g} + {error:.0e}",
            f"{growth:.7g} ± 1e-12",
            abs(error) <= 1e-12,
        )
        if row.limit and not math.isinf(row.limit):
            report.line(f"{row.method}: limit z", f"{row.limit:.9f}", "2 ± 1e-6", abs(row.limit - 2) <= 1e-6)
    for method, low, high in (("symplectic-euler", 1 / 1.05, 1 / 0.95), ("verlet", 0.9975, 1.0)):
        energy = ode.oscillator(method, 0.1, 10_000).energy
        report.within(f"{method}: energy, 10⁴ periods at z = 0.1", energy, low, high, 1e-9)


def two_bodies(report: Report) -> None:
    """Energy and angular momentum of an ellipse, e = 0.5."""
    masses = np.array([1.0, 2.0])
    bodies = ode.TwoBody(masses)
    x, v = bodies.orbit(eccentricity=0.5)
    dt = bodies.period() / PER_TURN
    for method, low, high in (
        ("symplectic-euler", -2.4, 2.0),
        ("verlet", -0.07, 0.07),
        ("midpoint", -2.2, 0.1),
    ):
        run = ode.integrate(bodies, x, v, method=method, dt=dt, steps=TURNS * PER_TURN)
        energy = 100 * (run.energy / run.energy[0] - 1)  # E < 0: where it is negative, the orbit is wider
        report.within(f"{method}: {TURNS} turns, E/E₀ - 1 [%]", (energy.min(), energy.max()), low, high)
        if method == "midpoint":
            met = abs(energy[-1] + 2) <= 0.2
            report.line("midpoint: at the end, E/E₀ - 1 [%]", f"{energy[-1]:+.2f}", "-2 ± 0.2", met)
            continue
        spin = (masses * (run.x[..., 0] * run.v[..., 1] - run.x[..., 1] * run.v[..., 0])).sum(axis=1)
        drift = float(np.abs(spin / spin[0] - 1).max())
        report.at_most(f"{method}: drift of the angular momentum", drift, 1e-12)


def chain(report: Report) -> None:
    """The largest step of masses on springs between two fixed ends against 2/ω_max."""
    n, mass, stiffness = 32, 0.5, 200.0
    x = np.zeros((n + 2, 2))
    x[:, 0] = np.arange(n + 2)
    v = np.zeros_like(x)
    v[1:-1, 0] = 1e-6 * (-1.0) ** np.arange(n)
    springs = [(i, i + 1) for i in range(n + 1)]
    net = ode.MassSpring(np.full(n + 2, mass), springs, stiffness=stiffness, length=1.0, fixed=[0, n + 1])
    limit = 1 / (math.sqrt(stiffness / mass) * math.sin(n * math.pi / (2 * (n + 1))))

    def is_bounded(method: str, dt: float) -> bool:
        try:
            run = ode.integrate(net, x, v, method=method, dt=dt, steps=2000, every=2000)
        except InstabilityError:
            return False
        return bool(np.abs(run.x[-1] - x).max() < 1e-4)

    for method in ("symplectic-euler", "verlet"):
        low, high = 0.5 * limit, 2 * limit
        while high - low > 1e-5 * limit:
            middle = (low + high) / 2
            low, high = (middle, high) if is_bounded(method, middle) else (low, middle)
        met = abs(low / limit - 1) <= 0.005
        report.line(f"{method}: largest dt of a chain over 2/ω_max", f"{low / limit:.5f}", "1 ± 0.005", met)


def advection(report: Report) -> None:
    """The radius of a point after a turn in a rotation."""
    for method in ("explicit-euler", "trapezoidal", "midpoint"):
        for n in (40, 400):
            z = 2 * math.pi / n
            path = ode.advect(ode.Rotation(), (1, 0), method=method, dt=z, steps=n)
            radius = float(np.hypot(*path.x[-1]))
            exact = (1 + z**2 if method == "explicit-euler" else 1 + z**4 / 4) ** (n / 2)
            met = abs(radius / exact - 1) <= 1e-12
            report.line(
                f"{method}: radius after a turn of {n}", f"{radius:.12f}", f"{exact:.12f} ± 1e-12", met
            )


def cost() -> None:
    """Nanoseconds of a step of the oscillator in C and with a force in Python, and of a large net."""

    def seconds(system: object, x: object, v: object, method: str, steps: int) -> float:
        begin = time.perf_counter()
        ode.integrate(system, x, v, method=method, dt=1e-3, steps=steps, every=steps)
        return (time.perf_counter() - begin) / steps

    asked = ode.System(lambda x, v, t: -x, lambda x, v, t: [[-1.0]])
    heads = ("step of", "oscillator in C [ns]", "with a force in Python [ns]", "chain of 1,000 masses [ns]")
    print(f"\n| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    x = np.stack([np.arange(1000.0), np.zeros(1000)], axis=1)
    springs = np.stack([np.arange(999), np.arange(1, 1000)], axis=1)
    net = ode.MassSpring(np.ones(1000), springs, stiffness=1.0, length=1.0)
    for method in ode.methods():
        times = (
            seconds(ode.Oscillator(), 1.0, 0.0, method, 100_000),
            seconds(asked, 1.0, 0.0, method, 2000),
            seconds(net, x, 0.01 * np.sin(x), method, 200),
        )
        print(f"| {method} | {' | '.join(f'{1e9 * t:,.0f}' for t in times)} |")


def integrators() -> int:
    """Print the numbers of `mpm.integrators`; how many limits are missed."""
    print(ode.table(), end="\n\n")
    report = Report()
    for part in (oscillator, two_bodies, chain, advection):
        part(report)
    cost()
    return report.missed


def fem() -> int:
    """Print the numbers of `mpm.fem`; how many limits are missed."""
    report = Report()
    elements(report)
    return report.missed


def sph() -> int:
    """Print the numbers of `mpm.sph`; how many limits are missed."""
    import methods_sph

    report = Report()
    methods_sph.run(report)
    return report.missed


def together() -> int:
    """Print scenes that two methods compute; how many limits are missed."""
    import methods_sph

    report = Report()
    both_methods(report)
    methods_sph.dam_break(report)
    return report.missed


PARTS: dict[str, Callable[[], int]] = {
    "integrators": integrators,
    "sph": sph,
    "fem": fem,
    "together": together,
}


def main() -> None:
    """Print the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    missed = sum(PARTS[name]() for name in parser.parse_args().parts)
    if missed:
        sys.exit(f"{missed} limits are missed")


if __name__ == "__main__":
    main()
