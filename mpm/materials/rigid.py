"""Rigid bodies: `Rigid`, the law of bodies that move and turn, and never deform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mpm.base import _check
from mpm.materials.laws import Material

__all__ = ["Rigid"]


@_check.strict_options
@dataclass(frozen=True, kw_only=True, slots=True)
class Rigid(Material):
    """A rigid body: it moves and turns as others push it, and it pushes them.

    Each body that is added with it moves on its own, also where two bodies share one material. In every step a body
    takes the momentum and the angular momentum that the grid brings to its particles, with the affine part. It then
    moves with v = V + ω × (x − c) about its centre of mass c, C is [ω], and F is its rotation. In free flight it keeps
    its momentum, its angular momentum and its energy to round-off, and distances between its particles do not drift.
    (In single precision, the rounding of v adds up in 3-D: the energy of a spinning body grows by 5e-8 of it per step.)
    That takes a transfer with affine velocities (``"apic"``, ``"aflip"``, ``"asflip"``, ``"tpic"``). With the others a
    body keeps its momentum and its shape, and loses its spin: with ``"pic"`` a disc of radius R loses the share (dx/R)²
    in each step, with ``"flip"`` and ``"xpic"`` about a tenth of that.

    Contacts with walls, colliders and other bodies act on the grid, as for any material. There the particles carry
    the field ``reaction``, the stress [Pa] that keeps them with their body (``compute("stress")`` has it, too). It is
    as stiff as the time step allows, and has no energy: a body that falls on a floor springs back with about half of
    its speed or less (a wall or collider with a `restitution` throws it back by Newton's law, `Wall`), and penetrates
    other bodies by a fraction of a cell, which shrinks with the step. It has no waves, so it bounds no time step;
    ``dt="auto"`` moves a rigid body by at most dx/20 per step, and takes at most 0.02 √(dx/|g|). A light body that
    carries a dense one needs smaller steps: if the largest density is R times the least one of rigid bodies, both
    limits are divided by √R. With larger fixed steps, bodies sink into each other, and `mpm.doctor` says so. Domain
    walls stop a body before a particle passes them. A body that meets a mirror wall collides with its image, as with
    a second body: it is not half of a larger one. With ``kernel="linear"``, contacts may gain energy without bound,
    and particles give the nodes more spin than ω, because C is not a velocity gradient there. The field
    ``x_remainder`` holds what rounding has taken from the positions [dx].

    Use a collider (`Scene.add_collider`) for a body whose motion is known, or that nothing can move: it is one-way, it
    costs less, and its surface is sharp. Use `Rigid` for a body whose motion follows from what happens to it.

    Values that users write count in the next step: ``v`` and ``C`` as the momentum that they add up to, ``x`` as a new
    shape. Nothing depends on ``F``, which is the rotation. A body without particles that are left is gone. A particle
    that leaves the domain takes its mass along; ``on_leave="clamp"`` moves it alone and so changes the shape. Across a
    periodic face, a body must be shorter than half the domain. Explicit steps of `mpm.Simulation` alone take rigid
    bodies; `mpm.point` has nothing to compute for them.

    Parameters
    ----------
    density : float
        Density [kg/m³], > 0; it may vary over the particles, and moves the centre of mass.

    References
    ----------
    Simo, Wong: Unconditionally stable algorithms for rigid body dynamics that exactly preserve energy and momentum.
    Int. J. Numer. Methods Eng. 31 (1991) 19-52.
    """

    law: ClassVar[str] = "rigid"

    density: float
