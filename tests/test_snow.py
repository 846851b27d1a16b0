"""Snow: the hardened response, and the plastic state Jp on its way through a simulation."""

import math

import numpy as np
import pytest

import mpm
import scenes
from deformations import turned
from loops import each
from mpm import _core

every_dim = pytest.mark.parametrize("d", scenes.DIMS)
every_dtype = each("dtype", scenes.DTYPES)
every_isa = each("isa", scenes.ISAS)
fewer_isas = pytest.mark.parametrize("isa", scenes.FEWER_ISAS)

SNOW = mpm.materials.Snow()
SHORTEST, LONGEST = 1 - SNOW.critical_compression, 1 + SNOW.critical_stretch
JP_LOW, JP_HIGH = 0.6, 20.0


# --- the response --------------------------------------------------------------------------------------------------


@each("Jp", [0.6, 0.9, 1.0, 1.3, 20.0])
@every_dim
def test_stress_is_the_derivative_of_the_energy_at_any_jp(d, Jp):
    rng = np.random.default_rng(6)
    F, s = turned(rng.uniform(SHORTEST, LONGEST, (200, 3)), d, rng), 1e-4
    P = np.empty_like(F)
    for a in range(d):
        for b in range(d):
            step = np.zeros((d, d))
            step[a, b] = s
            P[:, a, b] = (SNOW.energy(F + step, Jp) - SNOW.energy(F - step, Jp)) / (2 * s)
    scale = SNOW.E * math.exp(10 * (1 - Jp))
    assert np.abs(SNOW.stress(F, Jp) - P).max() < 1e-8 * scale  # measured 4.2e-10: s^2
    elastic = mpm.materials.FixedCorotated(E=SNOW.E, nu=SNOW.nu, density=1)
    hardened = elastic.stress(F) * math.exp(10 * (1 - Jp))
    np.testing.assert_allclose(SNOW.stress(F, Jp), hardened, rtol=0, atol=1e-13 * scale)


@every_dim
@every_isa
@every_dtype
def test_the_moduli_of_the_time_step_harden(d, isa, dtype):
    rng = np.random.default_rng(7)
    F = turned(rng.uniform(SHORTEST, LONGEST, (50, 3)), d, rng).astype(dtype)
    Jp = rng.uniform(JP_LOW, 3, len(F)).astype(dtype)
    soft = _core.evaluate("snow", SNOW.parameters, F, d, isa, dtype)
    history = np.stack([Jp, np.zeros_like(Jp)], axis=1)
    hard = _core.evaluate("snow", SNOW.parameters, F, d, isa, dtype, history)
    factor = np.exp(10 * (1 - Jp.astype(float)))
    for k in (1, 3, 4):  # energy, isolated, wave
        before, after = (np.frombuffer(answer[k], dtype).astype(float) for answer in (soft, hard))
        # measured 9.3 eps: the argument of the exponential is up to 20, and rounded
        np.testing.assert_allclose(after, factor * before, rtol=32 * scenes.EPSILON[dtype])


def test_the_presets_are_those_of_the_paper():
    reference = mpm.materials.Snow(
        E=1.4e5, nu=0.2, density=400, critical_compression=0.025, critical_stretch=0.0075, hardening=10
    )
    preset = mpm.materials.Snow.preset
    assert preset("reference") == reference == SNOW
    differences = {
        "lower_hardening": {"hardening": 5},
        "lower_young": {"E": 4.8e4},
        "lower_critical_compression": {"critical_compression": 0.019},
        "lower_critical_stretch": {"critical_stretch": 0.005},
        "both_lower": {"critical_compression": 0.019, "critical_stretch": 0.005},
    }
    for name, changed in differences.items():
        snow = preset(name)
        different = {
            f
            for f in ("E", "nu", "density", "critical_compression", "critical_stretch", "hardening")
            if getattr(snow, f) != getattr(reference, f)
        }
        assert different == set(changed)
        assert all(getattr(snow, field) == value for field, value in changed.items())
    with pytest.raises(ValueError, match="did you mean 'both_lower'"):
        preset("both_lowr")


def test_the_speed_of_sound_is_the_unhardened_one():
    assert SNOW.wave_speed == pytest.approx(19.720266, rel=1e-7)  # sqrt(E (1 - nu)/((1 + nu)(1 - 2 nu) rho))


# --- in a simulation -----------------------------------------------------------------------------------------------

SOFT = mpm.materials.Snow(E=1e4, density=100)


def snowball(d, material=SOFT, cells=None, dtype="float64", **numerics):
    """Thrown into the lower corner of its box."""
    scene = mpm.Scene([0] * d, [1] * d, gravity=[0] * (d - 1) + [-9.81], walls="separate", friction=0.3)
    ball = mpm.shapes.Ball([0.22] * d, 0.2)
    scene.add(ball, material, velocity=[-4.0] * d, angular_velocity=5.0 if d == 2 else (5.0, 3.0, 0.0))
    return mpm.Simulation(scene, dx=1 / (cells or (64 if d == 2 else 24)), dtype=dtype, **numerics)


@every_dim
@every_dtype
@fewer_isas
def test_any_number_of_threads_and_any_split(d, dtype, isa):
    """Enough particles for two tasks."""
    cells = 144 if d == 2 else 40

    def thrown(threads=1):
        with scenes.kernels(isa):
            return snowball(d, cells=cells, dtype=dtype, threads=threads)

    whole, two, three, halves = thrown(), thrown(2), thrown(3), thrown()
    assert len(whole.particles) > 8192 * 1.2
    for sim in (whole, two, three):
        sim.step(40)
    halves.step(20)
    halves.particles.Jp.sum()  # looking changes nothing
    halves.step(19)
    halves.step(1)
    assert whole.particles.Jp.min() < 0.99
    assert whole.state_hash() == two.state_hash() == three.state_hash() == halves.state_hash()
    assert whole.health == halves.health == two.health


@every_dim
@every_dtype
def test_a_snowball_against_the_wall(d, dtype):
    sim = snowball(d, dtype=dtype)
    start, g = sim.totals(), sim.scene.gravity
    first = sim.stable_dt().dt
    sim.run(0.06)
    h, p = sim.history, sim.particles
    assert np.abs(h["wall_impulse"]).max(axis=0).min() > 0
    momentum = np.concatenate([start.momentum[None], h["momentum"]])
    balance = np.diff(momentum, axis=0) - h["dt"][:, None] * h["mass"][:, None] * g - h["wall_impulse"]
    # measured 3.3e-16 and 4e-8 per step
    assert np.abs(balance).max() <= {"float64": 1e-12, "float32": 5e-6}[dtype] * np.abs(momentum).max()
    assert h["energy"][-1] < 0.9 * start.energy  # plastic work is lost, and friction
    # the elastic stretches are within the yield surface, the plastic volume within its limits
    eps = scenes.EPSILON[dtype]
    stretches = np.linalg.svd(p.F.astype(float))[1]
    assert stretches.min() > SHORTEST - 8 * eps and stretches.max() < LONGEST + 8 * eps
    assert p.Jp.min() >= np.asarray(JP_LOW, dtype) and p.Jp.max() <= JP_HIGH
    # compacted at the wall, and there the time step has followed the harder snow
    assert p.Jp.min() < 0.8
    hardest = math.exp(10 * (1 - float(p.Jp.min())))
    assert sim.stable_dt().dt == pytest.approx(first / math.sqrt(hardest), rel=0.1)
    assert p.Jp[sim.stable_dt().particle] < p.Jp.min() + 0.01


@every_dim
def test_volume_and_stress_are_of_the_whole_deformation(d):
    sim = snowball(d)
    sim.run(0.03)
    p = sim.particles
    F, Jp = p.F.astype(float), p.Jp.astype(float)
    J = np.linalg.det(F) * Jp
    assert np.ptp(Jp) > 0.1
    np.testing.assert_allclose(sim.compute("density"), p.mass / (p.volume * J), rtol=1e-13)
    cauchy = SOFT.stress(F, Jp) @ F.transpose(0, 2, 1) / J[:, None, None]
    np.testing.assert_allclose(sim.compute("stress"), cauchy, rtol=0, atol=1e-12 * np.abs(cauchy).max())
    np.testing.assert_allclose(sim.compute("elastic_energy"), SOFT.energy(F, Jp) * p.volume, rtol=1e-12)
    assert sim.compute("elastic_energy").sum() == pytest.approx(sim.totals().elastic, rel=1e-12)
    if d == 3:
        np.testing.assert_allclose(
            sim.compute("pressure"),
            -np.einsum("nii->n", cauchy) / 3,
            rtol=0,
            atol=1e-12 * np.abs(cauchy).max(),
        )


@every_dim
@every_dtype
@every_isa
def test_snow_that_cannot_yield_is_fixed_corotated(d, dtype, isa):
    with scenes.kernels(isa):
        snow, solid = (
            snowball(d, material, dtype=dtype, threads=1)
            for material in (
                mpm.materials.Snow(
                    E=1e4, nu=0.2, density=100, critical_compression=0.999, critical_stretch=1e3, hardening=0
                ),
                mpm.materials.FixedCorotated(E=1e4, nu=0.2, density=100),
            )
        )
    snow.step(60)
    solid.step(60)
    assert np.abs(solid.particles.J - 1).max() > 0.1
    for name in ("x", "v", "C", "F", "J"):
        np.testing.assert_array_equal(snow.particles[name], solid.particles[name])
    assert (snow.particles.Jp == 1).all()


@every_dim
@every_dtype
def test_every_kernel_set_follows_the_oracle(d, dtype):
    results = []
    for isa in scenes.ISAS:
        with scenes.kernels(isa):
            sim = snowball(d, dtype=dtype, dt=1e-4, threads=1)
        sim.step(150)
        results.append({name: sim.particles[name].astype(float) for name in ("x", "v", "F", "Jp")})
    assert np.ptp(results[0]["Jp"]) > 0.05
    for result in results[1:]:
        for name, oracle in results[0].items():
            scale = sim.dx if name == "x" else np.abs(oracle).max()
            # measured 120 eps: the return map is continuous
            assert np.abs(result[name] - oracle).max() < 400 * scenes.EPSILON[dtype] * scale, name


def test_the_step_clips_and_counts():
    sim = snowball(2)
    p = sim.particles
    p.Jp[:3] = 0.5, 30, 19
    sim.step()
    assert sim.health["clipped"] == 2
    assert p.Jp[0] == 0.6 and p.Jp[1] == 20 and p.Jp[2] == 19
    sim.step()
    assert sim.health["clipped"] == 2


# --- the plastic state as a field ----------------------------------------------------------------------------------


def jelly(d, side=12, dtype="float64"):
    scene = mpm.Scene([0] * d, [4] * d)
    scene.add(mpm.shapes.Box([1] * d, [2] * d), scenes.MATERIALS["neo_hookean"], velocity=[0.2] * d)
    return mpm.Simulation(scene, dx=1 / side, dtype=dtype)


def fall(sim, d, law="snow", name=None):
    return sim.add(mpm.shapes.Box([2.5] * d, [3] * d), scenes.MATERIALS[law], velocity=[-1.0] * d, name=name)


@every_dim
@every_dtype
def test_the_field_is_there_from_the_first_snow_on(d, dtype):
    sim = jelly(d, dtype=dtype)
    n, before = len(sim.particles), sim._core.memory()["particles"]
    assert "Jp" not in sim.particles.fields and "Jp" not in dir(sim.particles)
    with pytest.raises(AttributeError, match="Jp is a state of snow"):
        _ = sim.particles.Jp
    with pytest.raises(KeyError, match="Jp is a state of snow"):
        _ = sim.particles["Jp"]
    with pytest.raises(AttributeError, match="Jp is a state of snow"):
        sim.particles.Jp = 1
    x = sim.particles.x
    sim.step(3)
    fall(sim, d)
    assert sim.particles.fields[-2:] == (
        "Jp",
        "plastic_strain",
    )  # what laws keep follows what all particles have
    Jp = sim.particles.Jp
    assert Jp.dtype == dtype and Jp.shape == (len(sim.particles),) and (Jp == 1).all() and Jp.flags.writeable
    sim.step(20)
    assert (sim.particles.Jp[:n] == 1).all()  # what is not snow
    assert len(x) == n and sim._core.memory()["particles"] > before


@every_dim
@every_dtype
def test_memory_is_taken_only_for_snow(d, dtype):
    """8 or 4 bytes more for each of two fields per place in the arrays; nothing where there is no snow."""
    held = {}
    for law in ("fixed_corotated", "snow"):
        scene = mpm.Scene([0] * d, [4] * d)
        scene.add(mpm.shapes.Box([1] * d, [2] * d), scenes.MATERIALS[law])
        sim = mpm.Simulation(scene, dx=1 / 12, dtype=dtype)
        held[law] = sim._core.memory()["particles"]
    slots = (held["snow"] - held["fixed_corotated"]) / np.dtype(dtype).itemsize / 2
    assert len(sim.particles) <= slots < 1.5 * len(sim.particles) + 1000


@every_dim
@every_dtype
def test_what_is_written_to_jp_counts(d, dtype):
    sim, other = snowball(d, dtype=dtype), snowball(d, dtype=dtype)
    before, digest = sim.stable_dt().dt, sim.state_hash()
    sim.particles.Jp[5] = 0.8
    assert sim.state_hash() != digest
    assert sim.stable_dt().particle == 5
    assert sim.stable_dt().dt == pytest.approx(before / math.sqrt(math.exp(2)), rel=1e-5)
    sim.particles.Jp[5] = 1
    assert sim.state_hash() == digest
    sim.particles.Jp = 0.9  # broadcast
    sim.step(5)
    other.step(5)
    assert sim.particles.Jp[-1] == np.asarray(0.9, dtype) and other.particles.Jp[-1] == 1  # far from the wall
    assert not (sim.particles.v == other.particles.v).all()


@every_dim
@pytest.mark.parametrize(
    "value, match", [(0.0, "Jp <= 0"), (-1.0, "Jp <= 0"), (np.nan, "not finite"), (np.inf, "not finite")]
)
def test_bad_values_of_jp_are_refused_before_anything_moves(d, value, match):
    sim = snowball(d)
    sim.step(2)
    x = sim.particles.x.copy()
    sim.particles.Jp[7] = value
    with pytest.raises(mpm.SimulationError, match=match) as caught:
        sim.step()
    assert caught.value.rows == [7] and sim.steps == 2
    np.testing.assert_array_equal(sim.particles.x, x)
    sim.particles.Jp[7] = 1
    sim.step()


@every_dim
def test_what_is_not_snow_has_no_jp_to_write(d):
    sim = jelly(d)
    fall(sim, d)
    sim.particles.Jp[3] = 0.9
    with pytest.raises(mpm.SimulationError, match=r"Jp is a state of snow, sand, .* only") as caught:
        sim.step()
    assert caught.value.rows == [3]
    with pytest.raises(ValueError, match="read-only"):
        sim.particles.J = 1  # its J follows from F like that of any solid


@every_dim
def test_without_any_snow_left_jp_is_read_only(d):
    sim = jelly(d)
    fall(sim, d)
    sim.particles.delete(sim.particles.material == 1)
    assert (sim.particles.Jp == 1).all() and not sim.particles.Jp.flags.writeable


@pytest.mark.filterwarnings("ignore:.* lie among particles")
@every_dim
@every_dtype
def test_jp_stays_with_its_particle(d, dtype):
    """Through deletion, addition of more snow and of others, binning and padding: marks per id."""
    rng = np.random.default_rng(8)
    sim = jelly(d, dtype=dtype)
    fall(sim, d)
    fall(sim, d, "fluid", name="water")
    marks = np.where(sim.particles.material == 1, rng.uniform(0.7, 3, len(sim.particles)), 1).astype(dtype)
    sim.particles.Jp = marks
    mark_of = dict(zip(sim.particles.id.tolist(), marks.tolist(), strict=True))
    for k in range(4):
        sim.particles.delete(rng.random(len(sim.particles)) < 0.2)
        box = mpm.shapes.Box([0.5] * d, [0.75] * d)
        sim.add(box, scenes.MATERIALS[("snow", "fixed_corotated")[k % 2]], name=f"more {k}")
        sim.particles.x += np.asarray(0.3 if k % 2 else -0.3, dtype)  # into other blocks
        sim.totals()
        expected = [mark_of.get(i, 1.0) for i in sim.particles.id.tolist()]
        np.testing.assert_array_equal(sim.particles.Jp, np.array(expected, dtype))
    assert sim.health["binnings"] >= 12
    density = sim.compute("law_density")  # of fluids too, from their J
    np.testing.assert_allclose(
        density * sim.particles.volume * sim.particles.J * sim.particles.Jp, sim.particles.mass, rtol=1e-5
    )


@every_dim
@every_dtype
@every_isa
def test_places_without_a_particle_hold_1(d, dtype, isa):
    """With 0 there instead the moduli would overflow, and infinity times a mass of zero is no number."""
    with scenes.kernels(isa):
        sim = scenes.single([8.2] * d, mpm.materials.Snow(hardening=1000), dtype=dtype)
    sim.step(2)
    assert sim.totals().elastic == 0


def test_the_fields_can_be_named_while_another_law_is_added():
    sim = jelly(2)
    hidden = sim.particles
    fall(sim, 2)
    assert hidden.fields == sim.particles.fields and "Jp" in repr(hidden)


def test_jp_can_be_a_colour():
    pytest.importorskip("matplotlib")
    sim = snowball(2, cells=16)
    sim.step(2)
    assert sim.plot(color="Jp")
    assert "Stomakhin" in sim.cite() and "Snow" in repr(sim)
