"""Options of simulations as rows of a table: name, default, check, unit, meaning, and the choices that use an option.

The options of a method are the fields of a frozen dataclass, a subclass of `Options`. A field has the name and the type
of the checked value; `option` states the rest of the row. Checks of arguments, descriptions in files, settings of the
viewer and citations follow from the rows. `takes` gives a class the signature and the docstring of those options that
several classes share.
"""

from __future__ import annotations

import functools
import inspect
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, TypeVar, cast

from mpm import _core
from mpm.base import _check, advice
from mpm.base.setting import Setting

NEEDED = _check.Unset("needed")  # the default of an option that must be given; None is refused
OFF_ON = ("off", "on")  # as the viewer shows flags
COMMON = "{common}\n"  # where docstrings have the options that classes share
Values = Mapping[str, Any]
T = TypeVar("T", bound=type)
Ends = float | Mapping[str, float]  # a limit, or one for each precision


def _end(end: Ends, dtype: str) -> float:
    return end[dtype] if isinstance(end, Mapping) else end


@dataclass(frozen=True)
class Number:
    """Checks a number. `none` is the value of None, which is refused without it."""

    low: Ends = -math.inf
    high: Ends = math.inf
    low_open: bool = False
    whole: bool = False
    none: Any = NEEDED

    @property
    def type(self) -> str:
        """As docstrings have it."""
        return ("int" if self.whole else "float") + ", optional" * (self.none is not NEEDED)

    def limits(self, dtype: str) -> dict[str, Any]:
        """The range, as a `Setting` has it."""
        low, high = _end(self.low, dtype), _end(self.high, dtype)
        return {"low": low, "low_open": self.low_open, "high": high, "whole": self.whole}

    @property
    def most(self) -> float:
        """The largest number in double precision."""
        return _end(self.high, "float64")

    def __call__(self, row: Row, value: object, others: Values) -> Any:
        if value is None and self.none is not NEEDED:
            return self.none
        dtype = others["dtype"]
        low, high = _end(self.low, dtype), _end(self.high, dtype)
        if self.whole:
            return _check.integer(row.name, value, low=int(low), high=int(high))
        varies = row.unit and isinstance(self.low, Mapping)
        unit = f"{row.unit} for {dtype}" if varies else row.unit
        return _check.number(row.name, value, low=low, low_open=self.low_open, high=high, unit=unit)


@dataclass(frozen=True)
class Choice:
    """Checks a word."""

    words: tuple[str, ...]

    @property
    def type(self) -> str:
        """As docstrings have it."""
        return "{" + ", ".join(f'"{word}"' for word in self.words) + "}"

    def limits(self, dtype: str) -> dict[str, Any]:
        """The words, as a `Setting` has them."""
        return {"choices": self.words}

    def __call__(self, row: Row, value: object, others: Values) -> str:
        return _check.choice(row.name, value, self.words)


class CoreRows:
    """The ranges and words that the core states of the options of a method, or of all (``"common"``)."""

    def __init__(self, method: str) -> None:
        self._rows = _core.options()[method]

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def number(self, name: str, none: Any = NEEDED) -> Number:
        """A check by the range of an option."""
        row = self._rows[name]
        (low, high, is_open), (least, most, _) = row["float64"], row["float32"]
        ends: tuple[Ends, Ends] = (low, high)
        if (low, high) != (least, most):
            ends = {"float64": low, "float32": least}, {"float64": high, "float32": most}
        return Number(*ends, low_open=is_open, whole=row["whole"], none=none)

    def words(self, name: str) -> tuple[str, ...]:
        """The words of an option."""
        return tuple(self._rows[name]["words"])

    def choice(self, name: str) -> Choice:
        """A check by them."""
        return Choice(self.words(name))


class Flag:
    """Checks True or False."""

    type = "bool"

    def limits(self, dtype: str) -> dict[str, Any]:
        """The words of the viewer."""
        return {"choices": OFF_ON}

    def __call__(self, row: Row, value: object, others: Values) -> bool:
        return _check.flag(row.name, value)


def _as_it_is(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Row:
    """An option.

    Attributes
    ----------
    name : str
    default : object
        Of the signature: an `Unset` of an option that may not be set everywhere; `NEEDED`.
    check : callable
        ``check(row, value, others)`` returns the checked value; `others` has those of earlier rows, and the ``scene``.
    unit, meaning : str
        As in `Setting`.
    users : (str, tuple of str), optional
        Another option, and those of its choices that use this one. Set with others, this one raises.
    deformable : bool
        Whether only bodies that deform use it.
    viewer : bool
        Whether the viewer can change it.
    optional : bool
        Whether the viewer can leave it empty.
    kept : bool
        Whether files keep it.
    left_out : object
        The value with which descriptions leave it out: options that older files do not know have one.
    says : callable
        The argument that a checked value came from.
    cites : callable, optional
        The (purpose, reference) pairs of the chosen options.
    """

    name: str
    default: Any
    check: Callable[[Row, Any, Values], Any]
    unit: str = ""
    meaning: str = ""
    users: tuple[str, tuple[str, ...]] | None = None
    deformable: bool = False
    viewer: bool = False
    optional: bool = False
    kept: bool = True
    left_out: Any = NEEDED
    says: Callable[[Any], Any] = _as_it_is
    cites: Callable[[Any], Iterable[tuple[str, str]]] | None = None

    def checked(self, value: object, others: Values) -> Any:
        """The value of an argument; errors name the option, the value and what is allowed."""
        if value is NEEDED:
            raise ValueError(f"{self.name} is missing")
        return value.value if isinstance(value, _check.Unset) else self.check(self, value, others)

    def entry(self) -> str:
        """The lines of a docstring about it, not indented."""
        text = f"{self.meaning[:1].upper()}{self.meaning[1:]}{f' [{self.unit}]' * bool(self.unit)}."
        lines = textwrap.fill(text, 120, initial_indent=" " * 4, subsequent_indent=" " * 4)
        return f"{self.name} : {self.check.type}\n{lines}\n"  # type: ignore[attr-defined]

    def is_used(self, values: Values) -> bool:
        """Whether the choices among these values use it."""
        return self.users is None or values[self.users[0]] in self.users[1]

    def is_set(self, argument: object, values: Values) -> bool:
        """Whether an argument is given: as anything, or as anything but a default that is no `Unset`."""
        if isinstance(argument, _check.Unset):
            return False
        return isinstance(self.default, _check.Unset) or values[self.name] != self.checked(
            self.default, values
        )

    def refuse_unused(self, argument: object, values: Values) -> None:
        """Raise ValueError for an argument that is set, but that the choices do not use."""
        if self.users and not self.is_used(values) and self.is_set(argument, values):
            other, choices = self.users
            raise ValueError(
                f"{self.name} = {_check.shown(argument)}: {other}={values[other]!r} does not use it, only "
                f"{' and '.join(map(repr, choices))}; leave it out"
            )


def option(
    default: Any, check: Callable[[Row, Any, Values], Any], unit: str = "", meaning: str = "", **more: Any
) -> Any:
    """A field of `Options`; the arguments are the attributes of `Row`."""
    row = Row("", default, check, unit, meaning, **more)
    return field(compare=row.kept, metadata={"row": row})


def _rows(table: type[Options]) -> Mapping[str, Row]:
    """The rows of a table by name: those of its bases, which others may depend on, come first."""
    found = {one.name: one.metadata["row"] for one in fields(table) if "row" in one.metadata}
    return MappingProxyType({name: replace(row, name=name) for name, row in found.items()})


rows = cast("Callable[[type[Options]], Mapping[str, Row]]", functools.cache(_rows))


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of the tables of options. An object has the checked values."""

    @classmethod
    def _values(cls, scene: Any, arguments: Values) -> dict[str, Any]:
        """The checked values of all options; those that are not among the arguments have their defaults.

        `arguments` may have more than options: the ``locals()`` of an ``__init__`` whose parameters are the options.

        Raises
        ------
        TypeError, ValueError
            The message names the option, its value, and what is allowed.
        """
        table = rows(cls)
        values: dict[str, Any] = {"scene": scene}
        for name, row in table.items():
            values[name] = row.checked(arguments.get(name, row.default), values)
        for name, row in table.items():
            row.refuse_unused(arguments.get(name, row.default), values)
        del values["scene"]
        return values

    def _uses(self, row: Row) -> bool:
        """Whether anything uses this option."""
        return row.is_used(vars(self))

    def described(self) -> dict[str, Any]:
        """The arguments that give these options, without those that nothing uses; JSON can hold them."""
        return {
            name: row.says(getattr(self, name))
            for name, row in rows(type(self)).items()
            if row.kept and self._uses(row) and getattr(self, name) != row.left_out
        }

    def settings(self) -> list[Setting]:
        """The options that the viewer can change: first those of the method alone."""
        found = []
        own = type(self).__annotations__
        for name, row in sorted(rows(type(self)).items(), key=lambda item: item[0] not in own):
            if not (row.viewer and self._uses(row)):
                continue
            value = row.says(getattr(self, name))
            shown = OFF_ON[value] if isinstance(value, bool) else None if value == "auto" else value
            limits = row.check.limits(str(vars(self).get("dtype")))  # type: ignore[attr-defined]
            found.append(
                Setting(
                    name,
                    "Numerics",
                    name,
                    row.unit,
                    shown,
                    optional=row.optional,
                    meaning=row.meaning,
                    **limits,
                )
            )
        return found

    def changed(self, changes: Values) -> dict[str, Any]:
        """The arguments with some settings changed, without those that the new choices do not use."""
        table = rows(type(self))
        new = {name: row.says(getattr(self, name)) for name, row in table.items()}
        set_now = {name: changes[name] for name in table if name in changes}
        for name, value in set_now.items():
            new[name] = value in (True, OFF_ON[1]) if isinstance(table[name].check, Flag) else value
        kept = self.described().keys() | set_now.keys()
        return {name: value for name, value in new.items() if name in kept and table[name].is_used(new)}

    def cited(self) -> list[tuple[str, str]]:
        """(purpose, reference) of the options in use."""
        return [
            pair
            for row in rows(type(self)).values()
            if row.cites and self._uses(row)
            for pair in row.cites(self)
        ]


def takes(
    table: type[Options], arguments: type, hints: Mapping[str, str] = advice.NOTHING
) -> Callable[[T], T]:
    """Class decorator: the last parameter of the ``__init__``, ``**common: Unpack[arguments]``, stands for options of
    the table. The signature gets them by name; the docstring gets those that it does not describe itself at
    ``{common}``. `hints` are as in `mpm.base._check.options`."""
    shared = {name: row for name, row in rows(table).items() if name in arguments.__annotations__}

    def decorate(cls: T) -> T:
        init = _check.spelled(arguments, {name: row.default for name, row in shared.items()})
        cls.__init__ = init(cls.__init__)  # type: ignore[misc]
        if cls.__doc__:
            text = inspect.cleandoc(cls.__doc__)  # CPython 3.13 and later have done so already
            missing = [row.entry() for name, row in shared.items() if f"\n{name} : " not in text]
            cls.__doc__ = text.replace(COMMON, "".join(missing))
        return _check.strict_options(hints=hints)(cls)

    return decorate
