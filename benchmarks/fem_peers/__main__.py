"""The finite elements of the package beside other programs, on one mesh, after a check that they computed the same.

    python -m benchmarks.fem_peers [--install] [--cells 16]

Run it from the repository's folder, with an interpreter that has the package and SciPy. It prints a list in JSON: a
dictionary for every program, with ``speed`` in element-steps per second of processor time, or with the reason why there
is none. Peers have virtual environments in build/peers, those of `benchmarks.peers`; without ``--install``, those that
are not there are left out.

The last line is a product of an assembled matrix of *linear* elasticity: it is no corotational step, and the check is
that it gives the forces of small displacements.
"""

import argparse
import json
import os
import subprocess
import time

import numpy as np

import mpm
from benchmarks.sph_peers.__main__ import CACHE, ROOT, Peer
from mpm.bench.fem import Case

from .problem import DT, LAM, LIMIT, MU, STEPS, apart

PEERS = (
    Peer("mpm", "mpm_fem"),
    Peer("Warp", "warp_fem", "peers/requirements-warp.txt"),
    Peer("Taichi", "taichi_fem", "peers/requirements-taichi.txt"),
    Peer("scikit-fem, float64", "skfem_fem", "fem_peers/requirements-skfem.txt"),
)


def measured(install: bool, cells: int) -> list[dict]:
    """A dictionary for each program."""
    mesh, outcome, found = CACHE / f"block-{cells}.npz", CACHE / "outcome.npy", []
    sim = Case("corotated", "float64", cells).simulation(isa=mpm.config.isa())
    write_mesh(sim, mesh)
    begin = sim.particles.v.copy()
    reference = mpm.fem.Simulation(sim.scene, spacing=1 / cells, dt=DT)
    reference.step(STEPS)
    change = reference.particles.v - begin
    for peer in PEERS:
        entry = {"name": peer.name}
        found.append(entry)
        python = peer.python(install)
        if python is None:
            entry["reason"] = "is not installed: python -m benchmarks.fem_peers --install"
            continue
        environment = dict(os.environ)
        if peer.requirements:
            environment = {k: v for k, v in environment.items() if k not in ("CC", "CFLAGS", "PYTHONPATH")}
            environment |= {"HOME": str(CACHE / "home"), "WARP_CACHE_PATH": str(CACHE / "warp")}
        command = [python, "-m", f"benchmarks.fem_peers.{peer.module}", mesh, outcome]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode:
            entry["reason"] = f"failed: {(done.stderr.strip() or done.stdout.strip())[-300:]}"
            continue
        entry |= json.loads(done.stdout.splitlines()[-1])
        entry["apart"] = apart(np.load(outcome), change)
        if not entry["apart"] <= LIMIT:
            speed = entry.pop("speed")
            entry["reason"] = f"computed something else: {entry['apart']:.1e} apart, {speed:.3g}/s"
    return [*found, assembled(sim)]


def write_mesh(sim: mpm.fem.Simulation, path: os.PathLike) -> None:
    """What the programs read, in single precision; neighbours follow each other in the order of elements."""
    x, elements = sim.particles.x.copy(), sim.elements
    edges = np.swapaxes(x[elements.nodes[:, 1:]] - x[elements.nodes[:, :1]], 1, 2)
    arrays = {"x": x, "v": sim.particles.v, "mass": sim.particles.mass, "volume": elements.volume}
    arrays["inverse"] = np.linalg.inv(edges)
    arrays = {name: np.asarray(values, dtype=np.float32) for name, values in arrays.items()}
    np.savez(path, cells=elements.nodes, **arrays)


def assembled(sim: mpm.fem.Simulation) -> dict:
    """SciPy: K u with the matrix of linear elasticity in single precision, and the motion of the nodes."""
    import scipy
    from scipy.sparse import coo_array

    x, nodes, volume = sim.particles.x.copy(), sim.elements.nodes, sim.elements.volume
    n = len(x)
    edges = np.swapaxes(x[nodes[:, 1:]] - x[nodes[:, :1]], 1, 2)
    slopes = np.linalg.inv(edges)  # rows: gradients of the last three shape functions
    slopes = np.concatenate([-slopes.sum(axis=1, keepdims=True), slopes], axis=1)  # (m, 4, 3)
    g = np.einsum("mai,mbj->maibj", slopes, slopes)
    unit = np.eye(3)
    K = LAM * g + MU * np.einsum("maibj->majbi", g) + MU * np.einsum("makbk,ij->maibj", g, unit)
    K = K * volume[:, None, None, None, None]
    rows = np.broadcast_to((3 * nodes[:, :, None] + np.arange(3))[..., None, None], K.shape)
    columns = np.broadcast_to((3 * nodes[:, :, None] + np.arange(3))[:, None, None], K.shape)
    matrix = coo_array((K.ravel(), (rows.ravel(), columns.ravel())), shape=(3 * n, 3 * n)).tocsr()
    u = 1e-7 * np.random.default_rng(0).normal(size=(n, 3))
    sim.particles.x[:] = x + u
    error = apart(-(matrix @ u.ravel()).reshape(n, 3), sim.forces())
    entry = {"name": "SciPy, assembled linear K u, float32", "version": scipy.__version__, "apart": error}
    if not error <= LIMIT:
        return entry | {"reason": f"computed something else: {error:.1e} apart"}
    single, u = matrix.astype(np.float32), np.zeros(3 * n, dtype=np.float32)
    v = np.asarray(sim.particles.v, dtype=np.float32).ravel()
    factor = np.repeat(np.float32(DT) / np.asarray(sim.particles.mass, dtype=np.float32), 3)
    best = np.inf
    for _ in range(3):
        begin = time.process_time()
        for _ in range(STEPS):
            v -= factor * (single @ u)
            u += np.float32(DT) * v
        best = min(best, time.process_time() - begin)
    return entry | {"speed": len(nodes) * STEPS / best}


def main() -> None:
    """Print the list."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fem_peers", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--install", action="store_true", help="make the environments of peers that lack one")
    parser.add_argument(
        "--cells", type=int, default=16, help="along a side, five tetrahedra per cell; 16: 20,480"
    )
    chosen = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    print(json.dumps(measured(chosen.install, chosen.cells)))


if __name__ == "__main__":
    main()
