"""Movies: the frames that were drawn, in files that other programs read, and what is left of a run that fails."""

import os
import re
import subprocess
import sys
import textwrap
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import mpm
from mpm import shapes, viz
from mpm.viz.movie import Pictures
from pictures import SOLID, make

dims = pytest.mark.parametrize("dim", [2, 3])


def read_mp4(path):
    """Size, frames per second and images, as ffmpeg decodes them."""
    import imageio_ffmpeg

    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    run = subprocess.run(command, capture_output=True, check=True, stdin=subprocess.DEVNULL)
    width, height, fps = re.search(r"h264.* (\d+)x(\d+)[ ,].* ([\d.]+) fps", run.stderr.decode()).groups()
    frames = np.frombuffer(run.stdout, np.uint8).reshape(-1, int(height), int(width), 3)
    return SimpleNamespace(size=(int(width), int(height)), fps=float(fps), frames=frames)


def test_an_mp4_has_the_frames_that_were_drawn(tmp_path):
    sim = make(2)
    expected = []
    twin = make(2)
    renderer = viz.Renderer(twin, size=(128, 96))
    for _ in twin.frames(duration=0.2, fps=30):
        expected.append(renderer.frame(twin))
    start = sim.time
    assert sim.movie(tmp_path / "a.mp4", duration=0.2, fps=30, size=(128, 96)) is None
    movie = read_mp4(tmp_path / "a.mp4")
    assert movie.size == (128, 96) and movie.fps == 30 and len(movie.frames) == len(expected) == 7
    assert sim.time == start + 6 / 30 and sim.state_hash() == twin.state_hash()
    # What compression loses, in 255ths. Measured: 2.6; the nearest other frame is 5.3 away.
    away = np.array(
        [[np.abs(image.astype(int) - drawn).mean() for drawn in expected] for image in movie.frames]
    )
    assert away.diagonal().max() < 4 and away.argmin(axis=1).tolist() == list(range(7))


def test_a_gif_has_its_frames_and_its_speed(tmp_path):
    make(3).movie(tmp_path / "a.gif", duration=0.1, fps=40, size=(80, 64))
    with Image.open(tmp_path / "a.gif") as movie:
        assert movie.n_frames == 5 and movie.size == (80, 64)
        assert movie.info["duration"] == 20 and movie.info["loop"] == 0  # in units of 10 ms


@dims
def test_a_directory_of_pictures(tmp_path, dim):
    sim = make(dim)
    sim.movie(tmp_path / "frames", duration=0.1, fps=20, size=(80, 64), color="pressure", limits=(0, 1e4))
    files = sorted((tmp_path / "frames").iterdir())
    assert [file.name for file in files] == [f"frame_{k:04d}.png" for k in range(3)]
    for file in files:
        with Image.open(file) as picture:
            assert picture.size == (80, 64) and picture.mode == "RGB"
    last = viz.Renderer(sim, size=(80, 64), color="pressure", limits=(0, 1e4)).frame(sim)
    assert np.array_equal(np.asarray(Image.open(files[-1])), last)


def test_a_path_without_its_directory(tmp_path):
    sim = make(2)
    before = sim.state_hash()
    with pytest.raises(FileNotFoundError, match=r"path = .*nowhere"):
        sim.movie(tmp_path / "nowhere" / "a.mp4", duration=1, fps=10)
    assert sim.state_hash() == before and not list(tmp_path.iterdir())


def test_a_movie_that_is_closed_takes_no_more(tmp_path):
    image = np.zeros((64, 80, 3), np.uint8)
    for name in ("a.mp4", "a.gif", "a"):
        with viz.MovieWriter(tmp_path / name, fps=10, size=(80, 64)) as writer:
            writer.add(image)
        assert writer.frames == 1 and (tmp_path / name).exists()
        writer.close()  # again, no harm
        with pytest.raises(ValueError, match="closed"):
            writer.add(image)


def test_a_run_that_fails_leaves_a_movie_of_what_there_was(tmp_path):
    sim = make(2)
    sim.particles.v[:] = np.nan
    with pytest.raises(mpm.SimulationError):
        sim.movie(tmp_path / "a", duration=1, fps=10, size=(80, 64))
    assert len(list((tmp_path / "a").iterdir())) == 1


@pytest.mark.parametrize("color", ["speed", "mass"])
def test_pictures_that_are_drawn_beside_the_run_show_what_was_shot(color):
    """A field is a view, a collider is asked where it is: both have moved on when the picture is drawn."""
    scene = mpm.Scene([0, 0], [1, 1], gravity=[0, -9.81])
    scene.add(shapes.Box([0.125, 0.5], [0.375, 0.75]), SOLID)
    scene.add_collider(shapes.Ball([0.7, 0.3], 0.15), motion=mpm.motion.Linear([0, 1]))
    sim = mpm.Simulation(scene, dx=0.125, threads=1)
    expected, drawn, started, go_on = [], [], threading.Event(), threading.Event()

    def use(image, i):
        started.set()
        assert go_on.wait(20)
        drawn.append((i, image))

    beside, alone = (viz.Renderer(sim, size=(96, 72), color=color) for _ in range(2))
    with Pictures(beside, use) as pictures:
        for i, _ in sim.frames(duration=0.09, fps=100):
            expected.append(alone.frame(sim))
            if i:
                go_on.set()
            pictures.take(sim, i)
            if not i:
                assert started.wait(20) and not drawn
    assert [i for i, _ in drawn] == list(range(10)) and len(expected) == 10
    for (_, image), picture in zip(drawn, expected, strict=True):
        assert np.array_equal(image, picture)
    assert len({image.tobytes() for image in expected}) == 10


def test_what_goes_wrong_with_a_picture_is_raised():
    sim = make(2)

    def use(image):
        raise OSError("no space left")

    before = threading.active_count()
    for attempts in (1, 2):
        with pytest.raises(OSError, match="no space left"), Pictures(viz.Renderer(sim), use) as pictures:
            for _ in range(attempts):
                pictures.take(sim)
        assert threading.active_count() == before


def test_pictures_on_one_sheet(tmp_path):
    images = [np.full((4, 6, 3), 40 * k, np.uint8) for k in range(5)]
    sheet = viz.contact_sheet(images, columns=3)
    assert sheet.shape == (8, 18, 3) and sheet.dtype == np.uint8
    for k in range(5):
        i, j = divmod(k, 3)
        assert (sheet[4 * i : 4 * i + 4, 6 * j : 6 * j + 6] == 40 * k).all()
    assert (sheet[4:, 12:] == 255).all()
    assert viz.contact_sheet(images[:2], columns=9).shape == (4, 12, 3)
    viz.save_image(tmp_path / "a.png", sheet)
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")), sheet)


def test_frames_of_an_earlier_movie_are_replaced(tmp_path):
    sim = make(2)
    folder = tmp_path / "frames"
    sim.movie(folder, duration=0.004, fps=1000, size=(64, 64))
    (folder / "frame_notes.png").touch()
    sim.movie(folder, duration=0.002, fps=1000, size=(64, 64))
    names = ["frame_0000.png", "frame_0001.png", "frame_0002.png", "frame_notes.png"]
    assert sorted(path.name for path in folder.iterdir()) == names


def test_an_mp4_that_cannot_be_written_is_told_and_leaves_nothing(tmp_path):
    """A limit of the file size ends ffmpeg, early or with the last bytes."""
    code = """
        import resource, sys
        import numpy as np
        from mpm.viz import MovieWriter

        noise = np.random.default_rng(0).integers(0, 255, (256, 256, 3), dtype=np.uint8)
        for size, frames in ((0, 1), (20_000, 1), (20_000, 300)):
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
            movie = MovieWriter("a.mp4", fps=30, size=(256, 256))
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            try:
                with movie:
                    for _ in range(frames):
                        movie.add(noise)
            except OSError as error:
                print("refused", movie.closed, "a.mp4: ffmpeg could not write it" in str(error))
            movie.close()
    """
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["refused True True"] * 3
    assert not list(tmp_path.iterdir())


def test_an_interrupt_amid_an_image_loses_only_that_one(tmp_path):
    movie = viz.MovieWriter(tmp_path / "a.mp4", fps=30, size=(64, 64))
    for shade in (0, 100, 200):
        movie.add(np.full((64, 64, 3), shade, np.uint8))
    movie._encoder.add(bytes(1000))  # what a pipe has taken by then
    movie.close()
    assert len(read_mp4(tmp_path / "a.mp4").frames) == 3
