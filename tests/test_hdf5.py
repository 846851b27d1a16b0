"""The reader of HDF5: all that the library writes in the way of trajectories, and nothing that leads elsewhere."""

import tracemalloc

import numpy as np
import pytest

from mpm.errors import FileFormatError
from mpm.io import hdf5, hdf5_bytes

h5py = pytest.importorskip("h5py")

LIBRARY = ("v110", "v110")  # as trajectories are written
RNG = np.random.default_rng(1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.h5"


def made(path, fill, **options):
    """A file that `fill` has filled."""
    with h5py.File(path, "w", libver=LIBRARY, **options) as file:
        fill(file)
    return path


def assert_same(ours, theirs):
    """Members, attributes, types, shapes and bits."""
    assert list(ours.members) == sorted(theirs)
    for name, member in ours.members.items():
        for key, value in theirs[name].attrs.items():
            assert np.array_equal(member.attributes[key], value)
        if isinstance(theirs[name], h5py.Group):
            assert_same(member, theirs[name])
        else:
            values, wanted = member.rows(), theirs[name][()]
            assert member.shape == values.shape == wanted.shape and values.dtype == wanted.dtype
            assert values.tobytes() == wanted.tobytes()


def compare(path):
    file = hdf5.File(path)
    file.opening = False
    with h5py.File(path) as theirs:
        assert_same(file.root, theirs)
    file.close()


def test_numbers_of_all_types_and_shapes(path):
    def fill(file):
        for dtype in ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"):
            for shape in ((), (3,), (0, 3), (2, 3), (2, 1, 3)):
                file[f"{dtype}{shape}"] = (100 * RNG.random(shape)).astype(dtype)
            file[f"{dtype}()"].attrs["vector"] = np.arange(3).astype(dtype)
        file.attrs.create("text", b"PolyData", dtype=h5py.string_dtype("ascii", 8))
        file["u1()"].attrs["of any length"] = "left out"

    made(path, fill)
    file = hdf5.File(path)
    assert file.root.attributes["text"] == b"PolyData" and len(file.root.members) == 50
    assert [*file.root.members["u1()"].attributes] == ["vector"]
    file.close()
    with h5py.File(path, "r+", libver=LIBRARY) as theirs:
        del theirs["u1()"].attrs["of any length"]
    compare(path)


@pytest.mark.parametrize("count", [1, 8, 9, 20, 46, 200, 600])
def test_groups_of_any_size(path, count):
    """Links in the header, in one block of a heap, in many; names in a tree of one node and of several levels."""

    def fill(file):
        for k in RNG.permutation(count):
            file[f"name{k}" + "x" * RNG.integers(20)] = np.arange(k % 4)
        file.create_group("a").create_group("b")["c"] = 1.5

    compare(made(path, fill))


@pytest.mark.parametrize(
    "options", [{}, {"shuffle": True}, {"compression": 9}, {"compression": 1, "shuffle": True}]
)
@pytest.mark.parametrize("shape", [(), (3,)])
def test_chunks(path, options, shape):
    def fill(file):
        for count in (0, 1, 7, 8, 9, 40, 41, 200, 3000):
            grown = file.create_dataset(
                f"{count}", (count, *shape), "f8", maxshape=(None, *shape), chunks=(2, *shape), **options
            )
            grown[...] = RNG.random((count, *shape))

    compare(made(path, fill))
    ours, theirs = hdf5.File(path).root.members["3000"], h5py.File(path)["3000"]
    for start, stop in ((0, 0), (0, 1), (1, 4), (77, 77), (77, 1025), (2999, 3000)):
        assert np.array_equal(ours.rows(start, stop), theirs[start:stop])
    with pytest.raises(FileFormatError, match="rows 2999 to 3001 are not there"):
        ours.rows(2999, 3001)


@pytest.mark.slow
def test_as_many_chunks_as_need_pages(path):
    """The index of chunks divides its blocks beyond 131,072 entries; pages of nothing are not in the file."""
    count = 137_501

    def fill(file):
        options = {"maxshape": (None,), "chunks": (1,)}
        file.create_dataset("a", (count,), "u1", **options)[...] = RNG.integers(0, 255, count)

    compare(made(path, fill, rdcc_nbytes=0))
    with h5py.File(path, "r+", libver=LIBRARY) as file:
        file["a"].resize((count + 20_000,))
        file["a"][-10:] = 1
    assert hdf5.File(path).root.members["a"].stored == count


def test_rows_that_were_never_written_are_not_there(path):
    def fill(file):
        file.create_dataset("a", (100,), "f8", maxshape=(None,), chunks=(4,))[:18] = 1

    file = hdf5.File(made(path, fill))
    assert file.root.members["a"].shape == (100,) and file.root.members["a"].stored == 20
    with pytest.raises(FileFormatError, match="rows 0 to 21 are not there"):
        file.root.members["a"].rows(0, 21)


def external(file):
    storage = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    storage.set_external(__file__.encode(), 0, 5)
    h5py.h5d.create(file.id, b"a", h5py.h5t.STD_U8LE, h5py.h5s.create_simple((5,)), storage)


def virtual(file):
    layout = h5py.VirtualLayout((3,), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "b", shape=(3,))
    file.create_virtual_dataset("a", layout)


def committed(file):
    file["type"] = np.dtype("f8")


def of_a_committed_type(file):
    file["b/type"] = np.dtype("f8")
    file.create_dataset("a", (3,), file["b/type"])
    del file["b"]


def filtered(**options):
    def fill(file):
        file.create_dataset("a", (8,), "f8", maxshape=(None,), chunks=(4,), **options)[...] = 1

    return fill


def put(value, **options):
    def fill(file):
        file.create_dataset("a", data=value, **options)

    return fill


def linked(link):
    def fill(file):
        file["b"] = np.zeros(3)
        file["a"] = link

    return fill


def many(fill):
    """The same in a group that keeps its links in a heap."""

    def filled(file):
        for k in range(30):
            file[f"b{k}"] = k
        fill(file)

    return filled


ELSEWHERE = {
    "external storage": external,
    "virtual data": virtual,
    "an external link": linked(h5py.ExternalLink("other.h5", "b")),
    "an external link of many": many(linked(h5py.ExternalLink("other.h5", "b"))),
    "a soft link": linked(h5py.SoftLink("/b")),
    "a soft link to nothing": linked(h5py.SoftLink("../c")),
    "a type": committed,
    "a committed type": of_a_committed_type,
    "a filter of h5py": filtered(compression="lzf"),
    "a sum": filtered(fletcher32=True),
    "a scaling filter": filtered(scaleoffset=4),
    "text": put("text"),
    "structs": put(np.zeros(3, dtype=[("a", "f8"), ("b", "S5")])),
    "rows of nothing": put(np.zeros((3, 0))),
    "complex numbers": put(np.zeros(3, complex)),
    "other bytes": put(np.zeros(3, ">f8")),
    "booleans": put(np.zeros(3, bool)),
    "references": lambda file: file.create_dataset("a", (2,), h5py.ref_dtype),
    "regions": lambda file: file.create_dataset("a", (2,), h5py.regionref_dtype),
    "lists": lambda file: file.create_dataset("a", (2,), h5py.vlen_dtype(np.int32)),
    "nothing": lambda file: file.create_dataset("a", data=h5py.Empty("f8")),
    "two growing axes": lambda file: file.create_dataset(
        "a", (3, 3), "f8", maxshape=(None, None), chunks=(1, 1)
    ),
    "another growing axis": lambda file: file.create_dataset(
        "a", (3, 3), "f8", maxshape=(3, None), chunks=(3, 1)
    ),
    "chunks of a fixed size": lambda file: file.create_dataset("a", (3, 3), "f8", chunks=(1, 1)),
    "small chunks": lambda file: file.create_dataset("a", (3, 3), "f8", maxshape=(None, 3), chunks=(1, 1)),
    "deep groups": lambda file: file.create_group("/".join("abcdefgh")),
}


@pytest.mark.parametrize("fill", ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_trajectories_do_not_have_is_refused(path, fill):
    made(path, fill)
    with pytest.raises(FileFormatError, match="is damaged"):
        hdf5.File(path)


def test_a_group_that_holds_itself_is_refused(path):
    def fill(file):
        file.create_group("a")
        file["a/b"] = file["a"]

    with pytest.raises(FileFormatError, match="is damaged"):
        hdf5.File(made(path, fill))


def test_what_is_declared_must_be_there(path):
    """Arrays that were declared and not written; chunks that were, but are packed too well."""
    data_of = {"chunks": (1 << 20,), "maxshape": (None,)}
    made(path, lambda file: file.create_dataset("a", (1 << 28,), "f8", **data_of))
    with pytest.raises(FileFormatError, match="it declares more than it holds"):
        hdf5.File(path)
    made(path, lambda file: file.create_dataset("a", (1 << 28,), "f8"))
    with pytest.raises(FileFormatError, match="is not there"):
        hdf5.File(path)
    made(
        path, lambda file: file.create_dataset("a", (1 << 40,), "u1", maxshape=(None,), chunks=(4,))[:4].sum()
    )
    assert hdf5.File(path).root.members["a"].stored == 0


def test_a_heap_of_many_rows_is_not_imagined(path):
    """The blocks of a row have twice the bytes of the row before: of 65,535 rows these are numbers of 65,535 bits."""
    made(path, lambda file: many(lambda group: None)(file))
    data = bytearray(path.read_bytes())
    heap = data.index(b"FRHP")
    rows = heap + 140
    assert data[rows : rows + 2] == b"\0\0"  # one block, without rows
    data[rows : rows + 2] = b"\xff\xff"
    data[heap + 142 : heap + 146] = hdf5_bytes.sum_of(bytes(data[heap : heap + 142]))
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match="too many names"):
            hdf5.File(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_gzip_packs_no_better_than_was_said(path):
    rows = 1 << 21
    options = {"maxshape": (None,), "chunks": (rows,), "compression": 9}
    made(path, lambda file: file.create_dataset("a", data=np.zeros(rows, "u1"), **options))
    array = hdf5.File(path).root.members["a"]
    assert 0.95 < rows / array.taken / hdf5.PACKING < 1 and not array.rows().any()


def test_versions_of_other_programs_are_refused(path):
    with h5py.File(path, "w", libver="earliest") as file:
        file["a"] = 1
    with pytest.raises(FileFormatError, match="does not begin like one"):
        hdf5.File(path)
    made(path, lambda file: None)
    with h5py.File(path, "r+") as file:
        file["a"] = np.zeros(3)
    with pytest.raises(FileFormatError, match="none that trajectories have"):
        hdf5.File(path)
