"""The command line: what it writes, prints and returns."""

import csv
import importlib.util
import re
import signal
import subprocess
import sys
import threading
import types
import urllib.parse
import urllib.request
import webbrowser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import mpm
import mpm.viewer
from mpm import gallery
from mpm.commands import cli


@pytest.fixture(autouse=True)
def small_pictures(monkeypatch):
    """Full-size frames cost time and show nothing more to a test."""
    from mpm import viz

    renderer, writer = viz.Renderer, viz.MovieWriter
    size = (160, 120)
    monkeypatch.setattr(viz, "Renderer", lambda sim, **options: renderer(sim, size=size, **options))
    monkeypatch.setattr(viz, "MovieWriter", lambda path, **options: writer(path, size=size, **options))


def python_m_mpm(*arguments, **options):
    command = [sys.executable, "-m", "mpm", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_demo_writes_a_movie_pictures_and_the_history(tmp_path):
    out = tmp_path / "new" / "folder"
    run = python_m_mpm("demo", "jelly", "--frames", 3, "--out", out, "--threads", 2, "--dtype", "float32")
    assert run.returncode == 0, run.stderr
    names = ["jelly.mp4", "jelly.vtkhdf", "jelly_energy.png", "jelly_frames.png", "jelly_history.csv"]
    assert sorted(path.name for path in out.iterdir()) == names
    assert [line[6:] for line in run.stdout.splitlines() if line.startswith("wrote ")] == [
        str(out / f"jelly{rest}")
        for rest in (".mp4", ".vtkhdf", "_frames.png", "_energy.png", "_history.csv")
    ]
    assert "frames              3 (0.05 s)" in run.stdout and "float32" in run.stdout
    assert "P_x - impulses" in run.stdout and re.search(
        r"^mass .* kg/m +0\.0e\+00$", run.stdout, re.MULTILINE
    )
    assert "3/3" in run.stderr  # the progress bar, apart from the results


def test_the_version():
    run = python_m_mpm("--version")
    assert (run.returncode, run.stdout) == (0, f"mpm {mpm.__version__}\n")


def test_demo_is_the_scene_of_the_gallery(tmp_path, capsys):
    assert cli.main(["demo", "disks", "--frames", "2", "--out", str(tmp_path), "--threads", "1"]) == 0
    entry = gallery.get("disks")
    sim = entry.simulation(threads=1)
    for _ in sim.frames(duration=2 / entry.fps, fps=entry.fps):
        pass
    with (tmp_path / "disks_history.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    columns = sim.history.columns()
    assert head == list(columns)
    assert np.array_equal(
        np.array(rows, dtype=float), np.stack(list(columns.values()), axis=1)
    )  # to the last bit
    text = capsys.readouterr().out
    assert (
        f"particles           {len(sim.particles):,}" in text and f"steps               {sim.steps:,}" in text
    )
    assert "centre of mass" not in text  # nothing falls
    assert sim.health["binnings"] > 0 and "health" not in text  # nothing to worry about
    with Image.open(tmp_path / "disks_frames.png") as sheet:
        assert sheet.size == (3 * 80, 60)  # frames 0, 1, 2, half as large
    with Image.open(tmp_path / "disks_energy.png") as plot:
        assert plot.size == (1080, 630)


def test_demo_runs_again_into_the_same_folder(tmp_path, capsys):
    for _ in range(2):
        assert cli.main(["demo", "beam", "--frames", "1", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    assert len(list(tmp_path.iterdir())) == 5


def test_what_an_extra_is_missing_for_is_said_and_the_rest_done(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert cli.main(["demo", "beam", "--frames", "1", "--out", str(tmp_path)]) == 1
    said = "no movie: writing mp4 needs imageio-ffmpeg: pip install imageio-ffmpeg (the extra 'movie')"
    assert said in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "beam.vtkhdf",
        "beam_energy.png",
        "beam_frames.png",
        "beam_history.csv",
    ]


def test_demo_without_any_extra_still_runs_and_writes_the_history(tmp_path):
    code = (
        "import sys\n"
        "class Nothing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('matplotlib', 'PIL', 'tqdm', 'imageio_ffmpeg', 'h5py'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "import importlib.util\n"
        "found = importlib.util.find_spec\n"
        "absent = ('matplotlib', 'PIL', 'tqdm', 'imageio_ffmpeg')\n"
        "importlib.util.find_spec = lambda name, *a: None if name in absent else found(name, *a)\n"
        "sys.meta_path.insert(0, Nothing())\n"
        "from mpm.commands.cli import main\n"
        "sys.exit(main(['demo', 'beam', '--frames', '2', '--out', sys.argv[1]]))\n"
    )
    run = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert run.returncode == 1, run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["beam_history.csv"]
    assert all(f"(the extra '{extra}')" in run.stderr for extra in ("movie", "plot", "io"))
    assert "frame 2/2" in run.stderr  # a plain counter for the bar


def test_info(capsys):
    assert cli.main(["info"]) == 0
    shown = capsys.readouterr().out.strip()
    assert shown == str(mpm.show_config()) and capsys.readouterr().out.strip() == shown


def test_help_lists_the_scenes():
    run = python_m_mpm("demo", "--help")
    assert run.returncode == 0 and not run.stderr
    assert all(name in run.stdout for name in gallery.names())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "COMMAND"),
        (["dmo"], "dmo"),
        (["demo", "jely"], "jely"),
        (["demo", "--frames", "0"], "--frames"),
        (["demo", "--frames", "-1"], "--frames"),
        (["demo", "--frames", "many"], "--frames"),
        (["demo", "--frames", "1.5"], "--frames"),
        (["demo", "--threads", "0"], "--threads"),
        (["demo", "--threads", "two"], "--threads"),
        (["demo", "--threads", "1025"], "--threads"),
        (["demo", "--dtype", "float16"], "--dtype"),
        (["demo", "--out"], "--out"),
        (["demo", "cube", "jelly"], "jelly"),
        (["demo", "--fps=1"], "--fps"),
        (["info", "now"], "now"),
        (["demo", "--format", "obj"], "--format"),
        (["replay"], "FILE"),
        (["view", "drm"], "drm"),
        (["view", "--port", "0"], "--port"),
        (["view", "--port", "65536"], "--port"),
        (["replay", "a.vtkhdf", "--frame", "last"], "--frame"),
    ],
)
def test_wrong_usage_is_2_and_says_why_on_stderr(capsys, arguments, said):
    with pytest.raises(SystemExit) as left:
        cli.main(arguments)
    out, err = capsys.readouterr()
    assert left.value.code == 2 and said in err and "usage:" in err and not out


def test_view_says_what_it_needs(capsys, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "tornado" else found("json")
    )
    assert cli.main(["view", "drum"]) == 1
    said = "mpm: ImportError: mpm view needs tornado: pip install tornado (the extra 'app')\n"
    assert capsys.readouterr().err == said


@pytest.fixture
def server(monkeypatch):
    """One that listens at once, and ends."""
    served = types.ModuleType("mpm.viewer.server")
    served.ADDRESS, served.asked = "127.0.0.1", []

    def run(hub, *, port, token, opened):
        served.asked.append((hub.session, port, token))
        opened()

    served.run = run
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "mpm.viewer.server", served)
    monkeypatch.setattr(mpm.viewer, "server", served, raising=False)
    return served


def test_view_serves_a_scene(tmp_path, capsys, monkeypatch, server):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "below").mkdir()
    for options, folder in (([], tmp_path), (["--folder", "below", "--port", "1234"], tmp_path / "below")):
        assert cli.main(["view", "disks", "--no-browser", *options]) == 0
        session, port, token = server.asked[-1]
        assert session._folder == folder.resolve() and session._scene == "disks"
        assert len(session.simulation.particles) == 1624
        assert capsys.readouterr().out == f"http://127.0.0.1:{port}/?token={token}   Ctrl-C ends it\n"
    assert [port for _, port, _ in server.asked] == [8866, 1234]
    assert len({token for _, _, token in server.asked}) == 2


def test_view_takes_a_method_that_a_scene_has(tmp_path, capsys, monkeypatch, server):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["view", "dam-break", "--method", "sph", "--no-browser"]) == 0
    assert server.asked[-1][0].simulation._kind == "sph"
    capsys.readouterr()
    assert cli.main(["view", "drum", "--method", "sph"]) == 2
    assert "drum is not for --method sph; " in capsys.readouterr().err
    mpm.gallery.get("disks").simulation(scale=0.25, threads=1).save("state")
    assert cli.main(["view", "state", "--method", "sph"]) == 2
    assert "keeps its own" in capsys.readouterr().err


def test_view_opens_files(tmp_path, capsys, monkeypatch, server):
    monkeypatch.chdir(tmp_path)
    sim = mpm.gallery.get("disks").simulation(scale=0.25, threads=1)
    sim.record("run.geo", fps=10).close()
    sim.save("state")
    (tmp_path / "text.vtkhdf").write_text("nothing")
    for name in ("run.geo", "run_0000.geo", "run.geo.series", "state"):
        assert cli.main(["view", name, "--no-browser"]) == 0, capsys.readouterr().err
        shown = server.asked[-1][0]
        assert len(shown._source.now.particles) == len(sim.particles) and shown._folder == tmp_path
        assert (shown.replay is None) == (name == "state")
    assert cli.main(["view", "text.vtkhdf", "--no-browser"]) == 1
    assert "text.vtkhdf" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        cli.main(["view", "none.vtkhdf"])
    assert end.value.code == 2 and "there is no such file" in capsys.readouterr().err


def test_a_browser_learns_the_token_from_a_file_of_the_user(monkeypatch, capsys, server):
    opened, there = [], threading.Event()

    def browse(address):
        page = Path(urllib.request.url2pathname(urllib.parse.urlparse(address).path))
        opened.append(
            (address, page.read_text(), page.stat().st_mode & 0o777, page.parent.stat().st_mode & 0o777)
        )
        there.set()

    monkeypatch.setattr(webbrowser, "open", browse)
    show = server.run
    server.run = lambda *arguments, **options: (show(*arguments, **options), there.wait(10))
    assert cli.main(["view", "disks"]) == 0
    ((address, page, mode, folder),) = opened
    token = server.asked[0][2]
    assert address.startswith("file://") and token not in address  # command lines are for all to read
    assert f"http://127.0.0.1:8866/?token={token}" in page and (mode, folder) == (0o600, 0o700)


@pytest.mark.usefixtures("hangups_end")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_end_the_viewer_and_what_it_wrote(tmp_path, monkeypatch, capsys, server, name):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    show = server.run

    def run(hub, **options):
        show(hub, **options)
        hub.session.receive({"type": "record", "path": "a.geo", "fps": 60})
        signal.raise_signal(signal.Signals[name])
        raise AssertionError("it goes on")

    server.run = run
    assert cli.main(["view", "disks", "--no-browser"]) == 0
    assert server.asked[0][0]._recording is None and not list(tmp_path.glob("mpm-*"))
    assert {n: signal.getsignal(n) for n in before} == before


def test_the_folder_of_the_viewer_must_exist(capsys, server):
    assert cli.main(["view", "drum", "--folder", "nowhere"]) == 1
    assert "NotADirectoryError: folder = 'nowhere'" in capsys.readouterr().err and not server.asked


def test_a_folder_that_cannot_be_made_is_said(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert cli.main(["demo", "beam", "--frames", "1", "--out", str(tmp_path / "file")]) == 1
    err = capsys.readouterr().err
    assert err.startswith("mpm: FileExistsError") and "Traceback" not in err


def test_a_wrong_environment_is_said(tmp_path):
    import os

    run = python_m_mpm("info", env={**os.environ, "MPM_NUM_THREADS": "many"})
    assert run.returncode == 1 and "MPM_NUM_THREADS = 'many'" in run.stderr and "Traceback" not in run.stderr
    run = python_m_mpm("info", env={**os.environ, "MPM_ISA": "mmx"})
    assert run.returncode == 1 and "MPM_ISA = 'mmx'" in run.stderr and "usable: scalar" in run.stderr


def test_a_failing_run_is_1(tmp_path, capsys, monkeypatch):
    def fail(*args, **options):
        raise mpm.SimulationError("row 3 went wrong")

    monkeypatch.setattr("mpm.commands.demo.run", fail)
    assert cli.main(["demo", "beam", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "mpm: SimulationError: row 3 went wrong\n"


def test_a_scene_that_is_nearly_named_is_proposed(capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["demo", "snow_wedge"])
    assert left.value.code == 2 and "did you mean 'snow-wedge'?" in capsys.readouterr().err


def test_bounces_are_what_comes_after_the_fall(capsys):
    from mpm.commands import demo

    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81), walls="separate")
    solid = mpm.materials.NeoHookean(E=1e5, nu=0.2, density=1000)
    scene.add(mpm.shapes.Ball((0.5, 0.6), 0.15), solid)
    sim = mpm.Simulation(scene, dx=1 / 16, threads=1)
    start = sim.totals()
    sim.run(0.2)
    demo._report_bounces(sim, start)
    assert capsys.readouterr().out == ""  # it has not bounced
    sim.run(0.6)
    demo._report_bounces(sim, start)
    said = capsys.readouterr().out
    found = re.fullmatch(
        r"centre of mass      from (.*) m above the floor; bounces to (.*) m at (.*) s\n", said
    )
    high, low, when = (float(number) for number in found.groups())
    assert high == pytest.approx(start.center_of_mass[1], abs=1e-4) and 0.2 < low < high and 0.3 < when < 0.8


def test_an_interrupted_command_says_so_and_ends_as_shells_expect(monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mpm.bench.measure.run", interrupted)
    assert cli.main(["bench", "calls", "--quick", "--repeats", "1"]) == 130
    assert capsys.readouterr().err == "mpm: interrupted\n"


def test_the_demo_takes_settings(tmp_path, capsys):
    """Of the scene and of the solver."""
    options = ["demo", "disks", "--out", str(tmp_path), "--frames", "1"]
    settings = ("dx=0.05", "sampling=poisson", "E=5e3", "threads=1")
    assert cli.main([*options, *(word for one in settings for word in ("--set", one))]) == 0
    said = capsys.readouterr().out
    assert "cells of 0.05 m" in said and "(poisson)" in said and "E=5000" in said
    assert cli.main([*options, "--set", "dxx=0.1"]) == 2
    assert "mpm: --set: " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main([*options, "--set", "dx"])
    assert "'dx': must be NAME=VALUE" in capsys.readouterr().err


def made_with(monkeypatch, name, *settings, method="mpm"):
    """The simulation that the demo would run."""

    class Stop(Exception):
        pass

    made = []

    def stop(sim, *_):
        made.append(sim)
        raise Stop

    monkeypatch.setattr("mpm.commands.demo._record", stop)
    with pytest.raises(Stop):
        cli.main(["demo", name, "--method", method, *(word for one in settings for word in ("--set", one))])
    return made[0]


def test_the_demo_takes_settings_of_bodies(tmp_path, capsys):
    options = ["--set", "dx=0.01", "--set", "body.velocity=0,-5"]
    assert cli.main(["demo", "snowball", *options, "--frames", "1", "--out", str(tmp_path)]) == 0
    assert "cells of 0.01 m" in capsys.readouterr().out
    with mpm.replay(tmp_path / "snowball.vtkhdf") as frames:
        momentum, mass = frames.totals["momentum"][0], frames.totals["mass"][0]
    assert momentum / mass == pytest.approx([0, -5], abs=1e-12)  # measured 9e-16


def test_a_setting_of_a_body_goes_to_the_bodies_that_are_named(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    sim = made_with(monkeypatch, "disks", "lower.velocity=1,2", "body.velocity=3,4", "body.E=40", "dx=0.05")
    lower, upper = sim.scene.bodies
    assert lower.velocity.tolist() == [1, 2] and upper.velocity.tolist() == [3, 4]  # the body's own name wins
    assert lower.material.E == upper.material.E == 40 and sim.dx == 0.05
    sim = made_with(monkeypatch, "jelly", "jelly.position=0.5,0.7", "jelly.size=0.2", "jelly.shape=ball")
    fluid, jelly = sim.scene.bodies
    assert isinstance(jelly.shape, mpm.shapes.Ball) and jelly.shape.radius == pytest.approx(0.1, abs=1e-15)
    assert jelly.shape.center == pytest.approx([0.5, 0.7], abs=1e-15)
    assert repr(fluid) == repr(gallery.get("jelly").scene().bodies[0])
    sim = made_with(monkeypatch, "dam-break", "water.velocity=1,0", method="sph")
    assert (sim.particles.v == [1, 0]).all() and sim._kind == "sph"
    sim = made_with(monkeypatch, "cantilever", "beam.E=5e6", method="fem")
    assert sim.materials[0].E == 5e6


@pytest.mark.parametrize(
    ("name", "setting", "said"),
    [
        ("snowball", "snw.E=1", "body = 'snw': must be one of 'body', 'snow'; did you mean 'snow'?"),
        (
            "snowball",
            "snow.colour=1",
            "setting of snow = 'colour': must be one of 'shape', 'position', 'size', 'vel",
        ),
        ("snowball", "snow.speed=0,-5", "did you mean 'velocity'?"),
        ("snowball", "body.velocity=0,-5,0", "body.velocity has shape (3,): must be (2,)"),
        ("snowball", "body.velocity=5", "body.velocity = 5: must be an array of shape (2,), not one number"),
        ("snowball", "body.velocity=0,fast", "body.velocity = '0,fast': must be an array of shape (2,)"),
        ("snowball", "snow.E=-1", "snow.E = -1.0: must be > 0 [Pa]"),
        ("snowball", "body.shape=stars", "did you mean 'star'?"),
        ("jelly", "body.E=1e5", "setting of fluid = 'E': must be one of"),
        ("disks", "lower.E=4", "lower.E: lower, upper have the same material; must be body.E"),
        ("taylor-green", "body.velocity=1,0", "; velocity varies over this body"),
    ],
)
def test_a_wrong_setting_of_a_body_is_said(tmp_path, capsys, name, setting, said):
    assert cli.main(["demo", name, "--out", str(tmp_path / "out"), "--set", setting]) in (1, 2)
    assert said in capsys.readouterr().err and not (tmp_path / "out").exists()


@pytest.mark.parametrize(("method", "name"), [("mpm", "dx"), ("sph", "spacing")])
def test_a_cell_size_that_does_not_divide_the_domain_is_answered_by_one_that_does(
    tmp_path, capsys, method, name
):
    demo = ["demo", "dam-break", "--method", method, "--out", str(tmp_path / "out")]
    assert cli.main([*demo, "--set", f"{name}=0.13"]) == 1
    said = capsys.readouterr().err
    assert (
        f"{name} = 0.13: (upper - lower)/{name} = (19.2308, 11.5385) must be whole; take {name} = 0.125"
        in said
    )
    assert "fitted" not in said


@pytest.mark.parametrize("setting", [".E=1", "snow.=1", "body.E", "body.E=", "a b=1"])
def test_a_setting_without_a_name_or_a_value_is_refused(capsys, setting):
    with pytest.raises(SystemExit):
        cli.main(["demo", "snowball", "--set", setting])
    assert f"'{setting}': must be NAME=VALUE or BODY.NAME=VALUE, such as " in capsys.readouterr().err
