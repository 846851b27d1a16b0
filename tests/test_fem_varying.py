"""Finite elements whose parameters vary: the same numbers as laws of one value, graded bars, live arrays, files."""

from dataclasses import replace

import numpy as np
import pytest

import fem_scenes
import graded_bar
import mpm
import scenes
from loops import each
from mpm import fem
from mpm.io import checkpoint, container

M = mpm.materials


def numbers(law):
    """The parameters of a law that may vary over elements; a direction is one for all."""
    names = [p["name"] for p in fem_scenes.LAWS[law]._row["parameters"] if not p["branches"]]
    return [name for name in names if not name.startswith("direction")]


def graded(x):
    return 1e4 * (1 + x[:, 0])


def uneven(law, n, *, seed=0, without=()):
    """The law with other values in each of n elements."""
    random, base = np.random.default_rng(seed), fem_scenes.LAWS[law]
    values = {
        name: getattr(base, name) * random.uniform(0.7, 1.3, n)
        for name in numbers(law)
        if name not in without
    }
    if "bulk_modulus" in values:
        values["bulk_modulus"] *= 2  # as the other moduli ask for
    return replace(base, **values)


def mesh(d, cells=3):
    return fem_scenes.irregular(d, cells)[0]


def simulation(material, d=2, shape=None, **options):
    return fem.Simulation(fem_scenes.scene_of(d, material, mesh(d) if shape is None else shape), **options)


def strained(sim, size=0.1, seed=1):
    """Moves its nodes at random."""
    random = np.random.default_rng(seed)
    sim.particles.x[:] += size * random.uniform(-0.3, 0.3, sim.particles.x.shape) / 3
    sim.particles.v[:] = random.uniform(-1, 1, sim.particles.x.shape)
    return sim


@each("dtype", ("float64", "float32"))
@each("integrator", ("symplectic-euler", "linearly-implicit-euler"))
@fem_scenes.every_law
@fem_scenes.every_dim
@fem_scenes.every_isa
def test_one_value_for_each_element_is_one_value_for_all(law, d, isa, integrator, dtype):
    base, shape = fem_scenes.LAWS[law], mesh(d)
    if dtype == "float32":  # fields round parameters before the law derives others from them
        base = replace(base, **{name: float(np.float32(getattr(base, name))) for name in numbers(law)})
    n = len(shape.cells)
    varying = replace(base, **{name: np.full(n, getattr(base, name)) for name in numbers(law)})
    options = {"integrator": integrator, "damping": (0.1, 1e-4), "dtype": dtype}
    if integrator != "symplectic-euler":
        options["dt"] = 1e-3
    with mpm.config.using_isa(isa):
        one, other = (strained(simulation(material, d, shape, **options)) for material in (base, varying))
    for sim in (one, other):
        sim.step(5)
    np.testing.assert_array_equal(one.particles.x, other.particles.x)
    np.testing.assert_array_equal(one.forces(), other.forces())
    assert one.stable_dt() == other.stable_dt()


@fem_scenes.every_law
@fem_scenes.every_dim
@fem_scenes.every_isa
def test_every_element_has_its_own_energy_force_and_bound(law, d, isa):
    shape = mesh(d)
    material = uneven(law, len(shape.cells))
    with mpm.config.using_isa(isa):
        sim = strained(simulation(material, d, shape))
    F, own = sim.elements.F, [material.at(particle=k) for k in range(len(shape.cells))]
    energy = np.array([one.energy(F[k : k + 1])[0] for k, one in enumerate(own)]) * sim.elements.volume
    np.testing.assert_allclose(sim.compute("elastic_energy", on="elements"), energy, rtol=1e-12)
    assert sim.totals().elastic == pytest.approx(energy.sum(), rel=1e-12)
    np.testing.assert_allclose(
        sim.elements.mass, [one.density for one in own] * sim.elements.volume, rtol=1e-14
    )
    forces, x = sim.forces(), np.array(sim.particles.x)
    for node, axis in ((0, 0), (5, 1), (len(x) - 1, d - 1)):  # the force is what the energy says
        sides = []
        for shift in (1e-6, -1e-6):
            sim.particles.x[node, axis] = x[node, axis] + shift
            sides.append(sim.totals().elastic)
        sim.particles.x[node, axis] = x[node, axis]
        assert forces[node, axis] == pytest.approx((sides[1] - sides[0]) / 2e-6, rel=1e-6, abs=1e-6)
    # At rest M is the modulus of longitudinal waves of each element.
    sim.particles.x[:] = shape.vertices
    sim.particles.v[:] = 0
    D = np.swapaxes(shape.vertices[shape.cells[:, 1:]] - shape.vertices[shape.cells[:, :1]], 1, 2)
    gradient = np.linalg.inv(D)
    gradient = np.concatenate([-gradient.sum(axis=1, keepdims=True), gradient], axis=1)
    modulus = np.array([one.wave_speed**2 * one.density for one in own])
    share = (sim.elements.volume * modulus)[:, None] * (gradient**2).sum(axis=2)
    rate2 = (d + 1) * (np.bincount(shape.cells.ravel(), share.ravel()) / sim.particles.mass).max()
    assert sim.stable_dt().dt == pytest.approx(2 / np.sqrt(rate2), rel=1e-9)


@fem_scenes.every_law
@fem_scenes.every_dim
def test_damping_and_implicit_steps_have_the_stiffness_of_each_element(law, d):
    shape = mesh(d)
    material = uneven(law, len(shape.cells))
    v = np.random.default_rng(2).uniform(-1, 1, shape.vertices.shape)

    def force(material, x):
        sim = simulation(material, d, shape)
        sim.particles.x[:] = x
        return sim.forces()

    def slope_of(material, v, h):
        x = shape.vertices
        return (force(material, x + h * v) - force(material, x - h * v)) / (2 * h)

    def slope_at_rest(v, h):
        slope = slope_of(material, v, h)
        if law == "fibre_reinforced":  # each fibre is slack on one side of the difference, and counts as taut
            slope += slope - slope_of(replace(material, k_1=0.0), v, h)
        return slope

    room = 5e-6 if law == "fibre_reinforced" else 1e-6  # the error of a difference to one side: below 2e-6
    damped = simulation(material, d, shape, damping=(0, 1e-3))
    damped.particles.v[:] = v
    h = 1e-6
    slope = slope_at_rest(v, h)
    np.testing.assert_allclose(
        damped.forces(), 1e-3 * slope, rtol=room, atol=room * np.abs(slope).max() * 1e-3
    )
    # (M + dt² K) v' = M v at rest
    dt = 1e-4
    sim = simulation(material, d, shape, integrator="linearly-implicit-euler", dt=dt, tolerance=1e-12)
    sim.particles.v[:] = 1e-3 * v
    sim.step()
    after = np.array(sim.particles.v)
    change = sim.particles.mass[:, None] * (after - 1e-3 * v) / dt
    h = 1e-6 / np.abs(after).max()
    slope = slope_at_rest(after, h)
    np.testing.assert_allclose(change, dt * slope, rtol=room, atol=room * np.abs(change).max())


def bar(d, cells, *, velocity=0, gravity=0.0, beta=3.0, **options):
    """E = 100 (1 + β x), ν = 0, ρ = 1, from 0, where it is held, to 1, where it is free."""
    width = 2 / cells
    walls = {"x-": "mirror", **dict.fromkeys(("x+", "y-", "y+", "z-", "z+")[: 2 * d - 1], "slip")}
    scene = mpm.Scene((0,) * d, (1.25, *(width,) * (d - 1)), gravity=(gravity, *(0,) * (d - 1)), walls=walls)
    material = M.NeoHookean(E=lambda x: 100 * (1 + beta * x[:, 0]), nu=0, density=1)
    scene.add(mpm.shapes.Box((0,) * d, (1, *(width,) * (d - 1))), material, velocity=velocity)
    return fem.Simulation(scene, spacing=1 / cells, **options)


@each("d, integrator", ((2, "symplectic-euler"), (3, "symplectic-euler"), (2, "linearly-implicit-euler")))
def test_a_graded_bar_vibrates_as_its_series_says(d, integrator):
    # 0.014 % low in 2-D, 0.008 % in 3-D, and 0.050 % high with implicit steps.
    w, mode = graded_bar.first_mode()
    options = {} if integrator == "symplectic-euler" else {"integrator": integrator, "dt": 1e-4}
    sim = bar(d, 32, velocity=graded_bar.velocity_of(mode), **options)
    found = graded_bar.frequency(sim, w, lambda t, top: slice(top - 5, top + 6))
    assert found == pytest.approx(w, rel=3e-4 if options == {} else 8e-4)


def test_a_graded_bar_hangs_as_its_integral_says():
    g, beta = 0.05, 3.0
    sim = bar(2, 32, gravity=g, integrator="linearly-implicit-euler", dt=0.02, damping=(20, 0))
    sim.run(3)
    x0 = sim._rest[:, 0]
    u = g / 100 * ((1 + beta) / beta**2 * np.log1p(beta * x0) - x0 / beta)
    error = np.abs(sim.particles.x[:, 0] - x0 - u).max() / u.max()
    assert error < 1.2e-3  # 3.4e-3, 8.9e-4, 2.3e-4 with 16, 32, 64 cells


def test_parameters_are_live():
    sim = simulation(M.NeoHookean(E=graded, nu=0.3, density=1000))
    assert sim.elements.fields[-1] == "E" and sim.elements.units["E"] == "Pa" and "E" in repr(sim.elements)
    centre = mesh(2).vertices[mesh(2).cells].mean(axis=1)
    np.testing.assert_allclose(sim.elements.E, graded(centre), rtol=1e-14)
    strained(sim)
    before, bound, E = sim.forces(), sim.stable_dt().dt, sim.elements["E"]
    E *= 4
    np.testing.assert_allclose(sim.forces(), 4 * before, rtol=1e-12)
    assert sim.stable_dt().dt == pytest.approx(bound / 2, rel=1e-9)
    sim.elements.E /= 4
    np.testing.assert_allclose(sim.forces(), before, rtol=1e-12)
    sim.elements.E = 1e4
    assert (E == 1e4).all()
    with pytest.raises(ValueError, match="E has shape"):
        sim.elements.E = np.ones(3)
    with pytest.raises(ValueError, match=r"sim\.elements\.mass is read-only"):
        sim.elements.mass = 1
    with pytest.raises(AttributeError, match="no field 'e'; did you mean"):
        sim.elements.e = 1
    hashed = sim.state_hash()
    sim.elements.E[3] *= 2
    assert sim.state_hash() != hashed


def test_written_values_are_checked():
    shape = mesh(2)
    sim = simulation(uneven("mooney_rivlin", len(shape.cells)), shape=shape)
    sim.step(1)
    hashed, good = sim.state_hash(), sim.elements.c10[3:5].copy()
    for bad, words in (
        (-1.0, "c10 <= 0 was written to 2 element"),
        (np.nan, "not finite were written to 2 element"),
    ):
        sim.elements.c10[3:5] = bad
        with pytest.raises(mpm.SimulationError, match=words) as caught:
            sim.step(1)
        assert caught.value.rows == [3, 4]
    sim.elements.c10[3:5] = 1e9
    with pytest.raises(mpm.SimulationError, match=r"go together.*2 element.*bulk_modulus must be >= 4/3 c10"):
        sim.step(1)
    sim.elements.c10[3:5] = good
    assert sim.state_hash() == hashed


def two_bodies():
    scene = mpm.Scene((-1, -1), (4, 2))
    for k, slope in enumerate((1, 2)):  # functions of one name
        scene.add(
            mpm.shapes.Box((2 * k, 0), (2 * k + 1, 1)),
            M.NeoHookean(
                E=lambda x, s=slope: 1e4 * (1 + s * x[:, 1]), nu=0.3, density=lambda x: 1000 + x[:, 0]
            ),
            name="ab"[k],
        )
    scene.add(mpm.shapes.Box((1.2, 0), (1.8, 0.5)), fem_scenes.LAWS["corotated"], name="c")
    return strained(fem.Simulation(scene, spacing=1 / 3))


def test_other_materials_have_none():
    sim = two_bodies()
    rows = np.isnan(sim.elements.E)
    assert (rows == (sim.elements.material == 2)).all() and rows.any()
    sim.elements.E[int(np.flatnonzero(rows)[0])] = 3
    with pytest.raises(mpm.SimulationError, match=r"1 element.s.: E is one value for a whole material there"):
        sim.step(1)
    sim.elements.E[rows] = np.nan
    sim.elements.E = 2e4  # all that have one
    assert (np.isnan(sim.elements.E) == rows).all()
    sim.step(1)
    nodes = np.unique(sim.elements.nodes[rows])
    assert (np.isnan(sim.compute("E")) == np.isin(np.arange(len(sim.particles)), nodes)).all()


def test_parameters_come_back_from_files(tmp_path):
    sim = two_bodies()
    sim.elements.E[7] *= 1.5
    sim.step(3)
    again = checkpoint.loads(checkpoint.dumps(sim))
    assert again.state_hash() == sim.state_hash()
    np.testing.assert_array_equal(again.elements.E, sim.elements.E)
    np.testing.assert_array_equal(again.elements.mass, sim.elements.mass)
    for one in (sim, again):
        one.step(5)
    np.testing.assert_array_equal(again.particles.x, sim.particles.x)
    with sim.record(tmp_path / "a.vtkhdf", fps=1e3, fields=("v", "E")):
        sim.run(sim.time + 1e-3)
    frame = mpm.replay(tmp_path / "a.vtkhdf")[-1]
    np.testing.assert_array_equal(frame["E"], sim.compute("E"))
    assert frame.units["E"] == "Pa"
    for number, name in ((-1.0, "element.E"), (np.nan, "element.E"), (0.0, "element_density")):
        tree, arrays = container.unpack(checkpoint.dumps(sim))
        arrays = {key: np.array(kept) for key, kept in arrays.items()}
        arrays[f"state.{name}"][2] = number
        with pytest.raises(mpm.FileFormatError):
            checkpoint.loads(b"".join(container.pack(tree, arrays)))
        del arrays[f"state.{name}"]
        with pytest.raises(mpm.FileFormatError):
            checkpoint.loads(b"".join(container.pack(tree, arrays)))


def test_density_is_in_the_masses():
    sim = two_bodies()
    np.testing.assert_allclose(sim.elements.mass.sum(), sim.totals().mass, rtol=1e-13)
    own = sim.elements.material < 2
    at = sim._rest[sim.elements.nodes].mean(axis=1)
    np.testing.assert_allclose((sim.elements.mass / sim.elements.volume)[own], 1000 + at[own, 0], rtol=1e-12)
    assert "density" not in sim.elements.fields
    scene = mpm.Scene((-2, -2), (2, 2))
    heavy = M.Hencky(E=10, nu=0.3, density=lambda x: 1 + 9 * (x[:, 0] > 0))
    scene.add(mpm.shapes.Box((-0.5, -0.5), (0.5, 0.5)), heavy, angular_velocity=1)
    assert (
        np.abs(fem.Simulation(scene, spacing=1 / 8).totals().momentum).max() < 1e-14
    )  # about the centre of mass


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"E": np.ones(7)}, "E has 7 values: must have one for each of the 18 elements of 'body0'"),
        ({"E": lambda x: x[:, 0] - 0.3}, r"E\(x\) of 'body0', element 0: -0.\d+ must be > 0 .Pa."),
        ({"nu": lambda x: 0.9 * x[:, 0]}, r"nu\(x\) of 'body0', element \d+: 0.[56]\d* must be > -1 and < 0.5"),
        ({"E": lambda x: x}, r"E\(x\) has shape"),
    ],
)  # fmt: skip
def test_errors_name_parameter_value_and_element(wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        simulation(M.Hencky(**{"E": 1.0, "nu": 0.3, "density": 1.0, **wrong}))
    with pytest.raises(ValueError, match="element 2 of 'body0': bulk_modulus"):
        c10 = np.where(np.arange(18) == 2, 1e9, 1e3)
        simulation(replace(fem_scenes.LAWS["mooney_rivlin"], c10=c10))
    with pytest.raises(ValueError, match="mu_2 of Ogden decides which terms the law has"):
        simulation(replace(scenes.MATERIALS["ogden"], mu_2=lambda x: -1 - x[:, 0]))


def test_the_doctor_and_pictures_know_varying_elements():
    material = M.Hencky(E=graded, nu=0.3, density=lambda x: 1000 + 0 * x[:, 0])
    sim = fem.Simulation(fem_scenes.scene_of(2, material, mesh(2), gravity=(0, -1)))
    assert {one.topic for one in mpm.doctor(sim)} >= {"speed", "stiffness"}
    assert "E" in sim.quantities and sim.interpolate("E", [(0.5, 0.5)])[0] == pytest.approx(1.5e4, rel=0.2)
    pytest.importorskip("matplotlib")
    sim.plot(color="E")
