"""Checkpoints: the snapshot of a solver in a file, and out of it again."""

from __future__ import annotations

import collections
import contextlib
import importlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from mpm.base import _check, config, files, paths
from mpm.base.streamed import Given
from mpm.errors import FileFormatError
from mpm.io import container
from mpm.io.description import Lost, Tree, understood
from mpm.materials import UserLaw
from mpm.scene.loads import with_functions
from mpm.scene.scene import BodyForce, Scene
from mpm.solver.keeping import OWN, SOLVERS, Keepable
from mpm.solver.team import team_of

__all__ = ["dumps", "load", "loads", "save"]

SHARED_PIECE = 1 << 20  # bytes that a process reads at a time, if it keeps some of the particles alone

T = TypeVar("T")


def save(solver: Keepable, path: str | os.PathLike[str]) -> None:
    """See `Solver.save`."""
    name = _named(path)
    solver._with_snapshot(lambda kept: files.replace(name, _pieces(solver, kept)))


def skip(solver: Keepable) -> None:
    """Take part in a `save` of another process, which gets the particles of this one."""
    solver._with_snapshot(lambda kept: collections.deque(_pieces(solver, kept), maxlen=0))


@_check.options
def load(
    path: str | os.PathLike[str],
    *,
    threads: int | None = None,
    device: str = "cpu",
    body_force: BodyForce | None = None,
    laws: Mapping[str, UserLaw] | None = None,
    loads: Mapping[str, Callable[..., Any] | Mapping[str, Callable[..., Any]]] | None = None,
    comm: Any = None,
    distributed: bool = False,
) -> Any:
    """Read a simulation that `Simulation.save` has written.

    It goes on bit for bit as the one that was saved, with any number of threads; with other kernels (``MPM_ISA``) or
    on another processor it is the same state, but round-off may differ from there on. Nothing in a file is executed.

    Parameters
    ----------
    path : str or path
        Of the file.
    threads : int, optional
        Default as for a new `Simulation`.
    device : {"cpu", "cuda", "cuda:1", …}
        Where steps run, wherever they ran before.
    body_force : callable, optional
        The scene's `body_force`, which a file cannot keep; without it the simulation can be looked at, but not run.
        None if the scene has none.
    laws : mapping of str to UserLaw, optional
        The laws of users (`mpm.materials.UserLaw`) by name, which a file cannot keep. Their functions are taken;
        numbers come from the file.
    loads : mapping of str to callable, or to mapping of str to callable, optional
        The functions of loads and held regions (`Scene.add_force`, `Scene.add_traction`, `Scene.hold`) by the name of
        the load, likewise: that of the time, or ``{"velocity": f, "where": g}`` by argument. The state has what
        `where` chose; only another simulation of this scene calls it again.
    comm : mpi4py.MPI.Intracomm, optional
        Run on with the other MPI processes of this communicator, of any number, as in `Simulation`. Every process reads
        the file.
    distributed : bool
        With `comm`: each process keeps the particles of its own tasks alone, as in `Simulation`, whether the simulation
        that was saved did or not.

    Returns
    -------
    Simulation
        Equal to the one that was saved. Its scene stands for functions, of which a file keeps the name only, by
        objects that raise when they are called. A file of another `mpm.solver.Solver` gives one of that class, which
        must have been imported.

    Raises
    ------
    FileFormatError
        It is not a checkpoint, of a later version of the format, truncated or damaged.
    OSError
        It cannot be read.
    TypeError, ValueError
        An argument is of the wrong type or range, or the file needs a law that `laws` lacks.
    NotImplementedError
        The simulation cannot run in several processes, or not with memory distributed over them.
    """
    name = _named(path)
    if threads is not None:
        threads = _check.integer("threads", threads, low=1, high=config.MAX_THREADS)
    if not (body_force is None or callable(body_force)):
        raise _check.wrong_type("body_force", body_force, "a callable f(x, t)")
    team, taken = team_of(comm, distributed), (_laws(laws), _functions(loads))

    def together(what: str, call: Callable[[], T]) -> T:
        """What the call returns; what it raises in one process, all raise."""
        return _of_file(name, call) if team is None else team.together(what, lambda: _of_file(name, call))

    with contextlib.ExitStack() as stack:

        def read() -> tuple[bytes, tuple[type[Keepable], Any]]:
            size, part = stack.enter_context(files.opened(name))
            kept = container.read(size, part, SHARED_PIECE if distributed else None)
            digest = bytes(part(size - container.DIGEST, container.DIGEST))
            return digest, _kept(*kept, body_force, *taken, device)

        digest, (solver, kept) = together("reading a file", read)
        if team is not None:
            team.require_same("the file", digest)
        if team is not None and distributed:
            return together(
                "load", lambda: understood("the state", lambda: solver._shared(kept, threads, team))
            )
        made: Any = together("load", lambda: understood("the state", lambda: solver._of(kept, threads)))
    made._join(team)
    return made


def _of_file(name: str, call: Callable[[], T]) -> T:
    """What the call returns; errors of the format name the file."""
    try:
        return call()
    except FileFormatError as error:
        raise FileFormatError(f"{name!r} {error}") from error


def _named(path: object) -> str:
    if isinstance(path, str) and not path:
        raise ValueError(f"path = {path!r}: must name a file")
    return str(paths.as_path("path", path))


def dumps(solver: Keepable) -> bytes:
    """The bytes of a checkpoint."""
    return solver._with_snapshot(lambda kept: b"".join(_pieces(solver, kept)))


def _pieces(solver: Keepable, kept: Any) -> Iterator[bytes | memoryview]:
    """The bytes of a checkpoint, piece by piece."""
    tree, arrays = solver._format().describe(kept)
    return container.pack({"kind": solver._kind, **tree}, arrays)


def _laws(given: object) -> Mapping[str, UserLaw]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise _check.wrong_type("laws", given, "a mapping of names to mpm.materials.UserLaw")
    for name, law in given.items():
        if not isinstance(law, UserLaw):
            raise _check.wrong_type(f"laws[{name!r}]", law, "an mpm.materials.UserLaw")
    return given


def _described_laws(tree: Any) -> Iterator[dict[str, Any]]:
    """The descriptions of users' laws in a tree."""
    if isinstance(tree, dict) and tree.get("material") == "UserLaw":
        yield tree
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _described_laws(part)


def _bring_back(tree: Any, laws: Mapping[str, UserLaw]) -> None:
    """Put users' laws where a tree describes them; a ValueError if there are others."""
    needed = set()
    for found in _described_laws(tree):
        found.pop("law", None)
        name = str(found.get("name"))
        needed.add(name)
        if name not in laws:
            raise ValueError(
                f"laws: the simulation needs the law {_check.shown(name)}, which a file cannot keep: "
                f"mpm.load(path, laws={{{_check.shown(name)}: law}}) with the UserLaw that it was made with"
            )
        own = laws[name]._described()
        for what in ("history", "advance"):
            if found.get(what) != own[what]:
                raise ValueError(f"laws[{name!r}]: has another {what} than the law of the file")
        found["law"] = laws[name]
    for name in laws:
        if name not in needed:
            raise ValueError(f"laws: the simulation has no law {_check.shown(name)}")


def _functions(given: object) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise _check.wrong_type("loads", given, "a mapping of names to functions")
    for name, function in given.items():
        if isinstance(function, Mapping):
            for what, one in function.items():
                if not callable(one):
                    raise _check.wrong_type(f"loads[{name!r}][{what!r}]", one, "a callable")
        elif not callable(function):
            raise _check.wrong_type(
                f"loads[{name!r}]", function, "a callable, or a mapping of arguments to callables"
            )
    return given


def _put_functions(scene: Scene, functions: Mapping[str, Any]) -> None:
    """Give the loads of a scene their functions."""
    for name, function in functions.items():
        if name not in [load.name for load in scene.loads]:
            raise ValueError(f"loads: the simulation has no load {_check.shown(name)}")
        if not isinstance(function, Lost):
            scene._loads = [
                with_functions(load, function) if load.name == name else load for load in scene._loads
            ]


def loads(
    data: bytes,
    threads: int | None = None,
    body_force: BodyForce | None = None,
    laws: Mapping[str, UserLaw] | None = None,
    functions: Mapping[str, Any] | None = None,
    device: str = "cpu",
) -> Any:
    """The solver of which these are the bytes; `functions` of its loads. Pickles call it."""
    solver, kept = _kept(*container.unpack(data), body_force, laws or {}, functions, device)
    return understood("the state", lambda: solver._of(kept, threads))


def _kept(
    tree: Tree,
    arrays: Mapping[str, Given],
    body_force: BodyForce | None,
    laws: Mapping[str, UserLaw],
    functions: Mapping[str, Any] | None,
    device: str,
) -> tuple[type[Keepable], Any]:
    """The kind of solver that a container holds, and its snapshot."""
    _bring_back(tree, laws)
    if (kind := tree.get("kind")) in [*OWN]:
        importlib.import_module(OWN[kind])
    if kind not in [*SOLVERS]:
        raise FileFormatError(f"holds a {_check.shown(kind)}, not a {' or a '.join(SOLVERS)}")
    solver = SOLVERS[kind]
    kept = understood("the state", lambda: solver._format().restore(tree, arrays))
    if body_force is not None and not isinstance(body_force, Lost):
        if kept.scene.body_force is None:
            raise ValueError(f"body_force = {_check.shown(body_force)}: must be None: the scene has none")
        kept.scene._body_force = body_force
    _put_functions(kept.scene, functions or {})
    if device != "cpu":
        kept = solver._moved(kept, device)
    return solver, kept
