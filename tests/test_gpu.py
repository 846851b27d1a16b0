"""The kernels of a GPU (csrc/mpm/gpu/), run by an emulation of its blocks and warps: tests/emulated.py."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import mpm
from emulated import CXX, FLAGS, ORDERS, ROOT, Emulated, State, macros
from scenes import MATERIALS, jittered, swirl

pytestmark = [pytest.mark.source, pytest.mark.skipif(CXX is None, reason="no C++ compiler")]

DT = 2e-3
# Relative, after 100 steps: measured at most 9e-15 and 2e-6 in x, v, F and history. C, a difference of v, times 20.
BOUND = {"float64": 1e-14, "float32": 1e-5}
# NACC moves its surface after it has returned, and amplifies round-off: measured 3e-14 and 3e-3; so does the core's own
# single precision, 4e-3.
AMPLIFIES = {"nacc": 1e3}
# One of each kind of history; test_device.py has all laws.
LAWS = ("neo_hookean", "fluid", "sand", "snow", "viscoelastic", "nacc")
QUICK = {
    ("sand", 3, "float64"),
    ("neo_hookean", 2, "float32"),
}  # a library each, which takes seconds to compile
CASES = [
    pytest.param(*case, id="-".join(map(str, case)), marks=[] if case in QUICK else pytest.mark.slow)
    for case in [(law, *one) for law in LAWS for one in ((2, "float32"), (3, "float64"))]
]


H = 1 / 16


def fall(dim: int, law: str, walls="separate", speed: float = 2, obstacles=None, **scene) -> mpm.Scene:
    """A body at the lower faces of a box of 16 cells, which falls and slides."""
    h, side = H, 6 if dim == 3 else 12
    scene = {"gravity": [0.5] * (dim - 1) + [-9.81], "friction": 0.2} | scene
    box = mpm.Scene([-0.5] * dim, [0.5] * dim, walls=walls, **scene)
    x = jittered(dim, side, h / 2) - 0.5
    points = mpm.shapes.Points(x, volume=(h / 2) ** dim)
    box.add(points, MATERIALS[law], velocity=lambda x: speed * swirl(x))
    if obstacles:
        obstacles(dim, box)
    return box


def body(dim: int, law: str, dtype: str = "float64", options=None, **scene):
    """That body on the processor, and its material."""
    options = (options or {}) | ({"density_correction": 0} if law == "fluid" else {})
    return mpm.Simulation(fall(dim, law, **scene), dx=H, dt=DT, dtype=dtype, **options), MATERIALS[law]


@pytest.mark.parametrize(("law", "dim", "dtype"), CASES)
def test_steps_agree_with_the_core(law: str, dim: int, dtype: str):
    sim, material = body(dim, law)
    steps = 40 if (law, dim, dtype) in QUICK else 100
    emulated = Emulated(sim, material, dtype)
    assert emulated.step(DT, steps) == steps
    sim.step(steps)
    difference = emulated.state().difference(State.of(sim, material))
    measure, _, sorts = emulated.measure()
    assert sorts > 1
    bound = BOUND[dtype] * AMPLIFIES.get(law, 1)
    assert all(difference[name] <= bound for name in ("x", "v", "F", "history")), difference
    assert difference["C"] <= 20 * bound, difference
    totals = sim.totals()
    assert measure["mass"] == pytest.approx(totals.mass, rel=bound)
    assert measure["momentum"][:dim] == pytest.approx(totals.momentum, abs=10 * bound)
    assert measure["angular_momentum"][0 if dim == 3 else 2 :] == pytest.approx(
        totals.angular_momentum, abs=10 * bound
    )
    for name in ("kinetic", "elastic"):
        assert measure[name] == pytest.approx(getattr(totals, name), rel=100 * bound, abs=bound), name
    assert measure["outside"] == measure["out_of_range"] == 0


def agree(sim: mpm.Simulation, material: mpm.materials.Material, emulated: Emulated, bound: float) -> None:
    """The state and the totals of a simulation are those of the emulation."""
    difference = emulated.state().difference(State.of(sim, material))
    assert all(difference[name] <= bound for name in ("x", "v", "F", "history")), difference
    assert difference["C"] <= 20 * bound, difference


FOLDED = [
    pytest.param({"x": "periodic", "y-": "mirror"}, 2, "float32", id="2"),
    pytest.param(
        {"x": "periodic", "y": "mirror", "z-": "mirror"}, 3, "float64", marks=pytest.mark.slow, id="3"
    ),
]


@pytest.mark.parametrize(("walls", "dim", "dtype"), FOLDED)
def test_images_at_mirrors_and_periodic_faces(walls: dict, dim: int, dtype: str):
    """A body across a periodic face, in the edge of two mirrors, which moves through the domain."""
    sim, material = body(dim, "neo_hookean", walls=walls, gravity=[20.0, -4.0, -6.0][:dim], friction=0)
    sim.particles.v[:, 0] -= 6
    emulated = [Emulated(sim, material, dtype, order) for order in ORDERS]
    taken = [one.step(DT, 60) for one in emulated]
    sim.step(60)
    crossed = emulated[0].measure()[2]
    assert taken == [60] * 3 and crossed > 4
    assert len({one.state().hash() for one in emulated}) == 1
    agree(sim, material, emulated[0], BOUND[dtype])
    # the impulse of the last step: what the momentum gains beyond gravity
    before = np.array(sim.totals().momentum)
    assert emulated[0].step(DT, 1) == 1
    sim.step(1)
    measure, impulse, _ = emulated[0].measure()
    gained = measure["momentum"][:dim] - before - DT * measure["mass"] * np.array(sim.scene.gravity)
    assert np.abs(impulse[1:dim]).min() > 0
    assert np.abs(impulse[:dim] - gained).max() < 10 * BOUND[dtype] * measure["mass"]


def obstacles(dim: int, scene: mpm.Scene) -> None:
    """Colliders of all contacts around the body, at rest and moving, of shapes and of distances."""
    size = 3 / 16 if dim == 3 else 3 / 8  # of the body
    grid = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, 9)] * dim, indexing="ij"), axis=-1)
    slope = grid[..., -1] + 0.42 - 0.2 * grid[..., 0]
    scene.add_collider(mpm.shapes.DistanceGrid([-0.5] * dim, 0.125, slope), contact="separate", friction=0.3)
    middle, top = [-0.5 + 0.6 * size] * (dim - 1), -0.5 + size
    ball, block = mpm.shapes.Ball([*middle, top], 0.3 * size), mpm.shapes.Box([*middle, top], [0.1] * dim)
    push = mpm.motion.Linear([0.0] * (dim - 1) + [-0.8])
    scene.add_collider(ball | block, contact="separate", friction=0.2, motion=push)
    side = mpm.shapes.Box([-0.52 + size] + [-0.5] * (dim - 1), [0.1] * dim)
    scene.add_collider(side, contact="slip", motion=mpm.motion.Sinusoid([0.1] * dim, 2.0))
    axis = {} if dim == 2 else {"axis": [0, 0, 1]}
    turning = mpm.motion.Rotation(3.0, about=[-0.45] * dim, **axis)
    scene.add_collider(mpm.shapes.Box([-0.5] * dim, [-0.4] * dim), contact="sticky", motion=turning)


TOUCHED = [
    pytest.param({"x": "separate", "y-": "mirror"}, 2, "float32", id="2"),
    pytest.param({"x": "periodic", "y-": "mirror"}, 3, "float64", id="3"),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*:UserWarning")  # the obstacles are thin, and press the body
@pytest.mark.parametrize(("walls", "dim", "dtype"), TOUCHED)
def test_colliders_hold_nodes_and_particles(walls: dict, dim: int, dtype: str):
    sim, material = body(dim, "neo_hookean", walls=walls, friction=0, obstacles=obstacles)
    emulated = [Emulated(sim, material, dtype, order) for order in ORDERS]
    steps = 30 if dim == 2 else 10  # contacts take the emulation long
    assert [one.step(DT, steps) for one in emulated] == [steps] * 3
    sim.step(steps)
    assert len({(one.state().hash(), one.books().tobytes()) for one in emulated}) == 1
    agree(sim, material, emulated[0], BOUND[dtype])
    mass, books = emulated[0].measure()[0]["mass"], emulated[0].books()
    for k, placed in enumerate(sim._colliders):
        impulse = sim.history[f"impulse:{placed.collider.name}"].sum(axis=0)
        torque = np.atleast_1d(sim.history[f"torque:{placed.collider.name}"].sum(axis=0))
        assert np.abs(impulse).max() > 1e-3 * mass
        assert np.abs(books[k, :dim] - impulse).max() < BOUND[dtype] * mass
        assert np.abs(books[k, 6 - len(torque) :] - torque).max() < BOUND[dtype] * mass


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
@pytest.mark.parametrize(
    ("transfer", "options", "dim", "dtype", "beside"),
    [
        ("pic", {}, 3, "float32", None),
        ("flip", {"flip_ratio": 0.95}, 2, "float64", obstacles),
        ("aflip", {"flip_ratio": 0.9, "advect": "particle"}, 3, "float64", None),
    ],
)
def test_transfers_agree_with_the_core(transfer: str, options: dict, dim: int, dtype: str, beside):
    """At mirrors and periodic faces; the impulses of walls and colliders are the change of momentum."""
    walls = {"x": "periodic", "y-": "mirror"}
    scheme = {"transfer": transfer} | options
    sim, material = body(dim, "neo_hookean", walls=walls, friction=0, obstacles=beside, options=scheme)
    ratio, advects = options.get("flip_ratio", 0.0), options.get("advect") == "particle"
    emulated = [Emulated(sim, material, dtype, order, True, transfer, ratio, advects) for order in ORDERS[:2]]
    assert [one.step(DT, 20) for one in emulated] == [20] * 2
    sim.step(20)
    assert len({(one.state().hash(), one.books().tobytes()) for one in emulated}) == 1
    agree(sim, material, emulated[0], BOUND[dtype])
    before, books = np.array(sim.totals().momentum), emulated[0].books()
    assert emulated[0].step(DT, 1) == 1
    measure, given, _ = emulated[0].measure()
    gained = measure["momentum"][:dim] - before - DT * measure["mass"] * np.array(sim.scene.gravity)
    by_colliders = (emulated[0].books() - books).sum(axis=0)
    assert np.abs(gained - given[:dim] - by_colliders[:dim]).max() < 10 * BOUND[dtype] * measure["mass"]


def run(dim: int, law: str, dtype: str, order: str) -> State:
    sim, material = body(dim, law)
    emulated = Emulated(sim, material, dtype, order)
    assert emulated.step(DT, 20) == 20
    return emulated.state()


@pytest.mark.parametrize(("law", "dim", "dtype"), sorted(QUICK))
def test_the_order_of_threads_and_blocks_changes_no_bit(law: str, dim: int, dtype: str):
    hashes = {order: run(dim, law, dtype, order).hash() for order in ORDERS}
    assert len(set(hashes.values())) == 1, hashes


def test_a_body_in_free_flight_keeps_its_momentum_and_its_angular_momentum():
    sim, material = body(3, "sand", gravity=[0, 0, 0], walls="slip")
    sim.particles.x[:] += 0.4
    before = sim.totals()
    emulated = Emulated(sim, material, "float64")
    assert emulated.step(DT, 20) == 20
    measure, impulse, _ = emulated.measure()
    assert not impulse.any()
    scale = before.mass  # of velocities and lengths of about 1; measured 3e-17
    assert measure["mass"] == pytest.approx(before.mass, rel=1e-15)
    assert np.abs(measure["momentum"] - before.momentum).max() < 1e-15 * scale
    assert np.abs(measure["angular_momentum"] - before.angular_momentum).max() < 1e-15 * scale


def test_the_impulse_of_the_walls_is_the_change_of_momentum():
    sim, material = body(3, "sand", friction=0.3)
    emulated = Emulated(sim, material, "float64")
    given, momentum = np.zeros(3), np.array(sim.totals().momentum)
    for _ in range(5):
        assert emulated.step(DT, 1) == 1
        measure, impulse, _ = emulated.measure()
        given += impulse + DT * measure["mass"] * np.array(sim.scene.gravity)
    assert np.abs(impulse).min() > 0
    assert np.abs(measure["momentum"] - momentum - given).max() < 1e-15 * measure["mass"]


def test_a_refused_step_leaves_the_state_of_the_step_before():
    sim, material = body(3, "sand", gravity=[0, 0, 100.0], walls="slip", speed=0)
    whole, part = Emulated(sim, material, "float64"), Emulated(sim, material, "float64")
    taken = whole.step(5 * DT, 50)
    assert 2 < taken < 50
    assert whole.step(5 * DT, 1) == 0
    assert part.step(5 * DT, taken) == taken
    assert whole.state().hash() == part.state().hash()


@pytest.mark.parametrize(
    ("planted", "told"),
    [
        ("beyond", "a write beyond the end of an array"),
        ("shared", "a write beyond the end of the shared memory"),
        ("barrier", "threads wait for each other"),
        ("lanes", "a warp's barrier for other lanes"),
        ("order", ""),
    ],
)
def test_the_emulation_sees_planted_faults(tmp_path_factory, planted: str, told: str):
    program = tmp_path_factory.getbasetemp() / "planted_faults"
    if not program.exists():
        source = ROOT / "tests" / "gpu" / "planted_faults.cpp"
        flags = [flag for flag in FLAGS if flag != "-shared"]
        subprocess.run(
            [*str(CXX).split(), *flags, f"-I{ROOT / 'tests/gpu'}", source, "-o", program], check=True
        )
    found = subprocess.run([program, planted], capture_output=True, text=True)
    assert (found.returncode != 0) == bool(told), found
    assert told in found.stderr


@pytest.mark.parametrize("dim", (2, 3))
def test_every_law_is_code_for_a_device(tmp_path: Path, dim: int):
    """The headers of the laws are C++, too; here with the builtins of another compiler."""
    source = tmp_path / "laws.cpp"
    source.write_text('#include "cuda.h"\n#include "mpm/gpu/device.h"\n#include "materials/each_law.h"\n')
    includes = [f"-I{ROOT / path}" for path in ("csrc", "mpm/include", "tests/gpu")]
    defined = macros(MATERIALS["sand"], "float32", dim)
    subprocess.run([*str(CXX).split(), *FLAGS, "-fsyntax-only", *defined, *includes, source], check=True)
