"""``device=``: the back end of a GPU (csrc/mpm/gpu_backend.c) on an emulated one (tests/emulated_device.py)."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emulated_device
import mpm
from emulated import CXX, ORDERS, State
from mpm.io import checkpoint
from scenes import DEFORMABLE, MATERIALS, jittered, swirl
from test_gpu import AMPLIFIES, BOUND, DT, H, fall, obstacles

pytestmark = [pytest.mark.source, pytest.mark.skipif(CXX is None, reason="no C++ compiler")]

QUICK = {("neo_hookean", 2, "float32")}  # libraries take seconds to compile
CASES = [
    pytest.param(*case, id="-".join(map(str, case)), marks=[] if case in QUICK else pytest.mark.slow)
    for case in itertools.product(DEFORMABLE, (2, 3), ("float32", "float64"))
]
TWO = [case for case in CASES if case.values in {*QUICK, ("sand", 3, "float64")}]


def body(
    law: str, dim: int, dtype: str = "float64", device: str = "emulated", **options: Any
) -> mpm.Simulation:
    """A body that falls onto the lower faces of a box and slides; particles that are not on a lattice."""
    scene = fall(dim, law, **options.pop("scene", {}))
    return mpm.Simulation(scene, dx=H, dtype=dtype, device=device, **({"dt": DT} | options))


def found(sim: mpm.Simulation) -> list[bytes]:
    """All that a run has computed."""
    fields = [np.ascontiguousarray(sim.particles[name]).tobytes() for name in sim.particles.fields]
    history = [np.ascontiguousarray(values).tobytes() for values in sim.history.values()]
    nodes = [np.ascontiguousarray(part).tobytes() for part in (sim.grid.x, sim.grid.mass, sim.grid.v)]
    said = repr((sim.totals(), sim.stable_dt(), sim.health, sim.time, sim.steps))
    return [sim.state_hash().encode(), *fields, *history, *nodes, said.encode()]


def differing(one: mpm.Simulation, other: mpm.Simulation) -> list[int]:
    pairs = zip(found(one), found(other), strict=True)
    return [i for i, (a, b) in enumerate(pairs) if a != b]


@pytest.mark.parametrize(("law", "dim", "dtype"), CASES)
def test_steps_agree_with_those_of_the_processor(law: str, dim: int, dtype: str):
    sims = {device: body(law, dim, dtype, device) for device in ("emulated", "cpu")}
    exact = body(law, dim, "float64", "cpu")
    steps = 40 if (law, dim, dtype) in QUICK or law in AMPLIFIES else 100  # round-off of NACC grows in 2-D
    for sim in (*sims.values(), exact):
        sim.step(steps)
    material = MATERIALS[law]
    difference, own = (
        State.of(sims[device], material).difference(State.of(exact, material))
        for device in ("emulated", "cpu")
    )
    bound = BOUND[dtype] * AMPLIFIES.get(law, 1)
    for name in (
        "x",
        "v",
        "F",
        "history",
    ):  # snow in 3-D and single precision: v 2.6e-5 off, on either device
        assert difference[name] <= max(bound, 1.1 * own[name]), (difference, own)
    assert sims["emulated"].health["binnings"] > 1
    for name, values in exact.history.items():
        there, scale = sims["emulated"].history[name], np.abs(values).max()
        assert np.abs(there - values).max() <= 100 * bound * max(1, scale), name


@pytest.mark.parametrize(
    ("x", "y"), (pytest.param("mirror", "periodic", marks=pytest.mark.slow), ("periodic", "separate"))
)
def test_mirrors_and_periodic_faces(x: str, y: str):
    """The body crosses a periodic face, where the host wraps it."""
    scene = {"walls": {"x": x, "y": y}, "friction": 0, "speed": 1, "gravity": (-5, -5)}
    one, other = (body("neo_hookean", 2, device=device, scene=scene) for device in ("emulated", "cpu"))
    for sim in (one, other):
        sim.step(60)
    assert (other.particles.x > 0.3).any()
    difference = State.of(one, MATERIALS["neo_hookean"]).difference(State.of(other, MATERIALS["neo_hookean"]))
    assert all(difference[name] <= 1e-14 for name in ("x", "v", "F")), difference
    for name, values in other.history.items():
        assert np.allclose(one.history[name], values, rtol=0, atol=1e-13, equal_nan=True), name


SOFT = mpm.materials.NeoHookean(E=3, nu=0.2, density=1.5)  # has the image of the other solid


def several(dim: int, device: str, laws: tuple[str, ...], dtype: str = "float64") -> mpm.Simulation:
    """Bodies of several materials, which slide and collide."""
    scene = mpm.Scene([-0.5] * dim, [0.5] * dim, gravity=[0.5] * (dim - 1) + [-9.81], friction=0.2)
    for k, material in enumerate([*(MATERIALS[law] for law in laws), SOFT]):
        low = np.full(dim, -0.5) + np.eye(dim)[0] * (0.05 + 0.22 * k)
        points = mpm.shapes.Points(jittered(dim, 6, H / 2, k) + low, volume=(H / 2) ** dim)
        scene.add(points, material, velocity=(-1) ** k * np.eye(dim)[0])
    return mpm.Simulation(scene, dx=H, dtype=dtype, device=device, dt=DT)


SEVERAL = [
    pytest.param(2, "float64", ("neo_hookean", "sand"), id="2"),
    pytest.param(3, "float32", ("fluid", "snow", "neo_hookean"), marks=pytest.mark.slow, id="3"),
]


@pytest.mark.parametrize(("dim", "dtype", "laws"), SEVERAL)
def test_several_materials_agree_with_the_processor(dim: int, dtype: str, laws: tuple[str, ...]):
    one, other = several(dim, "emulated", laws, dtype), several(dim, "cpu", laws)
    for sim in (one, other):
        sim.step(40)
    bound = BOUND[dtype]
    assert one.health["binnings"] > 1
    for name in ("x", "v", "F", "Jp"):  # measured 3e-15 and 9e-6
        assert np.allclose(one.particles[name], other.particles[name], 0, bound, equal_nan=True), name
    for name, values in other.history.items():
        assert np.abs(one.history[name] - values).max() <= 100 * bound * max(1, np.abs(values).max()), name
    mixed = [several(dim, f"emulated:order={order}", laws, dtype) for order in ORDERS[1:]]
    mixed[0].step(15)
    mixed[0] = checkpoint.loads(checkpoint.dumps(mixed[0]), device="emulated")
    mixed[0].step(25)
    mixed[1].step(40)
    assert [differing(one, sim) for sim in mixed] == [[], []]


FOLDED = {"x": "periodic", "y-": "mirror"}
FLUIDS = [  # dimension, precision, transfer, walls, are there colliders?
    (2, "float32", "apic", FOLDED, True),
    (2, "float64", "flip", FOLDED, True),
    (2, "float64", "apic", "separate", False),
    (3, "float64", "apic", FOLDED, True),
    (3, "float32", "apic", "separate", False),
]


@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # the obstacles are thin, and press the fluid
@pytest.mark.parametrize(
    ("dim", "dtype", "transfer", "walls", "collides"),
    [pytest.param(*case, marks=[] if k < 1 else pytest.mark.slow) for k, case in enumerate(FLUIDS)],
)
def test_the_density_of_fluids_is_corrected(dim: int, dtype: str, transfer: str, walls: Any, collides: bool):
    scene = {"walls": walls, "friction": 0, "obstacles": obstacles if collides else None}
    one, mixed, exact, without = (
        body("fluid", dim, kind, device, transfer=transfer, scene=dict(scene), **options)
        for kind, device, options in (
            (dtype, "emulated", {}),
            (dtype, "emulated:order=shuffled", {}),
            ("float64", "cpu", {}),
            ("float64", "cpu", {"density_correction": 0}),
        )
    )
    steps = 30 if dim == 2 else 8
    for sim in (one, exact, without):
        sim.step(steps)
    mixed.step(steps // 2)
    mixed = checkpoint.loads(checkpoint.dumps(mixed), device="emulated:order=reversed")
    mixed.step(steps - steps // 2)
    assert differing(one, mixed) == []
    states = [State.of(sim, MATERIALS["fluid"]) for sim in (one, exact, without)]
    difference, effect = states[0].difference(states[1]), states[2].difference(states[1])
    assert effect["F"] > 2e-3, effect  # of J; measured 5e-3 to 0.2
    bound = {"float32": 1e-6, "float64": 1e-15}[dtype]  # measured 6e-7 and 7e-16
    assert all(difference[name] <= bound for name in ("x", "v", "F")), difference


def test_a_fluid_that_comes_later():
    """Its density is corrected from then on, beside solids, whose volumes count, and a fluid of another density."""

    def run(device: str, together: bool = True) -> mpm.Simulation:
        sim = body("sand", 2, device=device)
        sim.step(8)
        heavy = replace(MATERIALS["fluid"], density=2.5)
        for x, material in ((-0.3, MATERIALS["fluid"]), (0.1, heavy)):
            sim.add(mpm.shapes.Ball((x, 0.0), 0.12), material, velocity=lambda x: 3 * swirl(x) - [0, 4])
        for steps in (30,) if together else (1, 13, 16):
            sim.step(steps)
        return sim

    one, other, exact = run("emulated"), run("emulated:order=reversed", together=False), run("cpu")
    assert differing(one, other) == []
    assert one.health["binnings"] > 2
    for name in ("x", "v", "F", "J"):
        assert np.allclose(one.particles[name], exact.particles[name], 0, 1e-13, equal_nan=True), name


def graded(law: str, dim: int, dtype: str, device: str, steps: int = 30) -> mpm.Simulation:
    """A body whose stiffness varies, beside one of numbers; the field is written, and particles go."""
    material = replace(MATERIALS[law], E=lambda x: 8 * (1.5 + np.sin(30 * x[:, 0])))
    scene = fall(dim, law)
    varied = mpm.Scene([-0.5] * dim, [0.5] * dim, gravity=scene.gravity)
    varied.add(scene.bodies[0].shape, material, velocity=lambda x: 3 * swirl(x))
    low = np.eye(dim)[0] * 0.4 - 0.5
    varied.add(mpm.shapes.Points(jittered(dim, 5, H / 2) + low, volume=(H / 2) ** dim), MATERIALS[law])
    sim = mpm.Simulation(varied, dx=H, dtype=dtype, device=device, dt=DT)
    sim.step(steps)
    own = sim.particles.material == 0
    sim.particles.E[own] = 2 * sim.particles.E[own]
    sim.step(2)
    sim.particles.delete(sim.particles.x[:, 0] < -0.4)
    sim.step(8)
    return sim


GRADED = [
    pytest.param("sand", 2, "float64", id="sand-2"),
    pytest.param("snow", 3, "float32", marks=pytest.mark.slow, id="snow-3"),
    pytest.param("von_mises", 3, "float64", marks=pytest.mark.slow, id="von_mises-3"),
]


@pytest.mark.parametrize(("law", "dim", "dtype"), GRADED)
def test_parameters_that_vary(law: str, dim: int, dtype: str):
    one, other = graded(law, dim, dtype, "emulated"), graded(law, dim, "float64", "cpu")
    bound = BOUND[dtype]
    assert one.health["binnings"] > 3  # so that rows and places differ
    for name in ("x", "v", "F"):  # measured 2e-15 and 2.2e-6
        assert np.allclose(one.particles[name], other.particles[name], 0, bound), name
    assert one.totals().elastic == pytest.approx(other.totals().elastic, rel=100 * bound)
    assert differing(one, graded(law, dim, dtype, "emulated:order=reversed")) == []
    again = checkpoint.loads(checkpoint.dumps(one), device="emulated")
    for sim in (one, again):
        sim.step(3)
    assert differing(one, again) == []


def test_a_material_that_comes_later():
    """Its history lies behind a field of the user's, and its law has an image of its own."""

    def run(device: str) -> mpm.Simulation:
        sim = body("neo_hookean", 2, device=device)
        sim.particles.add_field("mark", initial=0.5)
        sim.step(8)
        sim.particles.mark[:] = np.arange(len(sim.particles))
        for x, material in ((-0.3, MATERIALS["sand"]), (0.3, SOFT)):
            sim.add(mpm.shapes.Ball((x, 0.3), 0.1), material, velocity=(0, -1))
            sim.step(12)
        sim.particles.Jp[sim.particles.material == 1] = 1.01
        sim.particles.delete(sim.particles.material == 0)
        sim.step(8)
        return sim

    one, other = run("emulated"), run("cpu")
    assert np.array_equal(one.particles.material, other.particles.material)
    for name in ("x", "v", "F", "mark", "Jp"):
        assert np.allclose(one.particles[name], other.particles[name], 0, 1e-13, equal_nan=True), name
    assert one.totals().elastic == pytest.approx(other.totals().elastic, rel=1e-12)


SCHEMES = [  # transfer, options, dimension, precision, walls, are there colliders?
    ("apic", {}, 2, "float32", {"x": "separate", "y-": "mirror"}, True),
    ("aflip", {"flip_ratio": 0.9, "advect": "particle"}, 2, "float64", FOLDED, False),
    ("flip", {"flip_ratio": 0.95}, 2, "float64", FOLDED, True),
    ("apic", {"particle_collisions": "surface"}, 3, "float64", FOLDED, True),
    ("apic", {"particle_collisions": "off"}, 2, "float32", {}, True),
    ("pic", {}, 3, "float32", FOLDED, False),
    ("aflip", {"advect": "particle"}, 3, "float64", {}, True),
]


@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # the obstacles are thin, and press the body
@pytest.mark.parametrize(
    ("transfer", "options", "dim", "dtype", "walls", "collides"),
    [
        pytest.param(*case, marks=[] if k < 2 else pytest.mark.slow, id=f"{k}-{case[0]}")
        for k, case in enumerate(SCHEMES)
    ],
)
def test_transfers_and_colliders_agree_with_the_processor(
    transfer: str, options: dict, dim: int, dtype: str, walls: dict, collides: bool
):
    scene = {"walls": walls, "friction": 0, "obstacles": obstacles if collides else None}
    one, other, exact = (
        body("neo_hookean", dim, kind, device, transfer=transfer, scene=dict(scene), **options)
        for kind, device in ((dtype, "emulated"), (dtype, "emulated:order=shuffled"), ("float64", "cpu"))
    )
    steps = 30 if dim == 2 else 8
    one.step(steps)
    for _ in range(steps // 2):
        other.step(2)
        other.particles.v.sum(), other.totals()
    exact.step(steps)
    assert differing(one, other) == []
    material = MATERIALS["neo_hookean"]
    difference = State.of(one, material).difference(State.of(exact, material))
    assert all(difference[name] <= BOUND[dtype] for name in ("x", "v", "F")), difference
    mass, touched = exact.totals().mass, 0
    for name, values in exact.history.items():
        expected, given = np.nan_to_num(values), np.nan_to_num(one.history[name], nan=0)
        touched += name.startswith("impulse:") and np.abs(expected).max() > 1e-4 * mass
        assert np.abs(given - expected).max() <= 100 * BOUND[dtype] * max(mass, np.abs(expected).max()), name
    assert touched == (4 if collides else 0)
    for placed in exact.scene.colliders:
        assert one.force(placed.name) == pytest.approx(
            exact.force(placed.name), abs=1e3 * BOUND[dtype] * mass / DT
        )


def changed(device: str) -> mpm.Simulation:
    """A collider takes the place of another one, and one more comes, between runs and in a file."""
    sim = body("neo_hookean", 2, "float32", device, dt="auto", scene={"obstacles": floor, "friction": 0})
    sim.step(8)
    sim.set("floor.friction", 0.0)
    sim.step(8)
    ball = mpm.shapes.Ball((0.0, 0.0), 0.08)
    sim.add_collider(ball, contact="separate", motion=mpm.motion.Linear((0, -1.0)), name="ball")
    sim.step(4)
    sim = checkpoint.loads(checkpoint.dumps(sim), device=device)
    sim.step(20)
    return sim


def floor(dim: int, scene: mpm.Scene) -> None:
    top = mpm.shapes.HalfSpace([0.0] * (dim - 1) + [-0.4], [0.1] + [0.0] * (dim - 2) + [1.0])
    scene.add_collider(top, contact="separate", friction=0.6, name="floor")


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_colliders_change_between_runs():
    one, other = changed("emulated"), changed("cpu")
    assert one.time == pytest.approx(other.time, rel=1e-6)
    assert np.abs(one.particles.v - other.particles.v).max() < 2e-5  # single precision
    for name in ("floor", "ball"):
        assert np.abs(other.history[f"impulse:{name}"]).max() > 1e-4
        gap = one.history[f"impulse:{name}"] - other.history[f"impulse:{name}"]
        assert np.abs(gap).max() < 1e-3 * np.abs(other.history[f"impulse:{name}"]).max()


def loaded(device: str, dim: int, dtype: str, transfer: str, steps: tuple[int, ...]) -> mpm.Simulation:
    """A block that forces and a traction push, of which the last one turns it."""
    scene = mpm.Scene([-0.5] * dim, [0.5] * dim, gravity=[0.0] * (dim - 1) + [-2.0])
    block = mpm.shapes.Box([-0.2] * dim, [0.2] + [0.1] * (dim - 1))
    scene.add(block, MATERIALS["neo_hookean"], velocity=[0.5] + [0.0] * (dim - 1), name="block")
    scene.add_force("block", lambda t: [20 * t] + [0.01] * (dim - 1), name="push")
    scene.add_traction("block", lambda x: x[:, 0] > 0.199, traction=[0.0] * (dim - 1) + [0.5], name="lift")
    sim = mpm.Simulation(scene, dx=H, dtype=dtype, device=device, dt=DT, transfer=transfer)
    for n in steps:
        sim.step(n)
    return sim


@pytest.mark.parametrize(
    ("dim", "dtype", "transfer"),
    [
        (2, "float32", "apic"),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((3, "float64", "flip"),)),
    ],
)
def test_loads_push_and_turn(dim: int, dtype: str, transfer: str):
    one, other = (
        loaded(device, dim, dtype, transfer, steps)
        for device, steps in (("emulated", (12,)), ("emulated:order=reversed", (5, 7)))
    )
    assert differing(one, other) == []
    exact = loaded("cpu", dim, "float64", transfer, (12,))
    for name in ("x", "v", "F"):
        assert np.abs(one.particles[name] - exact.particles[name]).max() <= BOUND[dtype], name
    for name in ("impulse:push", "work:push", "impulse:lift", "work:lift"):
        expected = exact.history[name]
        assert np.abs(expected).max() > 1e-6, name
        assert np.abs(one.history[name] - expected).max() <= 100 * BOUND[dtype] * np.abs(expected).max(), name


@pytest.mark.parametrize("collides", (False, True))
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_a_step_waits_once_for_the_device(collides: bool):
    """The pass of the next step is launched before the host reads what the sweep has measured. With two waits, and two
    more for the books of colliders, these runs had 2.0 and 4.0 per step more than one that sorts nothing needs."""
    scene = {"obstacles": floor, "friction": 0} if collides else {}
    sim = body("neo_hookean", 2, "float32", scene=scene, dt=1e-4)
    sim.step(3)
    counts = []
    for steps in (2, 12):
        before, sorted_ = emulated_device.waits(), sim.health["binnings"]
        sim.step(steps)
        assert sim.health["binnings"] == sorted_
        counts.append(emulated_device.waits() - before)
    assert counts[1] - counts[0] == 10, counts


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_the_first_collider_of_a_run():
    """The kernels are compiled anew; the state stays on the device, also what others hold of it."""

    def run(device: str, splits: tuple[int, ...] = (24,)) -> mpm.Simulation:
        sim = body("neo_hookean", 2, "float32", device)
        sim.step(8)
        scene = mpm.Scene([-0.5] * 2, [0.5] * 2)
        floor(2, scene)
        held = sim.particles.on_device("v") if device != "cpu" else None
        sim.add_collider(scene.colliders[0].shape, contact="separate", friction=0.6, name="floor")
        sim.step(splits[0])
        del held
        for steps in splits[1:]:
            sim = checkpoint.loads(checkpoint.dumps(sim), device=device)
            sim.step(steps)
        return sim

    one, other, exact = run("emulated"), run("emulated:order=reversed", (1, 12, 11)), run("cpu")
    assert differing(one, other) == []
    assert np.abs(one.particles.v - exact.particles.v).max() < 2e-5  # single precision; measured 2e-6
    impulse, expected = one.history["impulse:floor"], exact.history["impulse:floor"]
    assert np.abs(expected).max() > 1e-4
    assert np.abs(impulse - expected).max() < 1e-3 * np.abs(expected).max()


def test_a_collider_that_is_too_fast_is_told_of():
    def run(device: str) -> str:
        sim = body("neo_hookean", 2, "float32", device, scene={"obstacles": fast})
        with pytest.raises(mpm.InstabilityError, match="'fast'") as error:
            sim.step(10)
        return f"{sim.steps} {error.value}"

    assert run("emulated") == run("cpu")


def fast(dim: int, scene: mpm.Scene) -> None:
    motion = mpm.motion.Linear([0.0] * (dim - 1) + [1e3])  # away from the body
    scene.add_collider(
        mpm.shapes.Ball([-0.3, 0.05][:dim], 0.1), contact="separate", motion=motion, name="fast"
    )


def whirl(x: np.ndarray, t: float) -> np.ndarray:
    """A body force of place and time [m/s²]."""
    return 20 * np.cos(30 * t) * (x[:, ::-1] * [1, -1] if x.shape[1] == 2 else np.roll(x, 1, axis=1))


PUSHED = [("apic", 2, "float32", "auto"), ("flip", 3, "float64", DT)]


@pytest.mark.parametrize(
    ("transfer", "dim", "dtype", "dt"), [PUSHED[0], pytest.param(*PUSHED[1], marks=pytest.mark.slow)]
)
def test_a_body_force_is_that_of_the_processor(transfer: str, dim: int, dtype: str, dt: Any):
    scene = {"body_force": whirl, "walls": {"x": "periodic", "y-": "mirror"}, "friction": 0}
    one, other, exact = (
        body("neo_hookean", dim, dtype, device, scene=scene, transfer=transfer, dt=dt)
        for device in ("emulated", "emulated:order=shuffled", "cpu")
    )
    true = body("neo_hookean", dim, "float64", "cpu", scene=scene, transfer=transfer, dt=dt)
    for sim in (one, exact, true):
        sim.step(24)
    for _ in range(12):
        other.step(2)
    assert differing(one, other) == []
    without = body(
        "neo_hookean", dim, dtype, "cpu", scene=scene | {"body_force": None}, transfer=transfer, dt=dt
    )
    without.step(24)
    assert np.abs(without.particles.v - exact.particles.v).max() > 0.1
    for name in ("x", "v", "F"):
        gap = np.abs(one.particles[name] - true.particles[name]).max()
        own = np.abs(exact.particles[name] - true.particles[name]).max()
        assert gap <= max(20 * BOUND[dtype], 2 * own), name
    for name in ("momentum", "body_impulse", "wall_impulse"):
        gap = np.abs(one.history[name] - true.history[name]).max()
        own = np.abs(exact.history[name] - true.history[name]).max()
        assert gap <= max(100 * BOUND[dtype] * true.totals().mass, 2 * own), name


def flight(device: str, on_leave: object, ways: list, **scheme: Any) -> mpm.Simulation:
    """Pairs of particles that the grid takes to be at rest: one of each passes a face within the step."""
    scene = mpm.Scene((0, 0), (1, 1))
    for x, y, *v in ways:
        w = np.array(v)
        points = mpm.shapes.Points([(x, y)] * 2, volume=1e-4)
        scene.add(points, MATERIALS["neo_hookean"], velocity=lambda x, w=w: [w, -w])
    numerics = {"transfer": "aflip", "flip_ratio": 1, "advect": "particle", "dt": 0.01}
    return mpm.Simulation(scene, dx=H, on_leave=on_leave, device=device, **numerics)


def test_particles_that_leave_meet_the_fate_of_their_face():
    rule, ways = {"x-": "clamp", "x+": "delete"}, [(0.01, 0.5, -5, 0), (0.99, 0.5, 5, 0)]
    one, other = (flight(device, rule, ways) for device in ("emulated", "cpu"))
    for sim in (one, other):
        sim.step()
        assert len(sim.particles) == 3 and sim.particles.x[0, 0] == 0
        sim.step(2)
    assert one.health == other.health and one.health["clamped"] == one.health["deleted"] == 1
    assert np.array_equal(one.particles.id, other.particles.id)
    assert np.abs(one.particles.x - other.particles.x).max() < 1e-14
    assert np.allclose(one.history["mass"], other.history["mass"], rtol=1e-14)
    lost = [flight(device, rule, [*ways, (0.5, 0.99, 0, 5)]) for device in ("emulated", "cpu")]
    said = []
    for sim in lost:  # y+ has no rule
        with pytest.raises(mpm.EscapeError) as error:
            sim.step(3)
        said.append(str(error.value))
        assert sim.particles.x[0, 0] == 0 and sim.particles.mass[2] == 0  # the others have met their fates
    assert said[0] == said[1] and np.array_equal(lost[0].particles.mass, lost[1].particles.mass)


def pushed(dim: int, scene: mpm.Scene) -> None:
    """Plates that push the body through two faces."""
    motion = mpm.motion.Linear((-3.0, 0.0))
    scene.add_collider(
        mpm.shapes.Box((-0.2, -0.5), (0.1, 0.5)), contact="separate", motion=motion, name="plate"
    )


@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_what_leaves_depends_on_no_order_of_threads():
    """Deferred stores: particles without mass rest, and no collider pushes them."""

    def run(device: str) -> mpm.Simulation:
        scene = {"obstacles": pushed, "walls": {"x": "slip", "y": "slip"}, "friction": 0}
        sim = body(
            "neo_hookean", 2, "float32", device, scene=scene, on_leave={"x": "delete", "y": "clamp"}, dt=DT
        )
        sim.step(60)
        return sim

    one, other, exact = run("emulated"), run("emulated:order=shuffled"), run("cpu")
    assert differing(one, other) == []
    assert len(one.particles) == len(exact.particles) < exact.health["deleted"] + len(exact.particles)
    assert one.health["left_domain"] == exact.health["left_domain"]
    assert np.allclose(one.history["mass"], exact.history["mass"], rtol=1e-6)
    assert np.abs(one.particles.x - exact.particles.x).max() < 1e-4


@pytest.mark.parametrize(("law", "dim", "dtype"), TWO)
def test_the_order_of_threads_changes_no_bit(law: str, dim: int, dtype: str):
    sims = [body(law, dim, dtype, f"emulated:order={order}", dt="auto") for order in ORDERS]
    for sim in sims:
        sim.step(12)
    assert sims[0].health["binnings"] > 1
    assert [differing(sims[0], sim) for sim in sims[1:]] == [[], []]


def test_looks_splits_and_files_change_no_bit():
    """A run in one piece; one in single steps, with looks, queries and a pause; one that goes on from a file."""
    whole, looked, kept = (body("neo_hookean", 2, "float32", dt="auto") for _ in range(3))
    whole.step(20)
    held = looked.particles.F
    for _ in range(20):
        looked.step(1)
        looked.totals(), looked.stable_dt(), looked.particles.v.sum(), looked.grid
    kept.step(9)
    kept = checkpoint.loads(checkpoint.dumps(kept), device="emulated:order=reversed")
    kept.step(11)
    assert whole.health["binnings"] > 1
    assert differing(whole, looked) == []
    assert differing(whole, kept) == []
    assert np.array_equal(held, whole.particles.F)


def test_a_file_of_one_device_goes_on_on_the_other(tmp_path: Path):
    exact, moved = body("sand", 2, device="cpu"), body("sand", 2)
    moved.step(10)
    for device in ("cpu", "emulated"):
        path = tmp_path / device
        moved.save(path)
        before = moved
        moved = mpm.load(path, device=device)
        assert moved.state_hash() == before.state_hash()
        assert all(np.array_equal(moved.particles[f], before.particles[f]) for f in moved.particles.fields)
        moved.step(10)
    exact.step(30)
    difference = State.of(moved, MATERIALS["sand"]).difference(State.of(exact, MATERIALS["sand"]))
    assert all(difference[name] <= 1e-14 for name in ("x", "v", "F", "history")), difference


def test_a_file_is_not_blamed_for_the_device(tmp_path: Path):
    body("neo_hookean", 2, device="cpu").save(tmp_path / "a")
    for device, named in (("cuda:one", "device = 'cuda:one': must be"), ("emulated:order=x", "not in tuple")):
        with pytest.raises(ValueError, match=named) as error:
            mpm.load(tmp_path / "a", device=device)
        assert not isinstance(error.value, mpm.FileFormatError)


def test_a_domain_with_too_many_blocks_is_named():
    scene = mpm.Scene((0, 0), (4e5, 4e5))
    scene.add(mpm.shapes.Box((8, 8), (12, 12)), MATERIALS["neo_hookean"])
    mpm.Simulation(scene, dx=1)
    with pytest.raises(ValueError, match=r"device = 'emulated': the domain is too large for it, .*'cpu'"):
        mpm.Simulation(scene, dx=1, device="emulated")


def test_a_simulation_says_where_it_runs():
    sim = body("neo_hookean", 2)
    assert ", emulated, " in str(sim) and str(sim).endswith(" MB on the host>")


def edited(device: str) -> mpm.Simulation:
    """Particles are written, deleted, added and marked; a run goes on."""
    sim = body("neo_hookean", 2, device=device)
    sim.particles.add_field("mark", initial=0.5)
    sim.particles.mark[:] = np.arange(len(sim.particles))
    sim.step(8)
    sim.particles.v[::7] *= 0.5
    sim.particles.x[5] += 0.01
    sim.particles.F[3] *= 1.01
    sim.step(8)
    sim.particles.delete(sim.particles.x[:, 0] > 0.2)
    sim.add(mpm.shapes.Ball((0, 0.3), 0.1), sim.materials[0], velocity=(0, -1))
    sim.step(12)
    return sim


def test_particles_are_written_deleted_and_added():
    one, other = edited("emulated"), edited("cpu")
    assert len(one.particles) == len(other.particles)
    assert np.array_equal(one.particles.id, other.particles.id)
    assert np.array_equal(one.particles.mark, other.particles.mark)
    for name in ("x", "v", "F", "mass"):
        assert np.abs(one.particles[name] - other.particles[name]).max() < 1e-13, name
    assert one.health == other.health | {"binnings": one.health["binnings"]}


def test_emitters_and_drains_are_those_of_the_processor():
    def run(device: str) -> mpm.Simulation:
        scene = fall(2, "neo_hookean")
        tap, sink = mpm.shapes.Box((-0.1, 0.1), (0.1, 0.2)), mpm.shapes.Box((-0.5, -0.5), (-0.3, -0.35))
        scene.add_emitter(tap, MATERIALS["neo_hookean"], velocity=(0, -1.5))
        scene.add_drain(sink)
        sim = mpm.Simulation(scene, dx=H, dt=DT, device=device)
        sim.step(45)
        return sim

    one, other = run("emulated"), run("cpu")
    assert one.health == other.health and other.health["deleted"] > 10 and other.particles.id.max() > 144
    assert np.array_equal(one.particles.id, other.particles.id)
    for name in ("x", "v", "F"):  # measured 2e-15, after 60 steps
        assert np.abs(one.particles[name] - other.particles[name]).max() < 1e-14, name


def test_frames_are_those_of_the_processor():
    shown = []
    for device in ("emulated", "cpu"):
        sim = body("neo_hookean", 2, device=device)
        shown.append([(sim.steps, np.array(sim.particles.x)) for _ in sim.frames(duration=0.02, fps=200)])
    assert [steps for steps, _ in shown[0]] == [steps for steps, _ in shown[1]] == [0, 3, 6, 9, 12]
    assert max(np.abs(a - b).max() for (_, a), (_, b) in zip(*shown, strict=True)) < 1e-15


@pytest.mark.slow
def test_a_free_body_keeps_its_momenta():
    sim = body("sand", 3, scene={"gravity": [0, 0, 0], "walls": "slip"})
    sim.particles.x[:] += 0.4
    before = sim.totals()
    sim.step(20)
    after = sim.totals()
    assert after.mass == before.mass
    for name in ("momentum", "angular_momentum"):  # over velocities and lengths of about 1; measured 2e-17
        assert np.abs(getattr(after, name) - getattr(before, name)).max() < 1e-15 * before.mass, name


def test_a_refused_step_leaves_the_state_of_the_step_before():
    """Faster and faster: a step that would move particles by more than a cell."""
    options = {"dt": 5 * DT, "scene": {"gravity": [0, 100.0], "walls": "slip", "speed": 0}}
    whole, part, exact = (body("sand", 2, device=d, **options) for d in ("emulated", "emulated", "cpu"))
    with pytest.raises(mpm.InstabilityError) as error:
        whole.step(50)
    with pytest.raises(mpm.InstabilityError) as same:
        exact.step(50)
    assert str(error.value).split(":")[0] == str(same.value).split(":")[0] and 2 < whole.steps == exact.steps
    part.step(whole.steps)
    assert len(whole.grid.mass) == len(exact.grid.mass) == 0
    assert whole.state_hash() == part.state_hash()
    assert all(np.array_equal(whole.particles[f], part.particles[f]) for f in part.particles.fields)


def test_automatic_steps_are_halved_where_they_are_refused():
    """Two bodies that meet at a speed that the last state did not show."""
    sims = [body("neo_hookean", 2, device=device, dt="auto") for device in ("emulated", "cpu")]
    for sim in sims:
        sim.particles.v[:] = 30 * np.sign(sim.particles.x[:, :1]) * [-1, 0]
        sim.step(20)
    assert sims[0].time == pytest.approx(sims[1].time, rel=1e-9)
    assert sims[0].health["refused"] == sims[1].health["refused"]


def test_a_full_device_raises_before_a_step():
    full = body("neo_hookean", 2, device="emulated:room=1e5")
    with pytest.raises(MemoryError):
        full.step(1)
    sim = body("neo_hookean", 2, device="emulated:room=2.5e5")
    sim.step(3)
    more = sim.add(mpm.shapes.Box((-0.5, 0), (0.5, 0.5)), sim.materials[0])
    before = np.array(sim.particles.x)
    with pytest.raises(MemoryError):
        sim.step(1)
    assert sim.steps == 3 and np.array_equal(sim.particles.x, before)
    checkpoint.loads(checkpoint.dumps(sim)).step(1)
    sim.particles.delete(sim.rows(more.name))
    sim.step(3)


@pytest.mark.parametrize("calls", (10, 200, pytest.param(700, marks=pytest.mark.slow)))
def test_a_device_that_fails_ends_the_run_with_its_words(calls: int):
    sim = body("neo_hookean", 2, device=f"emulated:calls={calls}")
    for _ in range(2):
        with pytest.raises(mpm.DeviceError, match="lost: the emulated device was told to fail"):
            sim.step(300)
    with pytest.raises(mpm.DeviceError, match="told to fail"):
        sim.save("/dev/null")


def test_arrays_of_the_device_are_lent_without_a_copy():
    sim = graded("sand", 2, "float64", "emulated", 4)
    particles, order = sim.particles, np.from_dlpack(sim.particles.on_device("row"))
    for name in ("x", "v", "F", "C", "mass", "volume", "Jp", "E"):
        lent, known = np.from_dlpack(particles.on_device(name)), np.asarray(particles[name])
        assert np.array_equal(lent, known[order], equal_nan=True), name
        assert lent.dtype == known.dtype and lent.strides[0] == lent.itemsize and not lent.flags.writeable
    assert not np.array_equal(order, np.arange(len(order)))
    same = [np.from_dlpack(particles.on_device("F")).__array_interface__["data"][0] for _ in range(2)]
    assert same[0] == same[1]
    for name in ("id", "material", "J", "mark", "x\0", "\ud800"):
        with pytest.raises(KeyError, match="the device has no such field"):
            particles.on_device(name)
    with pytest.raises(KeyError, match="runs on 'cpu'"):
        body("neo_hookean", 2, device="cpu").particles.on_device("x")


def test_an_array_of_the_device_is_that_of_one_state():
    sim = body("neo_hookean", 2)
    sim.step(2)
    old, held = sim.particles.on_device("v"), np.from_dlpack(sim.particles.on_device("v"))
    sim.totals()
    assert np.array_equal(np.from_dlpack(old), held)
    with pytest.raises(BufferError, match="is not copied"):
        old.__dlpack__(copy=True)
    with pytest.raises(
        TypeError, match=r"on_device\('v'\): is not copied to the host"
    ):  # not an array of one object
        np.asarray(old)
    with pytest.raises(AttributeError, match="not in the memory of a GPU"):
        old.__cuda_array_interface__  # noqa: B018
    sim.particles.v[:] = 1
    assert (np.from_dlpack(sim.particles.on_device("v")) == 1).all()
    for steps in (0, 1):
        for _ in range(steps):
            sim.step(1)
        with pytest.raises(BufferError, match=r"on_device\('v'\): the simulation has changed since"):
            old.__dlpack__()
    sim.add(
        mpm.shapes.Box((-0.5, 0), (0.5, 0.5)), sim.materials[0]
    )  # larger arrays take the places of the lent ones
    sim.step(1)
    del sim
    gc.collect()
    assert np.isfinite(held).all() and emulated_device.holds_arrays()
    del held, old
    gc.collect()
    assert not emulated_device.holds_arrays()


def test_simulations_leave_no_memory_of_the_device_behind():
    gc.collect()
    assert not emulated_device.holds_arrays()
    sims = [body("neo_hookean", 2) for _ in range(2)]
    for sim in sims:
        sim.step(1)
    assert emulated_device.holds_arrays()
    sims.append(copy.copy(sims[0]))
    del sims, sim
    gc.collect()
    assert not emulated_device.holds_arrays()


def test_copies_and_pickles_stay_on_their_device():
    sim = body("neo_hookean", 2, device="emulated:order=reversed")
    sim.step(3)
    for other in (copy.copy(sim), pickle.loads(pickle.dumps(sim))):
        assert other._device == sim._device
        assert other.state_hash() == sim.state_hash()


def test_two_simulations_share_a_device():
    alone, one, other = (
        body("neo_hookean", 2),
        body("neo_hookean", 2),
        body("neo_hookean", 2, scene={"speed": 1}),
    )
    alone.step(6)
    for _ in range(3):
        one.step(2)
        other.step(1)
    assert differing(alone, one) == []


def test_values_that_are_not_finite_are_refused():
    sim = body("neo_hookean", 2)
    sim.step(2)
    sim.particles.v[3, 0] = np.nan
    with pytest.raises(mpm.SimulationError, match="not finite"):
        sim.step(1)
    sim.particles.v[3, 0] = 0
    sim.step(1)


@pytest.mark.slow
def test_particles_out_of_the_range_of_their_law_are_named():
    """Fluid that is compressed by half in a step."""

    def run(device: str) -> str:
        sim = body("fluid", 2, device=device, dt=DT, allow_unstable=True)
        sim.particles.J[::2] = 0.012
        sim.particles.v[:] = -150 * (sim.particles.x - sim.particles.x.mean(axis=0))
        with pytest.raises(mpm.SimulationError) as error:
            sim.step(3)
        return f"{sim.steps} {type(error.value).__name__} {error.value}"

    assert run("emulated") == run("cpu")


def absorbing(dim: int, scene: mpm.Scene) -> None:
    scene.add_collider(mpm.shapes.Box([-0.5] * dim, [0.5, -0.4]), contact="absorbing", name="floor")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"transfer": "xpic"}, "transfer = 'xpic'"),
        ({"kernel": "cubic"}, "kernel = 'cubic'"),
        ({"integrator": "implicit-euler"}, "integrator = 'implicit-euler'"),
        ({"f_bar": True}, "f_bar = True"),
        ({"dissipation": True}, "dissipation = True"),
        ({"damping": 1.0}, "damping = 1"),
        ({"volume": "grid-density"}, "volume = 'grid-density'"),
        ({"scene": {"walls": "absorbing", "friction": 0}}, "walls['x-']: 'absorbing'"),
        ({"scene": {"obstacles": absorbing}}, "collider 'floor': 'absorbing'"),
        ({"scene": {"contact": mpm.Contact("separate")}}, "contacts between bodies"),
    ],
)
def test_what_a_device_does_not_know_is_refused(options: dict[str, Any], named: str):
    with pytest.raises(NotImplementedError) as error:
        body("neo_hookean", 2, **options)
    assert named in str(error.value) and "device = 'emulated'" in str(error.value)


def test_other_calls_that_a_device_does_not_know_are_refused():
    sim = body("neo_hookean", 2)
    ball = mpm.shapes.Ball((0, 0.3), 0.1)
    calls = [
        lambda: sim.equilibrate(),
        lambda: sim.add(ball, mpm.materials.Rigid(density=1000)),
    ]
    for call in calls:
        with pytest.raises(NotImplementedError, match="device = 'emulated'"):
            call()
    with pytest.raises(ValueError, match="device = 'gpu': must be 'cpu'"):
        body("neo_hookean", 2, device="gpu")
    with pytest.raises(NotImplementedError, match="runs on 'cpu' alone"):
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add(mpm.shapes.Box((0, 0), (0.5, 0.5)), MATERIALS["fluid"])
        checkpoint.loads(checkpoint.dumps(mpm.sph.Simulation(scene, spacing=0.1)), device="emulated")
    sim.step(1)
