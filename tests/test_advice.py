"""What is said to somebody who is about to be misled: overlaps, wrong names, units, precision, the linear kernel."""

import copy
import signal
import warnings

import numpy as np
import pytest

import mpm
from mpm import shapes
from mpm.shapes import Ball, Box, HalfSpace, Points
from mpm.shapes.shape import MOST_NESTED

JELLY = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)
dims = pytest.mark.parametrize("dim", [2, 3])


def scene(dim=2, upper=1.0, **options):
    result = mpm.Scene([0] * dim, [upper] * dim, **options)
    result.add(Box([0.25] * dim, [0.5] * dim), JELLY, name="cube")
    return result


# --- bodies ------------------------------------------------------------------------------------------------------


@dims
def test_bodies_that_overlap_are_told(dim):
    both = scene(dim)
    both.add(Ball([0.5] * dim, 0.2), JELLY, name="ball")
    both.add(Points([[0.3] * dim], volume="per-cell"), JELLY, name="grain")
    both.add(HalfSpace([0.1] * dim, [0] * (dim - 1) + [1]), JELLY, name="ground")
    both.add(Box([0.65] * dim, [0.7] * dim), JELLY, name="corner")  # in the ball's bounds, but not in it
    with pytest.warns(UserWarning) as told:
        sim = mpm.Simulation(both, dx=1 / 16, sampling="stratified")
    x = sim.particles.x[4**dim * 2**dim :]
    ball = ((x - 0.5) ** 2).sum(axis=1) < 0.2**2
    within = int((ball & (x < 0.5).all(axis=1)).sum())
    (message,) = {str(one.message) for one in told}
    assert message.startswith(
        f"{within} of {int(ball.sum())} particles of 'ball' lie in 'cube': both bodies have mass"
    )


@dims
def test_bodies_that_touch_or_were_cut_are_not(dim):
    both = scene(dim)
    both.add(Box([0.5] + [0.25] * (dim - 1), [0.75] + [0.5] * (dim - 1)), JELLY)
    both.add(
        Ball([0.5] * dim, 0.3) - Box([0.25] * dim, [0.5] * dim) - Box([0.5, 0.25, 0.25][:dim], [1] * dim),
        JELLY,
    )
    mpm.Simulation(both, dx=1 / 16)


def test_a_body_outside_is_named():
    beyond = scene()
    beyond.add(Box((0.75, 0.75), (1.25, 1)), JELLY, name="lid")
    with pytest.raises(ValueError, match=r"shape of 'lid': Box\(.* sticks out of the domain"):
        mpm.Simulation(beyond, dx=1 / 16)
    sim = mpm.Simulation(scene(), dx=1 / 16)
    with pytest.raises(ValueError, match="shape of 'body1': no particle falls into"):
        sim.add(Box((5, 5), (6, 6)) & Box((0, 0), (1, 1)), JELLY)
    with pytest.raises(ValueError, match="shape of 'dust', dx: dx is larger than the body"):
        sim.add(Ball((0.1, 0.1), 1e-5), JELLY, name="dust")


# --- the scene of a simulation -----------------------------------------------------------------------------------


def test_the_scene_of_a_simulation_takes_nothing_more():
    own = scene()
    sim = mpm.Simulation(own, dx=1 / 16)
    with pytest.raises(TypeError, match=r"it accepts no additions; sim\.add\(shape, material\)"):
        sim.scene.add(Ball((0.75, 0.75), 0.1), JELLY)
    with pytest.raises(TypeError, match=r"it accepts no additions; sim\.add_collider\(shape\)"):
        sim.scene.add_collider(Ball((0.75, 0.75), 0.1))
    assert len(sim.scene.bodies) == 1 and not sim.scene.colliders
    own.add(Ball((0.75, 0.75), 0.1), JELLY)  # the user's own serves for the next simulation
    own.add_collider(Ball((0.75, 0.2), 0.1))
    again = mpm.Simulation(own, dx=1 / 16)
    assert len(again.particles) > len(sim.particles) and len(again.scene.colliders) == 1
    other = copy.copy(sim.scene)
    other.add(Ball((0.75, 0.75), 0.1), JELLY)
    assert len(mpm.Simulation(other, dx=1 / 16).particles) == len(again.particles)
    assert mpm.Simulation(sim.scene, dx=1 / 16).state_hash() == sim.state_hash()
    assert repr(sim.scene) == repr(scene())


# --- numerics ----------------------------------------------------------------------------------------------------


@dims
@pytest.mark.filterwarnings("default:kernel = 'linear'")
def test_the_linear_kernel_has_no_safe_step(dim):
    options = {"dx": 1 / 16, "kernel": "linear", "gradient": "bspline"}
    with pytest.warns(
        UserWarning, match="kernel = 'linear': dt='auto' has no safe step for it.* quadratic"
    ) as told:
        mpm.Simulation(scene(dim), **options)
    assert len(told) == 1 and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mpm.Simulation(scene(dim), dt=1e-4, **options)
        mpm.Simulation(scene(dim), dx=1 / 16, kernel="cubic")


@dims
@pytest.mark.parametrize(("dtype", "bits", "share"), [("float64", 53, 1024), ("float32", 24, 4)])
def test_positions_that_cannot_be_told_apart_are_refused(dim, dtype, bits, share):
    limit = 2.0**bits / share  # from here on, numbers are too far apart
    for lower, fits in ((limit - 17, True), (1 - limit, True), (limit - 16, False), (-limit, False)):
        place = mpm.Scene([lower] * dim, [lower + 16] * dim)
        place.add(Box([lower + 4] * dim, [lower + 8] * dim), JELLY)
        if fits:
            mpm.Simulation(place, dx=1, dtype=dtype)
            continue
        with pytest.raises(
            ValueError, match=rf"dx = 1: must be >= .* {dtype} resolves positions to"
        ) as refused:
            mpm.Simulation(place, dx=1, dtype=dtype)
        assert ("choose dtype='float64'" in str(refused.value)) == (dtype == "float32")


def test_shapes_nested_too_deeply_are_refused():
    nest = Ball((0, 0), 1)
    for k in range(MOST_NESTED):
        nest = Ball((0.001 * k, 0), 1) - nest
    x = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    expected = np.zeros(len(x), dtype=bool)
    for k in (0, *range(MOST_NESTED)):
        expected = (((x - (0.001 * k, 0)) ** 2).sum(axis=1) < 1) & ~expected
    # Whatever is asked of it, Python's stack holds; differences take turns.
    assert (nest.contains(x) == expected).all()
    assert (
        nest.bounds[1].tolist()
        and repr(nest)
        and hash(nest) == hash(nest.translate((0, 0)).translate((0, 0)))
    )
    assert shapes.Shape in type(nest).__mro__ and nest.rotate(0.1) != nest
    for deeper in (lambda: Ball((0, 0), 1) - nest, lambda: ~nest, lambda: nest & Ball((0, 0), 2)):
        with pytest.raises(
            ValueError, match=r"shape: nested more than 128 deep; a - \(b - \(c - ...\)\) nests"
        ):
            deeper()
    flat = nest - Ball((0, 0), 0.1) - Ball((0, 0), 0.2)  # no deeper
    assert flat.contains(x).sum() <= nest.contains(x).sum()


# --- names -------------------------------------------------------------------------------------------------------


def test_case_and_underscores_are_seen_through():
    with pytest.raises(ValueError, match="did you mean 'flip'"):
        mpm.Simulation(scene(), dx=1 / 16, transfer="FLIP")
    with pytest.raises(ValueError, match="did you mean 'snow-wedge'"):
        mpm.gallery.get("snow_wedge")
    snow = mpm.Scene((0, 0), (1, 1))
    snow.add(Ball((0.5, 0.5), 0.2), mpm.materials.Snow())
    sim = mpm.Simulation(snow, dx=1 / 16)
    with pytest.raises(ValueError, match="did you mean 'Jp'"):
        sim.plot(color="jp")
    with pytest.raises(ValueError, match="did you mean 'von_mises'"):
        sim.compute("von Mises")
    with pytest.raises(AttributeError, match="did you mean 'Jp'"):
        _ = sim.particles.jp


@pytest.mark.parametrize(
    ("module", "word", "name"),
    [
        (mpm.materials, "NeoHookian", "NeoHookean"),
        (shapes, "Sphere", "Ball"),
        (shapes, "cylinder", "Cylinder"),
        (mpm.motion, "Linar", "Linear"),
    ],
)
def test_names_of_modules(module, word, name):
    with pytest.raises(AttributeError, match=f"did you mean '{name}'"):
        getattr(module, word)


def test_words_of_other_packages():
    with pytest.raises(TypeError, match="did you mean 'density'"):
        mpm.materials.NeoHookean(E=1e4, nu=0.3, rho=1000)


def test_degrees():
    with pytest.warns(UserWarning, match="angles are in radians"):
        Box((0, 0), (1, 1)).rotate(45)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Box((0, 0), (1, 1)).rotate(-2 * np.pi)


@pytest.mark.parametrize(
    ("word", "field"),
    [
        ("velocity", "v"),
        ("positions", "x"),
        ("deformation_gradient", "F"),
        ("Velocity", "v"),
        ("masses", "mass"),
    ],
)
def test_fields_are_found_by_their_words(word, field):
    sim = mpm.Simulation(scene(), dx=1 / 16)
    for ask in (
        lambda: getattr(sim.particles, word),
        lambda: sim.particles[word],
        lambda: setattr(sim.particles, word, 0),
    ):
        with pytest.raises((AttributeError, KeyError), match=f"did you mean '{field}'"):
            ask()
    with pytest.raises(AttributeError, match="no attribute 'plastic_jacobian'; Jp is a state of snow"):
        _ = sim.particles.plastic_jacobian


@pytest.mark.parametrize(
    ("dim", "word", "face"),
    [
        (2, "left", "x-"),
        (2, "bottom", "y-"),
        (3, "bottom", "z-"),
        (3, "back", "y+"),
        (2, "Top", "y+"),
        (3, "X", "x"),
    ],
)
def test_faces_are_found_by_their_words(dim, word, face):
    with pytest.raises(ValueError, match=rf"key of walls = .*; did you mean '{face[0]}\{face[1:] or 'b'}"):
        mpm.Scene([0] * dim, [1] * dim, walls={word: "slip"})


def test_a_reference_is_cited_once_for_all_that_it_is_used_for():
    snow = mpm.Scene((0, 0), (1, 1))
    for k, name in enumerate(("reference", "lower_young")):
        snow.add(Ball((0.3 + 0.4 * k, 0.5), 0.1), mpm.materials.Snow.preset(name))
    snow.add_collider(HalfSpace((0, 0.1), (0, 1)))
    lines = mpm.Simulation(snow, dx=1 / 16, transfer="flip").cite().splitlines()
    references = [line.partition(": ")[2] for line in lines]
    assert len(set(references)) == len(references) == 4
    assert any(line.startswith("blend of PIC and FLIP, Snow, colliders: A. Stomakhin") for line in lines)


def test_a_body_that_is_too_small_for_the_cells_is_told():
    small = mpm.Scene((0, 0), (1, 1))
    small.add(Ball((0.5, 0.5), 0.005), JELLY, name="seed")
    with pytest.warns(
        UserWarning, match=r"particles of 'seed' would have .* times the volume .* too small for dx = 0.03125"
    ):
        mpm.Simulation(small, dx=1 / 32, sampling="stratified")


def test_a_warning_that_is_an_error_leaves_nothing_added():
    scene = mpm.Scene((0, 0), (16, 16))
    scene.add(Box((2, 2), (5, 5)), JELLY)
    scene.add_collider(Ball((12, 12), 3))
    sim = mpm.Simulation(scene, dx=1)
    before = sim.state_hash()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(UserWarning, match="inside"):
                sim.add(Ball((12, 12), 3), JELLY)
            assert len(sim.particles) == 36 and sim.state_hash() == before


def test_what_comes_with_an_interrupt_goes_with_it(monkeypatch):
    scene = mpm.Scene((0, 0), (16, 16))
    scene.add(Box((2, 2), (5, 5)), JELLY)
    sim = mpm.Simulation(scene, dx=1)
    monkeypatch.setattr(mpm.Simulation, "_find_volumes", lambda _: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        sim.add(Box((8, 8), (10, 10)), JELLY, name="more")
    monkeypatch.undo()
    assert len(sim.particles) == 36 and sim.totals().mass == pytest.approx(9 * JELLY.density)
    sim.add(Box((8, 8), (10, 10)), JELLY, name="more")
    assert len(sim.particles) == 52


def test_friction_is_of_walls_given_by_name():
    walls = mpm.Scene((0, 0), (1, 1), walls={"y-": "separate"}, friction=0.3).walls
    assert {face: wall.friction for face, wall in walls.items()} == {"x-": 0, "x+": 0, "y-": 0.3, "y+": 0}
    for given in ({"y-": mpm.Wall("separate")}, {"y-": "sticky"}, {}):
        with pytest.raises(ValueError, match=r"friction = 0\.3: none of the walls given by name"):
            mpm.Scene((0, 0), (1, 1), walls=given, friction=0.3)


@pytest.mark.parametrize(
    "call, match",
    [
        (
            lambda: mpm.materials.NeoHookean(1e5, 0.3, 1000),
            r"NeoHookean\(\) takes by keyword: E, nu, density",
        ),
        (lambda: mpm.materials.NeoHookean(E=1e5), r"NeoHookean\(\) needs nu=, density="),
        (lambda: mpm.Simulation(), r"^Simulation\(\) needs scene=, dx=$"),
        (lambda: mpm.gallery.get("jelly").simulation().run(), r"^Simulation.run\(\) needs duration=$"),
        (lambda: mpm.load(threads=1), r"load\(\) needs path="),
        (lambda: mpm.materials.Fluid(K=1), "no option 'K'; did you mean 'bulk_modulus'"),
        (
            lambda: mpm.materials.Fluid(zz=1),
            "no option 'zz'; there are bulk_modulus, density, gamma, viscosity",
        ),
        (
            lambda: mpm.Scene((0, 0), (1, 1), "slip"),
            r"Scene\(\) takes by keyword: gravity, body_force, walls",
        ),
    ],
)
def test_options_are_named(call, match):
    with pytest.raises(TypeError, match=match):
        call()


# --- first steps --------------------------------------------------------------------------------------------------


FIRST_STEPS = [
    (lambda: mpm.Scene((0, 0), (1, 1), gravity=9.81), "not one number; for example gravity=.0, -9.81."),
    (lambda: mpm.Scene((0, 0, 0), (1, 1, 1), gravity="down"), "for example gravity=.0, 0, -9.81."),
    (lambda: mpm.Scene((0, 0), (1, 1)).add(Box((0, 0), (1, 1)), "water"), r"mpm.materials.library\(\)"),
    (lambda: scene().add_collider(Ball((0.5, 0.5), 0.2), contact="friction"), "did you mean 'separate'"),
    (lambda: mpm.Simulation(scene(), resolution=64), "its resolution is 'dx'"),
    (lambda: mpm.fem.Simulation(scene(), cell_size=0.1), "its resolution is 'spacing'"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).step(0.1), r"run\(0.1\) takes seconds"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).run(steps=10), r"; step\(10\) takes steps"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).run(t_end=0.2), r"; run\(0.2 - sim.time\) ends at that time"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).run(0.1, dt=1e-3), "option of the simulation: dt=0.001"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).step(duration=0.1), r"; run\(0.1\) takes seconds"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).t, "did you mean 'time'"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).totals().potential, "did you mean 'gravitational'"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).totals().kinetic_energy, "did you mean 'kinetic'"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).totals().momentum_y, "'momentum'. Its component y is .:, 1."),
    (
        lambda: mpm.Simulation(scene(), dx=1 / 8).totals().wall_impulse,
        r"sim.history\['wall_impulse'\] has it",
    ),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).displacement, r"sim\.keep_start\(\)"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).compute("displacement"), r"sim\.keep_start\(\)"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).plot(color="displacement"), r"sim\.keep_start\(\)"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).plot(vmax=1), "did you mean 'limits'"),
    (
        lambda: mpm.Simulation(scene(), dx=1 / 8).heat,
        "attribute 'heat'; heat is that of laws with a temperature",
    ),
    (lambda: mpm.fem.Simulation(scene(), spacing=1 / 8).displacement, r"compute\('displacement'\) gives it"),
    (
        lambda: mpm.materials.Fluid(density=1000),
        "needs bulk_modulus=; K = density c² with ten times the largest",
    ),
    (lambda: mpm.materials.Fluid(density=1000, c=20), "bulk_modulus = density c², with c = 20"),
    *(
        (
            lambda name=name: getattr(mpm.materials, name),
            "not objective.* Corotated is Hooke's law in the rotated",
        )
        for name in ("Hooke", "Linear", "LinearElastic", "linear_elasticity", "Elastic")
    ),
    (lambda: mpm.materials.Rubber, "did you mean 'Ogden'"),
    (lambda: mpm.materials.KelvinVoigt, "did you mean 'Viscoelastic'"),
    (lambda: mpm.materials.IdealGas, "Fluid.* is an ideal gas"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).history.plot, r"mpm.plot.history\(sim\) draws it"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).plot(color="velocity"), "did you mean 'speed'"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).plot().savefig, r"sim.plot\(\).figure.savefig"),
    (lambda: mpm.fem.Simulation(scene(), spacing=1 / 8).clamp, "contact='sticky'"),
    (lambda: mpm.fem.Simulation(scene(), spacing=1 / 8).add_load, r"body_force=f\(x, t\)"),
    (lambda: mpm.Sand, r"did you mean mpm\.materials\.Sand"),
    (lambda: mpm.Box, r"did you mean mpm\.shapes\.Box"),
    (lambda: mpm.fit, r"did you mean mpm\.point\.fit"),
    (
        lambda: mpm.Simulation(scene(), dx=1 / 8).plot(color="plastic_strain"),
        "plastic_strain is a state of snow, sand, .* and johnson_cook",
    ),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).compute("J"), r"sim\.particles\['J'\] has it"),
    (lambda: mpm.save, r"simulations have it: sim\.save"),
    (
        lambda: mpm.Simulation(scene(), dx=1 / 8).totals()["kinetic"],
        r"totals\(\)\.kinetic.*history\['kinetic'\]",
    ),
    (lambda: mpm.Simulation(scene(), dx=1 / 8, scheme="apic"), "did you mean 'transfer'"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8, precision="single"), "did you mean 'dtype'"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8, transfer="mls-mpm"), "did you mean 'apic'"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).solve(), "did you mean 'run'"),
    (lambda: scene(walls="no-slip"), "did you mean 'sticky'"),
    (lambda: scene(walls={"x-": "clamped"}), "did you mean 'sticky'"),
    (lambda: mpm.Wall("roller"), "did you mean 'slip'"),
    (lambda: scene().add_collider(Ball((0.5, 0.5), 0.2), contact="no_slip"), "did you mean 'sticky'"),
    (lambda: scene(boundary="sticky"), "did you mean 'walls'"),
    (lambda: mpm.Simulation(scene(), n_grid=64), "its resolution is 'dx'"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8, cfl=0.5), "dt='auto' keeps steps stable"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8, quasi_static=True), r"equilibrate\(\) brings bodies to rest"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8, alpha=0.9), r"transfer='flip', flip_ratio=0\.9"),
    (
        lambda: scene().add_collider(Ball((0, 0), 1), velocity=(1, 0)),
        r"motion=mpm\.motion\.Linear\(\(1, 0\)\)",
    ),
    (
        lambda: mpm.Simulation(scene(), dx=1 / 8).add_collider(Ball((0, 0), 1), velocity=(1, 0)),
        r"motion=mpm\.motion\.Linear\(\(1, 0\)\)",
    ),
    (lambda: mpm.motion.Translation, "did you mean 'Linear'"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).reset(), r"make a new simulation of sim\.scene"),
    (lambda: mpm.fem.Simulation(scene(), spacing=1 / 8).export("a.vtp"), r"mpm\.export\(sim, path\)"),
    (lambda: mpm.Simulation(scene(), dx=1 / 8).gravity, r"it is sim\.scene\.gravity"),
    (lambda: mpm.materials.RigidBody, r"scene\.add_collider adds a rigid obstacle"),
    (lambda: Ball((0, 0), 1).move((1, 0)), "did you mean 'translate'"),
    (lambda: mpm.shapes.Mesh("part.stl", scale=1e-3), r"Mesh\(path\)\.scale\(0\.001\)"),
    (lambda: Ball((0, 0, 0), 1).rotate(1, axis="y"), "such as .0, 1, 0. for y"),
]


@pytest.mark.parametrize(("call", "hint"), FIRST_STEPS)
def test_first_steps_that_fail_say_what_to_do(call, hint):
    with pytest.raises((TypeError, ValueError, AttributeError), match=hint):
        call()
