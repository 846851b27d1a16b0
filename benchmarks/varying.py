"""The speed of runs with a parameter that varies over that with one value, for each method that takes such materials.

    python benchmarks/varying.py [fem] [implicit] [--rounds 7] [--dtype float64]

``fem``: the block of tetrahedra of ``python -m mpm bench F1``, explicit and implicit steps, for each of its laws.
``implicit``: the block of `mpm.bench.blocks` with implicit Euler steps, for each law that has a tangent.
One thread, processor time, interleaved rounds: medians of the ratios. `benchmarks/laws.py --varying` has the particles
of explicit steps.
"""

import argparse
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from laws import seconds, vary

import mpm
from mpm.bench import blocks
from mpm.bench import fem as bench

CELLS = 16  # along a side: 20,480 tetrahedra
SIDE, DT = 12, 5e-3  # cells along a side of the block of particles, time step of implicit steps [s]
IMPLICIT = "linearly-implicit-euler"


def ratio(make: Callable[[Any], Any], material: Any, rounds: int, steps: int) -> float:
    """The speed with a varying parameter over that without."""
    one, other = make(material), make(vary(material))
    for simulation in (one, other):
        simulation.step(steps)
    return statistics.median(seconds(one, steps) / seconds(other, steps) for _ in range(rounds))


def fem(dtype: str, rounds: int) -> Iterator[tuple[str, float]]:
    for name, material in bench.LAWS.items():
        for integrator, steps in (("symplectic-euler", 20), (IMPLICIT, 2)):

            def make(one: Any, integrator: str = integrator) -> mpm.fem.Simulation:
                scene = mpm.Scene([-1] * 3, [2] * 3)
                scene.add(mpm.shapes.Box([0] * 3, [1] * 3), one, velocity=bench.twist)
                options: dict[str, Any] = {"dt": 1e-4} if integrator == IMPLICIT else {}
                return mpm.fem.Simulation(
                    scene, spacing=1 / CELLS, dtype=dtype, threads=1, integrator=integrator, **options
                )

            yield f"fem, {name}, {integrator}", ratio(make, material, rounds, steps)


def implicit(dtype: str, rounds: int) -> Iterator[tuple[str, float]]:
    for name, material in blocks.MATERIALS.items():
        if not material._row["tangent"]:
            continue

        def make(one: Any) -> mpm.Simulation:
            scene = mpm.Scene([0] * 3, [3] * 3, gravity=(0, 0, -9.8))
            scene.add(mpm.shapes.Box([1] * 3, [2] * 3), one, velocity=blocks.stir)
            return mpm.Simulation(
                scene, dx=1 / SIDE, integrator="implicit-euler", dt=DT, dtype=dtype, threads=1
            )

        yield f"implicit, {name}", ratio(make, material, rounds, 1)


PARTS = {"fem": fem, "implicit": implicit}


def main() -> None:
    """Print the parts that are asked for, else all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float64")
    given = parser.parse_args()
    for part in given.parts or PARTS:
        for name, value in PARTS[part](given.dtype, given.rounds):
            print(f"{name:50} {value:.2f}", flush=True)


if __name__ == "__main__":
    main()
