"""Scenes as text: a tree for JSON, and separate arrays that are too long for JSON.

`describe` turns a scene into a description, `restore` makes an equal scene from it; every number keeps its bits. A
description is a tree of dicts, lists, strings, finite numbers, booleans and None. The tree names its arrays,
``{"array": name}``; a separate dict holds them. Short arrays are lists in the tree. Functions (of a body's velocity
or deformation, a body force or a load) cannot be stored: `Lost` stands for them.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Never, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from mpm import joints, materials, motion, shapes
from mpm.base import _check
from mpm.base._check import mapping as mapping
from mpm.base.streamed import Array
from mpm.errors import FileFormatError
from mpm.materials import hardening
from mpm.materials.pore import Pore
from mpm.materials.solute import Solute
from mpm.materials.thermal import Thermal
from mpm.materials.varying import Varying
from mpm.scene import changes
from mpm.scene.colliders import Collider, make_collider
from mpm.scene.contacts import BONDED, Contact
from mpm.scene.drains import Drain, make_drain
from mpm.scene.emitters import Emitter, make_emitter
from mpm.scene.loads import KINDS, Load, make_load
from mpm.scene.scene import Body, Scene, make_body
from mpm.scene.walls import FRICTION_HEAT, SUPPLIES, WATER, Wall, is_given
from mpm.shapes.shape import Complement, Shape, _Combined, _Difference, _Intersection, _Moved, _Union
from mpm.solver.keeping import Tree

__all__ = ["Arrays", "Lost", "Reader", "Tree", "Writer", "describe", "restore"]

T = TypeVar("T")
Arrays: TypeAlias = dict[str, Array]

INLINE = 32  # longer arrays are kept outside the text
DTYPES = ("float64", "float32", "int64", "int32", "uint64", "uint32", "uint8")
ROUNDING = 1e-12  # by which the result of a constructor that normalises may differ


def describe(scene: Scene) -> tuple[Tree, Arrays]:
    """Take a scene apart.

    Parameters
    ----------
    scene : Scene

    Returns
    -------
    tree : dict
        Of what JSON can hold.
    arrays : dict of str to ndarray
        What the tree refers to by name.

    Raises
    ------
    TypeError
        A shape, material or motion is not one of the package's.
    """
    writer = Writer()
    return writer.scene(scene), writer.arrays


def restore(tree: object, arrays: Mapping[str, npt.NDArray[Any]]) -> Scene:
    """Put a scene together.

    Parameters
    ----------
    tree, arrays
        What `describe` has returned, or what was read from a file.

    Returns
    -------
    Scene
        Equal in every number; functions are `Lost`.

    Raises
    ------
    FileFormatError
        It is not the description of a scene.
    """
    return understood("scene", lambda: Reader(arrays).scene(tree))


def understood(what: str, read: Callable[[], T]) -> T:
    """What `read` returns; the errors of a description that makes no sense become a FileFormatError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the original objects have already caused these warnings
            return read()
    except (FileFormatError, _check.UnfitError):
        raise
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError) as error:
        reason = _check.shortened(str(error) or type(error).__name__)
        raise FileFormatError(f"{what}: cannot be restored: {reason}") from error


@dataclass(frozen=True, slots=True)
class Lost:
    """Stands for a function that a file cannot keep: of bodies, whose values were taken when the particles were made,
    or a body force or that of a load, which `mpm.load` can be given again."""

    name: str
    region: bool = False
    """Whether it told where a load acts."""

    def __call__(self, x: npt.ArrayLike, t: float = 0.0) -> Never:
        """Raise ValueError: the function is not there.

        Parameters
        ----------
        x : array_like, shape (m, d)
            Not used.
        t : float, optional
            Not used.
        """
        if self.region:
            raise ValueError(
                f"the function {_check.shown(self.name)} was not kept in the file: the simulation of the file has what "
                "it chose; another simulation of this scene needs mpm.load(path, loads={name: {'where': f}})"
            )
        raise ValueError(
            f"the function {_check.shown(self.name)} was not kept in the file: make the scene anew to sample it again; "
            "a body force can be given to mpm.load(path, body_force=f), that of a load to "
            "mpm.load(path, loads={name: f})"
        )


@functools.cache
def _shape_kinds() -> dict[str, type[Shape]]:
    plain = {name: getattr(shapes, name) for name in shapes.__all__ if name != "Shape"}
    return plain | {
        "Moved": _Moved,
        "Union": _Union,
        "Intersection": _Intersection,
        "Difference": _Difference,
        "Complement": Complement,
    }


@functools.cache
def _material_kinds() -> dict[str, type[materials.Material]]:
    named = {name: getattr(materials, name) for name in materials.__all__ if name != "Material"}
    return {
        name: kind
        for name, kind in named.items()
        if isinstance(kind, type) and issubclass(kind, materials.Material)
    }


@functools.cache
def _hardening_kinds() -> dict[str, type[hardening.Hardening | hardening.Strength]]:
    return {name: getattr(hardening, name) for name in hardening.__all__ if name != "Hardening"}


@functools.cache
def _motion_kinds() -> dict[str, type[motion.Motion]]:
    return {name: getattr(motion, name) for name in motion.__all__ if name != "Motion"}


@functools.cache
def _joint_kinds() -> dict[str, type[joints.Joint]]:
    return {name: getattr(joints, name) for name in joints.__all__ if name != "Joint"}


class Writer:
    """Takes things apart; `arrays` collects what is too long for the tree."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}
        self._names: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def scene(self, scene: Scene) -> Tree:
        emitters = {"emitters": [self.fields(one) for one in scene.emitters]} if scene.emitters else {}
        drains = {"drains": [self.fields(one) for one in scene.drains]} if scene.drains else {}
        loads = {"loads": [self.load(one) for one in scene.loads]} if scene.loads else {}
        return (
            emitters
            | drains
            | loads
            | {
                "lower": self.value(scene.lower),
                "upper": self.value(scene.upper),
                "gravity": self.value(scene.gravity),
                "body_force": self.value(scene.body_force),
                "walls": {face: self.fields(wall) for face, wall in scene.walls.items()},
                "bodies": [self.fields(body) for body in scene.bodies],
                "colliders": [self.fields(collider) for collider in scene.colliders],
            }
            | self.contacts(scene)
            | ({"changes": changes.tabled(scene._changes)} if len(scene._changes) else {})
        )

    def contacts(self, scene: Scene) -> Tree:
        """Between bodies, where they are not all bonded."""
        if scene.contact == BONDED and not scene.contacts:
            return {}
        pairs = [{"bodies": list(pair), **self.fields(one)} for pair, one in scene.contacts.items()]
        return {"contact": self.fields(scene.contact), "contacts": pairs}

    def load(self, load: Load) -> Tree:
        return {"load": type(load).__name__, **self.fields(load)}

    def fields(
        self,
        thing: Body
        | Collider
        | Contact
        | Drain
        | Emitter
        | Load
        | Wall
        | materials.Material
        | hardening.Hardening
        | hardening.Strength
        | joints.Joint,
    ) -> Tree:
        """A dataclass, field by field."""
        named = dataclasses.fields(thing)  # type: ignore[arg-type]
        given = {field.name: getattr(thing, field.name) for field in named}
        if isinstance(thing, Body) and thing.joint is None:
            del given["joint"]
        if isinstance(thing, materials.Material):
            absent = [name for name in ("thermal", "pore", "solute") if getattr(thing, name) is None]
            given = {name: value for name, value in given.items() if name not in absent}
        if isinstance(thing, (Wall, Collider)):
            given = {
                name: value for name, value in given.items() if name not in SUPPLIES or is_given(name, value)
            }
        if isinstance(thing, (Wall, Collider)) and thing.friction_heat == 1:
            del given[FRICTION_HEAT]
        if isinstance(thing, Wall):
            given = {name: value for name, value in given.items() if name not in WATER or value is not None}
        if isinstance(thing, Collider) and thing.speeds is None:
            del given["speeds"]
        return {name: self.part(value) for name, value in given.items()}

    def part(self, part: Any) -> Any:
        """A shape, material, motion or value."""
        if isinstance(part, Shape):
            return self.shape(part)
        if isinstance(part, materials.Material):
            return self.material(part)
        if isinstance(part, (hardening.Hardening, hardening.Strength)):
            kind = _name_of(part, _hardening_kinds(), "hardening", "mpm.materials.hardening")
            return {"hardening": kind, **self.fields(part)}
        if isinstance(part, (Pore, Solute, Thermal)):
            return part._described()
        if isinstance(part, joints.Joint):
            return {"joint": _name_of(part, _joint_kinds(), "joint", "mpm.joints"), **self.fields(part)}
        return self.motion(part) if isinstance(part, motion.Motion) else self.value(part)

    def shape(self, shape: Shape) -> Tree:
        if isinstance(shape, Complement):  # that of a half-space has its own class
            return {"shape": "Complement", "of": self.shape(shape.shape)}
        kind = _name_of(shape, _shape_kinds(), "shape", "mpm.shapes")
        if isinstance(shape, _Combined):
            return {"shape": kind, "parts": [self.shape(part) for part in shape.parts]}
        if isinstance(shape, _Moved):
            moved = {"matrix": self.value(shape.matrix), "shift": self.value(shape.shift)}
            return {"shape": kind, "of": self.shape(shape.shape), **moved, "words": shape._steps}
        if isinstance(shape, shapes.Deforming):
            frames = [self.shape(frame) for frame in shape.shapes]
            return {"shape": kind, "times": self.value(shape.times), "shapes": frames}
        fields = {name: self.value(getattr(shape, name)) for name in shape._fields}
        if isinstance(shape, (shapes.Mesh, shapes.Terrain)):
            fields["path"] = shape.path
        return {"shape": kind, **fields}

    def material(self, material: materials.Material) -> Tree:
        kind = _name_of(material, _material_kinds(), "material", "mpm.materials")
        if isinstance(material, materials.UserLaw):
            return {"material": kind, **material._described()}
        return {"material": kind, **self.fields(material)}

    def motion(self, moving: motion.Motion) -> Tree:
        kind = _name_of(moving, _motion_kinds(), "motion", "mpm.motion")
        values = {name: value for name, value in moving._values().items() if name != "dimension"}
        return {"motion": kind, **{name: self.value(value) for name, value in values.items()}}

    def value(self, value: Any) -> Any:
        """A number, string, array or function."""
        if value is None or isinstance(value, (bool, str, int, float)):
            return value
        if isinstance(value, Varying):
            return self.value(value.given)
        if isinstance(value, Lost):
            return {"function": value.name}
        if isinstance(value, tuple):  # of numbers
            return [self.value(number) for number in value]
        if isinstance(value, np.ndarray):
            return self.array(value)
        if callable(value):
            return {"function": str(getattr(value, "__qualname__", type(value).__qualname__))}
        raise TypeError(f"{_check.shown(value)}: a file cannot keep a {type(value).__name__}")

    def array(self, array: npt.NDArray[Any]) -> Any:
        if array.dtype == np.float64 and 0 < array.size <= INLINE and np.isfinite(array).all():
            return array.tolist()
        if array.dtype.name not in DTYPES:
            raise TypeError(f"an array of {array.dtype}: a file keeps {', '.join(DTYPES)}")
        given = np.ascontiguousarray(array).reshape(array.shape)  # ascontiguousarray makes 0-d arrays 1-d
        key = (given.dtype.name, given.shape, hashlib.blake2b(given.tobytes()).digest())
        name = self._names.setdefault(key, f"array{len(self._names)}")
        self.arrays[name] = given
        return {"array": name}


def _name_of(thing: object, kinds: Mapping[str, type], what: str, module: str) -> str:
    for name, kind in kinds.items():
        if type(thing) is kind:
            return name
    raise TypeError(f"{what} = {_check.shown(thing)}: a file keeps objects of {module} only")


class Reader:
    """Puts things together; whatever does not fit raises ValueError, TypeError or KeyError (see `understood`)."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._arrays = arrays

    def scene(self, tree: object) -> Scene:
        given = mapping(tree, "scene")
        walls = {
            face: Wall(**mapping(wall, "wall")) for face, wall in mapping(given["walls"], "walls").items()
        }
        lower, upper = self.value(given["lower"]), self.value(given["upper"])
        gravity, body_force = self.value(given["gravity"]), self.value(given["body_force"])
        scene = Scene(lower, upper, gravity=gravity, body_force=body_force, walls=walls)
        for entry in listing(given["bodies"], "bodies"):
            taken = {body.name for body in scene.bodies}
            scene._bodies.append(self.body(entry, scene.dimension, taken))
        for entry in listing(given["colliders"], "colliders"):
            taken = {collider.name for collider in scene.colliders}
            scene._colliders.append(self.collider(entry, scene.dimension, taken))
        for entry in listing(given.get("emitters", []), "emitters"):  # missing in older files
            taken = {one.name for one in scene.bodies} | {one.name for one in scene.emitters}
            fields = self.fields(entry, "emitter")
            scene._emitters.append(make_emitter(**fields, dimension=scene.dimension, taken=taken, number=0))
        for entry in listing(given.get("drains", []), "drains"):  # missing in older files
            taken = {one.name for one in scene.drains}
            drain = make_drain(
                **self.fields(entry, "drain"), dimension=scene.dimension, taken=taken, number=0
            )
            scene._drains.append(drain)
        if "contact" in given:  # missing where all bodies are bonded
            scene._contact = Contact(**mapping(given["contact"], "contact"))
        for entry in listing(given.get("contacts", []), "contacts"):
            pair = mapping(entry, "contact")
            first, second = listing(pair.pop("bodies"), "bodies")
            scene.set_contact(first, second, Contact(**pair))
        for entry in listing(given.get("loads", []), "loads"):  # missing in older files
            taken = {one.name for one in (*scene.colliders, *scene.loads)}
            scene._loads.append(self.load(entry, scene, taken))
        restored = changes.restored(given.get("changes", []))  # missing where nothing was changed
        scene._changes = changes.Changes(restored)
        return scene

    def body(self, tree: object, dimension: int, taken: set[str]) -> Body:
        return make_body(**self.fields(tree, "body"), dimension=dimension, taken=taken, number=0)

    def collider(self, tree: object, dimension: int, taken: set[str]) -> Collider:
        return make_collider(**self.fields(tree, "collider"), dimension=dimension, taken=taken)

    def load(self, tree: object, scene: Scene, taken: set[str]) -> Load:
        given = mapping(tree, "load")
        kind = _check.choice("load", given.pop("load"), tuple(KINDS))
        parts: dict[str, Callable[[object], Any]] = {"velocity": self.speeds, "where": self.where}
        fields = {name: parts.get(name, self.value)(value) for name, value in given.items()}
        bodies = [body.name for body in scene.bodies]
        return make_load(kind, fields, dimension=scene.dimension, bodies=bodies, taken=taken)

    def speeds(self, tree: object) -> Any:
        """A velocity whose components may be free."""
        return tuple(tree) if isinstance(tree, list) else self.value(tree)

    def where(self, tree: object) -> Any:
        if isinstance(tree, dict) and "shape" in tree:
            return self.shape(tree)
        found = self.value(tree)
        return dataclasses.replace(found, region=True) if isinstance(found, Lost) else found

    def fields(self, tree: object, what: str) -> Tree:
        """What a body or a collider is made of."""
        given = mapping(tree, what)
        parts: dict[str, Callable[[object], Any]] = {
            "name": functools.partial(_check.text, "name"),
            "shape": self.shape,
            "material": self.material,
            "motion": self.motion,
            "joint": self.joint,
        }
        return {name: parts.get(name, self.value)(value) for name, value in given.items()}

    def joint(self, tree: object) -> joints.Joint:
        given = mapping(tree, "joint")
        kind: type[Any] = _kind(given.pop("joint"), _joint_kinds(), "joint")
        joint: joints.Joint = kind(**{name: self.value(value) for name, value in given.items()})
        return joint

    def shape(self, tree: object) -> Shape:
        given = mapping(tree, "shape")
        name = given.pop("shape")
        kind = _kind(name, _shape_kinds(), "shape")
        if kind is Complement:
            return ~self.shape(given["of"])
        if issubclass(kind, _Combined):
            return _combined(kind, [self.shape(part) for part in listing(given["parts"], "parts")])
        if kind is _Moved:
            return self._moved(given)
        if kind is shapes.Deforming:
            frames: Any = [self.shape(frame) for frame in listing(given["shapes"], "shapes")]
            return shapes.Deforming(self.value(given["times"]), frames)
        path = given.pop("path") if kind in (shapes.Mesh, shapes.Terrain) else None
        values = {field: self.value(value) for field, value in given.items()}
        shape: Shape = kind(**values)
        shape._set(**_exactly(name, {field: getattr(shape, field) for field in values}, values))
        if path is not None:
            shape._set(path=_check.text("path", path))
        return shape

    def _moved(self, given: Tree) -> Shape:
        inner = self.shape(given["of"])
        d = inner.dimension
        matrix = _check.array("matrix", self.value(given["matrix"]), (d, d))
        shift = _check.array("shift", self.value(given["shift"]), (d,))
        return _Moved(inner, matrix, shift, _check.text("words", given["words"]))

    def material(self, tree: object) -> materials.Material:
        given = mapping(tree, "material")
        kind = _kind(given.pop("material"), _material_kinds(), "material")
        if issubclass(kind, materials.UserLaw):
            law = given.pop("law", None)  # mpm.io.checkpoint puts it there
            return materials.UserLaw._restored(given, law if isinstance(law, materials.UserLaw) else None)
        part = {
            "hardening": self.hardening,
            "thermal": self.thermal,
            "pore": self.pore,
            "solute": self.solute,
        }
        material: materials.Material = kind(
            **{name: part.get(name, self.value)(value) for name, value in given.items()}
        )
        return material

    def thermal(self, tree: object) -> Thermal | None:
        return None if tree is None else Thermal._restored(tree)

    def pore(self, tree: object) -> Pore | None:
        return None if tree is None else Pore._restored(tree)

    def solute(self, tree: object) -> Solute | None:
        return None if tree is None else Solute._restored(tree)

    def hardening(self, tree: object) -> Any:
        """A number, what varies, or a kind of hardening."""
        if not isinstance(tree, dict) or "hardening" not in tree:
            return self.value(tree)
        given = mapping(tree, "hardening")
        kind = _kind(given.pop("hardening"), _hardening_kinds(), "hardening")
        return kind(**{name: self.value(value) for name, value in given.items()})

    def motion(self, tree: object) -> motion.Motion | None:
        if tree is None:
            return None
        given = mapping(tree, "motion")
        name = given.pop("motion")
        values = {field: self.value(value) for field, value in given.items()}
        moving: motion.Motion = _kind(name, _motion_kinds(), "motion")(**values)
        moving._set(**_exactly(name, moving._values(), values))
        return moving

    def value(self, value: object) -> Any:
        if isinstance(value, list):
            return np.array(value, dtype=np.float64)
        if isinstance(value, dict) and value.keys() == {"array"}:
            return self._arrays[_check.text("array", value["array"])].copy()
        if isinstance(value, dict) and value.keys() == {"function"}:
            return Lost(_check.text("function", value["function"]))
        if value is None or isinstance(value, (bool, str, int, float)):
            return value
        raise TypeError(f"{_check.shown(value)} is not a value")


def listing(tree: object, what: str) -> list[Any]:
    """A list."""
    if not isinstance(tree, list):
        raise _check.wrong_type(what, tree, "a list")
    return tree


def _kind(name: object, kinds: Mapping[str, type], what: str) -> Any:
    return kinds[_check.choice(what, name, tuple(kinds))]


def _combined(kind: type[_Combined], parts: list[Shape]) -> Shape:
    if len(parts) < 2 or len({part.dimension for part in parts}) > 1:
        raise ValueError("parts: must be two or more of one dimension")
    if not all(part._has_inside for part in parts):
        raise ValueError("parts: must be solids")
    return kind(*parts)


def _exactly(name: str, made: Mapping[str, Any], given: Mapping[str, Any]) -> Arrays:
    """Restore the given arrays where a constructor that normalises has changed them by rounding only."""
    arrays = {field: value for field, value in given.items() if isinstance(value, np.ndarray)}
    for field, value in arrays.items():
        other = np.asarray(made[field])
        room = ROUNDING * float(np.abs(value).max(initial=0))
        if (other.dtype, other.shape) != (value.dtype, value.shape) or not np.allclose(
            other, value, rtol=0, atol=room
        ):
            raise ValueError(f"{field} of {name} is not as it is made")
    return arrays
