"""Runs that need very many steps: they say so before, end after a number of steps, and show how far they are."""

import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import mpm
import scenes
from mpm.solver import progress


def slow(**options):
    """The viscosity bounds the step to 1e-14 s."""
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    fluid = mpm.materials.Fluid(bulk_modulus=1e4, density=1000, viscosity=1e12)
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.2), fluid)
    return mpm.Simulation(scene, dx=1 / 16, threads=1, **options)


def usual(**options):
    scene = mpm.Scene(
        (0, 0), (1, 1), gravity=(0, -9.81), walls="separate", body_force=options.pop("body_force", None)
    )
    scene.add(mpm.shapes.Ball((0.5, 0.3), 0.2), scenes.MATERIALS["neo_hookean"], velocity=(0.1, -1))
    return mpm.Simulation(scene, dx=1 / 16, **{"threads": 1, **options})


def bits(sim):
    history = {name: values.tobytes() for name, values in sim.history.items()}
    return sim.state_hash(), sim.time, sim.steps, sim.dt, sim.health, history


class Stop(Exception):
    pass


@pytest.fixture
def alarm():
    """Ends what would run for years."""

    def stop(number, frame):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


# --- the warning -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["run", "frames", "movie"])
def test_a_run_of_very_many_steps_says_so_before(alarm, tmp_path, call):
    sim = slow()
    calls = {
        "run": lambda: sim.run(0.01),
        "frames": lambda: list(sim.frames(duration=0.01, fps=200)),
        "movie": lambda: sim.movie(tmp_path / "a.gif", duration=0.01, fps=200, size=(64, 64)),
    }
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    with warnings.catch_warnings(record=True) as caught, pytest.raises(Stop):
        warnings.simplefilter("always")
        calls[call]()
    (told,) = [one for one in caught if "steps" in str(one.message)]
    said = re.search(
        r"about (\S+) steps of dt = (\S+) s \(limit: viscosity\), and so about \S+ \w+;", str(told.message)
    )
    assert float(said[1]) == pytest.approx(0.01 / sim.dt, rel=0.6) and float(said[1]) > 1e9
    assert told.filename == __file__ and sim.steps > 0


def test_a_warning_is_told_before_more_than_a_few_steps_are_taken():
    sim = slow()
    with pytest.raises(UserWarning, match="this run needs about"):  # warnings are errors in these tests
        sim.run(0.01)
    assert 1 <= sim.steps <= 8
    twin = slow()
    twin.step(sim.steps)
    assert bits(twin) == bits(sim)


@pytest.mark.parametrize(("steps", "ends"), [(10**7, Stop), (10**7 + 10, UserWarning)])
def test_ten_million_steps_are_the_most_without_a_warning(alarm, steps, ends):
    """The warning counts what is left after the first four steps."""
    sim = usual(dt=1e-6)
    signal.setitimer(signal.ITIMER_REAL, 0.3 if ends is Stop else 20)
    with pytest.raises(ends):  # warnings are errors in these tests
        sim.run(steps * 1e-6)


def test_a_short_last_step_is_not_the_measure_of_the_next_run():
    sim = usual()
    sim.run(0.01)
    sim.run(1e-12)
    assert sim.dt < 2e-12
    sim.run(0.01)
    assert sim.time == pytest.approx(0.02, rel=1e-9)


@pytest.mark.parametrize("body_force", [None, lambda x, t: 0.1 * x])
def test_the_first_look_changes_no_bit(body_force, monkeypatch):
    looked = usual(body_force=body_force)
    looked.run(0.02)
    looked.run(0.02)
    monkeypatch.setattr(mpm.Simulation, "_foresee", lambda *_: None)
    straight = usual(body_force=body_force)
    straight.run(0.02)
    straight.run(0.02)
    assert bits(looked) == bits(straight)


def test_particles_that_leave_are_deleted_as_before(monkeypatch):
    def run():
        scene = mpm.Scene((0, 0), (1, 1), gravity=(0, 0))
        scene.add(mpm.shapes.Ball((0.8, 0.5), 0.15), scenes.MATERIALS["neo_hookean"], velocity=(5, 0))
        sim = mpm.Simulation(scene, dx=1 / 16, threads=1, on_leave="delete")
        sim.run(0.05)
        return sim

    looked = run()
    monkeypatch.setattr(mpm.Simulation, "_foresee", lambda *_: None)
    assert bits(looked) == bits(run())


# --- max_steps ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 2, 17])
def test_a_run_ends_after_max_steps(most):
    sim, twin = usual(), usual()
    for k in (1, 2):
        with pytest.raises(
            mpm.StepLimitError, match=rf"max_steps: .* after {k * most} steps in all; to t = 1 s"
        ):
            sim.run(1 - sim.time, max_steps=most)
        twin.step(most)
        assert sim.steps == k * most and bits(sim) == bits(twin)
        assert np.isfinite(sim.totals().energy)
    assert issubclass(mpm.StepLimitError, mpm.SimulationError)


@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}, {"body_force": lambda x, t: 0.1 * x}])
def test_as_many_steps_as_it_needs_are_enough(options):
    straight, sim = usual(**options), usual(**options)
    straight.run(0.05)
    sim.run(0.05, max_steps=straight.steps)
    assert bits(sim) == bits(straight)
    fewer = usual(**options)
    with pytest.raises(mpm.StepLimitError):
        fewer.run(0.05, max_steps=straight.steps - 1)
    assert fewer.steps == straight.steps - 1 and fewer.time < 0.05
    fewer.run(0.05 - fewer.time)
    assert fewer.steps == straight.steps and fewer.state_hash() == straight.state_hash()


def test_a_run_of_no_length_needs_no_step():
    sim = usual()
    sim.run(0, max_steps=1)
    assert sim.steps == 0


def test_max_steps_bounds_a_run_that_would_never_end(alarm):
    sim = slow()
    signal.setitimer(signal.ITIMER_REAL, 20)
    with pytest.raises(mpm.StepLimitError, match=r"about \S+e\+1\d more of dt = \S+ s \(limit: viscosity\)"):
        sim.run(0.01, max_steps=300)
    assert sim.steps == 300


def test_a_recording_takes_its_frames_to_the_last_step(tmp_path):
    pytest.importorskip("h5py")
    sim = usual()
    with sim.record(tmp_path / "a.vtkhdf", fps=1e5) as recording:
        with pytest.raises(mpm.StepLimitError):
            sim.run(1, max_steps=5)
        assert recording.frames == 6 and not recording.closed


# --- progress ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", [False, True])
def test_a_bar_changes_no_bit(capsys, tmp_path, monkeypatch, recorded):
    monkeypatch.setattr(progress, "PIECE", 0.002)  # so that there are many pieces
    straight, sim = usual(), usual()
    if recorded:
        pytest.importorskip("h5py")
        sim.record(tmp_path / "a.vtkhdf", fps=333)
    straight.run(0.1)
    sim.run(0.1, progress=True)
    assert bits(sim) == bits(straight)
    said = capsys.readouterr().err
    assert "100%" in said and "0.1/0.1 s" in said and f"{sim.steps:,} steps" in said
    sim.run(0.1, progress=True, max_steps=1000)
    assert "100%" in capsys.readouterr().err


def test_a_bar_moves_while_the_run_goes_on(capsys, alarm):
    sim = slow()
    signal.setitimer(signal.ITIMER_REAL, 0.7)
    with pytest.raises(Stop), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim.run(0.01, progress=True)
    counts = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) steps", capsys.readouterr().err)]
    assert len(set(counts)) > 2 and counts == sorted(counts)


def test_a_bar_needs_its_extra(monkeypatch):
    sim = usual()
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match="progress=True needs tqdm"):
        sim.run(0.1, progress=True)
    assert sim.steps == 0


def test_times_are_spoken_in_their_unit():
    found = [progress.spoken(t) for t in (1e-3, 1.5, 100, 300, 1e4, 3e5, 1e9)]
    assert found == ["0.001 s", "1.5 s", "1e+02 s", "5 minutes", "2.8 hours", "3.5 days", "32 years"]


@pytest.mark.numbers
def test_short_runs_are_as_fast_as_steps():
    sim = usual(dt=1e-4)
    sim.run(1e-4)

    def timed(call):
        began = time.perf_counter()
        for _ in range(50):
            call()
        return time.perf_counter() - began

    runs, steps = (min(timed(call) for _ in range(5)) for call in (lambda: sim.run(1e-4), sim.step))
    assert runs < 1.5 * steps + 50 * 20e-6  # measured: 1.0 to 1.1


# --- the soak ---------------------------------------------------------------------------------------------------------

SOAK = """
import subprocess
import sys
import numpy as np
import soak

planted, kept, disturb = sys.argv[1], [], soak.disturb

def disturbed(sim, folder, number):
    sim = disturb(sim, folder, number)
    if planted == "leak":
        kept.append(np.ones(1 << 16))
    if planted == "bits" and number == 39:  # the last: damping forgets
        sim.particles.v[0, 0] = np.nextafter(sim.particles.v[0, 0], 9)
    return sim

soak.disturb = disturbed
print("good" if soak.soak("fem", 400, 10) else "bad")
"""


@pytest.mark.source
@pytest.mark.numbers
@pytest.mark.skipif(sys.platform != "linux", reason="/proc of Linux")
@pytest.mark.parametrize("planted, verdict", [("nothing", "good"), ("leak", "bad"), ("bits", "bad")])
def test_the_soak_finds_memory_that_grows_and_other_bits(planted, verdict):
    """400 steps (benchmarks/soak.py: a million) of a process of its own, whose memory grows by 0.1 %, by 15 % with the
    leak; the limit is 1 %."""
    root = Path(__file__).parents[1]
    env = os.environ | {"PYTHONPATH": os.pathsep.join((str(root), str(root / "benchmarks")))}
    run = subprocess.run(
        [sys.executable, "-c", SOAK, planted],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.stdout.split()[-1:] == [verdict], run.stdout + run.stderr
