"""Prints how water in the Material Point Method keeps its volume and its energy, each figure beside its target.

    python benchmarks/fluids.py [tanks shapes stiff motion disks locking cost] [--fine]

Without names, every part runs, some minutes in all; --fine adds disks of 16 cells per radius, minutes more. The exit
status is 1 if a target is missed. tests/water.py has the tanks.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import mpm

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from methods_sph import FRONT

import water

G = 9.81
Array = np.ndarray


class Table:
    """Lines of a table, and how many targets are missed."""

    def __init__(self) -> None:
        self.missed = 0

    def begin(self, title: str) -> None:
        print(f"\n| {title} | found | target | |\n|---|---|---|---|", flush=True)

    def line(self, text: str, found: float, low: float, high: float, digits: int = 3) -> None:
        met = low <= found <= high
        self.missed += not met
        print(
            f"| {text} | {found:.{digits}f} | {low:g} to {high:g} | {'met' if met else 'MISSED'} |",
            flush=True,
        )

    def about(self, text: str, found: float, target: float, within: float) -> None:
        self.line(text, found, target - within, target + within)


def rises(sim: mpm.Simulation, duration: float, every: float = 0.1) -> float:
    """Run, and add up how far the energy rose between samples, over the first one above that of the water at rest."""
    energies = [water.energy(sim)]
    for _ in range(round(duration / every)):
        sim.run(every)
        energies.append(water.energy(sim))
    return float(np.maximum(np.diff(energies), 0).sum() / energies[0])


# --- volume ----------------------------------------------------------------------------------------------------------


def tanks(table: Table) -> None:
    """A column of water collapses in a closed tank, for 8 s."""
    table.begin("closed tank, 8 s: depth at rest over the exact one")
    for text, within, dim, options in (
        ("dx = 1/40, 4 per cell, no correction", 1.0, 2, {"dx": 1 / 40, "density_correction": 0}),
        ("dx = 1/40, 4 per cell", 0.015, 2, {"dx": 1 / 40}),
        ("dx = 1/40, 9 per cell", 0.015, 2, {"dx": 1 / 40, "particles_per_cell": 9}),
        ("dx = 1/40, 1 per cell", 0.04, 2, {"dx": 1 / 40, "particles_per_cell": 1}),
        ("dx = 1/80, 4 per cell", 0.015, 2, {"dx": 1 / 80}),
        ("dx = 1/40, cubic kernel", 0.015, 2, {"dx": 1 / 40, "kernel": "cubic"}),
        ("dx = 1/40, single precision", 0.015, 2, {"dx": 1 / 40, "dtype": "float32"}),
        ("dx = 1/40, AFLIP", 0.02, 2, {"dx": 1 / 40, "transfer": "aflip"}),
        ("3-D, dx = 1/20, 8 per cell", 0.015, 3, {"dx": 1 / 20}),
        ("3-D, dx = 1/20, single precision", 0.015, 3, {"dx": 1 / 20, "dtype": "float32"}),
    ):
        sim = mpm.Simulation(water.tank(dim), **options)
        risen = rises(sim, 8.0)
        water.bring_to_rest(sim)
        table.about(text, water.height(sim) / water.exact(), 1, within)
        if options.get("particles_per_cell", 4) >= 4:
            table.line("     energy gained over that at the beginning", risen, 0, 1e-3, digits=5)


def filled(bottom: Array, height: float, hole: tuple[float, float] = (0.0, 0.0)) -> float:
    """The volume [m²] of still water in a tank 1 m wide with a bottom (n,), whose mean height is half of `height`; a
    submerged body takes a volume [m²] at a height."""
    low, high = 0.0, 1.2
    for _ in range(60):
        level = (low + high) / 2
        deep = np.maximum(level - bottom, 0)
        volume = deep.mean() - hole[0]
        moment = (deep * (level + np.minimum(bottom, level)) / 2).mean() - hole[0] * hole[1]
        low, high = (level, high) if moment / volume < height / 2 else (low, level)
    return float(volume)


def shaped() -> Iterator[tuple[str, mpm.Scene, float, Array, tuple[float, float]]]:
    """(text, scene, duration, bottom, submerged body) of tanks with colliders."""
    x = (np.arange(4000) + 0.5) / 4000
    box = mpm.shapes.Box
    scene = water.tank()
    scene.add_collider(box((0.45, 0), (0.55, 0.1)), name="box")
    yield "a box 0.1 m high on the floor", scene, 8.0, np.where(np.abs(x - 0.5) < 0.05, 0.1, 0), (0, 0)
    scene = water.tank()
    scene.add_collider(mpm.shapes.Polygon([(0.4, -0.2), (1.2, -0.2), (1.2, 0.2), (0.4, -0.0)]), name="ramp")
    yield "a ramp", scene, 8.0, np.maximum((x - 0.4) / 4, 0), (0, 0)
    scene = water.tank()
    beat = mpm.motion.Keyframes.of(
        lambda t: (-0.05 * np.sin(np.pi * min(t, 8)) ** 2, 0), until=8, interval=0.02
    )
    scene.add_collider(box((0.95, -0.1), (1.5, 1.3)), motion=beat, contact="slip", name="paddle")
    yield "a paddle that beats for 8 s", scene, 8.0, np.where(x > 0.95, 9.0, 0), (0, 0)
    scene = mpm.Scene((0, 0), (1, 1.2), gravity=(0, -G), walls="slip")
    scene.add(box((0, 0), (1, 0.3)) - mpm.shapes.Ball((0.5, 0.14), 0.09), water.water(), name="water")
    turn = mpm.motion.Rotation(6.0, about=(0.5, 0.14))
    scene.add_collider(box((0.42, 0.12), (0.58, 0.16)), motion=turn, contact="slip", name="stirrer")
    yield "stirred for 15 s", scene, 15.0, 0 * x, (0.0064, 0.14)


def shapes(table: Table) -> None:
    """Tanks with bodies in them, and two liquids."""
    table.begin("dx = 1/40: volume at rest over the exact one")
    for text, scene, duration, bottom, hole in shaped():
        sim = mpm.Simulation(scene, dx=1 / 40)
        sim.run(duration)
        if "stirrer.angular_velocity" in sim.parameters:
            sim.set("stirrer.angular_velocity", 0.0)
        water.bring_to_rest(sim)
        exact = float(sim.particles.volume.sum())
        table.about(text, filled(bottom, water.height(sim), hole) / exact, 1, 0.02)
    scene = mpm.Scene((0, 0), (1, 1.2), gravity=(0, -G), walls="slip")
    scene.add(mpm.shapes.Box((0, 0), (0.2, 0.45)), water.water(density=500), name="oil")
    scene.add(mpm.shapes.Box((0.8, 0), (1, 0.45)), water.water(density=1000), name="water")
    sim = mpm.Simulation(scene, dx=1 / 40)
    sim.run(8.0)
    water.bring_to_rest(sim)
    table.about("two liquids, 500 and 1000 kg/m³", water.height(sim) / water.DEPTH, 0.997, 0.02)
    for text, bulk_modulus in (("a jet fills a pool, K = 2.4e6 Pa", None), ("the same, K = 2e5 Pa", 2e5)):
        sim = mpm.gallery.get("jet").simulation()
        pool = sim.totals().mass
        if bulk_modulus:
            sim.set("body.bulk_modulus", bulk_modulus)
        sim.run(6.0)
        sim.set("body.viscosity", water.STILL)
        sim.run(2.0)
        brought = (sim.totals().mass - pool) / 1000
        table.about(text, water.height(sim) / (0.1 + brought), 1, 0.02)
        table.line("     mass that came over the filling's, less 1", brought / 0.1 - 1, -0.05, 0.05, digits=5)


def stiff(table: Table) -> None:
    """The tank with stiffer water."""
    table.begin("closed tank, 8 s, dx = 1/40: depth over the exact one")
    for bulk_modulus, tension, number, within in (
        (2e5, True, 4, 0.015),
        (2e6, True, 4, 0.03),
        (2e7, True, 4, 0.1),
        (2e7, False, 4, 0.02),
        (2e7, True, 9, 0.02),
    ):
        scene = water.tank(bulk_modulus=bulk_modulus, tension=tension)
        sim = mpm.Simulation(scene, dx=1 / 40, dtype="float32", particles_per_cell=number)
        sim.run(8.0)
        water.bring_to_rest(sim, 1.0)
        text = f"K = {bulk_modulus:.0e} Pa, {number} per cell{'' if tension else ', without tension'}"
        table.about(text, water.height(sim) / water.exact(bulk_modulus), 1, within)


# --- what the correction may not spoil -------------------------------------------------------------------------------


def front(**options: float) -> float:
    """The mean error of the front of a dam break beside Martin and Moyce, to T = 3.1."""
    a = 0.2
    scene = mpm.Scene((0, 0), (6 * a, 4 * a), gravity=(0, -G), walls="slip")
    scene.add(mpm.shapes.Box((0, 0), (a, 2 * a)), water.water(1e6, viscosity=0), name="water")
    sim = mpm.Simulation(scene, dx=a / 20, **options)
    T, Z = (np.array(row) for row in FRONT)
    T, Z = T[(T > 0.5) & (T < 3.12)], Z[(T > 0.5) & (T < 3.12)]
    found = []
    for at in T:
        sim.run(at * np.sqrt(a / (2 * G)) - sim.time)
        found.append((np.sort(sim.particles.x[:, 0])[-3] + a / 80) / a)
    return float(np.abs(np.array(found) / Z - 1).mean())


def column(**options: Any) -> tuple[float, float]:
    """Depth of a column after 3 s over the one at first, and the noise of its pressure over that at the floor.

    J begins as the weight asks, the places of the particles as at rest: the exact depth is 0.988 of the one at first.
    """
    H, K = 0.5, 2e5
    scene = mpm.Scene((0, 0), (0.5, 1), gravity=(0, -G), walls="slip")
    scene.add(mpm.shapes.Box((0, 0), (0.5, H)), water.water(K), name="water")
    sim = mpm.Simulation(scene, dx=1 / 40, **options)
    sim.particles.J[:] = (1 + 7 * 1000 * G * (H - sim.particles.x[:, 1]) / K) ** (-1 / 7)
    sim.run(3.0)
    noise = sim.compute("pressure") - 1000 * G * (H - sim.particles.x[:, 1])
    return water.height(sim) / H, float(noise.std() / (1000 * G * H))


def swings(cells: int, **options: float) -> tuple[float, float]:
    """The trough of a standing wave over its amplitude, and its height after a period."""
    L, d, A, K = 1.0, 0.3, 0.01, 2e5
    k = np.pi / L
    period = 2 * np.pi / np.sqrt(G * k * np.tanh(k * d))

    def pressed(x: Array) -> Array:
        p = (
            1000
            * G
            * np.maximum(d - x[:, 1] + A * np.cos(k * x[:, 0]) * np.cosh(k * x[:, 1]) / np.cosh(k * d), 0)
        )
        return np.sqrt((1 + 7 * p / K) ** (-1 / 7))[:, None, None] * np.eye(2)

    crest = [(x, d + A * np.cos(k * x)) for x in np.linspace(L, 0, 65)]
    scene = mpm.Scene((0, 0), (L, 0.6), gravity=(0, -G), walls="slip")
    scene.add(mpm.shapes.Polygon([(0, 0), (L, 0), *crest]), water.water(K, viscosity=0), F=pressed)
    sim = mpm.Simulation(scene, dx=d / cells, **options)
    mean = [
        float(np.average(sim.particles.x[:, 0], weights=sim.particles.mass)) - L / 2
        for _ in sim.frames(duration=period, fps=40)
    ]
    return min(one / mean[0] for one in mean), mean[-1] / mean[0]


def spins(**options: float) -> float:
    """The energy that a free spinning drop keeps in 1 s."""
    scene = mpm.Scene((-1, -1), (1, 1), walls="slip")
    scene.add(mpm.shapes.Ball((0, 0), 0.15), water.water(), angular_velocity=3.0, name="drop")
    sim = mpm.Simulation(scene, dx=1 / 40, **options)
    before = water.energy(sim)
    sim.run(1.0)
    return water.energy(sim) / before


def falls(**options: float) -> float:
    """Height of a pool into which a square drop has fallen, over the exact one."""
    scene = mpm.Scene((0, 0), (1, 1.2), gravity=(0, -G), walls="slip")
    scene.add(mpm.shapes.Box((0, 0), (1, 0.2)), water.water(), name="pool")
    scene.add(mpm.shapes.Box((0.425, 0.6), (0.575, 0.75)), water.water(), name="drop")
    sim = mpm.Simulation(scene, dx=1 / 40, **options)
    sim.run(6.0)
    water.bring_to_rest(sim)
    return water.height(sim) / float(sim.particles.volume.sum())


def vortices(**options: float) -> float:
    """The error of the decay of Taylor-Green vortices at Reynolds number 10."""
    k, nu, u = 2 * np.pi, 0.1, 1.0

    def velocity(x: Array) -> Array:
        a, b = k * x[:, 0], k * x[:, 1]
        return u * np.stack([-np.cos(a) * np.sin(b), np.sin(a) * np.cos(b)], axis=1)

    scene = mpm.Scene((0, 0), (1, 1), walls="periodic")
    scene.add(mpm.shapes.Box((0, 0), (1, 1)), water.water(1e5, viscosity=1000 * nu), velocity=velocity)
    sim = mpm.Simulation(scene, dx=1 / 40, **options)
    before = sim.totals().kinetic
    sim.run(0.1)
    return float(np.log(sim.totals().kinetic / before) / (-4 * k**2 * nu * 0.1) - 1)


def poiseuille(**options: float) -> float:
    """The largest velocity of a flow between plates over the exact one."""
    scene = mpm.Scene(
        (0, 0),
        (0.2, 1),
        gravity=(0.1, 0),
        walls={"x-": "periodic", "x+": "periodic", "y-": "sticky", "y+": "sticky"},
    )
    scene.add(mpm.shapes.Box((0, 0), (0.2, 1)), water.water(1e5, viscosity=100))
    sim = mpm.Simulation(scene, dx=1 / 20, **options)
    sim.run(10.0)
    return float(sim.particles.v[:, 0].max()) / (0.1 / (8 * 0.1))


def motion(table: Table) -> None:
    """What the correction may not spoil."""
    table.begin("with the correction")
    without = front(density_correction=0)
    table.line(f"dam break: mean error of the front (without: {without:.3f})", front(), 0, without + 0.01)
    table.about("Taylor-Green, Re = 10: error of the decay", vortices(), 0, 0.02)
    depth, noise = column()
    table.line("column at rest for 3 s: depth over the one at first, 0.988 to 1", depth, 0.986, 1.001)
    table.line("     noise of the pressure over that at the floor", noise, 0, 0.25)
    for text, options in (
        ("without the correction", {"density_correction": 0}),
        ("9 per cell", {"particles_per_cell": 9}),
        ("sampling='random', without the correction", {"sampling": "random", "density_correction": 0}),
        ("sampling='random'", {"sampling": "random"}),
        ("sampling='poisson', without the correction", {"sampling": "poisson", "density_correction": 0}),
        ("sampling='poisson'", {"sampling": "poisson"}),
    ):
        table.line(f"     the same, {text}", column(**options)[1], 0, 1)
    for cells, low in ((12, -0.92), (24, -0.95)):
        trough, after = swings(cells)
        table.line(f"standing wave, {cells} cells: trough", trough, -1.01, low)
        table.line("     height after a period", after, 0.85, 1.01)
    table.line("free spinning drop: energy kept in 1 s", spins(), 0.995, 1, digits=5)
    table.about("drop falls into a pool: depth", falls(), 1, 0.015)
    table.about("flow between plates: largest velocity", poiseuille(), 1, 0.02)


# --- bodies in water -------------------------------------------------------------------------------------------------


class LetGo(NamedTuple):
    """A disk, 0.1 s after it was let go."""

    way: float  # [m]
    speed: float  # [m/s]
    mass: float  # [kg/m]
    kinetic: float  # of all particles [J/m]


R, WIDTH = 0.1, 1.2  # of the disk and of its tank [m]
ADDED = (
    1 + 2 * np.pi**2 / 3 * (R / WIDTH) ** 2
)  # mass of a cylinder between two walls, over the displaced one


def let_go(
    ratio: float, cells: int, body: str, contact: str = "slip", bulk_modulus: float = 5e6, **options: float
) -> LetGo:
    """A disk is let go in still water.

    `ratio` of the densities, `cells` per radius; the body is elastic, rigid or a fluid.
    """
    depth, duration = 1.6, 0.1
    ball = mpm.shapes.Ball((WIDTH / 2, 0.5), R)

    def pressed(x: Array) -> Array:
        J = (1 + 7 * 1000 * G * (depth - x[:, 1]) / bulk_modulus) ** (-1 / 7)
        return np.sqrt(J)[:, None, None] * np.eye(2)

    materials = {
        "elastic": mpm.materials.NeoHookean(E=5e6, nu=0.3, density=1000 * ratio),
        "rigid": mpm.materials.Rigid(density=1000 * ratio, contact=contact),
        "fluid": water.water(bulk_modulus, density=1000 * ratio, viscosity=0),
    }
    scene = mpm.Scene((0, 0), (WIDTH, 2), gravity=(0, -G), walls="slip", contact=contact)
    liquid = water.water(bulk_modulus, viscosity=0)
    scene.add(mpm.shapes.Box((0, 0), (WIDTH, depth)) - ball, liquid, F=pressed, name="water")
    scene.add(ball, materials[body], F=pressed if body == "fluid" else None, name="disk")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*F-bar creates volume")  # not in 0.1 s without a splash
        sim = mpm.Simulation(scene, dx=R / cells, dtype="float32", **options)
    p, rows = sim.particles, sim.rows("disk")
    mass = np.array(p.mass, dtype=np.float64)
    begin = float(np.average(p.x[rows, 1], weights=mass[rows]))
    sim.run(duration)
    return LetGo(
        way=float(np.average(p.x[rows, 1], weights=mass[rows])) - begin,
        speed=float(np.average(p.v[rows, 1], weights=mass[rows])),
        mass=float(mass[rows].sum()),
        kinetic=float((mass[:, None] * np.square(p.v, dtype=np.float64)).sum() / 2),
    )


def submerged(ratio: float, cells: int, body: str, contact: str = "slip", **options: float) -> float:
    """The way of a disk in 0.1 s over that of potential flow. The added mass is of second order in the radius."""
    found = let_go(ratio, cells, body, contact, **options)
    return found.way / ((1 - ratio) / (ADDED + ratio) * G * 0.1**2 / 2)


def taken_along(cells: int, body: str, **options: float) -> float:
    """The mass of the water that a disk of half its density takes along, by the kinetic energy, over the displaced one.

    A disk as dense as the water stays; what moves around it, because the particles settle, does not count.
    """
    light, still = (let_go(ratio, cells, body, **options) for ratio in (0.5, 1.0))
    moved = 2 * (light.kinetic - still.kinetic) / light.speed**2 - light.mass
    return moved / (1000 * np.pi * R**2)


def disks(table: Table, fine: bool = False) -> None:
    """Disks rise or sink from rest, beside potential flow."""
    table.begin("submerged disk with contact, slip: way in 0.1 s over that of potential flow")
    for cells, low in ((4, 0.0), (8, 0.6), *(((16, 0.8),) if fine else ())):
        for body in ("elastic", "rigid", "fluid"):
            for ratio in (0.5, 0.9, 2.0):
                found = submerged(ratio, cells, body)
                table.line(f"{body}, density ratio {ratio:g}, R = {cells} cells", found, low, 1.1)


def locking(table: Table) -> None:
    """Where the rest of potential flow is lost."""
    table.begin("the disk, elastic, density ratio 0.5, R = 4 cells: way over that of potential flow")
    rest: tuple[tuple[str, dict], ...] = (
        ("bonded", {"contact": "bonded"}),
        ("contact that may part", {"contact": "separate"}),
        ("1 particle per cell", {"particles_per_cell": 1}),
        ("9 particles per cell", {"particles_per_cell": 9}),
        ("F-bar", {"f_bar": True}),
        ("AFLIP with a ratio of 1", {"transfer": "aflip", "flip_ratio": 1.0}),
        ("K = 5e5 Pa", {"bulk_modulus": 5e5}),
        ("cubic kernel", {"kernel": "cubic"}),
        ("without the correction of densities", {"density_correction": 0}),
    )
    for text, options in rest:
        table.line(text, submerged(0.5, 4, "elastic", **options), 0, 1.1)
    table.begin(f"mass of the water that it takes along, over the displaced one; potential flow: {ADDED:.2f}")
    for text, cells, body, options in (
        ("elastic, R = 4 cells", 4, "elastic", {}),
        ("     F-bar", 4, "elastic", {"f_bar": True}),
        ("     1 particle per cell", 4, "elastic", {"particles_per_cell": 1}),
        ("elastic, R = 8 cells", 8, "elastic", {}),
        ("fluid, R = 4 cells", 4, "fluid", {}),
        ("fluid, R = 8 cells", 8, "fluid", {}),
    ):
        table.line(text, taken_along(cells, body, **options), 0, 5)


# --- cost ------------------------------------------------------------------------------------------------------------


def cost(table: Table) -> None:
    """Steps with the correction beside those without it, taken in turns: the median of the ratios of processor time."""
    table.begin(
        "3-D, single precision, one thread: processor time of a step over that without the correction"
    )
    sims = []
    for kappa in (0, 2):
        scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -G), walls="slip")
        scene.add(mpm.shapes.Box((0, 0, 0), (0.5, 1, 0.8)), water.water())
        sims.append(mpm.Simulation(scene, dx=1 / 48, dtype="float32", threads=1, density_correction=kappa))
    ratios = []
    for _ in range(15):
        times = []
        for sim in sims:
            begin = time.thread_time()
            sim.step(10)
            times.append(time.thread_time() - begin)
        ratios.append(times[1] / times[0])
    table.line(f"{len(sims[0].particles)} particles, 8 per cell", float(np.median(ratios)), 0, 1.1)


PARTS: dict[str, Callable[[Table], None]] = {
    "tanks": tanks,
    "shapes": shapes,
    "stiff": stiff,
    "motion": motion,
    "disks": disks,
    "locking": locking,
    "cost": cost,
}


def main() -> None:
    fine = "--fine" in sys.argv[1:]
    names = [name for name in sys.argv[1:] if name != "--fine"] or list(PARTS)
    if unknown := set(names) - PARTS.keys():
        sys.exit(f"{', '.join(sorted(unknown))}: must be among {', '.join(PARTS)}")
    table = Table()
    for name in names:
        if name == "disks":
            disks(table, fine)
        else:
            PARTS[name](table)
    if table.missed:
        sys.exit(f"{table.missed} targets are missed")


if __name__ == "__main__":
    main()
