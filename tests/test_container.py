"""The bytes of a checkpoint: whatever is wrong with them is told by FileFormatError, before memory is asked for."""

import copy
import functools
import json
import os
import random
import struct
import subprocess
import sys
import textwrap
import tracemalloc
from binascii import crc32
from pathlib import Path

import numpy as np
import pytest

import mpm
import scenes
from mpm.io import checkpoint, container

METALS = ("von_mises", "johnson_cook", "von_mises_fracture", "johnson_cook_fracture")
VERSION_1 = Path(__file__).parent / "data" / "checkpoints" / "version-1.mpm"
X_OF_VERSION_1 = [0.3589616375882587, 0.32776724642641597]


@functools.cache
def small() -> bytes:
    """A checkpoint of about 4 KB: two particles, a collider."""
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -9.81))
    scene.add(
        mpm.shapes.Points([(0.5, 0.5), (0.6, 0.55)], volume="per-cell"),
        scenes.MATERIALS["snow"],
        velocity=(0, -1),
    )
    scene.add_collider(mpm.shapes.Ball((0.5, 0.2), 0.2), motion=mpm.motion.Linear((0.1, 0)))
    sim = mpm.Simulation(scene, dx=0.125, history=2)
    sim.step(3)
    data = checkpoint.dumps(sim)
    assert 3000 < len(data) < 6000
    return data


def fields_of(law: str) -> list[str]:
    return [row["name"] for row in mpm.materials.laws.registry()[law]["history"]]


def packed(tree, arrays) -> bytes:
    return b"".join(container.pack(tree, arrays))


def forged(header: bytes, body: bytes = b"") -> bytes:
    """A container with right checksums around any header and body."""
    size = container.PREAMBLE.size + len(header)
    preamble = container.PREAMBLE.pack(
        container.MAGIC,
        container.VERSION,
        crc32(header),
        len(header),
        container._padded(size) + len(body) + 32,
    )
    whole = preamble + header + container._padding(size) + body
    return whole + container.hashlib.blake2b(whole, digest_size=32).digest()


def refuse(data: bytes, match: str | None = None) -> None:
    with pytest.raises(mpm.FileFormatError, match=match):
        checkpoint.loads(data)


# ---- what is packed comes back ------------------------------------------------------------------------------------


def test_bits_come_back():
    payload = struct.pack("<Q", 0x7FF8_0000_DEAD_BEEF)  # a NaN that carries something
    arrays = {
        "nan": np.frombuffer(payload, np.float64),
        "zeros": np.array([0.0, -0.0], np.float32),
        "none": np.zeros((0, 3), np.int64),
        "scalar": np.array(7, np.uint8),
        "turned": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
        "swapped": np.arange(3, dtype=">f8"),
        "every second": np.arange(10, dtype=np.uint64)[::2],
    }
    meta = {"text": "ä\ud800", "numbers": [1.5, -0.0, 5e-324, 2**128 - 1], "nothing": None}
    tree, found = container.unpack(packed(meta, arrays))
    assert tree == meta and str(tree["numbers"][1]) == "-0.0"
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        native = array.astype(array.dtype.newbyteorder("="))
        assert found[name].dtype == native.dtype and found[name].shape == array.shape
        assert found[name].tobytes() == native.tobytes()
    assert found["nan"].tobytes() == payload


def test_numbers_that_are_none_cannot_be_packed():
    with pytest.raises(ValueError, match="Out of range float"):
        packed({"number": np.nan}, {})


# ---- damage -------------------------------------------------------------------------------------------------------


def test_every_truncation_is_noticed():
    data = small()
    for size in range(len(data)):
        refuse(data[:size])


def test_every_flipped_bit_is_noticed():
    data = bytearray(small())
    noticed = 0
    for place in range(8 * len(data)):
        data[place // 8] ^= 1 << place % 8
        with pytest.raises(mpm.FileFormatError):
            checkpoint.loads(bytes(data))
        data[place // 8] ^= 1 << place % 8
        noticed += 1
    assert noticed == 8 * len(small()) and bytes(data) == small()


def test_damage_is_told_by_its_place():
    data = small()
    arrays = container.unpack(data)[1]
    start = data.index(arrays["state.mass"].tobytes())
    spoilt = bytearray(data)
    spoilt[start] ^= 1
    refuse(bytes(spoilt), r"the checksum of 'state\.mass' is wrong")
    spoilt = bytearray(data)
    spoilt[40] ^= 1
    refuse(bytes(spoilt), "the header's checksum is wrong")
    refuse(data + b"\0", "truncated or has grown")
    refuse(data[:8] + struct.pack("<I", 2) + data[12:], "has version 2 .* reads 1")


@pytest.mark.parametrize(
    "data", [b"", b"mpm", bytes(100), b"solid cube\n" * 20, b"\x89PNG\r\n\x1a\n" + bytes(90)]
)
def test_foreign_files_are_refused(data, tmp_path):
    path = tmp_path / "a.mpm"
    path.write_bytes(data)
    with pytest.raises(mpm.FileFormatError, match=r"a\.mpm' is not a checkpoint of mpm"):
        mpm.load(path)


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/null"):
        with pytest.raises(mpm.FileFormatError, match="is not a regular file"):
            mpm.load(path)
    with pytest.raises(FileNotFoundError):
        mpm.load(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        mpm.load(tmp_path)


# ---- forgeries: right checksums around what makes no sense ------------------------------------------------------


def header(*sections, meta=None) -> bytes:
    return json.dumps({"meta": meta or {}, "sections": sections}).encode()


BODY = np.arange(8.0).tobytes()
SUM = crc32(BODY)
GOOD = ["a", "float64", [8], 0, SUM]


def changed(place: int, value):
    section = list(GOOD)
    section[place] = value
    return section


FORGERIES = {
    "no JSON": b"{",
    "not ASCII": b"\xff\xfe",
    "nothing": b"",
    "a list": b"[]",
    "one entry": b'{"meta":{}}',
    "a list of meta": b'{"meta":[],"sections":[]}',
    "nested a million deep": b"[" * 1_000_000,
    "nested in dicts": b'{"a":' * 300_000,
    "a number of many digits": b'{"meta":{"a":' + b"9" * 10_000 + b'},"sections":[]}',
    "not a number": b'{"meta":{"a":NaN},"sections":[]}',
    "infinite": b'{"meta":{"a":-Infinity},"sections":[]}',
    "a section that is none": header(5),
    "a short section": header(["a"]),
    "a name that is none": header(changed(0, 5)),
    "no such type": header(changed(1, "complex128")),
    "objects": header(changed(1, "object")),
    "a type that is none": header(changed(1, ["float64"])),
    "a size that is none": header(changed(2, 8)),
    "a size in words": header(changed(2, ["8"])),
    "half a size": header(changed(2, [8.0])),
    "a true size": header(changed(2, [8, True])),
    "a negative size": header(changed(2, [-8])),
    "two negative sizes": header(changed(2, [-8, -1])),
    "a size of 2^63": header(changed(2, [2**63])),
    "sizes whose product is 2^64 + 8": header(changed(2, [2**61 + 1, 8])),
    "nothing, many times": header([*changed(2, [0, 2**62])[:4], 0]),
    "too many axes": header(changed(2, [8] + [1] * 40)),
    "an offset beyond the end": header(changed(3, 64)),
    "a negative offset": header(changed(3, -64)),
    "an odd offset": header(changed(3, 1)),
    "a wrong checksum": header(changed(4, SUM ^ 1)),
    "a section twice": header(GOOD, GOOD),
    "an overlap": header(GOOD, ["b", *GOOD[1:]]),
    "a hole": header([*changed(2, [4])[:4], crc32(BODY[:32])]),
    "bytes left over": header(),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_refused(name):
    body = {"a hole": BODY + bytes(64), "nothing, many times": b""}.get(name, BODY)
    assert (
        container.unpack(forged(header(GOOD), BODY))[1]["a"].tobytes() == BODY
    )  # the forger knows the format
    with pytest.raises(mpm.FileFormatError):
        container.unpack(forged(FORGERIES[name], body))


def test_a_header_longer_than_the_file_is_refused():
    data = bytearray(forged(header()))
    struct.pack_into("<Q", data, 16, 2**60)
    refuse(bytes(data), "longer than the file")


@pytest.mark.numbers
def test_no_more_memory_is_asked_for_than_the_file_has():
    for name, text in FORGERIES.items():
        if "deep" in name or "dicts" in name:
            continue  # the text itself is large
        data = forged(text, BODY)
        tracemalloc.start()
        try:
            refuse(data)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 500_000, name  # measured: below 100 kB, of messages and frames


JUNK = [
    None, True, 0, -1, 1, 2**31, 2**63, 2**64, 10**40, 0.5, -0.0, 1e308, "", "x", "Box", [], [[]], {}, [1, 2],
    [0.5] * 3,
    {"array": "array0"}, {"array": "nothing"}, {"array": 5}, {"array": "state.x"}, {"function": "f"}, {"function": 5},
    {"shape": "Box"}, {"shape": "Mesh"}, {"shape": ["Box"]}, {"shape": "Union", "parts": []}, {"motion": "Linear"},
]  # fmt: skip


def places(tree, path=()):
    """Every node of a tree."""
    yield path
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, entry in entries:
        yield from places(entry, (*path, key))


def spoil(tree, path, rng):
    """Puts junk in a place, or takes what is there away."""
    *way, last = path
    for key in way:
        tree = tree[key]
    if rng.random() < 0.15:
        del tree[last]
    else:
        tree[last] = copy.deepcopy(rng.choice(JUNK))


def test_descriptions_that_make_no_sense_are_refused():
    """Every node of the header replaced by everything that it cannot be: an error, or a simulation that answers."""
    tree, arrays = container.unpack(small())
    rng = random.Random(1)
    refused = 0
    nodes = [path for path in places(tree) if path]
    assert len(nodes) > 100
    for path in nodes * 4:
        spoilt = copy.deepcopy(tree)
        spoil(spoilt, path, rng)
        try:
            sim = checkpoint.loads(packed(spoilt, arrays))
        except mpm.FileFormatError:
            refused += 1
            continue
        run_on(sim)
    assert refused > 2.5 * len(nodes)  # measured: 91 %


def run_on(sim) -> None:
    try:
        sim.step(5)
        repr(sim), sim.totals(), sim.state_hash()
    except mpm.SimulationError:
        pass
    except ValueError as error:  # a body force has become that of a function which the file cannot hold
        assert "was not kept in the file" in str(error)


def test_a_generator_that_would_read_beyond_its_numbers_is_refused():
    """NumPy believes what it is given as a state."""
    for kind, key, most in ((np.random.MT19937, "pos", 624), (np.random.Philox, "buffer_pos", 4)):
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add(mpm.shapes.Ball((0.5, 0.5), 0.1), scenes.MATERIALS["fluid"])
        sim = mpm.Simulation(scene, dx=0.125, sampling="random", rng=np.random.Generator(kind(1)))
        tree, arrays = container.unpack(checkpoint.dumps(sim))
        entries = tree["rng"]["state"] if key == "pos" else tree["rng"]
        entries[key] = most
        checkpoint.loads(packed(tree, arrays))
        entries[key] = most + 1
        refuse(packed(tree, arrays), f"{key} = {most + 1}: must be >= 0 and <= {most}")
        entries[key] = most
        name = entries["key" if key == "pos" else "buffer"]["array"]
        refuse(packed(tree, {**arrays, name: arrays[name][:-1]}), "rng: .* is not what a")


@functools.cache
def many() -> bytes:
    """Everything that the core keeps: several laws, a lattice, a keyframed motion, periodic walls."""
    scene = mpm.Scene((0, 0), (1, 1), gravity=(0, -1), walls={"x": "periodic"})
    for number, law in enumerate(scenes.LAWS):
        low = np.array([2, 12]) / 32 + np.array([5, 4]) / 32 * [number % 6, number // 6]
        scene.add(mpm.shapes.Box(low, low + np.array([4, 3]) / 32), scenes.MATERIALS[law], velocity=(1, 0))
    x = np.linspace(0, 1, 9)
    grid = mpm.shapes.DistanceGrid((0, 0), 1 / 8, x[None, :] - 0.3 + 0 * x[:, None])
    scene.add_collider(grid, motion=mpm.motion.Keyframes([0, 1], [(0, 0), (0, 0.1)]))
    later = mpm.shapes.DistanceGrid((0, 0), 1 / 8, x[None, :] - 0.2 + 0 * x[:, None])
    scene.add_collider(mpm.shapes.Deforming([0, 1], [grid, later]).rotate(0.1))
    sim = mpm.Simulation(scene, dx=1 / 16, transfer="flip")
    sim.step(8)
    return checkpoint.dumps(sim)


def test_states_that_make_no_sense_are_refused():
    """Numbers of all arrays changed, with right checksums: an error, or a simulation that answers."""
    tree, arrays = container.unpack(many())
    rng = np.random.default_rng(2)
    refused = ran = 0
    for trial in range(4 * len(arrays)):
        name = list(arrays)[trial % len(arrays)]
        spoilt = arrays[name].copy()
        if not spoilt.size:
            continue
        raw = spoilt.reshape(-1).view(np.uint8)
        place = rng.integers(len(raw))
        kind = trial // len(arrays) % 4
        if kind == 0:
            raw[place] ^= 1 << rng.integers(8)
        elif kind == 1:
            spoilt.reshape(-1)[place // spoilt.itemsize] = rng.choice([0, 1, 127])
        elif kind == 2:
            raw[place // 8 * 8 :][:8] = 255  # NaN, -1
        else:
            spoilt = spoilt[: rng.integers(len(spoilt))]
        try:
            sim = checkpoint.loads(packed(tree, {**arrays, name: spoilt}))
        except mpm.FileFormatError:
            refused += 1
            continue
        run_on(sim)
        ran += 1
    assert refused > 60 and ran > 60  # measured: 113 and 135


@pytest.mark.numbers
def test_under_a_limit_of_memory_forgeries_are_still_errors_of_format(tmp_path):
    """In a process that could not even ask for what they claim."""
    for number, text in enumerate(FORGERIES.values()):
        (tmp_path / f"{number}.mpm").write_bytes(forged(text, BODY))
    code = f"""
        import pathlib, resource
        import mpm, mpm.io.checkpoint
        used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 200_000_000,) * 2)
        for path in pathlib.Path({str(tmp_path)!r}).iterdir():
            try:
                mpm.load(path)
            except mpm.FileFormatError:
                print("refused")
    """
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("needs /proc")
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("refused") == len(FORGERIES)


# ---- the core does not trust its callers either -------------------------------------------------------------------


FLAWS = {
    "clock": lambda a: a["numbers"].__setitem__(0, -1.0),
    "counter": lambda a: a["counters"].__setitem__(0, -1),
    "groups": lambda a: a["groups"].__setitem__((0, 3), 9),
    "groups of": lambda a: a["groups"].__setitem__((0, 0), -30),
    "groups of particles": lambda a: a["groups"].__setitem__((0, 4), a["groups"][0, 4] + 1),
    "not where its group is": lambda a: a["x"].__setitem__((0, 0), 99.0),
    "mass, volume": lambda a: a["mass"].__setitem__(0, 0.0),
    "velocity": lambda a: a["v"].__setitem__((0, 0), np.inf),
    "do not ascend": lambda a: a["id"].__setitem__(1, 0),
    "missing or doubled": lambda a: a["row"].__setitem__(0, a["row"][1]),
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_flaw_is_named(flaw):
    tree, arrays = container.unpack(many())
    state = {name: array.copy() for name, array in arrays.items()}
    FLAWS[flaw]({name.removeprefix("state."): array for name, array in state.items()})
    refuse(packed(tree, state), f"the state: cannot be restored: .*{flaw}")


def test_a_core_that_has_particles_takes_no_state():
    sim = checkpoint.loads(many())
    before = sim.state_hash()
    with pytest.raises(ValueError, match="not new"):
        sim._core.restore(sim._core.snapshot())
    with pytest.raises(TypeError, match="dict"):
        sim._core.restore([])
    with pytest.raises(ValueError, match="'groups' is missing"):
        sim._core.restore({})
    assert sim.state_hash() == before


# ---- files of other versions --------------------------------------------------------------------------------------


def test_a_file_of_version_1_loads():
    """As it was written once: snow, water and a collider in 2-D, 15 steps of 1/128 s."""
    sim = mpm.load(VERSION_1)
    assert (sim.steps, sim.time, sim.dt) == (15, 15 / 128, 1 / 128)
    assert [type(material).__name__ for material in sim.materials] == ["Snow", "Fluid"]
    assert [body.name for body in sim.scene.bodies] == ["drift", "body1"] and len(sim.particles) == 5
    assert sim.scene.colliders[0].motion == mpm.motion.Sinusoid((0.1, 0), 2)
    assert sim.particles.x[0].tolist() == X_OF_VERSION_1
    assert (sim.particles.plastic_strain == 0).all()  # which snow did not keep then
    assert len(sim.history["time"]) == 5 and sim._numerics.transfer == "flip"
    sim.step(10)
    assert sim.time == 25 / 128


def test_what_an_older_version_did_not_know_has_its_default():
    tree, arrays = container.unpack(small())
    del tree["numerics"]["f_update"], tree["clock"]["counters"][-1]
    older = {**arrays, "state.counters": arrays["state.counters"][:-1]}
    assert checkpoint.loads(packed(tree, older)) == checkpoint.loads(small())


def test_a_plastic_strain_that_laws_did_not_keep_begins_at_zero():
    """Metals have kept it in every version: without it, their files are damaged."""
    soils = [law for law in scenes.LAWS if "plastic_strain" in fields_of(law) and law not in METALS]
    assert len(soils) == 9
    for law in (*soils, *METALS):
        scene = mpm.Scene((0, 0), (1, 1))
        scene.add(mpm.shapes.Points([(0.5, 0.5)], volume=0.01), scenes.MATERIALS[law])
        sim = mpm.Simulation(scene, dx=0.125)
        tree, arrays = container.unpack(checkpoint.dumps(sim))
        del arrays["state.plastic_strain"]
        if law in METALS:
            with pytest.raises(mpm.FileFormatError, match="the state has the arrays"):
                checkpoint.loads(packed(tree, arrays))
        else:
            assert checkpoint.loads(packed(tree, arrays)) == sim


def test_groups_of_older_files_follow_the_axes():
    """Once x, y, z decided the order of blocks. Such a state runs on as it did, and bins in the present order."""
    scene = mpm.Scene((0, 0), (4, 4))
    scene.add(
        mpm.shapes.Box((0.6, 0.6), (3.4, 3.4)),
        scenes.MATERIALS["neo_hookean"],
        velocity=lambda x: x[:, ::-1] - 2,
    )
    sim = mpm.Simulation(scene, dx=1 / 8)
    sim.step()
    tree, arrays = container.unpack(checkpoint.dumps(sim))
    groups = arrays["state.groups"]
    order = np.lexsort(groups[:, 2::-1].T)
    assert not np.array_equal(order, np.arange(len(groups)))
    group = np.repeat(np.arange(len(groups)), groups[:, 4])
    particle = np.concatenate([np.flatnonzero(group == g) for g in order])
    older = arrays | {"state.groups": groups[order]}
    older |= {
        f"state.{name}": arrays[f"state.{name}"][particle] for name in "x v F C mass volume row".split()
    }
    again = checkpoint.loads(packed(tree, older))
    assert np.array_equal(again.particles.x, sim.particles.x)
    binnings = sim.health["binnings"]
    while sim.health["binnings"] < binnings + 2:
        sim.step()
        again.step()
    assert checkpoint.loads(checkpoint.dumps(again)) == again
    assert again.health["binnings"] == binnings + 2
    assert again.particles.x == pytest.approx(sim.particles.x, abs=1e-14)  # measured 9e-16
    written = container.unpack(checkpoint.dumps(again))[1]["state.groups"]
    assert np.array_equal(written, container.unpack(checkpoint.dumps(sim))[1]["state.groups"])
    swapped = older | {"state.groups": groups[np.roll(order, 1)]}
    refuse(packed(tree, swapped), "the state: cannot be restored: .*groups")


def test_what_a_later_version_may_know_is_refused():
    for way in (["numerics", "magic"], ["clock", "counters", -1]):
        tree, arrays = container.unpack(small())
        place = tree
        for key in way[:-1]:
            place = place[key]
        place[way[-1]] = "magic"
        refuse(packed(tree, arrays), "the state: cannot be restored")


def test_messages_do_not_repeat_what_is_long():
    long = "x" * 100_000
    tree, arrays = container.unpack(small())
    refused = [
        forged(json.dumps({"meta": {}, "sections": [[long, "float64", [1], 64, 0]]}).encode()),
        packed({**tree, "kind": long}, arrays),
    ]
    for place in (
        lambda scene: scene.update(gravity={"array": long}),
        lambda scene: scene["colliders"][0].update(name=long + "\n"),
        lambda scene: scene["colliders"].append(
            {**scene["colliders"][0], "name": scene["colliders"][0]["name"]}
        ),
        lambda scene: scene["colliders"][0].update({long: 1}),
        lambda scene: scene["walls"].update({long: scene["walls"]["x-"]}),
        lambda scene: scene["walls"]["x-"].update({long: 1}),
        lambda scene: scene["walls"]["x-"].update(contact=long),
        lambda scene: scene["bodies"][0]["material"].update({long: 1}),
        lambda scene: scene["bodies"][0]["shape"].update({long: 1}),
        lambda scene: scene["bodies"][0]["shape"].update(shape=long),
    ):
        other = copy.deepcopy(tree)
        place(other["scene"])
        refused.append(packed(other, arrays))
    for number, data in enumerate(refused):
        with pytest.raises(mpm.FileFormatError) as caught:
            checkpoint.loads(data)
        assert len(str(caught.value)) < 600, number
