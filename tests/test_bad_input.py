"""Wrong arguments: every parameter of every public callable, with wrong types, shapes, NaN and ranges.

The cases are made from a table of kinds (what is wrong for a number, a vector, ...) and a table of callables
(which of their parameters is of which kind). Each has to raise TypeError or ValueError that names the parameter,
and to leave a simulation as it was.
"""

import inspect
import math

import numpy as np
import pytest

import mpm
from mpm import viz

NAN, INF = math.nan, math.inf

NOT_A_NUMBER = ["1", None, [1.0, 2.0], {}, True, 1j, b"1", np.bool_(True), NAN, INF, -INF]
BAD = {
    "number": NOT_A_NUMBER,
    "positive": [*NOT_A_NUMBER, 0, -1.0],
    "not negative": [*NOT_A_NUMBER, -1e-300, -1.0],
    "count": [*NOT_A_NUMBER, 1.5, 2.0, 0, -1],
    "steps": [*NOT_A_NUMBER, 1.5, 2.0, -1],
    "flag": [1, 0, None, "yes", 1.0, []],
    "name": [1, None, "", "nonsense", b"apic", ["apic"]],
    "vector": [
        "ab", 1.0, {}, True, NAN, [], (1,), (1, 2, 3, 4), (NAN, 0), (0, INF), ((1, 2), (3, 4)), (1j, 0),
            ("a", "b"),
        (True, False), [[1], [1, 2]], (None, 1),
    ],
    "rows": [
        "ab", None, 1.0, {}, (1, 2), [[1, 2, 3, 4]], [[NAN, 0]], [[0, INF]], [["a", "b"]], [[1j, 0]], [[1,
            2], [3]],
    ],
    "matrices": [
        "ab", None, 1.0, {}, np.eye(2), np.zeros((1, 2, 3)), np.zeros((1, 4, 4)), np.full((1, 2, 2), NAN),
        np.full((1, 3, 3), INF), np.array([[["a", "b"], ["c", "d"]]]), np.ones((1, 2, 2), bool), [[1], [1,
            2]],
    ],
}  # fmt: skip
NU = [*NOT_A_NUMBER, 0.5, 0.6, -1, -2.0]
ELASTIC = {"E": "positive", "nu": NU, "density": "positive"}
ADD = {
    "shape": [None, 1, "Box", (0, 1), mpm.shapes.Box((0, 0, 0), (1, 1, 1))],
    "material": [None, 1, "Fluid", mpm.materials.Fluid, {}],
    "velocity": [*BAD["vector"], None, 1, -2.0, (1, 2, 3)],
    "angular_velocity": [*NOT_A_NUMBER, (1, 2, 3)],
    "F": [*BAD["vector"], np.zeros((2, 2)), np.diag([1, -1]), np.eye(3), np.full((2, 2), NAN)],
    "name": [1, "", "  ", b"x", ["x"], "taken"],
}  # fmt: skip
ADD_3D = {
    "shape": [mpm.shapes.Box((0, 0), (1, 1))],
    "velocity": [(1, 2), (1, NAN, 0), 3.0],
    "angular_velocity": ["1", None, 1.0, True, (1, 2), (NAN, 0, 0), (1j, 0, 0)],
    "F": [np.eye(2), -np.eye(3)],
}
BOX = {"lower": BAD["vector"], "upper": [*BAD["vector"], (0, 2), (-1, -1)]}
ROD = {"a": "vector", "b": [*BAD["vector"], (0.25, 0.25)], "radius": "positive"}
PLOT = {
    "color": [*BAD["name"], "stress", "x", "spede"],
    "limits": ["ab", 1.0, (1,), (1, 2, 3), (2, 1), (1, 1), (0, NAN)],
}

# Callable -> (how to call it, valid arguments, wrong arguments). `c` holds what a case may need; see `context`.
SHAPE = mpm.shapes.Ball((0.5, 0.5), 0.2)
TARGETS = {
    "Scene": (
        lambda c, **k: mpm.Scene(**k),
        {"lower": (0, 0), "upper": (1, 1)},
        {
            **BOX,
            "gravity": [*BAD["vector"], (0, 0, -9.81)],
            "walls": [1, None, "", "sliip", b"slip", ["slip"], {"x": "nonsense"}, {"w": "slip"},
                {"z": "slip"}, {"z-": "slip"},
                      {"x": "slip", "x-": "slip"}, {"x": None}, {1: "slip"}],
            "friction": "not negative",
        },
    ),
    "Wall": (
        lambda c, **k: mpm.Wall(**k),
        {"contact": "slip"},
        {"contact": "name", "friction": "not negative"},
    ),
    "FixedCorotated": (
        lambda c, **k: mpm.materials.FixedCorotated(**k), {"E": 1e5, "nu": 0.3, "density": 1e3}, ELASTIC,
    ),
    "NeoHookean": (
        lambda c, **k: mpm.materials.NeoHookean(**k), {"E": 1e5, "nu": 0.3, "density": 1e3}, ELASTIC,
    ),
    "Fluid": (
        lambda c, **k: mpm.materials.Fluid(**k),
        {"bulk_modulus": 1e5, "density": 1e3},
        {"bulk_modulus": "positive", "density": "positive", "gamma": [*NOT_A_NUMBER, 0, -1, 0.9],
         "viscosity": "not negative"},
    ),
    "Material.stress": (
        lambda c, **k: c["solid"].stress(**k), {"F": np.eye(2)[None]}, {"F": [*BAD["matrices"], np.zeros((1,
            2, 2))]},
    ),
    "Material.energy": (lambda c, **k: c["solid"].energy(**k), {"F": np.eye(3)[None]}, {"F": "matrices"}),
    "Scene.add": (
        lambda c, **k: c["scene"].add(**k), {"shape": SHAPE, "material": mpm.materials.Fluid(bulk_modulus=1,
            density=1)}, ADD,
    ),
    "Scene.add in 3-D": (
        lambda c, **k: c["scene3"].add(**k),
        {"shape": mpm.shapes.Ball((0.5, 0.5, 0.5), 0.2), "material": mpm.materials.Fluid(bulk_modulus=1,
            density=1)},
        ADD_3D,
    ),
    "Simulation": (
        lambda c, **k: mpm.Simulation(**{"scene": c["scene"], **k}),
        {"dx": 0.125},
        {
            "scene": [None, 1, "scene", mpm.Scene],
            "dx": [*BAD["positive"], 0.3, 2.0, 1e-12],
            "particles_per_cell": [*(v for v in BAD["count"] if v is not None), 3, 5, 8, 10**9],
            "sampling": [*BAD["name"], "latice"],
            "rng": [*NOT_A_NUMBER, 1.5, -1, np.random.RandomState(0)],
            "volume": [*BAD["name"], "sample"],
            "transfer": [*BAD["name"], "apicc"],
            "kernel": [*BAD["name"], "quadratik"],
            "gradient": [*BAD["name"], "mlss"],
            "flip_ratio": [*NOT_A_NUMBER, 0.9, 2.0],
            "xpic_order": [*NOT_A_NUMBER, 2, 1.5],
            "advect": [*BAD["name"], "particle"],
            "f_update": [*BAD["name"], "liner"],
            "c_damping": [*NOT_A_NUMBER, -0.1, 1.1],
            "dt": [*BAD["positive"], "automatic"],
            "max_dt": [v for v in BAD["positive"] if v is not None],
            "allow_unstable": [*BAD["flag"], True],
            "dtype": [1, None, "float16", "double precision", np.int32, object, float("nan"), "int64"],
            "threads": [*(v for v in BAD["count"] if v is not None), 10**9],
            "on_leave": [*BAD["name"], "rase"],
            "history": [*BAD["steps"], 2**40],
        },
    ),
    "set_num_threads": (lambda c, **k: mpm.set_num_threads(**k), {}, {"threads": [*BAD["count"], 10**9]}),
    "gallery.get": (lambda c, **k: mpm.gallery.get(**k), {"name": "jelly"}, {"name": [*BAD["name"], "jely"]}),
    "Entry.simulation": (
        lambda c, **k: mpm.gallery.get("disks").simulation(**k),
        {},
        {"scale": "positive", "scene": [1, "scene"], "dx": "positive"},
    ),
    "shapes.Box": (lambda c, **k: mpm.shapes.Box(**k), {"lower": (0, 0), "upper": (1, 1)}, BOX),
    "shapes.Ball": (
        lambda c, **k: mpm.shapes.Ball(**k), {"center": (0, 0), "radius": 1}, {"center": "vector",
            "radius": "positive"},
    ),
    "shapes.HalfSpace": (
        lambda c, **k: mpm.shapes.HalfSpace(**k),
        {"point": (0, 0), "normal": (0, 1)},
        {"point": "vector", "normal": [*BAD["vector"], (0, 0)]},
    ),
    "shapes.Capsule": (
        lambda c, **k: mpm.shapes.Capsule(**k), {"a": (0.25, 0.25), "b": (1, 1), "radius": 1}, ROD,
    ),
    "shapes.Cylinder": (
        lambda c, **k: mpm.shapes.Cylinder(**k), {"a": (0.25, 0.25), "b": (1, 1), "radius": 1}, ROD,
    ),
    "shapes.Polygon": (
        lambda c, **k: mpm.shapes.Polygon(**k),
        {"vertices": [(0, 0), (1, 0), (0, 1)]},
        {"vertices": [*BAD["rows"], [(0, 0), (1, 1)], [(0, 0), (1, 1), (1, 0), (0, 1)]]},
    ),
    "shapes.Points": (
        lambda c, **k: mpm.shapes.Points(**k),
        {"x": [(0.5, 0.5), (0.6, 0.5)]},
        {"x": [*BAD["rows"], np.zeros((0, 2))], "volume": ["1", {}, True, NAN, INF, 0, -1, (1,), (1, 2, 3),
            (1, -1)]},
    ),
    "Shape.contains": (lambda c, **k: SHAPE.contains(**k), {"x": [(0, 0)]}, {"x": "rows"}),
    "Shape.translate": (lambda c, **k: SHAPE.translate(**k), {"by": (1, 0)}, {"by": [*BAD["vector"], (1, 2,
        3)]}),
    "Shape.rotate": (
        lambda c, **k: SHAPE.rotate(**k), {"angle": 1.0}, {"angle": "number", "about": [*BAD["vector"], (1,
            2, 3)]},
    ),
    "Shape.scale": (
        lambda c, **k: SHAPE.scale(**k),
        {"by": 2.0},
        {"by": ["2", None, {}, True, NAN, INF, 0, -1, (1, 2, 3)], "about": [*BAD["vector"], (1, 2, 3)]},
    ),
    "viz.MovieWriter": (
        lambda c, **k: viz.MovieWriter(**{"path": c["folder"] / "frames", **k}),
        {"fps": 30},
        {"path": [1, None, "a.avi", "", ["x"]], "fps": "positive",
         "size": [1, None, "ab", (1,), (64, 64, 3), (64.0, 64), (65, 64), (0, 64), (10**6, 64)]},
    ),
    "viz.Renderer": (
        lambda c, **k: viz.Renderer(c["sim"], **k), {}, {**PLOT, "size": [1, (1,), (64.0, 64), (65, 64), (0,
            64)]},
    ),
    "viz.contact_sheet": (
        lambda c, **k: viz.contact_sheet(**k),
        {"frames": [np.zeros((4, 4, 3), np.uint8)]},
        {"frames": [[], [np.zeros((4, 4))], [np.zeros((4, 4, 3)), np.zeros((2, 4, 3))]], "columns": "count"},
    ),
    "viz.plot_history": (lambda c, **k: viz.plot_history(**k), {}, {"history": [None, 1, {}]}),
}  # fmt: skip
# Methods of a live simulation: its state may not change.
METHODS = {
    "Simulation.run": (lambda c, **k: c["sim"].run(**k), {"duration": 0}, {"duration": "not negative"}),
    "Simulation.step": (lambda c, **k: c["sim"].step(**k), {}, {"n": [*BAD["steps"], 2**63, 10**30]}),
    "Simulation.frames": (
        lambda c, **k: c["sim"].frames(**k),
        {"duration": 1, "fps": 10},
        {"duration": [*BAD["not negative"], 1e12], "fps": [*BAD["positive"], 1e12], "progress": "flag"},
    ),
    "Simulation.add": (
        lambda c, **k: c["sim"].add(**k),
        {"shape": mpm.shapes.Box((0, 0), (0.25, 0.25)), "material": mpm.materials.Fluid(bulk_modulus=1,
            density=1)},
        {
            **ADD,
            "shape": [*ADD["shape"], mpm.shapes.Box((5, 5), (6, 6)), mpm.shapes.Points([(0.5, 1.5)])],
            # Callables are called when there are positions.
            "velocity": [*ADD["velocity"], lambda x: x[:, :1], lambda x: x * NAN, lambda x: "fast",
                lambda x: None],
            "F": [*ADD["F"], lambda x: np.eye(2), lambda x: np.zeros((len(x), 2, 2)), lambda x: None],
        },
    ),
    "Simulation.compute": (
        lambda c, **k: c["sim"].compute(**k), {"name": "speed"}, {"name": [*BAD["name"], "presure"]},
    ),
    "Simulation.threads": (
        lambda c, **k: setattr(c["sim"], *k.popitem()), {}, {"threads": [*BAD["count"], 10**9]},
    ),
    "Simulation.plot": (lambda c, **k: c["sim"].plot(**k), {}, {**PLOT, "ax": [1, "ax", object()]}),
    "Simulation.movie": (
        lambda c, **k: c["sim"].movie(**{"path": c["folder"] / "frames", **k}),
        {"duration": 0, "fps": 10},
        {**PLOT, "path": [1, None, "a.avi", ""], "duration": "not negative", "fps": "positive",
            "progress": "flag",
         "size": [1, (1,), (64.0, 64), (65, 64), (0, 64)]},
    ),
    "Particles.delete": (
        lambda c, **k: c["sim"].particles.delete(**k),
        {"rows_or_mask": []},
        {"rows_or_mask": [None, "ab", 1, {}, [-1], [10**6], [0.5], [NAN], [[0]], np.ones(3, bool), [[1], [1,
            2]], ["0"]]},
    ),
    "Particles.__setitem__": (
        lambda c, **k: c["sim"].particles.__setitem__("v", k["v"]),
        {},
        {"v": ["ab", None, (1, 2, 3), np.zeros((3, 2)), [[1], [1, 2]], {}, True, (1j, 0)]},
    ),
}  # fmt: skip


def cases(targets):
    for title, (_, _, wrong) in targets.items():
        for parameter, kind in wrong.items():
            for k, value in enumerate(BAD[kind] if isinstance(kind, str) else kind):
                yield pytest.param(title, parameter, value, id=f"{title}-{parameter}-{k}")


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    solid = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(mpm.shapes.Box((0.25, 0.25), (0.75, 0.75)), solid, name="taken")
    scene3 = mpm.Scene((0, 0, 0), (1, 1, 1))
    sim = mpm.Simulation(scene, dx=0.125, threads=1)
    sim.step(3)
    folder = tmp_path_factory.mktemp("movies")
    return {"solid": solid, "scene": scene, "scene3": scene3, "sim": sim, "folder": folder}


def refuse(targets, context, title, parameter, value):
    call, valid, _ = targets[title]
    with pytest.raises((TypeError, ValueError)) as caught:
        call(context, **{**valid, parameter: value})
    assert parameter in str(caught.value)
    # What names a feature of later must not be mistaken for an argument error, nor the other way round.
    assert not isinstance(caught.value, NotImplementedError)


@pytest.mark.parametrize(("title", "parameter", "value"), list(cases(TARGETS)))
def test_is_refused(context, title, parameter, value):
    bodies = context["scene"].bodies, context["scene3"].bodies
    refuse(TARGETS, context, title, parameter, value)
    assert (context["scene"].bodies, context["scene3"].bodies) == bodies


@pytest.mark.parametrize(("title", "parameter", "value"), list(cases(METHODS)))
def test_is_refused_by_a_simulation_that_stays_as_it_was(context, title, parameter, value):
    sim = context["sim"]
    before = sim.state_hash()
    refuse(METHODS, context, title, parameter, value)
    assert sim.state_hash() == before


@pytest.mark.parametrize("shape", [mpm.shapes.Ball((0.1, 0.1), 1e-6), mpm.shapes.Ball((0.3, 0.1), 1e-6)])
def test_a_body_smaller_than_the_particles_is_refused(context, shape):
    before = context["sim"].state_hash()
    with pytest.raises(ValueError, match="dx is larger than the body"):
        context["sim"].add(shape, context["solid"])
    assert context["sim"].state_hash() == before


def test_there_are_enough_cases():
    assert len(list(cases(TARGETS))) + len(list(cases(METHODS))) >= 300


@pytest.mark.parametrize(
    ("title", "function", "exempt"),
    [
        ("Scene", mpm.Scene.__init__, ()),
        ("Wall", mpm.Wall.__init__, ()),
        ("FixedCorotated", mpm.materials.FixedCorotated.__init__, ()),
        ("NeoHookean", mpm.materials.NeoHookean.__init__, ()),
        ("Fluid", mpm.materials.Fluid.__init__, ()),
        ("Material.stress", mpm.materials.Material.stress, ()),
        ("Material.energy", mpm.materials.Material.energy, ()),
        ("Scene.add", mpm.Scene.add, ()),
        ("Simulation", mpm.Simulation.__init__, ()),
        ("Simulation.run", mpm.Simulation.run, ()),
        ("Simulation.step", mpm.Simulation.step, ()),
        ("Simulation.frames", mpm.Simulation.frames, ()),
        ("Simulation.add", mpm.Simulation.add, ()),
        ("Simulation.compute", mpm.Simulation.compute, ()),
        ("Simulation.plot", mpm.Simulation.plot, ()),
        ("Simulation.movie", mpm.Simulation.movie, ()),
        ("set_num_threads", mpm.set_num_threads, ()),
        ("gallery.get", mpm.gallery.get, ()),
        ("shapes.Box", mpm.shapes.Box.__init__, ()),
        ("shapes.Ball", mpm.shapes.Ball.__init__, ()),
        ("shapes.HalfSpace", mpm.shapes.HalfSpace.__init__, ()),
        ("shapes.Capsule", mpm.shapes.Capsule.__init__, ()),
        ("shapes.Cylinder", mpm.shapes.Cylinder.__init__, ()),
        ("shapes.Polygon", mpm.shapes.Polygon.__init__, ()),
        ("shapes.Points", mpm.shapes.Points.__init__, ()),
        ("Shape.contains", mpm.shapes.Shape.contains, ()),
        ("Shape.translate", mpm.shapes.Shape.translate, ()),
        ("Shape.rotate", mpm.shapes.Shape.rotate, ("axis",)),  # 3-D only, see below
        ("Shape.scale", mpm.shapes.Shape.scale, ()),
    ],
)
def test_every_parameter_is_covered(title, function, exempt):
    wrong = {**TARGETS, **METHODS}[title][2]
    parameters = set(inspect.signature(function).parameters) - {"self", *exempt}
    assert parameters <= set(wrong)


@pytest.mark.parametrize("title", [*TARGETS, *METHODS])
def test_valid_arguments_are_taken(context, title, request):
    if title in ("set_num_threads", "viz.plot_history", "Simulation.threads", "Particles.__setitem__"):
        pytest.skip("has no valid arguments in the table")
    if title in ("Scene.add", "Scene.add in 3-D", "Simulation.add"):
        pytest.skip("would change what the other cases use")
    call, valid, _ = {**TARGETS, **METHODS}[title]
    result = call(context, **valid)
    if hasattr(result, "close"):
        result.close()


@pytest.mark.parametrize("axis", ["z", 1.0, (1, 2), (0, 0, 0), (math.nan, 0, 1)])
def test_axis_of_a_rotation(axis):
    with pytest.raises((TypeError, ValueError), match="axis"):
        mpm.shapes.Ball((0, 0, 0), 1).rotate(1.0, axis=axis)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("kernel", lambda c: mpm.Simulation(c["scene"], dx=0.125, kernal="quadratic")),
        ("density", lambda c: mpm.materials.Fluid(bulk_modulus=1, densty=1)),
        ("friction", lambda c: mpm.Wall("slip", fricton=1)),
        ("gravity", lambda c: mpm.Scene((0, 0), (1, 1), gravitiy=(0, 0))),
        ("velocity", lambda c: c["scene"].add(SHAPE, c["solid"], velocty=(0, 0))),
        ("duration", lambda c: c["sim"].frames(durration=1, fps=1)),
        ("color", lambda c: c["sim"].plot(colour="speed")),
        ("nu", lambda c: mpm.gallery.get("cube").scene(n=0.3)),
    ],
)
def test_a_misspelt_option_proposes_the_right_one(context, message, call):
    with pytest.raises(TypeError, match=f"did you mean '{message}'"):
        call(context)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("particles", lambda c: c["sim"].particle),
        ("history", lambda c: c["sim"].histroy),
        ("gravity", lambda c: c["scene"].gravitiy),
        ("mass", lambda c: c["sim"].particles.maas),
        ("nu", lambda c: c["solid"].nuu),
        ("Scene", lambda c: mpm.Scenes),
        ("gallery", lambda c: mpm.galery),
        ("velocity", lambda c: setattr(c["sim"].particles, "velocity", 0)),
        ("threads", lambda c: setattr(c["sim"], "thread", 0)),
    ],
)
def test_a_misspelt_attribute_raises(context, message, call):
    with pytest.raises(AttributeError, match=message):
        call(context)


@pytest.mark.parametrize("name", ["time", "steps", "dt", "particles", "totals", "history", "scene"])
def test_what_a_simulation_tells_cannot_be_set(context, name):
    with pytest.raises(AttributeError, match="read-only"):
        setattr(context["sim"], name, 1)


@pytest.mark.parametrize("name", ["mass", "volume", "material", "id"])
def test_what_may_not_be_written(context, name):
    particles = context["sim"].particles
    assert not particles[name].flags.writeable
    with pytest.raises(ValueError, match=f"{name} is read-only"):
        setattr(particles, name, 1)


@pytest.mark.parametrize(
    ("feature", "call"),
    [
        ("collider", lambda c: c["scene"].add_collider(SHAPE)),
        ("Linear", lambda c: mpm.motion.Linear((1, 0))),
        ("Keyframes", lambda c: mpm.motion.Keyframes([0], [(0, 0)])),
        ("flip", lambda c: mpm.Simulation(c["scene"], dx=0.125, transfer="flip")),
        ("cubic", lambda c: mpm.Simulation(c["scene"], dx=0.125, kernel="cubic")),
        ("bspline", lambda c: mpm.Simulation(c["scene"], dx=0.125, gradient="bspline")),
        ("cayley", lambda c: mpm.Simulation(c["scene"], dx=0.125, f_update="cayley")),
        ("grid-density", lambda c: mpm.Simulation(c["scene"], dx=0.125, volume="grid-density")),
        ("c_damping", lambda c: mpm.Simulation(c["scene"], dx=0.125, c_damping=0.1)),
        ("mirror", lambda c: mpm.Wall("mirror")),
        ("periodic", lambda c: mpm.Scene((0, 0), (1, 1), walls={"x": "periodic"})),
        ("Snow", lambda c: mpm.materials.Snow()),
        ("Snow", lambda c: mpm.materials.Snow.preset("reference")),
        ("save", lambda c: c["sim"].save("x")),
        ("record", lambda c: c["sim"].record("x", fps=1)),
        ("view", lambda c: c["sim"].view()),
        ("load", lambda c: mpm.load("x")),
        ("replay", lambda c: mpm.replay("x")),
        ("diff", lambda c: mpm.diff(c["sim"], c["sim"])),
        ("export", lambda c: mpm.export(c["sim"], "x{}")),
        ("copying", lambda c: __import__("copy").deepcopy(c["sim"])),
        ("pickling", lambda c: __import__("pickle").dumps(c["sim"])),
    ],
)
def test_what_is_not_there_yet_says_so(context, feature, call):
    with pytest.raises(NotImplementedError, match=feature):
        call(context)
