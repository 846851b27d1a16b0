"""Taichi: particles sorted by cells of 2h with a counting sort; each sums over its 27 cells. One thread."""

import numpy as np
import taichi as ti

from . import problem as common


class Sorted:
    """Fields and kernels for a problem."""

    def __init__(self, problem: common.Problem, n: int) -> None:
        ti.init(arch=ti.cpu, cpu_max_num_threads=1, log_level=ti.ERROR)
        self.n, self.problem = n, problem
        self.x, self.v, self.other_x, self.other_v = (ti.Vector.field(3, float, n) for _ in range(4))
        self.density, self.push = ti.field(float, n), ti.field(float, n)
        side = 2 * problem.h
        self.cells = tuple(int(size / side) + 8 for size in (1, 0.5, 1))
        self.first = ti.field(int, int(np.prod(self.cells)) + 1)
        self.place = ti.field(int, n)
        self.substep = self.compile()

    def compile(self):
        """The kernel of a step."""
        x, v, to_x, to_v, density, push = self.x, self.v, self.other_x, self.other_v, self.density, self.push
        first, place, n, (nx, ny, nz) = self.first, self.place, self.n, self.cells
        p = self.problem
        h, per_side, reach2 = p.h, 1 / (2 * p.h), 4 * p.h**2
        mass, dt, alpha, k, rest = p.mass, p.dt, p.alpha, p.stiffness, common.REST

        @ti.func
        def cell_of(at):
            c = ti.Vector([0, 0, 0])
            for a in ti.static(range(3)):
                c[a] = ti.cast(ti.floor(at[a] * per_side), int) + 3
            return c

        @ti.func
        def index_of(c):
            return (c[0] * ny + c[1]) * nz + c[2]

        @ti.kernel
        def sort():
            for c in first:
                first[c] = 0
            ti.loop_config(serialize=True)
            for i in range(n):
                place[i] = index_of(cell_of(x[i]))
                first[place[i] + 1] += 1
            ti.loop_config(serialize=True)
            for c in range(nx * ny * nz):
                first[c + 1] += first[c]
            ti.loop_config(serialize=True)
            for r in range(n):  # backwards, so that `first` of the next cell comes down to its own first
                i = n - 1 - r
                first[place[i] + 1] -= 1
                to = first[place[i] + 1]
                to_x[to], to_v[to] = x[i], v[i]
            ti.loop_config(serialize=True)
            for c in range(nx * ny * nz):
                first[c] = first[c + 1]
            first[nx * ny * nz] = n

        @ti.kernel
        def densities():
            for i in range(n):
                at, c, total = to_x[i], cell_of(to_x[i]), 0.0
                for dx, dy in ti.ndrange((-1, 2), (-1, 2)):
                    low = index_of(c + ti.Vector([dx, dy, -1]))
                    for j in range(first[low], first[low + 3]):
                        r2 = (at - to_x[j]).norm_sqr()
                        if r2 < reach2:
                            q = ti.sqrt(r2) * (1 / h)
                            if q < 1:
                                total += 2 / 3 - q * q + 0.5 * q * q * q
                            else:
                                total += (2 - q) * (2 - q) * (2 - q) * (1 / 6)
                density[i] = mass * alpha * total
                ratio = ti.max(density[i] * (1 / rest), 1.0)
                r3 = ratio * ratio * ratio
                push[i] = k * (r3 * r3 * ratio - 1) / (density[i] * density[i])

        @ti.kernel
        def forces():
            for i in range(n):
                at, c, a = to_x[i], cell_of(to_x[i]), ti.Vector([0.0, 0.0, 0.0])
                for dx, dy in ti.ndrange((-1, 2), (-1, 2)):
                    low = index_of(c + ti.Vector([dx, dy, -1]))
                    for j in range(first[low], first[low + 3]):
                        apart = at - to_x[j]
                        r2 = apart.norm_sqr()
                        if r2 < reach2 and r2 > 0:
                            q = ti.sqrt(r2) * (1 / h)
                            slope = -2 + 1.5 * q
                            if q >= 1:
                                slope = -0.5 * (2 - q) * (2 - q) / q
                            a -= (push[i] + push[j]) * slope * apart
                v[i] = to_v[i] + dt * mass * (alpha / (h * h)) * a
                x[i] = at + dt * v[i]

        def substep():
            sort()
            densities()
            forces()

        return substep

    def begin(self, x, v):
        self.x.from_numpy(x)
        self.v.from_numpy(v)

    def step(self, n):
        for _ in range(n):
            self.substep()
        ti.sync()

    def state(self):
        return self.x.to_numpy(), self.v.to_numpy()


if __name__ == "__main__":
    common.run(Sorted, "taichi")
