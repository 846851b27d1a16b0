"""Parameter sweeps: a function of many cases, a file per case, one table."""

from __future__ import annotations

import inspect
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from pathlib import Path

from mpm.base import _check, config
from mpm.base.interrupts import undisturbed
from mpm.study import calls
from mpm.study import cases as _cases
from mpm.study.calls import Place, Record
from mpm.study.cases import Case
from mpm.study.results import CASES, Results, SweepTable
from mpm.study.workers import IN_FLIGHT, Executor, Here, Pool, Runner

__all__ = ["SweepTable", "sweep"]

MOST_WORKERS = 100_000
LINE = 1.0  # s between two states of the line of progress in a terminal
LINES = 60.0  # the same in a file


@_check.options
def sweep(
    function: Callable[..., Mapping[str, object]],
    cases: Iterable[Mapping[str, object]] | Mapping[str, Sequence[object]],
    *,
    out: str | Path,
    executor: futures.Executor | None = None,
    workers: int | None = None,
    part: tuple[int, int] | None = None,
    retry: bool = False,
    progress: bool = True,
) -> SweepTable:
    """Call a function with the parameters of every case, in parallel, and make a table of what it returns.

    A finished case is kept in a file of its own, so a sweep that was stopped or killed goes on where it was: call it
    again. A case that raises, or whose process dies, is a row of the table with the error, and the others go on.

    Parameters
    ----------
    function : function
        ``function(**case)`` returns a dict of numbers and strings (or None) by name. If it has a parameter ``folder``,
        it gets the path of a folder of its own, which stays from call to call: for checkpoints of long cases, pictures
        and recordings. The default pool imports the function in other processes: it belongs into a module, or into a
        script that calls `sweep` below ``if __name__ == "__main__":``.
    cases : list of dicts, or dict of lists
        The parameters by name: numbers (NaN is none), strings, True, False, None, and lists, tuples and dicts of them.
        A dict of lists stands for all combinations, the last name varying fastest.
    out : path
        The folder of the sweep, new or from an earlier call; folders above it are made. It has ``table.csv`` with the
        cases of the last call alone (the results of other cases stay, and a call that lists these cases has their
        rows); ``cases``, with a JSON file per finished case: parameters, results, error with its traceback, seconds;
        ``folders``, those of the cases; and ``manifest.json``, which refuses results of another function, version or
        kernel set. A hash of the function's own source tells it from others: change ``out`` if something changes that
        it calls.
    executor : concurrent.futures.Executor, optional
        Runs the cases: a `ProcessPoolExecutor` or `ThreadPoolExecutor`, those of Dask, loky, mpi4py, … Default: a
        pool of processes of this machine, which survives the death of a worker: the case is run again after all
        others, alone, and fails if its process dies again.
    workers : int, optional
        Number of processes of the default pool; default: the processors that this process may use. With an executor,
        the number of cases that it has at a time, default 256; take more if it has more workers.
    part : (int, int), optional
        ``(i, n)`` runs the cases i, i + n, i + 2n, … alone, in this process, unless `executor` or `workers` is given:
        for n processes that know nothing of each other, such as an array of jobs. The part that finishes last writes
        the table, and so does a call without it.
    retry : bool, optional
        Run those cases again that have failed.
    progress : bool, optional
        Write the number of cases that have ended to stderr, from time to time.

    Returns
    -------
    SweepTable
        Parameters, results and errors by column, a row per case in their order. ``table.csv`` is the same: it has the
        same bytes whatever ran the cases, in whatever order, and however often the sweep was stopped. While cases of
        other parts are unfinished, it is not written.

    Raises
    ------
    TypeError, ValueError
        An argument is of the wrong type or out of its range; two cases are the same; the folder is not that of a
        sweep, or it has results of another function, version or kernel set.
    RuntimeError
        The executor does not run the cases, or a worker does not start or has another version or kernel set.
    OSError
        A file cannot be written. No case begins after that; when those that run have ended, they are tried again. The
        notes of the error have the results that were not written.

    Notes
    -----
    Simulations in cases that run beside each other have one thread by default (``threads=``, `set_num_threads` in
    their process and ``MPM_NUM_THREADS`` have precedence); results do not depend on it. Ctrl-C keeps what has ended
    and ends the default pool.
    """
    if not inspect.isfunction(function):
        raise _check.wrong_type(
            "function", function, "a function (def ...): its source is part of the results"
        )
    kinds = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(kind(function) for kind in kinds):
        raise TypeError(
            f"function = {_check.shown(function)}: must be a function that returns a dict of numbers and strings, with "
            "neither async nor yield"
        )
    own_folder = _cases.FOLDER in inspect.signature(function).parameters
    listed = _cases.listed(cases, function)
    if executor is not None and not isinstance(executor, futures.Executor):
        raise _check.wrong_type("executor", executor, "a concurrent.futures.Executor, or None")
    if workers is not None:
        workers = _check.integer("workers", workers, low=1, high=MOST_WORKERS)
    chosen = _chosen(part, listed)
    retry, shown = _check.flag("retry", retry), _check.flag("progress", progress)

    results = Results(out, function)
    present = results.present()
    records = {
        case.name: record
        for case in listed
        if case.file in present and (record := results.read(case)) and not (retry and record["error"])
    }
    todo = [case for case in chosen if case.name not in records]
    if todo:
        alone = part is not None and executor is None and workers is None
        place = Place(calls.version(), config.isa(), not alone, results.folders if own_folder else "")
        runner: Runner
        if alone:
            runner = Here(function, place)
        elif executor is not None:
            runner = Executor(function, place, executor, workers or IN_FLIGHT)
        else:
            runner = Pool(function, place, min(workers or config.available_processors(), len(todo)))
        earlier = [records[case.name] for case in chosen if case.name in records]
        failed = sum(record["error"] is not None for record in earlier)
        pace = _Pace(len(chosen), len(earlier), failed) if shown else None
        records |= _Keeping(results, pace).run(runner, todo)
    if part is not None and len(records) < len(listed):  # others may have ended meanwhile
        for case in listed:
            if case.name not in records and (record := results.read(case)):
                records[case.name] = record
    table = SweepTable(results.path, listed, records)
    if not table.unfinished:
        results.tabulate(table)
    return table


def _chosen(part: object, listed: list[Case]) -> list[Case]:
    if part is None:
        return listed
    if not isinstance(part, (tuple, list)) or len(part) != 2:
        raise _check.wrong_type("part", part, "two integers (i, n)")
    count = _check.integer("part[1]", part[1], low=1)
    return listed[_check.integer("part[0]", part[0], low=0, high=count - 1) :: count]


class _Keeping:
    """Writes records as they come; keeps those that the disk does not take."""

    def __init__(self, results: Results, pace: _Pace | None) -> None:
        self._results, self._pace = results, pace
        self._records: dict[str, Record] = {}
        self._unwritten: list[tuple[Case, Record]] = []
        self._error: OSError | None = None

    def run(self, runner: Runner, todo: Sequence[Case]) -> dict[str, Record]:
        """Run cases and return their records by the names of the cases."""
        try:
            try:
                for case, record in runner.run(self._left(todo)):
                    self._keep(case, record)
            except BaseException:
                for case, record in runner.arrived():
                    self._keep(case, record)
                raise
            finally:
                runner.close()
        finally:
            if self._pace:
                self._pace.close()
            self._write_again()
        return self._records

    def _left(self, todo: Sequence[Case]) -> Iterator[Case]:
        """The cases one by one, until something cannot be written."""
        for case in todo:
            if self._error is not None:
                return
            yield case

    def _keep(self, case: Case, record: Record) -> None:
        if calls.UNFIT in record:
            raise RuntimeError(f"executor: {record[calls.UNFIT]}")
        try:
            undisturbed(lambda: self._results.write(case, record))
        except OSError as error:
            if self._error is None:
                warnings.warn(
                    f"{error}: no case of the sweep begins any more; those that run are waited for",
                    RuntimeWarning,
                    stacklevel=_check.levels_to_caller(),
                )
            self._error = error
            self._unwritten.append((case, record))
            return
        self._records[case.name] = record
        if self._pace:
            self._pace.count(failed=record["error"] is not None)

    def _write_again(self) -> None:
        """Try the unwritten records once more; raise the OSError, which takes those along that are left."""
        left = []
        for case, record in self._unwritten:
            try:
                self._results.write(case, record)
            except OSError:
                left.append((case, record))
        if self._error is None:
            return
        where = self._results.path / CASES
        self._error.add_note(
            f"The sweep has ended early: call it again. {len(self._records)} cases of this call are kept in {where}, "
            f"and {len(self._unwritten) - len(left)} that were written at the second attempt."
        )
        for case, record in left:
            text = json.dumps({"parameters": case.parameters, **record})
            self._error.add_note(f"not written: {where / case.file}: {text}")
        raise self._error


class _Pace:
    """A line on stderr: how many cases have ended."""

    def __init__(self, total: int, before: int, failed: int) -> None:
        self._total, self._ended, self._failed, self._before = total, before, failed, before
        self._start = self._last = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._width = 0

    def count(self, failed: bool) -> None:
        """A case has ended."""
        self._ended += 1
        self._failed += failed
        now = time.monotonic()
        if now - self._last >= (LINE if self._terminal else LINES):
            self._last = now
            self._write("\r" if self._terminal else "\n")

    def close(self) -> None:
        """The last line."""
        self._write("\n")

    def _write(self, end: str) -> None:
        text = f"mpm.sweep: {self._ended} of {self._total} cases in {time.monotonic() - self._start:.0f} s"
        text += f", {self._before} of them earlier" * bool(self._before) + f", {self._failed} failed" * bool(
            self._failed
        )
        self._width = max(self._width, len(text))
        sys.stderr.write(f"{text:<{self._width}}{end}")
        sys.stderr.flush()
