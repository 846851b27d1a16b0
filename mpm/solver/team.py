"""The processes that run one simulation together, by mpi4py."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from mpm.base import _check, interrupts, memory
from mpm.errors import SimulationError
from mpm.sampling.sharing import Sharers

PIECE = 2**30  # bytes of a message at most: counts of MPI may have 32 bits
NAMED = 8  # processes in an error
BEGINNING = "the beginning of a run"
END = "the end of a run"
Action: TypeAlias = Callable[[], None]
T = TypeVar("T")
K = TypeVar("K")
_key: list[int] = []  # of the attribute of a communicator that is its duplicate


class Joining(Protocol):
    """A core whose next runs may be those of a team."""

    def join_team(self, team: Team, processes: int, process: int) -> None:
        """Let later runs sweep the tasks of one process, and call the team's functions."""

    def leave_team(self) -> None:
        """Let later runs sweep all tasks."""

    def failing_process(self) -> int:
        """The process whose own failure has ended the run; -1: none."""

    def holder(self, row: int, /) -> int:
        """The process that moves a particle; -1: none."""

    def field(self, name: str) -> Any:
        """A field of the particles; its method `copy` returns its bytes."""


class Apart(RuntimeError):
    """Processes make different calls. All raise it at the same one, and nobody tells the others."""


class Team:
    """The processes of a communicator, as one of them sees them.

    The core calls `exchange`, `reduce` and `answer` during a run, with the memory of its own arrays: Python moves bytes
    and computes nothing. All processes make the same calls in the same order.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        Messages go through a duplicate, of which a communicator has one.
    """

    __slots__ = (
        "_answer",
        "_failing",
        "_mpi",
        "_open",
        "_own",
        "_past",
        "comm",
        "memory",
        "messages",
        "process",
        "processes",
        "reduced",
        "reductions",
        "sent",
        "threads",
    )

    def __init__(self, comm: Any) -> None:
        wrong = _check.wrong_type("comm", comm, "an mpi4py communicator, such as MPI.COMM_WORLD")
        if not hasattr(comm, "Get_rank"):
            raise wrong
        self._mpi = _check.extra("mpi4py.MPI", "comm needs mpi4py", "mpi", "mpi4py")
        if not isinstance(comm, self._mpi.Intracomm) or comm == self._mpi.COMM_NULL:
            raise wrong
        self.comm = comm
        self.process: int = comm.rank
        self.processes: int = comm.size
        self._own = _duplicate(self._mpi, comm)
        self._answer: Action = _nothing
        self._failing = -1  # the process whose failure has ended the last run of the core
        self._open: list[str] = []  # the meetings to which this process will come, the outermost first
        self._past: tuple[str, BaseException] | None = None  # one of them that is over: others have met there
        # Here, as a copy of a simulation asks no other process.
        self.threads, self.memory = self._share_of_machine()
        self.sent = self.messages = self.reduced = self.reductions = 0  # bytes and calls

    # ---- what the core calls -----------------------------------------------------------------------------

    def exchange(self, messages: list[tuple[int, memoryview, memoryview]]) -> None:
        """Send and receive one message per process; sizes are known to both."""
        requests = []
        for process, _, coming in messages:
            for at in range(0, len(coming), PIECE):
                requests.append(self._own.Irecv([coming[at : at + PIECE], self._mpi.BYTE], process))
        for process, going, _ in messages:
            for at in range(0, len(going), PIECE):
                requests.append(self._own.Isend([going[at : at + PIECE], self._mpi.BYTE], process))
            self.sent += len(going)
            self.messages += len(going) > 0
        self._mpi.Request.Waitall(requests)

    def reduce(self, sums: memoryview, most: memoryview) -> None:
        """Replace integers by their sums and maxima over the processes."""
        kind = self._mpi.INT64_T
        if len(sums):
            self._own.Allreduce(self._mpi.IN_PLACE, [sums, kind], self._mpi.SUM)
        if len(most):
            self._own.Allreduce(self._mpi.IN_PLACE, [most, kind], self._mpi.MAX)
        self.reduced += len(sums) + len(most)
        self.reductions += 1

    def answer(self) -> None:
        """Call the handlers of signals that have come during the run; they may raise."""
        self._answer()

    # ---- what the Python layer calls ---------------------------------------------------------------------

    def run(self, hold: Callable[[Action], None], check: Action, run: Action) -> None:
        """Call `check` and `run` in all processes, while each holds its core. What one process raises, all raise."""
        entered = False

        def both() -> None:
            nonlocal entered
            entered = True
            check()
            run()

        error: BaseException | None = None
        try:
            with self._coming_to(END):
                self.undisturbed(lambda: hold(both))
        except Apart:
            raise
        except BaseException as raised:
            error = raised
        if not entered:  # the others are in `check`
            with contextlib.suppress(BaseException):
                self._meet(BEGINNING, error)
        self._meet(END, error)

    def undisturbed(self, action: Action) -> None:
        """Call `action`; handlers of signals are called when `answer` is, or after it.

        An exception of theirs between two meetings would leave the other processes waiting.
        """

        def answered(answer: Action) -> None:
            before = self._answer

            def all_of_them() -> None:
                answer()  # those of an outer call note the signal
                before()

            self._answer = all_of_them
            try:
                action()
            finally:
                self._answer = before

        interrupts.answered(answered)

    def told(self, find: Callable[[], K], name: str = BEGINNING) -> list[K]:
        """What `find` returns in every process that comes to `name`; what one of them raises, all raise."""
        error: BaseException | None = None
        found: K | None = None
        try:
            with self._coming_to(name):
                found = find()
        except BaseException as raised:
            error = raised
        return cast("list[K]", self._meet(name, error, found))

    def compare(self, find: Callable[[], object]) -> None:
        """Raise a RuntimeError unless all processes find the same."""
        if others := _unlike(self.told(find)):
            raise RuntimeError(
                f"comm: the simulation of the MPI processes of rank {others} differs from that of rank 0. All of them "
                "must make the same one, and add, delete, write and set the same between runs"
            )

    def require_same(self, what: str, value: object) -> None:
        """Raise a RuntimeError unless all processes have this value of an argument."""
        if others := _unlike(self.told(lambda: value, what)):
            raise RuntimeError(
                f"comm: {what} of the MPI processes of rank {others} differs from that of rank 0. All of them must "
                "make the same calls with the same arguments"
            )

    def compare_calls(self, told: list[object]) -> None:
        """Raise a RuntimeError unless what all processes have told of a call is the same."""
        if others := _unlike(told):
            raise RuntimeError(
                f"comm: the MPI processes of rank {others} run to another time, step, callback or frame than that of "
                "rank 0. All of them must make the same calls with the same arguments"
            )

    def joined(self, core: Joining, action: Action) -> None:
        """Call `action`, one run of the core, with the other processes."""
        core.join_team(self, self.processes, self.process)
        try:
            with self.noting(core):
                action()
        except SimulationError as error:
            for note in _whereabouts(core, error.rows):
                error.add_note(note)
            raise
        finally:
            core.leave_team()

    @contextlib.contextmanager
    def noting(self, core: Any) -> Iterator[None]:
        """Within it the core calls others; note whose failure has ended that."""
        try:
            yield
        except SimulationError:
            raise
        except BaseException:
            self._failing = core.failing_process()
            raise

    def together(self, name: str, action: Callable[[], T]) -> T:
        """What `action` returns; what one process raises, all raise. Its name is the same in all of them."""
        found: list[T] = []
        error: BaseException | None = None
        try:
            self._answer()
            with self._coming_to(name):
                found.append(action())
        except Apart:
            raise
        except BaseException as raised:
            error = raised
        self._meet(name, error)
        return found[0]

    def meet(self, name: str, key: object = None) -> None:
        """Wait for all processes, which must have come to the same, and with the same key: that of arguments."""
        if others := _unlike(self._meet(name, None, key)):
            raise RuntimeError(
                f"comm: {name} has other arguments in the MPI processes of rank {others} than in that of rank 0. All "
                "of them must make the same calls with the same arguments"
            )

    def on_first(self, name: str, action: Action) -> None:
        """Call `action` in process 0 alone, for files; all wait for it, and raise what it raises."""
        self.together(name, action if self.process == 0 else _nothing)

    def number_of(self, process: int, number: float) -> float:
        """The number that a process has."""
        return float(interrupts.undisturbed(lambda: self._communicator().bcast(number, process)))

    def sharers(self, name: str) -> Sharers:
        """The processes, for work that they share between runs."""
        return _Sharers(self, name)

    def _communicator(self) -> Any:
        """The one of the team, unless it has ended. All processes free a communicator together."""
        if self._mpi.Is_finalized() or self._own == self._mpi.COMM_NULL:
            raise RuntimeError(
                "comm: the communicator has been freed, or MPI has ended, so the simulation cannot run; "
                "keep the communicator as long as it is to run"
            )
        return self._own

    @contextlib.contextmanager
    def _coming_to(self, name: str) -> Iterator[None]:
        self._open.append(name)
        try:
            yield
        finally:
            self._open.pop()

    def _meet(self, name: str, error: BaseException | None, key: object = None) -> list[object]:
        """The keys of all processes, unless one has an error: then each raises its own one, or that of the first.

        A process with an error has left what it did within a meeting, where others may still meet. They learn of the
        error there, and come to no meeting any more up to this one, which is over.
        """
        if self._past is not None:
            over, past = self._past
            if over == name:
                self._past = None
            raise past
        told = interrupts.undisturbed(lambda: self._communicator().allgather((name, _portable(error), key)))
        errors: dict[int, BaseException] = {
            process: one for process, (_, one, _) in enumerate(told) if one is not None
        }
        for process, (other, *_) in enumerate(told):
            if other != told[0][0] and not errors:  # an error may have kept a process from coming to the same
                raise Apart(
                    f"comm: the MPI process of rank 0 has come to {told[0][0]}, and that of rank {process} to {other}. "
                    "All of them must make the same calls with the same arguments"
                )
        first, self._failing = self._failing, -1
        if errors and (first in errors or len(errors) < self.processes):
            first = first if first in errors else min(errors)
            if error is None or first not in (-1, self.process):
                error = errors[first]
            error.add_note(f"It comes from the MPI process of rank {first}.")
            left = {told[process][0] for process in errors}
            there = next((one for one in self._open if one in left), None)
            self._past = None if there is None else (there, error)
        if error is not None:
            raise error
        return [key for *_, key in told]

    def _share_of_machine(self) -> tuple[int, float]:
        """The processors of this machine, and the memory of the machine that has least [bytes], shared out among the
        processes on it."""
        here = self.comm.Split_type(self._mpi.COMM_TYPE_SHARED)
        try:
            allowed = here.allgather(_processors())
        finally:
            here.Free()
        least = min(self._own.allgather(memory.available() / len(allowed)))
        return max(1, len(frozenset().union(*allowed)) // len(allowed)), least


class _Sharers:
    """See `mpm.sampling.sharing.Sharers`."""

    def __init__(self, team: Team, name: str) -> None:
        self._team, self._name = team, name
        self.process, self.processes = team.process, team.processes

    def told(self, find: Callable[[], K]) -> list[K]:
        return self._team.told(find, self._name)


def team_of(comm: Any, distributed: object) -> Team | None:
    """The team of the arguments of a simulation."""
    if _check.flag("distributed", distributed) and comm is None:
        raise ValueError("distributed = True: needs comm=, the MPI processes that have the particles")
    if comm is None:
        return None
    team = Team(comm)
    team.require_same("distributed", distributed)  # the others would wait for those that share particles
    return team


def room_of(team: Team | None, distributed: bool) -> memory.Room:
    """The memory of a process of a team for particles: for all of them, or for a share."""
    if team is None or team.processes == 1:
        return memory.MACHINE
    return memory.Room(team.memory, 1 / team.processes if distributed else 1)


def _nothing() -> None:
    pass


def _whereabouts(core: Joining, rows: list[int]) -> Iterator[str]:
    """Which processes move particles with these rows, as far as they are named."""
    if not rows:
        return
    ids = np.frombuffer(core.field("id").copy()[0], np.int64)
    holders = {row: core.holder(row) for row in rows[:NAMED]}
    for process in sorted({*holders.values()} - {-1}):
        own = [row for row, holder in holders.items() if holder == process]
        yield (
            f"The MPI process of rank {process} moves the particles with the rows {', '.join(map(str, own))} and the "
            f"ids {', '.join(str(ids[row]) for row in own)}."
        )


def _unlike(told: list[object]) -> str:
    """The processes that have told something else than the first; empty if there is none."""
    others = [process for process, one in enumerate(told) if one != told[0]]
    return ", ".join(map(str, others[:NAMED])) + ", …" * (len(others) > NAMED)


def _processors() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def _portable(error: BaseException | None) -> BaseException | None:
    """An exception that can travel: another one with its text, if it cannot be pickled."""
    if error is None:
        return None
    try:
        same = pickle.loads(pickle.dumps(error))
        return same if isinstance(same, BaseException) else RuntimeError(repr(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")


def _duplicate(mpi: Any, comm: Any) -> Any:
    """The duplicate of a communicator for the messages of simulations. It goes with the communicator."""
    if not _key:
        _key.append(mpi.Comm.Create_keyval(delete_fn=lambda comm, key, own: own.Free()))
    own = comm.Get_attr(_key[0])
    if own is None:
        own = comm.Dup()
        comm.Set_attr(_key[0], own)
    return own
