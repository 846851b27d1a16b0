"""Diagnosing and filling triangle meshes: files of other programs, and meshes broken on purpose."""

import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import mpm
from mesh_samples import DATA, cube_mesh, has_trimesh, join, needs_trimesh, sphere_mesh, volume
from mpm import _core, meshes
from mpm.meshes import FileFormatError
from mpm.meshes.topology import tetrahedra
from mpm.shapes import Box, Mesh

CUBE = Path(mpm.__file__).parent / "gallery" / "cube.obj"


def plain_winding(v, f, p):
    """The definition, one arctangent per face."""
    a, b, c = (v[f[:, k]][None] - p[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(q, axis=-1) for q in (a, b, c))
    num = (a * np.cross(b, c)).sum(-1)
    den = la * lb * lc + (a * b).sum(-1) * lc + (b * c).sum(-1) * la + (c * a).sum(-1) * lb
    return np.arctan2(num, den).sum(axis=1) / (2 * np.pi)


# --- the two measures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("faces", [1, 7, 300, 1368])
def test_winding_numbers_match_the_definition(faces):
    v, f = meshes.read(DATA / "spider.obj")
    f = f[:faces]
    p = np.random.default_rng(0).uniform(v[f].min((0, 1)) - 1, v[f].max((0, 1)) + 1, (101, 3))
    assert np.abs(meshes.winding_numbers(v, f, p) - plain_winding(v, f, p)).max() < 1e-12  # measured 3e-14


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_winding_numbers_of_many_turns_and_scales(scale):
    """A surface wrapped 50 times: turns are counted, and the sign follows the faces."""
    v, f = sphere_mesh(8)
    p = np.array([(0.01, 0.02, 0.03), (5, 5, 5)]) * scale
    many = np.concatenate([f] * 50)
    np.testing.assert_allclose(meshes.winding_numbers(v * scale, many, p), (50, 0), atol=1e-9)
    np.testing.assert_allclose(meshes.winding_numbers(v * scale, many[:, ::-1], p), (-50, 0), atol=1e-9)


def test_winding_numbers_of_large_angles_neither_underflow_nor_lose_turns():
    v, f = cube_mesh()
    middle = np.array([(0.5, 0.5, 0.5)])  # 30 degrees per face, 12,000 faces
    assert meshes.winding_numbers(v, np.concatenate([f] * 1000), middle) == pytest.approx(1000, abs=1e-8)
    on_face = np.array([(0.7, 0.2, 1.0)])  # a straight angle, twice
    assert abs(meshes.winding_numbers(v, np.array([(1, 5, 7), (1, 5, 7)]), on_face)) == pytest.approx(1)


def test_winding_number_on_a_vertex_is_finite():
    v, f = cube_mesh()
    w = meshes.winding_numbers(v, f, np.concatenate([v, [(0.5, 0.5, 1.0), (1, 0.5, 1)]]))
    assert np.isfinite(w).all() and (np.abs(w) <= 1.01).all()


def test_threads_do_not_change_bits():
    v, f = meshes.read(DATA / "nut.ply") if has_trimesh() else sphere_mesh(20)
    f32 = f.astype(np.int32)
    p = np.random.default_rng(0).uniform(v.min(0), v.max(0), (3001, 3))
    for function in (_core.winding_numbers, _core.ray_crossings):
        assert len({function(v, f32, p, threads) for threads in (1, 2, 3, 7)}) == 1


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_crossings_are_winding_numbers_of_closed_meshes(axis):
    v, f = join(
        sphere_mesh(12), sphere_mesh(9, 0.7, (0.5, 0.1, 0)), cube_mesh((-0.2,) * 3, (0.2,) * 3, False)
    )
    p = np.random.default_rng(2).uniform(-1.3, 1.3, (20_000, 3))
    w = meshes.winding_numbers(v, f, p)
    assert (meshes.crossings(v, f, p, axis) == np.rint(w)).all()
    assert set(np.rint(w)) == {0, 1, 2}


def test_crossings_through_vertices_and_edges_are_exact():
    """Rays down the pole of a sphere and along its edges: seams are neither missed nor met twice."""
    v, f = sphere_mesh(12)
    z = np.linspace(-2, 2, 41) + 0.013
    column = np.stack([np.zeros(41), np.zeros(41), z], axis=1)
    assert (meshes.crossings(v, f, column) == (np.abs(z) < 1)).all()
    under = v[:-2] * (1, 1, 0) - (0, 0, 3)
    assert (meshes.crossings(v, f, under) == 0).all()


def test_a_closed_box_is_half_open_like_box():
    """Points on faces, edges and corners: the mesh agrees with Box to the bit, so bodies can touch."""
    g = np.linspace(0, 1, 17)
    x = np.stack(np.meshgrid(g, g, g, indexing="ij"), axis=-1).reshape(-1, 3)
    inside = Mesh(CUBE).contains(x)
    assert (inside == Box((0.25,) * 3, (0.75,) * 3).contains(x)).all()
    assert inside.sum() == 8**3


def test_points_on_level_faces_are_exact():
    """Heights that interpolation would round, and a point of the face itself."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        lower, size = rng.uniform(-1, 1, 3), rng.uniform(0.1, 1, 3)
        box = Box(lower, lower + size)
        x = lower + size * rng.uniform(-0.1, 1.1, (600, 3))
        x[:200, 2], x[200:400, 2], x[400:450, 0] = box.lower[2], box.upper[2], box.upper[0]
        assert (make(*cube_mesh(box.lower, box.upper)).contains(x) == box.contains(x)).all()


@pytest.mark.parametrize(
    "change",
    [
        {"vertices": np.zeros((4, 2))},
        {"points": np.zeros((4, 4))},
        {"faces": np.zeros((1, 4), np.int32)},
        {"faces": np.array([[0, 1, 4]], np.int32)},
        {"faces": np.array([[0, 1, -1]], np.int32)},
        {"threads": 0},
        {"threads": 100_000},
    ],
)
@pytest.mark.parametrize("name", ["winding_numbers", "ray_crossings"])
def test_core_refuses_bad_values(name, change):
    good = {
        "vertices": np.zeros((4, 3)),
        "faces": np.array([[0, 1, 2]], np.int32),
        "points": np.zeros((2, 3)),
    }
    with pytest.raises(ValueError, match=next(iter(change))):
        getattr(_core, name)(*({**good, "threads": 1, **change}).values())


@pytest.mark.parametrize("arguments", [(), (1, 2, 3, 4), (np.zeros((1, 3), np.float32),) * 3 + (1,)])
def test_core_refuses_bad_types(arguments):
    with pytest.raises(TypeError):
        _core.winding_numbers(*arguments)


def test_core_takes_empty_input():
    v, f, p = np.zeros((0, 3)), np.zeros((0, 3), np.int32), np.zeros((0, 3))
    assert _core.winding_numbers(v, f, p, 1) == b"" == _core.ray_crossings(v, f, p, 1)
    assert not any(_core.winding_numbers(v, f, np.ones((3, 3)), 1))
    assert not any(_core.ray_crossings(v, f, np.ones((3, 3)), 1))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308, 5e-324])
def test_core_survives_odd_coordinates(value):
    v, f = cube_mesh()
    v[0, 0] = value
    p = np.array([(value, 0.5, 0.5), (0.5, 0.5, value)])
    for function in (_core.winding_numbers, _core.ray_crossings):
        function(v, f.astype(np.int32), p, 1)


def test_speed():
    """125,000 points and 12 faces at once; 100,000 points and 1,580 faces in far less than 3 s."""
    rng = np.random.default_rng(0)
    cube, bone = Mesh(CUBE), Mesh(DATA / "BONEFemoris_R.stl")
    lower, upper = bone.bounds
    start = time.perf_counter()
    cube.contains(rng.random((125_000, 3)))
    bone.contains(lower + (upper - lower) * rng.random((100_000, 3)))
    assert time.perf_counter() - start < 2  # measured 0.05 s


# --- real meshes --------------------------------------------------------------------------------------------


# file, signed volume, volume inside and how well it is known, warning, counts of the report.
REAL = [
    ("BONEFemoris_R.stl", 6.92474e-5, 6.92474e-5, 0.0, None,
     {"vertices": 4740, "faces": 1580, "duplicate_vertices": 3948, "components": 1}),
    ("sphereWithHole.stl", 13.46, 13.59, 0.10, "not closed: 9 boundary",
     {"faces": 285, "duplicate_vertices": 709, "boundary_edges": 9}),
    ("spider.obj", 1.4318e5, 1.363e5, 0.055e5, "disagreed.*not closed: 72 boundary.*overlap",
     {"faces": 1368, "degenerate_faces": 56, "boundary_edges": 72, "flipped_edges": 10, "components": 18}),
    ("box.obj", 1, 1, 0, None, {"vertices": 8, "faces": 12}),
    ("box_without_lineending.obj", 1, 1, 0, None, {"faces": 12}),
    ("testmixed.obj", 1, 1, 0, None, {"faces": 12}),
    ("cube_usemtl.obj", 1, 1, 0, None, {"faces": 12}),
    ("box_longline.obj", -38.1667, 1, 0, "466 of 478 faces repeat.*inside-out",
     {"faces": 944, "degenerate_faces": 466, "repeated_faces": 466}),
    ("malformed2.obj", 0.8333, 1, 0, "not closed: 4 boundary", {"boundary_edges": 4}),
    pytest.param("nut.ply", 32171.3, 32171.3, 0.0, None,
                 {"faces": 1046, "components": 1}, marks=needs_trimesh),
    # Overlaps of the 15 closed parts count once: 481.2 +- 0.9 from 10^7 points, the signed sum has 1.07 more.
    pytest.param("ant.ply", 482.14, 481.1, 0.9, "overlap",
                 {"components": 15, "boundary_edges": 0}, marks=needs_trimesh),
    # Signed crossings along the three axes agree with the winding number to 0.1 % here.
    pytest.param("airplane.ply", 2.5414e7, 2.51e7, 0.03e7, "not closed: 223 boundary, 1 non-manifold",
                 {"boundary_edges": 223, "nonmanifold_edges": 1, "components": 7}, marks=needs_trimesh),
    pytest.param("cube_binary.ply", 1, 1, 0, None, {"faces": 12}, marks=needs_trimesh),
    pytest.param("cube_uv.ply", 8, 8, 0, None, {"duplicate_vertices": 16}, marks=needs_trimesh),
]  # fmt: skip


@pytest.mark.parametrize("name, signed, inside, known, warning, counts", REAL)
def test_real_mesh(name, signed, inside, known, warning, counts):
    if warning:
        with pytest.warns(UserWarning, match=warning):
            mesh = Mesh(DATA / name)
    else:
        mesh = Mesh(DATA / name)
    assert bool(mesh.report.mended) == bool(warning)
    assert {key: getattr(mesh.report, key) for key in counts} == counts
    assert mesh.report.signed_volume == pytest.approx(signed, rel=1e-4)
    assert mesh.report.watertight == (warning is None or warning == "overlap")
    found, error = volume(mesh, 400_000 if mesh.report.boundary_edges == 0 else 20_000)
    assert abs(found - inside) <= known + 4 * error + 1e-6 * inside


@pytest.mark.parametrize(
    "name, message",
    [
        ("concave_polygon.obj", "no volume: it has no extent along x"),
        ("number_formats.obj", "line 11: .* are not 3 numbers"),
        ("malformed.obj", "line 28: vertex index 0 is out of range"),
        ("testpoints.obj", "no faces"),
        ("box_UTF16BE.obj", "UTF-16"),
        pytest.param("OutOfMemory.off", "trimesh cannot read it", marks=needs_trimesh),
        pytest.param("invalid.off", "no faces|cannot read", marks=needs_trimesh),
        pytest.param("points.ply", "no faces|cannot read", marks=needs_trimesh),
    ],
)
def test_real_file_is_refused(name, message):
    with pytest.raises(FileFormatError, match=message) as caught:
        Mesh(DATA / name)
    assert name in str(caught.value)


# --- meshes broken on purpose -------------------------------------------------------------------------------


def make(v, f):
    return Mesh(vertices=v, faces=f)


def flipped(f, *which):
    f = f.copy()
    for k in which:
        f[k] = f[k][::-1]
    return f


V, F = cube_mesh()
BALL_V, BALL_F = sphere_mesh(16)
BALL = tetrahedra(BALL_V, BALL_F).sum()


@pytest.mark.parametrize(
    "v, f, warning, expected",
    [
        (V, F, None, 1),
        (V, F[:, ::-1], "inside-out", 1),
        (V, np.concatenate([F, F]), "12 of 24 faces repeat", 1),
        (V, np.concatenate([F, F[:, ::-1]]), "every face occurs twice, looking both ways", 1),
        (V, np.concatenate([F, F[:, ::-1], F]), "24 of 36 faces repeat", 1),
        (V, flipped(F, 3), "at 3 edges neighbours disagreed", 1),
        (V, flipped(F, *range(7)), "neighbours disagreed", 1),
        (V, np.concatenate([F, [[0, 0, 1], [2, 2, 2]]]), None, 1),
        (V[F].reshape(-1, 3), np.arange(36).reshape(12, 3), None, 1),
        (V, F[2:], "not closed: 4 boundary", 1),
        (*join((V, F), (V + 5, F)), None, 2),
        (*join((V, F), (V + 5, F[:, ::-1])), "1 of 2 parts were inside-out", 2),
        (*join((V, F), (V + 0.5, F)), "overlap", 1.875),
        (*join((V, F), (V + 0.5, F[:, ::-1])), "1 of 2 parts were inside-out.*overlap", 1.875),
        (*join((V, F), (V * 0.5 + 0.25, F[:, ::-1])), None, 0.875),
        (*join((V, F[:, ::-1]), (V * 0.5 + 0.25, F)), "inside-out", 0.875),
        (*join((V, F), (V * 0.5 + 0.25, F)), "overlap", 1),
        (*join((V, F), (V * 0.5 + 0.25, F[:, ::-1]), (V * 0.25 + 0.375, F)), None, 0.875 + 1 / 64),
        (*join((V, F), (V + np.array([1, 0, 0]), F)), None, 2),
        (*join((V, F), (V + np.array([1, 1, 0]), F)), None, 2),
        (*join((BALL_V, BALL_F), (BALL_V * 1.0001, BALL_F)), "doubled", BALL),
        (BALL_V, BALL_F[5:], "not closed", BALL),
        (BALL_V, flipped(BALL_F, 1, 2, 3, 50, 51, 200), "neighbours disagreed", BALL),
    ],
)  # fmt: skip
def test_broken_mesh_is_filled_rightly(v, f, warning, expected):
    if warning:
        with pytest.warns(UserWarning, match=warning):
            mesh = make(v, f)
    else:
        mesh = make(v, f)
    found, error = volume(mesh, 40_000)
    assert abs(found - expected) <= 4 * error + 0.02 * expected * ("not closed" in (warning or "")) + 1e-3


def mobius():
    n = 12
    s = np.arange(n) * 2 * np.pi / n
    edge = [
        np.stack(
            [(1 + r * np.cos(s / 2)) * np.cos(s), (1 + r * np.cos(s / 2)) * np.sin(s), r * np.sin(s / 2)], 1
        )
        for r in (-0.3, 0.3)
    ]
    f = []
    for k in range(n):
        a, b, c, d = k, k + 1, n + k, n + k + 1
        if k == n - 1:
            b, d = n, 0
        f += [(a, b, c), (c, b, d)]
    return np.concatenate(edge), np.array(f)


def klein():
    n = 10
    u, w = np.meshgrid(np.arange(n) * 2 * np.pi / n, np.arange(n) * 2 * np.pi / n, indexing="ij")
    r = 3 + np.cos(u / 2) * np.sin(w) - np.sin(u / 2) * np.sin(2 * w)
    v = np.stack(
        [r * np.cos(u), r * np.sin(u), np.sin(u / 2) * np.sin(w) + np.cos(u / 2) * np.sin(2 * w)], -1
    )
    f = []
    for i in range(n):
        for j in range(n):
            a, b = n * i + j, n * i + (j + 1) % n
            if i < n - 1:
                c, d = a + n, n * (i + 1) + (j + 1) % n
            else:
                c, d = -j % n, (-j - 1) % n
            f += [(a, c, d), (a, d, b)]
    return v.reshape(-1, 3), np.array(f)


@pytest.mark.parametrize(
    "v, f, message",
    [
        (V, F[:1], "no volume: it has no extent along x"),
        (V, [[0, 1, 6]], "no volume"),
        (V, F[[0, 1, 2, 3]], "uncertain.*boundary edges|no volume"),
        (V * [1, 1, 0], F, "no extent along z"),
        (V * 0 + 1, F, "no extent"),
        (V, [[0, 0, 0]], "no extent|no volume"),
        (BALL_V, BALL_F[::7], "no volume|uncertain"),
        (*mobius(), "no volume|uncertain"),
        (*klein(), "one side only"),
        (np.random.default_rng(0).random((300, 3)), np.arange(300).reshape(100, 3), "no volume|uncertain"),
    ],
)
def test_hopeless_mesh_is_refused(v, f, message):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=message):
            make(v, f)


@pytest.mark.parametrize("shift, scale", [(0, 1e-9), (1e6, 1.0), (0, 1e12), (0, 1e-150), (0, 1e150)])
def test_mesh_far_away_tiny_or_huge(shift, scale):
    v = (BALL_V + shift) * scale
    mesh = make(v, BALL_F)
    x = np.random.default_rng(0).uniform(-1, 1, (4000, 3))
    expected = make(BALL_V, BALL_F).contains(x)
    assert (mesh.contains((x + shift) * scale) != expected).sum() <= (1 if shift else 0)


def test_unused_vertices_do_not_matter():
    mesh = make(np.concatenate([V, [(1e9, 0, 0)]]), F)
    assert mesh.bounds[1].tolist() == [1, 1, 1] and mesh.report.vertices == 9 and mesh.report.mended == ()


def test_zeros_of_either_sign_are_one_vertex():
    soup = V[F].reshape(-1, 3)
    soup[::2][soup[::2] == 0] = -0.0
    mesh = make(soup, np.arange(36).reshape(12, 3))
    assert mesh.report.watertight and mesh.report.duplicate_vertices == 28


def test_quads_as_faces():
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    assert make(V, quads).report.signed_volume == 1


def test_warning_points_at_the_caller():
    with pytest.warns(UserWarning, match="inside-out") as caught:
        make(V, F[:, ::-1])
    assert caught[0].filename == __file__


def test_rows_of_the_report_are_readable():
    report = Mesh(CUBE).report
    assert (report.vertices, report.faces, report.watertight, report.signed_volume) == (98, 192, True, 0.125)
    with pytest.raises(AttributeError):
        report.faces = 3
