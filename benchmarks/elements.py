"""What finite elements do beside closed forms, for `benchmarks/methods.py`: forces, beams, frequencies, bounds of the
time step, implicit steps, speed."""

import json
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mpm
from mpm import _core, fem
from mpm.bench.fem import Case

M = mpm.materials
LAWS = {
    "corotated": M.Corotated(E=1e4, nu=0.3, density=1000),
    "fixed corotated": M.FixedCorotated(E=1e4, nu=0.3, density=1000),
    "neo-Hookean": M.NeoHookean(E=1e4, nu=0.3, density=1000),
}
IMPLICIT: dict[str, Any] = {"integrator": "linearly-implicit-euler"}


def irregular(d: int, cells: int, jitter: float = 0.2, sliver: bool = False) -> mpm.shapes.Cells:
    """A unit box whose inner vertices are moved at random, one of them close to the opposite face if asked for."""
    made = fem.mesh(mpm.shapes.Box([0] * d, [1] * d), 1 / cells)
    inside = ((made.vertices > 0) & (made.vertices < 1)).all(axis=1)
    shift = np.random.default_rng(0).uniform(-jitter, jitter, made.vertices.shape) / cells
    x = made.vertices + inside[:, None] * shift
    if sliver:
        one = int(np.flatnonzero(inside)[0])
        way = 0.9
        while way > 0:
            moved = x.copy()
            moved[one, 0] += way / cells
            edges = moved[made.cells[:, 1:]] - moved[made.cells[:, :1]]
            if np.linalg.det(edges).min() > 1e-3 / cells**d:
                return mpm.shapes.Cells(moved, made.cells)
            way -= 0.02
    return mpm.shapes.Cells(x, made.cells)


def alone(d: int, shape: Any, material: Any, **options: Any) -> Any:
    scene = mpm.Scene([-9] * d, [9] * d)
    scene.add(shape, material)
    return fem.Simulation(scene, **options)


def rotation(d: int) -> Any:
    q, r = np.linalg.qr(np.random.default_rng(3).normal(size=(d, d)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q[:, ::-1]


def differences(sim: Any, x: Any, step: float = 1e-4) -> Any:
    """-dE/dx of the first nodes by differences of the energy, of fourth order."""
    found = np.zeros((min(4, len(x)), x.shape[1]))
    for row, axis in np.ndindex(found.shape):
        for k, weight in ((-2, 1), (-1, -8), (1, 8), (2, -1)):
            sim.particles.x[:] = x
            sim.particles.x[row, axis] += k * step
            found[row, axis] -= weight * sim.totals().elastic / (12 * step)
    sim.particles.x[:] = x
    return found


def forces(report: Any) -> None:
    """No force under rigid motion, sums, the derivative of the energy, the patch test, inversion."""
    for d in (2, 3):
        for name, law in LAWS.items():
            what = f"{d}-D, {name}"
            sim = alone(d, irregular(d, 3), law, spacing=1 / 3)
            rest = sim.particles.x.copy()
            sim.particles.x[:] = rest @ rotation(d).T + 0.7
            report.at_most(
                f"{what}: forces under rigid motion over E A", np.abs(sim.forces()).max() / 1e4, 1e-12
            )
            x = rest + np.random.default_rng(1).uniform(-0.03, 0.03, rest.shape)
            sim.particles.x[:] = x
            f = sim.forces()
            sums = [np.abs(f.sum(axis=0)).max()]
            sums += [
                abs((x[:, a] * f[:, b] - x[:, b] * f[:, a]).sum()) for a in range(d) for b in range(a + 1, d)
            ]
            report.at_most(
                f"{what}: sums of forces and torques over Σ|f|", max(sums) / np.abs(f).sum(), 1e-12
            )
            error = np.abs(f[:4] - differences(sim, x)).max() / np.abs(f).max()
            report.at_most(f"{what}: forces and differences of the energy", error, 1e-7)
            F = np.eye(d) + 0.1 * np.random.default_rng(4).uniform(-1, 1, (d, d))
            sim.particles.x[:] = rest @ F.T
            f = sim.forces()
            inside = ((rest > 0) & (rest < 1)).all(axis=1)
            report.at_most(
                f"{what}: patch test, inner forces", np.abs(f[inside]).max() / np.abs(f).max(), 1e-10
            )
            if law.inverts:
                inverted(report, d, what, law)


def inverted(report: Any, d: int, what: str, law: Any) -> None:
    x = np.concatenate([np.zeros((1, d)), np.eye(d)])
    sim = alone(d, mpm.shapes.Cells(x, [list(range(d + 1))]), law, damping=(3.0, 0.0))
    x[0] = 2 * x[1:].mean(axis=0) + 0.01 * np.arange(d)
    sim.particles.x[:] = x
    f = sim.forces()
    error = np.abs(f - differences(sim, x)).max() / np.abs(f).max()
    report.at_most(f"{what}: the same of an inverted element", error, 1e-7)
    if d == 2:  # a fold of a whole mesh may stay
        return
    refined = alone(d, mpm.shapes.Box([0] * d, [1] * d), law, spacing=1 / 3, damping=(4.0, 0.02))
    y = refined.particles.x.copy()
    refined.particles.x[:, 0] = -y[:, 0]
    refined.particles.x[:] += 0.05 * np.random.default_rng(0).normal(size=y.shape)
    refined.run(20.0)
    elements = refined.elements
    met = bool((elements.J > 0.9).all()) and refined.totals().elastic < 1
    text = f"J {elements.J.min():.3f} … {elements.J.max():.3f}"
    report.line(f"{what}: a refined body turned inside out", text, "J = 1 again", met)


def beam(d: int, across: int, nu: float) -> float:
    """Sag of a cantilever, 8 : 1, under its weight over that of beam theory with shear."""
    h, length, E, rho, g = 0.125, 1.0, 1e6, 1000.0, 1e-3
    area, inertia = (h, h**3 / 12) if d == 2 else (h * h, h**4 / 12)
    bending = (E / (1 - nu**2) if d == 2 else E) * inertia
    weight, shear = rho * area * g, 5 / 6 * E / (2 * (1 + nu)) * area
    exact = weight * length**4 / (8 * bending) + weight * length**2 / (2 * shear)
    scene = mpm.Scene(
        [0] + [-1] * (d - 1), [2] + [1] * (d - 1), gravity=[0] * (d - 1) + [-g], walls={"x-": "sticky"}
    )
    bar = mpm.shapes.Box([0] + [-h / 2] * (d - 1), [length] + [h / 2] * (d - 1))
    scene.add(bar, M.Corotated(E=E, nu=nu, density=rho))
    sim = fem.Simulation(
        scene, spacing=h / across, dt=2.0, tolerance=1e-10, max_iterations=100_000, **IMPLICIT
    )
    tip = sim.particles.x[:, 0] > length - 1e-9
    sag = 0.0
    for _ in range(20):
        before = sag
        sim.step(2)
        sag = -float(sim.particles.x[tip, -1].mean())
        if abs(sag - before) < 1e-7 * sag:
            break
    return sag / exact


def beams(report: Any) -> None:
    """A cantilever under its weight, in implicit steps to rest."""
    for d, sizes, limits, order in ((2, (8, 16), (5.0, 1.3), 1.9), (3, (4, 6), (13.0, 6.3), 1.75)):
        kind = "crossed triangles" if d == 2 else "five tetrahedra per cell"
        errors = [100 * (1 - beam(d, across, 0.0)) for across in sizes]
        for across, error, limit in zip(sizes, errors, limits, strict=True):
            met = 0 < error <= limit
            report.line(
                f"cantilever, {kind}, {across} across: too stiff by [%]", f"{error:.2f}", f"<= {limit}", met
            )
        found = math.log(errors[0] / errors[1]) / math.log(sizes[1] / sizes[0])
        report.line(f"cantilever, {kind}: order", f"{found:.2f}", f">= {order}", found >= order)
    for nu in (0.0, 0.3):
        text = f"{100 * (1 - beam(3, 3, nu)):.1f}"
        report.line(f"cantilever, tetrahedra, 3 across, nu = {nu}: too stiff by [%]", text, "(locks)", True)


def period(scene: Any, spacing: float, shape: Any, axis: int, periods: int, guess: float) -> float:
    """Of the motion with the initial velocity `shape`, from the passages through zero of its projection."""
    sim = fem.Simulation(scene, spacing=spacing, history=0)
    rest = sim.particles.x.copy()
    mode = shape(rest)
    sim.particles.v[:, axis] = 1e-6 * mode
    weight = sim.particles.mass * mode
    times, values = [0.0], [0.0]
    while times[-1] < (periods + 0.1) * guess:
        sim.step(4)
        times.append(sim.time)
        values.append(float(weight @ (sim.particles.x[:, axis] - rest[:, axis])))
    t, u = np.array(times), np.array(values)
    k = np.flatnonzero((u[1:-1] < 0) & (u[2:] >= 0)) + 1  # upwards
    passages = t[k] - u[k] * (t[k + 1] - t[k]) / (u[k + 1] - u[k])
    return float(passages[-1] / len(passages))


def frequencies(report: Any) -> None:
    """First bending and axial frequency of a clamped bar against Euler-Bernoulli and d'Alembert."""
    h, E, rho = 0.125, 1e6, 1000.0
    k = 1.8751040687
    exact = k**2 * math.sqrt(E * h**2 / (12 * rho)) / (2 * math.pi)
    ratio = (math.cos(k) + math.cosh(k)) / (math.sin(k) + math.sinh(k))

    def bending(x: Any) -> Any:
        s = k * x[:, 0]
        return np.cosh(s) - np.cos(s) - ratio * (np.sinh(s) - np.sin(s))

    scene = mpm.Scene((0, -1), (2, 1), walls={"x-": "sticky"})
    scene.add(mpm.shapes.Box((0, -h / 2), (1, h / 2)), M.Corotated(E=E, nu=0.0, density=rho))
    found = [1 / period(scene, h / n, bending, 1, 3, 1 / exact) / exact for n in (4, 8, 16)]
    order = math.log2((found[0] - found[1]) / (found[1] - found[2]))
    limit = found[2] - (found[1] - found[2]) / (2**order - 1)
    report.line(
        "bending frequency over Euler-Bernoulli's, 4, 8, 16 across",
        str([f"{f:.4f}" for f in found]),
        "",
        True,
    )
    report.line("bending frequency: order", f"{order:.2f}", ">= 1.8", order >= 1.8)
    report.line("bending frequency: limit", f"{limit:.4f}", "0.990 ± 0.003", abs(limit - 0.990) <= 0.003)
    axial = math.sqrt(E / rho) / 4
    found_axial = 1 / period(scene, h, lambda x: np.sin(np.pi / 2 * x[:, 0]), 0, 8, 1 / axial) / axial
    met = abs(found_axial - 1) <= 0.002
    report.line("axial frequency of 8 cells", f"{found_axial:.5f}", "1 ± 0.002", met)


def true_limit(sim: Any, rounds: int = 400) -> float:
    """2/omega_max at rest, by power iteration with differences of the forces."""
    x, m = sim.particles.x.copy(), sim.particles.mass[:, None].copy()
    u, size, rate2 = np.random.default_rng(0).normal(size=x.shape), 1e-6, 1.0
    for _ in range(rounds):
        u *= size / np.sqrt((m * u**2).sum() / m.sum())
        sim.particles.x[:] = x + u
        f = sim.forces()
        sim.particles.x[:] = x - u
        f -= sim.forces()
        rate2 = -(u * f).sum() / 2 / (m * u**2).sum()
        u = f / m
    sim.particles.x[:] = x
    return float(2 / math.sqrt(rate2))


def meshes(d: int) -> Iterator[tuple[str, Any]]:
    yield "structured", mpm.shapes.Box([0] * d, [1] * d)
    yield "jittered", irregular(d, 5, 0.25)
    yield "with a sliver", irregular(d, 5, 0.2, sliver=True)


def bounds(report: Any) -> None:
    """The bound of the time step over the true limit, and 2,000 steps at 0.98 of it."""
    for d in (2, 3):
        for name, shape in meshes(d):
            for law in (LAWS["corotated"], LAWS["neo-Hookean"]):
                what = f"{d}-D, {name}, {type(law).__name__}"
                sim = alone(d, shape, law, spacing=0.2)
                bound = sim.stable_dt().dt
                share = bound / true_limit(sim)
                least = (0.45, 0.41)[d - 2]
                report.line(
                    f"{what}: bound over true limit", f"{share:.3f}", f"{least} … 1", least <= share < 1
                )
                sim = alone(d, shape, law, spacing=0.2, dt=0.98 * bound)
                sim.particles.v[:] = 1e-3 * np.random.default_rng(1).normal(size=sim.particles.v.shape)
                start = sim.totals().energy
                sim.step(2000)
                most = sim.history["energy"].max() / start
                report.line(
                    f"{what}: energy of 2,000 steps at 0.98 of it", f"<= {most:.2f} E₀", "<= 2 E₀", most <= 2
                )


def implicit(report: Any) -> None:
    """Decay and order of the linearly implicit steps; their cost beside explicit ones."""
    x = np.array([[0, 0], [1, 0], [0.5, math.sqrt(0.75)]])
    r = x - x.mean(axis=0)

    def triangle(**options: Any) -> Any:
        return alone(
            2,
            mpm.shapes.Cells(x, [[0, 1, 2]]),
            M.Corotated(E=1e4, nu=0.0, density=1000),
            spacing=5.0,
            **options,
        )

    sim = triangle(dt=0.02, tolerance=1e-12, **IMPLICIT)
    sim.particles.x[:] += 1e-3 * r
    omega2 = -(sim.forces() * r).sum() / (1e-3 * sim.particles.mass[0] * (r * r).sum())
    energies = [sim.totals().energy]
    for _ in range(20):
        sim.step()
        energies.append(sim.totals().energy)
    decay = np.array(energies[1:]) / energies[:-1] * (1 + omega2 * 0.02**2) - 1
    report.at_most(
        "implicit: energy of an oscillator per step times 1 + z², minus 1", np.abs(decay).max(), 1e-10
    )
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        sim, fine = triangle(dt=dt, tolerance=1e-10, **IMPLICIT), triangle(dt=1e-5, history=0)
        for one in (sim, fine):
            one.particles.v[:] = 0.1 * r[:, ::-1] + 0.1 * r
            one.run(0.1)
        errors.append(float(np.abs(sim.particles.x - fine.particles.x).max()))
    order = math.log2(errors[1] / errors[2])
    report.line("implicit: order", f"{order:.3f}", "1 ± 0.1", abs(order - 1) <= 0.1)
    both(report)


def both(report: Any) -> None:
    """Steps, products and seconds of the two integrators, of a stiff and of a soft bar."""
    print("\n| bar | integrator | steps | products | seconds |\n|---|---|---|---|---|")
    costs = []
    for name, E, duration in (("stiff, 100 MPa, to rest", 1e8, 2.0), ("soft, 10 kPa, one swing", 1e4, 1.0)):
        scene = mpm.Scene((0, -1, -1), (2, 1, 1), gravity=(0, 0, -9.81), walls={"x-": "sticky"})
        scene.add(mpm.shapes.Box((0, 0, 0), (1, 0.25, 0.25)), M.Corotated(E=E, nu=0.3, density=1000))
        damping = (5.0, 0.0) if E > 1e6 else (0.0, 0.0)
        bound = fem.Simulation(scene, spacing=1 / 16).stable_dt().dt
        for options in ({}, {**IMPLICIT, "dt": 50 * bound if E > 1e6 else 2 * bound}):
            sim = fem.Simulation(scene, spacing=1 / 16, damping=damping, threads=1, history=0, **options)
            begin = time.process_time()
            sim.run(duration)
            seconds = time.process_time() - begin
            work = sim.health["products"] or sim.steps
            costs.append(seconds / work)
            kind = "implicit" if options else "explicit"
            print(f"| {name} | {kind} | {sim.steps} | {sim.health['products']} | {seconds:.2f} |")
        if E > 1e6:
            met = bool(np.isfinite(sim.particles.x).all()) and np.abs(sim.particles.v).max() < 0.01
            report.line("a stiff bar at 50 times the explicit bound", "at rest", "stable", met)
    print()
    share = costs[1] / costs[0]
    report.line(
        "implicit: a product with its share of the solve, in explicit steps",
        f"{share:.2f}",
        "<= 1",
        share <= 1,
    )


def twisting(cells: int, law: str, dtype: str, threads: int = 1) -> Any:
    return Case(law, dtype, cells).simulation(isa=mpm.config.isa(), threads=threads)


def rate(sim: Any, clock: Any, steps: int = 12, rounds: int = 5) -> float:
    """Million elements and steps per second, the best of some rounds."""
    sim.step(2)
    best = math.inf
    for _ in range(rounds):
        begin = clock()
        sim.step(steps)
        best = min(best, clock() - begin)
    return len(sim.elements) * steps / best / 1e6


def speed(report: Any) -> None:
    """A twisting block of 69,120 and 320,000 tetrahedra: whole steps with energies, bounds and history."""
    rates = {}
    for cells in (24, 40):
        for name, dtype, least in (
            ("fixed corotated", "float32", 28),
            ("neo-Hookean", "float32", 32),
            ("corotated", "float32", 26),
            ("fixed corotated", "float64", 12),
        ):
            sim = twisting(cells, name, dtype)
            found = rates[cells, name, dtype] = rate(sim, time.process_time)
            what = f"{len(sim.elements):,} tetrahedra, {name}, {dtype} [M/s]"
            report.line(what, f"{found:.1f}", f">= {least}", found >= least)
    if "scalar" in _core.isas():  # a build may lack it
        with mpm.config.using_isa("scalar"):
            scalar = rate(twisting(24, "fixed corotated", "float32"), time.process_time)
        gain = rates[24, "fixed corotated", "float32"] / scalar
        report.line("vectors over the scalar build", f"{gain:.2f}", ">= 2", gain >= 2)
    two_threads(report)
    plain = numpy_rate()
    report.line("the same forces in NumPy [M/s]", f"{plain:.3f}", "", True)
    peers(report)


def peers(report: Any) -> None:
    """Other programs on a block of 20,480 tetrahedra, one thread, after a check that they computed the same."""
    command = [sys.executable, "-m", "benchmarks.fem_peers"]
    folder = Path(__file__).resolve().parents[1]
    printed = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    for entry in json.loads(printed):
        if "speed" not in entry:
            report.line(f"peers: {entry['name']}", entry["reason"], "left out", True)
            continue
        text = f"peers: {entry['name']} {entry['version']} ({entry['apart']:.0e} apart) [M/s]"
        report.line(text, f"{entry['speed'] / 1e6:.3g}", "", True)


def two_threads(report: Any) -> None:
    """Single steps with one and two threads in turn, the best of many, because neighbours disturb two threads."""
    sims = [twisting(40, "fixed corotated", "float32", n) for n in (1, 2)]
    best = [math.inf, math.inf]
    for _ in range(300):
        for k, sim in enumerate(sims):
            begin = time.perf_counter()
            sim.step()
            best[k] = min(best[k], time.perf_counter() - begin)
    gain = best[0] / best[1]
    report.line("two threads over one", f"{gain:.2f}", ">= 1.8 on two free cores", gain >= 1.8)


def numpy_rate() -> float:
    """Million elements and steps per second of the same step in NumPy, checked against the core."""
    sim = twisting(24, "corotated", "float64")
    elements = sim.elements
    nodes, volume, x, v = elements.nodes, elements.volume, sim.particles.x.copy(), sim.particles.v.copy()
    edges = np.swapaxes(x[nodes[:, 1:]] - x[nodes[:, :1]], 1, 2)
    inverse, mass = np.linalg.inv(edges), sim.particles.mass[:, None]
    E, nu = 1e6, 0.3
    mu, lam = E / (2 * (1 + nu)), E * nu / ((1 + nu) * (1 - 2 * nu))
    dt, best = 1e-5, math.inf
    for _ in range(3):
        begin = time.process_time()
        F = np.swapaxes(x[nodes[:, 1:]] - x[nodes[:, :1]], 1, 2) @ inverse
        U, _, Vt = np.linalg.svd(F)
        R = U @ Vt
        growth = np.einsum("nij,nij->n", R, F) - 3
        P = 2 * mu * (F - R) + (lam * growth)[:, None, None] * R
        H = -volume[:, None, None] * P @ np.swapaxes(inverse, 1, 2)
        f = np.zeros_like(x)
        for a in range(3):
            for k in range(3):
                f[:, a] += np.bincount(nodes[:, k + 1], weights=H[:, a, k], minlength=len(x))
            f[:, a] -= np.bincount(nodes[:, 0], weights=H[:, a].sum(axis=1), minlength=len(x))
        v = v + dt * f / mass
        x = x + dt * v
        best = min(best, time.process_time() - begin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scene = sim.scene
        other = fem.Simulation(scene, spacing=1 / 24, dt=dt)
    other.step(3)
    if np.abs(other.particles.x - x).max() > 1e-12:
        raise RuntimeError("NumPy and the core do not compute the same step")
    return len(nodes) / best / 1e6


def elements(report: Any) -> None:
    """All of it."""
    for part in (forces, beams, frequencies, bounds, implicit, speed):
        part(report)


# ---- beside MPM -----------------------------------------------------------------------------------------------------


def restitution(report: Any) -> None:
    """A disk against a separating wall: the speed that it keeps, at radius/16."""
    radius, size, found = 0.2, 0.2 / 16, {}
    for method in ("MPM", "FEM"):
        scene = mpm.gallery.disk_wall(radius=radius)
        sim: Any = mpm.Simulation(scene, dx=size) if method == "MPM" else fem.Simulation(scene, spacing=size)
        sim.run(0.05 + 8 * radius / math.sqrt(1e6 / 1000))
        total = sim.totals()
        found[method] = total.momentum[0] / total.mass
        report.line(f"restitution of a disk by {method}", f"{found[method]:.4f}", "", True)
    share = found["FEM"] / found["MPM"]
    report.line("restitution of FEM over MPM", f"{share:.4f}", "1 ± 0.02", abs(share - 1) <= 0.02)
    round_one = mpm.Scene(scene.lower, scene.upper, walls=scene.walls)
    disk = scene.bodies[0]
    middle = (disk.shape.bounds[0] + disk.shape.bounds[1]) / 2
    round_one.add(mapped_disk(middle, radius, 32), disk.material, velocity=(-1, 0))
    sim = fem.Simulation(round_one)
    sim.run(0.05 + 8 * radius / math.sqrt(1e6 / 1000))
    kept = sim.totals().momentum[0] / sim.totals().mass
    report.line(
        "the same by FEM, with a mapped mesh", f"{kept:.4f}", "0.981 ± 0.002", abs(kept - 0.981) <= 0.002
    )


def mapped_disk(middle: Any, radius: float, across: int) -> mpm.shapes.Cells:
    """A disk whose mesh is that of a square, mapped smoothly, so that the outline is round."""
    made = fem.mesh(mpm.shapes.Box((-1, -1), (1, 1)), 2 / across)
    x, y = made.vertices.T
    mapped = np.stack([x * np.sqrt(1 - y**2 / 2), y * np.sqrt(1 - x**2 / 2)], axis=1)
    return mpm.shapes.Cells(middle + radius * mapped, made.cells)


def column(report: Any) -> None:
    """A column between mirrors under its weight: the sag of its centre of mass over rho g H^2/(3 M)."""
    E, nu, rho, g = 1e6, 0.3, 1000.0, 1.0
    modulus = E * (1 - nu) / ((1 + nu) * (1 - 2 * nu))
    exact = rho * g / (3 * modulus)
    walls: Any = {"x-": "mirror", "x+": "mirror", "y-": "mirror"}
    scene = mpm.Scene((0, 0), (0.25, 1.25), gravity=(0, -g), walls=walls)
    scene.add(mpm.shapes.Box((0, 0), (0.25, 1)), M.NeoHookean(E=E, nu=nu, density=rho))
    by_mpm = mpm.Simulation(scene, dx=1 / 16, sampling="lattice")
    by_fem = fem.Simulation(scene, spacing=1 / 16, dt=0.2, **IMPLICIT)
    start = [sim.totals().center_of_mass[1] for sim in (by_mpm, by_fem)]
    by_mpm.equilibrate()
    by_fem.step(60)
    for sim, before, method in zip((by_mpm, by_fem), start, ("MPM", "FEM"), strict=True):
        share = (before - sim.totals().center_of_mass[1]) / exact
        report.line(f"sag of a column by {method}, H/16", f"{share:.4f}", "1 ± 0.02", abs(share - 1) <= 0.02)


def spin(report: Any) -> None:
    """A square that spins ten turns: angular momentum and energy."""
    for method in ("MPM", "FEM"):
        scene = mpm.Scene((-0.5, -0.5), (0.5, 0.5))
        law = M.FixedCorotated(E=2e6, nu=0.3, density=1000)
        scene.add(mpm.shapes.Box((-0.25, -0.25), (0.25, 0.25)), law, angular_velocity=2 * math.pi)
        sim: Any = (
            mpm.Simulation(scene, dx=1 / 32) if method == "MPM" else fem.Simulation(scene, spacing=1 / 32)
        )
        start = sim.totals()
        sim.run(10.0)
        end = sim.totals()
        drift = abs(float(np.squeeze(end.angular_momentum) / np.squeeze(start.angular_momentum)) - 1)
        report.at_most(f"ten turns by {method}: drift of the angular momentum", drift, 1e-12)
        if method == "MPM":
            grown(report, scene)
        energy = 100 * (end.energy / start.energy - 1)
        report.line(f"ten turns by {method}: energy [%]", f"{energy:+.3f}", "0 ± 0.5", abs(energy) <= 0.5)


def grown(report: Any, scene: Any) -> None:
    """What Cayley's update of F does to the spinning square: it grows, unnoticed by F, at most by exp(ω² dt t/2)."""
    sim = mpm.Simulation(scene, dx=1 / 32, f_update="cayley")
    radius, start = math.sqrt((sim.particles.x**2).sum(axis=1).mean()), sim.totals().energy
    sim.run(10.0)
    growth = math.sqrt((sim.particles.x**2).sum(axis=1).mean()) / radius
    most = math.exp((2 * math.pi) ** 2 * 10 / sim.steps * 10 / 2)
    report.line(
        "ten turns with Cayley's update: growth", f"{growth:.3f}", f"<= {most:.3f}", 1.03 < growth <= most
    )
    lost = sim.totals().energy / start * growth**2 - 1
    report.line("the same: energy times growth²", f"{1 + lost:.4f}", "1 ± 0.005", abs(lost) <= 0.005)


def together(report: Any) -> None:
    """The same scenes by MPM and by finite elements."""
    for part in (restitution, column, spin):
        part(report)
