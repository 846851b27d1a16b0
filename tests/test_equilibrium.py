"""`Simulation.equilibrate`: rest under gravity, against closed forms, and what it leaves alone."""

import numpy as np
import pytest

import mpm
import scenes
from mpm.mpm import numerics
from mpm.scene.colliders import place

pytestmark = pytest.mark.numbers

G, RHO = 9.81, 1000.0


def column(material, *, dim=2, height=1.0, n=16, walls="mirror", gravity=True, **options):
    """A column of material between planes of symmetry, with its foot on the lowest face."""
    dx = 1 / n
    side = (4 * dx,) * (dim - 1)
    scene = mpm.Scene((0,) * dim, (*side, 1.5), gravity=(0,) * (dim - 1) + (-G * gravity,), walls=walls)
    scene.add(mpm.shapes.Box((0,) * dim, (*side, height)), material, name="column")
    return mpm.Simulation(scene, dx=dx, sampling="lattice", threads=1, **options)


def height_of(sim):
    """Of the highest particle's upper face [m]."""
    y, J = np.array(sim.particles.x)[:, -1], np.array(sim.particles.J)
    rest = sim.dx / round(sim._numerics.particles_per_cell ** (1 / sim.dimension))
    return y.max() + J[y.argmax()] * rest / 2


@pytest.mark.parametrize("dim", scenes.DIMS)
def test_a_column_under_its_weight_has_the_height_of_the_closed_form(dim):
    """P(Y) = -ρ g (H - Y) in uniaxial strain; heights by quadrature of the law of one axis."""
    for share, height in ((0.05, 0.97541651), (0.5, 0.79022882), (1.0, 0.64779357)):
        material = mpm.materials.NeoHookean(E=RHO * G / share, nu=0.0, density=RHO)
        sim = column(material, dim=dim, n=16 if dim == 2 else 8)
        found = sim.equilibrate(tolerance=1e-3)
        assert found.residual <= 1e-3 and found.steps >= 8 and found.products > 0
        assert height_of(sim) == pytest.approx(height, rel=5e-3)  # measured 6e-4 at worst
        assert not np.any(sim.particles.v) and not np.any(sim.particles.C)


def test_fluid_has_the_pressure_of_what_is_above_it():
    sim = column(mpm.materials.Fluid(bulk_modulus=1e6, density=RHO, viscosity=10.0))
    sim.equilibrate(tolerance=1e-3)
    depth = height_of(sim) - np.array(sim.particles.x)[:, 1]
    assert np.abs(sim.compute("pressure") - RHO * G * depth).max() <= 0.02 * RHO * G  # measured 1.5 %


def test_what_relaxes_rests_as_its_slow_spring():
    """With the bulk modulus of fast deformation and the rest of the shear modulus, and no stress in a branch."""
    E, nu, rest = 5e4, 0.3, 0.4
    solid = mpm.materials.Viscoelastic(
        E=E, nu=nu, density=RHO, g_1=0.4, tau_1=0.1, g_2=0.2, tau_2=1e3, viscosity=50
    )
    mu, K = rest * E / (2 + 2 * nu), E / (3 - 6 * nu)
    slow = mpm.materials.Hencky(
        E=9 * K * mu / (3 * K + mu), nu=(3 * K - 2 * mu) / (6 * K + 2 * mu), density=RHO
    )
    sims = [column(material) for material in (solid, slow)]
    for sim in sims:
        sim.equilibrate(tolerance=1e-4)
    apart = np.abs(np.array(sims[0].particles.x) - np.array(sims[1].particles.x)).max()
    assert apart < 1e-6  # measured 5e-10 m
    stress = np.array(sims[0].compute("stress"))
    sims[0].run(1e-4)
    assert (
        np.abs(np.array(sims[0].compute("stress")) - stress).max() < 1e-4 * np.abs(stress).max()
    )  # measured 5e-7


def cantilever(sag, *, cells=8, aspect=8, **options):
    """A beam of length 1 m, clamped at x = 0, that theory bends by `sag` at its tip; its first frequency [rad/s]."""
    dx = 1 / (cells * aspect)
    thick, nu = cells * dx, 0.3
    plane = 1.5 * RHO * G / (sag * thick**2)  # E/(1 - ν²): sag = ρ g A L⁴/8 E' I
    scene = mpm.Scene((0, 0), (1 + 8 * dx, 4 * thick), gravity=(0, -G), walls="sticky")
    material = mpm.materials.FixedCorotated(E=plane * (1 - nu**2), nu=nu, density=RHO)
    scene.add(mpm.shapes.Box((0, 2 * thick), (1, 3 * thick)), material, name="beam")
    sim = mpm.Simulation(scene, dx=dx, sampling="lattice", threads=1, **options)
    return sim, 3.516 * np.sqrt(plane * thick**2 / 12 / RHO)


def tip_of(sim):
    """How far its end has sunk [m]."""
    x = np.array(sim.particles.x)
    start, _ = cantilever(0.02)
    first = np.array(start.particles.x)
    end = first[:, 0] > first[:, 0].max() - 1e-9
    return (first - x)[end, 1].mean()


def test_a_cantilever_sags_as_theory_and_explicit_steps_say():
    """Theory with shear: 1 + 4 E' I/(κ G A L²), κ = 5/6."""
    sag = 0.02
    sim, omega = cantilever(sag)
    found = sim.equilibrate()
    assert found.residual <= 1e-2
    assert tip_of(sim) == pytest.approx(sag * 1.0179, rel=0.05)  # measured 0.7 %
    steps = 2 * np.pi / omega / (0.6 * cantilever(sag)[0].stable_dt().dt)  # of the first period
    assert 0.62 * found.products <= 2.5 * steps  # measured 0.94; 0.62: a product in explicit steps
    still, _ = cantilever(sag, transfer="pic")  # PIC takes the energy
    still.run(4 * 2 * np.pi / omega)
    assert tip_of(sim) == pytest.approx(tip_of(still), rel=1e-2)  # measured -0.15 %


def test_explicit_steps_go_on_from_rest():
    sim, omega = cantilever(0.02)
    x = sim.particles.x
    sim.equilibrate()
    rest = x.copy()
    assert sim.steps == sim.time == 0 and not len(sim.history["time"])
    sim.run(2 * np.pi / omega / 2)
    assert np.abs(x - rest).max() < 0.05 * 0.02  # measured 1.9 % of the sag; without rest 2 sags
    assert x is not rest and np.shares_memory(x, sim.particles.x)


def test_a_body_force_is_a_load_and_stress_stays():
    """A body force that cancels gravity leaves what was there."""
    material = mpm.materials.NeoHookean(E=1e5, nu=0.0, density=RHO)
    sim = column(material)
    sim.equilibrate(tolerance=1e-6)
    pushed = column(material, gravity=False)
    scene = mpm.Scene(
        (0, 0), pushed.scene.upper, walls="mirror", body_force=lambda x, t: np.tile([0.0, -G], (len(x), 1))
    )
    scene.add(mpm.shapes.Box((0, 0), (0.25, 1.0)), material, name="column")
    other = mpm.Simulation(scene, dx=1 / 16, sampling="lattice", threads=1)
    other.equilibrate(tolerance=1e-6)
    assert np.abs(other.particles.x - sim.particles.x).max() < 1e-12
    before = sim.particles.x.copy()
    sim.equilibrate(increments=4, tolerance=1e-6)  # begins without load: the column rises, and sinks again
    assert np.abs(sim.particles.x - before).max() < 2e-5  # measured 8e-6


@pytest.mark.parametrize(
    "motion",
    [
        mpm.motion.Linear((0.0, 0.1)),
        mpm.motion.Rotation(0.3, about=(0.5, 0.3)),
        mpm.motion.Sinusoid((0.0, 0.05), 1.0),
        mpm.motion.Keyframes([0, 1], [(0, 0), (0.1, 0.1)], angles=[0, 0.2]),
    ],
)
def test_colliders_are_held_where_they_are(motion):
    def build(moves, at):
        scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -G), walls="sticky")
        scene.add(
            mpm.shapes.Box((0.3, 0.32), (0.7, 0.6)), mpm.materials.NeoHookean(E=1e5, nu=0.2, density=RHO)
        )
        scene.add_collider(
            mpm.shapes.Box((0.2, 0.2), (0.8, 0.3)), contact="sticky", motion=moves, name="table"
        )
        sim = mpm.Simulation(scene, dx=1 / 32, sampling="lattice", threads=1)
        sim.run(at)
        return sim

    sim = build(motion, at=0.1)
    core = numerics.new_core(sim.scene, sim._numerics)
    (held,) = place(core, [one.prepared for one in sim._colliders], held=0.1)
    x = np.array([[0.5, 0.35], [0.2, 0.25], [0.83, 0.31]])
    now = sim.collider_distance("table", x)
    for time in (0.0, 0.1, 5.0):
        assert np.abs(held.at(time).distance(x)[0] - now).max() < 1e-12
    sim.equilibrate()
    above = sim.collider_distance("table", sim.particles.x)
    assert -0.5 * sim.dx < above.min() < 0.5 * sim.dx


def mixed(dim, threads=1, **options):
    """Snow on jelly beside a fluid, all of which rest after little motion."""
    scene = mpm.Scene((0,) * dim, (1,) * dim, gravity=(0,) * (dim - 1) + (-G,), walls="slip")
    low, wide = (0,) * dim, (1,) * (dim - 2)
    scene.add(
        mpm.shapes.Box(low, (0.5, *wide, 0.25)), mpm.materials.FixedCorotated(E=1e5, nu=0.3, density=RHO)
    )
    scene.add(
        mpm.shapes.Box((0, *low[2:], 0.25), (0.5, *wide, 0.5)),
        mpm.materials.Snow(E=1e6, nu=0.2, density=400),
        name="snow",
    )
    scene.add(
        mpm.shapes.Box((0.5, *low[1:]), (1, *wide, 0.4)), mpm.materials.Fluid(bulk_modulus=1e5, density=RHO)
    )
    return mpm.Simulation(
        scene, dx=1 / 16 if dim == 2 else 1 / 8, threads=threads, sampling="lattice", **options
    )


@pytest.mark.parametrize("dim", scenes.DIMS)
def test_every_law_with_a_tangent_rests_beside_others(dim):
    sim = mixed(dim)
    sim.particles.add_field("age", unit="s")[...] = np.arange(len(sim.particles))
    found = sim.equilibrate(tolerance=0.05)
    assert found.residual <= 0.05
    assert (np.array(sim.particles["age"]) == np.arange(len(sim.particles))).all()
    weight = sim.totals().mass * G
    start = sim.totals()
    sim.run(0.005)
    assert np.linalg.norm(sim.totals().momentum - start.momentum) < 0.1 * weight * 0.005
    assert sim == sim.__copy__()


def test_threads_do_not_change_a_bit_and_views_stay_live():
    hashes = set()
    for threads in (1, 2, 3):
        sim = mixed(2, threads=threads)
        x = sim.particles.x
        sim.equilibrate(tolerance=0.05)
        assert np.shares_memory(x, sim.particles.x)
        hashes.add(sim.state_hash())
    assert len(hashes) == 1


def refusing(what):
    soft = mpm.materials.NeoHookean(E=1e4, nu=0.2, density=RHO)
    if what == "float32":
        return column(soft, dtype="float32")
    if what == "no load":
        return column(soft, gravity=False)
    if what == "falls":
        return column(soft, walls="periodic", height=0.5)
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -G))
    scene.add(mpm.shapes.Box((0.3, 0.0), (0.7, 0.2)), soft)
    nodes = np.stack(np.meshgrid(*[np.linspace(0, 1, 17)] * 2, indexing="ij"), axis=-1)
    frames = [
        mpm.shapes.DistanceGrid((0, 0), 1 / 16, np.linalg.norm(nodes - (0.5, y), axis=-1) - 0.1)
        for y in (0.7, 0.6)
    ]
    scene.add_collider(mpm.shapes.Deforming([0, 1], frames), name="piston")
    return mpm.Simulation(scene, dx=1 / 16, threads=1)


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        ("float32", ValueError, "dtype = 'float32': rounding"),
        ("no load", ValueError, "nothing loads the bodies"),
        ("falls", mpm.ConvergenceError, "no equilibrium after .* of the load, tolerance"),
        ("deforms", ValueError, "collider 'piston' deforms"),
    ],
)
def test_what_cannot_rest_says_so_and_nothing_changes(what, error, message):
    sim = refusing(what)
    before = sim.state_hash()
    with pytest.raises(error, match=message):
        sim.equilibrate()
    assert sim.state_hash() == before


def test_a_search_whose_solves_fail_again_and_again_ends():
    """This sand creeps, by pseudo-steps of which two of three cannot be solved."""
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -G), walls="sticky")
    scene.add(mpm.shapes.Box((0.3, 0.3), (0.7, 0.7)), mpm.materials.Sand(E=1e6, cohesion=58.0))
    scene.add_collider(mpm.shapes.HalfSpace((0.25, 0.25), (0, 1)))
    with pytest.raises(mpm.ConvergenceError, match="because pseudo-steps cannot be solved"):
        mpm.Simulation(scene, dx=1 / 8, threads=1).equilibrate()


def test_an_error_in_the_body_force_changes_nothing():
    calls = []

    def force(x, t):
        calls.append(t)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return np.tile([0.0, -G], (len(x), 1))

    scene = mpm.Scene((0, 0), (0.25, 1.5), walls="mirror", body_force=force)
    scene.add(mpm.shapes.Box((0, 0), (0.25, 1.0)), mpm.materials.NeoHookean(E=1e5, nu=0.0, density=RHO))
    sim = mpm.Simulation(scene, dx=1 / 16, threads=1)
    before = sim.state_hash()
    with pytest.raises(KeyboardInterrupt):
        sim.equilibrate()
    assert sim.state_hash() == before and set(calls) == {0.0}
