"""Ctrl-C while a run is recorded: it ends the run at a whole step, always, and leaves the recording open and whole."""

import os
import random
import signal
import sys
import tempfile
import threading
import time

import numpy as np
import pytest

import mpm
from forks import Forks
from mpm.base.interrupts import SIGNALS, undisturbed
from trajectories import make

FPS = 3000.0


@pytest.fixture(autouse=True)
def default_sigint():
    """Whatever the tests run under."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def frames_of(path):
    with mpm.replay(path) as replay:
        return [(frame.time, frame.step, frame.x.tobytes(), frame.v.tobytes()) for frame in replay]


def recorded(path, steps, run):
    """A new simulation, recorded while `run` advances it; the rest of the steps are taken after it."""
    h5py = pytest.importorskip("h5py")
    assert h5py
    sim = make(2)
    with sim.record(path, fps=FPS, fields=("v",)) as recording:
        try:
            run(sim)
        except KeyboardInterrupt:
            interrupted = True
        else:
            interrupted = False
        assert not recording.closed and sim.steps <= steps
        sim.step(steps - sim.steps)
    return interrupted


@pytest.mark.parametrize("stride", [211, pytest.param(17, marks=pytest.mark.slow)])
def test_a_signal_at_any_call_of_a_recorded_run_loses_nothing(tmp_path, stride):
    """One SIGINT at every call and return in turn, those of h5py, too: one KeyboardInterrupt, and the same frames."""
    recorded(tmp_path / "a.vtkhdf", 2, lambda sim: None)
    reference = frames_of(tmp_path / "a.vtkhdf")
    assert len(reference) == 3
    interrupts = 0
    for at in range(1, 100_000, stride):
        left = at

        def interrupt(frame, event, argument):
            nonlocal left
            left -= 1
            if left == 0:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

        def run(sim, interrupt=interrupt):
            sys.setprofile(interrupt)
            try:
                sim.step(2)
            finally:
                sys.setprofile(None)

        interrupted = recorded(tmp_path / "b.vtkhdf", 2, run)
        if left > 0:
            break
        interrupts += 1
        assert interrupted and frames_of(tmp_path / "b.vtkhdf") == reference, at
    assert interrupts > 5


CHILD = """
    import sys, mpm
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81), walls="separate")
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.3), mpm.materials.FixedCorotated(E=1e5, nu=0.3, density=1000))
    sim = mpm.Simulation(scene, dx=1/32, threads=1)
    recording = sim.record(sys.argv[1], fps=float(sys.argv[2]), fields=("v",))
    print("go", flush=True)
    try:
        sim.run(1e9)
    except KeyboardInterrupt:
        pass
    frames, steps = recording.frames, sim.steps
    sim.step(100)
    print(recording.closed, recording.frames > frames, sim.steps - steps, flush=True)
"""


def one_interrupt(forks, folder, fps, delay):
    """A process that records gets one SIGINT. What it says, or nothing if it runs on."""
    process = forks.start(folder, CHILD, folder / "a.vtkhdf", fps)
    process.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    return process.read().split()


@pytest.mark.parametrize("times", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_one_ctrl_c_ends_the_run_and_not_the_recording(tmp_path, times):
    pytest.importorskip("h5py")
    rng = random.Random(times)
    with tempfile.TemporaryDirectory() as pipe, Forks(pipe) as forks:
        for k in range(times):
            delay = rng.uniform(0.05, 0.3)
            said = one_interrupt(forks, tmp_path, 1e5 if k % 2 else 300, delay)
            assert said == ["False", "True", "100"], delay


def test_an_error_in_writing_says_that_the_recording_has_ended(tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    from mpm.io import vtkhdf

    sim = make(2)
    recording = sim.record(tmp_path / "a.vtkhdf", fps=FPS)

    def fail(*_, **__):
        raise OSError("No space left on device")

    sim.step()
    monkeypatch.setattr(vtkhdf.Writer, "append", fail)
    with pytest.raises(OSError, match="No space") as caught:
        sim.step()
    assert recording.closed and caught.value.__notes__ == [
        f"The recording {str(recording.path)!r} has ended, with 2 frames."
    ]


# --- signals that wait -------------------------------------------------------------------------------------------


def test_signals_wait_for_what_is_not_to_be_disturbed():
    order = []

    def action():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
        order.append("done")
        return 3

    def handler(number, frame):
        order.append(number)
        raise RuntimeError(f"signal {number}")

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with pytest.raises((KeyboardInterrupt, RuntimeError)):
            undisturbed(action)
        assert sorted(order, key=str) == [signal.SIGTERM, "done"] and order[0] == "done"
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert undisturbed(lambda: 4) == 4


def test_an_error_and_a_signal_are_both_told():
    def action():
        signal.raise_signal(signal.SIGINT)
        raise OSError("disk")

    with pytest.raises(KeyboardInterrupt) as caught:
        undisturbed(action)
    assert isinstance(caught.value.__context__, OSError)


def test_handlers_that_python_does_not_have_stay():
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        undisturbed(lambda: signal.raise_signal(signal.SIGUSR1))
        assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGUSR1, before[signal.SIGUSR1])
    assert {number: signal.getsignal(number) for number in SIGNALS} == before


def test_other_threads_wait_for_nothing():
    found = []
    thread = threading.Thread(target=lambda: found.append(undisturbed(lambda: np.pi)))
    thread.start()
    thread.join()
    assert found == [np.pi]


def test_a_signal_ends_the_filling_of_a_collider_soon():
    """A floor with 200 dents, whose particles take 7 s."""
    floor = mpm.shapes.HalfSpace((0, 0, 0.5), (0, 0, 1))
    for k in range(200):
        floor -= mpm.shapes.Ball((0.005 * k, 0.5, 0.5), 0.01)
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    water = mpm.materials.Fluid(bulk_modulus=1e5, density=1000)
    scene.add(mpm.shapes.Box((0.4, 0.4, 0.9), (0.5, 0.5, 0.95)), water)
    scene.add_collider(floor)
    alarm = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
    alarm.start()
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        mpm.sph.Simulation(scene, spacing=1 / 240)
    assert time.perf_counter() - began < 2  # 0.56
