"""Warp on a CPU, where it is serial, with its hash grid, as in its own example of SPH."""

import warp as wp

from . import problem as common

wp.config.quiet = True


@wp.kernel
def densities(
    grid: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    push: wp.array(dtype=float),
    h: float,
    factor: float,
    k: float,
    rest: float,
):
    i = wp.hash_grid_point_id(grid, wp.tid())
    at = x[i]
    total = wp.float32(0.0)  # a variable, which a number is not
    j = wp.int32(0)
    query = wp.hash_grid_query(grid, at, 2.0 * h)
    while wp.hash_grid_query_next(query, j):
        r2 = wp.length_sq(at - x[j])
        if r2 < 4.0 * h * h:
            q = wp.sqrt(r2) / h
            if q < 1.0:
                total += 2.0 / 3.0 - q * q + 0.5 * q * q * q
            else:
                total += (2.0 - q) * (2.0 - q) * (2.0 - q) / 6.0
    density = factor * total
    ratio = wp.max(density / rest, 1.0)
    r3 = ratio * ratio * ratio
    push[i] = k * (r3 * r3 * ratio - 1.0) / (density * density)


@wp.kernel
def forces(
    grid: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    v: wp.array(dtype=wp.vec3),
    push: wp.array(dtype=float),
    h: float,
    factor: float,
):
    i = wp.hash_grid_point_id(grid, wp.tid())
    at = x[i]
    a = wp.vec3()
    j = wp.int32(0)
    query = wp.hash_grid_query(grid, at, 2.0 * h)
    while wp.hash_grid_query_next(query, j):
        apart = at - x[j]
        r2 = wp.length_sq(apart)
        if r2 < 4.0 * h * h and r2 > 0.0:
            q = wp.sqrt(r2) / h
            slope = -2.0 + 1.5 * q
            if q >= 1.0:
                slope = -0.5 * (2.0 - q) * (2.0 - q) / q
            a -= (push[i] + push[j]) * slope * apart
    v[i] = v[i] + factor * a


@wp.kernel
def move(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    x[i] = x[i] + dt * v[i]


class Hashed:
    """Arrays for a problem."""

    def __init__(self, problem: common.Problem, n: int) -> None:
        self.n, self.problem = n, problem
        self.grid = wp.HashGrid(64, 64, 64, "cpu")
        self.push = wp.zeros(n, dtype=float, device="cpu")

    def begin(self, x, v):
        self.x, self.v = (wp.array(array, dtype=wp.vec3, device="cpu") for array in (x.copy(), v.copy()))

    def step(self, n):
        p = self.problem
        for _ in range(n):
            self.grid.build(self.x, 2 * p.h)
            inputs = [self.grid.id, self.x, self.push, p.h, p.mass * p.alpha, p.stiffness, common.REST]
            wp.launch(densities, self.n, inputs=inputs, device="cpu")
            inputs = [self.grid.id, self.x, self.v, self.push, p.h, p.dt * p.mass * p.alpha / p.h**2]
            wp.launch(forces, self.n, inputs=inputs, device="cpu")
            wp.launch(move, self.n, inputs=[self.x, self.v, p.dt], device="cpu")

    def state(self):
        return self.x.numpy(), self.v.numpy()


if __name__ == "__main__":
    wp.set_module_options({"fast_math": True, "enable_backward": False, "mode": "release"})
    wp.init()
    common.run(Hashed, "warp-lang")
