"""Parameters of laws that follow the temperature, and what has melted: it flows, shrinks and freezes."""

import copy

import numpy as np
import pytest

import mpm
from mpm.shapes import Box


def temperature(sim):
    return np.asarray(sim.particles.temperature).astype(float)


def swinging(material, dim=2, dtype="float64", **options):
    scene = mpm.Scene((0,) * dim, (1,) * dim)
    scene.add(Box((0.25,) * dim, (0.75,) * dim), material, velocity=lambda x: 3 * np.sin(2 * np.pi * x))
    return mpm.Simulation(scene, dx=1 / 8, dt=1e-3, dtype=dtype, **options)


@pytest.mark.parametrize(("dim", "dtype"), [(2, "float64"), (3, "float64"), (2, "float32"), (3, "float32")])
def test_a_modulus_between_knots_is_that_of_a_body_that_has_it(dim, dtype):
    """0.7 E at a temperature between two knots: the same motion; beyond the last knot, the last factor."""
    for T, factor in ((450.0, 0.7), (200.0, 1.0), (900.0, 0.4)):
        scale = {"E": ([300, 600], [1.0, 0.4])}
        warm = mpm.Thermal(0.0, 1.0, T, scale=scale)
        sims = [
            swinging(mpm.materials.NeoHookean(E=E, nu=0.3, density=100.0, thermal=thermal), dim, dtype)
            for E, thermal in ((1e5, warm), (1e5 * factor, mpm.Thermal(0.0, 1.0, T)))
        ]
        for sim in sims:
            sim.step(10)
        one, other = (np.asarray(sim.particles.F).astype(float) for sim in sims)
        assert abs(one - other).max() < (1e-12 if dtype == "float64" else 1e-5)  # measured 2e-15, 1e-6
        assert abs(one - np.eye(dim)).max() > 0.005
        assert np.asarray(sims[0].particles.E) == pytest.approx(1e5 * factor, rel=1e-6)


def test_parameters_follow_the_temperature_that_a_source_changes():
    """At the end of every step, also where no step conducts; stress and bound of the step follow."""
    thermal = mpm.Thermal(
        1e-6,
        1.0,
        300.0,
        scale={"E": ([300, 400, 600], [1, 0.5, 0.1]), "yield_stress": ([300, 400], [1, 0.01])},
    )
    metal = mpm.materials.VonMises(E=1e5, nu=0.3, yield_stress=1e3, density=100.0, thermal=thermal)
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(Box((0.25, 0.25), (0.75, 0.75)), metal)
    scene.add_heat_source("body0", source=lambda x, t: 3e7 * x[:, 0])
    sim = mpm.Simulation(scene, dx=1 / 8)
    before = sim.stable_dt().dt
    for _ in range(4):
        sim.step(200)
        T = temperature(sim)
        assert np.asarray(sim.particles.E) == pytest.approx(
            1e5 * np.interp(T, [300, 400, 600], [1, 0.5, 0.1]), rel=1e-12
        )
        assert np.asarray(sim.particles["yield_stress"]) == pytest.approx(
            1e3 * np.interp(T, [300, 400], [1, 0.01]), rel=1e-12
        )
    assert T.max() > 500 and sim.stable_dt().dt > 1.3 * before
    sim.particles.F[:] = np.diag([1.001, 1.0])
    share = sim.compute("stress")[:, 0, 0] / np.asarray(sim.particles.E)
    assert (
        share.min() > 1e-3 and np.ptp(share) < 1e-12 * share.max()
    )  # the stress has the modulus of each particle


WAX = {"shear_modulus": ([320, 320], [1, 1e-3]), "yield_stress": ([320, 320], [1, 0])}


def wax(T=310.0, k=0.2, density=None, scale=WAX, **rest):
    thermal = mpm.Thermal(k, 10.0, T, melting=mpm.Melting(320.0, 200.0, density=density), scale=scale, **rest)
    return mpm.materials.HerschelBulkley(
        bulk_modulus=1e5,
        shear_modulus=2e4,
        yield_stress=3e3,
        consistency=1.0,
        density=1000.0,
        thermal=thermal,
    )


def column(T=310.0, **options):
    scene = mpm.Scene((0, 0), (1, 0.5), gravity=(0, -9.81), walls="separate")
    scene.add(Box((0.4, 0.0), (0.6, 0.35)), wax(T))
    scene.add_heat_source("body0", source=lambda t: 1e7 if t < 0.05 else -1.2e7 if 0.2 < t < 0.25 else 0.0)
    return mpm.Simulation(scene, dx=1 / 20, **options)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_wax_melts_flows_and_freezes(dtype):
    """Solid, it stands; liquid, it spreads; frozen, it keeps its new shape and bears shear. Heat and mass are kept."""
    sim = column(dtype=dtype)

    def width():
        return float(np.ptp(np.asarray(sim.particles.x)[:, 0]))

    sim.run(0.02)
    share = np.asarray(sim.particles.liquid_fraction).astype(float)
    assert np.asarray(sim.particles["yield_stress"]) == pytest.approx(3e3 * (1 - share), rel=1e-5)
    assert 0.1 < share.mean() < 0.9 and width() < 0.25
    sim.run(0.2 - sim.time)
    assert (np.asarray(sim.particles.liquid_fraction) == 1).all() and 0.5 < width() < 0.65
    sim.run(0.26 - sim.time)
    assert (np.asarray(sim.particles.liquid_fraction) == 0).all()
    sim.run(0.2)
    assert 0.75 < width() < 0.86  # it swings from 0.77 to 0.84; as a liquid it reaches the walls, 0.98
    history, small = sim.history, 1e-12 if dtype == "float64" else 1e-5
    balance = history["heat"][-1] - history["heat"][0] - history["source_heat"].sum()
    assert abs(balance) < small * history["heat"][0]
    assert history["mass"][-1] == pytest.approx(70.0, rel=1e-12 if dtype == "float64" else 1e-6)


@pytest.mark.parametrize("dim", [2, 3])
def test_what_melts_takes_the_density_of_the_liquid(dim):
    """Without pressure; the stretch is the same along all axes, and F does not contain it."""
    scene = mpm.Scene((0,) * dim, (1,) * dim)
    scene.add(Box((0.25,) * dim, (0.75,) * dim), wax(density=1100.0))
    scene.add_heat_source("body0", source=2e6)
    sim = mpm.Simulation(scene, dx=1 / 8, damping=20.0)
    sim.run(0.25)
    assert (np.asarray(sim.particles.liquid_fraction) == 1).all()
    stretch = np.asarray(sim.particles.thermal_stretch)
    assert stretch == pytest.approx((1000 / 1100) ** (1 / dim), rel=1e-12)
    assert sim.compute("density").mean() == pytest.approx(1100, rel=0.01)
    assert np.ptp(np.asarray(sim.particles.x), axis=0) == pytest.approx(0.4375 * stretch[0], rel=0.02)


def test_bits_by_threads_splits_and_files(tmp_path):
    sim, parts = column(threads=1), column(threads=3)
    sim.step(150)
    parts.step(70)
    parts.save(tmp_path / "kept.mpm")
    source = sim.scene.loads[0].source
    loaded = mpm.load(tmp_path / "kept.mpm", loads={"source0": source})
    assert loaded.materials[0].thermal == sim.materials[0].thermal and hash(loaded.materials[0])
    for again in (parts, loaded, copy.deepcopy(parts)):
        again.step(150 - again.steps)
        for name in sim.particles.fields:
            assert np.asarray(again.particles[name]).tobytes() == np.asarray(sim.particles[name]).tobytes(), (
                name
            )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: wax(scale={"E": ([300, 400], [1, 2])}),
            "has no number of this name that may vary; those that may",
        ),
        (lambda: wax(scale={"density": ([300, 400], [1, 2])}), "scale['density']"),
        (lambda: wax(scale={"exponent": ([300, 400], [1, 20])}), "1 times factors[1] = 20.0: must be"),
        (lambda: wax(scale={"yield_stress": ([310, 310], [1, 0])}), "temperatures[1] = 310: must be > 310"),
        (lambda: wax(scale={"yield_stress": ([320, 320, 320], [1, 0, 0])}), "may occur twice"),
        (lambda: wax(scale=[("yield_stress",)]), "must be a mapping of parameters"),
        (lambda: wax(scale=[("E", [1, 2], [1, 2])] * 2), "scale has 'E' twice"),
        (lambda: wax(T=400.0, density=900.0), "begins as liquid"),
        (
            lambda: mpm.materials.NeoHookean(
                E=lambda x: x[:, 0],
                nu=0.3,
                density=1.0,
                thermal=mpm.Thermal(1, 1, scale={"E": ([1, 2], [1, 2])}),
            ),
            "varies over the particles: must be a number",
        ),
    ],
)
def test_what_cannot_follow_says_so(make, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        make()
    assert words in str(caught.value)


def test_tables_whose_parameters_do_not_go_together_are_refused_at_the_beginning():
    thermal = mpm.Thermal(1.0, 1.0, scale={"mu_2": ([300, 400], [1, 0.1])})
    sand = mpm.materials.MuI(E=1e6, nu=0.3, mu_1=0.3, mu_2=0.6, density=1500.0, thermal=thermal)
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(Box((0, 0), (1, 1)), sand)
    with pytest.raises(ValueError, match="scale at 400 K: mu_2"):
        mpm.Simulation(scene, dx=1 / 8)


def metal(thermal=None, **rest):
    """Soft, so that little work heats it much."""
    given = {
        "A": 2e3, "B": 1e3, "n": 0.3, "C": 0.0, "m": 1.0, "shear_modulus": 4e4, "sound_speed": 10.0, "density": 1e3,
        "specific_heat": 0.05, "melting_temperature": 1000.0, "initial_temperature": 300.0,
    }  # fmt: skip
    return mpm.materials.JohnsonCook(**(given | rest), thermal=thermal)


def struck(material, dim=2, walls=None, **options):
    scene = mpm.Scene((0,) * dim, (1,) * dim, walls=walls or {})
    scene.add(
        Box((0.0, *[0.3] * (dim - 1)), (0.5, *[0.7] * (dim - 1))), material, velocity=(-4,) + (0,) * (dim - 1)
    )
    return mpm.Simulation(scene, dx=1 / 10, dt=5e-4, **options)


@pytest.mark.parametrize(("dim", "dtype"), [(2, "float64"), (3, "float64"), (2, "float32")])
def test_johnson_cook_has_the_temperature_that_is_conducted(dim, dtype):
    """Without conduction it has the bits that it has alone; with it, heat stays and temperatures even out."""
    alone = struck(metal(), dim, dtype=dtype)
    still, spread = (struck(metal(mpm.Thermal(k, 0.05, 300.0)), dim, dtype=dtype) for k in (0.0, 20.0))
    for sim in (alone, still, spread):
        sim.step(80)
    for name in ("x", "v", "F", "plastic_strain", "temperature"):
        assert np.asarray(alone.particles[name]).tobytes() == np.asarray(still.particles[name]).tobytes(), (
            name
        )
    assert np.ptp(temperature(still)) > 15 and np.ptp(temperature(spread)) < 0.8 * np.ptp(temperature(still))
    gained = [np.ptp(sim.history["heat"][[0, -1]]) for sim in (still, spread)]
    assert gained[0] == pytest.approx(
        float(alone.compute("heat").sum()), rel=1e-12 if dtype == "float64" else 1e-4
    )
    assert gained[1] == pytest.approx(gained[0], rel=0.05)  # strength and work differ a little


def test_what_the_law_heats_softens_before_it_conducts():
    """The first conduction is far off; the strength follows the temperature in every step."""
    softens = {"A": ([300, 310], [1, 0.5])}
    still, waits = (
        struck(metal(mpm.Thermal(k, 0.05, 300.0, scale=softens)), 2, dtype="float64") for k in (0.0, 1e-9)
    )
    for sim in (still, waits):
        sim.step(80)
    assert waits.particles.A.min() < 0.9 * waits.particles.A.max()
    np.testing.assert_array_equal(waits.particles.A, still.particles.A)


def test_a_hot_wall_softens_johnson_cook(tmp_path):
    """The books close with the dissipation: heat = share of plastic work + heat from the wall; and its bits."""
    walls = {"x-": mpm.Wall("slip", temperature=900.0)}
    material = metal(mpm.Thermal(20.0, 0.05, 300.0))
    sims = [struck(material, walls=wall, dissipation=True) for wall in ({"x-": "slip"}, walls)]
    for sim in sims:
        sim.step(200)
    cold, hot = (np.asarray(sim.particles.x)[:, 0].max() for sim in sims)
    assert hot < cold - 0.005
    history = sims[1].history
    gained = history["heat"][-1] - history["heat"][0] - history["wall_heat"].sum()
    assert gained == pytest.approx(0.9 * history["plastic_dissipation"][-1], rel=0.02)
    half = struck(material, walls=walls, dissipation=True, threads=3)
    half.step(111)
    half.save(tmp_path / "kept.mpm")
    for again in (half, mpm.load(tmp_path / "kept.mpm")):
        again.step(89)
        assert (
            np.asarray(again.particles.temperature).tobytes()
            == np.asarray(sims[1].particles.temperature).tobytes()
        )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: metal(mpm.Thermal(1.0, 0.06, 300.0)), "specific_heat = 0.05: must be that of thermal, 0.06"),
        (
            lambda: metal(mpm.Thermal(1.0, 0.05, 310.0)),
            "initial_temperature = 300.0: must be that of thermal",
        ),
        (lambda: metal(mpm.Thermal(1.0, 0.05, 300.0, taylor_quinney=0.5)), "taylor_quinney = 0.5: must be 0"),
        (
            lambda: metal(mpm.Thermal(1.0, 0.05, 300.0, expansion=1e-5), grueneisen=2.0),
            "expansion = 1e-05: must be 0",
        ),
        (
            lambda: metal(mpm.Thermal(1.0, 0.05, 300.0, scale={"initial_temperature": ([1, 2], [1, 2])})),
            "scale['initial_temperature']",
        ),
    ],
)
def test_johnson_cook_has_one_heat(make, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        make()
    assert words in str(caught.value)
