"""What a run was like: its frames so far, to go back to. They are bounded in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.materials.laws import Material
from mpm.scene.colliders import Placed
from mpm.solver import derived
from mpm.solver.solids import Solid
from mpm.solver.source import Running, Source
from mpm.solver.state import State

MEMORY = 256 << 20  # bytes of the frames that are kept
FRAMES = 10_000  # at most
LEFT_OUT = ("C",)  # no picture shows them
CHANGES = (
    "x",
    "v",
    "F",
    "J",
)  # in every step; other fields are shared with the frame before where they are equal


class Kept:
    """A state of a run, as a source for pictures. Fields are in single precision, which pictures do not tell from
    double; so are the values of `color`, which were computed from the fields as they were.

    Parameters
    ----------
    run : Running
    color : str
        What the picture is coloured by.
    before : Kept, optional
        The frame before, which shares what has not changed.
    """

    def __init__(self, run: Running, color: str, before: Kept | None) -> None:
        names = [name for name in run.particles.fields if name not in LEFT_OUT]
        state = run._state(list(dict.fromkeys((*names, color))))
        self._run, self.scene, self.time, self.steps = run, run.scene, state.time, state.step
        self.dimension, self.quantities = state.dimension, run.quantities
        self._mesh, self._at, self._kind_names = run._cells(), run._posed(), run._kinds()
        self._parts: list[Any] = list(getattr(run, "_parts", ()))
        self._spans, self._rigid = dict(run._bodies()), run._solids()
        self._laws: list[Material] = list(run.materials)
        self.nbytes = 0
        with np.errstate(over="ignore"):
            self._fields = {name: self._shared(name, state.fields[name], before) for name in names}
            self._computed = {} if color in names else {color: state.fields[color].astype(np.float32)}
        self.nbytes += sum(values.nbytes for values in self._computed.values())

    def _shared(self, name: str, values: npt.NDArray[Any], before: Kept | None) -> npt.NDArray[Any]:
        narrow = values.astype(np.float32) if values.dtype.kind == "f" else values
        if before is not None and name not in CHANGES:
            earlier = before._fields.get(name)
            if earlier is not None and np.array_equal(earlier, narrow, equal_nan=narrow.dtype.kind == "f"):
                return earlier
        self.nbytes += narrow.nbytes
        return narrow

    def arrays(self) -> Iterator[npt.NDArray[Any]]:
        """All that it holds."""
        yield from self._fields.values()
        yield from self._computed.values()

    # ---- a source, see mpm.solver.source --------------------------------------------------------------------

    @property
    def particles(self) -> Kept:
        """The arrays by name."""
        return self

    @property
    def fields(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self._fields)

    @property
    def units(self) -> Mapping[str, str]:
        """Their units."""
        return self._units

    @property
    def _units(self) -> Mapping[str, str]:
        return self._run._units

    def __len__(self) -> int:
        return len(self._fields["x"])

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._fields[name]

    def compute(self, name: str) -> npt.NDArray[Any]:
        """A quantity of the particles, with the parameters that the laws had."""
        chosen = _check.choice("name", name, self.quantities)
        if chosen not in self._computed:
            run = cast(Any, self._run)
            present = getattr(run, "_materials", None)
            if present is None:
                return np.asarray(run._quantity(chosen, cast(derived.Fields, self)))
            run._materials = self._laws
            try:
                return np.asarray(run._quantity(chosen, cast(derived.Fields, self)))
            finally:
                run._materials = present
        return self._computed[chosen]

    def _state(self, names: Sequence[str]) -> State:
        fields = {n: self._fields[n] if n in self._fields else self.compute(n) for n in ("x", *names)}
        return State(self.time, self.steps, self.dimension, fields, {})

    def _posed(self) -> list[Placed]:
        return list(self._at)

    def _kinds(self) -> tuple[str, ...]:
        return self._kind_names

    def _bodies(self) -> Mapping[str, tuple[int, int]]:
        return self._spans

    def _missing(self, name: str) -> str:
        return self._run._missing(name)

    def _cells(self) -> npt.NDArray[Any] | None:
        return self._mesh

    def _solids(self) -> Sequence[Solid]:
        return self._rigid


Frame = tuple[Kept, ...]
"""A state of each of the runs that are shown."""


class Past:
    """Frames at equal intervals, and the last one. When they are more than `MEMORY`, every second is dropped, and from
    then on every second is kept: so all of a run stays within reach, the more coarsely the longer it gets."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._added, self._stride, self._bytes = 0, 1, 0

    def add(self, runs: Sequence[Running], color: str) -> None:
        """The present. Nothing is kept of runs of which not even some frames fit."""
        last = self.frames[-1] if self.frames else (None,) * len(runs)
        frame = tuple(Kept(run, color, before) for run, before in zip(runs, last, strict=True))
        if 4 * sum(one.nbytes for one in frame) > MEMORY and not self.frames:
            return
        if self.frames and (self._added - 1) % self._stride:
            self._bytes -= sum(one.nbytes for one in self.frames.pop())
        self.frames.append(frame)
        self._added += 1
        self._bytes += sum(one.nbytes for one in frame)
        while (self._bytes > MEMORY or len(self.frames) > FRAMES) and len(self.frames) > 2:
            self._thin()

    def _thin(self) -> None:
        *others, last = self.frames
        self.frames = [*others[::2], last]
        self._stride *= 2
        held = {id(array): array.nbytes for frame in self.frames for one in frame for array in one.arrays()}
        self._bytes = sum(held.values())

    def nearest(self, time: float) -> int:
        """The frame that is nearest to a time [s]."""
        times = [frame[0].time for frame in self.frames]
        return int(np.argmin(np.abs(np.asarray(times) - time))) if times else 0


def is_present(one: Source) -> bool:
    """Whether a source is the run itself, and not what it was like."""
    return not isinstance(one, Kept)
