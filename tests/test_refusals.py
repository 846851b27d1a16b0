"""Misspelt names, what is read-only, and what is not there yet: each says so, and proposes what was meant."""

import pytest

import mpm
from mpm import materials, shapes

SHAPE = shapes.Ball((0.5, 0.5), 0.2)
WATER = materials.Fluid(bulk_modulus=1, density=1)


@pytest.fixture(scope="module")
def sim():
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(SHAPE, materials.NeoHookean(E=1e4, nu=0.3, density=1000))
    return mpm.Simulation(scene, dx=0.125, threads=1)


@pytest.fixture(autouse=True)
def stays_as_it_was(sim):
    before = sim.state_hash(), repr(sim.scene)
    yield
    assert (sim.state_hash(), repr(sim.scene)) == before


@pytest.mark.parametrize(
    ("meant", "call"),
    [
        ("kernel", lambda sim: mpm.Simulation(sim.scene, dx=0.125, kernal="quadratic")),
        ("density", lambda sim: materials.Fluid(bulk_modulus=1, densty=1)),
        ("friction", lambda sim: mpm.Wall("slip", fricton=1)),
        ("gravity", lambda sim: mpm.Scene((0, 0), (1, 1), gravitiy=(0, 0))),
        ("velocity", lambda sim: sim.scene.add(SHAPE, WATER, velocty=(0, 0))),
        ("velocity", lambda sim: sim.add(SHAPE, WATER, velocty=(0, 0))),
        ("duration", lambda sim: sim.run(durtion=1)),
        ("duration", lambda sim: sim.frames(durration=1, fps=1)),
        ("color", lambda sim: sim.plot(colour="speed")),
        ("nu", lambda sim: mpm.gallery.get("cube").scene(n=0.3)),
        ("dtype", lambda sim: mpm.gallery.get("disks").simulation(dtyp="float32")),
    ],
)
def test_a_misspelt_option_proposes_the_right_one(sim, meant, call):
    with pytest.raises(TypeError, match=f"did you mean '{meant}'"):
        call(sim)


@pytest.mark.parametrize(
    ("meant", "call"),
    [
        ("apic", lambda sim: mpm.Simulation(sim.scene, dx=0.125, transfer="apik")),
        ("flip", lambda sim: mpm.Simulation(sim.scene, dx=0.125, transfer="flp")),
        ("separate", lambda sim: mpm.Wall("seperate")),
        ("jelly", lambda sim: mpm.gallery.get("jely")),
        ("pressure", lambda sim: sim.compute("presure")),
        ("von_mises", lambda sim: sim.plot(color="vonmises")),
    ],
)
def test_a_misspelt_name_proposes_the_right_one(sim, meant, call):
    with pytest.raises(ValueError, match=f"must be one of .*did you mean '{meant}'"):
        call(sim)


@pytest.mark.parametrize(
    ("meant", "call"),
    [
        ("did you mean 'particles'", lambda sim: sim.particle),
        ("did you mean 'history'", lambda sim: sim.histroy),
        ("did you mean 'gravity'", lambda sim: sim.scene.gravitiy),
        ("did you mean 'mass'", lambda sim: sim.particles.maas),
        ("did you mean 'nu'", lambda sim: sim.materials[0].nuu),
        ("did you mean 'Scene'", lambda sim: mpm.Scenes),
        ("did you mean 'gallery'", lambda sim: mpm.galery),
        ("no field 'velocity'", lambda sim: setattr(sim.particles, "velocity", 0)),
        ("did you mean 'threads'", lambda sim: setattr(sim, "thread", 0)),
    ],
)
def test_a_misspelt_attribute_raises(sim, meant, call):
    with pytest.raises(AttributeError, match=meant):
        call(sim)


@pytest.mark.parametrize("key", ["kinetik", "Time", "", 1, None])
def test_the_history_is_a_mapping(sim, key):
    with pytest.raises(KeyError, match=r"history has no .*; it has time, dt"):
        sim.history[key]
    assert sim.history.get(key) is None and key not in sim.history


@pytest.mark.parametrize("name", ["w", "x\0", "x\0y", "\ud800", ""])
def test_fields_are_a_mapping_by_name(sim, name):
    with pytest.raises(KeyError, match=r"no field '.*'; fields: x, v"):
        sim.particles[name]


@pytest.mark.parametrize(
    "name",
    [
        "time",
        "steps",
        "dt",
        "dx",
        "dtype",
        "dimension",
        "particles",
        "grid",
        "totals",
        "history",
        "health",
        "scene",
    ],
)
def test_what_a_simulation_tells_cannot_be_set(sim, name):
    with pytest.raises(AttributeError, match=f"Simulation.{name} is read-only"):
        setattr(sim, name, 1)


@pytest.mark.parametrize("name", ["lower", "upper", "gravity", "walls", "bodies", "dimension", "add"])
def test_what_a_scene_tells_cannot_be_set(sim, name):
    with pytest.raises(AttributeError, match=f"Scene.{name} is read-only"):
        setattr(sim.scene, name, 1)
    value = getattr(sim.scene, name)
    if hasattr(value, "flags"):
        with pytest.raises(ValueError, match="read-only"):
            value[0] = 7


@pytest.mark.parametrize("name", ["mass", "volume", "material", "id"])
def test_what_may_not_be_written(sim, name):
    particles = sim.particles
    assert not particles[name].flags.writeable
    with pytest.raises(ValueError, match=f"{name} is read-only"):
        setattr(particles, name, 1)


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (materials.Fluid(bulk_modulus=1, density=1), "density"),
        (SHAPE, "radius"),
        (mpm.Wall("slip"), "friction"),
        (mpm.gallery.get("cube"), "fps"),
    ],
)
def test_values_are_immutable(thing, name):
    with pytest.raises(AttributeError):
        setattr(thing, name, 5.0)


@pytest.mark.parametrize("base", [materials.Material, shapes.Shape])
def test_bases_cannot_be_made(base):
    with pytest.raises(TypeError, match=f"{base.__name__} is the base"):
        base()
