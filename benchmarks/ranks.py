"""Time, bytes, messages and memory of a run in several MPI processes: rubber in free fall, in single precision.

    mpiexec -n 2 python -m mpi4py benchmarks/ranks.py --particles 1000000 --threads 1

Compare with ``--particles 1000000 --threads 2`` without mpiexec. Processor time does not depend on what else a machine
runs; what processes spend in MPI, where they spin while they wait, is told apart. With ``--distributed``, each process
has its own particles alone. Memory is that of the process on Linux beyond what it has before the simulation is made, in
bytes per particle of all.

    python benchmarks/ranks.py model --particles 1000000000

runs nothing: it counts the bytes and messages of 8 to 4,096 processes (ranks_count.py) for a full cube, and models the
time of a step from them.

    mpiexec -n 2 python -m mpi4py benchmarks/ranks.py balance --particles 330000

runs a dam break onto sand, whose particles take longer than those of water, and prints how cuts follow.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import ranks_count

import mpm
from mpm.solver.team import Team

# The machines of the model.
PARTICLE = 30e-9  # s per particle and step of one core
LATENCY = 5e-6  # s per message, and per level of a collective call
BANDWIDTH = 10e9  # B/s of a process
TOGETHER, ADAPTER = 64, 25e9  # processes of a machine, and B/s of the adapter that they share
GRID = 0.05  # share of the passes over nodes in a step of one process
CALLS = 2 * 2  # collective calls of a step: sums and maxima of both reductions


within = [0.0]  # s of this thread in MPI


def timed(call: Callable[..., None]) -> Callable[..., None]:
    """A method of a team that adds its processor time to `within`."""

    def wrapped(*arguments: Any) -> None:
        began = time.thread_time()
        call(*arguments)
        within[0] += time.thread_time() - began

    return wrapped


def memory(name: str) -> int:
    """``VmRSS`` or ``VmHWM`` of this process [bytes]; 0 where the system does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)


def model(particles: int, counts: list[int]) -> None:
    """Efficiency of a step: the time of the particles alone over that of the slowest process."""
    blocks = max(1, round((particles / 512) ** (1 / 3)))
    groups = ranks_count.full_cube(blocks)
    particles = int(groups.count.sum())
    print(f"{particles:,} particles. Bytes, messages and blocks: of the process with most")
    print(
        "inner: share of particles in tasks that send nothing; blocks: of nodes, over those of an equal share"
    )
    print(
        "processes | particles KiB sent messages inner blocks reductions | a link each       | shared adapters"
    )
    print(
        "          |                                             ms      | without / overlap | without / overlap"
    )
    for processes in counts:
        count = ranks_count.exchange(groups, processes, together=TOGETHER)
        ideal = particles / processes * PARTICLE
        more_blocks = count.blocks * processes / (blocks + 2) ** 3
        sweeps = (1 - GRID) * count.particles * PARTICLE
        levels = math.ceil(math.log2(processes))
        reductions = levels * (CALLS * LATENCY + ranks_count.STEP / BANDWIDTH)
        busy = sweeps + GRID * ideal * more_blocks + reductions
        machines = np.add.reduceat(count.away, range(0, processes, TOGETHER))
        shared = np.repeat(machines / ADAPTER, TOGETHER)[:processes]
        told = []
        for seconds in (count.sent / BANDWIDTH, np.maximum(count.sent / BANDWIDTH, shared)):
            exchange = seconds + count.messages * LATENCY
            hidden = np.minimum(exchange, count.inner * PARTICLE)
            told += [ideal / (busy + exchange).max(), ideal / (busy + exchange - hidden).max()]
        inner = count.inner.sum() / particles
        print(
            f"{processes:9} | {count.particles.max():9} {count.sent.max() / 1024:8,.0f} {count.messages.max():8} "
            f"{inner:5.2f} {more_blocks.max():6.2f} {1e3 * reductions:10.3f} | {told[0]:8.2f} / {told[1]:.2f}   "
            f"| {told[2]:8.2f} / {told[3]:.2f}",
            flush=True,
        )


def balance(comm: Any, particles: int, steps: int) -> None:
    """Print what binnings move, and the most loaded process over the mean, from stretch to stretch of a run."""
    dx = 1 / round((particles / (4 * 0.84)) ** 0.5)
    scene = mpm.Scene((0, 0), (2, 1), gravity=(0, -9.81), walls="separate")
    scene.add(mpm.shapes.Box((0, 0), (0.6, 0.7)), mpm.materials.Fluid(bulk_modulus=2e5, density=1000))
    scene.add(mpm.shapes.Box((1.2, 0), (1.8, 0.7)), mpm.materials.Sand(E=4e5))
    sim = mpm.Simulation(scene, dx=dx, dtype="float32", threads=1, comm=comm, distributed=True)
    sim.step(1)
    before, began = sim._core.migrations(), sim.health["binnings"]
    for stretch in range(8):
        sim.step(steps)
        now = sim._core.migrations()
        moved, crossed, spent = (a - b for a, b in zip(now, before, strict=True))
        binnings = sim.health["binnings"]
        spents = comm.gather(spent)
        if spents is not None and binnings > began:
            allowed = 2 * crossed + (binnings - began) * (comm.size - 1) * ranks_count.PER_TASK
            print(
                f"stretch {stretch}: {binnings - began} binnings moved {moved} particles; {crossed} had crossed a cut "
                f"(2 x crossed + a task per cut: {allowed}); most loaded process / mean: "
                f"{max(spents) * len(spents) / sum(spents):.3f}",
                flush=True,
            )
        before, began = now, binnings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="?", choices=["run", "model", "balance"], default="run")
    parser.add_argument("--particles", type=int, help="default: 262,144, and 10^9 for the model")
    parser.add_argument(
        "--processes", type=int, nargs="+", default=[8, 64, 512, 1024, 4096], help="of the model"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--distributed", action="store_true")
    options = parser.parse_args()
    if options.what == "model":
        model(options.particles or 10**9, options.processes)
        return
    options.particles = options.particles or 262_144
    try:
        from mpi4py.MPI import COMM_WORLD as comm
    except (ImportError, RuntimeError):
        comm = None
    if options.what == "balance":
        balance(comm, options.particles, options.steps)
        return
    cells = round((options.particles / 8) ** (1 / 3))
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
    dx = 1 / (2 * cells)
    shape = mpm.shapes.Box((0.25,) * 3, (0.75,) * 3)
    scene.add(shape, mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000), velocity=(3, 2, 1))
    empty = memory("VmRSS")
    how = {"comm": comm, "distributed": options.distributed} if comm else {}
    sim = mpm.Simulation(scene, dx=dx, dtype="float32", threads=options.threads, **how)
    made = memory("VmHWM")
    Team.exchange, Team.reduce = timed(Team.exchange), timed(Team.reduce)
    sim.step(2)
    team, particles = sim._team, len(sim.particles)
    before = (team.sent, team.messages, team.reductions) if team else (0, 0, 0)
    binnings = sim.health["binnings"]
    waited = within[0]
    began, worked = time.perf_counter(), time.process_time()
    sim.step(options.steps)
    took, worked = time.perf_counter() - began, time.process_time() - worked
    waits = comm.gather(within[0] - waited) if comm else [0.0]
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
        f"{took * per:.1f} ns per particle and step; processors of all processes: {sum(works) * per:.1f} ns, "
        f"of which {sum(waits) * per:.1f} in MPI"
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
