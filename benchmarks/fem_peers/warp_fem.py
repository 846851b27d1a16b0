"""Warp on a CPU, where it is serial: a kernel per element with atomic sums, as in Warp's own examples."""

import warp as wp

from . import problem

wp.config.quiet = True


@wp.kernel
def forces(
    x: wp.array(dtype=wp.vec3),
    cells: wp.array(dtype=wp.vec4i),
    inverse: wp.array(dtype=wp.mat33),
    volume: wp.array(dtype=float),
    mu: float,
    lam: float,
    f: wp.array(dtype=wp.vec3),
):
    e = wp.tid()
    c = cells[e]
    x0 = x[c[0]]
    F = wp.matrix_from_cols(x[c[1]] - x0, x[c[2]] - x0, x[c[3]] - x0) * inverse[e]
    U = wp.mat33()
    s = wp.vec3()
    V = wp.mat33()
    wp.svd3(F, U, s, V)
    R = U * wp.transpose(V)
    P = 2.0 * mu * (F - R) + lam * (s[0] + s[1] + s[2] - 3.0) * R
    H = -volume[e] * P * wp.transpose(inverse[e])
    f1 = wp.vec3(H[0, 0], H[1, 0], H[2, 0])
    f2 = wp.vec3(H[0, 1], H[1, 1], H[2, 1])
    f3 = wp.vec3(H[0, 2], H[1, 2], H[2, 2])
    wp.atomic_add(f, c[1], f1)
    wp.atomic_add(f, c[2], f2)
    wp.atomic_add(f, c[3], f3)
    wp.atomic_add(f, c[0], -f1 - f2 - f3)


@wp.kernel
def move(
    f: wp.array(dtype=wp.vec3),
    mass: wp.array(dtype=float),
    dt: float,
    v: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
):
    i = wp.tid()
    v[i] = v[i] + dt / mass[i] * f[i]
    x[i] = x[i] + dt * v[i]
    f[i] = wp.vec3()


def prepare(mesh):
    """See `problem.run`."""
    kinds = {"cells": wp.vec4i, "inverse": wp.mat33, "volume": float, "mass": float}
    fixed = {name: wp.array(mesh[name], dtype=kind, device="cpu") for name, kind in kinds.items()}
    f = wp.zeros(len(mesh["x"]), dtype=wp.vec3, device="cpu")

    def advance(steps):
        x, v = (wp.array(mesh[name], dtype=wp.vec3, device="cpu") for name in ("x", "v"))
        elements = [x, fixed["cells"], fixed["inverse"], fixed["volume"], problem.MU, problem.LAM, f]
        for _ in range(steps):
            wp.launch(forces, len(mesh["cells"]), elements, device="cpu")
            wp.launch(move, len(mesh["x"]), [f, fixed["mass"], problem.DT, v, x], device="cpu")
        return v.numpy()

    return advance


if __name__ == "__main__":
    problem.run("Warp", wp.__version__, prepare)
