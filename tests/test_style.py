"""The words of pictures: cameras, colours, backgrounds, what is hidden; and the light of 3-D scenes."""

import inspect

import numpy as np
import pytest

import mpm
from mpm import _core, materials, shapes, viz
from mpm.base.pictures import DEFAULTS, PictureOptions
from mpm.viz import color as colors
from mpm.viz.camera import Camera
from mpm.viz.relief import Relief
from mpm.viz.style import OWN, PALETTE, Style
from mpm.viz.view import check_camera
from pictures import lattice

dims = pytest.mark.parametrize("dim", [2, 3])
JELLY = materials.NeoHookean(E=1e4, nu=0.3, density=1000)
RED, BLUE = (255, 0, 0), (0, 0, 255)


def three(dim, dtype="float64", method=mpm.Simulation):
    """Two bodies of jelly and one of snow or, of other methods, of jelly; a ball below them."""
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0, -9.81, 0][:dim])
    other = materials.Snow.preset("reference") if method is mpm.Simulation else JELLY
    for name, material, low in (("left", JELLY, 0.125), ("middle", other, 0.375), ("right", JELLY, 0.625)):
        scene.add(
            shapes.Box([low, *[0.75] * (dim - 1)], [low + 0.25, *[1.0] * (dim - 1)]), material, name=name
        )
    scene.add_collider(shapes.Ball([0.5] * dim, 0.24), name="ball")
    return (
        method(scene, dx=0.125, dtype=dtype, threads=1)
        if method is mpm.Simulation
        else method(scene, spacing=0.125, threads=1)
    )


@dims
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_materials_and_bodies_have_colours_of_their_own(dim, dtype, tmp_path):
    sim = three(dim, dtype)
    sim.record(tmp_path / "a.vtkhdf", fps=1).close()
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        for source in (sim, mpm.load(saved(sim, tmp_path)), frames[0]):
            style = Style.checked(source)
            inks = style.table[style.shown(source._state((*style.fields, "volume")))]
            for name, ink in (("left", PALETTE[0]), ("middle", OWN["Snow"]), ("right", PALETTE[2])):
                assert (inks[sim.rows(name)] == ink).all()
            style = Style.checked(source, color={"right": "red", "Snow": (0, 0, 1)}, hide=("left", "ball"))
            state = source._state((*style.fields, "volume"))
            inks, seen = style.table[style.shown(state)], style.seen(state)
            assert (inks[sim.rows("right")] == RED).all() and (inks[sim.rows("middle")] == BLUE).all()
            assert np.array_equal(np.flatnonzero(~seen), np.arange(len(sim.particles))[sim.rows("left")])
            assert style.hidden_colliders == ("ball",)


def saved(sim, folder):
    sim.save(folder / "a.mpm")
    return folder / "a.mpm"


@dims
@pytest.mark.parametrize("method", [mpm.Simulation, mpm.fem.Simulation])
def test_what_is_hidden_is_not_drawn(dim, method):
    """A picture without a body is that of a scene that never had it."""
    sim = three(dim, method=method)
    options = {"size": (160, 120), "annotate": False, "color": "white", "background": "navy"}
    everything = viz.Renderer(sim, **options).frame(sim)
    nothing = viz.Renderer(sim, hide=("left", "middle", "right", "ball"), **options)
    assert np.array_equal(nothing.frame(sim), nothing.background)
    assert not np.array_equal(everything, nothing.background)
    assert (nothing.background == (0, 0, 128)).all(axis=2).mean() > 0.5
    picture = sim.plot(hide=("left", "ball"), color={"right": "red"})
    assert picture.colorbar is None and picture.figure is not None


def test_colour_maps_and_colours_in_all_their_forms():
    sim = three(2)
    for cmap, low, high in (
        ("gray", (0, 0, 0), (255, 255, 255)),
        (["red", "#0000ff"], RED, BLUE),
        ([(1, 0, 0), (0, 1, 0), (0, 0, 1)], RED, BLUE),
        (lambda t: np.stack([t, 0 * t, 1 - t, 0 * t + 1], axis=1), BLUE, RED),
        ("mpm", colors.TABLE[0], colors.TABLE[-1]),
    ):
        style = Style.checked(sim, cmap=cmap)
        assert style.quantity == "speed"  # the default where a scale is asked for
        assert np.array_equal(style.table[[0, -1]], [low, high])
    for ink in ("red", "#f00", "#ff0000", (1, 0, 0), np.array([1.0, 0, 0])):
        assert tuple(Style.checked(sim, color=ink).table[0]) == RED
    bar = sim.plot(color="J", cmap="gray", limits=(0, 1)).particles
    assert np.allclose(bar.get_cmap()([0.0, 1.0])[:, :3], [[0, 0, 0], [1, 1, 1]])
    for words, message in (
        ({"color": "reed"}, "color = 'reed': must be one of"),
        ({"color": {"rigth": "red"}}, "key of color = 'rigth'"),
        ({"color": "red", "limits": (0, 1)}, "limits = .*: must be None, unless color is a quantity"),
        ({"cmap": "viridas"}, "cmap = 'viridas'.*did you mean 'viridis'"),
        ({"background": (0, 0, 2)}, "background"),
        ({"hide": "lefft"}, "hide = 'lefft'"),
    ):
        with pytest.raises(ValueError, match=message):
            sim.plot(**words)


@pytest.mark.parametrize("up", [0, 1, 2])
@pytest.mark.parametrize("sign", [1, -1])
def test_cameras_look_from_where_they_are_told(up, sign):
    """Up is upwards, the right hand is to the right, and what is near the eye is near."""
    gravity = np.zeros(3)
    gravity[up] = -9.81 * sign
    scene = mpm.Scene((-1, 2, 5), (3, 5, 9), gravity=gravity)
    low, high = scene.lower, scene.upper
    order = [(up + 1) % 3, (up + 2) % 3, up]
    middle = (low + high) / 2

    def seen(camera, *offsets):
        view = check_camera(camera, scene)(0.0)
        made = Camera(low, high, scene.gravity, (0, 0, 200, 100), view)
        x = np.array([middle, *(middle + offset for offset in offsets)])
        column, row, near = made.project(x)
        assert not isinstance(camera, str) or np.allclose([column[0], row[0]], [100, 50], atol=1e-3)
        return column[1:] - column[0], row[1:] - row[0], near[1:] - near[0]

    along, across, upward = np.eye(3)[order[0]], np.eye(3)[order[1]], sign * np.eye(3)[up]
    column, row, near = seen("front", along, across, upward)
    assert column[0] * sign > 1 and abs(column[1]) < 1e-3 and abs(near[0]) < 1e-6
    assert (
        row[2] < -1 and abs(row[0]) < 1e-3 and near[1] == pytest.approx(-1)
    )  # upwards is up; away from the eye
    _, row, near = seen("top", across, upward)
    assert near[1] == pytest.approx(1) and row[0] < -1
    assert seen("right", along)[2][0] == pytest.approx(1) and seen("back", across)[2][0] == pytest.approx(1)
    eye = middle + 2 * along + 3 * upward
    _, row, near = seen({"eye": eye}, eye - middle, upward)
    assert near[0] == pytest.approx(np.linalg.norm(eye - middle)) and row[1] < -1
    # Nothing is outside the picture, and zoom enlarges.
    for camera in ("iso", "top", (30, -20), {"spin": 90}, lambda t: (10 * t, 30)):
        view = check_camera(camera, scene)(0.7)
        made = Camera(low, high, scene.gravity, (0, 0, 200, 100), view)
        corners = low + (high - low) * ((np.arange(8)[:, None] >> np.arange(3)) & 1)
        column, row, _ = made.project(corners)
        assert column.min() > -0.01 and column.max() < 200.01 and row.min() > -0.01 and row.max() < 100.01
    once, twice = (
        Camera(low, high, scene.gravity, (0, 0, 9, 9), check_camera({"zoom": z}, scene)(0)).scale
        for z in (1, 2)
    )
    assert twice == pytest.approx(2 * once)


def test_a_camera_moves_in_a_movie_and_keeps_its_scale(tmp_path):
    sim = three(3)
    options = {"size": (96, 64), "camera": {"azimuth": 10, "elevation": 30, "spin": 360}}
    sim.movie(tmp_path / "live", duration=0.01, fps=200, **options)
    from PIL import Image

    first, second = (np.asarray(Image.open(tmp_path / "live" / f"frame_000{k}.png")) for k in (0, 2))
    assert not np.array_equal(first, second)
    renderer = viz.Renderer(sim, **options)
    assert np.array_equal(renderer.frame(sim), second)
    angle = 10 + 360 * sim.time
    assert renderer.camera.rows[2, 0] > 0 and renderer._view(sim.time).azimuth == pytest.approx(angle)
    scales = {
        viz.Renderer(sim, size=(96, 64), camera=lambda t, a=a: (a, 30)).camera.scale for a in (0, 30, 45)
    }
    assert len(scales) == 1  # of all azimuths


@dims
def test_a_camera_shows_a_part_of_a_scene(dim):
    sim = three(dim)
    target = [0.75, 0.6, 0.6][:dim]
    camera = {"target": target, "zoom": 3}
    renderer = viz.Renderer(sim, size=(96, 64), annotate=False, camera=camera)
    column, row, _ = renderer.camera.project(np.array([target]))
    assert column[0] == pytest.approx(96, abs=0.01) and row[0] == pytest.approx(64, abs=0.01)  # fine pixels
    axes = sim.plot(camera=camera).particles.axes
    if dim == 2:
        assert np.mean(axes.get_xlim()) == pytest.approx(0.75) and np.ptp(axes.get_xlim()) == pytest.approx(
            1.06 / 3
        )
    with pytest.raises((ValueError, TypeError), match=r"camera"):
        sim.plot(camera="front" if dim == 2 else "frunt")


@dims
def test_grains_of_sand_differ_and_keep_their_tints(dim):
    """But not in a colour that was chosen, and not on a surface."""
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0, -9.81, 0][:dim])
    scene.add(
        shapes.Box([0.25] * dim, [0.75] * dim), materials.Sand(E=1e5, nu=0.3, density=1600), name="sand"
    )
    sim = mpm.Simulation(scene, dx=0.125, threads=1)

    def inks(color=None, **options):
        style = Style.checked(sim, color=color)
        state = sim._state(tuple({*style.fields, "volume", "id"}))
        return style.table[style.shown(state, **options)][np.argsort(state.fields["id"])].astype(int)

    before = inks()
    share = before.mean(axis=0) / OWN["Sand"]
    assert len(np.unique(before, axis=0)) == 8 and np.abs(share - 1).max() < 0.05  # measured 0.02
    assert abs(np.corrcoef(before[:-1, 0], before[1:, 0])[0, 1]) < 0.15  # neighbours in a row are independent
    sim.step(5)
    assert (inks() == before).all()
    for plain in (inks({"sand": "red"}), inks({"Sand": "red"}), inks("red")):
        assert (plain == RED).all()
    assert (inks(grains=False) == OWN["Sand"]).all()


# --- light -------------------------------------------------------------------------------------------------------


def lit(x, spacing, size=(160, 120), camera="top", radius=None):
    """Light on white discs at x in the unit cube, and the camera."""
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
    view = check_camera(camera, scene)(0.0)
    made = Camera(scene.lower, scene.upper, scene.gravity, (0, 0, *(2 * edge for edge in size)), view)
    relief = Relief(made, scene, size, 2)
    column, row, near = made.project(x)
    near = near * np.float32(made.scale)
    found = viz.discs.draw(
        column, row, near, radius=0.75 * spacing * made.scale, size=(2 * size[0], 2 * size[1]), fine=2
    )
    depth, cover = relief.empty()
    found.depths(near, 2, depth, cover)
    image = np.full((size[1], size[0], 3), 200, np.uint8)
    relief.shade(image, depth, cover, x, spacing)
    return image[..., 0] / 200, depth, cover


def test_water_reflects_and_snow_does_not():
    """A highlight of the sun, and the sky at grazing angles; a quantity has the colours of its scale."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(20_000, 3))
    x = (0.5 + 0.3 * x / np.linalg.norm(x, axis=1)[:, None]).astype(np.float32)
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
    view = Camera(scene.lower, scene.upper, scene.gravity, (0, 0, 320, 240), check_camera(None, scene)(0.0))
    relief = Relief(view, scene, (160, 120), 2)
    column, row, near = view.project(x)
    near = near * np.float32(view.scale)
    found = viz.discs.draw(column, row, near, radius=5.0, size=(320, 240), fine=2)
    images = []
    for gloss in (0.0, 1.0, None):
        depth, cover = relief.empty()
        found.depths(near, 2, depth, cover)
        images.append(np.full((120, 160, 3), 60, np.uint8))
        given = None if gloss is None else np.full((120, 160), gloss, np.float32)
        relief.shade(images[-1], depth, cover, x, 0.01, gloss=given)
    matt, glossy, plain = (image[..., 0].astype(int) for image in images)
    assert (matt == plain).all() and matt.max() < 90
    on_it = cover > 0.99
    more = (glossy - matt)[on_it]
    assert (glossy == matt)[cover == 0].all()  # the ground
    assert more.max() > 140 and (more > 60).mean() < 0.15 and np.median(more) < 20  # bright in few places
    gloss = {
        kind: Style.checked(mpm.gallery.get(name).simulation(scale=0.25)).gloss(np.array([0, -1]))
        for kind, name in (("water", "dam-break"), ("snow", "snowball"), ("jelly", "jelly-stack"))
    }
    assert gloss["water"].tolist() == [1, 0] and gloss["snow"] is None and 0 < gloss["jelly"][0] < 1
    by_speed = Style.checked(mpm.gallery.get("dam-break").simulation(scale=0.25), color="speed")
    assert by_speed.gloss(np.zeros(2, int)) is None


def test_a_plane_of_discs_is_lit_evenly():
    """The lattice does not show: the middle of a face has one brightness, though its discs bulge."""
    light, _, cover = lit(lattice((0.1, 0.1, 0), (0.9, 0.9, 0.3), 0.03), 0.03, camera=(-56, 50))
    middle = light[60:80, 65:95]
    assert cover[60:80, 65:95].min() == 1 and middle.std() < 0.005  # measured 0; without smoothing 0.030


def test_material_shades_the_ground_and_itself():
    floating = lattice((0.4, 0.4, 0.5), (0.6, 0.6, 0.6), 0.02)
    light, _, cover = lit(floating, 0.02)
    ground = cover == 0
    assert light[ground].min() < 0.75 and np.median(light[ground]) == 1  # a shadow; elsewhere as it was
    plate = lattice((0.0, 0.0, 0.0), (1.0, 1.0, 0.1), 0.02)
    open_plate, _, _ = lit(plate, 0.02)
    shaded, depth, _ = lit(np.concatenate([plate, floating]), 0.02)
    low = depth < np.percentile(depth[np.isfinite(depth)], 50)
    assert (shaded[low] / open_plate[low]).min() < 0.75 and np.median(shaded[low] / open_plate[low]) > 0.95


def test_a_corner_is_darker_than_its_sides():
    """Ambient occlusion: two walls close a part of each other's sky."""
    step = lattice((0.2, 0.2, 0.0), (0.8, 0.8, 0.1), 0.02)
    block = lattice((0.2, 0.6, 0.1), (0.8, 0.8, 0.5), 0.02)  # north, away from the sun's side
    alone, _, _ = lit(step, 0.02, camera=(-90, 45))
    both, _, cover = lit(np.concatenate([step, block]), 0.02, camera=(-90, 45))
    _, _, below = lit(step, 0.02, camera=(-90, 45))
    share = (both / alone)[(below == 1) & (cover == 1)]
    assert share.min() < 0.9 and np.percentile(share, 60) > 0.97


def test_light_does_not_depend_on_threads():
    rng = np.random.default_rng(5)
    depth = rng.uniform(0, 20, (60, 90)).astype(np.float32)
    cover = (rng.uniform(size=depth.shape) < 0.7).astype(np.float32)
    ground = np.full_like(depth, -3)
    sun = rng.uniform(-10, 20, (50, 40)).astype(np.float32)
    light = np.array([3, 2, 8, 1, 0.3, -0.5, 0.8, 0, -1, 0, *[0.5] * 6, *[0.4] * 3, 0.4, 0, 0, 0, 0, 0.7, 0, 0,
                      0, 0, 0.9, 0, 1, 3, 0.2, 0.8, 45, 30, 0.01], np.float32)  # fmt: skip
    images = []
    for threads in (1, 2, 5):
        images.append(np.full((*depth.shape, 3), 180, np.uint8))
        _core.shade_relief(images[-1], depth, cover, ground, sun, light, threads)
    assert np.array_equal(images[0], images[1]) and np.array_equal(images[0], images[2])
    assert len(np.unique(images[0])) > 30


BAD_LIGHT = [
    ({"image": np.zeros((4, 5, 4), np.uint8)}, "image: expected (height, width, 3)"),
    ({"depth": np.zeros((4, 4), np.float32)}, "depth, cover, ground, gloss: expected the height and width"),
    ({"ground": np.zeros((3, 5), np.float32)}, "depth, cover, ground, gloss: expected the height and width"),
    ({"gloss": np.zeros((4, 4), np.float32)}, "depth, cover, ground, gloss: expected the height and width"),
    ({"light": np.ones(37, np.float32)}, "light: expected 38 numbers"),
    ({"light": np.full(38, np.nan, np.float32)}, "light: expected finite numbers"),
    ({"light": np.full(38, 25, np.float32)}, "light: expected a spread up to 24"),
    ({"light": np.zeros(38, np.float32)}, "light: expected a spread up to 24"),
    ({"threads": 0}, "threads: expected 1 to 1024, got 0"),
]


def test_the_core_refuses_bad_light():
    image, field = np.zeros((4, 5, 3), np.uint8), np.zeros((4, 5), np.float32)
    good = {"image": image, "depth": field, "cover": field, "ground": None, "sunlit": np.zeros((2, 2), np.float32),
            "light": np.ones(38, np.float32), "threads": 1}  # fmt: skip
    _core.shade_relief(*good.values())
    for change, message in BAD_LIGHT:
        with pytest.raises(ValueError) as error:
            _core.shade_relief(*{**good, **change}.values())
        assert message in str(error.value)
    f, seen = np.zeros(3, np.float32), np.zeros((6, 8), np.int32)
    depths = {"column": f, "row": f, "near": f, "radius": 1.0, "window": (0, 0, 8, 6), "seen": seen, "fine": 2,
              "depth": np.zeros((4, 5), np.float32), "cover": np.zeros((4, 5), np.float32)}  # fmt: skip
    _core.relief_depths(*depths.values())
    for change, message in (
        ({"near": f[:2]}, "near: expected as many"),
        ({"seen": seen[:5]}, "seen: expected the shape of the window"),
        ({"cover": np.zeros((4, 4), np.float32)}, "cover: expected the shape of depth"),
        ({"window": (4, 0, 8, 6)}, "depth: expected (height, width) with the window in it"),
        ({"fine": 3}, "fine: expected 1 to 8"),
    ):
        with pytest.raises(ValueError) as error:
            _core.relief_depths(*{**depths, **change}.values())
        assert message in str(error.value)


def test_every_picture_has_the_same_options(tmp_path):
    """The signatures name them, although one type and one table write them; an unknown one is refused."""
    sim = three(2)
    with sim.record(tmp_path / "a.vtkhdf", fps=10):
        sim.step()
    with mpm.replay(tmp_path / "a.vtkhdf") as replay:
        calls = [
            (sim.plot, ()), (replay[0].plot, ()), (replay.plot, (0,)), (viz.plot, (sim,)), (viz.Renderer, (sim,)),
            (sim.movie, (tmp_path / "a.gif",)), (replay.movie, (tmp_path / "a.gif",)),
            (viz.movie, (sim, tmp_path / "a.gif")), (mpm.compare_plot, ([sim],)),
        ]  # fmt: skip
        for call, given in calls:
            parameters = inspect.signature(call).parameters
            for name, default in DEFAULTS.items():
                assert parameters[name].default == default and name in PictureOptions.__annotations__, call
            assert all(one.kind is not one.VAR_KEYWORD for one in parameters.values()), call
            with pytest.raises(TypeError, match="no option 'colr'; did you mean 'color'"):
                call(*given, colr="red")


def test_snow_in_a_plane_is_seen():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.2), mpm.materials.Snow(), name="ball")
    sim = mpm.Simulation(scene, dx=1 / 16)

    def plane(**options):
        renderer = viz.Renderer(sim, size=(96, 96), annotate=False, **options)
        return tuple(renderer.background[20, 20].tolist())

    white = (255, 255, 255)
    dusk = plane()
    assert max(dusk) < 200 and plane(color={"ball": "ivory"}) == dusk
    assert plane(color="speed") == plane(color="navy") == white and plane(background="#102030") == (
        16,
        32,
        48,
    )
    patch = sim.plot().figure.axes[0].patches[0]
    assert np.allclose(patch.get_facecolor()[:3], np.array(dusk) / 255)
