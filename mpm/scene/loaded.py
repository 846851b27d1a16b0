"""The loads, heat sources and held regions of a scene: `Loaded`, a base of `Scene`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy.typing as npt

from mpm.base import _check
from mpm.materials.laws import Material
from mpm.scene.colliders import Collider
from mpm.scene.loads import (
    Force,
    HeatSource,
    Hold,
    Load,
    OfPlace,
    OfTime,
    SoluteSource,
    Source,
    Traction,
    Where,
    make_force,
    make_hold,
    make_source,
    make_traction,
)

__all__ = ["Loaded"]


class Body(Protocol):
    """A body of the scene, a `mpm.scene.scene.Body`."""

    @property
    def name(self) -> str:
        """Unique in the scene."""

    @property
    def material(self) -> Material:
        """What it is made of."""


class Loaded:
    """What has bodies, and loads on them."""

    __slots__ = ()

    _bodies: list[Any]
    _colliders: list[Collider]
    _loads: list[Load]

    @property
    def dimension(self) -> int:
        """2 or 3."""
        raise NotImplementedError

    def _refuse_if_kept(self, instead: str) -> None:
        """Raise ValueError for the scene of a simulation."""
        raise NotImplementedError

    def _about_loads(self) -> dict[str, Any]:
        """What the checks of a load need."""
        self._refuse_if_kept("make a new simulation")
        return {
            "dimension": self.dimension,
            "bodies": [body.name for body in self._bodies],
            "taken": {one.name for one in (*self._colliders, *self._loads)},
        }

    def _refuse_on_rigid(self, load: Source | Traction | Hold) -> None:
        body = next(body for body in self._bodies if body.name == load.body)
        if body.material._row["rigid"] and isinstance(load, Source):
            has = "holds no solute" if isinstance(load, SoluteSource) else "has no temperature"
            raise ValueError(f"body of {load.name!r} = {load.body!r}: is rigid and {has}")
        if body.material._row["rigid"]:
            raise ValueError(
                f"body of {load.name!r} = {load.body!r}: is rigid and moves as a whole; scene.add_force pushes it, a "
                "joint= of scene.add holds it, and a collider with a motion moves as it is told"
            )

    @_check.options
    def add_force(self, body: Body | str, force: npt.ArrayLike | OfTime, *, name: str | None = None) -> Force:
        """Add a force on a body.

        The particles or nodes of the body share it in proportion to their masses, as they share its weight; where
        particles are deleted, the others bear it. A function is evaluated at the beginning of every step, and the whole
        step uses its result. The history has the impulse and the work of the force, ``impulse:NAME``, ``force:NAME``
        and ``work:NAME``, and `Simulation.force` its mean. `mpm.Simulation` and `mpm.fem.Simulation` take loads,
        explicit and implicit; `mpm.sph.Simulation` refuses them. As with a `body_force`, steps are called from Python
        one by one, and the bound of the time step ignores the force (give `max_dt` if it drives the motion).

        Parameters
        ----------
        body : Body or str
            A body of the scene, or its name.
        force : array_like of shape (d,), or callable
            [N], in 2-D per metre of depth; or a function f(t) of the time [s].
        name : str, optional
            Unique among loads and colliders; default ``force0``, ``force1``, …

        Returns
        -------
        Force

        Raises
        ------
        TypeError, ValueError
            An argument is of the wrong type, shape or range, or the scene belongs to a simulation; the scene stays as
            before.
        """
        load = make_force(body=body, force=force, name=name, **self._about_loads())
        self._loads.append(load)
        return load

    @_check.options
    def add_traction(
        self,
        body: Body | str,
        where: Where = None,
        *,
        pressure: float | OfPlace | None = None,
        traction: npt.ArrayLike | OfPlace | None = None,
        follows: bool | None = None,
        name: str | None = None,
    ) -> Traction:
        """Add a pressure, or another force per area, on the surface of a body.

        `mpm.fem.Simulation` loads the faces of its mesh. `mpm.Simulation` finds the surface of the shape when it is
        made; each piece of the surface belongs to the nearest particle and moves with the particles around that one,
        so that it turns and stretches with the material, whatever the law. Its force acts at the surface, not at the
        particle. Pieces beside deleted particles are gone. Bodies of `mpm.shapes.Points` have no surface, and `Rigid`
        ones take `add_force`. Functions are evaluated at the beginning of every step, at the places of then; so is
        the surface that a load follows, in implicit steps too. History and `Simulation.force` as with `add_force`.

        Parameters
        ----------
        body : Body or str
            A body of the scene, or its name.
        where : one of `mpm.shapes`, or callable, optional
            The part of the surface that is loaded: what is in a shape or on it, or a function of positions (n, d) that
            returns truth values (n,). It chooses once, at the beginning. Default: all of the surface.
        pressure : float or callable
            [Pa], against the outward normal; or a function f(t) of the time [s], or f(x, t) of positions (k, d) that
            returns (k,).
        traction : array_like of shape (d,), or callable
            [Pa], in the directions of the axes; or a function f(t), or f(x, t) that returns (k, d).
        follows : bool, optional
            True: acts on the present area, and a pressure along the present normal. False: a dead load, on the area
            and along the normal of the beginning. Default: True for a pressure, False for a traction.
        name : str, optional
            Unique among loads and colliders; default ``traction0``, ``traction1``, …

        Returns
        -------
        Traction

        Raises
        ------
        TypeError, ValueError
            An argument is of the wrong type, shape or range, or the scene belongs to a simulation; the scene stays as
            before. A simulation raises if no part of the surface is there.
        """
        load = make_traction(
            body=body,
            where=where,
            pressure=pressure,
            traction=traction,
            follows=follows,
            name=name,
            **self._about_loads(),
        )
        self._refuse_on_rigid(load)
        self._loads.append(load)
        return load

    @_check.options
    def add_heat_source(
        self,
        body: Body | str,
        where: Where = None,
        *,
        source: float | OfPlace,
        name: str | None = None,
    ) -> HeatSource:
        """Let heat come up in a body, or take it out: q(x, t) of Joule heating, decay, reactions or lasers.

        The region consists of the particles that are there at the beginning, and moves along with them. A particle gets
        q V Δt, with its present volume V, in every step; of sources that share particles, it gets the sum. The heat is
        in ``history["source_heat"]`` [J]. Functions are evaluated at the beginning of every step, at the places of
        then, and steps are called from Python one by one, as with `add_force`. `mpm.Simulation` takes heat sources
        where materials have ``thermal=`` (`mpm.Thermal`); the other methods refuse them.

        Parameters
        ----------
        body : Body or str
            A body of the scene, or its name. Not a rigid one.
        where : one of `mpm.shapes`, or callable, optional
            The region: a shape, or a function of positions (n, d) that returns truth values (n,). Default: all of the
            body.
        source : float or callable
            q [W/m³], < 0 where heat leaves; or a function f(t) of the time [s], or f(x, t) of positions (k, d) that
            returns (k,).
        name : str, optional
            Unique among loads and colliders; default ``source0``, ``source1``, …

        Returns
        -------
        HeatSource

        Raises
        ------
        TypeError, ValueError
            An argument is of the wrong type, shape or range, or the scene belongs to a simulation; the scene stays as
            before. A simulation raises if no particle is in the region, or if no body conducts heat.

        Examples
        --------
        >>> scene = mpm.Scene(lower=(0, 0), upper=(2, 1))
        >>> wire = mpm.materials.NeoHookean(E=1e9, nu=0.3, density=8960, thermal=mpm.Thermal(400, 385))
        >>> bar = scene.add(mpm.shapes.Box((0, 0.4), (2, 0.6)), wire)
        >>> scene.add_heat_source(bar, source=2e6)
        source0: heat source 2e+06 W/m³ in body0
        """
        load = make_source(
            HeatSource, body=body, where=where, source=source, name=name, **self._about_loads()
        )
        self._refuse_on_rigid(load)
        self._loads.append(load)
        return load

    @_check.options
    def add_solute_source(
        self,
        body: Body | str,
        where: Where = None,
        *,
        source: float | OfPlace,
        name: str | None = None,
    ) -> SoluteSource:
        """Let a solute come up in a body, or take it out, as `add_heat_source` does with heat.

        A particle gets q V Δt, with its present volume V, in every step; ``history["source_solute"]`` [mol] has it.
        `mpm.Simulation` takes it where the material of the body has ``solute=`` (`mpm.Solute`); the other methods
        refuse it.

        Parameters
        ----------
        body : Body or str
            A body of the scene, or its name. Not a rigid one.
        where : one of `mpm.shapes`, or callable, optional
            The region: a shape, or a function of positions (n, d) that returns truth values (n,). Default: all of the
            body.
        source : float or callable
            q [mol/(m³ s)], < 0 where it vanishes; or a function f(t) of the time [s], or f(x, t) of positions (k, d)
            that returns (k,).
        name : str, optional
            Unique among loads and colliders; default ``source0``, ``source1``, …

        Returns
        -------
        SoluteSource

        Raises
        ------
        TypeError, ValueError
            An argument is of the wrong type, shape or range, or the scene belongs to a simulation; the scene stays as
            before. A simulation raises if no particle is in the region, or if the body holds no solute.

        Examples
        --------
        >>> scene = mpm.Scene(lower=(0, 0), upper=(2, 1))
        >>> gel = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000, solute=mpm.Solute(1e-6))
        >>> slab = scene.add(mpm.shapes.Box((0, 0.4), (2, 0.6)), gel)
        >>> scene.add_solute_source(slab, source=20)
        source0: solute source 20 mol/(m³ s) in body0
        """
        load = make_source(
            SoluteSource, body=body, where=where, source=source, name=name, **self._about_loads()
        )
        self._refuse_on_rigid(load)
        self._loads.append(load)
        return load

    @_check.options
    def hold(
        self,
        body: Body | str,
        where: Where = None,
        *,
        velocity: npt.ArrayLike | Callable[[float], Any],
        name: str | None = None,
    ) -> Hold:
        """Hold a region of a body: prescribe components of its velocity.

        The region consists of the particles or nodes that are there at the beginning, and moves along with them. In
        `mpm.fem.Simulation` its nodes get the velocity. In `mpm.Simulation`, the nodes of the grid that have a
        tenth of their mass or more from the region get it, after all contacts; what is beside the region feels its
        end to within half a cell, and particles at its end move a little with what is beside. Where two regions hold
        the same component, that of the later one holds. The reaction is recorded: the history has ``impulse:NAME``,
        ``force:NAME`` [N], the force on the material, and ``work:NAME`` [J], and `Simulation.force` gives the mean. A
        rigid body cannot be held; `mpm.sph.Simulation` refuses held regions.

        Parameters
        ----------
        body : Body or str
            A body of the scene, or its name.
        where : one of `mpm.shapes`, or callable, optional
            The region: a shape, or a function of positions (n, d) that returns truth values (n,). Default: all of the
            body.
        velocity : sequence of d numbers or None, or callable
            [m/s]; None where a component is free, such as ``(None, 0, 0)``. A function f(t) of the time [s] returns
            the same at the beginning of every step; the whole step has that velocity.
        name : str, optional
            Unique among loads and colliders; default ``hold0``, ``hold1``, …

        Returns
        -------
        Hold

        Raises
        ------
        TypeError, ValueError
            An argument is of the wrong type, shape or range, or the scene belongs to a simulation; the scene stays as
            before. A simulation raises if no particle is in the region.

        Examples
        --------
        >>> scene = mpm.Scene(lower=(0, 0), upper=(2, 1))
        >>> steel = mpm.materials.NeoHookean(E=2e11, nu=0.3, density=7800)
        >>> bar = scene.add(mpm.shapes.Box((0.5, 0.4), (1.5, 0.6)), steel)
        >>> scene.hold(bar, lambda x: x[:, 0] < 0.6, velocity=(0, None), name="left")  # doctest: +ELLIPSIS
        left: ... of body0 at [0.0, None] m/s
        """
        load = make_hold(body=body, where=where, velocity=velocity, name=name, **self._about_loads())
        self._refuse_on_rigid(load)
        self._loads.append(load)
        return load
