"""`shapes.Points.from_file`: files of this package, of other programs, and damaged ones."""

import io
import pickle
import random
import struct
import zipfile

import numpy as np
import pytest

import mpm
import scenes
from mpm import materials, shapes

plyfile = pytest.importorskip("plyfile")
Points = shapes.Points
SUFFIXES = ("bgeo", "csv", "geo", "npz", "ply")
X = np.array([[0.25, 0.5, 0.0], [0.125, -1.5, 0.0], [1e-3, 2.0, 0.0]])


def make(dim):
    scene = mpm.Scene([0] * dim, [1] * dim)
    scene.add(shapes.Ball([0.5] * dim, 0.2), materials.Snow())
    sim = mpm.Simulation(scene, dx=1 / 8, threads=1)
    sim.step(2)
    return sim


@pytest.mark.parametrize("dim", scenes.DIMS)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_exported_can_be_a_body(tmp_path, dim, suffix):
    sim = make(dim)
    (path,) = mpm.export(sim, tmp_path / f"f_{{}}.{suffix}")
    points = Points.from_file(path)
    exact = suffix in ("csv", "npz", "ply")
    x, volume = (np.array(sim.particles[name], dtype=np.float64) for name in ("x", "volume"))
    assert points.dimension == dim and (np.array_equal(points.x, x) or not exact)
    assert np.allclose(points.x, x, rtol=6e-8, atol=0) and np.allclose(points.volume, volume, rtol=6e-8)
    assert Points.from_file(str(path), volume=2.0).total == 2 * len(x)
    scene = mpm.Scene([0] * dim, [1] * dim)
    scene.add(points, materials.Snow())
    mass = mpm.Simulation(scene, dx=1 / 8, threads=1).totals().mass
    assert mass == pytest.approx(400 * volume.sum(), rel=1e-6)


@pytest.mark.parametrize(
    "table",
    [
        "x,y,z\n0.25,0.5,0\n0.125,-1.5,0\n0.001,2,0\n",
        "P.x,P.y,P.z,v.x\n0.25,0.5,0,7\n0.125,-1.5,0,8\n0.001,2,0,9\n",
        '"ptnum","P[x]","P[y]","P[z]"\r\n0,0.25,0.5,0\r\n1,0.125,-1.5,0\r\n2,0.001,2,0\r\n',
        '\ufeff"Points:0","Points:1","Points:2"\n0.25,0.5,0\n0.125,-1.5,0\n1e-3,2,0\n',
        "# a circle\nPx;Py\n0.25;0.5\n\n.125;-1.5\n1E-3;+2\n",
        "0.25 0.5\n  0.125\t-1.5\n0.001   2",
        "0.25,0.5\n0.125,-1.5\n0.001,2\n",
        "tx\tty\n0.25\t0.5\n0.125\t-1.5\n0.001\t2\n",
    ],
)
def test_tables_of_other_programs(tmp_path, table):
    path = tmp_path / "circle.CSV"
    path.write_text(table, encoding="utf-8")
    assert np.array_equal(Points.from_file(path).x, X[:, :2])


GEO = """PGEOMETRY V5
NPoints 3 NPrims 1
NPointGroups 0 NPrimGroups 0
NPointAttrib 3 NVertexAttrib 0 NPrimAttrib 1 NAttrib 0
PointAttrib
v 3 vector 0 0 0
name 1 index 2 one two
volume 1 float 0
0.25 0.5 0 1 (0 0 0  0 1)
0.25 -3 0 2 (0 0 0  1 2)
0.001 2 0 1 (0 0 0  0 3)
PrimitiveAttrib
generator 1 index 1 papi
Part 3 0 1 2 [0]
beginExtra
endExtra
"""


def bgeo(records=X, count=3):
    """With an index, a vector and what may follow the points."""
    head = b"BgeoV" + struct.pack(">i8i", 5, count, 1, 0, 0, 2, 0, 1, 0)
    head += struct.pack(">H", 4) + b"name" + struct.pack(">Hii", 1, 4, 2)
    head += b"".join(struct.pack(">H", 3) + text for text in (b"one", b"two"))
    head += struct.pack(">H", 1) + b"v" + struct.pack(">Hi3f", 3, 5, 0, 0, 0)
    rows = b"".join(struct.pack(">4fi3f", *x, 1, 0, 1, 2, 3) for x in records)
    return head + rows + b"primitives\x00\xff"


def test_houdini_files(tmp_path):
    path = tmp_path / "a.geo"
    path.write_text(GEO)
    points = Points.from_file(path)
    assert np.array_equal(points.x, X[:, :2]) and points.volume.tolist() == [1, 2, 3]
    path = tmp_path / "a.bgeo"
    path.write_bytes(bgeo())
    assert np.array_equal(Points.from_file(path).x, X.astype(np.float32)[:, :2])
    path.write_bytes(b'["fileversion","19.5"]')
    with pytest.raises(mpm.FileFormatError, match=r"a\.bgeo: is of Houdini's newer format"):
        Points.from_file(path)


@pytest.mark.parametrize(("text", "order"), [(True, "="), (False, "<"), (False, ">")])
def test_ply_of_other_programs(tmp_path, text, order):
    rows = np.array(
        [(i, *x, 3 * i) for i, x in enumerate(X)],
        dtype=[("k", "u1"), *((c, "f8") for c in "xyz"), ("w", "i2")],
    )
    other = np.array([(1.5,), (2.5,)], dtype=[("far", "f4")])
    elements = [plyfile.PlyElement.describe(other, "camera"), plyfile.PlyElement.describe(rows, "vertex")]
    faces = np.array([([0, 1, 2],)], dtype=[("vertex_indices", "O")])
    elements.append(plyfile.PlyElement.describe(faces, "face"))
    path = tmp_path / "a.ply"
    plyfile.PlyData(elements, text=text, byte_order=order, comments=["hello"]).write(path)
    assert np.array_equal(Points.from_file(path).x, X[:, :2])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_of_other_programs(tmp_path, save):
    path = tmp_path / "a.npz"
    for arrays in ({"positions": X}, {"anything": np.asfortranarray(X)}, {"P": X.astype(">f4"), "other": X}):
        save(path, **arrays)
        assert np.allclose(Points.from_file(path).x, X[:, :2], rtol=1e-7)
    assert Points.from_file(path, dimension=3).dimension == 3
    X3 = X + np.array([[0, 0, 0], [0, 0, 0.5], [0, 0, 0]])
    save(path, x=X3)
    assert Points.from_file(path).dimension == 3
    with pytest.raises(ValueError, match="dimension = 2: the points"):
        Points.from_file(path, dimension=2)


class Bomb:
    def __reduce__(self):
        return (print, ("unpickled",))


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return stream.getvalue()


def npy(header):
    header = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


def objects():
    stream = io.BytesIO()
    np.save(stream, np.array([[Bomb(), 1]], dtype=object), allow_pickle=True)
    return stream.getvalue()


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 3), }"
LONG_NAME = bytearray(zipped(x=random.Random(1).randbytes(9999)))  # its name takes up most of the array
LONG_NAME[26:28] = (9000).to_bytes(2, "little")
BAD = {
    "empty.csv": b"",
    "names.csv": b"x,y\n",
    "word.csv": b"x,y\n1,2\n1,two\n",
    "short.csv": b"x,y,z\n1,2\n",
    "twice.csv": b"x,y,a,a\n1,2,3,4\n",
    "none.csv": b"a,b\n1,2\n",
    "wide.csv": b"1,2,3,4\n",
    "nan.csv": b"x,y\n1,2\nnan,1\n",
    "quote.csv": b'x,y\n1,"2\n',
    "utf16.csv": "x,y\n1,2\n".encode("utf-16"),
    "volume.csv": b"x,y,volume\n1,2,-1\n",
    "no.geo": b"PGEOMETRY V4\n",
    "cut.geo": GEO[: GEO.index("0.25 -3")].encode(),
    "count.geo": GEO.replace("NPoints 3", "NPoints 99999999999").encode(),
    "kind.geo": GEO.replace("vector", "sector").encode(),
    "few.geo": GEO.replace("(0 0 0  0 1)", "(0 0 0)").encode(),
    "none.geo": GEO.replace("NPoints 3", "NPoints 0").encode(),
    "claims.bgeo": bgeo(count=2**31 - 1),
    "negative.bgeo": bgeo(count=-1),
    "cut.bgeo": bgeo()[:-60],
    "head.bgeo": bgeo()[:50],
    "vdb.bgeo": b"\x7fNSJ",
    "no.ply": b"plywood",
    "head.ply": b"ply\nformat ascii 1.0\nelement vertex 1\nproperty string x\nend_header\n1\n",
    "count.ply": b"ply\nformat ascii 1.0\nelement vertex 9\nproperty float x\nproperty float y\nend_header\n1 2\n",
    "list.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 1\nproperty list uchar int x\nend_header\n1",
    "bare.ply": b"ply\nformat ascii 1.0\nelement vertex 1\nend_header\n1\n",
    "none.ply": b"ply\nformat ascii 1.0\nelement face 1\nproperty float x\nend_header\n1\n",
    "no.npz": b"PK\x03\x04 not really",
    "objects.npz": zipped(x=objects()),
    "huge.npz": zipped(x=npy(HUGE)),
    "header.npz": zipped(x=npy("__import__('os').system('true')")),
    "bracket.npz": zipped(x=npy("{'descr': ('<f8'")),
    "flat.npz": zipped(x=npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }") + bytes(8)),
    "other.npz": zipped(a=b"", b=b""),
    "name.npz": bytes(LONG_NAME),
    "pickle.npz": pickle.dumps([1, 2]),
}


@pytest.mark.parametrize("name", BAD)
def test_damaged_files_are_refused_by_name(tmp_path, name, capsys):
    path = tmp_path / name
    path.write_bytes(BAD[name])
    with pytest.raises(mpm.FileFormatError, match=name.replace(".", r"\.")) as told:
        Points.from_file(path)
    assert len(str(told.value)) < len(str(path)) + 600
    assert "unpickled" not in capsys.readouterr().out


def test_paths_that_are_none(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.bgeo, \.csv"):
        Points.from_file(tmp_path / "a.txt")
    with pytest.raises(FileNotFoundError, match=r"a\.ply"):
        Points.from_file(tmp_path / "a.ply")
    (tmp_path / "b.ply").mkdir()
    with pytest.raises((mpm.FileFormatError, IsADirectoryError), match=r"b\.ply"):
        Points.from_file(tmp_path / "b.ply")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_damage_is_refused_or_read(tmp_path, suffix):
    """Bytes changed, cut out, doubled: nothing else is raised, and little time is taken."""
    (path,) = mpm.export(make(2), tmp_path / f"f_{{}}.{suffix}")
    whole, rng, refused = path.read_bytes(), random.Random(suffix), 0
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 1, 4))):
            at = rng.randrange(rng.choice((len(data), min(len(data), 300))))
            match rng.randrange(4):
                case 0:
                    data[at] = rng.randrange(256)
                case 1:
                    del data[at : at + rng.choice((1, 4, 1000))]
                case 2:
                    data[at:at] = data[at : at + rng.choice((1, 4, 1000))]
                case _:
                    data[at : at + 4] = rng.choice(
                        (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"9999", b"\n\n,,")
                    )
        path.write_bytes(data)
        try:
            Points.from_file(path)
        except mpm.FileFormatError as error:
            assert path.name in str(error)
            refused += 1
        except ValueError as error:  # a point that repeats is no error; other z are, for a plane
            pytest.fail(f"{error!r}")
    assert refused > 20
