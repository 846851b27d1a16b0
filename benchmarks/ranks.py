"""Time, bytes and messages of a step in several MPI processes: a block of rubber in free fall, in single precision.

    mpiexec -n 2 python -m mpi4py benchmarks/ranks.py --particles 1000000 --threads 1

Compare with ``--particles 1000000 --threads 2`` without mpiexec. Processor time does not depend on what else a machine
runs, as long as processes do not spin while they wait.
"""

from __future__ import annotations

import argparse
import time

import mpm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--particles", type=int, default=262_144)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    try:
        from mpi4py.MPI import COMM_WORLD as comm
    except (ImportError, RuntimeError):
        comm = None
    cells = round((options.particles / 8) ** (1 / 3))
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
    dx = 1 / (2 * cells)
    shape = mpm.shapes.Box((0.25,) * 3, (0.75,) * 3)
    scene.add(shape, mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000), velocity=(3, 2, 1))
    sim = mpm.Simulation(scene, dx=dx, dtype="float32", threads=options.threads, comm=comm)
    sim.step(2)
    team, particles = sim._team, len(sim.particles)
    before = (team.sent, team.messages, team.reductions) if team else (0, 0, 0)
    binnings = sim.health["binnings"]
    began, worked = time.perf_counter(), time.process_time()
    sim.step(options.steps)
    took, worked = time.perf_counter() - began, time.process_time() - worked
    works = comm.gather(worked) if comm else [worked]
    if team and team.process:
        return
    per = 1e9 / options.steps / particles
    binnings = sim.health["binnings"] - binnings
    print(f"{particles} particles, {len(works)} processes of {options.threads} threads")
    print(f"{options.steps} steps, {binnings} binnings")
    print(
        f"{took * per:.1f} ns per particle and step; processors of all processes: {sum(works) * per:.1f} ns"
    )
    if team:
        sent, messages, reductions = (
            (now - then) / options.steps
            for now, then in zip((team.sent, team.messages, team.reductions), before, strict=True)
        )
        print(
            f"process 0, per step: {sent / 1024:.0f} KiB in {messages:.1f} messages, {reductions:.1f} reductions "
            "(binnings and the end of the run included)"
        )


if __name__ == "__main__":
    main()
