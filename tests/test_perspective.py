"""Pictures in perspective: where points, discs, triangles, light and the ground fall."""

import numpy as np
import pytest

import mpm
from mpm.viz import facets
from mpm.viz.camera import Camera
from mpm.viz.discs import draw as draw_discs
from mpm.viz.relief import Relief
from mpm.viz.view import check_camera
from pictures import lattice

SIZE = (200, 160)
BOX = mpm.Scene((0, 0, 0), (2, 1, 1.5), gravity=(0, 0, -9.81))
UP_X = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(9.81, 0, 0))  # things fall to larger x


def made(camera, scene=BOX, size=SIZE):
    view = check_camera(camera, scene)(0.0)
    return Camera(scene.lower, scene.upper, scene.gravity, (0, 0, *size), view)


def corners(scene):
    return np.array(np.meshgrid(*zip(scene.lower, scene.upper, strict=True))).reshape(3, -1).T


def test_a_point_falls_where_its_ray_does():
    """The tangent of the angle from the axis, over that of half the angle of view, is half the height."""
    eye, target = np.array([3.0, -2.0, 2.0]), np.array([1.0, 0.5, 0.5])
    camera = made({"eye": eye, "target": target, "fov": 40})
    assert camera.eye == pytest.approx(eye, abs=1e-12)
    x = np.random.default_rng(1).uniform(0, 1, (50, 3))
    ray = (x - eye) @ camera.rows.T
    size = 80 / np.tan(np.radians(20))
    column, row, near = camera.project(x)
    assert column == pytest.approx(100 + size * ray[:, 0] / -ray[:, 2], abs=1e-3)  # measured 3e-5
    assert row == pytest.approx(80 - size * ray[:, 1] / -ray[:, 2], abs=1e-3)
    assert near == pytest.approx(np.linalg.norm(eye - target) + ray[:, 2], abs=1e-5)
    zoomed = made({"eye": eye, "target": target, "fov": 40, "zoom": 2})
    assert zoomed.project(x)[0] - 100 == pytest.approx(2 * (column - 100), abs=1e-3)


@pytest.mark.parametrize("scene", [BOX, UP_X], ids=["up z", "down x"])
@pytest.mark.parametrize("view", [{}, {"view": "top"}, {"view": "front"}, {"azimuth": 20, "elevation": -40}])
@pytest.mark.parametrize("fov", [2, 35, 110])
def test_without_an_eye_the_domain_fills_the_picture(scene, view, fov):
    """It touches two opposite edges, and its larger extent spans the angle of view."""
    camera = made({**view, "fov": fov}, scene)
    column, row, _ = camera.project(corners(scene))
    gaps = [column.min(), row.min(), SIZE[0] - column.max(), SIZE[1] - row.max()]
    assert min(gaps) == pytest.approx(0, abs=0.01) and sorted(gaps)[1] == pytest.approx(0, abs=0.01)
    spans = max(np.ptp(column), np.ptp(row)) / camera.scale / 2 * camera.lens
    assert spans == pytest.approx(np.tan(np.radians(fov / 2)), rel=1e-5)
    almost = made(view, scene).project(corners(scene)) if fov == 2 else None
    if almost is not None:  # a small angle: nearly a parallel projection
        assert np.abs(column - almost[0]).max() < 4 and np.abs(row - almost[1]).max() < 4  # measured 2.9


def test_a_camera_that_goes_around_keeps_its_distance_and_scale():
    cameras = [made(lambda t, a=a: {"azimuth": a, "fov": 50}) for a in (0, 33, 90, 200)]
    assert len({(camera.lens, camera.scale) for camera in cameras}) == 1
    for camera in cameras:
        column, row, _ = camera.project(corners(BOX))
        assert -2 < column.min() and column.max() < 202 and -2 < row.min() and row.max() < 162


def test_discs_are_as_large_as_they_are_near():
    camera = made({"eye": (1, -2, 0.75), "target": (1, 0.5, 0.75), "fov": 40})
    x = np.array([[0.6, 0.0, 0.75], [1.4, 1.0, 0.75], [1.0, -2.5, 0.75]])  # the last one is behind the eye
    column, row, near = camera.project(x)
    assert np.isnan(column[2]) and np.isnan(row[2])
    radius = camera.radii(0.1, near)
    found = draw_discs(column, row, near * np.float32(camera.scale), radius=radius, size=SIZE)
    wide = [np.ptp(np.nonzero(found.seen == k)[1]) for k in range(2)]
    assert wide == pytest.approx([2 * radius[0], 2 * radius[1]], abs=2) and wide[0] > 1.4 * wide[1]
    assert not (found.seen == 2).any()
    image = np.zeros((SIZE[1], SIZE[0], 3), np.uint8)
    found.paint(image, np.full(3, 255, np.uint8), 1)
    assert np.array_equal(image.any(axis=2), _whole(found))  # all of them is painted, and nothing else
    depth, cover = np.full(image.shape[:2], -np.inf, np.float32), np.zeros(image.shape[:2], np.float32)
    found.depths(near * np.float32(camera.scale), 1, depth, cover)
    for k in range(2):  # at its rim a disc has fallen by its radius
        seen = depth[_placed(found, k)]
        assert np.ptp(seen) == pytest.approx(radius[k], abs=1.0)


def _placed(found, disc):
    whole = np.zeros((SIZE[1], SIZE[0]), bool)
    left, top, wide, high = found.window
    whole[top : top + high, left : left + wide] = found.seen == disc
    return whole


def _whole(found):
    return _placed(found, 0) | _placed(found, 1)


def test_colours_and_depths_of_a_triangle_are_those_of_its_points():
    camera = made({"eye": (1, -1.2, 0.75), "target": (1, 0.5, 0.75), "fov": 50})
    x = np.array([[0.5, 0.0, 0.5], [0.6, 1.0, 0.5], [1.6, 1.0, 1.2]])
    column, row, near = camera.project(x)
    lens = camera.lens / camera.scale
    found = facets.draw(
        column, row, near * camera.scale, np.array([[0, 1, 2]]), np.array([0, 100, 250]), np.ones(1),
        size=SIZE, fine=1, table=np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(256, 3), lens=lens,
    )  # fmt: skip
    weights = np.random.default_rng(2).dirichlet([3, 3, 3], 40)
    at = camera.project(weights @ x)
    place = (np.rint(at[1]).astype(int) - found.window[1], np.rint(at[0]).astype(int) - found.window[0])
    there = np.isfinite(found.near[place])
    off = np.abs(found.ink[(*place, 0)] - weights @ [0, 100, 250])[there]
    assert there.sum() > 30 and off.mean() < 5  # measured 2.8, of whole pixels; 18 if linear on the screen
    deep = np.abs(found.near[place] - at[2] * camera.scale)[there]
    assert deep.mean() < 4, deep.mean()


@pytest.mark.parametrize(
    "camera", [{"fov": 60}, {"view": "front", "fov": 60}, {"eye": (0.5, 0.7, 0.9), "fov": 90}]
)
@pytest.mark.parametrize("scene", [BOX, UP_X], ids=["up z", "down x"])
def test_the_ground_is_where_its_points_fall(camera, scene):
    """The last eye is within the domain, and looks aside."""
    camera = dict(camera, target=(0.9, 0.3, 0.2)) if "eye" in camera else camera
    seen = made(camera, scene)
    ground = Relief(seen, scene, SIZE, 1)._ground
    up, floor = seen.order[-1], seen.floor
    x = np.random.default_rng(3).uniform(scene.lower, scene.upper, (400, 3))
    x[:, up] = floor
    column, row, near = seen.project(x)
    inside = (column > 1) & (row > 1) & (column < SIZE[0] - 2) & (row < SIZE[1] - 2)
    found = ground[np.rint(row[inside]).astype(int), np.rint(column[inside]).astype(int)]
    there = np.isfinite(found)
    assert there.mean() > 0.9 and there.sum() > 20
    # In metres; a pixel near the horizon spans more.
    assert np.median(np.abs(found - near[inside] * seen.scale)[there]) / seen.scale < 0.02
    below = made({"azimuth": 0, "elevation": -60, "fov": 30}, scene)
    assert Relief(below, scene, SIZE, 1)._ground is None and not below.above and seen.above


def lit(x, spacing, camera, size=(240, 200)):
    """Light on white discs at x in the unit cube, which pixels they cover, and the camera."""
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
    seen = made(camera, scene, (2 * size[0], 2 * size[1]))
    relief = Relief(seen, scene, size, 2)
    column, row, near = seen.project(x)
    radius = seen.radii(0.75 * spacing, near)
    near = near * np.float32(seen.scale)
    found = draw_discs(column, row, near, radius=radius, size=(2 * size[0], 2 * size[1]), fine=2)
    depth, cover = relief.empty()
    found.depths(near, 2, depth, cover)
    image = np.full((size[1], size[0], 3), 200, np.uint8)
    relief.shade(image, depth, cover, x, spacing)
    return image[..., 0] / 200, cover, seen, relief


def test_a_plane_has_one_brightness_in_perspective():
    """Its normal is the same everywhere, though the slope of its depth on the screen is not."""
    x = lattice((0.05, 0.05, 0.2), (0.95, 0.95, 0.3), 0.02)
    light, cover, seen, _ = lit(x, 0.02, {"azimuth": -56, "elevation": 35, "fov": 70})
    column, row, _ = seen.project(lattice((0.15, 0.15, 0.28), (0.85, 0.85, 0.3), 0.02))
    place = np.rint(row / 2).astype(int), np.rint(column / 2).astype(int)
    assert (cover[place] == 1).all() and light[
        place
    ].std() < 0.01  # measured 0.002; 0.07 with parallel normals


def test_a_shadow_falls_along_the_sun_in_perspective():
    x = lattice((0.4, 0.4, 0.5), (0.6, 0.6, 0.55), 0.02)
    light, cover, seen, relief = lit(x, 0.02, {"azimuth": -100, "elevation": 40, "fov": 60})
    foot = x.mean(axis=0) - x.mean(axis=0)[2] / relief._sun[2] * relief._sun
    column, row, _ = (np.asarray(part) / 2 for part in seen.project(foot[None]))
    rows, columns = np.nonzero((light < 0.85) & (cover == 0) & np.isfinite(relief._ground))
    assert len(rows) > 100
    away = np.hypot(columns.mean() - column[0], rows.mean() - row[0])
    assert away < 4, away  # pixels of 240; measured 1.5, and 5.8 with a parallel projection


def test_perspective_is_asked_for_in_degrees():
    for fov, message in ((0.5, "must be 0, a parallel projection, or >= 1"), (121, "<= 120"), (-1, ">= 0")):
        with pytest.raises(ValueError, match=message):
            check_camera({"fov": fov}, BOX)
    with pytest.raises(ValueError, match="key of camera"):
        check_camera({"fov": 30}, mpm.Scene((0, 0), (1, 1)))
    assert (
        check_camera({"fov": 0}, BOX)(0.0) == check_camera({}, BOX)(0.0) != check_camera({"fov": 5}, BOX)(0.0)
    )
