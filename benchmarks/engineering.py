"""Closed forms that engineers ask for first.

    python benchmarks/engineering.py loads     # tractions, pressures, held regions, absorbing walls

Each line is a case, a method and its resolution, the measured number over the exact one, and the limit for the error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np

import mpm
from mpm.scene.waves import wave_speeds
from mpm.shapes import Ball, Box

E, NU = 1e6, 0.3
SOLID = mpm.materials.FixedCorotated(E=E, nu=NU, density=1000)
Row = tuple[str, str, float, float]  # case, how, error, limit


def ramp(value: float, duration: float) -> Callable[[float], float]:
    """A load that grows smoothly."""
    return lambda t: value * np.sin(0.5 * np.pi * min(t / duration, 1.0)) ** 2


def cantilever() -> Iterator[Row]:
    """The end of a beam under a shear traction, Timoshenko & Goodier, article 21, in plane strain."""
    length, height, traction = 1.0, 0.125, 1.0
    plane, poisson = E / (1 - NU**2), NU / (1 - NU)
    force, inertia = traction * height, height**3 / 12
    exact = force / (6 * plane * inertia) * ((4 + 5 * poisson) * height**2 * length / 4 + 2 * length**3)
    for method, cells in (("mpm", 12), ("fem", 24)):
        h = height / cells
        scene = mpm.Scene((-0.125, -0.5), (1.25, 0.5))
        beam = scene.add(Box((-0.125, -height / 2), (length, height / 2)), SOLID)
        scene.hold(beam, lambda x: x[:, 0] <= 1e-9, velocity=(0, 0), name="root")
        scene.add_traction(beam, lambda x: x[:, 0] > length - 1e-6, traction=(0, -traction), name="end")
        if method == "mpm":
            sim = mpm.Simulation(
                scene, dx=h, integrator="implicit-euler", tolerance=1e-6, dt=0.25, gradient="bspline"
            )
        else:
            sim = mpm.fem.Simulation(
                scene,
                spacing=h,
                integrator="linearly-implicit-euler",
                dt=0.25,
                tolerance=1e-8,
                max_iterations=20000,
            )
        start = sim.particles.x.copy()
        sim.step(60)
        near = start[:, 0] > length - 2 * h
        sag = np.polyfit(start[near, 0] - length, (start - sim.particles.x)[near, 1], 1)[1]
        yield "cantilever, sag of the end", f"{method}, {cells} cells", sag / exact - 1, 0.01


def tube(follows: bool | None, pressure: float) -> Iterator[Row]:
    """The inside of a thick tube under pressure: Lamé for small strain."""
    inner, outer = 0.5, 1.0
    for method, cells in (("mpm", 16), ("fem", 32)):
        h = (outer - inner) / cells
        scene = mpm.Scene((0, 0), (1.25, 1.25), walls={"x-": "mirror", "y-": "mirror"})
        quarter = (Ball((0, 0), outer) - Ball((0, 0), inner)) & Box((0, 0), (2, 2))
        ring = scene.add(quarter, SOLID)
        scene.add_traction(
            ring, Ball((0, 0), 0.7), pressure=ramp(pressure, 0.2), follows=follows, name="inside"
        )
        implicit = {"tolerance": 1e-6, "max_dt": 0.02}
        if method == "mpm":
            sim = mpm.Simulation(scene, dx=h, integrator="implicit-euler", **implicit)
        else:
            sim = mpm.fem.Simulation(scene, spacing=h, integrator="linearly-implicit-euler", **implicit)
        start = sim.particles.x.copy()
        sim.run(1.0)
        radius = np.linalg.norm(start, axis=1)
        grown = np.linalg.norm(sim.particles.x, axis=1) - radius
        factor = pressure * inner**2 / (E * (outer**2 - inner**2)) * (1 + NU)
        lame = factor * ((1 - 2 * NU) * radius + outer**2 / radius)
        band = (radius > 0.55) & (radius < 0.95)
        yield (
            "thick tube, growth (Lamé)",
            f"{method}, {cells} cells",
            (grown[band] / lame[band]).mean() - 1,
            0.015,
        )


def thin_ring() -> Iterator[Row]:
    """A pressure that follows a thin ring which grows by a fifth: p r dθ = N, with N of the stretch of the law."""
    radius, thickness, pressure = 1.0, 0.1, 1.0e4
    for method, cells in (("mpm", 6), ("fem", 6)):
        h = thickness / cells
        scene = mpm.Scene((0, 0), (1.6, 1.6), walls={"x-": "mirror", "y-": "mirror"})
        inner, outer = radius - thickness / 2, radius + thickness / 2
        ring = scene.add((Ball((0, 0), outer) - Ball((0, 0), inner)) & Box((0, 0), (2, 2)), SOLID)
        scene.add_traction(ring, Ball((0, 0), radius), pressure=ramp(pressure, 1.0), name="inside")
        implicit = {"tolerance": 1e-6, "max_dt": 0.02}
        if method == "mpm":
            sim = mpm.Simulation(scene, dx=1.6 / round(1.6 / h), integrator="implicit-euler", **implicit)
        else:
            sim = mpm.fem.Simulation(scene, spacing=h, integrator="linearly-implicit-euler", **implicit)
        start = sim.particles.x.copy()
        sim.run(3.0)
        before, now = (np.linalg.norm(x, axis=1) for x in (start, sim.particles.x))
        # radial balance: the hoop force N = ∫ σ dr bears p times the present inner radius
        stress = sim.compute("stress")
        direction = sim.particles.x / now[:, None]
        across = np.stack([-direction[:, 1], direction[:, 0]], axis=1)
        hoop = np.einsum("na,nab,nb->n", across, stress, across)
        volume = np.asarray(sim.particles.volume) * (sim.particles.J if "J" in sim.particles.fields else 1)
        if "F" in sim.particles.fields:
            volume = np.asarray(sim.particles.volume) * np.linalg.det(sim.particles.F)
        elif method == "fem":
            volume = np.asarray(sim.particles.volume) * sim.compute("J")
        carried = (hoop * volume / now).sum() / (0.5 * np.pi)  # ∫ σ dr = Σ σ V/(r angle)
        inside = (now - (before - inner) * 1.0)[before < inner + 0.6 * h].mean()
        yield (
            f"ring that grows by {(now / before).mean() - 1:.0%}, hoop force",
            f"{method}, {cells} cells",
            (carried / (pressure * inside) - 1),
            0.02,
        )


def pulled_bar() -> Iterator[Row]:
    """The reaction of a held region against the integral of the stress in the middle of a bar."""
    for method in ("mpm", "fem"):
        scene = mpm.Scene((0, 0), (2, 0.5))
        bar = scene.add(Box((0.25, 0.125), (1.75, 0.375)), SOLID)
        duration, pulled = 4.0, 0.02
        scene.hold(bar, Box((0, 0), (0.5, 1)), velocity=(0, 0), name="fixed")

        def gently(t: float, duration: float = duration, pulled: float = pulled) -> tuple[float, None]:
            return 2 * pulled / duration * np.sin(np.pi * t / duration) ** 2 if t < duration else 0.0, None

        scene.hold(bar, Box((1.5, 0), (2, 1)), velocity=gently, name="pulled")
        implicit = {"tolerance": 1e-7, "max_dt": 0.05}
        if method == "mpm":
            sim = mpm.Simulation(scene, dx=1 / 32, integrator="implicit-euler", **implicit)
        else:
            sim = mpm.fem.Simulation(scene, spacing=1 / 32, integrator="linearly-implicit-euler", **implicit)
        start = sim.particles.x.copy()
        sim.run(1.5 * duration)
        near = np.abs(start[:, 0] - 1) < 0.25
        span = 0.5 * np.polyfit(start[near, 0], sim.particles.x[near, 0], 1)[0]  # of the middle half metre
        if method == "mpm":
            middle = near
            volume = np.asarray(sim.particles.volume)[middle] * np.linalg.det(sim.particles.F[middle])
            stress = sim.compute("stress")[middle, 0, 0]
        else:
            elements = sim.elements
            middle = np.abs(start[elements.nodes].mean(axis=1)[:, 0] - 1) < 0.25
            volume = (elements.volume * elements.J)[middle]
            stress = sim.compute("stress", on="elements")[middle, 0, 0]
        carried = (stress * volume).sum() / span
        yield (
            "pulled bar, reaction over ∫σ",
            f"{method}, dx = 1/32",
            sim.force("pulled", window=1.0)[0] / carried - 1,
            0.01,
        )


def waves() -> Iterator[Row]:
    """The reflected amplitude of a plane pulse at an absorbing wall, at normal incidence, and at 45 degrees."""
    pressure, shear = wave_speeds(SOLID)
    for axis, kind, speed in ((0, "pressure", pressure), (1, "shear", shear)):
        for method, cells in (("mpm", 96), ("fem", 96)):
            walls = {"x": "absorbing", "y": "mirror" if axis == 0 else "periodic"}
            if method == "fem" and axis == 1:
                continue
            scene = mpm.Scene((0, 0), (1, 4 / cells), walls=walls)

            def velocity(x: np.ndarray, axis: int = axis) -> np.ndarray:
                v = np.zeros_like(x)
                v[:, axis] = 1e-4 * np.exp(-(((x[:, 0] - 0.5) / 0.1) ** 2))
                return v

            scene.add(Box((0, 0), (1, 4 / cells)), SOLID, velocity=velocity)
            name = "dx" if method == "mpm" else "spacing"
            sim = (mpm.Simulation if method == "mpm" else mpm.fem.Simulation)(scene, **{name: 1 / cells})
            sim.run(0.2 / speed)
            before = np.abs(sim.particles.v[:, axis]).max()
            sim.run(0.7 / speed)  # later, the two reflections meet
            left = np.abs(sim.particles.v[:, axis]).max() / before
            yield f"{kind} wave at a wall, reflected", f"{method}, {cells} cells", left, 0.03
    yield oblique(pressure, shear)


def oblique(pressure: float, shear: float) -> Row:
    """A plane pressure wave that meets an absorbing wall at 45 degrees: the amplitude of what comes back."""
    cells, side = 96, 1.5
    scene = mpm.Scene((0, 0), (side, side), walls="absorbing")
    scene.add(Box((0, 0), (side, side)), SOLID, velocity=lambda x: oblique_pulse(x))
    sim = mpm.Simulation(scene, dx=side / cells)
    x = sim.particles.x.copy()
    before = 0.5 * np.abs(sim.particles.v).sum(axis=1).max()  # half of the pulse goes the other way
    sim.run(0.55 / pressure)
    # where the wave has met the wall x+ in its middle, and nothing from other walls has come yet
    seen = (x[:, 0] > side - 0.35) & (np.abs(x[:, 1] - 0.75) < 0.15)
    return (
        "pressure wave at 45°, reflected",
        f"mpm, {cells} cells",
        np.abs(sim.particles.v[seen]).sum(axis=1).max() / before,
        1.0,
    )


def oblique_pulse(x: np.ndarray) -> np.ndarray:
    along = (x[:, 0] - 1.1 + x[:, 1] - 0.75) / np.sqrt(2)
    return 1e-4 * np.exp(-((along / 0.08) ** 2))[:, None] * np.array([1, 1]) / np.sqrt(2)


def loads() -> Iterator[Row]:
    yield from pulled_bar()
    yield from waves()
    yield from tube(None, 1e3)
    yield from cantilever()
    yield from thin_ring()


STUDIES = {"loads": loads}


def main() -> int:
    names = sys.argv[1:] or [*STUDIES]
    if wrong := [name for name in names if name not in STUDIES]:
        print(f"no study {wrong[0]!r}; there are {', '.join(STUDIES)}")
        return 2
    missed = 0
    for name in names:
        for case, how, error, limit in STUDIES[name]():
            verdict = "" if limit >= 1 else "within" if abs(error) <= limit else "BEYOND"
            missed += verdict == "BEYOND"
            print(f"{case:<38} {how:<18} {error:+.4f}  {verdict} {limit if limit < 1 else ''}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
