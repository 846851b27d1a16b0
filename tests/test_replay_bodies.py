"""Rigid bodies in recordings: drawn as in the run, in files that are whole, and in files that are not."""

import json

import numpy as np
import pytest

import mpm
from mpm import shapes, viz
from mpm.io import vtkhdf
from viewers import Browser

h5py = pytest.importorskip("h5py")


def mill(dim):
    """A turning body on a hinge, a free one, and snow."""
    scene = mpm.Scene((0,) * dim, (1,) * dim, gravity=(0,) * (dim - 1) + (-9.81,))
    stone = mpm.materials.Rigid(density=1000)
    box = shapes.Box((0.3,) * dim, (0.7, 0.5, 0.5)[:dim])
    hinge = mpm.joints.Hinge((0.5, 0.4)) if dim == 2 else mpm.joints.Hinge((0.5, 0.4, 0.4), axis=(0, 1, 1))
    spin = 4.0 if dim == 2 else (0, 2.0, 2.0)
    scene.add(shapes.Ball((0.2,) * (dim - 1) + (0.8,), 0.1), mpm.materials.Snow(), name="snow")
    scene.add(box, stone, angular_velocity=spin, joint=hinge, name="wing")
    ring = shapes.Ball((0.6,) * (dim - 1) + (0.8,), 0.12) - shapes.Ball((0.6,) * (dim - 1) + (0.8,), 0.05)
    scene.add(ring, stone, name="ring")
    return mpm.Simulation(scene, dx=0.1, threads=1)


def renderer(one):
    if one.dimension == 3:  # the shape of a ring takes longer
        return viz.Renderer(one, size=(96, 64), color="material", hide="ring", annotate=False)
    return viz.Renderer(one, size=(96, 64), color="speed", limits=(0, 3), annotate=False)


@pytest.mark.parametrize(("dim", "name"), [(2, "a.vtkhdf"), (3, "a.bgeo")])
def test_they_are_drawn_as_in_the_run(tmp_path, dim, name):
    sim = mill(dim)
    drawn = renderer(sim)
    pictures = {0.0: drawn.frame(sim)}
    with sim.record(tmp_path / name, fps=1e9, fields=("speed",)):
        for _ in range(2):
            sim.run(0.03)
            pictures[sim.time] = drawn.frame(sim)
    if name == "a.vtkhdf":
        vtkhdf.repair(tmp_path / name)  # a copy is as good
    with mpm.replay(tmp_path / name) as frames:
        again = renderer(frames[0])
        for time, picture in pictures.items():
            frame = frames.at(time)
            assert frame.time == time and len(frame._solids()) == 2
            assert np.array_equal(again.frame(frame), picture)
        assert repr(frames[0]._solids()[0].joint) == repr(sim.scene.bodies[1].joint)
        assert dim == 3 or len(Browser(frames).positions("solids")) > 0
    assert not np.array_equal(pictures[0.0], pictures[sim.time])


def test_a_body_that_left_is_no_longer_shown(tmp_path):
    sim = mill(2)
    with sim.record(tmp_path / "a.bgeo", fps=1e9):
        sim.step(2)
        sim.particles.delete(np.arange(len(sim.particles))[sim.rows("wing")])
        sim.step(2)
    with mpm.replay(tmp_path / "a.bgeo") as frames:
        assert [len(frame._solids()) for frame in (frames[0], frames[-1])] == [2, 1]


def kept(change):
    """What stays the same of the first body, another."""

    def changed(file):
        tree = json.loads(file["mpm/scene"][()].tobytes())
        change(tree["solids"])
        del file["mpm/scene"]
        file["mpm/scene"] = np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8)

    return changed


def placed(place, value):
    def changed(file):
        file["mpm/poses"][1, place] = value

    return changed


def test_files_in_which_they_are_damaged(tmp_path):
    sim = mill(2)
    with sim.record(tmp_path / "whole.vtkhdf", fps=1e9):
        sim.step(2)
    whole = (tmp_path / "whole.vtkhdf").read_bytes()

    def read(change):
        path = tmp_path / "a.vtkhdf"
        path.write_bytes(whole)
        with h5py.File(path, "r+", libver=("v110", "v110")) as file:
            change(file)
        with mpm.replay(path) as frames:
            return [len(frame._solids()) for frame in frames]

    assert read(lambda file: None) == [2, 2, 2]
    assert read(kept(lambda solids: solids.clear())) == [0, 0, 0]  # as older files are
    assert read(placed(2, np.nan)) == [2, 1, 2]  # a body that was not where its shape is
    for change in (
        kept(lambda solids: solids.pop()),
        kept(lambda solids: solids[0].pop("lower")),
        kept(lambda solids: solids[0].update(upper=[1e300, 0.1])),
        kept(lambda solids: solids[0].update(nodes=[1.0, 2.0])),
        kept(lambda solids: solids[0].update(nodes=solids[1]["nodes"])),
        kept(lambda solids: solids[0].update(count=0)),
        kept(lambda solids: solids[0].update(spacing=-1.0)),
        kept(lambda solids: solids[0].update(joint={"joint": "Glue"})),
        placed(0, 1e200),
        placed(2, 0.5),
        lambda file: file["mpm"].__delitem__("poses"),
    ):
        with pytest.raises(mpm.FileFormatError, match=r"a\.vtkhdf.*(rigid|poses|reference)"):
            read(change)
