"""Whatever happens while a checkpoint is written, the old one or the new one is there afterwards, whole."""

import copy
import errno
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import checkpoints
import mpm
import scenes
from mpm.base import files


@pytest.fixture(scope="module")
def sims():
    two = scenes.free_body(2, side=4), scenes.free_body(2, side=4)
    two[1].step()
    return two


@pytest.fixture
def saved(sims, tmp_path):
    """A file with the first state."""
    path = tmp_path / "a.mpm"
    sims[0].save(path)
    return path


def kills(folder, count, seed, *options) -> dict[str, int]:
    command = [sys.executable, "-W", "error", checkpoints.__file__, folder, str(count), str(seed), *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_a_process_that_is_killed_while_saving_loses_nothing(tmp_path):
    found = kills(tmp_path, 25, 1)
    assert found["torn"] == 0 and found["first"] + found["second"] == 25


@pytest.mark.slow
def test_hundreds_of_processes_that_are_killed_while_saving_lose_nothing(tmp_path):
    found = kills(tmp_path, 400, 2)
    assert found["torn"] == 0 and found["first"] > 40 and found["second"] > 40
    assert found["left behind"] > 40  # so that many were killed in the midst of writing


def test_the_test_of_kills_sees_a_writer_that_overwrites(tmp_path):
    assert kills(tmp_path, 25, 3, "-i")["torn"] > 0


def test_the_bytes_are_on_the_disk_before_the_name_and_the_name_before_the_end(sims, saved, monkeypatch):
    events = []
    for name in ("open", "fsync", "replace", "close"):
        real = getattr(os, name)

        def watched(first, *rest, name=name, real=real, **options):
            result = real(first, *rest, **options)
            what = os.readlink(f"/proc/self/fd/{first}") if name == "fsync" else first
            if name != "close":
                events.append((name, os.path.basename(str(what))))
            return result

        monkeypatch.setattr(os, name, watched)
    sims[1].save(saved)
    monkeypatch.undo()
    temporary, folder = events[0][1], saved.parent.name
    assert temporary.startswith(".mpm-")
    made, moved = (
        [("open", temporary), ("fsync", temporary), ("replace", temporary)],
        [("open", folder), ("fsync", folder)],
    )
    assert events == made + moved


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_disk_that_fails_leaves_the_old_file(sims, saved, monkeypatch, failing):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "somewhere")

    before = saved.read_bytes()
    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="No space left") as caught:
        sims[1].save(saved)
    monkeypatch.undo()
    assert caught.value.filename == str(saved) and caught.value.errno == errno.ENOSPC
    assert saved.read_bytes() == before and os.listdir(saved.parent) == ["a.mpm"]
    sims[1].save(saved)
    assert mpm.load(saved) == sims[1]


def test_folders_that_cannot_be_brought_to_the_disk(sims, saved, monkeypatch):
    """Some file systems say so (EINVAL): there is no more to do. A real error is told."""
    real = os.fsync
    for number, told in ((errno.EINVAL, False), (errno.EIO, True)):

        def fail(descriptor, number=number):
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(number, os.strerror(number))
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fail)
        if told:
            with pytest.raises(OSError, match="Input/output error"):
                sims[0].save(saved)
        else:
            sims[1].save(saved)
        assert mpm.load(saved) == sims[0 if told else 1]


def test_a_full_disk_leaves_the_old_file(saved):
    before = saved.read_bytes()
    code = f"""
        import resource, sys
        import mpm
        sim = mpm.load({str(saved)!r})
        sim.step()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
        try:
            sim.save({str(saved)!r})
        except OSError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)  # `make coverage`: counts are written when it ends
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert f"File too large: {str(saved)!r}" in result.stdout
    assert saved.read_bytes() == before and os.listdir(saved.parent) == ["a.mpm"]
    assert signal.SIGXFSZ and resource.RLIMIT_FSIZE  # what the child relies on


def test_an_interrupt_leaves_the_old_file(saved):
    def pieces():
        yield b"first"
        raise KeyboardInterrupt

    before = saved.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        files.replace(saved, pieces())
    assert saved.read_bytes() == before and os.listdir(saved.parent) == ["a.mpm"]


def test_folders_that_take_nothing(sims, saved, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        sims[0].save(tmp_path / "none" / "a.mpm")
    assert caught.value.filename == str(tmp_path / "none" / "a.mpm")
    with pytest.raises(NotADirectoryError):
        sims[0].save(saved / "b.mpm")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        sims[0].save(tmp_path / "folder")
    assert sorted(os.listdir(tmp_path)) == ["a.mpm", "folder"] and os.listdir(tmp_path / "folder") == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_keeps_the_old_file(sims, saved):
    before = saved.read_bytes()
    saved.parent.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            sims[1].save(saved)
    finally:
        saved.parent.chmod(0o700)
    assert saved.read_bytes() == before and os.listdir(saved.parent) == ["a.mpm"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that nobody may write to")
def test_a_folder_that_nobody_may_write_to(sims):
    with pytest.raises(OSError) as caught:
        sims[0].save("/proc/self/a.mpm")
    assert caught.value.filename == "/proc/self/a.mpm"


def test_links_are_followed_and_permissions_are_those_of_new_files(sims, saved, tmp_path):
    link = tmp_path / "link.mpm"
    link.symlink_to("a.mpm")
    sims[1].save(link)
    assert link.is_symlink() and mpm.load(saved) == sims[1] == mpm.load(link)
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert saved.stat().st_mode == plain.stat().st_mode


def test_names_of_all_kinds(sims, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in ("plain", "ä b.mpm", "x" * 255, tmp_path / "whole.mpm"):
        sims[0].save(path)
        assert mpm.load(path) == sims[0]


def test_what_is_no_file_is_not_replaced_by_one(sims, tmp_path):
    """It would destroy a device, /dev/null for one."""
    for suffix in (".mpm", ".npz", ".csv", ".vtkhdf", ".mp4"):
        pipe, link = tmp_path / f"pipe{suffix}", tmp_path / f"link{suffix}"
        os.mkfifo(pipe)
        link.symlink_to(pipe)
        for path in (pipe, link):
            with pytest.raises(OSError, match="is not a regular file"):
                if suffix == ".mpm":
                    sims[0].save(path)
                elif suffix == ".vtkhdf":
                    sims[0].record(path, fps=1)
                elif suffix == ".mp4":
                    mpm.viz.MovieWriter(path, fps=30)
                else:
                    mpm.export(sims[0], path)
            assert path.is_fifo()
    assert len(os.listdir(tmp_path)) == 10


def test_a_file_keeps_its_permissions(sims, saved, tmp_path):
    table = tmp_path / "a.npz"
    mpm.export(sims[0], table)
    for path in (saved, table):
        path.chmod(0o640)
    sims[1].save(saved)
    mpm.export(sims[1], table)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (saved, table)] == [0o640, 0o640]


def test_files_that_may_not_be_written_to_are_replaced(tmp_path):
    """What matters is the folder; meanwhile nobody but the owner may do more than with the old file."""
    path = tmp_path / "a.mpm"
    path.touch(0o440)
    with files.renamed(path) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o640
        temporary.write_bytes(b"new")
    assert path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == 0o440


def test_a_private_file_is_replaced_in_private(tmp_path, monkeypatch):
    """From its first moment on: who opens a file keeps what he may do with it."""
    path, seen = tmp_path / "a.mpm", []
    path.touch(0o600)
    monkeypatch.setattr(Path, "chmod", lambda self, mode: seen.append(stat.S_IMODE(self.stat().st_mode)))
    with files.renamed(path):
        pass
    assert set(seen) == {0o600}


def test_links_are_followed(sims, tmp_path):
    """Of all that is written whole or not at all."""
    (tmp_path / "disk").mkdir()

    def record(path):
        with copy.copy(sims[0]).record(path, fps=10):
            pass

    for name, write in (
        ("a.mpm", sims[0].save),
        ("a.csv", lambda path: mpm.export(sims[0], path)),
        ("a.vtkhdf", record),
    ):
        link, place = tmp_path / name, tmp_path / "disk" / name
        link.symlink_to(place)
        for _ in range(2):
            write(link)
            assert link.is_symlink() and place.is_file() and not place.is_symlink()
    assert len(os.listdir(tmp_path / "disk")) == 3
