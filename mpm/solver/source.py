"""The protocols of what can be drawn, exported, recorded and viewed; pictures, files and the viewer know no more.

A `Source` is one state: the current state of a solver, or a frame of a recording. A `Running` source can advance; a
`Series` is a recording. Names with an underscore are private to the package.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from mpm.base._check import FloatArray
from mpm.materials.laws import Material
from mpm.scene.colliders import Placed
from mpm.scene.scene import Scene
from mpm.scene.settings import Setting
from mpm.solver.derived import Fields
from mpm.solver.solids import Solid
from mpm.solver.state import State
from mpm.solver.totals import Recorded, Totals

if TYPE_CHECKING:
    from mpm.solver.team import Team


class Source(Protocol):
    """A state of particles in a scene; n particles in d dimensions."""

    @property
    def time(self) -> float:
        """[s]."""

    @property
    def dimension(self) -> int:
        """d, 2 or 3."""

    @property
    def scene(self) -> Scene:
        """The domain, gravity, walls and colliders; its bodies are not looked at."""

    @property
    def particles(self) -> Fields:
        """The arrays by name: ``x`` and ``volume`` at least."""

    @property
    def quantities(self) -> tuple[str, ...]:
        """What `compute` can answer."""

    @property
    def _units(self) -> Mapping[str, str]:
        """Units of fields and quantities by name, in 3-D."""

    def compute(self, name: str) -> npt.NDArray[Any]:
        """A quantity of the particles, (n, …)."""

    def _state(self, names: Sequence[str]) -> State:
        """Copies of the positions and of the named fields and quantities."""

    def _posed(self) -> list[Placed]:
        """The colliders at their current poses."""

    def _kinds(self) -> tuple[str, ...]:
        """What the materials are, which the field ``material`` counts; may be empty."""

    def _bodies(self) -> Mapping[str, tuple[int, int]]:
        """The first id of the particles of each body, and how many ids it has, by its name; may be empty."""

    def _missing(self, name: str) -> str:
        """An addition to the error for a known field or quantity that this source lacks; may be empty."""

    def _cells(self) -> npt.NDArray[Any] | None:
        """The rows of the corners (m, d + 1) of the triangles or tetrahedra of the bodies; None: there are particles
        only. Triangles fill 2-D pictures, files have the cells."""

    def _solids(self) -> Sequence[Solid]:
        """The rigid bodies whose shapes are known; pictures show these shapes in place of their particles."""


class Running(Source, Protocol):
    """A source that goes on: the viewer plays it, recordings and movies follow it."""

    threads: int
    _recordings: list[Any]  # the open ones
    _team: Team | None  # of several processes
    _distributed: bool  # several MPI processes have the particles

    def _shaped(self) -> Sequence[Solid]:
        """All rigid bodies with particles, also those whose particles are not where the shape is."""

    @property
    def steps(self) -> int:
        """Steps taken."""

    @property
    def materials(self) -> tuple[Material, ...]:
        """What the field ``material`` counts."""

    @property
    def history(self) -> Mapping[str, FloatArray]:
        """What was recorded at steps, by column."""

    def totals(self) -> Totals:
        """Mass, momentum, energies, … now."""

    def step(self, n: int = 1) -> None:
        """Take n whole steps."""

    def _advance(self, *, steps: int, pause: float) -> None:
        """Take whole steps, up to the first that reaches the time `pause` [s]."""

    def frames(self, *args: Any, **options: Any) -> Iterator[tuple[int, float]]:
        """See `Solver.frames`."""

    def record(self, *args: Any, **options: Any) -> Any:
        """See `Solver.record`."""

    def _options(self) -> dict[str, Any]:
        """The numerics to store in a recording, including the resolution ``dx`` [m]."""

    def _settings(self) -> tuple[Setting, ...]:
        """The settings with which it can be made anew."""

    def _rebuilt(self, changes: Mapping[str, Any]) -> Any:
        """A new source of the same scene, with some settings changed."""

    @property
    def _has_grid(self) -> bool:
        """Whether it has a grid."""

    def _nodes(self) -> tuple[npt.NDArray[np.floating[Any]], npt.NDArray[np.floating[Any]]]:
        """Positions and velocities (m, d) of the nodes of its grid."""

    def _replayed(self, path: str) -> Series:
        """Open a recording."""


class Series(Protocol):
    """What was recorded, frame by frame."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def fps(self) -> float:
        """Frames per second that were asked for."""

    @property
    def times(self) -> FloatArray:
        """Of the frames [s]."""

    @property
    def totals(self) -> Recorded:
        """Those of the frames, by the names of `mpm.solver.totals.Totals`."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Source: ...
    def __iter__(self) -> Iterator[Source]: ...
    def close(self) -> None:
        """Close the file."""

    def _replayed(self, path: str) -> Series:
        """Open another recording."""


def is_source(thing: object) -> TypeGuard[Source]:
    """Whether a thing is one state; a series is not."""
    return all(hasattr(type(thing), name) for name in ("_state", "_posed"))
