"""Prints the energies that part metal and soil with a fracture energy: sheared and pulled layers, and bars.

    python benchmarks/ductile.py [layer|bar ...]

A layer fills the domain between periodic faces, so that its crack has no edges. Metal is sheared, and flows in the band
alone; soil is pulled, and parts at a tension that is almost that of its apex. A bar of metal that is pulled has to flow
beside its crack, too: `docs/design/027-fracture.md` has the reasons. ``--dtype float32`` shows single precision,
``--dim 3`` three dimensions, and ``--quick`` leaves the finer grids out.
"""

import argparse
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import rows
from fracture import DENSITY, Array, E, bar, lattice, report
from rows import Row

import mpm
from mpm.shapes import Points

STRENGTH, ENERGY, NU = 1e3, 0.6, 0.25  # [Pa], [J/m²]
Make = Callable[[float, float], mpm.materials.Material]


def metal(strength: Any, energy: Any, factor: float = 1.0) -> mpm.materials.Material:
    """Its yield stress is the strength times a factor."""
    return mpm.materials.VonMises(
        E=E, nu=NU, density=DENSITY, yield_stress=factor * strength, fracture_energy=energy
    )


def copper(strength: Any, energy: Any, factor: float = 1.0) -> mpm.materials.Material:
    return mpm.materials.JohnsonCook(
        A=factor * strength, B=0, n=1, shear_modulus=E / (2 + 2 * NU),
        sound_speed=math.sqrt(E / (3 - 6 * NU) / DENSITY), density=DENSITY, specific_heat=400,
        melting_temperature=1300, taylor_quinney=0,
        D1=1e-6,  # so that flow before the onset takes nothing
        fracture_energy=energy,
    )  # fmt: skip


def clay(strength: float, energy: float) -> mpm.materials.Material:
    """It parts at a mean tension that is almost that of its apex."""
    return mpm.materials.DruckerPrager(
        E=E, nu=NU, density=DENSITY, friction_angle_deg=30, cohesion=0.58 * strength, tension=strength,
        fracture_energy=energy,
    )  # fmt: skip


def layer(
    make: Make, sheared: bool, dx: float, shift: float, args: argparse.Namespace
) -> tuple[float, float, float]:
    """A layer of 1 m, 2 % weaker in the middle, between two grips: the energy that it has dissipated over G_f A, its
    peak over its strength, and its stress at the end over it."""
    dim, length, width = args.dim, 1.0, 4 * dx
    rest = lattice((length, *[width] * (dim - 1)), dx / 2)
    start = (6 + shift) * dx
    at = rest + start * np.eye(dim)[0]
    grip = 3 * dx
    off = rest[:, 0] - length / 2
    held, weak = abs(off) > length / 2 - 2 * grip, abs(off) < 0.51 * dx
    modulus = E / (2 + 2 * NU) if sheared else E * (1 - NU) / ((1 + NU) * (1 - 2 * NU))
    strength = STRENGTH / math.sqrt(3) if sheared else STRENGTH
    axis = np.eye(dim)[1 if sheared else 0]
    speed = 0.04 * strength / math.sqrt(modulus * DENSITY)
    sides = {f"{a}{sign}": "periodic" for a in "yz"[: dim - 1] for sign in "-+"}
    upper = (dx * math.ceil((start + length) / dx + 6), *[width] * (dim - 1))
    scene = mpm.Scene((0,) * dim, upper, walls=sides)

    def away(x: Array) -> Array:
        return (x[:, :1] - start - length / 2) / (length / 2 - grip)

    for sign, name in ((-1, "left"), (1, "right")):
        points = Points(at[held & (sign * off > 0)], volume=(dx / 2) ** dim)
        body = scene.add(points, make(3 * STRENGTH, 9 * ENERGY), name=name,
                         velocity=lambda x: speed * np.clip(away(x), -1, 1) * axis)  # fmt: skip
        scene.hold(
            body,
            lambda x, sign=sign: sign * away(x)[:, 0] > 1,
            velocity=tuple(sign * speed * axis),
            name=f"{name} grip",
        )
    for rows_, share in ((weak, 0.98), (~weak & ~held, 1.0)):
        points = Points(at[rows_], volume=(dx / 2) ** dim)
        scene.add(points, make(share * STRENGTH, ENERGY), velocity=lambda x: speed * away(x) * axis)
    sim = mpm.Simulation(scene, dx=dx, dtype=args.dtype, dissipation=True)
    time = (8 * ENERGY / strength + strength * length / modulus) / (2 * speed)
    sim.run(time)
    area = width ** (dim - 1)
    pull = np.cumsum(sim.history["impulse:right grip"] @ axis)
    ends = np.interp(np.linspace(0, time, 61), sim.history["time"], pull)
    stress = np.diff(ends) / (time / 60) / area / strength
    return sim.totals().plastic_dissipation / (ENERGY * area), stress.max(), stress[-1]


def layers(args: argparse.Namespace) -> Iterator[Row]:
    """The energy that parts a layer, for several cell sizes and places."""
    for what, make, sheared in (
        ("von mises, sheared", metal, True),
        ("johnson cook, sheared", copper, True),
        ("drucker prager, pulled", clay, False),
    ):
        for dx, shift in ((1 / 20, 0), (1 / 20, 0.25), (1 / 20, 0.5), (1 / 40, 0.25)):
            if (dx < 1 / 20 and (args.quick or args.dim == 3)) or (shift != 0.25 and make is copper):
                continue
            place = f", shifted by h/{round(1 / shift)}" if shift else ""
            dissipated, peak, last = layer(make, sheared, dx, shift, args)
            name = f"layer, {what}, h 1/{round(1 / dx)}{place}"
            yield f"{name}: energy over G_f A", dissipated, 0.9, 1.1
            yield f"{name}: peak over its strength", peak, 0.9, 1.02
            yield f"{name}: stress at the end over its strength", last, -0.06, 0.06


def bars(args: argparse.Namespace) -> Iterator[Row]:
    """Bars of metal, 0.1 m wide, whose strength is that of the bars of `fracture.py`."""
    factor = math.sqrt(0.75) if args.dim == 2 else 1.0  # yield stress over the strength in plane strain
    for name, make, dx, shift in (
        ("von mises", metal, 1 / 20, 0.25),
        ("von mises", metal, 1 / 20, 0.5),
        ("von mises", metal, 1 / 40, 0.25),
        ("johnson cook", copper, 1 / 20, 0.25),
    ):
        if dx == 1 / 20 or not (args.quick or args.dim == 3):
            found = bar(dx, args, shift=shift, make=lambda f, G, make=make: make(f, G, factor))
            yield from report(f"{name}, h 1/{round(1 / dx)}, shifted by h/{round(1 / shift)}", found)


if __name__ == "__main__":
    rows.run(__doc__, {"layer": layers, "bar": bars}, quick={"action": "store_true"})
