"""Sweeps: one table whatever runs the cases, restarts, failures, the folder; the recipes of the how-to."""

import concurrent.futures
import errno
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import mpm
from mpm.base import files
from mpm.study import cases as study_cases
from mpm.study import workers

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "howto" / "parameter-sweeps.md"

# Of the recipes: a script, run as users do, with processes that import it.
SCRIPT = """
import os, signal, sys, time
import mpm

def case(a, b=1.5):
    if a == 2:
        raise ArithmeticError(f"a = {a}")
    if a == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(a and float(os.environ.get("PAUSE", 0)))
    return {"sum": a + b, "third": a / 3, "word": f"<{a}>", "threads": mpm.get_num_threads()}

if __name__ == "__main__":
    mpm.sweep(case, {"a": range(8), "b": [1, 1.5]}, out="sweep", workers=2)
"""


def add(a, b=1.0):
    return {"sum": a + b}


def sweep(tmp_path, function=add, cases=None, **options):
    options = {"out": tmp_path / "sweep", "part": (0, 1), "progress": False} | options
    return mpm.sweep(function, {"a": [1, 2, 3]} if cases is None else cases, **options)


def table_of(folder: Path) -> bytes:
    return (folder / "sweep" / "table.csv").read_bytes()


def test_the_table_has_parameters_results_and_failures_in_the_order_of_the_cases(tmp_path):
    def mixed(a, b=0.5):
        if a == "raises":
            raise ValueError(f"no {object()}")
        if a == "exits":
            raise SystemExit(3)
        if a == "number":
            return 3.0
        return {"x": np.float32(0.1), "n": np.int64(3), "yes": np.bool_(True), "s": 'a "b",\n', "none": None,
                "nan": np.nan, "inf": -np.inf, "a": a, **({"list": [1], "late": 2} if a == "list" else {})}  # fmt: skip

    names = ["good", "raises", "list", "exits", "number"]
    table = sweep(tmp_path, mixed, [{"a": name, "b": [1, (2.5, None)]} for name in names])
    assert table.failed == [1, 2, 3, 4] and not table.unfinished
    assert list(table) == "case_file a b x n yes s none nan inf late error_type error_message".split()
    assert table["a"].tolist() == names and table["x"][0] == np.float32(0.1)
    assert table["n"][0] == 3 and np.isnan(table["n"][1]) and table["s"][1] is None
    errors = list(zip(table["error_type"], table["error_message"], strict=True))[1:]
    assert errors[0] == ("ValueError", "no <object object>")  # without the address
    assert errors[1][0] == "TypeError" and errors[1][1].startswith("result['list'] = [1]: must be a number")
    assert errors[2:] == [
        ("SystemExit", "3"),
        ("TypeError", "result = 3.0: must be a dict of numbers and strings by name, not float"),
    ]
    lines = table_of(tmp_path).decode().split("\n")
    assert lines[1] == f'{table["case_file"][0]},good,"[1, [2.5, null]]",0.10000000149011612,3,True,"a ""b"",'
    assert lines[2] == '",,nan,-inf,,,'
    kept = json.loads((tmp_path / "sweep" / "cases" / table["case_file"][1]).read_text())
    assert 'raise ValueError(f"no {object()}")' in kept["error"]["traceback"] and kept["seconds"] >= 0
    assert table.row(2)["late"] == 2  # beside an entry that was none
    again = sweep(tmp_path, mixed, [{"a": name, "b": [1, (2.5, None)]} for name in names])
    assert repr(again) == repr(table) and again["b"].tolist() == [[1, (2.5, None)]] * 5


def start(folder, pause=0.0):
    return subprocess.Popen(
        [sys.executable, "study.py"], cwd=folder, env=os.environ | {"PAUSE": f"{pause}"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def end(process, folder, count, sent, *, to_group=False):
    """Send a signal when so many cases are kept; no process is left after it."""
    until = time.monotonic() + 120
    while len(list((folder / "sweep" / "cases").glob("*.json"))) < count:
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.005)
    (os.killpg if to_group else os.kill)(process.pid, sent)
    process.communicate(timeout=60)
    assert process.returncode == -sent
    with pytest.raises(ProcessLookupError):
        for _ in range(2000):
            os.killpg(process.pid, 0)
            time.sleep(0.01)


@pytest.mark.slow
def test_a_killed_sweep_goes_on_and_a_process_that_dies_costs_its_own_row(tmp_path):
    (tmp_path / "study.py").write_text(SCRIPT)
    end(start(tmp_path, pause=60), tmp_path, 2, signal.SIGKILL)
    assert not (tmp_path / "sweep" / "table.csv").exists()
    _, progress = start(tmp_path).communicate(timeout=120)
    assert re.search(r"16 of 16 cases in \d+ s, [2-9] of them earlier, 4 failed\n$", progress)
    rows = table_of(tmp_path).decode().splitlines()
    assert [row for row in rows if "ArithmeticError,a = 2" in row] == rows[5:7]
    assert [row for row in rows if "ProcessDied" in row and "twice (SIGKILL" in row] == rows[7:9]
    assert all(row.endswith(",1,,") for row in rows[1:5])  # one thread each

    spec = importlib.util.spec_from_file_location("study", tmp_path / "study.py")
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    mild = {"a": range(3), "b": [1, 1.5]}  # what a test survives
    for name in ("threads", "parts"):
        (tmp_path / name).mkdir()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        mpm.sweep(study.case, mild, out=tmp_path / "threads" / "sweep", executor=pool, progress=False)
        unfinished = [
            len(
                mpm.sweep(
                    study.case,
                    mild,
                    out=tmp_path / "parts" / "sweep",
                    part=(i, 3),
                    executor=pool,
                    progress=False,
                ).unfinished
            )
            for i in (2, 0, 1)
        ]
    assert unfinished == [4, 2, 0]
    assert table_of(tmp_path / "parts") == table_of(tmp_path / "threads")
    assert table_of(tmp_path / "parts").decode().splitlines() == rows[:7]


@pytest.mark.slow
def test_a_sweep_that_is_stopped_again_and_again_makes_the_same_table(tmp_path):
    for name in ("whole", "stopped"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "study.py").write_text(SCRIPT)
    start(tmp_path / "whole").communicate(timeout=120)
    kept = tmp_path / "stopped" / "sweep" / "cases"
    for number in range(4):
        count = len(list(kept.glob("*.json"))) + 1
        sent = (signal.SIGINT, signal.SIGKILL)[number % 2]
        end(
            start(tmp_path / "stopped", pause=0.1),
            tmp_path / "stopped",
            count,
            sent,
            to_group=number % 2 == 0,
        )
    start(tmp_path / "stopped").communicate(timeout=120)
    assert table_of(tmp_path / "stopped") == table_of(tmp_path / "whole")


class Late(concurrent.futures.Executor):
    """Ends four cases together, the last one first; the ninth that ends finds a dead worker."""

    def __init__(self, kept):
        self.kept, self.submitted, self.ended, self.waiting, self.most = kept, 0, 0, [], 0

    def submit(self, function, *arguments):
        future = concurrent.futures.Future()
        self.waiting.append((future, function, arguments))
        self.submitted += 1
        self.most = max(self.most, self.submitted - len(list(self.kept.iterdir())))
        if len(self.waiting) == 4:
            for other, call, given in self.waiting[::-1]:
                self.ended += 1
                if self.ended == 9:
                    other.set_exception(concurrent.futures.BrokenExecutor("a worker died"))
                else:
                    other.set_result(call(*given))
            self.waiting.clear()
        return future


def test_an_executor_has_few_cases_at_a_time_and_one_that_breaks_costs_nothing_that_has_ended(tmp_path):
    kept = tmp_path / "sweep" / "cases"
    executor = Late(kept)
    with pytest.raises(
        RuntimeError, match=r"executor: BrokenExecutor: a worker died: .*call mpm.sweep again"
    ):
        sweep(tmp_path, cases={"a": range(20)}, part=None, executor=executor, workers=4)
    assert executor.most == 5  # with the one that has ended and is to be written
    assert len(list(kept.iterdir())) == 15  # those before it, and four that had ended when it was seen
    table = sweep(tmp_path, cases={"a": range(20)})
    assert table["sum"].tolist() == [a + 1.0 for a in range(20)]


def test_failed_cases_are_taken_again_only_if_asked_for(tmp_path):
    def case(a, folder):
        tries = folder / "tries"
        tries.write_text(f"{int(tries.read_text()) + 1 if tries.exists() else 1}")
        if a == 2 and not (tmp_path / "mended").exists():
            raise OSError(errno.EIO, "first attempt")
        return {"tries": int(tries.read_text())}

    assert sweep(tmp_path, case).failed == [1]
    (tmp_path / "mended").touch()
    assert sweep(tmp_path, case)["error_message"].tolist() == [None, "[Errno 5] first attempt", None]
    table = sweep(tmp_path, case, retry=True)
    assert table["tries"].tolist() == [1, 2, 1] and not table.failed
    os.truncate(tmp_path / "sweep" / "cases" / table["case_file"][0], 9)  # after a power cut
    assert sweep(tmp_path, case)["tries"].tolist() == [2, 2, 1]


def test_results_of_others_are_refused(tmp_path):
    sweep(tmp_path)
    manifest = tmp_path / "sweep" / "manifest.json"
    kept = manifest.read_bytes()
    names = {"function": "other", "source": "0" * 64, "mpm": "0.0", "kernels": "sse"}
    for name, value in names.items():
        manifest.write_text(json.dumps(json.loads(kept) | {name: value}))
        with pytest.raises(
            ValueError, match=r"out = .*: holds results of .*, and this is .*choose another folder"
        ):
            sweep(tmp_path)
    manifest.write_text("{}")
    with pytest.raises(mpm.FileFormatError, match="not the manifest of a sweep"):
        sweep(tmp_path)
    manifest.unlink()  # a user's decision
    assert len(sweep(tmp_path, retry=True).failed) == 0
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis.tex").touch()
    with pytest.raises(
        ValueError, match=r"out = .*: has files that are not of a sweep, such as 'thesis.tex'"
    ):
        sweep(tmp_path, out=tmp_path / "foreign")
    assert [path.name for path in (tmp_path / "foreign").iterdir()] == ["thesis.tex"]
    shutil.rmtree(tmp_path / "sweep" / "cases")
    manifest.write_text(json.dumps(json.loads(kept) | names))
    assert not sweep(tmp_path).failed  # nothing of another function was there


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"cases": []}, ValueError, "cases: must be at least one"),
        ({"cases": {}}, ValueError, "cases: must be at least one"),
        ({"cases": 3}, TypeError, "cases = 3: must be a list of dicts"),
        ({"cases": {"a": 3}}, TypeError, "cases['a'] = 3: must be a list of values"),
        ({"cases": {"a": "xyz"}}, TypeError, "cases['a'] = 'xyz': must be a list of values"),
        ({"cases": {"a": []}}, ValueError, "cases['a']: must have at least one value"),
        ({"cases": [{"a": 1}, 2]}, TypeError, "cases[1] = 2: must be a dict"),
        ({"cases": [{"a": 1}, {"b": 2}]}, TypeError, "cases[1]: function needs a"),
        ({"cases": [{"a": 1, "bb": 2}]}, TypeError, "has no parameter 'bb'; did you mean 'b'?"),
        ({"cases": [{"a": np.nan}]}, ValueError, "cases[0]['a'] = nan: must be a number"),
        (
            {"cases": [{"a": [1, {"x": {1}}]}]},
            TypeError,
            "cases[0]['a'][1]['x'] = {1}: must be a number, a string",
        ),
        ({"cases": [{"a": np.ones(3)}]}, TypeError, "value.tolist() makes a list"),
        ({"cases": [{"a": 1, "b": 2}, {"b": 2, "a": np.int8(1)}]}, ValueError, "is the same as cases[0]"),
        (
            {"function": print},
            TypeError,
            "function = <built-in function print>: must be a function (def ...)",
        ),
        ({"part": 3}, TypeError, "part = 3: must be two integers (i, n)"),
        ({"part": (3, 3)}, ValueError, "part[0] = 3: must be >= 0 and <= 2"),
        ({"workers": 0}, ValueError, "workers = 0: must be >= 1"),
        ({"executor": 2}, TypeError, "executor = 2: must be a concurrent.futures.Executor"),
        ({"part": None}, TypeError, "function: worker processes cannot import it"),
    ],
    ids=lambda value: None if isinstance(value, type) else str(value)[:40],
)
def test_bad_arguments_are_named(tmp_path, change, error, message):
    def local(a, b=1.0):
        return {}

    with pytest.raises(error, match=re.escape(message)):
        sweep(tmp_path, **{"function": local} | change)
    assert not list(tmp_path.glob("sweep/cases/*"))


def test_nothing_is_lost_on_a_full_disk(tmp_path, monkeypatch):
    full, written = [True], files.renamed

    def renamed(path):
        if full[0] and "cases" in str(path) and len(list(Path(path).parent.iterdir())) >= 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return written(path)

    monkeypatch.setattr(files, "renamed", renamed)
    with (
        pytest.warns(RuntimeWarning, match="no case of the sweep begins any more"),
        pytest.raises(OSError, match=r"No space left on device: .*cases") as caught,
    ):
        sweep(tmp_path)
    notes = "\n".join(caught.value.__notes__)
    assert "1 cases of this call are kept" in notes and '"results": {"sum": 3.0}' in notes
    assert not list(tmp_path.rglob("*.tmp"))
    full[0] = False
    assert sweep(tmp_path)["sum"].tolist() == [2.0, 3.0, 4.0]


@pytest.mark.numbers
@pytest.mark.parametrize(
    "change",
    [
        {"error": 7},
        {"error": {"type": 1, "message": ""}},
        {"parameters": {}, "results": {"sum": 99}},
        {"parameters": {"a": 2}, "results": {"sum": 99}},
        {"results": {"sum": [1]}},
        {"results": {"a": 9}},
        {"results": {"error_type": "x"}},
        {"results": 7},
    ],
)
def test_a_file_that_is_no_record_of_its_case_is_run_again(tmp_path, change):
    table = sweep(tmp_path / "made" / "for_it")
    path = table.path / "cases" / table["case_file"][0]
    record = json.loads(path.read_bytes())
    path.write_text(json.dumps(record | change))
    again = sweep(tmp_path / "made" / "for_it")
    assert again["sum"].tolist() == [2, 3, 4] and not again.failed
    assert json.loads(path.read_bytes())["results"] == record["results"]


def test_fewer_cases_make_a_shorter_table_and_lose_none(tmp_path):
    whole = sweep(tmp_path)
    text = table_of(tmp_path)
    sweep(tmp_path, cases={"a": [2]})
    assert table_of(tmp_path).count(b"\n") == 2
    assert sorted(p.name for p in (whole.path / "cases").iterdir()) == sorted(whole["case_file"])
    sweep(tmp_path)
    assert table_of(tmp_path) == text


def test_functions_that_do_not_return_their_results_are_refused(tmp_path):
    async def later(a):
        return {"x": a}

    def one_by_one(a):
        yield {"x": a}

    for function in (later, one_by_one):
        with pytest.raises(TypeError, match="neither async nor yield"):
            sweep(tmp_path, function)
    assert not (tmp_path / "sweep").exists()


def test_finished_cases_are_skipped_at_once(tmp_path):
    sweep(tmp_path, cases={"a": range(2)})
    one = json.loads(next((tmp_path / "sweep" / "cases").iterdir()).read_bytes())
    for case in study_cases.listed({"a": range(2000)}, add):
        text = json.dumps(one | {"parameters": case.parameters, "results": {"sum": 7}})
        (tmp_path / "sweep" / "cases" / case.file).write_text(text)
    start = time.process_time()
    assert sweep(tmp_path, cases={"a": range(2000)})["sum"].tolist() == [7] * 2000
    assert time.process_time() - start < 0.6  # so that 10,000 take less than 3 s; measured: 0.15


def test_other_threads_are_not_those_of_cases(monkeypatch):
    monkeypatch.delenv("MPM_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    place = workers.Place(mpm.__version__, mpm.config.isa(), True, "")

    def count(inner=False):
        with concurrent.futures.ThreadPoolExecutor(1) as other:
            return {"here": mpm.get_num_threads(), "there": other.submit(mpm.get_num_threads).result()}

    def run():
        return workers.calls.call(count, place, "", {})["results"]

    assert run() == {"here": 1, "there": 5} and mpm.get_num_threads() == 5
    monkeypatch.setenv("MPM_NUM_THREADS", "3")
    assert run()["here"] == 3
    other = workers.Place("0.0", mpm.config.isa(), True, "")
    assert "a worker has mpm" in workers.calls.call(count, other, "", {})["unfit"]


# --- the recipes of the how-to ---------------------------------------------------------------------------------------


@pytest.mark.source
@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe", ["study", "job", "long", "with_processes", "with_dask", "with_loky", "with_mpi"]
)
def test_recipes_make_the_same_table(recipe, tmp_path):
    scripts = re.findall(r"^```py\n# (\w+)\.py\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for name, text in scripts:
        (tmp_path / f"{name}.py").write_text(text)
    module = {"with_dask": "distributed", "with_loky": "loky", "with_mpi": "mpi4py"}.get(recipe, "mpm")
    start = [sys.executable]
    if module != "mpm":
        pytest.importorskip(module)
    if module == "mpi4py":
        if not (mpiexec := shutil.which("mpiexec")):
            pytest.skip("there is no mpiexec")
        start = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures"]
    parts = range(2) if recipe == "job" else range(1)
    for i in parts:
        environment = os.environ | {"SLURM_ARRAY_TASK_ID": f"{i}", "SLURM_ARRAY_TASK_COUNT": f"{len(parts)}"}
        subprocess.run([*start, f"{recipe}.py"], cwd=tmp_path, env=environment, check=True, timeout=120)
    if recipe == "long":
        rows = (tmp_path / "long" / "table.csv").read_text().splitlines()
        states = [*(tmp_path / "long" / "folders").glob("*/state.mpm")]
        assert len(rows) == 4 and len(states) == 3 and all(row.endswith(",,") for row in rows[1:])
        shutil.rmtree(tmp_path / "long" / "cases")  # as if the sweep had been killed between saves
        subprocess.run([*start, "long.py"], cwd=tmp_path, check=True, timeout=120)
        assert (tmp_path / "long" / "table.csv").read_text().splitlines() == rows
        return
    spec = importlib.util.spec_from_file_location("study", tmp_path / "study.py")
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    table = mpm.sweep(study.column, study.CASES, out=tmp_path / "own", part=(0, 1), progress=False)
    assert (tmp_path / "columns" / "table.csv").read_bytes() == (tmp_path / "own" / "table.csv").read_bytes()
    assert not table.failed and table["front"].min() > 0.19
