"""Bodies as particles: sampling for a simulation, and what the simulation reports of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check, memory
from mpm.base._check import FloatArray, Unset
from mpm.materials.laws import Material
from mpm.mpm import numerics
from mpm.mpm.snapshot import Part
from mpm.sampling import pointvolumes, sampling
from mpm.sampling.filling import fitted
from mpm.sampling.sharing import ALONE, Sharers, total
from mpm.scene.colliders import Placed, counts_inside, refuse_restitution, warn_of_counted
from mpm.scene.scene import Body, Scene, overlaps, warn_of_shared
from mpm.shapes import Points
from mpm.solver.populated import Gone
from mpm.solver.totals import per_depth

HOLDING = ("slip", "sticky", "mirror")  # walls that let nothing at them leave
LEAVING = 0.1  # of the body's speed: a slower motion away from a wall is none
CROWDED = 1.5  # times the usual number of particles in a cell: two bodies have mass there
SHOWN = 8  # bodies in `repr`, if there are more
ISOTROPIC = 1e-9  # of the largest component: so far may F be from J^(1/d) I where a law keeps J alone
SAME = 1e-9  # relative difference of masses that is rounding, in single precision too: masses are summed in double


@dataclass(frozen=True, eq=False, slots=True)
class Sampled:
    """The particles of a body as they begin; F is None where it is the identity."""

    body: Body
    x: FloatArray  # (n, d) [m]
    v: FloatArray  # (n, d) [m/s]
    F: FloatArray | None  # (n, d, d)
    volume: FloatArray  # (n,) [m³]
    mass: FloatArray  # (n,) [kg]
    varying: dict[str, FloatArray]  # parameters (n,) by name

    @property
    def count(self) -> int:
        return len(self.x)

    def stored(self, scene: Scene, chosen: numerics.Numerics) -> tuple[FloatArray | None, FloatArray]:
        """C and the rest volumes, as the core is to have them."""
        gradient = self.body.initial_velocity_gradient(self.x)
        if self.body.material._row["rigid"]:  # it is not transferred, and leaves no mass on the grid
            return gradient, self.volume
        C = numerics.stored_C(chosen, gradient, self.x, scene.lower)
        return C, np.zeros_like(self.volume) if chosen.volume == "grid-density" else self.volume

    def part(self, first_id: int) -> Part:
        """What is kept of it beside its particles."""
        return Part(self.body, len(self.x), total(self.mass), total(self.volume), first_id)


@dataclass(frozen=True, eq=False, slots=True)
class Planned:
    """The particles of a body that are found piece by piece; all have the body's velocity, F and density."""

    body: Body
    plan: sampling.Plan
    mass: float
    volume: float

    @property
    def count(self) -> int:
        return self.plan.count

    def part(self, first_id: int) -> Part:
        """What is kept of it beside its particles."""
        return Part(self.body, self.count, self.mass, self.volume, first_id)

    def pieces(self, scene: Scene, chosen: numerics.Numerics) -> Iterator[tuple[Sampled, int, int]]:
        """The particles in their order, and how many others have at the same time before and behind the own ones."""
        for x, volume, before, after in self.plan.pieces():
            at = _onto_mirrors(x, scene, chosen)
            velocity = np.asarray(self.body.velocity, dtype=np.float64)
            v = np.ascontiguousarray(np.broadcast_to(velocity, x.shape))
            F = self.body.initial_gradient(at) if self.body.F is not None else None
            own = Sampled(self.body, at, v, F, volume, self.body.material.density * volume, {})
            yield own, before, after


def _found(
    body: Body,
    scene: Scene,
    chosen: numerics.Numerics,
    rng: np.random.Generator,
    present: int,
    keep: bool,
    room: memory.Room,
    sharers: Sharers = ALONE,
) -> sampling.Plan:
    """The particles of a body; `keep` if all of them are to be there beside those of the core."""
    pointvolumes.refuse_without(body.shape, body.name)
    d = scene.dimension
    tensors = np.any(body.angular_velocity) + (body.F is not None)  # C, F
    beside = 8 * (2 * d + 2 + d * d * int(tensors)) if keep else 0  # x, v, volume, mass
    return sampling.plan(
        body.shape,
        lower=scene.lower,
        upper=scene.upper,
        dx=chosen.dx,
        particles_per_cell=chosen.particles_per_cell,
        sampling=chosen.sampling,
        rng=rng,
        body=body.name,
        room=memory.rows_in_memory("mpm", d, chosen.dtype, beside, room),
        present=present,
        keep=keep,
        sharers=sharers,
        holder=room.holder,
    )


def sample(
    body: Body,
    scene: Scene,
    chosen: numerics.Numerics,
    rng: np.random.Generator,
    present: int = 0,
    room: memory.Room = memory.MACHINE,
) -> Sampled:
    """Fill a body with particles, beside those that are present."""
    x, volume = _found(body, scene, chosen, rng, present, True, room).whole()
    if _fits(body, scene):
        x, volume = fitted(body.shape, x, volume, scene.lower, chosen.dx)
    x = _onto_mirrors(x, scene, chosen)
    v, F = body.initial_velocity(x, volume), body.initial_gradient(x)
    refuse_distortion(body, F)
    varying = numerics.resolved(chosen, body.material)._sampled(x, body.name, chosen.dtype)
    mass = varying.get("density", body.material.density) * volume
    numerics.refuse_history_out_of_range(body.material, chosen.dtype)
    numerics.refuse_out_of_range(mass, volume, v, F, chosen.dtype, chosen.dx)
    return Sampled(body, x, v, F, volume, mass, varying)


def is_uniform(body: Body) -> bool:
    """Whether all particles of a body have the same velocity, F and parameters, and do not depend on each other."""
    varies = callable(body.velocity) or callable(body.F) or body.material._varies
    return not (varies or body.material._row["rigid"] or np.any(body.angular_velocity))


def plan(
    body: Body,
    scene: Scene,
    chosen: numerics.Numerics,
    rng: np.random.Generator,
    present: int = 0,
    room: memory.Room = memory.MACHINE,
    sharers: Sharers = ALONE,
) -> Planned:
    """The same as `sample` of a uniform body, in pieces; `sharers` find some of them each."""
    found = _found(body, scene, chosen, rng, present, False, room, sharers)
    d, density = scene.dimension, body.material.density
    sums = found.sums(density)
    ends = np.array([sums.least, sums.most])
    v = np.broadcast_to(np.asarray(body.velocity, dtype=np.float64), (2, d))
    F = body.initial_gradient(np.zeros((1, d)))
    refuse_distortion(body, F)
    numerics.refuse_history_out_of_range(body.material, chosen.dtype)
    numerics.refuse_out_of_range(density * ends, ends, v, F, chosen.dtype, chosen.dx)
    return Planned(body, found, sums.mass, sums.volume)


def fill_pores(
    core: Any, particles: Any, materials: Sequence[Material], gravity: FloatArray, first: int
) -> bool:
    """Give the particles from row `first` on the pressures of water at rest, where a material has a head; say whether
    one has."""
    heads = [k for k, one in enumerate(materials) if one.pore is not None and one.pore.head is not None]
    if not heads:
        return False
    rows = np.arange(first, core.particles)
    material = particles._copy("material")[rows]
    for k in heads:
        own, pore = rows[material == k], materials[k].pore
        if len(own) and pore is not None:
            x = np.asarray(particles._copy("x")[own], dtype=np.float64)
            np.asarray(core.field("pore_pressure"))[own] = pore._initial(x, gravity)
    return True


def arguments_of(
    planned: Planned,
    scene: Scene,
    chosen: numerics.Numerics,
    earlier: Sequence[Body],
    colliders: list[Placed],
    sharers: Sharers,
) -> Iterator[tuple[Any, ...]]:
    """What the core gets of a body, piece by piece: x, v, C, F, volumes and masses; how many particles are left after
    them, and how many others add before and behind them. Before the last piece it warns of all that lie in `earlier`
    bodies and in colliders."""
    body, left = planned.body, planned.count
    shared, inside = [0] * len(earlier), [0] * len(colliders)
    for piece, before, after in planned.pieces(scene, chosen):
        left -= before + piece.count + after
        C, volume = piece.stored(scene, chosen)
        shared = np.add(shared, overlaps(body, piece.x, earlier)).tolist()
        inside = np.add(inside, counts_inside(colliders, piece.x, chosen.dx)).tolist()
        if not left:
            told = sharers.told(partial(tuple, (shared, inside)))
            shared, inside = (np.sum(counts, axis=0).tolist() for counts in zip(*told, strict=True))
            warn_of_shared(body, shared, planned.count, earlier)
            warn_of_counted(colliders, inside, planned.count, body.name)
        yield piece.x, piece.v, C, piece.F, volume, piece.mass, left, before, after


def sample_all(
    scene: Scene,
    chosen: numerics.Numerics,
    rng: np.random.Generator,
    room: memory.Room = memory.MACHINE,
    sharers: Sharers = ALONE,
) -> list[Sampled | Planned]:
    """Fill the bodies of a scene with particles; `sharers` find some of those of uniform bodies each."""
    sampled: list[Sampled | Planned] = []
    present = 0
    for body in scene.bodies:
        if is_uniform(body) and not _fits(body, scene):
            sampled.append(plan(body, scene, chosen, rng, present, room, sharers))
        else:
            sampled.append(sample(body, scene, chosen, rng, present, room))
        present += sampled[-1].count
    return sampled


def _fits(body: Body, scene: Scene) -> bool:
    """Whether its particles follow its faces, where it may touch other bodies."""
    return scene._touches and not (isinstance(body.shape, Points) or body.material._row["rigid"])


def _onto_mirrors(x: FloatArray, scene: Scene, chosen: numerics.Numerics) -> FloatArray:
    """Points that rounding has put beyond a mirror face (at most the slack of `sampling`), on it.

    A point on the plane stays there. One beyond it is carried away as points inside are: exponentially, where material
    is stretched.
    """
    for axis, name in enumerate("xyz"[: x.shape[1]]):
        low, high = (scene.walls[f"{name}{side}"].contact == "mirror" for side in "-+")
        lower, cells = scene.lower[axis], chosen.cells[axis]
        if low and (x[:, axis] < lower).any():
            x = x.copy()
            x[:, axis] = np.maximum(x[:, axis], lower)
        if high and ((x[:, axis] - lower) / chosen.dx > cells).any():  # as the core has it
            face = scene.upper[axis]
            while (face - lower) / chosen.dx > cells:
                face = np.nextafter(face, lower)
            x = x.copy()
            x[:, axis] = np.minimum(x[:, axis], face)
    return x


def are_points(scene: Scene) -> bool:
    """Whether all bodies are particles already."""
    return bool(scene.bodies) and all(isinstance(body.shape, Points) for body in scene.bodies)


def take_per_cell(scene: Scene) -> bool:
    """Whether points of a body have the volume of particles that fill cells."""
    volumes = (body.shape.volume for body in scene.bodies if isinstance(body.shape, Points))
    return any(isinstance(volume, str) and volume == "per-cell" for volume in volumes)


def refuse_unused(
    scene: Scene, chosen: numerics.Numerics, *, sampling: object, particles_per_cell: object, rng: object
) -> None:
    """Raise ValueError for options of sampling that are set, but that no body of the scene uses."""
    if not isinstance(rng, Unset) and chosen.sampling == "lattice":
        raise ValueError(
            f"rng = {_check.shown(rng)}: sampling='lattice' does not use it, only the irregular samplings "
            "'stratified', 'random' and 'poisson'; leave it out"
        )
    if not are_points(scene):
        return
    for name, value, allowed in (
        ("sampling", sampling, isinstance(sampling, Unset)),
        ("particles_per_cell", particles_per_cell, particles_per_cell is None or take_per_cell(scene)),
    ):
        if not allowed:
            raise ValueError(
                f"{name} = {_check.shown(value)}: all bodies of the scene are Points, which are particles already; "
                "leave it out"
            )


def refuse_material(body: Body, chosen: numerics.Numerics) -> None:
    """Raise ValueError for a body whose material the scheme cannot take, or does not deform as F says."""
    numerics.refuse_material(chosen, body.material)
    if body.material._row["rigid"] and body.F is not None:
        raise ValueError(
            f"F = {_check.shown(body.F)}: {body.name!r} is rigid and does not deform; leave F out"
        )


def refuse_distortion(body: Body, F: FloatArray | None) -> None:
    """Raise ValueError for an F that distorts where the law keeps J alone."""
    if F is None or body.material._row["strain"] != "J":
        return
    d = F.shape[-1]
    J = np.linalg.det(F)[..., None, None]
    off = np.abs(F - J ** (1 / d) * np.eye(d)).max(axis=(1, 2)) > ISOTROPIC * np.abs(F).max(axis=(1, 2))
    for row in np.flatnonzero(off)[:1]:
        raise ValueError(
            f"F of body {body.name!r} = {F[row].tolist()}: a {type(body.material).__name__} keeps J = det F alone; "
            f"must be J^(1/{d}) times the identity, here {float(J[row, 0, 0]) ** (1 / d):.6g} I"
        )


def warn_of_crowd(
    sampled: Sampled, present: npt.NDArray[Any], lower: FloatArray, chosen: numerics.Numerics
) -> None:
    """Warn if the particles of a new body overlap those at `present` (n, d)."""
    if isinstance(sampled.body.shape, Points):
        return
    cells = [np.floor((x - lower) / chosen.dx) for x in (sampled.x, present)]
    low, high = cells[0].min(axis=0), cells[0].max(axis=0)
    near = cells[1][((cells[1] >= low) & (cells[1] <= high)).all(axis=1)]
    extent = tuple((high - low + 1).astype(np.int64))
    here, there = (
        np.ravel_multi_index(tuple((c - low).astype(np.int64).T), extent) for c in (cells[0], near)
    )
    occupied, count = np.unique(there, return_counts=True)
    if not len(occupied):
        return
    place = np.minimum(np.searchsorted(occupied, here), len(occupied) - 1)
    _, cell, own = np.unique(here, return_inverse=True, return_counts=True)
    others = np.where(occupied[place] == here, count[place], 0)
    crowded = (others > 0) & (others + own[cell] > CROWDED * chosen.particles_per_cell)
    if crowded.any():
        warnings.warn(
            f"{int(crowded.sum())} of {len(here)} particles of {sampled.body.name!r} lie among particles that are "
            "there already: both have mass in these cells; add it where there is room",
            UserWarning,
            stacklevel=_check.levels_to_caller(),
        )


def warn_of_held_inflow(sampled: Sampled, scene: Scene, dx: float) -> None:
    """Warn if a new body leaves a face whose wall holds on to what touches it."""
    for face, wall in scene.walls.items():
        axis, inward = "xyz".index(face[0]), 1 if face[1] == "-" else -1
        if wall.contact not in HOLDING:
            continue
        depth = inward * (sampled.x[:, axis] - (scene.lower if inward > 0 else scene.upper)[axis])
        speed = inward * sampled.v[depth < dx, axis]
        if len(speed) and speed.mean() > LEAVING * np.linalg.norm(sampled.v, axis=1).max():
            warnings.warn(
                f"body {sampled.body.name!r} leaves the wall {face!r} with {speed.mean():.3g} m/s, but this wall is "
                f"{wall.contact!r} and holds the material that touches it: the body will lose speed; choose "
                f"walls={{{face!r}: 'separate'}}, or add the body a cell farther inside",
                UserWarning,
                stacklevel=_check.levels_to_caller(),
            )


def listed(parts: Sequence[Part | Gone], left: Sequence[int], scene: Scene) -> Iterator[str]:
    """Lines on bodies as they were added, and how many particles are left of each; of many bodies, the ends."""
    hidden = parts[SHOWN // 2 : -SHOWN // 2] if len(parts) > SHOWN + 1 else []
    for k, part in enumerate(parts):
        if hidden and k == SHOWN // 2:
            known = [one for one in hidden if not isinstance(one, Gone)]
            count, mass = sum(one.particles for one in known), sum(one.mass for one in known)
            fewer = f" ({len(hidden) - len(known)} of them without)" * (len(known) < len(hidden))
            unit = per_depth("kg", scene.dimension)
            yield f"… {len(hidden)} more bodies: {count} particles{fewer}, {mass:.6g} {unit} …"
        if not hidden or not SHOWN // 2 <= k < len(parts) - SHOWN // 2:
            yield part.text if isinstance(part, Gone) else described(part, left[k], scene)


def described(part: Part, left: int, scene: Scene) -> str:
    """A line on a body: particles, those that are left, mass, and how exact the mass is."""
    body = part.body
    whole = body.volume(scene.lower, scene.upper)
    exactness = ""
    if whole is not None and whole.value:
        error = part.volume / whole.value - 1
        exactness = whole.doubt or " (exact)"
        if abs(error) > SAME:  # sampled by an earlier version
            exactness = f" ({error:+.2%} of the shape's)"
    fewer = f", of which {left} are left" * (left < part.particles)
    return f"{body._made_of()}: {part.particles} particles, {part.mass:.6g} {body._unit}{exactness}{fewer}"


def refuse_useless_restitution(scene: Scene, materials: Sequence[Material]) -> None:
    """Raise ValueError for a restitution if none of the materials is rigid."""
    if not any(material._row["rigid"] for material in materials):
        refuse_restitution(
            scene.walls,
            scene.colliders,
            "bodies of mpm.materials.Rigid rebound by it, and there is none; elastic bodies rebound by themselves",
        )
