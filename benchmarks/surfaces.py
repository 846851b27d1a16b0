"""Prints volumes, seams and times of surfaces of particles, and what other libraries read in their files.

    python benchmarks/surfaces.py [--particles 100000]

A cube at rest, and a dam break in mid-collapse by MPM and by SPH. The volume is compared with that of the shapes, and
the time is that of all threads. The last columns give what trimesh finds in the .obj file, and the errors that the
checker of OpenUSD (`pxr.UsdValidation`) finds in a stage of particles, surface and colliders. Needs the extras surface,
usd and mesh.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import trimesh
from pxr import Usd, UsdValidation

import mpm


def cube(particles: int) -> mpm.Simulation:
    """A cube that fills half of the domain's side, eight particles per cell."""
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    jelly = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)
    scene.add(mpm.shapes.Box((0.25, 0.25, 0.25), (0.75, 0.75, 0.75)), jelly, name="cube")
    return mpm.Simulation(scene, dx=1 / round(2 * (particles / 8) ** (1 / 3)), dtype="float32")


def dam(particles: int, method: str) -> mpm.Simulation | mpm.sph.Simulation:
    """A column of water, 0.3 s after it began to collapse; a pillar stands in its way."""
    scene = mpm.Scene((0, 0, 0), (1, 0.5, 0.5), gravity=(0, 0, -9.81), walls="separate")
    water = mpm.materials.Fluid(bulk_modulus=2e5, density=1000)
    scene.add(mpm.shapes.Box((0, 0, 0), (0.375, 0.5, 0.375)), water, name="water")
    scene.add_collider(mpm.shapes.Cylinder((0.7, 0.25, 0), (0.7, 0.25, 0.5), 0.06), name="pillar")
    cells = 8 * round(
        (particles / (0.375**2 / 2)) ** (1 / 3) / 16
    )  # in 1 m; the column consists of whole ones
    sim: mpm.Simulation | mpm.sph.Simulation = (
        mpm.Simulation(scene, dx=1 / cells, dtype="float32")
        if method == "mpm"
        else mpm.sph.Simulation(scene, spacing=1 / (2 * cells), dtype="float32")
    )
    sim.run(0.3)
    return sim


def row(name: str, sim: mpm.Simulation | mpm.sph.Simulation, volume: float, folder: Path) -> str:
    """One line of the table."""
    sim.surface()  # imports the library
    start = time.process_time()
    found = sim.surface(values="speed")
    seconds = time.process_time() - start
    read: Any = trimesh.load(found.save(folder / "a.obj"))
    (path,) = mpm.export(sim, folder / "a.usdc", surface=True, fields=("v",))
    stage = Usd.Stage.Open(str(path))
    context = UsdValidation.ValidationContext(UsdValidation.ValidationRegistry().GetOrLoadAllValidators())
    errors = context.Validate(stage)
    count = len(sim.particles)
    cells = [
        name,
        f"{count:,}",
        f"{len(found.triangles):,}",
        "yes" if found.watertight else "no",
        f"{100 * (found.volume / volume - 1):+.2f} %",
        f"{seconds:.2f} s",
        f"{seconds * 1e5 / count:.2f} s",
        f"{'' if read.is_watertight else 'not '}watertight, {100 * (read.volume / volume - 1):+.2f} %",
        f"{len(errors)} errors",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--particles", type=int, default=100_000)
    count = parser.parse_args().particles
    head = (
        "scene, particles, triangles, watertight, volume, processor time, per 100,000 particles, trimesh, OpenUSD"
    ).split(", ")
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        print(row("cube", cube(count), 0.125, here), flush=True)
        for method in ("mpm", "sph"):
            print(row(f"dam break, {method}", dam(count, method), 0.375**2 / 2, here), flush=True)


if __name__ == "__main__":
    main()
