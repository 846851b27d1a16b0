"""Bodies of fluid as they were sampled, and the particles of colliders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm import _core
from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.io.description import mapping
from mpm.scene import scene as _scene
from mpm.scene.colliders import Placed, Prepared, refuse_pointless
from mpm.solver.populated import Gone
from mpm.sph import numerics, operators

# That a collider may span: 800 in a row on every axis. Each is looked at when the collider is filled.
MOST_LATTICE_POINTS = 5e8


@dataclass(frozen=True, slots=True)
class Part:
    """A body as it was sampled."""

    name: str
    text: str
    first_id: int
    particles: int


def parts_of(entries: list[Any], counters: npt.NDArray[Any]) -> list[Part | Gone]:
    """The bodies of a file; `counters` begins with the steps and the next id."""
    parts: list[Part | Gone] = []
    next_id = 0
    for entry in entries:
        given = mapping(entry, "part")
        if gone := Gone.restored(given, {other.name for other in parts}, next_id):
            next_id = gone.first_id
            parts.append(gone)
            continue
        part = Part(
            _check.text("name", given["name"]),
            _check.text("text", given["text"]),
            _check.integer("first_id", given["first_id"], low=next_id),
            _check.integer("particles", given["particles"], low=1),
        )
        if part.name in {other.name for other in parts}:
            raise ValueError(f"name = {_check.shown(part.name)}: there are two bodies of that name")
        next_id = part.first_id + part.particles
        parts.append(part)
    if next_id > int(counters[1]):
        raise ValueError(f"particles: bodies have {next_id} in all; {int(counters[1])} were made")
    return parts


def fill(core: _core.SPH, chosen: numerics.Numerics, placed: list[Placed], scene: _scene.Scene) -> None:
    """Give the last of the colliders its particles."""
    last = len(placed) - 1
    low, high = _region(placed[last].prepared, scene, 2 * chosen.smoothing * chosen.spacing)
    name, points = placed[last].collider.name, float(np.prod((high - low) / chosen.spacing))
    if points > MOST_LATTICE_POINTS:
        raise ValueError(
            f"collider {name!r}: the part of it that may come into the domain spans {points:.2g} points of the lattice "
            f"with spacing = {chosen.spacing:g}; must be at most {MOST_LATTICE_POINTS:.0e}: make it shorter"
        )
    if not core.fill_collider(last, low.tolist(), high.tolist()):
        refuse_pointless(placed, last, scene.lower, scene.upper, chosen.spacing)


def _region(one: Prepared, scene: _scene.Scene, margin: float) -> tuple[FloatArray, FloatArray]:
    """A box of a collider's own space that has all of it that is ever in the domain."""
    motion = one.collider.motion
    low, high = scene.lower - margin, scene.upper + margin
    if motion is not None:
        low, high = motion._sweep(low, high, one.reference)
    least, largest = one.collider.shape.bounds
    low, high = np.maximum(low, least - margin), np.minimum(high, largest + margin)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError(
            f"collider {one.collider.name!r}: shape = {_check.shown(one.collider.shape)}: has no end and moves without "
            "end, so it would need particles without number; must be bounded, such as a Box"
        )
    return low, np.maximum(low, high)


def too_near(x: FloatArray, others: npt.NDArray[Any], distance: float) -> npt.NDArray[np.bool_]:
    """Which of the points x (m, d) are nearer than `distance` to one of the others (n, d)?"""
    near = np.zeros(len(x), dtype=bool)
    near[
        operators._pairs(
            x, np.asarray(others, dtype=np.float64), distance * (1 - 1e-6), np.zeros(x.shape[1])
        ).i
    ] = True
    return near
