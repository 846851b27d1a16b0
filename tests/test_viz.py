"""Pictures and movies: what is drawn, what is written, and what is said where an extra is missing."""

import os
import re
import subprocess
import sys
import textwrap
import threading
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.artist import Artist
from PIL import Image
from scipy.spatial import cKDTree

import mpm
from loops import each
from mpm import _core, derived, materials, shapes, viz
from mpm.viz import canvas, discs, surfaces
from mpm.viz import color as colors
from mpm.viz.movie import Pictures

SOLID = materials.FixedCorotated(E=2e4, nu=0.3, density=1000)
WATER = materials.Fluid(bulk_modulus=1e5, density=1000)
dims = pytest.mark.parametrize("dim", [2, 3])


def make(dim, dtype="float64"):
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0, -9.81, 0][:dim])
    scene.add(shapes.Box([0.125] * dim, [0.375] * dim), SOLID, velocity=lambda x: x)
    scene.add(shapes.Box([0.5] * dim, [0.75] * dim), WATER)
    sim = mpm.Simulation(scene, dx=0.125, dtype=dtype, threads=1)
    sim.step(5)
    return sim


# --- Matplotlib --------------------------------------------------------------------------------------------------


@dims
def test_axes_with_a_3d_projection_are_refused(dim):
    ax = plt.figure().add_subplot(projection="3d")
    with pytest.raises(ValueError, match="ax has projection '3d'"):
        make(dim).plot(ax=ax)


@dims
@pytest.mark.parametrize("color", ["speed", "pressure", "von_mises", "density", "J", "material", "id"])
def test_plot_returns_artists_on_a_new_figure(dim, color):
    sim = make(dim)
    before = sim.state_hash()
    artists = sim.plot(color=color)
    assert len(artists) == 3 and all(isinstance(artist, Artist) for artist in artists)
    assert len(plt.get_fignums()) == 1 and artists[0].axes.figure is plt.gcf()
    assert artists[2].get_ylabel() == colors.label(sim, color)
    assert artists[0].axes.get_title(loc="left") == f"t = {sim.time:.4g} s"
    plt.gcf().canvas.draw()
    assert sim.state_hash() == before


def test_plot_shows_the_positions_and_values():
    sim = make(2)
    figure, ax = plt.subplots()
    particles, domain, _ = sim.plot(ax=ax, color="speed")
    assert plt.get_fignums() == [figure.number]  # no other one
    assert np.array_equal(particles.get_offsets(), sim.particles.x)
    speed = sim.compute("speed")
    assert np.array_equal(particles.get_array(), speed)
    assert particles.get_clim() == (0, speed.max())
    assert domain.get_bbox().bounds == (0, 0, 1, 1)
    assert ax.get_aspect() == 1 and ax.get_xlabel() == "x [m]"
    sim.step(3)
    assert not np.array_equal(particles.get_offsets(), sim.particles.x)  # a picture, not a live view
    assert sim.plot(ax=ax, limits=(1, 2))[0].get_clim() == (1, 2)


@dims
def test_a_picture_has_named_parts(dim):
    picture = make(dim).plot()
    assert (
        isinstance(picture, viz.Picture)
        and picture[0] is picture.particles
        and picture[2] is picture.colorbar
    )
    assert picture.domain is picture[1] and picture.figure is plt.gcf()


@dims
def test_a_few_torn_particles_do_not_take_the_colours(dim):
    sim = make(dim)
    calm = sim.compute("speed").max()
    sim.particles.v[:1] = [1e3] + [0] * (dim - 1)
    low, high = sim.plot().colorbar.get_ylim()
    assert low == 0 and 0.5 * calm < high <= calm
    assert colors.beyond(sim.compute("speed"), (low, high)) == "max"
    assert sim.plot(limits=(0, 2e3)).colorbar.get_ylim() == (0, 2e3)
    annotated = [
        viz.Renderer(sim, size=(320, 240), limits=limits).frame(sim) for limits in ((0, 1), (0, 2e3))
    ]
    tips = [(image[:48] == colors.TABLE[-1]).all(axis=2).any() for image in annotated]  # above the bar
    assert tips == [True, False]


def test_scales_leave_out_what_is_far_off_and_nothing_else():
    even = np.linspace(-1, 1, 1001)
    assert colors.span("pressure", even) == (-1, 1) and colors.beyond(even, (-1, 1)) == "neither"
    torn = np.concatenate([even, [50, -40]])
    low, high = colors.span("pressure", torn)
    assert -1 <= low < -0.97 and 0.97 < high <= 1 and colors.beyond(torn, (low, high)) == "both"
    assert colors.span("id", torn) == (-40, 50)  # numbers are no measure
    assert colors.span("speed", np.r_[np.zeros(1000), 3.0]) == (0, 3)  # the rest is one value
    assert colors.beyond(np.array([-2, np.nan, 0.5]), (0, 1)) == "min"


def test_the_colour_bar_of_a_wide_domain_is_no_taller_than_it():
    for size in ((8, 1), (3, 1), (1, 1), (0.25, 1)):
        scene = mpm.Scene((0, 0), size)
        scene.add(shapes.Box((0, 0), (0.25, 0.5)), SOLID)
        picture = mpm.Simulation(scene, dx=0.125, threads=1).plot()
        picture.colorbar.figure.canvas.draw()
        bar, axes = (part.get_window_extent().height for part in (picture.colorbar, picture.domain.axes))
        assert 0.6 <= bar / axes <= 1, size  # measured 0.80 to 0.90


def test_labels_have_whole_numbers_beside_their_colour_bar():
    assert colors.whole("speed", (0, 1)) is None
    assert colors.whole("material", (0.0, 1.0)) == [0, 1] and colors.whole("material", (-0.5, 0.5)) == [0]
    assert colors.whole("id", (0.0, 99.0)) == [0, 25, 50, 75]
    picture = make(2).plot(color="material")
    picture.colorbar.figure.canvas.draw()
    assert [text.get_text() for text in picture.colorbar.get_yticklabels()] == ["0 FixedCorotated", "1 Fluid"]
    own, default = np.zeros((2, 200, 200, 3), np.uint8)
    canvas.color_bar(own, "material", (0, 1), "neither", [0, 1])
    canvas.color_bar(default, "material", (0, 1))
    assert not np.array_equal(own, default)  # which has 0.25, 0.5 and 0.75, too


def test_units_of_a_plane_scene_are_per_metre_of_depth():
    plane, space = make(2), make(3)
    for name, per_depth, unit in (
        ("kinetic_energy", "kinetic energy [J/m]", "kinetic energy [J]"),
        ("mass", "mass [kg/m]", "mass [kg]"),
        ("volume", "volume [m²]", "volume [m³]"),
        ("pressure", "pressure [Pa]", "pressure [Pa]"),
        ("material", "material", "material"),
    ):
        assert (colors.label(plane, name), colors.label(space, name)) == (per_depth, unit)
    for dim, unit in ((2, "J/m"), (3, "J")):
        assert viz.plot_history(make(dim).history)[0].axes.get_ylabel() == f"energy [{unit}]"


def test_colliders_are_in_pictures_of_3d_scenes():
    def frame(*colliders, run=0.0):
        scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
        scene.add(shapes.Box([0.25] * 3, [0.5, 0.5, 0.4]), SOLID)
        for shape, motion in colliders:
            scene.add_collider(shape, motion=motion)
        sim = mpm.Simulation(scene, dx=0.125, threads=1, max_dt=1e-2)
        renderer = viz.Renderer(sim, size=(240, 240), annotate=False)
        sim.run(run)
        return renderer, renderer.frame(sim).astype(int)

    camera, empty = frame()[0].camera, frame()[1]
    ball = shapes.Ball((0.6, 0.7, 0.7), 0.15)
    drawn = frame((ball, None))[1]
    row, column = np.nonzero(np.abs(drawn - empty).sum(axis=2) > 12)
    at = [float(value[0]) / 2 for value in camera.project(np.array([[0.6, 0.7, 0.7]]))[:2]]
    radius = 0.15 * camera.scale / 2
    assert np.hypot(column - at[0], row - at[1]).max() < radius + 3  # measured 1.4 more
    assert 1 < len(row) / (np.pi * radius**2) < 1.2  # nothing is left open; measured 1.13
    # It moves along, and is not drawn outside of the domain.
    away = frame((ball, mpm.motion.Linear((0, 0, 20))), run=0.1)[1]
    assert np.abs(away - frame(run=0.1)[1])[row, column].max() == 0


@pytest.mark.parametrize("behind", [False, True])
def test_a_collider_veils_the_particles_behind_it_and_no_others(behind):
    """Seen along (0.53, -0.79, 0.31): a wall of particles in front of a ball, or behind it."""
    towards = np.array([0.53, -0.79, 0.31])
    centre = 0.5 + (0.25 if behind else -0.25) * towards

    def frame(ball):
        scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
        wall = shapes.Box([-0.2, -0.06, -0.2], [0.2, 0.06, 0.2]).rotate(0.59, axis=(0, 0, 1), about=(0, 0, 0))
        scene.add(wall.translate((0.5, 0.5, 0.5)), SOLID)
        if ball:
            scene.add_collider(shapes.Ball(centre, 0.1))
        sim = mpm.Simulation(scene, dx=1 / 32, threads=1)
        renderer = viz.Renderer(sim, size=(240, 240), annotate=False)
        return renderer.camera, renderer.frame(sim).astype(int)

    camera, without = frame(False)
    column, row = (int(at[0] / 2) for at in camera.project(centre[None])[:2])
    change = frame(True)[1] - without
    spot = change[row - 5 : row + 6, column - 5 : column + 6]
    if not behind:  # the ball is there, but for what is seen of it beside the wall
        assert not spot.any()
    else:  # the dark blue of particles at rest becomes paler, and does not vanish
        assert (spot.sum(axis=2) > 60).all()  # measured 115 to 311
        assert np.ptp(without[row - 5 : row + 6, column - 5 : column + 6].sum(axis=2)) > 0
        veiled = (without + change)[row - 5 : row + 6, column - 5 : column + 6]
        assert np.ptp(veiled.sum(axis=2)) > 0 and (veiled < np.array(canvas.COLLIDER)).all()


def test_points_of_a_surface_are_on_it_and_leave_no_holes():
    x, normal, spacing = surfaces.points(
        lambda x: (
            np.linalg.norm(x - 0.5, axis=1) - 0.3,
            (x - 0.5) / np.linalg.norm(x - 0.5, axis=1)[:, None],
        ),
        np.zeros(3),
        np.ones(3),
    )
    assert np.abs(np.linalg.norm(x - 0.5, axis=1) - 0.3).max() < 1e-12
    assert np.abs(normal - (x - 0.5) / 0.3).max() < 1e-12
    on_ball = np.random.default_rng(0).normal(size=(500, 3))
    on_ball = 0.5 + 0.3 * on_ball / np.linalg.norm(on_ball, axis=1)[:, None]
    assert cKDTree(x).query(on_ball)[0].max() < 0.95 * spacing  # what a disc covers


def test_a_picture_of_a_3d_scene_holds_the_particles():
    sim = make(3)
    image = np.asarray(sim.plot()[0].get_array())
    assert image.shape[2:] == (3,) and image.dtype == np.uint8
    empty = make(3)
    empty.particles.delete(np.arange(len(empty.particles)))
    background = np.asarray(empty.plot()[0].get_array())
    assert 0.01 < (image != background).any(axis=2).mean() < 0.5


def test_every_quantity_has_a_colour_except_tensors():
    sim = make(2)
    allowed = {name for name in derived.NAMES if name not in ("stress", "heat")} | {
        "J",
        "mass",
        "volume",
        "material",
        "id",
    }
    for name in allowed:
        assert viz.Renderer(sim, color=name, size=(64, 64)).frame(sim).shape == (64, 64, 3)
    for name in {*derived.NAMES, *sim.particles.fields} - allowed:
        with pytest.raises(ValueError, match="color"):
            sim.plot(color=name)


@pytest.mark.parametrize("dim", [2, 3])
def test_vectors_of_users_are_drawn_by_their_magnitude(dim):
    sim = make(dim)
    sim.particles.add_field("pull", rank="vector", unit="N")[:, :2] = (3, 4)
    sim.particles.add_field("web", rank="symmetric")
    assert set(viz.Renderer(sim, color="pull")._shoot(sim).shown) == {5.0}
    assert viz.color.label(sim, "pull") == "pull [N]"
    with pytest.raises(ValueError, match="color = 'web': must be one of"):
        sim.plot(color="web")


def test_energies_of_a_run():
    sim = make(2)
    lines = viz.plot_history(sim.history)
    assert [line.get_label() for line in lines] == ["kinetic", "elastic", "gravitational", "sum"]
    for line, name in zip(lines, ["kinetic", "elastic", "gravitational", "energy"], strict=True):
        assert np.array_equal(line.get_ydata(), sim.history[name])
        assert np.array_equal(line.get_xdata(), sim.history["time"])


def test_no_window_is_opened_and_no_backend_chosen():
    code = (
        "import mpm; s = mpm.gallery.get('disks').simulation(scale=0.25, threads=1); s.plot();"
        "import matplotlib; print(matplotlib.get_backend())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip().lower() == "agg" and not run.stderr


# --- the renderer ------------------------------------------------------------------------------------------------


@dims
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_frames_are_drawn_without_changing_anything(dim, dtype):
    sim = make(dim, dtype)
    before = sim.state_hash()
    renderer = viz.Renderer(sim, size=(96, 64))
    first = renderer.frame(sim)
    assert first.shape == (64, 96, 3) and first.dtype == np.uint8
    assert np.array_equal(first, renderer.frame(sim)) and sim.state_hash() == before
    sim.run(0.1)
    assert not np.array_equal(first, renderer.frame(sim))


def test_particles_are_where_they_belong():
    """One particle in each corner region of a plane scene, seen at its place in the picture."""
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(shapes.Points([(0.25, 0.75)], volume=0.01), SOLID)
    sim = mpm.Simulation(scene, dx=0.125, threads=1)
    renderer = viz.Renderer(sim, size=(200, 200), annotate=False)
    image = renderer.frame(sim).astype(int)
    sim.particles.delete([0])
    row, column = np.nonzero(np.abs(image - renderer.frame(sim)).sum(axis=2))
    # The domain fills the picture up to a margin of a twentieth; rows count from the top.
    assert column.mean() == pytest.approx(10 + 0.25 * 180, abs=1)
    assert row.mean() == pytest.approx(10 + 0.25 * 180, abs=1)


@dims
def test_particles_without_a_position_are_left_out(dim, tmp_path):
    """As a trajectory of another program may have them."""
    h5py = pytest.importorskip("h5py")
    sim = make(dim)
    sim.record(tmp_path / "all.vtkhdf", fps=1, fields=()).close()
    with h5py.File(tmp_path / "all.vtkhdf", "r+") as file:
        file["VTKHDF/Points"][0] = np.nan
        file["VTKHDF/Points"][1, 0] = np.inf
    sim.particles.delete([0, 1])
    sim.record(tmp_path / "rest.vtkhdf", fps=1, fields=()).close()
    images = []
    for name in ("all", "rest"):
        with mpm.replay(tmp_path / f"{name}.vtkhdf") as replay:
            renderer = viz.Renderer(replay[0], annotate=False, color="material")
            images.append(renderer.frame(replay[0]))
    assert np.array_equal(*images) and not np.array_equal(images[0], renderer.canvas)


@pytest.mark.parametrize("up", [0, 1, 2])
def test_things_fall_down_in_pictures_whichever_way_gravity_points(up):
    """The mirror image of a scene gives the mirror image of its picture, floor and shadow included."""
    images = []
    for sign in (-1, 1):
        gravity, middle = np.zeros(3), np.full(3, 0.5)
        gravity[up], middle[up] = 9.81 * sign, 0.5 - 0.15 * sign
        x = middle + 0.02 * (np.argwhere(np.ones((8, 8, 8))) - 3.5)
        scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=gravity)
        scene.add(shapes.Points(x, volume=8e-6), SOLID)
        sim = mpm.Simulation(scene, dx=0.25, threads=1)
        images.append(
            viz.Renderer(sim, annotate=False, limits=(0, 1), size=(960, 720)).frame(sim).astype(float)
        )
    assert (
        np.abs(images[0] - images[1][:, ::-1]).mean() < 0.3
    )  # measured: 0.14, of lines and rims; 1.3 unmirrored
    background = viz.Renderer(sim, annotate=False, size=(960, 720)).canvas
    changed = np.argwhere(np.abs(images[1] - background).sum(axis=2) > 20)
    assert changed[:, 0].max() > 450 and changed[:, 0].min() < 330  # the shadow below the particle


def test_the_middle_of_a_scale_about_zero_is_zero_in_spite_of_round_off():
    """It would be written as 5.551e-17."""
    exact, rounded = np.zeros((2, 200, 200, 3), np.uint8)
    canvas.color_bar(exact, "p", (-0.3, 0.3))
    canvas.color_bar(rounded, "p", (-0.3 + 1.2e-16, 0.3))
    assert np.array_equal(rounded, exact)
    other = np.zeros_like(exact)
    canvas.color_bar(other, "p", (-0.2, 0.3))  # whose middle is not
    assert not np.array_equal(other, exact)


@dims
@pytest.mark.parametrize("annotate", [False, True])
def test_pictures_too_narrow_for_the_scene_are_refused(dim, annotate):
    sim = make(dim)
    for size in ((64, 4096), (100, 2000)):
        with pytest.raises(ValueError, match="width of at least") as error:
            viz.Renderer(sim, size=size, annotate=annotate)
        width = int(str(error.value).split()[-1])
        assert viz.Renderer(sim, size=(width, size[1]), annotate=annotate).camera.scale > 0
        with pytest.raises(ValueError, match="width of at least"):
            viz.Renderer(sim, size=(width - 2, size[1]), annotate=annotate)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_cut_leaves_out_what_is_between_its_planes_and_the_camera(sign):
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81 * sign))
    scene.add(shapes.Box((0.25, 0.25, 0.25), (0.75, 0.75, 0.75)), SOLID)
    sim = mpm.Simulation(scene, dx=0.125, threads=1)
    x = np.array(sim.particles.x)
    # The camera looks from large x, small y and above; where things fall up, it is upside down.
    away = {"x": x[:, 0] <= 0.5, "y": x[:, 1] >= 0.5, "z": sign * x[:, 2] <= sign * 0.5}
    for axes in ("x", "y", "z", "xy", "xyz"):
        renderer = viz.Renderer(sim, color="id", cut=dict.fromkeys(axes, 0.5))
        kept = np.any([away[axis] for axis in axes], axis=0)
        assert np.array_equal(renderer._shoot(sim).shown, np.flatnonzero(kept))
        assert renderer.frame(sim).shape == (renderer.height, renderer.width, 3)
    before = sim.state_hash()
    sim.plot(cut={"z": 0.0 if sign > 0 else 1.0})  # nothing is left
    assert sim.state_hash() == before
    for cut, error, message in (
        ({"w": 0.5}, ValueError, "key of cut = 'w'"),
        ({"y": 1.5}, ValueError, r"cut\['y'\] = 1.5: must be >= 0 and <= 1"),
        (0.5, TypeError, "cut = 0.5: must be a mapping"),
    ):
        with pytest.raises(error, match=message):
            sim.plot(cut=cut)
    with pytest.raises(ValueError, match=r"cut = \{'y': 0.5\}: must be None in 2-D"):
        make(2).plot(cut={"y": 0.5})


def test_movies_and_replays_are_cut_as_pictures(tmp_path):
    sim = make(3)
    options = {"color": "material", "cut": {"y": 0.25}, "size": (128, 96)}
    seen = viz.Renderer(sim, **options).frame(sim)
    assert not np.array_equal(seen, viz.Renderer(sim, color="material", size=(128, 96)).frame(sim))
    with sim.record(tmp_path / "run.vtkhdf", fps=1000):
        sim.movie(tmp_path / "live", duration=0.001, fps=1000, **options)
    with mpm.replay(tmp_path / "run.vtkhdf") as frames:
        frames.movie(tmp_path / "later", **options)
        cut, whole = (frames.plot(0, color="material", cut=planes) for planes in ({"y": 0.25}, None))
        again = frames[0].plot(color="material", cut={"y": 0.25})
    images = [picture.particles.get_array() for picture in (cut, again, whole)]
    assert np.array_equal(images[0], images[1]) and not np.array_equal(images[0], images[2])
    for folder in ("live", "later"):
        assert np.array_equal(np.asarray(Image.open(tmp_path / folder / "frame_0000.png")), seen)


def test_near_particles_hide_far_ones():
    column, row = np.full(2, 20.0), np.full(2, 20.0)
    for near in ([0.0, 1.0], [1.0, 0.0]):
        found = discs.draw(column, row, np.array(near), radius=4, size=(40, 40))
        assert set(found.seen[found.seen >= 0]) == {int(np.argmax(near))}
    assert discs.draw(column - 99, row, None, radius=4, size=(40, 40)) is None
    assert discs.draw(column[:0], row[:0], None, radius=4, size=(40, 40)) is None


def depths(column, row, near, radius, size):
    """How near every disc is at every pixel of the image, (n, height, width): -inf where it is not."""
    y, x = np.mgrid[: size[1], : size[0]].astype(np.float32)
    radius = np.float32(radius)
    c, r = (np.floor(at + np.float32(0.5))[:, None, None] for at in (column, row))
    across, down = (x - c) ** 2, (y - r) ** 2
    z = (0 if near is None else near[:, None, None]) - down / radius - across / radius
    return np.where(across + down <= radius**2, z, -np.inf)


@pytest.mark.parametrize("radius", [1.0, 1.5, 4.6, 13.0, 31.0])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("n", [40, 1500])
def test_the_nearest_disc_is_seen(radius, flat, n):
    """Many layers of discs, some of which stick out of the image or lie outside."""
    rng = np.random.default_rng(3)
    size = (90, 83)
    column, row = (rng.uniform(-20, edge + 20, n).astype(np.float32) for edge in size)
    near = (
        None if flat else rng.integers(0, 60, n).astype(np.float32)
    )  # whole pixels: some are as near as others
    z = depths(column, row, near, radius, size)
    nearest = z.max(axis=0)
    results = []
    for threads in (1, 2, 7):
        window = (0, 0, *size)
        seen = np.frombuffer(_core.draw_discs(column, row, near, radius, window, threads), np.int32)
        results.append(seen.reshape(nearest.shape))
        assert np.array_equal(results[-1], results[0])
    seen = results[0]
    there = seen >= 0
    assert np.array_equal(there, np.isfinite(nearest))
    assert np.array_equal(np.take_along_axis(z, seen[None], axis=0)[0][there], nearest[there])
    if flat:
        assert np.array_equal(seen[there], z.argmax(axis=0)[there])  # the first
    assert len(np.unique(seen)) > 4
    part = _core.draw_discs(column, row, near, radius, (10, 10, 30, 30), 2)
    part = np.frombuffer(part, np.int32).reshape(30, 30)
    view = (slice(10, 40), slice(10, 40))
    inside = there[view]
    assert np.array_equal(part >= 0, inside)
    assert np.array_equal(
        np.take_along_axis(z[:, 10:40, 10:40], part[None], axis=0)[0][inside], nearest[view][inside]
    )


def test_what_is_seen_belongs_to_its_particle():
    """Every pixel of a disc is the particle's whose centre it is nearest to; the last sticks out of the image."""
    column, row = np.array([12.0, 30.0, 1.0]), np.array([10.0, 25.0, 38.0])
    for near in (None, np.array([3.0, 1.0, 2.0])):
        found = discs.draw(column, row, near, radius=5, size=(40, 42))
        w, c = np.nonzero(found.seen >= 0)
        distance = np.hypot(c[:, None] + found.window[0] - column, w[:, None] + found.window[1] - row)
        assert np.array_equal(found.seen[w, c], distance.argmin(axis=1))
        assert set(found.seen[w, c]) == {0, 1, 2} and distance.min(axis=1).max() <= 5


def test_a_radius_a_little_above_a_whole_number_of_pixels_is_drawn():
    """In single precision, where discs are drawn, it is that number."""
    column = np.array([20.0, 22.0], np.float32)
    found = discs.draw(column, column, None, radius=np.nextafter(5.0, 6), size=(40, 40))
    found.paint(np.zeros((40, 40, 3), np.uint8), np.zeros(2, np.uint8), fine=1)
    assert found.radius == 5


def test_discs_are_averaged_into_the_image():
    rng = np.random.default_rng(4)
    column, row = rng.uniform(10, 50, 40), rng.uniform(14, 44, 40)
    values = rng.integers(0, 256, 40).astype(np.uint8)
    found = discs.draw(column, row, None, radius=4.5, size=(64, 60), fine=2)
    background = rng.integers(0, 256, (30, 32, 3)).astype(np.uint8)
    image = background.copy()
    found.paint(image, values, 2)

    fine = background.repeat(2, axis=0).repeat(2, axis=1).astype(int)
    brightness, (left, top, *_) = discs.shading(4.5, flat=True), found.window
    for w, c in np.argwhere(found.seen >= 0):
        disc = found.seen[w, c]
        offset = np.array([top + w - row[disc], left + c - column[disc]])
        down, across = np.ceil(offset - 0.5).astype(int) + 5  # from the centre, which is rounded half up
        fine[top + w, left + c] = discs.PALETTE[brightness[down, across], values[disc]]
    expected = (fine.reshape(30, 2, 32, 2, 3).sum(axis=(1, 3)) + 2) // 4
    assert np.array_equal(image, expected) and not np.array_equal(image, background)


def disc_arguments():
    f, flat = np.zeros(3, np.float32), np.full((3, 3), 5, np.uint8)
    draw = {"column": f, "row": f, "near": f, "radius": 1.0, "window": (0, 0, 8, 6), "threads": 1}
    paint = {
        **{key: draw[key] for key in ("column", "row", "radius", "window")},
        **{
            "seen": np.zeros((6, 8), np.int32),
            "brightness": flat,
            "palette": np.zeros((6, 256, 3), np.uint8),
        },
        **{"value": np.zeros(3, np.uint8), "fine": 2, "image": np.zeros((4, 5, 3), np.uint8), "threads": 1},
    }
    return {"draw_discs": draw, "paint_discs": paint}


ROWS, RADIUS = "row, near: expected as many as there are columns", "radius: expected 1 to 31 pixels"
EDGES, PLACE = (
    "window: expected 1 to 32768 columns",
    "image: expected (height, width, 3) with the window in it",
)
FINE = "fine: expected 1 to 8, and a window of whole pixels of the image"
BAD_PICTURES = [
    *((call, change, message) for call in ("draw_discs", "paint_discs") for change, message in (
        ({"row": np.zeros(2, np.float32)}, ROWS), ({"radius": 0.5}, RADIUS), ({"radius": np.nan}, RADIUS),
        ({"radius": 32.0}, RADIUS), ({"window": (0, 0, 0, 6)}, EDGES), ({"window": (0, 0, 8, 2**40)}, EDGES),
        ({"window": (-(2**40), 0, 8, 6)}, EDGES), ({"threads": 0}, "threads: expected 1 to 1024, got 0"),
    )),
    ("draw_discs", {"near": np.zeros(2, np.float32)}, ROWS),
    *(("paint_discs", change, message) for change, message in (
        ({"seen": np.zeros((6, 7), np.int32)}, "seen: expected the shape of the window"),
        ({"brightness": np.zeros((4, 3), np.uint8)}, "brightness: expected (2 k + 1, 2 k + 1)"),
        ({"brightness": np.full((3, 3), 6, np.uint8)}, "brightness: not a row of the palette"),
        ({"palette": np.zeros((6, 255, 3), np.uint8)}, "palette: expected (shades, 256, 3)"),
        ({"value": np.zeros(4, np.uint8)}, "value: expected as many as there are columns"),
        ({"fine": 0}, FINE), ({"fine": 3}, FINE), ({"window": (1, 0, 8, 6)}, FINE),
        ({"window": (4, 0, 8, 6)}, PLACE), ({"window": (0, 4, 8, 6)}, PLACE), ({"window": (-2, 0, 8, 6)}, PLACE),
        ({"image": np.zeros((4, 5, 4), np.uint8)}, PLACE),
    )),
]  # fmt: skip


@each("call, change, message", BAD_PICTURES)
def test_the_core_refuses_bad_pictures(call, change, message):
    arguments = disc_arguments()[call]
    getattr(_core, call)(*arguments.values())
    with pytest.raises(ValueError, match=re.escape(message)):
        getattr(_core, call)(*{**arguments, **change}.values())


def test_what_is_not_seen_is_not_painted():
    """Numbers that no drawing has given: of no disc, or of one elsewhere."""
    arguments = disc_arguments()["paint_discs"]
    for seen in (-1, -(2**31), 3, 2**31 - 1):
        arguments["seen"] = np.full((6, 8), seen, np.int32)
        _core.paint_discs(*{**arguments, "palette": arguments["palette"] + np.uint8(9)}.values())
    arguments["column"] = np.full(3, 1e9, np.float32)
    arguments["seen"] = np.zeros((6, 8), np.int32)
    _core.paint_discs(*arguments.values())
    assert not arguments["image"].any()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, 3e38])
def test_discs_nowhere_are_not_drawn(odd):
    f, odds = np.array([3, 3], np.float32), np.array([odd, 3], np.float32)
    for column, row in ((odds, f), (f, odds)):
        seen = np.frombuffer(_core.draw_discs(column, row, None, 2.0, (0, 0, 8, 6), 1), np.int32)
        assert set(seen) == {-1, 1}
        assert not _core.draw_discs(column[:0], row[:0], None, 2.0, (0, 0, 1, 1), 1).strip(b"\xff")
        assert discs.draw(column[:1], row[:1], None, radius=2, size=(64, 64)) is None


def test_windows_of_one_pixel():
    """A centre that rounding takes out of the window screens nothing in it."""
    edge = np.nextafter(np.float32(0.5), np.float32(0))  # edge + 0.5 rounds to 1
    column, row = np.array([edge, 0], np.float32), np.array([0, 2], np.float32)
    for x, y, window in ((column, row, (0, 0, 1, 2)), (row, column, (0, 0, 2, 1))):
        seen = _core.draw_discs(x, y, np.array([100, 0], np.float32), 1.0, window, 1)
        assert list(np.frombuffer(seen, np.int32)) == [0, 1]


def test_colours_run_from_dark_to_light():
    brightness = colors.TABLE.astype(float) @ [0.299, 0.587, 0.114]
    assert (np.diff(brightness) > -1).all() and brightness[-1] - brightness[0] > 150
    values = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, np.nan])
    assert colors.index(values, (0.0, 1.0)).tolist() == [0, 0, 127, 255, 255, 0]
    assert colors.span("speed", np.array([0.5, 2.0])) == (0, 2) and colors.span(
        "J", np.array([0.5, 2.0])
    ) == (0.5, 2)
    assert colors.span("J", np.ones(3)) == (0.5, 1.5) and colors.span("speed", np.zeros(3)) == (0, 1)
    assert [colors.round_up(v) for v in (0.011, 0.19, 3.0, 8.0)] == pytest.approx([0.015, 0.2, 3, 10])


# --- movies ------------------------------------------------------------------------------------------------------


def read_mp4(path):
    """Size, frames per second and images, as ffmpeg decodes them."""
    import imageio_ffmpeg

    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    run = subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    width, height, fps = re.search(r"h264.* (\d+)x(\d+)[ ,].* ([\d.]+) fps", run.stderr.decode()).groups()
    frames = np.frombuffer(run.stdout, np.uint8).reshape(-1, int(height), int(width), 3)
    return SimpleNamespace(size=(int(width), int(height)), fps=float(fps), frames=frames)


def test_an_mp4_has_the_frames_that_were_drawn(tmp_path):
    sim = make(2)
    expected = []
    twin = make(2)
    renderer = viz.Renderer(twin, size=(128, 96))
    for _ in twin.frames(duration=0.2, fps=30):
        expected.append(renderer.frame(twin))
    start = sim.time
    assert sim.movie(tmp_path / "a.mp4", duration=0.2, fps=30, size=(128, 96)) is None
    movie = read_mp4(tmp_path / "a.mp4")
    assert movie.size == (128, 96) and movie.fps == 30 and len(movie.frames) == len(expected) == 7
    assert sim.time == start + 6 / 30 and sim.state_hash() == twin.state_hash()
    # What compression loses, in 255ths. Measured: 2.6; the nearest other frame is 5.3 away.
    away = np.array(
        [[np.abs(image.astype(int) - drawn).mean() for drawn in expected] for image in movie.frames]
    )
    assert away.diagonal().max() < 4 and away.argmin(axis=1).tolist() == list(range(7))


def test_a_gif_has_its_frames_and_its_speed(tmp_path):
    make(3).movie(tmp_path / "a.gif", duration=0.1, fps=40, size=(80, 64))
    with Image.open(tmp_path / "a.gif") as movie:
        assert movie.n_frames == 5 and movie.size == (80, 64)
        assert movie.info["duration"] == 20 and movie.info["loop"] == 0  # in units of 10 ms


@dims
def test_a_directory_of_pictures(tmp_path, dim):
    sim = make(dim)
    sim.movie(tmp_path / "frames", duration=0.1, fps=20, size=(80, 64), color="pressure", limits=(0, 1e4))
    files = sorted((tmp_path / "frames").iterdir())
    assert [file.name for file in files] == [f"frame_{k:04d}.png" for k in range(3)]
    for file in files:
        with Image.open(file) as picture:
            assert picture.size == (80, 64) and picture.mode == "RGB"
    last = viz.Renderer(sim, size=(80, 64), color="pressure", limits=(0, 1e4)).frame(sim)
    assert np.array_equal(np.asarray(Image.open(files[-1])), last)


def test_a_path_without_its_directory(tmp_path):
    sim = make(2)
    before = sim.state_hash()
    with pytest.raises(FileNotFoundError, match=r"path = .*nowhere"):
        sim.movie(tmp_path / "nowhere" / "a.mp4", duration=1, fps=10)
    assert sim.state_hash() == before and not list(tmp_path.iterdir())


def test_a_movie_that_is_closed_takes_no_more(tmp_path):
    image = np.zeros((64, 80, 3), np.uint8)
    for name in ("a.mp4", "a.gif", "a"):
        with viz.MovieWriter(tmp_path / name, fps=10, size=(80, 64)) as writer:
            writer.add(image)
        assert writer.frames == 1 and (tmp_path / name).exists()
        writer.close()  # again, no harm
        with pytest.raises(ValueError, match="closed"):
            writer.add(image)


def test_a_run_that_fails_leaves_a_movie_of_what_there_was(tmp_path):
    sim = make(2)
    sim.particles.v[:] = np.nan
    with pytest.raises(mpm.SimulationError):
        sim.movie(tmp_path / "a", duration=1, fps=10, size=(80, 64))
    assert len(list((tmp_path / "a").iterdir())) == 1


@pytest.mark.parametrize("color", ["speed", "mass"])
def test_pictures_that_are_drawn_beside_the_run_show_what_was_shot(color):
    """A field is a view, a collider is asked where it is: both have moved on when the picture is drawn."""
    scene = mpm.Scene([0, 0], [1, 1], gravity=[0, -9.81])
    scene.add(shapes.Box([0.125, 0.5], [0.375, 0.75]), SOLID)
    scene.add_collider(shapes.Ball([0.7, 0.3], 0.15), motion=mpm.motion.Linear([0, 1]))
    sim = mpm.Simulation(scene, dx=0.125, threads=1)
    expected, drawn, started, go_on = [], [], threading.Event(), threading.Event()

    def use(image, i):
        started.set()
        assert go_on.wait(20)
        drawn.append((i, image))

    beside, alone = (viz.Renderer(sim, size=(96, 72), color=color) for _ in range(2))
    with Pictures(beside, use) as pictures:
        for i, _ in sim.frames(duration=0.09, fps=100):
            expected.append(alone.frame(sim))
            if i:
                go_on.set()
            pictures.take(sim, i)
            if not i:
                assert started.wait(20) and not drawn
    assert [i for i, _ in drawn] == list(range(10)) and len(expected) == 10
    for (_, image), picture in zip(drawn, expected, strict=True):
        assert np.array_equal(image, picture)
    assert len({image.tobytes() for image in expected}) == 10


def test_what_goes_wrong_with_a_picture_is_raised():
    sim = make(2)

    def use(image):
        raise OSError("no space left")

    before = threading.active_count()
    for attempts in (1, 2):
        with pytest.raises(OSError, match="no space left"), Pictures(viz.Renderer(sim), use) as pictures:
            for _ in range(attempts):
                pictures.take(sim)
        assert threading.active_count() == before


def test_pictures_on_one_sheet(tmp_path):
    images = [np.full((4, 6, 3), 40 * k, np.uint8) for k in range(5)]
    sheet = viz.contact_sheet(images, columns=3)
    assert sheet.shape == (8, 18, 3) and sheet.dtype == np.uint8
    for k in range(5):
        i, j = divmod(k, 3)
        assert (sheet[4 * i : 4 * i + 4, 6 * j : 6 * j + 6] == 40 * k).all()
    assert (sheet[4:, 12:] == 255).all()
    assert viz.contact_sheet(images[:2], columns=9).shape == (4, 12, 3)
    viz.save_image(tmp_path / "a.png", sheet)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")), sheet)


# --- extras ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missing", "extra", "call"),
    [
        ("matplotlib", "plot", lambda sim, folder: sim.plot()),
        ("PIL", "movie", lambda sim, folder: viz.Renderer(sim)),
        ("imageio_ffmpeg", "movie", lambda sim, folder: sim.movie(folder / "a.mp4", duration=0, fps=1)),
        ("pyvista", "3d", lambda sim, folder: make(3).plot(renderer="pyvista")),
        ("tqdm", "plot", lambda sim, folder: sim.frames(duration=1, fps=1, progress=True)),
    ],
)
def test_a_missing_extra_is_named(tmp_path, monkeypatch, missing, extra, call):
    sim = make(2)
    before = sim.state_hash()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf"pip install [\w-]+ \(the extra '{extra}'\)"):
        call(sim, tmp_path)
    assert sim.state_hash() == before and not list(tmp_path.iterdir())


def test_a_progress_bar_counts_the_frames(capsys):
    sim = make(2)
    list(sim.frames(duration=0.05, fps=100, progress=True))
    assert "5/5" in capsys.readouterr().err


def test_frames_of_an_earlier_movie_are_replaced(tmp_path):
    sim = make(2)
    folder = tmp_path / "frames"
    sim.movie(folder, duration=0.004, fps=1000, size=(64, 64))
    (folder / "frame_notes.png").touch()
    sim.movie(folder, duration=0.002, fps=1000, size=(64, 64))
    names = ["frame_0000.png", "frame_0001.png", "frame_0002.png", "frame_notes.png"]
    assert sorted(path.name for path in folder.iterdir()) == names


def test_an_mp4_that_cannot_be_written_is_told_and_leaves_nothing(tmp_path):
    """A limit of the file size ends ffmpeg, early or with the last bytes."""
    code = """
        import resource, sys
        import numpy as np
        from mpm.viz import MovieWriter

        noise = np.random.default_rng(0).integers(0, 255, (256, 256, 3), dtype=np.uint8)
        for size, frames in ((0, 1), (20_000, 1), (20_000, 300)):
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
            movie = MovieWriter("a.mp4", fps=30, size=(256, 256))
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            try:
                with movie:
                    for _ in range(frames):
                        movie.add(noise)
            except OSError as error:
                print("refused", movie.closed, "a.mp4: ffmpeg could not write it" in str(error))
            movie.close()
    """
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["refused True True"] * 3
    assert not list(tmp_path.iterdir())


def test_an_interrupt_amid_an_image_loses_only_that_one(tmp_path):
    movie = viz.MovieWriter(tmp_path / "a.mp4", fps=30, size=(64, 64))
    for shade in (0, 100, 200):
        movie.add(np.full((64, 64, 3), shade, np.uint8))
    movie._encoder.add(bytes(1000))  # what a pipe has taken by then
    movie.close()
    assert len(read_mp4(tmp_path / "a.mp4").frames) == 3
