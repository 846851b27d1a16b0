"""Pore water: consolidation, seepage, undrained strain, the balance of water, bits, bounds and refusals."""

import itertools
import pickle

import numpy as np
import pytest

import mpm
from mpm.shapes import Box

E, NU, DENSITY = 1e6, 0.2, 2000.0
E_OED = E * (1 - NU) / ((1 + NU) * (1 - 2 * NU))
WATER = mpm.Pore(0.5, 2e-10, fluid_bulk_modulus=5e6, surface="closed")  # M = 1e7 Pa, k/mu = 2e-7 m2/(Pa s)


def soil(pore=WATER, **changes):
    return mpm.materials.Hencky(**{"E": E, "nu": NU, "density": DENSITY, "pore": pore} | changes)


def consolidation(T, z, terms=200):
    """Terzaghi: p/p0 at the height z over the drained base, of a layer of height 1 at the time factor T."""
    M = (2 * np.arange(terms) + 1) * np.pi / 2
    return (2 / M * np.sin(np.outer(z, M)) * np.exp(-(M**2) * T)).sum(axis=1)


def column(n, dim=2, surface="closed", **options):
    """A layer under a load that the water has taken, drained at its base or its surface."""
    M, q = 1 / WATER.storage, 1e3
    strain = q / (E_OED + M)
    size = (4 / n,) * (dim - 1) + (1.0,)
    base = mpm.Wall("slip", pore_pressure=0.0) if surface == "closed" else mpm.Wall("slip")
    axis = "xyz"[dim - 1]
    walls = {f"{axis}-": base} | dict.fromkeys("xy"[: dim - 1], mpm.Wall("mirror"))
    scene = mpm.Scene((0,) * dim, (*size[:-1], 1 + 4 / n), walls=walls)
    F = np.diag([1.0] * (dim - 1) + [1 - strain])
    pore = mpm.Pore(0.5, 2e-10, fluid_bulk_modulus=5e6, pressure=M * strain, surface=surface)
    body = scene.add(Box((0,) * dim, size), soil(pore), F=F)
    scene.add_traction(body, lambda x: x[:, -1] > 1 - 1e-6, traction=(0,) * (dim - 1) + (-q,))
    return mpm.Simulation(scene, dx=1 / n, **options), M * strain, strain


@pytest.mark.numbers
@pytest.mark.parametrize(
    ("dim", "surface", "dtype", "limit"),
    [
        (2, "closed", "float64", 0.003),  # measured: 0.0013
        (2, "drained", "float64", 0.012),  # measured: 0.0080
        (3, "seepage", "float32", 0.02),
    ],
)
def test_a_layer_consolidates_as_terzaghi_says(dim, surface, dtype, limit):
    sim, p0, _ = column(16 if dim == 2 else 8, dim, surface, dtype=dtype)
    start = np.array(sim.particles.x, dtype=float)[:, -1]
    height = start if surface == "closed" else 1 - start
    c = WATER.consolidation(E_OED)
    for T in (0.1, 0.3):
        sim.run(T / c - sim.time)
        p = np.asarray(sim.particles.pore_pressure, dtype=float) / p0
        assert abs(p - consolidation(T, height)).max() < limit
    moved = (start - np.asarray(sim.particles.x, dtype=float)[:, -1])[start > start.max() - 1e-3].mean()
    drained = 1 - consolidation(0.3, np.linspace(0, 1, 2001)).mean()
    assert moved == pytest.approx(drained * p0 / E_OED, rel=0.03)  # measured: 0.021


@pytest.mark.parametrize("dim", [2, 3])
def test_water_is_neither_lost_nor_made(dim):
    for surface in ("closed", "drained"):
        sim, *_ = column(8, dim, surface)
        sim.step(60)
        history = sim.history
        came = history["wall_water"] + history["surface_water"]
        balance = np.diff(history["pore_water"]) - came[1:]
        assert came.sum() < -1e-7
        assert abs(balance).max() < 1e-12 * abs(history["pore_water"]).max()


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("options", [{}, {"transfer": "flip", "gradient": "bspline"}, {"kernel": "cubic"}])
def test_undrained_water_bears_the_strain(dim, options):
    """A linear velocity strains all particles alike, in one step by det(I + dt grad v) - 1."""
    scene = mpm.Scene((0,) * dim, (1,) * dim)
    pore = mpm.Pore(0.4, 0.0, fluid_bulk_modulus=4e5, biot=0.8, grain_bulk_modulus=1e7, surface="closed")
    rate = np.diag([-0.3, 0.1, 0.05][:dim])
    rate[0, 1] = 0.2
    scene.add(Box((0.25,) * dim, (0.75,) * dim), soil(pore), velocity=lambda x: (x - 0.5) @ rate.T)
    sim = mpm.Simulation(scene, dx=1 / 8, dt=1e-4, **options)
    if options.get("transfer") != "flip":
        sim.particles.C[:] = rate if sim.particles.C.shape[-1] == dim else 0
    else:
        return
    sim.step(1)
    gained = np.linalg.det(np.eye(dim) + 1e-4 * rate) - 1
    np.testing.assert_allclose(sim.particles.pore_pressure, -0.8 / pore.storage * gained, rtol=1e-9)


def test_water_at_rest_stays_at_rest():
    """Under lithostatic stresses, with the table at the surface."""
    side = mpm.Wall("slip", head=0.75)
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -10), walls={"x": side, "y-": "slip"})
    pore = mpm.Pore(0.5, 5e-10, fluid_bulk_modulus=5e6, head=0.75)
    scene.add(Box((0, 0), (1, 0.75)), soil(pore), name="ground")
    scene.lithostatic(K0=NU / (1 - NU))
    sim = mpm.Simulation(scene, dx=1 / 8, local_damping=0.3)
    z = np.asarray(sim.particles.x)[:, -1].copy()
    sim.run(0.4)
    assert abs(np.asarray(sim.particles.pore_pressure) - 1e4 * (0.75 - z)).max() < 60  # measured: 28
    assert abs(np.asarray(sim.particles.x)[:, -1] - z).max() < 4e-4  # measured: 1.8e-4; as dry soil, 3.4e-3


def test_heads_of_walls_make_water_flow_at_an_even_rate():
    """Between two heads, u = p - rho g.x is linear, and what comes in leaves."""
    scene = mpm.Scene(
        (0, 0),
        (2, 1),
        gravity=(0, -10),
        walls={"x-": mpm.Wall("sticky", head=1.5), "x+": mpm.Wall("sticky", head=1.1)},
    )
    pore = mpm.Pore(0.5, 1e-8, fluid_bulk_modulus=1e6, surface="closed", head=1.3)
    stiff = soil(pore, E=1e7)
    scene.add(Box((0, 0), (2, 1)), stiff)
    scene.lithostatic(K0=0.25)
    sim = mpm.Simulation(scene, dx=1 / 8, local_damping=0.3)
    sim.run(0.4)
    x, z = np.asarray(sim.particles.x).T
    expected = 1e4 * (1.5 - 0.2 * x - z)
    assert abs(np.asarray(sim.particles.pore_pressure) - expected).max() < 60
    gradient = np.asarray(sim.particles.pore_gradient)
    assert abs(gradient[:, 0] + 2000).max() < 30 and abs(gradient[:, 1]).max() < 30
    assert abs(sim.history["wall_water"][-100:].sum()) < 1e-6


def test_dry_bodies_take_no_water():
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -10), walls={"y-": mpm.Wall("slip", head=1.0)})
    pore = mpm.Pore(0.5, 1e-9, fluid_bulk_modulus=1e6)
    scene.add(Box((0, 0), (1, 0.5)), soil(pore), name="wet")
    scene.add(Box((0, 0.5), (1, 0.75)), soil(None), name="dry")
    sim = mpm.Simulation(scene, dx=1 / 8)
    sim.step(50)
    assert not np.asarray(sim.particles.pore_pressure)[sim.rows("dry")].any()
    assert np.asarray(sim.particles.pore_pressure)[sim.rows("wet")].any()


def slump(dim=2, **options):
    """A wet block that slumps on a drained floor between walls."""
    up = "xyz"[dim - 1]
    floor = mpm.Wall("separate", friction=0.4, pore_pressure=500.0)
    scene = mpm.Scene(
        (0,) * dim, (1,) * dim, gravity=(0,) * (dim - 1) + (-10,), walls={f"{up}-": floor, "x-": "mirror"}
    )
    pore = mpm.Pore(0.5, 2e-8, fluid_bulk_modulus=5e5, head=0.5)
    sand = mpm.materials.MohrCoulomb(
        E=1e6, nu=0.3, density=1900, cohesion=0, friction_angle_deg=30, dilation_angle_deg=0, pore=pore
    )
    scene.add(Box((0,) * dim, (0.4,) * dim), sand)
    return mpm.Simulation(scene, dx=1 / 16 if dim == 2 else 1 / 12, **options)


def bits(sim):
    fields = [
        np.asarray(sim.particles[name]).tobytes()
        for name in ("x", "v", "F", "pore_pressure", "pore_gradient")
    ]
    return [*fields, *(values.tobytes() for values in sim.history.values())]


@pytest.mark.parametrize(("dim", "dtype"), [(2, "float64"), (3, "float32")])
def test_the_same_bits_for_threads_splits_and_files(tmp_path, dim, dtype):
    whole = slump(dim, dtype=dtype)
    whole.step(40)
    parts = slump(dim, dtype=dtype, threads=3)
    parts.step(7)
    parts.save(tmp_path / "kept.mpm")
    parts = mpm.load(tmp_path / "kept.mpm")
    for count in (1, 1, 11, 20):
        parts.step(count)
    assert bits(parts) == bits(whole)
    assert parts.state_hash() == whole.state_hash()
    assert whole.history["surface_water"].any() and whole.history["wall_water"].any()


def test_the_bound_of_the_step_knows_the_water():
    """It is that of the skeleton and of the water, whose modulus is ten times as large."""
    bound = slump().stable_dt().dt
    stiffness = E * 1.3 / (1.3 * 0.4) * 1  # 2 mu + 2 lambda of nu = 0.3, plane
    assert bound < 0.8 / 16 / np.sqrt(stiffness / 1900)
    calm = slump(dt=0.98 * bound)
    calm.step(400)
    assert abs(np.asarray(calm.particles.v)).max() < 3
    assert abs(np.asarray(calm.particles.pore_pressure)).max() < 5e4
    with pytest.raises(mpm.InstabilityError, match="bound"):
        slump(dt=1.05 * bound).step(1)


def test_a_pressure_that_overflows_refuses_the_step():
    sim = slump()
    before = np.asarray(sim.particles.pore_pressure).copy()
    sim.particles.pore_pressure[3] = 1e305
    with pytest.raises(mpm.InstabilityError):
        sim.step(1)
    assert (np.delete(np.asarray(sim.particles.pore_pressure), 3) == np.delete(before, 3)).all()


def scene_of(material, walls=None, gravity=(0, -10)):
    scene = mpm.Scene((0, 0), (1, 1), gravity=gravity, walls=walls or {})
    scene.add(Box((0, 0), (1, 0.5)), material)
    return scene


def test_what_has_no_pore_water_refuses_it():
    wet = scene_of(soil())
    with pytest.raises(ValueError, match=r"mpm\.fem has no pore water"):
        mpm.fem.Simulation(wet, spacing=0.1)
    fluid = mpm.Scene((0, 0), (1, 1), walls={"x-": mpm.Wall("slip", head=1.0)})
    fluid.add(Box((0, 0), (1, 0.5)), mpm.materials.Fluid(bulk_modulus=1e5, density=1000))
    with pytest.raises(ValueError, match="no body has pore water"):
        mpm.Simulation(fluid, dx=1 / 8)
    with pytest.raises(ValueError, match=r"mpm\.sph has no pore water"):
        mpm.sph.Simulation(fluid, spacing=0.05)
    for options, match in (
        ({"integrator": "implicit-euler"}, "explicit"),
        ({"kernel": "linear", "gradient": "bspline"}, "quadratic"),
    ):
        with pytest.raises(ValueError, match=match):
            mpm.Simulation(wet, dx=1 / 8, **options)
    hot = scene_of(soil())
    hot.add(Box((0, 0.5), (1, 0.6)), soil(None, thermal=mpm.Thermal(1.0, 1.0)))
    with pytest.raises(ValueError, match="heat or pore pressure"):
        mpm.Simulation(hot, dx=1 / 8)
    other = scene_of(soil())
    other.add(Box((0, 0.5), (1, 0.6)), soil(mpm.Pore(0.5, 1e-9, surface="drained")))
    with pytest.raises(ValueError, match="surface = 'drained'"):
        mpm.Simulation(other, dx=1 / 8)
    with pytest.raises(ValueError, match=r"head = 0\.5: there is no gravity"):
        mpm.Simulation(scene_of(soil(mpm.Pore(0.5, 1e-9, head=0.5)), gravity=(0, 0)), dx=1 / 8)
    dry = mpm.Simulation(scene_of(soil(None)), dx=1 / 8)
    with pytest.raises(ValueError, match="began without pore water"):
        dry.add(Box((0, 0.5), (1, 0.6)), soil())
    with pytest.raises(ValueError, match="equilibrate does not know"):
        mpm.Simulation(wet, dx=1 / 8).equilibrate()


@pytest.mark.parametrize(
    ("walls", "gravity", "match"),
    [
        ({"x-": mpm.Wall("slip", pore_pressure=1.0)}, (0, -10), "head="),
        ({"y-": mpm.Wall("slip", head=1.0)}, (0, 0), "no gravity"),
        ({"y": "periodic"}, (0, -10), "across gravity"),
    ],
)
def test_walls_that_have_no_meaning_are_refused(walls, gravity, match):
    with pytest.raises(ValueError, match=match):
        mpm.Simulation(scene_of(soil(), walls, gravity), dx=1 / 8)


def test_a_gravity_that_walls_cannot_have_is_refused_later_too():
    for walls, gravity in (
        ({"y-": mpm.Wall("slip", pore_pressure=1.0)}, (1, -10)),
        ({"y-": mpm.Wall("slip", head=1.0)}, (0, 0)),
        ({"x": "periodic"}, (1, -10)),
    ):
        sim = mpm.Simulation(scene_of(soil(), walls), dx=1 / 8)
        with pytest.raises(ValueError, match="gravity"):
            sim.set("gravity", gravity)
        assert sim.scene.gravity.tolist() == [0, -10] and not sim.changes
    sim = mpm.Simulation(scene_of(soil(mpm.Pore(0.5, 1e-9, head=0.5))), dx=1 / 8)
    sim.set("gravity", (0, 0))  # the head was that of the beginning
    assert pickle.loads(pickle.dumps(sim)) == sim
    with pytest.raises(ValueError, match="there is no gravity"):
        sim.add(Box((0, 0.5), (1, 0.6)), soil(mpm.Pore(0.5, 1e-9, head=0.7)))


def test_wrong_arguments_name_what_is_allowed():
    good = {"porosity": 0.4, "permeability": 1e-12}
    numbers = (
        "porosity",
        "permeability",
        "fluid_bulk_modulus",
        "fluid_density",
        "viscosity",
        "biot",
        "pressure",
    )
    for name, wrong in itertools.product(numbers, (np.nan, np.inf, "1", True, [1.0], None)):
        with pytest.raises((TypeError, ValueError), match=name):
            mpm.Pore(**{**good, name: wrong})
    for name, wrong in (
        ("porosity", 0), ("porosity", 1), ("permeability", -1), ("fluid_bulk_modulus", 0), ("viscosity", -1),
        ("biot", 0.3), ("biot", 1.1), ("grain_bulk_modulus", 0), ("surface", "open"), ("surface", 1), ("head", "x"),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=name):
            mpm.Pore(**{**good, name: wrong})
    with pytest.raises(ValueError, match="leave one out"):
        mpm.Pore(**good, head=1.0, pressure=2.0)
    with pytest.raises(TypeError, match=r"mpm\.Pore"):
        soil({"porosity": 0.4})
    for given in ({"head": np.nan}, {"pore_pressure": "1"}, {"head": 1.0, "pore_pressure": 1.0}):
        with pytest.raises((TypeError, ValueError)):
            mpm.Wall("slip", **given)
    with pytest.raises(ValueError, match="periodic"):
        mpm.Wall("periodic", head=1.0)
