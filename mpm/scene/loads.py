"""Loads and held regions of a scene: forces on bodies, tractions on surfaces, prescribed velocities, sources.

All refer to a body by its name. A function of a load raises when it is called, hence in a step; the exception has a
note that names the load. `ValueError` then says that the function returned another shape, or a number that is not
finite.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.shapes import Shape
from mpm.shapes.distances import describe, measure

__all__ = [
    "KINDS",
    "Force",
    "HeatSource",
    "Hold",
    "Load",
    "SoluteSource",
    "Source",
    "Traction",
    "function_of",
    "inside",
    "make_force",
    "make_hold",
    "make_load",
    "make_source",
    "make_traction",
    "mechanical",
    "with_functions",
]

Where: TypeAlias = Shape | Callable[[FloatArray], npt.ArrayLike] | None
OfTime: TypeAlias = Callable[[float], npt.ArrayLike]
OfPlace: TypeAlias = Callable[..., npt.ArrayLike]
Speeds: TypeAlias = tuple[float | None, ...]
GONE = ", also among colliders and other loads"
FASTEST = 1e90  # m/s, as of colliders
ON_FACE = 1e-9  # of the size of a body: points so far outside of a shape are on its face


@dataclass(frozen=True, eq=False, slots=True)
class Force:
    """A force that the particles of a body share by their masses. Made by `Scene.add_force`.

    Attributes
    ----------
    body, name : str
        The body, and the load itself.
    force : ndarray or callable
        (d,) [N], in 2-D [N/m] per depth; or f(t), which returns them at a time [s].
    """

    body: str
    force: FloatArray | OfTime
    name: str

    def at(self, t: float) -> FloatArray:
        """The force at a time.

        Parameters
        ----------
        t : float
            [s].

        Returns
        -------
        ndarray, shape (d,)
            [N], in 2-D [N/m]. The caller checks the length of a function's value.

        Raises
        ------
        TypeError, ValueError
            The function returned no finite numbers.
        """
        if not callable(self.force):
            return self.force
        given = asked("force(t)", self.name, self.force, t)
        return _check.array(f"force(t) of {self.name!r}", given, (None,))

    def __repr__(self) -> str:
        if callable(self.force):
            return f"{self.name}: {_check.shown(self.force)} on {self.body}"
        unit = "N/m" if len(self.force) == 2 else "N"  # per metre of depth
        return f"{self.name}: {self.force.tolist()} {unit} on {self.body}"


@dataclass(frozen=True, eq=False, slots=True)
class Hold:
    """A region of a body whose velocity is prescribed. Made by `Scene.hold`.

    Attributes
    ----------
    body, name : str
        The body, and the region itself.
    where : Shape, callable or None
        The region, as in `inside`; None: the whole body.
    velocity : tuple or callable
        d components [m/s], None where the region is free; or f(t), which returns them at a time [s].
    """

    body: str
    where: Where
    velocity: Speeds | Callable[[float], Sequence[float | None]]
    name: str

    def at(self, t: float, dimension: int) -> FloatArray:
        """The velocity at a time.

        Parameters
        ----------
        t : float
            [s].
        dimension : int

        Returns
        -------
        ndarray, shape (d,)
            [m/s], NaN where the region is free.

        Raises
        ------
        TypeError, ValueError
            The function returned no `dimension` components, each a number up to 1e90 or None.
        """
        given = self.velocity
        if callable(given):
            given = asked("velocity(t)", self.name, given, t)
            given = _speeds(f"velocity(t) of {self.name!r}", given, dimension)
        return np.array([math.nan if speed is None else speed for speed in given])

    def __repr__(self) -> str:
        given = _check.shown(self.velocity) if callable(self.velocity) else f"{list(self.velocity)} m/s"
        return f"{self.name}: {_place(self.where)}{self.body} at {given}"


@dataclass(frozen=True, eq=False, slots=True)
class Traction:
    """A force per area on the surface of a body, or a pressure. Made by `Scene.add_traction`.

    Attributes
    ----------
    body, name : str
        The body, and the load itself.
    where : Shape, callable or None
        The part of the surface, as in `inside`; None: the whole surface.
    pressure : float, callable or None
        [Pa], > 0 inwards; or f(t) or f(x, t), with the values of `at`. None: `traction` is given.
    traction : ndarray, callable or None
        (d,) [Pa]; or f(t) or f(x, t). None: `pressure` is given.
    follows : bool
        Whether the load turns and grows with the surface.
    """

    body: str
    where: Where
    pressure: float | OfPlace | None
    traction: FloatArray | OfPlace | None
    follows: bool
    name: str

    @property
    def given(self) -> Any:
        """The pressure or the traction."""
        return self.pressure if self.traction is None else self.traction

    @property
    def varies(self) -> bool:
        """Whether it depends on the place."""
        return of_place(self.given)

    def at(self, x: FloatArray, t: float) -> FloatArray:
        """The pressure or the traction at places of the surface.

        Parameters
        ----------
        x : ndarray, shape (k, d)
            [m].
        t : float
            [s].

        Returns
        -------
        ndarray, shape (k,) or (k, d)
            The pressure or the traction [Pa].

        Raises
        ------
        TypeError, ValueError
            The function returned other shapes, or numbers that are not finite.
        """
        if self.traction is None:
            return values_at("pressure", self.name, self.given, x, t, x.shape[:1])
        return values_at("traction", self.name, self.given, x, t, x.shape)

    def __repr__(self) -> str:
        what = "pressure" if self.traction is None else "traction"
        value = self.given
        shown = _check.shown(value) if callable(value) else f"{np.asarray(value).tolist()} Pa"
        follows = "follows" if self.follows else "dead"
        return f"{self.name}: {what} {shown} on {_place(self.where)}{self.body}, {follows}"


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """What `HeatSource` and `SoluteSource` have in common."""

    what: ClassVar[str]
    unit: ClassVar[str]

    body: str
    where: Where
    source: float | OfPlace
    name: str

    @property
    def varies(self) -> bool:
        """Whether it depends on the place."""
        return of_place(self.source)

    def at(self, x: FloatArray, t: float) -> FloatArray:
        """The source at places.

        Parameters
        ----------
        x : ndarray, shape (k, d)
            [m].
        t : float
            [s].

        Returns
        -------
        ndarray, shape (k,)
            In the unit of the source.

        Raises
        ------
        TypeError, ValueError
            The function returned another shape, or numbers that are not finite.
        """
        return values_at("source", self.name, self.source, x, t, x.shape[:1])

    def __repr__(self) -> str:
        shown = _check.shown(self.source) if callable(self.source) else f"{self.source:g} {self.unit}"
        return f"{self.name}: {self.what} source {shown} in {_place(self.where)}{self.body}"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class HeatSource(Source):
    """Heat that comes up in a region of a body. Made by `Scene.add_heat_source`.

    Attributes
    ----------
    body, name : str
        The body, and the source itself.
    where : Shape, callable or None
        The region, as in `inside`; None: the whole body.
    source : float or callable
        Heat per time and present volume [W/m³]; or f(t) or f(x, t), with the values of `at`.
    """

    what = "heat"
    unit = "W/m³"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class SoluteSource(Source):
    """A solute that comes up in a region of a body. Made by `Scene.add_solute_source`.

    Attributes
    ----------
    body, name : str
        The body, and the source itself.
    where : Shape, callable or None
        The region, as in `inside`; None: the whole body.
    source : float or callable
        Amount per time and present volume [mol/(m³ s)]; or f(t) or f(x, t), with the values of `at`.
    """

    what = "solute"
    unit = "mol/(m³ s)"


S = TypeVar("S", bound=Source)
Load: TypeAlias = Force | Hold | Source | Traction


def mechanical(loads: Sequence[Load]) -> tuple[Load, ...]:
    """Those that exert forces: all but sources. The core has books for them, in this order."""
    return tuple(load for load in loads if not isinstance(load, Source))


def asked(what: str, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """The value of a function of a load; an exception gets a note with the names of both."""
    try:
        return function(*arguments)
    except BaseException as error:
        error.add_note(f"Raised by {what} of {name!r}.")
        raise


def of_place(given: Any) -> bool:
    """Is it a function f(x, t)?"""
    return callable(given) and arguments_of(given) == 2


def values_at(
    what: str, name: str, given: Any, x: FloatArray, t: float, shape: tuple[int, ...]
) -> FloatArray:
    """A number, a function f(t) or f(x, t) at places (k, d) [m]: one entry of `shape` (k, ...) for each of them."""
    if not callable(given):
        return np.broadcast_to(given, shape)
    if of_place(given):
        values = asked(f"{what}(x, t)", name, given, x.copy(), t)
        return _check.array(f"{what}(x, t) of {name!r}", values, shape)
    values = asked(f"{what}(t)", name, given, t)
    return np.broadcast_to(_check.array(f"{what}(t) of {name!r}", values, shape[1:]), shape)


def _place(where: Where) -> str:
    return (
        ""
        if where is None
        else f"{where!r} of "
        if isinstance(where, Shape)
        else f"{_check.shown(where)} of "
    )


def inside(where: Where, x: FloatArray, name: str) -> npt.NDArray[np.bool_]:
    """Which points are in the region of a load.

    Parameters
    ----------
    where : Shape, callable or None
        A shape of the scene's dimension; f(x), which returns (n,) truth values; or None: all points.
    x : ndarray, shape (n, d)
        [m].
    name : str
        The load, for messages.

    Returns
    -------
    ndarray of bool, shape (n,)
        Points on a face of a shape are in it.

    Raises
    ------
    ValueError
        The function returned no (n,) truth values.
    """
    if where is None:
        return np.ones(len(x), dtype=np.bool_)
    if isinstance(where, Shape):
        found = where.contains(x)
        if not found.all():  # points of a mesh lie on faces of shapes
            apart = np.flatnonzero(~found)
            found[apart] = _distance(where, x[apart]) <= ON_FACE * float(np.ptp(x, axis=0).max())
        return found
    given = np.asarray(asked("where(x)", name, where, x.copy()))
    if given.shape != (len(x),) or given.dtype != np.bool_:
        raise ValueError(
            f"where(x) of {name!r} returned {_check.shown(given)}: must be {len(x)} truth values, one for each point, "
            "such as where=lambda x: x[:, 0] > 0.9"
        )
    return given


def _distance(shape: Shape, x: FloatArray) -> FloatArray:
    """Signed distances (n,) of points outside; infinite for a shape that has none."""
    size = float(np.ptp(x, axis=0).max()) or 1.0
    try:
        return measure(describe(shape, size / 64, (x.min(axis=0), x.max(axis=0))), x)[0]
    except ValueError:
        return np.full(len(x), np.inf)


def of_time(name: str, given: Any) -> Any:
    """A function of time alone, which must have one argument."""
    try:
        inspect.signature(given).bind(0.0)
    except TypeError:
        raise TypeError(
            f"{name} = {_check.shown(given)}: must be a function f(t) of the time alone"
        ) from None
    except ValueError:  # a built-in function may have no signature
        pass
    return given


def arguments_of(given: Callable[..., Any]) -> int:
    """1 for a function of time, 2 for one of place and time, 0 for others."""
    try:
        signature = inspect.signature(given)
    except ValueError:  # a built-in function may have no signature
        return 1
    for count in (2, 1):
        try:
            signature.bind(*[0.0] * count)
        except TypeError:
            continue
        return count
    return 0


def make_force(
    *,
    body: object,
    force: object,
    name: object,
    dimension: int,
    bodies: Collection[str],
    taken: Collection[str],
) -> Force:
    """Check the arguments of `Scene.add_force`; `bodies` and `taken` are the names that exist.

    Raises
    ------
    TypeError, ValueError
        An argument has another type or shape, is not finite, or names no body, or a name is taken.
    """
    target = _body(body, bodies)
    if callable(force):
        given: FloatArray | OfTime = of_time("force", force)
    else:
        given = _check.frozen(_check.array("force", force, (dimension,)))
    return Force(target, given, _title("force", name, taken))


def make_hold(
    *,
    body: object,
    where: object,
    velocity: object,
    name: object,
    dimension: int,
    bodies: Collection[str],
    taken: Collection[str],
) -> Hold:
    """Check the arguments of `Scene.hold`; as `make_force`."""
    target = _body(body, bodies)
    region = checked_where(where, dimension)
    given: Any = (
        of_time("velocity", velocity) if callable(velocity) else _speeds("velocity", velocity, dimension)
    )
    if not callable(given) and all(speed is None for speed in given):
        raise ValueError(f"velocity = {_check.shown(velocity)}: must hold at least one component")
    return Hold(target, region, given, _title("hold", name, taken))


def make_traction(
    *,
    body: object,
    where: object,
    pressure: object,
    traction: object,
    follows: object,
    name: object,
    dimension: int,
    bodies: Collection[str],
    taken: Collection[str],
) -> Traction:
    """Check the arguments of `Scene.add_traction`; as `make_force`."""
    target = _body(body, bodies)
    region = checked_where(where, dimension)
    if (pressure is None) == (traction is None):
        raise TypeError("pressure, traction: one of them must be given, and not both")
    what, given = ("traction", traction) if pressure is None else ("pressure", pressure)
    checked: Any
    if callable(given):
        checked = given
        if not arguments_of(given):
            raise TypeError(f"{what} = {_check.shown(given)}: must be a function f(t) or f(x, t)")
    elif pressure is None:
        checked = _check.frozen(_check.array(what, given, (dimension,)))
    else:
        checked = _check.number(what, given, unit="Pa")
    moves = traction is None if follows is None else _check.flag("follows", follows)
    title = _title("traction", name, taken)
    if pressure is None:
        return Traction(target, region, None, checked, moves, title)
    return Traction(target, region, checked, None, moves, title)


def make_source(
    kind: type[S],
    *,
    body: object,
    where: object,
    source: object,
    name: object,
    dimension: int,
    bodies: Collection[str],
    taken: Collection[str],
) -> S:
    """Check the arguments of `Scene.add_heat_source` or `add_solute_source`; as `make_force`."""
    target = _body(body, bodies)
    region = checked_where(where, dimension)
    if callable(source):
        if not arguments_of(source):
            raise TypeError(f"source = {_check.shown(source)}: must be a function f(t) or f(x, t)")
        given: Any = source
    else:
        given = _check.number("source", source, unit=kind.unit)
    return kind(target, region, given, _title("source", name, taken))


def checked_where(where: object, dimension: int) -> Any:
    """A shape of the scene's dimension, a predicate, or None."""
    if where is None or (callable(where) and not isinstance(where, (Shape, type))):
        return where
    if not isinstance(where, Shape):
        raise _check.wrong_type("where", where, "one of mpm.shapes, or a callable f(x) of positions (n, d)")
    if where.dimension != dimension:
        raise ValueError(f"where is {where.dimension}-D: must be {dimension}-D like the scene")
    if not where._has_inside or where._only_collides:
        raise TypeError(f"where = {_check.shown(where)}: must be a solid that does not change with time")
    return where


def _body(body: object, bodies: Collection[str]) -> str:
    named = getattr(body, "name", body)
    if not isinstance(named, str):
        raise _check.wrong_type("body", body, "a body of the scene, or its name")
    return _check.choice("body", named, tuple(bodies))


def _title(kind: str, name: object, taken: Collection[str]) -> str:
    """A name of columns of the history."""
    title = _check.title("name", _check.unique_name(kind, name, taken, also=GONE))
    if title == "walls":
        raise ValueError("name = 'walls': means the walls of the domain; must be another name")
    return title


def _speeds(name: str, given: object, dimension: int) -> Speeds:
    """Components of a velocity; None where there is none."""
    if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, np.ndarray)):
        raise _check.wrong_type(name, given, f"{dimension} numbers, or None for components that are free")
    if len(given) != dimension:
        raise ValueError(f"{name} = {_check.shown(given)}: must have {dimension} components")
    found: list[float | None] = []
    for axis, speed in enumerate(given):
        if speed is not None and not isinstance(speed, (numbers.Real, np.ndarray)):
            raise _check.wrong_type(f"{name}[{axis}]", speed, "a number [m/s], or None")
        found.append(
            None
            if speed is None
            else _check.number(f"{name}[{axis}]", speed, low=-FASTEST, high=FASTEST, unit="m/s")
        )
    return tuple(found)


KINDS: dict[str, Callable[..., Load]] = {
    "Force": make_force, "HeatSource": partial(make_source, HeatSource), "Hold": make_hold,
    "SoluteSource": partial(make_source, SoluteSource), "Traction": make_traction
}  # fmt: skip
"""The checks of each kind, by the name of its class."""


def make_load(kind: str, given: Mapping[str, Any], **about: Any) -> Load:
    """A load as a file describes it: its class's name, the arguments of the check, and those of the scene (`about`)."""
    return KINDS[kind](**given, **about)


def _what(load: Load) -> str:
    """What may be a function, by name."""
    if isinstance(load, Traction):
        return "pressure" if load.traction is None else "traction"
    if isinstance(load, Source):
        return "source"
    return "force" if isinstance(load, Force) else "velocity"


def with_functions(load: Load, given: Callable[..., Any] | Mapping[str, Callable[..., Any]]) -> Load:
    """A load with other functions in place of those that a file could not keep: that of the time, or all by name.

    Raises
    ------
    TypeError, ValueError
        The load has no function of that name, or a function takes other arguments than the time.
    """
    main = _what(load)
    functions = given if isinstance(given, Mapping) else {main: given}
    for what, function in functions.items():
        title = f"loads[{load.name!r}]" + f"[{what!r}]" * isinstance(given, Mapping)
        kept = getattr(load, what) if what in (main, "where") and hasattr(load, what) else None
        if not callable(kept) or isinstance(kept, Shape):
            raise ValueError(f"{title}: its {what} is no function; leave it out")
        if what == main and not isinstance(load, (Source, Traction)):
            function = of_time(title, function)
        load = replace(load, **{what: function})  # type: ignore[arg-type]
    return load


def function_of(load: Load) -> Callable[..., Any] | None:
    """Its function of the time, if it has one."""
    given = getattr(load, _what(load))
    return given if callable(given) else None


def of_digest(load: Load) -> tuple[Any, ...]:
    """What of a load decides how a run continues, but for functions and for what it acts on."""
    given = getattr(load, _what(load))
    values = None if callable(given) else np.asarray(given, dtype=object).tolist()
    return (type(load).__name__, load.body, load.name, values, isinstance(load, Traction) and load.follows)
