"""Every file that the package writes is whole or not there, and an older one stays until then: errors, kills, forks."""

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from PIL import Image

import mpm
import scenes
from mpm import viz
from mpm.base import files
from mpm.bench import measure as bench
from mpm.commands import replay as inspection
from mpm.viz import figures

IMAGE = np.random.default_rng(0).integers(0, 255, (64, 80, 3), dtype=np.uint8)
OLD = b"an older file"


@pytest.fixture(scope="module")
def sim():
    made = scenes.free_body(2, side=4)
    made.step(3)
    return made


@pytest.fixture(scope="module")
def recorded(sim, tmp_path_factory):
    pytest.importorskip("h5py")
    path = tmp_path_factory.mktemp("recorded") / "a.vtkhdf"
    with sim.record(path, fps=1e4, fields=("v",)):
        sim.step(2)
    return path


def movie(path):
    with viz.MovieWriter(path, fps=10, size=(80, 64)) as writer:
        for _ in range(3):
            writer.add(IMAGE)


def figure(path):
    made = figures.new_figure((2, 2))
    made.subplots().plot([1, 2])
    figures.save_figure(path, made)


def measured(name):
    def write(path):
        bench._write(
            *[path if name == kind else None for kind in ("json", "csv")], [], [("calls", Row())], {}
        )

    return write


class Row(tuple):
    """A result that says a little."""

    __slots__ = ()
    __dataclass_fields__ = {}  # noqa: RUF012


INSPECTED = dict.fromkeys(["frame", "movie", "color", "cut", "export", "fields"]) | {"repair": False}

# What writes files, by their names.
WRITERS = {
    "a.mpm": lambda path, sim, recorded: sim.save(path),
    "a.gif": lambda path, sim, recorded: movie(path),
    "a.mp4": lambda path, sim, recorded: movie(path),
    "frames/frame_0000.png": lambda path, sim, recorded: movie(path.parent),
    "a.png": lambda path, sim, recorded: viz.save_image(path, IMAGE),
    "a.JPG": lambda path, sim, recorded: viz.save_image(path, IMAGE),
    "replay.png": lambda path, sim, recorded: inspection.run(recorded, **INSPECTED, plot=path),
    "a.json": lambda path, sim, recorded: measured("json")(path),
    "bench.csv": lambda path, sim, recorded: measured("csv")(path),
    "totals.csv": lambda path, sim, recorded: mpm.export(sim, path),
    "a.npz": lambda path, sim, recorded: mpm.export(sim, path),
    "a.ply": lambda path, sim, recorded: mpm.export(sim, path),
    "a.vtp": lambda path, sim, recorded: mpm.export(sim, path),
    "a.bgeo": lambda path, sim, recorded: mpm.export(sim, path),
    "a.geo": lambda path, sim, recorded: mpm.export(sim, path),
}


@pytest.fixture(params=WRITERS)
def case(request, tmp_path, sim, recorded):
    """A path, and what writes it."""
    path = tmp_path / request.param
    path.parent.mkdir(exist_ok=True)
    return path, lambda: WRITERS[request.param](path, sim, recorded)


def there(path):
    return sorted(place.name for place in path.parent.iterdir())


def test_the_last_thing_that_happens_is_the_name(case, monkeypatch):
    """An error there leaves the older file, alone; without it, the new one is there, alone."""
    path, write = case
    path.write_bytes(OLD)

    def fail(*_):
        assert path.read_bytes() == OLD
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write()
    assert path.read_bytes() == OLD and there(path) == [path.name]
    monkeypatch.undo()
    write()
    assert path.read_bytes() != OLD and path.name in there(path) and not any(".tmp" in n for n in there(path))


def test_a_full_disk_leaves_the_older_file(case):
    """As far as a limit of the file size is one. In a child, which the limit is for."""
    path, write = case
    write()
    good = path.read_bytes()
    path.write_bytes(OLD)
    child = os.fork()
    if not child:
        import resource

        status = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(good) // 2, len(good) // 2))
            write()
        except (OSError, mpm.SimulationError):
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert path.read_bytes() == OLD and not any(".tmp" in name for name in there(path))


@pytest.mark.parametrize("name", ["a.gif", "a.mp4", "a.png"])
def test_pipes_and_devices_are_not_replaced(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(OSError, match="is not a regular file"):
        viz.save_image(tmp_path / name, IMAGE) if name == "a.png" else movie(tmp_path / name)
    assert (tmp_path / name).is_fifo() and there(tmp_path / name) == [name]


def test_a_movie_that_is_not_closed_yet_is_not_there_yet(tmp_path):
    for name in ("a.gif", "a.mp4"):
        path = tmp_path / name
        path.write_bytes(OLD)
        writer = viz.MovieWriter(path, fps=10, size=(80, 64))
        writer.add(IMAGE)
        assert path.read_bytes() == OLD
        writer.close()
        assert path.read_bytes()[:4] != OLD[:4]


def test_an_interrupt_at_the_end_of_a_movie_leaves_the_older_one(tmp_path, monkeypatch):
    path = tmp_path / "a.mp4"
    path.write_bytes(OLD)
    writer = viz.MovieWriter(path, fps=10, size=(80, 64))
    writer.add(IMAGE)

    def interrupt(self, timeout=None):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        writer.close()
    assert path.read_bytes() == OLD and there(path) == ["a.mp4"]


def test_a_forked_process_neither_ends_nor_removes_a_movie(tmp_path):
    code = """
        import os, sys
        import numpy as np
        from mpm.viz import MovieWriter
        movie = MovieWriter("a.mp4", fps=10, size=(80, 64))
        movie.add(np.zeros((64, 80, 3), np.uint8))
        if os.fork() == 0:
            sys.exit()  # with all that Python does at the end
        os.wait()
        movie.add(np.zeros((64, 80, 3), np.uint8))
        movie.close()
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(code)]
    subprocess.run(command, check=True, cwd=tmp_path, env=environment)
    assert there(tmp_path / "a.mp4") == ["a.mp4"] and (tmp_path / "a.mp4").stat().st_size > 500


def test_a_movie_keeps_permissions_and_links(tmp_path):
    (tmp_path / "disk").mkdir()
    for name in ("a.gif", "a.mp4"):
        place = tmp_path / "disk" / name
        place.write_bytes(OLD)
        place.chmod(0o640)
        (tmp_path / name).symlink_to(place)
        movie(tmp_path / name)
        assert (tmp_path / name).is_symlink() and place.stat().st_mode & 0o777 == 0o640
        assert place.read_bytes() != OLD


def test_what_cannot_be_replaced_is_found_before(tmp_path):
    path = tmp_path / "a.json"
    files.check(path)
    assert not path.exists()
    path.write_bytes(OLD)
    files.check(path)
    assert path.read_bytes() == OLD and there(path) == ["a.json"]
    os.mkfifo(tmp_path / "pipe")
    for wrong in (tmp_path, tmp_path / "none" / "a.json", path / "b.json", tmp_path / "pipe"):
        with pytest.raises(OSError):
            files.check(wrong)
    assert there(path) == ["a.json", "pipe"]


def test_a_figure_without_a_suffix_is_a_png_of_that_name(tmp_path):
    figure(tmp_path / "figure")
    with Image.open(tmp_path / "figure") as picture:
        assert picture.format == "PNG"


def test_figures_of_the_benchmark_are_read_back(tmp_path):
    measured("json")(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["results"] == []
