"""Prints the energies and strengths of bodies of `mpm.materials.Brittle`: bars, plates, discs, beams; and the cost.

    python benchmarks/fracture.py [bar|schemes|notch|disc|beam|faces|cost ...]

`docs/design/027-fracture.md` has the reasons. ``--dtype float32`` shows single precision, ``--dim 3`` a bar and a block
that slides on a crack in three dimensions, where plates, discs and beams are left out. All takes about three minutes;
``--quick`` leaves the finer grids out.
"""

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import rows
from rows import Row

import mpm
from mpm.shapes import Points

Array = npt.NDArray[np.float64]
E, DENSITY = 1e6, 1000.0  # [Pa], [kg/m³]
SOUND = math.sqrt(E / DENSITY)  # of a bar [m/s]


def lattice(size: tuple[float, ...], spacing: float) -> Array:
    """The centres of the cubes of a box from the origin, (n, d)."""
    axes = [(np.arange(round(side / spacing)) + 0.5) * spacing for side in size]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def turn(angle: float, dim: int) -> Array:
    """A rotation in the plane of x and y."""
    rotation = np.eye(dim)
    rotation[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    return rotation


@dataclass
class Parted:
    """A bar after it has parted."""

    dissipated: float  # over G_f A
    peak: float  # stress over f_t
    last: float
    open: float  # what the books do not close by, over G_f A
    sim: mpm.Simulation


def bar(
    dx: float, args: argparse.Namespace, *, across: int = 2, shift: float = 0.0, angle: float = 0.0, nu: float = 0.0,
    rate: float = 0.04, faces: bool = False, make: Any = None, **options: Any,
) -> Parted:  # fmt: skip
    """A bar of 1 m, 0.1 m wide and 2 % weaker in the middle, that two grips pull apart: of `Brittle`, or of what `make`
    returns for the strengths and fracture energies of the particles."""
    length, width, strength, energy = 1.0, 0.1, 1e3, 0.6
    dim = args.dim
    spacing = dx / across
    rest = lattice((length, *[width] * (dim - 1)), spacing)
    along = turn(angle, dim)[:, 0]
    at = rest @ turn(angle, dim).T + 6 * dx + shift * dx * np.eye(dim)[0]
    if angle:
        at[:, 0] += 0.1
    grip = 3 * dx
    held = np.abs(rest[:, 0] - length / 2) > length / 2 - 2 * grip  # and what is beside them does not crack
    weak = np.abs(rest[:, 0] - length / 2) < max(0.51 * spacing, 0.5 * dx)
    f = strength * np.where(held, 3, np.where(weak, 0.98, 1))
    toughness = energy * np.where(held, 9.0, 1)
    if make:
        material = make(f, toughness)
    else:
        material = mpm.materials.Brittle(
            E=E, nu=nu, density=DENSITY, tensile_strength=f, fracture_energy=toughness, faces=faces
        )
    speed = rate * SOUND * strength / E
    scene = mpm.Scene((0,) * dim, dx * np.ceil(at.max(0) / dx + 8))

    def stretch(x: Array) -> Array:
        share = ((x - at[0]) @ along + rest[0, 0] - length / 2) / (length / 2 - grip)
        return speed * np.clip(share, -1, 1)[:, None] * along

    body = scene.add(Points(at, volume=spacing**dim), material, velocity=stretch, name="bar")

    def end(sign: int) -> Any:
        return lambda x: sign * ((x - at[0]) @ along + rest[0, 0] - length / 2) > length / 2 - grip

    for sign, name in ((-1, "left"), (1, "right")):
        scene.hold(body, end(sign), velocity=tuple(sign * speed * along), name=name)
    sim = mpm.Simulation(scene, dx=dx, dtype=args.dtype, dissipation=True, **options)
    before = sim.totals()
    time_ = (6 * energy / strength + strength * length / E) / (2 * speed)
    sim.run(time_)
    history, totals, area = sim.history, sim.totals(), width ** (dim - 1)
    done = sum(history[f"work:{name}"].sum() for name in ("left", "right"))
    pull = np.cumsum(history["impulse:right"] @ along)
    window = time_ / 60
    ends = np.interp(np.arange(1, 61) * window, history["time"], pull)
    stress = np.diff(ends, prepend=0) / window / area / strength
    kept = sum(
        getattr(totals, name) - getattr(before, name)
        for name in ("kinetic", "elastic", "plastic_dissipation")
    )
    scale = energy * area
    return Parted(totals.plastic_dissipation / scale, stress.max(), stress[-1], (done - kept) / scale, sim)


def bars(args: argparse.Namespace) -> Iterator[Row]:
    """The energy that parts a bar, for several cell sizes, places and particles."""
    cases: list[tuple[str, float, dict[str, Any]]] = [
        ("h 1/20", 1 / 20, {}),
        ("h 1/40", 1 / 40, {}),
        ("h 1/80", 1 / 80, {}),
        ("h 1/20, shifted by h/4", 1 / 20, {"shift": 0.25}),
        ("h 1/20, shifted by h/2", 1 / 20, {"shift": 0.5}),
        ("h 1/20, 3 particles per direction", 1 / 20, {"across": 3}),
        ("h 1/20, turned by 30°", 1 / 20, {"angle": math.pi / 6}),
        ("h 1/20, nu 0.3", 1 / 20, {"nu": 0.3}),
    ]
    for name, dx, options in cases:
        if args.quick and dx < 1 / 20:
            continue
        yield from report(name, bar(dx, args, **options))


def schemes(args: argparse.Namespace) -> Iterator[Row]:
    """The same with other kernels and transfers, shifted by h/5."""
    for name, options in (
        ("linear", {"kernel": "linear", "gradient": "bspline", "max_dt": 2e-4}),
        ("cubic", {"kernel": "cubic"}),
        ("gradient of the B-spline", {"gradient": "bspline"}),
        ("FLIP 0.95", {"transfer": "flip", "flip_ratio": 0.95}),
        ("AFLIP", {"transfer": "aflip"}),
        ("TPIC", {"transfer": "tpic"}),
        ("XPIC", {"transfer": "xpic"}),
    ):
        yield from report(f"h 1/20, {name}", bar(1 / 20, args, shift=0.2, **options))


def mean_force(impulse: Array, time: Array, until: float, windows: int) -> Array:
    """The means (windows,) of the force [N] whose impulses the history has, over equal windows of the time."""
    ends = np.interp(np.arange(1, windows + 1) * until / windows, time, np.cumsum(impulse))
    return np.diff(ends, prepend=0) / (until / windows)


def notched(dx: float, shift: float, args: argparse.Namespace) -> tuple[float, float]:
    """A plate of 1 m × 1.6 m with two edge notches of 0.15 m, pulled: its strength over that of linear elastic fracture
    mechanics, K = σ √(πa) Y (Tada, Paris & Irwin, The Stress Analysis of Cracks Handbook (1973)), and what it
    dissipates over G_f times its ligament. E G_f/f_t² = 0.1 m. Nodes join what is less than two cells apart: the
    particles along the notches are broken from the start, or else they would bear, break and dissipate, too."""
    width, height, depth, nu, strength = 1.0, 1.6, 0.15, 0.2, 2.5e3
    energy = 0.1 * strength**2 / E
    rest = lattice((width, height), dx / 2)
    away, notch = abs(rest[:, 1] - height / 2) / dx, abs(rest[:, 0] - width / 2) > width / 2 - depth
    slit = (away < 0.5) & notch
    low = (6 + shift) * dx
    at = rest[~slit] + low
    q = 2 * depth / width
    shape = (1.122 - 0.561 * q - 0.205 * q**2 + 0.471 * q**3 - 0.19 * q**4) / math.sqrt(1 - q)
    critical = math.sqrt(E / (1 - nu**2) * energy / (math.pi * depth)) / shape
    glass = mpm.materials.Brittle(
        E=E, nu=nu, density=DENSITY, tensile_strength=strength, fracture_energy=energy
    )
    scene = mpm.Scene((0, 0), dx * np.ceil(at.max(0) / dx + 8))
    speed, until = 0.048 * SOUND * critical / E, 0.85 / (0.048 * SOUND) * height

    def up(x: Array) -> Array:
        return (x[:, 1] - low) / (height / 2) - 1

    def end(sign: int) -> Any:
        return lambda x: sign * up(x) > 1 - 5 * dx / height

    body = scene.add(
        Points(at, volume=(dx / 2) ** 2), glass, velocity=lambda x: speed * up(x)[:, None] * (0, 1)
    )
    for sign, name in ((-1, "bottom"), (1, "top")):
        scene.hold(body, end(sign), velocity=(None, sign * speed), name=name)
    sim = mpm.Simulation(scene, dx=dx, dtype=args.dtype, dissipation=True, damping=SOUND / height)
    sim.particles.damage[:] = ((away < 1) & notch)[~slit]
    sim.run(until)
    pull = mean_force(sim.history["impulse:top"][:, 1], sim.history["time"], until, 80) / width
    return pull.max() / critical, sim.totals().plastic_dissipation / (energy * (width - 2 * depth))


def notches(args: argparse.Namespace) -> Iterator[Row]:
    """Strength and energy of the notched plate, in three places on the grid."""
    peaks = []
    for cells in (20, 40, 60):
        if args.dim == 3 or (args.quick and cells > 20):
            continue
        for shift in (0.0, 0.25, 0.5):
            peak, dissipated = notched(1 / cells, shift, args)
            where = (
                f"notches, h 1/{cells}" + {0: "", 0.25: ", shifted by h/4", 0.5: ", shifted by h/2"}[shift]
            )
            yield f"{where}: peak over LEFM", peak, 0.7, 1.3
            yield f"{where}: energy over G_f b", dissipated, 0.85, 1.05
            peaks += [] if shift else [peak]
    if len(peaks) > 1:
        yield "notches: the least by which the peak falls from grid to grid", -np.diff(peaks).max(), 0.0, 0.2


def pressed(dx: float, args: argparse.Namespace) -> float:
    """A disc of 1 m pressed along a diameter (Brazilian test): 2P/(πD) over f_t, P being the largest load until its
    middle breaks. E G_f/f_t² = 0.1 m."""
    diameter, strength = 1.0, 1e3
    energy = 0.1 * strength**2 / E
    side = dx * math.ceil(diameter / dx + 16)
    middle = side / 2
    glass = mpm.materials.Brittle(
        E=E, nu=0.2, density=DENSITY, tensile_strength=strength, fracture_energy=energy
    )
    scene = mpm.Scene((0, 0), (side, side))
    body = scene.add(mpm.shapes.Ball((middle, middle), diameter / 2), glass)
    speed = 0.08 * SOUND * strength / E

    def end(sign: int) -> Any:
        return lambda x: (
            (sign * (x[:, 1] - middle) > 0.4984 * diameter - dx) & (abs(x[:, 0] - middle) < 0.04 * diameter)
        )

    for sign, name in ((-1, "bottom"), (1, "top")):
        scene.hold(body, end(sign), velocity=(None, -sign * speed), name=name)
    sim = mpm.Simulation(scene, dx=dx, dtype=args.dtype, damping=2 * SOUND / diameter)
    window = 9 * strength * diameter / E / speed / 80
    core = np.linalg.norm(np.array(sim.particles.x) - middle, axis=1) < 0.15 * diameter
    load = 0.0
    for _ in range(60):
        before = sim.history["impulse:top"][:, 1].sum()
        sim.run(window)
        given = before - sim.history["impulse:top"][:, 1].sum()
        load = max(load, float(given) / window)
        if np.array(sim.particles.damage)[core].max() > 0.99:
            return 2 * load / (math.pi * diameter) / strength
    return math.nan


def discs(args: argparse.Namespace) -> Iterator[Row]:
    """The tensile strength that a disc in compression shows."""
    for cells in (20, 40):
        if args.dim == 2 and not (args.quick and cells > 20):
            yield f"disc, h 1/{cells}: 2P/(πD) over f_t", pressed(1 / cells, args), 0.9, 1.1


def bent(dx: float, args: argparse.Namespace) -> float:
    """A beam of 0.5 m × 2.3 m in three-point bending over a span of 2 m: its largest load over that of the theory of
    beams, 2 f_t d²/(3 S), at which the lower side reaches f_t. E G_f/f_t² = 0.1 m, a fifth of the depth d."""
    depth, span, over, strength = 0.5, 2.0, 0.15, 1e3
    glass = mpm.materials.Brittle(
        E=E, nu=0.2, density=DENSITY, tensile_strength=strength, fracture_energy=0.1 * strength**2 / E
    )
    low = 6 * dx
    at = lattice((span + 2 * over, depth), dx / 2) + low
    middle = low + span / 2 + over
    scene = mpm.Scene((0, 0), dx * np.ceil(at.max(0) / dx + 8))
    beam = scene.add(Points(at, volume=(dx / 2) ** 2), glass)

    def foot(sign: int) -> Any:
        return lambda x: (abs(x[:, 0] - middle - sign * span / 2) < dx) & (x[:, 1] < low + dx)

    def stamp(x: Array) -> Any:
        return (abs(x[:, 0] - middle) < 2 * dx) & (x[:, 1] > low + depth - dx)

    load = 2 * strength * depth**2 / (3 * span)
    bending = E / (1 - 0.2**2) * depth**3 / 12
    period = 2 * span**2 / math.pi * math.sqrt(DENSITY * depth / bending)
    deflection, until = load * span**3 / (48 * bending), 6 * period
    for sign, name in ((-1, "left"), (1, "right")):
        scene.hold(beam, foot(sign), velocity=(None, 0.0), name=name)
    scene.hold(beam, stamp, velocity=(None, -3 * deflection / until), name="stamp")
    sim = mpm.Simulation(scene, dx=dx, dtype=args.dtype, damping=0.4 * math.pi / period)
    sim.run(until)
    return -mean_force(sim.history["impulse:stamp"][:, 1], sim.history["time"], until, 80).min() / load


def beams(args: argparse.Namespace) -> Iterator[Row]:
    """The load of a beam. The finest grid takes most of a minute."""
    for cells, most in ((20, 1.45), (40, 1.25)):
        if args.dim == 2 and not (args.quick and cells > 20):
            yield f"beam, h 1/{cells}: peak over the theory of beams", bent(1 / cells, args), 0.95, most


def falling(material: mpm.materials.Material, args: argparse.Namespace) -> mpm.Simulation:
    """A disc on a floor, after it has struck it."""
    scene = mpm.Scene((0, 0), (1.2, 0.7), walls={"y-": mpm.Wall("separate", friction=0.2)})
    scene.add(mpm.shapes.Ball((0.6, 0.22), 0.2), material, velocity=(0, -2))
    sim = mpm.Simulation(scene, dx=1 / 160, dtype=args.dtype, threads=1, dt=2e-5)
    sim.run(0.03)
    return sim


def cost(args: argparse.Namespace) -> Iterator[Row]:
    """The speed of a disc that cracks, over that of the same disc of a neo-Hookean solid, by processor time."""
    if args.dim == 3:
        return
    moduli: Any = {"E": 1e7, "nu": 0.2, "density": 1000}
    weibull: Any = mpm.materials.Weibull(6e4, 8, length=0.04, seed=1)
    sims = [falling(mpm.materials.NeoHookean(**moduli), args)] + [
        falling(mpm.materials.Brittle(**moduli, tensile_strength=strength, fracture_energy=20), args)
        for strength in (6e4, weibull)
    ]
    spent = np.zeros((5, 3))
    for turns in spent:
        for k, sim in enumerate(sims):
            start = time.process_time()
            sim.step(100)
            turns[k] = time.process_time() - start
    least = spent.min(axis=0)
    yield "cost: damaged particles", (np.array(sims[1].particles.damage) > 0).mean(), 0.1, 1.0
    yield "cost: speed over that of a neo-Hookean disc", least[0] / least[1], 0.3, 1.0
    yield "cost: the same with a strength that varies", least[0] / least[2], 0.1, 1.0


def sliding(tilt: float, args: argparse.Namespace) -> tuple[float, float]:
    """A block on a slope of 30° that a crack parts from the rock below it, with friction 0.2, turned against the grid
    by `tilt` [degrees]: its way over that of a rigid block, and the work of friction over μ N times its way."""
    dx, slope, friction, g = 0.02, math.radians(30), 0.2, 9.81
    dim, spacing = args.dim, dx / 2
    axes = turn(math.radians(tilt), dim)[:, :2]
    depth = (0.08,) * (dim - 2)
    rock = lattice((0.8, 0.12, *depth), spacing) - np.array([0.4, 0.12, 0])[:dim]
    block = lattice((0.28, 0.14, *depth), spacing) - np.array([0.3, 0, 0])[:dim]
    rest = np.concatenate([rock, block])
    at = rest @ turn(math.radians(tilt), dim).T + np.array([0.5031, 0.5031, 0.1])[:dim]
    pull = g * (math.sin(slope) * axes[:, 0] - math.cos(slope) * axes[:, 1])
    stone = mpm.materials.Brittle(
        E=E,
        nu=0.3,
        density=DENSITY,
        tensile_strength=1e9,
        fracture_energy=1e12,
        faces=True,
        friction=friction,
    )
    scene = mpm.Scene((0,) * dim, (1.2, 1.0, 0.3)[:dim], gravity=tuple(pull))
    body = scene.add(Points(at, volume=spacing**dim), stone)
    low = at[0] @ axes[:, 1] + 0.04
    scene.hold(body, lambda x: x @ axes[:, 1] < low, velocity=(0,) * dim)
    sim = mpm.Simulation(scene, dx=dx, dtype=args.dtype)
    sim.particles.damage[:] = abs(rest[:, 1]) < 2 * spacing - 1e-9
    above = np.arange(len(rest)) >= len(rock)
    before = np.array(sim.particles.x)[above].mean(axis=0)
    sim.run(0.3)
    way = float((np.array(sim.particles.x)[above].mean(axis=0) - before) @ axes[:, 0])
    rigid = 0.5 * g * (math.sin(slope) - friction * math.cos(slope)) * sim.time**2
    normal = DENSITY * len(block) * spacing**dim * g * math.cos(slope)
    return way / rigid, sim.history["friction_work"].sum() / (friction * normal * way)


def closing(args: argparse.Namespace) -> float:
    """A bar of 0.8 m with a crack across it, turned by 20°, that its ends shorten: how far the crack closes before the
    bar bears as much as without it [cells]."""
    dx, dim = 0.05, 2
    along, across = turn(math.radians(20), dim).T
    rest = lattice((0.8, 0.2), dx / 2) - np.array([0.4, 0.1])
    at = 0.6 + rest[:, :1] * along + rest[:, 1:] * across
    stone = mpm.materials.Brittle(
        E=E, nu=0, density=DENSITY, tensile_strength=1e9, fracture_energy=1e12, faces=True, friction=0.2
    )
    scene = mpm.Scene((0, 0), (1.2, 1.2))
    body = scene.add(
        Points(at, volume=(dx / 2) ** 2),
        stone,
        velocity=lambda x: -0.1 * ((x - 0.6) @ along)[:, None] * along,
    )
    for sign, name in ((-1, "left"), (1, "right")):
        scene.hold(
            body,
            lambda x, sign=sign: sign * ((x - 0.6) @ along) > 0.3,
            velocity=tuple(-0.03 * sign * along),
            name=name,
        )
    sim = mpm.Simulation(scene, dx=dx, dtype=args.dtype)
    sim.particles.damage[:] = abs(rest[:, 0]) < 0.51 * dx
    sim.run(0.1)
    strain = -float(sim.force("right", window=0.02) @ along) / (E * 0.2)
    return (0.06 * (sim.time - 0.01) - 0.6 * strain) / dx


def faces(args: argparse.Namespace) -> Iterator[Row]:
    """Crack faces that separate and slide: energies of bars, sliding, compression."""
    for name, dx, options in (
        ("h 1/20", 1 / 20, {}),
        ("h 1/40", 1 / 40, {}),
        ("h 1/20, shifted by h/2", 1 / 20, {"shift": 0.5}),
        ("h 1/20, turned by 30°", 1 / 20, {"angle": math.pi / 6}),
    ):
        if args.dim == 2 and not (args.quick and dx < 1 / 20):
            found = bar(dx, args, faces=True, **options)
            pieces = mpm.fragments(found.sim)
            yield f"faces, bar, {name}: energy over G_f A", found.dissipated, 0.9, 1.1
            yield f"faces, bar, {name}: stress at the end over f_t", found.last, -0.06, 0.06
            yield f"faces, bar, {name}: pieces", len(pieces), 2, 2
    for tilt in (0.0, -20.0) if args.dim == 2 else (-20.0,):
        way, work = sliding(tilt, args)
        yield (
            f"faces, block on a slope turned by {abs(tilt):g}°: way over that of a rigid block",
            way,
            0.98,
            1.02,
        )
        yield f"faces, block on a slope turned by {abs(tilt):g}°: work over μ N s", work, 0.97, 1.03
    if args.dim == 2:
        yield (
            "faces, a bar with a closed crack, compressed: further shortened, in cells",
            closing(args),
            0,
            0.06,
        )


def report(name: str, found: Parted) -> Iterator[Row]:
    yield f"bar, {name}: energy over G_f A", found.dissipated, 0.9, 1.1
    yield f"bar, {name}: peak over f_t", found.peak, 0.9, 1.02
    yield f"bar, {name}: stress at the end over f_t", found.last, -0.06, 0.06
    yield f"bar, {name}: lost by the transfer over G_f A", found.open, -0.01, 0.5


CASES = {
    **{"bar": bars, "schemes": schemes, "notch": notches, "disc": discs, "beam": beams, "faces": faces},
    "cost": cost,
}


if __name__ == "__main__":
    rows.run(__doc__, CASES, quick={"action": "store_true"})
