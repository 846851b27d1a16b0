"""Random scenes of 1 to 12 rigid bodies, some deformable: nothing leaves the domain, no step adds energy, and the
momentum is what gravity, walls and colliders give; energy changes by the work of contacts.

    python benchmarks/rigid_random.py [--seed 0] [--scenes 1000] [--seconds 600] [--verbose]

Prints a row for each scene that breaks a bound, and the worst of all. Every tenth scene is run once more with two
threads, in two parts, and from a file saved in the middle, to the same bits. Energy counts only in scenes without
deformable bodies, whose elastic energy explicit steps exchange with motion half a step late. A thousand scenes take
some two minutes on one core.
"""

import argparse
import pathlib
import tempfile
import time
import warnings

import numpy as np

import mpm
from mpm.shapes import Ball, Box, HalfSpace, Polygon, Shape

RISE = 1e-6  # of the largest energy above the floor, in a step
OUT = 0.0  # of particles beyond a wall [cells]
BOOKS = {"float64": 1e-10, "float32": 1e-4}  # of the largest momentum
LEFT = 1e-9  # of the largest energy above the floor: what the works of contacts leave of its change in a step


def shape(rng: np.random.Generator, centre: np.ndarray, R: float) -> Shape:
    d = len(centre)
    kind = rng.integers(0, 4)
    if kind == 1:
        half = R / np.sqrt(d) * rng.uniform(0.5, 1, d)
        box = Box(-half, half)
        turned = (
            box.rotate(rng.uniform(0, 6))
            if d == 2
            else box.rotate(rng.uniform(0, 6), axis=rng.normal(size=3))
        )
        return turned.translate(centre)
    if kind == 2 and d == 2:
        angle = np.sort(rng.uniform(0, 2 * np.pi, 5))
        if np.diff(np.append(angle, angle[0] + 2 * np.pi)).max() > 2.5:
            angle = np.arange(5) * 2 * np.pi / 5
        return Polygon(centre + R * np.stack([np.cos(angle), np.sin(angle)], 1))
    return Ball(centre, R)


def scene_of(seed: int) -> tuple[mpm.Scene, float, str]:
    """A scene, its cells and its precision."""
    rng = np.random.default_rng(seed)
    d = 2 if rng.random() < 0.7 else 3
    h = 1 / 16 if d == 2 else 1 / 8
    e, mu = float(rng.choice([0, 0, 0.5, 1])), float(rng.choice([0, 0.3, 0.8]))
    soft = rng.random() < 0.3
    scene = mpm.Scene(
        [0] * d,
        [1] * d,
        gravity=[0] * (d - 1) + [-10] if rng.random() < 0.8 else None,
        walls=mpm.Wall("separate", friction=mu, restitution=e),
    )
    if rng.random() < 0.3:
        normal = [*(0.1 * rng.normal(size=d - 1)), 1]
        scene.add_collider(
            HalfSpace([0.5] * (d - 1) + [0.12], normal), friction=mu, restitution=e, name="ground"
        )
    placed: list[tuple[np.ndarray, float]] = []
    for _ in range(int(rng.integers(1, 13))):
        R = rng.uniform(1.2, 3) * h
        for _ in range(60):
            c = rng.uniform(R + 0.01, 1 - R - 0.01, d)
            if c[-1] > R + 0.25 and all(np.linalg.norm(c - x) > R + S + 0.01 for x, S in placed):
                break
        else:
            continue
        placed.append((c, R))
        if soft and rng.random() < 0.4:
            material: mpm.materials.Material = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)
        else:
            material = mpm.materials.Rigid(
                density=float(10 ** rng.uniform(2, 4)),
                friction=float(rng.uniform(0, 0.8)) if mu else 0.0,
                restitution=e if rng.random() < 0.7 else 0.0,
                contact=str(rng.choice(["separate", "slip", "bonded"], p=[0.8, 0.1, 0.1])),
            )
        spin = float(5 * rng.normal()) if d == 2 else 5 * rng.normal(size=3)
        scene.add(shape(rng, c, R), material, velocity=rng.normal(size=d), angular_velocity=spin)
    return scene, h, "float32" if rng.random() < 0.2 else "float64"


def is_rigid(scene: mpm.Scene) -> bool:
    return all(isinstance(body.material, mpm.materials.Rigid) for body in scene.bodies)


def measure(sim: mpm.Simulation) -> dict[str, float]:
    H, scene, h = sim.history, sim.scene, sim.dx
    x = np.asarray(sim.particles.x, dtype=np.float64)
    P = H["momentum"]
    given = (H["body_impulse"] + H["wall_impulse"])[1:]
    for name in [name for name in H if name.startswith("impulse:")]:
        given = given + H[name][1:]
    change, whole = np.diff(H["energy"]), max(H["energy"].max(), 1e-300)
    counts = is_rigid(scene) and sim.dtype == "float64"
    left = change + H["friction_work"][1:] + H["impact_work"][1:]
    return {
        "out": max(float((-x).max()), float((x - 1).max())) / h,
        "rise": float(change.max() / whole) if counts else 0.0,
        "books": float(np.abs(np.diff(P, axis=0) - given).max() / max(np.abs(P).max(), 1e-300)),
        "left": float(np.abs(left).max() / whole) if counts else 0.0,
    }


def same_bits(scene: mpm.Scene, first: mpm.Simulation, **options: object) -> bool:
    """Two threads, in two parts, and from a file saved in the middle."""
    sim = mpm.Simulation(scene, threads=2, **options)
    sim.step(first.steps // 2)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "middle.mpm"
        sim.save(path)
        other = mpm.load(path)
    for one in (sim, other):
        one.step(first.steps - one.steps)
    first.step(0)
    return {sim.state_hash(), other.state_hash()} == {first.state_hash()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scenes", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    began, worst, broken, run = (
        time.perf_counter(),
        {"out": -np.inf, "rise": 0.0, "books": 0.0, "left": 0.0},
        0,
        0,
    )
    for seed in range(given.seed, given.seed + given.scenes):
        if time.perf_counter() - began > given.seconds:
            break
        scene, h, dtype = scene_of(seed)
        if all(isinstance(body.material, mpm.materials.NeoHookean) for body in scene.bodies):
            continue
        sim = mpm.Simulation(scene, dx=h, dtype=dtype, threads=1)
        run += 1
        try:
            sim.run(0.6)
            found = measure(sim)
            bad = found["out"] > OUT or found["rise"] > RISE
            bad |= found["books"] > BOOKS[dtype] or found["left"] > LEFT
            if seed % 10 == 0:
                again = mpm.Simulation(scene, dx=h, dtype=dtype, threads=1)
                again.step(sim.steps)
                bad |= not same_bits(scene, again, dx=h, dtype=dtype)
        except mpm.SimulationError as error:
            found, bad = {"out": np.inf, "rise": 0.0, "books": 0.0, "left": 0.0}, True
            print(f"{seed}: {error}")
        broken += bad
        worst = {name: max(worst[name], value) for name, value in found.items()}
        if bad or given.verbose:
            row = ", ".join(f"{name} {value:.1e}" for name, value in found.items())
            kinds = f"{len(scene.bodies)} bodies{'' if is_rigid(scene) else ', some soft'}, {scene.dimension}-D {dtype}"
            print(f"seed {seed}: {kinds}, {sim.steps} steps: {row}", flush=True)
    row = ", ".join(f"{name} {value:.1e}" for name, value in worst.items())
    print(f"{run} scenes, {broken} break a bound; worst: {row}; {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
