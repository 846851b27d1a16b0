"""Terrain: ground below an open surface, as a collider and as a solid; surfaces that are none."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mpm
from mpm.shapes import Ball, Box, HalfSpace, Mesh, Terrain
from mpm.shapes.distances import describe, measure

RUBBER = mpm.materials.NeoHookean(E=1e5, nu=0.3, density=1000)
SLOPE = np.array([0.2, -0.1])


def plane(x, y):
    return 0.3 + SLOPE[0] * x + SLOPE[1] * y


def surface(f=plane, n=(9, 7), lower=(0, 0), upper=(1, 1)):
    """Vertices and triangles of heights on a lattice."""
    axes = [np.linspace(a, b, k) for a, b, k in zip(lower, upper, n, strict=True)]
    x, y = np.meshgrid(*axes, indexing="ij")
    k = np.arange(n[0] * n[1]).reshape(n)
    a, b, c, d = k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]
    faces = [np.stack(corners, axis=-1).reshape(-1, 3) for corners in ((a, b, c), (a, c, d))]
    return np.stack([x, y, f(x, y)], axis=-1).reshape(-1, 3), np.concatenate(faces)


VERTICES, FACES = surface()
LINE = np.array([(0, 0.3), (0.4, 0.38), (1, 0.5)])  # the plane at y = 0


def turned(v, up):
    """Vertices whose heights are along another axis."""
    return np.roll(v, "xyz"[: v.shape[1]].index(up) + 1, axis=1)


@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_a_plane(up):
    """Inside, heights and distances, whichever way the faces look, and level beyond the rim."""
    x = np.random.default_rng(1).random((400, 3)) * (1.0, 1.0, 0.6)
    normal = np.array([*-SLOPE, 1]) / np.sqrt(1 + SLOPE @ SLOPE)
    exact = (x - (0, 0, 0.3)) @ normal
    for faces in (FACES, FACES[:, ::-1], np.where(np.arange(len(FACES))[:, None] % 2, FACES, FACES[:, ::-1])):
        ground = Terrain(vertices=turned(VERTICES, up), faces=faces, up=up)
        assert (ground.contains(turned(x, up)) == (exact < 0)).all()
        assert np.abs(ground.heights(turned(x, up)) - plane(x[:, 0], x[:, 1])).max() < 1e-15
        phi, away = measure(describe(ground, 1 / 16, (np.zeros(3), np.ones(3))), turned(x, up))
        well = (np.abs(x[:, :2] - 0.5) < 0.3).all(axis=1)  # nearest to the surface, not to its rim
        assert (
            np.abs(phi - exact)[well].max() < 1e-14
            and np.abs(away - turned(normal[None], up))[well].max() < 1e-12
        )
        assert ground.contains(turned(np.array([[-3.0, 0.5, 0.249], [0.5, 9.0, -99.0]]), up)).all()
        assert not ground.contains(turned(np.array([[-3.0, 0.5, 0.251]]), up)).any()
        assert ground.bounds[1]["xyz".index(up)] == 0.5 and np.isinf(ground.bounds[0]).all()


@pytest.mark.parametrize("up", ["x", "y"])
@pytest.mark.parametrize("turn", [1, -1])
def test_a_line(up, turn):
    ground = Terrain(vertices=turned(LINE[::turn], up), up=up)
    x = np.random.default_rng(2).random((400, 2))
    half = HalfSpace((0, 0.3), (-0.2, 1))
    well = np.abs(x[:, 0] - 0.5) < 0.2
    phi, normal = measure(describe(ground, 1 / 16, (np.zeros(2), np.ones(2))), turned(x, up))
    exact, away = measure(describe(half, 1 / 16), x)
    assert (ground.contains(turned(x, up)) == (exact < 0)).all()
    assert np.abs(phi - exact)[well].max() < 1e-14
    assert np.abs(normal - turned(away, up))[well].max() < 1e-12
    assert ground.heights(turned(np.array([[-5.0, 0], [0.2, 0], [5.0, 0]]), up)) == pytest.approx(
        [0.3, 0.34, 0.5]
    )


def test_far_coordinates_are_shifted_in_double(tmp_path):
    """A survey in map coordinates, as OBJ and as ASCII STL, is the local one to the digits of the file."""
    corner = np.array([512_345.0, 5_432_109.0, 1_200.0])
    far = VERTICES + corner
    obj = "".join(f"v {a:.9f} {b:.9f} {c:.9f}\n" for a, b, c in far)
    obj += "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES)
    (tmp_path / "ground.obj").write_text(obj)
    facets = "".join(
        "facet normal 0 0 1\nouter loop\n"
        + "".join("vertex {:.9f} {:.9f} {:.9f}\n".format(*far[k]) for k in face)
        + "endloop\nendfacet\n"
        for face in FACES
    )
    (tmp_path / "ground.stl").write_text(f"solid\n{facets}endsolid\n")
    x = np.random.default_rng(3).random((200, 3))
    for name in ("ground.obj", "ground.stl"):
        ground = Terrain(tmp_path / name, origin=corner)
        assert np.abs(ground.heights(x) - plane(x[:, 0], x[:, 1])).max() < 2e-9
        assert ground.extent[1] == pytest.approx([1, 1, 0.5], abs=2e-9)
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add(Ball((0.5, 0.5, 0.7), 0.1), RUBBER)
    scene.add_collider(Terrain(tmp_path / "ground.obj"))
    with pytest.raises(
        ValueError, match=r"ends at x = 512345 m, before the domain, which goes to 0 m .* origin="
    ):
        mpm.Simulation(scene, dx=1 / 8)
    coarse = (far[FACES] * 1e3).astype(np.float32).astype(np.float64).reshape(-1, 3)
    with pytest.raises(
        ValueError,
        match=r"faces have no area seen from above: coordinates reach 5.43e\+09 m, and the surface is 1.02e\+03 m",
    ):
        Terrain(vertices=coarse, faces=np.arange(len(coarse)).reshape(-1, 3))


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("solver", ["mpm", "fem", "rigid"])
def test_what_slides_on_terrain_does_what_it_does_on_a_half_space(dim, dtype, solver):
    """With friction; the books close."""
    g = 9.81
    normal = (-0.2, 1) if dim == 2 else (*-SLOPE, 1)
    up = 0.003 * np.eye(dim)[-1]  # no node lies on the surface, where rounding decides
    level = Terrain(vertices=LINE + up) if dim == 2 else Terrain(vertices=VERTICES + up, faces=FACES)
    results = []
    for ground in (level, HalfSpace((0, 0.303) if dim == 2 else (0, 0, 0.303), normal)):
        scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-g])
        middle = [0.5] * (dim - 1) + [0.52 if dim == 2 else 0.47]
        stuff = mpm.materials.Rigid(density=1000) if solver == "rigid" else RUBBER
        scene.add(Ball(middle, 0.1), stuff, name="ball")
        scene.add_collider(ground, friction=0.3, name="ground")
        sim = (
            mpm.fem.Simulation(scene, spacing=1 / 16, dtype=dtype)
            if solver == "fem"
            else mpm.Simulation(scene, dx=1 / 12, dtype=dtype, threads=1)
        )
        sim.run(0.1)
        history = sim.history
        weight = history["dt"][1:, None] * sim.totals().mass * scene.gravity
        change = (
            np.diff(history["momentum"], axis=0) - history["impulse:ground"][1:] - history["wall_impulse"][1:]
        )
        assert np.abs(change - weight).max() < (1e-12 if dtype == "float64" else 1e-5)
        assert np.abs(history["impulse:ground"]).max() > 0.01
        results.append(np.array(sim.particles.x, dtype=np.float64))
    rounding = 1e-10 if dtype == "float64" else 1e-5  # 2e-13, 1e-6 measured
    assert np.abs(results[0] - results[1]).max() < (
        2e-4 if solver == "rigid" else rounding
    )  # 9.5e-5: other contacts


def test_a_run_on_terrain_goes_on_after_a_restart(tmp_path):
    scene = mpm.Scene((0, 0, 0), (1, 1, 1), gravity=(0, 0, -9.81))
    wavy = surface(lambda x, y: 0.3 + 0.05 * np.sin(9 * x) * np.cos(7 * y))
    ground = Terrain(vertices=wavy[0], faces=wavy[1])
    scene.add(Box((0.3, 0.3, 0.2), (0.7, 0.7, 0.5)) - ground, RUBBER, name="fill")
    scene.add_collider(ground, friction=0.3, name="ground", motion=mpm.motion.Linear((0, 0, 0.1)))
    sim = mpm.Simulation(scene, dx=1 / 10, threads=1)
    assert (sim.collider_distance("ground", sim.particles.x) > -1e-9).all()
    sim.step(5)
    sim.save(tmp_path / "run.mpm")
    other = mpm.load(tmp_path / "run.mpm", threads=2)
    sim.step(5), other.step(5)
    assert sim == other and other.scene.colliders[0].shape == ground and hash(other.scene.colliders[0].shape)
    assert len(sim.plot().figure.axes)


def twisted(t, s):
    return np.cos(t) * (2 + s * np.cos(t / 2)), np.sin(t) * (2 + s * np.cos(t / 2)), s * np.sin(t / 2)


def strip(n):
    """The triangles of a strip of n pairs of vertices."""
    k = 2 * np.arange(n - 1)
    return np.concatenate([np.stack([k, k + 1, k + 2], axis=1), np.stack([k + 1, k + 3, k + 2], axis=1)])


MOEBIUS = [twisted(t, s) for t in np.linspace(0, 2 * np.pi, 12, endpoint=False) for s in (-0.5, 0.5)]
STRIP = [*strip(12), (22, 23, 1), (23, 0, 1)]
RAMP = np.array([(r * np.cos(t), r * np.sin(t), t / 9) for t in np.linspace(0, 9, 40) for r in (1, 2)])
TWICE = np.concatenate([FACES, FACES + len(VERTICES)])


def beside(x, y, z):
    """Two surfaces."""
    return np.concatenate([VERTICES, VERTICES + np.array([x, y, z])])


FOLDED = VERTICES.copy()
FOLDED[24, 0] += 0.3
INNER = np.delete(FACES, 20, axis=0)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"vertices": [(0, 0), (1, 0), (0.5, 1)]}, "overhangs, because the line turns back at x = 1, y = 0 m"),
        ({"vertices": [(0, 0)]}, "needs at least 2, got 1"),
        ({"vertices": [(0, 0), (0, 1)]}, "no extent along x, across up = 'y'"),
        ({"vertices": FOLDED, "faces": FACES}, "faces look down: it overhangs at"),
        ({"vertices": VERTICES, "faces": INNER}, "has 1 holes, one at x = 0.4"),
        (
            {"vertices": beside(0, 0, 0.2), "faces": TWICE},
            "has 2 parts that share no edge, by gaps or several sheets; one of them at x = 0.5, y = 0.5",
        ),
        ({"vertices": beside(1.01, 0, 0), "faces": TWICE}, "has 2 parts that share no edge"),
        ({"vertices": RAMP, "faces": strip(40)}, "has several sheets above one another at"),
        ({"vertices": MOEBIUS, "faces": STRIP}, "has one side only"),
        ({"vertices": VERTICES * (1, 1, 0), "faces": FACES, "up": "x"}, "all faces are upright along up = 'x'"),
        ({"vertices": VERTICES * (0, 0, 0), "faces": FACES}, "the surface has no area"),
        ({"vertices": VERTICES, "faces": [*FACES, (8, 0, 40)]}, "three or more faces meet at an edge at"),
        ({"vertices": Mesh(mpm.gallery.CUBE_MESH).vertices, "faces": Mesh(mpm.gallery.CUBE_MESH).faces},
         "the surface is closed: mpm.shapes.Mesh takes"),
    ],
)  # fmt: skip
def test_what_is_no_terrain_says_where(given, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        Terrain(**given)


def test_a_domain_beyond_the_surface_is_refused():
    for upper, lower, text in (
        ((2, 1, 1), (0, 0, 0), "ends at x = 1 m, before the domain, which goes to 2 m"),
        ((1, 1, 1), (0, -1, 0), "ends at y = 0 m, before the domain, which goes to -1 m"),
    ):
        scene = mpm.Scene(lower, upper)
        scene.add(Ball((0.5, 0.5, 0.7), 0.1), RUBBER)
        scene.add_collider(Terrain(vertices=VERTICES, faces=FACES), name="ground")
        with pytest.raises(ValueError, match=text):
            mpm.Simulation(scene, dx=1 / 8)
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add(Ball((0.5, 0.5, 0.7), 0.1), RUBBER)
    cut = FACES[VERTICES[FACES].mean(axis=1)[:, :2].sum(axis=1) < 1.5]  # without a corner of the domain
    scene.add_collider(Terrain(vertices=VERTICES, faces=cut), name="ground")
    with pytest.raises(ValueError, match="has no surface at x = 1, y = 1 m, in the domain"):
        mpm.Simulation(scene, dx=1 / 8)
