"""Trajectories from strangers: they read no other file, wait for nothing, take no more memory than they hold, and are
refused when they are opened if anything in them makes no sense."""

import json
import os
import resource
import subprocess
import sys
import textwrap
import tracemalloc

import numpy as np
import pytest

import mpm
from mpm.commands import cli
from mpm.handles.replay import Replay
from trajectories import make

h5py = pytest.importorskip("h5py")

FRAMES = 5


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A finished trajectory, and one whose writer is not done, as bytes."""
    folder = tmp_path_factory.mktemp("good")
    sim = make(2)
    with sim.record(folder / "a.vtkhdf", fps=1e9, fields=("v",)):
        sim.step(FRAMES - 1)
        growing = (folder / "a.vtkhdf").read_bytes()
    return (folder / "a.vtkhdf").read_bytes(), growing


@pytest.fixture
def path(good, tmp_path):
    (tmp_path / "a.vtkhdf").write_bytes(good[0])
    return tmp_path / "a.vtkhdf"


def change(path, how):
    with h5py.File(path, "r+", libver=("v110", "v110")) as file:
        how(file)


def put(name, value):
    """Something else in the place of a data set."""

    def how(file):
        old = file[name][()]
        attributes = dict(file[name].attrs)
        del file[name]
        file[name] = value(old) if callable(value) else value
        if isinstance(value, type(put)):
            file[name].attrs.update(attributes)

    return how


def put_field(name, value):
    """A field more, with its offsets."""

    def how(file):
        file[f"VTKHDF/Steps/PointDataOffsets/{name}"] = np.zeros(FRAMES, np.int64)
        value(file["VTKHDF/PointData"], name, len(file["VTKHDF/Points"]))

    return how


def refused(path):
    """By everything that opens a trajectory, which leaves it as it is."""
    before = path.read_bytes()
    with pytest.raises(mpm.FileFormatError, match=r"a\.vtkhdf"):
        Replay._replayed(str(path))  # as `mpm.replay`, for the viewer
    assert cli.main(["replay", str(path), "--repair"]) == 1
    assert path.read_bytes() == before and [file.name for file in path.parent.glob("*.vtkhdf")] == [
        "a.vtkhdf"
    ]


# --- other files -------------------------------------------------------------------------------------------------


def external(group, name, rows):
    storage = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    storage.set_external(__file__.encode(), 0, rows)
    h5py.h5d.create(group.id, name.encode(), h5py.h5t.STD_U8LE, h5py.h5s.create_simple((rows,)), storage)


def other_file(group):
    """Data of somebody's in a file beside this one."""
    other = os.path.join(os.path.dirname(group.file.filename), "private.h5")
    with h5py.File(other, "w") as file:
        file["diary"] = np.zeros(10_000)
    return other


def external_link(group, name, rows):
    group[name] = h5py.ExternalLink(other_file(group), "diary")


def virtual(group, name, rows):
    layout = h5py.VirtualLayout((rows,), "f8")
    layout[:] = h5py.VirtualSource(other_file(group), "diary", shape=(rows,))
    group.create_virtual_dataset(name, layout)


def soft_link(group, name, rows):
    group[name] = h5py.SoftLink("/VTKHDF/PointData/mass")


def through_a_soft_link(group, name, rows):
    group.file["elsewhere"] = h5py.ExternalLink(other_file(group), "/")
    group[name] = h5py.SoftLink("/elsewhere/diary")


def plugin(group, name, rows):
    group.create_dataset(name, data=np.zeros(rows), maxshape=(None,), chunks=(64,), compression="lzf")


@pytest.mark.parametrize("leak", [external, external_link, virtual, soft_link, through_a_soft_link, plugin])
def test_a_trajectory_that_leads_elsewhere_is_refused(path, leak):
    change(path, put_field("leak", leak))
    refused(path)


def test_reading_opens_the_one_file_and_no_library_that_opens_more(path):
    code = """
        import sys, mpm, mpm.handles.replay
        opened = []
        def hook(event, arguments):
            if event == "open":
                opened.append(str(arguments[0]))
        sys.addaudithook(hook)
        with mpm.replay(sys.argv[1]) as frames:
            frames[-1].x, frames.totals, repr(frames)
        print(set(opened), "h5py" in sys.modules)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(path)], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == f"{ {str(path)} } False"


# --- waiting -----------------------------------------------------------------------------------------------------


def in_time(*files):
    """Assert that `mpm.replay` refuses files, in a process that is ended if that takes long."""
    code = "import mpm, sys\nfor name in sys.argv[1:]:\n try: mpm.replay(name)\n except mpm.FileFormatError: print(1)"
    command = [sys.executable, "-c", code, *map(str, files)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=5 * len(files), check=True)
    assert run.stdout.split() == ["1"] * len(files)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_an_external_link_to_a_pipe_is_not_waited_for(path):
    pipe = path.with_name("pipe")
    os.mkfifo(pipe)
    change(path, lambda file: file["VTKHDF/PointData"].__delitem__("v"))
    change(path, lambda file: file.__setitem__("VTKHDF/PointData/v", h5py.ExternalLink(str(pipe), "x")))
    in_time(path)


def test_a_damaged_file_that_is_marked_as_growing_is_not_waited_for(good, tmp_path):
    """HDF5 would reread it for ever, deaf to signals."""
    growing = good[1]
    extension = int.from_bytes(
        growing[20:28], "little"
    )  # of the superblock; how space is shared out: not read
    headers = [k for k in range(len(growing)) if growing[k : k + 4] == b"OHDR" and k != extension]
    files = [tmp_path / f"{k}.vtkhdf" for k in range(2)]
    for file, header in zip(files, (headers[0], headers[-1]), strict=True):
        damaged = bytearray(growing)
        damaged[header + 20] ^= 1
        file.write_bytes(damaged)
    finished = bytearray(good[0])
    finished[11] ^= 1
    (tmp_path / "flipped.vtkhdf").write_bytes(finished)
    in_time(*files, tmp_path / "flipped.vtkhdf")


def test_damaged_metadata_are_refused(good, tmp_path):
    """All of it is read on opening, but for indices of chunks of which only ParaView has need."""
    path, data = tmp_path / "a.vtkhdf", good[0]
    blocks = [k for k in range(len(data)) if data[k : k + 4] in (b"OHDR", b"OCHK", b"EAHD", b"EAIB")]
    refusals, looked_at = 0, blocks[::3]
    for block in looked_at:
        path.write_bytes(data[: block + 9] + bytes([data[block + 9] ^ 64]) + data[block + 10 :])
        try:
            mpm.replay(path).close()
        except mpm.FileFormatError as error:
            refusals += "is not whole" in str(error)
    assert len(blocks) > 90 and refusals > len(looked_at) / 2


# --- memory ------------------------------------------------------------------------------------------------------


def declares(rows, **options):
    """A data set whose rows are not there."""
    return lambda file: file["mpm/arrays"].create_dataset("array0", (rows,), "f8", **options)


def overflows(file):
    file["VTKHDF/NumberOfPoints"][0] = 2**62
    for name in (
        "VTKHDF/Steps/PointOffsets",
        *("VTKHDF/Steps/PointDataOffsets/" + k for k in file["VTKHDF/PointData"]),
    ):
        file[name][...] = 2**63 - 5


def same_array_often(file):
    """Its bytes are there once."""
    file["mpm/arrays/array0"] = np.zeros(40_000)
    for k in range(1, 60):
        file[f"mpm/arrays/array{k}"] = file["mpm/arrays/array0"]


def packed(file):
    """A chunk with a size that its bytes cannot unpack to."""
    rows = 1 << 24
    made = file["VTKHDF/PointData"].create_dataset(
        "w", (rows,), "f8", maxshape=(None,), chunks=(rows,), compression=1
    )
    made.id.write_direct_chunk((0,), b"x" * 1000)
    file["VTKHDF/Steps/PointDataOffsets/w"] = np.zeros(FRAMES, np.int64)


BOMBS = {
    "2 GB of chunks": declares(1 << 28, chunks=(1 << 20,)),
    "80 GB of chunks": declares(10**10, chunks=(1 << 20,)),
    "2 GB of chunks to come": declares(1 << 28, chunks=(1 << 20,), maxshape=(None,)),
    "80 GB": declares(10**10),
    "offsets near 2^63": overflows,
    "an array of 60 names": same_array_often,
    "a chunk of 128 MB": packed,
}


@pytest.mark.numbers
@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_what_is_declared_is_not_allocated(path, bomb):
    change(path, bomb)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, limits[1]))  # a failure ends this test, not the machine
    tracemalloc.start()
    try:
        refused(path)
        assert tracemalloc.get_traced_memory()[1] < 4 * path.stat().st_size + (4 << 20)
    finally:
        tracemalloc.stop()
        resource.setrlimit(resource.RLIMIT_AS, limits)


# --- sense -------------------------------------------------------------------------------------------------------


def described(**values):
    """Other values in the description; None leaves them out."""

    def how(file):
        said = json.loads(file["mpm/description"][()].tobytes())
        for name, value in values.items():
            said.pop(name)
            if value is not None:
                said[name] = value
        del file["mpm/description"]
        file["mpm/description"] = np.frombuffer(json.dumps(said).encode(), np.uint8)

    return how


def field(name, shape=(), dtype="f8"):
    def fill(group, name, rows):
        group.create_dataset(name, data=np.zeros((rows, *shape), dtype))

    return put_field(name, fill)


def named_totals(*names):
    text = np.frombuffer(json.dumps(names).encode(), np.uint8)
    return lambda file: file["mpm/totals"].attrs.__setitem__("names", text)


TIMES, PARTS = "VTKHDF/Steps/Values", "VTKHDF/Steps/PartOffsets"
WRONG = {
    "times of text": put(TIMES, np.array([b"a"] * FRAMES)),
    "times of whole numbers": put(TIMES, np.arange(FRAMES)),
    "times with an axis more": put(TIMES, np.zeros((FRAMES, 1))),
    "a time that is none": lambda file: file[TIMES].__setitem__(2, np.nan),
    "an infinite time": lambda file: file[TIMES].__setitem__(-1, np.inf),
    "times that descend": lambda file: file[TIMES].__setitem__(..., np.arange(FRAMES)[::-1]),
    "steps that descend": lambda file: file["mpm/steps"].__setitem__(..., np.arange(FRAMES)[::-1]),
    "a negative step": lambda file: file["mpm/steps"].__setitem__(0, -1),
    "steps of other bytes": put("mpm/steps", lambda old: old.astype("i4")),
    "positions of one axis": put("VTKHDF/Points", lambda old: old[:, 0]),
    "positions of one column": put("VTKHDF/Points", lambda old: old[:, :1]),
    "positions of two columns": put("VTKHDF/Points", lambda old: old[:, :2]),
    "complex positions": put("VTKHDF/Points", lambda old: old.astype(complex)),
    "whole positions": put("VTKHDF/Points", lambda old: old.astype(int)),
    "a field of text": put("VTKHDF/PointData/v", lambda old: np.full(len(old), b"12")),
    "a field of structs": put(
        "VTKHDF/PointData/v", lambda old: np.zeros(len(old), [("a", "f8"), ("b", "S5")])
    ),
    "a field of five axes": put("VTKHDF/PointData/v", lambda old: old.reshape(*old.shape, 1, 1, 1)),
    "a scalar velocity": put("VTKHDF/PointData/v", lambda old: old[:, 0]),
    "a mass of three": put("VTKHDF/PointData/mass", lambda old: np.zeros((len(old), 3))),
    "broken identities": put("VTKHDF/PointData/id", lambda old: old.astype(float)),
    "no mass": lambda file: file["VTKHDF/PointData"].__delitem__("mass"),
    "a field of four": field("w", (4,)),
    "a field without rows": field("w", (0,)),
    "a stress of three": field("stress", (3,)),
    **{f"a field named {name!r}": field(name) for name in ("time", "step", "dimension", "a b", "_a", "1")},
    "a negative part": lambda file: file[PARTS].__setitem__(..., -1),
    "a part too far": lambda file: file[PARTS].__setitem__(..., 1),
    "a negative count": lambda file: file["VTKHDF/NumberOfPoints"].__setitem__(0, -1),
    "too large a count": lambda file: file["VTKHDF/NumberOfPoints"].__setitem__(0, 2**62),
    "a negative offset": lambda file: file["VTKHDF/Steps/PointOffsets"].__setitem__(2, -1),
    "an offset too far": lambda file: file["VTKHDF/Steps/PointOffsets"].__setitem__(2, 10**6),
    "no frames": lambda file: file["VTKHDF/Steps"].attrs.__setitem__("NSteps", 0),
    "half a frame": lambda file: file["VTKHDF/Steps"].attrs.__setitem__("NSteps", 0.5),
    "totals of one axis": put("mpm/totals", lambda old: old[:, 0].copy()),
    "totals without names": lambda file: file["mpm/totals"].attrs.__delitem__("names"),
    "too few names of totals": named_totals("kinetic", "elastic", "gravitational"),
    "totals of no name": named_totals(1, 2, 3),
    "a long total": named_totals("kinetic", "elastic", "gravitational", *["mass"] * 6),
    "a scene that is no JSON": put("mpm/scene", np.frombuffer(b"{", np.uint8)),
    "a scene that is too deep": put("mpm/scene", np.full(200_000, ord("["), np.uint8)),
    "a scene of numbers": put("mpm/scene", np.zeros(3)),
    "a scene of nothing": put("mpm/scene", np.frombuffer(b"{}", np.uint8)),
    **{
        f"no {name}": described(**{name: None})
        for name in ("summary", "units", "fps", "versions", "provenance")
    },
    **{
        f"{fps} frames per second": described(fps=fps)
        for fps in (0, -1, "1", float("nan"), float("inf"), 10**400)
    },
    "units of numbers": described(units={"x": 1}),
    "no units": described(units=[]),
    "no cells": described(numerics={"dx": 0}),
    "cells of text": described(numerics={"dx": "1"}),
}


@pytest.mark.parametrize("how", WRONG.values(), ids=WRONG)
def test_what_makes_no_sense_is_refused_when_it_is_opened(path, how):
    change(path, how)
    with pytest.raises(mpm.FileFormatError, match=r"a\.vtkhdf"):
        mpm.replay(path)


def test_what_makes_sense_is_not_refused(path):
    change(path, field("w", (6,)))
    change(path, field("Größe", (), "i8"))
    change(path, lambda file: file.attrs.__setitem__("a note", "of any length"))
    change(path, lambda file: file["VTKHDF/Points"].__setitem__(0, np.nan))
    with mpm.replay(path) as frames:
        assert (
            len(frames) == FRAMES and frames[0].w.shape == (len(frames[0]), 3) and np.isnan(frames[0].x[0, 0])
        )
