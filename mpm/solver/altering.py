"""Changes of what is simulated while it runs: parameters of materials, gravity, friction, what walls hold, contacts,
speeds of colliders.

The core changes nothing but these numbers: the state stays as it is, and the next step takes them. What was changed,
and when, is kept with the scene, so that files have it and a run can be repeated.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from mpm import motion as _motion
from mpm.base import _check
from mpm.materials.laws import Material
from mpm.scene import contacts
from mpm.scene.changes import Change
from mpm.scene.colliders import Collider, placed_again
from mpm.scene.conduction import supply_of
from mpm.scene.scene import Body, Scene
from mpm.scene.walls import FRICTIONAL

ALL = "body"  # stands for every body
TOGETHER = ", "  # between the names of bodies of one material
WALLS = "walls"  # stands for every wall with friction
CONTACT = "contact"  # stands for all pairs of bodies without a contact of their own
HELD = ("head", "pore_pressure", "temperature", "concentration")  # what a wall may hold a face at
AXES = "xyz"


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something that can be changed: its value now, and what changes it."""

    value: float | tuple[float, ...]
    change: Callable[[Any], None]


def parameters(sim: Any) -> dict[str, Parameter]:
    """All that can be changed, by name."""
    found = dict(_gravity(sim))
    found |= _walls(sim)
    found |= _supplies(sim)
    found |= _contacts(sim)
    for collider in sim.scene.colliders:
        found |= _of_collider(sim, collider)
    found |= _materials(sim)
    return found


def set_value(sim: Any, name: object, value: object) -> None:
    """Change one of `parameters`, and note it."""
    if not hasattr(sim._core, "set_gravity"):
        raise TypeError(f"a {type(sim).__name__} takes no changes between steps")
    known = parameters(sim)
    if isinstance(name, str) and name not in known and "|" in name:
        target, _, what = name.rpartition(".")  # the order of a pair does not matter
        name = f"{contacts.column_of(target, sim.scene._layers())[0] or target}.{what}"
    why = "" if isinstance(name, str) and name in known else _why(sim, name)
    chosen = _check.choice("name", name, tuple(known), why=why)
    sim._core.totals()  # what was written through views is taken, or refused, before anything changes
    scene = sim._scene
    known[chosen].change(value)
    if sim._scene is scene:
        return  # it had this value
    now = parameters(sim)[chosen].value
    last = scene._changes.last
    # A value that no step has taken leaves no trace; but a recording may have noted it.
    again = last is not None and (last.step, last.name) == (sim.steps, chosen) and not sim._recordings
    kept = len(scene._changes) - again
    sim._scene._changes = scene._changes.followed(Change(sim.steps, sim.time, chosen, now), kept)


def _why(sim: Any, name: object) -> str:
    """What to say of a known name that needs a new simulation."""
    if not isinstance(name, str):
        return ""
    target, _, what = name.rpartition(".")
    numbers = sim._material_of_bodies()
    alike = [body for body, number in numbers.items() if number == numbers.get(target)]
    if len(alike) > 1 and what in changeable(sim._material(numbers[target])):
        return f"; {' and '.join(alike)} have the same material, and {TOGETHER.join(alike) + '.' + what!r} changes it"
    for body in sim.scene.bodies:
        if target not in (body.name, ALL):
            continue
        if what in body.material._varies:
            return f"; {what} varies over this body: write sim.particles.{what}, or of elements sim.elements"
        if what in {p["name"] for p in body.material._given_parameters()} - set(changeable(body.material)):
            return f"; {what} is in the masses or the state of the particles since they began: make a new simulation"
    if target in sim.scene.walls and what in HELD:
        return f"; nothing held {what} on this face when the simulation began: make a new one"
    for one in sim.scene.colliders:
        if target == one.name and what in ("velocity", "angular_velocity"):
            return f"; its motion is {one.motion!r}: make a new simulation"
    return ""


# ---- gravity and walls ---------------------------------------------------------------------------------------------


def _changed(sim: Any) -> Scene:
    """A copy of the scene, to be changed."""
    made: Scene = copy.copy(sim._scene)
    made._kept = True
    return made


def _gravity(sim: Any) -> Iterator[tuple[str, Parameter]]:
    d, now = sim.dimension, sim.scene.gravity.tolist()

    def change(value: object) -> None:
        made = _changed(sim)
        made._gravity = _check.frozen(_check.array("gravity", value, (d,)))
        sim._admit_gravity(made)
        sim._core.set_gravity([*made._gravity.tolist(), 0.0][:3])
        _put_supplies(sim, made)  # a pore pressure is that of a height against gravity
        sim._scene = made

    yield "gravity", Parameter(tuple(now), change)
    for axis in range(d):

        def along(value: object, axis: int = axis) -> None:
            wanted = list(now)
            wanted[axis] = _check.number(f"gravity.{AXES[axis]}", value, unit="m/s²")
            change(wanted)

        yield f"gravity.{AXES[axis]}", Parameter(now[axis], along)


def _walls(sim: Any) -> dict[str, Parameter]:
    if not sim._rubs:
        return {}
    faces = [face for face, wall in sim.scene.walls.items() if wall.contact in FRICTIONAL]

    def changer(chosen: list[str], name: str) -> Callable[[object], None]:
        def change(value: object) -> None:
            mu, made = _check.number(name, value, low=0), _changed(sim)
            walls = {f: replace(w, friction=mu) if f in chosen else w for f, w in made._walls.items()}
            friction = [wall.friction for wall in walls.values()]
            sim._core.set_friction((friction + [0.0] * 6)[:6])
            made._walls = walls
            sim._scene = made

        return change

    found = {
        f"{face}.friction": Parameter(sim.scene.walls[face].friction, changer([face], f"{face}.friction"))
        for face in faces
    }
    if faces:
        first = sim.scene.walls[faces[0]].friction
        found[f"{WALLS}.friction"] = Parameter(first, changer(faces, f"{WALLS}.friction"))
    return found


def _supplies(sim: Any) -> dict[str, Parameter]:
    """What walls hold: where something holds a face when the run begins, only its value changes."""

    def changer(face: str, what: str) -> Callable[[object], None]:
        def change(value: object) -> None:
            made, given = _changed(sim), {what: _check.number(f"{face}.{what}", value)}
            wall = replace(made._walls[face], **cast(Any, given))
            made._walls = made._walls | {face: wall}
            _put_supplies(sim, made)
            sim._scene = made

        return change

    return {
        f"{face}.{what}": Parameter(getattr(wall, what), changer(face, what))
        for face, wall in sim.scene.walls.items()
        for what in HELD
        if hasattr(sim._core, "set_heat_wall") and getattr(wall, what) is not None
    }


def _put_supplies(sim: Any, scene: Scene) -> None:
    """Tell the core what the walls of a scene hold."""
    for number, (face, wall) in enumerate(scene.walls.items()):
        held = any(getattr(wall, what) is not None for what in HELD)
        if held and (supply := supply_of(scene, face)):
            sim._core.set_heat_wall(number, *supply)


# ---- contacts of bodies -------------------------------------------------------------------------------------------


def _contacts(sim: Any) -> dict[str, Parameter]:
    """Friction and adhesion of the pairs with names, and of all pairs without a contact of their own."""
    scene: Scene = sim.scene
    if not scene._touches:
        return {}
    layers, pairs = scene._layers(), scene.contacts

    def put_all(rule: contacts.Contact) -> None:
        sim._core.set_contact(rule.contact, rule.friction, rule.adhesion)
        made = _changed(sim)
        made._contact, sim._scene = rule, made

    found = _of_contact(CONTACT, scene.contact, put_all)
    for name, two in contacts.named_pairs(layers, pairs).items():
        own = contacts.own_pairs(layers, pairs, two)

        def put(
            rule: contacts.Contact,
            two: tuple[int, int] = two,
            bodies: Iterable[tuple[str, str]] = own or [(name.split("|")[0], name.split("|")[1])],
        ) -> None:
            sim._core.set_pair(*two, rule.contact, rule.friction, rule.adhesion, None)
            made = _changed(sim)
            made._contacts |= dict.fromkeys(bodies, rule)
            sim._scene = made

        found |= _of_contact(name, pairs[own[0]] if own else scene.contact, put)
    return found


def _of_contact(
    name: str, rule: contacts.Contact, put: Callable[[contacts.Contact], None]
) -> dict[str, Parameter]:
    """The parameters of a rule, under its name."""

    def changer(what: str, unit: str) -> Callable[[object], None]:
        def change(value: object) -> None:
            number = _check.number(f"{name}.{what}", value, low=0, unit=unit)
            if number != getattr(rule, what):
                put(replace(rule, **cast(Any, {what: number})))

        return change

    found: dict[str, Parameter] = {}
    if rule.contact != "bonded":
        found[f"{name}.friction"] = Parameter(rule.friction, changer("friction", ""))
    if rule.contact == "separate":
        found[f"{name}.adhesion"] = Parameter(rule.adhesion, changer("adhesion", "Pa"))
    return found


# ---- colliders -----------------------------------------------------------------------------------------------------


def _of_collider(sim: Any, collider: Collider) -> dict[str, Parameter]:
    """Friction, and the present speed of one that moves at constant speeds, or not at all."""
    name, d, motion = collider.name, sim.dimension, collider.motion

    def put(made: Collider) -> None:
        if sim._recordings and made.motion is not collider.motion:
            raise ValueError(
                f"{name}: a recording is open, which states how colliders move; close it, change the speed, and record "
                "into another file"
            )
        index = next(k for k, placed in enumerate(sim._colliders) if placed.collider.name == name)
        size = float(getattr(sim, sim._resolution))
        placed = placed_again(sim._colliders[index], made, sim.scene.lower, sim.scene.upper, size)
        scene = _changed(sim)
        scene._colliders[[one.name for one in scene._colliders].index(name)] = made
        sim._colliders[index], sim._scene = placed, scene

    def rub(value: object) -> None:
        put(replace(collider, friction=_check.number(f"{name}.friction", value, low=0)))

    def move(value: object) -> None:
        velocity = _check.array(f"{name}.velocity", value, (d,))
        if _motion.Velocities._goes_on(motion, sim.time, velocity, None, d):
            return
        put(replace(collider, motion=_motion.Velocities._changed(motion, sim.time, velocity, None, d)))

    def turn(value: object) -> None:
        rate = _check.number(f"{name}.angular_velocity", value, unit="rad/s")
        if _motion.Velocities._goes_on(motion, sim.time, None, rate, d):
            return
        put(replace(collider, motion=_motion.Velocities._changed(motion, sim.time, None, rate, d)))

    found: dict[str, Parameter] = {}
    if not sim._resolution:
        return found
    if sim._rubs and collider.contact in FRICTIONAL:
        found[f"{name}.friction"] = Parameter(collider.friction, rub)
    speeds = _motion.Velocities._speeds(motion, d, sim.time)
    if speeds is None or collider.shape._only_collides or (motion is None and not sim._rubs):
        return found  # particles of SPH colliders that rest leave out those within others
    found[f"{name}.velocity"] = Parameter(tuple(speeds[0].tolist()), move)
    if speeds[1] is not None:
        found[f"{name}.angular_velocity"] = Parameter(float(speeds[1]), turn)
    return found


# ---- materials -----------------------------------------------------------------------------------------------------


def changeable(material: Material) -> tuple[str, ...]:
    """The parameters of a law that the next step takes: not the density, which is in the masses, nor those with which
    the state of a particle began, nor those that are fields of particles."""
    if not isinstance(material.law, str):
        return ()
    begins = {field["initial_parameter"] for field in material._row["history"]}
    names = [p["name"] for p in material._given_parameters() if p["unit"] != "flag"]
    return tuple(n for n in names if n != "density" and n not in begins and n not in material._varies)


def _materials(sim: Any) -> dict[str, Parameter]:
    numbers = sim._material_of_bodies()
    found: dict[str, Parameter] = {}
    indices_of: dict[str, list[int]] = {}
    for index in dict.fromkeys(numbers.values()):
        name = TOGETHER.join(body for body, number in numbers.items() if number == index)
        for what in (*changeable(sim._material(index)), *_of_pores(sim._material(index))):
            indices_of.setdefault(what, []).append(index)
            found[f"{name}.{what}"] = _parameter(sim, f"{name}.{what}", what, [index])
    for what, indices in indices_of.items():
        found.setdefault(f"{ALL}.{what}", _parameter(sim, f"{ALL}.{what}", what, indices))
    return found


def _parameter(sim: Any, name: str, what: str, indices: list[int]) -> Parameter:
    """One parameter of the materials of these indices."""

    def change(value: Any) -> None:
        number = _check.number(name, value)
        made = {index: _replaced(sim._material(index), what, number) for index in indices}
        for index, material in made.items():
            if material.law != sim._material(index).law:
                raise ValueError(
                    f"{name} = {number:g}: without it the law has no damage, which its particles have; make a new "
                    "simulation, or choose a large value, with which nothing breaks"
                )
            sim._admit_material(material)
        for index, material in made.items():
            _put_material(sim, index, material)

    first = sim._material(indices[0])
    return Parameter(float(getattr(first.pore if what in _of_pores(first) else first, what)), change)


def _of_pores(material: Material) -> tuple[str, ...]:
    """The parameter of pore water that is not in the state of the particles."""
    return () if material.pore is None else ("permeability",)


def _replaced(material: Material, what: str, number: float) -> Material:
    pore = material.pore
    if pore is None or what not in _of_pores(material):
        return material._replaced({what: number})
    made: Material = replace(cast(Any, material), pore=replace(pore, **cast(Any, {what: number})))
    return made


def _put_material(sim: Any, index: int, material: Material) -> None:
    """Give the bodies of an index, and the emitters of their material, other parameters of their law."""
    bodies = {body for body, number in sim._material_of_bodies().items() if number == index}
    sim._core.set_material(index, *sim._of_core(material)._core_arguments)
    if material.pore is not None:
        sim._core.set_pore(index, *material.pore._core_arguments(material._least_density()))
    scene, renewed = _changed(sim), dict[str, Body]()
    for k, body in enumerate(scene._bodies):
        if body.name in bodies:
            scene._bodies[k] = renewed[body.name] = replace(body, material=material)
    scene._emitters = [
        replace(one, material=material) if sim._is_material(index, one.material) else one
        for one in scene._emitters
    ]
    sim._scene = scene
    sim._take_material(index, material, renewed)
