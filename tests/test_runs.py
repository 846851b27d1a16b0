"""What happens around a run: Ctrl-C, threads and forks."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import mpm
import scenes

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
# glibc releases the locks of malloc in a forked child; AddressSanitizer's allocator, until GCC 14, keeps those that
# another thread held, and the child waits for ever.
forks_among_allocations = pytest.mark.skipif(
    scenes.SANITIZED,
    reason="AddressSanitizer's malloc may stay locked in a forked child",
)


def long_run(dim=3, threads=1, dtype="float64"):
    """A body at rest: steps take milliseconds and go on for ever."""
    scene = mpm.Scene([0] * dim, [1] * dim)
    low, high = ([0.2] * dim, [0.8] * dim) if dim == 2 else ([0.3] * dim, [0.7] * dim)
    scene.add(mpm.shapes.Box(low, high), scenes.MATERIALS["neo_hookean"], velocity=[0.01] * dim)
    return mpm.Simulation(scene, dx=1 / (128 if dim == 2 else 40), dtype=dtype, threads=threads, history=0)


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------


class Interrupter:
    """Sends SIGINT after a while; says when."""

    def __init__(self, delay: float) -> None:
        self.sent = 0.0
        self.thread = threading.Thread(target=self._send, args=(delay,))
        self.thread.start()

    def _send(self, delay: float) -> None:
        time.sleep(delay)
        self.sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture
def default_sigint():
    """Python's own handler, whatever the test runner was started with."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(sim, call, delay=0.12):
    """Seconds from the signal to the KeyboardInterrupt."""
    interrupter = Interrupter(delay)
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
        return time.perf_counter() - interrupter.sent
    finally:
        interrupter.thread.join()


@pytest.mark.numbers
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("call", ["run", "step"])
def test_ctrl_c_stops_within_100_ms(default_sigint, threads, call):
    latencies = []
    for delay in (0.06, 0.08, 0.11, 0.13, 0.17):
        sim = long_run(threads=threads)
        held = sim.particles.x
        latencies.append(
            interrupted(sim, lambda s=sim: s.run(1e3) if call == "run" else s.step(10**9), delay)
        )
        assert sim.steps > 0
        np.testing.assert_array_equal(held, sim.particles.x)
    assert np.median(latencies) < 0.1  # measured 22 to 47 ms; the machine may be shared with other work


def test_an_interrupted_simulation_is_at_a_whole_step(default_sigint):
    """Stopped and run on it has the bits of a run that was never stopped."""
    sim, twin = long_run(2), long_run(2)
    for _ in range(2):
        interrupted(sim, lambda: sim.run(1e3), delay=0.08)
    sim.step(3)
    twin.step(sim.steps)
    assert twin.state_hash() == sim.state_hash()
    assert twin.time == sim.time


@pytest.mark.parametrize("recorded", [False, True])
def test_ctrl_c_at_any_line_leaves_a_simulation_that_runs(recorded, tmp_path):
    """An exception at every line and call of a run in pieces in turn: those under a body force or that are recorded."""
    if recorded:
        pytest.importorskip("h5py")
    force = None if recorded else lambda x, _: 0 * x
    scene = mpm.Scene((0, 0), (1, 1), body_force=force)
    scene.add(mpm.shapes.Box((0.25, 0.25), (0.5, 0.5)), scenes.MATERIALS["fluid"])
    sim = mpm.Simulation(scene, dx=1 / 8)
    for at in range(1, 1000):
        recording = sim.record(tmp_path / "a.vtkhdf", fps=1e-3) if recorded else None
        before, left = sim.steps, at

        def interrupt(frame, event, argument):
            nonlocal left
            left -= frame.f_code.co_filename.startswith(os.path.dirname(mpm.__file__))
            if left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt

        sys.setprofile(interrupt)
        try:
            sim.step()
        except KeyboardInterrupt:
            sys.setprofile(None)
        else:
            sys.setprofile(None)
            assert at > 5 and sim.steps == before + 1
            return
        finally:
            if recording:
                recording.close()
        assert sim.steps - before in (0, 1)
        sim.totals()
        sim.step()


@pytest.mark.numbers  # its simulation takes long under sanitizers
def test_a_signal_handler_that_returns_does_not_stop_the_run():
    calls = []
    before = signal.signal(signal.SIGUSR1, lambda *_: calls.append(time.perf_counter()))
    sim = long_run(2)
    try:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        sim.step(400)
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert sim.steps == 400 and len(calls) == 1


def test_an_exception_from_a_handler_ends_the_run(default_sigint):
    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    sim = long_run(2)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Alarm):
            sim.run(1e3)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert sim.steps > 0
    sim.step()


# --- threads ---------------------------------------------------------------------------------------------------------


def in_background(sim, call):
    """Starts `call` in a thread and waits until it is in the core."""
    errors = []

    def target():
        try:
            call()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    give_up = time.perf_counter() + 10
    while time.perf_counter() < give_up:
        try:
            _ = sim._core.field("mass")
        except mpm.BusyError:
            break
        time.sleep(0.0005)
    return thread, errors


def test_a_second_thread_gets_an_error():
    sim = long_run(2)
    held = sim.particles.x
    thread, errors = in_background(sim, lambda: sim.step(400))
    for call in (
        sim.step,
        lambda: sim.run(1.0),
        sim.totals,
        sim.stable_dt,
        sim.state_hash,
        lambda: sim.particles.x,
        lambda: sim.grid,
        lambda: sim.history["time"],
        lambda: sim.particles.delete([0]),
        lambda: sim.add(mpm.shapes.Points([[0.1, 0.1]], volume="per-cell"), scenes.MATERIALS["fluid"]),
        lambda: setattr(sim, "threads", 2),
    ):
        with pytest.raises(mpm.BusyError, match="another thread"):
            call()
    assert "running in another thread" in repr(sim)
    assert thread.is_alive()  # all of it happened during the run
    assert np.isfinite(held).all()  # existing views stay readable
    thread.join()
    assert not errors and sim.steps == 400
    twin = long_run(2)
    twin.step(400)
    assert sim.state_hash() == twin.state_hash()
    sim.step()


@pytest.mark.numbers  # its simulation takes long under sanitizers
def test_other_simulations_and_python_run_meanwhile():
    sims = [long_run(2) for _ in range(3)]
    thread, errors = in_background(sims[0], lambda: sims[0].step(400))
    counted = 0
    sims[1].step(2)
    while thread.is_alive():
        counted += 1
        time.sleep(0)
    thread.join()
    assert not errors
    assert counted > 100  # the interpreter was free
    sims[2].step(2)
    assert sims[1].state_hash() == sims[2].state_hash()


def test_many_simulations_in_many_threads():
    expected = long_run(2)
    expected.step(40)
    sims = [long_run(2, threads=1 + k % 3) for k in range(6)]
    threads = [threading.Thread(target=sim.step, args=(40,)) for sim in sims]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {sim.state_hash() for sim in sims} == {expected.state_hash()}


def test_no_thread_is_left_behind():
    tasks = "/proc/self/task"
    if not os.path.isdir(tasks):
        pytest.skip("needs /proc")
    before = set(os.listdir(tasks))
    sim = long_run(2, threads=7)
    sim.step(5)
    give_up = time.perf_counter() + 5
    # Only threads that were not there before: one of an earlier test may end meanwhile.
    while set(os.listdir(tasks)) - before and time.perf_counter() < give_up:
        time.sleep(0.01)
    assert not set(os.listdir(tasks)) - before


# --- forks -----------------------------------------------------------------------------------------------------------

FORK = """
    import os, sys, threading
    sys.path.insert(0, {tests!r})
    import mpm, scenes

    sim = scenes.free_body(2, side=24, threads=3)
    sim.step(3)
    held = sim.particles.x
    twin = scenes.free_body(2, side=24, threads=1)
    twin.step(6)
    fresh = scenes.free_body(3, side=10, threads=1)
    fresh.step(4)
    {before}
    pid = os.fork()
    sim_hash = None
    if pid == 0:
        status = 1
        try:
            sim.step(3)
            new = scenes.free_body(3, side=10, threads=2)
            new.step(4)
            same = sim.state_hash() == twin.state_hash() and new.state_hash() == fresh.state_hash()
            status = 0 if same and (held == sim.particles.x).all() else 2
        finally:
            os._exit(status)
    sim.step(3)
    assert sim.state_hash() == twin.state_hash()
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status
    print("done")
"""


def run_script(text, timeout=60, **fields):
    script = textwrap.dedent(text).format(tests=os.path.dirname(__file__), **fields)
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@needs_fork
def test_a_forked_child_can_run():
    """The parent's simulation and new ones, with several threads, as if there had been no fork."""
    result = run_script(FORK, before="")
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


@needs_fork
@forks_among_allocations
def test_a_child_forked_while_another_thread_runs():
    """Another simulation is in the middle of a run with workers: the child has none of them, and works."""
    running = "other = scenes.free_body(2, side=40, threads=3); "
    running += "thread = threading.Thread(target=other.step, args=(3000,)); thread.start()"
    result = run_script(FORK, before=running)
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


@needs_fork
def test_multiprocessing_with_fork():
    result = run_script(
        """
        import multiprocessing, sys
        sys.path.insert(0, {tests!r})
        import scenes

        def work(threads):
            sim = scenes.free_body(2, side=12, threads=threads)
            sim.step(5)
            return sim.state_hash()

        first = work(2)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert set(pool.map(work, [1, 2, 3])) == {{first}}
        print("done")
        """
    )
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
