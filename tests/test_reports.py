"""What a run's report is made of: drifts from the history, peaks of a curve, exact volumes of shapes."""

import math
import re

import numpy as np
import pytest

import mpm
import scenes
from mpm import gallery, materials, shapes
from mpm.study import conservation

SOLID = materials.NeoHookean(E=1e4, nu=0.3, density=1000)


def ball(dim, *, gravity=None, spin=True, **scene):
    box = mpm.Scene([0] * dim, [1] * dim, gravity=gravity, **scene)
    spin = (5.0 if dim == 2 else (1.0, 2.0, 5.0)) if spin else (0 if dim == 2 else (0, 0, 0))
    box.add(shapes.Ball([0.5] * dim, 0.2), SOLID, velocity=[0.1, 0.2, 0.3][:dim], angular_velocity=spin)
    return mpm.Simulation(box, dx=0.125, threads=1)


def report(sim, steps=8):
    start = sim.totals()
    sim.step(steps)
    return {row.quantity: row for row in conservation.drifts(sim, start)}, start


@pytest.mark.parametrize("dim", [2, 3])
def test_a_free_body_is_held_to_all_components(dim):
    rows, start = report(ball(dim))
    angular = ["L"] if dim == 2 else ["L_x", "L_y", "L_z"]
    assert list(rows) == ["mass", *(f"P_{axis}" for axis in "xyz"[:dim]), *angular]
    for row in rows.values():
        assert 0 <= row.relative == row.drift / row.scale <= 1e-13  # measured: 1e-15
    assert rows["mass"].scale == start.mass
    assert rows["P_x"].scale == pytest.approx(math.sqrt(2 * start.mass * start.kinetic), rel=0.1)
    assert rows[angular[0]].scale == rows["P_x"].scale * 1.0  # times the domain's side [m]


def test_what_gravity_and_walls_give_is_no_drift():
    sim = ball(2, gravity=(0, -9.81), walls={"y": "separate"})
    start = sim.totals()
    sim.run(0.35)
    assert sim.history["wall_impulse"][:, 1].any()
    rows = {row.quantity: row for row in conservation.drifts(sim, start)}
    # The fall and the floor have levers about the origin: nothing is said about L.
    assert list(rows) == ["mass", "P_x", "P_y - impulses"]
    assert abs(start.momentum[1] - sim.totals().momentum[1]) > 1 > 1e-9 > rows["P_y - impulses"].drift


@pytest.mark.parametrize("dim", [2, 3])
def test_what_colliders_give_is_no_drift(dim):
    box = mpm.Scene([0] * dim, [1] * dim)
    box.add(shapes.Ball([0.5] * dim, 0.2), SOLID, velocity=[0.1, 0.2, 0.3][:dim])
    axis = None if dim == 2 else (0, 0, 1)
    turning = mpm.motion.Rotation(2.0, about=[0.5] * dim, axis=axis)
    box.add_collider(shapes.Ball([0.5] * dim, 0.13), contact="sticky", motion=turning, name="hub")
    floor = shapes.HalfSpace([0.5, 0.35, 0.5][:dim], [0, 1, 0][:dim])
    box.add_collider(floor, friction=0.2, name="floor")
    sim = mpm.Simulation(box, dx=0.125, threads=1)
    rows, start = report(sim)
    # The hub turns the ball: nothing is said about its angular momentum.
    assert list(rows) == ["mass", *(f"P_{axis} - impulses" for axis in "xyz"[:dim])]
    given = np.abs(sim.totals().momentum - start.momentum)
    for k, row in enumerate(list(rows.values())[1:]):
        assert given[k] > 0.1 and row.relative <= 1e-13  # measured: 1e-16


def test_gravity_along_an_axis_leaves_the_angular_momentum_about_it():
    rows, _ = report(ball(3, gravity=(0, 0, -9.81)))
    assert [name for name in rows if name.startswith("L")] == ["L_z"]
    assert rows["L_z"].relative <= 1e-13  # measured: 1e-16


def test_a_drift_is_found():
    sim = ball(2)
    start = sim.totals()
    sim.step(5)
    sim.particles.v += (0.25, 0)  # a push from nowhere
    sim.step(5)
    rows = {row.quantity: row for row in conservation.drifts(sim, start)}
    assert rows["P_x"].drift == pytest.approx(0.25 * start.mass, rel=1e-12)
    assert rows["P_y"].relative <= 1e-13 and rows["mass"].drift <= 1e-12
    # The centre of mass is at y = 0.5 and rises by 0.2 m/s.
    height = sim.history["center_of_mass"][5, 1]
    assert rows["L"].drift == pytest.approx(0.25 * start.mass * height, rel=1e-10)
    text = conservation.table(list(rows.values()))
    assert (
        len(text.splitlines()) == 5 and f"{rows['P_x'].drift:.3e}" in text and "kg m/s  " in text
    )  # per metre of depth


def test_nothing_that_moves_is_nothing_to_compare_with():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(shapes.Box((0.25, 0.25), (0.75, 0.75)), SOLID)
    rows, _ = report(mpm.Simulation(scene, dx=0.125, threads=1))
    assert rows["P_x"].scale == 0 and rows["P_x"].relative == 0


@pytest.mark.parametrize(
    ("curve", "found"),
    [
        ([0, 1, 0], [1]),
        ([1, 0], [0]),  # it begins at a peak
        ([0, 1], []),  # not over yet
        ([3, 0, 2, 0, 1, 0], [0, 2, 4]),
        ([3, 0, 0.05, 0, 2, 0], [0, 4]),  # what does not rise by the threshold is vibration
        ([3, 2.95, 3.02, 0, 1, 0], [2, 4]),
        ([1, 1, 1], []),
        ([], []),
    ],
)
def test_peaks(curve, found):
    assert conservation.peaks(np.array(curve, dtype=float), 0.1) == found


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        (shapes.Box((0, 0), (2, 3)), 6),
        (shapes.Box((0, 0, 0), (2, 3, 4)), 24),
        (shapes.Ball((1, 1), 2), 4 * math.pi),
        (shapes.Ball((1, 1, 1), 2), 32 / 3 * math.pi),
        (shapes.Cylinder((0, 0), (3, 4), 1), 10),
        (shapes.Cylinder((0, 0, 0), (0, 3, 4), 1), 5 * math.pi),
        (shapes.Capsule((0, 0), (3, 4), 1), 10 + math.pi),
        (shapes.Capsule((0, 0, 0), (0, 3, 4), 1), 5 * math.pi + 4 / 3 * math.pi),
        (shapes.Polygon([(0, 0), (2, 0), (0, 2)]), 2),
        (shapes.Polygon([(0, 0), (0, 2), (2, 0)]).translate((1e6, 0)), 2),
        (shapes.Mesh(gallery.CUBE_MESH), 0.125),
        (shapes.Ball((1, 1), 2).scale(2), 16 * math.pi),
        (shapes.Ball((1, 1), 2) | shapes.Ball((5, 5), 1), 5 * math.pi),
        (shapes.Ball((1, 1), 2) | shapes.Ball((2, 2), 1), None),
        (shapes.Ball((1, 1), 2) - shapes.Ball((1, 1), 1), 3 * math.pi),
        (shapes.HalfSpace((0, 0), (0, 1)), None),
        (shapes.Points([(0, 0)], volume="per-cell"), None),
    ],
)
def test_volumes(shape, volume):
    measured = shape._volume()
    assert measured == (None if volume is None else pytest.approx(volume, rel=1e-9))


@pytest.mark.parametrize(
    ("dim", "units"), [(2, ("kg/m", "kg/s", "kg m/s", "J/m")), (3, ("kg", "kg m/s", "kg m²/s", "J"))]
)
def test_reports_of_a_plane_scene_are_per_metre_of_depth(dim, units):
    mass, momentum, spin, energy = units
    sim = ball(dim)
    assert repr(sim.totals()).startswith("Totals per metre of depth\n" if dim == 2 else "Totals\n")
    said = {"mass": mass, "momentum": momentum, "angular_momentum": spin, "kinetic": energy, "energy": energy}
    for name, unit in said.items():
        (line,) = (line for line in repr(sim.totals()).splitlines() if line.split()[0] == name)
        assert re.fullmatch(rf"  {name} +(\(.*\)|\S+) {unit}", line)
    assert re.search(rf"particles, [\d.]+ {mass} \(exact\)", repr(sim))
    rows, _ = report(sim, steps=1)
    assert {row.unit for row in rows.values()} == {mass, momentum, spin}


def test_drifts_count_from_the_start_that_is_given():
    sim = scenes.free_body(2, side=6)
    sim.step(5)
    sim.particles.v[:] += 1.0  # a kick that no impulse explains
    start = sim.totals()
    sim.step(5)
    assert all(row.relative < 1e-12 for row in conservation.drifts(sim, start))


@pytest.mark.parametrize("history", [0, 5])
def test_drifts_need_every_step(history):
    sim = scenes.free_body(2, side=6, history=history)
    start = sim.totals()
    sim.step(7)
    with pytest.raises(ValueError, match=rf"{7 // history if history else 0} of 7 steps are in its history"):
        conservation.drifts(sim, start)


def test_the_summary_tells_what_is_left_of_a_body():
    scene = mpm.Scene((0, 0), (1, 1))
    for name, x in (("a", 0.3), ("b", 0.7)):
        scene.add(mpm.shapes.Ball((x, 0.5), 0.1), mpm.materials.Fluid(bulk_modulus=1e3, density=1), name=name)
    sim = mpm.Simulation(scene, dx=1 / 32)
    assert "left" not in repr(sim)
    sim.particles.delete(sim.rows("b"))
    sim.particles.delete([0, 1])
    of_a, of_b = repr(sim).splitlines()[1:3]
    assert of_a.endswith(f", of which {len(sim.particles)} are left") and of_b.endswith(
        ", of which 0 are left"
    )
