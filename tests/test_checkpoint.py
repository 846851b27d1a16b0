"""Checkpoints: a run that was saved and loaded goes on as if it had not been, in whatever state it was saved."""

import copy
import gc
import itertools
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import checkpoints
import mpm
import scenes
from checkpoints import STEPS_ON, TRANSFERS, fingerprint
from mpm import _core
from mpm.io import checkpoint


def in_a_new_process(folder) -> dict[str, dict[str, str]]:
    run = subprocess.run(
        [sys.executable, "-W", "error", checkpoints.__file__, folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


# 2 x 2 x 7 x 24 x 2 combinations, a file each, and walls, kernels and options that go round; of a quarter the quick
# suite takes every law with and without colliders, with one transfer each.
@pytest.mark.parametrize(
    ("dim", "dtype", "share"),
    [
        (3, "float64", 7),
        *(
            pytest.param(dim, dtype, 1, marks=pytest.mark.slow)
            for dim in scenes.DIMS
            for dtype in scenes.DTYPES
        ),
    ],
)
def test_a_restarted_run_is_the_uninterrupted_one_bit_for_bit(dim, dtype, share, tmp_path):
    when = np.random.default_rng(dim)
    meant, loaded, binned = {}, {}, 0
    for number, ((t, transfer), (k, law), collides) in enumerate(
        itertools.product(enumerate(TRANSFERS), enumerate(scenes.LAWS), (False, True))
    ):
        if (t + k + collides) % share:
            continue
        name = f"{transfer}-{law}-{collides}"
        variant = number + 5 * t  # none of these tears a body apart with a transfer that damps little
        sim = checkpoints.make(dim, dtype, transfer, law, collides, variant)
        sim.step(int(when.integers(0, 25)))
        sim.save(tmp_path / f"{name}.mpm")
        loaded[name] = fingerprint(sim)
        before = sim.health["binnings"]
        sim.step(STEPS_ON)
        binned += sim.health["binnings"] > before
        meant[name] = fingerprint(sim)
    found = in_a_new_process(tmp_path)
    assert found.keys() == meant.keys() and len(found) * share >= 14 * len(scenes.LAWS) - share
    assert binned > 5  # so that the order of particles mattered
    for name, entries in found.items():
        assert entries.pop("same bytes") == "True", name
        assert json.loads(entries.pop("loaded")) == loaded[name], name
        assert entries == meant[name], name


@pytest.mark.parametrize("dtype", scenes.DTYPES)
@pytest.mark.parametrize("transfer", ["apic", "flip"])
def test_the_history_of_a_copy_goes_on_bit_for_bit(transfer, dtype):
    """Copied after every step, so that some copies have to be binned before the next one, and are measured anew."""

    def make(seed):
        random = np.random.default_rng(seed)
        scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81), walls={"x": "periodic", "y": "slip"})
        points = mpm.shapes.Points(
            random.uniform(0.2, 0.8, (300, 2)), volume=1e-3 * random.uniform(0.5, 1.5, 300)
        )
        soft = mpm.materials.NeoHookean(E=10, nu=0.3, density=1)
        scene.add(points, soft, velocity=lambda x: 3 * np.sin(5 * x[:, ::-1]) + [4, 0])
        return mpm.Simulation(scene, dx=1 / 16, transfer=transfer, dtype=dtype)

    for seed in range(6):
        sim = make(seed)
        for _ in range(12):
            sim.step()
            copied = copy.deepcopy(sim)
            copied.step(2), sim.step(2)
            for name, values in sim.history.items():
                assert values.tobytes() == copied.history[name].tobytes(), name


@pytest.mark.parametrize("isa", scenes.ISAS)
@pytest.mark.parametrize("dim", scenes.DIMS)
def test_a_state_is_the_same_for_every_instruction_set(dim, isa):
    with scenes.kernels(isa):
        sim = scenes.three_materials(dim, dtype="float32")
        sim.step(20)
        data = checkpoint.dumps(sim)
        twin = checkpoint.loads(data)
        assert twin.state_hash() == sim.state_hash()
        sim.step(20), twin.step(20)
        assert twin == sim
    for other in scenes.ISAS:
        with scenes.kernels(other):
            moved = checkpoint.loads(data)
        assert checkpoint.dumps(moved) == data
        moved.step(5)


# ---- states of all kinds --------------------------------------------------------------------------------------


def drifting(on_leave="raise", **numerics):
    """Fluid that drifts."""
    scene = mpm.Scene((0, 0), (1, 1), walls="separate")
    scene.add(mpm.shapes.Box((0.3, 0.3), (0.6, 0.6)), scenes.MATERIALS["fluid"], velocity=(0.1, 0))
    sim = mpm.Simulation(scene, dx=0.125, on_leave=on_leave, **numerics)
    sim.step(3)
    return sim


def test_particles_that_wait_to_be_deleted_wait_on():
    sim = drifting("delete")
    sim.particles.x[[2, 5]] = 1.2
    sim.totals()  # reads it in: they are without mass now, and go when a run ends
    assert (sim.particles.mass == 0).sum() == 2
    twin = copy.deepcopy(sim)
    assert twin == sim and (twin.particles.mass == 0).sum() == 2
    for one in (sim, twin):
        one.step()
    assert twin == sim and twin.health["deleted"] == 2 and (twin.particles.mass > 0).all()


def test_after_an_error_the_last_state_is_kept_and_raises_again():
    sim = scenes.crushed()
    with pytest.raises(mpm.InstabilityError) as first:
        sim.step(50)
    twin = pickle.loads(pickle.dumps(sim))
    assert twin == sim
    with pytest.raises(mpm.InstabilityError) as second:
        twin.step()
    assert str(second.value) == str(first.value) and second.value.rows == [1]


def test_a_run_that_only_raises_again_changes_no_bit():
    """Also where the next step would sort the particles."""
    scene = mpm.Scene((0, 0), (1, 1), walls={"x": "separate", "y": "periodic"})
    soft = mpm.materials.NeoHookean(E=2e4, nu=0.2, density=500)
    scene.add(mpm.shapes.Box((0.28, 0.28), (0.72, 0.72)), soft, velocity=(-100, 30))
    scheme = {"transfer": "aflip", "advect": "particle", "kernel": "linear", "gradient": "bspline"}
    with pytest.warns(UserWarning, match="linear"):
        sim = mpm.Simulation(scene, dx=1 / 16, dtype="float32", sampling="stratified", **scheme)
    with pytest.raises(mpm.EscapeError):
        sim.step(200)
    assert dict(zip(_core.snapshot_names()[1], sim._snapshot().arrays["counters"], strict=True))[
        "binning_due"
    ]
    before = sim.state_hash()
    with pytest.raises(mpm.EscapeError):
        sim.step()
    assert sim.state_hash() == before


def test_a_forged_clock_does_not_lose_mass():
    """The file says that no particle has moved since it was sorted."""
    scene = mpm.Scene((0, 0), (1, 1))
    x = [(0.5, 0.5), (0.55, 0.53)]
    scene.add(mpm.shapes.Points(x, volume=[1e-3, 1e-3]), scenes.MATERIALS["neo_hookean"], velocity=(5, 0))
    sim = mpm.Simulation(scene, dx=1 / 16, max_dt=5e-4)
    drift = checkpoint.container.unpack(checkpoint.dumps(sim))[0]["clock"]["numbers"].index("drift")
    forged = 0
    for _ in range(40):
        sim.step()
        tree, arrays = checkpoint.container.unpack(checkpoint.dumps(sim))
        numbers = arrays["state.numbers"].copy()
        if numbers[drift] < 0.7:
            continue
        numbers[drift] = 0
        data = checkpoint.container.pack(tree, {**arrays, "state.numbers": numbers})
        other, twin = checkpoint.loads(b"".join(data)), copy.deepcopy(sim)
        for _ in range(20):
            other.step()
            assert other.grid.mass.sum() == pytest.approx(other.totals().mass, rel=1e-12)
        twin.step(20)
        assert np.abs(other.particles.x - twin.particles.x).max() < 1e-12
        forged += 1
    assert forged > 5


def of_other_methods():
    """A run by SPH and one by finite elements."""
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(mpm.shapes.Box((0, 0), (0.5, 0.5)), mpm.materials.Fluid(bulk_modulus=1e5, density=1000))
    solid = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    for k in range(2):
        low = (0.1 + 0.5 * k, 0.1)
        solid.add(mpm.shapes.Box(low, (low[0] + 0.25, 0.35)), scenes.MATERIALS["neo_hookean"])
    sims = {
        "sph": mpm.sph.Simulation(scene, spacing=1 / 16),
        "fem": mpm.fem.Simulation(solid, spacing=1 / 16),
    }
    for sim in sims.values():
        sim.step(3)
    return sims


PART, TEXT, DOMAIN = ("numbers", "parts", 0), ["text"], 2.0
HUGE = (("scene", "upper"), [1e18, 1e18])  # neighbouring positions are hundreds of metres apart there
FORGED = {
    "mpm": [HUGE],
    "sph": [
        HUGE,
        (("numbers", "parts"), {"name": "body0"}),
        (("numbers", "parts"), [7]),
        ((*PART, "name"), TEXT),
        ((*PART, "text"), None),
        ((*PART, "particles"), 2.5),
        ((*PART, "particles"), 2**62),
        ((*PART, "first_id"), -1),
        ((*PART, "more"), TEXT),
        ("x", 5, DOMAIN),  # a position outside
        ("counters", 0, 2**63 - 1),  # steps
        ("counters", 3, 2**62 + 1),  # health
        ("counters", 1, 3),  # fewer particles were made than there are
    ],
    "fem": [
        HUGE,
        (("numbers", "parts"), []),
        ((*PART, "name"), "other"),
        ((*PART, "first_node"), 1),
        ((*PART, "nodes"), 7.5),
        ((*PART, "elements"), 2**40),
        ((*PART, "mass"), -1.0),
        ((*PART, "volume"), TEXT),
        ("run.counters", 0, 2**63 - 1),
        ("run.counters", 5, 2**63 - 1),  # health
        ("run.numbers", 0, -1.0),  # the next time step
        ("run.numbers", 1, -1.0),  # the speed at which a collider approaches
        ("run.numbers", 4, np.nan),
    ],
}


@pytest.mark.parametrize("kind", FORGED)
def test_forged_states_are_refused(kind):
    sim = scenes.free_body(2, side=6) if kind == "mpm" else of_other_methods()[kind]
    tree, arrays = checkpoint.container.unpack(checkpoint.dumps(sim))
    repr(checkpoint.loads(b"".join(checkpoint.container.pack(tree, arrays))))
    for at, *change in FORGED[kind]:
        other, given = copy.deepcopy(tree), dict(arrays)
        if isinstance(at, tuple):
            *way, last = at
            place = other
            for key in way:
                place = place[key]
            place[last] = change[0]
            if last == "more":  # what a later version may add
                repr(checkpoint.loads(b"".join(checkpoint.container.pack(other, given))))
                continue
        else:
            forged = given[f"state.{at}"].copy()
            forged.flat[change[0]] = change[1]
            given[f"state.{at}"] = forged
        with pytest.raises(mpm.FileFormatError):
            checkpoint.loads(b"".join(checkpoint.container.pack(other, given)))


def swirl(x, t):
    return np.cos(3 * t) * (x - 0.5)[:, ::-1]


def test_a_body_force_is_handed_back_to_the_run_that_goes_on(tmp_path):
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -1), body_force=swirl)
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.2), scenes.MATERIALS["neo_hookean"])
    sim = mpm.Simulation(scene, dx=1 / 16, history=3)
    sim.step(4)
    path = tmp_path / "a.mpm"
    sim.save(path)
    twin, other, bare = copy.deepcopy(sim), mpm.load(path, threads=2, body_force=swirl), mpm.load(path)
    pickled = pickle.loads(pickle.dumps(sim))
    for one in (sim, twin, other, pickled):
        one.step(5)
    assert sim == twin == pickled and sim.state_hash() == other.state_hash()
    assert np.array_equal(sim.history["body_impulse"], other.history["body_impulse"])
    with pytest.raises(ValueError, match=r"'swirl' was not kept in the file.*mpm.load\(path, body_force=f\)"):
        bare.step()
    assert bare.steps == 4 and len(bare.particles) == len(sim.particles)


def test_what_is_out_of_the_range_of_its_law_is_kept_and_found():
    sim = scenes.free_body(2, law="fluid", side=6)
    data = bytearray(checkpoint.dumps(sim))
    tree, arrays = checkpoint.container.unpack(bytes(data))
    arrays["state.F"] = arrays["state.F"].copy()
    arrays["state.F"][3, 0, 0] = np.nan
    twin = checkpoint.loads(b"".join(checkpoint.container.pack(tree, arrays)))
    assert np.isnan(twin.particles.J).sum() == 1
    with pytest.raises(mpm.InstabilityError):
        twin.step()


def test_a_state_that_was_written_wrongly_is_not_saved(tmp_path):
    sim = scenes.free_body(2, side=6)
    path = tmp_path / "a.mpm"
    sim.save(path)
    before = path.read_bytes()
    sim.particles.v[3] = np.nan
    with pytest.raises(mpm.SimulationError):
        sim.save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.mpm"]


def test_what_was_written_through_views_is_saved():
    sim = scenes.free_body(2, law="neo_hookean", side=6)
    sim.step(2)
    sim.particles.v[:] = -0.0
    sim.particles.x[4] += 0.1
    twin = copy.copy(sim)
    assert np.signbit(twin.particles.v).all() and twin == sim
    sim.step(3), twin.step(3)
    assert twin == sim


def test_bodies_come_and_go_after_loading_as_they_would_have():
    """With the same random numbers, names, ids and materials."""
    for generator in (
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.MT19937,
        np.random.Philox,
        np.random.SFC64,
    ):
        rng = np.random.Generator(generator(7))
        rng.random(5, dtype=np.float32)  # leaves half of a number behind
        scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -1), walls="separate")
        scene.add(mpm.shapes.Ball((0.3, 0.5), 0.15), scenes.MATERIALS["snow"])
        sim = mpm.Simulation(scene, dx=0.125, sampling="stratified", rng=rng)
        sim.add(mpm.shapes.Ball((0.7, 0.5), 0.15), scenes.MATERIALS["fluid"], velocity=lambda x: 0 * x)
        sim.particles.delete([1, 4])
        sim.step(2)
        twin = checkpoint.loads(checkpoint.dumps(sim))
        for one in (sim, twin):
            one.add(mpm.shapes.Ball((0.5, 0.8), 0.1), scenes.MATERIALS["snow"])
            one.particles.delete([0])
            one.step(10)
        assert (
            twin == sim and repr(twin).splitlines()[:-1] == repr(sim).splitlines()[:-1]
        )  # but for the memory
        assert twin.particles.id.tolist() == sim.particles.id.tolist() and twin.materials == sim.materials


def test_without_particles():
    sim = scenes.free_body(2, side=4)
    sim.step(2)
    sim.particles.delete(np.ones(len(sim.particles), bool))
    twin = checkpoint.loads(checkpoint.dumps(sim))
    assert twin == sim and len(twin.particles) == 0
    sim.step(3), twin.step(3)
    assert twin == sim and twin.steps == 5


def test_before_the_first_step_and_the_grid_after_loading():
    sim = scenes.free_body(3, side=6)
    twin = checkpoint.loads(checkpoint.dumps(sim))
    sim.step(4), twin.step(4)
    assert twin == sim and len(twin.grid.x)
    assert len(copy.deepcopy(twin).grid.x) == 0  # that of the last step is not kept


def test_the_history_and_impulses_between_records_go_on():
    sims = [checkpoints.make(2, "float64", "apic", "fluid", True, variant=2) for _ in range(2)]
    assert sims[0]._numerics.history == 3
    sims[0].step(40)
    sims[1].step(20)
    again = checkpoint.loads(checkpoint.dumps(sims[1]))
    again.step(20)
    assert fingerprint(again) == fingerprint(sims[0])
    assert np.abs(again.history["impulse:collider0"]).max() > 0


def test_a_forked_child_goes_on_with_the_same_bits():
    sim = scenes.three_materials(2, threads=2)
    sim.step(10)
    data = checkpoint.dumps(sim)
    sim.step(10)
    read, write = os.pipe()
    if not (child := os.fork()):
        try:
            twin = checkpoint.loads(data, threads=2)
            twin.step(10)
            os.write(write, twin.state_hash().encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with open(read) as stream:
        assert stream.read() == sim.state_hash()


# ---- copies, pickles, comparisons -------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda sim: pickle.loads(pickle.dumps(sim))])
def test_copies_are_equal_and_independent(again):
    sim = scenes.three_materials(2, threads=3)
    sim.step(5)
    before = fingerprint(sim)
    view = sim.particles.x
    twin = again(sim)
    assert twin == sim and twin is not sim and not np.shares_memory(twin.particles.x, view)
    twin.step(5)
    twin.add(mpm.shapes.Points([(0, 0.4)], volume="per-cell"), scenes.MATERIALS["fluid"])
    assert fingerprint(sim) == before and twin != sim
    sim.step(5)
    assert len(sim.scene.bodies) == 3


def test_copies_keep_threads_and_functions_that_files_do_not():
    sim = scenes.free_body(2, side=4, threads=3)
    assert copy.deepcopy(sim).threads == 3
    assert copy.deepcopy(sim).scene.bodies[0].velocity is scenes.swirl
    loaded = pickle.loads(pickle.dumps(sim))
    assert loaded.threads == 1  # the default of so few particles
    with pytest.raises(ValueError, match=r"the function 'swirl' was not kept"):
        mpm.Simulation(loaded.scene, dx=1 / 32)


def test_a_pickle_holds_the_bytes_of_a_checkpoint():
    sim = scenes.free_body(2, side=4)
    make, arguments = sim.__reduce__()
    assert make is checkpoint.loads and arguments == (checkpoint.dumps(sim), None, None)


@pytest.mark.numbers
def test_what_a_particle_takes_in_a_file():
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add(mpm.shapes.Box((0.25, 0.25, 0.25), (0.75, 0.75, 0.75)), scenes.MATERIALS["neo_hookean"])
    sim = mpm.Simulation(scene, dx=1 / 32, history=0)
    size = len(checkpoint.dumps(sim)) / len(sim.particles)
    assert 220 < size < 221  # 26 doubles, a row and an id; measured 220.28, with the groups


def test_a_loaded_simulation_is_freed():
    for _ in range(3):
        sim = copy.deepcopy(scenes.free_body(2, side=4))
        sim.step()
        del sim
    assert gc.collect() >= 0


def test_simulations_are_equal_by_their_state():
    a, b = scenes.free_body(2, side=4), scenes.free_body(2, side=4)
    assert a == a and a == b and not a != b and a != 1
    b.step()
    assert a != b
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


CHANGES = {
    "particles.v": lambda sim: sim.particles.v.__setitem__((3, 0), -0.5),
    "particles.x": lambda sim: sim.particles.x.__setitem__((3, 0), sim.particles.x[3, 0] + 1e-9),
    "particles.F": lambda sim: sim.particles.F.__setitem__((0, 0, 1), 0.25),
    "particles.C": lambda sim: sim.particles.C.__setitem__((0, 0, 1), 0.25),
}


@pytest.mark.parametrize("name", CHANGES)
def test_diff_names_what_differs_and_by_how_much(name):
    a, b = scenes.free_body(2, side=6), scenes.free_body(2, side=6)
    assert mpm.diff(a, b) == {}
    before = a.particles[name.partition(".")[2]].copy()
    CHANGES[name](b)
    found = mpm.diff(a, b)
    meant = np.abs(b.particles[name.partition(".")[2]] - before).max()
    assert set(found) - {"health.binnings", "particles.order"} == {name}
    assert found[name].count == 1 and np.isclose(found[name].largest, meant, rtol=1e-6)


def test_diff_compares_precisions_by_value():
    one, other = (scenes.free_body(2, side=6, dtype=dtype) for dtype in ("float32", "float64"))
    for sim in (one, other):
        sim.step(20)
    found = mpm.diff(one, other)
    assert "numerics.dtype" in found
    for name in ("particles.x", "particles.v", "particles.F"):
        assert 0 < found[name].largest < 1e-4 and "differ, by at most" in repr(found[name])


def test_diff_knows_zeros_of_another_sign():
    a, b = scenes.free_body(2, side=4), scenes.free_body(2, side=4)
    a.particles.v[:], b.particles.v[:] = 0.0, -0.0
    found = mpm.diff(a, b)
    assert found["particles.v"].count == 32 and found["particles.v"].largest == 0
    assert "differ" in repr(found)


def test_diff_knows_more_than_particles():
    def build(**changes):
        options = {
            "gravity": (0, -1.0),
            "E": 10.0,
            "dx": 0.125,
            "numerics": {},
            "friction": 0.2,
            "times": (0, 1),
        } | changes
        scene = mpm.Scene((0, 0), (1, 1), gravity=options["gravity"])
        solid = mpm.materials.NeoHookean(E=options["E"], nu=0.3, density=1)
        scene.add(mpm.shapes.Box((0.4, 0.4), (0.7, 0.6)), solid)
        moves = mpm.motion.Keyframes(options["times"], [(0, 0), (0.1, 0)])
        scene.add_collider(mpm.shapes.Ball((0, 0), 0.3), friction=options["friction"], motion=moves)
        return mpm.Simulation(scene, dx=options["dx"], **options["numerics"])

    def names(**changes):
        return set(mpm.diff(build(), build(**changes)))

    assert names() == set()
    assert names(gravity=(0, -2.0)) == {"scene.gravity"}
    assert names(E=11.0) == {"scene.bodies[0].material.E", "materials.0.E"}
    assert {"numerics.dx", "particles.x"} <= names(dx=0.0625)
    irregular = {"sampling": "stratified"}
    assert {"rng.state.state", "rng.state.inc", "particles.x"} <= names(numerics={**irregular, "rng": 1})
    assert names(friction=0.3) == {"scene.colliders[0].friction"}
    assert names(times=(0, 2)) == {"scene.colliders[0].motion.times"}
    a, b = build(), build()
    b.step(2)
    found = mpm.diff(a, b)
    assert (
        found["steps"].largest == 2 and found["time"].largest == b.time and np.isnan(found["history"].largest)
    )
    b.particles.delete([0])
    assert {"particles.id", "particles.v", "health.deleted"} <= set(mpm.diff(a, b))


# ---- what cannot be kept --------------------------------------------------------------------------------------


def test_a_generator_of_another_kind_is_refused(tmp_path):
    class Own(np.random.PCG64):
        pass

    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.2), scenes.MATERIALS["fluid"])
    sim = mpm.Simulation(scene, dx=0.125, sampling="random", rng=np.random.Generator(Own(1)))
    with pytest.raises(TypeError, match=r"rng = .*: a file keeps PCG64, .* of numpy\.random only"):
        sim.save(tmp_path / "a.mpm")
    assert os.listdir(tmp_path) == []


def test_shapes_of_ones_own_are_refused(tmp_path):
    class Egg(mpm.shapes.Ball):
        pass

    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(Egg((0.5, 0.5), 0.2), scenes.MATERIALS["fluid"])
    sim = mpm.Simulation(scene, dx=0.125)
    with pytest.raises(TypeError, match=r"shape = Egg\(.*\): a file keeps objects of mpm\.shapes only"):
        sim.save(tmp_path / "a.mpm")


def test_a_busy_simulation_cannot_be_saved(tmp_path):
    import threading

    sim = scenes.three_materials(3, threads=1)
    worker = threading.Thread(target=sim.step, args=(300,))
    worker.start()
    raised = 0
    while worker.is_alive():
        try:
            sim.save(tmp_path / "a.mpm")
        except mpm.BusyError:
            raised += 1
    worker.join()
    assert raised
    sim.save(tmp_path / "a.mpm")
    assert mpm.load(tmp_path / "a.mpm") == sim
