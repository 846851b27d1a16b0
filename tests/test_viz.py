"""Pictures: what Matplotlib draws of a simulation, and what is said where an extra is missing."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.artist import Artist

import mpm
from mpm import shapes, viz
from mpm.solver import derived
from mpm.viz import canvas, surfaces
from mpm.viz import color as colors
from pictures import SOLID, make

dims = pytest.mark.parametrize("dim", [2, 3])


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
    low, high = sim.plot(color="speed").colorbar.get_ylim()
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
        picture = mpm.Simulation(scene, dx=0.125, threads=1).plot(color="speed")
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


def test_the_name_beside_the_colour_bar_of_a_small_picture_is_whole():
    small, alone = np.zeros((2, 240, 320, 3), np.uint8)
    name = "von Mises stress [Pa]"
    canvas.color_bar(small, name, (0, 1))
    canvas.write(alone, name, (0, 20), 9)
    assert small[:41].sum() == alone.sum() > 0  # above the bar and its numbers


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


def test_the_surface_of_a_collider_ends_at_the_domain():
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add(mpm.shapes.Box((0.1, 0.1, 0.8), (0.3, 0.3, 0.9)), SOLID)
    scene.add_collider(mpm.shapes.Ball((0.5, 0.5, 0.1), 0.3))
    sim = mpm.Simulation(scene, dx=0.1)
    x, normal = surfaces.within(sim._posed()[0], np.zeros(3), np.ones(3))
    out = x - (0.5, 0.5, 0.1)
    above = x[:, 2] > 0
    assert np.abs(np.linalg.norm(out, axis=1) - 0.3)[above].max() < 1e-3  # measured 2e-4
    assert x.min() >= 0 and ((normal * out).sum(axis=1) > 0.95 * 0.3).all()
    area = np.linalg.norm(np.cross(x[1::3] - x[::3], x[2::3] - x[::3]), axis=1).sum() / 2
    assert area == pytest.approx(2 * np.pi * 0.3 * 0.4, rel=0.01)


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
    allowed = {
        name for name in derived.NAMES if name not in ("stress", "heat", "solute", "plastic_volume_strain")
    } | {
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


def test_values_beyond_single_precision_have_the_colors_of_the_ends():
    shown = np.array([-1e300, 0, 0.5, 1, 1e300, np.inf])
    assert [*viz.color.index(shown, (0.0, 1.0))] == [0, 0, 127, 255, 255, 255]


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
# --- movies ------------------------------------------------------------------------------------------------------
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": (-1e308, 1e308)}, r"limits = .*must be >= -1e\+37 and <= 1e\+37"),
        ({"limits": (0, 1e-320)}, r"limits = .*1e-30 or more apart"),
        ({"background": "#00000000"}, "background = '#00000000': must be opaque"),
        ({"color": "#01020380"}, "color = .*: must be opaque"),
        ({"camera": {"target": (1e30, 0)}}, r"camera\['target'\] = .*the picture would be empty"),
    ],
)
def test_what_no_picture_can_show_is_refused(options, message):
    sim = mpm.gallery.get("jelly").simulation(scale=0.25)
    with pytest.raises(ValueError, match=message):
        mpm.viz.Renderer(sim, **options)
    opaque = {
        "limits": (-1e37, 1e37),
        "color": "speed",
        "background": "#000000ff",
        "camera": {"target": (1, 1)},
    }
    mpm.viz.Renderer(sim, **opaque).frame(sim)
    mpm.viz.Renderer(sim, limits=(0, 1e-30)).frame(sim)
