"""Random scenes of 1 to 12 rigid bodies, some deformable: nothing leaves the domain, no step adds energy, and the
momentum is what gravity, walls and colliders give; energy changes by the work of contacts.

    python benchmarks/rigid_random.py [--seed 0] [--scenes 1000] [--seconds 600] [--verbose]

Prints a row for each scene that breaks a bound, and the worst of all. Every tenth scene is run once more with two
threads, in two parts, and from a file saved in the middle, to the same bits. Energy counts only in scenes without
deformable bodies, whose elastic energy explicit steps exchange with motion half a step late. A thousand scenes take
some two minutes on one core.
"""

import functools

import numpy as np
from seeds import Trial, run

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


def trial_of(seed: int) -> Trial | None:
    scene, h, dtype = scene_of(seed)
    if all(isinstance(body.material, mpm.materials.NeoHookean) for body in scene.bodies):
        return None

    def measured(sim: mpm.Simulation) -> dict[str, float]:
        sim.run(0.6)
        return measure(sim)

    def breaks(found: dict[str, float]) -> bool:
        wrong = found["out"] > OUT or found["rise"] > RISE
        return wrong or found["books"] > BOOKS[dtype] or found["left"] > LEFT

    kind = "" if is_rigid(scene) else ", some soft"
    words = f"{len(scene.bodies)} bodies{kind}, {scene.dimension}-D {dtype}"
    made = functools.partial(mpm.Simulation, scene, dx=h, dtype=dtype)
    return Trial(made, words, measured, breaks)


if __name__ == "__main__":
    run(__doc__, ("out", "rise", "books", "left"), trial_of, seconds=600.0)
