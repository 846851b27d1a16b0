"""Makes random scenes for `compare_random`: bodies of all laws, walls, colliders and options of all methods."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np

import fem_scenes
import mpm
import scenes
from random_scenes import REGISTRY, WAVE, Force, Grains, Obstacle, Setup, identity, material_image, shape_of

M = mpm.materials
BOUNDED = ("slip", "sticky", "separate", "mirror")
# More materials of a law, whose flags or branches the first one does not reach.
VARIANTS: dict[str, tuple[Any, ...]] = {
    "fluid": (
        M.Fluid(bulk_modulus=14, density=1, gamma=7, tension=False),
        M.Fluid(bulk_modulus=14, density=1, gamma=-1, viscosity=0.01),
    ),
    "von_mises": (M.VonMises(E=10, nu=0.3, yield_stress=0.2, viscosity=0.05, density=1),),
    "drucker_prager": (M.DruckerPrager(E=10, nu=0.3, density=1, cone="plane-strain"),),
    "mohr_coulomb": (
        M.MohrCoulomb(E=10, nu=0.3, density=1),
        M.MohrCoulomb(E=10, nu=0.3, density=1, friction_angle_deg=0, cohesion=0.1),
        M.MohrCoulomb(
            E=10,
            nu=0.3,
            density=1,
            cohesion=0.1,
            tension=0.05,
            hardening=M.hardening.Strength(strains=(0.02, 0.1), friction_angle_deg=(40, 25), cohesion=(0.05, 0.01)),
        ),
    ),
    "rigid": (M.Rigid(density=1, friction=0.4, restitution=0.5), M.Rigid(density=1, contact="bonded")),
    "herschel_bulkley": (
        M.HerschelBulkley(
            bulk_modulus=8, shear_modulus=4, yield_stress=0.1, consistency=0.05, exponent=1, density=1
        ),
    ),
    "viscoelastic": (M.Viscoelastic(E=10, nu=0.3, density=1, g_1=0.4, tau_1=0.05, viscosity=0.02),),
    "fibre_reinforced": (
        M.FibreReinforced(E=8, nu=0.3, k_1=0.6, k_2=0, direction=(1, -2, 0), density=1),
    ),
}  # fmt: skip


class Maker:
    """Makes the random setup of a number."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.rng = np.random.default_rng(number)
        self.number = number

    def maybe(self, share: float) -> bool:
        return self.random.random() < share

    def vector(self, largest: float) -> np.ndarray:
        return self.rng.uniform(-largest, largest, self.dim)

    def make(self) -> Setup:
        choose = self.random.choice
        self.method = choose(("mpm",) * 6 + ("implicit",) * 2 + ("sph", "fem"))
        self.dim = d = choose((2, 2, 2, 3))
        self.size = choose((1 / 8, 0.1, 0.13))
        self.cells = self.rng.integers(6, 13 if d == 2 else 9, d)
        if self.maybe(0.1):
            self.cells = self.cells * 2  # walls far away
        lower = self.size * self.rng.integers(-9, 10, d)
        self.lower, self.upper = lower, lower + self.size * self.cells
        walls = self.walls()
        single = self.maybe(0.25)
        self.periodic = np.array([walls[axis + "-"][0] == "periodic" for axis in "xyz"[:d]])
        options = getattr(self, f"{self.method}_options")()
        if single and options.get("integrator", "explicit") == "explicit":
            options["dtype"] = "float32"
        if options.get("on_leave") == "faces":
            free = [face for face, (contact, _) in walls.items() if contact != "periodic"]
            options["on_leave"] = {face: choose(("clamp", "delete", "raise")) for face in free} or "raise"
        setup = Setup(
            method=self.method,
            lower=self.lower,
            upper=self.upper,
            size=self.size,
            gravity=self.vector(3.0) if self.maybe(0.7) else np.zeros(d),
            walls=walls,
            bodies=self.bodies(),
            obstacles=tuple(one for one in (self.obstacle() for _ in range(choose((0, 0, 1, 1, 2)))) if one),
            force=self.force() if self.maybe(0.1) else None,
            options=options,
            steps=self.random.randint(4, 36 if d == 2 else 12),
            number=self.number,
        )
        if all(isinstance(body.material, M.Rigid) for body in setup.bodies):  # which refuse options of strain
            unused = ("flip_ratio", "advect", "xpic_order", "f_update", "f_bar", "artificial_viscosity")
            setup = setup.with_options(**dict.fromkeys(unused, None))
        return self.with_physics(setup)

    def walls(self) -> dict[str, tuple[str, float]]:
        walls = {}
        uniform = self.random.choice(BOUNDED) if self.maybe(0.4) else None
        for axis in "xyz"[: self.dim]:
            if self.method != "fem" and self.maybe(0.2):
                walls |= {axis + side: ("periodic", 0.0) for side in "-+"}
                continue
            for side in "-+":
                contact = uniform or self.random.choice(BOUNDED)
                rough = contact in ("slip", "separate") and self.method != "sph" and self.maybe(0.5)
                walls[axis + side] = (contact, self.random.uniform(0.05, 0.8) if rough else 0.0)
        return walls

    # --- bodies

    def bodies(self) -> tuple[Grains, ...]:
        if self.method == "sph":
            fluid = self.random.choice((scenes.MATERIALS["fluid"], *VARIANTS["fluid"]))
            return (self.grains("fluid", fluid),)
        laws = tuple(law for law in scenes.LAWS if not REGISTRY[law]["variant_of"])
        names = {"mpm": laws, "fem": tuple(fem_scenes.LAWS)}.get(self.method) or self.implicit_laws()
        return tuple(self.body(self.random.choice(names)) for _ in range(self.random.choice((1, 1, 2, 3))))

    def implicit_laws(self) -> tuple[str, ...]:
        mapped = ("mapped",) if self.integrator != "semi-implicit" else ()
        kinds = ("energy", "moduli", *mapped)
        return tuple(name for name, row in REGISTRY.items() if row["tangent"] in kinds)

    def body(self, law: str) -> Grains:
        material = self.random.choice((scenes.MATERIALS[law], *VARIANTS.get(law, ())))
        weight = self.random.choice((1.0, 1.0, 0.25, 3.0))
        material = material_image(law, material, replace(identity(3), mass=weight))
        return self.grains(law, material)

    def grains(self, law: str, material: Any) -> Grains:
        d = self.dim
        extent = self.upper - self.lower
        center = self.lower + extent * self.rng.uniform(0.15, 0.85, d)
        half = self.rng.uniform(0.8, 2.5 if d == 2 else 1.8, d) * self.size
        if law == "rigid":
            half = np.where(self.periodic, np.minimum(half, 0.2 * extent), half)  # it knows its images apart
        low = np.maximum(center - half, self.lower + 0.02 * self.size)
        high = np.minimum(center + half, self.upper - 0.02 * self.size)
        if self.method == "fem":
            mesh = mpm.fem.mesh(mpm.shapes.Box(low, high), self.size)
            return Grains(law, material, mesh.vertices, self.velocities(mesh.vertices), cells=mesh.cells)
        step = self.size if self.method == "sph" else self.size / 2
        axes = [np.arange(a + step / 2, b, step) for a, b in zip(low, high, strict=True)]
        axes = [axis if len(axis) else np.array([m]) for axis, m in zip(axes, (low + high) / 2, strict=True)]
        x = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
        spread = 0.1 if self.method == "sph" else self.random.choice((0.0, 0.45))
        x = np.clip(x + self.rng.uniform(-spread, spread, x.shape) * step, low, high)
        if self.maybe(0.4):
            inside = (((x - center) / half) ** 2).sum(axis=1) < 1
            x = x[inside] if inside.any() else x[:1]
        if self.method == "sph":
            return Grains(law, material, x, self.velocities(x))
        volume = step**d * self.rng.uniform(0.6, 1.4, len(x))
        rigid = law == "rigid"
        C = None if rigid or self.maybe(0.6) else self.rng.uniform(-1, 1, (len(x), d, d))
        F = None
        if not rigid and law != "fluid" and self.maybe(0.3):
            F = np.eye(d) + self.rng.uniform(-0.03, 0.03, (len(x), d, d))
        return Grains(law, material, x, self.velocities(x), volume=volume, C=C, F=F)

    def velocities(self, x: np.ndarray) -> np.ndarray:
        drift, waves = self.vector(1.2), self.vector(6.0)
        swirl = 0.3 * np.sin(x @ waves)[:, None] * self.vector(1.0)
        return drift + (swirl if self.maybe(0.7) else 0 * x)

    # --- colliders

    def obstacle(self) -> Obstacle | None:
        contacts = ("slip", "sticky") if self.method == "sph" else ("separate", "separate", "slip", "sticky")
        contact = self.random.choice(contacts)
        rough = contact != "sticky" and self.method != "sph" and self.maybe(0.5)
        shape, middle = self.shape()
        if self.maybe(0.15):
            other, _ = self.shape()
            shape = (self.random.choice(("union", "difference")), shape, other)
        if not self.fits(shape):
            return None
        return Obstacle(shape, contact, self.random.uniform(0.05, 0.8) if rough else 0.0, self.motion(middle))

    def shape(self) -> tuple[tuple[Any, ...], np.ndarray]:
        d, h = self.dim, self.size
        middle = self.lower + (self.upper - self.lower) * self.rng.uniform(0.0, 1.0, d)
        words = ["ball", "box", "capsule", "halfspace"] + (["cylinder"] if d == 3 else ["polygon"])
        word = self.random.choice(words)
        radius = self.random.uniform(1.2, 2.5) * h
        if word == "ball":
            return (word, middle, radius), middle
        if word == "box":
            half = self.rng.uniform(1.2, 2.5, d) * h
            return (word, middle - half, middle + half), middle
        if word == "halfspace":
            return (word, middle, self.vector(1.0)), middle
        if word == "polygon":
            angles = np.sort(self.rng.uniform(0, 2 * np.pi / 3, 3) + np.arange(3) * 2 * np.pi / 3)
            return (word, middle + 2 * h * np.stack([np.cos(angles), np.sin(angles)], axis=1)), middle
        way = self.vector(1.0)
        way *= 2 * h / np.linalg.norm(way)
        return (word, middle - way, middle + way, radius), middle

    def fits(self, shape: tuple[Any, ...]) -> bool:
        """Does a collider stay away from periodic faces? The domain's own part of it has no image beyond them."""
        low, high = shape_of(shape).bounds
        inside = (low > self.lower + self.size) & (high < self.upper - self.size)
        return bool((inside | ~self.periodic).all())

    def motion(self, middle: np.ndarray) -> tuple[Any, ...] | None:
        d = self.dim
        word = self.random.choice((None, None, "linear", "rotation", "sinusoid", "keyframes"))
        if word == "linear":
            return word, self.vector(0.8)
        if word == "rotation":
            return word, self.rng.uniform(-3, 3, 3) if d == 3 else self.random.uniform(-3, 3), middle
        if word == "sinusoid":
            return word, self.vector(0.05), self.random.uniform(1, 4)
        if word == "keyframes":
            times = np.cumsum(self.rng.uniform(0.1, 0.3, 4)) - 0.1
            angles = self.rng.uniform(-0.3, 0.3, (4, 3) if d == 3 else 4)
            return word, times, self.rng.uniform(-0.05, 0.05, (4, d)), angles
        return None

    def force(self) -> Force:
        return Force(
            self.vector(3.0), self.vector(8.0), self.random.uniform(0, 6), self.random.uniform(0, 20)
        )

    # --- contact between bodies, heat, loads

    def with_physics(self, setup: Setup) -> Setup:
        """With random numbers of their own, so that the rest of a scene does not depend on them."""
        self.random = random.Random(f"physics of {self.number}")
        self.rng = np.random.default_rng([self.number, 1])
        maybe, choose = self.maybe, self.random.choice
        explicit = setup.method == "mpm"
        deformable = [body for body in setup.bodies if body.law != "rigid"]
        if explicit and deformable and setup.options["kernel"] != "linear":
            if len(deformable) > 1 and maybe(0.4):
                contact = choose(("separate", "separate", "slip"))
                adhesion = self.random.uniform(0, 0.3) if contact == "separate" and maybe(0.3) else 0.0
                friction = self.random.uniform(0.05, 0.8) if maybe(0.6) else 0.0
                setup = replace(setup, contact=(contact, friction, adhesion))
            if all(body.law != "johnson_cook" for body in deformable) and maybe(0.3):
                setup = self.with_heat(setup)
        if explicit and maybe(0.1):
            setup = setup.with_options(damping=self.random.uniform(0.5, 5))
        if explicit and maybe(0.1):
            setup = setup.with_options(local_damping=choose((0.3, 0.8)))
        if setup.method != "sph" and maybe(0.25):
            setup = replace(setup, bodies=tuple(map(self.loaded, setup.bodies)))
        if (explicit or setup.method == "fem") and deformable and not setup.solved and maybe(0.2):
            setup = self.with_dashpots(setup)
        return setup

    def with_dashpots(self, setup: Setup) -> Setup:
        free = [face for face, wall in setup.walls.items() if wall[0] not in ("periodic", "mirror")]
        chosen = [face for face in free if face not in setup.heated and self.maybe(0.6)]
        c_s, ratio = self.random.uniform(0.1, 1.5) * WAVE, self.random.uniform(1, 2)
        walls = setup.walls | dict.fromkeys(chosen, ("absorbing", 0.0))
        obstacles = setup.obstacles
        if setup.method == "mpm" and all(body.law != "rigid" for body in setup.bodies):
            obstacles = tuple(
                replace(one, contact="absorbing", friction=0.0) if self.maybe(0.5) else one
                for one in obstacles
            )
        return replace(setup, walls=walls, obstacles=obstacles, speeds=(ratio * c_s, c_s))

    def with_heat(self, setup: Setup) -> Setup:
        uniform, maybe = self.random.uniform, self.maybe
        melts, heats = maybe(0.3), bool(setup.options.get("dissipation")) and maybe(0.5)
        specific = uniform(0.02, 0.1)  # J/(kg K): stores about as much as moves

        def thermal(body: Grains) -> Grains:
            if body.law == "rigid":
                return body
            alpha = 0.0 if maybe(0.1) else uniform(0.02, 1) * self.size * WAVE
            conductivity = alpha * float(np.max(body.material.density)) * specific
            temperature = uniform(250, 350)
            made = mpm.Thermal(
                conductivity,
                specific,
                temperature,
                expansion=uniform(0, 1e-3) if maybe(0.4) else 0.0,
                taylor_quinney=0.9 if heats else 0.0,
                melting=mpm.Melting(uniform(270, 330), uniform(0.5, 5)) if melts else None,
            )
            return replace(body, material=replace(body.material, thermal=made))

        heated: dict[str, tuple[str, Any]] = {}
        for face, (contact, _) in setup.walls.items():
            axis = "xyz".index(face[0])
            if contact not in ("periodic", "mirror") and self.cells[axis] >= 4 and maybe(0.3):
                coefficient = uniform(-1, 1) * WAVE * specific  # W/(m² K)
                heated[face] = (
                    ("temperature", uniform(250, 400)) if maybe(0.6) else ("flux", 30 * coefficient)
                )
                if maybe(0.3):
                    heated[face] = ("transfer", (10 * abs(coefficient), uniform(250, 400)))
        if not melts and random.Random(f"conduction of {self.number}").random() < 0.3:
            setup = setup.with_options(conduction="implicit")
        return replace(setup, bodies=tuple(map(thermal, setup.bodies)), heated=heated)

    def loaded(self, body: Grains) -> Grains:
        d = self.dim
        volume = float(np.sum(body.volume)) if body.volume is not None else self.size**d * len(body.x) / 2**d
        mass = float(np.max(body.material.density)) * volume
        if self.maybe(0.5):
            body = replace(body, force=self.vector(5.0) * mass)
        if body.law != "rigid" and self.maybe(0.4):
            along = body.x @ self.vector(1.0)
            held = along <= np.quantile(along, self.random.uniform(0.1, 0.5))
            hold = np.where(self.rng.random(d) < 0.6, self.vector(0.5), np.nan)
            hold[self.random.randrange(d)] = self.random.uniform(-0.5, 0.5)
            body = replace(body, held=held, hold=hold)
        return body

    # --- options

    def stepping(self, longest: float) -> dict[str, Any]:
        """Automatic steps, or a fixed one: a share of the longest."""
        if self.maybe(0.6):
            return {}
        return {"dt": self.random.uniform(0.1, 0.4) * longest}

    def mpm_options(self) -> dict[str, Any]:
        choose, maybe = self.random.choice, self.maybe
        transfer = choose(("apic", "apic", "apic", "pic", "flip", "aflip", "asflip", "xpic", "tpic"))
        kernel = choose(("quadratic", "quadratic", "quadratic", "cubic", "linear"))
        options: dict[str, Any] = {
            "transfer": transfer,
            "kernel": kernel,
            "gradient": "bspline" if kernel == "linear" else choose(("mls", "mls", "bspline")),
        }
        if transfer in ("flip", "aflip", "asflip") and maybe(0.5):
            options["flip_ratio"] = choose((0.0, 0.5, 0.99, 1.0))
        if transfer in ("flip", "aflip") and maybe(0.4):
            options["advect"] = "particle"
        if transfer == "xpic" and maybe(0.5):
            options["xpic_order"] = choose((1, 3, 5))
        if transfer in ("apic", "aflip", "asflip", "tpic") and maybe(0.15):
            options["c_damping"] = choose((0.3, 1.0))
        if maybe(0.15):
            options["f_update"] = "cayley"
        elif maybe(0.25):
            options["f_bar"] = True
        if maybe(0.2) and "c_damping" not in options:
            options["artificial_viscosity"] = choose(((0.06, 1.5), (0.0, 2.0), (0.5, 0.0)))
        if maybe(0.4):
            options["dissipation"] = True
        return options | self.leaving() | self.stepping(0.5 * self.size / WAVE)

    def leaving(self) -> dict[str, Any]:
        fate = self.random.choice(("clamp", "clamp", "delete", "raise", "faces"))
        return {} if fate == "raise" else {"on_leave": fate}

    def implicit_options(self) -> dict[str, Any]:
        choose, maybe = self.random.choice, self.maybe
        self.integrator = choose(("semi-implicit", "implicit-euler", "implicit-midpoint"))
        options: dict[str, Any] = {
            "integrator": self.integrator,
            "transfer": choose(("apic", "apic", "flip", "xpic", "asflip", "pic", "tpic")),
            "kernel": choose(("quadratic", "quadratic", "cubic")),
            "tolerance": 1e-10,
        }
        if self.integrator == "semi-implicit" and maybe(0.4):
            options["beta"] = choose((0.5, 0.75))
        if maybe(0.2):
            options["f_update"] = "cayley"
        if maybe(0.2):
            options["preconditioner"] = "stiffness"
        fixed = {"dt": 0.3 * self.size / WAVE} if maybe(0.5) else {"max_dt": self.size / WAVE}
        return options | self.leaving() | fixed

    def sph_options(self) -> dict[str, Any]:
        choose = self.random.choice
        options = {
            "kernel": choose(("cubic", "wendland")),
            "smoothing": choose((1.0, 1.2)),
            "viscosity": choose(("vector", "central")),
            "alpha": choose((0.0, 0.1)),
            "xsph": choose((0.0, 0.3)),
            "tension": choose((False, False, True)),
        }
        options["repulsion"] = 0.02 if options["smoothing"] > 1 else 0.0
        return options | self.stepping(0.3 * self.size / WAVE)

    def fem_options(self) -> dict[str, Any]:
        damping = self.random.choice(((0.0, 0.0), (1.0, 1e-3)))
        if self.maybe(0.5):
            return {"damping": damping} | self.stepping(0.15 * self.size / WAVE)
        return {
            "integrator": "linearly-implicit-euler",
            "tolerance": 1e-12,
            "damping": damping,
            "max_dt": 0.2 * self.size / WAVE,
        }
