"""Pickles that name modules by the names that they once had."""

import importlib
import pickle
import sys

import mpm
from mpm.base import moved


def test_old_names_give_the_present_modules():
    for old, present in moved.MOVED.items():
        assert importlib.import_module(old) is importlib.import_module(present), old
    assert mpm.materials.elastic.__spec__.name == "mpm.materials.elastic"
    moved.install()
    assert sum(type(finder).__name__ == "_Finder" for finder in sys.meta_path) == 1


def test_an_old_pickle_of_a_material_and_a_wall_is_read():
    metal = pickle.loads(
        b"\x80\x02cmpm.metals\nVonMises\nq\x00)\x81q\x01]q\x02(G@\xf8j\x00\x00\x00\x00\x00G?\xd3333333G@\x8f@\x00\x00"
        b"\x00\x00\x00G@\x8f@\x00\x00\x00\x00\x00G\x00\x00\x00\x00\x00\x00\x00\x00G\x00\x00\x00\x00\x00\x00\x00\x00G\x00\x00"
        b"\x00\x00\x00\x00\x00\x00eb."
    )
    wall = pickle.loads(
        b"\x80\x02cmpm.walls\nWall\nq\x00)\x81q\x01]q\x02(X\x04\x00\x00\x00slipq\x03G?\xd3333333eb."
    )
    assert metal == mpm.materials.VonMises(E=1e5, nu=0.3, density=1000, yield_stress=1000)
    assert wall == mpm.Wall("slip", friction=0.3)
