"""Files, folders, bodies and colliders have names in any language, even where the locale knows ASCII only."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import mpm

for extra in ("h5py", "PIL", "trimesh", "meshio", "imageio_ffmpeg"):
    pytest.importorskip(extra)

ENVIRONMENT = {
    **os.environ,
    "LC_ALL": "C",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "MPLBACKEND": "Agg",
}
ENVIRONMENT |= {"PYTHONPATH": os.pathsep.join(sys.path)}
ENVIRONMENT.pop("PYTHONIOENCODING", None)

START = """
    import numpy, os, sys
    import mpm, scenes
    assert sys.getfilesystemencoding() == sys.stdout.encoding.replace("us-", "") == "ascii", "of no use"
    folder = os.fsdecode("Körner ❄".encode())  # as from os.listdir and sys.argv
    scene = mpm.Scene((0, 0), (1, 1))
    scene.add(mpm.shapes.Ball((0.5, 0.5), 0.2), scenes.MATERIALS["snow"], name="Schnee ❄")
    scene.add_collider(mpm.shapes.Ball((0.2, 0.2), 0.1), name="Käse")
    sim = mpm.Simulation(scene, dx=1 / 16)

    def path(end):
        return os.path.join(folder, folder + end)
"""

WRITES_AND_READS = """
    for suffix in (".vtkhdf", ".{}.bgeo", ".{}.geo"):
        with sim.record(path(suffix), fps=1e9, fields=("v",)):
            sim.step(2)
        with mpm.replay(path(suffix)) as frames:
            assert frames[0].scene.colliders[0].name == "Käse" and "Schnee ❄" in repr(frames.description)
            for other in ("bgeo", "csv", "geo", "npz", "ply", "vtp"):
                mpm.export(frames, path(f"{suffix.replace('{}', '')}.{{}}.{other}"))
            mpm.export(frames, path(f"{suffix.replace('{}', '')}.totals.csv"))
            assert len(frames) == 3
    with mpm.replay(path(".vtkhdf")) as frames:
        for suffix in (".mp4", ".gif", ""):
            frames.movie(path(suffix), size=(64, 64))
    sim.movie(path(".run.mp4"), duration=1e-3, fps=2000, size=(64, 64))
    mpm.viz.save_image(path(".png"), numpy.zeros((8, 8, 3), "uint8"))
    sim.save(path(".mpm"))
    assert mpm.load(path(".mpm")) == sim
    mpm.export(sim, path(".totals.csv"))
    for suffix in ("bgeo", "csv", "geo", "npz", "ply", "vtp"):
        mpm.export(sim, path(f".one.{{}}.{suffix}"))
        if suffix != "vtp":
            assert len(mpm.shapes.Points.from_file(path(f".one.0.{suffix}")).x) == len(sim.particles)

    import meshio, trimesh
    box = trimesh.creation.box()
    for suffix in (".obj", ".stl", ".mesh.ply", ".off"):
        with open(path(suffix), "wb") as file:
            file.write(box.export(file_type=suffix[-3:]).encode() if suffix in (".obj", ".off") else
                       box.export(file_type=suffix[-3:]))
        assert len(mpm.shapes.Mesh(path(suffix)).faces) == 12
    for suffix in ("msh", "vtk", "vtu"):
        points = numpy.array([(0, 0, 0), (1, 0, 0), (0, 1, 0.0)])
        meshio.Mesh(points, [("triangle", numpy.array([[0, 1, 2]]))]).write(f"a.{suffix}")
        os.rename(f"a.{suffix}", path(f".{suffix}"))
        assert len(mpm.shapes.Cells.from_file(path(f".{suffix}")).cells) == 1

    from mpm.cli import main
    assert main(["replay", path(".vtkhdf"), "--repair", "--plot", path(".plot.png")]) == 0
    assert main(["replay", path(".{}.bgeo"), "--export", path(".cli.{}.ply"), "--movie", path(".cli.gif")]) == 0
    assert main(["replay", path(".none.vtkhdf")]) == 1
"""

REFUSES = """
    import pytest
    said = "(path|pattern) = 'Käse.*has a character that file names lack here: they are ascii"

    def refused(call, *arguments, **options):
        with pytest.raises(ValueError, match=said):
            call(*arguments, **options)

    refused(sim.save, "Käse.mpm")
    refused(mpm.load, "Käse.mpm")
    refused(mpm.export, sim, "Käse.csv")
    refused(mpm.export, sim, "Käse.ply")
    refused(mpm.replay, "Käse.vtkhdf")
    refused(mpm.replay, "Käse.{}.bgeo")
    refused(sim.record, "Käse.vtkhdf", fps=1)
    refused(sim.record, "Käse.{}.geo", fps=1)
    refused(sim.movie, "Käse.mp4", duration=1e-3, fps=1)
    refused(mpm.viz.save_image, "Käse.png", numpy.zeros((8, 8, 3), "uint8"))
    refused(mpm.shapes.Mesh, "Käse.obj")
    refused(mpm.shapes.Cells.from_file, "Käse.vtk")
    refused(mpm.shapes.Points.from_file, "Käse.ply")
    assert sorted(os.listdir()) == ["a.py"]
"""


def run(folder: Path, code: str) -> subprocess.CompletedProcess[bytes]:
    (folder / "a.py").write_text(textwrap.dedent(START) + textwrap.dedent(code), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "a.py"], cwd=folder, env=ENVIRONMENT, check=True, stdout=subprocess.PIPE
    )


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are UTF-8 here, whatever the locale")
def test_every_format_has_names_of_any_language(tmp_path):
    folder = tmp_path / "Körner ❄"
    folder.mkdir()
    done = run(tmp_path, WRITES_AND_READS)
    assert done.stdout.count(b"frames     ") == 2 and done.stdout.isascii()
    head = (folder / "Körner ❄.totals.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "impulse:Käse_x" in head
    assert mpm.load(folder / "Körner ❄.mpm").scene.bodies[0].name == "Schnee ❄"
    assert {path.name for path in folder.iterdir() if not path.name.startswith("Körner ❄")} == set()


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are UTF-8 here, whatever the locale")
def test_names_that_the_system_lacks_are_refused(tmp_path):
    run(tmp_path, REFUSES)
