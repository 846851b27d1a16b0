"""The renderer: particles and discs on a picture, pixel by pixel, and what the core refuses to draw."""

import re

import numpy as np
import pytest
from PIL import Image

import mpm
from loops import each
from mpm import _core, shapes, viz
from mpm.viz import canvas, discs
from mpm.viz import color as colors
from pictures import SOLID, make

dims = pytest.mark.parametrize("dim", [2, 3])


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
