"""Files for other programs, read back by readers that are not ours, or written from the formats' descriptions."""

import csv
import os
import re
import struct

import numpy as np
import pytest

import mpm
import scenes
from mpm import materials, shapes

plyfile = pytest.importorskip("plyfile")
pytest.importorskip("h5py")

dims = pytest.mark.parametrize("dim", scenes.DIMS)
dtypes = pytest.mark.parametrize("dtype", scenes.DTYPES)
SUFFIXES = ("bgeo", "geo", "npz", "ply", "vtp")


def make(dim, dtype="float64", **numerics):
    """Snow and a fluid, so that there are all fields."""
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0] * (dim - 1) + [-9.81])
    scene.add(shapes.Box([0.2] * dim, [0.4] * dim), materials.Snow(), velocity=lambda x: x - 0.1)
    scene.add(shapes.Box([0.5] * dim, [0.7] * dim), scenes.MATERIALS["fluid"])
    sim = mpm.Simulation(scene, dx=1 / 16, dtype=dtype, **numerics)
    sim.step(20)
    return sim


def spatial(sim, name):
    """What files for space are to hold, computed anew."""
    values = sim.compute(name) if name in ("speed", "stress") else np.array(sim.particles[name])
    if values.ndim == 1 or sim.dimension == 3:
        return values.reshape(len(values), {1: 1, 2: 3, 3: 9}[values.ndim])
    if values.ndim == 2:
        return np.column_stack([values, np.zeros(len(values), values.dtype)])
    full = np.zeros((len(values), 3, 3), values.dtype)
    full[:, :2, :2] = values
    if name == "F":
        full[:, 2, 2] = 1
    if name == "stress":  # three times the pressure is the trace
        full[:, 2, 2] = -3 * sim.compute("pressure") - values[:, 0, 0] - values[:, 1, 1]
    return full.reshape(len(values), 9)


# --- readers -----------------------------------------------------------------------------------------------------


def read_npz(path, sim):
    with np.load(path) as file:
        assert file["time"] == sim.time and file["step"] == sim.steps and file["dimension"] == sim.dimension
        rest = {name: file[name] for name in file.files if name not in ("time", "step", "dimension")}
        for name, values in rest.items():
            wanted = sim.compute(name) if name in ("stress", "speed") else sim.particles[name]
            assert values.dtype == wanted.dtype and np.array_equal(values, wanted), name
        return {name: spatial(sim, name) for name in rest}


def read_ply(path, sim):
    ply = plyfile.PlyData.read(path)
    assert ply.byte_order == "<" and not ply.text and [e.name for e in ply.elements] == ["vertex"]
    assert ply.comments == [f"time {sim.time!r}", f"step {sim.steps}"]
    columns, found = ply["vertex"].data, {}
    for column in columns.dtype.names:
        name = "x" if column in "xyz" else re.sub(r"^v[xyz]$", "v", re.sub(r"_[xyz]{2}$", "", column))
        found.setdefault(name, []).append(columns[column])
    return {name: np.stack(parts, axis=1) for name, parts in found.items()}


KINDS = {0: ">f4", 1: ">i4", 5: ">f4"}


class Bgeo:
    """A reader of Houdini's classic binary format, version 5, written from its description."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, layout):
        values = struct.unpack_from(">" + layout, self.data, self.at)
        self.at += struct.calcsize(">" + layout)
        return values

    def read(self):
        assert self.take("5s") == (b"BgeoV",)
        (version,) = self.take("i")
        points, prims, point_groups, prim_groups, attributes, vertex, prim, detail = self.take("8i")
        assert version == 5 and not any((prims, point_groups, prim_groups, vertex, prim, detail))
        fields = [("x", ">f4", (4,))]
        kinds = {}
        for _ in range(attributes):
            (length,) = self.take("H")
            (name,) = self.take(f"{length}s")
            size, kind = self.take("Hi")
            assert self.take(f"{size}i") == (0,) * size  # defaults
            fields.append((name.decode(), KINDS[kind], (size,)))
            kinds[name.decode()] = kind
        records = np.frombuffer(self.data, np.dtype(fields), points, self.at)
        self.at += records.nbytes
        assert self.data[self.at :] == b"\x00\xff"
        assert (records["x"][:, 3] == 1).all()
        assert kinds.get("v", 5) == 5 and kinds.get("id", 1) == kinds.get("material", 1) == 1
        return {"x": records["x"][:, :3], **{name: records[name] for name, _, _ in fields[1:]}}


def read_bgeo(path, sim):
    return Bgeo(path.read_bytes()).read()


def read_geo(path, sim):
    words = iter(re.findall(r"[()]|[^\s()]+", path.read_text("ascii")))

    def expect(*wanted):
        assert [next(words) for _ in wanted] == list(wanted)

    expect("PGEOMETRY", "V5", "NPoints")
    n = int(next(words))
    expect("NPrims", "0", "NPointGroups", "0", "NPrimGroups", "0", "NPointAttrib")
    attributes = int(next(words))
    expect("NVertexAttrib", "0", "NPrimAttrib", "0", "NAttrib", "0")
    layout = []
    if attributes:
        expect("PointAttrib")
    for _ in range(attributes):
        name, size, kind = next(words), int(next(words)), next(words)
        expect(*["0"] * size)
        layout.append((name, size, {"float": np.float32, "vector": np.float32, "int": np.int32}[kind]))
    found = {"x": np.empty((n, 3), np.float32), **{name: np.empty((n, k), t) for name, k, t in layout}}
    for row in range(n):
        found["x"][row] = [next(words) for _ in range(3)]
        expect("1")
        if layout:
            expect("(")
            for name, size, _ in layout:
                found[name][row] = [next(words) for _ in range(size)]
            expect(")")
    expect("beginExtra", "endExtra")
    assert not list(words)
    return found


READERS = {"npz": read_npz, "ply": read_ply, "bgeo": read_bgeo, "geo": read_geo}
EXACT = {"npz", "ply"}  # the others are of single precision


@dims
@dtypes
@pytest.mark.parametrize("suffix", READERS)
def test_a_state_is_read_back(tmp_path, dim, dtype, suffix):
    sim = make(dim, dtype)
    before = sim.state_hash()
    names = [*sim.particles.fields, "stress"]
    (path,) = mpm.export(sim, tmp_path / f"a.{suffix}", fields=names)
    assert path == tmp_path / f"a.{suffix}" and os.listdir(tmp_path) == [path.name]
    found = READERS[suffix](path, sim)
    assert set(found) == set(names)
    for name, values in found.items():
        wanted = spatial(sim, name)
        assert values.shape == wanted.shape, name
        if name == "stress":  # whose zz is a difference here
            assert np.allclose(values, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
        elif suffix in EXACT:
            assert np.array_equal(values, wanted), name
        else:
            assert np.array_equal(values, wanted.astype(values.dtype)), name
        if suffix in EXACT and name not in ("id", "stress"):
            assert values.dtype == wanted.dtype
    assert sim.state_hash() == before


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("fields", [(), ("v",), ("id", "speed")])
def test_chosen_fields(tmp_path, suffix, fields):
    sim = make(2)
    (path,) = mpm.export(sim, str(tmp_path / f"a.{suffix}"), fields=fields)
    assert set(READERS[suffix](path, sim)) == {"x", *fields}


@pytest.mark.parametrize("suffix", READERS)
def test_no_particles(tmp_path, suffix):
    sim = make(2)
    sim.particles.delete(np.ones(len(sim.particles), bool))
    (path,) = mpm.export(sim, tmp_path / f"a.{suffix}")
    assert all(len(values) == 0 for values in READERS[suffix](path, sim).values())


@dims
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_replay_exports_what_the_simulation_would_have(tmp_path, dim, suffix):
    sim = make(dim)
    fields = [*sim.particles.fields, "pressure", "stress"]
    direct = []
    with sim.record(tmp_path / "a.vtkhdf", fps=50, fields=fields):
        for i, _ in sim.frames(duration=0.04, fps=50):
            direct += mpm.export(sim, tmp_path / f"d{i}.{suffix}", fields=sorted(fields))
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        again = mpm.export(frames, tmp_path / f"r{{}}.{suffix}", fields=sorted(fields))
        assert [path.name for path in again] == [f"r{k}.{suffix}" for k in range(3)] and len(direct) == 3
        for a, b in zip(direct, again, strict=True):
            assert a.read_bytes() == b.read_bytes()
        (one,) = mpm.export(frames[1], tmp_path / f"one.{suffix}", fields=("speed",))  # computed from v
        mpm.export(frames[1:2], tmp_path / f"two.{suffix}", fields=("speed",))
        assert one.read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()
        assert mpm.export(frames, tmp_path / f"e/{suffix}".replace("/", "{:03d}.")) and len(frames) == 3
        assert mpm.export(frames[:0], tmp_path / f"n{{}}.{suffix}") == []


@dims
def test_totals_as_a_table(tmp_path, dim):
    sim = make(dim)
    with sim.record(tmp_path / "a.vtkhdf", fps=50):
        list(sim.frames(duration=0.04, fps=50))
    (path,) = mpm.export(sim, tmp_path / "history.csv")
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    columns = sim.history.columns()
    assert head == list(columns) and np.array_equal(np.array(rows, float).T, list(columns.values()))
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        mpm.export(frames, tmp_path / "frames.csv")
        with (tmp_path / "frames.csv").open(newline="") as file:
            table = list(csv.DictReader(file))
        assert [float(row["time"]) for row in table] == frames.times.tolist()
        assert [float(row["energy"]) for row in table] == frames.totals["energy"].tolist()
        assert [float(row["momentum_y"]) for row in table] == frames.totals["momentum"][:, 1].tolist()
        with pytest.raises(ValueError, match="source is one frame"):
            mpm.export(frames[0], tmp_path / "b.csv")
        with pytest.raises(ValueError, match=r"fields = \('v',\): must not be given for a \.csv of totals"):
            mpm.export(frames, tmp_path / "b.csv", fields=("v",))


@dims
def test_particles_as_tables(tmp_path, dim):
    sim = make(dim)
    with sim.record(tmp_path / "a.vtkhdf", fps=50, fields=("v", "stress")):
        sim.run(0.03)
    (path,) = mpm.export(sim, tmp_path / "now_{:02d}.csv")
    assert path.name == "now_00.csv"
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    table = dict(zip(head, np.array(rows, float).T, strict=True))
    assert head[:3] == ["x", "y", "z"] and len(rows) == len(sim.particles) and "F_zz" in head
    for name in sim.particles.fields:
        wanted = spatial(sim, name).reshape(len(rows), -1)
        starts = (
            ("x", "y", "z") if name == "x" else [n for n in head if n == name or n.startswith(f"{name}_")]
        )
        assert np.array_equal(np.stack([table[n] for n in starts], axis=1), wanted), name
    assert np.array_equal(table["F_xy"], sim.particles.F[:, 0, 1])  # row, column
    assert np.array_equal(table["v_y"], sim.particles.v[:, 1])
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        files = mpm.export(frames, tmp_path / "{}.csv", fields=["v"])
        assert [file.name for file in files] == [f"{k}.csv" for k in range(len(frames))]
        with files[-1].open(newline="") as file:
            assert [float(row["v_y"]) for row in csv.DictReader(file)] == frames[-1].v[:, 1].tolist()
        with pytest.raises(ValueError, match=r"pattern = '\{\}\{\}\.csv'"):
            mpm.export(frames, "{}{}.csv")


# --- what is refused, and what is left ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "a.ply",
            "{}{}.ply",
            "{x}.ply",
            "{0.real}.ply",
            "{!r}.ply",
            "{:s}.ply",
            "{.ply",
            "}.ply",
            "{0[0]}.ply",
        ),
        *("a{}.obj", "a{}", "", "{}.PLZ", "a\0{}.ply"),
    ],
)
def test_patterns_that_name_no_sequence_are_refused(tmp_path, monkeypatch, pattern):
    sim = make(2)
    monkeypatch.chdir(tmp_path)
    with sim.record("a.vtkhdf", fps=50):
        sim.run(0.04)
    with mpm.replay("a.vtkhdf") as frames, pytest.raises(ValueError, match="pattern"):
        mpm.export(frames, pattern)
    assert os.listdir(tmp_path) == ["a.vtkhdf"]


def test_a_pattern_that_names_a_file_twice_is_refused(tmp_path):
    sim = make(2)
    with sim.record(tmp_path / "a.vtkhdf", fps=1e6):
        sim.step(11)
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        with pytest.raises(ValueError, match="gives 11 for 12 frames"):
            mpm.export(frames, tmp_path / "{:.0e}.ply")  # 10 and 11 are 1e+01
        assert os.listdir(tmp_path) == ["a.vtkhdf"]
        assert len(set(mpm.export(frames[:11], tmp_path / "{:.0e}.ply"))) == 11


def test_names_as_long_as_they_may_be(tmp_path):
    sim = make(2)
    paths = [tmp_path / ("n" * (255 - len(suffix)) + suffix) for suffix in (".vtkhdf", ".npz")]
    sim.record(paths[0], fps=1).close()
    mpm.export(sim, paths[1])
    assert sorted(os.listdir(tmp_path)) == sorted(path.name for path in paths)


def test_a_directory_is_made(tmp_path):
    mpm.export(make(2), tmp_path / "new" / "folder" / "a.ply")
    mpm.export(make(2), tmp_path / "totals" / "a.csv")
    assert (tmp_path / "new" / "folder" / "a.ply").stat().st_size and (tmp_path / "totals" / "a.csv").exists()
    with pytest.raises(ValueError, match="pattern"):
        mpm.export(make(2), tmp_path / "other" / "a.xyz")
    assert not (tmp_path / "other").exists()  # nothing is made for a wrong name


def test_a_number_that_the_format_cannot_hold(tmp_path):
    from mpm.io.formats.integers import as_int32

    assert as_int32("id", np.array([2**31 - 1])).dtype == np.int32
    with pytest.raises(ValueError, match="fields contains 'id', which has values above 2147483647"):
        as_int32("id", np.array([2**31]))


@pytest.mark.parametrize("suffix", [*SUFFIXES, "csv"])
def test_an_error_leaves_the_old_file(tmp_path, monkeypatch, suffix):
    from mpm.io import formats, table

    def fail(file, state):
        file.write(b"half")
        raise OSError("disk full")

    path = tmp_path / f"a.{suffix}"
    path.write_text("old")
    monkeypatch.setitem(formats.WRITERS, f".{suffix}", fail)
    monkeypatch.setattr(table, "write", fail)
    with pytest.raises(OSError, match="disk full"):
        mpm.export(make(2), path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", [*SUFFIXES, "csv"])
def test_names_of_fields_are_utf_8(tmp_path, suffix):
    """Other solvers may have such ones."""
    from mpm.io import formats
    from mpm.solver.state import State

    fields = {"x": np.zeros((2, 2)), "Größe": np.arange(2.0)}
    with (tmp_path / "a").open("wb") as file:
        formats.WRITERS[f".{suffix}"](file, State(0.0, 0, 2, fields, {}))
    assert "Größe".encode() in (tmp_path / "a").read_bytes()


def test_a_bar_counts_the_files(tmp_path, capsys):
    sim = make(2)
    with sim.record(tmp_path / "a.vtkhdf", fps=50):
        sim.run(0.04)
    with mpm.replay(tmp_path / "a.vtkhdf") as frames:
        mpm.export(frames, tmp_path / "{}.ply", progress=True)
    assert "3/3" in capsys.readouterr().err
