"""Values of particles at any points, as the grid has them."""

import itertools

import numpy as np
import pytest

import mpm
from loops import each
from mpm.mpm import interpolation

SOLID = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)
every_dim = each("d", [2, 3])
every_kernel = each("kernel", ["linear", "quadratic", "cubic"])


def filled(d, dx=0.125, walls="slip", shape=None, **options):
    scene = mpm.Scene([0] * d, [1] * d, walls=walls)
    scene.add(mpm.shapes.Box([0] * d, [1] * d) if shape is None else shape, SOLID)
    return mpm.Simulation(scene, dx=dx, dt=1e-4, **options)


def points_in(d, low=0.0, high=1.0, count=300):
    return np.random.default_rng(1).uniform(low, high, (count, d))


@every_dim
@each("dtype", ["float64", "float32"])
@every_kernel
def test_a_constant_is_kept_and_nodes_get_what_the_grid_has(d, dtype, kernel):
    """Up to the surface; beyond the reach of the kernel nothing is."""
    ball = mpm.shapes.Ball([0.5] * d, 0.25)
    sim = filled(d, shape=ball, dtype=dtype, kernel=kernel, transfer="pic", gradient="bspline")
    sim.particles.v[:] = np.arange(1, d + 1)
    points = points_in(d)
    distance = np.linalg.norm(points - 0.5, axis=1) - 0.25
    v = sim.interpolate("v", points)
    assert v.shape == (300, d) and v.dtype == np.float64
    there = np.isfinite(v).all(axis=1)
    assert there[distance < 0].all() and not there[distance > np.sqrt(d) * 0.25].any()
    assert np.abs(v[there] - np.arange(1, d + 1)).max() < 1e-14  # measured: 1.3e-15
    # PIC: the velocity of the grid after a step without forces is that at its beginning.
    sim.particles.v[:] = sim.particles.x[:, ::-1] ** 2
    other = mpm.Simulation(
        sim.scene, dx=0.125, dt=1e-9, dtype=dtype, kernel=kernel, transfer="pic", gradient="bspline"
    )
    other.particles.v[:] = sim.particles.v
    other.step()
    heavy = other.grid.mass > 1e-6 * other.grid.mass.max()
    found = sim.interpolate("v", other.grid.x)[heavy]
    tolerance = {"float64": 1e-13, "float32": 1e-5}[dtype]  # measured: 2e-15, 8e-7
    assert np.abs(found - other.grid.v[heavy]).max() < tolerance


@every_dim
@every_kernel
@each("sampling, error", [("lattice", 1e-13), ("stratified", 0.2)])
def test_a_linear_field_is_kept_to_the_accuracy_of_the_kernel(d, kernel, sampling, error):
    """Inside, in cells: to round-off on lattices, whose first moment about any point is 0; else as the disorder is.
    Measured: 2e-15; 0.13."""
    sim = filled(d, kernel=kernel, gradient="bspline", sampling=sampling, particles_per_cell=2**d)
    G = np.random.default_rng(0).normal(size=(d, d))
    sim.particles.v[:] = sim.particles.x @ G.T
    points = points_in(d, 0.25, 0.75)
    found = sim.interpolate("v", points) - points @ G.T
    assert np.abs(found).max() < error * 0.125 * np.abs(G).sum(axis=1).max()


def brute(points, x, mass, values, dx, kind):
    w = interpolation.kernel((x[None] - points[:, None]) / dx, kind).prod(axis=2) * mass
    with np.errstate(invalid="ignore"):
        return w @ values / w.sum(axis=1)[:, None]


@every_dim
@every_kernel
def test_the_sums_are_those_of_all_pairs(d, kernel):
    """Of scattered and clumped particles, some without mass; points on particles, far away and outside."""
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(0, 1, (60, d)), 0.3 + 0.01 * rng.uniform(0, 1, (60, d))])
    mass = rng.uniform(0.5, 2, len(x)) * (rng.uniform(0, 1, len(x)) > 0.2)
    values = rng.normal(size=(len(x), 2))
    points = np.concatenate([x[::7], rng.uniform(-0.5, 1.5, (200, d)), np.full((1, d), 1e9)])
    found = interpolation.at_points(points, x, mass, values, dx=0.1, kind=kernel)
    wanted = brute(points, x, mass, values, 0.1, kernel)
    assert np.array_equal(np.isnan(found), np.isnan(wanted)) and np.isnan(found[-1]).all()
    assert np.isnan(
        interpolation.at_points(np.full((1, d), 1e300), x, mass, values, dx=0.1, kind=kernel)
    ).all()
    assert np.nanmax(np.abs(found - wanted)) < 1e-12  # measured: 2e-15


@every_dim
def test_mirror_and_periodic_walls_continue_the_particles(d):
    """A field with the symmetry of the walls is interpolated at them as inside; tensors change signs as vectors do."""
    walls = {"x-": "mirror", "x+": "mirror", "y-": "periodic", "y+": "periodic"}
    sim = filled(d, walls=walls, dx=0.0625, sampling="lattice", particles_per_cell=2**d)

    def field(x):
        v = np.zeros_like(x)
        v[:, 0] = np.sin(np.pi * x[:, 0])
        v[:, 1] = np.cos(np.pi * x[:, 0]) * np.sin(2 * np.pi * x[:, 1])
        return v

    sim.particles.v[:] = field(sim.particles.x)
    points = points_in(d)
    points[:100, 0], points[100:200, 1] = 0, 0
    if d == 3:
        points[:, 2] = 0.2 + 0.6 * points[:, 2]
    error = np.abs(sim.interpolate("v", points) - field(points)).max(axis=1)
    assert error.max() < 0.03  # measured: 0.024, of the kernel's second moment: (pi² + 4 pi²) dx²/8
    assert sim.interpolate("v", points[:100])[:, 0] == pytest.approx(0, abs=1e-13)
    sim.particles.F[:, 0, 1] = 0.25
    assert sim.interpolate("F", points[:100])[:, 0, 1] == pytest.approx(0, abs=1e-13)
    assert sim.interpolate("stress", points).shape == (300, d, d)
    x = sim.interpolate("x", points)
    assert np.abs(x - points)[:, :2].max() < 1e-14  # images have positions of their own; measured: 4e-16


def test_particles_that_wait_to_be_deleted_have_no_part():
    sim = filled(2, shape=mpm.shapes.Box((0.25, 0.25), (0.5, 0.5)), on_leave="delete")
    sim.particles.delete(slice(None))
    assert (
        np.isnan(sim.interpolate("v", [(0.3, 0.3)])).all()
        and len(sim.interpolate("J", np.zeros((0, 2)))) == 0
    )
    for name, value in itertools.product(("grad", 3), ((0.5, 0.5),)):
        with pytest.raises((ValueError, TypeError)):
            sim.interpolate(name, [value])
