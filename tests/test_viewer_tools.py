"""What the viewer's page is for beside playing, in a headless Chromium: particles, views, clipping, comparisons; and a
first use from the choice of a scene to a comparison.

Run by ``make browser``. One page serves many checks. Pictures are left in ``out/screens``.
"""

import io

import numpy as np
import pytest

import mpm
from test_viewer_page import opened  # noqa: F401

pytestmark = [pytest.mark.browser, pytest.mark.source]


def pixels(page):
    """The picture on the screen, (height, width, 3), without axes and the plane of a cut over it."""
    from PIL import Image

    page.until(lambda: True, "")
    over = page.viewer.locator(".mpm-over")
    over.evaluate("element => { element.style.visibility = 'hidden'; }")
    page.page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    data = page.viewer.locator(".mpm-picture").screenshot()
    over.evaluate("element => { element.style.visibility = ''; }")
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def changed(a, b):
    return int((np.abs(a - b).max(axis=2) > 8).sum())


def point_at(page, place):
    """Move the pointer to a place of the domain [m], in 2-D seen as at first."""
    canvas = page.viewer.locator(".mpm-picture").bounding_box()
    scene = page.session._source.now.scene
    extent = scene.upper - scene.lower
    scale = 0.93 * min(canvas["width"] / extent[0], canvas["height"] / extent[1])
    from_middle = scale * (np.asarray(place) - (scene.lower + scene.upper) / 2)
    x = canvas["x"] + canvas["width"] / 2 + from_middle[0]
    y = canvas["y"] + canvas["height"] / 2 - from_middle[1]
    page.page.mouse.move(x, y)
    return x, y


def told(page):
    card = page.viewer.locator(".mpm-card")
    terms, texts = card.locator("dt").all_text_contents(), card.locator("dd").all_text_contents()
    return dict(zip(terms, texts, strict=True)) if card.is_visible() else {}


def test_particles(opened):  # noqa: F811
    page = opened(mpm.gallery.get("jelly").simulation(scale=0.5))
    sim = page.session.simulation
    row = len(sim.particles) // 2
    seen = lambda: point_at(page, sim.particles.x[row]) and told(page).get("row")  # noqa: E731
    page.until(
        lambda: seen() == str(row), f"the particle under the pointer is told, not {seen()}, {told(page)}"
    )
    assert told(page)["body"] in {body.name for body in sim.scene.bodies} and "speed [m/s]" in told(page)
    page.keep("hover")
    page.page.mouse.click(*point_at(page, sim.particles.x[row]))
    page.until(lambda: "pressure [Pa]" in told(page), "a click tells more")
    point_at(page, (scene := sim.scene).lower + 0.98 * (scene.upper - scene.lower))
    page.viewer.get_by_role("button", name="Step").click()
    page.until(lambda: sim.steps == 1 and "step 1 " in page.shown(), "a step is taken")
    page.until(lambda: float(told(page)["speed [m/s]"]) > 0, "the values are of now")
    assert told(page)["row"] == str(row)
    page.keep("pinned")
    page.page.keyboard.press("Escape")
    page.until(lambda: not told(page), "it is released")


def test_views_and_clipping(opened):  # noqa: F811
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add(
        mpm.shapes.Box((0.2, 0.4, 0.1), (0.8, 0.6, 0.5)),
        mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000),
    )
    sim = mpm.Simulation(scene, dx=1 / 16, sampling="lattice")
    page = opened(sim)
    select = lambda name, value: page.viewer.get_by_label(name, exact=True).select_option(value)  # noqa: E731

    def size():
        """Width and height of what is drawn, in metres, from the particles' colour."""
        seen = pixels(page)
        seen[:, int(0.85 * seen.shape[1]) :] = 0  # the colour scale
        seen[:9] = seen[-9:] = seen[:, :9] = 0  # the frame of the focus
        colourful = (seen.max(axis=2) - seen.min(axis=2)) > 60
        rows, columns = np.flatnonzero(colourful.any(axis=1)), np.flatnonzero(colourful.any(axis=0))
        metre = 0.93 * min(seen.shape[:2]) / (0.92 * np.sqrt(3))
        return np.array([np.ptp(columns), np.ptp(rows)]) / metre

    for view, expected in (("front", (0.6, 0.4)), ("right", (0.2, 0.4)), ("top", (0.6, 0.2))):
        select("View", view)
        np.testing.assert_allclose(size(), expected, atol=0.05)
    page.viewer.locator(".mpm-picture").focus()  # lists keep the keys to themselves
    page.page.keyboard.press("y")
    assert page.viewer.get_by_label("View", exact=True).input_value() == "front"
    parallel = size()
    page.viewer.get_by_label("Perspective").check()
    # The front face is 0.1 m before the middle, and the eye where the domain spans 35 degrees.
    np.testing.assert_allclose(
        size() / parallel, 1 / (1 - 0.1 * 2 * np.sin(np.radians(17.5)) / np.sqrt(3)), atol=0.012
    )
    page.keep("perspective")
    # The pointer finds what it points at: a particle of the front face, far from the middle.
    row = int(np.argmax(sim.particles.x @ (1, -10, 1)))
    at, box = sim.particles.x[row] - 0.5, page.viewer.locator(".mpm-picture").bounding_box()
    metre = 0.93 * min(box["width"], box["height"]) / (0.92 * np.sqrt(3))
    metre /= 1 + at[1] * 2 * np.sin(np.radians(17.5)) / np.sqrt(3)
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.page.mouse.move(middle[0] + metre * at[0], middle[1] - metre * at[2])
    page.until(lambda: told(page).get("row") == str(row), f"row {row} is told, not {told(page)}")
    page.page.mouse.move(middle[0], box["y"] + 3)
    page.until(lambda: not told(page), "nothing is there")
    page.viewer.get_by_label("Perspective").uncheck()
    select("Hide", "above x")
    np.testing.assert_allclose(size(), (0.3, 0.4), atol=0.05)
    page.viewer.get_by_label("Plane").fill("30")
    np.testing.assert_allclose(size(), (0.1, 0.4), atol=0.05)
    page.keep("clipped")
    select("Hide", "none")
    select("View", "isometric")
    assert size()[0] > 0.5
    page.keep("isometric")
    page.viewer.get_by_role("button", name="Whole").click()
    assert page.viewer.get_by_label("View", exact=True).input_value() == "free"


def test_surfaces_and_colours_of_pictures(opened):  # noqa: F811
    pytest.importorskip("pysplashsurf")
    sim = mpm.gallery.get("snow-wedge-3d").simulation(scale=0.25)
    page = opened(sim)
    by_speed = pixels(page)
    colour = page.viewer.get_by_label("Colour", exact=True)
    colour.select_option("as pictures")
    page.page.locator(".mpm-scale").wait_for(state="hidden")
    white = pixels(page)
    assert changed(by_speed, white) > 5000
    snow = (white.max(axis=2) - white.min(axis=2) < 16) & (white.min(axis=2) > 130) & (by_speed[..., 2] < 180)
    assert snow.sum() > 5000  # indigo before, white now
    page.viewer.get_by_label("Surface").check()
    page.until(lambda: page.session._surface, "the session knows")
    smooth = pixels(page)
    page.keep("surface")
    # The same body, without the dark rims of discs.
    assert changed(white, smooth) > 1000
    rough = [
        np.abs(np.diff(seen.sum(axis=2), axis=1))[snow[:, 1:] & snow[:, :-1]].mean()
        for seen in (white, smooth)
    ]
    assert rough[1] < 0.5 * rough[0], rough
    page.viewer.get_by_role("button", name="Step").click()
    page.until(lambda: sim.steps == 1 and "step 1 " in page.shown(), "it goes on")
    colour.select_option("speed [m/s]")
    page.page.locator(".mpm-scale").wait_for(state="visible")


def test_a_movie_of_what_is_seen(opened, tmp_path):  # noqa: F811
    page = opened(mpm.gallery.get("jelly").simulation(scale=0.5))
    button = page.viewer.get_by_role("button", name="Movie")
    button.click()
    for _ in range(5):
        page.viewer.get_by_role("button", name="Step").click()
        page.until(lambda: True, "")
        page.page.wait_for_timeout(100)
    with page.page.expect_download() as found:
        page.viewer.get_by_role("button", name="End movie").click()
    found.value.save_as(tmp_path / "movie.webm")
    data = (tmp_path / "movie.webm").read_bytes()
    assert data[:4] == b"\x1a\x45\xdf\xa3" and len(data) > 5000  # the mark of WebM
    page.until(lambda: button.text_content() == "Movie", "another movie may begin")


def with_a_moving_collider(dim):
    """Only the collider moves, sideways."""
    low, high = [0.1] * dim, [0.3] * dim
    scene = mpm.Scene([0] * dim, [1] * dim)
    scene.add(mpm.shapes.Box(low, high), mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000))
    moves = mpm.motion.Linear([1.0] + [0.0] * (dim - 1))
    scene.add_collider(mpm.shapes.Box([0.4] * dim, [0.6] * dim), motion=moves, name="pushed")
    return mpm.Simulation(scene, dx=1 / 16, dt=1e-3, sampling="lattice")


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("replayed", [False, True])
def test_colliders_are_solid_and_move(opened, dim, replayed, tmp_path):  # noqa: F811
    sim = with_a_moving_collider(dim)
    if replayed:
        with sim.record(tmp_path / "run.vtkhdf", fps=1000):
            sim.run(0.2)
    page = opened(mpm.replay(tmp_path / "run.vtkhdf") if replayed else sim, width=1000)
    if dim == 3:
        page.viewer.get_by_label("View", exact=True).select_option("front")
    first = pixels(page)
    metre = 0.93 * min(first.shape[:2]) / (1 if dim == 2 else 0.92 * np.sqrt(3))

    def grey(picture):
        """How far right of the middle [m] the middle of the grey area is, and its width [m]."""
        middle, band, edge = (
            picture.shape[0] // 2,
            int(0.08 * metre),
            int(picture.shape[1] / 2 - 0.45 * metre),
        )
        part = picture[middle - band : middle + band, edge:-edge]
        there = (np.abs(part - first[middle, 20]).max(axis=2) > 12) & (np.ptp(part, axis=2) < 30)
        columns = np.flatnonzero(there.mean(axis=0) > 0.7)
        return columns.mean() / metre - 0.45, np.ptp(columns) / metre

    assert grey(first) == pytest.approx((0, 0.2), abs=0.02)
    if replayed:
        page.part("timeline").fill("199")
    else:
        sim.run(0.199)
        page.viewer.get_by_role("button", name="Step").click()
    page.until(lambda: "t = 0.2 s" in page.shown() or "t = 0.199 s" in page.shown(), "it has moved")
    assert grey(pixels(page)) == pytest.approx((0.2, 0.2), abs=0.02)
    page.keep(f"collider_{dim}_{'replay' if replayed else 'live'}")


def test_colliders_let_what_is_behind_shine_through(opened):  # noqa: F811
    looks = []
    for there in (False, True):
        scene = mpm.Scene((0, 0, 0), (1, 1, 1))
        scene.add(
            mpm.shapes.Box((0.3, 0.6, 0.3), (0.7, 0.8, 0.7)),
            mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000),
        )
        if there:
            scene.add_collider(mpm.shapes.Box((0.1, 0.1, 0.1), (0.9, 0.3, 0.9)))
        page = opened(mpm.Simulation(scene, dx=1 / 16, sampling="lattice"), width=1000)
        for view in ("front", "back"):
            page.viewer.get_by_label("View", exact=True).select_option(view)
            seen = pixels(page)
            metre = 0.93 * min(seen.shape[:2]) / (0.92 * np.sqrt(3))
            row, column = (
                int(side / 2 + metre / 64) for side in seen.shape[:2]
            )  # between particles are gaps
            looks.append([seen[row, column + int(at * metre)] for at in (0.0, 0.3, 0.45)])
        page.viewer.get_by_label("View", exact=True).select_option("free")
    page.viewer.get_by_role("button", name="Whole").click()
    page.keep("veil")
    # Particles, the space beside them, and outside the collider.
    (body, empty, _), _, (veiled, surface, outside), (before, _, _) = np.array(looks)
    assert (outside == empty).all() and (before == body).all()  # the particles are in front there
    assert np.abs(surface - empty).max() > 20 and np.abs(veiled - body).max() > 20
    assert np.abs(veiled - surface).max() > 20  # what is behind is seen
    page.viewer.get_by_label("Hide", exact=True).select_option("below y")
    page.viewer.get_by_label("Plane").fill("50")
    page.viewer.get_by_label("View", exact=True).select_option("front")
    seen = pixels(page)
    assert (seen[row, column] == body).all()  # the collider is cut away


def test_ground_is_opaque_and_joints_are_marked(opened):  # noqa: F811
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
    stone = mpm.materials.Rigid(density=1000)
    hinge = mpm.joints.Hinge((0.5, 0.5, 0.8), axis=(0, 1, 0))
    scene.add(mpm.shapes.Box((0.35, 0.4, 0.7), (0.65, 0.6, 0.9)), stone, joint=hinge, name="wing")
    scene.add_collider(mpm.shapes.HalfSpace((0, 0, 0.5), (0, 0, 1)), name="ground")
    scene.add_collider(mpm.shapes.Box((0.2, 0.6, 0.1), (0.8, 0.8, 0.3)), name="buried")
    page = opened(mpm.Simulation(scene, dx=1 / 16, threads=1), width=1000)

    def look(view="front"):
        page.viewer.get_by_label("View", exact=True).select_option(view)
        seen = pixels(page)
        metre = 0.93 * min(seen.shape[:2]) / (0.92 * np.sqrt(3))
        row, column = (side // 2 for side in seen.shape[:2])
        return lambda x, z: seen[row - int((z - 0.5) * metre), column + int((x - 0.5) * metre)]

    at = look()
    assert (at(0.5, 0.2) == at(0.1, 0.4)).all() and np.ptp(at(0.5, 0.2)) < 40  # nothing shines through
    assert np.abs(at(0.5, 0.2) - at(0.9, 0.8)).max() > 40
    back = look("back")
    assert (back(0.5, 0.2) == back(0.1, 0.4)).all()
    ring = [at(0.5 + 0.024 * np.cos(turn), 0.8 + 0.024 * np.sin(turn)) for turn in np.linspace(0, 6.3, 200)]
    assert np.min(np.array(ring).max(axis=1)) < 60 < at(0.4, 0.85).max()
    page.viewer.get_by_label("Hide", exact=True).select_option("below y")
    page.viewer.get_by_label("Plane").fill("20")
    cut = look()
    assert np.abs(cut(0.1, 0.2) - at(0.1, 0.2)).max() > 10  # the section is darker
    assert (cut(0.1, 0.2) == cut(0.9, 0.4)).all() and np.abs(cut(0.1, 0.2) - at(0.9, 0.8)).max() > 40
    page.viewer.get_by_label("View", exact=True).select_option("free")
    page.keep("ground")


def test_values_of_a_parameter_side_by_side(opened):  # noqa: F811
    """Figure 3 of a paper: one parameter, three values, the same moment and the same colours."""
    page = opened(mpm.gallery.get("jelly").simulation(scale=0.5), width=1600)
    sim = page.session.simulation
    page.control("span").fill("0.05")
    page.control("span").press("Enter")
    page.viewer.get_by_label("Parameter").select_option("material 1 E")
    for k, value in enumerate(("1e4", "1e5", "1e6"), start=1):
        page.viewer.get_by_label(f"Value {k}").fill(value)
    page.viewer.get_by_role("button", name="Compare", exact=True).click()
    names = page.viewer.locator(".mpm-runs span")
    page.until(lambda: names.count() == 3, "three runs are shown")
    assert names.all_text_contents() == ["E = 10000 Pa", "E = 100000 Pa", "E = 1e+06 Pa"]
    for width, least, most in ((500, 1.4, 2.5), (1600, 0.3, 0.6)):  # below one another, beside one another
        page.page.set_viewport_size({"width": width, "height": 1000})

        def shape():
            box = page.viewer.locator(".mpm-picture").bounding_box()
            return box["height"] / box["width"]

        page.until(lambda least=least, most=most, of=shape: least < of() < most, f"runs fill {width} pixels")
    page.viewer.get_by_role("button", name="Play").click()
    page.until(lambda: page.session._compared.runs[0].time > 0.25, "they play")
    page.viewer.get_by_role("button", name="Pause").click()
    page.until(lambda: not page.session.playing, "they pause")
    runs = page.session._compared.runs
    assert [run.materials[1].E for run in runs] == [1e4, 1e5, 1e6] and sim.steps == 0
    assert all(0 <= run.time - runs[0].time < run.dt * 1.01 for run in runs)
    seen = pixels(page)
    third = seen.shape[1] // 3
    bodies = [np.ptp(seen[20:-20, k * third + 20 : (k + 1) * third - 20], axis=2) > 40 for k in range(3)]
    bodies[2][:200, -150:] = False  # the colour scale
    rows = [np.flatnonzero(body.any(axis=1)) for body in bodies]
    assert all(np.ptp(found) > 30 for found in rows)  # each has bodies
    heights = [int(body.sum()) for body in bodies]
    assert len(set(heights)) == 3
    page.keep("compared")
    assert page.part("legend").text_content().startswith("E = 10000 Pa")
    page.viewer.get_by_role("button", name="Reset").click()
    page.until(
        lambda: page.session._compared.runs[0].steps == 0 and "step 0 " in page.shown(), "they begin anew"
    )
    page.viewer.get_by_label("Value 4").fill("-1")
    page.viewer.get_by_role("button", name="Compare", exact=True).click()
    alert = page.viewer.get_by_role("alert")
    page.until(lambda: "must be > 0" in (alert.text_content() or ""), "what is not allowed is said")
    page.viewer.get_by_label("Parameter").select_option("transfer")
    page.viewer.get_by_role("button", name="Compare", exact=True).click()
    page.until(lambda: names.all_text_contents()[:1] == ["transfer = pic"], "words are compared, too")
    page.keep("compared_words")
    page.viewer.get_by_role("button", name="End", exact=True).click()
    page.until(lambda: names.count() == 0 and page.session._compared is None, "the simulation is back")


def test_a_first_use(opened, tmp_path):  # noqa: F811
    """One page, from the choice of a scene to a comparison, with settings that every part must keep."""
    jelly = mpm.gallery.get("jelly").simulation(scale=0.5)
    page = opened(jelly, gallery=mpm.gallery, scene="jelly", folder=tmp_path)
    session = page.session
    press = lambda name: page.viewer.get_by_role("button", name=name, exact=True).click()  # noqa: E731

    def rests():
        press("Pause")
        page.until(lambda: not session.playing, "it pauses")

    # Scene, shape, position, size, velocity, resolution and snow.
    page.viewer.get_by_label("Scene", exact=True).select_option("snowball")
    page.until(lambda: page.control("material 0 hardening").count(), "the settings are those of snow")
    page.control("body 0 shape").select_option("star")
    given = {
        "body 0 x": 0.4,
        "body 0 y": 0.55,
        "body 0 size": 0.4,
        "body 0 vx": 1.5,
        "body 0 vy": -4,
        "dx": 0.02,
    }
    given |= {"material 0 E": 2e5, "material 0 hardening": 8, "material 0 critical_compression": 0.02}
    for key, value in given.items():
        page.control(key).fill(str(value))
        page.control(key).press("Enter")
    press("Reset")
    page.until(lambda: getattr(session.simulation, "dx", 0) == 0.02, "it is made anew")
    sim = session.simulation
    shown = {setting.key: setting.value for setting in sim._settings()}
    assert {key: shown[key] for key in given} == pytest.approx(given, rel=1e-14)
    assert shown["body 0 shape"] == "star" and not page.viewer.locator(".mpm-changed").count()
    page.keep("first_set")

    # Play, pause, step, velocities.
    press("Play")
    page.until(lambda: sim.steps >= 30, "it plays")
    rests()
    steps = sim.steps
    press("Step")
    page.until(lambda: sim.steps > steps and f"step {sim.steps} " in page.shown(), "a step is taken")
    assert sim.steps == steps + 1
    plain = pixels(page)
    for label in ("Particle velocities", "Grid velocities"):
        page.viewer.get_by_label(label).check()
        page.until(lambda: changed(plain, pixels(page)) > 300, f"{label} are drawn")  # noqa: B023
        plain = pixels(page)
    page.keep("first_velocities")

    # Record, load, play.
    page.part("path").fill("snow.geo")
    page.part("fps").fill("400")
    press("Record")
    press("Play")
    page.until(lambda: len(list(tmp_path.glob("*.geo"))) > 8, "frames are written")
    rests()
    press("Stop")
    page.until(lambda: "Saved snow.geo" in page.part("recorded").text_content(), "the recording ends")
    steps = sim.steps
    press("Load")
    page.until(
        lambda: session.replay is not None and page.part("frame").input_value() == "1",
        "it is loaded",
    )
    assert len(session.replay) == len(list(tmp_path.glob("*.geo"))) > 8
    first = pixels(page)
    press("Play")
    page.until(lambda: session._recorded.at_end and not session.playing, "it plays to its end")
    assert changed(first, pixels(page)) > 500
    page.keep("first_replay")
    press("Simulation")
    page.until(lambda: session.replay is None and f"step {steps} " in page.shown(), "the simulation is back")
    assert sim is session.simulation

    # Compare.
    page.control("span").fill("0.05")
    page.control("span").press("Enter")
    page.viewer.get_by_label("Parameter").select_option("material 0 hardening")
    for k, value in enumerate((1, 8, 20), start=1):
        page.viewer.get_by_label(f"Value {k}").fill(str(value))
    press("Compare")
    names = page.viewer.locator(".mpm-runs span")
    page.until(lambda: names.count() == 3, "three runs are shown")
    assert names.all_text_contents() == ["hardening = 1", "hardening = 8", "hardening = 20"]
    press("Play")
    page.until(lambda: session._compared.runs[0].time > 0.1, "they play")
    rests()
    runs = session._compared.runs
    assert [run.materials[0].hardening for run in runs] == [1, 8, 20]
    assert {(run.dx, *run.scene.bodies[0].velocity.tolist()) for run in runs} == {(0.02, 1.5, -4.0)}
    assert len({run.totals().kinetic for run in runs}) == 3
    page.keep("first_compared")
