"""Files of recordings: replaced, shared, read while they grow, on a full disk, and after a crash."""

import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time

import numpy as np
import pytest

import mpm
from forks import Forks
from mpm.io import hdf5_bytes
from trajectories import bits, make, same, snapshot

h5py = pytest.importorskip("h5py")


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
        print(sim.steps == steps + 5 and sim.state_hash() != before, flush=True)
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


RECORD = "sim.record('a.vtkhdf', fps=20000, fields=('v',)); print(flush=True); sim.run(1e6)"


def crash(forks, folder, rng, reference):
    """Kill a process that records, at some moment; what it leaves has to be the beginning of the reference."""
    process = forks.start(folder, textwrap.dedent(SCENE) + RECORD)
    process.readline()
    time.sleep(rng.uniform(0, 0.3))
    process.send_signal(signal.SIGKILL)
    process.read()
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
    with tempfile.TemporaryDirectory() as pipe, Forks(pipe) as forks:
        counts = [crash(forks, folder, rng, reference) for _ in range(times)]
    assert len(set(counts)) > min(times // 3, 20)  # killed at different moments
    with pytest.raises(OSError):  # other programs refuse it, ...
        h5py.File(folder / "a.vtkhdf")
    from mpm.commands.cli import main

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
    kill_often(tmp_path, 80, seed=2)


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
