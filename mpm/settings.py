"""The settings of a simulation that the viewer can change; a change makes the simulation anew."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from mpm import _check, numerics
from mpm.laws import Material
from mpm.scene import Scene


@dataclass(frozen=True, slots=True)
class Setting:
    """A number with its range.

    Attributes
    ----------
    key : str
        What it is called in messages: ``"material 0 E"``, ``"gravity y"``, ``"dx"``, …
    group, name, unit, meaning : str
        What is shown.
    value : float, int or None
        None: automatic, or no limit.
    low, high : float
        Allowed range, without its ends if `low_open`, `high_open`.
    whole : bool
        Only integers.
    optional : bool
        May be None.
    choices : tuple of str
        The names of the values 0, 1, …, for a setting that is no number.
    """

    key: str
    group: str
    name: str
    unit: str
    value: float | None
    low: float = -math.inf
    low_open: bool = False
    high: float = math.inf
    high_open: bool = False
    whole: bool = False
    optional: bool = False
    meaning: str = ""
    choices: tuple[str, ...] = ()

    @classmethod
    def choice(cls, name: str, group: str, value: str, choices: tuple[str, ...], meaning: str) -> Setting:
        """A setting that is one of several words."""
        last = len(choices) - 1
        chosen = choices.index(value)
        return cls(
            name, group, name, "", chosen, low=0, high=last, whole=True, meaning=meaning, choices=choices
        )

    def check(self, value: object) -> float | None:
        """The value if it is allowed; TypeError or ValueError otherwise."""
        if value is None and self.optional:
            return None
        if self.choices and isinstance(value, str):
            return self.choices.index(_check.choice(self.name, value, self.choices))
        if self.whole:
            return _check.integer(
                self.name, value, low=int(self.low), high=None if math.isinf(self.high) else int(self.high)
            )
        return _check.number(
            self.name,
            value,
            low=self.low,
            low_open=self.low_open,
            high=self.high,
            high_open=self.high_open,
            unit=self.unit,
        )

    @property
    def allowed(self) -> str:
        """The range in words."""
        if self.choices:
            return " or ".join(self.choices)
        kind = "integer " if self.whole else ""
        alternative = ", or empty: automatic" if self.optional else ""
        return kind + _check.interval(self.low, self.low_open, self.high, self.high_open) + alternative


def of(scene: Scene, chosen: numerics.Numerics) -> tuple[Setting, ...]:
    """Everything numeric of a simulation: its materials, gravity, and options of `Simulation`."""
    return (*of_scene(scene), *_of_numerics(chosen))


def of_scene(scene: Scene) -> tuple[Setting, ...]:
    """The materials and gravity."""
    return (*_of_materials(scene), *_of_gravity(scene))


def _materials(scene: Scene) -> dict[Material, list[str]]:
    """The scene's materials, each with the names of its bodies."""
    found: dict[Material, list[str]] = {}
    for body in scene.bodies:
        found.setdefault(body.material, []).append(body.name)
    return found


def _of_materials(scene: Scene) -> list[Setting]:
    return [
        Setting(
            key=f"material {number} {parameter['name']}",
            group=f"{type(material).__name__} · {', '.join(bodies)}",
            name=parameter["name"],
            unit=parameter["unit"].replace("m3", "m³").replace("flag", ""),
            value=getattr(material, parameter["name"]) + 0,  # a flag is a whole number here
            low=parameter["low"],
            low_open=parameter["low_open"],
            high=parameter["high"],
            high_open=parameter["high_open"],
            whole=parameter["unit"] == "flag",
            meaning=parameter["meaning"],
        )
        for number, (material, bodies) in enumerate(_materials(scene).items())
        for parameter in material._given_parameters()
    ]


def _of_gravity(scene: Scene) -> list[Setting]:
    axes = "xyz"[: scene.dimension]
    return [
        Setting(f"gravity {axis}", "Gravity", f"g{axis}", "m/s²", float(value))
        for axis, value in zip(axes, scene.gravity, strict=True)
    ]


def _of_numerics(chosen: numerics.Numerics) -> list[Setting]:
    given = numerics.options(chosen)

    def setting(name: str, unit: str = "", **limits: Any) -> Setting:
        value = given[name]
        return Setting(name, "Numerics", name, unit, None if value == "auto" else value, **limits)

    positive: dict[str, Any] = {"low": 0, "low_open": True}
    found = [
        setting("dx", "m", meaning="cell size; the domain must be a whole number of cells", **positive),
        setting("particles_per_cell", low=1, high=numerics.MAX_PER_CELL, whole=True, meaning="at the start"),
        setting("dt", "s", optional=True, meaning="time step", **positive),
        setting("max_dt", "s", optional=True, meaning="upper limit of the automatic time step", **positive),
        setting("history", low=0, high=numerics.MAX_HISTORY, whole=True, meaning="record every n-th step"),
    ]
    if "flip_ratio" in given:
        found.append(setting("flip_ratio", low=0, high=1, meaning="share of FLIP"))
    if "xpic_order" in given:
        found.append(setting("xpic_order", low=1, high=numerics.MAX_XPIC_ORDER, whole=True))
    if "c_damping" in given:
        found.append(setting("c_damping", low=0, high=1, meaning="damping of the symmetric part of C"))
    return found


def changed_options(chosen: numerics.Numerics, changes: Mapping[str, float | None]) -> dict[str, Any]:
    """The options of `Simulation` with some settings changed."""
    options = numerics.options(chosen)
    for key in ("dx", "particles_per_cell", "dt", "max_dt", "history", *numerics.USED_BY):
        if key in changes:
            options[key] = "auto" if key == "dt" and changes[key] is None else changes[key]
    return options


def changed_scene(scene: Scene, changes: Mapping[str, float | None]) -> Scene:
    """A copy with other materials and gravity, and all else as it is."""
    made = copy.copy(scene)
    gravity = scene.gravity.copy()
    for axis, name in enumerate("xyz"[: scene.dimension]):
        gravity[axis] = changes.get(f"gravity {name}", gravity[axis])
    made._gravity = _check.frozen(gravity)
    materials: dict[Material, Material] = {}
    for number, material in enumerate(_materials(scene)):
        prefix = f"material {number} "
        new = {key.removeprefix(prefix): v for key, v in changes.items() if key.startswith(prefix)}
        materials[material] = material._replaced(cast(Any, new))
    made._bodies = [replace(body, material=materials[body.material]) for body in scene.bodies]
    return made
