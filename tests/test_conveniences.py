"""Small things: forces of colliders, tables of settings, checks of runs, names in several places."""

import numpy as np
import pytest

import mpm
from mpm import fem, materials, point, shapes, sph

dims = pytest.mark.parametrize("dim", [2, 3])
SOLID = materials.NeoHookean(E=1e5, nu=0.3, density=1000)


def pressed(dim=2, dtype="float64", method="mpm"):
    """A block on the ground under gravity, with a plate that presses it."""
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[*[0] * (dim - 1), -9.81])
    scene.add(shapes.Box([0.25] * (dim - 1) + [0], [0.75] * (dim - 1) + [0.5]), SOLID, name="block")
    down = [0.0] * (dim - 1) + [-0.2]
    scene.add_collider(
        shapes.Box([0.25] * (dim - 1) + [0.5], [0.75] * (dim - 1) + [1]),
        motion=mpm.motion.Linear(down),
        name="plate",
    )
    if method == "fem":
        return fem.Simulation(scene, spacing=0.125, dtype=dtype, threads=1)
    return mpm.Simulation(scene, dx=0.125, dtype=dtype, threads=1)


@dims
@pytest.mark.parametrize("method, dtype", [("mpm", "float64"), ("mpm", "float32"), ("fem", "float64")])
def test_forces_are_impulses_over_time(dim, method, dtype):
    sim = pressed(dim, dtype, method)
    with pytest.raises(ValueError, match="name = 'plate': has no force yet"):
        sim.force("plate")
    sim.run(0.05)
    history = sim.history
    time, impulse = history["time"], history["impulse:plate"]
    assert np.allclose(history["force:plate"][1:], impulse[1:] / np.diff(time)[:, None], rtol=1e-12)
    assert not history["force:plate"][0].any() and "force:plate" not in list(history)
    assert np.array_equal(sim.force("plate"), history["force:plate"][-1])
    for window in (0.01, 0.02, 1.0):
        first = max(0, np.searchsorted(time, time[-1] - window * (1 - 1e-9), "right") - 1)
        mean = impulse[first + 1 :].sum(axis=0) / (time[-1] - time[first])
        assert np.allclose(sim.force("plate", window=window), mean)
    # Newton's second law over the whole run.
    total = sim.totals()
    gravity = total.mass * sim.scene.gravity
    change = (total.momentum - history["momentum"][0]) / time[-1]
    found = sim.force("plate", window=1) + sim.force("walls", window=1) + gravity
    assert np.allclose(found, change, atol=(1e-9 if dtype == "float64" else 1e-3) * total.mass * 9.81)
    with pytest.raises(ValueError, match="name = 'plat': must be one of 'plate', 'walls'"):
        sim.force("plat")


@dims
def test_a_force_is_drawn_over_a_displacement(dim, tmp_path):
    sim = pressed(dim)
    sim.run(0.02)
    lines = mpm.plot.history(sim, x="displacement:plate", y="force:plate")
    assert len(lines) == dim
    axis = "xyz"[dim - 1]
    assert np.allclose(lines[-1].get_xdata(), -0.2 * sim.history["time"])
    assert np.array_equal(lines[-1].get_ydata(), sim.history["force:plate"][:, -1])
    assert lines[-1].axes.get_xlabel() == f"displacement:plate {axis} [m]"
    assert lines[-1].axes.get_ylabel() == f"force:plate [{'N/m' if dim == 2 else 'N'}]"
    (line,) = mpm.plot.history(sim, "kinetic", x="momentum")
    assert np.array_equal(line.get_xdata(), sim.history["momentum"][:, -1])
    with pytest.raises(ValueError, match="x = 'displacement:plat'"):
        mpm.plot.history(sim, x="displacement:plat")
    with pytest.raises(ValueError, match="y = 'kinetic': must not be given with columns"):
        mpm.plot.history(sim, "kinetic", y="kinetic")


def test_runs_are_compared_in_plots(tmp_path):
    runs = {"coarse": pressed(2), "elements": pressed(2, method="fem")}
    for run in runs.values():
        run.run(0.02)
    found = mpm.compare(runs, columns=["kinetic", "momentum"])
    lines = found.plot("kinetic")
    assert [line.get_label() for line in lines] == ["coarse", "elements"]
    assert np.array_equal(lines[1].get_ydata(), found["kinetic"][1])
    assert lines[0].axes.get_ylabel() == "kinetic [J/m]" and len(found.plot()) == 6
    drawn = mpm.compare_plot(runs, color="speed", limits=(0, 1))
    assert drawn.axes.shape == (1, 2) and drawn.runs == tuple(runs.values())
    assert [ax.get_title() for ax in drawn.axes[0]] == ["coarse", "elements"]
    with runs["coarse"].record(tmp_path / "a.vtkhdf", fps=100):
        runs["coarse"].run(0.02)
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        drawn = mpm.compare_plot({"a": frames, "b": frames}, times=[0, 0.01, 0.02], hide="plate")
        assert drawn.axes.shape == (3, 2)
    with pytest.raises(ValueError, match="times = 1: must not be given with 'coarse'"):
        mpm.compare_plot(runs, times=1)
    with pytest.raises(ValueError, match="source: has runs in 2-D and 3-D"):
        mpm.compare_plot([pressed(2), pressed(3)])


def test_settings_as_a_table():
    sim = pressed(2)
    lines = sim.settings_table().splitlines()
    assert set(lines[1]) <= set("|-:")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert (
        cells[0] == ["", "setting", "value", "unit"] and ["NeoHookean · block", "E", "100000", "Pa"] in cells
    )
    assert ["", "dx", "0.125", "m"] in cells or ["Numerics", "dx", "0.125", "m"] in cells
    assert len({len(line) for line in lines}) == 1 and all(len(row) == 4 for row in cells)
    latex = sim.settings_table("latex")
    assert r"NeoHookean $\cdot$ block & E & 100000 & Pa \\" in latex and "kg/m$^3$" in latex
    assert "_" not in latex.replace(r"\_", "") and latex.count(r"\\") == len(lines) - 1
    with pytest.raises(ValueError, match="format = 'html'"):
        sim.settings_table("html")


@pytest.mark.parametrize("method", ["mpm", "sph", "fem"])
def test_what_a_run_conserves_is_asserted(method):
    name = {"mpm": "disks", "sph": "dam-break", "fem": "disk-wall"}[method]
    sim = mpm.gallery.get(name).simulation(method=method, scale=0.5)
    assert isinstance(sim, {"mpm": mpm.Simulation, "sph": sph.Simulation, "fem": fem.Simulation}[method])
    with pytest.raises(ValueError, match="sim: has taken no step"):
        mpm.testing.assert_conserved(sim)
    sim.run(0.01)
    mpm.testing.assert_conserved(sim, mass=1e-14, momentum=1e-11)
    if method == "mpm":
        mpm.testing.assert_conserved(sim, angular_momentum=1e-10, energy=1e-3)
        sim.particles.v[:] *= 1.5
        sim.step(3)
        with pytest.raises(AssertionError, match=r"P_x departs by .* allowed is 1e-11; "):
            sim.particles.v[0] += 1
            sim.step(1)
            mpm.testing.assert_conserved(sim, momentum=1e-11, energy=1e-3)


def test_orders_of_convergence():
    assert mpm.testing.orders(lambda h: 2 * h**3, [0.4, 0.2, 0.05]) == pytest.approx([3, 3])
    assert mpm.testing.orders([4.0, 1.0], [0.2, 0.1]) == pytest.approx([2])
    for arguments, message in (
        (([1.0, 0.0], [0.2, 0.1]), "error = .*: must be > 0"),
        (([1.0], [0.2]), "dx = .*: must be at least two numbers"),
        (([1.0, 2.0, 3.0], [0.2, 0.1]), "error has shape"),
    ):
        with pytest.raises(ValueError, match=message):
            mpm.testing.orders(*arguments)


def test_strains_and_rates_of_material_tests():
    """A strain is another word for the path of a test, a rate for its duration."""
    pairs = (
        (point.uniaxial_stress, {"stretch": [1.1, 0.9]}, {"strain": [0.1, -0.1]}),
        (point.simple_shear, {"shear": 0.2}, {"strain": 0.2}),
        (point.oedometer, {"axial_strain": 0.1}, {"strain": 0.1}),
        (point.relaxation, {"stretch": 1.1}, {"strain": 0.1}),
    )
    for test, own, strain in pairs:
        assert np.allclose(
            test(SOLID, **own, steps=4).stress, test(SOLID, **strain, steps=4).stress, rtol=1e-12
        )
        with pytest.raises(ValueError, match=r"strain = .*: must not be given with"):
            test(SOLID, **own, **strain)
        with pytest.raises(TypeError, match="must be given, or strain"):
            test(SOLID)
    timed = point.uniaxial_stress(SOLID, strain=[0.1, -0.1], rate=0.5, steps=2)
    assert timed.times == pytest.approx([0, 0.1, 0.2, 0.4, 0.6])
    thick = materials.Viscoelastic(E=1e5, nu=0.3, density=1, g_1=0.5, tau_1=0.1)
    fast, slow = (point.simple_shear(thick, strain=0.1, rate=rate).shear_stress[-1] for rate in (100, 0.01))
    assert fast > 1.9 * slow  # 1/(1 − g_1) = 2
    same = point.simple_shear(thick, strain=0.1, duration=0.5).shear_stress
    assert np.allclose(point.simple_shear(thick, strain=0.1, rate=0.2).shear_stress, same, rtol=1e-12)
    with pytest.raises(ValueError, match="rate = 1: must not be given with duration"):
        point.oedometer(SOLID, strain=0.1, rate=1, duration=1)


def test_parameters_are_fitted_by_the_names_of_the_class():
    pytest.importorskip("scipy")
    metal = {"A": 3e8, "B": 1e8, "n": 0.3, "shear_modulus": 3e10, "melting_temperature": 900, "density": 2700,
             "specific_heat": 900}  # fmt: skip
    true, guess = (materials.JohnsonCook(**metal, sound_speed=c) for c in (5200.0, 4000.0))

    def squeezed(material):
        return point.oedometer(material, strain=0.01, steps=3, duration=1e-3).axial_stress[1:]

    found = point.fit(guess, squeezed(true), response=squeezed, parameters=["sound_speed"])
    assert found.material.sound_speed == pytest.approx(5200, rel=1e-6)
    hard = materials.hardening.Voce(saturation=2e8, rate=30)
    steel = materials.VonMises(E=2e11, nu=0.3, yield_stress=2e8, density=7800, hardening=hard)

    def pulled(material):
        return point.uniaxial_stress(material, strain=0.05, steps=20).axial_stress[1:]

    guess = materials.VonMises(
        E=2e11,
        nu=0.3,
        yield_stress=2e8,
        density=7800,
        hardening=materials.hardening.Voce(saturation=1e8, rate=20),
    )
    names = ["hardening.saturation", "hardening.rate"]
    found = point.fit(guess, pulled(steel), response=pulled, parameters=names)
    assert found.material.hardening.saturation == pytest.approx(2e8, rel=1e-4)
    assert found.material.hardening.rate == pytest.approx(30, rel=1e-4) and set(found.errors) == set(names)
    with pytest.raises(ValueError, match="parameters = 'bulk_modulus': must be one of"):
        point.fit(true, [1.0], response=squeezed, parameters=["bulk_modulus"])


def test_meshes_keep_their_report_where_they_are_moved():
    mesh = shapes.Mesh(mpm.gallery.CUBE_MESH)
    moved = mesh.scale(2).rotate(0.3, axis=(1, 0, 0)).translate((1, 2, 3))
    assert moved.report.watertight and moved.report.signed_volume == pytest.approx(
        8 * mesh.report.signed_volume
    )
    with pytest.raises(AttributeError, match="report"):
        shapes.Ball((0, 0, 0), 1).scale((1, 2, 3)).report  # noqa: B018


@pytest.mark.parametrize("name", ["Damage", "fracture", "PhaseField"])
def test_damage_is_where_it_is_to_be_had(name):
    with pytest.raises(AttributeError, match=r"UserLaw with history=\[HistoryField\('damage'\)\]"):
        getattr(materials, name)
    with pytest.raises(TypeError, match=r"'damage'; D1=... is a strain to failure"):
        materials.JohnsonCook(damage=0.1)


def test_a_fit_is_drawn_beside_its_data():
    found = mpm.point.Fit(None, np.array([0.5, -0.5, 0.0]), {})
    line = found.plot([3, 1, 2], [10.0, 20.0, 30.0])
    assert line.get_xydata().tolist() == [[1, 19.5], [2, 30], [3, 10.5]]
    points = line.axes.lines[0]
    assert points.get_xydata().tolist() == [[3, 10], [1, 20], [2, 30]]
    with pytest.raises(ValueError, match=r"data .*\(3,\)"):
        found.plot([3, 1, 2], [10.0])
