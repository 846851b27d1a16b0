"""Taichi as its MPM examples are written: dense fields, atomic sums, a singular value decomposition for the rotation.

The form of the 99-line 2-D program and of its 3-D fluid: one parallel loop over particles, one over nodes, one over
particles; compiled with Taichi's defaults for a CPU (float32, fast_math).
"""

import numpy as np
import taichi as ti

from . import protocol
from .problems import Problem


class Classic:
    """Fields and kernels for a problem."""

    def __init__(self, problem: Problem, x: np.ndarray, v: np.ndarray, threads: int) -> None:
        ti.init(arch=ti.cpu, cpu_max_num_threads=threads, log_level=ti.ERROR)
        self.given = x, v
        n, d = x.shape
        self.x, self.v = (ti.Vector.field(d, float, n) for _ in range(2))
        self.C, self.F = (ti.Matrix.field(d, d, float, n) for _ in range(2))
        self.J = ti.field(float, n)
        self.grid_v = ti.Vector.field(d, float, (problem.nodes,) * d)
        self.grid_m = ti.field(float, (problem.nodes,) * d)
        self.substep = self.compile(problem)

    def compile(self, problem: Problem):
        """The kernel of a step."""
        x, v, C, F, J, grid_v, grid_m = self.x, self.v, self.C, self.F, self.J, self.grid_v, self.grid_m
        d, h, dt, mass = problem.dimension, problem.h, problem.dt, problem.mass
        first, second, low, high = problem.first, problem.second, problem.low, problem.high
        factor = -dt * problem.volume * 4 / h**2
        fall = dt * problem.gravity
        solid = problem.law == "fcr"

        @ti.func
        def weights(f):
            return [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]

        @ti.kernel
        def substep():
            for node in ti.grouped(grid_m):
                grid_v[node] = ti.zero(grid_v[node])
                grid_m[node] = 0
            for p in x:
                base = (x[p] / h - 0.5).cast(int)
                f = x[p] / h - base.cast(float)
                w = weights(f)
                stress = ti.Matrix.identity(float, d)
                if ti.static(solid):
                    U, sigma, V = ti.svd(F[p])
                    volume_ratio = 1.0
                    for a in ti.static(range(d)):
                        volume_ratio *= sigma[a, a]
                    stress = 2 * first * (F[p] - U @ V.transpose()) @ F[p].transpose() + ti.Matrix.identity(
                        float, d
                    ) * (second * volume_ratio * (volume_ratio - 1))
                else:
                    stress *= first * (J[p] - 1)
                affine = factor * stress + mass * C[p]
                for offset in ti.static(ti.grouped(ti.ndrange(*((3,) * d)))):
                    weight = 1.0
                    for a in ti.static(range(d)):
                        weight *= w[offset[a]][a]
                    distance = (offset.cast(float) - f) * h
                    grid_v[base + offset] += weight * (mass * v[p] + affine @ distance)
                    grid_m[base + offset] += weight * mass
            for node in ti.grouped(grid_m):
                if grid_m[node] > 0:
                    velocity = grid_v[node] / grid_m[node]
                    velocity[d - 1] += fall
                    for a in ti.static(range(d)):
                        if node[a] <= low and velocity[a] < 0:
                            velocity[a] = 0
                        if node[a] >= high and velocity[a] > 0:
                            velocity[a] = 0
                    grid_v[node] = velocity
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
                    g = weight * grid_v[base + offset]
                    new_v += g
                    new_C += 4 / h * g.outer_product(offset.cast(float) - f)
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
    protocol.run(Classic, protocol.arguments(), ("taichi", "numpy"))
