"""Small scenes and helpers that the tests of the core share."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import mpm
from mpm import _core
from mpm.base import config

ISAS = _core.isas()
# For tests that take long. The portable vectors are the code of the other two with shorter ones.
FEWER_ISAS = [pytest.param(isa, marks=pytest.mark.slow) if isa == "portable" else isa for isa in ISAS]
DTYPES = ("float64", "float32")
DIMS = (2, 3)
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")  # as `make asan` does
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23}

# One material per law of the registry, all with wave speeds of about 4 m/s: soft enough for large deformation.
MATERIALS = {
    "fixed_corotated": mpm.materials.FixedCorotated(E=10, nu=0.3, density=1),
    "neo_hookean": mpm.materials.NeoHookean(E=10, nu=0.3, density=1),
    "fluid": mpm.materials.Fluid(bulk_modulus=14, density=1, viscosity=0.002),
    "snow": mpm.materials.Snow(E=10, nu=0.3, density=1),
    "sand": mpm.materials.Sand(E=10, nu=0.3, density=1),
    "saint_venant_kirchhoff": mpm.materials.SaintVenantKirchhoff(E=10, nu=0.3, density=1),
    "hencky": mpm.materials.Hencky(E=10, nu=0.3, density=1),
    "corotated": mpm.materials.Corotated(E=10, nu=0.3, density=1),
    "nacc": mpm.materials.NACC(E=10, nu=0.3, density=1, consolidation=-0.05),
    "von_mises": mpm.materials.VonMises(
        E=10, nu=0.3, yield_stress=0.2, hardening=0.3, kinematic_hardening=0.5, density=1
    ),
    "drucker_prager": mpm.materials.DruckerPrager(
        E=10, nu=0.3, density=1, dilation_angle_deg=8, cohesion=0.03
    ),
    "mohr_coulomb": mpm.materials.MohrCoulomb(E=10, nu=0.3, density=1, dilation_angle_deg=8, cohesion=0.03),
    "cam_clay": mpm.materials.CamClay(
        shear_modulus=10 / 2.6,
        density=1,
        swelling=0.3,
        compression=0.6,
        critical_slope=1.2,
        attraction=2.5,
        preconsolidation=0.2,
    ),
    "mu_i": mpm.materials.MuI(E=10, nu=0.3, density=1, grain_diameter=1e-2, grain_density=1.5),
    "herschel_bulkley": mpm.materials.HerschelBulkley(
        bulk_modulus=10 / 1.2,
        shear_modulus=10 / 2.6,
        yield_stress=0.1,
        consistency=0.05,
        exponent=0.7,
        density=1,
    ),
    "viscoelastic": mpm.materials.Viscoelastic(
        E=10, nu=0.3, density=1, g_1=0.4, tau_1=0.05, g_2=0.2, tau_2=0.5
    ),
    "mooney_rivlin": mpm.materials.MooneyRivlin(
        c10=1.6, c01=10 / 5.2 - 1.6, bulk_modulus=10 / 1.2, density=1
    ),
    "ogden": mpm.materials.Ogden(
        mu_1=3, alpha_1=1.5, mu_2=-1, alpha_2=4.5 - 20 / 2.6, bulk_modulus=10 / 1.2, density=1
    ),
    "fibre_reinforced": mpm.materials.FibreReinforced(
        E=8, nu=0.3, k_1=0.6, k_2=0.2, direction=(1, 1, 0.5), density=1
    ),
    "johnson_cook": mpm.materials.JohnsonCook(
        A=0.2,
        B=0.3,
        n=0.5,
        C=0.02,
        m=0.9,
        shear_modulus=10 / 2.6,
        sound_speed=(10 / 1.2) ** 0.5,
        s=1.5,
        grueneisen=0.5,
        specific_heat=1e-3,
        melting_temperature=900,
        density=1,
    ),
    "rigid": mpm.materials.Rigid(density=1),
    "brittle": mpm.materials.Brittle(
        E=10, nu=0.3, density=1, tensile_strength=0.2, fracture_energy=5e-3, crack_band=0.3
    ),
}
MATERIALS |= {
    "von_mises_fracture": replace(
        MATERIALS["von_mises"], fracture_strain=0.02, fracture_energy=5e-3, crack_band=0.3
    ),
    "johnson_cook_fracture": replace(
        MATERIALS["johnson_cook"],
        D1=0.01,
        D2=0.02,
        D3=-1.5,
        D4=0.01,
        D5=0.5,
        fracture_energy=5e-3,
        crack_band=0.3,
    ),
    "drucker_prager_fracture": replace(
        MATERIALS["drucker_prager"], cohesion=0.05, tension=0.04, fracture_energy=2e-3, crack_band=0.3
    ),
}
LAWS = tuple(MATERIALS)
# A rigid body has no energy, no modulus, no wave and no stress that follows from its strain; it takes a rigid motion
# from the velocities that it is given. Tests of all these are tests of the other laws; test_rigid.py has its own.
DEFORMABLE = tuple(law for law in LAWS if law != "rigid")
# Laws whose return map is not idempotent: why, and the largest change of F and of the history by a second return, over
# the strain of the step.
EXPLICIT_HARDENING = {
    "nacc": ("moves its surface after it has returned, as in the paper", 4.0),  # measured 2.7
    "drucker_prager_fracture": ("has the strength of the beginning of a step", 4.0),
}


@contextlib.contextmanager
def kernels(isa: str) -> Iterator[None]:
    """Simulations created inside use this kernel set, as if MPM_ISA had named it."""
    before = config._config.isa
    config._config.isa = isa
    try:
        yield
    finally:
        config._config.isa = before


def jittered(dim: int, side: int, spacing: float, seed: int = 0) -> np.ndarray:
    """side^dim positions from 0 on, one at random in each cell of the given size."""
    cells = np.stack(np.meshgrid(*[np.arange(side)] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    return (cells + np.random.default_rng(seed).random(cells.shape)) * spacing


def swirl(x: np.ndarray) -> np.ndarray:
    """A smooth velocity field with drift, shear and compression in it."""
    drift = np.array([0.3, 0.2, -0.1])[: x.shape[1]]
    return drift + 0.2 * np.sin(9 * x[:, ::-1])


def free_body(dim: int, law: str = "neo_hookean", side: int = 24, h: float = 1 / 32, **numerics):
    """side^dim particles, random in sub-cells of h/2 and of random mass, flying and spinning through free space."""
    scene = mpm.Scene([-1] * dim, [1] * dim)
    x = jittered(dim, side, h / 2) - 0.2
    volume = (h / 2) ** dim * np.random.default_rng(1).uniform(0.5, 1.5, len(x))
    spin = 1.5 if dim == 2 else (0.5, -1.0, 1.5)
    scene.add(
        mpm.shapes.Points(x, volume=volume), MATERIALS[law], velocity=swirl, angular_velocity=spin, name=law
    )
    return mpm.Simulation(scene, dx=h, **numerics)


def three_materials(dim: int, cells: int = 16, **numerics):
    """Two solids and a fluid in a box with gravity and one-sided walls: they collide with it and with each other.

    Particles are jittered, so that none is the mirror image of another."""
    scene = mpm.Scene(
        [-0.5] * dim, [0.5] * dim, gravity=[0.5] * (dim - 1) + [-9.81], walls="separate", friction=0.2
    )
    for number, law in enumerate(("fixed_corotated", "neo_hookean", "fluid")):
        low = [-0.45 + 0.3 * number] + [-0.3] * (dim - 1)
        box = mpm.shapes.Box(low, [a + b for a, b in zip(low, [0.25] + [0.4] * (dim - 1), strict=True)])
        scene.add(
            box,
            MATERIALS[law],
            velocity=[1.0 - number] * dim,
            angular_velocity=1.0 if dim == 2 else (1, 0, 1),
        )
    return mpm.Simulation(scene, **{"dx": 1 / cells, "sampling": "stratified", **numerics})


def single(x, material=None, v=0, volume=1.0, h=1.0, lower=0.0, upper=16.0, **numerics):
    """One particle at x in a cubic domain."""
    scene = mpm.Scene([lower] * len(x), [upper] * len(x))
    scene.add(
        mpm.shapes.Points([x], volume=volume * h ** len(x)), material or MATERIALS["neo_hookean"], velocity=v
    )
    return mpm.Simulation(scene, dx=h, **numerics)


def crushed(dtype="float64"):
    """A fluid particle whose volume ratio leaves the law's range in a step that is taken."""
    scene = mpm.Scene([0, 0], [16, 16])
    x = np.array([[3.0, 3.0], [8.0, 8.0], [12.0, 12.0]])
    scene.add(
        mpm.shapes.Points(x, volume="per-cell"), mpm.materials.Fluid(bulk_modulus=1e-9, density=1, gamma=1)
    )
    sim = mpm.Simulation(scene, dx=1, dtype=dtype, dt=0.5)
    sim.particles.J = [1, 0.011, 1]
    C = np.zeros((3, 2, 2))
    C[1] = -np.eye(2)
    sim.particles.C = C
    return sim


def numpy_totals(sim) -> dict[str, np.ndarray]:
    """Conserved quantities computed anew from the arrays, with the affine terms of quadratic B-splines."""
    p, d = sim.particles, sim.dimension
    m, x, v, C = (np.asarray(p[name], dtype=np.float64) for name in ("mass", "x", "v", "C"))
    quarter = sim.dx**2 / 4
    axes = [(0, 1)] if d == 2 else [(1, 2), (2, 0), (0, 1)]
    spin = [
        (m * (x[:, a] * v[:, b] - x[:, b] * v[:, a] + quarter * (C[:, b, a] - C[:, a, b]))).sum()
        for a, b in axes
    ]
    return {
        "mass": m.sum(),
        "momentum": m @ v,
        "center_of_mass": m @ x / m.sum(),
        "angular_momentum": np.array(spin) if d == 3 else spin[0],
        "kinetic": 0.5 * (m * ((v**2).sum(axis=1) + quarter * (C**2).sum(axis=(1, 2)))).sum(),
    }
