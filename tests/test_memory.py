"""Bytes held per particle: the working copy with its padding, without the grid and without views."""

import subprocess
import sys

import numpy as np
import pytest

import mpm
import scenes
from mpm import _core
from mpm.base import memory

pytestmark = pytest.mark.numbers

PER_PARTICLE = {  # bytes
    (3, "float64"): 340,  # measured 278
    (3, "float32"): 190,  # 151
    (2, "float64"): 200,  # 168
    (2, "float32"): 120,  # 96
}
every_case = pytest.mark.parametrize("dim, dtype", PER_PARTICLE)


def block(dim, dtype, side, law="fixed_corotated"):
    """side^d cells of moving, spinning material: 2^d particles in each."""
    scene = mpm.Scene([0] * dim, [4] * dim)
    box = mpm.shapes.Box([1] * dim, [2] * dim)
    spin = 0.5 if dim == 2 else (0.2, 0.3, 0.5)
    scene.add(box, scenes.MATERIALS[law], velocity=[0.3] * dim, angular_velocity=spin)
    return mpm.Simulation(scene, dx=1 / side, dtype=dtype)


def history_bytes(law, dim, dtype):
    """What a law keeps beside F or J."""
    row = next(row for row in _core.laws() if row["name"] == law)
    components = {"scalar": 1, "vector": dim, "symmetric": dim * (dim + 1) // 2, "tensor": dim * dim}
    return np.dtype(dtype).itemsize * sum(components[field["rank"]] for field in row["history"])


def bytes_per_particle(sim):
    held = sim._core.memory()
    return held["particles"] / len(sim.particles), held["grid"] / len(sim.particles), held["views"]


def laws_with_rows_of_their_own():
    """One law for each kind of strain and each history: what a particle takes depends on nothing else."""
    kinds = {}
    for row in _core.laws():
        if row["name"] in scenes.LAWS:
            kind = (row["strain"], *(field["rank"] for field in row["history"]), row["name"] == "rigid")
            kinds.setdefault(kind, row["name"])
    return list(kinds.values())


@every_case
@pytest.mark.parametrize("law", laws_with_rows_of_their_own())
def test_bytes_per_particle(dim, dtype, law):
    sim = block(dim, dtype, 160 if dim == 2 else 25, law)
    fresh, _, views = bytes_per_particle(sim)
    sim.step(10)
    after, _, _ = bytes_per_particle(sim)
    assert views == 0 or law == "rigid"  # whose rest places are written through views
    padded = 1.25 * history_bytes(law, dim, dtype)  # measured, von Mises in 3-D: 350 of 340 + 80 bytes
    assert max(fresh, after) <= PER_PARTICLE[dim, dtype] + padded


@every_case
def test_views_cost_what_they_hold_and_nothing_after_they_are_forgotten(dim, dtype):
    sim = block(dim, dtype, 40 if dim == 2 else 10)
    before = bytes_per_particle(sim)
    n, size = len(sim.particles), np.dtype(dtype).itemsize
    x, F = sim.particles.x, sim.particles.F
    assert bytes_per_particle(sim)[2] == n * (dim + dim * dim) * size == x.nbytes + F.nbytes
    assert bytes_per_particle(sim)[:2] == before[:2]


@every_case
def test_memory_does_not_creep(dim, dtype):
    """Particles that cross many blocks: tables and tiles are used again."""
    sim = block(dim, dtype, 40 if dim == 2 else 10)
    sim.step(100)
    early = sim._core.memory()
    sim.step(400)
    late = sim._core.memory()
    assert sim.health["binnings"] > 5
    assert late["particles"] <= 1.1 * early["particles"]
    assert late["grid"] <= 1.6 * early["grid"]  # the block spins and tumbles: its outline changes


@pytest.mark.slow
@pytest.mark.parametrize("dtype", scenes.DTYPES)
def test_a_million_particles(dtype):
    """Fresh, and after 200 steps, in which they cross blocks and are binned anew."""
    sim = block(3, dtype, 50)
    assert len(sim.particles) == 1_000_000
    fresh = bytes_per_particle(sim)[0]
    sim.step(200)
    assert sim.health["binnings"] > 1
    after = bytes_per_particle(sim)[0]
    assert max(fresh, after) <= PER_PARTICLE[3, dtype]


PEAK = """
import re, sys
import mpm
method, d, dtype, n = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
make, name, law = {
    "mpm": (mpm.Simulation, "dx", mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)),
    "sph": (mpm.sph.Simulation, "spacing", mpm.materials.Fluid(bulk_modulus=1e4, density=1000)),
    "fem": (mpm.fem.Simulation, "spacing", mpm.materials.Corotated(E=1e4, nu=0.3, density=1000)),
}[method]
scene = mpm.Scene((0,) * d, (1,) * d)
scene.add(mpm.shapes.Box((0.25,) * d, (0.75,) * d), law)
most = lambda: 1024 * int(re.search("VmHWM: *([0-9]+)", open("/proc/self/status").read().replace("\t", " "))[1])
before = most()
sim = make(scene, threads=1, dtype=dtype, **{name: 0.5 / n})
sim.step()
print((most() - before) / len(sim.elements if method == "fem" else sim.particles))
"""
SIDES = {("mpm", 2): 300, ("mpm", 3): 40, ("sph", 2): 400, ("sph", 3): 56, ("fem", 2): 300, ("fem", 3): 34}


@pytest.mark.parametrize(
    "case",
    [
        case if case == ("mpm", 2, "float32") else pytest.param(case, marks=pytest.mark.slow)
        for case in memory.SETUP
    ],
)
def test_what_a_setup_takes_is_what_is_counted(case):
    """The peak of a process per particle or element is at least the count. Measured: 0.99 to 1.64 of it, the most in
    small bodies in space, whose tiles are not full."""
    method, d, dtype = case
    command = [sys.executable, "-c", PEAK, method, str(d), dtype, str(SIDES[method, d])]
    taken = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert 0.93 < taken / memory.SETUP[case] < 1.8
