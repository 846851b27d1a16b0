"""Bodies, laws and decorators that tests of finite elements share."""

import numpy as np
import pytest

import mpm
from loops import each
from mpm import _core, fem

M = mpm.materials
ISAS = _core.isas()
LAWS = {
    "corotated": M.Corotated(E=1e4, nu=0.3, density=1000),
    "fixed_corotated": M.FixedCorotated(E=1e4, nu=0.3, density=1000),
    "neo_hookean": M.NeoHookean(E=1e4, nu=0.3, density=1000),
    "saint_venant_kirchhoff": M.SaintVenantKirchhoff(E=1e4, nu=0.3, density=1000),
    "hencky": M.Hencky(E=1e4, nu=0.3, density=1000),
    "mooney_rivlin": M.MooneyRivlin(c10=1500, c01=400, bulk_modulus=9000, density=1000),
    "ogden": M.Ogden(mu_1=3e3, alpha_1=1.5, mu_2=-800, alpha_2=-2, bulk_modulus=9000, density=1000),
    "fibre_reinforced": M.FibreReinforced(
        E=1e4, nu=0.3, k_1=3e3, k_2=0.5, direction=(1, 2, 0.5), density=1000
    ),
}
INVERTIBLE = ("corotated", "fixed_corotated", "saint_venant_kirchhoff")
every_law = pytest.mark.parametrize("law", LAWS)
every_dim = each("d", [2, 3])
every_isa = each("isa", ISAS)


def scene_of(d, material, shape=None, size=10.0, **options):
    scene = mpm.Scene([-size] * d, [size] * d, **options)
    scene.add(mpm.shapes.Box([0] * d, [1] * d) if shape is None else shape, material)
    return scene


def irregular(d, cells=3, seed=0, jitter=0.2):
    """A box whose inner vertices are moved at random."""
    made = fem.mesh(mpm.shapes.Box([0] * d, [1] * d), 1 / cells)
    inside = ((made.vertices > 0) & (made.vertices < 1)).all(axis=1)
    shift = np.random.default_rng(seed).uniform(-jitter, jitter, made.vertices.shape) / cells
    return mpm.shapes.Cells(made.vertices + inside[:, None] * shift, made.cells), inside


def deformed(sim, F, shift=0.0):
    sim.particles.x[:] = sim.particles.x @ np.asarray(F).T + shift


def turned(d, angle=1.0):
    q, r = np.linalg.qr(np.random.default_rng(3).normal(size=(d, d)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q[:, ::-1]


def busy(d=3, spacing=16, **options):
    scene = mpm.Scene([0] * d, [2] * d, gravity=[0] * (d - 1) + [-9.81])
    scene.add(mpm.shapes.Box([0.5] * d, [1.0] * d), LAWS["fixed_corotated"], velocity=[0.3] * d, name="box")
    scene.add(mpm.shapes.Ball([1.5] * d, 0.3), LAWS["neo_hookean"], velocity=[-0.3] * d)
    scene.add_collider(
        mpm.shapes.Ball([0.8] * (d - 1) + [0.2], 0.29), contact="separate", friction=0.3, name="ball"
    )
    return fem.Simulation(scene, spacing=1 / spacing, **options)
