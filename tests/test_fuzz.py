"""A short run of each fuzzer, and that they find what they are to find."""

import dataclasses
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import core_calls
import fuzz
import fuzz_calls
import fuzz_core
import fuzz_files
import mpm
import scenes

pytest.importorskip("h5py")
pytest.importorskip("meshio")
pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no such timer here")

SCRIPT = Path(fuzz.__file__)
COMPILES = bool(os.environ.get("CC") or shutil.which("cc"))
KINDS = [name for name in fuzz.KINDS if COMPILES or name != "user-laws"]


# Kinds that reach the core.
IN_C = ("checkpoint", "varying", "elements", "smoothed", "user-laws", "trajectory", "ply", "stl")
sanitized = pytest.mark.skipif(not scenes.SANITIZED, reason="the core has no sanitizers: `make asan`")


def said_by(script, out, *arguments):
    """What a fuzzer that finds nothing prints; a process of its own, which may crash or hang."""
    command = [sys.executable, str(script), *arguments, "--seed", "1", "--out", str(out)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}  # of this build, wherever it lies
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.slow
@pytest.mark.numbers
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_refused_or_used(tmp_path, kind):
    assert f"{kind}: " in said_by(SCRIPT, tmp_path, kind, "--seconds", "2")
    assert not [*tmp_path.iterdir()]


@sanitized
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind in IN_C])
def test_sanitizers_see_nothing_in_damaged_files(tmp_path, kind):
    """A report ends the process."""
    print(said_by(SCRIPT, tmp_path, kind, "--seconds", "2"))


@sanitized
def test_sanitizers_see_nothing_in_calls_in_random_order(tmp_path):
    print(said_by(fuzz_calls.__file__, tmp_path, "--seconds", "15"))
    print(said_by(fuzz_core.__file__, tmp_path, "--seconds", "10"))


class Planted(fuzz_files.Obj):
    """A reader with all the defects that are looked for, each behind a word."""

    def use(self, path, rng):
        text = path.read_text(errors="replace")
        if "plant-hang" in text:
            time.sleep(60)
        if "plant-memory" in text:
            np.ones(20 << 20)
        if "plant-raise" in text:
            raise IndexError("list index out of range")
        if "plant-long" in text:
            raise mpm.FileFormatError("x" * 10_000 + path.name)
        super().use(path, rng)


@pytest.mark.numbers
def test_planted_defects_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "SECONDS", 0.2)
    previous = signal.signal(signal.SIGALRM, fuzz._hang)
    try:
        kind, path = Planted(tmp_path), tmp_path / "a.obj"
        for word, found in {
            **{
                "plant-hang": "hangs",
                "plant-raise": "raises",
                "plant-long": "says too much or little: x",
                "nothing": "used",
            },
            **({"plant-memory": "takes memory"} if Path("/proc/self/status").exists() else {}),
        }.items():
            path.write_bytes(kind.seeds[0] + f"# {word}".encode())
            assert fuzz.attempt(kind, path).startswith(found)
        path.write_bytes(b"v 1")
        assert fuzz.attempt(kind, path) == "refused"
        monkeypatch.setitem(fuzz.KINDS, "planted", Planted)
        monkeypatch.setattr(fuzz_files, "WORDS", ("plant-raise", "0"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcomes = fuzz.fuzz("planted", 20, 1, tmp_path / "out", most=40)
        failures = [name for name in outcomes if name not in ("used", "refused")]
        kept = [*(tmp_path / "out").iterdir()]
        assert len(failures) == len(kept) == 1 and "IndexError" in failures[0] and outcomes.total() == 40
        assert fuzz.attempt(kind, kept[0]).startswith("raises")
    finally:
        signal.signal(signal.SIGALRM, previous)


class PlantedReader(fuzz_files.Obj):
    """As `Planted`, of the reader alone."""

    def parse(self, data, path):
        if b"plant-memory" in data:
            np.ones(20 << 20)
        if b"plant-raise" in data:
            raise IndexError("list index out of range")
        super().parse(data, path)


@pytest.mark.numbers
def test_planted_defects_of_readers_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "BATCH", 10)
    monkeypatch.setitem(fuzz.KINDS, "planted", PlantedReader)
    words = {"plant-raise": "IndexError"}
    if Path("/proc/self/status").exists():
        words["plant-memory"] = "takes memory"
    previous = signal.signal(signal.SIGALRM, fuzz._hang)
    try:
        for word, found in words.items():
            out = tmp_path / word
            monkeypatch.setattr(fuzz_files, "WORDS", (word, "0"))
            outcomes = fuzz.fuzz_readers("planted", 20, 1, out, first=7, most=40)
            failures = [name for name in outcomes if name not in ("used", "refused")]
            assert len(failures) == 1 and found in failures[0] and outcomes["used"] and outcomes["refused"]
            [kept] = out.iterdir()
            number = int(kept.stem.rpartition("-")[2])
            assert 7 <= number < 47 and word.encode() in kept.read_bytes()
    finally:
        signal.signal(signal.SIGALRM, previous)


def test_mutations_repeat_and_reach_behind_checksums(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz.hdf5_bytes, "PATIENCE", 0.0)
    kinds = {name: fuzz.KINDS[name](tmp_path) for name in KINDS}
    for name, kind in kinds.items():
        for number in range(4):
            files = [kind.mutate(random.Random(f"{name} 1 {number}"), number) for _ in range(2)]
            assert files[0] == files[1]
    path, said = tmp_path / "a.vtkhdf", set()
    for number in range(30):
        path.write_bytes(kinds["trajectory"].mutate(random.Random(number), number))
        try:
            mpm.replay(path).close()
        except mpm.FileFormatError as error:
            said.add(str(error))
    behind = [text for text in said if "is not whole" not in text]  # which is said of wrong checksums, too
    assert len(behind) > 4, said


@pytest.mark.slow
def test_calls_in_random_order_keep_what_is_promised(tmp_path):
    """Some 1,000 calls."""
    said = said_by(fuzz_calls.__file__, tmp_path, "--seconds", "20")
    assert " 0 defects" in said and all(method in said for method in fuzz_calls.METHODS)


def planted_load(path, load=mpm.load):
    """A file that is read as the state one step later."""
    sim = load(path)
    sim.step()
    return sim


def planted_step(sim, n=1, step=mpm.Simulation.step):
    """A step that is refused after it has been taken."""
    step(sim, 1)
    raise ValueError("n: no step was taken")


def planted_totals(sim):
    raise IndexError("list index out of range")


@pytest.mark.parametrize(
    ("owner", "name", "planted", "found"),
    [
        (mpm, "load", planted_load, "Defect: a file has other bits"),
        (mpm.Simulation, "step", planted_step, "Defect: step was refused, and changed the state"),
        (mpm.Simulation, "totals", planted_totals, "IndexError: list index out of range"),
    ],
)
def test_planted_defects_of_calls_are_found(tmp_path, monkeypatch, owner, name, planted, found):
    monkeypatch.setattr(owner, name, planted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reports = (fuzz_calls.try_sequence(number, tmp_path, Counter()) for number in range(40))
        assert any(report.startswith(found) for report in reports)


def test_calls_of_the_core_in_random_order(tmp_path):
    """Some 1,000 sequences."""
    said = said_by(fuzz_core.__file__, tmp_path, "--seconds", "1")
    assert " 0 defects" in said and all(f"{name} again done" in said for name in fuzz_core.NAMES)
    assert not [*tmp_path.iterdir()]


def test_calls_of_the_core_repeat(tmp_path, monkeypatch):
    """Whatever order the sets of a process have."""
    said = []
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        said += [said_by(fuzz_core.__file__, tmp_path, "--sequence", "7")]
    assert said[0] == said[1]


def taken(monkeypatch):
    """A good argument that is called a wrong one."""
    step = {"step": (dataclasses.replace(core_calls.whole(2), wrong=(1,)),)}
    for name in fuzz_core.NAMES:
        monkeypatch.setitem(core_calls.METHODS, name, core_calls.METHODS[name] | step)


def other(monkeypatch, filled=core_calls.filled):
    """An object in another field of gravity than the new one."""
    monkeypatch.setattr(core_calls, "filled", lambda name, **more: filled(name, **more | {"gravity": (0, 9)}))


def changing(monkeypatch):
    """An object that is never as it was."""
    states = itertools.count()
    monkeypatch.setattr(core_calls, "seen", lambda core: next(states))


def unforeseen(monkeypatch):
    """An error that nobody has promised."""
    monkeypatch.setitem(core_calls.METHODS, "SPH", {"no_such": ()})


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (taken, "Defect: step took what is wrong"),
        (other, "Defect: what was kept continues with other bits"),
        (changing, "Defect: .* was refused, and changed the object"),
        (unforeseen, "AttributeError: "),
    ],
)
def test_planted_defects_of_calls_of_the_core_are_found(monkeypatch, plant, found):
    plant(monkeypatch)
    reports = (fuzz_core.try_sequence(number, Counter()) for number in range(1000))
    assert any(re.match(found, report) for report in reports)


@pytest.mark.numbers
@pytest.mark.parametrize(
    ("seconds", "answers", "status", "found"),
    [
        (50, "kept.append(numpy.ones(1 << 18))", 1, "memory grew by"),
        (0.3, "any(iter(int, 1))", -signal.SIGPROF, "in try_sequence"),
    ],
    ids=("leak", "hang"),
)
def test_leaks_and_hangs_of_calls_of_the_core_are_found(tmp_path, seconds, answers, status, found):
    """In a process of its own, whose memory nothing else has grown."""
    planted = f"import core_calls, fuzz_core, numpy, sys; kept = []; fuzz_core.SECONDS = {seconds}; "
    planted += f"core_calls.answers = lambda core: {answers}; sys.exit(fuzz_core.main(sys.argv[1:]))"
    command = [sys.executable, "-c", planted, "--seconds", "0", "--out", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == status and found in run.stdout + run.stderr
