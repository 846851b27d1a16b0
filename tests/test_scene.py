"""From a scene to numbers: bodies and their motion, totals, history, grid and derived fields against NumPy."""

import copy

import numpy as np
import pytest

import mpm
from mpm import materials, shapes

SOLID = materials.FixedCorotated(E=2e4, nu=0.3, density=1000)
RUBBER = materials.NeoHookean(E=1e4, nu=0.25, density=1200)
WATER = materials.Fluid(bulk_modulus=1e5, density=900, viscosity=0.1)
DX = 0.125
# Relative error of sums against NumPy. Largest measured: 5e-16, and 6e-7 for the elastic energy of float32.
SUMS = {"float64": 1e-13, "float32": 5e-6}

dims = pytest.mark.parametrize("dim", [2, 3])
dtypes = pytest.mark.parametrize("dtype", ["float64", "float32"])


def corners(dim, low, high):
    return shapes.Box([low] * dim, [high] * dim)


def mixed(dim, *, dtype="float64", gravity=True, **numerics):
    """Two solids and a fluid that move, spin, are stretched, and fall on a floor."""
    g = [0.3, -9.81, 0.5][:dim] if gravity else None
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=g, walls={"y": "separate"})
    spin = 3.0 if dim == 2 else (1.0, -2.0, 3.0)
    F = np.eye(dim) + 0.1 * np.arange(dim * dim).reshape(dim, dim) / dim**2
    scene.add(corners(dim, 0.125, 0.375), SOLID, velocity=[0.2, -1, 0.1][:dim], angular_velocity=spin, F=F)
    scene.add(
        shapes.Box([0.5] * dim, [0.75, 0.75, 0.625][:dim]),
        RUBBER,
        velocity=lambda x: 0.5 * (x[:, ::-1] - 0.5),
    )
    scene.add(shapes.Box([0.5, 0, 0][:dim], [1, 0.25, 0.25][:dim]), WATER)
    return mpm.Simulation(scene, dx=DX, dtype=dtype, threads=1, **numerics)


# --- bodies ------------------------------------------------------------------------------------------------------


@dims
def test_bodies_follow_each_other_row_by_row(dim):
    sim = mixed(dim)
    first, second, third = (2**dim * cells for cells in ((4, 4, 8) if dim == 2 else (8, 4, 16)))
    assert len(sim.particles) == first + second + third
    assert sim.materials == (SOLID, RUBBER, WATER)
    assert sim.particles.material.dtype == np.int32
    assert sim.particles.material.tolist() == [0] * first + [1] * second + [2] * third
    assert sim.particles.id.tolist() == list(range(len(sim.particles)))
    each = DX**dim / 2**dim
    density = np.array([law.density for law in sim.materials])[sim.particles.material]
    assert (sim.particles.volume == each).all() and (sim.particles.mass == density * each).all()


def test_equal_materials_are_one():
    scene = mpm.Scene((0, 0), (1, 1))
    for k in range(3):
        scene.add(
            shapes.Box((0.25 * k, 0), (0.25 * k + 0.25, 0.25)),
            materials.Fluid(bulk_modulus=1 + k % 2, density=1),
        )
    sim = mpm.Simulation(scene, dx=DX, threads=1)
    assert len(sim.materials) == 2
    assert sim.particles.material.tolist() == [0] * 16 + [1] * 16 + [0] * 16


@dims
@dtypes
def test_velocity_is_the_given_one_plus_the_rotation_about_the_centre_of_mass(dim, dtype):
    scene = mpm.Scene([0] * dim, [1] * dim)
    v, omega = np.array([1.0, 2.0, 3.0][:dim]), (3.0 if dim == 2 else np.array([1.0, -2.0, 3.0]))
    scene.add(shapes.Ball([0.5] * dim, 0.3), SOLID, velocity=v, angular_velocity=omega)
    sim = mpm.Simulation(scene, dx=DX, dtype=dtype, sampling="stratified", threads=1)
    x = np.array(sim.particles.x, dtype=float)
    r = x - np.average(x, axis=0, weights=sim.particles.volume)
    turning = np.cross(omega, r) if dim == 3 else omega * np.stack([-r[:, 1], r[:, 0]], axis=1)
    eps = np.finfo(dtype).eps
    assert np.abs(sim.particles.v - (v + turning)).max() <= 20 * eps  # measured: 2 eps
    assert (
        np.abs(sim.totals().momentum / sim.totals().mass - v).max() <= 20 * eps
    )  # the rotation adds no momentum


@dims
def test_callables_are_called_once_with_the_positions(dim):
    calls = []

    def velocity(x):
        calls.append(x.copy())
        x += 100  # a copy: the positions do not change
        return np.sin(x - 100)

    def F(x):
        calls.append(x.copy())
        return np.eye(dim) * (1 + 0.1 * x[:, :1, None])

    scene = mpm.Scene([0] * dim, [1] * dim)
    scene.add(corners(dim, 0.25, 0.75), SOLID, velocity=velocity, F=F)
    assert not calls
    sim = mpm.Simulation(scene, dx=DX, threads=1)
    assert len(calls) == 2
    x = np.array(sim.particles.x)
    # The core keeps the cell and the offset in it: a rounding of the last bit.
    assert all(np.allclose(call, x, rtol=0, atol=2e-16) for call in calls)
    assert (sim.particles.v == np.sin(calls[0] + 100 - 100)).all()
    assert np.array_equal(sim.particles.F, np.eye(dim) * (1 + 0.1 * calls[0][:, :1, None]))
    assert np.allclose(sim.particles.J, np.linalg.det(sim.particles.F), rtol=1e-15, atol=0)


@dims
def test_a_fluid_takes_the_determinant_of_the_initial_gradient(dim):
    scene = mpm.Scene([0] * dim, [1] * dim)
    F = 1.1 * np.eye(dim)
    scene.add(corners(dim, 0.25, 0.75), WATER, F=F)
    sim = mpm.Simulation(scene, dx=DX, threads=1)
    assert np.allclose(sim.particles.J, 1.1**dim, rtol=1e-15, atol=0)
    assert np.allclose(sim.particles.F, F, rtol=1e-14, atol=0)


@dims
@pytest.mark.parametrize("varies", [False, True])
def test_a_fluid_refuses_a_gradient_that_distorts(dim, varies):
    scene = mpm.Scene([0] * dim, [1] * dim)
    F = np.eye(dim)
    F[0, 1] = 1e-6
    scene.add(
        corners(dim, 0.25, 0.75), WATER, F=(lambda x: np.tile(F, (len(x), 1, 1))) if varies else F, name="w"
    )
    with pytest.raises(
        ValueError, match=rf"F of body 'w' = .*must be J\^\(1/{dim}\) times the identity, here 1 I"
    ):
        mpm.Simulation(scene, dx=DX, threads=1)
    sim = mixed(dim)
    with pytest.raises(ValueError, match="F of body 'later' = "):
        sim.add(corners(dim, 0, 0.25), WATER, F=F, name="later")


def test_points_bring_their_own_volumes():
    x, volume = [(0.3, 0.3), (0.5, 0.25), (0.6, 0.7)], [1e-3, 2e-3, 3e-3]
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(shapes.Points(x, volume=volume), SOLID)
    sim = mpm.Simulation(scene, dx=DX, threads=1)
    assert np.allclose(sim.particles.x, x, rtol=0, atol=2e-16)
    assert sim.particles.volume.tolist() == volume
    assert sim.particles.mass.tolist() == [1000 * v for v in volume]


def test_later_changes_of_the_scene_have_no_effect():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(corners(2, 0.25, 0.5), SOLID)
    sim = mpm.Simulation(scene, dx=DX, threads=1)
    before = sim.state_hash()
    scene.add(corners(2, 0.5, 0.75), WATER)
    assert sim.state_hash() == before and len(sim.particles) == 16
    assert len(mpm.Simulation(scene, dx=DX, threads=1).particles) == 32


def test_random_numbers_come_from_rng():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(corners(2, 0.25, 0.75), SOLID)

    def x(rng):
        return np.array(mpm.Simulation(scene, dx=DX, sampling="stratified", rng=rng, threads=1).particles.x)

    assert np.array_equal(x(7), x(7)) and not np.array_equal(x(7), x(8))
    generator = np.random.default_rng(7)
    assert np.array_equal(x(generator), x(7)) and not np.array_equal(x(generator), x(7))


@dims
def test_a_body_added_between_steps(dim):
    sim = mixed(dim)
    sim.step(2)
    before, n = np.array(sim.particles.x), len(sim.particles)
    body = sim.add(corners(dim, 0.75, 0.875), RUBBER, velocity=[1, 2, 3][:dim], name="late")
    assert body.name == "late" and len(sim.particles) == n + 2**dim
    assert np.array_equal(sim.particles.x[:n], before)
    assert (sim.particles.v[n:] == [1, 2, 3][:dim]).all()
    assert sim.particles.material[n:].tolist() == [1] * 2**dim  # the law is known already
    assert sim.particles.id[n:].tolist() == list(range(n, n + 2**dim))
    assert len(sim.grid) == 0
    sim.step()
    assert sim.totals().mass == pytest.approx(sim.particles.mass.sum(), rel=1e-15)


# --- totals, history, grid ---------------------------------------------------------------------------------------


def sums(sim):
    """The totals by NumPy, in double precision."""
    p = sim.particles
    x, v, C, F = (np.array(p[name], dtype=float) for name in "xvCF")
    m, volume = p.mass.astype(float), p.volume.astype(float)
    d = sim.dimension
    inertia = sim.dx**2 / 4  # of quadratic B-splines [m²]
    lever = np.cross(x, v) if d == 3 else x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]
    curl = [C[:, j, i] - C[:, i, j] for i, j in ([(0, 1)] if d == 2 else [(1, 2), (2, 0), (0, 1)])]
    spin = inertia * (np.stack(curl, axis=1) if d == 3 else curl[0])
    elastic = np.zeros(len(m))
    for k, law in enumerate(sim.materials):
        rows = p.material == k
        elastic[rows] = law.energy(F[rows])
    return {
        "mass": m.sum(),
        "momentum": m @ v,
        "center_of_mass": m @ x / m.sum(),
        "angular_momentum": m @ (lever + spin),
        "kinetic": 0.5 * m @ ((v**2).sum(axis=1) + inertia * (C**2).sum(axis=(1, 2))),
        "elastic": volume @ elastic,
        "gravitational": -(m @ x) @ sim.scene.gravity,
    }


def assert_close(value, expected, scale, tolerance):
    assert np.shape(value) == np.shape(expected)
    assert np.abs(np.asarray(value) - expected).max() <= tolerance * scale


@dims
@dtypes
def test_totals_are_the_sums_over_the_particles(dim, dtype):
    sim = mixed(dim, dtype=dtype)
    for _ in range(2):
        totals, expected = sim.totals(), sums(sim)
        for name, value in expected.items():
            assert_close(getattr(totals, name), value, np.abs(value).max(), SUMS[dtype])
        assert totals.energy == totals.kinetic + totals.elastic + totals.gravitational
        assert totals.time == sim.time
        assert isinstance(totals.angular_momentum, float if dim == 2 else np.ndarray)
        assert np.abs(sim.particles.C).max() > 0.1 or not sim.steps  # the affine terms are tested
        sim.step(30)
    title, spin = ("Totals per metre of depth", " kg m/s\n") if dim == 2 else ("Totals", " kg m²/s\n")
    assert repr(totals).startswith(f"{title}\n  time") and spin in repr(totals)


@dims
@dtypes
def test_every_record_of_the_history_is_the_totals_of_its_step(dim, dtype):
    sim = mixed(dim, dtype=dtype)
    start = sim.totals()
    seen = [(start, 0.0)]
    for _ in range(25):
        sim.step()
        seen.append((sim.totals(), sim.dt))
    history = sim.history
    assert set(history) == {
        *("time", "dt", "mass", "momentum", "center_of_mass", "angular_momentum"),
        *("kinetic", "elastic", "gravitational", "energy", "body_impulse", "wall_impulse"),
    }
    assert all(len(values) == 26 for values in history.values())
    assert np.array_equal(history["dt"], [dt for _, dt in seen])
    assert np.allclose(np.cumsum(history["dt"]), history["time"], rtol=1e-14, atol=0)
    for name in history:
        if name not in ("dt", "body_impulse", "wall_impulse"):
            # Measured: 0, in both precisions.
            expected = np.array([getattr(totals, name) for totals, _ in seen])
            assert_close(history[name], expected, np.abs(expected).max(), 1e-14)
    weight = history["dt"][:, None] * start.mass * sim.scene.gravity
    assert_close(history["body_impulse"], weight, np.abs(weight).max(), 1e-14 if dtype == "float64" else 1e-6)
    given = np.cumsum(weight + history["wall_impulse"], axis=0)
    assert history["wall_impulse"][:, 1].sum() > 0  # the floor holds the fluid
    # Measured: 3e-16 in float64, 1.2e-7 in float32.
    tolerance = {"float64": 1e-14, "float32": 1e-6}[dtype]
    momentum = history["momentum"] - start.momentum
    assert_close(momentum, given, np.sqrt(2 * start.mass * history["kinetic"].max()), tolerance)
    table = history.columns()
    assert {"momentum_x", "wall_impulse_y", "time"} <= set(table) and len(table) == (16 if dim == 2 else 22)
    assert np.array_equal(table["momentum_y"], history["momentum"][:, 1])


@dims
def test_impulses_add_up_between_records(dim):
    each, some, none = (mixed(dim, history=k) for k in (1, 4, 0))
    for sim in (each, some, none):
        sim.step(20)
    assert each.state_hash() == some.state_hash() == none.state_hash()
    assert len(none.history["time"]) == 0 and len(some.history["time"]) == 6
    assert np.array_equal(some.history["time"], each.history["time"][::4])
    assert np.array_equal(some.history["momentum"], each.history["momentum"][::4])
    impulse = each.history["wall_impulse"][1:].reshape(5, 4, dim).sum(axis=1)
    assert np.allclose(some.history["wall_impulse"][1:], impulse, rtol=1e-14, atol=1e-15)


@dims
@dtypes
def test_the_grid_holds_the_mass_and_momentum_of_the_last_step(dim, dtype):
    sim = mixed(dim, dtype=dtype, gravity=False)
    assert len(sim.grid) == 0 and sim.grid.x.shape == (0, dim)
    sim.step(3)
    grid, totals = sim.grid, sim.totals()
    m = len(grid)
    assert grid.x.shape == (m, dim) and grid.v.shape == (m, dim) and grid.mass.shape == (m,)
    assert grid.mass.dtype == grid.v.dtype == dtype and grid.x.dtype == np.float64
    assert (grid.mass > 0).all() and repr(grid) == f"<Grid: {m} active nodes>"
    index = grid.x / DX
    assert np.array_equal(index, np.rint(index)) and len(np.unique(index, axis=0)) == m
    weights = grid.mass.astype(float)
    tolerance = {"float64": 1e-14, "float32": 1e-7}[dtype]  # measured: 5e-17, 1e-8
    assert abs(weights.sum() - totals.mass) <= tolerance * totals.mass
    assert_close(weights @ grid.v, totals.momentum, np.abs(totals.momentum).max(), 10 * tolerance)
    grid.v[:] = 0  # a copy
    assert np.abs(sim.grid.v).max() > 0


@dims
def test_the_grid_of_one_particle_is_its_weights(dim):
    """N(0.75 - f²) and friends by hand, f the offset from the nearest node."""
    scene = mpm.Scene([-1] * dim, [1] * dim)
    x = np.array([0.03, 0.31, -0.44][:dim])
    v = np.array([0.5, -0.25, 1.0][:dim])
    scene.add(shapes.Points([x], volume=1e-3), SOLID, velocity=v)
    sim = mpm.Simulation(scene, dx=DX, dt=1e-5, threads=1)
    sim.step()
    grid = sim.grid
    r = np.abs((grid.x - x) / DX)
    weight = np.where(r < 0.5, 0.75 - r**2, np.where(r < 1.5, 0.5 * (1.5 - r) ** 2, 0)).prod(axis=1)
    assert len(grid) == 3**dim and np.allclose(grid.mass, weight, rtol=1e-13, atol=0)
    assert np.allclose(grid.v, v, rtol=1e-14, atol=0)


# --- fields that are computed ------------------------------------------------------------------------------------


@dims
@dtypes
def test_computed_fields(dim, dtype):
    sim = mixed(dim, dtype=dtype)
    sim.step(10)
    p = sim.particles
    v, F = np.array(p.v, dtype=float), np.array(p.F, dtype=float)
    m, volume, J = p.mass.astype(float), p.volume.astype(float), np.array(p.J, dtype=float)
    space = np.tile(np.eye(3), (len(p), 1, 1))  # plane strain: F_zz = 1
    space[:, :dim, :dim] = F
    sigma = np.zeros((len(p), 3, 3))
    energy = np.zeros(len(p))
    for k, law in enumerate(sim.materials):
        rows = p.material == k
        if law is WATER:
            sigma[rows] = -law.bulk_modulus / law.gamma * (J[rows, None, None] ** -law.gamma - 1) * np.eye(3)
        else:
            P = law.stress(space[rows])
            sigma[rows] = P @ space[rows].transpose(0, 2, 1) / np.linalg.det(space[rows])[:, None, None]
        energy[rows] = law.energy(F[rows])
    pressure = -np.trace(sigma, axis1=1, axis2=2) / 3
    s = sigma + pressure[:, None, None] * np.eye(3)
    expected = {
        "speed": np.linalg.norm(v, axis=1),
        "kinetic_energy": m * (v**2).sum(axis=1) / 2,
        "elastic_energy": volume * energy,
        "density": m / (volume * J),
        "stress": sigma[:, :dim, :dim],
        "pressure": pressure,
        "von_mises": np.sqrt(1.5 * (s**2).sum(axis=(1, 2))),
    }
    expected["law_density"] = expected["density"]
    without = {"heat", "solute", "plastic_volume_strain"}  # of no law here
    assert set(expected) == set(sim.quantities) == set(mpm.solver.derived.NAMES) - without
    full = np.where(p.material == sim.materials.index(WATER), J * sim._fullness(p), 1)
    expected["density"] = full * expected["law_density"]
    # Stress amplifies the rounding of F by stiffness over stress. Measured: 8e-15, 3e-6.
    tolerance = {"float64": 1e-13, "float32": 3e-5}[dtype]
    for name, value in expected.items():
        computed = sim.compute(name)
        assert computed.dtype == np.float64
        assert_close(computed, value, np.abs(value).max(), tolerance)


# --- the run ------------------------------------------------------------------------------------------------------


def test_frames_come_at_exactly_their_times():
    sim = mixed(2)
    sim.run(0.0123)
    start = sim.time
    assert start == 0.0123
    seen = list(sim.frames(duration=0.15, fps=90))
    # Not i·(1/fps), which is another number here, nor a sum of steps, in which rounding grows.
    assert start + 13 / 90 != start + 13 * (1 / 90)
    assert seen == [(i, start + i / 90) for i in range(15)]
    assert sim.time == start + 14 / 90
    assert list(sim.frames(duration=0, fps=60)) == [(0, sim.time)]
    halfway = sim.frames(duration=1, fps=100)
    next(halfway)
    next(halfway)
    halfway.close()  # stops where it is
    assert sim.time == start + 14 / 90 + 1 / 100
    steps = sim.steps
    sim.run(0)
    sim.step(0)
    assert sim.steps == steps


def test_the_bound_of_the_time_step():
    sim = mixed(2)
    sim.step()
    stable = sim.stable_dt()
    assert stable.limit in ("isolated", "wave", "motion", "acceleration", "viscosity")
    assert 0 < sim.dt <= 0.6 * 1.2 * stable.dt  # of the state before; it changes little in a step
    assert stable.particle is None or 0 <= stable.particle < len(sim.particles)
    limited = mixed(2, max_dt=1e-5)
    limited.step(3)
    assert limited.dt == 1e-5
    with pytest.raises(mpm.InstabilityError, match="dt"):
        mixed(2, dt=4 * stable.dt).step()
    loose = mixed(2, dt=1.2 * stable.dt, allow_unstable=True)
    loose.step()
    assert loose.dt == 1.2 * stable.dt


def test_health_counts_nothing_in_a_quiet_run():
    sim = mixed(2)
    sim.step(50)
    health = sim.health
    assert {"left_domain", "clamped", "deleted", "refused"} <= set(health)
    assert not any(count for name, count in health.items() if name != "binnings")
    health["clamped"] = 7  # a copy
    assert sim.health["clamped"] == 0


# --- words --------------------------------------------------------------------------------------------------------


def test_repr_of_a_scene():
    scene = mpm.Scene(
        (0, 0), (2, 1), gravity=(0, -9.81), walls={"x": "sticky", "y-": mpm.Wall("separate", friction=0.4)}
    )
    scene.add(shapes.Ball((0.5, 0.7), 0.1), WATER)
    scene.add(shapes.Box((1, 0), (2, 1)), SOLID, name="block")
    assert repr(scene) == (
        "Scene([0.0, 0.0], [2.0, 1.0]) [m], 2-D\n"
        "  gravity [0.0, -9.81] m/s²\n"
        "  walls   x- sticky, x+ sticky, y- separate (friction 0.4), y+ slip\n"
        "  body0: Ball(center=(0.5, 0.7), radius=0.1) of "
        "Fluid(bulk_modulus=100000, density=900, gamma=7, viscosity=0.1, tension=True), 28.2743 kg/m\n"
        "  block: Box(lower=(1, 0), upper=(2, 1)) of FixedCorotated(E=20000, nu=0.3, density=1000), 1000 kg/m"
    )


def test_repr_of_a_simulation():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(shapes.Ball((0.5, 0.5), 0.25), WATER, name="drop")
    sim = mpm.Simulation(scene, dx=1 / 32, dtype="float32", threads=2)
    text = repr(sim)
    assert f"2-D: {len(sim.particles)} particles, t = 0 s after 0 steps" in text
    mass = f"{WATER.density * np.pi / 16:.6g} kg/m (exact)"
    assert "drop: Ball(" in text and f": {len(sim.particles)} particles, {mass}" in text
    assert "32 x 32 cells of 0.03125 m, 4 particles per cell (lattice)" in text
    assert "APIC, quadratic B-spline, MLS gradient" in text and "float32, 2 threads" in text
    assert (
        repr(sim.particles) == f"<Particles: {len(sim.particles)}, fields x v F C J mass volume material id>"
    )
    sim.step()
    assert "after 1 steps" in repr(sim) and repr(sim.history).startswith("<History: 2 records of time, dt,")


def test_the_literature_of_what_is_used():
    text = mixed(2).cite()
    assert text.count("\n") == 7 and "Sulsky" in text and "affine particle-in-cell" in text
    for law in ("FixedCorotated: A. Stomakhin", "NeoHookean: J. Bonet", "Fluid: J. J. Monaghan"):
        assert law in text
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(corners(2, 0.25, 0.75), WATER)
    assert "invertible" not in mpm.Simulation(scene, dx=DX, threads=1).cite()


def test_show_config_says_what_is_running():
    config = mpm.show_config()
    assert config.numpy == np.__version__ and config.mpm == mpm.__version__
    assert config.isa in config.isas and "scalar" in config.isas
    assert config.threads == mpm.get_num_threads()
    text = str(config)
    assert f"[{config.isa}]" in text and config.compiler in text and "threads" in text


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("MPM_NUM_THREADS", "3", 3), ("OMP_NUM_THREADS", "5,2", 5), ("OMP_NUM_THREADS", "nonsense", None)],
)
def test_number_of_threads_from_the_environment(monkeypatch, name, value, expected):
    for other in ("MPM_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(other, raising=False)
    available = mpm.get_num_threads()
    monkeypatch.setenv(name, value)
    assert mpm.get_num_threads() == (expected or available)
    monkeypatch.setenv("MPM_NUM_THREADS", "two")
    with pytest.raises(ValueError, match="MPM_NUM_THREADS = 'two': must be an integer"):
        mpm.get_num_threads()
    monkeypatch.setattr(mpm.base.config._config, "threads", 4)
    assert mpm.get_num_threads() == 4
    assert mixed(2).threads == 1  # what is given holds


def test_few_particles_start_few_threads_by_default(monkeypatch):
    monkeypatch.setattr(mpm.base.config._config, "threads", 3)
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Box((0.25, 0.25), (0.5, 0.5)), WATER)
    sim = mpm.Simulation(scene, dx=1 / 64, particles_per_cell=16)
    assert len(sim.particles) == 4096 and sim.threads == 1
    sim.add(mpm.shapes.Box((0.5, 0.25), (0.75, 0.5)), WATER)
    assert sim.threads == 2 == copy.deepcopy(sim).threads  # a default grows with what it is for, ...
    sim.add(mpm.shapes.Box((0.25, 0.5), (0.75, 0.75)), WATER)
    assert sim.threads == 3  # ... to what it would be without the rule
    started = []
    core = type("Core", (), {"step": lambda self, n, pause: started.append(self.threads)})()
    monkeypatch.setattr(sim, "_core", core)
    core.particles = 5000
    sim.step()
    sim.threads = 7  # what is asked for holds
    sim.step()
    assert started == [1, 7] and sim.threads == 7


@pytest.mark.parametrize("dim", [2, 3])
def test_a_spinning_body_starts_without_a_loss(dim):
    """Its particles carry the gradient of the rotation; with C = 0 the first step takes 2 % of the energy."""
    spin = 2.0 if dim == 2 else (0.5, -1.0, 2.0)
    scene = mpm.Scene([0] * dim, [1] * dim)
    jelly = mpm.materials.NeoHookean(E=1e3, nu=0.3, density=1000)
    scene.add(mpm.shapes.Ball([0.5] * dim, 0.2), jelly, angular_velocity=spin)
    sim = mpm.Simulation(scene, dx=1 / 16)
    before = sim.totals()
    x, v, C = (sim.particles[name] for name in ("x", "v", "C"))
    r = x - before.center_of_mass
    np.testing.assert_allclose(np.einsum("nij,nj->ni", C, r), v, atol=1e-12)
    sim.step()
    assert sim.totals().kinetic == pytest.approx(before.kinetic, rel=1e-12)  # measured 2e-16


def test_what_is_added_to_the_scene_later_is_not_in_the_simulation():
    scene = mpm.Scene([0, 0], [1, 1])
    jelly = mpm.materials.NeoHookean(E=1e3, nu=0.3, density=1000)
    scene.add(mpm.shapes.Box((0.25, 0.25), (0.5, 0.5)), jelly)
    sim = mpm.Simulation(scene, dx=1 / 16)
    scene.add(mpm.shapes.Box((0.5, 0.5), (0.75, 0.75)), jelly)
    assert len(sim.scene.bodies) == 1 and len(scene.bodies) == 2
    assert sim.scene.walls == scene.walls


def test_values_by_particle_are_given_by_a_function():
    scene, at = mpm.Scene((0, 0), (1, 1)), np.random.default_rng(0).uniform(0.3, 0.6, (20, 2))
    points, rubber = mpm.shapes.Points(at, volume=1e-3), mpm.materials.NeoHookean(E=1, nu=0, density=1)
    with pytest.raises(
        ValueError, match=r"velocity has shape \(20, 2\): must be \(2,\), or callable: velocity=lambda"
    ):
        scene.add(points, rubber, velocity=at)
    with pytest.raises(
        ValueError, match=r"F has shape \(20, 2, 2\): must be \(2, 2\), or callable: F=lambda"
    ):
        scene.add(points, rubber, F=np.tile(np.eye(2), (20, 1, 1)))
    scene.add(points, rubber, velocity=lambda x: at)
    np.testing.assert_array_equal(
        mpm.Simulation(scene, dx=1 / 8).particles.v, at
    )  # in the order of the points


def test_a_domain_beyond_single_precision_is_told():
    scene = mpm.Scene((0, 0), (1e50, 1e50))
    scene.add(mpm.shapes.Box((1e49, 1e49), (5e49, 5e49)), mpm.materials.Fluid(bulk_modulus=1, density=1))
    with pytest.raises(ValueError, match=r"upper or lower reach to 1e\+50 m: must be a float32 number"):
        mpm.Simulation(scene, dx=1.25e49, dtype="float32")
