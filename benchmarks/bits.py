"""Digests of short runs: equal lines before and after a change that must not change any bit.

    python benchmarks/bits.py > before.txt    # at the commit before
    python benchmarks/bits.py | diff before.txt -

Each line is a scene, a kernel set, and the digest of all particle fields and of the history after the run. Digests
belong to one compiler: compare builds of the same machine only.
"""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import mpm
from mpm import _core

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import scenes

STEPS = 60
FIELDS = ("x", "v", "F", "C", "J", "Jp", "mass", "volume", "material", "id")


def digest(sim: mpm.Simulation) -> str:
    """Of all fields that a particle can have, and of every column of the history."""
    found = hashlib.sha256()
    for name in FIELDS:
        if name in sim.particles.fields:
            found.update(np.ascontiguousarray(sim.particles[name]).tobytes())
    for values in sim.history.values():
        found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()[:16]


def walled(dim: int, walls: str, law: str, **numerics) -> mpm.Simulation:
    """A body that meets walls and a moving collider."""
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81], walls=walls)
    scene.add(mpm.shapes.Box([0.1] * dim, [0.6] * dim), scenes.MATERIALS[law], velocity=[-1.5] * dim)
    scene.add_collider(
        mpm.shapes.Ball([0.75] * dim, 0.12), motion=mpm.motion.Linear([-0.5] * dim), friction=0.3, name="ball"
    )
    return mpm.Simulation(scene, dx=1 / 16, **numerics)


def leaving(dim: int, on_leave: str) -> mpm.Simulation:
    """A body that flies out of the domain."""
    scene = mpm.Scene([0] * dim, [1] * dim)
    scene.add(mpm.shapes.Ball([0.7] * dim, 0.2), scenes.MATERIALS["fluid"], velocity=[6.0] + [0] * (dim - 1))
    return mpm.Simulation(scene, dx=1 / 16, on_leave=on_leave)


def forced(dim: int, transfer: str) -> mpm.Simulation:
    """A body under a body force."""
    scene = mpm.Scene([0] * dim, [1] * dim, body_force=lambda x, t: np.sin(7 * x) + t)
    scene.add(mpm.shapes.Ball([0.5] * dim, 0.2), scenes.MATERIALS["snow"])
    return mpm.Simulation(scene, dx=1 / 16, transfer=transfer)


def runs(dim: int, dtype: str) -> Iterator[tuple[str, mpm.Simulation]]:
    """Scenes by name."""
    for law in scenes.LAWS:
        yield f"free {law}", scenes.free_body(dim, law, side=12, dtype=dtype)
        yield f"fixed dt {law}", scenes.free_body(dim, law, side=8, dtype=dtype, dt=1e-3, threads=2)
        for walls in ("separate", "mirror", "periodic", "sticky"):
            yield f"{walls} {law}", walled(dim, walls, law, dtype=dtype, threads=2)
    for transfer in ("pic", "flip", "aflip", "asflip", "xpic", "tpic", "apic"):
        for kernel, gradient in (("quadratic", "bspline"), ("cubic", "mls"), ("linear", "bspline")):
            yield (
                f"{transfer} {kernel} {gradient}",
                walled(
                    dim,
                    "mirror" if transfer == "xpic" else "separate",
                    "snow",
                    dtype=dtype,
                    transfer=transfer,
                    kernel=kernel,
                    gradient=gradient,
                    f_update="cayley" if transfer == "tpic" else "linear",
                ),
            )
    yield "three", scenes.three_materials(dim, 16, dtype=dtype, threads=3)
    if dtype == "float64":
        for on_leave in ("clamp", "delete"):
            yield f"leaving {on_leave}", leaving(dim, on_leave)
        for transfer in ("apic", "flip"):
            yield f"forced {transfer}", forced(dim, transfer)
        yield "volumes", scenes.free_body(dim, side=8, volume="grid-density")


def main() -> None:
    for isa in _core.isas():
        if len(sys.argv) > 1 and isa not in sys.argv[1:]:
            continue
        for dim in scenes.DIMS:
            for dtype in scenes.DTYPES:
                with scenes.kernels(isa):
                    for name, sim in runs(dim, dtype):
                        try:
                            sim.step(STEPS)
                            said = ""
                        except mpm.SimulationError as error:
                            said = " " + hashlib.sha256(str(error).encode()).hexdigest()[:8]
                        print(f"{isa} {dim}-D {dtype} {name}: {digest(sim)}{said}", flush=True)


if __name__ == "__main__":
    main()
