"""Friction between bodies heats them."""

import numpy as np
import pytest

import mpm
from mpm.shapes import Box


def sliders(dim=2, k=0.0, walls=None, melting=None, threads=1, **options):
    """A block that slides on a plate of twice its heat capacity."""

    def conductor(c):
        thermal = mpm.Thermal(k, c, 300.0, melting=melting)
        return mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000, thermal=thermal)

    scene = mpm.Scene(
        (0,) * dim, (1.0,) + (0.5,) * (dim - 1), gravity=(0,) * (dim - 1) + (-9.81,),
        walls=walls or {}, contact=mpm.Contact("separate", friction=0.4),
    )  # fmt: skip
    deep = (0.1,) * (dim - 2), (0.35,) * (dim - 2)
    scene.add(Box((0.05, *deep[0], 0), (0.95, *deep[1], 0.125)), conductor(2.0))
    scene.add(
        Box((0.2, *deep[0], 0.125), (0.4, *deep[1], 0.3)), conductor(1.0), velocity=(1.0,) + (0,) * (dim - 1)
    )
    return mpm.Simulation(scene, dx=1 / 24, threads=threads, **options)


def balance(sim):
    history = sim.history
    gained = history["heat"][-1] - history["heat"][0] - history["wall_heat"].sum()
    return gained, history["friction_work"].sum()


@pytest.mark.parametrize(
    ("dim", "dtype", "k", "walls"),
    [
        (2, "float64", 0.0, None),
        (2, "float32", 0.0, None),
        (3, "float64", 1.0, None),
        (2, "float64", 5.0, {"x": "periodic", "y": "mirror"}),
        (2, "float64", 5.0, {"y-": mpm.Wall("sticky", temperature=290)}),
    ],
)
def test_heat_gained_is_the_work_of_friction(dim, dtype, k, walls):
    sim = sliders(dim, k, walls, dtype=dtype)
    sim.run(0.06)
    gained, work = balance(sim)
    assert work > 0.01 * sim.history["kinetic"][0]
    assert abs(gained - work) < (1e-7 if dtype == "float32" else 1e-13) * sim.history["heat"][0]
    assert abs(gained / work - 1) < (1e-3 if dtype == "float32" else 1e-8)
    T = np.asarray(sim.particles.temperature)
    if walls is None and not k:
        stored = np.asarray(sim.particles.mass).astype(float) * (T - 300.0)
        halves = [c * stored[sim.rows(name)].sum() for name, c in (("body0", 2.0), ("body1", 1.0))]
        assert halves == pytest.approx([work / 2, work / 2], rel=1e-3 if dtype == "float32" else 1e-8)
        assert np.asarray(sim.particles.x)[T > 300.0, -1].max() < 0.125 + 3 / 24  # near the interface alone


def test_friction_melts_and_changes_no_motion(tmp_path):
    melting = mpm.Melting(300.05, 20.0)
    sim, parts = sliders(k=2.0, melting=melting), sliders(k=2.0, melting=melting, threads=2)
    sim.step(60)
    gained, work = balance(sim)
    assert np.asarray(sim.particles.liquid_fraction).max() > 0.001
    assert abs(gained - work) < 1e-13 * sim.history["heat"][0]
    parts.step(23)
    parts.save(tmp_path / "kept.mpm")
    for again in (parts, mpm.load(tmp_path / "kept.mpm")):
        again.step(37)
        assert again.state_hash() == sim.state_hash()
