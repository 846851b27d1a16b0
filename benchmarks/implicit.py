"""Prints what implicit steps keep, what they cost, and when they pay, beside the limits that they must meet.

    python benchmarks/implicit.py [NAME ...] [--quick]

Without a name, every table is printed. A row is "met" or "MISSED"; a miss makes the exit status 1. The derivatives
(symmetry, central differences, eigenvalues) have no table: tests/c/test_products.c and test_tangents.c bound them. The
bits of threads, pieces and files are in tests/test_implicit.py.

Speed is that of one thread: the processor time of the thread that steps, which other programs disturb less than the
clock. Variants are interleaved, and the median of their ratios counts. `c/|v|` is the speed of longitudinal waves over
that of the motion, n the number of cells along the side of a block.
"""

import argparse
import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import mpm
from mpm import config
from mpm.bench import blocks

DENSITY, NU = 1000.0, 0.3
DTYPES = ("float64", "float32")
SPEED = 1.0  # of a falling block [m/s]
MOTION = 0.4  # cells that it moves in an implicit step


@dataclass(frozen=True, slots=True)
class Limit:
    """A range of what may be measured."""

    text: str
    low: float = -np.inf
    high: float = np.inf


def at_most(value: float) -> Limit:
    """An upper limit."""
    return Limit(f"≤ {value:.4g}", high=value)


def at_least(value: float) -> Limit:
    """A lower limit."""
    return Limit(f"≥ {value:.4g}", low=value)


def within(share: float, target: float) -> Limit:
    """A share of a positive target to either side."""
    return Limit(f"{target:.4g} ± {100 * share:g} %", target * (1 - share), target * (1 + share))


@dataclass(frozen=True, slots=True)
class Row:
    """A measured value, its limit if it has one, and what else the reader should know."""

    case: str
    measured: float
    limit: Limit | None = None
    notes: str = ""

    @property
    def met(self) -> bool:
        return self.limit is None or self.limit.low <= self.measured <= self.limit.high

    def __str__(self) -> str:
        """A row of Markdown."""
        required = self.limit.text if self.limit else ""
        verdict = "" if self.limit is None else "met" if self.met else "MISSED"
        return f"| {self.case} | {self.measured:.4g} | {required} | {verdict} | {self.notes} |"


Rows = Iterator[Row]

# ---- scenes --------------------------------------------------------------------------------------------


def elastic(speed: float, law: str = "FixedCorotated") -> mpm.materials.Material:
    """A material with longitudinal waves of this speed [m/s]."""
    E = DENSITY * speed**2 * (1 + NU) * (1 - 2 * NU) / (1 - NU)
    return getattr(mpm.materials, law)(E=E, nu=NU, density=DENSITY)


def wave(omega_dt: float, cells: int, **options: object) -> mpm.Simulation:
    """A standing wave of small amplitude in a periodic bar; ω is its frequency."""
    dx, speed = 1 / cells, 10.0
    scene = mpm.Scene(lower=(0, 0), upper=(1, 4 * dx), walls="periodic")

    def velocity(x: np.ndarray) -> np.ndarray:
        return np.stack([1e-5 * speed * np.sin(2 * np.pi * x[:, 0]), 0 * x[:, 0]], axis=1)

    scene.add(mpm.shapes.Box((0, 0), (1, 4 * dx)), elastic(speed), velocity=velocity)
    dt = omega_dt / (2 * np.pi * speed)
    return mpm.Simulation(scene, dx=dx, dt=dt, sampling="lattice", tolerance=1e-8, threads=1, **options)


def spinning(dim: int, *, rate: float, speed: float = 0.0, **options: object) -> mpm.Simulation:
    """A free neo-Hookean block, 8 cells wide, that turns at `rate` [1/s] and travels."""
    scene = mpm.Scene((0,) * dim, (2,) * dim)
    scene.add(
        mpm.shapes.Box((0.75,) * dim, (1.25,) * dim),
        elastic(10.0, "NeoHookean"),
        velocity=(speed,) + (0,) * (dim - 1),
        angular_velocity=rate if dim == 2 else (0.3 * rate, 0.5 * rate, rate),
    )
    return mpm.Simulation(scene, dx=1 / 16, threads=1, **options)


def meeting(dim: int, walls: str, **options: object) -> mpm.Simulation:
    """A block in the corner of the box that moves against its walls."""
    scene = mpm.Scene((0,) * dim, (1,) * dim, gravity=(0,) * (dim - 1) + (-9.8,), walls=walls)
    scene.add(mpm.shapes.Box((0.03,) * dim, (0.43,) * dim), elastic(20.0), velocity=(-0.5,) * dim)
    return mpm.Simulation(scene, dx=1 / 16, threads=1, on_leave="clamp", **options)


def sloping(contact: str, **options: object) -> mpm.Simulation:
    """A block that falls onto a sloping collider."""
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.8))
    scene.add(mpm.shapes.Box((0.35, 0.35), (0.65, 0.65)), elastic(20.0), velocity=(0.3, -1))
    friction = 0.0 if contact == "sticky" else 0.3
    slope = mpm.shapes.HalfSpace((0.5, 0.34), (0.2, 1))
    scene.add_collider(slope, contact=contact, friction=friction, name="slope")
    return mpm.Simulation(scene, dx=1 / 16, threads=1, **options)


def falling(
    dim: int, n: int, ratio: float, integrator: str = "implicit-euler", **options: object
) -> mpm.Simulation:
    """A block of n cells, half a cell above a floor, that falls `ratio` times slower than its waves."""
    dx = 1 / n
    low = np.array([0.5] * (dim - 1) + [0.5 * dx])
    scene = mpm.Scene((0,) * dim, (2,) * dim, gravity=(0,) * (dim - 1) + (-9.8,), walls="separate")
    fall = (0,) * (dim - 1) + (-SPEED,)
    scene.add(mpm.shapes.Box(low, low + 1), elastic(ratio * SPEED), velocity=fall)
    if integrator != "explicit":
        options.setdefault("dt", MOTION * dx / SPEED)
    return mpm.Simulation(scene, dx=dx, threads=1, integrator=integrator, **options)


def piled(dim: int, n: int, contrast: float, **options: object) -> mpm.Simulation:
    """A hard block on a soft one on a floor, at 200 times the bound of explicit steps."""
    scene = mpm.Scene((0,) * dim, (2,) * dim, gravity=(0,) * (dim - 1) + (-9.8,), walls="separate")
    fall = (0,) * (dim - 1) + (-0.1,)
    for E, low, high, bottom, top in ((1e5, 0.5, 1.5, 0.5 / n, 0.5), (1e5 * contrast, 0.75, 1.25, 0.5, 1.0)):
        shape = mpm.shapes.Box((low,) * (dim - 1) + (bottom,), (high,) * (dim - 1) + (top,))
        scene.add(shape, mpm.materials.FixedCorotated(E=E, nu=NU, density=DENSITY), velocity=fall)
    bound = mpm.Simulation(scene, dx=1 / n, threads=1).stable_dt().dt
    return mpm.Simulation(scene, dx=1 / n, threads=1, dt=200 * bound, integrator="implicit-euler", **options)


def stirred(dim: int, cells: int, **options: object) -> mpm.Simulation:
    """A free block that rotates with a wave in it; `cells` along its side."""
    scene = mpm.Scene((0,) * dim, (3,) * dim)
    block = mpm.shapes.Box((1,) * dim, (2,) * dim)
    scene.add(block, blocks.MATERIALS["fixed corotated"], velocity=blocks.stir)
    return mpm.Simulation(scene, dx=1 / cells, **options)


def snowball(n: int, integrator: str, **options: object) -> mpm.Simulation:
    """A ball of snow, n cells wide, that is thrown on a floor."""
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81), walls="separate")
    scene.add(mpm.shapes.Ball((0.5, 0.12), 0.1), mpm.materials.Snow(), velocity=(0, -5))
    return mpm.Simulation(
        scene, dx=0.2 / n, sampling="stratified", threads=1, integrator=integrator, **options
    )


# ---- accuracy and conservation -------------------------------------------------------------------------


def amplitude(quick: bool) -> Rows:
    """Amplitude that a step leaves of a plane wave over 32 cells."""
    schemes: tuple[tuple[dict[str, object], Callable[[float], float]], ...] = (
        ({"integrator": "implicit-euler"}, lambda a: 1 / np.sqrt(1 + a**2)),
        ({"integrator": "semi-implicit", "beta": 1.0}, lambda a: 1 / np.sqrt(1 + a**2)),
        ({"integrator": "semi-implicit", "beta": 0.5}, lambda a: 1 / np.sqrt(1 + a**2 / 2)),
        ({"integrator": "implicit-midpoint"}, lambda a: 1.0),
    )
    for (options, kept), omega_dt in itertools.product(schemes, (0.1, 0.5, 2.0)):
        sim = wave(omega_dt, 32, **options)
        shape = np.sin(2 * np.pi * np.array(sim.particles.x)[:, 0])
        modes = []
        for _ in range(6 + int(3 / omega_dt)):
            sim.step()  # in the first one APIC finds the affine velocities, which the particles did not have
            modes.append(shape @ np.array(sim.particles.v)[:, 0])
        # v'' = (trace) v' - (determinant) v of the step's 2 x 2 matrix; its eigenvalues have modulus sqrt(determinant)
        m = np.array(modes)
        _, minus_determinant = np.linalg.lstsq(np.stack([m[1:-1], m[:-2]], axis=1), m[2:], rcond=None)[0]
        beta = f", β = {options['beta']}" if "beta" in options else ""
        label = f"{options['integrator']}{beta}, ω dt = {omega_dt}"
        yield Row(label, float(np.sqrt(-minus_determinant)), within(0.01, float(kept(omega_dt))))


def order(quick: bool) -> Rows:
    """Order in dt of the difference from explicit steps, of a spinning block."""
    steps = np.array([4e-4, 2e-4, 1e-4])
    for dim in (2,) if quick else (2, 3):
        apart: dict[str, list[float]] = {}
        for dt in steps:
            ends = {}
            for name in ("explicit", "semi-implicit", "implicit-euler", "implicit-midpoint"):
                options = {} if name == "explicit" else {"tolerance": 1e-9}
                sim = spinning(dim, rate=8.0, integrator=name, dt=float(dt), **options)
                sim.run(0.02)
                ends[name] = np.array(sim.particles.x)
            exact = ends.pop("explicit")
            for name, end in ends.items():
                apart.setdefault(name, []).append(float(np.abs(end - exact).max()))
        for name, distances in apart.items():
            slope = float(np.polyfit(np.log(steps), np.log(distances), 1)[0])
            found = "largest distance " + ", ".join(f"{d:.2g}" for d in distances) + " m"
            # Both are of second order; what differs is what their transfers dissipate.
            limit = None if name == "implicit-midpoint" else at_least(0.9)
            yield Row(f"{dim}-D {name}", slope, limit, found)
    for dim in (2, 3):
        states = []
        for options in ({"integrator": "explicit"}, {"integrator": "semi-implicit", "beta": 0}):
            sim = spinning(dim, rate=8.0, dt=1e-3, **options)
            sim.step(20)
            states.append(sim.particles.x.tobytes() + sim.particles.F.tobytes())
        differing = sum(a != b for a, b in zip(*states, strict=True))
        yield Row(f"{dim}-D semi-implicit, β = 0: bytes unlike explicit", differing, at_most(0))


def momentum(quick: bool) -> Rows:
    """Momentum P and angular momentum L of a spinning block, relative; impulses of contacts."""
    implicit = ("semi-implicit", "implicit-euler", "implicit-midpoint")
    schemes: tuple[dict[str, object], ...] = (
        {},
        {"kernel": "cubic", "gradient": "bspline"},
        {"transfer": "flip", "kernel": "cubic"},
        {"transfer": "xpic"},
        {"transfer": "asflip"},
    )
    for name, dim, dtype in itertools.product(implicit, (2, 3), DTYPES):
        drifts = []
        for scheme in schemes[:1] if quick else schemes:
            sim = spinning(
                dim, rate=1.0, speed=0.1, dtype=dtype, dt=0.02, tolerance=1e-2, integrator=name, **scheme
            )
            before = np.asarray(sim.totals().momentum)
            sim.step(4)
            drift = np.linalg.norm(np.asarray(sim.totals().momentum) - before) / np.linalg.norm(before)
            drifts.append(float(drift))
        limit = at_most(1e-13 if dtype == "float64" else 1e-6)
        yield Row(f"P, {name}, {dim}-D {dtype}", max(drifts), limit, "tolerance 1e-2, worst of the schemes")
    for dim, tolerance in itertools.product((2, 3), (1e-3, 1e-8)):
        sim = spinning(dim, rate=1.0, speed=0.1, dt=0.03, tolerance=tolerance, integrator="implicit-midpoint")
        before = np.atleast_1d(sim.totals().angular_momentum)
        sim.step(20)
        drift = np.linalg.norm(np.atleast_1d(sim.totals().angular_momentum) - before) / np.linalg.norm(before)
        yield Row(
            f"L, implicit-midpoint, {dim}-D, tolerance {tolerance:g}",
            float(drift),
            at_most(10 * tolerance),
            "20 steps",
        )
    for name in implicit[:2]:
        sim = spinning(2, rate=1.0, dt=0.03, tolerance=1e-8, integrator=name)
        before = sim.totals().angular_momentum
        sim.step(20)
        lost = 1 - (sim.totals().angular_momentum / before) ** (1 / 20)
        # The law has rotation-dependent stress; only the non-linear solve sees all of it.
        limit = within(0.2, 1.0) if name == "implicit-euler" else None
        yield Row(f"L, {name}: loss per step over (ω dt)², ω dt = 0.03", lost / 0.03**2, limit)
    for ratio, tolerance in itertools.product((400, 1000), (1e-3, 1e-4)):
        sim = falling(2, 16, ratio, tolerance=tolerance)
        sim.step(20)
        held = sim.history["wall_impulse"][-5:, 1].mean() / (sim.totals().mass * 9.8 * sim.dt)
        yield Row(
            f"impulse of the floor on a resting block over its weight, c/|v| = {ratio}, {tolerance:g}", held
        )
    for name in implicit:
        open_ends = []
        for walls, dim in itertools.product(("sticky", "slip", "separate", "mirror"), (2, 3)):
            open_ends.append(unbalanced(meeting(dim, walls, integrator=name, dt=0.02, tolerance=1e-6)))
        yield Row(f"budget at walls, {name}", max(open_ends), at_most(1e-5), "tolerance 1e-6, worst of 8")
        open_ends = []
        for contact in ("sticky", "slip", "separate"):
            open_ends.append(unbalanced(sloping(contact, integrator=name, dt=0.01, tolerance=1e-6)))
        yield Row(
            f"budget at a collider, {name}", max(open_ends), at_most(1e-5), "tolerance 1e-6, worst of 3"
        )


def unbalanced(sim: mpm.Simulation) -> float:
    """Change of momentum over 8 steps less the recorded impulses, relative to those of the contacts."""
    before = np.asarray(sim.totals().momentum)
    sim.step(8)
    history = sim.history
    contacts = history["wall_impulse"].sum(axis=0)
    if "impulse:slope" in history:
        contacts = contacts + history["impulse:slope"].sum(axis=0)
    change = np.asarray(sim.totals().momentum) - before
    left = change - contacts - history["body_impulse"].sum(axis=0)
    return float(np.linalg.norm(left) / np.linalg.norm(contacts))


def energy(quick: bool) -> Rows:
    """Energy that the midpoint leaves of a plane wave over 64 cells, ω dt = 0.5."""
    sim = wave(0.5, 64, integrator="implicit-midpoint")
    start = sim.totals()
    for periods in (10,) if quick else (10, 100):
        sim.step(round(periods * 2 * np.pi / 0.5) - sim.steps)
        left = (sim.history["kinetic"][-1] + sim.history["elastic"][-1]) / (start.kinetic + start.elastic)
        yield Row(f"after {periods} periods", float(left), within(0.01, 1.0))


# ---- cost ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spent:
    """What steps have cost [s], and what they did."""

    total: float
    sweeps: float
    operations: np.ndarray


# What these steps are made of: G2P with the next P2G, the force at a trial velocity, the tangent about F^n with the
# force of its linear model, products.
OPERATIONS = ("transfers", "force", "tangent", "product")


def spend(sim: mpm.Simulation, steps: int) -> Spent:
    """Takes some steps. The phases are shares of the time by the clock; they become shares of processor time."""
    before, start, since = sim._core.seconds(), time.thread_time(), time.perf_counter()
    sim.step(steps)
    used, passed, after = time.thread_time() - start, time.perf_counter() - since, sim._core.seconds()
    sweeps = (after["sweeps"] - before["sweeps"]) * used / passed
    done = [steps, 0, 0, 0]
    if "newton" in sim.history:
        newton, products, backtracks = (sim.history[k][-steps:] for k in ("newton", "products", "backtracks"))
        linear = sim._numerics.integrator == "semi-implicit"
        assert linear or not newton.any()  # the tangent at a trial velocity is not told apart
        # Linear steps need the force of the model once more, for the impulses.
        done = [steps, 0 if linear else (1 + backtracks).sum(), 2 * steps if linear else 0, products.sum()]
    done = np.array(done, dtype=float)
    return Spent(used, sweeps, done)


def fit(design: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The solution of design x = values with the least sum of absolute deviations, which outliers hardly move."""
    x = np.linalg.lstsq(design, values, rcond=None)[0]
    for _ in range(50):
        weight = 1 / np.sqrt(np.maximum(np.abs(design @ x - values), 1e-6 * np.abs(values)))
        x = np.linalg.lstsq(design * weight[:, None], values * weight, rcond=None)[0]
    return x


def cost_of(dim: int, dtype: str, cells: int, rounds: int) -> dict[str, float]:
    """Each operation and a whole iteration of conjugate gradients, in explicit steps on the same particles.

    In each run, another operation dominates: explicit steps; steps of a block that only travels, which need no solve
    (force); linear solves by short steps (tangent); linear solves by long steps (products). The time of a step is
    linear in the numbers of operations, which the history counts, so a fit over all runs gives the time of each. The
    clock of the core separates sweeps over particles from passes over nodes. The fit of the sweeps gives operations.
    In the fit of the whole time, the coefficient of the products is the whole iteration: the product and the vectors of
    conjugate gradients. Each time is divided by that of the explicit steps just before and after.

    The tangent is the one about F^n. That at a trial velocity does the same work without one product per particle.
    """
    explicit = stirred(dim, cells, dtype=dtype, threads=1)
    runs, bound, tight = [explicit], explicit.stable_dt().dt, 1e-8 if dtype == "float64" else 1e-4
    for name, tolerance, N in (
        ("implicit-euler", 0.1, 1),
        ("semi-implicit", 0.1, 0.5),
        ("semi-implicit", tight, 4),
    ):
        options = {"integrator": name, "tolerance": tolerance, "dt": N * bound}
        runs.append(stirred(dim, cells, dtype=dtype, threads=1, **options))
    runs[1].particles.v[...] = 0.1
    for sim in runs:
        sim.step(3)
    design, sweeps, total, units = [], [], [], []
    for _ in range(rounds):
        for sim in runs[1:]:
            before, spent, after = (spend(s, 3) for s in (explicit, sim, explicit))
            unit = (before.total + after.total) / 6
            units.append(unit)
            for each in (before, spent):
                design.append(each.operations / each.operations.sum())
                sweeps.append(each.sweeps / unit / each.operations.sum())
                total.append(each.total / unit / each.operations.sum())
    found = dict(zip(OPERATIONS, fit(np.array(design), np.array(sweeps)), strict=True))
    return {
        **found,
        "iteration": fit(np.array(design), np.array(total))[-1],
        "seconds": statistics.median(units),
    }


def parallel(dim: int, dtype: str, cells: int, rounds: int) -> tuple[float, float]:
    """How many times faster two threads are than one, by the clock: products, and whole solves of many products."""
    bound = stirred(dim, cells, dtype=dtype, threads=1).stable_dt().dt
    options = {
        "integrator": "semi-implicit",
        "tolerance": 1e-8 if dtype == "float64" else 1e-4,
        "dt": 4 * bound,
    }
    one, two = (stirred(dim, cells, dtype=dtype, threads=threads, **options) for threads in (1, 2))
    ratios = []
    for _ in range(1 + rounds):
        times = []
        for sim in (one, two):
            before, start = sim._core.seconds()["sweeps"], time.perf_counter()
            sim.step(2)
            times.append((sim._core.seconds()["sweeps"] - before, time.perf_counter() - start))
        ratios.append(np.divide(*times))
    products, solves = np.median(ratios[1:], axis=0)
    return float(products), float(solves)


def cost(quick: bool) -> Rows:
    """Cost in explicit fixed-corotated steps on the same particles."""
    cells = blocks.CELLS_QUICK if quick else blocks.CELLS
    rounds = 3 if quick else 7
    for dim, dtype in itertools.product((2, 3), DTYPES):
        found = cost_of(dim, dtype, cells[dim], rounds)
        label = f"{dim}-D {dtype}"
        step = f"explicit step {1e3 * found['seconds']:.3g} ms"
        yield Row(f"{label}, product", found["product"], at_most(0.75), step)
        yield Row(f"{label}, iteration of conjugate gradients", found["iteration"], at_most(0.9))
        yield Row(f"{label}, tangent with force", found["tangent"], at_most(1.5))
        yield Row(f"{label}, force", found["force"])
        load = f"load of the machine {os.getloadavg()[0]:.1f}; needs two idle cores"
        for name, faster in zip(
            ("product", "iteration"), parallel(dim, dtype, cells[dim], rounds), strict=True
        ):
            yield Row(f"{label}, {name}: two threads over one", faster, at_least(1.8), load)


# ---- counts --------------------------------------------------------------------------------------------


def counts(quick: bool) -> Rows:
    """Products and Newton iterations per step of a falling block, tolerance 1e-3."""
    sizes = ((2, 16), (2, 32), (3, 12)) if quick else ((2, 16), (2, 32), (2, 64), (2, 128), (3, 12))
    for dim, n in sizes:
        reference = 0.0
        for dtype, ratio in (("float64", 400), ("float64", 1000), ("float32", 400)):
            sim = falling(dim, n, ratio, dtype=dtype)
            sim.step(10)
            products, newton = (float(sim.history[name][1:].mean()) for name in ("products", "newton"))
            label = f"{dim}-D, n = {n}, c/|v| = {ratio}, {dtype}"
            if not reference:
                reference = products
                yield Row(f"{label}: products", products, at_most(2.5 * n + 50))
            else:
                yield Row(f"{label}: products", products, within(0.15, reference))
            yield Row(f"{label}: Newton", newton, at_most(1.3))


def contrast(quick: bool) -> Rows:
    """Products with `preconditioner="stiffness"` over those with "mass", a block on one a thousandth as stiff."""
    for (dim, n), dtype in itertools.product(((2, 16), (3, 8)), DTYPES):
        products = []
        for preconditioner in ("mass", "stiffness"):
            sim = piled(dim, n, 1000.0, preconditioner=preconditioner, dtype=dtype)
            sim.step(6)
            products.append(float(sim.history["products"][1:].mean()))
        notes = "{:.0f} to {:.0f} per step".format(*products)
        yield Row(f"{dim}-D, n = {n}, {dtype}", products[1] / products[0], at_most(0.6), notes)


# ---- speed ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Race:
    """Implicit against explicit steps to the same end time: medians over the repeats."""

    faster: float  # time of explicit over that of implicit steps
    explicit_steps: float  # per implicit step
    sound: bool  # every particle is in the box; the energy has not grown


def race(dim: int, n: int, ratio: float, dtype: str, *, steps: int = 10, repeats: int = 3) -> Race:
    """Runs a falling block both ways, one after the other."""
    ratios, end, sound = [], steps * MOTION / n / SPEED, True
    for _ in range(repeats):
        seconds = {}
        for name in ("implicit-euler", "explicit"):
            sim = falling(dim, n, ratio, name, dtype=dtype)
            energy_before, start = sim.totals().energy, time.thread_time()
            sim.run(end)
            seconds[name] = time.thread_time() - start
            x = np.asarray(sim.particles.x)
            sound &= bool(np.isfinite(x).all() and x.min() >= 0 and x.max() <= 2)
            sound &= sim.totals().energy <= energy_before * (1 + 1e-3)
        ratios.append(seconds["explicit"] / seconds["implicit-euler"])
    return Race(statistics.median(ratios), sim.steps / steps, sound)


def drop(quick: bool) -> Rows:
    """How much faster implicit steps of 0.4 cells are than explicit ones with dt="auto", in a falling block."""
    for ratio, required in ((400, 2.5), (1000, 7.0)):
        for (dim, n), dtype in itertools.product(((2, 32), (3, 12)), DTYPES):
            found = race(dim, n, ratio, dtype, repeats=1 if quick else 5)
            notes = f"{found.explicit_steps:.0f} explicit steps to one"
            label = f"{dim}-D, n = {n}, c/|v| = {ratio}, {dtype}"
            yield Row(label, found.faster, at_least(required), notes)
            yield Row(f"{label}: blows up", float(not found.sound), at_most(0))


def crossover(quick: bool) -> Rows:
    """The c/|v| from which on implicit steps of 0.4 cells are faster than explicit ones, in a falling block."""
    sizes = ((2, 16), (3, 12)) if quick else ((2, 16), (2, 32), (2, 64), (2, 128), (3, 12), (3, 24))
    for dtype, (dim, n) in itertools.product(DTYPES, sizes):
        repeats = 1 if quick or n**dim > 4096 else 3
        ratio, looked = 100.0, {}
        while len(looked) < 6 and not min(looked.values(), default=1.0) < 1 <= max(looked.values()):
            looked[ratio] = faster = race(dim, n, ratio, dtype, repeats=repeats).faster
            ratio /= faster * (
                1.1 if faster > 1 else 0.9
            )  # the gain is nearly proportional to c/|v|; a little beyond
        # log-linear between the nearest to either side
        below = max((r for r in looked if looked[r] < 1), key=looked.__getitem__, default=np.nan)
        above = min((r for r in looked if looked[r] >= 1), key=looked.__getitem__, default=np.nan)
        cross = np.nan
        if np.isfinite(below + above):
            share = np.log(looked[below]) / (np.log(looked[below]) - np.log(looked[above]))
            cross = below * (above / below) ** share
        notes = "times as fast at " + ", ".join(f"{r:.0f}: {looked[r]:.2f}" for r in sorted(looked))
        yield Row(f"{dim}-D, n = {n}, {dtype}", float(cross), None, notes)


# ---- single precision, snow ----------------------------------------------------------------------------


def float32(quick: bool) -> Rows:
    """Largest residual of a falling block in single precision at tolerance 1e-4."""
    sizes = ((2, 16),) if quick else ((2, 16), (2, 32), (3, 12))
    for (dim, n), ratio in itertools.product(sizes, (25, 50, 100, 200, 400, 1000, 4000)):
        sim = falling(dim, n, ratio, dtype="float32", tolerance=1e-4)
        label = f"{dim}-D, n = {n}, c/|v| = {ratio}"
        limit = at_most(1e-4) if ratio <= 400 else None
        try:
            sim.step(10)
        except mpm.ConvergenceError as error:
            yield Row(label, float(error.residuals[-1]), at_most(0), f"raised in step {sim.steps}")
            continue
        residual = sim.history["residual"][1:]
        above = int((residual > 1e-4).sum())
        notes = f"{above} of {len(residual)} steps above it, {sim.health['stagnated']} stagnated"
        yield Row(label, float(residual.max()), limit, notes)
        yield Row(f"{label}: above it, not counted as stagnated", above - sim.health["stagnated"], at_most(0))


@dataclass(frozen=True, slots=True)
class Spread:
    """Snow after it has been thrown: medians over the random places of its particles."""

    half_width: float  # of what has spread, without the outermost hundredth [m]
    plastic: float  # mean of J_P
    steps: float
    seconds: float


def throw(rngs: range, integrator: str = "implicit-euler", **options: object) -> Spread:
    """Throws snow until the explicit ball is twice as wide."""
    found = []
    for rng in rngs:
        sim = snowball(26, integrator, rng=rng, **options)
        start = time.thread_time()
        sim.run(0.06)
        used = time.thread_time() - start
        width = np.quantile(np.abs(np.asarray(sim.particles.x)[:, 0] - 0.5), 0.99)
        found.append((width, np.asarray(sim.particles.Jp).mean(), sim.steps, used))
    return Spread(*(float(value) for value in np.median(found, axis=0)))


def snow(quick: bool) -> Rows:
    """Half-width [m] of snow thrown on a floor, and its mean J_P; N: of the bound of snow that has not hardened."""
    rngs = range(1 if quick else 3)
    bound = snowball(26, "explicit").stable_dt().dt
    explicit = throw(rngs, "explicit")
    runs = {
        "explicit": explicit,
        "explicit, N = 1/30": throw(rngs, "explicit", dt=bound / 30),
        "implicit-euler, N = 1": throw(rngs, dt=bound),
        "implicit-euler, N = 3": throw(rngs, dt=3 * bound),
        "implicit-euler, automatic step": throw(rngs),
    }
    for label, run in runs.items():
        limited = "automatic" in label
        notes = f"{run.steps:.0f} steps, {run.seconds / explicit.seconds:.1f} times the time"
        yield Row(
            f"{label}: half-width",
            run.half_width,
            within(0.1, explicit.half_width) if limited else None,
            notes,
        )
        yield Row(f"{label}: J_P", run.plastic, within(0.1, explicit.plastic) if limited else None)


GRAVITY = 9.81


def column(share: float, n: int) -> mpm.Simulation:
    """A neo-Hookean column, 1 m high, between planes of symmetry; its weight over its section is `share` of E."""
    scene = mpm.Scene((0, 0), (4 / n, 1.5), gravity=(0, -GRAVITY), walls="mirror")
    material = mpm.materials.NeoHookean(E=DENSITY * GRAVITY / share, nu=0.0, density=DENSITY)
    scene.add(mpm.shapes.Box((0, 0), (4 / n, 1)), material)
    return mpm.Simulation(scene, dx=1 / n, sampling="lattice", threads=1)


def beam(sag: float, cells: int = 8, aspect: int = 8, **options: object) -> tuple[mpm.Simulation, float]:
    """A cantilever, 1 m long, that linear theory bends by `sag`, in plane strain; its first period [s]."""
    dx = 1 / (cells * aspect)
    thick = cells * dx
    plane = 1.5 * DENSITY * GRAVITY / (sag * thick**2)  # E/(1 - nu^2)
    scene = mpm.Scene((0, 0), (1 + 8 * dx, 4 * thick), gravity=(0, -GRAVITY), walls="sticky")
    material = mpm.materials.FixedCorotated(E=plane * (1 - NU**2), nu=NU, density=DENSITY)
    scene.add(mpm.shapes.Box((0, 2 * thick), (1, 3 * thick)), material)
    omega = 3.516 * np.sqrt(plane * thick**2 / 12 / DENSITY)
    return mpm.Simulation(scene, dx=dx, sampling="lattice", threads=1, **options), 2 * np.pi / omega


def equilibrate(quick: bool) -> Rows:
    """Heights of columns and sags of beams under their weight, by `Simulation.equilibrate`, beside theory."""
    for share, height in ((0.05, 0.97541651), (0.1, 0.95166418), (0.5, 0.79022882), (1.0, 0.64779357)):
        sim = column(share, 16 if quick else 32)
        found = sim.equilibrate()
        y, J = np.array(sim.particles.x)[:, 1], np.array(sim.particles.J)
        top = float(y.max() + J[y.argmax()] * sim.dx / 4)
        label = f"height of a column, rho g H/E = {share:g}"
        yield Row(label, top, within(0.005, height), f"{found.steps} pseudo-steps")
    for sag in (0.002, 0.02, 0.1):
        sim, period = beam(sag)
        first = np.array(sim.particles.x)
        end = first[:, 0] > first[:, 0].max() - 1e-9
        explicit_steps = period / (0.6 * sim.stable_dt().dt)
        found = sim.equilibrate()
        tip = float((first - sim.particles.x)[end, 1].mean())
        still, _ = beam(sag, transfer="pic")  # PIC takes the energy
        still.run((1 if quick else 4) * period)
        rest = float((first - still.particles.x)[end, 1].mean())
        label, far = f"beam, sag {sag:g}", sag > 0.05  # where linear theory does not hold, nor do the limits
        yield Row(f"{label}: residual", found.residual, at_most(0.01), f"{found.steps} pseudo-steps")
        yield Row(
            f"{label}: tip over theory with shear", tip / (1.0179 * sag), None if far else within(0.05, 1)
        )
        yield Row(f"{label}: tip over explicit rest", tip / rest, None if far else within(0.01, 1))
        work = 0.62 * found.products / explicit_steps  # a product in explicit steps, see `cost`
        yield Row(f"{label}: work in first periods of explicit steps", work, None if far else at_most(2.5))


# A table is a function; the first line of its docstring is the title.
TABLES: dict[str, Callable[[bool], Rows]] = {
    "amplitude": amplitude,
    "order": order,
    "momentum": momentum,
    "energy": energy,
    "cost": cost,
    "counts": counts,
    "contrast": contrast,
    "drop": drop,
    "crossover": crossover,
    "float32": float32,
    "snow": snow,
    "equilibrate": equilibrate,
}


def title(name: str) -> str:
    """What a table shows."""
    return (TABLES[name].__doc__ or "").split("\n")[0]


def show(names: Sequence[str], quick: bool) -> int:
    """Print tables in Markdown, row by row as they are measured. Returns the number of misses."""
    missed = 0
    for name in names:
        print(f"\n{name}: {title(name)}\n\n| case | measured | required | | |\n|---|---|---|---|---|")
        for row in TABLES[name](quick):
            print(row, flush=True)
            missed += not row.met
    return missed


def main() -> None:
    """Print the tables."""
    listed = "\n".join(f"    {name:<11}{title(name)}" for name in TABLES)
    parser = argparse.ArgumentParser(
        description=f"{__doc__}\ntables:\n{listed}", formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a table; default: all")
    parser.add_argument("--quick", action="store_true", help="fewer cases and repeats; no figures to quote")
    chosen = parser.parse_args()
    for name in chosen.names:
        if name not in TABLES:
            parser.error(f"{name}: must be one of {', '.join(TABLES)}")
    print(f"{config.processor()}, {config.isa()}{', quick: no figures to quote' if chosen.quick else ''}")
    raise SystemExit(bool(show(chosen.names or list(TABLES), chosen.quick)))


if __name__ == "__main__":
    main()
