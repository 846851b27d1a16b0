"""Taichi at its fastest that we know: a grid of its own for every thread, plain sums, no decomposition but Newton's.

Each thread scatters a run of consecutive particles into its own grid with `g[i] = g[i] + q`; `+=` would be an atomic
addition, two to three times slower on a CPU. The grid pass adds the grids, and clears what it has read. Taichi runs a
parallel loop of few iterations on one thread, so the loop over threads is stretched to `STRETCH` iterations.
"""

import numpy as np
import taichi as ti

from . import protocol
from .problems import Problem

STRETCH = 1024


class Private:
    """Fields and kernels for a problem."""

    def __init__(self, problem: Problem, x: np.ndarray, v: np.ndarray, threads: int) -> None:
        ti.init(arch=ti.cpu, cpu_max_num_threads=threads, log_level=ti.ERROR)
        self.given = x, v
        n, d = x.shape
        self.x, self.v = (ti.Vector.field(d, float, n) for _ in range(2))
        self.C, self.F = (ti.Matrix.field(d, d, float, n) for _ in range(2))
        self.J = ti.field(float, n)
        nodes = (problem.nodes,) * d
        self.copies = ti.Vector.field(d + 1, float, (threads, *nodes))  # momentum, mass
        self.velocity = ti.Vector.field(d, float, nodes)
        self.substep = self.compile(problem, n, threads)

    def compile(self, problem: Problem, n: int, threads: int):
        """The kernel of a step."""
        x, v, C, F, J, copies, velocity = self.x, self.v, self.C, self.F, self.J, self.copies, self.velocity
        d, h, dt, mass = problem.dimension, problem.h, problem.dt, problem.mass
        first, second, low, high = problem.first, problem.second, problem.low, problem.high
        factor = -dt * problem.volume * 4 / h
        fall = dt * problem.gravity
        solid = problem.law == "fcr"
        share = -(-n // threads)
        apart = STRETCH // threads

        @ti.func
        def weights(f):
            return [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]

        @ti.func
        def rotation(A):
            R = A
            if ti.static(d == 2):
                c, s = A[0, 0] + A[1, 1], A[1, 0] - A[0, 1]
                r = 1 / ti.sqrt(c * c + s * s)
                R = ti.Matrix([[c * r, -s * r], [s * r, c * r]])
            else:
                for _ in ti.static(range(5)):
                    R = 0.5 * (R + R.inverse().transpose())
            return R

        @ti.func
        def scatter(p, copy):
            base = (x[p] / h - 0.5).cast(int)
            f = x[p] / h - base.cast(float)
            w = weights(f)
            affine = mass * h * C[p]
            if ti.static(solid):
                A = F[p]
                volume_ratio = A.determinant()
                affine += factor * 2 * first * (A - rotation(A)) @ A.transpose()
                for a in ti.static(range(d)):
                    affine[a, a] += factor * second * volume_ratio * (volume_ratio - 1)
            else:
                for a in ti.static(range(d)):
                    affine[a, a] += factor * first * (J[p] - 1)
            for offset in ti.static(ti.grouped(ti.ndrange(*((3,) * d)))):
                weight = 1.0
                for a in ti.static(range(d)):
                    weight *= w[offset[a]][a]
                momentum = mass * v[p] + affine @ (offset.cast(float) - f)
                q = ti.Vector([0.0] * (d + 1))
                for a in ti.static(range(d)):
                    q[a] = weight * momentum[a]
                q[d] = weight * mass
                copies[copy, base + offset] = copies[copy, base + offset] + q

        @ti.kernel
        def substep():
            for i in range(STRETCH):
                if i % apart == 0 and i // apart < threads:
                    copy = i // apart
                    for p in range(copy * share, ti.min(n, (copy + 1) * share)):
                        scatter(p, copy)
            for node in ti.grouped(velocity):
                total = copies[0, node]
                for copy in ti.static(range(1, threads)):
                    total += copies[copy, node]
                if total[d] > 0:
                    g = ti.Vector([0.0] * d)
                    for a in ti.static(range(d)):
                        g[a] = total[a] / total[d]
                    g[d - 1] += fall
                    for a in ti.static(range(d)):
                        if node[a] <= low and g[a] < 0:
                            g[a] = 0
                        if node[a] >= high and g[a] > 0:
                            g[a] = 0
                    velocity[node] = g
                    for copy in ti.static(range(threads)):
                        copies[copy, node] = ti.zero(total)
            for p in x:
                base = (x[p] / h - 0.5).cast(int)
                f = x[p] / h - base.cast(float)
                w = weights(f)
                new_v = ti.zero(v[p])
                new_C = ti.zero(C[p])
                for offset in ti.static(ti.grouped(ti.ndrange(*((3,) * d)))):
                    weight = 1.0
                    for a in ti.static(range(d)):
                        weight *= w[offset[a]][a]
                    g = weight * velocity[base + offset]
                    new_v += g
                    new_C += g.outer_product(offset.cast(float) - f)
                new_C *= 4 / h
                v[p], C[p] = new_v, new_C
                x[p] += dt * new_v
                step = ti.Matrix.identity(float, d) + dt * new_C
                if ti.static(solid):
                    F[p] = step @ F[p]
                else:
                    J[p] *= step.determinant()

        return substep

    def begin(self) -> None:
        x, v = self.given
        n, d = x.shape
        self.x.from_numpy(x)
        self.v.from_numpy(v)
        self.C.fill(0)
        self.F.from_numpy(np.broadcast_to(np.eye(d, dtype=np.float32), (n, d, d)).copy())
        self.J.fill(1)

    def step(self, n: int) -> None:
        for _ in range(n):
            self.substep()
        ti.sync()

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.x.to_numpy(), self.v.to_numpy()


if __name__ == "__main__":
    protocol.run(Private, protocol.arguments(), ("taichi", "numpy"))
