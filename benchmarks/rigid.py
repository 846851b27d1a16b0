"""Prints how rigid bodies rest, slide, roll, tip, stand in stacks and press deformable bodies, against closed forms.

    python benchmarks/rigid.py [rest|slope|roll|tip|stack|ratio|free|flip|rock|pinch|drop|slab|strike|mesh|cost ...]

`docs/design/020-rigid-bodies.md` has the reasons. Lengths are in cells of 0.1 m unless said otherwise; steps of 2 ms.
All takes about two minutes on one core.
"""

import argparse
import time
from collections.abc import Iterator, Sequence

import numpy as np

import mpm
from mpm.shapes import Ball, Box, HalfSpace, Mesh, Polygon

H, G, DT = 0.1, 10.0, 2e-3  # [m], [m/s²], [s]
STONE = mpm.materials.Rigid(density=1000, friction=0.4)
RUBBER = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=200)
Row = tuple[str, float, float]  # what, measured, at most


def slope(dim: int, degrees: float, friction: float, collider: bool = False) -> tuple[mpm.Scene, float]:
    """An empty scene whose gravity is that on a slope along x, and the height of its floor."""
    angle = np.radians(degrees)
    gravity = [G * np.sin(angle), *[0] * (dim - 2), -G * np.cos(angle)]
    walls = "slip" if collider else mpm.Wall("separate", friction=friction)
    scene = mpm.Scene([0] * dim, [40, *[10] * (dim - 1)], gravity=gravity, walls=walls)
    if collider:
        scene.add_collider(HalfSpace([0] * (dim - 1) + [0.3], [0] * (dim - 1) + [1]), friction=friction)
    return scene, 0.3 if collider else 0.0


def run(scene: mpm.Scene, seconds: float, dtype: str = "float64", dt: float = DT) -> mpm.Simulation:
    sim = mpm.Simulation(scene, dx=H, dt=dt, dtype=dtype)
    sim.run(seconds)
    return sim


def rest(dtype: str) -> Iterator[Row]:
    """A block on the floor."""
    for dim, high in ((2, 4), (2, 16), (2, 64), (3, 8)):
        scene, _ = slope(dim, 0, 0.4)
        scene.add(Box([2] * (dim - 1) + [0], [2 + 8 * H] * (dim - 1) + [high * H]), STONE, name="block")
        start = np.append([2 + 4 * H] * (dim - 1), high * H / 2)
        block = run(scene, 4 if dim == 2 else 1, dtype).rigid("block")
        yield (
            f"block {high} high at rest, {dim}-D: way",
            float(np.abs(block.position - start).max() / H),
            1e-5,
        )


def slide(dtype: str) -> Iterator[Row]:
    """A block on a slope of 20 degrees, whose tangent is 0.36397."""
    for dim in (2, 3):
        for collider in (False, True):
            for friction in (0.2, 0.365):
                scene, floor = slope(dim, 20, friction, collider)
                low = [0.5] * (dim - 1) + [floor]
                scene.add(Box(low, np.add(low, [0.6] * (dim - 1) + [0.4])), STONE, name="block")
                sim = run(scene, 1.0, dtype)
                way = sim.rigid("block").position[0] - 0.8
                what = f"slope, friction {friction}, {'collider' if collider else 'wall'}, {dim}-D: "
                if friction == 0.365:
                    yield what + "way", abs(way) / H, 1e-3
                else:
                    exact = 0.5 * G * (np.sin(np.radians(20)) - 0.2 * np.cos(np.radians(20)))
                    yield what + "error of the way", abs(way / exact - 1), 1e-4


def roll(dtype: str) -> Iterator[Row]:
    """Balls on slopes, and one that begins to slide."""
    for dim, share in ((2, 0.5), (3, 0.4)):
        for cells in (2, 4, 8) if dim == 2 else (2, 4):
            R = cells * H
            for degrees, speed in ((0, 1.0), (5, 0.0), (20, 0.0)):
                scene, _ = slope(dim, degrees, 0.9)
                v = [speed, *[0] * (dim - 1)]
                scene.add(Ball([2] * (dim - 1) + [R], R), STONE, velocity=v, name="ball")
                ball = run(scene, 0.5, dtype).rigid("ball")
                exact = (G * np.sin(np.radians(degrees)) * 0.5 + speed) / (1 + share)
                what = "slides, then rolls" if speed else f"rolls down {degrees} degrees"
                yield f"ball of {cells} cells {what}, {dim}-D: error", abs(ball.velocity[0] / exact - 1), 1e-4


def tip(dtype: str) -> Iterator[Row]:
    """A tower of 4 x 16 cells: arctan(1/4) = 14.04 degrees."""
    for degrees in (13.9, 14.2):
        scene, _ = slope(2, degrees, 0.9)
        scene.add(Box((2, 0), (2.4, 1.6)), STONE, name="tower")
        turned = abs(run(scene, 3, dtype).rigid("tower").rotation[0, 1])
        yield f"tower at {degrees} degrees: turned", float(turned), 1e-3 if degrees < 14 else np.inf


def stack(dtype: str) -> Iterator[Row]:
    """Boxes on each other."""
    for dim, boxes in ((2, 5), (2, 10), (3, 5)):
        scene, _ = slope(dim, 0, 0.4)
        for k in range(boxes):
            low = [2] * (dim - 1) + [4 * k * H]
            scene.add(Box(low, np.add(low, 4 * H)), STONE, name=f"box {k}")
        sim = run(scene, 5 if dim == 2 else 1, dtype)
        x = np.array([sim.rigid(f"box {k}").position for k in range(boxes)])
        yield f"stack of {boxes}, {dim}-D: creep", float(np.abs(x[:, 0] - 2 - 2 * H).max() / H), 1e-2
        sink = x[:, -1] - (4 * np.arange(boxes) + 2) * H
        yield f"stack of {boxes}, {dim}-D: sinks", float(np.abs(sink).max() / H), 1e-3
    scene, _ = slope(2, 0, 0.4)
    places = [(2 + (5 * i + 2.5 * k) * H, 4 * k * H) for k in range(5) for i in range(5 - k)]
    for number, low in enumerate(places):
        scene.add(Box(low, np.add(low, 4 * H)), STONE, name=f"box {number}")
    sim = run(scene, 5, dtype)
    x = np.array([sim.rigid(f"box {number}").position for number in range(len(places))])
    yield "pyramid of 15: way", float(np.abs(x - places - 2 * H).max() / H), 1e-3


def ratio(dtype: str) -> Iterator[Row]:
    """A heavy box on a light one."""
    for heavy, most in ((10, 1e-3), (100, 1e-3), (300, 1e-2), (1000, 0.1)):
        scene, _ = slope(2, 0, 0.4)
        scene.add(Box((2, 0), (2.4, 0.4)), STONE)
        scene.add(
            Box((2, 0.4), (2.4, 0.8)), mpm.materials.Rigid(density=1000 * heavy, friction=0.4), name="heavy"
        )
        y = run(scene, 4, dtype).rigid("heavy").position[1]
        yield f"{heavy} times as heavy as the box below: sinks", abs(y - 0.6) / H, most


def free(dtype: str) -> Iterator[Row]:
    """A free box of 6 x 4 x 2 cells turns about its middle axis, and over."""
    scene = mpm.Scene((-1, -1, -1), (1, 1, 1))
    scene.add(Box((-0.3, -0.2, -0.1), (0.3, 0.2, 0.1)), STONE, angular_velocity=(0.01, 10, 0), name="box")
    sim = mpm.Simulation(scene, dx=H, dt=DT, dtype=dtype)
    before = sim.totals()
    sim.run(3)
    after, L = sim.totals(), np.linalg.norm(before.angular_momentum)
    single = dtype == "float32"
    yield "free box: change of energy", abs(after.kinetic / before.kinetic - 1), 1e-3 if single else 1e-12
    change = np.linalg.norm(after.angular_momentum - before.angular_momentum) / L
    yield "free box: change of L", float(change), 1e-3 if single else 1e-12


def flip(dtype: str) -> Iterator[Row]:
    """The same box: when it first lies on its back, against Euler's equations in steps of 10 us."""
    scene = mpm.Scene((-1, -1, -1), (1, 1, 1))
    scene.add(Box((-0.3, -0.2, -0.1), (0.3, 0.2, 0.1)), STONE, angular_velocity=(0.01, 10, 0), name="box")
    sim = mpm.Simulation(scene, dx=H, dt=DT, dtype=dtype)
    spins = [10.0]
    while spins[-1] > 0:
        sim.step()
        box = sim.rigid("box")
        spins.append(float((box.rotation.T @ box.spin)[1]))
    found = DT * (len(spins) - 2 + spins[-2] / (spins[-2] - spins[-1]))

    inertia = np.array([4**2 + 2**2, 6**2 + 2**2, 6**2 + 4**2], dtype=float)

    def change(w: np.ndarray) -> np.ndarray:
        return -np.cross(w, inertia * w) / inertia

    w, t, step = np.array([0.01, 10.0, 0.0]), 0.0, 1e-4
    while w[1] > 0:
        last = w
        a = change(w)
        b = change(w + step / 2 * a)
        c = change(w + step / 2 * b)
        w = w + step / 6 * (a + 2 * b + 2 * c + change(w + step * c))
        t += step
    exact = t - step + step * last[1] / (last[1] - w[1])
    yield "the box flips: error of its time", abs(found / exact - 1), 2e-3


def rock(dtype: str) -> Iterator[Row]:
    """An ellipse of 0.1 x 0.05 m rocks on a rough floor from 0.5 rad for 5 s, and an ellipsoid for 2 s."""
    a, b, angle, spacing = 0.1, 0.05, 0.5, 0.025
    high = float(np.hypot(a * np.sin(angle), b * np.cos(angle)))
    for dim, seconds in ((2, 5), (3, 2)):
        rough = mpm.Wall("separate", friction=1)
        scene = mpm.Scene([0] * dim, [1, *[0.4] * (dim - 1)], gravity=[0] * (dim - 1) + [-G], walls=rough)
        whole = Ball([0] * dim, 1).scale((a, *[0.07] * (dim - 2), b))
        tilted = whole.rotate(angle) if dim == 2 else whole.rotate(-angle, axis=(0, 1, 0))
        shape = tilted.translate([0.5, *[0.2] * (dim - 2), high])
        scene.add(shape, mpm.materials.Rigid(density=1000, friction=1), name="ellipse")
        sim = mpm.Simulation(scene, dx=spacing, dt=5e-4, dtype=dtype)
        sim.run(seconds)
        now, weight = sim.totals(), sim.totals().mass * G
        left = (now.kinetic + weight * (now.center_of_mass[-1] - b)) / (weight * (high - b))
        yield f"ellipse rocks, {dim}-D: error of its energy", abs(1 - left), 1e-2


def pinch(dtype: str) -> Iterator[Row]:
    """A light box between the floor and a block of rubber that is heavier."""
    for light in (1, 0.1, 0.01):
        scene = mpm.Scene((0, 0), (3.2, 3.2), gravity=(0, -G), walls=mpm.Wall("separate", friction=0.4))
        scene.add(
            Box((1.2, 0), (2.0, 0.6)), mpm.materials.Rigid(density=1000 * light, friction=0.3), name="box"
        )
        rubber = mpm.materials.NeoHookean(E=5e5, nu=0.3, density=1000)
        scene.add(Box((1.2, 0.6), (2.0, 1.6)), rubber, name="block")
        sim = mpm.Simulation(scene, dx=H, dtype=dtype)
        sim.run(1)
        moved = np.abs(sim.rigid("box").position - (1.6, 0.3)).max() / H
        yield f"box with {light} of the density of what it carries: way", float(moved), 1e-6


def drop(dtype: str) -> Iterator[Row]:
    """A disk falls onto a block of rubber: how deep, over that with the finest cells."""
    deep = []
    for cells in (4, 8, 16):
        scene = mpm.Scene((0, 0), (0.8, 0.8), gravity=(0, -G), walls="separate")
        scene.add(Box((0.2, 0), (0.6, 0.3)), RUBBER)
        scene.add(Ball((0.4, 0.45), 0.1), STONE, name="disk")
        sim = mpm.Simulation(scene, dx=0.1 / cells, dtype=dtype)
        low = np.inf
        for _ in range(50):
            sim.run(0.005)
            low = min(low, sim.rigid("disk").position[1])
        deep.append(0.4 - low)
    for cells, depth in zip((4, 8), deep, strict=False):
        yield f"disk of {cells} cells on rubber: error of its depth", abs(depth / deep[-1] - 1), 0.01


def slab(dtype: str) -> Iterator[Row]:
    """A tall box on a slab of rubber, which is damped: how far it goes from 2 s to 5 s."""
    for cells in (4, 8):
        h = 0.1 / cells
        scene = mpm.Scene((0, 0), (0.8, 1.2), gravity=(0, -G), walls=mpm.Wall("separate", friction=0.3))
        scene.add(Box((0.1, 0), (0.7, 0.2)), mpm.materials.NeoHookean(E=1e6, nu=0.3, density=1000))
        box = Box((0.3 + 0.13 * h, 0.2), (0.5 + 0.13 * h, 1.0))
        scene.add(box, mpm.materials.Rigid(density=1000, friction=0.3), name="box")
        sim = mpm.Simulation(scene, dx=h, dtype=dtype, damping=20)
        sim.run(2)
        before = sim.rigid("box").position
        sim.run(3)
        way = np.abs(sim.rigid("box").position - before).max() / h
        yield f"tall box on a slab of rubber, dx = 1/{cells} of half its width: way", float(way), 1e-2


def strike(dtype: str) -> Iterator[Row]:
    """A spinning disk strikes a free block of rubber with friction: what P and L change."""
    scene = mpm.Scene((0, 0), (1.6, 1.6))
    scene.add(Box((0.9, 0.5), (1.2, 1.1)), mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000))
    disk = mpm.materials.Rigid(density=1000, friction=0.5)
    scene.add(Ball((0.7, 0.75), 0.15), disk, velocity=(1, 0.3), angular_velocity=8, name="disk")
    sim = mpm.Simulation(scene, dx=0.05, dtype=dtype)
    before, at_first = sim.totals(), sim.rigid("disk").velocity[0]
    sim.run(0.3)
    after, most = sim.totals(), 1e-12 if dtype == "float64" else 1e-5
    P = np.abs(np.subtract(after.momentum, before.momentum)).max() / np.linalg.norm(before.momentum)
    L = abs(np.subtract(after.angular_momentum, before.angular_momentum)).max()
    assert sim.rigid("disk").velocity[0] < 0.9 * at_first
    yield "disk strikes a block: change of P", float(P), most
    yield "disk strikes a block: change of L", float(L / np.abs(before.angular_momentum).max()), most


def mesh(dtype: str) -> Iterator[Row]:
    """Cubes of triangles: at rest, on slopes, and tipping; a prism of 24 sides, and a polygon, as rimless wheels."""
    for degrees, friction in ((0, 0.4), (20, 0.2), (20, 0.365)):
        scene, _ = slope(3, degrees, friction)
        scene.add(prism(4, 0.4 * 2**0.5, 0.8, (2, 2, 0.4)), STONE, name="cube")
        way = float(np.abs(run(scene, 1.0, dtype).rigid("cube").position - (2, 2, 0.4)).max())
        exact = 0.5 * G * (np.sin(np.radians(20)) - 0.2 * np.cos(np.radians(20)))
        what = f"cube of triangles, slope of {degrees} degrees, friction {friction}: "
        if friction == 0.2:
            yield what + "error of the way", abs(way / exact - 1), 1e-4
        else:
            yield what + "way", way / H, 1e-3
    sides, R, seconds = 24, 4 * H, 0.5
    for degrees, speed in ((5, 1.0), (20, 0.5)):
        exact = rimless_wheel(sides, R, degrees, speed, seconds)
        for dim in (2, 3):
            scene, _ = slope(dim, degrees, 0.9)
            middle = np.array([2] * (dim - 1) + [R * np.cos(np.pi / sides)])
            wheel = prism(sides, R, 0.8, middle) if dim == 3 else Polygon(middle + ring(sides, R))
            spin = -speed / R if dim == 2 else (0, speed / R, 0)
            v = [speed, *[0] * (dim - 1)]
            scene.add(wheel, STONE, velocity=v, angular_velocity=spin, name="wheel")
            way = run(scene, seconds, dtype).rigid("wheel").position[0] - 2
            kind = "polygon" if dim == 2 else "prism of triangles"
            yield (
                f"{kind} of 24 sides rolls down {degrees} degrees: error of the way",
                abs(way / exact - 1),
                0.05,
            )


def ring(sides: int, R: float) -> np.ndarray:
    """The corners of a polygon that lies on a side."""
    angle = -np.pi / 2 + 2 * np.pi * (np.arange(sides) + 0.5) / sides
    return R * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def prism(sides: int, R: float, length: float, middle: Sequence[float]) -> Mesh:
    """A prism of triangles along y that lies on a side."""
    corners = np.stack([np.insert(ring(sides, R), 1, y, axis=1) for y in (-length / 2, length / 2)])
    k = np.arange(sides)
    after = (k + 1) % sides
    fan = np.stack([np.zeros(sides - 2, dtype=int), k[1:-1], k[2:]], axis=1)
    around = [np.stack([k, k + sides, after], axis=1), np.stack([after, k + sides, after + sides], axis=1)]
    faces = np.concatenate([*around, fan, fan[:, ::-1] + sides])
    return Mesh(vertices=corners.reshape(-1, 3) + middle, faces=faces)


def rimless_wheel(sides: int, R: float, degrees: float, speed: float, seconds: float) -> float:
    """The way of a wheel of so many corners that begins on a side. It turns about a corner like a pendulum until the
    next one strikes, and keeps its angular momentum about that one; by steps of 10 us."""
    half, slope, dt = np.pi / sides, np.radians(degrees), 1e-5
    k = 0.5 - np.sin(half) ** 2 / 3  # I/(m R^2)
    angle, strikes = -half, 0
    w = speed / R * (np.cos(half) + k) / (1 + k)
    for _ in range(round(seconds / dt)):
        w += 0.5 * dt * G / R / (1 + k) * np.sin(angle + slope)
        angle += dt * w
        w += 0.5 * dt * G / R / (1 + k) * np.sin(angle + slope)
        if angle > half:
            angle, strikes = angle - 2 * half, strikes + 1
            w *= (k + np.cos(2 * half)) / (1 + k)
    return float(R * (2 * strikes * np.sin(half) + np.sin(half) + np.sin(angle)))


def cost(dtype: str) -> Iterator[Row]:
    """A block of 33,792 particles on the floor: time of the processor for a step, over that of a neo-Hookean block."""
    blocks = []
    for material in (STONE, mpm.materials.NeoHookean(E=1e6, nu=0.3, density=1000)):
        scene, _ = slope(3, 0, 0.4)
        scene.add(Box((2, 2, 0), (3.6, 3.6, 1.65)), material)
        blocks.append(mpm.Simulation(scene, dx=H, dt=5e-4, dtype=dtype, threads=1))
    times = np.zeros((10, 2))
    for row in times:
        for k, sim in enumerate(blocks):
            began = time.process_time()
            sim.step(10)
            row[k] = time.process_time() - began
    yield (
        "rigid block of 33,792 particles: cost over neo-Hookean",
        float(np.divide(*times.min(axis=0))),
        0.5,
    )


CASES = {"rest": rest, "slope": slide, "roll": roll, "tip": tip, "stack": stack, "ratio": ratio, "free": free,
         "flip": flip, "rock": rock, "pinch": pinch, "drop": drop, "slab": slab, "strike": strike,
         "mesh": mesh}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", nargs="*", choices=[*CASES, "cost", []], default=[])
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    given = parser.parse_args()
    print("| case | measured | at most | |\n|---|---|---|---|")
    for name in given.cases or CASES:
        for what, found, most in (CASES | {"cost": cost})[name](given.dtype):
            bound = "" if most == np.inf else f"{most:.0e}"
            met = "met" if bound and found <= most else ""
            print(f"| {what} | {found:.1e} | {bound} | {met} |", flush=True)


if __name__ == "__main__":
    main()
