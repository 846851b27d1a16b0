"""Numba at its fastest that we know: `prange` over threads, a grid of its own for each, plain sums.

The grid pass adds the grids, and clears what it has read. Compiled with fastmath; nothing is cached on disk, because
Numba's cache does not notice that a constant of the module has changed.
"""

import numba
import numpy as np
from numba import njit, prange

from . import protocol
from .problems import Problem

f32 = np.float32
fast = njit(fastmath=True)


@fast
def weights(x, per_h):
    """Lowest node, offset from it in cells, and the three weights along an axis."""
    x = x * per_h
    base = int(x - f32(0.5))
    f = x - f32(base)
    outer, middle, inner = f32(1.5) - f, f - f32(1), f - f32(0.5)
    return base, f, (f32(0.5) * outer * outer, f32(0.75) - middle * middle, f32(0.5) * inner * inner)


@fast
def cofactors(a):
    """Of a 3 x 3 matrix, nine numbers row by row."""
    return (
        a[4] * a[8] - a[5] * a[7],
        a[5] * a[6] - a[3] * a[8],
        a[3] * a[7] - a[4] * a[6],
        a[2] * a[7] - a[1] * a[8],
        a[0] * a[8] - a[2] * a[6],
        a[1] * a[6] - a[0] * a[7],
        a[1] * a[5] - a[2] * a[4],
        a[2] * a[3] - a[0] * a[5],
        a[0] * a[4] - a[1] * a[3],
    )


@fast
def halfway(a):
    """Newton's step towards the rotation: (A + A^-T)/2."""
    c = cofactors(a)
    r = f32(1) / (a[0] * c[0] + a[1] * c[1] + a[2] * c[2])
    half = f32(0.5)
    return (
        half * (a[0] + c[0] * r),
        half * (a[1] + c[1] * r),
        half * (a[2] + c[2] * r),
        half * (a[3] + c[3] * r),
        half * (a[4] + c[4] * r),
        half * (a[5] + c[5] * r),
        half * (a[6] + c[6] * r),
        half * (a[7] + c[7] * r),
        half * (a[8] + c[8] * r),
    )


@fast
def load(a, p):
    """A 3 x 3 matrix of an array (n, 9)."""
    return (a[p, 0], a[p, 1], a[p, 2], a[p, 3], a[p, 4], a[p, 5], a[p, 6], a[p, 7], a[p, 8])


def compile_3d(problem: Problem, threads: int):
    """The function of n steps in 3-D."""
    nodes, low, high, solid = problem.nodes, problem.low, problem.high, problem.law == "fcr"
    h, per_h, dt, mass = f32(problem.h), f32(1 / problem.h), f32(problem.dt), f32(problem.mass)
    mu2, lam, K = f32(2 * problem.first), f32(problem.second), f32(problem.first)
    factor = f32(-problem.dt * problem.volume * 4 / problem.h)
    fall = f32(problem.dt * problem.gravity)

    @fast
    def affine(p, C, F):
        """What P2G adds per cell of offset: the stress and the affine momentum."""
        c = load(C, p)
        m = mass * h
        if solid:
            a = load(F, p)
            k = cofactors(a)
            J = a[0] * k[0] + a[1] * k[1] + a[2] * k[2]
            r = halfway(halfway(halfway(halfway(halfway(a)))))
            s0, s1, s2 = a[0] - r[0], a[1] - r[1], a[2] - r[2]
            s3, s4, s5 = a[3] - r[3], a[4] - r[4], a[5] - r[5]
            s6, s7, s8 = a[6] - r[6], a[7] - r[7], a[8] - r[8]
            g, diagonal = factor * mu2, factor * lam * (J - f32(1)) * J
            xy, xz = (
                g * (s0 * a[3] + s1 * a[4] + s2 * a[5]),
                g * (s0 * a[6] + s1 * a[7] + s2 * a[8]),
            )
            yz = g * (s3 * a[6] + s4 * a[7] + s5 * a[8])
            return (
                g * (s0 * a[0] + s1 * a[1] + s2 * a[2]) + diagonal + m * c[0],
                xy + m * c[1],
                xz + m * c[2],
                xy + m * c[3],
                g * (s3 * a[3] + s4 * a[4] + s5 * a[5]) + diagonal + m * c[4],
                yz + m * c[5],
                xz + m * c[6],
                yz + m * c[7],
                g * (s6 * a[6] + s7 * a[7] + s8 * a[8]) + diagonal + m * c[8],
            )
        q = factor * K * (F[p, 0] - f32(1))
        return (
            m * c[0] + q,
            m * c[1],
            m * c[2],
            m * c[3],
            m * c[4] + q,
            m * c[5],
            m * c[6],
            m * c[7],
            m * c[8] + q,
        )

    @fast
    def scatter(p, x, v, C, F, grid):
        bx, fx, wx = weights(x[p, 0], per_h)
        by, fy, wy = weights(x[p, 1], per_h)
        bz, fz, wz = weights(x[p, 2], per_h)
        A = affine(p, C, F)
        m0, m1, m2 = mass * v[p, 0], mass * v[p, 1], mass * v[p, 2]
        for i in range(3):
            dx = f32(i) - fx
            for j in range(3):
                dy = f32(j) - fy
                w = wx[i] * wy[j]
                q0 = m0 + A[0] * dx + A[1] * dy
                q1 = m1 + A[3] * dx + A[4] * dy
                q2 = m2 + A[6] * dx + A[7] * dy
                for k in range(3):
                    dz = f32(k) - fz
                    ww = w * wz[k]
                    node = grid[bx + i, by + j, bz + k]
                    node[0] += ww * (q0 + A[2] * dz)
                    node[1] += ww * (q1 + A[5] * dz)
                    node[2] += ww * (q2 + A[8] * dz)
                    node[3] += ww * mass

    @fast
    def gather(p, x, v, C, F, velocity):
        bx, fx, wx = weights(x[p, 0], per_h)
        by, fy, wy = weights(x[p, 1], per_h)
        bz, fz, wz = weights(x[p, 2], per_h)
        v0 = v1 = v2 = f32(0)
        B00 = B01 = B02 = B10 = B11 = B12 = B20 = B21 = B22 = f32(0)
        for i in range(3):
            dx = f32(i) - fx
            for j in range(3):
                dy = f32(j) - fy
                w = wx[i] * wy[j]
                for k in range(3):
                    dz = f32(k) - fz
                    ww = w * wz[k]
                    node = velocity[bx + i, by + j, bz + k]
                    g0, g1, g2 = ww * node[0], ww * node[1], ww * node[2]
                    v0 += g0
                    v1 += g1
                    v2 += g2
                    B00 += g0 * dx
                    B01 += g0 * dy
                    B02 += g0 * dz
                    B10 += g1 * dx
                    B11 += g1 * dy
                    B12 += g1 * dz
                    B20 += g2 * dx
                    B21 += g2 * dy
                    B22 += g2 * dz
        s = f32(4) * per_h
        c = (s * B00, s * B01, s * B02, s * B10, s * B11, s * B12, s * B20, s * B21, s * B22)
        for a in range(9):
            C[p, a] = c[a]
        v[p, 0], v[p, 1], v[p, 2] = v0, v1, v2
        x[p, 0] += dt * v0
        x[p, 1] += dt * v1
        x[p, 2] += dt * v2
        one = f32(1)
        if solid:
            for b in range(3):
                f0, f1, f2 = F[p, b], F[p, 3 + b], F[p, 6 + b]
                F[p, b] = f0 + dt * (c[0] * f0 + c[1] * f1 + c[2] * f2)
                F[p, 3 + b] = f1 + dt * (c[3] * f0 + c[4] * f1 + c[5] * f2)
                F[p, 6 + b] = f2 + dt * (c[6] * f0 + c[7] * f1 + c[8] * f2)
        else:
            t0, t4, t8 = one + dt * c[0], one + dt * c[4], one + dt * c[8]
            t1, t2, t3, t5, t6, t7 = dt * c[1], dt * c[2], dt * c[3], dt * c[5], dt * c[6], dt * c[7]
            F[p, 0] *= t0 * (t4 * t8 - t5 * t7) - t1 * (t3 * t8 - t5 * t6) + t2 * (t3 * t7 - t4 * t6)

    @njit(parallel=True, fastmath=True)
    def advance(steps, x, v, C, F, copies, velocity):
        n = len(x)
        share = (n + threads - 1) // threads
        for _ in range(steps):
            for t in prange(threads):
                for p in range(t * share, min(n, (t + 1) * share)):
                    scatter(p, x, v, C, F, copies[t])
            for i in prange(nodes):
                for j in range(nodes):
                    for k in range(nodes):
                        total = f32(0)
                        for t in range(threads):
                            total += copies[t, i, j, k, 3]
                        if total > 0:
                            for a in range(3):
                                momentum = f32(0)
                                for t in range(threads):
                                    momentum += copies[t, i, j, k, a]
                                    copies[t, i, j, k, a] = 0
                                g = momentum / total + (fall if a == 2 else f32(0))
                                at = i if a == 0 else (j if a == 1 else k)
                                held = (at <= low and g < 0) or (at >= high and g > 0)
                                velocity[i, j, k, a] = f32(0) if held else g
                            for t in range(threads):
                                copies[t, i, j, k, 3] = 0
            for t in prange(threads):
                for p in range(t * share, min(n, (t + 1) * share)):
                    gather(p, x, v, C, F, velocity)

    return advance


def compile_2d(problem: Problem, threads: int):
    """The function of n steps in 2-D."""
    nodes, low, high, solid = problem.nodes, problem.low, problem.high, problem.law == "fcr"
    h, per_h, dt, mass = f32(problem.h), f32(1 / problem.h), f32(problem.dt), f32(problem.mass)
    mu2, lam, K = f32(2 * problem.first), f32(problem.second), f32(problem.first)
    factor = f32(-problem.dt * problem.volume * 4 / problem.h)
    fall = f32(problem.dt * problem.gravity)

    @fast
    def affine(p, C, F):
        """What P2G adds per cell of offset: the stress and the affine momentum."""
        m = mass * h
        A = (m * C[p, 0], m * C[p, 1], m * C[p, 2], m * C[p, 3])
        if solid:
            a, b, c, d = F[p, 0], F[p, 1], F[p, 2], F[p, 3]
            J = a * d - b * c
            cosine, sine = a + d, c - b
            r = f32(1) / np.sqrt(cosine * cosine + sine * sine)
            cosine, sine = cosine * r, sine * r
            s0, s1, s2, s3 = a - cosine, b + sine, c - sine, d - cosine
            g, diagonal = factor * mu2, factor * lam * (J - f32(1)) * J
            xy = g * (s0 * c + s1 * d)
            return (
                A[0] + g * (s0 * a + s1 * b) + diagonal,
                A[1] + xy,
                A[2] + xy,
                A[3] + g * (s2 * c + s3 * d) + diagonal,
            )
        q = factor * K * (F[p, 0] - f32(1))
        return (A[0] + q, A[1], A[2], A[3] + q)

    @fast
    def scatter(p, x, v, C, F, grid):
        bx, fx, wx = weights(x[p, 0], per_h)
        by, fy, wy = weights(x[p, 1], per_h)
        A = affine(p, C, F)
        m0, m1 = mass * v[p, 0], mass * v[p, 1]
        for i in range(3):
            dx = f32(i) - fx
            q0, q1 = m0 + A[0] * dx, m1 + A[2] * dx
            for j in range(3):
                dy = f32(j) - fy
                w = wx[i] * wy[j]
                node = grid[bx + i, by + j]
                node[0] += w * (q0 + A[1] * dy)
                node[1] += w * (q1 + A[3] * dy)
                node[2] += w * mass

    @fast
    def gather(p, x, v, C, F, velocity):
        bx, fx, wx = weights(x[p, 0], per_h)
        by, fy, wy = weights(x[p, 1], per_h)
        v0 = v1 = B00 = B01 = B10 = B11 = f32(0)
        for i in range(3):
            dx = f32(i) - fx
            for j in range(3):
                dy = f32(j) - fy
                w = wx[i] * wy[j]
                node = velocity[bx + i, by + j]
                g0, g1 = w * node[0], w * node[1]
                v0 += g0
                v1 += g1
                B00 += g0 * dx
                B01 += g0 * dy
                B10 += g1 * dx
                B11 += g1 * dy
        s = f32(4) * per_h
        c0, c1, c2, c3 = s * B00, s * B01, s * B10, s * B11
        C[p, 0], C[p, 1], C[p, 2], C[p, 3] = c0, c1, c2, c3
        v[p, 0], v[p, 1] = v0, v1
        x[p, 0] += dt * v0
        x[p, 1] += dt * v1
        if solid:
            for b in range(2):
                f0, f1 = F[p, b], F[p, 2 + b]
                F[p, b] = f0 + dt * (c0 * f0 + c1 * f1)
                F[p, 2 + b] = f1 + dt * (c2 * f0 + c3 * f1)
        else:
            F[p, 0] *= (f32(1) + dt * c0) * (f32(1) + dt * c3) - dt * c1 * dt * c2

    @njit(parallel=True, fastmath=True)
    def advance(steps, x, v, C, F, copies, velocity):
        n = len(x)
        share = (n + threads - 1) // threads
        for _ in range(steps):
            for t in prange(threads):
                for p in range(t * share, min(n, (t + 1) * share)):
                    scatter(p, x, v, C, F, copies[t])
            for i in prange(nodes):
                for j in range(nodes):
                    total = f32(0)
                    for t in range(threads):
                        total += copies[t, i, j, 2]
                    if total > 0:
                        for a in range(2):
                            momentum = f32(0)
                            for t in range(threads):
                                momentum += copies[t, i, j, a]
                                copies[t, i, j, a] = 0
                            g = momentum / total + (fall if a == 1 else f32(0))
                            at = i if a == 0 else j
                            held = (at <= low and g < 0) or (at >= high and g > 0)
                            velocity[i, j, a] = f32(0) if held else g
                        for t in range(threads):
                            copies[t, i, j, 2] = 0
            for t in prange(threads):
                for p in range(t * share, min(n, (t + 1) * share)):
                    gather(p, x, v, C, F, velocity)

    return advance


class Private:
    """Arrays and the compiled function for a problem; a fluid keeps J where F_00 would be."""

    def __init__(self, problem: Problem, x: np.ndarray, v: np.ndarray, threads: int) -> None:
        numba.set_num_threads(threads)
        self.given = x, v
        d = problem.dimension
        grid = (problem.nodes,) * d
        self.copies = np.zeros((threads, *grid, d + 1), f32)  # momentum, mass
        self.velocity = np.zeros((*grid, d + 1), f32)  # padded, as that is faster
        self.compiled = (compile_3d if d == 3 else compile_2d)(problem, threads)

    def begin(self) -> None:
        self.x, self.v = (np.array(a) for a in self.given)
        n, d = self.x.shape
        self.C = np.zeros((n, d * d), f32)
        self.F = np.tile(np.eye(d, dtype=f32).ravel(), (n, 1))

    def step(self, n: int) -> None:
        self.compiled(n, self.x, self.v, self.C, self.F, self.copies, self.velocity)

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self.x, self.v


if __name__ == "__main__":
    protocol.run(Private, protocol.arguments(), ("numba", "llvmlite", "numpy"))
