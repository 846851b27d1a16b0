"""Prints plastic limit loads, with and without F-bar, over those of rigid plasticity in plane strain.

    python benchmarks/limit_loads.py [cells ...]

Punch: a rough rigid strip is pressed into a half-space, (2 + pi) k per area (L. Prandtl, Z. Angew. Math. Mech. 1 (1921)
15). Tube: a rigid wall opens the bore of a tube, 2 k ln(b/a) per area (R. Hill, The Mathematical Theory of Plasticity
(1950), chapter V). k is the shear strength, yield stress over sqrt(3). Both loads grow a little with the displacement,
for the punch sinks in and the tube thins; they are averages over a range of small displacements. The edge of the strip
is half-way between the last node that it holds and the next one. The bore of the tube is held by nodes within it, so
that its load rises to the limit with the cells.

The exit status is 1 if a limit is missed.
"""

import argparse
import itertools
import sys
import warnings

import numpy as np

import mpm

CELLS = (4, 8)  # over half the width of the punch, over the radius of the bore
STRENGTH, SHEAR, DENSITY = 1.0, 200.0, 1.0  # k [Pa], G [Pa], [kg/m3]
SLOW = 5e-4  # speed of what moves, over sqrt(E/density)
POISSON = (0.3, 0.45, 0.49)
WITHIN = {"punch": 0.06, "tube": 0.1}  # of the limit load, with F-bar and at least eight cells
PUNCHED = (0.12, 0.24)  # displacement over half the width, in which the load is averaged
OPENED = (0.06, 0.12)  # displacement over the radius


def metal(nu: float) -> tuple[mpm.materials.VonMises, float]:
    """The material, and the speed of what loads it [m/s]."""
    E = 2 * SHEAR * (1 + nu)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # nu
        material = mpm.materials.VonMises(E=E, nu=nu, density=DENSITY, yield_stress=np.sqrt(3) * STRENGTH)
    return material, SLOW * np.sqrt(E / DENSITY)


def impulse(sim: mpm.Simulation, name: str, first: float, last: float) -> np.ndarray:
    """Of a collider [N s/m] from the time `first` to `last` [s], (2,)."""
    sim.run(last)
    ends = np.cumsum(sim.history["dt"])
    total = np.cumsum(sim.history[f"impulse:{name}"], axis=0)
    return np.array([np.diff(np.interp([first, last], ends, column))[0] for column in total.T])


def punch(cells: int, nu: float, **numerics: object) -> float:
    """The pressure below the punch over (2 + pi) k; `cells` over half its width of 1 m, half of it by symmetry."""
    material, speed = metal(nu)
    dx = 1 / (cells + 0.5)
    width, height = np.ceil(4 / dx) * dx, np.ceil(2 / dx) * dx
    scene = mpm.Scene(
        (0, 0), (width, height + 4 * dx), walls={"x-": "mirror", "x+": "sticky", "y-": "sticky"}
    )
    scene.add(mpm.shapes.Box((0, 0), (width, height)), material)
    strip = mpm.shapes.Box((-1, height), (1, height + 1))
    scene.add_collider(strip, contact="sticky", motion=mpm.motion.Linear((0, -speed)), name="punch")
    sim = mpm.Simulation(scene, dx=dx, **numerics)
    first, last = (u / speed for u in PUNCHED)
    force = -impulse(sim, "punch", first, last)[1] / (last - first)
    return float(force / ((2 + np.pi) * STRENGTH))


def tube(cells: int, nu: float, **numerics: object) -> float:
    """The pressure in the bore over 2 k ln(b/a), b = 2 a; `cells` over a = 1 m, a quarter of the tube by symmetry."""
    material, speed = metal(nu)
    dx, inner, outer = 1 / cells, 1.0, 2.0
    side = 2 * outer + 4 * dx
    scene = mpm.Scene((0, 0), (side / 2, side / 2), walls={"x-": "mirror", "y-": "mirror"})
    ring = mpm.shapes.Ball((0, 0), outer) - mpm.shapes.Ball((0, 0), inner)
    scene.add(ring & mpm.shapes.Box((0, 0), (outer, outer)), material)
    last = OPENED[1] * inner / speed
    at = np.arange(-4, int(np.ceil(outer / dx)) * 2 + 5) * dx / 2
    from_axis = np.hypot(*np.meshgrid(at, at, indexing="ij"))
    frames = [
        mpm.shapes.DistanceGrid((at[0], at[0]), dx / 2, from_axis - radius)
        for radius in (inner, inner + speed * last)
    ]
    scene.add_collider(mpm.shapes.Deforming((0, last), frames), contact="slip", name="bore")
    sim = mpm.Simulation(scene, dx=dx, **numerics)
    first = OPENED[0] * inner / speed
    force = impulse(sim, "bore", first, last) / (last - first)
    radius = inner + speed * (first + last) / 2
    limit = 2 * STRENGTH * np.log(np.sqrt(outer**2 - inner**2 + radius**2) / radius)
    return float(force.mean() / (radius * limit))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cells", type=int, nargs="*", default=CELLS)
    chosen, missed = parser.parse_args().cells, 0
    print(
        "| case | nu | cells | load without F-bar | with F-bar | must be | |\n|---|---|---|---|---|---|---|"
    )
    for case in (punch, tube):
        within = WITHIN[case.__name__]
        for nu, cells in itertools.product(POISSON, chosen):
            plain, averaged = (case(cells, nu, f_bar=f_bar, threads=1) for f_bar in (False, True))
            met = cells < 8 or abs(averaged - 1) <= within
            missed += not met
            must, verdict = (f"1 ± {within:g}", "met" if met else "MISSED") if cells >= 8 else ("", "")
            print(
                f"| {case.__name__} | {nu:g} | {cells} | {plain:.3f} | {averaged:.3f} | {must} | {verdict} |",
                flush=True,
            )
    if missed:
        sys.exit(f"{missed} limits are missed")


if __name__ == "__main__":
    main()
