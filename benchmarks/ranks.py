"""Time, bytes, messages and memory of a run in several MPI processes: rubber in free fall, in single precision.

    mpiexec -n 2 python -m mpi4py benchmarks/ranks.py --particles 1000000 --threads 1

Compare with ``--particles 1000000 --threads 2`` without mpiexec. Processor time does not depend on what else a machine
runs, as long as processes do not spin while they wait. With ``--distributed``, each process has its own particles
alone. Memory is that of the process on Linux beyond what it has before the simulation is made, in bytes per particle
of all.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import mpm


def memory(name: str) -> int:
    """``VmRSS`` or ``VmHWM`` of this process [bytes]; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--particles", type=int, default=262_144)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--distributed", action="store_true")
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
    empty = memory("VmRSS")
    how = {"comm": comm, "distributed": options.distributed} if comm else {}
    sim = mpm.Simulation(scene, dx=dx, dtype="float32", threads=options.threads, **how)
    made = memory("VmHWM")
    sim.step(2)
    team, particles = sim._team, len(sim.particles)
    before = (team.sent, team.messages, team.reductions) if team else (0, 0, 0)
    binnings = sim.health["binnings"]
    began, worked = time.perf_counter(), time.process_time()
    sim.step(options.steps)
    took, worked = time.perf_counter() - began, time.process_time() - worked
    held = [memory("VmRSS") - empty, made - empty, memory("VmHWM") - empty]
    works = comm.gather(worked) if comm else [worked]
    most = [max(one) for one in zip(*(comm.gather(held) or [held] if comm else [held]), strict=True)]
    if team and team.process:
        return
    per = 1e9 / options.steps / particles
    binnings = sim.health["binnings"] - binnings
    print(f"{particles} particles, {len(works)} processes of {options.threads} threads")
    print(f"{options.steps} steps, {binnings} binnings")
    print(
        f"{took * per:.1f} ns per particle and step; processors of all processes: {sum(works) * per:.1f} ns"
    )
    resident, setup, peak = (one / particles for one in most)
    print(
        f"memory of the largest process: {resident:.0f} B per particle of all; at the peak of the setup {setup:.0f}, "
        f"of all {peak:.0f}"
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
