"""Prints the energy of bodies that hit the floor under ``dt="auto"``, and the refusals of the gallery's scenes.

    python benchmarks/impacts.py [--method mpm|fem|sph] [--law NAME] [--dim 2|3] [--resolution 16]
    python benchmarks/impacts.py --gallery [--steps 400] [--method sph]

A ball hits the floor at 0.1 to 1 of its wave speed, without gravity. The energy is the largest of the run over the
first; beside it, that of a run with a tenth of the step, and the energies at the end.
`docs/design/004-time-step-and-refusal.md` has the reasons.
"""

import argparse
import warnings

import numpy as np

import mpm

M = mpm.materials
SPEEDS = (0.1, 0.3, 0.6, 1.0)  # of the wave speed
MOST_STEPS = 20_000
ELASTIC = {"E": 1e4, "nu": 0.3, "density": 1000}
SOLIDS = {
    "corotated": M.Corotated(**ELASTIC),
    "fixed_corotated": M.FixedCorotated(**ELASTIC),
    "saint_venant_kirchhoff": M.SaintVenantKirchhoff(**ELASTIC),
    "neo_hookean": M.NeoHookean(**ELASTIC),
    "hencky": M.Hencky(**ELASTIC),
    "mooney_rivlin": M.MooneyRivlin(c10=1e3, c01=1e3, bulk_modulus=1e4, density=1000),
    "fibre_reinforced": M.FibreReinforced(k_1=1e4, k_2=1.0, direction=(1, 1, 0), **ELASTIC),
    **{
        f"ogden {alpha}": M.Ogden(mu_1=1e4 / alpha, alpha_1=alpha, bulk_modulus=1e4, density=1000)
        for alpha in (-20.0, -8.0, 8.0, 20.0)
    },
}
FLUIDS = {
    f"fluid {gamma}": M.Fluid(bulk_modulus=1e4, density=1000, gamma=gamma, tension=False)
    for gamma in (1.0, 7.0, 20.0)
}
METHODS = {
    "mpm": (mpm.Simulation, "dx", SOLIDS | FLUIDS),
    "fem": (mpm.fem.Simulation, "spacing", SOLIDS),
    "sph": (mpm.sph.Simulation, "spacing", FLUIDS),
}


def impact(method: str, law: str, speed: float, *, dim: int = 2, cells: int = 16, **options: object):
    """The run of an impact at a share of the wave speed, and the error that ended it, or ""."""
    solver, size, laws = METHODS[method]
    velocity = speed * laws[law].wave_speed
    middle = (0.5,) * (dim - 1)
    scene = mpm.Scene((0,) * dim, (1,) * dim)
    scene.add(mpm.shapes.Ball((*middle, 0.25), 0.2), laws[law], velocity=(*(0,) * (dim - 1), -velocity))
    sim = solver(scene, threads=1, **{size: 1 / cells}, **options)
    said = ""
    try:
        sim.run(0.4 / velocity, max_steps=MOST_STEPS)
    except mpm.SimulationError as error:
        said = str(error)
    return sim, said


def largest_energy(sim: mpm.solver.Solver) -> float:
    """The largest energy of a run over the first.

    Velocities are half a step behind the positions: where a body is slowed down, the recorded sum is too large by half
    of what a step takes. So the kinetic energies before and after a position are averaged.
    """
    kinetic, elastic = sim.history["kinetic"], sim.history["elastic"]
    return float(((kinetic[:-1] + kinetic[1:]) / 2 + elastic[:-1]).max() / sim.history["energy"][0])


def compare(method: str, law: str, speed: float, dim: int, cells: int) -> float:
    """Print a line; return by how much the energy exceeds that of the run with a tenth of the step."""
    sim, said = impact(method, law, speed, dim=dim, cells=cells)
    short = float(np.median(sim.history["dt"][1:])) / 10
    fine, fine_said = impact(method, law, speed, dim=dim, cells=cells, max_dt=short)
    more = largest_energy(sim) - largest_energy(fine)
    end, fine_end = (float(run.history["energy"][-1] / run.history["energy"][0]) for run in (sim, fine))
    print(
        f"{method:4}{law:24}{speed:5.1f}{largest_energy(sim):9.4f}{largest_energy(fine):9.4f}"
        f"{end:9.4f}{fine_end:9.4f}{sim.steps:7}"
        f"{sim.health['refused']:9} {said or (fine_said and f'a tenth: {fine_said}')}"[:160],
        flush=True,
    )
    return more


def gallery_by_particles() -> None:
    """Print the steps of the gallery's scenes of one fluid by SPH, to their ends."""
    print(f"{'scene':24}{'steps':>8}{'t [s]':>12}")
    for name in mpm.gallery.names():
        entry = mpm.gallery.get(name)
        if name == "hourglass":
            sim = mpm.sph.Simulation(entry.scene(), spacing=entry.numerics["dx"], threads=1)
        elif "sph" in entry.methods:
            sim = entry.solver("sph", threads=1)
        else:
            continue
        sim.run(entry.duration)
        print(f"{name:24}{sim.steps:8}{sim.time:12.6g}", flush=True)


def gallery(steps: int) -> None:
    """Print the steps and refusals of every scene of the gallery."""
    print(f"{'scene':24}{'steps':>8}{'refused':>9}{'t [s]':>12}")
    for name in mpm.gallery.names():
        entry = mpm.gallery.get(name)
        sim = entry.simulation(threads=1)
        sim.step(steps)
        print(f"{name:24}{sim.steps:8}{sim.health['refused']:9}{sim.time:12.6g}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", choices=tuple(METHODS))
    parser.add_argument("--law", choices=tuple(SOLIDS | FLUIDS))
    parser.add_argument("--dim", type=int, choices=(2, 3), default=2)
    parser.add_argument("--resolution", type=int, default=16)
    parser.add_argument("--gallery", action="store_true")
    parser.add_argument("--steps", type=int, default=400)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.gallery and arguments.method == "sph":
        gallery_by_particles()
        return
    if arguments.gallery:
        gallery(arguments.steps)
        return
    print(
        f"{'':4}{'law':24}{'speed':>5}{'energy':>9}{'a tenth':>9}{'end':>9}{'a tenth':>9}{'steps':>7}{'refused':>9}"
    )
    worst = 0.0
    for method in (arguments.method,) if arguments.method else METHODS:
        for law in METHODS[method][2]:
            for speed in SPEEDS if arguments.law in (None, law) else ():
                worst = max(worst, compare(method, law, speed, arguments.dim, arguments.resolution))
    print(f"most above the run with a tenth of the step: {worst:.4f}")


if __name__ == "__main__":
    main()
