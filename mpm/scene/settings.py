"""The settings of a scene that the viewer can change; a change makes the simulation anew."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from mpm.base import _check, advice
from mpm.base.setting import Setting
from mpm.materials.laws import Material
from mpm.motion import Velocities
from mpm.scene import bodysettings, walls
from mpm.scene.changes import NONE
from mpm.scene.colliders import Collider
from mpm.scene.contacts import Contact
from mpm.scene.scene import Scene

__all__ = ["Setting", "changed_scene", "named_changes", "of_contacts", "of_scene"]

ALL = "body"  # stands for every body in the names of `named_changes`
VECTORS = {"position": "", "velocity": "v"}  # with what their components' names begin, before the axis


def of_scene(scene: Scene) -> tuple[Setting, ...]:
    """The materials, bodies, gravity, domain and walls."""
    return (*_of_materials(scene), *bodysettings.of(scene), *_of_gravity(scene), *_of_domain(scene))


def _materials(scene: Scene) -> dict[Material, list[str]]:
    """The scene's materials, each with the names of its bodies."""
    found: dict[Material, list[str]] = {}
    for body in scene.bodies:
        found.setdefault(body.material, []).append(body.name)
    return found


def _of_materials(scene: Scene) -> list[Setting]:
    return [
        Setting(
            key=f"material {number} {parameter['name']}",
            group=f"{type(material).__name__} · {', '.join(bodies)}",
            name=parameter["name"],
            unit=parameter["unit"].replace("m3", "m³").replace("flag", ""),
            value=getattr(material, parameter["name"]) + 0,  # a flag is a whole number here
            low=parameter["low"],
            low_open=parameter["low_open"],
            high=parameter["high"],
            high_open=parameter["high_open"],
            whole=parameter["unit"] == "flag",
            meaning=parameter["meaning"],
        )
        for number, (material, bodies) in enumerate(_materials(scene).items())
        for parameter in material._given_parameters()
        if parameter["name"] not in material._varies
    ]


def _of_gravity(scene: Scene) -> list[Setting]:
    axes = "xyz"[: scene.dimension]
    return [
        Setting(f"gravity {axis}", "Gravity", f"g{axis}", "m/s²", float(value))
        for axis, value in zip(axes, scene.gravity, strict=True)
    ]


def _of_domain(scene: Scene) -> list[Setting]:
    axes = "xyz"[: scene.dimension]
    corners = (("lower", scene.lower), ("upper", scene.upper))
    found = [
        Setting(f"{name} {axis}", "Domain", f"{name} {axis}", "m", float(value))
        for name, corner in corners
        for axis, value in zip(axes, corner, strict=True)
    ]
    for face, wall in scene.walls.items():
        meaning = "contact of the face; friction is kept where it slips or separates, restitution where it separates"
        found.append(
            Setting(f"wall {face}", "Walls", face, "", wall.contact, meaning=meaning, choices=walls.CONTACTS)
        )
    return found


def of_contacts(scene: Scene) -> tuple[Setting, ...]:
    """The friction of walls, colliders and pairs of bodies that may have it, the adhesion of pairs, and the speeds of
    colliders at constant speeds."""
    meaning = "friction coefficient of Coulomb"
    found = [
        Setting(f"friction {face}", "Walls", f"{face} friction", "", wall.friction, low=0, meaning=meaning)
        for face, wall in scene.walls.items()
        if wall.contact in walls.FRICTIONAL
    ]
    for start, (group, rule) in _rules(scene).items():
        if rule.contact != "bonded":
            found.append(
                Setting(f"{start} friction", group, "friction", "", rule.friction, low=0, meaning=meaning)
            )
        if rule.contact == "separate":
            holds = "traction that holds bodies together"
            found.append(
                Setting(f"{start} adhesion", group, "adhesion", "Pa", rule.adhesion, low=0, meaning=holds)
            )
    for number, collider in enumerate(scene.colliders):
        group, start = f"Collider · {collider.name}", f"collider {number}"
        if collider.contact in walls.FRICTIONAL:
            found.append(
                Setting(f"{start} friction", group, "friction", "", collider.friction, low=0, meaning=meaning)
            )
        speeds = Velocities._speeds(collider.motion, scene.dimension)
        if speeds is None or collider.shape._only_collides:
            continue
        for axis, value in zip("xyz", speeds[0].tolist(), strict=False):
            found.append(Setting(f"{start} v{axis}", group, f"v{axis}", "m/s", value))
        if speeds[1] is not None:
            found.append(Setting(f"{start} turn", group, "angular velocity", "rad/s", speeds[1]))
    return tuple(found)


def _rules(scene: Scene) -> dict[str, tuple[str, Contact]]:
    """The group and the rule of each contact of bodies, by what the keys of its settings begin with."""
    pairs = {
        f"pair {k}": (f"Contact · {a}|{b}", one) for k, ((a, b), one) in enumerate(scene.contacts.items())
    }
    return {"contact": ("Contact of bodies", scene.contact)} | pairs


def changed_scene(scene: Scene, changes: Mapping[str, Any]) -> Scene:
    """A copy with some settings changed, and all else as it is."""
    made = copy.copy(scene)
    made._changes = NONE  # a new run
    _change_domain(made, scene, changes)
    gravity = scene.gravity.copy()
    for axis, name in enumerate("xyz"[: scene.dimension]):
        gravity[axis] = changes.get(f"gravity {name}", gravity[axis])
    made._gravity = _check.frozen(gravity)
    materials: dict[Material, Material] = {}
    for number, material in enumerate(_materials(scene)):
        prefix = f"material {number} "
        new = {key.removeprefix(prefix): v for key, v in changes.items() if key.startswith(prefix)}
        materials[material] = material._replaced(cast(Any, new))
    made._colliders = [
        _changed_collider(one, number, scene.dimension, changes) for number, one in enumerate(scene.colliders)
    ]
    made._bodies = [
        replace(bodysettings.changed(body, number, changes), material=materials[body.material])
        for number, body in enumerate(scene.bodies)
    ]
    rules = [
        replace(rule, **{w: changes.get(f"{start} {w}", getattr(rule, w)) for w in ("friction", "adhesion")})
        for start, (_, rule) in _rules(scene).items()
    ]
    made._contact, made._contacts = rules[0], dict(zip(scene.contacts, rules[1:], strict=True))
    made._emitters = [
        replace(one, material=materials.get(one.material, one.material)) for one in scene.emitters
    ]
    return made


def _changed_collider(collider: Collider, number: int, d: int, changes: Mapping[str, Any]) -> Collider:
    """A collider with another friction and other speeds; speeds that a run has changed hold from the beginning."""
    start = f"collider {number} "
    new = {key.removeprefix(start): value for key, value in changes.items() if key.startswith(start)}
    if "friction" in new:
        collider = replace(collider, friction=new.pop("friction"))
    speeds = Velocities._speeds(collider.motion, d)
    if speeds is None or not (new or isinstance(collider.motion, Velocities)):
        return collider
    velocity = [new.get(f"v{axis}", value) for axis, value in zip("xyz", speeds[0].tolist(), strict=False)]
    turn = new.get("turn", speeds[1])
    moves = Velocities._changed(collider.motion, 0.0, np.array(velocity), turn, d)
    return replace(collider, motion=moves)


def named_changes(scene: Scene, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Changes for `changed_scene`, from names with a dot such as ``body.velocity`` and ``snow.E``.

    Parameters
    ----------
    scene : Scene
    wanted : mapping
        Values by name. Before the dot: the name of a body, or ``body`` for every body; a body's own name wins. After
        the dot: ``shape``, ``position`` (d,) [m], ``size`` [m], ``velocity`` (d,) [m/s], as the viewer has them, or a
        parameter of the body's material.

    Raises
    ------
    TypeError, ValueError
        There is no such body or setting, the value is not allowed, or a body that is not meant has the same material.
    """
    named, changes = _of_bodies(scene), {}
    for name in sorted(wanted, key=lambda name: not name.startswith(f"{ALL}.")):
        target, _, what = name.rpartition(".")
        chosen = _check.choice("body", target, (ALL, *named))
        for body in scene.bodies:
            if chosen not in (ALL, body.name):
                continue
            varies = what in body.material._varies or (what == "velocity" and callable(body.velocity))
            why = f"; {what} varies over this body" if varies else ""
            _check.choice(f"setting of {body.name}", what, tuple(named[body.name]), advice.SETTINGS, why)
            found = named[body.name][what]
            others = [b.name for b in scene.bodies if b.material == body.material and b.name != body.name]
            if others and chosen != ALL and found[0].key.startswith("material "):
                same = f"{', '.join((body.name, *others))} have the same material"
                raise ValueError(f"{name}: {same}; must be {ALL}.{what}, which changes it for every body")
            values = [wanted[name]]
            if what in VECTORS:
                values = _check.array(name, wanted[name], (scene.dimension,)).tolist()
            for setting, new in zip(found, values, strict=True):
                changes[setting.key] = replace(setting, name=name).check(new)
    return changes


def _of_bodies(scene: Scene) -> dict[str, dict[str, list[Setting]]]:
    """The settings of each body and of its material by name, the components of a vector under that of the vector."""
    known, materials = (*bodysettings.of(scene), *_of_materials(scene)), list(_materials(scene))
    vectors = {f"{start}{axis}": name for name, start in VECTORS.items() for axis in "xyz"}
    found: dict[str, dict[str, list[Setting]]] = {body.name: {} for body in scene.bodies}
    for number, body in enumerate(scene.bodies):
        keys = (f"body {number} ", f"material {materials.index(body.material)} ")
        for setting in known:
            if setting.key.startswith(keys):
                name = vectors.get(setting.name, setting.name)
                found[body.name].setdefault(name, []).append(setting)
    return found


def _change_domain(made: Scene, scene: Scene, changes: Mapping[str, Any]) -> None:
    """Give a copy of a scene another domain and other walls."""
    axes = "xyz"[: scene.dimension]
    lower, upper = (
        [changes.get(f"{name} {axis}", value) for axis, value in zip(axes, corner.tolist(), strict=True)]
        for name, corner in (("lower", scene.lower), ("upper", scene.upper))
    )
    contacts = {face: changes.get(f"wall {face}", wall.contact) for face, wall in scene.walls.items()}
    friction = {face: changes.get(f"friction {face}", wall.friction) for face, wall in scene.walls.items()}
    changed = {
        face: wall
        if contacts[face] == wall.contact and friction[face] == wall.friction
        else walls.Wall(
            contacts[face],
            friction=friction[face] if contacts[face] in walls.FRICTIONAL else 0.0,
            restitution=wall.restitution if contacts[face] == walls.REBOUNDING else 0.0,
            friction_heat=wall.friction_heat if contacts[face] in walls.FRICTIONAL else 1.0,
        )
        for face, wall in scene.walls.items()
    }
    whole = Scene(lower, upper, walls=changed)  # checks both
    made._lower, made._upper, made._walls = whole._lower, whole._upper, whole._walls
