"""Friction heats bodies that rub each other, walls and colliders."""

import numpy as np
import pytest

import mpm
from mpm.shapes import Box, HalfSpace


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


def skater(dim=2, by="wall", share=1.0, dtype="float64", walls=None, **options):
    """A block that slides on the floor, a wall or the top of a collider."""
    floor = mpm.Wall("separate", friction=0.4, friction_heat=share)
    scene = mpm.Scene(
        (0,) * dim, (1.0,) + (0.5,) * (dim - 1), gravity=(0,) * (dim - 1) + (-9.81,),
        walls={f"{'xyz'[dim - 1]}-": floor if by == "wall" else "slip"} | (walls or {}),
    )  # fmt: skip
    height = 0.0
    if by == "collider":
        height = 0.11
        shape = HalfSpace((0,) * (dim - 1) + (height,), (0,) * (dim - 1) + (1,))
        scene.add_collider(shape, contact="separate", friction=0.4, friction_heat=share)
    low, high = (0.2, *[0.1] * (dim - 2), height), (0.5, *[0.35] * (dim - 2), height + 0.2)
    law = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000, thermal=mpm.Thermal(1.0, 1.0, 300.0))
    scene.add(Box(low, high), law, velocity=(1.0,) + (0,) * (dim - 1))
    return mpm.Simulation(scene, dx=1 / 24, dtype=dtype, **options)


def rubbed(sim):
    """Heat gained, and what friction has given."""
    history = sim.history
    return history["heat"][-1] - history["heat"][0], history["friction_heat"].sum()


@pytest.mark.parametrize("by", ["wall", "collider"])
@pytest.mark.parametrize(
    ("dim", "dtype", "options"),
    [
        (2, "float64", {}),
        (2, "float32", {}),
        (3, "float64", {}),
        (2, "float64", {"walls": {"x": "periodic"}}),
        (2, "float64", {"integrator": "implicit-euler", "dt": 1e-3}),
    ],
)
def test_what_slides_on_walls_and_colliders_gets_the_work_of_friction(by, dim, dtype, options):
    sim = skater(dim, by, dtype=dtype, **options)
    sim.run(0.06)
    gained, given = rubbed(sim)
    assert abs(gained - given) < (1e-7 if dtype == "float32" else 1e-13) * sim.history["heat"][0]
    assert abs(gained / given - 1) < (1e-3 if dtype == "float32" else 1e-8)
    energy = sum(sim.history[name] for name in ("kinetic", "elastic", "gravitational"))
    assert (
        0.93 < given / (energy[0] - energy[-1]) < 1.01
    )  # measured: 0.97 to 0.99; the transfer takes the rest


def test_the_material_gets_its_share_and_the_motion_knows_nothing_of_it():
    whole, quarter, none = (skater(share=share) for share in (1.0, 0.25, 0.0))
    for sim in (whole, quarter, none):
        sim.run(0.06)
        assert (sim.particles.x == whole.particles.x).all()
    assert rubbed(quarter)[1] == pytest.approx(0.25 * rubbed(whole)[1], rel=1e-12)
    gained, given = rubbed(none)
    assert given == 0 and abs(gained) <= np.spacing(none.history["heat"][0])  # measured: that


def test_corners_share_by_the_friction_of_their_walls():
    """A block that is pressed into the edge of two walls and slides along it."""
    found = []
    for share in (1.0, 0.0):
        walls = {
            "y-": mpm.Wall("separate", friction=0.2),
            "z-": mpm.Wall("separate", friction=0.4, friction_heat=share),
        }
        scene = mpm.Scene((0, 0, 0), (1, 0.5, 0.5), gravity=(0, -9.81, -9.81), walls=walls)
        law = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000, thermal=mpm.Thermal(0.0, 1.0, 300.0))
        scene.add(Box((0.2, 0, 0), (0.5, 0.25, 0.25)), law, velocity=(1, 0, 0))
        sim = mpm.Simulation(scene, dx=1 / 16)
        sim.run(0.05)
        gained, given = rubbed(sim)
        assert gained == pytest.approx(given, rel=1e-8)
        found.append(given)
    assert found[1] == pytest.approx(found[0] / 3, rel=0.1)


def test_what_sticks_is_not_heated():
    """Its weight and its stresses pull at it in every step; the energy that friction takes then is no heat."""
    walls = {"y-": mpm.Wall("separate", friction=10.0)}
    scene = mpm.Scene((0, 0), (1, 0.5), gravity=(2.0, -9.81), walls=walls)
    law = mpm.materials.NeoHookean(E=1e5, nu=0.0, density=1000, thermal=mpm.Thermal(0.0, 1.0, 300.0))
    scene.add(Box((0.2, 0), (0.6, 0.2)), law)
    sim = mpm.Simulation(scene, dx=1 / 24, damping=40.0)
    sim.run(0.3)
    late = sim.history["time"] > 0.2  # before, the block bounces
    assert sim.history["wall_impulse"][late, 0].sum() < -1
    assert sim.history["friction_heat"][late].sum() == 0


def test_friction_of_walls_keeps_bits_and_files(tmp_path):
    sim, parts = skater(by="collider"), skater(by="collider", threads=2)
    sim.step(60)
    parts.step(23)
    parts.save(tmp_path / "kept.mpm")
    kept = mpm.load(tmp_path / "kept.mpm")
    for again in (parts, kept):
        again.step(37)
        assert again.state_hash() == sim.state_hash()
        assert (again.history["friction_heat"] == sim.history["friction_heat"]).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: mpm.Wall("slip", friction_heat=1.5), "friction_heat = 1.5"),
        (lambda: mpm.Wall("slip", friction_heat=float("nan")), "friction_heat"),
        (lambda: mpm.Wall("sticky", friction_heat=0.5), "'sticky' walls have no friction"),
        (lambda: skater(share=True), "friction_heat"),
    ],
)
def test_wrong_shares_are_refused(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()


def test_a_share_of_no_friction_warns(tmp_path):
    def block(**friction):
        scene = mpm.Scene((0, 0), (1, 1), walls={"y-": mpm.Wall("separate", friction_heat=0.5, **friction)})
        law = mpm.materials.NeoHookean(E=1e3, nu=0.3, density=1000, thermal=mpm.Thermal(1.0, 1.0))
        scene.add(Box((0.2, 0.2), (0.5, 0.5)), law)
        return mpm.Simulation(scene, dx=1 / 8)

    with pytest.warns(
        UserWarning, match=r"walls\['y-'\]: friction_heat = 0.5: .* change 'y-.friction' in the run"
    ):
        block()
    sim = block(friction=0.4)
    with pytest.warns(UserWarning, match=r"collider 'rail': friction_heat = 0.2: .* no heat of friction"):
        sim.add_collider(HalfSpace((0, 0.8), (0, -1)), contact="separate", friction_heat=0.2, name="rail")
    sim.set("y-.friction", 0)  # for a while
    mpm.load(sim.save(tmp_path / "kept.mpm") or tmp_path / "kept.mpm").set("y-.friction", 0.4)


def test_shares_without_heat_are_refused():
    scene = mpm.Scene((0, 0), (1, 1), walls={"y-": mpm.Wall("separate", friction=0.4, friction_heat=0.5)})
    scene.add(Box((0, 0), (0.5, 0.5)), mpm.materials.NeoHookean(E=1e3, nu=0.3, density=1000))
    with pytest.raises(
        ValueError, match=r"walls\['y-'\]: friction_heat=0.5: no body conducts heat: not used"
    ):
        mpm.Simulation(scene, dx=1 / 8)
    with pytest.raises(ValueError, match=r"does not conduct heat; use mpm\.Simulation"):
        mpm.fem.Simulation(scene, spacing=1 / 8)
    assert "friction_heat=0.5" in repr(scene.walls["y-"])
