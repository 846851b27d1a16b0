"""Dual views: live arrays over particles that the core keeps in an order of its own."""

import numpy as np
import pytest

import mpm
import scenes
from loops import each

every_dim = pytest.mark.parametrize("dim", scenes.DIMS)
every_dtype = each("dtype", scenes.DTYPES)

WRITABLE = ("x", "v", "C", "F")
READ_ONLY = ("mass", "volume", "material", "id")


def body(dim=2, law="neo_hookean", side=6, **numerics):
    return scenes.free_body(dim, law, side, **numerics)


# --- live, and row by row --------------------------------------------------------------------------------------


@every_dim
@every_dtype
def test_shapes_and_types(dim, dtype):
    sim = body(dim, dtype=dtype)
    n, p = len(sim.particles), sim.particles
    shapes = {"x": (n, dim), "v": (n, dim), "F": (n, dim, dim), "C": (n, dim, dim)}
    for name in p.fields:
        assert p[name].shape == shapes.get(name, (n,)), name
        assert p[name].dtype == {"material": np.int32, "id": np.int64}.get(name, np.dtype(dtype)), name
        assert p[name].flags.c_contiguous
        np.testing.assert_array_equal(getattr(p, name), p[name])
    assert set(p.fields) == {*WRITABLE, *READ_ONLY, "J"}


@every_dim
@every_dtype
def test_a_view_taken_before_a_run_shows_the_state_after_it(dim, dtype):
    sim, twin = body(dim, dtype=dtype), body(dim, dtype=dtype)
    views = {name: sim.particles[name] for name in sim.particles.fields}
    before = {name: view.copy() for name, view in views.items()}
    for _ in range(3):
        sim.step(7)
        twin.step(7)
        for name, view in views.items():
            np.testing.assert_array_equal(view, twin.particles[name], err_msg=name)
    for name in ("x", "v", "C", "F", "J"):
        assert not np.array_equal(views[name], before[name]), name
    for name in READ_ONLY:
        np.testing.assert_array_equal(views[name], before[name])


@every_dim
def test_two_views_of_a_field_are_one_memory(dim):
    sim = body(dim)
    first, second = sim.particles.v, sim.particles["v"]
    assert np.shares_memory(first, second)
    first[3] = 0.125
    assert (second[3] == 0.125).all() and (sim.particles.v[3] == 0.125).all()


@every_dim
def test_row_k_stays_the_same_particle(dim):
    """The core sorts by blocks; rows keep mass and id, and move continuously."""
    sim = body(dim, side=12, dt=5e-4)
    p = sim.particles
    mass, ids = p.mass.copy(), p.id.copy()
    assert len(np.unique(mass)) == len(mass)
    x = p.x.copy()
    for _ in range(20):
        sim.step(50)
        np.testing.assert_array_equal(p.mass, mass)
        np.testing.assert_array_equal(p.id, ids)
        assert np.abs(p.x - x).max() < 50 * 5e-4 * 3  # speeds are below 3 m/s
        x = p.x.copy()
    assert sim.health["binnings"] > 5
    assert np.abs(x - body(dim, side=12).particles.x).max() > 4 * sim.dx


@every_dim
@every_dtype
def test_writes_count_from_the_next_step(dim, dtype):
    """Changing the state through views gives the run of a simulation made with that state."""
    x = scenes.jittered(dim, 6, 1 / 64) - 0.2
    rng = np.random.default_rng(0)
    v, F = rng.normal(size=x.shape), np.eye(dim) + 0.1 * rng.uniform(-1, 1, (len(x), dim, dim))

    def make(x, **state):
        scene = mpm.Scene([-1] * dim, [1] * dim)
        scene.add(mpm.shapes.Points(x, volume="per-cell"), scenes.MATERIALS["neo_hookean"], **state)
        return mpm.Simulation(scene, dx=1 / 32, dtype=dtype)

    made = make(x, velocity=lambda _: v, F=lambda _: F)
    written = make(np.full_like(x, 0.1))
    views = [written.particles[name] for name in ("x", "v", "F")]
    for view, values in zip(views, (x, v, F), strict=True):
        view[...] = values
    del views, view  # the buffers are released before the step: what was written counts all the same
    made.step(10)
    written.step(10)
    for name in WRITABLE:
        a, b = made.particles[name], written.particles[name]
        # x was rounded on its way into a float32 array, and particles lie in other tiles
        limit = {"float64": 1e-11, "float32": 1e-3}[dtype]  # measured 4e-14, 6e-5
        assert np.abs(a - b).max() <= limit * np.abs(a).max(), name


@pytest.mark.parametrize("law", scenes.LAWS)
@every_dim
@every_dtype
def test_every_field_of_every_law_is_live(law, dim, dtype):
    """The fields of its history, too: they show the state, and what is written to them is the state."""
    sim, twin = body(dim, law, dtype=dtype), body(dim, law, dtype=dtype)
    views = {name: sim.particles[name] for name in sim.particles.fields}
    kept = {field["name"] for field in mpm.materials.laws.registry()[law]["history"]}
    written = {name for name, view in views.items() if view.flags.writeable}
    assert written == {"x", "v", "C", mpm.materials.laws.registry()[law]["strain"]} | kept
    sim.step(12), twin.step(12)
    for name, view in views.items():
        np.testing.assert_array_equal(view, twin.particles[name], err_msg=name)
    for name in written - {"x"}:  # which may be rounded once
        view, before = views[name], twin.particles[name][3]
        value = (1.0625 * view[4] + 2.0**-20).astype(dtype)
        view[3] = value
        sim.totals()  # reads it in
        np.testing.assert_array_equal(view[3], value, err_msg=name)
        assert sim.state_hash() != twin.state_hash(), name
        view[3] = before
    assert sim.state_hash() == twin.state_hash()


@every_dim
def test_a_write_moves_particles_across_the_domain(dim):
    sim = body(dim)
    far = np.array([0.9, -0.9, 0.9])[:dim]
    sim.particles.x[5] = far
    sim.particles.v[5] = 0
    sim.step()
    resident = sim.particles.x[5].copy()
    np.testing.assert_allclose(resident, far, rtol=4e-16)  # x reads cells in a block: it may be rounded once
    sim.step(20)  # alone out there: it rests
    np.testing.assert_array_equal(sim.particles.x[5], resident)


@every_dim
def test_writes_show_in_totals_and_hash_at_once(dim):
    sim = body(dim)
    before = sim.state_hash()
    sim.particles.v = np.ones((len(sim.particles), dim))
    assert sim.totals().momentum == pytest.approx(np.full(dim, sim.totals().mass), rel=1e-14)
    assert sim.state_hash() != before


@every_dim
def test_J_and_F_follow_each_other(dim):
    solid, fluid = body(dim), body(dim, "fluid")
    held = solid.particles.J
    solid.particles.F = np.eye(dim)[None] * 1.1
    for J in (solid.particles.J, held):  # before anything else has looked
        np.testing.assert_allclose(J, 1.1**dim, rtol=1e-14)
    assert not held.flags.writeable
    solid.particles.v[0] = np.nan  # of no importance to J
    solid.particles.F[0] = 0
    with pytest.raises(mpm.SimulationError, match="det F <= 0 was written to 1 particle"):
        solid.particles.J  # noqa: B018
    solid.particles.F[0] = np.eye(dim) * 1.2
    assert solid.particles.J[0] == pytest.approx(1.2**dim, rel=1e-14)
    fluid.particles.J = np.linspace(0.9, 1.1, len(fluid.particles))
    np.testing.assert_allclose(np.linalg.det(fluid.particles.F), fluid.particles.J, rtol=1e-14)
    assert not fluid.particles.F.flags.writeable


@every_dim
def test_read_only_fields(dim):
    for law, names in (("neo_hookean", (*READ_ONLY, "J")), ("fluid", (*READ_ONLY, "F"))):
        sim = body(dim, law)
        before = sim.state_hash()
        for name in names:
            with pytest.raises(ValueError, match="read-only"):
                sim.particles[name][...] = 1
            with pytest.raises(ValueError, match="cannot set WRITEABLE"):
                sim.particles[name].setflags(write=True)
            with pytest.raises(ValueError, match=f"sim.particles.{name} is read-only"):
                setattr(sim.particles, name, 1)
        assert sim.state_hash() == before


# --- bad values ------------------------------------------------------------------------------------------------------


def bad_values(dim):
    nan = np.full((dim, dim), np.nan)
    flip = np.eye(dim)
    flip[0, 0] = -1
    flat = np.eye(dim)
    flat[0, 0] = 0
    return [("x", np.nan), ("v", np.inf), ("v", -np.nan), ("C", nan), ("F", nan), ("F", flip), ("F", flat)]


@every_dim
@every_dtype
@pytest.mark.parametrize("case", range(7))
def test_bad_values_are_found_and_left_for_mending(dim, dtype, case):
    field, value = bad_values(dim)[case]
    sim, twin = body(dim, dtype=dtype), body(dim, dtype=dtype)
    sim.step(3)
    twin.step(3)
    view = sim.particles[field]
    good = view.copy()
    view[[2, 30]] = value
    for call in (sim.step, sim.totals, lambda: sim.run(0.1), sim.stable_dt):
        with pytest.raises(mpm.SimulationError, match="correct") as caught:
            call()
        assert type(caught.value) is mpm.SimulationError
        assert caught.value.rows == [2, 30]
        assert (caught.value.step, caught.value.time) == (3, sim.time)
    assert sim.steps == 3
    np.testing.assert_array_equal(view[[2, 30]], np.broadcast_to(value, view[[2, 30]].shape).astype(dtype))
    np.testing.assert_array_equal(sim.particles[field], view)
    view[[2, 30]] = good[[2, 30]]
    sim.step(3)
    twin.step(3)
    assert sim.state_hash() == twin.state_hash()


@every_dim
def test_bad_volume_ratios_of_fluids(dim):
    sim = body(dim, "fluid")
    for value in (0.0, -1.0, np.nan):
        sim.particles.J[7] = value
        with pytest.raises(mpm.SimulationError) as caught:
            sim.step()
        assert caught.value.rows == [7]
    sim.particles.J[7] = 1
    sim.step()


def test_the_list_of_bad_rows_is_limited_and_ascending():
    sim = body(2, side=40)
    sim.particles.v = np.full((1600, 2), np.nan)
    with pytest.raises(mpm.SimulationError, match="1600 particle") as caught:
        sim.step()
    assert caught.value.rows == list(range(1000))


def test_in_a_mixture_the_field_that_is_no_state_is_refused():
    sim = scenes.three_materials(2, 20)
    fluid = np.flatnonzero(sim.particles.material == scenes.LAWS.index("fluid"))[0]
    sim.particles.F[fluid, 0, 0] *= 1.01
    with pytest.raises(mpm.SimulationError, match="write the other one") as caught:
        sim.step()
    assert caught.value.rows == [fluid]


@every_dim
def test_in_a_mixture_F_of_solids_and_J_of_fluids_are_written_together(dim):
    sim = scenes.three_materials(dim, 20 if dim == 2 else 8)
    fluid = sim.particles.material == scenes.LAWS.index("fluid")
    F, J = 1.01 * np.eye(dim), 0.99
    sim.particles.F[~fluid] = F
    sim.particles.J[fluid] = J
    sim.totals()
    assert (sim.particles.F[~fluid] == F).all() and (sim.particles.J[fluid] == J).all()
    np.testing.assert_allclose(sim.particles.J[~fluid], 1.01**dim, rtol=1e-14)
    np.testing.assert_allclose(np.linalg.det(sim.particles.F[fluid]), J, rtol=1e-14)
