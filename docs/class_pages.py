"""Pictures and tables of laws, shapes, motions and walls for the reference, which build.py makes.

``python docs/class_pages.py [NAME ...]`` draws the pictures without the rest of the documentation.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any

import drawn
import gallery_pages
import numpy as np

import mpm
from mpm import materials, motion, shapes
from mpm.base import options
from mpm.materials import laws
from mpm.solver.options import Common

SMALL = (300, 200)
RUN: dict[str, Any] = {"dtype": "float32", "threads": 1, "history": 0}

# --- laws ------------------------------------------------------------------------------------------------------------

SOLID: dict[str, Any] = {"E": 2e5, "nu": 0.3, "density": 1000}
BALLS: dict[str, dict[str, Any]] = {
    "FixedCorotated": SOLID,
    "Corotated": SOLID,
    "NeoHookean": SOLID,
    "SaintVenantKirchhoff": SOLID,
    "Hencky": SOLID,
    "MooneyRivlin": {"c10": 3e4, "c01": 8e3, "bulk_modulus": 1.7e5, "density": 1000},
    "Ogden": {"mu_1": 1e5, "alpha_1": 1.3, "mu_2": -1.2e4, "alpha_2": -2, "bulk_modulus": 1.7e5, "density": 1000},
    "FibreReinforced": SOLID | {"k_1": 1e5, "direction": (0, 1, 0)},
    "Viscoelastic": SOLID | {"g_1": 0.8, "tau_1": 0.05},
    "VonMises": SOLID | {"yield_stress": 4e3},
    "JohnsonCook": {
        "A": 4e3, "B": 8e3, "n": 0.3, "shear_modulus": 7.7e4, "sound_speed": 13, "specific_heat": 400,
        "melting_temperature": 1300, "density": 1000,
    },
    "Fluid": {"bulk_modulus": 1e5, "density": 1000, "tension": False},
    "HerschelBulkley": {
        "bulk_modulus": 1.7e5, "shear_modulus": 7.7e4, "yield_stress": 300, "consistency": 30, "density": 1000,
    },
    "Snow": {"density": 400},
    "Sand": {"E": 2e5, "density": 1000},
    "DruckerPrager": SOLID | {"dilation_angle_deg": 10, "cohesion": 500, "tension": 200},
    "MohrCoulomb": SOLID | {"friction_angle_deg": 30, "cohesion": 500},
    "CamClay": {
        "shear_modulus": 7e4, "density": 1000, "swelling": 0.02, "compression": 0.1, "critical_slope": 1,
        "preconsolidation": 2e3,
    },
    "NACC": SOLID | {"consolidation": -0.03},
    "MuI": SOLID | {"grain_diameter": 2e-3},
    "Rigid": {"density": 1000},
    "Brittle": SOLID | {"tensile_strength": 2e3, "fracture_energy": 1},
}  # fmt: skip
KINDS = {
    "Elastic solids": ("FixedCorotated", "Corotated", "NeoHookean", "SaintVenantKirchhoff", "Hencky"),
    "Rubber and tissue": ("MooneyRivlin", "Ogden", "FibreReinforced", "Viscoelastic"),
    "Metal": ("VonMises", "JohnsonCook"),
    "Fluids": ("Fluid", "HerschelBulkley"),
    "Snow": ("Snow",),
    "Sand, soil and rock": ("Sand", "MuI", "DruckerPrager", "MohrCoulomb", "CamClay", "NACC"),
    "Solids that crack": ("Brittle",),
    "Rigid bodies": ("Rigid",),
}


def dropped(law: str) -> mpm.Simulation:
    """A disk of 20 cm falls onto a rough floor, as in the tutorial on materials."""
    scene = mpm.Scene(
        (0, 0), (0.75, 0.5), gravity=(0, -9.81), walls={"y-": mpm.Wall("separate", friction=0.6)}
    )
    made = getattr(materials, law)(**BALLS[law])
    scene.add(shapes.Ball((0.375, 0.22), 0.1), made, velocity=(0, -1.5))
    return mpm.Simulation(scene, dx=1 / 64, **RUN)


# --- shapes ----------------------------------------------------------------------------------------------------------


def _wave() -> shapes.DistanceGrid:
    x, y = np.meshgrid(np.linspace(0, 3, 61), np.linspace(0, 2, 41), indexing="ij")
    return shapes.DistanceGrid((0, 0), 0.05, np.maximum(y - 1 - 0.4 * np.sin(2 * np.pi * x / 1.5), 0.2 - y))


def _fan() -> shapes.Cells:
    angle = np.linspace(0, 2 * np.pi, 7)[:-1]
    rim = np.stack([1.5 + 0.8 * np.cos(angle), 1 + 0.8 * np.sin(angle)], 1)
    return shapes.Cells([(1.5, 1), *rim], [(0, 1 + k, 1 + (k + 1) % 6) for k in range(6)])


def _spiral() -> shapes.Points:
    t = np.linspace(1, 14, 400)
    return shapes.Points(np.stack([1.5 + 0.06 * t * np.cos(t), 1 + 0.06 * t * np.sin(t)], 1), volume=2e-3)


def _mesh() -> Any:
    part = shapes.Mesh(mpm.gallery.CUBE_MESH)
    lower, upper = part.bounds
    return part.translate(-(lower + upper) / 2).scale(1.2 / float(max(upper - lower))).translate((1.5, 1, 1))


SHAPES: dict[str, Callable[[], Any]] = {
    "Box": lambda: shapes.Box((0.6, 0.4, 0.4), (2.4, 1.6, 1.4)),
    "Ball": lambda: shapes.Ball((1.5, 1, 1), 0.8),
    "Capsule": lambda: shapes.Capsule((0.8, 0.7, 0.7), (2.2, 1.3, 1.3), 0.45),
    "Cylinder": lambda: shapes.Cylinder((0.8, 0.7, 0.7), (2.2, 1.3, 1.3), 0.45),
    "Mesh": _mesh,
    "Polygon": lambda: shapes.Polygon(
        [(0.5, 0.3), (2.5, 0.3), (2.0, 1.0), (2.5, 1.7), (1.5, 1.2), (0.5, 1.7)]
    ),
    "HalfSpace": lambda: shapes.HalfSpace((1.5, 1), (-0.5, 1)) & shapes.Box((0, 0), (3, 2)),
    "DistanceGrid": _wave,
    "Terrain": lambda: (
        shapes.Terrain(vertices=[(0, 0.6), (0.8, 1.1), (1.3, 0.7), (2, 1.5), (3, 1.2)])
        & shapes.Box((0, 0.2), (3, 2))
    ),
    "Cells": _fan,
    "Points": _spiral,
    "union": lambda: shapes.Ball((1.2, 1), 0.6) | shapes.Box((1.4, 0.7), (2.6, 1.3)),
    "intersection": lambda: shapes.Ball((1.2, 1), 0.7) & shapes.Ball((1.8, 1), 0.7),
    "difference": lambda: shapes.Box((0.6, 0.4), (2.4, 1.6)) - shapes.Ball((1.5, 1.1), 0.45),
}


def filled(shape: str) -> mpm.Simulation:
    """A body of that shape, coloured by height."""
    made = SHAPES[shape]()
    dimension = made.dimension
    scene = mpm.Scene((0, 0, 0)[:dimension], (3, 2, 2)[:dimension], gravity=(0,) * (dimension - 1) + (-1,))
    scene.add(made, materials.NeoHookean(**SOLID))
    sim = mpm.Simulation(scene, dx=1 / 20 if dimension == 2 else 1 / 15, **RUN)
    height = sim.particles.add_field("height")
    height[:] = sim.particles.x[:, -1]
    return sim


# --- motions ---------------------------------------------------------------------------------------------------------

MOTIONS: dict[str, Callable[[], Any]] = {
    "Linear": lambda: motion.Linear((0.8, 0)),
    "Rotation": lambda: motion.Rotation(2 * np.pi, about=(0.55, 0.4)),
    "Sinusoid": lambda: motion.Sinusoid((0.25, 0), 2),
    "Velocities": lambda: motion.Velocities([0, 0.4, 0.7], [(1.5, 0), (0, 1), (-2, 0)]),
    "Keyframes": lambda: motion.Keyframes([0, 0.4, 0.7, 1], [(0, 0), (0.6, 0), (0.6, 0.3), (0, 0.3)]),
}


def stirred(name: str) -> mpm.Simulation:
    """A paddle moves through water."""
    scene = mpm.Scene((0, 0), (1.5, 1), gravity=(0, -9.81))
    scene.add(shapes.Box((0, 0), (1.5, 0.35)), materials.Fluid(bulk_modulus=4e4, density=1000, viscosity=1.0))
    at = {"Sinusoid": 0.75}.get(name, 0.4 if name != "Rotation" else 0.55)
    scene.add_collider(shapes.Box((at - 0.05, 0.2), (at + 0.05, 0.6)), motion=MOTIONS[name](), name="paddle")
    return mpm.Simulation(scene, dx=1 / 32, **RUN)


# --- walls -----------------------------------------------------------------------------------------------------------

WALLS = {
    "sticky": "material at the face stands still",
    "slip": "material slides along the face and never leaves it",
    "separate": "material slides along the face and may leave it; `friction` slows it down",
    "mirror": "a plane of symmetry: half of a symmetric problem",
    "periodic": "material that leaves here comes in at the opposite face",
}


def thrown(contact: str) -> mpm.Simulation:
    """A soft disk is thrown onto the floor; at a plane of symmetry two halves meet."""
    walls = {"x": "periodic"} if contact == "periodic" else {"y-": mpm.Wall(contact)}
    scene = mpm.Scene((0, 0), (1.5, 1), gravity=(0, 0 if contact == "periodic" else -9.81), walls=walls)
    place = (0.4, 0.5) if contact == "periodic" else (0.4, 0.35)
    soft = materials.NeoHookean(E=4e4, nu=0.3, density=1000)
    scene.add(shapes.Ball(place, 0.2), soft, velocity=(1.5, 0 if contact == "periodic" else -2.5))
    return mpm.Simulation(scene, dx=1 / 40, on_leave="delete", **RUN)


def all_loops() -> dict[str, drawn.Loop]:
    """Name of the picture -> its loop; stills last no time."""
    common: dict[str, Any] = {"size": SMALL, "frames": 24, "seconds": 2.0}
    found = {}
    for law in BALLS:
        found[f"law-{law}"] = drawn.Loop(dropped, 0.4, arguments={"law": law}, limits=(0, 2), **common)
    for shape in SHAPES:
        found[f"shape-{shape}"] = drawn.Loop(
            filled, 0, arguments={"shape": shape}, color="height", limits=(0, 2), **common
        )
    for name in MOTIONS:
        found[f"motion-{name}"] = drawn.Loop(stirred, 1, arguments={"name": name}, limits=(0, 2), **common)
    for contact in WALLS:
        found[f"wall-{contact}"] = drawn.Loop(
            thrown, 0.6, arguments={"contact": contact}, limits=(0, 3), **common
        )
    return found


# --- tables, in reStructuredText -------------------------------------------------------------------------------------


def picture(name: str, alt: str, width: int = 150) -> str:
    return f".. image:: /pictures/{name}.webp\n   :alt: {alt}\n   :width: {width}px\n"


def table(head: Iterable[str], rows: Iterable[Iterable[str]], widths: str = "auto") -> str:
    """A list-table; cells may be directives."""
    text = f".. list-table::\n   :header-rows: 1\n   :widths: {widths}\n\n"
    for row in (head, *rows):
        for k, cell in enumerate(row):
            lines = (cell or "\\ ").splitlines()
            text += f"   {'*' if k == 0 else ' '} - {lines[0]}\n"
            text += "".join(f"       {line}\n" if line else "\n" for line in lines[1:])
    return text + "\n"


def first_line(thing: object) -> str:
    """The first sentence of a docstring."""
    text = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
    return text.replace("|", r"\|")


def laws_table() -> str:
    """Every law by its kind, with its picture, and the methods that take it."""
    named = {name for names in KINDS.values() for name in names}
    known = {
        name for name in materials.__all__ if getattr(getattr(materials, name), "law", "") in laws.registry()
    }
    if named != known or set(BALLS) != known:
        raise SystemExit(
            f"docs/class_pages.py: KINDS and BALLS must have each law: {named ^ known or set(BALLS) ^ known}"
        )
    rows = []
    for kind, names in KINDS.items():
        for k, name in enumerate(names):
            made = getattr(materials, name)
            row = laws.registry()[made.law]
            implicit = "no" if row["tangent"] is None else ("Newton" if row["tangent"] == "mapped" else "all")
            solid = row["strain"] == "F" and not row["return_map"] and not row["rigid"]
            elements = "yes" if solid else "no"
            kept = ", ".join(
                f"``{field['name']}``" for field in row["history"] if field["name"] != "x_remainder"
            )
            rows.append(
                [
                    f"**{kind}**" if k == 0 else "",
                    picture(f"law-{name}", f"a ball of {name} falls onto a rough floor"),
                    f":py:class:`~mpm.materials.{name}`\n\n{first_line(made)}",
                    kept or "none",
                    implicit,
                    elements,
                ]
            )
    head = ("kind", "the same ball", "law", "history", "implicit steps", "mpm.fem")
    notes = (
        "A ball of each law falls onto a rough floor. *History* names the fields of a particle beside its strain. "
        '*Implicit steps*: all integrators, or only ``"implicit-euler"`` and ``"implicit-midpoint"``, which solve '
        "by Newton's method. `UserLaw` takes a law of your own, and "
        "`library` has materials of the real world.\n\n"
    )
    return notes + table(head, rows, "11 21 38 14 8 8")


def shapes_table() -> str:
    """Every shape with its picture, and the set operations."""
    operations = {"union": "``a | b``", "intersection": "``a & b``", "difference": "``a - b``"}
    rows = []
    for name, make in SHAPES.items():
        call = operations.get(name) or f":py:class:`~mpm.shapes.{name}`"
        text = first_line(getattr(shapes, name)) if name not in operations else f"The {name} of two shapes."
        dimension = "2-D" if make().dimension == 2 else "3-D"
        rows.append([picture(f"shape-{name}", f"a body of the shape {name}, {dimension}"), call, text])
    return (
        "`~mpm.shapes.Shape.rotate`, `~mpm.shapes.Shape.scale` and `~mpm.shapes.Shape.translate` return new shapes; "
        "``~a`` is everything around a shape. "
        "Colours show the height.\n\n" + table(("picture", "shape", "meaning"), rows, "25 20 55")
    )


def motions_table() -> str:
    rows = [
        [picture(f"motion-{name}", f"a paddle in water, motion {name}"), f":py:class:`~mpm.motion.{name}`",
         first_line(getattr(motion, name))]
        for name in MOTIONS
    ]  # fmt: skip
    return table(("a paddle in water", "motion", "meaning"), rows, "25 20 55")


def walls_table() -> str:
    rows = [
        [picture(f"wall-{name}", f"a soft disk is thrown onto a floor that is {name}"), f'``"{name}"``', text]
        for name, text in WALLS.items()
    ]
    return table(("a soft disk, thrown onto the floor", "contact", "meaning"), rows, "25 20 55")


# --- options ---------------------------------------------------------------------------------------------------------

OPTIONS = {
    "Space": ("dx", "particles_per_cell", "sampling", "rng", "volume", "kernel", "gradient", "dtype"),
    "Transfer": (
        "transfer",
        "flip_ratio",
        "xpic_order",
        "advect",
        "f_update",
        "c_damping",
        "f_bar",
        "artificial_viscosity",
        "density_correction",
    ),
    "Time": (
        *("dt", "max_dt", "allow_unstable", "integrator", "beta", "tolerance", "max_iterations"),
        *("preconditioner", "projection", "conduction"),
    ),
    "Boundaries and damping": ("particle_collisions", "on_leave", "damping", "local_damping"),
    "Output and machine": ("history", "dissipation", "threads", "device", "comm", "distributed"),
}
LAST = "Output and machine"  # the group of options of all methods that no other one has


def options_table() -> str:
    """The options of `mpm.Simulation` by what they concern."""
    signature = inspect.signature(mpm.Simulation)
    named = [name for names in OPTIONS.values() for name in names]
    others = tuple(name for name in options.rows(Common) if name not in named)
    named += others
    if sorted(named) != sorted(set(signature.parameters) - {"scene"}):
        raise SystemExit(
            f"docs/class_pages.py: OPTIONS must have each option once: {set(named) ^ set(signature.parameters)}"
        )
    rows = []
    for group, names in OPTIONS.items():
        listed = []
        for name in (*names, *others * (group == LAST)):
            default = signature.parameters[name].default
            plain = isinstance(default, (str, int, float, bool)) and default is not inspect.Parameter.empty
            listed.append(f"``{name}={default!r}``" if plain else f"``{name}``")
        rows.append([f"**{group}**", ", ".join(listed)])
    return table(("options of", "with their defaults"), rows, "20 80")


# --- beside the entries ----------------------------------------------------------------------------------------------


def picture_of(name: str) -> str | None:
    """The picture at a class of the reference, by its full name."""
    module, _, short = name.rpartition(".")
    kind = {"mpm.materials": "law", "mpm.shapes": "shape", "mpm.motion": "motion"}.get(module)
    found = f"{kind}-{short}"
    return found if kind and found in all_loops() else None


def scenes_beside(name: str) -> str:
    """A sentence on the scenes of the gallery with that law."""
    module, _, short = name.rpartition(".")
    scenes = gallery_pages.scenes_of(short) if module == "mpm.materials" else []
    if not scenes:
        return ""
    links = ", ".join(f":doc:`/gallery/{scene}`" for scene in scenes)
    return f"In the gallery: {links}."


if __name__ == "__main__":
    drawn.save_all(all_loops(), sys.argv[1:])
