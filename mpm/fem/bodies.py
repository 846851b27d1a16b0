"""From the bodies of a scene to one mesh."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mpm.base import _check
from mpm.base._check import FloatArray
from mpm.fem import meshing
from mpm.io.description import listing, mapping
from mpm.materials.brittle import Brittle
from mpm.materials.laws import Material
from mpm.materials.userlaws import UserLaw
from mpm.scene import scene as _scene
from mpm.scene.colliders import refuse_restitution
from mpm.scene.contacts import refuse_touching
from mpm.scene.heat import refuse_heat
from mpm.scene.pores import refuse_pore
from mpm.scene.solutes import refuse_solute
from mpm.scene.walls import ROWS
from mpm.shapes.cells import Cells
from mpm.solver.stepping import refuse_beyond_range
from mpm.solver.totals import per_depth


@dataclass(frozen=True, slots=True)
class Part:
    """What became of a body: its nodes and elements, from a first one on."""

    name: str
    first_node: int
    nodes: int
    first_element: int
    elements: int
    mass: float
    volume: float


@dataclass(frozen=True, eq=False, slots=True)
class Meshed:
    """All bodies as one mesh."""

    x: FloatArray  # (n, d)
    v: FloatArray
    rest: FloatArray  # positions without deformation, in the precision of the simulation
    nodes: npt.NDArray[np.int32]  # (m, d + 1)
    element_material: npt.NDArray[np.int32]
    node_material: npt.NDArray[np.int32]
    density: FloatArray  # of the elements
    varying: dict[
        str, FloatArray
    ]  # parameters of the elements (m,) by name, NaN where a material has one value
    parts: tuple[Part, ...]


def refuse_rebounds(scene: _scene.Scene) -> None:
    """Raise ValueError for walls and colliders with a restitution."""
    why = "it acts on rigid bodies, which mpm.fem has not; elements rebound by themselves"
    refuse_restitution(scene.walls, scene.colliders, why)


def refuse_scene(scene: _scene.Scene) -> None:
    refuse_touching(scene, "mpm.fem", "nodes of different bodies are never one")
    refuse_heat(scene, "mpm.fem")
    refuse_pore(scene, "mpm.fem")
    refuse_solute(scene, "mpm.fem")
    if scene.emitters:
        raise ValueError("scene has emitters: must have none, bodies of finite elements are meshed once")
    if scene.drains:
        raise ValueError("scene has drains: must have none, particles are deleted, and elements are not")
    if not scene.bodies:
        raise ValueError("scene has no bodies: add one with scene.add(shape, material)")
    for face, wall in scene.walls.items():
        if "fem" not in ROWS[wall.contact]["methods"]:
            raise ValueError(
                f"walls[{face!r}] = {wall.contact!r}: elements cannot cross a face; choose another wall"
            )
    refuse_rebounds(scene)
    for body in scene.bodies:
        law = body.material._row
        if isinstance(body.material, Brittle) and body.material.faces:
            raise ValueError(
                f"body {body.name!r}: faces = True: elements do not part; leave faces out, or use mpm.Simulation"
            )
        if isinstance(body.material, UserLaw):
            raise ValueError(
                f"body {body.name!r}: {body.material._title} is compiled outside of the package, and mpm.fem "
                "evaluates the laws of the package alone; use mpm.Simulation, or add the law to the package as "
                "CONTRIBUTING.md describes"
            )
        if law["return_map"] and law["tangent"] == "moduli":  # it relaxes, and does not yield
            raise ValueError(
                f"body {body.name!r}: {type(body.material).__name__} keeps strains that relax, and elements keep "
                "nothing of their past; use mpm.Simulation, or for damping alone an elastic solid with damping=(0, b)"
            )
        if law["strain"] != "F" or law["return_map"] or law["tangent"] not in ("energy", "moduli"):
            raise ValueError(
                f"body {body.name!r}: {type(body.material).__name__} is no elastic solid; mpm.fem needs one, such as "
                "Corotated, FixedCorotated or NeoHookean; mpm.Simulation takes every material"
            )
        for parameter in law["parameters"]:
            if parameter["branches"] and parameter["name"] in body.material._varies:
                raise ValueError(
                    f"body {body.name!r}: {parameter['name']} of {type(body.material).__name__} decides which terms "
                    "the law has; mpm.fem needs one value of it for all elements of a body"
                )
        if callable(body.F):
            raise ValueError(
                f"body {body.name!r}: F is a function of x; must be one matrix: elements deform with their nodes"
            )


def materials_of(scene: _scene.Scene) -> tuple[Material, ...]:
    return tuple(dict.fromkeys(body.material for body in scene.bodies))


def kept_materials(
    scene: _scene.Scene, entries: Any, element_material: npt.NDArray[Any]
) -> tuple[Material, ...]:
    """The materials in the order of a file's indices. Those of two bodies may have become equal in the file, where
    parameters are functions."""
    numbered: dict[int, Material] = {}
    try:
        for entry, body in zip(entries, scene.bodies, strict=True):
            numbered.setdefault(int(element_material[entry["first_element"]]), body.material)
        return tuple(numbered[k] for k in range(len(numbered)))
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError("parts and elements name materials that do not exist") from error


def mesh_bodies(
    scene: _scene.Scene, spacing: float | None, dtype: str, materials: Sequence[Material]
) -> Meshed:
    xs, vs, rests, cells, parts = [], [], [], [], []
    node_material, element_material, density, sampled = [], [], [], []
    nodes = elements = 0
    for body in scene.bodies:
        try:
            size = None if isinstance(body.shape, Cells) else spacing
            made = meshing.mesh_beside(body.shape, size, dtype, elements)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{error} (body {body.name!r})") from None
        x = made.vertices
        _refuse_outside(scene, body, x)
        F = np.eye(scene.dimension) if body.F is None else np.asarray(body.F)
        rest = x if body.F is None else x[0] + (x - x[0]) @ np.linalg.inv(F).T
        rest = rest.astype(dtype).astype(np.float64)
        volume = meshing.volumes(rest, made.cells)
        if not (volume > 0).all():
            raise ValueError(
                f"body {body.name!r}: an element has no volume in {dtype}; choose a larger spacing"
            )
        material, number = body.material, materials.index(body.material)
        varying = material._sampled(x[made.cells].mean(axis=1), body.name, dtype, "element")
        own = np.broadcast_to(varying.pop("density", material.density), len(volume))
        mass = meshing.spread(own * volume, made.cells, len(x))
        at_nodes = meshing.spread(volume, made.cells, len(x))
        for what, unit, values in (("volumes", "m³", at_nodes), ("masses", "kg", mass)):
            refuse_beyond_range(
                body.name, f"{what} of nodes", per_depth(unit, scene.dimension), values, dtype
            )
        xs.append(x)
        vs.append(_velocity(body, x, mass, dtype))
        rests.append(rest)
        cells.append(made.cells + np.int32(nodes))
        node_material.append(np.full(len(x), number, dtype=np.int32))
        element_material.append(np.full(len(volume), number, dtype=np.int32))
        density.append(own)
        sampled.append(varying)
        total, weight = float(volume.sum()), float((own * volume).sum())
        parts.append(Part(body.name, nodes, len(x), elements, len(volume), weight, total))
        nodes, elements = nodes + len(x), elements + len(volume)
    return Meshed(
        x=np.concatenate(xs),
        v=np.concatenate(vs),
        rest=np.concatenate(rests),
        nodes=np.concatenate(cells).astype(np.int32),
        element_material=np.concatenate(element_material),
        node_material=np.concatenate(node_material),
        density=np.concatenate(density),
        varying=_joined(sampled, parts),
        parts=tuple(parts),
    )


def _joined(sampled: Sequence[dict[str, FloatArray]], parts: Sequence[Part]) -> dict[str, FloatArray]:
    """The parameters of the elements of all bodies, from those of each."""
    elements = sum(part.elements for part in parts)
    joined = {name: np.full(elements, np.nan) for varying in sampled for name in varying}
    for varying, part in zip(sampled, parts, strict=True):
        for name, values in varying.items():
            joined[name][part.first_element : part.first_element + part.elements] = values
    return joined


def _velocity(body: _scene.Body, x: FloatArray, mass: FloatArray, dtype: str) -> FloatArray:
    """At the beginning, which must be in the range of the precision."""
    v = np.ascontiguousarray(body._velocity(x, mass))
    fastest = float(np.abs(v).max())
    if not fastest <= float(np.finfo(dtype).max):
        raise ValueError(f"body {body.name!r}: velocity: {fastest:g} m/s is beyond the range of {dtype}")
    return v


def warn_of_gaps(body: _scene.Body) -> None:
    """Warn where cells of a body touch without sharing vertices, so that nothing holds them together."""
    if not isinstance(body.shape, Cells):
        return
    found, x = body.shape._unjoined(), body.shape.vertices
    if len(found.twins):
        place = x[found.twins[0]].tolist()
        _warn(
            f"body {body.name!r}: {len(found.twins)} of {len(x)} vertices lie in the place of another one, the first "
            f"at {place}: nothing joins the elements there; Cells(..., merge=distance) makes one vertex of them"
        )
    if len(found.hanging):
        k, cell = found.hanging[0], found.cell[0]
        _warn(
            f"body {body.name!r}: {len(found.hanging)} of {len(x)} vertices lie on an edge or face of a cell that "
            f"lacks them (hanging nodes), the first, vertices[{k}] at {x[k].tolist()}, on cells[{cell}]: nothing joins "
            "the elements there; split such cells"
        )


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=_check.levels_to_caller())


def _refuse_outside(scene: _scene.Scene, body: _scene.Body, x: FloatArray) -> None:
    room = 1e-9 * (scene.upper - scene.lower)
    outside = ((x < scene.lower - room) | (x > scene.upper + room)).any(axis=1)
    if outside.any():
        raise ValueError(
            f"body {body.name!r}: {int(outside.sum())} of {len(x)} nodes are outside of the domain, the first at "
            f"{x[outside][0].tolist()}; enlarge the domain or move the body"
        )


def mean_edge(rest: FloatArray, nodes: npt.NDArray[np.int32]) -> float:
    """Of the edges from the first node of each element [m]."""
    corners = rest[nodes]
    edges = corners[:, 1:] - corners[:, :1]
    return float(np.linalg.norm(edges, axis=2).mean())


def check_mesh(
    d: int, materials: int, rest: npt.NDArray[Any], nodes: npt.NDArray[Any], material: npt.NDArray[Any]
) -> None:
    """Raise ValueError if what a file says of a mesh makes no sense."""
    for name, array, kind, columns in (
        ("rest", rest, "float64", (d,)),
        ("nodes", nodes, "int32", (d + 1,)),
        ("element_material", material, "int32", ()),
    ):
        if array.dtype != np.dtype(kind) or array.shape[1:] != columns or array.ndim != 1 + len(columns):
            raise ValueError(f"{name} is {array.dtype} {array.shape}")
    if len(nodes) != len(material) or not np.isfinite(rest).all():
        raise ValueError("the arrays of the mesh do not fit each other")
    if ((nodes < 0) | (nodes >= len(rest))).any() or ((material < 0) | (material >= materials)).any():
        raise ValueError("the mesh names nodes or materials that do not exist")


def restored_parts(entries: Any, scene: _scene.Scene, nodes: int, elements: int) -> tuple[Part, ...]:
    """The parts of a file, one for each body of the scene, which have all nodes and elements."""
    parts = []
    node = element = 0
    for entry, body in zip(listing(entries, "parts"), scene.bodies, strict=True):
        given = mapping(entry, "part")
        part = Part(
            _check.choice("name", given["name"], (body.name,)),
            _check.integer("first_node", given["first_node"], low=node, high=node),
            _check.integer("nodes", given["nodes"], low=1, high=nodes - node),
            _check.integer("first_element", given["first_element"], low=element, high=element),
            _check.integer("elements", given["elements"], low=1, high=elements - element),
            _check.number("mass", given["mass"], low=0),
            _check.number("volume", given["volume"], low=0),
        )
        node, element = node + part.nodes, element + part.elements
        parts.append(part)
    if (node, element) != (nodes, elements):
        raise ValueError(f"parts have {node} of {nodes} nodes and {element} of {elements} elements")
    return tuple(parts)
