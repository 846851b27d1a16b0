"""What comes and goes during a run: `Flowing`, a base of `Scene`."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from mpm.base import _check
from mpm.materials.laws import Material
from mpm.scene.drains import Drain, make_drain
from mpm.scene.emitters import Emitter, make_emitter, refuse_titles
from mpm.shapes import Shape

__all__ = ["Flowing"]


class Flowing:
    """What has bodies, emitters and drains."""

    __slots__ = ()

    _bodies: list[Any]
    _emitters: list[Emitter]
    _drains: list[Drain]

    @property
    def dimension(self) -> int:
        """2 or 3."""
        raise NotImplementedError

    def _refuse_if_kept(self, instead: str) -> None:
        """Raise ValueError for the scene of a simulation."""
        raise NotImplementedError

    @property
    def emitters(self) -> tuple[Emitter, ...]:
        """The emitters in the order of their addition."""
        return tuple(self._emitters)

    @property
    def drains(self) -> tuple[Drain, ...]:
        """The drains in the order of their addition."""
        return tuple(self._drains)

    @_check.options
    def add_emitter(
        self,
        shape: Shape,
        material: Material,
        *,
        velocity: npt.ArrayLike,
        rate: float | None = None,
        start: float = 0.0,
        until: float | None = None,
        name: str | None = None,
    ) -> Emitter:
        """Add an emitter: a shape that fills with new material again and again while a simulation runs.

        A filling is a body of its own, ``NAME 0``, ``NAME 1``, …, which moves with the velocity from the time of its
        turn on. It comes after the first whole step at or after this time, moved on by what it is late. Without a
        `rate` a filling comes when the one before has just left the shape, so that the jet has no gaps. A scene with an
        emitter needs no bodies: it may start empty. `mpm.Simulation` and `mpm.sph.Simulation` take
        emitters; `mpm.fem.Simulation` refuses them. In `mpm.sph.Simulation` a filling that finds fluid or a collider
        in its shape lacks the particles there, or all of them; the first one of an emitter warns. A wall behind an
        emitter must not hold on to what leaves: see `Simulation.add`.

        Parameters
        ----------
        shape : one of `mpm.shapes`
            Finite, of a volume > 0, within the domain: a simulation refuses others.
        material : one of `mpm.materials`
            Neither rigid nor with parameters that vary.
        velocity : array_like, shape (d,)
            Of the material [m/s], not 0; components of at most 1e90.
        rate : float, optional
            Volume per time [m³/s], in 2-D [m²/s], > 0; at most, and by default, the volume of the shape over the time
            in which the material leaves it.
        start : float
            When the first filling comes [s], >= 0, default 0.
        until : float, optional
            No filling comes at this time or later [s], > `start`. Default: it never ends.
        name : str, optional
            A unique name; default ``emitter0``, ``emitter1``, … No body may be ``NAME`` with a space and a number.

        Returns
        -------
        Emitter
            With ``volume``, ``rate``, ``interval`` [s], and what was given.

        Raises
        ------
        TypeError, ValueError
            An argument is of the wrong type, shape or range, or the scene belongs to a simulation; the scene stays as
            before.
        """
        self._refuse_if_kept("sim.add(shape, material) adds a body to the simulation")
        emitter = make_emitter(
            shape,
            material,
            velocity=velocity,
            rate=rate,
            start=start,
            until=until,
            name=name,
            dimension=self.dimension,
            taken={one.name for one in self._bodies} | {one.name for one in self._emitters},
            number=len(self._emitters),
        )
        for body in self._bodies:
            refuse_titles(body.name, [emitter])
        self._emitters.append(emitter)
        return emitter

    @_check.options
    def add_drain(
        self,
        shape: Shape,
        *,
        start: float = 0.0,
        every: float | None = None,
        until: float | None = None,
        name: str | None = None,
    ) -> Drain:
        """Add a drain: a shape that takes the particles which are in it, as `particles.delete` does.

        Without `every` it acts once, at the time `start`, as an excavation does; with it again and again, as an outlet
        does. A turn comes after the first whole step at or after its time, before emitters fill; the first one at
        ``start=0`` comes before the first step. `mpm.Simulation` and `mpm.sph.Simulation` take drains;
        `mpm.fem.Simulation` refuses them.

        Parameters
        ----------
        shape : one of `mpm.shapes`
            A solid that does not change with time; it may be infinite, such as a half-space. At a wall it should end
            outside of the domain, because particles may lie a little beyond a face.
        start : float
            When it acts first [s], >= 0, default 0.
        every : float, optional
            Between two turns [s], > 0; turns closer than the steps come once a step. Default: there is one turn.
        until : float, optional
            No turn comes at this time or later [s], > `start`; needs `every`. Default: turns never end.
        name : str, optional
            A unique name; default ``drain0``, ``drain1``, …

        Returns
        -------
        Drain

        Raises
        ------
        TypeError, ValueError
            An argument is of the wrong type, shape or range, or the scene belongs to a simulation; the scene stays as
            before.
        """
        self._refuse_if_kept("sim.particles.delete(shape) deletes the particles that are in a shape now")
        drain = make_drain(
            shape,
            start=start,
            every=every,
            until=until,
            name=name,
            dimension=self.dimension,
            taken={one.name for one in self._drains},
            number=len(self._drains),
        )
        self._drains.append(drain)
        return drain
