"""What `mpm.fem.Simulation` promises as every solver: bits, files, live arrays, quantities, pictures, histories."""

import copy
import pickle

import numpy as np
import pytest

import mpm
from fem_scenes import (
    LAWS,
    busy,
    every_dim,
    every_isa,
    irregular,
    scene_of,
)
from loops import each
from mpm import fem
from mpm.io import checkpoint, container
from scenes import kernels


@every_isa
@each("dtype", ["float64", "float32"])
def test_threads_and_splits_change_no_bit(isa, dtype):
    with kernels(isa):
        one, three, split = (busy(3, 20, dtype=dtype, threads=n, damping=(0.1, 1e-4)) for n in (1, 3, 2))
    assert len(one.elements) > 2 * 4096  # more than two tasks
    one.step(20)
    three.step(20)
    for n in (1, 7, 12):
        split.step(n)
        split.totals()
    assert one == three and one == split
    assert one.state_hash() == three.state_hash() == split.state_hash()


@every_dim
def test_files_copies_and_pickles_go_on_bit_for_bit(d, tmp_path):
    sim = busy(d, damping=(0.1, 1e-4))
    sim.particles.add_field("warmth", rank="vector", unit="K", initial=2.0)[:, 0] = 1.0
    sim.step(20)
    sim.save(tmp_path / "a.mpm")
    again = [mpm.load(tmp_path / "a.mpm"), copy.copy(sim), pickle.loads(pickle.dumps(sim))]
    sim.step(20)
    for other in again:
        assert type(other) is fem.Simulation and other.steps == 20 and other.rows("box") == sim.rows("box")
        assert "particles.x" in mpm.diff(sim, other)
        other.step(20)
        assert other == sim and mpm.diff(sim, other) == {}
        assert repr(other).splitlines()[:-1] == repr(sim).splitlines()[:-1]  # the last has the memory
        assert np.array_equal(other.history["impulse:ball"], sim.history["impulse:ball"])


@each(
    "change, match",
    [
        (lambda tree, arrays: tree["numbers"]["options"].update(allow_unstable=[{}]), "allow_unstable"),
        (lambda tree, arrays: tree["numbers"]["options"].update(spacing=True), "spacing"),
        (lambda tree, arrays: tree["numbers"]["options"].update(other=1), "options"),
        (lambda tree, arrays: arrays["state.field.x"].fill(0.3), "crushed"),
        (lambda tree, arrays: arrays["state.field.x"].__setitem__(0, 99.0), "outside of the domain"),
        (lambda tree, arrays: arrays["state.field.v"].__setitem__(0, 1.7e308), "not finite"),
    ],
)
def test_a_forged_file_that_no_run_could_save_is_refused(change, match):
    """What tests/fuzz.py found: it was read, and its `state_hash` raised, or was another one after a copy."""
    sim = busy(2, damping=(0.1, 1e-4))
    sim.step(2)
    tree, arrays = container.unpack(checkpoint.dumps(sim))
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(tree, arrays)
    with pytest.raises(mpm.FileFormatError, match=match):
        checkpoint.loads(b"".join(container.pack(tree, arrays)))


def test_messages_speak_of_nodes_elements_and_the_spacing():
    def scene(shift=0.0):
        scene = mpm.Scene((shift, 0), (shift + 1, 1))
        for name in ("first", "second"):
            scene.add(
                mpm.shapes.Box((shift + 0.25, 0.25), (shift + 0.75, 0.75)), LAWS["corotated"], name=name
            )
        return scene

    buried = scene()
    buried.add_collider(mpm.shapes.Box((0, 0), (0.5, 1)), name="block")
    with pytest.warns(UserWarning) as caught:
        sim = fem.Simulation(buried, spacing=1 / 8)
    found = [str(one.message) for one in caught]
    assert any("elements of 'second' lie in 'first'" in text for text in found)
    assert any("nodes of 'first' start inside the collider 'block'" in text for text in found)
    assert repr(sim).startswith("<Simulation 2-D: 50 nodes, t = 0 s")
    with pytest.raises(ValueError, match=r"^spacing = 0.125: must be >= .* in a domain that reaches to"):
        fem.Simulation(scene(2.0**43), spacing=1 / 8)


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
    with pytest.raises(mpm.SimulationError, match=r"not finite were written to 1 node\(s\)") as caught:
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
    for name in sim.elements.fields:  # what is computed would be lost
        assert not sim.elements[name].flags.writeable
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
    assert [setting.key for setting in sim._settings()][-4:] == ["spacing", "dt", "max_dt", "history"]
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


@pytest.mark.parametrize(
    "options", [{}, {"integrator": "linearly-implicit-euler", "max_dt": 1e-3}], ids=["explicit", "implicit"]
)
def test_walls_win_over_colliders_and_nodes_stay_in_the_domain(options):
    scene = mpm.Scene((0, 0), (1, 1), walls="mirror")
    scene.add(mpm.shapes.Box((0.7, 0), (1, 0.3)), LAWS["fixed_corotated"])
    press = mpm.shapes.Box((0, -1), (0.69, 2))
    scene.add_collider(press, motion=mpm.motion.Linear((0.5, 0)), contact="separate")
    sim = fem.Simulation(scene, spacing=0.1, **options)
    sim.run(0.8)  # the press reaches the wall after 0.62 s
    assert sim.particles.x[:, 0].max() < 1.05  # explicit 1.005, implicit 1.0006
    sim.particles.x[0] = -1
    with pytest.raises(mpm.EscapeError, match=r"1 node.* outside of the domain.*first row 0") as caught:
        sim.run(0.01)
    assert caught.value.rows == [0]
    sim.particles.x[0] = (1, 0)
    sim.run(0.01)


def test_colliders_that_leak_are_warned_of():
    scene = scene_of(2, LAWS["corotated"])
    scene.add_collider(mpm.shapes.Box((-9, -2), (9, -1.9)), name="plate")
    with pytest.warns(
        UserWarning,
        match=r"'plate' is thinner than 2 spacing = 0\.5 m over .* choose a smaller spacing",
    ):
        fem.Simulation(scene, spacing=0.25)


def test_F_makes_the_rest_volume_of_particles_and_elements_as_documented():
    scene = mpm.Scene((0, 0), (2, 2))
    scene.add(mpm.shapes.Box((0.5, 0.5), (1, 1)), LAWS["corotated"], F=np.diag([1.1, 1.0]))
    elements, particles = fem.Simulation(scene, spacing=0.05), mpm.Simulation(scene, dx=0.05)
    assert particles.totals().mass == pytest.approx(250, rel=1e-12)
    assert elements.totals().mass == pytest.approx(250 / 1.1, rel=1e-12)
    for sim in (particles, elements):
        assert sim.compute("density") == pytest.approx(1000 / 1.1, rel=1e-12)
    assert "over det F = 1.1 (error of the volume +0.00%)" in repr(elements).replace("-0.00%", "+0.00%")


def test_errors_tell_methods_and_their_resolutions_apart():
    scene = scene_of(2, LAWS["corotated"], size=2)
    elements, particles = fem.Simulation(scene, spacing=0.5), mpm.Simulation(scene, dx=0.5)
    with pytest.raises(TypeError, match=r"must be an mpm\.fem\.Simulation as a is, not mpm\.Simulation$"):
        mpm.diff(elements, particles)
    with pytest.raises(TypeError, match="no option 'spacing'; its resolution is 'dx'"):
        mpm.Simulation(scene, spacing=0.5)
    for method in (fem, mpm.sph):
        with pytest.raises(TypeError, match="no option 'dx'; its resolution is 'spacing'"):
            method.Simulation(scene, dx=0.5)


@pytest.mark.parametrize(
    ("method", "match"),
    [
        ("verlet", r"step 1, t = 0\.02 s: the next step of 'verlet' with dt = 0\.02 s: elements are crushed"),
        (
            "explicit-euler",
            r"step 3, t = 0\.06 s: the state after a step of 'explicit-euler' with dt = 0\.02 s: elem",
        ),
    ],
)
def test_an_integrator_says_where_elements_were_crushed(method, match):
    """The steps are those of the integrator, not of the simulation that computes the forces."""
    scene = mpm.Scene((0, 0), (1, 1))
    solid = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)
    scene.add(mpm.shapes.Box((0.25, 0.25), (0.75, 0.5)), solid, velocity=lambda x: np.sin(9 * x))
    sim = mpm.fem.Simulation(scene, spacing=1 / 16)
    with pytest.raises(mpm.InstabilityError, match=match) as error:
        start = sim.particles.x, sim.particles.v
        mpm.integrators.integrate(sim.system(), *start, method=method, dt=0.02, steps=1000)
    assert error.value.step in (1, 3) and "correct x" not in str(error.value)


def test_a_mesh_of_its_own_says_the_length_of_its_edges_and_what_is_missing_says_what_to_do():
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -1))
    square = mpm.shapes.Cells([(0.25, 0), (0.75, 0), (0.75, 0.5), (0.25, 0.5)], [(0, 1, 2), (0, 2, 3)])
    scene.add(square, mpm.materials.Corotated(E=1e4, nu=0.3, density=1000))
    sim = mpm.fem.Simulation(scene, spacing=0.01)
    assert "linear triangles with edges of about 0.604 m" in repr(sim)  # of sqrt(1/2) and 1/2
    with pytest.raises(
        AttributeError, match=r"has no 'equilibrate': run with damping, .*; mpm\.Simulation has it"
    ):
        sim.equilibrate()


def test_what_labels_particles_has_no_values_between_them():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(
        mpm.shapes.Box((0.25, 0.25), (0.75, 0.75)), mpm.materials.Corotated(E=1e4, nu=0.3, density=1000)
    )
    for sim in (mpm.Simulation(scene, dx=0.125), mpm.fem.Simulation(scene, spacing=0.125)):
        for name in ("id", "material"):
            with pytest.raises(
                ValueError, match=f"name = '{name}': it labels particles .*; must be one of x, v"
            ):
                sim.interpolate(name, [(0.5, 0.5)])


def test_a_comparison_reads_like_a_history():
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -1))
    scene.add(
        mpm.shapes.Box((0.25, 0.25), (0.75, 0.75)), mpm.materials.Corotated(E=1e4, nu=0.3, density=1000)
    )
    runs = [mpm.Simulation(scene, dx=0.125), mpm.fem.Simulation(scene, spacing=0.125)]
    for sim in runs:
        sim.run(0.05)
    both = mpm.compare(runs, columns=("kinetic",), samples=10)
    assert both["time"] is both.time is both.times is both[1] and both["kinetic"] is both.values["kinetic"]
    names, _, values = both
    assert names == ("simulation", "fem") and values.keys() == {"kinetic"}
    with pytest.raises(KeyError, match="no column 'knetic'; there are time, kinetic; did you mean 'kinetic'"):
        both["knetic"]
    with pytest.raises(AttributeError, match=r"comparison\['kinetic'\]"):
        _ = both.kinetic
    with pytest.raises(AttributeError, match="did you mean 'time'"):
        _ = both.t
    assert repr(both).startswith("<Comparison of simulation, fem: kinetic at 10 times, ")
