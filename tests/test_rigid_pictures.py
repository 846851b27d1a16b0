"""Rigid bodies in pictures: their own shapes in place of their particles."""

import numpy as np
import pytest

import mpm
from mpm import shapes, viz
from mpm.viz import jointmarks, solids
from viewers import Browser

STONE = mpm.materials.Rigid(density=1000)


def turned(dim, shape=None, **scene):
    """A free body that has turned by a third of a radian about z."""
    scene = mpm.Scene((0,) * dim, (1,) * dim, **scene)
    spin = 1.0 if dim == 2 else (0, 0, 1.0)
    scene.add(
        shape or shapes.Box((0.3,) * dim, (0.7, 0.6, 0.6)[:dim]), STONE, angular_velocity=spin, name="box"
    )
    sim = mpm.Simulation(scene, dx=0.1, threads=1)
    sim.run(1 / 3)
    return sim


def silhouette(sim, **options):
    """The area [m^2] that a picture of 480 x 480 pixels shows beside its background."""
    renderer = viz.Renderer(sim, size=(480, 480), annotate=False, background="white", **options)
    stand, image = renderer.camera, renderer.frame(sim).astype(int)
    changed = np.abs(image - renderer.background).sum(axis=2)
    most = changed[200:280, 200:280].max()
    return np.minimum(changed / most, 1).sum() * (2 / stand.scale) ** 2, image


def test_a_flat_body_is_drawn_as_its_shape():
    sim = turned(2)
    area, image = silhouette(sim, color="black")
    assert area == pytest.approx(0.4 * 0.3, rel=3e-3)  # measured 2e-5; discs of its particles cover 8 % more
    centre = np.array([0.5, 0.45])
    c, s = np.cos(1 / 3), np.sin(1 / 3)
    camera = viz.Renderer(sim, size=(480, 480), annotate=False).camera
    for x, y in ((-0.19, -0.14), (0.19, -0.14), (0.19, 0.14), (-0.19, 0.14)):  # 0.01 from the corners
        for factor, inside in ((1, True), (1.13, False)):
            place = centre + factor * np.array([c * x - s * y, s * x + c * y])
            column, row, _ = camera.project(place[None])
            assert (image[round(float(row[0]) / 2), round(float(column[0]) / 2)].sum() < 100) == inside


def test_a_ball_in_space_is_round():
    sim = turned(3, shapes.Ball((0.5, 0.5, 0.5), 0.22))
    renderer = viz.Renderer(sim, size=(480, 480), annotate=False, color="red", camera="top")
    red, green, _ = np.moveaxis(renderer.frame(sim).astype(int), 2, 0)
    area = np.count_nonzero(red - green > 40) * (2 / renderer.camera.scale) ** 2
    assert area == pytest.approx(
        np.pi * 0.22**2, rel=0.02
    )  # measured 0.006; discs of its particles cover 7 % more
    with_values = viz.Renderer(sim, color="speed", size=(240, 240), annotate=False)
    inks = np.unique(with_values.frame(sim)[100:140, 100:140].reshape(-1, 3), axis=0)
    assert len(inks) > 50


@pytest.mark.parametrize("dim", [2, 3])
def test_what_hides_particles_hides_bodies(dim):
    sim = turned(dim)
    renderer = viz.Renderer(sim, hide="box", size=(96, 96), annotate=False)
    assert np.array_equal(renderer.frame(sim), renderer.background)


def test_bodies_hide_each_other_and_particles():
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    snow = mpm.materials.Snow()
    scene.add(shapes.Box((0.3, 0.2, 0.3), (0.7, 0.3, 0.7)), snow, name="front")
    scene.add(shapes.Box((0.3, 0.5, 0.3), (0.7, 0.7, 0.7)), STONE, name="stone")
    scene.add(shapes.Box((0.3, 0.8, 0.3), (0.7, 0.9, 0.7)), snow, name="back")
    sim = mpm.Simulation(scene, dx=0.1, threads=1)
    colors = {"front": "red", "stone": "lime", "back": "blue"}
    for camera, hidden, channel in (
        ("front", (), 0),
        ("front", "front", 1),
        ("back", "back", 1),
    ):
        renderer = viz.Renderer(
            sim, color=colors, camera=camera, hide=hidden, size=(120, 120), annotate=False
        )
        part = renderer.frame(sim)[50:70, 50:70].astype(int)
        assert (part.argmax(axis=2) == channel).all()
    cut = viz.Renderer(sim, color=colors, camera="front", cut={"y": 0.6}, size=(120, 120), annotate=False)
    assert (cut.frame(sim)[50:70, 50:70].argmax(axis=2) == 1).all()  # its particles


def test_figures_have_the_outline():
    sim = turned(2, shapes.Ball((0.5, 0.45), 0.3) - shapes.Box((0.4, 0.4), (0.6, 0.5)))
    path = sim.plot().figure.axes[0].patches[2].get_path()
    found = sum(
        0.5 * np.sum(line[:-1, 0] * line[1:, 1] - line[1:, 0] * line[:-1, 1]) for line in path.to_polygons()
    )
    assert abs(found) == pytest.approx(np.pi * 0.3**2 - 0.2 * 0.1, rel=2e-3)  # measured 5e-4
    corners = path.vertices[np.linalg.norm(path.vertices - (0.5, 0.45), axis=1) < 0.15]
    assert np.linalg.norm(corners - (0.5, 0.45), axis=1).max() == pytest.approx(np.hypot(0.1, 0.05), rel=1e-6)
    picture = sim.plot(color="speed")
    assert len(picture.particles.get_offsets()) == 0 and picture.colorbar is not None


def test_a_body_on_both_sides_of_a_periodic_face_is_drawn_as_particles():
    scene = mpm.Scene((0, 0), (1, 1), walls={"x-": "periodic", "x+": "periodic"})
    scene.add(shapes.Box((0.7, 0.3), (0.95, 0.6)), STONE, velocity=(1, 0), name="box")
    sim = mpm.Simulation(scene, dx=0.1, threads=1)
    assert len(sim._solids()) == 1
    sim.run(0.15)
    assert sim._solids() == []
    sim.run(0.3)
    (solid,) = sim._solids()
    assert solid.position[0] == pytest.approx(0.825 + 0.45 - 1)


def test_values_are_those_of_the_nearest_particles():
    sim = turned(3)
    (solid,) = sim._solids()
    x, ids = np.array(sim.particles.x), np.array(sim.particles.id)
    skin = solids.Skins().of(solid, ids, x, values=True)
    middles = skin.corners.reshape(-1, 3, 3).mean(axis=1)[::50]
    apart = np.linalg.norm(middles[:, None] - solid.at_rest(x), axis=2)
    own = apart[np.arange(len(middles)), skin.nearest[::3][::50]]
    assert np.allclose(own, apart.min(axis=1), atol=1e-12)


@pytest.mark.parametrize("dim", [2, 3])
def test_the_viewer_gets_the_shapes(dim):
    size = (1.0,) * dim
    scene = mpm.Scene((0,) * dim, size)
    spin = 1.0 if dim == 2 else (0, 0, 1.0)
    scene.add(shapes.Ball((0.2,) * dim, 0.1), mpm.materials.Snow(), name="snow")
    scene.add(shapes.Box((0.4,) * dim, (0.7, 0.6, 0.6)[:dim]), STONE, angular_velocity=spin, name="box")
    sim = mpm.Simulation(scene, dx=0.1, threads=1)
    sim.run(0.3)
    browser = Browser(sim)
    corners = browser.positions("solids")
    (snow, soft, none), (box, hard, count) = browser.frame["runs"][0]["bodies"]
    assert (snow, none, box) == ("snow", 0, "box") and count == len(corners) > 0 < soft < soft + hard
    assert len(browser.part("points")) == soft + hard == len(sim.particles)
    (solid,) = sim._solids()
    rest = solid.at_rest(corners)
    assert (
        np.abs(np.abs(rest).max(axis=0) - (0.15, 0.1, 0.1)[:dim]).max() < 3e-3
    )  # of a lattice and of 16 bits
    if dim == 2:
        a, b, c = np.moveaxis(corners.reshape(-1, 3, 2), 1, 0)
        u, v = b - a, c - a
        assert np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]).sum() / 2 == pytest.approx(0.06, rel=5e-3)


def joined(dim):
    """A body on a hinge, one on a slider, and two with a fixed axis, which is free to be marked."""
    scene = mpm.Scene((0,) * dim, (1,) * dim)
    axis = {} if dim == 2 else {"axis": (0, 0, 1)}
    box = shapes.Box((0.2, 0.2, 0.2)[:dim], (0.5, 0.4, 0.4)[:dim])
    scene.add(box, STONE, joint=mpm.joints.Hinge((0.35, 0.3, 0.3)[:dim], **axis), name="hinge")
    slider = mpm.joints.Slider((0.6, 0.8, 0)[:dim])
    scene.add(box.translate((0.4, 0, 0)[:dim]), STONE, joint=slider, name="slider")
    still = mpm.joints.FixedAxis(**axis, spin=0.0)
    scene.add(box.translate((0, 0.4, 0)[:dim]), STONE, joint=still, name="axis")
    scene.add(box.translate((0.4, 0.4, 0)[:dim]), STONE, name="free")
    if dim == 3:
        ball = shapes.Ball((0.5, 0.5, 0.8), 0.1)
        scene.add(ball, STONE, joint=mpm.joints.Socket((0.5, 0.5, 0.85)), name="socket")
    return mpm.Simulation(scene, dx=0.1, threads=1)


def test_an_arm_leads_from_a_hinge_beside_a_body():
    scene = mpm.Scene((0, 0), (1, 1))
    bob = shapes.Ball((0.5, 0.3), 0.1)
    scene.add(bob, STONE, angular_velocity=2.0, joint=mpm.joints.Hinge((0.5, 0.8)), name="pendulum")
    sim = mpm.Simulation(scene, dx=0.1, threads=1)
    sim.run(0.1)
    arm = jointmarks.lines(sim._solids()[0])[-1]
    assert np.allclose(arm, [(0.5, 0.8), sim.rigid("pendulum").position])


@pytest.mark.parametrize("dim", [2, 3])
def test_joints_are_marked(dim):
    sim = joined(dim)
    marks = {name: jointmarks.lines(one) for name, one in zip(sim._bodies(), sim._solids(), strict=True)}
    assert {name: len(lines) for name, lines in marks.items()} == (
        {"hinge": 2, "slider": 3, "axis": 1, "free": 0} | ({} if dim == 2 else {"socket": 3})
    )
    point = np.array((0.35, 0.3, 0.3)[:dim])
    assert np.allclose(marks["hinge"][0][:-1].mean(axis=0), point)
    rail = marks["slider"][0][1] - marks["slider"][0][0]
    assert np.allclose(rail / np.linalg.norm(rail), (0.6, 0.8, 0)[:dim])
    assert np.allclose(marks["slider"][0].mean(axis=0), sim._solids()[1].position)
    renderer = viz.Renderer(
        sim, size=(240, 240), annotate=False, color="yellow", camera="top" if dim == 3 else None
    )
    image = renderer.frame(sim).astype(int)
    scale = renderer.camera.scale
    for line in (line for lines in marks.values() for line in lines):
        column, row, _ = renderer.camera.project(line[:1])
        at = round(float(row[0]) / 2), round(float(column[0]) / 2)
        near = image[at[0] - 1 : at[0] + 2, at[1] - 1 : at[1] + 2].max(axis=2)
        assert near.min() < 110, (line[0], scale)  # dark on yellow
    ends = jointmarks.segments(sim._solids())
    assert np.abs(Browser(sim).positions("joints").reshape(-1, 2, dim) - np.stack(ends, axis=1)).max() < 5e-5
    if dim == 2:
        axes = sim.plot().figure.axes[0]
        assert [len(c.get_paths()) for c in axes.collections[-2:]] == [6, 6]


def test_the_surface_of_a_rigid_body_is_that_of_its_shape(tmp_path):
    sim = turned(3, shapes.Box((0.3, 0.4, 0.4), (0.7, 0.6, 0.6)))
    found = sim.surface(values="speed")
    assert found.watertight and found.volume == pytest.approx(0.4 * 0.2 * 0.2, rel=5e-4)  # measured 1.6e-4
    (solid,) = sim._solids()
    box = np.abs(solid.at_rest(found.vertices)).max(axis=0)
    assert np.allclose(box, (0.2, 0.1, 0.1), atol=1e-9)
    far = np.linalg.norm(found.vertices[:, :2] - 0.5, axis=1)
    assert np.abs(found.values - far).max() < 0.05  # of 1 rad/s; of the nearest particles, 0.05 m apart
    with sim.record(tmp_path / "a.bgeo", fps=1, fields=("speed",)):
        pass
    with mpm.replay(tmp_path / "a.bgeo") as frames:
        again = frames[0].surface(body="box")
        assert np.array_equal(again.triangles, found.triangles) and np.array_equal(
            again.vertices, found.vertices
        )


def test_surfaces_of_several_bodies_are_one(tmp_path):
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    for k in range(2):
        scene.add(shapes.Box((0.2 + 0.4 * k, 0.4, 0.4), (0.4 + 0.4 * k, 0.6, 0.6)), STONE, name=f"box {k}")
    sim = mpm.Simulation(scene, dx=0.1, threads=1)
    found = sim.surface()
    assert found.watertight and found.volume == pytest.approx(2 * 0.2**3, rel=5e-4)
    assert sim.surface(body="box 1").vertices[:, 0].min() == pytest.approx(0.6)
    assert found.save(tmp_path / "a.obj").is_file()
