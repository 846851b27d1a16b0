"""Colliders in trajectories: where they were, at every frame and in every picture; and files in which they are none."""

import json

import numpy as np
import pytest

import mpm
import scenes
from mesh_samples import cube_mesh
from mpm import motion, shapes, viz
from mpm.viewer import outlines

h5py = pytest.importorskip("h5py")

dims = pytest.mark.parametrize("dim", scenes.DIMS)


def cornered(dim):
    """A polygon, in 3-D a mesh."""
    if dim == 2:
        return shapes.Polygon([(0.6, 0.6), (0.9, 0.6), (0.95, 0.9), (0.6, 0.9)])
    vertices, faces = cube_mesh([0.6] * 3, [0.9] * 3)
    return shapes.Mesh(vertices=vertices, faces=faces)


def growing(dim):
    axis = np.linspace(0, 1, 21)
    x = np.stack(np.meshgrid(*[axis] * dim, indexing="ij"), axis=-1)
    far = np.linalg.norm(x - 0.2, axis=-1)
    return shapes.Deforming([0.0, 0.1], [shapes.DistanceGrid([0] * dim, 0.05, far - r) for r in (0.1, 0.18)])


def make(dim, dtype="float64"):
    """Colliders at rest, moving, turning and growing."""
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81], walls={"x": "sticky"})
    scene.add(shapes.Box([0.35] * dim, [0.5] * dim), scenes.MATERIALS["fluid"], velocity=lambda x: 0 * x)
    cup = shapes.HalfSpace([0.0] * (dim - 1) + [0.25], [0.0] * (dim - 1) + [1.0]) - shapes.Ball(
        [0.5] * dim, 0.3
    )
    scene.add_collider(cup, name="cup")
    scene.add_collider(
        cornered(dim), motion=motion.Sinusoid([0.05] + [0.0] * (dim - 1), 3.0), friction=0.3, name="pushed"
    )
    turn = motion.Rotation(20.0) if dim == 2 else motion.Rotation(20.0, axis=(0, 1, 1))
    scene.add_collider(shapes.Box([0.65] * dim, [0.95] + [0.85] * (dim - 1)), motion=turn, name="turned")
    scene.add_collider(growing(dim), name="grown")
    return mpm.Simulation(scene, dx=1 / 16, dtype=dtype)


def pieces(sim, path, look, steps=4):
    """What `look` finds of the simulation at first and after some pieces of a run whose ends are frames of the file."""
    found = [look(sim)]
    with sim.record(path, fps=1e9):
        for _ in range(steps):
            sim.run(0.02)
            found.append(look(sim))
    return found


@dims
@pytest.mark.parametrize("dtype", scenes.DTYPES)
def test_they_are_where_they_were(tmp_path, dim, dtype):
    sim = make(dim, dtype)
    x = np.random.default_rng(1).random((400, dim))

    def look(state):
        distances = {c.name: state.collider_distance(c.name, x) for c in state.scene.colliders}
        return state.time, distances, [one.distance(x)[1] for one in state._posed()]

    found = pieces(sim, tmp_path / "a.vtkhdf", look)
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        for time, distances, normals in found:
            again = look(frames.at(time))
            assert again[0] == time
            for name, phi in distances.items():
                assert np.array_equal(again[1][name], phi)
            assert all(map(np.array_equal, again[2], normals))
        first, last = found[0][1], found[-1][1]
        assert [np.array_equal(first[name], last[name]) for name in first] == [True, False, False, False]
        scene = frames[0].scene
        assert [repr(c) for c in scene.colliders] == [repr(c) for c in sim.scene.colliders]
        assert scene.walls == sim.scene.walls and scene.gravity.tolist() == sim.scene.gravity.tolist()
        assert scene.bodies == () and scene is frames[-1].scene
        with pytest.raises(TypeError, match="it accepts no additions"):
            scene.add_collider(cornered(dim))


@pytest.mark.numbers
@dims
def test_pictures_show_them(tmp_path, dim):
    sim = make(dim)

    def look(state):
        found = outlines.of(state._posed(), state.scene.lower, state.scene.upper)
        lines = (found.starts, found.ends, found.corners)
        return viz.Renderer(state, size=(96, 64), color="material").frame(state), lines

    found = pieces(sim, tmp_path / "a.vtkhdf", lambda state: (state.time, *look(state)), steps=1)
    bare = mpm.Scene([0] * dim, [1] * dim)
    bare.add(shapes.Box([0.35] * dim, [0.5] * dim), scenes.MATERIALS["fluid"])
    with mpm.Simulation(bare, dx=1 / 16).record(tmp_path / "b.vtkhdf", fps=1):
        pass
    with mpm.replay(tmp_path / "a.vtkhdf") as frames, mpm.replay(tmp_path / "b.vtkhdf") as none:
        for time, picture, lines in found:
            again, lines_again = look(frames.at(time))
            assert np.array_equal(again, picture)
            assert all(map(np.array_equal, lines_again, lines)) and len(lines[2]) > 50
        assert not np.array_equal(look(frames[0])[0], look(none[0])[0]) and not len(look(none[0])[1][2])
        moving = viz.Renderer(frames[0], size=(96, 64), color="material")
        assert np.array_equal(moving.frame(frames.at(found[1][0])), found[1][1])
        # Matplotlib's own: contours of the colliders in 2-D, all in one image in 3-D.
        drawn = {
            len(replay.plot(0, figsize=(2, 1.5)).particles.axes.collections) for replay in (frames, none)
        }
        assert len(drawn) == (2 if dim == 2 else 1)


def test_without_colliders_the_distance_says_so(tmp_path):
    sim = scenes.three_materials(2, 16)
    with sim.record(tmp_path / "a.vtkhdf", fps=1):
        pass
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        with pytest.raises(ValueError, match="name = 'cup': the scene has no colliders"):
            frames[0].collider_distance("cup", [(0, 0)])


def test_functions_of_the_scene_need_not_be_kept(tmp_path):
    scene = mpm.Scene((0, 0), (1, 1), body_force=lambda x, t: 0 * x)
    scene.add(
        shapes.Box((0.3, 0.3), (0.5, 0.5)),
        scenes.MATERIALS["fluid"],
        F=lambda x: np.tile(np.eye(2), (len(x), 1, 1)),
    )
    with mpm.Simulation(scene, dx=1 / 16).record(tmp_path / "a.vtkhdf", fps=1):
        pass
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        assert frames[0].scene.upper.tolist() == [1, 1]
        with pytest.raises(ValueError, match="was not kept in the file"):
            frames[0].scene.body_force(np.zeros((1, 2)), 0.0)


def described(**changes):
    """Another description of the scene."""

    def change(file):
        tree = json.loads(file["mpm/scene"][()].tobytes()) | changes
        del file["mpm/scene"]
        file["mpm/scene"] = np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8)

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file["mpm"].__delitem__("scene"),
        lambda file: file["mpm"].__delitem__("arrays"),
        lambda file: file["mpm/arrays"].clear(),
        described(lower=[0.0, 0.0]),
        described(lower=[0.0, 0.0], upper=[1.0, 1.0], gravity=[0.0, 0.0], colliders=[], walls={}),  # 2-D
        described(colliders=[{}]),
        described(colliders=7),
        described(walls={"x-": {"contact": "sticki", "friction": 0}}),
    ],
)
def test_files_in_which_they_are_damaged(tmp_path, change):
    with make(3).record(tmp_path / "a.vtkhdf", fps=1):
        pass
    with h5py.File(tmp_path / "a.vtkhdf", "r+", libver=("v110", "v110")) as file:
        change(file)
    with pytest.raises(mpm.FileFormatError, match=r"a\.vtkhdf"):
        mpm.replay(tmp_path / "a.vtkhdf")


@pytest.mark.parametrize("method", ["sph", "fem"])
def test_colliders_of_other_methods_are_where_they_were(method, tmp_path):
    """Also where the spacing of a method does not divide the domain."""
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.8))
    fluid = method == "sph"
    scene.add(shapes.Box((0.2, 0.5), (0.5, 0.8)), scenes.MATERIALS["fluid" if fluid else "neo_hookean"])
    turn = motion.Rotation(20.0)
    scene.add_collider(shapes.Box((0.6, 0.1), (0.9, 0.3)), motion=turn, contact="sticky", name="turned")
    sim = getattr(mpm, method).Simulation(scene, spacing=0.05 if fluid else 0.07)
    path, points = tmp_path / "a.vtkhdf", np.random.default_rng(0).random((50, 2))
    found = pieces(sim, path, lambda one: one.collider_distance("turned", points), steps=2)
    with mpm.replay(path) as replay:
        for frame in (replay[0], replay[-1]):
            at = found[0 if frame.time == 0 else -1]
            assert np.array_equal(frame.collider_distance("turned", points), at)
