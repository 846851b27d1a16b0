"""Scenes as text: every shape, material and motion comes back with the same bits, and functions by their names."""

import json
import warnings

import numpy as np
import pytest

import mesh_samples
import mpm
import scenes
from mpm import materials, motion, shapes
from mpm.io import description
from mpm.io.description import describe, restore

S, M = shapes, motion
RANDOM = np.random.default_rng(1)
CUBE = S.Mesh(vertices=mesh_samples.cube_mesh()[0], faces=mesh_samples.cube_mesh()[1])
AWAY = S.Mesh(vertices=mesh_samples.cube_mesh()[0] + 0.1, faces=mesh_samples.cube_mesh()[1])
BALL, DISC = S.Ball((0.5, 0.4, 0.3), 0.2), S.Ball((0.5, 0.4), 0.2)
GRID = S.DistanceGrid((0, -0.0), 0.1, RANDOM.random((7, 9)) - 0.5)

SHAPES = {
    "Ball": [BALL, DISC, BALL.scale((1, 2, 3)), DISC.rotate(0.3, about=(1 / 3, 0.1)).translate((0.1, 0))],
    "Box": [S.Box((0, -0.0), (1 / 3, 0.7)), S.Box((0, 0, 0), (1, 1, 1)).rotate(0.7, axis=(1, 2, 3))],
    "Capsule": [S.Capsule((0, 0), (1, 1), 0.1)],
    "Cells": [S.Cells([(0, -0.0), (1 / 3, 0), (0, 1), (1, 1.1)], [(0, 1, 2), (1, 3, 2)])],
    "Cylinder": [S.Cylinder((0, 0, 0), (1, 1, 0.3), 0.1)],
    "Deforming": [S.Deforming([0, 1], [CUBE, AWAY]), ~S.Deforming([0, 0.5], [GRID, GRID])],
    "DistanceGrid": [GRID, ~GRID],
    "HalfSpace": [
        S.HalfSpace((0, 0.1), (0.3, 1)),
        ~S.HalfSpace((0, 0, 0.1), (0.3, 1, 0.7)).rotate(0.1, axis=(1, 1, 0)),
    ],
    "Mesh": [CUBE, CUBE.scale(0.1)],
    "Points": [
        S.Points(RANDOM.random((5, 2)), volume="per-cell"),
        S.Points(RANDOM.random((50, 3)), volume=RANDOM.random(50)),
    ],
    "Polygon": [S.Polygon([(0, 0), (1, 0), (1 / 3, 1)])],
    "Shape": [
        BALL | CUBE,
        (BALL & CUBE) - AWAY - BALL,
        ~(DISC | S.Box((0, 0), (0.1, 0.1))),
        DISC - (DISC & GRID),
    ],
    "Terrain": [
        S.Terrain(vertices=[(0, 1 / 3), (1, 0.2)], up="y"),
        S.Terrain(vertices=[(0, 0, 1 / 3), (0, 1, 0), (0.9, 0, 1)], faces=[(0, 1, 2)], up="x").scale(2),
    ],
}
MOTIONS = {
    "Keyframes": [
        M.Keyframes([0, 1 / 3], [(0, 0, 0.1), (1, 2, 3)]),
        M.Keyframes([1], [(0, 0, 0)], angles=[(1, 2, 3)]),
        M.Keyframes(np.arange(40.0), RANDOM.random((40, 3))),
    ],
    "Linear": [M.Linear((0.1, -0.0, 1e-300))],
    "Rotation": [
        M.Rotation(3, axis=(1, 2, 3.3)),
        M.Rotation(1 / 3, about=(0.1, 0.2, 0.3), axis=(0.1, 0, 0.7)),
    ],
    "Sinusoid": [M.Sinusoid((0.1, 0.2, 0.3), 1 / 3)],
    "Velocities": [
        M.Velocities([0, 1 / 3], [(0, 0, 0.1), (1, 2, 3)]),
        M.Velocities([1], [(1, 0, 0)], angular_velocities=[1 / 3], about=(0.1, 0.2, 0.3), axis=(0.1, 0, 0.7)),
    ],
}


def again(scene: mpm.Scene) -> mpm.Scene:
    """Through text, and a check that it is described in the same way again."""
    tree, arrays = describe(scene)
    text = json.dumps(tree, allow_nan=False)
    twin = restore(json.loads(text), arrays)
    tree, others = describe(twin)
    assert json.dumps(tree) == text
    assert {name: a.tobytes() for name, a in arrays.items()} == {
        name: a.tobytes() for name, a in others.items()
    }
    return twin


def test_the_tables_have_all_that_there_is():
    assert set(SHAPES) == set(shapes.__all__)
    assert set(MOTIONS) == set(motion.__all__) - {"Motion"}
    assert {type(material).__name__ for material in scenes.MATERIALS.values()} == set(materials.__all__) - {
        "HistoryField",
        "Material",
        "UserLaw",
        "Weibull",
        "hardening",
        "library",
    }


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_come_back(name):
    for shape in SHAPES[name]:
        d = shape.dimension
        scene = mpm.Scene([0] * d, [1] * d)
        if name == "Points":
            scene.add(shape, scenes.MATERIALS["fluid"])
        else:
            scene.add_collider(shape)
        twin = again(scene)
        (made,) = [part.shape for part in (*twin.bodies, *twin.colliders)]
        assert type(made) is type(shape) and made == shape and repr(made) == repr(shape)
        if not shape._only_collides and shape._has_inside:
            x = RANDOM.random((200, d))
            assert (made.contains(x) == shape.contains(x)).all()


@pytest.mark.parametrize("name", MOTIONS)
def test_motions_come_back(name):
    for moves in MOTIONS[name]:
        scene = mpm.Scene((0, 0, 0), (1, 1, 1))
        scene.add_collider(BALL, motion=moves, contact="slip", friction=0.3)
        (collider,) = again(scene).colliders
        assert collider.motion == moves and repr(collider.motion) == repr(moves)
        assert (collider.contact, collider.friction) == ("slip", 0.3)


@pytest.mark.parametrize("law", scenes.LAWS)
def test_materials_and_bodies_come_back(law):
    scene = mpm.Scene(
        (0, 0, 0),
        (1, 1, 1),
        gravity=(0, 1 / 3, -0.0),
        walls={"x": "periodic", "z-": mpm.Wall("slip", friction=0.2)},
    )
    scene.add(
        BALL,
        scenes.MATERIALS[law],
        velocity=(1 / 3, 0, -0.0),
        angular_velocity=(1, 2, 0.1),
        F=np.eye(3) * 1.1,
    )
    scene.add(BALL, scenes.MATERIALS[law], name="snow; ❄ 'x' \ud800")
    twin = again(scene)
    for one, other in zip(scene.bodies, twin.bodies, strict=True):
        assert one.material == other.material and one.name == other.name
        for field in ("velocity", "angular_velocity", "F"):
            a, b = getattr(one, field), getattr(other, field)
            assert (a is None and b is None) or np.asarray(a).tobytes() == np.asarray(b).tobytes()
    assert twin.walls == scene.walls and twin.gravity.tobytes() == scene.gravity.tobytes()
    assert twin.gravity.dtype == np.float64 and not twin.gravity.flags.writeable


def test_what_was_warned_of_once_is_not_warned_of_again():
    with pytest.warns(UserWarning, match="nearly incompressible"):
        stiff = mpm.materials.NeoHookean(E=1, nu=0.495, density=1)
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add(BALL, stiff)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert again(scene).bodies[0].material == stiff


def test_functions_come_back_as_names():
    class Whirl:
        def __call__(self, x):
            return 0 * x

    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(DISC, scenes.MATERIALS["fluid"], velocity=scenes.swirl, F=lambda x: np.eye(2))
    scene.add(DISC, scenes.MATERIALS["fluid"], velocity=Whirl())
    twin = again(again(scene))
    first, second = twin.bodies
    assert (
        first.velocity == description.Lost("swirl")
        and "<lambda>" in first.F.name
        and "Whirl" in second.velocity.name
    )
    with pytest.raises(
        ValueError, match=r"the function 'swirl' was not kept in the file: make the scene anew"
    ):
        first.initial_velocity(np.zeros((1, 2)), np.ones(1))


def test_long_arrays_lie_beside_the_text_and_equal_ones_once():
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add_collider(S.Deforming([0, 1], [CUBE, AWAY]))
    tree, arrays = describe(scene)
    assert sorted(a.dtype.name for a in arrays.values()) == [
        "int64"
    ]  # the faces of both; 8 vertices are text
    frames = tree["colliders"][0]["shape"]["shapes"]
    assert frames[0]["faces"] == frames[1]["faces"] == {"array": "array0"}
    assert frames[0]["vertices"] == CUBE.vertices.tolist()


def test_a_mesh_remembers_its_file(tmp_path):
    path = tmp_path / "cube.obj"
    v, f = mesh_samples.cube_mesh()
    path.write_text(
        "".join(f"v {x} {y} {z}\n" for x, y, z in v) + "".join(f"f {a} {b} {c}\n" for a, b, c in f + 1)
    )
    scene = mpm.Scene((0, 0, 0), (1, 1, 1))
    scene.add_collider(S.Mesh(path))
    path.unlink()
    assert repr(again(scene)) == repr(scene)


WRONG = {
    "nothing": None,
    "a list": [],
    "an empty one": {},
    "a wall of another kind": ("walls", "x-", {"contact": "rough", "friction": 0}),
    "walls in a list": ("walls", []),
    "bodies in a dict": ("bodies", {}),
    "no such shape": ("bodies", 0, "shape", {"shape": "Egg"}),
    "a shape of the package's own": ("bodies", 0, "shape", {"shape": "_Rod"}),
    "the base": ("bodies", 0, "shape", {"shape": "Shape"}),
    "a shape without its fields": ("bodies", 0, "shape", {"shape": "Ball"}),
    "a normal that is not of length 1": (
        "bodies", 0, "shape", {"shape": "HalfSpace", "point": [0.0, 0.0], "normal": [3.0, 4.0]},
    ),
    "a union of one": (
        "bodies", 0, "shape", {"shape": "Union", "parts": [{"shape": "Ball", "center": [0, 0], "radius": 1}]},
    ),
    "a singular map": (
        "bodies", 0, "shape", "matrix", [[0.0, 0.0], [0.0, 0.0]],
    ),
    "a map of the wrong size": ("bodies", 0, "shape", "shift", [0.0]),
    "no such array": ("bodies", 0, "velocity", {"array": "nothing"}),
    "two bodies of one name": ("bodies", 1, "name", "body0"),
    "a law that is none": ("bodies", 0, "material", {"material": "Material"}),
    "a parameter out of range": ("bodies", 0, "material", "density", -1.0),
    "one parameter more": ("bodies", 0, "material", "color", 1.0),
    "words for a number": ("bodies", 0, "material", "density", "heavy"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_makes_no_sense_is_an_error_of_format(name):
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(DISC.scale((1, 2)), scenes.MATERIALS["fluid"])
    scene.add(DISC, scenes.MATERIALS["fluid"])
    tree, arrays = describe(scene)
    change = WRONG[name]
    if isinstance(change, tuple):
        *way, last, value = change
        place = tree
        for key in way:
            place = place[key]
        place[last] = value
    else:
        tree = change
    with pytest.raises(mpm.FileFormatError, match="scene: cannot be restored"):
        restore(tree, arrays)


def test_nesting_without_end_is_an_error_of_format():
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(DISC, scenes.MATERIALS["fluid"])
    tree, arrays = describe(scene)
    for _ in range(100_000):
        tree["bodies"][0]["shape"] = {"shape": "Complement", "of": tree["bodies"][0]["shape"]}
    with pytest.raises(mpm.FileFormatError, match="recursion"):
        restore(tree, arrays)


def test_what_a_file_cannot_keep_is_refused():
    class Egg(S.Ball):
        pass

    class Jump(M.Linear):
        pass

    for shape, moves in ((Egg((0.5, 0.5), 0.1), None), (DISC, Jump((0, 1)))):
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add_collider(shape, motion=moves)
        with pytest.raises(TypeError, match=r"(shape|motion) = .*: a file keeps objects of mpm\.\w+ only"):
            describe(scene)
    with pytest.raises(TypeError, match="an array of complex128"):
        description.Writer().array(np.zeros(3, complex))
    with pytest.raises(TypeError, match="cannot keep a set"):
        description.Writer().value({1})


@pytest.mark.parametrize("name", ["jelly", "snow-wedge", "hourglass", "squeeze"])
def test_scenes_of_the_gallery_come_back(name):
    scene = mpm.gallery.get(name).scene()
    assert repr(again(scene)) == repr(scene)


def test_walls_keep_only_what_they_have():
    """So that scenes without heat and pore water have the files of versions that knew neither."""
    walls = {"x-": mpm.Wall("slip", head=1.0), "y-": mpm.Wall("slip", temperature=300.0)}
    tree = description.Writer().scene(mpm.Scene((0, 0), (1, 1), gravity=(0, -1), walls=walls))["walls"]
    always = {"contact", "friction", "restitution", "speeds"}
    assert [set(tree[face]) - always for face in ("x-", "x+", "y-")] == [{"head"}, set(), {"temperature"}]
