"""Recordings: the frames that were meant, bit for bit, of a run that does not notice them; and what a crash leaves."""

import gc
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import mpm
import scenes
from mpm import materials, motion, shapes
from mpm.io import hdf5_bytes, vtkhdf
from trajectories import make

h5py = pytest.importorskip("h5py")

dims = pytest.mark.parametrize("dim", scenes.DIMS)
dtypes = pytest.mark.parametrize("dtype", scenes.DTYPES)
FPS = 200


def bits(sim):
    """All that a run leaves behind."""
    history = {name: values.tobytes() for name, values in sim.history.items()}
    return sim.state_hash(), sim.time, sim.steps, sim.dt, sim.health, history


def snapshot(sim):
    fields = {name: np.array(sim.particles[name]) for name in sim.particles.fields}
    return SimpleNamespace(time=sim.time, step=sim.steps, totals=sim.totals(), fields=fields)


def step_by_step(sim, duration):
    """The states after every step of `run(duration)`, found by running a twin to each of their times."""
    end = sim.time + duration
    states = [snapshot(sim)]

    def pieces():
        while sim.time < end:
            sim._core.run(end, np.nextafter(sim.time, np.inf))
            states.append(snapshot(sim))

    sim._core.hold(pieces)
    return states


def due(states, fps, start=0.0):
    """The frames that a recording is to have: the first states at or after start + k/fps, each once."""
    found, k = [], 0
    for state in states:
        if state.time >= start + k / fps:
            found.append(state)
            while start + k / fps <= state.time:
                k += 1
    return found


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


# --- a run that is recorded is the same run ----------------------------------------------------------------------


@dims
@dtypes
@pytest.mark.parametrize("isa", scenes.ISAS)
@pytest.mark.parametrize("dt", ["auto", 1e-3])
def test_recording_changes_no_bit_of_a_run(tmp_path, dim, dtype, isa, dt):
    with scenes.kernels(isa):
        plain, recorded = (make(dim, dtype, dt=dt) for _ in range(2))
    with recorded.record(tmp_path / "a.vtkhdf", fps=FPS, fields=("v", "F", "pressure")) as recording:
        for sim in (plain, recorded):
            sim.run(0.06)
            sim.step(23)
            list(sim.frames(duration=0.02, fps=150))
            sim.run(0.005)
    assert recording.frames > 15 and plain.health["binnings"] > 2  # pauses fall on both sides of binnings
    assert bits(recorded) == bits(plain)


OPTIONS = [
    {"transfer": "flip"},
    {"transfer": "asflip"},
    {"transfer": "xpic", "xpic_order": 3},
    {"transfer": "tpic", "kernel": "cubic"},
    {"kernel": "linear", "gradient": "bspline"},
    {"volume": "grid-density"},
    {"history": 7},
    {"max_dt": 1e-3},
]


@dims
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options.values())))
def test_with_any_scheme(tmp_path, dim, options):
    plain, recorded = (make(dim, **options) for _ in range(2))
    with recorded.record(tmp_path / "a.vtkhdf", fps=FPS) as recording:
        for sim in (plain, recorded):
            sim.run(0.08)
    assert recording.frames > 10 and bits(recorded) == bits(plain)


def with_colliders(dim):
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81], walls={"x": "periodic"})
    scene.add(shapes.Box([0.3] * dim, [0.6] * dim), materials.Snow(), velocity=[2.0] + [0] * (dim - 1))
    push = motion.Sinusoid([0.2] + [0.0] * (dim - 1), 3.0)
    scene.add_collider(shapes.Ball([0.5] + [0.1] * (dim - 1), 0.19), friction=0.3, motion=push)
    return mpm.Simulation(scene, dx=1 / 16, sampling="stratified")


@dims
def test_with_colliders_snow_and_periodic_walls(tmp_path, dim):
    plain, recorded = with_colliders(dim), with_colliders(dim)
    path = tmp_path / "a.vtkhdf"
    with recorded.record(path, fps=FPS, fields=("Jp", "v")):
        for sim in (plain, recorded):
            sim.run(0.2)
    assert bits(recorded) == bits(plain)
    with mpm.replay(path) as frames:
        assert np.ptp(frames[-1].Jp) > 0 and same(frames[-1].Jp, np.array(recorded.particles.Jp))


def leaky(dim, dtype="float64"):
    """Particles that keep their own velocity pass the wall and leave, one by one, while a run goes on."""
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[-50.0] + [0] * (dim - 1))
    law = materials.NeoHookean(E=1e4, nu=0.3, density=1000)
    scene.add(shapes.Box([0.1] * dim, [0.4] * dim), law, velocity=[-3.0] + [0.0] * (dim - 1))
    numerics = {"transfer": "flip", "flip_ratio": 1.0, "advect": "particle", "on_leave": "delete"}
    return mpm.Simulation(scene, dx=1 / 16, dtype=dtype, **numerics)


@dims
@dtypes
def test_particles_that_leave_during_a_run(tmp_path, dim, dtype):
    plain, recorded = leaky(dim, dtype), leaky(dim, dtype)
    n, path = len(plain.particles), tmp_path / "a.vtkhdf"
    with recorded.record(path, fps=500, fields=("v", "stress")):
        for sim in (plain, recorded):
            sim.run(0.25)
    assert bits(recorded) == bits(plain) and plain.health["deleted"] > 0.01 * n
    with mpm.replay(path) as frames:
        counts = frames.counts
        assert counts[0] == n and counts[-1] == len(plain.particles)
        assert (np.diff(counts) <= 0).all() and len(set(counts.tolist())) > 3  # they go before the run ends
        for frame in frames[::10]:
            assert frame.mass.all() and len(np.unique(frame.id)) == len(frame) == len(frame["stress"])
            assert same(frame.id, np.sort(frame.id))
        assert same(frames[-1].x, np.array(recorded.particles.x))


@pytest.mark.parametrize("fps", [5e-324, 1e300])
def test_what_is_recorded_can_be_read_at_any_rate(tmp_path, fps):
    sim = make(2, "float32")
    with sim.record(tmp_path / "a.vtkhdf", fps=fps):
        sim.step(3)
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        assert len(frames) == (4 if fps > 1 else 1) and frames.fps == fps


# --- what is recorded --------------------------------------------------------------------------------------------


@dims
@dtypes
@pytest.mark.parametrize("fps", [FPS, 3000])  # the latter: more frames than steps
def test_frames_are_the_first_whole_steps_at_or_after_their_times(tmp_path, dim, dtype, fps):
    twin, sim = make(dim, dtype), make(dim, dtype)
    states = step_by_step(twin, 0.05)
    fields = ("v", "F", "C", "J")
    with sim.record(tmp_path / "a.vtkhdf", fps=fps, fields=fields) as recording:
        sim.run(0.05)
    assert bits(sim) == bits(twin)
    wanted = due(states, fps)
    assert len(wanted) < len(states) if fps == FPS else len(wanted) == len(states)
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        assert len(frames) == recording.frames == len(wanted)
        assert frames.times.tolist() == [state.time for state in wanted]
        assert frames.steps.tolist() == [state.step for state in wanted]
        for frame, state in zip(frames, wanted, strict=True):
            for name in ("x", "id", "mass", "material", "volume", *fields):
                assert same(frame[name], state.fields[name]), (name, state.step)
        for name in (
            "mass",
            "momentum",
            "center_of_mass",
            "angular_momentum",
            "kinetic",
            "elastic",
            "energy",
        ):
            assert np.array_equal(frames.totals[name], [getattr(state.totals, name) for state in wanted])


@dims
def test_computed_quantities(tmp_path, dim):
    sim = make(dim)
    sim.step(30)
    names = ("speed", "pressure", "von_mises", "stress", "kinetic_energy", "elastic_energy", "density")
    sim.record(tmp_path / "a.vtkhdf", fps=1, fields=names).close()
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        assert len(frames) == 1 and frames[0].time == sim.time
        for name in names:
            assert same(frames[0][name], sim.compute(name)) and same(
                frames[0].compute(name), sim.compute(name)
            )


def test_frames_of_the_loop_lie_exactly_at_their_times(tmp_path):
    sim = make(2)
    sim.step(3)
    with sim.record(tmp_path / "a.vtkhdf", fps=60):
        times = [t for _, t in sim.frames(duration=0.1, fps=60)]
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        assert frames.times.tolist() == times and len(times) == 7


def test_several_recordings_at_once(tmp_path):
    sim, plain = make(2), make(2)
    first = sim.record(tmp_path / "a.vtkhdf", fps=100)
    sim.run(0.031)
    second = sim.record(tmp_path / "b.vtkhdf", fps=333, fields=("v",), compression=4)
    sim.run(0.031)
    first.close()
    sim.run(0.031)
    second.close()
    sim.run(0.031)
    for _ in range(4):
        plain.run(0.031)
    assert bits(sim) == bits(plain)
    assert first.closed and second.closed and not sim._recordings
    assert (first.frames, second.frames) == (7, 21)
    with mpm.replay(first.path) as a, mpm.replay(second.path) as b:
        assert len(a) == 7 and len(b) == 21 and b.times[0] == 0.031
        assert a.times[-1] <= 0.062 and 0.06 < b.times[-1] <= 0.093


@pytest.mark.parametrize("fps", [1e16, 1e30, 1e308])
def test_more_frames_than_times_can_tell_apart(tmp_path, fps):
    sim = make(2)
    sim.step(2)
    with sim.record(tmp_path / "a.vtkhdf", fps=fps) as recording:
        sim.step(3)
        assert recording.frames == 4


def test_a_recording_stays_where_it_was_opened(tmp_path, monkeypatch):
    sim = make(2)
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path)
    with sim.record("a.vtkhdf", fps=1e6) as recording:
        monkeypatch.chdir("b")
        with pytest.raises(ValueError, match="that of another open recording"):
            sim.record(tmp_path / "a.vtkhdf", fps=1)
        sim.record("a.vtkhdf", fps=1).close()
        sim.step(3)
    assert recording.frames == 4
    assert [len(mpm.replay(tmp_path / name)) for name in ("a.vtkhdf", "b/a.vtkhdf")] == [4, 1]


def test_what_is_being_recorded_is_not_repaired(tmp_path):
    """The copy would take the file's place, and what comes would be lost with the old one."""
    sim, path = make(2), tmp_path / "a.vtkhdf"
    with sim.record(path, fps=1e6):
        sim.step(3)
        with pytest.raises(ValueError, match="still being recorded"):
            vtkhdf.repair(path)
        sim.step(3)
    assert os.listdir(tmp_path) == ["a.vtkhdf"]
    assert len(mpm.replay(path)) == vtkhdf.repair(path) == 7


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_no_trajectory(tmp_path):
    os.mkfifo(tmp_path / "a.vtkhdf")
    with pytest.raises(mpm.FileFormatError, match="is not a regular file"):
        mpm.replay(tmp_path / "a.vtkhdf")


@pytest.mark.filterwarnings("ignore:.* lie among particles")
@dims
@dtypes
def test_particles_come_and_go(tmp_path, dim, dtype):
    sim = make(dim, dtype)
    states = [snapshot(sim)]
    with sim.record(tmp_path / "a.vtkhdf", fps=100, fields=("v", "J"), compression=1):
        for k in range(6):
            if k in (1, 2):
                sim.particles.delete(np.arange(k, len(sim.particles), 3))
            if k in (2, 4):
                low, high = [-0.1] * dim, [0.0] * dim
                sim.add(shapes.Box(low, high).translate([0, 0.3, 0][:dim]), scenes.MATERIALS["fluid"])
            sim.run(0.01)
            states.append(snapshot(sim))
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        assert len(frames) == 7 and len(set(frames.counts.tolist())) > 3
        for frame, state in zip(frames, states, strict=True):
            for name in ("x", "v", "J", "id", "mass", "material", "volume"):
                assert same(frame[name], state.fields[name])


def test_as_many_particles_as_before_need_not_be_the_same(tmp_path):
    sim = make(2)
    n = len(sim.particles)
    with sim.record(tmp_path / "a.vtkhdf", fps=100):
        body = sim.add(shapes.Box([-0.1, 0.3], [0.0, 0.4]), scenes.MATERIALS["fluid"])
        sim.particles.delete(np.arange(len(sim.particles) - n))
        sim.run(0.01)
    assert body.name and len(sim.particles) == n
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        assert frames.counts.tolist() == [n, n] and not np.array_equal(frames[0].id, frames[1].id)
        for name in ("id", "mass", "material", "volume"):
            assert same(frames[1][name], np.array(sim.particles[name]))


def test_no_particles_at_all(tmp_path):
    sim = make(2)
    with sim.record(tmp_path / "a.vtkhdf", fps=100, fields=("v",)):
        sim.particles.delete(np.ones(len(sim.particles), bool))
        sim.run(0.02)
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        assert len(frames) > 1 and len(frames[-1]) == 0 and frames[-1].v.shape == (0, 2)


def test_what_does_not_change_is_written_once(tmp_path):
    sim = make(2)
    with sim.record(tmp_path / "a.vtkhdf", fps=1000, fields=("v",)):
        sim.run(0.05)
    n = len(sim.particles)
    with h5py.File(tmp_path / "a.vtkhdf") as file:
        root = file["VTKHDF"]
        frames = int(root["Steps"].attrs["NSteps"])
        assert frames > 20 and len(root["Points"]) == len(root["PointData/v"]) == frames * n
        assert all(len(root["PointData"][name]) == n for name in ("id", "mass", "material", "volume"))
        assert len(root["Vertices/Connectivity"]) == n
    assert (tmp_path / "a.vtkhdf").stat().st_size < frames * n * 48 + 300_000  # measured: 270,000


@dims
def test_compressed_files_hold_the_same(tmp_path, dim):
    sim = make(dim)
    names = [tmp_path / f"{level}.vtkhdf" for level in (0, 9)]
    recordings = [
        sim.record(name, fps=FPS, fields=("F",), compression=c) for name, c in zip(names, (0, 9), strict=True)
    ]
    sim.run(0.02)
    for recording in recordings:
        recording.close()
    assert names[1].stat().st_size < names[0].stat().st_size
    with mpm.replay(names[0]) as plain, mpm.replay(names[1]) as packed:
        for a, b in zip(plain, packed, strict=True):
            assert same(a.x, b.x) and same(a.F, b.F)


def test_the_file_says_where_it_comes_from(tmp_path):
    sim = with_colliders(2)
    sim.record(tmp_path / "a.vtkhdf", fps=25).close()
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        said = frames.description
        assert frames.fps == said["fps"] == 25 and frames.dimension == 2
        assert said["scene"]["gravity"] == [0, -9.81] and said["scene"]["walls"]["x-"][0] == "periodic"
        assert "Snow" in said["materials"][0] and "Ball" in said["scene"]["colliders"][0]
        assert said["numerics"]["dx"] == 1 / 16 and said["numerics"]["max_dt"] is None
        assert said["numerics"]["scheme"]["transfer"] == "apic" and said["summary"] == repr(sim)
        assert said["versions"]["mpm"] == mpm.__version__ and said["versions"]["isa"]
        assert said["units"] == {
            **{"x": "m", "time": "s", "id": "1", "material": "1", "mass": "kg/m", "volume": "m²"}
        }
        assert said["provenance"]["program"] == sys.argv


# --- files that are there, files that cannot be written ----------------------------------------------------------


def test_a_recording_says_what_it_is(tmp_path):
    sim = make(2)
    with sim.record(tmp_path / "a.vtkhdf", fps=50, fields=["v", "mass"]) as recording:
        assert recording.fields == ("id", "mass", "material", "volume", "v") and recording.fps == 50
        assert recording.path == tmp_path / "a.vtkhdf" and recording.frames == 1 and not recording.closed
        assert "1 frames at 50/s, open" in repr(recording)
        with pytest.raises(AttributeError, match="did you mean 'frames'"):
            recording.frame  # noqa: B018
        sim.run(0.1)
        assert 0 < recording.seconds < 60
    recording.close()  # again, no harm
    assert recording.closed and recording.frames == 6


def test_a_file_that_is_there_is_replaced_by_a_whole_one(tmp_path):
    path = tmp_path / "a.vtkhdf"
    path.write_text("old")
    sim = make(2)
    with pytest.raises(ValueError, match="fields"):
        sim.record(path, fps=10, fields=("velocity",))
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.vtkhdf"]
    sim.record(path, fps=10).close()
    with mpm.replay(path) as frames:
        assert len(frames) == 1
    assert os.listdir(tmp_path) == ["a.vtkhdf"]


def test_a_recording_that_is_dropped_with_its_simulation_is_closed(tmp_path):
    sim = make(2)
    sim.record(tmp_path / "a.vtkhdf", fps=100)
    sim.run(0.02)
    del sim
    gc.collect()
    assert_finished(tmp_path / "a.vtkhdf")


def assert_finished(path):
    """Not marked as open for writing, without the room that was reserved; nothing holds it."""
    with h5py.File(path) as file:
        assert file["VTKHDF/Steps"].attrs["NSteps"] == 3
    assert path.stat().st_size == int.from_bytes(path.read_bytes()[28:36], "little")
    if os.path.isdir("/proc/self/fd"):
        held = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
        assert str(path) not in held


def test_a_script_that_ends_without_closing_leaves_a_whole_file(tmp_path):
    run_script(tmp_path, "sim.record('a.vtkhdf', fps=100); sim.run(0.02)")
    assert_finished(tmp_path / "a.vtkhdf")


def test_a_forked_process_has_no_part_in_it(tmp_path):
    run_script(
        tmp_path,
        """
        import os
        sim.record('a.vtkhdf', fps=100)
        sim.run(0.01)
        if not os.fork():
            sys.exit()
        os.wait()
        sim.run(0.01)
        """,
    )
    assert_finished(tmp_path / "a.vtkhdf")


def test_two_recordings_cannot_share_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sim = make(2)
    with sim.record("a.vtkhdf", fps=100):
        with pytest.raises(ValueError, match=r"path = .*another open recording"):
            sim.record(tmp_path / "a.vtkhdf", fps=100)
        with pytest.raises(ValueError, match=r"path = .*another open recording"):
            make(2).record("a.vtkhdf", fps=100)  # of another simulation
        elsewhere = "import mpm; mpm.gallery.get('disks').simulation().record('a.vtkhdf', fps=1)"
        other = subprocess.run([sys.executable, "-c", elsewhere], capture_output=True, text=True, check=False)
        assert other.returncode == 1 and "another open recording" in other.stderr
        sim.run(0.02)
    assert_finished(tmp_path / "a.vtkhdf")
    sim.record(tmp_path / "a.vtkhdf", fps=100).close()


SCENE = """
    import sys, mpm
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(mpm.shapes.Box((.2, .2), (.7, .7)), mpm.materials.FixedCorotated(E=1e5, nu=.3, density=1000))
    sim = mpm.Simulation(scene, dx=1/16, threads=1)
"""


def start_script(folder, text, **options):
    code = textwrap.dedent(SCENE) + textwrap.dedent(text)
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, text=True, **options)


def run_script(folder, text):
    process = start_script(folder, text, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


def test_a_full_disk_ends_the_run_at_a_whole_step(tmp_path):
    """As far as a limit of the file size is one."""
    out = run_script(
        tmp_path,
        """
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        recording = sim.record('a.vtkhdf', fps=2000, fields=('v', 'F'))
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
        try:
            sim.run(1)
        except OSError as error:
            print('refused')
        print(recording.closed, recording.frames, sim._recordings == [])
        steps, before = sim.steps, sim.state_hash()
        sim.step(5)
        print(sim.steps == steps + 5 and sim.state_hash() != before)
        import os
        os._exit(0)
        """,
    )
    refused, closed, usable = out.splitlines()
    assert refused == "refused" and usable == "True"
    said, frames, gone = closed.split()
    assert said == gone == "True" and int(frames) > 10
    with mpm.replay(tmp_path / "a.vtkhdf") as replay:
        assert len(replay) == int(frames) and np.isfinite(replay[-1].x).all()


# --- while it is written -----------------------------------------------------------------------------------------


def test_a_file_may_be_read_while_it_grows(tmp_path):
    sim = make(2)
    seen = []
    with sim.record(tmp_path / "a.vtkhdf", fps=100, fields=("v",)):
        for _ in range(3):
            sim.run(0.02)
            with mpm.replay(tmp_path / "a.vtkhdf") as frames:
                seen.append(len(frames))
                assert same(frames[-1].v, np.array(sim.particles.v))
    assert seen == [3, 5, 7]


def test_another_process_may_read_while_it_grows(tmp_path):
    process = start_script(
        tmp_path,
        "sim.record('a.vtkhdf', fps=2000); print(flush=True); sim.run(1e6)",
        stdout=subprocess.PIPE,
    )
    try:
        process.stdout.readline()
        seen = []
        for _ in range(20):
            with mpm.replay(tmp_path / "a.vtkhdf") as frames:
                assert np.isfinite(frames[-1].x).all() and (np.diff(frames.times) > 0).all()
                seen.append(len(frames))
            time.sleep(0.02)
        assert seen[-1] > seen[0] > 0 and seen == sorted(seen)
    finally:
        process.kill()
        process.communicate()


def test_another_thread_cannot_enter_between_the_pieces_of_a_run(tmp_path, monkeypatch):
    from mpm.io import trajectory

    sim, plain = make(2), make(2)
    refused = []

    def enter():
        for call in (sim.step, sim.totals, sim.state_hash, lambda: sim.particles.delete([0])):
            with pytest.raises(mpm.BusyError):
                call()
            refused.append(call)

    def totals(sim):
        if threading.current_thread() is threading.main_thread():
            thread = threading.Thread(target=enter)
            thread.start()
            thread.join()
        return original(sim)

    original = trajectory._totals
    with sim.record(tmp_path / "a.vtkhdf", fps=100):
        monkeypatch.setattr(trajectory, "_totals", totals)
        sim.run(0.02)
    plain.run(0.02)
    assert len(refused) == 8 and bits(sim) == bits(plain)


def test_a_run_cannot_be_entered_by_its_own_recording(tmp_path, monkeypatch):
    from mpm.io import trajectory

    sim = make(2)
    caught = []

    def totals(sim):
        try:
            sim.run(0.1)
        except mpm.BusyError as error:
            caught.append(str(error))
        return original(sim)

    original = trajectory._totals
    sim.record(tmp_path / "a.vtkhdf", fps=100)
    monkeypatch.setattr(trajectory, "_totals", totals)
    sim.run(0.02)
    assert len(caught) == 2 and "being run" in caught[0]
    sim.run(0.02)  # released


# --- after a crash -----------------------------------------------------------------------------------------------


def crash(folder, rng, reference):
    """Kill a process that records, at some moment; what it leaves has to be the beginning of the reference."""
    process = start_script(
        folder,
        "sim.record('a.vtkhdf', fps=20000, fields=('v',)); print(flush=True); sim.run(1e6)",
        stdout=subprocess.PIPE,
    )
    process.stdout.readline()
    time.sleep(rng.uniform(0, 0.3))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with mpm.replay(folder / "a.vtkhdf") as frames:
        n = min(len(frames), len(reference))
        assert len(frames) >= 1 and frames.times[:n].tolist() == [state.time for state in reference[:n]]
        for k in {*rng.sample(range(n), min(n, 5)), n - 1}:
            assert same(frames[k].x, reference[k].fields["x"]) and same(frames[k].v, reference[k].fields["v"])
        last = frames[-1]
        assert np.isfinite(last.x).all() and np.isfinite(last.v).all()
        return len(frames)


def reference_states():
    space = {}
    exec(textwrap.dedent(SCENE), space)
    states = [snapshot(space["sim"])]
    for _ in range(400):
        space["sim"].step()
        states.append(snapshot(space["sim"]))
    return states


def kill_often(folder, times, seed):
    rng, reference = random.Random(seed), reference_states()
    counts = [crash(folder, rng, reference) for _ in range(times)]
    assert len(set(counts)) > min(times // 3, 20)  # killed at different moments
    with pytest.raises(OSError):  # other programs refuse it, ...
        h5py.File(folder / "a.vtkhdf")
    from mpm.cli import main

    assert main(["replay", str(folder / "a.vtkhdf"), "--repair"]) == 0
    with h5py.File(folder / "a.vtkhdf") as file:  # ... until it is repaired
        assert file["VTKHDF/Steps"].attrs["NSteps"] == counts[-1]
    with mpm.replay(folder / "a.vtkhdf") as frames:
        assert len(frames) == counts[-1]
        n = min(len(frames), len(reference))
        assert same(frames[n - 1].v, reference[n - 1].fields["v"])
    assert os.listdir(folder) == ["a.vtkhdf"]


def test_a_killed_process_leaves_all_whole_frames(tmp_path):
    kill_often(tmp_path, 8, seed=1)


def test_no_small_block_of_metadata_lies_in_two_pages(tmp_path, monkeypatch):
    """A killed process may have written the first of two pages and not the second."""
    sim, blocks = make(2), {}
    with sim.record(tmp_path / "a.vtkhdf", fps=20000, fields=("v",)) as recording:
        sim.step(300)
    block = hdf5_bytes.Bytes.block
    monkeypatch.setattr(
        hdf5_bytes.Bytes,
        "block",
        lambda file, at, size, name: blocks.update({at: size}) or block(file, at, size, name),
    )
    with mpm.replay(recording.path) as frames:
        for frame in frames:
            assert np.isfinite(frame.v).all()
    small = {at: size for at, size in blocks.items() if size <= 512}
    assert len(small) > 80
    assert not {at: size for at, size in small.items() if at // 4096 != (at + size - 1) // 4096}


@pytest.mark.slow
def test_many_killed_processes_leave_all_whole_frames(tmp_path):
    kill_often(tmp_path, 200, seed=2)


# --- cost --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.numbers
def test_recording_costs_little(tmp_path):
    """60 frames/s of 125,000 particles with x and v; processor time of one thread, so that others do not disturb.

    Two runs go ahead in turns by a frame each. What counts is the least time that each frame took in any turn: other
    work on the machine makes whole runs slower by more than what is looked for."""
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
    scene.add(shapes.Box((0.25,) * 3, (0.75,) * 3), materials.FixedCorotated(E=1e5, nu=0.3, density=1000))
    turns, frames = 4, 13
    spent = np.empty((2, turns, frames))
    for turn in range(turns):
        plain, recorded = (mpm.Simulation(scene, dx=1 / 50, threads=1) for _ in range(2))
        assert len(recorded.particles) == 125_000
        with recorded.record(tmp_path / "a.vtkhdf", fps=60, fields=("v",)) as recording:
            for frame in range(frames):
                for k, sim in enumerate((plain, recorded)):
                    before = time.process_time()
                    sim.run(1 / 60)
                    spent[k, turn, frame] = time.process_time() - before
        assert recording.frames in (frames, frames + 1)  # as the last time is rounded
        recording.path.unlink()
    without, with_ = spent.min(axis=1).sum(axis=1)
    assert with_ / without - 1 < 0.10  # measured: 0.03 to 0.07, busy or not


def test_a_run_under_a_body_force_is_recorded(tmp_path):
    scene = mpm.Scene((0, 0), (1, 1), body_force=lambda x, t: np.cos(5 * t) * (x - 0.5)[:, ::-1])
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.2), mpm.materials.Fluid(bulk_modulus=100, density=1))
    plain, recorded = (mpm.Simulation(scene, dx=1 / 16, on_leave="clamp") for _ in range(2))
    plain.run(0.1)
    with recorded.record(tmp_path / "a.vtkhdf", fps=100) as recording:
        recorded.run(0.1)
    assert recorded == plain and recording.frames == 11
    assert np.array_equal(mpm.replay(recording.path)[-1].x, plain.particles.x)


@pytest.mark.parametrize("fps", [24, 25, 30, 60])
def test_no_frame_is_missed_by_the_rounding_of_times(tmp_path, fps):
    sim = scenes.free_body(2)
    with sim.record(tmp_path / "a.vtkhdf", fps=fps) as recording:
        for _ in range(fps):
            sim.run(1 / fps / 16)
        assert recording.frames == 1 + fps // 16
    sim = scenes.free_body(2)
    with sim.record(tmp_path / "b.vtkhdf", fps=16 * fps) as recording:
        for _ in range(fps):
            sim.run(1 / fps / 16)
    assert recording.frames == fps + 1
    times = mpm.replay(recording.path).times
    assert times == pytest.approx(np.arange(fps + 1) / fps / 16, rel=1e-12)


def test_a_full_disk_refuses_a_recording_before_it_begins(tmp_path):
    """HDF5 ends the process where it cannot write what it keeps in memory."""
    out = run_script(
        tmp_path,
        """
        import os, resource
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        for size in (0, 2000, 5000, 8192, 100_000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
            try:
                sim.record('a.vtkhdf', fps=2000)
            except OSError:
                print('refused')
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert not [name for name in os.listdir() if 'vtkhdf' in name]
        with sim.record('a.vtkhdf', fps=2000):
            sim.step()
        """,
    )
    assert out.split() == ["refused"] * 5
