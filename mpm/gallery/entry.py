"""An entry of the gallery: a scene, the numerics that suit it, and its duration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mpm import _check
from mpm.scene import Scene
from mpm.simulation import Simulation
from mpm.solver import Solver

METHODS = ("mpm", "fem")


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
    """

    name: str
    summary: str
    duration: float
    fps: float
    build: Callable[..., Scene]
    numerics: Mapping[str, Any]
    color: str = "speed"
    limits: tuple[float, float] | None = None

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

    def simulation(self, *, scene: Scene | None = None, scale: float = 1, **numerics: Any) -> Simulation:
        """The scene by the Material Point Method.

        Parameters
        ----------
        scene : Scene, optional
            What `scene` returned, if other physics than the usual are wanted.
        scale : float
            Divides `dx`: 2 has half the cell size.
        **numerics
            Any keyword of `mpm.Simulation`; overrides the entry's own.
        """
        factor = _check.number("scale", scale, low=0, low_open=True)
        chosen = {**self.numerics, **numerics}
        if factor != 1:
            chosen["dx"] = _check.number("dx", chosen["dx"], low=0, low_open=True, unit="m") / factor
        return Simulation(self.scene() if scene is None else scene, **chosen)

    def solver(self, method: str = "mpm", **numerics: Any) -> Solver:
        """The scene by a method.

        Parameters
        ----------
        method : {"mpm", "fem"}
            ``"mpm"``: `simulation`. ``"fem"``: linear finite elements whose cells have the size `dx` of the entry; the
            scene must consist of elastic bodies.
        **numerics
            Any keyword of `mpm.Simulation` or `mpm.fem.Simulation`.

        Raises
        ------
        TypeError, ValueError
            The method cannot compute the scene; the message says why.
        """
        if _check.choice("method", method, METHODS) == "mpm":
            return self.simulation(**numerics)
        from mpm import fem

        return fem.Simulation(self.scene(), **{"spacing": self.numerics["dx"], **numerics})
