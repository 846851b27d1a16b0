"""Sources of heat in bodies: closed forms, books, bits, files, refusals."""

import math
import pickle

import numpy as np
import pytest

import mpm
from mpm.shapes import Box

BASE = 300.0


def conductor(k=1.0, c=2.0, E=1.0, density=3.0, T=BASE, **rest):
    return mpm.materials.NeoHookean(E=E, nu=0.0, density=density, thermal=mpm.Thermal(k, c, T, **rest))


def bar(n=8, dim=2, walls=None, material=None, **options):
    """Of unit length and n cells along x, four across; its simulation, and the scene to add sources to."""
    size = (1.0, *[4 / n] * (dim - 1))
    scene = mpm.Scene((0,) * dim, size, walls=walls or {})
    scene.add(Box((0,) * dim, size), material or conductor())
    return scene, lambda **more: mpm.Simulation(scene, dx=1 / n, **(options | more))


def temperature(sim):
    return np.asarray(sim.particles.temperature).astype(float)


@pytest.mark.parametrize(("dim", "dtype"), [(2, "float64"), (3, "float64"), (2, "float32"), (3, "float32")])
@pytest.mark.parametrize("dt", [1e-2, 1e-4])
def test_a_uniform_source_heats_as_time_goes_on(dim, dtype, dt):
    """Linearly in time, where every step conducts and where no step does; sources add up."""
    scene, make = bar(dim=dim, dt=dt, dtype=dtype)
    scene.add_heat_source("body0", source=50.0)
    scene.add_heat_source("body0", Box((-1.0,) * dim, (2.0,) * dim), source=lambda t: 10.0)
    sim = make()
    sim.step(20)
    small = 1e-12 if dtype == "float64" else 1e-6
    rise = 60 * 20 * dt / (3 * 2)
    assert temperature(sim) == pytest.approx(BASE + rise, rel=small)
    history, volume = sim.history, 0.5 ** (dim - 1)
    assert history["source_heat"].sum() == pytest.approx(60 * 20 * dt * volume, rel=small)
    balance = np.diff(history["heat"]) - history["source_heat"][1:]
    assert abs(balance).max() < small * history["heat"][0]  # measured 2e-15, 3e-7


def test_a_source_between_cooled_faces_keeps_a_parabola():
    """T = T_w + q/(2 k) x (1 - x), to second order; what the source gives leaves through the faces."""
    errors, q = [], 800.0
    for n in (8, 16):
        dt = 0.1 * 6 / n**2
        scene, make = bar(n, walls={"x": mpm.Wall("slip", temperature=BASE)}, dt=dt)
        scene.add_heat_source("body0", source=lambda x, t: np.full(len(x), q))
        sim = make()
        x = np.asarray(sim.particles.x)[:, 0]
        sim.particles.temperature[:] = BASE + q / 2 * x * (1 - x)
        sim.run(0.5)
        errors.append(abs(temperature(sim) - BASE - q / 2 * x * (1 - x)).max() / (q / 8))
        history = sim.history
        balance = np.diff(history["heat"]) - (history["wall_heat"] + history["source_heat"])[1:]
        assert abs(balance).max() < 1e-12 * history["heat"][0]  # measured 3e-15
    assert errors[1] < 0.01 and math.log2(errors[0] / errors[1]) > 1.8


def test_a_region_without_conduction_is_heated_alone_and_goes_with_its_particles():
    scene, make = bar(material=conductor(k=0.0), dt=1e-3)
    scene.add_heat_source("body0", lambda x: x[:, 0] < 0.5, source=lambda x, t: 60 * x[:, 1])
    sim = make()
    x = np.asarray(sim.particles.x)
    inside = x[:, 0] < 0.5
    sim.step(10)
    rise = 60 * x[:, 1] * 0.01 / 6
    assert temperature(sim) == pytest.approx(BASE + np.where(inside, rise, 0), rel=1e-13)


@pytest.mark.parametrize("dim", [2, 3])
def test_a_flux_heats_bodies_that_do_not_conduct(dim):
    """At the face, where it comes in; it was left out for ever, as no conduction was due."""
    _, make = bar(dim=dim, walls={"x-": mpm.Wall("slip", flux=200.0)}, material=conductor(k=0.0), dt=1e-3)
    sim = make()
    sim.step(10)
    history = sim.history
    assert history["wall_heat"].sum() == pytest.approx(200 * 0.01 * 0.5 ** (dim - 1), rel=1e-12)
    assert np.ptp(history["heat"][[0, -1]]) == pytest.approx(history["wall_heat"].sum(), rel=1e-10)
    x = np.asarray(sim.particles.x)[:, 0]
    assert (temperature(sim)[x > 0.4] == BASE).all() and temperature(sim)[x < 0.1].min() > BASE


def test_a_source_melts_and_acts_on_the_present_volume():
    """Of a body that is compressed to a half: half the heat. The balance holds through the plateau."""
    melting = mpm.Melting(301.0, 5.0)
    scene, make = bar(material=conductor(0.5, melting=melting), dt=1e-2)
    scene.add_heat_source("body0", source=90.0)
    sim = make()
    sim.particles.F[:] = np.diag([0.5, 1.0])
    sim.step(1)
    assert sim.history["source_heat"].sum() == pytest.approx(90 * 0.01 * 0.25, rel=0.01)
    sim.step(60)
    share = np.asarray(sim.particles.liquid_fraction)
    assert share.max() > 0.3
    history = sim.history
    balance = history["heat"][-1] - history["heat"][0] - history["source_heat"].sum()
    assert abs(balance) < 1e-12 * history["heat"][0]


def laser(x, t):
    return 5e3 * np.exp(-((x[:, 0] - 0.3 - t) ** 2) / 0.01)


def falling(**options):
    scene = mpm.Scene(
        (0, 0), (1, 1), gravity=(0, -9.81), walls={"y-": mpm.Wall("separate", temperature=280.0)}
    )
    body = conductor(0.2, 1.0, E=1e4, density=100.0, expansion=1e-4)
    scene.add(Box((0.2, 0.05), (0.6, 0.3)), body, name="block")
    scene.add(Box((0.7, 0.05), (0.9, 0.3)), body)
    scene.add_force("block", (5.0, 0.0))
    scene.add_heat_source("block", source=laser, name="laser")
    scene.hold("block", lambda x: x[:, 0] < 0.25, velocity=(0.0, None))
    return mpm.Simulation(scene, dx=1 / 16, **options)


def state(sim):
    names = [*sim.particles.fields]
    columns = [sim.history[name].tobytes() for name in ("heat", "source_heat", "wall_heat", "impulse:force0")]
    return [np.asarray(sim.particles[name]).tobytes() for name in names] + columns


def test_bits_by_threads_splits_and_files(tmp_path):
    """With other loads beside, whose numbers the source does not shift."""
    sim, parts = falling(threads=1), falling(threads=3)
    sim.step(30)
    parts.step(13)
    parts.save(tmp_path / "kept.mpm")
    loaded = mpm.load(tmp_path / "kept.mpm", loads={"laser": laser})
    assert repr(loaded.scene.loads[1]).startswith("laser: heat source")
    for again in (parts, loaded, pickle.loads(pickle.dumps(parts))):
        again.step(17)
        assert state(again) == state(sim)
    assert sim.history["impulse:force0"][:, 0].sum() == pytest.approx(5 * sim.time, rel=1e-12)
    assert temperature(sim).max() > BASE + 1 and "impulse:laser" not in sim.history


def test_a_source_that_takes_more_heat_than_there_is():
    """Is refused, with conduction or without, and the step has written nothing."""
    for k in (0.0, 1.0):
        scene, make = bar(material=conductor(k), dt=1e-2)
        scene.add_heat_source("body0", Box((0.0, 0.0), (0.3, 1.0)), source=-2e4)
        sim = make()
        with pytest.raises(mpm.InstabilityError, match=r"temperatures that are not positive") as caught:
            sim.step(1000)
        same = make()
        same.step(caught.value.step)
        assert caught.value.step > 2 and (temperature(sim) == temperature(same)).all()
        assert sim.time == same.time


def refused(scene, make, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        make(scene)
    assert words in str(caught.value)


def test_what_no_source_can_be():
    scene, make = bar()
    count = len(scene.loads)
    for arguments, words in (
        ({"body": "none", "source": 1.0}, "body = 'none'"),
        ({"body": "body0", "source": math.nan}, "source = nan"),
        ({"body": "body0", "source": "hot"}, "source = 'hot'"),
        ({"body": "body0", "source": lambda: 1.0}, "must be a function f(t) or f(x, t)"),
        ({"body": "body0", "source": 1.0, "where": Box((0,) * 3, (1,) * 3)}, "where is 3-D: must be 2-D"),
    ):
        refused(scene, lambda s, a=arguments: s.add_heat_source(**a), words)
    assert len(scene.loads) == count
    scene.add_heat_source("body0", lambda x: x[:, 0] > 5, source=1.0, name="far")
    refused(scene, lambda s: make(), "where of 'far': none of the")
    scene, make = bar()
    scene.add_heat_source("body0", source=lambda x, t: np.ones(3))
    refused(scene, lambda s: make(dt=1e-3).step(), "source(x, t) of 'source0'")


def test_what_has_no_temperature_takes_no_source():
    plain = mpm.materials.NeoHookean(E=1.0, nu=0.0, density=1.0)
    scene, make = bar(material=plain)
    scene.add_heat_source("body0", source=1.0)
    refused(scene, lambda s: make(), "does not conduct heat; give its material thermal=")
    refused(scene, lambda s: mpm.fem.Simulation(s, spacing=1 / 8), "mpm.fem does not conduct heat")
    refused(scene, lambda s: mpm.sph.Simulation(s, spacing=1 / 8), "source0")
    scene.add(Box((0.2, 0.2), (0.4, 0.4)), mpm.materials.Rigid(density=1.0), name="stone")
    refused(scene, lambda s: s.add_heat_source("stone", source=1.0), "is rigid and has no temperature")
