"""Every scene of the gallery: what it holds, that it runs, and that it runs the same each time."""

import math

import numpy as np
import pytest

import mpm
from mpm import gallery

# A coarser grid where the scene itself is large; its numerics otherwise.
SCALE = {"cube": 0.5, "jelly": 0.5, "disks": 1, "beam": 1}

names = pytest.mark.parametrize("name", gallery.names())


def small(name, **numerics):
    return gallery.get(name).simulation(scale=SCALE[name], **numerics)


def test_names_are_those_of_the_scenes():
    assert gallery.names() == ("beam", "cube", "disks", "jelly")
    assert set(gallery.names()) == set(SCALE)


@names
def test_what_an_entry_says(name):
    entry = gallery.get(name)
    assert entry.name == name and len(entry.summary) > 20 and "\n" not in entry.summary
    assert entry.frames == entry.duration * entry.fps
    assert entry.scene() is not entry.scene()  # new each time: one user's changes are not another's
    with pytest.raises(TypeError):
        entry.numerics["dx"] = 1
    assert gallery.get(name) is entry and getattr(gallery, name).__doc__


@names
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_runs_and_runs_the_same_again(name, dtype):
    sims = [small(name, dtype=dtype, threads=threads) for threads in (1, 2)]
    start = sims[0].totals()
    for sim in sims:
        sim.step(20)
    assert sims[0].state_hash() == sims[1].state_hash()
    sim, totals = sims[0], sims[0].totals()
    assert sim.dtype == dtype and sim.steps == 20
    assert totals.mass == pytest.approx(start.mass, rel=1e-15)
    for field in sim.particles.fields:
        assert np.isfinite(sim.particles[field]).all(), field
    x = sim.particles.x
    assert (x >= sim.scene.lower).all() and (x <= sim.scene.upper).all()
    assert not sim.health["left_domain"] and not sim.health["refused"]


@names
def test_physics_and_numerics_can_be_changed(name):
    entry = gallery.get(name)
    density = entry.scene().bodies[0].material.density
    scene = entry.scene(density=density / 2)
    half, whole = (small(name, scene=chosen) for chosen in (scene, None))
    assert half.totals().mass == pytest.approx(whole.totals().mass / 2, rel=1e-14)
    assert whole.dx == pytest.approx(entry.numerics["dx"] / SCALE[name], rel=1e-15)
    assert entry.simulation(dx=whole.dx, history=0).dx == whole.dx


def test_the_cube_is_125_000_particles_from_a_mesh_of_quads():
    lines = gallery.CUBE_MESH.read_text().splitlines()
    assert [len(line.split()) - 1 for line in lines if line.startswith("f ")] == [4] * 96
    sim = gallery.get("cube").simulation(threads=1, dtype="float32")
    assert len(sim.particles) == 125_000
    assert (sim.particles.x.min(axis=0) >= 0.25).all() and (sim.particles.x.max(axis=0) <= 0.75).all()
    assert sim.totals().mass == pytest.approx(125, rel=1e-6)
    assert gallery.get("cube").frames == 240 and sim.dx == 0.02
    walls = sim.scene.walls
    assert walls["z-"] == mpm.Wall("separate")


def test_the_cube_leaves_the_floor_again():
    """On a coarse grid: the grid's floor is felt one cell above it."""
    sim = gallery.get("cube").simulation(scale=0.4, threads=2)
    start = sim.totals()
    assert len(sim.particles) == 8000
    sim.run(0.15)
    fallen = sim.totals()
    # Symplectic Euler is ahead of the parabola by g t dt / 2.
    ahead = 9.81 * 0.15 * sim.history["dt"].max() / 2
    fall = start.center_of_mass[2] - fallen.center_of_mass[2]
    assert 0 < fall - 9.81 * 0.15**2 / 2 <= ahead * (1 + 1e-9)
    assert not sim.history["wall_impulse"].any()
    sim.run(0.4)
    momentum = sim.history["momentum"]
    assert sim.history["wall_impulse"][:, 2].min() >= 0  # the floor pushes and never holds
    assert momentum[-1, 2] < 0 < momentum[:, 2].max()  # it rose, and falls again
    assert sim.history["center_of_mass"][:, 2].max() < 0.5
    # Nothing pushes sideways. Measured: 3e-17 of the momentum of the fall.
    assert np.abs(momentum[:, :2]).max() <= 1e-13 * abs(fallen.momentum[2])
    assert sim.totals().mass == start.mass


def test_the_disks_exchange_their_momentum_and_are_mirror_images():
    sim = small("disks", sampling="lattice")
    start = sim.totals()
    assert math.hypot(*start.momentum) <= 1e-14 * start.mass * 0.1
    sim.run(2.5)
    lower = sim.particles.id < len(sim.particles) // 2
    speed = [
        np.average(sim.particles.v[rows, 0], weights=sim.particles.mass[rows]) for rows in (lower, ~lower)
    ]
    # They met (contact at about 1.6 s) and go apart. Measured: ∓0.08828 m/s, equal to 2e-16.
    assert speed[0] < -0.03 and speed[0] == pytest.approx(-speed[1], abs=1e-13)
    assert np.abs(sim.history["momentum"]).max() <= 1e-13 * start.mass * 0.1


def test_the_jelly_and_the_fluid_stay_in_the_box():
    sim = small("jelly")
    assert [type(law).__name__ for law in sim.materials] == ["Fluid", "FixedCorotated"]
    sim.run(1.0)
    assert not sim.health["left_domain"]
    jelly = sim.particles.material == 1
    # It fell from 0.5 m, and the fluid or the floor holds it. Measured: 0.22 m.
    assert 0.05 < sim.particles.x[jelly, 1].mean() < 0.45
    assert sim.totals().energy < sim.history["energy"][0]


def test_the_beam_is_free():
    sim = small("beam")
    start = sim.totals()
    sim.step(300)
    momentum = sim.history["momentum"]
    # v_x = sin(pi y / 6): 2/pi of the mass in momentum. Measured: 3e-5 of quadrature, a drift of 4e-16.
    assert start.momentum[0] == pytest.approx(start.mass * 2 / np.pi, rel=1e-4)
    assert np.abs(momentum - start.momentum).max() <= 1e-13 * abs(start.momentum[0])
    assert not sim.history["wall_impulse"].any()
