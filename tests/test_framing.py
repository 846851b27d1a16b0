"""Pictures, movies and figures fit the domain."""

import numpy as np
import pytest

import mpm
from mpm import materials, shapes, viz
from mpm.commands import cli
from mpm.viz import framing
from mpm.viz.camera import corners
from viewers import Browser

SOLID = materials.FixedCorotated(E=2e4, nu=0.3, density=1000)
dims = pytest.mark.parametrize("dim", [2, 3])


@dims
@pytest.mark.parametrize("annotate", [False, True])
@pytest.mark.parametrize("sides", [(1, 1, 1), (3, 1, 1), (1, 3, 2), (1, 1, 3), (2, 40, 2)])
def test_pictures_fit_the_domain(dim, annotate, sides):
    """The domain touches all edges of the room that text and colour bar leave; sizes are even, areas alike."""
    scene = mpm.Scene([0] * dim, sides[:dim], gravity=[*[0] * (dim - 1), -9.81])
    scene.add(shapes.Box([0.25] * dim, [0.75] * dim), SOLID)
    sim = mpm.Simulation(scene, dx=0.125, threads=1)
    renderer = viz.Renderer(sim, annotate=annotate, color="speed")
    width, height = renderer.width, renderer.height
    assert width % 2 == height % 2 == 0 and width * height == pytest.approx(960 * 720, rel=0.01)
    column, row, _ = renderer.camera.project(corners(scene.lower, scene.upper))
    left, top, right, bottom = framing.edges(width, height, annotate)
    slack = [column.min() / 2 - left, right - column.max() / 2, row.min() / 2 - top, bottom - row.max() / 2]
    assert min(slack) > -0.01
    if max(sides[:dim]) < 40:  # longer domains leave margins
        assert max(slack) < 2  # pixels: sizes are rounded to even ones
    assert 1 / 6 < width / height < 6


def test_a_movie_takes_the_size_of_its_first_image(tmp_path):
    for name in ("a.mp4", "a.gif", "a"):
        with viz.MovieWriter(tmp_path / name, fps=10) as writer:
            writer.add(np.zeros((64, 80, 3), np.uint8))
            with pytest.raises(ValueError, match="image has shape"):
                writer.add(np.zeros((64, 82, 3), np.uint8))
        assert writer.size == (80, 64) and writer.frames == 1
    with viz.MovieWriter(tmp_path / "none.mp4", fps=10) as writer, pytest.raises(ValueError, match="even"):
        writer.add(np.zeros((65, 80, 3), np.uint8))
    assert not (tmp_path / "none.mp4").exists()


def filled(axes):
    """Shares of the room of axes in their figure that the picture takes, across and up."""
    figure = axes.figure
    figure.draw_without_rendering()
    box = axes.get_window_extent()
    return box.width / figure.bbox.width, box.height / figure.bbox.height


@pytest.mark.parametrize(
    "upper", [(1, 1), (4, 1), (1, 4), (20, 1), (1, 1, 1), (4, 1, 1), (1, 1, 4), (1, 1, 20)]
)
def test_a_figure_fits_the_domain(upper):
    """Beside the picture there is the room for text and the colour bar, whatever the shape of the domain."""
    d = len(upper)
    scene = mpm.Scene([0] * d, upper, gravity=[*[0] * (d - 1), -9.81])
    scene.add(shapes.Box([0.25] * d, [0.75] * d), SOLID)
    sim = mpm.Simulation(scene, dx=0.125, threads=1)
    picture = sim.plot()
    width, height = picture.figure.get_size_inches()
    assert 2 < width < 10 and 2 < height < 8
    across, up = filled(picture.particles.axes)
    # Measured: 1.6 to 1.8 inches beside the picture of a plane scene, 1.1 of another; 0.7 and 0.4 above and below.
    assert width * (1 - across) < 2.1
    if max(upper) < 20:  # longer domains leave margins
        assert height * (1 - up) < 1.1
    assert all(
        text.get_fontsize() >= 8 for text in picture.figure.findobj(lambda t: hasattr(t, "get_fontsize"))
    )


@pytest.mark.parametrize("upper", [(4, 1), (1, 4)])
def test_compared_pictures_fit_the_domain(upper):
    scene = mpm.Scene((0, 0), upper)
    scene.add(shapes.Box((0.25, 0.25), (0.75, 0.75)), SOLID)
    compared = mpm.compare_plot(mpm.Simulation(scene, dx=0.125), "nu", [0.1, 0.3], times=0.001)
    compared.figure.draw_without_rendering()
    boxes = [axes.get_window_extent() for axes in compared.axes[0]]
    assert sum(box.width for box in boxes) * max(box.height for box in boxes) > 0.6 * (
        compared.figure.bbox.width * compared.figure.bbox.height
    )


# --- names of materials, planes of cuts ---------------------------------------------------------------------------


def two_materials(dim):
    scene = mpm.Scene([0] * dim, [1] * dim)
    scene.add(shapes.Box([0.25] * dim, [0.5] * dim), SOLID)
    scene.add(shapes.Box([0.5] * dim, [0.75] * dim), materials.Fluid(bulk_modulus=1e5, density=1000))
    return mpm.Simulation(scene, dx=0.125, threads=1)


@dims
def test_pictures_of_the_material_name_the_materials(dim, tmp_path):
    sim = two_materials(dim)
    names = ["0 FixedCorotated", "1 Fluid"]
    sim.record(tmp_path / "a.vtkhdf", fps=1e6).close()
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        for source in (sim, frames[0]):
            bar = source.plot(color="material").colorbar
            assert [label.get_text() for label in bar.get_yticklabels()] == names
            image = viz.Renderer(source, color="material").frame(source)
            head = image[: framing.edges(*image.shape[1::-1], True)[1].__int__()].reshape(-1, 3)
            for ink in viz.color.TABLE[[0, -1]]:  # a square of each colour
                assert 100 < (head == ink).all(axis=1).sum() < 1000
            head = viz.Renderer(source, color="mass").frame(source)[:60].reshape(-1, 3)
            assert not (head == viz.color.TABLE[-1]).all(axis=1).any()
    browser = Browser(sim)
    assert browser.state["materials"] == ()
    assert not browser.ask("color", name="material")
    assert browser.state["materials"] == tuple(names)


def test_compared_pictures_are_cut_as_others_are():
    sim = two_materials(3)
    compared = mpm.compare_plot(sim, "nu", [0.1, 0.3], times=0.0, color="material", cut={"y": 0.4})
    alone = sim.plot(color="material", cut={"y": 0.4})
    whole = sim.plot(color="material")
    found = [axes.images[0].get_array() for axes in compared.axes[0]]
    assert np.array_equal(found[0], alone.particles.get_array()) and np.array_equal(*found)
    assert not np.array_equal(found[0], whole.particles.get_array())
    for cut in ({"w": 0.4}, {"y": 2.0}, 0.4):
        with pytest.raises((TypeError, ValueError), match="cut"):
            mpm.compare_plot(sim, "nu", [0.1, 0.3], times=0.0, cut=cut)


def test_the_command_line_cuts_pictures(tmp_path, capsys):
    sim = two_materials(3)
    path = tmp_path / "a.vtkhdf"
    sim.record(path, fps=1e6).close()
    for name, options in {
        "whole": [],
        "cut": ["--cut", "y=0.4"],
        "corner": ["--cut", "y=0.4", "--cut", "x=0.4"],
    }.items():
        assert cli.main(["replay", str(path), "--plot", str(tmp_path / f"{name}.png"), *options]) == 0
    pictures = [(tmp_path / f"{name}.png").read_bytes() for name in ("whole", "cut", "corner")]
    assert len(set(pictures)) == 3
    out = tmp_path / "out"
    command = ["demo", "twisted-bar", "--frames", "1", "--out", str(out), "--set", "dx=0.1", "--threads", "1"]
    seen = []
    for options in ([], ["--cut", "y=0"]):
        assert cli.main([*command, *options]) == 0
        seen.append((out / "twisted-bar_frames.png").read_bytes())
    assert seen[0] != seen[1]
    capsys.readouterr()
    for text in ("y", "y=", "y=a"):
        with pytest.raises(SystemExit):
            cli.main(["demo", "jelly", "--cut", text])
        assert "AXIS=PLACE" in capsys.readouterr().err
    for arguments in (["demo", "jelly", "--out", str(out / "new")], ["replay", str(path)]):
        assert (
            cli.main([*arguments, "--cut", "y=0.4"]) == 1
        )  # in the plane nothing is hidden; nothing is drawn
        assert "cut" in capsys.readouterr().err
    assert not (out / "new").exists()
