"""Particles of an MPM simulation: its materials, and how it is filled with bodies."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mpm._core import Simulation as Core
from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.materials.admission import refuse_taken
from mpm.materials.laws import Material
from mpm.mpm import bodies, numerics
from mpm.mpm.rigidbodies import form_of
from mpm.mpm.rigidforms import Form
from mpm.mpm.rigidstate import RigidState, state_of
from mpm.mpm.snapshot import Part
from mpm.scene import scene as _scene
from mpm.scene.colliders import counts_inside, warn_of_counted, warn_of_particles_inside
from mpm.scene.emitters import refuse_titles
from mpm.shapes import Shape
from mpm.solver.populated import Gone, Populated

__all__ = ["MaterialPoints"]


class MaterialPoints(Populated, abstract=True):
    """Base of `mpm.Simulation`: bodies become particles, each with the index of its material."""

    __slots__ = ("_forms", "_indices", "_materials", "_numerics", "_rng", "_rng_before")

    _core: Core
    _numerics: numerics.Numerics
    _parts: list[Part | Gone]

    def _fill_from(
        self,
        rng: np.random.Generator,
        materials: Sequence[Material] = (),
        parts: Sequence[Part | Gone] = (),
        forms: Mapping[int, Form] | None = None,
    ) -> None:
        """Begin with these materials and bodies; `rng` samples the next ones."""
        self._rng = rng
        self._rng_before = copy.deepcopy(rng)
        self._materials = list(materials)
        self._indices = {material: index for index, material in enumerate(materials)}
        self._parts = list(parts)
        self._forms: dict[int, Form] = dict(forms or {})

    @property
    def materials(self) -> tuple[Material, ...]:
        """The materials in order of first use; ``particles.material`` indexes them. Each rigid body has a
        material of its own; an equal body reuses it once the first has no particles left."""
        return tuple(self._materials)

    def _sampled_with(self) -> np.random.Generator:
        """A generator in its state before the bodies of the scene were sampled."""
        return copy.deepcopy(self._rng_before)

    def _insert(self, sampled: bodies.Sampled) -> None:
        """Hand a body to the core."""
        material, rigid = self._checked(sampled.body), sampled.body.material._row["rigid"]
        C, volume = self._stored(sampled)
        form = keeper = None
        if rigid:
            sampled, form, keeper = form_of(sampled, self._scene, self._numerics.dx)
        warn_of_particles_inside(
            self._colliders, sampled.x, sampled.body.name, self._numerics.dx
        )  # may raise
        index = self._index(material, rigid)
        if form is not None:
            self._core.set_form(index, *form.arguments)
            self._forms[index] = form
        self._parts.append(sampled.part(self._core.next_id))
        first = self._core.particles
        self._core.add_particles(sampled.x, sampled.v, C, sampled.F, volume, sampled.mass, index)
        for parameter, field in material._varying_fields:
            np.asarray(self._core.field(field))[first:] = sampled.varying[parameter]
        if form is not None:
            np.asarray(self._core.field("rest"))[first:] = sampled.x - form.reference
            np.asarray(self._core.field("surface_point"))[first:] = keeper
        if material._varies or form is not None:
            self._core.totals()  # takes them in, so that what is written later is told from them

    def _insert_in_pieces(self, planned: bodies.Planned, earlier: Sequence[_scene.Body]) -> None:
        """The same, without all of its particles beside those of the core; warns of those in `earlier` bodies."""
        body, left = planned.body, planned.count
        index = self._index(self._checked(body), body.material._row["rigid"])
        shared, inside = [0] * len(earlier), [0] * len(self._colliders)
        for piece in planned.pieces(self._scene, self._numerics):
            left -= piece.count
            C, volume = self._stored(piece)
            shared = np.add(shared, _scene.overlaps(body, piece.x, earlier)).tolist()
            inside = np.add(inside, counts_inside(self._colliders, piece.x, self._numerics.dx)).tolist()
            if not left:
                _scene.warn_of_shared(body, shared, planned.count, earlier)
                warn_of_counted(self._colliders, inside, planned.count, body.name)
                self._parts.append(planned.part(self._core.next_id))
            self._core.add_particles(piece.x, piece.v, C, piece.F, volume, piece.mass, index, left)

    def _checked(self, body: _scene.Body) -> Material:
        """The material of a body that the core can take."""
        material = body.material
        numerics.refuse_material(self._numerics, material)
        if material._row["rigid"] and body.F is not None:
            raise ValueError(
                f"F = {_check.shown(body.F)}: {body.name!r} is rigid and does not deform; leave F out"
            )
        return material

    def _stored(self, sampled: bodies.Sampled) -> tuple[FloatArray | None, FloatArray]:
        """C and the rest volumes of particles, as the core is to have them."""
        gradient = sampled.body.initial_velocity_gradient(sampled.x)
        if sampled.body.material._row["rigid"]:  # it is not transferred, and leaves no mass on the grid
            return gradient, sampled.volume
        C = numerics.stored_C(self._numerics, gradient, sampled.x, self._scene.lower)
        grid_density = self._numerics.volume == "grid-density"
        return C, np.zeros_like(sampled.volume) if grid_density else sampled.volume

    def _index(self, material: Material, rigid: bool) -> int:
        """The index of a material, which the core gets if it has not got it yet."""
        index = self._vacant(material) if rigid else self._indices.get(material)
        if index is None:
            refuse_taken(material, self._core.fields(), self._materials)
            index = self._indices[material] = self._core.add_material(*material._core_arguments)
            self._materials.append(material)
        return index

    def _admit_material(self, material: Material) -> None:
        numerics.refuse_material(self._numerics, material)

    def _take_material(self, index: int, material: Material, bodies: Mapping[str, _scene.Body]) -> None:
        before = self._materials[index]
        self._materials[index] = material
        self._indices = {one: k for k, one in enumerate(self._materials)}
        self._forget_empty()  # no index tells whether this was their material
        numbers = self._material_of_bodies()
        for k, part in enumerate(self._parts):
            if isinstance(part, Part) and numbers.get(part.name) == index and part.body.material == before:
                body = bodies.get(part.name) or replace(part.body, material=material)
                self._parts[k] = replace(part, body=body)

    def _vacant(self, material: Material) -> int | None:
        """The index of an equal material without particles: each rigid body is a material of the core."""
        if self._core.particles == self._core.next_id:  # none was deleted
            return None
        particles = np.bincount(self.particles._copy("material"), minlength=len(self._materials))
        return next(
            (k for k, one in enumerate(self._materials) if one == material and not particles[k]), None
        )

    def rigid(self, body: str) -> RigidState:
        """Where a rigid body is and how it moves now.

        Parameters
        ----------
        body : str
            Name of a body of `mpm.materials.Rigid`.

        Returns
        -------
        RigidState
            Position, rotation, velocity, spin, mass, inertia, contact force.

        Raises
        ------
        TypeError, ValueError
            This simulation has no body of that name, the body is not rigid, or none of its particles is left.
        """
        rows = self.rows(body)
        part = next(part for part in self._parts if part.name == body)
        if isinstance(part, Gone) or rows.start == rows.stop:
            raise ValueError(f"body = {body!r}: none of its particles is left")
        if not part.body.material._row["rigid"]:
            material = type(part.body.material).__name__
            raise ValueError(f"body = {body!r} is of {material}; must be a body of mpm.materials.Rigid")
        p = self.particles
        walls, length = self._scene.walls, self._scene.upper - self._scene.lower
        axes = "xyz"[: self._scene.dimension]
        period = np.array(
            [side * (walls[f"{a}-"].contact == "periodic") for a, side in zip(axes, length, strict=True)]
        )
        m, x, v, C, F, force = (
            np.asarray(p._copy(name)[rows], dtype=np.float64)
            for name in ("mass", "x", "v", "C", "F", "contact_force")
        )
        form = self._forms[int(p._copy("material")[rows.start])]
        return state_of(m, x, v, C[0], F[0], force, form, period, self._numerics.dx)

    def _find_volumes(self) -> None:
        """Have the core compute missing volumes from the density of the grid."""
        if self._numerics.volume == "grid-density":
            self._core.totals()

    def _filled(self, body: _scene.Body, offset: FloatArray) -> int:
        with self._adding():
            sampled = bodies.sample(body, self._scene, self._numerics, self._rng, self._core.particles)
            self._insert(replace(sampled, x=sampled.x + offset))
            self._find_volumes()
        return len(sampled.x)

    @_check.options
    def add(
        self,
        shape: Shape,
        material: Material,
        *,
        velocity: _scene.Velocity = 0,
        angular_velocity: npt.ArrayLike = 0,
        F: _scene.Gradient | None = None,
        name: str | None = None,
    ) -> _scene.Body:
        """Add a body between steps; arguments as in `Scene.add`. Earlier views go stale but stay valid. Particles that
        come to lie among others warn, and so does a body that leaves a wall which holds on to it (see `Scene`): an
        inflow needs a ``"separate"`` wall behind it.

        Raises
        ------
        TypeError, ValueError
            As in `Scene.add`, and if no particle is sampled; nothing has changed.
        """
        body = _scene.make_body(
            shape,
            material,
            velocity=velocity,
            angular_velocity=angular_velocity,
            F=F,
            name=name,
            dimension=self._scene.dimension,
            taken={part.name for part in self._parts},
            number=len(self._parts),
        )
        refuse_titles(body.name, self._scene.emitters)
        state = copy.deepcopy(self._rng.bit_generator.state)
        try:
            with self._adding():
                sampled = bodies.sample(body, self._scene, self._numerics, self._rng, self._core.particles)
                if self._core.particles:
                    bodies.warn_of_crowd(
                        sampled, self.particles._copy("x"), self._scene.lower, self._numerics
                    )
                bodies.warn_of_held_inflow(sampled, self._scene, self._numerics.dx)
                self._insert(sampled)
                self._find_volumes()
        except BaseException:
            self._rng.bit_generator.state = state
            raise
        return body
