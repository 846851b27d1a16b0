"""3-D scenes drawn by PyVista, and our files read by it. `make formats` installs it."""

import itertools

import numpy as np
import pytest
from PIL import Image

import mpm
import scenes
from mpm import motion, shapes, viz
from mpm.viz.solid import SolidRenderer

pyvista = pytest.importorskip("pyvista", reason="PyVista is not installed (make formats)")

SIZE = (320, 240)


def make(*, gravity=(0, 0, -9.81), lower=(0, 0, 0), collider=None, **options):
    lower = np.array(lower, dtype=float)
    scene = mpm.Scene(lower, lower + np.array([2, 1, 1]), gravity=gravity)
    body = shapes.Box((0.1, 0.3, 0.4), (0.6, 0.7, 0.9)).translate(lower)
    scene.add(body, scenes.MATERIALS["neo_hookean"])
    if collider is not None:
        scene.add_collider(collider, **options)
    return mpm.Simulation(scene, dx=1 / 16)


def pictures(sim, **options):
    """By our own renderer and by PyVista, and the empty scene; as numbers."""
    options = {"size": SIZE, "limits": (0.0, 1.0), **options}
    drawn = [kind(sim, **options).frame(sim).astype(int) for kind in (viz.Renderer, SolidRenderer)]
    everything = np.ones(len(sim.particles), bool)
    sim.particles.delete(everything)
    return *drawn, viz.Renderer(sim, **options).frame(sim).astype(int)


def covered(picture, empty):
    return np.abs(picture - empty).max(axis=2) > 60


def colored(picture, empty):
    """Where there are bodies, and no shadows, which are grey."""
    return covered(picture, empty) & (np.ptp(picture, axis=2) > 0.35 * picture.max(axis=2))


@pytest.mark.parametrize("gravity", [(0, 0, -9.81), (0, 9.81, 0), (-9.81, 0, 0)])
@pytest.mark.parametrize("lower", [(0, 0, 0), (-7, 3, 100)])
def test_particles_are_where_our_own_renderer_draws_them(gravity, lower):
    own, solid, empty = pictures(make(gravity=gravity, lower=lower), color="material")
    a, b = colored(own, empty), colored(solid, empty)

    def overlap(down, across):
        moved = np.roll(b, (down, across), axis=(0, 1))
        return (a & moved).sum() / (a | moved).sum()

    shares = {way: overlap(*way) for way in itertools.product((-1, 0, 1), repeat=2)}
    # Of the pixels that either covers. Measured: 0.965 to 0.977.
    assert max(shares, key=shares.get) == (0, 0) and shares[0, 0] > 0.94 and a.sum() > 2000
    # Of the same colour, but for the light, where no background shines through. Measured: 0.012.
    both = a & b
    ways = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))
    inner = np.logical_and.reduce([np.roll(both, way, axis=(0, 1)) for way in ways])
    means = [picture[inner].mean(axis=0) for picture in (own, solid)]
    assert np.abs(means[0] / means[0].sum() - means[1] / means[1].sum()).max() < 0.02


def test_ground_is_an_opaque_block_that_a_cut_opens():
    sim = make(collider=shapes.HalfSpace((0, 0, 0.4), (0.1, 0, 1)))
    options = {"size": SIZE, "annotate": False, "camera": "front"}
    sim.particles.delete(np.ones(len(sim.particles), bool))
    for cut in (None, {"y": 0.5}):
        own, solid = (
            kind(sim, cut=cut, **options).frame(sim).astype(int) for kind in (viz.Renderer, SolidRenderer)
        )
        empty = viz.Renderer(make(), **options).background.astype(int)
        a, b = (np.abs(picture - empty).max(axis=2) > 30 for picture in (own, solid))
        assert (a & b).sum() / (a | b).sum() > 0.94 and a.sum() > 10000  # measured 0.964


def test_colliders_hide_what_is_behind_them_and_move():
    near = shapes.Box((0.7, -1.0, -1.0), (0.9, 2.0, 2.0))  # between the camera and the body
    sim = make(collider=near, motion=motion.Linear((1.0, 0, 0)))
    renderer = SolidRenderer(sim, size=SIZE, color="material", limits=(0.0, 1.0))
    before = renderer.frame(sim).astype(int)
    bare = make()
    free = SolidRenderer(bare, size=SIZE, color="material", limits=(0.0, 1.0)).frame(bare).astype(int)
    assert covered(before, free).sum() > 500
    sim.run(0.1)
    assert (np.abs(renderer.frame(sim).astype(int) - before).max(axis=2) > 10).sum() > 500


def test_plots_and_movies_of_simulations_and_replays(tmp_path):
    pytest.importorskip("h5py")
    plt = pytest.importorskip("matplotlib.pyplot")
    sim = make(collider=shapes.Ball((1.2, 0.5, 0.3), 0.3))
    builtin, drawn = (sim.plot(renderer=name).particles.get_array() for name in ("builtin", "pyvista"))
    assert drawn.shape == builtin.shape and (drawn != builtin).mean() > 0.05
    with sim.record(tmp_path / "a.vtkhdf", fps=100, fields=("v",)):
        sim.movie(tmp_path / "live", duration=0.02, fps=100, size=(96, 64), renderer="pyvista")
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        frames.movie(tmp_path / "again", size=(96, 64), renderer="pyvista")
        last = frames.plot(-1, renderer="pyvista").particles.get_array()
    assert np.array_equal(last, sim.plot(renderer="pyvista").particles.get_array())
    for k in range(3):
        a, b = (np.asarray(Image.open(tmp_path / name / f"frame_{k:04d}.png")) for name in ("live", "again"))
        assert np.array_equal(a, b)
    plt.close("all")


def test_nothing_to_draw_is_drawn():
    sim = make()
    sim.particles.x[0] = np.nan
    assert SolidRenderer(sim, size=SIZE).frame(sim).shape == (240, 320, 3)
    own, solid, empty = pictures(make(collider=shapes.Ball((1.2, 0.5, 0.3), 0.3)), color="material")
    assert own.shape == solid.shape == empty.shape
    bare = make()
    bare.particles.delete(np.ones(len(bare.particles), bool))
    plain = viz.Renderer(bare, size=SIZE).frame(bare)
    assert np.array_equal(SolidRenderer(bare, size=SIZE).frame(bare), plain)


@pytest.mark.parametrize("dim", scenes.DIMS)
@pytest.mark.parametrize("dtype", scenes.DTYPES)
def test_pyvista_reads_vtp(tmp_path, dim, dtype):
    sim = scenes.three_materials(dim, 16, dtype=dtype)
    sim.step(5)
    (path,) = mpm.export(sim, tmp_path / "a.vtp")
    cloud = pyvista.read(path)
    n = len(sim.particles)
    assert cloud.n_points == cloud.n_verts == n
    assert np.array_equal(cloud.points[:, :dim], sim.particles.x) and cloud.points.dtype == np.dtype(dtype)
    assert np.array_equal(cloud["v"][:, :dim], sim.particles.v)
    assert np.array_equal(cloud["F"].reshape(n, 3, 3)[:, :dim, :dim], sim.particles.F)
    assert set(cloud.point_data) == set(sim.particles.fields) - {"x"}


def test_the_surface_of_finite_elements_is_where_our_own_renderer_draws_it():
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
    scene.add(shapes.Box((0.25, 0.25, 0.25), (0.75, 0.75, 0.75)), scenes.MATERIALS["neo_hookean"])
    sim = mpm.fem.Simulation(scene, spacing=0.125)
    options = {"size": SIZE, "limits": (0.0, 1.0)}
    own, solid = (kind(sim, **options).frame(sim).astype(int) for kind in (viz.Renderer, SolidRenderer))
    empty = viz.Renderer(sim, **options).background.astype(int)
    inside = (slice(40, 200), slice(40, 260))  # without time and colour bar
    a, b = (colored(picture, empty)[inside] for picture in (own, solid))
    assert (a & b).sum() / (a | b).sum() > 0.98 and a.sum() > 5000  # measured 0.996, 9,025
