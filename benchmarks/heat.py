"""Prints the errors of conduction of heat against closed forms, how it conserves heat, and what it costs.

    python benchmarks/heat.py [rod|given|implicit|gauss|flux|transfer|colliders|stefan|conserve|spin|expand
                               |bimetal|bilayer|work|friction|source|follow|snowman|speed ...]

`docs/design/025-heat.md` has the reasons. Errors are the largest ones over the particles. ``--dtype float32`` shows
single precision, ``--dim 3`` three dimensions, ``--kernel cubic`` the wider kernel. All takes about a minute in 2-D.
"""

import argparse
import itertools
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import rows
from rows import Row

import mpm
from mpm.shapes import Ball, Box

Array = npt.NDArray[np.float64]
BASE, RISE = 300.0, 100.0  # [K]
SHARE = 0.1  # of dx²/alpha: the time step


def conductor(
    k: float = 1.0, c: float = 1.0, E: float = 1.0, density: float = 1.0
) -> mpm.materials.NeoHookean:
    """A soft body, so that its waves do not bound the time step."""
    return mpm.materials.NeoHookean(E=E, nu=0.0, density=density, thermal=mpm.Thermal(k, c, BASE))


def rod(
    n: int,
    end: float,
    args: argparse.Namespace,
    walls: dict[str, Any] | None = None,
    steps: int | None = None,
    **options: Any,
) -> mpm.Simulation:
    """A rod of unit length and n cells along x, of four cells across, whose steps hit `end`."""
    dx = 1 / n
    size = (1.0, *[4 * dx] * (args.dim - 1))
    scene = mpm.Scene((0,) * args.dim, size, walls=walls or {})
    scene.add(Box((0,) * args.dim, size), conductor())
    steps = steps or math.ceil(end / (SHARE * dx * dx) - 1e-9)
    return mpm.Simulation(scene, dx=dx, dt=end / steps, dtype=args.dtype, kernel=args.kernel, **options)


def error_of(sim: mpm.Simulation, shape: Array, amplitude: float) -> float:
    """The largest error over the amplitude, where the temperature is to be this share of `RISE` times a shape."""
    found = (np.asarray(sim.particles.temperature).astype(float) - BASE) / RISE
    return float(np.abs(found - shape * amplitude).max() / amplitude)


def orders(errors: list[float]) -> list[float]:
    return [math.log2(a / b) for a, b in itertools.pairwise(errors)]


def report(name: str, errors: list[float], least: float) -> Iterator[Row]:
    shown = " ".join(f"{error:.5f}" for error in errors)
    for number, order in enumerate(orders(errors)):
        yield f"{name}: errors {shown}, order {number + 1}", order, least, 4.0


def rods(args: argparse.Namespace) -> Iterator[Row]:
    """cos(pi x) exp(-pi² t) between insulated ends."""
    end, errors = 0.05, []
    for n in (10, 20, 40):
        sim = rod(n, end, args)
        x = np.asarray(sim.particles.x)[:, 0].astype(float)
        sim.particles.temperature[:] = BASE + RISE * np.cos(np.pi * x)
        sim.run(end)
        errors.append(error_of(sim, np.cos(np.pi * x), math.exp(-(np.pi**2) * end)))
    yield from report("insulated rod", errors, 1.8 if args.dtype == "float32" else 1.9)


def given(args: argparse.Namespace) -> Iterator[Row]:
    """sin(pi x) exp(-pi² t) between ends of given temperature."""
    end, errors = 0.05, []
    for n in (10, 20, 40):
        wall = mpm.Wall("slip", temperature=BASE)
        sim = rod(n, end, args, {"x": wall})
        x = np.asarray(sim.particles.x)[:, 0].astype(float)
        sim.particles.temperature[:] = BASE + RISE * np.sin(np.pi * x)
        sim.run(end)
        errors.append(error_of(sim, np.sin(np.pi * x), math.exp(-(np.pi**2) * end)))
        gained = np.diff(sim.history["heat"]) - sim.history["wall_heat"][1:]
    yield from report("given temperatures", errors, 1.8 if args.dtype == "float32" else 1.9)
    small = 1e-5 if args.dtype == "float32" else 1e-12
    yield "given temperatures: heat - wall_heat", abs(float(gained.sum())) / BASE, 0.0, small


def implicit(args: argparse.Namespace) -> Iterator[Row]:
    """Both rods, in long steps, each of which is one solve; backward Euler has an error of its own."""
    end, n = 0.05, 40
    small = 1e-5 if args.dtype == "float32" else 1e-12
    for (name, walls, shape, slope), share in itertools.product(
        (
            ("insulated", {}, np.cos, lambda x: -np.sin(x)),
            ("given temperatures", {"x": mpm.Wall("slip", temperature=BASE)}, np.sin, np.cos),
        ),
        (1, 10, 40),
    ):
        steps = round(end * n * n / share)
        sim = rod(
            n,
            end,
            args,
            walls,
            steps=steps,
            conduction="implicit",
            integrator="implicit-euler",
            tolerance=1e-3,
        )
        x = np.asarray(sim.particles.x)[:, 0].astype(float)
        sim.particles.temperature[:] = BASE + RISE * shape(np.pi * x)
        sim.particles.temperature_gradient[:, 0] = RISE * np.pi * slope(np.pi * x)
        sim.run(end)
        exact = math.exp(-(np.pi**2) * end)
        own = (1 + np.pi**2 * end / steps) ** -steps / exact - 1
        error = error_of(sim, shape(np.pi * x), exact)
        what = f"implicit, {name}, steps of {share} dx²/alpha: error {error:.4f}, over that of backward Euler"
        yield f"{what}, {own:.4f}", error - own, 0.0, 0.003
        heat, wall = sim.history["heat"], sim.history["wall_heat"].sum()
        yield "its heat - wall_heat", abs(heat[-1] - heat[0] - wall) / heat[0], 0.0, small


def gauss(args: argparse.Namespace) -> Iterator[Row]:
    """A Gaussian that spreads in a square (in 3-D: of four cells' depth), on the lattice and on jittered particles."""
    start = 0.004
    for sampling, least in (("lattice", 1.6), ("stratified", 0.7)):
        errors = []
        for n in (16, 32, 64):
            dx = 1 / n
            size = (1.0, 1.0, 4 * dx)[: args.dim]
            scene = mpm.Scene((0,) * args.dim, size)
            scene.add(Box((0,) * args.dim, size), conductor())
            steps = math.ceil(start / (SHARE * dx * dx) - 1e-9)
            sim = mpm.Simulation(
                scene, dx=dx, dt=start / steps, sampling=sampling, dtype=args.dtype, kernel=args.kernel
            )
            x = np.asarray(sim.particles.x)[:, :2].astype(float)

            square = ((x - 0.5) ** 2).sum(1)
            sim.particles.temperature[:] = BASE + RISE * np.exp(-square / (4 * start))
            sim.run(start)
            errors.append(error_of(sim, np.exp(-square / (8 * start)), 0.5))
        yield from report(f"Gaussian, {sampling}", errors, least)


def flux(args: argparse.Namespace) -> Iterator[Row]:
    """A half-space that a flux heats; the exact solution by the complementary error function."""
    end, q = 0.02, 2.0 * RISE
    errors = []
    for n in (20, 40):
        sim = rod(n, end, args, {"x-": mpm.Wall("slip", flux=q)})
        x = np.asarray(sim.particles.x)[:, 0].astype(float)
        sim.run(end)
        root = math.sqrt(end)
        exact = q * np.array(
            [
                2 * root / math.sqrt(math.pi) * math.exp(-((X / 2 / root) ** 2)) - X * math.erfc(X / 2 / root)
                for X in x
            ]
        )
        errors.append(error_of(sim, exact / exact.max(), float(exact.max()) / RISE))
        area = (4 / n) ** (args.dim - 1)
        heat, wall = sim.history["heat"], sim.history["wall_heat"]
        small = 1e-6 if args.dtype == "float32" else 1e-12
        yield f"flux, N = {n}: heat in / exact - 1", abs(wall.sum() / (q * area * end) - 1), 0.0, small
        yield (
            f"flux, N = {n}: (heat - wall_heat) / heat",
            abs(heat[-1] - heat[0] - wall.sum()) / heat[0],
            0.0,
            1e-6 if args.dtype == "float32" else 1e-12,
        )
    yield (
        f"flux: error at N = 20 over that at N = 40 ({errors[0]:.5f}, {errors[1]:.5f})",
        errors[0] / errors[1],
        3,
        9,
    )


def between_colliders(n: int, end: float, args: argparse.Namespace, **surface: Any) -> mpm.Simulation:
    """A rod of unit length and n cells along x between two colliders that do the same."""
    dx, rest = 1 / n, args.dim - 1
    lower, upper = (-4 * dx, *[0.0] * rest), (1 + 4 * dx, *[4 * dx] * rest)
    scene = mpm.Scene(lower, upper)
    scene.add(Box((0.0,) * args.dim, (1.0, *upper[1:])), conductor())
    for place, normal in ((0.0, 1), (1.0, -1)):
        shape = mpm.shapes.HalfSpace((place, *[0.0] * rest), (normal, *[0] * rest))
        scene.add_collider(shape, contact="sticky", **surface)
    steps = math.ceil(end / (SHARE * dx * dx) - 1e-9)
    return mpm.Simulation(scene, dx=dx, dt=end / steps, dtype=args.dtype, kernel=args.kernel)


def cooled(x: Array, t: float, biot: float) -> Array:
    """cos(z (1 - x)) exp(-z² t), summed over z tan z = Bi: a slab 0 < x < 2, cooled at both ends."""
    total = np.zeros_like(x)
    for k in range(60):
        low, high = k * math.pi, k * math.pi + math.pi / 2 - 1e-12
        for _ in range(60):
            z = (low + high) / 2
            low, high = (z, high) if z * math.tan(z) < biot else (low, z)
        total += (
            4
            * math.sin(low)
            / (2 * low + math.sin(2 * low))
            * math.exp(-low * low * t)
            * np.cos(low * (1 - x))
        )
    return total


def transfer(args: argparse.Namespace) -> Iterator[Row]:
    """Newton's law of cooling, at walls and at colliders."""
    end = 0.05
    for biot, by in itertools.product((0.1, 1.0, 1e6), ("walls", "colliders")):
        errors = []
        for n in (10, 20, 40):
            surface = (2 * biot, BASE)
            if by == "walls":
                sim = rod(n, end, args, {"x": mpm.Wall("slip", transfer=surface)})
            else:
                sim = between_colliders(n, end, args, transfer=surface)
            x = np.asarray(sim.particles.x)[:, 0].astype(float)
            sim.particles.temperature[:] = BASE + RISE
            sim.run(end)
            errors.append(error_of(sim, cooled(2 * x, 4 * end, biot), 1.0))
        yield from report(f"{by}, Bi = {biot:g}", errors, 0.8)


def colliders(args: argparse.Namespace) -> Iterator[Row]:
    """sin(pi x) exp(-pi² t) between colliders of given temperature, and the heat of a flux."""
    end, errors = 0.05, []
    for n in (20, 40, 80):
        sim = between_colliders(n, end, args, temperature=BASE)
        x = np.asarray(sim.particles.x)[:, 0].astype(float)
        sim.particles.temperature[:] = BASE + RISE * np.sin(np.pi * x)
        sim.run(end)
        errors.append(error_of(sim, np.sin(np.pi * x), math.exp(-(np.pi**2) * end)))
    yield from report("given temperatures of colliders", errors, 0.8)
    small = 1e-6 if args.dtype == "float32" else 1e-12
    heat, given = sim.history["heat"], sim.history["collider_heat"]
    yield (
        "given temperatures of colliders: heat - collider_heat",
        abs(heat[-1] - heat[0] - given.sum()) / heat[0],
        0.0,
        small,
    )
    sim = between_colliders(20, end, args, flux=2.0 * RISE)
    sim.run(end)
    exact = 2 * 2.0 * RISE * end * (4 / 20) ** (args.dim - 1)
    yield (
        "flux of colliders: heat in / exact - 1",
        abs(sim.history["collider_heat"].sum() / exact - 1),
        0.0,
        small,
    )


def front(stefan: float, cold: float, t: float) -> float:
    """How far a solid melts from a hot end, by bisection; `cold`: how far it is below melting, over the hot side."""

    def excess(x: float) -> float:
        hot = math.exp(-x * x) / math.erf(x)
        return hot - cold * math.exp(-x * x) / math.erfc(x) - x * math.sqrt(math.pi) / stefan

    low, high = 1e-6, 5.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return 2 * low * math.sqrt(t)


def stefan(args: argparse.Namespace) -> Iterator[Row]:
    """The front of a solid that melts from a hot end: Stefan's problem, with the solid at and below melting."""
    end = 0.04
    sets = [(n, 1.0, 0.0, "lattice", 1.0, limit) for n, limit in ((20, 0.03), (40, 0.01), (80, 0.004))]
    sets += [
        (40, 0.1, 0.0, "lattice", 1.0, 0.03),
        (40, 1.0, 1.0, "lattice", 1.0, 0.03),
        (40, 1.0, 0.0, "stratified", 1.0, 0.03),
        *((n, 1.0, 0.0, "lattice", 4.0, 1.6 / n) for n in (20, 40, 80)),
    ]
    for n, number, cold, sampling, k, limit in sets:
        dx = 1 / n
        size = (1.0, *[4 * dx] * (args.dim - 1))
        melting = mpm.Melting(BASE, RISE / number, conductivity=1)
        thermal = mpm.Thermal(k, 1, BASE - RISE * cold, melting=melting)
        scene = mpm.Scene((0,) * args.dim, size, walls={"x-": mpm.Wall("slip", temperature=BASE + RISE)})
        scene.add(Box((0,) * args.dim, size), mpm.materials.NeoHookean(E=1, nu=0, density=1, thermal=thermal))
        steps = math.ceil(end / (SHARE * dx * dx) - 1e-9)
        sim = mpm.Simulation(
            scene, dx=dx, dt=end / steps, dtype=args.dtype, kernel=args.kernel, sampling=sampling
        )
        sim.run(end)
        mass = np.asarray(sim.particles.mass).astype(float)
        melted = float((mass * np.asarray(sim.particles.liquid_fraction)).sum() / mass.sum())
        exact = front(number, cold, end)
        what = f"St {number:g}, N = {n}, {sampling}, solid {RISE * cold:g} K below"
        what += f", which conducts {k:g} times as well" * (k != 1) + ": front / exact - 1"
        yield what, abs(melted / exact - 1), 0.0, limit
        heat, wall = sim.history["heat"], sim.history["wall_heat"].sum()
        small = 1e-5 if args.dtype == "float32" else 1e-12
        yield "its heat - wall_heat", abs(heat[-1] - heat[0] - wall) / heat[0], 0.0, small


def conserve(args: argparse.Namespace) -> Iterator[Row]:
    """Random temperatures in bouncing balls of two materials."""
    d = args.dim
    scene = mpm.Scene((0,) * d, (1,) * d, gravity=(0,) * (d - 1) + (-9.81,), walls="separate")
    scene.add(Ball((0.35,) * d, 0.15), conductor(k=4e-3, c=2.0, E=1e3), velocity=(1,) * d)
    scene.add(Ball((0.7,) * d, 0.15), conductor(k=1e-3, E=1e3), velocity=(-1,) * d)
    sim = mpm.Simulation(scene, dx=1 / 32, dtype=args.dtype, kernel=args.kernel)
    rng = np.random.default_rng(1)
    sim.particles.temperature[:] = rng.uniform(250, 350, len(sim.particles))
    spread = np.ptp(np.asarray(sim.particles.temperature))
    sim.run(0.5)
    heat, T = sim.history["heat"], np.asarray(sim.particles.temperature)
    small = 1e-5 if args.dtype == "float32" else 1e-12
    yield f"bouncing balls, {sim.steps} steps: drift of heat", abs(heat[-1] / heat[0] - 1), 0.0, small
    yield "bouncing balls: range of temperatures over that at the start", np.ptp(T) / spread, 0.0, 1.0


def spin(args: argparse.Namespace) -> Iterator[Row]:
    """A hot spot in a spinning disc without conduction."""
    d = args.dim
    scene = mpm.Scene((0,) * d, (1,) * d)
    omega = 2 * np.pi if d == 2 else (0, 0, 2 * np.pi)
    scene.add(Ball((0.5,) * d, 0.3), conductor(k=0.0, E=1e4), angular_velocity=omega)
    sim = mpm.Simulation(scene, dx=1 / 24, dtype=args.dtype, kernel=args.kernel)
    x = np.asarray(sim.particles.x).astype(float)
    T = BASE + 100 * np.exp(-((x - 0.5 - 0.1) ** 2).sum(1) / 0.005)
    sim.particles.temperature[:] = T
    before = np.asarray(sim.particles.temperature).copy()
    sim.run(1.0 if d == 2 else 0.2)
    changed = np.abs(np.asarray(sim.particles.temperature) - before).max()
    yield f"spinning hot spot, k = 0, {sim.steps} steps: change of any temperature", float(changed), 0.0, 0.0


def expand(args: argparse.Namespace) -> Iterator[Row]:
    """The stretch of a free bar, and the stress of a held one, whose ends do not move."""
    d, a, warmer = args.dim, 1e-4, 100.0
    for held in (False, True):
        law = mpm.materials.NeoHookean(E=1e4, nu=0.0, density=1000, thermal=mpm.Thermal(30, 1, BASE, a))
        box = Box((0.0 if held else 0.25,) + (0.25,) * (d - 1), (1.0 if held else 0.75,) + (0.75,) * (d - 1))
        scene = mpm.Scene((0,) * d, (1,) * d)
        scene.add(box, law)
        sim = mpm.Simulation(scene, dx=1 / 8, damping=40.0, dtype=args.dtype, kernel=args.kernel)
        before = np.ptp(np.asarray(sim.particles.x).astype(float), axis=0)
        sim.particles.temperature[:] = BASE + warmer
        sim.run(1.0)
        if held:
            stress = float(np.asarray(sim.compute("stress"))[:, 0, 0].mean())
            yield "held bar: stress / (-E a dT)", stress / (-1e4 * a * warmer), 0.95, 1.05
        else:
            stretch = np.ptp(np.asarray(sim.particles.x).astype(float), axis=0) / before
            yield "free block: (stretch - 1) / (a dT)", float(stretch.mean() - 1) / (a * warmer), 0.99, 1.01


def bent(args: argparse.Namespace, field: str, value: float, active: Any, passive: Any) -> float:
    """The curvature of a free strip of two layers, of which one expands, times its thickness."""
    d, thickness = args.dim, 0.25
    length, dx, E, density = 8 * thickness, 1 / 32, 1e4, 1000.0
    lower = np.array([length / 8, *[0.0] * (d - 2), 1.5 * thickness])
    size = np.array([length, *[4 * dx] * (d - 2), thickness / 2])
    scene = mpm.Scene((0,) * d, (1.25 * length, *[4 * dx] * (d - 2), 4 * thickness))
    up = np.eye(d)[-1] * thickness / 2
    for k, of in enumerate((passive, active)):
        law = mpm.materials.NeoHookean(E=E, nu=0.0, density=density, **of)
        scene.add(Box(lower + k * up, lower + k * up + size), law)
    slowest = 22.4 * math.sqrt(E / density / 12) * thickness / length**2  # bending of a free bar [1/s]
    sim = mpm.Simulation(scene, dx=dx, damping=2 * slowest, dtype=args.dtype, kernel=args.kernel)
    x = np.asarray(sim.particles.x).astype(float)
    near = (abs(x - lower - up - size / 2 * np.eye(d)[0])[:, [0, -1]] < (0.35 * length, 0.3 * dx)).all(axis=1)
    sim.particles[field][:] = value
    sim.run(6 * np.pi / slowest)
    x = np.asarray(sim.particles.x).astype(float)[near]
    return float(2 * abs(np.polyfit(x[:, 0], x[:, -1], 2)[0]) * thickness)


def bimetal(args: argparse.Namespace) -> Iterator[Row]:
    """Timoshenko's theory of 1925: two metals, of which one expands."""
    warmer, free = 100.0, 0.02
    cold, warm = ({"thermal": mpm.Thermal(0, 1, BASE, a)} for a in (0.0, free / warmer))
    found = bent(args, "temperature", BASE + warmer, warm, cold)
    yield "bimetal: curvature / (3 a dT / (2 thickness))", found / (1.5 * free), 0.97, 1.03


def bilayer(args: argparse.Namespace) -> Iterator[Row]:
    """The same of a layer that swells on one into which nothing passes, and the scene of the gallery."""
    full, free = 50.0, 0.02
    for name, D, swelling in (("a number", 0.0, free / full), ("a table", 1e-3, ([0.0, full], [0.0, free]))):
        found = bent(args, "concentration", full, {"solute": mpm.Solute(D, swelling)}, {})
        yield (
            f"bilayer that swells by {name}: curvature / (3 e / (2 thickness))",
            found / (1.5 * free),
            0.97,
            1.03,
        )
    scene = mpm.gallery.curling_bilayer(swelling=free, gravity=0.0)
    entry = mpm.gallery.get("curling-bilayer")
    sim = entry.simulation(scene=scene, scale=2, dtype=args.dtype, kernel=args.kernel)
    sim.run(6.0)
    x = np.asarray(sim.particles.x).astype(float)
    near = abs(x[:, 0] - np.median(x[:, 0])) < 0.25
    curvature = 2 * np.polyfit(x[near, 0], x[near, 1], 2)[0]
    wet = np.asarray(sim.particles.concentration)[near & (np.asarray(sim.particles.material) == 0)].mean()
    yield (
        "curling bilayer: curvature / (3 e / (2 thickness))",
        curvature / (1.5 * free * wet * 16),
        0.95,
        1.05,
    )
    taken = sim.history["solute"][-1] / sim.history["wall_solute"].sum() - 1
    yield "its solute - wall_solute", abs(taken), 0.0, 1e-5 if args.dtype == "float32" else 1e-12


def skater(args: argparse.Namespace, by: str) -> mpm.Simulation:
    """A block that slides on a wall or on a collider."""
    d, height = args.dim, 0.0 if by == "a wall" else 1 / 8
    floor = mpm.Wall("separate", friction=0.4)
    scene = mpm.Scene(
        (0,) * d,
        (1.0, *[0.5] * (d - 1)),
        gravity=(0,) * (d - 1) + (-9.81,),
        walls={f"{'xyz'[d - 1]}-": floor},
    )
    if height:
        top = mpm.shapes.HalfSpace((0,) * (d - 1) + (height,), (0,) * (d - 1) + (1,))
        scene.add_collider(top, contact="separate", friction=0.4)
    deep = [(0.1, 0.35)] * (d - 2)
    low, high = zip((0.2, 0.6), *deep, (height, height + 0.2), strict=True)
    law = conductor(1.0, 1.0, E=1e6, density=1000)
    scene.add(Box(low, high), law, velocity=(1.0,) + (0,) * (d - 1))
    return mpm.Simulation(scene, dx=1 / 24, dtype=args.dtype, kernel=args.kernel)


def friction(args: argparse.Namespace) -> Iterator[Row]:
    """Blocks that slide on a plate, which shares the work of friction, on a wall and on a collider: heat gained."""
    d = args.dim
    scene = mpm.Scene(
        (0,) * d,
        (1.0, *[0.5] * (d - 1)),
        gravity=(0,) * (d - 1) + (-9.81,),
        contact=mpm.Contact("separate", friction=0.4),
    )
    deep = [(0.1, 0.35)] * (d - 2)
    for c, (left, right), (bottom, top), v in (
        (2, (0.05, 0.95), (0, 0.125), 0),
        (1, (0.2, 0.4), (0.125, 0.3), 1),
    ):
        low, high = zip((left, right), *deep, (bottom, top), strict=True)
        scene.add(Box(low, high), conductor(1.0, c, E=1e5, density=1000), velocity=(v,) + (0,) * (d - 1))
    sim = mpm.Simulation(scene, dx=1 / 24, dtype=args.dtype, kernel=args.kernel)
    sim.run(0.1)
    heat, work = sim.history["heat"], float(sim.history["friction_work"].sum())
    yield "sliding block: work of friction / kinetic energy", work / sim.history["kinetic"][0], 0.3, 1.0
    small = 1e-6 if args.dtype == "float32" else 1e-12
    yield "sliding block: heat - friction_work", abs(heat[-1] - heat[0] - work) / heat[0], 0.0, small
    for by in ("a wall", "a collider"):
        sim = skater(args, by)
        sim.run(0.1)
        history = sim.history
        heat, given = history["heat"], float(history["friction_heat"].sum())
        yield f"block on {by}: heat - friction_heat", abs(heat[-1] - heat[0] - given) / heat[0], 0.0, small
        energy = sum(history[name] for name in ("kinetic", "elastic", "gravitational"))
        lost = float(energy[0] - energy[-1])
        yield f"block on {by}: friction_heat / mechanical energy lost", given / lost, 0.95, 1.0


def work(args: argparse.Namespace) -> Iterator[Row]:
    """Blocks of metal that strike walls: what they lose heats them."""
    d = args.dim
    thermal = mpm.Thermal(0.5, 2.0, BASE, taylor_quinney=0.9)
    metal = mpm.materials.VonMises(E=1e5, nu=0.3, density=100, yield_stress=500, thermal=thermal)
    scene = mpm.Scene((0,) * d, (1,) * d)
    scene.add(Box((0.1,) * d, (0.4,) * d), metal, velocity=(-4,) * d)
    sim = mpm.Simulation(scene, dx=1 / 16, dissipation=True, dtype=args.dtype, kernel=args.kernel)
    sim.run(0.1)
    lost = sim.history["plastic_dissipation"] + sim.history["viscous_dissipation"]
    gained = sim.history["heat"] - sim.history["heat"][0]
    small = 1e-2 if args.dtype == "float32" else 1e-9
    yield (
        "heat gained / share of what was dissipated before - 1",
        abs(gained[-1] / (0.9 * lost[-2]) - 1),
        0.0,
        small,
    )


def source(args: argparse.Namespace) -> Iterator[Row]:
    """Heat that comes up evenly: linear in time without walls, a parabola between cooled ones."""
    errors, q, end = [], 8.0 * RISE, 0.5
    small = 1e-5 if args.dtype == "float32" else 1e-12
    for n in (10, 20, 40):
        dx = 1 / n
        size = (1.0, *[4 * dx] * (args.dim - 1))
        scene = mpm.Scene((0,) * args.dim, size, walls={"x": mpm.Wall("slip", temperature=BASE)})
        scene.add(Box((0,) * args.dim, size), conductor())
        scene.add_heat_source("body0", source=q)
        steps = math.ceil(end / (SHARE * dx * dx) - 1e-9)
        sim = mpm.Simulation(scene, dx=dx, dt=end / steps, dtype=args.dtype, kernel=args.kernel)
        x = np.asarray(sim.particles.x)[:, 0].astype(float)
        sim.particles.temperature[:] = BASE + q / 2 * x * (1 - x)
        sim.run(end)
        errors.append(error_of(sim, 4 * x * (1 - x), 1.0))
        history = sim.history
        gained = history["heat"][-1] - history["heat"][0]
        given = history["wall_heat"].sum() + history["source_heat"].sum()
    yield from report("source between cooled walls, parabola", errors, 1.7)
    rounded = 1e-3 if args.dtype == "float32" else 1e-12  # 8000 small increments of T
    yield "its heat - wall_heat - source_heat", abs(float(gained - given)) / history["heat"][0], 0.0, rounded
    scene = mpm.Scene((0,) * args.dim, (1,) * args.dim)
    scene.add(Box((0.25,) * args.dim, (0.75,) * args.dim), conductor(c=2.0))
    scene.add_heat_source("body0", source=q)
    sim = mpm.Simulation(scene, dx=1 / 8, dt=1e-3, dtype=args.dtype, kernel=args.kernel)
    sim.step(100)
    rise = np.asarray(sim.particles.temperature).astype(float) - BASE
    yield (
        "source without walls: rise / exact - 1",
        float(np.abs(rise / (q * 0.1 / 2) - 1).max()),
        0.0,
        10 * small,
    )


def follow(args: argparse.Namespace) -> Iterator[Row]:
    """A warm bar swings as slowly as its modulus tells, at a temperature between two of its table."""
    d, periods = args.dim, []
    for T in (300.0, 500.0):
        thermal = mpm.Thermal(0.0, 1.0, T, scale={"E": ([300, 700], [1.0, 0.5])})
        law = mpm.materials.NeoHookean(E=1e4, nu=0.0, density=1000, thermal=thermal)
        scene = mpm.Scene((0,) * d, (1.5,) * d)
        box = Box((0.25,) + (0.5,) * (d - 1), (1.25,) + (0.75,) * (d - 1))
        scene.add(box, law, velocity=lambda x: (x[:, :1] - 0.75) * np.eye(1, d) * 0.05)
        sim = mpm.Simulation(scene, dx=1 / 16, dtype=args.dtype, kernel=args.kernel)
        sim.run(0.9)
        elastic, time_of = sim.history["elastic"], sim.history["time"]
        first = int(np.argmax(elastic[time_of < 0.65]))
        periods.append(4 * float(time_of[first]))
    yield (
        "warm bar over cold one: period / sqrt(E / E warm)",
        periods[1] / periods[0] * math.sqrt(0.75),
        0.97,
        1.03,
    )


def snowman(args: argparse.Namespace) -> Iterator[Row]:
    """The snowman of the gallery, in 2-D, in a quarter of its time."""
    sim = mpm.Simulation(mpm.gallery.melting_snowman(), dx=1 / 64, dtype=args.dtype, kernel=args.kernel)
    height = float(np.asarray(sim.particles.x)[:, 1].max())
    sim.run(1.0)
    history, small = sim.history, 1e-5 if args.dtype == "float32" else 1e-12
    given = history["wall_heat"].sum() + history["friction_heat"].sum()
    gained = history["heat"][-1] - history["heat"][0] - given
    yield (
        "melting snowman: heat - wall_heat - friction_heat",
        abs(float(gained)) / history["heat"][0],
        0.0,
        small,
    )
    yield (
        "melting snowman: drift of the mass",
        abs(float(history["mass"][-1] / history["mass"][0] - 1)),
        0.0,
        small,
    )
    yield (
        "melting snowman: liquid share after 1 s",
        float(np.asarray(sim.particles.liquid_fraction).mean()),
        0.15,
        0.35,
    )
    now = float(np.asarray(sim.particles.x)[:, 1].max())
    yield "melting snowman: height / height at the start", now / height, 0.75, 0.95


def speed(args: argparse.Namespace) -> Iterator[Row]:
    """Steps per second with conduction in every step, and with it where it is due, over those without."""
    d, dx = args.dim, 1 / 128 if args.dim == 2 else 1 / 40

    def rate(k: float | None) -> float:
        body = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)
        if k is not None:
            body = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000, thermal=mpm.Thermal(k, 1.0))
        scene = mpm.Scene((0,) * d, (1,) * d)
        scene.add(Box((0.1,) * d, (0.9,) * d), body)
        sim = mpm.Simulation(
            scene, dx=dx, dt=1e-4, threads=1, dtype=args.dtype, kernel=args.kernel, history=0
        )
        sim.step(5)
        began = time.perf_counter()
        sim.step(20)
        return 20 / (time.perf_counter() - began)

    plain = max(rate(None) for _ in range(3))
    every = max(rate(0.1 * dx * dx / 1e-4 * 1000) for _ in range(3))
    tenth = max(rate(0.00505 * dx * dx / 1e-4 * 1000) for _ in range(3))
    yield "speed, conduction in every step", every / plain, 0.2, 1.1
    yield "speed, conduction in every tenth step, as it waits", tenth / plain, 0.6, 1.1


CASES = {
    "rod": rods, "given": given, "implicit": implicit, "gauss": gauss, "flux": flux, "transfer": transfer,
    "colliders": colliders, "stefan": stefan, "conserve": conserve, "spin": spin,
    "expand": expand, "bimetal": bimetal, "bilayer": bilayer, "work": work, "friction": friction,
    "source": source, "follow": follow, "snowman": snowman, "speed": speed,
}  # fmt: skip


if __name__ == "__main__":
    rows.run(__doc__, CASES, kernel={"choices": ("quadratic", "cubic"), "default": "quadratic"})
