"""Taichi on one thread: a loop over elements with atomic sums, as in Taichi's own examples."""

import taichi as ti

from . import problem

ti.init(arch=ti.cpu, cpu_max_num_threads=1, default_fp=ti.f32, log_level=ti.ERROR)


def prepare(mesh):
    """See `problem.run`."""
    n, m = len(mesh["x"]), len(mesh["cells"])
    x, v, f = (ti.Vector.field(3, ti.f32, n) for _ in range(3))
    mass, volume = ti.field(ti.f32, n), ti.field(ti.f32, m)
    cells, inverse = ti.Vector.field(4, ti.i32, m), ti.Matrix.field(3, 3, ti.f32, m)
    for field, name in ((cells, "cells"), (inverse, "inverse"), (mass, "mass"), (volume, "volume")):
        field.from_numpy(mesh[name])
    mu, lam, dt = problem.MU, problem.LAM, problem.DT

    @ti.kernel
    def forces():
        for e in range(m):
            c = cells[e]
            x0 = x[c[0]]
            F = ti.Matrix.cols([x[c[1]] - x0, x[c[2]] - x0, x[c[3]] - x0]) @ inverse[e]
            U, S, V = ti.svd(F)
            R = U @ V.transpose()
            P = 2 * mu * (F - R) + lam * (S.trace() - 3) * R
            H = -volume[e] * P @ inverse[e].transpose()
            total = ti.Vector([0.0, 0.0, 0.0])
            for k in ti.static(range(3)):
                part = ti.Vector([H[0, k], H[1, k], H[2, k]])
                f[c[k + 1]] += part
                total += part
            f[c[0]] -= total

    @ti.kernel
    def move():
        for i in range(n):
            v[i] += dt / mass[i] * f[i]
            x[i] += dt * v[i]
            f[i] = ti.Vector([0.0, 0.0, 0.0])

    def advance(steps):
        x.from_numpy(mesh["x"])
        v.from_numpy(mesh["v"])
        for _ in range(steps):
            forces()
            move()
        return v.to_numpy()

    return advance


if __name__ == "__main__":
    problem.run("Taichi", ".".join(map(str, ti.__version__)), prepare)
