"""Bodies as particles: sampling for a simulation, and what the simulation reports of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm import _check, numerics, pointvolumes, sampling
from mpm._check import FloatArray
from mpm.scene import Body, Scene
from mpm.snapshot import Part

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

    def part(self, first_id: int) -> Part:
        """What is kept of it beside its particles."""
        return Part(self.body, len(self.x), float(self.mass.sum()), float(self.volume.sum()), first_id)


def sample(body: Body, scene: Scene, chosen: numerics.Numerics, rng: np.random.Generator) -> Sampled:
    """Fill a body with particles."""
    pointvolumes.refuse_without(body.shape, body.name)
    x, volume = sampling.sample(
        body.shape,
        lower=scene.lower,
        upper=scene.upper,
        dx=chosen.dx,
        particles_per_cell=chosen.particles_per_cell,
        sampling=chosen.sampling,
        rng=rng,
        body=body.name,
    )
    v, F = body.initial_velocity(x, volume), body.initial_gradient(x)
    mass = body.material.density * volume
    numerics.refuse_out_of_range(mass, volume, v, F, chosen.dtype)
    return Sampled(body, x, v, F, volume, mass)


def generator(rng: object) -> np.random.Generator:
    """The generator that is meant by the argument `rng`."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, (bool, np.bool_)) or not isinstance(rng, (int, np.integer)):
        raise _check.wrong_type("rng", rng, "an integer >= 0 or a numpy.random.Generator")
    return np.random.default_rng(_check.integer("rng", rng, low=0))


def rows_of(part: Part, ids: npt.NDArray[Any]) -> slice:
    """Of a body's particles; `ids` ascend, whatever was deleted."""
    low, high = np.searchsorted(ids, (part.first_id, part.first_id + part.particles))
    return slice(int(low), int(high))


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
