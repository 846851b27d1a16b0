"""Trajectories read back: sequence, frames, pictures, movies, the command line; and files that are none."""

import re
import shutil
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

import mpm
import scenes
from mpm import viz
from mpm.commands import cli
from trajectories import make

h5py = pytest.importorskip("h5py")

dims = pytest.mark.parametrize("dim", scenes.DIMS)


def recorded(folder, dim=2, fields=("v", "J", "F"), **numerics):
    """A trajectory of seven frames, and the simulation at its end."""
    sim = make(dim, **numerics)
    with sim.record(folder / "a.vtkhdf", fps=100, fields=fields) as recording:
        for _ in sim.frames(duration=0.06, fps=100):
            pass
    return recording.path, sim


@pytest.fixture
def frames(tmp_path):
    with mpm.replay(recorded(tmp_path)[0]) as replay:
        yield replay


# --- a sequence --------------------------------------------------------------------------------------------------


def test_a_replay_is_a_sequence(frames):
    assert len(frames) == 7 and len(list(frames)) == 7
    assert frames[-1].time == frames[6].time == frames.times[-1] and frames[0].time == 0
    assert [frame.step for frame in frames] == frames.steps.tolist()
    every = frames[1::2]
    assert isinstance(every, type(frames)) and every.times.tolist() == frames.times[1::2].tolist()
    assert every[0].time == frames[1].time and len(frames[10:]) == 0
    assert frames[::-1][0].time == frames.times[-1]
    for index in (7, -8, np.int64(7)):
        with pytest.raises(IndexError, match=f"index = {index}: must be >= -7 and < 7"):
            frames[index]
    for index in (1.0, "0", None, True):
        with pytest.raises(TypeError, match="index"):
            frames[index]
    assert "7 frames, t = 0 to 0.06 s, x F J id" in repr(frames) and "0 frames," in repr(frames[:0])


def test_the_frame_at_a_time(frames):
    assert frames.at(0.0).time == 0 and frames.at(0.06).time == frames.times[-1]
    assert frames.at(0.0149).time == pytest.approx(0.01) and frames.at(0.0151).time == pytest.approx(0.02)
    for time in (-1e-9, 0.0601, np.nan):
        with pytest.raises(ValueError, match=r"time = .*must be >= 0 and <= 0.06 \[s\]"):
            frames.at(time)
    with pytest.raises(ValueError, match="no frames"):
        frames[:0].at(0.0)


@dims
@pytest.mark.parametrize("dtype", scenes.DTYPES)
def test_frames_have_the_fields_in_the_simulations_dimension(tmp_path, dim, dtype):
    path, sim = recorded(tmp_path, dim, dtype=dtype)
    with mpm.replay(path) as frames:
        last, n = frames[-1], len(sim.particles)
        assert last.fields == frames.fields == ("x", "F", "J", "id", "mass", "material", "v", "volume")
        assert last.x.shape == last["v"].shape == (n, dim) and last.F.shape == (n, dim, dim)
        assert last.x.dtype == last.F.dtype == np.dtype(dtype) and last.id.dtype == np.int64
        assert len(last) == n and last.dimension == frames.dimension == dim
        for name in last.fields:
            assert np.array_equal(last[name], sim.particles[name])
        assert np.array_equal(last.compute("speed"), sim.compute("speed"))
        assert np.array_equal(last.compute("kinetic_energy"), sim.compute("kinetic_energy"))
        assert last.quantities == frames.quantities == ("speed", "kinetic_energy")
        assert last.x is not last.x  # read anew
        assert last.scene.upper.tolist() == sim.scene.upper.tolist()
        assert {"x", "F", "time", "compute"} <= set(dir(last))
        assert f"step {sim.steps}, {n} particles" in repr(last)


def test_what_was_not_recorded_is_named(frames):
    frame = frames[0]
    for call in (lambda: frame["C"], lambda: frame.particles["vv"]):
        with pytest.raises(KeyError, match=r"no field .* recorded are x, F, J, id"):
            call()
    with pytest.raises(AttributeError, match="did you mean 'volume'"):
        frame.volum  # noqa: B018
    keeps = r"; sim.record\(..., fields=\('pressure',\)\) keeps it"
    with pytest.raises(
        ValueError, match=f"name = 'pressure': must be one of 'speed', 'kinetic_energy'{keeps}"
    ):
        frame.compute("pressure")
    with pytest.raises(ValueError, match=f"color = 'pressure': must be one of .*{keeps}"):
        frame.plot(color="pressure")
    with pytest.raises(
        AttributeError, match=r"no attribute 'Jp'; sim.record\(..., fields=\('Jp',\)\) keeps it"
    ):
        frame.Jp  # noqa: B018
    with pytest.raises(AttributeError):
        frame.x = 0
    with pytest.raises(AttributeError, match="did you mean 'times'"):
        frames.time  # noqa: B018


def test_totals_of_the_frames(frames):
    assert (
        frames.totals().keys() == frames.totals.keys()
        and (frames.totals()["mass"] == frames.totals["mass"]).all()
    )
    assert set(frames.totals) == {
        *(
            "mass",
            "momentum",
            "center_of_mass",
            "angular_momentum",
            "kinetic",
            "elastic",
            "gravitational",
            "energy",
        )
    }
    assert frames.totals["mass"].shape == frames.totals["angular_momentum"].shape == (7,)
    assert frames[2:5].totals["momentum"].shape == (3, 2)


def test_a_closed_replay_says_so(tmp_path):
    path, _ = recorded(tmp_path)
    frames = mpm.replay(path)
    kept = frames[3].x
    frames.close()
    frames.close()
    with pytest.raises(ValueError, match=r"the replay of .*a.vtkhdf' is closed"):
        frames[3].x  # noqa: B018
    for call in (
        lambda: frames.plot(0),
        lambda: frames.movie(tmp_path / "a.gif"),
        lambda: mpm.export(frames, tmp_path / "{}.npz"),
        lambda: frames[0].compute("speed"),
        lambda: mpm.view(frames),
    ):
        with pytest.raises(ValueError, match=r"the replay of .*a.vtkhdf' is closed"):
            call()
    assert [file.name for file in tmp_path.iterdir()] == ["a.vtkhdf"]
    assert len(kept) and len(frames) == 7
    path.unlink()  # nothing holds it


# --- files that are none -----------------------------------------------------------------------------------------


def test_files_that_are_no_trajectories(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"path = .*nothing.vtkhdf': there is no such file"):
        mpm.replay(tmp_path / "nothing.vtkhdf")
    with pytest.raises(OSError):
        mpm.replay(tmp_path)
    (tmp_path / "empty.vtkhdf").touch()
    (tmp_path / "text.vtkhdf").write_text("solid\n" * 1000)
    with h5py.File(tmp_path / "hdf.vtkhdf", "w", libver="v110") as file:
        file["VTKHDF/Points"] = np.zeros((3, 3))
    with h5py.File(tmp_path / "old.vtkhdf", "w", libver="earliest") as file:
        file["a"] = 1
    for name in ("empty", "text", "hdf", "old"):
        with pytest.raises(mpm.FileFormatError, match=rf"{name}\.vtkhdf' is no trajectory"):
            mpm.replay(tmp_path / f"{name}.vtkhdf")
        (tmp_path / f"{name}.vtkhdf").unlink()  # nothing holds it


def test_every_truncated_file_is_refused(tmp_path):
    path, _ = recorded(tmp_path)
    data = path.read_bytes()
    short = tmp_path / "short.vtkhdf"
    for size in np.linspace(0, len(data) - 1, 60, dtype=int):
        short.write_bytes(data[:size])
        with pytest.raises(mpm.FileFormatError, match=r"short\.vtkhdf"):
            mpm.replay(short)


def test_a_growing_file_that_was_cut_off_is_refused_at_once(tmp_path):
    """HDF5 would wait for what is not there."""
    sim, copy = make(2), tmp_path / "copy.vtkhdf"
    with sim.record(tmp_path / "a.vtkhdf", fps=100) as recording:
        sim.run(0.02)
        data = recording.path.read_bytes()
        used = int.from_bytes(data[28:36], "little")  # more is reserved
        for size in (10, 50, 3000, used // 2, used - 1):
            copy.write_bytes(data[:size])
            with pytest.raises(mpm.FileFormatError, match="is no trajectory"):
                mpm.replay(copy)
        copy.write_bytes(data)
        with mpm.replay(copy) as frames:
            assert len(frames) == 3


def damage(attribute, value):
    def change(file):
        file["mpm"].attrs[attribute] = value

    return change


def cut(path):
    def change(file):
        file[path].resize(len(file[path]) - 1, axis=0)

    return change


def overwrite(path, value):
    def change(file):
        del file[path]
        file[path] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        damage("format", 1),
        damage("dimension", 4),
        damage("dimension", "two"),
        *(
            cut(f"VTKHDF/{name}")
            for name in ("Points", "PointData/v", "Steps/Values", "Steps/PointDataOffsets/v")
        ),
        cut("mpm/steps"),
        cut("mpm/totals"),
        *(overwrite("mpm/description", text) for text in ("{", "[]", "{}", '{"scene": {}, "fps": 1}', 3)),
        overwrite("VTKHDF/Steps/PartOffsets", np.arange(100, 107)),
        overwrite("VTKHDF/Steps/PointOffsets", np.full(7, -1)),
        overwrite("VTKHDF/NumberOfPoints", np.array([2**62])),
        lambda file: file["VTKHDF/Steps"].attrs.__setitem__("NSteps", 10**9),
        lambda file: file["VTKHDF/Steps"].attrs.__setitem__("NSteps", -1),
        lambda file: file["VTKHDF"].__delitem__("PointData"),
        lambda file: file.__delitem__("mpm"),
    ],
)
def test_damaged_files_are_refused(tmp_path, change):
    path, _ = recorded(tmp_path)
    mpm.replay(path).close()
    with h5py.File(path, "r+", libver=("v110", "v110")) as file:
        change(file)
    with pytest.raises(mpm.FileFormatError, match=r"a\.vtkhdf"):
        mpm.replay(path)


def test_there_is_no_heap_of_strings_in_a_file(tmp_path):
    """HDF5 looks for ever through one that is damaged, deaf to every signal."""
    recorded(tmp_path)
    assert b"GCOL" not in (tmp_path / "a.vtkhdf").read_bytes()


def test_totals_of_another_name(tmp_path):
    recorded(tmp_path)
    with h5py.File(tmp_path / "a.vtkhdf", "r+", libver=("v110", "v110")) as file:
        names = file["mpm/totals"].attrs["names"].tobytes().replace(b"gravitational", b"gravitatoinal")
        file["mpm/totals"].attrs["names"] = np.frombuffer(names, dtype=np.uint8)
    with pytest.raises(mpm.FileFormatError, match="there is no total 'gravitational'"):
        mpm.replay(tmp_path / "a.vtkhdf")


def test_without_the_extra(tmp_path, monkeypatch):
    path, sim = recorded(tmp_path)
    before = path.read_bytes(), sim.state_hash()
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"trajectories need h5py: pip install h5py \(the extra 'io'\)"):
        sim.record(path, fps=1)
    assert (path.read_bytes(), sim.state_hash()) == before
    with mpm.replay(path) as frames:  # needs nothing
        assert np.array_equal(frames[-1].x, sim.particles.x)
    sim.step()  # nothing records


# --- pictures ----------------------------------------------------------------------------------------------------


@dims
def test_a_frame_looks_like_the_simulation_did(tmp_path, dim):
    path, sim = recorded(tmp_path, dim)
    with mpm.replay(path) as frames:
        for color in ("speed", "material", "J"):
            pictures = [viz.Renderer(s, color=color, size=(96, 64)).frame(s) for s in (sim, frames[-1])]
            assert np.array_equal(*pictures)
        renderer = viz.Renderer(frames[0], size=(96, 64))
        assert not np.array_equal(renderer.frame(frames[0]), renderer.frame(frames[-1]))


@dims
def test_plot(tmp_path, dim):
    path, sim = recorded(tmp_path, dim)
    with mpm.replay(path) as frames:
        artists = frames.plot(-1, color="speed")
        ax = artists[0].axes
        assert (
            ax.get_title(loc="left") == f"t = {sim.time:.4g} s" and artists[2].get_ylabel() == "speed [m/s]"
        )
        if dim == 2:
            assert np.array_equal(artists[0].get_offsets(), sim.particles.x)
            assert np.array_equal(artists[0].get_array(), sim.compute("speed"))
        assert frames[2].plot(color="J", limits=(0.9, 1.1))[2].get_ylabel() == "J"
        _, axes = plt.subplots()
        assert frames.plot(0, ax=axes)[0].axes is axes
        with pytest.raises(ValueError, match="i = 7: must be >= -7 and < 7"):
            frames.plot(7)
        with pytest.raises(ValueError, match="color = 'pressure'"):
            frames.plot(0, color="pressure")


def test_the_colour_is_the_material_where_nothing_else_is_known(tmp_path):
    path, _ = recorded(tmp_path, fields=())
    with mpm.replay(path) as frames:
        assert frames.plot(0)[2] is None  # its own colours
        assert frames.plot(0, limits=(0, 2))[2].get_ylabel() == "material"


@dims
def test_movies(tmp_path, dim):
    path, _ = recorded(tmp_path, dim)
    make(dim).movie(tmp_path / "direct", duration=0.06, fps=100, size=(80, 64))
    with mpm.replay(path) as frames:
        frames.movie(tmp_path / "again", size=(80, 64))
        names = [file.name for file in sorted((tmp_path / "direct").iterdir())]
        assert names == [f"frame_{k:04d}.png" for k in range(7)]
        for name in names:  # the same pictures as of the run itself
            pictures = [np.asarray(Image.open(tmp_path / folder / name)) for folder in ("direct", "again")]
            assert np.array_equal(*pictures)
        frames[::2].movie(tmp_path / "a.gif", fps=20, size=(80, 64), color="material")
        with Image.open(tmp_path / "a.gif") as movie:
            assert movie.n_frames == 4 and movie.info["duration"] == 50
        frames.movie(tmp_path / "a.mp4", size=(80, 64))
        assert (tmp_path / "a.mp4").stat().st_size > 1000
        with pytest.raises(ValueError, match="no frames"):
            frames[:0].movie(tmp_path / "b.mp4")
        assert not (tmp_path / "b.mp4").exists()


def test_a_bar_counts_the_frames_of_a_movie(frames, tmp_path, capsys):
    frames.movie(tmp_path / "a", size=(64, 64), progress=True)
    assert "7/7" in capsys.readouterr().err


# --- the command line --------------------------------------------------------------------------------------------


def test_replay_on_the_command_line(tmp_path, capsys):
    path, sim = recorded(tmp_path)
    assert cli.main(["replay", str(path)]) == 0
    text = capsys.readouterr().out
    assert (
        "frames     7, t = 0 to 0.06 s, 100/s" in text and f"particles  {len(sim.particles):,}, 2-D" in text
    )
    assert "x [m], F [1]" in text and "<Simulation 2-D" in text
    command = ["replay", path, "--plot", tmp_path / "p.png", "--frame", "3", "--movie", tmp_path / "m.gif"]
    command += ["--export", tmp_path / "f_{:02d}.ply", "--fields", "v", "J", "--color", "J"]
    assert cli.main(list(map(str, command))) == 0
    text = capsys.readouterr().out
    assert f"wrote {tmp_path / 'f_00.ply'} to {tmp_path / 'f_06.ply'}" in text
    with Image.open(tmp_path / "p.png") as picture, Image.open(tmp_path / "m.gif") as movie:
        assert picture.size == (960, 810) and movie.n_frames == 7
    assert len(list(tmp_path.glob("f_*.ply"))) == 7


@pytest.mark.parametrize("options", [["--frame", "1"], ["--color", "J"], ["--fields", "v"]])
def test_options_that_would_do_nothing_are_refused(tmp_path, capsys, options):
    path, _ = recorded(tmp_path)
    assert cli.main(["replay", str(path), *options]) == 1
    assert re.search(rf"{options[0]} .*: must come with --", capsys.readouterr().err)


@pytest.mark.parametrize("number", ["7", "-8", "99"])
def test_a_frame_that_is_not_there(tmp_path, capsys, number):
    path, _ = recorded(tmp_path)
    command = ["replay", str(path), "--plot", str(tmp_path / "p.png"), f"--frame={number}"]
    assert cli.main(command) == 1
    said = capsys.readouterr()
    assert f"--frame {number}: must be >= -7 and < 7, there are 7 frames" in said.err and not said.out
    assert not (tmp_path / "p.png").exists()


def test_a_file_that_cannot_be_replayed(tmp_path, capsys):
    assert cli.main(["replay", str(tmp_path / "a.vtkhdf")]) == 1
    assert "FileNotFoundError" in capsys.readouterr().err
    (tmp_path / "a.vtkhdf").write_text("no")
    for options in ([], ["--repair"]):
        assert cli.main(["replay", str(tmp_path / "a.vtkhdf"), *options]) == 1
        assert "FileFormatError" in capsys.readouterr().err
    assert (tmp_path / "a.vtkhdf").read_text() == "no" and len(list(tmp_path.iterdir())) == 1


def test_repairing_what_is_whole_changes_nothing_that_counts(tmp_path, capsys):
    path, _ = recorded(tmp_path)
    shutil.copy(path, tmp_path / "before.vtkhdf")
    assert cli.main(["replay", str(path), "--repair"]) == 0
    with mpm.replay(path) as after, mpm.replay(tmp_path / "before.vtkhdf") as before:
        assert after.description == before.description
        for a, b in zip(after, before, strict=True):
            assert a.time == b.time and all(np.array_equal(a[name], b[name]) for name in b.fields)


def test_the_demo_leaves_a_trajectory(tmp_path, capsys):
    out = tmp_path / "out"
    command = ["demo", "disks", "--frames", "4", "--out", str(out), "--threads", "1"]
    assert cli.main([*command, "--format", "bgeo", "--format", "npz"]) == 0
    text = capsys.readouterr().out
    assert re.search(
        r"^trajectory +5 frames, [\d.]+ MB in [\d.]+ s, [\d.]+% of stepping$", text, re.MULTILINE
    )
    with mpm.replay(out / "disks.vtkhdf") as frames:
        assert len(frames) == 5 and frames[0].time == 0 and "speed" in frames.fields
        names = [f"disks_{k:04d}.{suffix}" for k in range(5) for suffix in ("bgeo", "npz")]
        assert sorted(p.name for p in (out / "disks_frames").iterdir()) == names
        with np.load(out / "disks_frames/disks_0004.npz") as last:
            assert np.array_equal(last["x"], frames[-1].x)


def test_the_demo_without_the_extra_says_so(tmp_path):
    code = "import sys; sys.modules['h5py'] = None; from mpm.commands.cli import main; sys.exit(main(sys.argv[1:]))"
    command = ["demo", "disks", "--frames", "1", "--out", str(tmp_path), "--format", "ply"]
    run = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False)
    assert (
        run.returncode == 1
        and "no trajectory: trajectories need h5py: pip install h5py (the extra 'io')" in run.stderr
    )
    assert "no frames as ply" in run.stderr
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".csv", ".mp4", ".png", ".png"]
