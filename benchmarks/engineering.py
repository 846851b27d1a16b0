"""Closed forms that engineers ask for first.

    python benchmarks/engineering.py loads     # tractions, pressures, held regions, absorbing walls
    python benchmarks/engineering.py soil      # stresses at rest, limit loads, slopes, earth pressure
    python benchmarks/engineering.py water     # pore water: consolidation, an undrained footing

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
    yield burst(pressure)


def burst(pressure: float) -> Row:
    """A pressure wave from the middle of a disc, at an absorbing collider around it: the amplitude that is left."""
    cells, disc = 96, mpm.shapes.Ball((0, 0), 1)
    scene = mpm.Scene((-1.25, -1.25), (1.25, 1.25), walls="separate")
    scene.add_collider(~disc, contact="absorbing")
    scene.add(disc, SOLID, velocity=lambda x: 1e-4 * x * np.exp(-((x / 0.1) ** 2).sum(axis=1))[:, None])
    sim = mpm.Simulation(scene, dx=1 / cells)
    sim.run(1.6 / pressure)
    energy = sim.history["kinetic"] + sim.history["elastic"]
    return (
        "pressure wave at a circle, reflected",
        f"mpm, {cells} cells",
        float(np.sqrt(energy[-1] / energy[0])),
        0.03,
    )


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


G = 9.81


def layers(d: int) -> Iterator[Row]:
    """Two layers with K0 of their own: stresses, and the force out of balance over the weight."""
    walls = dict.fromkeys("xyz"[: d - 1], "mirror") | {"xyz"[d - 1] + "-": "mirror"}
    scene = mpm.Scene([0] * d, [1] * (d - 1) + [3], gravity=[0] * (d - 1) + [-G], walls=walls)
    side, low, high = [1] * (d - 1), 1900, 1700
    clay = mpm.materials.MohrCoulomb(E=1e7, nu=0.35, density=low, friction_angle_deg=25, cohesion=5e3)
    sand = mpm.materials.DruckerPrager(E=2e7, nu=0.3, density=high, friction_angle_deg=33, cohesion=1e3)
    scene.add(Box([0] * d, [*side, 1]), clay, name="clay")
    scene.add(Box([0] * (d - 1) + [1], [*side, 1.75]), sand, name="sand")
    scene.lithostatic({"clay": 0.6, "sand": 0.5})
    sim = mpm.Simulation(scene, dx=1 / 8)
    z = sim.particles.x[:, -1]
    exact = -G * np.where(z < 1, low * (1 - z) + high * 0.75, high * (1.75 - z))
    tau = sim.compute("stress")[:, 0, 0] * np.linalg.det(sim.particles.F) / np.where(z < 1, 0.6, 0.5)
    yield (
        "K0 of two layers, horizontal stress",
        f"mpm, {d}-D",
        float(np.abs(tau - exact).max() / -exact.min()),
        1e-3,
    )
    found = sim.equilibrate(increments=1, tolerance=1e-2)
    yield "K0 of two layers, force out of balance", f"mpm, {d}-D", found.residual, 1e-3


def footing(cells: int, f_bar: bool, limit: float, wet: bool = False) -> Row:
    """A rough strip on clay: (2 + π) c_u (Prandtl); `wet`: water that cannot leave keeps the volume."""
    half, strength, density, nu = 1.0, 50e3, 1800, 0.3
    stiffness, dx = 520 * strength, half / (cells + 0.5)
    width, depth = np.ceil(4 * half / dx) * dx, np.ceil(2 * half / dx) * dx
    speed = (1e-3 if wet else 5e-4) * np.sqrt(stiffness / density)
    walls = {"x-": "mirror", "x+": "sticky", "y-": "sticky"}
    scene = mpm.Scene((0, 0), (width, depth + 4 * dx), walls=walls)
    clay: mpm.materials.Material = mpm.materials.VonMises(
        E=stiffness, nu=nu, density=density, yield_stress=np.sqrt(3) * strength
    )
    if wet:
        pore = mpm.Pore(0.5, 0.0, fluid_bulk_modulus=10 * stiffness, surface="closed")
        clay = mpm.materials.MohrCoulomb(
            E=stiffness,
            nu=nu,
            density=density,
            cohesion=strength,
            friction_angle_deg=0,
            dilation_angle_deg=0,
            pore=pore,
        )
    scene.add(Box((0, 0), (width, depth)), clay)
    strip = Box((-half, depth), (half, depth + half))
    scene.add_collider(strip, contact="sticky", motion=mpm.motion.Linear((0, -speed)), name="footing")
    sim = mpm.Simulation(scene, dx=dx, f_bar=f_bar)
    sim.run(0.24 * half / speed)
    load = -sim.force("footing", window=0.12 * half / speed)[1] / half
    return (
        f"{'undrained' if wet else 'strip'} footing, load over 5.14 c_u",
        f"mpm, {cells} cells" + ", F-bar" * f_bar,
        load / ((2 + np.pi) * strength) - 1,
        limit,
    )


def slope(cohesion: float, angle: float, K0: float, foundation: float, dx: float) -> mpm.Simulation:
    """A slope of 1:2, 10 m high, in soil of 20 kN/m³."""
    height, left, right = 10.0, 12.0, 12.0
    toe = left + 2 * height
    walls = {"x": "slip", "y-": "sticky"}
    scene = mpm.Scene((0, -foundation), (toe + right, height + 4 * dx), gravity=(0, -G), walls=walls)
    below = [(0, -foundation), (toe + right, -foundation), (toe + right, 0)] if foundation else [(0, 0)]
    soil = mpm.materials.MohrCoulomb(
        E=2e7, nu=0.3, density=20e3 / G, cohesion=cohesion, friction_angle_deg=angle, dilation_angle_deg=0
    )
    scene.add(mpm.shapes.Polygon([*below, (toe, 0), (left, height), (0, height)]), soil, name="slope")
    scene.lithostatic(K0)
    return mpm.Simulation(scene, dx=dx, local_damping=0.7)


def slopes() -> Iterator[Row]:
    """Bishop & Morgenstern (1960), c/γH = 0.05, φ = 20°, on a rigid base; the slope EX1(a) of the ACADS review (1989),
    c = 3 kPa, φ = 19.6°: Bishop's simplified method gives 0.987."""
    for name, given, exact in (
        ("slope of Bishop & Morgenstern, factor", (10e3, 20.0, 0.6, 0.0), 1.380),
        ("slope of ACADS EX1(a), factor", (3e3, 19.6, 0.7, 5.0), 0.987),
    ):
        found = mpm.factor_of_safety(
            lambda given=given: slope(*given, 1.0), between=(0.8 * exact, 1.3 * exact)
        )
        yield name, "mpm, 10 cells", found.factor / exact - 1, 0.03


def vertical_cut(cells: int, f_bar: bool, limit: float) -> Row:
    """γH/c = 3.78, between the bounds 3.772 and 3.786 (Pastor, Thai, Francescato 2000; Martin 2011)."""
    height, strength = 2.0, 20e3 * 2 / 3.78
    dx = height / cells

    def build() -> mpm.Simulation:
        walls = {"x": "slip", "y-": "sticky"}
        scene = mpm.Scene((0, -1), (6, height + 4 * dx), gravity=(0, -G), walls=walls)
        clay = mpm.materials.VonMises(E=2e7, nu=0.3, density=20e3 / G, yield_stress=np.sqrt(3) * strength)
        ground = mpm.shapes.Polygon([(0, -1), (6, -1), (6, 0), (3, 0), (3, height), (0, height)])
        scene.add(ground, clay, name="clay")
        return mpm.Simulation(scene, dx=dx, local_damping=0.7, f_bar=f_bar)

    found = mpm.factor_of_safety(build, between=(0.8, 1.6), tolerance=0.02)
    how = f"mpm, {cells} cells" + ", F-bar" * f_bar
    return "vertical cut in clay, γH/c over 3.78", how, found.factor - 1, limit


def earth_pressure(angle: float, active: bool, cells: int) -> Row:
    """A smooth wall that gives way or is pushed: Coulomb's K_a and K_p, on a smooth base. The wall holds nodes half a
    cell before its face and moves less than half a cell."""
    height, weight, stiffness = 4.0, 16e3, 4e7
    dx, density = height / cells, weight / G
    wide, begin = 3 * height, 4 * dx
    walls = {"x": "slip", "y-": "slip"}
    scene = mpm.Scene((0, 0), (begin + wide, height + 6 * dx), gravity=(0, -G), walls=walls)
    soil = mpm.materials.MohrCoulomb(
        E=stiffness, nu=0.3, density=density, cohesion=0, friction_angle_deg=angle, dilation_angle_deg=0
    )
    scene.add(Box((begin, 0), (begin + wide, height)), soil, name="fill")
    scene.lithostatic(0.5)
    travel = (0.006 if active else 0.02) * height
    speed = (2e-4 if active else 4e-4) * np.sqrt(stiffness / density)
    face = Box((-4 * dx, -4 * dx), (begin + 0.5 * dx, height + 20 * dx))
    motion = mpm.motion.Linear((-speed if active else speed, 0))
    scene.add_collider(face, contact="slip", motion=motion, name="wall")
    sim = mpm.Simulation(scene, dx=dx, local_damping=0.5)
    sim.run(travel / speed)
    force = sim.force("wall", window=0.25 * travel / speed)[0]
    ratio = np.tan(np.radians(45 - angle / 2)) ** (2 if active else -2)
    now = height * (1 + (-travel if active else travel) / wide)  # the fill becomes narrower or wider
    kind = "active" if active else "passive"
    return (
        f"{kind} earth pressure, φ = {angle:g}°",
        f"mpm, {cells} cells",
        force / (ratio * weight * now**2 / 2) - 1,
        0.03,
    )


def soil() -> Iterator[Row]:
    for d in (2, 3):
        yield from layers(d)
    yield footing(4, False, 0.03)
    yield footing(8, False, 0.1)
    yield footing(8, True, 0.03)
    yield vertical_cut(8, False, 0.2)
    yield vertical_cut(8, True, 0.1)
    yield vertical_cut(16, True, 0.05)
    yield from slopes()
    for angle in (25, 30, 35):
        for active in (True, False):
            yield earth_pressure(angle, active, 12)


def terzaghi(d: int, cells: int) -> Iterator[Row]:
    """A layer under a sudden load, drained at its surface or its base: pressures at three times, over the first one."""
    nu, water, q = 0.2, 1e7, 1e3
    stiff = E * (1 - nu) / ((1 + nu) * (1 - 2 * nu))
    strain = q / (stiff + water)
    for surface in ("closed", "drained"):
        pore = mpm.Pore(0.5, 1e-10, fluid_bulk_modulus=water / 2, pressure=water * strain, surface=surface)
        clay = mpm.materials.Hencky(E=E, nu=nu, density=2000, pore=pore)
        base = mpm.Wall("slip", pore_pressure=0.0) if surface == "closed" else "slip"
        walls = {f"{'xyz'[d - 1]}-": base} | dict.fromkeys("xy"[: d - 1], "mirror")
        side = (4 / cells,) * (d - 1)
        scene = mpm.Scene((0,) * d, (*side, 1 + 4 / cells), walls=walls)
        layer = scene.add(Box((0,) * d, (*side, 1)), clay, F=np.diag([1.0] * (d - 1) + [1 - strain]))
        scene.add_traction(layer, lambda x: x[:, -1] > 1 - 1e-6, traction=(0,) * (d - 1) + (-q,))
        sim = mpm.Simulation(scene, dx=1 / cells)
        height = sim.particles.x[:, -1].copy()
        from_drain = height if surface == "closed" else 1 - height
        m = (2 * np.arange(200) + 1) * np.pi / 2
        worst = 0.0
        for T in (0.1, 0.2, 0.5):
            sim.run(T / pore.consolidation(stiff) - sim.time)
            exact = (2 / m * np.sin(np.outer(from_drain, m)) * np.exp(-(m**2) * T)).sum(axis=1)
            worst = max(worst, abs(sim.particles.pore_pressure / (water * strain) - exact).max())
        drained = "base" if surface == "closed" else "surface"
        limit = 0.01 if surface == "closed" or cells >= 20 else 0.015  # surfaces are of first order
        yield f"Terzaghi's layer, drained at its {drained}", f"mpm, {d}-D, {cells} cells", worst, limit


def mandel(cells: int) -> Iterator[Row]:
    """The pressure in the middle of a slab between rigid plates, drained at its sides, which first grows: J. Mandel,
    Géotechnique 3 (1953) 287; A. H.-D. Cheng, E. Detournay, Int. J. Numer. Anal. Methods Geomech. 12 (1988) 561."""
    nu, water, half, tall, p0 = 0.2, 1e7, 1.0, 0.25, 1e3
    shear = E / (2 * (1 + nu))
    bulk = 2 * shear * (1 + nu) / (3 * (1 - 2 * nu))
    undrained = bulk + water
    nu_u = (3 * undrained - 2 * shear) / (2 * (3 * undrained + shear))
    skempton = water / undrained
    force = 3 * half * p0 / (skempton * (1 + nu_u))
    stiff = E * (1 - nu) / ((1 + nu) * (1 - 2 * nu))
    ratio = (1 - nu) / (nu_u - nu)
    roots = []
    for k in range(60):
        low, high = k * np.pi + 1e-9, (k + 0.5) * np.pi - 1e-12
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if np.tan(middle) < ratio * middle else (low, middle)
        roots.append(low)
    a = np.array(roots)
    weights = np.sin(a) / (a - np.sin(a) * np.cos(a))
    pore = mpm.Pore(0.5, 5e-11, fluid_bulk_modulus=water / 2, pressure=p0, surface="drained")
    rate = pore.consolidation(stiff) / half**2
    begin = -force * (1 - nu_u) / (2 * shear * half)
    amount = force * (1 - nu_u) / (shear * half) * weights * np.cos(a)

    def strain(t: float) -> float:
        """Along the axis of the plates."""
        return float(-force * (1 - nu) / (2 * shear * half) + (amount * np.exp(-(a**2) * rate * t)).sum())

    scene = mpm.Scene((0, 0), (half + 4 / cells, tall + 4 / cells), walls={"x-": "mirror", "y-": "mirror"})
    clay = mpm.materials.Hencky(E=E, nu=nu, density=2000, pore=pore)
    F = np.diag([1 + force * nu_u / (2 * shear * half), 1 + begin])
    scene.add(Box((0, 0), (half, tall)), clay, F=F)
    times = np.concatenate([[0], np.geomspace(1e-4, 1, 200)]) / rate
    sunk = np.array([(0.0, tall * (strain(max(t, times[1] / 2)) - begin)) for t in times])
    sunk[0] = 0
    motion = mpm.motion.Keyframes(times, sunk)
    scene.add_collider(Box((-1, tall), (2 * half, 2 * tall)), contact="slip", motion=motion, name="plate")
    sim = mpm.Simulation(scene, dx=1 / cells, local_damping=0.2)
    middle = (sim.particles.x[:, 0] < 1 / cells) & (sim.particles.x[:, 1] < 2 / cells)
    most, highest = 0.0, 0.0
    for T in (0.02, 0.05, 0.1, 0.2):  # waves of the beginning are over
        sim.run(T / rate - sim.time)
        now = float(sim.particles.pore_pressure[middle].mean() / p0)
        exact = 2 * (weights * (1 - np.cos(a)) * np.exp(-(a**2) * T)).sum()
        most, highest = max(most, abs(now - exact)), max(highest, now)
    yield f"Mandel's slab, rises to {highest:.3f} of p0", f"mpm, {cells} cells", most, 0.015


def water() -> Iterator[Row]:
    yield from terzaghi(2, 20)
    yield from terzaghi(3, 12)
    yield from mandel(20)
    yield footing(4, False, 0.08, wet=True)
    yield footing(8, False, 0.08, wet=True)


STUDIES = {"loads": loads, "soil": soil, "water": water}


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
            print(f"{case:<38} {how:<22} {error:+.4f}  {verdict} {limit if limit < 1 else ''}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
