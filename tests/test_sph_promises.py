"""SPH: what a solver promises, and what the method refuses."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import mpm
from mpm.sph import operators
from sph_scenes import SYRUP, WATER, dam, scene_of


def test_densities_of_many_particles_are_their_sums():
    """So many that cells, too, are added up by several threads."""
    scene = scene_of(WATER, mpm.shapes.Box((0.2, 0.2), (0.8, 0.8)))
    found = []
    for threads in (1, 3):
        sim = mpm.sph.Simulation(scene, spacing=1 / 320, threads=threads)
        sim.particles.x[:] += np.random.default_rng(1).uniform(-0.3, 0.3, sim.particles.x.shape) / 320
        sim.totals()
        found.append(sim.particles.J.copy())
    x, mass, h = sim.particles.x, sim.particles.mass, sim.smoothing_length
    assert len(x) == 192**2 and np.array_equal(*found)
    rho = operators.density(x, mass, h, operators.neighbours(x, h))
    np.testing.assert_allclose(found[0], 1000 / rho, rtol=1e-13)  # 9e-16


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_pauses_and_looks_change_no_bit(dtype):
    def state(threads, parts, look=False):
        scene = scene_of(
            SYRUP, mpm.shapes.Box((0, 0, 0), (0.5, 0.5, 1)), (0,) * 3, (1, 0.5, 1), gravity=(0, 0, -9.81)
        )
        sim = mpm.sph.Simulation(scene, spacing=1 / 12, alpha=0.1, xsph=0.1, threads=threads, dtype=dtype)
        for part in parts:
            sim.step(part)
            if look:
                sim.particles.x.sum(), sim.particles.J.max(), sim.totals(), sim.stable_dt()
        return sim.state_hash()

    first = state(1, [20])
    assert {state(2, [20]), state(3, [10, 10]), state(7, [1] * 20, look=True)} == {first}


def test_files_copies_and_pickles_go_on_bit_for_bit(tmp_path):
    sim = dam()
    sim._core.add_field("dye", "1", "scalar", 0.5)
    sim.run(0.1)
    sim.particles.dye[:50] = 1
    sim.save(tmp_path / "a.mpm")
    again = [mpm.load(tmp_path / "a.mpm"), copy.copy(sim), pickle.loads(pickle.dumps(sim))]
    sim.run(0.1)
    for one in again:
        one.run(0.1)
        assert one == sim and one.state_hash() == sim.state_hash() and not mpm.diff(one, sim)
        assert (
            np.array_equal(one.history["wall_impulse"], sim.history["wall_impulse"])
            and one.particles.dye[3] == 1
        )
    code = f"import mpm; sim = mpm.load({str(tmp_path / 'a.mpm')!r}); sim.run(0.1); print(sim.state_hash())"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == sim.state_hash()


def test_views_are_live_through_the_sorts():
    sim = dam()
    x, v, ids = sim.particles.x, sim.particles.v, sim.particles.id.copy()
    where = x.copy()
    sim.run(0.2)
    assert np.abs(x - where).max() < 0.5 and np.shares_memory(x, sim.particles.x)  # rows stay rows
    assert np.array_equal(sim.particles.id, ids) and not sim.particles.J.flags.writeable
    v[:] = 0
    sim.step()
    assert np.abs(sim.particles.v).max() < 9.81 * sim.dt + 2 * sim.dt * 1e3


def test_what_is_written_outside_meets_on_leave():
    sims = {fate: dam(on_leave=fate) for fate in ("raise", "clamp", "delete")}
    for sim in sims.values():
        sim.particles.x[[3, 7]] = (-0.1, 0.5), (3.2, 0.4)
    with pytest.raises(mpm.EscapeError, match="2 particle") as caught:
        sims["raise"].step()
    assert caught.value.rows == [3, 7]
    sims["raise"].particles.x[[3, 7]] = (0.1, 1.5), (0.2, 1.5)
    for sim in sims.values():
        sim.step()
    assert (
        sims["clamp"].particles.x[3, 0] == pytest.approx(0, abs=0.02) and sims["clamp"].health["clamped"] == 2
    )
    assert len(sims["delete"].particles) == 198 and sims["delete"].health["deleted"] == 2
    mixed = dam(on_leave={"x-": "clamp", "x+": "delete"})
    mixed.particles.x[[3, 7]] = (-0.1, 0.5), (3.2, 0.4)
    mixed.step()
    assert len(mixed.particles) == 199 and mixed.particles.x[3, 0] == pytest.approx(0, abs=0.02)
    assert mixed.health["clamped"] == mixed.health["deleted"] == 1
    mixed.particles.x[[3, 7]] = (-0.1, 0.5), (0.5, -0.4)
    with pytest.raises(mpm.EscapeError) as caught:
        mixed.step()
    assert caught.value.rows == [7] and mixed.particles.x[3, 0] == -0.1  # nothing has changed
    sims["clamp"].particles.v[5] = np.nan
    with pytest.raises(mpm.SimulationError, match="not finite"):
        sims["clamp"].step()


def test_particles_come_and_go():
    sim = dam()
    sim.run(0.05)
    body = sim.add(mpm.shapes.Ball((2, 1.5), 0.2), WATER, velocity=(1, 0), name="drop")
    rows = sim.rows("drop")
    assert body.name == "drop" and rows.start == 200 and sim.particles.v[rows][:, 0].min() == 1
    sim.particles.delete(sim.particles.x[:, 1] < 0.2)
    sim.run(0.05)
    assert sim.rows("drop").stop == len(sim.particles) and sim.health["deleted"] == 40
    with pytest.raises(ValueError, match="all its"), pytest.warns(UserWarning):
        sim.add(mpm.shapes.Box((0.2, 0.3), (0.3, 0.5)), WATER)


def test_a_body_force_acts_beside_gravity():
    scene = mpm.Scene(
        (0, 0), (1, 1), gravity=(0, -1), body_force=lambda x, t: np.tile([2.0, 1.0], (len(x), 1))
    )
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.2), WATER)
    sim = mpm.sph.Simulation(scene, spacing=1 / 20)
    sim.run(0.1)
    first, last = sim.history["dt"][[1, -1]]
    middle = 0.1 + (first - last) / 2  # forces act from the middle of a step to that of the next one
    assert middle > 0.1
    assert sim.totals().momentum / sim.totals().mass == pytest.approx([2 * middle, 0], abs=1e-12)
    assert sim.history["body_impulse"].sum(axis=0) == pytest.approx(sim.totals().momentum)


def test_quantities_at_any_points():
    scene = scene_of(
        WATER, mpm.shapes.Box((0, 0), (1, 0.5)), velocity=lambda x: np.stack([1 + x[:, 1], 0 * x[:, 0]], 1)
    )
    sim = mpm.sph.Simulation(scene, spacing=1 / 20, smoothing=1.5, kernel="wendland")
    points = np.array([[0.5, 0.2], [0.02, 0.01], [0.5, 0.9], [0.31, 0.27]])
    density, v = sim.interpolate("density", points), sim.interpolate("v", points)
    assert density[[0, 1, 3]] == pytest.approx(1000, rel=1e-2) and density[2] == 0
    assert v[[0, 3], 0] == pytest.approx([1.2, 1.27], rel=1e-2) and v.shape == (4, 2)
    assert abs(sim.interpolate("v", [[1e-9, 0.2]])[0, 0]) < 1e-6  # mirrored at the wall
    assert sim.interpolate("stress", points).shape == (4, 2, 2)
    with pytest.raises(ValueError, match="name = 'presure'"):
        sim.interpolate("presure", points)


def test_it_is_recorded_drawn_and_described(tmp_path):
    sim = dam()
    with sim.record(tmp_path / "a.vtkhdf", fps=50, fields=["v", "pressure"]):
        sim.run(0.1)
    assert len(mpm.replay(tmp_path / "a.vtkhdf")) == 6
    text = repr(sim)
    assert "200 particles, t = 0.1 s" in text and "cubic kernel" in text and "Monaghan" in sim.cite()
    assert sim.materials[0].tension is False and sim.compute("pressure").min() == 0
    pytest.importorskip("matplotlib")
    sim.plot(color="pressure")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"spacing": 0.07}, "must be whole; extend the domain to upper = "),
        ({"spacing": 0.5, "smoothing": 1.5}, "spacings along an axis; must be >= 6"),
        ({"spacing": -1}, "spacing = -1"),
        ({"smoothing": 0.5}, "smoothing = 0.5"),
        ({"kernel": "gauss"}, "kernel = 'gauss'"),
        ({"viscosity": "none"}, "viscosity = 'none'"),
        ({"alpha": -0.1}, "alpha = -0.1"),
        ({"xsph": 2}, "xsph = 2"),
        ({"tension": 1}, "tension"),
        ({"dt": 0.1, "max_dt": 0.2}, "max_dt = 0.2"),
        ({"on_leave": "stay"}, "on_leave = 'stay'"),
        ({"dtype": "float16"}, "dtype = 'float16'"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        dam(**options)
    assert message in str(caught.value)


@pytest.mark.parametrize("size", [2.0**33, 2.0**-25])
@pytest.mark.parametrize("kernel", ["cubic", "wendland"])
def test_the_size_of_a_scene_changes_no_bit_of_single_precision(size, kernel):
    """A scene and the same, 2^k times larger, with all times and accelerations to match."""

    def after(size):
        fluid = mpm.materials.Fluid(bulk_modulus=1e5, density=1000, viscosity=0.1 * size)
        box = mpm.shapes.Box((0.25 * size,) * 3, (0.5 * size,) * 3)
        scene = scene_of(fluid, box, (0, 0, 0), (size,) * 3, gravity=(0, 0, -10 / size), velocity=(1, 0, 0))
        sim = mpm.sph.Simulation(
            scene, spacing=size / 16, kernel=kernel, alpha=0.1, xsph=0.1, dtype="float32"
        )
        sim.step(20)
        return sim.particles.x / np.float32(size)

    np.testing.assert_array_equal(after(size), after(1.0))


@pytest.mark.parametrize("spacing", [1e13, 1e-20])
def test_spacings_beyond_single_precision_are_refused(spacing):
    scene = scene_of(WATER, mpm.shapes.Ball((5 * spacing,) * 2, 2 * spacing), upper=(10 * spacing,) * 2)
    with pytest.raises(ValueError, match=r"spacing = .*: must be >= 1e-09 and <= 1e\+09 \[m for float32"):
        mpm.sph.Simulation(scene, spacing=spacing, dtype="float32")
    mpm.sph.Simulation(scene, spacing=spacing)


def test_what_the_method_cannot_do_is_refused():
    def refused(match, **options):
        with pytest.raises(ValueError, match=match):
            mpm.sph.Simulation(scene, spacing=1 / 20, **options)

    box = mpm.shapes.Box((0, 0), (0.5, 0.5))
    scene = scene_of(mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000), box)
    refused("must be an mpm.materials.Fluid")
    scene = scene_of(WATER, box)
    scene.add(mpm.shapes.Box((0.6, 0), (0.8, 0.5)), SYRUP)
    refused("must be the same")
    scene = scene_of(WATER, box, walls=mpm.Wall("slip", friction=0.2))
    refused(r"walls\['x-'\]: friction = 0.2")
    scene = scene_of(WATER, box, walls="separate")
    refused("contact = 'separate': with tension=True", tension=True)
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(box, WATER, F=[[1.1, 0], [0, 1]])
    refused("no deformation gradient")
    scene = scene_of(WATER, box)
    scene.add_collider(
        mpm.shapes.HalfSpace((0, -0.1), (0, 1)),
        contact="slip",
        motion=mpm.motion.Linear((0, 0.1)),
        name="floor",
    )
    refused("must be bounded")
    sim = dam(dt=0.1)
    with pytest.raises(mpm.InstabilityError, match="above the stable bound"):
        sim.step()


def test_repr_states_the_mass_and_survives_nan():
    sim = dam(kernel="wendland")
    share = sim.totals().mass / (WATER.density * 0.5)
    assert share == pytest.approx(0.9638, abs=1e-4) and f"each: {share:.4g})" in repr(sim)
    sim.particles.v[0] = np.nan
    assert "200 particles" in repr(sim)
