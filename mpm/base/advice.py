"""Advice to users who look for the names of other packages, or mistake a name: all tables of such words, and the
sentences that errors end with.

There are two kinds of tables. In `NAMES` and its kin, a word stands for one of our names, which an error proposes. In
the tables `OF_...`, a word has a sentence that says what to do; in those of unknown keywords, ``{}`` is the value.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NoReturn

Table = Mapping[str, str]

# ---- names ----------------------------------------------------------------------------------------------------------

NAMES: Table = {
    "rho": "density", "poisson": "nu", "poissons_ratio": "nu", "young": "E", "youngs_modulus": "E",
    "phi": "friction_angle_deg", "mu": "friction", "k": "bulk_modulus", "sim": "Simulation", "solver": "Simulation",
    "method": "transfer", "scheme": "transfer", "ppc": "particles_per_cell", "mls-mpm": "apic", "precision": "dtype",
    "seed": "rng", "boundary": "walls", "boundary_conditions": "walls", "bc": "walls", "translation": "Linear",
    "constant": "Linear", "omega": "angular_velocity", "advance": "run", "solve": "run", "show": "plot", "draw": "plot",
    "render": "plot", "animate": "movie", "relax": "equilibrate", "solve_static": "equilibrate", "add_body": "add",
    "add_obstacle": "add_collider", "add_boundary": "add_collider", "move": "translate", "shift": "translate",
    "stl": "Mesh", "obj": "Mesh", "load_mesh": "Mesh", "sphere": "Ball", "disk": "Ball", "circle": "Ball",
    "cube": "Box", "cuboid": "Box", "rectangle": "Box", "water": "Fluid", "liquid": "Fluid", "newtonian": "Fluid",
    "j2": "VonMises", "metal": "VonMises", "plastic": "VonMises", "mises": "VonMises", "elastoplastic": "VonMises",
    "plasticity": "VonMises", "hyperelastic": "NeoHookean", "jelly": "NeoHookean", "rubber": "Ogden",
    "bingham": "HerschelBulkley", "stvk": "SaintVenantKirchhoff", "svk": "SaintVenantKirchhoff",
    "maxwell": "Viscoelastic", "kelvinvoigt": "Viscoelastic", "soil": "DruckerPrager", "clay": "CamClay", "t": "time",
    "p": "pressure", "velocity": "speed", "field": "color", "quantity": "color", "clim": "limits", "vmin": "limits",
    "vmax": "limits",
}  # fmt: skip
# Of contacts at walls and colliders, and between bodies.
CONTACTS: Table = {
    **dict.fromkeys(("fixed", "clamped", "no-slip", "no_slip", "noslip"), "sticky"),
    **dict.fromkeys(("free-slip", "free_slip", "frictionless", "roller"), "slip"),
    **dict.fromkeys(("friction", "frictional"), "separate"),
}
CONTACTS_OF_BODIES: Table = {
    **dict.fromkeys(("sticky", "tied", "glued", "welded", "stick"), "bonded"),
    **dict.fromkeys(("frictionless", "unilateral", "hard", "friction", "frictional"), "separate"),
}
# Of faces in words; the last axis points up.
FACES: Table = {"left": "x-", "right": "x+", "front": "y-", "back": "y+"}
UP_AND_DOWN: Table = {"bottom": "-", "floor": "-", "down": "-", "top": "+", "ceiling": "+", "up": "+"}
# Of the settings of bodies.
SETTINGS: Table = {
    "speed": "velocity",
    "v": "velocity",
    "center": "position",
    "centre": "position",
    "radius": "size",
}
# Of totals.
TOTALS: Table = {
    "t": "time", "times": "time", "step": "dt", "com": "center_of_mass", "centre_of_mass": "center_of_mass",
    "x": "center_of_mass", "p": "momentum", "l": "angular_momentum", "ke": "kinetic", "kinetic_energy": "kinetic",
    "potential": "gravitational", "potential_energy": "gravitational", "pe": "gravitational",
    "elastic_energy": "elastic", "strain_energy": "elastic", "total": "energy", "total_energy": "energy",
    "e": "energy",
}  # fmt: skip
# Of fields of particles.
FIELDS: Table = {
    "position": "x", "positions": "x", "pos": "x", "velocity": "v", "velocities": "v", "vel": "v",
    "deformation_gradient": "F", "affine_velocity": "C", "velocity_gradient": "C", "jacobian": "J", "masses": "mass",
    "strain": "F", "volumes": "volume", "plastic_jacobian": "Jp", "ids": "id", "materials": "material",
}  # fmt: skip
# Of methods of `mpm.integrators`.
INTEGRATORS: Table = {
    "euler": "explicit-euler", "forward-euler": "explicit-euler", "primitive-euler": "explicit-euler",
    "semi-implicit-euler": "symplectic-euler", "implicit-euler": "backward-euler", "leapfrog": "verlet",
    "stormer-verlet": "verlet", "velocity-verlet": "verlet", "heun": "trapezoidal", "rk2": "midpoint",
    "crank-nicolson": "implicit-trapezoidal", "newmark": "implicit-trapezoidal",
}  # fmt: skip
# Of materials in the library.
LIBRARY: Table = {
    "iron": "steel",
    "aluminum": "aluminium",
    "gelatin": "gelatine",
    "sand": "dry sand",
    "clay": "London clay",
}

# ---- sentences ------------------------------------------------------------------------------------------------------

NOTHING: Table = MappingProxyType({})
HOOKE = (
    "Hooke's law of small strain is not objective, a rotation would cause stress: Corotated is Hooke's law in the "
    "rotated frame, Hencky that of the logarithmic strain"
)
DAMAGE = (
    "Brittle cracks in tension, VonMises(fracture_strain=...), JohnsonCook(D1=...) and "
    "DruckerPrager(fracture_energy=...) fracture; for another criterion write a UserLaw with "
    "history=[HistoryField('damage')], as docs/howto/damage.md shows"
)
OF_MATERIALS: Table = {
    **dict.fromkeys(
        ("damage", "fracture", "phasefield", "brittle", "johnsoncookdamage", "gurson", "lemaitre", "erosion"),
        DAMAGE,
    ),
    **dict.fromkeys(("hooke", "hookean", "hookeslaw", "linear", "linearelastic", "linearelasticity"), HOOKE),
    **dict.fromkeys(("elastic", "elasticity"), f"NeoHookean is the usual law of large strain. {HOOKE}"),
    **dict.fromkeys(
        ("rigid", "rigidbody"),
        "Rigid is a body that others push; scene.add_collider adds a rigid obstacle with a given motion",
    ),
    **dict.fromkeys(
        ("gas", "idealgas", "air"), "Fluid(bulk_modulus=gamma * p0, gamma=1.4, ...) is an ideal gas"
    ),
    "stiffenedgas": "Fluid(bulk_modulus=gamma * (p0 + p_inf), gamma=gamma, ...) is a stiffened gas",
    "tait": "Fluid(bulk_modulus=K, gamma=7, ...) follows Tait's equation",
    "perzyna": "VonMises(viscosity=eta, ...) is Perzyna's viscoplastic metal",
    "prony": "Viscoelastic(g_1=..., tau_1=..., g_2=..., tau_2=...) is a Prony series of two branches",
}
OF_MODULI: Table = dict.fromkeys(
    ("lam", "mu", "bulk", "shear_modulus", "bulk_modulus"),
    "its from_moduli() takes any two of E, nu, lam, mu and bulk",
)
OF_FLUID: Table = {
    "bulk_modulus": "K = density c² with ten times the largest speed as c keeps the density within about 1 %",
    **dict.fromkeys(("c", "sound_speed", "speed_of_sound"), "bulk_modulus = density c², with c = {}"),
}
OF_JOHNSON_COOK: Table = {
    **dict.fromkeys(("damage", "failure_strain", "fracture_strain"), "D1=... is a strain to failure"),
}
OF_RIGID: Table = {
    "thermal": "rigid bodies are insulated: heat is conducted on the nodes, and rigid bodies have nothing there",
    "solute": "nothing passes into rigid bodies: solutes diffuse on the nodes, and rigid bodies have nothing there",
}
OF_MESH: Table = {"scale": "Mesh(path).scale({}) is scaled"}
OF_COLLIDER: Table = {"velocity": "motion=mpm.motion.Linear({}) moves it"}
OF_RUN: Table = {
    **dict.fromkeys(("steps", "n", "n_steps", "num_steps"), "step({}) takes steps"),
    **dict.fromkeys(
        ("until", "end", "t_end", "t_final", "t", "time"), "run({} - sim.time) ends at that time"
    ),
    "dt": "the time step is an option of the simulation: dt={}",
}
OF_STEP: Table = {
    **dict.fromkeys(("duration", "seconds", "time", "t"), "run({}) takes seconds"),
    "dt": OF_RUN["dt"],
}


class Later(str):
    """A hint for an option that is to come: its error is a NotImplementedError."""


OF_METHODS_ALONE: Table = {"comm": Later("this method runs in one process; mpm.Simulation takes comm")}
OF_SIMULATION: Table = {
    "cfl": "dt='auto' keeps steps stable, and max_dt= shortens them",
    **dict.fromkeys(
        ("quasi_static", "quasistatic", "static", "damping"), "equilibrate() brings bodies to rest"
    ),
    "implicit": "integrator='implicit-euler' takes implicit steps",
    **dict.fromkeys(("device", "gpu", "arch", "backend"), "it runs on the processor, with threads="),
    **dict.fromkeys(("alpha", "flip"), "transfer='flip', flip_ratio={} mixes FLIP and PIC"),
}
# Methods and quantities that other solvers have.
OF_SOLVERS: Table = {
    "displacement": "particles keep no position at rest: call sim.keep_start() before the run, then "
    "sim.compute('displacement') gives it",
    "reset": "make a new simulation of sim.scene",
    **dict.fromkeys(
        ("export", "write"), "mpm.export(sim, path) writes particles, sim.save(path) the whole state"
    ),
    **{name: f"it is sim.scene.{name}" for name in ("bodies", "colliders", "gravity", "walls")},
}
OF_SPH: Table = {
    **OF_SOLVERS,
    "equilibrate": "run with alpha=0.1 or more until totals().kinetic is small; a column of fluid begins near rest",
}
OF_FEM: Table = {
    **OF_SOLVERS,
    "equilibrate": "run with damping, such as damping=(5, 0), and integrator='linearly-implicit-euler', until "
    "totals().kinetic is small; mpm.Simulation has it",
    **dict.fromkeys(
        ("fix", "clamp", "constrain"),
        "scene.hold(body, where, velocity=(0, 0)) holds a region, a collider with contact='sticky' the nodes inside it",
    ),
    **dict.fromkeys(
        ("load", "add_load", "add_force"),
        "loads belong to the scene: gravity=, body_force=f(x, t), scene.add_force",
    ),
    "nodes": "they are its particles, sim.particles; their numbers by element are sim.elements.nodes",
    "displacement": "compute('displacement') gives it",
}

# ---- what errors say ------------------------------------------------------------------------------------------------


def nearest(name: str, names: Iterable[str], words: Table = NAMES) -> str:
    """The sentence that proposes the name closest to a wrong one, or nothing. `words` are what users may take for some
    of the names."""
    plain = {_plain(known): known for known in reversed(list(names))}
    meant = words.get(name.casefold())
    if meant in plain.values():
        return f"; did you mean {meant!r}?"
    found = difflib.get_close_matches(_plain(name), list(plain), n=1, cutoff=0.6)
    return f"; did you mean {plain[found[0]]!r}?" if found else ""


def component(name: str, names: Iterable[str]) -> str:
    """The sentence that proposes a vector for the name of a component, such as ``vx`` or ``momentum_x``, or nothing."""
    stem, axis = name[:-1].rstrip("_"), name[-1:]
    if axis and axis in "xyz" and stem in names:
        return f"; did you mean {stem!r}? Its component {axis} is [:, {'xyz'.index(axis)}]"
    return ""


def names_of_module(
    module: str, names: list[str], hints: Table = NOTHING
) -> tuple[Callable[[], list[str]], Callable[[str], NoReturn]]:
    """The ``__dir__`` of a module with these names, and the ``__getattr__``, which is called after the ordinary look-up
    has failed. `hints` say what to use instead of names that users may expect, by these in lower case without
    separators."""

    def __getattr__(name: str) -> NoReturn:
        hint = hints.get(_plain(name).replace("-", ""))
        near = f"; {hint}" if hint else nearest(name, names)
        raise AttributeError(f"module {module!r} has no attribute {name!r}{near}")

    return lambda: names, __getattr__


def _plain(name: str) -> str:
    """A name without case and separators, which are easily mistaken."""
    return name.casefold().replace("_", "-").replace(" ", "-")


def unknown_attribute(owner: object, name: str) -> str:
    public = [entry for entry in dir(type(owner)) if not entry.startswith("_")]
    return f"{type(owner).__name__} has no attribute {name!r}{nearest(name, public)}"
