"""Wrong arguments: every parameter of every public callable, with wrong types, shapes, NaN and ranges.

A test has all cases of one row of a table: `TARGETS` in `wrong_arguments.py`, or `METHODS` here. Each case has to raise
TypeError or ValueError that begins with the parameter's name, and to leave a simulation and a scene as they were.
"""

import contextlib
import copy
import functools
import inspect
import re
from types import SimpleNamespace

import numpy as np
import pytest

import mpm
from loops import each
from mpm import fem, integrators, motion, sph, viz
from mpm.gallery import Entry
from mpm.handles.replay import Frame, Replay
from mpm.io.trajectory import Recording
from mpm.mpm.grid import Grid
from mpm.scene.scene import Body
from mpm.solver.particles import Particles
from mpm.solver.totals import History, Totals
from wrong_arguments import (
    ADD_NOW,
    BALL,
    COLOR,
    COUNT,
    CUT,
    DEVICE,
    FIELDS,
    FILE,
    FLAG,
    INF,
    INTO,
    LIMITS,
    NAME,
    NAN,
    NO_PATH,
    NOT_NEGATIVE,
    NUMBER,
    POSITIVE,
    RENDERER,
    ROWS,
    SIM,
    SIZE,
    SKIN,
    STYLE,
    SUPPLY,
    TARGETS,
    VECTOR,
    WATER,
    WHOLE,
    M,
    P,
    S,
    solid,
)


def moved(sim):
    """A copy after a step, whose history has forces."""
    twin = copy.copy(sim)
    twin.step()
    return twin


def boulder():
    """A simulation with a rigid body."""
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(S.Ball((0.5, 0.5), 0.2), M.Rigid(density=1), name="boulder")
    return mpm.Simulation(scene, dx=0.25, threads=1)


# fmt: off
# What has a live simulation in its hands.
METHODS = {
    "Simulation.run": (lambda c, **k: c.sim.run(**k), {"duration": 0},
                       {"duration": NOT_NEGATIVE, "max_steps": [*(w for w in WHOLE if w is not None), 0, 2**63],
                        "progress": FLAG, "callback": [1, "f", [], print], "every": [1, 0.5, "often", 0, -1.0]}),
    "doctor": (lambda c, **k: mpm.doctor(**{"sim": c.sim, **k}), {}, {"sim": SIM}),
    "Simulation.step": (lambda c, **k: c.sim.step(**k), {"n": 0}, {"n": [*WHOLE, 2**63, 10**30]}),
    "Simulation.frames": (lambda c, **k: c.sim.frames(**k), {"duration": 1, "fps": 10},
                          {"duration": [*NOT_NEGATIVE, 1e12], "fps": [*POSITIVE, 1e12], "progress": FLAG}),
    "Simulation.add": (lambda c, **k: c.sim.add(**k), {"shape": S.Box((0, 0), (0.25, 0.25)), "material": WATER},
                       ADD_NOW),
    **{
        f"{method}.add_collider": (
            lambda c, of=of, **k: getattr(c, of).add_collider(**k),
            {"shape": S.Box((0.1, 0.8), (0.9, 1.2)), "name": "late"},
            {"shape": [None, 1, "ball", S.Ball, BALL, S.Points([(0.5, 0.5)]), []],
             "contact": [*NAME, "mirror"], "friction": NOT_NEGATIVE,
             "restitution": [*NUMBER, -1, 0.5, 1.5], "speeds": [*(v for v in VECTOR if v is not None), (2, 1)],
             "temperature": [v for v in POSITIVE if v is not None], "flux": NUMBER,
             "transfer": [1, "a", (1,), (0, 300.0), (1.0, -5.0), (NAN, 1)], **SUPPLY,
             "friction_heat": [*NUMBER, -0.1, 1.1],
             "motion": [1, (1, 0), "linear", motion.Linear, motion.Linear((1, 0, 0))],
             "name": [1, "", " ", b"x", ["x"], "fixed", "a\nb", "a\0b", "\ud800"]})
        for method, of in (("Simulation", "sim"), ("sph.Simulation", "sph"), ("fem.Simulation", "fem"))
    },
    "Simulation.collider_distance": (lambda c, **k: c.sim.collider_distance(**k), {"name": "fixed", "x": [(0, 0)]},
                                     {"name": [*NAME, "fixd"], "x": [*ROWS, [(1, 2, 3)]]}),
    "Simulation.equilibrate": (lambda c, **k: c.sim.equilibrate(**k), {},
                               {"increments": [*COUNT, 10**5], "tolerance": [*POSITIVE, 1e-9, 0.2]}),
    "Simulation.rows": (lambda c, **k: c.sim.rows(**k), {"body": "taken"}, {"body": NAME}),
    "Simulation.set": (lambda c, **k: c.sim.set(**k), {"name": "gravity", "value": (0, -1)}, {"name": NAME}),
    "Simulation.set of gravity": (lambda c, **k: c.sim.set("gravity", **k), {"value": (0, -1)},
                                  {"value": [None, "down", {}, 3, (1, 2, 3), (0, NAN), (INF, 0)]}),
    "Simulation.rigid": (lambda c, **k: boulder().rigid(**k), {"body": "boulder"}, {"body": NAME}),
    "Simulation.compute": (lambda c, **k: c.sim.compute(**k), {"name": "speed"}, {"name": [*NAME, "presure", "x"]}),
    "Simulation.interpolate": (lambda c, **k: c.sim.interpolate(**k), {"name": "v", "points": [(0.5, 0.5)]},
                               {"name": [*NAME, "presure", "grad"], "points": ROWS}),
    "Simulation.threads": (lambda c, **k: setattr(c.sim, *k.popitem()), {"threads": 1}, {"threads": [*COUNT, 10**9]}),
    "Simulation.plot": (lambda c, **k: c.sim.plot(**{"ax": c.ax, **k}), {},
                        {"color": COLOR, "limits": LIMITS, **STYLE, **INTO, "renderer": RENDERER, "cut": CUT}),
    "viz.plot": (lambda c, **k: viz.plot(**{"sim": c.sim, "ax": c.ax, **k}), {},
                 {"sim": SIM, "color": COLOR, "limits": LIMITS, **STYLE, **INTO, "renderer": RENDERER, "cut": CUT}),
    "Simulation.save": (lambda c, **k: c.sim.save(**{"path": c.folder / "a.mpm", **k}), {}, {"path": NO_PATH}),
    "load": (lambda c, **k: mpm.load(**{"path": saved(c), **k}), {"threads": 2},
             {"path": NO_PATH, "threads": [*(v for v in COUNT if v is not None), 10**9],
              "body_force": [3, "f", (0, -1), len], "comm": [1, True, "world", object, []], "device": DEVICE,
             "distributed": [True, 1, "yes", None], "loads": [1, "push", [print], {"push": 1}, {"push": None}],
             "laws": [1, "mine", [M.Sand()], {"mine": M.Sand()}, {"mine": None}]}),
    "diff": (lambda c, **k: mpm.diff(**{"a": c.sim, "b": c.sim, **k}), {}, {"a": SIM, "b": SIM}),
    "Simulation.movie": (lambda c, **k: c.sim.movie(**{"path": c.folder / "frames", **k}),
                         {"duration": 0, "fps": 10, "size": (64, 64)},
                         {"path": [1, None, "a.avi", ""], "duration": [*NOT_NEGATIVE, 1e12], "fps": POSITIVE,
                          "progress": FLAG, "color": COLOR, "limits": LIMITS, **STYLE, "size": SIZE,
                          "renderer": RENDERER, "cut": CUT}),
    "viz.movie": (lambda c, **k: viz.movie(**{"sim": c.sim, "path": c.folder / "frames", **k}),
                  {"duration": 0, "fps": 10, "size": (64, 64)},
                  {"sim": SIM, "path": [1, None, "a.avi", ""], "duration": NOT_NEGATIVE, "fps": POSITIVE,
                   "progress": FLAG, "color": COLOR, "limits": LIMITS, **STYLE, "size": SIZE,
                   "renderer": RENDERER, "cut": CUT}),
    "viz.Renderer.frame": (lambda c, **k: viz.Renderer(c.sim, size=(64, 64)).frame(**{"sim": c.sim, **k}), {},
                           {"sim": SIM}),
    "Simulation.record": (lambda c, **k: c.sim.record(**{"path": c.folder / "b.vtkhdf", **k}), {"fps": 10},
                          {"path": [*FILE, "a.h5"], "fps": POSITIVE, "fields": FIELDS,
                           "compression": [*WHOLE, 10]}),
    "export": (lambda c, **k: mpm.export(**{"source": c.sim, "pattern": c.folder / "b.ply", **k}), {},
               {"source": [*SIM, np.zeros((3, 2))], "pattern": [*NO_PATH, "a.xyz", "{x}.ply", "{}{}.ply", "{.ply"],
                "fields": FIELDS, "progress": FLAG, "surface": [3, "yes", True, {"w": 1}]}),
    **{f"{method}.force": (lambda c, of=of, **k: moved(getattr(c, of)).force(**k), {"name": "walls"},
                           {"name": NAME, "window": [v for v in POSITIVE if v is not None]})
       for method, of in (("Simulation", "sim"), ("sph.Simulation", "sph"), ("fem.Simulation", "fem"))},
    **{f"{method}.settings_table": (lambda c, of=of, **k: getattr(c, of).settings_table(**k), {}, {"format": NAME})
       for method, of in (("Simulation", "sim"), ("sph.Simulation", "sph"), ("fem.Simulation", "fem"))},
    **{f"{method}.surface": (lambda c, **k: solid().surface(**k), {}, SKIN)
       for method in ("Simulation", "sph.Simulation", "fem.Simulation")},
    "Particles.add_field": (lambda c, **k: c.sim.particles.add_field(**k), {"name": "own"},
                            {"name": [*NAME[:4], "a b", "2d", "_a", "ä", "x", "Jp", "speed", "row", "delete", "a" * 32],
                             "rank": [*NAME, "matrix"], "unit": [1, None, "", "a" * 16], "initial": NUMBER}),
    "Particles.delete": (lambda c, **k: c.sim.particles.delete(**k), {"rows_or_mask": []},
                         {"rows_or_mask": [None, "ab", 1, {}, [-1], [64], [10**6], [2**63], [0.5], [NAN], [[0]], ["0"],
                                           np.ones(3, bool), np.ones((64, 1), bool), [[1], [1, 2]], [10**30], [1j]]}),
    "Particles.__getitem__": (lambda c, **k: c.sim.particles.__getitem__(**k), {"name": "x"},
                              {"name": [1, None, b"x", ["x"]]}),
    "Particles.on_device": (lambda c, **k: lend(c, **k), {"name": "x"}, {"name": [1, None, b"x", ["x"]]}),
    "Particles.__setitem__": (lambda c, **k: c.sim.particles.__setitem__(**k), {"name": "v", "values": (0, 0)},
                              {"name": [1, None, b"x", ["x"]],
                               "values": ["ab", None, (1, 2, 3), np.zeros((3, 2)), [[1], [1, 2]], {}, True, (1j, 0),
                                          ("1", "2")]}),
}
# fmt: on


def triangle_from_file(path):
    meshio = pytest.importorskip("meshio")
    meshio.Mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [("triangle", [(0, 1, 2)])]).write(path)
    return S.Cells.from_file(path)


def by(kind, call, c, **k):
    """The call with another solver, `c.fem`, in the place of `c.sim`."""
    return call(SimpleNamespace(**{**vars(c), "sim": getattr(c, kind)}), **k)


METHODS |= {
    f"fem.{title}": (functools.partial(by, "fem", METHODS[title][0]), *METHODS[title][1:])
    for title in (
        *("Simulation.run", "Simulation.step", "Simulation.frames", "Simulation.plot", "Simulation.movie"),
        *("Simulation.record", "Simulation.save", "Simulation.threads", "Simulation.rows"),
        *("Simulation.set", "Simulation.set of gravity"),
        "Simulation.collider_distance",
    )
}
METHODS["Shape.from_file"] = (
    lambda c, **k: S.Cells.from_file(**k) if k else triangle_from_file(c.folder / "a.vtk"),
    {},
    {"path": [None, 1, {}, 1.5, ["x"], b"a.msh"]},
)
METHODS["fem.Simulation.compute"] = (
    lambda c, **k: c.fem.compute(**k),
    {"name": "stress"},
    {"name": [*NAME, "presure", "x"], "on": [*NAME, "node"]},
)
METHODS["fem.Simulation.interpolate"] = (
    lambda c, **k: c.fem.interpolate(**k),
    {"name": "v", "points": [(0.5, 0.5)]},
    {"name": [*NAME, "presure"], "points": ROWS},
)
METHODS |= {
    f"sph.{title}": (functools.partial(by, "sph", METHODS[title][0]), *METHODS[title][1:])
    for title in (
        *("Simulation.run", "Simulation.step", "Simulation.frames", "Simulation.plot", "Simulation.movie"),
        *("Simulation.record", "Simulation.save", "Simulation.threads", "Simulation.rows"),
        *("Simulation.set", "Simulation.set of gravity"),
        "Simulation.collider_distance",
    )
}
METHODS["sph.Simulation.compute"] = (
    lambda c, **k: c.sph.compute(**k),
    {"name": "pressure"},
    {"name": [*NAME, "F"]},
)
METHODS["sph.Simulation.interpolate"] = (
    lambda c, **k: c.sph.interpolate(**k),
    {"name": "v", "points": [(0.5, 0.5)]},
    {"name": [*NAME, "presure", "F"], "points": ROWS},
)
METHODS["sph.Simulation.add"] = (
    lambda c, **k: c.sph.add(**{"shape": S.Box((0.75, 0.75), (1, 1)), "material": WATER, **k}),
    {"name": "more"},
    {name: values for name, values in ADD_NOW.items() if name != "F"},
)
MUST_BE_NAMED_OTHERWISE = {
    "Particles.__getitem__": "field",
    "Particles.on_device": "field",
    **dict.fromkeys((f"{room}Simulation.set of gravity" for room in ("", "fem.", "sph.")), "gravity"),
    "Particles.__setitem__": r"(v|field)",  # the field is what the user has written, not the methods' parameters
}


def lend(c, name):
    """On processors no name is right."""
    with contextlib.suppress(KeyError):
        c.sim.particles.on_device(name)


def saved(c):
    """A checkpoint, beside what the tests of unchanged folders look at."""
    path = c.folder.parent / "saved.mpm"
    c.sim.save(path)
    return path


def make_things(folder):
    from matplotlib.figure import Figure

    solid = M.NeoHookean(E=1e4, nu=0.3, density=1000)
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(S.Box((0.25, 0.25), (0.75, 0.75)), solid, name="taken")
    periodic = mpm.Scene((0, 0), (1, 1), walls={"x": "periodic"})
    periodic.add(S.Box((0.25, 0.25), (0.75, 0.75)), solid)
    scene.add_collider(S.Ball((1, 0), 0.3), name="fixed")
    pair = mpm.Scene((0, 0), (1, 1), contact="separate")
    for low in (0.25, 0.5):
        pair.add(S.Box((low, 0.25), (low + 0.25, 0.75)), solid)
    water = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    water.add(S.Box((0, 0), (0.5, 0.5)), WATER, name="taken")
    water.add_collider(S.Ball((1, 0), 0.3), name="fixed")
    sim = mpm.Simulation(scene, dx=0.125, threads=1)
    sim.record(folder / "a.vtkhdf", fps=1, fields=("v",)).close()
    sim.step(3)
    for name in sim.particles.fields:  # the memory of views, which a look takes, is part of the repr
        np.asarray(sim.particles[name])
    writer = viz.MovieWriter(folder / "written", fps=10, size=(80, 64))
    (folder / "points.csv").write_text("x,y\n0,0\n1,1\n", encoding="utf-8")
    return SimpleNamespace(
        solid=solid,
        scene=scene,
        periodic=periodic,
        space=mpm.Scene((0, 0, 0), (1, 1, 1)),
        pair=pair,
        sim=sim,
        fem=fem.Simulation(scene, spacing=0.125, threads=1),
        water=water,
        sph=sph.Simulation(water, spacing=0.0625, threads=1),
        folder=folder,
        writer=writer,
        frames=mpm.replay(folder / "a.vtkhdf"),
        ax=Figure().subplots(),
    )


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    return make_things(tmp_path_factory.mktemp("things"))


def refuse(things, target, title, state):
    """Every wrong value of every parameter raises an error that names the parameter; `state()` stays as it was."""
    call, right, wrong = target
    named = MUST_BE_NAMED_OTHERWISE.get(title)
    before = state()
    for parameter, value in ((parameter, value) for parameter, values in wrong.items() for value in values):
        case = f"{title}, {parameter} = {value!r}"
        try:
            call(things, **{**right, parameter: value})
        except (TypeError, ValueError) as error:
            said = str(error)
        except Exception as error:  # such as NotImplementedError, which would name a feature of later
            error.add_note(case)
            raise
        else:
            pytest.fail(f"{case}: is not refused")
        head = re.split(r":| = |, must", said, maxsplit=1)[0]
        assert re.search(rf"(?<!\w){named or re.escape(parameter)}(?!\w)", head), f"{case}: {said}"
        assert state() == before, case


@pytest.mark.parametrize("title", TARGETS)
def test_is_refused(things, title):
    def state():
        return repr(things.scene), repr(things.space), mpm.get_num_threads(), sorted(things.folder.rglob("*"))

    refuse(things, TARGETS[title], title, state)


@pytest.mark.parametrize("title", METHODS)
def test_is_refused_by_a_simulation_that_stays_as_it_was(things, title):
    def state():
        return things.sim.state_hash(), repr(things.sim), sorted(things.folder.rglob("*"))

    refuse(things, METHODS[title], title, state)


@pytest.mark.parametrize("title", [*TARGETS, *METHODS])
def test_right_arguments_are_taken(tmp_path, monkeypatch, title):
    """So that a wrong one is all that is wrong with a case."""
    monkeypatch.setattr(mpm.base.config._config, "threads", None)
    call, right, _ = {**TARGETS, **METHODS}[title]
    result = call(make_things(tmp_path), **right)
    if hasattr(result, "close"):
        result.close()


def test_there_are_enough_cases():
    tables = [wrong for _, _, wrong in (*TARGETS.values(), *METHODS.values())]
    assert sum(len(values) for wrong in tables for values in wrong.values()) >= 3900


# --- completeness ------------------------------------------------------------------------------------------------

# Made by the package; their constructors are no business of a user.
RESULTS = (
    Body,
    Frame,
    Grid,
    History,
    Particles,
    Recording,
    Replay,
    Totals,
    viz.Picture,
    viz.Surface,
    P.CriticalState,
    P.Fit,
    P.Response,
)
RESULTS += (
    integrators.Method,
    integrators.OscillatorRun,
    integrators.Path,
    integrators.Row,
    integrators.Table,
)
RESULTS += (integrators.Trajectory, fem.Elements, fem.Mesh)
BASES = (M.Material, S.Shape, motion.Motion)  # refuse to be made at all
HELD_FOR_SEVERAL = (
    "Collides",
    "Flowing",
    "Loaded",
    "Run",
    "Solver",
    "SolverBase",
    "Populated",
)


def callables():
    """Title and signature of everything public that takes arguments."""
    modules = [(name, getattr(mpm, name)) for name in mpm.__all__ if inspect.ismodule(getattr(mpm, name))]
    assert {name for name, _ in modules} == {
        *(
            "fem",
            "gallery",
            "integrators",
            "joints",
            "materials",
            "motion",
            "plot",
            "point",
            "samples",
            "shapes",
            "sph",
            "testing",
            "viz",
        )
    }
    found = {}
    for prefix, module in [("", mpm), *modules]:
        for name in module.__all__:
            thing = getattr(module, name)
            dotted = (
                f"{prefix}."
                if prefix
                in (
                    "fem",
                    "gallery",
                    "integrators",
                    "joints",
                    "motion",
                    "plot",
                    "point",
                    "samples",
                    "sph",
                    "testing",
                    "viz",
                )
                and thing is not Entry
                else ""
            )
            if thing in RESULTS or thing is M.UserLaw:  # which needs a compiler: see test_user_laws.py
                continue
            if inspect.isclass(thing) and not issubclass(thing, BaseException):
                found |= of_class(thing, dotted)
            elif inspect.isfunction(thing):
                found[dotted + name] = thing
    for thing in RESULTS:
        found |= of_class(thing, "")
    return found


def of_class(cls, prefix):
    found = {} if cls in (*RESULTS, *BASES) else {prefix + cls.__name__: cls}
    for name in dir(cls):
        member = inspect.getattr_static(cls, name)
        if isinstance(member, property) and member.fset:
            found[f"{prefix}{cls.__name__}.{name}"] = member.fset
        function = getattr(cls, name)
        public = not name.startswith("_") or (cls is Particles and name in ("__getitem__", "__setitem__"))
        if public and callable(function) and (inspect.isfunction(function) or inspect.ismethod(function)):
            owner = function.__qualname__.split(".")[0]
            if issubclass(cls, S.Shape):
                owner = "Shape"  # also of a method that a shape overrides only to refuse
            elif owner.startswith("_") or owner in HELD_FOR_SEVERAL:
                owner = cls.__name__  # what a base holds for several classes is tried on each
            found[f"{prefix}{owner}.{name}"] = function
    return found


CALLABLES = callables()


def test_the_walk_sees_what_is_there():
    assert {"Scene", "Simulation.run", "Simulation.threads", "Shape.rotate", "Particles.delete"} <= set(
        CALLABLES
    )
    assert {"gallery.jelly", "viz.MovieWriter.add", "Fluid", "motion.Linear", "Entry.scene"} <= set(CALLABLES)


@each("title", sorted(CALLABLES))
def test_every_parameter_is_covered(title):
    named = {
        name
        for name, parameter in inspect.signature(CALLABLES[title]).parameters.items()
        if name != "self" and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }
    if not named or title.startswith("Mapping."):  # which has its own rules
        return
    tables = {**TARGETS, **METHODS}
    covered = {parameter for parameter in tables.get(title, (0, 0, {}))[2]}
    covered |= {p for key in tables if key.startswith((f"{title} in", f"{title} of")) for p in tables[key][2]}
    assert named <= covered


def test_nothing_in_the_tables_is_out_of_date():
    titles = {re.sub(r" (in|of|with|that) .*", "", title) for title in (*TARGETS, *METHODS)}
    assert titles <= set(CALLABLES)
