"""Rigid bodies: `Rigid`, the law of bodies that move and turn, and never deform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mpm.base import _check, advice
from mpm.materials.laws import Material

__all__ = ["Rigid"]

HOLDS = ("separate", "slip", "bonded")  # in the order of the core


@_check.strict_options(hints=advice.OF_RIGID)
@dataclass(frozen=True, kw_only=True, slots=True)
class Rigid(Material):
    """A rigid body: it moves and turns as others push it, and it pushes them.

    Each body that is added with it moves on its own, also where two bodies share one material; `Simulation.rigid` tells
    how. It moves with v = V + ω × (x − c) about its centre of mass c; C of its particles is [ω], and F is its rotation.
    Its inertia is that of the shape. In free flight it keeps its momentum, its angular momentum and its energy to
    round-off, and distances between its particles do not drift. (In single precision, the rounding of v adds up in
    3-D: the energy of a spinning body grows by 5e-8 of it per step.) Particles carry the body, but the grid has nothing
    of it, so no transfer or kernel matters.

    Contacts act on the surface of the shape: with walls and colliders, which have a friction and a restitution of their
    own, and with other rigid bodies. (Walls and colliders of every contact push and do not pull, except ``"sticky"``
    ones, which hold what touches them.) Spheres and cylinders roll exactly, other shapes touch with points of their
    surface that lie about as far apart as their particles; corners and edges of boxes and polygons are among them. A
    body of `Points` is a union of balls, each half as wide as the side of a particle's square or cube. Deformable
    bodies touch it at the nodes, as they touch a collider, from where their material reaches it. Heavy bodies on light
    ones are soft where their densities differ by more than a thousand. A body thinner than a cell lets deformable
    material through. A body that meets a mirror wall collides with its image, as with a second body: it is not half of
    a larger one.

    Contacts bound no time step. ``dt="auto"`` moves a rigid body by at most dx/5 per step, and takes at most
    0.1 √(dx/|g|), for the accuracy of contacts.

    `mpm.joints` hold a body to the world, and may drive it: a hinge, a slider, a socket, a fixed axis.

    Use a collider (`Scene.add_collider`) for a body whose motion is known, or that nothing can move: it is one-way, it
    costs less. Use `Rigid` for a body whose motion follows from what happens to it.

    Masses of the particles vary a little over a body of one density, so that its centre of mass is that of the shape.
    Values that users write count in the next step: ``v`` and ``C`` as the momentum that they add up to. ``x`` and ``F``
    count as the place and the rotation of the body. Without some of its particles, a body has less mass and inertia,
    and keeps its shape; without any, it is gone. A particle that leaves the domain takes its mass along;
    ``on_leave="clamp"`` moves it alone. Across a periodic face, a body must be shorter than half the domain. Explicit
    steps of `mpm.Simulation` alone take rigid bodies; `mpm.point` has nothing to compute for them.

    The field ``rest`` holds the place of a particle in the body [m], ``surface_point`` the number of the point of the
    surface whose force in the last step the particle keeps, and ``contact_force`` that force [N]; ``x_remainder`` holds
    what rounding has taken from the positions [dx].

    Parameters
    ----------
    density : float
        Density [kg/m³], > 0; it may vary over the particles, and moves the centre of mass.
    friction : float, optional
        Coulomb's coefficient, >= 0, against deformable bodies. Of two rigid bodies √(μ₁ μ₂) counts. Default 0.
    restitution : float, optional
        Newton's coefficient, from 0 to 1, of impacts of rigid bodies on each other. The larger of two counts.
        With friction or several coefficients, bodies may rebound less, so that an impact adds no energy. Default 0.
    contact : {"separate", "slip", "bonded"}, optional
        What deformable bodies do at its surface. ``"separate"`` (the default) presses and lets go, ``"slip"`` does
        not let go of what is nearer than half a cell, and ``"bonded"`` holds it in all directions.

    References
    ----------
    Simo, Wong: Unconditionally stable algorithms for rigid body dynamics that exactly preserve energy and momentum.
    Int. J. Numer. Methods Eng. 31 (1991) 19-52.
    """

    law: ClassVar[str] = "rigid"
    _uniform: ClassVar[tuple[str, ...]] = ("friction", "restitution")

    density: float
    friction: float = 0.0
    restitution: float = 0.0
    contact: str = "separate"

    def __post_init__(self) -> None:
        Material.__post_init__(self)
        _check.choice("contact", self.contact, HOLDS)

    def _parameter(self, name: str) -> float:
        if name == "hold":
            return float(HOLDS.index(self.contact))
        return Material._parameter(self, name)
