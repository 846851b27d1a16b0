"""What is drawn, viewed and recorded of a mesh: filled triangles, cells in files."""

import pickle
import re

import numpy as np
import pytest
from matplotlib.tri import LinearTriInterpolator, Triangulation

import mpm
from loops import each
from mpm import _core, fem, viz
from mpm.errors import FileFormatError
from mpm.solver.state import surface
from mpm.viewer.bodies import by_body
from mpm.viz import color as colors
from mpm.viz import render
from viewers import Browser

every_dim = each("d", [2, 3])
SOLID = mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000)


def bending(d, **options):
    """A bent bar held at one end, beside a ball."""
    scene = mpm.Scene([0] * d, [1] * d, gravity=[0, -9.81, 0][:d])
    scene.add(mpm.shapes.Box([0.1] * d, [0.9, *[0.3] * (d - 1)]), SOLID)
    scene.add(mpm.shapes.Ball([0.5, 0.7, 0.5][:d], 0.15), SOLID, velocity=[0.5, 0, 0][:d])
    scene.add_collider(mpm.shapes.Box([-1] * d, [0.2, *[0.35] * (d - 1)]), contact="sticky", name="clamp")
    sim = fem.Simulation(scene, spacing=0.1, **options)
    sim.run(0.05)
    return sim


# --- files ------------------------------------------------------------------------------------------------------------


@every_dim
@each("dtype", ["float64", "float32"])
@each("compression", [0, 4])
def test_recordings_have_the_cells(d, dtype, compression, tmp_path):
    """As VTK reads an UnstructuredGrid: the cells once for all frames, their arrays where the offsets say."""
    h5py = pytest.importorskip("h5py")
    sim, path, x = bending(d, dtype=dtype), tmp_path / "a.vtkhdf", []
    with sim.record(path, fps=100, fields=("v", "stress"), compression=compression):
        x.append(sim.particles.x.copy())
        for _ in range(3):
            sim.run(0.01)
            x.append(sim.particles.x.copy())
    nodes, n = sim.elements.nodes, len(sim.particles)
    m = len(nodes)
    with h5py.File(path) as file:
        root, steps = file["VTKHDF"], file["VTKHDF/Steps"]
        assert root.attrs["Type"] == b"UnstructuredGrid" and steps.attrs["NSteps"] == 4
        assert [root[k][:].tolist() for k in ("NumberOfPoints", "NumberOfCells")] == [[n], [m]]
        assert root["NumberOfConnectivityIds"][:].tolist() == [nodes.size]
        assert np.array_equal(root["Connectivity"][:].reshape(nodes.shape), nodes)
        assert np.array_equal(root["Offsets"][:], (d + 1) * np.arange(m + 1))
        assert (
            np.array_equal(root["Types"][:], np.full(m, {2: 5, 3: 10}[d])) and root["Types"].dtype == np.uint8
        )
        for name in ("CellOffsets", "ConnectivityIdOffsets"):
            assert steps[name][:].tolist() == [[0]] * 4
        assert steps["PointOffsets"][:].tolist() == [0, n, 2 * n, 3 * n] and len(root["Points"]) == 4 * n
    for repaired in (False, True):
        with mpm.replay(path) as replay:
            assert len(replay) == 4
            for frame, there in zip(replay, x, strict=True):
                assert np.array_equal(frame.cells, nodes) and np.array_equal(frame.x, there)
        if not repaired:
            mpm.io.vtkhdf.repair(path)
    with pytest.raises(ValueError, match="is closed"):
        _ = frame.cells


def exported(path):
    """Vertices (n, 3) and faces (k, 3) of a PLY, as its header describes them."""
    data = path.read_bytes()
    end = data.index(b"end_header\n") + len("end_header\n")
    head = data[:end].decode().splitlines()
    n, k = (int(line.split()[-1]) for line in head if line.startswith("element"))
    assert head[-2] == "property list uchar int vertex_indices"
    types = {"float": "<f4", "double": "<f8", "int": "<i4"}
    names = [line.split()[1:] for line in head if line.startswith("property") and "list" not in line]
    vertices = np.frombuffer(data, [(name, types[kind]) for kind, name in names], n, end)
    faces = np.frombuffer(data, [("count", "u1"), ("rows", "<i4", 3)], k, end + vertices.nbytes)
    assert (faces["count"] == 3).all() and end + vertices.nbytes + faces.nbytes == len(data)
    return np.stack([vertices[axis] for axis in "xyz"], 1).astype(float), faces["rows"]


@every_dim
def test_exports_have_triangles_or_the_surface_of_tetrahedra(d, tmp_path):
    sim = bending(d)
    present = (sim.elements.volume * sim.elements.J).sum()
    sim.record(tmp_path / "a.vtkhdf", fps=1e4, fields=("J",)).close()
    with mpm.replay(tmp_path / "a.vtkhdf") as replay:
        for name, source in (("sim", sim), ("frame", replay[0])):
            (path,) = mpm.export(source, tmp_path / f"{name}.ply")
            x, faces = exported(path)
            a, b, c = (x[faces[:, corner]] for corner in range(3))
            cross = np.cross(b - a, c - a)
            enclosed = cross[:, 2].sum() / 2 if d == 2 else np.einsum("ij,ij", a, cross) / 6  # Gauss
            assert enclosed == pytest.approx(present, rel=1e-12)
            (path,) = mpm.export(source, tmp_path / f"{name}.vtp")
            head, _, rest = path.read_bytes().partition(b'<AppendedData encoding="raw">\n_')
            text = head.decode()
            assert 'NumberOfVerts="0"' in text and f'NumberOfPolys="{len(faces)}"' in text
            at = int(re.search(r'Name="connectivity"[^>]*offset="(\d+)"', text)[1])
            rows = np.frombuffer(rest, np.int64, faces.size, at + 8)
            np.testing.assert_array_equal(rows.reshape(faces.shape), faces)


def test_J_and_F_of_elements_are_quantities(tmp_path):
    """A stretched triangle mesh: F is the same everywhere, so means at nodes are exact."""
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.3), SOLID)
    sim = fem.Simulation(scene, spacing=0.1)
    F = np.array([[1.2, 0.3], [0.1, 0.9]])
    sim.particles.x = (sim.particles.x - sim.particles.x[0]) @ F.T + sim.particles.x[0]
    for on, count in (("nodes", len(sim.particles)), ("elements", len(sim.elements))):
        np.testing.assert_allclose(sim.compute("F", on=on), np.tile(F, (count, 1, 1)), atol=1e-12)
        np.testing.assert_allclose(sim.compute("J", on=on), np.full(count, np.linalg.det(F)), atol=1e-12)
    sim.plot(color="J")
    sim.record(tmp_path / "a.vtkhdf", fps=1e4, fields=("J", "F")).close()
    with mpm.replay(tmp_path / "a.vtkhdf") as replay:
        np.testing.assert_array_equal(replay[0].J, sim.compute("J"))
        np.testing.assert_array_equal(replay[0].F, sim.compute("F"))


def test_the_displacement_is_a_quantity_of_the_nodes_and_drawn_by_its_magnitude(tmp_path):
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.3), SOLID)
    sim = fem.Simulation(scene, spacing=0.1)
    assert not sim.compute("displacement").any()
    u = np.stack([0.1 * sim.particles.x[:, 1], -0.2 * sim.particles.x[:, 0]], axis=1)
    sim.particles.x += u
    again = pickle.loads(pickle.dumps(sim))
    for one in (sim, again):
        np.testing.assert_allclose(one.compute("displacement"), u, rtol=0, atol=1e-15)  # measured: 6e-17
    picture, length = sim.plot(color="displacement"), np.linalg.norm(sim.compute("displacement"), axis=1)
    assert picture.colorbar.get_ylabel() == "displacement [m]" and picture.particles.get_clim()[0] == 0
    np.testing.assert_array_equal(picture.particles.get_array(), length)
    assert viz.Renderer(sim, color="displacement")._shoot(sim).shown.tolist() == length.tolist()
    sim.record(tmp_path / "a.vtkhdf", fps=1e4, fields=("displacement",)).close()
    sim.record(tmp_path / "b.vtkhdf", fps=1e4).close()
    with mpm.replay(tmp_path / "a.vtkhdf") as replay, mpm.replay(tmp_path / "b.vtkhdf") as other:
        np.testing.assert_array_equal(replay[0].displacement, sim.compute("displacement"))
        assert replay[0].units["displacement"] == "m"
        np.testing.assert_array_equal(replay[0].plot(color="displacement").particles.get_array(), length)
        with pytest.raises(ValueError, match=r"fields=\('displacement',\)\) keeps it"):
            other[0].plot(color="displacement")
    with pytest.raises(ValueError, match="'displacement' belongs to the nodes"):
        sim.compute("displacement", on="elements")
    with pytest.raises(ValueError, match="already the name"):
        sim.particles.add_field("displacement", rank="vector")


def test_the_displacement_begins_at_the_shape_at_rest():
    """A body that begins stretched by F is displaced by (F − I) X from its first node."""
    F = np.diag([1.2, 1.0])
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Box((0.2, 0.2), (0.8, 0.4)), SOLID, F=F)
    sim = fem.Simulation(scene, spacing=0.1)
    u, x = sim.compute("displacement"), sim.particles.x
    assert not u[:, 1].any() and np.ptp(u[:, 0]) == pytest.approx(0.6 * (1 - 1 / 1.2), rel=1e-12)
    np.testing.assert_allclose(u[:, 0], (x[:, 0] - x[0, 0]) * (1 - 1 / 1.2), atol=1e-15)


def test_frames_may_have_other_cells(tmp_path, monkeypatch):
    """Each set of cells is a part; offsets count the cells and corners of all parts before."""
    h5py = pytest.importorskip("h5py")
    sim, path = bending(3), tmp_path / "a.vtkhdf"
    nodes = sim.elements.nodes
    m = len(nodes)
    with sim.record(path, fps=1e6):
        sim.step()
        monkeypatch.setattr(type(sim), "_cells", lambda sim: nodes[: m // 2])
        sim.step(2)
    with h5py.File(path) as file:
        steps = file["VTKHDF/Steps"]
        assert steps["PartOffsets"][:].tolist() == [0, 0, 1, 1]
        assert steps["CellOffsets"][:, 0].tolist() == [0, 0, m, m]
        assert steps["ConnectivityIdOffsets"][:, 0].tolist() == [0, 0, 4 * m, 4 * m]
        assert len(file["VTKHDF/Offsets"]) == m + m // 2 + 2 and len(file["VTKHDF/Types"]) == m + m // 2
    with mpm.replay(path) as replay:
        assert [len(frame.cells) for frame in replay] == [m, m, m // 2, m // 2]
        assert np.array_equal(replay[3].cells, nodes[: m // 2])


def test_recordings_of_particles_have_no_cells(tmp_path):
    pytest.importorskip("h5py")
    scene = mpm.Scene([0, 0], [1, 1])
    scene.add(mpm.shapes.Ball([0.5, 0.5], 0.2), SOLID)
    sim = mpm.Simulation(scene, dx=0.1)
    with sim.record(tmp_path / "a.vtkhdf", fps=10):
        sim.step()
    assert mpm.replay(tmp_path / "a.vtkhdf")[0].cells is None


def set_values(name, change):
    def act(file):
        values = file[name][...]
        file[name][...] = change(values)

    return act


@each(
    "damage, message",
    [
        (
            set_values("VTKHDF/Connectivity", lambda v: np.where(np.arange(len(v)) == 7, 10**6, v)),
            "corners that",
        ),
        (
            set_values("VTKHDF/Connectivity", lambda v: np.where(np.arange(len(v)) == 7, -1, v)),
            "corners that",
        ),
        (set_values("VTKHDF/NumberOfCells", lambda v: v + 1), "not all cells"),
        (set_values("VTKHDF/NumberOfCells", lambda v: v - 10**6), "numbers of cells"),
        (set_values("VTKHDF/NumberOfCells", lambda v: v + 2**62), "numbers of cells"),
        (set_values("VTKHDF/Steps/ConnectivityIdOffsets", lambda v: v - 1), "not all cells"),
        (lambda file: file.__delitem__("VTKHDF/NumberOfCells"), "NumberOfCells"),
    ],
)
def test_damaged_cells_are_refused(damage, message, tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.vtkhdf"
    with bending(2).record(path, fps=100):
        pass
    with h5py.File(path, "r+") as file:
        damage(file)
    with pytest.raises(FileFormatError, match=message):
        _ = mpm.replay(path)[0].cells


# --- pictures ---------------------------------------------------------------------------------------------------------


def test_triangles_fill_a_picture_of_a_plane_body():
    """The colour at every pixel is that of Matplotlib's interpolation; a frame of a replay looks the same."""
    sim = bending(2)
    renderer = viz.Renderer(sim, color="speed", limits=(0, 2), size=(320, 240), annotate=False)
    image = renderer.frame(sim)
    column, row, _ = renderer.camera.project(sim.particles.x)
    levels = colors.index(sim.compute("speed"), (0, 2)).astype(float)
    mesh = Triangulation(column, row, sim.elements.nodes)
    c, r = np.meshgrid(np.arange(640.0), np.arange(480.0))
    value = LinearTriInterpolator(mesh, levels)(c, r)
    whole = ~np.ma.getmaskarray(value).reshape(240, 2, 320, 2).any(axis=(1, 3))
    seen = np.rint(value.filled(0)).astype(int)
    expected = colors.TABLE[seen].reshape(240, 2, 320, 2, 3).mean(axis=(1, 3))
    difference = np.abs(image - expected)[whole]
    assert len(difference) > 2000 and difference.max() <= 3  # measured: 1; level of half a colour, rounding
    empty = np.ma.getmaskarray(value).reshape(240, 2, 320, 2).all(axis=(1, 3))
    assert np.mean((image != renderer.background).any(axis=2)[empty]) < 1e-3  # a rim of 1/1000 of a pixel


def test_frames_of_recordings_and_movies_have_triangles(tmp_path):
    pytest.importorskip("h5py")
    sim = bending(2)
    with sim.record(tmp_path / "a.vtkhdf", fps=100, fields=("v",)):
        sim.run(0.02)
    options = {"color": "speed", "limits": (0.0, 2.0), "size": (160, 120), "annotate": False}
    wanted = viz.Renderer(sim, **options).frame(sim)
    with mpm.replay(tmp_path / "a.vtkhdf") as replay:
        assert np.array_equal(viz.Renderer(sim, **options).frame(replay[-1]), wanted)
        from matplotlib.collections import TriMesh

        assert isinstance(replay.plot(-1).particles, TriMesh)
        replay.movie(tmp_path / "frames", size=(160, 120))
    sim.movie(tmp_path / "more", duration=0.02, fps=100, size=(160, 120))
    assert len(list((tmp_path / "more").iterdir())) == 3


@each("fine", [1, 2, 4])
def test_triangles_are_averaged_into_the_image(fine):
    """Of a square of two triangles with one colour, whose corners lie between pixels; the rest is as it was."""
    column = np.array([2, 11, 11, 2], np.float32) * fine - 0.5
    row = np.array([1, 1, 8, 8], np.float32) * fine - 0.5
    corners = np.array([[0, 1, 2], [3, 2, 0]], np.int32)  # the second one clockwise
    image = np.full((10, 14, 3), 200, np.uint8)
    _core.paint_triangles(column, row, corners, np.full(4, 9, np.uint8), colors.TABLE, fine, image)
    inside = np.zeros((10, 14), dtype=bool)
    inside[1:8, 2:11] = True
    assert (image[inside] == colors.TABLE[9]).all() and (image[~inside] == 200).all()


@each("odd", [np.nan, np.inf, -np.inf, 3e38])
def test_triangles_nowhere_are_not_drawn(odd):
    f = np.zeros(3, np.float32)
    image = np.full((4, 5, 3), 7, np.uint8)
    for column in (f + np.float32(odd), np.array([0, 3, odd], np.float32)):
        before = image.copy()
        _core.paint_triangles(
            column, f, np.arange(3, dtype=np.int32)[None], f.astype(np.uint8), colors.TABLE, 2, image
        )
        assert np.array_equal(image, before)  # the last is a line along row 0: no area


ARGUMENTS = {
    "column": np.zeros(3, np.float32),
    "row": np.zeros(3, np.float32),
    "corners": np.zeros((1, 3), np.int32),
    "value": np.zeros(3, np.uint8),
    "palette": np.zeros((256, 3), np.uint8),
    "fine": 2,
    "image": np.zeros((4, 5, 3), np.uint8),
}


@each(
    "change, message",
    [
        ({"row": np.zeros(2, np.float32)}, "row, value: expected as many as there are columns"),
        ({"value": np.zeros(4, np.uint8)}, "row, value: expected as many as there are columns"),
        ({"corners": np.zeros((1, 4), np.int32)}, "corners: expected (m, 3)"),
        ({"corners": np.full((1, 3), 3, np.int32)}, "corners: expected numbers of points"),
        ({"corners": np.full((1, 3), -1, np.int32)}, "corners: expected numbers of points"),
        ({"palette": np.zeros((255, 3), np.uint8)}, "palette: expected (256, 3)"),
        ({"image": np.zeros((4, 5, 4), np.uint8)}, "image: expected (height, width, 3)"),
        ({"fine": 0}, "fine: expected 1 to 8"),
        ({"fine": 9}, "fine: expected 1 to 8"),
    ],
)
def test_the_core_refuses_bad_triangles(change, message):
    _core.paint_triangles(*ARGUMENTS.values())
    with pytest.raises(ValueError, match=re.escape(message)):
        _core.paint_triangles(*{**ARGUMENTS, **change}.values())


@every_dim
def test_the_viewer_shows_triangles_or_the_surface(d):
    sim = bending(d)
    browser = Browser(sim)
    nodes = sim.elements.nodes
    rows = (
        {"triangles": nodes.ravel()}
        if d == 2
        else {"points": slice(None), "surface": by_body(sim, surface(nodes)).ravel()}
    )
    assert [part for part, _ in browser.frame["parts"]] == list(rows)
    for name, row in rows.items():
        x = sim.particles.x[row]
        assert np.abs(browser.positions(name) - x).max() < 1.3 / 65535  # of a box of side 1.2
    assert browser.frame["particles"] == len(sim.particles) and render.OVERSAMPLE == 2


def test_j_and_f_of_elements_are_drawn_recorded_and_exported_or_a_message_says_how(tmp_path):
    sim = bending(2)
    sim.run(0.02)
    weights = np.bincount(sim.elements.nodes.ravel(), np.repeat(sim.elements.volume, 3))
    J = np.bincount(sim.elements.nodes.ravel(), np.repeat(sim.elements.volume * sim.elements.J, 3)) / weights
    np.testing.assert_allclose(sim.compute("J"), J, rtol=1e-13)
    assert np.array_equal(sim.plot(color="J").particles.get_array(), sim.compute("J"))
    with sim.record(tmp_path / "a.vtkhdf", fps=1e3, fields=("J", "F")):
        sim.run(0.002)
    frame = mpm.replay(tmp_path / "a.vtkhdf")[-1]
    assert np.array_equal(frame["J"], sim.compute("J")) and np.array_equal(frame["F"], sim.compute("F"))
    mpm.export(sim, tmp_path / "a.npz", fields=("J", "F"))
    with np.load(tmp_path / "a.npz") as kept:
        assert np.array_equal(kept["J"], sim.compute("J")) and np.array_equal(kept["F"], sim.compute("F"))
    for call, error, words in (
        (lambda: sim.particles.J, AttributeError, r"elements have it, sim\.elements\.J; sim\.compute\('J'\)"),
        (lambda: sim.particles["F"], KeyError, r"elements have it, sim\.elements\.F"),
        (lambda: sim.plot(color="F"), ValueError, "'F' has several components: .* see particles.add_field"),
        (lambda: frame.compute("J"), ValueError, r"it is a field: frame\['J'\]"),
    ):
        with pytest.raises(error, match=words):
            call()
