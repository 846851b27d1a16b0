"""One explicit MPM step in NumPy, written from the papers' tables: what every scheme of the core must agree with.

Dense nodes, one loop over the stencil, no thought of speed. Walls are not part of it.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass

import numpy as np

AFFINE = ("apic", "aflip", "asflip", "tpic")
FLIP = ("flip", "aflip", "asflip")


def weight(u: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """B-spline N(u) and its derivative; u = (x_p - x_i)/h."""
    a, sign = np.abs(u), np.sign(u)
    if degree == 1:
        return np.maximum(1 - a, 0), np.where(a < 1, -sign, 0)
    if degree == 2:
        outer = 1.5 - a
        inner, within = a < 0.5, a < 1.5
        n = np.where(inner, 0.75 - a**2, np.where(within, 0.5 * outer**2, 0))
        return n, np.where(inner, -2 * u, np.where(within, -outer * sign, 0))
    outer = 2 - a
    inner, within = a < 1, a < 2
    n = np.where(inner, 0.5 * a**3 - a**2 + 2 / 3, np.where(within, outer**3 / 6, 0))
    return n, np.where(inner, 1.5 * u * a - 2 * u, np.where(within, -0.5 * outer**2 * sign, 0))


@dataclass
class Reference:
    """Particles of one material on nodes at `lower` + i h; `stress(F)` gives the Kirchhoff stress (n, d, d)."""

    x: np.ndarray
    v: np.ndarray
    C: np.ndarray
    F: np.ndarray
    mass: np.ndarray
    volume: np.ndarray
    stress: object
    lower: np.ndarray
    h: float
    gravity: np.ndarray
    transfer: str = "apic"
    degree: int = 2
    gradient: str = "mls"
    flip_ratio: float = 0.95
    xpic_order: int = 2
    advect: str = "pic"
    f_update: str = "linear"
    c_damping: float = 0.0
    f_bar: bool = False
    artificial_viscosity: tuple[float, float] | None = None
    wave: object = None  # (F) -> J rho c^2 (n,), for the artificial viscosity
    modulus: object = None  # (F) -> the law's modulus of volume changes (n,), the weight of F-bar
    found: tuple = dataclasses.field(default=(None, []), init=False)  # positions, and their `stencil`

    def stencil(self) -> list[tuple[np.ndarray, ...]]:
        """For every node of the stencils: (index (n, d), w (n,), grad w (n, d), x_i - x_p (n, d))."""
        if self.found[0] is not self.x:
            self.found = self.x, list(self._stencil())
        return self.found[1]

    def _stencil(self):
        d = self.x.shape[1]
        others = [[b for b in range(d) if b != a] for a in range(d)]
        cells = (self.x - self.lower) / self.h
        base = np.floor(cells - 0.5 * (self.degree - 1)).astype(int)
        for k in itertools.product(range(self.degree + 1), repeat=d):
            node = base + np.array(k)
            n, slope = weight(cells - node, self.degree)
            w = n.prod(axis=1)
            gradient = np.stack(
                [slope[:, a] * n[:, others[a]].prod(axis=1) / self.h for a in range(d)], axis=1
            )
            yield node, w, gradient, self.lower + node * self.h - self.x

    def to_grid(self, values_at) -> np.ndarray:
        """Dense sum over particles of values_at(w, grad w, Delta) (n, components)."""
        total = None
        for node, w, gradient, offset in self.stencil():
            values = values_at(w, gradient, offset)
            if total is None:
                total = np.zeros((*self.size, values.shape[1]))
            np.add.at(total, tuple(node.T), values)
        return total

    def to_particles(self, field: np.ndarray) -> np.ndarray:
        return sum(w[:, None] * field[tuple(node.T)] for node, w, _, _ in self.stencil())

    def average(self, weight: np.ndarray, J: np.ndarray) -> np.ndarray:
        """F-bar: the average of J (n,) with `weight` (n,) by linear B-splines around the centres of cells; around the
        nodes if the kernel is linear."""
        shift = 0 if self.degree == 1 else self.h / 2
        centres = dataclasses.replace(self, degree=1, lower=self.lower + shift)
        weights, around = (
            centres.to_grid(lambda w, g, o, a=a: (w * a)[:, None]) for a in (weight, weight * J)
        )
        return centres.to_particles(around / np.where(weights > 0, weights, 1))[:, 0]

    @property
    def size(self) -> tuple[int, ...]:
        return tuple(np.ceil((self.x.max(axis=0) - self.lower) / self.h).astype(int) + 4)

    def step(self, dt: float) -> None:
        d, h, m = self.x.shape[1], self.h, self.mass[:, None]
        identity = np.eye(d)
        inverse_D = {1: 4, 2: 4, 3: 3}[self.degree] / h**2  # linear: of what C is stored as, 4/h^2 B
        stored_B = self.degree == 1 and self.transfer in ("apic", "aflip", "asflip")
        tau = self.stress(self.F)
        K = self.modulus(self.F) if self.f_bar else None
        if self.artificial_viscosity:
            linear, quadratic = self.artificial_viscosity
            rho, hs = self.mass / self.volume, h * np.maximum(-np.trace(self.C, axis1=1, axis2=2), 0)
            pressure = hs * (linear * np.sqrt(rho * self.wave(self.F)) + quadratic * rho * hs)
            tau = tau - pressure[:, None, None] * identity

        def affine(w, gradient, offset):
            if self.transfer not in AFFINE:
                return 0.0
            if stored_B:
                return np.einsum("nab,nb->na", self.C, gradient) / inverse_D
            return w[:, None] * np.einsum("nab,nb->na", self.C, offset)

        def force(w, gradient, offset):
            g = gradient if self.gradient == "bspline" else inverse_D * w[:, None] * offset
            return -self.volume[:, None] * np.einsum("nab,nb->na", tau, g)

        mass = self.to_grid(lambda w, g, o: w[:, None] * m)
        held = np.where(mass > 0, mass, 1)
        before = self.to_grid(lambda w, g, o: m * (w[:, None] * self.v + affine(w, g, o))) / held
        after = np.where(mass > 0, before + dt * (self.to_grid(force) / held + self.gravity), 0)

        v = self.to_particles(after)
        mls, spline = np.zeros((2, len(v), d, d))
        for node, w, gradient, offset in self.stencil():
            there = after[tuple(node.T)]
            mls += inverse_D * w[:, None, None] * there[:, :, None] * offset[:, None, :]
            spline += there[:, :, None] * gradient[:, None, :]
        L = mls if self.gradient == "mls" else spline
        C = {"tpic": spline}.get(self.transfer, mls if self.transfer in AFFINE else L)
        if self.transfer in AFFINE:
            r = 1 - self.c_damping
            C = (1 + r) / 2 * C + (r - 1) / 2 * C.transpose(0, 2, 1)

        new = moving = v
        if self.transfer in FLIP:
            new = v + self.flip_ratio * (self.v - self.to_particles(before))
            if self.advect == "particle":
                moving = new
            if self.transfer == "asflip":
                apart = np.linalg.det(self.F) * (1 + dt * np.trace(L, axis1=1, axis2=2)) > 0.999
                moving = np.where(apart[:, None], new, v)
        elif self.transfer == "xpic":
            # (I - (I - S S+)^m) V + S a dt, by powers of the operator on particles
            left = self.v
            for _ in range(self.xpic_order):
                there = self.to_grid(lambda w, g, o, left=left: m * w[:, None] * left) / held
                left = left - self.to_particles(there)
            new = self.v - left + self.to_particles(after - before)

        half = 0.5 * dt * L
        if self.f_update == "cayley":
            factor = np.linalg.solve(identity - half, identity + half)
        elif self.f_update == "trace":  # of a fluid, whose F is J^(1/d) I
            factor = (1 + dt * np.trace(L, axis1=1, axis2=2))[:, None, None] ** (1 / d) * identity
        else:
            factor = identity + dt * L
        if self.f_bar:
            J = np.linalg.det(factor)
            weight = self.volume * K
            mean = self.average(weight, J)
            factor = factor * ((mean / J) ** (1 / d))[:, None, None]
        self.F = factor @ self.F
        self.v, self.C = new, C
        self.x = self.x + dt * moving
