"""Argument checks: every error names the argument, the value it was given and the allowed range.

All checks return the value in the type that the package works with, and none of them changes its argument.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import keyword
import math
import numbers
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, NoReturn, ParamSpec, TypeVar, overload

import numpy as np
import numpy.typing as npt

from mpm.base import advice

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=type)
FloatArray = npt.NDArray[np.float64]


class Unset:
    """The default of an option that may not be set everywhere: tells "not set" from "set to its default"."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


def restore_fields(thing: Any, state: Sequence[Any]) -> None:
    """Sets the fields of a frozen dataclass with slots from a pickle; the last ones, which it may lack, by default."""
    missing = fields(thing)[len(state) :]
    for field, value in zip(fields(thing), [*state, *(field.default for field in missing)], strict=True):
        object.__setattr__(thing, field.name, value)


class Strict:
    """Base of classes whose attributes are read-only, and which propose the nearest name for a typo."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        # Python calls this only if the ordinary look-up has failed.
        raise AttributeError(self._unknown(name), name=name, obj=self)

    def _unknown(self, name: str) -> str:
        """The message about an attribute that is not there."""
        return advice.unknown_attribute(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        descriptor = getattr(type(self), name, None)
        if descriptor is None:
            raise AttributeError(advice.unknown_attribute(self, name), name=name, obj=self)
        if isinstance(descriptor, property) and descriptor.fset is not None:
            object.__setattr__(self, name, value)
            return
        raise AttributeError(f"{type(self).__name__}.{name} is read-only", name=name, obj=self)


SHOWN = 8  # lines of a list, if there are more


def ends(things: Sequence[R], kind: str, line: Callable[[R], str]) -> Iterator[str]:
    """A line on each; of many, on the first and the last ones."""
    hidden = len(things) - SHOWN if len(things) > SHOWN + 1 else 0
    for k, thing in enumerate(things):
        if hidden and k == SHOWN // 2:
            yield f"… {hidden} more {kind} …"
        if not hidden or not SHOWN // 2 <= k < len(things) - SHOWN // 2:
            yield line(thing)


def to_install(extra: str, *packages: str) -> str:
    """What brings packages that are missing. Not `mpm[extra]`: installers would look for that elsewhere."""
    return f"pip install {' '.join(packages)} (the extra {extra!r})"


def extra(module: str, need: str, extra: str, package: str = "") -> Any:
    """An optional module, or an ImportError that says what needs it, and what brings it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"{need}: {to_install(extra, package or module)}") from None


@overload
def options(function: Callable[P, R]) -> Callable[P, R]: ...
@overload
def options(*, hints: Mapping[str, str]) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def options(function: Callable[..., Any] | None = None, *, hints: Mapping[str, str] = advice.NOTHING) -> Any:
    """Decorator: an unknown keyword raises a TypeError that proposes the nearest one, or lists all; what has to be a
    keyword and is none, or is missing, is named. `hints` say what to do, by names of unknown or missing keywords; in
    those of unknown ones, ``{}`` is the value."""
    if function is None:
        return functools.partial(options, hints=hints)
    parameters = inspect.signature(function).parameters
    known = [
        name
        for name, parameter in parameters.items()
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL) and name != "self"
    ]
    by_keyword = [name for name in known if parameters[name].kind is inspect.Parameter.KEYWORD_ONLY]
    plain = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    needed = {  # name → place among the arguments
        name: math.inf if name in by_keyword else place
        for place, (name, parameter) in enumerate(parameters.items())
        if parameter.kind in plain and parameter.default is parameter.empty and name in known
    }
    variadic = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters.values())
    by_place = math.inf if variadic else len(parameters) - len(by_keyword)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name, value in kwargs.items():
            if name not in known:
                if isinstance(hints.get(name), advice.Later):
                    raise NotImplementedError(f"{name}: {hints[name]}")
                hint = f"; {hints[name].format(shown(value))}" if name in hints else _resolution(name, known)
                near = hint or advice.nearest(name, known) or f"; there are {', '.join(known)}"
                raise TypeError(f"{_title(function, args)}() has no option {name!r}{near}")
        if by_keyword and len(args) > by_place:
            raise TypeError(f"{_title(function, args)}() takes by keyword: {', '.join(by_keyword)}")
        missing = [name for name, place in needed.items() if name not in kwargs and len(args) <= place]
        if missing:
            how = "".join(f"; {hints[name]}" for name in missing if name in hints)
            needs = ", ".join(f"{name}=" for name in missing)
            raise TypeError(f"{_title(function, args)}() needs {needs}{how}")
        return function(*args, **kwargs)

    return checked


def spelled(arguments: type, defaults: Mapping[str, Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator: the last parameter of the function, ``**more: Unpack[arguments]``, stands in its signature for the
    keywords of that `TypedDict`, with these defaults."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        own = inspect.signature(function)
        kind, types = inspect.Parameter.KEYWORD_ONLY, arguments.__annotations__
        by_name = [
            inspect.Parameter(name, kind, default=default, annotation=types[name].__forward_arg__)
            for name, default in defaults.items()
        ]
        parameters = [*list(own.parameters.values())[:-1], *by_name]
        function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return decorate


def _resolution(name: str, known: Sequence[str]) -> str:
    """Methods have different words for their resolution, and users have more."""
    own = next((word for word in ("dx", "spacing") if word in known), "")
    foreign = name in ("dx", "spacing", "resolution", "cell_size", "grid_spacing", "h", "n_grid", "grid_size")
    return f"; its resolution is {own!r} [m]" if own and foreign else ""


def _title(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """The name of a call in errors; an inherited method is named after the class of its object."""
    title = function.__qualname__.removesuffix(".__init__")
    owner, _, name = title.rpartition(".")
    inherited = arguments and owner in (base.__qualname__ for base in type(arguments[0]).__mro__)
    return f"{type(arguments[0]).__qualname__}.{name}" if inherited else title


@overload
def strict_options(cls: T) -> T: ...
@overload
def strict_options(*, hints: Mapping[str, str]) -> Callable[[T], T]: ...
def strict_options(cls: Any = None, *, hints: Mapping[str, str] = advice.NOTHING) -> Any:
    """Class decorator: `options` for the ``__init__``, a generated one (of a dataclass) too. Hints that a family of
    classes shares are their attribute ``_hints``."""
    if cls is None:
        return functools.partial(strict_options, hints=hints)
    cls.__init__ = options(hints={**getattr(cls, "_hints", {}), **hints})(cls.__init__)
    return cls


def levels_to_caller() -> int:
    """The stack level of the first frame outside the package, for warnings."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "mpm":
        level, frame = level + 1, frame.f_back
    return level


def shown(value: object) -> str:
    """A value for an error message: its repr, shortened."""
    return shortened(repr(value), 80)


def shortened(text: str, most: int = 400) -> str:
    """A text for an error message, in one line and at most so long: what a file says may have any length."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def interval(low: float, low_open: bool, high: float, high_open: bool) -> str:
    """An allowed range in words: "a number > 0 and < 0.5"."""
    parts = []
    if low > -math.inf:
        parts.append(f"{'>' if low_open else '>='} {low:g}")
    if high < math.inf:
        parts.append(f"{'<' if high_open else '<='} {high:g}")
    return " and ".join(parts) if parts else "finite"


class UnfitError(ValueError):
    """An argument is wrong here, and so a file that is read with it is not to blame."""


def wrong_type(name: str, value: object, expected: str) -> TypeError:
    return TypeError(f"{name} = {shown(value)}: must be {expected}, not {qualified(type(value))}")


def qualified(cls: type) -> str:
    """The name of a class as users write it: ``mpm.fem.Simulation`` is not `mpm.Simulation`."""
    if cls.__name__ != "Simulation" or not cls.__module__.startswith("mpm."):
        return cls.__name__
    package = cls.__module__.removesuffix(".simulation")
    return f"{'mpm' if package == 'mpm.mpm' else package}.{cls.__name__}"


def temperature(given: object, name: str = "temperature") -> float:
    """A temperature [K] that single precision can compute with."""
    return number(name, given, low=1e-12, high=1e12, unit="K")


def number(
    name: str,
    value: object,
    *,
    low: float = -math.inf,
    low_open: bool = False,
    high: float = math.inf,
    high_open: bool = False,
    unit: str = "",
) -> float:
    """A finite real number within a range. Booleans are not numbers; NumPy scalars are."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise wrong_type(name, value, "a number")
    allowed = interval(low, low_open, high, high_open) + (f" [{unit}]" if unit else "")
    try:
        result = float(value)
    except OverflowError:
        raise ValueError(f"{name} = {shown(value)}: must be {allowed}, and below 1e308") from None
    above = low < result if low_open else low <= result
    below = result < high if high_open else result <= high
    if not math.isfinite(result):
        finite = "" if allowed.startswith("finite") or high < math.inf else "finite and "
        raise ValueError(f"{name} = {result!r}: must be {finite}{allowed}")
    if not (above and below):
        raise ValueError(f"{name} = {result!r}: must be {allowed}")
    return result


def integer(name: str, value: object, *, low: int, high: int | None = None) -> int:
    """A whole number within a range; a float is refused even if it is whole."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise wrong_type(name, value, "an integer")
    result = int(value)
    if result < low or (high is not None and result > high):
        allowed = f">= {low}" + (f" and <= {high}" if high is not None else "")
        raise ValueError(f"{name} = {shown(result)}: must be {allowed}")
    return result


def flag(name: str, value: object) -> bool:
    """True or False; nothing else is taken for it."""
    if not isinstance(value, (bool, np.bool_)):
        raise wrong_type(name, value, "True or False")
    return bool(value)


def text(name: str, value: object) -> str:
    """A string that is not empty."""
    if not isinstance(value, str):
        raise wrong_type(name, value, "a string")
    if not value.strip():
        raise ValueError(f"{name} = {shown(value)}: must not be empty")
    return str(value)  # of kinds of str, as NumPy's, whose repr is another


def mapping(tree: object, what: str) -> dict[str, Any]:
    """A copy of a dict, which a file has."""
    if not isinstance(tree, dict):
        raise wrong_type(what, tree, "a mapping")
    return dict(tree)


def title(name: str, value: object) -> str:
    """A printable name, in one line: it appears in files and in names of columns."""
    checked = text(name, value)
    if not checked.isprintable():
        raise ValueError(f"{name} = {shown(checked)}: must be printable, in one line")
    return checked


def identifier(name: str, value: object) -> str:
    """A name that a user gives a field or a number of a law."""
    checked = text(name, value)
    regular = checked.isidentifier() and checked.isascii() and len(checked) < 32
    if not regular or checked.startswith("_") or keyword.iskeyword(checked):
        raise ValueError(
            f"{name} = {shown(checked)}: must be an identifier of at most 31 ASCII characters, without _ first, and no "
            "keyword of Python"
        )
    return checked


def unique_name(kind: str, name: object, taken: Collection[str], number: int = 0, also: str = "") -> str:
    """The name given to a thing of that kind, which none has yet; of a nameless one, the kind with a number. `also`
    ends the message: where else names are taken."""
    if name is None:
        while (candidate := f"{kind}{number}") in taken:
            number += 1
        return candidate
    checked = text("name", name)
    if checked in taken:
        raise ValueError(f"name = {shown(checked)}: already the name of another {kind}; must be unique{also}")
    return checked


def choice(
    name: str,
    value: object,
    allowed: Sequence[str],
    words: Mapping[str, str] = advice.NAMES,
    why: str = "",
) -> str:
    """One of the allowed names; `words` as in `nearest`, and `why` is said of others in place of a proposal."""
    if not isinstance(value, str):
        raise wrong_type(name, value, "one of " + ", ".join(map(repr, allowed)))
    if value not in allowed:
        listed = ", ".join(map(repr, allowed))
        must = f"must be one of {listed}" if allowed else "there is none"
        raise ValueError(f"{name} = {shown(value)}: {must}{why or advice.nearest(value, allowed, words)}")
    return str(value)


def array(name: str, value: object, shape: tuple[int | None, ...], *, finite: bool = True) -> FloatArray:
    """A new C-contiguous float64 array of the given shape (None: any length), finite unless told not to."""
    wanted = str(tuple("m" if n is None else n for n in shape)).replace("'", "")
    if value is None or isinstance(value, (str, bytes, dict, set)):
        raise wrong_type(name, value, f"an array of shape {wanted}")
    refuse_masked(name, value)
    try:
        given = np.asarray(value)
    except ValueError:  # ragged nesting
        raise ValueError(f"{name} = {shown(value)}: must be an array of shape {wanted}") from None
    if given.dtype.kind not in "iuf" and given.size:
        raise TypeError(f"{name} = {shown(value)}: must be real numbers, not {given.dtype}")
    if given.ndim == 0 and shape:
        raise ValueError(f"{name} = {shown(value)}: must be an array of shape {wanted}, not one number")
    if given.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, given.shape, strict=True)):
        raise ValueError(f"{name} has shape {given.shape}: must be {wanted}")
    with np.errstate(over="ignore"):  # a long double may overflow; the check below finds it
        result = np.array(given, dtype=np.float64, order="C")
    if finite and not np.isfinite(result).all():
        where = np.argwhere(~np.isfinite(result))[0].tolist()
        raise ValueError(f"{name}{where} = {result[tuple(where)]}: must be finite")
    return result


def refuse_masked(name: str, value: object) -> None:
    """Raise ValueError if a mask of `numpy.ma` hides a value: `numpy.asarray` would drop the mask, and take the value.

    A list or a tuple may hold masked rows. NumPy itself makes NaN of a masked number in a list.
    """
    # The module is slow to import, and without it there is no masked array.
    masked = sys.modules.get("numpy.ma")
    if masked is None:
        return
    if isinstance(value, masked.MaskedArray):
        hidden = int(np.count_nonzero(masked.getmaskarray(value)))
        if hidden:
            raise ValueError(
                f"{name}: {hidden} of {value.size} values are masked; must have no masked values: leave them out, or "
                "fill them, as value.filled(0) does"
            )
    elif isinstance(value, (list, tuple)) and value and not isinstance(value[0], (float, int)):
        for row in value:
            if isinstance(row, (list, tuple, masked.MaskedArray)):
                refuse_masked(name, row)


def frozen(values: FloatArray) -> FloatArray:
    """The same array, read-only."""
    values.flags.writeable = False
    return values
