"""Wrong arguments, which `test_wrong_arguments.py` tries: a list of values for each kind of parameter (number, vector,
...), and `TARGETS`, a table of the kinds of the parameters of functions and classes.
"""

import functools
import math

import numpy as np

import mpm
from mpm import fem, integrators, motion, sph, viz
from mpm.base.options import Flag, rows
from mpm.gallery import Entry
from mpm.solver.options import Common


@functools.cache
def unsafe():
    """Clay that is not strong enough by far, and the same simulation each time: no trial changes it."""
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81), walls="sticky")
    scene.add(
        S.Box((0.25, 0), (0.75, 1)), M.VonMises(E=1e5, nu=0.3, density=1000, yield_stress=4e3), name="clay"
    )
    return mpm.Simulation(scene, dx=1 / 4, local_damping=0.7, threads=1)


def a_column():
    """Ground under gravity."""
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(SHAPE, mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000), name="ground")
    return scene


def a_case(a):
    return {"a": a}


# fmt: off
NAN, INF = math.nan, math.inf
NUMBER = ["1", None, [1.0, 2.0], {}, True, 1j, b"1", np.bool_(True), np.array([[1.0]]), NAN, INF, -INF, 10**400]
POSITIVE = [*NUMBER, 0, -1.0]
NOT_NEGATIVE = [*NUMBER, -1e-300, -1.0]
WHOLE = [*NUMBER, 1.5, 2.0, np.float64(3), -1]
COUNT = [*WHOLE, 0]
FLAG = [1, 0, None, "yes", 1.0, [], np.array([True, False])]
NAME = [1, None, "", " ", "nonsense", b"apic", ["apic"], {}]
VECTOR = [
    "ab", 1.0, {}, {1, 2}, True, NAN, [], (1,), (1, 2, 3, 4), (NAN, 0), (0, INF), ((1, 2), (3, 4)), (1j, 0), ("a", "b"),
    (True, False), [[1], [1, 2]], (None, 1), (10**400, 0), np.array([np.longdouble("1e400"), 0]),
    np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"),
]
VECTOR_2D = [*VECTOR, (1, 2, 3)]
ROWS = [
    "ab", None, 1.0, {}, (1, 2), [[1, 2, 3, 4]], [[NAN, 0]], [[0, INF]], [["a", "b"]], [[1j, 0]], [[1, 2], [3]],
    np.zeros((2, 2, 2)), np.ones((2, 2), bool),
]
GRADIENTS = [
    "ab", None, 1.0, {}, np.eye(2), np.zeros((1, 2, 3)), np.zeros((1, 4, 4)), np.full((1, 2, 2), NAN),
    np.full((1, 3, 3), INF), np.array([[["a", "b"], ["c", "d"]]]), np.ones((1, 2, 2), bool), [[1], [1, 2]],
]
NU = [*NUMBER, 0.5, 0.6, -1, -2.0]
FRACTION = [*POSITIVE, 1, 2.0]
JP = [v for v in POSITIVE if not isinstance(v, (list, np.ndarray))]
JP += [[NAN], [0.0], [-1.0], [INF], [1.0, 1.0], [[1.0]], ["1"], [1j], [True], [[1], [1, 2]]]
HISTORY = [1, "Jp", ["Jp"], {"Jq": [1.0]}, {"Jp": 1.0}, {"Jp": [0.0]}, {"Jp": [NAN]}, {"Jp": [1.0, 1.0]}, {1: [1.0]}]
ELASTIC = {"E": POSITIVE, "nu": NU, "density": POSITIVE}
COLOR = [*(v for v in NAME if v is not None and v != {}), "stress", "x", "F", "spede", {"nobody": "red"}, (1, 2, 3)]
PLAIN_COLOR = [*COLOR, "pressure"]
RENDERER = [*NAME, "pyvist", "pyvista"]  # the last draws no 2-D scenes
# Beside the colour and its scale, of a 2-D scene.
STYLE = {
    "cmap": [3, "viridas", [], ["red"], [(0, 0, 2), (0, 0, 0)], {}],
    "background": [3, "blac", (0, 0), (0, 0, 2), {}],
    "camera": [3, "front", (1, 2), {"zoom": 0}, {"zoom": "a"}, {"target": (0, 0, 0)}, {"eye": (1, 1)}, {"w": 1},
               lambda t: 3],
    "hide": [3, "nobody", [3], ["nobody"], None],
    "surface": [3, "yes", True, {"w": 1}, {"radius": 0}, {"smoothing": -1}],
}
SKIN = {"body": [*(v for v in NAME if v is not None), 3, ["nobody"], []],
        "radius": [v for v in POSITIVE if v is not None], "smoothing": [*WHOLE, 51],
        "values": [v for v in NAME if v is not None]}


NO_LESS = [v for v in NOT_NEGATIVE if v is not None]


@functools.cache
def stepped():
    """A run of one step."""
    sim = mpm.gallery.get("disks").simulation(scale=0.25, threads=1)
    sim.step()
    return sim


@functools.cache
def solid():
    """A cube of finite elements, which has a surface without an extra."""
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add(S.Box((0.25, 0.25, 0.25), (0.75, 0.75, 0.75)), M.NeoHookean(E=1e4, nu=0.3, density=1000))
    return mpm.fem.Simulation(scene, spacing=0.25, threads=1)


def solid_frame(c):
    """It, recorded."""
    path = c.folder.parent / "solid.vtkhdf"
    if not path.exists():
        solid().record(path, fps=1).close()
    return mpm.replay(path)[0]


CUT = [3, "y", ["y"], {"w": 0.5}, {"y": 0.5}, {"y": "a"}]  # of a 2-D scene
LIMITS = ["ab", 1.0, {}, (1,), (1, 2, 3), (2, 1), (1, 1), (0, NAN), (-INF, 0), ("a", "b")]
SIZE = [1, "ab", (1,), (64, 64, 3), (64.0, 64), (65, 64), (0, 64), (10**6, 64), (True, 64), (NAN, 64)]
PICTURE = [
    None, 1, "ab", [[[0, 0, 0]]], np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((4, 4, 4), np.uint8),
    np.zeros((0, 4, 3), np.uint8),
]
DEVICE = [1, None, b"cpu", ["cpu"], "", "gpu", "CPU", "cpu:1"]
NO_PATH = [1, None, b"a", ["a"], {}, ""]
SIM = [None, 1, "sim", mpm.Simulation, []]
AXES = [1, "ax", object(), []]
PAIR = [None, "ab", {}, 1.0, [], [NAN, 1], [1, 2, 3], [[1, 2]], ["1", "2"]]
FIGSIZE = ["ab", (1,), (1, 2, 3), (0, 1), (1e9, 1), (NAN, 1), 3]
INTO = {"ax": AXES, "figsize": FIGSIZE}
FILE = [1, None, "", ["x"], {}, b"\0.ply", "a"]
FIELDS = [1, "v", {"v"}, [1], ["vv"], ["v", "v"], [None], [b"v"], [["v"]], iter("v")]
WALLS = [
    1, None, "", "sliip", b"slip", ["slip"], {"x": "nonsense"}, {"w": "slip"}, {"z": "slip"}, {"z-": "slip"},
    {"x": "slip", "x-": "slip"}, {"x-": "periodic"}, {"y": "mirror", "x+": "periodic"},
    {"x": None}, {1: "slip"}, {("x",): "slip"}, mpm.Wall,
]

SHAPE = mpm.shapes.Ball((0.5, 0.5), 0.2)
BALL = mpm.shapes.Ball((0.5, 0.5, 0.5), 0.2)
GRID = mpm.shapes.DistanceGrid((0, 0), 0.5, [(1, 1), (1, -1)])
WATER = mpm.materials.Fluid(bulk_modulus=1, density=1)
ADD = {
    "shape": [None, 1, "Box", (0, 1), mpm.shapes.Box, BALL],
    "material": [None, 1, "Fluid", mpm.materials.Fluid, {}],
    "velocity": [*VECTOR_2D, None, 1, -2.0],
    "angular_velocity": [*NUMBER, (1, 2, 3)],
    "F": [*VECTOR, np.zeros((2, 2)), np.diag([1, -1]), np.eye(3), np.full((2, 2), NAN), np.ones((2, 2))],
    "name": [1, "", "  ", b"x", ["x"], "taken"],
    "joint": [1, "hinge", (0, 0), mpm.joints.Hinge, mpm.joints.Hinge((0.5, 0.5))],
}
SPEED = [one for one in NUMBER if one is not None]  # None: a joint that nothing drives
IN_SPACE = {  # what only a scene in 3-D refuses
    "shape": [SHAPE], "velocity": [(1, 2), (1, NAN, 0), 3.0],
    "angular_velocity": ["1", None, 1.0, NAN, True, False, (1, 2), (NAN, 0, 0), (1j, 0, 0)],
    "F": [np.eye(2), -np.eye(3)],
}
# What is found when there are positions: a body that is not in the domain, results of callables.
ADD_NOW = {
    **ADD,
    "shape": [*ADD["shape"], mpm.shapes.Box((5, 5), (6, 6)), mpm.shapes.Points([(0.5, 1.5)]),
              mpm.shapes.Ball((0.1, 0.1), 1e-6), SHAPE - SHAPE],
    "velocity": [*ADD["velocity"], lambda x: x[:, :1], lambda x: x * NAN, lambda x: "fast", lambda x: None],
    "F": [*ADD["F"], lambda x: np.eye(2), lambda x: np.zeros((len(x), 2, 2)), lambda x: None],
}
NUMERICS = {
    "dx": [*POSITIVE, 0.3, 2.0, 1e-12, 1e-300],
    "particles_per_cell": [*(v for v in COUNT if v is not None), 3, 5, 8, 10**9],
    "sampling": [*NAME, "latice"],
    "rng": [*(v for v in WHOLE if not isinstance(v, int) or v == -1), True, np.random.RandomState(0)],
    "volume": [*NAME, "sample"],
    "transfer": [*NAME, "apicc"],
    "kernel": [*NAME, "quadratik"],
    "gradient": [*NAME, "mlss"],
    "flip_ratio": [*NUMBER, 0.9, 2.0],
    "xpic_order": [*NUMBER, 2, 1.5],
    "advect": [*NAME, "particle"],
    "f_update": [*NAME, "liner"],
    "c_damping": [*NUMBER, -0.1, 1.1],
    "damping": NOT_NEGATIVE, "local_damping": [*NUMBER, -0.1, 0.96],
    "f_bar": FLAG,
    "dissipation": FLAG,
    "artificial_viscosity": [*(v for v in VECTOR_2D if v is not None), (-0.1, 1), (0, 101)],
    "density_correction": [*(v for v in NUMBER if v is not None), -0.1, 10.1],
    "integrator": [*NAME, "leapfrog"],
    "beta": [*NUMBER, 0.3, 1.0],  # right values belong to an implicit integrator
    "tolerance": [*NUMBER, 1e-3],
    "max_iterations": [*NUMBER, 20],
    "preconditioner": [*NAME, "mass"],
    "projection": [*NAME, "none"],
    "particle_collisions": [*NAME, "depth"],
    "conduction": [*NAME, "implicit"],  # needs heat
    "dt": [*POSITIVE, "automatic", ""],
    "max_dt": [v for v in POSITIVE if v is not None],
    "allow_unstable": [*FLAG, True],  # True: the time step is automatic
    "dtype": [1, None, "float16", "double precision", "", np.int32, object, NAN, "int64", np.dtype("f2"),
              ["float64"], {}],
    "threads": [*(v for v in COUNT if v is not None), 10**9],
    "on_leave": [*NAME, "rase", {"z": "clamp"}, {"x-": "rase"}, {"x": "clamp", "x-": "delete"}, {"x": 1},
                 ["clamp"]],
    "history": [*WHOLE, 2**40],
}
NUMERICS = {name: FLAG if isinstance(row.check, Flag) else NUMBER for name, row in rows(Common).items()} | NUMERICS
BOX = {"lower": VECTOR, "upper": [*VECTOR_2D, (0, 2), (-1, -1)]}
ROD = {"a": VECTOR, "b": [*VECTOR, (0.25, 0.25)], "radius": POSITIVE}
GALLERY = {"E": POSITIVE, "nu": NU, "density": POSITIVE}
FLUID = {"bulk_modulus": POSITIVE, "density": POSITIVE, "viscosity": NOT_NEGATIVE}
SNOW = {"preset": [*NAME, "referenc"], "density": POSITIVE, "gravity": NUMBER}
SAND = {"friction_angle_deg": [*POSITIVE, 90, 91], "cohesion": NOT_NEGATIVE, "density": POSITIVE}
COLUMN = {**SAND, "aspect": [*POSITIVE, 1.9], "gravity": NUMBER}
M, S, G, P = mpm.materials, mpm.shapes, mpm.gallery, mpm.point
LAW = [None, 1, "Fluid", mpm.materials.Fluid, {}, object()]  # a law in Python is one, too
DIMENSION = [*NUMBER, 1, 4, 2.0]
PATH = [v for v in NUMBER if not isinstance(v, (list, np.ndarray))] + [
    [], ["1"], [True], [1j], [NAN], [INF], [[0.1]], [[1], [1, 2]], np.zeros((2, 2)),
]
RAMP = {"material": LAW, "duration": POSITIVE, "steps": [*COUNT, 10**7], "dimension": DIMENSION}
STRAINED = {**RAMP, "duration": [v for v in POSITIVE if v is not None], "strain": [0.1, "a", [0.1]],
            "rate": [v for v in POSITIVE if v is not None]}
TENSOR = [
    "ab", 1.0, {1, 2}, np.eye(3), np.zeros((3, 3, 3)), np.zeros((2, 2, 2)), np.full((2, 3, 3), NAN), [[1], [1, 2]],
    lambda t: 1.0, lambda t: np.eye(2), lambda t: None, {"ax": 1}, {1: 1}, {"yy": "1"}, {"yy": NAN}, {"yy": [1]},
    {"yy": [1, INF]}, {"yy": [[1], [1, 2]]}, {"yy": lambda t: "1"}, {"yy": lambda t: NAN}, {"yy": None},
]
EVERYWHERE = ["ab", None, {}, NAN, INF, [NAN], [0, INF], "1", 1j, [1j], True, [True], [[1], [1, 2]]]  # of any shape
EACH = [*EVERYWHERE, -1.0, [-1.0], [1.0] * 5, [[1.0]]]  # one number, or one for each of something
RUN = {"method": [*NAME, "euler", "verlett"], "dt": [*POSITIVE, [1.0] * 4, [1.0, 0.0, 1.0], [1, 1, NAN], [[1] * 3]],
       "steps": [*WHOLE, 2**63, 2**60], "every": [*COUNT, 2**63]}
STEPPED = {"dt": 0.1, "steps": 3, "method": "midpoint"}
NET = {"mass": [1, 1, 1], "springs": [(0, 1), (1, 2)], "stiffness": 1.0, "length": [1.0, 1.0]}
ROTATION = integrators.Rotation()

TRESCA = M.MohrCoulomb(E=1e6, nu=0.3, density=1e3, friction_angle_deg=0, cohesion=1e3)

SUPPLY = {
    "concentration": [*(v for v in NUMBER if v is not None), 1e13], "solute_flux": NUMBER,
    "solute_transfer": [1, "a", (1,), (0, 1.0), (1.0, 1e13), (NAN, 1)],
}

SHARE = [*NUMBER, -0.1, 1.1]

# What -> (how to call it, right arguments, wrong arguments). `c` holds what a call may need; see `things`.
JOHNSON_COOK = {"A": 1e3, "B": 1e3, "n": 0.3, "shear_modulus": 1e5, "sound_speed": 10.0, "specific_heat": 1.0,
                "melting_temperature": 1300.0, "density": 1e3}
TARGETS = {
    "Scene": (lambda c, **k: mpm.Scene(**k), {"lower": (0, 0), "upper": (1, 1)},
              {**BOX, "gravity": [v for v in VECTOR_2D if v is not None], "walls": WALLS, "friction": NOT_NEGATIVE,
               "body_force": [1, "f", (0, 1), np.zeros((1, 2)), {}], "contact": [*NAME, mpm.Wall("slip")]}),
    "Scene in 3-D": (lambda c, **k: mpm.Scene(**k), {"lower": (0, 0, 0), "upper": (1, 1, 1)},
                     {"upper": [(1, 1), (1, 1, 0), (1, 1, NAN)], "gravity": [(0, -9.81), 9.81]}),
    "Contact": (lambda c, **k: mpm.Contact(**k), {"contact": "separate"},
                {"contact": NAME, "friction": NOT_NEGATIVE, "adhesion": NOT_NEGATIVE}),
    "Contact that bonds": (lambda c, **k: mpm.Contact(**k), {"contact": "bonded"},
                           {"friction": [0.5], "adhesion": [1.0]}),
    "Contact that slips": (lambda c, **k: mpm.Contact(**k), {"contact": "slip"}, {"adhesion": [1.0]}),
    "Wall": (lambda c, **k: mpm.Wall(**k), {"contact": "slip"},
             {"contact": NAME, "friction": NOT_NEGATIVE, "restitution": [*NOT_NEGATIVE, 0.5, 1.5], "speeds": [(2, 1)],
              "temperature": [v for v in POSITIVE if v is not None], "flux": NUMBER,
              "transfer": [1, "a", (1,), (0, 300.0), (1.0, -5.0), (NAN, 1)], **SUPPLY,
              "friction_heat": SHARE,
              "head": [v for v in NUMBER if v is not None], "pore_pressure": [v for v in NUMBER if v is not None]}),
    "Pore": (lambda c, **k: mpm.Pore(**k), {"porosity": 0.4, "permeability": 1e-12},
             {"porosity": [*POSITIVE, 1], "permeability": NOT_NEGATIVE, "fluid_bulk_modulus": POSITIVE,
              "fluid_density": POSITIVE, "viscosity": POSITIVE, "biot": [*POSITIVE, 0.3, 1.1],
              "grain_bulk_modulus": [v for v in POSITIVE if v is not None], "pressure": NUMBER,
              "head": [v for v in NUMBER if v is not None], "surface": NAME}),
    "Pore.consolidation": (lambda c, **k: mpm.Pore(0.4, 1e-12).consolidation(**k), {"modulus": 1.0},
                           {"modulus": POSITIVE}),
    "Wall with a temperature": (lambda c, **k: mpm.Wall(**k), {"contact": "slip", "temperature": 300.0}, {"flux": [1]}),
    "Solute": (lambda c, **k: mpm.Solute(**k), {"diffusivity": 1.0, "concentration": 2.0},
               {"diffusivity": NOT_NEGATIVE, "concentration": [*NUMBER, 1e13],
                "swelling": [*NOT_NEGATIVE, abs, (1,), ([0, 4], [0, -9]), ([1, 0], [0, 1]), ([0, NAN], [0, 1]),
                             ([0, 1], [0, INF]), ([0, 1, 2], [0, 1])],
                "scale": [1.0, "E", {"E": 1}, {"E": ([3], [1])}, {"E": ([3, 3], [1, 2])}, {1: ([1, 2], [1, 1])},
                          {"E": ([3, 4], [1, -1])}, {"E": ([3, 4], [1, NAN])}, {"E": ([3, 4], [1, 1, 1])}]}),
    "Solute.stretch": (lambda c, **k: mpm.Solute(1.0).stretch(**k), {"concentration": 1.0},
                       {"concentration": [*NUMBER, 1e13]}),
    "Wall with a concentration": (lambda c, **k: mpm.Wall(**k), {"contact": "slip", "concentration": 0.0},
                                  {"solute_flux": [1]}),
    "Thermal": (lambda c, **k: mpm.Thermal(**k), {"conductivity": 1.0, "specific_heat": 1.0},
                {"conductivity": NOT_NEGATIVE, "specific_heat": POSITIVE, "temperature": POSITIVE,
                 "expansion": [*NOT_NEGATIVE, 0.01], "taylor_quinney": [*NOT_NEGATIVE, 1.5],
                 "melting": [1.0, "ice", {}],
                 "scale": [1.0, "E", {"E": 1}, {"E": ([300], [1])}, {"E": ([300, 300], [1, 2])}, {1: ([1, 2], [1, 1])},
                           {"E": ([300, 400], [1, -1])}, {"E": ([300, 400], [1, NAN])}, {"E": ([0, 400], [1, 1])},
                           {"E": ([300, 400], [1, 1, 1])}]}),
    "Melting": (lambda c, **k: mpm.Melting(**k), {"temperature": 300.0, "latent_heat": 1.0},
                {"temperature": POSITIVE, "latent_heat": POSITIVE,
                 "conductivity": [v for v in NOT_NEGATIVE if v is not None],
                 "specific_heat": [v for v in POSITIVE if v is not None],
                 "density": [v for v in POSITIVE if v is not None]}),
    "Thermal.diffusivity": (lambda c, **k: mpm.Thermal(1.0, 1.0).diffusivity(**k), {"density": 1.0},
                            {"density": POSITIVE}),
    "Scene.add_collider that absorbs": (
        lambda c, **k: c.scene.add_collider(**k), {"shape": SHAPE, "contact": "absorbing"},
        {"speeds": [*(v for v in VECTOR if v is not None), (1, 2), (1, -1), (1e91, 1)]}),
    "Wall that absorbs": (lambda c, **k: mpm.Wall(**k), {"contact": "absorbing"},
                          {"speeds": [*(v for v in VECTOR if v is not None), (1, 2), (1, -1), (1e91, 1)]}),
    "Wall that separates": (lambda c, **k: mpm.Wall(**k), {"contact": "separate"}, {"restitution": [*NUMBER, -1, 1.5]}),
    "Wall that sticks": (lambda c, **k: mpm.Wall(**k), {"contact": "sticky"}, {"friction": [0.5]}),
    "Wall that mirrors": (lambda c, **k: mpm.Wall(**k), {"contact": "mirror"}, {"friction": [0.5], "flux": [1.0]}),
    "Wall that is periodic": (lambda c, **k: mpm.Wall(**k), {"contact": "periodic"},
                              {"friction": [0.5], "temperature": [300.0], "flux": [1.0], "concentration": [0.0]}),
    "FixedCorotated": (lambda c, **k: M.FixedCorotated(**k), {"E": 1e5, "nu": 0.3, "density": 1e3}, ELASTIC),
    "NeoHookean": (lambda c, **k: M.NeoHookean(**k), {"E": 1e5, "nu": 0.3, "density": 1e3}, ELASTIC),
    "Fluid": (lambda c, **k: M.Fluid(**k), {"bulk_modulus": 1e5, "density": 1e3},
              {"bulk_modulus": POSITIVE, "density": POSITIVE, "gamma": [*NUMBER, 0, -2], "viscosity": NOT_NEGATIVE,
               "tension": FLAG}),
    "SaintVenantKirchhoff": (lambda c, **k: M.SaintVenantKirchhoff(**k), {"E": 1e5, "nu": 0.3, "density": 1e3},
                             ELASTIC),
    "Corotated": (lambda c, **k: M.Corotated(**k), {"E": 1e5, "nu": 0.3, "density": 1e3}, ELASTIC),
    "Hencky": (lambda c, **k: M.Hencky(**k), {"E": 1e5, "nu": 0.3, "density": 1e3}, ELASTIC),
    "MooneyRivlin": (lambda c, **k: M.MooneyRivlin(**k),
                     {"c10": 1e4, "c01": 1e3, "bulk_modulus": 1e6, "density": 1e3},
                     {"c10": POSITIVE, "c01": NOT_NEGATIVE, "bulk_modulus": [*POSITIVE, 1e4],
                      "density": POSITIVE}),
    "Ogden": (lambda c, **k: M.Ogden(**k), {"mu_1": 1e4, "alpha_1": 2.0, "bulk_modulus": 1e6, "density": 1e3},
              {"mu_1": [*NUMBER, 0.0, -1.0], "alpha_1": [*NUMBER, 0.0, -1.0, 51.0], "mu_2": [*NUMBER, -1.0],
               "alpha_2": [*NUMBER, 51.0], "mu_3": [*NUMBER, -1.0], "alpha_3": [*NUMBER, -51.0],
               "bulk_modulus": [*POSITIVE, 1e3], "density": POSITIVE}),
    "FibreReinforced": (lambda c, **k: M.FibreReinforced(**k), {"E": 1e5, "nu": 0.3, "k_1": 1.0, "density": 1e3},
                        {**ELASTIC, "k_1": NOT_NEGATIVE, "k_2": NOT_NEGATIVE,
                         "direction": ["ab", None, 1.0, (1, 2), (0, 0, 0), (NAN, 0, 0), (INF, 0, 0), {}]}),
    "HistoryField": (lambda c, **k: M.HistoryField(**k), {"name": "damage"},
                     {"name": [1, None, "", "x y", "_a", "a" * 32, "Jp", "x", "é", "time", "for"],
                      "unit": [1, None, ""], "rank": [*NAME, "scaler"],
                      "initial": NUMBER, "low": ["1", None, NAN, 1.0, [1]], "high": ["1", None, NAN, -1.0, [1]]}),
    "testing.assert_conserved": (lambda c, **k: mpm.testing.assert_conserved(**{"sim": stepped(), **k}), {},
                                 {"sim": SIM, "mass": NO_LESS, "momentum": NO_LESS, "angular_momentum": NO_LESS,
                                  "energy": NO_LESS}),
    "testing.orders": (lambda c, **k: mpm.testing.orders(**k), {"error": [2.0, 1.0], "dx": [0.2, 0.1]},
                       {"error": [1, None, "ab", [1.0], [1.0, 0.0], [1.0, NAN], lambda dx: -1],
                        "dx": [1, None, "ab", [0.1, 0.1], [0.1, 0.0], [0.1]]}),
    "testing.check_law": (lambda c, **k: mpm.testing.check_law(**{"material": c.solid, **k}), {"samples": 10},
                          {"material": LAW, "dimensions": [1, "2", [1], [4], [2.5], [None]],
                           "stretches": ["ab", None, 1.0, (1, 1), (0, 1), (1,), (NAN, 2)],
                           "samples": [v for v in COUNT if v is not None], "seed": WHOLE, "tolerance": POSITIVE}),
    "VonMises": (lambda c, **k: M.VonMises(**k), {"E": 1e5, "nu": 0.3, "yield_stress": 1e3, "density": 1e3},
                 {**ELASTIC, "yield_stress": POSITIVE, "hardening": NOT_NEGATIVE, "kinematic_hardening": NOT_NEGATIVE,
                  "viscosity": NOT_NEGATIVE, "fracture_strain": [w for w in NOT_NEGATIVE if w is not None],
                  "fracture_energy": NOT_NEGATIVE, "crack_band": [*(w for w in POSITIVE if w is not None), 0.1]}),
    "NACC": (lambda c, **k: M.NACC(**k), {"E": 1e5, "nu": 0.3, "density": 1e3},
             {**ELASTIC, "friction_angle_deg": [*POSITIVE, 90, 91], "cohesion": NOT_NEGATIVE,
              "hardening": NOT_NEGATIVE, "consolidation": [*NUMBER, -11.0, 11.0]}),
    "DruckerPrager": (lambda c, **k: M.DruckerPrager(**k), {"E": 1e5, "nu": 0.3, "density": 1e3},
                      {**ELASTIC, "friction_angle_deg": [*POSITIVE, 90, 91],
                       "dilation_angle_deg": [*NOT_NEGATIVE, 36.0, 91], "cohesion": NOT_NEGATIVE,
                       "tension": [*(w for w in NOT_NEGATIVE if w is not None), 1.0], "cone": [*NAME, "inner"],
                       "fracture_energy": [*(w for w in POSITIVE if not (type(w) is int and w == 0)), 1.0],
                       "crack_band": [*(w for w in POSITIVE if w is not None), 0.1],
                       "hardening": [1.0, "soft", M.hardening.Strength, M.hardening.Voce(1.0, 1.0)]}),
    "Brittle": (lambda c, **k: M.Brittle(**k),
                {"E": 1e5, "nu": 0.3, "density": 1e3, "tensile_strength": 1e3, "fracture_energy": 1},
                {**ELASTIC, "nu": [*ELASTIC["nu"], -0.1], "tensile_strength": POSITIVE, "fracture_energy": POSITIVE,
                 "crack_band": [*(w for w in POSITIVE if w is not None), 0.2],
                 "friction": NOT_NEGATIVE, "faces": [1, None, "yes"]}),
    "Weibull": (lambda c, **k: M.Weibull(**k), {"scale": 1e3, "modulus": 10, "length": 0.1},
                {"scale": POSITIVE, "modulus": [*POSITIVE, 0.9], "length": POSITIVE,
                 "seed": [v for v in WHOLE if v is not None]}),
    "MohrCoulomb": (lambda c, **k: M.MohrCoulomb(**k), {"E": 1e5, "nu": 0.3, "density": 1e3},
                    {**ELASTIC, "friction_angle_deg": [*POSITIVE, 90, 91],
                     "dilation_angle_deg": [*NOT_NEGATIVE, 36.0, 91], "cohesion": NOT_NEGATIVE,
                     "tension": [w for w in NOT_NEGATIVE if w is not None],
                     "hardening": [1.0, "soft", M.hardening.Strength, M.hardening.Voce(1.0, 1.0)]}),
    "CamClay": (lambda c, **k: M.CamClay(**k),
                {"shear_modulus": 1e5, "density": 1e3, "swelling": 0.02, "compression": 0.1, "critical_slope": 1,
                 "preconsolidation": 1e4},
                {"shear_modulus": POSITIVE, "density": POSITIVE, "swelling": [*POSITIVE, 1],
                 "compression": [*POSITIVE, 1, 0.02], "critical_slope": POSITIVE, "preconsolidation": NOT_NEGATIVE,
                 "attraction": POSITIVE}),
    "MuI": (lambda c, **k: M.MuI(**k), {"E": 1e5, "nu": 0.3, "density": 1e3},
            {**ELASTIC, "mu_1": POSITIVE, "mu_2": [*POSITIVE, 0.3], "I_0": POSITIVE, "grain_diameter": POSITIVE,
             "grain_density": POSITIVE}),
    "HerschelBulkley": (lambda c, **k: M.HerschelBulkley(**k),
                        {"bulk_modulus": 1e5, "shear_modulus": 1e4, "yield_stress": 10, "consistency": 1,
                         "density": 1e3},
                        {"bulk_modulus": POSITIVE, "shear_modulus": POSITIVE, "yield_stress": NOT_NEGATIVE,
                         "consistency": NOT_NEGATIVE, "density": POSITIVE, "exponent": [*POSITIVE, 0.05, 11]}),
    "JohnsonCook": (lambda c, **k: M.JohnsonCook(**k), JOHNSON_COOK,
                    {**{name: POSITIVE for name in (*JOHNSON_COOK, "reference_rate", "initial_temperature")},
                     "B": NOT_NEGATIVE, "n": [*POSITIVE, 11], "C": [*NOT_NEGATIVE, 11], "m": [*POSITIVE, 101],
                     "melting_temperature": [*POSITIVE, 298], "reference_temperature": [*POSITIVE, 1300],
                     "taylor_quinney": [*NOT_NEGATIVE, 1.1], "s": [*NOT_NEGATIVE, 11],
                     "grueneisen": [*NOT_NEGATIVE, 101], **{f"D{k}": NUMBER for k in range(1, 6)},
                     "fracture_energy": [*NOT_NEGATIVE, 1.0],
                     "crack_band": [*(w for w in POSITIVE if w is not None), 0.1]}),
    "Rigid": (lambda c, **k: M.Rigid(**k), {"density": 1e3},
              {"density": POSITIVE, "friction": NOT_NEGATIVE, "restitution": [*NOT_NEGATIVE, 1.5], "contact": NAME}),
    "Viscoelastic": (lambda c, **k: M.Viscoelastic(**k), {"E": 1e5, "nu": 0.3, "density": 1e3},
                     {**ELASTIC, "g_1": [*NOT_NEGATIVE, 1], "g_2": NOT_NEGATIVE, "tau_1": POSITIVE, "tau_2": POSITIVE,
                      "viscosity": NOT_NEGATIVE}),
    "Snow": (lambda c, **k: M.Snow(**k), {},
             {**ELASTIC, "critical_compression": FRACTION, "critical_stretch": [*POSITIVE, 1.1e6],
              "hardening": NOT_NEGATIVE,
              "Jp_limits": ["ab", 1.0, {}, True, NAN, [], (1,), (0.6, 1, 20), (NAN, 2), (0.6, INF), (2, 3), (0.6, 0.9),
                            (-1, 2)]}),
    "Sand": (lambda c, **k: M.Sand(**k), {}, {**ELASTIC, **SAND}),
    "Sand.return_map": (lambda c, **k: M.Sand().return_map(**k), {"F": np.eye(3)[None], "Jp": [1.1]},
                        {"F": [*GRADIENTS, -np.eye(3)[None]], "Jp": JP}),
    "Snow.preset": (lambda c, **k: M.Snow.preset(**k), {"name": "both_lower"}, {"name": [*NAME, "both_lowr"]}),
    "Snow.stress": (lambda c, **k: M.Snow().stress(**k), {"F": np.eye(2)[None], "Jp": 0.9},
                    {"F": [*GRADIENTS, np.zeros((1, 2, 2))], "Jp": JP}),
    "Snow.energy": (lambda c, **k: M.Snow().energy(**k), {"F": np.eye(3)[None], "Jp": [0.9]},
                    {"F": GRADIENTS, "Jp": JP}),
    "Snow.return_map": (lambda c, **k: M.Snow().return_map(**k), {"F": np.eye(3)[None], "Jp": [0.9]},
                        {"F": GRADIENTS, "Jp": JP}),
    "Material.at": (lambda c, **k: M.Hencky(E=lambda x: 1 + x[:, 0], nu=np.array([0.1, 0.2]), density=1).at(**k),
                    {"x": (0.5, 0.5), "particle": 1},
                    {"x": ["ab", None, 1.0, {}, [], (NAN, 0), (INF, 0), [[0, 0]], [True, False], (-2, 0)],
                     "particle": [*WHOLE, 2]}),
    "Material.stress": (lambda c, **k: c.solid.stress(**k), {"F": np.eye(2)[None]},
                        {"F": [*GRADIENTS, np.zeros((1, 2, 2)), -np.eye(3)[None]]}),
    "Material.energy": (lambda c, **k: c.solid.energy(**k), {"F": np.eye(3)[None]},
                        {"F": [*GRADIENTS, np.zeros((1, 2, 2)), -np.eye(3)[None]]}),
    "point.drive": (lambda c, **k: P.drive(**{"material": c.solid, **k}), {"times": [0, 1], "F": {"xx": 1.1}},
                    {"material": LAW, "dimension": DIMENSION, "history": [1, "Jp", [], {"Jp": 1}, {1: 1}],
                     "times": ["ab", None, 1.0, {}, [], [NAN], [0, INF], [0, 0], [1, 0], [[0, 1]], ["a"], [1j], [True]],
                     "F": [*TENSOR, None, {}, {"xx": -1.0}, {"xx": 0}, -np.ones((2, 3, 3)), np.zeros((2, 3, 3)),
                           {"xx": 1e200}],
                     "stress": [*TENSOR, {"yx": 0}, {"xx": 0}, np.zeros((2, 3, 3)) + np.tri(3)]}),
    "point.drive in 2-D": (lambda c, **k: P.drive(c.solid, dimension=2, **k), {"times": [0], "F": {"xx": 1.1}},
                           {"F": [{"zz": 1}, np.eye(3)[None]], "stress": [{"zz": 0}, np.zeros((1, 3, 3))]}),
    "point.drive of snow": (lambda c, **k: P.drive(M.Snow(), **k), {"times": [0], "F": {"xx": 1.1}},
                            {"history": [{"Jp": v} for v in POSITIVE if not isinstance(v, np.ndarray)] + [{"jp": 1}]}),
    "point.triaxial": (lambda c, **k: P.triaxial(**{"material": c.solid, "steps": 2, **k}),
                       {"confinement": 1.0, "axial_strain": 0.1},
                       {**STRAINED, "confinement": NOT_NEGATIVE, "axial_strain": [*PATH, 1, [0.1, 1.1]],
                        "drained": FLAG}),
    "point.oedometer": (lambda c, **k: P.oedometer(**{"material": c.solid, "steps": 2, **k}), {"axial_strain": 0.1},
                        {**STRAINED, "axial_strain": [*PATH, 1, [0.1, 1.1]]}),
    "point.simple_shear": (lambda c, **k: P.simple_shear(**{"material": c.solid, "steps": 2, **k}), {"shear": 0.1},
                           {**STRAINED, "shear": PATH}),
    "point.uniaxial_stress": (lambda c, **k: P.uniaxial_stress(**{"material": c.solid, "steps": 2, **k}),
                              {"stretch": 1.1}, {**STRAINED, "stretch": [*PATH, 0, -1.0, [1.1, 0]]}),
    "point.creep": (lambda c, **k: P.creep(**{"material": c.solid, "steps": 2, **k}), {"stress": 1.0},
                    {**RAMP, "stress": NUMBER}),
    "point.relaxation": (lambda c, **k: P.relaxation(**{"material": c.solid, "steps": 2, **k}), {"stretch": 1.1},
                         {**RAMP, "strain": [0.1, "a"], "stretch": POSITIVE}),
    "point.fit": (lambda c, **k: P.fit(**{"material": c.solid, "data": [1e5, 2e5], "parameters": ["E"], **k}),
                  {"response": lambda m: [m.E, 2 * m.E]},
                  {"material": LAW, "data": [None, "ab", {}, 1.0, [], [NAN, 1], [[1, 2]], ["1", "2"]],
                   "response": [None, 1, "f", [1, 2], lambda m: 1.0, lambda m: [1], lambda m: [1, NAN], lambda m: "ab"],
                   "parameters": [None, "E", 1, {}, [], [1], ["density"], ["e"], ["E", "E"], [None]]}),
    "Fit.plot": (lambda c, **k: P.Fit(c.solid, np.zeros(2), {}).plot(**{"ax": c.ax, **k}),
                 {"x": [1, 2], "data": [3, 4]}, {"x": PAIR, "data": PAIR, **INTO}),
    "Response.critical_state": (
        lambda c, **k: P.triaxial(TRESCA, confinement=2e4, axial_strain=-0.3, steps=60).critical_state(**k), {},
        {"tolerance": [*(w for w in POSITIVE if w is not None), 1.0]}),
    "Response.plot": (lambda c, **k: P.oedometer(c.solid, axial_strain=0.1, steps=1).plot(**{"ax": c.ax, **k}), {},
                      {"x": [v for v in NAME if v is not None] + ["Jp"], "y": [v for v in NAME if v is not None],
                       **INTO}),
    "Scene.add": (lambda c, **k: c.scene.add(**k), {"shape": SHAPE, "material": WATER}, ADD),
    "Scene.fitted": (lambda c, **k: c.scene.fitted(**k), {"dx": 0.1}, {"dx": [*POSITIVE, 1e-300]}),
    "Scene.add in 3-D": (lambda c, **k: c.space.add(**k), {"shape": BALL, "material": WATER}, IN_SPACE),
    "Body.initial_velocity": (lambda c, **k: c.scene.bodies[0].initial_velocity(**k), {"x": [(0, 0)], "volume": [1]},
                              {"x": [*ROWS, [(1, 2, 3)]], "volume": ["a", None, 1.0, (1, 2), (0,), (NAN,), (1j,)]}),
    "Body.initial_velocity_gradient": (
        lambda c, **k: c.scene.bodies[0].initial_velocity_gradient(**k),
        {"x": [(0, 0)]},
        {"x": ROWS},
    ),
    "Body.volume": (lambda c, **k: c.scene.bodies[0].volume(**k), {"lower": (0, 0), "upper": (1, 1)},
                    {"lower": VECTOR_2D, "upper": VECTOR_2D}),
    "Body.initial_gradient": (lambda c, **k: c.scene.bodies[0].initial_gradient(**k), {"x": [(0, 0)]}, {"x": ROWS}),
    "Simulation": (lambda c, **k: mpm.Simulation(**{"scene": c.scene, **k}), {"dx": 0.125},
                   {"scene": [None, 1, "scene", mpm.Scene, mpm.Scene((0, 0), (1, 1))],
                    "comm": [1, True, "world", object, []], "distributed": [True, 1, "yes", None], "device": DEVICE,
                    **NUMERICS}),
    "Simulation in a periodic scene": (lambda c, **k: mpm.Simulation(c.periodic, **k), {"dx": 0.25},
                                       {"dx": [0.5, 1.0]}),
    "Simulation with a fixed dt": (lambda c, **k: mpm.Simulation(c.scene, **k), {"dx": 0.125, "dt": 1e-5},
                                   {"max_dt": [1.0], "allow_unstable": FLAG}),
    "set_num_threads": (lambda c, **k: mpm.set_num_threads(**k), {"threads": 1}, {"threads": [*COUNT, 1025, 10**9]}),
    "gallery.get": (lambda c, **k: G.get(**k), {"name": "jelly"}, {"name": [*NAME, "jely"]}),
    "gallery.cube": (lambda c, **k: G.cube(**k), {}, {**GALLERY, "gravity": NUMBER}),
    "gallery.jelly": (lambda c, **k: G.jelly(**k), {},
                      {**GALLERY, "gravity": NUMBER, "bulk_modulus": POSITIVE, "viscosity": NOT_NEGATIVE}),
    "gallery.dominoes": (lambda c, **k: G.dominoes(**k), {}, {"density": POSITIVE, "friction": NOT_NEGATIVE,
                                                              "speed": NUMBER, "gravity": NUMBER}),
    "gallery.spinning_top": (lambda c, **k: G.spinning_top(**k), {}, {"density": POSITIVE, "spin": NUMBER,
                                                                      "tilt_deg": NUMBER, "gravity": NUMBER}),
    "gallery.bowling": (lambda c, **k: G.bowling(**k), {}, {"density": POSITIVE, "speed": NUMBER, "gravity": NUMBER}),
    "gallery.dzhanibekov": (lambda c, **k: G.dzhanibekov(**k), {}, {"density": POSITIVE, "spin": NUMBER}),
    "gallery.crate_on_snow": (lambda c, **k: G.crate_on_snow(**k), {},
                              {**GALLERY, "relative_density": POSITIVE, "gravity": NUMBER}),
    "gallery.disks": (lambda c, **k: G.disks(**k), {}, {**GALLERY, "speed": NUMBER}),
    "gallery.hammer_blow": (lambda c, **k: G.hammer_blow(**k), {},
                            {**GALLERY, "pressure": NUMBER, "duration": POSITIVE}),
    "gallery.quench": (lambda c, **k: G.quench(**k), {},
                       {**GALLERY, "conductivity": NOT_NEGATIVE, "specific_heat": POSITIVE,
                        "expansion": [*NOT_NEGATIVE, 0.01], "temperature": POSITIVE, "gravity": NUMBER}),
    "gallery.curling_bilayer": (lambda c, **k: G.curling_bilayer(**k), {},
                                {**GALLERY, "diffusivity": NOT_NEGATIVE, "swelling": [*NOT_NEGATIVE, 0.6],
                                 "gravity": NUMBER}),
    "gallery.friction_weld": (lambda c, **k: G.friction_weld(**k), {},
                              {"E": POSITIVE, "density": POSITIVE, "yield_stress": NOT_NEGATIVE,
                               "friction": NOT_NEGATIVE, "conductivity": NOT_NEGATIVE,
                               "amplitude": [*NOT_NEGATIVE, 0.11], "frequency": NOT_NEGATIVE,
                               "pressing": NOT_NEGATIVE}),
    "gallery.melting_snowman": (lambda c, **k: G.melting_snowman(**k), {},
                                {"bulk_modulus": POSITIVE, "shear_modulus": POSITIVE, "yield_stress": NOT_NEGATIVE,
                                 "consistency": NOT_NEGATIVE, "density": POSITIVE, "conductivity": NOT_NEGATIVE,
                                 "specific_heat": POSITIVE, "latent_heat": POSITIVE, "temperature": POSITIVE,
                                 "gravity": NUMBER}),
    "gallery.glass_drop": (lambda c, **k: G.glass_drop(**k), {},
                           {**GALLERY, "nu": [*GALLERY["nu"], -0.1], "tensile_strength": POSITIVE,
                            "fracture_energy": POSITIVE, "speed": NUMBER, "gravity": NUMBER}),
    "gallery.three_point_bending": (lambda c, **k: G.three_point_bending(**k), {},
                                    {**GALLERY, "nu": [*GALLERY["nu"], -0.1], "tensile_strength": POSITIVE,
                                     "fracture_energy": POSITIVE, "speed": NUMBER}),
    "gallery.brazilian_disc": (lambda c, **k: G.brazilian_disc(**k), {},
                               {**GALLERY, "nu": [*GALLERY["nu"], -0.1], "tensile_strength": POSITIVE,
                                "fracture_energy": POSITIVE, "speed": NUMBER}),
    "gallery.wall_breach": (lambda c, **k: G.wall_breach(**k), {},
                            {**GALLERY, "nu": [*GALLERY["nu"], -0.1], "tensile_strength": POSITIVE,
                             "fracture_energy": POSITIVE, "speed": NUMBER, "gravity": NUMBER}),
    "gallery.beam": (lambda c, **k: G.beam(**k), {}, {**GALLERY, "speed": NUMBER}),
    "gallery.bar": (lambda c, **k: G.bar(**k), {}, {**GALLERY, "speed": NUMBER}),
    "gallery.spinning_disk": (lambda c, **k: G.spinning_disk(**k), {}, {**GALLERY, "angular_velocity": NUMBER}),
    "gallery.stiff_drop": (lambda c, **k: G.stiff_drop(**k), {},
                           {**GALLERY, "friction": NOT_NEGATIVE, "gravity": NUMBER}),
    "gallery.cantilever": (lambda c, **k: G.cantilever(**k), {}, {**GALLERY, "gravity": NUMBER}),
    "gallery.stiff_disk": (lambda c, **k: G.stiff_disk(**k), {}, {**GALLERY, "angular_velocity": NUMBER}),
    "gallery.incline": (lambda c, **k: G.incline(**k), {},
                        {**GALLERY, "degrees": [*NOT_NEGATIVE, 81], "gravity": NOT_NEGATIVE}),
    "gallery.newtons_cradle": (lambda c, **k: G.newtons_cradle(**k), {},
                               {**GALLERY, "speed": NUMBER, "count": [*WHOLE, 1, 10]}),
    "gallery.brick_wall": (lambda c, **k: G.brick_wall(**k), {},
                           {**GALLERY, "friction": NOT_NEGATIVE, "speed": NUMBER, "gravity": NUMBER}),
    "gallery.rolling_disc": (lambda c, **k: G.rolling_disc(**k), {},
                             {**GALLERY, "friction": NOT_NEGATIVE, "degrees": [*NOT_NEGATIVE, 81],
                              "gravity": NOT_NEGATIVE}),
    "gallery.hertz": (lambda c, **k: G.hertz(**k), {}, {**GALLERY, "R": [*POSITIVE, 0.1, 0.7], "force": NOT_NEGATIVE}),
    "gallery.gears": (lambda c, **k: G.gears(**k), {},
                      {**GALLERY, "friction": NOT_NEGATIVE, "angular_velocity": NUMBER}),
    "gallery.taylor_bar": (lambda c, **k: G.taylor_bar(**k), {},
                           {**GALLERY, "yield_stress": POSITIVE, "hardening": NOT_NEGATIVE, "speed": NUMBER}),
    "gallery.hot_taylor_bar": (lambda c, **k: G.hot_taylor_bar(**k), {},
                               {"A": POSITIVE, "B": NOT_NEGATIVE, "n": [*POSITIVE, 0.001, 11.0], "C": NOT_NEGATIVE,
                                "m": [*POSITIVE, 0.001, 101.0], "density": POSITIVE, "conductivity": NOT_NEGATIVE,
                                "speed": NUMBER}),
    "gallery.bread_tearing": (lambda c, **k: G.bread_tearing(**k), {},
                              {**GALLERY, "cohesion": NOT_NEGATIVE, "hardening": NOT_NEGATIVE,
                               "consolidation": [*NUMBER, -11.0], "speed": NUMBER}),
    "gallery.mudslide": (lambda c, **k: G.mudslide(**k), {},
                         {"yield_stress": NOT_NEGATIVE, "consistency": NOT_NEGATIVE, "exponent": POSITIVE,
                          "density": POSITIVE, "gravity": NUMBER}),
    "gallery.jelly_stack": (lambda c, **k: G.jelly_stack(**k), {}, {**GALLERY, "gravity": NUMBER}),
    "gallery.disk_wall": (lambda c, **k: G.disk_wall(**k), {},
                          {**GALLERY, "speed": NUMBER, "radius": [*POSITIVE, 0.46]}),
    "gallery.dam_break": (lambda c, **k: G.dam_break(**k), {},
                          {"width": [*POSITIVE, 2.6], "height": [*POSITIVE, 1.6], "density": POSITIVE,
                           "viscosity": NOT_NEGATIVE, "gravity": POSITIVE}),
    "gallery.hydrostatic": (lambda c, **k: G.hydrostatic(**k), {},
                            {"density": POSITIVE, "viscosity": NOT_NEGATIVE, "gravity": POSITIVE}),
    "gallery.tank": (lambda c, **k: G.tank(**k), {},
                     {"density": POSITIVE, "viscosity": NOT_NEGATIVE, "gravity": POSITIVE}),
    "gallery.jet": (lambda c, **k: G.jet(**k), {},
                    {"density": POSITIVE, "viscosity": NOT_NEGATIVE, "speed": POSITIVE, "gravity": POSITIVE}),
    "gallery.two_liquids": (lambda c, **k: G.two_liquids(**k), {},
                            {"density": POSITIVE, "ratio": POSITIVE, "viscosity": NOT_NEGATIVE,
                             "gravity": POSITIVE}),
    "gallery.ship": (lambda c, **k: G.ship(**k), {},
                     {"density": POSITIVE, "relative_density": POSITIVE, "crest": [*NOT_NEGATIVE, 0.5],
                      "viscosity": NOT_NEGATIVE, "gravity": POSITIVE}),
    "gallery.taylor_green": (lambda c, **k: G.taylor_green(**k), {},
                             {"density": POSITIVE, "speed": POSITIVE, "reynolds": POSITIVE}),
    "gallery.twisted_bar": (lambda c, **k: G.twisted_bar(**k), {}, {**GALLERY, "rate": NUMBER, "gravity": NUMBER}),
    "gallery.honey": (lambda c, **k: G.honey(**k), {}, {**FLUID, "speed": NUMBER, "gravity": NUMBER}),
    "gallery.drum": (lambda c, **k: G.drum(**k), {},
                     {**FLUID, "angular_velocity": NUMBER, "friction": NOT_NEGATIVE, "gravity": NUMBER}),
    "gallery.hourglass": (lambda c, **k: G.hourglass(**k), {}, {**FLUID, "neck": [*POSITIVE, 0.44], "gravity": NUMBER}),
    "gallery.clay_indentation": (lambda c, **k: G.clay_indentation(**k), {},
                                 {**dict.fromkeys(("shear_modulus", "density", "swelling", "compression",
                                                   "critical_slope", "attraction"), POSITIVE),
                                  "preconsolidation": NOT_NEGATIVE, "depth": [*NOT_NEGATIVE, 0.11],
                                  "friction": NOT_NEGATIVE, "gravity": NUMBER}),
    "gallery.retaining_wall": (lambda c, **k: G.retaining_wall(**k), {},
                               {**GALLERY, "friction_angle_deg": [*POSITIVE, 90, 91], "cohesion": NOT_NEGATIVE,
                                "friction": NOT_NEGATIVE, "travel": [*POSITIVE, 0.61], "gravity": NUMBER}),
    "gallery.excavation": (lambda c, **k: G.excavation(**k), {},
                           {**GALLERY, "friction_angle_deg": [*POSITIVE, 90, 91], "cohesion": NOT_NEGATIVE,
                            "depth": [*POSITIVE, 5.1], "gravity": NUMBER}),
    "gallery.flooded_slope": (lambda c, **k: G.flooded_slope(**k), {},
                              {**GALLERY, "friction_angle_deg": [*NOT_NEGATIVE, 90, 91], "cohesion": NOT_NEGATIVE,
                               "permeability": NOT_NEGATIVE, "fluid_bulk_modulus": POSITIVE, "before": NUMBER,
                               "after": NUMBER, "gravity": NUMBER}),
    "gallery.quick_clay": (lambda c, **k: G.quick_clay(**k), {},
                           {**GALLERY, "strength": POSITIVE, "strength_per_depth": NOT_NEGATIVE,
                            "sensitivity": [*POSITIVE, 1.0], "gravity": NUMBER}),
    "gallery.sand_hourglass": (lambda c, **k: G.sand_hourglass(**k), {},
                               {**GALLERY, "mu_1": POSITIVE, "mu_2": POSITIVE, "orifice": [*POSITIVE, 0.21],
                                "friction": NOT_NEGATIVE, "gravity": NUMBER}),
    "gallery.raft": (lambda c, **k: G.raft(**k), {},
                     {"density": POSITIVE, "relative_density": POSITIVE, "bulk_modulus": POSITIVE,
                      "viscosity": NOT_NEGATIVE, "gravity": NUMBER}),
    "gallery.squeeze": (lambda c, **k: G.squeeze(**k), {},
                        {**GALLERY, "depth": [*NOT_NEGATIVE, 0.13], "friction": NOT_NEGATIVE, "gravity": NUMBER}),
    "gallery.sand_column": (lambda c, **k: G.sand_column(**k), {}, COLUMN),
    "gallery.sand_column_3d": (lambda c, **k: G.sand_column_3d(**k), {}, COLUMN),
    "gallery.snowball": (lambda c, **k: G.snowball(**k), {},
                         {**SNOW, "shape": [*NAME, "bal"], "contact": [*NAME, "mirror"], "speed": NUMBER}),
    "gallery.snow_box": (lambda c, **k: G.snow_box(**k), {}, {**SNOW, "speed": NUMBER}),
    "gallery.snow_ring": (lambda c, **k: G.snow_ring(**k), {}, {**SNOW, "speed": NUMBER}),
    "gallery.snow_triangle": (lambda c, **k: G.snow_triangle(**k), {}, {**SNOW, "speed": NUMBER}),
    "gallery.snow_wedge": (lambda c, **k: G.snow_wedge(**k), {}, {**SNOW, "speed": NUMBER, "friction": NOT_NEGATIVE}),
    "gallery.snow_wedge_3d": (lambda c, **k: G.snow_wedge_3d(**k), {},
                              {**SNOW, "speed": NUMBER, "friction": NOT_NEGATIVE}),
    "gallery.snow_plow": (lambda c, **k: G.snow_plow(**k), {},
                          {**SNOW, "speed": NUMBER, "angle_deg": [*NUMBER, 61, -61]}),
    "gallery.snow_parameters": (lambda c, **k: G.snow_parameters(**k), {},
                                {"density": POSITIVE, "speed": NUMBER, "friction": NOT_NEGATIVE, "gravity": NUMBER}),
    "Entry": (lambda c, **k: Entry(**k),
              {"name": "a", "summary": "b", "duration": 1.0, "fps": 1.0, "build": G.jelly, "numerics": {"dx": 0.125}},
              {"name": [1, None, "", b"x"], "summary": [1, None, ""], "duration": POSITIVE, "fps": POSITIVE,
               "build": [None, 1, "jelly"], "numerics": [None, 1, "dx", [("dx", 1)]], "color": [1, None, ""],
               "limits": LIMITS, "sph": [1, "spacing", [("spacing", 1)]], "fem": [1, "spacing", [("spacing", 1)]]}),
    "Entry.scene": (lambda c, **k: G.get("jelly").scene(**k), {}, {"E": POSITIVE, "colour": [1], "dx": [1]}),
    "Entry.simulation": (lambda c, **k: G.get("disks").simulation(**k), {"scale": 0.25},
                         {"scale": POSITIVE, "scene": [1, "scene", mpm.Scene, SHAPE], "dx": POSITIVE,
                          "dxx": [1], "dtype": ["float16"], "method": [*NAME, "sph"]}),
    "Entry.solver": (lambda c, **k: G.get("dam-break").solver(**k), {"method": "sph", "scale": 0.25},
                     {"method": [*NAME, "fem"], "scale": POSITIVE, "scene": [1, "scene", mpm.Scene, SHAPE],
                      "spacing": POSITIVE, "dx": [1]}),
    "Box": (lambda c, **k: S.Box(**k), {"lower": (0, 0), "upper": (1, 1)}, BOX),
    "Ball": (lambda c, **k: S.Ball(**k), {"center": (0, 0), "radius": 1}, {"center": VECTOR, "radius": POSITIVE}),
    "HalfSpace": (lambda c, **k: S.HalfSpace(**k), {"point": (0, 0), "normal": (0, 1)},
                  {"point": VECTOR, "normal": [*VECTOR_2D, (0, 0)]}),
    "Capsule": (lambda c, **k: S.Capsule(**k), {"a": (0.25, 0.25), "b": (1, 1), "radius": 1}, ROD),
    "Cylinder": (lambda c, **k: S.Cylinder(**k), {"a": (0.25, 0.25), "b": (1, 1), "radius": 1}, ROD),
    "Polygon": (lambda c, **k: S.Polygon(**k), {"vertices": [(0, 0), (1, 0), (0, 1)]},
                {"vertices": [*ROWS, [(0, 0), (1, 1)], [(0, 0), (1, 1), (1, 0), (0, 1)], [(0, 0), (1, 1), (2, 2)]]}),
    "Cells": (lambda c, **k: S.Cells(**k), {"vertices": [(0, 0), (1, 0), (0, 1)], "cells": [(0, 1, 2)]},
              {"vertices": [*ROWS, [(0, 0), (1, 1), (0, 1), (9, 9)]],
               "cells": ["ab", None, 1, {}, [], [0, 1, 2], [(0, 1)], [(0, 1, 3)], [(0, 1, -1)], [(0, 2, 1)],
                         [(0, 0, 1)], [(0.0, 1.0, 2.0)], [[0], [0, 1]]],
               "merge": [one for one in NOT_NEGATIVE if one is not None]}),
    "fem.mesh": (lambda c, **k: fem.mesh(**k), {"shape": S.Box((0, 0), (1, 1)), "spacing": 0.5},
                 {"shape": [None, 1, "box", {}, S.Points([(0, 0)]), S.HalfSpace((0, 0), (0, 1))], "spacing": POSITIVE}),
    "fem.Simulation": (lambda c, **k: fem.Simulation(**{"scene": c.scene, **k}), {"spacing": 0.125},
                       {"scene": [None, 1, "scene", {}, mpm.Scene], "spacing": POSITIVE,
                        "local_damping": [*NUMBER, -0.1, 0.96],
                        "damping": ["ab", None, 1.0, {}, (1,), (1, 2, 3), (-1, 0), (0, NAN), ("1", 2)],
                        "tolerance": [*(v for v in NUMBER if v is not None), 1e-3],
                        "max_iterations": [*(v for v in NUMBER if v is not None), 20],
                        "integrator": NUMERICS["integrator"], **{name: NUMERICS[name] for name in rows(Common)}}),
    "sph.Simulation": (lambda c, **k: sph.Simulation(**{"scene": c.water, **k}), {"spacing": 0.0625},
                       {"scene": [None, 1, "scene", {}, mpm.Scene], "spacing": [*POSITIVE, 0.3],
                        "smoothing": [*POSITIVE, 0.7, 3.1], "kernel": [*NAME, "quadratic"],
                        "viscosity": [*NAME, "scalar"], "constant_viscosity": [*NAME, "static"],
                        "alpha": [*NOT_NEGATIVE, 11], "xsph": [*NOT_NEGATIVE, 1.5],
                        "repulsion": [*NOT_NEGATIVE, 1.5], "tension": FLAG,
                        "on_leave": NUMERICS["on_leave"], **{name: NUMERICS[name] for name in rows(Common)}}),
    "compare": (lambda c, **k: mpm.compare(**{"runs": [c.sim], **k}), {},
                {"runs": [None, 1, "ab", {}, [], [1], {"a": 1}], "columns": [None, 1, "energy", ["heat"], [1]],
                 "samples": [*(w for w in WHOLE if w is not None), 0, 1, 10**9]}),
    "sweep": (lambda c, **k: mpm.sweep(**{"function": a_case, "out": c.folder / "sweep", "part": (0, 1), **k}),
              {"cases": [{"a": 1}]},
              {"function": [None, 1, "f", print, int], "out": [*NO_PATH, "", "a\0b"], "retry": FLAG, "progress": FLAG,
               "cases": [None, 1, "ab", [], {}, [1], [{}], [{"b": 1}], {"a": 1}, {"a": []}, [{"a": NAN}],
                         [{"a": b"x"}]],
               "executor": [1, "threads", [], print], "workers": [*(w for w in WHOLE if w is not None), 0, 10**6],
               "part": [0, "01", (0,), (0, 0), (-1, 2), (2, 2), (0.5, 2), (True, 2)]}),
    "Mesh": (lambda c, **k: S.Mesh(**k), {"path": G.CUBE_MESH},
             {"path": [None, 1, b"", ["x"], {}, 1.5], "vertices": [np.eye(3)], "faces": [[(0, 1, 2)]]}),
    "Mesh of arrays": (lambda c, **k: S.Mesh(**k), {"vertices": S.Mesh(G.CUBE_MESH).vertices,
                                                    "faces": S.Mesh(G.CUBE_MESH).faces},
                       {"vertices": [*ROWS, None], "path": ["cube.obj"],
                        "faces": ["ab", None, 1, {}, [], [(0, 1)], [(0, 1, 99)], [(0, 1, -1)], [(0.0, 1, 2)],
                                  [(0, 1, 2), (0, 1)], [(NAN, 0, 1)], [("a", "b", "c")], [(True, False, True)]]}),
    "Terrain": (lambda c, **k: S.Terrain(**k), {"vertices": [(0, 0.1), (1, 0)]},
                {"vertices": [*ROWS, None, [(0, 0)], [(0, 0), (1, 0), (0, 1)]], "path": [1, b"", ["x"], {}, "cube.obj"],
                 "faces": [[(0, 1, 2)]], "up": [1, "", "z", ["y"]], "origin": [v for v in VECTOR if v is not None]}),
    "Shape.heights": (lambda c, **k: S.Terrain(vertices=[(0, 0.1), (1, 0)]).heights(**k),
                      {"places": [(0, 0)]}, {"places": ROWS}),
    "Terrain of a mesh": (lambda c, **k: S.Terrain(**k),
                          {"vertices": [(0, 0, 0), (1, 0, 0), (0, 1, 0)], "faces": [(0, 1, 2)]},
                          {"faces": ["ab", None, 1, {}, [], [(0, 1)], [(0, 1, 99)], [(0.0, 1, 2)]], "up": ["x", "w"]}),
    "DistanceGrid": (lambda c, **k: S.DistanceGrid(**k),
                     {"lower": (0, 0), "spacing": 0.5, "values": [(1, 1), (1, -1)]},
                     {"lower": VECTOR, "spacing": POSITIVE,
                      "values": [*ROWS[:-1], [(1, -1)], [(1, 1), (1, 1)], [(-1, -1), (-1, -1)], [(1, -1), (1, NAN)],
                                 np.ones((2, 2), bool)]}),
    "Deforming": (lambda c, **k: S.Deforming(**k), {"times": [0, 1], "shapes": [GRID, GRID]},
                  {"times": ["ab", None, 1.0, {}, [], [0], [1, 0], [0, 0], [0, NAN], [(0, 1)], ["0", "1"]],
                   "shapes": [None, 1, "ab", GRID, [GRID], [GRID] * 3, [GRID, SHAPE], [SHAPE, SHAPE], [1, 2],
                              [GRID, S.DistanceGrid((0, 0), 0.25, [(1, 1), (1, -1)])],
                              [GRID, S.Mesh(G.CUBE_MESH)]]}),
    "Scene.add_emitter": (lambda c, **k: mpm.Scene((0, 0), (1, 1)).add_emitter(
        **{"shape": SHAPE, "material": c.solid, "velocity": (1, 0), **k}), {"until": 1.0},
        {"shape": [None, 1, "ball", BALL, S.Points([(0.5, 0.5)])], "material": LAW, "velocity": [*VECTOR_2D, (0, 0)],
         "rate": [v for v in POSITIVE if v is not None] + [1e9], "start": NOT_NEGATIVE,
         "until": [v for v in POSITIVE if v is not None], "name": [1, "", " ", b"x", ["x"]]}),
    "Scene.add_drain": (lambda c, **k: mpm.Scene((0, 0), (1, 1)).add_drain(**{"shape": SHAPE, **k}), {"every": 1.0},
                        {"shape": [None, 1, "ball", BALL, S.Points([(0.5, 0.5)])], "start": NOT_NEGATIVE,
                         "every": [v for v in POSITIVE if v is not None],
                         "until": [v for v in POSITIVE if v is not None], "name": [1, "", " ", b"x", ["x"]]}),
    "Scene.add_force": (lambda c, **k: c.scene.add_force(**{"body": "taken", "force": (1, 0), **k}), {},
                        {"body": [None, 1, "cube", b"x", ["body"]], "force": VECTOR_2D,
                         "name": [1, "", " ", b"x", ["x"], "walls", "a\nb", "fixed"]}),
    "Scene.add_traction": (
        lambda c, **k: c.scene.add_traction(**{"body": "taken", **({} if {"pressure", "traction"} & k.keys() else
                                                                   {"pressure": 1.0}), **k}), {"where": SHAPE},
        {"body": [None, 1, "cube", b"x", ["body"]], "where": [1, "left", S.Ball, BALL, [True]],
         "pressure": [v for v in NUMBER if v is not None], "traction": VECTOR_2D, "follows": [1, 0, "yes", 1.0, []],
         "name": [1, "", " ", b"x", ["x"], "walls", "a\nb", "fixed"]}),
    "Scene.add_heat_source": (
        lambda c, **k: c.scene.add_heat_source(**{"body": "taken", "source": 1.0, **k}), {"where": SHAPE},
        {"body": [None, 1, "cube", b"x", ["body"]], "where": [1, "left", S.Ball, BALL, [True]], "source": NUMBER,
         "name": [1, "", " ", b"x", ["x"], "walls", "a\nb", "fixed"]}),
    "Scene.add_solute_source": (
        lambda c, **k: c.scene.add_solute_source(**{"body": "taken", "source": 1.0, **k}), {"where": SHAPE},
        {"body": [None, 1, "cube", b"x", ["body"]], "where": [1, "left", S.Ball, BALL, [True]], "source": NUMBER,
         "name": [1, "", " ", b"x", ["x"], "walls", "a\nb", "fixed"]}),
    "factor_of_safety": (lambda c, **k: mpm.factor_of_safety(**{"build": unsafe, **k}), {},
                         {"build": [None, 1, "f"],
                          "between": [*VECTOR, (0, 1), (-1, 1), (2, 1), (1, 1)],
                          "tolerance": [*NUMBER, 0, 1], "duration": [v for v in POSITIVE if v is not None]}),
    "fragments": (lambda c, **k: mpm.fragments(**{"sim": c.sim, **k}), {},
                  {"sim": [None, 1, "s", []], "damage": [*NUMBER, -0.1, 1.1], "least": COUNT}),
    "Scene.lithostatic": (lambda c, **k: a_column().lithostatic(**k), {"K0": 0.5},
                          {"K0": [*(v for v in NOT_NEGATIVE if v is not None), None, {"nobody": 1}, {"ground": -1}]}),
    "Scene.hold": (lambda c, **k: c.scene.hold(**{"body": "taken", "velocity": (0, None), **k}), {"where": SHAPE},
                   {"body": [None, 1, "cube", b"x", ["body"]], "where": [1, "left", S.Ball, BALL, [True]],
                    "velocity": [*(v for v in VECTOR_2D if str(v) != "(None, 1)"), None, (None, None), (None, "a"),
                                 (1e91, 0)],
                    "name": [1, "", " ", b"x", ["x"], "walls", "a\nb", "fixed"]}),
    "Scene.set_contact": (lambda c, **k: c.pair.set_contact(**k), {"a": "body0", "b": "body1", "contact": "separate"},
                          {"a": [1, None, "", "none", ["body0"]], "b": [1, None, "none", "body0"],
                           "contact": [*NAME, mpm.Wall("slip")]}),
    "Scene.add_collider": (lambda c, **k: c.scene.add_collider(**k), {"shape": SHAPE, "motion": motion.Linear((1, 0))},
                           {"shape": [None, 1, "ball", S.Ball, BALL, S.Points([(0.5, 0.5)]), []],
                            "contact": [*NAME, "mirror"],
                            "friction": NOT_NEGATIVE, "restitution": [*NUMBER, -1, 1.5],
                            "speeds": [*(v for v in VECTOR if v is not None), (2, 1)],
                            "temperature": [v for v in POSITIVE if v is not None], "flux": NUMBER,
                            "transfer": [1, "a", (1,), (0, 300.0), (1.0, -5.0), (NAN, 1)], **SUPPLY,
                            "friction_heat": SHARE,
                            "motion": [1, (1, 0), "linear", motion.Linear, motion.Linear((1, 0, 0))],
                            "name": [1, "", " ", b"x", ["x"], "fixed", "a\nb", "a\0b", "\ud800"]}),
    "joints.Hinge": (lambda c, **k: mpm.joints.Hinge(**k), {"point": (0, 0)},
                     {"point": [*VECTOR, None], "axis": ["z", 1.0, (0, 1), (0, 0, 0), (NAN, 0, 1)], "spin": SPEED}),
    "joints.Slider": (lambda c, **k: mpm.joints.Slider(**k), {"direction": (1, 0)},
                      {"direction": [*VECTOR, None, (0, 0)], "speed": SPEED}),
    "joints.Socket": (lambda c, **k: mpm.joints.Socket(**k), {"point": (0, 0, 0)}, {"point": [*VECTOR, None]}),
    "joints.FixedAxis": (lambda c, **k: mpm.joints.FixedAxis(**k), {},
                         {"axis": ["z", 1.0, (0, 1), (0, 0, 0), (NAN, 0, 1)], "spin": SPEED}),
    "motion.Linear": (lambda c, **k: motion.Linear(**k), {"velocity": (1, 0)},
                      {"velocity": [*VECTOR, None, (1e91, 0)]}),
    "motion.Rotation": (lambda c, **k: motion.Rotation(**k), {"angular_velocity": 1.0, "about": (0, 0)},
                        {"angular_velocity": [*NUMBER, 1e91], "about": [*VECTOR, (0, 0, 0)],
                         "axis": ["z", 1.0, (0, 1)]}),
    "motion.Rotation in 3-D": (lambda c, **k: motion.Rotation(**k), {"angular_velocity": 1.0, "axis": (0, 0, 2)},
                               {"axis": ["z", 1.0, (1, 2), (0, 0, 0), (NAN, 0, 1), ("a", 0, 1)], "about": [(1, 2)]}),
    "motion.Sinusoid": (lambda c, **k: motion.Sinusoid(**k), {"amplitude": (1, 0), "frequency": 2.0},
                        {"amplitude": [*VECTOR, None, (0, -1e91)], "frequency": [*POSITIVE, 1e91]}),
    "motion.Keyframes": (lambda c, **k: motion.Keyframes(**k), {"times": [0, 1], "positions": [(0, 0), (1, 0)]},
                         {"times": ["ab", None, 1.0, {}, [], [1, 0], [0, 0], [0, NAN], [(0, 1)], ["0", "1"],
                                    [0, 1e91]],
                          "positions": [*ROWS, None, [(0, 0)], [(0, 0), (1e91, 0)]],
                          "angles": ["ab", 1.0, [0], [0, INF], [0, 1e91], [(0, 0, 0)] * 2]}),
    "motion.Velocities": (lambda c, **k: motion.Velocities(**k), {"times": [0, 1], "velocities": [(0, 0), (1, 0)]},
                          {"times": ["ab", None, 1.0, {}, [], [1, 0], [0, 0], [0, NAN], [(0, 1)], ["0", "1"]],
                           "velocities": [*ROWS, None, [(0, 0)], [(0, 0), (1e91, 0)]], "about": [*VECTOR, (0, 0, 0)],
                           "angular_velocities": ["ab", 1.0, [0], [0, INF], [0, 1e91]], "axis": ["z", 1.0, (0, 1)]}),
    "motion.Keyframes.of": (lambda c, **k: motion.Keyframes.of(**k),
                            {"f": lambda t: (t, 0.0), "until": 1.0, "interval": 0.25},
                            {"f": [None, 1, "f", lambda t: "x", lambda t: 1.0], "until": [*NUMBER, 0.0, -1.0],
                             "interval": [*POSITIVE, 1e-9], "start": NUMBER}),
    "Points": (lambda c, **k: S.Points(**k), {"x": [(0.5, 0.5), (0.6, 0.5)]},
               {"x": [*ROWS, np.zeros((0, 2))], "volume": ["1", {}, True, NAN, INF, 0, -1, (1,), (1, 2, 3), (1, -1)]}),
    "Shape.from_file of Points": (lambda c, **k: S.Points.from_file(**{"path": c.folder / "points.csv", **k}), {},
                        {"path": FILE, "volume": [0, -1.0, NAN, "many", [1.0, 2.0, 3.0], object()],
                         "dimension": [0, 4, 2.0, "2", True, 3, [2]]}),
    "Shape.contains": (lambda c, **k: SHAPE.contains(**k), {"x": [(0, 0)]}, {"x": [*ROWS, [(1, 2, 3)]]}),
    "Shape.translate": (lambda c, **k: SHAPE.translate(**k), {"by": (1, 0)}, {"by": [*VECTOR_2D, None]}),
    "Shape.rotate": (lambda c, **k: SHAPE.rotate(**k), {"angle": 1.0},
                     {"angle": NUMBER, "about": VECTOR_2D, "axis": ["z", 1, (0, 0, 1)]}),
    "Shape.rotate in 3-D": (lambda c, **k: BALL.rotate(**k), {"angle": 1.0, "axis": (0, 0, 2)},
                            {"axis": ["z", None, 1.0, (1, 2), (0, 0, 0), (NAN, 0, 1), ("a", 0, 1)], "about": [(1, 2)]}),
    "Shape.scale": (lambda c, **k: SHAPE.scale(**k), {"by": 2.0},
                    {"by": ["2", None, {}, True, NAN, INF, 0, -1, (1, 2, 3), (1, 0)], "about": VECTOR_2D}),
    "viz.MovieWriter": (lambda c, **k: viz.MovieWriter(**{"path": c.folder / "frames", **k}), {"fps": 30},
                        {"path": [1, None, "a.avi", "", ["x"]], "fps": POSITIVE, "size": SIZE}),
    "viz.MovieWriter.add": (lambda c, **k: c.writer.add(**k), {"image": np.zeros((64, 80, 3), np.uint8)},
                            {"image": [*PICTURE, np.zeros((80, 64, 3), np.uint8)]}),
    "viz.Renderer": (lambda c, **k: viz.Renderer(**{"sim": c.sim, **k}), {},
                     {"sim": SIM, "color": COLOR, "limits": LIMITS, **STYLE, "size": SIZE, "annotate": FLAG,
                      "cut": CUT}),
    "viz.contact_sheet": (lambda c, **k: viz.contact_sheet(**k), {"frames": [np.zeros((4, 4, 3), np.uint8)]},
                          {"frames": [*([p] for p in PICTURE), None, 1, "ab", [], {},
                                      [np.zeros((n, 4, 3), np.uint8) for n in (2, 4)]],
                           "columns": [v for v in COUNT if not isinstance(v, int) or v < 1]}),
    "viz.save_image": (lambda c, **k: viz.save_image(**{"path": c.folder / "a.png", **k}),
                       {"image": np.zeros((4, 4, 3), np.uint8)},
                       {"image": PICTURE, "path": [None, 1, "", "a", "a.nonsense", ["a.png"]]}),
    "replay": (lambda c, **k: mpm.replay(**{"path": c.folder / "a.vtkhdf", **k}), {},
               {"path": [1, None, "", ["x"], {}, "a\0"], "fps": [10, *(v for v in POSITIVE if v is not None)]}),
    "view": (lambda c, **k: mpm.view(**{"source": c.frames, **k}), {},
             {"source": [None, 1, "", mpm.Simulation, [], mpm.Scene((0, 0), (1, 1))], "folder": [1, ["x"], {}]}),
    "Frame.compute": (lambda c, **k: c.frames[0].compute(**k), {"name": "speed"}, {"name": [*NAME, "pressure", "x"]}),
    "Frame.collider_distance": (lambda c, **k: c.frames[0].collider_distance(**k), {"name": "fixed", "x": [(0, 0)]},
                                {"name": [*NAME, "fixd"], "x": [*ROWS, [(1, 2, 3)]]}),
    "Frame.plot": (lambda c, **k: c.frames[0].plot(**{"ax": c.ax, **k}), {},
                   {**INTO, "color": PLAIN_COLOR, "limits": LIMITS, **STYLE, "renderer": RENDERER, "cut": CUT}),
    "Frame.surface": (lambda c, **k: solid_frame(c).surface(**k), {}, SKIN),
    "Surface.save": (lambda c, **k: solid_frame(c).surface().save(**{"path": c.folder / "s.obj", **k}), {},
                         {"path": [*FILE, "a.png"]}),
    "Replay.at": (lambda c, **k: c.frames.at(**k), {"time": 0.0}, {"time": [*NUMBER, -1.0, 1e9]}),
    "Replay.plot": (lambda c, **k: c.frames.plot(**{"i": 0, "ax": c.ax, **k}), {},
                    {"i": ["0", None, 0.0, [0], 99, -99, True], **INTO, "color": PLAIN_COLOR, "limits": LIMITS,
                     **STYLE, "renderer": RENDERER, "cut": CUT}),
    "Replay.movie": (lambda c, **k: c.frames.movie(**{"path": c.folder / "frames", **k}), {"size": (64, 64)},
                     {"path": [1, None, "a.avi", ""], "fps": [v for v in POSITIVE if v is not None],
                      "color": PLAIN_COLOR, "limits": LIMITS, **STYLE, "renderer": RENDERER, "cut": CUT, "size": SIZE,
                      "progress": FLAG}),
    "integrators.integrate": (lambda c, **k: integrators.integrate(**k),
                              {"system": integrators.Oscillator(), "x": [1.0, 2.0], "v": [0.0, 0.0], **STEPPED},
                              {"system": [None, 1, "oscillator", integrators.Oscillator, lambda x, v, t: x, ROTATION],
                               "x": EVERYWHERE, "v": [*EVERYWHERE, 1.0, [1.0], [[1.0, 2.0]]], **RUN}),
    "integrators.integrate of two bodies": (lambda c, **k: integrators.integrate(integrators.TwoBody(), **k),
                                            {"x": [(0, 0), (1, 0)], "v": [(0, 0), (0, 1)], **STEPPED},
                                            {"x": [1.0, (1, 2), [(1, 2)], np.ones((3, 2)), np.ones((2, 4))]}),
    "integrators.integrate of springs": (lambda c, **k: integrators.integrate(integrators.MassSpring(**NET), **k),
                                         {"x": [(0, 0), (1, 0), (2, 0)], "v": np.zeros((3, 2)), **STEPPED},
                                         {"x": [1.0, (1, 2, 3), [(1, 2)], np.ones((2, 2)), np.ones((3, 4))]}),
    "integrators.advect": (lambda c, **k: integrators.advect(**k), {"field": ROTATION, "x": [(1.0, 2.0)], **STEPPED},
                           {"field": [None, 1, "rotation", integrators.Rotation, (0, 1)],
                            "x": [*EVERYWHERE, 1.0, [1.0], [(1, 2, 3)], np.zeros((1, 1, 2))],
                            **RUN, "method": [*RUN["method"], "verlet"]}),
    "integrators.oscillator": (lambda c, **k: integrators.oscillator(**k),
                               {"method": "verlet", "z": 0.1, "periods": 1},
                               {"method": [*NAME, "euler"], "z": [*POSITIVE, 1e60], "periods": [*POSITIVE, 1e10]}),
    "integrators.Oscillator": (lambda c, **k: integrators.Oscillator(**k), {},
                               {"omega": POSITIVE, "damping": NOT_NEGATIVE}),
    "integrators.TwoBody": (lambda c, **k: integrators.TwoBody(**k), {"masses": (1, 2)},
                            {"masses": [*VECTOR_2D, (0, 1), (-1, 1)], "G": POSITIVE}),
    "integrators.TwoBody.orbit": (lambda c, **k: integrators.TwoBody().orbit(**k), {"eccentricity": 0.5},
                                  {"eccentricity": [*NOT_NEGATIVE, 1, 1.5], "semi_major_axis": POSITIVE}),
    "integrators.TwoBody.period": (lambda c, **k: integrators.TwoBody().period(**k), {}, {"semi_major_axis": POSITIVE}),
    "integrators.MassSpring": (lambda c, **k: integrators.MassSpring(**k), NET,
                               {"mass": [*EVERYWHERE, 1.0, [], [0, 1, 1], [-1, 1, 1], [[1, 1, 1]]],
                                "springs": ["ab", None, 1, {}, [0, 1], [(0, 1, 2)], [(0, 3)], [(0, -1)], [(0, 0)],
                                            [(0.0, 1.0)], [(True, False)], [(0, 1), (0,)], [(NAN, 0)], [("a", "b")]],
                                "stiffness": EACH, "length": EACH, "damping": EACH,
                                "fixed": ["ab", None, 1, {}, [3], [-1], [0.0], [True], [(0, 1)], [[1], [1, 2]]],
                                "gravity": [v for v in VECTOR if not isinstance(v, tuple) or len(v) != 1]}),
    "integrators.System": (lambda c, **k: integrators.System(**k), {"force": lambda x, v, t: -x},
                           {"force": [None, 1, "f", [], np.eye(2)], "jacobian": [1, "f", np.eye(2)],
                            "potential": [1, "f", [1]], "mass": [*EVERYWHERE, 0, -1.0, [0.0], [1, -1]]}),
    "integrators.Rotation": (lambda c, **k: integrators.Rotation(**k), {}, {"omega": NUMBER, "center": VECTOR_2D}),
    "integrators.Shear": (lambda c, **k: integrators.Shear(**k), {}, {"rate": NUMBER}),
    "integrators.VortexPair": (lambda c, **k: integrators.VortexPair(**k), {},
                               {"circulation": NUMBER, "distance": POSITIVE, "core": POSITIVE}),
    "viz.plot_history": (lambda c, **k: viz.plot_history(**{"history": c.sim.history, "ax": c.ax, **k}), {},
                         {"history": [None, 1, {}, mpm.Simulation], **INTO}),
    "samples.path": (lambda c, **k: mpm.samples.path(**k), {"name": "jelly"}, {"name": NAME}),
    "plot.history": (lambda c, **k: mpm.plot.history(**{"source": c.sim, "ax": c.ax, **k}), {},
                     {"source": SIM, "columns": [1, {}, [], ["kinetik"], [1], b"dt"], "x": [*NAME, "kinetik"],
                      "y": [1, {}, [], ["kinetik"], [1], b"dt"], **INTO}),
    "plot.field": (lambda c, **k: mpm.plot.field(**{"sim": c.sim, "ax": c.ax, "y": 0.5, **k}), {"name": "speed"},
                   {"sim": SIM, "name": [v for v in COLOR if isinstance(v, str)],
                    "x": [v for v in NUMBER if v is not None], "y": NUMBER,
                    "z": [0.5, *(v for v in NUMBER if v is not None)], "width": [v for v in POSITIVE if v is not None],
                    "limits": LIMITS, **INTO}),
    "compare_plot": (lambda c, **k: mpm.compare_plot(**{"source": c.sim, **k}),
                     {"parameter": "dx", "values": [0.25], "times": 0},
                     {"source": [None, 1, "sim", [], {}, [1], {"a": 1}], "parameter": NAME,
                      "values": [1, None, "ab", {}, [], ["a"], [-1]],
                      "times": [*(v for v in NUMBER if not isinstance(v, (list, np.ndarray))), -1.0, [], (2, 1)],
                      "color": COLOR, "limits": LIMITS, **STYLE, "cut": CUT,
                      "figsize": FIGSIZE,
                      "figure": [1, "f", object(), []]}),
}
for part in ("thermal", "solute", "pore"):
    for _, _, wrong in (TARGETS[name] for name in TARGETS if part in getattr(getattr(M, name, 0), "__slots__", ())):
        wrong[part] = [1.0, "steel", {}, (1.0, 1.0)]
FLOWS = {
    "JohnsonCook": M.JohnsonCook(**JOHNSON_COOK),
    "VonMises": M.VonMises(E=1e5, nu=0.3, yield_stress=1e3, density=1),
    **{name: getattr(M, name)(E=1e5, nu=0.3, density=1)
       for name in ("NACC", "DruckerPrager", "MohrCoulomb", "MuI", "Viscoelastic")},
    "CamClay": M.CamClay(shear_modulus=1e5, density=1, swelling=0.02, compression=0.1, critical_slope=1,
                         preconsolidation=1e4),
    "Brittle": M.Brittle(E=1e5, nu=0.3, density=1, tensile_strength=1e3, fracture_energy=1, crack_band=0.1),
    "HerschelBulkley": M.HerschelBulkley(bulk_modulus=1e5, shear_modulus=1e4, yield_stress=1, consistency=1, density=1),
}
for flowing, flows in FLOWS.items():
    state = {"F": [*GRADIENTS, -np.eye(3)[None]], "history": HISTORY}
    TARGETS |= {
        f"{flowing}.return_map": (lambda c, flows=flows, **k: flows.return_map(**k),
                                  {"F": np.eye(3)[None], "history": {}, "dt": 1.0}, {**state, "dt": NOT_NEGATIVE}),
        f"{flowing}.stress": (lambda c, flows=flows, **k: flows.stress(**k),
                              {"F": np.eye(3)[None], "history": {}}, state),
        f"{flowing}.energy": (lambda c, flows=flows, **k: flows.energy(**k),
                              {"F": np.eye(3)[None], "history": {}}, state),
    }
# fmt: on
