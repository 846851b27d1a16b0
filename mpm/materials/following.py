"""Parameters that follow what is conducted, a temperature or a concentration: `Following`, and the checks of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from mpm.base import _check

__all__ = ["Following", "Scale", "Variable", "keep", "table", "tables"]

Scale: TypeAlias = tuple[str, tuple[float, ...], tuple[float, ...]]
MOST_SCALES, MOST_KNOTS = 8, 32  # of mpm/kernels/heat.h


class Variable(NamedTuple):
    """What a table depends on."""

    plural: str  # "temperatures"
    check: Callable[[float, str], float]  # of one, with its name
    example: str  # such as ([300, 800], [1, 0.4])
    melting: float | None = None  # a temperature that may occur twice


def keep(thing: object, **checked: Any) -> None:
    """Give a frozen object the checked values of its fields."""
    for name, value in checked.items():
        object.__setattr__(thing, name, value)


class Following:
    """Base of what has ``scale=``, kept as a tuple of (name, values, factors)."""

    __slots__ = ()

    scale: Any

    @property
    def _tables(self) -> tuple[Scale, ...]:
        """What `scale` is kept as."""
        return cast("tuple[Scale, ...]", self.scale)

    @property
    def _scaled(self) -> tuple[str, ...]:
        """Parameters that follow."""
        return tuple(name for name, *_ in self._tables)

    def _factors(self, variable: float, liquid: float = 0.0) -> dict[str, float]:
        """The factors of all parameters at a value of the variable, and a liquid share."""
        found: dict[str, float] = {}
        for name, at, factor in self._tables:
            value = factor[0]
            for (low, high), (a, b) in zip(pairwise(at), pairwise(factor), strict=True):
                share = (variable - low) / (high - low) if high > low else liquid
                if share > 0:
                    value = (1 - min(share, 1)) * a + min(share, 1) * b
            found[name] = value
        return found

    @property
    def _at_beginning(self) -> dict[str, float]:
        """The factors of new particles."""
        raise NotImplementedError

    @property
    def _states(self) -> list[tuple[str, dict[str, float]]]:
        """Names and factors of the states between which parameters are linear."""
        raise NotImplementedError


def tables(given: object, variable: Variable) -> tuple[Scale, ...]:
    """The checked tables of ``scale=``."""
    if isinstance(given, Mapping):
        rows = [(name, *_pair(f"scale[{name!r}]", one, variable)) for name, one in given.items()]
    elif isinstance(given, (list, tuple)) and all(_is_row(row) for row in given):  # as it is kept
        rows = [(name, at, factor) for name, at, factor in given]
    else:
        wanted = f"a mapping of parameters of the law to ({variable.plural}, factors)"
        raise _check.wrong_type("scale", given, wanted)
    names = [name for name, *_ in rows]
    if twice := [name for k, name in enumerate(names) if name in names[:k]]:
        raise ValueError(f"scale has {twice[0]!r} twice: must have a parameter once")
    if len(rows) > MOST_SCALES:
        raise ValueError(f"scale has {len(rows)} parameters: must have at most {MOST_SCALES}")
    for name in names:
        if not isinstance(name, str):
            raise _check.wrong_type("scale", name, "names of parameters of the law")
    return tuple((name, *table(f"scale[{name!r}]", (at, factor), variable)) for name, at, factor in rows)


def _is_row(row: object) -> bool:
    return isinstance(row, (list, tuple)) and len(row) == 3 and isinstance(row[0], str)


def _pair(title: str, given: object, variable: Variable, values: str = "factors") -> tuple[Any, Any]:
    pairs = isinstance(given, Sequence) and not isinstance(given, str)
    pairs = pairs or (isinstance(given, np.ndarray) and given.ndim > 0)
    if pairs and len(cast("Sequence[Any]", given)) == 2:
        return tuple(cast("Sequence[Any]", given))
    raise _check.wrong_type(title, given, f"({variable.plural}, {values}), such as {variable.example}")


def table(
    title: str, given: object, variable: Variable, values: str = "factors", low: float = 0.0
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """A checked table: values of the variable that ascend, and as many others, >= `low`."""
    first, second = _pair(title, given, variable, values)
    at = _check.array(f"{title}: {variable.plural}", first, (None,))
    factor = _check.array(f"{title}: {values}", second, (None,))
    if not 2 <= len(at) <= MOST_KNOTS or len(factor) != len(at):
        raise ValueError(
            f"{title} has {len(at)} {variable.plural} and {len(factor)} {values}: must have as many of each, 2 to "
            f"{MOST_KNOTS}"
        )
    melting = variable.melting
    for k, (before, value) in enumerate(pairwise(at), 1):
        jump = melting is not None and value == before == melting
        if not value > before and not jump:
            only = "; only the temperature of melting may occur twice, where the factor goes from that of the solid to "
            raise ValueError(
                f"{title}: {variable.plural}[{k}] = {value:g}: must be > {before:g}"
                + (f"{only}that of the liquid" if variable.plural == "temperatures" else "")
            )
    for k, value in enumerate(factor):
        _check.number(f"{title}: {values}[{k}]", float(value), low=low)
    checked = tuple(variable.check(float(T), f"{title}: {variable.plural}[{k}]") for k, T in enumerate(at))
    if sum(value == other for value, other in pairwise(checked)) > 1:
        raise ValueError(
            f"{title}: {variable.plural} = {list(checked)}: the temperature of melting may occur twice"
        )
    return checked, tuple(float(value) for value in factor)
