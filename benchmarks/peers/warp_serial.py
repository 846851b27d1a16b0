"""Warp on a CPU, where it is serial by design: --form tuned, or classic as its users write it.

Both have atomic sums, which on a CPU are plain ones. `classic` has mass and momentum in two arrays and takes the
rotation from `svd3` or `svd2`; `tuned` has them side by side in one and takes the rotation from Newton's iteration
(3-D) or a closed form (2-D). Compiled with fast_math, in release mode, without derivatives.
"""

import argparse
import sys

import numpy as np
import warp as wp

from . import protocol
from .problems import Problem


def compile_kernels(problem: Problem, tuned: bool):
    """The kernels of a step: scatter, grid pass, gather."""
    d, nodes = problem.dimension, problem.nodes
    vector = wp.types.vector(d, wp.float32)
    matrix = wp.types.matrix((d, d), wp.float32)
    record = wp.types.vector(d + 1, wp.float32)
    h, dt, mass = wp.constant(problem.h), wp.constant(problem.dt), wp.constant(problem.mass)
    per_h = wp.constant(1 / problem.h)
    first, second = wp.constant(problem.first), wp.constant(problem.second)
    factor = wp.constant(-problem.dt * problem.volume * 4 / problem.h)
    fall = wp.constant(problem.dt * problem.gravity)
    low, high = wp.constant(problem.low), wp.constant(problem.high)
    D, LAST, NODES = wp.constant(d), wp.constant(d - 1), wp.constant(nodes)
    weights = wp.types.matrix((d, 3), wp.float32)
    eye = matrix(np.eye(d, dtype=np.float32))

    @wp.func
    def along(x: float):
        """Lowest node along an axis, as a float."""
        return wp.floor(x * per_h - 0.5)

    @wp.func
    def three(f: float):
        """Weights along an axis, f cells from the lowest node."""
        return wp.vec3(0.5 * (1.5 - f) * (1.5 - f), 0.75 - (f - 1.0) * (f - 1.0), 0.5 * (f - 0.5) * (f - 0.5))

    if d == 3:

        @wp.func
        def base_of(x: vector):
            return vector(along(x[0]), along(x[1]), along(x[2]))

        @wp.func
        def weights_of(f: vector):
            return wp.matrix_from_rows(three(f[0]), three(f[1]), three(f[2]))

        @wp.func
        def place(base: vector, i: int, j: int, k: int):
            return ((int(base[0]) + i) * NODES + int(base[1]) + j) * NODES + int(base[2]) + k

        @wp.func
        def weight_at(w: weights, i: int, j: int, k: int):
            return w[0, i] * w[1, j] * w[2, k]

        @wp.func
        def offset_at(f: vector, i: int, j: int, k: int):
            return vector(float(i) - f[0], float(j) - f[1], float(k) - f[2])

        @wp.func
        def together_of(q: vector, m: float):
            return record(q[0], q[1], q[2], m)

        @wp.func
        def first_of(both: record):
            return vector(both[0], both[1], both[2])

        @wp.func
        def coordinate(node: int, a: int):
            if a == 0:
                return node // (NODES * NODES)
            if a == 1:
                return (node // NODES) % NODES
            return node % NODES

        @wp.func
        def rotation_by_svd(F: matrix):
            U, _sigma, V = wp.svd3(F)
            return U * wp.transpose(V)

        @wp.func
        def rotation_by_newton(F: matrix):
            R = F
            for _step in range(5):
                R = 0.5 * (R + wp.transpose(wp.inverse(R)))
            return R

    else:

        @wp.func
        def base_of(x: vector):
            return vector(along(x[0]), along(x[1]))

        @wp.func
        def weights_of(f: vector):
            return wp.matrix_from_rows(three(f[0]), three(f[1]))

        @wp.func
        def place(base: vector, i: int, j: int, k: int):
            return (int(base[0]) + i) * NODES + int(base[1]) + j

        @wp.func
        def weight_at(w: weights, i: int, j: int, k: int):
            return w[0, i] * w[1, j]

        @wp.func
        def offset_at(f: vector, i: int, j: int, k: int):
            return vector(float(i) - f[0], float(j) - f[1])

        @wp.func
        def together_of(q: vector, m: float):
            return record(q[0], q[1], m)

        @wp.func
        def first_of(both: record):
            return vector(both[0], both[1])

        @wp.func
        def coordinate(node: int, a: int):
            if a == 0:
                return node // NODES
            return node % NODES

        @wp.func
        def rotation_by_svd(F: matrix):
            U, _sigma, V = wp.svd2(F)
            return U * wp.transpose(V)

        @wp.func
        def rotation_by_newton(F: matrix):
            c = F[0, 0] + F[1, 1]
            s = F[1, 0] - F[0, 1]
            r = 1.0 / wp.sqrt(c * c + s * s)
            return matrix(c * r, -s * r, s * r, c * r)

    @wp.func
    def affine_of(C: matrix, F: matrix, J: float):
        A = mass * h * C
        if wp.static(problem.law == "fcr"):
            R = F
            if wp.static(tuned):
                R = rotation_by_newton(F)
            else:
                R = rotation_by_svd(F)
            ratio = wp.determinant(F)
            A = A + factor * 2.0 * first * (F - R) * wp.transpose(F)
            A = A + factor * second * ratio * (ratio - 1.0) * eye
        else:
            A = A + factor * first * (J - 1.0) * eye
        return A

    @wp.func
    def after_forces(v: vector, node: int):
        v[LAST] += fall
        for a in range(D):
            at = coordinate(node, a)
            if (at <= low and v[a] < 0.0) or (at >= high and v[a] > 0.0):
                v[a] = 0.0
        return v

    @wp.kernel(enable_backward=False)
    def scatter(
        x: wp.array(dtype=vector),
        v: wp.array(dtype=vector),
        C: wp.array(dtype=matrix),
        F: wp.array(dtype=matrix),
        J: wp.array(dtype=float),
        together: wp.array(dtype=record),
        momentum: wp.array(dtype=vector),
        masses: wp.array(dtype=float),
    ):
        p = wp.tid()
        base = base_of(x[p])
        f = per_h * x[p] - base
        w = weights_of(f)
        A = affine_of(C[p], F[p], J[p])
        mv = mass * v[p]
        for i in range(3):
            for j in range(3):
                for k in range(wp.static(3 if d == 3 else 1)):
                    weight = weight_at(w, i, j, k)
                    q = weight * (mv + A * offset_at(f, i, j, k))
                    at = place(base, i, j, k)
                    if wp.static(tuned):
                        wp.atomic_add(together, at, together_of(q, weight * mass))
                    else:
                        wp.atomic_add(momentum, at, q)
                        wp.atomic_add(masses, at, weight * mass)

    @wp.kernel(enable_backward=False)
    def grid_pass(
        together: wp.array(dtype=record), momentum: wp.array(dtype=vector), masses: wp.array(dtype=float)
    ):
        node = wp.tid()
        if wp.static(tuned):
            both = together[node]
            if both[D] > 0.0:
                together[node] = together_of(after_forces(first_of(both) / both[D], node), both[D])
        else:
            if masses[node] > 0.0:
                momentum[node] = after_forces(momentum[node] / masses[node], node)

    @wp.kernel(enable_backward=False)
    def gather(
        x: wp.array(dtype=vector),
        v: wp.array(dtype=vector),
        C: wp.array(dtype=matrix),
        F: wp.array(dtype=matrix),
        J: wp.array(dtype=float),
        together: wp.array(dtype=record),
        momentum: wp.array(dtype=vector),
    ):
        p = wp.tid()
        base = base_of(x[p])
        f = per_h * x[p] - base
        w = weights_of(f)
        new_v = vector()
        B = matrix()
        for i in range(3):
            for j in range(3):
                for k in range(wp.static(3 if d == 3 else 1)):
                    at = place(base, i, j, k)
                    g = vector()
                    if wp.static(tuned):
                        g = first_of(together[at])
                    else:
                        g = momentum[at]
                    g = weight_at(w, i, j, k) * g
                    new_v += g
                    B += wp.outer(g, offset_at(f, i, j, k))
        new_C = 4.0 * per_h * B
        change = eye + dt * new_C
        v[p] = new_v
        C[p] = new_C
        x[p] = x[p] + dt * new_v
        if wp.static(problem.law == "fcr"):
            F[p] = change * F[p]
        else:
            J[p] = J[p] * wp.determinant(change)

    return vector, matrix, record, scatter, grid_pass, gather


class Serial:
    """Arrays and kernels for a problem; `form` is "tuned" or "classic"."""

    def __init__(self, problem: Problem, x: np.ndarray, v: np.ndarray, threads: int, tuned: bool) -> None:
        if threads != 1:
            raise SystemExit("Warp has one thread on a CPU")
        wp.config.quiet = True
        wp.config.mode = "release"
        wp.set_module_options({"fast_math": True, "enable_backward": False})
        wp.init()
        self.given = x, v
        self.tuned = tuned
        vector, self.matrix, record, *self.kernels = compile_kernels(problem, tuned)
        nodes = problem.nodes**problem.dimension
        self.x, self.v = (wp.array(a, dtype=vector, device="cpu") for a in self.given)
        n = len(x)
        self.C, self.F = (wp.zeros(n, dtype=self.matrix, device="cpu") for _ in range(2))
        self.J = wp.zeros(n, dtype=float, device="cpu")
        self.together = wp.zeros(nodes if tuned else 1, dtype=record, device="cpu")
        self.momentum = wp.zeros(1 if tuned else nodes, dtype=vector, device="cpu")
        self.masses = wp.zeros(1 if tuned else nodes, dtype=float, device="cpu")
        self.nodes = nodes

    def begin(self) -> None:
        x, v = self.given
        n, d = x.shape
        self.x.assign(x)
        self.v.assign(v)
        self.C.zero_()
        self.F.assign(np.broadcast_to(np.eye(d, dtype=np.float32), (n, d, d)).copy())
        self.J.fill_(1.0)

    def step(self, n: int) -> None:
        scatter, grid_pass, gather = self.kernels
        grid = [self.together, self.momentum, self.masses]
        particles = [self.x, self.v, self.C, self.F, self.J]
        for _ in range(n):
            for array in grid:
                array.zero_()
            wp.launch(scatter, dim=len(self.x), inputs=[*particles, *grid], device="cpu")
            wp.launch(grid_pass, dim=self.nodes, inputs=grid, device="cpu")
            wp.launch(gather, dim=len(self.x), inputs=[*particles, *grid[:2]], device="cpu")

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.x.numpy(), self.v.numpy()


def main() -> None:
    """Measure it."""
    forms = argparse.ArgumentParser(add_help=False)
    forms.add_argument("--form", choices=["tuned", "classic"], required=True)
    own, sys.argv[1:] = forms.parse_known_args()
    protocol.run(
        lambda *problem: Serial(*problem, own.form == "tuned"), protocol.arguments(), ("warp-lang", "numpy")
    )


if __name__ == "__main__":
    main()
