"""Fibre-reinforced solids in finite elements: bars under tension against the point driver, and products with K."""

import numpy as np
import pytest

import mpm
from fem_scenes import M, every_dim, every_isa, irregular, scene_of
from loops import each
from mpm import fem
from scenes import kernels

STRETCH = 1.2
DIRECTIONS = {"along": (1, 0, 0), "across": (0, 1, 0)}
IMPLICIT = {"integrator": "linearly-implicit-euler"}


def tissue(direction, **parameters):
    return M.FibreReinforced(
        **{"E": 1e4, "nu": 0.3, "k_1": 2e4, "k_2": 0.5, "density": 1000} | parameters, direction=direction
    )


def pulled(d, material, **options):
    """A bar from slipping walls at x = 0, y = 0, z = 0; a slipping grip pulls its end to STRETCH in 0.2 s."""
    scene = mpm.Scene([0] * d, [2] * d, walls="slip")
    scene.add(mpm.shapes.Box([0] * d, [1] + [0.5] * (d - 1)), material)
    scene.add_collider(
        mpm.shapes.Box([0.97] + [-3] * (d - 1), [1.9] + [3] * (d - 1)),
        contact="slip",
        motion=mpm.motion.Keyframes([0, 0.2], [[0.0] * d, [STRETCH - 1] + [0.0] * (d - 1)]),
        name="grip",
    )
    return fem.Simulation(scene, spacing=0.25, **options)


@every_dim
@each("dtype", ["float64", "float32"])
@each("direction", DIRECTIONS)
def test_a_bar_under_tension_is_a_material_point(d, dtype, direction):
    material = tissue(DIRECTIONS[direction])
    sim = pulled(d, material, dtype=dtype, dt=1e-2, damping=(0, 0.05), tolerance=1e-6, **IMPLICIT)
    sim.run(6.0)
    point = mpm.point.uniaxial_stress(material, stretch=STRETCH, dimension=d)
    F = sim.elements.F
    room = 1e-5 if dtype == "float64" else 1e-4
    assert np.abs(F - point.F[-1][:d, :d]).max() < room  # 2e-6, 2e-6
    pull = sim.history["impulse:grip"][-1, 0] / sim.dt
    nominal = point.axial_stress[-1] * point.J[-1] / STRETCH * 0.5 ** (d - 1)
    assert pull == pytest.approx(nominal, rel=5 * room)  # 8e-6, 8e-6


@every_dim
def test_explicit_bars_come_to_the_same_rest(d):
    material = tissue((2, 1, 0))  # the grip lets the end slide, so the bar shears
    implicit = pulled(d, material, dt=1e-2, damping=(0, 0.05), tolerance=1e-6, **IMPLICIT)
    explicit = pulled(d, material, damping=(30.0, 0.0))
    implicit.run(6.0)
    explicit.run(4.0)
    assert np.abs(explicit.elements.F[:, 0, 1]).max() > 0.2
    assert np.abs(implicit.particles.x - explicit.particles.x).max() < 1e-6  # 1e-7


def stretched(d, **options):
    """A box whose fibres are taut in every element, not at rest; and where its nodes are."""
    shape, _ = irregular(d)
    sim = fem.Simulation(scene_of(d, tissue((1, 2, 0.5)), shape), **options)
    x = shape.vertices * 1.2 + 0.02 * np.sin(3 * shape.vertices[:, ::-1])
    sim.particles.x[:] = x
    return sim, x


@every_dim
@every_isa
def test_the_stiffness_of_stretched_fibres_is_the_derivative_of_their_force(d, isa):
    """One step of tiny size: M dv = dt (f - dt K v'). The stiffness of stretched elements is nowhere projected."""
    v = 1e-2 * np.random.default_rng(2).uniform(-1, 1, irregular(d)[0].vertices.shape)
    dt, h = 1e-3, 1e-4
    with kernels(isa):
        sim, x = stretched(d, dt=dt, tolerance=1e-12, **IMPLICIT)
        other, _ = stretched(d)
        sim.particles.v[:] = v
        f = sim.forces()
        sim.step()
        after = np.array(sim.particles.v)
        sides = []
        for shift in (h, -h):
            other.particles.x[:] = x + shift * after
            sides.append(other.forces())
    Kv = -(sides[0] - sides[1]) / (2 * h)
    change = (f - sim.particles.mass[:, None] * (after - v) / dt) / dt
    np.testing.assert_allclose(change, Kv, atol=2e-7 * np.abs(Kv).max())  # 3e-8


@every_dim
@every_isa
def test_the_blocks_of_the_diagonal_are_those_of_the_stiffness(d, isa):
    """Where all nodes but one are held, the preconditioner is the system: a solve takes one product."""
    x = np.concatenate([np.eye(d), np.full((1, d), 0.9)])
    scene = scene_of(d, tissue((1, 2, 0.5)), mpm.shapes.Cells(x, [[0, 2, 1]] if d == 2 else [[0, 1, 2, 3]]))
    scene.add_collider(~mpm.shapes.Ball([0.9] * d, 0.3), contact="sticky", name="rest")
    with kernels(isa):
        sim = fem.Simulation(scene, spacing=1.0, dt=0.05, tolerance=1e-10, **IMPLICIT)
    sim.particles.x[d] += 0.1
    sim.particles.v[d] = np.arange(1, d + 1) / 5
    sim.step()
    assert (sim.particles.x[:d] == x[:d]).all() and sim.health["products"] == 1
