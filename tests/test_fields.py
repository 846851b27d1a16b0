"""The table of fields: what particles have, whoever asked for it; fields that users add."""

import numpy as np
import pytest

import mpm
import scenes
from mpm import _core
from mpm.base import fieldtable

SHAPES = {"scalar": {2: (), 3: ()}, "vector": {2: (2,), 3: (3,)}, "symmetric": {2: (3,), 3: (6,)}}
SHAPES["tensor"] = {2: (2, 2), 3: (3, 3)}


def body(dim, dtype="float64", **options):
    """Snow and a fluid that fall; their own fields hold what can be told from the rows."""
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81], walls="separate")
    scene.add(mpm.shapes.Box([0.1] * dim, [0.45] * dim), scenes.MATERIALS["snow"], velocity=[1.5] * dim)
    scene.add(mpm.shapes.Box([0.6] * dim, [0.85] * dim), scenes.MATERIALS["fluid"])
    sim = mpm.Simulation(scene, dx=1 / 16, dtype=dtype, **options)
    for rank in SHAPES:
        values = sim.particles.add_field(f"own_{rank}", rank=rank, unit="K", initial=2.5)
        values[...] = np.arange(values.size).reshape(values.shape)
    return sim


def same_fields(a, b):
    return all(np.array_equal(a.particles[name], b.particles[name]) for name in a.particles.fields)


def test_the_rows_of_the_core_and_its_laws_are_known():
    known = fieldtable.KNOWN
    assert [n for n, row in known.items() if row["owner"] == "core"] == (
        "x v F C J mass volume material id plastic_dissipation viscous_dissipation "
        "temperature_gradient thermal_stretch liquid_fraction heated_dissipation pore_pressure pore_gradient "
        "concentration concentration_gradient swelling_stretch"
    ).split()
    of_laws = {kept["name"] for law in _core.laws() for kept in law["history"]}
    assert {n for n, row in known.items() if row["owner"] == "law"} == of_laws
    assert set(fieldtable.LASTING) == {"id", "mass", "material", "volume"} and known["volume"]["unit"] == "m³"


def test_laws_that_share_a_field_of_history_declare_it_alike():
    shared = {}
    for law in _core.laws():
        for field in law["history"]:
            assert shared.setdefault(field["name"], field) == field
            assert field["name"] not in {row["name"] for row in _core.core_fields()}


@pytest.mark.parametrize("rank", SHAPES)
@pytest.mark.parametrize("dim", scenes.DIMS)
@pytest.mark.parametrize("dtype", scenes.DTYPES)
def test_a_field_begins_with_its_initial_value_and_has_the_shape_of_its_rank(rank, dim, dtype):
    sim = scenes.free_body(dim, side=4, dtype=dtype)
    values = sim.particles.add_field("own", rank=rank, unit="W/m2", initial=2.5)
    assert values.shape == (len(sim.particles), *SHAPES[rank][dim]) and values.dtype == dtype
    one = {
        "scalar": 2.5,
        "vector": np.full(dim, 2.5),
        "symmetric": (2.5 * np.eye(dim))[np.triu_indices(dim)],
        "tensor": 2.5 * np.eye(dim),
    }[rank]
    assert (values == one).all()
    assert (
        sim.particles.fields[-1] == "own"
        and sim.particles.units["own"] == "W/m2"
        and "own" in dir(sim.particles)
    )
    assert values.flags.writeable and np.shares_memory(values, sim.particles.own)


@pytest.mark.parametrize("dim", scenes.DIMS)
@pytest.mark.parametrize("transfer", ["apic", "flip"])
def test_it_stays_with_its_particles_through_sorts_and_changes_no_bit(dim, transfer):
    sim, bare = body(dim, transfer=transfer), body(dim, transfer=transfer)
    kept = {name: sim.particles[name].copy() for name in sim.particles.fields if name.startswith("own")}
    x = bare.particles.x.copy()
    sim.step(150), bare.step(150)
    assert sim.health["binnings"] > 2 and not np.array_equal(sim.particles.x, x)
    for name, values in kept.items():
        np.testing.assert_array_equal(sim.particles[name], values)
    for name in ("x", "v", "F", "C", "Jp"):
        np.testing.assert_array_equal(sim.particles[name], bare.particles[name])
    # deletion, and bodies that come: what stays keeps its values, what comes begins with the initial ones
    gone = sim.particles.x[:, 0] > 0.5
    sim.particles.delete(gone)
    for name, values in kept.items():
        np.testing.assert_array_equal(sim.particles[name], values[~gone])
    n = len(sim.particles)
    sim.add(mpm.shapes.Ball([0.7] * dim, 0.1), scenes.MATERIALS["fluid"])
    assert (sim.particles.own_scalar[n:] == 2.5).all() and (sim.particles.own_vector[n:] == 2.5).all()


@pytest.mark.parametrize("dim", scenes.DIMS)
@pytest.mark.parametrize("dtype", scenes.DTYPES)
def test_it_is_saved_copied_compared_recorded_and_exported(dim, dtype, tmp_path):
    sim = body(dim, dtype)
    sim.step(5)
    sim.save(tmp_path / "a.mpm")
    again = mpm.load(tmp_path / "a.mpm")
    assert again == sim and same_fields(again, sim) and again.state_hash() == sim.state_hash()
    again.particles.own_scalar[3] += 1
    assert again != sim and list(mpm.diff(again, sim)) == ["particles.own_scalar"]
    own = [name for name in sim.particles.fields if name.startswith("own")]
    with sim.record(tmp_path / "a.vtkhdf", fps=500, fields=own):
        sim.run(0.01)
    with mpm.replay(tmp_path / "a.vtkhdf") as replay:
        for name in own:
            np.testing.assert_array_equal(replay[-1][name], sim.particles[name])
        assert replay[-1].units["own_scalar"] == "K"
        replay.plot(-1, color="own_scalar")
    for ending in ("ply", "csv", "npz", "vtp", "bgeo", "geo"):
        mpm.export(sim, str(tmp_path / f"a_{{}}.{ending}"), fields=own)
    header = next(tmp_path.glob("a_*.csv")).read_text().partition("\n")[0]
    assert "own_symmetric_xx" in header and "own_symmetric_yz" in header and "own_tensor_xy" in header
    assert sim.plot(color="own_scalar")[2].get_ylabel() == "own_scalar [K]"


def test_what_is_written_to_it_must_be_finite():
    sim = body(2)
    sim.particles.own_tensor[7, 0, 1] = np.nan
    with pytest.raises(mpm.SimulationError, match="not finite") as caught:
        sim.step()
    assert caught.value.rows == [7]


@pytest.mark.parametrize(
    "name",
    [
        "x",
        "Jp",
        "speed",
        "row",
        "history",
        "delete",
        "own_scalar",
        "2d",
        "a b",
        "_a",
        "ä",
        "",
        "a" * 32,
        "for",
    ],
)
def test_names_that_cannot_be_given_are_refused(name):
    sim = body(2)
    before = sim.particles.fields
    with pytest.raises(ValueError, match="name"):
        sim.particles.add_field(name)
    assert sim.particles.fields == before


def test_no_field_is_called_like_an_array_of_a_snapshot():
    scene = mpm.Scene((0, 0), (1, 1))
    cube = scene.add(mpm.shapes.Box((0.25, 0.25), (0.5, 0.5)), scenes.MATERIALS["neo_hookean"])
    scene.add_force(cube, (1, 0))  # a load has an array of its own
    sim = mpm.Simulation(scene, dx=1 / 8)
    assert "loads" in sim._core.snapshot()
    for name in sim._core.snapshot():
        with pytest.raises(ValueError, match="already the name"):
            sim.particles.add_field(name)


def test_bad_arguments_and_a_full_table_are_refused():
    sim = body(2)
    for options, error, words in (
        ({"rank": "matrix"}, ValueError, "rank"),
        ({"unit": "a" * 16}, ValueError, "unit"),
        ({"initial": np.nan}, ValueError, "initial"),
        ({"initial": "1"}, TypeError, "initial"),
        ({"units": "K"}, TypeError, "unit"),
    ):
        with pytest.raises(error, match=words):
            sim.particles.add_field("another", **options)
    with pytest.raises(ValueError, match="no room"):
        for number in range(50):
            sim.particles.add_field(f"field{number}")
    hashed = sim.state_hash()
    sim.step(3)
    assert sim.state_hash() != hashed and (sim.particles.field5 == 0).all()
