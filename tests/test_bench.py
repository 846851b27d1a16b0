"""The benchmark runs, covers what it says, and its file can be read."""

import csv
import json
import subprocess
import time

import numpy as np
import pytest

from mpm import _core, config
from mpm.bench import measure as bench
from mpm.bench import standard, studies
from mpm.commands import cli


def test_bench_prints_every_case_and_writes_its_figures(tmp_path, capsys):
    path, table = tmp_path / "bench.json", tmp_path / "bench.csv"
    assert cli.main(["bench", "--quick", "--json", str(path), "--csv", str(table)]) == 0
    printed = capsys.readouterr().out
    results = json.loads(path.read_text())["results"]
    assert len(results) == len(bench.cases()) * len(_core.isas())
    assert sorted(case.material for case in bench.cases()) == sorted(4 * list(bench.MATERIALS))
    names = [law["name"] for law in _core.laws() if not law["rigid"] and not law["variant_of"]]
    assert [law.law for law in bench.MATERIALS.values()] == names
    assert {
        (r["case"]["material"], r["case"]["dimension"], r["case"]["dtype"], r["isa"]) for r in results
    } == {(case.material, case.dimension, case.dtype, isa) for case in bench.cases() for isa in _core.isas()}
    assert all(r["speed"] > 0 and r["particles"] == 4096 for r in results)
    assert printed.count("fixed corotated") == 4 and config.processor() in printed
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["material"], row["isa"], float(row["speed"])) for row in rows] == [
        (r["case"]["material"], r["isa"], r["speed"]) for r in results
    ]
    assert all("-O3" in row["flags"] and row["processor"] == config.processor() for row in rows)


def test_kernel_sets_are_really_different():
    """The same case with another kernel set: nearly the same state, and not the same bits."""
    case = bench.Case("fixed corotated", 3, "float32", bench.CELLS_QUICK[3])
    states = {}
    for isa in _core.isas():
        sim = case.simulation(isa=isa)
        sim.step(20)
        states[isa] = sim.state_hash(), sim.totals().kinetic
    assert config.isa() == _core.isas()[-1]
    oracle = states["scalar"]
    for isa in _core.isas()[1:]:
        assert states[isa][0] != oracle[0]
        assert abs(states[isa][1] / oracle[1] - 1) < 1e-5  # measured 2e-7


@pytest.mark.slow
def test_studies_print_all_their_variants_and_write_their_figures(tmp_path, capsys):
    path = tmp_path / "bench.json"
    assert cli.main(["bench", "all", "--quick", "--repeats", "1", "--json", str(path)]) == 0
    printed = capsys.readouterr().out
    found = json.loads(path.read_text())["studies"]
    rows = [row for row in found if row["study"] in studies.STUDIES]
    assert {row["study"] for row in rows} == set(bench.STUDIES) - {"phases"} == set(studies.STUDIES)
    assert all(row["label"] in printed and row["nanoseconds"] > 0 < row["share"] for row in rows)
    scenes = [row for row in found if row["study"] in bench.STANDARD]
    assert {row["study"] for row in scenes} == set(bench.STANDARD) == set(standard.SCENES)
    assert all(row["label"] in printed and 0 < row["flops_share"] < 2 for row in scenes)
    assert all(row["bandwidth_share"] > 0 for row in scenes)
    measured = {row["study"]: row for row in found if row["study"].startswith("limits")}
    assert all(measured[f"limits {dtype}"]["flops"] > 1e8 for dtype in ("float32", "float64"))
    phases = [row for row in found if row["study"] == "phases"]
    assert len(phases) == 2 * len(bench.MATERIALS) and all(
        row["label"] in printed and row["sweeps"] > 0 for row in phases
    )
    with pytest.raises(SystemExit):
        cli.main(["bench", "familiy"])
    assert "'familiy': must be one of phases, family" in capsys.readouterr().err


def test_other_methods_are_measured_by_the_same_machinery(tmp_path, capsys):
    path = tmp_path / "bench.json"
    assert cli.main(["bench", "S1", "--quick", "--json", str(path)]) == 0
    printed, rows = capsys.readouterr().out, json.loads(path.read_text())["studies"]
    wanted = {
        (f"3-D {dtype}  SPH, dam break", isa) for dtype in ("float32", "float64") for isa in _core.isas()
    }
    assert {(row["label"], row["isa"]) for row in rows if row["study"] == "S1"} == wanted
    assert all(row["label"] in printed and row["nanoseconds"] > 0 and row["particles"] == 500 for row in rows)


def test_finite_elements_are_measured(tmp_path, capsys):
    path = tmp_path / "bench.json"
    assert cli.main(["bench", "F1", "--quick", "--json", str(path)]) == 0
    printed, rows = capsys.readouterr().out, json.loads(path.read_text())["studies"]
    assert len(rows) == 4 * len(_core.isas()) and {row["study"] for row in rows} == {"F1"}
    assert all(row["label"] in printed and row["particles"] == 5 * 6**3 for row in rows)
    assert "million element-steps/s per core" in printed


def test_files_that_cannot_be_written_are_told_before_anything_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "_lines", None)
    assert cli.main(["bench", "--json", str(tmp_path)]) == 1
    assert "IsADirectoryError" in capsys.readouterr().err
    assert cli.main(["bench", "--json", str(tmp_path / "a"), "--csv", str(tmp_path / "a")]) == 1
    assert "must be another file" in capsys.readouterr().err


def test_the_estimates_are_those_of_the_textbook():
    """Counted by hand for a node of a 2-D stencil: 2 + 12 in G2P, 14 in P2G."""
    assert standard.arithmetic(2, "fluid") == 9 * 28 + 72 + 16 + 4 + 15
    assert standard.arithmetic(3, "fixed_corotated") > 27 * 52
    assert standard.arithmetic(3, "fluid", "cubic") > 2 * standard.arithmetic(3, "fluid")
    assert standard.traffic(3, "neo_hookean", "float32") == 4 * (2 * 12 + 2)
    assert standard.traffic(2, "fluid", "float64") == 8 * (2 * 3 + 2)


@pytest.mark.parametrize("name", standard.SCENES)
def test_a_standard_scene_goes_on(name):
    """Small ones, for 200 steps: no time step is refused."""
    for _, make in standard.SCENES[name]:
        sim = make(True)
        sim.step(200)
        assert sim.steps == 200 and np.isfinite(sim.particles.x).all()


def test_the_phases_make_up_the_run():
    sim = bench.cases(quick=True)[0].simulation(isa=_core.isas()[-1])
    x = sim.particles.x
    start = time.perf_counter()
    sim.step(40)
    whole = time.perf_counter() - start
    seconds = sim._core.seconds()
    assert set(seconds) == {"sweeps", "grid", "binning", "views"} and len(x)
    assert all(seconds[phase] > 0 for phase in ("sweeps", "grid", "views"))
    assert sum(seconds.values()) < whole


def test_the_files_of_json_and_csv_are_two(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link.csv").symlink_to("a.json")
    (tmp_path / "a.json").write_text("before")
    (tmp_path / "hard.csv").hardlink_to("a.json")
    for path in (tmp_path / "a.json", "link.csv", "hard.csv", "./a.json"):
        assert cli.main(["bench", "--quick", "phases", "--json", "a.json", "--csv", str(path)]) == 1
        assert "must be another file than that of --json" in capsys.readouterr().err
    assert (tmp_path / "a.json").read_text() == "before"


def test_an_interrupt_leaves_no_empty_file(tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr("mpm.bench.studies.run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bench.run(["phases"], json_path=tmp_path / "a.json", csv_path=tmp_path / "a.csv", quick=True)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_keeps_what_was_measured(tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        yield
        raise KeyboardInterrupt

    monkeypatch.setattr("mpm.bench.standard.run", interrupted)
    path, table = tmp_path / "a.json", tmp_path / "a.csv"
    with pytest.raises(KeyboardInterrupt):
        bench.run(["phases", "B1"], json_path=path, csv_path=table, quick=True)
    kept = json.loads(path.read_text())
    assert kept["studies"] and not kept["complete"]
    assert {row["complete"] for row in csv.DictReader(table.read_text().splitlines())} == {"False"}


def test_the_commit_is_not_that_of_another_project(tmp_path, monkeypatch):
    """Such as one in whose virtual environment the package is installed."""
    installed = tmp_path / "venv" / "mpm"
    installed.mkdir(parents=True)
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "other"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(bench, "__file__", str(installed / "bench.py"))
    assert bench.commit() is None
    installed = tmp_path / "mpm"
    installed.mkdir()
    monkeypatch.setattr(bench, "__file__", str(installed / "bench.py"))
    assert bench.commit()
