"""Prints how deformable bodies press, slide, roll, stick and rebound, against closed forms.

    python benchmarks/contact.py [bars|incline|lattices|stick|plates|roll|hertz|discs|ratio|three|stack|bricks|
        adhesion|bits|cost ...]

`docs/design/023-contact-between-bodies.md` has the reasons. Bodies are turned against the grid where it says so. All
takes about ten minutes on one core; ``--dtype float32`` shows single precision, ``--dim 3`` the cases of three
dimensions.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import mpm
from mpm.shapes import Ball, Box, HalfSpace, Points, Shape

Array = npt.NDArray[np.float64]
Row = tuple[str, float, float, float]  # what, measured, from, to
G = 9.81  # [m/s²]


def solid(E: float = 1e6, nu: float = 0.3, density: float = 1000.0) -> mpm.materials.NeoHookean:
    return mpm.materials.NeoHookean(E=E, nu=nu, density=density)


class Frame:
    """Axes that are turned against the grid, in the plane of the first and the last axis."""

    def __init__(self, degrees: float, origin: Sequence[float], dim: int) -> None:
        angle = np.radians(degrees)
        self.along, self.up = np.zeros(dim), np.zeros(dim)
        self.along[[0, -1]], self.up[[0, -1]] = (
            (np.cos(angle), np.sin(angle)),
            (-np.sin(angle), np.cos(angle)),
        )
        self.degrees, self.origin, self.dim = degrees, np.asarray(origin, dtype=float), dim

    def box(self, lower: Sequence[float], upper: Sequence[float], depth: float = 0.0) -> Shape:
        """From (along, up) to (along, up), and over the depth of 3-D."""
        middle = [0.0] * (self.dim - 2)
        low, high = [lower[0], *middle, lower[1]], [upper[0], *[depth] * (self.dim - 2), upper[1]]
        shape = Box(low, high)
        if self.degrees:
            axis = None if self.dim == 2 else (0, -1, 0)
            shape = shape.rotate(np.radians(self.degrees), axis=axis, about=[0.0] * self.dim)
        return shape.translate(self.origin)

    def lattice(self, lower: Sequence[float], upper: Sequence[float], d: float) -> Shape:
        """The same in 2-D, as points of a lattice along the frame."""
        ends = [np.arange(low + d / 2, high, d) for low, high in zip(lower, upper, strict=True)]
        along, up = (axis.ravel()[:, None] for axis in np.meshgrid(*ends, indexing="ij"))
        return Points(self.origin + along * self.along + up * self.up, volume=d * d)

    def gravity(self, degrees: float) -> Array:
        """On a slope that falls along the first axis of the frame."""
        angle = np.radians(degrees)
        return G * (np.sin(angle) * self.along - np.cos(angle) * self.up)

    def weighed(self, degrees: float, top: float, E: float = 1e6, nu: float = 0.3, density: float = 1000.0):
        """F of a body under its weight, whose top is at this height."""
        M = E * (1 - nu) / (1 + nu) / (1 - 2 * nu)

        def F(x: Array) -> Array:
            depth = top - (x - self.origin) @ self.up
            strain = -density * G * np.cos(np.radians(degrees)) * depth / M
            return np.eye(self.dim) + strain[:, None, None] * np.outer(self.up, self.up)

        return F


def centre(sim: mpm.Simulation, name: str) -> Array:
    rows, p = sim.rows(name), sim.particles
    return np.average(p.x[rows].astype(float), axis=0, weights=p.mass[rows])


def speed(sim: mpm.Simulation, name: str) -> Array:
    rows, p = sim.rows(name), sim.particles
    return np.average(p.v[rows].astype(float), axis=0, weights=p.mass[rows])


def periodic_depth(dim: int, h: float) -> tuple[list[float], dict[str, str]]:
    """The depth of a slice and its walls: plane strain in 3-D is periodic."""
    return [4 * h] * (dim - 2), {"y": "periodic"} if dim == 3 else {}


def bars(dim: int, dtype: str) -> Iterator[Row]:
    """A bar of 1 m meets one of 2 m at rest: it stops, and the other leaves with half of its speed."""
    errors: dict[int, list[float]] = {}
    cases = [(cells, shift) for cells in (50, 100) for shift in (0.0, 0.25, 0.5, 0.37)]
    for cells, shift in cases if dim == 2 else ((25, 0.0),):  # shifts of 0.25 and 0.37 cut cells
        h, c = 1 / cells, np.sqrt(1000.0)
        v0 = 0.01 * c
        depth = [4 * h] * (dim - 1)
        scene = mpm.Scene([0] * dim, [3.8, *depth], contact="separate")
        start = 0.2 + shift * h
        for name, low, length in (("short", start, 1.0), ("long", start + 1 + 2 * h, 2.0)):
            v = [v0 if name == "short" else 0, *[0] * (dim - 1)]
            scene.add(
                Box([low, *[0] * (dim - 1)], [low + length, *depth]), solid(nu=0), velocity=v, name=name
            )
        sim = mpm.Simulation(scene, dx=h, dtype=dtype)
        P0, closest = sim.totals().momentum[0], np.inf
        for _ in range(20):
            sim.run((2 * h / v0 + 5 / c) / 20)
            x = sim.particles.x
            gap = (
                x[sim.rows("long"), 0].min()
                - x[sim.rows("short"), 0].max()
                - sim.particles.volume[0] ** (1 / dim)
            )
            closest = min(closest, gap / h)
        energy, last = sim.history["energy"], sim.totals()
        what = f"bars of {cells} cells per metre{f', moved by {shift:g} cells' if shift else ''}: "
        yield what + "speed of the short one", speed(sim, "short")[0] / v0, -0.05, 0.05
        yield what + "speed of the long one", speed(sim, "long")[0] / v0, 0.45, 0.55
        yield what + "energy left", energy[-1] / energy[0], 0.95, 1.0
        yield what + "change of P", abs(last.momentum[0] / P0 - 1), 0, 1e-12 if dtype == "float64" else 1e-5
        yield what + "overlap [cells]", -closest, -1, 0.1
        errors.setdefault(cells, []).append(abs(speed(sim, "short")[0] / v0))
    if dim == 2:
        fall = float(np.mean(errors[100]) / np.mean(errors[50]))
        yield "bars: speed of the short one, 100 cells over 50, mean of the shifts", fall, 0, 1


def slide(
    dim: int,
    dtype: str,
    degrees: float,
    friction: float,
    turned: float,
    h: float = 0.01,
    seconds: float = 0.3,
    high: float = 0.1,
    lattice: bool = False,
    settled: float = 0.0,
) -> tuple[float, float, float]:
    """A block on an elastic slab: its way after the time `settled`, the exact one, and how far it has left the face
    [cells]."""
    depth, walls = periodic_depth(dim, h)
    frame = Frame(-turned, [0.1, *[0] * (dim - 2), 0.15 + 0.8 * np.sin(np.radians(turned))], dim)
    frame.origin += 0.0031 * (frame.along + frame.up)
    size = np.ceil((frame.origin + 1.0 * np.abs(frame.along) + 0.3) / (4 * h)) * 4 * h
    size[1:-1] = depth
    scene = mpm.Scene(
        [0] * dim,
        size,
        gravity=frame.gravity(degrees),
        walls={**{"x": "slip"}, **walls},
        contact=mpm.Contact("separate", friction=friction),
    )
    for name, low, up in (("slab", (0, -0.06), (0.8, 0)), ("block", (0.08, 0), (0.28, high))):
        shape = frame.lattice(low, up, h / 2) if lattice else frame.box(low, up, 4 * h)
        F = frame.weighed(degrees, high) if name == "block" else None
        scene.add(shape, solid(), F=F, name=name)
    scene.add_collider(HalfSpace(frame.origin - 0.04 * frame.up, frame.up), contact="sticky")
    sim = mpm.Simulation(scene, dx=h, dtype=dtype, on_leave="clamp")
    if settled > 0:
        sim.run(settled)
    start = centre(sim, "block")
    sim.run(seconds)
    moved = centre(sim, "block") - start
    pull = G * max(0.0, np.sin(np.radians(degrees)) - friction * np.cos(np.radians(degrees)))
    return float(moved @ frame.along), 0.5 * pull * seconds**2, float(moved @ frame.up / h)


def incline(dim: int, dtype: str) -> Iterator[Row]:
    """A block slides down a slab of 30 degrees with a friction of 0.2."""
    for turned in (0.0, 17.3, 30.0):
        h, seconds = (0.01, 0.3) if dim == 2 else (0.02, 0.2)
        way, exact, lifted = slide(dim, dtype, 30, 0.2, turned, h, seconds)
        yield f"slab of 30°, turned by {turned:g}°: error of the way", way / exact - 1, -0.015, 0.015
        yield f"slab of 30°, turned by {turned:g}°: off the face [cells]", lifted, -0.1, 0.1


def lattices(dim: int, dtype: str) -> Iterator[Row]:
    """The same with particles on lattices along the bodies."""
    for turned in (0.0, 17.3, 30.0) if dim == 2 else ():
        way, exact, _ = slide(dim, dtype, 30, 0.2, turned, lattice=True)
        yield f"the same, lattices along the bodies, turned by {turned:g}°", way / exact - 1, -0.01, 0.01


def stick(dim: int, dtype: str) -> Iterator[Row]:
    """A block stays on a slab of 20 degrees with a friction of 0.6."""
    h, seconds = (0.01, 0.4) if dim == 2 else (0.02, 0.2)
    way, _, _ = slide(dim, dtype, 20, 0.6, 20.0, h, seconds)
    yield "slab of 20°, friction 0.6: way [m]", way, -1e-3, 1e-3
    way, _, _ = slide(dim, dtype, 20, 0.6, 20.0, h, seconds - 0.05, settled=0.05)
    yield "slab of 20°, friction 0.6: way after 0.05 s [m]", way, -1e-4, 1e-4


def plates(dim: int, dtype: str) -> Iterator[Row]:
    """Plates of one and two cells slide down the slab, turned by 20 degrees."""
    for cells, most in ((1, 0.05), (2, 0.02)):
        way, exact, _ = slide(dim, dtype, 30, 0.2, 20.0, 0.01, 0.2, high=cells * 0.01)
        yield f"plate of {cells} cells on the slab: error of the way", way / exact - 1, -most, most


def roll(dim: int, dtype: str) -> Iterator[Row]:
    """A disc or ball rolls down a slab of 25 degrees, and one slides with little friction."""
    share = 0.5 if dim == 2 else 0.4
    for friction, cells in ((0.5, 10), (0.5, 20), (0.08, 10)) if dim == 2 else ((0.5, 5),):
        R, h, degrees = 0.2, 0.2 / cells, 25
        frame = Frame(0, [0.2, *[0.3] * (dim - 2), 0.2], dim)
        scene = mpm.Scene(
            [0] * dim,
            [1.6, *[0.6] * (dim - 2), 0.8],
            gravity=frame.gravity(degrees),
            contact=mpm.Contact("separate", friction=friction),
        )
        scene.add(Box([0] * dim, [1.6, *[0.6] * (dim - 2), 0.2]), solid(2e6), name="slab")
        scene.add_collider(HalfSpace([0] * (dim - 1) + [0.1], [0] * (dim - 1) + [1]), contact="sticky")
        middle = frame.origin + 0.2 * frame.along + R * frame.up
        scene.add(Ball(middle, R), solid(2e6), name="ball")
        sim = mpm.Simulation(scene, dx=h, dtype=dtype)
        times, ways, spins = [], [], []
        begin = centre(sim, "ball")
        for _ in range(20):
            sim.run(0.025)
            rows, p = sim.rows("ball"), sim.particles
            y, w = p.x[rows] - centre(sim, "ball"), p.v[rows] - speed(sim, "ball")
            m = np.asarray(p.mass[rows], dtype=float)
            inertia = (m * (y[:, 0] ** 2 + y[:, -1] ** 2)).sum()
            spins.append((m * (y[:, -1] * w[:, 0] - y[:, 0] * w[:, -1])).sum() / inertia)
            times.append(sim.time)
            ways.append((centre(sim, "ball") - begin) @ frame.along)
        pull, press = G * np.sin(np.radians(degrees)), G * np.cos(np.radians(degrees))
        a = 2 * np.polyfit(times[4:], ways[4:], 2)[0]
        alpha = np.polyfit(times[4:], spins[4:], 1)[0]
        rolls = friction > np.tan(np.radians(degrees)) * share / (1 + share)
        exact = pull / (1 + share) if rolls else pull - friction * press
        turning = exact / R if rolls else friction * press / (share * R)
        most = 0.4 / cells if rolls else 0.03
        what = f"{'rolling' if rolls else 'sliding'}, R = {cells} cells: error of the "
        yield what + "acceleration", a / exact - 1, -most, most
        yield what + "angular acceleration", alpha / turning - 1, -most, most


def damped(
    scene: mpm.Scene, push: Callable[[mpm.Simulation, Array, float], None], rate: float, **options: Any
):
    """A simulation of the scene with a force on its bodies and a drag of this rate [1/s] on all of them."""
    made: list[mpm.Simulation] = []

    def force(x: Array, t: float) -> Array:
        b = -rate * np.asarray(made[0].particles.v, dtype=float)
        push(made[0], b, t)
        return b

    own = mpm.Scene(
        scene.lower,
        scene.upper,
        gravity=scene.gravity,
        walls=scene.walls,
        contact=scene.contact,
        body_force=force,
    )
    for body in scene.bodies:
        own.add(body.shape, body.material, F=body.F, name=body.name)
    for one in scene.colliders:
        own.add_collider(one.shape, contact=one.contact, name=one.name)
    made.append(mpm.Simulation(own, **options))
    return made[0]


def forces_of_contact(sim: mpm.Simulation, name: str, push: float) -> Array:
    """Upward force at each node on a body at rest under a push down [N]: it balances the push and the stress."""
    rows, p, h, d = sim.rows(name), sim.particles, sim.dx, sim.scene.dimension
    x, stress = np.asarray(p.x[rows], dtype=float), sim.compute("stress")[rows].astype(float)
    volume = np.asarray(p.volume[rows], dtype=float) * np.linalg.det(p.F[rows].astype(float))
    share = np.asarray(p.mass[rows], dtype=float) / p.mass[rows].sum(dtype=float)
    f = np.zeros(np.round((np.asarray(sim.scene.upper) - sim.scene.lower) / h).astype(int) + 3)
    first = np.floor(x / h - 0.5).astype(int)
    for offset in np.ndindex(*(3,) * d):
        r = first + offset - x / h
        weight = np.where(np.abs(r) < 0.5, 0.75 - r**2, 0.5 * (1.5 - np.abs(r)) ** 2).prod(axis=1)
        pull = 4 / h * volume * (stress[:, -1] * r).sum(axis=1)  # of moving least squares
        np.add.at(f, tuple((first + offset).T), weight * (pull + push * share))
    return f


def hertz(dim: int, dtype: str) -> Iterator[Row]:
    """A disc or ball is pressed onto a block: the width of the contact, and the pressure in its middle, both of the
    forces at the nodes."""
    E, nu, R = 1e6, 0.3, 0.5
    stiff = E / 2 / (1 - nu**2)
    for h, load in (
        ((0.04, 0.012), (0.02, 0.012), (0.04, 0.04), (0.02, 0.04)) if dim == 2 else ((0.05, 0.02),)
    ):
        P = load * E * R ** (dim - 1)
        M = 1000 * (np.pi * R**2 if dim == 2 else 4 / 3 * np.pi * R**3)
        scene = mpm.Scene([0] * dim, [2.4] * dim, contact="separate")
        scene.add(Box([0.2] * (dim - 1) + [0], [2.2] * (dim - 1) + [0.8]), solid(E, nu), name="block")
        scene.add(Ball([1.2] * (dim - 1) + [0.8 + R], R), solid(E, nu), name="ball")

        def push(sim: mpm.Simulation, b: Array, t: float, load: float = P / M) -> None:
            b[sim.rows("ball"), -1] -= load * min(1.0, t / 0.1)

        sim = damped(scene, push, 28.0, dx=h, dtype=dtype)
        sim.run(0.7)
        if dim == 2:
            a, p0 = np.sqrt(4 * P * R / np.pi / stiff), np.sqrt(P * stiff / np.pi / R)
        else:
            a, p0 = (0.75 * P * R / stiff) ** (1 / 3), (6 * P * stiff**2 / np.pi**3 / R**2) ** (1 / 3)
        pressed = forces_of_contact(sim, "ball", P).sum(axis=-1)
        at2 = sum((axis * h - 1.2) ** 2 for axis in np.indices(pressed.shape))
        near = at2 < (a + 2 * h) ** 2  # beyond, forces are those of the motion that is left
        width = np.sqrt((4.0 if dim == 2 else 2.5) * (pressed * at2)[near].sum() / pressed[near].sum())
        middle = pressed[at2 < max(0.25 * a, 0.6 * h) ** 2].mean() / h ** (dim - 1)
        what = f"Hertz, a = {a / h:.1f} cells: "
        yield what + "error of the width", width / a - 1, -0.06, 0.06
        yield what + "error of the pressure in the middle", middle / p0 - 1, -0.12, 0.12
        yield what + "error of the force", -sim.force("block|ball", window=0.1)[-1] / -P - 1, -0.02, 0.02


def discs(dim: int, dtype: str) -> Iterator[Row]:
    """A disc or ball meets an equal one at rest: restitution, the rest of which is vibration."""
    R, v0 = 0.15, 2.0
    for cells, least, transfer in (
        (3.75, 0.84, "apic"),
        *([(3.75, 0.84, "aflip")] if dim == 3 else []),
        (7.5, 0.93, "apic"),
        (15.0, 0.96, "apic"),
    ):
        h = R / cells
        scene = mpm.Scene([0] * dim, [1.6, *[0.48] * (dim - 1)], contact="separate")
        middle = [0.24] * (dim - 1)
        scene.add(Ball([0.4, *middle], R), solid(), velocity=[v0, *[0] * (dim - 1)], name="a")
        scene.add(Ball([0.4 + 2 * R + 2.2 * h, *middle], R), solid(), name="b")
        sim = mpm.Simulation(scene, dx=h, dtype=dtype, transfer=transfer)
        sim.run(0.12 + 2.2 * h / v0)
        found = (speed(sim, "b") - speed(sim, "a"))[0] / v0
        by = f", {transfer.upper()}" if transfer != "apic" else ""
        yield f"equal discs, R = {cells:g} cells{by}: restitution", found, least, 1.0


def ratio(dim: int, dtype: str) -> Iterator[Row]:
    """A disc meets one of 1000 times its density and stiffness, and the other way round."""
    R, v0, h = 0.15, 2.0, 0.02
    for q, light, most in ((1000.0, -0.998, 0.08), (0.001, 0.998, 1e-3)):
        scene = mpm.Scene([0] * dim, [1.6, *[0.48] * (dim - 1)], contact="separate")
        middle = [0.24] * (dim - 1)
        scene.add(Ball([0.5, *middle], R), solid(), velocity=[v0, *[0] * (dim - 1)], name="a")
        other = solid(1e6 * q, density=1000.0 * q)
        scene.add(Ball([0.5 + 2 * R + 2.2 * h, *middle], R), other, name="b")
        sim = mpm.Simulation(scene, dx=h, dtype=dtype)
        sim.run(0.09 + 2.2 * h / v0)
        yield (
            f"density ratio {q:g}: speed of the first less {light:g}",
            speed(sim, "a")[0] / v0 - light,
            -most,
            most,
        )


def three(dim: int, dtype: str) -> Iterator[Row]:
    """Three discs collide with friction."""
    h = 0.02 if dim == 2 else 0.04
    scene = mpm.Scene([0] * dim, [1.6] * dim, contact=mpm.Contact("separate", friction=0.3))
    middle = [0.8] * (dim - 2)
    for name, at, v, material in (
        ("a", (0.5, 0.8), (3.0, 0.0), solid()),
        ("b", (0.9, 0.92), (-2.0, -0.5), solid(5e5, density=2000)),
        ("c", (0.72, 0.45), (0.0, 2.0), solid(nu=0.2, density=500)),
    ):
        v3 = (v[0], *[0.0] * (dim - 2), v[1])
        scene.add(Ball((at[0], *middle, at[1]), 0.15), material, velocity=v3, name=name)
    sim = mpm.Simulation(scene, dx=h, dtype=dtype)
    sim.run(0.15)
    p, history = sim.particles, sim.history
    size = float((np.asarray(p.mass)[:, None] * np.abs(p.v)).sum())
    most = 1e-12 if dtype == "float64" else 1e-5
    P, L, e = history["momentum"], history["angular_momentum"], history["energy"]
    yield "three discs: change of P", float(np.abs(P - P[0]).max()) / size, 0, most
    yield "three discs: change of L", float(np.abs(L - L[0]).max()) / size, 0, most
    yield "three discs: energy left", e[-1] / e[0], 0.5, 1.0
    yield "three discs: largest energy", e.max() / e[0], 1.0, 1 + (1e-9 if dtype == "float64" else 1e-5)
    yield "three discs: work of friction", history["friction_work"].sum() / e[0], 0.01, 0.5


def piled(dim: int, turned: float, degrees: float, bricks: bool) -> tuple[mpm.Scene, Frame, list[str]]:
    """Blocks on a block whose lower half is held: in a stack of four, or in a wall of nine."""
    depth, walls = periodic_depth(dim, 0.02)
    frame = Frame(turned, [0.7, *[0] * (dim - 2), 0.5], dim)
    scene = mpm.Scene(
        [0] * dim,
        [1.6, *depth, 1.36],
        gravity=frame.gravity(degrees),
        walls=walls,
        contact=mpm.Contact("separate", friction=0.5),
    )
    scene.add(frame.box((-0.4, -0.1), (0.4, 0), 0.08), solid(), name="base")
    names = []
    places = [(r, c) for r in range(3) for c in (-1, 0, 1)] if bricks else [(r, 0) for r in range(4)]
    for r, c in places:
        low = c * 0.2 - 0.1 + (0.06 if bricks and r % 2 else 0)
        names.append(f"block{r}{c}")
        F = None if bricks else frame.weighed(degrees, 0.4)
        scene.add(frame.box((low, 0.1 * r), (low + 0.2, 0.1 * (r + 1)), 0.08), solid(), F=F, name=names[-1])
    scene.add_collider(HalfSpace(frame.origin - 0.05 * frame.up, frame.up), contact="sticky")
    return scene, frame, names


def stack(dim: int, dtype: str) -> Iterator[Row]:
    """Four blocks at rest for a second; on a slope with a drag."""
    for turned, degrees, rate in ((0.0, 0.0, 0.0), (20.0, 0.0, 0.0), (20.0, 10.0, 10.0)):
        scene, frame, names = piled(dim, turned, degrees, bricks=False)
        sim = (
            damped(scene, lambda *_: None, rate, dx=0.02, dtype=dtype)
            if rate
            else mpm.Simulation(scene, dx=0.02, dtype=dtype)
        )
        start = np.array([centre(sim, name) for name in names])
        sim.run(0.9)
        before = np.array([centre(sim, name) for name in names])
        sim.run(0.1)
        after = np.array([centre(sim, name) for name in names])
        what = f"stack of four, turned by {turned:g}°, slope {degrees:g}°: "
        drift = np.abs((after - before) @ frame.along).max() / 0.02
        yield what + "sinks [cells]", float(-((after - start) @ frame.up).min() / 0.02), -0.1, 0.1
        yield what + "drift in 0.1 s [cells]", float(drift), 0, 0.01 if rate else 0.02


def bricks(dim: int, dtype: str) -> Iterator[Row]:
    """A wall of nine bricks, up to four of them at a node."""
    scene, frame, names = piled(dim, 20.0, 0.0, bricks=True)
    sim = mpm.Simulation(scene, dx=0.02, dtype=dtype)
    start = np.array([centre(sim, name) for name in names])
    sim.run(0.25)
    moved = (np.array([centre(sim, name) for name in names]) - start) / 0.02
    for what, axis in (("along its rows", frame.along), ("up or down", frame.up)):
        most = float(np.abs(moved @ axis).max())
        yield f"wall of nine bricks, turned by 20°: moves {what} [cells]", most, 0, 0.15


def adhesion(dim: int, dtype: str) -> Iterator[Row]:
    """Two blocks that stick over 0.2 m are pulled apart: the largest force over the strength."""
    strength, h, side = 2e3, 0.02, 0.2
    for turned in (0.0, 20.0, 45.0):
        depth, walls = periodic_depth(dim, h)
        frame = Frame(turned, [0.7, *[0] * (dim - 2), 0.7], dim)
        area = side * float(np.prod(depth))
        contact = mpm.Contact("separate", adhesion=strength)
        scene = mpm.Scene([0] * dim, [1.4, *depth, 1.4], walls=walls, contact=contact)
        soft = solid(nu=0.0)
        scene.add(frame.box((-0.1, -0.2), (0.1, 0.0), 4 * h), soft, name="low")
        scene.add(frame.box((-0.1, 0.0), (0.1, 0.2), 4 * h), soft, name="high")
        mass = 1000 * area * 0.2

        def push(
            sim: mpm.Simulation, b: Array, t: float, up: Array = frame.up, top: float = area / mass
        ) -> None:
            for name, sign in (("low", -1), ("high", 1)):
                b[sim.rows(name)] += sign * 3 * strength * top * t / 0.4 * up

        sim = damped(scene, push, 20.0, dx=h, dtype=dtype)
        sim.run(0.25)
        force = -(sim.history["force:low|high"] @ frame.up)
        smooth = np.convolve(force, np.ones(10) / 10, "valid")
        yield (
            f"adhesion, turned by {turned:g}°: largest force over σA",
            float(smooth.max()) / strength / area,
            0.85,
            1.05,
        )


def bits(dim: int, dtype: str) -> Iterator[Row]:
    """Threads, steps in two parts and a file change nothing; bonded bodies are those of a scene without contact."""

    def made(contact: str = "separate", threads: int = 1) -> mpm.Simulation:
        scene = mpm.Scene([0] * dim, [1] * dim, contact=contact)
        for name, at, v in (("a", 0.3, 1.0), ("b", 0.62, -1.0), ("c", 0.48, 0.0)):
            middle = [at, *[0.5] * (dim - 2), 0.5 if name != "c" else 0.24]
            scene.add(Ball(middle, 0.14), solid(), velocity=[v] * dim, name=name)
        return mpm.Simulation(scene, dx=1 / 32 if dim == 2 else 1 / 16, dtype=dtype, threads=threads)

    found = set()
    for threads in (1, 2, 3, 7):
        sim = made(threads=threads)
        sim.step(100)
        found.add(sim.state_hash())
    sim = made()
    sim.step(50)
    with tempfile.TemporaryDirectory() as folder:
        sim.save(f"{folder}/middle.mpm")
        for one in (sim, mpm.load(f"{folder}/middle.mpm")):
            one.step(50)
            found.add(one.state_hash())
    yield "three bodies, threads 1, 2, 3, 7, in two parts, from a file: states", len(found), 1, 1
    history = sim.history["force:a|b"]
    yield "three bodies: records with a force of a on b", int(np.any(history != 0, axis=1).sum()), 1, np.inf


def cost(dim: int, dtype: str) -> Iterator[Row]:
    """Two cubes of 64³ cells press on each other: processor time of interleaved steps on one thread, and memory."""
    h, sims = 1 / 64, {}
    for word in ("bonded", "separate") if dim == 3 else ():
        scene = mpm.Scene((0, 0, 0), (2.125, 1.125, 1.125), contact=word)
        for name, low, v in (("a", 4 * h, 0.5), ("b", 1 + 4 * h, -0.5)):
            box = Box((low, 4 * h, 4 * h), (low + 1, 1 + 4 * h, 1 + 4 * h))
            scene.add(box, solid(), velocity=(v, 0, 0), name=name)
        sims[word] = mpm.Simulation(scene, dx=h, dtype=dtype, threads=1)
        sims[word].step(2)
    times: dict[str, list[float]] = {word: [] for word in sims}
    for _ in range(9 if sims else 0):
        for word, sim in sims.items():
            begin = time.thread_time()
            sim.step(3)
            times[word].append(time.thread_time() - begin)
    if sims:
        taken = [a / b for a, b in zip(times["separate"], times["bonded"], strict=True)]
        held = {word: sum(sim._core.memory().values()) for word, sim in sims.items()}
        what = f"two cubes of 64³ cells, {dtype}: "
        yield what + "seconds over those of bonded ones", statistics.median(taken), 0, 1.15
        yield what + "memory over that of bonded ones", held["separate"] / held["bonded"], 0, 1.1


CASES = {"bars": bars, "incline": incline, "lattices": lattices, "stick": stick, "plates": plates, "roll": roll,
         "hertz": hertz, "discs": discs, "ratio": ratio, "three": three, "stack": stack, "bricks": bricks,
         "adhesion": adhesion, "bits": bits, "cost": cost}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], default=[])
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    parser.add_argument("--dim", type=int, choices=(2, 3), default=2)
    given = parser.parse_args()
    print("| case | measured | from | to | |\n|---|---|---|---|---|")
    for name in given.cases or CASES:
        for what, found, least, most in CASES[name](given.dim, given.dtype):
            met = "met" if least <= found <= most else "MISSED"
            print(f"| {what} | {found:.3g} | {least:g} | {most:g} | {met} |", flush=True)


if __name__ == "__main__":
    main()
