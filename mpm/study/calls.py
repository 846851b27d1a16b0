"""One case of a sweep, in whatever process: the call never raises."""

from __future__ import annotations

import contextlib
import functools
import signal
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpm.base import _check, config
from mpm.study.cases import COLUMNS, FOLDER, scalar

Record = dict[str, Any]  # what a case leaves: "results" by name, "error" or None, "seconds"

MOST_TEXT = 100_000  # characters of a traceback
UNFIT = "unfit"  # the only entry of what a process returns that is not to take part


@dataclass(frozen=True, slots=True)
class Place:
    """Where cases run.

    Attributes
    ----------
    version, isa : str
        Of the package and of its kernels, which every process must have.
    beside : bool
        Cases run beside each other.
    folders : str
        The folder of the folders of cases, if the function takes one; else empty.
    """

    version: str
    isa: str
    beside: bool
    folders: str


version = functools.cache(config.version)  # takes longer than an empty case


def call(function: Callable[..., Any], place: Place, name: str, parameters: Mapping[str, Any]) -> Record:
    """Run a case; an exception becomes part of the record, except `KeyboardInterrupt`."""
    own = (version(), config.isa())
    if own != (place.version, place.isa):
        return {
            UNFIT: f"a worker has mpm {own[0]} with the kernel set {own[1]}, this process mpm {place.version} with "
            f"{place.isa}; MPM_ISA={place.isa} in the environment of all of them chooses the kernels"
        }
    began = time.perf_counter()
    results: dict[str, Any] = {}
    error = None
    try:
        with config.beside_others() if place.beside else contextlib.nullcontext():
            own_folder = {}
            if place.folders:
                own_folder[FOLDER] = Path(place.folders, name)
                own_folder[FOLDER].mkdir(parents=True, exist_ok=True)
            returned = function(**parameters, **own_folder)
        results, error = _results(returned, parameters)
    except KeyboardInterrupt:
        raise
    except BaseException as raised:  # SystemExit too: a case must not end a worker
        error = {"type": type(raised).__name__, "message": _text(raised), "traceback": _trace(raised)}
    return {"results": results, "error": error, "seconds": round(time.perf_counter() - began, 6)}


def died(code: int | None) -> Record:
    """The record of a case whose process ended twice, with an exit code as `multiprocessing` has it."""
    how = f"exit code {code}"
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            how = signal.Signals(-code).name
        how += ", out of memory perhaps" * (how == "SIGKILL")
    return failed("ProcessDied", f"the worker process ended during this case, twice ({how})")


def failed(kind: str, message: str) -> Record:
    """The record of a case that failed without a traceback."""
    return {"results": {}, "error": {"type": kind, "message": message, "traceback": ""}, "seconds": 0.0}


def _results(returned: object, parameters: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str] | None]:
    """What can be kept of what a function returned, and the first thing that cannot."""
    what = "numbers and strings by name"
    if not isinstance(returned, Mapping):
        return {}, _wrong("TypeError", str(_check.wrong_type("result", returned, f"a dict of {what}")))
    kept, wrong = {}, None
    for name, value in returned.items():
        known, result = scalar(value)
        if not isinstance(name, str):
            problem = ("TypeError", str(_check.wrong_type("a name in the result", name, "a string")))
        elif name in COLUMNS:
            problem = (
                "ValueError",
                f"result: {name!r} is a column of the table already; choose another name",
            )
        elif not known:
            problem = (
                "TypeError",
                str(_check.wrong_type(f"result[{name!r}]", value, "a number, a string or None")),
            )
        elif name not in parameters:
            kept[name] = result
            continue
        elif parameters[name] == result:  # as in {**case, ...}
            continue
        else:
            problem = ("ValueError", f"result[{name!r}]: is the name of a parameter; choose another name")
        wrong = wrong or _wrong(*problem)
    return kept, wrong


def _wrong(kind: str, message: str) -> dict[str, str]:
    return {"type": kind, "message": message, "traceback": ""}


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


def _trace(error: BaseException) -> str:
    """The traceback from the function on."""
    trace = error.__traceback__.tb_next if error.__traceback__ else None
    try:
        lines = traceback.format_exception(type(error), error, trace)
    except Exception:  # the exception's own text fails
        lines = traceback.format_tb(trace)
    return "".join(lines)[-MOST_TEXT:]
