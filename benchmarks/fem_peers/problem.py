"""The block that every program computes: a mesh in a file, its law, and what counts as the same outcome."""

import argparse
import json
import time

import numpy as np

STEPS, DT = 20, 5e-5
MU, LAM = 1e6 / 2.6, 1e6 * 0.3 / (1.3 * 0.4)  # E = 1 MPa, nu = 0.3
LIMIT = 5e-3  # of the change of the velocities; that of positions in single precision alone makes 1e-3


def apart(change, reference) -> float:
    """How far changes of velocities (n, 3) are from those of the reference, over the largest of these."""
    return float(np.abs(change - reference).max() / np.abs(reference).max())


def run(name: str, version: str, prepare) -> None:
    """Time `STEPS` steps, twice, and print the better one; what they did to the velocities goes to a file.

    `prepare(mesh)` returns a function that begins anew and takes so many steps, and then returns the velocities. The
    first call compiles.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("mesh")
    parser.add_argument("outcome")
    chosen = parser.parse_args()
    mesh = dict(np.load(chosen.mesh))
    advance, seconds = prepare(mesh), []
    advance(1)
    for _ in range(2):
        begin = time.process_time()
        v = advance(STEPS)
        seconds.append(time.process_time() - begin)
    np.save(chosen.outcome, np.asarray(v, dtype=np.float64) - mesh["v"])
    print(json.dumps({"name": name, "version": version, "speed": len(mesh["cells"]) * STEPS / min(seconds)}))
