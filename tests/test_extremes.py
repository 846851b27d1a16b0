"""Arguments that are numbers, but beyond all measure: refused or stopped with a reason, never a hang or a crash."""

import numpy as np
import pytest

import mpm
from mpm import materials, shapes
from mpm.base import memory

SOLID = materials.NeoHookean(E=1e4, nu=0.3, density=1000)
BOX = shapes.Box((0.25, 0.25), (0.75, 0.75))


def make(material=SOLID, *, gravity=None, side=1.0, **options):
    scene = mpm.Scene((0, 0), (side, side), gravity=gravity)
    numerics = {
        name: options.pop(name) for name in ("dx", "dtype", "dt", "allow_unstable") if name in options
    }
    scene.add(BOX.scale(side), material, **options)
    return mpm.Simulation(scene, threads=1, **{"dx": 0.125 * side, **numerics})


@pytest.mark.parametrize(
    "options",
    [
        {"material": materials.NeoHookean(E=1e308, nu=0.3, density=1e3)},
        {"material": materials.Fluid(bulk_modulus=1e308, density=1)},
        {"material": materials.Fluid(bulk_modulus=1, density=1, viscosity=1e300)},
        {"gravity": (1e300, 0)},
        {"velocity": (1e300, 0)},
        {"F": np.diag([1e150, 1e-150])},
    ],
    ids=lambda options: next(iter(options)),
)
def test_a_clock_that_would_stand_still_ends_the_run(options):
    sim = make(**options)
    with pytest.raises(mpm.InstabilityError, match="too small to advance the time"):
        sim.run(1.0)
    assert sim.steps <= 1 and len(sim.particles) == 64
    assert np.isfinite(sim.particles.x).all()


@pytest.mark.parametrize("transfer", ["apic", "flip"])
@pytest.mark.parametrize("dtype, speed", [("float64", 1e308), ("float32", 1.5e38)])
def test_a_step_whose_gradients_would_overflow_is_refused_before_anything_is_written(dtype, speed, transfer):
    scene = mpm.Scene((0, 0), (8, 8))
    scene.add(shapes.Box((2, 2), (5, 5)), materials.NeoHookean(E=1e5, nu=0.3, density=1e-3))
    sim = mpm.Simulation(scene, dx=1, dtype=dtype, transfer=transfer)
    sim.particles.v = (speed, 0)
    before = sim.state_hash()
    with pytest.raises(mpm.InstabilityError):
        sim.step()
    assert sim.steps == 0 and sim.state_hash() == before


def test_a_history_that_begins_beyond_the_precision_is_refused():
    clay = materials.CamClay(
        shear_modulus=1e5,
        density=1000,
        swelling=0.01,
        compression=0.1,
        critical_slope=1,
        preconsolidation=1e39,
    )
    make(material=clay)
    with pytest.raises(
        ValueError, match=r"preconsolidation = 1e\+39 of CamClay: is beyond the range of float32"
    ):
        make(material=clay, dtype="float32")


@pytest.mark.parametrize(("dtype", "density", "what"), [
    ("float64", 5e-324, "densities"), ("float64", 1e-307, "masses"), ("float32", 1e-37, "masses")
])  # fmt: skip
def test_particles_of_sph_whose_mass_underflows_are_refused(dtype, density, what):
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(BOX, materials.Fluid(bulk_modulus=1, density=density))
    with pytest.raises(ValueError, match=rf"{what} .* are beyond the range of {dtype}"):
        mpm.sph.Simulation(scene, spacing=1 / 8, dtype=dtype)


def test_the_doctor_of_a_fluid_whose_waves_are_beyond_all_numbers():
    sim = make(material=materials.Fluid(bulk_modulus=1e286, density=1e-45))
    assert "sound inf m/s" in str(mpm.doctor(sim))


def test_stresses_whose_squares_leave_the_range_of_numbers():
    def equivalent(E):
        solid = materials.NeoHookean(E=E, nu=0.3, density=1)
        bar = mpm.point.uniaxial_stress(solid, stretch=1.1)
        body = make(material=solid, F=np.diag([1.1, 1.0]))
        return np.append(bar.q, body.compute("von_mises")) / E

    for E in (2.0**-565, 2.0**565):  # 8e-171, 1e170; powers of two scale every iterate of the driver alike
        np.testing.assert_allclose(equivalent(E), equivalent(1), rtol=1e-12)  # 0


@pytest.mark.parametrize("name", ["dt", "max_dt"])
def test_steps_that_single_precision_takes_for_none(name):
    options = {"dt": 1e-40} if name == "dt" else {"max_dt": 1e-40}
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(BOX, SOLID)
    with pytest.raises(ValueError, match=rf"{name} = 1e-40 s: must be >= 1.17549e-38 s in float32"):
        mpm.Simulation(scene, dx=0.125, dtype="float32", **options)
    sim = mpm.Simulation(scene, dx=0.125, **options)
    sim.step(3)
    assert sim.time == pytest.approx(3e-40, rel=1e-15)


def test_momenta_that_single_precision_takes_for_none():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(BOX, materials.NeoHookean(E=1e4, nu=0.3, density=1e-20), velocity=(1e-18, 0))
    with pytest.raises(ValueError, match=r"velocity: momenta of at most .* are beyond the range of float32"):
        mpm.Simulation(scene, dx=0.125, dtype="float32")
    momentum = mpm.Simulation(scene, dx=0.125).totals().momentum
    assert momentum == pytest.approx([0.25e-38, 0], rel=1e-14, abs=0)


@pytest.mark.parametrize("side", [1e-7, 1e7])
def test_volumes_from_the_density_of_very_small_or_large_cells(side):
    """They are those of cells of 1 m, in units of the cells."""

    def volumes(side, dtype):
        scene = mpm.Scene([0] * 3, [8 * side] * 3)
        body = shapes.Box([2 * side] * 3, [5 * side] * 3)
        scene.add(body, materials.NeoHookean(E=1e5, nu=0.3, density=1000))
        sim = mpm.Simulation(scene, dx=side, dtype=dtype, volume="grid-density")
        assert sim.totals().mass == pytest.approx(27000 * side**3, rel=1e-5 if dtype == "float32" else 1e-12)
        return np.asarray(sim.particles.volume, dtype=float) / side**3

    expected = volumes(1.0, "float64")
    np.testing.assert_allclose(volumes(side, "float64"), expected, rtol=1e-13)  # measured 1.2e-15
    np.testing.assert_allclose(volumes(side, "float32"), expected, rtol=1e-5)  # measured 4.5e-7


def test_small_steps_are_steps():
    sim = make(dt=1e-300)
    sim.step(3)
    assert sim.time == pytest.approx(3e-300, rel=1e-15)
    sim = make(dt=1e-20)
    sim.step(3)
    assert sim.time == pytest.approx(3e-20, rel=1e-15)
    automatic = make()
    automatic.run(1.0)
    automatic.particles.v[:] = (1e20, 0)
    with pytest.raises(mpm.InstabilityError, match="too small to advance the time"):
        automatic.run(1.0)
    assert automatic.time == 1.0  # as it was


@pytest.mark.parametrize("density", [1e-270, 1e300])
def test_masses_beyond_single_precision(density):
    heavy = materials.NeoHookean(E=1, nu=0.3, density=density)
    assert make(heavy).totals().mass == pytest.approx(density / 4, rel=1e-14)
    with pytest.raises(ValueError, match=r"density: .* beyond the range of float32"):
        make(heavy, dtype="float32")


def boulder(kind, size, density=1000.0, **options):
    scene = mpm.Scene((0, 0), (10 * size, 10 * size), gravity=(0, -9.81))
    solid = materials.NeoHookean(E=1e5, nu=0.3, density=density)
    scene.add(shapes.Box((2 * size, 2 * size), (5 * size, 5 * size)), solid, name="boulder", **options)
    resolution = {"dx": size} if kind is mpm else {"spacing": size}
    return kind.Simulation(scene, dtype="float32", **resolution)


def test_masses_and_sizes_beyond_single_precision_are_named_with_their_range():
    boulder(mpm, 1e11).step(3)
    with pytest.raises(
        ValueError, match=r"dx = 1e\+13: times the mass of a particle, 2\.5e\+28 kg/m, .* <= 3\.4e\+35"
    ):
        boulder(mpm, 1e13)
    boulder(mpm.fem, 1e13).step(3)
    for density in (1e45, 1e-50):
        with pytest.raises(
            ValueError, match=r"'boulder': masses of nodes of .* kg/m are beyond .* <= 3\.4e\+38"
        ):
            boulder(mpm.fem, 1.0, density)
    with pytest.raises(ValueError, match=r"'boulder': volumes of nodes of .* m² are beyond .* >= 1\.18e-38"):
        boulder(mpm.fem, 1e-20)
    with pytest.raises(ValueError, match=r"'boulder': velocity: 1e\+39 m/s is beyond the range of float32"):
        boulder(mpm.fem, 1.0, velocity=(1e39, 0))


@pytest.mark.parametrize(("name", "value"), [("velocity", (1e39, 0)), ("F", np.diag([1e39, 1e-39]))])
def test_states_beyond_single_precision(name, value):
    sim = make(dtype="float32")
    before = sim.state_hash()
    with pytest.raises(ValueError, match=f"{name}: 1e\\+39 is beyond the range of float32"):
        sim.add(shapes.Box((0, 0), (0.25, 0.25)), SOLID, **{name: value})
    assert sim.state_hash() == before


@pytest.mark.parametrize("F", [np.eye(2) * 1e200, lambda x: np.full((len(x), 1, 1), 1e200) * np.eye(2)])
def test_a_gradient_whose_determinant_overflows(F):
    with pytest.raises(ValueError, match=r"F.*: det F = inf; must be > 0 and finite"):
        make(F=F)


@pytest.mark.parametrize("side", [1e-100, 1e100])
def test_cells_whose_volume_is_no_number(side):
    with pytest.raises(ValueError, match=r"dx = .*: must be >= 1e-90 and <= 1e\+90"):
        make(side=side)
    sim = make(side=side**0.5)  # what is allowed runs
    modulus = 1e4 / (1 + 0.3) * (1 + 2 * 0.3 / (1 - 2 * 0.3))  # 2 mu + 2 lambda
    bound = 0.125 * side**0.5 * np.sqrt(1000 / modulus)
    assert sim.stable_dt().dt == pytest.approx(bound, rel=1e-14)
    sim.step(2)
    assert sim.time == pytest.approx(2 * 0.6 * bound, rel=1e-14)
    assert sim.totals().mass == pytest.approx(1000 * side / 4, rel=1e-14)


def test_more_particles_than_the_machine_holds(monkeypatch):
    with pytest.raises(MemoryError, match=r"dx = 1e-07 m: 1e\+14 particles"):
        make(dx=1e-7)
    # A shape without a formula for its volume: found while it is filled.
    monkeypatch.setattr(memory, "rows_in_memory", lambda *_: 1000)
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(BOX & shapes.Ball((0.5, 0.5), 0.2), SOLID)
    assert len(mpm.Simulation(scene, dx=1 / 32, threads=1).particles) < 1000
    with pytest.raises(MemoryError, match=r"dx = 0\.0078125 m: .* at most 1e\+03"):
        mpm.Simulation(scene, dx=1 / 128, threads=1)


def test_particles_whose_stress_overflows_are_named():
    scene = mpm.Scene((0, 0), (1, 1))
    stiff = mpm.materials.NeoHookean(E=1e37, nu=0.3, density=1000)
    scene.add(mpm.shapes.Box((0.3, 0.3), (0.6, 0.6)), stiff)
    sim = mpm.Simulation(scene, dx=1 / 16, dtype="float32", dt=1e-20, allow_unstable=True)
    sim.particles.F[3:8] = np.diag([25, 25])  # 6e39 Pa
    words = "velocities are not finite.*'neo_hookean' gives NaN or infinite numbers at 5 particle"
    with pytest.raises(mpm.InstabilityError, match=words) as caught:
        sim.step()
    assert caught.value.rows == [*range(3, 8)] and sim.steps == 0
