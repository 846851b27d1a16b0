"""An entry of the gallery: a scene, the numerics that suit it, and its duration."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, overload

from mpm import fem, sph
from mpm.base import _check
from mpm.handles.solver import Solver
from mpm.mpm.simulation import Simulation
from mpm.scene.domain import are_whole, nearest_dx
from mpm.scene.scene import Scene

# Method → its class, where an entry has its numerics, and the option that is a length.
METHODS: dict[str, tuple[type[Solver], str, str]] = {
    "mpm": (Simulation, "numerics", "dx"),
    "sph": (sph.Simulation, "sph", "spacing"),
    "fem": (fem.Simulation, "fem", "spacing"),
}
UNITS = {
    "gravity": "m/s²",
    "speed": "m/s",
    "angular_velocity": "rad/s",
}  # of numbers that scenes have in common
Build = Callable[..., Scene]
LISTED: dict[str, Entry] = {}
"""The entries by name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A scene of the gallery.

    Attributes
    ----------
    name : str
    summary : str
        What it shows, in one line.
    duration : float
        [s].
    fps : float
        Frames per second of simulated time.
    numerics : mapping
        Its options of `mpm.Simulation`.
    color : str
        What to colour by, as in `Simulation.plot`.
    limits : (float, float) or None
        Ends of the colour scale for `Simulation.plot` and `movie`.
    sph, fem : mapping or None
        Its options of `mpm.sph.Simulation` and `mpm.fem.Simulation`, if they can solve it.
    """

    name: str
    summary: str
    duration: float
    fps: float
    build: Build
    numerics: Mapping[str, Any]
    color: str = "speed"
    limits: tuple[float, float] | None = None
    sph: Mapping[str, Any] | None = None
    fem: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name in ("name", "summary", "color"):
            _check.text(name, getattr(self, name))
        for name in ("duration", "fps"):
            _check.number(name, getattr(self, name), low=0, low_open=True)
        if not callable(self.build):
            raise _check.wrong_type("build", self.build, "callable")
        if not isinstance(self.numerics, Mapping):
            raise _check.wrong_type("numerics", self.numerics, "a mapping")
        if self.limits is not None:
            low, high = _check.array("limits", self.limits, (2,)).tolist()
            if not low < high:
                raise ValueError(f"limits = ({low:g}, {high:g}): the first must be < the second")
        object.__setattr__(self, "numerics", MappingProxyType(dict(self.numerics)))
        for name in ("sph", "fem"):
            own = getattr(self, name)
            if own is not None and not isinstance(own, Mapping):
                raise _check.wrong_type(name, own, "a mapping or None")
            object.__setattr__(self, name, None if own is None else MappingProxyType(dict(own)))

    @property
    def frames(self) -> int:
        """How many frames there are after the first."""
        return round(self.duration * self.fps)

    def scene(self, **physics: Any) -> Scene:
        """The physical problem, new each time.

        Parameters
        ----------
        **physics
            Keywords of the scene's function in `mpm.gallery`, such as ``E=1e6``.

        Raises
        ------
        TypeError
            The scene has no such keyword; the message proposes the nearest.
        """
        return self.build(**physics)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that it has numerics for, of `METHODS`: ``"mpm"`` and maybe others."""
        return tuple(
            name for name, (_, numerics, _) in METHODS.items() if getattr(self, numerics) is not None
        )

    @overload
    def simulation(
        self, *, method: Literal["mpm"] = ..., scene: Scene | None = ..., scale: float = ..., **numerics: Any
    ) -> Simulation: ...
    @overload
    def simulation(
        self, *, method: str, scene: Scene | None = ..., scale: float = ..., **numerics: Any
    ) -> Solver: ...
    def simulation(
        self, *, method: str = "mpm", scene: Scene | None = None, scale: float = 1, **numerics: Any
    ) -> Solver:
        """The scene, by the Material Point Method or another of its methods.

        Parameters
        ----------
        method : {"mpm", "sph", "fem"}
            One of `methods`; default ``"mpm"``.
        scene : Scene, optional
            What `scene` returned, if other physics than the usual are wanted.
        scale : float
            Divides `dx`, of the other methods `spacing`: 2 has half the cell size. `dx` is then rounded so that whole
            cells fill the domain.
        **numerics
            Any keyword of `mpm.Simulation`, `mpm.sph.Simulation` or `mpm.fem.Simulation`; overrides the entry's own.
        """
        return self.solver(method, scene=scene, scale=scale, **numerics)

    def solver(
        self, method: str = "mpm", *, scene: Scene | None = None, scale: float = 1, **numerics: Any
    ) -> Solver:
        """The scene, by any of its methods.

        Parameters
        ----------
        method : {"mpm", "sph", "fem"}
            One of `methods`.
        scene : Scene, optional
            As in `simulation`.
        scale : float
            Divides `dx`, of the other methods `spacing`.
        **numerics
            Any keyword of `mpm.Simulation`, `mpm.sph.Simulation` or `mpm.fem.Simulation`; overrides the entry's own.
        """
        made: Any
        made, own, size = METHODS[_check.choice("method", method, self.methods)]
        chosen = self._scaled(size, getattr(self, own), scale, numerics)
        given = self.scene() if scene is None else scene
        if size == "dx" and scale != 1 and isinstance(given, Scene):
            extent = given.upper - given.lower
            if not are_whole(extent / chosen[size]).all():
                chosen[size] = nearest_dx(extent, chosen[size]) or chosen[size]
        solver: Solver = made(given, **chosen)
        return solver

    @staticmethod
    def _scaled(
        size: str, own: Mapping[str, Any], scale: float, numerics: Mapping[str, Any]
    ) -> dict[str, Any]:
        factor = _check.number("scale", scale, low=0, low_open=True)
        chosen = {**own, **numerics}
        if factor != 1:
            chosen[size] = _check.number(size, chosen[size], low=0, low_open=True, unit="m") / factor
        return chosen


def listed(summary: str, **about: Any) -> Callable[[Build], Build]:
    """Decorator: the function of a scene becomes an entry of its name, and its keywords are checked: unknown ones, and
    that those of `UNITS` are numbers. `about` has the other attributes of `Entry`."""

    def decorate(build: Build) -> Build:
        numbers = [name for name in UNITS if name in inspect.signature(build).parameters]

        @_check.options
        @functools.wraps(build)
        def checked(**physics: Any) -> Scene:
            given = [name for name in numbers if name in physics]
            return build(**physics | {k: _check.number(k, physics[k], unit=UNITS[k]) for k in given})

        entry = Entry(build.__name__.replace("_", "-"), summary, build=checked, **about)
        LISTED[entry.name] = entry
        return checked

    return decorate
