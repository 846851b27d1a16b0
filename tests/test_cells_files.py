"""Triangles and tetrahedra from files of Gmsh and VTK."""

import numpy as np
import pytest

import mpm
from loops import each
from mpm import fem
from mpm.errors import FileFormatError
from mpm.shapes import Cells

FORMATS = {
    "a.msh": ("gmsh", {}),
    "old.msh": ("gmsh22", {"binary": False}),
    "a.vtk": ("vtk", {}),
    "ascii.vtk": ("vtk42", {"binary": False}),
    "a.vtu": ("vtu", {}),
}


def write(path, points, blocks, file_format=None, **options):
    meshio = pytest.importorskip("meshio")
    meshio.Mesh(np.asarray(points, dtype=float), blocks).write(path, file_format=file_format, **options)
    return path


def spatial(points):
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1])))


@each("d", [2, 3])
@each("name", FORMATS)
def test_cells_come_back_as_they_were_written(d, name, tmp_path):
    """With loose points, boundaries, and one half of the cells clockwise."""
    made = fem.mesh(mpm.shapes.Ball([0.5] * d, 0.25), 0.125)
    points = np.concatenate([np.full((1, 3), 7.0), spatial(made.vertices)])
    points[1:, 2] += 3.0 if d == 2 else 0.0
    if d == 2:
        points[0, 2] = 0.0
    cells = made.cells.astype(np.int64) + 1
    half = cells[::2][:, [1, 0, *range(2, d + 1)]]
    boundary = ("line", cells[:3, :2]) if d == 2 else ("triangle", cells[:3, :3])
    kind, (file_format, options) = {2: "triangle", 3: "tetra"}[d], FORMATS[name]
    blocks = [("vertex", np.array([[0]])), boundary, (kind, cells[1::2]), (kind, half)]
    if file_format == "gmsh":  # meshio writes one block only
        blocks = [(kind, np.concatenate([cells[1::2], half]))]
    path = write(tmp_path / name, points, blocks, file_format, **options)
    found = Cells.from_file(path)
    assert np.array_equal(found.vertices, made.vertices)
    expected = np.concatenate([made.cells[1::2], made.cells[::2]])
    assert np.array_equal(np.sort(found.cells, axis=1), np.sort(expected, axis=1))
    assert found._volume() == pytest.approx(Cells(*made)._volume(), rel=1e-13)
    scene = mpm.Scene([0] * d, [1] * d)
    scene.add(Cells.from_file(str(path)), mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000))
    sim = fem.Simulation(scene)
    sim.step(3)
    assert len(sim.elements) == len(made.cells)


SQUARE = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1)]
TRIANGLES = ("triangle", [[0, 1, 2], [0, 2, 3]])


@each(
    "points, blocks, message",
    [
        (SQUARE, [("line", [[0, 1]])], "has only line; must have triangles in a plane, or tetrahedra"),
        (SQUARE, [("quad", [[0, 1, 2, 3]])], "of first order. Mesh the body with tetrahedra, in 2-D"),
        (SQUARE, [TRIANGLES, ("quad", [[0, 1, 2, 3]])], "has quad beside triangle"),
        (SQUARE, [("tetra", [[0, 1, 2, 4]]), ("pyramid", [[0, 1, 2, 3, 4]])], "has pyramid beside tetra"),
        (np.eye(6, 3), [("triangle6", [[0, 1, 2, 3, 4, 5]])], "in first order (in Gmsh -order 1), or"),
        (np.eye(10, 3), [("tetra10", [range(10)])], "Cells(vertices, cells[:, :4])"),
        (SQUARE, [TRIANGLES, ("triangle", [[0, 1, 4]])], "are a surface in space; must lie in a plane"),
        (SQUARE, [("triangle", [[0, 1, 1]])], "cells[0] = [0, 1, 1]: is flat; its volume must be > 0"),
        (SQUARE, [("triangle", [[0, 1, 9]])], "vertex out of range, there are 5 vertices"),
        ([(np.nan, 0, 0), *SQUARE], [TRIANGLES], "its points are no finite positions"),
    ],
)
def test_files_without_such_cells_are_refused(points, blocks, message, tmp_path):
    path = write(tmp_path / "a.vtk", points, [(kind, np.array(rows)) for kind, rows in blocks], binary=False)
    with pytest.raises(ValueError, match="vtk") as caught:
        Cells.from_file(path)
    assert message in str(caught.value)


@each("name", ["a.msh", "a.vtk", "a.vtu", "a.xyz", "noname"])
@each("data", [b"", b"\0\xff" * 50, b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 1 1 9\n", b"<VTKFile>"])
def test_damaged_files_are_refused(name, data, tmp_path, capfd):
    pytest.importorskip("meshio")
    (tmp_path / name).write_bytes(data)
    with pytest.raises(FileFormatError, match=name):
        Cells.from_file(tmp_path / name)
    assert capfd.readouterr() == ("", "")


def test_cells_of_too_few_vertices_are_refused(tmp_path):
    """What tests/fuzz.py found: meshio takes a last element that is cut short."""
    pytest.importorskip("meshio")
    path = tmp_path / "a.msh"
    points = "$Nodes\n1 3 1 3\n2 0 0 3\n1\n2\n3\n0 0 0\n1 0 0\n0 1 0\n$EndNodes\n"
    path.write_text(f"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n{points}$Elements\n1 1 1 1\n2 0 2 1\n1 1 2\n")
    with pytest.raises(FileFormatError, match=r"a\.msh: has cells without 3 vertices each"):
        Cells.from_file(path)


def test_without_the_extra(tmp_path, monkeypatch):
    (tmp_path / "a.msh").write_text("")
    monkeypatch.setitem(__import__("sys").modules, "meshio", None)
    with pytest.raises(ImportError, match=r"needs meshio: pip install meshio \(the extra 'mesh'\)"):
        Cells.from_file(tmp_path / "a.msh")
