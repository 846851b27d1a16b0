"""Joints of rigid bodies to the world, forces by partner and the books of rigid bodies, against closed forms."""

import numpy as np
import pytest

import mpm
from mpm.joints import FixedAxis, Hinge, Slider, Socket
from mpm.shapes import Ball, Box
from scenes import DIMS, DTYPES

G = 10.0  # [m/s²]
STONE = mpm.materials.Rigid(density=1000)


def close(sim, momentum=1e-10):
    """Momentum and energy change by what is in the books."""
    H = sim.history
    given = H["body_impulse"] + H["wall_impulse"] + H["joint_impulse"]
    scale = np.abs(given).sum()
    np.testing.assert_allclose(np.diff(H["momentum"], axis=0), given[1:], rtol=0, atol=momentum * scale)
    given = (H["joint_work"] - H["friction_work"] - H["impact_work"])[1:]
    scale = np.abs(H["kinetic"]).max()
    np.testing.assert_allclose(np.diff(H["energy"]), given, rtol=0, atol=momentum * scale)


@pytest.mark.parametrize("axis", [None, (0, 1, 0), (1, 1, 0)])
def test_a_pendulum_swings_with_its_period(axis):
    """T = 2 π √(I/(M g s)) (1 + a²/16), I about the axis; an oblique axis is none of the principal ones."""
    dim, L, w, a, s = 2 if axis is None else 3, 1.0, 0.2, 0.1, 0.5
    scene = mpm.Scene([0] * dim, [4] * dim, gravity=[0] * (dim - 1) + [-G])
    bar = Box([-w / 2] * (dim - 1) + [-L], [w / 2] * (dim - 1) + [0])
    turned = bar.rotate(a) if dim == 2 else bar.rotate(a, axis=axis)
    scene.add(turned.translate([2] * dim), STONE, joint=Hinge([2] * dim, axis=axis), name="bar")
    sim = mpm.Simulation(scene, dx=0.1 if dim == 2 else 0.2)
    sim.run(4)
    r, t = sim.history["center_of_mass"] - 2, sim.history["time"]
    x = r[:, 0]
    up = np.flatnonzero((x[:-1] < 0) & (x[1:] >= 0))
    times = t[up] - x[up] * (t[up + 1] - t[up]) / (x[up + 1] - x[up])
    inertia = (L**2 + w**2) / 12 + s**2
    period = 2 * np.pi * np.sqrt(inertia / (G * s)) * (1 + a**2 / 16)
    assert np.diff(times) == pytest.approx(period, rel=1e-3)  # 5e-5; 4e-4
    np.testing.assert_allclose(np.linalg.norm(r, axis=1), s, rtol=0, atol=1e-5)  # 7e-8; 5e-7
    energy = sim.history["energy"]
    assert np.ptp(energy) < 2e-3 * sim.history["kinetic"].max()  # 4e-4
    close(sim)
    force = sim.rigid("bar").forces["joint"]
    assert force[-1] == pytest.approx(sim.totals().mass * G, rel=0.05)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", DIMS)
def test_a_body_slides_along_a_slider(dim, dtype):
    """a = g sin θ along it, and the joint carries M g cos θ across; a driven one goes its way."""
    down = np.array([np.cos(0.3), *[0] * (dim - 2), -np.sin(0.3)])
    for speed in (None, 0.5):
        scene = mpm.Scene([0] * dim, [4] * dim, gravity=[0] * (dim - 1) + [-G])
        box = Box([0.5] * (dim - 1) + [3], [1] * (dim - 1) + [3.3])
        scene.add(box, STONE, joint=Slider(2 * down, speed=speed), name="box")
        sim = mpm.Simulation(scene, dx=0.2, dtype=dtype)
        before, weight = sim.rigid("box").position, sim.totals().mass * G
        sim.run(0.8)
        box = sim.rigid("box")
        way = 0.5 * G * np.sin(0.3) * 0.64 if speed is None else 0.4
        tolerance = 1e-12 if dtype == "float64" else 1e-5
        np.testing.assert_allclose(box.position - before, way * down, rtol=0, atol=tolerance)
        np.testing.assert_allclose(box.rotation, np.eye(dim), rtol=0, atol=tolerance)
        along = 0 if speed is None else -weight * np.sin(0.3)
        pull = np.append([0] * (dim - 1), -weight)
        expected = along * down - (pull - (pull @ down) * down)
        np.testing.assert_allclose(box.forces["joint"], expected, rtol=0, atol=1e4 * tolerance * weight)


@pytest.mark.parametrize("dim", DIMS)
def test_a_driven_wheel_turns_by_its_spin_and_does_work(dim):
    """Paddles in water: the angle is the spin times the time, and the work that of the torque of the water."""
    high = [(0.1, 0.4)] if dim == 3 else []
    low, up = [a for a, _ in high], [b for _, b in high]
    wheel = Box([0.3, *low, 0.36], [0.7, *up, 0.44]) | Box([0.46, *low, 0.2], [0.54, *up, 0.6])
    axis = None if dim == 2 else (0, -1, 0)
    scene = mpm.Scene([0] * dim, [1, *[0.5] * (dim - 2), 1], gravity=[0] * (dim - 1) + [-G])
    water = mpm.materials.Fluid(bulk_modulus=2e4, density=1000)
    scene.add(Box([0] * dim, [1, *[0.5] * (dim - 2), 0.35]) - wheel, water, name="water")
    scene.add(
        wheel,
        mpm.materials.Rigid(density=500),
        joint=Hinge([0.5, *[0.25] * (dim - 2), 0.4], axis=axis, spin=-3.0),
        name="wheel",
    )
    sim = mpm.Simulation(scene, dx=1 / 16)
    work = 0.0
    for _ in range(60 if dim == 2 else 25):
        sim.step()
        turning = sim.rigid("wheel").torques["joint"]
        work += sim.dt * -3.0 * (turning if dim == 2 else -turning[1])
    wheel = sim.rigid("wheel")
    R = wheel.rotation
    assert np.arctan2(R[-1, 0], R[0, 0]) == pytest.approx(-3 * sim.time, rel=1e-9)
    assert "nodes" in wheel.forces
    assert sim.history["joint_work"].sum() == pytest.approx(work, rel=1e-6)
    assert work > 0.1
    np.testing.assert_allclose(wheel.position, [0.5, *[0.25] * (dim - 2), 0.4], rtol=0, atol=1e-6)


def test_a_top_precesses():
    """A heavy wheel on a level axle from a socket: ω_p = M g s/(I₃ ω), without nutation."""
    scene = mpm.Scene((0, 0, 0), (4, 4, 4), gravity=(0, 0, -G))
    point, spin = np.array([2.0, 2.0, 2.0]), 100.0
    wheel = Box((0.3, -0.4, -0.4), (0.5, 0.4, 0.4)).translate(point)
    turning = G * 0.4 / (0.8**2 / 6 * spin)
    scene.add(wheel, STONE, joint=Socket(point), angular_velocity=(spin, 0, turning), name="top")
    sim = mpm.Simulation(scene, dx=0.1, dt=1e-3)
    sim.run(0.3)
    top = sim.rigid("top")
    r = top.position - point
    assert np.linalg.norm(r) == pytest.approx(0.4, abs=1e-5)
    assert np.arctan2(r[1], r[0]) == pytest.approx(turning * sim.time, rel=1e-2)
    assert abs(r[2]) < 1e-3


def test_a_fixed_axis_keeps_its_direction_and_the_body_is_free_to_move():
    scene = mpm.Scene((0, 0, 0), (4, 4, 4))
    axis = np.array([1, 2, 2]) / 3
    scene.add(
        Box((1, 1, 1), (1.4, 1.9, 1.6)),
        STONE,
        joint=FixedAxis(axis),
        angular_velocity=3 * axis + (0, 1, -1),
        velocity=(0.5, 0.2, 0),
        name="box",
    )
    sim = mpm.Simulation(scene, dx=0.2, dt=2e-3)
    sim.run(1)
    box = sim.rigid("box")
    np.testing.assert_allclose(box.rotation @ axis, axis, rtol=0, atol=1e-4)
    np.testing.assert_allclose(box.position, [1.7, 1.65, 1.3], rtol=0, atol=1e-9)
    assert box.spin @ axis == pytest.approx(3, rel=1e-3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_joints_are_kept_in_files(dtype, tmp_path):
    scene = mpm.Scene((0, 0), (2, 2), gravity=(0, -G), walls=mpm.Wall("separate", friction=0.3))
    scene.add(Box((0.9, 0.5), (1.1, 1.5)), STONE, joint=Hinge((1, 1.4)), angular_velocity=2, name="bar")
    scene.add(Ball((1.5, 0.2), 0.2), STONE, velocity=(-2, 0), joint=Slider((1, 0)))
    scene.add(Ball((0.4, 0.7), 0.2), STONE, joint=FixedAxis(spin=1.0))
    sim = mpm.Simulation(scene, dx=0.1, dtype=dtype)
    sim.step(20)
    sim.save(tmp_path / "kept.mpm")
    other = mpm.load(tmp_path / "kept.mpm")
    np.testing.assert_array_equal(other.scene.bodies[0].joint.point, (1, 1.4))
    assert [type(body.joint) for body in other.scene.bodies] == [Hinge, Slider, FixedAxis]
    for one in (sim, other):
        one.step(60)
    assert sim.state_hash() == other.state_hash()
    np.testing.assert_array_equal(sim.history["joint_impulse"], other.history["joint_impulse"])


def test_wrong_joints_are_refused():
    def added(joint, dim=2, material=STONE):
        scene = mpm.Scene([0] * dim, [1] * dim)
        scene.add(Ball([0.5] * dim, 0.2), material, joint=joint)

    jelly = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)
    for error, message, *given in (
        (TypeError, r"joint = 3: must be one of mpm\.joints", 3),
        (
            ValueError,
            r"the body is of NeoHookean; must be of mpm\.materials\.Rigid",
            Hinge((0.5, 0.5)),
            2,
            jelly,
        ),
        (ValueError, r"axis = None: 3-D needs an axis", Hinge((0.5, 0.5, 0.5)), 3),
        (ValueError, r"in 2-D bodies turn in the plane; leave axis out", Hinge((0.5, 0.5), axis=(0, 0, 1))),
        (
            ValueError,
            r"point = \(0\.5, 0\.5\) has 2 components; must have 3",
            Hinge((0.5, 0.5), axis=(0, 0, 1)),
            3,
        ),
        (ValueError, r"a Socket is for 3-D; in 2-D it is a Hinge", Socket((0.5, 0.5))),
        (ValueError, r"a FixedAxis in 2-D must have a spin", FixedAxis()),
    ):
        with pytest.raises(error, match=message):
            added(*given)
    with pytest.raises(ValueError, match=r"direction = \(0, 0\): must not be zero"):
        Slider((0, 0))
    with pytest.raises(TypeError, match="Joint is the base of the joints"):
        mpm.joints.Joint()
    with pytest.raises(ValueError, match=r"speed = 1e\+300: must be >= -1e\+100 and <= 1e\+100 \[m/s\]"):
        Slider((1, 0), speed=1e300)
    with pytest.raises(ValueError, match=r"spin = -1e\+300: must be >= -1e\+100 and <= 1e\+100 \[rad/s\]"):
        Hinge((0.5, 0.5), spin=-1e300)


def test_a_scene_names_its_joints():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(Ball((0.5, 0.5), 0.2), STONE, joint=Hinge((0.5, 0.6), spin=2.0), name="wheel")
    assert "wheel: Ball" in repr(scene)
    assert "Hinge(point=(0.5, 0.6), spin=2.0)" in repr(scene)


def test_forces_are_told_by_partner():
    """Of a stack of three on the floor, with a wall beside it and a block of rubber on it."""
    scene = mpm.Scene((0, 0), (2, 2), gravity=(0, -G), walls="separate")
    stone = mpm.materials.Rigid(density=1000, friction=0.3)
    for k in range(3):
        scene.add(Box((0.5, 0.4 * k), (0.9, 0.4 * k + 0.4)), stone, name=f"box {k}")
    rubber = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)
    scene.add(Box((0.5, 1.2), (0.9, 1.4)), rubber, name="rubber")
    sim = mpm.Simulation(scene, dx=0.1)
    assert sim.rigid("box 0").forces == {}
    sim.run(1.0)
    below, middle, top = (sim.rigid(f"box {k}") for k in range(3))
    weight, soft = middle.mass * G, sim.totals().mass * G - 3 * middle.mass * G
    assert set(middle.forces) == {"box 0", "box 2"}
    assert set(top.forces) == {"box 1", "nodes"}
    for force, expected in (
        (below.forces["wall:y-"], 3 * weight + soft),
        (middle.forces["box 0"], 2 * weight + soft),
        (middle.forces["box 2"], -weight - soft),
        (top.forces["nodes"], -soft),
    ):
        np.testing.assert_allclose(force, (0, expected), rtol=0, atol=0.05 * weight)  # the rubber still moves
    np.testing.assert_array_equal(below.forces["box 1"], -middle.forces["box 0"])
    np.testing.assert_allclose(top.contact_force, (0, weight), rtol=0, atol=1e-6 * weight + 0.01 * weight)


@pytest.mark.parametrize("dim", DIMS)
def test_the_history_has_the_force_of_each_joint(dim, tmp_path):
    """A pendulum that is let go on the level of its hinge: below the hinge, its tension is m g (1 + 2/(1 + k)) with
    k = I/(m l²); so after energy. A second body slides without weight."""
    size, length = 0.1, 0.4
    scene = mpm.Scene([0] * dim, [2] * dim, gravity=[0] * (dim - 1) + [-G])
    hinge = [1.0] * dim
    at = [hinge[0] + length, *hinge[1:]]
    turns = {} if dim == 2 else {"axis": (0, 1, 0)}
    scene.add(Ball(at, size), STONE, joint=mpm.joints.Hinge(hinge, **turns), name="pendulum")
    along = [1, *[0] * (dim - 1)]
    box = Box([0.2] * dim, [0.5] * dim)
    scene.add(box, STONE, velocity=along, joint=mpm.joints.Slider(along), name="sledge")
    sim = mpm.Simulation(scene, dx=0.1, dt=1e-3, history=2)
    while sim.rigid("pendulum").position[0] > hinge[0]:
        sim.step(3)
    ball, sledge = sim.rigid("pendulum"), sim.rigid("sledge")
    inertia = size**2 * (0.5 if dim == 2 else 0.4)
    tension = ball.mass * G * (1 + 2 / (1 + inertia / length**2))
    np.testing.assert_allclose(sim.force("joint:pendulum")[-1], tension, rtol=1e-3)  # 2e-4
    weight = sledge.mass * G
    np.testing.assert_allclose(sim.force("joint:sledge", window=0.1)[-1], weight, rtol=1e-12)
    history = sim.history
    total = sum(history[f"impulse:joint:{name}"] for name in ("pendulum", "sledge"))
    np.testing.assert_allclose(total, history["joint_impulse"], rtol=0, atol=1e-12 * np.abs(total).max())
    np.testing.assert_allclose(
        np.diff(history["momentum"], axis=0),
        (history["body_impulse"] + history["joint_impulse"])[1:],
        rtol=0,
        atol=1e-10 * weight,
    )
    # The hinge pulls along the arm, which has no torque about the centre of mass; the rest drives the spin.
    turned = history["torque:joint:pendulum"].sum(axis=0)
    spin = ball.spin if dim == 2 else ball.spin[1]
    np.testing.assert_allclose(turned if dim == 2 else turned[1], inertia * ball.mass * spin, rtol=5e-3)
    sim.step(1)  # between two records
    path = tmp_path / "joints.mpm"
    sim.save(path)
    other = mpm.load(path)
    for one in (sim, other):
        one.step(20)
    for name in history:
        np.testing.assert_array_equal(other.history[name], sim.history[name])


def test_columns_of_joints_come_and_stay():
    """A body with a joint that comes while another is gone takes no column of it."""
    scene = mpm.Scene((0, 0), (2, 2), gravity=(0, -G))
    scene.add_collider(Ball((0.3, 0.3), 0.1), name="post")
    wheel = mpm.joints.Hinge((1, 1))
    scene.add(Ball((1, 1), 0.2), STONE, joint=wheel, name="a")
    sim = mpm.Simulation(scene, dx=0.1, dt=2e-3)
    sim.step(2)
    sim.add(Ball((1.6, 1), 0.2), STONE, joint=mpm.joints.Hinge((1.6, 1)), name="b")
    sim.step(2)
    weight = sim.rigid("a").mass * G
    sim.particles.delete(sim.rows("a"))
    sim.add(Ball((1, 1), 0.2), STONE, name="free")
    sim.step(2)
    for name, held in (("a", [1, 1, 1, 1, 0, 0]), ("b", [0, 0, 1, 1, 1, 1])):
        np.testing.assert_allclose(
            sim.history[f"force:joint:{name}"][1:, 1], np.multiply(held, weight), rtol=1e-12
        )
    assert not sim.history["impulse:post"].any()
    with pytest.raises(ValueError, match="joint:a"):
        sim.force("joint:free")


@pytest.mark.parametrize("dim", DIMS)
def test_friction_work_is_that_of_the_way(dim):
    """μ N s; what impacts take is told apart, and the energy changes by both."""
    friction, speed = 0.2, 2.0
    scene = mpm.Scene(
        [0] * dim,
        [4, *[1] * (dim - 1)],
        gravity=[0] * (dim - 1) + [-G],
        walls=mpm.Wall("separate", friction=friction),
    )
    scene.add(
        Box([0.4] * (dim - 1) + [0], [0.8] * (dim - 1) + [0.2]), STONE, velocity=[speed, *[0] * (dim - 1)]
    )
    scene.add(Ball([3, *[0.5] * (dim - 1)], 0.2), STONE, name="ball")
    sim = mpm.Simulation(scene, dx=0.1)
    sim.run(1.2)
    box_mass = sim.rigid("body0").mass
    taken = 0.5 * box_mass * speed**2
    assert sim.history["friction_work"].sum() == pytest.approx(taken, rel=1e-3)
    ball = sim.rigid("ball").mass
    assert sim.history["impact_work"].sum() == pytest.approx(ball * G * 0.3, rel=1e-3)
    close(sim)


def test_columns_of_rigid_bodies_come_with_the_first():
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -G))
    scene.add(Box((0.1, 0), (0.4, 0.3)), mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000))
    scene.add_collider(Ball((0.75, 0.1), 0.13), name="post")
    sim = mpm.Simulation(scene, dx=0.1)
    sim.step(5)
    before = {name: sim.history[name] for name in sim.history}
    assert "friction_work" not in before
    sim.add(Ball((0.7, 0.7), 0.1), STONE)
    sim.step(5)
    for name, values in before.items():
        np.testing.assert_array_equal(sim.history[name][: len(values)], values)
    assert not sim.history["friction_work"][:6].any()


def test_directions_of_any_length():
    for size in (1e-320, 1e-160, 1e160, 1e300):
        np.testing.assert_allclose(mpm.joints.Slider((size, size)).direction, [0.5**0.5] * 2, rtol=1e-3)
