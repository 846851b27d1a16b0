"""Prints the energy that parts a bar of `mpm.materials.Brittle`, its strength, and what its books do not close by.

    python benchmarks/fracture.py [bar|schemes ...]

`docs/design/027-fracture.md` has the reasons. ``--dtype float32`` shows single precision, ``--dim 3`` a bar in three
dimensions. All takes about two minutes; ``--quick`` leaves the finer grids out.
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import rows
from rows import Row

import mpm
from mpm.shapes import Points

Array = npt.NDArray[np.float64]
E, DENSITY = 1e6, 1000.0  # [Pa], [kg/m³]
SOUND = math.sqrt(E / DENSITY)  # of a bar [m/s]


def lattice(size: tuple[float, ...], spacing: float) -> Array:
    """The centres of the cubes of a box from the origin, (n, d)."""
    axes = [(np.arange(round(side / spacing)) + 0.5) * spacing for side in size]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def turn(angle: float, dim: int) -> Array:
    """A rotation in the plane of x and y."""
    rotation = np.eye(dim)
    rotation[:2, :2] = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    return rotation


@dataclass
class Parted:
    """A bar after it has parted."""

    dissipated: float  # over G_f A
    peak: float  # stress over f_t
    last: float
    open: float  # what the books do not close by, over G_f A
    sim: mpm.Simulation


def bar(
    dx: float, args: argparse.Namespace, *, across: int = 2, shift: float = 0.0, angle: float = 0.0, nu: float = 0.0,
    rate: float = 0.04, **options: Any,
) -> Parted:  # fmt: skip
    """A bar of 1 m, 0.1 m wide and 2 % weaker in the middle, that two grips pull apart."""
    length, width, strength, energy = 1.0, 0.1, 1e3, 0.6
    dim = args.dim
    spacing = dx / across
    rest = lattice((length, *[width] * (dim - 1)), spacing)
    along = turn(angle, dim)[:, 0]
    at = rest @ turn(angle, dim).T + 6 * dx + shift * dx * np.eye(dim)[0]
    if angle:
        at[:, 0] += 0.1
    grip = 3 * dx
    held = np.abs(rest[:, 0] - length / 2) > length / 2 - 2 * grip  # and what is beside them does not crack
    weak = np.abs(rest[:, 0] - length / 2) < max(0.51 * spacing, 0.5 * dx)
    f = strength * np.where(held, 3, np.where(weak, 0.98, 1))
    material = mpm.materials.Brittle(
        E=E, nu=nu, density=DENSITY, tensile_strength=f, fracture_energy=energy * np.where(held, 9.0, 1)
    )
    speed = rate * SOUND * strength / E
    scene = mpm.Scene((0,) * dim, dx * np.ceil(at.max(0) / dx + 8))

    def stretch(x: Array) -> Array:
        share = ((x - at[0]) @ along + rest[0, 0] - length / 2) / (length / 2 - grip)
        return speed * np.clip(share, -1, 1)[:, None] * along

    body = scene.add(Points(at, volume=spacing**dim), material, velocity=stretch, name="bar")

    def end(sign: int) -> Any:
        return lambda x: sign * ((x - at[0]) @ along + rest[0, 0] - length / 2) > length / 2 - grip

    for sign, name in ((-1, "left"), (1, "right")):
        scene.hold(body, end(sign), velocity=tuple(sign * speed * along), name=name)
    sim = mpm.Simulation(scene, dx=dx, dtype=args.dtype, dissipation=True, **options)
    before = sim.totals()
    time_ = (6 * energy / strength + strength * length / E) / (2 * speed)
    sim.run(time_)
    history, totals, area = sim.history, sim.totals(), width ** (dim - 1)
    done = sum(history[f"work:{name}"].sum() for name in ("left", "right"))
    pull = np.cumsum(history["impulse:right"] @ along)
    window = time_ / 60
    ends = np.interp(np.arange(1, 61) * window, history["time"], pull)
    stress = np.diff(ends, prepend=0) / window / area / strength
    kept = sum(
        getattr(totals, name) - getattr(before, name)
        for name in ("kinetic", "elastic", "plastic_dissipation")
    )
    scale = energy * area
    return Parted(totals.plastic_dissipation / scale, stress.max(), stress[-1], (done - kept) / scale, sim)


def bars(args: argparse.Namespace) -> Iterator[Row]:
    """The energy that parts a bar, for several cell sizes, places and particles."""
    cases: list[tuple[str, float, dict[str, Any]]] = [
        ("h 1/20", 1 / 20, {}),
        ("h 1/40", 1 / 40, {}),
        ("h 1/80", 1 / 80, {}),
        ("h 1/20, shifted by h/4", 1 / 20, {"shift": 0.25}),
        ("h 1/20, shifted by h/2", 1 / 20, {"shift": 0.5}),
        ("h 1/20, 3 particles per direction", 1 / 20, {"across": 3}),
        ("h 1/20, turned by 30°", 1 / 20, {"angle": math.pi / 6}),
        ("h 1/20, nu 0.3", 1 / 20, {"nu": 0.3}),
    ]
    for name, dx, options in cases:
        if args.quick and dx < 1 / 20:
            continue
        yield from report(name, bar(dx, args, **options))


def schemes(args: argparse.Namespace) -> Iterator[Row]:
    """The same with other kernels and transfers, shifted by h/5."""
    for name, options in (
        ("linear", {"kernel": "linear", "gradient": "bspline", "max_dt": 2e-4}),
        ("cubic", {"kernel": "cubic"}),
        ("gradient of the B-spline", {"gradient": "bspline"}),
        ("FLIP 0.95", {"transfer": "flip", "flip_ratio": 0.95}),
        ("AFLIP", {"transfer": "aflip"}),
        ("TPIC", {"transfer": "tpic"}),
        ("XPIC", {"transfer": "xpic"}),
    ):
        yield from report(f"h 1/20, {name}", bar(1 / 20, args, shift=0.2, **options))


def report(name: str, found: Parted) -> Iterator[Row]:
    yield f"bar, {name}: energy over G_f A", found.dissipated, 0.7, 1.35
    yield f"bar, {name}: peak over f_t", found.peak, 0.9, 1.02
    yield f"bar, {name}: stress at the end over f_t", found.last, -0.06, 0.06
    yield f"bar, {name}: lost by the transfer over G_f A", found.open, -0.01, 0.5


CASES = {"bar": bars, "schemes": schemes}


if __name__ == "__main__":
    rows.run(__doc__, CASES, quick={"action": "store_true"})
