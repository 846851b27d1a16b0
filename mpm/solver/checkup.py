"""Checks a simulation for common mistakes and reports them in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.materials.laws import Material
from mpm.materials.varying import Varying
from mpm.scene import colliders
from mpm.scene.colliders import Placed
from mpm.solver.solver import SolverBase
from mpm.solver.stepping import StableDt

__all__ = ["Finding", "GridLooks", "Looks", "Report", "doctor"]

FEW_CELLS = 4  # across a body: its bending and contact are poorly resolved below
FEW_PARTICLES = 0.5  # of the usual number per cell: holes open below
FAST = 0.3  # speed over that of sound: a nearly incompressible fluid is no longer that
QUICK = (
    100  # times the speed that gravity gives to a flow: a fluid whose sound is faster costs needless steps
)
ENOUGH = 10  # the same, for changes of the density near 1 %
SOFT = 0.1  # stress of weight or impact over the stiffness: small strains end there
NARROW = 2.0  # cells: a gap that hardly a particle fits in
CLOSING = 0.5  # of its speed: a collider closes a gap
FACING = 0.9  # cosine: a collider that faces a wall, and with CLOSING does not slide along it
LOCKING = 0.45  # Poisson's ratio: without F-bar, bodies are too stiff beyond it
PRESSED = 0.7  # of the distance of particles: nearer ones of two bodies overlap
TOUCHING = 0.1  # cells: the error of the gap between bodies
MOST_PAIRS = 20_000_000  # of particles that are compared
LOST_VOLUME = 0.05  # of fluids: the volume that their particles take is another one than that of J
FLUID_PARTICLES = 4  # per cell: fluids keep their volume less well below
IN_WATER = 8  # cells per radius of a body that rises or sinks, measured by benchmarks/fluids.py disks
EDGE = 0.9  # of the bound of the time step
KINKED_EDGE = 0.5  # the same where the stress of a law has a kink
LIMITS = {  # what a limit of the time step means, where its name does not say it
    "isolated": ", the stiffness of a particle that is alone in its cells",
    "wave": ", the speed of sound",
    "motion": ", how far a step moves or strains the material",
    "conduction": ", a thousand sub-steps of conduction",
}


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


def doctor(sim: SolverBase) -> Report:
    """Look at the present state of a simulation.

    Parameters
    ----------
    sim : mpm.Simulation, mpm.sph.Simulation or mpm.fem.Simulation

    Returns
    -------
    Report
        A tuple of `Finding`, printed as text: the resolution of the bodies; particles per cell (SPH: the density;
        finite elements: their compression, and volumes of meshes that differ from those of the shapes by more than
        5 %); the time step against its bound; colliders that are thin, fast, or close a narrow gap; fast particles;
        the load against the stiffness. With `mpm.Simulation` also solids that hardly change their volume, ν >= 0.45,
        without F-bar; bodies that are in touch or pressed into each other, where they may part (`mpm.Contact`); and of
        fluids, the volume that their particles take against the one that J tells, fewer than four particles per cell,
        and fewer than eight cells per radius of a solid beside them, which may float or sink.

    Raises
    ------
    TypeError
        `sim` is no simulation by one of these methods.
    SimulationError
        Values written through views are no valid state, see `Simulation.run`.

    Examples
    --------
    >>> mpm.doctor(sim)  # doctest: +SKIP
    ok   resolution  the narrowest body, 'ball', is 12.8 cells wide
    """
    looks = getattr(type(sim), "_looks", None)
    if not isinstance(sim, SolverBase) or looks is None:
        raise _check.wrong_type("sim", sim, "an mpm.Simulation, mpm.sph.Simulation or mpm.fem.Simulation")
    sim.totals()  # takes what was written through views
    if not len(sim.particles):
        return Report((Finding("particles", False, "there are none: nothing will happen"),))
    return Report(looks(sim).all())


class Looks:
    """What `doctor` looks at in a simulation; methods have subclasses that say what differs with them."""

    things: ClassVar[str]
    """Of the size of the resolution."""
    reach: ClassVar[float] = 0.0
    """How far a body reaches beyond its outermost rows, both sides together, over the resolution."""
    fast: ClassVar[float] = FAST
    stride: float = 1.0
    """How far a collider near material may move in a step, over the resolution; automatic steps take half of it."""

    def __init__(self, sim: Any) -> None:
        self.sim = sim
        self.size = float(getattr(sim, sim._resolution))

    def all(self) -> Iterator[Finding]:
        """Every finding, in the order of the report."""
        for look in (
            self.width,
            self.inside,
            self.time_step,
            self.colliders,
            self.motions,
            self.speed,
            self.stiffness,
        ):
            yield from look()

    def inside(self) -> Iterator[Finding]:
        """How well the material fills its discretisation."""
        raise NotImplementedError

    def slower(self, material: Material, speed: float) -> str:
        """What to do where a material is as fast as sound."""
        return "expect shocks or large compression, or take a stiffer material"

    def positions(self) -> npt.NDArray[Any]:
        """In which bodies have the width for which they are resolved, (n, d)."""
        return np.array(self.sim.particles.x, dtype=np.float64)

    def widths(self) -> dict[str, float]:
        """Of each body, the least one along the axes and along its own, over the resolution."""
        x, size = self.positions(), {}
        for part in self.sim._parts:
            rows = self.sim.rows(part.name)
            if rows.stop > rows.start:
                own = x[rows] - x[rows].mean(axis=0)
                _, across = np.linalg.eigh(own.T @ own)
                narrowest = min(float(np.ptp(seen, axis=0).min()) for seen in (own, own @ across))
                size[part.name] = narrowest / self.size + self.reach
        return size

    def width(self) -> Iterator[Finding]:
        """Of the narrowest body."""
        size = self.widths()
        name = min(size, key=lambda key: size[key])
        good = size[name] >= FEW_CELLS * (1 - 1e-6)
        words = f"the narrowest body, {name!r}, is {size[name]:.3g} {self.things} wide"
        finer = f": choose {self.sim._resolution} <= {size[name] * self.size / FEW_CELLS:.2g} m to resolve it"
        yield Finding("resolution", good, words if good else words + finer)

    def time_step(self) -> Iterator[Finding]:
        """Against its bound."""
        bound, fixed = self.sim.stable_dt(), self.sim._options()["dt"]
        words = f"the bound is {bound.dt:.3g} s (limit: {bound.limit}{self.of_what(bound)})"
        if fixed == "auto":
            yield Finding("time step", True, f"automatic; {words}")
        elif fixed > bound.dt:
            yield Finding("time step", False, f"dt = {fixed:g} s is too long: {words}")
        else:
            kinked = [material for material in self.sim.materials if material._row["kinked"]]
            good = fixed <= (KINKED_EDGE if kinked else EDGE) * bound.dt
            more = "" if good else ", which may sink in the run"
            if kinked and not good:
                more = (
                    f"; the stress of {kinked[0]._title} has a kink, across which such steps may gain energy: choose "
                    f"dt <= {KINKED_EDGE * bound.dt:.2g} s"
                )
            yield Finding("time step", good, f"dt = {fixed:g} s; {words}{more}")

    def of_what(self, bound: StableDt) -> str:
        """What a limit of the time step means."""
        return LIMITS.get(bound.limit, "")

    def colliders(self) -> Iterator[Finding]:
        """Their thickness."""
        scene, resolution = self.sim.scene, self.sim._resolution
        for placed in self.sim._posed():
            flaw = colliders.flaw_of(placed, scene.lower, scene.upper, self.size, resolution)
            fine = f"{placed.collider.name!r} is thick enough for {resolution}"
            yield Finding("collider", not flaw, flaw or fine)
        yield from self.started_inside()

    def started_inside(self) -> Iterator[Finding]:
        """Material deep in a collider that is no clamp, or a clamp that holds all of a body."""
        x, rows = self.positions(), self.sim._bodies()
        ids = self.sim.particles._copy("id") if "id" in self.sim.particles.fields else np.arange(len(x))
        for placed in self.sim._posed():
            deep = placed.distance(x)[0] < -colliders.DEEP * self.size
            name = placed.collider.name
            for body, (first, count) in rows.items():
                own = (ids >= first) & (ids < first + count)
                there, all_of = int((deep & own).sum()), int(own.sum())
                held = placed.collider.contact == "sticky" and there < all_of
                if there:
                    words = f"{there} of {all_of} {self.sim._rows_are} of {body!r} are inside {name!r}"
                    why = (
                        ", which holds them"
                        if held
                        else ": move the body or the collider, or let a shape take it out"
                    )
                    yield Finding("inside", held, words + why)

    def motions(self) -> Iterator[Finding]:
        """Of colliders: their speed against that of sound and against the step, and what they squeeze."""
        scene, sounds = self.sim.scene, sorted(self.sounds(), key=lambda one: one[:2])
        for placed in self.sim._posed():
            speed = colliders.fastest(placed, scene.lower, scene.upper, self.size)
            if not speed:
                continue
            words = f"{placed.collider.name!r} moves with up to {speed:.3g} m/s"
            flaws = [*self.too_long(speed), *self.squeezed(placed, speed)]
            for sound, _, material in sounds[:1]:  # rigid bodies have none
                words += f", sound in {type(material).__name__} {sound:.3g} m/s"
                if speed > self.fast * sound:
                    flaws.insert(0, self.slower(material, speed))
            yield Finding(
                "motion", not flaws, "; ".join([f"{words}: {flaws[0]}", *flaws[1:]] if flaws else [words])
            )

    def too_long(self, speed: float) -> Iterator[str]:
        """A fixed step in which a collider of that speed moves farther than it may near material."""
        fixed = self.sim._options()["dt"]
        longest = self.stride * self.size / speed
        if fixed != "auto" and fixed > longest:
            yield f"dt = {fixed:g} s is too long for it near material: choose dt <= {longest:.2g} s"

    def squeezed(self, placed: Placed, speed: float) -> Iterator[str]:
        """Particles in a narrow gap that a collider closes."""
        sim, gap = self.sim, NARROW * self.size
        x = np.array(sim.particles.x, dtype=np.float64)
        phi, normal = placed.distance(x)
        near = np.abs(phi) < gap
        x, normal = x[near], normal[near]
        across = x + (gap - phi[near, None]) * normal
        closes = colliders.approach(placed, across, self.size / speed) > CLOSING * speed
        behind = {
            f"the collider {other.collider.name!r}": other.distance(across)[0]
            < np.minimum(other.distance(x)[0], 0)
            for other in sim._posed()
            if other.index != placed.index
        }
        for face, wall in sim.scene.walls.items():
            axis, sign = "xyz".index(face[0]), 1 if face[1] == "+" else -1
            end = (sim.scene.upper if sign > 0 else sim.scene.lower)[axis]
            if wall.contact != "periodic":
                behind[f"the wall {face!r}"] = (sign * (across[:, axis] - end) > 0) & (
                    sign * normal[:, axis] > FACING
                )
        for what, there in behind.items():
            count = int((closes & there).sum())
            if count:
                yield (
                    f"it presses {count} {sim._rows_are} against {what}, less than {gap:.2g} m away: end its motion "
                    "before, or it squeezes them without end"
                )

    def sounds(self) -> Iterator[tuple[float, int, Material]]:
        """The least speed of sound in each material that there is and has one, with its index."""
        index = self.sim.particles.material
        for k, material in enumerate(self.sim.materials):
            if (index == k).any() and not material._row["rigid"]:
                compliance = self.largest_compliance(k, material)
                yield (float(np.sqrt(1 / compliance)) if compliance > 0 else np.inf), k, material

    def speed(self) -> Iterator[Finding]:
        """Against that of sound."""
        speed, index = self.sim.compute("speed"), self.sim.particles.material
        for sound, k, material in self.sounds():
            fastest = float(speed[index == k].max())
            good = fastest <= self.fast * sound
            one = self.sim._rows_are.removesuffix("s")
            words = (
                f"{type(material).__name__}: the fastest {one} has {fastest:.3g} m/s, sound {sound:.3g} m/s"
            )
            yield Finding("speed", good, words if good else f"{words}: {self.slower(material, fastest)}")

    def stiffness(self) -> Iterator[Finding]:
        """Against the weight."""
        gravity = self.sim.scene.gravity
        g = float(np.sqrt((gravity**2).sum()))
        x, index = np.array(self.sim.particles.x), self.sim.particles.material
        for k, material in enumerate(self.sim.materials):
            of = x[index == k]
            if g == 0 or not len(of) or material._row["rigid"]:
                continue
            share = g * float(np.ptp(of @ (gravity / g))) * self.largest_compliance(k, material)
            words = f"{type(material).__name__}: its weight is {share:.2g} of its stiffness"
            more = "" if share <= SOFT else ": it will be squeezed by as much; is the stiffness in Pa?"
            yield Finding("stiffness", share <= SOFT, words + more)

    def parameters(self) -> Any:
        """What has the parameters of materials that vary, row by row, and the index of the material."""
        return self.sim.particles

    def largest_compliance(self, k: int, material: Material) -> float:
        """The density over E, over the bulk modulus of a fluid, or else over the modulus of longitudinal waves [s²/m²]:
        the largest of particles of material k."""
        particles = self.parameters()
        rows = particles.material == k
        density: Any = material.density
        if isinstance(density, Varying):
            density = particles["mass"][rows] / particles["volume"][rows]
        for name in ("E", "bulk_modulus", "bulk"):
            if name in material._varies:
                return float(np.max(density / particles[name][rows]))
            modulus = getattr(material, name, None)
            if modulus is not None:
                return float(np.max(density / modulus))
        one = int(np.flatnonzero(rows)[0])
        own = {name: float(particles[name][one]) for name in material._varies if name in particles.fields}
        return 1 / material._replaced({"density": float(np.max(density)), **own}).wave_speed ** 2


def nearest(a: npt.NDArray[Any], b: npt.NDArray[Any], reach: float) -> float:
    """The least distance between points of a (n, d) and b (m, d), if it is at most `reach`; else infinite. Of many
    points near the others, every so many are looked at."""
    low, high = (
        np.maximum(a.min(axis=0), b.min(axis=0)) - reach,
        np.minimum(a.max(axis=0), b.max(axis=0)) + reach,
    )
    near = [x[((x >= low) & (x <= high)).all(axis=1)] for x in (a, b)]
    if not all(map(len, near)):
        return np.inf
    one, other = near if len(near[0]) <= len(near[1]) else near[::-1]
    one = one[:: 1 + len(one) * len(other) // MOST_PAIRS]
    least = min(float(((x - other) ** 2).sum(axis=1).min()) for x in one)
    return float(np.sqrt(least)) if least <= reach**2 else np.inf


class GridLooks(Looks):
    """At particles on a grid."""

    things = "cells"

    def all(self) -> Iterator[Finding]:
        """Every finding, in the order of the report."""
        yield from super().all()
        yield from self.locking()
        yield from self.touching()
        yield from self.needless()
        yield from self.fluids()

    def needless(self) -> Iterator[Finding]:
        """Fluids whose sound is so fast that a run has many explicit steps, which stop the flow."""
        scene = self.sim.scene
        if "integrator" in self.sim._options():
            return
        speed, index = self.sim.compute("speed"), self.sim.particles.material
        fall = float(np.sqrt(2 * np.abs(scene.gravity) @ (scene.upper - scene.lower)))
        for sound, k, material in self.sounds():
            modulus = getattr(material, "bulk_modulus", None)
            if material._row["strain"] != "J" or not isinstance(modulus, float):
                continue
            flow = max(float(speed[index == k].max()), fall)
            if flow > 0 and sound > QUICK * flow:
                yield Finding(
                    "steps",
                    False,
                    f"{type(material).__name__}: sound, {sound:.3g} m/s, is {sound / flow:.0f} times as fast as a fall "
                    f"through the domain; every step damps the flow a little, and so many steps stop it: choose "
                    f"bulk_modulus = {modulus * (ENOUGH * flow / sound) ** 2:.1g} Pa, which changes the density by 1 %",
                )

    def touching(self) -> Iterator[Finding]:
        """Bodies that begin in touch, or pressed into each other, where they have fields of their own."""
        sim = self.sim
        if not sim.scene._touches:
            return
        layers, x = sim._layers, self.positions()
        material, volume = np.array(sim.particles.material), np.array(sim.particles.volume, dtype=np.float64)
        names = [part.name for part in sim._parts if sim.rows(part.name).start < sim.rows(part.name).stop]
        rigid = [one._row["rigid"] for one in sim.materials]
        layer = {name: int(material[sim.rows(name).start]) for name in names}
        for a, b in combinations(names, 2):
            i, j = layer[a], layer[b]
            if rigid[i] or rigid[j] or layers[i] == layers[j]:
                continue
            size = float(np.mean(volume[sim.rows(a)])) ** (1 / x.shape[1])
            near = nearest(x[sim.rows(a)], x[sim.rows(b)], self.size)
            if near < PRESSED * size:
                words = f"{a!r} and {b!r} begin pressed into each other by some {(size - near) / self.size:.2g} cells"
                yield Finding(
                    "contact", False, f"{words}: nothing parts them but their stress; move them apart"
                )
            elif near < size + TOUCHING * self.size:
                yield Finding("contact", True, f"{a!r} and {b!r} are in touch, within the error of the gap")

    def locking(self) -> Iterator[Finding]:
        """Of solids that hardly change their volume."""
        chosen, index = self.sim._numerics, self.sim.particles.material
        if chosen.f_bar:
            return
        for k, material in enumerate(self.sim.materials):
            if not (index == k).any() or material._row["rigid"]:
                continue
            nu = self.largest_nu(k, material)
            if LOCKING <= nu < 0.5 - 1e-9:  # fluids have 0.5
                words = f"{type(material).__name__}: nu = {nu:.6g}, its volume hardly changes, and it is too stiff"
                mend = "choose f_bar=True" + (
                    "" if chosen.integrator == "explicit" else ", which needs explicit steps"
                )
                yield Finding("locking", False, f"{words}: {mend}")
            elif material.law == "von_mises" and chosen.integrator == "explicit":
                words = f"{type(material).__name__} flows without a change of volume, as undrained clay does"
                # measured by benchmarks/engineering.py soil
                loads = "with 8 cells a footing bears 6 % too much and a vertical cut 14 %, with f_bar=True 2 % and 5 %"
                yield Finding(
                    "limit load", True, f"{words}: {loads}; with 4 cells f_bar=True bears 11 % too little"
                )

    def fluids(self) -> Iterator[Finding]:
        """Of fluids: the volume that their particles take against the one that J tells, and particles per cell."""
        sim, few = self.sim, self.sim._numerics.particles_per_cell < FLUID_PARTICLES
        rows = sim._fluid_rows(sim.particles)
        if not rows.any():
            return
        mass = np.asarray(sim.particles.mass, dtype=np.float64)[rows]
        found = np.average((sim.compute("density") / sim.compute("law_density"))[rows], weights=mass)
        good = abs(found - 1) <= LOST_VOLUME
        words = f"the particles of fluids take {1 / found:.3g} of the volume that J tells"
        if not good and not sim._numerics.density_correction:
            words += ": choose density_correction=2" + (
                "" if sim._numerics.integrator == "explicit" else ", which needs explicit steps"
            )
        elif not good:
            words += f": choose a smaller dx, or {FLUID_PARTICLES} or more particles per cell"
        yield Finding("volume", good, words)
        if few:
            asked = sim._numerics.particles_per_cell
            words = f"{asked} per cell were asked for: fluids keep their volume to some percent only; choose 4 or more"
            yield Finding("particles", False, words)
        yield from self.in_water()

    def in_water(self) -> Iterator[Finding]:
        """Of the narrowest solid beside a fluid: whether it is resolved enough to rise, to sink or to float."""
        sim = self.sim
        laws = {
            part.name: sim.materials[int(sim.particles.material[sim.rows(part.name).start])]._row["strain"]
            for part in sim._parts
            if sim.rows(part.name).stop > sim.rows(part.name).start
        }
        spacing = sim._numerics.particles_per_cell ** (-1 / len(sim.scene.lower))  # half of it to the surface
        radius = {name: (width + spacing) / 2 for name, width in self.widths().items() if laws[name] != "J"}
        if not radius:
            return
        name = min(radius, key=lambda key: radius[key])
        good = radius[name] >= IN_WATER * (1 - 1e-6)
        words = f"{name!r} has {radius[name]:.3g} cells per radius"
        if not good:
            words += (
                f"; if it floats or sinks in the fluid, choose dx <= {radius[name] * self.size / IN_WATER:.2g} m: with "
                f"4, {IN_WATER} and 16 cells, bodies cover some 0.3, 0.5 and 0.65 of the way of potential flow"
            )
        yield Finding("in water", good, words)

    def largest_nu(self, k: int, material: Material) -> float:
        """Poisson's ratio of material k at rest: the largest of its particles, or, where a law has no parameter
        `nu`, that of the first one; 0.5 of a fluid."""
        particles = self.parameters()
        if "nu" in material._varies:
            return float(np.max(particles["nu"][particles.material == k]))
        if hasattr(material, "nu"):
            return float(material.nu)
        if material.law == "user":
            return 0.0  # what bounds its steps are no moduli
        one = int(np.flatnonzero(particles.material == k)[0])
        own = {name: float(particles[name][one]) for name in material._varies}
        rest = (material._replaced(own) if own else material)._evaluate(np.eye(3)[None])
        wave, alone = float(rest.longitudinal[0]), float(rest.isolated[0])  # lambda + 2 mu, 2 mu + 3 lambda
        lame = (alone - wave) / 2
        return lame / (lame + wave) if wave > 0 else 0.0

    def inside(self) -> Iterator[Finding]:
        """Particles per cell."""
        sim = self.sim
        cell = np.floor((np.array(sim.particles.x) - sim.scene.lower) / self.size).astype(np.int64)
        _, count = np.unique(cell, axis=0, return_counts=True)
        wanted = sim._numerics.particles_per_cell
        typical = float(np.average(count, weights=count))
        words = f"{typical:.3g} in the cell of a typical particle ({wanted} were requested)"
        good = typical >= FEW_PARTICLES * wanted
        more = "" if good else ": the material has thinned out and may break where it should not"
        yield Finding("particles", good, words + more)
