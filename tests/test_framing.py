"""Pictures, movies and figures fit the domain."""

import numpy as np
import pytest

import mpm
from mpm import materials, shapes, viz
from mpm.viz import framing
from mpm.viz.camera import corners

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
    renderer = viz.Renderer(sim, annotate=annotate)
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
