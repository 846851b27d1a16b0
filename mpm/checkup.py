"""A look at a simulation for what usually goes wrong, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm import _check, colliders
from mpm.laws import Material
from mpm.simulation import Simulation
from mpm.varying import Varying

__all__ = ["Finding", "Report", "doctor"]

FEW_CELLS = 4  # across a body: its bending and contact are poorly resolved below
FEW_PARTICLES = 0.5  # of the usual number per cell: holes open below
FAST = 0.3  # speed over that of sound: a nearly incompressible fluid is no longer that
SOFT = 0.1  # stress of weight or impact over the stiffness: small strains end there
EDGE = 0.9  # of the bound of the time step


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


def doctor(sim: Simulation) -> Report:
    """Look at the present state of a simulation.

    Parameters
    ----------
    sim : Simulation

    Returns
    -------
    Report
        A tuple of `Finding`, printed as text: resolution of the bodies, particles per cell, the time step against its
        bound, thin colliders, fast particles, and the load against the stiffness.

    Raises
    ------
    TypeError
        `sim` is not an `mpm.Simulation`.

    Examples
    --------
    >>> mpm.doctor(sim)  # doctest: +SKIP
    ok   resolution  the smallest body, 'ball', is 12.8 cells wide
    """
    if not isinstance(sim, Simulation):
        raise _check.wrong_type("sim", sim, "an mpm.Simulation")
    if not len(sim.particles):
        return Report((Finding("particles", False, "there are none: nothing will happen"),))
    looks = (_resolution, _per_cell, _time_step, _colliders, _speed, _stiffness)
    return Report(finding for look in looks for finding in look(sim))


def _resolution(sim: Simulation) -> Iterator[Finding]:
    x = np.array(sim.particles.x)
    size = {}
    for part in sim._parts:
        rows = sim.rows(part.body.name)
        if rows.stop > rows.start:
            size[part.body.name] = float(np.ptp(x[rows], axis=0).min()) / sim.dx
    name = min(size, key=lambda key: size[key])
    words = f"the narrowest body, {name!r}, is {size[name]:.3g} cells wide"
    if size[name] >= FEW_CELLS:
        yield Finding("resolution", True, words)
    else:
        yield Finding(
            "resolution",
            False,
            f"{words}: choose dx <= {size[name] * sim.dx / FEW_CELLS:.2g} m to resolve it",
        )


def _per_cell(sim: Simulation) -> Iterator[Finding]:
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


def _time_step(sim: Simulation) -> Iterator[Finding]:
    bound, fixed = sim.stable_dt(), sim._numerics.dt
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


def _colliders(sim: Simulation) -> Iterator[Finding]:
    for placed in sim._posed():
        flaw = colliders.flaw_of(placed, sim.scene.lower, sim.scene.upper, sim.dx)
        yield Finding("collider", not flaw, flaw or f"{placed.collider.name!r} is thick enough for dx")


def _speed(sim: Simulation) -> Iterator[Finding]:
    speed, index = sim.compute("speed"), sim.particles.material
    for k, material in enumerate(sim.materials):
        of = speed[index == k]
        if len(of):
            sound = float(np.sqrt(1 / _largest_compliance(sim, k, material)))
            mach = float(of.max()) / sound
            words = f"{type(material).__name__}: the fastest particle has {of.max():.3g} m/s, sound {sound:.3g} m/s"
            more = "" if mach <= FAST else ": expect shocks or large compression, or take a stiffer material"
            yield Finding("speed", mach <= FAST, words + more)


def _stiffness(sim: Simulation) -> Iterator[Finding]:
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


def _largest_compliance(sim: Simulation, k: int, material: Material) -> float:
    """The density over E, or over the bulk modulus of a fluid [s²/m²]: the largest of particles of material k."""
    rows = sim.particles.material == k
    density: Any = material.density
    if isinstance(density, Varying):
        density = sim.particles["mass"][rows] / sim.particles["volume"][rows]
    return float(np.max(density / _modulus(sim, rows, material)))


def _modulus(sim: Simulation, rows: npt.NDArray[np.bool_], material: Material) -> Any:
    """E, or the bulk modulus of a fluid [Pa], of all particles in some rows."""
    for name in ("E", "bulk_modulus", "bulk"):
        if name in material._varies:
            return sim.particles[name][rows]
        value = getattr(material, name, None)
        if value is not None:
            return value
    raise AssertionError(f"{type(material).__name__} has no modulus")
