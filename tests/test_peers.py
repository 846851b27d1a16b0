"""The comparison with peers and the gate, as far as they go without the peers' packages."""

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mpm

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT), str(ROOT / "benchmarks")]  # behind all else: `benchmarks` is no part of the package

import gate  # noqa: E402

from benchmarks.fem_peers import __main__ as fem_peers  # noqa: E402
from benchmarks.fem_peers import problem as fem_problem  # noqa: E402
from benchmarks.peers import equal_work, mpm_step, plain, problems, table  # noqa: E402
from benchmarks.sph_peers import problem as sph_problem  # noqa: E402
from mpm.bench.fem import Case  # noqa: E402

pytestmark = pytest.mark.source


# --- the scenes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", problems.SCENES)
def test_a_scene_has_its_particles_in_its_cells(name):
    """One particle in each half of a cell along every axis, in the order of cells, clear of the walls."""
    scene = problems.SCENES[name]
    d = scene.dimension
    rows = problems.particles(scene)
    assert rows.dtype == np.float32 and rows.shape == ((2 * scene.cells) ** d, 2 * d)
    halves = np.floor(2 * (rows[:, :d].astype(float) * scene.nodes - np.array(scene.corner))).astype(int)
    cells, places = (np.indices((n,) * d).reshape(d, -1).T for n in (scene.cells, 2))
    wanted = (2 * cells[:, None] + places).reshape(-1, d)
    assert np.mean((halves != wanted).any(axis=1)) < 1e-3  # single precision rounds a few: measured 6e-5
    assert scene.corner[-1] == problems.WALL + 1


def test_a_scene_and_a_problem_are_the_same_each_time():
    scene = problems.SCENES["2q"]
    assert np.array_equal(problems.particles(scene), problems.particles(scene))
    problem = problems.problem(scene, "fcr")
    assert problems.Problem.read(problem.json()) == problem
    assert problem.mass == pytest.approx(1000 / 64**2 / 4)


# --- equal work ----------------------------------------------------------------------------------------------------


def test_equal_work_is_told_from_other_work():
    right = [0.5, 0.5, 10.0, -20.0, 7.0]
    assert equal_work.check("it", right, right) == 0
    for k in range(5):
        wrong = list(right)
        wrong[k] *= 1 + 1e-4
        with pytest.raises(equal_work.UnequalWorkError, match="it: not equal work"):
            equal_work.check("it", wrong, right)
    for wrong in (right[:-1], [np.nan, *right[1:]], [*right[:-1], np.inf]):
        with pytest.raises(equal_work.UnequalWorkError):
            equal_work.check("it", wrong, right)


def test_an_outcome_is_that_of_the_particles():
    x, v = np.array([[0.0, 1.0], [1.0, 2.0]]), np.array([[1.0, 0.0], [3.0, 4.0]])
    assert equal_work.outcome(x, v, 2.0) == pytest.approx([0.5, 1.5, 8.0, 8.0, 26.0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    return tmp_path_factory.mktemp("peers")


@pytest.mark.parametrize("law", problems.LAWS)
@pytest.mark.parametrize("name", problems.QUICK)
def test_plain_c_and_the_package_do_equal_work(name, law, folder):
    problem = problems.problem(problems.SCENES[name], law)
    path = problems.write(name, folder)
    program = plain.compile(
        folder / f"{name}-{law}", ["-O2", "-Wall", "-Wextra", "-Werror"], law=law, dimension=problem.dimension
    )
    numbers = {k: v for k, v in dataclasses.asdict(problem).items() if k not in ("law", "dimension")}
    times, reference = plain.run(program, path, rounds=2, **numbers)
    assert len(times) == 2 and all(clock > 0 < processor for clock, processor in times)
    rows, d = np.load(path), problem.dimension
    package = mpm_step.Package(problem, rows[:, :d], rows[:, d:], 1, problem.dt)
    package.begin()
    package.step(problem.steps)
    outcome = equal_work.outcome(*package.state(), problem.mass)
    equal_work.check(name, outcome, reference)  # measured up to 4e-7
    # The law matters: the other one is not equal work.
    other = problems.problem(problems.SCENES[name], problems.LAWS[law == problems.LAWS[0]])
    package = mpm_step.Package(other, rows[:, :d], rows[:, d:], 1, problem.dt)
    package.begin()
    package.step(problem.steps)
    with pytest.raises(equal_work.UnequalWorkError):
        equal_work.check(name, equal_work.outcome(*package.state(), problem.mass), reference)


def test_plain_c_refuses_what_it_cannot_read(folder):
    problem = problems.problem(problems.SCENES["2q"], "fluid")
    program = plain.compile(folder / "plain", ["-O1"], law="fluid", dimension=2)
    numbers = {k: v for k, v in dataclasses.asdict(problem).items() if k not in ("law", "dimension")}
    rows = problems.particles(problems.SCENES["2q"])
    for name, wrong in (
        ("double", rows.astype(float)),
        ("flat", rows[:, :3]),
        ("columns", np.asfortranarray(rows)),
    ):
        np.save(folder / name, wrong)
        with pytest.raises(subprocess.CalledProcessError) as error:
            plain.run(program, folder / f"{name}.npy", **numbers)
        assert "is not an array (n, 4) of 4-byte reals" in error.value.stderr


def test_the_protocol_prints_one_line_of_json(folder):
    problem = problems.problem(problems.SCENES["2q"], "fluid")
    path = problems.write("2q", folder)
    command = [sys.executable, "-m", "benchmarks.peers.mpm_step", "--dt", "auto", "--particles", path]
    command += ["--problem", problem.json(), "--rounds", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    line = json.loads(done.stdout)
    assert len(line["seconds"]) == 2 and len(line["outcome"]) == 5 and line["first"] > 0
    assert line["versions"]["numpy"] == np.__version__


# --- the tables ----------------------------------------------------------------------------------------------------


def entry(peer, law, threads, *speeds):
    return table.Entry(peer, "2q", law, threads, 4096, list(speeds), 0.5, 1e-7)


def test_the_table_is_sorted_and_keeps_the_losers():
    entries = [
        entry("plain", "fcr", 1, 4.0, 5.0, 6.0),
        entry("slow", "fcr", 1, 1.0),
        entry("fast", "fcr", 1, 10.0),
        entry("fast", "fcr", 2, 19.0, 21.0),
    ]
    lines = list(table.tables(entries, {"2q": "a heading"}, [1, 2], "plain"))
    assert lines[0] == "### a heading\n"
    assert lines[1] == "| | fcr 1T | fcr 2T | fcr x | first step [s] | apart |"
    assert lines[3:6] == [
        "| fast | 10 ±0% | 20 ±5% | 2.00 | 0.5 | 1e-07 |",
        "| plain | 5 ±20% | – | 1.00 | 0.5 | 1e-07 |",
        "| slow | 1 ±0% | – | 0.20 | 0.5 | 1e-07 |",
    ]


def test_the_committed_tables_are_of_one_run():
    page = (ROOT / "benchmarks" / "peers" / "results.md").read_text(encoding="utf-8")
    record = json.loads((ROOT / "benchmarks" / "peers" / "results.json").read_text())
    assert record["machine"]["commit"] in page and "changed" not in record["machine"]["commit"]
    for found in record["entries"]:
        assert found["apart"] <= (equal_work.LIMIT_OWN_DT if "auto" in found["peer"] else equal_work.LIMIT)
        assert f"| {found['peer']} |" in page and f"{found['speed']:.3g} ±" in page


# --- the gate ------------------------------------------------------------------------------------------------------


def test_the_gate_fails_at_fifteen_per_cent():
    case = gate.CASES[0]
    committed = {"avx2": {f"{gate.name_of(case)} / scalar": 4.0}}
    for value, fails in ((5.0, False), (3.41, False), (3.39, True)):
        found = [gate.Ratio(case, "avx2", "scalar", value)]
        assert bool(gate.failures(found, committed)) is fails
    assert not gate.failures([gate.Ratio(case, "neon", "scalar", 0.1)], committed)


def test_a_lone_failure_of_the_gate_is_a_disturbance():
    def alone(*below):
        pairs = [(isa, against) for isa in ("avx2", "avx512") for against in ("scalar", "plain C")]
        found = {pair: gate.Ratio(gate.CASES[0], *pair, 1.0) for pair in pairs}
        failed = [found[pair] for pair in below]
        return [gate.alone(ratio, list(found.values()), failed) for ratio in failed]

    assert alone(("avx512", "plain C")) == [True]
    assert alone(("avx512", "plain C"), ("avx2", "scalar")) == [True, True]
    assert alone(("avx512", "plain C"), ("avx512", "scalar")) == [False, False]  # slower kernels
    assert alone(("avx512", "plain C"), ("avx2", "plain C")) == [
        False,
        False,
    ]  # slower code that all of them share
    without_plain = gate.Ratio(gate.CASES[0], "avx512", "scalar", 1.0)
    assert not gate.alone(without_plain, [without_plain], [without_plain])


def test_the_committed_ratios_are_of_all_cases():
    committed = json.loads(gate.COMMITTED.read_text())
    for isa in gate.VECTORS:
        wanted = {f"{gate.name_of(case)} / scalar" for case in gate.CASES}
        wanted |= {f"{gate.name_of(case)} / plain C" for case in gate.CASES if case.dtype == "float32"}
        assert set(committed[isa]) == wanted
    assert set(committed["instructions"]) == {"compiler", *map(gate.name_of, gate.CASES)}


def test_instructions_have_the_last_word(monkeypatch, capsys):
    case = gate.CASES[0]
    failed = [gate.Ratio(case, "avx2", "scalar", 1.0)]
    committed = {
        "processor": mpm.config.processor(),
        "instructions": {"compiler": mpm.show_config().compiler, gate.name_of(case): 100.0},
    }
    monkeypatch.setattr(gate.shutil, "which", lambda name: name)
    monkeypatch.setattr(gate._core, "isas", lambda: ["scalar", gate.COUNTED])
    for count, kept in ((104.0, True), (106.0, False)):
        monkeypatch.setattr(gate, "instructions", lambda case, count=count: count)
        assert gate.judge(failed, committed) is kept
        assert gate.judge([*failed, gate.Ratio(case, "avx512", "scalar", 1.0)], committed) is kept
    monkeypatch.setattr(gate, "instructions", lambda case: 100.0)
    assert gate.judge([gate.Ratio(case, "avx512", "scalar", 1.0)], committed) is False
    committed["instructions"]["compiler"] = "another"
    assert gate.judge(failed, committed) is False
    assert "cannot decide: " in capsys.readouterr().out


def test_ratios_of_another_processor_decide_nothing_by_themselves(monkeypatch):
    case = gate.CASES[0]
    slow = [gate.Ratio(case, isa, "scalar", 1.0) for isa in ("avx512", "avx2")]
    committed = {
        "processor": "another",
        "instructions": {"compiler": mpm.show_config().compiler, gate.name_of(case): 100.0},
    }
    monkeypatch.setattr(gate.shutil, "which", lambda name: name)
    monkeypatch.setattr(gate._core, "isas", lambda: ["scalar", gate.COUNTED])
    monkeypatch.setattr(gate, "instructions", lambda case: 106.0)
    assert gate.judge(slow[:1], committed) is None
    assert gate.judge(slow, committed) is False
    committed["instructions"]["compiler"] = "another"
    assert gate.judge(slow, committed) is None


def test_a_case_that_fails_is_measured_again(monkeypatch, tmp_path):
    case = gate.CASES[0]
    committed = {"avx2": {f"{gate.name_of(case)} / scalar": 4.0}}
    for values, best, tries in (((3.9, 9), 3.9, 1), ((3.0, 3.5, 9), 3.5, 2), ((3.2, 3.0, 3.1, 9), 3.2, 3)):
        left = list(values)
        measured = lambda *_, left=left: iter([gate.Ratio(case, "avx2", "scalar", left.pop(0))])  # noqa: E731
        monkeypatch.setattr(gate, "measure", measured)
        [found] = gate.best_of_tries(case, ["avx2"], 1, tmp_path, committed)
        assert found.value == best and len(left) == len(values) - tries


def test_the_gate_measures_a_ratio(tmp_path):
    isa = mpm._core.isas()[-1]
    if isa == "scalar" or not shutil.which("cc"):
        pytest.skip("there are no vectors, or no compiler")
    case = dataclasses.replace(gate.CASES[0], cells=6)
    found = {ratio.against: ratio.value for ratio in gate.measure(case, [isa], 1, tmp_path)}
    assert set(found) == {"scalar", "plain C"} and min(found.values()) > 0


def test_the_block_of_elements_is_that_of_the_package(tmp_path):
    """In single precision; what does nothing, or loses the volumetric part, is refused."""
    sim = Case("corotated", "float64", 4).simulation(isa=mpm.config.isa())
    fem_peers.write_mesh(sim, tmp_path / "a.npz")
    command = [sys.executable, "-m", "benchmarks.fem_peers.mpm_fem", tmp_path / "a.npz", tmp_path / "b.npy"]
    line = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    before = sim.particles.v.copy()
    reference = mpm.fem.Simulation(sim.scene, spacing=1 / 4, dt=fem_problem.DT)
    reference.step(fem_problem.STEPS)
    change = reference.particles.v - before
    assert fem_problem.apart(np.load(tmp_path / "b.npy"), change) < fem_problem.LIMIT < 0.1
    assert fem_problem.apart(0 * change, change) == 1 and line["speed"] > 0
    found = fem_peers.assembled(sim)
    assert found["apart"] < 1e-4 and found["speed"] > 0


def test_the_block_of_sph_expands_alike_in_any_order():
    command = [sys.executable, "-m", "benchmarks.sph_peers.mpm_sph", "--rounds", "1", "--along", "10"]
    line = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    assert line["particles"] == 500 and len(line["seconds"]) == 1
    problem = sph_problem.Problem(10)
    x, v = problem.particles()
    first = problem.outcome(x, v)
    np.testing.assert_allclose(problem.outcome(x[::-1], v[::-1]), first)
    assert sph_problem.apart(line["outcome"], line["outcome"]) == 0
    assert sph_problem.apart(line["outcome"], first) > 10 * sph_problem.LIMIT  # what does nothing is refused
