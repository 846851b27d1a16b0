"""The options that all methods share. A method adds its own rows in a subclass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypedDict

import numpy as np
import numpy.typing as npt

from mpm.base import _check, config
from mpm.base.options import CoreRows, Flag, Number, Options, Row, option, rows
from mpm.scene import walls
from mpm.scene.scene import Scene
from mpm.scene.waves import speeds_of
from mpm.solver.stepping import LEAST_STEP, DType, checked_dtype

CORE = CoreRows("common")


class CommonArguments(TypedDict, total=False):
    """The arguments that give the options of `Common`."""

    dtype: npt.DTypeLike
    dt: float | str
    max_dt: float | None
    allow_unstable: bool
    threads: int | None
    history: int


@dataclass(frozen=True)
class _Step(Number):
    """Checks a time step: "auto", or a number."""

    def __call__(self, row: Row, value: object, others: Mapping[str, Any]) -> float:
        if isinstance(value, str):
            if value != "auto":
                raise ValueError(f"{row.name} = {value!r}: must be 'auto' or a number > 0 [s]")
            return 0.0
        if isinstance(value, (bool, np.bool_)) or value is None:
            raise _check.wrong_type(row.name, value, "'auto' or a number > 0 [s]")
        return float(super().__call__(row, value, others))


@dataclass(frozen=True, kw_only=True)
class Common(Options):
    """The rows of the options that every method has, see `mpm.Simulation`."""

    _in_core: ClassVar[CoreRows]
    """Those of the method that the core has, too."""

    dtype: DType = option("float64", lambda row, value, others: checked_dtype(value))
    dt: float = option(  # 0: automatic
        "auto",
        _Step(0, low_open=True, none=None),
        "s",
        "time step",
        viewer=True,
        optional=True,
        says=lambda dt: dt or "auto",
    )
    max_dt: float = option(
        None,
        Number(0, low_open=True, none=math.inf),
        "s",
        "upper limit of the automatic time step",
        viewer=True,
        optional=True,
        says=lambda bound: None if bound == math.inf else bound,
    )
    allow_unstable: bool = option(False, Flag(), meaning="accept a fixed dt above the bound")
    threads: int | None = option(None, CORE.number("threads", none=None), meaning="of a run", kept=False)
    history: int = option(
        1, CORE.number("history"), "", "record the start and every n-th step; 0: nothing", viewer=True
    )

    @classmethod
    def checked(cls, scene: Scene, arguments: Mapping[str, Any]) -> Self:
        """The options of a simulation of the scene, from its arguments; TypeErrors and ValueErrors name the option, its
        value and what is allowed. Names that are no options are left alone: `arguments` may be the ``locals()`` of an
        ``__init__``."""
        raise NotImplementedError

    @classmethod
    def restored(cls, scene: Scene, entries: Mapping[str, Any]) -> Self:
        """The options that a file keeps; those that an older version did not have get their defaults."""
        names = [name for name, row in rows(cls).items() if row.kept]
        if unknown := sorted(map(str, entries.keys() - set(names))):
            raise ValueError(f"the options have {_check.shown(unknown)}: must be among {', '.join(names)}")
        return cls.checked(scene, entries)

    def __post_init__(self) -> None:
        """Refuse values that do not go together."""
        if self.allow_unstable and not self.dt:
            raise ValueError("allow_unstable = True: dt='auto' does not use it; it is for a fixed dt")
        if self.dt and self.max_dt < math.inf:
            raise ValueError(f"max_dt = {self.max_dt:g}: a fixed dt does not use it; it is for dt='auto'")
        for name, value in (("dt", self.dt), ("max_dt", self.max_dt)):
            if 0 < value < LEAST_STEP[self.dtype]:  # the precision knows it as 0
                raise ValueError(
                    f"{name} = {value:g} s: must be >= {LEAST_STEP[self.dtype]:g} s in {self.dtype}"
                )

    def changed(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Without what the new kind of time step does not use."""
        new = super().changed(changes)
        new["dt"] = new["dt"] or "auto"
        if new["dt"] == "auto":
            new["allow_unstable"] = False
        elif "max_dt" not in changes:
            new["max_dt"] = None
        return new

    def _for_core(self, scene: Scene) -> dict[str, Any]:
        """The arguments of the core: options that it has by the same name, and the scene."""
        own = {
            name: getattr(self, name) for name in rows(type(self)) if name in CORE or name in self._in_core
        }
        return own | {
            "dim": scene.dimension,
            "lower": scene.lower.tolist(),
            "gravity": scene.gravity.tolist(),
            "walls": [
                (wall.contact, wall.friction, wall.restitution, *speeds_of(scene, face), wall.friction_heat)
                for face, wall in scene.walls.items()
            ],
            "on_leave": walls.fates(getattr(self, "on_leave", walls.FATES[0]), scene.dimension),
            "threads": self.threads or config.get_num_threads(),
            "isa": config.isa(),
        }


@dataclass(frozen=True, kw_only=True)
class Leaving(Common):
    """With the rows of methods whose particles may leave the domain."""

    on_leave: str | dict[str, str] = option(  # as `walls.leaving` returns it
        "raise",
        lambda row, value, others: walls.leaving(value, others["scene"].dimension),
        meaning="fate of particles that leave the domain",
    )
    cells: tuple[int, ...]  # of the domain along each axis

    def _for_core(self, scene: Scene) -> dict[str, Any]:
        return super()._for_core(scene) | {"cells": self.cells}
