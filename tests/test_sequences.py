"""Recordings as sequences of ``.geo`` and ``.bgeo``: written, read back, those of other programs, damaged ones."""

import json
import random

import numpy as np
import pytest

import mpm
import scenes
from mpm import materials, shapes
from mpm.commands.cli import main

SUFFIXES = ("geo", "bgeo")


def make(dim=2):
    scene = mpm.Scene([0] * dim, [1] * dim, gravity=[0, -9.81, 0][:dim])
    scene.add(shapes.Box([0.25] * dim, [0.5] * dim), materials.Snow())
    scene.add_collider(shapes.Ball([0.75] * dim, 0.125), motion=mpm.motion.Linear([0.5] * dim), name="ball")
    return mpm.Simulation(scene, dx=1 / 16, threads=1, max_dt=1e-3)


def record(folder, suffix="bgeo", dim=2, frames=4):
    sim = make(dim)
    with sim.record(folder / f"run.{suffix}", fps=1000, fields=("v", "F", "speed")):
        sim.run((frames - 1) * 1e-3)
    return sim


@pytest.mark.parametrize("dim", scenes.DIMS)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_sequence_is_the_recording_in_single_precision(tmp_path, dim, suffix):
    sim, plain = make(dim), make(dim)
    fields = ("v", "F", "speed")
    with (
        sim.record(tmp_path / f"run_{{:03d}}.{suffix}", fps=1000, fields=fields) as recording,
        sim.record(tmp_path / "run.vtkhdf", fps=1000, fields=fields),
    ):
        sim.run(0.004)
        sim.particles.delete([0, 5])
        sim.step(3)
    plain.run(0.004)
    plain.particles.delete([0, 5])
    plain.step(3)
    assert sim.state_hash() == plain.state_hash()
    assert (tmp_path / f"run_000.{suffix}").is_file() and recording.frames > 5
    ways = (f"run_{{:03d}}.{suffix}", f"run.{suffix}.series", f"run_002.{suffix}")
    with mpm.replay(tmp_path / "run.vtkhdf") as exact:
        for way in ways:
            with mpm.replay(tmp_path / way) as frames:
                assert len(frames) == len(exact) == recording.frames and frames.dimension == dim
                assert np.array_equal(frames.times, exact.times) and np.array_equal(frames.steps, exact.steps)
                assert np.array_equal(frames.counts, exact.counts)
                for name, values in exact.totals.items():
                    assert np.array_equal(frames.totals[name], values), name
                assert frames.units == exact.units and frames.fps == 1000
        frames = mpm.replay(tmp_path / ways[0])
        for ours, theirs in zip(frames, exact, strict=True):
            assert set(ours.fields) == set(theirs.fields)
            for name in ours.fields:
                assert ours[name].shape == theirs[name].shape
                assert np.allclose(ours[name], theirs[name], rtol=7e-8, atol=1e-30), name
            x = np.full((1, dim), 0.9)
            assert ours.collider_distance("ball", x) == theirs.collider_distance("ball", x)
        assert frames[1:3].plot(0) is not None


def test_a_shorter_recording_replaces_a_longer_one(tmp_path):
    record(tmp_path, frames=6)
    record(tmp_path, frames=3)
    names = {f"run_000{k}.bgeo" for k in range(3)} | {"run.bgeo.series"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert len(mpm.replay(tmp_path / "run.bgeo")) == 3


def test_a_sequence_that_was_cut_off_has_its_whole_frames(tmp_path):
    record(tmp_path)
    series = tmp_path / "run.bgeo.series"
    series.write_bytes(series.read_bytes()[:-5])
    assert len(mpm.replay(tmp_path / "run.bgeo")) == 3
    (tmp_path / "run_0001.bgeo").unlink()
    with pytest.raises(mpm.FileFormatError, match=r"there is no 'run_1\.bgeo'|there is no 'run_0001\.bgeo'"):
        mpm.replay(tmp_path / "run.bgeo")


@pytest.mark.parametrize("dim", scenes.DIMS)
def test_a_sequence_of_another_program_is_played(tmp_path, dim, capsys):
    """Positions alone, with numbers that begin anywhere: volumes are about right."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (4000, dim))
    for number in (7, 8, 9):
        z = np.pad(x + number, [(0, 0), (0, 3 - dim)])
        lines = "\n".join(" ".join(map(repr, row)) + " 1" for row in z.tolist())
        head = f"PGEOMETRY V5\nNPoints {len(x)} NPrims 0\nNPointGroups 0 NPrimGroups 0\nNPointAttrib 0 NAttrib 0\n"
        (tmp_path / f"test.{number}.geo").write_text(head + lines + "\nbeginExtra\nendExtra\n")
    frames = mpm.replay(tmp_path / "test.8.geo", fps=10)
    assert frames.dimension == dim and frames.times.tolist() == [0, 0.1, 0.2]
    assert np.allclose(frames[1].x, x + 8) and frames.description["numerics"]["dx"] > 0
    assert 0.4 < frames[0].volume.sum() < 2.5
    assert (frames[0].scene.lower < 7).all()
    assert (frames[0].scene.upper > 10).all() and np.isnan(frames.totals["energy"]).all()
    frames.plot(2)
    assert main(["replay", str(tmp_path / "test.7.geo")]) == 0
    assert "another program" in capsys.readouterr().out


@pytest.mark.parametrize(
    "path",
    [
        "run_{}_a.geo",
        "{}.geo",
        "run_{:4d}.geo",
        "run_{:04d}{:04d}.geo",
        "run_{x}.geo",
        "run_{:04x}.geo",
        "a.txt",
    ],
)
def test_names_that_are_no_sequence_are_refused(tmp_path, path):
    with pytest.raises(ValueError, match="path = "):
        make().record(tmp_path / path, fps=10)
    assert not list(tmp_path.iterdir())


def test_options_that_a_sequence_lacks_are_refused(tmp_path):
    sim = record(tmp_path)
    with pytest.raises(ValueError, match="compression = 3: must be 0"):
        sim.record(tmp_path / "a.geo", fps=10, compression=3)
    for path in ("run.bgeo", "run_0000.bgeo"):
        with pytest.raises(ValueError, match="fps = 5: must not be given"):
            mpm.replay(tmp_path / path, fps=5)
    with pytest.raises(FileNotFoundError):
        mpm.replay(tmp_path / "none.bgeo")
    with pytest.raises(mpm.FileFormatError, match="has no number"):
        (tmp_path / "bare.geo").write_text("")
        mpm.replay(tmp_path / "bare.geo")
    with sim.record(tmp_path / "b.geo", fps=10), pytest.raises(ValueError, match="another open recording"):
        sim.record(tmp_path / "b.geo", fps=10)


def change(series, edit, line=0):
    lines = series.read_text().split("\n")
    content = json.loads(lines[line])
    edit(content)
    lines[line] = json.dumps(content)
    series.write_text("\n".join(lines))


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        (lambda head: head.update(format=9), 0),
        (lambda head: head.update(dimension=5), 0),
        (lambda head: head.update(dimension=3), 0),
        (lambda head: head.update(arrays=[1]), 0),
        (lambda head: head.update(scene={"x": 1}), 0),
        (lambda head: head["description"].pop("fps"), 0),
        (lambda head: head["description"]["numerics"].update(dx=-1), 0),
        (lambda row: row.update(time=[1]), 1),
        (lambda row: row.update(time=float("nan")), 1),
        (lambda row: row.update(time=9.0), 1),
        (lambda row: row.update(particles=3), 1),
        (lambda row: row["totals"].pop("kinetic"), 1),
        (lambda row: row["totals"].update(kinetic=[1, 2]), 2),
        (lambda row: row.clear(), 2),
    ],
)
def test_damaged_series_are_refused(tmp_path, edit, line):
    record(tmp_path)
    change(tmp_path / "run.bgeo.series", edit, line)
    with pytest.raises(mpm.FileFormatError, match=r"run\.bgeo|run_0000\.bgeo"):
        mpm.replay(tmp_path / "run.bgeo")


def test_random_damage_is_refused_or_read(tmp_path):
    record(tmp_path, suffix="geo")
    series, rng, refused = tmp_path / "run.geo.series", random.Random(0), 0
    whole = series.read_bytes()
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 3))):
            at = rng.randrange(len(data))
            data[at : at + rng.choice((0, 1, 8))] = rng.choice(
                (b"", b"9", b"-1", b"null", b"[[", b"\xff", b'"')
            )
        series.write_bytes(data)
        try:
            for frame in mpm.replay(tmp_path / "run.geo"):
                frame.x  # noqa: B018
        except mpm.FileFormatError:
            refused += 1
    assert refused > 100
