"""Prints how errors fall with the cell size: the order of convergence against closed forms.

    python benchmarks/convergence.py [cells ...]

Manufactured solution: finite deformation of a neo-Hookean unit box that a body force keeps on

    u_a = A sin(pi X_a) sin(pi (c t + phi_a)),  A = 0.05,  c = sqrt(E/rho)

(P. C. Wallstedt, J. E. Guilkey, J. Comput. Phys. 227 (2008) 9628): strains up to 16 %, particles crossing cells, planes
of symmetry on all sides. The slab moves along x alone and has walls of nodes (sticky) there.

Bar: free vibration of small amplitude, A sin(pi x/L) sin(pi c t/L), which needs no body force.
"""

import argparse
from dataclasses import dataclass

import numpy as np

import mpm

CELLS = (8, 16, 32)
E, NU, DENSITY = 1e4, 0.3, 1.0
AMPLITUDE = 0.05
SPEED = np.sqrt(E / DENSITY)
PER_CELL = 2  # particles, along an axis
LOOKS = 20  # times in a period at which the error is looked at


@dataclass(frozen=True)
class Manufactured:
    """The solution for particles at X (n, d) [m]; `amplitude` (d,) [m]."""

    X: np.ndarray
    amplitude: np.ndarray

    def wave(self, t: float) -> np.ndarray:
        """sin(pi (c t + phi_a)), phi = 0, 1, 0; shape (d,)."""
        return np.sin(np.pi * (SPEED * t + np.array([0, 1, 0])[: len(self.amplitude)]))

    def displacement(self, t: float) -> np.ndarray:
        """u (n, d) [m]."""
        return self.amplitude * np.sin(np.pi * self.X) * self.wave(t)

    def velocity(self) -> np.ndarray:
        """du/dt (n, d) at t = 0, when u = 0 [m/s]."""
        return (
            self.amplitude * np.sin(np.pi * self.X) * np.pi * SPEED * np.array([1, -1, 1])[: self.X.shape[1]]
        )

    def body_force(self, x: np.ndarray, t: float) -> np.ndarray:
        """What keeps a neo-Hookean solid on it (n, d) [m/s2]; x is not asked, the force is that of the particle.

        b = (pi^2 u_a/rho) (lambda (1 - ln J)/F_aa^2 + mu (1 + 1/F_aa^2) - E) from rho b = rho u_tt - div P.
        """
        mu, lame = E / 2 / (1 + NU), E * NU / (1 + NU) / (1 - 2 * NU)
        F = 1 + np.pi * self.amplitude * np.cos(np.pi * self.X) * self.wave(t)
        log_J = np.log(F).sum(axis=1, keepdims=True)
        stiffness = lame * (1 - log_J) / F**2 + mu * (1 + 1 / F**2) - E
        return np.pi**2 * self.displacement(t) / DENSITY * stiffness


def lattice(size: list[float], h: float) -> np.ndarray:
    """PER_CELL^d particles in every cell of a box, shape (n, d) [m]."""
    axes = [(np.arange(PER_CELL * round(length / h)) + 0.5) * h / PER_CELL for length in size]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(size))


def manufactured_error(cells: int, *, dim: int = 2, slab: str | None = None, **numerics: object) -> float:
    """Largest L2 error of the displacement over a period, over the amplitude.

    Without `slab` the unit box between mirrors; with it, its contact at the walls across x, 4 cells of a periodic slab.
    """
    h = 1 / cells
    size = [1.0] * dim if slab is None else [1.0] + [4 * h] * (dim - 1)
    walls = "mirror" if slab is None else {"x": slab, **dict.fromkeys("yz"[: dim - 1], "periodic")}
    moves = np.ones(dim) if slab is None else np.eye(dim)[0]
    exact = Manufactured(lattice(size, h), AMPLITUDE * moves)
    scene = mpm.Scene([0] * dim, size, walls=walls, body_force=exact.body_force)
    scene.add(
        mpm.shapes.Points(exact.X, volume=(h / PER_CELL) ** dim),
        mpm.materials.NeoHookean(E=E, nu=NU, density=DENSITY),
        velocity=lambda x: exact.velocity(),
    )
    sim = mpm.Simulation(scene, dx=h, dt=0.1 * h / SPEED, history=0, **numerics)
    worst, period = 0.0, 2 / SPEED
    for _, t in sim.frames(duration=period, fps=LOOKS / period):
        error = sim.particles.x - exact.X - exact.displacement(t)
        worst = max(worst, float(np.sqrt((error**2).sum(axis=1).mean())))
    return worst / AMPLITUDE


def bar_error(cells: int, *, contact: str = "mirror", **numerics: object) -> float:
    """Largest L2 error of the displacement of a vibrating bar over a period, over its small amplitude."""
    h, amplitude, omega = 1 / cells, 1e-4, np.pi * SPEED
    x = lattice([1.0, h], h)
    scene = mpm.Scene((0, 0), (1, h), walls={"x": contact, "y": "mirror"})
    solid = mpm.materials.NeoHookean(E=E, nu=0, density=DENSITY)
    shape = np.sin(np.pi * x[:, :1]) * [1, 0]
    scene.add(
        mpm.shapes.Points(x, volume=(h / PER_CELL) ** 2), solid, velocity=lambda x: amplitude * omega * shape
    )
    sim = mpm.Simulation(scene, dx=h, dt=0.1 * h / SPEED, history=0, **numerics)
    worst, period = 0.0, 2 / SPEED
    for _, t in sim.frames(duration=period, fps=LOOKS / period):
        error = sim.particles.x - x - amplitude * np.sin(omega * t) * shape
        worst = max(worst, float(np.sqrt((error**2).sum(axis=1).mean())))
    return worst / amplitude


def orders(errors: list[float], cells: list[int]) -> list[float]:
    """Of convergence, between one number of cells and the next."""
    return [
        float(np.log(before / after) / np.log(finer / coarser))
        for before, after, coarser, finer in zip(errors, errors[1:], cells, cells[1:], strict=False)
    ]


def main() -> None:
    """Print the table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cells", nargs="*", type=int, help="along the unit length; default 8 16 32")
    cells = parser.parse_args().cells or list(CELLS)
    if len(cells) < 2 or cells[0] < 4 or cells != sorted(set(cells)):
        parser.error(f"cells = {cells}: must be two or more, ascending, >= 4")
    print("| error / amplitude | " + " | ".join(f"{n} cells" for n in cells) + " | order |")
    print("|---" * (2 + len(cells)) + "|")
    for kernel in ("quadratic", "cubic"):
        for label, error in (
            ("manufactured, mirror", lambda n, kernel: manufactured_error(n, kernel=kernel)),
            (
                "manufactured slab, mirror",
                lambda n, kernel: manufactured_error(n, slab="mirror", kernel=kernel),
            ),
            (
                "manufactured slab, sticky",
                lambda n, kernel: manufactured_error(n, slab="sticky", kernel=kernel),
            ),
            ("bar, mirror", lambda n, kernel: bar_error(n, kernel=kernel)),
            ("bar, sticky", lambda n, kernel: bar_error(n, contact="sticky", kernel=kernel)),
        ):
            errors = [error(n, kernel) for n in cells]
            row = [f"{e:.4f}" for e in errors] + [", ".join(f"{o:.2f}" for o in orders(errors, cells))]
            print(f"| {label}, {kernel} | " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
