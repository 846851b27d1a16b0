"""The faces of the domain: how far particles may sink into a wall, and what happens to those outside."""

import numpy as np
import pytest

import mpm

both = pytest.mark.parametrize("dtype", ["float64", "float32"])
dims = pytest.mark.parametrize("dim", [2, 3])
DX = 1 / 16


def block(dim, dtype, on_leave, threads=1):
    scene = mpm.Scene((0.0,) * dim, (1.0,) * dim)
    jelly = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)
    scene.add(mpm.shapes.Box((0.375,) * dim, (0.625,) * dim), jelly, velocity=(1.0,) + (0.0,) * (dim - 1))
    return mpm.Simulation(scene, dx=DX, dtype=dtype, on_leave=on_leave, threads=threads)


@dims
@both
def test_material_pressed_into_a_wall_stays_within_half_a_cell(dim, dtype):
    """Thrown hard at a corner and held there by a strong gravity, every particle stays carried by wall nodes."""
    scene = mpm.Scene((0.0,) * dim, (1.0,) * dim, gravity=(-200.0,) * dim, walls="separate")
    jelly = mpm.materials.NeoHookean(E=2e4, nu=0.3, density=1000)
    scene.add(mpm.shapes.Box((0.1,) * dim, (0.3,) * dim), jelly, velocity=(-5.0,) * dim)
    sim = mpm.Simulation(scene, dx=DX, dtype=dtype, sampling="stratified")
    lowest = 1.0
    for _ in range(30):
        sim.step(5)
        lowest = min(lowest, float(sim.particles.x.min()))
    assert -0.5 * DX <= lowest < 0.1 * DX  # measured 0.027 cells in 2-D, 0.045 in 3-D
    assert sim.health["left_domain"] == 0


@dims
@both
def test_a_position_outside_raises_and_can_be_mended(dim, dtype):
    sim = block(dim, dtype, "raise")
    x = sim.particles.x
    before = x.copy()
    x[[3, 7], 0] = 1 + 0.51 * DX, -0.51 * DX
    with pytest.raises(mpm.EscapeError, match="on_leave") as caught:
        sim.step()
    assert caught.value.rows == [3, 7] and sim.steps == 0
    x[[3, 7], 0] = 1 + 0.49 * DX, -0.49 * DX  # within the wall
    sim.step()
    x[[3, 7]] = before[[3, 7]]
    sim.step()
    assert sim.steps == 2 and sim.health["left_domain"] == 0


@dims
@both
def test_clamp_puts_particles_back_onto_the_face(dim, dtype):
    sim = block(dim, dtype, "clamp")
    mass = sim.particles.mass.sum()
    x = sim.particles.x
    x[3] = 2.5
    x[7, 0] = -1.0
    sim.totals()
    np.testing.assert_allclose(x[3], 1.0, rtol=1e-6)
    assert x[7, 0] == 0.0
    sim.step(5)
    assert sim.health["left_domain"] == sim.health["clamped"] == 2
    assert sim.particles.mass.sum() == mass and len(sim.particles) == len(x)


@dims
@both
@pytest.mark.parametrize("look_first", [False, True])
def test_delete_removes_particles_when_the_call_returns(dim, dtype, look_first):
    sim = block(dim, dtype, "delete")
    n, x, mass, ids = len(sim.particles), sim.particles.x, sim.particles.mass, sim.particles.id.copy()
    rest = mass.sum() * (1 - 2 / n)
    x[3] = 2.5
    x[7, 0] = -1.0
    if look_first:  # frozen, without mass, and still there
        assert sim.totals().mass == pytest.approx(float(rest), rel=1e-6)
        assert mass[3] == mass[7] == 0 and len(sim.particles) == n
    sim.step(5)
    assert sim.health["left_domain"] == sim.health["deleted"] == 2
    np.testing.assert_array_equal(sim.particles.id, np.delete(ids, [3, 7]))
    assert sim.history["mass"][-1] == pytest.approx(float(sim.particles.mass.sum()), rel=1e-6)


@dims
@both
def test_every_face_has_its_own_rule(dim, dtype):
    rules = {"x-": "clamp", "x+": "delete", "y": "clamp"}
    sim = block(dim, dtype, rules)
    n, x, ids = len(sim.particles), sim.particles.x, sim.particles.id.copy()
    x[3, 0], x[7, :2], x[9, 1] = -1.0, (2.0, 2.0), 1.5  # delete goes before clamp
    sim.totals()
    assert x[3, 0] == 0 and x[9, 1] == 1 and sim.particles.mass[7] == 0
    sim.step()
    np.testing.assert_array_equal(sim.particles.id, np.delete(ids, 7))
    sim.particles.v[:] = 0
    sim.particles.x[[0, 1], 0] = -1, 2
    if dim == 3:
        sim.particles.x[4, 2] = 2
        with pytest.raises(mpm.EscapeError) as caught:
            sim.step()
        assert caught.value.rows == [4]  # z is not named
        sim.particles.x[4, 2] = 0.5
    sim.step()
    assert len(sim.particles) == n - 2
    assert {k: sim.health[k] for k in ("left_domain", "clamped", "deleted")} == {
        "left_domain": 5, "clamped": 3, "deleted": 2,
    }  # fmt: skip


@dims
@both
def test_each_face_treats_what_flies_through_it(dim, dtype):
    """Pairs of particles that the grid takes to be at rest: one of each passes a face within the step."""
    dust = mpm.materials.NeoHookean(E=1e-9, nu=0.3, density=1000)

    def flight(on_leave, ways, threads=1):
        scene = mpm.Scene([0] * dim, [1] * dim)
        for x, y, *v in ways:
            points = mpm.shapes.Points([(x, y, 0.5)[:dim]] * 2, volume=1e-4)
            w = np.array([*v, 0][:dim])
            scene.add(points, dust, velocity=lambda x, w=w: [w, -w])
        numerics = {"transfer": "flip", "flip_ratio": 1, "advect": "particle", "dt": 0.01}
        return mpm.Simulation(scene, dx=DX, dtype=dtype, on_leave=on_leave, threads=threads, **numerics)

    sideways, up = [(0.01, 0.5, -5, 0), (0.99, 0.5, 5, 0)], [(0.5, 0.99, 0, 5)]
    mixed = {"x-": "clamp", "x+": "delete"}
    sims = [flight(mixed, sideways, threads) for threads in (1, 3)]
    for sim in sims:
        sim.step()
        assert len(sim.particles) == 3 and sim.particles.x[0, 0] == 0
        sim.step(2)
        assert sim.health["left_domain"] == 2 and sim.health["clamped"] == sim.health["deleted"] == 1
        np.testing.assert_allclose(sim.history["mass"], [0.4, 0.4, 0.3, 0.3], rtol=1e-6)
    assert sims[0].state_hash() == sims[1].state_hash()
    sim = flight(mixed, sideways + up)
    with pytest.raises(mpm.EscapeError) as caught:
        sim.step(3)
    assert caught.value.rows == [4] and sim.steps == 1 and sim.particles.x[4, 1] > 1  # y+ is not named
    assert sim.particles.x[0, 0] == 0 and sim.particles.mass[2] == 0  # and the others have met their fates
    names = ("x", "y", "z")[:dim]
    same = [flight(rule, sideways) for rule in ("clamp", dict.fromkeys(names, "clamp"))]
    for sim in same:
        sim.step(3)
    assert same[0].state_hash() == same[1].state_hash()


def test_a_rule_for_a_periodic_face_is_refused():
    scene = mpm.Scene((0, 0), (1, 1), walls={"x": "periodic"})
    scene.add(mpm.shapes.Box((0.25, 0.25), (0.5, 0.5)), mpm.materials.Fluid(bulk_modulus=1e4, density=1000))
    for make in (
        lambda **k: mpm.Simulation(scene, dx=DX, **k),
        lambda **k: mpm.sph.Simulation(scene, spacing=DX, **k),
    ):
        with pytest.raises(ValueError, match=r"on_leave\['x-'\] = 'clamp': the face is periodic"):
            make(on_leave={"x": "clamp"})
        make(on_leave={"y": "clamp"}).step()


def test_what_leaves_does_not_depend_on_threads():
    hashes = set()
    for threads in (1, 2, 3):
        sim = block(2, "float64", "delete", threads)
        sim.particles.x[::5, 1] = 3.0
        sim.step(20)
        hashes.add(sim.state_hash())
    assert len(hashes) == 1


@dims
@both
def test_a_particle_that_a_collider_pushed_out_says_so(dim, dtype):
    water = mpm.materials.Fluid(bulk_modulus=1e3, density=1000)
    scene = mpm.Scene([0] * dim, [1] * dim)
    scene.add(mpm.shapes.Box([0.75] + [0.25] * (dim - 1), [0.9] + [0.5] * (dim - 1)), water)
    scene.add_collider(mpm.shapes.Box([0.1] + [-1] * (dim - 1), [0.3] + [2] * (dim - 1)), name="post")
    piston = mpm.shapes.Box([0.3] + [-1] * (dim - 1), [0.7] + [2] * (dim - 1))
    scene.add_collider(piston, motion=mpm.motion.Linear([1.0] + [0.0] * (dim - 1)), name="piston")
    sim = mpm.Simulation(scene, dx=DX, dtype=dtype)
    with pytest.raises(
        mpm.EscapeError, match="left the domain, the first one at the collider 'piston'; enlarge"
    ):
        sim.run(1)


def test_a_particle_that_left_by_itself_names_no_collider():
    """Two particles that the grid takes to be at rest."""
    dust = mpm.materials.NeoHookean(E=1e-9, nu=0.3, density=1000)
    scene = mpm.Scene((0, 0), (1, 1))
    pair = mpm.shapes.Points([(0.99, 0.5)] * 2, volume=1e-4)
    scene.add(pair, dust, velocity=lambda x: [(5, 0), (-5, 0)])
    scene.add_collider(mpm.shapes.Box((0.1, 0.1), (0.3, 0.9)), name="post")
    sim = mpm.Simulation(scene, dx=DX, transfer="flip", flip_ratio=1, advect="particle")
    with pytest.raises(mpm.EscapeError, match="left the domain; enlarge"):
        sim.run(1)
