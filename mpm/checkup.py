"""A look at a simulation for what usually goes wrong, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm import _check, colliders
from mpm.laws import Material
from mpm.solver import Solver
from mpm.varying import Varying

__all__ = ["Finding", "Report", "doctor"]

FEW_CELLS = 4  # across a body: its bending and contact are poorly resolved below
FEW_PARTICLES = 0.5  # of the usual number per cell: holes open below
FAST = 0.3  # speed over that of sound: a nearly incompressible fluid is no longer that
SOFT = 0.1  # stress of weight or impact over the stiffness: small strains end there
EDGE = 0.9  # of the bound of the time step
NEARLY = 0.1  # speed over that of sound: beyond it, a fluid by SPH changes its density by more than 1 %
DENSE = 0.05  # relative change of the density of a fluid by SPH: it is taken to be weakly compressible
CRUSHED = 0.2  # J of an element: its law is far from what it was made for
SIZES = {"simulation": ("dx", "cells"), "sph": ("spacing", "particles"), "fem": ("spacing", "elements")}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `topic`, whether it is `good`, and `words` on it."""

    topic: str
    good: bool
    words: str


class Report(tuple[Finding, ...]):
    """All findings, in order; `repr` is the text, `good` whether there is nothing to mend."""

    __slots__ = ()

    @property
    def good(self) -> bool:
        """Whether every finding is."""
        return all(one.good for one in self)

    def __repr__(self) -> str:
        return "\n".join(f"{'ok  ' if one.good else 'look'} {one.topic:<11} {one.words}" for one in self)


def doctor(sim: Solver) -> Report:
    """Look at the present state of a simulation.

    Parameters
    ----------
    sim : mpm.Simulation, mpm.sph.Simulation or mpm.fem.Simulation

    Returns
    -------
    Report
        A tuple of `Finding`, printed as text: resolution of the bodies; particles per cell, by SPH the density, by
        finite elements their compression; the time step against its bound, thin colliders, fast particles, and the load
        against the stiffness.

    Raises
    ------
    TypeError
        `sim` is no simulation by one of these methods.
    SimulationError
        What was written through views is no state, see `Simulation.run`.

    Examples
    --------
    >>> mpm.doctor(sim)  # doctest: +SKIP
    ok   resolution  the smallest body, 'ball', is 12.8 cells wide
    """
    method = getattr(type(sim), "_kind", None)
    if not isinstance(sim, Solver) or method not in SIZES:
        raise _check.wrong_type("sim", sim, "an mpm.Simulation, mpm.sph.Simulation or mpm.fem.Simulation")
    sim.totals()  # takes what was written through views
    if not len(sim.particles):
        return Report((Finding("particles", False, "there are none: nothing will happen"),))
    inside = {"simulation": _per_cell, "sph": _density, "fem": _elements}[method]
    looks = (_resolution, inside, _time_step, _colliders, _speed, _stiffness)
    return Report(finding for look in looks for finding in look(sim))


def _size(sim: Any) -> tuple[float, str, str]:
    """The resolution [m], what it is called, and what has this size."""
    name, things = SIZES[sim._kind]
    return float(getattr(sim, name)), name, things


def _resolution(sim: Any) -> Iterator[Finding]:
    x, size, (dx, resolution, things) = np.array(sim.particles.x), {}, _size(sim)
    for part in sim._parts:
        rows = sim.rows(part.name)
        if rows.stop > rows.start:
            lattice = (
                dx if sim._kind == "sph" else 0.0
            )  # the particles of a lattice lie within what they fill
            size[part.name] = (float(np.ptp(x[rows], axis=0).min()) + lattice) / dx
    name = min(size, key=lambda key: size[key])
    words = f"the narrowest body, {name!r}, is {size[name]:.3g} {things} wide"
    if size[name] >= FEW_CELLS * (1 - 1e-6):
        yield Finding("resolution", True, words)
    else:
        yield Finding(
            "resolution",
            False,
            f"{words}: choose {resolution} <= {size[name] * dx / FEW_CELLS:.2g} m to resolve it",
        )


def _per_cell(sim: Any) -> Iterator[Finding]:
    cell = np.floor((np.array(sim.particles.x) - sim.scene.lower) / sim.dx).astype(np.int64)
    _, count = np.unique(cell, axis=0, return_counts=True)
    wanted = sim._numerics.particles_per_cell
    typical = float(np.average(count, weights=count))
    words = f"{typical:.3g} in the cell of a typical particle ({wanted} were asked for)"
    if typical >= FEW_PARTICLES * wanted:
        yield Finding("particles", True, words)
    else:
        yield Finding(
            "particles", False, f"{words}: the material has thinned out and may break where it should not"
        )


def _density(sim: Any) -> Iterator[Finding]:
    most = 1 / float(np.min(sim.particles.J)) - 1  # sums at free surfaces are too small, so less says nothing
    words = f"the densest particle is {most:+.2%} off the density at rest"
    more = "" if most <= DENSE else ": the fluid is too soft for its load and speed; raise bulk_modulus"
    yield Finding("density", most <= DENSE, words + more)


def _elements(sim: Any) -> Iterator[Finding]:
    J = sim.elements["J"]
    words = f"{len(J)}, of {J.min():.3g} to {J.max():.3g} of their volume at rest"
    more = (
        ""
        if J.min() >= CRUSHED
        else ": some are crushed or inverted; choose a smaller dt or a finer mesh there"
    )
    yield Finding("elements", bool(J.min() >= CRUSHED), words + more)


def _time_step(sim: Any) -> Iterator[Finding]:
    bound = sim.stable_dt()
    fixed = sim._options_given.dt if sim._kind == "fem" else sim._numerics.dt
    words = f"the bound is {bound.dt:.3g} s (limit: {bound.limit})"
    if not fixed:
        yield Finding("time step", True, f"automatic; {words}")
    elif fixed > bound.dt:
        yield Finding("time step", False, f"dt = {fixed:g} s is too long: {words}")
    else:
        good = fixed <= EDGE * bound.dt
        yield Finding(
            "time step", good, f"dt = {fixed:g} s; {words}" + ("" if good else ", which may sink in the run")
        )


def _colliders(sim: Any) -> Iterator[Finding]:
    dx, resolution, _ = _size(sim)
    for placed in sim._posed():
        flaw = colliders.flaw_of(placed, sim.scene.lower, sim.scene.upper, dx, resolution)
        yield Finding(
            "collider", not flaw, flaw or f"{placed.collider.name!r} is thick enough for {resolution}"
        )


def _speed(sim: Any) -> Iterator[Finding]:
    speed, index = sim.compute("speed"), sim.particles.material
    most = NEARLY if sim._kind == "sph" else FAST
    for k, material in enumerate(sim.materials):
        of = speed[index == k]
        if len(of):
            sound = float(np.sqrt(1 / _largest_compliance(sim, k, material)))
            mach = float(of.max()) / sound
            words = f"{type(material).__name__}: the fastest particle has {of.max():.3g} m/s, sound {sound:.3g} m/s"
            stiffer = f"bulk_modulus >= {material.density * (of.max() / NEARLY) ** 2:.2g} Pa keeps its density to 1 %"
            advice = (
                stiffer
                if sim._kind == "sph"
                else "expect shocks or large compression, or take a stiffer material"
            )
            yield Finding("speed", mach <= most, words + ("" if mach <= most else f": {advice}"))


def _stiffness(sim: Any) -> Iterator[Finding]:
    g = float(np.sqrt((sim.scene.gravity**2).sum()))
    x, index = np.array(sim.particles.x), sim.particles.material
    for k, material in enumerate(sim.materials):
        of = x[index == k]
        if g == 0 or not len(of):
            continue
        along = of @ (sim.scene.gravity / g)
        share = g * float(np.ptp(along)) * _largest_compliance(sim, k, material)
        words = f"{type(material).__name__}: its weight is {share:.2g} of its stiffness"
        more = "" if share <= SOFT else ": it will be squeezed by as much; is the stiffness in Pa?"
        yield Finding("stiffness", share <= SOFT, words + more)


def _largest_compliance(sim: Any, k: int, material: Material) -> float:
    """The density over E, or over the bulk modulus of a fluid [s²/m²]: the largest of particles of material k."""
    rows = sim.particles.material == k
    density: Any = material.density
    if isinstance(density, Varying):
        density = sim.particles["mass"][rows] / sim.particles["volume"][rows]
    return float(np.max(density / _modulus(sim, rows, material)))


def _modulus(sim: Any, rows: npt.NDArray[np.bool_], material: Material) -> Any:
    """E, or the bulk modulus of a fluid [Pa], of all particles in some rows."""
    for name in ("E", "bulk_modulus", "bulk"):
        if name in material._varies:
            return sim.particles[name][rows]
        value = getattr(material, name, None)
        if value is not None:
            return value
    raise AssertionError(f"{type(material).__name__} has no modulus")
