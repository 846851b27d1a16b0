"""Every transfer at mirrors, at periodic faces and at colliders."""

from __future__ import annotations

import numpy as np
import pytest

import mpm
import scenes
from loops import each
from mpm.mpm import numerics
from schemes import SCHEMES, VARIANTS, size

# --- mirrors and periodic faces --------------------------------------------------------------------------------------


@each("scheme", SCHEMES + VARIANTS)
@pytest.mark.parametrize("dim", scenes.DIMS)
def test_half_a_body_at_a_mirror_is_the_whole(dim, scheme):
    half = scenes.jittered(dim, 6 if dim == 2 else 4, 1 / 32) * 1.0
    flip = np.ones(dim)
    flip[0] = -1

    def velocity(x):
        v = scenes.swirl(np.abs(x))
        v[:, 0] *= -np.sign(x[:, 0])
        return v

    def run(x, lower, walls):
        scene = mpm.Scene(lower, [1] * dim, gravity=[0] * (dim - 1) + [-1], walls=walls)
        scene.add(mpm.shapes.Points(x, volume="per-cell"), scenes.MATERIALS["neo_hookean"], velocity=velocity)
        sim = mpm.Simulation(scene, dx=1 / 16, dt=5e-4, allow_unstable=True, **scheme)
        # Later a particle comes so close to a node that the linear kernel leaves the next one hardly any mass: the
        # round-off of that node's velocity grows by the inverse, to 6e-12 with AVX2.
        sim.step(10 if scheme.get("kernel") == "linear" else 40)
        return sim

    whole = run(np.concatenate([half, half * flip]), [-1] * dim, "slip")
    cut = run(half, [0] + [-1] * (dim - 1), {"x-": "mirror"})
    n = len(half)
    for name in ("x", "v", "F"):  # measured 2e-14
        difference = size(whole.particles[name][:n] - cut.particles[name])
        assert difference <= 1e-12 * max(1, size(cut.particles[name])), name
    impulse = cut.history["wall_impulse"].sum(axis=0)
    start = (cut.particles.mass[:, None] * velocity(half)).sum(axis=0)
    kept = cut.totals().momentum - start - cut.time * cut.totals().mass * cut.scene.gravity
    assert size(kept - impulse) <= 1e-12 * size(start)
    assert impulse[0] > 0


@each("scheme", SCHEMES)
@pytest.mark.parametrize("dim", scenes.DIMS)
def test_nothing_shows_where_a_periodic_domain_is_cut(dim, scheme):
    """A body across the faces moves as one in the middle."""
    x = scenes.jittered(dim, 6 if dim == 2 else 4, 1 / 32)

    def run(shift):
        scene = mpm.Scene([0] * dim, [13 / 16] * dim, walls="periodic")
        places = np.mod(x + shift / 16, 13 / 16)
        scene.add(
            mpm.shapes.Points(places, volume="per-cell"),
            scenes.MATERIALS["neo_hookean"],
            velocity=lambda _: scenes.swirl(x),
        )
        sim = mpm.Simulation(scene, dx=1 / 16, dt=5e-4, **scheme)
        sim.step(40)
        return sim

    middle, across = run(4), run(12)
    for name in ("v", "F", "C"):
        a, b = middle.particles[name], across.particles[name]
        assert size(a - b) <= 1e-10 * max(1, size(a)), name  # measured 1e-12 in C, 1e-14 in v and F
    assert size(across.totals().momentum - middle.totals().momentum) <= 1e-13


@pytest.mark.parametrize("walls", ["mirror", "periodic"])
@each("kernel", numerics.KERNELS)
def test_volumes_at_images_are_those_of_the_inside(kernel, walls):
    scene = mpm.Scene([0, 0], [0.5, 0.5], walls=walls)
    scene.add(mpm.shapes.Box([0, 0], [0.5, 0.5]), scenes.MATERIALS["neo_hookean"])
    options = {"dx": 1 / 16, "sampling": "lattice", "kernel": kernel, "gradient": "bspline"}
    sim = mpm.Simulation(scene, volume="grid-density", **options)
    np.testing.assert_allclose(sim.particles.volume, 1 / 32**2, rtol=1e-13)


# --- colliders -------------------------------------------------------------------------------------------------------


def pushed(dim: int, walls, lower, **scheme) -> mpm.Simulation:
    """A block between a moving ball and an oblique floor of which the domain shows a part."""
    scene = mpm.Scene(lower, [1] * dim, gravity=[0] * (dim - 1) + [-2], walls=walls)
    x = scenes.jittered(dim, 8 if dim == 2 else 5, 1 / 32) + np.array([0.0] + [0.1] * (dim - 1))
    if lower[0] < 0:
        x = np.concatenate([x, x * np.array([-1] + [1] * (dim - 1))])
    scene.add(mpm.shapes.Points(x, volume="per-cell"), scenes.MATERIALS["neo_hookean"])
    up = [0] * (dim - 1) + [1]
    scene.add_collider(mpm.shapes.HalfSpace([0] * (dim - 1) + [0.12], up), friction=0.3, name="floor")
    ball = mpm.shapes.Ball([0.0] + [0.2] * (dim - 2) + [0.5], 0.15)
    down = mpm.motion.Linear([0] * (dim - 1) + [-1.0])
    scene.add_collider(ball, contact="sticky", motion=down, name="ball")
    return mpm.Simulation(scene, dx=1 / 16, dt=4e-4, allow_unstable=True, **scheme)


@each("scheme", SCHEMES + VARIANTS)
@pytest.mark.parametrize("walls", ["slip", "mirror", "periodic"])
@pytest.mark.parametrize("dim", scenes.DIMS)
def test_the_budget_closes_with_colliders(dim, walls, scheme):
    sim = pushed(dim, {"x": walls}, [0] * dim, **scheme)
    sim.step(150)
    history, total = sim.history, sim.totals()
    impulse = history["wall_impulse"] + history["impulse:floor"] + history["impulse:ball"]
    given = impulse.sum(axis=0) + total.time * total.mass * sim.scene.gravity
    scale = total.mass * 1.0  # the ball's speed
    assert size(total.momentum - given) <= 1e-12 * scale  # measured 2e-15
    assert size(history["impulse:ball"].sum(axis=0)) > 1e-5 * scale
    assert size(history["impulse:floor"].sum(axis=0)) > 1e-5 * scale


@each("scheme", SCHEMES + VARIANTS)
@pytest.mark.parametrize("dim", scenes.DIMS)
def test_a_mirror_mirrors_colliders(dim, scheme):
    """Half of a symmetric scene, with half of the collider, does what the whole does; each half bears half."""
    whole = pushed(dim, "slip", [-1] + [0] * (dim - 1), **scheme)
    half = pushed(dim, {"x-": "mirror"}, [0] * dim, **scheme)
    for sim in (whole, half):
        sim.step(150)
    n = len(half.particles)
    for name in ("x", "v"):
        assert size(whole.particles[name][:n] - half.particles[name]) <= 1e-10, name  # measured 1e-13
    for name in ("impulse:ball", "impulse:floor"):
        one, other = whole.history[name].sum(axis=0), half.history[name].sum(axis=0)
        assert abs(one[0]) <= 1e-12  # each half's part of it cancels the other's
        assert size(one[1:] / 2 - other[1:]) <= 1e-10 * size(one), name


@each("kernel", numerics.KERNELS)
@pytest.mark.parametrize("dim", scenes.DIMS)
def test_a_collider_reaches_across_a_periodic_face(dim, kernel):
    """The same collision in the middle of a periodic domain and across its faces."""

    def run(shift):
        scene = mpm.Scene([0] * dim, [1] * dim, walls={"x": "periodic"})
        move = np.array([shift / 16] + [0] * (dim - 1))
        x = scenes.jittered(dim, 6, 1 / 32) + np.array([0.2] + [0.3] * (dim - 1)) + move
        scene.add(
            mpm.shapes.Points(np.mod(x, 1), volume="per-cell"),
            scenes.MATERIALS["neo_hookean"],
            velocity=[1] + [0] * (dim - 1),
        )
        centre = np.array([0.55] + [0.4] * (dim - 1)) + move
        for k in (-1, 0) if centre[0] > 1 - 0.12 else (0,):  # a body is where it is: its image is another
            ball = mpm.shapes.Ball(centre + np.array([k] + [0] * (dim - 1)), 0.12)
            scene.add_collider(ball, name=f"ball{k}")
        sim = mpm.Simulation(scene, dx=1 / 16, dt=1e-3, kernel=kernel, gradient="bspline")
        sim.step(250)
        return sim

    middle, across = run(2), run(8)
    difference = across.particles.x - middle.particles.x - np.array([6 / 16] + [0] * (dim - 1))
    difference -= np.rint(difference)
    assert size(difference) <= 1e-8  # measured 2e-10, with the linear kernel
    assert size(across.particles.v - middle.particles.v) <= 1e-7
    assert middle.particles.v[:, 0].min() < 0  # it has bounced
