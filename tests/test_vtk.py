"""Our files read by VTK, which is what ParaView and PyVista read them with. `make formats` installs it."""

import numpy as np
import pytest

import mpm
import scenes

pytest.importorskip("h5py")
vtk = pytest.importorskip("vtkmodules.vtkIOHDF", reason="VTK >= 9.3 is not installed (make formats)")

from vtkmodules.util.numpy_support import vtk_to_numpy  # noqa: E402
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline  # noqa: E402
from vtkmodules.vtkIOXML import vtkXMLPolyDataReader  # noqa: E402

dims = pytest.mark.parametrize("dim", scenes.DIMS)
dtypes = pytest.mark.parametrize("dtype", scenes.DTYPES)


def make(dim, dtype):
    return scenes.three_materials(dim, 32 if dim == 2 else 12, dtype=dtype)


def spatial(values):
    """As VTK has it: the plane is z = 0, tensors have nine components."""
    if values.ndim == 1:
        return values
    space = np.zeros((len(values), *[3] * (values.ndim - 1)), values.dtype)
    d = values.shape[1]
    space[(slice(None), *[slice(0, d)] * (values.ndim - 1))] = values
    return space.reshape(len(values), -1)


def check(output, fields):
    """PolyData with a vertex per particle and these fields."""
    points = vtk_to_numpy(output.GetPoints().GetData())
    n = len(points)
    assert output.GetNumberOfVerts() == output.GetNumberOfCells() == n
    corners = [output.GetVerts().GetConnectivityArray(), output.GetVerts().GetOffsetsArray()]
    assert np.array_equal(vtk_to_numpy(corners[0]), np.arange(n))
    assert np.array_equal(vtk_to_numpy(corners[1]), np.arange(n + 1))
    for name, values in fields.items():
        found = points if name == "x" else vtk_to_numpy(output.GetPointData().GetArray(name))
        wanted = spatial(values)
        if name == "F" and values.shape[1] == 2:
            wanted[:, 8] = 1
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted), name


@dims
@dtypes
@pytest.mark.parametrize("compression", [0, 4])
def test_a_trajectory_is_a_series_of_points(tmp_path, dim, dtype, compression):
    """Particles come and go, and frames are read in any order."""
    sim = make(dim, dtype)
    names = ("x", "v", "F", "J", "id", "material", "mass", "volume")
    path = tmp_path / "a.vtkhdf"
    frames = []

    def keep():
        frames.append((sim.time, {name: np.array(sim.particles[name]) for name in names}))

    with sim.record(path, fps=100, fields=names[1:], compression=compression):
        keep()
        for k in range(8):
            if k in (2, 3, 6):
                sim.particles.delete(np.arange(0, len(sim.particles), k + 1))
            if k == 5:
                low, high = [-0.1] * dim, [0.0] * dim
                sim.add(mpm.shapes.Box(low, high).translate([0, 0.3, 0][:dim]), scenes.MATERIALS["fluid"])
            sim.run(0.01)
            keep()
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == len(frames) == 9
    times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS())
    assert list(times) == [time for time, _ in frames]
    for k in (0, 8, 3, 4, 2, 1, 5, 7, 6):
        reader.SetStep(k)
        reader.Modified()
        reader.Update()
        check(reader.GetOutputDataObject(0), frames[k][1])


@dims
@dtypes
@pytest.mark.parametrize("compression", [0, 4])
def test_a_trajectory_of_a_mesh_has_its_cells(tmp_path, dim, dtype, compression):
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0, -9.81, 0][:dim])
    scene.add(mpm.shapes.Ball([0.5] * dim, 0.3), mpm.materials.NeoHookean(E=1e4, nu=0.3, density=1000))
    sim, path, x = mpm.fem.Simulation(scene, spacing=0.1, dtype=dtype), tmp_path / "a.vtkhdf", []
    with sim.record(path, fps=100, compression=compression):
        x.append(sim.particles.x.copy())
        for _ in range(3):
            sim.run(0.01)
            x.append(sim.particles.x.copy())
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == 4
    for k in (0, 3, 1, 2):
        reader.SetStep(k)
        reader.Modified()
        reader.Update()
        output, nodes = reader.GetOutputDataObject(0), sim.elements.nodes
        assert output.GetClassName() == "vtkUnstructuredGrid" and output.GetNumberOfCells() == len(nodes)
        assert {output.GetCellType(i) for i in range(len(nodes))} == {{2: 5, 3: 10}[dim]}
        corners = vtk_to_numpy(output.GetCells().GetConnectivityArray())
        assert np.array_equal(corners.reshape(nodes.shape), nodes)
        assert np.array_equal(vtk_to_numpy(output.GetPoints().GetData()), spatial(x[k]))


@dims
@dtypes
def test_a_vtp_file(tmp_path, dim, dtype):
    sim = make(dim, dtype)
    sim.step(20)
    names = sim.particles.fields
    (path,) = mpm.export(sim, tmp_path / "a.vtp")
    reader = vtkXMLPolyDataReader()
    reader.SetFileName(str(path))
    reader.Update()
    output = reader.GetOutput()
    assert output.GetFieldData().GetArray("TimeValue").GetValue(0) == sim.time
    check(output, {name: np.array(sim.particles[name]) for name in names})
