"""Reading triangle meshes: the dialects of other programs, and damaged files."""

import codecs
import os
import struct
import subprocess
import sys
import warnings

import numpy as np
import pytest

import mpm
from mesh_samples import DATA, cube_mesh, needs_trimesh
from mpm.meshes import FileFormatError, readers
from mpm.shapes import Box, Mesh

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
FACES = "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.mark.parametrize(
    "text",
    [
        TETRAHEDRON + FACES,
        TETRAHEDRON + FACES.rstrip(),
        (TETRAHEDRON + FACES).replace("\n", "\r\n"),
        "\ufeff" + TETRAHEDRON + FACES,
        "# comment\no name\ng group\ns off\nmtllib x.mtl\n" + TETRAHEDRON + "usemtl m\n" + FACES,
        TETRAHEDRON.replace("\n", " # end\n") + FACES.replace("\n", "  # end\n"),
        TETRAHEDRON.replace(" ", "\t  ") + FACES.replace(" ", "\t"),
        TETRAHEDRON.replace("\n", " 0.5 0.5 0.5\n") + FACES,
        TETRAHEDRON + "f -4 -2 -3\nf -4 -3 -1\nf -4 -1 -2\nf -3 -2 -1\n",
        TETRAHEDRON + "vt 0 0\nf 1/1 3/1 2/1\nf 1/1 2/1 4/1\nf 1/1 4/1 3/1\nf 2/1 3/1 4/1\n",
        TETRAHEDRON + "vn 0 0 1\nf 1//1 3//1 2//1\nf 1//1 2//1 4//1\nf 1/1/1 4/1/1 3/1/1\nf 2 3 4\n",
        TETRAHEDRON + "p 1 2\nl 1 2 3\nf\nf 1\nf 1 2\n" + FACES,
        TETRAHEDRON + "f 1 \\\n3 \\\n2\n" + FACES[8:],
        FACES + TETRAHEDRON,
        TETRAHEDRON + "v 1e300 0 0\n" + FACES,
        "# caf\xe9\n" + TETRAHEDRON + FACES,
    ],
)
def test_obj_dialects(tmp_path, text):
    path = tmp_path / "t.OBJ"
    path.write_bytes(text.encode("utf-8"))
    mesh = Mesh(path)
    assert mesh.report.signed_volume == pytest.approx(1 / 6) and mesh.report.watertight
    assert mesh.contains([(0.1, 0.1, 0.1), (0.5, 0.5, 0.5)]).tolist() == [True, False]


def test_obj_polygons_become_fans(tmp_path):
    """An L-shaped prism: concave polygons are right too, since a fan overlaps itself with opposite signs."""
    corner = [(1, 1), (2, 1), (2, 2), (0, 2), (0, 0), (1, 0)]  # from the reflex corner's neighbour on
    for first in range(6):
        outline = corner[first:] + corner[:first]
        text = "".join(f"v {x} {y} {z}\n" for z in (0, 1) for x, y in outline)
        text += "f 6 5 4 3 2 1\nf 7 8 9 10 11 12\n"
        text += "".join(f"f {k + 1} {(k + 1) % 6 + 1} {(k + 1) % 6 + 7} {k + 7}\n" for k in range(6))
        path = tmp_path / f"l{first}.obj"
        path.write_text(text)
        mesh = Mesh(path)
        assert mesh.report.watertight and mesh.report.signed_volume == pytest.approx(3)
        x = np.random.default_rng(0).uniform((0, 0, 0), (2, 2, 1), (5000, 3))
        inside = Box((0, 0, 0), (1, 2, 1)) | Box((1, 1, 0), (2, 2, 1))
        assert (mesh.contains(x) == inside.contains(x)).all()


def refuses(path, data, message):
    """The reader says what is wrong with a file of these bytes, and which file it is."""
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=message) as caught:
        Mesh(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "no faces"),
        ("v 1 2\n", "line 1: a vertex needs 3 coordinates"),
        ("v 1 2 x\n", "line 1: '1 2 x' are not 3 numbers"),
        ("v 1 2 nan\n", "line 1: .*not finite"),
        ("\nv 1 2 1e999\n", "line 2: .*not finite"),
        (TETRAHEDRON + "f 1 2 5\n", "line 5: vertex index 5 is out of range, the file has 4 vertices"),
        (TETRAHEDRON + "f 1 2 -5\n", "line 5: vertex index -5 is out of range"),
        (TETRAHEDRON + "f 1 2 0\n", "line 5: vertex index 0 is out of range"),
        (TETRAHEDRON + "f 1 2 99999999999999999999\n", "line 5: vertex index 99999999999999999999 is out"),
        (TETRAHEDRON + "f 1 \\\n2 \\\nx\n", "line 5: 'x' is not a corner"),
        (TETRAHEDRON + "f 1 2 3.5\n", "line 5: '3.5' is not a corner"),
        (TETRAHEDRON + "f /1 /2 /3\n", "line 5: '/1' is not a corner"),
        (TETRAHEDRON + "f 1 2", "line 5: ends with a face of 2 corners; the file is cut short"),
        (TETRAHEDRON + "f 1 2 2\n", "no volume"),
        (TETRAHEDRON + "f 1 2 3\n", "no volume"),
        ("\0\1\2\3", "binary"),
    ],
)
def test_obj_is_refused(tmp_path, text, message):
    refuses(tmp_path / "bad.obj", text.encode(), message)


def binary_stl(v, f, header=b"binary"):
    record = np.zeros(len(f), readers._STL_TRIANGLE)
    record["corner"] = v[f]
    return header.ljust(80) + struct.pack("<I", len(f)) + record.tobytes()


def ascii_stl(v, f):
    facets = [
        " facet normal 0 0 0\n  outer loop\n"
        + "".join(f"   vertex {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in v[t])
        + "  endloop\n endfacet\n"
        for t in f
    ]
    return ("solid name\n" + "".join(facets) + "endsolid name\n").encode()


@pytest.mark.parametrize(
    "data",
    [
        binary_stl(*cube_mesh()),
        binary_stl(*cube_mesh(), header=b"solid of a careless program"),
        binary_stl(*cube_mesh()) + b"trailing bytes",
        binary_stl(*cube_mesh(), header=b"solid of a careless program") + b"trailing bytes",
        codecs.BOM_UTF8 + ascii_stl(*cube_mesh()),
        ascii_stl(*cube_mesh()),
        ascii_stl(*cube_mesh()).upper(),
        ascii_stl(*cube_mesh()).replace(b"\n", b"\r\n").rstrip(),
        ascii_stl(*cube_mesh()) + b"solid empty\nendsolid\n",
    ],
)
def test_stl_dialects(tmp_path, data):
    path = tmp_path / "cube.stl"
    path.write_bytes(data)
    mesh = Mesh(path)
    assert mesh.report.signed_volume == pytest.approx(1) and mesh.report.watertight
    assert mesh.report.duplicate_vertices == 36 - 8
    x = np.random.default_rng(0).uniform(-1, 2, (500, 3))
    assert (mesh.contains(x) == Box((0, 0, 0), (1, 1, 1)).contains(x)).all()


GOOD_STL = ascii_stl(*cube_mesh())


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "has 0 bytes"),
        (b"short", "has 5 bytes"),
        (binary_stl(*cube_mesh())[:-1], "claims 12 triangles, which take 684 bytes, but has only 683"),
        (b"x" * 80 + struct.pack("<I", 2**32 - 1) + b"\0" * 50, "claims 4294967295 triangles"),
        (b"x" * 84, "begins with b'x+': an ASCII STL begins with 'solid'"),
        (b"x" * 80 + b"\0" * 4, "no faces"),
        (binary_stl(cube_mesh()[0] * [np.nan, 1, 1], cube_mesh()[1]), "corner 1 of triangle 1 is not finite"),
        (
            binary_stl(*cube_mesh(), header=b"solid")[:-30],
            "claims 12 triangles, .* has only 654: it is cut short",
        ),
        (binary_stl(*cube_mesh()) + bytes(100), "claims 12 triangles, but has 14: the number in it is wrong"),
        (binary_stl(*cube_mesh())[:80] + bytes(4) + bytes(600), "claims 0 triangles, but has 12"),
        (GOOD_STL[5:], r"begins with b' name.* an ASCII STL begins with 'solid'"),
        (GOOD_STL.decode().encode("utf-16"), r"not 8-bit text \(UTF-16"),
        (GOOD_STL[: GOOD_STL.rindex(b"endsolid")], "line 85: ends without 'endsolid'; the file is cut short"),
        (b"solid\nendsolid\n", "no faces"),
        (GOOD_STL[: GOOD_STL.rindex(b"endfacet")], "ends within a facet"),
        (GOOD_STL.replace(b"vertex 0 0 0", b"vertex 0 0", 1), "line 4: a vertex needs 3"),
        (GOOD_STL.replace(b"vertex 0 0 0", b"vertex 0 zero 0", 1), "line 4: .* are not 3 numbers"),
        (GOOD_STL.replace(b"vertex 0 0 0", b"vertex 0 inf 0", 1), "line 4: .*not finite"),
        (GOOD_STL.replace(b"   vertex 0 0 0\n", b"", 1), "line 7: a facet that does not have 3 vertices"),
        (GOOD_STL.replace(b"outer", b"<html>", 1), "line 3: '<html> loop' does not belong"),
        (GOOD_STL.replace(b" endfacet\n", b"", 1), "line 8: the facet before has no end"),
        (GOOD_STL.replace(b" endfacet\n", b""), "line 8: the facet before has no end"),
        (GOOD_STL.replace(b" facet normal 0 0 0\n", b"", 1), "line 3: a vertex outside of a facet"),
        (b"solid\n" + b"vertex 0 0 0\n" * 4 + b"endsolid\n", "line 2: a vertex outside of a facet"),
        (b"solid\nfacet\n" + b"vertex 0 0 0\n" * 4 + b"endsolid\n", "line 7: ends within a facet"),
    ],
)
def test_stl_is_refused(tmp_path, data, message):
    refuses(tmp_path / "bad.stl", data, message)


@pytest.mark.numbers  # for the limit of memory
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_pipes_and_devices_are_not_waited_for(tmp_path):
    """In a process that is ended if it waits."""
    for suffix in ("obj", "stl", "ply"):
        os.mkfifo(tmp_path / f"pipe.{suffix}")
        (tmp_path / f"device.{suffix}").symlink_to("/dev/zero")
    files = [str(path) for path in tmp_path.iterdir()]
    code = "import sys, mpm\nfor file in sys.argv[1:]:\n try: mpm.shapes.Mesh(file)\n except ValueError as e: print(e)"
    limit = "import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
    command = [sys.executable, "-c", limit + code, *files]
    run = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    assert run.stdout.split("\n") == [*(f"{file}: is not a regular file" for file in files), ""]


def test_ply_that_is_cut_short(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    mesh = trimesh.Trimesh(*cube_mesh(), process=False)
    text, binary = (mesh.export(file_type="ply", encoding=kind) for kind in ("ascii", "binary"))
    refuses(
        tmp_path / "a.ply",
        text.rstrip().rpartition(b"\n")[0] + b"\n",
        "claims 12 faces, but has 11: it is cut",
    )
    refuses(tmp_path / "a.ply", binary[:-9], "unexpected length; it is cut short, or has bytes after its end")
    (tmp_path / "a.ply").write_bytes(codecs.BOM_UTF8 + text)
    assert Mesh(tmp_path / "a.ply").report.watertight


def test_coordinates_that_are_too_far_away_for_the_digits_of_a_file(tmp_path):
    """A closed mesh becomes a coarse one, and an open one does not only lack faces."""
    ball = mpm.shapes.Ball((0, 0, 0), 1)
    v, cells = mpm.fem.mesh(ball, 1 / 4)
    f = mpm.shapes.Cells(v, cells)._outline()
    out = (
        np.einsum("ij,ij->i", np.cross(v[f[:, 1]] - v[f[:, 0]], v[f[:, 2]] - v[f[:, 0]]), v[f].sum(axis=1))
        > 0
    )
    f[~out] = f[~out, ::-1]
    path = tmp_path / "far.stl"
    for place, faces in ((0, f), (5e6, f), (5e6, f[::2])):
        path.write_bytes(binary_stl(v + place, faces))
        if not place:
            assert not Mesh(path).report.mended
        elif faces is f:
            with pytest.warns(
                UserWarning, match=r"faces have no area: coordinates reach 5e\+06 m, .* is 2 m large"
            ):
                Mesh(path)
        else:
            with pytest.raises(
                ValueError, match=r"; \d+ of \d+ faces have no area: coordinates reach 5e\+06 m"
            ):
                Mesh(path)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_terrain_is_told_what_makes_a_solid_of_it(axis):
    place = np.stack(np.meshgrid(*[np.arange(9.0)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    v = np.insert(place, axis, 3 + 0.5 * np.sin(place[:, 0]), axis=1)
    k = np.arange(72).reshape(8, 9)[:, :8].ravel()
    f = np.concatenate([np.stack([k, k + 9, k + 10], axis=1), np.stack([k, k + 10, k + 1], axis=1)])
    with pytest.raises(
        ValueError, match=rf"faces look along {'xyz'[axis]}, as those of a terrain: mpm.shapes.Terr"
    ):
        Mesh(vertices=v, faces=f)


LONG = "x" * 100_000


@pytest.mark.parametrize(
    "name, text",
    [
        ("a.obj", f"v 1 2 {LONG}"),
        ("a.obj", f"{TETRAHEDRON}f 1 2 {LONG}"),
        ("a.obj", f"{TETRAHEDRON}f 1 2 {'9' * 4000}"),
        ("a.stl", f"solid\nfacet\nvertex 1 2 {LONG}"),
        ("a.stl", f"solid\n{LONG}"),
        pytest.param("a.off", f"OFF\n{LONG}", marks=needs_trimesh),
        pytest.param("a.ply", f"ply\nformat ascii 1.0\nelement {LONG}", marks=needs_trimesh),
    ],
)
def test_messages_do_not_repeat_what_is_long(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(FileFormatError, match=name) as caught:
        Mesh(tmp_path / name)
    assert len(str(caught.value)) < 600 + len(str(tmp_path))


def test_missing_file_directory_and_package(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.obj"):
        Mesh(tmp_path / "nowhere.obj")
    with pytest.raises(FileFormatError, match="is a directory"):
        Mesh(tmp_path)
    other = tmp_path / "mesh.ply"
    other.write_bytes(b"ply\n")
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(ImportError, match=r"pip install trimesh \(the extra 'mesh'\)"):
        Mesh(other)


@needs_trimesh
@pytest.mark.parametrize("name", ["empty.ply", "empty.off", "garbage.ply", "garbage.off", "unknown.xyz123"])
def test_trimesh_formats_are_refused(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"" if name.startswith("empty") else b"\x93 garbage \x00" * 20)
    with pytest.raises(FileFormatError, match=name):
        Mesh(path)


@pytest.mark.parametrize("name", ["box.obj", "sphereWithHole.stl", "BONEFemoris_R.stl"])
def test_damaged_files_never_do_worse_than_raise(tmp_path, name):
    """Files cut short and with flipped bytes: a mesh, or a ValueError that names the file."""
    data = (DATA / name).read_bytes()
    rng = np.random.default_rng(5)
    path = tmp_path / name
    for _ in range(25):
        damaged = bytearray(data[: rng.integers(1, len(data) + 1)])
        for k in rng.integers(len(damaged), size=rng.integers(4)):
            damaged[k] = rng.integers(256)
        path.write_bytes(damaged)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                Mesh(path)
            except FileFormatError as error:
                assert name in str(error)
