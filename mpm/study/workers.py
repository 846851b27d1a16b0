"""Who runs the cases of a sweep: this process, a pool that survives its workers, or an executor.

Each runner yields the records of cases as they come. `arrived` has those that came before an interrupt.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import queue
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent import futures
from multiprocessing import connection
from typing import Any, Protocol

from mpm.base import _check, config
from mpm.base.interrupts import undisturbed
from mpm.study import calls
from mpm.study.calls import Place, Record
from mpm.study.cases import Case

Arrival = tuple[Case, Record]
Function = Callable[..., Any]

IN_FLIGHT = 256  # cases that an executor has at a time
JOIN = 5.0  # s that a worker has to end after a signal
# What an executor raises of a case that never began: a function or a worker that pickle or import does not know.
NOT_BEGUN = (pickle.PicklingError, AttributeError, TypeError, ImportError, EOFError)
INSTEAD = (
    "put the function into a module, or into a script that calls mpm.sweep below `if __name__ == '__main__':`, or run "
    "the cases in threads: executor=concurrent.futures.ThreadPoolExecutor(n)"
)


class Runner(Protocol):
    """Runs cases."""

    def run(self, cases: Iterator[Case]) -> Iterator[Arrival]:
        """Run cases, and yield each when it has ended."""

    def arrived(self) -> Iterator[Arrival]:
        """After an interrupt: what had come already."""

    def close(self) -> None:
        """End what runs."""


class Here:
    """This process runs one case after the other."""

    def __init__(self, function: Function, place: Place) -> None:
        self._function, self._place = function, place

    def run(self, cases: Iterator[Case]) -> Iterator[Arrival]:
        for case in cases:
            yield case, calls.call(self._function, self._place, case.name, case.parameters)

    def arrived(self) -> Iterator[Arrival]:
        return iter(())

    def close(self) -> None:
        pass


class Executor:
    """An executor of the user's, which stays open.

    Parameters
    ----------
    function, place
    executor : concurrent.futures.Executor
    most : int
        Number of cases that it has at a time.
    """

    def __init__(self, function: Function, place: Place, executor: futures.Executor, most: int) -> None:
        self._function, self._place, self._executor, self._most = function, place, executor, most
        self._ended: queue.SimpleQueue[futures.Future[Record]] = queue.SimpleQueue()
        self._pending: dict[futures.Future[Record], Case] = {}

    def run(self, cases: Iterator[Case]) -> Iterator[Arrival]:
        self._submit(cases, self._most)
        while self._pending:
            future = self._ended.get()
            self._submit(cases, 1)
            yield self._taken(future)

    def _submit(self, cases: Iterator[Case], count: int) -> None:
        for _, case in zip(range(count), cases, strict=False):
            try:
                future = self._executor.submit(
                    calls.call, self._function, self._place, case.name, case.parameters
                )
            except RuntimeError as error:  # a pool that is broken or shut down, too
                raise self._useless(error) from error
            self._pending[future] = case
            future.add_done_callback(self._ended.put)

    def _taken(self, future: futures.Future[Record]) -> Arrival:
        case = self._pending.pop(future)
        try:
            return case, future.result()
        except KeyboardInterrupt:
            raise
        except (futures.BrokenExecutor, futures.CancelledError, *NOT_BEGUN) as error:
            raise self._useless(error) from error
        except BaseException as error:  # a scheduler gave this case up, as Dask does after three deaths
            return case, calls.failed(type(error).__name__, str(error))

    def _useless(self, error: BaseException) -> RuntimeError:
        return RuntimeError(
            f"executor: {type(error).__name__}: {_check.shortened(str(error))}: it does not run the cases. Those that "
            "have ended are kept: call mpm.sweep again, with a new executor or without one"
        )

    def arrived(self) -> Iterator[Arrival]:
        for future in [future for future in self._pending if not future.cancel() and future.done()]:
            if not future.cancelled() and future.exception() is None:
                yield self._pending.pop(future), future.result()

    def close(self) -> None:
        for future in self._pending:
            future.cancel()


class _Worker:
    """A process that gets cases through a pipe and returns records, one at a time."""

    def __init__(self, context: Any, function: bytes, place: Place, threads: int) -> None:
        self.case: Case | None = None
        self.has_begun = False
        self.pipe, other = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(other, function, place, threads), name="mpm sweep", daemon=True
        )
        try:
            self.process.start()
        except BaseException:
            self.pipe.close()
            raise
        finally:
            other.close()

    def give(self, case: Case) -> None:
        self.case = case
        with contextlib.suppress(OSError):  # it has died; its sentinel tells
            self.pipe.send((case.name, case.parameters))

    def end(self) -> int | None:
        """End it now; returns its exit code."""
        self.pipe.close()
        self.process.join(0)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join(JOIN)
        return self.process.exitcode  # type: ignore[no-any-return]


class Pool:
    """Processes of this machine, each with one case at a time. One that dies takes nothing along: its case is run again
    after all others, alone, and if the process dies again the case has failed.

    Parameters
    ----------
    function, place
    count : int
        Number of processes.
    """

    def __init__(self, function: Function, place: Place, count: int) -> None:
        try:
            self._function = pickle.dumps(function)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise TypeError(f"function: worker processes cannot import it ({error}): {INSTEAD}") from None
        if getattr(multiprocessing.process.current_process(), "_inheriting", False):
            raise RuntimeError(  # as that of multiprocessing
                "mpm.sweep was called while a worker process imported the script: put the call below "
                "`if __name__ == '__main__':`"
            )
        self._context = multiprocessing.get_context("forkserver")
        self._place, self._count = place, count
        self._workers: list[_Worker] = []

    def run(self, cases: Iterator[Case]) -> Iterator[Arrival]:
        again: list[Case] = []
        for case, record in self._run(cases, self._count):
            if isinstance(record, int):
                again.append(case)
            else:
                yield case, record
        for case, record in self._run(iter(again), 1):
            yield case, calls.died(record) if isinstance(record, int) else record

    def _run(self, cases: Iterator[Case], count: int) -> Iterator[tuple[Case, Record | int]]:
        """Records, or the exit codes of processes that died."""
        waiting: deque[Case] = deque()

        def more() -> bool:
            if not waiting:
                waiting.extend(case for _, case in zip(range(1), cases, strict=False))
            return bool(waiting)

        while True:
            idle = [worker for worker in self._workers if worker.case is None]
            while len(self._workers) - len(idle) < count and more():
                worker = idle.pop() if idle else self._start()
                worker.give(waiting.popleft())
            busy = [worker for worker in self._workers if worker.case is not None]
            if not busy:
                return
            for worker in self._ready(busy):
                case, (alive, record) = worker.case, self._received(worker)
                assert case is not None
                if not alive:
                    yield case, self._buried(worker)
                elif record is not None:
                    worker.case = None
                    yield case, record

    @staticmethod
    def _ready(busy: list[_Worker]) -> list[_Worker]:
        """Those that have sent something or died. A pipe may stay open: a process of the function's may hold it."""
        ready = connection.wait([end for worker in busy for end in (worker.pipe, worker.process.sentinel)])
        return [worker for worker in busy if worker.pipe in ready or worker.process.sentinel in ready]

    @staticmethod
    def _received(worker: _Worker) -> tuple[bool, Any]:
        """Whether a worker that is ready lives, and the record that it has sent, or None."""
        try:
            if not worker.pipe.poll():
                return False, None
            message = undisturbed(worker.pipe.recv)
        except (EOFError, OSError):
            return False, None
        if not worker.has_begun:  # its first message is what has hindered it
            if message:
                raise TypeError(f"function: worker processes cannot import it ({message}): {INSTEAD}")
            worker.has_begun = True
            return True, None
        name, record = (
            message  # a process that the function has forked, and that came back, says its name, too
        )
        return True, record if worker.case and name == worker.case.name else None

    def _buried(self, worker: _Worker) -> int:
        """The exit code of a worker that has died in a case."""
        self._workers.remove(worker)
        code = worker.end()
        if not worker.has_begun:
            raise RuntimeError(
                f"function: a worker process ended before its first case (exit code {code}), see "
                f"its output: {INSTEAD}"
            )
        return code or 0

    def _start(self) -> _Worker:
        worker = _Worker(self._context, self._function, self._place, config.chosen_threads() or 1)
        self._workers.append(worker)
        return worker

    def arrived(self) -> Iterator[Arrival]:
        for worker in self._workers:
            if (
                worker.case is not None
                and worker.has_begun
                and (record := self._received(worker)[1]) is not None
            ):
                yield worker.case, record

    def close(self) -> None:
        for worker in self._workers:
            worker.end()
        self._workers.clear()


def _serve(pipe: connection.Connection, function: bytes, place: Place, threads: int) -> None:
    """The life of a worker: it ends with its parent, and leaves Ctrl-C to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, daemon=True).start()
    try:
        own = pickle.loads(function)
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")
        return
    config.adopt(isa=place.isa, threads=threads)
    pipe.send("")
    with contextlib.suppress(EOFError, OSError):
        while True:
            name, parameters = pipe.recv()
            pipe.send((name, calls.call(own, place, name, parameters)))


def _follow() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
