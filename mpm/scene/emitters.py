"""Emitters: shapes that fill again and again with moving material while a simulation runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from dataclasses import dataclass

import numpy as np

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.materials.laws import Material
from mpm.scene.domain import checked_shape
from mpm.shapes import Points, Shape
from mpm.shapes.volumes import volume_within

SLACK = 1e-9  # relative: of rates and ends, for rounding
LATE = 1e-12  # relative: of times, for rounding; what is due comes so much earlier
FASTEST = 1e90  # m/s, as of colliders: squares stay finite
GONE = ", also among bodies and emitters"


@dataclass(frozen=True, eq=False, slots=True)
class Emitter:
    """A shape that fills with material of a velocity at even intervals. Made by `Scene.add_emitter`."""

    shape: Shape
    material: Material
    velocity: FloatArray
    rate: float
    start: float
    until: float | None
    name: str

    @property
    def volume(self) -> float:
        """Of the shape [m³; in 2-D m²]."""
        return volume_within(self.shape, *self.shape.bounds).value

    @property
    def interval(self) -> float:
        """Between two fillings [s]."""
        return self.volume / self.rate

    def time(self, number: int) -> float:
        """Of a filling, counted from 0 [s]; infinite where it is none any more."""
        when = self.start + number * self.interval
        return when if self.until is None or when < self.until * (1 - SLACK) else math.inf

    def title(self, number: int) -> str:
        """The name of a filling among bodies."""
        return f"{self.name} {number}"

    def __repr__(self) -> str:
        made_of = f"{self.name}: {self.shape!r} of {type(self.material).__name__}"
        end = "" if self.until is None else f" to {self.until:g} s"
        unit = "m²/s" if self.shape.dimension == 2 else "m³/s"
        return f"{made_of}, {self.rate:g} {unit} with {self.velocity.tolist()} m/s from {self.start:g} s{end}"


def refuse_titles(name: str, emitters: Iterable[Emitter]) -> None:
    """Raise for the name of a body that a filling of an emitter has or will have."""
    for emitter in emitters:
        start, _, number = name.rpartition(" ")
        if start == emitter.name and number.isdecimal() and emitter.title(int(number)) == name:
            raise ValueError(
                f"name = {_check.shown(name)}: a filling of the emitter {_check.shown(emitter.name)} has this name; "
                f"must not be {emitter.name!r} with a space and a number"
            )


def make_emitter(
    shape: object,
    material: object,
    *,
    velocity: object,
    rate: object,
    start: object,
    until: object,
    name: object,
    dimension: int,
    taken: Set[str],
    number: int,
) -> Emitter:
    """Check the arguments of `Scene.add_emitter`; `number` names a nameless emitter."""
    shape = checked_shape(shape, dimension)
    if isinstance(shape, Points) or not np.isfinite(shape.bounds).all():
        raise ValueError(
            f"shape = {_check.shown(shape)}: must be finite and filled, to be sampled again and again"
        )
    if not isinstance(material, Material):
        raise _check.wrong_type("material", material, "one of mpm.materials")
    if material._row["rigid"] or material._varies:
        raise ValueError(f"material = {_check.shown(material)}: must not be rigid, nor vary over particles")
    v = _check.array("velocity", velocity, (dimension,))
    largest = float(np.abs(v).max())
    if largest > FASTEST:
        raise ValueError(
            f"velocity = {v.tolist()}: its components must be >= {-FASTEST:g} and <= {FASTEST:g}"
        )
    speed = float(np.linalg.norm(v)) if largest > 1 / FASTEST else 0.0
    if not speed:
        raise ValueError(f"velocity = {v.tolist()}: must not be 0: the shape has to become empty")
    volume = volume_within(shape, *shape.bounds).value
    if not volume > 0:
        raise ValueError(f"shape = {_check.shown(shape)}: is empty; must have a volume > 0")
    along = v / speed
    length = float(shape._support(along[None])[0] + shape._support(-along[None])[0])
    fastest = volume * speed / length
    if rate is None:
        flow = fastest
    else:
        flow = _check.number("rate", rate, low=0, low_open=True, unit="m²/s" if dimension == 2 else "m³/s")
        if flow > fastest * (1 + SLACK):
            raise ValueError(
                f"rate = {flow:g}: must be <= {fastest:.6g}, the volume of the shape over the time in which the "
                "material leaves it; take a larger shape or velocity"
            )
    begin = _check.number("start", start, low=0, unit="s")
    end = None if until is None else _check.number("until", until, low=begin, low_open=True, unit="s")
    title = _check.unique_name("emitter", name, taken, number, GONE)
    return Emitter(shape, material, _check.frozen(v), flow, begin, end, title)
