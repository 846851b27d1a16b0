"""JAX: one jitted loop over steps, a scatter-add per node of the stencil, Newton's iteration for the rotation."""

import itertools
import os
import sys

import numpy as np

from . import protocol
from .problems import Problem

SAFE = "promise_in_bounds"  # indices are not checked, which is three times faster


def compile_step(problem: Problem):
    """The function of n steps on (x, v, C, F); a fluid keeps J in place of F."""
    import jax
    import jax.numpy as jnp

    d, h, nodes, mass, dt = problem.dimension, problem.h, problem.nodes, problem.mass, problem.dt
    factor = -dt * problem.volume * 4 / h
    solid = problem.law == "fcr"
    stencil = list(itertools.product(range(3), repeat=d))
    strides = np.array([nodes ** (d - 1 - a) for a in range(d)], np.int32)
    coordinates = np.stack(np.indices((nodes,) * d), -1).reshape(-1, d)
    floor, ceiling = jnp.asarray(coordinates <= problem.low), jnp.asarray(coordinates >= problem.high)
    gravity = jnp.zeros(d).at[d - 1].set(dt * problem.gravity)
    eye = jnp.eye(d)

    def determinant(A):
        if d == 2:
            return A[:, 0, 0] * A[:, 1, 1] - A[:, 0, 1] * A[:, 1, 0]
        return (A[:, 0] * jnp.cross(A[:, 1], A[:, 2])).sum(1)

    def rotation(A):
        if d == 2:
            c, s = A[:, 0, 0] + A[:, 1, 1], A[:, 1, 0] - A[:, 0, 1]
            r = jax.lax.rsqrt(c * c + s * s)
            return jnp.stack([c * r, -s * r, s * r, c * r], 1).reshape(-1, 2, 2)
        for _ in range(5):
            cofactors = jnp.stack([jnp.cross(A[:, (a + 1) % 3], A[:, (a + 2) % 3]) for a in range(3)], 1)
            A = 0.5 * (A + cofactors / (A[:, 0] * cofactors[:, 0]).sum(1)[:, None, None])
        return A

    def step(_, state):
        x, v, C, F = state
        base = (x / h - 0.5).astype(jnp.int32)
        f = x / h - base
        w = jnp.stack([0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2])
        at = (base * strides).sum(1)
        if solid:
            J = determinant(F)
            tau = 2 * problem.first * (F - rotation(F)) @ F.swapaxes(1, 2)
            tau += (problem.second * (J - 1) * J)[:, None, None] * eye
        else:
            tau = (problem.first * (F - 1))[:, None, None] * eye
        A = factor * tau + mass * h * C
        grid = jnp.zeros((nodes**d, d + 1))
        for node in stencil:
            weight = jnp.prod(jnp.stack([w[node[a], :, a] for a in range(d)]), 0)[:, None]
            momentum = mass * v + sum(A[:, :, a] * (node[a] - f[:, a, None]) for a in range(d))
            q = weight * jnp.concatenate([momentum, jnp.full((len(x), 1), mass)], 1)
            grid = grid.at[at + int(np.dot(node, strides))].add(q, mode=SAFE)
        g = jnp.where(grid[:, d:] > 0, grid[:, :d] / jnp.maximum(grid[:, d:], 1e-30) + gravity, 0)
        g = jnp.where((floor & (g < 0)) | (ceiling & (g > 0)), 0, g)
        v, B = jnp.zeros_like(v), jnp.zeros_like(C)
        for node in stencil:
            weight = jnp.prod(jnp.stack([w[node[a], :, a] for a in range(d)]), 0)[:, None]
            part = weight * g.at[at + int(np.dot(node, strides))].get(mode=SAFE)
            v += part
            B += part[:, :, None] * (jnp.array(node) - f)[:, None, :]
        C = 4 / h * B
        change = eye + dt * C
        F = change @ F if solid else F * determinant(change)
        return x + dt * v, v, C, F

    return jax.jit(lambda n, state: jax.lax.fori_loop(0, n, step, state))


class Jitted:
    """Arrays and the compiled function for a problem."""

    def __init__(self, problem: Problem, x: np.ndarray, v: np.ndarray, threads: int) -> None:
        self.given, self.solid = (x, v), problem.law == "fcr"
        self.advance = compile_step(problem)

    def begin(self) -> None:
        import jax.numpy as jnp

        x, v = self.given
        n, d = x.shape
        F = jnp.broadcast_to(jnp.eye(d), (n, d, d)) if self.solid else jnp.ones(n)
        self.now = (jnp.asarray(x), jnp.asarray(v), jnp.zeros((n, d, d)), F)

    def step(self, n: int) -> None:
        self.now = self.advance(n, self.now)
        self.now[0].block_until_ready()

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(self.now[0]), np.asarray(self.now[1])


def main() -> None:
    """Measure it, on as many processors as threads are asked for: JAX has no option for it."""
    chosen = protocol.arguments()
    if sys.platform == "linux":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: chosen.threads])
    protocol.run(Jitted, chosen, ("jax", "jaxlib", "numpy"))


if __name__ == "__main__":
    main()
