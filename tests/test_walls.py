"""Mirror and periodic walls, alone and together: the momentum balance, the same bits, what is refused."""

import numpy as np
import pytest

import mpm
import scenes
from loops import each
from symmetric import LIMIT, SOLID, H

every_dim = pytest.mark.parametrize("dim", scenes.DIMS)
every_dtype = each("dtype", scenes.DTYPES)
every_isa = pytest.mark.parametrize("isa", scenes.ISAS)
fewer_isas = pytest.mark.parametrize("isa", scenes.FEWER_ISAS)


BALANCED = {
    "mirror": {"walls": "mirror"},
    "lower mirrors": {"walls": dict.fromkeys(("x-", "y-"), "mirror")},
    "mirror and floor": {"walls": {"x": "mirror", "y": "separate"}, "friction": 0.4},
    "mirror and period": {"walls": {"x": "periodic", "y": "mirror"}},
    "periodic": {"walls": "periodic"},
    "period and floor": {"walls": {"x": "periodic", "y": "separate"}, "friction": 0.4},
}


@every_dim
@every_dtype
@pytest.mark.parametrize("walls", BALANCED)
def test_impulses_close_the_momentum_balance(dim, dtype, walls):
    scene = mpm.Scene([-0.25] * dim, [0.75] * dim, gravity=[0.5] * (dim - 1) + [-9.81], **BALANCED[walls])
    box = mpm.shapes.Box([-0.2] * dim, [0.05] * dim)
    material = mpm.materials.FixedCorotated(E=2000, nu=0.3, density=10)
    scene.add(box, material, velocity=[-1.0] * dim, angular_velocity=2.0 if dim == 2 else (1.0, 0.5, 2.0))
    sim = mpm.Simulation(scene, dx=H, dtype=dtype)
    before, g = sim.totals().momentum, sim.scene.gravity
    sim.step(400)
    h = sim.history
    momentum = np.concatenate([before[None], h["momentum"]])
    balance = np.diff(momentum, axis=0) - h["dt"][:, None] * h["mass"][:, None] * g - h["wall_impulse"]
    scale = np.abs(momentum).max()
    # measured 1.4e-14 and 3e-6 per step
    assert np.abs(balance).max() <= {"float64": 1e-13, "float32": 2e-5}[dtype] * scale
    contacts = [sim.scene.walls[f"{axis}-"].contact for axis in "xyz"[:dim]]
    for axis, contact in enumerate(contacts):
        pushed = h["wall_impulse"][:, axis].any()
        if contact == "mirror":
            assert pushed
        if contact == "periodic" and "separate" not in contacts:
            assert not pushed  # not even by round-off
    assert sim.grid.mass.sum() == pytest.approx(h["mass"][-1], rel=LIMIT[dtype])


def crowd(dim, walls, dtype="float64", cells=26, isa=None, **numerics):
    """A fluid, a solid and another that move through all faces of a box of which the blocks are no part."""
    gravity = [0.5] * (dim - 1) + [-2.0]
    scene = mpm.Scene([-0.5] * dim, [0.5] * dim, gravity=gravity, walls=walls)
    for number, material in enumerate(
        scenes.MATERIALS[law] for law in ("fixed_corotated", "neo_hookean", "fluid")
    ):
        low = np.full(dim, -0.5)
        low[0] += number / 3
        high = np.full(dim, 0.5)
        high[0] = low[0] + 0.25
        scene.add(
            mpm.shapes.Box(low, high), material, velocity=lambda x: 1.2 * np.cos(2 * np.pi * x[:, ::-1])
        )
    with scenes.kernels(isa or scenes.ISAS[-1]):
        return mpm.Simulation(scene, dx=1 / cells, dtype=dtype, **numerics)


MIXED = {"x": "periodic", "y-": "mirror", "y+": "separate"}
CONTACTS = {"mirror": "mirror", "periodic": "periodic", "mixed": MIXED}
every_contact = pytest.mark.parametrize("contact", CONTACTS)


@every_dim
@every_dtype
@fewer_isas
@every_contact
def test_any_number_of_threads(dim, dtype, isa, contact):
    cells = 90 if dim == 2 else 18
    hashes, histories = set(), set()
    for threads in (1, 2, 7):
        sim = crowd(dim, CONTACTS[contact], dtype, cells, isa, threads=threads)
        sim.step(8)
        hashes.add(sim.state_hash())
        histories.add(b"".join(values.tobytes() for values in sim.history.values()))
    assert len(sim.particles) > 2 * 8192  # two tasks at least
    assert len(hashes) == len(histories) == 1


@every_dim
@every_dtype
@fewer_isas
@every_contact
def test_a_run_may_be_split_and_looked_at(dim, dtype, isa, contact):
    cells = 26 if dim == 2 else 9
    whole, halves, watched = (crowd(dim, CONTACTS[contact], dtype, cells, isa) for _ in range(3))
    tight = [
        axis for axis in range(dim) if whole.scene.walls["xyz"[axis] + "+"].contact in ("mirror", "periodic")
    ]
    whole.step(60)
    halves.step(30)
    halves.step(30)
    for _ in range(60):
        watched.step()
        x = watched.particles.x
        assert ((x >= -0.5) & (x < 0.5))[:, tight].all()
        x[...] = x.copy()
        watched.totals()
    assert whole.health["binnings"] > 3
    assert halves.state_hash() == whole.state_hash() == watched.state_hash()
    for name, values in whole.history.items():
        np.testing.assert_array_equal(halves.history[name], values)


@every_dim
@every_contact
def test_the_kernels_agree_with_the_oracle(dim, contact):
    results = []
    for isa in scenes.ISAS:
        sim = crowd(dim, CONTACTS[contact], cells=26 if dim == 2 else 9, isa=isa, dt=1e-3)
        sim.step(20)
        results.append(sim)
    for sim in results[1:]:
        for name in ("v", "F"):
            difference = np.abs(sim.particles[name] - results[0].particles[name]).max()
            assert difference <= 1e-11 * np.abs(results[0].particles[name]).max()  # measured 2e-15


@pytest.mark.parametrize(
    "walls", [{"x-": "periodic"}, {"x-": "periodic", "x+": "mirror"}, {"y+": mpm.Wall("periodic")}]
)
def test_one_periodic_face_alone_is_refused(walls):
    with pytest.raises(ValueError, match=r"walls: '[xy]-' is .*must be periodic both or neither"):
        mpm.Scene((0, 0), (1, 1), walls=walls)


def test_too_few_periodic_cells_are_refused():
    scene = mpm.Scene((0, 0), (1, 3), walls={"x": "periodic"})
    scene.add(mpm.shapes.Box((0, 0), (1, 1)), SOLID)
    mpm.Simulation(scene, dx=0.25)
    with pytest.raises(ValueError, match=r"dx = 0.5: 2 cells along x, which is periodic; must be >= 4"):
        mpm.Simulation(scene, dx=0.5)


@pytest.mark.parametrize("contact", ["mirror", "periodic"])
def test_there_is_no_friction_at_them(contact):
    with pytest.raises(ValueError, match=rf"friction = 0.5: '{contact}' walls have none"):
        mpm.Wall(contact, friction=0.5)
    with pytest.raises(ValueError, match="none of the walls given by name slips or separates"):
        mpm.Scene((0, 0), (1, 1), walls=contact, friction=0.5)
    assert repr(mpm.Wall(contact)) == f"Wall('{contact}')"
