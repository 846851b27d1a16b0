"""Ground in pictures of 3-D scenes: opaque, lit and in shadow, whole where it is cut, and not ragged."""

import numpy as np
import pytest

import mpm
from mpm import shapes, viz
from mpm.viz import ground
from viewers import Browser


@pytest.fixture(autouse=True)
def quickly(monkeypatch):
    monkeypatch.setattr(ground, "COARSE", 10)


def hills():
    """A slope down along x with a mound."""
    x, y = np.meshgrid(np.linspace(-0.1, 1.1, 13), np.linspace(-0.1, 1.1, 13), indexing="ij")
    z = 0.5 - 0.3 * x + 0.1 * np.exp(-((x - 0.5) ** 2 + (y - 0.5) ** 2) / 0.02)
    number = np.arange(169).reshape(13, 13)
    a, b, c, d = (
        part.ravel() for part in (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:])
    )
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return shapes.Terrain(vertices=np.stack([x, y, z], axis=-1).reshape(-1, 3), faces=faces)


def scene(*colliders, gravity=(0, 0, -9.81)):
    found = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=gravity)
    for k, shape in enumerate(colliders):
        found.add_collider(shape, name=f"collider{k}")
    found.add(shapes.Box((0.35, 0.35, 0.75), (0.6, 0.6, 0.95)), mpm.materials.Snow(), name="snow")
    return mpm.Simulation(found, dx=0.1, threads=1)


def test_terrain_and_slopes_are_ground():
    slope = shapes.HalfSpace((0, 0, 0.4), (0.3, 0, 1))
    wedge = shapes.HalfSpace((0.5, 0, 0.4), (1, 0, 1)) & shapes.HalfSpace((0.5, 0, 0.4), (-1, 0, 1))
    wall, ball = shapes.HalfSpace((0.1, 0, 0), (1, 0, 0.1)), shapes.Ball((0.5, 0.5, 0.2), 0.1)
    sim = scene(hills(), hills().translate((0, 0, -0.1)), slope, wedge, wall, ball, hills() - ball)
    found = [[int(one.collider.name[-1]) for one in part] for part in ground.split(sim, ("collider1",))]
    assert found == [[0, 2, 3], [4, 5, 6]]
    up = scene(shapes.HalfSpace((0, 0, 0.97), (0, 0, -1)), gravity=(0, 0, 9.81))
    assert len(ground.split(up, ())[0]) == 1


def drawn(sim, **options):
    renderer = viz.Renderer(sim, size=(200, 200), annotate=False, background="white", **options)
    return renderer.frame(sim).astype(int)


@pytest.mark.parametrize(
    "shape", [hills(), shapes.HalfSpace((0, 0, 0.5), (0.3, 0, 1))], ids=["terrain", "slope"]
)
def test_it_is_a_closed_block(shape):
    sim = scene(shape)
    (one,), _ = ground.split(sim, ())
    corners, _ = ground.surface(one, sim.scene)
    a, b, c = (corners[k::3] for k in range(3))
    volume = np.einsum("ni,ni->n", np.cross(b, c), a).sum() / 6  # it is closed
    axis = (np.arange(50) + 0.5) / 50
    x = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    assert volume == pytest.approx((one.distance(x)[0] < 0).mean(), rel=3e-3)  # measured 2e-4 and 1e-3


def test_it_is_opaque_and_in_shadow():
    sim = scene(hills())
    bare = drawn(sim, hide=("snow", "collider0"))
    block = drawn(sim, hide="snow")
    seen = np.abs(block - bare).max(axis=2) > 20
    front = block[seen]
    assert (
        0.3 < seen.mean() < 0.8 and np.abs(front.max(axis=1) - front.min(axis=1)).max() < 40
    )  # of one grey ink
    whole = drawn(sim)
    shadow = (block - whole).sum(axis=2)[120:] > 60
    assert shadow.mean() > 0.02


def test_a_cut_shows_its_inside():
    sim = scene(hills())
    side = drawn(sim, camera="front", hide="snow", cut={"y": 0.5})
    bare = drawn(sim, camera="front", hide=("snow", "collider0"))
    seen = np.abs(side - bare).max(axis=2) > 20
    column = seen.any(axis=0)
    filled = [seen[row, k] for k in np.flatnonzero(column) for row in range(seen[:, k].argmax() + 2, 170)]
    assert np.mean(filled) > 0.99  # a hollow one showed what is behind
    behind = drawn(sim, camera="top", hide="snow", cut={"y": 0.5})
    empty = drawn(sim, camera="top", hide=("snow", "collider0"))
    half = np.abs(behind - empty).max(axis=2) > 20
    assert half[:95].mean() > 0.4 and half[105:].mean() < 0.02


def test_the_viewer_gets_it():
    sim = scene(shapes.HalfSpace((0, 0, 0.5), (0.3, 0, 1)), shapes.Ball((0.8, 0.8, 0.5), 0.1))
    browser = Browser(sim)
    (one,), _ = ground.split(sim, ())
    assert np.abs(browser.colliders("ground").reshape(-1, 3) - ground.surface(one, sim.scene)[0]).max() < 5e-5
    assert 0 < len(browser.colliders("faces")) and browser.colliders("faces")[..., 0].min() > 0.6
