"""Published scenes, and their speed relative to this machine's limits: ``python -m mpm bench B3``.

As in `bench`, rounds are interleaved and the processor time of one thread counts. The same run measures the limits with
NumPy: the rate of a matrix product (float32 or float64, as the scene), and the bandwidth of adding two arrays too large
for the caches. The share of the first limit counts the arithmetic of the textbook, `arithmetic`, not that of these
kernels, which share work along pencils of nodes. The share of the second counts what a step must read and write of
every particle, `traffic`. Both are estimates: they show what limits a case, not how well its instructions are chosen.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mpm import gallery, materials, shapes
from mpm.base import fieldtable
from mpm.bench.blocks import SAMPLING
from mpm.materials import laws
from mpm.mpm.simulation import Simulation
from mpm.scene.scene import Scene

__all__ = ["SCENES", "Limits", "Row", "arithmetic", "limits", "run", "traffic"]

# Approximate additions and multiplications of a law's stress and return map, in 2-D and 3-D.
LAW_FLOPS = {
    "fluid": {2: 15, 3: 15},
    "neo_hookean": {2: 40, 3: 80},
    "fixed_corotated": {2: 50, 3: 400},
    "snow": {2: 150, 3: 1200},
    "sand": {2: 200, 3: 700},
    "saint_venant_kirchhoff": {2: 40, 3: 110},
    "hencky": {2: 100, 3: 350},
    "mooney_rivlin": {2: 60, 3: 130},
    "von_mises": {2: 250, 3: 800},
    "nacc": {2: 150, 3: 700},
    "drucker_prager": {2: 250, 3: 800},
    "mohr_coulomb": {2: 350, 3: 1500},
    "cam_clay": {2: 450, 3: 1000},
    "mu_i": {2: 250, 3: 800},
    "herschel_bulkley": {2: 250, 3: 800},
    "viscoelastic": {2: 600, 3: 2200},
    "corotated": {2: 50, 3: 380},
}
NODES = {"linear": 2, "quadratic": 3, "cubic": 4}  # of a stencil along an axis


@dataclass(frozen=True, slots=True)
class Limits:
    """What one core can do at most.

    Attributes
    ----------
    flops : float
        Of a matrix product [1/s].
    bandwidth : float
        Of adding arrays [bytes/s]; two are read, one is written.
    """

    flops: float
    bandwidth: float


@dataclass(frozen=True, slots=True)
class Row:
    """A scene's figures.

    Attributes
    ----------
    label : str
    particles : int
    nanoseconds : float
        Per particle and step, median of the rounds.
    flops_share, bandwidth_share : float
        Of the `Limits`.
    """

    label: str
    particles: int
    nanoseconds: float
    flops_share: float
    bandwidth_share: float


def limits(dtype: str, repeats: int) -> Limits:
    """Measure them: the best of the rounds.

    Parameters
    ----------
    dtype : {"float32", "float64"}
    repeats : int
        Rounds; ten at least, because what another program takes from the machine doubles a share of these.
    """
    side, length = 1024, 16_000_000
    a, b = np.ones((2, side, side), dtype)
    product = np.empty((side, side), dtype)
    x, y, z = np.ones((3, length), dtype)

    def seconds(call: Callable[[], object]) -> float:
        """Processor time of the whole process, because the product may use several threads."""
        start = time.process_time()
        call()
        return time.process_time() - start

    fastest = [
        min(seconds(call) for _ in range(max(repeats, 10)))
        for call in (partial(np.matmul, a, b, out=product), partial(np.add, x, y, out=z))
    ]
    return Limits(2 * side**3 / fastest[0], 3 * x.nbytes / fastest[1])


def arithmetic(dimension: int, law: str, kernel: str = "quadratic") -> int:
    """Additions and multiplications per particle and step of APIC as the textbook writes it.

    Per node: its weight (d − 1 in P2G and in G2P); v and B (2 d + 2 d²); mass and momentum with its affine part
    (2 + 2 d + 2 d²). Per particle: the weights along d axes (6 each, twice), F (2 d³), x (2 d), and the law.
    """
    d, n = dimension, NODES[kernel]
    node = 2 * (d - 1) + 2 * d + 2 * d * d + 2 + 2 * d + 2 * d * d
    return int(n**d * node + 2 * 6 * d * n + 2 * d**3 + 2 * d + LAW_FLOPS[law][d])


def traffic(dimension: int, law: str, dtype: str) -> int:
    """Bytes per particle and step: x, F (J of a fluid) and the law's history in and out, mass and volume in.

    Not those of nodes, nor v and C, which stay in registers from one step to the next.
    """
    d, row = dimension, laws.registry()[law]
    state = 1 if row["strain"] == "J" else d * d
    history = sum(len(fieldtable.components(d)[field["rank"]]) for field in row["history"])
    return (2 * (d + state + history) + 2) * int(np.dtype(dtype).itemsize)


def _mpm88(quick: bool) -> Simulation:
    """A fluid of 8,192 random particles."""
    n, cells = (1024, 32) if quick else (8192, 128)
    scene = Scene([0, 0], [1, 1], gravity=[0, -9.8], walls="separate")
    x = 0.2 + 0.4 * np.random.default_rng(0).random((n, 2))
    fluid = materials.Fluid(bulk_modulus=400, gamma=1, density=1)
    scene.add(shapes.Points(x, volume=0.16 / n), fluid)
    return Simulation(scene, dx=1 / cells, dt=2e-4, dtype="float32", threads=1)


def _mpm99(quality: int, quick: bool) -> Simulation:
    """Squares of fluid, jelly and snow, 3,000 quality² random particles each."""
    if quick:
        quality = 1
    scene = Scene([0, 0], [1, 1], gravity=[0, -9.8], walls="separate")
    rng = np.random.default_rng(0)
    laws = (
        materials.Fluid(bulk_modulus=280, gamma=1, density=1),
        materials.FixedCorotated(E=300, nu=0.2, density=1),
        materials.Snow(E=1000, nu=0.2, density=1),
    )
    for k, law in enumerate(laws):
        x = np.array([0.3, 0.05]) + 0.1 * np.array([k, 3.2 * k]) + 0.2 * rng.random((3000 * quality**2, 2))
        scene.add(shapes.Points(x, volume=0.04 / len(x)), law)
    return Simulation(scene, dx=1 / (128 * quality), dt=1e-4 / quality, dtype="float32", threads=1)


def _mpm3d(cells: int, quick: bool) -> Simulation:
    """A fluid of cells³/4 random particles in a grid of cells³."""
    if quick:
        cells = 16
    scene = Scene([0] * 3, [1] * 3, gravity=[0, 0, -9.8], walls="separate")
    x = 0.2 + 0.4 * np.random.default_rng(0).random((cells**3 // 4, 3))
    fluid = materials.Fluid(bulk_modulus=1000, gamma=1, density=1)
    scene.add(shapes.Points(x, volume=0.064 / len(x)), fluid)
    return Simulation(scene, dx=1 / cells, dt=4e-4 * 32 / cells, dtype="float32", threads=1)


def _cube(quick: bool) -> Simulation:
    """The elastic cube of the gallery."""
    options: dict[str, Any] = {"dx": 1 / 16} if quick else {}
    made: Simulation = gallery.get("cube").simulation(dtype="float32", threads=1, **options)
    return made


def _spheres(quick: bool) -> Simulation:
    """Two elastic spheres that meet; a million particles, 8 per cell."""
    scene = Scene([0] * 3, [1] * 3)
    rubber = materials.FixedCorotated(E=1e5, nu=0.3, density=1000)
    for side in (-1, 1):
        scene.add(shapes.Ball([0.5 + 0.1 * side, 0.5, 0.5], 0.0962), rubber, velocity=[-2 * side, 0, 0])
    return Simulation(scene, dx=1 / (32 if quick else 256), dtype="float32", sampling=SAMPLING, threads=1)


def _column(quick: bool) -> Simulation:
    """A round column of sand; a million particles, 8 per cell."""
    scene = gallery.sand_column_3d()
    return Simulation(scene, dx=1 / (32 if quick else 172), dtype="float32", sampling=SAMPLING, threads=1)


def _snow(name: str, quick: bool) -> Simulation:
    """Snow as published: cubic kernel, FLIP 0.95, double precision."""
    options: dict[str, Any] = {"dx": 1 / 32} if quick else {}
    entry = gallery.get(name)
    scheme: dict[str, Any] = {"transfer": "flip", "flip_ratio": 0.95, "kernel": "cubic", "dtype": "float64"}
    made: Simulation = entry.simulation(threads=1, **scheme, **options)
    return made


# B8, sweeps of one quantity at a time, are the studies of `mpm.bench.studies`.
SCENES: dict[str, tuple[tuple[str, Callable[[bool], Simulation]], ...]] = {
    "B1": (("2-D fluid, mpm88", _mpm88),),
    "B2": tuple((f"2-D three laws, mpm99, quality {q}", partial(_mpm99, q)) for q in (1, 2, 4)),
    "B3": tuple((f"3-D fluid, mpm3d, {n} cells", partial(_mpm3d, n)) for n in (32, 64, 128)),
    "B4": (("3-D elastic cube", _cube),),
    "B5": (("3-D elastic spheres", _spheres),),
    "B6": (("3-D sand column", _column),),
    "B7": (
        ("2-D snow, cubic, FLIP", partial(_snow, "snowball")),
        ("3-D snow, cubic, FLIP", partial(_snow, "snow-wedge-3d")),
    ),
}


def _row(label: str, sim: Simulation, nanoseconds: float, most: Limits) -> Row:
    """A scene's figures; the estimates are means over its particles."""
    laws = np.bincount(np.asarray(sim.particles.material))
    d, n, kernel = sim.dimension, len(sim.particles), sim._numerics.kernel

    def mean(of: Callable[[str], int]) -> float:
        return float(sum(count * of(law.law) for count, law in zip(laws, sim.materials, strict=True)) / n)

    flops = mean(lambda law: arithmetic(d, law, kernel))
    moved = mean(lambda law: traffic(d, law, sim.dtype))
    per_second = 1e9 / nanoseconds
    return Row(label, n, nanoseconds, flops * per_second / most.flops, moved * per_second / most.bandwidth)


def run(names: list[str], *, repeats: int, quick: bool, found: list[tuple[str, object]]) -> Iterator[str]:
    """The tables of scenes, line by line as they are measured; figures and limits are put into `found`."""
    steps = 4 if quick else 40
    most = {dtype: limits(dtype, repeats) for dtype in ("float32", "float64")}
    for dtype, limit in most.items():
        found.append((f"limits {dtype}", limit))
        yield (
            f"one core, {dtype}: {limit.flops / 1e9:.0f} GFLOP/s (matrix product), "
            f"{limit.bandwidth / 1e9:.1f} GB/s (adding arrays)"
        )
    yield f"{'':<48}{'particles':>11}{'ns':>8}{'M/s':>8}{'flops':>8}{'memory':>8}"
    for name in names:
        for label, make in SCENES[name]:
            sim = make(quick)
            sim.step(2)
            times = []
            for _ in range(repeats):
                start = time.thread_time()
                sim.step(steps)
                times.append(time.thread_time() - start)
            nanoseconds = statistics.median(times) / steps / len(sim.particles) * 1e9
            row = _row(f"{name} {label}", sim, nanoseconds, most[sim.dtype])
            found.append((name, row))
            yield (
                f"{row.label:<48}{row.particles:>11,}{nanoseconds:>8.1f}{1e3 / nanoseconds:>8.1f}"
                f"{row.flops_share:>8.0%}{row.bandwidth_share:>8.0%}"
            )
