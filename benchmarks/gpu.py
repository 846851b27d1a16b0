"""Speed of a simulation on a GPU: particle-steps per second of `sim.step`, with history and automatic time steps.

    python benchmarks/gpu.py [--device cuda:1] [--sizes 125k 1M 8M] [--seconds 3]

Prints how long a start takes, the speed of sizes, then of laws and precisions, with the bytes per second of the least
traffic of a step. Without a GPU it says so and ends with 2.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import mpm
from mpm.base import gpus

SIZES = {"125k": 125_000, "1M": 1_000_000, "8M": 8_000_000, "64M": 64_000_000}
M = mpm.materials
LAWS = {
    "neo-Hookean": M.NeoHookean(E=1e5, nu=0.3, density=1000),
    "snow": M.Snow(),
    "sand": M.Sand(E=1e6, nu=0.3, density=1600, friction_angle_deg=30),
    "fluid": M.Fluid(bulk_modulus=1e5, density=1000),
}
PER_CELL = 8  # particles


def scene_of(count: int, law: str) -> tuple[mpm.Scene, float]:
    """A cube of so many particles that falls onto the floor of a box, and the size of its cells."""
    side = round((count / PER_CELL) ** (1 / 3))  # cells of the cube along an axis
    h = 1 / (side + side // 4 + 4)
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81), walls="separate")
    low = np.array([2 * h, 2 * h, 2 * h])
    scene.add(mpm.shapes.Box(low, low + side * h), LAWS[law], velocity=(0.1, 0, -1))
    return scene, h


def built(count: int, law: str, dtype: str, device: str) -> mpm.Simulation:
    scene, h = scene_of(count, law)
    options = {"density_correction": 0} if law == "fluid" else {}
    return mpm.Simulation(scene, dx=h, dtype=dtype, device=device, **options)


def speed(sim: mpm.Simulation, seconds: float) -> float:
    """Particle-steps per second [M/s], after ten steps."""
    sim.step(10)
    steps, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        sim.step(20)
        steps += 20
    return 1e-6 * len(sim.particles) * steps / (time.perf_counter() - began)


def least_bytes(law: str, dtype: str) -> int:
    """Read and written per particle and step: x, the strain, what a law changes of its history; mass and volume."""
    row = LAWS[law]._row
    strain = 1 if row["strain"] == "J" else 9
    history = len(row["history"]) if row["return_map"] else 0
    return (2 * (3 + strain + history) + 2) * {"float32": 4, "float64": 8}[dtype]


def line(count: int, law: str, dtype: str, device: str, seconds: float) -> None:
    name = f"{law:<12} {dtype}  {count / 1e6:7.3f} M"
    try:
        began = time.perf_counter()
        sim = built(count, law, dtype, device)
        start = time.perf_counter() - began
        rate = speed(sim, seconds)
    except MemoryError as error:
        print(f"{name}   no room: {error}")
        return
    traffic = 1e-3 * rate * least_bytes(law, dtype)
    print(f"{name}   {rate:8.0f} M/s   {traffic:6.0f} GB/s at least   built in {start:.1f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=["125k", "1M", "8M"])
    parser.add_argument("--seconds", type=float, default=3, help="of each line")
    chosen = parser.parse_args()
    try:
        version, found = gpus.devices()
    except mpm.DeviceError as error:
        print(f"no GPU, and so no figures: {error}")
        return 2
    print(f"{', '.join(map(str, found))}; CUDA {version // 1000}.{version % 1000 // 10}\n")
    for again in ("compiled or kept", "kept"):
        began = time.perf_counter()
        built(1000, "neo-Hookean", "float32", chosen.device)
        print(f"a start with kernels that are {again}: {time.perf_counter() - began:.2f} s")
    print()
    for size in chosen.sizes:
        line(SIZES[size], "neo-Hookean", "float32", chosen.device, chosen.seconds)
    print()
    largest = SIZES[chosen.sizes[-1]]
    for law in LAWS:
        for dtype in ("float32", "float64"):
            line(largest, law, dtype, chosen.device, chosen.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
