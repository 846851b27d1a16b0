"""What the tests of checkpoints share, and do in processes of their own: simulations of all kinds, fingerprints.

python checkpoints.py FOLDER    loads every .mpm of FOLDER, runs on, and prints what came of it as JSON
"""

import hashlib
import json
import os
import random
import signal
import statistics
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

import mpm
from mpm.io import checkpoint

sys.path.append(str(Path(__file__).parent))  # where Python does not look under PYTHONSAFEPATH
import scenes

TRANSFERS = ("apic", "pic", "flip", "aflip", "asflip", "xpic", "tpic")
KERNELS = ("quadratic", "cubic", "linear")
STEPS_ON = 12  # of every restarted run


def fingerprint(sim) -> dict[str, str]:
    """Digests of all that a simulation shows."""
    arrays = {name: sim.particles[name] for name in sim.particles.fields}
    arrays |= {f"history.{name}": sim.history[name] for name in sim.history}
    found = {
        name: hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()[:16] for name, a in arrays.items()
    }
    return found | {
        "state": sim.state_hash(),
        "totals": repr(sim.totals()),
        "health": repr(sim.health),
        "clock": repr((sim.time, sim.steps, sim.dt, sim.stable_dt())),
    }


def material(law: str):
    if law == "saint_venant_kirchhoff":  # softens where colliders press, until it is crushed
        return replace(scenes.MATERIALS[law], E=40)
    return scenes.MATERIALS[law]


def make(dim: int, dtype: str, transfer: str, law: str, collides: bool, variant: int):
    """A small body that falls; with walls, kernels and options that change with `variant`."""
    walls = [
        "separate",
        "slip",
        {"x": "periodic", "y": "sticky"},
        {"x": "mirror", "y-": mpm.Wall("slip", friction=0.3)},
    ]
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0.3] + [-2.0] * (dim - 1), walls=walls[variant % 4])
    side = 0.25 if law == "rigid" else 0.45  # however it turns, shorter than half of a periodic axis
    box = mpm.shapes.Box([0.25] * dim, [0.25 + side] * dim)
    spin = 2.0 if dim == 2 else (1, -1, 2)
    scene.add(box, material(law), velocity=lambda x: 0.3 * np.sin(9 * x[:, ::-1]), angular_velocity=spin)
    if collides:
        ball = mpm.shapes.Ball([0.5] * (dim - 1) + [0.15], 0.14)
        turn = {} if dim == 2 else {"axis": (0, 1, 1)}
        scene.add_collider(ball, friction=0.2, motion=mpm.motion.Sinusoid([0.1] * dim, 2))
        moved = mpm.shapes.Box([0.0] * dim, [0.2] * dim).rotate(0.3, **turn).scale(0.9)
        scene.add_collider(moved, contact="sticky", motion=mpm.motion.Rotation(3, **turn))
    kernel = KERNELS[variant % 3]
    strain = {  # that rigid bodies have no use for
        "f_update": "cayley" if variant % 5 == 2 else "linear",
        "f_bar": variant % 5 == 3,
        "artificial_viscosity": (0.06, 1.5) if variant % 5 in (3, 4) else None,
        "volume": "grid-density" if variant % 7 == 3 and kernel != "linear" else "sampler",
    }
    strain = {} if law == "rigid" else strain
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # thin colliders
        return mpm.Simulation(
            scene,
            dx=1 / 8,
            transfer=transfer,
            kernel=kernel,
            gradient="bspline" if kernel == "linear" or variant % 5 == 1 else "mls",
            dissipation=variant % 3 == 1,
            particle_collisions=("deep", "surface", "off")[variant % 3],
            dtype=dtype,
            sampling="stratified",
            rng=variant,
            threads=1 + variant % 3,
            history=(1, 3, 0)[variant // 2 % 3],
            on_leave=({"x": "clamp", "y": "delete"}, "delete", "clamp", "delete")[variant % 4],
            **strain,
        )


def go_on(folder: Path) -> dict[str, dict[str, str]]:
    """Every checkpoint of the folder with another number of threads: bytes of a second save, and the run."""
    found = {}
    for number, path in enumerate(sorted(folder.glob("*.mpm"))):
        sim = mpm.load(path, threads=1 + (number + 1) % 4)
        again = path.with_suffix(".again")
        sim.save(again)
        same = again.read_bytes() == path.read_bytes()
        loaded = fingerprint(sim)
        sim.step(STEPS_ON)
        found[path.stem] = {"same bytes": str(same), "loaded": json.dumps(loaded), **fingerprint(sim)}
    return found


def overwrite(path, data: bytes) -> None:
    """What `Simulation.save` does not do."""
    with open(path, "wb", buffering=0) as stream:
        for start in range(0, len(data), 1 << 16):
            stream.write(data[start : start + (1 << 16)])
        os.fsync(stream.fileno())


def duration(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def be_killed(folder: Path, kills: int, seed: int, in_place: bool) -> dict[str, int]:
    """Saves two states in turn into one file, in children that are killed in one of the first three saves; what the
    file is then."""
    sims = [make(2, "float64", "apic", "fluid", False, variant) for variant in (0, 1)]
    for sim in sims:
        x = 0.3 + 0.4 * np.random.default_rng(1).random((5000, 2))
        sim.add(mpm.shapes.Points(x, volume="per-cell"), material("snow"))
    known = [checkpoint.dumps(sim) for sim in sims]
    path = folder / "a.mpm"
    lasts = statistics.median(duration(lambda: sims[0].save(path)) for _ in range(5))
    rng = random.Random(seed)
    found = {"first": 0, "second": 0, "torn": 0, "left behind": 0}
    for _ in range(kills):
        begun, begins = os.pipe()
        if not (child := os.fork()):
            while True:
                for sim, data in zip(reversed(sims), reversed(known), strict=True):
                    os.write(begins, b"!")
                    overwrite(path, data) if in_place else sim.save(path)
        for _ in range(rng.randint(1, 3)):  # on a busy machine children take their time
            os.read(begun, 1)
        os.close(begun)
        os.close(begins)
        time.sleep(rng.uniform(0, lasts))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        data = path.read_bytes()
        if data in known:
            assert mpm.load(path) == sims[known.index(data)]
            found[("first", "second")[known.index(data)]] += 1
        else:
            found["torn"] += 1
    found["left behind"] = len(list(folder.iterdir())) - 1
    return found


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(json.dumps(go_on(Path(sys.argv[1]))))
    else:
        print(json.dumps(be_killed(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), "-i" in sys.argv)))
