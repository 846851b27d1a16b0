"""Solvers whose bodies are particles, which come and go."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.joints import Joint
from mpm.materials.laws import Material
from mpm.sampling.sampling import refuse_outside
from mpm.scene.emitters import LATE, Emitter, refuse_titles
from mpm.scene.scene import Body, Gradient, Scene, Velocity, make_body
from mpm.shapes import Box, Shape
from mpm.solver import derived
from mpm.solver.solver import SolverBase

__all__ = ["Gone", "Part", "Populated", "refuse_emitters_outside", "rows_of"]

MOST_IDS = 2**62
START = "start"  # the field that `keep_start` adds


class Part(Protocol):
    """What is kept of a body: the ids of its particles are consecutive."""

    @property
    def name(self) -> str:
        """Of the body."""

    @property
    def first_id(self) -> int:
        """Of its particles."""

    @property
    def particles(self) -> int:
        """Their number at first."""


@dataclass(frozen=True, slots=True)
class Gone:
    """What is kept of a body without particles: its name, which stays taken, and where its rows would be.

    Without it a simulation that adds bodies and deletes them would grow by the shapes and fields of all of them.
    """

    name: str
    first_id: int
    particles: ClassVar[int] = 0

    @property
    def text(self) -> str:
        """Its line in `repr`."""
        return f"{self.name}: no particle is left"

    @classmethod
    def restored(cls, entry: Mapping[str, Any], taken: Collection[str], low: int) -> Self | None:
        """The body that an entry of a file describes, among others of the names `taken`; None if it has particles."""
        if "particles" in entry:
            return None
        gone = cls(
            _check.text("name", entry["name"]),
            _check.integer("first_id", entry["first_id"], low=low, high=MOST_IDS),
        )
        if gone.name in taken:
            raise ValueError(f"name = {_check.shown(gone.name)}: there are two bodies of that name")
        return gone


class Populated(SolverBase, abstract=True):
    """Base of solvers whose bodies are particles: the rows of a body, and bodies that are added between steps."""

    __slots__ = ("_parts",)

    _parts: list[Any]
    """A `Part`, or `Gone`, of each body, in the order in which they were added."""

    def rows(self, body: str) -> slice:
        """The rows of a body's particles in the arrays of `particles`.

        Parameters
        ----------
        body : str
            Name of the body.

        Returns
        -------
        slice
            Consecutive rows without deleted particles; valid until particles are deleted.
            ``sim.particles.v[sim.rows("ball")]`` is a view.

        Raises
        ------
        TypeError, ValueError
            This simulation has no body of that name.
        """
        parts = {part.name: part for part in self._parts}
        return rows_of(parts[_check.choice("body", body, tuple(parts))], self.particles._copy("id"))

    def _bodies(self) -> dict[str, tuple[int, int]]:
        return {part.name: (part.first_id, part.particles) for part in self._parts}

    def _new_body(
        self,
        shape: Shape,
        material: Material,
        velocity: Velocity,
        angular_velocity: npt.ArrayLike,
        F: Gradient | None,
        name: str | None,
        joint: Joint | None = None,
    ) -> Body:
        """The body of the arguments of `add`."""
        body = make_body(
            shape,
            material,
            velocity=velocity,
            angular_velocity=angular_velocity,
            F=F,
            name=name,
            joint=joint,
            dimension=self.dimension,
            taken={part.name for part in self._parts},
            number=len(self._parts),
        )
        refuse_titles(body.name, self._scene.emitters)
        return body

    def _filled(self, body: Body, offset: FloatArray) -> int:
        """Add a body whose particles are moved by an offset (d,) [m], without those that find no room; return how many
        particles it has with them. A body without particles is `Gone`."""
        raise NotImplementedError

    def _fillings(self) -> dict[str, int]:
        """How often each emitter has filled: the parts keep their names, whatever becomes of their particles."""
        count = dict.fromkeys((emitter.name for emitter in self._scene.emitters), 0)
        for part in self._parts:
            name, _, number = part.name.rpartition(" ")
            if name in count and number == str(count[name]):
                count[name] += 1
        return count

    def _next_change(self) -> float:
        scene, count = self._scene, self._fillings() if self._scene._emitters else {}
        fillings = [one.time(count[one.name]) * (1 - LATE) for one in scene._emitters]
        return min([*fillings, *(one.next_turn(self._core.time) for one in scene._drains)], default=math.inf)

    def _drain(self, before: float) -> None:
        for drain in self._scene._drains:
            if drain.next_turn(before) <= self._core.time:
                self.particles.delete(drain.shape)

    def _emit(self) -> None:
        if not self._scene._emitters:
            return
        now, count = self._core.time, self._fillings()
        for emitter in self._scene.emitters:
            number = count[emitter.name]
            while (due := emitter.time(number)) * (1 - LATE) <= now:
                body = make_body(
                    emitter.shape,
                    emitter.material,
                    velocity=emitter.velocity,
                    angular_velocity=0,
                    F=None,
                    name=emitter.title(number),
                    dimension=self.dimension,
                    taken={part.name for part in self._parts},
                    number=number,
                )
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    whole = self._filled(body, emitter.velocity * max(0.0, now - due))
                if self._parts[-1].particles < whole:
                    self._warn_of_short(emitter, number, whole)
                number += 1

    def _warn_of_short(self, emitter: Emitter, number: int, whole: int) -> None:
        """Warn of the first filling of an emitter that finds no room for all its particles."""
        earlier = {emitter.title(k) for k in range(number)}
        for part, following in pairwise(self._parts):  # the ids tell how many particles a body had at first
            if part.name in earlier and following.first_id - part.first_id < whole:
                return
        title, has = emitter.title(number), self._parts[-1].particles
        warnings.warn(
            f"emitter {emitter.name!r}: {title!r} has {has} of {whole} particles, because fluid or a collider is in "
            "its shape; later fillings may lack particles too, without a warning; let the fluid leave it, or take a "
            "smaller rate",
            UserWarning,
            stacklevel=_check.levels_to_caller(),
        )

    def _material_of_bodies(self) -> dict[str, int]:
        material = self.particles._copy("material")
        rows = {part.name: self.rows(part.name) for part in self._parts}
        return {name: int(material[one.start]) for name, one in rows.items() if one.stop > one.start}

    def _lefts(self) -> list[int]:
        """How many particles are left of each body."""
        if self._core.particles == sum(part.particles for part in self._parts):
            return [part.particles for part in self._parts]
        ends = [(part.first_id, part.first_id + part.particles) for part in self._parts]
        # A damaged file may have particles without a body.
        rows = np.searchsorted(self.particles._copy("id"), np.array(ends, dtype=np.int64).reshape(-1, 2))
        return [int(count) for count in rows[:, 1] - rows[:, 0]]

    def keep_start(self) -> None:
        """Keep the present positions of the particles, from which ``compute("displacement")`` then measures.

        They are the field ``start`` (n, d) [m] of the particles. It follows them: when particles are deleted, the
        displacement of the others stays right. Bodies that are added later, those of emitters too, start where they
        begin. Checkpoints keep the field. A further call measures from the positions then.

        Raises
        ------
        ValueError
            A field of the user has this name, and another shape.
        """
        particles = self.particles
        if START not in particles.fields:
            particles.add_field(START, rank="vector", unit="m")
        elif not self._keeps_start():
            raise ValueError(
                f"the particles have a field {START!r} of another rank or unit: keep_start() needs the name"
            )
        particles[START] = particles._copy("x")

    def _keeps_start(self) -> bool:
        """Whether `keep_start` was called."""
        particles = self.particles
        return (
            START in particles.fields
            and particles.units[START] == "m"
            and particles._copy(START).shape == (len(particles), self.dimension)
        )

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities of `compute`."""
        return (*super().quantities, *(["displacement"] if self._keeps_start() else []))

    @property
    def _units(self) -> dict[str, str]:
        return super()._units | {"displacement": "m"}

    def _quantity(self, name: str, particles: derived.Fields) -> FloatArray:
        if name != "displacement":
            return super()._quantity(name, particles)
        x, start = (np.asarray(particles[one], dtype=np.float64) for one in ("x", START))
        moved = x - start
        for axis, letter in enumerate("xyz"[: self.dimension]):
            if self._scene.walls[f"{letter}-"].contact == "periodic":
                period = float(self._scene.upper[axis] - self._scene.lower[axis])
                moved[:, axis] -= period * np.round(moved[:, axis] / period)
        return moved

    @contextmanager
    def _adding(self) -> Iterator[None]:
        """Within it a body is added; or, after any error, none is there. Bodies without particles are forgotten."""
        self._core.totals()  # what was written through views is taken, or refused, before anything changes
        parts, particles = len(self._parts), self._core.particles
        try:
            yield
        except BaseException:
            del self._parts[parts:]
            if self._core.particles > particles:  # an interrupt after they were added
                self.particles.delete(np.arange(self._core.particles) >= particles)
            raise
        if self._keeps_start() and self._core.particles > particles:
            self.particles[START][particles:] = self.particles._copy("x")[particles:]
        self._forget_empty()

    def _forget_empty(self) -> None:
        """Keep only the name of bodies without particles."""
        for index, left in enumerate(self._lefts()):
            if not left:
                part = self._parts[index]
                self._parts[index] = Gone(part.name, part.first_id)


def refuse_emitters_outside(scene: Scene, size: float) -> None:
    """Raise before a run begins for emitters that cannot fill; `size` is that of cells [m]."""
    for emitter in scene.emitters:
        refuse_outside(emitter.shape, Box(scene.lower, scene.upper), size, f" of {emitter.name!r}")


def rows_of(part: Part, ids: npt.NDArray[Any]) -> slice:
    """Of a body's particles; `ids` ascend, whatever was deleted."""
    low, high = np.searchsorted(ids, (part.first_id, part.first_id + part.particles))
    return slice(int(low), int(high))
