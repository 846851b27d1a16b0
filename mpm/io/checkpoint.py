"""Checkpoints: the snapshot of a solver in a file, and out of it again."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Any

from mpm import _check, config
from mpm.errors import FileFormatError
from mpm.io import container, files
from mpm.io.description import Lost, understood
from mpm.keeping import OWN, SOLVERS, Keepable
from mpm.scene import BodyForce

__all__ = ["dumps", "load", "loads", "save"]


def save(solver: Keepable, path: str | os.PathLike[str]) -> None:
    """See `Solver.save`."""
    files.replace(_named(path), pieces(solver))


@_check.options
def load(
    path: str | os.PathLike[str], *, threads: int | None = None, body_force: BodyForce | None = None
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
    body_force : callable, optional
        The scene's `body_force`, which a file cannot keep; without it the simulation can be looked at, but not run.
        None if the scene has none.

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
        An argument is of the wrong type or range.
    """
    name = _named(path)
    if threads is not None:
        threads = _check.integer("threads", threads, low=1, high=config.MAX_THREADS)
    if not (body_force is None or callable(body_force)):
        raise _check.wrong_type("body_force", body_force, "a callable f(x, t)")
    try:
        return loads(files.read(name), threads, body_force)
    except FileFormatError as error:
        raise FileFormatError(f"{name!r} {error}") from error


def _named(path: object) -> str | bytes:
    if not isinstance(path, (str, os.PathLike)):
        raise _check.wrong_type("path", path, "a path")
    name: str | bytes = os.fspath(path)
    if not name:
        raise ValueError(f"path = {path!r}: must name a file")
    return name


def dumps(solver: Keepable) -> bytes:
    """The bytes of a checkpoint."""
    return b"".join(pieces(solver))


def pieces(solver: Keepable) -> Iterator[bytes | memoryview]:
    """The bytes of a checkpoint, piece by piece."""
    tree, arrays = solver._format().describe(solver._snapshot())
    return container.pack({"kind": solver._kind, **tree}, arrays)


def loads(data: bytes, threads: int | None = None, body_force: BodyForce | None = None) -> Any:
    """The solver of which these are the bytes."""
    tree, arrays = container.unpack(data)
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
    return understood("the state", lambda: solver._of(kept, threads))
