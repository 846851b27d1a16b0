"""Diffusion of a solute: the same as of heat, closed forms, amounts, swelling, bits, files, refusals."""

import copy
import math

import numpy as np
import pytest

import mpm
from mpm.shapes import Ball, Box

BASE = 300.0  # [K] of the heat that a concentration of 0 is compared with


def holder(D=1.0, swelling=0.0, concentration=0.0, E=1.0, density=1.0, **options):
    solute = mpm.Solute(D, swelling, concentration, **options)
    return mpm.materials.NeoHookean(E=E, nu=0.0, density=density, solute=solute)


def rod(n, end, walls=None, dim=2, share=0.1, **options):
    """Of n cells along x and four across, with steps of about `share` dx²/D."""
    size = (1.0, *[4 / n] * (dim - 1))
    scene = mpm.Scene((0,) * dim, size, walls=walls or {})
    scene.add(Box((0,) * dim, size), holder())
    sim = mpm.Simulation(scene, dx=1 / n, dt=end / math.ceil(end * n * n / share - 1e-9), **options)
    return sim, np.asarray(sim.particles.x)[:, 0].astype(float)


def concentration(sim):
    return np.asarray(sim.particles.concentration).astype(float)


WALLS = {"x-": {"temperature": 350.0}, "x+": {"flux": -40.0}, "y+": {"transfer": (3.0, 250.0)}}
COLLIDERS = ({"temperature": 300.0}, {"temperature": 280.0}, {"flux": 25.0}, {"transfer": (2.0, 320.0)})
NAMES = {"temperature": "concentration", "flux": "solute_flux", "transfer": "solute_transfer"}


def renamed(given):
    """What supplies heat, as a supply of a solute."""
    (name, value), = given.items()  # fmt: skip
    moved = (
        value - BASE
        if name == "temperature"
        else (value[0], value[1] - BASE)
        if name == "transfer"
        else value
    )
    return {NAMES[name]: moved}


@pytest.mark.parametrize("conduction", ["explicit", "implicit"])
@pytest.mark.parametrize(("dim", "dtype"), [(2, "float64"), (3, "float64"), (2, "float32")])
def test_a_solute_diffuses_as_heat_is_conducted(dim, dtype, conduction):
    """Between walls and colliders that do the same, also of concentrations of 0 and less; with another density."""
    ends, given = [], []
    for heat in (True, False):
        walls = {face: mpm.Wall("slip", **(of if heat else renamed(of))) for face, of in WALLS.items()}
        scene = mpm.Scene((0,) * dim, (1,) * dim, walls=walls)
        body = mpm.materials.NeoHookean(E=1e-6, nu=0.0, density=5.0, thermal=mpm.Thermal(0.6, 0.2, BASE))
        scene.add(Box((0,) * dim, (1,) * dim), body if heat else holder(0.6, E=1e-6, density=5.0))
        for k, of in enumerate(COLLIDERS):
            at = (0.2 + 0.2 * k, 0.15, 0.5)[:dim]
            scene.add_collider(Ball(at, 0.1), contact="slip", **(of if heat else renamed(of)))
        options = {"dt": 1e-3} if conduction == "explicit" else {"dt": 0.02, "allow_unstable": True}
        with pytest.warns(UserWarning):  # particles in colliders
            sim = mpm.Simulation(scene, dx=1 / 8, dtype=dtype, conduction=conduction, **options)
        name = "temperature" if heat else "concentration"
        x = np.asarray(sim.particles.x).astype(float)
        sim.particles[name][:] = BASE * heat + 20 * np.cos(5 * x[:, 0]) * np.cos(3 * x[:, 1])
        sim.step(12 if conduction == "explicit" else 3)
        ends.append(np.asarray(sim.particles[name]).astype(float) - BASE * heat)
        kind = "heat" if heat else "solute"
        given.append([sim.history[f"{what}_{kind}"].sum() for what in ("wall", "collider")])
        grown = np.ptp(sim.history[kind][[0, -1]])
        scale = max(map(abs, given[-1]))
        # measured: 3e-6, 1e-13 (heat, which has 300 K more)
        assert abs(grown - abs(sum(given[-1]))) < (2e-5 if dtype == "float32" else 1e-12) * scale
    # measured: 6e-5 (two digits of 300 K), 1.5e-13; 8e-7, 1e-15
    assert np.abs(ends[0] - ends[1]).max() < (3e-4 if dtype == "float32" else 2e-12)
    np.testing.assert_allclose(given[0], given[1], rtol=1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize(("dim", "dtype"), [(2, "float64"), (3, "float32")])
def test_a_slab_whose_faces_are_kept_dry(dim, dtype):
    """Crank (1975), section 4.3: a series; here its first term, of second order in dx, around 0."""
    end, decay = 0.04, math.exp(-(math.pi**2) * 0.04)
    errors = []
    for n in (8, 16):
        sim, x = rod(n, end, {"x": mpm.Wall("separate", concentration=0.0)}, dim, dtype=dtype)
        sim.particles.concentration[:] = 100 * np.sin(np.pi * x)
        sim.run(end)
        errors.append(abs(concentration(sim) - 100 * np.sin(np.pi * x) * decay).max() / (100 * decay))
    assert math.log2(errors[0] / errors[1]) > 1.95  # measured: 2.07


@pytest.mark.parametrize("dim", [2, 3])
def test_uptake_of_a_half_space_and_an_exact_flux(dim):
    """Crank (1975), section 3.3: c = c0 erfc(x/√(4 D t)) from a face of given concentration, 2 c0 √(D t/π) taken up."""
    n, end = 20, 0.01
    sim, x = rod(n, end, {"x-": mpm.Wall("slip", concentration=7.0)}, dim)
    sim.run(end)
    exact = 7 * np.array([math.erfc(one / math.sqrt(4 * end)) for one in x])
    assert abs(concentration(sim) - exact).max() < 0.015 * 7  # measured: 0.011
    area = (4 / n) ** (dim - 1)
    taken = sim.history["wall_solute"].sum()
    assert taken == pytest.approx(7 * 2 * math.sqrt(end / math.pi) * area, rel=0.03)  # measured: 0.026
    assert sim.history["solute"][-1] == pytest.approx(taken, rel=1e-12)
    assert sim.compute("solute").sum() == pytest.approx(taken, rel=1e-12)
    sim, x = rod(10, 0.05, {"x+": mpm.Wall("slip", solute_flux=-200.0)}, dim)
    sim.run(0.05)
    assert sim.history["wall_solute"].sum() == pytest.approx(-200 * 0.05 * 0.4 ** (dim - 1), rel=1e-12)
    assert concentration(sim)[x > 0.9].max() < concentration(sim)[x < 0.1].min() <= 0


@pytest.mark.parametrize(("dim", "dtype"), [(2, "float64"), (3, "float64"), (2, "float32")])
def test_amounts_are_conserved_between_materials_that_swell_and_meet(dim, dtype):
    """And nothing passes into a body without a solute."""
    scene = mpm.Scene((0,) * dim, (1,) * dim, gravity=(0,) * (dim - 1) + (-9.81,), walls="separate")
    wet = [holder(0.02, 1e-3, 50.0, E=300, density=rho) for rho in (1.0, 3.0)]
    scene.add(Ball((0.35,) * dim, 0.16), wet[0], velocity=(2,) * dim)
    scene.add(Ball((0.65,) * dim, 0.16), wet[1], velocity=(-2,) * dim)
    dry = mpm.materials.NeoHookean(E=300, nu=0.0, density=1.0)
    scene.add(Box((0.6, *[0.2] * (dim - 1)), (0.8, *[0.4] * (dim - 1))), dry)
    sim = mpm.Simulation(scene, dx=1 / 16, dtype=dtype)
    inside = np.asarray(sim.particles.material) < 2
    sim.particles.concentration[inside] = np.random.default_rng(1).uniform(0, 100, inside.sum())
    before = concentration(sim)[inside]
    sim.run(0.1)
    amount, small = sim.history["solute"], 1e-7 if dtype == "float32" else 1e-14
    assert abs(amount / amount[0] - 1).max() < small  # measured: 6e-9, 1e-15
    assert np.ptp(concentration(sim)[inside]) < 0.4 * np.ptp(before)  # measured: 0.30, 0.21
    assert not concentration(sim)[~inside].any()


TABLE = ([0.0, 10.0, 30.0], [0.0, 0.1, 0.15])


@pytest.mark.numbers
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize(
    ("swelling", "stretch"), [(0.01, 1.1), (TABLE, 1.085), (([0, 100], [0.5, -0.3]), 0.92)]
)
def test_free_swelling(dim, dtype, swelling, stretch):
    """A body takes the stretch of its concentration as soon as something is conducted, and comes to rest at it."""
    scene = mpm.Scene((0,) * dim, (1,) * dim)
    solute = mpm.Solute(1.0, swelling, concentration=2.0)
    assert solute.stretch(12.0) == pytest.approx(stretch, rel=1e-12)
    laws = [
        mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000, solute=solute),
        mpm.materials.Fluid(bulk_modulus=1e4, density=1000, solute=solute),
    ]
    for k, law in enumerate(laws):
        scene.add(Box((2 / 16 + k / 2, *[0.25] * (dim - 1)), (6 / 16 + k / 2, *[0.5] * (dim - 1))), law)
    sim = mpm.Simulation(scene, dx=1 / 16, damping=40.0, dtype=dtype)
    sim.particles.concentration[:] = 12.0
    solid = np.asarray(sim.particles.material) == 0
    rest = np.ptp(np.asarray(sim.particles.x).astype(float)[solid], axis=0)
    sim.step()
    np.testing.assert_allclose(
        sim.particles.swelling_stretch, stretch, rtol=1e-6 if dtype == "float32" else 1e-14
    )
    F = np.asarray(sim.particles.F)[solid].astype(float)
    np.testing.assert_allclose(
        F, np.tile(np.eye(dim) / stretch, (len(F), 1, 1)), atol=0.02 * abs(1 / stretch - 1) + 1e-3
    )
    sim.run(0.5)
    x = np.asarray(sim.particles.x).astype(float)[solid]
    np.testing.assert_allclose(np.ptp(x, axis=0) / rest, stretch, atol=0.01)
    density = sim.compute("density")[solid]
    assert np.median(density) == pytest.approx(1000 / stretch**dim, rel=0.01)


def wet(walls=None, dim=2, solute=None, **options):
    """A body that falls onto a wet floor, swells and softens."""
    solute = solute or mpm.Solute(6.0, 0.002, 1.0, scale={"E": ([0, 50], [1.0, 0.3])})
    floor = mpm.Wall("separate", friction=0.3, concentration=40.0)
    scene = mpm.Scene(
        (0,) * dim, (1,) * dim, gravity=(0,) * (dim - 1) + (-9.81,), walls=walls or {"y-": floor}
    )
    body = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=100, solute=solute)
    block = scene.add(Box((0.3,) * dim, (0.6,) * dim).translate((0.0, -0.28, 0.0)[:dim]), body)
    scene.add_solute_source(block, source=30.0, name="feed")
    scene.add_collider(Ball((0.75, 0.1, 0.45)[:dim], 0.1), solute_transfer=(2.0, 30.0))
    return mpm.Simulation(scene, dx=1 / 16, dt=1e-3 if dim == 2 else 5e-4, **options)


def bits(sim):
    fields = [np.asarray(sim.particles[name]).tobytes() for name in sim.particles.fields]
    return [*fields, *(values.tobytes() for values in sim.history.values())]


@pytest.mark.parametrize(("dim", "D"), [(2, 3.0), (2, 0.05), (3, 0.05)])
def test_the_same_bits_for_threads_splits_files_and_copies(tmp_path, dim, D):
    """Also between two conductions, which wait for several steps where D is small."""
    solute = mpm.Solute(D, 0.002, 1.0, scale={"E": ([0, 50], [1.0, 0.3])})
    whole = wet(dim=dim, solute=solute)
    whole.step(40)
    given = whole.history
    assert (given["wall_solute"][-20:] == 0).any() == (D < 1)
    assert all(given[f"{kind}_solute"].any() for kind in ("wall", "collider", "source"))
    sums = given["wall_solute"].sum() + given["collider_solute"].sum() + given["source_solute"].sum()
    assert given["solute"][-1] - given["solute"][0] == pytest.approx(sums, rel=1e-12)
    E, c = np.asarray(whole.particles.E), concentration(whole)
    np.testing.assert_allclose(E, 1e4 * np.interp(c, [0, 50], [1.0, 0.3]), rtol=1e-12)
    parts = wet(dim=dim, solute=solute, threads=2)
    parts.step(int(np.flatnonzero(given["wall_solute"])[2]) + 1)
    left = 40 - (len(parts.history["time"]) - 1)
    parts.save(tmp_path / "kept.mpm")
    for again in (parts, mpm.load(tmp_path / "kept.mpm"), copy.deepcopy(parts)):
        again.step(left)
        assert bits(again) == bits(whole)
    with whole.record(tmp_path / "run.vtkhdf", fps=1000, fields=("concentration",)):
        whole.step(6)
    last = mpm.replay(tmp_path / "run.vtkhdf")[-1]
    assert (np.asarray(last.particles.concentration) == np.asarray(whole.particles.concentration)).all()


def test_a_solute_without_swelling_leaves_the_motion_alone():
    wet_one, plain = wet(solute=mpm.Solute(6.0, 0.0, 1.0)), None
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81), walls={"y-": mpm.Wall("separate", friction=0.3)})
    body = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=100)
    scene.add(Box((0.3, 0.3), (0.6, 0.6)).translate((0.0, -0.28)), body)
    scene.add_collider(Ball((0.75, 0.1), 0.1))
    plain = mpm.Simulation(scene, dx=1 / 16, dt=1e-3)
    for sim in (wet_one, plain):
        sim.step(30)
    assert "concentration" not in plain.particles.fields and "solute" not in plain.history
    for name in ("x", "v", "F"):
        assert (np.asarray(wet_one.particles[name]) == np.asarray(plain.particles[name])).all()


@pytest.mark.parametrize("dim", [2, 3])
def test_a_step_that_shrinks_material_to_nothing_is_refused(dim):
    """Drying by a flux that the body cannot give, at a concentration that is negative: nothing has been written."""
    walls = {"y-": mpm.Wall("separate", solute_flux=-3e5)}
    sim, same = (wet(walls, dim, mpm.Solute(1.0, 0.01, 1.0)) for _ in range(2))
    with pytest.raises(
        mpm.InstabilityError, match=r"shrink it to a stretch below 0\.01.*not taken"
    ) as caught:
        sim.step(1000)
    same.step(caught.value.step)
    assert bits(copy.deepcopy(sim)) == bits(copy.deepcopy(same))
    calm = wet(walls, dim, mpm.Solute(1.0, 0.0, 1.0))  # without swelling, any sign will do
    calm.step(caught.value.step + 3)
    assert concentration(calm).min() < -100


def plain(**options):
    return mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1, **options)


def scene_of(*materials, walls=None):
    scene = mpm.Scene((0, 0), (1, 1), walls=walls or {})
    for k, material in enumerate(materials):
        scene.add(Ball((0.3 + 0.4 * k, 0.3), 0.15), material)
    return scene


def sourced(*materials, add="add_solute_source"):
    scene = scene_of(*materials)
    getattr(scene, add)("body0", source=1.0)
    return scene


wet_wall = {"x-": mpm.Wall("slip", concentration=0.0)}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mpm.materials.Rigid(density=1, solute=mpm.Solute(1)), "nothing passes into rigid bodies"),
        (lambda: plain(solute=3.0), "solute = 3.0: must be an mpm.Solute"),
        (lambda: plain(solute=mpm.Solute(1), thermal=mpm.Thermal(1, 1)), "thermal is given"),
        (lambda: plain(solute=mpm.Solute(1), pore=mpm.Pore(0.5, 1e-9)), "pore is given"),
        (
            lambda: mpm.Simulation(scene_of(holder(), plain(thermal=mpm.Thermal(1, 1))), dx=1 / 8),
            "other bodies have thermal=",
        ),
        (
            lambda: mpm.Simulation(scene_of(holder(), plain(pore=mpm.Pore(0.5, 1e-9))), dx=1 / 8),
            "other bodies have pore=",
        ),
        (
            lambda: mpm.Simulation(scene_of(plain()), dx=1 / 8).add(Ball((0.8, 0.8), 0.1), holder()),
            "began without a solute",
        ),
        (
            lambda: mpm.Simulation(scene_of(plain(), walls=wet_wall), dx=1 / 8),
            "concentration=0.0: no body holds a solute",
        ),
        (lambda: mpm.Simulation(scene_of(holder(), walls=wet_wall), dx=1 / 2), "2 cells along x; must be >= 4"),
        (
            lambda: mpm.Simulation(scene_of(holder(), walls={"x-": mpm.Wall("slip", temperature=300)}), dx=1 / 8),
            "no body conducts heat: not used; the bodies have solute=, which takes concentration=",
        ),
        (
            lambda: mpm.Simulation(scene_of(plain(thermal=mpm.Thermal(1, 1)), walls=wet_wall), dx=1 / 8),
            "no body holds a solute: not used; the bodies have thermal=, which takes temperature=",
        ),
        (
            lambda: mpm.Simulation(scene_of(holder()), dx=1 / 8).add(
                Ball((0.8, 0.8), 0.1), plain(thermal=mpm.Thermal(1, 1))
            ),
            "began without heat and has no temperatures; its bodies have solute=",
        ),
        (
            lambda: mpm.Simulation(sourced(holder(), add="add_heat_source"), dx=1 / 8),
            "does not conduct heat; use scene.add_solute_source",
        ),
        (
            lambda: mpm.Simulation(sourced(plain(thermal=mpm.Thermal(1, 1))), dx=1 / 8),
            "holds no solute; use scene.add_heat_source",
        ),
        (lambda: mpm.Simulation(sourced(plain(), holder()), dx=1 / 8), "holds no solute; give its material solute="),
        (
            lambda: mpm.Simulation(scene_of(holder()), dx=1 / 8, kernel="linear", gradient="bspline"),
            "kernel = 'linear': its gradient jumps, so that diffusion",
        ),
        (lambda: mpm.fem.Simulation(scene_of(holder()), spacing=1 / 8), "mpm.fem has no solutes"),
        (
            lambda: mpm.sph.Simulation(
                scene_of(mpm.materials.Fluid(bulk_modulus=1e5, density=1e3, solute=mpm.Solute(1.0))), spacing=1 / 8
            ),
            "mpm.sph has no solutes",
        ),
        (lambda: mpm.Wall("periodic", concentration=0.0), "nothing ends at a 'periodic' wall"),
        (lambda: mpm.Wall("mirror", solute_flux=1.0), "no solute comes in through a 'mirror' wall"),
        (lambda: mpm.Wall("slip", concentration=0.0, solute_flux=1.0), "one of concentration, solute_flux and"),
        (lambda: mpm.Wall("slip", solute_transfer=(-1, 1)), "the coefficient must be > 0"),
        (lambda: mpm.Solute(-1.0), "diffusivity = -1"),
        (lambda: mpm.Solute(1.0, "much"), "swelling = 'much'"),
        (lambda: mpm.Solute(1.0, ([0, 1], [0, -2])), "the stretch would be -1"),
        (lambda: mpm.Solute(1.0, np.array(-1.0)), "swelling = -1.0: must be >= 0"),
        (lambda: mpm.Solute(1.0, scale={"E": np.array(1.0)}), "scale['E'] = array(1.): must be (concentrations,"),
        (lambda: mpm.Solute(1.0, ([1, 0], [0, 1])), "concentrations[1] = 0: must be > 1"),
        (lambda: mpm.Solute(1.0, concentration=math.nan), "concentration"),
        (lambda: plain(solute=mpm.Solute(1, scale={"density": ([0, 1], [1, 2])})), "solute: scale['density']"),
    ],
)  # fmt: skip
def test_what_cannot_hold_a_solute_says_so(call, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert words in str(caught.value)
