"""Linear finite elements: forces, bound of the time step, books, promises of every solver; `benchmarks/methods.py fem`
prints accuracy and speed."""

import copy
import itertools
import math
import pickle
import warnings

import numpy as np
import pytest

import mpm
from loops import each
from mpm import _core, fem
from scenes import kernels

M = mpm.materials
ISAS = _core.isas()
LAWS = {
    "corotated": M.Corotated(E=1e4, nu=0.3, density=1000),
    "fixed_corotated": M.FixedCorotated(E=1e4, nu=0.3, density=1000),
    "neo_hookean": M.NeoHookean(E=1e4, nu=0.3, density=1000),
    "saint_venant_kirchhoff": M.SaintVenantKirchhoff(E=1e4, nu=0.3, density=1000),
    "hencky": M.Hencky(E=1e4, nu=0.3, density=1000),
    "mooney_rivlin": M.MooneyRivlin(c10=1500, c01=400, bulk_modulus=9000, density=1000),
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


# --- forces ----------------------------------------------------------------------------------------------------------


@every_law
@every_dim
@every_isa
def test_rigid_motion_has_no_forces(law, d, isa):
    shape, _ = irregular(d)
    with kernels(isa):
        sim = fem.Simulation(scene_of(d, LAWS[law], shape))
    deformed(sim, turned(d), 0.7)
    assert np.abs(sim.forces()).max() < 1e-12 * 1e4  # 1e-15 of E A, measured: 2e-12 N
    assert abs(sim.totals().elastic) < 1e-22 * 1e4 + 1e-12


@every_law
@every_dim
@every_isa
def test_forces_and_torques_sum_to_zero(law, d, isa):
    shape, _ = irregular(d)
    with kernels(isa):
        sim = fem.Simulation(scene_of(d, LAWS[law], shape))
    x = sim.particles.x
    x += np.random.default_rng(1).uniform(-0.03, 0.03, x.shape)
    f = sim.forces()
    scale = np.abs(f).sum()
    torque = [(x[:, a] * f[:, b] - x[:, b] * f[:, a]).sum() for a, b in itertools.combinations(range(d), 2)]
    assert np.abs(f.sum(axis=0)).max() < 1e-14 * scale  # measured: 4e-17
    assert np.abs(torque).max() < 1e-14 * scale


def energy_differences(sim, x, rows, step):
    """-dE/dx of some coordinates (row, axis), by central differences of fourth order."""
    found = []
    for row, axis in rows:
        at = {}
        for k in (-2, -1, 1, 2):
            sim.particles.x[:] = x
            sim.particles.x[row, axis] += k * step
            at[k] = sim.totals().elastic
        found.append(-(8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step))
    sim.particles.x[:] = x
    return np.array(found)


@every_law
@every_dim
def test_forces_are_derivatives_of_the_energy(law, d):
    shape, _ = irregular(d, cells=2, jitter=0.1)
    sim = fem.Simulation(scene_of(d, LAWS[law], shape))
    rng = np.random.default_rng(2)
    x = sim.particles.x @ (np.eye(d) + 0.2 * rng.uniform(-1, 1, (d, d))).T + rng.uniform(
        -0.05, 0.05, sim.particles.x.shape
    )
    sim.particles.x[:] = x
    rows = [(row, axis) for row in range(0, len(x), 3) for axis in range(d)]
    f = sim.forces()
    expected = energy_differences(sim, x, rows, 1e-4)
    assert np.abs([f[r] for r in rows] - expected).max() < 1e-7 * np.abs(f).max()  # measured: 3e-9


@pytest.mark.parametrize("law", INVERTIBLE)
@every_dim
@every_isa
def test_forces_of_inverted_elements_are_derivatives_too(law, d, isa):
    x = np.concatenate([np.zeros((1, d)), np.eye(d)])
    cells = mpm.shapes.Cells(x, [list(range(d + 1))])
    with kernels(isa):
        sim = fem.Simulation(scene_of(d, LAWS[law], cells))
    x = x @ turned(d).T
    x[0] += 1.3 * (x[1:].mean(axis=0) - x[0])
    x += np.random.default_rng(5).uniform(-0.1, 0.1, x.shape)
    sim.particles.x[:] = x
    assert sim.elements.J[0] < -0.1
    rows = [(row, axis) for row in range(d + 1) for axis in range(d)]
    f = sim.forces()
    assert (
        np.abs([f[r] for r in rows] - energy_differences(sim, x, rows, 1e-4)).max() < 1e-7 * np.abs(f).max()
    )


@every_law
@every_dim
def test_the_patch_test_is_exact(law, d):
    """Under a linear displacement, the nodes inside an irregular mesh have no force, and every element the stress."""
    shape, inside = irregular(d, cells=4)
    sim = fem.Simulation(scene_of(d, LAWS[law], shape))
    F = np.eye(d) + 0.1 * np.random.default_rng(4).uniform(-1, 1, (d, d))
    deformed(sim, F, 0.2)
    f = sim.forces()
    assert inside.sum() > 8 and np.abs(f[inside]).max() < 1e-10 * np.abs(f).max()  # measured: 2e-14
    stress = LAWS[law].stress(F[None])[0] @ F.T / np.linalg.det(F)  # Cauchy from first Piola-Kirchhoff
    assert np.allclose(sim.compute("stress", on="elements"), stress, rtol=1e-10)
    assert np.allclose(sim.compute("stress"), stress, rtol=1e-10)


@pytest.mark.parametrize("law", ["corotated", "fixed_corotated"])
@every_dim
def test_a_body_that_is_turned_inside_out_comes_back(law, d):
    x = np.concatenate([np.zeros((1, d)), np.eye(d)])
    first = mpm.shapes.Cells(x, [list(range(d + 1))])
    sim = fem.Simulation(scene_of(d, LAWS[law], first), damping=(3.0, 0.0))
    sim.particles.x[0] = 2 * x[1:].mean(axis=0) + 0.01 * np.arange(d)
    assert sim.elements.J[0] < 0
    sim.run(6.0)
    assert sim.elements.J[0] == pytest.approx(1, abs=1e-3) and sim.totals().elastic < 1e-3


@every_law
def test_lanes_and_precisions_agree(law):
    """The slowest kernels, scalar where they are built, are the oracle of all others."""
    for d in (2, 3):
        shape, _ = irregular(d, cells=5)
        found = {}
        for isa, dtype in itertools.product(ISAS, ("float64", "float32")):
            with kernels(isa):
                sim = fem.Simulation(scene_of(d, LAWS[law], shape), dtype=dtype, damping=(0, 1e-3))
            sim.particles.x[:] += 0.02 * np.sin(5 * sim.particles.x[:, ::-1])
            sim.particles.v[:] = np.cos(3 * sim.particles.x)
            found[isa, dtype] = sim.forces(), sim.totals().elastic, sim.stable_dt().dt
        expected = found[ISAS[0], "float64"]
        for (_, dtype), (f, energy, dt) in found.items():
            room = 1e-13 if dtype == "float64" else 2e-5
            assert np.abs(f - expected[0]).max() < 10 * room * np.abs(f).max()  # measured: 2e-15, 3e-6
            assert energy == pytest.approx(expected[1], rel=room) and dt == pytest.approx(
                expected[2], rel=room
            )


# --- steps -----------------------------------------------------------------------------------------------------------


def true_limit(sim, rounds=300):
    """2/omega_max at rest, by power iteration with differences of the forces."""
    x, m = sim.particles.x.copy(), sim.particles.mass[:, None].copy()
    u, size = np.random.default_rng(0).normal(size=x.shape), 1e-6
    for _ in range(rounds):
        u *= size / np.sqrt((m * u**2).sum() / m.sum())
        sim.particles.x[:] = x + u
        f = sim.forces()
        sim.particles.x[:] = x - u
        f -= sim.forces()
        rate2 = -(u * f).sum() / 2 / (m * u**2).sum()
        u = f / m
    sim.particles.x[:] = x
    return 2 / math.sqrt(rate2)


def meshes(d):
    shape, _ = irregular(d, cells=4, jitter=0.25)
    yield "structured", mpm.shapes.Box([0] * d, [1] * d)
    yield "jittered", shape
    flat = shape.vertices.copy()
    inside = ((flat > 0.4) & (flat < 0.6)).all(axis=1)
    flat[np.flatnonzero(inside)[0], 0] += 0.95 * 0.14  # a sliver
    with warnings.catch_warnings():
        try:
            yield "sliver", mpm.shapes.Cells(flat, shape.cells)
        except ValueError:
            yield "jittered", shape


@every_dim
@pytest.mark.parametrize("law", ["corotated", "neo_hookean"])
def test_the_bound_is_one(law, d):
    for _, shape in meshes(d):
        sim = fem.Simulation(scene_of(d, LAWS[law], shape), spacing=0.25)
        bound, limit = sim.stable_dt().dt, true_limit(sim)
        assert 0.45 < bound / limit < 1  # measured: 0.49 to 0.66
        sim = fem.Simulation(scene_of(d, LAWS[law], shape), spacing=0.25, dt=0.98 * bound)
        sim.particles.v[:] = 1e-3 * np.random.default_rng(1).normal(size=sim.particles.v.shape)
        start = sim.totals().energy
        sim.step(2000)
        assert sim.history["energy"].max() < 2 * start


def test_a_step_above_the_bound_is_refused():
    sim = fem.Simulation(scene_of(2, LAWS["corotated"]), spacing=0.25)
    bound = sim.stable_dt()
    assert bound.limit == "wave" and bound.particle is not None
    sim = fem.Simulation(scene_of(2, LAWS["corotated"]), spacing=0.25, dt=1.01 * bound.dt)
    with pytest.raises(mpm.InstabilityError, match="is above the stable bound"):
        sim.step()
    assert sim.steps == 0
    sim = fem.Simulation(
        scene_of(2, LAWS["corotated"]), spacing=0.25, dt=1.01 * bound.dt, allow_unstable=True
    )
    sim.step()
    auto = fem.Simulation(scene_of(2, LAWS["corotated"]), spacing=0.25)
    auto.step()
    assert auto.dt == pytest.approx(0.9 * bound.dt)


@every_dim
def test_damping_shortens_the_bound_and_takes_energy(d):
    free = fem.Simulation(scene_of(d, LAWS["corotated"]), spacing=0.25)
    damped = fem.Simulation(scene_of(d, LAWS["corotated"]), spacing=0.25, damping=(2.0, 0.02))
    assert damped.stable_dt().dt < 0.7 * free.stable_dt().dt
    for sim in (free, damped):
        sim.particles.v[:] = np.sin(4 * sim.particles.x)
        sim.run(2.0)
    assert damped.totals().energy < 0.02 * free.totals().energy
    assert damped.history["damping_impulse"].shape == (damped.steps, d)


def test_mass_damping_of_a_free_body_is_exponential():
    sim = fem.Simulation(scene_of(2, LAWS["corotated"]), spacing=0.5, damping=(0.7, 0.0), max_dt=1e-3)
    sim.particles.v[:] = (1.0, 0.5)
    sim.run(1.0)
    assert np.allclose(sim.particles.v, np.exp(-0.7) * np.array([1, 0.5]), rtol=1e-3)  # order 1: 2.5e-4


@every_dim
def test_stiffness_damping_does_not_resist_rotation(d):
    spin = 2.0 if d == 2 else (0.0, 0.0, 2.0)
    scene = mpm.Scene([-2] * d, [2] * d)
    scene.add(
        mpm.shapes.Box([-0.5] * d, [0.5] * d), M.Corotated(E=1e6, nu=0.3, density=1000), angular_velocity=spin
    )
    sim = fem.Simulation(scene, spacing=0.5, damping=(0.0, 1e-3))
    start = np.asarray(sim.totals().angular_momentum)
    kinetic = sim.totals().kinetic
    sim.run(math.pi)
    assert np.allclose(sim.totals().angular_momentum, start, rtol=1e-11, atol=1e-9)  # measured: 1e-13
    assert sim.totals().kinetic == pytest.approx(kinetic, rel=0.01)


@every_dim
@pytest.mark.parametrize("law", LAWS)
def test_a_free_body_keeps_momentum_and_energy(law, d):
    scene = scene_of(d, LAWS[law])
    sim = fem.Simulation(scene, spacing=0.25)
    sim.particles.v[:] = 0.3 * np.sin(3 * sim.particles.x[:, ::-1]) + 0.1
    start = sim.totals()
    sim.step(300)
    end = sim.totals()
    assert np.allclose(end.momentum, start.momentum, rtol=1e-12)
    assert np.allclose(end.angular_momentum, start.angular_momentum, atol=1e-11 * start.mass)
    assert np.abs(sim.history["energy"] / start.energy - 1).max() < 0.1  # symplectic Euler, order 1


@every_dim
@each("dtype", ["float64", "float32"])
def test_impulses_close_the_balance_of_momentum(d, dtype):
    gravity = np.array([0.5, -0.3, -9.81])[-d:]
    scene = mpm.Scene([0] * d, [2] * d, gravity=gravity, body_force=lambda x, t: 0.3 * np.cos(x))
    scene.add(mpm.shapes.Box([0.5] * d, [1.0] * d), LAWS["fixed_corotated"], velocity=[1.0] * d)
    scene.add_collider(
        mpm.shapes.Ball([0.8] * (d - 1) + [0.2], 0.25), contact="separate", friction=0.4, name="ball"
    )
    sim = fem.Simulation(scene, spacing=0.125, damping=(0.5, 1e-3), dtype=dtype, history=3)
    start = np.asarray(sim.totals().momentum)
    sim.step(300)
    h = sim.history
    gained = sum(
        h[name].sum(axis=0) for name in ("body_impulse", "wall_impulse", "damping_impulse", "impulse:ball")
    )
    room = 1e-12 if dtype == "float64" else 1e-5
    assert np.abs(h["impulse:ball"]).max() > 1e-3 and np.abs(h["wall_impulse"]).max() > 1e-3
    assert np.abs(h["momentum"][-1] - start - gained).max() < room * np.abs(h["wall_impulse"]).sum()


def test_walls_obey_their_rules():
    walls = {"x-": "sticky", "x+": "mirror", "y-": mpm.Wall("separate", friction=0.5), "y+": "slip"}
    for place, velocity, kept in (
        ((0, 1), (1, 1), (0, 0)),
        ((2, 1), (1, 1), (0, 1)),
        ((2, 1), (-1, 1), (0, 1)),
        ((1, 2), (1, -1), (1, 0)),
        ((1, 0), (1, 1), (1, 1)),
        ((1, 0), (1, -1), (0.5, 0)),
    ):
        scene = mpm.Scene((0, 0), (2, 2), walls=walls)
        x = np.array([[0, 0], [0.1, 0], [0, 0.1]])
        shape = mpm.shapes.Cells(x - x.mean(axis=0) + 1, [[0, 1, 2]])
        scene.add(shape, M.Corotated(E=1e-6, nu=0.0, density=1000), velocity=velocity)
        sim = fem.Simulation(scene, dt=1e-3)
        sim.particles.x[0] = place
        sim.step()
        assert np.allclose(sim.particles.v[0], kept, atol=1e-6), (place, velocity)


def test_a_sticky_collider_clamps_and_carries():
    scene = mpm.Scene((0, 0), (2, 2), gravity=(0, -1))
    scene.add(mpm.shapes.Box((0.5, 0.5), (1.5, 0.8)), LAWS["corotated"])
    moving = mpm.motion.Linear((0.1, 0))
    scene.add_collider(mpm.shapes.Box((0.3, 0.3), (0.65, 1)), contact="sticky", motion=moving, name="grip")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim = fem.Simulation(scene, spacing=0.1)
    held = sim.particles.x[:, 0] < 0.65
    start = sim.particles.x.copy()
    sim.run(0.5)
    assert held.sum() > 4 and np.allclose(sim.particles.x[held], start[held] + (0.05, 0), atol=1e-12)
    assert sim.particles.x[~held, 1].min() < 0.49


def test_an_element_that_would_invert_is_refused_and_named():
    made = fem.mesh(mpm.shapes.Box((0, 0), (1, 1)), 0.5)
    scene = scene_of(2, LAWS["neo_hookean"], mpm.shapes.Cells(*made))
    middle = int(np.argmin(np.abs(made.vertices - 0.5).sum(axis=1)))
    options = {"spacing": 2.0}  # no limit of motion here
    sim = fem.Simulation(scene, **options)
    sim.particles.v[middle] = (90.0, 90.0)
    sim.step()  # a smaller automatic step
    assert sim.health["refused"] > 0 and (sim.elements.J > 0).all()
    sim = fem.Simulation(scene, dt=7e-3, **options)
    sim.particles.v[middle] = (90.0, 90.0)
    x, v = sim.particles.x.copy(), sim.particles.v.copy()
    with pytest.raises(mpm.InstabilityError, match="would leave the range of their law") as caught:
        sim.step()
    assert middle in caught.value.rows and sim.steps == 0
    assert np.array_equal(sim.particles.x, x) and np.array_equal(sim.particles.v, v)
    sim.particles.x[middle] += 5.0
    with pytest.raises(mpm.InstabilityError, match="left the range of its law"):
        sim.step()
    sim.particles.x, sim.particles.v = x, 0.0
    sim.step()


# --- implicit steps --------------------------------------------------------------------------------------------------

IMPLICIT = {"integrator": "linearly-implicit-euler"}


def oscillator(**options):
    """A triangle in its uniform mode: free nodes, one frequency. The bound counts no such motion."""
    x = np.array([[0, 0], [1, 0], [0.5, math.sqrt(0.75)]])
    scene = mpm.Scene((-5, -5), (5, 5))
    scene.add(mpm.shapes.Cells(x, [[0, 1, 2]]), M.Corotated(E=1e4, nu=0.0, density=1000))
    sim = fem.Simulation(scene, spacing=5.0, **options)
    return sim, x - x.mean(axis=0)


def test_a_linear_oscillator_loses_energy_as_it_must():
    """Dilation of a triangle: exactly linear in the corotated law; energy per step 1/(1 + z^2)."""
    sim, r = oscillator(**IMPLICIT, dt=0.02, tolerance=1e-12)
    sim.particles.v[:] = 0.01 * r
    m, before = sim.particles.mass[0], sim.totals()
    sim.particles.x[:] += 1e-3 * r
    f = sim.forces()
    omega2 = -(f * r).sum() / (1e-3 * m * (r * r).sum())
    sim.particles.x[:] -= 1e-3 * r
    assert before.elastic < 1e-20
    energies = [sim.totals().energy]
    for _ in range(20):
        sim.step()
        energies.append(sim.totals().energy)
    z2 = omega2 * 0.02**2
    assert z2 > 1e-3
    assert np.allclose(np.array(energies[1:]) / energies[:-1], 1 / (1 + z2), rtol=1e-10)  # measured: 3e-12


def test_implicit_steps_are_of_order_one():
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        sim, r = oscillator(**IMPLICIT, dt=dt, tolerance=1e-10)
        sim.particles.v[:] = 0.1 * r[:, ::-1] + 0.1 * r
        fine, _ = oscillator(dt=1e-5, history=0)
        fine.particles.v[:] = sim.particles.v
        sim.run(0.1)
        fine.run(0.1)
        errors.append(np.abs(sim.particles.x - fine.particles.x).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.abs(orders - 1).max() < 0.1, orders


@every_dim
@every_isa
@each("dtype", ["float64", "float32"])
def test_a_stiff_bar_takes_large_steps(d, isa, dtype):
    """At 50 times the explicit bound it is stable, and sags as far as the explicit bar with damping at rest."""
    lower, upper = [0.0] * d, [1.0] + [0.25] * (d - 1)
    scene = mpm.Scene([-1] * d, [2] * d, gravity=[0] * (d - 1) + [-9.81])
    scene.add(mpm.shapes.Box(lower, upper), M.Corotated(E=1e6, nu=0.3, density=1000))
    scene.add_collider(mpm.shapes.Box([-0.5] * d, [0.01] + [1.0] * (d - 1)), contact="sticky", name="grip")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with kernels(isa):
            bound = fem.Simulation(scene, spacing=0.125, dtype=dtype).stable_dt().dt
            sim = fem.Simulation(
                scene, spacing=0.125, dtype=dtype, dt=50 * bound, damping=(2.0, 0.0), **IMPLICIT
            )
            slow = fem.Simulation(scene, spacing=0.125, damping=(8.0, 0.0))
    sim.run(6.0)
    if dtype == "float64" and isa != "scalar":
        slow.run(3.0)
        tip = slow.particles.x[:, 0] > 0.99
        assert sim.particles.x[tip, -1].mean() == pytest.approx(slow.particles.x[tip, -1].mean(), abs=1e-5)
    h = sim.history
    room = 1e-5 if dtype == "float64" else 1e-3  # to the tolerance
    gained = sum(
        h[name].sum(axis=0) for name in ("body_impulse", "wall_impulse", "damping_impulse", "impulse:grip")
    )
    assert np.abs(h["momentum"][-1] - gained).max() < room * np.abs(h["body_impulse"]).sum()
    assert np.abs(sim.particles.v).max() < 1e-3 and sim.stable_dt().limit != "wave"


@every_dim
def test_an_implicit_block_rests_and_lifts_off(d):
    scene = mpm.Scene([0] * d, [2] * d, gravity=[0] * (d - 1) + [-9.81], walls="separate")
    scene.add(
        mpm.shapes.Box([0.5] * (d - 1) + [0.0], [1.0] * (d - 1) + [0.5]),
        M.FixedCorotated(E=1e6, nu=0.3, density=1000),
    )
    sim = fem.Simulation(scene, spacing=0.125, dt=0.01, damping=(5.0, 0.0), **IMPLICIT)
    sim.run(3.0)
    weight = sim.totals().mass * 9.81
    assert np.abs(sim.particles.v).max() < 1e-3
    assert sim.history["wall_impulse"][-20:, -1].mean() / 0.01 == pytest.approx(weight, rel=1e-3)
    sim.particles.v[:, -1] += 1.0
    low = sim.particles.x[:, -1].min()
    sim.run(0.05)
    assert sim.particles.x[:, -1].min() > low and sim.history["wall_impulse"][-1, -1] == 0


def test_an_implicit_solve_that_does_not_converge():
    scene = scene_of(2, LAWS["corotated"], gravity=(0, -1))
    options = {"spacing": 0.1, "max_iterations": 2, "tolerance": 1e-10, **IMPLICIT}
    sim = fem.Simulation(scene, dt=0.1, **options)
    sim.particles.v[:] = np.sin(5 * sim.particles.x)
    with pytest.raises(mpm.ConvergenceError, match="the implicit step was not solved") as caught:
        sim.step()
    assert sim.steps == 0 and caught.value.residuals[0] == 1 and caught.value.residuals[1] > 1e-10
    sim = fem.Simulation(scene, max_dt=0.1, **options)
    sim.particles.v[:] = 1e-6 * np.sin(5 * sim.particles.x)
    sim.step()  # a smaller automatic step
    assert sim.steps == 1 and sim.health["refused"] > 3 and sim.dt < 0.02
    with pytest.raises(
        ValueError, match=r"tolerance = 0\.001: integrator='symplectic-euler' does not use it"
    ):
        fem.Simulation(scene, spacing=0.1, tolerance=1e-3)


@every_isa
def test_implicit_steps_keep_the_promises(isa, tmp_path):
    options = {"dt": 2e-3, "damping": (0.1, 1e-4), **IMPLICIT}
    with kernels(isa):
        one, three, split = (busy(2, 48, threads=n, **options) for n in (1, 3, 2))
        one.step(12)
        three.step(12)
        for n in (1, 4, 7):
            split.step(n)
        assert one == three and one == split
        one.save(tmp_path / "a.mpm")
        again = mpm.load(tmp_path / "a.mpm")
        one.step(3)
        again.step(3)
        assert one == again


# --- promises of every solver ----------------------------------------------------------------------------------------


def busy(d=3, spacing=16, **options):
    scene = mpm.Scene([0] * d, [2] * d, gravity=[0] * (d - 1) + [-9.81])
    scene.add(mpm.shapes.Box([0.5] * d, [1.0] * d), LAWS["fixed_corotated"], velocity=[0.3] * d, name="box")
    scene.add(mpm.shapes.Ball([1.5] * d, 0.3), LAWS["neo_hookean"], velocity=[-0.3] * d)
    scene.add_collider(
        mpm.shapes.Ball([0.8] * (d - 1) + [0.2], 0.29), contact="separate", friction=0.3, name="ball"
    )
    return fem.Simulation(scene, spacing=1 / spacing, **options)


@every_isa
@each("dtype", ["float64", "float32"])
def test_threads_and_splits_change_no_bit(isa, dtype):
    with kernels(isa):
        one, three, split = (busy(3, 20, dtype=dtype, threads=n, damping=(0.1, 1e-4)) for n in (1, 3, 2))
    assert len(one.elements) > 2 * 4096  # more than two tasks
    one.step(40)
    three.step(40)
    for n in (1, 7, 32):
        split.step(n)
        split.totals()
    assert one == three and one == split
    assert one.state_hash() == three.state_hash() == split.state_hash()


@every_dim
def test_files_copies_and_pickles_go_on_bit_for_bit(d, tmp_path):
    sim = busy(d, damping=(0.1, 1e-4))
    sim.particles.add_field("heat", rank="vector", unit="K", initial=2.0)[:, 0] = 1.0
    sim.step(20)
    sim.save(tmp_path / "a.mpm")
    again = [mpm.load(tmp_path / "a.mpm"), copy.copy(sim), pickle.loads(pickle.dumps(sim))]
    sim.step(20)
    for other in again:
        assert type(other) is fem.Simulation and other.steps == 20 and other.rows("box") == sim.rows("box")
        assert "field.x" in mpm.diff(sim, other)
        other.step(20)
        assert other == sim and mpm.diff(sim, other) == {}
        assert repr(other).splitlines()[:-1] == repr(sim).splitlines()[:-1]  # the last has the memory
        assert np.array_equal(other.history["impulse:ball"], sim.history["impulse:ball"])


def test_arrays_are_live_and_bad_values_are_refused():
    sim = busy(2)
    x, v = sim.particles.x, sim.particles.v
    v[:] = 1.0
    before = x.copy()
    sim.step()
    assert np.allclose(x - before, sim.dt * v) and np.shares_memory(x, sim.particles.x)
    sim.step(2)
    assert np.shares_memory(x, sim.particles.x)
    x[3, 0] = np.nan
    with pytest.raises(mpm.SimulationError, match="not finite were written to 1 ") as caught:
        sim.step()
    assert caught.value.rows == [3]
    x[3] = before[3]
    sim.particles.mass[0] *= 2
    sim.step()
    with pytest.raises(ValueError, match=r"sim.particles.volume is read-only"):
        sim.particles.volume = 1.0
    with pytest.raises(TypeError, match="cannot be deleted"):
        sim.particles.delete([0])


def test_quantities_at_nodes_and_elements():
    shape, _ = irregular(2, cells=4)
    sim = fem.Simulation(scene_of(2, LAWS["neo_hookean"], shape))
    sim.particles.x[:] += 0.05 * np.sin(3 * sim.particles.x)
    sim.particles.v[:] = sim.particles.x
    assert sim.compute("elastic_energy").sum() == pytest.approx(sim.totals().elastic)
    assert sim.compute("elastic_energy", on="elements").sum() == pytest.approx(sim.totals().elastic)
    assert sim.compute("kinetic_energy").sum() == pytest.approx(sim.totals().kinetic)
    elements = sim.elements
    assert elements.volume.sum() == pytest.approx(1) and elements.mass.sum() == pytest.approx(1000)
    assert sim.particles.mass.sum() == pytest.approx(1000) and sim.particles.volume.sum() == pytest.approx(1)
    assert np.allclose(sim.compute("density", on="elements") * elements.J, 1000)
    with pytest.raises(ValueError, match="on = 'elements': 'speed' belongs to the nodes"):
        sim.compute("speed", on="elements")
    points = np.array([[0.4, 0.7], [0.8, 0.3], [5, 5]])
    v = sim.interpolate("v", points)
    assert np.allclose(v[:2], points[:2]) and np.isnan(v[2]).all()  # linear fields exactly
    assert np.isfinite(sim.interpolate("pressure", points[:2])).all()
    assert elements.nodes.shape == (len(elements), 3) and not elements.nodes.flags.writeable


def test_bodies_and_nodes_stay():
    sim = busy(2)
    before = sim.state_hash()
    with pytest.raises(TypeError, match="takes no more between steps: add the body to the scene"):
        sim.add(mpm.shapes.Ball((0.5, 0.5), 0.1), LAWS["corotated"])
    with pytest.raises(TypeError, match="they cannot be deleted"):
        sim.particles.delete([0])
    assert sim.state_hash() == before


def test_a_body_with_F_rests_as_it_was():
    F = np.array([[1.1, 0.2], [0.0, 0.9]])
    scene = mpm.Scene((-1, -1), (2, 2))
    scene.add(mpm.shapes.Box((0, 0), (1, 1)), LAWS["neo_hookean"], F=F)
    sim = fem.Simulation(scene, spacing=0.25)
    assert np.allclose(sim.elements.F, F) and sim.totals().mass == pytest.approx(1000 / np.linalg.det(F))


@every_dim
def test_it_is_drawn_recorded_and_played(d, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("h5py")
    sim = busy(d)
    with sim.record(tmp_path / "a.vtkhdf", fps=100, fields=("v", "pressure", "stress")):
        sim.run(0.03)
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        last = frames[-1]
        sim.particles.x[:], sim.particles.v[:] = last.x, last.v
        assert np.array_equal(last.pressure, sim.compute("pressure")) and len(frames) == 4
        assert frames.description["numerics"]["spacing"] == 1 / 16
    picture = sim.plot(color="von_mises")
    if d == 2:
        assert type(picture.particles).__name__ == "TriMesh"
        assert np.array_equal(picture.particles.get_array(), sim.compute("von_mises"))
    plt.close("all")
    assert mpm.viz.Renderer(sim, size=(160, 120)).frame(sim).shape == (120, 160, 3)
    assert [setting.key for setting in sim._settings()][-2:] == ["spacing", "dt"]
    other = sim._rebuilt({"spacing": 0.125, "gravity y": 0.0})
    assert other.spacing == 0.125 and other.scene.gravity[1] == 0


def test_the_methods_of_integrators_step_a_mesh():
    sim = fem.Simulation(scene_of(2, LAWS["neo_hookean"], gravity=(0.0, -1.0)), spacing=0.25, dt=2e-3)
    sim.particles.v[:] = 0.3 * np.sin(3 * sim.particles.x[:, ::-1])
    x, v = sim.particles.x.copy(), sim.particles.v.copy()
    system, options = sim.system(), {"dt": 2e-3, "steps": 100}
    sim.step(100)
    run = mpm.integrators.integrate(system, x, v, method="symplectic-euler", **options)
    assert np.allclose(run.x[-1], sim.particles.x, rtol=0, atol=1e-13)  # measured: 4e-15
    assert run.energy[-1] == pytest.approx(sim.totals().energy, rel=1e-12)
    for method, room in (("verlet", 1e-3), ("implicit-midpoint", 1e-3)):
        energy = mpm.integrators.integrate(system, x, v, method=method, **options).energy
        assert np.abs(energy / energy[0] - 1).max() < room


def test_histories_on_one_time_axis():
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -1))
    scene.add(mpm.shapes.Box((0.25, 0.5), (0.5, 0.75)), LAWS["fixed_corotated"], velocity=(0.5, 0))
    runs = [
        mpm.Simulation(scene, dx=1 / 16),
        fem.Simulation(scene, spacing=1 / 16),
        fem.Simulation(scene, spacing=1 / 8),
    ]
    for k, run in enumerate(runs):
        run.run(0.2 + 0.01 * k)
    both = mpm.compare(runs, columns=("energy", "momentum"), samples=50)
    assert both.names == ("simulation", "fem 0", "fem 1") and both.time.shape == (50,)
    assert both.values["energy"].shape == (3, 50) and both.values["momentum"].shape == (3, 50, 2)
    assert both.time[0] == max(run.history["time"][0] for run in runs) and both.time[-1] == pytest.approx(0.2)
    falling = -62.5 * both.time  # kg/s
    assert np.allclose(both.values["momentum"][..., 1], falling, atol=1e-10)  # linear in time, so exact
    assert mpm.compare({"a": runs[1]}, columns=["kinetic"]).names == ("a",)
    for wrong, message in (
        ({"runs": []}, "at least one"),
        ({"runs": [1]}, "a simulation"),
        ({"runs": runs[0]}, "a sequence or a mapping"),
        ({"runs": runs, "columns": ("heat",)}, "columns = 'heat'"),
        ({"runs": runs, "columns": "energy"}, "a sequence of names"),
        ({"runs": runs, "samples": 1}, "samples = 1"),
        ({"runs": [fem.Simulation(scene, spacing=0.1)]}, "has 0 records"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            mpm.compare(**wrong)


@pytest.mark.parametrize("name", ["disk-wall", "twisted-bar"])
def test_the_gallery_by_elements(name):
    sim = mpm.gallery.get(name).solver("fem", spacing=0.05)
    assert type(sim) is fem.Simulation and sim.spacing == 0.05
    sim.step(20)
    assert np.isfinite(sim.particles.x).all()
    with pytest.raises(ValueError, match="method = 'sem': must be one of"):
        mpm.gallery.get(name).solver("sem")


# --- meshes ----------------------------------------------------------------------------------------------------------


@every_dim
def test_lattices_are_meshed(d):
    box = fem.mesh(mpm.shapes.Box([0.1] * d, [1] * d), 0.32)
    volume = np.abs(np.linalg.det(box.vertices[box.cells[:, 1:]] - box.vertices[box.cells[:, :1]]))
    assert len(box.vertices) == 4**d and len(box.cells) == (2, 6)[d - 2] * 3**d
    assert volume.sum() / (2, 6)[d - 2] == pytest.approx(0.9**d)
    assert box.vertices.min() == 0.1 and box.vertices.max() == 1.0
    ball = fem.mesh(mpm.shapes.Ball([0.0] * d, 1.0), 0.1)
    assert fem.Simulation(
        scene_of(d, LAWS["corotated"], mpm.shapes.Ball([0.0] * d, 1.0)), spacing=0.1
    )._parts[0].volume == pytest.approx((np.pi, 4 / 3 * np.pi)[d - 2], rel=0.02)
    assert np.linalg.norm(ball.vertices, axis=1).max() < 1.15
    assert (np.abs(np.linalg.norm(ball.vertices, axis=1) - 1) < 1e-9).sum() > 0.05 * len(
        ball.vertices
    )  # snapped
    # the mesh is conforming: every inner face belongs to two cells, and faces of one cell make the outline
    faces = np.sort(np.concatenate([np.delete(box.cells, k, axis=1) for k in range(d + 1)]), axis=1)
    _, counts = np.unique(faces, axis=0, return_counts=True)
    assert set(counts) == {1, 2} and (counts == 1).sum() == (4 * 3, 6 * 2 * 9)[d - 2]


def test_cells_are_a_shape():
    cells = mpm.shapes.Cells([[0, 0], [1, 0], [1, 1], [0, 1]], [[0, 1, 2], [0, 2, 3]])
    assert cells.dimension == 2 and cells.bounds[1].tolist() == [1, 1] and cells._volume() == pytest.approx(1)
    assert cells.contains([[0.5, 0.5], [0.9, 0.1], [1.1, 0.5], [0.5, 0.0]]).tolist() == [
        True,
        True,
        False,
        True,
    ]
    turned_ = cells.rotate(np.pi / 2).translate((2, 0))
    assert isinstance(turned_, mpm.shapes.Cells) and turned_.contains([[1.5, 0.5]]).all()
    assert cells == mpm.shapes.Cells(cells.vertices, cells.cells) and hash(cells) == hash(
        mpm.shapes.Cells(cells.vertices, cells.cells)
    )
    scene = mpm.Scene((0, 0), (2, 2))
    scene.add(cells.translate((0.5, 0.5)), LAWS["neo_hookean"])
    sim = mpm.Simulation(scene, dx=1 / 8)  # particles fill it
    assert sim.totals().mass == pytest.approx(1000, rel=0.01)
    assert copy.copy(sim) == sim
    solid = mpm.Scene((0, 0, 0), (1, 1, 1))
    ball = mpm.shapes.Cells(*fem.mesh(mpm.shapes.Ball((0.5, 0.5, 0.5), 0.3), 0.1))
    solid.add(ball, LAWS["neo_hookean"])
    assert mpm.Simulation(solid, dx=1 / 16).totals().mass == pytest.approx(1000 * ball._volume(), rel=0.01)
    with pytest.raises(ValueError, match="Cells cannot be a collider"):
        scene.add_collider(cells, name="c")
        mpm.Simulation(scene, dx=1 / 8)


SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]]


@pytest.mark.parametrize(
    ("vertices", "cells", "message"),
    [
        (SQUARE, [[0, 2, 1], [0, 2, 3]], r"cells\[0\] = \[0, 2, 1\]: is inverted"),
        (SQUARE, [[0, 1, 2], [0, 0, 3]], r"cells\[1\] = \[0, 0, 3\]: is flat"),
        (SQUARE, [[0, 1, 2]], r"vertices\[3\]: belongs to no cell"),
        (SQUARE, [[0, 1, 4]], r"cells\[0\] = \[0, 1, 4\]: must be vertices from 0 to 3"),
        (SQUARE, [[0, 1, -1]], r"must be vertices from 0 to 3"),
        (SQUARE, [[0, 1]], r"cells has shape \(1, 2\): must be \(m, 3\)"),
        (SQUARE, np.zeros((0, 3), int), r"cells has shape \(0, 3\)"),
        (SQUARE, [[0.0, 1.0, 2.0]], "cells: must be integers"),
        ([[0, 0], [1, 0], [2, 0]], [[0, 1, 2]], "is flat"),
        ([[0, 0], [1, np.nan], [1, 1]], [[0, 1, 2]], "vertices"),
    ],
)
def test_bad_cells_are_refused(vertices, cells, message):
    with pytest.raises((TypeError, ValueError), match=message):
        mpm.shapes.Cells(vertices, cells)


WATER = M.Fluid(bulk_modulus=1e5, density=1000)


@pytest.mark.parametrize(
    ("scene", "options", "message"),
    [
        (scene_of(2, WATER), {"spacing": 0.1}, "Fluid is no elastic solid"),
        (scene_of(2, M.Sand()), {"spacing": 0.1}, "Sand is no elastic solid"),
        (
            scene_of(2, M.VonMises(E=1, nu=0.3, yield_stress=1, density=1)),
            {"spacing": 0.1},
            "no elastic solid",
        ),
        (
            scene_of(2, LAWS["corotated"], walls={"x-": "periodic", "x+": "periodic"}),
            {"spacing": 0.1},
            "periodic",
        ),
        (scene_of(2, LAWS["corotated"]), {}, "spacing = None"),
        (scene_of(2, LAWS["corotated"]), {"spacing": -1}, "spacing = -1"),
        (scene_of(2, LAWS["corotated"]), {"spacing": "a"}, "spacing"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "damping": (-1, 0)}, "damping"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "damping": 1}, "damping"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "dt": 0}, "dt = 0"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "integrator": "euler"}, "integrator = 'euler'"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "dtype": "float16"}, "dtype"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "dx": 1}, "no option 'dx'"),
        (scene_of(2, LAWS["corotated"]), {"spacing": 0.1, "history": -1}, "history"),
        (
            scene_of(2, LAWS["corotated"], mpm.shapes.Points([[0, 0]])),
            {"spacing": 0.1},
            "Points have no inside",
        ),
        (
            scene_of(2, LAWS["corotated"], mpm.shapes.HalfSpace((0, 0), (0, 1))),
            {"spacing": 0.1},
            "an end along",
        ),
        (scene_of(2, LAWS["corotated"], size=0.5), {"spacing": 0.1}, "are outside of the domain"),
        (mpm.Scene((0, 0), (1, 1)), {"spacing": 0.1}, "no bodies"),
        ("scene", {"spacing": 0.1}, "scene"),
    ],
)
def test_bad_scenes_and_options_are_refused(scene, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fem.Simulation(scene, **options)


def test_a_file_with_a_broken_mesh_is_refused():
    sim = busy(2)
    kept = sim._snapshot()
    for name, change in (
        ("nodes", lambda a: a * 1000),
        ("rest", lambda a: a * 0),
        ("element_material", lambda a: a - 1),
        ("nodes", lambda a: a[:-1]),
        ("rest", lambda a: a[:-1]),
        ("field.x", lambda a: a[:-1]),
        ("field.mass", lambda a: -a),
    ):
        arrays = {**kept.arrays, name: change(kept.arrays[name])}
        with pytest.raises(ValueError):
            fem.Simulation._of(type(kept)(kept.scene, kept.numbers, arrays), None)
