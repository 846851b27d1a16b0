"""Finite elements in 3-D pictures: the shaded triangles of their surface."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull, Delaunay

import mpm
from loops import each
from mpm import fem, viz
from mpm.viz import color as colors
from mpm.viz import facets

SOLID = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)
OPTIONS = {"size": (160, 120), "annotate": False}


def cube(half=0.25, collider=None):
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
    scene.add(mpm.shapes.Box([0.5 - half] * 3, [0.5 + half] * 3), SOLID)
    if collider is not None:
        scene.add_collider(collider)
    return fem.Simulation(scene, spacing=0.125)


def test_the_nearest_triangle_is_seen_at_every_pixel_with_the_colour_in_between():
    """Random triangles beside the linear functions of each, pixel by pixel."""
    rng = np.random.default_rng(3)
    wide, high, m = 48, 40, 25
    column, row = rng.uniform(-10, wide + 10, 3 * m), rng.uniform(-10, high + 10, 3 * m)
    near, levels = rng.uniform(-30, 30, 3 * m), rng.uniform(0, 255, 3 * m)
    column[:3], near[3] = (7, 7, np.nan), np.inf  # one without an area, one that is nowhere
    column[3] = np.nan
    corners, light = rng.permutation(3 * m).reshape(m, 3), rng.uniform(0.5, 1, m)
    found = facets.draw(column, row, near, corners, levels, light, size=(wide, high), fine=2)
    left, top, width, height = found.window
    assert left % 2 == top % 2 == width % 2 == height % 2 == 0
    front, ink = np.full((high, wide), -np.inf), np.zeros((high, wide, 3))
    edge = np.zeros((high, wide), dtype=bool)
    pixels = np.stack(np.meshgrid(np.arange(wide), np.arange(high)), axis=-1).reshape(-1, 2)
    for k, triangle in enumerate(corners):
        matrix = np.vstack([column[triangle], row[triangle], np.ones(3)])
        if not np.isfinite(matrix).all() or abs(np.linalg.det(matrix)) < 1e-6:
            continue
        shares = np.linalg.solve(matrix, np.column_stack([pixels, np.ones(len(pixels))]).T)
        edge |= (np.abs(shares).min(axis=0) < 1e-9).reshape(high, wide)
        z = (near[triangle] @ shares).reshape(high, wide)
        here = (shares > 0).all(axis=0).reshape(high, wide) & (z > front)
        front[here] = z[here]
        level = np.rint(levels[triangle] @ shares).astype(int).reshape(high, wide)
        ink[here] = colors.TABLE[level[here]] * light[k]
    whole = np.full((high, wide), np.inf), np.zeros((high, wide, 3))
    for all_of_it, part in zip(whole, (found.near, found.ink), strict=True):
        all_of_it[top : top + height, left : left + width] = part
    assert np.array_equal(np.isfinite(front), np.isfinite(whole[0])) and 400 < np.isfinite(front).sum()
    there = np.isfinite(front)
    np.testing.assert_allclose(whole[0][there], front[there], atol=1e-4)  # measured 2e-6: single precision
    assert np.percentile(np.abs(whole[1] - ink)[there], 99) < 1e-4  # levels may round otherwise


def test_a_cube_is_seen_as_its_three_faces():
    sim = cube()
    renderer = viz.Renderer(sim, limits=(0.0, 1.0), **OPTIONS)  # at rest: the first colour
    image, empty = renderer.frame(sim).astype(int), renderer.background.astype(int)
    column, row, _ = renderer.camera.project(sim.particles.x)
    outline = Delaunay(ConvexHull(np.column_stack([column, row])).points)
    pixels = np.stack(np.meshgrid(np.arange(320.0), np.arange(240.0)), axis=-1)
    inside = (outline.find_simplex(pixels) >= 0).reshape(120, 2, 160, 2)
    whole, outside = inside.all(axis=(1, 3)), ~inside.any(axis=(1, 3))
    body = image[whole]
    assert (image[whole] != empty[whole]).any(axis=1).all()
    seen = np.unique(body, axis=0, return_counts=True)
    assert sorted(seen[1])[-3] > 0.15 * len(body) and sum(sorted(seen[1])[-3:]) > 0.9 * len(body)
    brightness = body @ np.ones(3) / colors.TABLE[0].sum()
    assert 0.4 < brightness.min() and brightness.max() < 1.1  # measured: 0.48 in the shade, 1.02 in the sun
    below = np.flatnonzero(whole.any(axis=1)).max()
    assert not (image - empty)[: whole.any(axis=1).argmax() - 1].any()  # above is nothing, below a shadow
    assert outside.any() and below < 120


def test_a_cut_shows_the_inside_of_whole_elements():
    sim = cube()
    renderer = viz.Renderer(sim, cut={"y": 0.5}, **OPTIONS)
    x, triangles = sim.particles.x, renderer._shoot(sim).triangles
    assert x[triangles][..., 1].min() == 0.5  # a plane of nodes
    a, b, c = (x[triangles[:, k]] for k in range(3))
    enclosed = np.einsum("ij,ij", a, np.cross(b - a, c - a)) / 6  # Gauss
    assert enclosed == pytest.approx(0.5**3 / 2, rel=1e-12)
    empty = viz.Renderer(sim, cut={"y": 1.0}, **OPTIONS)
    assert np.array_equal(empty.frame(sim), empty.background)


@each("behind", [False, True])
def test_a_collider_veils_what_is_behind_it(behind):
    towards = np.array([0.53, -0.79, 0.31])
    ball = 0.5 + (-0.35 if behind else 0.35) * towards
    sim, bare = cube(0.125, mpm.shapes.Ball(ball, 0.16)), cube(0.125)
    image, without = (viz.Renderer(one, **OPTIONS).frame(one).astype(int) for one in (sim, bare))
    camera = viz.Renderer(sim, **OPTIONS).camera
    column, row = (int(at[0] / 2) for at in camera.project(ball[None])[:2])
    change = np.abs(image - without)[row - 2 : row + 3, column - 2 : column + 3].sum(axis=2)
    assert (change == 0).all() if behind else (change > 30).all()


def test_recordings_look_as_the_run_did(tmp_path):
    pytest.importorskip("h5py")
    sim = cube()
    with sim.record(tmp_path / "a.vtkhdf", fps=100, fields=("v",)):
        sim.run(0.02)
    options = {"limits": (0.0, 0.3), **OPTIONS}
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        assert np.array_equal(
            viz.Renderer(frames[0], **options).frame(frames[-1]), viz.Renderer(sim, **options).frame(sim)
        )
    picture = sim.plot(cut={"y": 0.5})
    assert picture.particles.get_array().shape[2] == 3
    compared = mpm.compare_plot(sim, "nu", [0.2, 0.3], times=0.01)
    assert compared.axes.shape == (1, 2)
