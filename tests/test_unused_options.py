"""Options that nothing would use are refused, not ignored."""

import numpy as np
import pytest

import mpm
from mpm import fem, materials, shapes, sph
from mpm.commands import cli

SOLID = materials.NeoHookean(E=1e4, nu=0.3, density=1000)
WATER = materials.Fluid(bulk_modulus=1e4, density=1000)
DISC, POINTS = shapes.Ball((0.5, 0.5), 0.2), shapes.Points([(0.5, 0.5), (0.6, 0.5)], volume=1e-3)
EXPLICIT = {"integrator": "semi-implicit", "beta": 0, "dt": 1e-4}


def scene_of(*shapes, law=SOLID):
    scene = mpm.Scene((0, 0), (1, 1))
    for shape in shapes:
        scene.add(shape, law)
    return scene


@pytest.mark.parametrize(
    ("shape", "options", "said"),
    [
        (DISC, {"rng": 5}, "rng = 5: sampling='lattice' does not use it"),
        (DISC, {"rng": 0, "sampling": "lattice"}, "rng = 0: sampling='lattice' does not use it"),
        (POINTS, {"sampling": "random"}, "sampling = 'random': all bodies of the scene are Points"),
        (POINTS, {"sampling": "lattice"}, "sampling = 'lattice': all bodies of the scene are Points"),
        (POINTS, {"particles_per_cell": 4}, "particles_per_cell = 4: all bodies of the scene are Points"),
        (DISC, {**EXPLICIT, "tolerance": 0.1}, r"tolerance = 0\.1: beta = 0 does not use it"),
        (DISC, {**EXPLICIT, "preconditioner": "mass"}, "preconditioner = 'mass': beta = 0 does not use it"),
    ],
)
def test_options_of_a_simulation(shape, options, said):
    with pytest.raises(ValueError, match=said):
        mpm.Simulation(scene_of(shape), dx=1 / 8, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"artificial_viscosity": (0.1, 1.0)},
        {"f_update": "cayley"},
        {"f_bar": True},
        {"volume": "grid-density"},
        {"transfer": "xpic", "xpic_order": 2},
        {"transfer": "flip", "flip_ratio": 0.95},
        {"transfer": "aflip", "advect": "pic"},
    ],
)
def test_rigid_bodies_alone_use_no_option_of_strain(options):
    """They move as a whole, whatever the transfer, and have no strain and no stress."""
    name = list(options)[-1]
    with pytest.raises(ValueError, match=f"{name} = .*: all bodies of the scene are Rigid"):
        mpm.Simulation(scene_of(DISC, law=materials.Rigid(density=1000)), dx=1 / 8, **options)
    mixed = scene_of(DISC, law=materials.Rigid(density=1000))
    mixed.add(shapes.Ball((0.2, 0.2), 0.1), SOLID)
    mpm.Simulation(mixed, dx=1 / 8, **options)


def test_a_reset_of_rigid_bodies_alone_leaves_out_what_they_do_not_use():
    sim = mpm.Simulation(scene_of(DISC, law=materials.Rigid(density=1000)), dx=1 / 8, transfer="flip")
    assert "flip_ratio" not in {setting.key for setting in sim._settings()}
    assert sim._rebuilt({"history": 2})._options()["transfer"] == "flip"
    with pytest.raises(ValueError, match=r"flip_ratio = 0\.5: all bodies of the scene are Rigid"):
        sim._rebuilt({"flip_ratio": 0.5})


def test_options_that_something_uses_are_taken():
    per_cell = shapes.Points([(0.5, 0.5)], volume="per-cell")
    volumes = [
        mpm.Simulation(scene_of(per_cell), dx=1 / 8, particles_per_cell=n).particles.volume[0] for n in (1, 4)
    ]
    assert volumes[0] == 4 * volumes[1]
    mpm.Simulation(scene_of(POINTS, shapes.Ball((0.3, 0.3), 0.1)), dx=1 / 8, sampling="random", rng=3)


@pytest.mark.parametrize(
    ("shape", "options"),
    [(POINTS, {}), (DISC, {}), (DISC, {"sampling": "random", "rng": 4}), (DISC, EXPLICIT)],
)
def test_a_copy_a_file_and_a_reset_leave_out_what_is_not_used(shape, options, tmp_path):
    sim = mpm.Simulation(scene_of(shape), dx=1 / 8, threads=1, **options)
    sim.save(tmp_path / "a.mpm")
    for other in (mpm.load(tmp_path / "a.mpm"), sim._rebuilt({}), sim._rebuilt({"history": 2})):
        assert np.array_equal(other.particles.x, sim.particles.x)
    keys = {setting.key for setting in sim._settings()}
    assert ("particles_per_cell" in keys) == (shape is DISC)


def test_the_form_of_a_viscous_force_needs_a_viscosity():
    with pytest.raises(ValueError, match="viscosity = 'central': the fluid has no viscosity"):
        sph.Simulation(scene_of(DISC, law=WATER), spacing=1 / 8, viscosity="central")
    thin = sph.Simulation(scene_of(DISC, law=WATER), spacing=1 / 8)
    assert "viscosity" not in {setting.key for setting in thin._settings()}
    thick = thin._rebuilt({"material 0 viscosity": 2.0, "viscosity": "central"})
    assert thick._rebuilt({"alpha": 0.1})._numerics.viscosity == "central"
    assert thick._rebuilt({"material 0 viscosity": 0.0})._fluid.viscosity == 0


def test_cells_take_no_spacing():
    cells = shapes.Cells([(0.2, 0.2), (0.8, 0.2), (0.5, 0.8)], [(0, 1, 2)])
    with pytest.raises(ValueError, match=r"spacing = 0\.1: Cells keep their own mesh"):
        fem.mesh(cells, 0.1)
    mixed = fem.Simulation(scene_of(cells, shapes.Box((0, 0), (0.1, 0.1))), spacing=0.05)
    assert len(mixed.elements) == 1 + 8


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["demo", "jelly", "--set", "dx=0.1", "--set", "dx=0.2"], "--set dx=: is given 2 times"),
        (["demo", "cube", "--cut", "y=0.1", "--cut", "y=0.2"], "--cut y=: is given 2 times"),
        (["replay", "none.vtkhdf", "--cut", "y=0.1", "--cut", "y=0.2"], "--cut y=: is given 2 times"),
    ],
)
def test_a_name_that_is_set_twice_is_refused(arguments, said, capsys):
    assert cli.main(arguments) == 1
    assert said in capsys.readouterr().err
