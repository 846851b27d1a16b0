"""Bodies of which no particle is left: little is kept of them, and what is kept stays right."""

import copy
import itertools
import pickle
import sys

import numpy as np
import pytest

import mpm
from mpm.io import checkpoint

ELASTIC = mpm.materials.NeoHookean(E=100, nu=0.3, density=1)
WATER = mpm.materials.Fluid(bulk_modulus=100, density=1)
METHODS = {
    "mpm": lambda scene: mpm.Simulation(scene, dx=1 / 8, threads=1),
    "sph": lambda scene: mpm.sph.Simulation(scene, spacing=1 / 16, threads=1),
}
every_method = pytest.mark.parametrize("method", METHODS)


def simulation(method: str):
    """A block of one material, with room beside it."""
    material = WATER if method == "sph" else ELASTIC
    scene = mpm.Scene([0, 0], [1, 1], gravity=[0, -1], walls="slip")
    scene.add(mpm.shapes.Box([0.1, 0.0], [0.3, 0.3]), material, name="block")
    return METHODS[method](scene)


def exchange(sim, name: str) -> range:
    """Add a body and delete the particles that were there before. Returns the ids of the new ones."""
    before, low = len(sim.particles), 0.1 if sim.particles.x[:, 1].mean() > 0.5 else 0.6
    sim.add(mpm.shapes.Box([0.5, low], [0.8, low + 0.3]), sim.materials[0], name=name)
    ids = np.array(sim.particles.id[before:])
    sim.particles.delete(np.arange(before))
    return range(ids[0], ids[-1] + 1)


@every_method
def test_a_body_without_particles_is_known_by_its_name(method):
    sim = simulation(method)
    seen = [exchange(sim, name) for name in ("one", "two", "three")]
    assert all(a.stop <= b.start for a, b in itertools.pairwise(seen)), "an id was used again"
    lines = repr(sim).splitlines()[1:5]
    assert [line.strip() for line in lines[:2]] == [f"{n}: no particle is left" for n in ("block", "one")]
    assert "two: Box" in lines[2] and lines[2].endswith("of which 0 are left")
    assert "three: Box" in lines[3] and "left" not in lines[3]
    for name in ("block", "one", "two"):
        assert sim.rows(name) == slice(0, 0)
    assert sim.rows("three") == slice(0, len(seen[-1])) == slice(0, len(sim.particles))
    with pytest.raises(ValueError, match=r"'one': .* also among bodies without particles"):
        exchange(sim, "one")
    assert sim.add(mpm.shapes.Box([0.1, 0.1], [0.3, 0.9]), sim.materials[0]).name == "body4"
    rows = sim.rows("body4")
    assert sim.particles.id[rows][0] == seen[-1].stop and rows.stop == len(sim.particles)


@every_method
def test_files_and_copies_know_it_too(method, tmp_path):
    sim = simulation(method)
    for name in ("one", "two"):
        exchange(sim, name)
        sim.step(2)
    sim.save(tmp_path / "a.mpm")
    for other in (mpm.load(tmp_path / "a.mpm"), copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))):
        other.threads = 1
        assert other == sim and other.state_hash() == sim.state_hash()
        assert repr(other).splitlines()[1:4] == repr(sim).splitlines()[1:4]
        assert exchange(other, "three") == exchange(copy.copy(sim), "three")
        with pytest.raises(ValueError, match="'block'"):
            exchange(other, "block")


@every_method
def test_an_addition_that_fails_forgets_nothing(method):
    sim = simulation(method)
    exchange(sim, "one")
    before, text = sim.state_hash(), repr(sim)
    with pytest.raises(ValueError):
        sim.add(mpm.shapes.Ball([5, 5], 0.1), sim.materials[0])
    assert (sim.state_hash(), repr(sim)) == (before, text) and "of which 0 are left" in text


@every_method
def test_many_of_them_take_little_memory(method):
    """Measured 56 bytes for each beside its name and its id; 1,000 and more if shape and material are kept."""
    sim = simulation(method)
    for number in range(20):
        exchange(sim, f"late{number}")
    gone = sim._parts[:-2]
    assert len(gone) == 19
    for part in gone:
        assert {*part.__slots__} == {"name", "first_id"} and sys.getsizeof(part) < 100
    assert "more bodies" in repr(sim)
    added = len(checkpoint.dumps(sim))
    exchange(sim, "late20")
    assert len(checkpoint.dumps(sim)) - added < 200


def test_a_forged_one_is_refused():
    sim = simulation("sph")
    exchange(sim, "one")
    exchange(sim, "two")
    tree, arrays = checkpoint.container.unpack(checkpoint.dumps(sim))
    parts = tree["numbers"]["parts"]
    assert parts[0] == {"name": "block", "first_id": 0}
    for wrong in ({"first_id": -1}, {"first_id": 10**30}, {"first_id": 0.5}, {"name": "two"}, {"name": 3}):
        parts[0] = {"name": "block", "first_id": 0} | wrong
        with pytest.raises(mpm.FileFormatError):
            checkpoint.loads(b"".join(checkpoint.container.pack(tree, arrays)))


def test_a_forged_file_without_bodies_can_be_shown():
    tree, arrays = checkpoint.container.unpack(checkpoint.dumps(simulation("sph")))
    tree["numbers"]["parts"] = []
    sim = checkpoint.loads(b"".join(checkpoint.container.pack(tree, arrays)))
    assert f"{len(sim.particles)} particles" in repr(sim)
