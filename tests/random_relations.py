"""Relations between runs: how a scene can be run otherwise, and how much its results may differ.

Rounding grows. So a scene is run twice more from a beginning that differs by `NUDGE` times the precision, and the
difference that grows from it is measured, quantity by quantity. A result may differ by `GROWN` times as much, plus
`FLOOR` times the precision of the natural size of the quantity. Where it differs by more, `MORE` such runs say whether
the scene has two ends between which rounding chooses.
"""

from __future__ import annotations

import contextlib
import copy
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import mpm
import random_scenes
import scenes
from random_scenes import Image, Outcome, Setup, advance, identity, image_of, outcome, quiet, simulation

NUDGE = 64  # of the precision: the change of the beginning
MORE = 12
GROWN = 30  # times what grew from it
FLOOR = 1000  # times the precision of a quantity's natural size
SOLVED = 1e-8  # implicit steps are solved to a tolerance of 1e-10, not to rounding
ROUNDS = 1e-6  # what the rounds of impulses at several rough places of a rigid body leave, in some order


# --- sizes and differences -------------------------------------------------------------------------------------------


def natural_sizes(setup: Setup, mass: float) -> dict[str, float]:
    """The size of a quantity of this unit in the scene, whose material has this mass."""
    density = max(float(np.max(body.material.density)) for body in setup.bodies)
    speed = max(random_scenes.WAVE, *(float(np.abs(body.v).max(initial=0)) for body in setup.bodies))
    far = float(max(np.abs(setup.lower).max(), np.abs(setup.upper).max(), (setup.upper - setup.lower).max()))
    return {
        "1": 1.0,
        "K": 1.0,
        "m": far,
        "s": setup.size / speed,
        "1/s": speed / setup.size,
        "m/s": speed,
        "volume": setup.size**setup.dim,
        "Pa": density * speed**2,
        "kg": mass,
        "N": mass * speed**2 / setup.size,
        "N s": mass * speed,
        "N m s": mass * speed * far,
        "J": mass * speed**2,
        "K/m": 100 / setup.size,
    }


@dataclass(frozen=True)
class Difference:
    """What differs most: the error over what is allowed."""

    ratio: float
    quantity: str
    error: float
    allowed: float

    def __str__(self) -> str:
        return f"{self.quantity}: differs by {self.error:.3g}, allowed {self.allowed:.3g}"


SAME = Difference(0.0, "nothing", 0.0, 0.0)


def wrong(what: str) -> Difference:
    """A difference that no number measures."""
    return Difference(np.inf, what, np.inf, 0.0)


class Case:
    """A setup with its result and its sensitivity."""

    nudges: ClassVar[int] = 2

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.folder: Path = Path(tempfile.gettempdir())

    @cached_property
    def first(self) -> Outcome:
        return random_scenes.run(self.setup)

    @cached_property
    def sizes(self) -> dict[str, float]:
        return natural_sizes(self.setup, float(self.first.values["mass"].sum()) or 1.0)

    @property
    def precision(self) -> float:
        return scenes.EPSILON[self.setup.options.get("dtype", "float64")]

    @cached_property
    def nudged(self) -> tuple[Outcome, ...]:
        """Results from beginnings that differ a little."""
        setup = self.setup
        made = []
        for seed in range(1, self.nudges + 1):
            rng = np.random.default_rng(seed)
            small = NUDGE * self.precision

            def near(values: Any, size: float, rng: Any = rng, small: float = small) -> Any:
                return None if values is None else values + small * size * rng.uniform(-1, 1, values.shape)

            def shaken(body: Any) -> Any:
                rigid = body.law == "rigid" or body.cells is not None
                return replace(
                    body,
                    x=np.clip(near(body.x, setup.size), setup.lower, setup.upper),
                    v=near(body.v, random_scenes.WAVE),
                    F=body.F if rigid else near(body.F, 1.0),
                    C=body.C if rigid else near(body.C, random_scenes.WAVE / setup.size),
                )

            shift = small * setup.size * rng.uniform(-1, 1, setup.dim)
            aside = image_of(setup, replace(identity(setup.dim), shift=shift)).obstacles
            bodies = tuple(map(shaken, setup.bodies))
            made.append(random_scenes.run(replace(setup, bodies=bodies, obstacles=aside)))
        return tuple(made)

    @cached_property
    def decided(self) -> bool:
        """Do small changes leave how the run ends, and who is there, as they are?"""
        return all(other.ended == self.first.ended and same_rows(other, self.first) for other in self.nudged)

    @cached_property
    def allowed(self) -> dict[str, np.ndarray]:
        """How much each quantity may differ."""
        allowed = {}
        for name, values in self.first.values.items():
            _, unit = self.first.kinds[name]
            size = max(self.sizes[unit], float(np.nanmax(np.abs(values), initial=0)))
            grown = max(largest(self.error(other, name)) for other in self.nudged)
            slack = SOLVED if self.setup.solved else 0.0
            if name.endswith(("friction_work", "contact_force")) and any(
                body.law == "rigid" and body.material.friction for body in self.setup.bodies
            ):
                slack = ROUNDS
            allowed[name] = GROWN * grown + (FLOOR * self.precision + slack) * size
        return allowed

    def error(self, other: Outcome, name: str) -> np.ndarray:
        """The difference of a quantity from that of the first result, by row; positions may go round a period."""
        mine, theirs = self.first.values[name], np.asarray(other.values[name])
        if mine.dtype.kind in "iub":
            return (mine != theirs).astype(float) * np.inf if (mine != theirs).any() else np.zeros(1)
        error = np.asarray(theirs, dtype=np.float64) - mine
        if self.first.kinds[name][0] == "point" and name == "x":
            for axis, letter in enumerate("xyz"[: self.setup.dim]):
                if self.setup.walls[letter + "-"][0] == "periodic":
                    period = self.setup.upper[axis] - self.setup.lower[axis]
                    error[..., axis] -= period * np.round(error[..., axis] / period)
        both = np.isnan(mine) & np.isnan(np.asarray(theirs, dtype=np.float64))
        return np.where(both, 0.0, np.abs(error))

    def compare(self, other: Outcome, skip: tuple[str, ...] = ()) -> Difference:
        """The largest difference, over what is allowed."""
        if other.ended != self.first.ended:
            return wrong(f"one ends: {self.first.ended}; the other: {other.ended}")
        if not same_rows(other, self.first):
            return wrong("other particles or records")
        worst = SAME
        if self.setup.method == "sph" and self.setup.obstacles:
            skip += ("elastic",)  # totals count the particles of colliders in the cells around the fluid
        for name in self.first.values:
            if name.removeprefix("elements ") in NEVER or any(word in name for word in skip):
                continue
            error = largest(self.error(other, name))
            if not error <= self.allowed[name] * worst.ratio:
                worst = Difference(error / self.allowed[name], name, error, self.allowed[name])
        return worst


NEVER = ("x_remainder",)  # what rounding has taken


def largest(errors: np.ndarray) -> float:
    found = float(np.max(errors, initial=0.0))
    return np.inf if np.isnan(found) else found


def same_rows(a: Outcome, b: Outcome) -> bool:
    return a.values.keys() == b.values.keys() and all(
        a.values[name].shape == b.values[name].shape for name in a.values
    )


def same_bits(a: Outcome, b: Outcome, skip: tuple[str, ...] = ()) -> Difference:
    """Nothing, or the first quantity whose bits differ."""
    if a.ended != b.ended:
        return wrong(f"one ends: {a.ended}; the other: {b.ended}")
    mine, theirs = a.bits(), b.bits()
    for name in mine:
        if not any(word in name for word in skip) and mine[name] != theirs.get(name):
            return wrong(f"{name}: other bits")
    return SAME


def back(image: Image, result: Outcome, case: Case) -> Outcome:
    """A result in the description of the case."""
    setup, first = case.setup, case.first
    closed = np.array([setup.walls[letter + "-"][0] != "periodic" for letter in "xyz"[: setup.dim]])
    values = {}
    for name, array in result.values.items():
        rank, unit = result.kinds[name]
        like = {"gravity": np.where(closed, setup.gravity, 0.0)}
        prefix = name.split(" ")[0]
        if rank in ("spin", "potential"):
            like |= {other: first.values[f"{prefix} {other}"] for other in ("mass", "momentum")}
        if np.shape(array) == np.shape(first.values.get(name)):
            array = image.back(array, rank, unit, like)
        values[name] = array
    return Outcome(values, result.kinds, result.ended)


@contextlib.contextmanager
def more_nudges() -> Iterator[None]:
    """Cases that are made within are nudged more often."""
    few = Case.nudges
    Case.nudges = MORE
    try:
        yield
    finally:
        Case.nudges = few


# --- the relations ---------------------------------------------------------------------------------------------------


def again(setup: Setup) -> Outcome:
    """The run that is compared with the first one."""
    return random_scenes.run(setup)


class Meaningless(Exception):
    """The relation says nothing about this scene."""


def needs(condition: object) -> None:
    if not condition:
        raise Meaningless


def as_image(case: Case, image: Image, skip: tuple[str, ...] = ()) -> Difference:
    result = again(image_of(case.setup, image))
    return case.compare(back(image, result, case), skip)


def moved(case: Case, rng: np.random.Generator) -> Difference:
    """The scene at another place, whole cells away."""
    d = case.setup.dim
    return as_image(case, replace(identity(d), shift=case.setup.size * rng.integers(-20, 21, d)))


def steady(case: Case) -> Case:
    """With a fixed dt near colliders: the motion in the blocks around them bounds an automatic one, and blocks move."""
    setup = case.setup
    if "dt" in setup.options or not setup.obstacles:
        return case
    fixed = Case(setup.with_options(dt=0.05 * setup.size / random_scenes.WAVE, max_dt=None))
    needs(fixed.decided)
    return fixed


def mirrored(case: Case, rng: np.random.Generator) -> Difference:
    """Its image in some of the planes x = 0, y = 0, z = 0."""
    signs = rng.choice((-1.0, 1.0), case.setup.dim)
    signs[rng.integers(case.setup.dim)] = -1
    return as_image(steady(case), replace(identity(case.setup.dim), turn=np.diag(signs)))


def exchanged(case: Case, rng: np.random.Generator) -> Difference:
    """With its axes exchanged."""
    d = case.setup.dim
    order = np.roll(np.arange(d), rng.integers(1, d)) if rng.random() < 0.5 else np.arange(d)[::-1]
    return as_image(steady(case), replace(identity(d), turn=np.eye(d)[order]))


def in_units(case: Case, rng: np.random.Generator) -> Difference:
    """In other units of length, mass and time."""
    length, mass, time_ = 10.0 ** rng.uniform(-2, 2, 3)
    return as_image(case, replace(identity(case.setup.dim), length=length, mass=mass, time=time_))


def in_powers_of_two(case: Case, rng: np.random.Generator) -> Difference:
    """In units that differ by powers of four: the same bits."""
    length, mass, time_ = 4.0 ** rng.integers(-3, 4, 3)
    needs(
        all(getattr(body.material, "exponent", 1.0) == 1 for body in case.setup.bodies)
    )  # powers of stresses
    if case.setup.method == "fem":
        length = 1.0  # volumes of elements come from NumPy's determinants, exp(log |det|)
    image = replace(identity(case.setup.dim), length=length, mass=mass, time=time_)
    result = back(image, again(image_of(case.setup, image)), case)
    skip = (
        ("elastic",) if case.precision > 1e-10 else ()
    )  # energies of rounding may fall below the least number
    return same_bits(case.first, like_first(result, case), skip)


def like_first(result: Outcome, case: Case) -> Outcome:
    """In the data types of the first result."""
    first = case.first.values
    values = {
        name: array.astype(first[name].dtype) if name in first else array
        for name, array in result.values.items()
    }
    return Outcome(values, result.kinds, result.ended)


def on_threads(case: Case, rng: np.random.Generator) -> Difference:
    """On two or three threads: the same bits."""
    threads = int(rng.integers(2, 4))
    return same_bits(case.first, again(case.setup.with_options(threads=threads)))


def stopped(case: Case, rng: np.random.Generator) -> Difference:
    """Stopped, saved and loaded: the same bits."""
    steps = case.setup.steps
    part = int(rng.integers(0, steps + 1))
    results = []
    for saved in (False, True):
        with quiet():
            sim = simulation(case.setup)
            ended = advance(sim, part)
            if ended == "whole":
                if saved and case.setup.force is None:
                    path = case.folder / "state.mpm"
                    sim.save(path)
                    sim = mpm.load(path)
                elif saved:
                    sim = copy.deepcopy(sim)
                ended = advance(sim, steps - part)
            results.append(outcome(sim, ended))
    found = same_bits(*results)
    if found is SAME and "delete" not in str(case.setup.options.get("on_leave")):
        found = same_bits(case.first, results[0])  # deleting happens between calls
    return found


def looked_at(case: Case, rng: np.random.Generator) -> Difference:
    """Step by step, with a look at everything: the same bits."""
    needs("delete" not in str(case.setup.options.get("on_leave")))

    def look(sim: Any) -> None:
        for name in sim.particles.fields:
            np.asarray(sim.particles[name]).sum()
        sim.totals()
        sim.stable_dt()
        sim.compute("pressure")

    with quiet():
        sim = simulation(case.setup)
        return same_bits(case.first, outcome(sim, advance(sim, case.setup.steps, look)))


def with_other_books(case: Case, rng: np.random.Generator) -> Difference:
    """Without history and with the other choice of `dissipation`: particles with the same bits."""
    needs(
        not any(body.material.thermal and body.material.thermal.taylor_quinney for body in case.setup.bodies)
    )
    options: dict[str, Any] = {"history": 0}
    if case.setup.method == "mpm":
        options["dissipation"] = not case.setup.options.get("dissipation", False)
    other = again(case.setup.with_options(**options))
    found = Outcome({k: v for k, v in case.first.values.items() if k in other.values}, {}, case.first.ended)
    return same_bits(found, other, skip=("history", "dissipation", "heat"))


def with_kernels(case: Case, rng: np.random.Generator) -> Difference:
    """With another kernel set."""
    others = [isa for isa in scenes.ISAS if isa != case.setup.isa]
    needs(others)
    return case.compare(again(replace(case.setup, isa=others[int(rng.integers(len(others)))])))


def in_precision(case: Case, rng: np.random.Generator) -> Difference:
    """In single precision, and in double."""
    needs(not case.setup.solved)
    single = case if case.precision > 1e-10 else Case(case.setup.with_options(dtype="float32"))
    needs(single.decided)
    double = again(case.setup.with_options(dtype="float64"))
    return single.compare(double)


def reordered(case: Case, rng: np.random.Generator) -> Difference:
    """With the particles of each body in another order."""
    setup = case.setup
    needs(setup.method != "fem" and "delete" not in str(setup.options.get("on_leave")))
    orders = [rng.permutation(len(body.x)) for body in setup.bodies]

    def sorted_(body: Any, order: np.ndarray) -> Any:
        taken = {name: getattr(body, name) for name in ("x", "v", "volume", "C", "F", "held")}
        return replace(body, **{name: None if a is None else a[order] for name, a in taken.items()})

    bodies = tuple(sorted_(body, order) for body, order in zip(setup.bodies, orders, strict=True))
    result = again(replace(setup, bodies=bodies))
    begins = np.cumsum([0, *(len(order) for order in orders)])
    whole = np.concatenate([begin + order for begin, order in zip(begins[:-1], orders, strict=True)])
    needs(len(case.first.values["x"]) == len(whole))  # SPH leaves out points inside colliders
    values = dict(result.values)
    for name, array in values.items():
        if " " not in name and name not in ("id",):
            values[name] = np.empty_like(array)
            values[name][whole] = array
    return case.compare(Outcome(values, result.kinds, result.ended))


def rolled(case: Case, rng: np.random.Generator) -> Difference:
    """Moved by whole cells along periodic axes alone."""
    setup = case.setup
    axes = [a for a, letter in enumerate("xyz"[: setup.dim]) if setup.walls[letter + "-"][0] == "periodic"]
    needs(axes and all(body.law != "rigid" for body in setup.bodies))
    if setup.obstacles or setup.force is not None:  # they have places
        case = Case(replace(setup, obstacles=(), force=None))
        setup = case.setup
    needs(case.decided)
    period = setup.upper - setup.lower
    shift = np.zeros(setup.dim)
    for a in axes:
        shift[a] = setup.size * rng.integers(1, round(period[a] / setup.size))
    bodies = tuple(
        replace(body, x=np.where(shift != 0, setup.lower + (body.x + shift - setup.lower) % period, body.x))
        for body in setup.bodies
    )
    result = again(replace(setup, bodies=bodies))
    result.values["x"] = result.values["x"] - shift
    return case.compare(result, skip=("angular_momentum", "center_of_mass"))


def in_a_larger_domain(case: Case, rng: np.random.Generator) -> Difference:
    """With walls farther away, where nothing touched them."""
    case = steady(case)
    setup, first = case.setup, case.first
    # the reference point of a shape without end is that of the domain
    needs(all(random_scenes.is_bounded(one.shape) for one in setup.obstacles))
    needs(setup.method in ("mpm", "implicit") and not setup.has("mirror", "periodic"))
    needs(not setup.options.get("f_bar"))  # the averages of cells at walls know them
    needs(not np.any(first.values["history wall_impulse"]) and first.ended == "whole")
    needs(not np.any(first.values.get("history wall_heat", 0)))
    x = first.values["x"]
    needs(len(x) == sum(len(body.x) for body in setup.bodies))
    # bodies that touch near a wall may fill the kernel up to it only
    off = 3 * setup.size if setup.contact else 0.0
    for at in (x, np.concatenate([body.x for body in setup.bodies])):
        needs((at > setup.lower + off).all() and (at < setup.upper - off).all())
    for body in setup.bodies:  # a wall pushes a rigid body that begins in it, and no impulse remains of that
        radius = 0.5 * float(np.max(body.volume)) ** (1 / setup.dim) if body.law == "rigid" else 0.0
        needs((body.x > setup.lower + radius).all() and (body.x < setup.upper - radius).all())
    more = setup.size * rng.integers(0, 6, (2, setup.dim))
    larger = replace(setup, lower=setup.lower - more[0], upper=setup.upper + more[1])
    return case.compare(again(larger))


def unfolded(case: Case, rng: np.random.Generator) -> Difference:
    """At a mirror: with the image of everything beyond it, instead of the mirror."""
    setup = case.setup
    mirrors = [face for face, (contact, _) in setup.walls.items() if contact == "mirror"]
    needs(mirrors and setup.method in ("mpm", "implicit"))
    needs(not (setup.contact or setup.loaded))  # of bodies, which get images
    needs(all(body.law != "rigid" for body in setup.bodies))
    face = mirrors[int(rng.integers(len(mirrors)))]
    axis, side = "xyz".index(face[0]), "-+".index(face[1])
    gravity = np.where(np.arange(setup.dim) == axis, 0.0, setup.gravity)
    half = Case(replace(setup, gravity=gravity, obstacles=(), force=None).with_options(on_leave=None))
    needs(half.decided and half.first.ended == "whole")
    plane = (setup.lower, setup.upper)[side][axis]
    turn = np.eye(setup.dim)
    turn[axis, axis] = -1
    shift = np.zeros(setup.dim)
    shift[axis] = 2 * plane
    other = image_of(half.setup, replace(identity(setup.dim), turn=turn, shift=shift))
    far = f"{face[0]}{'-+'[1 - side]}"
    walls = dict(half.setup.walls)
    walls[face] = walls[far]
    heated = half.setup.heated | ({face: half.setup.heated[far]} if far in half.setup.heated else {})
    whole = replace(
        half.setup,
        lower=np.minimum(half.setup.lower, other.lower),
        upper=np.maximum(half.setup.upper, other.upper),
        bodies=half.setup.bodies + other.bodies,
        walls=walls,
        heated=heated,
    )
    result = again(whole)
    n = len(half.first.values["x"])
    needs(n == sum(len(body.x) for body in setup.bodies))
    values = {name: array[:n] if " " not in name else array for name, array in result.values.items()}
    found = Outcome(values, result.kinds, result.ended)
    for name in values:
        if name.endswith((" mass", " kinetic", " elastic", "_dissipation", " heat", "_heat")) and " " in name:
            values[name] = values[name] / 2
    return half.compare(found, ("momentum", "impulse", "center", "gravitational", "energy", "material"))


def as_a_slab(case: Case, rng: np.random.Generator) -> Difference:
    """In 2-D: as one row of a 3-D body between mirrors, or four rows of a periodic one."""
    setup = case.setup
    needs(setup.dim == 2 and setup.method == "mpm" and "delete" not in str(setup.options.get("on_leave")))
    needs(all(body.law not in OTHERWISE_IN_2D for body in setup.bodies) and not setup.loaded)
    # in 2-D, bodies expand in their plane only
    needs(not any(body.material.thermal and body.material.thermal.expansion for body in setup.bodies))
    # in 3-D, fibres across the plane move it out of itself
    needs(not any(body.law == "fibre_reinforced" and body.material.direction[-1] for body in setup.bodies))
    needs(all(random_scenes.extruded(one.shape) for one in setup.obstacles))
    # F-bar scales all stretches, the artificial viscosity knows the waves of all directions, in 3-D those across, too
    plain = setup.with_options(f_bar=None, artificial_viscosity=None)
    if any(
        body.law == "fluid" for body in setup.bodies
    ):  # the shear rate that corrects densities is that of the plane
        plain = plain.with_options(density_correction=0.0)
    flat = Case(plain.with_options(dt=0.06 * setup.size / random_scenes.WAVE, allow_unstable=True))
    needs(flat.decided)
    rows = 1 if rng.random() < 0.5 else 4
    found = again(random_scenes.slab(flat.setup, rows))
    counts = [len(body.x) for body in setup.bodies]
    begins = np.cumsum([0, *counts[:-1]])
    first_rows = np.concatenate([rows * k + np.arange(n) for k, n in zip(begins, counts, strict=True)])
    needs(len(flat.first.values["x"]) == len(first_rows))
    values: dict[str, np.ndarray] = {}
    depth = rows * setup.size
    extensive = ("kg", "N s", "N m s", "J")
    for name, array in found.values.items():
        rank, unit = found.kinds[name]
        if " " not in name:
            array = array[first_rows]
            array = array * (1 / setup.size if unit in ("kg", "volume") else 1)
        elif unit in extensive:
            array = array / depth
        if rank in ("vector", "point"):
            array = array[..., :2]
        elif rank in ("spin", "turning"):
            array = array[..., 2]
        elif rank == "tensor":
            array = array[:, :2, :2]
        elif rank == "symmetric":
            array = array[:, [0, 1, 3]]
        values[name] = array
    skip = ("material", "id", "Fzz", "torque") + (("angular", "center") if rows > 1 else ())
    if any(random_scenes.REGISTRY[body.law]["return_map"] for body in setup.bodies):
        skip += ("J",)  # det F_E without, and with, the stretch out of plane
    if any(body.law == "fluid" for body in setup.bodies):
        skip += ("F",)  # J^(1/d) I
    return flat.compare(
        Outcome({k: v for k, v in values.items() if k in flat.first.values}, {}, found.ended), skip
    )


# Laws whose 2-D form is not plane strain of the 3-D one.
OTHERWISE_IN_2D = ("sand", "rigid")


def apart(one: Outcome, other: Outcome) -> float:
    """The root of the mean square of the difference of velocities, over the wave speed."""
    mass = one.values["mass"]
    squares = ((one.values["v"] - other.values["v"]) ** 2).sum(axis=1)
    return float(np.sqrt(squares @ mass / mass.sum())) / random_scenes.WAVE


def implicitly(case: Case, rng: np.random.Generator) -> Difference:
    """By implicit steps: the same in the limit of short steps. A quarter of dt leaves 0.6 of a difference at most."""
    setup = case.setup
    needs(setup.method != "sph" and setup.options.get("kernel") != "linear" and setup.speeds is None)
    needs(not (setup.contact or setup.conducts or setup.options.get("local_damping")))
    needs(setup.method == "fem" or not setup.options.get("damping"))
    unused = ("beta", "tolerance", "preconditioner", "max_dt", "dissipation", "dtype", "on_leave")
    setup = setup.with_options(**dict.fromkeys((*unused, "f_bar", "artificial_viscosity"), None))
    names, kinds = ("symplectic-euler", "linearly-implicit-euler"), ("energy",)
    if setup.method != "fem":
        names = ("explicit", str(rng.choice(("semi-implicit", "implicit-euler", "implicit-midpoint"))))
    if names[1] in ("implicit-euler", "implicit-midpoint"):
        kinds = ("energy", "mapped")
    tangents = {body.law: random_scenes.REGISTRY[body.law]["tangent"] for body in setup.bodies}
    needs(all(kind in kinds for kind in tangents.values()) and "snow" not in tangents)
    gaps, explicit = [], []
    for halvings in (3, 5):
        dt = 0.3 * setup.size / random_scenes.WAVE / 2**halvings
        ends = []
        for name in names:
            options: dict[str, Any] = {"integrator": name, "dt": dt, "history": 0}
            if name == names[1]:
                options["tolerance"] = 1e-6
            elif name == "explicit" and "fluid" in tangents:
                options["density_correction"] = 0  # which implicit steps do not have
            ends.append(again(replace(setup.with_options(**options), steps=2**halvings)))
        needs(ends[0].ended == "whole")
        if ends[1].ended != "whole":
            needs("mapped" not in tangents.values())  # Newton's method need not find the end of plastic flow
            return wrong(f"implicit steps end: {ends[1].ended}")
        explicit.append(ends[0])
        gaps.append(apart(*ends))
    # Measured 0.25; contacts that open and close leave up to 1e-4. Contacts that take velocity step by step have no
    # limit in short steps; other steps of either kind end otherwise.
    allowed = 0.6 * gaps[0] + 2e-4 + 0.05 * apart(*explicit)
    return Difference(gaps[1] / allowed, "v of implicit and explicit steps", gaps[1], allowed)


def united(case: Case, rng: np.random.Generator) -> Difference:
    """With one collider that is the union of all, against the parts of all as colliders, moved as the first one."""
    setup = case.setup
    parts = [part for one in setup.obstacles for part in united_parts(one.shape)]
    needs(len(parts) > 1 and all(body.law != "rigid" for body in setup.bodies))
    like = setup.obstacles[0]
    needs(like.contact != "absorbing")  # each of these acts by itself
    if like.motion and like.motion[0] == "keyframes":  # about the middle of each
        like = replace(like, motion=None)
    whole = parts[0]
    for part in parts[1:]:
        whole = ("union", whole, part)

    def without_books(result: Outcome) -> Outcome:
        values = {name: array for name, array in result.values.items() if ":" not in name}
        return Outcome(values, result.kinds, result.ended)

    apart = Case(replace(setup, obstacles=tuple(replace(like, shape=part) for part in parts)))
    try:
        apart.first = without_books(apart.first)
    except (ValueError, mpm.SimulationError):
        raise Meaningless from None  # colliders that overlap a sticky one, or fluid, as a whole
    apart.nudged = tuple(map(without_books, apart.nudged))
    needs(apart.decided)
    return apart.compare(without_books(again(replace(setup, obstacles=(replace(like, shape=whole),)))))


def united_parts(shape: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """What a shape unites."""
    return [part for one in shape[1:] for part in united_parts(one)] if shape[0] == "union" else [shape]
