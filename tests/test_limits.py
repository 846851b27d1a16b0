"""The limits that docs/features.md states, for every method: counts, sizes, places, steps, stiffness."""

import warnings

import numpy as np
import pytest

import mpm
from mpm import fem
from mpm.base import memory
from mpm.materials import Fluid, NeoHookean
from mpm.shapes import Box, Cells, Points


def solid(E=1e4):
    return NeoHookean(E=E, nu=0.3, density=1000)


def fluid(E=1e4):
    return Fluid(bulk_modulus=E, density=1000)


# The solver, the name of its resolution, and a material of a stiffness [Pa].
METHODS = {
    "mpm": (mpm.Simulation, "dx", solid),
    "sph": (mpm.sph.Simulation, "spacing", fluid),
    "fem": (mpm.fem.Simulation, "spacing", solid),
}
each_method = pytest.mark.parametrize("method", METHODS)
each_dim = pytest.mark.parametrize("d", [2, 3])


def make(method, size=1 / 8, *, d=2, E=1e4, side=1.0, shape=None, gravity=0.0, velocity=0, **options):
    solver, name, material = METHODS[method]
    scene = mpm.Scene((0,) * d, (side,) * d, gravity=(0,) * (d - 1) + (-gravity,))
    body = Box((0.25 * side,) * d, (0.75 * side,) * d) if shape is None else shape
    scene.add(body, material(E), velocity=velocity)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bodies that are not resolved well
        return solver(scene, threads=1, **{name: size}, **options)


@each_dim
@each_method
def test_more_particles_than_an_int_counts_are_refused_before_anything_is_allocated(method, d):
    size = 10.0 ** (-8 + d)  # 2.5e11 and 1.3e14
    with pytest.raises(
        MemoryError, match=rf"{METHODS[method][1]} = {size:g} m: .* this machine holds at most"
    ):
        make(method, size, d=d)


def test_a_mesh_is_refused_while_it_is_counted(monkeypatch):
    monkeypatch.setattr(memory, "rows_in_memory", lambda *_: 1000)
    for d, spacing, most in ((2, 0.02, 500), (3, 0.1, 200)):  # 2,500 and 1,000 cells
        words = rf"spacing = {spacing} m: more than .* cells; this machine holds at most {most}"
        with pytest.raises(MemoryError, match=words):
            fem.mesh(Box([0] * d, [1] * d), spacing)


@each_method
def test_bodies_are_counted_together(method, monkeypatch):
    """Of about 800 rows each; the second one, and points, find no room any more."""
    monkeypatch.setattr(memory, "rows_in_memory", lambda *_: 1000)
    solver, name, material = METHODS[method]
    law, options = material(), {"threads": 1}
    size = {"mpm": 1 / 56, "sph": 1 / 112, "fem": 1 / 80}[method]
    halves = [Box((0, 0), (0.25, 0.25)), Box((0.5, 0.5), (0.75, 0.75))]
    for shapes in (halves[:1], halves):
        scene = mpm.Scene((0, 0), (1, 1))
        for shape in shapes:
            scene.add(shape, law)
        if len(shapes) == 1:
            sim = solver(scene, **{name: size}, **options)
            assert 700 < len(sim.particles if method != "fem" else sim.elements) < 900
        else:
            with pytest.raises(MemoryError, match="at most"):
                solver(scene, **{name: size}, **options)
    if method != "fem":
        with pytest.raises(MemoryError, match=r"particles beside the 784 of other bodies; .* at most 1e"):
            sim.add(halves[1], law)
        x = np.random.default_rng(0).random((300, 2))
        points = Points(x, volume=1e-6) if method == "mpm" else Points(x)
        with pytest.raises(
            MemoryError, match="shape of 'more': 300 particles beside the 784 of other bodies"
        ):
            sim.add(points, law, name="more")


def test_the_limit_of_a_control_group_counts(tmp_path):
    """Of version 1 and 2; a group without a limit, and a system without groups."""
    for line, name, folder in (
        ("4:memory:/a/b", "memory.limit_in_bytes", "memory/a"),
        ("0::/a/b", "memory.max", "a"),
    ):
        own, root = tmp_path / "cgroup", tmp_path / name
        own.write_text(f"3:cpu:/x\n{line}\n")
        (root / folder / "b").mkdir(parents=True)
        (root / folder / name).write_text("4096000\n")
        (root / folder / "b" / name).write_text("max\n")
        assert memory._limits_of_groups(str(own), str(root)) == [4096000]
    assert memory._limits_of_groups(str(tmp_path / "none")) == []
    rows = [memory.rows_in_memory(*case) for case in memory.SETUP]
    assert all(0 < row <= memory.available() / 140 for row in rows)


@each_dim
@pytest.mark.parametrize(("method", "most"), [("mpm", 30), ("sph", 20)])
def test_more_cells_per_side_are_refused(method, most, d):
    """A mesh has no cells of the domain."""
    with pytest.raises(ValueError, match=rf"{METHODS[method][1]} = .* the domain's size / 2\^{most}"):
        make(method, 2.0**-32, d=d, shape=Box((0.5,) * d, (0.5 + 2.0**-30,) * d))


@each_dim
@each_method
def test_a_million_cells_per_side_cost_what_the_particles_take(method, d):
    """In the far corner, about 10^6 cells from the origin; velocity 1 m/s for ten steps."""
    side = 2.0**20
    sim, near = (
        make(method, 1.0, d=d, side=s, shape=Box((s - 8,) * d, (s - 4,) * d), velocity=(-1,) + (0,) * (d - 1))
        for s in (side, 16)
    )
    for one in (sim, near):
        one.step(10)
    assert sum(sim._core.memory().values()) < 1.2 * sum(near._core.memory().values())  # equal
    moved = sim.particles.x - (side - 16) - near.particles.x
    assert np.abs(moved).max() < 1e-8  # an ulp is 1.2e-10; measured 2.4e-10


@each_dim
@each_method
@pytest.mark.parametrize(("dt", "E"), [(1e-12, 1e4), (1e3, 1e-9)])
def test_time_steps_from_a_picosecond_to_a_quarter_of_an_hour(method, dt, E, d):
    sim = make(method, d=d, E=E, dt=dt)
    sim.step(3)
    assert sim.time == pytest.approx(3 * dt, rel=1e-15) and np.isfinite(sim.particles.x).all()


@each_dim
@each_method
def test_a_step_above_the_bound_is_refused(method, d):
    with pytest.raises(mpm.InstabilityError, match=r"dt = 1000 s is above the stable bound"):
        make(method, d=d, dt=1e3).step()


@each_dim
@each_method
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_stiffness_scales_time_and_nothing_else(method, dtype, d):
    """Twelve orders of magnitude; the bound of the step goes with the root: measured 3e-8 in float32."""
    bounds = {E: make(method, d=d, E=E, dtype=dtype).stable_dt().dt * E**0.5 for E in (1.0, 1e6, 1e12)}
    assert list(bounds.values()) == pytest.approx([bounds[1.0]] * 3, rel=1e-6)
    for E in bounds:
        sim = make(method, d=d, E=E, dtype=dtype, gravity=9.81)
        sim.step(20)
        assert np.isfinite(sim.particles.x).all() and sim.time > 0


@each_dim
@pytest.mark.parametrize("method", ["mpm", "sph"])
def test_one_particle_falls(method, d):
    shape = Points([(0.5,) * d], volume=1 / 8**d) if method == "mpm" else Box((0.4,) * d, (0.52,) * d)
    sim = make(method, d=d, shape=shape, gravity=9.81)
    start, dt = sim.particles.x[0, -1], sim.stable_dt().dt / 4
    assert len(sim.particles) == 1
    sim.run(8 * dt, max_steps=1000)
    assert start - sim.particles.x[0, -1] == pytest.approx(
        9.81 * (8 * dt) ** 2 / 2, rel=0.3
    )  # first order in dt


@each_dim
def test_one_element_falls(d):
    corners = 0.4 + 0.2 * np.eye(d + 1, d, k=-1)
    sim = make("fem", d=d, shape=Cells(corners, [range(d + 1)]), gravity=9.81)
    sim.step(5)
    assert sim.particles.v[:, -1] == pytest.approx([-9.81 * sim.time] * (d + 1), rel=1e-9)


@each_dim
@pytest.mark.parametrize("method", ["mpm", "sph"])
def test_a_simulation_of_which_nothing_is_left_goes_on(method, d, tmp_path):
    sim = make(method, d=d)
    assert sim.particles.delete(slice(None)) == len(make(method, d=d).particles)
    sim.step(3)
    sim.run(0.01)
    sim.save(tmp_path / "a.mpm")
    again = mpm.load(tmp_path / "a.mpm")
    assert len(again.particles) == 0 and again.totals().mass == 0 and again.state_hash() == sim.state_hash()
    assert sim.time == pytest.approx(3 * sim.dt + 0.01, rel=1)


@each_method
def test_a_run_whose_steps_collapse_says_so(method):
    """Steps that the clock does not notice end the run; very many are told before, and max_steps bounds them."""
    stiff = make(method, E=1e22, gravity=9.81)
    with pytest.raises(UserWarning, match="this run needs about"):  # warnings are errors in these tests
        stiff.run(1.0)
    assert stiff.steps < 10
    with pytest.raises(mpm.errors.StepLimitError, match="max_steps"):
        stiff.run(1.0, max_steps=20)
    late = make(method, gravity=9.81)
    late.run(0.01)
    late.particles.v[:] = (1e18, 0)
    with pytest.raises(mpm.InstabilityError):
        late.run(1.0)
    assert late.time == 0.01
