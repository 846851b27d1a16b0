"""Prints forces of colliders that press soft bodies, and the energy that is left in the bodies afterwards.

    python benchmarks/contacts.py [squeeze|phases|indenter|roller|gripper ...]

`squeeze` and `phases` compare with the closed form of a block between frictionless plates, or with finite elements;
the others compare with finer cells. Each scene is run by MPM with particles held from half a cell below the surface
(the default, "deep") and at the surface. `docs/design/003-walls-act-on-nodes.md` has the reasons. All takes about two
minutes on one core.
"""

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

import mpm
from mpm.motion import Keyframes
from mpm.shapes import Ball, Box, Cylinder, HalfSpace

E, NU = 1e5, 0.3
SOFT = mpm.materials.NeoHookean(E=E, nu=NU, density=1000)
RULES = ("deep", "surface")


def force(sim: mpm.solver.Solver, name: str, since: float) -> np.ndarray:
    """The mean force on a collider from a time on [N]."""
    history = sim.history
    last = history["time"] > since + 1e-9
    return -np.asarray(history[f"impulse:{name}"][last].sum(axis=0) / history["dt"][last].sum())


def energy_left(sim: mpm.solver.Solver) -> float:
    """The elastic energy over the largest of the run."""
    return float(sim.totals().elastic / sim.history["elastic"].max())


# --- a block between plates ------------------------------------------------------------------------------------------

SIDE = 0.4  # [m]


def exact_force() -> float:
    """The mean force from 0.95 s to 1 s on a plate of `block`, without friction [N/m]."""
    mu, lam = E / (2 * (1 + NU)), E * NU / ((1 + NU) * (1 - 2 * NU))
    s = 1 - 0.5 * 0.975
    side = brentq(lambda l: mu * (l**2 - 1) + lam * np.log(l * s), 0.5, 3)
    return float(-(mu * (s**2 - 1) + lam * np.log(side * s)) / s * SIDE)


def block(cells: int, phase: float = 0.0, method: str = "mpm", friction: float = 0.0, **options: object):
    """A block is squeezed to half within 1 s and let go within 1 s. The force, and the run at its end.

    Parameters
    ----------
    cells : int
        Over its height.
    phase : float
        Of the plates in the cell.
    """
    dx = SIDE / cells
    low = phase * dx
    contact = options.pop("contact", "separate")
    scene = mpm.Scene((0, -8 * dx), (3 * SIDE, SIDE + 8 * dx))
    scene.add(Box((SIDE, low), (2 * SIDE, SIDE + low)), SOFT)
    motion = Keyframes([0, 1, 2], [(0, 0), (0, -SIDE / 2), (0, 0)])
    scene.add_collider(HalfSpace((0, low), (0, 1)), contact=contact, friction=friction)
    scene.add_collider(
        HalfSpace((0, SIDE + low), (0, -1)), contact=contact, friction=friction, motion=motion, name="top"
    )
    if method == "fem":
        sim = mpm.fem.Simulation(scene, spacing=dx, threads=1)
    else:
        sim = mpm.Simulation(scene, dx=dx, threads=1, **options)
    sim.run(1.0)
    pressed = force(sim, "top", 0.95)[1]
    sim.run(1.0)
    return float(pressed), sim


def squeeze() -> None:
    """Print a line per kind of contact and rule."""
    print(
        "a block between plates, squeezed to half: force over reference; energy left when the plate is back"
    )
    for contact, friction in (("separate", 0.0), ("slip", 0.0), ("separate", 0.5), ("sticky", 0.0)):
        for cells in (16, 32):
            plain = friction == 0 and contact != "sticky"
            reference = (
                exact_force() if plain else block(cells, method="fem", contact=contact, friction=friction)[0]
            )
            for rule in RULES:
                pressed, sim = block(cells, contact=contact, friction=friction, particle_collisions=rule)
                print(
                    f"  {contact:9} friction {friction:3.1f}  {cells:3} cells  {rule:8}{pressed / reference:7.3f}"
                    f" of {'closed form' if plain else 'elements':12}{energy_left(sim):9.1e}",
                    flush=True,
                )


def phases() -> None:
    """Print how the force depends on where plates lie in the cells."""
    print("the same between frictionless plates, by their place in a cell: force over closed form")
    for cells in (16, 32):
        found = [block(cells, phase)[0] / exact_force() for phase in (0, 0.25, 0.5, 0.75)]
        print(f"  {cells:3} cells  {np.round(found, 3)}  mean {np.mean(found):.3f}", flush=True)


# --- tools -----------------------------------------------------------------------------------------------------------


def indenter(dim: int, dx: float, rule: str) -> str:
    """A ball is pressed into a block, a third of its height deep, and lifted."""
    flat = [0] * (dim - 1)
    scene = mpm.Scene([*flat, -0.1], [1.2] * (dim - 1) + [0.8])
    scene.add(Box([0.3] * (dim - 1) + [0], [0.9] * (dim - 1) + [0.3]), SOFT)
    scene.add_collider(HalfSpace([*flat, 0], [*flat, 1]))
    motion = Keyframes([0, 0.5, 1], [[*flat, 0], [*flat, -0.1], [*flat, 0.1]])
    scene.add_collider(Ball([0.6] * (dim - 1) + [0.42], 0.12), motion=motion, name="tool")
    sim = mpm.Simulation(scene, dx=dx, particle_collisions=rule)
    sim.run(0.5)
    pressed = force(sim, "tool", 0.475)[-1]
    sim.run(0.75)
    return f"force {pressed:8.1f} N{'/m' if dim == 2 else '  '}  energy left {energy_left(sim):.1e}"


def roller(dim: int, dx: float, rule: str) -> str:
    """A cylinder rolls over a block that is glued to the floor, a quarter of its height deep, and is lifted."""
    low, high = ((0.3, 0, 0.1), (1.3, 0.2, 0.3)) if dim == 3 else ((0.3, 0), (1.3, 0.2))
    scene = mpm.Scene((0, -0.1, 0)[:dim], (1.6, 0.6, 0.4)[:dim], walls="slip" if dim == 3 else "separate")
    scene.add(Box(low, high), SOFT)
    scene.add_collider(HalfSpace((0, 0, 0)[:dim], (0, 1, 0)[:dim]), contact="sticky")
    way = np.array([(0, 0, 0), (0, -0.05, 0), (0.7, -0.05, 0), (0.7, 0.1, 0), (0.7, 0.2, 0)])[:, :dim]
    turned = np.array([0, 0, -0.7 / 0.12, -0.7 / 0.12, -0.7 / 0.12])
    angles = np.stack([0 * turned, 0 * turned, turned], axis=1) if dim == 3 else turned
    shape = Cylinder((0.45, 0.32, -0.1), (0.45, 0.32, 0.5), 0.12) if dim == 3 else Ball((0.45, 0.32), 0.12)
    motion = Keyframes([0, 0.3, 1.3, 1.6, 2.2], way, angles=angles)
    scene.add_collider(shape, friction=0.3, motion=motion, name="tool")
    sim = mpm.Simulation(scene, dx=dx, particle_collisions=rule)
    sim.run(1.2)
    x, y = force(sim, "tool", 0.5)[:2]
    sim.run(1.0)
    width = 0.2 if dim == 3 else 1
    return f"force {x / width:8.0f} {y / width:8.0f} N/m  energy left {energy_left(sim):.1e}"


def gripper(dim: int, dx: float, rule: str) -> str:
    """Two jaws lift a block by friction."""
    deep = [(0.45, 0.75)] if dim == 3 else []
    low, high = [0.45, 0, *(a for a, _ in deep)], [0.75, 0.3, *(b for _, b in deep)]
    scene = mpm.Scene((0, -0.1, 0.2)[:dim], (1.2, 0.8, 1.0)[:dim], gravity=(0, -9.81, 0)[:dim])
    scene.add(Box(low, high), SOFT)
    scene.add_collider(HalfSpace((0, 0, 0)[:dim], (0, 1, 0)[:dim]))
    for x, side, name in ((0.35, 1, "left"), (0.85, -1, "right")):
        way = [(0, 0, 0), (0.05 * side, 0, 0), (0.05 * side, 0.2, 0)]
        motion = Keyframes([0, 0.5, 1.5], [place[:dim] for place in way])
        jaw = Box((x - 0.1, 0.05, 0.3)[:dim], (x + 0.1, 0.25, 0.9)[:dim])
        scene.add_collider(jaw, friction=0.8, motion=motion, name=name)
    sim = mpm.Simulation(scene, dx=dx, particle_collisions=rule)
    start = sim.totals().center_of_mass[1]
    sim.run(1.5)
    rise = sim.totals().center_of_mass[1] - start
    left, right = force(sim, "left", 1.2), force(sim, "right", 1.2)
    weight = 9.81 * sim.totals().mass
    return (
        f"rises {rise:.3f} of 0.200 m, squeezed by {-left[0] / weight:5.2f} weights, "
        f"friction {-(left + right)[1] / weight:.3f} weights"
    )


def tool(name: str, run: Callable[[int, float, str], str], sizes: tuple[tuple[int, float], ...]) -> None:
    """Print a line per size of the cells and rule."""
    print(name)
    for dim, dx in sizes:
        for rule in RULES:
            print(f"  {dim}-D  dx {dx:5.3f} m  {rule:8}{run(dim, dx, rule)}", flush=True)


SCENES: dict[str, Callable[[], None]] = {
    "squeeze": squeeze,
    "phases": phases,
    "indenter": lambda: tool(
        "a ball pressed into a block", indenter, ((2, 0.02), (2, 0.01), (3, 0.03), (3, 0.02))
    ),
    "roller": lambda: tool("a cylinder that rolls over a block", roller, ((2, 0.02), (2, 0.01), (3, 0.025))),
    "gripper": lambda: tool("two jaws lift a block", gripper, ((2, 0.02), (2, 0.01), (3, 0.025))),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scene", nargs="*", choices=[[], *SCENES], help="all, unless some are named")
    warnings.simplefilter("ignore")
    for name in parser.parse_args().scene or SCENES:
        SCENES[name]()


if __name__ == "__main__":
    main()
