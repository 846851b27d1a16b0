"""The viewer of a folder, as `python -m mpm view` has it: a browser records and loads below it, and nowhere else."""

import pytest

from loops import each
from mpm import viewer
from viewers import Browser, make


@pytest.fixture
def kept(tmp_path):
    """A viewer of a folder, with files and links around it."""
    pytest.importorskip("h5py")
    folder, outside = tmp_path / "folder", tmp_path / "folder-beside"
    for place in (folder, folder / "below", outside):
        place.mkdir()
    with make().record(outside / "a.vtkhdf", fps=60):
        pass
    (folder / "out").symlink_to(outside)
    (folder / "a.vtkhdf").symlink_to(outside / "a.vtkhdf")
    (folder / "new.vtkhdf").symlink_to(outside / "new.vtkhdf")  # leads to nothing yet
    (folder / "inner").symlink_to("below")
    (folder / "round").symlink_to("round")
    return folder, outside, Browser(make(), folder=folder)


OUTSIDE = [
    "../folder-beside/a.vtkhdf",
    "below/../../folder-beside/a.vtkhdf",
    "out/a.vtkhdf",
    "out/b.vtkhdf",
    "a.vtkhdf",
    "new.vtkhdf",
    "inner/../../folder-beside/a.vtkhdf",
    "/etc/passwd",
    "/etc/none.vtkhdf",
    "..",
    ".",
    "round/a.vtkhdf",
    "a\0.vtkhdf",
    "/proc/self/root/tmp/a.vtkhdf",
]


@each("path", [*OUTSIDE, "ABSOLUTE"])
def test_a_browser_reads_and_writes_below_the_folder_only(kept, path):
    _, outside, browser = kept
    before = sorted(place.name for place in outside.iterdir()), (outside / "a.vtkhdf").read_bytes()
    named = str(outside / "a.vtkhdf") if path == "ABSOLUTE" else path
    for kind, options in (("record", {"fps": 60}), ("load", {})):
        (said,) = browser.ask(kind, path=named, **options)
        assert said.startswith(("path", "embedded null")), said
        assert "not exist" not in said  # whether there is something is not told
    assert browser.session._recording is None and browser.session.replay is None
    assert (sorted(place.name for place in outside.iterdir()), (outside / "a.vtkhdf").read_bytes()) == before


def test_a_browser_works_below_the_folder_as_anywhere(kept, monkeypatch):
    folder, outside, browser = kept
    monkeypatch.chdir(outside)  # the folder is what was told
    for path, place in (
        ("one.vtkhdf", "one.vtkhdf"),
        ("below/two.vtkhdf", "below/two.vtkhdf"),
        ("inner/three.vtkhdf", "below/three.vtkhdf"),
        (str(folder / "four.vtkhdf"), "four.vtkhdf"),
    ):
        assert not browser.ask("record", path=path, fps=60)
        assert browser.state["recording"] == place
        assert place in browser.ask("record", path=path, fps=60)[0]
        browser.ask("step")
        assert not browser.ask("stop") and (folder / place).is_file()
        assert not browser.ask("load", path=path) and browser.state["replay"]["path"] == place
        assert not browser.ask("simulation")
    assert {place.name for place in outside.iterdir()} == {"a.vtkhdf"}


def test_the_folder_of_the_widget(tmp_path):
    pytest.importorskip("anywidget")
    pytest.importorskip("h5py")
    (tmp_path / "below").mkdir()
    view = viewer.gallery("disks", folder=tmp_path / "below")
    assert view._session._folder == (tmp_path / "below").resolve()
    view._handle_custom_msg({"type": "record", "path": str(tmp_path / "a.vtkhdf"), "fps": 60}, [])
    view.close()
    assert not (tmp_path / "a.vtkhdf").exists()
