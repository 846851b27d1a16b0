"""The cases of a sweep: parameters that JSON can hold, and a name for each case."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mpm.base import _check, advice

FOLDER = "folder"  # the parameter of a function that is to have a folder for each case
COLUMNS = ("case_file", "error_type", "error_message")  # of the table, beside parameters and results
PLAIN = "a number, a string, True, False, None, or a list, tuple or dict of them"
MOST_CASES = 10_000_000
DIGITS = 20  # of 64 of a SHA-256: among ten million cases, two have the same name once in 2e10 sweeps


@dataclass(frozen=True, slots=True)
class Case:
    """Parameters of a call, and the hash of them."""

    parameters: dict[str, Any]
    name: str

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.json"


def listed(cases: object, function: Callable[..., Any]) -> list[Case]:
    """The cases of a sweep, checked: the function takes the parameters of each, and no two are the same.

    Parameters
    ----------
    cases : iterable of dicts, or dict of lists
    function : callable

    Raises
    ------
    TypeError, ValueError
        There is none, or one has a parameter that the function or JSON does not take; the message names it.
    """
    found: list[Case] = []
    places: dict[str, int] = {}
    parameters = inspect.signature(function).parameters
    for k, case in enumerate(_expanded(cases)):
        where = f"cases[{k}]"
        if not isinstance(case, Mapping):
            raise _check.wrong_type(where, case, "a dict of parameters by name")
        _refuse_names(where, case, parameters)
        own = {name: plain(f"{where}[{name!r}]", value) for name, value in case.items()}
        made = Case(own, hash_of(own))
        if (first := places.setdefault(made.name, k)) != k:
            raise ValueError(
                f"{where} = {_check.shown(own)}: is the same as cases[{first}]; leave one of them out"
            )
        found.append(made)
    if not found:
        raise ValueError("cases: must be at least one")
    return found


def _expanded(cases: object) -> Iterable[Any]:
    """The cases one by one; those of a dict of lists are all combinations, the last name varying fastest."""
    if isinstance(cases, Mapping):
        for name, values in cases.items():
            if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, (Sequence, np.ndarray)):
                raise _check.wrong_type(f"cases[{name!r}]", values, "a list of values, such as [value]")
            if not len(values):
                raise ValueError(f"cases[{name!r}]: must have at least one value")
        count = math.prod(len(values) for values in cases.values()) if cases else 0
        if count > MOST_CASES:
            raise ValueError(f"cases: their product has {count:.3g} cases; must be at most {MOST_CASES:,}")
        names = list(cases)
        combined = itertools.product(*cases.values()) if names else ()
        return (dict(zip(names, values, strict=True)) for values in combined)
    if isinstance(cases, (str, bytes)) or not isinstance(cases, Iterable):
        raise _check.wrong_type("cases", cases, "a list of dicts, or a dict of lists")
    return cases


def _refuse_names(where: str, case: Mapping[Any, Any], parameters: Mapping[str, inspect.Parameter]) -> None:
    """Raise unless the function can be called with these names."""
    kinds = {parameter.kind for parameter in parameters.values()}
    named = [p.name for p in parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for name in case:
        if not isinstance(name, str):
            raise _check.wrong_type(f"a name in {where}", name, "a string")
        if name in COLUMNS:
            raise ValueError(f"{where}: {name!r} is a column of the table already; choose another name")
        if name == FOLDER and FOLDER in named:
            raise ValueError(f"{where}: {FOLDER!r} is the folder that each case gets; leave it out")
        if name not in named and inspect.Parameter.VAR_KEYWORD not in kinds:
            near = advice.nearest(name, named) or f"; there are {', '.join(named)}"
            raise TypeError(f"{where}: function has no parameter {name!r}{near}")
    missing = [
        name
        for name in named
        if parameters[name].default is inspect.Parameter.empty and name not in case and name != FOLDER
    ]
    if missing:
        raise TypeError(f"{where}: function needs {', '.join(missing)}")


def plain(name: str, value: object) -> Any:
    """A copy of a value that JSON can hold; NumPy's scalars become Python's. NaN is refused: no two are equal."""
    if isinstance(value, (list, tuple)):
        return type(value)([plain(f"{name}[{k}]", entry) for k, entry in enumerate(value)])
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise _check.wrong_type(f"a name in {name}", key, "a string")
        return {key: plain(f"{name}[{key!r}]", entry) for key, entry in value.items()}
    known, result = scalar(value)
    if not known:
        hint = "; value.tolist() makes a list" if isinstance(value, np.ndarray) else ""
        raise _check.wrong_type(name, value, f"{PLAIN}{hint}")
    if isinstance(result, float) and math.isnan(result):
        raise ValueError(f"{name} = nan: must be a number")
    return result


def scalar(value: object) -> tuple[bool, Any]:
    """Whether a value is None, a real number or a string, and what it is in Python's own types."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if value is None or isinstance(value, (bool, np.bool_)):
        return True, None if value is None else bool(value)
    if isinstance(value, str):
        return True, str(value)
    if isinstance(value, numbers.Integral):
        return True, int(value)
    if isinstance(value, numbers.Real):
        return True, float(value)
    return False, None


def hash_of(parameters: Mapping[str, Any]) -> str:
    """A hash of the parameters, whatever their order."""
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
