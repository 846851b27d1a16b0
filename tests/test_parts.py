"""Colliders of many parts: near material only those are asked that can decide there, and not a bit differs."""

import functools
import operator

import numpy as np
import pytest

import mpm
from mesh_samples import sphere_mesh
from mpm import motion
from mpm.shapes import Ball, Box, Capsule, Mesh, Shape
from scenes import DIMS, DTYPES, ISAS, kernels

WATER = mpm.materials.Fluid(bulk_modulus=1e4, density=1000)

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*start inside the collider"),
    pytest.mark.filterwarnings("ignore:.*is thinner than"),
]


def pins(dim: int, count: int) -> list[Shape]:
    """Small solids of several kinds on a jittered lattice, none of which touches another."""
    rng = np.random.default_rng(count)
    side = int(np.ceil(count ** (1 / dim)))
    places = np.stack(np.meshgrid(*[np.arange(side)] * dim, indexing="ij"), axis=-1).reshape(-1, dim)[:count]
    radius = 0.22 / side
    centers = 0.1 + 0.8 * (places + rng.uniform(0.3, 0.7, places.shape)) / side
    axis = {} if dim == 2 else {"axis": (1, 2, 3)}
    return [
        (
            Ball(c, radius),
            Box(c - 0.7 * radius, c + 0.7 * radius).rotate(k % 6, about=c, **axis),
            Capsule(c - 0.4 * radius, c + 0.4 * radius, 0.5 * radius),
        )[k % 3]
        for k, c in enumerate(centers)
    ]


def run(dim, colliders, steps=25, dtype="float64", periodic=False, turning=0.0, **options):
    walls = {"x": "periodic", "y-": "mirror"} if periodic else "separate"
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0.5] * (dim - 1) + [-9.81], walls=walls)
    scene.add(Box([0.125] * dim, [0.875] * dim), WATER, velocity=[1.0] * dim)
    # All with the same reference point: it takes part in rounding.
    turns = motion.Rotation(turning, about=[0.5] * dim, axis=None if dim == 2 else (1, 2, 3))
    for shape in colliders:
        scene.add_collider(shape, friction=0.2, motion=turns)
    sim = mpm.Simulation(scene, dx=1 / 24 if dim == 2 else 1 / 12, dtype=dtype, threads=2, **options)
    sim.step(steps)
    return sim


def assert_same_particles(a, b):
    for name in ("x", "v", "C", "J"):
        assert np.array_equal(a.particles[name], b.particles[name]), name


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(
    "count", [2, 11, pytest.param(90, marks=pytest.mark.slow)]
)  # 90: several share a bit
def test_a_union_does_what_its_parts_do(dim, dtype, isa, count):
    parts = pins(dim, count)
    # Deep in a union is not deep in one of its parts.
    options = {"dtype": dtype, "particle_collisions": "surface"}
    with kernels(isa):
        one = run(dim, [functools.reduce(operator.or_, parts)], **options)
        many = run(dim, parts, **options)
    assert np.abs(one.history["impulse:collider0"]).max() > 0.1
    assert_same_particles(one, many)
    # The same impulses, added in another order: measured 2e-16 relative, in single precision 4e-8.
    apart = one.history["impulse:collider0"] - sum(many.history[f"impulse:collider{k}"] for k in range(count))
    assert (
        np.abs(apart).max()
        < {"float64": 1e-13, "float32": 1e-6}[dtype] * np.abs(one.history["impulse:collider0"]).max() * count
    )


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_differences_and_containers_are_read_in_parts_too(dim, periodic, turned):
    """Joined with something far away, a difference is one part: read as a whole, nothing is left out."""
    holes = pins(dim, 12)
    solid = functools.reduce(operator.sub, holes, Box([-1] * dim, [2] * dim))
    shape = ~(solid & Box([-1] * dim, [1.5] * dim)) if turned else solid
    far = Ball([50] * dim, 0.1)
    whole = ~(~shape | far) if turned else shape | far
    pieces, together = (run(dim, [each], periodic=periodic, turning=2.0) for each in (shape, whole))
    assert np.abs(pieces.history["impulse:collider0"]).max() > 0.1
    assert_same_particles(pieces, together)


def test_overlapping_parts_and_meshes_are_one_body():
    """The distance of a union where parts overlap, among them meshes, whose distances may be steeper than one."""
    v, f = sphere_mesh(10, 0.2)
    parts = [Mesh(vertices=np.add(v, (0.3 + 0.1 * k, 0.5, 0.3)), faces=f) for k in range(5)]
    joined = functools.reduce(operator.or_, parts)
    one = run(3, [joined], steps=20)
    nested = run(3, [(joined & Box((-1, -1, -1), (2, 2, 2))) | Ball((50, 50, 50), 0.1)], steps=20)
    assert_same_particles(one, nested)
