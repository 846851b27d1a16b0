"""Random scenes as plain data, so that a scene can be moved, turned and measured in other units, and be run.

A `Setup` describes all that a run depends on. An `Image` says how the same scene is described otherwise:
x' = length (turn x + shift) with a signed permutation `turn`, and units of length, mass and time. `image_of` describes
a setup so; `Outcome` is the result of a run, and `Image.back` returns a result to the first description.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import mpm
import scenes
from mpm.solver import totals

M = mpm.materials
WAVE = 4.0  # m/s: of all materials of `scenes`
SOLVERS: dict[str, Any] = {
    "mpm": mpm.Simulation,
    "implicit": mpm.Simulation,
    "sph": mpm.sph.Simulation,
    "fem": mpm.fem.Simulation,
}
REGISTRY = mpm.materials.laws.registry()
# Units of fields of materials and of fields of runs that no row of a law states.
UNITS = {
    "sound_speed": "m/s",
    "specific_heat": "J/(kg K)",
    "direction": "1",
    "Jp_limits": "1",
    "friction": "1",
}
THERMAL_UNITS = {"conductivity": "W/(m K)", "specific_heat": "J/(kg K)", "latent_heat": "J/kg"}
FIELDS = {
    "x": ("point", "m"),
    "v": ("vector", "m/s"),
    "F": ("tensor", "1"),
    "C": ("tensor", "1/s"),
    "J": ("scalar", "1"),
    "mass": ("scalar", "kg"),
    "volume": ("scalar", "volume"),
    "material": ("scalar", "1"),
    "id": ("scalar", "1"),
    "plastic_dissipation": ("scalar", "Pa"),
    "viscous_dissipation": ("scalar", "Pa"),
    "temperature_gradient": ("vector", "K/m"),
    "thermal_stretch": ("scalar", "1"),
    "heated_dissipation": ("scalar", "Pa"),
    "liquid_fraction": ("scalar", "1"),
    **{row["name"]: (row["rank"], row["unit"]) for law in REGISTRY.values() for row in law["history"]},
    "temperature": ("scalar", "K"),
}
COLUMNS = {
    "time": ("scalar", "s"),
    "dt": ("scalar", "s"),
    "mass": ("scalar", "kg"),
    "momentum": ("vector", "N s"),
    "center_of_mass": ("point", "m"),
    "angular_momentum": ("spin", "N m s"),
    "gravitational": ("potential", "J"),
    **dict.fromkeys(("kinetic", "elastic", "plastic_dissipation", "viscous_dissipation", "heat"), ("scalar", "J")),
    **dict.fromkeys(("friction_work", "adhesion_work", "wall_heat", "friction_heat", "work"), ("scalar", "J")),
    **dict.fromkeys(("body_impulse", "wall_impulse", "damping_impulse", "impulse"), ("vector", "N s")),
    "torque": ("turning", "N m s"),
}  # fmt: skip
TOTALS = {entry.name for entry in dataclasses.fields(totals.Totals)}


# --- other descriptions of the same scene ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Image:
    """x' = length (turn x + shift), in other units of length, mass and time."""

    turn: np.ndarray
    shift: np.ndarray
    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0

    @property
    def handed(self) -> float:
        """The determinant of `turn`: -1 turns right hands into left ones."""
        return float(round(np.linalg.det(self.turn)))

    def unit(self, name: str, exponent: float = 1.0) -> float:
        """The factor of a quantity with this unit."""
        d, L, M_, T = len(self.turn), self.length, self.mass, self.time
        per_depth = L if d == 2 else 1.0  # extensive quantities in 2-D are per metre of depth
        speed = L / T
        factors = {
            "1": 1.0,
            "deg": 1.0,
            "K": 1.0,
            "flag": 1.0,
            "m": L,
            "s": T,
            "1/s": 1 / T,
            "1/m": 1 / L,
            "m/s": speed,
            "m/s2": speed / T,
            "volume": L**d,
            "kg/m3": M_ / L**3,
            "Pa": M_ / L**3 * speed**2,
            "Pa s": M_ / L**3 * speed**2 * T,
            "Pa s^n": M_ / L**3 * speed**2 * T**exponent,
            "J/(kg K)": speed**2,
            "J/(m3 K)": M_ / L**3 * speed**2,
            "J/kg": speed**2,
            "J/m2": M_ / L**3 * speed**2 * L,
            "W/(m K)": M_ / L**3 * speed**3 * L,
            "W/m2": M_ / L**3 * speed**3,
            "K/m": 1 / L,
            "kg": M_ / per_depth,
            "N": M_ / per_depth * speed / T,
            "N s": M_ / per_depth * speed,
            "N m s": M_ / per_depth * speed * L,
            "J": M_ / per_depth * speed**2,
        }
        return factors[name]

    def point(self, x: Any) -> np.ndarray:
        return self.length * (turned(x, self.turn) + self.shift)

    def vector(self, v: Any, unit: str = "1") -> np.ndarray:
        return self.unit(unit) * turned(v, self.turn)

    def tensor(self, A: np.ndarray, unit: str = "1") -> np.ndarray:
        return self.unit(unit) * turned_tensor(A, self.turn)

    def turning(self, w: Any) -> Any:
        """Of an axial vector (3,), or of the number that it is in 2-D."""
        w = np.asarray(w, dtype=float)
        return self.handed * (turned(w, self.turn) if len(self.turn) == 3 else w)

    def face(self, name: str) -> str:
        """The name of a face."""
        column = self.turn[:, "xyz".index(name[0])]
        axis = int(np.flatnonzero(column)[0])
        return "xyz"[axis] + (name[1] if column[axis] > 0 else "-+"[name[1] == "-"])

    def back(self, values: np.ndarray, rank: str, unit: str, like: dict[str, Any]) -> np.ndarray:
        """Values of a result in the first description; `like` has the first mass, momentum and gravity."""
        d, Q = len(self.turn), self.turn
        if values.dtype.kind in "iub":
            return values
        values = np.asarray(values, dtype=np.float64)
        if rank == "point":
            return turned(values / self.length - self.shift, Q.T)
        values = values / self.unit(unit)
        if rank == "vector":
            return turned(values, Q.T)
        if rank == "tensor":
            return turned_tensor(values, Q.T)
        if rank == "symmetric":
            upper = np.triu_indices(d)
            full = np.empty((len(values), d, d))
            full[:, upper[0], upper[1]] = values
            full[:, upper[1], upper[0]] = values
            return turned_tensor(full, Q.T)[:, upper[0], upper[1]]
        if rank in ("turning", "spin"):
            if rank == "spin":  # about the origin, which has moved
                values = values - cross(self.shift, turned(like["momentum"], Q), d)
            return self.handed * (turned(values, Q.T) if d == 3 else values)
        if rank == "potential":
            values = values + like["mass"] * (turned(like["gravity"], Q) @ self.shift)
        return values


def turned(v: Any, turn: np.ndarray) -> np.ndarray:
    """Vectors (..., d), without a product: components that are NaN stay alone."""
    columns = np.abs(turn).argmax(axis=1)
    return np.asarray(v)[..., columns] * turn.sum(axis=1)


def turned_tensor(A: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Tensors (..., d, d)."""
    return np.swapaxes(turned(np.swapaxes(turned(A, turn), -1, -2), turn), -1, -2)


def cross(a: np.ndarray, b: np.ndarray, d: int) -> np.ndarray:
    return np.cross(a, b) if d == 3 else a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def identity(d: int) -> Image:
    return Image(np.eye(d), np.zeros(d))


# --- the description of a scene --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Grains:
    """A body: points or vertices, their material, and how they begin."""

    law: str
    material: Any
    x: np.ndarray
    v: np.ndarray
    volume: np.ndarray | None = None
    C: np.ndarray | None = None
    F: np.ndarray | None = None
    cells: np.ndarray | None = None
    force: np.ndarray | None = None
    held: np.ndarray | None = None  # which of the points
    hold: np.ndarray | None = None  # their velocity; NaN: free


@dataclass(frozen=True)
class Obstacle:
    """A collider: `shape` is a word and its numbers, or a word and two shapes."""

    shape: tuple[Any, ...]
    contact: str
    friction: float
    motion: tuple[Any, ...] | None = None
    heat: tuple[str, Any] | None = None  # temperature, flux or transfer


@dataclass(frozen=True)
class Force:
    """b = amplitude sin(k·x + rate t) per mass."""

    amplitude: np.ndarray
    k: np.ndarray
    phase: float
    rate: float

    def __call__(self, x: np.ndarray, t: float) -> np.ndarray:
        return self.amplitude * np.sin(x @ self.k + self.phase + self.rate * t)[:, None]


@dataclass(frozen=True)
class Setup:
    """All that a run depends on."""

    method: str
    lower: np.ndarray
    upper: np.ndarray
    size: float  # dx or spacing
    gravity: np.ndarray
    walls: dict[str, tuple[str, float]]
    bodies: tuple[Grains, ...]
    obstacles: tuple[Obstacle, ...]
    force: Force | None
    options: dict[str, Any]
    steps: int
    contact: tuple[str, float, float] | None = None  # of bodies, with friction and adhesion; None: bonded
    heated: dict[str, tuple[str, Any]] = field(default_factory=dict)  # temperature, flux or transfer of walls
    speeds: tuple[float, float] | None = None  # of the waves that absorbing walls and colliders let out
    isa: str = scenes.ISAS[-1]
    number: int = field(default=0, compare=False)

    @property
    def dim(self) -> int:
        return len(self.lower)

    @property
    def conducts(self) -> bool:
        return any(body.material.thermal is not None for body in self.bodies)

    @property
    def loaded(self) -> bool:
        """Are bodies pushed or held?"""
        return any(body.force is not None or body.held is not None for body in self.bodies)

    def wall(self, face: str) -> mpm.Wall:
        contact, friction = self.walls[face]
        more = dict([self.heated[face]] if face in self.heated else [])
        if contact == "absorbing":
            more["speeds"] = self.speeds
        return mpm.Wall(contact, friction=friction, **more)

    @property
    def solved(self) -> bool:
        """Do steps solve equations?"""
        return self.options.get("integrator", "explicit") not in ("explicit", "symplectic-euler")

    def has(self, *contacts: str) -> bool:
        """Is a wall of this kind there?"""
        return any(contact in contacts for contact, _ in self.walls.values())

    def with_options(self, **options: Any) -> Setup:
        """Another setup; None takes an option away."""
        merged = {name: value for name, value in (self.options | options).items() if value is not None}
        return replace(self, options=merged)

    def __str__(self) -> str:
        bodies = ", ".join(f"{len(body.x)} of {body.material!r}" for body in self.bodies)
        walls = ", ".join(f"{face} {c}{f' {mu:.3g}' if mu else ''}" for face, (c, mu) in self.walls.items())
        lines = [
            f"{self.method} in {self.dim}-D, cells of {self.size:g} m from {self.lower} to {self.upper}, "
            f"{self.steps} steps, kernels {self.isa}",
            f"  bodies     {bodies}",
            f"  walls      {walls}; gravity {self.gravity}; force {self.force is not None}",
            f"  between    {self.contact}; heated {self.heated}",
            *(f"  loads      {body.force}, {body.hold}" for body in self.bodies),
            *(f"  collider   {one}" for one in self.obstacles),
            f"  options    {self.options}",
        ]
        return "\n".join(lines)


# --- shapes and motions of colliders ---------------------------------------------------------------------------------

JOINED: dict[str, Callable[[Any, Any], Any]] = {
    "union": lambda a, b: a | b,
    "difference": lambda a, b: a - b,
    "intersection": lambda a, b: a & b,
}


def shape_of(tree: tuple[Any, ...]) -> Any:
    word, *given = tree
    if word in JOINED:
        return JOINED[word](*map(shape_of, given))
    if word == "outside":
        return ~shape_of(given[0])
    made = {
        "ball": mpm.shapes.Ball,
        "box": mpm.shapes.Box,
        "capsule": mpm.shapes.Capsule,
        "cylinder": mpm.shapes.Cylinder,
        "halfspace": mpm.shapes.HalfSpace,
        "polygon": mpm.shapes.Polygon,
    }
    return made[word](*given)


def is_bounded(tree: tuple[Any, ...]) -> bool:
    return bool(np.isfinite(shape_of(tree).bounds).all())


def shape_image(tree: tuple[Any, ...], image: Image) -> tuple[Any, ...]:
    word, *given = tree
    if word in JOINED or word == "outside":
        return word, *(shape_image(part, image) for part in given)
    if word == "ball":
        return word, image.point(given[0]), image.length * given[1]
    if word == "box":
        corners = image.point(given)
        return word, corners.min(axis=0), corners.max(axis=0)
    if word in ("capsule", "cylinder"):
        return word, image.point(given[0]), image.point(given[1]), image.length * given[2]
    if word == "halfspace":
        return word, image.point(given[0]), image.vector(given[1])
    return word, image.point(given[0])  # polygon


def motion_of(motion: tuple[Any, ...] | None) -> Any:
    if motion is None:
        return None
    word, *given = motion
    if word == "rotation":
        rate, about = given
        size = float(np.linalg.norm(rate))
        if np.ndim(rate) == 0:
            return mpm.motion.Rotation(float(rate), about=about)
        return mpm.motion.Rotation(size, about=about, axis=rate / size)
    made = {"linear": mpm.motion.Linear, "sinusoid": mpm.motion.Sinusoid}
    if word in made:
        return made[word](*given)
    times, positions, angles = given
    return mpm.motion.Keyframes(times, positions, angles=angles)


def motion_image(motion: tuple[Any, ...] | None, image: Image) -> tuple[Any, ...] | None:
    if motion is None:
        return None
    word, *given = motion
    if word == "linear":
        return word, image.vector(given[0], "m/s")
    if word == "sinusoid":
        return word, image.vector(given[0], "m"), given[1] / image.time
    if word == "rotation":
        return word, image.turning(given[0]) / image.time, image.point(given[1])
    times, positions, angles = given
    return word, image.time * times, image.vector(positions, "m"), image.turning(angles)


# --- images of setups ------------------------------------------------------------------------------------------------


def unit_of(law: str, name: str) -> str:
    """The unit of a field of a material."""
    variants = [row for row in REGISTRY.values() if row["variant_of"] == law]  # have what options add
    found = {p["name"]: p["unit"] for row in (*variants, REGISTRY[law]) for p in row["parameters"]}
    return str(found.get(name) or UNITS[name])


def material_image(law: str, material: Any, image: Image) -> Any:
    changed: dict[str, Any] = {}
    for entry in dataclasses.fields(material):
        value = getattr(material, entry.name)
        if entry.name == "direction":
            turn = np.eye(3)
            d = len(image.turn)
            turn[:d, :d] = image.turn
            changed[entry.name] = tuple((turn @ np.append(value, [0.0] * (3 - len(value)))).tolist())
        elif entry.name == "thermal" and value is not None:
            changed[entry.name] = thermal_image(value, image)
        elif getattr(value, "cohesion", None) is not None:  # a table of strength
            cohesion = tuple(each * image.unit("Pa") for each in value.cohesion)
            changed[entry.name] = replace(value, cohesion=cohesion)
        elif isinstance(value, float):
            factor = image.unit(unit_of(law, entry.name), getattr(material, "exponent", 1.0))
            if factor != 1:
                changed[entry.name] = value * factor
    return replace(material, **changed)


def thermal_image(thermal: Any, image: Image) -> Any:
    changed: dict[str, Any] = {}
    for entry in dataclasses.fields(thermal):
        value = getattr(thermal, entry.name)
        if entry.name == "melting" and value is not None:
            changed[entry.name] = thermal_image(value, image)
        elif entry.name in THERMAL_UNITS and value is not None:
            changed[entry.name] = value * image.unit(THERMAL_UNITS[entry.name])
    return replace(thermal, **changed)


def options_image(options: dict[str, Any], image: Image) -> dict[str, Any]:
    changed = dict(options)
    for name in ("dt", "max_dt"):
        if isinstance(changed.get(name), float):
            changed[name] *= image.time
    if "damping" in changed:
        rate = changed["damping"]
        both = isinstance(rate, tuple)
        changed["damping"] = (rate[0] / image.time, rate[1] * image.time) if both else rate / image.time
    if isinstance(changed.get("on_leave"), dict):
        changed["on_leave"] = {image.face(face): fate for face, fate in changed["on_leave"].items()}
    return changed


def image_of(setup: Setup, image: Image) -> Setup:
    """The same scene, described otherwise."""

    def grains(body: Grains) -> Grains:
        cells = body.cells
        if cells is not None and image.handed < 0:
            cells = cells[:, [1, 0, *range(2, setup.dim + 1)]]
        return replace(
            body,
            material=material_image(body.law, body.material, image),
            x=image.point(body.x),
            v=image.vector(body.v, "m/s"),
            volume=None if body.volume is None else image.unit("volume") * body.volume,
            C=None if body.C is None else image.tensor(body.C, "1/s"),
            F=None if body.F is None else image.tensor(body.F),
            cells=cells,
            force=None if body.force is None else image.vector(body.force, "N"),
            hold=None if body.hold is None else image.vector(body.hold, "m/s"),
        )

    def given(what: str, value: Any) -> tuple[str, Any]:
        if what == "transfer":
            return what, (value[0] * image.unit("W/m2"), value[1])
        return what, value if what == "temperature" else value * image.unit("W/m2")

    corners = image.point([setup.lower, setup.upper])
    contact = setup.contact
    if contact is not None:
        contact = (*contact[:2], contact[2] * image.unit("Pa"))
    force = setup.force
    if force is not None:
        k = image.vector(force.k, "1/m")
        force = Force(
            image.vector(force.amplitude, "m/s2"),
            k,
            force.phase - float(k @ image.shift) * image.length,
            force.rate / image.time,
        )
    return replace(
        setup,
        lower=corners.min(axis=0),
        upper=corners.max(axis=0),
        size=setup.size * image.length,
        gravity=image.vector(setup.gravity, "m/s2"),
        walls={image.face(face): wall for face, wall in setup.walls.items()},
        bodies=tuple(map(grains, setup.bodies)),
        obstacles=tuple(
            replace(
                one,
                shape=shape_image(one.shape, image),
                motion=motion_image(one.motion, image),
                heat=one.heat and given(*one.heat),
            )
            for one in setup.obstacles
        ),
        force=force,
        contact=contact,
        heated={image.face(face): given(*wall) for face, wall in setup.heated.items()},
        speeds=setup.speeds and tuple(speed * image.unit("m/s") for speed in setup.speeds),
        options=options_image(setup.options, image),
    )


# --- slabs ----------------------------------------------------------------------------------------------------------


def extruded(tree: tuple[Any, ...]) -> bool:
    """Does `slab` know the cylinder over this shape?"""
    return tree[0] in ("ball", "box", "halfspace") or (tree[0] in JOINED and all(map(extruded, tree[1:])))


def slab(setup: Setup, rows: int) -> Setup:
    """A setup in 2-D as `rows` cells along z."""
    h = setup.size

    def up(values: Any) -> np.ndarray:
        return np.append(values, 0.0)

    def deep(body: Any) -> Any:
        n, copies = len(body.x), range(rows)
        x = [np.column_stack([body.x, np.full(n, (k + 0.5) * h)]) for k in copies]
        out = {"x": np.concatenate(x), "v": np.tile(np.pad(body.v, ((0, 0), (0, 1))), (rows, 1))}
        out["volume"] = np.tile(body.volume * h, rows)
        for name in ("C", "F"):
            A = getattr(body, name)
            if A is not None:
                full = np.zeros((n, 3, 3))
                full[:, :2, :2] = A
                full[:, 2, 2] = 1.0 if name == "F" else 0.0
                out[name] = np.tile(full, (rows, 1, 1))
        return replace(body, **out)

    def shape(tree: tuple[Any, ...]) -> tuple[Any, ...]:
        word, *given = tree
        if word in JOINED:
            return word, *map(shape, given)
        far = 1000 * h
        if word == "ball":
            return "cylinder", np.append(given[0], -far), np.append(given[0], far), given[1]
        if word == "box":
            return word, np.append(given[0], -far), np.append(given[1], far)
        return word, up(given[0]), up(given[1])

    def motion(given: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        if given is None:
            return None
        word, *values = given
        if word == "rotation":
            return word, np.array([0, 0, values[0]]), up(values[1])
        if word == "keyframes":
            times, positions, angles = values
            turns = np.zeros((len(times), 3))
            turns[:, 2] = angles
            return word, times, np.pad(positions, ((0, 0), (0, 1))), turns
        return word, up(values[0]), *values[1:]

    bodies = tuple(map(deep, setup.bodies))
    force = setup.force
    if force is not None:
        force = replace(force, amplitude=up(force.amplitude), k=up(force.k))
    contact = ("mirror" if rows == 1 else "periodic", 0.0)
    return replace(
        setup,
        lower=up(setup.lower),
        upper=np.append(setup.upper, rows * h),
        gravity=up(setup.gravity),
        walls=setup.walls | {"z-": contact, "z+": contact},
        bodies=bodies,
        obstacles=tuple(
            replace(one, shape=shape(one.shape), motion=motion(one.motion)) for one in setup.obstacles
        ),
        force=force,
    )


def contact_of(contact: str, friction: float, adhesion: float) -> mpm.Contact:
    return mpm.Contact(contact, friction=friction, adhesion=adhesion)


# --- runs ------------------------------------------------------------------------------------------------------------


def simulation(setup: Setup) -> Any:
    """The simulation of a setup, at its beginning."""
    d = setup.dim
    scene = mpm.Scene(
        setup.lower,
        setup.upper,
        gravity=setup.gravity,
        body_force=setup.force,
        walls={face: setup.wall(face) for face in setup.walls},
        contact="bonded" if setup.contact is None else contact_of(*setup.contact),
    )
    for body in setup.bodies:
        shape = (
            mpm.shapes.Points(body.x, volume=body.volume)
            if body.cells is None
            else mpm.shapes.Cells(body.x, body.cells)
        )
        F = None if body.F is None else (lambda x, F=body.F: F)
        if body.cells is not None and body.F is not None:
            F = body.F[0]
        added = scene.add(shape, body.material, velocity=lambda x, v=body.v: v, F=F)
        if body.force is not None:
            scene.add_force(added, body.force)
        if body.held is not None:
            velocity = [None if np.isnan(v) else v for v in body.hold]
            scene.hold(added, lambda x, held=body.held: held, velocity=velocity)
    for one in setup.obstacles:
        scene.add_collider(
            shape_of(one.shape),
            contact=one.contact,
            friction=one.friction,
            speeds=setup.speeds if one.contact == "absorbing" else None,
            motion=motion_of(one.motion),
            **dict([one.heat] if one.heat else []),
        )
    size = "dx" if setup.method in ("mpm", "implicit") else "spacing"
    with scenes.kernels(setup.isa):
        sim = SOLVERS[setup.method](scene, **{size: setup.size}, **setup.options)
    if "C" in sim.particles.fields:
        sim.particles.C[:] = np.concatenate(
            [np.zeros((len(b.x), d, d)) if b.C is None else b.C for b in setup.bodies]
        )
    return sim


@dataclass
class Outcome:
    """What a run came to: arrays by name, each with its rank and unit."""

    values: dict[str, np.ndarray]
    kinds: dict[str, tuple[str, str]]
    ended: str  # how: "whole", or the error

    def bits(self) -> dict[str, bytes]:
        return {name: np.ascontiguousarray(values).tobytes() for name, values in self.values.items()}


def outcome(sim: Any, ended: str = "whole") -> Outcome:
    values: dict[str, np.ndarray] = {}
    kinds: dict[str, tuple[str, str]] = {}

    def keep(name: str, array: Any, kind: tuple[str, str]) -> None:
        values[name], kinds[name] = np.array(array), kind

    for name in sim.particles.fields:
        if name != "surface_point":  # a number, which follows the order of the particles
            keep(name, sim.particles[name], FIELDS[name])
    if hasattr(sim, "elements"):
        for name in ("F", "J"):
            keep(f"elements {name}", sim.elements[name], FIELDS[name])
    for name, column in sim.history.items():
        word = name.split(":")[0]
        if word in COLUMNS:
            keep(f"history {name}", column, COLUMNS[word])
    sums = sim.totals()
    for name, kind in COLUMNS.items():
        if name in TOTALS and getattr(sums, name) is not None:
            keep(f"totals {name}", getattr(sums, name), kind)
    return Outcome(values, kinds, ended)


def advance(sim: Any, steps: int, more: Callable[[Any], None] | None = None) -> str:
    """Take steps; says how they ended."""
    try:
        if more is None:
            sim.step(steps)
        else:
            for _ in range(steps):
                sim.step()
                more(sim)
    except mpm.SimulationError as error:
        words = re.sub(r"[-+]?\d[\d.e+-]*", "#", str(error))[:40]
        return f"{type(error).__name__} after {sim.steps} steps: {words}"
    return "whole"


def run(setup: Setup) -> Outcome:
    """Build a scene and run it."""
    with quiet():
        sim = simulation(setup)
        return outcome(sim, advance(sim, setup.steps))


@contextlib.contextmanager
def quiet() -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
