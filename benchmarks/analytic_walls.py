"""A negative control for `benchmarks/methods_sph.py`: a wall that mirrors the pressure of the fluid adds energy.

The wall is not sampled. It has the rest density ρ₀, and its share of the kernel around a particle at the distance z is
known: λ(z) = ∫ W over the half-space beyond it. So ρ_i = Σ m W + ρ₀ λ_i, where several walls share the kernel as
1 − Π (1 − λ). The force of the wall on a particle is −m s ρ₀ p_i/ρ_i² ∇λ_i. With s = 1 it is the derivative of the
energy Σ m u(ρ_i). With s = 2, the wall has the pressure and the density of the particle: the pair force of two
particles, mirrored. No energy has that derivative.
"""

from __future__ import annotations

import numpy as np

from mpm.base._check import FloatArray
from mpm.sph import operators

G, REST, GAMMA, SOUND = 9.81, 1000.0, 7, 10 * np.sqrt(2 * 9.81 * 2)
K = REST * SOUND**2 / GAMMA
LOWER, UPPER = np.array([0.0, 0.0]), np.array([5.0, 4.0])
SAMPLES = 2000


class DamBreak:
    """An inviscid column of 2 n × n particles, 1 m wide, with h of one spacing: as `methods_sph.energy` has it."""

    def __init__(self, n: int, mirrored: bool) -> None:
        self.h, self.share = 1 / n, 2 if mirrored else 1
        axes = [(np.arange(k) + 0.5) / n for k in (n, 2 * n)]
        self.x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
        self.v = np.zeros_like(self.x)
        near = np.array([[i, j] for i in (-1, 0, 1) for j in (-1, 0, 1)]) * self.h
        lattice = operators.kernel(np.linalg.norm(near, axis=1), self.h, 2).sum()
        self.m = REST / lattice  # a full lattice has the density at rest
        self.dt = 0.6 * 1.7 * self.h / SOUND
        self.z, self.slope, self.beyond = self._kernel_beyond_planes()
        self._settle()

    def _kernel_beyond_planes(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Distances up to 2h with dλ/dz and λ there."""
        z = np.linspace(0, 2 * self.h, SAMPLES)
        y = (np.arange(SAMPLES) + 0.5) / SAMPLES * 2 * self.h
        r = np.hypot(z[:, None], y)
        line = 2 * operators.kernel(r.ravel(), self.h, 2).reshape(r.shape).sum(axis=1) * y[0] * 2
        part = np.concatenate([[0], np.cumsum((line[1:] + line[:-1]) / 2) * z[1]])
        return z, -line, part[-1] - part

    def _settle(self) -> None:
        """Neighbours, densities and pressures of the present positions."""
        self.pairs = operators.neighbours(self.x, self.h)
        m = np.full(len(self.x), self.m)
        depth = np.concatenate([self.x - LOWER, UPPER - self.x], axis=1)  # left, below, right, above
        free = 1 - np.interp(depth, self.z, self.beyond, right=0)
        slope = np.interp(depth, self.z, self.slope, right=0)
        whole = free.prod(axis=1)
        self.towards = np.stack(
            [slope[:, a] * whole / free[:, a] - slope[:, a + 2] * whole / free[:, a + 2] for a in (0, 1)],
            axis=1,
        )
        self.rho = operators.density(self.x, m, self.h, self.pairs) + REST * (1 - whole)
        self.p = K * (np.maximum(self.rho / REST, 1) ** GAMMA - 1)

    def step(self) -> None:
        """Algorithm 1 with symplectic Euler."""
        push = self.p / self.rho**2
        m = np.full(len(self.x), self.m)
        a = -operators.gradient(self.p, m, self.rho, self.h, self.pairs, symmetric=True) / self.rho[:, None]
        a -= self.share * REST * push[:, None] * self.towards
        self.v += self.dt * (a - np.array([0, G]))
        self.x += self.dt * self.v
        for wall, beyond in (
            (LOWER, self.x < LOWER),
            (UPPER, self.x > UPPER),
        ):  # reflected, which keeps the energy
            self.v[beyond] *= -1
            self.x = np.where(beyond, 2 * wall - self.x, self.x)
        self._settle()

    def energy(self) -> float:
        """Kinetic, of position and of compression [J/m]."""
        ratio = np.maximum(self.rho / REST, 1)
        compression = K / REST * ((ratio ** (GAMMA - 1) - 1) / (GAMMA - 1) + 1 / ratio - 1)
        return float(self.m * (0.5 * (self.v**2).sum(axis=1) + G * self.x[:, 1] + compression).sum())


def gained(mirrored: bool, n: int = 20, duration: float = 0.5) -> float:
    """Share of the first energy that a dam break has gained."""
    flow = DamBreak(n, mirrored)
    start = flow.energy()
    for _ in range(round(duration / flow.dt)):
        flow.step()
    return flow.energy() / start - 1
