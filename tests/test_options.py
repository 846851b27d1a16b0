"""The table of options: signatures and docstrings agree with it, and what all methods share is checked alike."""

import inspect
import itertools
import math
import re

import numpy as np
import pytest

import mpm
from mpm import _core, fem, materials, shapes, sph
from mpm.base import later
from mpm.base._check import Unset
from mpm.base.options import NEEDED, Flag, Number, rows
from mpm.fem.options import Options
from mpm.io import checkpoint, container
from mpm.mpm.numerics import Numerics
from mpm.solver.options import Common
from mpm.sph.numerics import Numerics as SphNumerics

SOLID = materials.NeoHookean(E=1e4, nu=0.3, density=1000)
WATER = materials.Fluid(bulk_modulus=1e4, density=1000)
METHODS = {
    "mpm": (mpm.Simulation, Numerics, SOLID, "dx"),
    "sph": (sph.Simulation, SphNumerics, WATER, "spacing"),
    "fem": (fem.Simulation, Options, SOLID, "spacing"),
}
each_method = pytest.mark.parametrize("method", METHODS)
TINY = {"float64": np.finfo("f8").tiny, "float32": float(np.finfo("f4").tiny)}


def made(method, **options):
    build, _, law, resolution = METHODS[method]
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(shapes.Box((0.25, 0.25), (0.75, 0.75)), law)
    return build(scene, **{resolution: 1 / 8}, **options)


@each_method
def test_signature_and_docstring_agree_with_the_table(method):
    build, table, _, _ = METHODS[method]
    parameters = dict(inspect.signature(build).parameters)
    del parameters["scene"]
    elsewhere = {"comm", "distributed"}  # not of the simulation, but of where it runs
    assert parameters.keys() - elsewhere == rows(table).keys()
    entries = re.findall(r"^(\w+(?:, \w+)*) : ", inspect.getdoc(build), re.MULTILINE)
    documented = [name for entry in entries for name in entry.split(", ")]
    named = [name for name in documented if name in parameters]
    assert sorted(named) == sorted(parameters) and "{common}" not in build.__doc__
    for name, row in rows(table).items():
        default = parameters[name].default
        if row.default is NEEDED:
            assert default is inspect.Parameter.empty, name
        else:
            assert (type(default), repr(default)) == (type(row.default), repr(row.default)), name
        assert row.meaning or name == "dtype", name
        if row.users:
            assert set(row.users[1]) < set(rows(table)[row.users[0]].check.words), name
            assert isinstance(row.default, Unset) or row.default in (row.left_out, 0, None), name


SHARED = {
    "dt": ["auto", 1e-4, 1e-40, 5e-324, 1e-308, 0, -1, math.inf, math.nan, None, True, "1", 10**400],
    "max_dt": [None, 1e-4, 1e-40, 5e-324, 1e300, 0, -1, math.inf, math.nan, True, "auto", np.float32(1e-3)],
    "allow_unstable": [False, True, None, 1],
    "dtype": ["float64", "float32", np.float32, "float16", float, None, "f4", int],
    "threads": [None, 1, 1024, 1025, 0, -1, 2.0, True, 2**64],
    "history": [1, 0, 2**31 - 1, 2**31, -1, 1.0, True, None, 2**64],
}


def outcome(method, options):
    """The error, or what the options are then."""
    try:
        sim = made(method, **options)
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    return {name: getattr(sim._numerics, name, "raise") for name in (*rows(Common), "on_leave")}


@pytest.mark.parametrize("name", SHARED)
def test_what_all_methods_share_is_accepted_and_refused_alike(name):
    assert SHARED.keys() == rows(Common).keys()
    fixed = [{}, {"dt": 1e-4}] if name in ("max_dt", "allow_unstable") else [{}]
    precisions = [{"dtype": dtype} for dtype in TINY] if name in ("dt", "max_dt") else [{}]
    for value, others, precision in itertools.product(SHARED[name], fixed, precisions):
        options = {**others, **precision, name: value}
        said = [outcome(method, options) for method in METHODS]
        assert said[0] == said[1] == said[2], options
        if isinstance(said[0], tuple):
            assert name in said[0][1], options


@each_method
@pytest.mark.parametrize("name", ["dt", "max_dt"])
def test_steps_that_the_precision_knows_as_zero_are_refused(method, name):
    for dtype, least in TINY.items():
        with pytest.raises(ValueError, match=f"^{name} = .* s: must be >= {least:g} s in {dtype}"):
            made(method, dtype=dtype, **{name: 0.9 * least})
        sim = made(method, dtype=dtype, **{name: least})
        sim.step(2)
        assert abs(np.asarray(sim.particles.v)[:, 1]).max() > 0  # it falls


@each_method
def test_a_reset_may_fix_the_step_and_free_it_again(method):
    bounded = made(method, max_dt=1e-3, dtype="float32", history=3)
    fixed = bounded._rebuilt({"dt": 1e-5})
    assert (fixed._numerics.dt, fixed._numerics.max_dt) == (1e-5, math.inf)
    assert fixed._numerics.history == 3 and fixed.dtype == "float32"
    free = made(method, dt=1e-5, allow_unstable=True)._rebuilt({"dt": None, "max_dt": 1e-4})
    assert (free._numerics.dt, free._numerics.max_dt, free._numerics.allow_unstable) == (0, 1e-4, False)
    shown = {setting.key: setting for setting in bounded._settings()}
    assert shown["max_dt"].value == 1e-3 and shown["dt"].value is None and shown["history"].value == 3


@each_method
def test_every_setting_of_the_viewer_is_an_option_that_a_reset_takes(method):
    sim = made(method)
    table = rows(METHODS[method][1])
    own = [setting for setting in sim._settings() if setting.group == "Numerics"]
    assert {setting.key for setting in own} <= {name for name, row in table.items() if row.viewer}
    again = sim._rebuilt({setting.key: setting.value for setting in own})
    assert again._numerics == sim._numerics and again.state_hash() == sim.state_hash()
    for setting in own:
        for value in setting.choices:
            changed = sim._numerics.changed({setting.key: value})
            row = table[setting.key]
            assert changed[setting.key] == (value == "on" if isinstance(row.check, Flag) else value)


@each_method
def test_ranges_and_words_are_those_of_the_core(method):
    """The core alone states them, and takes what is at their ends."""
    table, core = rows(METHODS[method][1]), METHODS[method][1]._in_core
    stated = _core.options()
    assert stated["common"].keys() | stated[method].keys() >= {name for name in table if name in core}
    for name, row in table.items():
        if name not in core:
            continue
        entry = stated[method][name]
        if entry["words"]:
            assert row.check.words == tuple(entry["words"]), name
        for dtype in TINY if isinstance(row.check, Number) else ():
            limits = row.check.limits(dtype)
            assert (limits["low"], limits["high"], limits["low_open"]) == tuple(entry[dtype]), name


@pytest.mark.parametrize("method", ["mpm", "sph"])
def test_the_largest_number_of_cells_is_that_of_the_core(method):
    build, table, law, resolution = METHODS[method]
    most = int(table._in_core.number("cells").most)
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(
        shapes.Points([(0.5, 0.5)], volume=1e-20) if method == "mpm" else shapes.Ball((0.5, 0.5), 1e-5), law
    )
    said = rf"^{resolution} = .*: must be >= {1 / most:g}, the domain's size / 2\^{most.bit_length() - 1}"
    for count in (most + 2, 2 * most):
        with pytest.raises(ValueError, match=said):
            build(scene, **{resolution: 1 / count})
    if method == "mpm":
        assert build(scene, dx=1 / most).dx == 1 / most
        with pytest.raises(ValueError, match=said):
            scene.fitted(1e-300)


@pytest.mark.parametrize("method", ["mpm", "sph"])
def test_positions_outside_of_the_domain_have_the_same_fates(method):
    for value in (
        "raise",
        "clamp",
        "delete",
        "stop",
        None,
        1,
        {},
        {"x": "clamp"},
        {"z": "clamp"},
        {"x": 1},
        {1: "clamp"},
    ):
        said = outcome(method, {"on_leave": value})
        assert said == outcome("mpm", {"on_leave": value})
        assert isinstance(said, dict) or "on_leave" in said[1], value


@each_method
@pytest.mark.parametrize("surface", ["wall", "collider"])
def test_a_contact_is_for_what_its_row_says(method, surface):
    build, _, law, resolution = METHODS[method]
    for row in _core.contacts():
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add(shapes.Box((0.25, 0.5), (0.75, 0.75)), law)
        floor = shapes.Box((0.1, 0.1), (0.9, 0.4))
        everywhere = surface == "collider" and not row["absorbs"]
        here = method == "mpm" if surface == "collider" else method in row["methods"]
        allowed = row[surface] and (everywhere or here)
        try:
            if surface == "collider":
                scene.add_collider(floor, contact=row["name"])
            else:
                wall = mpm.Wall(row["name"])
                scene = mpm.Scene((0, 0), (1, 1), walls={"x": wall})
                scene.add(shapes.Box((0.25, 0.5), (0.75, 0.75)), law)
            build(scene, **{resolution: 1 / 8}).step(2)
            taken = True
        except ValueError:
            taken = False
        assert taken == allowed, row
        for name, may in (("friction", row["frictional"]), ("restitution", row["rebounds"])):
            if surface == "wall" and not may:
                with pytest.raises(ValueError, match=f"{name} = 0.5"):
                    mpm.Wall(row["name"], **{name: 0.5})
            elif surface == "wall":
                mpm.Wall(row["name"], **{name: 0.5})


@each_method
def test_units_are_written_alike(method):
    sim = made(method)
    assert sim.particles.units["volume"] == "m³" and "m3" not in sim.particles.units.values()
    if method == "fem":
        assert sim.elements.units["volume"] == "m³"


def test_a_projection_of_a_solve_that_is_none_is_refused():
    with pytest.raises(ValueError, match="projection = 'none': beta = 0 does not use it"):
        made("mpm", integrator="semi-implicit", beta=0, dt=1e-4, projection="none")


def test_elements_of_an_older_file_keep_their_options():
    """It had 0 as the automatic step, and the options of solves that explicit steps do not have."""
    sim = made("fem", max_dt=1e-3, history=2)
    tree, arrays = container.unpack(checkpoint.dumps(sim))
    tree["numbers"]["options"] |= {"dt": 0.0, "tolerance": 1e-6, "max_iterations": 2000}
    assert checkpoint.loads(b"".join(container.pack(tree, arrays))) == sim


def test_the_type_of_a_view_has_the_public_members_of_the_widget():
    pytest.importorskip("anywidget")
    from mpm.viewer.widget import Viewer

    own = {name for name in vars(Viewer) if not name.startswith("_")}
    assert own == {name for name in vars(later.Viewer) if not name.startswith("_")}
